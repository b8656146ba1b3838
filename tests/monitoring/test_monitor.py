"""A monitor against closed forms, and what it takes."""

import json
import math

import numpy as np
import pytest

import caveat
from caveat.exceptions import FileFormatError, OptionError
from caveat.monitoring import DriftMonitor
from caveat.monitoring.monitor import _STAKES, _Watch
from caveat.monitoring.result import DriftQuestion

from .samples import binary, gaussian


def one_watch(low=0.0, high=0.0):
    return _Watch(DriftQuestion.CALIBRATION, "bias", "", [], [], [(low, high)], [(-1.0, 1.0)])


def test_the_capital_of_one_sample():
    """Half of the bets gain stake times residual, the others lose as much; half is kept."""
    watch = one_watch()
    watch.update(np.array([0.7]), np.array([1.0]))
    bets = np.concatenate([1 + 0.7 * _STAKES, 1 - 0.7 * _STAKES])
    assert math.exp(watch.now) == pytest.approx(0.5 * bets.mean() + 0.5)


def test_the_capital_is_the_sum_over_starts():
    rng = np.random.default_rng(0)
    batches = [rng.uniform(-1, 1, 5) for _ in range(4)]
    watch = one_watch()
    for batch in batches:
        watch.update(batch, np.ones(5))
    stakes = np.concatenate([_STAKES, -_STAKES])
    total = 1 / 5  # what later starts get
    for k in range(4):
        after = np.concatenate(batches[k:])
        product = np.prod(1 + stakes[:, None] * after, axis=1)
        total += product.mean() / ((k + 1) * (k + 2))
    assert math.exp(watch.now) == pytest.approx(total)


def test_the_expected_capital_is_one_without_a_change():
    """Exactly: over all outcomes of three samples with p = 0.3, weighted by their probability."""
    p, expected = 0.3, 0.0
    for code in range(8):
        y = np.array([code & 1, code >> 1 & 1, code >> 2 & 1], dtype=float)
        watch = one_watch()
        watch.update(y[:2] - p, np.ones(2))
        watch.update(y[2:] - p, np.ones(1))
        expected += math.exp(watch.now) * p ** y.sum() * (1 - p) ** (3 - y.sum())
    assert expected == pytest.approx(1.0)


def test_limits_that_no_sample_can_pass_make_no_bets():
    watch = one_watch(-1.0, 1.0)
    watch.update(np.array([0.9]), np.array([1.0]))
    assert (watch.now, watch.largest, watch.updates) == (0.0, 0.0, 1)


def test_order_within_an_update_does_not_matter_and_counts_are_samples():
    rng = np.random.default_rng(0)
    x = rng.choice([-0.4, 0.3], 30)
    single, counted = one_watch(), one_watch()
    single.update(x, np.ones(30))
    values, counts = np.unique(x, return_counts=True)
    counted.update(values, counts.astype(float))
    assert single.now == pytest.approx(counted.now)


def watched(monitor):
    return [(w.question.value, w.quantity) for w in monitor.state.watches]


def test_what_is_watched():
    assert watched(DriftMonitor(binary(500))) == [
        ("predictions", "probability"), ("uncertainty", "total"), ("calibration", "bias"),
        ("skill", "error"),
    ]  # fmt: skip
    assert watched(DriftMonitor(binary(500, y=False))) == [
        ("predictions", "probability"), ("uncertainty", "total"),
    ]  # fmt: skip
    assert ("uncertainty", "epistemic") in watched(DriftMonitor(binary(500, members=3)))
    numbers = watched(DriftMonitor(gaussian(300)))
    assert numbers[-3:] == [("calibration", "bias"), ("calibration", "spread"), ("skill", "error")]


def test_a_change_of_the_predictions():
    monitor = DriftMonitor(binary(5000))
    for seed in range(1, 4):
        assert not monitor.update(binary(500, seed)).alarm
    for seed in range(4, 9):
        state = monitor.update(binary(500, seed, change=lambda p: p**3, y=False))
    assert state.alarm
    assert "probability of the second class and total uncertainty changed by" in state.message
    assert state.updates == 8
    assert state.samples == 4000


def test_a_change_of_the_spread_alone():
    rng = np.random.default_rng(0)
    monitor = DriftMonitor(caveat.Categorical.from_binary(rng.beta(5, 5, 5000)))
    for _ in range(6):
        state = monitor.update(caveat.Categorical.from_binary(rng.beta(0.6, 0.6, 500)))
    assert next(w for w in state.watches if w.quantity == "probability").alarm


