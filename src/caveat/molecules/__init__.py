"""Molecules: graphs of SMILES, splits by structure, and a network that passes messages.

Needs the extra ``molecules``: ``pip install 'caveat[molecules]'``. Graphs that were saved need
torch alone.
"""

from typing import TYPE_CHECKING, Any

from .domain import Applicability, acquire, applicability
from .features import featurize
from .graphs import GraphBatch, MoleculeGraphs
from .splits import LeakageReport, Split, leakage, scaffolds, split_molecules

if TYPE_CHECKING:
    from .network import MessagePassing

__all__ = [
    "Applicability",
    "GraphBatch",
    "LeakageReport",
    "MessagePassing",
    "MoleculeGraphs",
    "Split",
    "acquire",
    "applicability",
    "featurize",
    "leakage",
    "scaffolds",
    "split_molecules",
]


def __getattr__(name: str) -> Any:
    if name == "MessagePassing":  # needs torch, which graphs and splits do not
        from .network import MessagePassing

        return MessagePassing
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
