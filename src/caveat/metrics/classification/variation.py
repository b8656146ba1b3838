"""Calibration of the spread of a predicted distribution: UCE and VCE."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._validation import FloatArray
from ...exceptions import InvalidValueError, OptionError, ShapeError
from .._core.confusion import most_probable
from .._core.equal_width import add_sums, bin_of
from .._core.sharing import is_sharing, shared
from .._curves import ReliabilityCurve
from .._inputs import Labelled, count, labelled
from ..batch import Batch
from ..entry import Metric
from ..sums import Part, Sums, absolute_sum, split
from ._binned import curve, width_edges

__all__ = [
    "uncertainty_calibration_error",
    "uncertainty_reliability_curve",
    "variation_calibration_error",
    "variation_reliability_curve",
]

Variation = Callable[[FloatArray], FloatArray]


def uncertainty_calibration_error(
    y_true: Any,
    probabilities: Any,
    *,
    bins: int = 15,
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Uncertainty calibration error: how far entropy is from the rate of errors.

    .. math:: \mathrm{UCE} = \sum_{m=1}^M \frac{|B_m|}{N}
       \bigl|\mathrm{err}(B_m) - \mathrm{uncert}(B_m)\bigr|, \qquad
       \tilde H(p) = -\frac{1}{\log K} \sum_{k=1}^K p_k \log p_k

    over equal-width bins of the normalised entropy :math:`\tilde H` in [0, 1], with the share of
    wrong predictions :math:`\mathrm{err}` and the mean :math:`\mathrm{uncert}` of
    :math:`\tilde H`, halved if there are two classes, where a uniform prediction is wrong in half
    of the cases. The prediction is the most probable class, the first of equals. The difference is
    absolute, as in the equation of [2]_, not squared, as in its table 4.

    Parameters
    ----------
    y_true : array of shape (samples,)
        The true classes: 0, 1, ... or the labels in ``classes``.
    probabilities : array of shape (samples, classes) or (samples,), or Categorical
        One dimension is the probability of the second of two classes.
    bins : int, default=15
    classes : sequence of labels, optional
    sample_weight : array of shape (samples,), optional

    Returns
    -------
    float
        From 0 (best) to 1. A perfectly calibrated model does not reach 0 in general, since entropy
        and the rate of errors are different quantities; see `variation_calibration_error`.

    References
    ----------
    .. [1] M.-H. Laves, S. Ihler, K.-P. Kortmann, T. Ortmaier. Uncertainty Calibration Error: A New
       Metric for Multi-Class Classification. 2021.
    .. [2] European Partnership on Metrology 22HLT01 (QUMPHY), deliverable D2, 2026,
       appendix C.1.3, equation 12.

    Examples
    --------
    >>> from caveat.metrics import uncertainty_calibration_error
    >>> uncertainty_calibration_error([0, 1, 0, 0], [[0.5, 0.5], [0.5, 0.5], [1, 0], [0, 1]])
    0.25
    """
    return _error(
        uncertainty_reliability_curve(
            y_true, probabilities, bins=bins, classes=classes, sample_weight=sample_weight
        )
    )


