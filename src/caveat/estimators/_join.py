"""Predictions of several models for the same samples as one, the members of all in a row."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._validation import as_labels
from ..exceptions import LabelError, UnsupportedPredictionError
from ..predictions import Categorical, Gaussian, GaussianLogits, Quantiles


def join_members(predictions: Sequence[Any], classes: Any = None) -> Any:
    """Join along the members, so that every prediction counts alike.

    One of ``classes`` that a prediction does not know has probability 0 there. Predictions with
    different numbers of members become one member each.
    """
    kinds = {type(prediction) for prediction in predictions}
    if kinds <= {Categorical, GaussianLogits}:
        return _joined_classes(predictions, classes)
    if len(kinds) > 1 or not kinds <= {Gaussian, Quantiles}:
        names = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise UnsupportedPredictionError(
            f"predictions of the kinds {names} cannot be the members of one; the models must be of "
            "one kind"
        )
    if len({prediction.members for prediction in predictions}) > 1:
        predictions = [_as_one_member(prediction) for prediction in predictions]
    return _concatenated(predictions)


def as_probabilities(prediction: Any) -> Categorical:
    """Average the softmax of logits over their noise."""
    if isinstance(prediction, GaussianLogits):
        return prediction.to_categorical()
    return prediction


def as_member(probabilities: Any, classes: Any) -> Categorical:
    """Return one member of class probabilities; before it is joined it may know a single class."""
    if len(classes) > 1:
        return Categorical(probabilities, classes=classes)
    return Categorical._trusted(
        {"probabilities": np.ones((1, len(probabilities), 1)), "classes": np.asarray(classes)}
    )


def places_of(own: Any, classes: Any) -> np.ndarray:
    """Return where each of ``own`` is in ``classes``."""
    known = {label: place for place, label in enumerate(np.asarray(classes).tolist())}
    missing = [label for label in np.asarray(own).tolist() if label not in known]
    if missing:
        raise LabelError(
            f"a member predicts the class {missing[0]!r}, which is none of {list(known)}"
        )
    return np.array([known[label] for label in np.asarray(own).tolist()], dtype=np.intp)


def _joined_classes(predictions: Sequence[Any], classes: Any) -> Categorical | GaussianLogits:
    alike = len({prediction.members for prediction in predictions}) == 1
    if alike and all(
        isinstance(prediction, GaussianLogits) and np.array_equal(prediction.classes, classes)
        for prediction in predictions
    ):
        return _concatenated(predictions)
    parts = [as_probabilities(prediction) for prediction in predictions]
    if not alike:
        parts = [as_member(part.mean, part.classes) for part in parts]
    total = sum(part.members for part in parts)
    probabilities = np.zeros((total, len(parts[0]), len(classes)))
    start = 0
    for part in parts:
        mine = slice(start, start + part.members)
        probabilities[mine, :, places_of(part.classes, classes)] = part.probabilities
        start += part.members
    labels = as_labels(classes, "classes", len(classes), "class")
    return Categorical._trusted({"probabilities": probabilities, "classes": labels})


def _as_one_member(prediction: Gaussian | Quantiles) -> Gaussian | Quantiles:
    if isinstance(prediction, Gaussian):
        return Gaussian(*prediction.moments(), targets=prediction.targets)
    values = prediction.values.mean(axis=0)
    return Quantiles(prediction.levels, values, targets=prediction.targets)


def _concatenated(predictions: Sequence[Any]) -> Any:
    first = predictions[0]
    for name in first._shared:
        for i, other in enumerate(predictions):
            if not np.array_equal(getattr(first, name), getattr(other, name)):
                raise UnsupportedPredictionError(
                    f"{name} of member {i} differ from those of member 0: "
                    f"{getattr(other, name).tolist()} and {getattr(first, name).tolist()}"
                )
    arrays = {
        name: np.concatenate([getattr(prediction, name) for prediction in predictions])
        for name in first._arrays
    }
    return first._trusted({**first._fields(), **arrays})
