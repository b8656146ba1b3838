"""Summaries of any partition are those of the whole, and answer as the samples do."""

import json
import re
import zipfile
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import caveat
from caveat.exceptions import (
    FileFormatError,
    InvalidValueError,
    OptionError,
    ShapeError,
    UnsupportedPredictionError,
)
from caveat.summaries import compare_summaries, summarize_batch, summarize_counts
from caveat.summaries.kept import KEPT

N = 24_000


def binary(seed=0, n=N, slope=1.5):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    p = 1 / (1 + np.exp(-2 * z))
    y = (rng.random(n) < 1 / (1 + np.exp(-slope * z))).astype(int)
    return caveat.Categorical.from_binary(p), y, {"site": rng.choice(["a", "b"], n)}


def classes(seed=0, n=N):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(3), n)
    y = np.array(["x", "y", "z"])[(p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)]
    return caveat.Categorical(p, classes=["x", "y", "z"]), y, {"sex": rng.choice(["f", "m"], n)}


def gaussian(seed=0, n=N):
    rng = np.random.default_rng(seed)
    mean, variance = rng.normal(size=(4, n, 2)), rng.gamma(2, 1, (4, n, 2))
    y = rng.normal(mean.mean(axis=0), 1.8)
    prediction = caveat.Gaussian(mean, variance, targets=["price", "rent"])
    return prediction, y, {"town": rng.choice(["u", "v"], n)}


def members(seed=0, n=N):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    p = 1 / (1 + np.exp(-z - rng.normal(0, 0.5, (5, n))))
    y = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)
    return caveat.Categorical.from_binary(p), y, None


def quantiles(seed=0, n=N):
    rng = np.random.default_rng(seed)
    center = rng.normal(size=n)
    values = center[:, None] + rng.uniform(0.5, 1.5, (n, 1)) * np.array([-1.6, 0.0, 1.6])
    return caveat.Quantiles([0.05, 0.5, 0.95], values), rng.normal(center), None


def interval(seed=0, n=N):
    rng = np.random.default_rng(seed)
    center = rng.normal(size=n)
    return caveat.Interval(center - 2, center + 2, coverage=0.95), rng.normal(center), None


def sets(seed=0, n=N):
    rng = np.random.default_rng(seed)
    membership = rng.random((n, 3)) < 0.6
    membership[:, 0] |= ~membership.any(axis=1)
    return caveat.PredictionSet(membership, coverage=0.7), rng.integers(0, 3, n), None


KINDS = [binary, classes, gaussian, members, quantiles, interval, sets]


def taken(groups, rows):
    return None if groups is None else {name: values[rows] for name, values in groups.items()}


def dense(*pairs):
    """Return sums at all columns of either; a sum that is 0 but for rounding has none."""
    columns = np.unique(np.concatenate([held for held, _ in pairs]))
    for held, sums in pairs:
        result = np.zeros((len(sums), len(columns)))
        result[:, np.searchsorted(columns, held)] = sums
        yield result


def close(one, other):
    """Whether two summaries have the same sums."""
    assert one.about == other.about
    assert set(one.parts) == set(other.parts)
    for place, part in one.parts.items():
        theirs = other.parts[place]
        assert part.samples == theirs.samples
        assert (part.table is None) == (theirs.table is None)
        if part.table is not None:
            assert np.array_equal(part.table, theirs.table)
        assert set(part.states) == set(theirs.states)
        for key, state in part.states.items():
            for kind in ("totals", "units"):
                pairs = zip(getattr(state, kind), getattr(theirs.states[key], kind), strict=True)
                for pair in pairs:
                    first, second = dense(*pair)
                    scale = max(1.0, np.abs(first).max(initial=0.0))
                    np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-11 * scale)
        assert set(part.distributions) == set(theirs.distributions)
        for name, spread in part.distributions.items():
            again = theirs.distributions[name]
            assert np.array_equal(spread.columns, again.columns)
            np.testing.assert_allclose(spread.counts, again.counts)
            assert spread.mean == pytest.approx(again.mean, abs=1e-9)
            assert spread.variance == pytest.approx(again.variance, abs=1e-9)
    if one.kept is None or other.kept is None:
        assert one.kept is other.kept
    else:
        assert np.array_equal(one.kept.keys, other.kept.keys)
        assert one.kept.prediction == other.kept.prediction


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("extra", ["plain", "weights and clusters"])
def test_any_partition_is_the_whole(make, extra):
    prediction, y, groups = make(n=12_500)
    rng = np.random.default_rng(5)
    given = {}
    if extra != "plain":
        given = {
            "sample_weight": 10 ** rng.uniform(-5, 5, 12_500),
            "cluster": rng.integers(0, 900, 12_500),
        }
    whole = summarize_batch(prediction, y, groups=groups, **given)
    edges = [0, 1, 40, 7_000, 12_500]
    order = rng.permutation(4)
    parts = [
        summarize_batch(
            prediction.take(slice(a, b)), y[a:b], groups=taken(groups, slice(a, b)),
            **{name: values[a:b] for name, values in given.items()}, start=a,
        )
        for a, b in pairwise(edges)
    ]  # fmt: skip
    close(caveat.merge([parts[i] for i in order]), whole)
    close(sum(parts), whole)


