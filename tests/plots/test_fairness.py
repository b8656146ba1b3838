import matplotlib

matplotlib.use("Agg")

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from matplotlib import pyplot

import caveat
from caveat.exceptions import OptionError
from caveat.fairness import audit
from caveat.fairness.panels import ratio_rows
from caveat.plots._fairness import plot_distributions, plot_ratios
from caveat.results.judgments import Judgment

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


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


def ticks(ax):
    return [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()]


class TestRatios:
    def test_points_are_the_rows(self):
        ax = plot_ratios(RESULT, attribute="sex")
        rows = [
            row
            for row in RESULT.select(attribute="sex", kind="ratio")
            if row.statistic in ("", "farther from 1")
        ]
        assert len(ticks(ax)) == len(rows)
        drawn = {}
        for line in ax.lines:
            if line.get_gid() == "caveat-curve":
                drawn |= dict(zip(line.get_ydata(), line.get_xdata(), strict=True))
        assert [drawn[place] for place in ax.get_yticks()] == [row.value for row in rows]
        spans = {}
        for lines in ax.collections:
            for (low, place), (high, _) in lines.get_segments():
                spans[place] = (low, high)
        for place, row in zip(ax.get_yticks(), rows, strict=True):
            assert spans[place] == (row.verdict_low, row.verdict_high)
        assert ax.get_xscale() == "log"
        ax.figure.canvas.draw()
        assert "1" in [label.get_text() for label in ax.get_xticklabels()]

    def test_band_is_the_fair_one(self):
        ax = plot_ratios(RESULT)
        (band,) = ax.patches
        left, right = band.get_x(), band.get_x() + band.get_width()
        assert (left, right) == pytest.approx((0.8, 1.25))

    def test_worst_pairs_of_several_groups_unless_asked(self):
        worst, all_pairs = plot_ratios(RESULT), plot_ratios(RESULT, comparison="reference")
        assert len(ticks(all_pairs)) > len(ticks(worst))
        assert any("race" in tick for tick in ticks(worst))
        with pytest.raises(OptionError, match=r"^this audit has no comparison 'worst pair'"):
            plot_ratios(RESULT, attribute="sex", comparison="worst pair")

    def test_the_privileged_group_is_compared_with(self):
        result = audit(PREDICTION, Y, GROUPS, privileged={"race": "c"}, resamples=0)
        ax = plot_ratios(result, attribute="race")
        assert all(tick.endswith("/ c") for tick in ticks(ax))
        assert {tick.split(": ")[1] for tick in ticks(ax)} == {"a / c", r"\$b\$ / c"}

    def test_bars_are_those_that_decide(self):
        ax = plot_ratios(RESULT, attribute="race")
        rows = RESULT.select(attribute="race", kind="ratio", comparison="worst pair")
        rows = [row for row in rows if row.statistic in ("", "farther from 1")]
        spans = [segment[:, 0] for lines in ax.collections for segment in lines.get_segments()]
        wider = [row for row in rows if row.verdict_low < row.low < row.high < row.verdict_high]
        assert len(wider) == len(rows) == len(spans)
        wanted = sorted((row.verdict_low, row.verdict_high) for row in rows)
        assert sorted(map(tuple, spans)) == wanted

    def test_long_labels_stand_apart_and_whole(self):
        rng = np.random.default_rng(0)
        p = rng.dirichlet(np.ones(3), size=(2, N))
        names = np.array(["a rather low risk", "a moderate risk", "a very high risk"])
        race = rng.choice(["White, non-Hispanic", "Black or African American"], size=N)
        groups = {"race": race, "sex": GROUPS["sex"], "region": rng.choice(["north", "east"], N)}
        prediction = caveat.Categorical(p, classes=names)
        y = names[p[0].argmax(axis=1)]
        result = audit(prediction, y, groups, intersections=True, resamples=0)
        for drawn in (plot_ratios(result), plot_distributions(result)):
            drawn.figure.canvas.draw()
            boxes = [label.get_window_extent() for label in drawn.get_yticklabels()]
            for upper, lower in pairwise(boxes):
                assert lower.y1 <= upper.y0
        rows = [row for row in ratio_rows(result, "race x sex x region") if row.label]
        labels = ticks(plot_ratios(result, attribute="race x sex x region"))
        for row in rows:
            words = f"class {row.label}: {row.group} / {row.reference}"
            assert any(label.endswith(words) for label in labels), words

    def test_undefined_and_unbounded_are_marked(self):
        edits = {"equal_accuracy": {"value": np.nan, "judgment": Judgment.UNDEFINED, "why": "why"}}
        edits["statistical_parity"] = {"verdict_low": 0.0, "verdict_high": np.inf}
        rows = tuple(
            replace(row, **edits.get(row.measure, {})) if row.kind == "ratio" else row
            for row in RESULT
        )
        ax = plot_ratios(replace(RESULT, rows=rows), attribute="sex")
        assert [text.get_text() for text in ax.texts] == [" undefined"]
        arrows = [line.get_marker() for line in ax.lines if line.get_marker() in ("<", ">")]
        assert arrows == ["<", ">"]
        ax.figure.canvas.draw()

    def test_without_intervals(self):
        ax = plot_ratios(audit(PREDICTION, Y, GROUPS["sex"], resamples=0))
        assert "not judged" in ax.get_legend_handles_labels()[1]

    def test_a_wide_range_has_few_ticks(self):
        rows = tuple(
            replace(row, value=500.0, verdict_high=900.0)
            if row.measure == "epistemic_uncertainty"
            else row
            for row in RESULT
        )
        ax = plot_ratios(replace(RESULT, rows=rows), attribute="sex")
        ax.figure.canvas.draw()
        assert "100" in [label.get_text() for label in ax.get_xticklabels()]

    def test_of_many_those_farthest_from_1(self):
        result = audit(PREDICTION, Y, np.arange(N) % 9, resamples=0)
        ax = plot_ratios(result, comparison="reference")
        assert len(ticks(ax)) == 40

    def test_targets_and_own_axes(self):
        _, own = pyplot.subplots()
        ax = plot_ratios(NUMBERS, ax=own, color="black")
        assert ax is own
        assert "mean absolute error of sbp:" in ticks(ax)[0]

    def test_unknown_attribute(self):
        with pytest.raises(OptionError, match=r"^attribute must be one of sex, race; got 'age'$"):
            plot_ratios(RESULT, attribute="age")


