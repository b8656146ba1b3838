"""Arrays of losses, scores and weights as users give them."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .._arrays import to_numpy
from .._groups import combined
from .._validation import (
    FloatArray,
    as_floats,
    check_finite,
    check_no_nan,
    check_not_negative,
    check_number,
    check_unit,
    position,
)
from ..exceptions import InvalidValueError, OptionError, ShapeError
from ..recalibration import LikelihoodRatio
from ..recalibration.shift import as_ratio

M = TypeVar("M")
ONE = "loss"
"""The name of a loss that was given without one."""


def as_losses(losses: Any, bound: float, name: str = "losses") -> FloatArray:
    """Return an array (samples, ...) of losses between 0 and the bound, divided by the bound."""
    array, _, _ = as_floats(losses, name)
    if array.ndim < 2:
        raise ShapeError(
            f"{name} must have shape (samples, thresholds): the loss of each sample at each "
            f"threshold; got {array.shape}"
        )
    axes = ("sample", *(f"index {i}" for i in range(1, array.ndim)))
    axes = ("sample", "threshold") if array.ndim == 2 else axes
    low, high = array.min(), array.max()
    if not (low >= 0 and high <= bound):  # also for NaN
        check_finite(array, name, axes)
        check_not_negative(array, name, axes, "losses go from 0 to the bound")
        index, where = position(array > bound, axes)
        raise InvalidValueError(
            f"{name}{where} is {array[index]:g}, above the bound {bound:g}; pass the largest loss "
            "that can occur as bound, or clip the losses"
        )
    return array if bound == 1 else array / bound


def as_loss(loss: Any, samples: int) -> NDArray[np.bool_] | FloatArray:
    """Return the loss of each sample, from 0 to 1; true and false stay what they are."""
    given = to_numpy(loss, "loss").array
    if given.shape != (samples,):
        raise ShapeError(
            f"loss must be one number for each of {samples} samples; got shape {given.shape}"
        )
    if given.dtype == bool:
        return given
    array, _, _ = as_floats(loss, "loss")
    check_unit(array, "loss", ("sample",), "divide losses by the largest that can occur")
    return array


def as_thresholds(thresholds: Any, number: int) -> FloatArray:
    """Return increasing thresholds, one for each column of losses."""
    array, _, _ = as_floats(thresholds, "thresholds")
    if array.shape != (number,):
        raise ShapeError(
            f"thresholds must be one number for each of {number} columns of losses; got shape "
            f"{array.shape}"
        )
    check_no_nan(array, "thresholds", ("threshold",))
    with np.errstate(invalid="ignore"):  # two equal infinities
        if not (np.diff(array) > 0).all():
            raise InvalidValueError("thresholds must increase; sort them and the columns of losses")
    return array


def as_scores(score: Any, name: str = "score") -> FloatArray:
    """Return one score for each sample."""
    array, _, _ = as_floats(score, name)
    if array.ndim != 1:
        raise ShapeError(f"{name} must be one number for each sample; got shape {array.shape}")
    check_no_nan(array, name, ("sample",))
    return array


def ratios_of(shift: Any, *, new: bool) -> Any:
    """Return the ratios of calibration or of new samples, from `likelihood_ratio` or an array."""
    if isinstance(shift, LikelihoodRatio):
        return shift.test if new else shift.calibration
    return shift


def as_ratios(shift: Any, samples: int, *, new: bool = False) -> FloatArray | None:
    """Return finite likelihood ratios; None if there is no shift."""
    if shift is None:
        return None
    return as_ratio(shift, samples, "test" if new else "calibration", finite=True)


def effective_samples(samples: int, ratio: FloatArray | None, least: int, shown: str) -> float:
    """Return how many equal weights have the same spread, (sum w)^2 / sum w^2; at least so many."""
    effective = float(samples if ratio is None else ratio.sum() ** 2 / (ratio**2).sum())
    if effective < least * (1 - 1e-9):
        few = f"{effective:,.4g} {'' if ratio is None else 'effective '}calibration samples"
        raise InvalidValueError(f"{few} cannot show {shown.format(least=f'{least:,}')}")
    return effective


def each(value: Any, names: list[str], argument: str, low: float, high: float) -> dict[str, float]:
    """Return a number for each loss: one for all, or a mapping with all of their names."""
    if not isinstance(value, Mapping):
        value = dict.fromkeys(names, value)
    if sorted(map(str, value)) != sorted(names):
        raise OptionError(
            f"{argument} must be one number, or one for each of {', '.join(map(repr, names))}; got "
            f"{', '.join(map(repr, value))}"
        )
    return {
        name: check_number(value[name], argument, low, high, closed="neither") for name in names
    }


def rows_of_groups(groups: Any, samples: int) -> dict[str, NDArray[np.intp]]:
    """Return the rows of each group that has some, by its name."""
    return combined(groups, samples).by_value()


def fit_groups(
    method: M, groups: Any, samples: int, learn: Callable[[M, NDArray[np.intp]], Any]
) -> dict[str, M] | None:
    """Return a copy of a method for each group, fitted by ``learn(copy, rows)``; None for None."""
    if groups is None:
        return None
    result = {}
    for name, rows in rows_of_groups(groups, samples).items():
        part: Any = clone(method)
        part.groups_ = None
        try:
            learn(part, rows)
        except InvalidValueError as error:
            raise InvalidValueError(f"group {name!r}: {error}") from error
        result[name] = part
    return result


def guarantee_of_groups(groups: Mapping[str, Any]) -> str:
    """Return the promises of all groups, one after the other."""
    words = (f"{name}: {part.guarantee_}" for name, part in groups.items())
    return "For each group by itself: " + " ".join(words)


def length_of(groups: Any) -> int:
    """Return the number of samples that groups are of."""
    return len(next(iter(groups.values()))) if isinstance(groups, Mapping) else len(groups)


def check_groups(given: Any, known: Any, method: str) -> None:
    """Raise unless groups were given both to ``fit`` and now, or to neither."""
    if (given is None) != (known is None):
        raise OptionError(
            f"fit was given groups, so {method} needs them too"
            if given is None
            else f"groups were given to {method} but not to fit"
        )


def check_known(name: str, known: Any) -> None:
    """Raise if a group had no calibration samples."""
    if name not in known:
        raise OptionError(
            f"group {name!r} had no samples in fit, so nothing can be promised for it; fit knew "
            f"{', '.join(map(repr, known))}"
        )
