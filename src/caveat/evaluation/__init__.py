"""All the numbers, how sure each one is, and what to do: evaluate, compare, recommend, triage."""

from .answers import evaluate
from .comparison import ComparedRow, Comparison, compare
from .recommend import Recommendation
from .reference import ReferenceRow, reference_values
from .result import Evaluation
from .triage import OperatingCurve, Triage, TriagePolicy
from .verdict import Statement, Verdict

__all__ = [
    "ComparedRow",
    "Comparison",
    "Evaluation",
    "OperatingCurve",
    "Recommendation",
    "ReferenceRow",
    "Statement",
    "Triage",
    "TriagePolicy",
    "Verdict",
    "compare",
    "evaluate",
    "reference_values",
]
