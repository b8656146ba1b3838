"""Example data: generated, or public and downloaded on first use.

Each function returns a `Dataset`, or a `RawTable` with categories, missing values or published
splits. Public data are read from the folder that the environment
variable ``CAVEAT_DATA`` names; without it they are fetched from their source, checked against a
checksum, and kept in the cache folder of the user.
"""

from .._docstrings import describe_package
from ._adult import load_adult
from ._compas import load_compas
from ._dataset import Dataset
from ._image_folder import load_image_folder
from ._images import load_cifar10, load_fashion_mnist
from ._modulations import make_modulations
from ._molecules import MoleculeTable, load_molecules
from ._points import load_wine, make_triangle, make_two_moons
from ._scenes import (
    Scene,
    load_bcss,
    load_houston,
    load_indian_pines,
    load_scene,
    load_trento,
)
from ._synthetic import make_sd1, make_sd2, make_sd3
from ._tables import RawTable, load_mixed, load_uci

__all__ = [
    "Dataset",
    "MoleculeTable",
    "RawTable",
    "Scene",
    "load_adult",
    "load_bcss",
    "load_cifar10",
    "load_compas",
    "load_fashion_mnist",
    "load_houston",
    "load_image_folder",
    "load_indian_pines",
    "load_mixed",
    "load_molecules",
    "load_scene",
    "load_trento",
    "load_uci",
    "load_wine",
    "make_modulations",
    "make_sd1",
    "make_sd2",
    "make_sd3",
    "make_triangle",
    "make_two_moons",
]

describe_package(__name__)
