"""CSV and its relatives."""

import codecs
import csv
import gzip
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from ..exceptions import FileFormatError, OptionError
from ..predictions._files import _refuse_bomb
from ._reading import readable

BLOCK = 2**24
"""Bytes parsed at a time; a row must fit into it."""

_HEADER = 2**22
"""Bytes among which the names of the columns are."""


class CsvSource:
    """Text with a separator and a header; also compressed by gzip."""

    def __init__(self, path: Path, delimiter: str | None, decimal: str) -> None:
        self.path = path
        self.saved = None
        self.packed = path.suffix.lower() == ".gz"
        tabs = ".tsv" in (suffix.lower() for suffix in path.suffixes[-2:])
        self.delimiter = delimiter if delimiter is not None else "\t" if tabs else ","
        self.decimal = decimal
        for name, mark in (("delimiter", self.delimiter), ("decimal", decimal)):
            if len(mark) != 1 or mark in '"\r\n':
                raise OptionError(f"{name} must be a single character; got {mark!r}")
        if self.delimiter == decimal:
            raise OptionError(
                f"delimiter and decimal are both {decimal!r}; they must differ, for example "
                "--delimiter ';' --decimal ','"
            )
        self.names = self._header()
        if len(self.names) == 1 and delimiter is None:
            self._refuse_other_separators(self.names[0])

    def read(self, names: Sequence[str], text: Sequence[str] = ()) -> dict[str, Any]:
        """Return these columns; the others are skipped while parsing."""
        import pyarrow as pa
        import pyarrow.csv

        options = pyarrow.csv.ConvertOptions(
            include_columns=list(names),
            column_types=dict.fromkeys(text, pa.string()),
            decimal_point=self.decimal,
            # "True" stays text: only then is it still the label that the file shows.
            true_values=[],
            false_values=[],
        )
        with readable(self.path), self._open() as file:
            table = pyarrow.csv.read_csv(
                file,
                read_options=pyarrow.csv.ReadOptions(block_size=BLOCK),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=self.delimiter, newlines_in_values=True
                ),
                convert_options=options,
            )
        return {name: table.column(name) for name in names}

    def _open(self) -> BinaryIO:
        return io.BufferedReader(_Unpacked(self.path)) if self.packed else self.path.open("rb")

    def _header(self) -> list[str]:
        with self._open() as file:
            start = codecs.getincrementaldecoder("utf-8-sig")().decode(file.read(_HEADER))
        lines = io.StringIO(start, newline="")
        names = next(csv.reader(lines, delimiter=self.delimiter, strict=True), None)
        if not names:
            raise FileFormatError(f"{self.path} does not begin with the names of its columns")
        return names

    def _refuse_other_separators(self, header: str) -> None:
        for mark, shown in ((";", "';'"), ("\t", "$'\\t'"), ("|", "'|'")):
            if mark in header:
                commas = " (and --decimal ',' if its numbers have decimal commas)"
                raise FileFormatError(
                    f"{self.path} seems to be separated by {mark!r}, not {self.delimiter!r}: add "
                    f"--delimiter {shown}{commas if mark == ';' else ''}"
                )


class _Unpacked(io.RawIOBase):
    """The contents of a gzip file, up to what a file of its size may honestly hold."""

    def __init__(self, path: Path) -> None:
        self._file = gzip.GzipFile(path)
        self._size = path.stat().st_size
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._file.read(len(buffer))
        self._count += len(block)
        _refuse_bomb(self._count, self._size)
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        self._file.close()
        super().close()
