"""Quality: rhythms of known rates, segments that cannot be used, rates and units that cannot be."""

import os
from pathlib import Path

import numpy as np
import pytest

from caveat.exceptions import CaveatError, InvalidValueError, ShapeError
from caveat.signals import (
    Reject,
    Signals,
    check_heart_rate,
    check_pressures,
    heart_rate,
    make_pressure_ppg,
    quality_index,
    screen,
)


@pytest.mark.parametrize("beats", [45, 60, 75, 110, 180, 400])
@pytest.mark.parametrize("rate", [62.5, 125.0])
def test_the_rate_of_a_pulse_train(beats, rate):
    rng = np.random.default_rng(0)
    time = np.arange(round(20 * rate)) / rate
    since = (time + rng.uniform(0, 1, (8, 1))) % (60 / beats)
    X = np.exp(-0.5 * ((since - 0.04) / 0.02) ** 2) + 0.1 * rng.normal(size=since.shape)
    X += np.sin(2 * np.pi * 0.2 * time)  # breathing
    # Half a sample at the largest rate is 400 * 400 / 60 / 62.5 / 2 = 21; the parabola halves it.
    np.testing.assert_allclose(heart_rate(X, rate), beats, rtol=0.03)


def test_what_has_no_rhythm():
    X = np.array([np.ones(200), np.full(200, np.nan), np.arange(200.0)])
    with np.errstate(invalid="ignore"):
        assert np.isnan(heart_rate(X[:2], 20)).all()
    assert np.isnan(heart_rate(np.ones((2, 3)), 20)).all()
    with pytest.raises(ShapeError, match="one channel"):
        heart_rate(np.ones((2, 1, 30)), 20)


def test_skewness_is_scipys():
    from scipy.stats import skew

    X = np.random.default_rng(0).gamma(2, size=(5, 300))
    np.testing.assert_allclose(quality_index(X, 50), skew(X, axis=1))
    assert np.isnan(quality_index(np.ones((1, 30)), 50)).all()


def test_band_power_of_waves_in_and_out_of_the_band():
    time = np.arange(1000) / 100
    X = np.stack([np.sin(2 * np.pi * f * time) for f in (1.5, 20)])
    value = quality_index(X, 100, "band-power")
    assert value[0] > 0.99
    assert value[1] < 0.01


def spoiled():
    """Five segments: a good one, a flat one, one with a gap, a clipped one, one without target."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 1, 400)).cumsum(axis=2)
    X[1] = 7.0
    X[2, 0, 100:110] = np.nan
    X[3] = X[3].clip(*np.quantile(X[3], [0.0, 0.8]))
    y = np.array([1.0, 2.0, 3.0, 4.0, np.nan])
    return Signals(X, 50, y=y, subject=list("abcde"))


def test_what_is_dropped_and_why():
    result = screen(spoiled())
    assert result.dropped == (
        (1, "flat"), (2, "with gaps"), (3, "clipped"), (4, "without a target"),
    )  # fmt: skip
    assert result.signals.subject.tolist() == ["a"]
    assert str(result) == (
        "1 of 5 segments kept; dropped: 1 flat, 1 with gaps, 1 clipped, 1 without a target"
    )
    assert result.to_frame()["reason"].tolist() == [reason for _, reason in result.dropped]
    kept = screen(spoiled(), clipped=None, targets=False)
    assert kept.kept.tolist() == [0, 3, 4]


def test_a_channel_that_is_flat_spoils_the_segment():
    X = np.random.default_rng(0).normal(size=(2, 2, 50))
    X[0, 1] = 0.0
    assert screen(Signals(X, 10)).kept.tolist() == [1]


def test_quality_and_rate_of_a_channel():
    signals = make_pressure_ppg(4, 5, random_state=0)
    noise = np.random.default_rng(0).normal(size=signals.X.shape)
    both = Signals(np.concatenate([signals.X, noise], axis=1), 125, channels=["ppg", "noise"])
    assert len(screen(both, quality={"skewness": 0.05}, rates=(40, 120)).kept) == 20
    with pytest.raises(
        InvalidValueError, match=r"no segment can be used: 20 of low quality \(skewness\)"
    ):
        screen(both, quality={"skewness": 0.4}, channel="noise")
    with pytest.raises(InvalidValueError, match="20 with a rate outside 200 to 220"):
        screen(both, rates=(200, 220))


def test_reject_is_a_step_that_says_what_it_dropped():
    step = Reject(targets=False)
    assert len(step.fit_transform(spoiled())) == 2
    assert step.screening_.reasons == {"flat": 1, "with gaps": 1, "clipped": 1}
    with pytest.raises(CaveatError, match="it takes Signals; got a ndarray"):
        step.transform(np.zeros((2, 1, 10)))


def test_a_wrong_sampling_rate_is_seen_by_the_hearts():
    signals = make_pressure_ppg(5, 6, random_state=0)
    check_heart_rate(signals)
    check_heart_rate(signals, channel="ppg")
    with pytest.raises(
        InvalidValueError, match=r"median heart rate is 3.. beats a minute at 625 Hz"
    ):
        check_heart_rate(Signals(signals.X, 625))
    with pytest.raises(InvalidValueError, match="no segment has a rhythm"):
        check_heart_rate(Signals(np.ones((3, 200)), 20))


def test_pressures_in_another_unit_or_order():
    y = np.array([[120.0, 80.0], [110.0, 70.0], [np.nan, 60.0]])
    np.testing.assert_array_equal(check_pressures(y), y)
    kilopascal = y / 7.50062
    np.testing.assert_allclose(check_pressures(kilopascal, unit="kPa"), y)
    with pytest.raises(
        InvalidValueError, match=r'median systolic pressure is 15.3 mmHg.*pass unit="kPa"'
    ):
        check_pressures(kilopascal)
    with pytest.raises(InvalidValueError, match=r'115 kPa.*pass unit="mmHg"'):
        check_pressures(y, unit="kPa")
    with pytest.raises(InvalidValueError, match="check the units"):
        check_pressures(y * 100)
    with pytest.raises(InvalidValueError, match="the systolic pressure, which is the higher one"):
        check_pressures(y[:, ::-1])
    with pytest.raises(InvalidValueError, match="no segment has both"):
        check_pressures([[np.nan, 80.0]])
    with pytest.raises(ShapeError, match="y must have shape"):
        check_pressures([120.0, 80.0])


DATA = Path(os.environ.get("CAVEAT_DATA", "none"))


@pytest.mark.skipif(not (DATA / "load.py").exists(), reason="no folder of real data")
def test_real_hearts_beat_at_the_rate_that_the_pressure_shows(monkeypatch):
    monkeypatch.syspath_prepend(str(DATA))
    load = __import__("load")
    data = load.ppg_blood_pressure("mimic3")
    signals = Signals(data["ppg"], 125, subject=data["record"])
    check_heart_rate(signals)
    # The peaks of the pressure, which was measured apart, are the beats of the same heart.
    beats = heart_rate(data["ppg"], 125)
    known = np.isfinite(beats) & np.isfinite(data["sbp"]) & (data["n_beats"] > 0)
    ratio = beats[known] / (6.0 * data["n_beats"][known])
    assert abs(np.median(ratio) - 1) < 0.1
