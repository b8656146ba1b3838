import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

import caveat
from caveat.exceptions import (
    InvalidValueError,
    LabelError,
    OptionError,
    ShapeError,
    UnsupportedPredictionError,
)
from caveat.fairness import audit
from caveat.fairness._ratios import Number, judged
from caveat.metrics import expected_calibration_error, expected_normalized_calibration_error
from caveat.resampling import interval_of, make_plan
from caveat.results.judgments import Judgment

RNG = np.random.default_rng(0)
N = 400
P = RNG.dirichlet(np.ones(3), size=(4, N))
CODES = (P.mean(axis=0).cumsum(axis=1) < RNG.random((N, 1))).sum(axis=1).clip(max=2)
THREE = caveat.Categorical(P, classes=["a", "b", "c"])
Y3 = np.array(["a", "b", "c"])[CODES]
Q = RNG.beta(1, 1, size=(3, N))
TWO = caveat.Categorical.from_binary(Q, classes=["no", "yes"])
Y2 = np.where(RNG.random(N) < Q.mean(axis=0), "yes", "no")
SEX = np.array(["f", "m"])[RNG.integers(2, size=N)]
RACE = np.array(["x", "y", "z"])[RNG.integers(3, size=N)]
WEIGHT = RNG.gamma(2.0, size=N)
MEAN, VARIANCE = RNG.normal(size=(3, N, 2)), RNG.gamma(3.0, size=(3, N, 2)) + 0.1
NUMBERS = MEAN.mean(axis=0) + RNG.normal(size=(N, 2)) * 2
GAUSSIAN = caveat.Gaussian(MEAN, VARIANCE, targets=["sbp", "dbp"])


def run(prediction, y, groups, **options):
    return audit(prediction, y, groups, **{"resamples": 60, "random_state": 0, **options})


def one(result, **wanted):
    (row,) = result.select(**wanted)
    return row


def group(result, measure, value, **wanted):
    return one(result, kind="group", measure=measure, group=value, **wanted)


TWO_RESULT = run(TWO, Y2, {"sex": SEX})
THREE_RESULT = run(THREE, Y3, {"race": RACE})


class TestRates:
    NAMES = (
        ("selection_rate", "selection_rate"),
        ("true_positive_rate", "true_positive_rate"),
        ("false_positive_rate", "false_positive_rate"),
        ("false_negative_rate", "false_negative_rate"),
    )

    @pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
    def test_are_fairlearns(self, weight):
        fairlearn = pytest.importorskip("fairlearn.metrics")
        from sklearn.metrics import accuracy_score, precision_score

        truth, predicted = (Y2 == "yes").astype(int), TWO.mean.argmax(axis=1)
        metrics = {name: getattr(fairlearn, other) for name, other in self.NAMES}
        metrics |= {"accuracy": accuracy_score, "positive_predictive_value": precision_score}
        parameters = None if weight is None else {m: {"sample_weight": weight} for m in metrics}
        frame = fairlearn.MetricFrame(
            metrics=metrics,
            y_true=truth,
            y_pred=predicted,
            sensitive_features=SEX,
            sample_params=parameters,
        ).by_group
        result = run(TWO, Y2, {"sex": SEX}, sample_weight=weight)
        for name in metrics:
            for value in ("f", "m"):
                assert group(result, name, value).value == pytest.approx(frame.loc[value, name])

    @pytest.mark.parametrize("label", ["a", "b", "c"])
    def test_of_each_class_against_the_rest_are_those_of_the_confusion_matrix(self, label):
        predicted = THREE.labels
        for value in ("x", "y", "z"):
            rows = value == RACE
            t, p = Y3[rows] == label, predicted[rows] == label
            expected = {
                "base_rate": t.mean(),
                "selection_rate": p.mean(),
                "positive_predictive_value": t[p].mean(),
                "negative_predictive_value": (~t)[~p].mean(),
                "true_positive_rate": p[t].mean(),
                "false_negative_rate": (~p)[t].mean(),
                "false_positive_rate": p[~t].mean(),
            }
            for name, number in expected.items():
                found = group(THREE_RESULT, name, value, label=label)
                assert found.value == pytest.approx(number)
                assert found.low <= found.value <= found.high
            accuracy = group(THREE_RESULT, "accuracy", value, label="")
            assert accuracy.value == pytest.approx((Y3[rows] == predicted[rows]).mean())
            assert accuracy.samples == rows.sum()

    @pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
    def test_uncertainties_are_means_and_quantiles_of_the_variance_split(self, weight):
        split = caveat.decompose(TWO, "variance")
        result = run(TWO, Y2, {"sex": SEX}, sample_weight=weight)
        used = np.ones(N) if weight is None else weight
        parts = {"aleatoric": split.aleatoric, "epistemic": split.epistemic}
        for name, part in (parts | {"predictive": split.total}).items():
            for value in ("f", "m"):
                rows, measure = value == SEX, f"{name}_uncertainty"
                mean = group(result, measure, value, statistic="mean")
                assert mean.value == pytest.approx(np.average(part[rows], weights=used[rows]))
                for share in (0.05, 0.25, 0.5, 0.75, 0.95):
                    found = group(result, measure, value, statistic=f"quantile={share:g}").value
                    total = used[rows].sum()
                    below, up_to = part[rows] < found, part[rows] <= found
                    assert used[rows][below].sum() < share * total + 1e-9
                    assert used[rows][up_to].sum() >= share * total - 1e-9

    def test_calibration_error_is_the_metrics(self):
        rows, mean = SEX == "f", TWO.mean
        row = group(TWO_RESULT, "expected_calibration_error", "f")
        expected = expected_calibration_error((Y2 == "yes")[rows].astype(int), mean[rows])
        assert row.value == pytest.approx(expected)
        assert row.low <= row.estimate <= row.high

    def test_weight_equals_repetition(self):
        times = RNG.integers(0, 4, size=N)
        again = np.repeat(np.arange(N), times)
        weighted = run(TWO, Y2, {"sex": SEX}, sample_weight=times, resamples=0)
        repeated = run(TWO.take(again), Y2[again], {"sex": SEX[again]}, resamples=0)
        for row, other in zip(weighted, repeated, strict=True):
            if row.measure != "samples":
                assert row.value == pytest.approx(other.value, nan_ok=True)


