import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import caveat
from caveat.exceptions import (
    InvalidValueError,
    LabelError,
    OptionError,
    ShapeError,
    UnknownNameError,
    UnsupportedPredictionError,
)
from caveat.metrics import METRICS

RNG = np.random.default_rng(0)
N = 300
P = RNG.dirichlet(np.ones(3), size=(4, N))
PREDICTION = caveat.Categorical(P, classes=["a", "b", "c"])
CODES = (P.mean(axis=0).cumsum(axis=1) < RNG.random((N, 1))).sum(axis=1).clip(max=2)
Y = np.array(["a", "b", "c"])[CODES]
SEX = np.array(["f", "m"])[RNG.integers(2, size=N)]
MEAN, VARIANCE = RNG.normal(size=(3, N, 2)), RNG.gamma(3.0, size=(3, N, 2)) + 0.1
NUMBERS = MEAN.mean(axis=0) + RNG.normal(size=(N, 2)) * 2
GAUSSIAN = caveat.Gaussian(MEAN, VARIANCE, targets=["sbp", "dbp"])


def evaluate(prediction, y, **options):
    return caveat.evaluate(prediction, y, **{"resamples": 20, "random_state": 0, **options})


class TestClassification:
    RESULT = evaluate(PREDICTION, Y, groups={"sex": SEX})

    def test_every_metric_that_applies_is_there(self):
        rows = {row.metric for row in self.RESULT.select(group="")}
        binary = {
            name
            for name, metric in METRICS.items()
            if metric.two_classes and metric.locality == "global"
        }
        expected = {
            name
            for name, metric in METRICS.items()
            if metric.inputs == ("probabilities",) or metric.task == "ranking"
        }
        assert rows == expected - binary

    def test_calibration_of_each_class_is_against_the_rest(self):
        rows = self.RESULT.select(metric="positive_calibration_error")
        assert [(row.option, row.group) for row in rows] == [
            ("class=a", ""),
            ("class=b", ""),
            ("class=c", ""),
        ]
        metric = METRICS["positive_calibration_error"]
        for k, row in enumerate(rows):
            assert row.value == pytest.approx(
                metric.function((k == CODES) * 1, P.mean(axis=0)[:, k])
            )
            assert row.samples == N
            assert row.low <= row.high
        (mean,) = self.RESULT.select(metric="classwise_calibration_error", group="")
        assert np.mean([row.value for row in rows]) == pytest.approx(mean.value)
        many = caveat.Categorical(np.full((40, 21), 1 / 21))
        of_many = evaluate(many, np.arange(40) % 21, metrics=["positive_ece", "brier"], resamples=0)
        assert {row.metric for row in of_many} == {"brier_loss"}

    def test_no_calibration_within_a_true_class(self):
        # A rare event, and perfect probabilities: among the events themselves they are far off.
        rng = np.random.default_rng(0)
        p = rng.beta(0.5, 4, size=2000)
        y = (rng.random(2000) < p).astype(int)
        result = evaluate(caveat.Categorical.from_binary(p), y, groups={"sex": np.arange(2000) % 2})
        within = {row.metric for row in result.select(group="class=1")}
        assert not {name for name in within if "calibration" in name}
        assert {"accuracy_score", "negative_log_likelihood_loss"} <= within
        by_sex = {row.metric for row in result.select(group="sex=1")}
        assert {"expected_calibration_error", "positive_calibration_error"} <= by_sex
        artifact = METRICS["ece"].function(y[y == 1], np.stack([1 - p, p], axis=1)[y == 1])
        (whole,) = result.select(metric="positive_calibration_error", group="")
        assert artifact > 0.2 > 0.03 > whole.value

    @pytest.mark.parametrize(
        "row",
        [row for row in RESULT.select(group="") if not row.option],
        ids=lambda row: row.metric,
    )
    def test_values_are_the_metrics_own(self, row):
        metric = METRICS[row.metric]
        mean = P.mean(axis=0)
        wrong = mean.argmax(axis=1) != CODES
        total = caveat.decompose(PREDICTION).total
        if metric.task == "classification":
            expected = metric.function(CODES, mean)
        elif metric.name == "error_detection_auroc_score":
            expected = metric.function(wrong, total)
        else:
            expected = metric.function(wrong.astype(float), total)
        assert row.value == pytest.approx(expected, rel=1e-12, nan_ok=True)
        assert row.scale == metric.locality
        assert row.samples == N
        assert row.direction == metric.direction

    def test_groups_are_the_metric_of_their_rows(self):
        for value in ("f", "m"):
            (row,) = self.RESULT.select(metric="brier_loss", group=f"sex={value}")
            rows = value == SEX
            expected = METRICS["brier_loss"].function(CODES[rows], P.mean(axis=0)[rows])
            assert row.value == pytest.approx(expected)
            assert row.scale == "adaptive"
            assert row.samples == rows.sum()
        (row,) = self.RESULT.select(metric="accuracy_score", group="class=b")
        assert row.value == pytest.approx((P.mean(axis=0).argmax(axis=1) == 1)[CODES == 1].mean())
        assert self.RESULT.select(metric="roc_auc_score", group="class=b") == []

    def test_gap_and_ratio_are_of_worst_and_best(self):
        values = {
            row.group: row.value
            for row in self.RESULT.select(metric="brier_loss")
            if row.group.startswith("sex")
        }
        worst, best = max(values["sex=f"], values["sex=m"]), min(values["sex=f"], values["sex=m"])
        assert values["sex: gap"] == pytest.approx(worst - best)
        assert values["sex: ratio"] == pytest.approx(worst / best)
        gaps = self.RESULT.select(metric="accuracy_score", group="sex: gap")
        assert gaps[0].value <= 0
        assert "against" in gaps[0].note

    def test_intervals_hold_their_value_for_means(self):
        for name in ("brier_loss", "negative_log_likelihood_loss", "accuracy_score"):
            (row,) = self.RESULT.select(metric=name, group="")
            assert row.low < row.value < row.high

    def test_curves_behind_the_numbers(self):
        curves = self.RESULT.curves
        curve = curves["expected_calibration_error"]
        gap = np.abs(curve.predicted - curve.observed)
        (row,) = self.RESULT.select(metric="expected_calibration_error", group="")
        assert np.average(gap, weights=curve.weight) == pytest.approx(row.value)
        for name in ("uncertainty_calibration_error", "variation_calibration_error"):
            assert name in curves
        assert curves["expected_calibration_error"] is curve
        assert len(curves) == len(list(curves)) > 5

    def test_samples_are_kept(self):
        assert self.RESULT.error.shape == self.RESULT.uncertainty.shape == (N, 1)
        assert self.RESULT.ids.tolist() == list(range(N))
        assert self.RESULT.decomposition == caveat.decompose(PREDICTION)

    def test_it_prints(self):
        text = repr(self.RESULT)
        assert "brier_loss" in text
        assert "rows by class, sex: to_frame() has all of them" in text
        assert len(self.RESULT) == len(self.RESULT.to_frame()) == len(list(self.RESULT))
        frame = self.RESULT.to_frame()
        assert list(frame.columns[:4]) == ["metric", "option", "scale", "group"]
        assert "<table>" in self.RESULT._repr_html_()

    def test_json_has_no_bare_nan(self):
        rows = json.loads(self.RESULT.to_json())
        assert len(rows) == len(self.RESULT)
        assert json.dumps(rows, allow_nan=False)

    def test_same_seed_same_numbers(self):
        again = evaluate(PREDICTION, Y, groups={"sex": SEX})
        pd.testing.assert_frame_equal(again.to_frame(), self.RESULT.to_frame())


