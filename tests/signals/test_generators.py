"""Generated signals: what they are labeled by can be seen in them."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from caveat.exceptions import OptionError
from caveat.signals import (
    BandPass,
    check_heart_rate,
    make_af_ppg,
    make_motor_imagery,
    make_pressure_ppg,
)
from caveat.signals.generators import EEG_CHANNELS


def test_fibrillation_is_irregular():
    signals = make_af_ppg(20, 6, noise=0.02, difficulty=0, random_state=0)
    check_heart_rate(signals)
    from scipy.signal import find_peaks

    filtered = BandPass(low=0.5, high=2.5).fit_transform(signals).X[:, 0]
    spread = []
    for row in filtered:
        gaps = np.diff(find_peaks(row, prominence=0.9 * row.std())[0])
        spread.append(gaps.std() / gaps.mean())
    spread = np.array(spread)
    # Sinus rhythm varies by some 4 %, fibrillation by 25 %.
    assert np.median(spread[signals.y == 0]) < 0.08
    assert np.median(spread[signals.y == 1]) > 0.15


def test_shares_sizes_and_seeds():
    signals = make_af_ppg(50, 4, seconds=5, random_state=1)
    assert signals.X.shape == (200, 1, 160)
    assert signals.y.mean() == pytest.approx(0.38)
    for subject in range(50):
        assert len(set(signals.y[signals.subject == subject])) == 1
    again, other = (make_af_ppg(50, 4, seconds=5, random_state=s) for s in (1, 2))
    np.testing.assert_array_equal(again.X, signals.X)
    assert not np.array_equal(other.X, signals.X)
    assert make_af_ppg(3, 1, af_share=0, random_state=0).y.sum() == 1
    assert make_af_ppg(3, 1, af_share=1, random_state=0).y.sum() == 2


def test_pressure_is_in_the_shape_and_subjects_differ():
    signals = make_pressure_ppg(30, 10, noise=0.02, between=0.0, random_state=0)
    far = make_pressure_ppg(30, 10, noise=0.02, between=20.0, random_state=0)
    assert 100 < signals.y[:, 0].mean() < 130
    assert (signals.y[:, 0] > signals.y[:, 1]).all()

    def error(data):
        spectrum = np.log(np.abs(np.fft.rfft(data.X[:, 0], axis=1))[:, 5:60] + 0.1)
        train = data.subject < 15
        model = Ridge(10.0).fit(spectrum[train], data.y[train, 0])
        return np.abs(model.predict(spectrum[~train]) - data.y[~train, 0]).mean()

    constant = np.abs(signals.y[:, 0] - np.median(signals.y[:, 0])).mean()
    assert error(signals) < 0.75 * constant
    assert error(far) > error(signals)


def test_imagined_movements_change_the_rhythm_on_their_side():
    signals = make_motor_imagery(2, 60, strength=0.9, random_state=0)
    assert signals.X.shape == (120, 22, 768)
    assert dict(zip(*np.unique(signals.y, return_counts=True), strict=True)) == {
        "left_hand": 30, "right_hand": 30, "feet": 30, "tongue": 30,
    }  # fmt: skip
    band = BandPass(low=8, high=12).fit_transform(signals)
    power = np.log((band.X[:, :, 320:] ** 2).mean(axis=2))
    left, right = power[:, EEG_CHANNELS.index("C3")], power[:, EEG_CHANNELS.index("C4")]
    side = left - right
    hand = {name: side[signals.y == name].mean() for name in ("left_hand", "right_hand")}
    assert hand["left_hand"] > hand["right_hand"] + 0.3
    before = np.log((band.X[:, :, :200] ** 2).mean(axis=2))
    early = before[:, EEG_CHANNELS.index("C3")] - before[:, EEG_CHANNELS.index("C4")]
    # Nothing is to be seen before the cue: the difference is within four standard errors of 0.
    gap = early[signals.y == "left_hand"].mean() - early[signals.y == "right_hand"].mean()
    assert abs(gap) < 4 * early.std() * np.sqrt(2 / 30)


def test_without_strength_there_is_nothing_to_learn():
    signals = make_motor_imagery(1, 200, strength=0.0, random_state=0)
    power = np.log((signals.X[:, :, 320:] ** 2).mean(axis=2))
    model = LogisticRegression(max_iter=500).fit(power[:100], signals.y[:100])
    # 100 guesses of one in four: 0.25 with a standard error of 0.043.
    assert abs(model.score(power[100:], signals.y[100:]) - 0.25) < 4 * 0.0433


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (make_af_ppg, {"subjects": 1}, "subjects must be a whole number of at least 2"),
        (make_af_ppg, {"noise": -1}, "noise must be a number of at least 0"),
        (make_pressure_ppg, {"seconds": 0}, "seconds must be a number above 0"),
        (make_motor_imagery, {"strength": 2}, "strength must be a number from 0 to 1"),
    ],
)
def test_options_that_cannot_be(make, options, message):
    with pytest.raises(OptionError, match=message):
        make(**options)
