import json

import numpy as np
import pytest

import caveat
from caveat.exceptions import OptionError, ShapeError

N = 2000
RNG = np.random.default_rng(0)
Z = RNG.normal(size=N) * 2
Y = (RNG.random(N) < 1 / (1 + np.exp(-Z))).astype(int)


def binary(logit):
    return caveat.Categorical.from_binary(1 / (1 + np.exp(-logit)))


HONEST, SURE, SHY = binary(Z), binary(4 * Z), binary(0.4 * Z)
NOISE = RNG.normal(size=N) * 0.02
SAME = binary(Z + NOISE)
BLIND = binary(np.full(N, np.log(Y.mean() / (1 - Y.mean()))))


def compare(predictions, y=Y, **options):
    return caveat.compare(predictions, y, **{"resamples": 200, "random_state": 0, **options})


class TestComparison:
    RESULT = compare(
        {"honest": HONEST, "sure": SURE, "same": SAME}, metrics=["ece", "nll", "auc", "accuracy"]
    )

    def test_values_are_those_of_each_evaluation(self):
        for name, prediction in (("honest", HONEST), ("sure", SURE)):
            alone = caveat.evaluate(prediction, Y, metrics=["nll"], resamples=0)
            (row,) = self.RESULT.select(
                technique=name, metric="negative_log_likelihood_loss", group=""
            )
            assert row.value == alone.rows[0].value

    def test_ranks_and_ties(self):
        rows = {
            row.technique: row
            for row in self.RESULT.select(metric="negative_log_likelihood_loss", group="")
        }
        assert rows["sure"].rank == 3
        assert not rows["sure"].tied
        assert {rows["honest"].rank, rows["same"].rank} == {1, 2}
        assert rows["honest"].tied
        assert rows["same"].tied
        assert sum(row.best for row in rows.values()) == 1

    def test_equal_values_are_both_best(self):
        rows = self.RESULT.select(metric="roc_auc_score", group="", technique="honest")
        (sure,) = self.RESULT.select(metric="roc_auc_score", group="", technique="sure")
        assert rows[0].value == pytest.approx(sure.value, abs=1e-12)  # the same order of samples

    def test_pareto(self):
        result = compare(
            {"honest": HONEST, "sure": SURE, "blind": BLIND}, metrics=["ece", "auc"], resamples=0
        )
        front = result.pareto("ece", "auc")
        assert "sure" not in front
        assert set(front) == {"honest", "blind"} or front == ["honest"]
        with pytest.raises(OptionError, match="'crps' was not measured for 'honest'"):
            result.pareto("crps", "auc")

    def test_it_prints_and_writes(self):
        text = repr(self.RESULT)
        assert "* best, ~ tied with it" in text
        assert "honest" in text
        assert self.RESULT.techniques == ["honest", "sure", "same"]
        assert len(self.RESULT.to_frame()) == len(self.RESULT.rows)
        assert len(json.loads(self.RESULT.to_json())) == len(self.RESULT.rows)
        assert "<table>" in self.RESULT._repr_html_()

    def test_it_plots_and_reports(self, tmp_path):
        import matplotlib.pyplot as plt

        plt.switch_backend("Agg")
        axes = self.RESULT.plot("comparison", metric="negative_log_likelihood_loss")
        assert [label.get_text() for label in axes.get_yticklabels()] == self.RESULT.techniques
        plt.close(axes.figure)
        page = self.RESULT.report(tmp_path / "page.html", title="Three")
        assert "<title>Three" in page.read_text(encoding="utf-8")

    def test_without_resamples_nothing_is_tied_but_the_best(self):
        result = compare({"honest": HONEST, "same": SAME}, metrics=["nll"], resamples=0)
        rows = result.select(metric="negative_log_likelihood_loss", group="")
        assert sorted(row.tied for row in rows) == [False, True]

    def test_metrics_without_better_or_worse_have_no_rank(self):
        mean = RNG.normal(size=200)
        y = mean + RNG.normal(size=200)
        result = compare(
            {"a": caveat.Gaussian(mean, 1.0), "b": caveat.Gaussian(mean, 2.0)},
            y,
            metrics=["cv", "picp", "interval_coverage"],
        )
        assert {row.rank for row in result.select(metric="dispersion")} == {0}
        ratio = result.select(metric="coverage_ratio", option="coverage=0.6827")
        assert min(ratio, key=lambda row: abs(row.value - 1)).best


def test_errors():
    with pytest.raises(OptionError, match="at least two predictions by name"):
        compare({"one": HONEST})
    with pytest.raises(OptionError, match="at least two predictions by name"):
        compare([HONEST, SURE])
    with pytest.raises(ShapeError, match="'b' has 5 samples, 'a' has 2000; all must predict"):
        compare({"a": HONEST, "b": HONEST.take(slice(0, 5))})


