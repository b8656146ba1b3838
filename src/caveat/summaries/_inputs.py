"""Where columns come from: files, Arrow tables, streams and datasets."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from ..exceptions import CaveatError, FileFormatError, InvalidValueError, LabelError
from ..files.batches import BatchPlan, plan_batches
from ..files.streams import ending, file_batches, listed, readable, stream_names
from ._chunks import Chunk, Input, Position, located, stamps

BATCH = 2**20
"""About how many rows are summed up at once."""

_COUNTED = 2**17
"""Rows that are read and counted at once, in the cache."""

_BUFFER = 2**20
"""Bytes of a column that are read from a file at once."""

PARQUET = (".parquet", ".pq")
"""The endings of files whose row groups are read apart."""

_AHEAD = 16
"""Batches of a stream that are held until the classes are known."""


class Columns(ABC):
    """Arrow tables with the same columns.

    Attributes
    ----------
    plan : BatchPlan
        What is read and how it is used.
    written : bool
        Whether numbers of groups come as text.
    place : str
        Where the last table came from, for errors.
    """

    plan: BatchPlan
    recognized: tuple[str, ...] = ()
    written = False
    place = ""

    @abstractmethod
    def names(self) -> Sequence[str]:
        """Return the names of all columns."""

    @abstractmethod
    def tables(self, plan: BatchPlan) -> Iterator[Any]:
        """Yield tables with at least the columns of a plan, from the first row on."""

    def prepare(self, options: Mapping[str, Any]) -> None:
        """Recognize the columns, and find the classes of all rows."""
        self.plan = plan_batches(self.names(), **options)
        self.plan = self._resolved(self.plan)
        self.recognized = self.plan.recognized

    def _resolved(self, plan: BatchPlan) -> BatchPlan:
        some = next((table for table in self.tables(plan) if table.num_rows), None)
        if some is None:
            raise FileFormatError("there are columns, but no rows below their names")
        rows = columns_of(some.slice(0, 1).select(list(plan.names)))
        with located(Chunk(list, 1, 0, self.place, row=0)):
            if plan.target is None or plan.classes is not None or plan.names_classes:
                return plan.resolved(rows)
            return self._with_labels(plan, some)

    def _with_labels(self, plan: BatchPlan, some: Any) -> BatchPlan:
        """Find the labels of all rows: as many as there are classes are enough."""
        import pyarrow as pa

        assert plan.target is not None
        first = some.column(plan.made.names[0])[0].as_py()
        wanted = len(first) if isinstance(first, list) else 2
        seen: list[Any] = []
        for table in self.tables(replace(plan, names=(plan.target,))):
            labels = column_of(table, plan.target).unique()
            known = [v for v in labels.to_pylist() if not (v is None or v == "" or v != v)]
            seen = list(dict.fromkeys([*seen, *known]))
            if len(seen) >= wanted:
                break
        if not seen:
            raise InvalidValueError(f"column {plan.target!r} has no label in any row")
        places = [i % some.num_rows for i in range(len(seen))]
        rows = {name: column_of(some, name).take(places) for name in plan.names}
        rows[plan.target] = pa.chunked_array([pa.array(seen, type=labels.type)])
        try:
            return plan.resolved(rows)
        except LabelError as error:
            raise LabelError(f"{error}; or name all classes with classes=") from error


def columns_of(table: Any) -> dict[str, Any]:
    """Return the columns of a table by name."""
    return {name: column_of(table, name) for name in table.column_names}


def column_of(table: Any, name: str) -> Any:
    """Return a column; text that is a view (polars) as usual text."""
    import pyarrow as pa

    column = table.column(name)
    return column.cast(pa.large_string()) if column.type == pa.string_view() else column


def gathered(tables: Iterable[Any]) -> Iterator[Any]:
    """Yield tables of about BATCH rows: small ones together, large ones cut."""
    import pyarrow as pa

    held: list[Any] = []
    for table in tables:
        held.append(table)
        if sum(one.num_rows for one in held) >= BATCH // 2:
            yield from _cut(pa.concat_tables(held) if len(held) > 1 else held[0])
            held = []
    if held:
        yield from _cut(pa.concat_tables(held))


def _cut(table: Any) -> Iterator[Any]:
    for first in range(0, table.num_rows, 2 * BATCH):
        yield table.slice(first, 2 * BATCH)


class Stream(Columns, Input):
    """Arrow tables that come once."""

    def __init__(self, reader: Any, rows: int | None = None) -> None:
        import pyarrow as pa

        self._schema, self._rows = reader.schema, rows
        self._left = gathered(pa.Table.from_batches([batch]) for batch in reader)
        self._held: list[Any] = []

    def names(self) -> Sequence[str]:
        return [str(name) for name in self._schema.names]

    def rows(self) -> int | None:
        return self._rows

    def tables(self, plan: BatchPlan) -> Iterator[Any]:
        yield from self._held
        while len(self._held) < _AHEAD and (table := next(self._left, None)) is not None:
            self._held.append(table)
            yield table

    def chunks(self, done: Position) -> Iterator[Chunk]:
        held, self._held = self._held, []
        start = 0
        for table in chain(held, self._left):
            some = table.select(list(self.plan.names))
            yield Chunk(partial(list, [some]), table.num_rows, start)
            start += table.num_rows


class Dataset(Columns, Input):
    """A dataset of Arrow, with its partitions as columns."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self._scanners, self._places = [dataset.scanner], [""]
        with suppress(ValueError):  # some rows or columns of a dataset have no fragments
            parts = list(dataset.get_fragments())
            self._scanners = [partial(part.scanner, schema=dataset.schema) for part in parts]
            self._places = [str(getattr(part, "path", "")) for part in parts]

    def names(self) -> Sequence[str]:
        return [str(name) for name in self._dataset.schema.names]

    def rows(self) -> int | None:
        import pyarrow as pa

        try:
            return int(self._dataset.count_rows())
        except (pa.ArrowException, OSError):  # reading it says what is wrong
            return None

    def fingerprint(self) -> list[Any]:
        files = getattr(self._dataset, "files", None)
        if files is None:
            return super().fingerprint()
        return stamps([Path(file) for file in files])

    def tables(self, plan: BatchPlan) -> Iterator[Any]:
        for file, place in enumerate(self._places):
            self.place = place
            try:
                if file not in self.broken:
                    yield from self._scan(file, plan)
            except CaveatError as error:
                self.failed(file, error)

    def _scan(self, file: int, plan: BatchPlan) -> Iterator[Any]:
        """Yield the tables of a file."""
        import pyarrow as pa

        with readable(Path(self._places[file] or "the dataset")):
            scanner = self._scanners[file](
                columns=list(plan.names), batch_size=BATCH, batch_readahead=2, fragment_readahead=2
            )
            for batch in scanner.to_batches():
                yield pa.Table.from_batches([batch])

    def chunks(self, done: Position) -> Iterator[Chunk]:
        total = done.total
        for file, place in enumerate(self._places):
            if file < done.file or file in self.broken:
                continue
            row, begin = 0, done.row if file == done.file else 0
            try:
                for table in self._scan(file, self.plan):
                    some = table.slice(min(max(begin - row, 0), table.num_rows))
                    row += table.num_rows
                    if some.num_rows:
                        first = row - some.num_rows
                        yield Chunk(partial(list, [some]), some.num_rows, total, place, file, first)
                        total += some.num_rows
            except CaveatError as error:
                self.failed(file, error)


