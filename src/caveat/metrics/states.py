"""States of metrics: sums over cells that do not depend on the samples, so that they add up.

A state of some samples holds the sums that a metric needs: of all samples over fine cells, from
which its value follows, and of random units of them over coarse cells, from which its interval
follows. States of batches, files, workers and weeks add up to that of all samples. Their size does
not grow with the samples.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import to_numpy
from .._blocks import row_blocks
from .._validation import FloatArray, as_weights
from ..exceptions import OptionError, ShapeError
from ..predictions import Categorical
from ._core.sharing import sharing
from .batch import CELLS, Batch, Cells
from .entry import MEMBERS_FIRST, take_input
from .sums import UNBIASED, Part, Sums
from .units import UNITS, row_keys, unit_of

if TYPE_CHECKING:
    from .entry import Metric

__all__ = ["State", "cell_of", "gaps_of", "state_of", "value_of"]

FINE, COARSE = 7, 1
"""Bits of a key that count beyond its power of two: for the value, and for the units."""

_OCTAVES = 32
"""Keys beyond 2^-32 and 2^32 share the last cells."""

_LARGEST = float(np.nextafter(2.0**_OCTAVES, 0))


def cell_of(
    key: FloatArray, bits: int = FINE, *, bounded: bool = False
) -> tuple[NDArray[np.intp], int]:
    """Return the cell of each key, in their order, and how many cells there are.

    A cell is at most 2^-bits of its keys wide; of probabilities (``bounded``) at most that share of
    their distance from 0 or 1, whichever is nearer.
    """
    if bounded:
        upper = key > 0.5
        place = _octaves(np.where(upper, 1 - key, key), bits)
        last = _OCTAVES * 2**bits
        return np.where(upper, 2 * last - place, place), 2 * last + 1
    last = 2 * _OCTAVES * 2**bits
    place, below = _octaves(np.abs(key), bits), key < 0
    np.negative(place, out=place, where=below)
    place += last
    return place, 2 * last + 1


def _octaves(key: FloatArray, bits: int) -> NDArray[np.intp]:
    """Return the cells of keys that are not negative; tiny keys share cell 0."""
    # The bits of a float64 are its exponent and its fraction: its octave and the cell within.
    bounded = np.minimum(key, _LARGEST, dtype=np.float64)
    place = (bounded.view(np.int64) >> (52 - bits)) - ((1023 - _OCTAVES) << bits) + 1
    return np.maximum(place, 0, out=place)


def cell_values(cells: NDArray[np.integer], bits: int = FINE) -> FloatArray:
    """Return the middle of cells of `cell_of` that are not bounded.

    Parameters
    ----------
    cells : ndarray of int
    bits : int, default=7
        How fine they are.
    """
    place = np.asarray(cells, dtype=np.int64) - 2 * _OCTAVES * 2**bits
    octave, within = np.divmod(np.maximum(np.abs(place) - 1, 0), 2**bits)
    size = np.ldexp(1 + (within + 0.5) / 2**bits, octave - _OCTAVES)
    return np.where(place == 0, 0.0, np.sign(place) * size)


class Grid(Batch):
    """A batch with fixed cells, which do not depend on the samples."""

    fixed = True

    def __init__(self, *given: Any, bits: int, held: Any = None) -> None:
        super().__init__(*given)
        self.exact, self.bits, self._held = True, bits, held
        self.keyed = [False]
        """Whether sums are over cells of a key, which depend on the bits."""

    def cells(
        self,
        key: FloatArray,
        name: Any = None,
        dense: Any = None,
        number: int = CELLS,
        *,
        bounded: bool = False,
    ) -> Cells:
        self.keyed[0] = True
        # A table of two keys has the product of the numbers of cells.
        bits = max(self.bits - 2, 0) if number < CELLS else self.bits
        bits = max(bits, 4) if number > CELLS else bits

        def make() -> Cells:
            index = np.empty(len(key), dtype=np.uint16)
            for rows in row_blocks(len(key), 1):
                index[rows] = cell_of(key[rows], bits, bounded=bounded)[0]
            return Cells(index, cell_of(key[:0], bits, bounded=bounded)[1])

        return make() if name is None else self.kept(("cells", name, bits, bounded), make)

    def joint(self, index: NDArray[np.int64], number: int) -> tuple[Any, NDArray[np.int64], int]:
        return self._held, index, number


SumPair = tuple[NDArray[np.int64], FloatArray]
SumPairs = tuple[SumPair, ...]
"""For each part of a metric: which of its sums are not 0, and these, (units, columns)."""


@dataclass(frozen=True, eq=False)
class State:
    """The sums of a metric over some samples.

    Attributes
    ----------
    metric : str
    options : dict
        Options of the metric that it was made with.
    shape : dict of str to int
        How many classes, members or levels the inputs have.
    samples : int
    plain : bool
        Whether all samples count alike and none belong together.
    totals : tuple of (columns, sums)
        For each part of the metric: which of its sums are not 0, and these.
    units : tuple of (columns, sums)
        The same of each unit, over coarser cells: (units, columns).
    """

    metric: str
    options: Mapping[str, Any]
    shape: Mapping[str, int]
    samples: int
    plain: bool
    totals: SumPairs
    units: SumPairs

    key_error = 2.0**-FINE
    """How far a key may be from others in its cell, as a share of it (of a probability, of its
    distance from 0 or 1). Sums need no key: a state of means and of equal-width bins is exact."""

    def __add__(self, other: "State") -> "State":
        if not isinstance(other, State):
            return NotImplemented
        for name in ("metric", "options", "shape"):
            one, two = getattr(self, name), getattr(other, name)
            if one != two:
                raise OptionError(f"only states of the same {name} add up; got {one} and {two}")
        return replace(
            self,
            samples=self.samples + other.samples,
            plain=self.plain and other.plain,
            totals=tuple(map(_added, self.totals, other.totals)),
            units=tuple(map(_added, self.units, other.units)),
        )

    def __radd__(self, other: Any) -> "State":
        """Let ``sum(states)`` start from 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __repr__(self) -> str:
        return f"State({self.metric}, {self.samples:,} samples, {self.nbytes / 2**10:.0f} KiB)"

    @property
    def nbytes(self) -> int:
        """The size of the sums."""
        return sum(part.nbytes for pair in (*self.totals, *self.units) for part in pair)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the state to a file, without pickle; `caveat.load` reads it."""
        from .state_files import save_state

        save_state(self, path)


def state_of(
    metric: "Metric",
    truth: Any,
    inputs: Sequence[Any],
    *,
    sample_weight: Any = None,
    cluster: Any = None,
    ids: Any = None,
    options: Mapping[str, Any],
) -> State:
    """Return the sums of a metric over some samples; see `Metric.state`."""
    if metric.sums is None:
        raise OptionError(f"{metric.name} declares no sums, so that it has no state")
    array = to_numpy(truth, "y_true").array
    given, chosen = _given(metric, inputs, dict(options))
    _check_options(metric, array, given, chosen)
    weight = as_weights(sample_weight, len(array))
    name, names = ("ids", ids) if cluster is None else ("cluster", cluster)
    unit = unit_of(row_keys(len(array), names, name))
    grids = ((np.zeros_like(unit), 1, FINE), (unit, UNITS, COARSE))
    ((totals, units),) = grid_sums([(metric, chosen)], array, given, weight, grids)
    plain = sample_weight is None and cluster is None
    return made_state(metric, chosen, given, len(array), plain, totals, units)


def made_state(
    metric: "Metric",
    options: Mapping[str, Any],
    inputs: Mapping[str, np.ndarray],
    samples: int,
    plain: bool,
    totals: SumPairs,
    units: SumPairs,
) -> State:
    """Return a state from its sums, and from the inputs that these are of."""
    shape = {
        name: inputs[name].shape[0 if name in MEMBERS_FIRST else 1]
        for name in metric.inputs
        if inputs[name].ndim == 2
    }
    chosen = dict(options)
    if "levels" in metric.inputs:
        chosen["levels"] = inputs["levels"].tolist()
    return State(metric.name, chosen, shape, samples, plain, totals, units)


Cut = tuple[NDArray[np.int32], int, int]
"""The unit of each sample, the number of units, and how fine cells are: `FINE` or `COARSE`."""


def grid_sums(
    metrics: Sequence[tuple["Metric", Mapping[str, Any]]],
    truth: np.ndarray,
    inputs: Mapping[str, np.ndarray],
    weight: FloatArray | None,
    cuts: Sequence[Cut],
) -> list[list[SumPairs]]:
    """Return for each of several metrics, with its options, the sums over each cut.

    All are of the same truth and inputs, and share their work.
    """
    grids = [Grid(truth, inputs, weight, *cut[:2], bits=cut[2]) for cut in cuts]
    for grid in grids[1:]:
        grid._kept = grids[0]._kept  # nothing that is kept depends on the units
    return sums_of(metrics, grids)


def sums_of(
    metrics: Sequence[tuple["Metric", Mapping[str, Any]]], grids: Sequence[Grid]
) -> list[list[SumPairs]]:
    """Return the sums of several metrics over each of some grids of the same samples.

    The units of each grid are those of the last, some of them together: sums that are not over
    cells of a key are taken once.
    """
    result = []
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"), sharing():
        for metric, options in metrics:
            last = grids[-1]
            last.keyed[0] = False
            own = _sums(metric, last, options)
            keyed = last.keyed[0]
            others = [
                _sums(metric, grid, options)
                if keyed
                else tuple(_added_units(pair, grid.units) for pair in own)
                for grid in grids[:-1]
            ]
            result.append([*others, own])
    return result


def _sums(metric: "Metric", grid: Grid, options: Mapping[str, Any]) -> SumPairs:
    assert metric.sums is not None
    made = metric.sums(grid.narrowed(metric.inputs), **options)
    return tuple(_compressed(part.matrix()) for part in made.parts)


def _added_units(pair: SumPair, units: int) -> SumPair:
    """Return the sums of fewer units, each of as many that follow each other."""
    columns, sums = pair
    return columns, sums.reshape(units, len(sums) // units, len(columns)).sum(axis=1)


def group_sums(pairs: SumPairs, group: int, groups: int) -> SumPairs:
    """Return the sums of one of several groups, whose units follow each other."""
    if groups == 1:
        return pairs
    result = []
    for columns, sums in pairs:
        size = len(sums) // groups
        held, some = _compressed(sums[group * size : (group + 1) * size])
        result.append((columns[held], some))
    return tuple(result)


def _given(
    metric: "Metric", inputs: Sequence[Any], options: dict[str, Any]
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the inputs by name, and the options as a file would hold them.

    Inputs may be given by their names; classes that a prediction or a frame names are an option.
    """
    values = dict(zip(metric.inputs, inputs, strict=False))
    values |= {name: options.pop(name) for name in metric.inputs[len(inputs) :] if name in options}
    if len(values) < len(metric.inputs) or len(inputs) > len(metric.inputs):
        takes, came = ", ".join(metric.inputs), max(len(values), len(inputs))
        raise ShapeError(f"{metric.name} takes y_true, {takes}; got {came} other arrays")
    given = {}
    for name, value in values.items():
        named = value.classes.tolist() if isinstance(value, Categorical) else None
        given[name], columns, _ = to_numpy(
            value.mean if isinstance(value, Categorical) else value, name
        )
        labels = columns if named is None else named
        if name == "probabilities" and labels is not None and labels != list(range(len(labels))):
            options.setdefault("classes", labels)
    # An option that is None has its default.
    return given, {name: _plain(value) for name, value in options.items() if value is not None}


