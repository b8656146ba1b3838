"""Which segments can be used: gaps, flat and clipped ones, rates and units that cannot be right."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray, check_choice, check_number
from ..exceptions import InvalidValueError, ShapeError
from .container import Signals

__all__ = [
    "Screening",
    "check_heart_rate",
    "check_pressures",
    "heart_rate",
    "quality_index",
    "screen",
]

KPA = 7.50062
"""Millimeters of mercury in a kilopascal."""

_SLOWEST = 0.45
"""Slower changes are breathing and movements, in Hz."""

_RATES = (30.0, 220.0)
"""Heart rates that people have, beats a minute."""


def heart_rate(X: Any, sampling_rate: float) -> FloatArray:
    """Return the rate of the strongest rhythm of each segment, in beats a minute.

    It is the lag of the first large peak of the autocorrelation, between 0.08 and 2 s, refined by a
    parabola; changes below 0.45 Hz are left out. NaN for a flat segment and one with gaps.

    Parameters
    ----------
    X : array of shape (samples, time)
        One channel.
    sampling_rate : float

    Returns
    -------
    ndarray of shape (samples,)

    Examples
    --------
    >>> import numpy as np
    >>> time = np.arange(1000) / 100
    >>> heart_rate(np.sin(2 * np.pi * 1.2 * time)[None], 100).round()
    array([72.])
    """
    X = _two_axes(X)
    rate = check_number(sampling_rate, "sampling_rate", closed="neither")
    length = X.shape[1]
    centered = X - X.mean(axis=1, keepdims=True)
    size = 2 ** int(np.ceil(np.log2(2 * length)))
    power = np.abs(np.fft.rfft(centered, size, axis=1)) ** 2
    power[:, np.fft.rfftfreq(size, 1 / rate) < _SLOWEST] = 0
    correlation = np.fft.irfft(power, size, axis=1)[:, :length]
    # Fewer products at longer lags; without this a slow rhythm would seem weaker.
    correlation = correlation / np.arange(length, 0, -1)
    first, last = max(2, round(0.08 * rate)), min(round(2 * rate), length // 2)
    result = np.full(len(X), np.nan)
    spread = correlation[:, 0]
    usable = np.isfinite(spread) & (spread > 1e-12 * np.maximum(1, (X**2).mean(axis=1)))
    if last <= first + 1:
        return result
    window = correlation[:, first - 1 : last + 1]
    inner = window[:, 1:-1]
    peaks = (inner > window[:, :-2]) & (inner >= window[:, 2:])
    best = np.where(peaks, inner, -np.inf).max(axis=1, keepdims=True)
    usable &= best[:, 0] > 0
    # Twice the period gives as high a peak; the first that is nearly as high is the period.
    place = (peaks & (inner >= 0.8 * best)).argmax(axis=1)
    rows = np.flatnonzero(usable)
    lag = place[rows] + 1
    before, at, after = (window[rows, lag + step] for step in (-1, 0, 1))
    shift = 0.5 * (before - after) / (before - 2 * at + after)
    result[rows] = 60 * rate / (place[rows] + first + shift)
    return result


def quality_index(X: Any, sampling_rate: float, kind: str = "skewness") -> FloatArray:
    """Return the quality of each segment of one channel; more is better.

    Parameters
    ----------
    X : array of shape (samples, time)
    sampling_rate : float
    kind : {"skewness", "band-power"}, default="skewness"
        "skewness": of the values, which a clean pulse wave has above 0 and noise about 0 [1]_.
        "band-power": the share of the power from 0.5 to 8 Hz, where a pulse wave lies.

    Returns
    -------
    ndarray of shape (samples,)
        NaN for a flat segment and one with gaps.

    References
    ----------
    .. [1] Elgendi, Optimal signal quality index for photoplethysmogram signals, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.signals import make_af_ppg, quality_index
    >>> clean = make_af_ppg(subjects=4, segments=5, noise=0.0, random_state=0)
    >>> noise = np.random.default_rng(0).normal(size=(20, clean.X.shape[2]))
    >>> bool(quality_index(clean.X[:, 0], 32).min() > quality_index(noise, 32).max())
    True
    """
    X = _two_axes(X)
    rate = check_number(sampling_rate, "sampling_rate", closed="neither")
    check_choice(kind, "kind", ("skewness", "band-power"))
    centered = X - X.mean(axis=1, keepdims=True)
    variance = (centered**2).mean(axis=1)
    flat = ~(variance > 1e-12 * np.maximum(1, (X**2).mean(axis=1)))
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind == "skewness":
            value = (centered**3).mean(axis=1) / variance**1.5
        else:
            power = np.abs(np.fft.rfft(centered, axis=1)) ** 2
            at = np.fft.rfftfreq(X.shape[1], 1 / rate)
            value = power[:, (at >= 0.5) & (at <= 8)].sum(axis=1) / power.sum(axis=1)
    return np.where(flat, np.nan, value)


@dataclass(frozen=True, eq=False)
class Screening:
    """Segments that can be used, and those that were dropped with the reason.

    Attributes
    ----------
    signals : Signals
        What is left.
    kept : ndarray of int
        Their rows before.
    dropped : tuple of (int, str)
        Row and reason of each dropped segment.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.signals import Signals, screen
    >>> X = np.random.default_rng(0).normal(size=(4, 1, 200)).cumsum(axis=2)
    >>> X[1], X[2, 0, 5] = 3.0, np.nan
    >>> print(screen(Signals(X, 50)))
    2 of 4 segments kept; dropped: 1 flat, 1 with gaps
    """

    signals: Signals
    kept: NDArray[np.int64]
    dropped: tuple[tuple[int, str], ...]

    @property
    def reasons(self) -> dict[str, int]:
        """How many segments were dropped for each reason."""
        result: dict[str, int] = {}
        for _, reason in self.dropped:
            result[reason] = result.get(reason, 0) + 1
        return result

    def to_frame(self) -> Any:
        """Return a pandas frame with one row for each dropped segment."""
        import pandas as pd

        return pd.DataFrame(list(self.dropped), columns=["segment", "reason"])

    def __str__(self) -> str:
        total = len(self.kept) + len(self.dropped)
        words = ", ".join(f"{count} {reason}" for reason, count in self.reasons.items())
        return f"{len(self.kept)} of {total} segments kept; dropped: {words or 'none'}"


def screen(
    signals: Signals,
    *,
    clipped: float | None = 0.1,
    quality: Mapping[str, float] | None = None,
    rates: tuple[float, float] | None = None,
    channel: str | None = None,
    targets: bool = True,
) -> Screening:
    """Drop segments that cannot be used, and say why.

    Parameters
    ----------
    signals : Signals
    clipped : float or None, default=0.1
        Largest share of a segment's values that may lie at its highest or at its lowest value, in
        runs of at least three; None does not ask.
    quality : dict of str to float, optional
        Least values of `quality_index` by kind: ``{"skewness": 0.0}``.
    rates : pair of float, optional
        Lowest and highest heart rate, beats a minute; ``(30, 220)`` for people.
    channel : str, optional
        The channel whose quality and heart rate are asked; by default the first.
    targets : bool, default=True
        Whether segments with a missing target are dropped as well.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.signals import make_af_ppg, screen
    >>> print(screen(make_af_ppg(subjects=4, segments=5, random_state=0), rates=(30, 220)))
    20 of 20 segments kept; dropped: none
    """
    words = np.array(
        reasons_of(
            signals, clipped=clipped, quality=quality, rates=rates, channel=channel, targets=targets
        ),
        dtype=object,
    )
    dropped = tuple((int(row), str(words[row])) for row in np.flatnonzero(words != ""))
    kept = np.flatnonzero(words == "")
    if not len(kept):
        counts = Screening(signals, kept, dropped).reasons
        raise InvalidValueError(
            "no segment can be used: " + ", ".join(f"{n} {r}" for r, n in counts.items())
        )
    return Screening(signals.take(kept), kept, dropped)


def reasons_of(
    signals: Signals,
    *,
    clipped: float | None = 0.1,
    quality: Mapping[str, float] | None = None,
    rates: tuple[float, float] | None = None,
    channel: str | None = None,
    targets: bool = True,
) -> list[str]:
    """Return why each segment cannot be used, empty where it can; the options are of `screen`."""
    X = signals.X
    reasons: list[tuple[str, Any]] = []
    if targets and signals.y is not None and signals.y.dtype.kind == "f":
        missing = ~np.isfinite(signals.y.reshape(len(X), -1)).all(axis=1)
        reasons.append(("without a target", missing))
    gaps = ~np.isfinite(X).all(axis=(1, 2))
    reasons.append(("with gaps", gaps))
    filled = np.where(np.isfinite(X), X, 0.0)
    size = np.abs(filled).max(axis=2)
    flat = (filled.max(axis=2) - filled.min(axis=2) <= 1e-9 * np.maximum(size, 1e-300)).any(axis=1)
    reasons.append(("flat", flat))
    if clipped is not None:
        share = check_number(clipped, "clipped", 0, 1)
        reasons.append(("clipped", (_clipped(filled) > share).any(axis=1)))
    one = (signals if channel is None else signals.select(channel)).X[:, 0]
    one = np.where(np.isfinite(one), one, 0.0)
    for kind, least in (quality or {}).items():
        value = quality_index(one, signals.sampling_rate, kind)
        low = np.asarray(~(value >= check_number(least, kind, -np.inf)))
        reasons.append((f"of low quality ({kind})", low))
    if rates is not None:
        slow, fast = (check_number(each, "rates") for each in rates)
        beats = heart_rate(one, signals.sampling_rate)
        wrong = np.asarray(~((beats >= slow) & (beats <= fast)))
        reasons.append((f"with a rate outside {slow:g} to {fast:g}", wrong))
    words = np.full(len(X), "", dtype=object)
    for reason, bad in reversed(reasons):
        words[bad] = reason
    return [str(word) for word in words]


def _clipped(X: FloatArray) -> FloatArray:
    """Return the share of values in runs of three or more at either end of a segment's range."""
    shares = []
    for end in (X.max(axis=2, keepdims=True), X.min(axis=2, keepdims=True)):
        at = np.equal(X, end)
        inner = at[..., 1:-1] & at[..., :-2] & at[..., 2:]
        run = np.zeros_like(at)
        for step in range(3):
            run[..., step : step + inner.shape[-1]] |= inner
        shares.append(run.mean(axis=2))
    return np.maximum(*shares)


