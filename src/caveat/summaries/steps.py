"""The loops over samples that counting takes, by numpy or compiled by numba."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from .._blocks import highest
from .._counting import add_counts, sum_by
from .._validation import FloatArray
from ..metrics.classification.variation import places
from .cells import cells_of

__all__ = ["Block", "Steps", "steps"]


@dataclass(frozen=True)
class Block:
    """What is known of each sample of a block.

    Attributes
    ----------
    columns : ndarray of shape (classes, samples)
        The probabilities.
    label : ndarray of shape (samples,)
        The most probable class, the first of equals.
    top : ndarray of shape (samples,)
        Its probability.
    entropy : ndarray of shape (samples,)
        In nats.
    loss, square : ndarrays of shape (samples,)
        Minus the logarithm of the probability of the true class; the Brier loss.
    rank : ndarray of shape (samples,)
        ``better * classes + equal - 1``: how many classes are more probable than the true one, and
        how many, with itself, equally so.
    """

    columns: FloatArray
    label: NDArray[np.int32]
    top: FloatArray
    entropy: FloatArray
    loss: FloatArray
    square: FloatArray
    rank: NDArray[np.int32]

    @classmethod
    def empty(cls, classes: int, samples: int) -> "Block":
        """Return memory for so many samples."""
        label, rank = np.empty((2, samples), dtype=np.int32)
        top, entropy, loss, square = np.empty((4, samples))
        columns = np.empty((classes, samples))
        return cls(columns, label, top, entropy, loss, square, rank)


@dataclass(frozen=True)
class Steps:
    """Functions that write into arrays.

    Attributes
    ----------
    describe : callable
        ``(columns, logarithms, true, label, top, entropy, loss, square, rank)`` writes the last
        six; see `Block`. The logarithms are overwritten.
    tally : callable
        ``(probability, true, k, base, of, fine, coarse, sums)`` counts each probability at ``2 *
        cell + hit``, where ``hit`` is ``true == k``, and at ``base + 2 * of[cell] + hit``, and adds
        itself and its square to the sums there.
    locate : callable
        ``(probability, truth, start, index)`` writes ``2 * cell + truth``; a truth is 0 or 1, and
        ``start`` is the number of the first sample, for errors.
    count : callable
        ``(index, counts)`` adds 1 at each index.
    add : callable
        ``(index, first, second, sums)`` adds two values to the (width, 2) sums at each index.
    """

    describe: Callable[..., None]
    tally: Callable[..., None]
    locate: Callable[..., None]
    count: Callable[..., None]
    add: Callable[..., None]


def steps(compiled: bool) -> Steps:
    """Return the functions; the compiled ones only if numba is installed.

    Parameters
    ----------
    compiled : bool
        Whether it is worth the half second that importing numba takes.
    """
    return (_compiled() if compiled else None) or _STEPS


@cache
def _compiled() -> Steps | None:
    try:
        own = import_module("._compiled", __package__)
    except (ImportError, RuntimeError):  # no numba, or no place to keep what it compiles
        return None

    def locate(
        p: NDArray[np.floating], truth: NDArray[np.integer], start: int, index: NDArray[np.int32]
    ) -> None:
        exact, small = p.astype(np.float64, copy=False), truth.astype(np.int8, copy=False)
        if not own.locate(exact, small, index):
            _locate(p, truth, start, index)  # raises

    return Steps(own.describe, own.tally, locate, own.count, own.add)


def _describe(
    columns: FloatArray,
    logarithms: FloatArray,
    true: NDArray[np.int32],
    first: int,
    label: NDArray[np.int32],
    top: FloatArray,
    entropy: FloatArray,
    loss: FloatArray,
    square: FloatArray,
    rank: NDArray[np.int32],
) -> None:
    rows = slice(first, min(first + logarithms.shape[1], len(true)))
    block, scratch = columns[:, rows], logarithms[:, : rows.stop - first]
    label[rows], top[rows] = highest(block.T)
    own = true[rows], np.arange(block.shape[1])
    np.subtract(0.0, scratch[own], out=loss[rows])
    scratch[block == 0] = 0.0
    scratch *= block
    np.subtract(0.0, scratch.sum(axis=0), out=entropy[rows])
    np.copyto(scratch, block)
    scratch[own] -= 1
    np.einsum("ij,ij->j", scratch, scratch, out=square[rows])
    better, equal = places(block.T, true[rows].astype(np.intp))
    rank[rows] = better * len(block) + equal - 1


def _tally(
    probability: FloatArray,
    true: NDArray[np.int32],
    k: int,
    base: NDArray[np.int32],
    of: NDArray[np.int32],
    fine: NDArray[np.int32],
    coarse: NDArray[np.int32],
    sums: FloatArray,
) -> None:
    hit = true == k
    cell = cells_of(probability)
    place = of.take(cell)
    for index in (cell, place):
        index *= 2
        index += hit
    place += base
    add_counts(cell, fine)
    add_counts(place, coarse)
    _add(place, probability, probability**2, sums)


def _locate(
    p: NDArray[np.floating], truth: NDArray[np.integer], start: int, index: NDArray[np.int32]
) -> None:
    cells_of(p, start, index)
    index <<= 1
    np.add(index, truth, out=index, casting="unsafe")


def _add(index: NDArray[np.int32], first: FloatArray, second: FloatArray, sums: FloatArray) -> None:
    for own, values in zip(sums.T, (first, second), strict=True):
        own += sum_by(index, values, len(sums))


_STEPS = Steps(_describe, _tally, _locate, add_counts, _add)
