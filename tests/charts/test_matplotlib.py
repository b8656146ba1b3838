"""What matplotlib draws of a declaration, and what callers can ask of it."""

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex

import caveat
from caveat import charts
from caveat.charts.marks import Spot
from caveat.exceptions import OptionError
from tests.charts import examples
from tests.charts.drawn import corners, curves, labels, picture, small, whiskers


def made(*marks, x=None, y=None, **options):
    """A chart of some marks."""
    axes = {"x": x or charts.Axis(), "y": y or charts.Axis()}
    return charts.Chart(title="A title", read="", marks=marks, **axes, **options)


class TestReliability:
    @pytest.mark.parametrize("kind", ["confidence", "entropy", "variation"])
    def test_draws_the_declaration(self, kind):
        chart = charts.reliability(examples.classes(), kind)
        ax = caveat.plot(examples.classes(), "reliability", view=kind)
        (line,) = curves(ax)
        numbers = chart.numbers
        assert line.get_xdata().tolist() == numbers["predicted"].tolist()
        assert line.get_ydata().tolist() == numbers["observed"].tolist()
        points = corners(ax).tolist()
        for x, low, high in zip(*(numbers[c] for c in ("predicted", "low", "high")), strict=True):
            assert [x, low] in points
            assert [x, high] in points
        (stairs,) = ax.patches
        strip = chart.marks[-1]
        drawn = stairs.get_data()
        assert drawn.edges.tolist() == strip.edges.tolist()
        shares = (drawn.values - drawn.baseline) / (strip.top - strip.bottom)
        assert shares == pytest.approx(strip.heights / strip.heights.max())
        words = ax.get_title(), ax.get_xlabel(), ax.get_ylabel()
        assert words == (chart.title, chart.x.label, chart.y.label)
        assert ax.get_aspect() == 1

    def test_the_density_is_below_0_where_no_tick_is(self):
        ax = charts.reliability(examples.classes()).plot()
        (stairs,) = ax.patches
        assert ax.get_ylim()[0] < stairs.get_data().baseline < stairs.get_data().values.max() < 0
        assert min(ax.get_yticks()) == 0

    def test_the_diagonal_is_there_once_and_is_what_it_says(self):
        ax = charts.reliability(examples.classes()).plot(name="one")
        charts.reliability(examples.weighted_classes()).plot(ax=ax, name="two")
        names = [label.split(" (")[0] for label in labels(ax)]
        assert names == ["perfectly calibrated", "one", "two"]
        assert list(ax.lines[0].get_xdata()) == list(ax.lines[0].get_ydata()) == [0, 1]
        ax = charts.reliability(examples.classes(), "entropy").plot()
        assert labels(ax)[0] == "as often wrong as the entropy says"

    def test_curves_can_be_told_apart_without_colors(self):
        ax = caveat.plot(examples.comparison(), "reliability")
        one, two = curves(ax)
        assert one.get_linestyle() != two.get_linestyle()
        assert one.get_marker() != two.get_marker()
        assert [to_hex(line.get_color()) for line in (one, two)] == ["#0072b2", "#d55e00"]
        filled, outlined = ax.patches  # both densities can be seen
        assert (filled.get_fill(), outlined.get_fill()) == (True, False)

    def test_the_eighth_curve_has_the_style_of_the_first(self):
        chart = made(*(charts.Line(x=[0, 1], y=[i, i], main=True) for i in range(8)))
        drawn = curves(chart.plot())
        styles = [(line.get_color(), line.get_linestyle(), line.get_marker()) for line in drawn]
        assert len(set(styles[:7])) == len({color for color, *_ in styles}) == 7
        assert styles[7] == styles[0]

    @pytest.mark.parametrize(
        "options",
        [
            {"color": "k", "ls": ":", "lw": 3},
            {"c": "k", "linestyle": ":", "linewidth": 3},
        ],
    )
    def test_options_reach_the_line(self, options):
        (line,) = curves(charts.reliability(examples.classes()).plot(**options))
        assert (line.get_color(), line.get_linestyle(), line.get_linewidth()) == ("k", ":", 3)

    def test_value_is_left_out_where_it_is_not_known(self):
        p, codes = examples.class_arrays()
        result = examples.evaluate(caveat.Categorical(p), codes, metrics=["brier"])
        ax = charts.reliability(result).plot()
        assert labels(ax) == ["perfectly calibrated", "observed"]

    @pytest.mark.parametrize(
        ("result", "kind", "expected"),
        [
            ("numbers", "coverage", "observed (AUCE "),
            ("classes", "reliability", "observed (ECE "),
            ("sets", "coverage", "observed (set coverage "),
        ],
    )
    def test_the_legend_has_the_number_that_sums_the_curve_up(self, result, kind, expected):
        chart = charts.chart(examples.ALL[result](), kind)
        assert labels(chart.plot())[1] == f"{expected}{chart.headline.value:.3g})"