def test_text_from_data_is_escaped():
    evil = "<script>alert(1)</script>"
    groups = np.where(np.arange(N) % 2, evil, "[bold]")
    result = evaluate(
        caveat.Gaussian(NUMBERS[:, 0], 1.0, targets=[evil]), NUMBERS[:, 0], groups=groups,
        metrics=["mae"],
    )  # fmt: skip
    assert evil not in result._repr_html_()
    assert "&lt;script&gt;" in result._repr_html_()
    assert evil in repr(result)


class TestRegression:
    RESULT = evaluate(GAUSSIAN, NUMBERS)

    def test_a_block_for_each_target(self):
        assert {row.target for row in self.RESULT} == {"sbp", "dbp"}
        mean = MEAN.mean(axis=0)
        for i, target in enumerate(("sbp", "dbp")):
            (row,) = self.RESULT.select(metric="mean_absolute_error", target=target)
            assert row.value == pytest.approx(np.abs(NUMBERS - mean)[:, i].mean())
        assert ("expected_normalized_calibration_error", "dbp") in self.RESULT.curves
        assert "to_frame" not in repr(self.RESULT)  # no groups, nothing left out

    def test_members_are_a_mixture(self):
        (row,) = self.RESULT.select(metric="mixture_crps_loss", target="sbp")
        expected = METRICS["mixture_crps"].function(NUMBERS[:, 0], MEAN[..., 0], VARIANCE[..., 0])
        assert row.value == pytest.approx(expected)

    def test_intervals_at_one_and_two_deviations(self):
        options = {row.option for row in self.RESULT.select(metric="coverage_ratio")}
        assert options == {"coverage=0.6827", "coverage=0.9545"}

    def test_points_have_no_density(self):
        result = evaluate(caveat.Gaussian.from_members(MEAN[..., 0]), NUMBERS[:, 0])
        names = {row.metric for row in result}
        assert "ensemble_crps_loss" in names
        assert "mixture_crps_loss" not in names
        one = evaluate(caveat.Gaussian(MEAN[0, :, 0], 0.0), NUMBERS[:, 0])
        assert "gaussian_crps_loss" not in {row.metric for row in one}

    def test_quantiles_by_group(self):
        quantiles = GAUSSIAN.to_quantiles([0.05, 0.5, 0.95])
        result = evaluate(quantiles, NUMBERS, groups=SEX, metrics=["quantile_crps"])
        (row,) = result.select(group="group=f", target="sbp")
        values = quantiles.values.mean(axis=0)[SEX == "f", 0]
        expected = METRICS["quantile_crps"].function(
            NUMBERS[SEX == "f", 0], quantiles.levels, values
        )
        assert row.value == pytest.approx(expected)


