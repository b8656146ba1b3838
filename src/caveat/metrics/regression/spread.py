"""Calibration of predicted spreads, their dispersion and sharpness."""

from typing import Any

import numpy as np

from ..._validation import FloatArray, check_choice
from .._core.cells import sums_below
from .._core.equal_count import bin_ends, bin_sums
from .._curves import ReliabilityCurve
from .._inputs import count, vector, weights
from ..batch import Batch
from ..means import of_scores, root_mean
from ..sums import Part, Sums, absolute_mean, over
from ._checked import Gaussians, gaussians, mean_score, variances
from ._kinds import DISTANCE, LOSS

__all__ = [
    "dispersion",
    "error_calibration_curve",
    "expected_normalized_calibration_error",
    "sharpness",
]


def expected_normalized_calibration_error(
    y_true: Any, mean: Any, variance: Any, *, bins: int = 15, sample_weight: Any = None
) -> float:
    r"""Relative gap between predicted and observed spread, over bins of predicted spread (ENCE).

    .. math:: \frac{1}{B} \sum_b \frac{|\mathrm{RMV}_b - \mathrm{RMSE}_b|}{\mathrm{RMV}_b}

    with the root mean variance and the root mean squared error of each bin. Bins hold equal counts
    (equal weights) in the order of the predicted variance, so each counts alike. Samples with
    equal variances stand in every order at once, and a sample that a bin ends in is shared between
    two: neither the order of rows nor more bins than samples is a problem.

    Returns
    -------
    From 0 (best) upwards, as a fraction; some papers print percent. A calibrated model does not
    reach 0: the value grows with the root of the number of bins. A bin whose variances are all 0
    counts as 0 if its errors are 0 too, and makes the result infinite otherwise.

    References
    ----------
    .. [1] D. Levi, L. Gispan, N. Giladi, E. Fetaya. Evaluating and Calibrating Uncertainty
       Prediction in Regression Tasks. Sensors 22(15), 5540, 2022.
    .. [2] Report on developing methods on uncertainty quantification for one prototypical
       classification and one prototypical regression problem using PPG signals. 22HLT01 QUMPHY,
       deliverable D2, 2026. Equation 18.
    .. [3] P. Pernot. Properties of the ENCE and other MAD-based calibration metrics.
       arXiv:2305.11905, 2023.

    Examples
    --------
    >>> y, mean, variance = [1.0, -1.0, 3.0, -3.0], [0.0] * 4, [1.0, 1.0, 4.0, 4.0]
    >>> expected_normalized_calibration_error(y, mean, variance, bins=2)
    0.25
    """
    given = gaussians(y_true, mean, variance, sample_weight)
    predicted, observed, _ = _bin_means(given, count(bins, "bins"))
    return float(absolute_mean(_normalized_gaps(np.sqrt(predicted), np.sqrt(observed))))


def _normalized_gaps(predicted: FloatArray, observed: FloatArray) -> FloatArray:
    """Return gaps relative to the prediction; NaN for an empty resample."""
    gaps = over(observed - predicted, predicted) + 0 * predicted
    return np.where((predicted == 0) & (observed > 0), np.inf, gaps)


def error_calibration_curve(
    y_true: Any,
    mean: Any,
    variance: Any,
    *,
    bins: int = 15,
    squared: bool = False,
    sample_weight: Any = None,
) -> ReliabilityCurve:
    r"""Observed against predicted spread in bins of predicted spread.

    The curve behind `expected_normalized_calibration_error`, with the same bins.

    Parameters
    ----------
    squared : bool, default=False
        Compare mean variances with mean squared errors, as the calibration plots of [2]_ do,
        instead of their roots.

    Returns
    -------
    ``predicted`` (root mean variance) and ``observed`` (root mean squared error) of each bin, its
    ``weight``, and the smallest and largest predicted deviation in it, ``low`` and ``high``;
    variances and squared errors with ``squared=True``. Calibrated predictions lie on the diagonal;
    above it, they are too confident.

    References
    ----------
    .. [1] D. Levi, L. Gispan, N. Giladi, E. Fetaya. Evaluating and Calibrating Uncertainty
       Prediction in Regression Tasks. Sensors 22(15), 5540, 2022.
    .. [2] G. Scalia, C. A. Grambow, B. Pernici, Y.-P. Li, W. H. Green. Evaluating Scalable
       Uncertainty Estimation Methods for Deep Learning-Based Molecular Property Prediction.
       Journal of Chemical Information and Modeling 60(6), 2697-2717, 2020. Equation 10.

    Examples
    --------
    >>> y, mean, variance = [1.0, -1.0, 3.0, -3.0], [0.0] * 4, [1.0, 1.0, 4.0, 4.0]
    >>> curve = error_calibration_curve(y, mean, variance, bins=2)
    >>> curve.predicted, curve.observed
    (array([1., 2.]), array([1., 3.]))
    """
    given = gaussians(y_true, mean, variance, sample_weight)
    bins = count(bins, "bins")
    predicted, observed, mass = _bin_means(given, bins)
    low, high = bin_ends(given.variance, bins, given.weight)
    shape = np.positive if squared else np.sqrt
    return ReliabilityCurve(
        shape(predicted), shape(observed), np.full(bins, mass), shape(low), shape(high)
    )


