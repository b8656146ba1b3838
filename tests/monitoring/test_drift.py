"""What changed since a reference: each sentence with a case in which it would be wrong."""

from dataclasses import replace

import numpy as np
import pytest

import caveat
from caveat.exceptions import OptionError
from caveat.monitoring import DriftRow, Thresholds, drift
from caveat.monitoring.judging import holm, rare_limit
from caveat.monitoring.result import DriftQuestion
from caveat.monitoring.words import effect_words
from caveat.summaries import summarize_counts

from .samples import binary, gaussian

QUICK = {"resamples": 100, "random_state": 0}


def texts(result):
    return [statement.text for statement in result.verdict()]


def states(result):
    return {q.value: result.state(q) for q in DriftQuestion if result.state(q) is not None}


def test_no_change():
    result = drift(binary(20_000), binary(20_000, 1), **QUICK)
    assert set(states(result).values()) == {"no change that matters"}
    assert not result.changed
    assert texts(result)[0] == (
        "There is no change that matters in the predictions, the uncertainty, the calibration and "
        "the skill."
    )
    assert result.verdict().next_step == "Nothing has to be done."
    assert result.verdict().statements[0].level == "good"


def test_few_samples_say_nothing():
    result = drift(binary(60), binary(60, 1), **QUICK)
    assert result.state("predictions") == "too few samples to say"
    assert texts(result)[0].startswith("There are too few samples to say whether the predictions")
    assert result.verdict().next_step.startswith("Wait for more samples")
    assert not result.changed


def test_the_outcome_changed_and_the_predictions_did_not_follow():
    """A change of the base rate alone."""
    result = drift(binary(8000), binary(8000, 1, truth=lambda p: np.clip(p + 0.15, 0, 1)), **QUICK)
    found = states(result)
    assert found["predictions"] == found["uncertainty"] == "no change that matters"
    assert found["calibration"] == found["true classes"] == "changed"
    assert "The predictions" not in texts(result)[0]
    assert result.verdict().next_step.startswith("Do not rely on the uncertainty as before")
    (row,) = result.select(quantity="bias")
    assert row.change == pytest.approx(0.15, abs=0.03)


def test_the_predictions_followed_the_outcome():
    """Inputs changed, and the model is as honest as before: nothing to repair."""
    rng = np.random.default_rng(0)

    def rare(n, a):
        p = rng.beta(a, 4, n)
        return caveat.summarize(caveat.Categorical.from_binary(p), (rng.random(n) < p).astype(int))

    result = drift(
        rare(12_000, 2), rare(12_000, 3), threshold={"relative": 1, "share": 0.1}, **QUICK
    )
    found = states(result)
    assert found["predictions"] == "changed"
    assert found["calibration"] == "no change that matters"
    assert texts(result)[0].endswith(
        "changed, and the calibration did not: the model followed the change."
    )
    assert result.verdict().statements[0].level == "info"
    assert result.verdict().next_step == (
        "Check that the change is expected. Nothing has to be repaired."
    )


def test_a_sharper_model_with_the_same_calibration():
    rng = np.random.default_rng(0)

    def sharp(n, a):
        p = rng.beta(a, a, n)
        return caveat.summarize(caveat.Categorical.from_binary(p), (rng.random(n) < p).astype(int))

    result = drift(sharp(12_000, 3), sharp(12_000, 0.8), **QUICK)
    found = states(result)
    assert found["uncertainty"] == found["skill"] == "changed"
    assert found["calibration"] == "no change that matters"
    (row,) = result.select(quantity="total")
    assert row.change < 0
    (skill,) = [s for s in result.verdict() if s.text.startswith("The skill changed")]
    assert skill.level == "info"  # a smaller loss is no alarm
    assert result.verdict().statements[0].level == "info"
    assert result.verdict().next_step == (
        "Check that the change is expected. Nothing has to be repaired."
    )
    worse = drift(sharp(40_000, 0.8), sharp(40_000, 3), **QUICK).verdict()
    assert worse.next_step == (
        "The model is as honest as before, but not as good: find out which samples are new, and "
        "train again."
    )


