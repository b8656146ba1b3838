"""Calibration of a risk, the probability of the second of two classes, as clinicians report it."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..._docstrings import entries_of
from ..._validation import FloatArray, check_number
from .._core.logistic import intercepts, slopes
from .._inputs import Labeled, average, labeled, require_two_classes, second_class
from .._per_sample import mean_or_scores
from ..batch import CELLS, Batch, Cells, names_of
from ..means import mean_of
from ..sums import UNBIASED, Part, Sums, over, split
from ._kinds import LOSS

__all__ = ["calibration_in_the_large", "calibration_intercept", "calibration_slope"]

SMALLEST = 2.0**-53
"""The distance from 1 to the largest number below it."""

_EXACT = 512
"""Up to this many samples every distinct probability has its own cell in resamples."""

_WIDTH, _MOST = 1 / 32, 4096
"""The width and number at most of cells of log-odds with more samples; each has their mean."""

_NARROW, _NEAREST = 0.5, 2048
"""Classes that overlap in fewer log-odds have a steep slope: distinct values near are cells."""

PARAMETERS = entries_of("""\
eps : float
    Probabilities below it count as it, those above :math:`1 - \\varepsilon` as that: log-odds of 0
    and 1 are infinite. The default is 2^-53, the distance from 1 to the largest number below it;
    log-odds are then from -36.7 to 36.7. One sample that was said to be impossible and happened
    decides a slope; how much depends on ``eps``.
""")

Fit = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""Takes the scores of cells and the weights of their misses and hits: `slopes`, `intercepts`."""


@mean_or_scores
def calibration_in_the_large(
    y_true: Any,
    probabilities: Any,
    *,
    classes: Any = None,
    per_sample: bool = False,
    sample_weight: Any = None,
) -> float | FloatArray:
    r"""Mean predicted risk minus observed rate, of the second of two classes.

    .. math:: \frac{1}{N} \sum_{i=1}^{N} (p_i - [y_i = 1])

    "It predicts 25 %, and 46 % were observed" is -0.21: the risk is underestimated.

    Returns
    -------
    Above 0 the risk is overestimated, below 0 it is underestimated.

    See Also
    --------
    calibration_intercept : The same on the scale of log-odds.

    References
    ----------
    .. [1] B. Van Calster, D. Nieboer, Y. Vergouwe, B. De Cock, M. J. Pencina, E. W. Steyerberg.
       A calibration hierarchy for risk models was defined: from utopia to empirical data. Journal
       of Clinical Epidemiology, 74, 2016. (mean calibration)

    Examples
    --------
    >>> calibration_in_the_large([0, 1, 1, 1], [0.25, 0.5, 0.5, 0.75])
    -0.25
    """
    data = labeled(y_true, probabilities, classes=classes, sample_weight=sample_weight)
    require_two_classes(data, "calibration_in_the_large")
    excess = second_class(data) - (data.codes == 1)
    return excess if per_sample else average(excess, data.weight)


def _two_means(value: float, y_true: Any, probabilities: Any, sample_weight: Any = None) -> str:
    """Return the mean predicted risk and the observed rate, in words."""
    mean = average(np.asarray(probabilities)[:, 1], sample_weight)
    observed = round(100 * (mean - value), 9)  # the difference has a rounding error
    return f"on average predicts {100 * mean:.3g} %, observed {observed:.3g} %"


