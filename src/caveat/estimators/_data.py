"""Samples, labels, rows and weights: checked once, and shared where problems share them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import _check_sample_weight, _check_y, validate_data

from .._arrays import as_array, is_frame, with_text_names
from .._validation import as_class_labels, check_number
from ..exceptions import InvalidValueError, LabelError, OptionError, ShapeError
from . import _sources, _table
from ._problem import Problem

if TYPE_CHECKING:
    from ._network import NetworkEstimator


@dataclass(frozen=True, eq=False)
class NetworkInputs:
    """Inputs as the network gets them; held-out ones come after those to learn from."""

    X: Any
    """An array, or a source of samples that are none."""
    offset: np.ndarray | None
    rounding: float
    """The relative precision in which the inputs came."""
    given: int
    """How many are to learn from."""
    columns: list[_table.Column] | None
    """What the columns of a table hold that are not all numbers."""
    y: Any = None
    """Labels, as they were given or came with the samples."""
    y_held: Any = None


class SampleCache:
    """Samples that were checked already, so that problems that share X share its memory."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], tuple[Any, NetworkInputs]] = {}
        self._columns: dict[int, list[_table.Column] | None] = {}

    def samples(self, model: "NetworkEstimator", problem: Problem) -> NetworkInputs:
        """Return the checked inputs of a problem, and tell the model their names and number."""
        if _sources.is_source(problem.X) and (
            model.module is not None or not isinstance(problem.X, tuple)
        ):
            return self._from_source(model, problem)
        X_held = None if problem.validation is None else as_pair(problem.validation)[0]
        given_X = with_text_names(as_array(problem.X))
        columns = self._columns_of(problem, given_X) if model.module is None else None
        # What the columns hold may differ between rows; where it does not, samples are shared.
        key = id(problem.X), id(X_held), model._scaling_kind(), repr(columns)
        if key in self._known:
            validate_data(model, given_X, skip_check_array=True)
            return self._labeled(self._known[key][1], problem)
        X = _inputs(model, given_X, columns, reset=True, ensure_min_samples=2)
        rounding = float(np.finfo(X.dtype).eps)
        given = len(X)
        if X_held is not None:
            held = _inputs(model, with_text_names(as_array(X_held), model), columns, reset=False)
            if held.shape[1:] != X.shape[1:]:
                raise ShapeError(
                    f"validation samples have shape {held.shape[1:]}, those to learn from "
                    f"{X.shape[1:]}"
                )
            X = np.concatenate([X, held])
        with np.errstate(over="ignore"):
            offset = _center(X[:given], model._scaling_kind(), columns)
        samples = NetworkInputs(narrow(X, offset), offset, rounding, given, columns)
        # The inputs are kept too, so that no other object gets their id.
        self._known[key] = (problem.X, X_held), samples
        return self._labeled(samples, problem)

    def _columns_of(self, problem: Problem, X: Any) -> list[_table.Column] | None:
        """Return what the columns of a table hold in the rows of a problem."""
        key = id(problem.X)
        if key not in self._columns:
            self._columns[key] = _table.learn_columns(X)
        whole = self._columns[key]
        if whole is None or (problem.rows is None and problem.sample_weight is None):
            return whole
        return _table.learn_columns(X, _rows_and_weight(problem, len(X))[0])

    @staticmethod
    def _labeled(samples: NetworkInputs, problem: Problem) -> NetworkInputs:
        held = None if problem.validation is None else as_pair(problem.validation)[1]
        return replace(samples, y=problem.y, y_held=held)

    def _from_source(self, model: "NetworkEstimator", problem: Problem) -> NetworkInputs:
        key = id(problem.X), id(problem.validation), problem.y is None
        if key not in self._known:
            X, given, y, y_held = _sources.read(model, problem)
            samples = NetworkInputs(X, None, 0.0, given, None, y, y_held)
            self._known[key] = (problem.X, problem.validation), samples
        known = self._known[key][1]
        # Problems on the same samples may have other labels, as noise makes them.
        return known if problem.y is None else replace(known, y=problem.y)


def _center(
    X: np.ndarray, kind: str | None, columns: list[_table.Column] | None
) -> np.ndarray | None:
    """Return what is subtracted from the inputs before they are narrowed; nothing from codes."""
    if kind is None:
        return None
    center = np.median(X, axis=0) if kind == "robust" else X.mean(axis=0, dtype=np.float64)
    if columns is not None:
        center[_table.count_numbers(columns) :] = 0.0
    return center.astype(np.float64)


