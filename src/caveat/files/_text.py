"""CSV and TSV files."""

import codecs
import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..exceptions import FileFormatError, InvalidValueError
from ..predictions.files import _refuse_bomb
from ._errors import decodable, readable
from .dialect import HEADER, MISSING, START, number_pattern, open_bytes, sniff, usual_delimiter

BLOCK = 2**24
"""Bytes parsed at a time; a row must fit into it."""

_UNPACKED = 2**20
"""Bytes unpacked or decoded at a time."""

_NATIVE = ("utf-8", "utf-8-sig")
"""Encodings that Arrow reads by itself."""

_FEW = 100
"""Entries that show most columns of text to be no numbers."""


class CsvSource:
    """Text with a separator and a header; also compressed by gzip."""

    def __init__(
        self,
        path: Path,
        delimiter: str | None,
        decimal: str | None,
        encoding: str | None = None,
        keep_na: bool = False,
    ) -> None:
        self.path = path
        self.saved = None
        self.keep_na = keep_na
        self.named = decimal is not None
        self.packed = path.suffix.lower() == ".gz"
        self.dialect = sniff(path, delimiter=delimiter, decimal=decimal, encoding=encoding)
        with decodable(path):
            self.names = self._header()
        given = {"delimiter": delimiter, "decimal": decimal, "encoding": encoding}
        usual = {"delimiter": usual_delimiter(path), "decimal": ".", "encoding": "utf-8"}
        seen = [
            f"{name}={getattr(self.dialect, name)!r}"
            for name in given
            if given[name] is None and getattr(self.dialect, name) != usual[name]
        ]
        self.notes = [f"the file is read with {' and '.join(seen)}"] if seen else []

    def read(self, names: Sequence[str], text: Sequence[str] = ()) -> dict[str, Any]:
        """Return these columns; the others are skipped while parsing."""
        import pyarrow as pa
        import pyarrow.csv

        for name, number in self.dialect.doubtful:
            if name in names and name not in text:
                raise InvalidValueError(_two_readings(name, number))
        options = self.arrow_options(names, dict.fromkeys(text, pa.string()))
        with readable(self.path), decodable(self.path), self.open() as file:
            table = pyarrow.csv.read_csv(file, **options)
        unknown = [name for name in names if pa.types.is_null(table.column(name).type)]
        if self.keep_na and unknown:  # whether "NA" alone is text or a number, Arrow cannot know
            return self.read(names, [*text, *unknown])
        if self._may_have_late_doubts():
            floats = [name for name in names if pa.types.is_floating(table.column(name).type)]
            self._refuse_late_doubts(floats)
        return {
            name: table.column(name) if name in text else self._tidy(table.column(name), name)
            for name in names
        }

    def arrow_options(self, names: Sequence[str], types: dict[str, Any]) -> dict[str, Any]:
        """Return how Arrow is to read some columns, of which some have a type."""
        from pyarrow import csv as arrow

        return {
            "read_options": arrow.ReadOptions(block_size=BLOCK),
            "parse_options": arrow.ParseOptions(
                delimiter=self.dialect.delimiter, newlines_in_values=True
            ),
            "convert_options": arrow.ConvertOptions(
                include_columns=list(names),
                column_types=types,
                decimal_point=self.dialect.decimal,
                # "True" stays text, as the file shows it.
                true_values=[],
                false_values=[],
                null_values=list(MISSING),
                strings_can_be_null=not self.keep_na,
            ),
        }

    def _may_have_late_doubts(self) -> bool:
        """Whether 1.234 may be 1234 though the beginning of the file did not show such numbers."""
        unsettled = not self.named and not self.dialect.thousands
        longer = self.packed or self.path.stat().st_size > START
        return unsettled and longer and self.dialect.delimiter in ";\t"

    def _refuse_late_doubts(self, names: Sequence[str]) -> None:
        import pyarrow.compute as pc

        for name, column in (self.read(names, names) if names else {}).items():
            marked = pc.filter(column, pc.match_substring(column, "."))  # 1e6 has no mark
            if len(marked) and _are_numbers(column, ".", ",") and _are_numbers(column, ",", "."):
                raise InvalidValueError(_two_readings(name, marked[0].as_py()))

    def _tidy(self, column: Any, name: str) -> Any:
        """Return numbers with marks between thousands, or in blanks, as numbers."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not pa.types.is_string(column.type):
            return column
        dialect = self.dialect

        def plain(part: Any) -> Any:
            trimmed = pc.utf8_trim_whitespace(part)
            missing = pc.is_in(trimmed, value_set=pa.array(MISSING))
            return pc.if_else(missing, pa.scalar(None, pa.string()), trimmed)

        for part in (column.slice(0, _FEW), column):
            known = plain(part)
            if not _are_numbers(known, dialect.decimal, dialect.thousands):
                return column
        grouped = pc.filter(known, pc.match_substring(known, dialect.thousands or "\0"))
        if len(grouped):
            if not self.named and _are_numbers(known, dialect.thousands, dialect.decimal):
                raise InvalidValueError(_two_readings(name, grouped[0].as_py()))
            self.notes.append(f"{name!r}: {dialect.thousands!r} between thousands is left out")
            known = pc.replace_substring(known, dialect.thousands, "")
        values = pc.replace_substring(known, dialect.decimal, ".").cast(pa.float64())
        whole = not pc.any(pc.match_substring_regex(known, r"[^\d+-]")).as_py()
        fits = pc.all(pc.less(pc.abs(values), 2**53)).as_py()
        return values.cast(pa.int64()) if whole and fits else values

    def open(self) -> Any:
        """Open the file as UTF-8 text, without a file of Python; see `open_bytes`."""
        import pyarrow as pa

        if self.packed:
            self._refuse_bomb()
        if self.dialect.encoding in _NATIVE:
            return open_bytes(self.path)
        decoder = codecs.getincrementaldecoder(self.dialect.encoding)()
        out = pa.BufferOutputStream()
        with open_bytes(self.path) as file:
            while block := file.read(_UNPACKED):
                out.write(decoder.decode(block).encode())
        out.write(decoder.decode(b"", final=True).encode())
        return pa.BufferReader(out.getvalue())  # Arrow leaves the byte order mark out

    def _refuse_bomb(self) -> None:
        """Unpack a file once to measure it; raise if it is larger than its packed size allows."""
        packed, count = self.path.stat().st_size, 0
        with open_bytes(self.path) as file:
            while block := file.read_buffer(_UNPACKED):
                count += block.size
                _refuse_bomb(count, packed)

    def _header(self) -> list[str]:
        with open_bytes(self.path) as file:
            start = codecs.getincrementaldecoder(self.dialect.encoding)().decode(file.read(HEADER))
        lines = io.StringIO(start.removeprefix("\ufeff"), newline="")
        names = next(csv.reader(lines, delimiter=self.dialect.delimiter, strict=True), None)
        if not names:
            raise FileFormatError(f"{self.path} does not begin with the names of its columns")
        return names


def _are_numbers(column: Any, decimal: str, thousands: str) -> bool:
    """Whether all entries of a column of text are numbers with these marks."""
    import pyarrow.compute as pc

    pattern = f"^(?:{number_pattern(decimal, thousands)})$"
    return bool(pc.all(pc.match_substring_regex(column, pattern), min_count=0).as_py())


def _two_readings(name: str, number: str) -> str:
    bare, mark = number.replace(",", "").replace(".", ""), "," if "," in number else "."
    return (
        f"column {name!r}: {number} is {number.replace(mark, '.')} or {bare}, and the file does "
        "not show which; say it with decimal=',' or decimal='.'"
    )
