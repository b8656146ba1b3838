"""A folder from which a killed experiment goes on: a small file for each finished condition."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .._arrays import is_frame
from .._validation import is_integer
from .._writing import PARTIAL, read_json, write_json
from ..exceptions import FileFormatError, OptionError

_VERSION = 1
_DELETE = "delete it"


def check_seed(checkpoint: Any, random_state: Any) -> None:
    """Raise if a checkpoint is asked for and a later run would not draw the same."""
    if checkpoint is not None and not is_integer(random_state):
        raise OptionError(
            "checkpoint needs random_state to be an integer, so that a later run draws the same; "
            f"got {random_state!r}"
        )


class Folder:
    """Finished conditions of one experiment.

    Parameters
    ----------
    path : path
    mark : str
        A fingerprint of all that decides the result; a folder with another one is refused.
    """

    def __init__(self, path: Any, mark: str) -> None:
        self.path = Path(path)
        if self.path.exists() and not self.path.is_dir():
            raise OptionError(f"checkpoint {str(path)!r} is a file; name a folder")
        label = self.path / "experiment.json"
        result = read_json(label, _DELETE) if label.exists() else None
        if result is None and self.path.exists() and any(_foreign(p) for p in self.path.iterdir()):
            raise OptionError(
                f"checkpoint {str(path)!r} holds other files; name an empty or a new folder"
            )
        if result is not None and result.get("version", 0) > _VERSION:
            raise FileFormatError(f"{label} was written by a newer version of caveat; update it")
        if result is not None and result.get("experiment") != mark:
            raise OptionError(
                f"checkpoint {str(path)!r} belongs to another experiment (data, model, protocol or "
                "seed differ); name another folder or delete it"
            )
        self.path.mkdir(parents=True, exist_ok=True)
        if result is None:
            write_json(label, {"version": _VERSION, "experiment": mark})
        (self.path / "conditions").mkdir(exist_ok=True)

    @property
    def networks(self) -> Path:
        """Where trainings of networks keep their state."""
        return self.path / "networks"

    def load(
        self, names: Iterable[str], restore: Callable[[dict[str, Any]], Any]
    ) -> dict[str, Any]:
        """Return what was measured of the finished conditions, by name."""
        result = {}
        for name in names:
            path = self._file(name)
            if path.exists():
                try:
                    result[name] = restore(read_json(path, _DELETE))
                except (AttributeError, KeyError, TypeError, ValueError):
                    raise FileFormatError(
                        f"{path} cannot be read; delete it to run its condition again"
                    ) from None
        return result

    def save(self, name: str, outcome: Any) -> None:
        """Write what was measured of a finished condition."""
        write_json(self._file(name), asdict(outcome))

    def _file(self, name: str) -> Path:
        return self.path / "conditions" / f"{name}.json"


def _foreign(path: Path) -> bool:
    """Whether something is not what a run leaves that was killed while it wrote its label."""
    return not path.name.startswith(PARTIAL)


def mark_of(arrays: tuple[Any, ...], *settings: Any) -> str:
    """Return a fingerprint of all that decides the result."""
    import joblib

    digest = hashlib.sha256(joblib.hash(tuple(map(_without_cache, arrays))).encode())
    digest.update(repr(settings).encode())
    return digest.hexdigest()


def _without_cache(value: Any) -> Any:
    """Return a frame with objects in place of nullable numbers, which remember what was asked."""
    if not is_frame(value):
        return value
    nullable = [name for name, kind in value.dtypes.items() if hasattr(kind, "numpy_dtype")]
    return value.astype(dict.fromkeys(nullable, object)) if nullable else value
