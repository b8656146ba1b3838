"""Choose a repair of predictions, keep it with a model, and write it to a file."""

from .choice import repair
from .repaired import Repaired
from .result import CandidateRow, Repair

__all__ = ["CandidateRow", "Repair", "Repaired", "repair"]
