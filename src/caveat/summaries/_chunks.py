"""Chunks of rows with their places, and sources that give predictions instead of columns."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..exceptions import CaveatError, OptionError
from ..files import read_predictions
from ..predictions import Container

_ROW = re.compile(r"\b(data row|sample) (\d+)\b")
_SHARE = re.compile(r" \(\d+ of \d+ rows have none\)")


@dataclass(frozen=True)
class Chunk:
    """Rows that one thread reads and sums up.

    Attributes
    ----------
    read : function
        Returns the rows: Arrow tables, or arguments of `summarize_batch`.
    rows : int
    start : int
        The number of the first row among all.
    place : str
        The file or the batch, for errors.
    file : int
        The number of the file.
    row : int or None
        The number of the first row within the file.
    """

    read: Callable[[], Iterable[Any]]
    rows: int
    start: int
    place: str = ""
    file: int = 0
    row: int | None = None

    @property
    def end(self) -> "Position":
        """Return where the next chunk begins."""
        return Position(self.file, (self.row or 0) + self.rows, self.start + self.rows)


@dataclass(frozen=True)
class Position:
    """How far rows are summed up: all files before one, some rows of it, and rows in all."""

    file: int = 0
    row: int = 0
    total: int = 0


@contextmanager
def located(chunk: Chunk, row: int = 0) -> Iterator[None]:
    """Let an error on some rows name the file, and the row within it."""
    try:
        yield
    except CaveatError as error:
        text = _SHARE.sub("", str(error))
        if chunk.row is not None or not chunk.place:
            first = row + (chunk.start if chunk.row is None else chunk.row)

            def moved(match: re.Match[str]) -> str:
                number = int(match[2]) + (match[1] == "sample")
                return f"data row {number + first}"

            text = _ROW.sub(moved, text, count=1)
        raise type(error)(f"{chunk.place}: {text}" if chunk.place else text) from error


class Input(ABC):
    """A source of rows.

    Attributes
    ----------
    recognized : tuple of str
        How each column is used, in plain sentences.
    skip : bool
        Whether broken files are left out.
    broken : dict of int to error
        Files that are left out, by their numbers.
    begun : int or None
        A file of which some rows are summed up already: it cannot be left out.
    stopped : int or None
        The file of which an error was raised.
    """

    recognized: tuple[str, ...] = ()
    skip = False
    broken: Mapping[int, CaveatError] = {}
    begun: int | None = None
    stopped: int | None = None

    def rows(self) -> int | None:
        """Return how many there are, if that is known."""
        return None

    def fingerprint(self) -> list[Any]:
        """Return what tells this source from others, for a checkpoint."""
        raise OptionError("checkpoint= needs a source that can be read again: files")

    @abstractmethod
    def chunks(self, done: Position) -> Iterator[Chunk]:
        """Yield all rows but those that are done, in order."""

    def failed(self, file: int, error: CaveatError) -> None:
        """Leave a broken file out, or raise."""
        if self.skip and file != self.begun:
            self.broken = {file: error, **self.broken}
            return
        self.stopped = file
        if self.skip:
            raise type(error)(
                f"{error}; rows of this file are in the checkpoint already, so that it cannot be "
                "left out: remove the checkpoint to begin again"
            ) from error
        raise error

    def left_out(self, file: int) -> str:
        """Return a sentence on a broken file."""
        return f"file {file + 1} is left out: {self.broken[file]}"


class Batches(Input):
    """Predictions with what belongs to them, one batch after the other."""

    def __init__(self, items: Iterable[Any]) -> None:
        self._items = items

    def chunks(self, done: Position) -> Iterator[Chunk]:
        start = 0
        for number, item in enumerate(self._items):
            try:
                given = _arguments(item, f"batch {number}")
            except CaveatError as error:
                self.failed(number, error)
                continue
            rows = len(given["prediction"])
            yield Chunk(partial(list, [given]), rows, start, f"batch {number}", number)
            start += rows

    def left_out(self, file: int) -> str:
        return f"{self.broken[file]}; this batch is left out"


def _arguments(item: Any, place: str) -> dict[str, Any]:
    """Return a batch as arguments of `summarize_batch`."""
    names = ("prediction", "y", "groups")
    given = dict(item) if isinstance(item, Mapping) else None
    if isinstance(item, Container):
        given = {"prediction": item}
    elif isinstance(item, tuple | list) and 1 <= len(item) <= 3:
        given = dict(zip(names, item, strict=False))
    if given is None or not isinstance(given.get("prediction"), Container):
        raise OptionError(
            f"{place} must be (prediction, y), (prediction, y, groups) or a dict of arguments, "
            f"with a prediction such as caveat.Categorical; got a {type(item).__name__}"
        )
    known = (*names, "sample_weight", "cluster", "ids")
    unknown = [name for name in given if name not in known]
    if unknown:
        raise OptionError(f"{place} has {unknown[0]!r}; a batch has {', '.join(known)}")
    return given


class Whole(Input):
    """Files that are read at once, as NPZ files are."""

    def __init__(self, paths: Sequence[Path], options: Mapping[str, Any]) -> None:
        self.paths, self._options = list(paths), dict(options)

    def fingerprint(self) -> list[Any]:
        return stamps(self.paths)

    def chunks(self, done: Position) -> Iterator[Chunk]:
        total = done.total
        for file, path in enumerate(self.paths):
            if file < done.file + bool(done.total) or file in self.broken:
                continue
            try:
                table = read_predictions(path, **self._options)
            except CaveatError as error:
                self.failed(file, error)
                continue
            self.recognized = self.recognized or table.recognized
            given = {
                "prediction": table.prediction, "y": table.y, "groups": table.groups,
                "sample_weight": table.sample_weight, "cluster": table.cluster, "ids": table.ids,
            }  # fmt: skip
            yield Chunk(partial(list, [given]), len(table), total, str(path), file, 0)
            total += len(table)


def stamps(paths: Iterable[Path]) -> list[list[Any]]:
    """Return the name, the size and the time of the last change of each file."""
    result: list[list[Any]] = []
    for path in paths:
        about = path.stat()
        result.append([str(path.resolve()), about.st_size, about.st_mtime_ns])
    return result
