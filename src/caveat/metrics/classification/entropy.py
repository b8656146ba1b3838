"""Calibration of entropy: is it as large as the rate of errors?"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._blocks import highest
from ..._validation import FloatArray
from .._core.confusion import most_probable
from .._core.equal_width import add_sums, bin_of
from .._core.sharing import is_sharing, shared
from .._curves import ReliabilityCurve
from .._inputs import Labeled, count, labeled
from ..batch import Batch
from ..sums import Part, Sums, absolute_sum, split
from ._binned import curve, width_edges
from ._kinds import CALIBRATION_ERROR

__all__ = ["uncertainty_calibration_error", "uncertainty_reliability_curve"]


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

    over equal-width bins of the normalized entropy :math:`\tilde H` in [0, 1], with the share of
    wrong predictions :math:`\mathrm{err}` and the mean :math:`\mathrm{uncert}` of
    :math:`\tilde H`, halved if there are two classes, where a uniform prediction is wrong in half
    of the cases. The prediction is the most probable class, the first of equals. The difference is
    absolute, as in the equation of [2]_, not squared, as in its table 4.

    Returns
    -------
    A perfectly calibrated model does not reach 0 in general, since entropy and the rate of errors
    are different quantities; see `variation_calibration_error`.

    References
    ----------
    .. [1] M.-H. Laves, S. Ihler, K.-P. Kortmann, T. Ortmaier. Uncertainty Calibration Error: A New
       Metric for Multi-Class Classification. 2021.
    .. [2] European Partnership on Metrology 22HLT01 (QUMPHY), deliverable D2, 2026,
       appendix C.1.3, equation 12.

    Examples
    --------
    >>> uncertainty_calibration_error([0, 1, 0, 0], [[0.5, 0.5], [0.5, 0.5], [1, 0], [0, 1]])
    0.25
    """
    return mean_gap(
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
    """Normalized entropy (``predicted``) and rate of errors (``observed``) in each bin.

    Returns
    -------
    ``predicted`` is halved if there are two classes; ``low`` and ``high`` are on the axis of the
    normalized entropy itself. Bins without samples are left out.

    Examples
    --------
    >>> p = [[0.5, 0.5], [0.5, 0.5], [1, 0], [0, 1]]
    >>> curve = uncertainty_reliability_curve([0, 1, 0, 0], p)
    >>> curve.predicted, curve.observed
    (array([0. , 0.5]), array([0.5, 0.5]))
    """
    bins = count(bins, "bins")
    source = labeled(y_true, probabilities, classes=classes, sample_weight=sample_weight)
    sums = np.zeros((3, bins))
    for rows, wrong, entropy in _errors_and_entropies(source):
        add_sums(sums, entropy, [entropy, wrong, None], source.weights(rows))
    if len(source.classes) == 2:
        sums[0] /= 2
    return curve(sums, width_edges(bins))


def _uncertainty_sums(batch: Batch, *, bins: int = 15, classes: Any = None) -> Sums:
    data = batch.labeled(classes)
    entropy, wrong = np.empty((2, len(data)))
    for rows, block_wrong, block in _errors_and_entropies(data):
        entropy[rows], wrong[rows] = block, block_wrong
    index = bin_of(entropy, bins)
    gap = (entropy / 2 if len(data.classes) == 2 else entropy) - wrong

    def finish(sums: FloatArray) -> FloatArray:
        gaps, mass = np.moveaxis(split(sums, bins), 1, 0)
        return gaps / mass.sum(axis=1, keepdims=True)

    part = Part(lambda: batch.matrix(index, bins, [gap, None]))
    # Entropy differs from the error rate even for the true probabilities.
    return Sums([part], finish, absolute_sum, zero_if_calibrated=False)


def _errors_and_entropies(source: Labeled) -> Iterator[tuple[slice, NDArray[Any], FloatArray]]:
    """Yield slices of rows, whether the most probable class is wrong, and the entropies."""
    if is_sharing():
        entropies = all_entropies(source)
        for rows, labels in most_probable(source):
            yield rows, labels != source.codes[rows], entropies[rows]
    else:
        for rows, block in source.blocks():
            yield rows, highest(block)[0] != source.codes[rows], entropy_of(block)


def all_entropies(source: Labeled) -> FloatArray:
    """Return the entropies of all rows, kept for other metrics."""

    def compute() -> FloatArray:
        return np.concatenate([entropy_of(block) for _, block in source.blocks()])

    return shared("entropies", (source.probabilities,), compute)


def share_entropies(probabilities: FloatArray, entropies: FloatArray) -> None:
    """Let metrics that share their work have the entropies of all rows, in nats."""
    scale = math.log(probabilities.shape[1])
    shared("entropies", (probabilities,), lambda: np.clip(entropies / scale, 0.0, 1.0))


def mean_gap(reliability: ReliabilityCurve) -> float:
    """Return the mean distance of a curve from the diagonal."""
    return float(
        np.average(np.abs(reliability.predicted - reliability.observed), weights=reliability.weight)
    )


def entropy_of(block: FloatArray) -> FloatArray:
    """Return the entropy of each row divided by its maximum, log K."""
    # A tiny number in place of 0 leaves 0 log 0 = 0, without a warning.
    logarithms = np.log(np.maximum(block, np.finfo(np.float64).tiny))
    entropies = np.einsum("ij,ij->i", block, logarithms) / -math.log(block.shape[1])
    return np.clip(entropies, 0.0, 1.0)  # rows sum to 1 only within their precision


ENTRIES = [
    CALIBRATION_ERROR(
        function=uncertainty_calibration_error,
        unit="",
        says="How far the entropy of the predicted distribution is from the rate of errors, on "
        "average over bins of entropy.",
        cannot_see="Perfect calibration: entropy and the rate of errors are different quantities, "
        "and the best value is not reached by the true probabilities. An over-confident model "
        "nearly always has a lower value than a calibrated one: do not choose by it.",
        aliases=("uce",),
        curve=uncertainty_reliability_curve,
        sums=_uncertainty_sums,
        cells="entropy",
        short="UCE",
    )
]