def test_honesty_that_is_not_known_is_not_claimed():
    """Calibrated probabilities that are less apart: the skill fell, of calibration too few."""
    rng = np.random.default_rng(0)

    def week(spread):
        p = 1 / (1 + np.exp(-spread * rng.normal(size=3000)))
        return caveat.summarize(caveat.Categorical.from_binary(p), (rng.random(3000) < p) * 1)

    result = drift(week(1.5), week(0.8), **QUICK)
    assert result.state("calibration") == "too few samples to say"
    assert result.verdict().next_step.startswith("The model is not as good as before, and it is")


@pytest.mark.parametrize("other", [False, True])
def test_a_rare_class_that_became_more_frequent(other):
    """A change by far less than 2 points is large if it is by a factor."""
    rng = np.random.default_rng(0)

    def week(factor):
        p = 1 / (1 + np.exp(7 - rng.normal(size=20_000)))
        y = rng.random(20_000) < factor * p
        p, y = (1 - p, ~y) if other else (p, y)
        return caveat.summarize(caveat.Categorical.from_binary(p), y * 1)

    result = drift(week(1), week(4), **QUICK)
    assert result.state("true classes") == result.state("calibration") == "changed"
    assert result.verdict().next_step.startswith("Do not rely on the uncertainty as before")
    few = drift(week(1), week(1), **QUICK)
    assert few.state("calibration") == "too few samples to say"
    assert "beyond the threshold of 0.0" in " ".join(texts(few))


def test_thresholds_of_rare_classes():
    assert rare_limit(0.02, (0.5, 0.3)) == pytest.approx(0.02)
    assert rare_limit(0.02, (0.0, 0.0)) == pytest.approx(0.02)
    assert rare_limit(0.02, (0.01, 0.015)) == pytest.approx(0.005)
    assert rare_limit(0.1, (0.985, 0.99)) == pytest.approx(0.005)


def test_a_tiny_change_of_many_samples_does_not_matter():
    rng = np.random.default_rng(0)

    def many(shift):
        p = rng.random(2_000_000) ** (1 + shift)
        return summarize_counts(p, (rng.random(2_000_000) < p).astype(np.int8))

    result = drift(many(0.0), many(0.02), **QUICK)
    (row,) = result.select(quantity="probability")
    assert row.adjusted < 1e-6
    assert row.effect_low > 0
    assert row.state == "no change that matters"
    assert not result.changed


def test_significant_but_of_unknown_size():
    result = drift(
        binary(3000), binary(3000, 1, change=lambda p: np.clip(p + 0.045, 0, 1)), **QUICK
    )
    (row,) = result.select(quantity="probability")
    assert row.adjusted < 0.05
    assert row.effect < row.threshold < row.effect_high
    assert row.state == "too few samples to say"


def test_without_truth():
    result = drift(binary(4000), binary(4000, 1, change=lambda p: p**2, y=False))
    assert list(states(result)) == ["predictions", "uncertainty"]
    assert result.left_out == (
        "Calibration and skill were left out, as the new samples have no true values.",
    )
    assert result.left_out[0] in texts(result)
    assert result.verdict().next_step.startswith("Get true values for some of the new samples")
    swapped = drift(binary(400, y=False), binary(400, 1))
    assert "as the reference has no true values" in swapped.left_out[0]
    neither = drift(binary(400, y=False), binary(400, 1, y=False))
    assert "the reference and the new samples have" in neither.left_out[0]


def test_calibration_that_cannot_be_told():
    result = drift(binary(4000), binary(300, 1, change=lambda p: p**1.6), **QUICK)
    assert result.state("predictions") == "changed"
    if result.state("calibration") == "too few samples to say":
        assert "more true values" in result.verdict().next_step


def test_members_and_their_parts():
    result = drift(gaussian(3000), gaussian(3000, 1, apart=1.0), **QUICK)
    assert result.select(quantity="epistemic")[0].state == "changed"
    assert result.select(quantity="aleatoric")[0].state == "no change that matters"
    assert all(row.target == "" for row in result.rows)
    one = drift(gaussian(300), gaussian(300, 1, members=1), **QUICK)
    assert "The reference has 3 members and the new samples have 1" in one.left_out[0]


