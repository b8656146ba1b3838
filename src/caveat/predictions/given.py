"""Predictions as people have them: arrays of probabilities in place of a prediction type."""

import math
from typing import Any

import numpy as np

from .._arrays import missing_among, to_numpy
from .._validation import LabelArray, encode_labels, position
from ..exceptions import LabelError, OptionError, ShapeError, UnsupportedPredictionError
from ._container import Container
from .categorical import Categorical, order_classes

__all__ = ["as_prediction", "prediction_of", "swapped"]

_NUMBERS = (
    "for a regression, pass caveat.Gaussian(mean, variance), caveat.Quantiles or caveat.Interval"
)


def as_prediction(value: Any, y: Any = None, classes: Any = None) -> Any:
    """Return a prediction: the one that is given, or the probabilities in an array.

    One column is the probability of the second class; (samples, classes) and (members, samples,
    classes) that of each. Classes are those given, the columns of a frame, or the labels of ``y``
    in sorted order.

    Parameters
    ----------
    value : prediction, or array of shape (samples,), (samples, classes) or (members, samples, \
classes)
    y : array of shape (samples,), optional
        The truth, which may say what the classes are.
    classes : sequence of labels, optional
        The classes of an array, in their order.
    """
    if isinstance(y, Container) or (y is not None and swapped(value, y)):
        raise OptionError(
            "the arguments look swapped: the prediction comes first, then the truth y"
        )
    if isinstance(value, Container):
        if classes is not None:
            raise OptionError("classes= names those of an array; a prediction has its own")
        if isinstance(value, Categorical) and y is not None:
            _check_grid(value.probabilities.shape, y)
        return value
    try:
        array, columns, _ = to_numpy(value, "prediction")
    except (TypeError, ShapeError) as error:
        raise _unknown(value) from error
    if array.dtype.kind in "fiub" and y is not None:
        _check_grid(array.shape, y)
    if array.dtype.kind not in "fiub" or not 1 <= array.ndim <= 3:
        raise _unknown(value, array)
    if array.ndim == 2 and array.shape[1] == 1:
        array, columns = array[:, 0], None
    _check_samples(array, y)
    if array.ndim == 1:
        return Categorical.from_binary(array, classes=_labels(2, None, y, classes))
    return Categorical(value, classes=_labels(array.shape[-1], columns, y, classes))


def prediction_of(value: Any, classes: Any) -> Any:
    """Return a prediction after a fit: the one that is given, or the probabilities in an array.

    A frame whose columns have the names of the classes may have them in another order.

    Parameters
    ----------
    value : prediction or array
    classes : sequence of labels, or None
        The classes of the fit, which are those of an array.
    """
    if isinstance(value, Container) or classes is None:
        return as_prediction(value)
    labels = np.asarray(classes).tolist()
    try:
        columns = to_numpy(value, "prediction").columns or []
    except (TypeError, ShapeError) as error:
        raise _unknown(value) from error
    names, known = list(map(str, columns)), list(map(str, labels))
    if names == known or sorted(names) != sorted(known):
        return as_prediction(value, classes=labels)
    if columns == list(range(len(columns))):
        raise LabelError(
            f"the columns {', '.join(names)} are no names, or the classes in another order than in "
            f"fit, {', '.join(known)}; pass caveat.Categorical(frame, classes=...)"
        )
    own = [labels[known.index(name)] for name in names]
    return order_classes(as_prediction(value, classes=own), labels)


def swapped(prediction: Any, y: Any) -> bool:
    """Whether a prediction looks like labels, and the truth like probabilities.

    Parameters
    ----------
    prediction, y : Any
    """
    if isinstance(prediction, Container):
        return False
    try:
        first, second = (to_numpy(value, "y").array for value in (prediction, y))
    except (TypeError, ValueError):
        return False
    if second.dtype.kind != "f" or not second.size or first.size == 0:
        return False
    inside = (second >= 0) & (second <= 1)
    if not inside.all() or (second == np.rint(second)).all():
        return False
    whole = first.dtype.kind in "iubUSO" or bool((first == np.rint(first)).all())
    return whole and first.ndim == 1


