"""All the numbers, how sure each one is, and what to do: evaluate, compare, recommend, triage."""

from .compare import ComparedRow, Comparison, compare
from .evaluate import Evaluation, evaluate
from .recommend import Recommendation
from .triage import OperatingCurve, Triage, TriagePolicy

__all__ = [
    "ComparedRow",
    "Comparison",
    "Evaluation",
    "OperatingCurve",
    "Recommendation",
    "Triage",
    "TriagePolicy",
    "compare",
    "evaluate",
]