def _bin_means(given: Gaussians, bins: int) -> tuple[FloatArray, FloatArray, float]:
    """Return mean variance and mean squared error of each bin, and the weight of a bin."""
    y, mean, variance, weight = given
    with np.errstate(over="ignore"):
        error = y - mean
        error *= error
    sums = bin_sums(variance, [variance, error], bins, weight)
    mass = float(len(y) if weight is None else weight.sum()) / bins
    # Sums are differences of running sums: rounding may leave a bin without error just below 0.
    predicted, observed = np.maximum(sums, 0.0) / mass
    return predicted, observed, mass


def dispersion(y_true: Any, variance: Any, *, ddof: int = 1, sample_weight: Any = None) -> float:
    r"""Coefficient of variation of the predicted standard deviations (cv).

    .. math:: c_v = \frac{1}{\bar\sigma} \sqrt{\frac{\sum_n (\sigma_n - \bar\sigma)^2}{N - 1}},
        \quad \bar\sigma = \frac{1}{N} \sum_n \sigma_n

    It complements a calibration error: it tells whether uncertainty differs between samples at all.

    Parameters
    ----------
    y_true : array of shape (samples,)
        Checked, but not used; it is there so that this is called
        like any other metric.
    ddof : {0, 1}, default=1
        Subtracted from :math:`N` in the denominator; 1 as in the definition of [1]_.
    sample_weight : array of shape (samples,), optional
        How often each sample counts; :math:`N` is their sum.

    Returns
    -------
    From 0 (one uncertainty for all) upwards; no value is best, and the true one depends on the
    data. NaN if all variances are 0, or if :math:`N` is not above ``ddof``: one sample does not
    vary.

    References
    ----------
    .. [1] D. Levi, L. Gispan, N. Giladi, E. Fetaya. Evaluating and Calibrating Uncertainty
       Prediction in Regression Tasks. Sensors 22(15), 5540, 2022.
    .. [2] G. Scalia, C. A. Grambow, B. Pernici, Y.-P. Li, W. H. Green. Evaluating Scalable
       Uncertainty Estimation Methods for Deep Learning-Based Molecular Property Prediction.
       Journal of Chemical Information and Modeling 60(6), 2697-2717, 2020.

    Examples
    --------
    >>> dispersion([0.0, 0.0, 0.0], [1.0, 4.0, 9.0])
    0.5
    """
    spread, weight = _spreads(y_true, variance, sample_weight)
    deviations = np.sqrt(spread)
    number = float(len(deviations) if weight is None else weight.sum())
    freedom = number - check_choice(ddof, "ddof", (0, 1))
    # Relative to one of them, so that equal deviations have exactly the variation 0.
    first = deviations[0]
    deviations -= first
    share = np.ones(len(deviations)) if weight is None else weight
    shift = deviations @ share / number
    center = first + shift
    if not (center > 0 and freedom > 0):
        return float("nan")
    deviations -= shift
    deviations *= deviations
    return float(np.sqrt(deviations @ share / freedom) / center)


