"""The one place that checks options and prediction arrays; arrays become canonical float64.

Every check names the argument, the first offending sample and what to do. Nothing is clipped,
sorted or renormalized unless the caller's own argument says so; rows of probabilities in less than
double precision are divided by their sum once they are checked.
"""

import math
from collections.abc import Hashable, Sequence
from datetime import date
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ._arrays import missing_among, to_numpy
from .exceptions import InvalidValueError, LabelError, OptionError, ShapeError

FloatArray = NDArray[np.float64]
LabelArray = NDArray[Any]

# How far a row of probabilities may be from 1, by the precision it was computed in.
_ROW_SUM_TOLERANCE = {"float32": 1e-5, "float16": 5e-3, "bfloat16": 2e-2}
DOUBLE_TOLERANCE = 1e-8
LOOSEST_TOLERANCE = max(_ROW_SUM_TOLERANCE.values())

MOST_CLASSES = 20
"""Whole numbers with more distinct values are an amount, not classes."""

LARGEST, LARGEST_SQUARE = 1e75, 1e150
"""The largest number whose fourth power can be summed, as variances of squared errors need."""


def as_floats(value: Any, name: str) -> tuple[FloatArray, list[Any] | None, float]:
    """Return a float64 array, its column names if it had any, and its row-sum tolerance."""
    array, columns, tolerance = as_reals(value, name)
    return in_double_precision(array), columns, tolerance


def in_double_precision(array: NDArray[Any]) -> FloatArray:
    """Return a contiguous float64 array; without a copy if it is one already."""
    return np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)


def as_reals(value: Any, name: str) -> tuple[NDArray[Any], list[Any] | None, float]:
    """Return an array of real numbers as it is in memory; otherwise like `as_floats`."""
    array, columns, precision = to_numpy(value, name)
    if array.dtype.kind not in "fiub" and precision != "bfloat16":
        try:
            array = array.astype(np.float64, casting="unsafe" if array.dtype == object else "safe")
        except (TypeError, ValueError, OverflowError):
            raise InvalidValueError(
                f"{name} must be real numbers; got an array of type {array.dtype}"
            ) from None
    if array.size == 0:
        raise ShapeError(f"{name} is empty: got shape {array.shape}")
    return array, columns, _ROW_SUM_TOLERANCE.get(precision, DOUBLE_TOLERANCE)


def position(
    bad: NDArray[np.bool_], axes: Sequence[str], start: int = 0
) -> tuple[tuple[int, ...], str]:
    """Return the index of the first true entry and words for it: `` of sample 3, class 1``.

    ``axes`` names each axis of ``bad``; an axis of length one other than the samples is left out.
    ``start`` is the number of the first sample, where ``bad`` is a block of many.
    """
    first = int(np.argmax(bad))
    index = tuple(int(i) for i in np.unravel_index(first, bad.shape))
    words = [
        f"{axis} {i + start if axis == 'sample' else i}"
        for axis, i, length in zip(axes, index, bad.shape, strict=True)
        if length > 1 or axis == "sample"
    ]
    words.sort(key=lambda word: not word.startswith("sample"))
    return index, f" of {', '.join(words)}" if words else ""


def check_finite(array: FloatArray, name: str, axes: Sequence[str], start: int = 0) -> None:
    """Raise on NaN and infinities."""
    # A sum is finite only if every term is, save for an overflow that the full check then clears.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(array.sum()):
            return
    bad = ~np.isfinite(array)
    if bad.any():
        index, where = position(bad, axes, start)
        raise InvalidValueError(
            f"{name}{where} is {array[index]}; remove or impute such samples first"
        )


def check_size(
    array: FloatArray,
    name: str,
    axes: Sequence[str],
    largest: float = LARGEST,
    *,
    infinite: bool = False,
) -> None:
    """Raise on NaN, numbers beyond ``largest`` and, unless they are allowed, infinities."""
    if array.max() <= largest and array.min() >= -largest:  # not so for NaN
        return
    if infinite:
        check_no_nan(array, name, axes)
    else:
        check_finite(array, name, axes)
    size = np.abs(array)
    bad = (size > largest) & (size < np.inf)
    if bad.any():
        index, where = position(bad, axes)
        raise InvalidValueError(
            f"{name}{where} is {array[index]:g}; squares of numbers beyond {largest:g} cannot be "
            "summed. Give them in another unit"
        )


