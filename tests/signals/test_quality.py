"""Quality: rhythms of known rates, segments that cannot be used, rates and units that cannot be."""

import os
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

from caveat.exceptions import CaveatError, InvalidValueError, OptionError, ShapeError
from caveat.signals import (
    Reject,
    Signals,
    check_heart_rate,
    check_pressures,
    heart_rate,
    make_af_ppg,
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


def test_an_infinite_value_is_a_gap():
    X = np.sin(np.arange(400.0) / 3)[None].repeat(2, axis=0)
    X[1, 5] = np.inf
    for values in (heart_rate(X, 20), quality_index(X, 20), quality_index(X, 20, "band-power")):
        assert np.isfinite(values).tolist() == [True, False]


def test_what_has_no_rhythm():
    X = np.array([np.ones(200), np.full(200, np.nan), np.arange(200.0)])
    with np.errstate(invalid="ignore"):
        assert np.isnan(heart_rate(X[:2], 20)).all()
    assert np.isnan(heart_rate(np.ones((2, 3)), 20)).all()
    with pytest.raises(ShapeError, match="one channel"):
        heart_rate(np.ones((2, 1, 30)), 20)


@pytest.mark.parametrize("scale", [1e-200, 1e-6, 1.0, 1e6])
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_the_unit_does_not_matter(scale, offset):
    """Microvolts in volts, as of an EDF file: a rate and a quality, as in any unit."""
    time = np.arange(1000) / 100
    wave = np.sin(2 * np.pi * 1.2 * time) + np.sin(2 * np.pi * 2.4 * time + 1)
    X = scale * np.stack([wave + offset, np.full(1000, offset + 0.1)])
    assert heart_rate(X, 100)[0] == pytest.approx(72, abs=1)
    assert np.isnan(heart_rate(X, 100)[1])
    for kind in ("skewness", "band-power"):
        value = quality_index(X, 100, kind)
        assert value[0] == pytest.approx(quality_index(wave[None], 100, kind)[0], abs=1e-6)
        assert np.isnan(value[1])
    made = screen(Signals(X, 100), rates=(30, 220), quality={"band-power": 0.5})
    assert made.kept.tolist() == [0]
    assert made.reasons == {"flat": 1}


@pytest.mark.parametrize("rates", [(220,), (30, 100, 220), 220])
def test_rates_are_a_pair(rates):
    with pytest.raises(OptionError, match="rates must be the lowest and the highest rate; got"):
        screen(Signals(np.ones((1, 200)), 50), rates=rates)


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


def tail_at_the_last_value(X):
    X[5, 0, 200:] = X[5, 0, 199]


def middle_at_the_mean(X):
    X[5, 0, 125:1125] = X[5].mean()


@pytest.mark.parametrize("spoil", [tail_at_the_last_value, middle_at_the_mean])
def test_a_segment_that_is_flat_for_most_of_its_time(spoil):
    signals = make_pressure_ppg(4, 5, random_state=0)
    X = signals.X.copy()
    spoil(X)
    assert screen(Signals(X, 125)).dropped == ((5, "flat"),)
    assert len(screen(Signals(X, 125), flat=0.9).kept) == 20
    with pytest.raises(OptionError, match="flat must be a number from 0 to 1"):
        screen(signals, flat=2)


def test_a_stretch_without_change_is_measured():
    X = np.random.default_rng(0).normal(size=(3, 1, 100))
    X[0, 0, 10:35] = 2.0
    X[1, 0, 10:36] = 2.0
    X[2, 0, 10:30] = X[2, 0, 40:60] = 2.0
    assert screen(Signals(X, 10)).dropped == ((1, "flat"),)
    assert len(screen(Signals(X[:, :, :3], 10)).kept) == 3
    with pytest.raises(InvalidValueError, match="no segment can be used: 3 flat"):
        screen(Signals(X[:, :, :1], 10))


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


WRONG = [0.2, 0.25, 0.32, 3, 5, 10]
"""Factors of the sampling rate that no heart explains; 0.5 and 2 leave a rate that people have."""


@pytest.mark.parametrize("make", [make_pressure_ppg, make_af_ppg])
@pytest.mark.parametrize("factor", WRONG)
def test_wrong_sampling_rates_are_refused(make, factor):
    signals = make(8, 6, random_state=0)
    wrong = Signals(signals.X, factor * signals.sampling_rate)
    with pytest.raises(InvalidValueError, match="the median heart rate is"):
        check_heart_rate(wrong)


@pytest.mark.parametrize("factor", [0.5, 2])
def test_a_factor_of_two_is_not_told_apart(factor):
    signals = make_pressure_ppg(8, 6, random_state=0)
    check_heart_rate(Signals(signals.X, factor * 125))


def test_segments_at_a_rate_that_is_too_low_are_dropped():
    signals = make_pressure_ppg(8, 6, random_state=0)
    with pytest.raises(InvalidValueError, match="no segment can be used: 48 with a rate outside"):
        screen(Signals(signals.X, 25), rates=(30, 220))
    assert len(screen(signals, rates=(30, 220)).kept) == 48


def test_segments_with_irregular_beats_are_kept():
    signals = make_af_ppg(20, 10, random_state=0)
    irregular = signals.take(signals.y == 1)
    assert len(screen(irregular, rates=(30, 220)).kept) > 0.95 * len(irregular)


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


def test_pressures_of_one_subject_in_another_unit():
    signals = make_pressure_ppg(8, 6, random_state=0)
    y = signals.y.copy()
    who = signals.subject == 3
    y[who] /= 7.50062
    check_pressures(y)  # the median over all does not show it
    with pytest.raises(
        InvalidValueError,
        match=r"median systolic pressure of subject 3 is 1\d\.\d mmHg.*look like kPa; convert",
    ):
        check_pressures(y, subject=signals.subject)
    spoiled = Signals(signals.X, 125, y=y, targets=signals.targets)
    assert screen(spoiled).reasons == {"with impossible pressures": 6}
    y[who] = y[who][:, ::-1] * 7.50062
    with pytest.raises(InvalidValueError, match="the first column of subject 3 has a median"):
        check_pressures(y, subject=signals.subject)
    y[who] = [50.0, 40.0]  # a single person may be in shock
    np.testing.assert_array_equal(check_pressures(y, subject=signals.subject), y)


def test_rows_whose_diastolic_pressure_is_not_the_lower_one():
    signals = make_pressure_ppg(8, 6, random_state=0)
    y = signals.y.copy()
    y[[3, 7]] = y[[3, 7], ::-1]
    with pytest.raises(
        InvalidValueError, match=r"not below the systolic one in 2 of 48 rows: 3, 7\. Leave them"
    ):
        check_pressures(y)
    y[10:16, 1] = y[10:16, 0]
    with pytest.raises(InvalidValueError, match=r"in 8 of 48 rows: 3, 7, 10, 11, 12, \.\.\."):
        check_pressures(y)
    for names in (["systolic", "diastolic"], ["SBP", "DBP"]):
        result = screen(Signals(signals.X, 125, y=y, targets=names))
        assert result.reasons == {"with impossible pressures": 8}
    whole = Signals(signals.X, 125, y=y.round().astype(int), targets=["sbp", "dbp"])
    assert screen(whole).reasons == result.reasons
    assert len(screen(Signals(signals.X, 125, y=y)).kept) == 48  # other targets


DATA = Path(os.environ.get("CAVEAT_DATA") or Path(__file__).parents[2].parent / "shared/data")
REAL = pytest.mark.skipif(
    not (DATA / "load.py").exists(), reason="needs load.py in the folder of CAVEAT_DATA"
)


@cache
def real_hearts():
    """Return signals of two sources with their rates, and all that is known of the second."""
    found = spec_from_file_location("load", DATA / "load.py")
    load = module_from_spec(found)
    found.loader.exec_module(load)
    pressures = load.ppg_blood_pressure("mimic3")
    wrists = load.ppg_arrhythmia()["signal"][::40]
    return ((wrists, 100), (pressures["ppg"][::4], 125)), pressures


@REAL
def test_rates_of_real_hearts_pass():
    for X, rate in real_hearts()[0]:
        check_heart_rate(Signals(X, rate))


@REAL
@pytest.mark.parametrize("factor", WRONG)
def test_wrong_sampling_rates_of_real_hearts_are_refused(factor):
    for X, rate in real_hearts()[0]:
        with pytest.raises(InvalidValueError, match="the median heart rate is"):
            check_heart_rate(Signals(X, factor * rate))


@REAL
def test_real_hearts_beat_at_the_rate_that_the_pressure_shows():
    data = real_hearts()[1]
    signals = Signals(data["ppg"], 125, subject=data["record"])
    check_heart_rate(signals)
    # The peaks of the pressure, which was measured apart, are the beats of the same heart.
    beats = heart_rate(data["ppg"], 125)
    known = np.isfinite(beats) & np.isfinite(data["sbp"]) & (data["n_beats"] > 0)
    ratio = beats[known] / (6.0 * data["n_beats"][known])
    assert abs(np.median(ratio) - 1) < 0.1
    assert np.mean(np.abs(ratio - 1) < 0.12) > 0.85
