"""Sums over the bins of predicted probability, for every kind of event and binning."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._validation import FloatArray, check_choice
from .._core.equal_count import bin_ends, bin_sums, cumulative_sums
from .._core.equal_width import add_sums, bin_of
from .._core.sharing import is_sharing, shared
from .._curves import ReliabilityCurve
from .._inputs import Labeled
from ._events import EventSource, columns, events, whole

KINDS = ("top-label", "positive", "classwise")
BINNINGS = ("equal-width", "equal-count")
PARTS = ("predicted", "happened", "mass")

_ENTRIES = 2**20
"""Entries of a block where many units are summed separately; each block adds to all of them."""


def binned(
    source: EventSource, kind: str, bins: int, binning: str, parts: Sequence[str]
) -> FloatArray:
    """Return sums over the bins, of shape (parts, events, bins); one event unless classwise.

    The parts are "predicted" and "happened", "gap" for the first less the second, and "mass", the
    weight in the bin.
    """
    if binning == "equal-count":
        each = [_count(*event, source.weight, bins, parts) for event in _each(source, kind)]
        return np.stack(each, axis=1)
    if isinstance(source, Labeled) and kind == "classwise":
        return shared_width(source, bins, parts)
    sums = np.zeros((len(parts), bins))
    for rows, p, hit in events(source, kind):
        add_sums(sums, p, values_of(p, hit, parts), source.weights(rows))
    return sums[:, None]


def _each(source: EventSource, kind: str) -> Iterator[tuple[FloatArray, NDArray[Any]]]:
    """Yield the probability of each event, and whether it happened."""
    if isinstance(source, Labeled) and kind == "classwise":
        yield from ((p, hit) for _, p, hit in columns(source))
    else:
        yield whole(source, kind)


def total_weight(source: EventSource) -> float:
    """Return the number of samples, or the sum of their weights."""
    return float(len(source) if source.weight is None else source.weight.sum())


def check_options(kind: Any, binning: Any, kinds: tuple[str, ...] = KINDS) -> None:
    """Raise on an unknown kind of event or binning."""
    check_choice(kind, "kind", kinds)
    check_choice(binning, "binning", BINNINGS)


def values_of(p: FloatArray, hit: NDArray[Any], parts: Sequence[str]) -> list[Any]:
    """Return what is summed for each part; None for the weight."""
    values = {"gap": lambda: p - hit, "predicted": lambda: p, "happened": lambda: hit}
    return [None if part == "mass" else values[part]() for part in parts]


def _count(
    p: FloatArray, hit: NDArray[Any], weight: FloatArray | None, bins: int, parts: Sequence[str]
) -> FloatArray:
    mass = (len(p) if weight is None else weight.sum()) / bins
    sums = np.full((len(parts), bins), mass)
    summed = [i for i, part in enumerate(parts) if part != "mass"]
    values = [value for value in values_of(p, hit, parts) if value is not None]
    sums[summed] = bin_sums(p, values, bins, weight)
    return sums


def whole_ties(source: EventSource, kind: str, bins: int) -> FloatArray:
    """Return sums of gap, outcome and weight over bins of about equal count that split no tie.

    The shape is (3, events, bins). Two bins that share a tie would share its noise.
    """
    shares = np.linspace(0, 1, bins + 1)
    sums = [
        np.diff(cumulative_sums(p, [p - hit, hit], shares, source.weight, whole=True), axis=1)
        for p, hit in _each(source, kind)
    ]
    return np.stack(sums, axis=1)[[1, 2, 0]]


def shared_width(source: Labeled, bins: int, parts: Sequence[str]) -> FloatArray:
    """Return sums over the equal-width bins of every class, taken once for several metrics."""
    if not is_sharing():
        return classwise_width(source, bins, parts)
    arrays = (source.codes, source.probabilities, source.weight)
    every = ("gap", "predicted", "happened", "mass", "square")
    sums = shared(("classwise", bins), arrays, lambda: classwise_width(source, bins, every))
    return sums[[every.index(part) for part in parts]]


def classwise_width(
    source: Labeled,
    bins: int,
    parts: Sequence[str],
    unit: NDArray[np.int32] | None = None,
    units: int = 1,
) -> FloatArray:
    """Return sums over the equal-width bins of every class, (parts, units x classes, bins).

    Every row is in one bin of each class. With one unit for all samples there are as many events as
    classes.
    """
    number = len(source.classes)
    width = number * bins
    first = np.arange(number) * bins
    sums = {name: np.zeros(units * width) for name in ("predicted", "happened", *parts)}
    for rows, block in source.blocks(None if unit is None else _ENTRIES):
        weight = source.weights(rows)
        index = bin_of(block, bins)
        index += first
        if unit is not None:
            index += unit[rows, None].astype(np.int64) * width
        size, flat = units * width, index.ravel()
        weighted = block if weight is None else block * weight[:, None]
        sums["predicted"] += np.bincount(flat, weighted.ravel(), size)
        true = np.take_along_axis(index, source.codes[rows, None], axis=1)[:, 0]
        sums["happened"] += np.bincount(true, weight, size)
        if "square" in parts:
            sums["square"] += np.bincount(flat, (weighted * block).ravel(), size)
            # The squared residual of a true class is 1 - 2 p larger than its squared probability.
            more = 1 - 2 * np.take_along_axis(block, source.codes[rows, None], axis=1)[:, 0]
            sums["square"] += np.bincount(true, more if weight is None else more * weight, size)
        if "mass" in parts:
            each = None if weight is None else np.repeat(weight, number)
            sums["mass"] += np.bincount(flat, each, size)
    if "gap" in parts:
        sums["gap"] = sums["predicted"] - sums["happened"]
    return np.stack([sums[part].reshape(-1, bins) for part in parts])


def curves(source: EventSource, kind: str, bins: int, binning: str) -> list[ReliabilityCurve]:
    """Return the curve of each event."""
    if binning == "equal-width":
        sums = binned(source, kind, bins, binning, PARTS)
        return [curve(sums[:, i], width_edges(bins)) for i in range(sums.shape[1])]
    return [count_curve(*event, source.weight, bins) for event in _each(source, kind)]


def count_curve(
    p: FloatArray, hit: NDArray[Any], weight: FloatArray | None, bins: int
) -> ReliabilityCurve:
    """Return the curve over bins of equal count, with the smallest and the largest p of each."""
    return curve(_count(p, hit, weight, bins, PARTS), bin_ends(p, bins, weight))


def curve(sums: FloatArray, edges: tuple[FloatArray, FloatArray]) -> ReliabilityCurve:
    """Return the curve of sums of prediction, outcome and weight over bins, those with weight."""
    (held,) = np.nonzero(sums[2] > 0)
    predicted, observed, mass = sums[:, held]
    return ReliabilityCurve(
        predicted=predicted / mass,
        observed=observed / mass,
        weight=mass,
        low=edges[0][held],
        high=edges[1][held],
    )


def width_edges(bins: int) -> tuple[FloatArray, FloatArray]:
    """Return where equal-width bins begin and end."""
    edges = np.arange(bins + 1) / bins
    return edges[:-1], edges[1:]
