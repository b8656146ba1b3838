"""Files of states: arrays without pickle, and a header in JSON."""

import json
import zipfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import FileFormatError, OptionError
from .registry import METRICS
from .states import State, SumPairs, value_of
from .units import UNITS

__all__ = ["checked_state", "increasing", "load_state", "save_state"]

_VERSION = 1
_MOST_BYTES = 2**30


def save_state(state: State, path: str | PathLike[str]) -> None:
    """Write a state to a file; see `State.save`."""
    for name, value in state.options.items():
        if callable(value):
            raise OptionError(f"the option {name} is a function, which a file cannot hold")
    header = {
        "version": _VERSION, "metric": state.metric, "options": dict(state.options),
        "shape": dict(state.shape), "samples": state.samples, "plain": state.plain,
        "parts": len(state.totals),
    }  # fmt: skip
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    arrays: dict[str, Any] = {
        f"{kind}_{i}_{name}": array
        for kind, pairs in (("totals", state.totals), ("units", state.units))
        for i, pair in enumerate(pairs)
        for name, array in zip(("columns", "sums"), pair, strict=True)
    }
    with Path(path).open("wb") as file:
        np.savez_compressed(file, state=text, **arrays)


def load_state(path: str | PathLike[str]) -> State:
    """Read a state that `State.save` wrote.

    Parameters
    ----------
    path : str or path

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import caveat
    >>> from caveat.metrics import METRICS
    >>> state = METRICS["accuracy"].state([0, 1, 1], [0.2, 0.7, 0.4])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     state.save(pathlib.Path(folder, "monday.state"))
    ...     again = caveat.load(pathlib.Path(folder, "monday.state"))
    >>> round(METRICS["accuracy"].value(state + again), 3)
    0.667
    """
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > _MOST_BYTES:
            raise FileFormatError(f"{path} unfolds to {size:,} bytes, more than any state")
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(file["state"].tobytes().decode())
            if header["version"] != _VERSION:
                raise FileFormatError(f"version {header['version']} of states is not known")
            totals, units = (
                tuple(
                    (file[f"{kind}_{i}_columns"], file[f"{kind}_{i}_sums"])
                    for i in range(int(header["parts"]))
                )
                for kind in ("totals", "units")
            )
            return checked_state(header["metric"], header, totals, units)
    except FileFormatError:
        raise
    except (zipfile.BadZipFile, ValueError, LookupError, TypeError, EOFError) as error:
        raise FileFormatError(f"{path} is no state of a metric: {error}") from error


def checked_state(name: str, header: Mapping[str, Any], totals: SumPairs, units: SumPairs) -> State:
    """Return a state from what a file holds; raise if samples could not have given it."""
    for kind, pairs, rows in (("totals", totals, 1), ("units", units, UNITS)):
        for columns, sums in pairs:
            fits = columns.ndim == 1 and sums.shape == (rows, len(columns))
            if not (fits and columns.dtype == np.int64 and sums.dtype == np.float64):
                raise FileFormatError(f"the {kind} of {name} do not have the shape of sums")
            if not increasing(columns):
                raise FileFormatError(f"the {kind} of {name} are not in order")
    metric = METRICS[name]
    shape = {str(key): int(number) for key, number in header["shape"].items()}
    state = State(
        metric.name, dict(header["options"]), shape, int(header["samples"]), bool(header["plain"]),
        totals, units,
    )  # fmt: skip
    value_of(metric, state)  # raises if the sums do not fit the metric
    return state


def increasing(columns: np.ndarray, end: int | None = None) -> bool:
    """Whether columns are in order, from 0 on and below an end."""
    if not len(columns):
        return True
    inside = columns[0] >= 0 and (end is None or columns[-1] < end)
    return bool(inside and (np.diff(columns) > 0).all())
