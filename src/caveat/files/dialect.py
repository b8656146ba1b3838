"""How a text table is written: separator, decimal mark and encoding, from its first bytes."""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from ..exceptions import FileFormatError, OptionError
from ._errors import decodable, readable

START = 2**18
"""Bytes that are looked at."""

HEADER = 2**22
"""Bytes that hold the names of the columns; as many are looked at if a file has no shorter line."""

DELIMITERS = (",", ";", "\t", "|")

MISSING = (
    "", "NA", "N/A", "n/a", "na", "#N/A", "#N/A N/A", "#NA", "<NA>", "NaN", "NAN", "nan", "-NaN",
    "-nan", "NaT", "NULL", "Null", "null", "(null)", "#NULL!", "\\N", "1.#IND", "-1.#IND",
    "1.#QNAN", "-1.#QNAN", ".",
)  # fmt: skip
"""How R, pandas, Excel, SAS and databases write a missing value.

"None" is not among them: it is often the name of a class or group.
"""

_QUOTED = re.compile(r'(^|[,;\t|\r\n])"(?:[^"]|"")*"(?=[,;\t|\r\n]|\Z)')
_UNFINISHED = re.compile(r'(?:^|[,;\t|\r\n])"(?:[^"]|"")*\Z')
_LINE = re.compile(r"\r\n|\r|\n")
_UTF8 = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32-le",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_OTHER = {",": ".", ".": ","}


@dataclass(frozen=True)
class Dialect:
    """How a text table is written.

    Attributes
    ----------
    delimiter : str
        The mark between two entries.
    decimal : str
        The decimal mark of numbers.
    encoding : str
        The encoding, by its name in Python.
    thousands : str
        The mark that may stand between groups of three digits; empty if the file does not show
        which mark is the decimal one.
    doubtful : tuple of (str, str)
        Columns whose numbers can be read in two ways, such as 1,234, each with such a number.
    """

    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    thousands: str = ""
    doubtful: tuple[tuple[str, str], ...] = ()


