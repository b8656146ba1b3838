"""Calibration errors as norms of the gaps in bins: the sums over bins of every unit of samples."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._validation import FloatArray
from .._core.cells import Cuts, sums_below
from .._core.equal_width import bin_of
from ..batch import CELLS, Batch, names_of
from ..sums import Norm, Part, absolute_sum, dense, largest, length, over
from ._binned import classwise_width, values_of
from ._events import read, whole

Kept = tuple[FloatArray, NDArray[Any], NDArray[np.intp] | None]
"""The probability of an event, whether it happened, and the rows that are kept; None for all."""


def shaped_gaps(gaps: FloatArray, mass: FloatArray, norm: Any) -> FloatArray:
    """Return gaps, (..., events x bins), of which the metric is a plain norm."""
    total = mass.sum(axis=-1, keepdims=True)
    if norm == 1:
        shaped = gaps / (total * gaps.shape[-2])
    elif norm == 2:
        shaped = over(gaps, np.sqrt(mass)) / np.sqrt(total)
    else:
        shaped = over(gaps, mass) + 0 * total / total  # NaN where nothing was drawn
    return shaped.reshape(*gaps.shape[:-2], -1)


def norm_of(norm: Any, event_count: int) -> Norm:
    """Return the norm of shaped gaps, averaged over events."""
    if norm == 1:
        return absolute_sum

    def each(gaps: FloatArray) -> FloatArray:
        apart = gaps.reshape(*gaps.shape[:-1], event_count, -1)
        return (length if norm == 2 else largest)(apart).mean(axis=-1)

    return each


def width_part(
    batch: Batch, bins: int, kind: str, classes: Any, parts: Sequence[str]
) -> tuple[Part, int]:
    """Return sums over equal-width bins, (resamples, parts, events, bins), and the events."""
    number = 1
    if kind == "classwise":
        data = replace(batch.labeled(classes), weight=batch.weight)
        number = len(data.classes)

        def matrix() -> Any:
            if batch.rest(0) is not batch:
                each = [
                    _width_sums(own, k, bins, classes, parts) for k, own in rests(batch, classes)
                ]
                return np.stack(each, axis=2).reshape(batch.units, -1)
            sums = classwise_width(data, bins, parts, batch.unit, batch.units)
            apart = sums.reshape(len(parts), batch.units, -1)
            return np.moveaxis(apart, 0, 1).reshape(batch.units, -1)
    else:
        p, hit = event(batch, kind, classes)
        index = bin_of(p, bins)

        def matrix() -> Any:
            return batch.matrix(index, bins, values_of(p, hit, parts))

    return Part(matrix, lambda sums: sums.reshape(len(sums), len(parts), number, bins)), number


def _width_sums(batch: Batch, k: int, bins: int, classes: Any, parts: Sequence[str]) -> FloatArray:
    """Return sums over the equal-width bins of one class, (units, parts, bins)."""
    p, hit, _ = column(batch, k, classes)
    known = dict(zip(("gap", "mass"), values_of(p, hit, ("gap", "mass")), strict=True))
    known["square"] = batch.kept("square", lambda: np.square(p - hit))
    sums = dense(batch.matrix(bin_of(p, bins), bins, [known[part] for part in parts]))
    return sums.reshape(len(sums), len(parts), bins)


def event(batch: Batch, kind: str, classes: Any) -> tuple[FloatArray, NDArray[Any]]:
    """Return the probability of an event, and whether it happened."""

    def make() -> tuple[FloatArray, NDArray[Any]]:
        source = read(batch.truth, batch.inputs["probabilities"], kind, classes=classes)
        return whole(source, kind)

    return batch.kept(("event", kind, names_of(classes)), make)


def count_parts(
    batch: Batch, bins: int, kind: str, classes: Any, *, happened: bool = False
) -> list[Part]:
    """Return one part for each event, see `count_part`."""
    names = names_of(classes)
    if kind != "classwise":
        p, hit = event(batch, kind, classes)
        return [count_part(batch, lambda: (p, hit, None), bins, ("event", kind, names), happened)]
    return [
        count_part(own, partial(column, own, k, classes), bins, ("class", k, names), happened)
        for k, own in rests(batch, classes)
    ]


def rests(batch: Batch, classes: Any) -> Iterator[tuple[int, Batch]]:
    """Yield the position of each class with the batch that has its probabilities."""
    for k in range(len(batch.labeled(classes).classes)):
        yield k, batch.rest(k)


def column(batch: Batch, k: int, classes: Any, threshold: float = 0.0) -> Kept:
    """Return the probabilities of a class from a threshold on, and whether it was the true one."""
    data = batch.labeled(classes)
    p = np.ascontiguousarray(data.probabilities[:, k])
    hit = data.codes == k
    if not p.min() < threshold:
        return p, hit, None
    rows = np.flatnonzero(p >= threshold)
    return p[rows], hit[rows], rows


def count_part(
    batch: Batch, kept: Callable[[], Kept], bins: int, name: Any, happened: bool = False
) -> Part:
    """Gap and weight in bins of each resample, then in those of the samples: (resamples, 4, bins).

    If asked, gap, how often it ``happened`` and weight in bins that hold whole ties, (resamples, 3,
    bins).
    """
    values = 3 if happened else 2
    shares = np.linspace(0, 1, bins + 1)
    fixed = Cuts(shares)

    def make() -> Any:
        p, hit, rows = kept()
        summed = [None, p - hit, hit][:values]
        if not len(p) and not batch.fixed:
            return batch.matrix(np.zeros(0, dtype=np.intp), 1, summed, rows)
        # Bins of whole cells need cells that are far smaller than they are.
        number = 5 * CELLS if happened else CELLS
        cells = batch.cells(p, None if rows is not None else name, number=number, bounded=True)
        return batch.matrix(cells.index, cells.number, summed, rows)

    def reduce(sums: FloatArray) -> FloatArray:
        cells = sums.shape[1] // values
        if happened:
            binned = np.diff(sums_below(sums, cells, shares, whole=True), axis=2)
            return binned[:, [1, 2, 0]]
        gaps = np.diff(sums_below(sums, cells, shares), axis=2)
        mass = np.tile(sums[:, :cells].sum(axis=1)[:, None, None] / bins, (1, 1, bins))
        return np.concatenate([gaps, mass, fixed.sums(sums, cells)[:, ::-1]], axis=1)

    return Part(make, reduce, ordered=values)