class TestOtherTypes:
    def test_sets(self):
        sets = caveat.PredictionSet(P[0] > 0.3, coverage=0.9, classes=["a", "b", "c"])
        result = evaluate(sets, Y)
        (row,) = result.select(metric="set_coverage", group="")
        assert row.value == pytest.approx((P[0] > 0.3)[np.arange(N), CODES].mean())
        assert result.decomposition is None

    def test_converted_probabilities_say_so(self):
        logits = caveat.GaussianLogits(np.log(P), np.ones_like(P), classes=["a", "b", "c"])
        (row,) = evaluate(logits, Y, metrics=["brier"]).select(group="")
        assert row.note == "softmax averaged over the noise of the logits"
        lower = P[0] * 0.9
        intervals = caveat.ProbabilityInterval(lower, P[0], classes=["a", "b", "c"])
        (row,) = evaluate(intervals, Y, metrics=["brier"]).select(group="")
        assert row.note == "intervals merged to probabilities"

    def test_two_classes_have_their_own_metrics(self):
        p = RNG.random(N)
        result = evaluate(caveat.Categorical.from_binary(p), (p > 0.4).astype(int))
        assert "positive_calibration_error" in {row.metric for row in result}


def test_options():
    none = evaluate(PREDICTION, Y, metrics=["brier", "ece"], resamples=0)
    assert all(np.isnan(row.low) for row in none)
    assert {row.metric for row in none} == {"brier_loss", "expected_calibration_error"}
    weight = RNG.integers(0, 3, size=N)
    rows = np.repeat(np.arange(N), weight)
    weighted = evaluate(PREDICTION, Y, metrics=["brier"], sample_weight=weight, groups=SEX)
    repeated = evaluate(PREDICTION.take(rows), Y[rows], metrics=["brier"], groups=SEX[rows])
    assert [row.value for row in weighted] == pytest.approx([row.value for row in repeated])
    clustered = evaluate(PREDICTION, Y, metrics=["brier"], cluster=np.arange(N) // 5)
    assert clustered.rows[0].value == pytest.approx(none.rows[0].value)
    np.testing.assert_array_equal(clustered.cluster, np.arange(N) // 5)
    assert none.cluster is None
    names = evaluate(PREDICTION, Y, metrics=["brier"], ids=[f"s{i}" for i in range(N)])
    assert names.ids[3] == "s3"
    assert names.take(slice(3, 4)).ids.tolist() == ["s3"]
    with pytest.raises(ShapeError, match="rows must be a slice or one axis of integers"):
        names.take(["s3"])


def test_one_sample():
    result = evaluate(caveat.Categorical([[0.2, 0.8]]), [1])
    assert len(result)
    assert all(np.isnan(row.low) for row in result)


def test_one_class_only_in_y():
    result = evaluate(PREDICTION, np.full(N, "a"), metrics=["auc", "accuracy"])
    (row,) = result.select(metric="roc_auc_score", group="")
    assert np.isnan(row.value)
    assert row.note == "undefined here"


def test_a_ratio_to_nothing_is_undefined():
    prediction = caveat.Gaussian([1.0, 1.0, 1.0, 1.0], 1.0)
    y = [1.0, 1.0, 2.0, 3.0]
    result = evaluate(prediction, y, groups=["x", "x", "y", "y"], metrics=["mae"])
    (row,) = result.select(group="group: ratio")
    assert np.isnan(row.value)
    assert "undefined, as the best is 0" in row.note


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: evaluate(PREDICTION, Y[:5]), ShapeError, "y has 5 samples, the prediction has 300"),
        (lambda: evaluate(PREDICTION, np.full(N, "z")), LabelError, "'z'"),
        (lambda: evaluate(GAUSSIAN, NUMBERS[:, 0]), ShapeError, "with 2 targets"),
        (lambda: evaluate("P", Y), UnsupportedPredictionError, "such as caveat.Categorical"),
        (lambda: evaluate(caveat.decompose(PREDICTION), Y), UnsupportedPredictionError, "expected one of"),
        (lambda: evaluate(PREDICTION, Y, groups=SEX[:3]), ShapeError, "one value for each of 300"),
        (lambda: evaluate(PREDICTION, Y, ids=[1]), ShapeError, "one name for each of 300"),
        (lambda: evaluate(PREDICTION, Y, ids=np.zeros(N)), InvalidValueError, "ids must be distinct"),
        (lambda: evaluate(PREDICTION, Y, resamples=-1), OptionError, "resamples must be a whole number of at least 0"),
        (lambda: evaluate(PREDICTION, Y, confidence=95), OptionError, "confidence must be"),
        (lambda: evaluate(PREDICTION, Y, metrics="ece"), OptionError, "must be a list of names"),
        (lambda: evaluate(PREDICTION, Y, metrics=["ecee"]), OptionError, "did you mean 'ece'"),
        (lambda: evaluate(PREDICTION, Y, metrics=["crps"]), OptionError, "can be asked of a Categorical"),
    ],
)  # fmt: skip
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