class TestRegression:
    RESULT = run(GAUSSIAN, NUMBERS, {"sex": SEX})

    def test_compares_errors_and_variances_of_each_target(self):
        split = caveat.decompose(GAUSSIAN)
        error = np.abs(NUMBERS - GAUSSIAN.moments()[0])
        for i, target in enumerate(("sbp", "dbp")):
            for name, values in (
                ("mean_absolute_error", error),
                ("aleatoric_uncertainty", split.aleatoric),
                ("epistemic_uncertainty", split.epistemic),
                ("predictive_uncertainty", split.total),
            ):
                f, m = (values[value == SEX, i].mean() for value in ("f", "m"))
                row = one(self.RESULT, kind="ratio", measure=name, label=target)
                assert row.value == pytest.approx(max(f, m) / min(f, m))
                gap = one(self.RESULT, kind="difference", measure=name, label=target)
                assert gap.value == pytest.approx(abs(f - m))

    def test_calibration_error_is_the_metrics(self):
        rows = SEX == "m"
        mean, variance = (part[rows, 1] for part in GAUSSIAN.moments())
        row = group(self.RESULT, "expected_normalized_calibration_error", "m", label="dbp")
        expected = expected_normalized_calibration_error(NUMBERS[rows, 1], mean, variance)
        assert row.value == pytest.approx(expected)

    def test_points_have_no_calibration_error_and_no_ratio_of_uncertainty(self):
        points = caveat.Gaussian(MEAN[0, :, 0], 0.0)
        result = run(points, NUMBERS[:, 0], SEX)
        assert not result.matching(measure="expected_normalized_calibration_error")
        row = one(result, kind="ratio", measure="aleatoric_uncertainty")
        assert row.verdict == "undefined (0 in group=m and group=f)" or row.verdict == (
            "undefined (0 in group=f and group=m)"
        )
        assert np.isnan(row.value)
        assert row.flag is None
        assert row.label == ""

    def test_positive_is_of_classes(self):
        with pytest.raises(OptionError, match=r"^positive must be None for a Gaussian; got 1$"):
            run(GAUSSIAN, NUMBERS, SEX, positive=1)


