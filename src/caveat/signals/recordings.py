"""Long recordings, cut into segments: arrays, long tables, EDF and WFDB files."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._validation import as_floats, as_times, check_number
from ..exceptions import CaveatError, FileFormatError, InvalidValueError, OptionError, ShapeError
from .container import Signals

__all__ = ["cut", "read_edf", "read_long_csv", "read_wfdb"]


def cut(
    recording: Any,
    sampling_rate: float,
    *,
    window: float,
    hop: float | None = None,
    subject: Any = None,
    channels: Sequence[str] | None = None,
) -> Signals:
    """Cut a recording into segments.

    Parameters
    ----------
    recording : array of shape (time,) or (channels, time)
    sampling_rate : float
    window : float
        Seconds of a segment.
    hop : float, optional
        Seconds from the start of a segment to that of the next; by default ``window``. Segments
        that overlap are not independent: keep those of a subject in one part of a split.
    subject : label, optional
        Whose recording it is.
    channels : sequence of str, optional

    Returns
    -------
    Signals
        What is left at the end, and does not fill a segment, is left out.

    Examples
    --------
    >>> import numpy as np
    >>> cut(np.sin(np.arange(1000)), 100, window=4, hop=2, subject="a")
    Signals: 4 segments of 4 s at 100 Hz, 1 channel (0), 1 subject
    """
    array = np.atleast_2d(to_numpy(recording, "recording").array)
    if array.ndim != 2:
        raise ShapeError(f"recording must have shape (time,) or (channels, time); {array.shape}")
    rate = check_number(sampling_rate, "sampling_rate", closed="neither")
    length = steps(window, rate, "window")
    step = length if hop is None else steps(hop, rate, "hop")
    if array.shape[1] < length:
        raise ShapeError(
            f"the recording has {array.shape[1] / rate:.4g} s, less than one window of {window:g} s"
        )
    windows = np.lib.stride_tricks.sliding_window_view(array, length, axis=1)[:, ::step]
    X = np.ascontiguousarray(windows.transpose(1, 0, 2))
    whose = None if subject is None else np.array([subject] * len(X))
    return Signals(X, rate, subject=whose, channels=channels)


def steps(seconds: Any, rate: float, name: str) -> int:
    """Return a duration as a whole number of values; at least one."""
    count = round(check_number(seconds, name, closed="neither") * rate)
    if count < 1:
        raise OptionError(f"{name}={seconds:g} s is less than one value at {rate:g} Hz")
    return count


def read_long_csv(
    path: Any,
    *,
    value: str | Sequence[str],
    segment: str,
    time: str,
    target: str | Sequence[str] | None = None,
    subject: str | None = None,
    sampling_rate: float | None = None,
) -> Signals:
    """Read a long table: one row for each value in time.

    Parameters
    ----------
    path : str, path or frame
        A CSV file, or a frame of pandas.
    value : str or list of str
        Columns of the channels.
    segment : str
        Column that tells the segments apart, also those of different subjects; they come in the
        order of its values.
    time : str
        Column of the seconds since any start, or of dates; rows may be in any order, unless times
        repeat.
    target, subject : str, optional
        Columns of the labels (several for several targets) and the subject, constant in a segment.
    sampling_rate : float, optional
        By default what the times say, which must then be equally spaced (steps to a tenth, or each
        time to a fifth of a step, as rounded ones are), and of one rate in all segments, to 1 %.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"id": [1] * 4 + [2] * 4, "s": [0, 0.5, 1, 1.5] * 2, "ppg": range(8)})
    >>> read_long_csv(table, value="ppg", segment="id", time="s")
    Signals: 2 segments of 2 s at 2 Hz, 1 channel (ppg)
    """
    import pandas as pd

    if isinstance(path, pd.DataFrame):
        frame = path
    else:
        try:
            frame = pd.read_csv(path)
            if time in frame and pd.api.types.is_string_dtype(frame[time]):
                frame[time] = pd.to_datetime(frame[time], format="ISO8601", utc=True)
        except (OSError, ValueError) as error:
            raise FileFormatError(f"{path} cannot be read as a table: {error}") from error
    values = [value] if isinstance(value, str) else list(value)
    labels = [] if target is None else [target] if isinstance(target, str) else list(target)
    wanted = [*values, segment, time, *labels, *([] if subject is None else [subject])]
    for name in wanted:
        if name not in frame.columns:
            raise FileFormatError(f"there is no column {name!r}; there are {list(frame.columns)}")
    if frame.empty:
        raise FileFormatError("the table has no rows")
    missing = frame[segment].isna().to_numpy()
    if missing.any():
        raise InvalidValueError(f"{segment!r} of row {int(missing.argmax())} is missing")
    frame = frame.reset_index(drop=True).assign(**{time: _seconds(frame[time])})
    _refuse_two_in_one(frame, segment, time)
    frame = frame.sort_values([segment, time], kind="stable")
    sizes = frame.groupby(segment, sort=True, observed=True).size()
    if sizes.nunique() > 1:
        raise ShapeError(
            f"segments must have the same number of rows; {sizes.idxmin()} has {sizes.min()}, "
            f"{sizes.idxmax()} {sizes.max()}"
        )
    count, length = len(sizes), int(sizes.iloc[0])
    times = frame[time].to_numpy(np.float64).reshape(count, length)
    if sampling_rate is None:
        sampling_rate = _rate_of(times, sizes.index)
    first = frame.iloc[::length]
    for name in [*labels, *([] if subject is None else [subject])]:
        several = frame.groupby(segment, observed=True)[name].nunique(dropna=False) > 1
        if several.any():
            raise InvalidValueError(f"{name!r} changes within segment {several.idxmax()}")
    X = as_floats(frame[values], "value")[0].reshape(count, length, len(values)).transpose(0, 2, 1)
    y = None if not labels else first[labels[0] if isinstance(target, str) else labels].to_numpy()
    return Signals(
        X, sampling_rate, y=y, subject=None if subject is None else first[subject].to_numpy(),
        channels=values, targets=None if y is None or y.ndim == 1 else labels,
    )  # fmt: skip


def _seconds(column: Any) -> np.ndarray:
    """Return times as numbers; dates become the seconds since the first of them."""
    times = as_times(column, len(column))
    if times.dtype.kind == "M":
        times = (times - times.min()) / np.timedelta64(1, "s")
    return times.astype(np.float64)


def _refuse_two_in_one(frame: Any, segment: str, time: str) -> None:
    """Raise if times of a segment repeat, in rows whose order does not say which comes first."""
    back = frame.groupby(segment, observed=True)[time].diff() < 0
    unordered = frame[segment].isin(frame[segment][back.to_numpy()])
    mixed = frame[segment][(unordered & frame.duplicated([segment, time])).to_numpy()]
    if len(mixed):
        raise InvalidValueError(
            f"segment {mixed.iloc[0]} has times that repeat, as if it were several segments of one "
            f"name, such as those of several subjects; make {segment!r} a column that tells them "
            "apart"
        )


def _rate_of(times: np.ndarray, names: Any) -> float:
    gaps = np.diff(times, axis=1)
    if not gaps.size or not np.isfinite(gaps).all() or gaps.min() <= 0:
        raise InvalidValueError("times must be known and differ in a segment; pass sampling_rate=")
    typical, own = float(np.median(gaps)), gaps.mean(axis=1)
    uneven = np.abs(gaps - typical).max(axis=1) > 0.1 * typical
    # Times that were rounded have uneven steps, but each is near its place.
    even = np.linspace(times[:, 0], times[:, -1], times.shape[1], axis=1)
    uneven &= np.abs(times - even).max(axis=1) > 0.2 * typical
    if uneven.any():
        raise InvalidValueError(
            f"times of segment {names[uneven.argmax()]} are not equally spaced; resample it, or "
            "pass sampling_rate="
        )
    slow, fast = int(own.argmax()), int(own.argmin())
    # Either end of a segment may be 0.05 steps from its place.
    if own[slow] / own[fast] - 1 > max(0.01, 0.2 / gaps.shape[1]):
        raise InvalidValueError(
            f"segment {names[slow]} has {1 / own[slow]:.4g} values a second and segment "
            f"{names[fast]} {1 / own[fast]:.4g}; read those of each rate by themselves, and "
            "resample them"
        )
    return 1 / float(np.mean(gaps))


def read_edf(
    path: str | PathLike[str], *, window: float, hop: float | None = None, subject: Any = None
) -> Signals:
    """Read a recording from an EDF or BDF file; needs mne.

    Parameters
    ----------
    path : str or path
    window : float
        Seconds of a segment.
    hop : float, optional
        Seconds from one segment to the next; by default ``window``.
    subject : label, optional
        By default the name of the file.

    Returns
    -------
    Signals
        As mne has them: voltages in volts, other channels in units of their own, and all at the
        highest rate among them.
    """
    mne = imported("mne", "EDF files are")
    read = mne.io.read_raw_bdf if str(path).lower().endswith(".bdf") else mne.io.read_raw_edf
    try:
        raw = read(str(path), preload=True, verbose="error")
        starts, length = _starts(path)
    except (OSError, ValueError, RuntimeError, IndexError, AssertionError) as error:
        raise FileFormatError(f"{path} cannot be read as EDF: {error}") from error
    apart = np.abs(np.diff(starts) - length) > 0.01 * length
    if apart.any():
        end = starts[apart.argmax()] + length
        raise FileFormatError(
            f"{path} has a gap after {end - starts[0]:g} s (EDF+D), which mne leaves out; divide "
            "it into files without gaps"
        )
    whose = Path(path).stem if subject is None else subject
    return cut(
        raw.get_data(), raw.info["sfreq"], window=window, hop=hop, subject=whose,
        channels=raw.ch_names,
    )  # fmt: skip


def _starts(path: str | PathLike[str]) -> tuple[list[float], float]:
    """Return when the records of a discontinuous file start, and how long each one is.

    Nothing if the file says that it has no gaps. By the specification of EDF+ the first annotation
    of a record is its start.
    """
    with open(path, "rb") as file:
        head = file.read(256)
        if head[192:197] not in (b"EDF+D", b"BDF+D"):
            return [], 0.0
        count, length, channels = int(head[236:244]), float(head[244:252]), int(head[252:256])
        about = file.read(256 * channels)
        names = [about[16 * k :][4:15] for k in range(channels)]
        width = 2 if head[192:193] == b"E" else 3
        sizes = [width * int(about[216 * channels + 8 * k :][:8]) for k in range(channels)]
        place = names.index(b"Annotations")
        starts = []
        for record in range(count):
            file.seek(256 * (channels + 1) + record * sum(sizes) + sum(sizes[:place]))
            starts.append(float(file.read(sizes[place]).split(b"\x14")[0]))
    return starts, length


def read_wfdb(
    path: str | PathLike[str], *, window: float, hop: float | None = None, subject: Any = None
) -> Signals:
    """Read a record of PhysioNet's format, a header with its signals; needs wfdb.

    Parameters
    ----------
    path : str or path
        Path of the record, with or without the ending of its header.
    window : float
        Seconds of a segment.
    hop : float, optional
        Seconds from one segment to the next; by default ``window``.
    subject : label, optional
        By default the name of the record.

    Returns
    -------
    Signals
        In physical units.
    """
    wfdb = imported("wfdb", "WFDB files are")
    name = str(path).removesuffix(".hea")
    try:
        record = wfdb.rdrecord(name)
    except (OSError, ValueError, IndexError, AttributeError) as error:
        raise FileFormatError(f"{name} cannot be read as a WFDB record: {error}") from error
    if record.p_signal is None:
        raise FileFormatError(f"{name} is a WFDB record without signals")
    whose = record.record_name if subject is None else subject
    return cut(
        record.p_signal.T, record.fs, window=window, hop=hop, subject=whose,
        channels=record.sig_name,
    )  # fmt: skip


def imported(name: str, what: str) -> Any:
    """Return a module that may not be installed; ``what`` says what it reads."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        raise CaveatError(
            f"{what} read by {name.partition('.')[0]}, which is not installed: pip install "
            "'caveat[signals]'"
        ) from None