class TestSelect:
    RESULT = evaluate(PREDICTION, Y, groups={"sex": SEX}, metrics=["ece", "brier"])

    def test_aliases_mean_the_metric(self):
        full = self.RESULT.select(metric="expected_calibration_error")
        assert full
        assert self.RESULT.select(metric="ece") == full
        assert self.RESULT.select(metric="ece", group="sex=f") == [
            row for row in full if row.group == "sex=f"
        ]

    def test_a_shared_alias_means_all(self):
        shared = next(
            alias
            for entry in METRICS.values()
            for alias in entry.aliases
            if len(METRICS.find(alias)) > 1
        )
        assert {row.metric for row in self.RESULT.select(metric=shared)} <= {
            entry.name for entry in METRICS.find(shared)
        }

    def test_a_metric_that_was_not_measured_has_no_rows(self):
        assert self.RESULT.select(metric="rmse") == []

    @pytest.mark.parametrize(
        ("wanted", "message"),
        [
            ({"metric": "ecee"}, "no row has metric='ecee'; did you mean 'ece'. there are 'expe"),
            ({"metric": "brier_los"}, "did you mean 'brier_loss'"),
            (
                {"group": "sex=female"},
                "no row has group='sex=female'; did you mean 'sex=m'",
            ),
            ({"metrics": "ece"}, "rows have no field 'metrics'; did you mean 'metric'"),
            ({"scale": "zzz"}, "no row has scale='zzz'; there are "),
        ],
    )
    def test_what_there_is_not(self, wanted, message):
        with pytest.raises(UnknownNameError, match=message):
            self.RESULT.select(**wanted)

    def test_many_names_are_cut(self):
        (row, *_) = self.RESULT.select(group="sex=f")
        rows = [replace(row, attribute="g", category=str(i)) for i in range(40)]
        many = replace(self.RESULT, rows=tuple(rows))
        with pytest.raises(UnknownNameError, match=r"'g=29' and 10 more$"):
            many.select(group="zzz")

    def test_what_is_no_text_is_compared(self):
        assert self.RESULT.select(value=-1.0) == []
        assert self.RESULT.select(group="") == self.RESULT.matching(group="")
        assert self.RESULT.matching(group="nobody") == []

    def test_no_rows(self):
        assert replace(self.RESULT, rows=()).select(metric="anything") == []

    def test_other_tables(self):
        audit = caveat.audit(PREDICTION, Y, groups=SEX, resamples=0)
        with pytest.raises(
            UnknownNameError, match="no row has measure='acuracy'; did you mean 'acc"
        ):
            audit.select(measure="acuracy")
        both = caveat.compare({"a": PREDICTION, "b": PREDICTION}, Y, metrics=["ece"], resamples=0)
        assert len(both.select(metric="ece", group="", technique="b")) == 1
        with pytest.raises(
            UnknownNameError, match=r"no row has technique='c'; .*there are 'a', 'b'"
        ):
            both.select(technique="c")


