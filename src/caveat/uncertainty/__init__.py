"""Uncertainty of each sample: aleatoric and epistemic parts, and measures."""

from . import measures
from .decompositions import DECOMPOSITIONS, DecompositionMethod, decompose
from .distances import class_distances, cost_distances, taxonomy_distances
from .measures import *

__all__ = [
    "DECOMPOSITIONS",
    "DecompositionMethod",
    "class_distances",
    "cost_distances",
    "decompose",
    "taxonomy_distances",
]
__all__ += measures.__all__
