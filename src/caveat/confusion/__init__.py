"""Which classes a model confuses, how far apart they are, and which measure shows it best."""

from .._docstrings import describe_package
from ._measure_rows import MeasureRow
from ._mistakes import MistakeRow
from ._pairs import Confusion, PairRow
from .embedding import SampleEmbedding, embed_samples
from .explain import UncertaintyExplanation, explain_uncertainty
from .matrix import ConfusionMatrix, confusion_matrix
from .measures import MeasureComparison, compare_measures

__all__ = [
    "Confusion",
    "ConfusionMatrix",
    "MeasureComparison",
    "MeasureRow",
    "MistakeRow",
    "PairRow",
    "SampleEmbedding",
    "UncertaintyExplanation",
    "compare_measures",
    "confusion_matrix",
    "embed_samples",
    "explain_uncertainty",
]

describe_package(__name__)
