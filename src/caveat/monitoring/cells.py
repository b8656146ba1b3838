"""Numbers of the samples of two summaries over the same cells."""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from ..metrics.states import cell_of, cell_values
from ..summaries import Summary
from ..summaries.cells import representatives
from ..summaries.parts import Distribution, NumberKey, Part, Place

PREDICTIONS = ("probability", "confidence", "class", "prediction")
"""What is predicted; `UNCERTAINTY` is how uncertain the model is of it."""

UNCERTAINTY = ("total", "aleatoric", "epistemic", "width", "size")

PROBABILITY: NumberKey = ("probability", "")
TOTAL: NumberKey = ("total", "")


@dataclass(frozen=True, eq=False)
class Numbers:
    """One number of each sample of some: how many samples are in each cell, and the moments.

    Attributes
    ----------
    values : ndarray of shape (cells,)
        The number that stands for each cell, in increasing order.
    counts : ndarray of shape (cells,)
        The weight in each.
    mean, variance : float
    samples : int
    """

    values: FloatArray
    counts: FloatArray
    mean: float
    variance: float
    samples: int


def of_table(part: Part) -> Numbers:
    """Return the probabilities of the second class, from a table of two classes."""
    assert part.table is not None
    counts = part.table.sum(axis=1)
    held = np.flatnonzero(counts)
    return _made(representatives()[held], counts[held].astype(np.float64), part.samples)


def _made(values: FloatArray, counts: FloatArray, samples: int) -> Numbers:
    """Return numbers from cells in any order, of which some may have the same value."""
    known, index = np.unique(values, return_inverse=True)
    merged = np.bincount(index, counts).astype(np.float64)
    mass = merged.sum()
    mean = float(merged @ known / mass)
    return Numbers(known, merged, mean, float(merged @ (known - mean) ** 2 / mass), samples)


def of_distribution(part: Part, one: Distribution) -> Numbers:
    """Return the numbers of a distribution; its moments are exact."""
    return Numbers(cell_values(one.columns), one.counts, one.mean, one.variance, part.samples)


def snapped(numbers: Numbers) -> Numbers:
    """Return probabilities over cells that tables and distributions both are unions of.

    Between 1/64 and 1/8 the cells of a distribution cross those of a table, and steps of 1/1024 are
    unions of both. Beyond 63/64 a table's cells are closed at their upper ends and a distribution
    has four cells only, which become one.
    """
    values = numbers.values
    middle = (values >= 1 / 64) & (values < 1 / 8)
    steps = (np.floor(values * 1024) + 0.5) / 1024
    cells, _ = cell_of(values)
    shared = np.where(middle, steps, cell_values(cells.astype(np.int64)))
    shared = np.where((values >= 63 / 64) & (values < 1), 127 / 128, shared)
    shared = np.where(values >= 1, 1.0, shared)  # the middle of its cell is above 1
    made = _made(shared, numbers.counts, numbers.samples)
    return Numbers(made.values, made.counts, numbers.mean, numbers.variance, numbers.samples)


