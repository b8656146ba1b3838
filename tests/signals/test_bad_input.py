"""What is wrong with signals is an error that says so, or a list of what was dropped and why."""

import numpy as np
import pytest

from caveat.exceptions import CaveatError, InvalidValueError, LabelError
from caveat.signals import (
    Signals,
    SubjectSplit,
    check_heart_rate,
    check_pressures,
    make_pressure_ppg,
    screen,
    split_subjects,
)
from caveat.studies import _ppg_data
from caveat.studies._ppg_data import take_signals


def good():
    return make_pressure_ppg(8, 6, random_state=0)


def flat(X, y):
    X[5] = 3.0


def clipped(X, y):
    X[5] = X[5].clip(*np.quantile(X[5], [0.0, 0.7]))


def gap(X, y):
    X[5, 0, 10:20] = np.nan


def empty(X, y):
    X[5] = np.nan


def no_target(X, y):
    y[5, 1] = np.nan


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (flat, "flat"), (clipped, "clipped"), (gap, "with gaps"), (empty, "with gaps"),
        (no_target, "without a target"),
    ],
)  # fmt: skip
def test_segments_are_dropped_with_their_reason(spoil, reason):
    signals = good()
    X, y = signals.X.copy(), signals.y.copy()
    spoil(X, y)
    result = screen(Signals(X, 125, y=y, subject=signals.subject))
    assert result.dropped == ((5, reason),)
    assert 5 not in result.kept


def wrong_rate(signals):
    check_heart_rate(Signals(signals.X, 5 * signals.sampling_rate))


def kilopascals(signals):
    check_pressures(signals.y * 0.1333)


def columns_swapped(signals):
    check_pressures(signals.y[:, ::-1])


def shared_subject(signals):
    nothing = np.array([], dtype=int)
    SubjectSplit(np.arange(3), nothing, nothing, np.arange(3, 6), "calibfree").check(signals)


def class_missing(signals):
    y = (signals.subject == signals.subject[0]).astype(int)
    split_subjects(Signals(signals.X, 125, y=y, subject=signals.subject), random_state=0)


def channel_missing(signals):
    signals.select("abp")


def no_values(signals):
    Signals(signals.X[:, :, :0], 125)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (wrong_rate, InvalidValueError, r"median heart rate is \d+ beats a minute at 625 Hz"),
        (kilopascals, InvalidValueError, 'pass unit="kPa"'),
        (columns_swapped, InvalidValueError, "the systolic pressure, which is the higher one"),
        (shared_subject, InvalidValueError, "is in train and in test"),
        (class_missing, LabelError, "class 1 is missing from"),
        (channel_missing, LabelError, "no channel 'abp'"),
        (no_values, CaveatError, "none of them may be 0"),
    ],
)
def test_what_concerns_all_is_an_error(call, error, words):
    with pytest.raises(error, match=words):
        call(good())


def test_channels_in_another_order_are_found_by_name():
    signals = good()
    noise = np.random.default_rng(0).normal(size=signals.X.shape)
    one = Signals(np.concatenate([signals.X, noise], axis=1), 125, channels=["ppg", "noise"])
    other = Signals(np.concatenate([noise, signals.X], axis=1), 125, channels=["noise", "ppg"])
    np.testing.assert_array_equal(one.select("ppg").X, other.select("ppg").X)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (lambda s: Signals(s.X, 625, y=s.y, subject=s.subject), "beats a minute at 625 Hz"),
        (lambda s: Signals(s.X, 125, y=s.y * 0.1333, subject=s.subject), 'pass unit="kPa"'),
    ],
)
def test_the_study_checks_what_it_is_given(monkeypatch, tmp_path, changed, words):
    monkeypatch.setattr(_ppg_data, "load_pulsedb", lambda folder: changed(good()))
    with pytest.raises(InvalidValueError, match=words):
        take_signals("bp", str(tmp_path), np.random.default_rng(0), (1, 1), False)
