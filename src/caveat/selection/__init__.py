"""Which model, by cross-validated proper score; which technique, all of them on the same data."""

from .._docstrings import describe_package
from .auto import AutoClassifier, AutoRegressor
from .candidates import CANDIDATES, Candidate
from .grid import TechniqueGrid, technique_grid
from .result import Tried, TriedRow
from .techniques import Technique, techniques_for
from .timing import Timing
from .use_cases import Scenario, Scenarios, scenarios

__all__ = [
    "CANDIDATES",
    "AutoClassifier",
    "AutoRegressor",
    "Candidate",
    "Scenario",
    "Scenarios",
    "Technique",
    "TechniqueGrid",
    "Timing",
    "Tried",
    "TriedRow",
    "scenarios",
    "technique_grid",
    "techniques_for",
]

describe_package(__name__)