class TestOwnAxes:
    @pytest.mark.parametrize("name", examples.ALL)
    def test_all_parts_stay_in_the_axes_given(self, name):
        """Also the density, the label of x and the legend; no figure is made."""
        result = examples.ALL[name]()
        for kind in charts.available(result):
            ax = small()
            chart = charts.chart(result, kind)
            assert chart.plot(ax=ax) is ax
            colorbar = any(isinstance(m, charts.Heat) for m in chart.marks) or any(
                getattr(m, "values", None) is not None for m in chart.marks
            )
            assert len(ax.figure.axes) == 1 + colorbar
            assert ax.child_axes == []
            assert ax.get_xlabel().startswith(chart.x.label)
            assert ax.xaxis.label.get_visible()
            assert len(ax.patches) >= sum(isinstance(m, charts.Strip) for m in chart.marks)
        assert pyplot.get_fignums() == []

    def test_words_of_the_caller_stay(self):
        ax = small()
        ax.set(title="mine", xlabel="mine too", ylabel="and this")
        charts.reliability(examples.classes()).plot(ax=ax)
        words = ax.get_title(), ax.get_xlabel(), ax.get_ylabel()
        assert words == ("mine", "mine too", "and this")

    def test_axes_that_are_none(self):
        with pytest.raises(OptionError, match=r"^ax must be of type Axes; got a int$"):
            charts.confidence_curve(examples.classes()).plot(ax=3)

    def test_a_wider_chart_widens_the_axes_and_lengthens_the_diagonal(self):
        chart = charts.error_calibration(examples.numbers())
        ax = chart.plot()
        largest = max(chart.numbers[name].max() for name in ("observed", "predicted"))
        assert ax.get_xlim()[1] == pytest.approx(1.05 * largest)
        charts.error_calibration(examples.evaluate_wide()).plot(ax=ax)
        assert ax.get_xlim()[1] > 100
        assert list(ax.lines[0].get_xdata()) == list(ax.get_xlim())
        end = ax.get_xlim()
        chart.plot(ax=ax)  # a smaller one does not narrow them
        assert ax.get_xlim() == end

    def test_a_curve_beside_another_leaves_out_what_is_there(self):
        chart = charts.confidence_curve(examples.classes())
        ax = chart.plot()
        assert [line.get_ydata().tolist() for line in ax.lines] == [
            chart.numbers[name].tolist() for name in ("random", "oracle", "error")
        ]
        assert labels(ax)[:2] == ["random", "oracle"]
        chart.plot(ax=ax, name="again")
        assert len(ax.lines) == 4
        assert labels(ax)[-1].startswith("again")


class TestNewFigures:
    @pytest.mark.parametrize("name", ["classes", "numbers", "infinite interval", "one", "point"])
    def test_are_drawn_without_a_warning_and_not_empty(self, name):
        results = {
            "one": lambda: examples.evaluate(
                caveat.Categorical([[[0.9, 0.1]], [[0.7, 0.3]]]), [0], groups=["a"]
            ),
            "point": lambda: examples.evaluate(
                caveat.Gaussian.from_members([[1.0], [2.0]], 1.0), [2.0]
            ),
        }
        result = (results | examples.ALL)[name]()
        for kind in charts.available(result):
            ax = caveat.plot(result, kind, ax=small())
            assert len(np.unique(picture(ax).reshape(-1, 3), axis=0)) > 10

    def test_hold_all_that_is_drawn(self):
        ax = charts.reliability(examples.classes()).plot()
        picture(ax)
        extent = ax.get_tightbbox().extents
        assert (extent >= 0).all()
        assert (extent[2:] <= ax.figure.bbox.extents[2:]).all()

    def test_legend_goes_beside_where_it_is_long(self):
        """The figure is widened once, and only if it is not the caller's."""
        p, codes = examples.class_arrays()
        four = {name: caveat.Categorical(p) for name in "abcd"}
        asked = ["ece", "accuracy"]
        comparison = caveat.compare(four, codes, resamples=0, metrics=asked)
        ax = caveat.plot(comparison, "reliability")
        assert ax.figure.get_figwidth() == pytest.approx(4.6 + 2.6)
        _, own = pyplot.subplots(figsize=(5, 5))
        caveat.plot(comparison, "reliability", ax=own)
        assert own.figure.get_figwidth() == 5
        alone = charts.groups(comparison.evaluations["a"]).plot().figure.get_figwidth()
        ax = caveat.plot(comparison, "groups")
        assert ax.figure.get_figwidth() == pytest.approx(alone + 2.6)