class TestIntervals:
    """Against a bootstrap that resamples rows one by one."""

    PLAN = make_plan(N, resamples=60, random_state=int(np.random.default_rng(0).integers(2**32)))

    def brute(self, statistic):
        values = []
        for k in range(60):
            rows = np.repeat(np.arange(N), self.PLAN.counts[k])
            values.append(statistic(rows))
        return np.array(values)

    @pytest.mark.parametrize("kind", ["ratio", "difference"])
    @pytest.mark.parametrize(
        "measure", ["statistical_parity", "equal_opportunity", "aleatoric_uncertainty"]
    )
    def test_are_those_of_resampled_rows(self, measure, kind):
        row = one(TWO_RESULT, measure=measure, kind=kind)
        predicted, aleatoric = TWO.labels == "yes", caveat.decompose(TWO, "variance").aleatoric

        def of(rows, value):
            rows = rows[SEX[rows] == value]
            if measure == "aleatoric_uncertainty":
                return aleatoric[rows].mean()
            if measure == "equal_opportunity":
                rows = rows[Y2[rows] == "yes"]
            return predicted[rows].mean()

        def statistic(rows):
            a, b = of(rows, row.group), of(rows, row.reference)
            return a / b if kind == "ratio" else a - b

        found = self.brute(statistic)
        value = statistic(np.arange(N))
        assert row.value == pytest.approx(value)
        # Within what Student's t adds to the plain percentiles.
        expected = interval_of(value, found, 0.95)
        ordered = np.sort(found)
        slack = np.diff(ordered)[[0, 1, -2, -1]].max() + 1e-9
        assert row.low == pytest.approx(expected.low, abs=slack)
        assert row.high == pytest.approx(expected.high, abs=slack)

    def test_clusters_are_drawn_whole(self):
        twice = np.repeat(np.arange(N), 2)
        once = run(TWO, Y2, SEX, resamples=400)
        both = run(TWO.take(twice), Y2[twice], SEX[twice], cluster=twice, resamples=400)
        naive = run(TWO.take(twice), Y2[twice], SEX[twice], resamples=400)
        widths = []
        for result in (once, both, naive):
            row = one(result, measure="statistical_parity", kind="ratio")
            widths.append(np.log(row.high / row.low))
        assert widths[1] == pytest.approx(widths[0], rel=0.1)
        assert widths[2] < 0.85 * widths[0]

    def test_many_samples_go_by_blocks_with_the_same_spread(self):
        n = 20_000
        rng = np.random.default_rng(1)
        p = rng.random(n)
        y, sex = (rng.random(n) < p).astype(int), rng.random(n) < 0.3
        result = run(caveat.Categorical.from_binary(p), y, sex, resamples=500)
        row = one(result, measure="equal_accuracy", kind="difference")
        right = (p > 0.5) == y
        variance = sum(right[s].var() / s.sum() for s in (sex, ~sex))
        assert row.high - row.low == pytest.approx(2 * 1.96 * np.sqrt(variance), rel=0.12)

    def test_of_a_rate_of_all_is_that_of_a_share(self):
        p = np.r_[np.full(30, 0.9), np.full(40, 0.8)]
        result = run(caveat.Categorical.from_binary(p), np.ones(70, int), ["a"] * 30 + ["b"] * 40)
        row = group(result, "accuracy", "a")
        exact = binomtest(30, 30).proportion_ci(0.95, "wilson")
        assert (row.low, row.high) == pytest.approx((exact.low, exact.high))
        none = group(result, "false_negative_rate", "b")
        exact = binomtest(0, 40).proportion_ci(0.95, "wilson")
        assert (none.low, none.high) == pytest.approx((exact.low, exact.high))
        ratio = one(result, measure="equal_accuracy", kind="ratio")
        assert ratio.value == 1
        limits = {"a": row.low, "b": group(result, "accuracy", "b").low}
        assert ratio.low == pytest.approx(limits[ratio.group])
        assert ratio.high == pytest.approx(1 / limits[ratio.reference])
        gap = one(result, measure="false_negative_rate", kind="difference")
        assert gap.low < -0.08
        assert gap.high > 0.08
        assert gap.judgment == Judgment.EQUAL
        undefined = one(result, measure="false_negative_rate", kind="ratio")
        assert undefined.verdict.startswith("undefined (0 in group=")

    def test_undefined_in_most_resamples_may_be_anything(self):
        # One positive in a cluster of its own, among few clusters: most resamples lack it.
        p = np.r_[np.full(20, 0.2), np.full(20, 0.2)]
        y = np.zeros(40, int)
        y[0] = y[20] = y[21] = 1
        p[20] = 0.9
        cluster = np.r_[np.zeros(10), np.arange(30) + 1]
        result = run(caveat.Categorical.from_binary(p), y, [0] * 20 + [1] * 20, cluster=cluster)
        row = one(result, measure="equal_opportunity", kind="difference")
        assert row.low <= row.value <= row.high
        assert row.judgment == Judgment.EQUAL


def simulated(n, rates, seed=0):
    """Two groups whose predictions are positive at given rates, truth and prediction alike."""
    rng = np.random.default_rng(seed)
    sex = np.repeat(["f", "m"], n)
    p = np.where(rng.random(2 * n) < np.repeat(rates, n), 0.9, 0.1)
    return caveat.Categorical.from_binary(p), (p > 0.5).astype(int), sex


class TestVerdicts:
    @pytest.mark.parametrize(
        ("n", "rates", "verdict"),
        [
            (4000, (0.5, 0.5), Judgment.WITHIN),
            (4000, (0.46, 0.52), Judgment.SMALL),
            (4000, (0.3, 0.5), Judgment.BEYOND),
            (4000, (0.4, 0.5), Judgment.GAP),
            (40, (0.5, 0.5), Judgment.UNCLEAR),
            (9, (0.1, 0.9), Judgment.UNCLEAR),
        ],
    )
    def test_follow_from_where_the_interval_lies(self, n, rates, verdict):
        result = run(*simulated(n, rates), resamples=300)
        row = one(result, measure="statistical_parity", kind="ratio")
        assert row.judgment == verdict
        if n == 9:
            assert row.note == "fewer than 10 independent samples"
        else:
            assert row.note == "the verdict allows for 9 comparisons"

    def test_flags_are_the_papers_and_the_symmetric_one(self):
        # 8 and 10 positives of 20: F is 0.8, or 1.25 the other way round.
        p = np.r_[np.full(8, 0.9), np.full(12, 0.1), np.full(10, 0.9), np.full(10, 0.1)]
        prediction, y = caveat.Categorical.from_binary(p), (p > 0.5).astype(int)
        sex = np.repeat(["f", "m"], 20)
        for privileged, value, flag in (("m", 0.8, False), ("f", 1.25, True)):
            result = run(prediction, y, sex, privileged=privileged)
            row = one(result, measure="statistical_parity", kind="ratio")
            assert row.value == pytest.approx(value)
            assert (row.flag, row.symmetric_flag) == (flag, False)
            assert row.reference == privileged
            assert result.privileged == {"group": privileged}
            tight = run(prediction, y, sex, privileged=privileged, threshold=0.19)
            row = one(tight, measure="statistical_parity", kind="ratio")
            assert (row.flag, row.symmetric_flag) == (True, True)

    def test_without_intervals_nothing_is_judged(self):
        result = run(TWO, Y2, SEX, resamples=0)
        row = one(result, measure="equal_accuracy", kind="ratio")
        assert row.judgment == Judgment.NOT_JUDGED
        assert np.isnan(row.low)
        assert row.flag is False

    @pytest.mark.parametrize(
        ("low", "high", "verdict"),
        [
            (1.3, 1.6, Judgment.BEYOND),
            (1.18, 1.6, Judgment.GAP),
            (1.01, 1.2, Judgment.SMALL),
            (0.9, 1.2, Judgment.WITHIN),
            (0.9, 1.3, Judgment.UNCLEAR),
            (0.5, 0.7, Judgment.BEYOND),
            (0.7, 0.9, Judgment.GAP),
            (0.85, 0.99, Judgment.SMALL),
            (0.7, 1.1, Judgment.UNCLEAR),
            (0.5, 2.0, Judgment.UNCLEAR),
        ],
    )
    def test_each_place_of_the_interval_has_its_words(self, low, high, verdict):
        number = Number(float(np.sqrt(low * high)), low, high, 100)
        assert judged(number, (low, high), 0.2, ratio=True) == (verdict, "")

    def test_differences_have_no_threshold(self):
        result = run(*simulated(4000, (0.45, 0.5)), resamples=300)
        assert (
            one(result, measure="statistical_parity", kind="difference").judgment
            == Judgment.DIFFERENT
        )

    def test_rarely_call_equal_groups_unfair(self):
        named = 0
        for seed in range(60):
            rng = np.random.default_rng(seed)
            p = rng.random(300)
            y = (rng.random(300) < p).astype(int)
            result = run(
                caveat.Categorical.from_binary(p), y, rng.integers(4, size=300), resamples=100
            )
            rows = result.select(
                kind="ratio", comparison="worst pair", measure="statistical_parity"
            )
            named += rows[0].judgment == Judgment.BEYOND
        assert named <= 3  # a 5 % test, and the band of 20 % besides


