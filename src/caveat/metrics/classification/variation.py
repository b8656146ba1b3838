"""Calibration of the spread of a predicted distribution: UCE and VCE."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._validation import FloatArray
from ...exceptions import InvalidValueError, OptionError, ShapeError
from .._core.equal_width import add_sums, bin_of
from .._core.sharing import is_sharing
from .._curves import ReliabilityCurve
from .._inputs import Labeled, count, labeled
from ..batch import Batch
from ..sums import Part, Sums, absolute_sum, split
from ._binned import curve, width_edges
from ._kinds import CALIBRATION_ERROR
from .entropy import all_entropies, entropy_of, mean_gap

__all__ = ["variation_calibration_error", "variation_reliability_curve"]

Variation = Callable[[FloatArray], FloatArray]

_FEW = 255
"""Classes that can be counted by 8 bits."""


def variation_calibration_error(
    y_true: Any,
    probabilities: Any,
    *,
    bins: int = 15,
    variation: str | Variation = "entropy",
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Variation calibration error: whether predictions vary as much as outcomes do.

    .. math:: \mathrm{VCE} = \sum_{m=1}^M \frac{|B_m|}{N} \Bigl| V(q_m) -
       \frac{1}{|B_m|} \sum_{i \in B_m} V(p_i) \Bigr|

    over equal-width bins of the predicted variation :math:`V(p_i)` in [0, 1]. :math:`q_m` is the
    observed distribution of ranks: how often in the bin the true class had the largest predicted
    probability, the second largest, and so on. Like is compared with like, an entropy with an
    entropy, where `uncertainty_calibration_error` compares an entropy with a rate of errors.

    Parameters
    ----------
    variation : {"entropy", "confidence", "gini"} or callable, default="entropy"
        The measure :math:`V`. "entropy" is divided by :math:`\log K`, and never halved; "gini" is
        :math:`(1 - \sum p_k^2) K / (K - 1)`; "confidence" is the probability of the first rank,
        which makes this the expected calibration error of the top label (ties apart). A callable
        takes distributions of shape (rows, classes) in the order of the ranks - predicted ones
        fall from left to right, observed ones need not - and returns values in [0, 1], of shape
        (rows,).

    Returns
    -------
    Where the true class ties with others, it counts in equal parts on the ranks they share: the
    expected value over all orders of the tied classes. The variation of observed frequencies in a
    small bin is lower than that of what they estimate: the fewer the samples in a bin, the larger
    the value of a calibrated model. Except for "confidence" the order of the ranks does not matter:
    predictions that are certain and always wrong have the value 0.

    References
    ----------
    .. [1] A. Thompson, V. Desai. Extending Confidence Calibration to Generalized Measures of
       Variation. 2026.
    .. [2] European Partnership on Metrology 22HLT01 (QUMPHY), deliverable D2, 2026,
       appendix C.1.4.

    Examples
    --------
    >>> variation_calibration_error([0, 1, 0, 0], [[0.5, 0.5], [0.5, 0.5], [1, 0], [0, 1]])
    0.5
    """
    return mean_gap(
        variation_reliability_curve(
            y_true, probabilities, bins=bins, variation=variation, classes=classes,
            sample_weight=sample_weight,
        )
    )  # fmt: skip


def variation_reliability_curve(
    y_true: Any,
    probabilities: Any,
    *,
    bins: int = 15,
    variation: str | Variation = "entropy",
    classes: Any = None,
    sample_weight: Any = None,
) -> ReliabilityCurve:
    """Mean predicted variation and variation of the observed ranks in each bin.

    Parameters
    ----------
    variation : {"entropy", "confidence", "gini"} or callable, default="entropy"
        See `variation_calibration_error`.

    Returns
    -------
    Bins without samples are left out.

    Examples
    --------
    >>> p = [[0.5, 0.5], [0.5, 0.5], [1, 0], [0, 1]]
    >>> curve = variation_reliability_curve([0, 1, 0, 0], p)
    >>> curve.predicted, curve.observed, curve.weight
    (array([0., 1.]), array([1., 1.]), array([2., 2.]))
    """
    bins = count(bins, "bins")
    measure, of_ranked = _measure(variation)
    source = labeled(y_true, probabilities, classes=classes, sample_weight=sample_weight)
    sums, ranks = _rank_sums(source, bins, measure)
    mass = sums[1]
    held = mass > 0
    observed = np.zeros(bins)
    observed[held] = of_ranked(ranks[held] / mass[held, None]) * mass[held]
    return curve(np.stack([sums[0], observed, mass]), width_edges(bins))


