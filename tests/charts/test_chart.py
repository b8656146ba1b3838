"""Declarations, and several in one."""

from dataclasses import replace

import numpy as np
import pytest

from caveat import charts
from caveat.charts.chart import Chart
from caveat.charts.layout import label_lines, literal, padded, ratio_axis, row_axis, sized_lines
from caveat.charts.marks import COLORS, STYLES, Axis, style_of
from caveat.exceptions import OptionError
from tests.charts import examples
from tests.charts.test_matplotlib import made


def test_one_line_in_a_notebook_and_a_drawing():
    chart = charts.reliability(examples.classes())
    rows = len(chart.numbers["predicted"])
    assert repr(chart) == f"<Chart: Reliability of the confidence, {rows} rows>"
    assert repr(made()) == "<Chart: A title, 0 rows>"
    assert chart._repr_svg_().startswith("<svg")
    assert len(chart.to_frame()) == rows


def test_styles_are_okabe_and_itos_and_all_differ():
    assert len({style.color for style in STYLES}) == len(STYLES) == 7
    assert {style.color for style in STYLES} <= set(COLORS)
    assert COLORS["blue"] == "#0072B2"
    assert style_of(7) == style_of(0)


class TestOverlay:
    def test_has_the_curves_by_name_and_the_references_once(self):
        few = {"a": examples.classes(), "b {x}": examples.weighted_classes()}
        both = charts.overlay({n: charts.reliability(r) for n, r in few.items()}, "Read it.")
        diagonal, *lines = both.marks
        assert isinstance(diagonal, charts.Rule)
        assert [mark.label for mark in lines] == ["a", "b {x}"]
        for mark, result, style in zip(lines, few.values(), STYLES, strict=False):
            numbers = charts.reliability(result).numbers
            assert mark.y.tolist() == numbers["observed"].tolist()
            assert (mark.color, mark.dash, mark.marker) == (style.color, style.dash, style.marker)
        assert (both.read, both.headline, both.note) == ("Read it.", None, "")
        frame = both.to_frame()
        sizes = [len(charts.reliability(result).numbers["observed"]) for result in few.values()]
        assert frame["technique"].tolist() == ["a"] * sizes[0] + ["b {x}"] * sizes[1]

    def test_axes_and_the_diagonal_reach_the_largest(self):
        wide = examples.evaluate_wide()
        small = charts.error_calibration(examples.numbers())
        large = charts.error_calibration(wide)
        both = charts.overlay({"small": small, "large": large}, "")
        assert both.y.ends == both.x.ends == (0.0, large.y.ends[1])
        assert both.marks[0].end == large.y.ends[1]

    def test_axes_without_ends_stay_so_and_unlike_columns_are_left_out(self):
        one = made(charts.Line(x=[0, 1], y=[0, 1], main=True, marker=None), numbers={"u": [1, 2]})
        two = replace(one, numbers={"u": [3], "v": [4]})
        both = charts.overlay({"one": one, "two": two}, "")
        assert (both.x.ends, both.y.ends) == (None, None)
        assert both.numbers == {"technique": ["one", "one", "two"], "u": [1, 2, 3]}
        assert all(mark.marker is None for mark in both.marks)

    @pytest.mark.parametrize("wrong", [3.0, {"a": 1}, {}])
    def test_of_charts_alone(self, wrong):
        with pytest.raises(OptionError, match=r"^charts must (be a mapping|hold one Chart)"):
            charts.overlay(wrong, "")

    def test_without_numbers(self):
        assert charts.overlay({"a": made()}, "").numbers == {"technique": []}

    def test_only_square_charts_share_both_ends(self):
        curve = charts.confidence_curve(examples.classes())
        assert charts.overlay({"a": curve}, "").x == curve.x


@pytest.mark.parametrize(
    ("numbers", "band", "ticks"),
    [
        ([1.0, 1.1], (0.8, 1.25), "0.8 1 1.25"),
        ([0.5, 2.9], (0.8, 1.25), "0.5 0.7 1 1.5 2 3"),
        ([0.1, 5.0, np.inf, 0.0, np.nan], (0.8, 1.25), "0.1 0.2 0.5 1 2 5"),
        ([0.001, 50.0], (1.0, 1.0), "0.001 0.01 0.1 1 10"),
    ],
)
def test_ratio_axes_have_few_ticks(numbers, band, ticks):
    axis = ratio_axis(numbers, "a ratio", band)
    assert axis.log
    assert [text for _, text in axis.ticks] == ticks.split()
    known = [n for n in [*numbers, *band] if np.isfinite(n) and n > 0]
    assert axis.ends == pytest.approx((min(known) / 1.15, max(known) * 1.15))


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        ([0.0, 1.0, np.nan, np.inf], (-0.06, 1.06)),
        ([2.0], (1.9, 2.1)),
        ([0.0], (-1.0, 1.0)),
    ],
)
def test_padded_axes_leave_some_room(values, ends):
    assert padded(values[:1], values) == pytest.approx(ends)


def test_rows_are_as_high_as_their_labels():
    axis, places = row_axis([["a"], ["b", "c", "d"]])
    assert places == [1.0, 4.0]
    assert axis.ends == (6.0, 0.0)
    assert axis.ticks == ((1.0, "a"), (4.0, "b\nc\nd"))


def test_labels_are_wrapped_and_end_with_their_size():
    assert label_lines(["one two", "three"], 5) == ["one", "two", "three"]
    assert label_lines(["word " * 30], 10)[-1].endswith("…")
    assert sized_lines("a", 1234) == ["a (1,234)"]
    assert sized_lines("", 5) == ["(5)"]
    assert sized_lines("x" * 22, 123) == ["x" * 22, "(123)"]
    assert literal("{a}").format() == "{a}"


def test_columns_have_one_length():
    message = r"^the columns of numbers must have one length; got \{'a': 2, 'b': 1\}$"
    with pytest.raises(OptionError, match=message):
        Chart(title="", read="", x=Axis(), y=Axis(), marks=(), numbers={"a": [1, 2], "b": [1]})
