"""Regression: conformal correction of predicted intervals."""

from typing import Any

import numpy as np

from .._validation import FloatArray, check_finite
from ..predictions import Gaussian, Interval, Quantiles
from ._conformal_base import ConformalIntervals, Scored


class ConformalQuantiles(ConformalIntervals):
    r"""Move the ends of predicted intervals until they have their nominal coverage.

    Conformalized quantile regression. It starts from the central interval [l, u] of the coverage c:
    that between two predicted quantiles, the Gaussian one (known as CMAP where the Gaussian is a
    maximum a posteriori estimate), or an interval as it is, whatever coverage it claims. The score
    of a calibration sample is how far the truth is outside, negative inside,
    :math:`s_i = \max(l_i - y_i, y_i - u_i)`, and q is the k-th smallest score,
    :math:`k = \lceil (n + 1) c \rceil`. The new interval is :math:`[l - q, u + q]`.

    Parameters
    ----------
    symmetric : bool, default=True
        If False, the ends move by the quantiles of their own scores, :math:`l_i - y_i` and
        :math:`y_i - u_i`, at (1 + c) / 2 each. If True, midpoints never move.
    bins : int, optional
        Cut the width of the start intervals into this many bins with equally many calibration
        samples, and take q from the scores in the sample's bin. Equal widths share a bin, so there
        may be fewer.
    joint : bool or "copula", default=False
        Cover all targets of a sample at once, instead of each for itself: the score is the largest
        over the targets, each divided by the median width of its start intervals. For bins, the
        widths of a sample are replaced by their geometric mean. With ``"copula"`` the score is the
        largest of the ranks of the targets' scores, which fits each target's own tail and needs
        more samples.

    Attributes
    ----------
    edges_ : ndarray of shape (targets, bins - 1), or (1, bins - 1) if joint
        The largest width in each bin but the last; infinite for bins that ties left empty.

    Notes
    -----
    Where a negative q would make the ends cross, both become the point halfway between them: the
    old midpoint, if symmetric.

    **Requires** `Quantiles` with the levels (1 - c) / 2 and (1 + c) / 2 (several members are
    averaged), a `Gaussian` (several members are taken as the Gaussian with their mixture's mean
    and variance), or an `Interval`, finite in the calibration samples. Calibration samples that
    are exchangeable with those to come: not used to train the model, nor to fit a recalibration
    before this one. With fewer of them than ``too_few_`` says, in a group or a bin, its intervals
    are infinite: nothing else keeps the promise.

    **Promises** that a new sample is covered with a probability of at least c over the draw of
    calibration samples and new sample, whatever the model and the distribution; without ties or
    crossings, if symmetric and not joint, at most c + 1 / (n + 1). Given the calibration samples,
    the coverage is then distributed as Beta(k, n + 1 - k). The same in each group, and for
    ``joint`` for all targets together, where the median counts the new sample at its worst, so
    that its unknown width costs no coverage. In a bin of :math:`n_b` samples the bound is
    c - (1 - c) / :math:`n_b`, since one sample in each bin set its edge; cut beforehand and passed
    as groups, bins have the bound c.

    With ``shift`` the k-th smallest score becomes a weighted quantile: each calibration sample
    weighs its likelihood ratio and the new sample its own [1]_; without bins or ``joint``. The
    promise then holds after a covariate shift with that ratio. With ``overlapping`` q comes from
    the quantile regression of the scores on the groups [2]_, and the promise holds in each group.

    **Cannot** promise coverage for single samples or for subsets other than its groups and bins,
    nor after a shift between calibration and use that ``shift`` does not describe. The weights of
    ``sample_weight`` are repetitions and do not repair a shift.

    References
    ----------
    .. [1] Tibshirani, Foygel Barber, Candès, Ramdas, Conformal prediction under covariate shift
       (2019).
    .. [2] Gibbs, Cherian, Candès, Conformal prediction with conditional guarantees (2025).

    Romano, Patterson, Candès, Conformalized quantile regression (2019).

    Examples
    --------
    >>> import caveat
    >>> start = caveat.Interval([-1.0] * 9, [1.0] * 9, coverage=0.9)
    >>> truth = [0.1, 0.2, 0.4, 0.7, 0.9, 1.2, 1.5, 1.7, 2.0]
    >>> conformal = caveat.ConformalQuantiles(0.9).fit(start, truth)
    >>> conformal.transform(start.take([0])).upper
    array([[2.]])
    """

    takes = (Quantiles, Gaussian, Interval)

    def _scored(self, prediction: Any, y: FloatArray) -> Scored:
        lower, upper = self._start(prediction)
        for ends, name in ((lower, "lower"), (upper, "upper")):
            check_finite(ends, name, ("sample", "target"))
        below, above = lower - y, y - upper
        scores = [np.maximum(below, above)] if self.symmetric else [below, above]
        width = upper - lower
        return scores, None if self.bins is None else width, width if self.joint else None

    def _transform(self, prediction: Any, given: FloatArray | None = None) -> Interval:
        start_lower, start_upper = self._start(prediction)
        spread = None if self.bins is None else start_upper - start_lower
        margins = self._margins(spread, given)
        unbounded = np.isinf(margins)  # whatever the start interval is
        margins = np.where(unbounded, 0.0, margins)
        lower = np.where(unbounded[..., 0], -np.inf, start_lower - margins[..., 0])
        upper = np.where(unbounded[..., -1], np.inf, start_upper + margins[..., -1])
        crossed = lower > upper
        if crossed.any():
            middle = (lower[crossed] + upper[crossed]) / 2
            lower[crossed] = upper[crossed] = middle
        return Interval(lower, upper, coverage=float(self.coverage), targets=prediction.targets)

    def _start(self, prediction: Any) -> tuple[FloatArray, FloatArray]:
        coverage = float(self.coverage)
        if isinstance(prediction, Quantiles):
            # As prediction.interval, without averaging the levels that are not needed.
            places = prediction._central(coverage)
            lower, upper = (prediction.values[..., place].mean(axis=0) for place in places)
            return lower, upper
        start = prediction.interval(coverage) if isinstance(prediction, Gaussian) else prediction
        return start.lower, start.upper