def check_heart_rate(signals: Signals, *, channel: str | None = None) -> None:
    """Raise if the heart rates say that the sampling rate is wrong.

    Parameters
    ----------
    signals : Signals
        Pulse waves or electrocardiograms.
    channel : str, optional
        By default the first.

    Examples
    --------
    >>> from caveat.signals import Signals, check_heart_rate, make_af_ppg
    >>> signals = make_af_ppg(subjects=4, segments=5, random_state=0)
    >>> check_heart_rate(signals)
    >>> check_heart_rate(Signals(signals.X, 160))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    caveat.exceptions.InvalidValueError: the median heart rate is ... beats a minute at 160 Hz; ...
    """
    one = (signals if channel is None else signals.select(channel)).X[:, 0]
    beats = heart_rate(one, signals.sampling_rate)
    known = beats[np.isfinite(beats)]
    if not len(known):
        raise InvalidValueError("no segment has a rhythm: all are flat, or have gaps")
    middle = float(np.median(known))
    if not _RATES[0] <= middle <= _RATES[1]:
        guess = signals.sampling_rate * 75 / middle
        raise InvalidValueError(
            f"the median heart rate is {middle:.0f} beats a minute at {signals.sampling_rate:g} "
            f"Hz; people have {_RATES[0]:g} to {_RATES[1]:g}. Check sampling_rate: about "
            f"{guess:.2g} Hz would give 75"
        )


