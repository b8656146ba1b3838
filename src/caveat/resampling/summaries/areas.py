"""What is read off the receiver operating characteristic, from counts in cells of the score."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._validation import FloatArray
from ...metrics._core.two_classes import second_class
from ...metrics.ranking._checked import detected
from ..prepared import Prepared, names_of
from ._parts import Part, Summary, over, split

Reading = Callable[[FloatArray, FloatArray], FloatArray]

# A rate that is reached on paper may miss it by the rounding of a sum of weights.
_ROUNDING = 1e-12


def roc_auc_score(prepared: Prepared, *, average: str = "macro", classes: Any = None) -> Summary:
    """Area under the curve, one class against the rest."""
    return _one_against_rest(prepared, _area, average, classes)


def average_precision_score(
    prepared: Prepared, *, average: str = "macro", classes: Any = None
) -> Summary:
    """Average precision, one class against the rest."""
    return _one_against_rest(prepared, _average_precision, average, classes)


def specificity_at_sensitivity_score(
    prepared: Prepared, *, sensitivity: float = 0.8, classes: Any = None
) -> Summary:
    """Best specificity where the sensitivity is reached."""

    def reading(negative: FloatArray, positive: FloatArray) -> FloatArray:
        return 1 - _false_where_true(negative, positive, sensitivity, not prepared.exact)

    return _second_class(prepared, reading, classes)


def sensitivity_at_specificity_score(
    prepared: Prepared, *, specificity: float = 0.8, classes: Any = None
) -> Summary:
    """Best sensitivity where the specificity is kept."""

    def reading(negative: FloatArray, positive: FloatArray) -> FloatArray:
        false, true = _curve(negative, positive)
        last = np.count_nonzero(1 - false >= specificity - _ROUNDING, axis=1) - 1
        if prepared.exact:
            return _at(true, last)
        return _between(true, false, np.minimum(last + 1, false.shape[1] - 1), 1 - specificity)

    return _second_class(prepared, reading, classes)


def error_detection_auroc_score(prepared: Prepared) -> Summary:
    """Area under the curve of finding wrong predictions."""
    return _detection(prepared, _area, "uncertainty")


def detection_roc_auc_score(prepared: Prepared) -> Summary:
    """Area under the curve of finding samples from outside."""
    return _detection(prepared, _area, "score")


def detection_average_precision_score(prepared: Prepared) -> Summary:
    """Average precision of finding samples from outside."""
    return _detection(prepared, _average_precision, "score")


def false_positive_rate_at_true_positive_rate_error(
    prepared: Prepared, *, true_positive_rate: float = 0.95
) -> Summary:
    """Share of samples from inside that are flagged."""

    def reading(negative: FloatArray, positive: FloatArray) -> FloatArray:
        return _false_where_true(negative, positive, true_positive_rate, not prepared.exact)

    return _detection(prepared, reading, "score")


def _area(negative: FloatArray, positive: FloatArray) -> FloatArray:
    """How often a positive is in a higher cell than a negative; in the same one counts half."""
    below = np.cumsum(negative, axis=1)
    pairs = below[:, -1] * positive.sum(axis=1)
    below -= negative / 2
    return np.einsum("rk,rk->r", below, positive) / pairs


def _average_precision(negative: FloatArray, positive: FloatArray) -> FloatArray:
    true = np.cumsum(positive[:, ::-1], axis=1)
    found = np.cumsum(negative[:, ::-1], axis=1)
    found += true
    precision = over(true, found)
    return np.einsum("rk,rk->r", precision, positive[:, ::-1]) / true[:, -1]


def _curve(negative: FloatArray, positive: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rates of negatives and positives at or above each cell; all NaN if one is missing."""
    false, true = (np.cumsum(counts[:, ::-1], axis=1) for counts in (negative, positive))
    totals = false[:, -1:].copy(), true[:, -1:].copy()
    either = np.where((totals[0] > 0) & (totals[1] > 0), 1.0, np.nan)
    start = ((0, 0), (1, 0))
    return np.pad(false / totals[0], start) * either, np.pad(true / totals[1], start) * either


