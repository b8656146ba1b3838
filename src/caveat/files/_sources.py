"""Readers of all formats: the names of the columns, and some of them as Arrow columns."""

import zipfile
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..exceptions import FileFormatError
from ..predictions.files import _HEADER, _refuse_bomb, load_prediction, read_member
from ._errors import readable
from ._text import BLOCK, CsvSource

FORMATS = (
    "CSV (.csv, .tsv, .csv.gz, .tsv.gz), Parquet (.parquet), NPZ (.npz), Arrow (.arrow, .feather, "
    ".ipc) and JSON lines (.jsonl, .ndjson)"
)


class Source(Protocol):
    """An opened file."""

    names: list[str]
    """The columns, in the order of the file."""

    saved: Any
    """The prediction, if caveat wrote this file; otherwise None."""

    notes: list[str]
    """How the file is written, where that is not as usual."""

    def read(self, names: Sequence[str], text: Sequence[str] = ()) -> dict[str, Any]:
        """Return these columns and no others; ``text`` are to be kept as they are written."""
        ...


def open_source(
    path: str | PathLike[str],
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    keep_na: bool = False,
) -> Source:
    """Open a file by its ending."""
    path = Path(path)
    ending = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
    kinds: dict[str, Callable[[Path], Source]] = {
        **dict.fromkeys(
            (".csv", ".tsv", ".csv.gz", ".tsv.gz"),
            lambda file: CsvSource(file, delimiter, decimal, encoding, keep_na),
        ),
        **dict.fromkeys((".parquet", ".pq"), ParquetSource),
        ".npz": NpzSource,
        **dict.fromkeys((".arrow", ".feather", ".ipc"), ArrowSource),
        **dict.fromkeys((".jsonl", ".ndjson"), JsonLinesSource),
    }
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    if path.is_dir():
        raise FileFormatError(f"{path} is a folder; give one file")
    if ending.lower() not in kinds:
        raise FileFormatError(f"{path} has an ending that is not known; caveat reads {FORMATS}")
    if path.stat().st_size == 0:
        raise FileFormatError(f"{path} is empty")
    with readable(path):
        source = kinds[ending.lower()](path)
    twice = {name for name in source.names if source.names.count(name) > 1}
    if twice:
        raise FileFormatError(
            f"{path} has more than one column {sorted(twice)[0]!r}; give each its own name"
        )
    return source


def _sound(column: Any) -> Any:
    """Return a column after checking its offsets and text: a damaged file must not crash Python."""
    column.validate(full=True)
    return column


class ParquetSource:
    """Parquet: only the pages of the columns that are asked for are read."""

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet as pq

        self.path = path
        self.notes: list[str] = []
        self.saved = None
        with pq.ParquetFile(path) as file:
            schema, self.rows = file.schema_arrow, file.metadata.num_rows
        self.names = [str(name) for name in schema.names]
        if _HEADER.encode() in (schema.metadata or {}):
            self.saved, self.names = load_prediction(path), []

    def read(self, names: Sequence[str], text: Sequence[str] = ()) -> dict[str, Any]:
        """Return these columns."""
        import pyarrow.parquet as pq

        with readable(self.path), pq.ParquetFile(self.path, pre_buffer=False) as file:
            _refuse_bomb(8 * self.rows * len(names), self.path.stat().st_size)
            # A name with a dot would be taken for a path into nested columns.
            return {name: _sound(file.read(columns=[name]).column(name)) for name in names}


class _TableSource:
    """A file that is opened as one Arrow table."""

    def __init__(self, path: Path, table: Any) -> None:
        self.path, self.table, self.saved = path, table, None
        self.notes: list[str] = []
        self.names = list(table.column_names)

    def read(self, names: Sequence[str], text: Sequence[str] = ()) -> dict[str, Any]:
        """Return these columns."""
        with readable(self.path):
            return {name: _sound(self.table.column(name)) for name in names}


class ArrowSource(_TableSource):
    """Arrow IPC as a file or a stream, and Feather."""

    def __init__(self, path: Path) -> None:
        import pyarrow.feather
        import pyarrow.ipc

        with path.open("rb") as file:
            start = file.read(6)
        if start in (b"ARROW1", b"FEA1\x00\x00") or start[:4] == b"FEA1":
            table = pyarrow.feather.read_table(path, memory_map=True)
        else:
            with pyarrow.memory_map(str(path)) as stored:
                table = pyarrow.ipc.open_stream(stored).read_all()
        super().__init__(path, table)


class JsonLinesSource(_TableSource):
    """One JSON object a line."""

    def __init__(self, path: Path) -> None:
        import pyarrow.json

        options = pyarrow.json.ReadOptions(block_size=BLOCK)
        super().__init__(path, pyarrow.json.read_json(path, read_options=options))


class NpzSource:
    """Arrays by name; one axis becomes a column, more axes stay an array. Nothing is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []
        self.saved = None
        with zipfile.ZipFile(path) as archive:
            self.sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
        with np.load(path, allow_pickle=False) as file:
            self.names = list(file.files)
        if _HEADER in self.names:
            self.saved, self.names = load_prediction(path), []

    def read(self, names: Sequence[str], text: Sequence[str] = ()) -> dict[str, Any]:
        """Return these arrays."""
        with readable(self.path):
            _refuse_bomb(
                sum(self.sizes.get(f"{name}.npy", 0) for name in names), self.path.stat().st_size
            )
            arrays: dict[str, Any] = {}
            with np.load(self.path, allow_pickle=False) as file:
                for name in names:
                    array = read_member(file, name)
                    if array.ndim == 0:
                        raise FileFormatError(f"the array {name!r} is a single value, not a column")
                    arrays[name] = _arrow(array, name) if array.ndim == 1 else array
        return arrays


def _arrow(array: NDArray[Any], name: str) -> Any:
    """Return an array as an Arrow column, whatever the byte order and precision of its numbers."""
    import pyarrow as pa

    known = array.astype(np.float64) if array.dtype == np.longdouble else array
    try:
        return pa.chunked_array([pa.array(known.astype(known.dtype.newbyteorder("="), copy=False))])
    except pa.ArrowNotImplementedError as error:
        raise FileFormatError(
            f"the array {name!r} holds {array.dtype}; store numbers or text instead"
        ) from error