@pytest.mark.parametrize("make", KINDS)
def test_few_samples_are_evaluated_as_they_are(make):
    prediction, y, groups = make(n=400)
    result = caveat.summarize(prediction, y, groups=groups).evaluate(random_state=0, resamples=50)
    wanted = caveat.evaluate(prediction, y, groups=groups, random_state=0, resamples=50)
    assert [row.key for row in result.rows] == [row.key for row in wanted.rows]
    np.testing.assert_allclose(
        [row.value for row in result.rows],
        [row.value for row in wanted.rows],
        rtol=1e-9,
        atol=1e-12,
    )
    assert result.samples == 400


@pytest.mark.parametrize("make", KINDS)
def test_many_samples_have_the_rows_and_values_of_an_evaluation(make):
    prediction, y, groups = make()
    summary = caveat.summarize(prediction, y, groups=groups)
    result = summary.evaluate(random_state=0, resamples=200)
    wanted = caveat.evaluate(prediction, y, groups=groups, random_state=0, resamples=200)
    ours = {(row.key, row.contrast): row for row in result.rows}
    theirs = {(row.key, row.contrast): row for row in wanted.rows}
    known = [key for key in theirs if not (key[1] != "none" and key[0].metric in STEPS)]
    assert set(known) <= set(ours)
    assert len(ours) == len(theirs)
    scale = {row.metric: max(1.0, abs(row.value)) for row in wanted.rows if row.overall}
    for key in known:
        row, metric = theirs[key], key[0].metric
        # Ranks and equal-count bins are those of keys within 1/128; the rest is exact, but for the
        # cells of a table.
        loose = 0.1 if metric in STEPS else 2e-3 * scale[metric]
        if key[1] == "none":
            assert ours[key].value == pytest.approx(row.value, rel=0.02, abs=loose), key
        assert ours[key].samples == row.samples
        if np.isfinite(row.high) and row.high > row.low + 1e-9 and metric not in STEPS:
            assert np.isfinite(ours[key].low), key
            overlap = min(ours[key].high, row.high) - max(ours[key].low, row.low)
            assert overlap > 0.3 * (row.high - row.low), key
    assert result.samples == N
    assert f"{N:,} samples" in result.description
    # The verdict has the same states.
    assert [f.level for f in result.verdict().statements] == [
        f.level for f in wanted.verdict().statements
    ]


LOOSE = {"maximum_calibration_error": 0.01, "debiased_calibration_error": 2e-3}
"""One bin of few samples decides; bins that hold whole ties move with one of them."""

STEPS = ("decrease_ratio_score", "error_drop_score")
"""Metrics of a few points, whose intervals jump."""


@pytest.mark.parametrize(
    ("probabilities", "tolerance"),
    [
        (lambda rng, n: np.full(n, 0.3), 1e-3),
        (lambda rng, n: np.full(n, 0.5), 1e-4),
        (lambda rng, n: 10 ** rng.uniform(-12, -0.01, n), 5e-3),
        (lambda rng, n: 1 - 10 ** rng.uniform(-12, -0.01, n), 5e-3),
        (lambda rng, n: np.round(rng.random(n), 1), 1e-9),
        (lambda rng, n: np.round(rng.random(n), 2), 5e-3),
        (lambda rng, n: rng.integers(0, 2, n).astype(float), 1e-9),
    ],
    ids=["all equal", "one half", "tiny", "nearly sure", "rounded", "percent", "hard"],
)
def test_awkward_probabilities_stay_within_the_bounds(probabilities, tolerance):
    rng = np.random.default_rng(3)
    p = probabilities(rng, 11_000)
    y = (rng.random(11_000) < np.clip(p, 0.01, 0.99)).astype(int)
    prediction = caveat.Categorical.from_binary(p)
    result = caveat.summarize(prediction, y).evaluate(resamples=0)
    wanted = caveat.evaluate(prediction, y, resamples=0)
    for row, exact in zip(result.rows, wanted.rows, strict=True):
        assert row.key == exact.key
        if row.metric in STEPS or row.contrast != "none":
            continue
        # up to five samples lie within a cell of where a bin of the confidence begins
        loose = LOOSE.get(row.metric, 5 / 11_000)
        assert row.value == pytest.approx(exact.value, rel=tolerance, abs=loose, nan_ok=True), row