def _unknown(value: Any, array: np.ndarray | None = None) -> UnsupportedPredictionError:
    what = f"a {type(value).__name__}"
    if array is not None:
        what += f" of type {array.dtype} and shape {array.shape}"
    if hasattr(value, "evaluate") and hasattr(value, "audit"):
        what = "a summary, which has its true values: summary.evaluate() and summary.audit()"
    return UnsupportedPredictionError(
        "expected a prediction, such as caveat.Categorical(array), or an array of probabilities; "
        f"got {what}"
    )


def _check_grid(shape: tuple[int, ...], y: Any) -> None:
    """Raise if axes of a grid, such as height and width, would be taken for members."""
    truth = to_numpy(y, "y").array.shape
    if len(shape) < 3:
        return
    first = 0 if len(shape) == 3 else 1  # where torch has the classes: (images, classes, ...)
    flat = (math.prod(shape[:-1]),)
    if truth == shape[:-1] or (truth == flat and truth[0] != shape[1]):
        number, cells = shape[-1], "prediction"
    elif truth == shape[:first] + shape[first + 1 :]:
        number, cells = shape[first], f"numpy.moveaxis(prediction, {first}, -1)"
    else:
        return
    raise ShapeError(
        f"the prediction has shape {shape}, and y has shape {truth}: of three axes the first would "
        f"be members. If they are a grid, such as the height and width of images, with {number} "
        f"classes in each cell, pass {cells}.reshape(-1, {number}) and y.reshape(-1)"
    )


def _check_samples(array: np.ndarray, y: Any) -> None:
    if y is None:
        return
    samples = len(to_numpy(y, "y").array)
    given = array.shape[0 if array.ndim < 3 else 1]
    if given == samples:
        return
    text = f"the prediction has shape {array.shape}, and y has {samples} samples"
    if array.ndim == 2 and array.shape[1] == samples:
        text += (
            "; for members of two classes pass caveat.Categorical.from_binary(array), otherwise "
            "array.T"
        )
    raise ShapeError(text)


def _labels(number: int, columns: list[Any] | None, y: Any, classes: Any) -> Any:
    """Return the classes of an array with so many of them; None for 0, 1, ..."""
    if classes is not None:
        return classes
    if y is None:
        return columns if columns is not None else range(number)
    truth = to_numpy(y, "y").array
    truth = truth[:, 0] if truth.ndim == 2 and truth.shape[1] == 1 else truth
    if truth.ndim != 1:
        raise ShapeError(f"y must be one label for each sample; got shape {truth.shape}")
    missing = missing_among(truth)
    if missing.any():
        _, where = position(missing, ("sample",))
        raise LabelError(f"y{where} is missing; leave out samples without a label")
    if truth.dtype.kind == "f" and not (truth == np.rint(truth)).all():
        raise LabelError(f"y is not made of labels, and the prediction has no spread; {_NUMBERS}")
    if columns is not None and _are(truth, columns):
        return columns
    if _are(truth, list(range(number))):
        return range(number)
    distinct = np.unique(truth.astype(str) if truth.dtype == object else truth)
    if len(distinct) == number:
        return distinct.tolist()
    shown = ", ".join(map(repr, distinct.tolist()[:8])) + (", ..." if len(distinct) > 8 else "")
    text = f"the prediction has {number} classes, and y has {len(distinct)} labels: {shown}"
    hint = f"pass classes=, in the order of the prediction; {_NUMBERS}"
    raise LabelError(f"{text}; {hint}")


def _are(truth: np.ndarray, names: list[Any]) -> bool:
    """Whether all labels are among some names."""
    try:
        labels: LabelArray = np.asarray(names)
        encode_labels(truth, labels)
    except (LabelError, ShapeError, TypeError):
        return False
    return True
