"""Conformal risk control: the expected loss of a new sample is at most the risk."""

import math
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from .._constructors import Declared
from .._validation import FloatArray, check_number, position
from ..exceptions import InvalidValueError, OptionError, ShapeError
from .inputs import (
    as_losses,
    as_ratios,
    as_thresholds,
    check_groups,
    check_known,
    effective_samples,
    fit_groups,
    guarantee_of_groups,
    length_of,
    ratios_of,
    rows_of_groups,
)

_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class RiskCurve:
    """The calibration loss at each threshold.

    Attributes
    ----------
    threshold : ndarray of shape (thresholds,)
    loss : ndarray of shape (thresholds,)
        The mean loss of the calibration samples, weighted by likelihood ratios.
    corrected : ndarray of shape (thresholds,)
        The same with one more sample that has the largest loss.
    """

    threshold: FloatArray
    loss: FloatArray
    corrected: FloatArray

    def to_frame(self) -> Any:
        """Return a pandas frame with one row for each threshold."""
        import pandas as pd

        return pd.DataFrame({name: getattr(self, name) for name in self.__dataclass_fields__})


class ConformalRiskControl(Declared, BaseEstimator):
    r"""The loosest threshold that keeps the expected loss of a new sample at a risk.

    With the losses :math:`L_i(\lambda) \in [0, B]` of n calibration samples, each monotone in
    :math:`\lambda`, the threshold is the loosest one with

    .. math:: \frac{n}{n + 1} \hat R(\lambda) + \frac{B}{n + 1} \le \text{risk}, \qquad
       \hat R(\lambda) = \frac{1}{n} \sum_i L_i(\lambda).

    The side with the smaller losses is the strict one; which it is, follows from the losses.

    Parameters
    ----------
    risk : float
        The largest expected loss, above 0 and below the bound.
    bound : float, default=1.0
        The largest loss that can occur (:math:`B`).

    Attributes
    ----------
    threshold_ : float
        NaN if no threshold keeps the risk. With likelihood ratios, the threshold for a new sample
        whose ratio is the largest of the calibration samples, which keeps the risk for all smaller
        ratios; `threshold_for` is sharper.
    curve_ : RiskCurve
    guarantee_ : str
        The promise in plain words.
    needed_ : float or None
        If no threshold keeps the risk: how many calibration samples would do at the mean loss of
        the strictest threshold; infinity if none would. Otherwise None.
    effective_samples_ : float
        :math:`(\sum w)^2 / \sum w^2` for likelihood ratios w, else the number of samples.
    groups_ : dict of str to ConformalRiskControl, or None
        The control of each group.

    Notes
    -----
    **Requires** losses that are monotone in the threshold for each sample (for others use
    `LearnThenTest`) and calibration samples that are exchangeable with the new ones and were not
    used to train the model. At least B / risk - 1 of them: 99 for a risk of 0.01 and losses up
    to 1. With fewer, no loss however small would show the risk, and ``fit`` raises.

    **Promises** that the loss of a new sample is at most ``risk`` in expectation over calibration
    samples and the new one [1]_; where no threshold keeps the risk, nothing is done, which counts
    as no loss. For the loss "the true label is not in the set" this is the coverage of conformal
    sets. With groups the same in each group.

    **Under covariate shift** give ``shift``: the density of new inputs over that of
    calibration inputs, for the calibration samples and in `threshold_for` for new ones. Scales do
    not matter, but must be the same. The promise then holds for the new distribution [1]_, if the
    ratios are right.

    **Cannot** promise that the calibration samples at hand give a loss below the risk: it is above
    in every fifth (n = 20) to every second calibration set. `LearnThenTest` bounds how often. It
    promises nothing after a shift that no ratio describes, and nothing for a group without groups.

    References
    ----------
    .. [1] Angelopoulos, Bates, Fisch, Lei & Schuster, Conformal risk control, ICLR 2024,
       arXiv:2208.02814.

    Examples
    --------
    Sets of labels that miss at most 10 % of the true labels of a new image, on average:

    >>> import numpy as np
    >>> import caveat
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random((1000, 8)) ** 2
    >>> y = rng.random((1000, 8)) < p
    >>> thresholds = np.linspace(0, 1, 101)
    >>> losses = caveat.risk_control.set_losses(p[:500], y[:500], thresholds)
    >>> control = caveat.ConformalRiskControl(risk=0.1).fit(losses, thresholds)
    >>> control.threshold_
    np.float64(0.21)
    >>> sets = p[500:] >= control.threshold_
    >>> missed = (y[500:] & ~sets).sum(axis=1) / np.maximum(y[500:].sum(axis=1), 1)
    >>> round(float(missed.mean()), 2)
    0.08
    """

    risk: float = field(kw_only=False)
    bound: float = 1.0

    def fit(self, losses: Any, thresholds: Any, *, groups: Any = None, shift: Any = None) -> Self:
        """Find the threshold.

        Parameters
        ----------
        losses : array of shape (samples, thresholds)
            The loss of each calibration sample at each threshold.
        thresholds : array of shape (thresholds,)
            Increasing; chosen without these samples.
        groups : array, Series, dict of arrays or frame, optional
            Keep the risk in each group.
        shift : LikelihoodRatio or array of shape (samples,), optional
            The density of new inputs over that of calibration inputs.
        """
        self.guarantee_: str
        bound = check_number(self.bound, "bound", closed="neither")
        risk = check_number(self.risk, "risk", high=bound, closed="neither")
        array = as_losses(losses, bound)
        if array.ndim != 2:
            raise ShapeError(f"losses must have shape (samples, thresholds); got {array.shape}")
        levels = as_thresholds(thresholds, array.shape[1])
        ratio = as_ratios(shift, len(array))
        falls = _falls(array)
        self._learn(array, levels, risk / bound, ratio, falls)

        def learn(part: Self, rows: Any) -> None:
            own = None if ratio is None else as_ratios(ratio[rows], len(rows))
            part._learn(array[rows], levels, risk / bound, own, falls)

        self.groups_ = fit_groups(self, groups, len(array), learn)
        if self.groups_ is not None:
            self.guarantee_ = guarantee_of_groups(self.groups_)
        return self

    def threshold_for(self, *, shift: Any = None, groups: Any = None) -> FloatArray:
        """Return the threshold of each new sample.

        Parameters
        ----------
        shift : LikelihoodRatio or array of shape (samples,), optional
            Needed if and only if ``fit`` was given ratios.
        groups : array, Series, dict of arrays or frame, optional
            Needed if and only if ``fit`` was given groups, with values that ``fit`` saw.

        Returns
        -------
        ndarray of shape (samples,)
            NaN where no threshold keeps the risk.
        """
        if not hasattr(self, "curve_"):
            raise NotFittedError(
                "this ConformalRiskControl is not fitted yet; call fit(losses, thresholds) first"
            )
        if (shift is None) != (self._ratio is None):
            raise OptionError(
                "fit was given shift, so threshold_for needs that of the new samples"
                if shift is None
                else "shift was given to threshold_for but not to fit"
            )
        check_groups(groups, self.groups_, "threshold_for")
        if groups is None and shift is None:
            raise OptionError(
                "threshold_for is for groups and likelihood ratios; without them every sample has "
                "the threshold threshold_"
            )
        length = len(ratios_of(shift, new=True)) if groups is None else length_of(groups)
        ratio = as_ratios(shift, length, new=True)
        if self.groups_ is None:
            return self._thresholds(ratio)
        result = np.empty(length)
        for name, rows in rows_of_groups(groups, length).items():
            check_known(name, self.groups_)
            part = self.groups_[name]
            result[rows] = part._thresholds(None if ratio is None else ratio[rows])
        return result

    def _learn(
        self,
        losses: FloatArray,
        thresholds: FloatArray,
        risk: float,
        ratio: FloatArray | None,
        falls: bool,
    ) -> None:
        """Learn from losses between 0 and 1; ``falls`` if larger thresholds are stricter."""
        least = math.ceil(1 / risk - 1 - 1e-9)
        shown = (
            f"an expected loss of {self.risk:g} with losses up to {self.bound:g}, even if each "
            "loss were 0: at least {least} are needed; collect more, or accept a larger risk"
        )
        self.effective_samples_ = effective_samples(len(losses), ratio, least, shown)
        weight = np.ones(len(losses)) if ratio is None else ratio
        largest = float(weight.max())
        self._ratio, self._total, self._risk = ratio, float(weight.sum()), risk
        self._strictest_first = np.argsort(-thresholds if falls else thresholds)
        summed = weight @ losses
        # What a new sample may weigh at each threshold; it falls from the strictest on.
        room = (risk * self._total - summed) / (1 - risk)
        self._room = np.minimum.accumulate(room[self._strictest_first])
        self._threshold = thresholds[self._strictest_first]
        mean = summed / self._total
        corrected = (summed + largest) / (self._total + largest)
        self.curve_ = RiskCurve(thresholds, self.bound * mean, self.bound * corrected)
        self.threshold_ = self._thresholds(np.array([largest]))[0]
        self.needed_ = None
        if np.isnan(self.threshold_):
            lowest = float(mean.min())
            self.needed_ = (1 - risk) / (risk - lowest) if lowest < risk else math.inf
        self.guarantee_ = self._words(least)

    def _thresholds(self, ratio: FloatArray | None) -> FloatArray:
        """Return the loosest threshold for each new sample."""
        weight = np.ones(1) if ratio is None else ratio
        slack = _ROUNDING * self._total
        passed = np.searchsorted(-self._room, -weight + slack, side="right")
        return np.append(np.nan, self._threshold)[passed]

    def _words(self, least: int) -> str:
        risk = f"{self.risk:g}"
        if self.needed_ is None:
            shifted = "" if self._ratio is None else ", weighted by their likelihood ratios"
            return (
                f"On average over calibration sets, the expected loss of a new sample is at most "
                f"{risk}, for samples drawn as the calibration samples were{shifted}. The loss "
                "that one calibration set gives may well be higher."
            )
        enough = (
            "no number of samples would do"
            if math.isinf(self.needed_)
            else f"about {math.ceil(self.needed_):,} samples are needed"
        )
        return (
            f"No threshold keeps the expected loss at {risk}. At the mean loss of the strictest "
            f"one, {self.curve_.loss.min():.3g}, {enough}; without any loss it takes {least:,}."
        )


def _falls(losses: FloatArray) -> bool:
    """Return whether larger thresholds have smaller losses; raise if losses are not monotone."""
    steps = np.diff(losses, axis=1)
    falls = bool((steps <= _ROUNDING).all())
    if not falls and not (steps >= -_ROUNDING).all():
        wrong = steps < -_ROUNDING if steps.sum() > 0 else steps > _ROUNDING
        _, where = position(wrong, ("sample", "threshold"))
        raise InvalidValueError(
            f"losses{where} and the next threshold go against the others: conformal risk control "
            "needs losses that only fall, or only rise, with the threshold; use LearnThenTest"
        )
    return falls