class Files(Columns, Input):
    """Files with the same columns."""

    def __init__(
        self, paths: Sequence[Path], options: Mapping[str, Any], written: Mapping[str, Any]
    ) -> None:
        self.paths, self._options, self._dialect = list(paths), dict(options), dict(written)
        self.written = any(ending(path) in (".csv", ".tsv") for path in self.paths)
        self._first: list[str] = []

    def names(self) -> Sequence[str]:
        for file, path in enumerate(self.paths):
            try:
                self._first = self._names(path)
                return self._first
            except CaveatError as error:
                self.failed(file, error)
        raise FileFormatError(f"none of the {len(self.paths)} files can be read")

    def _names(self, path: Path) -> list[str]:
        own = {
            name: self._dialect[name] for name in ("delimiter", "encoding") if name in self._dialect
        }
        return stream_names(path, **own)

    def tables(self, plan: BatchPlan) -> Iterator[Any]:
        for file in range(len(self.paths)):
            try:
                if file in self.broken:
                    continue
                for chunk in self._chunks(file, plan, Position(), _COUNTED):
                    self.place = chunk.place
                    yield from chunk.read()
            except CaveatError as error:
                self.failed(file, error)

    def rows(self) -> int | None:
        if {ending(path) for path in self.paths} - {*PARQUET}:
            return None
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return sum(pq.read_metadata(path).num_rows for path in self.paths)
        except (pa.ArrowException, OSError):  # reading it says what is wrong
            return None

    def fingerprint(self) -> list[Any]:
        return stamps(self.paths)

    def chunks(self, done: Position) -> Iterator[Chunk]:
        total = done.total
        for file, path in enumerate(self.paths):
            if file < done.file or file in self.broken:
                continue
            row = done.row if file == done.file else 0
            try:
                self._check_columns(path)
                for chunk in self._chunks(file, self.plan, Position(file, row, total)):
                    total += chunk.rows
                    yield chunk
            except CaveatError as error:
                self.failed(file, error)

    def _check_columns(self, path: Path) -> None:
        """Raise if a file has other columns than the first, as far as they are needed."""
        names = self._names(path)
        if set(names) == set(self._first):
            return
        gone = [name for name in self.plan.names if name not in names]
        own = [] if gone else plan_batches(names, **self._options).names
        others = [name for name in own if name not in self.plan.names]
        if gone or others:
            words = f"has no column {gone[0]!r}" if gone else f"has the column {others[0]!r} too"
            raise FileFormatError(
                f"{path} {words}, other than {self.paths[0]}; its columns are {listed(names)}"
            )

    def _chunks(
        self, file: int, plan: BatchPlan, done: Position, together: int | None = None
    ) -> Iterator[Chunk]:
        path = self.paths[file]
        if ending(path) in PARQUET:
            if together is None:
                counted = plan.counted() or plan.counted_classes()
                together = _COUNTED if counted and not plan.wanted.group else BATCH
            yield from _parquet_chunks(file, path, plan, done, together)
            return
        batches = file_batches(path, plan.names, plan.text, plan.numbers, **self._dialect)
        total, row = done.total, 0
        for table in gathered(batches):
            first = min(max(done.row - row, 0), table.num_rows)
            some, row = table.slice(first), row + table.num_rows
            if some.num_rows:
                place = row - some.num_rows
                yield Chunk(partial(list, [some]), some.num_rows, total, str(path), file, place)
                total += some.num_rows