def entropies(numbers: Numbers) -> Numbers:
    """Return the total uncertainty of two classes: the entropy of their probabilities."""
    p = np.clip(numbers.values, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.nan_to_num(p * np.log(p)) - np.nan_to_num((1 - p) * np.log1p(-p))
    exact = _made(entropy, numbers.counts, numbers.samples)
    cells, _ = cell_of(exact.values)
    made = _made(cell_values(cells.astype(np.int64)), exact.counts, exact.samples)
    return Numbers(made.values, made.counts, exact.mean, exact.variance, exact.samples)


def pairs_of(one: Summary, other: Summary, place: Place) -> dict[NumberKey, tuple[Numbers, ...]]:
    """Return every number that both summaries have of some samples, over the same cells."""
    parts = one.parts[place], other.parts[place]
    result: dict[NumberKey, tuple[Numbers, ...]] = {}
    if all(part.table is not None for part in parts):
        result[PROBABILITY] = tuple(map(of_table, parts))
    elif any(part.table is not None for part in parts):
        result[PROBABILITY] = tuple(
            snapped(
                of_table(part)
                if part.table is not None
                else of_distribution(part, part.distributions[PROBABILITY])
            )
            for part in parts
        )
    for key, distribution in parts[0].distributions.items():
        second = parts[1].distributions.get(key)
        if second is not None and key not in result and distribution.mass * second.mass > 0:
            result[key] = (
                of_distribution(parts[0], distribution), of_distribution(parts[1], second)
            )  # fmt: skip
    if PROBABILITY in result and TOTAL not in result:
        result[TOTAL] = tuple(map(entropies, result[PROBABILITY]))
    return _told_apart(result)


SomeNumbers = TypeVar("SomeNumbers", Numbers, tuple[Numbers, ...])


def _told_apart(given: dict[NumberKey, SomeNumbers]) -> dict[NumberKey, SomeNumbers]:
    """Return the numbers in their order, without parts of an uncertainty that has only one.

    With one member all uncertainty is aleatoric, and the total says the same.
    """
    result = dict(given)
    for name, target in given:
        if name == "epistemic":
            parts = given[name, target]
            sides = parts if isinstance(parts, tuple) else (parts,)
            if not any(side.values.any() for side in sides):
                del result[name, target], result["aleatoric", target]
    order = (*PREDICTIONS, *UNCERTAINTY)
    return dict(sorted(result.items(), key=lambda item: order.index(item[0][0])))


def numbers_in(summary: Summary, place: Place) -> dict[NumberKey, Numbers]:
    """Return the numbers of one summary over cells that any other of its kind has."""
    part = summary.parts[place]
    result = {
        key: of_distribution(part, one) for key, one in part.distributions.items() if one.mass > 0
    }
    if part.table is not None:
        result[PROBABILITY] = of_table(part)
    if PROBABILITY in result:
        result[PROBABILITY] = snapped(result[PROBABILITY])
        result[TOTAL] = entropies(result[PROBABILITY])
    return _told_apart(result)


@dataclass(frozen=True, eq=False)
class Kept:
    """The samples of one place that a summary kept, with their weights and clusters."""

    rows: NDArray[np.intp]
    weight: FloatArray
    cluster: NDArray[np.intp] | None
    share: float
    """Kept samples among all."""


def kept_in(summary: Summary, place: Place) -> Kept | None:
    """Return the samples that a summary kept of one place; None if it kept none."""
    kept = summary.kept
    if kept is None:
        return None
    rows = np.arange(len(kept))
    if place[0]:
        rows = np.flatnonzero(kept.groups[place[0]] == place[1])
    weight = np.ones(len(rows)) if kept.weight is None else kept.weight[rows]
    if not weight.sum() > 0:
        return None
    cluster = None
    if kept.cluster is not None:
        cluster = np.unique(kept.cluster[rows], return_inverse=True)[1]
    return Kept(rows, weight, cluster, len(rows) / summary.parts[place].samples)


@dataclass(frozen=True, eq=False)
class Design:
    """How much the means of some columns vary where samples have weights or clusters.

    Attributes
    ----------
    covariance : ndarray of shape (columns, columns)
    freedom : float
        Clusters less one; infinite without clusters.
    """

    covariance: FloatArray
    freedom: float


def design_of(kept: Kept, columns: FloatArray) -> Design:
    r"""Return the covariance of the means of some columns, from the samples that were kept.

    With :math:`e_i = w_i (z_i - \bar z)`, it is that of the clusters' sums of e. If a random share
    f of the samples was kept, f of their squares are seen and f squared of the products of two
    samples of a cluster.
    """
    weight = kept.weight
    mass = weight.sum()
    e = weight[:, None] * (columns - weight @ columns / mass)
    own = e.T @ e
    if kept.cluster is None:
        return Design(own * kept.share / mass**2, np.inf)
    number = int(kept.cluster.max()) + 1
    sums = np.stack([np.bincount(kept.cluster, column, number) for column in e.T], axis=1)
    freedom = max(number - 1.0, 1.0)
    total = (own * kept.share + (sums.T @ sums - own)) * (number / freedom)
    return Design(total / mass**2, freedom)
