"""What to do with each prediction: accept it, ask an expert or measure again."""

from .._docstrings import describe_package
from .policy import TriagePolicy
from .result import OperatingCurve, Triage

__all__ = ["OperatingCurve", "Triage", "TriagePolicy"]

describe_package(__name__)
