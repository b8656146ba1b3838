"""Regression: means and variances."""

from statistics import NormalDist
from typing import Any, ClassVar, Self

import numpy as np

from .._members import mean_and_variance
from .._validation import (
    LARGEST_SQUARE,
    FloatArray,
    as_floats,
    as_labels,
    check_choice,
    check_fraction,
    check_not_negative,
    check_same_shape,
    check_size,
    squared,
)
from ..exceptions import OptionError, ShapeError
from ._container import Decomposable
from ._targets import WithTargets, with_axes
from .highest_density import mixture_widths
from .interval import Interval
from .quantiles import Quantiles, check_levels

COMPONENTS = ("aleatoric", "epistemic", "total")
"""The parts of an uncertainty."""

_AXES = ("member", "sample", "target")
_NEGATIVE = "variances cannot be negative; standard deviations go to Gaussian.from_std"


class Gaussian(WithTargets, Decomposable):
    """A mean and a variance for each target, one set for each member.

    A variance of 0 is a member that gives a point: a tree of a forest, a plain network.

    Parameters
    ----------
    mean : array of shape (samples,), (samples, targets) or (members, samples, targets)
        Or a frame, whose columns name the targets. For members of one target see `from_members`.
    variance : array of the shape of ``mean``, or one number for all

    Attributes
    ----------
    mean, variance : ndarrays of shape (members, samples, targets)
    targets : ndarray of shape (targets,)

    Examples
    --------
    >>> import caveat
    >>> caveat.Gaussian([120.0, 131.0], [25.0, 36.0], targets=["systolic"])
    Gaussian: 1 member x 2 samples x 1 target ('systolic')
    """

    _arrays: ClassVar[dict[str, int]] = {"mean": 1, "variance": 1}
    _shared: ClassVar[tuple[str, ...]] = ("targets",)
    mean: FloatArray
    variance: FloatArray

    def __init__(self, mean: Any, variance: Any, *, targets: Any = None) -> None:
        means, columns, _ = as_floats(mean, "mean")
        variances, _, _ = as_floats(variance, "variance")
        self._set(means, variances, columns if targets is None else targets)

    def _set(self, mean: FloatArray, variance: FloatArray, targets: Any) -> None:
        if variance.ndim == 0:
            variance = np.full(mean.shape, variance)
        means, variances = with_axes(mean, "mean"), with_axes(variance, "variance")
        check_same_shape(means, variances, ("mean", "variance"))
        check_size(means, "mean", _AXES)
        check_size(variances, "variance", _AXES, LARGEST_SQUARE)
        check_not_negative(variances, "variance", _AXES, _NEGATIVE)
        names = as_labels(targets, "targets", means.shape[-1], "target")
        self._store(mean=means, variance=variances, targets=names)

    @classmethod
    def from_std(cls, mean: Any, std: Any, *, targets: Any = None) -> Self:
        """Build from means and standard deviations.

        Parameters
        ----------
        mean : array of shape (samples,), (samples, targets) or (members, samples, targets)
        std : array of the shape of ``mean``, or one number for all
        targets : sequence of labels, optional
        """
        deviations, _, _ = as_floats(std, "std")
        if deviations.ndim:
            deviations = with_axes(deviations, "std")
        return cls(mean, squared(deviations, "std", _AXES[: deviations.ndim]), targets=targets)

    @classmethod
    def from_members(cls, mean: Any, variance: Any = 0.0, *, targets: Any = None) -> Self:
        """Build from several members, of one target without its axis or of several with it.

        Parameters
        ----------
        mean : array of shape (members, samples) or (members, samples, targets)
        variance : array of the same shape, or one number for all, default=0.0
        targets : sequence of labels, optional
        """
        means, _, _ = as_floats(mean, "mean")
        variances, _, _ = as_floats(variance, "variance")
        if means.ndim == 2:
            means, variances = (
                means[..., None],
                variances[..., None] if variances.ndim else variances,
            )
        if means.ndim != 3:
            raise ShapeError(
                "from_members takes means of shape (members, samples) or (members, samples, "
                f"targets); got {means.shape}"
            )
        new = object.__new__(cls)
        new._set(means, variances, targets)
        return new

    def moments(self) -> tuple[FloatArray, FloatArray]:
        r"""Return mean and variance of the mixture of the members, both (samples, targets).

        The law of total variance: :math:`\mathrm{E}_t[\sigma_t^2] + \mathrm{Var}_t[\mu_t]`, with
        the variance over members divided by their number.
        """
        if self.members == 1:
            return self.mean[0], self.variance[0]
        mean, spread = mean_and_variance(self.mean)
        return mean, self.variance.mean(axis=0) + spread

    def component(self, name: str) -> Self:
        r"""Return the prediction with one part of its uncertainty alone, as one member.

        Its mean is that of all members, its variance the mean of their variances
        (:math:`\mathrm{E}_t[\sigma_t^2]`, aleatoric), the variance of their means
        (:math:`\mathrm{Var}_t[\mu_t]`, epistemic), or the sum of both.

        Parameters
        ----------
        name : {"aleatoric", "epistemic", "total"}

        Examples
        --------
        >>> import caveat
        >>> prediction = caveat.Gaussian.from_members([[1.0], [3.0]], [[0.5], [2.5]])
        >>> [prediction.component(name).variance.item() for name in ("aleatoric", "epistemic")]
        [1.5, 1.0]
        """
        check_choice(name, "name", COMPONENTS)
        variance = getattr(self.decompose("total_variance"), name)
        if not variance.any():
            why = (
                "it has one member, or all agree" if name == "epistemic"
                else "its members are points" if name == "aleatoric" else "it is one point"
            )  # fmt: skip
            raise OptionError(f"the prediction has no {name} uncertainty: {why}")
        return type(self)(self.moments()[0], variance, targets=self.targets)

    def interval(self, coverage: float) -> Interval:
        """Return central intervals of the Gaussian with the mixture's mean and variance.

        With several members this takes their mixture for a Gaussian of the same two moments.
        """
        level = check_fraction(coverage, "coverage")
        mean, variance = self.moments()
        half = NormalDist().inv_cdf((1 + level) / 2) * np.sqrt(variance)
        return Interval(mean - half, mean + half, coverage=level, targets=self.targets)

    def highest_density_width(self, coverage: float) -> FloatArray:
        r"""Return how wide the regions of highest density are, (samples, targets).

        The region is the set :math:`\{x: f(x) \ge t\}` with the largest :math:`t` at which the
        mixture :math:`f` of the members has the coverage in it. For one member it is the central
        interval; where members form several modes it is several intervals, whose widths add up,
        and less than any single interval with that coverage.

        Parameters
        ----------
        coverage : float
            Share of the mixture that is inside, strictly between 0 and 1.

        Examples
        --------
        >>> import caveat
        >>> apart = caveat.Gaussian.from_members([[0.0], [100.0]], 1.0)
        >>> apart.highest_density_width(0.9).round(2), apart.interval(0.9).upper.round(1)
        (array([[6.58]]), array([[132.3]]))
        """
        level = check_fraction(coverage, "coverage")
        if not self.variance.all():
            raise OptionError(
                "a member is a point, which has no density; highest_density_width needs variances "
                "above 0"
            )
        shape = self.mean.shape[1:]
        std = np.sqrt(self.variance).reshape(self.members, -1)
        return mixture_widths(self.mean.reshape(self.members, -1), std, level).reshape(shape)

    def to_quantiles(self, levels: Any) -> Quantiles:
        """Return each member's Gaussian quantiles at the levels, members kept."""
        wanted = check_levels(as_floats(levels, "levels")[0])
        scores = np.array([NormalDist().inv_cdf(level) for level in wanted])
        values = self.mean[..., None] + np.sqrt(self.variance)[..., None] * scores
        return Quantiles(wanted, values, targets=self.targets)
