import json
import re
from dataclasses import replace

import numpy as np
import pytest

import caveat
from caveat.fairness import audit
from caveat.results.judgments import Judgment


def made(n, *, p=(0.8, 0.8), spread=(0.05, 0.05), wrong=(0.3, 0.3), positive=(0.5, 0.5), seed=0):
    """Groups f and m of n samples each: how sure, how divided, how often wrong, how often positive.

    Three members at p - d, p and p + d have an epistemic uncertainty of 4 d^2 / 3 and an aleatoric
    one of 2 p (1 - p) - 4 d^2 / 3, whatever is true; p varies by 0.005 between samples, d by 10 %.
    """
    rng = np.random.default_rng(seed)
    sex = np.repeat([0, 1], n)
    d = np.asarray(spread)[sex] * rng.uniform(0.9, 1.1, size=2 * n)
    sure = np.asarray(p)[sex] + rng.uniform(-0.005, 0.005, size=2 * n)
    up = rng.random(2 * n) < np.asarray(positive)[sex]
    center = np.where(up, sure, 1 - sure)
    members = np.stack([center - d, center, center + d])
    y = up ^ (rng.random(2 * n) < np.asarray(wrong)[sex])
    names = np.array(["f", "m"])[sex]
    return caveat.Categorical.from_binary(members), y.astype(int), {"sex": names}


def read(*arguments, **options):
    result = audit(*arguments, **{"resamples": 200, "random_state": 0, **options})
    (paragraph,) = result.verdict()
    return paragraph


