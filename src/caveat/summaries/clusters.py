"""Data that lies on a cluster: the engine of the user runs, and summaries come back.

A task sums up the rows of one partition, and others add summaries up in a tree. Tasks have no side
effects, so that an engine may run them again when a worker dies: nothing is lost or counted twice.
"""

import pickle
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any

from ..files.batches import BatchPlan
from ._arrow import TableSummarizer, work
from ._chunks import Chunk
from ._inputs import Columns
from .summary import Summary, merge

_STRIDE = 2**40
"""The distance between the numbers of the first rows of two partitions."""

_TOGETHER = 16
"""How many summaries a task adds up."""


def is_cluster(source: Any) -> bool:
    """Whether this is a Dask DataFrame or a Ray dataset."""
    return _is_dask(source) or _is_ray(source)


def _is_dask(source: Any) -> bool:
    return type(source).__module__.startswith("dask.") and hasattr(source, "to_delayed")


def _is_ray(source: Any) -> bool:
    return type(source).__module__.startswith("ray.data") and hasattr(source, "map_batches")


def summarize_cluster(
    source: Any, metrics: Sequence[str] | None, options: Mapping[str, Any]
) -> tuple[Summary, tuple[str, ...]]:
    """Return the summary of data on a cluster, and how its columns were used."""
    data: Columns = _Dask(source) if _is_dask(source) else _Ray(source)
    data.prepare(options)
    tables = TableSummarizer(data.plan, metrics)
    parts = _dask_parts(source, tables) if _is_dask(source) else _ray_parts(source, tables)
    return merge(parts), data.plan.recognized


class _Dask(Columns):
    """The columns of a Dask DataFrame."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._first: Any = None  # asking the cluster twice would keep all workers but one waiting

    def names(self) -> Sequence[str]:
        return [str(name) for name in self._frame.columns]

    def tables(self, plan: BatchPlan) -> Iterator[Any]:
        """Yield the first row with each label, all that the classes need; the rest stays."""
        frame = self._frame[list(plan.names)]
        few = frame.map_partitions(_first_of_each, plan.target, meta=frame._meta)
        if self._first is None:
            self._first = _table(few.partitions[0].compute(), plan)
        yield self._first.select(list(plan.names))
        for part in list(few.partitions)[1:]:
            yield _table(part.compute(), plan)


def _first_of_each(frame: Any, target: str | None) -> Any:
    return frame if target is None else frame.drop_duplicates(target)


def _table(frame: Any, plan: BatchPlan) -> Any:
    import pyarrow as pa

    return pa.Table.from_pandas(frame[list(plan.names)], preserve_index=False)


def _dask_parts(frame: Any, tables: TableSummarizer) -> list[Summary]:
    import dask
    import pandas as pd

    # As a part of the function, the tables are not searched for collections in each task; reading
    # a partition and summing it up is one task.
    summarize = partial(_summarize_frame, tables)
    some = frame[list(tables.plan.names)]
    left = some.map_partitions(summarize, meta=pd.Series(dtype=object)).to_delayed()
    join = dask.delayed(_joined, pure=True)
    while True:
        left = [join(left[i : i + _TOGETHER]) for i in range(0, len(left), _TOGETHER)]
        if len(left) < 2:
            return list(left[0].compute())


def _summarize_frame(tables: TableSummarizer, frame: Any, partition_info: Any = None) -> Any:
    """Sum up one partition of pandas: a Series of one summary, or of none if it has no rows."""
    import pandas as pd

    number = partition_info["number"] if partition_info else 0
    table = _table(frame, tables.plan)
    chunk = Chunk(lambda: [table] if table.num_rows else [], len(table), number * _STRIDE, row=0,
                  place=f"partition {number}")  # fmt: skip
    result = work(chunk, tables, None)
    return pd.Series([] if result is None else [result], dtype=object)


def _joined(parts: Sequence[Any]) -> list[Summary]:
    given = [summary for part in parts for summary in part]
    return [merge(given)] if given else []


class _Ray(Columns):
    """The columns of a Ray dataset."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def names(self) -> Sequence[str]:
        return [str(name) for name in self._dataset.schema().names]

    def tables(self, plan: BatchPlan) -> Iterator[Any]:
        some = self._dataset.select_columns(list(plan.names))
        yield from some.iter_batches(batch_format="pyarrow", batch_size=None)


def _ray_parts(dataset: Any, tables: TableSummarizer) -> list[Summary]:
    some = dataset.select_columns(list(tables.plan.names))
    summed = some.map_batches(
        _summarize_table, batch_format="pyarrow", batch_size=None, fn_args=(tables,)
    )
    left: list[Summary] = []
    for row in summed.iter_rows():
        left.append(pickle.loads(row["summary"]))
        if len(left) == _TOGETHER:
            left = [merge(left)]
    return left


def _summarize_table(table: Any, tables: TableSummarizer) -> Any:
    """Sum up one block of Arrow; its rows are numbered by their content, for Ray numbers none."""
    import pyarrow as pa

    mark = blake2b(digest_size=5)
    for column in table.columns:
        for buffer in (buffer for chunk in column.chunks for buffer in chunk.buffers() if buffer):
            mark.update(buffer)
    start = int.from_bytes(mark.digest(), "big") * 2**20
    chunk = Chunk(lambda: [table] if table.num_rows else [], len(table), start, "a block", row=0)
    result = work(chunk, tables, None)
    kept = [] if result is None else [pickle.dumps(result)]
    return pa.table({"summary": pa.array(kept, type=pa.large_binary())})
