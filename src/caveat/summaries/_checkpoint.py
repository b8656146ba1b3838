"""The summary of the rows that were read so far, with which a run goes on after it ended early."""

import json
import zipfile
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from .._writing import replacing
from ..exceptions import FileFormatError, OptionError
from ._chunks import Input, Position
from .files import load_summary, save_summary
from .summary import Summary

EVERY = 30.0
"""Seconds between two writes."""

_MEMBER = "progress.json"


class Checkpoint:
    """A file of a summary that says how far it reaches, and of which source.

    Attributes
    ----------
    path : Path
    source : dict
        The files with their sizes and times, and the options.
    """

    def __init__(self, path: Path, source: dict[str, Any]) -> None:
        self.path, self.source = path, json.loads(json.dumps(source, default=_plain))
        self._next = monotonic() + EVERY

    def load(self, source: Input) -> tuple[Summary | None, Position]:
        """Return what was summed up before, and up to where.

        Parameters
        ----------
        source : Input
            Learns which of its files are left out, or in part summed up, already.
        """
        if not self.path.exists():
            return None, Position()
        summary = load_summary(self.path)
        with zipfile.ZipFile(self.path) as archive:
            if _MEMBER not in archive.namelist():
                raise OptionError(
                    f"checkpoint={str(self.path)!r} is a summary of its own, not that of a run "
                    "that ended early; name another file"
                )
            stored = json.loads(archive.read(_MEMBER))
        position = Position(**stored["position"])
        self._check_source(stored["source"], position)
        broken = {int(file): FileFormatError(words) for file, words in stored["broken"].items()}
        if broken and not source.skip:
            raise OptionError(
                f"checkpoint={str(self.path)!r} leaves a file out ({next(iter(broken.values()))}); "
                "go on with errors='skip', or remove it to begin again"
            )
        source.broken = {**broken, **source.broken}
        source.begun = None if stored["whole"] else position.file
        return summary, position

    def _check_source(self, stored: dict[str, Any], position: Position) -> None:
        """Raise if the rows so far are not those of this source."""
        for part, value in self.source.items():
            words = f"other {part}"
            same = stored.get(part) == value
            if part == "files":
                # Files that were not read yet may have been repaired.
                read = slice(position.file + 1)
                changed = [
                    one[0] for one, other in zip(value[read], stored[part], strict=False)
                    if one[0] == other[0] and one != other
                ]  # fmt: skip
                words = f"an earlier version of {changed[0]}" if changed else words
                same = not changed and [one[0] for one in value] == [one[0] for one in stored[part]]
            if not same:
                raise OptionError(
                    f"checkpoint={str(self.path)!r} is of {words}; remove it to begin again, or "
                    "name another file"
                )

    def save(
        self, summary: Summary | None, position: Position, source: Input, due: bool = False
    ) -> None:
        """Write the file; if only when it is due, after a while."""
        if summary is None or (due and monotonic() < self._next):
            return
        broken = {file: str(error) for file, error in source.broken.items() if file < position.file}
        stored = {
            "source": self.source, "position": asdict(position), "broken": broken,
            "whole": source.skip and source.begun != position.file,
        }  # fmt: skip
        with replacing(self.path) as beside:
            save_summary(summary, beside)
            with zipfile.ZipFile(beside, "a") as archive:
                archive.writestr(_MEMBER, json.dumps(stored))
        self._next = monotonic() + EVERY


def check_place(path: Path) -> None:
    """Raise if no checkpoint can be written, before anything is read."""
    if not path.parent.is_dir():
        raise OptionError(f"checkpoint={str(path)!r}: there is no folder {path.parent}")
    if path.is_dir():
        raise OptionError(f"checkpoint={str(path)!r}: this is a folder; name a file")


def _plain(value: Any) -> Any:
    """Return what JSON can hold of an option."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)