def check_no_nan(array: FloatArray, name: str, axes: Sequence[str]) -> None:
    """Raise on NaN, but not on infinities."""
    bad = np.isnan(array)
    if bad.any():
        _, where = position(bad, axes)
        raise InvalidValueError(f"{name}{where} is nan; remove or impute such samples first")


def check_not_negative(
    array: FloatArray, name: str, axes: Sequence[str], advice: str, start: int = 0
) -> None:
    """Raise on negative entries."""
    if array.min() < 0:
        index, where = position(array < 0, axes, start)
        raise InvalidValueError(f"{name}{where} is {array[index]:g}, below 0; {advice}")


def squared(deviations: FloatArray, name: str, axes: Sequence[str]) -> FloatArray:
    """Return the variances of standard deviations; raise if a square would be 0."""
    check_not_negative(deviations, name, axes, "standard deviations cannot be negative")
    check_size(deviations, name, axes)
    variances = deviations**2
    lost = (variances == 0) & (deviations > 0)
    if lost.any():
        index, where = position(lost, axes)
        raise InvalidValueError(
            f"{name}{where} is {deviations[index]:g}, whose square is 0 in double precision. Give "
            "it in another unit"
        )
    return variances


def check_unit(array: FloatArray, name: str, axes: Sequence[str], advice: str) -> None:
    """Raise on NaN and entries outside [0, 1]."""
    check_no_nan(array, name, axes)
    if array.min() < 0 or array.max() > 1:
        index, where = position((array < 0) | (array > 1), axes)
        raise InvalidValueError(f"{name}{where} is {array[index]:g}, outside [0, 1]; {advice}")


def check_ordered(
    lower: FloatArray, upper: FloatArray, what: tuple[str, str], axes: Sequence[str], advice: str
) -> None:
    """Raise where ``lower`` is above ``upper``."""
    bad = lower > upper
    if bad.any():
        index, where = position(bad, axes)
        raise InvalidValueError(
            f"{what[0]}{where} is {lower[index]:g}, above {what[1]} {upper[index]:g}; {advice}"
        )


def check_same_shape(first: FloatArray, second: FloatArray, names: tuple[str, str]) -> None:
    """Raise if two arrays have different shapes."""
    if first.shape != second.shape:
        raise ShapeError(
            f"{names[0]} and {names[1]} must have the same shape; got {first.shape} and "
            f"{second.shape}"
        )


def is_integer(value: Any) -> bool:
    """Whether the value is an int or a numpy integer, and no bool."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def check_integer(value: Any, name: str, least: int = 1, most: int | None = None) -> int:
    """Return ``value`` as an int from ``least`` to ``most``."""
    if not is_integer(value) or value < least:
        raise OptionError(f"{name} must be a whole number of at least {least}; got {value!r}")
    if most is not None and value > most:
        raise OptionError(f"{name} must be at most {most:,}; got {value!r}")
    return int(value)


Closed = Literal["both", "left", "right", "neither"]


def check_number(
    value: Any, name: str, low: float = 0.0, high: float = math.inf, closed: Closed = "both"
) -> float:
    """Return ``value`` as a finite float from ``low`` to ``high``, with these ends or without."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    above = number >= low if closed in ("both", "left") else number > low
    below = number <= high if closed in ("both", "right") else number < high
    if not (above and below and number < math.inf):
        raise OptionError(f"{name} must be a number {_bounds(low, high, closed)}; got {value!r}")
    return number


def _bounds(low: float, high: float, closed: Closed) -> str:
    if high == math.inf:
        return f"of at least {low:g}" if closed in ("both", "left") else f"above {low:g}"
    return {
        "both": f"from {low:g} to {high:g}",
        "left": f"of at least {low:g} and below {high:g}",
        "right": f"above {low:g} and at most {high:g}",
        "neither": f"strictly between {low:g} and {high:g}",
    }[closed]


def check_choice(value: Any, name: str, choices: Sequence[Any], other: str = "") -> Any:
    """Return ``value`` if it is one of the choices; ``other`` says what else would be accepted."""
    if not isinstance(value, Hashable) or value not in choices:
        if other and len(choices) == 1:
            raise OptionError(f"{name} must be {choices[0]!r} or {other}; got {value!r}")
        known = ", ".join([*map(repr, choices), *([f"or {other}"] if other else [])]) or "none"
        raise OptionError(f"{name} must be one of {known}; got {value!r}")
    return value