class TestEqualisedOdds:
    def test_are_both_ratios_and_the_one_farther_from_1(self):
        rows = {
            row.statistic: row for row in TWO_RESULT.select(measure="equalized_odds", kind="ratio")
        }
        a, b = rows["y=1"].group, rows["y=1"].reference
        for statistic, name in (("y=1", "true_positive_rate"), ("y=0", "false_positive_rate")):
            expected = group(TWO_RESULT, name, a).value / group(TWO_RESULT, name, b).value
            assert rows[statistic].value == pytest.approx(expected)
        far = max(("y=1", "y=0"), key=lambda s: abs(np.log(rows[s].value)))
        assert rows["farther from 1"].value == rows[far].value
        assert rows["farther from 1"].low < rows[far].low
        assert rows["farther from 1"].high > rows[far].high

    @staticmethod
    def made(tpr, fpr, n):
        """Groups with given shares of positives found and of false alarms, exactly."""
        p, y, sex = [], [], []
        for name, found, false in zip("fm", tpr, fpr, strict=True):
            for truth, share in ((1, found), (0, false)):
                hits = round(share * n)
                p += [0.9] * hits + [0.1] * (n - hits)
                y += [truth] * n
                sex += [name] * n
        return caveat.Categorical.from_binary(p), y, sex

    @pytest.mark.parametrize(
        ("tpr", "fpr", "n", "verdict", "note"),
        [
            ((0.8, 0.8), (0.4, 0.4), 3000, Judgment.WITHIN, ""),
            ((0.8, 0.8), (0.2, 0.5), 3000, Judgment.BEYOND, "by y=0; "),
            ((0.5, 0.9), (0.4, 0.4), 3000, Judgment.BEYOND, "by y=1; "),
            ((0.5, 0.9), (0.01, 0.04), 150, Judgment.BEYOND, "by y=1; "),
            ((0.8, 0.8), (0.30, 0.38), 2000, Judgment.GAP, "by y=0; "),
            ((0.8, 0.8), (0.40, 0.41), 350, Judgment.UNCLEAR, ""),
        ],
    )
    def test_verdict(self, tpr, fpr, n, verdict, note):
        result = run(*self.made(tpr, fpr, n), resamples=400)
        row = one(result, measure="equalized_odds", kind="ratio", statistic="farther from 1")
        assert (row.judgment, row.note) == (verdict, f"{note}the verdict allows for 9 comparisons")

    def test_equal_bias_in_both_rates_is_not_fair(self):
        # (FPR0 / FPR1) / (TPR0 / TPR1) is 1 here.
        result = run(*self.made((0.4, 0.8), (0.2, 0.4), 2000), resamples=200)
        row = one(result, measure="equalized_odds", kind="ratio", statistic="farther from 1")
        assert row.value == pytest.approx(0.5)
        assert row.judgment == Judgment.BEYOND

    def test_fair_only_if_both_are(self):
        result = run(*self.made((0.8, 0.85), (0.3, 0.3), 330), resamples=400)
        rows = {row.statistic: row for row in result.select(measure="equalized_odds", kind="ratio")}
        assert rows["farther from 1"].value == rows["y=1"].value
        assert rows["y=0"].judgment == Judgment.UNCLEAR
        assert rows["farther from 1"].judgment == Judgment.UNCLEAR

    def test_undefined_if_one_is(self):
        prediction = caveat.Categorical.from_binary([0.9] * 20 + [0.1] * 20)
        result = run(prediction, [1] * 20 + [0, 1] * 10, [0] * 20 + [1] * 20)
        for kind in ("ratio", "difference"):
            rows = result.select(measure="equalized_odds", kind=kind)
            assert rows[2].verdict == (
                "undefined (0 in group=1; no negatives in group=0)"
                if kind == "ratio"
                else "undefined (no negatives in group=0)"
            )


