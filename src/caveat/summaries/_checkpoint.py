"""The summary of the rows that were read so far, with which a run goes on after it ended early."""

import json
import zipfile
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from .._writing import replacing
from ..exceptions import OptionError
from ._chunks import Position
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

    def load(self) -> tuple[Summary | None, Position]:
        """Return what was summed up before, and up to where."""
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
        self._check_source(stored["source"])
        return summary, Position(**stored["position"])

    def _check_source(self, stored: dict[str, Any]) -> None:
        for part, value in self.source.items():
            if stored.get(part) == value:
                continue
            words = f"other {part}"
            if part == "files":
                mine, theirs = (
                    {name: rest for name, *rest in one} for one in (value, stored[part])
                )
                changed = [name for name in mine if name in theirs and mine[name] != theirs[name]]
                words = f"an earlier version of {changed[0]}" if changed else "other files"
            raise OptionError(
                f"checkpoint={str(self.path)!r} is of {words}; remove it to begin again, or name "
                "another file"
            )

    def save(self, summary: Summary | None, position: Position, due: bool = False) -> None:
        """Write the file; if only when it is due, after a while."""
        if summary is None or (due and monotonic() < self._next):
            return
        stored = {"source": self.source, "position": asdict(position)}
        with replacing(self.path) as beside:
            save_summary(summary, beside)
            with zipfile.ZipFile(beside, "a") as archive:
                archive.writestr(_MEMBER, json.dumps(stored))
        self._next = monotonic() + EVERY


def _plain(value: Any) -> Any:
    """Return what JSON can hold of an option."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)