def check_flags(**flags: Any) -> None:
    """Raise unless all flags are True or False."""
    for name, value in flags.items():
        if not isinstance(value, bool | np.bool_):
            raise OptionError(f"{name} must be True or False; got {value!r}")


def check_fraction(value: Any, name: str) -> float:
    """Return ``value`` as a float strictly between 0 and 1."""
    try:
        fraction = float(value)
    except (TypeError, ValueError):
        fraction = np.nan
    if not 0 < fraction < 1:
        raise OptionError(f"{name} must be a number strictly between 0 and 1; got {value!r}")
    return fraction


NONE_COUNTS = "sample_weight is 0 for every sample; at least one must count"

_LARGEST_WEIGHT = 1e70
"""Products of a few larger weights would overflow, those of smaller ones would be 0."""


def as_weights(sample_weight: Any, length: int, *, zero: bool = False) -> FloatArray | None:
    """Return weights that are not negative; None where all samples count alike.

    All are 0 only if these samples are some of many (``zero``).
    """
    if sample_weight is None:
        return None
    weight, _, _ = as_floats(sample_weight, "sample_weight")
    if weight.shape != (length,):
        raise ShapeError(
            f"sample_weight must be one number for each of {length} samples; got shape "
            f"{weight.shape}"
        )
    check_finite(weight, "sample_weight", ("sample",))
    check_not_negative(weight, "sample_weight", ("sample",), "a sample counts 0 times or more")
    largest = weight.max(initial=0.0)
    if largest == 0:
        if zero:
            return weight
        raise InvalidValueError(NONE_COUNTS)
    if not 1 / _LARGEST_WEIGHT <= largest <= _LARGEST_WEIGHT:
        raise InvalidValueError(
            f"sample_weight goes up to {largest:g}, and sums of such weights are not exact; scale "
            "all weights by one number, so that the largest is 1"
        )
    return weight


def as_column(values: Any, name: str, samples: int) -> np.ndarray:
    """Return one value for each sample, such as the cluster it is in; a missing one is an error."""
    array = to_numpy(values, name).array
    if array.shape != (samples,):
        raise ShapeError(
            f"{name} must be one value for each of {samples} samples; got shape {array.shape}"
        )
    missing = missing_among(array)
    if array.dtype == object:
        array = np.array([str(value) for value in array])
    if missing.any():
        raise InvalidValueError(
            f"{name} of sample {int(np.argmax(missing))} is missing; give it a value of its own, "
            "or leave the sample out"
        )
    return array


def as_times(time: Any, samples: int) -> NDArray[Any]:
    """Return one number, or one date in nanoseconds, for each sample."""
    if str(getattr(time, "dtype", "")).startswith("datetime64"):  # with or without a time zone
        array = np.atleast_1d(np.asarray(time, dtype="datetime64[ns]"))
    else:
        array = np.atleast_1d(to_numpy(time, "time").array)
    if array.dtype == object:
        for kind, dtype in ((date, "datetime64[ns]"), (Real, "float64")):
            if all(isinstance(each, kind) for each in array.ravel()):
                array = array.astype(dtype)
    if array.shape != (samples,):
        raise ShapeError(
            f"time must be one number or date for each of {samples} samples; got shape "
            f"{array.shape}"
        )
    missing = missing_among(array)
    if missing.any():
        raise InvalidValueError(f"time of sample {int(np.argmax(missing))} is missing")
    if array.dtype.kind not in "iufM":
        raise InvalidValueError(
            f"time must be numbers or dates; got type {array.dtype}. Convert texts with "
            "pandas.to_datetime"
        )
    return array.astype("datetime64[ns]") if array.dtype.kind == "M" else array


def are_few_whole(values: FloatArray) -> bool:
    """Whether numbers are whole and few of them differ, as those of classes."""
    distinct = np.unique(values)
    return bool((distinct == np.floor(distinct)).all()) and len(distinct) <= MOST_CLASSES


def as_labels(labels: Any, name: str, count: int, axis: str) -> LabelArray:
    """Return ``count`` distinct labels of type str, int, float or bool; ``None`` numbers them."""
    if labels is None:
        return np.arange(count)
    values = to_numpy(labels, name).array
    if values.ndim == 1 and (values.dtype == object or values.dtype.kind in "US"):
        values = _uniform(list(labels), name)
    if values.ndim != 1 or len(values) != count:
        raise LabelError(
            f"{name} must be {count} labels, one for each {axis} of the array; got shape "
            f"{values.shape}"
        )
    if values.dtype.kind not in "Uiufb":
        raise LabelError(f"{name} must be str, int, float or bool; got type {values.dtype}")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise LabelError(f"{name} must be finite; got {values.tolist()}")
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) < count:
        raise LabelError(
            f"{name} must be distinct; got {distinct[counts > 1][0].item()!r} more than once"
        )
    return values


