"""Regression: conformal predictive distributions."""

from fractions import Fraction
from typing import Any

import numpy as np

from .._docstrings import describe_parameters
from .._random import RandomState, generator
from .._validation import FloatArray, as_floats, check_flags
from ..exceptions import OptionError
from ..predictions import Gaussian, Quantiles
from ..predictions.quantiles import check_levels
from ._base import AFTER
from ._conformal import as_fraction, values_at_ranks
from ._conformal_base import WithPromise
from ._residuals import drop_zero_weights, standardized


class ConformalDistribution(WithPromise):
    r"""A predictive distribution for each sample whose quantiles are covered as often as they say.

    A split conformal predictive system. With the residuals :math:`r_i = y_i - \mu_i` of n
    calibration samples, or :math:`(y_i - \mu_i) / \sigma_i` with ``normalize``, the predictive
    distribution function of a new sample is, for :math:`0 \le \tau \le 1`,

    .. math:: Q(y, \tau) = \frac{|\{i : z_i < y\}| + \tau (1 + |\{i : z_i = y\}|)}{n + 1}, \qquad
       z_i = \mu + r_i \quad \text{or} \quad \mu + \sigma r_i .

    The quantile at a level l is the :math:`l (n + 1)`-th smallest :math:`z_i`. If that is no whole
    number, the rank is rounded away from the middle, so that an interval between two levels never
    covers less than it says: down for levels below 1/2 and up for those above; at 1/2 both are
    averaged.

    Parameters
    ----------
    levels : array of shape (levels,), optional
        Levels of the quantiles that ``transform`` returns; by default 0.05, 0.1, ..., 0.95.
    normalize : bool, default=False
        Divide residuals by the predicted standard deviation, so that samples that are predicted
        with more uncertainty get wider distributions.
    random_state : int, Generator or None, optional
        For the draws of ``cdf(..., smoothed=True)``.

    Attributes
    ----------
    residuals_ : list of ndarrays
        The residuals of each target in order.
    weights_ : list of ndarrays, or None
        How often each counts; None where each counts once.

    Notes
    -----
    **Requires** a `Gaussian` (its variance is used with ``normalize`` only), and calibration
    samples that are exchangeable with those to come: not used to train the model. A level l needs
    1 / l - 1 of them, or 1 / (1 - l) - 1 above 1/2: 19 for the default levels; with fewer, ``fit``
    raises.

    **Promises** that :math:`Q(y, \tau)` of a new sample with :math:`\tau` uniform is uniform on
    [0, 1], over the draw of calibration samples and new sample, whatever the model and the
    distribution. So a quantile at level l above 1/2 is at least the truth with a probability of at
    least l, and of at most l + 1 / (n + 1) without ties; below 1/2 the same from the other side.
    The same in each group.

    **Cannot** promise calibration for single samples: all distributions have the same shape up to
    shift and, with ``normalize``, stretch. Nor after a shift between calibration and use.

    References
    ----------
    V. Vovk, J. Shen, V. Manokhin, M. Xie. Nonparametric predictive distributions based on conformal
    prediction. Machine Learning, 2019.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> prediction = caveat.Gaussian([0.0] * 19, 1.0)
    >>> conformal = caveat.ConformalDistribution(levels=[0.1, 0.5, 0.9])
    >>> new = caveat.Gaussian([0.0, 100.0], 1.0)
    >>> conformal.fit(prediction, np.arange(-9.0, 10.0)).transform(new).values[0, :, 0]
    array([[ -8.,   0.,   8.],
           [ 92., 100., 108.]])
    >>> conformal.cdf(new, [0.5, 108.5]).ravel()
    array([0.525, 0.925])
    >>> conformal.crps(new, [0.0, 100.0]).ravel().round(2)
    array([1.58, 1.58])
    """

    takes = (Gaussian,)

    levels: Any = None
    normalize: bool = False
    random_state: RandomState = None

    @describe_parameters(AFTER)
    def quantiles(self, prediction: Any, levels: Any, *, groups: Any = None) -> Quantiles:
        """Return quantiles at levels other than those of ``transform``.

        Parameters
        ----------
        levels : array of shape (levels,)
        """
        parts = self._parts(prediction, groups)
        wanted = check_levels(as_floats(levels, "levels")[0])
        values = np.empty((len(prediction), len(prediction.targets), len(wanted)))
        for rows, part in parts:
            values[rows] = part._values(prediction.take(rows), wanted)
        return Quantiles(wanted, values, targets=prediction.targets)

    @describe_parameters(AFTER)
    def cdf(
        self, prediction: Any, y: Any, *, groups: Any = None, smoothed: bool = False
    ) -> FloatArray:
        r"""Return the predictive distribution function at one value for each sample.

        Parameters
        ----------
        smoothed : bool, default=False
            Draw :math:`\tau`, by which the values at true :math:`y` are uniform; otherwise it is
            1/2, the middle of what the calibration samples leave open.

        Returns
        -------
        ndarray of shape (samples, targets)
        """
        check_flags(smoothed=smoothed)
        parts = self._parts(prediction, groups)
        truth = prediction.align(y)
        tie = np.full(truth.shape, 0.5)
        if smoothed:
            tie = generator(self.random_state).random(truth.shape)
        values = np.empty(truth.shape)
        for rows, part in parts:
            place = part._standard(prediction.take(rows), truth[rows])
            for t, (known, reached) in enumerate(part._counts()):
                below = reached[np.searchsorted(known, place[:, t])]
                equal = reached[np.searchsorted(known, place[:, t], side="right")] - below
                values[rows, t] = (below + tie[rows, t] * (1 + equal)) / (1 + reached[-1])
        return values

    @describe_parameters(AFTER)
    def crps(self, prediction: Any, y: Any, *, groups: Any = None) -> FloatArray:
        r"""Return the continuous ranked probability score of each sample.

        That of the distribution with equal mass at each :math:`z_i`,
        :math:`E|Z - y| - \frac{1}{2} E|Z - Z'|`, which leaves out the mass of
        :math:`1 / (n + 1)` that the calibration samples cannot place.

        Returns
        -------
        ndarray of shape (samples, targets)
        """
        parts = self._parts(prediction, groups)
        truth = prediction.align(y)
        values = np.empty(truth.shape)
        for rows, part in parts:
            given = prediction.take(rows)
            place = part._standard(given, truth[rows])
            for t, (known, reached) in enumerate(part._counts()):
                values[rows, t] = _crps(known, np.diff(reached), place[:, t])
            if self.normalize:
                values[rows] *= np.sqrt(given.moments()[1])
        return values

    def _fit(self, prediction: Any, y: FloatArray, weight: FloatArray | None) -> None:
        check_flags(normalize=self.normalize)
        prediction, y, weight = drop_zero_weights(prediction, y, weight)
        self.samples_, self._few = len(y), ()
        residuals = self._standard(prediction, y)
        self.residuals_: list[FloatArray] = []
        weights: list[FloatArray] = []
        for column in residuals.T:
            known = np.flatnonzero(~np.isnan(column))
            keys = (column,) if weight is None else (weight, column)
            order = known[np.lexsort([key[known] for key in keys])]
            self.residuals_.append(column[order])
            if weight is not None:
                weights.append(weight[order])
        self.weights_ = None if weight is None else weights
        for _, reached in self._counts():
            _ranks(self._levels(), reached[-1])

    def _promise(self, where: str) -> str:
        return f"quantiles of {where} are above the truth as often as their level says"

    def _transform(self, prediction: Any) -> Quantiles:
        levels = self._levels()
        return Quantiles(levels, self._values(prediction, levels), targets=prediction.targets)

    def _levels(self) -> FloatArray:
        if self.levels is None:
            return np.arange(1, 20) / 20
        return check_levels(as_floats(self.levels, "levels")[0])

    def _standard(self, prediction: Any, y: FloatArray) -> FloatArray:
        mean, variance = prediction.moments()
        return standardized(y - mean, variance) if self.normalize else y - mean

    def _counts(self) -> list[tuple[FloatArray, FloatArray]]:
        """Return the residuals of each target, and the weight of those before each of them."""
        if self.weights_ is None:
            return [(known, np.arange(len(known) + 1.0)) for known in self.residuals_]
        pairs = zip(self.residuals_, self.weights_, strict=True)
        return [(known, np.append(0.0, np.cumsum(weight))) for known, weight in pairs]

    def _values(self, prediction: Any, levels: FloatArray) -> FloatArray:
        """Return the quantiles, (samples, targets, levels)."""
        steps = np.empty((len(self.residuals_), len(levels)))
        for t, (known, reached) in enumerate(self._counts()):
            ranks = _ranks(levels, reached[-1])
            weight = None if self.weights_ is None else self.weights_[t]
            ends = [values_at_ranks(known, [a for a, _ in ranks], weight)]
            ends.append(values_at_ranks(known, [b for _, b in ranks], weight))
            steps[t] = (ends[0] + ends[1]) / 2
        mean, variance = prediction.moments()
        if not self.normalize:
            return mean[..., None] + steps
        return mean[..., None] + np.sqrt(variance)[..., None] * steps