class TestMarks:
    def test_a_single_point_has_a_bar(self):
        chart = charts.coverage(examples.interval())
        (bar,) = chart.plot().collections
        low, high = chart.numbers["low"][0], chart.numbers["high"][0]
        assert bar.get_segments()[0].tolist() == [[0.8, low], [0.8, high]]

    def test_steps_have_no_markers(self):
        ax = charts.ecdf(examples.classes()).plot(name="mine")
        assert {line.get_drawstyle() for line in ax.lines} == {"steps-post"}
        assert {line.get_marker() for line in ax.lines} == {""}
        assert [label.split(" (")[0] for label in labels(ax)] == ["mine: right", "mine: wrong"]

    def test_histogram(self):
        chart = charts.error_histogram(examples.numbers(), bins=12)
        ax = chart.plot(name="mine")
        (mesh,) = curves(ax)
        drawn = mesh.get_array().filled(np.nan).reshape(12, 12)
        assert np.array_equal(drawn, chart.marks[0].values, equal_nan=True)
        assert ax.get_title() == "mine: error against uncertainty"
        assert labels(ax) == ["error = uncertainty"]

    def test_colors_of_the_caller(self):
        ax = charts.error_histogram(examples.classes()).plot(vmin=0, vmax=5)
        assert curves(ax)[0].norm.vmax == 5
        assert labels(ax) == []

    def test_notes_stand_below_the_axis(self):
        y = np.r_[np.linspace(0, 1, 300), 50]
        result = examples.evaluate(caveat.Gaussian(np.zeros(301), 1.0), y)
        chart = charts.error_histogram(result)
        assert chart.plot().get_xlabel() == f"{chart.x.label}\n{chart.note}"
        long = made(charts.Line(x=[0], y=[0]), note="many words " * 20)
        assert max(len(line) for line in long.plot().get_xlabel().split("\n")) <= 60

    def test_split_of_classes(self):
        chart = charts.split(examples.classes(), points=50)
        ax = chart.plot(name="$5 & $6")
        numbers = chart.numbers
        for line, wrong in zip(ax.lines, (0, 1), strict=True):
            for axis, part in ((line.get_xdata(), "aleatoric"), (line.get_ydata(), "epistemic")):
                assert axis.tolist() == numbers[part][numbers["error"] == wrong].tolist()
        assert labels(ax) == [r"\$5 & \$6: right", r"\$5 & \$6: wrong"]

    def test_split_of_numbers_shows_the_largest_errors_on_top(self):
        chart = charts.split(examples.numbers())
        ax = chart.plot()
        (points,) = ax.collections
        assert points.get_array().tolist() == sorted(chart.numbers["error"].tolist())
        order = np.argsort(chart.numbers["error"])
        places = np.c_[chart.numbers["aleatoric"], chart.numbers["epistemic"]]
        assert points.get_offsets().tolist() == places[order].tolist()
        assert ax.figure.axes[1].get_ylabel() == "absolute error"

    def test_many_points_are_a_scatter_and_faint_ones_pale(self):
        x = np.arange(300.0)
        ax = made(charts.Points(x=x, y=x, main=True)).plot()
        assert ax.collections[0].get_offsets()[:, 0].tolist() == x.tolist()
        pale = made(charts.Points(x=[0, 1], y=[0, 1], faint=[True, False])).plot()
        assert pale.collections[0].get_alpha().tolist() == [0.45, 1]

    def test_points_with_both_intervals(self):
        ends = {"low": [0.5], "high": [2.0], "y_low": [2.0], "y_high": [5.0]}
        ax = made(charts.Points(x=[1], y=[3], **ends, marker="x")).plot()
        segments = [lines.get_segments()[0].tolist() for lines in ax.collections]
        assert segments == [[[0.5, 3], [2, 3]], [[1, 2], [1, 5]]]

    def test_a_text_an_image_and_a_span(self):
        picture_of = np.arange(6.0).reshape(2, 3)
        chart = made(
            charts.Image(values=picture_of, x=(0, 3), y=(0, 2)),
            charts.Text(x=1, y=1, text="_$here$", color="blue"),
            charts.Span(low=1, high=2, color="green", label="$span$"),
            Spot(x=[0, 1], y=[0, 1]),
        )
        ax = chart.plot()
        (image,) = ax.images
        assert image.get_array().tolist() == picture_of.tolist()
        assert list(image.get_extent()) == [0, 3, 0, 2]
        (text,) = ax.texts
        assert text.get_text() == r" _\$here\$"
        assert text.get_position() == (1, 1)
        assert labels(ax) == [r"\$span\$"]
        picture(ax)

    def test_rules_along_either_axis(self):
        ax = made(charts.Rule(x=2.0), charts.Rule(y=3.0, color="orange", dash="dash")).plot()
        down, across = ax.lines
        assert list(down.get_xdata()) == [2, 2]
        assert list(across.get_ydata()) == [3, 3]
        assert to_hex(across.get_color()) == charts.COLORS["orange"].lower()
        assert ax.get_legend() is None

    def test_a_legend_may_be_left_out(self):
        line = charts.Line(x=[0, 1], y=[0, 1], label="a line", marker="square", color="green")
        assert made(line, legend=False).plot().get_legend() is None
        (drawn,) = made(line).plot().lines
        assert (drawn.get_marker(), drawn.get_linestyle()) == ("s", "-")

    def test_a_band_or_a_strip_without_a_line(self):
        strip = charts.Strip(edges=[0, 1, 2], heights=[0, 0], bottom=-1, top=-0.5)
        ax = made(charts.Band(x=[0, 1], low=[0, 0], high=[1, 1]), strip).plot()
        assert to_hex(ax.collections[0].get_facecolor()[0]) == charts.COLORS["blue"].lower()
        assert ax.patches[0].get_data().values.tolist() == [-1, -1]

    def test_scales(self):
        line = charts.Line(x=[1, 10], y=[0.1, 0.2])
        ax = made(line, x=charts.Axis(log=True), y=charts.Axis(percent=True, ends=(0, 1))).plot()
        picture(ax)
        assert ax.get_xscale() == "log"
        assert "20%" in [label.get_text() for label in ax.get_yticklabels()]

    def test_intervals_without_an_axis_have_ends(self):
        ax = made(charts.Points(x=[1, 2], y=[1, 2], low=[0, np.nan], high=[3, np.nan])).plot()
        assert whiskers(ax) == [(0, 3)]