def as_class_labels(y: Any, name: str = "y") -> Any:
    """Return labels of classes; objects and columns of pandas get the type of their values.

    Raise if one is missing. What is no column of these is returned as it is.
    """
    if hasattr(y, "columns") or not (
        isinstance(y, np.ndarray) or type(y).__module__.startswith("pandas")
    ):
        return y
    values = np.asarray(y)
    if values.dtype != object or values.ndim != 1:
        return values
    missing = missing_among(values)
    if missing.any():
        raise LabelError(f"{name} of sample {missing.argmax()} is missing; leave the sample out")
    numbers = all(isinstance(value, Real | np.bool_) for value in values)
    return _uniform(values.tolist(), name) if numbers and len(values) else values


def _uniform(labels: list[Any], name: str) -> LabelArray:
    """Return labels of one type; numpy would silently turn [1, "a"] into two strings."""
    kinds = {type(label.item() if isinstance(label, np.generic) else label) for label in labels}
    if kinds == {int, float}:
        kinds = {float}
    if len(kinds) != 1 or not kinds <= {str, int, float, bool}:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise LabelError(f"{name} must all be str, int, float or bool, of one type; got {names}")
    try:
        return np.asarray(labels, dtype=kinds.pop())
    except OverflowError:
        raise LabelError(f"{name} has whole numbers beyond 64 bits; pass them as text") from None


def encode_labels(y: Any, classes: LabelArray, name: str = "y") -> NDArray[np.intp]:
    """Return the index in ``classes`` of each label of ``y``; an unknown label is an error."""
    labels = to_numpy(y, name).array
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ShapeError(f"{name} must be one label for each sample; got shape {labels.shape}")
    if labels.size == 0:
        raise ShapeError(f"{name} is empty")
    if labels.dtype == object:
        labels = _uniform(labels.tolist(), name)
    if _are_positions(labels, classes):
        return labels.astype(np.intp, copy=False)
    known = f"the classes are {shorten(classes)}"
    if labels.dtype.kind not in "Uiufb" or (labels.dtype.kind == "U") != (
        classes.dtype.kind == "U"
    ):
        raise LabelError(f"{name} has labels of type {labels.dtype}, but {known}")
    order = np.argsort(classes)
    places = np.searchsorted(classes, labels, sorter=order)
    codes = order[np.minimum(places, len(classes) - 1)]
    unknown = classes[codes] != labels
    if unknown.any():
        _, where = position(unknown, ("sample",))
        raise LabelError(f"{name}{where} is {labels[unknown][0].item()!r}, but {known}")
    return codes


def _are_positions(labels: LabelArray, classes: LabelArray) -> bool:
    """Whether the classes are 0, 1, 2, ... and every label is one of them."""
    return (
        labels.dtype.kind in "iub"
        and classes.dtype.kind in "iu"
        and np.array_equal(classes, np.arange(len(classes)))
        and bool(labels.min() >= 0)
        and bool(labels.max() < len(classes))
    )


def shorten(labels: LabelArray, most: int = 8) -> str:
    """Return labels for a message or a repr, without the middle ones if there are many."""
    words = [repr(label) for label in labels.tolist()]
    if len(words) > most:
        words = [*words[: most - 2], "...", words[-1]]
    return ", ".join(words)


def as_rows(rows: Any, length: int) -> Any:
    """Return which of ``length`` samples are asked for: a slice, integers or a mask."""
    if isinstance(rows, slice):
        return rows
    rows = to_numpy(rows, "rows").array
    if rows.ndim != 1 or rows.dtype.kind not in "iub":
        raise ShapeError(
            "rows must be a slice or one axis of integers or booleans; got type "
            f"{rows.dtype} of shape {rows.shape}"
        )
    if rows.dtype == bool and len(rows) != length:
        raise ShapeError(
            f"rows is a mask of length {len(rows)} for a prediction of {length} samples"
        )
    outside = (rows < -length) | (rows >= length)
    if rows.dtype != bool and outside.any():
        raise InvalidValueError(
            f"rows asks for sample {rows[outside][0]} of a prediction of {length}"
        )
    return rows
