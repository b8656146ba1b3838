"""Calibration in bins of equal width: sums over fixed bins, exact at any number of samples."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._blocks import row_blocks
from ..._validation import FloatArray
from ...metrics._core.equal_width import bin_of
from ...metrics.classification._events import read, whole
from ...metrics.classification.variation import _entropy, _measure, _places
from ..prepared import Prepared, names_of
from ._parts import Norm, Part, Summary, absolute_sum, as_is, largest, over, split, square_sum

_ENTRIES = 2**20


def width_error(
    prepared: Prepared, *, bins: int, kind: str, norm: Any, classes: Any = None
) -> Summary:
    """Calibration error of a reading over equal-width bins."""
    part, readings = width_sums(prepared, bins, kind, classes)

    def finish(sums: FloatArray) -> FloatArray:
        gaps, _, mass = np.moveaxis(sums, 1, 0)
        return shaped_gaps(gaps, mass, norm)

    return Summary([part], finish, norm=norm_of(norm, readings))


def shaped_gaps(gaps: FloatArray, mass: FloatArray, norm: Any) -> FloatArray:
    """Return gaps, (resamples, readings x bins), of which the metric is a plain norm."""
    total = mass.sum(axis=2, keepdims=True)
    if norm == 1:
        shaped = gaps / (total * gaps.shape[1])
    elif norm == 2:
        shaped = over(gaps, np.sqrt(mass)) / np.sqrt(total)
    else:
        shaped = over(gaps, mass) + 0 * total / total  # NaN where nothing was drawn
    return shaped.reshape(len(gaps), -1)


def norm_of(norm: Any, readings: int) -> Norm:
    """Return the norm of the gaps, averaged over readings."""
    if norm == 1:
        return absolute_sum

    def each(gaps: FloatArray) -> FloatArray:
        apart = gaps.reshape(*gaps.shape[:-1], readings, -1)
        found = np.sqrt(square_sum(apart)) if norm == 2 else largest(apart)
        return found.mean(axis=-1)

    return each


def width_sums(prepared: Prepared, bins: int, kind: str, classes: Any) -> tuple[Part, int]:
    """Return sums of gap, squared residual and weight, (resamples, 3, readings, bins)."""
    if kind == "classwise":
        data = prepared.labelled(classes)
        number = len(data.classes)

        def reduce(sums: FloatArray) -> FloatArray:
            return sums.reshape(len(sums), 3, number, bins)

        return Part(lambda: _classwise(prepared, bins, classes), reduce), number
    p, hit = event(prepared, kind, classes)
    gap = p - hit
    index = bin_of(p, bins)
    part = Part(
        lambda: prepared.matrix(index, bins, [gap, gap**2, None]),
        lambda sums: sums.reshape(len(sums), 3, 1, bins),
    )
    return part, 1


def event(prepared: Prepared, kind: str, classes: Any) -> tuple[FloatArray, NDArray[Any]]:
    """Return the probability of the event of a reading, and whether it happened."""

    def make() -> tuple[FloatArray, NDArray[Any]]:
        source = read(prepared.truth, prepared.inputs["probabilities"], kind, classes=classes)
        return whole(source, kind)

    return prepared.kept(("event", kind, names_of(classes)), make)


def _classwise(prepared: Prepared, bins: int, classes: Any) -> FloatArray:
    """Sums over the bins of each class, block by block: every row is in one bin of each."""
    data = prepared.labelled(classes)
    number = len(data.classes)
    width = number * bins
    first = np.arange(number) * bins
    sums = np.zeros((prepared.plan.units, 3, width))
    for rows in row_blocks(len(data), number, _ENTRIES):
        block = data.probabilities[rows]
        residual = block.copy()
        residual[np.arange(len(block)), data.codes[rows]] -= 1
        place = bin_of(block, bins)
        place += first
        place += prepared.unit[rows, None].astype(np.int64) * width
        each = None if prepared.weight is None else np.repeat(prepared.weight[rows], number)
        for i, value in enumerate((residual, residual**2, None)):
            flat = each if value is None else value.ravel()
            if value is not None and each is not None:
                flat = value.ravel() * each
            added = np.bincount(place.ravel(), flat, len(sums) * width)
            sums[:, i] += added.reshape(-1, width)
    return sums.reshape(len(sums), -1)


def brier_calibration_error(prepared: Prepared, *, classes: Any = None, bins: int = 15) -> Summary:
    """Squared gaps of all classes."""
    part, _ = width_sums(prepared, bins, "classwise", classes)

    def finish(sums: FloatArray) -> FloatArray:
        gaps, _, mass = np.moveaxis(sums, 1, 0)
        return shaped_gaps(gaps, mass, 2)

    return Summary([part], finish, norm=square_sum)


def brier_refinement_loss(prepared: Prepared, *, classes: Any = None, bins: int = 15) -> Summary:
    """What the squared residuals vary within bins."""
    part, _ = width_sums(prepared, bins, "classwise", classes)

    def finish(sums: FloatArray) -> FloatArray:
        gaps, squares, mass = np.moveaxis(sums, 1, 0)
        within = np.maximum(squares - over(gaps**2, mass), 0.0)
        return within.sum(axis=(1, 2)) / mass[:, 0].sum(axis=1)

    return Summary([part], finish)


def uncertainty_calibration_error(
    prepared: Prepared, *, bins: int = 15, classes: Any = None
) -> Summary:
    """Gaps of entropy and rate of errors in bins of entropy."""
    data = prepared.labelled(classes)
    entropy, wrong = np.empty((2, len(data)))
    for rows, block in data.blocks():
        entropy[rows] = _entropy(block)
        wrong[rows] = block.argmax(axis=1) != data.codes[rows]
    index = bin_of(entropy, bins)
    gap = (entropy / 2 if len(data.classes) == 2 else entropy) - wrong

    def finish(sums: FloatArray) -> FloatArray:
        gaps, mass = np.moveaxis(split(sums, bins), 1, 0)
        return gaps / mass.sum(axis=1, keepdims=True)

    part = Part(lambda: prepared.matrix(index, bins, [gap, None]), as_is)
    # Entropy is not the rate of errors, however right the probabilities are.
    return Summary([part], finish, norm=absolute_sum, zero_if_calibrated=False)


def variation_calibration_error(
    prepared: Prepared, *, bins: int = 15, variation: Any = "entropy", classes: Any = None
) -> Summary:
    """Gaps of predicted variation and that of observed ranks in bins of variation."""
    measure, of_ranked = _measure(variation)
    data = prepared.labelled(classes)
    number = len(data.classes)
    varied = np.empty(len(data))
    better, equal = np.empty((2, len(data)), dtype=np.intp)
    for rows, block in data.blocks():
        varied[rows] = measure(block)
        better[rows], equal[rows] = _places(block, data.codes[rows])
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
        # A tie counts in equal parts on each of the ranks it covers.
        rows = np.repeat(np.arange(len(data)), equal)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(equal) - equal, equal)
        place = (index * number + better)[rows] + within
        return prepared.matrix(place, bins * number, [1.0 / equal[rows]], rows)

    parts = [
        Part(lambda: prepared.matrix(index, bins, [varied, None]), as_is),
        Part(rank_matrix, as_is),
    ]
    return Summary(
        parts,
        lambda sums, ranks: gaps(sums, ranks, True),
        norm=absolute_sum,
        value=lambda sums, ranks: absolute_sum(gaps(sums, ranks, False)),
    )