def test_weights_over_ten_orders_of_magnitude():
    prediction, y, _ = classes(n=12_000)
    weight = 10 ** np.random.default_rng(0).uniform(-5, 5, 12_000)
    result = caveat.summarize(prediction, y, sample_weight=weight).evaluate(resamples=0)
    wanted = caveat.evaluate(prediction, y, sample_weight=weight, resamples=0)
    for row, exact in zip(result.rows, wanted.rows, strict=True):
        if row.metric in STEPS or row.contrast != "none":
            continue
        loose = 0.01
        assert row.value == pytest.approx(exact.value, rel=0.05, abs=loose), row


@pytest.mark.parametrize("make", [binary, classes, gaussian])
@pytest.mark.parametrize("n", [900, 12_000])
def test_batches_and_groups_of_which_no_sample_counts(make, n):
    prediction, y, _ = make(n=n)
    rng = np.random.default_rng(0)
    weight, group = np.repeat(rng.choice([0.0, 1.0, 2.0], n // 100), 100), rng.choice(["a", "b"], n)
    weight[:100], group[:50], weight[100] = 0, "c", 2
    given = {"sample_weight": weight, "groups": {"g": group}}
    whole = caveat.summarize(prediction, y, **given)
    parts = [
        summarize_batch(
            prediction.take(rows), y[rows], sample_weight=weight[rows], groups={"g": group[rows]},
            start=rows[0],
        )
        for rows in np.split(np.arange(n), n // 100)
    ]  # fmt: skip
    mine, exact = whole.evaluate(resamples=20, random_state=0), caveat.evaluate(
        prediction, y, resamples=20, random_state=0, **given
    )  # fmt: skip
    joined = caveat.merge(parts).evaluate(resamples=20, random_state=0)
    for row, other in zip(mine.rows, joined.rows, strict=True):
        assert row.key == other.key
        assert (row.value, row.low) == pytest.approx((other.value, other.low), nan_ok=True)
    for evaluation in (mine, exact):
        for row in evaluation.rows:
            assert "c" not in (row.reference, row.category) or np.isnan(row.value)
        assert sum(row.category == "c" for row in evaluation.rows) > 5
        assert "g=c" not in str(evaluation.verdict())
        if make is not gaussian:
            chart = caveat.charts.reliability(evaluation, group="g")
            assert set(chart.numbers["group"]) == {"a", "b"}
    with pytest.raises(InvalidValueError, match="sample_weight is 0 for every sample"):
        parts[0].evaluate()


def test_hardly_any_sample_counts():
    prediction, y, _ = binary(n=40_000)
    weight = (np.arange(40_000) == 5).astype(float)
    result = caveat.summarize(prediction, y, sample_weight=weight)
    assert not result.kept.weight.any()
    with pytest.raises(InvalidValueError, match="none of the 10,000 random samples that the summ"):
        result.evaluate()


def test_the_share_of_a_class_of_which_no_sample_counts_is_zero():
    prediction, y, _ = binary(n=12_000)
    weight = (np.asarray(y) == 0) * np.random.default_rng(0).random(12_000)
    totals = caveat.summarize(prediction, y, sample_weight=weight).evaluate(resamples=0).totals
    assert totals["", ""].means[1][1] == 0


def test_counts_are_the_same_by_the_fast_way():
    prediction, y, groups = binary()
    from caveat._groups import attributes

    known = attributes(groups, N)
    close(
        summarize_counts(prediction.mean[:, 1], y, groups=known),
        summarize_batch(prediction, y, groups=groups),
    )
    few = summarize_counts(prediction.mean[:50, 1], y[:50], classes=("no", "yes"))
    assert len(few.kept) == 50
    assert sorted(few.kept.y.tolist()) == sorted(np.array(["no", "yes"])[y[:50]].tolist())


def test_without_truth_there_are_distributions_and_no_evaluation():
    prediction, _, _ = members(n=500)
    summary = caveat.summarize(prediction)
    (part,) = summary.parts.values()
    split = caveat.decompose(prediction)
    for name in ("total", "aleatoric", "epistemic"):
        spread = part.distributions[name, ""]
        assert spread.mean == pytest.approx(getattr(split, name).mean())
        assert spread.variance == pytest.approx(getattr(split, name).var(), abs=1e-12)
        assert spread.mass == 500
    with pytest.raises(OptionError, match="made without true values"):
        summary.evaluate()
    with pytest.raises(OptionError, match="made without true values, which an audit needs"):
        summary.audit()


@pytest.mark.parametrize(
    "make",
    [
        lambda: caveat.GaussianLogits(np.zeros((3, 2)), np.ones((3, 2))),
        lambda: caveat.ProbabilityInterval.from_binary([0.2, 0.4, 0.1], [0.3, 0.6, 0.2]),
        lambda: caveat.Quantiles([0.7, 0.9], np.arange(6.0).reshape(3, 2)),
    ],
)
def test_other_predictions_have_distributions(make):
    summary = caveat.summarize(make())
    assert summary.samples == 3


def test_groups_are_in_the_order_of_numbers_and_text():
    prediction, y, _ = binary(n=300)
    age = np.array(["10", "9", "old", "100"])[np.arange(300) % 4]
    summary = caveat.summarize(prediction, y, groups={"age": age})
    assert list(summary.groups()["age"]) == ["9", "10", "100", "old"]
    assert "4 values of age" in repr(summary)
    assert "(0.4 MiB)" not in repr(summary)


def test_a_group_called_class_is_renamed_as_in_an_evaluation():
    prediction, y, groups = binary(n=12_000)
    summary = caveat.summarize(prediction, y, groups={"class": groups["site"]})
    names = {row.attribute for row in summary.evaluate(resamples=0).rows}
    assert names == {"", "class", "class (group)"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"classes": ("no", "yes")},
            r"classes, targets or levels add up; got classes \[0, 1\] and classes \['no', 'yes'\]$",
        ),
        ({"groups": True}, "groups add up; got no groups and site"),
        ({"weight": True}, "kind of weights"),
        ({"cluster": True}, "kind of clusters"),
        ({"metrics": ["brier"]}, "metrics add up; got all metrics and brier$"),
        ({"truth": False}, "kind of truth"),
        ({"members": True}, "number of members"),
    ],
)
def test_summaries_of_different_questions_do_not_add_up(change, words):
    prediction, y, groups = binary(n=100)
    one = caveat.summarize(prediction, y)
    if "classes" in change:
        prediction = caveat.Categorical(prediction.probabilities, classes=change["classes"])
        y = np.array(change["classes"])[y]
    if "members" in change:
        prediction = caveat.Categorical(np.repeat(prediction.probabilities, 2, axis=0))
    other = caveat.summarize(
        prediction,
        y if change.get("truth", True) else None,
        groups=groups if "groups" in change else None,
        sample_weight=np.ones(100) if "weight" in change else None,
        cluster=np.arange(100) if "cluster" in change else None,
        metrics=change.get("metrics"),
    )
    with pytest.raises(OptionError, match=words):
        one + other


