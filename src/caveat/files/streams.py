"""Files in batches of rows: some columns at a time, in constant memory."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from . import _text
from ._errors import readable
from ._patterns import listed
from ._sources import open_source
from .read import column_names

__all__ = ["ending", "file_batches", "listed", "readable", "stream_names"]

_ARROW = (".arrow", ".feather", ".ipc")
_CSV, _JSON = (".csv", ".tsv"), (".jsonl", ".ndjson")

NOT_PARQUET = (*_CSV, *_JSON, *_ARROW, ".npz")
"""The endings of files of other kinds than Parquet."""


def file_batches(
    path: Path, names: Sequence[str], text: Sequence[str], numbers: Sequence[str], **written: Any
) -> Iterator[Any]:
    """Yield tables of these columns of a file, in the order of its rows.

    Parameters
    ----------
    path : path
    names : sequence of str
        The columns to read.
    text, numbers : sequences of str
        Columns that a text file is to give as they are written, and columns of numbers.
    **written
        How a text file is written; see `read_predictions`.
    """
    import pyarrow as pa

    with readable(path):
        if ending(path) in _CSV:
            yield from _csv(path, names, text, numbers, written)
        elif ending(path) in _JSON:
            yield from _json(path, names, numbers)
        elif ending(path) in _ARROW and (reader := _ipc(path)) is not None:
            for batch in reader:
                yield pa.table({name: batch.column(name) for name in names})
        else:
            yield pa.table(open_source(path, None, ".").read(names))


def stream_names(path: Path, **written: Any) -> list[str]:
    """Return the names of the columns of a file, without reading its rows.

    Parameters
    ----------
    path : path
    **written
        Separator and encoding of a text file.
    """
    if path.is_file() and path.stat().st_size:
        with readable(path):
            if ending(path) in _JSON:
                return list(_json_lines(path).schema.names)
            if ending(path) in _ARROW and (reader := _ipc(path)) is not None:
                return list(reader.schema.names)
    return column_names(path, **written)


def ending(path: Path) -> str:
    """Return the ending of a file, but for that of gzip."""
    return next((mark for mark in reversed(path.suffixes) if mark.lower() != ".gz"), "").lower()


def _csv(
    path: Path, names: Sequence[str], text: Sequence[str], numbers: Sequence[str], written: Any
) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.csv

    source: Any = open_source(path, **{"delimiter": None, "decimal": None, **written})
    types = dict.fromkeys(text, pa.string()) | dict.fromkeys(numbers, pa.float64())
    reader = None
    with source.open() as file:
        if not source.dialect.doubtful:  # these are settled, or refused, by reading all of it
            with suppress(pa.ArrowInvalid):  # marks between thousands, or no numbers at all
                reader = pyarrow.csv.open_csv(file, **source.arrow_options(names, types))
        for batch in reader or ():
            yield pa.Table.from_batches([batch])
    if reader is None:
        yield pa.table(source.read(names, text))


def _json_lines(path: Path, schema: Any = None) -> Any:
    import pyarrow.dataset
    import pyarrow.json

    options = pyarrow.json.ReadOptions(block_size=_text.BLOCK)
    form = pyarrow.dataset.JsonFileFormat(read_options=options)
    return pyarrow.dataset.dataset(path, format=form, schema=schema)


def _json(path: Path, names: Sequence[str], numbers: Sequence[str]) -> Iterator[Any]:
    import pyarrow as pa

    schema = _json_lines(path).schema
    for name in numbers:  # the first of them may happen to be whole
        if pa.types.is_integer(schema.field(name).type):
            place = schema.get_field_index(name)
            schema = schema.set(place, pa.field(name, pa.float64()))
    for batch in _json_lines(path, schema).to_batches(columns=list(names)):
        yield pa.Table.from_batches([batch])


class _Batches:
    """The batches of a file of Arrow."""

    def __init__(self, reader: Any) -> None:
        self.schema, self._reader = reader.schema, reader

    def __iter__(self) -> Iterator[Any]:
        for i in range(self._reader.num_record_batches):
            yield self._reader.get_batch(i)


def _ipc(path: Path) -> Any:
    """Return the batches of Arrow's own formats; None for the first version of Feather."""
    import pyarrow as pa

    with path.open("rb") as file:
        start = file.read(6)
    if start.startswith(b"FEA1"):
        return None
    stored = pa.memory_map(str(path))
    return _Batches(pa.ipc.open_file(stored)) if start == b"ARROW1" else pa.ipc.open_stream(stored)
