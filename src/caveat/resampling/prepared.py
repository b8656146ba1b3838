"""The rows that a metric is resampled over, and what several metrics need of them."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._blocks import row_blocks
from .._validation import FloatArray, as_weights
from ..exceptions import ShapeError
from ..metrics._entry import take_input
from ..metrics._inputs import Labelled, labelled
from .plan import EXACT, Plan

__all__ = ["Cells", "Prepared"]

CELLS = 1000
"""Cells of a key with more than `EXACT` rows."""

# Ten times finer in the first and the last percent, where curves of ranked samples end.
_FINE = np.arange(1, 100) / (10 * CELLS)
_SHARES = np.unique(np.r_[_FINE, np.arange(10, CELLS - 9) / CELLS, 1 - _FINE])
_SAMPLE = 100_000

Result = TypeVar("Result")


@dataclass(frozen=True)
class Cells:
    """The cell of each row, in increasing order of a key."""

    index: NDArray[np.uint16]
    number: int


class Prepared:
    """One truth and its inputs under a plan; keeps what several metrics need of them.

    Pass the same object to `replicates` for every metric of the same truth, inputs and rows: labels
    are then checked once and keys cut into cells once.

    Parameters
    ----------
    truth : array of shape (samples,)
    inputs : dict of str to array
        As the metrics take them. The first axis is the samples, except of ``means``, ``variances``
        and ``members`` (the second) and of ``levels`` (none).
    plan : Plan
    sample_weight : array of shape (samples,), optional
        Multiplies how often a row is drawn.
    rows : array of bool or int, optional
        The rows of one group; all by default.
    """

    def __init__(
        self,
        truth: Any,
        inputs: Mapping[str, Any],
        plan: Plan,
        *,
        sample_weight: Any = None,
        rows: Any = None,
    ) -> None:
        array = np.asarray(truth)
        if len(array) != len(plan):
            raise ShapeError(f"truth has {len(array)} samples, plan has {len(plan)}")
        weight = as_weights(sample_weight, len(plan))
        chosen = None if rows is None else _positions(rows, len(plan))
        self.plan = plan
        self.truth = array if chosen is None else array[chosen]
        self.inputs = {name: _take(name, value, chosen) for name, value in inputs.items()}
        self.unit = plan.unit if chosen is None else plan.unit[chosen]
        self.cluster = plan.cluster
        if self.cluster is not None and chosen is not None:
            self.cluster = self.cluster[chosen]
        self.weight = weight if weight is None or chosen is None else weight[chosen]
        self.exact = len(self.truth) <= EXACT
        self._kept: dict[Any, Any] = {}

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def units(self) -> int:
        """The number of units that hold a row which counts.

        With weights of rows: how many of equal weight would say as much (Kish), if these are fewer.
        """
        if self.weight is None:
            return len(np.unique(self.unit))
        number = len(np.unique(self.unit[self.weight > 0]))
        if number == 0 or self.cluster is not None:
            return number
        mass = np.bincount(self.unit, self.weight)
        return min(number, max(1, round(_kish(mass))))

    @property
    def independent(self) -> float:
        """How many independent samples of equal weight would say as much (Kish)."""
        weight = self.weight if self.cluster is None else np.bincount(self.cluster, self.weight)
        if weight is None:
            return float(len(self))
        return _kish(weight)

    def extended(self, truth: Any, rows: NDArray[np.intp], plan: Plan, weight: Any) -> "Prepared":
        """Return some of the rows, any number of times, under other truths, weights and a plan.

        The plan says the unit of each of these rows. Keys are cut into as fine cells as before.
        """
        other = copy(self)
        other.truth, other.plan, other.unit, other.weight = truth, plan, plan.unit, weight
        other.inputs = {name: _take(name, value, rows) for name, value in self.inputs.items()}
        other.cluster = None
        other._kept = {}
        return other

    def narrowed(self, names: Sequence[str]) -> "Prepared":
        """Return the same with some of the inputs; what is kept is shared."""
        narrow = copy(self)
        narrow.inputs = {name: self.inputs[name] for name in names}
        return narrow

    def kept(self, name: Any, make: Callable[[], Result]) -> Result:
        """Return what ``make`` gives, made once under this name."""
        if name not in self._kept:
            self._kept[name] = make()
        result: Result = self._kept[name]
        return result

    def labelled(self, classes: Any = None) -> Labelled:
        """Return the true classes beside the probabilities, checked once."""

        def make() -> Labelled:
            data = labelled(self.truth, self.inputs["probabilities"], classes=classes)
            for _ in data.blocks():
                pass  # the check is in the reading
            return replace(data, tolerance=None)

        return self.kept(("labelled", names_of(classes)), make)

    def cells(self, key: FloatArray, name: Any = None, dense: Any = None) -> Cells:
        """Cut a key into cells: one for each distinct value, or many of equal count.

        ``dense`` marks rows among which there should be as many cells again, such as rare
        positives. ``name`` keeps the cells for the next metric that asks.
        """

        def make() -> Cells:
            if self.exact or len(key) <= EXACT:
                distinct, index = np.unique(key, return_inverse=True)
                return Cells(index.reshape(-1).astype(np.uint16), len(distinct))
            edges = _quantiles(key)
            if dense is not None and dense.any():
                edges = np.union1d(edges, _quantiles(key[dense]))
            return Cells(_placed(key, edges), len(edges) + 1)

        return make() if name is None else self.kept(("cells", name), make)

    def matrix(
        self,
        index: NDArray[Any],
        number: int,
        values: Sequence[NDArray[Any] | None],
        rows: NDArray[np.intp] | None = None,
    ) -> Any:
        """Sum values over the cells of each unit, (units, values x cells); None counts.

        Dense, or sparse where most entries would be 0. ``rows`` says which row each entry of
        ``index`` belongs to, where they are not all rows once.
        """
        unit = self.unit if rows is None else self.unit[rows]
        weight = self.weight if rows is None or self.weight is None else self.weight[rows]
        parts = [_weighted(value, weight, len(index)) for value in values]
        if len(index) * 8 < self.plan.units * number:
            return self._sparse(unit, index, number, parts)
        place = unit.astype(np.int64) * number
        place += index
        size = self.plan.units * number
        if len(parts) == 1:
            return np.bincount(place, parts[0], size).reshape(-1, number)
        sums = np.empty((self.plan.units, len(parts), number))
        for i, part in enumerate(parts):
            sums[:, i] = np.bincount(place, part, size).reshape(-1, number)
        return sums.reshape(len(sums), -1)

    def _sparse(
        self, unit: NDArray[Any], index: NDArray[Any], number: int, parts: list[Any]
    ) -> Any:
        from scipy.sparse import csr_array

        ones = np.ones(len(index))
        data = np.concatenate([ones if part is None else part for part in parts])
        columns = np.concatenate([index.astype(np.int64) + i * number for i in range(len(parts))])
        shape = (self.plan.units, len(parts) * number)
        return csr_array((data, (np.tile(unit, len(parts)), columns)), shape=shape)


def names_of(classes: Any) -> tuple[Any, ...] | None:
    """Return class labels in a form that can be looked up."""
    return None if classes is None else tuple(np.asarray(classes).tolist())


def _kish(weight: NDArray[Any]) -> float:
    return float(weight.sum() ** 2 / np.square(weight).sum())


def _weighted(value: Any, weight: FloatArray | None, length: int) -> FloatArray | None:
    if value is None:
        return weight
    floats = np.broadcast_to(np.asarray(value, dtype=np.float64), (length,))
    return floats if weight is None else floats * weight


def _placed(key: FloatArray, edges: FloatArray) -> NDArray[np.uint16]:
    """Return the cell of each key, block by block: whole positions of all would be large."""
    index = np.empty(len(key), dtype=np.uint16)
    for rows in row_blocks(len(key), 1):
        index[rows] = np.searchsorted(edges, key[rows], side="right")
    return index


def _quantiles(key: FloatArray) -> FloatArray:
    """Return keys that cut the rows into some `CELLS` of about equal count."""
    sample = np.sort(key[:: max(1, len(key) // _SAMPLE)])
    return np.unique(sample[(_SHARES * len(sample)).astype(np.intp)])


def _positions(rows: Any, samples: int) -> NDArray[np.intp]:
    array = np.asarray(rows)
    if array.dtype == bool:
        if array.shape != (samples,):
            raise ShapeError(
                f"rows must be one bool for each of {samples} samples, or positions; got shape "
                f"{array.shape}"
            )
        array = np.flatnonzero(array)
    if not len(array):
        raise ShapeError("rows is empty: a group needs a sample at least")
    return array.astype(np.intp)


def _take(name: str, value: Any, rows: NDArray[np.intp] | None) -> Any:
    return value if rows is None else take_input(name, np.asarray(value), rows)