class TestSeveralGroups:
    def test_are_compared_with_the_best_and_by_the_worst_pair(self):
        for measure, of, better in (
            ("equal_accuracy", "accuracy", max),
            ("aleatoric_uncertainty", "aleatoric_uncertainty", min),
        ):
            rows = THREE_RESULT.select(measure=measure, kind="ratio")
            values = {
                row.group: row.value
                for row in THREE_RESULT.select(kind="group", measure=of)
                if row.statistic in ("", "mean")
            }
            best = better(values, key=values.get)
            assert [row.comparison for row in rows] == ["reference"] * 2 + ["worst pair"]
            assert {row.reference for row in rows} == {best}
            extremes = max(values.values()), min(values.values())
            far = extremes[0] / extremes[1] if better is min else extremes[1] / extremes[0]
            assert rows[-1].value == pytest.approx(far)
            # Three pairs in accuracy, three uncertainties and four rates of three classes.
            assert rows[-1].note == "the verdict allows for 48 comparisons"

    def test_or_with_the_privileged(self):
        assert THREE_RESULT.comparison("race") == "worst pair"
        assert TWO_RESULT.comparison("sex") == "reference"
        result = run(THREE, Y3, {"race": RACE}, privileged={"race": "y"})
        assert result.comparison("race") == "reference"
        for text in (repr(result), result._repr_html_()):
            assert "x / y" in text
            assert "z / y" in text
            assert "worst pairs" not in text
            assert "95% intervals for all comparisons" in text
        assert "By race: worst pairs" in repr(THREE_RESULT)
        rows = result.select(measure="equal_accuracy", kind="ratio", comparison="reference")
        assert [(row.group, row.reference) for row in rows] == [("x", "y"), ("z", "y")]
        assert all(row.note == "the verdict allows for 32 comparisons" for row in rows)
        # The pairs were not chosen by the data: the interval of one ratio is that of one.
        plain = [row.group for row in rows if (row.low, row.high) != (row.verdict_low, row.high)]
        assert plain == ["x", "z"]
        worst = one(result, measure="equal_accuracy", kind="ratio", comparison="worst pair")
        assert worst.value < 1

    def test_a_small_group_is_neither_best_nor_worst(self):
        race = RACE.copy().astype(object)
        sure = np.flatnonzero(TWO.labels == Y2)[:3]
        race[sure] = None
        result = run(TWO, Y2, {"race": race})
        assert group(result, "accuracy", "(missing)").value == 1
        worst = one(result, measure="equal_accuracy", kind="ratio", comparison="worst pair")
        assert "(missing)" not in (worst.group, worst.reference)
        rows = result.select(group="(missing)", measure="equal_accuracy", kind="ratio")
        assert [row.judgment for row in rows] == [Judgment.UNCLEAR]

    def test_intersections(self):
        result = run(TWO, Y2, pd.DataFrame({"sex": SEX, "race": RACE}), intersections=True)
        assert result.attributes == ("sex", "race", "sex x race")
        assert len(result.groups("sex x race")) == 6
        rows = (SEX == "f") & (RACE == "z")
        found = group(result, "accuracy", "sex=f, race=z")
        assert found.value == pytest.approx((TWO.labels == Y2)[rows].mean())
        given = run(
            TWO, Y2, {"sex": SEX, "race": RACE}, intersections=True,
            privileged={"sex": "m", "race": "x"}, resamples=0,
        )  # fmt: skip
        assert given.privileged["sex x race"] == "sex=m, race=x"
        partly = run(
            TWO, Y2, {"sex": SEX, "race": RACE}, intersections=True,
            privileged={"sex": "m"}, resamples=0,
        )  # fmt: skip
        assert partly.privileged == {"sex": "m"}

    def test_one_attribute_has_no_intersections(self):
        assert run(TWO, Y2, SEX, intersections=True, resamples=0).attributes == ("group",)

    def test_verdicts_rest_on_the_interval_that_is_given(self):
        """Of each row: where the wider interval lies is what the verdict says."""
        seen = set()
        many = run(*simulated(3000, (0.5, 0.5))), run(*simulated(3000, (0.4, 0.5)))
        for result in (THREE_RESULT, TWO_RESULT, *many):
            for row in result.select(kind="ratio"):
                if np.isnan(row.verdict_low) or row.statistic == "farther from 1":
                    continue
                inside = row.verdict_low >= 0.8 and row.verdict_high <= 1.25
                outside = row.verdict_high < 0.8 or row.verdict_low > 1.25
                gap = not row.verdict_low <= 1 <= row.verdict_high
                if "fewer than" not in row.note:
                    assert (row.judgment in (Judgment.WITHIN, Judgment.SMALL)) == inside
                    assert (row.judgment == Judgment.BEYOND) == outside
                    assert (row.judgment in (Judgment.BEYOND, Judgment.GAP, Judgment.SMALL)) == gap
                    assert row.verdict_low < row.low < row.value < row.high < row.verdict_high
                    seen.add(row.judgment)
        assert seen >= {Judgment.WITHIN, Judgment.UNCLEAR, Judgment.GAP}

    def test_differences_of_shares_end_at_1(self):
        p = np.repeat([0.9, 0.1, 0.2, 0.2], 12)
        result = run(
            caveat.Categorical.from_binary(p), (p > 0.5).astype(int), np.repeat(list("abcd"), 12)
        )
        rows = result.select(measure="statistical_parity", kind="difference")
        assert rows
        assert min(row.verdict_low for row in rows) >= -1
        assert max(row.verdict_high for row in rows) <= 1