def calibration_intercept(
    y_true: Any,
    probabilities: Any,
    *,
    eps: float = SMALLEST,
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Calibration intercept: how much log-odds must be shifted to be right on average.

    The :math:`a` of the most likely

    .. math:: \operatorname{logit} P(y_i = 1) = a + \operatorname{logit} p_i

    with the slope fixed to 1, for the second of two classes. It is also called calibration in the
    large.

    Returns
    -------
    Above 0 the risk is underestimated, below 0 it is overestimated. Infinite where only one class
    occurs; NaN where all probabilities are 0 or 1 and right, as any shift of a wide range fits.

    See Also
    --------
    calibration_slope : Whether predictions are too extreme.
    calibration_in_the_large : The same as a difference of probabilities.

    Notes
    -----
    This is the intercept given a slope of 1, which is reported together with `calibration_slope`;
    the intercept of the fit with a free slope is another number and says little on its own.

    References
    ----------
    .. [1] D. R. Cox. Two further applications of a model for binary regression. Biometrika,
       45(3/4), 1958.
    .. [2] B. Van Calster, D. J. McLernon, M. van Smeden, L. Wynants, E. W. Steyerberg. Calibration:
       the Achilles heel of predictive analytics. BMC Medicine, 17:230, 2019.

    Examples
    --------
    >>> round(calibration_intercept([0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5]), 4)  # log(3)
    1.0986
    """
    return _fitted(intercepts, y_true, probabilities, eps, classes, sample_weight)


def calibration_slope(
    y_true: Any,
    probabilities: Any,
    *,
    eps: float = SMALLEST,
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Calibration slope: whether predicted risks are too extreme or too moderate.

    The :math:`b` of the most likely

    .. math:: \operatorname{logit} P(y_i = 1) = a + b \operatorname{logit} p_i

    for the second of two classes (Cox's logistic recalibration, without a penalty).

    Returns
    -------
    Below 1 predictions are too extreme: high risks are too high and low ones too low, as after
    overfitting. Above 1 they are too moderate; below 0 they are in the wrong order. Infinite where
    the probabilities of the two classes do not overlap, NaN where only one class occurs or all
    probabilities are alike.

    See Also
    --------
    calibration_intercept : The pair that is usually reported.
    reliability_curve : What a straight line cannot show.

    References
    ----------
    .. [1] D. R. Cox. Two further applications of a model for binary regression. Biometrika,
       45(3/4), 1958.
    .. [2] B. Van Calster, D. J. McLernon, M. van Smeden, L. Wynants, E. W. Steyerberg. Calibration:
       the Achilles heel of predictive analytics. BMC Medicine, 17:230, 2019.
    .. [3] F. Bach. Self-concordant analysis for logistic regression. Electronic Journal of
       Statistics, 4, 2010. (how far a step of Newton's method may go)

    Examples
    --------
    >>> y, p = [0, 0, 1, 0, 1, 1], [0.1, 0.1, 0.1, 0.9, 0.9, 0.9]
    >>> round(calibration_slope(y, p), 4)  # log(2) / log(9): said 10 % and 90 %, was 33 % and 67 %
    0.3155
    """
    return _fitted(slopes, y_true, probabilities, eps, classes, sample_weight)


def _fitted(
    fit: Fit, y_true: Any, probabilities: Any, eps: float, classes: Any, sample_weight: Any
) -> float:
    check_number(eps, "eps", 0, 0.5, "neither")
    data = labeled(y_true, probabilities, classes=classes, sample_weight=sample_weight)
    require_two_classes(data, "logistic recalibration")
    mass = np.ones(len(data)) if data.weight is None else data.weight
    hit = data.codes == 1
    weights = np.where(hit, 0.0, mass), np.where(hit, mass, 0.0)
    return float(fit(*(part[None] for part in (_log_odds(data, eps), *weights)))[0])


def _log_odds(data: Labeled, eps: float) -> FloatArray:
    p = np.clip(second_class(data), eps, 1 - eps)
    return np.log(p) - np.log1p(-p)


def _sums(fit: Fit, batch: Batch, *, eps: float = SMALLEST, classes: Any = None) -> Sums:
    """Return misses, hits and log-odds over cells, each of which counts as one point."""
    data = batch.labeled(classes)
    hit = data.codes == 1

    def matrix() -> Any:
        score = _log_odds(data, eps)
        cells = _cells(batch, second_class(data), score, hit, ("roc", 1, names_of(classes)))
        return batch.matrix(cells.index, cells.number, [~hit, hit, score])

    def reduce(sums: FloatArray) -> FloatArray:
        misses, hits, score = np.moveaxis(split(sums, sums.shape[1] // 3), 1, 0)
        return fit(over(score, misses + hits), misses, hits)[:, None]

    return Sums([Part(matrix, reduce, ordered=3)], lambda read: read[:, 0], UNBIASED)


def _cells(batch: Batch, p: FloatArray, score: FloatArray, hit: Any, name: Any) -> Cells:
    """Return a cell for each distinct probability; with many samples, narrow ones of log-odds."""
    if batch.fixed or len(batch) <= _EXACT:
        return batch.cells(p, name, bounded=True)
    low, high = float(score.min()), float(score.max())
    width = max(min(_WIDTH, float(score.std()) / 16), (high - low) / _MOST)
    equal = np.linspace(low, high, 1 + int(np.ceil((high - low) / width)) if width else 1)
    edges = np.union1d(equal, np.quantile(score, np.linspace(0, 1, CELLS)))
    if hit.any() and not hit.all():
        first = max(score[hit].min(), score[~hit].min())
        last = min(score[hit].max(), score[~hit].max())
        if 0 < last - first < _NARROW:
            near = np.abs(score - (first + last) / 2)
            edges = np.union1d(edges, score[np.argsort(near, kind="stable")[:_NEAREST]])
    held, index = np.unique(np.searchsorted(edges, score, side="right"), return_inverse=True)
    return Cells(index.reshape(-1).astype(np.uint16), len(held))


RISK = partial(
    LOSS, direction="target", range=(-np.inf, np.inf), within_class=False, two_classes=True
)

ENTRIES = [
    RISK(
        function=calibration_in_the_large,
        range=(-1.0, 1.0),
        optimum=0.0,
        says="How much higher the mean predicted risk is than the observed rate, for the second of "
        "two classes; below 0 the risk is underestimated.",
        cannot_see="Errors that cancel: high risks that are too high beside low ones that are too "
        "low.",
        aliases=("mean_calibration",),
        sums=mean_of(calibration_in_the_large),
        note=_two_means,
        unit="share",
        shown=("headline", "groups"),
    ),
    RISK(
        function=calibration_intercept,
        optimum=0.0,
        says="How far log-odds of the second of two classes must be shifted to be right on "
        "average; above 0 the risk is underestimated.",
        cannot_see="Errors that cancel: high risks that are too high beside low ones that are too "
        "low.",
        sums=partial(_sums, intercepts),
        shown=("headline",),
    ),
    RISK(
        function=calibration_slope,
        optimum=1.0,
        says="Whether risks are too extreme (below 1) or too moderate (above 1), as the slope of "
        "a logistic regression on their log-odds.",
        cannot_see="A shift of all risks; and errors that are no straight line in log-odds.",
        sums=partial(_sums, slopes),
        shown=("headline",),
    ),
]
