"""A stream over time: predictions, intervals, truths, actions, and windows that cannot be used."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

import caveat
from caveat import charts
from caveat.charts.marks import Band, Line, Points, Rule, Span
from caveat.exceptions import OptionError
from caveat.signals import StreamRecord


class Level:
    def predict_distribution(self, X):
        mean = X.mean(axis=2)
        return caveat.Gaussian(
            np.stack([mean[:, 0], -mean[:, 0]], axis=1),
            np.ones((len(X), 2)),
            targets=["up", "down"],
        )


class Chance:
    def predict_distribution(self, X):
        z = X.mean(axis=(1, 2))
        return caveat.GaussianLogits(
            np.stack([-z, z], axis=1), np.ones((len(X), 2)), classes=["no", "yes"]
        )


@cache
def record():
    rng = np.random.default_rng(0)
    signal = rng.normal(size=3000)
    signal[200:300] = 1.0
    method = caveat.AdaptiveConformal(0.8, step=1e-6, window=None)
    live = caveat.stream(Level(), 10, 10, conformal=method, run_length=20)
    events, truth = [], {}
    for i, chunk in enumerate(np.split(signal, 30)):
        for event in live.push(chunk):
            events.append(event)
            if event.prediction is not None:
                truth[event.number] = rng.normal(size=2) * (0.1 if i < 18 else 5.0)
                live.learn(event.number, truth[event.number])
    return StreamRecord(events, signal, 10, truth=truth)


def marks(chart, kind):
    return [mark for mark in chart.marks if isinstance(mark, kind)]


def test_what_is_drawn_is_what_was_said():
    made = charts.stream(record(), target="down")
    used = [event for event in record().events if event.prediction is not None]
    (line,) = marks(made, Line)
    np.testing.assert_allclose(line.y, [e.prediction.mean[0, 0, 1] for e in used])
    (band,) = marks(made, Band)
    lower = np.array([e.interval.lower[0, 1] for e in used])
    finite = np.isfinite(lower)
    np.testing.assert_allclose(np.asarray(band.low)[finite], lower[finite])
    assert np.isnan(np.asarray(band.low)[~finite]).all()
    (points,) = marks(made, Points)
    np.testing.assert_allclose(points.y, [record().truth[e.number][1] for e in used])
    (span,) = marks(made, Span)
    assert (span.low, span.high) == (20.0, 30.0)
    (rule,) = marks(made, Rule)
    assert rule.x == next(e.start for e in record().events if e.alarm)
    assert made.y.label == "down"
    assert made.confidence == 0.8
    assert len(made.to_frame()) == len(used)
    assert charts.available(record()) == ["stream"]


def test_classes_and_what_was_not_accepted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1, 10)) + 2 * rng.normal(size=(300, 1, 1))
    said = Chance().predict_distribution(X)
    y = np.array(["no", "yes"])[(rng.random(300) < said.to_categorical().mean[:, 1]).astype(int)]
    policy = caveat.TriagePolicy(risk=0.12, random_state=0).fit(said, y)
    events = caveat.stream(Chance(), 10, 1, policy=policy).push(X[:40].ravel())
    made = charts.stream(StreamRecord(events))
    (line,) = marks(made, Line)
    np.testing.assert_allclose(line.y, [e.prediction.to_categorical().mean[0, 1] for e in events])
    assert made.y.label == "probability of yes"
    (points,) = marks(made, Points)
    assert points.label == "not accepted"
    assert not marks(made, Band)
    assert charts.stream(StreamRecord(events), target="no").y.label == "probability of no"
    with pytest.raises(OptionError, match="target must be one of 'no', 'yes'; got 'maybe'"):
        charts.stream(StreamRecord(events), target="maybe")


def test_quantiles_are_drawn_by_their_median():
    class Spread:
        def predict_distribution(self, X):
            mean = X.mean(axis=(1, 2))
            return caveat.Quantiles([0.05, 0.5, 0.95], np.stack([mean - 1, mean, mean + 1], axis=1))

    events = caveat.stream(Spread(), 10, 1).push(np.random.default_rng(0).normal(size=50))
    made = charts.stream(StreamRecord(events))
    np.testing.assert_allclose(
        marks(made, Line)[0].y, [e.prediction.median()[0, 0] for e in events]
    )
    assert made.y.label == "value"


def test_long_signals_keep_their_extremes():
    made = charts.stream(record(), signal=True)
    assert len(made.to_frame()) <= 2000
    signal = record().signal[0]
    assert made.to_frame()["value"].max() == signal.max()
    assert made.to_frame()["value"].min() == signal.min()
    short = StreamRecord(record().events, signal[:100], 10)
    assert len(charts.stream(short, signal=True).to_frame()) == 100


def test_axes_are_those_of_what_is_drawn():
    rng = np.random.default_rng(0)
    signal = 2000 + rng.normal(size=6000)
    events = caveat.stream(Level(), 10, 10).push(signal)[40:]
    made = charts.stream(StreamRecord(events))
    assert made.x.ends == (400.0, 600.0)
    assert made.y.ends[0] > 1900
    # One gap in each stretch does not hide its extremes; infinite values are gaps, too.
    low, high = signal.min(), signal.max()
    signal[(signal > low) & (signal < high) & (np.arange(6000) % 5 == 0)] = np.nan
    signal[3] = np.inf
    drawn = charts.stream(StreamRecord(events, signal, 10), signal=True)
    shown = drawn.numbers["value"][np.isfinite(drawn.numbers["value"])]
    assert (shown.min(), shown.max()) == (low, high)
    stretches = np.array_split(signal, 1000)
    least = [part[np.isfinite(part)].min() for part in stretches]
    assert set(least) <= set(shown)
    assert drawn.y.ends[0] > 1900
    nothing = charts.stream(StreamRecord(events, np.full(6000, np.nan), 10), signal=True)
    assert nothing.y.ends is None


def test_records_that_cannot_be_drawn():
    with pytest.raises(OptionError, match="this record has no signal"):
        charts.stream(StreamRecord(record().events), signal=True)
    nothing = [event for event in record().events if event.prediction is None]
    with pytest.raises(OptionError, match="no window of this record could be used"):
        charts.stream(StreamRecord(nothing))
    with pytest.raises(OptionError, match="events must be events of a stream"):
        StreamRecord([])
    with pytest.raises(OptionError, match="signal and fs belong together"):
        StreamRecord(record().events, np.zeros(5))
    with pytest.raises(OptionError, match="truth must be a dict, from numbers of windows; got a l"):
        StreamRecord(record().events, truth=[1.0] * 30)
    assert StreamRecord(record().events, truth=pd.Series([2.0], [7])).truth == {7: 2.0}
    assert repr(record()) == "StreamRecord: 30 windows from 0 to 300 s, 29 accepted"
