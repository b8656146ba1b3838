"""One file of JSON for one repair; reading builds recalibrators from numbers and runs no code."""

import base64
import json
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import FileFormatError, OptionError
from ..recalibration import RECALIBRATORS, Recalibrator
from .changes import Change
from .result import CandidateRow, Repair

__all__ = ["is_repair", "load_repair", "save_repair"]

VERSION = 1
_START = b'{"caveat repair": '
_FIELDS = ("why", "by_group", "measure", "calibration_measure", "samples", "confidence")
_DTYPES = ("<f8", "<i8", "|b1", "<f4", "<i4")


def save_repair(repair: Repair, path: str | PathLike[str]) -> None:
    """Write a repair to one file."""
    content = {
        "caveat repair": VERSION,
        **{name: getattr(repair, name) for name in _FIELDS},
        "classes": _encode(repair.classes),
        "rows": [{k: _encode(v) for k, v in vars(row).items()} for row in repair.rows],
        "changes": [{k: _encode(v) for k, v in vars(one).items()} for one in repair.changes],
        "recalibrator": _encode(repair.recalibrator),
    }
    Path(path).write_text(json.dumps(content, allow_nan=False) + "\n", encoding="utf-8")


def is_repair(path: Path) -> bool:
    """Whether a file begins as those do that `save_repair` writes."""
    with path.open("rb") as file:
        return file.read(len(_START)) == _START


def load_repair(path: str | PathLike[str]) -> Repair:
    """Read a repair that `save_repair` wrote."""
    path = Path(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        version = content["caveat repair"]
        if version != VERSION:
            raise FileFormatError(
                f"{path} is a repair in version {version!r} of the format, and this caveat reads "
                f"{VERSION}; install a newer one"
            )
        return _repair(content)
    except FileFormatError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise FileFormatError(f"{path} is a damaged repair: {error}") from error


def _repair(content: dict[str, Any]) -> Repair:
    recalibrator, classes = (_decode(content[name]) for name in ("recalibrator", "classes"))
    if recalibrator is not None and not isinstance(recalibrator, Recalibrator):
        raise TypeError("it holds no recalibrator")
    rows = tuple(CandidateRow(**{k: _decode(v) for k, v in row.items()}) for row in content["rows"])
    changes = tuple(
        Change(**{k: _decode(v) for k, v in one.items()}) for one in content.get("changes", ())
    )
    return Repair(
        rows,
        str(content["why"]),
        recalibrator,
        bool(content["by_group"]),
        str(content["measure"]),
        str(content["calibration_measure"]),
        classes=classes,
        samples=int(content["samples"]),
        confidence=float(content["confidence"]),
        changes=changes,
    )


def _encode(value: Any) -> Any:
    """Return JSON for a value."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if np.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.ndarray) and value.dtype.kind in "fib":
        array = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
        text = base64.b64encode(array.tobytes()).decode("ascii")
        return {"array": text, "dtype": array.dtype.str, "shape": list(array.shape)}
    if type(value) in (list, tuple):
        return {type(value).__name__: [_encode(part) for part in value]}
    if type(value) is dict and all(type(key) is str for key in value):
        return {"dict": {key: _encode(part) for key, part in value.items()}}
    if isinstance(value, Recalibrator) and type(value) in _kinds().values():
        settings = value.get_params(deep=False)
        learned = {k: v for k, v in vars(value).items() if k not in settings}
        return {
            "recalibrator": type(value).__name__,
            "settings": {k: _encode(v) for k, v in settings.items()},
            "learned": {k: _encode(v) for k, v in learned.items()},
        }
    raise OptionError(
        f"a {type(value).__name__} cannot be saved: a repair holds recalibrators of caveat with "
        "settings that are numbers or texts"
    )


def _decode(value: Any) -> Any:
    """Return the value that JSON stands for."""
    if not isinstance(value, dict):
        return value
    tag = next(iter(value), "")
    if tag == "float":
        return float(value[tag])
    if tag == "array":
        if value["dtype"] not in _DTYPES:
            raise TypeError(f"it holds an array of the unknown type {value['dtype']!r}")
        raw = base64.b64decode(value[tag], validate=True)
        return np.frombuffer(raw, dtype=value["dtype"]).reshape(value["shape"]).copy()
    if tag in ("list", "tuple"):
        parts = [_decode(part) for part in value[tag]]
        return parts if tag == "list" else tuple(parts)
    if tag == "dict":
        return {key: _decode(part) for key, part in value[tag].items()}
    if tag == "recalibrator":
        return _recalibrator(value)
    raise TypeError(f"it holds a value of the unknown kind {tag!r}")


def _recalibrator(value: dict[str, Any]) -> Recalibrator:
    kind = _kinds()[value["recalibrator"]]
    made = kind(**{k: _decode(v) for k, v in value["settings"].items()})
    for name, part in value["learned"].items():
        public = name.isidentifier() and name.endswith("_") and not name.startswith("_")
        if not public and name != "_few":
            raise TypeError(f"{name!r} is no name of something learned")
        setattr(made, name, _decode(part))
    return made


def _kinds() -> dict[str, type[Recalibrator]]:
    return {name: entry.recalibrator for name, entry in RECALIBRATORS.items()}
