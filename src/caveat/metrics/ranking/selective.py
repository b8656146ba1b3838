"""Selective prediction: error of the accepted samples, and rank correlation."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._validation import FloatArray
from .._core.places import places
from .._core.ranks import accepted, area, rank_correlation, weighted_area
from .._core.sharing import shared
from ..batch import Batch, Cells
from ..sums import UNBIASED, Part, Sums, split
from ._checked import key_sums, ranked, ranked_of
from ._kinds import ERROR, SCORE

__all__ = [
    "RiskCoverageCurve",
    "area_under_risk_coverage_error",
    "error_uncertainty_correlation",
    "excess_area_under_risk_coverage_error",
    "risk_coverage_curve",
]


PARAMETERS = {
    "References": """\
.. [1] Y. Geifman, G. Uziel, R. El-Yaniv. Bias-Reduced Uncertainty Estimation for Deep Neural
   Classifiers. ICLR, 2019."""
}


@dataclass(frozen=True)
class RiskCoverageCurve:
    """The error of the accepted samples against their share.

    Attributes
    ----------
    coverage : ndarray of shape (thresholds,)
        The share of samples (of their weight) whose uncertainty is at most the threshold.
    risk : ndarray of shape (thresholds,)
        The mean error of these.
    threshold : ndarray of shape (thresholds,)
        The distinct uncertainties, increasing.
    """

    coverage: FloatArray
    risk: FloatArray
    threshold: FloatArray


def risk_coverage_curve(
    error: Any, uncertainty: Any, *, sample_weight: Any = None
) -> RiskCoverageCurve:
    r"""Mean error of the accepted samples, for each threshold on the uncertainty.

    .. math:: c(t) = \frac{1}{n} |\{i : u_i \le t\}|, \qquad
              r(t) = \frac{\sum_{u_i \le t} e_i}{|\{i : u_i \le t\}|}

    Returns
    -------
    ``coverage``, ``risk`` and ``threshold``, one entry for each distinct uncertainty: samples that
    are equally uncertain are accepted together.

    References
    ----------
    .. [1] R. El-Yaniv, Y. Wiener. On the Foundations of Noise-free Selective Classification.
       Journal of Machine Learning Research, 11, 2010.

    Examples
    --------
    >>> curve = risk_coverage_curve([0, 1, 0, 1], [0.1, 0.2, 0.2, 0.4])
    >>> curve.coverage
    array([0.25, 0.75, 1.  ])
    >>> curve.risk
    array([0.        , 0.33333333, 0.5       ])
    """
    threshold, mass, loss = accepted(*ranked(error, uncertainty, sample_weight))
    return RiskCoverageCurve(mass / mass[-1], loss / mass, threshold)


def area_under_risk_coverage_error(
    error: Any, uncertainty: Any, *, sample_weight: Any = None
) -> float:
    r"""Mean error of the k least uncertain samples, averaged over k (AURC).

    .. math:: \frac{1}{n} \sum_{k=1}^{n} \frac{1}{k} \sum_{i=1}^{k} e_{(i)}

    with the errors in the order of increasing uncertainty.

    Parameters
    ----------
    sample_weight : array of shape (samples,), optional
        How often each sample counts. Their sum is the number of samples :math:`n`, so weights that
        are no counts should average to 1, not sum to 1.

    Returns
    -------
    From 0 (no errors) upwards, in the unit of the error; lower is better. With a constant
    uncertainty, or a single sample, the mean error.

    Notes
    -----
    Of samples with equal uncertainty the sum is its expected value over all their orders, so the
    order of the rows does not matter. The mean over :math:`k` is the definition of the paper; the
    trapezoidal rule, which other libraries use, leaves out half of the first and of the last term.
    Weights that are not whole numbers go into the same formula through harmonic numbers of
    fractions, :math:`\sum_{k=a+1}^{b} 1/k = \psi(b + 1) - \psi(a + 1)`.

    Examples
    --------
    >>> area_under_risk_coverage_error([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4])
    0.20833333333333331
    """
    errors, spread, weight = ranked(error, uncertainty, sample_weight)
    return _area(errors, spread, weight)


def excess_area_under_risk_coverage_error(
    error: Any, uncertainty: Any, *, sample_weight: Any = None
) -> float:
    r"""Area under the risk-coverage curve beyond that of the best order (E-AURC).

    .. math:: \mathrm{AURC}(e, u) - \mathrm{AURC}(e, e)

    The error of the model itself is taken out, so that uncertainties of different models can be
    compared.

    Parameters
    ----------
    sample_weight : array of shape (samples,), optional
        How often each sample counts; see `area_under_risk_coverage_error`.

    Returns
    -------
    From 0 (as good an order as that of the errors themselves) upwards; lower is better. 0 for a
    single sample. What rounding puts below 0 is 0.

    Notes
    -----
    The best area is that of these very errors in increasing order. The paper approximates it, for
    an error rate :math:`r` of many samples, by :math:`r + (1 - r) \ln(1 - r)`.

    Examples
    --------
    >>> excess_area_under_risk_coverage_error([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4])
    0.0
    >>> round(excess_area_under_risk_coverage_error([1, 0, 0, 1], [0.1, 0.2, 0.3, 0.4]), 4)
    0.375
    """
    errors, spread, weight = ranked(error, uncertainty, sample_weight)
    return max(0.0, _area(errors, spread, weight) - _area(errors, errors, weight))


def error_uncertainty_correlation(
    error: Any, uncertainty: Any, *, sample_weight: Any = None
) -> float:
    r"""Spearman's rank correlation of error and uncertainty.

    .. math:: \frac{\operatorname{cov}(R_e, R_u)}{\sigma(R_e)\, \sigma(R_u)}

    with the ranks :math:`R`; equal values share the mean of their ranks.

    Returns
    -------
    From -1 to 1 (the same order); higher is better. NaN where all errors or all uncertainties are
    equal, as for a single sample: there is no order to compare.

    Notes
    -----
    Even the true standard deviation of every prediction is far from 1: an error is one draw from
    its distribution. Compare values on the same data only.

    References
    ----------
    .. [1] C. Spearman. The Proof and Measurement of Association between Two Things. American
       Journal of Psychology, 15(1), 1904.

    Examples
    --------
    >>> round(error_uncertainty_correlation([1.0, 2.0, 3.0, 6.0], [0.1, 0.3, 0.2, 0.4]), 4)
    0.8
    """
    return rank_correlation(*ranked(error, uncertainty, sample_weight))


def _area(error: FloatArray, uncertainty: FloatArray, weight: FloatArray | None) -> float:
    def compute() -> float:
        _, mass, loss = accepted(error, uncertainty, weight)
        return area(mass, loss) if weight is None else float(weighted_area(mass, loss))

    return shared("area", (error, uncertainty, weight), compute)


def _area_part(batch: Batch, key: str) -> Part:
    def make() -> Any:
        return key_sums(batch, key, ranked_of(batch)["error"])

    def reduce(sums: FloatArray) -> FloatArray:
        mass, loss = np.moveaxis(np.cumsum(split(sums, sums.shape[1] // 2), axis=2), 1, 0)
        return weighted_area(mass, loss)

    return Part(make, reduce, ordered=2)


def _area_sums(batch: Batch) -> Sums:
    return Sums([_area_part(batch, "uncertainty")], np.asarray, UNBIASED)


def _excess_sums(batch: Batch) -> Sums:
    parts = [_area_part(batch, key) for key in ("uncertainty", "error")]
    return Sums(parts, lambda area, best: np.maximum(area - best, 0.0), UNBIASED)


_COARSE = 48
"""Cells along each axis of the joint table of two keys.

