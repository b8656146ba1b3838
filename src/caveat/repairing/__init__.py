"""Choose a repair of predictions, keep it with a model, and write it to a file."""

from .calibrator import Calibrator
from .changes import Change
from .choice import repair
from .repaired import Repaired
from .result import CandidateRow, Repair

__all__ = ["Calibrator", "CandidateRow", "Change", "Repair", "Repaired", "repair"]
