"""A folder from which a killed experiment goes on: a small file for each finished condition."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from ..exceptions import FileFormatError, OptionError
from ._inputs import Samples
from ._scoring import Outcome
from .conditions import Condition

_VERSION = 1


class Folder:
    """Finished conditions of one experiment.

    Parameters
    ----------
    path : path
    mark : str
        What decides the result; a folder of another experiment is refused.
    """

    def __init__(self, path: Any, mark: str) -> None:
        self.path = Path(path)
        if self.path.exists() and not self.path.is_dir():
            raise OptionError(f"checkpoint {str(path)!r} is a file; name a folder")
        label = self.path / "experiment.json"
        found = read_json(label) if label.exists() else None
        if found is None and self.path.exists() and any(_foreign(p) for p in self.path.iterdir()):
            raise OptionError(
                f"checkpoint {str(path)!r} holds other files; name an empty or a new folder"
            )
        if found is not None and found.get("version", 0) > _VERSION:
            raise FileFormatError(f"{label} was written by a newer version of caveat; update it")
        if found is not None and found.get("experiment") != mark:
            raise OptionError(
                f"checkpoint {str(path)!r} belongs to another experiment (data, model, protocol or "
                "seed differ); name another folder or delete it"
            )
        self.path.mkdir(parents=True, exist_ok=True)
        if found is None:
            write_json(label, {"version": _VERSION, "experiment": mark})
        (self.path / "conditions").mkdir(exist_ok=True)

    @property
    def networks(self) -> Path:
        """Where trainings of networks keep their state."""
        return self.path / "networks"

    def load(self, conditions: list[Condition]) -> dict[Condition, Outcome]:
        """Return the conditions that are finished."""
        found = {}
        for condition in conditions:
            path = self._file(condition)
            if path.exists():
                try:
                    found[condition] = Outcome.from_dict(read_json(path))
                except (AttributeError, KeyError, TypeError, ValueError):
                    raise FileFormatError(
                        f"{path} cannot be read; delete it to run its condition again"
                    ) from None
        return found

    def save(self, condition: Condition, outcome: Outcome) -> None:
        """Write a finished condition."""
        write_json(self._file(condition), outcome.to_dict())

    def _file(self, condition: Condition) -> Path:
        return self.path / "conditions" / f"{condition.name}.json"


def _foreign(path: Path) -> bool:
    """Whether something is not what a run leaves that was killed while it wrote its label."""
    return path.name != "experiment.writing"


def mark_of(samples: Samples, *settings: Any) -> str:
    """Return a fingerprint of all that decides the result."""
    import joblib

    arrays = (samples.X, samples.y, samples.X_test, samples.y_test)
    digest = hashlib.sha256(joblib.hash(arrays).encode())
    digest.update(repr(settings).encode())
    return digest.hexdigest()


def read_json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (TypeError, ValueError):
        raise FileFormatError(f"{path} is not readable JSON; delete it") from None


def write_json(path: Path, content: dict[str, Any]) -> None:
    temporary = path.with_suffix(".writing")
    temporary.write_text(json.dumps(content), encoding="utf-8")
    os.replace(temporary, path)
