"""The summary of one table of Arrow columns, without copies where two classes are counted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..exceptions import CaveatError
from ..files.batches import BatchPlan, as_numpy, group_attribute
from ._chunks import Chunk, located
from ._inputs import columns_of
from .batches import summarize_batch, summarize_counts
from .kept import KEPT
from .summary import Summary


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
        if table.num_rows > KEPT:
            counted = self._counted(columns, groups, start)
            if counted is not None:
                return counted
        made = self.plan.table(columns)
        return summarize_batch(
            made.prediction, made.y, groups=groups or None, sample_weight=made.sample_weight,
            cluster=made.cluster, ids=made.ids, metrics=self.metrics, start=start,
        )  # fmt: skip

    def _counted(self, columns: dict[str, Any], groups: Any, start: int) -> Summary | None:
        """Count the samples of two classes; None if there is more to it, or something is wrong."""
        import pyarrow as pa

        counted = self.plan.counted()
        if counted is None:
            return None
        name, target, classes = counted
        column, truth = columns[name], self.plan.codes(columns[target])
        if truth is None or column.null_count or not pa.types.is_floating(column.type):
            return None
        p = as_numpy(column)
        try:
            return summarize_counts(
                p / 100 if self.plan.options.get("percent") else p, truth, classes=classes,
                groups=groups, metrics=self.metrics, start=start,
            )  # fmt: skip
        except CaveatError:  # the way of other predictions says more about it
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
    total, row = None, 0
    for item in chunk.read():
        with located(chunk, row):
            if isinstance(item, dict):
                part = summarize_batch(**item, metrics=metrics, start=chunk.start)
                row += part.samples
            else:
                part = tables(item, chunk.start + row)
                row += item.num_rows
            total = part if total is None else total + part
    return total
