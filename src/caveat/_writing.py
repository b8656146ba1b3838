"""Files that appear when they are complete, and JSON in files."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from .exceptions import FileFormatError

PARTIAL = ".partial-"
"""How the names of files begin that are being written, or were when their run was killed."""


@contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[Path]:
    """Yield a place to write to; at the end of the block it becomes the file.

    Until then a reader sees the old file, and so it stays if the block raises.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from caveat._writing import replacing
    >>> path = pathlib.Path(tempfile.mkdtemp(), "numbers.txt")
    >>> with replacing(path) as beside:
    ...     _ = beside.write_text("1 2 3")
    >>> path.read_text()
    '1 2 3'
    """
    place = Path(path)
    beside = place.with_name(f"{PARTIAL}{os.getpid()}-{place.name}")
    try:
        yield beside
        beside.replace(place)
    finally:
        beside.unlink(missing_ok=True)


def write_json(path: str | PathLike[str], content: Any) -> None:
    """Write a JSON file, which appears when it is complete."""
    with replacing(path) as beside:
        beside.write_text(json.dumps(content) + "\n", encoding="utf-8")


def read_json(path: Path, advice: str) -> dict[str, Any]:
    """Return the object in a JSON file; ``advice`` says what to do if it cannot be read."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (TypeError, ValueError):
        raise FileFormatError(f"{path} is not readable JSON; {advice}") from None
