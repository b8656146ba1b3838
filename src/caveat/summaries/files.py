"""One file for one summary: arrays without pickle, and a header in JSON.

Arrays that are the same are written once: several metrics rest on the same sums. Reading checks
all sizes and goes through the constructors, so that a file can hold nothing that samples could not
have given, and never runs code.
"""

import json
import zipfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .._writing import replacing
from ..exceptions import CaveatError, FileFormatError
from ..metrics.state_files import checked_state, increasing
from ..metrics.states import State
from ..predictions.files import build_prediction, header_of, read_header, read_member
from .cells import CELLS
from .kept import Kept
from .parts import Distribution, Part
from .summary import ALL, About, Summary

__all__ = ["is_summary", "load_summary", "save_summary"]

VERSION = 1
_NAME = "summary"
_MOST_BYTES = 2**31


@dataclass
class _Writer:
    """Arrays by number; equal ones have the same."""

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    _known: dict[tuple[Any, ...], str] = field(default_factory=dict)

    def add(self, array: np.ndarray | None) -> str | None:
        """Return the name of an array in the file."""
        if array is None:
            return None
        array = np.ascontiguousarray(array)
        key = array.dtype.str, array.shape, hash(array.tobytes())
        name = self._known.setdefault(key, f"a{len(self.arrays)}")
        self.arrays.setdefault(name, array)
        return name


def save_summary(summary: Summary, path: str | PathLike[str]) -> None:
    """Write a summary; the file appears when it is complete."""
    out = _Writer()
    header = {
        "version": VERSION,
        "about": asdict(summary.about),
        "parts": [[*place, _part(part, out)] for place, part in summary.parts.items()],
        "kept": None if summary.kept is None else _kept(summary.kept, out),
    }
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    arrays: dict[str, Any] = {_NAME: text, **out.arrays}
    with replacing(path) as beside, beside.open("wb") as file:
        np.savez_compressed(file, **arrays)


def _part(part: Part, out: _Writer) -> dict[str, Any]:
    table = None
    if part.table is not None:
        flat = part.table.ravel()
        held = np.flatnonzero(flat).astype(np.int64)
        table = [out.add(held), out.add(flat[held])]
    return {
        "samples": part.samples,
        "mass": part.mass,
        "square": part.square,
        "table": table,
        "states": [[list(key), _state(state, out)] for key, state in part.states.items()],
        "distributions": [
            [list(key), out.add(one.columns), out.add(one.counts), one.total, one.square]
            for key, one in part.distributions.items()
        ],
    }


def _state(state: State, out: _Writer) -> dict[str, Any]:
    return {
        "options": dict(state.options), "shape": dict(state.shape), "samples": state.samples,
        "plain": state.plain,
        "totals": [[out.add(array) for array in pair] for pair in state.totals],
        "units": [[out.add(array) for array in pair] for pair in state.units],
    }  # fmt: skip


def _kept(kept: Kept, out: _Writer) -> dict[str, Any]:
    arrays = {name: out.add(getattr(kept.prediction, name)) for name in kept.prediction._arrays}
    return {
        "prediction": header_of(kept.prediction),
        "arrays": arrays,
        "keys": out.add(kept.keys),
        "y": out.add(kept.y),
        "weight": out.add(kept.weight),
        "cluster": out.add(kept.cluster),
        "groups": {name: out.add(values) for name, values in kept.groups.items()},
    }


def is_summary(path: Path) -> bool:
    """Whether a file holds a summary."""
    try:
        with zipfile.ZipFile(path) as archive:
            return f"{_NAME}.npy" in archive.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        return False


