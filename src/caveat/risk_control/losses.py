"""Losses of sets of labels at many thresholds at once."""

from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._validation import FloatArray, as_floats, check_choice, check_finite
from ..exceptions import InvalidValueError, ShapeError
from .inputs import as_thresholds

KINDS = ("false negatives", "false discoveries", "missed", "size")


def set_losses(score: Any, y: Any, thresholds: Any, *, loss: str = "false negatives") -> FloatArray:
    r"""Return the loss of the labels with a score of at least each threshold.

    The set of a sample at the threshold t is :math:`\{c : s_c \ge t\}`.

    Parameters
    ----------
    score : array of shape (samples, labels)
        Probabilities, or any scores that are larger for more likely labels.
    y : array of shape (samples, labels) of bool, or (samples,) of positions
        Which labels are true; several may be. Positions name the one that is.
    thresholds : array of shape (thresholds,)
        Increasing.
    loss : {"false negatives", "false discoveries", "missed", "size"}, default="false negatives"
        The share of true labels that is not in the set (0 if no label is true); the share of the
        set that is not true (0 if it is empty); 1 if any true label is not in the set; or the share
        of all labels that is in the set. The second is not monotone: use `LearnThenTest`.

    Returns
    -------
    ndarray of shape (samples, thresholds)
        Between 0 and 1.

    Examples
    --------
    >>> set_losses([[0.9, 0.6, 0.2]], [[True, False, True]], [0.1, 0.5, 0.8])
    array([[0. , 0.5, 0.5]])
    """
    check_choice(loss, "loss", KINDS)
    scores, _, _ = as_floats(score, "score")
    if scores.ndim != 2:
        raise ShapeError(f"score must have shape (samples, labels); got {scores.shape}")
    check_finite(scores, "score", ("sample", "label"))
    true = _truth(y, *scores.shape)
    levels = as_thresholds(thresholds, np.size(thresholds))
    positive = _kept(scores, true, levels)
    if loss in ("false negatives", "missed"):
        missed = true.sum(axis=1)[:, None] - positive
        if loss == "missed":
            return (missed > 0).astype(np.float64)
        return missed / np.maximum(true.sum(axis=1), 1)[:, None]
    size = _kept(scores, np.ones_like(true), levels)
    if loss == "size":
        return size / scores.shape[1]
    return (size - positive) / np.maximum(size, 1)


def _truth(y: Any, samples: int, labels: int) -> np.ndarray:
    array = to_numpy(y, "y").array
    if array.shape == (samples,) and array.dtype.kind in "iu":
        if array.min() < 0 or array.max() >= labels:
            raise InvalidValueError(f"y must be positions of labels from 0 to {labels - 1}")
        return np.asarray(array[:, None] == np.arange(labels))
    if array.shape != (samples, labels):
        raise ShapeError(
            f"y must have shape ({samples}, {labels}), whether each label is true, or ({samples},) "
            f"with whole numbers, the position of the true one; got {array.shape}"
        )
    if not np.isin(array, (0, 1)).all():
        raise InvalidValueError("y must be true or false for each label")
    return array.astype(bool)


def _kept(scores: FloatArray, chosen: np.ndarray, thresholds: FloatArray) -> FloatArray:
    """Return how many of the chosen labels have at least each threshold, (samples, thresholds).

    A label is in the sets of its first k thresholds, so that counting k for each sample is enough.
    """
    number = len(thresholds) + 1
    rows, columns = np.nonzero(chosen)
    reached = np.searchsorted(thresholds, scores[rows, columns], side="right")
    counts = np.bincount(rows * number + reached, minlength=len(scores) * number)
    counts = counts.reshape(len(scores), number)
    return counts[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:].astype(np.float64)