def check_pressures(y: Any, *, unit: str = "mmHg") -> FloatArray:
    """Return systolic and diastolic pressures in mmHg; raise if they cannot be such.

    Parameters
    ----------
    y : array of shape (samples, 2)
        Systolic, then diastolic; NaN is missing.
    unit : {"mmHg", "kPa"}, default="mmHg"
        What they are given in.

    Returns
    -------
    ndarray of shape (samples, 2)

    Examples
    --------
    >>> check_pressures([[16.0, 10.7]], unit="kPa").round()
    array([[120.,  80.]])
    """
    check_choice(unit, "unit", ("mmHg", "kPa"))
    array = np.asarray(y, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ShapeError(f"y must have shape (samples, 2); got {array.shape}")
    known = array[np.isfinite(array).all(axis=1)]
    if not len(known):
        raise InvalidValueError("no segment has both pressures")
    systolic, diastolic = np.median(known, axis=0)
    if diastolic > systolic:
        raise InvalidValueError(
            f"the first column has a median of {systolic:.3g} and the second of {diastolic:.3g}; "
            "the systolic pressure, which is the higher one, comes first"
        )
    factor = 1.0 if unit == "mmHg" else KPA
    if not 60 <= systolic * factor <= 260:
        other = "kPa" if unit == "mmHg" else "mmHg"
        ratio = KPA if other == "kPa" else 1.0
        advice = f'pass unit="{other}"' if 60 <= systolic * ratio <= 260 else "check the units"
        raise InvalidValueError(
            f"the median systolic pressure is {systolic:.3g} {unit}, which people do not have; "
            f"{advice}"
        )
    return array * factor


def _two_axes(X: Any) -> FloatArray:
    array = np.asarray(X, dtype=np.float64)
    if array.ndim != 2 or 0 in array.shape:
        raise ShapeError(f"X must have shape (samples, time), one channel; got {array.shape}")
    return array