class TestPatterns:
    N = 6000

    def test_epistemic_gap_without_point_gap(self):
        found = read(*made(self.N, spread=(0.12, 0.05)))
        assert found.patterns == ("epistemic gap", "uncertainty gap without point gap")
        assert found.text.startswith(
            "The model knows less about sex=f: its epistemic uncertainty is 5.7"
        )
        assert "more or better data of this group would reduce" in found.text
        assert "Point measures miss this: statistical parity, equal opportunity" in found.text
        assert "are within 0.800 and 1.25 times each other." in found.text
        assert "), beyond the threshold. It is what more" in found.text
        # 2 p (1 - p) less what the members disagree by: 0.298 and 0.312.
        assert found.text.endswith(
            "There is a gap, but within the threshold, in aleatoric uncertainty (sex=m 1.05 times "
            "sex=f)."
        )
        assert {row.judgment for row in found.rows} == {Judgment.BEYOND}

    def test_aleatoric_gap_without_point_gap(self):
        found = read(*made(self.N, p=(0.8, 0.6)))
        assert found.patterns == ("aleatoric gap", "uncertainty gap without point gap")
        # 2 p (1 - p) is 0.32 and 0.48, less 0.0033.
        assert found.text.startswith(
            "By the model's account the data of sex=m is noisier: its aleatoric uncertainty is 1.5"
        )
        assert "look at how its labels and features are measured" in found.text

    def test_both_gaps_the_epistemic_one_first(self):
        found = read(*made(self.N, p=(0.8, 0.6), spread=(0.02, 0.1)))
        assert found.patterns[:2] == ("epistemic gap", "aleatoric gap")
        assert "predictive uncertainty is" not in found.text

    def test_point_gap_without_uncertainty_gap(self):
        found = read(*made(self.N, wrong=(0.1, 0.35)))
        assert found.patterns == ("point gap", "point gap without uncertainty gap")
        assert "The accuracy of sex=m is 0.7" in found.text
        assert "The false negative rate for class 1 of sex=m is 3." in found.text
        assert "The false positive rate for class 1 of sex=m is 3." in found.text
        assert found.text.count(" times that of sex=f (") == 4
        assert "The uncertainties do not show it: aleatoric uncertainty, epistemic un" in found.text

    def test_parity_is_set_beside_what_is_true(self):
        found = read(*made(self.N, positive=(0.3, 0.7), wrong=(0.0, 0.0)))
        assert "Class 1 is predicted 0.4" in found.text
        assert "as often for sex=f as for sex=m" in found.text
        assert re.search(
            r"beyond the threshold; (30|29)\.\d % of sex=f and (70|69)\.\d % of sex=m truly belong "
            r"to it\.",
            found.text,
        )

    def test_gaps_on_both_sides(self):
        found = read(*made(self.N, spread=(0.05, 0.12), wrong=(0.1, 0.35)))
        assert found.patterns == ("epistemic gap", "point gap")
        assert "miss this" not in found.text

    def test_no_gap(self):
        found = read(*made(self.N))
        assert found.patterns == ("no gap beyond the threshold",)
        assert (found.level, found.headline) == ("good", "Within threshold")
        assert found.text == (
            "No gap beyond the threshold: statistical parity, equal opportunity, false negative "
            "rates, false positive rates, accuracy, calibration on average, aleatoric "
            "uncertainty, epistemic uncertainty and predictive uncertainty are within 0.800 and 1.25 times each other."
        )

    def test_a_gap_within_the_threshold(self):
        found = read(*made(self.N, p=(0.8, 0.78)))
        assert found.patterns == ("no gap beyond the threshold", "gap within the threshold")
        assert (found.level, found.headline) == ("good", "Within threshold")
        assert found.text.startswith("No gap beyond the threshold: statistical parity, ")
        # 2 p (1 - p) is 0.320 and 0.343, less 0.0033.
        assert re.search(
            r"There is a gap, but within the threshold, in aleatoric uncertainty \(sex=m 1\.07 times "
            r"sex=f\) and predictive uncertainty \(sex=m 1\.07 times sex=f\)\.$",
            found.text,
        )

    def test_a_gap_that_may_or_may_not_exceed_the_threshold(self):
        # The case that was called indistinguishable from fair: 1.38 (1.18 to 1.60).
        result = audit(*made(6000), resamples=100, random_state=0)
        gap = {"value": 1.38, "verdict_low": 1.18, "verdict_high": 1.60, "judgment": Judgment.GAP}
        turned = {"category": "m", "reference": "f", **gap}
        rows = tuple(
            replace(row, **turned)
            if (row.measure, row.kind) == ("false_negative_rate", "ratio")
            else row
            for row in result
        )
        audit_verdict = replace(result, rows=rows).verdict()
        (found,) = audit_verdict
        assert found.patterns == ("gap of unclear size",)
        assert (found.level, found.headline) == ("unsure", "Gap, size unclear")
        assert audit_verdict.headline == "Gap, size unclear"
        assert found.text == (
            "The false negative rate for class 1 of sex=m is 1.38 times that of sex=f (95 % interval "
            "for all comparisons 1.18 to 1.60), a gap which may or may not exceed the threshold. No "
            "gap beyond the threshold in statistical parity, equal opportunity, false positive "
            "rates, accuracy, calibration on average, aleatoric uncertainty, epistemic uncertainty "
            "and predictive uncertainty."
        )
        assert audit_verdict.summary == (
            "Groups of sex differ, and the data cannot show whether the gap exceeds the threshold."
        )

    def test_gaps_of_both_sizes(self):
        """A point gap of unclear size beside one of uncertainty that is beyond the threshold."""
        result = audit(*made(6000, spread=(0.12, 0.05)), resamples=100, random_state=0)
        gap = {"value": 0.8, "verdict_low": 0.7, "verdict_high": 0.9, "judgment": Judgment.GAP}
        rows = tuple(
            replace(row, **gap) if (row.measure, row.kind) == ("equal_accuracy", "ratio") else row
            for row in result
        )
        audit_verdict = replace(result, rows=rows).verdict()
        (found,) = audit_verdict
        assert found.patterns == ("epistemic gap", "gap of unclear size")
        assert (found.level, audit_verdict.headline) == ("bad", "Gap beyond threshold")
        assert "Point measures miss this" not in found.text
        assert (
            " (0.700 to 0.900), a gap which may or may not exceed the threshold. "
            "No point measure shows a gap beyond the threshold, which does not mean that there is "
            "none." in found.text
        )

    def test_the_data_cannot_show_it(self):
        found = read(*made(40))
        assert found.patterns == ("unclear",)
        assert (found.level, found.headline) == ("unsure", "Unclear")
        assert found.text.startswith(
            "The data cannot show whether there is a gap beyond the threshold in statistical parity, "
            "equal opportunity, false negative rates, false positive rates, accuracy or "
            "calibration on average; the ratio of "
        )
        # Few false positives: their ratio is known least.
        assert re.search(
            r"; the ratio of false positive rates of sex=\w to sex=\w may be anything from 0\.\d+ "
            r"to \d+\.\d+ \(95 % interval",
            found.text,
        )
        assert "No gap beyond the threshold in aleatoric uncertainty" in found.text

    def test_hardly_any_samples(self):
        found = read(*made(8))
        assert found.patterns == ("too few samples",)
        assert found.text == (
            "There are too few samples to say anything: 8 of sex=f and 8 of sex=m; at least two "
            "groups must have 10 samples or more."
        )
        assert found.rows == ()

    def test_an_uncertainty_gap_beside_unclear_points_claims_nothing_of_them(self):
        found = read(*made(60, spread=(0.05, 0.12)))
        assert found.patterns == ("epistemic gap",)
        assert (
            "No point measure shows a gap beyond the threshold, which does not mean that there is "
            "none. The data cannot show whether there is a gap beyond the threshold in "
            in found.text
        )

    def test_a_point_gap_beside_unclear_uncertainties(self):
        result = audit(*made(2000, wrong=(0.1, 0.35)), resamples=100, random_state=0)
        rows = tuple(
            replace(row, judgment=Judgment.UNCLEAR)
            if row.measure == "epistemic_uncertainty"
            else row
            for row in result
        )
        (found,) = replace(result, rows=rows).verdict()
        assert "point gap without uncertainty gap" not in found.patterns
        assert (
            "No uncertainty shows a gap beyond the threshold, which does not mean that there is none."
            in found.text
        )

    def test_a_gap_that_neither_part_shows(self):
        result = audit(*made(2000, spread=(0.12, 0.05)), resamples=100, random_state=0)
        words = {
            "predictive_uncertainty": Judgment.BEYOND,
            "epistemic_uncertainty": Judgment.UNCLEAR,
        }
        rows = tuple(replace(row, judgment=words.get(row.measure, row.judgment)) for row in result)
        (found,) = replace(result, rows=rows).verdict()
        assert found.patterns[0] == "predictive gap"
        assert "are less certain: its predictive uncertainty is" in found.text
        assert "cannot be determined" in found.text

    def test_without_intervals_nothing_is_claimed(self):
        found = read(*made(100), resamples=0)
        assert found.patterns == ("not judged",)


