"""A table file and the names of its columns in; a prediction, the truth and the groups out."""

from .features import FeatureTable, read_features
from .read import PredictionTable, column_names, read_predictions

__all__ = [
    "FeatureTable",
    "PredictionTable",
    "column_names",
    "read_features",
    "read_predictions",
]
