"""Segments of signals with their labels, subjects and sampling rate."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import to_numpy
from .._validation import as_column, as_labels, check_number
from ..exceptions import FileFormatError, LabelError, OptionError, ShapeError

__all__ = ["Signals"]

FORMAT = "caveat signals 1"


@dataclass(frozen=True, eq=False, repr=False)
class Signals:
    """Segments of signals, all of the same length.

    Parameters
    ----------
    X : array of shape (samples, channels, time) or (samples, time)
        Real numbers; NaN is a gap. One channel may go without its axis.
    sampling_rate : float
        Values a second, in Hz.
    y : array of shape (samples,) or (samples, targets), optional
        Classes, or numbers; NaN is a missing target.
    subject : array of shape (samples,), optional
        Whose segment it is. Without it there is no split by subject.
    channels : sequence of str, optional
        Names of the channels, all different.
    targets : sequence of str, optional
        Names of the columns of ``y``, with several targets.
    part : array of shape (samples,), optional
        The part of a published split that a segment belongs to.
    description : str, default=""
        Where the segments come from.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.signals import Signals
    >>> signals = Signals(np.zeros((4, 2, 500)), 125, y=[0, 1, 0, 1], channels=["ppg", "ecg"])
    >>> signals
    Signals: 4 segments of 4 s at 125 Hz, 2 channels (ppg, ecg)
    >>> signals.select("ecg").X.shape
    (4, 1, 500)
    """

    X: Any
    sampling_rate: float
    y: Any = None
    subject: Any = None
    channels: Sequence[str] | None = None
    targets: Sequence[str] | None = None
    part: Any = None
    description: str = ""

    def __post_init__(self) -> None:
        X = to_numpy(self.X, "X").array
        if X.ndim == 2:
            X = X[:, None]
        if X.ndim != 3 or 0 in X.shape:
            raise ShapeError(
                "X must have shape (samples, channels, time) or (samples, time), and none of them "
                f"may be 0; got {X.shape}"
            )
        if X.dtype.kind not in "iufb":
            raise ShapeError(f"X must hold real numbers; got type {X.dtype}")
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        rate = check_number(self.sampling_rate, "sampling_rate", closed="neither")
        own: dict[str, Any] = {"X": X, "sampling_rate": rate}
        own["y"], own["targets"] = _labels(self.y, self.targets, len(X))
        for name in ("subject", "part"):
            given = getattr(self, name)
            own[name] = None if given is None else as_column(given, name, len(X))
        names = as_labels(self.channels, "channels", X.shape[1], "channel")
        own["channels"] = tuple(str(name) for name in names.tolist())
        for name, value in own.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.X)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.X, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        parts = [f"{len(self):,} segments of {self.seconds:.4g} s at {self.sampling_rate:g} Hz"]
        names = tuple(self.channels or ())
        shown = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
        parts.append(f"{_counted(len(names), 'channel')} ({shown})")
        if self.subject is not None:
            parts.append(_counted(len(np.unique(self.subject)), "subject"))
        return f"Signals: {', '.join(parts)}"

    @property
    def seconds(self) -> float:
        """The length of a segment."""
        return float(self.X.shape[2] / self.sampling_rate)

    def take(self, rows: Any) -> "Signals":
        """Return the segments that a mask or an array of positions names."""
        rows = to_numpy(rows, "rows").array
        mask = rows.dtype == bool and rows.shape == (len(self),)
        inside = rows.dtype.kind in "iu" and bool(((-len(self) <= rows) & (rows < len(self))).all())
        if rows.ndim != 1 or not (mask or inside) or not self.X[rows].size:
            raise ShapeError(
                f"rows must be positions, or true or false for each of {len(self)} segments, and "
                f"name at least one; got type {rows.dtype} of shape {rows.shape}"
            )
        own = {name: getattr(self, name) for name in ("y", "subject", "part")}
        own = {name: None if value is None else value[rows] for name, value in own.items()}
        return replace(self, X=self.X[rows], **own)

    def select(self, *channels: str) -> "Signals":
        """Return some channels by name, in this order, whatever order they are held in."""
        known = list(self.channels or ())
        for name in channels:
            if name not in known:
                raise LabelError(f"there is no channel {name!r}; there are {', '.join(known)}")
        if len(set(channels)) != len(channels) or not channels:
            raise LabelError(f"name each channel once, and at least one; got {list(channels)}")
        places = [known.index(name) for name in channels]
        return replace(self, X=self.X[:, places], channels=channels)

    def with_targets(self) -> "Signals":
        """Return the segments whose targets are all known."""
        if self.y is None:
            raise OptionError("there is no y; pass Signals(..., y=labels)")
        if self.y.dtype.kind != "f":
            return self
        known = np.isfinite(self.y.reshape(len(self), -1)).all(axis=1)
        if not known.any():
            raise LabelError("no segment has all of its targets")
        return self.take(known)

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one NPZ file; `Signals.from_npz` reads it."""
        import json

        arrays = {"X": self.X}
        for name in ("y", "subject", "part"):
            if getattr(self, name) is not None:
                arrays[name] = getattr(self, name)
        words = {
            "format": FORMAT,
            "sampling_rate": self.sampling_rate,
            "channels": self.channels,
            "targets": self.targets,
            "description": self.description,
        }
        with open(path, "wb") as file:
            np.savez_compressed(file, about=np.array(json.dumps(words)), **arrays)

    @classmethod
    def from_npz(
        cls, path: str | PathLike[str], *, sampling_rate: float | None = None, **names: str
    ) -> "Signals":
        """Read an NPZ file: one of `save`, or any with arrays of these names.

        Parameters
        ----------
        path : str or path
        sampling_rate : float, optional
            For files that `save` did not write.
        **names : str
            Names of the arrays in such a file: ``X="ppg"``, ``y="label"``, ``subject="patient"``.
            By default they are called X, y, subject and part.

        Returns
        -------
        Signals

        Examples
        --------
        >>> import numpy as np
        >>> from caveat.signals import Signals
        >>> Signals(np.ones((3, 1, 50)), 25).save("three.npz")           # doctest: +SKIP
        >>> Signals.from_npz("three.npz")                                # doctest: +SKIP
        Signals: 3 segments of 2 s at 25 Hz, 1 channel (0)
        """
        import json

        strange = sorted(set(names) - {"X", "y", "subject", "part"})
        if strange:
            raise OptionError(f"names are those of X, y, subject and part; got {strange[0]!r}")
        arrays = read_npz(path)
        options: dict[str, Any] = {}
        if "about" in arrays:
            try:
                options = dict(json.loads(str(arrays["about"])))
            except (ValueError, TypeError):
                options = {}  # an array of someone else
            if options.pop("format", None) != FORMAT:
                raise FileFormatError(f"{path} is no file of {FORMAT!r}")
        elif sampling_rate is None:
            raise OptionError(f"{path} does not say its sampling rate; pass sampling_rate=")
        if sampling_rate is not None:
            options["sampling_rate"] = sampling_rate
        for name in ("X", "y", "subject", "part"):
            own = names.get(name, name)
            if own in arrays:
                options[name] = arrays[own]
            elif name == "X" or name in names:
                known = ", ".join(sorted(arrays)) or "none"
                raise FileFormatError(f"{path} has no array {own!r}; there are {known}")
        return cls(**options)