def test_targets_have_names():
    names = ["height", "weight"]
    result = drift(gaussian(900, targets=names), gaussian(900, 1, targets=names, shift=1), **QUICK)
    assert {row.target for row in result.rows} == {*names}
    assert "prediction height" in " ".join(texts(result))
    assert result.distributions("prediction", "weight")[0].samples == 900


def test_groups_that_moved():
    rng = np.random.default_rng(3)
    p, q = rng.beta(2, 2, 6000), rng.beta(2, 2, 6000)
    site, other = rng.choice(["a", "b", "c", "d"], 6000), rng.choice(["a", "b", "c", "d"], 6000)
    q = np.where(other == "b", q**2, q)
    one = caveat.summarize(caveat.Categorical.from_binary(p), groups={"site": site})
    two = caveat.summarize(caveat.Categorical.from_binary(q), groups={"site": other})
    result = drift(one, two)
    changed = {row.group for row in result.rows if row.state == "changed" and row.group}
    assert changed == {"site=b"}
    assert any(
        text.startswith("Of 4 groups, 1 changed: site=b (the predictions") for text in texts(result)
    )
    assert texts(result)[0] == "Overall nothing is shown to have changed, but site=b did."


def test_groups_of_one_side_and_small_ones():
    def some(names, extra=None):
        rng = np.random.default_rng(0)
        groups = {"g": rng.choice(names, 400)}
        groups["g"][:3] = "f"
        return caveat.summarize(
            caveat.Categorical.from_binary(rng.random(400)), groups=groups | (extra or {})
        )

    result = drift(some(["a", "b"], {"x": ["u"] * 400}), some(["a", "c"]))
    said = " ".join(result.left_out)
    assert "Groups that only one side has were left out: x." in said
    assert "Only one side has samples of g=b and g=c." in said
    assert "Too few samples to compare g=f (fewer than 10 on a side)." in said
    assert {row.group for row in result.rows} == {"", "g=a"}
    assert result.state("mix of groups") == "changed"


def test_a_group_whose_calibration_changed():
    rng = np.random.default_rng(4)
    n = 9000
    sides = []
    for bad in (False, True):
        p, site = rng.beta(2, 2, n), rng.choice([*"abcdefgh"], n)
        off = 0.3 * (site == "b") * bad
        y = (rng.random(n) < np.clip(p + off, 0, 1)).astype(int)
        sides.append(caveat.summarize(caveat.Categorical.from_binary(p), y, groups={"site": site}))
    result = drift(*sides, threshold={"share": 0.08}, **QUICK)
    assert result.state("calibration") != "changed"
    assert result.verdict().next_step == "Evaluate the new samples of site=b by themselves."


def test_no_group_changed():
    names = ["a", "b"]
    result = drift(binary(30_000, groups=names), binary(30_000, 1, groups=names), resamples=0)
    said = " ".join(texts(result))
    assert "None of 2 groups changed by more than the thresholds." in said
    few = drift(binary(300, groups=names), binary(300, 1, groups=names), resamples=0)
    assert "No group is shown to have changed; too few samples to say for site=" in " ".join(
        texts(few)
    )


def test_classes_sets_intervals_and_quantiles():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), 1500)
    y = (p.cumsum(axis=1) < rng.random((1500, 1))).sum(axis=1)
    last, this = slice(0, 800), slice(800, 1500)
    many = caveat.Categorical(p, classes=["a", "b", "c", "d"])
    labels = np.array(["a", "b", "c", "d"])[y]
    result = drift((many.take(last), labels[last]), (many.take(this), labels[this]), **QUICK)
    assert [row.quantity for row in result.rows][:4] == ["confidence", "class", "total", "class"]
    sets = caveat.PredictionSet(p > 0.2, coverage=0.8)
    result = drift((sets.take(last), y[last]), (sets.take(this), y[this]), **QUICK)
    assert {"size", "spread", "set_coverage"} <= {row.quantity for row in result.rows}
    x = rng.normal(size=1500)
    interval = caveat.Interval(np.zeros(1500) - 1, np.zeros(1500) + 1, coverage=0.68)
    result = drift((interval.take(last), x[last]), (interval.take(this), x[this]), **QUICK)
    assert {"width", "spread"} <= {row.quantity for row in result.rows}
    levels = [0.1, 0.5, 0.9]
    quantiles = caveat.Quantiles(levels, np.tile([-1.28, 0.0, 1.28], (1500, 1)))
    result = drift((quantiles.take(last), x[last]), (quantiles.take(this), x[this]), **QUICK)
    assert {"prediction", "bias", "spread"} <= {row.quantity for row in result.rows}
    one = caveat.Quantiles([0.9], np.full((1500, 1), 1.28))
    result = drift((one.take(last), x[last]), (one.take(this), x[this]), **QUICK)
    assert "spread" not in {row.quantity for row in result.rows}
    logits = caveat.GaussianLogits(rng.normal(size=(300, 3)), np.ones((300, 3)))
    result = drift((logits, y[:300] % 3), (logits, y[:300] % 3), **QUICK)
    assert "bias" in {row.quantity for row in result.rows}


