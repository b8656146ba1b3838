"""CSV and TSV files."""

import codecs
import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..exceptions import FileFormatError, OptionError
from ..predictions.files import _refuse_bomb
from ._errors import readable

BLOCK = 2**24
"""Bytes parsed at a time; a row must fit into it."""

_HEADER = 2**22
"""Bytes that hold the names of the columns."""

_UNPACKED = 2**20
"""Bytes unpacked at a time while a compressed file is measured."""

_MISSING = (
    "", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL",
    "null", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN",
)  # fmt: skip
"""How R, pandas, Excel and databases write a missing value.

"None" is not among them: it is often the name of a class or group.
"""


class CsvSource:
    """Text with a separator and a header; also compressed by gzip."""

    def __init__(
        self, path: Path, delimiter: str | None, decimal: str, keep_na: bool = False
    ) -> None:
        self.path = path
        self.saved = None
        self.keep_na = keep_na
        self.packed = path.suffix.lower() == ".gz"
        tabs = ".tsv" in (suffix.lower() for suffix in path.suffixes[-2:])
        self.delimiter = delimiter if delimiter is not None else "\t" if tabs else ","
        self.decimal = decimal
        for name, mark in (("delimiter", self.delimiter), ("decimal", decimal)):
            if len(mark) != 1 or mark in '"\r\n' or not mark.isascii():
                raise OptionError(f"{name} must be a single character of ASCII; got {mark!r}")
        if self.delimiter == decimal:
            raise OptionError(
                f"delimiter and decimal are both {decimal!r}; they must differ, for example "
                "delimiter=';' and decimal=','"
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
            # "True" stays text, as the file shows it.
            true_values=[],
            false_values=[],
            null_values=list(_MISSING),
            strings_can_be_null=not self.keep_na,
        )
        with readable(self.path), self._open() as file:
            if self.packed:
                self._refuse_bomb()
            table = pyarrow.csv.read_csv(
                file,
                read_options=pyarrow.csv.ReadOptions(block_size=BLOCK),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=self.delimiter, newlines_in_values=True
                ),
                convert_options=options,
            )
        unknown = [name for name in names if pa.types.is_null(table.column(name).type)]
        if self.keep_na and unknown:  # whether "NA" alone is text or a number, Arrow cannot know
            return self.read(names, [*text, *unknown])
        return {name: table.column(name) for name in names}

    def _open(self) -> Any:
        """Open the file by Arrow itself.

        Arrow's threads may drop a file after its reader has returned. To drop a file of Python they
        need the interpreter, and a process that ends at that moment is aborted.
        """
        import pyarrow as pa

        return pa.input_stream(str(self.path), compression="gzip" if self.packed else None)

    def _refuse_bomb(self) -> None:
        """Unpack a file once to measure it; raise if it is larger than its packed size allows."""
        packed, count = self.path.stat().st_size, 0
        with self._open() as file:
            while block := file.read_buffer(_UNPACKED):
                count += block.size
                _refuse_bomb(count, packed)

    def _header(self) -> list[str]:
        with self._open() as file:
            start = codecs.getincrementaldecoder("utf-8-sig")().decode(file.read(_HEADER))
        lines = io.StringIO(start, newline="")
        names = next(csv.reader(lines, delimiter=self.delimiter, strict=True), None)
        if not names:
            raise FileFormatError(f"{self.path} does not begin with the names of its columns")
        return names

    def _refuse_other_separators(self, header: str) -> None:
        for mark in (";", "\t", "|"):
            if mark in header:
                commas = " (and decimal=',' if its numbers have decimal commas)"
                raise FileFormatError(
                    f"{self.path} seems to be separated by {mark!r}, not {self.delimiter!r}: add "
                    f"delimiter={mark!r}{commas if mark == ';' else ''}"
                )
