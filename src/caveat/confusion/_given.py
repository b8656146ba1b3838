"""Predictions of classes, as the functions of this package take them."""

from typing import Any

from ..exceptions import UnsupportedPredictionError
from ..predictions import Categorical
from ..predictions.given import as_prediction


def as_classes(prediction: Any, y: Any = None) -> Categorical:
    """Return a prediction of classes; a prediction of numbers is an error."""
    given = as_prediction(prediction, y)
    if not isinstance(given, Categorical):
        raise UnsupportedPredictionError(
            "classes are confused by predictions of classes; expected a Categorical or an array of "
            f"probabilities, got a {type(given).__name__}"
        )
    return given
