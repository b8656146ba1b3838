"""Regression: quantiles."""

from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._validation import (
    FloatArray,
    as_floats,
    as_labels,
    check_fraction,
    check_ordered,
    check_size,
)
from ..exceptions import OptionError, ShapeError
from ._container import WithMembers, count
from ._targets import WithTargets
from .interval import Interval

if TYPE_CHECKING:
    from .gaussian import Gaussian

_AXES = ("member", "sample", "target", "level")

# Levels are decimals that people type: 0.1587 stands for (1 - 0.6827) / 2.
_SAME_LEVEL = 1e-4


class Quantiles(WithTargets, WithMembers):
    """Quantiles at a few levels for each target, one set for each member.

    Parameters
    ----------
    levels : array of shape (levels,)
        Strictly between 0 and 1, increasing.
    values : array of shape (samples, levels), (samples, targets, levels) or \
(members, samples, targets, levels)
        Quantiles of one sample must not cross.
    targets : sequence of str, int, float or bool, optional
        The name of each target; by default 0, 1, 2, ...
    sort : bool, default=False
        Sort levels and crossing quantiles instead of refusing them.

    Attributes
    ----------
    levels : ndarray of shape (levels,)
    values : ndarray of shape (members, samples, targets, levels)
    targets : ndarray of shape (targets,)

    Examples
    --------
    >>> import caveat
    >>> quantiles = caveat.Quantiles([0.05, 0.5, 0.95], [[1.0, 2.0, 4.0], [0.0, 1.0, 3.0]])
    >>> quantiles
    Quantiles: 1 member x 2 samples x 1 target (0) x 3 levels (0.05, 0.5, 0.95)
    >>> quantiles.median().ravel()
    array([2., 1.])
    >>> quantiles.to_gaussian(0.9).mean.ravel()
    array([2.5, 1.5])
    """

    _arrays: ClassVar[dict[str, int]] = {"values": 1}
    _shared: ClassVar[tuple[str, ...]] = ("levels", "targets")
    levels: FloatArray
    values: FloatArray

    def __init__(
        self, levels: Any, values: Any, *, targets: Any = None, sort: bool = False
    ) -> None:
        steps, _, _ = as_floats(levels, "levels")
        array, _, _ = as_floats(values, "values")
        if array.ndim == 2:
            array = array[:, None, :]
        if array.ndim == 3:
            array = array[None]
        if array.ndim != 4 or array.shape[-1:] != steps.shape:
            raise ShapeError(
                "values must have shape (samples, levels), (samples, targets, levels) or (members, "
                f"samples, targets, levels) with as many levels as levels has; got {array.shape} "
                f"for levels of shape {steps.shape}"
            )
        check_size(array, "values", _AXES)
        if sort:
            order = np.argsort(steps)
            steps, array = steps[order], np.sort(array[..., order], axis=-1)
        steps = check_levels(steps)
        check_ordered(
            array[..., :-1],
            array[..., 1:],
            ("quantile", "the next,"),
            _AXES,
            "quantiles of one sample must not cross; pass sort=True to sort them",
        )
        names = as_labels(targets, "targets", array.shape[2], "target")
        self._store(levels=steps, values=array, targets=names)

    def median(self) -> FloatArray:
        """Return the medians, (samples, targets), averaged over members.

        The quantile at 0.5 if it is there; otherwise the two next to it, one below and one above,
        are joined by a straight line.
        """
        around = levels_around_half(self.levels)
        if around is None:
            raise OptionError(
                "a median needs the level 0.5, or a level below it and one above; the levels are "
                f"{self._steps()}"
            )
        low, high = around
        values = self.values.mean(axis=0)
        if low == high:
            return values[..., low]
        share = (0.5 - self.levels[low]) / (self.levels[high] - self.levels[low])
        return np.asarray((1 - share) * values[..., low] + share * values[..., high])

    def interval(self, coverage: float) -> Interval:
        """Return the central interval between two of the levels, averaged over members.

        Needs the levels (1 - coverage) / 2 and (1 + coverage) / 2 among ``levels``.
        """
        low, high = self._central(coverage)
        return Interval(
            self.values[..., low].mean(axis=0),
            self.values[..., high].mean(axis=0),
            coverage=coverage,
            targets=self.targets,
        )

    def to_gaussian(self, level: float) -> "Gaussian":
        r"""Return the Gaussians whose central interval at ``level`` is the predicted one.

        The mean is the midpoint of the interval, not the median, and the standard deviation is
        its width over :math:`2 z`, with :math:`z` the Gaussian quantile at (1 + level) / 2.

        Parameters
        ----------
        level : float
            Coverage of the interval; needs the levels (1 - level) / 2 and (1 + level) / 2.
        """
        low, high = self._central(level)
        return midpoint_gaussian(
            self.values[..., low], self.values[..., high], float(level), self.targets
        )

    def _central(self, coverage: float) -> tuple[int, int]:
        coverage = check_fraction(coverage, "level")
        places = []
        for wanted in ((1 - coverage) / 2, (1 + coverage) / 2):
            near = int(np.argmin(np.abs(self.levels - wanted)))
            if abs(self.levels[near] - wanted) > _SAME_LEVEL:
                raise OptionError(
                    f"a central interval of {coverage:g} needs the quantile at {wanted:g}; the "
                    f"levels are {self._steps()}"
                )
            places.append(near)
        if places[0] == places[1]:
            raise OptionError(
                f"a central interval of {coverage:g} is empty: both of its ends are "
                f"the quantile at {self.levels[places[0]]:g}"
            )
        return places[0], places[1]

    def _words(self) -> list[str]:
        return [*super()._words(), f"{count(len(self.levels), 'level')} ({self._steps()})"]

    def _steps(self) -> str:
        return ", ".join(f"{step:g}" for step in self.levels)


def central_coverages(levels: FloatArray) -> list[float]:
    """Return the coverages of the pairs of levels that lie symmetrically, from narrow to wide."""
    pairs = [
        round(float(high - low), 10)
        for low in levels[levels < 0.5]
        for high in levels
        if abs(low + high - 1) <= _SAME_LEVEL
    ]
    return sorted(pairs)


def levels_around_half(levels: FloatArray) -> tuple[int, int] | None:
    """Return the places of the levels next to 0.5, equal if 0.5 is a level; None if on one side."""
    near = int(np.argmin(np.abs(levels - 0.5)))
    if abs(levels[near] - 0.5) <= _SAME_LEVEL:
        return near, near
    high = int(np.searchsorted(levels, 0.5))
    return (high - 1, high) if 0 < high < len(levels) else None


def check_levels(levels: FloatArray) -> FloatArray:
    """Return one axis of strictly increasing levels between 0 and 1."""
    if levels.ndim != 1:
        raise ShapeError(f"levels must have one axis; got shape {levels.shape}")
    for level in levels:
        check_fraction(level, "every one of levels")
    if (np.diff(levels) <= 0).any():
        raise OptionError(
            f"levels must increase and not repeat; got {levels.tolist()}. "
            "Quantiles(..., sort=True) sorts levels together with their values"
        )
    return levels


def midpoint_gaussian(
    lower: FloatArray, upper: FloatArray, coverage: float, targets: Any
) -> "Gaussian":
    """Return the Gaussians that have these central intervals."""
    from .gaussian import Gaussian

    score = NormalDist().inv_cdf((1 + coverage) / 2)
    return Gaussian.from_std((lower + upper) / 2, (upper - lower) / (2 * score), targets=targets)