def narrow(X: np.ndarray, offset: np.ndarray | None) -> np.ndarray:
    """Return inputs in single precision; large values that differ little are centered before."""
    with np.errstate(over="ignore", invalid="ignore"):
        narrowed = np.asarray(X if offset is None else X - offset, dtype=np.float32)
        if not np.isfinite(narrowed.sum(dtype=np.float64)):
            largest = np.abs(X).reshape(len(X), -1).max(axis=1)
            raise InvalidValueError(
                f"X of sample {largest.argmax()} goes up to {largest.max():g}, too large for "
                "float32, in which networks compute; scale X down, or leave the sample out"
            )
    return narrowed


def _inputs(
    model: "NetworkEstimator", X: Any, columns: list[_table.Column] | None, **options: Any
) -> np.ndarray:
    """Return checked samples as numbers; columns say what those of a table hold."""
    if columns is not None:
        validate_data(model, X, skip_check_array=True, reset=options["reset"])
        X = check_array(
            _table.encode(columns, X), ensure_min_samples=options.get("ensure_min_samples", 1)
        )
        return np.asarray(X)
    kinds = [np.float64, np.float32]
    try:
        array = np.asarray(
            validate_data(
                model, X, allow_nd=True, dtype=kinds, ensure_all_finite="allow-nan", **options
            )
        )
    except ValueError:
        if model.module is None:
            _table.refuse_text(X)
        raise
    if array.size and np.isnan(array.min()):
        raise _gap(model, X, array, options["reset"])
    return array


def _gap(model: "NetworkEstimator", X: Any, array: np.ndarray, reset: bool) -> InvalidValueError:
    """Return the error for a missing number where none can be taken."""
    sample, *place = map(int, np.argwhere(np.isnan(array))[0])
    if model.module is not None or array.ndim != 2:
        return InvalidValueError(
            f"X is NaN in sample {sample}; a module gets numbers as they are, so fill it in, or "
            "leave the sample out"
        )
    if reset:
        return InvalidValueError(
            f"column {place[0]} is NaN in sample {sample}; pass an array of floats or a DataFrame, "
            "whose missing numbers are filled in"
        )
    return _table.new_gap(X.columns[place[0]] if is_frame(X) else place[0], sample)


def new_inputs(model: "NetworkEstimator", X: Any) -> Any:
    """Return samples to predict, as the fitted network gets them."""
    if model.shape_ is None or (_sources.is_source(X) and not isinstance(X, tuple)):
        return _sources.new_samples(model, X)
    X = with_text_names(as_array(X), model)
    X = _inputs(model, X, getattr(model, "columns_", None), reset=False)
    if X.shape[1:] != model.shape_:
        raise ShapeError(f"samples must have shape {model.shape_}, as in fit; got {X.shape[1:]}")
    return narrow(X, model.offset_)


def labels(model: "NetworkEstimator", y: Any, samples: Any) -> np.ndarray:
    """Return checked labels of some samples, as they were given."""
    if y is None:
        raise LabelError(
            f"{type(model).__name__} requires y to be passed, but the target y is None"
        )
    y = as_array(y) if model._numbers else as_class_labels(as_array(y))
    y = _check_y(y, multi_output=model._numbers, y_numeric=model._numbers, estimator=model)
    check_consistent_length(samples, y)
    return np.asarray(y)


def held_labels(model: "NetworkEstimator", samples: NetworkInputs) -> np.ndarray:
    """Return the labels of the held-out samples."""
    return labels(model, samples.y_held, range(len(samples.X) - samples.given))


def as_pair(validation: Any) -> tuple[Any, Any]:
    if not isinstance(validation, tuple | list) or len(validation) != 2:
        raise OptionError(
            f"validation must be a pair (X, y); got a {type(validation).__name__}"
            + (f" of {len(validation)}" if isinstance(validation, tuple | list) else "")
        )
    return validation[0], validation[1]


