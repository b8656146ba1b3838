"""What is said of individuals: each pattern, and never more than the intervals bear."""

import json
from dataclasses import replace
from math import exp, hypot, log

import numpy as np
import pytest

import caveat
from caveat.exceptions import ShapeError
from caveat.fairness import Consistency, ConsistencyRow, audit, consistency
from caveat.fairness._family import bonferroni
from caveat.fairness._individuals import compared
from caveat.resampling import Replicates, interval_of, make_plan
from caveat.resampling.intervals import stretch
from caveat.results.judgments import Judgment


def data(n, *, jitter=(0.1, 0.1), seed=0):
    """Groups a and b on a line; predictions follow it, each with a jitter of its own group."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 1))
    b = rng.random(n) < 0.5
    logit = 2 * X[:, 0] + rng.normal(size=n) * np.where(b, jitter[1], jitter[0])
    members = 1 / (1 + np.exp(-(logit + np.array([[-0.4], [0.0], [0.4]]))))
    y = (rng.random(n) < members.mean(axis=0)).astype(int)
    return caveat.Categorical.from_binary(members), y, {"group": np.where(b, "b", "a")}, X


def said(n, resamples=200, **options):
    prediction, y, groups, X = data(n, **options)
    result = audit(prediction, y, groups, X=X, resamples=resamples, random_state=0)
    return result.verdict().paragraphs[-1]


def row(group, difference, half=0.0, *, quantity="prediction", attribute="sex", n=100, low=None):
    """A row with an interval of a given half width, or none; the spread is 0.5."""
    ends = (np.nan, np.nan) if half is None else (difference - half, difference + half)
    ends = (low, ends[1]) if low is not None else ends
    return ConsistencyRow(
        quantity=quantity,
        attribute=attribute,
        group=group,
        outcome="",
        consistency=1 - difference,
        low=1 - ends[1],
        high=1 - ends[0],
        scaled=1 - difference / 0.5,
        scaled_low=1 - ends[1] / 0.5,
        scaled_high=1 - ends[0] / 0.5,
        samples=n,
        units=n,
        note="",
    )


def alike(*rows, neighbors=5):
    """A result of these rows after that of all samples."""
    names = list(dict.fromkeys(entry.quantity for entry in rows))
    whole = [row("", 0.2, 0.01, quantity=name, attribute="") for name in names]
    return Consistency(
        rows=(*whole, *rows),
        differences={name: np.zeros(1) for name in names},
        spread=dict.fromkeys(names, 0.5),
        queries=np.arange(100),
        samples=100,
        neighbors=neighbors,
        distance="euclidean",
        confidence=0.95,
    )


CLASSES = audit(
    caveat.Categorical.from_binary([0.9, 0.8, 0.3, 0.6] * 10),
    [1, 1, 0, 1] * 10,
    {"sex": ["f", "f", "m", "m"] * 10},
    resamples=40,
    random_state=0,
)
NUMBERS = audit(
    caveat.Gaussian(np.zeros(40), np.ones(40)),
    np.arange(40.0),
    {"sex": ["f", "m"] * 20},
    resamples=40,
    random_state=0,
)


def paragraph(*rows, of=CLASSES, neighbors=5, **changes):
    found = replace(of, consistency=alike(*rows, neighbors=neighbors), **changes)
    return found.verdict().paragraphs[-1]


class TestPatternsOfAudits:
    def test_a_gap(self):
        found = said(3000, jitter=(0.1, 1.5))
        assert found.patterns == ("individual gap",)
        assert (found.attribute, found.name, found.level) == ("", "Individuals", "bad")
        assert "Samples of group=b are treated less like their neighbors than those" in found.text
        assert "either alone makes it less consistent." in found.text

    def test_no_gap(self):
        found = said(12_000, jitter=(1.0, 1.0))
        assert found.patterns == ("no individual gap",)
        assert found.level == "good"
        assert found.text.endswith(
            "Between groups of group there is no gap beyond the threshold in the consistency of "
            "prediction, aleatoric uncertainty, epistemic uncertainty and predictive uncertainty."
        )

    def test_too_few_samples(self):
        found = said(60)
        assert found.patterns == ("unclear",)
        assert found.level == "unsure"
        assert (
            "The data cannot show whether there is a gap beyond the threshold between groups of group "
            "in the consistency of " in found.text
        )

    def test_hardly_any_samples(self):
        found = said(14)
        assert found.patterns == ("unclear",)
        assert (
            "The consistency of prediction, aleatoric uncertainty, epistemic uncertainty and "
            "predictive uncertainty is not compared by group: fewer than two groups have 10 samples "
            "or more." in found.text
        )

    def test_without_intervals_nothing_is_claimed(self):
        found = said(200, resamples=0)
        assert found.patterns == ("not judged",)
        assert found.text == "Nothing is claimed without intervals; run the audit with resamples."
        assert found.rows == ()

    def test_without_features_nothing_is_said(self):
        prediction, y, groups, _ = data(200)
        audit_verdict = audit(prediction, y, groups, resamples=40, random_state=0).verdict()
        assert [part.attribute for part in audit_verdict] == ["group"]

    @pytest.mark.parametrize("seed", range(12))
    def test_equal_groups_are_seldom_said_to_differ(self, seed):
        # Twelve draws at 95 %, and the band besides: none is expected.
        assert said(150, seed=seed).patterns != ("individual gap",)

    def test_share_of_neighbors_is_that_of_the_table(self):
        prediction, y, groups, X = data(300)
        result = audit(prediction, y, groups, X=X, neighbors=3, resamples=50, random_state=0)
        place, predicted = X[:, 0], prediction.labels
        near = np.argsort(np.abs(place[:, None] - place), axis=1)[:, 1:4]
        share = np.mean(predicted[near] == predicted[:, None])
        text = result.verdict().paragraphs[-1].text
        assert text.startswith(
            f"On average {100 * share:.1f} % of a sample's 3 nearest neighbors have its predicted "
            "class (95 % interval "
        )

    def test_rows_and_json(self):
        prediction, y, groups, X = data(3000, jitter=(0.1, 1.5))
        audit_verdict = audit(prediction, y, groups, X=X, resamples=50, random_state=0).verdict()
        assert {type(entry) for entry in audit_verdict.paragraphs[-1].rows} == {ConsistencyRow}
        entry = json.loads(audit_verdict.to_json())[-1]
        assert entry["patterns"] == ["individual gap"]
        assert entry["rows"][0]["quantity"] == "prediction"
        assert "\n\nIndividuals: On average" in str(audit_verdict)
        assert "<strong>Individuals</strong>" in audit_verdict._repr_html_()


class TestRatios:
    def test_value_and_interval_by_hand(self):
        rows = row("f", 0.3, 0.06), row("m", 0.1, 0.02)
        (gap,) = compared(CLASSES, alike(*rows), "sex", "prediction")
        below = hypot(log(0.30 / 0.24), log(0.12 / 0.10))
        above = hypot(log(0.36 / 0.30), log(0.10 / 0.08))
        assert gap.ratio.value == pytest.approx(3)
        assert gap.ratio.low == pytest.approx(3 * exp(-below))
        assert gap.ratio.high == pytest.approx(3 * exp(above))
        assert gap.verdict == Judgment.BEYOND
        text = paragraph(*rows).text
        ends = f"{3 * exp(-below):.2f} to {3 * exp(above):.2f}"
        assert (
            "Samples of sex=f are treated less like their neighbors than those of sex=m: their "
            f"prediction differs from that of the neighbors 3.00 times as much (95 % interval {ends}), "
            "beyond the threshold." in text
        )

    @pytest.mark.parametrize(
        ("difference", "half", "verdict"),
        [
            (0.1, 0.005, Judgment.WITHIN),
            (0.115, 0.001, Judgment.SMALL),
            (0.1, 0.05, Judgment.UNCLEAR),
            (0.12, 0.02, Judgment.UNCLEAR),
            (0.13, 0.01, Judgment.GAP),
            (0.2, 0.005, Judgment.BEYOND),
        ],
    )
    def test_verdict_is_where_the_interval_lies(self, difference, half, verdict):
        rows = row("f", difference, half), row("m", 0.1, 0.005)
        (gap,) = compared(CLASSES, alike(*rows), "sex", "prediction")
        assert gap.verdict == verdict

    def test_more_pairs_need_more(self):
        # 1.5 (1.28 to 1.76): outside of the band alone, but not as one of 45 pairs.
        wide = 0.15 * (1 - exp(-0.16))
        two = row("f", 0.15, wide), row("m", 0.1, 1e-6)
        low = compared(CLASSES, alike(*two), "sex", "prediction")[0].ratio.low
        assert low == pytest.approx(1.5 * exp(-0.16), rel=1e-3)
        assert paragraph(*two).patterns == ("individual gap",)
        factor = stretch(bonferroni(0.95, 45), 0.95, 100)
        assert 1 < 1.5 * exp(-0.16 * factor) < 1.25
        more = [row(f"g{i}", 0.1 + 1e-4, 1e-6) for i in range(8)]
        assert paragraph(*two, *more).patterns == ("gap of unclear size",)

    def test_more_quantities_need_more(self):
        names = ("prediction", "aleatoric uncertainty", "epistemic uncertainty")
        rows = [
            entry
            for name in names
            for entry in (row("f", 0.3, 0.06, quantity=name), row("m", 0.1, 0.02, quantity=name))
        ]
        (gap,) = compared(CLASSES, alike(*rows), "sex", "prediction")
        below = stretch(bonferroni(0.95, 3), 0.95, 100) * hypot(log(0.30 / 0.24), log(0.12 / 0.10))
        assert gap.comparisons == 3
        assert gap.ratio.low == pytest.approx(3 * exp(-below))

    def test_the_interval_that_decides_is_said(self):
        rows = row("f", 0.3, 0.06), row("m", 0.1, 0.02), row("x", 0.1001, 0.02)
        factor = stretch(bonferroni(0.95, 3), 0.95, 100)
        below = factor * hypot(log(0.30 / 0.24), log(0.12 / 0.10))
        above = factor * hypot(log(0.36 / 0.30), log(0.10 / 0.08))
        ends = f"{3 * exp(-below):.2f} to {3 * exp(above):.2f}"
        assert (
            f"neighbors 3.00 times as much (95 % interval for all comparisons {ends}), beyond the "
            "threshold" in paragraph(*rows).text
        )

    def test_against_the_privileged(self):
        rows = row("f", 0.3, 0.01), row("m", 0.1, 0.01), row("x", 0.3, 0.01)
        gaps = compared(
            replace(CLASSES, privileged={"sex": "f"}), alike(*rows), "sex", "prediction"
        )
        assert {gap.reference.group for gap in gaps} == {"f"}
        found = paragraph(*rows, privileged={"sex": "f"})
        # The privileged group may be the worse off, and is called so.
        assert "Samples of sex=f are treated less like their neighbors than those of sex=m" in (
            found.text
        )
        assert "neighbors 3.00 times as much" in found.text

    def test_ends_that_are_not_there(self):
        rows = row("f", 0.3, 0.01), row("m", 0.02, 0.002, low=0.0)
        assert "neighbors 15.0 times as much (95 % interval " in paragraph(*rows).text
        assert " or more), beyond the threshold." in paragraph(*rows).text
        turned = paragraph(*rows, privileged={"sex": "f"}).text
        assert " or more), beyond the threshold." in turned
        both = row("f", 0.3, 0.01, low=0.0), row("m", 0.1, 0.01)
        assert paragraph(*both).patterns == ("unclear",)

    def test_the_scale_of_a_quantity_does_not_matter(self):
        large = row("f", 0.3, 0.06), row("m", 0.1, 0.02)
        small = row("f", 3e-5, 6e-6), row("m", 1e-5, 2e-6)
        ratios = [
            compared(CLASSES, alike(*rows), "sex", "prediction")[0] for rows in (large, small)
        ]
        # 1 - (1 - 1e-5) has eleven digits left.
        assert ratios[1].ratio.low == pytest.approx(ratios[0].ratio.low, rel=1e-9)


class TestWording:
    def test_quantities_between_the_same_groups_are_put_together(self):
        names = ("prediction", "aleatoric uncertainty", "epistemic uncertainty")
        rows = [
            entry
            for name in names
            for entry in (row("f", 0.3, 0.01, quantity=name), row("m", 0.1, 0.01, quantity=name))
        ]
        text = paragraph(*rows).text
        assert text.count("Samples of sex=f") == 1
        assert "aleatoric uncertainty 3.00 times as much (" in text
        assert "and epistemic uncertainty 3.00 times as much (" in text
        assert text.count("95 % interval") == 2

    def test_other_groups_follow(self):
        rows = row("f", 0.4, 0.01), row("m", 0.1, 0.01), row("x", 0.3, 0.01), row("y", 0.2, 0.01)
        text = paragraph(*rows).text
        assert "Samples of sex=f" in text
        assert ", beyond the threshold; likewise for sex=x and sex=y." in text

    def test_several_attributes_name_the_interval_once(self):
        both = audit(
            caveat.Categorical.from_binary([0.9, 0.8, 0.3, 0.6] * 10),
            [1, 1, 0, 1] * 10,
            {"sex": ["f", "m"] * 20, "age": ["old", "old", "young", "young"] * 10},
            resamples=40,
            random_state=0,
        )
        rows = [row("f", 0.3, 0.01), row("m", 0.1, 0.01)]
        rows += [
            row("old", 0.3, 0.01, attribute="age"),
            row("young", 0.1, 0.01, attribute="age"),
        ]
        text = paragraph(*rows, of=both).text
        assert "Samples of age=old" in text
        assert text.count("95 % interval") == 2
        assert text.count("either alone") == 1

    def test_a_group_left_out_is_named(self):
        rows = row("f", 0.1, 0.001), row("m", 0.1, 0.001), row("x", 0.4, 0.01, n=9)
        found = paragraph(*rows, row("z", 0.0, None))
        assert found.patterns == ("no individual gap",)
        assert found.text.endswith(
            "Nothing is said of the individuals of sex=x and sex=z: too few, or no interval."
        )

    def test_perfect_consistency_is_not_compared(self):
        found = paragraph(row("f", 0.3, 0.01), row("m", 0.0, None))
        assert found.patterns == ("unclear",)
        assert found.text.endswith(
            "The consistency of prediction is not compared by sex: no interval for sex=m, whose "
            "samples are all as far from their neighbors."
        )

    def test_one_neighbor(self):
        rows = row("f", 0.1, 0.001), row("m", 0.1, 0.001)
        assert paragraph(*rows, neighbors=1).text.startswith(
            "The nearest neighbor of 80.0 % of the samples has their predicted class (95 % "
            "interval 79.0 % to 81.0 %)."
        )
        assert paragraph(*rows, neighbors=1, of=NUMBERS).text.startswith(
            "The prediction is on average 0.400 standard deviations from that of the nearest "
            "neighbor (95 % interval 0.380 to 0.420)."
        )

    def test_numbers(self):
        rows = [
            entry
            for name in ("prediction sbp", "prediction dbp")
            for entry in (row("f", 0.3, 0.01, quantity=name), row("m", 0.1, 0.01, quantity=name))
        ]
        two = audit(
            caveat.Gaussian(np.zeros((40, 2)), np.ones((40, 2)), targets=["sbp", "dbp"]),
            np.tile(np.arange(40.0)[:, None], 2),
            {"sex": ["f", "m"] * 20},
            resamples=40,
            random_state=0,
        )
        text = paragraph(*rows, of=two).text
        assert text.startswith(
            "The prediction of sbp is on average 0.400 standard deviations from the mean of the 5 "
            "nearest neighbors"
        )
        assert (
            "their prediction of sbp differs from that of the neighbors 3.00 times as much" in text
        )

    def test_all_the_same(self):
        X = np.arange(40.0)[:, None]
        groups = {"sex": ["f", "m"] * 20}
        constant = audit(
            caveat.Gaussian(np.zeros(40), np.ones(40)),
            np.arange(40.0),
            groups,
            X=X,
            resamples=40,
            random_state=0,
        ).verdict()
        text = constant.paragraphs[-1].text
        assert text.startswith("All samples have the same prediction.")
        assert "nan" not in text
        one = audit(
            caveat.Categorical.from_binary(np.full(40, 0.9)),
            [1] * 40,
            groups,
            X=X,
            resamples=40,
            random_state=0,
        ).verdict()
        assert one.paragraphs[-1].text.startswith(
            "On average 100 % of a sample's 5 nearest neighbors have its predicted class. The "
        )

    def test_summary_mentions_individuals(self):
        prediction, y, groups, X = data(3000, jitter=(0.1, 1.5))
        audit_verdict = audit(prediction, y, groups, X=X, resamples=50, random_state=0).verdict()
        assert audit_verdict.level == "bad"
        assert audit_verdict.summary.endswith(
            "samples of some groups are treated less like their neighbors than those of others, "
            "beyond the threshold."
        )

    def test_a_gap_that_may_or_may_not_exceed_the_threshold(self):
        rows = row("f", 0.13, 0.01), row("m", 0.1, 0.001)
        found = replace(CLASSES, consistency=alike(*rows)).verdict()
        part = found.paragraphs[-1]
        assert (part.patterns, part.level) == (("gap of unclear size",), "unsure")
        assert (
            "Samples of sex=f are treated less like their neighbors than those of sex=m: their "
            "prediction differs from that of the neighbors 1.30 times as much (95 % interval 1.20 to "
            "1.40), a gap which may or may not exceed the threshold." in part.text
        )
        assert "no gap" not in part.text
        assert found.summary.endswith(
            "samples of some groups are treated less like their neighbors than those of others, by "
            "a gap which may or may not exceed the threshold."
        )

    def test_a_gap_within_the_threshold(self):
        part = paragraph(row("f", 0.115, 0.001), row("m", 0.1, 0.001))
        assert (part.patterns, part.level) == (("no individual gap",), "good")
        assert part.text.endswith(
            "Between groups of sex there is no gap beyond the threshold in the consistency of "
            "prediction. In that of prediction there is a gap, but within the threshold."
        )

    def test_sizes_are_told_apart(self):
        rows = [
            row("f", 0.13, 0.01),
            row("m", 0.1, 0.001),
            row("f", 0.3, 0.01, quantity="epistemic uncertainty"),
            row("m", 0.1, 0.001, quantity="epistemic uncertainty"),
        ]
        part = paragraph(*rows)
        assert part.patterns == ("individual gap",)
        assert (
            "their epistemic uncertainty differs from that of the neighbors 3.00 times as much (95 % "
            "interval" in part.text
        )
        assert (
            "their prediction differs from that of the neighbors 1.30 times as much (" in part.text
        )
        assert part.text.count("Samples of sex=f are treated") == 2


class TestClusters:
    def test_are_drawn_whole(self):
        prediction, _, groups, X = data(120)
        values, cluster = prediction.labels.astype(float), np.arange(120) // 3
        options = {"groups": groups, "resamples": 80}
        result = consistency(values, X, cluster=cluster, random_state=3, **options)
        assert result.rows[0].units == 40
        assert result.rows[0].samples == 120
        plan = make_plan(120, resamples=80, cluster=cluster, random_state=3)
        differences = result.differences["prediction"]
        means = [np.average(differences, weights=plan.weights(i)) for i in range(80)]
        replicates = Replicates(np.array(means), float(differences.mean()), 40)
        wanted = interval_of(float(differences.mean()), replicates, 0.95, range=(0.0, np.inf))
        assert result.rows[0].low == pytest.approx(1 - wanted.high)
        assert result.rows[0].high == pytest.approx(1 - wanted.low)
        alone = consistency(values, X, cluster=np.arange(120), random_state=3, **options)
        assert alone.rows == consistency(values, X, random_state=3, **options).rows

    def test_of_the_queries(self):
        _, _, _, X = data(60)
        result = consistency(
            X[:, 0], X, cluster=np.arange(60) // 2, queries=20, resamples=10, random_state=0
        )
        assert result.rows[0].units == len(set(result.queries // 2))

    def test_come_from_the_audit(self):
        prediction, y, groups, X = data(90)
        cluster = np.arange(90) // 9
        result = audit(
            prediction, y, groups, X=X, cluster=cluster, resamples=40, random_state=0
        )  # fmt: skip
        assert result.consistency.rows[0].units == 10

    def test_of_another_length(self):
        with pytest.raises(ShapeError) as caught:
            consistency([1.0, 2.0, 3.0], [[0.0], [1.0], [2.0]], neighbors=1, cluster=[1, 2])
        assert str(caught.value) == (
            "cluster must be one value for each of 3 samples; got shape (2,)"
        )


class TestBothSides:
    """A privileged group may be less consistent than some, and more so than others."""

    ROWS = (
        row("p", 0.2, 0.005, attribute="group"),
        row("much", 0.6, 0.005, attribute="group"),
        row("more", 0.4, 0.005, attribute="group"),
        row("less", 0.1, 0.005, attribute="group"),
        row("least", 0.05, 0.005, attribute="group"),
    )

    def text(self, **options):
        prediction, y, groups, _ = data(100)
        result = audit(prediction, y, groups, resamples=40, random_state=0)
        result = replace(result, privileged={"group": "p"}, consistency=alike(*self.ROWS))
        return result.verdict().paragraphs[-1].text

    def test_are_told_apart(self):
        text = self.text()
        assert (
            "Samples of group=much are treated less like their neighbors than those of group=p: "
            "their prediction differs from that of the neighbors 3.00 times as much" in text
        )
        assert "; likewise for group=more. " in text
        assert (
            "Samples of group=p are treated less like their neighbors than those of group=least: "
            "their prediction differs from that of the neighbors 4.00 times as much" in text
        )
        assert "; they are less so than those of group=less too." in text
        assert text.count("likewise") == 1