def load_summary(path: str | PathLike[str]) -> Summary:
    """Read a summary that `Summary.save` wrote."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > _MOST_BYTES:
            raise FileFormatError(f"it unfolds to {size:,} bytes, more than any summary")
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(read_member(file, _NAME).tobytes().decode())

            def get(name: str | None) -> Any:
                return None if name is None else read_member(file, name)

            return _restored(header, get)
    except CaveatError as error:
        raise FileFormatError(f"{path} does not hold a valid summary: {error}") from error
    except (
        zipfile.BadZipFile, ValueError, LookupError, TypeError, AttributeError, EOFError, OSError,
        RecursionError,
    ) as error:  # fmt: skip
        raise FileFormatError(f"{path} is damaged, or no summary: {error}") from error


Get = Callable[[str | None], Any]


def _restored(header: dict[str, Any], get: Get) -> Summary:
    if header["version"] != VERSION:
        raise FileFormatError(
            f"written in version {header['version']} of the format, and this caveat reads "
            f"{VERSION}; install a newer one"
        )
    given = header["about"]
    about = About(
        kind=str(given["kind"]),
        members=int(given["members"]),
        shared=tuple((str(k), tuple(v) if isinstance(v, list) else v) for k, v in given["shared"]),
        truth=bool(given["truth"]),
        weighted=bool(given["weighted"]),
        clustered=bool(given["clustered"]),
        attributes=tuple(map(str, given["attributes"])),
        metrics=None if given["metrics"] is None else tuple(map(str, given["metrics"])),
    )
    parts = {
        (str(name), str(value)): _read_part(part, get) for name, value, part in header["parts"]
    }
    if ALL not in parts:
        raise FileFormatError("there are no sums of all samples")
    kept = None if header["kept"] is None else _read_kept(header["kept"], get, about)
    return Summary(about, parts, kept)


def _read_part(part: dict[str, Any], get: Get) -> Part:
    samples, table = int(part["samples"]), None
    if part["table"] is not None:
        held, counts = (get(name) for name in part["table"])
        whole = held.ndim == counts.ndim == 1 and held.dtype == counts.dtype == np.int64
        if not whole or len(held) != len(counts) or not increasing(held, 2 * CELLS):
            raise FileFormatError("a table does not have the shape of counts")
        if (counts < 0).any() or counts.sum() != samples:
            raise FileFormatError(f"the counts of a table are not those of {samples} samples")
        flat = np.zeros(2 * CELLS, dtype=np.int64)
        flat[held] = counts
        table = flat.reshape(CELLS, 2)
    states = {tuple(key): _read_state(key[0], state, get) for key, state in part["states"]}
    distributions = {}
    for key, columns, counts, total, square in part["distributions"]:
        held, mass = get(columns), get(counts)
        if held.dtype != np.int64 or mass.shape != held.shape or not increasing(held):
            raise FileFormatError("a distribution does not have the shape of counts")
        distributions[tuple(key)] = Distribution(
            held, mass.astype(np.float64), float(total), float(square)
        )
    mass, square = float(part["mass"]), float(part["square"])
    return Part(samples, mass, square, table, states, distributions)


def _read_state(name: str, state: dict[str, Any], get: Get) -> State:
    totals, units = (
        tuple((get(columns), get(sums)) for columns, sums in state[kind])
        for kind in ("totals", "units")
    )
    return checked_state(name, state, totals, units)


def _read_kept(kept: dict[str, Any], get: Get, about: About) -> Kept:
    kind, header = read_header(json.dumps(kept["prediction"]))
    if kind.__name__ != about.kind:
        raise FileFormatError(f"the samples are of a {kind.__name__}, the sums of a {about.kind}")
    arrays = {name: get(kept["arrays"][name]) for name in kind._arrays}
    prediction = build_prediction(kind, header, arrays)
    groups = {str(name): get(values) for name, values in kept["groups"].items()}
    result = Kept(
        get(kept["keys"]), prediction, get(kept["y"]), get(kept["weight"]), get(kept["cluster"]),
        groups,
    )  # fmt: skip
    given = (result.keys, result.y, result.weight, result.cluster, *groups.values())
    for array in given:
        if array is not None and len(array) != len(prediction):
            raise FileFormatError("the samples do not have one entry of each kind")
    return result