def test_the_order_of_groups_and_metrics_is_none():
    prediction, y, groups = binary(n=100)
    other = {"age": np.arange(100) % 2, **groups}
    one = caveat.summarize(prediction, y, groups=other, metrics=["ece", "brier"])
    turned = dict(reversed(other.items()))
    two = caveat.summarize(
        prediction, y, groups=turned, metrics=["brier_loss", "expected_calibration_error"]
    )
    both = one + two
    assert both.samples == 200
    assert {row.samples for row in both.evaluate(resamples=0).select(group="age=1")} == {100}
    compared = compare_summaries({"a": one, "b": two}, resamples=0)
    assert {row.technique for row in compared.rows} == {"a", "b"}
    without = caveat.summarize(prediction, y, metrics=["ece", "brier"])
    with pytest.raises(OptionError, match="'b' has other classes, targets, groups or metrics"):
        compare_summaries({"a": one, "b": without}, resamples=0)


def test_another_type_of_prediction_does_not_add_up():
    with pytest.raises(OptionError, match="type of prediction"):
        caveat.summarize(*gaussian(n=10)[:2]) + caveat.summarize(*binary(n=10)[:2])
    with pytest.raises(TypeError):
        caveat.summarize(*binary(n=10)[:2]) + 1
    with pytest.raises(TypeError):
        1 + caveat.summarize(*binary(n=10)[:2])