def test_a_metric_without_a_value_has_no_size():
    """An error of 0 has no tenth."""
    exact = caveat.Gaussian(np.arange(50.0), np.ones(50)), np.arange(50.0)
    off = caveat.Gaussian(np.arange(50.0), np.ones(50)), np.arange(50.0) + 1
    (row,) = drift(exact, off, **QUICK).select(quantity="mean_absolute_error")
    assert np.isnan(row.effect)
    assert row.state == "too few samples to say"


def test_weights_and_clusters():
    rng = np.random.default_rng(0)
    n = 900
    cluster = rng.integers(0, 90, n)

    def make(shift):
        logit = rng.normal(size=90)[cluster] + rng.normal(size=n) + shift
        p = 1 / (1 + np.exp(-logit))
        return caveat.summarize(
            caveat.Categorical.from_binary(p), (rng.random(n) < p).astype(int),
            groups={"g": rng.choice(["a", "b"], n)}, cluster=cluster,
            sample_weight=rng.gamma(2, size=n),
        )  # fmt: skip

    assert drift(make(0), make(2), **QUICK).state("predictions") == "changed"
    result = drift(make(0), make(0), **QUICK)
    assert not result.changed
    (row,) = [row for row in result.select(quantity="probability") if row.overall]
    plain = 1.358 * np.sqrt(2 / n)
    assert row.effect_high - row.effect > 1.5 * plain  # clusters of ten count as fewer
    classes = rng.dirichlet(np.ones(3), n)
    few = caveat.summarize(caveat.Categorical(classes), cluster=cluster)
    assert drift(few, few).state("predictions") == "no change that matters"


def test_thresholds():
    one, other = binary(4000), binary(4000, 1, change=lambda p: p**1.4)
    assert drift(one, other, resamples=0).state("predictions") == "changed"
    wide = drift(one, other, threshold=0.3, resamples=0)
    assert wide.state("predictions") == "no change that matters"
    assert wide.thresholds == Thresholds(0.3)
    assert drift(one, other, threshold=Thresholds(0.3), resamples=0).thresholds.distribution == 0.3
    assert drift(one, other, threshold={"share": 0.5}, resamples=0).thresholds.share == 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: drift(3, binary(20)), "reference must be a Summary, a .caveat file, a prediction"),
        (lambda: drift(binary(20), (1, 2)), "new must be a Summary"),
        (lambda: drift(binary(20), gaussian(20)), "a Categorical and a Gaussian"),
        (
            lambda: drift(binary(20), caveat.Categorical.from_binary([0.1], classes=["n", "y"])),
            "answer different questions: classes",
        ),
        (lambda: drift(binary(20), binary(20), threshold={"shares": 1}), "got 'shares'"),
        (lambda: drift(binary(20), binary(20), threshold=-1), "threshold distribution"),
        (lambda: drift(binary(20), binary(20), alpha=2), "alpha"),
    ],
)
def test_errors(call, message):
    with pytest.raises(OptionError, match=message):
        call()


def test_no_samples():
    empty = caveat.summaries.Summary(
        binary(20).about,
        {
            ("", ""): caveat.summaries.Part.of_table(
                np.zeros((caveat.summaries.cells.CELLS, 2), dtype=int)
            )
        },
    )
    with pytest.raises(OptionError, match="both sides need at least one sample"):
        drift(binary(20), empty)