def test_a_notebook_shows_the_verdict_the_main_numbers_and_folds_the_rest():
    result = evaluate(PREDICTION, Y, random_state=0)
    page = result._repr_html_()
    verdict, numbers, rest = page.partition("<table>")[0], *page.split("<details>")
    assert result.verdict().next_step in verdict.replace("&#x27;", "'")
    assert "Expected calibration error (ECE)" in numbers
    assert numbers.count("<tr>") <= 11
    assert "brier_refinement_loss" in rest
    assert "brier_refinement_loss" not in numbers
    assert str(result.verdict()).endswith(f"Next: {result.verdict().next_step}")


def test_several_targets_are_named_in_a_notebook():
    page = evaluate(GAUSSIAN, NUMBERS, random_state=0)._repr_html_()
    assert "Gaussian CRPS loss" in page.split("<details>")[0]


@pytest.mark.parametrize("precision", [np.float32, np.float16])
def test_probabilities_of_a_lower_precision(precision):
    p = np.random.default_rng(0).dirichlet(np.ones(3), 300)
    exact, rounded = (
        evaluate(caveat.Categorical(q), np.arange(300) % 3, random_state=0, resamples=20)
        for q in (p, p.astype(precision))
    )
    (one,), (other,) = (r.select(metric="brier", group="") for r in (exact, rounded))
    assert one.value == pytest.approx(other.value, rel=1e-2)
