"""Choose a repair of predictions, keep it with a model, and write it to a file."""

from .._docstrings import describe_package, entries_of
from .calibrator import Calibrator
from .changes import Change
from .choice import repair
from .repaired import Repaired
from .result import CandidateRow, Repair

__all__ = ["Calibrator", "CandidateRow", "Change", "Repair", "Repaired", "repair"]

PARAMETERS = entries_of("""\
X : array or frame of shape (samples, ...)
y : array of shape (samples,)
sample_weight : array of shape (samples,)
path : str or path
""")
describe_package(__name__, PARAMETERS)
