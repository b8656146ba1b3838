"""Which classes a model confuses, how far apart they are, and which measure shows it best."""

from ._measure_rows import MeasureRow
from .embedding import SampleEmbedding, embed_samples
from .explain import Confusion, PairRow, UncertaintyExplanation, explain_uncertainty
from .matrix import ConfusionMatrix, confusion_matrix
from .measures import MeasureComparison, compare_measures

__all__ = [
    "Confusion",
    "ConfusionMatrix",
    "MeasureComparison",
    "MeasureRow",
    "PairRow",
    "SampleEmbedding",
    "UncertaintyExplanation",
    "compare_measures",
    "confusion_matrix",
    "embed_samples",
    "explain_uncertainty",
]