def _plain(value: Any) -> Any:
    """Return an option as JSON holds it; functions are returned unchanged."""
    return list(value) if isinstance(value, tuple) else getattr(value, "tolist", lambda: value)()


def _check_options(
    metric: "Metric", truth: np.ndarray, given: dict[str, np.ndarray], options: Mapping[str, Any]
) -> None:
    """Raise on invalid options, by calling the function with the first sample."""
    first, *parameters = inspect.signature(metric.function).parameters.values()
    others = {first.name, *metric.inputs, "sample_weight", "per_sample"}
    known = {part.name: part for part in parameters if part.name not in others}
    has = f"it has {', '.join(known)}" if known else "it has none"
    for name in options:
        if name not in known:
            raise OptionError(f"{metric.name} has no option {name!r}; {has}")
    for name, part in known.items():
        if part.default is part.empty and name not in options:
            raise OptionError(f"{metric.name} needs {name}=")
    one = {name: take_input(name, value, slice(1)) for name, value in given.items()}
    metric.function(truth[:1], **one, **options)


def gaps_of(metric: "Metric", state: State) -> FloatArray:
    """Return the signed gaps of which a metric is the norm, from its state."""
    made, read = _read(metric, state)
    return made.finish(*read)[0]


def value_of(metric: "Metric", state: State) -> float:
    """Return the value of a metric from its state."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        made, read = _read(metric, state)
        result = made.finish(*read)
        if made.value is not None:
            result = made.value(*read)
        elif made.norm != UNBIASED:
            result = made.norm(result)
    return float(result[0])


def _read(metric: "Metric", state: State) -> tuple[Sums, list[FloatArray]]:
    """Return the functions of the metric's sums, and the sums of all samples as they take them."""
    made = sum_functions(metric, state, FINE)
    pairs = zip(made.parts, state.totals, strict=True)
    return made, [part.reduce(widened(part, columns, sums)) for part, (columns, sums) in pairs]