class TestRatesOfZero:
    """A ratio to 0 is undefined: one such group must not leave the others without a ratio."""

    @staticmethod
    def made(misses, alarms, sizes):
        """Groups with given shares of positives missed and of false alarms, exactly."""
        p, y, names = [], [], []
        for name, miss, alarm, size in zip("abcd", misses, alarms, sizes, strict=False):
            for truth, share in ((1, 1 - miss), (0, alarm)):
                hits = round(share * size)
                p += [0.9] * hits + [0.1] * (size - hits)
                y += [truth] * size
                names += [name] * size
        return caveat.Categorical.from_binary(p), y, names

    def test_the_best_above_0_is_the_reference(self):
        result = run(*self.made((0.5, 0.1, 0.0), (0.2, 0.2, 0.2), (1000, 1000, 30)))
        rows = result.select(measure="false_negative_rate", kind="ratio")
        assert [(row.group, row.reference, row.comparison) for row in rows] == [
            ("a", "b", "reference"),
            ("c", "b", "reference"),
            ("a", "b", "worst pair"),
        ]
        assert rows[0].value == pytest.approx(5)
        assert rows[0].judgment == rows[2].judgment == Judgment.BEYOND
        assert rows[1].verdict == "undefined (0 in group=c)"
        worst = one(
            result, measure="false_negative_rate", kind="difference", comparison="worst pair"
        )
        assert (worst.group, worst.reference, worst.value) == ("a", "c", pytest.approx(0.5))

    def test_of_equalized_odds_both_rates_are_above_0(self):
        result = run(*self.made((0.5, 0.4, 0.1), (0.2, 0.1, 0.0), (500, 500, 500)))
        rows = result.select(measure="equalized_odds", kind="ratio", comparison="reference")
        assert {row.reference for row in rows} == {"b"}
        (row,) = [row for row in rows if (row.group, row.statistic) == ("a", "y=0")]
        assert row.value == pytest.approx(2)
        rows = result.select(measure="equal_opportunity", kind="ratio", comparison="reference")
        assert {row.reference for row in rows} == {"c"}

    def test_where_all_others_are_0_nothing_changes(self):
        result = run(*self.made((0.0, 0.0, 0.3), (0.2, 0.2, 0.2), (100, 100, 100)))
        rows = result.select(measure="false_negative_rate", kind="ratio")
        assert {row.reference for row in rows} == {"a"}
        assert all(row.verdict.startswith("undefined (0 in group=a") for row in rows)


class TestNoSpread:
    """What is the same in every resample has no interval, and nothing is claimed of it."""

    def test_one_cluster(self):
        result = run(TWO, Y2, SEX, cluster=np.zeros(N))
        for row in result.select(kind="ratio"):
            assert np.isnan([row.low, row.high, row.verdict_low, row.verdict_high]).all()
            assert row.judgment == Judgment.NOT_JUDGED
            assert row.note == "one independent sample or cluster only in group=f and group=m"
        row = group(result, "accuracy", "f")
        assert row.high - row.low > 0.7  # that of one sample
        row = group(result, "predictive_uncertainty", "f", statistic="mean")
        assert np.isnan([row.low, row.high]).all()
        assert row.note == "the same in every resample, so that its spread does not show"

    def test_one_cluster_in_one_group(self):
        cluster = np.where(SEX == "f", 0, np.arange(N) + 1)
        result = run(TWO, Y2, SEX, cluster=cluster)
        row = one(result, measure="equal_accuracy", kind="ratio")
        assert (row.judgment, row.note) == (
            Judgment.NOT_JUDGED,
            "one independent sample or cluster only in group=f",
        )
        assert np.isfinite(group(result, "accuracy", "m").low)

    def test_one_value_for_each_group(self):
        p = np.where(SEX == "f", 0.6, 0.9)
        result = run(caveat.Categorical.from_binary([p, p], classes=["no", "yes"]), Y2, SEX)
        for kind in ("ratio", "difference"):
            row = one(result, measure="aleatoric_uncertainty", kind=kind)
            assert row.judgment == Judgment.NOT_JUDGED
            assert row.note == "the same in every resample, so that its spread does not show"
            assert np.isnan(row.low)
        ratio = one(result, measure="aleatoric_uncertainty", kind="ratio")
        assert max(ratio.value, 1 / ratio.value) == pytest.approx(0.24 / 0.09)
        assert one(result, measure="equal_accuracy", kind="ratio").judgment != Judgment.NOT_JUDGED

    def test_one_value_in_one_group(self):
        p = np.where(SEX == "f", 0.6, 0.7 + 0.2 * RNG.random(N))
        result = run(caveat.Categorical.from_binary([p, p], classes=["no", "yes"]), Y2, SEX)
        row = one(result, measure="aleatoric_uncertainty", kind="ratio")
        assert row.judgment != Judgment.NOT_JUDGED
        assert row.low < row.value < row.high


