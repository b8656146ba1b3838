"""A table file and the names of its columns in; a prediction, the truth and the groups out."""

from .read import PredictionTable, column_names, read_predictions

__all__ = ["PredictionTable", "column_names", "read_predictions"]
