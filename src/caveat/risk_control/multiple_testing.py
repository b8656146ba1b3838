"""Many hypotheses, one error budget: which of them may be rejected."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from .bounds import at_most


def walk(p: FloatArray, budget: FloatArray) -> tuple[NDArray[np.bool_], FloatArray]:
    """Test hypotheses in order, each at the error budget that is left (the fallback procedure).

    A hypothesis that passes hands its budget on to the next one; one that fails loses it. Each
    start adds its own budget.

    Returns
    -------
    passed : ndarray of bool
    level : ndarray of float
        The budget that each was tested at; 0 where none was left.
    """
    level = np.zeros(len(p))
    starts = np.flatnonzero(budget)
    left = 0.0
    for start, end in zip(starts, np.append(starts[1:], len(p)), strict=True):
        left += budget[start]
        passes = at_most(p[start:end], left)
        failed = int(np.argmin(np.append(passes, False)))
        level[start : min(start + failed + 1, end)] = left
        if start + failed < end:
            left = 0.0
    return at_most(p, level) & (level > 0), level


def holm(p: FloatArray, level: float) -> NDArray[np.bool_]:
    """Return what Holm's procedure rejects: all that Bonferroni's does, and more."""
    order = np.argsort(p, kind="stable")
    passes = at_most(p[order], level / np.arange(len(p), 0, -1))
    passed = np.zeros(len(p), dtype=bool)
    passed[order[: int(np.argmin(np.append(passes, False)))]] = True
    return passed


def graphical(p: FloatArray, budget: FloatArray, graph: FloatArray) -> NDArray[np.bool_]:
    """Return what a graph of budgets rejects (Bretz, Maurer, Brannath and Posch 2009).

    A hypothesis that is rejected leaves the graph: its budget goes along its edges, and its
    neighbors are connected to each other as if by way of it.

    Parameters
    ----------
    p : ndarray of shape (hypotheses,)
    budget : ndarray of shape (hypotheses,)
        The level of each at the start; the sum is the probability of any false rejection.
    graph : ndarray of shape (hypotheses, hypotheses)
        What part of its budget each hands on to each other one; rows sum to 1 at most.
    """
    budget, graph = budget.astype(np.float64), graph.astype(np.float64)
    rejected = np.zeros(len(p), dtype=bool)
    while True:
        passes = at_most(p, budget) & (budget > 0) & ~rejected
        if not passes.any():
            return rejected
        i = int(np.argmax(passes))
        rejected[i] = True
        budget = budget + budget[i] * graph[i]
        budget[i] = 0.0
        through = graph + np.outer(graph[:, i], graph[i])
        back = (graph[:, i] * graph[i])[:, None]  # what would come back to its sender
        graph = np.divide(through, 1 - back, out=np.zeros_like(graph), where=back < 1)
        np.fill_diagonal(graph, 0.0)
        graph[i] = 0.0
        graph[:, i] = 0.0


def grid_graph(shape: Sequence[int]) -> FloatArray:
    """Return the graph of a grid: each point hands on to the next one along each axis."""
    number = int(np.prod(shape))
    places = np.indices(shape).reshape(len(shape), number)
    graph = np.zeros((number, number))
    for axis, length in enumerate(shape):
        inner = np.flatnonzero(places[axis] < length - 1)
        step = int(np.prod(shape[axis + 1 :]))
        graph[inner, inner + step] = 1.0
    return graph / np.maximum(graph.sum(axis=1, keepdims=True), 1.0)


def false_discovery(p: FloatArray, rate: float, *, any_dependence: bool = False) -> float:
    """Return the largest p-value that is selected at this false discovery rate; 0 if none is.

    The procedure of Benjamini and Hochberg; with ``any_dependence`` that of Benjamini and
    Yekutieli, which divides the rate by 1 + 1/2 + ... + 1/m.
    """
    ordered, number = np.sort(p), len(p)
    ranks = np.arange(1, number + 1)
    share = float((1 / ranks).sum()) if any_dependence else 1.0
    passes = at_most(ordered, np.asarray(rate * ranks / (number * share), dtype=np.float64))
    return float(ordered[np.flatnonzero(passes)[-1]]) if passes.any() else 0.0
