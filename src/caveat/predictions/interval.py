"""Regression: prediction intervals, conformal or not."""

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._validation import (
    FloatArray,
    as_floats,
    check_fraction,
    check_ordered,
    check_same_shape,
    check_size,
)
from ..exceptions import InvalidValueError, ShapeError
from ._container import named
from ._targets import WithTargets
from .kernel_density import SAMPLES, bandwidth, unit_quantiles

if TYPE_CHECKING:
    from .gaussian import Gaussian
    from .quantiles import Quantiles

_AXES = ("sample", "target")


class Interval(WithTargets):
    """Prediction intervals with one nominal coverage.

    An end may be infinite, as in a conformal interval with too few calibration samples.

    Parameters
    ----------
    lower, upper : arrays of shape (samples,) or (samples, targets)
        Or frames, whose columns name the targets.
    coverage : float
        The share of true values meant to be inside, strictly between 0 and 1.

    Attributes
    ----------
    lower, upper : ndarrays of shape (samples, targets)
    coverage : float
    targets : ndarray of shape (targets,)

    Examples
    --------
    >>> import caveat
    >>> caveat.Interval([1.0, 2.0], [3.0, 5.0], coverage=0.9)
    Interval: 2 samples x 1 target (0), coverage 0.9
    """

    _arrays: ClassVar[dict[str, int]] = {"lower": 0, "upper": 0}
    _shared: ClassVar[tuple[str, ...]] = ("coverage", "targets")
    lower: FloatArray
    upper: FloatArray
    coverage: float

    def __init__(self, lower: Any, upper: Any, *, coverage: float, targets: Any = None) -> None:
        low, columns, _ = as_floats(lower, "lower")
        high, _, _ = as_floats(upper, "upper")
        check_same_shape(low, high, ("lower", "upper"))
        if low.ndim == 1:
            low, high = low[:, None], high[:, None]
        if low.ndim != 2:
            raise ShapeError(
                f"lower must have shape (samples,) or (samples, targets); got {low.shape}"
            )
        for ends, name in ((low, "lower"), (high, "upper")):
            check_size(ends, name, _AXES, infinite=True)
        check_ordered(low, high, ("lower", "upper"), _AXES, "swap the two where they are mixed up")
        names = named(targets, columns, "targets", low.shape[1])
        self._store(
            lower=low, upper=high, coverage=check_fraction(coverage, "coverage"), targets=names
        )

    def to_gaussian(self) -> "Gaussian":
        r"""Return the Gaussians that have these intervals as central ones.

        The mean is the midpoint, the standard deviation the width over :math:`2 z`, with
        :math:`z` the Gaussian quantile at (1 + coverage) / 2. Raises on infinite intervals.
        """
        from .quantiles import midpoint_gaussian

        self._check_finite("Gaussian", "to_gaussian()")
        return midpoint_gaussian(self.lower, self.upper, self.coverage, self.targets)

    def to_quantiles(self, levels: Any, *, samples: int = SAMPLES) -> "Quantiles":
        r"""Return quantiles of a kernel density estimate of points between the ends.

        The estimate that ``samples`` uniform points between the ends have on average, with Gaussian
        kernels and Scott's bandwidth: mean at the midpoint, variance :math:`w^2 (1 + s^{-2/5}) /
        12` for an interval of width :math:`w` and :math:`s` points. It makes no assumption of a
        Gaussian, and takes the interval for nearly all of the distribution, whatever its coverage:
        for a coverage of 0.68 the quantiles are too narrow. Raises on infinite intervals.

        Parameters
        ----------
        levels : sequence of float
            Increasing, between 0 and 1.
        samples : int, default=100
            Points between the ends; more make the ends sharper.

        References
        ----------
        22HLT01 QUMPHY, report D2, 2026, appendix C.6.3.

        Examples
        --------
        >>> import caveat
        >>> interval = caveat.Interval([0.0], [1.0], coverage=0.95)
        >>> interval.to_quantiles([0.05, 0.5, 0.95]).values.round(3)[0]
        array([[[0.008, 0.5  , 0.992]]])
        """
        from .quantiles import Quantiles, check_levels

        wanted = check_levels(as_floats(levels, "levels")[0])
        self._check_finite("density", "to_quantiles(levels)")
        steps = unit_quantiles(wanted, bandwidth(samples))
        width = (self.upper - self.lower)[..., None]
        return Quantiles(
            wanted, (self.lower[..., None] + width * steps)[None], targets=self.targets
        )

    def _check_finite(self, what: str, call: str) -> None:
        infinite = self._infinite()
        if infinite.any():
            raise InvalidValueError(
                f"the interval of sample {int(infinite.argmax())} is infinite, and no {what} has "
                f"such an interval; it is so for {int(infinite.sum())} of {len(self)} samples. "
                "Convert the others: prediction.take(numpy.isfinite(prediction.upper - "
                f"prediction.lower).all(axis=1)).{call}"
            )

    def _infinite(self) -> NDArray[np.bool_]:
        """Return which samples have an infinite end, of any target."""
        infinite: NDArray[np.bool_] = np.isinf(self.lower) | np.isinf(self.upper)
        return np.asarray(infinite.any(axis=1))