def test_a_question_that_some_samples_cannot_answer_is_not_asked_of_all():
    rng = np.random.default_rng(0)
    mean, y = rng.normal(size=6000), rng.normal(size=6000)
    spread = caveat.summarize(caveat.Gaussian(mean, np.ones(6000)), y)
    points = caveat.summarize(caveat.Gaussian(mean, np.zeros(6000)), y)
    names = {row.metric for row in (spread + points).evaluate(resamples=0).rows}
    assert "mean_absolute_error" in names
    assert "gaussian_crps_loss" not in names


def test_a_group_of_which_some_samples_cannot_answer_has_no_value():
    rng = np.random.default_rng(0)
    mean, y = rng.normal(size=12_000), rng.normal(size=12_000)
    groups = np.where(np.arange(12_000) < 50, "few", "many")
    summary = caveat.summarize(caveat.Gaussian(mean, np.ones(12_000)), y, groups={"size": groups})
    part = summary.parts["size", "few"]
    broken = dict(part.states)
    key = next(key for key in broken if key[0] == "gaussian_crps_loss")
    del broken[key]
    from dataclasses import replace

    parts = {**summary.parts, ("size", "few"): replace(part, states=broken)}
    rows = (
        replace(summary, parts=parts).evaluate(resamples=0).select(metric="crps", group="size=few")
    )
    assert np.isnan(rows[0].value)


def test_metrics_are_those_that_were_asked_for():
    prediction, y, _ = binary()
    summary = caveat.summarize(prediction, y, metrics=["brier", "ece"])
    assert {row.metric for row in summary.evaluate(resamples=0).rows} == {
        "brier_loss", "expected_calibration_error",
    }  # fmt: skip
    (row,) = summary.evaluate(metrics=["brier"], resamples=0).select(group="")
    assert row.metric == "brier_loss"
    with pytest.raises(OptionError, match="made without roc_auc_score; it has brier_loss"):
        summary.evaluate(metrics=["auc"])
    with pytest.raises(OptionError, match="must be a list of names"):
        summary.evaluate(metrics="brier")


def test_merge_needs_summaries():
    with pytest.raises(OptionError, match="at least one Summary"):
        caveat.merge([])
    with pytest.raises(OptionError, match="at least one Summary"):
        caveat.merge([1])


def test_truth_of_another_length_is_an_error():
    with pytest.raises(ShapeError, match="y has 2 samples, the prediction has 10"):
        caveat.summarize(binary(n=10)[0], [0, 1])
    with pytest.raises(OptionError, match="a summary needs"):
        caveat.summarize(object())


def test_weeks_are_compared_unpaired():
    good, bad = (
        caveat.summarize(*binary(seed, n, slope)[:2])
        for seed, n, slope in ((0, 15_000, 2.0), (1, 21_000, 0.7))
    )
    result = compare_summaries({"last": good, "this": bad}, metrics=["ece", "auc"], random_state=0)
    (row,) = result.select(metric="ece", group="", technique="this")
    assert not row.tied
    assert row.samples == 21_000
    with pytest.raises(OptionError, match="these are different samples, such as weeks or sites"):
        result.recommend()
    models = {"metrics": ["positive_ece", "ece", "nll"], "models": True, "random_state": 0}
    chosen = compare_summaries({"last": good, "this": bad}, **models)
    assert chosen.recommend("probability").technique == "last"
    again = compare_summaries({"last": good, "this": good}, metrics=["ece"], random_state=0)
    assert all(row.tied for row in again.rows if row.group == "")
    with pytest.raises(OptionError, match="'b' has other classes"):
        compare_summaries({"a": good, "b": caveat.summarize(*classes(n=100)[:2])})