def uncertainty_reliability_curve(
    y_true: Any,
    probabilities: Any,
    *,
    bins: int = 15,
    classes: Any = None,
    sample_weight: Any = None,
) -> ReliabilityCurve:
    """Normalised entropy (``predicted``) and rate of errors (``observed``) in each bin.

    Parameters
    ----------
    y_true : array of shape (samples,)
        The true classes: 0, 1, ... or the labels in ``classes``.
    probabilities : array of shape (samples, classes) or (samples,), or Categorical
        One dimension is the probability of the second of two classes.
    bins : int, default=15
    classes : sequence of labels, optional
    sample_weight : array of shape (samples,), optional

    Returns
    -------
    ReliabilityCurve
        ``predicted`` is halved if there are two classes; ``low`` and ``high`` are on the axis of
        the normalised entropy itself. Bins without samples are left out.

    Examples
    --------
    >>> from caveat.metrics import uncertainty_reliability_curve
    >>> p = [[0.5, 0.5], [0.5, 0.5], [1, 0], [0, 1]]
    >>> curve = uncertainty_reliability_curve([0, 1, 0, 0], p)
    >>> curve.predicted, curve.observed
    (array([0. , 0.5]), array([0.5, 0.5]))
    """
    bins = count(bins, "bins")
    source = labelled(y_true, probabilities, classes=classes, sample_weight=sample_weight)
    sums = np.zeros((3, bins))
    for rows, wrong, entropy in _errors_and_entropies(source):
        add_sums(sums, entropy, [entropy, wrong, None], source.weights(rows))
    if len(source.classes) == 2:
        sums[0] /= 2
    return curve(sums, width_edges(bins))


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
    y_true : array of shape (samples,)
        The true classes: 0, 1, ... or the labels in ``classes``.
    probabilities : array of shape (samples, classes) or (samples,), or Categorical
        One dimension is the probability of the second of two classes.
    bins : int, default=15
    variation : {"entropy", "confidence", "gini"} or callable, default="entropy"
        The measure :math:`V`. "entropy" is divided by :math:`\log K`, and never halved; "gini" is
        :math:`(1 - \sum p_k^2) K / (K - 1)`; "confidence" is the probability of the first rank,
        which makes this the expected calibration error of the top label (ties apart). A callable
        takes distributions of shape (rows, classes) in the order of the ranks - predicted ones
        fall from left to right, observed ones need not - and returns values in [0, 1], of shape
        (rows,).
    classes : sequence of labels, optional
    sample_weight : array of shape (samples,), optional

    Returns
    -------
    float
        From 0 (best) to 1. Where the true class ties with others, it counts in equal parts on the
        ranks they share: the expected value over all orders of the tied classes. The variation of
        observed frequencies in a small bin is lower than that of what they estimate: the fewer the
        samples in a bin, the larger the value of a calibrated model. Except for "confidence" the
        order of the ranks does not matter: predictions that are certain and always wrong have the
        value 0.

    References
    ----------
    .. [1] A. Thompson, V. Desai. Extending Confidence Calibration to Generalised Measures of
       Variation. 2026.
    .. [2] European Partnership on Metrology 22HLT01 (QUMPHY), deliverable D2, 2026,
       appendix C.1.4.

    Examples
    --------
    >>> from caveat.metrics import variation_calibration_error
    >>> variation_calibration_error([0, 1, 0, 0], [[0.5, 0.5], [0.5, 0.5], [1, 0], [0, 1]])
    0.5
    """
    return _error(
        variation_reliability_curve(
            y_true,
            probabilities,
            bins=bins,
            variation=variation,
            classes=classes,
            sample_weight=sample_weight,
        )
    )


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
    y_true : array of shape (samples,)
        The true classes: 0, 1, ... or the labels in ``classes``.
    probabilities : array of shape (samples, classes) or (samples,), or Categorical
        One dimension is the probability of the second of two classes.
    bins : int, default=15
    variation : {"entropy", "confidence", "gini"} or callable, default="entropy"
        See `variation_calibration_error`.
    classes : sequence of labels, optional
    sample_weight : array of shape (samples,), optional

    Returns
    -------
    ReliabilityCurve
        Bins without samples are left out.

    Examples
    --------
    >>> from caveat.metrics import variation_reliability_curve
    >>> p = [[0.5, 0.5], [0.5, 0.5], [1, 0], [0, 1]]
    >>> curve = variation_reliability_curve([0, 1, 0, 0], p)
    >>> curve.predicted, curve.observed, curve.weight
    (array([0., 1.]), array([1., 1.]), array([2., 2.]))
    """
    bins = count(bins, "bins")
    measure, of_ranked = _measure(variation)
    source = labelled(y_true, probabilities, classes=classes, sample_weight=sample_weight)
    sums, ranks = _rank_sums(source, bins, measure)
    mass = sums[1]
    held = mass > 0
    observed = np.zeros(bins)
    observed[held] = of_ranked(ranks[held] / mass[held, None]) * mass[held]
    return curve(np.stack([sums[0], observed, mass]), width_edges(bins))


def _uncertainty_sums(batch: Batch, *, bins: int = 15, classes: Any = None) -> Sums:
    data = batch.labelled(classes)
    entropy, wrong = np.empty((2, len(data)))
    for rows, block_wrong, block in _errors_and_entropies(data):
        entropy[rows], wrong[rows] = block, block_wrong
    index = bin_of(entropy, bins)
    gap = (entropy / 2 if len(data.classes) == 2 else entropy) - wrong

    def finish(sums: FloatArray) -> FloatArray:
        gaps, mass = np.moveaxis(split(sums, bins), 1, 0)
        return gaps / mass.sum(axis=1, keepdims=True)

    part = Part(lambda: batch.matrix(index, bins, [gap, None]))
    # Entropy is not the rate of errors, however right the probabilities are.
    return Sums([part], finish, absolute_sum, zero_if_calibrated=False)