def _false_where_true(
    negative: FloatArray, positive: FloatArray, rate: float, within: bool
) -> FloatArray:
    """Rate of negatives where that of positives is reached, ``within`` the cell or at its end."""
    false, true = _curve(negative, positive)
    reached = np.argmax(true >= rate - _ROUNDING, axis=1)
    if within:
        # Steps as large as a cell could be larger than what the resamples differ by.
        return _between(false, true, reached, rate)
    return _at(false, reached)


def _between(
    values: FloatArray, along: FloatArray, place: NDArray[np.intp], rate: float
) -> FloatArray:
    """Return the values where ``along`` passes a rate, on the line that ends at a place."""
    before = np.maximum(place - 1, 0)
    start, end = _at(along, before), _at(along, place)
    share = np.clip(over(rate - start, end - start), 0.0, 1.0)
    return _at(values, before) + share * (_at(values, place) - _at(values, before))


def _at(curve: FloatArray, place: NDArray[np.intp]) -> FloatArray:
    return np.take_along_axis(curve, place[:, None], axis=1)[:, 0]


def _detection(prepared: Prepared, reading: Reading, score: str) -> Summary:
    positive, key, _ = detected(
        prepared.truth, prepared.inputs[score], None, flag_name="truth", score_name=score
    )
    return Summary([_read(prepared, positive, key, reading, score)], _only)


def _second_class(prepared: Prepared, reading: Reading, classes: Any) -> Summary:
    data = prepared.labelled(classes)
    part = _read(
        prepared, data.codes == 1, second_class(data), reading, ("roc", 1, names_of(classes))
    )
    return Summary([part], _only)


def _only(read: FloatArray) -> FloatArray:
    return read[:, 0]


def _one_against_rest(prepared: Prepared, reading: Reading, average: str, classes: Any) -> Summary:
    data = prepared.labelled(classes)
    number = len(data.classes)
    if number == 2:
        return _second_class(prepared, reading, classes)

    def part(k: int) -> Part:
        # The column is copied when the part is made, not while it waits.
        return Part(
            lambda: _matrix(
                prepared,
                data.codes == k,
                np.ascontiguousarray(data.probabilities[:, k]),
                ("roc", k, names_of(classes)),
            ),
            lambda sums: _with_mass(sums, reading),
        )

    def finish(*read: FloatArray) -> FloatArray:
        areas, mass = np.moveaxis(np.stack(read, axis=1), 2, 0)
        occurs = mass > 0
        weight = mass if average == "weighted" else occurs.astype(np.float64)
        total = np.where(occurs, np.nan_to_num(areas), 0.0) * weight
        mean = total.sum(axis=1) / weight.sum(axis=1)
        return np.where(np.count_nonzero(occurs, axis=1) < 2, np.nan, mean)

    return Summary([part(k) for k in range(number)], finish)


def _read(
    prepared: Prepared, positive: NDArray[np.bool_], key: FloatArray, reading: Reading, name: Any
) -> Part:
    return Part(
        lambda: _matrix(prepared, positive, key, name), lambda sums: _with_mass(sums, reading)
    )


def _with_mass(sums: FloatArray, reading: Reading) -> FloatArray:
    """Return what is read and the weight of the positives, (resamples, 2)."""
    negative, positive = np.moveaxis(split(sums, sums.shape[1] // 2), 1, 0)
    return np.stack([reading(negative, positive), positive.sum(axis=1)], axis=1)


def _matrix(prepared: Prepared, positive: NDArray[np.bool_], key: FloatArray, name: Any) -> Any:
    """Sums of negatives and positives over cells that are fine among both."""
    cells = prepared.cells(key, name, dense=positive)
    return prepared.matrix(
        cells.index + np.where(positive, cells.number, 0), 2 * cells.number, [None]
    )
