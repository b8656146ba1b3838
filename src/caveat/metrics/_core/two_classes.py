"""Two classes, of which the second is the positive one."""

import numpy as np

from ..._validation import FloatArray
from ...exceptions import ShapeError
from .._inputs import Labeled


def second_class(data: Labeled) -> FloatArray:
    """Return the probability of the second class, (samples,), checked."""
    score = np.empty(len(data))
    for rows, block in data.blocks():
        score[rows] = block[:, 1]
    return score


def require_two_classes(data: Labeled, what: str) -> None:
    """Raise if there are more than two classes."""
    if len(data.classes) > 2:
        raise ShapeError(
            f"{what} is for two classes, probabilities have {len(data.classes)}; for class k "
            "against the rest pass y_true == k and its probability, of shape (samples,)"
        )
