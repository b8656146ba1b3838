"""Net benefit of acting on a risk, over threshold probabilities: decision curve analysis."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._validation import FloatArray, as_floats
from ...exceptions import InvalidValueError, ShapeError
from .._core.roc import roc_points
from .._inputs import labeled, require_two_classes, second_class

__all__ = ["NetBenefitCurve", "net_benefit_curve"]

THRESHOLDS = np.arange(1, 100) / 100
"""The thresholds that a decision curve has by default."""


@dataclass(frozen=True)
class NetBenefitCurve:
    """The net benefit of three strategies at each threshold probability.

    Attributes
    ----------
    threshold : ndarray of shape (thresholds,)
    model : ndarray of shape (thresholds,)
        Treating where the risk is at least the threshold.
    treat_all : ndarray of shape (thresholds,)
        Treating everybody.
    treat_none : ndarray of shape (thresholds,)
        Treating nobody: 0.
    """

    threshold: FloatArray
    model: FloatArray
    treat_all: FloatArray
    treat_none: FloatArray


def net_benefit_curve(
    y_true: Any,
    probabilities: Any,
    *,
    thresholds: Any = None,
    classes: Any = None,
    sample_weight: Any = None,
) -> NetBenefitCurve:
    r"""Net benefit of treating by a model, of treating all and of treating none.

    At the threshold probability :math:`t`, where the risk is just high enough to act,

    .. math:: \mathrm{NB}(t) = \frac{TP(t)}{N} - \frac{FP(t)}{N} \, \frac{t}{1 - t}

    with :math:`TP` and :math:`FP` the samples of the second and of the first class whose
    probability of the second class is at least :math:`t`. A threshold says how much worse it is to
    miss a case than to treat somebody without need: at 0.1, nine times. Treating all has the net
    benefit :math:`\pi - (1 - \pi) t / (1 - t)` for the observed rate :math:`\pi`, treating none 0.

    Parameters
    ----------
    y_true : array of shape (samples,)
        The true classes; the second is the one to treat.
    thresholds : array of shape (thresholds,), optional
        Threshold probabilities, at least 0 and below 1; by default 0.01, 0.02, ..., 0.99.

    Returns
    -------
    In true positives per sample: 0.05 is worth as much as five cases more that are treated among a
    hundred samples, and nobody who is treated without need. At most the observed rate.

    Notes
    -----
    The model should be above both others over the range of thresholds that people would choose;
    no single threshold is right for everybody. Miscalibration lowers the curve, and a model that
    is far off does worse than treating all or none.

    References
    ----------
    .. [1] A. J. Vickers, E. B. Elkin. Decision curve analysis: a novel method for evaluating
       prediction models. Medical Decision Making, 26(6), 2006.

    Examples
    --------
    >>> curve = net_benefit_curve([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8], thresholds=[0.2, 0.5])
    >>> curve.model, curve.treat_all
    (array([0.4375, 0.25  ]), array([0.375, 0.   ]))
    """
    data = labeled(y_true, probabilities, classes=classes, sample_weight=sample_weight)
    require_two_classes(data, "net_benefit_curve")
    t = _thresholds(thresholds)
    score, false, true = roc_points(data.codes == 1, second_class(data), data.weight)
    # Scores are in decreasing order: those at or above a threshold come first.
    place = np.searchsorted(-score, -t, side="right")
    total, odds = false[-1] + true[-1], t / (1 - t)
    treated = (np.r_[0.0, true][place] - np.r_[0.0, false][place] * odds) / total
    return NetBenefitCurve(t, treated, (true[-1] - false[-1] * odds) / total, np.zeros(len(t)))


def _thresholds(given: Any) -> FloatArray:
    if given is None:
        return THRESHOLDS.copy()
    array, _, _ = as_floats(given, "thresholds")
    if array.ndim != 1:
        raise ShapeError(f"thresholds must be a list of numbers; got shape {array.shape}")
    bad = np.flatnonzero(~((array >= 0) & (array < 1)))
    if len(bad):
        raise InvalidValueError(
            f"thresholds must be at least 0 and below 1; threshold {bad[0]} is {array[bad[0]]:g}"
        )
    return array