def sharpness(y_true: Any, variance: Any, *, sample_weight: Any = None) -> float:
    r"""Root of the mean predicted variance.

    .. math:: \sqrt{\frac{1}{N} \sum_n \sigma_n^2}

    The root mean variance, not the mean standard deviation, which is never above it: for
    calibrated predictions it equals the root mean squared error.

    Parameters
    ----------
    y_true : array of shape (samples,)
        Checked, but not used; it is there so that this is called
        like any other metric.

    Returns
    -------
    From 0 upwards, in the unit of the target. Smaller is sharper, and better only between
    predictions that are calibrated.

    References
    ----------
    .. [1] V. Kuleshov, N. Fenner, S. Ermon. Accurate Uncertainties for Deep Learning Using
       Calibrated Regression. ICML 2018, PMLR 80, 2796-2804.
    .. [2] T. Gneiting, F. Balabdaoui, A. E. Raftery. Probabilistic Forecasts, Calibration and
       Sharpness. Journal of the Royal Statistical Society B 69(2), 243-268, 2007.

    Examples
    --------
    >>> sharpness([0.0, 0.0], [1.0, 49.0])
    5.0
    """
    spread, weight = _spreads(y_true, variance, sample_weight)
    return float(np.sqrt(mean_score(np.positive, weight, spread)))


def _sharpness_sums(batch: Batch) -> Sums:
    return of_scores(batch, [variances(batch.inputs["variance"], len(batch))], root_mean)


def _dispersion_sums(batch: Batch, *, ddof: int = 1) -> Sums:
    deviation = np.sqrt(variances(batch.inputs["variance"], len(batch)))
    center = float(deviation.mean())
    # About their mean the moments do not cancel; equal deviations have exactly the variation 0.
    off = deviation - (deviation[0] if np.all(deviation == deviation[0]) else center)
    if batch.fixed:
        off = deviation  # about 0, which does not depend on the samples
    base = float(deviation[0] - off[0])

    def finish(means: FloatArray, mass: FloatArray) -> FloatArray:
        first, second = means.T
        spread = np.maximum(second - first**2, 0.0) * mass
        defined = (base + first > 0) & (mass > ddof)
        return np.where(defined, np.sqrt(spread / (mass - ddof)) / (base + first), np.nan)

    return of_scores(batch, [off, off**2], finish)


def _normalized_sums(batch: Batch, *, bins: int = 15) -> Sums:
    y, mean, variance, _ = gaussians(
        batch.truth, batch.inputs["mean"], batch.inputs["variance"], None
    )
    with np.errstate(over="ignore"):
        error = (y - mean) ** 2

    def make() -> Any:
        cells = batch.cells(variance, "variance")
        return batch.matrix(cells.index, cells.number, [None, variance, error])

    def reduce(sums: FloatArray) -> FloatArray:
        # Bins move with the resamples: the extra noise stands for the tails that a bin of few
        # samples does not show.
        cells = sums.shape[1] // 3
        below = sums_below(sums, cells, np.linspace(0, 1, bins + 1))
        mass = sums[:, :cells].sum(axis=1) / bins
        return np.maximum(np.diff(below, axis=2), 0.0) / mass[:, None, None]

    def finish(means: FloatArray) -> FloatArray:
        return _normalized_gaps(*np.moveaxis(np.sqrt(means), 1, 0))

    return Sums([Part(make, reduce, ordered=3)], finish, absolute_mean)


def _spreads(
    y_true: Any, variance: Any, sample_weight: Any
) -> tuple[FloatArray, FloatArray | None]:
    length = len(vector(y_true, "y_true"))
    return variances(variance, length), weights(sample_weight, length)


ENTRIES = [
    LOSS(
        function=expected_normalized_calibration_error,
        locality="local",
        says="Whether samples with about the same predicted spread have errors of that size.",
        cannot_see="The shape of the errors: only their mean square counts, so a few outliers "
        "decide; whether the spread tells samples apart; its value grows with the number of bins.",
        aliases=("ence",),
        curve=error_calibration_curve,
        sums=_normalized_sums,
        short="ENCE",
        shown=("headline", "compared", "groups", "shift"),
        serves={"variance": "calibration", "interval": "supporting"},
    ),
    LOSS(
        function=dispersion,
        direction="target",
        optimum=None,
        says="How much the predicted uncertainty differs between samples; 0 is one for all.",
        cannot_see="Whether the differences have anything to do with the errors; how large the "
        "uncertainty is.",
        aliases=("cv",),
        sums=_dispersion_sums,
        short="CV",
        shown=("shift",),
    ),
    DISTANCE(
        function=sharpness,
        optimum=None,
        says="How large the predicted uncertainty is; smaller is more useful if it is calibrated.",
        cannot_see="Whether the predictions are as good as they claim to be.",
        sums=_sharpness_sums,
        shown=("shift",),
    ),
]