Beyond some thousand rows the rank correlation is that of coarse ranks: within a cell ranks are
equal, which lowers it by about the squared inverse of this number (one part in 2,000), the same in
every resample.
"""


def _correlation_sums(batch: Batch) -> Sums:
    keys = ranked_of(batch)
    first, second = (
        batch.cells(keys[key], key, number=_COARSE) if batch.exact else _coarse(keys[key])
        for key in ("error", "uncertainty")
    )
    joint = first.index.astype(np.int64) * second.number + second.index
    held, index, number = batch.joint(joint, first.number * second.number)

    def reduce(sums: FloatArray) -> FloatArray:
        row, column = np.divmod(held, second.number)
        a = _centered_ranks(sums, row, first.number)
        b = _centered_ranks(sums, column, second.number)
        spread = np.einsum("rk,rk,rk->r", sums, a, a) * np.einsum("rk,rk,rk->r", sums, b, b)
        product = np.einsum("rk,rk,rk->r", sums, a, b)
        correlation = np.clip(product / np.sqrt(spread), -1.0, 1.0)
        return np.where(spread > 0, correlation, np.nan)

    part = Part(lambda: batch.matrix(index, number, [None]), reduce, joint=True)
    return Sums([part], np.asarray, UNBIASED)


def _coarse(key: FloatArray) -> Cells:
    edges = np.unique(np.quantile(key, np.arange(1, _COARSE) / _COARSE))
    return Cells(places(key, edges), len(edges) + 1)


def _centered_ranks(sums: FloatArray, cell: Any, number: int) -> FloatArray:
    """Return the weight below each joint cell's key less that above it, halved."""
    from scipy.sparse import csr_array

    place = csr_array((np.ones(len(cell)), (np.arange(len(cell)), cell)), (len(cell), number))
    mass = sums @ place
    ends = np.cumsum(mass, axis=1)
    ranks = ends - mass / 2 - ends[:, -1:] / 2
    return ranks[:, cell]


ENTRIES = [
    ERROR(
        function=area_under_risk_coverage_error,
        says="How large the error of the accepted predictions is, averaged over how many of the "
        "least uncertain are accepted.",
        cannot_see="Calibration; and whether it is low because the uncertainty orders well or "
        "because the model makes few errors.",
        aliases=("aurc",),
        curve=risk_coverage_curve,
        sums=_area_sums,
        short="AURC",
    ),
    ERROR(
        function=excess_area_under_risk_coverage_error,
        says="How much of the error of accepted predictions is due to the order of the "
        "uncertainties alone.",
        cannot_see="Calibration: any increasing transformation of the uncertainty gives the same "
        "value; the model's own error.",
        aliases=("e_aurc",),
        curve=risk_coverage_curve,
        sums=_excess_sums,
        shown=("headline",),
    ),
    SCORE(
        function=error_uncertainty_correlation,
        range=(-1.0, 1.0),
        says="How much the order of the uncertainties resembles the order of the errors.",
        cannot_see="Calibration; how large the errors are; and which part of the order is wrong, "
        "the certain or the uncertain end.",
        aliases=("spearman",),
        sums=_correlation_sums,
        shown=("headline", "compared", "ranking"),
    ),
]