class TestUndefined:
    def test_a_group_without_positives_is_said_so(self):
        y = np.where(SEX == "f", "no", Y2)
        result = run(TWO, y, {"sex": SEX})
        row = one(result, measure="equal_opportunity", kind="ratio")
        assert row.verdict == "undefined (no positives in sex=f)"
        assert np.isnan([row.value, row.low, row.high]).all()
        assert row.flag is row.symmetric_flag is None
        assert group(result, "true_positive_rate", "f").note == "undefined: no positives"
        assert "nan" not in repr(result)
        assert "nan" not in result._repr_html_()

    def test_in_every_group(self):
        result = run(TWO, np.full(N, "no"), {"race": RACE})
        rows = result.select(measure="equal_opportunity", kind="ratio")
        assert {row.verdict for row in rows} >= {"undefined (no positives in race=y)"}

    def test_nobody_predicted_positive(self):
        prediction = caveat.Categorical.from_binary(np.full(N, 0.1), classes=["no", "yes"])
        result = run(prediction, Y2, SEX)
        note = group(result, "positive_predictive_value", "f").note
        assert note == "undefined: none predicted positive"
        verdict = one(result, measure="epistemic_uncertainty", kind="ratio").verdict
        assert verdict.startswith("undefined (0 in ")

    def test_a_group_without_weight(self):
        result = run(TWO, Y2, RACE, sample_weight=np.where(RACE == "x", 0.0, 1.0))
        assert group(result, "accuracy", "x").note == "undefined: no sample with a weight"
        assert not result.select(group="x", statistic="quantile=0.5")
        rows = result.select(measure="equal_accuracy", kind="ratio", group="x")
        assert [row.verdict for row in rows] == ["undefined (no sample with a weight in group=x)"]

    def test_rounding_of_weights_leaves_no_false_negatives(self):
        p = np.r_[np.full(15, 0.9), np.full(15, 0.1)]
        weight = np.random.default_rng(3).random(60)
        result = run(
            caveat.Categorical.from_binary(np.r_[p, p]), (np.r_[p, p] > 0.5).astype(int),
            np.repeat([0, 1], 30), sample_weight=weight,
        )  # fmt: skip
        assert group(result, "true_positive_rate", "0").value == 1
        assert group(result, "false_positive_rate", "0").value == 0
        assert group(result, "accuracy", "1").low < 1


class TestKindsOfPrediction:
    def test_logits_are_sampled(self):
        z = RNG.normal(size=(2, N, 2))
        prediction = caveat.GaussianLogits(z, np.ones((2, N, 2)))
        result = run(prediction, RNG.integers(2, size=N), SEX)
        assert result.decomposition == "variance"
        again = run(prediction, np.zeros(N, int), SEX, decomposition="gaussian_logits")
        assert again.decomposition == "gaussian_logits"

    def test_probability_intervals_are_merged(self):
        low = Q[0] * 0.8
        prediction = caveat.ProbabilityInterval(
            np.stack([1 - low - 0.1, low], axis=1), np.stack([1 - low, low + 0.1], axis=1)
        )
        assert run(prediction, (Y2 == "yes").astype(int), SEX, resamples=0).samples == N

    def test_others_are_refused(self):
        interval = caveat.Interval(np.zeros(N), np.ones(N), coverage=0.9)
        with pytest.raises(UnsupportedPredictionError, match=r"got a Interval, convert it first$"):
            run(interval, np.zeros(N), SEX)
        with pytest.raises(UnsupportedPredictionError, match=r"^expected a prediction"):
            run("Q", Y2, SEX)

    def test_another_decomposition(self):
        split = caveat.decompose(TWO, "information")
        result = run(TWO, Y2, SEX, decomposition="information")
        row = group(result, "epistemic_uncertainty", "f", statistic="mean")
        assert row.value == pytest.approx(split.epistemic[SEX == "f"].mean())

    def test_an_infinite_one_is_refused(self):
        prediction = caveat.Categorical([[[1.0, 0.0]] * 4, [[0.0, 1.0]] * 4])
        with pytest.raises(
            InvalidValueError, match=r"^epistemic uncertainty by 'pairwise_kl' of s"
        ):
            run(prediction, [0, 1, 0, 1], [0, 0, 1, 1], decomposition="pairwise_kl")

    def test_positive_chooses_the_class(self):
        first = run(TWO, Y2, SEX, positive="no", resamples=0)
        assert group(first, "base_rate", "f").value == pytest.approx(
            (Y2 == "no")[SEX == "f"].mean()
        )
        result = run(THREE, Y3, RACE, positive="b", resamples=0)
        assert {row.label for row in result} == {"", "b"}
        with pytest.raises(
            LabelError, match=r"^positive is 'd', but the classes are 'a', 'b', 'c'$"
        ):
            run(THREE, Y3, RACE, positive="d")


