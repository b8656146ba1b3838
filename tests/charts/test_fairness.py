"""The charts of an audit: ratios, distributions and consistency."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import caveat
from caveat import charts
from caveat.exceptions import OptionError
from caveat.fairness import audit, consistency
from caveat.fairness.shown import ratio_rows
from caveat.results.judgments import Judgment
from tests.charts.drawn import bars, curves, labels, picture, small, ticks, whiskers

RNG = np.random.default_rng(0)
N = 600
PREDICTION = caveat.Categorical.from_binary(RNG.random((3, N)))
Y = RNG.integers(2, size=N)
GROUPS = {"sex": RNG.choice(["f", "m"], size=N), "race": RNG.choice(["a", "$b$", "c"], size=N)}
RESULT = audit(PREDICTION, Y, GROUPS, resamples=60, random_state=0)
NUMBERS = audit(
    caveat.Gaussian(RNG.normal(size=(2, N, 2)), np.ones((2, N, 2)), targets=["sbp", "dbp"]),
    RNG.normal(size=(N, 2)),
    GROUPS["sex"],
    resamples=40,
    random_state=0,
)


def stand_apart(ax):
    """Whether the labels of the rows, as drawn, do not touch."""
    picture(ax)
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    return all(lower.y1 <= upper.y0 for upper, lower in pairwise(boxes))


def edited(**edits):
    """The audit with other numbers for the ratios of some measures."""
    rows = [replace(r, **edits.get(r.measure, {})) if r.kind == "ratio" else r for r in RESULT]
    return replace(RESULT, rows=tuple(rows))


class TestRatios:
    def test_points_and_bars_are_those_that_decide(self):
        rows = [
            row
            for row in RESULT.select(attribute="sex", kind="ratio")
            if row.statistic in ("", "farther from 1")
        ]
        chart = charts.ratios(RESULT, "sex")
        assert chart.numbers["ratio"].tolist() == [row.value for row in rows]
        assert chart.numbers["verdict"] == [row.verdict for row in rows]
        assert chart.numbers["groups"] == [f"{row.group} / {row.reference}" for row in rows]
        ax = chart.plot()
        assert len(ticks(ax)) == len(rows)
        points = {}
        for line in ax.lines:
            if line.get_linestyle() == "None":
                points |= dict(zip(line.get_ydata(), line.get_xdata(), strict=True))
        assert [points[place] for place in ax.get_yticks()] == [row.value for row in rows]
        assert whiskers(ax) == [(row.verdict_low, row.verdict_high) for row in rows]
        assert ax.get_xscale() == "log"
        assert "1" in [label.get_text() for label in ax.get_xticklabels()]

    def test_intervals_of_all_comparisons_are_wider_than_of_one(self):
        rows = RESULT.select(attribute="race", kind="ratio", comparison="worst pair")
        rows = [row for row in rows if row.statistic in ("", "farther from 1")]
        numbers = charts.ratios(RESULT, "race").numbers
        assert numbers["low"].tolist() == [row.verdict_low for row in rows]
        assert all(row.verdict_low < row.low < row.high < row.verdict_high for row in rows)

    def test_band_is_the_fair_one(self):
        (band,) = charts.ratios(RESULT).plot().patches
        left, right = band.get_x(), band.get_x() + band.get_width()
        assert (left, right) == pytest.approx((0.8, 1.25))

    def test_worst_pairs_of_several_groups_unless_asked(self):
        worst, every = charts.ratios(RESULT), charts.ratios(RESULT, comparison="reference")
        assert len(every.y.ticks) > len(worst.y.ticks)
        assert any("race" in text for _, text in worst.y.ticks)
        assert charts.ratios(RESULT, "race").title.startswith("Ratios between the worst pair")
        with pytest.raises(OptionError, match=r"^this audit has no comparison 'worst pair'"):
            charts.ratios(RESULT, "sex", "worst pair")

    def test_the_privileged_group_is_compared_with(self):
        result = audit(PREDICTION, Y, GROUPS, privileged={"race": "c"}, resamples=0)
        chart = charts.ratios(result, "race")
        assert {text.split("\n")[-1] for _, text in chart.y.ticks} == {"a / c", "$b$ / c"}
        assert {label.split(" ")[-3] for label in ticks(chart.plot())} == {"a", r"\$b\$"}

    def test_long_labels_stand_apart_and_whole(self):
        rng = np.random.default_rng(0)
        p = rng.dirichlet(np.ones(3), size=(2, N))
        names = np.array(["a rather low risk", "a moderate risk", "a very high risk"])
        race = rng.choice(["White, non-Hispanic", "Black or African American"], size=N)
        groups = {"race": race, "sex": GROUPS["sex"], "region": rng.choice(["north", "east"], N)}
        prediction = caveat.Categorical(p, classes=names)
        y = names[p[0].argmax(axis=1)]
        result = audit(prediction, y, groups, intersections=True, resamples=0)
        for chart in (charts.ratios(result), charts.distributions(result)):
            assert stand_apart(chart.plot())
        both = "race x sex x region"
        drawn = ticks(charts.ratios(result, both).plot())
        for row in ratio_rows(result, both):
            of_class = f"class {row.label} " if row.label else ""
            words = f"{of_class}{row.group} / {row.reference}"
            assert any(label.endswith(words) for label in drawn), words

    def test_one_class_is_in_the_title_and_several_in_the_rows(self):
        assert charts.ratios(RESULT, "sex").title == "Ratios between groups by sex, class 1"
        assert "class" not in " ".join(text for _, text in charts.ratios(RESULT).y.ticks)

    def test_undefined_and_unbounded_are_marked(self):
        undefined = {"value": np.nan, "judgment": Judgment.UNDEFINED, "why": "why"}
        unbounded = {"verdict_low": 0.0, "verdict_high": np.inf}
        result = edited(equal_accuracy=undefined, statistical_parity=unbounded)
        ax = charts.ratios(result, "sex").plot()
        assert [text.get_text() for text in ax.texts] == [" undefined"]
        arrows = [line.get_marker() for line in ax.lines if line.get_marker() in ("<", ">")]
        assert arrows == ["<", ">"]
        picture(ax)

    def test_without_intervals(self):
        result = audit(PREDICTION, Y, GROUPS["sex"], resamples=0)
        assert "not judged" in labels(charts.ratios(result).plot())

    def test_a_wide_range_has_few_ticks(self):
        result = edited(epistemic_uncertainty={"value": 500.0, "verdict_high": 900.0})
        assert [text for _, text in charts.ratios(result, "sex").x.ticks] == [
            "1", "10", "100", "1000",
        ]  # fmt: skip

    def test_of_many_those_farthest_from_1(self):
        result = audit(PREDICTION, Y, np.arange(N) % 9, resamples=0)
        chart = charts.ratios(result, comparison="reference")
        every = [row.value for row in ratio_rows(result, "group", "reference")]
        far = sorted(np.abs(np.log(every)), reverse=True)
        found = np.abs(np.log(chart.numbers["ratio"]))
        assert sorted(found, reverse=True) == pytest.approx(far[:40])
        left = len(every) - 40
        assert chart.note == (
            f"The 40 ratios farthest from 1 are shown; {left} others are in the table."
        )

    def test_targets_and_own_axes(self):
        own = small()
        ax = charts.ratios(NUMBERS).plot(ax=own, color="black")
        assert ax is own
        assert ticks(ax)[0].startswith("Mean absolute error of sbp")
        assert {line.get_color() for line in ax.lines if line.get_linestyle() == "None"} == {
            "black"
        }

    def test_how_to_read_equalized_odds(self):
        said = "Equalized odds have a gap if either of their two ratios has."
        assert said in charts.ratios(RESULT, "sex").read
        assert said not in charts.ratios(NUMBERS).read


class TestDistributions:
    def test_quantiles_and_means_are_the_rows(self):
        chart = charts.distributions(RESULT, "epistemic", "sex")
        wanted = {"measure": "epistemic_uncertainty", "attribute": "sex", "kind": "group"}
        for column, statistic in (
            ("mean", "mean"),
            ("5%", "quantile=0.05"),
            ("95%", "quantile=0.95"),
        ):
            rows = RESULT.select(**wanted, statistic=statistic)
            assert list(chart.numbers[column]) == [row.value for row in rows]
        ax = chart.plot()
        assert [tick.split(" (")[0] for tick in ticks(ax)] == ["f", "m"]
        (line,) = curves(ax)
        assert line.get_xdata().tolist() == list(chart.numbers["mean"])
        thin = [segment[:, 0].tolist() for segment in ax.collections[0].get_segments()]
        ends = zip(chart.numbers["5%"], chart.numbers["95%"], strict=True)
        assert thin == [list(pair) for pair in ends]
        assert labels(ax) == ["5 to 95 %", "25 to 75 %", "median", "mean"]
        (median,) = [line for line in ax.lines if line.get_label() == "median"]
        assert median.get_xdata().tolist() == list(chart.numbers["50%"])

    def test_all_attributes_by_default(self):
        ax = charts.distributions(RESULT).plot()
        assert [tick.split(" (")[0] for tick in ticks(ax)] == [
            "sex f", "sex m", r"race \$b\$", "race a", "race c",
        ]  # fmt: skip
        picture(ax)

    def test_targets(self):
        assert "of sbp" in charts.distributions(NUMBERS).x.label
        assert "of dbp" in charts.distributions(NUMBERS, target="dbp").x.label
        with pytest.raises(OptionError, match=r"^target must be one of 'sbp', 'dbp'; got 'hr'$"):
            charts.distributions(NUMBERS, target="hr")

    def test_of_many_groups_the_most_uncertain_and_none_without_weight(self):
        weight = (np.arange(N) % 50 > 0).astype(float)
        result = audit(PREDICTION, Y, np.arange(N) % 50, resamples=0, sample_weight=weight)
        chart = charts.distributions(result)
        assert len(chart.numbers["group"]) == 40
        assert "0" not in chart.numbers["group"]
        assert chart.note == "The 40 most uncertain groups are shown; 9 others are not."

    def test_nothing_finite(self):
        rows = [
            replace(row, value=np.nan) if row.measure == "predictive_uncertainty" else row
            for row in RESULT
        ]
        with pytest.raises(OptionError, match=r"^no group of this audit has a finite predictive"):
            charts.distributions(replace(RESULT, rows=tuple(rows)))

    def test_unknown_part(self):
        message = r"^part must be one of 'predictive', 'aleatoric', 'epistemic'; got 'total'$"
        with pytest.raises(OptionError, match=message):
            charts.distributions(RESULT, "total")


@cache
def alike(**options):
    rng = np.random.default_rng(0)
    X, u = rng.normal(size=(120, 3)), rng.random(120)
    values = {"prediction": (u > 0.6).astype(int), "epi_$x$": 1e-4 * u, "constant": np.ones(120)}
    groups = {"race": rng.choice(["a", "b"], 120), "sex": rng.choice(["f", "m"], 120)}
    given = {"groups": groups, "outcomes": u > 0.6, "random_state": 0}
    many = {"many": np.arange(120) % 40, "more": np.arange(120) % 35}
    chosen = {name: many[name] for name in options.pop("many", ())}
    return consistency(values, X, **(given | ({"groups": chosen} if chosen else {}) | options))


class TestConsistency:
    def test_bars_are_the_rows(self):
        ax = charts.consistency(alike(), "epi_$x$").plot()
        rows = [row for row in alike().select(quantity="epi_$x$") if row.attribute]
        np.testing.assert_allclose(bars(ax), [row.scaled for row in rows])
        np.testing.assert_allclose(whiskers(ax), [(r.scaled_low, r.scaled_high) for r in rows])
        assert ax.yaxis_inverted()
        assert ax.get_xlabel() == (
            r"consistency of epi_\$x\$, in units of the spread: more is better"
        )
        expected = {"all outcomes", "outcome False", "outcome True", "all samples"}
        assert set(labels(ax)) == expected
        assert len({bar.get_hatch() for bar in ax.patches}) == 3
        picture(ax)

    def test_raw_values_of_one_attribute(self):
        chart = charts.consistency(alike(), attribute="sex", scaled=False)
        rows = alike().select(quantity="prediction", attribute="sex")
        whole = alike().rows[0]
        assert chart.numbers["consistency"] == [row.consistency for row in (whole, *rows)]
        assert chart.numbers["samples of"][0] == "all samples"
        assert chart.title == "Consistency of prediction by sex"
        ax = chart.plot()
        np.testing.assert_allclose(bars(ax), [row.consistency for row in rows])
        assert any(np.allclose(line.get_xdata(), whole.consistency) for line in ax.lines)
        first, second, *_ = ticks(ax)
        assert first == f"sex=f ({rows[0].samples})"
        assert second == f"outcome False ({rows[1].samples})"

    def test_in_axes_of_the_caller(self):
        ax = small()
        assert charts.consistency(alike()).plot(ax=ax, color="red", height=0.2) is ax
        assert ax.yaxis_inverted()
        assert {patch.get_facecolor() for patch in ax.patches} == {(1, 0, 0, 1)}
        assert {round(patch.get_height(), 9) for patch in ax.patches} == {0.2}

    def test_without_groups(self):
        chart = charts.consistency(alike(groups=None))
        assert chart.y.ticks[0][1].startswith("outcome False")
        ax = charts.consistency(alike(groups=None, outcomes=None, resamples=0)).plot()
        assert ticks(ax) == ["all samples (120)"]
        assert labels(ax) == ["all samples"]

    def test_many_groups_are_cut_to_the_least_consistent(self):
        result = alike(many=("many",), outcomes=None, resamples=0)
        shown = bars(charts.consistency(result).plot())
        rows = result.select(quantity="prediction", attribute="many")
        np.testing.assert_allclose(sorted(shown), sorted(row.scaled for row in rows)[:30])

    def test_many_bars_leave_out_single_outcomes(self):
        chart = charts.consistency(alike(many=("many", "more"), resamples=0))
        assert len(chart.y.ticks) == 60
        assert not any("outcome" in text for _, text in chart.y.ticks)

    def test_of_outcomes_alone_the_first_are_shown(self):
        result = alike(groups=None, outcomes=tuple(range(120)), resamples=0)
        chart = charts.consistency(result, scaled=False)
        assert len(chart.y.ticks) == 60
        assert all("outcome" in text for _, text in chart.y.ticks)

    def test_long_labels_stand_apart_and_end_with_their_size(self):
        words = np.array(["doctorate or professional school " * 2 + end for end in ("m $x$", "f")])
        given = {"education": words[np.arange(120) % 2]}
        rng = np.random.default_rng(0)
        u = rng.random(120)
        result = consistency(
            u, rng.normal(size=(120, 3)), groups=given, outcomes=u > 0.6, resamples=0
        )
        ax = charts.consistency(result).plot()
        assert stand_apart(ax)
        whole = [" ".join(tick.split()) for tick in ticks(ax)]
        assert f"education={words[0]} (60)".replace("$", r"\$") in whole
        assert f"education={words[1]} (60)" in whole

    @pytest.mark.parametrize(
        ("options", "arguments", "message"),
        [
            (
                {},
                {"quantity": "x"},
                "quantity must be one of 'prediction', 'epi_$x$', 'constant'; got 'x'",
            ),
            ({}, {"attribute": "age"}, "attribute must be one of 'race', 'sex'; got 'age'"),
            ({"groups": None}, {"attribute": "age"}, "attribute must be one of none; got 'age'"),
            (
                {},
                {"quantity": "constant"},
                "the consistency of 'constant' has no scaled value: all samples have one value; "
                "pass scaled=False",
            ),
        ],
    )
    def test_what_is_not_there(self, options, arguments, message):
        with pytest.raises(OptionError) as error:
            charts.consistency(alike(**options), **arguments)
        assert str(error.value) == message

    def test_a_constant_has_raw_values(self):
        assert set(bars(charts.consistency(alike(), "constant", scaled=False).plot())) == {1.0}

    def test_of_an_audit(self):
        with pytest.raises(OptionError, match=r"^the audit has no consistencies; pass X= to"):
            RESULT.plot("consistency")
        few = slice(0, 80)
        X = np.random.default_rng(0).normal(size=(80, 2))
        groups = {"sex": GROUPS["sex"][few]}
        result = audit(PREDICTION.take(few), Y[few], groups, X=X, resamples=40, random_state=0)
        assert result.plot("consistency").patches


def test_an_audit_plots_itself():
    drawn = RESULT.plot(attribute="sex")
    assert ticks(drawn) == ticks(charts.ratios(RESULT, "sex").plot())
    drawn = RESULT.plot("distributions", attribute="sex")
    assert drawn.get_xlabel() == "predictive uncertainty (variance)"


@pytest.mark.parametrize("function", [charts.ratios, charts.distributions])
def test_unknown_attributes_and_other_results(function):
    with pytest.raises(OptionError, match=r"^attribute must be one of 'sex', 'race'; got 'age'$"):
        function(RESULT, attribute="age")
    with pytest.raises(OptionError, match=r"^result must be a FairnessAudit; got a float$"):
        function(3.0)


def test_consistency_of_something_else():
    with pytest.raises(OptionError, match=r"^result must be a Consistency; got a float$"):
        charts.consistency(3.0)
