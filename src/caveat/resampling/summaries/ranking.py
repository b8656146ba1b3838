"""Does the uncertainty know where the errors are: from cells of the uncertainty and of the error.

Beyond some thousand rows the rank correlation is that of a joint table of coarse ranks: within a
cell ranks are equal, which lowers the correlation by about the squared inverse of the number of
cells along each axis (one part in 2,000), the same in every resample.
"""

from typing import Any

import numpy as np

from ..._validation import FloatArray
from ...metrics.ranking._checked import ranked
from ..prepared import Cells, Prepared
from ._parts import Part, Summary, as_is, over, split
from .equal_count import sums_below

# Two means that are equal on paper differ by the rounding of their sums, which stays below this.
_ROUNDING = 1e-12

_COARSE = 48
"""Cells along each axis of the joint table of two keys."""


def confidence_oracle_area_error(
    prepared: Prepared, *, points: int = 100, aggregate: str = "mean"
) -> Summary:
    """Area between the confidence curve and the oracle's."""
    parts = [_remaining(prepared, key, points, aggregate) for key in ("uncertainty", "error")]

    def finish(curve: FloatArray, oracle: FloatArray) -> FloatArray:
        return np.maximum(curve - oracle, 0.0).sum(axis=1) + 0 * curve[:, 0]

    return Summary(parts, finish)


def error_drop_score(prepared: Prepared, *, points: int = 100, aggregate: str = "mean") -> Summary:
    """First over last error of the confidence curve."""

    def finish(curve: FloatArray) -> FloatArray:
        return curve[:, 0] / curve[:, -1]  # x / 0 is infinity and 0 / 0 is NaN, as they should

    part = _remaining(prepared, "uncertainty", points, aggregate)
    return Summary([part], finish, rests_on=prepared.independent / points)


def decrease_ratio_score(
    prepared: Prepared, *, points: int = 100, aggregate: str = "mean"
) -> Summary:
    """Share of the steps along the confidence curve in which it does not rise."""

    def finish(curve: FloatArray) -> FloatArray:
        falls = curve[:, 1:] <= curve[:, :-1] * (1 + _ROUNDING)
        return falls.mean(axis=1) + 0 * curve[:, 0]

    return Summary([_remaining(prepared, "uncertainty", points, aggregate)], finish)


def _keys(prepared: Prepared) -> dict[str, FloatArray]:
    def make() -> dict[str, FloatArray]:
        error, uncertainty, _ = ranked(prepared.truth, prepared.inputs["uncertainty"], None)
        return {"error": error, "uncertainty": uncertainty}

    return prepared.kept("ranked", make)


def _remaining(prepared: Prepared, key: str, points: int, aggregate: str) -> Part:
    """The error of those with the lowest keys, all of them first: (resamples, points)."""
    shares = np.arange(points, 0, -1) / points

    def make() -> Any:
        error = _keys(prepared)["error"]
        return _by_key(prepared, key, error if aggregate == "mean" else error**2)

    def reduce(sums: FloatArray) -> FloatArray:
        cells = sums.shape[1] // 2
        below = sums_below(sums, cells, shares)[:, 0]
        means = below / (shares * sums[:, :cells].sum(axis=1, keepdims=True))
        return means if aggregate == "mean" else np.sqrt(means)

    return Part(make, reduce)


def _by_key(prepared: Prepared, key: str, value: FloatArray) -> Any:
    cells = prepared.cells(_keys(prepared)[key], key)
    return prepared.matrix(cells.index, cells.number, [None, value])


def area_under_risk_coverage_error(prepared: Prepared) -> Summary:
    """Mean error of the least uncertain, averaged over how many."""
    return Summary([_area(prepared, "uncertainty")], as_is)


def excess_area_under_risk_coverage_error(prepared: Prepared) -> Summary:
    """That beyond the best order."""

    def finish(area: FloatArray, best: FloatArray) -> FloatArray:
        return np.maximum(area - best, 0.0)

    return Summary([_area(prepared, "uncertainty"), _area(prepared, "error")], finish)


def _area(prepared: Prepared, key: str) -> Part:
    def make() -> Any:
        return _by_key(prepared, key, _keys(prepared)["error"])

    def reduce(sums: FloatArray) -> FloatArray:
        from scipy.special import digamma

        count, loss = np.moveaxis(split(sums, sums.shape[1] // 2), 1, 0)
        slope = over(loss, count)
        mass = np.cumsum(count, axis=1)
        intercept = np.cumsum(loss, axis=1) - slope * mass
        harmonic = np.diff(digamma(mass + 1), prepend=digamma(1.0), axis=1)
        return (slope * count + intercept * harmonic).sum(axis=1) / mass[:, -1]

    return Part(make, reduce)


def error_uncertainty_correlation(prepared: Prepared) -> Summary:
    """Spearman's rank correlation, each resample with its own ranks."""
    keys = _keys(prepared)
    first, second = (
        prepared.cells(keys[key], key) if prepared.exact else _coarse(keys[key])
        for key in ("error", "uncertainty")
    )
    joint = first.index.astype(np.int64) * second.number + second.index
    held, index = np.unique(joint, return_inverse=True)
    row, column = np.divmod(held, second.number)

    def reduce(sums: FloatArray) -> FloatArray:
        a = _centred_ranks(sums, row, first.number)
        b = _centred_ranks(sums, column, second.number)
        spread = np.einsum("rk,rk,rk->r", sums, a, a) * np.einsum("rk,rk,rk->r", sums, b, b)
        product = np.einsum("rk,rk,rk->r", sums, a, b)
        correlation = np.clip(product / np.sqrt(spread), -1.0, 1.0)
        return np.where(spread > 0, correlation, np.nan)

    part = Part(lambda: prepared.matrix(index.reshape(-1), len(held), [None]), reduce)
    return Summary([part], as_is)


def _coarse(key: FloatArray) -> Cells:
    edges = np.unique(np.quantile(key, np.arange(1, _COARSE) / _COARSE))
    index = np.searchsorted(edges, key, side="right")
    return Cells(index.astype(np.uint16), len(edges) + 1)


def _centred_ranks(sums: FloatArray, cell: Any, number: int) -> FloatArray:
    """Return the weight below each joint cell's key less that above it, halved."""
    from scipy.sparse import csr_array

    place = csr_array((np.ones(len(cell)), (np.arange(len(cell)), cell)), (len(cell), number))
    mass = sums @ place
    ends = np.cumsum(mass, axis=1)
    ranks = ends - mass / 2 - ends[:, -1:] / 2
    return ranks[:, cell]
