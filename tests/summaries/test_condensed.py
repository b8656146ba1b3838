"""Cells stand for the samples of several classes: against the sums of the samples themselves."""

import pickle
import sys
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import caveat
from caveat._groups import Attribute
from caveat.evaluation.questions import questions
from caveat.exceptions import OptionError
from caveat.metrics import METRICS
from caveat.metrics.means import mean_of
from caveat.summaries import classes, steps, summarize_batch, tallies
from caveat.summaries.parts import distributions_of, numbers_of
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
    asked = [name for name, metric in METRICS.items() if metric.cells == "class"]
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
    monkeypatch.setattr(classes, "_BLOCK", 999)
    monkeypatch.setattr(classes, "_TILE", 100)
    close(summarize_batch(caveat.Categorical(p), y), whole)


@pytest.mark.parametrize("make", MADE)
def test_sums_of_scores_labels_and_top_probabilities_are_those_of_the_samples(make):
    p, y = samples(make)
    parts = summarize_batch(caveat.Categorical(p), y).parts
    every = np.arange(N)
    for name, metric in METRICS.items():
        key = (name, "", *ANY)
        if metric.cells in ("", "class") or key not in parts[ALL].states:
            continue
        ours, theirs = parts[ALL].states[key], metric.state(y, p)
        if name == "debiased_calibration_error":  # a probability is known from its cell
            assert metric.value(ours) == pytest.approx(metric.value(theirs), rel=2e-3, abs=1e-3)
            assert_same_sums(ours, theirs, ["units"])
        elif name == "smooth_calibration_error" and make is rounded:
            # A sample between two cells of the grid may be in either; its part of each is the same.
            assert metric.value(ours) == pytest.approx(metric.value(theirs), rel=1e-9)
        else:
            assert_same_sums(ours, theirs)
    for place, rows in [(ALL, every), (("class", "2"), np.flatnonzero(y == 2))]:
        for name in ("accuracy_score", "negative_log_likelihood_loss", "brier_loss"):
            theirs = METRICS[name].state(y[rows], p[rows])
            ours = parts[place].states[name, "", *ANY]
            assert METRICS[name].value(ours) == pytest.approx(METRICS[name].value(theirs))
            if place == ALL:
                assert_same_sums(ours, theirs)


@pytest.mark.parametrize("make", MADE)
def test_distributions_are_those_of_the_samples(make):
    p, y = samples(make)
    prediction = caveat.Categorical(p)
    parts = summarize_batch(prediction, y).parts
    for place, rows in [(ALL, np.arange(N)), (("class", "1"), np.flatnonzero(y == 1))]:
        numbers = [(key, values[rows]) for key, values in numbers_of(prediction)]
        (known,) = distributions_of(numbers, None)
        assert parts[place].distributions.keys() == known.keys()
        for key, theirs in known.items():
            ours = parts[place].distributions[key]
            np.testing.assert_array_equal(ours.columns, theirs.columns)
            np.testing.assert_array_equal(ours.counts, theirs.counts)
            assert (ours.total, ours.square) == pytest.approx((theirs.total, theirs.square))


@pytest.mark.parametrize("make", MADE)
@pytest.mark.parametrize("number", [3, 4, 9])
def test_compiled_loops_count_the_same(make, number):
    pytest.importorskip("numba", exc_type=ImportError)
    p, y = samples(make)
    p = np.tile(p, (1, 3))[:, :number] + (number == 3) / 16
    p /= p.sum(axis=1, keepdims=True)
    y, unit = y % number, np.arange(N, dtype=np.int32) % 64
    kinds = [classes.ClassCounts(number, compiled) for compiled in (False, True)]
    for counts in kinds:
        counts.add(p.T, y, unit)
    asked, _ = questions(caveat.Categorical(p[:1]), y[:1], None)
    for place in (None, 0, 1):
        ours, theirs = (counts.part(asked, True, place) for counts in kinds)
        for one, two in zip(ours.states.tallied, theirs.states.tallied, strict=True):
            for first, second in zip(one.tally.arrays, two.tally.arrays, strict=True):
                if first.dtype.kind == "i":
                    np.testing.assert_array_equal(first, second)
                np.testing.assert_allclose(first, second, rtol=1e-12, atol=1e-12)
        for key, one in ours.distributions.items():
            two = theirs.distributions[key]
            np.testing.assert_array_equal(one.counts, two.counts)
            assert (one.total, one.square) == pytest.approx((two.total, two.square), rel=1e-12)


def test_compiled_loops_are_used_where_they_are_installed(monkeypatch):
    assert steps.steps(False) is steps._STEPS
    monkeypatch.setitem(sys.modules, "caveat.summaries._compiled", None)
    steps._compiled.cache_clear()
    assert steps.steps(True) is steps._STEPS
    monkeypatch.undo()
    steps._compiled.cache_clear()
    assert (steps.steps(True) is steps._STEPS) == (find_spec("numba") is None)


