"""The summary of one table of Arrow columns, without copies where two classes are counted."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from ..exceptions import CaveatError
from ..files.batches import BatchPlan, as_numpy, group_attribute
from ..metrics.units import mixed, row_keys, unit_of
from ..predictions import Categorical
from ._chunks import Chunk, located
from ._inputs import columns_of
from .batches import (
    all_counted,
    summarize_batch,
    summarize_counts,
    summary_of_classes,
    summary_of_tables,
)
from .classes import COMPILED, ClassCounts, UncountedError
from .counts import PAYS, CellCounts
from .kept import KEPT, Kept, first_left_out
from .parts import Part
from .summary import ALL, Summary


@dataclass(frozen=True)
class TableSummarizer:
    """Sums up tables that have the same columns.

    Attributes
    ----------
    plan : BatchPlan
    metrics : sequence of str or None
    written : bool
        Whether numbers of groups come as text.
    rows : int or None
        How many there are in all, for which compiled loops may pay; None if that is not known.
    """

    plan: BatchPlan
    metrics: Sequence[str] | None = None
    written: bool = False
    rows: int | None = 0

    def __call__(self, table: Any, start: int = 0) -> Summary:
        """Return the summary of a table whose first row has this number."""
        columns = columns_of(table)
        groups = [
            group_attribute(columns[name], name, self.written) for name in self.plan.wanted.group
        ]
        both = two_classes(self.plan, columns) if groups and table.num_rows > KEPT else None
        if both is not None:
            p, truth, classes = both
            with suppress(CaveatError):  # the way of other predictions says more about it
                return summarize_counts(
                    p, truth, classes=classes, groups=groups, metrics=self.metrics, start=start
                )
        made = self.plan.table(columns)
        return summarize_batch(
            made.prediction, made.y, groups=groups or None, sample_weight=made.sample_weight,
            cluster=made.cluster, ids=made.ids, metrics=self.metrics, start=start,
        )  # fmt: skip


class _Counter:
    """Counts the samples of two classes, one small table after the other.

    Parameters
    ----------
    tables : TableSummarizer
    """

    def __init__(self, tables: TableSummarizer) -> None:
        self._plan, self._counts = tables.plan, CellCounts(compiled=(tables.rows or 0) >= PAYS)
        self._classes: tuple[Any, ...] = ()

    def add(self, table: Any, start: int) -> bool:
        """Count the samples of a table; False, and none of them, if there is more to it.

        Parameters
        ----------
        table : Arrow table
        start : int
            The number of its first row.
        """
        both = two_classes(self._plan, columns_of(table))
        if both is None:
            return False
        try:
            self._counts.add(*both[:2])
        except CaveatError:  # the way of other predictions says more about it
            return False
        self._classes = both[2]
        return True

    def summary(self, metrics: Sequence[str] | None) -> Summary | None:
        """Return the summary of the samples; None without any."""
        if not self._classes:
            return None
        part = Part.of_table(self._counts.tables[0])
        return summary_of_tables({ALL: part}, self._classes, metrics=metrics)


class _ClassCounter:
    """Counts the samples of several classes, one small table after the other.

    Parameters
    ----------
    tables : TableSummarizer
    names : sequence of str
        The columns of the classes.
    target : str
    """

    def __init__(self, tables: TableSummarizer, names: Sequence[str], target: str) -> None:
        assert tables.plan.classes is not None
        self._plan, self._names, self._target = tables.plan, names, target
        self._classes = np.array(tables.plan.classes)
        many = tables.rows is None or tables.rows >= COMPILED
        self._counts = ClassCounts(len(names), many)
        self._kept: list[tuple[NDArray[np.uint64], FloatArray, NDArray[Any]]] = []
        self._limit = first_left_out(np.empty(0, dtype=np.uint64))

    def add(self, table: Any, start: int) -> bool:
        """Count the samples of a table; False, and none of them, if there is more to it."""
        columns = columns_of(table)
        truth = self._plan.codes(columns[self._target])
        given = [columns[name] for name in self._names]
        if truth is None or any(one.null_count or str(one.type) not in _TOLERANCE for one in given):
            return False
        if truth.min() < 0 or truth.max() >= len(given):
            return False
        p = [as_numpy(one) for one in given]
        keys = row_keys(len(truth), start=start)
        tolerance = min(_TOLERANCE[str(one.type)] for one in given)
        self._counts.add(p, truth, unit_of(keys), tolerance)
        self._keep(mixed(keys), p, truth)
        return True

    def _keep(self, random: NDArray[np.uint64], p: list[NDArray[Any]], truth: NDArray[Any]) -> None:
        """Keep the rows with the smallest of all random numbers so far, and some others."""
        self._limit = first_left_out(np.concatenate([*(own[0] for own in self._kept), random]))
        rows = np.flatnonzero(random < self._limit)
        few = np.stack([column[rows] for column in p], axis=1).astype(np.float64)
        self._kept.append((random[rows], few, truth[rows]))

    def summary(self, metrics: Sequence[str] | None) -> Summary | None:
        """Return the summary of the samples; None without any."""
        if not self._kept:
            return None
        keys, p, truth = (np.concatenate(own) for own in zip(*self._kept, strict=True))
        own = keys < self._limit
        keys, p, truth = keys[own], p[own], truth[own]
        kept = Kept(
            keys,
            Categorical._of_any_precision(p, classes=self._classes),
            self._classes[truth],
            None,
            None,
            {},
        )
        return summary_of_classes(self._counts, kept.smallest(), metrics)


_TOLERANCE = {"double": 1e-8, "float": 1e-5}
"""How far the sum of a row may be from 1, by the type of the columns."""


def two_classes(
    plan: BatchPlan, columns: dict[str, Any]
) -> tuple[NDArray[Any], NDArray[Any], tuple[Any, ...]] | None:
    """Return the probabilities of two classes, the truth as 0 or 1 and the classes.

    None if there is more to it, or something is wrong.
    """
    import pyarrow as pa

    counted = plan.counted()
    if counted is None:
        return None
    name, target, classes = counted
    column, truth = columns[name], plan.codes(columns[target])
    if truth is None or column.null_count or not pa.types.is_floating(column.type):
        return None
    p = as_numpy(column)
    return p / 100 if plan.options.get("percent") else p, truth, classes


def _counter(tables: TableSummarizer) -> _Counter | _ClassCounter | None:
    """Return what counts the samples of small tables; None where each is summed up alone."""
    several = tables.plan.counted_classes()
    if several is None:
        return _Counter(tables)
    with suppress(CaveatError):  # the way of other predictions says more about it
        if all_counted(np.array(tables.plan.classes), tables.metrics):
            return _ClassCounter(tables, *several)
    return None


def work(chunk: Chunk, tables: Any, metrics: Sequence[str] | None) -> Summary | None:
    """Return the summary of a chunk; None if it has no rows.

    Parameters
    ----------
    chunk : Chunk
    tables : TableSummarizer or None
        For chunks of tables.
    metrics : sequence of str or None
        For chunks of predictions.
    """
    few = tables is None or tables.plan.wanted.group or chunk.rows <= KEPT
    counter = None if few else _counter(tables)
    try:
        return _work(chunk, tables, metrics, counter)
    except UncountedError:  # the way of other predictions says more about it
        return _work(chunk, tables, metrics, None)


def _work(
    chunk: Chunk,
    tables: Any,
    metrics: Sequence[str] | None,
    counter: _Counter | _ClassCounter | None,
) -> Summary | None:
    """Return the summary of a chunk, of whose tables some may be counted."""
    total, row = None, 0
    for item in chunk.read():
        if counter is not None and counter.add(item, chunk.start + row):
            row += item.num_rows
            continue
        with located(chunk, row):
            if isinstance(item, dict):
                part = summarize_batch(**item, metrics=metrics, start=chunk.start)
                row += part.samples
            else:
                part = tables(item, chunk.start + row)
                row += item.num_rows
            total = part if total is None else total + part
    counted = None if counter is None else counter.summary(tables.metrics)
    return counted if total is None else total if counted is None else total + counted
