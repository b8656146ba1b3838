r"""Radio signals of eleven modulations, after a fading channel, with noise.

Frames of 1,024 samples at 200 kHz, 8 samples a symbol, as in the example of MathWorks that the
paper on measures of uncertainty took its data from: eight digital and three analog modulations; a
channel with three paths of which the first is Rician; a clock that is off by some parts in a
million; white noise. Every step works on all frames at once.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import to_numpy
from .._random import RandomState, generator
from .._validation import FloatArray, check_integer, check_number
from ..exceptions import OptionError
from ._dataset import Dataset

Complex = NDArray[np.complex128]

RATE = 200e3
"""Samples a second."""
SYMBOL = 8
"""Samples of one symbol."""
FRAME = 1024
DELAYS = (0.0, 1.8, 3.4)
"""Of the three paths, in samples."""
GAINS = (0.0, -2.0, -10.0)
"""Of the three paths, in decibels."""
RICE, DOPPLER = 4.0, 4.0
"""K-factor of the first path, and the largest Doppler shift in hertz."""
CARRIER = {True: 902e6, False: 100e6}
"""Carrier frequency of digital and of analog signals."""
CLOCK = 5.0
"""The largest error of a clock, in parts in a million."""
INTERMEDIATE = 50e3
"""Frequency at which amplitude modulation sits."""

_GUARD = 64
"""Samples before and after a frame, in which filters and delays settle."""
_ROLLOFF, _SPAN = 0.35, 8
_WAVES = 16


def _square(levels: int) -> Complex:
    axis = np.arange(levels) * 2.0 - (levels - 1)
    return (axis[:, None] + 1j * axis).ravel()


def _psk(points: int, turn: float = 0.0) -> Complex:
    return np.exp(1j * (2 * np.pi * np.arange(points) / points + turn))


CONSTELLATIONS: dict[str, Complex] = {
    name: points / np.sqrt(np.mean(np.abs(points) ** 2))
    for name, points in {
        "16QAM": _square(4),
        "64QAM": _square(8),
        "8PSK": _psk(8, np.pi / 8),
        "BPSK": _psk(2),
        "PAM4": np.array([-3, -1, 1, 3], dtype=np.complex128),
        "QPSK": _psk(4, np.pi / 4),
    }.items()
}
"""The points of the linear modulations, of unit mean power."""


def root_raised_cosine() -> FloatArray:
    """Return the filter of the symbols, with unit energy."""
    t = np.arange(-_SPAN * SYMBOL // 2, _SPAN * SYMBOL // 2 + 1) / SYMBOL
    b = _ROLLOFF
    top = np.sin(np.pi * t * (1 - b)) + 4 * b * t * np.cos(np.pi * t * (1 + b))
    bottom = np.pi * t * (1 - (4 * b * t) ** 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        taps = top / bottom
    taps[t == 0] = 1 - b + 4 * b / np.pi
    edge = np.isclose(np.abs(t), 1 / (4 * b))
    angle = np.pi / (4 * b)
    taps[edge] = (
        b / np.sqrt(2) * ((1 + 2 / np.pi) * np.sin(angle) + (1 - 2 / np.pi) * np.cos(angle))
    )
    return np.asarray(taps / np.sqrt((taps**2).sum()))


def _filtered(signals: Any, taps: FloatArray) -> Any:
    """Convolve each row with a symmetric filter, and keep its length."""
    from scipy.signal import fftconvolve

    return fftconvolve(signals, taps[None], mode="same", axes=1)


def _linear(name: str) -> Callable[[int, int, np.random.Generator], Complex]:
    def make(frames: int, samples: int, rng: np.random.Generator) -> Complex:
        points = CONSTELLATIONS[name]
        pulses = np.zeros((frames, samples), dtype=np.complex128)
        symbols = -(-samples // SYMBOL)
        pulses[:, ::SYMBOL] = points[rng.integers(len(points), size=(frames, symbols))]
        return np.asarray(_filtered(pulses, root_raised_cosine()) * np.sqrt(SYMBOL))

    return make


def _frequency_shift(index: float, spread: float) -> Callable[..., Complex]:
    """Binary shift keying of the phase's slope: ``index`` half turns a symbol."""

    def make(frames: int, samples: int, rng: np.random.Generator) -> Complex:
        symbols = rng.integers(2, size=(frames, -(-samples // SYMBOL))) * 2.0 - 1
        slope = np.repeat(symbols, SYMBOL, axis=1)[:, :samples]
        if spread:
            # A Gaussian of which 3 dB are lost at the bandwidth times the symbol's length.
            width = np.sqrt(np.log(2)) / (2 * np.pi * spread) * SYMBOL
            taps = np.exp(-0.5 * (np.arange(-3 * SYMBOL, 3 * SYMBOL + 1) / width) ** 2)
            slope = _filtered(slope, taps / taps.sum())
        return np.asarray(np.exp(1j * np.pi * index / SYMBOL * np.cumsum(slope, axis=1)))

    return make


def audio(frames: int, samples: int, rng: np.random.Generator, band: float = 4e3) -> FloatArray:
    """Return noise below a frequency, of unit root mean square in expectation."""
    frequency = np.fft.rfftfreq(samples, 1 / RATE)
    # Two octaves of a speaker: loud low tones, little above.
    shape = np.where((frequency > 50) & (frequency < band), 1 / np.sqrt(1 + frequency / 500), 0.0)
    white = rng.normal(size=(2, frames, len(frequency)))
    sound = np.fft.irfft((white[0] + 1j * white[1]) * shape, n=samples, axis=1)
    power = 4 * (shape**2).sum() / samples**2
    return np.asarray(sound / np.sqrt(power))


def _broadcast_fm(frames: int, samples: int, rng: np.random.Generator) -> Complex:
    # A deviation of 75 kHz is reached at three standard deviations.
    sound = np.clip(audio(frames, samples, rng, 15e3) / 3, -1, 1)
    return np.asarray(np.exp(2j * np.pi * 75e3 / RATE * np.cumsum(sound, axis=1)))


def _amplitude(single: bool) -> Callable[..., Complex]:
    def make(frames: int, samples: int, rng: np.random.Generator) -> Complex:
        from scipy.signal import hilbert

        sound = audio(frames, samples, rng)
        turn = 2 * np.pi * INTERMEDIATE / RATE * np.arange(samples)
        if not single:
            return np.asarray(np.sqrt(2) * sound * np.cos(turn), dtype=np.complex128)
        shifted = np.imag(hilbert(sound, axis=1))
        return np.asarray(sound * np.cos(turn) + shifted * np.sin(turn), dtype=np.complex128)

    return make


MODULATIONS: dict[str, Callable[[int, int, np.random.Generator], Complex]] = {
    "16QAM": _linear("16QAM"),
    "64QAM": _linear("64QAM"),
    "8PSK": _linear("8PSK"),
    "B-FM": _broadcast_fm,
    "BPSK": _linear("BPSK"),
    "CPFSK": _frequency_shift(0.5, 0.0),
    "DSB-AM": _amplitude(single=False),
    "GFSK": _frequency_shift(1.0, 0.35),
    "PAM4": _linear("PAM4"),
    "QPSK": _linear("QPSK"),
    "SSB-AM": _amplitude(single=True),
}
"""The modulations in the order of the paper's table VI: frames, samples, generator to signals."""

ANALOG = ("B-FM", "DSB-AM", "SSB-AM")


def faded(signals: Complex, rng: np.random.Generator) -> Complex:
    """Return the signals after three paths, of unit mean power together."""
    frames, samples = signals.shape
    power = 10 ** (np.array(GAINS) / 10)
    power /= power.sum()
    turns = np.fft.fft(signals, axis=1)
    frequency = np.fft.fftfreq(samples)
    result = np.zeros_like(signals)
    for path, (delay, share) in enumerate(zip(DELAYS, power, strict=True)):
        gain = _drifting(frames, samples, rng)
        if path == 0:
            gain = np.sqrt(RICE / (RICE + 1)) + gain / np.sqrt(RICE + 1)
        moved = np.fft.ifft(turns * np.exp(-2j * np.pi * frequency * delay), axis=1)
        result += np.sqrt(share) * gain * moved
    return result


def _drifting(frames: int, samples: int, rng: np.random.Generator) -> Complex:
    """Return gains of unit mean power with a Doppler spectrum: waves from all directions."""
    angle, phase = rng.uniform(0, 2 * np.pi, (2, frames, 1, _WAVES))
    # 4 Hz change little within 64 samples: between these, a line is exact to 1e-5.
    step = 64
    knots = np.arange(0, samples + step, step)[:, None] / RATE
    waves = np.exp(1j * (2 * np.pi * DOPPLER * np.cos(angle) * knots + phase))
    gains = waves.sum(axis=2) / np.sqrt(_WAVES)
    part = (np.arange(step) / step)[None, None]
    lines = gains[:, :-1, None] * (1 - part) + gains[:, 1:, None] * part
    return np.asarray(lines.reshape(frames, -1)[:, :samples])


def clocked(signals: Complex, parts: FloatArray, carrier: float) -> Complex:
    """Return what a receiver sees whose clock is off by some parts in a million."""
    samples = signals.shape[1]
    error = parts[:, None] * 1e-6
    time = np.arange(samples)
    # A shift of far less than a sample: a line between two neighbors is exact to its square.
    late = time * error
    after = np.concatenate([signals[:, 1:], signals[:, -1:]], axis=1)
    before = np.concatenate([signals[:, :1], signals[:, :-1]], axis=1)
    moved = signals + np.where(late > 0, late * (after - signals), late * (signals - before))
    return np.asarray(moved * np.exp(-2j * np.pi * error * carrier / RATE * time))


def noise(shape: tuple[int, ...], snr: float, rng: np.random.Generator) -> Complex:
    """Return white noise for a signal of unit power."""
    parts = rng.normal(size=(2, *shape)) * np.sqrt(0.5 * 10 ** (-snr / 10))
    return np.asarray(parts[0] + 1j * parts[1])


def make_modulations(
    random_state: RandomState = None,
    *,
    samples: int = 100,
    snr: float = 30.0,
    fading: bool = True,
    clock_offset: float = CLOCK,
    classes: Any = None,
) -> Dataset:
    """Generate frames of radio signals in eleven modulations.

    Eight are digital and three analog. Each frame has 1,024 complex samples at 200 kHz, 8 samples a
    symbol (linear modulations through a root raised cosine with a roll-off of 0.35). The channel
    has three paths (delays of 0, 1.8 and 3.4 samples, gains of 0, -2 and -10 dB, together 1), the
    first Rician with K = 4, a Doppler shift of up to 4 Hz; the clock of the receiver is off. Noise
    is relative to the mean power before fading, so that a faded frame has less signal. At last each
    frame is scaled to unit power.

    Parameters
    ----------
    random_state : int, Generator or None, optional
    samples : int, default=100
        Frames of each class.
    snr : float, default=30
        Ratio of signal and noise in decibels.
    fading : bool, default=True
        Whether the signal passes the three paths.
    clock_offset : float, default=5
        The largest error of the clock in parts in a million; a uniform draw for each frame.
    classes : sequence of str, optional
        The modulations; by default all eleven, in the order of table VI of [1]_.

    Returns
    -------
    Dataset
        ``X`` has shape (samples, 2, 1024): real and imaginary parts, in single precision. Frames
        are in random order, ``test`` holds every fifth.

    References
    ----------
    .. [1] S. Chlaily, D. Ratha, P. Lozou, A. Marinoni. On Measures of Uncertainty in
       Classification. IEEE Transactions on Signal Processing 71, 3710-3725, 2023. Section IV.B.

    Examples
    --------
    >>> data = make_modulations(0, samples=5, snr=50)
    >>> data
    Dataset(55 samples, 2 x 1024, 11 classes, 11 held out for testing)
    >>> data.classes[:3]
    ('16QAM', '64QAM', '8PSK')
    """
    rng = generator(random_state)
    samples = check_integer(samples, "samples")
    snr = check_number(snr, "snr", -100.0, 200.0, "both")
    clock_offset = check_number(clock_offset, "clock_offset", 0.0, 1000.0, "both")
    names = list(MODULATIONS) if classes is None else to_numpy(classes, "classes").array.tolist()
    names = names if isinstance(names, list) else [names]
    unknown = [name for name in names if name not in MODULATIONS]
    if unknown or len(set(names)) < max(1, len(names)):
        wrong = f"got {unknown[0]!r}" if unknown else "got none, or one of them twice"
        raise OptionError(f"classes must be some of {', '.join(MODULATIONS)}; {wrong}")
    frames = []
    for name in names:
        signal = MODULATIONS[name](samples, FRAME + 2 * _GUARD, rng)
        if fading:
            signal = faded(signal, rng)
        parts = rng.uniform(-clock_offset, clock_offset, samples)
        signal = clocked(signal, parts, CARRIER[name not in ANALOG])
        signal = signal[:, _GUARD : _GUARD + FRAME] + noise((samples, FRAME), snr, rng)
        signal /= np.sqrt(np.mean(np.abs(signal) ** 2, axis=1, keepdims=True))
        frames.append(np.stack([signal.real, signal.imag], axis=1).astype(np.float32))
    order = rng.permutation(samples * len(names))
    y = np.repeat(np.arange(len(names)), samples)[order]
    return Dataset(
        X=np.concatenate(frames)[order], y=y, groups={}, feature_names=(),
        description=f"radio signals of {len(names)} modulations at {snr:g} dB",
        test=np.arange(len(y)) % 5 == 4, classes=tuple(names),
    )  # fmt: skip