def test_a_metric_that_reads_more_is_summed_by_itself():
    p, y = samples(usual)
    metric = replace(METRICS["brier"], function=squared, sums=mean_of(squared), name="squared")
    METRICS.register(metric)
    METRICS.register(replace(metric, name="unsummed", sums=None))
    try:
        parts = summarize_batch(caveat.Categorical(p), y, groups={"half": y > 1}).parts
        for place, rows in [
            (ALL, np.arange(N)), (("class", "1"), np.flatnonzero(y == 1)),
            (("half", "True"), np.flatnonzero(y > 1)),
        ]:  # fmt: skip
            ours = parts[place].states["squared", "", *ANY]
            assert metric.value(ours) == pytest.approx(squared(y[rows], p[rows]))
            assert ("unsummed", "", *ANY) not in parts[place].states
            assert ("roc_auc_score", "", *ANY) in parts[place].states or place[0] == "class"
    finally:
        METRICS.unregister("squared")
        METRICS.unregister("unsummed")


def squared(y_true, probabilities, *, per_sample=False, sample_weight=None):
    """The square of the probability of the true class."""
    scores = np.asarray(probabilities)[np.arange(len(y_true)), y_true] ** 2
    return scores if per_sample else float(np.average(scores, weights=sample_weight))


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
    assert before < summary.nbytes <= before + made


def of_classes(n=40_000):
    """A table of columns of three classes."""
    p, y = samples(usual, n)
    p = p[:, :3] / p[:, :3].sum(axis=1, keepdims=True)
    return {**{f"p_{k}": p[:, k] for k in range(3)}, "y": np.minimum(y, 1)}


def whole_of(columns, names="012"):
    p = np.stack([np.asarray(columns[f"p_{k}"], dtype=float) for k in names], axis=1)
    return summarize_batch(caveat.Categorical(p, normalize=True), columns["y"])


@pytest.mark.parametrize(
    "kind", ["double", "float", "half", "text", "metrics", "custom", "normalize"]
)
def test_columns_of_files_are_counted_as_predictions_are(tmp_path, kind):
    columns, given = of_classes(), {}
    if kind in ("float", "half"):
        dtype = {"float": np.float32, "half": np.float16}[kind]
        columns |= {name: columns[name].astype(dtype) for name in ("p_0", "p_1", "p_2")}
    whole = whole_of(columns)
    if kind == "text":
        columns["y"] = columns["y"].astype(str)
    if kind == "normalize":
        columns["p_1"] = columns["p_1"] * (1 + 1e-7)
        given["normalize"], whole = True, whole_of(columns)
    if kind == "metrics":
        given["metrics"] = ["ece", "accuracy"]
    custom = replace(METRICS["brier"], function=squared, sums=mean_of(squared), name="squared")
    if kind == "custom":
        METRICS.register(custom)
    try:
        pq.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=25_000)
        ours = caveat.summarize(tmp_path / "a.parquet", **given)
    finally:
        if kind == "custom":
            METRICS.unregister("squared")
    assert ours.parts.keys() == whole.parts.keys()  # the last class does not occur
    if kind != "custom":
        np.testing.assert_array_equal(ours.kept.keys, whole.kept.keys)
        np.testing.assert_allclose(
            ours.kept.prediction.probabilities, whole.kept.prediction.probabilities, atol=1e-3
        )
        assert ours.kept.y.tolist() == whole.kept.y.tolist()
    for place, part in ours.parts.items():
        assert part.states or place[0] == "class"
        for key, state in part.states.items():
            if key[0] in ("accuracy_score", "brier_loss", "expected_calibration_error"):
                known = METRICS[key[0]].value(whole.parts[place].states[key])
                assert METRICS[key[0]].value(state) == pytest.approx(known, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("p_1", -0.5, "p_1|negative|never"), ("p_1", np.nan, "no number"),
        ("p_1", 57.0, "sum|normalize"), ("y", 3, "the classes are"), ("y", -1, "the classes are"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_file_is_named(tmp_path, name, value, words):
    columns = of_classes()
    columns[name][34_567] = value
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(caveat.exceptions.CaveatError, match=words):
        caveat.summarize(tmp_path / "a.parquet")


def test_members_of_several_classes_keep_their_distributions():
    rng = np.random.default_rng(0)
    members = rng.dirichlet(np.ones(3), (4, 500))
    y, group = rng.integers(0, 3, 500), Attribute("g", ("all", "none"), np.zeros(500, dtype=int))
    prediction = caveat.Categorical(members)
    parts = summarize_batch(prediction, y, groups=[group]).parts
    assert ("g", "none") not in parts
    (known,) = distributions_of(numbers_of(prediction), None)
    for place in (ALL, ("g", "all")):
        assert parts[place].distributions["epistemic", ""].mean > 0
        for key, theirs in known.items():
            assert parts[place].distributions[key].total == pytest.approx(theirs.total)
    assert not [key for key in parts["g", "all"].states if key[2] is not None]


def test_more_samples_than_small_counts_hold_are_refused(monkeypatch):
    p, y = samples(usual)
    monkeypatch.setattr(classes, "SMALL", 2 * N - 1)
    counts, unit = classes.ClassCounts(p.shape[1]), np.zeros(N, dtype=np.int32)
    counts.add(p.T, y, unit)
    with pytest.raises(
        OptionError, match=f"up to {2 * N - 1:,} at a time; pass them in several batches"
    ):
        counts.add(p.T, y, unit)
    assert counts.samples.sum() == N