def _variation_sums(
    batch: Batch, *, bins: int = 15, variation: Any = "entropy", classes: Any = None
) -> Sums:
    measure, of_ranked = _measure(variation)
    data = batch.labelled(classes)
    number = len(data.classes)
    varied = np.concatenate([measure(block) for _, block in data.blocks()])
    index = bin_of(varied, bins)

    def gaps(sums: FloatArray, ranks: FloatArray, corrected: bool) -> FloatArray:
        predicted, mass = np.moveaxis(split(sums, bins), 1, 0)
        observed = np.zeros_like(mass)
        held = mass > 0
        shares = ranks.reshape(len(ranks), bins, number)[held] / mass[held, None]
        found = of_ranked(shares)
        if corrected and variation == "entropy":
            # The entropy of few samples is too small (Miller and Madow).
            seen = np.count_nonzero(shares > 0, axis=1)
            found = np.minimum(found + (seen - 1) / (2 * mass[held] * np.log(number)), 1.0)
        observed[held] = found * mass[held]
        return (predicted - observed) / mass.sum(axis=1, keepdims=True)

    def rank_matrix() -> Any:
        ranked = [
            _rank_cells(index[rows], block, data.codes[rows]) for rows, block in data.blocks()
        ]
        cells, equal = (np.concatenate(parts) for parts in zip(*ranked, strict=True))
        rows = np.repeat(np.arange(len(data)), equal)
        return batch.matrix(cells, bins * number, [1.0 / equal[rows]], rows)

    parts = [Part(lambda: batch.matrix(index, bins, [varied, None])), Part(rank_matrix)]
    return Sums(
        parts,
        lambda sums, ranks: gaps(sums, ranks, True),
        absolute_sum,
        value=lambda sums, ranks: absolute_sum(gaps(sums, ranks, False)),
    )


def _errors_and_entropies(
    source: Labelled,
) -> Iterator[tuple[slice, NDArray[Any], FloatArray]]:
    """Yield slices of rows, whether the most probable class is wrong, and the entropies."""
    if is_sharing():
        entropies = _all_entropies(source)
        for rows, labels in most_probable(source):
            yield rows, labels != source.codes[rows], entropies[rows]
    else:
        for rows, block in source.blocks():
            yield rows, block.argmax(axis=1) != source.codes[rows], entropy_of(block)


def _all_entropies(source: Labelled) -> FloatArray:
    """Return the entropies of all rows, kept for other metrics."""

    def compute() -> FloatArray:
        return np.concatenate([entropy_of(block) for _, block in source.blocks()])

    return shared("entropies", (source.probabilities,), compute)


def _error(found: ReliabilityCurve) -> float:
    return float(np.average(np.abs(found.predicted - found.observed), weights=found.weight))


def _rank_sums(source: Labelled, bins: int, measure: Variation) -> tuple[FloatArray, FloatArray]:
    """Return sums of the variation and of weights over bins, and the weight of each rank there."""
    number = len(source.classes)
    sums, ranks = np.zeros((2, bins)), np.zeros(bins * number)
    known = _all_entropies(source) if measure is entropy_of and is_sharing() else None
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
    true = np.take_along_axis(block, codes[:, None], axis=1)
    return np.count_nonzero(block > true, axis=1), np.count_nonzero(block == true, axis=1)


def _rank_cells(
    index: NDArray[np.int64], block: FloatArray, codes: NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return the cells, bin by rank of the true class, of each row, and how many ranks it covers.

    A tie counts in equal parts on each of the ranks that it covers: so many cells in a row.
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


def entropy_of(block: FloatArray) -> FloatArray:
    """Return the entropy of each row divided by its maximum, log K."""
    # A tiny number in place of 0 leaves 0 log 0 = 0, without a warning.
    logarithms = np.log(np.maximum(block, np.finfo(np.float64).tiny))
    entropies = np.einsum("ij,ij->i", block, logarithms) / -math.log(block.shape[1])
    return np.clip(entropies, 0.0, 1.0)  # rows sum to 1 only within their precision


def _gini(block: FloatArray) -> FloatArray:
    """Return the Gini impurity of each row divided by its maximum, 1 - 1 / K."""
    number = block.shape[1]
    impurity = 1 - np.einsum("ij,ij->i", block, block)
    return np.clip(impurity * (number / (number - 1)), 0.0, 1.0)


ENTRIES = [
    Metric(
        function=uncertainty_calibration_error,
        task="classification",
        inputs=("probabilities",),
        direction="lower",
        range=(0.0, 1.0),
        optimum=0.0,
        locality="local",
        says="How far the entropy of the predicted distribution is from the rate of errors, on "
        "average over bins of entropy.",
        cannot_see="Perfect calibration: entropy and the rate of errors are different quantities, "
        "and the best value is not reached by the true probabilities. An over-confident model "
        "nearly always has a lower value than a calibrated one: do not choose by it.",
        aliases=("uce",),
        curve=uncertainty_reliability_curve,
        sums=_uncertainty_sums,
        short="UCE",
        within_class=False,
    ),
    Metric(
        function=variation_calibration_error,
        task="classification",
        inputs=("probabilities",),
        direction="lower",
        range=(0.0, 1.0),
        optimum=0.0,
        locality="local",
        says="How far the predicted entropy is from that of the observed outcomes, ranked by "
        "predicted probability, on average over bins of entropy.",
        cannot_see="Which rank is the frequent one, so that certain predictions that are always "
        "wrong have none, and different distributions of the same entropy.",
        aliases=("vce",),
        curve=variation_reliability_curve,
        sums=_variation_sums,
        short="VCE",
        shown=("headline",),
        within_class=False,
        serves={"entropy": "calibration"},
    ),
]