def sum_functions(metric: "Metric", state: State, bits: int = COARSE) -> Sums:
    """Return the functions of the metric's sums; the sums themselves come from a state."""
    if not isinstance(state, State):
        raise OptionError(f"expected a State of {metric.name}; got {state!r}")
    if metric.name != state.metric:
        raise OptionError(f"this is a state of {state.metric}, not of {metric.name}")
    assert metric.sums is not None
    # The functions do not depend on the samples: any one sample will do.
    options = dict(state.options)
    levels = options.pop("levels", None) if "levels" in metric.inputs else None
    inputs = {name: _any_input(name, state.shape, levels) for name in metric.inputs}
    label = next(iter(options.get("classes") or (0,)))
    truth = np.asarray([label]) if metric.task == "classification" else np.zeros(1)
    unit = np.zeros(1, dtype=np.int32)
    held = (state.totals if bits == FINE else state.units)[0][0]
    batch = Grid(truth, inputs, None, unit, 1, bits=bits, held=held)
    batch.independent = float(state.samples)
    return metric.sums(batch, **options)


def widened(part: Part, columns: NDArray[np.int64], sums: FloatArray) -> FloatArray:
    """Return sums at their places among all that a part has, or among all that are needed."""
    if part.joint:
        return sums
    width = part.matrix().shape[1]
    if part.ordered:
        value, cell = np.divmod(columns, width // part.ordered)
        held, place = np.unique(cell, return_inverse=True)
        columns, width = value * len(held) + place, part.ordered * max(len(held), 1)
    wide = np.zeros((len(sums), width))
    wide[:, columns] = sums
    return wide


def _any_input(name: str, shape: Mapping[str, int], levels: Any) -> np.ndarray:
    number = shape.get(name, 0)
    if name == "probabilities":
        return np.full((1, number), 1 / number) if number else np.full(1, 0.5)
    if name == "membership":
        return np.ones((1, number), dtype=bool)
    if name in MEMBERS_FIRST:
        return np.ones((number, 1))
    if name == "levels":
        return np.asarray(levels)
    if name == "values":
        return np.arange(float(number))[None]
    return np.ones(1)


def _compressed(matrix: Any) -> tuple[NDArray[np.int64], FloatArray]:
    """Return the columns that are not all 0, and their sums."""
    if hasattr(matrix, "tocsr"):
        # Few of very many columns are used, of which no conversion should make an array.
        held = matrix.tocsr()
        columns, place = np.unique(held.indices, return_inverse=True)
        rows = np.repeat(np.arange(held.shape[0]), np.diff(held.indptr))
        index, number = rows * len(columns) + place.reshape(-1), held.shape[0] * len(columns)
        sums = np.bincount(index, held.data, number).reshape(held.shape[0], -1)
        return columns.astype(np.int64), sums.astype(np.float64, copy=False)
    columns = np.flatnonzero(np.any(matrix != 0, axis=0)).astype(np.int64)
    return columns, np.ascontiguousarray(matrix[:, columns])


def _added(one: Any, other: Any) -> tuple[NDArray[np.int64], FloatArray]:
    if np.array_equal(one[0], other[0]):
        return one[0], one[1] + other[1]
    columns = merged(one[0], other[0])
    sums = np.zeros((len(one[1]), len(columns)))
    for part in (one, other):
        sums[:, np.searchsorted(columns, part[0])] += part[1]
    return columns, sums


def merged(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers that are in either of two sorted arrays without repetition, sorted."""
    both = np.concatenate([one, other])
    both.sort(kind="stable")  # two runs are merged in one pass
    return both[np.append(np.diff(both) > 0, True)] if len(both) else both
