"""Radio signals: power, bandwidth, constellation, fading, clock and noise, each by itself."""

import numpy as np
import pytest

from caveat.datasets import _modulations as m
from caveat.datasets import make_modulations
from caveat.exceptions import OptionError

# The band that holds 99 % of the power, in kHz: a root raised cosine takes 25 kHz times 1.35 at
# most; the phase modulations about (index + 1) times the rate of 25 kHz; broadcast FM by Carson's
# rule at most 2 (75 + 15) kHz; amplitude modulation twice 4 kHz, or 4 kHz, beside 50 kHz.
BANDS = {
    "16QAM": (22, 34), "64QAM": (22, 34), "8PSK": (22, 34), "BPSK": (22, 34), "PAM4": (22, 34),
    "QPSK": (22, 34), "CPFSK": (15, 38), "GFSK": (20, 50), "B-FM": (60, 180),
    "DSB-AM": (4, 8.5), "SSB-AM": (2, 4.5),
}  # fmt: skip


def raw(name, frames=60, samples=4096, seed=0):
    return m.MODULATIONS[name](frames, samples, np.random.default_rng(seed))


def spectrum(signals):
    power = (np.abs(np.fft.fft(signals * np.hanning(signals.shape[1]), axis=1)) ** 2).mean(axis=0)
    frequency = np.fft.fftfreq(signals.shape[1], 1 / m.RATE) / 1e3
    order = np.argsort(frequency)
    return frequency[order], power[order] / power.sum()


def band(frequency, power, share=0.99):
    below = np.cumsum(power)
    tail = (1 - share) / 2
    return frequency[np.searchsorted(below, 1 - tail)] - frequency[np.searchsorted(below, tail)]


@pytest.mark.parametrize("name", m.MODULATIONS)
def test_power_is_one(name):
    inner = raw(name)[:, 200:-200]
    assert (np.abs(inner) ** 2).mean() == pytest.approx(1, abs=0.06)


@pytest.mark.parametrize("name", BANDS)
def test_bandwidth(name):
    frequency, power = spectrum(raw(name))
    if name.endswith("-AM"):  # a real signal: the same on both sides
        assert power[frequency < 0].sum() == pytest.approx(0.5, abs=0.01)
        power = np.where(frequency > 0, power, 0) * 2
    low, high = BANDS[name]
    assert low < band(frequency, power) < high


def test_a_single_sideband_is_below_the_carrier():
    frequency, power = spectrum(raw("SSB-AM"))
    assert power[(frequency > 46) & (frequency < 50)].sum() > 0.49
    assert power[(frequency > 50.2) & (frequency < 54)].sum() < 0.001
    frequency, power = spectrum(raw("DSB-AM"))
    assert power[(frequency > 50) & (frequency < 54)].sum() == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize("name", m.CONSTELLATIONS)
def test_a_matched_filter_finds_the_constellation(name):
    signals = raw(name, frames=20, samples=1024)
    symbols = m._filtered(signals, m.root_raised_cosine())[:, ::8][:, 10:-10] / np.sqrt(8)
    points = m.CONSTELLATIONS[name]
    assert (np.abs(points) ** 2).mean() == pytest.approx(1)
    away = np.abs(symbols[..., None] - points).min(axis=-1)
    closest = np.abs(points[:, None] - points)[~np.eye(len(points), dtype=bool)].min()
    assert away.max() < 0.2 * closest  # the filter is cut off after eight symbols
    seen = np.abs(symbols.ravel()[:, None] - points).argmin(axis=1)
    assert set(seen) == set(range(len(points)))


@pytest.mark.parametrize(("name", "index"), [("CPFSK", 0.5), ("GFSK", 1.0)])
def test_phase_modulations_turn_by_their_index(name, index):
    signals = raw(name)
    assert np.abs(signals) == pytest.approx(1)
    turns = np.angle(signals[:, 15::8] / signals[:, 7:-8:8]) / np.pi
    assert np.abs(turns).max() == pytest.approx(index, abs=0.02)
    if name == "CPFSK":
        assert np.abs(turns).min() == pytest.approx(index, abs=1e-9)


def test_fading():
    rng = np.random.default_rng(0)
    ones = np.ones((4000, 256), dtype=complex)
    flat = m.faded(ones, rng)[:, 128]
    # Of a constant all paths add up: mean power 1, of which the direct path is a fixed part.
    power = 10 ** (np.array(m.GAINS) / 10)
    power /= power.sum()
    assert (np.abs(flat) ** 2).mean() == pytest.approx(1, abs=4 * np.std(np.abs(flat) ** 2) / 63)
    assert flat.mean() == pytest.approx(np.sqrt(0.8 * power[0]), abs=4 * flat.std() / 63)
    # An impulse: delays of 1.8 and 3.4 samples are between samples, so their energy is around them.
    impulse = np.zeros((2000, 256), dtype=complex)
    impulse[:, 100] = 1
    energy = (np.abs(m.faded(impulse, rng)) ** 2).mean(axis=0)
    assert energy.sum() == pytest.approx(1, abs=0.05)
    assert energy[100] > energy[102] > energy[103]
    assert energy[98:108].sum() > 0.95


def test_doppler_is_at_most_4_hertz():
    rng = np.random.default_rng(0)
    long = np.ones((8, 200_000), dtype=complex)  # one second
    gain = m.faded(long, rng)
    frequency, power = spectrum(gain[:, ::1000])
    frequency *= 1 / 1000 * 1e3  # in hertz: one sample of each thousand
    assert power[np.abs(frequency) > 6].sum() < 0.02


def test_the_clock():
    tone = np.exp(2j * np.pi * 0.05 * np.arange(1024))[None]
    moved = m.clocked(np.vstack([tone, tone]), np.array([5.0, -5.0]), 902e6)
    slope = np.angle((moved[:, 1:] / moved[:, :-1]).mean(axis=1)) / 2 / np.pi * m.RATE
    np.testing.assert_allclose(slope, 0.05 * m.RATE + np.array([-4510, 4510]), atol=1)


def test_noise_is_that_of_the_ratio():
    rng = np.random.default_rng(0)
    for snr in (0.0, 15.0, 50.0):
        power = (np.abs(m.noise((200, 1024), snr, rng)) ** 2).mean()
        assert 10 * np.log10(1 / power) == pytest.approx(snr, abs=0.05)


def test_the_ratio_in_frames():
    """Of BPSK without fading the imaginary part is noise alone."""
    data = make_modulations(0, samples=50, snr=15, fading=False, clock_offset=0, classes=["BPSK"])
    power = (data.X.astype(float) ** 2).mean(axis=(0, 2))
    half = 10 ** (-15 / 10) / 2
    assert power[1] / (power[0] - power[1]) == pytest.approx(half, rel=0.05)


def test_a_dataset():
    data = make_modulations(0, samples=4)
    assert data.X.shape == (44, 2, 1024)
    assert data.X.dtype == np.float32
    np.testing.assert_allclose((data.X**2).sum(axis=1).mean(axis=1), 1, rtol=1e-5)
    assert np.bincount(data.y).tolist() == [4] * 11
    np.testing.assert_array_equal(make_modulations(0, samples=4).X, data.X)
    two = make_modulations(0, samples=2, classes=["QPSK", "B-FM"])
    assert two.classes == ("QPSK", "B-FM")


@pytest.mark.parametrize("classes", [["QPSK", "AM"], [], ["QPSK", "QPSK"], 3])
def test_unknown_classes(classes):
    with pytest.raises(OptionError, match="classes must be some of 16QAM"):
        make_modulations(0, classes=classes)
