"""Which model: networks, forests and boosted trees, compared by cross-validated proper score."""

from .auto import AutoClassifier, AutoRegressor
from .candidates import CANDIDATES, Candidate
from .result import Tried, TriedRow

__all__ = ["CANDIDATES", "AutoClassifier", "AutoRegressor", "Candidate", "Tried", "TriedRow"]
