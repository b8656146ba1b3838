"""Samples whose sums are taken: truth and inputs, in units that are summed separately."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._blocks import row_blocks
from .._counting import count_by, sum_by
from .._validation import FloatArray
from ._core.places import places
from ._inputs import Labeled, labeled

EXACT = 4096
"""Up to this many rows every distinct key has its own cell."""

CELLS = 200
"""Cells of a key with more rows."""

_SAMPLE = 100_000

_ROWS = 2**17
"""Rows whose sums are taken at once, in the cache."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Cells:
    """The cell of each row, in increasing order of a key."""

    index: NDArray[np.uint16]
    number: int


class Batch:
    """One truth and its inputs, with results that several metrics need.

    Parameters
    ----------
    truth : ndarray of shape (samples,)
    inputs : dict of str to array
        As the metrics take them.
    weight : ndarray of shape (samples,) or None
    unit : ndarray of shape (samples,)
        The unit that each row is summed in.
    units : int
        The number of units, of which some may be empty.

    Attributes
    ----------
    independent : float
        The effective number of independent samples of equal weight.
    exact : bool
        Whether every distinct key has a cell of its own.
    """

    fixed = False
    """Whether cells do not depend on the samples, so that sums of several batches add up."""

    def __init__(
        self,
        truth: np.ndarray,
        inputs: Mapping[str, Any],
        weight: FloatArray | None,
        unit: NDArray[np.int32],
        units: int,
    ) -> None:
        self.truth, self.inputs, self.weight = truth, dict(inputs), weight
        self.unit, self.units = unit, units
        self.independent = float(len(truth))
        self.exact = len(truth) <= EXACT
        self._kept: dict[Any, Any] = {}

    def __len__(self) -> int:
        return len(self.truth)

    def narrowed(self: Result, names: Sequence[str]) -> Result:
        """Return the same batch with some of the inputs; kept results are shared."""
        narrow: Any = copy(self)
        narrow.inputs = {name: narrow.inputs[name] for name in names}
        result: Result = narrow
        return result

    def kept(self, name: Any, make: Callable[[], Result]) -> Result:
        """Return the result of ``make``, which is called once for each name.

        Parameters
        ----------
        name : hashable
        make : callable
        """
        if name not in self._kept:
            self._kept[name] = make()
        result: Result = self._kept[name]
        return result

    def known(self, name: Any) -> Any:
        """Return what was kept by this name; None if nothing was.

        Parameters
        ----------
        name : hashable
        """
        return self._kept.get(name)

    def labeled(self, classes: Any = None) -> Labeled:
        """Return the true classes with the probabilities, checked once."""

        def make() -> Labeled:
            return labeled(self.truth, self.inputs["probabilities"], classes=classes).checked()

        return self.kept(("labeled", names_of(classes)), make)

    def rest(self, k: int) -> "Batch":
        """Return the batch whose rows have the probability of a class, and whether it is the truth.

        Usually that is the batch itself.

        Parameters
        ----------
        k : int
            The position of the class.
        """
        return self

    def cells(
        self,
        key: FloatArray,
        name: Any = None,
        dense: Any = None,
        number: int = CELLS,
        *,
        bounded: bool = False,
    ) -> Cells:
        """Cut a key into cells: one for each distinct value, or cells of equal count.

        Parameters
        ----------
        key : ndarray of shape (samples,)
        name : hashable, optional
            Keeps the cells for the next metric that asks for this name.
        dense : ndarray of bool of shape (samples,), optional
            Rows among which there are as many cells again, such as rare positives.
        number : int, default=200
            How many cells of equal count, with many rows.
        bounded : bool, default=False
            Whether keys are probabilities; this matters to the fixed cells of states.
        """

        def make() -> Cells:
            if self.exact or len(key) <= EXACT:
                distinct, index = np.unique(key, return_inverse=True)
                return Cells(index.reshape(-1).astype(np.uint16), len(distinct))
            edges = _quantiles(key, number)
            if dense is not None and dense.any():
                edges = np.union1d(edges, _quantiles(key[dense], number))
            return Cells(places(key, edges), len(edges) + 1)

        return (
            make()
            if name is None
            else self.kept(("cells", name, 0 if self.exact else number), make)
        )

    def joint(self, index: NDArray[np.int64], number: int) -> tuple[Any, NDArray[Any], int]:
        """Return which cells hold a row, the place of each row among these, and their number.

        For tables of two keys, most of whose cells are empty.

        Parameters
        ----------
        index : ndarray of shape (samples,)
            The cell of each row.
        number : int
            The number of cells.
        """
        held, place = np.unique(index, return_inverse=True)
        return held, place.reshape(-1), len(held)

    def matrix(
        self,
        index: NDArray[Any] | None,
        number: int,
        values: Sequence[NDArray[Any] | None],
        rows: NDArray[np.intp] | None = None,
    ) -> Any:
        """Sum values over the cells of each unit, (units, values x cells).

        The matrix is sparse where most entries would be 0.

        Parameters
        ----------
        index : ndarray of shape (samples,) or None
            The cell of each row; None for one cell.
        number : int
            The number of cells.
        values : sequence of ndarrays of shape (samples,) or None
            None counts the rows.
        rows : ndarray of int, optional
            The row that each entry of ``index`` belongs to; by default all rows once.
        """
        unit = self.unit if rows is None else self.unit[rows]
        weight = self.weight if rows is None or self.weight is None else self.weight[rows]
        parts = [_weighted(value, weight, len(unit)) for value in values]
        if index is not None and len(index) * 8 < self.units * number:
            return self._sparse(unit, index, number, parts)
        width = self.units * number
        sums = np.zeros((len(parts), width))
        kind = np.promote_types(np.int32, np.min_scalar_type(width))
        for some in row_blocks(len(unit), 1, max(_ROWS, width)):
            place: NDArray[Any] = unit[some]
            if index is not None:
                place = np.multiply(place, number, dtype=kind)
                np.add(place, index[some], out=place, casting="unsafe")
            for own, part in zip(sums, parts, strict=True):
                own += count_by(place, width) if part is None else sum_by(place, part[some], width)
        apart = np.moveaxis(sums.reshape(len(parts), self.units, number), 0, 1)
        return apart.reshape(self.units, -1)

    def _sparse(
        self, unit: NDArray[Any], index: NDArray[Any], number: int, parts: list[Any]
    ) -> Any:
        from scipy.sparse import csr_array

        ones = np.ones(len(index))
        data = np.concatenate([ones if part is None else part for part in parts])
        columns = np.concatenate([index.astype(np.int64) + i * number for i in range(len(parts))])
        shape = (self.units, len(parts) * number)
        return csr_array((data, (np.tile(unit, len(parts)), columns)), shape=shape)


def names_of(classes: Any) -> tuple[Any, ...] | None:
    """Return class labels in a form that can be looked up."""
    return None if classes is None else tuple(np.asarray(classes).tolist())


def _weighted(value: Any, weight: FloatArray | None, length: int) -> FloatArray | None:
    if value is None:
        return weight
    floats = np.broadcast_to(np.asarray(value, dtype=np.float64), (length,))
    return floats if weight is None else floats * weight


def _quantiles(key: FloatArray, number: int) -> FloatArray:
    """Return keys that cut the rows into at least ``number`` cells of about equal count."""
    # Ten times finer in the first and the last cells, where curves of ranked samples end.
    fine = np.arange(1, 100) / (10 * number)
    shares = np.unique(np.r_[fine, np.arange(10, number - 9) / number, 1 - fine])
    sample = np.sort(key[:: max(1, len(key) // _SAMPLE)])
    return np.unique(sample[(shares * len(sample)).astype(np.intp)])
