"""Which segments can be used: gaps, flat and clipped ones, rates and units that cannot be right."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray, as_column, check_choice, check_number
from ..exceptions import InvalidValueError, OptionError, ShapeError
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

_PRESSURES = (("systolic", "diastolic"), ("sbp", "dbp"))
"""Names of targets that are pressures in mmHg."""

_LEAST_SYSTOLIC, _MOST_SYSTOLIC = 30.0, 300.0
"""Systolic pressures that can be, in mmHg; those in kPa lie below."""

_SLOWEST, _SLOW = 0.1, 1.75
"""In Hz. Changes slower than the first are left out. Below the second they have less weight, as
breathing is there; but a pulse that seems so slow must be seen: the sampling rate is too low."""

_LONGEST = 8.0
"""Longest time from beat to beat that is looked at, in seconds: 7.5 beats a minute."""

_CLEAR, _SURE = 0.5, 0.7
"""Height of a clear peak, as a share of the highest one: of a single segment, whose beats may be
irregular, and where many segments decide together whether hearts seem too slow."""

_RATES = (30.0, 200.0)
"""Lowest and highest median heart rate of many segments of people, beats a minute."""


def heart_rate(X: Any, sampling_rate: float) -> FloatArray:
    """Return the rate of the strongest rhythm of each segment, in beats a minute.

    It is the lag of the first clear peak of the autocorrelation after its first zero, up to 8 s and
    half of a segment, refined by a parabola. A clear peak is at least half as high as the highest
    one. Changes below 1.75 Hz have a weight in proportion to their frequency, below 0.1 Hz none.
    NaN for a segment without rhythm, a flat one and one with gaps.

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
    return _rhythm(X, check_number(sampling_rate, "sampling_rate", closed="neither"), _CLEAR)