def sniff(
    path: str | PathLike[str],
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> Dialect:
    r"""Tell how a CSV file is written from its first 256 KiB.

    Nothing is guessed between two readings that are both possible: then there is an error that
    names the option to use, or the column is among the doubtful ones, which are refused as numbers.

    Parameters
    ----------
    path : str or path
        A CSV or TSV file; also compressed by gzip.
    delimiter, decimal, encoding : str, optional
        What is known already.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "table.csv")
    ...     _ = path.write_text('"risk";"land"\n0,25;"Österreich"\n0,5;NA\n', encoding="cp1252")
    ...     sniff(path)
    Dialect(delimiter=';', decimal=',', encoding='cp1252', thousands='.', doubtful=())
    """
    path = Path(path)
    _check_mark("delimiter", delimiter)
    _check_mark("decimal", decimal)
    with readable(path), decodable(path):
        start, complete = _start(path)
        encoding = _encoding(start, complete, path) if encoding is None else _known(encoding)
        text = _decoded(start, complete, encoding)
    lines = _lines(text, complete)
    if delimiter is None:
        delimiter = _delimiter(lines, path, decimal)
    columns = _columns(text, delimiter, complete)
    marks, doubtful = _marks(columns)
    if decimal is not None:
        shown = marks[decimal] or any(decimal in number for _, number in doubtful)
        if decimal == delimiter and not shown:  # in quotes it can be both
            raise OptionError(
                f"delimiter and decimal are both {decimal!r}; they must differ, for example "
                "delimiter=';' and decimal=','"
            )
        return Dialect(delimiter, decimal, encoding, _OTHER.get(decimal, ""))
    if marks[","] and marks["."]:  # a column of versions, times or codes among numbers
        decimal = "," if marks[","] > marks["."] else "."
        return Dialect(delimiter, decimal, encoding, "", tuple(doubtful))
    if marks[","] or marks["."]:
        decimal = "," if marks[","] else "."
        return Dialect(delimiter, decimal, encoding, _OTHER[decimal])
    # With semicolons and tabs, points between thousands are as usual as decimal points.
    unsure = [(name, word) for name, word in doubtful if "," in word or delimiter in ";\t"]
    return Dialect(delimiter, ".", encoding, "", tuple(unsure))


def _start(path: Path) -> tuple[bytes, bool]:
    """Return the first bytes of a file, and whether they are all."""
    with open_bytes(path) as file:
        start = file.read(START)
        if len(start) == START and not re.search(rb"[\r\n]", start):
            start += file.read(HEADER - START)
        return start, not file.read(1)


def usual_delimiter(path: Path) -> str:
    """Return the delimiter that the ending of a file stands for."""
    tabs = ".tsv" in (suffix.lower() for suffix in path.suffixes[-2:])
    return "\t" if tabs else ","


def open_bytes(path: Path) -> Any:
    """Open a file by Arrow itself, unpacked.

    Arrow's threads may drop a file after its reader has returned. To drop a file of Python they
    need the interpreter, and a process that ends at that moment is aborted.
    """
    import pyarrow as pa

    packed = path.suffix.lower() == ".gz"
    return pa.input_stream(str(path), compression="gzip" if packed else None)


def number_pattern(decimal: str, thousands: str) -> str:
    """Return a regular expression of numbers with these marks."""
    whole = r"\d+"
    if thousands:
        whole = rf"(?:[1-9]\d{{0,2}}(?:{re.escape(thousands)}\d{{3}})+|\d+)"
    mark = re.escape(decimal)
    return rf"[+-]?(?:{whole}(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d+)?"


def _check_mark(name: str, mark: str | None) -> None:
    if mark is not None and (len(mark) != 1 or mark in '"\r\n' or not mark.isascii()):
        raise OptionError(f"{name} must be a single character of ASCII; got {mark!r}")


def _known(encoding: str) -> str:
    try:
        "".encode(encoding)
    except (LookupError, ValueError):
        raise OptionError(
            f"encoding={encoding!r} is not known; use a name such as 'utf-8', 'utf-16', 'cp1252' "
            "or 'latin-1'"
        ) from None
    return codecs.lookup(encoding).name


def _encoding(start: bytes, complete: bool, path: Path) -> str:
    for mark, name in _BOMS.items():
        if start.startswith(mark):
            return name
    if 4 * start.count(0) > len(start):
        little = start[1::2].count(0) > start[::2].count(0)
        raise FileFormatError(
            f"{path} has too many zero bytes for text of one byte a letter; name its encoding, "
            f"for example encoding='utf-16-{'le' if little else 'be'}'"
        )
    try:
        _decoded(start, complete, "utf-8")
    except UnicodeDecodeError:
        return _single_bytes(start, path)
    return "utf-8"


def _single_bytes(start: bytes, path: Path) -> str:
    """Return the encoding of text that is not UTF-8: that of Windows, or an error."""
    if _UTF8.search(start):
        raise FileFormatError(
            f"{path} is UTF-8 in one place and not in another; name its encoding, for example "
            "encoding='cp1252', or mend it"
        )
    try:
        start.decode("cp1252")
    except UnicodeDecodeError:
        raise FileFormatError(
            f"{path} is neither UTF-8 text nor that of Windows (cp1252); name its encoding, for "
            "example encoding='latin-1' or encoding='cp850'"
        ) from None
    return "cp1252"


def _decoded(start: bytes, complete: bool, encoding: str) -> str:
    text = codecs.getincrementaldecoder(encoding)().decode(start, final=complete)
    return text.removeprefix("\ufeff")


def _lines(text: str, complete: bool) -> list[str]:
    """Return the lines of a table, entries in quotes replaced by a letter."""
    lines = _LINE.split(_UNFINISHED.sub("", _QUOTED.sub(r"\1q", text)))
    if not complete and len(lines) > 1:
        lines.pop()
    return [line for line in lines if line.strip(" ")]


def _delimiter(lines: list[str], path: Path, decimal: str | None) -> str:
    usual = usual_delimiter(path)
    header, *rows = lines or [""]
    named = [
        mark
        for mark in DELIMITERS
        if mark in header and mark != decimal and (not rows or any(mark in row for row in rows))
    ]
    if len(named) == 1:
        return named[0]
    if not named:
        return _of_one_column(header, rows, path, decimal)
    even = [
        mark for mark in named if all(row.count(mark) == header.count(mark) for row in rows)
    ] or [usual]
    if len(even) > 1:
        words = " or ".join(f"delimiter={mark!r}" for mark in even)
        raise FileFormatError(
            f"{path} can be separated by {' or '.join(map(repr, even))}; say which: {words}"
        )
    return even[0]


def _of_one_column(header: str, rows: list[str], path: Path, decimal: str | None) -> str:
    """Return a mark that separates nothing."""
    if decimal is not None:
        return ";" if decimal == "," and "," not in header else usual_delimiter(path)
    number = re.compile(number_pattern(",", "."))
    if any("," in row for row in rows) and all(number.fullmatch(row.strip()) for row in rows):
        raise FileFormatError(
            f"{path} has one name in its first line, but commas in its numbers; if these are "
            "decimal commas, add decimal=','"
        )
    return usual_delimiter(path)


def _columns(text: str, delimiter: str, complete: bool) -> list[tuple[str, list[str]]]:
    """Return the names of the columns, and the entries of each that are not missing."""
    records = list(_records(text, delimiter))
    if not complete and len(records) > 1:
        records.pop()  # it may have been cut off
    header, *rows = records or [[]]
    return [
        (
            name,
            [entry for row in rows if i < len(row) and (entry := row[i].strip()) not in MISSING],
        )
        for i, name in enumerate(header)
    ]


def _records(text: str, delimiter: str) -> Iterator[list[str]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        yield from filter(None, reader)
    except csv.Error:  # an entry that is too long; what came before it is enough
        return


def _marks(columns: list[tuple[str, list[str]]]) -> tuple[Counter[str], list[tuple[str, str]]]:
    """Count the columns that show their decimal mark, and list those that leave it open."""
    comma = re.compile(number_pattern(",", "."))
    point = re.compile(number_pattern(".", ","))
    marks: Counter[str] = Counter()
    doubtful: list[tuple[str, str]] = []
    for name, entries in columns:
        marked = next((entry for entry in entries if "," in entry or "." in entry), None)
        if marked is None:
            continue
        with_comma = all(map(comma.fullmatch, entries))
        with_point = all(map(point.fullmatch, entries))
        if with_comma and with_point:
            doubtful.append((name, marked))
        elif with_comma or with_point:
            marks["," if with_comma else "."] += 1
    return marks, doubtful


__all__ = ["Dialect", "sniff"]