def read_npz(path: str | PathLike[str], trusted: bool = False) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file; pickled ones are read if the file is trusted."""
    from zipfile import BadZipFile

    try:
        with np.load(path, allow_pickle=trusted) as file:
            return {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise FileFormatError(f"there is no file {path}") from None
    except (ValueError, OSError, BadZipFile, AttributeError, EOFError, TypeError) as error:
        raise FileFormatError(f"{path} cannot be read as NPZ: {error}") from error


def same_rate(first: float, second: float) -> bool:
    """Whether two sampling rates are equal, up to the rounding of times they were read from."""
    return abs(first - second) <= 1e-4 * second


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _labels(y: Any, targets: Any, samples: int) -> tuple[Any, tuple[str, ...] | None]:
    if y is None:
        if targets is not None:
            raise OptionError("targets are names of the columns of y, which is missing")
        return None, None
    loaded = to_numpy(y, "y")
    array = loaded.array
    if array.ndim == 2 and array.shape[1] == 1 and targets is None and loaded.columns is None:
        array = array[:, 0]
    if array.shape[:1] != (samples,) or array.ndim > 2 or 0 in array.shape:
        raise ShapeError(
            f"y must have shape ({samples},) or ({samples}, targets); got {array.shape}"
        )
    if array.dtype == object:
        array = as_column(array, "y", samples)
    given = loaded.columns if targets is None else targets
    if given is None and array.ndim == 1:
        return array, None
    count = 1 if array.ndim == 1 else array.shape[1]
    return array, tuple(map(str, as_labels(given, "targets", count, "target").tolist()))