def used_rows(problem: Problem, samples: NetworkInputs) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the rows to learn from and weights for all samples; rows of weight 0 are left out."""
    rows, weight = _rows_and_weight(problem, samples.given)
    if len(rows) < 2:
        raise ShapeError(
            f"at least 2 samples are needed to learn from; got n_samples = {len(rows)}"
            + ("" if weight is None else " with a weight above 0")
        )
    if weight is not None:
        # Held-out samples all get the average weight of those to learn from.
        held = np.full(len(samples.X) - len(weight), weight[rows].mean())
        weight = np.concatenate([weight, held])
    return rows, weight


def _rows_and_weight(problem: Problem, samples: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the rows with a weight above 0, and the weights of those to learn from."""
    rows = _rows(problem.rows, samples)
    if problem.sample_weight is None:
        return rows, None
    weight = np.asarray(
        _check_sample_weight(
            as_array(problem.sample_weight),
            np.empty(samples),
            dtype=np.float64,
            ensure_non_negative=True,
        )
    )
    return rows[weight[rows] > 0], weight


def _rows(rows: Any, samples: int) -> np.ndarray:
    if rows is None:
        return np.arange(samples)
    rows = np.asarray(as_array(rows))
    if rows.dtype == bool and rows.shape == (samples,):
        return np.flatnonzero(rows)
    if rows.ndim != 1 or not np.issubdtype(rows.dtype, np.integer):
        raise ShapeError(
            f"rows must be numbers of samples, or a mask of shape ({samples},); got shape "
            f"{rows.shape} of {rows.dtype}"
        )
    if len(rows) and not 0 <= rows.min() <= rows.max() < samples:
        raise InvalidValueError(
            f"rows must lie from 0 to {samples - 1}; got {rows.min()} to {rows.max()}"
        )
    return rows


def hold_out(
    rows: np.ndarray,
    fraction: Any,
    strata: Callable[[np.ndarray], np.ndarray | None],
    draw: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows to learn from and rows that are held out, in order; no sample is in both.

    ``strata`` returns the groups of some rows that have the same shares in both parts.
    """
    from sklearn.model_selection import train_test_split

    check_number(fraction, "validation_fraction", 0, 1, "neither")
    first = np.sort(np.unique(rows, return_index=True)[1])
    shares = strata(rows[first])
    seed = int(draw.integers(2**31))
    try:
        kept, held = train_test_split(
            rows[first], test_size=float(fraction), stratify=shares, random_state=seed
        )
    except ValueError as error:
        raise OptionError(
            f"validation_fraction={fraction!r} cannot be held out of {len(first)} samples: {error}"
        ) from None
    return rows[np.isin(rows, kept)], rows[np.isin(rows, held)]


def mean_and_scale(
    values: np.ndarray, weight: np.ndarray | None, size: Any, rounding: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of columns; 0 where they differ by rounding alone."""
    mean = np.average(values, axis=0, weights=weight)
    scale = np.sqrt(np.average((values - mean) ** 2, axis=0, weights=weight))
    return mean, np.where(scale > 10 * rounding * np.abs(size), scale, 0.0)


def median_and_spread(
    values: np.ndarray, weight: np.ndarray | None, size: Any, rounding: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the median of columns, and their spread; 0 where they differ by rounding alone.

    The spread is the distance between the quartiles. Where half of a column is one value, it is the
    median distance of the others from it, halved.
    """
    flat = values.reshape(len(values), -1)
    low, center, high = weighted_quantiles(flat, weight, (0.25, 0.5, 0.75))
    spread = high - low
    distance = np.abs(flat - center)
    floor = 10 * rounding * np.abs(np.asarray(size)).reshape(-1)
    for column in np.flatnonzero(spread <= floor):
        away = distance[:, column] > floor[column]
        mine = None if weight is None else weight[away]
        if away.any():
            spread[column] = (
                weighted_quantiles(distance[away, column, None], mine, (0.5,))[0, 0] / 2
            )
    spread = np.where(spread > floor, spread, 0.0)
    return center.reshape(values.shape[1:]), spread.reshape(values.shape[1:])


def weighted_quantiles(
    values: np.ndarray, weight: np.ndarray | None, levels: Sequence[float]
) -> np.ndarray:
    """Return quantiles of columns, (levels, columns)."""
    if weight is None:
        return np.quantile(values, levels, axis=0, method="inverted_cdf")
    order = values.argsort(axis=0)
    below = weight[order].cumsum(axis=0)
    ranks = [(below >= level * below[-1]).argmax(axis=0) for level in levels]
    return np.take_along_axis(np.take_along_axis(values, order, 0), np.stack(ranks), 0)


def forget(model: BaseEstimator) -> None:
    """Delete what a model has learned, so that a fit that fails leaves it unfitted."""
    settings = model.get_params(deep=False)
    for name in [name for name in vars(model) if name.endswith("_") and name not in settings]:
        delattr(model, name)


Loss = Callable[[Any, Any], Any]
