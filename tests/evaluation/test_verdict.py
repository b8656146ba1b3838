import json
import re

import numpy as np
import pytest
from scipy.stats import t

import caveat
from caveat.evaluation import Evaluation
from caveat.evaluation._verdict_direction import Event
from caveat.evaluation._verdict_evidence import (
    Bounds,
    Evidence,
    coverage_state,
    factor_state,
    size_state,
    widening,
)
from caveat.evaluation.verdict import Statement, verdict
from caveat.metrics._curves import ReliabilityCurve
from caveat.results.judgments import Contrast
from caveat.results.rows import Row
from caveat.results.words import (
    amount,
    listed,
    nominal,
    percent,
    points,
    whole,
)

NAN = float("nan")
PROBABILITY = [
    "positive_ece", "ece", "classwise_ece", "accuracy", "error_detection_auroc_score",
]  # fmt: skip
RANKED = [*PROBABILITY, "roc_auc"]
NUMBER = ["ence", "mae", "rmse", "interval_coverage", "error_uncertainty_correlation"]
NO_MEMBERS = (
    "Each sample has one prediction, not those of several members: how much of its uncertainty is "
    "what the model itself does not know (the epistemic part) cannot be judged. The members of an "
    "ensemble, the same model trained several times, would show it: where they disagree, more data "
    "of that kind may help."
)


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def judged(prediction, y, **options):
    classes = hasattr(prediction, "classes")
    metrics = PROBABILITY if classes else NUMBER
    if hasattr(prediction, "membership"):
        metrics = None
    return verdict(
        caveat.evaluate(
            prediction, y,
            **{"metrics": metrics, "resamples": 300, "random_state": 0, **options},
        )
    )  # fmt: skip


def texts(found):
    return [statement.text for statement in found]


def level_of(found, start):
    (statement,) = [s for s in found.statements[1:] if s.text.startswith(start)]
    return statement.level


def drawn(n, sharpen=1.0, seed=0):
    """Binary predictions that are right for sharpen 1, too sure above, not sure enough below."""
    rng = np.random.default_rng(seed)
    z = 2 * rng.normal(size=n)
    y = (rng.random(n) < sigmoid(z)).astype(int)
    return caveat.Categorical.from_binary(sigmoid(sharpen * z)), y


def row(metric, value, low=NAN, high=NAN, **fields):
    return Row(
        **{
            "metric": metric, "value": value, "low": low, "high": high, "samples": 1000,
            "scale": "adaptive" if "attribute" in fields else "global", **fields,
        }
    )  # fmt: skip


