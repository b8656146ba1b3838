"""The stream: the same as all at once, whatever the chunks; bounded; an alarm that is seldom false."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import caveat
from caveat.exceptions import CaveatError, InvalidValueError, OptionError, ShapeError
from caveat.signals import BandPass, CoverageAlarm, Resample, Signals, Standardize, cut


class Level:
    """Predicts the mean of a window, with two members."""

    def predict_distribution(self, X):
        mean = X.mean(axis=(1, 2))
        return caveat.Gaussian.from_members(
            np.stack([mean - 0.1, mean + 0.1]), np.ones((2, len(X)))
        )


class Chance:
    def predict_distribution(self, X):
        p = 1 / (1 + np.exp(-X.mean(axis=(1, 2))))
        return caveat.Categorical.from_binary(p)


class Spread:
    def predict_distribution(self, X):
        mean = X.mean(axis=(1, 2))
        return caveat.Quantiles([0.05, 0.95], np.stack([mean - 1, mean + 1], axis=1))


@pytest.mark.parametrize("sizes", [[1000], [1] * 1000, [7, 93, 400, 1, 499], [250] * 4])
@pytest.mark.parametrize("hop", [None, 0.5, 1.3])
def test_chunks_of_any_length_give_the_windows_of_the_whole(sizes, hop):
    signal = np.random.default_rng(0).normal(size=1000).cumsum()
    whole = cut(signal, 50, window=2, hop=hop)
    expected = Level().predict_distribution(whole.X)
    live = caveat.stream(Level(), 50, 2, hop)
    chunks = np.split(signal, np.cumsum(sizes)[:-1])
    events = list(live.run(chunks))
    assert len(events) == len(whole)
    assert [event.number for event in events] == list(range(len(events)))
    step = 2 if hop is None else round(hop * 50) / 50
    np.testing.assert_allclose([event.start for event in events], step * np.arange(len(events)))
    got = np.concatenate([event.prediction.mean[:, :, 0] for event in events], axis=1)
    np.testing.assert_allclose(got, expected.mean[:, :, 0])
    np.testing.assert_allclose([e.epistemic[0, 0] for e in events], 0.01)
    np.testing.assert_allclose([e.aleatoric[0, 0] for e in events], 1.0)


def test_memory_is_bounded():
    live = caveat.stream(Level(), 50, 2, 1, pending=5)
    rng = np.random.default_rng(0)
    for _ in range(40):
        live.push(rng.normal(size=777))
        assert live._buffer.shape[1] < 100
        assert len(live._waiting) <= 5
    assert live.dropped > 500
    with pytest.raises(OptionError, match="window 0 is not waiting for its truth"):
        live.learn(0, 1.0)


def test_windows_that_cannot_be_used():
    signal = np.random.default_rng(0).normal(size=600)
    signal[100:200] = 3.0
    signal[250] = np.nan
    signal[300:400] = signal[300:400].clip(max=0.0)
    events = caveat.stream(Level(), 50, 2).push(signal)
    assert [(event.action, event.reason) for event in events] == [
        ("accept", ""), ("no signal", "flat"), ("no signal", "with gaps"),
        ("no signal", "clipped"), ("accept", ""), ("accept", ""),
    ]  # fmt: skip
    assert events[1].prediction is None
    assert events[1].interval is None
    assert caveat.stream(Level(), 50, 2).push(np.ones(100))[0].reason == "flat"
    signal[40:100] = signal[39]
    assert caveat.stream(Level(), 50, 2).push(signal[:100])[0].reason == "flat"


def test_steps_of_a_pipeline_come_before_the_model():
    signal = np.random.default_rng(0).normal(size=400).cumsum()
    pipeline = make_pipeline(BandPass(low=0.5, high=8, sampling_rate=50), Standardize(), Level())
    live = caveat.stream(pipeline, 50, 4)
    for event in live.push(signal):
        assert abs(event.prediction.mean.mean()) < 1e-9


def test_steps_of_others_are_used_as_they_are():
    from sklearn.preprocessing import FunctionTransformer

    signal = np.random.default_rng(0).normal(size=400)
    pipeline = make_pipeline(Resample(to=10), FunctionTransformer(lambda X: X + 3), Level())
    (event,) = caveat.stream(pipeline, 50, 8).push(signal)
    resampled = Resample(to=10, sampling_rate=50).fit_transform(signal[None, None])
    assert event.prediction.mean.mean() == pytest.approx(resampled.mean() + 3)


def test_pipelines_inside_a_pipeline_are_taken_apart():
    signal = np.random.default_rng(0).normal(size=400).cumsum()
    plain = make_pipeline(Resample(to=10), BandPass(low=0.5, high=4), Level())
    first = make_pipeline("passthrough", Resample(to=10, sampling_rate=50), None)
    nested = make_pipeline(first, *plain[1:])
    means = [caveat.stream(one, 50, 8).push(signal)[0].prediction.mean for one in (plain, nested)]
    np.testing.assert_array_equal(*means)
    fitted = make_pipeline(make_pipeline(Resample(to=10), BandPass(low=0.5, high=4)), Level())
    fitted[:-1].fit(Signals(signal[None], 50))
    np.testing.assert_array_equal(
        caveat.stream(fitted, 50, 8).push(signal)[0].prediction.mean, means[0]
    )


def test_rates_may_be_rounded():
    one = person()
    rate = 10.000000000000002  # such as a table of times gives
    steps = make_pipeline(BandPass(low=0.5, high=4), Level())
    steps[0].fit(Signals(one.X, rate))
    caveat.stream(steps, 10, 2).replay(Signals(one.X, rate))
    BandPass(low=0.5, high=4, sampling_rate=10).fit(Signals(one.X, rate))
    with pytest.raises(OptionError, match=r"was fitted at 10 Hz, but .* have 10\.1 Hz"):
        caveat.stream(steps, 10.1, 2)


def test_windows_that_a_model_failed_on_keep_their_number():
    class Frail(Level):
        def predict_distribution(self, X):
            if X.min() < -50:
                raise RuntimeError("no memory")
            return super().predict_distribution(X)

    signal = np.random.default_rng(0).normal(size=80)
    signal[25] = -100
    live = caveat.stream(Frail(), 10, 2)
    events = []
    for chunk in np.split(signal, 8):
        try:
            events += live.push(chunk)
        except RuntimeError:
            assert len(events) == 1
    assert [(event.number, event.start) for event in events] == [(0, 0.0), (2, 4.0), (3, 6.0)]


def test_intervals_are_those_of_the_sequential_method():
    rng = np.random.default_rng(0)
    signal = np.repeat(rng.normal(size=300), 20) + 1e-3 * rng.normal(size=6000)
    y = cut(signal, 10, window=2).X.mean(axis=(1, 2)) + rng.normal(size=300)
    live = caveat.stream(Level(), 10, 2, conformal=caveat.AdaptiveConformal(0.8, step=0.02))
    lower = []
    for i, chunk in enumerate(np.split(signal, 300)):
        (event,) = live.push(chunk)
        lower.append(event.interval.lower[0, 0])
        live.learn(event.number, y[i])
    prediction = Level().predict_distribution(cut(signal, 10, window=2).X)
    run = caveat.AdaptiveConformal(0.8, step=0.02).run(prediction, y, time="rows")
    np.testing.assert_allclose(lower, run.interval.lower[:, 0])
    assert live.alarms[0].missed == 300 - run.covered.sum()
    assert not live.alarm
    assert live.promise == live.conformal.guarantee_


def test_an_alarm_when_the_promise_no_longer_holds():
    rng = np.random.default_rng(0)
    signal = rng.normal(size=(400, 20))
    truth = signal.mean(axis=1) + 0.1 * rng.normal(size=400)
    truth[200:] += 5 * rng.normal(size=200)  # the noise grows 50 times
    # A level that hardly adapts keeps the old intervals.
    method = caveat.AdaptiveConformal(0.9, step=1e-6, window=None)
    live = caveat.stream(Level(), 10, 2, conformal=method)
    given = None
    for i, chunk in enumerate(signal):
        live.push(chunk)
        if live.learn(i, truth[i]) and given is None:
            given = i
    assert given is not None
    assert 200 <= given < 240
    assert live.push(signal[0])[0].alarm
    assert "Alarm since truth" in live.promise


def person(count=12):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, 1, 20))
    y = X.mean(axis=(1, 2)) + rng.normal(size=count)
    return Signals(X, 10, y=y, subject=["a"] * count)


def test_segments_of_a_subject_are_replayed():
    one = person()
    one.X[2], one.y[5] = 1.0, np.nan
    live = caveat.stream(Level(), 10, 2)
    record = live.replay(one)
    by_hand = caveat.stream(Level(), 10, 2)
    for row, segment in enumerate(one.X):
        (event,) = by_hand.push(segment)
        assert (record.events[row].interval is None) == (event.interval is None)
        if row not in (2, 5):
            by_hand.learn(row, one.y[row])
            np.testing.assert_array_equal(record.events[row].interval.upper, event.interval.upper)
            assert record.truth[row] == one.y[row]
    assert live.late == 0
    assert live.alarms[0].samples == 10
    np.testing.assert_array_equal(record.signal, np.concatenate(list(one.X), axis=1))
    assert record.summary() == "12 windows from 0 to 24 s: 11 accept, 1 no signal (flat)"
    prediction, y = record.samples()
    np.testing.assert_array_equal(y, np.delete(one.y, [2, 5]))
    np.testing.assert_allclose(
        prediction.mean.mean(axis=0)[:, 0], np.delete(one.X, [2, 5], 0).mean((1, 2))
    )
    with pytest.raises(OptionError, match="this stream has begun; make another"):
        live.replay(one)


def test_replays_of_classes_and_without_truth():
    one = person()
    labels = np.where(one.y > 0, 1, 0)
    record = caveat.stream(Chance(), 10, 2).replay(Signals(one.X, 10, y=labels))
    np.testing.assert_array_equal(record.samples()[1], labels)
    unknown = caveat.stream(Chance(), 10, 2).replay(Signals(one.X, 10))
    with pytest.raises(OptionError, match="no window has a prediction and a truth"):
        unknown.samples()


def test_replays_that_cannot_be():
    one = person()
    for options in ({"fs": 20, "window": 1}, {"window": 1}, {"hop": 1}):
        live = caveat.stream(Level(), **{"fs": 10, "window": 2, **options})
        with pytest.raises(
            OptionError, match="segments of 2 s at 10 Hz need a stream of that rate"
        ):
            live.replay(one)
    two = Signals(one.X, 10, subject=["a", "b"] * 6)
    with pytest.raises(
        OptionError, match=r"of one subject; got 2\. Take one: signals\.take\(signals"
    ):
        caveat.stream(Level(), 10, 2).replay(two)


def test_late_truths_are_judged_by_the_interval_that_was_given():
    rng = np.random.default_rng(0)
    live = caveat.stream(Level(), 10, 2)
    for _ in range(200):
        (event,) = live.push(rng.normal(size=20))
        live.learn(event.number, event.prediction.mean[0, 0, 0] + rng.normal())
    assert live.promise == live.conformal.guarantee_
    early, inside = live.alarms[0].missed, []
    for shift in (5, 40, 135):
        for event in live.push(rng.normal(size=8000)):
            truth = event.prediction.mean[0, 0, 0] + shift + rng.normal()
            inside.append(event.interval.lower[0, 0] <= truth <= event.interval.upper[0, 0])
            live.learn(event.number, truth)
    # The first 400 are missed; then the method knows it, and the next ones are wide enough.
    assert sum(inside[:400]) == 0
    assert all(inside[400:])
    alarm = live.alarms[0]
    assert (alarm.samples, alarm.missed) == (1400, early + 400)
    assert live.conformal.covered_[0] == pytest.approx(1 - alarm.missed / 1400)
    assert abs(live.conformal.covered_[0] - 0.9) < live.conformal.bound_
    assert live.late == 1197  # the last window of each 400 is not late
    assert live.promise.startswith(
        "No share is promised: the truth of each window must be known before the next one, but "
        "1,197 truths came later and 0 are not known. Of 1,400 intervals whose truth is known 0.7"
    )
    assert "certainty" not in live.promise


def test_truths_that_never_come_are_counted():
    rng = np.random.default_rng(0)
    live = caveat.stream(Level(), 10, 2, pending=5)
    for _ in range(200):
        live.push(rng.normal(size=20))
    assert live.dropped == 195
    words = "but 0 truths came later and 199 are not known."
    assert live.promise.endswith(words)
    live.learn(199, 0.0)
    assert f"{words} Of 1 intervals whose truth is known 1 covered it" in live.promise


def test_classes_have_no_interval_and_policies_decide():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1, 20)) + 3 * rng.normal(size=(400, 1, 1))
    y = (rng.random(400) < Chance().predict_distribution(X).mean[:, 1]).astype(int)
    policy = caveat.TriagePolicy(risk=0.2, random_state=0).fit(Chance().predict_distribution(X), y)
    live = caveat.stream(Chance(), 10, 2, policy=policy)
    events = [live.push(x[0])[0] for x in X]
    expected = policy.decide(Chance().predict_distribution(X)).actions
    assert [event.action for event in events] == list(expected)
    assert {"accept", "defer"} <= set(expected)
    assert events[0].interval is None
    assert "No interval is promised" in live.promise
    with pytest.raises(OptionError, match="window 0 is not waiting"):
        live.learn(0, 1)


def test_quantiles_have_intervals_and_no_parts():
    live = caveat.stream(Spread(), 10, 2, conformal=caveat.AdaptiveConformal(0.9))
    (event,) = live.push(np.random.default_rng(0).normal(size=20))
    assert event.aleatoric is None
    assert event.interval.coverage == 0.9


def test_latency_is_reported():
    live = caveat.stream(Level(), 10, 2)
    with pytest.raises(OptionError, match="no window is complete yet"):
        _ = live.latency
    assert live.push(np.zeros(5)) == []
    live.push(np.random.default_rng(0).normal(size=200))
    latency = live.latency
    assert set(latency) == {"mean", "median", "q95", "largest", "real_time"}
    assert 0 < latency["mean"] <= latency["largest"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hop": 3}, "hop must be at most window; got 3 and 2 s"),
        ({"pipeline": object()}, "must have predict_distribution"),
        ({"pipeline": make_pipeline(Standardize())}, "must have predict_distribution"),
        ({"conformal": 3}, "conformal must be a sequential method"),
        ({"fs": 0}, "fs must be a number above 0"),
        ({"tolerance": 2}, "tolerance must be a number of at least 0"),
        ({"run_length": 0}, "run_length must be a number of at least 1"),
        ({"pending": 0}, "pending must be a whole number"),
        ({"channels": 0}, "channels must be a whole number"),
    ],
)
def test_options_that_cannot_be(options, message):
    given = {"pipeline": Level(), "fs": 10, "window": 2, **options}
    with pytest.raises(OptionError, match=message):
        caveat.stream(**given)


@pytest.mark.parametrize("bad", [np.nan, "high", [0.1, 0.2], None])
def test_a_window_waits_until_its_truth_can_be_used(bad):
    live = caveat.stream(Level(), 10, 2)
    live.push(np.random.default_rng(0).normal(size=20))
    with pytest.raises(CaveatError, match=r"^y "):
        live.learn(0, bad)
    live.learn(0, 0.1)
    assert live.conformal.samples_ == 1
    with pytest.raises(OptionError, match="window 0 is not waiting for its truth"):
        live.learn(0, 0.1)


def test_chunks_of_other_channels():
    live = caveat.stream(Level(), 10, 2, channels=2)
    assert len(live.push(np.random.default_rng(0).normal(size=(2, 45)))) == 2
    with pytest.raises(ShapeError, match=r"chunk must have shape \(2, time\)"):
        live.push(np.zeros(20))


def test_chunks_of_any_type():
    signal = np.arange(40) % 7
    expected = caveat.stream(Level(), 10, 2).push(signal.astype(float))
    for kind in (np.int16, np.float32, object):
        live = caveat.stream(Level(), 10, 2)
        assert live.push([]) == live.push(np.array([], dtype=kind)) == []
        events = live.push(signal.astype(kind))
        assert [e.prediction.mean[0, 0, 0] for e in events] == [
            e.prediction.mean[0, 0, 0] for e in expected
        ]
    for bad in (signal + 1j, signal.astype(str)):
        with pytest.raises(InvalidValueError, match="chunk must be real numbers"):
            live.push(bad)


def test_false_alarms_are_as_far_apart_as_promised():
    rng = np.random.default_rng(0)
    lengths = []
    for _ in range(150):
        # Misses as often as is just tolerated.
        alarm = CoverageAlarm(0.8, tolerance=0.1, run_length=100)
        while not alarm.update(rng.random() < 0.7):
            pass
        lengths.append(alarm.alarm_at)
    # At least 100 on average, but for 4 standard errors.
    assert np.mean(lengths) >= 100 - 4 * np.std(lengths) / np.sqrt(150)


def test_the_evidence_is_the_sum_over_all_starts():
    alarm = CoverageAlarm(0.8, tolerance=0.1)
    stakes = 0.5 ** np.arange(1, 7) / 0.3
    missed = np.array([0, 1, 1, 0])
    for one in missed:
        alarm.update(not one)
    factors = 1 + stakes[:, None] * (missed - 0.3)
    sums = sum(np.prod(factors[:, start:], axis=1) for start in range(4))
    assert alarm.evidence == pytest.approx(sums.mean())
    assert (alarm.samples, alarm.missed) == (4, 2)
