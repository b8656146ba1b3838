"""The charts of experiments and of a policy."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex

import caveat
from caveat import charts
from caveat.exceptions import OptionError
from caveat.experiments import ClassDetection, Curve, Disentanglement, domain_shift, shift_curves
from tests.charts.drawn import bars, labels, picture, small, ticks, whiskers
from tests.report.disentanglements import result as disentangled
from tests.report.disentanglements import two_decompositions


def lines(ax):
    return {line.get_label().split(" (")[0]: line for line in ax.lines}


class TestSweeps:
    def test_two_panels_in_percent(self):
        given = disentangled("good")
        axes = given.plot()
        assert len(axes) == 2
        assert [ax.get_xlabel().split("\n")[0] for ax in axes] == [
            "training data used, %", "labels permuted, %",
        ]  # fmt: skip
        assert [ax.get_ylabel() for ax in axes] == [
            "accuracy in %; uncertainty in % of its largest", "",
        ]  # fmt: skip
        assert [ax.get_title() for ax in axes] == [
            "Less or more training data; ideal: epistemic falls, aleatoric stays",
            "Noise in the labels; ideal: aleatoric rises, epistemic stays",
        ]
        for ax, curve in zip(axes, given.curves, strict=True):
            drawn = lines(ax)
            assert list(drawn) == ["accuracy", "aleatoric", "epistemic"]
            assert drawn["accuracy"].get_xdata() == pytest.approx(100 * curve.levels)
            assert drawn["accuracy"].get_ydata() == pytest.approx(100 * curve.score.mean(axis=0))
            for part in ("aleatoric", "epistemic"):
                largest = max(getattr(c, part).mean(axis=0).max() for c in given.curves)
                expected = 100 * getattr(curve, part).mean(axis=0) / largest
                assert drawn[part].get_ydata() == pytest.approx(expected)
                assert f"(100 % = {largest:.3g})" in drawn[part].get_label()
        assert len({line.get_color() for line in axes[0].lines}) == 3
        assert len({line.get_marker() for line in axes[0].lines}) == 3
        assert axes[0].get_legend() is None
        assert axes[1].get_legend() is not None

    def test_numbers_are_in_their_own_unit_and_the_note_has_the_correlations(self):
        given = disentangled("leak")
        for chart, curve in zip(charts.sweeps(given), given.curves, strict=True):
            columns = [curve.levels * 100, curve.score, curve.aleatoric, curve.epistemic]
            for found, expected in zip(chart.numbers.values(), columns, strict=True):
                assert found == pytest.approx(expected.reshape(-1, len(found)).mean(axis=0))
        terms = given.error().terms
        said = [f"{terms[name].correlation:z.2f}" for name in ("epistemic_consistency",)]
        assert all(f"epistemic {number} (" in charts.sweeps(given)[0].note for number in said)

    def test_sizes_far_apart_have_a_logarithmic_axis_with_plain_numbers(self):
        left, right = disentangled("good").plot()
        assert (left.get_xscale(), right.get_xscale()) == ("log", "linear")
        expected = ["1", "5", "10", "25", "50", "100"]
        assert [label.get_text() for label in left.get_xticklabels()] == expected
        assert left.get_xticks() == pytest.approx([float(text) for text in expected])
        near = [
            Curve(c.kind, c.decomposition, np.linspace(0.25, 1, len(c.levels)), c.score,
                  c.aleatoric, c.epistemic)
            for c in disentangled("good").curves
        ]  # fmt: skip
        assert Disentanglement(curves=tuple(near)).plot()[0].get_xscale() == "linear"

    def test_bands_are_two_standard_deviations_over_repeats(self):
        given = disentangled("good")
        size, _ = given.curves
        score, band = charts.sweeps(given)[0].marks[:2]
        spread = np.sqrt(((size.score - size.score.mean(axis=0)) ** 2).sum(axis=0) / 4)
        assert band.high - score.y == pytest.approx(200 * spread)
        assert score.y - band.low == pytest.approx(200 * spread)
        left, _ = given.plot()
        assert len(left.collections) == 3
        corners = left.collections[0].get_paths()[0].vertices[:, 1]
        assert corners.max() == pytest.approx(band.high.max())
        assert to_hex(left.collections[1].get_facecolor()[0]) == to_hex(left.lines[1].get_color())
        one, _ = charts.sweeps(disentangled("good", repeats=1))
        assert not any(isinstance(mark, charts.Band) for mark in one.marks)

    def test_an_uncertainty_is_never_drawn_below_none(self):
        wild = np.array([[0.0, 1, 2], [1, 0, 1], [3, 0, 0]])
        curves = [
            Curve(kind, "information", [0.1, 0.5, 1.0], np.full((3, 3), 0.5), wild, wild)
            for kind in ("size", "noise")
        ]
        chart, _ = charts.sweeps(Disentanglement(curves=tuple(curves)))
        bands = [mark for mark in chart.marks if isinstance(mark, charts.Band)]
        assert all((band.low == 0).all() for band in bands)
        assert not chart.x.log

    def test_a_band_that_is_very_wide_is_cut_off(self):
        size, noise = disentangled("good").curves
        wild = size.epistemic * np.array([[0.1], [0.1], [0.1], [0.1], [4.6]])
        wide = Curve("size", "information", size.levels, size.score, size.aleatoric, wild)
        given = Disentanglement(curves=(wide, noise))
        left, _ = given.plot()
        assert charts.sweeps(given)[0].marks[-1].high.max() > 200
        assert left.get_ylim() == pytest.approx((0, 1.04 * 1.3 * 100))
        assert disentangled("good").plot()[0].get_ylim()[1] < 1.04 * 130

    def test_no_accuracy_is_drawn_above_all_right(self):
        size, noise = disentangled("good").curves
        score = np.array([[1.0], [0.9], [1.0], [0.9], [1.0]]) * np.ones_like(size.score)
        for more, expected in ((0, True), (1, False)):
            curve = Curve(
                "size", "information", size.levels, score + more, size.aleatoric, size.epistemic
            )
            chart, _ = charts.sweeps(Disentanglement(curves=(curve, noise)))
            assert (chart.marks[1].high == 100).all() == expected
            assert (chart.marks[1].high > 200).all() != expected

    def test_regression_and_a_score_below_zero(self):
        options = {"task": "regression", "score_name": "1 - standardized MAE"}
        size, noise = disentangled("good", **options).curves
        worse = Curve("noise", "information", noise.levels, noise.score - 0.8, noise.aleatoric,
                      noise.epistemic)  # fmt: skip
        left, right = Disentanglement(curves=(size, worse), **options).plot()
        assert right.get_xlabel().startswith("targets permuted, %")
        assert right.get_ylim()[0] < -40
        assert left.get_ylim() == right.get_ylim()

    def test_a_part_that_is_zero_or_infinite_leaves_no_trace(self):
        size, noise = disentangled("good").curves
        nothing = np.zeros_like(size.epistemic)
        endless = noise.aleatoric.copy()
        endless[0, 2] = np.inf
        none = np.zeros_like(endless)
        curves = (
            Curve("size", "information", size.levels, size.score, size.aleatoric, nothing),
            Curve("noise", "information", noise.levels, noise.score, endless, none),
        )
        left, right = Disentanglement(curves=curves).plot()
        assert (lines(left)["epistemic"].get_ydata() == 0).all()
        drawn = lines(right)["aleatoric"].get_ydata()
        assert np.flatnonzero(np.isnan(drawn)).tolist() == [2]
        assert np.isfinite(right.get_ylim()).all()
        picture(left)

    def test_axes_and_options_of_the_caller(self):
        figure, mine = pyplot.subplots(2, 1)
        axes = disentangled("trap").plot("sweeps", ax=mine, linewidth=4)
        assert list(axes) == list(mine)
        assert {line.get_linewidth() for line in axes[0].lines} == {4}
        assert figure is axes[0].figure
        with pytest.raises(OptionError) as caught:
            disentangled("trap").plot(ax=mine[0])
        assert str(caught.value) == "ax must be 2 Axes; got 1"

    def test_one_of_several_decompositions(self):
        given = two_decompositions()
        first, second = (charts.sweeps(given, name)[0] for name in (None, "pairwise_kl"))
        assert first.numbers["aleatoric"] != pytest.approx(second.numbers["aleatoric"])
        with pytest.raises(OptionError, match="was not asked for"):
            given.plot(decomposition="variance")


class TestTerms:
    def test_are_the_errors_with_their_intervals(self):
        given = disentangled("leak")
        error = given.error()
        expected = [*error.terms.values(), error]
        ax = given.plot("terms")
        assert bars(ax) == pytest.approx([part.value for part in expected])
        ends = np.array([(part.low, part.high) for part in expected])
        assert np.array(whiskers(ax)) == pytest.approx(ends)
        assert ticks(ax) == [
            "aleatoric follows noise (C1)",
            "epistemic follows missing data (C2)",
            "aleatoric unmoved by the amount of data (O1)",
            "epistemic unmoved by noise (O2)",
            "UDE, the mean of the four",
        ]
        assert ax.get_xlabel() == "error of the correlation; 0 is ideal"
        assert ax.get_xlim() == (0, 1)
        assert ax.yaxis_inverted()

    def test_of_several_decompositions_stand_side_by_side(self):
        given = two_decompositions()
        ax = given.plot("terms")
        assert len(ax.patches) == 10
        assert len({bar.get_facecolor() for bar in ax.patches}) == 2
        assert len({bar.get_hatch() for bar in ax.patches}) == 2
        ends = sorted((bar.get_y(), bar.get_y() + bar.get_height()) for bar in ax.patches)
        assert all(end <= start for (_, end), (start, _) in pairwise(ends))
        assert set(labels(ax)) == {"information", "pairwise kl", "counts as met"}
        assert len(charts.terms(given, "pairwise_kl").plot().patches) == 5

    def test_of_one_repeat_have_no_intervals(self):
        ax = disentangled("trap", repeats=1).plot("terms")
        assert whiskers(ax) == []
        assert ax.get_xlim() == (0, 1)

    def test_options(self):
        given, mine = disentangled("backwards"), small()
        ax = given.plot("terms", correlation="spearman", weights=(0, 1, 0, 0), ax=mine, color="red")
        assert ax is mine
        error = given.error("spearman", (0, 1, 0, 0))
        assert bars(ax)[-1] == pytest.approx(error.value) == pytest.approx(2.0)
        assert ticks(ax)[-1] == "UDE, weighted"
        assert ax.get_xlim()[1] == pytest.approx(1.05 * 2)
        assert ax.patches[0].get_facecolor() == (1, 0, 0, 1)


def detection(classes=3, repeats=4, decompositions=("information", "bias_variance")):
    rng = np.random.default_rng(0)
    auc = 0.5 + rng.random((len(decompositions), repeats, classes, 3)) / 2
    return ClassDetection(tuple(f"$c_{i}$" for i in range(classes)), decompositions, auc)


class TestDetection:
    def test_bars_are_the_means(self):
        result = detection()
        ax = result.plot()
        rows = [row for row in result.rows if not row.left_out and "-" not in row.uncertainty]
        np.testing.assert_allclose(bars(ax), [row.value for row in rows])
        np.testing.assert_allclose(whiskers(ax), [(row.low, row.high) for row in rows])
        assert ticks(ax) == ["information", "bias variance"]
        assert labels(ax) == ["aleatoric", "epistemic", "total"]
        assert ax.lines[0].get_xdata()[0] == 0.5
        assert ax.get_xlabel().startswith("ROC AUC")
        picture(ax)

    def test_one_decomposition_by_class(self):
        result = detection()
        ax = result.plot(decomposition="bias_variance", by_class=True)
        assert ticks(ax) == ["mean", r"\$c_0\$", r"\$c_1\$", r"\$c_2\$"]
        rows = result.select(decomposition="bias_variance")
        expected = [row.value for row in rows if "-" not in row.uncertainty]
        np.testing.assert_allclose(bars(ax), expected)
        picture(ax)

    def test_in_given_axes_without_intervals(self):
        own = small()
        chart = charts.detection(detection(repeats=1), "information")
        ax = chart.plot(ax=own, color="green")
        assert ax is own
        assert ticks(ax) == ["information"]
        assert whiskers(ax) == []
        assert {to_hex(patch.get_facecolor()) for patch in ax.patches} == {"#008000"}

    def test_of_many_classes_those_that_are_found_least(self):
        result = detection(classes=45)
        shown = [text for _, text in charts.detection(result, by_class=True).y.ticks]
        epistemic = result.auc[0, :, :, 1].mean(axis=0)
        assert shown[1:] == [f"$c_{i}$" for i in sorted(np.argsort(epistemic)[:30])]

    def test_an_unknown_decomposition(self):
        with pytest.raises(
            OptionError, match="must be one of 'information', 'bias_variance'; got 'x'"
        ):
            charts.detection(detection(), "x")


@cache
def shift(resamples=50, strengths=(0, 1, 2)):
    rng = np.random.default_rng(0)
    x, members = rng.normal(size=(60, 1)), rng.normal(size=(4, 1))
    return shift_curves(
        lambda X: caveat.Gaussian.from_members(X[:, 0] * (1 + 0.1 * members), 1.0),
        x, x[:, 0] + rng.normal(size=60), strengths=strengths, resamples=resamples, random_state=0,
    )  # fmt: skip


class TestShift:
    def test_uncertainties(self):
        result = shift()
        ax = result.plot()
        for line, name in zip(ax.lines, ("aleatoric", "epistemic", "total"), strict=True):
            assert line.get_xdata().tolist() == list(result.strengths)
            assert line.get_ydata().tolist() == result.curve(name)[0].tolist()
            assert line.get_label() == name
        assert len(ax.collections) == 3
        low, high = result.curve("epistemic")[1:]
        path = ax.collections[1].get_paths()[0].vertices
        assert (path[:, 1].min(), path[:, 1].max()) == (low.min(), high.max())
        assert ax.get_xlabel() == "strength of gaussian noise"
        assert ax.get_ylabel() == "mean uncertainty"
        picture(ax)

    def test_metrics_of_two_results_in_the_same_axes(self):
        ax = charts.shift(shift(0), "mean_absolute_error").plot(name="_a")
        assert ax.get_ylabel() == "mean absolute error"
        charts.shift(shift(0), ["mean_absolute_error"]).plot(name="b", ax=ax, lw=4)
        assert labels(ax) == [" _a", "b"]
        first, second = ax.lines
        assert first.get_color() != second.get_color()
        assert second.get_linewidth() == 4
        assert len(ax.collections) == 0

    def test_several_of_a_named_result(self):
        ax = charts.shift(shift(), ["mean_absolute_error", "total"]).plot(name="mine")
        assert ax.get_ylabel() == "value"
        assert labels(ax) == ["mine: mean absolute error", "mine: total"]

    def test_a_single_strength_has_a_bar(self):
        ax = shift(strengths=(0.5,)).plot(quantity="total")
        (bar,) = ax.collections
        low, high = shift(strengths=(0.5,)).curve("total")[1:]
        assert bar.get_segments()[0].tolist() == [[0.5, low[0]], [0.5, high[0]]]
        picture(ax)

    def test_unknown_quantities(self):
        with pytest.raises(OptionError, match="there is no curve of quantity 'nothing'"):
            shift(0).plot(quantity="nothing")
        message = r"^quantity must be a name or a list of names; got 3$"
        with pytest.raises(OptionError, match=message):
            charts.shift(shift(0), 3)


def domain(metrics=None, change=lambda p: p**2):
    rng = np.random.default_rng(0)
    p = rng.random((3, 300))
    y = (rng.random(300) < p.mean(axis=0)).astype(int)
    one, two = (caveat.Categorical.from_binary(q) for q in (p, change(p)))
    return domain_shift(one, y, two, y, metrics=metrics, resamples=100, random_state=0)


class TestDomain:
    def test_points_and_intervals(self):
        result = domain(["accuracy", "brier", "spearman"])
        rows = [row for row in result if np.isfinite(row.ratio)]
        assert len(rows) == 5  # a correlation has no ratio
        chart = charts.domain_shift(result)
        assert chart.numbers["ratio"].tolist() == [row.ratio for row in rows]
        ax = result.plot()
        names = ["accuracy score", "brier loss", "aleatoric", "epistemic", "total"]
        assert ticks(ax) == names
        points = {
            y: x
            for line in ax.lines
            if line.get_marker() in ("o", "D")
            for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
        }
        assert [points[place] for place in ax.get_yticks()] == [row.ratio for row in rows]
        np.testing.assert_allclose(whiskers(ax), [(r.ratio_low, r.ratio_high) for r in rows])
        assert ax.get_xscale() == "log"
        assert labels(ax) == ["equal", "metric", "uncertainty"]
        picture(ax)

    def test_an_interval_without_ends(self):
        ax = domain(["ece"], lambda p: p).plot()
        assert {line.get_marker() for line in ax.lines} >= {"<", ">"}
        (ends,) = [line.get_xdata() for line in ax.lines if line.get_marker() == ">"]
        assert ends[0] == pytest.approx(ax.get_xlim()[1])
        picture(ax)

    def test_metrics_alone_without_intervals(self):
        y = np.arange(30.0)
        one, two = (caveat.Interval(y - half, y + half, coverage=0.9) for half in (1, 2))
        result = domain_shift(one, y, two, y, metrics=["mean_interval_width"], resamples=0)
        ax = result.plot(color="red")
        assert labels(ax) == ["equal", "metric"]
        assert whiskers(ax) == []
        (points,) = [line for line in ax.lines if line.get_marker() == "o"]
        assert points.get_xdata() == [2]
        assert points.get_color() == "red"
        picture(ax)

    def test_nothing_to_draw(self):
        y = np.arange(30.0)
        one = caveat.Interval(y - 1, y + 1, coverage=0.9)
        result = domain_shift(one, y + 9, one, y, metrics=["interval_coverage"], resamples=0)
        with pytest.raises(OptionError, match="no quantity with a ratio; its gaps are in to_frame"):
            result.plot()


@cache
def triage(promise="mean", risk=0.3):
    p = np.linspace(0.5, 0.99, 300)
    y = (np.random.default_rng(0).random(300) < p).astype(int)
    prediction = caveat.Categorical.from_binary(p)
    policy = caveat.TriagePolicy(risk=risk, promise=promise).fit(prediction, y)
    return policy.decide(prediction)


class TestOperatingCurve:
    @pytest.mark.parametrize("promise", ["mean", "high-probability"])
    def test_is_the_curve_of_the_policy(self, promise):
        result = triage(promise)
        chart, curve = charts.operating_curve(result), result.curve
        some = curve.accepted > 0
        upper, observed, allowed, taken = chart.marks
        assert upper.x.tolist() == observed.x.tolist() == curve.coverage[some].tolist()
        assert upper.y.tolist() == curve.upper[some].tolist()
        assert observed.y.tolist() == curve.error[some].tolist()
        assert allowed.y == result.risk
        assert taken.x.tolist() == [curve.coverage[curve.reached - 1]]
        assert taken.y.tolist() == [curve.error[curve.reached - 1]]
        assert len(chart.numbers["accepted"]) in (50, 51)
        assert curve.coverage[curve.reached - 1] in chart.numbers["accepted"]
        picture(caveat.plot(result))

    def test_a_policy_that_accepts_nothing(self):
        result = triage(risk=0.001)
        assert result.curve.reached == 0
        assert "taken" not in [mark.label for mark in charts.operating_curve(result).marks]

    def test_groups_have_thresholds_of_their_own(self):
        p = np.linspace(0.5, 0.99, 300)
        y = (np.random.default_rng(0).random(300) < p).astype(int)
        prediction, group = caveat.Categorical.from_binary(p), np.arange(300) % 2
        policy = caveat.TriagePolicy(0.3, promise="mean").fit(prediction, y, groups=group)
        chart = charts.operating_curve(policy.decide(prediction, groups=group))
        assert "taken" not in [mark.label for mark in chart.marks]
        assert "each group has a threshold of its own. Read off" in chart.read


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (charts.sweeps, "Disentanglement"),
        (charts.terms, "Disentanglement"),
        (charts.detection, "ClassDetection"),
        (charts.shift, "ShiftCurves"),
        (charts.domain_shift, "DomainShift"),
        (charts.operating_curve, "Triage"),
    ],
)
def test_results_of_another_kind(function, kind):
    name = "triage" if kind == "Triage" else "result"
    with pytest.raises(OptionError) as error:
        function(3.0)
    assert str(error.value) == f"{name} must be a {kind}; got a float"