class TestRecommend:
    def test_a_clear_winner(self):
        answer = compare({"honest": HONEST, "sure": SURE, "shy": SHY}).recommend("probability")
        assert answer.technique == "honest"
        assert answer.tied == ("honest",)
        assert answer.primary == "expected_calibration_error"
        assert "negative_log_likelihood_loss" in answer.supporting
        assert answer.verdict.startswith("Use honest: its expected calibration error is")
        assert any("exchangeable" in caution for caution in answer.cautions)
        assert str(answer).startswith("Use honest")

    def test_a_tie_is_no_clear_winner(self):
        answer = compare({"honest": HONEST, "same": SAME, "sure": SURE}).recommend(
            "entropy", scale="global"
        )
        assert answer.technique is None
        assert set(answer.tied) == {"honest", "same"}
        assert answer.verdict.startswith("No clear winner")

    def test_a_violated_minimum_excludes(self):
        result = compare({"honest": HONEST, "blind": BLIND, "sure": SURE})
        answer = result.recommend("probability", minimum={"roc_auc": 0.8, "nll": 5.0})
        assert "blind" in answer.excluded
        assert "roc_auc_score 0.5, below 0.8" in answer.excluded["blind"]
        assert answer.technique == "honest"
        assert "Left out: blind" in answer.verdict
        none = result.recommend("probability", minimum={"roc_auc": 0.999})
        assert none.technique is None
        assert none.tied == ()
        assert none.verdict.startswith("No technique meets the minimum: honest has roc_auc_score")
        assert set(result.recommend("probability", minimum={"nll": 0.1}).excluded) == {
            "honest",
            "blind",
            "sure",
        }

    def test_a_trade_off_between_classes(self):
        # Too shy about class 1, right about class 0, and the reverse: each is best for one class.
        first = binary(np.where(Z > 0, 0.3 * Z, Z))
        second = binary(np.where(Z > 0, Z, 0.3 * Z))
        result = compare({"first": first, "second": second})
        for label in (0, 1):
            answer = result.recommend("probability", prioritise=label)
            by_class = {
                row.technique: row.value
                for row in result.select(
                    metric="expected_calibration_error", group=f"class={label}"
                )
            }
            assert answer.tied[0] == min(by_class, key=by_class.__getitem__)
            assert f"of {label}" in answer.verdict
        adaptive = result.recommend("probability", scale="adaptive")
        assert "averaged over classes or targets" in adaptive.verdict
        assert adaptive.values["first"] == pytest.approx(
            np.mean([
                row.value
                for row in result.select(metric="expected_calibration_error", technique="first")
                if row.group.startswith("class=")
            ])
        )  # fmt: skip

    def test_best_overall_may_be_worse_for_one_class(self):
        answer = compare({"honest": HONEST, "sure": SURE}).recommend("probability")
        worse = [caution for caution in answer.cautions if "is not the best for class=" in caution]
        assert len(worse) == sum("against" in caution for caution in answer.cautions)

    def test_regression(self):
        mean = RNG.normal(size=(N, 2))
        y = mean + RNG.normal(size=(N, 2))
        result = compare(
            {
                "right": caveat.Gaussian(mean, 1.0, targets=["sbp", "dbp"]),
                "wide": caveat.Gaussian(mean, 9.0, targets=["sbp", "dbp"]),
            },
            y,
        )
        for expression in ("variance", "interval"):
            assert result.recommend(expression, scale="adaptive").technique == "right"
        answer = result.recommend("interval")
        assert any("single level can mislead" in caution for caution in answer.cautions)
        assert result.recommend("variance", prioritise="sbp").technique == "right"
        with pytest.raises(
            OptionError, match=r"no class or target 'map'; the targets are \['dbp', 's"
        ):
            result.recommend("variance", prioritise="map")
        with pytest.raises(OptionError, match="'expected_calibration_error' was not measured"):
            result.recommend("probability")

    def test_equal_techniques_tie_without_resamples(self):
        answer = compare({"a": HONEST, "b": HONEST}, resamples=0).recommend("probability")
        assert answer.tied == ("a", "b")
        different = compare({"a": HONEST, "b": SURE}, resamples=0).recommend("probability")
        assert different.technique == "a"

    def test_text_from_data_is_escaped(self):
        answer = compare({"<script>": HONEST, "b": SURE}, metrics=["ece"]).recommend()
        assert "<script>" not in answer._repr_html_()

    def test_options(self):
        result = compare({"a": HONEST, "b": SURE}, metrics=["ece"], resamples=0)
        with pytest.raises(OptionError, match="expression must be one of"):
            result.recommend("odds")
        with pytest.raises(OptionError, match="scale must be one of"):
            result.recommend(scale="tiny")
        with pytest.raises(OptionError, match="was not measured for 'a' in group 'class=z'"):
            result.recommend(prioritise="z")