def _ranks(levels: FloatArray, weight: float) -> list[tuple[Fraction, Fraction]]:
    """Return the two ranks whose residuals are averaged for each level.

    ``weight`` is that of all residuals together.
    """
    total = Fraction(float(weight)).limit_denominator(10**9)
    ranks = []
    for level in levels:
        share = as_fraction(float(level))
        rank = share * (total + 1)
        down, up = Fraction(rank.__floor__()), Fraction(rank.__ceil__())
        half = Fraction(1, 2)
        pair = (down, up) if share == half else (down, down) if share < half else (up, up)
        if pair[0] < 1 or pair[1] > total:
            needed = (1 / min(share, 1 - share)).__ceil__() - 1
            raise OptionError(
                f"the quantile at {level:g} needs at least {needed} calibration samples; got "
                f"{float(total):g}"
            )
        ranks.append(pair)
    return ranks


def _crps(known: FloatArray, weight: FloatArray, y: FloatArray) -> FloatArray:
    """Return the score of a distribution with mass at known points, in order, at each y."""
    share = weight / weight.sum()
    reached = np.append(0.0, np.cumsum(share))
    moment = np.append(0.0, np.cumsum(share * known))
    place = np.searchsorted(known, y)
    distance = y * (2 * reached[place] - reached[-1]) + moment[-1] - 2 * moment[place]
    # Half of E|Z - Z'| is the integral of F (1 - F).
    spread = (reached[1:-1] * (1 - reached[1:-1])) @ np.diff(known)
    return distance - spread
