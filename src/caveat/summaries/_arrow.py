"""The summary of one table of Arrow columns, without copies where two classes are counted."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ..exceptions import CaveatError
from ..files.batches import BatchPlan, as_numpy, group_attribute
from ._chunks import Chunk, located
from ._inputs import columns_of
from .batches import summarize_batch, summarize_counts, summary_of_tables
from .cells import CellCounts
from .kept import KEPT
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
    """

    plan: BatchPlan
    metrics: Sequence[str] | None = None
    written: bool = False

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
    plan : BatchPlan
    """

    def __init__(self, plan: BatchPlan) -> None:
        self._plan, self._counts = plan, CellCounts()
        self._classes: tuple[Any, ...] = ()

    def add(self, table: Any) -> bool:
        """Count the samples of a table; False, and none of them, if there is more to it."""
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
    total, row = None, 0
    few = tables is None or tables.plan.wanted.group or chunk.rows <= KEPT
    counter = None if few else _Counter(tables.plan)
    for item in chunk.read():
        if counter is not None and counter.add(item):
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
