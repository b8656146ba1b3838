"""Calibration in bins of equal count: running sums over cells of the key, cut at equal shares."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._validation import FloatArray
from ...metrics._core.equal_count import nearest
from ...metrics.regression._checked import gaussians
from ..prepared import Prepared, names_of
from ._parts import Part, Summary, absolute_mean, absolute_sum, over, split
from .bins import event, norm_of, shaped_gaps, width_error, width_sums


def sums_below(
    sums: FloatArray, cells: int, shares: FloatArray, *, whole: bool = False
) -> FloatArray:
    """Return sums over the smallest keys, up to shares of the weight: (resamples, values, shares).

    ``sums`` is (resamples, values x cells), the weight first. A cell is a group of ties: each share
    of it holds the same share of its sums. With ``whole`` no cell is split, and the weight below
    comes first among the values.
    """
    running = np.cumsum(split(sums, cells), axis=2)
    running = np.pad(running, ((0, 0), (0, 0), (1, 0)))
    first = 0 if whole else 1
    found = np.empty((len(sums), running.shape[1] - first, len(shares)))
    for values, row in zip(found, running, strict=True):
        targets = shares * row[0, -1]
        targets = nearest(row[0], targets) if whole else targets
        for value, height in zip(values, row[first:], strict=True):
            value[:] = np.interp(targets, row[0], height)
    return found


class Cuts:
    """The bins of the samples themselves, as shares of the cells, which come first."""

    def __init__(self, shares: FloatArray) -> None:
        self._shares = shares
        self._parts: FloatArray | None = None

    def sums(self, sums: FloatArray, cells: int) -> FloatArray:
        """Return sums over the bins of the samples, (resamples, values, bins), the weight first.

        Bins that move with each resample would add noise of their own, which new samples have not.
        """
        found = split(sums, cells)
        if self._parts is None:
            below = np.cumsum(np.append(0.0, found[0, 0]))
            cuts = self._shares * below[-1]
            held = np.clip(cuts, below[:-1, None], below[1:, None]) - below[:-1, None]
            self._parts = np.diff(over(held, found[0, 0][:, None]), axis=1)
        return found @ self._parts


def expected_calibration_error(
    prepared: Prepared,
    *,
    bins: int = 15,
    kind: str = "top-label",
    norm: Any = 1,
    binning: str = "equal-width",
    classes: Any = None,
) -> Summary:
    """Calibration error of any kind, norm and binning."""
    if binning == "equal-width":
        return width_error(prepared, bins=bins, kind=kind, norm=norm, classes=classes)
    parts = _count_parts(prepared, bins, kind, classes)

    size = norm_of(norm, len(parts))

    def gaps(read: tuple[FloatArray, ...], first: int) -> FloatArray:
        found = np.moveaxis(np.stack(read, axis=2), 1, 0)
        return shaped_gaps(found[first], found[first + 1], norm)

    return Summary(
        parts, lambda *read: gaps(read, 2), norm=size, value=lambda *read: size(gaps(read, 0))
    )


def maximum_calibration_error(prepared: Prepared, **options: Any) -> Summary:
    """Worst bin."""
    return expected_calibration_error(prepared, norm="max", **options)


def classwise_calibration_error(prepared: Prepared, **options: Any) -> Summary:
    """Every class against the rest."""
    return expected_calibration_error(prepared, kind="classwise", **options)


def positive_calibration_error(prepared: Prepared, **options: Any) -> Summary:
    """The second of two classes."""
    return expected_calibration_error(prepared, kind="positive", **options)


def debiased_calibration_error(
    prepared: Prepared,
    *,
    bins: int = 15,
    kind: str = "top-label",
    binning: str = "equal-count",
    classes: Any = None,
) -> Summary:
    """Root mean square over bins; the interval is that of the plain one, whose target it shares."""
    if binning == "equal-width":
        part, readings = width_sums(prepared, bins, kind, classes)
        parts = [part, _happened(prepared, bins, kind, classes)]
    else:
        parts = _count_parts(prepared, bins, kind, classes, happened=True)
        readings = len(parts)

    def bin_sums(read: tuple[FloatArray, ...]) -> tuple[FloatArray, FloatArray, FloatArray]:
        if binning == "equal-width":
            gaps, _, mass = np.moveaxis(read[0], 1, 0)
            return gaps, read[1], mass
        gaps, happened, mass = np.moveaxis(np.stack(read, axis=2), 1, 0)
        return gaps, happened, mass

    def finish(*read: FloatArray) -> FloatArray:
        gaps, _, mass = bin_sums(read)
        usable = mass >= 2
        shaped = shaped_gaps(np.where(usable, gaps, 0.0), np.where(usable, mass, 0.0), 2)
        return shaped / np.sqrt(readings)

    def value(*read: FloatArray) -> FloatArray:
        gaps, happened, mass = bin_sums(read)
        usable = mass >= 2
        variance = over(happened * (mass - happened), np.where(usable, mass * (mass - 1), 0.0))
        squares = np.where(usable, over(gaps**2, mass) - variance, 0.0).sum(axis=2)
        squares /= np.where(usable, mass, 0.0).sum(axis=2)
        return np.sqrt(np.maximum(squares.mean(axis=1), 0.0))

    return Summary(parts, finish, norm=_root_of_squares, value=value)


def _root_of_squares(gaps: FloatArray) -> FloatArray:
    return np.sqrt(np.square(gaps).sum(axis=-1))


def _happened(prepared: Prepared, bins: int, kind: str, classes: Any) -> Part:
    """How often the event happened in each equal-width bin, (resamples, readings, bins)."""
    from ...metrics._core.equal_width import bin_of

    if kind == "classwise":
        data = prepared.labelled(classes)
        number = len(data.classes)
        true = data.probabilities[np.arange(len(data)), data.codes]
        index, values = bin_of(true, bins) + data.codes * bins, None
    else:
        p, hit = event(prepared, kind, classes)
        number, index, values = 1, bin_of(p, bins), hit
    return Part(
        lambda: prepared.matrix(index, number * bins, [values]),
        lambda sums: sums.reshape(len(sums), number, bins),
    )


def _count_parts(
    prepared: Prepared, bins: int, kind: str, classes: Any, *, happened: bool = False
) -> list[Part]:
    """One part for each reading, see `_count_part`."""
    names = names_of(classes)
    if kind != "classwise":
        p, hit = event(prepared, kind, classes)
        name = ("event", kind, names)
        return [_count_part(prepared, lambda: (p, hit, None), bins, name, happened)]
    return [
        _count_part(prepared, _column(prepared, k, classes), bins, ("class", k, names), happened)
        for k in range(len(prepared.labelled(classes).classes))
    ]


Kept = tuple[FloatArray, NDArray[Any], NDArray[np.intp] | None]


def _column(prepared: Prepared, k: int, classes: Any, threshold: float = 0.0) -> Callable[[], Kept]:
    """Return the probabilities of a class, whether it was the true one, and the rows kept."""

    def make() -> Kept:
        data = prepared.labelled(classes)
        p = np.ascontiguousarray(data.probabilities[:, k])
        hit = data.codes == k
        if not p.min() < threshold:
            return p, hit, None
        rows = np.flatnonzero(p >= threshold)
        return p[rows], hit[rows], rows

    return make


def _count_part(
    prepared: Prepared, column: Callable[[], Kept], bins: int, name: Any, happened: bool = False
) -> Part:
    """Gap and weight in bins of each resample, then in those of the samples: (resamples, 4, bins).

    If asked, gap, how often it ``happened`` and weight in bins that hold whole ties, (resamples, 3,
    bins).
    """
    values = 3 if happened else 2
    shares = np.linspace(0, 1, bins + 1)
    fixed = Cuts(shares)

    def make() -> Any:
        p, hit, rows = column()
        summed = [None, p - hit, hit][:values]
        if not len(p):
            return prepared.matrix(np.zeros(0, dtype=np.intp), 1, summed, rows)
        cells = prepared.cells(p, None if rows is not None else name)
        return prepared.matrix(cells.index, cells.number, summed, rows)

    def reduce(sums: FloatArray) -> FloatArray:
        cells = sums.shape[1] // values
        if happened:
            found = np.diff(sums_below(sums, cells, shares, whole=True), axis=2)
            return found[:, [1, 2, 0]]
        gaps = np.diff(sums_below(sums, cells, shares), axis=2)
        mass = np.tile(sums[:, :cells].sum(axis=1)[:, None, None] / bins, (1, 1, bins))
        return np.concatenate([gaps, mass, fixed.sums(sums, cells)[:, ::-1]], axis=1)

    return Part(make, reduce)


def adaptive_calibration_error(
    prepared: Prepared, *, bins: int = 15, classes: Any = None
) -> Summary:
    """Every class in ranges of equal count."""
    return thresholded_adaptive_calibration_error(
        prepared, threshold=0.0, bins=bins, classes=classes
    )


def thresholded_adaptive_calibration_error(
    prepared: Prepared, *, threshold: float = 0.01, bins: int = 15, classes: Any = None
) -> Summary:
    """Every class in ranges of equal count, among probabilities that reach a threshold."""
    number = len(prepared.labelled(classes).classes)
    parts = [
        _count_part(
            prepared,
            _column(prepared, k, classes, threshold),
            bins,
            ("class", k, names_of(classes)),
        )
        for k in range(number)
    ]

    def gaps(read: tuple[FloatArray, ...], first: int) -> FloatArray:
        found, mass = np.moveaxis(np.stack(read, axis=2), 1, 0)[first : first + 2]
        total = mass.sum(axis=2, keepdims=True)
        occurs = np.count_nonzero(total > 0, axis=1, keepdims=True)
        shaped = over(found, total) / np.where(occurs > 0, occurs, np.nan)
        return shaped.reshape(len(found), -1)

    return Summary(
        parts,
        lambda *read: gaps(read, 2),
        norm=absolute_sum,
        value=lambda *read: absolute_sum(gaps(read, 0)),
    )


def expected_normalised_calibration_error(prepared: Prepared, *, bins: int = 15) -> Summary:
    """Relative gaps of predicted and observed spread."""
    y, mean, variance, _ = gaussians(
        prepared.truth, prepared.inputs["mean"], prepared.inputs["variance"], None
    )
    with np.errstate(over="ignore"):
        error = (y - mean) ** 2

    def make() -> Any:
        cells = prepared.cells(variance, "variance")
        return prepared.matrix(cells.index, cells.number, [None, variance, error])

    def reduce(sums: FloatArray) -> FloatArray:
        # Bins move with the resamples: what that adds stands for the tails that a bin of few
        # samples does not show.
        cells = sums.shape[1] // 3
        below = sums_below(sums, cells, np.linspace(0, 1, bins + 1))
        mass = sums[:, :cells].sum(axis=1) / bins
        return np.maximum(np.diff(below, axis=2), 0.0) / mass[:, None, None]

    def finish(means: FloatArray) -> FloatArray:
        predicted, observed = np.moveaxis(np.sqrt(means), 1, 0)
        gaps = over(observed - predicted, predicted) + 0 * predicted
        return np.where((predicted == 0) & (observed > 0), np.inf, gaps)

    return Summary([Part(make, reduce)], finish, norm=absolute_mean)