def test_more_errors_and_not_fewer():
    def said(right, seed):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 1000)
        p = np.where(rng.random(1000) < right, y, 1 - y) * 0.2 + 0.4
        return caveat.Categorical.from_binary(p), y

    loose = {"share": 0.1, "distribution": 0.9}
    worse, better = (DriftMonitor(said(0.8, 0), threshold=loose) for _ in range(2))
    for seed in range(1, 8):
        down, up = worse.update(said(0.5, seed)), better.update(said(1.0, seed))
    assert next(w for w in down.watches if w.quantity == "error").alarm
    assert not next(w for w in up.watches if w.quantity == "error").alarm


@pytest.mark.parametrize("noise", [1.0, 3.0])
def test_numbers(noise):
    monitor = DriftMonitor(gaussian(3000, apart=0.01))
    for seed in range(1, 7):
        state = monitor.update(gaussian(400, seed, apart=0.01, noise=noise))
    alarms = {w.quantity for w in state.watches if w.alarm}
    assert alarms == ({"spread", "error"} if noise > 1 else set())
    assert state.alarm == (noise > 1)
    assert state.message.startswith("Alarm" if noise > 1 else "No alarm after 6 updates")


def test_classes_that_are_predicted_more_often():
    rng = np.random.default_rng(0)

    def some(weights, n=600):
        return caveat.Categorical(rng.dirichlet(weights, n)), rng.integers(0, 3, n)

    monitor = DriftMonitor(some([1, 1, 1], 4000))
    for _ in range(5):
        state = monitor.update(some([4, 1, 1]))
    assert next(w for w in state.watches if w.quantity == "class").alarm


def test_other_predictions():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    for prediction in (
        caveat.Interval(np.full(400, -1.0), np.full(400, 1.0), coverage=0.68),
        caveat.Quantiles([0.1, 0.5, 0.9], np.tile([-1.28, 0, 1.28], (400, 1))),
    ):
        monitor = DriftMonitor((prediction, x))
        assert not monitor.update((prediction, x)).alarm
    sets = caveat.PredictionSet(rng.random((400, 3)) < 0.5, coverage=0.5)
    assert not DriftMonitor((sets, rng.integers(0, 3, 400))).state.alarm
    intervals = caveat.ProbabilityInterval.from_binary(np.full(400, 0.2), np.full(400, 0.4))
    monitor = DriftMonitor((intervals, rng.integers(0, 2, 400)))
    assert not monitor.update(intervals).alarm


def test_one_value_only():
    same = caveat.Categorical.from_binary(np.full(400, 0.25))
    monitor = DriftMonitor(same)
    assert not monitor.update(same).alarm
    for _ in range(3):
        state = monitor.update(caveat.Categorical.from_binary(np.full(400, 0.75)))
    assert state.watches[0].alarm


def test_a_reference_that_is_off_is_no_change():
    off = {"truth": lambda p: np.clip(p + 0.2, 0, 1)}
    monitor = DriftMonitor(binary(5000, **off))
    for seed in range(1, 6):
        state = monitor.update(binary(1000, seed, **off))
    assert not state.alarm


def test_goes_on_from_a_file(tmp_path):
    whole, half = (DriftMonitor(binary(2000, members=2)) for _ in range(2))
    for seed in range(1, 4):
        whole.update(binary(200, seed, members=2))
        half.update(binary(200, seed, members=2))
        half.save(tmp_path / "monitor.json")
        half = DriftMonitor.load(tmp_path / "monitor.json")
    assert half.state == whole.state
    content = json.loads((tmp_path / "monitor.json").read_text())
    assert content["format"] == "caveat monitor 1"


def test_files_that_are_no_monitors(tmp_path):
    path = tmp_path / "monitor.json"
    for text in ("{", "{}", '{"format": "other"}', "[1]"):
        path.write_text(text)
        with pytest.raises(FileFormatError, match="monitor"):
            DriftMonitor.load(path)
    DriftMonitor(binary(50)).save(path)
    content = json.loads(path.read_text()) | {"alpha": 7}
    path.write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match="alpha"):
        DriftMonitor.load(path)


def test_errors():
    with pytest.raises(OptionError, match="reference: the samples are weighted"):
        DriftMonitor(gaussian(50, sample_weight=np.arange(1.0, 51.0)))
    monitor = DriftMonitor(binary(50))
    clustered = caveat.summarize(caveat.Categorical.from_binary([0.1, 0.2]), cluster=[1, 2])
    with pytest.raises(OptionError, match="new: the samples are clustered"):
        monitor.update(clustered)
    with pytest.raises(OptionError, match="answer different questions"):
        monitor.update(gaussian(50))
    empty = caveat.summaries.Summary(
        binary(20).about, {("", ""): caveat.summaries.Part(0, 0.0, 0.0)}
    )
    with pytest.raises(OptionError, match="new: there are no samples"):
        monitor.update(empty)