def made(rows, prediction=None, truth=None, **fields):
    """An evaluation made by hand: only rows, and what they are of."""
    n = max(r.samples for r in rows)
    if prediction is None:
        prediction = caveat.Categorical(np.tile([0.75, 0.25], (n, 1)), classes=["no", "yes"])
    if truth is None:
        truth = (np.arange(n) % 4 == 0).astype(float)[:, None]
    if hasattr(prediction, "variance"):  # as often above the means as below them
        truth = np.tile([[1.0], [-1.0]], (n // 2, len(prediction.targets)))
    given = {
        "curves": {}, "error": np.zeros((n, 1)), "uncertainty": np.ones((n, 1)),
        "ids": np.arange(n), "decomposition": None, "confidence": 0.95, "description": "",
        "sample_weight": None, "cluster": None, **fields,
    }  # fmt: skip
    return Evaluation(rows=tuple(rows), prediction=prediction, truth=truth, **given)


def curve(predicted, observed, weight):
    arrays = [np.array(a, dtype=float) for a in (predicted, observed, weight)]
    return ReliabilityCurve(*arrays, arrays[0], arrays[0])


POSITIVE = "positive_calibration_error"
TOP = "expected_calibration_error"


def binary_case(says, was, n=1000):
    """One probability for all of n samples, and as many of class "yes" as were observed."""
    prediction = caveat.Categorical.from_binary(np.full(n, says), classes=["no", "yes"])
    return prediction, (np.arange(n) < round(was * n)).astype(float)[:, None]


class TestTwoClasses:
    def test_well_calibrated(self):
        found = judged(*drawn(25_000))
        assert found.statements[0].text == "Its probabilities can be taken at face value."
        assert found.statements[0].level == found.statements[1].level == "good"
        assert {r.metric for r in found.statements[1].rows} == {POSITIVE, "accuracy_score"}
        assert re.search(
            r" On average it predicts 50\.\d % for class=1, and 50\.\d % were observed\.",
            found.statements[1].text,
        )

    def test_a_shift_that_the_confidence_does_not_see(self):
        # Ten points too low everywhere: what is lost above one half is gained below it.
        rng = np.random.default_rng(0)
        p = rng.beta(3, 3, size=5000)
        y = np.array(["well", "ill"])[(rng.random(5000) < np.clip(p + 0.1, 0, 1)).astype(int)]
        prediction = caveat.Categorical.from_binary(p, classes=["well", "ill"])
        evaluation = caveat.evaluate(
            prediction, y, metrics=PROBABILITY, resamples=300, random_state=0
        )
        (blind,) = evaluation.select(metric=TOP, group="")
        assert blind.low < 0.02  # the trap: by the confidence alone it looks right
        found = verdict(evaluation)
        assert found.statements[0].text == (
            "Its probabilities cannot be taken at face value: it predicts class=ill too rarely."
        )
        assert re.match(
            r"It predicts class=ill too rarely, and so the risk is underestimated: 50\.\d % on average, "
            r"observed 6\d\.\d %\. For example, when it said about \d+ % for class=ill, \d+ % were\. Its probabilities are off by "
            r"1[01]\.\d percentage points on average",
            found.statements[1].text,
        )
        assert found.statements[1].level == "bad"
        mirrored = verdict(caveat.evaluate(
            caveat.Categorical.from_binary(1 - p, classes=["ill", "well"]), y,
            metrics=PROBABILITY, resamples=100, random_state=0,
        ))  # fmt: skip
        assert "it predicts class=well too often" in mirrored.statements[0].text

    @pytest.mark.parametrize(("sharpen", "name"), [(3.0, "over"), (0.4, "under")])
    def test_over_and_under_confident(self, sharpen, name):
        found = judged(*drawn(3000, sharpen))
        assert found.statements[0].text == (
            f"Its probabilities cannot be taken at face value: it is {name}confident (high risks are "
            + {"over": "too high, low ones too low).", "under": "too low, low ones too high)."}[
                name
            ]
        )
        assert found.statements[0].level == found.statements[1].level == "bad"
        says, right, high, was_high, low, was_low = (
            float(number)
            for number in re.match(
                rf"It is {name}confident: on average it says ([\d.]+) % of the class that it names "
                r"and is right in ([\d.]+) % of cases\. For example, when it said about ([\d.]+) % "
                r"for class=1, ([\d.]+) % were, and when it said about ([\d.]+) % for class=1, "
                r"([\d.]+) % were\. No over- or underestimate of the risk on average can be shown: it "
                r"predicts [45]\d\.\d % for class=1, and [45]\d\.\d % were observed\. Its probabilities are ",
                found.statements[1].text,
            ).groups()
        )
        assert (says > right) == (name == "over")
        assert high > was_high
        assert low < was_low

    @pytest.mark.parametrize(("slope", "state"), [(0.4, "extreme"), (1.9, "timid")])
    def test_probabilities_that_vary_too_much_or_too_little(self, slope, state):
        # All on one side of one half, so that "overconfident" would mean two things.
        rng = np.random.default_rng(0)
        p = rng.uniform(0.52, 0.98, 20_000) if slope < 1 else rng.uniform(0.62, 0.88, 20_000)
        y = (rng.random(20_000) < 0.75 + slope * (p - 0.75)).astype(int)
        found = judged(caveat.Categorical.from_binary(p), y)
        how, words = {
            "extreme": ("much", "high ones are too high, low ones too low"),
            "timid": ("little", "high ones are too low, low ones too high"),
        }[state]
        assert found.statements[0].text.startswith(
            f"Its probabilities cannot be taken at face value: {words}"
        )
        assert re.match(
            rf"Its probabilities vary too {how}: when it said about \d\d % for class=1, \d\d % were, "
            r"and when it said about \d\d % for class=1, \d\d % were\. No over- or underestimate of the "
            r"risk on average can be shown: it predicts 7\d\.\d % for class=1, and 7\d\.\d % were "
            r"observed\. Its probabilities are off by ",
            found.statements[1].text,
        )

    def test_wrong_in_both_directions(self):
        # Too low in the middle, too high at both ends: neither a shift nor a slope.
        rng = np.random.default_rng(0)
        p = rng.uniform(0.55, 0.95, 30_000)
        y = (rng.random(30_000) < p + 0.08 * np.where(np.abs(p - 0.75) < 0.1, 1, -1)).astype(int)
        found = judged(caveat.Categorical.from_binary(p), y)
        assert found.statements[0].text.startswith(
            "Its probabilities cannot be taken at face value: too high in places, too low in others"
        )
        assert re.match(
            r"Its probabilities are wrong in both directions: when it said about \d\d % for class=1, "
            r"\d\d % were \(too high\), and when it said about 7\d % for class=1, \d\d % were \(too "
            r"low\)\. No over- or underestimate of the risk on average can be shown: it predicts ",
            found.statements[1].text,
        )

    def test_a_risk_is_that_of_two_classes(self):
        rng = np.random.default_rng(0)
        p = rng.uniform(0.55, 0.95, 30_000)
        right = rng.random(30_000) < p + 0.08 * np.where(np.abs(p - 0.75) < 0.1, 1, -1)
        three = np.stack([p, (1 - p) / 2, (1 - p) / 2], axis=1)
        y = np.where(right, 0, rng.integers(1, 3, 30_000))
        found = str(judged(caveat.Categorical(three), y))
        assert re.search(
            r"wrong in both directions: when it said about .* \(too low\)\. Its ", found
        )
        assert "risk" not in found

    def test_overconfident_and_underestimated_on_average(self):
        # Too extreme at both ends, and a little too low on top of it.
        rng = np.random.default_rng(0)
        z = 1.5 * rng.normal(size=20_000)
        y = (rng.random(20_000) < sigmoid(z)).astype(int)
        found = judged(caveat.Categorical.from_binary(sigmoid(2.5 * z - 0.5)), y)
        assert found.statements[0].text == (
            "Its probabilities cannot be taken at face value: it is overconfident (high risks are too "
            "high, low ones too low), and on average the risk is underestimated."
        )
        assert re.search(
            r" On average the risk is underestimated: it predicts 4[0-7]\.\d % for class=1, and (49|50)\.\d % "
            r"were observed\. ",
            found.statements[1].text,
        )
        mirrored = judged(caveat.Categorical.from_binary(sigmoid(0.5 - 2.5 * z)), 1 - y)
        assert "on average the risk is overestimated" in mirrored.statements[0].text

    @pytest.mark.parametrize(
        ("said", "was", "over"), [(0.25, 0.46, True), (0.70, 0.85, False), (0.85, 0.70, True)]
    )
    def test_the_confidence_does_not_hide_the_direction(self, said, was, over):
        """Risks that are too low make a model that names "well" overconfident, one that names
        "ill" underconfident: neither word says whether risks are too low."""
        rng = np.random.default_rng(0)
        p = np.clip(said + 0.05 * rng.normal(size=4000), 0.02, 0.98)
        y = (rng.random(4000) < p + was - said).astype(int)
        top, right = np.maximum(p, 1 - p), (p > 0.5) == y
        assert (top.mean() > right.mean()) == over
        found = judged(caveat.Categorical.from_binary(p), y)
        direction = "underestimated" if said < was else "overestimated"
        assert f"and so the risk is {direction}: " in found.statements[1].text
        others = {"underestimated", "overestimated", "overconfident", "underconfident"} - {
            direction
        }
        assert not [word for word in others if word in str(found)]

    def test_a_rare_class_that_is_predicted_three_times_as_often(self):
        # Off by less than five points, but that is most of what there is.
        rng = np.random.default_rng(0)
        z = 1.2 * rng.normal(size=6000) - 5
        y = (rng.random(6000) < sigmoid(z)).astype(int)
        found = judged(caveat.Categorical.from_binary(sigmoid(z + 1.2)), y)
        assert found.statements[0].text == (
            "Its probabilities cannot be taken at face value: it predicts class=1 too often."
        )
        assert re.search(r"on average, observed 1\.\d %\. For example, when it said about 2\.\d % for",
                         found.statements[1].text)  # fmt: skip
        assert found.statements[1].text.endswith(", which is much where one class is so rare.")
        # The same of the class that is common, and the right ones are not accused.
        common = judged(caveat.Categorical.from_binary(1 - sigmoid(z + 1.2)), 1 - y)
        assert "it predicts class=1 too rarely" in common.statements[0].text
        assert judged(caveat.Categorical.from_binary(sigmoid(z)), y).statements[0].level == "good"

    def test_too_few_samples_to_say(self):
        found = judged(*drawn(300))
        assert found.statements[0] == Statement(
            "unsure",
            "There are too few samples to say whether its probabilities can be taken at face value.",
            found.statements[1].rows,
        )
        assert found.statements[1].text.startswith(
            "Too few samples to say whether its probabilities can be taken at face value: they are "
            "off by "
        )
        assert (
            ", which may be nothing or much. On average it predicts 4" in found.statements[1].text
        )

    def test_very_few_samples(self):
        found = judged(*drawn(40))
        assert found.statements[1].level == "unsure"
        assert found.statements[1].text.startswith("40 samples are too few to say whether its ")

    def test_many_samples_of_few_patients_are_few(self):
        prediction, y = drawn(12_000)
        found = judged(prediction, y, cluster=np.arange(12_000) % 5)
        assert found.statements[0].level == "unsure"

    def test_weights_count(self):
        prediction, y = drawn(12_000)
        weight = np.where(np.arange(12_000) < 5, 1e6, 1.0)
        assert judged(prediction, y, sample_weight=weight).statements[0].level == "unsure"

    def test_exact_sentences(self):
        error = row(POSITIVE, 0.09, 0.06, 0.11, estimate=0.085)
        accuracy = row("accuracy_score", 0.71, 0.68, 0.74)
        warns = row("error_detection_auroc_score", 0.744, 0.719, 0.77)
        wrong = (np.arange(1000) < 290).astype(float)[:, None]
        prediction, truth = binary_case(0.8, 0.71)
        found = verdict(made([error, accuracy, warns], prediction, truth, error=wrong))
        assert found.statements == (
            Statement(
                "bad",
                "Its probabilities cannot be taken at face value: it predicts class=yes too often.",
                (error, accuracy),
            ),
            Statement(
                "bad",
                "It predicts class=yes too often, and so the risk is overestimated: 80.0 % on average, "
                "observed 71.0 %. For example, when it said about 80 % for class=yes, 71 % were. Its probabilities are off by 8.5 "
                "percentage points on average (95 % interval 6.0 to 11.0; 9.0 in these samples, "
                "chance included).",
                (error, accuracy),
            ),
            Statement(
                "info",
                "It is right in 71.0 % of cases (95 % interval 68.0 to 74.0 %). Always naming the "
                "most frequent class would be right in 71.0 %.",
                (accuracy,),
            ),
            Statement(
                "good",
                "Its uncertainty warns well of errors: of a wrong and a right prediction, the wrong "
                "one is the more uncertain in 74.4 % of such pairs (95 % interval 71.9 to 77.0 %); "
                "chance is 50 %.",
                (warns,),
            ),
            Statement("info", NO_MEMBERS),
        )  # fmt: skip

    AVERAGE = " On average it predicts 71.0 % for class=yes, and 71.0 % were observed."

    @pytest.mark.parametrize(
        ("low", "high", "summary", "start"),
        [
            (0.0, 0.012, "Its probabilities can be taken at face value.",
             "Its probabilities can be taken at face value: predicted and observed frequencies of "
             "class=yes differ by 0.5 percentage points on average (95 % interval 0.0 to 1.2; 4.0 in "
             "these samples, chance included)." + AVERAGE),
            (0.0, 0.04, "Its probabilities can nearly be taken at face value.",
             "Its probabilities are nearly right: predicted and observed frequencies of class=yes "
             "differ by 0.5 percentage points on average (95 % interval 0.0 to 4.0; 4.0 in these "
             "samples, chance included)." + AVERAGE),
            (0.01, 0.08, "Its probabilities are not quite right, but may be nearly so.",
             "Its probabilities are not quite right, but may be nearly so: they are off by 1.0 "
             "percentage points on average (95 % interval 1.0 to 8.0; 4.0 in these samples, chance "
             "included)." + AVERAGE),
            (0.03, 0.08, "Its probabilities cannot be taken at face value.",
             "Its probabilities cannot be taken at face value; in which direction they are off "
             "cannot be determined: on average it predicts 71.0 % for class=yes, and 71.0 % were observed. "
             "Its probabilities are off by 3.0 percentage points on average (95 % interval 3.0 to "
             "8.0; 4.0 in these samples, chance included)."),
        ],
    )  # fmt: skip
    def test_sentence_follows_the_interval(self, low, high, summary, start):
        # What is predicted is observed on average: no direction.
        middle = 0.005 if low < 0.005 else low
        error = row(POSITIVE, 0.04, low, high, estimate=middle)
        accuracy = row("accuracy_score", 0.71, 0.68, 0.74)
        found = verdict(made([error, accuracy], *binary_case(0.71, 0.71)))
        assert found.statements[0].text == summary
        assert found.statements[1].text == start

    def test_leaning(self):
        error = row(POSITIVE, 0.04, 0.01, 0.045)
        found = verdict(made([error], *binary_case(0.67, 0.71)))
        assert found.statements[1].text.endswith(
            " On average it predicts 67.0 % for class=yes, and 71.0 % were observed. It predicts "
            "class=yes a little too rarely."
        )
        assert "cannot be determined" not in str(found)

    def test_leaning_to_confidence_and_to_variation(self):
        z = np.linspace(-3, 3, 4000)
        y = np.random.default_rng(0).random(4000) < sigmoid(z)
        rows = [row(POSITIVE, 0.03, 0.01, 0.04, samples=4000)]
        truth = y.astype(float)[:, None]
        sure = verdict(made(rows, caveat.Categorical.from_binary(sigmoid(1.25 * z)), truth))
        assert sure.statements[1].text.endswith(
            " were observed. It leans to overconfidence: high risks are a little too high, low ones "
            "too low."
        )
        p = np.random.default_rng(0).uniform(0.6, 0.9, 20_000)
        truth = (np.random.default_rng(1).random(20_000) < 0.75 + 0.8 * (p - 0.75)).astype(float)
        rows = [row(POSITIVE, 0.03, 0.01, 0.04, samples=20_000)]
        varied = verdict(made(rows, caveat.Categorical.from_binary(p), truth[:, None]))
        assert varied.statements[1].text.endswith(" They vary a little too much.")

    def test_less_than_half_that_goes_one_way_is_that_way_if_nothing_goes_the_other(self):
        found = verdict(made([row(POSITIVE, 0.2, 0.15, 0.25)], *binary_case(0.66, 0.71)))
        assert "it predicts class=yes too rarely" in found.statements[0].text

    def test_one_number_is_said_where_they_agree(self):
        error = row(POSITIVE, 0.09, 0.06, 0.11, estimate=0.0901)
        assert "off by 9.0 percentage points on average (95 % interval 6.0 to 11.0)." in str(
            verdict(made([error], *binary_case(0.8, 0.71)))
        )

    def test_only_the_confidence_was_measured(self):
        # Then nothing is said of the probabilities: the shift above would pass.
        error = row(TOP, 0.01, 0.0, 0.015, estimate=0.005)
        found = verdict(made([error], *binary_case(0.71, 0.71)))
        assert found.statements[0].text == (
            "Its confidence in the class that it names can be taken at face value."
        )
        assert found.statements[1].text.startswith(
            "Its confidence in the class that it names can be taken at face value: what it says and "
            "how often it is right differ by 0.5 percentage points on average"
        )
        assert found.statements[1].text.endswith(
            " On average it says 71.0 % and is right in 71.0 % of cases."
        )

    def test_all_right_is_no_proof_of_being_right(self):
        # 60 of 60 right at 97 % said: chance gives that in one of six sets, so nothing is shown.
        prediction = caveat.Categorical.from_binary(np.full(60, 0.97))
        found = judged(prediction, np.ones(60, dtype=int))
        assert texts(found) == [
            "There are too few samples to say whether its probabilities can be taken at face value.",
            "Too few samples to say whether its probabilities can be taken at face value: all of 60 "
            "predictions were right, and how often it is wrong cannot be seen from them. On average "
            "it predicts 97.0 % for class=1, and 100 % were observed.",
            "It is right in all of 60 samples; still, it may be wrong in up to 6.0 % of others like "
            "them (95 % confidence).",
            "No sample is truly class=0: nothing here says how it does for them.",
            "Every prediction was right, so nothing shows whether its uncertainty would warn of "
            "errors.",
            NO_MEMBERS,
        ]
        # Wilson's limit of none in 60, with Student's quantile.
        squared = t.ppf(0.975, 59) ** 2
        assert squared / (60 + squared) == pytest.approx(0.063, abs=5e-4)

    def test_all_wrong(self):
        prediction = caveat.Categorical.from_binary(np.full(60, 0.9))
        found = texts(judged(prediction, np.zeros(60, dtype=int)))
        assert found[0] == (
            "Its probabilities cannot be taken at face value: it predicts class=1 too often."
        )
        assert (
            "It is wrong in all of 60 samples; still, it may be right in up to 6.0 % of others like "
            "them (95 % confidence)."
        ) in found
        assert (
            "Every prediction was wrong, so nothing shows whether its uncertainty would warn of "
            "errors."
        ) in found

    def test_some_wrong_by_chance_of_all(self):
        ece = row("expected_calibration_error", 0.03, 0.0, 0.08, samples=80, estimate=0.03)
        accuracy = row("accuracy_score", 0.0, 0.0, 0.046, samples=80)
        assert "all of 80 predictions were wrong, and how often it is right cannot" in str(
            verdict(made([ece, accuracy]))
        )


MANY = ["ece", "classwise_ece", "accuracy"]


def many(n, classes, weights=None, seed=0):
    """Probabilities of many classes, right if the weights are all 1, and the classes drawn."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(classes, 0.7), size=n)
    y = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=classes - 1)
    said = p if weights is None else p * weights
    return caveat.Categorical(said / said.sum(axis=1, keepdims=True)), y


class TestManyClasses:
    def test_right_for_all(self):
        found = judged(*many(30_000, 4), metrics=MANY)
        assert re.fullmatch(
            r"Its probabilities can (nearly )?be taken at face value\.", found.statements[0].text
        )
        assert [s.level for s in found.statements[:3]] == ["good"] * 3
        assert re.match(
            r"The probabilities of all classes (are nearly right|can be taken at face value): [\d.]+ "
            r"% of the probability is with the wrong class on average \(95 % interval [\d.]+ to "
            r"[\d.]+ %; classwise calibration error [\d.]+ times 2, half the number of classes\)\.",
            found.statements[2].text,
        )

    def test_half_the_sum_over_the_classes_is_the_error_of_two(self):
        p = np.random.default_rng(0).random(1000)
        y = np.random.default_rng(1).integers(2, size=1000)
        two = np.stack([1 - p, p], axis=1)
        classwise = caveat.metrics.classwise_calibration_error(y, two)
        assert 2 / 2 * classwise == pytest.approx(caveat.metrics.positive_calibration_error(y, p))

    def test_right_about_the_named_class_and_wrong_about_others(self):
        # What is left beside the named class always goes to class 3, never to class 0.
        rng = np.random.default_rng(0)
        p = rng.dirichlet(np.full(4, 0.7), size=8000)
        y = (p.cumsum(axis=1) < rng.random((8000, 1))).sum(axis=1).clip(max=3)
        top = p.argmax(axis=1)
        lost = np.where(top == 0, 0.0, 0.8 * p[:, 0])
        lost = np.minimum(lost, np.where(top == 3, 0.0, 1.0) * (p.max(axis=1) - p[:, 3]).clip(0))
        said = p.copy()
        said[:, 0] -= lost
        said[:, 3] += lost
        found = judged(caveat.Categorical(said), y, metrics=MANY)
        assert re.fullmatch(
            r"Its confidence in the class that it names can (nearly )?be taken at face value; the "
            r"probabilities of single classes cannot be taken at face value: it predicts class=[03] "
            r"too (often|rarely) \([\d.]+ %, observed [\d.]+ %\)\.",
            found.statements[0].text,
        )
        assert [s.level for s in found.statements[:3]] == ["bad", "good", "bad"]
        said = found.statements[2].text
        assert re.search(r"class=0 too rarely \(1\d\.\d %, observed 2\d\.\d %\)", said)
        assert re.search(r"class=3 too often \(\d\d\.\d %, observed 2\d\.\d %\)", said)
        assert "class=1" not in said

    def test_many_classes_do_not_make_an_error_small(self):
        # One class in fifty is given twice its share: on average over classes that is 0.001.
        prediction, y = many(20_000, 50, np.r_[2.0, np.ones(49)])
        evaluation = caveat.evaluate(prediction, y, metrics=MANY, resamples=200, random_state=0)
        (mean,) = evaluation.select(metric="classwise_calibration_error", group="")
        assert mean.estimate < 0.005
        found = verdict(evaluation)
        assert "it predicts class=0 too often (3." in found.statements[0].text
        assert re.search(r"class=0 too often \(3\.\d %, observed [12]\.\d %\)\.", str(found))

    def test_of_many_wrong_classes_the_worst_are_said(self):
        prediction, y = many(20_000, 12, np.r_[np.full(6, 2.0), np.ones(6)])
        text = judged(prediction, y, metrics=MANY).statements[2].text
        assert re.search(r"; and so on for (\d others|1 other)\.", text)
        assert text.count(" %, observed") == 3

    def test_bad_for_the_named_class_is_bad(self):
        prediction, y = many(4000, 4)
        p = prediction.mean**3
        sure = caveat.Categorical(p / p.sum(axis=1, keepdims=True))
        found = judged(sure, y, metrics=MANY)
        assert found.statements[0].text == (
            "Its probabilities cannot be taken at face value: it is overconfident."
        )
        assert re.match(
            r"It is overconfident: on average it says [\d.]+ % and is right in [\d.]+ % of cases\. "
            r"For example, when it said about \d+ %, it was right in \d+ %\. Its confidence in the "
            r"class that it names is off by ",
            found.statements[1].text,
        )
        assert found.statements[2].text.startswith(
            "The probabilities of single classes cannot be taken at face value: "
        )

    @pytest.mark.parametrize(
        ("top", "classes", "summary"),
        [
            ((0.0, 0.01), (0.0, 0.06),
             "Its confidence in the class that it names can be taken at face value; there are too few "
             "samples to say so of the probabilities of all classes."),
            ((0.0, 0.01), (0.0, 0.01), "Its probabilities can be taken at face value."),
            ((0.0, 0.01), (0.0, 0.03), "Its probabilities can nearly be taken at face value."),
            ((0.0, 0.09), (0.0, 0.09),
             "There are too few samples to say whether its confidence in the class that it names can "
             "be taken at face value."),
            ((0.0, 0.09), (0.0, 0.01),
             "There are too few samples to say whether its confidence in the class that it names can "
             "be taken at face value."),
            ((0.0, 0.01), (0.03, 0.09),
             "Its confidence in the class that it names can be taken at face value; the probabilities "
             "of single classes cannot be taken at face value."),
            (None, (0.0, 0.01), "The probabilities of all classes can be taken at face value."),
            (None, (0.03, 0.09),
             "The probabilities of single classes cannot be taken at face value."),
            (None, (0.0, 0.09),
             "There are too few samples to say whether the probabilities of all classes are right."),
            ((0.01, 0.09), None,
             "Its confidence in the class that it names is not quite right, but may be nearly so."),
        ],
    )  # fmt: skip
    def test_summary_of_both_readings(self, top, classes, summary):
        rows = []
        if top:
            rows.append(row(TOP, 0.02, *top, estimate=max(top[0], 0.005)))
        if classes:
            value = max(classes[0], 0.005) / 1.5
            low, high = (end / 1.5 for end in classes)
            rows.append(row("classwise_calibration_error", value, low, high))
        p = np.tile([0.5, 0.3, 0.2], (1000, 1))
        truth = np.repeat([0.0, 1.0, 2.0], [500, 300, 200])[:, None]
        found = verdict(made(rows, caveat.Categorical(p), truth))
        assert found.statements[0].text == summary

    def test_few_that_are_all_right_prove_nothing(self):
        p = np.tile([0.97, 0.02, 0.01], (60, 1))
        found = judged(caveat.Categorical(p), np.zeros(60, int), metrics=MANY)
        assert found.statements[0].level == "unsure"
        assert "bad" not in {s.level for s in found}
        found = judged(caveat.Categorical(p[:30]), np.zeros(30, int), metrics=MANY)
        assert "bad" not in {s.level for s in found}

    def test_without_intervals(self):
        found = judged(*many(200, 4), metrics=MANY, resamples=0)
        assert re.fullmatch(
            r"In these samples, [\d.]+ % of the probability is with the wrong class on average "
            r"\(classwise calibration error [\d.]+ times 2, half the number of classes\); how sure that "
            r"is was not measured\.",
            found.statements[2].text,
        )
        assert {s.level for s in found} <= {"info", "unsure"}


class TestDirections:
    def test_level_and_error_are_those_of_a_normal_test(self):
        event = Event(np.full(400, 0.5), (np.arange(400) < 240) * 1.0, np.ones(400), None)
        assert (event.says, event.was) == (0.5, 0.6)
        assert event.error == pytest.approx(0.5 / 20)  # implied: larger than what was seen
        assert [event.level(limit) for limit in (1.96, 3.9, 4.1)] == [-1, -1, 0]

    def test_clusters_and_weights_widen(self):
        happened = np.repeat(np.arange(20) % 2, 20) * 1.0
        args = np.full(400, 0.5), happened
        alone = Event(*args, np.ones(400), None)
        together = Event(*args, np.ones(400), np.repeat(np.arange(20), 20))
        assert together.error == pytest.approx(alone.error * np.sqrt(20))
        weighted = Event(*args, np.where(np.arange(400) < 10, 100.0, 1.0), None)
        assert weighted.error > 4 * alone.error
        part = together.take(np.arange(400) < 200)
        assert len(part.predicted) == len(part.cluster) == 200

    def test_factor_is_of_the_rarer_side(self):
        def event(says, was):
            return Event(
                np.full(10_000, says),
                (np.arange(10_000) < 10_000 * was) * 1.0,
                np.ones(10_000),
                None,
            )

        assert event(0.03, 0.01).factor(0.0) == pytest.approx(3)
        assert event(0.97, 0.99).factor(0.0) == pytest.approx(3)
        assert event(0.01, 0.03).factor(0.0) == pytest.approx(3)
        assert 1.2 < event(0.03, 0.01).factor(2.0) < 3
        assert event(0.0101, 0.01).factor(2.0) == 1

    def test_slope_is_0_where_all_are_alike(self):
        assert Event(np.full(9, 0.5), np.ones(9), np.ones(9), None).slope == 0


class TestWithoutIntervals:
    def test_nothing_is_claimed_of_classes(self):
        prediction, y = drawn(500, 3.0)
        found = judged(prediction, y, resamples=0, groups={"ward": np.arange(500) % 2})
        assert found.statements[0].text == (
            "How sure the numbers are was not measured, so nothing is claimed of them."
        )
        assert [s.level for s in found] == ["unsure", "info", "info", "info", "info"]
        assert re.fullmatch(
            r"In these samples, its probabilities are off by [\d.]+ percentage points on average; how "
            r"sure that is was not measured\. On average it predicts [\d.]+ % for class=1, and [\d.]+ "
            r"% were observed\.",
            found.statements[1].text,
        )
        assert re.fullmatch(
            r"It is right in [\d.]+ % of cases; how sure that is was not measured\. Always naming "
            r"the most frequent class would be right in [\d.]+ %\.",
            found.statements[2].text,
        )
        assert re.fullmatch(
            r"How surely its uncertainty warns of errors was not measured: of a wrong and a right "
            r"prediction, the wrong one is the more uncertain in [\d.]+ % of such pairs; chance is "
            r"50 %\.",
            found.statements[3].text,
        )

    def test_nothing_is_claimed_of_numbers(self):
        mean, std, y = normal(500)
        found = judged(caveat.Gaussian.from_std(mean, std / 3), y, resamples=0)
        assert {s.level for s in found.statements[1:]} == {"info"}
        (sizes,) = [t for t in texts(found) if t.startswith("Of the size of its errors")]
        assert re.fullmatch(
            r"Of the size of its errors and what its uncertainty says, nothing is claimed: among "
            r"samples of like uncertainty, the two differ by [\d.]+ % on average\.",
            sizes,
        )
        assert found.statements[1].text.endswith(": how sure that is was not measured.")

    def test_nothing_is_claimed_of_sets(self):
        found = judged(caveat.PredictionSet(np.ones((100, 3), bool), coverage=0.9), np.arange(100) % 3,
                       resamples=0)  # fmt: skip
        assert found.statements[1].text == (
            "Its sets of classes hold the true one in 100 % of cases: 90 % were promised, and how "
            "sure that is was not measured."
        )

    def test_one_sample(self):
        found = judged(caveat.Categorical.from_binary([0.9]), [1])
        assert texts(found) == ["One sample says nothing of how far a model can be trusted."]
        assert found.statements[0].level == "unsure"

    def test_an_interval_that_is_undefined(self):
        rows = [row("expected_calibration_error", 0.03), row("accuracy_score", 0.8, 0.7, 0.9)]
        found = verdict(made(rows))
        assert found.statements[0].level == "unsure"
        assert found.statements[0].text == (
            "How far it can be trusted is unknown, as too few resamples gave a number."
        )

    def test_undefined_values_are_passed_over(self):
        rows = [row("expected_calibration_error", NAN), row("accuracy_score", 0.8, 0.7, 0.9)]
        assert "Nothing was measured" in verdict(made(rows)).statements[0].text

    def test_nothing_that_matters_was_measured(self):
        prediction, y = drawn(200)
        found = judged(prediction, y, metrics=["roc_auc"])
        assert found.statements[0] == Statement(
            "unsure",
            "Nothing was measured that says whether its uncertainty can be taken at face value.",
        )


def normal(n, seed=0):
    rng = np.random.default_rng(seed)
    mean, std = rng.normal(size=n), np.exp(0.4 * rng.normal(size=n))
    return mean, std, mean + std * rng.normal(size=n)


class TestNumbers:
    def test_right(self):
        mean, std, y = normal(6000)
        found = judged(caveat.Gaussian.from_std(mean, std), y)
        assert found.statements[0].level == "good"
        assert re.fullmatch(
            r"Its intervals (nearly )?hold what they promise\.", found.statements[0].text
        )
        assert level_of(found, "Its errors have the size that its uncertainty says") == "good"
        assert level_of(found, "Larger uncertainty goes with larger errors: rank") == "good"

    @pytest.mark.parametrize(
        ("factor", "word", "name"), [(0.6, "narrow", "over"), (1.8, "wide", "under")]
    )
    def test_too_narrow_and_too_wide(self, factor, word, name):
        mean, std, y = normal(2000)
        found = judged(caveat.Gaussian.from_std(mean, std * factor), y)
        assert found.statements[0].text == f"Its intervals are too {word}: it is {name}confident."
        assert found.statements[1].level == "bad"
        assert found.statements[1].text.endswith(
            f": they are too {word}, so it is {name}confident."
        )
        assert level_of(found, "Its errors do not have the size that its uncertainty says") == "bad"
        size = "larger" if factor < 1 else "smaller"
        assert f"(root mean squares) the errors are {size}: it says " in str(found)

    def test_exact_sentences(self):
        prediction = caveat.Gaussian(np.zeros(1000), np.ones(1000))
        rows = [
            row("mean_absolute_error", 1.234, 1.2, 1.27, target="0"),
            row("root_mean_squared_error", 1.5, 1.4, 1.6, target="0"),
            row("interval_coverage", 0.55, 0.52, 0.58, coverage=0.6827, target="0"),
            row("interval_coverage", 0.822, 0.805, 0.839, coverage=0.9545, target="0"),
            row(
                "expected_normalized_calibration_error", 0.5, 0.44, 0.53, target="0", estimate=0.49
            ),
            row("error_uncertainty_correlation", 0.37, 0.34, 0.41, target="0"),
        ]
        curves = {"expected_normalized_calibration_error": curve([1.0], [1.5], [1000])}
        spread = np.linspace(0.9, 1.1, 1000)[:, None]
        found = verdict(made(rows, prediction, uncertainty=spread, curves=curves))
        assert texts(found) == [
            "Its intervals are too narrow: it is overconfident.",
            "Its 95.45 % intervals hold the truth in 82.2 % of cases (95 % interval 80.5 to 83.9 %) "
            "and its 68.27 % intervals in 55.0 % of cases (52.0 to 58.0 %): they are too narrow, so "
            "it is overconfident.",
            "Its errors do not have the size that its uncertainty says: among samples of like "
            "uncertainty, the two differ by 49.0 % on average (95 % interval 44.0 to 53.0 %; 50.0 % "
            "in these samples, chance included). Over all samples (root mean squares) the errors are larger: it says 1.00, and they are 1.50 "
            "(95 % interval 1.40 to 1.60).",
            "Its predictions are off by 1.23 on average (95 % interval 1.20 to 1.27).",
            "Larger uncertainty goes with larger errors: rank correlation 0.37 (95 % interval 0.34 "
            "to 0.41); 0 is none, 1 the same order.",
            NO_MEMBERS,
        ]
        assert found.statements[1].rows == (rows[3], rows[2])
        assert found.statements[2].rows == (rows[4], rows[1])

    def test_right_on_average_only(self):
        # One spread for all where the noise differs: the bins are by a spread that says nothing.
        rng = np.random.default_rng(0)
        std = np.exp(0.8 * rng.normal(size=4000))
        y, said = std * rng.normal(size=4000), std[::-1]
        found = judged(caveat.Gaussian.from_std(np.zeros(4000), said), y)
        assert " Over all samples the two agree; from sample to sample they do not." in str(found)
        assert level_of(found, "Larger uncertainty hardly goes with larger errors") == "info"

    def test_wrong_shape(self):
        rng = np.random.default_rng(0)
        y = rng.standard_t(1.5, size=4000)
        found = judged(caveat.Gaussian.from_std(np.zeros(4000), np.full(4000, 2.0)), y)
        assert found.statements[0].text == (
            "Its intervals are wrong, some too narrow and some too wide."
        )
        assert "so the shape of its distribution is wrong." in found.statements[1].text
        assert (
            "It states the same uncertainty for every sample: it does not tell which predictions "
            "are the less sure ones."
        ) in texts(found)

    def test_few(self):
        mean, std, y = normal(40)
        found = judged(caveat.Gaussian.from_std(mean, std), y)
        assert found.statements[0].text == (
            "There are too few samples to say whether its intervals hold what they promise."
        )
        assert {s.level for s in found} == {"unsure", "info"}
        assert (
            level_of(found, "Too few samples to say whether its errors have the size") == "unsure"
        )
        assert level_of(found, "Whether larger uncertainty goes with larger errors") == "unsure"

    @pytest.mark.parametrize(
        ("factor", "words"), [(0.3, "too narrow: it is over"), (4, "too wide: it is under")]
    )
    @pytest.mark.parametrize("samples", [12, 30])
    def test_few_are_enough_for_intervals_that_hardly_ever_or_always_hold(
        self, factor, words, samples
    ):
        mean, std, y = normal(samples)
        found = judged(caveat.Gaussian.from_std(mean, factor * std), y)
        assert found.statements[0].text.startswith(f"Its intervals are {words}confident")
        assert level_of(found, "Too few samples to say whether its errors") == "unsure"
        nine = judged(caveat.Gaussian.from_std(mean[:9], factor * std[:9]), y[:9])
        assert nine.statements[0].text.startswith("There are too few samples to say whether its")

    @pytest.mark.parametrize("samples", [10, 15, 30])
    def test_few_samples_of_right_intervals_are_rarely_accused(self, samples):
        accused = 0
        for seed in range(200):
            mean, std, y = normal(samples, seed)
            given = {"metrics": ["interval_coverage"], "resamples": 2, "random_state": 0}
            found = judged(caveat.Gaussian.from_std(mean, std).interval(0.95), y, **given)
            accused += any(statement.level == "bad" for statement in found)
        assert accused <= 21  # 5 %, and what 200 draws may have more in one of a thousand cases

    def test_several_targets_are_merged_where_the_same(self):
        parts = [normal(4000, seed) for seed in range(3)]
        mean, std, y = (np.stack(p, axis=1) for p in zip(*parts, strict=True))
        prediction = caveat.Gaussian.from_std(mean, std * [1, 0.6, 1], targets=["sbp", "dbp", "hr"])
        found = judged(prediction, y)
        assert found.statements[0].level == "bad"
        assert re.fullmatch(
            r"For sbp and hr, its intervals (nearly )?hold what they promise; for dbp, its "
            r"intervals are too narrow: it is overconfident\.",
            found.statements[0].text,
        )
        assert re.match(
            r"For sbp its 95\.45 % intervals hold the truth in [\d.]+ % of cases \(95 % interval "
            r".*; for hr its 95\.45 % intervals in ",
            found.statements[1].text,
        )
        assert found.statements[2].text.startswith(
            "For dbp its 95.45 % intervals hold the truth in"
        )
        errors = [t for t in texts(found) if t.startswith("Its predictions are off by")]
        assert re.fullmatch(
            r"Its predictions are off by [\d.]+ on average \(95 % interval [\d.]+ to [\d.]+\) for "
            r"sbp, [\d.]+ on average \([\d.]+ to [\d.]+\) for dbp and .* for hr\.",
            errors[0],
        )

    def test_many_targets_are_cut_short(self):
        rows = [
            row("interval_coverage", 0.9, 0.88, 0.92, coverage=0.9, target=f"t{i}")
            for i in range(8)
        ]
        prediction = caveat.Gaussian(
            np.zeros((1000, 8)), np.ones((1000, 8)), targets=[f"t{i}" for i in range(8)]
        )
        found = verdict(made(rows, prediction, uncertainty=np.ones((1000, 8)), error=None))
        assert found.statements[1].text.count("intervals in") == 4
        assert ") and 3 others: they nearly hold what they promise." in found.statements[1].text
        assert "for t0, t1, t2, t3, t4 and 3 others: it does not tell" in found.statements[2].text

    @pytest.mark.parametrize("low", [0.87, 0.89])
    def test_right_and_nearly_right_are_one(self, low):
        options = {"coverage": 0.9, "samples": 9000}
        rows = [
            row("interval_coverage", 0.9, 0.89, 0.91, target="a", **options),
            row("interval_coverage", 0.9, low, 0.91, target="b", **options),
        ]
        prediction = caveat.Gaussian(np.zeros((9000, 2)), np.ones((9000, 2)), targets=["a", "b"])
        found = verdict(made(rows, prediction, uncertainty=np.ones((9000, 2))))
        nearly = "nearly " if low < 0.88 else ""
        assert found.statements[0].text == f"Its intervals {nearly}hold what they promise."

    def test_points_have_no_uncertainty(self):
        mean, _, y = normal(300)
        found = judged(caveat.Gaussian(mean, 0.0), y)
        assert texts(found)[:2] == [
            "It gives numbers without an uncertainty, so nothing says how far to trust each.",
            "No uncertainty was given, only numbers: nothing says how far to trust each.",
        ]
        assert len(found) == 3
        assert found.statements[0].level == found.statements[1].level == "unsure"

    def test_some_points(self):
        mean, _, y = normal(300)
        variance = np.ones((300, 2))
        variance[:3, 1] = 0
        prediction = caveat.Gaussian(np.stack([mean, mean], 1), variance, targets=["a", "b"])
        found = judged(prediction, np.stack([y, y], axis=1))
        assert (
            "For b, the uncertainty of 3 samples is 0, which claims to be never off; so whether its "
            "intervals hold what they promise was not measured."
        ) in texts(found)
        assert found.statements[0].text == (
            "For b, some of its uncertainties are 0, so whether its intervals hold what they promise "
            "was not measured; for a, there are too few samples to say whether its intervals hold "
            "what they promise."
        )

    def test_intervals_and_quantiles(self):
        mean, std, y = normal(4000)
        held = caveat.Interval(mean - 1.6449 * std, mean + 1.6449 * std, coverage=0.9)
        found = judged(held, y)
        assert found.statements[1].text.startswith("Its 90 % intervals hold the truth in ")
        assert found.statements[0].level == "good"
        levels = np.array([0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95])
        from scipy.special import ndtri

        quantiles = caveat.Quantiles(levels, mean[:, None] + std[:, None] * ndtri(levels))
        text = judged(quantiles, y).statements[1].text
        assert re.findall(r"[iI]ts ([\d.]+) % intervals", text) == ["90", "60"]

    def test_everything_in_the_interval(self):
        endless = caveat.Interval(np.full(500, -np.inf), np.full(500, np.inf), coverage=0.9)
        found = judged(endless, np.zeros(500), metrics=["interval_coverage"])
        assert texts(found) == [
            "Its intervals are too wide: it is underconfident.",
            "Its 90 % intervals hold the truth in 100 % of cases (95 % interval 99.2 to 100 %): they "
            "are too wide, so it is underconfident.",
            "500 of its 500 intervals are infinite, as conformal ones are where there are too few "
            "calibration samples: there they say nothing.",
        ]

    def test_a_small_group_has_infinite_conformal_intervals(self):
        rng = np.random.default_rng(0)
        y, fresh = rng.normal(size=(2, 4000))
        prediction, groups = caveat.Gaussian(np.zeros(4000), 1.0), np.arange(4000) < 5
        conformal = caveat.ConformalResiduals(0.9).fit(prediction, y, groups=groups)
        found = judged(conformal.transform(prediction, groups=groups), fresh)
        assert found.statements[0].level == "good"
        assert found.statements[2].text.startswith("5 of its 4,000 intervals are infinite, as ")

    def test_size_without_its_companions(self):
        prediction = caveat.Gaussian(np.zeros(1000), np.ones(1000))
        found = verdict(
            made(
                [row("expected_normalized_calibration_error", 0.5, 0.4, 0.6, target="0")],
                prediction,
            )
        )
        assert found.statements[1].text.endswith("(95 % interval 40.0 to 60.0 %).")


class TestSets:
    @staticmethod
    def sets(hit, n=2000):
        """Sets of one or two of three classes that hold the true one with a known chance."""
        rng = np.random.default_rng(0)
        y = rng.integers(3, size=n)
        member = np.zeros((n, 3), dtype=bool)
        member[np.arange(n), np.where(rng.random(n) < hit, y, (y + 1) % 3)] = True
        return caveat.PredictionSet(member, coverage=0.9), y

    @pytest.mark.parametrize(
        ("hit", "level", "summary", "ends"),
        [
            (0.9, "good", "Its sets of classes hold the true one as often as promised.",
             ": as often as promised (90 %)."),
            (0.8, "bad", "Its sets of classes hold the true one less often than promised",
             "less often than promised (90 %)."),
            (0.99, "good", "Its sets of classes hold the true one more often than promised.",
             "more often than promised (90 %), so they are larger than they need to be."),
        ],
    )  # fmt: skip
    def test_coverage(self, hit, level, summary, ends):
        found = judged(*self.sets(hit))
        assert found.statements[0].text.startswith(summary)
        assert found.statements[0].level == found.statements[1].level == level
        assert found.statements[1].text.startswith("Its sets of classes hold the true one in ")
        assert found.statements[1].text.endswith(ends)
        assert found.statements[2].text == (
            "Of 3 classes, a set leaves open 1.00 on average (95 % interval 1.00 to 1.00)."
        )

    def test_few(self):
        found = judged(*self.sets(0.9, 45))
        assert found.statements[0].text == (
            "There are too few samples to say whether its sets of classes hold what they promise."
        )
        assert found.statements[1].text.endswith(
            ": too few samples to say whether that is as often as promised (90 %)."
        )

    def test_a_class_without_its_promise_is_named(self):
        rng = np.random.default_rng(0)
        y = rng.choice(3, p=[0.6, 0.3, 0.1], size=4000)
        held = rng.random(4000) < np.array([0.95, 0.9, 0.6])[y]
        member = np.eye(3, dtype=bool)[np.where(held, y, (y + 1) % 3)]
        found = judged(caveat.PredictionSet(member, coverage=0.9), y)
        assert found.statements[0].text == (
            "Its sets of classes hold the true one as often as promised, but not for class=2 and "
            "class=0."
        )
        assert level_of(
            found, "Its 90 % sets of classes do not hold what they promise for class=2"
        ) == ("bad")

    def test_only_the_coverage(self):
        assert len(judged(*self.sets(0.9), metrics=["set_coverage"]).statements) == 3

    def test_only_the_size(self):
        found = judged(*self.sets(0.9), metrics=["mean_set_size"])
        assert len(found) == 2
        assert found.statements[0].level == "unsure"


class TestWarnings:
    def test_no_better_than_chance(self):
        rng = np.random.default_rng(0)
        p = rng.uniform(0.55, 0.95, 6000)
        found = judged(caveat.Categorical.from_binary(p), (rng.random(6000) < 0.75).astype(int))
        assert level_of(found, "Its uncertainty does not warn of errors: of a wrong and") == "bad"

    @pytest.mark.parametrize(
        ("low", "high", "level", "start"),
        [
            (0.3, 0.4, "bad", "Its uncertainty points the wrong way: of a wrong"),
            (0.51, 0.58, "bad", "Its uncertainty hardly warns of errors: of a wrong"),
            (0.48, 0.55, "bad", "Its uncertainty does not warn of errors: of a wrong"),
            (0.51, 0.65, "good", "Its uncertainty warns of errors: of a wrong"),
            (0.45, 0.65, "unsure", "Whether its uncertainty warns of errors cannot be determined: of a wrong"),
        ],
    )  # fmt: skip
    def test_of_classes(self, low, high, level, start):
        error = (np.arange(1000) < 300).astype(float)[:, None]
        area = row("error_detection_auroc_score", (low + high) / 2, low, high)
        found = verdict(made([area], error=error)).statements[1]
        assert found.level == level
        assert found.text.startswith(start)

    @pytest.mark.parametrize(("wrong", "kind"), [(4, "wrong"), (996, "right")])
    def test_few_of_one_kind(self, wrong, kind):
        error = (np.arange(1000) < wrong).astype(float)[:, None]
        area = row("error_detection_auroc_score", 0.9, 0.8, 0.95)
        found = verdict(made([area], error=error)).statements[1]
        assert found.level == "unsure"
        assert found.text.startswith(
            "Whether its uncertainty warns of errors cannot be determined, as only 4 of 1,000 predictions "
            f"were {kind}: of a wrong and a right prediction"
        )

    @pytest.mark.parametrize(
        ("low", "high", "level", "start"),
        [
            (-0.3, -0.1, "bad", "Larger uncertainty goes with smaller errors, the wrong way: rank"),
            (0.01, 0.06, "info", "Larger uncertainty hardly goes with larger errors: rank"),
            (-0.05, 0.06, "info", "Larger uncertainty hardly goes with larger errors, if at all: rank"),
            (-0.05, 0.3, "unsure", "Whether larger uncertainty goes with larger errors cannot be determined"),
            (NAN, NAN, "info", "How surely larger uncertainty goes with larger errors was not measured"),
        ],
    )  # fmt: skip
    def test_of_numbers(self, low, high, level, start):
        prediction = caveat.Gaussian(np.zeros(1000), np.ones(1000))
        spread = np.linspace(1, 2, 1000)[:, None]
        rows = [
            row(
                "error_uncertainty_correlation",
                0.1 if np.isnan(low) else (low + high) / 2,
                low,
                high,
                target="0",
            ),
            row("mean_absolute_error", 1.0, 0.9, 1.1, target="0"),
        ]
        found = verdict(made(rows, prediction, uncertainty=spread)).statements[2]
        assert found.level == level
        assert found.text.startswith(start)


SHARED = "of the uncertainty to what its 5 members are unsure of alike (aleatoric)"
APART = (
    "to disagreement between them (epistemic). The first is noise in the data only if the model is "
    "well trained and of the right kind: members that learned too little agree on what they do not "
    "know. That was not checked here; caveat.disentanglement_error can check it."
)


class TestSources:
    @staticmethod
    def split(aleatoric, epistemic, members=5, **fields):
        n = 1000
        p = np.tile([0.75, 0.25], (members, n, 1))
        parts = caveat.Decomposition(
            np.full(n, aleatoric + epistemic), np.full(n, aleatoric), np.full(n, epistemic),
            additive=True, method="information",
        )  # fmt: skip
        rows = [row("accuracy_score", 0.7, 0.6, 0.8)]
        return verdict(made(rows, caveat.Categorical(p), decomposition=parts, **fields))

    @pytest.mark.parametrize(
        ("parts", "text"),
        [
            ((0.83, 0.17), f"Its split assigns 83 % {SHARED}, 17 % {APART}"),
            ((0.2, 0.8), f"Its split assigns 20 % {SHARED}, 80 % {APART}"),
            ((0.0, 0.5),
             "Its split assigns all of the uncertainty to disagreement between its 5 members "
             "(epistemic): each one is certain, so noise in the data (aleatoric) cannot be seen."),
        ],
    )  # fmt: skip
    def test_parts(self, parts, text):
        last = self.split(*parts).statements[-1]
        assert (last.level, last.text) == ("info", text)

    @pytest.mark.parametrize("parts", [(0.0, 0.0), (1.0, np.inf)])
    def test_nothing_to_split(self, parts):
        assert len(self.split(*parts)) == 2

    def test_one_model_is_said_once(self):
        assert texts(judged(*drawn(200))).count(NO_MEMBERS) == 1

    def test_members_agree_or_not(self):
        rng = np.random.default_rng(0)
        z = rng.normal(size=(8, 500))
        prediction = caveat.Categorical(np.stack([sigmoid(9 * z), sigmoid(-9 * z)], axis=2))
        said = judged(prediction, np.arange(500) % 2).statements[-1].text
        assert int(re.match(r"Its split assigns (\d+) % of the uncertainty to", said)[1]) < 30

    def test_members_that_learned_nothing_do_not_show_noise(self):
        # Without any noise in the data: five networks after no training all say one half.
        rng = np.random.default_rng(0)
        y = np.arange(500) % 2
        prediction = caveat.Categorical.from_binary(0.5 + 0.01 * rng.normal(size=(5, 500)))
        said = judged(prediction, y).statements[-1].text
        assert said.startswith("Its split assigns 99.9")
        assert "is noise in the data" in said
        assert said.count("noise") == said.count("is noise in the data only if") == 1

    def test_of_several_targets(self):
        rng = np.random.default_rng(0)
        mean = rng.normal(size=(3, 400, 2)) * [0.1, 0.2]
        found = judged(caveat.Gaussian(mean, np.ones((3, 400, 2)), targets=["a", "b"]),
                       rng.normal(size=(400, 2)))  # fmt: skip
        assert found.statements[-1].text == (
            f"Its split assigns 99 % for a and 98 % for b {SHARED.replace('5', '3')}, the rest {APART}"
        )


def grouped(n=4000, share=0.2, weak=0.25, seed=0):
    """Calibrated probabilities, but for ward B, where what they say is mostly noise."""
    rng = np.random.default_rng(seed)
    z, ward = 2 * rng.normal(size=n), np.where(rng.random(n) < share, "B", "A")
    y = (rng.random(n) < sigmoid(z * np.where(ward == "B", weak, 1.0))).astype(int)
    return caveat.Categorical.from_binary(sigmoid(z)), y, ward


class TestGroups:
    def test_good_overall_but_bad_for_one(self):
        prediction, y, ward = grouped(n=20_000, share=0.05)
        found = judged(prediction, y, groups={"ward": ward})
        assert found.statements[0].text == (
            "Its probabilities can be taken at face value, but not for ward=B; it is right less "
            "often there."
        )
        assert found.statements[0].level == "bad"
        (named,) = [s for s in found if s.text.startswith("Its probabilities cannot be taken at")]
        assert re.fullmatch(
            r"Its probabilities cannot be taken at face value for ward=B: they are off by [\d.]+ "
            r"percentage points \(95 % interval [\d.]+ to [\d.]+(; [\d.]+ in these samples, chance "
            r"included)?\), against [\d.]+ \([\d.]+ to [\d.]+\) for ward=A and [\d.]+ over all "
            r"samples\. The difference between ward=B and ward=A is [\d.]+ percentage points \(95 % "
            r"interval [\d.]+ to [\d.]+\)\. For example, for ward=B, when it said about \d+ % for "
            r"class=1, \d+ % were\.",
            named.text,
        )
        assert [r.group for r in named.rows] == ["ward=B", "ward=A", ""]
        assert named.level == "bad"
        assert set(named.rows) <= set(found.statements[0].rows)

    def test_no_difference(self):
        prediction, y = drawn(4000)
        ward, sex = np.arange(4000) % 3, np.arange(4000) % 2
        found = judged(prediction, y, groups={"ward": ward, "sex": sex})
        assert (
            "No difference that matters can be shown between the groups of ward and sex in how far "
            "its probabilities are off or how often it is right, nor between the true classes in "
            "how often it is right."
        ) in texts(found)
        assert "but not for" not in found.statements[0].text

    def test_small_groups_are_said_once_and_hide_nothing(self):
        prediction, y, ward = grouped()
        ward = ward.astype(object)
        ward[:70] = [f"C{i % 7}" for i in range(70)]
        found = judged(prediction, y, groups={"ward": ward})
        assert (
            "Too few samples to say how it does for ward=C0 (10 samples), ward=C1 (10 samples), "
            "ward=C2 (10 samples), ward=C3 (10 samples), ward=C4 (10 samples) and 2 others."
        ) in texts(found)
        assert (
            level_of(found, "Its probabilities cannot be taken at face value for ward=B") == "bad"
        )

    def test_perfect_probabilities_are_not_blamed_for_a_rare_class(self):
        rng = np.random.default_rng(0)
        z = 2 * rng.normal(size=6000) - 3
        y = (rng.random(6000) < sigmoid(z)).astype(int)
        prediction = caveat.Categorical.from_binary(sigmoid(z), classes=["well", "ill"])
        evaluation = caveat.evaluate(
            prediction, np.array(["well", "ill"])[y], metrics=PROBABILITY, resamples=200,
            random_state=0,
        )  # fmt: skip
        found = verdict(evaluation)
        assert re.fullmatch(
            r"Its probabilities can (nearly )?be taken at face value\.", found.statements[0].text
        )
        assert found.statements[0].level == "good"
        # That a rare class is recognized less often is a remark, and no problem.
        assert level_of(found, "It is right less often for class=ill: in ") == "info"
        assert " A rarer class is usually recognized less often, by perfect probabilities" in str(
            found
        )

    @pytest.mark.parametrize("frequent", [0.5, 0.55])
    def test_a_class_that_is_not_rarer_is_not_excused_by_rarity(self, frequent):
        rng = np.random.default_rng(0)
        y = (rng.random(6000) < frequent).astype(int)
        p = np.where(y == 1, rng.choice([0.3, 0.7], 6000), rng.choice([0.3, 0.4], 6000))
        found = str(judged(caveat.Categorical.from_binary(p), y))
        assert "It is right less often for class=1: in " in found
        assert "rarer class" not in found

    def test_the_direction_in_a_group_is_said_with_numbers(self):
        rng = np.random.default_rng(0)
        z, ward = rng.normal(size=6000), np.array(["A", "B", "C"])[np.arange(6000) % 3]
        y = (rng.random(6000) < sigmoid(z + 1.2 * (ward == "B"))).astype(int)
        found = judged(caveat.Categorical.from_binary(sigmoid(z)), y, groups={"ward": ward})
        assert re.search(
            r" For ward=B it predicts class=1 too rarely, and so the risk is underestimated: (49|50)\.\d % on average, observed 7\d\.\d "
            r"%\.", str(found),
        )  # fmt: skip
        p = rng.dirichlet(np.ones(3), size=6000)
        true = np.where((ward == "B")[:, None], 1 / 3, p)
        y = (true.cumsum(axis=1) < rng.random((6000, 1))).sum(axis=1)
        found = judged(caveat.Categorical(p), y, groups={"ward": ward})
        assert re.search(
            r"Its confidence in the class that it names cannot be taken at face value for ward=B: it "
            r"is off by .* For ward=B, on average it says 6\d\.\d % and is right in 3\d\.\d % of cases\.",
            str(found),
        )
        assert "; it is furthest off for ward=B" in found.statements[0].text or (
            "they are furthest off for ward=B" in found.statements[0].text
        )

    def test_too_narrow_for_one(self):
        mean, std, y = normal(6000)
        region = np.where(np.arange(6000) % 10 == 0, "coast", "inland")
        said = np.where(region == "coast", 0.6, 1.0) * std
        found = judged(caveat.Gaussian.from_std(mean, said), y, groups={"region": region})
        assert found.statements[0].text == (
            "Its intervals nearly hold what they promise, but not for region=coast."
        )
        (named,) = [s for s in found if "do not hold what they promise for" in s.text]
        assert re.fullmatch(
            r"Its 95\.45 % intervals do not hold what they promise for region=coast: they hold the "
            r"truth in [\d.]+ % \(95 % interval [\d.]+ to [\d.]+ %\), against 9[\d.]+ % \([\d.]+ to "
            r"[\d.]+ %\) for region=inland and [\d.]+ % over all samples\. The difference between "
            r"region=coast and region=inland is -[\d.]+ percentage points \(95 % interval -[\d.]+ to "
            r"-[\d.]+\)\.",
            named.text,
        )

    def test_errors_larger_for_one_of_several_targets(self):
        rng = np.random.default_rng(0)
        ward = np.array(["A", "B"])[np.arange(2000) % 2]
        y = rng.normal(size=(2000, 2)) * np.where(ward == "B", 2.0, 1.0)[:, None] ** [0, 1]
        prediction = caveat.Gaussian(np.zeros((2000, 2)), 1.0, targets=["a", "b"])
        found = judged(prediction, y, metrics=["mae"], groups={"ward": ward})
        assert level_of(found, "Its errors in b are larger for ward=B: on average 1.") == "bad"
        assert "No difference that matters can be shown between the groups of ward in the size" in (
            str(found)
        )

    def test_too_narrow_and_too_wide_are_both_named(self):
        prediction = caveat.Gaussian(np.zeros(1000), np.ones(1000))
        rows = [
            row("interval_coverage", 0.9, 0.88, 0.92, coverage=0.9, target="0"),
            row(
                "interval_coverage",
                0.83,
                0.8,
                0.85,
                coverage=0.9,
                target="0",
                attribute="w",
                category="A",
            ),
            row(
                "interval_coverage",
                0.96,
                0.95,
                0.97,
                coverage=0.9,
                target="0",
                attribute="w",
                category="B",
            ),
        ]
        found = verdict(made(rows, prediction))
        assert texts(found)[0] == ("Its intervals hold what they promise, but not for w=A and w=B.")
        assert (
            "Its 90 % intervals do not hold what they promise for w=A and w=B: they hold the truth "
            "in 83.0 % (95 % interval 80.0 to 85.0 %) for w=A and 96.0 % (95.0 to 97.0 %) for w=B, "
            "90.0 % over all samples."
        ) in texts(found)

    @pytest.mark.parametrize(("wards", "told"), [(2, True), (3, True), (30, False)])
    def test_the_more_groups_the_more_it_takes(self, wards, told):
        # A difference of 3.1 standard errors is news between two, and chance among thirty.
        rows = [row("accuracy_score", 0.8, 0.79, 0.81, samples=60_000)]
        error = 0.03 / 1.96
        for i in range(wards):
            value = 0.8 - (3.1 * np.sqrt(2) * error if i == 0 else 0.0)
            rows.append(
                row(
                    "accuracy_score",
                    value,
                    value - 0.03,
                    value + 0.03,
                    attribute="w",
                    category=str(i),
                    samples=900,
                )
            )
        found = verdict(made(rows))
        assert widening(0.95, 435) == pytest.approx(3.8585 / 1.95996, rel=1e-3)
        assert ("It is right less often for w=0: in " in str(found)) == told

    def test_small_differences_do_not_matter(self):
        rows = [
            row("accuracy_score", 0.8, 0.79, 0.81),
            row("accuracy_score", 0.81, 0.809, 0.811, attribute="w", category="a"),
            row("accuracy_score", 0.79, 0.789, 0.791, attribute="w", category="b"),
        ]
        assert (
            "No difference that matters can be shown between the groups of w in how often"
            in str(verdict(made(rows)))
        )

    def test_clusters_do_not_hide_a_difference(self):
        # Two sites of 20 patients each: 0.169 (0.099 to 0.218) against 0.061 (0 to 0.098).
        rows = [
            row(POSITIVE, 0.11, 0.07, 0.15, samples=800),
            row(
                POSITIVE,
                0.169,
                0.099,
                0.218,
                attribute="site",
                category="a",
                samples=400,
                estimate=0.169,
            ),
            row(
                POSITIVE,
                0.061,
                0.0,
                0.098,
                attribute="site",
                category="b",
                samples=400,
                estimate=0.061,
            ),
        ]
        found = str(verdict(made(rows, cluster=np.arange(800) // 25)))
        assert "Its probabilities cannot be taken at face value for site=a" in found
        below, above = np.hypot(0.07, 0.037), np.hypot(0.049, 0.061)
        assert (
            "The difference between site=a and site=b is 10.8 percentage points (95 % interval "
            f"{100 * (0.108 - below):.1f} to {100 * (0.108 + above):.1f})."
        ) in found

    def test_a_group_that_may_be_as_good_hides_nothing(self):
        # "c" looks best, but little is known of it: "b" is still told from "a".
        rows = [
            row("accuracy_score", 0.8, 0.79, 0.81),
            row("accuracy_score", 0.85, 0.83, 0.87, attribute="w", category="a"),
            row("accuracy_score", 0.75, 0.73, 0.77, attribute="w", category="b"),
            row("accuracy_score", 0.9, 0.6, 1.0, attribute="w", category="c", samples=55),
        ]
        assert (
            "It is right less often for w=b: in 75.0 % (95 % interval 73.0 to 77.0 %), against "
            "85.0 % (83.0 to 87.0 %) for w=a and 80.0 % over all samples. The difference between w=b "
            "and w=a is -10.0 percentage points (95 % interval -12.8 to -7.2)."
        ) in texts(verdict(made(rows)))

    def test_bad_overall_and_worse_for_one(self):
        rows = [
            row(POSITIVE, 0.09, 0.07, 0.11),
            row(POSITIVE, 0.05, 0.04, 0.06, attribute="w", category="a"),
            row(POSITIVE, 0.15, 0.13, 0.17, attribute="w", category="b"),
        ]
        assert verdict(made(rows)).statements[0].text == (
            "Its probabilities cannot be taken at face value; they are furthest off for w=b."
        )

    def test_unknown_overall_and_bad_for_one(self):
        rows = [
            row(POSITIVE, 0.03, 0.0, 0.06),
            row(POSITIVE, 0.0, 0.0, 0.03, attribute="w", category="a"),
            row(POSITIVE, 0.15, 0.11, 0.19, attribute="w", category="b"),
        ]
        assert verdict(made(rows)).statements[0].text == (
            "There are too few samples to say whether its probabilities can be taken at face value; "
            "for w=b they are not to be relied on."
        )

    def test_many_groups_are_cut_short(self):
        rows = [
            row(POSITIVE, 0.03, 0.02, 0.04),
            row(POSITIVE, 0.0, 0.0, 0.01, attribute="w", category="good"),
            *(row(POSITIVE, 0.2, 0.19, 0.21, attribute="w", category=str(i)) for i in range(9)),
        ]
        found = verdict(made(rows))
        assert found.statements[0].text == (
            "Its probabilities can nearly be taken at face value, but not for w=8, w=7, w=6, w=5, "
            "w=4 and 4 others."
        )

    def test_wide_intervals_say_little(self):
        rows = [
            row("accuracy_score", 0.8, 0.79, 0.81),
            row("accuracy_score", 0.8, 0.79, 0.81, attribute="w", category="a"),
            row("accuracy_score", 0.75, 0.6, 0.9, attribute="w", category="b", samples=60),
        ]
        assert "Too few samples to say how it does for w=b (60 samples)." in texts(
            verdict(made(rows))
        )

    def test_names_of_attributes_and_values_may_be_odd(self):
        # "a=b" has the values c and d; "x" has a value that reads like a gap.
        gap = row(
            "accuracy_score",
            -0.2,
            -0.3,
            -0.1,
            attribute="a=b",
            category="c",
            reference="d",
            contrast=Contrast.DIFFERENCE,
        )
        odd = row("accuracy_score", 0.8, 0.75, 0.85, attribute="x", category="y: gap")
        rows = [
            row("accuracy_score", 0.8, 0.79, 0.81),
            row("accuracy_score", 0.7, 0.68, 0.72, attribute="a=b", category="c"),
            row("accuracy_score", 0.9, 0.88, 0.92, attribute="a=b", category="d"),
            gap,
            odd,
            row("accuracy_score", 0.8, 0.75, 0.85, attribute="x", category="z"),
        ]
        found = verdict(made(rows))
        assert "It is right less often for a=b=c: in 70.0 %" in str(found)
        assert "between the groups of x in how often it is right" in str(found)

    def test_an_attribute_called_class_of_numbers_is_one_like_others(self):
        rows = [
            row("mean_absolute_error", 1.0, 0.9, 1.1, target="0"),
            row("mean_absolute_error", 1.0, 0.9, 1.1, target="0", attribute="class", category="a"),
            row("mean_absolute_error", 1.0, 0.9, 1.1, target="0", attribute="class", category="b"),
        ]
        prediction = caveat.Gaussian(np.zeros(1000), np.ones(1000))
        assert "between the groups of class in the size of its errors" in str(
            verdict(made(rows, prediction))
        )

    def test_an_attribute_called_class_is_not_the_true_class(self):
        prediction, y, ward = grouped(n=6000)
        few = {"random_state": 0, "resamples": 200}
        named = caveat.evaluate(prediction, y, groups={"class": ward}, **few)
        plain = caveat.evaluate(prediction, y, groups={"ward": ward}, **few)
        names = [row.group.replace("class (group)", "ward") for row in named]
        assert names == [row.group for row in plain]
        assert {row.group for row in named if row.group.startswith("class=")} == {
            f"class={label}" for label in prediction.classes
        }
        said = str(verdict(named)).replace("class (group)", "ward")
        assert said == str(verdict(plain))
        assert "ward=B" in said


class TestShown:
    def test_text_from_data_is_verbatim_and_escaped(self):
        evil = "<script>alert('x')</script>"
        prediction, y, ward = grouped(n=6000)
        ward = np.where(ward == "B", evil, "[bold]")
        found = judged(prediction, y, groups={"<b>": ward})
        assert f"<b>={evil}" in str(found)
        page = found._repr_html_()
        assert evil not in page
        assert "&lt;b&gt;=&lt;script&gt;" in page

    def test_as_text_page_and_json(self):
        rows = [row(POSITIVE, 0.09, 0.06, 0.11)]
        found = verdict(made(rows))
        assert str(found) == repr(found) == "\n".join(
            [
                found.statements[0].text,
                f"! {found.statements[1].text}",
                f"  {NO_MEMBERS}",
                f"Next: {found.next_step}",
            ]
        )  # fmt: skip
        assert list(found) == list(found.statements)
        assert len(found) == 3
        page = found._repr_html_()
        assert page.startswith(
            "<p><strong>Its probabilities cannot be taken at face value.</strong>"
        )
        assert '<li class="caveat-bad"><b>bad</b>: Its probabilities' in page
        parsed = json.loads(found.to_json())
        assert [s["level"] for s in parsed] == ["bad", "bad", "info"]
        assert parsed[1]["rows"][0]["high"] == 0.11
        assert parsed[1]["rows"][0]["estimate"] is None

    def test_same_evaluation_same_text(self):
        prediction, y, ward = grouped(n=1500)
        evaluation = caveat.evaluate(
            prediction, y, groups={"ward": ward}, metrics=PROBABILITY, resamples=50, random_state=0
        )
        assert str(verdict(evaluation)) == str(verdict(evaluation))

    @pytest.mark.parametrize(
        ("share", "text"),
        [
            (0.0, "0 %"), (1.0, "100 %"), (0.073, "7.3 %"), (0.9997, "99.97 %"),
            (0.0002, "0.02 %"), (1e-7, "1e-05 %"),
        ],
    )  # fmt: skip
    def test_percent_never_rounds_to_all_or_nothing(self, share, text):
        assert percent(share) == text

    def test_numbers(self):
        assert [whole(s) for s in (0.0, 0.714, 0.999, 1.0)] == ["0 %", "71 %", "99.9 %", "100 %"]
        assert [nominal(s) for s in (0.9, 0.9545)] == ["90 %", "95.45 %"]
        assert [amount(v) for v in (0.84452, 50.04, 1234.5, 2.5e9)] == [
            "0.845", "50.0", "1234", "2.50e+09",
        ]  # fmt: skip
        assert points(-0.0001) == "0.0"
        assert listed("abcde") == "a, b, c, d and e"
        assert listed("abcdefg") == "a, b, c, d, e and 2 others"
        assert listed("ab", "or") == "a or b"


class TestDecisions:
    @pytest.mark.parametrize(
        ("low", "high", "state"),
        [(0, 0.02, "right"), (0, 0.05, "nearly"), (0.03, 0.09, "off"), (0.02, 0.06, "unsure")],
    )
    def test_size(self, low, high, state):
        assert size_state(Bounds(low, low, high), 0.02, 0.05) == state

    @pytest.mark.parametrize(
        ("promised", "low", "high", "state"),
        [
            (0.95, 0.94, 0.96, "right"), (0.95, 0.91, 0.97, "nearly"), (0.95, 0.85, 0.92, "narrow"),
            (0.95, 0.97, 1.0, "wide"), (0.95, 0.9, 0.99, "unsure"),
            # Three times the misses of 99 % is too many, though only 2 points off.
            (0.99, 0.965, 0.975, "narrow"), (0.99, 0.985, 0.992, "right"),
            (0.6, 0.56, 0.64, "nearly"), (0.6, 0.5, 0.57, "narrow"), (0.6, 0.63, 0.7, "wide"),
        ],
    )  # fmt: skip
    def test_coverage(self, promised, low, high, state):
        assert coverage_state(Bounds((low + high) / 2, low, high), promised) == state

    def test_widening_is_that_of_a_normal(self):
        from scipy.special import ndtri

        assert widening(0.95, 1) == 1
        assert widening(0.9, 10) == pytest.approx(ndtri(0.995) / ndtri(0.95))
        evidence = Evidence(made([row("accuracy_score", 0.8, 0.7, 0.88)]))
        bounds = evidence.bounds(evidence.evaluation.rows[0], 10)
        wider = ndtri(0.9975) / ndtri(0.975)
        assert bounds.low == pytest.approx(0.8 - 0.1 * wider)
        assert bounds.high == pytest.approx(0.8 + 0.08 * wider)

    def test_units(self):
        rows = [row("accuracy_score", 0.8, 0.7, 0.88)]
        assert Evidence(made(rows)).units == 1000
        assert Evidence(made(rows, cluster=np.arange(1000) % 40)).units == 40
        weight = np.repeat([3.0, 1.0], 500)
        assert Evidence(made(rows, sample_weight=weight)).units == pytest.approx(800)


def _any_prediction(kind, n, rng):
    p = rng.dirichlet(np.ones(3), size=(2, n))
    mean, variance = rng.normal(size=(2, n, 2)), rng.gamma(2.0, size=(2, n, 2))
    numbers, classes = rng.normal(size=(n, 2)), rng.integers(3, size=n)
    low, high = p.min(axis=0), p.max(axis=0)
    made_of = {
        "categorical": lambda: (caveat.Categorical(p), classes),
        "logits": lambda: (caveat.GaussianLogits(mean, variance), classes % 2),
        "probability interval": lambda: (caveat.ProbabilityInterval(low, high), classes),
        "set": lambda: (caveat.PredictionSet(p[0] > 0.2, coverage=0.9), classes),
        "gaussian": lambda: (caveat.Gaussian(mean, variance), numbers),
        "points": lambda: (caveat.Gaussian(mean, 0.0), numbers),
        "quantiles": lambda: (
            caveat.Quantiles([0.1, 0.5, 0.9], np.sort(rng.normal(size=(n, 2, 3)))), numbers,
        ),
        "quantile": lambda: (caveat.Quantiles([0.3], rng.normal(size=(n, 1))), numbers[:, 0]),
        "interval": lambda: (
            caveat.Interval(numbers - 1, numbers + 1, coverage=0.9), numbers + mean[0],
        ),
    }  # fmt: skip
    return made_of[kind]()


@pytest.mark.parametrize(
    "kind",
    [
        "categorical", "logits", "probability interval", "set", "gaussian", "points", "quantiles",
        "quantile", "interval",
    ],
)  # fmt: skip
@pytest.mark.parametrize("n", [1, 3, 80])
@pytest.mark.parametrize("resamples", [0, 20])
def test_every_kind_of_prediction_gets_whole_sentences(kind, n, resamples):
    rng = np.random.default_rng(n)
    prediction, y = _any_prediction(kind, n, rng)
    evaluation = caveat.evaluate(
        prediction, y, groups={"g": np.arange(n) % 3, "h": np.where(np.arange(n) % 5, "x", None)},
        sample_weight=1.0 + np.arange(n) % 2, cluster=np.arange(n) // 2 if n > 3 else None,
        resamples=resamples, random_state=0,
        metrics=["ece", "accuracy", "error_detection_auroc_score", "ence", "mae", "rmse",
                 "interval_coverage", "error_uncertainty_correlation", "set_coverage",
                 "mean_set_size", "pinball_loss"],
    )  # fmt: skip
    found = verdict(evaluation)
    for statement in found:
        assert re.match(r"[A-Z0-9]", statement.text)
        assert statement.text.endswith(".")
        assert not re.search(r"nan|inf\b|None\b(?<!h=None)|  |\.\.|np\.|\(\)", statement.text)
        assert set(statement.rows) <= set(evaluation.rows)
        if not resamples:
            assert statement.level in ("info", "unsure")
    json.loads(found.to_json())


RECALIBRATE = "Recalibrate the probabilities on held-out samples: caveat.repair chooses how"
TRIAGE = "Decide what to accept and what to hand over: TriagePolicy"


def step_of_classes(stretch=1.0, shift=0.0, samples=4000, **options):
    """The next step for two classes whose logits were stretched and shifted."""
    rng = np.random.default_rng(0)
    z = 1.5 * rng.normal(size=samples)
    y = (rng.random(samples) < sigmoid(z)).astype(int)
    prediction = caveat.Categorical.from_binary(sigmoid(stretch * z + shift))
    return judged(prediction, y, **{"resamples": 100, **options}).next_step


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, TRIAGE),
        ({"stretch": 3.0}, f"{RECALIBRATE} (TemperatureScaling is the simplest way), then "),
        ({"stretch": 0.2}, f"{RECALIBRATE} (TemperatureScaling is the simplest way), then "),
        # A temperature keeps one half where it is: it cannot repair what is too high everywhere.
        ({"shift": 1.5}, f"{RECALIBRATE} (PlattScaling, or VennAbers with many sam"),
        (
            {"samples": 60},
            "Label about 650 more samples like these (710 in all): 60 are too few to say whether its uncertainty can be taken at face value.",
        ),
        ({"samples": 60, "resamples": 0}, "Evaluate again with intervals (resamples=1000): "),
        ({"samples": 1}, "Evaluate more samples."),
        ({"metrics": ["accuracy"]}, "Evaluate again with the usual metrics: none of those asked "),
    ],
)
def test_next_step_for_classes(given, said):
    assert step_of_classes(**given).startswith(said)


def test_next_step_for_one_group_and_for_single_classes():
    rng = np.random.default_rng(0)
    z = 1.5 * rng.normal(size=4000)
    y = (rng.random(4000) < sigmoid(z)).astype(int)
    few = np.arange(4000) % 10 == 0
    prediction = caveat.Categorical.from_binary(sigmoid(np.where(few, 3.0, 1.0) * z))
    options = {"metrics": ["positive_ece", "accuracy"], "resamples": 100}
    step = judged(prediction, y, groups={"few": few}, **options).next_step
    assert step.startswith(
        "Recalibrate by group on held-out samples (caveat.repair with groups=). Until then, do not "
        "use its probabilities for few=True: they are off by 16.7 percentage points"
    )
    assert "by group" not in judged(prediction, y, groups={"half": y * 0}, **options).next_step
    # The class on top is right as often as it says; the others share the rest the wrong way.
    p = np.tile([0.5, 0.4, 0.1], (3000, 1))
    truth = rng.choice(3, size=3000, p=[0.5, 0.1, 0.4])
    metrics = ["ece", "classwise_ece", "accuracy"]
    step = judged(caveat.Categorical(p), truth, metrics=metrics, resamples=100).next_step
    assert step.startswith(f"{RECALIBRATE} (StructuredMatrixScaling treats every class)")
    step = judged(
        caveat.Categorical(p), rng.choice(3, size=3000, p=p[0]), metrics=metrics, resamples=100
    ).next_step
    assert step.startswith(TRIAGE)


def numbers_step(kind, scale):
    """The next step for numbers whose spread is so many times what it should be."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=2000)
    prediction = caveat.Gaussian(np.zeros(2000), np.full(2000, scale**2))
    if kind == "some zero":
        prediction = caveat.Gaussian(np.zeros(2000), np.arange(2000) % 2 * 1.0)
    elif kind == "quantiles":
        prediction = prediction.to_quantiles([0.05, 0.95])
    elif kind == "low quantiles":
        prediction = caveat.Quantiles(
            [0.2, 0.4], np.tile([-0.84 - scale, -0.25 - scale], (2000, 1))
        )
    elif kind == "interval":
        half = np.full(2000, 1.645 * scale)
        prediction = caveat.Interval(-half, half, coverage=0.9)
    elif kind == "sets":
        wide = np.arange(2000) % 10 < 10 * scale
        prediction = caveat.PredictionSet(np.stack([wide, ~wide], axis=1), coverage=0.9)
        return judged(prediction, np.zeros(2000, int), resamples=100).next_step
    metrics = None if kind != "gaussian" else NUMBER
    return judged(prediction, y, metrics=metrics, resamples=100).next_step


INTERVALS = (
    "Recalibrate the intervals on held-out samples: caveat.repair chooses how, or take "
    "ConformalQuantiles for a guaranteed coverage, then evaluate again."
)
AS_IT_IS = "Use it as it is for samples like these, and evaluate again when they change."


@pytest.mark.parametrize(
    ("kind", "scale", "said"),
    [
        ("gaussian", 1.0, TRIAGE),
        (
            "gaussian",
            0.3,
            "Recalibrate the spread on held-out samples: caveat.repair chooses how (VarianceScaling "
            "is the simplest way), or take ConformalResiduals for a guaranteed coverage, then eval",
        ),
        (
            "gaussian",
            3.0,
            "Recalibrate the spread on held-out samples: caveat.repair chooses how (VarianceScaling "
            "is the simplest way), or take ConformalResiduals for a guaranteed coverage, then eval",
        ),
        ("gaussian", 0.0, "Give the model an uncertainty: an ensemble, or conformal intervals"),
        ("some zero", 1.0, "Find out why some uncertainties are 0, repair them, then evaluate ag"),
        # Variances are not theirs to scale, and no policy takes them.
        ("quantiles", 1.0, AS_IT_IS),
        ("quantiles", 0.3, INTERVALS),
        ("low quantiles", 1.0, "Recalibrate the quantiles on held-out samples (ConformalQuantil"),
        ("interval", 1.0, AS_IT_IS),
        ("interval", 0.3, INTERVALS),
        ("sets", 0.9, AS_IT_IS),
        ("sets", 0.5, "Make the sets anew from held-out samples (ConformalSets), then evaluate "),
    ],
)
def test_next_step_for_numbers_and_sets(kind, scale, said):
    assert numbers_step(kind, scale).startswith(said)


binary = caveat.Categorical.from_binary


class TestRareClasses:
    """A small error in points may be a large one of a rare class."""

    def test_it_is_not_taken_at_face_value_by_points_alone(self):
        said = set()
        for seed in range(6):
            rng = np.random.default_rng(seed)
            p = sigmoid(rng.normal(size=20_000) - 7.3)
            y = (rng.random(20_000) < 1.5 * p).astype(int)
            said.add(judged(binary(p), y, resamples=200).statements[0].text.split(":")[0])
        assert said <= {
            "There are too few samples to say whether its probabilities can be taken at face value.",
            "Its probabilities cannot be taken at face value",
        }

    def test_how_many_times_as_frequent_it_may_be_is_said(self):
        rng = np.random.default_rng(0)
        p = sigmoid(rng.normal(size=20_000) - 7.3)
        y = (rng.random(20_000) < p).astype(int)
        for truth, predicted, which in (
            (y, p, "class=1"), (1 - y, 1 - p, "what is not class=1")
        ):  # fmt: skip
            found = judged(binary(predicted), truth, resamples=200)
            text = found.statements[1].text
            assert re.search(
                rf", but {which} is rare\. It may be 0\.\d to 1\.\d times as frequent as ", text
            )
            more = re.match(r"Label about ([\d,]+) more samples", found.next_step)
            assert int(more.group(1).replace(",", "")) > 10_000

    def test_with_enough_of_them_it_is(self):
        rng = np.random.default_rng(0)
        p = sigmoid(rng.normal(size=200_000) - 6)
        y = (rng.random(200_000) < p).astype(int)
        assert judged(binary(p), y, resamples=100).statements[0].level == "good"

    def test_ratio_and_its_states(self):
        happened = (np.arange(1000) < 30).astype(float)
        event = Event(np.full(1000, 0.01), happened, np.ones(1000), None)
        ratio = event.ratio(1.0)
        assert ratio.center == pytest.approx(3.0)
        assert ratio.low == pytest.approx((0.03 - event.error) / 0.01)
        assert ratio.high == pytest.approx((0.03 + event.error) / 0.01)
        bounds = [(0.7, 1.4), (0.7, 1.6), (0.6, 1.4), (1.3, 2.0), (0.5, 0.8), (1.1, 1.45)]
        assert [str(factor_state(Bounds(1.0, *each))) for each in bounds] == [
            "nearly", "unsure", "unsure", "off", "off", "nearly",
        ]  # fmt: skip


class TestTheOtherClass:
    def test_reversed_probabilities_are_asked_about_first(self):
        prediction, y = drawn(1000)
        reverse = caveat.Categorical(prediction.probabilities[..., ::-1], classes=["A", "B"])
        found = judged(reverse, np.array(["A", "B"])[y], metrics=RANKED)
        assert level_of(found, "Its probabilities point the wrong way: of a sample of") == "bad"
        assert "the first has the higher probability of class=B in 8" in str(found)
        assert found.next_step.startswith(
            "Check whether the probabilities are those of class=A, not of class=B: in a file, "
            "positive= names the class."
        )

    def test_chance_is_not(self):
        accused, options = 0, {"metrics": RANKED, "resamples": 200}
        for seed in range(20):
            rng = np.random.default_rng(seed)
            found = judged(rng.random(300), rng.integers(0, 2, 300), **options)
            accused += "the wrong way: of a sample" in str(found)
        assert accused <= 3
        few = judged(np.linspace(0.9, 0.1, 40), np.arange(40) // 20, **options)
        assert "the wrong way: of a sample" not in str(few)
        unsure = judged(np.linspace(0.9, 0.1, 60), np.arange(60) // 30, metrics=RANKED, resamples=0)
        assert "the wrong way: of a sample" not in str(unsure)

    @pytest.mark.parametrize("spread", [0.0, 0.1])
    def test_probabilities_that_tell_nothing_apart_are_not_to_be_used(self, spread):
        rng = np.random.default_rng(0)
        p = sigmoid(spread * rng.normal(size=3000))
        found = judged(p, rng.integers(0, 2, 3000), metrics=RANKED)
        assert found.next_step.startswith("Look for other features or another model: ")
        good, y = drawn(3000)
        assert "Look for" not in judged(good, y, metrics=RANKED).next_step


class TestBias:
    def test_predictions_that_are_too_high_on_average(self):
        rng = np.random.default_rng(0)
        mean = rng.normal(size=2000)
        y = mean + rng.normal(size=2000)
        found = judged(caveat.Gaussian(mean + 0.3, np.ones(2000)), y, resamples=200)
        assert found.statements[0].level == "bad"
        assert found.statements[0].text.endswith("; its predictions are too high on average.")
        (text,) = [t for t in texts(found) if t.startswith("Its predictions are too high: by 0.")]
        low, high = map(float, re.search(r"interval ([\d.]+) to ([\d.]+)\)", text).groups())
        assert low < 0.3 < high
        assert high - low == pytest.approx(2 * 1.96 / 2000**0.5, rel=0.05)
        assert found.next_step.startswith("Take the shift out on held-out samples: ")
        low = judged(caveat.Gaussian(mean - 0.3, np.ones(2000)), y, resamples=200)
        assert "too low on average" in low.statements[0].text

    def test_of_several_targets_one(self):
        rng = np.random.default_rng(1)
        mean = rng.normal(size=(1000, 2))
        y = mean + rng.normal(size=(1000, 2))
        y[:100, 1] = np.nan
        prediction = caveat.Gaussian(
            mean + np.array([0.0, 0.5]), np.ones((1000, 2)), targets=["a", "b"]
        )
        found = judged(prediction, y, resamples=200)
        assert any(t.startswith("For b, its predictions are too high: by ") for t in texts(found))
        assert "for b, its predictions are too high on average" in found.statements[0].text

    def test_chance_clusters_and_few_are_not_accused(self):
        for seed in range(20):
            rng = np.random.default_rng(seed)
            mean, group = rng.normal(size=300), np.repeat(np.arange(15), 20)
            own = rng.normal(size=15)[group] * 0.5
            y = mean + np.where(seed % 2, own, rng.normal(size=300))
            given = {"cluster": group} if seed % 2 else {}
            found = judged(caveat.Gaussian(mean, np.ones(300)), y, resamples=50, **given)
            assert "on average." not in found.statements[0].text
        few = judged(caveat.Gaussian(np.zeros(8), np.ones(8)), np.full(8, 0.9), resamples=50)
        assert "too low on average" not in str(few)

    def test_weights_count(self):
        mean, std, y = normal(2000)
        weight = np.where(y > mean, 3.0, 1.0)
        found = judged(caveat.Gaussian.from_std(mean, std), y, sample_weight=weight, resamples=50)
        assert "its predictions are too low on average" in found.statements[0].text


def test_heavy_tails_are_a_matter_of_shape():
    rng = np.random.default_rng(0)
    mean = rng.normal(size=5000)
    y = mean + rng.standard_t(3, size=5000) / 3**0.5
    found = judged(caveat.Gaussian(mean, np.ones(5000)), y, resamples=200)
    assert found.statements[0].text == (
        "Some of its intervals are wrong, but not the widest: the shape of its distribution is "
        "wrong."
    )
    assert found.next_step.startswith("Learn a distribution of another shape from held-out samples")
    half = np.arange(5000) < 2500
    predicted = [caveat.Gaussian(mean[rows], np.ones(2500)) for rows in (half, ~half)]
    learned = caveat.ConformalDistribution().fit(predicted[0], y[half])
    after = judged(learned.transform(predicted[1]), y[~half], resamples=200)
    assert after.statements[0].level == "good"
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    quantiles = caveat.Gaussian(mean, np.ones(5000)).to_quantiles(levels)
    of_levels = judged(quantiles, mean + 1.3 * (y - mean), resamples=200)
    assert "ConformalQuantiles" in of_levels.next_step