class TestHostileNames:
    NAME = "_$x_1$ <b>\n\t"

    def test_of_curves_titles_and_axes(self):
        line = charts.Line(x=[0, 1], y=[0, 1], label=self.NAME, main=True)
        axis = charts.Axis(label=self.NAME, ticks=((0, "$0$\n_one"), (1, "1")))
        chart = charts.Chart(title=self.NAME, read="", x=axis, y=axis, marks=(line,))
        ax = chart.plot()
        picture(ax)
        plain = r"_\$x_1\$ <b>"
        assert labels(ax) == [f" {plain}"]  # matplotlib leaves out what begins with _
        assert (ax.get_title(), ax.get_xlabel(), ax.get_ylabel()) == (plain,) * 3
        assert ax.get_xticklabels()[0].get_text() == "\\$0\\$\n_one"

    @pytest.mark.parametrize("kind", ["reliability", "confidence_curve", "groups"])
    def test_of_techniques(self, kind):
        ax = caveat.plot(examples.comparison(), kind)
        assert any(label.startswith(r" _sure \$x\$") for label in labels(ax))
        picture(ax)

    def test_of_samples_and_groups_with_intervals_alone(self):
        points = charts.Points(x=[1], y=[1], low=[0], high=[2], marker=None, label=self.NAME)
        ax = made(points).plot()
        assert labels(ax) == [r" _\$x_1\$ <b>"]
        picture(ax)


@pytest.mark.parametrize("kind", ["error_histogram", "split"])
def test_more_is_darker(kind):
    chart = charts.chart(examples.numbers(), kind)
    assert "The stronger the color, the " in chart.read
    mappable = next(part for part in chart.plot().collections if part.get_array() is not None)
    few, many = (sum(mappable.cmap(end)[:3]) for end in (0.0, 1.0))
    assert many < few