def test_charts_page_and_verdict_come_from_the_summary(tmp_path):
    summary = caveat.summarize(*binary()[:2])
    assert summary.plot("reliability") is not None
    summary.report(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "24,000 samples" in text
    assert "rows that stand for them" in text
    assert "weighted" not in text.split("Evaluated:")[1][:400]
    assert str(summary.verdict()) == str(summary.evaluate(random_state=0).verdict())


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("n", [40, 11_000])
def test_a_file_holds_the_whole_summary(make, n, tmp_path):
    prediction, y, groups = make(n=n)
    summary = caveat.summarize(prediction, y, groups=groups)
    summary.save(tmp_path / "week.caveat")
    again = caveat.load(tmp_path / "week.caveat")
    close(again, summary)
    for one, other in zip(
        again.evaluate(random_state=0, resamples=50).rows,
        summary.evaluate(random_state=0, resamples=50).rows,
        strict=True,
    ):
        assert one.value == pytest.approx(other.value, nan_ok=True, rel=1e-12)
        assert one.low == pytest.approx(other.low, nan_ok=True, rel=1e-12)
    assert [path.name for path in tmp_path.iterdir()] == ["week.caveat"]


def test_text_labels_and_objects_are_saved_without_pickle(tmp_path):
    prediction, y, _ = classes(n=50)
    summary = caveat.summarize(prediction, y.astype(object), cluster=y, sample_weight=np.ones(50))
    summary.save(tmp_path / "a.caveat")
    again = caveat.load(tmp_path / "a.caveat")
    assert again.kept.y.tolist() == summary.kept.y.tolist()
    assert again.kept.cluster.tolist() == summary.kept.cluster.tolist()


@pytest.mark.parametrize("n", [100, KEPT + 100])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["int", "bool", "text", "numbers", "targets"])
def test_true_values_of_python_are_evaluated_after_a_file(tmp_path, kind, weighted, n):
    rng = np.random.default_rng(0)
    p, y = rng.random(n), rng.integers(0, 2, n)
    prediction = caveat.Categorical.from_binary(p)
    if kind in ("bool", "text"):
        classes = [False, True] if kind == "bool" else ["no", "yes"]
        prediction, y = caveat.Categorical.from_binary(p, classes=classes), np.array(classes)[y]
    elif kind != "int":
        y = rng.normal(size=n if kind == "numbers" else (n, 2))
        prediction = caveat.Gaussian(np.zeros(y.shape), np.ones(y.shape))
    weight = rng.random(n) if weighted else None
    objects = y.astype(object)
    given = objects if y.ndim > 1 else pd.Series(objects, dtype=object)
    summary = caveat.summarize(prediction, given, sample_weight=weight)
    summary.save(tmp_path / "a.caveat")
    again = caveat.load(tmp_path / "a.caveat")
    known = caveat.summarize(prediction, y, sample_weight=weight)
    if known.kept is not None:
        assert again.kept.y.dtype == known.kept.y.dtype
        (again + known).save(tmp_path / "a.caveat")
    options = {"resamples": 20, "random_state": 0}
    rows = zip(again.evaluate(**options).rows, known.evaluate(**options).rows, strict=True)
    for one, other in rows:
        np.testing.assert_equal(
            [one.value, one.low, one.high], [other.value, other.low, other.high]
        )


def changed(path, name, make):
    """Replace one array of a file."""
    with np.load(path) as file:
        arrays = {key: file[key] for key in file.files}
    arrays[name] = make(arrays[name])
    with path.open("wb") as out:
        np.savez(out, **arrays)


def with_header(edit):
    def make(text):
        header = json.loads(text.tobytes().decode())
        edit(header)
        return np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)

    return make


def edit_of(name):
    def of_state(header):
        return header["parts"][0][2]["states"][0][1]

    edits = {
        "version": lambda h: h.update(version=9),
        "no sums": lambda h: h.update(parts=h["parts"][1:]),
        "a type": lambda h: h["about"].update(kind="Gaussian"),
        "no key": lambda h: h.pop("about"),
        "samples": lambda h: h["parts"][0][2].update(samples=3),
        "metric": lambda h: h["parts"][0][2]["states"][0][0].__setitem__(0, "nothing"),
        "swapped": lambda h: of_state(h)["totals"].__setitem__(0, of_state(h)["units"][0]),
        "reversed": lambda h: of_state(h)["totals"][0].reverse(),
    }
    return edits[name]


@pytest.mark.parametrize(
    "name", ["version", "no sums", "a type", "no key", "metric", "swapped", "reversed"]
)
def test_a_changed_file_is_refused(name, tmp_path):
    path = tmp_path / "a.caveat"
    prediction, y, groups = classes(n=60)
    caveat.summarize(prediction, y, groups=groups).save(path)
    changed(path, "summary", with_header(edit_of(name)))
    with pytest.raises(FileFormatError, match=r"a\.caveat"):
        caveat.load(path)


