"""Cells stand for the samples of several classes: against the sums of the samples themselves."""

import pickle

import numpy as np
import pytest

import caveat
from caveat.evaluation.questions import questions
from caveat.metrics import METRICS, batch
from caveat.summaries import parts, summarize_batch, tallies
from caveat.summaries.condensed import tallied
from caveat.summaries.summary import ALL

from .test_summary import close, dense

ANY = (None, None, None)
N = 6000


def hard(rng, n):
    return np.eye(4)[rng.integers(0, 4, n)]


def rounded(rng, n):
    """Multiples of 1/15, where bins begin; means of many equal ones are off by rounding."""
    return rng.multinomial(15, [0.4, 0.3, 0.2, 0.1], n) / 15


def tiny(rng, n):
    p = np.empty((n, 4))
    p[:, 1:] = 10.0 ** -rng.uniform(1, 15, (n, 3))
    p[:, 0] = 1 - p[:, 1:].sum(axis=1)
    return p


def equal(rng, n):
    return np.tile([0.7, 0.1, 0.1, 0.1], (n, 1))


def usual(rng, n):
    return rng.dirichlet(np.full(4, 0.4), n)


MADE = [usual, rounded, tiny, equal, hard]


def samples(make, n=N, seed=0):
    rng = np.random.default_rng(seed)
    p = make(rng, n)
    y = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    y[: n // 10] = rng.integers(0, 4, n // 10)
    return p, y


def assert_same_sums(ours, theirs, kinds=("totals", "units")):
    assert (ours.samples, ours.shape, ours.plain) == (theirs.samples, theirs.shape, theirs.plain)
    for kind in kinds:
        for pair in zip(getattr(ours, kind), getattr(theirs, kind), strict=True):
            first, second = dense(*pair)
            np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("make", MADE)
def test_sums_of_each_class_are_those_of_the_samples(make):
    p, y = samples(make)
    states = summarize_batch(caveat.Categorical(p), y).parts[ALL].states
    asked = [name for name, metric in METRICS.items() if metric.by_class]
    assert len(asked) == 7
    for name in asked:
        ours, theirs = states[name, "", *ANY], METRICS[name].state(y, p)
        # Units are over coarse cells, of which the cells that are counted are parts.
        assert_same_sums(ours, theirs, ["units"])
        if name in ("brier_calibration_error", "brier_refinement_loss"):
            assert_same_sums(ours, theirs)  # equal-width bins are exact
        value = METRICS[name].value(ours)
        # Keys are known to 1/128, in a state of the samples as well, and a cell is in or out of
        # the threshold of one metric.
        assert value == pytest.approx(METRICS[name].value(theirs), rel=2e-3, abs=1e-3)
    for k in range(4):
        theirs = METRICS["positive_ece"].state(y == k, p[:, k])
        assert_same_sums(states["positive_calibration_error", "", str(k), None, None], theirs)


@pytest.mark.parametrize("make", MADE)
def test_sums_of_ranks_are_those_of_the_samples(make):
    p, y = samples(make)
    parts = summarize_batch(caveat.Categorical(p), y).parts
    entropy = caveat.decompose(caveat.Categorical(p)).total
    wrong = p.argmax(axis=1) != y
    asked = [key for key in parts[ALL].states if METRICS[key[0]].task == "ranking"]
    assert len(asked) == 7
    ids = np.arange(N)
    for key in asked:
        metric = METRICS[key[0]]
        for place, rows in [(ALL, ids), (("class", "2"), np.flatnonzero(y == 2))]:
            theirs = metric.state(wrong[rows], entropy[rows])
            ours = parts[place].states[key]
            assert metric.value(ours) == pytest.approx(metric.value(theirs), nan_ok=True)
            if place == ALL:
                assert_same_sums(ours, theirs)


@pytest.mark.parametrize("make", MADE)
def test_any_partition_of_awkward_samples_is_the_whole(make):
    p, y = samples(make, 3000)
    whole = summarize_batch(caveat.Categorical(p), y, groups={"half": y > 1})
    parts = [
        summarize_batch(caveat.Categorical(p[a:b]), y[a:b], groups={"half": y[a:b] > 1}, start=a)
        for a, b in [(0, 1), (1, 700), (700, 3000)]
    ]
    close(sum(parts), whole)


@pytest.mark.parametrize("names", [["positive_ece"], ["ace"], ["aurc", "accuracy"], ["accuracy"]])
def test_some_metrics_have_the_sums_of_all(names):
    p, y = samples(usual)
    every = summarize_batch(caveat.Categorical(p), y).parts
    for place, part in summarize_batch(caveat.Categorical(p), y, metrics=names).parts.items():
        for key, state in part.states.items():
            assert_same_sums(state, every[place].states[key])


@pytest.mark.parametrize("extra", ["weights", "many classes", "clusters"])
def test_where_samples_are_not_counted_alike(extra):
    """With weights or many classes the samples themselves are summed; clusters are units."""
    rng = np.random.default_rng(0)
    classes = 25 if extra == "many classes" else 4
    p = rng.dirichlet(np.ones(classes), 500)
    y = rng.integers(0, classes - 1, 500)  # the last class does not occur
    y[:30] = 0
    given = {"weights": {"sample_weight": rng.random(500)}, "clusters": {"cluster": y // 2}}
    own = given.get(extra, {})
    parts = summarize_batch(caveat.Categorical(p), y, **own).parts
    for name in ("roc_auc_score", "adaptive_calibration_error", "accuracy_score"):
        theirs = METRICS[name].state(y, p, **own)
        kinds = ["units"] if extra == "clusters" and name != "accuracy_score" else None
        assert_same_sums(parts[ALL].states[name, "", *ANY], theirs, kinds or ("totals", "units"))
    assert parts["class", "0"].samples == np.count_nonzero(y == 0)
    assert ("class", str(classes - 1)) not in parts


@pytest.mark.parametrize("classes", [2, 3])
def test_a_probability_above_one_by_rounding_is_one(classes):
    p = np.zeros((20_000, classes))
    p[:, 1] = 1 + 5e-10
    summary = caveat.summarize(caveat.Categorical(p), np.ones(20_000, dtype=int))
    (row,) = summary.evaluate(metrics=["ece"], resamples=0).select(group="")
    assert row.value == pytest.approx(0, abs=1e-8)
    one_class = caveat.summarize(
        caveat.Categorical(p), np.ones(20_000, dtype=int), metrics=["positive_ece"]
    )
    assert one_class.samples == 20_000


def test_distributions_of_groups_of_members():
    rng = np.random.default_rng(0)
    p, group = rng.random((3, 400)), rng.integers(0, 2, 400)
    prediction = caveat.Categorical.from_binary(p)
    parts = summarize_batch(prediction, rng.integers(0, 2, 400), groups={"g": group}).parts
    own = parts["g", "1"].distributions["probability", ""]
    assert own.mass == np.count_nonzero(group == 1)
    assert own.mean == pytest.approx(p.mean(axis=0)[group == 1].mean())
    whole = parts[ALL].distributions["probability", ""]
    assert whole.mean == pytest.approx(p.mean())
    assert whole.variance == pytest.approx(p.mean(axis=0).var())


def test_numbers_that_are_not_finite_have_no_distribution():
    lower = np.zeros(30)
    prediction = caveat.Interval(lower, np.where(np.arange(30) == 3, np.inf, 1.0), coverage=0.9)
    part = summarize_batch(prediction, lower + 0.5).parts[ALL]
    assert not [name for name, _ in part.distributions if name == "width"]
    assert part.samples == 30


def test_counts_are_added_up_before_and_after_sums_are_made(tmp_path):
    p, y = samples(usual, 3000)
    one, two = (
        summarize_batch(caveat.Categorical(p[rows]), y[rows], start=rows.start)
        for rows in (slice(0, 1000), slice(1000, 3000))
    )
    whole = summarize_batch(caveat.Categorical(p), y)
    states = (one + two).parts[ALL].states
    assert len(states) == len(list(states)) == len(whole.parts[ALL].states)
    assert ("brier_loss", "", *ANY) in states
    assert ("crps_gaussian_loss", "", *ANY) not in states
    close(one + two, whole)
    close(pickle.loads(pickle.dumps(one)) + two, whole)
    one.save(tmp_path / "one.caveat")
    close(caveat.load(tmp_path / "one.caveat") + two, whole)
    close(two + caveat.load(tmp_path / "one.caveat"), whole)


def test_blocks_of_rows_change_nothing(monkeypatch):
    p, y = samples(usual)
    whole = summarize_batch(caveat.Categorical(p), y)
    monkeypatch.setattr(tallies, "_BLOCK", 999)
    monkeypatch.setattr(batch, "_ROWS", 999)
    monkeypatch.setattr(parts, "_ROWS", 999)
    close(summarize_batch(caveat.Categorical(p), y), whole)


def test_counts_of_groups_add_up_to_those_of_all():
    p, y = samples(usual, 2000)
    asked, _ = questions(caveat.Categorical(p), y, None)
    asked = [q for q in asked if q.metric.by_class or q.metric.task == "ranking"]
    unit, group = (np.arange(2000) % n for n in (64, 3))
    unit = unit.astype(np.int32)
    each = tallied(asked, unit, True, group.astype(np.int32), 3)
    (whole,) = tallied(asked, unit, True, np.zeros(2000, dtype=np.int32), 1)
    assert [one.samples for one in np.array(each)[:, 0]] == [667, 667, 666]
    for kinds in zip(whole, *each, strict=True):
        total, *some = kinds
        for array, *added in zip(total.tally.arrays, *(s.tally.arrays for s in some), strict=True):
            np.testing.assert_allclose(sum(added), array, rtol=1e-12)


def test_counts_beyond_32_bits():
    most = np.array([2**31 - 1, 5], dtype=np.int32)
    one = tallies.UncertaintyTally((most,))
    (array,) = (one + one).arrays
    assert array.tolist() == [2**32 - 2, 10]
    few = tallies.UncertaintyTally((np.array([3, 1], dtype=np.int32),))
    assert (few + few).nbytes == few.nbytes == 8


def test_the_size_in_memory_is_that_of_counts_and_of_sums_that_were_made():
    p, y = samples(usual, 3000)
    summary = summarize_batch(caveat.Categorical(p), y)
    before = summary.nbytes
    made = sum(state.nbytes for state in summary.parts[ALL].states.values())
    assert before < summary.nbytes < before + made