class TestBadInput:
    @pytest.mark.parametrize(
        ("resamples", "confidence", "fewest"), [(1, 0.95, 40), (39, 0.95, 40), (199, 0.99, 200)]
    )
    def test_a_handful_of_resamples_shows_nothing(self, resamples, confidence, fewest):
        message = (
            rf"^resamples must be at least {fewest} for intervals with confidence={confidence}, or "
            rf"0 for none; got {resamples}$"
        )
        with pytest.raises(OptionError, match=message):
            run(TWO, Y2, SEX, resamples=resamples, confidence=confidence)
        found = run(TWO, Y2, SEX, resamples=fewest, confidence=confidence)
        assert np.isfinite(one(found, measure="equal_accuracy", kind="ratio").low)

    def test_groups_of_another_length(self):
        with pytest.raises(ShapeError, match=r"^groups\['sex'\] must be one value for each of 400"):
            run(TWO, Y2, {"sex": SEX[:-1]})

    def test_truth_of_another_length(self):
        with pytest.raises(ShapeError, match=r"^y has 399 samples, the prediction has 400$"):
            run(TWO, Y2[:-1], SEX)

    def test_one_group_only(self):
        message = r"^groups\['group'\] has one value only, 'f'; an audit compares at least two"
        with pytest.raises(OptionError, match=message):
            run(TWO, Y2, np.full(N, "f"))

    def test_missing_values_are_a_group(self):
        result = run(TWO, Y2, np.where(SEX == "f", np.nan, 1.0), resamples=0)
        assert result.groups("group") == ("1", "(missing)")

    def test_continuous_groups_ask_for_bins(self):
        for size in (N, 60):
            with pytest.raises(OptionError, match="cut numbers into a few bins first, with pandas"):
                run(TWO, Y2, {"age": np.arange(N) % size})
        p = np.linspace(0, 1, 1500)
        prediction, y = caveat.Categorical.from_binary(p), (p > 0.5).astype(int)
        with pytest.raises(OptionError, match="has 1500 different values; cut it into a few bins"):
            run(prediction, y, np.arange(1500))

    def test_too_many_intersections(self):
        n = 12_000
        p, y = np.linspace(0, 1, n), np.arange(n) % 2
        with pytest.raises(OptionError, match=r"^groups\['a x b'\] has 1200 different values"):
            run(
                caveat.Categorical.from_binary(p), y,
                {"a": np.arange(n) % 40, "b": (np.arange(n) // 40) % 30}, intersections=True,
            )  # fmt: skip

    @pytest.mark.parametrize("threshold", [0, 1, "x"])
    def test_threshold(self, threshold):
        with pytest.raises(
            OptionError, match=r"^threshold must be a number strictly between 0 and"
        ):
            run(TWO, Y2, SEX, threshold=threshold)

    def test_privileged(self):
        both = {"sex": SEX, "race": RACE}
        with pytest.raises(
            OptionError, match=r"^privileged must be a dict of attribute to value, as"
        ):
            run(TWO, Y2, both, privileged="m")
        with pytest.raises(OptionError, match=r"^privileged names the attribute 'age'; the attrib"):
            run(TWO, Y2, both, privileged={"age": 3})
        with pytest.raises(
            OptionError, match=r"^privileged\['race'\] is 'w'; the values are x, y,"
        ):
            run(TWO, Y2, both, privileged={"race": "w"})
        with pytest.raises(OptionError, match=r"the values are 0, 1, 2, 3, 4, 5, 6, 7, \.\.\.$"):
            run(TWO, Y2, np.arange(N) % 10, privileged=11)


class TestResult:
    def test_table(self):
        frame = TWO_RESULT.to_frame()
        assert len(frame) == len(TWO_RESULT) == len(list(TWO_RESULT))
        assert set(frame["kind"]) == {"group", "ratio", "difference"}

    def test_json_has_no_nan(self):
        result = run(TWO, np.where(SEX == "f", "no", Y2), SEX)
        assert "NaN" not in result.to_json()
        rows = json.loads(result.to_json())
        assert rows[1]["measure"] == "accuracy"
        undefined = [row for row in rows if row["verdict"].startswith("undefined")]
        assert undefined[0]["value"] is None

    def test_unbounded_intervals_are_words(self):
        result = run(TWO, Y2, SEX, resamples=40)
        rows = [replace(row, high=np.inf) if row.reference else row for row in result]
        result = replace(result, rows=tuple(rows))
        assert "inf" not in repr(result).replace("informa", "")
        assert '"high": "inf"' in result.to_json()

    def test_text_from_data_is_verbatim_and_escaped(self):
        names = np.where(SEX == "f", "[b]<i>f</i>", "m")
        result = run(TWO, Y2, {"<sex>": names}, resamples=40)
        assert "[b]<i>f</i>" in repr(result)
        page = result._repr_html_()
        assert "<i>" not in page
        assert "&lt;i&gt;" in page
        assert "<i>f</i>" in str(result.verdict())
        assert "<i>" not in result.verdict()._repr_html_()

    def test_many_groups_are_cut_in_print_and_whole_in_the_frame(self):
        result = run(TWO, Y2, {"ward": np.arange(N) % 12}, resamples=40)
        assert "; 6 more groups: to_frame() has all of them" in " ".join(repr(result).split())
        assert "By ward, class yes: worst pairs" in repr(result)
        assert len(result.groups("ward")) == 12

    def test_equal_seeds_equal_tables(self):
        assert run(TWO, Y2, SEX).to_json() == run(TWO, Y2, SEX).to_json()


class TestConsistency:
    X = RNG.normal(size=(N, 2))

    def test_of_classes(self):
        result = run(TWO, Y2, {"sex": SEX}, X=self.X, neighbors=3, resamples=40)
        rows = result.consistency.select(attribute="sex")
        quantities = ["prediction", "aleatoric uncertainty", "epistemic uncertainty"]
        assert {row.quantity for row in rows} == {*quantities, "predictive uncertainty"}
        assert {row.outcome for row in rows} == {"", "no", "yes"}
        assert result.consistency.neighbors == 3
        direct = caveat.fairness.consistency(
            (TWO.labels == "yes").astype(int), self.X, neighbors=3, resamples=0
        )
        everyone = result.consistency.select(quantity="prediction", attribute="", outcome="")
        assert everyone[0].consistency == pytest.approx(direct.rows[0].consistency)

    def test_of_numbers(self):
        result = run(GAUSSIAN, NUMBERS, SEX, X=self.X, queries=50, resamples=40)
        names = {row.quantity for row in result.consistency.rows}
        assert {"prediction sbp", "epistemic uncertainty dbp"} <= names
        assert len(result.consistency.queries) == 50

    def test_none_without_features(self):
        assert TWO_RESULT.consistency is None
