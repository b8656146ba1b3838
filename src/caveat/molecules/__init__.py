"""Molecules: graphs of SMILES, splits by structure, and a network that passes messages.

Needs the extra ``molecules``: ``pip install 'caveat[molecules]'``. Graphs that were saved need
torch alone.
"""

import importlib
from typing import TYPE_CHECKING, Any

from .._docstrings import describe_package, entries_of
from .checks import MoleculeReport, molecule_report
from .data import MoleculeData
from .domain import Applicability, acquire, applicability
from .drawings import Structures, draw_molecule
from .environments import unseen_atoms
from .experiments import LearningCurves, active_learning, split_shift
from .features import featurize
from .fingerprints import Fingerprints
from .graphs import GraphBatch, MoleculeGraphs
from .splits import LeakageReport, Split, leakage, scaffolds, split_molecules

if TYPE_CHECKING:
    from .estimators import MoleculeClassifier, MoleculeRegressor
    from .network import MessagePassing

__all__ = [
    "Applicability",
    "Fingerprints",
    "GraphBatch",
    "LeakageReport",
    "LearningCurves",
    "MessagePassing",
    "MoleculeClassifier",
    "MoleculeData",
    "MoleculeGraphs",
    "MoleculeRegressor",
    "MoleculeReport",
    "Split",
    "Structures",
    "acquire",
    "active_learning",
    "applicability",
    "draw_molecule",
    "featurize",
    "leakage",
    "molecule_report",
    "scaffolds",
    "split_molecules",
    "split_shift",
    "unseen_atoms",
]

PARAMETERS = entries_of("""\
column : str
    The column of a frame that holds the SMILES.
smiles : list of str, Series, array, or frame with ``column``
""")
describe_package(__name__, PARAMETERS)


_NEED_TORCH = {
    "MessagePassing": "network",
    "MoleculeClassifier": "estimators",
    "MoleculeRegressor": "estimators",
}
"""What is imported when it is used: graphs and splits do without torch."""


def __getattr__(name: str) -> Any:
    if name in _NEED_TORCH:
        return getattr(importlib.import_module(f".{_NEED_TORCH[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
