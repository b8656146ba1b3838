"""Proper scores of class probabilities."""

from typing import Any, Literal

import numpy as np

from ..._validation import FloatArray, check_choice, check_number
from .._core.residuals import mean_of_squares, squares, true_probabilities
from .._inputs import average, labeled
from .._per_sample import mean_or_scores
from ..means import mean_of
from ._kinds import LOSS

__all__ = ["brier_loss", "negative_log_likelihood_loss"]


@mean_or_scores
def negative_log_likelihood_loss(
    y_true: Any,
    probabilities: Any,
    *,
    classes: Any = None,
    eps: float = 0.0,
    per_sample: bool = False,
    sample_weight: Any = None,
) -> float | FloatArray:
    r"""Mean of minus the logarithm of the predicted probability of the true class.

    .. math:: -\frac{1}{N} \sum_{i=1}^{N} \log \max(p_{i, y_i}, \varepsilon)

    in nats; divide by :math:`\log 2` for bits.

    Parameters
    ----------
    eps : float, default=0.0
        Lower bound on the probability of the true class, at least 0 and below 1.
        With 0, one true class of probability 0 makes the loss infinite: what was said to be
        impossible happened. With ``eps`` such a sample costs :math:`-\log\varepsilon` instead
        (36.04 for 2.2e-16, scikit-learn's choice in float64; 6.9 for 1e-3), so the loss then
        depends on ``eps`` as much as on the predictions, and no longer punishes differences
        below it. Other probabilities are not touched, and rows are not renormalized.
    sample_weight : array of shape (samples,), optional
        How often each sample counts. A sample of weight 0 does not count, even if it is infinite.

    Returns
    -------
    From 0 (the true class was certain) to infinity; lower is better. Strictly proper for ``eps=0``.

    References
    ----------
    .. [1] I. J. Good. Rational Decisions. Journal of the Royal Statistical Society B, 14(1), 1952.

    Examples
    --------
    >>> round(negative_log_likelihood_loss([0, 1], [[0.5, 0.5], [0.75, 0.25]]), 4)
    1.0397
    >>> negative_log_likelihood_loss([0, 1], [[0.5, 0.5], [1.0, 0.0]])
    inf
    >>> round(negative_log_likelihood_loss([0, 1], [[0.5, 0.5], [1.0, 0.0]], eps=1e-3), 4)
    3.8005
    """
    least = check_number(eps, "eps", 0, 1, "left")
    data = labeled(y_true, probabilities, classes=classes, sample_weight=sample_weight)
    values = true_probabilities(data)
    if least > 0:
        np.maximum(values, least, out=values)
    with np.errstate(divide="ignore"):
        np.log(values, out=values)
    np.subtract(0.0, values, out=values)  # a negation would give -0.0
    return values if per_sample else average(values, data.weight)


@mean_or_scores
def brier_loss(
    y_true: Any,
    probabilities: Any,
    *,
    scale_by_half: bool | Literal["auto"] = False,
    classes: Any = None,
    per_sample: bool = False,
    sample_weight: Any = None,
) -> float | FloatArray:
    r"""Mean squared distance between the probabilities and the outcomes (Brier score).

    .. math:: \frac{1}{N} \sum_{i=1}^{N} \sum_{k=1}^{K} (p_{ik} - [y_i = k])^2

    Parameters
    ----------
    scale_by_half : bool or "auto", default=False
        Whether to return half of it, from 0 to 1; "auto" does so for two classes, as
        scikit-learn's ``brier_score_loss`` does by default.

    Returns
    -------
    From 0 (the true class was certain) to 2 (a wrong one was); lower is better. Strictly proper.

    Notes
    -----
    The sum is over all classes, as in Brier's paper, for two classes too: it is then twice
    scikit-learn's ``brier_score_loss``, the mean of :math:`(p_i - [y_i = 1])^2`. For more than two
    classes both are the same.

    References
    ----------
    .. [1] G. W. Brier. Verification of Forecasts Expressed in Terms of Probability. Monthly
       Weather Review, 78(1), 1950.

    Examples
    --------
    >>> brier_loss([0, 1], [[0.5, 0.5], [0.75, 0.25]])
    0.8125
    >>> brier_loss([0, 1], [[0.5, 0.5], [0.75, 0.25]], per_sample=True)
    array([0.5  , 1.125])
    >>> brier_loss([0, 1], [0.5, 0.25], scale_by_half="auto")  # as scikit-learn
    0.40625
    """
    check_choice(scale_by_half, "scale_by_half", (False, True, "auto"))
    data = labeled(y_true, probabilities, classes=classes, sample_weight=sample_weight)
    half = len(data.classes) == 2 if scale_by_half == "auto" else scale_by_half
    return (squares(data) if per_sample else mean_of_squares(data)) * (0.5 if half else 1.0)


def _half(value: float, _: Any, probabilities: Any, sample_weight: Any = None) -> str:
    """Return the Brier score of two classes as scikit-learn has it, in words."""
    if np.shape(probabilities)[1:] != (2,):
        return ""
    return f"half of the Brier loss, {value / 2:.3g}, is brier_score_loss of scikit-learn"


ENTRIES = [
    LOSS(
        function=negative_log_likelihood_loss,
        proper=True,
        says="How surprising the true classes were under the predicted probabilities, in nats.",
        cannot_see="Whether a bad value comes from poor calibration or poor discrimination; one "
        "true class of tiny probability can outweigh all other samples.",
        aliases=("nll", "log_loss", "cross_entropy"),
        sums=mean_of(negative_log_likelihood_loss),
        short="NLL",
        unit="nats",
        shown=("headline", "compared", "groups", "shift"),
        serves={"probability": "skill", "entropy": "skill"},
    ),
    LOSS(
        function=brier_loss,
        range=(0.0, 2.0),
        proper=True,
        says="The squared distance of the predicted probabilities from the outcomes, summed over "
        "all classes: for two classes twice the score of scikit-learn.",
        cannot_see="Whether a bad value comes from poor calibration or poor discrimination; with "
        "rare classes a forecast that ignores them scores well.",
        aliases=("brier",),
        sums=mean_of(brier_loss),
        shown=("headline", "shift"),
        note=_half,
        serves={"probability": "skill", "entropy": "skill"},
    ),
]