class TestWording:
    def test_the_privileged_group_may_be_the_worse_off(self):
        found = read(*made(3000, spread=(0.12, 0.05)), privileged="f")
        assert found.text.startswith(
            "The model knows less about sex=f: its epistemic uncertainty is 5.7"
        )
        assert all(row.value < 1 for row in found.rows)

    def test_small_groups_are_named_and_left_out(self):
        prediction, y, groups = made(6000)
        sex = groups["sex"].astype(object)
        sex[:4] = None
        found = read(prediction, y, {"sex": sex})
        assert found.patterns == ("no gap beyond the threshold",)
        assert found.text.endswith("Nothing is said of sex=(missing): fewer than 10 samples.")

    def test_one_member_has_no_epistemic_part(self):
        prediction, y, groups = made(6000)
        found = read(caveat.Categorical(prediction.probabilities[1]), y, groups)
        assert found.patterns == ("no gap beyond the threshold",)
        assert (
            "Whether the model knows less about one group cannot be seen from it. There is no ratio "
            "of epistemic uncertainty: 0 in sex=" in found.text
        )

    def test_a_group_without_positives(self):
        prediction, y, groups = made(3000)
        y[groups["sex"] == "f"] = 0
        found = read(prediction, y, groups)
        assert (
            "There is no ratio of equal opportunity and false negative rates: no positives in sex=f."
            in found.text
        )

    def test_reasons_are_listed_once_for_all_measures_and_groups(self):
        prediction, y, groups = made(3000)
        ward = np.where(np.arange(6000) % 3 == 0, "x", groups["sex"])
        y[(ward == "x") | (ward == "f")] = 0
        text = read(prediction, y, {"ward": ward}).text
        assert text.count("There is no ratio of ") == 1
        assert "no positives in ward=f and no positives in ward=x." in text

    def test_other_groups_are_named(self):
        prediction, y, _ = made(3000, spread=(0.12, 0.04))
        rng = np.random.default_rng(1)
        ward = np.where(rng.random(6000) < 0.5, "A", "B")
        ward = np.where(np.arange(6000) < 3000, ward, "C")
        found = read(prediction, y, {"ward": ward}, intersections=True)
        assert "times that of ward=C" in found.text
        assert "; likewise for ward=" in found.text

    def test_intersections_are_named_once(self):
        prediction, y, groups = made(3000, spread=(0.12, 0.04))
        both = {**groups, "side": np.arange(6000) % 2}
        result = audit(prediction, y, both, intersections=True, resamples=100, random_state=0)
        text = result.verdict().paragraphs[-1].text
        assert text.startswith("The model knows less about sex=f, side=")

    def test_numbers(self):
        rng = np.random.default_rng(0)
        old = np.arange(4000) < 2000
        mean = rng.normal(size=(2, 4000, 2)) * 0.1
        scale = np.where(old, 2.0, 1.0)[:, None] * [1.0, 1.0]
        variance = scale**2 * rng.uniform(0.9, 1.1, size=mean.shape)
        prediction = caveat.Gaussian(mean, variance, targets=["sbp", "dbp"])
        y = rng.normal(size=(4000, 2)) * scale
        found = read(prediction, y, {"old": old})
        assert found.patterns == ("aleatoric gap", "point gap")
        assert "its aleatoric uncertainty of " in found.text
        assert re.search(
            r"The mean absolute error of [sd]bp is (2\.0|1\.9)\d times as large for", found.text
        )
        single = caveat.Gaussian(mean[:, :, :1], variance[:, :, :1])
        assert "The mean absolute error is " in read(single, y[:, 0], {"old": old}).text

    def test_an_interval_without_an_end(self):
        result = audit(*made(3000, spread=(0.12, 0.05)), resamples=100, random_state=0)

        def edit(row, **changes):
            return replace(row, **changes) if row.measure == "epistemic_uncertainty" else row

        open_ended = replace(result, rows=tuple(edit(row, verdict_high=np.inf) for row in result))
        assert " or more)" in str(open_ended.verdict())
        ends = {"low": 0.0, "high": 0.3, "verdict_low": 0.0, "verdict_high": 0.3}
        inverted = tuple(edit(row, value=0.2, **ends) for row in result)
        text = str(replace(result, rows=inverted).verdict())
        assert "knows less about sex=m" in text
        assert "(95 % interval 3.33 or more)" in text

    @pytest.mark.parametrize(
        ("low", "high", "words"),
        [
            (0.5, 2.0, "may be anything from 0.500 to 2.00 (95 % interval for all comparisons)."),
            (0.5, np.inf, "may be 0.500 or more (95 % interval for all comparisons)."),
            (0.0, 2.0, "may be 2.00 or less (95 % interval for all comparisons)."),
            (0.0, np.inf, "may be anything (95 % interval for all comparisons)."),
        ],
    )
    def test_the_interval_that_says_least_is_the_one_that_decides(self, low, high, words):
        result = audit(*made(40), resamples=100, random_state=0)
        rows = tuple(
            replace(row, verdict_low=low, verdict_high=high)
            if row.kind == "ratio" and row.judgment == Judgment.UNCLEAR
            else row
            for row in result
        )
        assert words in str(replace(result, rows=rows).verdict())

    def test_of_several_groups_it_reaches_into_what_is_not_fair(self):
        """Unclear, and yet an interval that is all fair: the one shown must be the wider one."""
        prediction, y, _ = made(1500)
        rng = np.random.default_rng(0)
        result = audit(
            prediction, y, {"ward": rng.integers(6, size=3000)}, resamples=200, random_state=0
        )
        text = result.verdict().paragraphs[0].text
        low, high = map(
            float,
            re.search(
                r"from ([\d.]+) to ([\d.]+) \(95 % interval for all comparisons\)", text
            ).groups(),
        )
        assert low < 0.8 or high > 1.25

    def test_one_pair_without_a_ratio_beside_fair_ones(self):
        prediction, y, _ = made(20_000)
        ward = np.random.default_rng(0).integers(3, size=40_000)
        result = audit(prediction, y, {"ward": ward}, resamples=100, random_state=0)
        assert result.verdict().paragraphs[0].patterns[0] == "no gap beyond the threshold"
        first = result.select(measure="equal_opportunity", kind="ratio")[0]
        undefined = {
            "value": np.nan,
            "judgment": Judgment.UNDEFINED,
            "why": "no positives in ward=0",
        }
        rows = tuple(replace(row, **undefined) if row is first else row for row in result)
        (found,) = replace(result, rows=rows).verdict()
        assert found.patterns == ("unclear",)
        assert found.text.startswith(
            "The data cannot show whether there is a gap beyond the threshold in equal opportunity. "
            "No gap beyond the threshold in "
        )
        assert "There is no ratio of equal opportunity: no positives in ward=0." in found.text

    def test_all_comparisons_are_with_a_small_group(self):
        # The best by every measure; the others are few clusters each.
        rng = np.random.default_rng(0)
        g = np.array(["a"] * 200 + ["b"] * 200 + ["c"] * 5)
        cluster = np.r_[np.arange(200) % 5, 5 + np.arange(200) % 5, 10 + np.arange(5)]
        p = rng.uniform(0.01, 0.99, size=(3, 405))
        y = (rng.random(405) < 0.5).astype(int)
        y[-5:] = [1, 1, 1, 1, 0]
        p[:, -5:] = np.where(y[-5:] == 1, 0.99, 0.01) + np.array([[0.001], [0], [-0.001]])
        result = audit(
            caveat.Categorical.from_binary(p), y, {"g": g}, cluster=cluster, resamples=100,
            random_state=0,
        )  # fmt: skip
        (found,) = result.verdict()
        assert (found.patterns, found.level) == (("too few samples",), "unsure")
        assert found.text == (
            "There are too few samples to say anything: all comparisons are with groups of fewer "
            "than 10 samples (g=c)."
        )

    def test_everything_undefined_is_not_judged(self):
        result = audit(*made(40), resamples=100, random_state=0)
        rows = tuple(
            replace(row, judgment=Judgment.UNDEFINED, why="no positives in sex=f", value=np.nan)
            if row.kind == "ratio"
            and row.judgment
            in (
                Judgment.UNCLEAR,
                Judgment.GAP,
                Judgment.SMALL,
                Judgment.WITHIN,
                Judgment.BEYOND,
            )
            else row
            for row in result
        )
        (found,) = replace(result, rows=rows).verdict()
        assert found.patterns == ("not judged",)
        assert found.text.startswith("Nothing could be compared. There is no ratio of")

    def test_one_cluster_shows_nothing(self):
        prediction, y, groups = made(300)
        found = read(prediction, y, groups, cluster=np.zeros(600))
        assert (found.patterns, found.level) == (("not judged",), "unsure")
        assert found.text == (
            "Nothing could be compared. There is no interval of statistical parity, equal "
            "opportunity, false negative rates, false positive rates, accuracy, calibration on "
            "average, aleatoric uncertainty, epistemic uncertainty and predictive uncertainty: one independent sample "
            "or cluster only in sex=f and sex=m."
        )

    def test_an_uncertainty_that_does_not_vary_is_no_gap(self):
        sex = np.repeat(["f", "m"], 10)
        p = np.where(sex == "f", 0.6, 0.9)
        y = np.tile([1] * 8 + [0] * 2, 2)
        found = read(caveat.Categorical.from_binary([p, p]), y, {"sex": sex})
        assert not any("gap" in pattern for pattern in found.patterns)
        assert (
            "There is no interval of aleatoric uncertainty and predictive uncertainty: the same in "
            "every resample, so that its spread does not show." in found.text
        )

    def test_a_long_attribute_is_not_repeated_with_each_group(self):
        prediction, y, groups = made(600, spread=(0.02, 0.1))
        short, long = (
            read(prediction, y, {name: groups["sex"]}).text for name in ("sex", "sex at enrollment")
        )
        assert "The model knows less about sex=m: its" in short
        assert "The model knows less about m: its" in long
        assert "sex at enrollment" not in long

    def test_an_unclear_ratio_names_its_target_or_class(self):
        rng = np.random.default_rng(1)
        mean = rng.normal(size=(3, 120, 2))
        prediction = caveat.Gaussian(mean, np.ones_like(mean), targets=["sbp", "dbp"])
        y = mean.mean(axis=0) + rng.normal(size=(120, 2))
        sex = {"sex": rng.choice(["f", "m"], size=120)}
        assert re.search(
            r"the ratio of [a-z ]+ \(target [sd]bp\) of sex=", read(prediction, y, sex).text
        )
        classes = caveat.Categorical(rng.dirichlet(np.ones(3), size=(3, 120)))
        text = read(classes, rng.integers(3, size=120), sex).text
        assert re.search(r"the ratio of [a-z ]+ \(class [012]\) of sex=", text)

    def test_nor_is_one_that_is_the_same_for_all_an_obstacle(self):
        # One noise for all, as a model without a second output has it.
        rng = np.random.default_rng(0)
        sex = np.repeat(["f", "m"], 4000)
        mean = rng.normal(size=(4, 8000))
        prediction = caveat.Gaussian.from_members(mean, np.full(mean.shape, 0.7))
        y = mean.mean(axis=0) + rng.normal(size=8000)
        found = read(prediction, y, {"sex": sex})
        assert (found.patterns, found.level) == (("no gap beyond the threshold",), "good")
        assert "aleatoric" not in found.text.partition("There is no interval of")[0]

    def test_fair_where_defined_is_not_fair(self):
        prediction, y, groups = made(6000)
        ward = np.where(np.arange(12_000) % 3 == 0, "x", groups["sex"])
        y[ward == "x"] = 0
        found = read(prediction, y, {"ward": ward})
        assert "Equal opportunity" in found.text or "equal opportunity" in found.text
        assert "no gap beyond the threshold" not in found.patterns