def test_a_table_with_other_counts_is_refused(tmp_path):
    path = tmp_path / "a.caveat"
    caveat.summarize(*binary(n=60)[:2]).save(path)
    original = path.read_bytes()
    changed(path, "summary", with_header(edit_of("samples")))
    with pytest.raises(FileFormatError, match="not those of 3 samples"):
        caveat.load(path)
    path.write_bytes(original)
    changed(path, "a0", lambda held: held[::-1])
    with pytest.raises(FileFormatError, match="shape of counts"):
        caveat.load(path)


def test_distributions_and_kept_samples_are_checked(tmp_path):
    path = tmp_path / "a.caveat"
    caveat.summarize(members(n=60)[0]).save(path)
    original = path.read_bytes()

    def unordered(header):
        spread = header["parts"][0][2]["distributions"][0]
        spread[1], spread[2] = spread[2], spread[1]

    def short(header):
        header["kept"]["keys"] = header["parts"][0][2]["distributions"][0][1]

    def other(header):
        header["kept"]["prediction"]["type"] = "Gaussian"

    for edit, words in (
        (unordered, "distribution"),
        (short, "one entry of each"),
        (other, "a.caveat"),
    ):
        path.write_bytes(original)
        changed(path, "summary", with_header(edit))
        with pytest.raises(FileFormatError, match=words):
            caveat.load(path)


def test_a_file_cut_short_or_grown_too_large_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.caveat"
    caveat.summarize(*binary(n=60)[:2]).save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileFormatError):
        caveat.load(path)
    path.write_bytes(whole)
    monkeypatch.setattr("caveat.summaries.files._MOST_BYTES", 1000)
    with pytest.raises(FileFormatError, match="more than any summary"):
        caveat.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("summary.npy", b"no array")
    monkeypatch.undo()
    with pytest.raises(FileFormatError, match=r"a\.caveat"):
        caveat.load(path)


