"""A table file and the names of its columns in; a prediction, the truth and the groups out."""

from .._docstrings import describe_package
from .dialect import Dialect, sniff
from .features import FeatureTable, read_features
from .read import PredictionTable, column_names, read_predictions

__all__ = [
    "Dialect",
    "FeatureTable",
    "PredictionTable",
    "column_names",
    "read_features",
    "read_predictions",
    "sniff",
]

describe_package(__name__)