class TestReading:
    RESULT = audit(*made(300), resamples=50, random_state=0)

    def test_prints_and_writes(self):
        audit_verdict = self.RESULT.verdict()
        assert len(audit_verdict) == 1
        assert str(audit_verdict).startswith("sex: ")
        assert repr(audit_verdict) == str(audit_verdict)
        assert str(audit_verdict) in repr(self.RESULT)
        (entry,) = json.loads(audit_verdict.to_json())
        assert set(entry) == {"attribute", "patterns", "text", "rows"}
        assert "<strong>sex</strong>" in audit_verdict._repr_html_()

    def test_equal_groups_are_seldom_said_to_differ(self):
        found = [read(*made(150, seed=seed)) for seed in range(12)]
        # A gap of any size at 95 % in twelve draws: more than 3 have a chance of 0.2 %.
        assert sum("gap of unclear size" in part.patterns for part in found) <= 3
        # And beyond the band besides: none is expected.
        assert not any(part.level == "bad" for part in found)


class TestSummary:
    GAP, NONE, FEW = made(6000, spread=(0.12, 0.05)), made(6000), made(40)

    @staticmethod
    def audit_verdict(*arguments, **options):
        return audit(*arguments, **{"resamples": 100, "random_state": 0, **options}).verdict()

    @pytest.mark.parametrize(
        ("given", "level", "text"),
        [
            (GAP, "bad", "There are gaps beyond the threshold between groups of sex."),
            (NONE, "good", "Groups of sex show no gap beyond the threshold."),
            (
                FEW,
                "unsure",
                "This audit cannot show whether there is a gap beyond the threshold between groups "
                "of sex.",
            ),
        ],
        ids=["gap", "none", "few"],
    )
    def test_of_one_attribute(self, given, level, text):
        audit_verdict = self.audit_verdict(*given)
        assert (audit_verdict.level, audit_verdict.summary) == (level, text)
        assert [part.level for part in audit_verdict] == [level]

    def test_of_several(self):
        prediction, y, groups = self.GAP
        rng = np.random.default_rng(0)
        several = {
            **groups,
            "side": rng.choice(["l", "r"], size=len(y)),
            "rare": rng.permutation(len(y)) < 12,
        }
        audit_verdict = self.audit_verdict(prediction, y, several)
        assert [part.level for part in audit_verdict] == ["bad", "good", "unsure"]
        assert audit_verdict.level == "bad"
        assert audit_verdict.summary == (
            "There are gaps beyond the threshold between groups of sex; groups of side show no gap "
            "beyond the threshold; this audit cannot show whether there is a gap beyond the "
            "threshold between groups of rare."
        )

    def test_without_intervals(self):
        audit_verdict = self.audit_verdict(*self.FEW, resamples=0)
        assert audit_verdict.level == "unsure"
        assert audit_verdict.paragraphs[0].level == "unsure"