def test_beyond_the_limit_only_a_random_sample_is_kept():
    prediction, y, groups = classes(n=KEPT + 500)
    summary = caveat.summarize(prediction, y, groups=groups)
    assert len(summary.kept) == KEPT
    assert caveat.summarize(*binary(n=KEPT + 1)[:2]).kept is None
    small = [caveat.summarize(*binary(seed, KEPT // 2 + 1)[:2]) for seed in (0, 1)]
    assert small[0].kept is not None
    assert (small[0] + small[1]).kept is None


def test_the_size_is_what_the_docstring_says():
    summary = caveat.summarize(*binary()[:2])
    assert summary.nbytes == pytest.approx(430 * 2**10, rel=0.01)


def test_sums_out_of_order_are_refused(tmp_path):
    path = tmp_path / "a.caveat"
    prediction, y, _ = classes(n=60)
    caveat.summarize(prediction, y).save(path)
    with np.load(path) as file:
        header = json.loads(file["summary"].tobytes().decode())
    states = [state for _, state in header["parts"][0][2]["states"]]
    with np.load(path) as file:
        columns = next(
            state["totals"][0][0] for state in states if len(file[state["totals"][0][0]]) > 1
        )
    changed(path, columns, lambda held: held[::-1])
    with pytest.raises(FileFormatError, match="are not in order"):
        caveat.load(path)


def test_no_columns_are_in_order():
    from caveat.metrics.state_files import increasing

    assert increasing(np.zeros(0, dtype=np.int64))


def test_arrays_are_taken_as_evaluate_takes_them():
    rng = np.random.default_rng(0)
    p = rng.random(500)
    y = np.where(rng.random(500) < p, "yes", "no")
    made = caveat.summarize(p, y)
    assert (
        made.about
        == caveat.summarize(caveat.Categorical.from_binary(p, classes=["no", "yes"]), y).about
    )
    one, other = (
        next(iter(result.select(metric="brier_loss"))).value
        for result in (made.evaluate(), caveat.evaluate(p, y))
    )
    assert one == pytest.approx(other, rel=1e-12)


class TestThroughTheUsualDoors:
    def test_evaluate_takes_a_summary(self):
        summary = caveat.summarize(*binary(n=500)[:2])
        options = {"metrics": ["ece"], "resamples": 50, "random_state": 0}
        assert caveat.evaluate(summary, **options).rows == summary.evaluate(**options).rows
        with pytest.raises(OptionError, match="groups= goes with predictions; what a summary has"):
            caveat.evaluate(summary, groups=["a"] * 500)
        prediction, y, _ = binary(n=500)
        with pytest.raises(
            UnsupportedPredictionError, match=r"got a summary, which has its true v"
        ):
            caveat.evaluate(summary, y)
        with pytest.raises(OptionError, match="y is missing: say what is true of the samples"):
            caveat.evaluate(prediction)

    def test_compare_takes_summaries(self):
        one, two = (caveat.summarize(*binary(seed, 500)[:2]) for seed in (0, 1))
        options = {"metrics": ["ece"], "resamples": 50, "random_state": 0}
        found = caveat.compare({"one": one, "two": two}, **options)
        assert found.rows == compare_summaries({"one": one, "two": two}, **options).rows
        assert found.different_samples
        with pytest.raises(OptionError, match="cluster= goes with predictions"):
            caveat.compare({"one": one, "two": two}, cluster=[1])
        prediction, y, _ = binary(n=500)
        with pytest.raises(OptionError, match="y is missing"):
            caveat.compare({"one": one, "two": prediction})
        same = caveat.compare({"one": prediction, "two": prediction}, y, **options)
        assert not same.different_samples

    def test_missing_is_refused_with_what_to_do(self):
        import pyarrow as pa

        table = pa.table({"p": [0.2, None, 0.6], "y": [0, 1, 0]})
        with pytest.raises(
            OptionError, match="a summary needs complete rows: filter the others out"
        ):
            caveat.summarize(table, missing="drop")
        with pytest.raises(InvalidValueError, match=r"data row 2; remove or fill such rows first$"):
            caveat.summarize(table)


@pytest.mark.parametrize("kind", [binary, classes])
def test_the_direction_in_a_group_is_that_of_the_samples(kind):
    prediction, y, _ = kind()
    rng = np.random.default_rng(1)
    sex = rng.choice(["f", "m"], N, p=[0.4, 0.6])
    p = prediction.mean.copy()
    worse = sex == "f"
    p[worse] = p[worse] ** 3 / (p[worse] ** 3).sum(axis=1, keepdims=True)
    if kind is binary:
        p[worse] *= [1.6, 1.0]
        p /= p.sum(axis=1, keepdims=True)
    made = caveat.Categorical(p, classes=prediction.classes)
    options = {"resamples": 100, "random_state": 0}
    metrics = ["positive_ece", "ece", "accuracy"] if kind is binary else ["ece", "accuracy"]
    whole = caveat.evaluate(made, y, groups={"sex": sex}, metrics=metrics, **options).verdict()
    summary = caveat.summarize(made, y, groups={"sex": sex})
    short = summary.evaluate(metrics=metrics, **options).verdict()
    start = (
        "For sex=f it predicts class=1 too rarely" if kind is binary else "For sex=f, on average"
    )

    def direction(verdict):
        (text,) = [s.text for s in verdict if start in s.text]
        return text[text.index(start) :]

    numbers = [[float(n) for n in re.findall(r"(\d+\.\d) %", direction(v))] for v in (whole, short)]
    # A summary of two classes has all samples; of more, 10,000 of them: 4 standard errors.
    assert numbers[0] == pytest.approx(numbers[1], abs=0.2 if kind is binary else 3.0)


def test_the_top_class_in_a_group_of_a_table():
    prediction, y, _ = binary()
    sex = np.random.default_rng(1).choice(["f", "m"], N)
    p = prediction.mean[:, 1]
    p = np.where(sex == "f", p**3 / (p**3 + (1 - p) ** 3), p)
    options = {"metrics": ["ece"], "resamples": 100, "random_state": 0}
    summary = caveat.summarize(caveat.Categorical.from_binary(p), y, groups={"sex": sex})
    texts = " ".join(s.text for s in summary.evaluate(**options).verdict())
    said, was = map(
        float,
        re.search(r"For sex=f, on average it says (.+?) % and is right in (.+?) %", texts).groups(),
    )
    top, right = np.maximum(p, 1 - p), (p > 0.5) == y
    assert said == pytest.approx(100 * top[sex == "f"].mean(), abs=0.2)
    assert was == pytest.approx(100 * right[sex == "f"].mean(), abs=0.2)


def test_the_same_summary_is_not_merged_twice():
    one = caveat.summarize(np.array([0.2, 0.7]), [0, 1])
    with pytest.raises(OptionError, match="the same Summary twice: its samples would count twice"):
        caveat.merge([one, one])
