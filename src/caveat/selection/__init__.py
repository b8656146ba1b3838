"""Which model, by cross-validated proper score; which technique, all of them on the same data."""

from .auto import AutoClassifier, AutoRegressor
from .candidates import CANDIDATES, Candidate
from .grid import TechniqueGrid, technique_grid
from .result import Tried, TriedRow
from .techniques import Technique, techniques_for

__all__ = [
    "CANDIDATES",
    "AutoClassifier",
    "AutoRegressor",
    "Candidate",
    "Technique",
    "TechniqueGrid",
    "Tried",
    "TriedRow",
    "technique_grid",
    "techniques_for",
]
