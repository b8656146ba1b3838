"""Steps of a pipeline: frequencies that pass, rates that change, and what is refused."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from caveat.exceptions import CaveatError
from caveat.signals import (
    BandPass,
    QualityIndex,
    Reject,
    Resample,
    Signals,
    Standardize,
    make_af_ppg,
)


def wave(frequency, rate, seconds=20):
    return np.sin(2 * np.pi * frequency * np.arange(round(seconds * rate)) / rate)


@pytest.mark.parametrize(("rate", "to"), [(100, 32), (62.5, 125), (125, 62.5), (32, 100)])
def test_a_slow_wave_survives_a_change_of_rate(rate, to):
    before = wave(2.0, rate)[None, None]
    after = Resample(to=to, sampling_rate=rate).fit_transform(before)
    inner = slice(round(2 * to), round(18 * to))
    assert after.shape[2] == round(20 * to)
    np.testing.assert_allclose(after[0, 0, inner], wave(2.0, to)[inner], atol=0.01)


def test_what_is_too_fast_for_the_new_rate_is_removed():
    after = Resample(to=20, sampling_rate=200).fit_transform(wave(37.0, 200)[None, None])
    assert np.abs(after[0, 0, 40:-40]).max() < 0.02


@pytest.mark.parametrize(
    ("options", "frequency", "gain"),
    [
        ({}, 2.0, 1.0),
        ({}, 0.05, 0.0),
        ({}, 30.0, 0.0),
        ({"low": None}, 0.05, 1.0),
        ({"high": None}, 30.0, 1.0),
        ({"low": 7.5, "high": 30}, 15.0, 1.0),
        # Forward and backward: at the edge of the band half of the height is left.
        ({"low": None, "high": 8.0}, 8.0, 0.5),
    ],
)
def test_which_frequencies_pass(options, frequency, gain):
    X = wave(frequency, 100, 40)[None, None]
    after = BandPass(**options, sampling_rate=100).fit_transform(X)[0, 0, 1000:3000]
    inside = X[0, 0, 1000:3000]
    assert after @ inside / (inside @ inside) == pytest.approx(gain, abs=0.02)


def test_short_segments_are_filtered_too():
    assert BandPass(sampling_rate=100).fit_transform(np.ones((1, 1, 5))).shape == (1, 1, 5)


def test_single_precision_stays_so():
    X = np.random.default_rng(0).normal(size=(3, 2, 200)).astype(np.float32)
    for step in (
        Resample(to=5, sampling_rate=10),
        BandPass(high=3, sampling_rate=10),
        Standardize(),
    ):
        assert step.fit_transform(X).dtype == np.float32


def test_each_segment_and_channel_is_scaled_by_itself():
    X = np.random.default_rng(0).normal(5, 3, size=(4, 2, 100)) * [[[1.0], [1e6]]]
    X[2, 1] = 1e9
    made = Standardize().fit_transform(X)
    expected = (X - X.mean(2, keepdims=True)) / np.where(
        X.std(2, keepdims=True) > 0, X.std(2, keepdims=True), 1
    )
    np.testing.assert_allclose(made, expected, atol=1e-9)
    assert (made[2, 1] == 0).all()


def test_signals_keep_labels_and_get_the_new_rate():
    signals = make_af_ppg(4, 3, random_state=0)
    steps = make_pipeline(BandPass(low=0.5, high=8), Resample(to=16), Standardize())
    made = steps.fit_transform(signals)
    assert isinstance(made, Signals)
    assert made.sampling_rate == 16
    assert made.X.shape == (12, 1, 400)
    np.testing.assert_array_equal(made.subject, signals.subject)
    assert QualityIndex().fit_transform(signals).shape == (12, 2)


def test_a_pipeline_with_a_model_at_its_end():
    signals = make_af_ppg(12, 8, noise=0.05, difficulty=0, random_state=0)
    model = make_pipeline(
        BandPass(sampling_rate=32), QualityIndex(sampling_rate=32), LogisticRegression()
    )
    check_is_fitted(BandPass())
    check_is_fitted(Reject())
    assert clone(model).fit(signals.X, signals.y).predict(signals.X).shape == (96,)


def two_channels():
    X = np.random.default_rng(0).normal(size=(6, 2, 300))
    return Signals(X, 32, channels=["ppg", "ecg"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda s: s.select("ecg", "ppg"),
            r"BandPass was fitted on the channels 'ppg', 'ecg'; got 'ecg', 'ppg'\. "
            r"signals\.select\('ppg', 'ecg'\) brings them into that order",
        ),
        (lambda s: s.select("ppg"), "fitted on the channels 'ppg', 'ecg'; got 'ppg'"),
        (lambda s: Signals(s.X, 50, channels=s.channels), "fitted at 32 Hz, but these signals"),
        (lambda s: s.X[:, :1], "BandPass was fitted on 2 channels; got 1"),
    ],
)
def test_other_signals_than_those_of_the_fit_are_refused(change, message):
    signals = two_channels()
    steps = make_pipeline(BandPass(), Standardize()).fit(signals)
    assert len(steps.transform(signals)) == 6
    if isinstance(change(signals), np.ndarray):
        steps = make_pipeline(BandPass(sampling_rate=32), Standardize()).fit(signals.X)
        assert steps.transform(signals).X.shape == signals.X.shape
    with pytest.raises(CaveatError, match=message):
        steps.transform(change(signals))


def test_resample_takes_any_rate():
    signals = two_channels()
    steps = make_pipeline(Resample(to=16), BandPass(high=5)).fit(signals)
    other = Signals(np.repeat(signals.X, 2, axis=2), 64, channels=signals.channels)
    assert steps.transform(other).X.shape == steps.transform(signals).X.shape


def test_a_pipeline_of_signals_ends_in_a_model():
    from functools import partial

    import caveat
    from caveat.nn import AlexNet1d

    signals = make_af_ppg(8, 4, seconds=5, random_state=0)
    network = partial(AlexNet1d, 1, 2, dense=8)

    def model():
        return caveat.MAPClassifier(module=network, epochs=1, random_state=0)

    whole = make_pipeline(BandPass(), Standardize(), model()).fit(signals, signals.y)
    arrays = make_pipeline(BandPass(sampling_rate=32), Standardize(), model())
    arrays.fit(signals.X, signals.y)
    np.testing.assert_array_equal(whole.predict(signals), arrays.predict(signals.X))
    live = caveat.stream(whole, fs=32, window=5)
    (event,) = live.push(signals.X[0, 0])
    np.testing.assert_allclose(event.prediction.mean, whole.predict_proba(signals)[:1], rtol=1e-5)
    for rate in (16, 50):
        with pytest.raises(CaveatError, match=f"fitted at 32 Hz, but these signals have {rate} Hz"):
            caveat.stream(whole, fs=rate, window=5)
        with pytest.raises(CaveatError, match="BandPass has sampling_rate=32, but these signals"):
            caveat.stream(arrays, fs=rate, window=5)


@pytest.mark.parametrize(
    ("step", "X", "message"),
    [
        (Resample(to=5), np.zeros((1, 1, 9)), "Resample of an array needs sampling_rate="),
        (Resample(to=5, sampling_rate=10), np.zeros((1, 9)), "X must be Signals, or numbers"),
        (Resample(to=5, sampling_rate=10), np.full((1, 1, 9), np.nan), "segment 0 has gaps"),
        (Resample(to=1e-5, sampling_rate=10), np.zeros((1, 1, 9)), "by a ratio of whole numbers"),
        (Resample(to=-1, sampling_rate=10), np.zeros((1, 1, 9)), "to must be a number above 0"),
        (
            BandPass(sampling_rate=10, high=6),
            np.zeros((1, 1, 9)),
            "high must be a number strictly between 0 and 5",
        ),
        (BandPass(sampling_rate=10, low=3, high=2), np.zeros((1, 1, 9)), "low must be below high"),
        (BandPass(sampling_rate=10, low=None, high=None), np.zeros((1, 1, 9)), "nothing to filter"),
        (
            BandPass(sampling_rate=10, high=2),
            np.full((1, 1, 9), np.nan),
            "which a filter would spread",
        ),
        (Standardize(), np.full((1, 1, 9), np.nan), "which standardizing would spread"),
        (QualityIndex(sampling_rate=9), np.full((1, 1, 9), np.nan), "segment 0 has gaps"),
        (BandPass(sampling_rate=50), Signals(np.zeros((1, 9)), 60), "but these signals have 60 Hz"),
    ],
)
def test_what_is_refused(step, X, message):
    with pytest.raises(CaveatError, match=message):
        step.fit_transform(X)