def _rhythm(X: FloatArray, rate: float, clear: float) -> FloatArray:
    length = X.shape[1]
    centered = _standardized(X)
    size = 2 ** int(np.ceil(np.log2(2 * length)))
    frequencies = np.fft.rfftfreq(size, 1 / rate)
    weight = np.where(frequencies < _SLOWEST, 0, np.minimum(frequencies / _SLOW, 1))
    power = np.abs(weight * np.fft.rfft(centered, size, axis=1)) ** 2
    last = min(round(_LONGEST * rate), length // 2)
    result = np.full(len(X), np.nan)
    if last < 3:
        return result
    # Sums of products, of which there are fewer at longer lags: chance peaks there stay low.
    window = np.fft.irfft(power, size, axis=1)[:, : last + 1]
    inner = window[:, 1:-1]
    peaks = (inner > window[:, :-2]) & (inner >= window[:, 2:])
    peaks &= np.logical_or.accumulate(window <= 0, axis=1)[:, 1:-1]
    best = np.where(peaks, inner, 0.0).max(axis=1, keepdims=True)
    rows = np.flatnonzero(best[:, 0] > 1e-12)
    lag = (peaks & (inner >= clear * best)).argmax(axis=1)[rows] + 1
    before, at, after = (window[rows, lag + step] for step in (-1, 0, 1))
    shift = 0.5 * (before - after) / (before - 2 * at + after)
    result[rows] = 60 * rate / (lag + shift)
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
    centered = _standardized(X)
    if kind == "skewness":
        return np.asarray((centered**3).mean(axis=1) / (centered**2).mean(axis=1) ** 1.5)
    power = np.abs(np.fft.rfft(centered, axis=1)) ** 2
    at = np.fft.rfftfreq(X.shape[1], 1 / rate)
    return np.asarray(power[:, (at >= 0.5) & (at <= 8)].sum(axis=1) / power.sum(axis=1))


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
        words = ", ".join(f"{count:,} {reason}" for reason, count in self.reasons.items())
        return f"{len(self.kept):,} of {total:,} segments kept; dropped: {words or 'none'}"


def screen(
    signals: Signals,
    *,
    flat: float = 0.25,
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
    flat : float, default=0.25
        Largest share of a segment that one stretch without any change may take; 1 drops only
        segments that are flat from start to end.
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
        Whether segments with a missing target are dropped as well, and, if the targets are called
        systolic and diastolic (or sbp and dbp), those whose pressures in mmHg cannot be: systolic
        below 30 or above 300, or diastolic not below systolic.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.signals import make_af_ppg, screen
    >>> print(screen(make_af_ppg(subjects=4, segments=5, random_state=0), rates=(30, 220)))
    20 of 20 segments kept; dropped: none
    """
    words = np.array(
        reasons_of(
            signals,
            flat=flat,
            clipped=clipped,
            quality=quality,
            rates=rates,
            channel=channel,
            targets=targets,
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
    flat: float = 0.25,
    clipped: float | None = 0.1,
    quality: Mapping[str, float] | None = None,
    rates: tuple[float, float] | None = None,
    channel: str | None = None,
    targets: bool = True,
) -> list[str]:
    """Return why each segment cannot be used, empty where it can; the options are of `screen`."""
    X = signals.X
    reasons: list[tuple[str, Any]] = []
    if targets and signals.y is not None and signals.y.dtype.kind in "fiu":
        missing = ~np.isfinite(signals.y.reshape(len(X), -1)).all(axis=1)
        reasons.append(("without a target", missing))
        reasons.append(("with impossible pressures", _impossible(signals)))
    gaps = ~np.isfinite(X).all(axis=(1, 2))
    reasons.append(("with gaps", gaps))
    filled = np.where(np.isfinite(X), X, 0.0)
    still = _longest_still(filled) > check_number(flat, "flat", 0, 1)
    reasons.append(("flat", (still | _flat(filled)).any(axis=1)))
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
        pair = np.atleast_1d(np.asarray(rates, dtype=object))
        if pair.shape != (2,):
            raise OptionError(f"rates must be the lowest and the highest rate; got {rates!r}")
        slow, fast = (check_number(each, "rates") for each in pair)
        beats = heart_rate(one, signals.sampling_rate)
        wrong = np.asarray(~((beats >= slow) & (beats <= fast)))
        reasons.append((f"with a rate outside {slow:g} to {fast:g}", wrong))
    words = np.full(len(X), "", dtype=object)
    for reason, bad in reversed(reasons):
        words[bad] = reason
    return [str(word) for word in words]


def _flat(X: FloatArray) -> NDArray[np.bool_]:
    """Return which segments differ from a constant by no more than rounding."""
    size = np.maximum(np.abs(X).max(axis=-1), 1e-300)
    return np.asarray(X.max(axis=-1) - X.min(axis=-1) <= 1e-9 * size)


def _longest_still(X: FloatArray) -> FloatArray:
    """Return the share of a segment that its longest stretch takes without more than rounding."""
    size = np.maximum(np.abs(X).max(axis=-1, keepdims=True), 1e-300)
    changes = np.abs(np.diff(X, axis=-1)) > 1e-9 * size
    steps = np.arange(1, X.shape[-1])
    last = np.maximum.accumulate(np.where(changes, steps, 0), axis=-1)
    return np.asarray((steps - last).max(axis=-1, initial=0) / max(len(steps), 1))


def _standardized(X: FloatArray) -> FloatArray:
    """Return segments around their mean, up to 1 from it, in any unit; NaN for flat ones."""
    X = np.where(np.isinf(X), np.nan, X)
    centered = X - X.mean(axis=1, keepdims=True)
    centered[_flat(X)] = np.nan
    return np.asarray(centered / np.abs(centered).max(axis=1, keepdims=True))


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

    The median over all segments must lie between 30 and 200 beats a minute. So a sampling rate that
    is wrong by a factor of 3 or more is found where hearts beat about 70 times a minute. A factor
    of 2 can leave a rate that some people have, and is not found.

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
    beats = _rhythm(one, signals.sampling_rate, _SURE)
    known = beats[np.isfinite(beats)]
    if not len(known):
        raise InvalidValueError("no segment has a rhythm: all are flat, or have gaps")
    middle = float(np.median(known))
    if not _RATES[0] <= middle <= _RATES[1]:
        guess = signals.sampling_rate * 75 / middle
        raise InvalidValueError(
            f"the median heart rate is {middle:.0f} beats a minute at {signals.sampling_rate:g} "
            f"Hz; that of people is from {_RATES[0]:g} to {_RATES[1]:g}. Check sampling_rate: "
            f"about {guess:.2g} Hz would give 75"
        )


def check_pressures(y: Any, *, unit: str = "mmHg", subject: Any = None) -> FloatArray:
    """Return systolic and diastolic pressures in mmHg; raise if they cannot be such.

    The medians of all segments and of each subject are judged, and no diastolic pressure may reach
    the systolic one of its row; `screen` drops such rows instead.

    Parameters
    ----------
    y : array of shape (samples, 2)
        Systolic, then diastolic; NaN is missing.
    unit : {"mmHg", "kPa"}, default="mmHg"
        What they are given in.
    subject : array of shape (samples,), optional
        Whose pressures they are; one subject may have another unit than the others.

    Returns
    -------
    ndarray of shape (samples, 2)

    Examples
    --------
    >>> check_pressures([[16.0, 10.7]], unit="kPa").round()
    array([[120.,  80.]])
    """
    array = in_mmhg(y, unit=unit, subject=subject)
    rows = np.flatnonzero(_not_below(array))
    if len(rows):
        shown = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
        raise InvalidValueError(
            f"the diastolic pressure is not below the systolic one in {len(rows):,} of "
            f"{len(array):,} rows: {shown}. Leave them out; screen does so"
        )
    return array


def in_mmhg(y: Any, *, unit: str = "mmHg", subject: Any = None) -> FloatArray:
    """Return pressures in mmHg; raise if all of them, or those of a subject, have another unit."""
    check_choice(unit, "unit", ("mmHg", "kPa"))
    array = np.asarray(y, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ShapeError(f"y must have shape (samples, 2); got {array.shape}")
    known = np.isfinite(array).all(axis=1)
    if not known.any():
        raise InvalidValueError("no segment has both pressures")
    _check_medians(array[known], unit, "")
    if subject is not None:
        own = as_column(subject, "subject", len(array))[known]
        for who in np.unique(own):
            _check_medians(array[known][own == who], unit, f" of subject {who!s}")
    return array * (1.0 if unit == "mmHg" else KPA)


def _check_medians(known: FloatArray, unit: str, whose: str) -> None:
    systolic, diastolic = np.median(known, axis=0)
    if diastolic > systolic:
        raise InvalidValueError(
            f"the first column{whose} has a median of {systolic:.3g} and the second of "
            f"{diastolic:.3g}; the systolic pressure, which is the higher one, comes first"
        )
    factor, other, ratio = (1.0, "kPa", KPA) if unit == "mmHg" else (KPA, "mmHg", 1.0)
    if _is_median(systolic * factor):
        return
    explained = _is_median(systolic * ratio)
    if whose and not explained:
        return  # a single person may be in shock
    advice = "check the units"
    if explained:
        advice = f"these look like {other}; convert them" if whose else f'pass unit="{other}"'
    raise InvalidValueError(
        f"the median systolic pressure{whose} is {systolic:.3g} {unit}, which people do not have; "
        f"{advice}"
    )


def _is_median(systolic: float) -> bool:
    """Whether people can have a median systolic pressure of so many mmHg."""
    return 60 <= systolic <= 260


def _not_below(pressures: FloatArray) -> NDArray[np.bool_]:
    return np.asarray(pressures[:, 1] >= pressures[:, 0])


def _impossible(signals: Signals) -> NDArray[np.bool_]:
    """Return which segments have pressures that cannot be, if the targets are pressures."""
    names = tuple(name.lower() for name in signals.targets or ())
    if names not in _PRESSURES:
        return np.zeros(len(signals), dtype=bool)
    y = np.asarray(signals.y, dtype=np.float64)
    outside = (y[:, 0] < _LEAST_SYSTOLIC) | (y[:, 0] > _MOST_SYSTOLIC)
    return np.asarray(outside | _not_below(y))


def _two_axes(X: Any) -> FloatArray:
    array = np.asarray(X, dtype=np.float64)
    if array.ndim != 2 or 0 in array.shape:
        raise ShapeError(f"X must have shape (samples, time), one channel; got {array.shape}")
    return array