def _variation_sums(
    batch: Batch, *, bins: int = 15, variation: Any = "entropy", classes: Any = None
) -> Sums:
    measure, of_ranked = _measure(variation)
    data = batch.labeled(classes)
    number = len(data.classes)
    if measure is entropy_of:
        varied = all_entropies(data)
    else:
        varied = np.concatenate([measure(block) for _, block in data.blocks()])
    index = bin_of(varied, bins)

    def gaps(sums: FloatArray, ranks: FloatArray, corrected: bool) -> FloatArray:
        predicted, mass = np.moveaxis(split(sums, bins), 1, 0)
        observed = np.zeros_like(mass)
        held = mass > 0
        shares = ranks.reshape(len(ranks), bins, number)[held] / mass[held, None]
        measured = of_ranked(shares)
        if corrected and variation == "entropy":
            # The entropy of few samples is too small (Miller and Madow).
            seen = np.count_nonzero(shares > 0, axis=1)
            measured = np.minimum(measured + (seen - 1) / (2 * mass[held] * np.log(number)), 1.0)
        observed[held] = measured * mass[held]
        return (predicted - observed) / mass.sum(axis=1, keepdims=True)

    def rank_matrix() -> Any:
        ranked = [
            _rank_cells(index[rows], block, data.codes[rows]) for rows, block in data.blocks()
        ]
        cells, equal = (np.concatenate(parts) for parts in zip(*ranked, strict=True))
        if len(cells) == len(equal):  # without ties
            return batch.matrix(cells, bins * number, [None])
        rows = np.repeat(np.arange(len(data)), equal)
        return batch.matrix(cells, bins * number, [1.0 / equal[rows]], rows)

    parts = [Part(lambda: batch.matrix(index, bins, [varied, None])), Part(rank_matrix)]
    return Sums(
        parts,
        lambda sums, ranks: gaps(sums, ranks, True),
        absolute_sum,
        value=lambda sums, ranks: absolute_sum(gaps(sums, ranks, False)),
    )


def _rank_sums(source: Labeled, bins: int, measure: Variation) -> tuple[FloatArray, FloatArray]:
    """Return sums of the variation and of weights over bins, and the weight of each rank there."""
    number = len(source.classes)
    sums, ranks = np.zeros((2, bins)), np.zeros(bins * number)
    known = all_entropies(source) if measure is entropy_of and is_sharing() else None
    for rows, block in source.blocks():
        weight = source.weights(rows)
        varied = measure(block) if known is None else known[rows]
        add_sums(sums, varied, [varied, None], weight)
        cells, equal = _rank_cells(bin_of(varied, bins), block, source.codes[rows])
        if len(cells) > len(equal):
            weight = np.repeat((1.0 if weight is None else weight) / equal, equal)
        ranks += np.bincount(cells, weight, minlength=len(ranks))
    return sums, ranks.reshape(bins, number)


def places(block: FloatArray, codes: NDArray[np.intp]) -> tuple[np.ndarray, np.ndarray]:
    """Return how many classes are more probable than the true one of each row, and equally so."""
    true = block[np.arange(len(codes)), codes]
    if block.shape[1] > _FEW:
        return np.count_nonzero(block > true[:, None], 1), np.count_nonzero(
            block == true[:, None], 1
        )
    better, equal = np.zeros((2, len(codes)), dtype=np.uint8)
    # Whole columns are compared several times faster than along a short axis.
    for column in np.ascontiguousarray(block.T):
        better += (column > true).view(np.uint8)
        equal += (column == true).view(np.uint8)
    return better.astype(np.intp), equal.astype(np.intp)


def _rank_cells(
    index: NDArray[np.int64], block: FloatArray, codes: NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return the cells, bin by rank of the true class, of each row, and how many ranks it covers.

    A tie counts in equal parts on each of the ranks that it covers, which are adjacent cells.
    """
    better, equal = places(block, codes)
    cells = index * block.shape[1] + better
    if equal.max() > 1:
        first = np.cumsum(equal) - equal
        cells = np.repeat(cells - first, equal) + np.arange(equal.sum())
    return cells, equal


def _measure(variation: Any) -> tuple[Variation, Variation]:
    """Return the measure for distributions in any order, and for those in the order of ranks."""
    if callable(variation):
        checked = _checked(variation)
        return lambda block: checked(np.sort(block, axis=1)[:, ::-1]), checked
    if isinstance(variation, str) and variation == "confidence":
        return lambda block: block.max(axis=1), lambda ranked: ranked[:, 0]
    known = {"entropy": entropy_of, "gini": _gini}
    if not isinstance(variation, str) or variation not in known:
        raise OptionError(
            "variation must be 'entropy', 'confidence', 'gini' or a callable on (rows, classes); "
            f"got {variation!r}"
        )
    return known[variation], known[variation]


def _checked(variation: Variation) -> Variation:
    def checked(ranked: FloatArray) -> FloatArray:
        values = np.asarray(variation(ranked), dtype=np.float64)
        if values.shape != ranked.shape[:1]:
            raise ShapeError(
                f"variation must return one value for each row; for {len(ranked)} rows it returned "
                f"shape {values.shape}"
            )
        if not (values.min() >= 0 and values.max() <= 1 + 1e-9):
            raise InvalidValueError(
                "variation must return values in [0, 1], so that equal-width bins can hold them; "
                f"it returned {values.min():g} to {values.max():g}. Divide it by its maximum"
            )
        return values

    return checked


def _gini(block: FloatArray) -> FloatArray:
    """Return the Gini impurity of each row divided by its maximum, 1 - 1 / K."""
    number = block.shape[1]
    impurity = 1 - np.einsum("ij,ij->i", block, block)
    return np.clip(impurity * (number / (number - 1)), 0.0, 1.0)


ENTRIES = [
    CALIBRATION_ERROR(
        function=variation_calibration_error,
        unit="",
        says="How far the predicted entropy is from that of the observed outcomes, ranked by "
        "predicted probability, on average over bins of entropy.",
        cannot_see="Which rank is the frequent one: confident predictions that are always wrong "
        "get 0. Different distributions of the same entropy.",
        aliases=("vce",),
        curve=variation_reliability_curve,
        sums=_variation_sums,
        cells="entropy",
        short="VCE",
        shown=("headline",),
        serves={"entropy": "calibration"},
    )
]
