"""What a verdict says to do next, each with a case in which it would be wrong to say it."""

import re

import numpy as np
import pytest

import caveat
from caveat.evaluation._verdict_evidence import Evidence
from caveat.evaluation._verdict_numbers import number_findings
from caveat.evaluation._verdict_steps import _collect, samples_needed
from caveat.results.words import more_in_all

CLASSES = ["positive_ece", "ece", "classwise_ece", "accuracy", "error_detection_auroc_score"]


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def binary(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    z = 1.5 * rng.normal(size=n)
    return rng, z, (rng.random(n) < sigmoid(z)).astype(int)


def step(prediction, y, **options):
    given = {"resamples": 150, "random_state": 0, **options}
    numbers = hasattr(prediction, "targets") or hasattr(prediction, "membership")
    if "metrics" not in given and not numbers:
        given["metrics"] = CLASSES
    return caveat.evaluate(prediction, y, **given).verdict().next_step


def collected(text):
    """How many more, and how many in all."""
    found = re.search(r"about ([\d,]+) more (\w+) .*?\(([\d,]+) in all\)", text)
    more, noun, total = found.groups()
    return int(more.replace(",", "")), noun, int(total.replace(",", ""))


class TestCollect:
    def test_a_number_of_samples_for_classes(self):
        _, z, y = binary(200)
        text = step(sigmoid(z), y)
        assert re.match(
            r"Label about [\d,]+ more samples like these \([\d,]+ in all\): 200 are ", text
        )
        more, _, total = collected(text)
        assert total == pytest.approx(200 + more, rel=0.05)
        assert total > 400

    def test_by_clusters(self):
        _, z, y = binary(400)
        cluster = np.arange(400) // 10
        text = step(sigmoid(z), y, cluster=cluster)
        more, noun, total = collected(text)
        assert noun == "clusters"
        assert total == pytest.approx(40 + more, rel=0.05)

    def test_few_clusters_need_ten_at_least(self):
        _, z, y = binary(4000)
        text = step(sigmoid(z), y, cluster=np.arange(4000) // 1000)
        _, noun, total = collected(text)
        assert noun == "clusters"
        assert total >= 10

    def test_a_narrower_interval_needs_fewer(self):
        rng = np.random.default_rng(0)
        needed = []
        for n in (60, 120):
            y = np.arange(n) % 20 < 19  # 95 % inside
            y = np.where(y, 0.0, 9.0) + 1e-3 * rng.normal(size=n)
            prediction = caveat.Interval(np.full(n, -1.0), np.full(n, 1.0), coverage=0.95)
            result = caveat.evaluate(prediction, y, resamples=100, random_state=0)
            evidence = Evidence(result)
            needed.append(samples_needed(evidence, number_findings(evidence)))
        # The same share: the widths fall as 1 / sqrt(n), so that the number hardly changes.
        assert needed[1] == pytest.approx(needed[0], rel=0.7)
        assert needed[0] > 120

    def test_quantiles_sets_several_classes_and_targets(self):
        rng = np.random.default_rng(0)
        y = rng.normal(size=(80, 2))
        gaussian = caveat.Gaussian(np.zeros((80, 2)), 1.0, targets=["a", "b"])
        for prediction, truth in (
            (gaussian, y),
            (gaussian.to_quantiles([0.1, 0.6]), y),
            (caveat.PredictionSet(np.arange(80)[:, None] % 10 < [9, 1], coverage=0.9), np.zeros(80, int)),
            (caveat.Categorical(np.tile([0.5, 0.3, 0.2], (80, 1))), rng.choice(3, size=80, p=[0.5, 0.3, 0.2])),
        ):  # fmt: skip
            text = step(prediction, truth)
            assert collected(text)[2] > 80, text

    def test_single_classes_alone(self):
        rng = np.random.default_rng(0)
        p = np.tile([0.5, 0.3, 0.2], (80, 1))
        text = step(p, rng.choice(3, size=80, p=p[0]), metrics=["classwise_ece"])
        assert collected(text)[2] > 80

    def test_nothing_to_collect_where_it_is_decided(self):
        _, z, y = binary(20_000)
        assert "Label" not in step(sigmoid(z), y)

    def test_an_interval_that_is_undefined(self):
        # No number without an interval that could fall.
        n = 12
        prediction = caveat.Gaussian(np.zeros(n), 1.0)
        result = caveat.evaluate(prediction, np.zeros(n), resamples=100, random_state=0)
        evidence = Evidence(result)
        assert samples_needed(evidence, []) is None
        assert _collect(evidence, []).startswith("Label more samples like these: 12 are too few")

    def test_words(self):
        assert more_in_all(800, 2000, "samples") == "about 1,200 more samples (2,000 in all)"
        assert more_in_all(50, 50, "samples") == "about 2 more samples (52 in all)"


class TestRange:
    def test_high_probabilities_alone_are_wrong(self):
        _, z, y = binary()
        p = sigmoid(2 * z)
        text = step(np.where(p > 0.8, p, sigmoid(z)), y)
        found = re.search(
            r"do not use probabilities of (\d+) to (\d+) %: there it said (\d+\.\d) % on average, and "
            r"(\d+\.\d) % were class=1\.",
            text,
        )
        low, high, said, was = map(float, found.groups())
        assert 80 <= low < 90
        assert high == 100
        assert was < said - 5

    def test_not_where_all_are_wrong(self):
        _, z, y = binary()
        assert "Until then" not in step(sigmoid(z + 1.5), y)

    def test_not_where_high_and_low_ones_are_wrong(self):
        _, z, y = binary()
        assert "Until then" not in step(sigmoid(3 * z), y)

    def test_not_where_a_small_part_of_the_error_is_there(self):
        # A few are off by much, and all others by a little that no bin shows.
        rng, z, y = binary(1500)
        p = np.where(rng.random(1500) < 0.02, 0.97, sigmoid(z + 0.5))
        assert "Until then" not in step(p, y)

    def test_confidences_of_several_classes(self):
        rng = np.random.default_rng(0)
        top = rng.uniform(0.4, 1.0, size=4000)
        p = np.stack([top, *(2 * [(1 - top) / 2])], axis=1)
        honest = np.where(top > 0.85, 0.6, top)
        y = np.where(rng.random(4000) < honest, 0, rng.integers(1, 3, size=4000))
        text = step(p, y, metrics=["ece"])
        assert re.search(
            r"do not use confidences of 80 to 100 %: there it said (89|9\d)\.\d %", text
        )
        assert "it was right in" in text


class TestClasses:
    def test_those_that_are_wrong(self):
        p, rng = np.tile([0.5, 0.4, 0.1], (3000, 1)), np.random.default_rng(0)
        text = step(p, rng.choice(3, size=3000, p=[0.5, 0.1, 0.4]))
        assert "do not use the probability of class=1, predicted too often (40.0 %, obs" in text
        assert "; nor of class=2, predicted too rarely (10.0 %, observed " in text
        assert "class=0" not in text

    def test_not_if_all_are_wrong(self):
        p, rng = np.tile([0.6, 0.3, 0.1], (3000, 1)), np.random.default_rng(0)
        assert "do not use the prob" not in step(p, rng.choice(3, size=3000, p=[0.2, 0.5, 0.3]))


class TestCoverage:
    def test_one_coverage_is_wrong(self):
        rng = np.random.default_rng(0)
        # Heavy tails with the same central part: the wide intervals alone are too narrow.
        prediction = caveat.Gaussian(np.zeros(4000), 1.6)
        text = step(prediction, rng.standard_t(3, size=4000), metrics=["interval_coverage"])
        assert "Until then, do not use its 95.45 % intervals, which hold the truth in 9" in text
        both = caveat.Gaussian(np.zeros((9000, 2)), [[1.5, 1.0]] * 9000, targets=["t", "n"])
        truth = np.stack([rng.standard_t(3, size=9000), rng.normal(size=9000)], axis=1)
        assert " % for t." in step(both, truth, metrics=["interval_coverage"])

    def test_not_if_all_are_wrong(self):
        rng = np.random.default_rng(0)
        prediction = caveat.Gaussian(np.zeros(4000), 0.2)
        text = step(prediction, rng.normal(size=4000), metrics=["interval_coverage"])
        assert "Until then" not in text

    def test_not_if_several_targets_are(self):
        rng = np.random.default_rng(0)
        prediction = caveat.Gaussian(np.zeros((4000, 2)), 0.2)
        text = step(prediction, rng.normal(size=(4000, 2)), metrics=["interval_coverage"])
        assert "Until then" not in text


class TestGroups:
    def test_a_group_whose_risk_is_underestimated(self):
        rng, z, y = binary()
        sex = np.where(rng.random(4000) < 0.3, "f", "m")
        text = step(sigmoid(np.where(sex == "f", z - 1.2, z)), y, groups={"sex": sex})
        assert text.startswith("Recalibrate the probabilities on held-out samples")
        assert "Then look at sex=f again: where a common repair leaves a difference" in text
        assert re.search(
            r"Until then, do not use its probabilities for sex=f: they are off by \d+\.\d percentage "
            r"points \(95 % interval .*\), and the risk is underestimated \(\d+\.\d % on average, ",
            text,
        )
        assert "do not use probabilities of" not in text

    def test_overall_right_but_not_for_a_group(self):
        rng, z, y = binary(20_000)
        sex = np.where(rng.random(20_000) < 0.05, "f", "m")
        text = step(sigmoid(np.where(sex == "f", z + 1.5, z)), y, groups={"sex": sex})
        assert text.startswith(
            "Recalibrate by group on held-out samples (caveat.repair with groups=)."
        )
        assert "and the risk is overestimated" in text

    def test_no_group_where_there_is_no_difference(self):
        rng, z, y = binary()
        sex = np.where(rng.random(4000) < 0.3, "f", "m")
        assert "sex=" not in step(sigmoid(z), y, groups={"sex": sex})

    def test_a_group_that_is_right_less_often(self):
        rng = np.random.default_rng(0)
        hard = rng.random(8000) < 0.3
        p = np.where(hard, 0.6, 0.95)
        y = (rng.random(8000) < p).astype(int)
        text = step(p, y, groups={"hard": hard})
        assert re.search(
            r"Do not expect the overall accuracy for hard=True: it is 5\d\.\d % \(95 % interval",
            text,
        )
        assert "do not use its probabilities" not in text

    def test_intervals_of_a_group(self):
        rng = np.random.default_rng(0)
        site = rng.random(8000) < 0.1
        y = rng.normal(size=8000) * np.where(site, 2.0, 1.0)
        text = step(
            caveat.Gaussian(np.zeros(8000), 1.0), y, groups={"site": site},
            metrics=["interval_coverage"],
        )  # fmt: skip
        assert "do not use its coverage for site=True: they hold the truth in 6" in text

    def test_small_groups_need_more(self):
        _, z, y = binary(6000)
        site = np.where(np.arange(6000) < 12, "new", "old")
        text = step(sigmoid(z), y, groups={"site": site})
        assert re.search(
            r"Label about \d+ more samples of site=new \(\d+ in all\), and until then do not rely on "
            r"it there\.",
            text,
        )
        assert collected(text)[2] >= 50
        # True classes are not known of a prediction that could be left unused.
        assert "class=" not in step(sigmoid(z[:60]), y[:60])

    def test_many_small_groups_are_counted(self):
        _, z, y = binary(6000)
        site = np.where(np.arange(6000) < 80, np.arange(6000) // 10, 99)
        assert ", and so on for 3 others, and until then" in step(sigmoid(z), y, groups={"s": site})


class TestWarning:
    def test_an_uncertainty_that_does_not_warn(self):
        rng = np.random.default_rng(0)
        p = np.full(8000, 0.7) + 1e-3 * rng.normal(size=8000)
        text = step(p, (rng.random(8000) < 0.7).astype(int))
        assert text.startswith("Use it as it is for samples like these")  # no policy by it
        assert "Do not use its uncertainty to choose which predictions to check: its unc" in text

    def test_an_uncertainty_that_points_the_wrong_way(self):
        rng = np.random.default_rng(0)
        spread = rng.uniform(0.5, 2.0, size=4000)
        y = rng.normal(size=4000) / spread
        text = step(caveat.Gaussian(np.zeros(4000), spread**2), y)
        assert "Do not use its uncertainty to choose which predictions to check: larger unc" in text
        several = caveat.Gaussian(np.zeros((4000, 2)), np.stack([spread**2] * 2, axis=1))
        truth = np.stack([y, rng.normal(size=4000) * spread], axis=1)
        assert "the wrong way (for 0)." in step(several, truth)

    def test_one_that_warns_may_be_used(self):
        _, z, y = binary()
        assert "Do not use its uncertainty" not in step(sigmoid(z), y)