class TestDistributions:
    def test_quantiles_and_means_are_the_rows(self):
        ax = plot_distributions(RESULT, "epistemic", attribute="sex")
        assert [tick.split(" (")[0] for tick in ticks(ax)] == ["sex f", "sex m"]
        (line,) = [line for line in ax.lines if line.get_gid() == "caveat-curve"]
        means = RESULT.select(
            measure="epistemic_uncertainty", attribute="sex", kind="group", statistic="mean"
        )
        assert line.get_xdata().tolist() == [row.value for row in means]
        whole = ax.collections[0].get_segments()
        low, high = (
            RESULT.select(
                measure="epistemic_uncertainty", attribute="sex", kind="group", statistic=statistic
            )
            for statistic in ("quantile=0.05", "quantile=0.95")
        )
        assert [segment[:, 0].tolist() for segment in whole] == [
            [a.value, b.value] for a, b in zip(low, high, strict=True)
        ]

    def test_all_attributes_by_default(self):
        ax = plot_distributions(RESULT)
        assert len(ticks(ax)) == 5
        ax.figure.canvas.draw()

    def test_targets(self):
        assert "of sbp" in plot_distributions(NUMBERS).get_xlabel()
        assert "of dbp" in plot_distributions(NUMBERS, target="dbp").get_xlabel()
        with pytest.raises(OptionError, match=r"^target must be one of sbp, dbp; got 'hr'$"):
            plot_distributions(NUMBERS, target="hr")

    def test_unknown_part(self):
        with pytest.raises(
            OptionError, match=r"^part must be one of aleatoric, epistemic, predict"
        ):
            plot_distributions(RESULT, "total")

    def test_of_many_groups_the_most_uncertain_and_none_without_weight(self):
        weight = (np.arange(N) % 50 > 0).astype(float)
        result = audit(PREDICTION, Y, np.arange(N) % 50, resamples=0, sample_weight=weight)
        ax = plot_distributions(result)
        assert len(ticks(ax)) == 40
        assert not any(tick.startswith("group 0 ") for tick in ticks(ax))


class TestDispatch:
    def test_an_audit_plots_itself(self):
        assert ticks(RESULT.plot(attribute="sex")) == ticks(plot_ratios(RESULT, attribute="sex"))
        drawn = RESULT.plot("distributions", attribute="sex")
        assert drawn.get_xlabel() == "predictive uncertainty (variance)"

    def test_consistency_needs_features(self):
        with pytest.raises(OptionError, match="the audit has no consistencies; pass X="):
            RESULT.plot("consistency")
        few = slice(0, 80)
        groups = {"sex": GROUPS["sex"][few]}
        prediction = PREDICTION.take(few)
        X = RNG.normal(size=(80, 2))
        result = audit(prediction, Y[few], groups, X=X, resamples=40, random_state=0)
        assert result.plot("consistency").patches