def _parquet_chunks(
    file: int, path: Path, plan: BatchPlan, done: Position, together: int
) -> Iterator[Chunk]:
    """Yield row groups, those of few rows together; their thread reads some rows at a time."""
    import pyarrow.parquet as pq

    with readable(path):
        about = pq.read_metadata(path)
    total, row = done.total, 0
    held: list[int] = []
    sizes = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
    for i in range(len(sizes)):
        held.append(i)
        rows = sum(sizes[j] for j in held)
        if i + 1 < len(sizes) and rows + sizes[i + 1] <= BATCH:
            continue
        if row >= done.row:  # a checkpoint ends with a chunk
            read = partial(_row_groups, path, about, held, plan, together)
            yield Chunk(read, rows, total, str(path), file, row)
            total += rows
        held, row = [], row + rows


def _row_groups(
    path: Path, about: Any, groups: list[int], plan: BatchPlan, together: int
) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = _texts(about, [*plan.wanted.group, *filter(None, [plan.target])])
    with (
        readable(path),
        pq.ParquetFile(
            path, metadata=about, read_dictionary=texts, pre_buffer=False, buffer_size=_BUFFER
        ) as stored,
    ):
        batches = stored.iter_batches(
            together, row_groups=groups, columns=list(plan.names), use_threads=False
        )
        some = (pa.Table.from_batches([batch]) for batch in batches)
        for table in gathered(some) if together == BATCH else some:
            table.validate(full=True)  # a damaged file must not crash Python
            yield table.select(list(plan.names))


def _texts(about: Any, names: Sequence[str]) -> list[str]:
    """Return the columns of text, whose values are read once."""
    import pyarrow as pa

    schema = about.schema.to_arrow_schema()
    kinds = (pa.string(), pa.large_string())
    return [name for name in names if name in schema.names and schema.field(name).type in kinds]