def test_metrics_of_a_summary_that_has_few():
    one = caveat.summarize(
        caveat.Categorical.from_binary([0.2, 0.7] * 50), [0, 1] * 50, metrics=["accuracy"]
    )
    result = drift(one, one, **QUICK)
    assert {row.quantity for row in result.rows if row.question == "skill"} == {"accuracy_score"}
    none = caveat.summarize(
        caveat.Categorical.from_binary([0.2, 0.7] * 50), [0, 1] * 50, metrics=["f1"]
    )
    assert drift(none, none, **QUICK).state("skill") is None


def test_constant_predictions():
    same = caveat.Categorical.from_binary(np.full(500, 0.3))
    result = drift(same, same)
    assert result.select(quantity="probability")[0].p_value == 1.0
    other = drift(same, caveat.Categorical.from_binary(np.full(500, 0.6)))
    assert other.select(quantity="probability")[0].effect == pytest.approx(1.0)
    assert other.state("predictions") == "changed"


def test_one_sample_of_each():
    result = drift(binary(1), binary(1, 1), **QUICK)
    assert not result.changed
    assert result.state("predictions") == "too few samples to say"


def test_files(tmp_path):
    binary(300).save(tmp_path / "last.caveat")
    result = drift(tmp_path / "last.caveat", str(tmp_path / "last.caveat"), resamples=0)
    assert result.select(quantity="probability")[0].effect == 0.0


def test_tables():
    result = drift(binary(300), binary(300, 1), names=("May", "June"), resamples=0)
    assert "June against May" in repr(result)
    assert "<table>" in result._repr_html_()
    frame = result.to_frame()
    assert frame.loc[0, "question"] == "predictions"
    assert frame.loc[0, "state"] in ("no change that matters", "too few samples to say")
    assert '"quantity": "probability"' in result.to_json()


def test_p_values_allow_for_all():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    with_nan = holm([np.nan, 0.02])
    assert np.isnan(with_nan[0])
    assert with_nan[1] == pytest.approx(0.02)
    assert holm([]) == []


def test_a_group_without_weight_is_left_out():
    group = np.array(["a", "b"] * 50)
    weight = (group == "a") * 1.0
    prediction = caveat.Gaussian(np.arange(100.0), np.ones(100))
    one = caveat.summarize(prediction, np.arange(100.0), groups={"g": group}, sample_weight=weight)
    result = drift(one, one, resamples=0)
    assert {row.group for row in result.rows} == {"", "g=a"}


def test_words_of_numbers_that_are_not_known():
    row = DriftRow(
        question=DriftQuestion.SKILL, quantity="accuracy_score", reference=0.5, new=0.7,
        samples_reference=5, samples_new=5,
    )  # fmt: skip
    assert effect_words(row) == "accuracy: not known"
    known = replace(row, effect=0.2, change=0.2, effect_kind="difference")
    assert effect_words(known) == "accuracy: +20.0 percentage points, from 50.0 % to 70.0 %"
    less = replace(row, effect=0.2, change=-0.1, effect_kind="relative difference")
    assert effect_words(less) == "accuracy: -20.0 % of its value, from 0.5 to 0.7"


def test_nothing_that_can_be_compared():
    """A verdict on no row at all claims nothing."""
    empty = replace(drift(binary(20), binary(20)), rows=())
    assert texts(empty)[0] == "There is nothing that could be compared."
    with pytest.raises(OptionError, match="no distribution of 'mae'; there are probability, total"):
        empty.distributions("mae")
    with pytest.raises(OptionError, match="no distribution of"):
        empty.distributions(np.zeros(2))
    assert drift(binary(20), binary(20)).quantities == [("probability", ""), ("total", "")]


def test_pairs_of_arrays_are_compared():
    rng = np.random.default_rng(0)
    p, q = rng.beta(2, 2, 400), rng.beta(2, 2, 400)
    y, z = (rng.random(400) < p).astype(int), (rng.random(400) < q).astype(int)
    pairs = [(caveat.Categorical.from_binary(p), y), (caveat.Categorical.from_binary(q), z)]
    arrays = drift((p, y), (q, z), **QUICK)
    assert states(arrays) == states(drift(*pairs, **QUICK))
