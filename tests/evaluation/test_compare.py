import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import softmax

import caveat
from caveat.evaluation import _recommend_case as cases
from caveat.exceptions import OptionError, ShapeError
from caveat.metrics import METRICS
from caveat.metrics import negative_log_likelihood_loss as nll

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


class Case(cases.Case):
    """A case made by hand, for its sentences."""

    def __init__(self, values, skills, worse):
        self.values, self.skills, self.skill = values, skills, "brier_loss"
        self.primary, self.what = "positive_calibration_error", "positive calibration error"
        self.good = [name for name in values if name not in worse]
        self.worse = dict.fromkeys(worse, "")
        self.comparison = SimpleNamespace(matching=lambda **_: [])

    def recommended(self, best):
        choice = cases.Choice(best, (best,), self._winner(best))
        return " ".join([choice.text, *self.trade_off(choice)])


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
        assert answer.primary == "positive_calibration_error"
        assert answer.skill == answer.supporting[0] == "negative_log_likelihood_loss"
        assert set(answer.worse_in_skill) == {"sure", "shy"}
        assert re.match(
            r"Use honest: its negative log likelihood loss is 0\.\d+, the lowest of 3 \(others "
            r"[\d.]+, 0\.\d+\); its positive calibration error is 0\.0\d+\.",
            answer.verdict,
        )
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
        left = result.recommend(minimum={"nll": result.recommend().skills["honest"] + 1e-9})
        assert left.technique == "honest"
        assert re.match(r"Use honest: its negative log likelihood loss is 0\.\d+; its positive",
                        left.verdict)  # fmt: skip
        none = result.recommend("probability", minimum={"roc_auc": 0.999})
        assert none.technique is None
        assert none.tied == ()
        assert none.verdict.startswith("No technique meets the minimum: honest has roc_auc_score")
        assert set(result.recommend("probability", minimum={"nll": 0.1}).excluded) == {
            "honest",
            "blind",
            "sure",
        }

    def test_skill_comes_before_calibration(self):
        # One number for everyone is perfectly calibrated, and knows nothing.
        answer = compare({"slightly sure": binary(1.8 * Z), "constant": BLIND}).recommend()
        assert answer.technique == "slightly sure"
        assert answer.values["constant"] < 1e-12 < answer.values["slightly sure"]
        assert answer.pareto == ("slightly sure", "constant")
        assert re.search(
            r"constant has a lower positive calibration error \(0\), which would cost 0\.\d+ in "
            r"negative log likelihood loss; recalibrating slightly sure may give both\.",
            answer.verdict,
        )
        assert re.fullmatch(
            r"negative log likelihood loss 0\.69\d, clearly worse than 0\.\d+ of slightly sure",
            answer.worse_in_skill["constant"],
        )

        # The table has both as tied in calibration: neither is said to be lower.
        tied = compare({"slightly sure": binary(1.3 * Z), "constant": BLIND})
        (row,) = tied.select(
            metric="positive_calibration_error", technique="slightly sure", group=""
        )
        assert row.tied
        assert "has a lower" not in tied.recommend().verdict

    def test_what_is_excluded_is_apart_in_the_table(self):
        for seed in range(6):
            rng = np.random.default_rng(seed)
            z = 1.3 * rng.normal(size=1000)
            y = (rng.random(1000) < 1 / (1 + np.exp(-z))).astype(int)
            two = {"right": binary(z), "noisy": binary(z + 0.3 * rng.normal(size=1000))}
            result = compare(two, y)
            rows = result.select(metric="negative_log_likelihood_loss", group="")
            apart = {row.technique for row in rows if not row.tied}
            # Two tests share the error probability, so that the sentence is the more careful one.
            assert set(result.recommend().worse_in_skill) <= apart

    def test_one_that_ranks_better_may_win_after_recalibration(self):
        rng = np.random.default_rng(0)
        z = 1.3 * rng.normal(size=3000)
        y = (rng.random(3000) < 1 / (1 + np.exp(-z))).astype(int)
        two = {"over": binary(4 * z), "bland": binary(0.6 * (z + rng.normal(size=3000)))}
        answer = compare(two, y).recommend()
        assert answer.technique == "bland"
        assert re.search(
            r"over distinguishes the classes better \(ROC AUC 0\.\d+ against 0\.\d+\): "
            r"recalibrating it may win\.",
            answer.verdict,
        )

    def test_of_like_skill_calibration_decides(self):
        # One knows less, and says so; the other knows more, and exaggerates until both score alike.
        rng = np.random.default_rng(3)
        first, second = 2 * rng.normal(size=4000), 1.5 * rng.normal(size=4000)
        y = (rng.random(4000) < 1 / (1 + np.exp(-first - second))).astype(int)
        modest = binary(first / np.sqrt(1 + np.pi / 8 * 2.25))  # the second is averaged out

        def lead(factor):
            loud = binary(factor * (first + second))
            return nll(y, loud) - nll(y, modest)

        loud = binary(brentq(lead, 1.2, 5) * (first + second))
        answer = compare({"loud": loud, "modest": modest}, y).recommend()
        assert not answer.worse_in_skill
        assert answer.technique == "modest"
        assert re.match(
            r"Use modest: its positive calibration error is 0\.0\d+, the lowest of 2 \(others "
            r"0\.\d+\); its negative log likelihood loss is 0\.\d+, and none of these is clearly "
            r"better by it\.",
            answer.verdict,
        )

    def test_words_of_a_winner_by_calibration(self):
        case = Case({"a": 0.01, "b": 0.06, "c": 0.05}, {"a": 0.5, "b": 0.499, "c": 0.7}, ["c"])
        assert case.recommended("a") == (
            "Use a: its positive calibration error is 0.01, the lowest of 2 (others 0.06); its brier "
            "loss is 0.5, and none of these is clearly better by it. Clearly worse by brier loss: "
            "c 0.7."
        )

    def test_nothing_that_knows_nothing_is_a_clear_choice(self):
        coin = RNG.integers(2, size=N)
        same = caveat.Categorical.from_binary(np.full(N, coin.mean()))
        wild = binary(3 * Z)  # says much of what cannot be known
        answer = compare({"wild": wild, "same": same}, coin).recommend()
        assert set(answer.worse_in_skill) == {"wild"}
        assert answer.technique is None
        assert answer.tied == ("same",)
        assert answer.verdict.startswith(
            "No clear winner: same is the best of 2 by positive calibration error (0), but it says "
            "the same of every sample."
        )
        faint = binary(0.01 * Z)
        answer = compare({"wild": wild, "faint": faint}, coin).recommend()
        assert answer.technique is None
        assert re.search(
            r"but it cannot be distinguished from guessing: ROC AUC 0\.\d+ \(0\.\d+ to 0\.\d+\), and 0\.5 is "
            r"chance\.",
            answer.verdict,
        )
        quick = compare({"wild": wild, "faint": binary(-0.01 * Z)}, coin, resamples=0)
        area = quick.select(metric="roc_auc_score", group="", technique="faint")[0].value
        assert (quick.recommend().technique is None) == (area <= 0.5)

    def test_a_rare_class_is_judged_against_the_rest(self):
        # Within the true class 1 exaggerated odds look better calibrated; they are not.
        g = np.random.default_rng(0)
        z = 1.5 * g.normal(size=1500) - 2.5
        y = (g.random(1500) < 1 / (1 + np.exp(-z))).astype(int)
        result = compare({"right": binary(z), "odds times 7.4": binary(z + 2)}, y)
        for options in ({"scale": "adaptive"}, {"prioritize": 1}, {"prioritize": 0}, {}):
            for expression in ("probability", "entropy"):
                answer = result.recommend(expression, **options)
                assert answer.technique == "right"
        assert result.recommend(prioritize=1).primary == "positive_calibration_error"

    def test_the_calibration_of_entropy_never_decides(self):
        # By it the overconfident model is clearly better than the calibrated one.
        result = compare({"right": HONEST, "too sure": binary(1.5 * Z)})
        rows = result.select(metric="uncertainty_calibration_error", group="")
        assert {row.technique: row.rank for row in rows} == {"too sure": 1, "right": 2}
        assert not any(row.tied for row in rows if row.technique == "right")
        assert "confident model nearly always has a lower value" in METRICS["uce"].cannot_see
        for expression in ("probability", "entropy"):
            for options in ({}, {"scale": "global"}, {"scale": "adaptive"}, {"prioritize": 1}):
                answer = result.recommend(expression, **options)
                assert answer.technique == "right"
                used = {answer.primary, answer.skill, *answer.supporting}
                assert "uncertainty_calibration_error" not in used
        with pytest.raises(OptionError, match="not measured"):
            compare({"right": HONEST, "too sure": SURE}, metrics=["uce"]).recommend()

    def test_classes_against_the_rest(self):
        rng = np.random.default_rng(0)
        p = rng.dirichlet(np.ones(3), size=4000)
        y = (p.cumsum(axis=1) < rng.random((4000, 1))).sum(axis=1)
        shifted = p * [1.0, 1.0, 1.8]
        shifted /= shifted.sum(axis=1, keepdims=True)
        result = compare(
            {"right": caveat.Categorical(p), "shifted": caveat.Categorical(shifted)}, y
        )
        adaptive = result.recommend(scale="adaptive")
        assert (adaptive.technique, adaptive.primary) == ("right", "classwise_calibration_error")
        one = result.recommend(prioritize=2)
        assert one.values["shifted"] == pytest.approx(
            result.select(technique="shifted", option="class=2")[0].value
        )
        assert "its positive calibration error of 2 against the rest is" in one.verdict
        forced = result.recommend(minimum={"nll": 5.0})
        assert forced.primary == "expected_calibration_error"
        with pytest.raises(OptionError, match=r"no class 'z'; the classes are \['0', '1', '2'\]"):
            result.recommend(prioritize="z")

    def test_a_class_that_the_chosen_one_serves_worse_is_named(self):
        rng = np.random.default_rng(0)
        p = rng.dirichlet(np.ones(3), size=6000)
        y = (p.cumsum(axis=1) < rng.random((6000, 1))).sum(axis=1)
        odd = p * [1.0, 1.0, 1.3]  # right for none, but not far off
        odd /= odd.sum(axis=1, keepdims=True)
        # Right for class 2 alone: the other two share what is left at random.
        share = rng.random(6000)
        rest = 1 - p[:, 2]
        blind = np.stack([share * rest, (1 - share) * rest, p[:, 2]], axis=1)
        answer = compare(
            {"odd": caveat.Categorical(odd), "blind": caveat.Categorical(blind)}, y
        ).recommend()
        assert answer.technique == "odd"
        (worse,) = [c for c in answer.cautions if "is not the best for" in c]
        assert worse.startswith("odd is not the best for class=2 against the rest: 0.0")
        assert " of blind. A repair" in worse

    def test_two_readings_that_disagree_are_no_clear_winner(self):
        # One is right about the class that it names and wrong about the others; one is a little
        # too sure of all of them. By the log score they are made equal.
        rng = np.random.default_rng(3)
        u, v = 1.5 * rng.normal(size=(2, 4000, 3))
        p = softmax(u + v, axis=1)
        y = (p.cumsum(axis=1) < rng.random((4000, 1))).sum(axis=1)
        blunt = softmax(u[:, None] + 1.5 * rng.normal(size=(4000, 200, 3)), axis=2).mean(axis=1)
        sure = blunt**1.35 / (blunt**1.35).sum(axis=1, keepdims=True)
        every, top = np.arange(4000), p.argmax(axis=1)
        low, high = np.array([[1, 2], [0, 2], [0, 1]])[top].T

        def bent(weight):
            found, rest = p.copy(), 1 - p[every, top]
            share = (1 - weight) * p[every, high] / rest + weight * 0.97
            found[every, high], found[every, low] = rest * share, rest * (1 - share)
            return found

        weight = brentq(lambda w: nll(y, bent(w)) - nll(y, sure), 0, 1)
        predictions = {
            "bent": caveat.Categorical(bent(weight)),
            "sure": caveat.Categorical(sure),
        }
        answer = compare(predictions, y, metrics=["nll", "ece", "classwise_ece"]).recommend()
        assert answer.technique is None
        assert answer.tied == ("bent", "sure")
        assert re.fullmatch(
            r"No clear winner: bent is the best of 2 by expected calibration error \(0\.03\d*\), the "
            r"class that is named; by classwise calibration error, all classes, sure is clearly "
            r"better\.",
            answer.verdict,
        )
        top_only = compare(predictions, y, metrics=["nll", "ece"]).recommend()
        assert top_only.technique == "bent"

    def test_an_infinite_log_score_leaves_the_choice_to_brier(self):
        hard = np.round(1 / (1 + np.exp(-Z)))
        answer = compare(
            {"hard": caveat.Categorical.from_binary(hard), "honest": HONEST}
        ).recommend()
        assert (answer.skill, answer.technique) == ("brier_loss", "honest")

    def test_without_a_proper_score_nothing_is_recommended(self):
        result = compare({"a": HONEST, "b": SURE}, metrics=["positive_ece"], resamples=0)
        with pytest.raises(OptionError) as error:
            result.recommend()
        assert str(error.value) == (
            "a proper score was not measured for all techniques, and calibration alone cannot "
            "distinguish a good technique from guessing; measure one of "
            "['negative_log_likelihood_loss', 'brier_loss'] as well"
        )

    def test_quantiles_are_judged_by_their_own_score(self):
        mean = RNG.normal(size=(N, 1))
        y = mean[:, 0] + RNG.normal(size=N)
        levels = [0.1, 0.5, 0.9]
        near = caveat.Quantiles(levels, mean + np.array([-1.28, 0.0, 1.28]))
        far = caveat.Quantiles(levels, mean + np.array([-4.0, 0.0, 4.0]))
        answer = compare({"near": near, "far": far}, y).recommend("interval")
        assert (answer.skill, answer.technique) == ("quantile_crps_loss", "near")
        levels = [0.05, 0.1, 0.5, 0.9, 0.95]
        other = caveat.Quantiles(levels, mean + np.array([-5.0, -4.0, 0.0, 4.0, 5.0]))
        answer = compare({"near": near, "other": other}, y).recommend("interval")
        assert answer.skill != "quantile_crps_loss"

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
        assert result.recommend("variance", prioritize="sbp").technique == "right"
        with pytest.raises(
            OptionError, match=r"no class or target 'map'; the targets are \['dbp', 's"
        ):
            result.recommend("variance", prioritize="map")
        with pytest.raises(OptionError, match="'expected_calibration_error' was not measured"):
            result.recommend("probability")
        assert result.recommend("variance", scale="global").primary == "gaussian_crps_loss"

    def test_equal_techniques_tie_without_resamples(self):
        answer = compare({"a": HONEST, "b": HONEST}, resamples=0).recommend("probability")
        assert answer.tied == ("a", "b")
        different = compare({"a": HONEST, "b": SURE}, resamples=0).recommend("probability")
        assert different.technique == "a"
        assert different.cautions[0].startswith("How sure the differences are was not measured")

    def test_text_from_data_is_escaped(self):
        answer = compare(
            {"<script>": HONEST, "b": SURE}, metrics=["positive_ece", "nll"]
        ).recommend()
        assert "<script>" not in answer._repr_html_()

    def test_options(self):
        result = compare({"a": HONEST, "b": SURE}, metrics=["ece"], resamples=0)
        with pytest.raises(OptionError, match="expression must be one of"):
            result.recommend("odds")
        with pytest.raises(OptionError, match="scale must be one of"):
            result.recommend(scale="tiny")
        with pytest.raises(OptionError, match=r"no class 'z'; the classes are \['0', '1'\]"):
            result.recommend(prioritize="z")
        with pytest.raises(OptionError, match="'positive_calibration_error' was not measured for"):
            result.recommend()


def test_classes_in_another_order_are_the_same_classes():
    three = softmax(RNG.normal(size=(300, 3)), axis=1)
    for p in (np.c_[SHY.mean[:300, 1], SHY.mean[:300, 0]], three):
        first = caveat.Categorical(p, classes=["b", "a", "c"][: p.shape[1]])
        other = caveat.Categorical(p[:, ::-1], classes=first.classes[::-1])
        y = np.array(["a", "b"])[Y[:300]]
        found = caveat.compare({"first": first, "other": other}, y, resamples=0)
        values = {
            name: [r.value for r in found.select(technique=name)] for name in found.techniques
        }
        np.testing.assert_allclose(values["other"], values["first"], rtol=1e-9, atol=1e-12)
