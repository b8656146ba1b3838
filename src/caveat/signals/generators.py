"""Signals that are labeled by construction: pulse waves and electroencephalograms."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._random import RandomState, generator
from .._validation import FloatArray, check_integer, check_number
from .container import Signals

__all__ = ["EEG_CHANNELS", "make_af_ppg", "make_motor_imagery", "make_pressure_ppg"]

EEG_CHANNELS = (
    "Fz", "FC3", "FC1", "FCz", "FC2", "FC4", "C5", "C3", "C1", "Cz", "C2", "C4", "C6", "CP3",
    "CP1", "CPz", "CP2", "CP4", "P1", "Pz", "P2", "POz",
)  # fmt: skip
"""The 22 channels of BCI Competition IV 2a."""

_PLACES = {
    "Fz": (0, 2), "FC3": (-2, 1), "FC1": (-1, 1), "FCz": (0, 1), "FC2": (1, 1), "FC4": (2, 1),
    "C5": (-3, 0), "C3": (-2, 0), "C1": (-1, 0), "Cz": (0, 0), "C2": (1, 0), "C4": (2, 0),
    "C6": (3, 0), "CP3": (-2, -1), "CP1": (-1, -1), "CPz": (0, -1), "CP2": (1, -1), "CP4": (2, -1),
    "P1": (-1, -2), "Pz": (0, -2), "P2": (1, -2), "POz": (0, -3),
}  # fmt: skip


def make_af_ppg(
    subjects: int = 40,
    segments: int = 25,
    *,
    seconds: float = 25.0,
    sampling_rate: float = 32.0,
    af_share: float = 0.38,
    noise: float = 0.2,
    difficulty: float = 0.3,
    random_state: RandomState = None,
) -> Signals:
    """Draw pulse waves of people with and without atrial fibrillation.

    In sinus rhythm the intervals between beats follow breathing; in atrial fibrillation they are
    irregular, and the height of a beat grows with the interval before it, in which the heart fills.
    Each subject has its own rate, shape of the pulse and level of noise, and one of the rhythms.

    Parameters
    ----------
    subjects : int, default=40
        How many people.
    segments : int, default=25
        How many segments of each.
    seconds : float, default=25.0
        Length of a segment; by default that of DeepBeat: 800 values.
    sampling_rate : float, default=32.0
    af_share : float, default=0.38
        Share of the subjects with atrial fibrillation, at least one of either kind.
    noise : float, default=0.2
        Typical standard deviation of the noise, in heights of a pulse.
    difficulty : float, default=0.3
        From 0 to 1: how many of the segments of someone with fibrillation show it barely, and how
        many in sinus rhythm have extra beats.

    Returns
    -------
    Signals
        ``y`` is 1 for atrial fibrillation.

    Examples
    --------
    >>> make_af_ppg(subjects=10, segments=3, random_state=0)
    Signals: 30 segments of 25 s at 32 Hz, 1 channel (ppg), 10 subjects
    """
    people, each = check_integer(subjects, "subjects", 2), check_integer(segments, "segments")
    share = check_number(af_share, "af_share", 0, 1)
    level, hard = check_number(noise, "noise"), check_number(difficulty, "difficulty", 0, 1)
    length = _length(seconds, sampling_rate)
    rng = generator(random_state)
    ill = np.zeros(people, dtype=np.int64)
    ill[: min(max(round(share * people), 1), people - 1)] = 1
    ill = rng.permutation(ill)
    X = np.empty((people * each, 1, length))
    for person in range(people):
        rate = rng.normal(75, 10) + 12 * ill[person]
        shape = _shape(rng, stiffness=rng.normal(0.5, 0.15))
        own_noise = level * rng.lognormal(0, 0.4)
        for row in range(person * each, (person + 1) * each):
            mild = rng.random() < hard
            onset, height = _beats(rng, seconds, np.clip(rate, 45, 140), bool(ill[person]), mild)
            X[row, 0] = _pulse(onset, height, shape, length, sampling_rate)
            X[row, 0] += _disturbance(rng, length, sampling_rate, own_noise)
    return Signals(
        X, sampling_rate, y=np.repeat(ill, each), subject=np.repeat(np.arange(people), each),
        channels=["ppg"], description="generated pulse waves; 1: atrial fibrillation",
    )  # fmt: skip


def make_pressure_ppg(
    subjects: int = 40,
    segments: int = 25,
    *,
    seconds: float = 10.0,
    sampling_rate: float = 125.0,
    noise: float = 0.1,
    between: float = 8.0,
    random_state: RandomState = None,
) -> Signals:
    """Draw pulse waves whose shape depends on the blood pressure.

    A higher pressure makes the reflected wave earlier and larger and the heart a little faster.
    Each subject has a shift of its own between shape and pressure, which cannot be seen in a
    segment: what is left of the error for people that the model has never seen.

    Parameters
    ----------
    subjects : int, default=40
        How many people.
    segments : int, default=25
        How many segments of each.
    seconds : float, default=10.0
        Length of a segment; by default that of PulseDB: 1,250 values.
    sampling_rate : float, default=125.0
    noise : float, default=0.1
        Standard deviation of the noise, in heights of a pulse.
    between : float, default=8.0
        Standard deviation over subjects of the shift, in mmHg of systolic pressure.

    Returns
    -------
    Signals
        ``y`` has systolic and diastolic pressure in mmHg.

    Examples
    --------
    >>> signals = make_pressure_ppg(subjects=5, segments=4, random_state=0)
    >>> signals.targets, signals.y.shape
    (('systolic', 'diastolic'), (20, 2))
    """
    people, each = check_integer(subjects, "subjects"), check_integer(segments, "segments")
    level, apart = check_number(noise, "noise"), check_number(between, "between")
    length = _length(seconds, sampling_rate)
    rng = generator(random_state)
    X, y = np.empty((people * each, 1, length)), np.empty((people * each, 2))
    for person in range(people):
        usual, shift = rng.normal(116, 13), apart * rng.normal()
        for row in range(person * each, (person + 1) * each):
            systolic = np.clip(usual + rng.normal(0, 13), 70, 200)
            y[row] = systolic, 0.52 * systolic + 2.5 + rng.normal(0, 5)
            seen = (systolic - shift - 116) / 19
            shape = _shape(rng, stiffness=0.5 + 0.25 * seen, tone=(y[row, 1] - 63) / 12)
            rate = np.clip(72 + 6 * seen + rng.normal(0, 5), 45, 140)
            onset, height = _beats(rng, seconds, rate, False, False)
            X[row, 0] = _pulse(onset, height, shape, length, sampling_rate)
            X[row, 0] += _disturbance(rng, length, sampling_rate, level)
    return Signals(
        X, sampling_rate, y=y, subject=np.repeat(np.arange(people), each), channels=["ppg"],
        targets=["systolic", "diastolic"], description="generated pulse waves; pressures in mmHg",
    )  # fmt: skip


def make_motor_imagery(
    subjects: int = 9,
    trials: int = 288,
    *,
    seconds: float = 6.0,
    sampling_rate: float = 128.0,
    strength: float = 0.6,
    random_state: RandomState = None,
) -> Signals:
    """Draw electroencephalograms of people who imagine to move a hand, the feet or the tongue.

    Rhythms of 10 and 20 Hz are weaker over the part of the motor cortex that is in use: beside C4
    for the left hand, C3 for the right one and Cz for the feet; for the tongue they grow beside Cz.
    Noise falls with the frequency, and neighboring channels see much the same.

    Parameters
    ----------
    subjects : int, default=9
        How many people; by default as in BCI Competition IV 2a.
    trials : int, default=288
        How many trials of each.
    seconds : float, default=6.0
        Length of a trial; the first two seconds come before the cue.
    sampling_rate : float, default=128.0
    strength : float, default=0.6
        From 0 (nothing to learn) to 1: how far a rhythm falls; subjects vary around it.

    Returns
    -------
    Signals
        ``y`` is "left_hand", "right_hand", "feet" or "tongue", as often as each other.

    Examples
    --------
    >>> make_motor_imagery(subjects=2, trials=8, random_state=0).X.shape
    (16, 22, 768)
    """
    people, each = check_integer(subjects, "subjects"), check_integer(trials, "trials", 4)
    force = check_number(strength, "strength", 0, 1)
    length = _length(seconds, sampling_rate)
    rng = generator(random_state)
    names = np.array(["left_hand", "right_hand", "feet", "tongue"])
    codes = np.concatenate([rng.permutation(np.arange(each) % 4) for _ in range(people)])
    weights = np.stack([_around("C4"), _around("C3"), _around("Cz"), -0.7 * _around("Cz")])
    mixing = np.stack([_around(name, 1.5) for name in EEG_CHANNELS])
    time = np.arange(length) / sampling_rate
    active = np.clip((time - 2) / 0.5, 0, 1)
    X = np.empty((len(codes), len(EEG_CHANNELS), length), dtype=np.float32)
    for person in range(people):
        own = np.clip(force * rng.normal(1, 0.25), 0, 1)
        alpha, beta = rng.normal(10, 0.7), rng.normal(20, 1.2)
        for row in range(person * each, (person + 1) * each):
            fall = 1 - np.clip(own * weights[codes[row]], -1, 1)[:, None] * active
            rhythm = sum(
                size * fall * _narrow(rng, time, center, len(EEG_CHANNELS))
                for size, center in ((1.0, alpha), (0.5, beta))
            )
            X[row] = 1e-6 * (mixing @ (8 * rhythm + 6 * _pink(rng, len(EEG_CHANNELS), length)))
    return Signals(
        X, sampling_rate, y=names[codes], subject=np.repeat(np.arange(1, people + 1), each),
        channels=EEG_CHANNELS, description="generated electroencephalograms, in volts",
    )  # fmt: skip


def _length(seconds: float, rate: float) -> int:
    check_number(rate, "sampling_rate", closed="neither")
    return max(2, round(check_number(seconds, "seconds", closed="neither") * rate))


def _beats(
    rng: np.random.Generator, seconds: float, rate: float, irregular: bool, mild: bool
) -> tuple[FloatArray, FloatArray]:
    """Return when beats start, from before the segment on, and how high they are."""
    count = int(np.ceil((seconds + 4) * rate / 60 * 1.6)) + 4
    usual = 60 / rate
    if irregular:
        intervals = usual * rng.gamma(1 / 0.06, 0.06, count) if mild else (
            usual * rng.gamma(1 / 0.25**2, 0.25**2, count)
        )  # fmt: skip
        height = np.clip(0.5 + 0.5 * intervals / usual + rng.normal(0, 0.08, count), 0.2, 2)
    else:
        breathing = np.sin(2 * np.pi * 0.25 * usual * np.arange(count) + rng.uniform(0, 6.3))
        intervals = usual * (1 + 0.04 * breathing + rng.normal(0, 0.015, count))
        height = 1 + 0.05 * breathing + rng.normal(0, 0.03, count)
        if mild:
            early = rng.random(count) < 0.12
            intervals = intervals * np.where(early, 0.65, 1) * np.where(np.roll(early, 1), 1.35, 1)
            height = height * np.where(np.roll(early, 1), 0.6, 1)
    onset = np.cumsum(np.maximum(intervals, 0.25)) - 2 - rng.uniform(0, usual)
    return onset, height


def _shape(rng: np.random.Generator, stiffness: float, tone: float = 0.0) -> Sequence[float]:
    """Return delay, width and size of the wave that is reflected, and the width of the first."""
    delay = 0.36 - 0.12 * np.clip(stiffness, -0.5, 1.5) + rng.normal(0, 0.005)
    size = 0.35 + 0.25 * np.clip(stiffness, -0.5, 1.5) + rng.normal(0, 0.01)
    return delay, 0.09 + 0.012 * np.clip(tone, -3, 3), max(size, 0.05), 0.075


def _pulse(
    onset: FloatArray, height: FloatArray, shape: Sequence[float], length: int, rate: float
) -> FloatArray:
    delay, width, size, first = shape
    since = np.arange(length)[:, None] / rate - onset - 0.15
    wave = np.exp(-0.5 * (since / first) ** 2) + size * np.exp(
        -0.5 * ((since - delay) / width) ** 2
    )
    return np.asarray(wave @ height)


def _disturbance(rng: np.random.Generator, length: int, rate: float, level: float) -> FloatArray:
    """Return noise, and a baseline that wanders with breathing."""
    time = np.arange(length) / rate
    wander = np.sin(2 * np.pi * rng.uniform(0.1, 0.3) * time + rng.uniform(0, 6.3))
    return level * (rng.normal(size=length) + wander)


def _around(channel: str, reach: float = 1.0) -> FloatArray:
    """Return how much of what happens beside a channel each channel sees."""
    places = np.array([_PLACES[name] for name in EEG_CHANNELS], dtype=np.float64)
    squares = ((places - places[EEG_CHANNELS.index(channel)]) ** 2).sum(axis=1)
    return np.exp(-0.5 * squares / reach**2)


def _narrow(rng: np.random.Generator, time: FloatArray, center: float, channels: int) -> FloatArray:
    """Return a rhythm whose height and phase drift, another one for each channel."""
    steps = rng.normal(size=(2, channels, len(time) // 32 + 2))
    at = np.linspace(0, steps.shape[2] - 1, len(time))
    low = at.astype(int).clip(max=steps.shape[2] - 2)
    smooth = steps[..., low] * (1 - (at - low)) + steps[..., low + 1] * (at - low)
    return np.asarray(
        smooth[0] * np.cos(2 * np.pi * center * time)
        + smooth[1] * np.sin(2 * np.pi * center * time)
    )


def _pink(rng: np.random.Generator, channels: int, length: int) -> FloatArray:
    """Return noise whose power falls as one over the frequency, of variance 1."""
    spectrum: Any = np.fft.rfft(rng.normal(size=(channels, length)), axis=1)
    made = np.fft.irfft(spectrum / np.sqrt(np.arange(spectrum.shape[1]).clip(1)), length, axis=1)
    return np.asarray(made / made.std(axis=1, keepdims=True))
