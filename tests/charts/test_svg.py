"""Charts as SVG, read back from the elements."""

import base64
import io
import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from caveat import charts
from caveat.charts.layout import row_axis
from caveat.charts.marks import STYLES, Spot
from caveat.charts.svg import WIDTH, render, shown
from tests.charts import examples, vectors
from tests.charts.test_experiments import disentangled
from tests.charts.test_matplotlib import made
from tests.charts.vectors import along, frame, legend, parsed, paths, ticks, vertices

EVERY = examples.every_chart()
HOSTILE = "</text><script>&\"'\x00\x07\ud800\ufffe\uffff\u202e]]>\n{x}"


def drawn(*marks, **options):
    return parsed(made(*marks, **options).svg())


class TestEveryKind:
    @pytest.mark.parametrize("name", EVERY)
    def test_texts_neither_overlap_nor_leave_the_drawing(self, name):
        root = parsed(EVERY[name].svg())
        boxes = vectors.boxes(root)
        _, top, _, height = map(float, root.get("viewBox").split())
        for left, right, y, text in boxes:
            assert left >= 0, text
            assert right <= WIDTH, text
            assert top < y <= top + height, text
        boxes = sorted(boxes, key=lambda box: box[0])
        for i, (_, right, y, text) in enumerate(boxes):
            for other in boxes[i + 1 :]:
                apart = other[0] >= right or abs(other[2] - y) >= 10
                assert apart, (text, other[3])

    @pytest.mark.parametrize("name", EVERY)
    def test_legends_are_in_the_order_of_the_declaration(self, name):
        chart = EVERY[name]
        expected = [
            mark.label
            for mark in chart.marks
            if mark.label and not isinstance(mark, charts.Heat | charts.Strip | charts.Text)
        ]
        assert [text for *_, text in legend(parsed(chart.svg()))] == expected

    @pytest.mark.parametrize("name", EVERY)
    def test_what_leaves_the_axes_is_cut_off(self, name):
        root = parsed(replace(EVERY[name], frame=True).svg())
        left, right, bottom, top = frame(root)
        for clip in list(root.findall("svg")):
            assert clip.get("overflow") == "hidden"
            x, y, wide, high = (float(clip.get(k)) for k in ("x", "y", "width", "height"))
            assert (x, y) == (left, top)
            assert (x + wide, y + high) == pytest.approx((right, bottom), abs=0.11)
            assert clip.get("viewBox").split() == [
                clip.get(k) for k in ("x", "y", "width", "height")
            ]
            root.remove(clip)
        scale = [d for level in range(8) for d in paths(root, f"h{level}")[-1:]]
        for d in paths(root):
            if d not in scale:
                for x, y in vertices(d):
                    assert left - 0.11 <= x <= right + 0.11
                    assert top - 0.11 <= y <= bottom + 0.11

    @pytest.mark.parametrize("name", EVERY)
    def test_what_can_be_read_off_has_a_place_and_a_text(self, name):
        drawing = render(replace(EVERY[name], frame=True), standalone=False)
        root = parsed(drawing.svg)
        left, right, bottom, top = frame(root)
        json.dumps([drawing.points, drawing.spot, drawing.keyed])
        assert drawing.points
        for x, y, text in drawing.points:
            assert left - 0.11 <= x <= right + 0.11
            assert top - 0.11 <= y <= bottom + 0.11
            assert text
            assert "{" not in text
            assert "nan" not in text

    @pytest.mark.parametrize("name", EVERY)
    def test_hostile_words_are_text(self, name):
        chart = EVERY[name]

        def worse(axis):
            marked = tuple((value, f"{HOSTILE}\n{text}") for value, text in axis.ticks)
            return replace(axis, label=HOSTILE, ticks=marked)

        marks = tuple(replace(mark, label=HOSTILE) for mark in chart.marks)
        root = parsed(
            replace(chart, title=HOSTILE, marks=marks, x=worse(chart.x), y=worse(chart.y)).svg()
        )
        assert root.find(".//script") is None
        assert root.get("aria-label") == "</text><script>&\"']]> {x}"
        words = {text for *_, text in legend(root)}
        assert words <= {"</text><script>&\"']]> {x}"}


def test_style_sheet_is_there_unless_a_page_has_it():
    chart = EVERY["shift"]
    assert parsed(chart.svg()).find("style") is not None
    assert chart._repr_svg_() == chart.svg() == render(chart).svg
    assert parsed(render(chart, standalone=False).svg).find("style") is None


@pytest.mark.parametrize(
    ("text", "longest", "expected"),
    [
        ("<b>&", 200, "&lt;b&gt;&amp;"),
        ("a\n b\tc", 200, "a b c"),
        ("\u202eabc\x00\x9f\u2066", 200, "abc"),
        ("abcdef", 4, "abc…"),
        (3.5, 200, "3.5"),
    ],
)
def test_shown_text(text, longest, expected):
    assert shown(text, longest) == expected


class TestAxes:
    @pytest.mark.parametrize(
        ("axis", "expected"),
        [
            ({"ends": (0.0, 1.0)}, ["0", "0.25", "0.5", "0.75", "1"]),
            ({"ends": (0.0, 1.0), "percent": True}, ["0 %", "25 %", "50 %", "75 %", "100 %"]),
            ({"ends": (-3.0, 17.0)}, ["0", "5", "10", "15"]),
            ({"ends": (0.5, 200.0), "log": True}, ["1", "10", "100"]),
            ({"ends": (0.9, 12.0), "log": True}, ["1", "2", "5", "10"]),
            ({"ends": (2.1, 4.9), "log": True}, ["3", "4"]),
            ({"ends": (1e-300, 1e300), "log": True}, 7),
            ({"ends": (1.0, 1.0)}, ["1"]),
            ({"ends": (0.0, 3e-7)}, 4),
            ({"ends": (0.0, 1.0), "ticks": ((0.5, "half"), (2.0, "beyond"))}, ["half"]),
        ],
    )
    def test_ticks_of_x_stand_at_their_numbers(self, axis, expected):
        line = charts.Line(x=[axis["ends"][0]], y=[1.0])
        root = drawn(line, x=charts.Axis(**axis))
        found = ticks(root)
        left, right, _, _ = frame(root)
        texts = [text for _, text in found]
        assert len(texts) == expected if isinstance(expected, int) else texts == expected
        named = {text: value for value, text in axis.get("ticks", ())}
        for place, text in found:
            value = named.get(text) or float(text.removesuffix(" %")) / (
                100 if text.endswith("%") else 1
            )
            if axis["ends"][0] < axis["ends"][1]:
                wanted = along(value, axis["ends"], (left, right), axis.get("log", False))
                assert place == pytest.approx(wanted, abs=0.06)

    def test_many_powers_stand_apart_on_y_too(self):
        root = drawn(charts.Line(x=[1.0], y=[1.0]), y=charts.Axis(ends=(1e-9, 1e9), log=True))
        rows = [float(t.get("y")) for t in root.iter("text") if t.get("text-anchor") == "end"]
        assert all(upper - lower > 14 for upper, lower in pairwise(rows))

    def test_labels_that_would_touch_are_left_out(self):
        named = tuple((i / 20, f"number {i}") for i in range(21))
        axis = charts.Axis(ends=(0.0, 1.0), ticks=named)
        found = ticks(drawn(charts.Line(x=[0.0], y=[0.0]), x=axis))
        assert 2 < len(found) < 8
        for (a, first), (b, second) in pairwise(found):
            assert b - a > 6.4 * (len(first) + len(second)) / 2

    def test_ends_come_from_the_marks(self):
        for y, log, ends in (
            ([2.0, 8.0], False, (0.0, 8.3)),
            ([-2.0, 8.0], False, (-2.5, 8.5)),
            ([2.0, np.nan, 8.0, 0.0], True, (2 / 1.1, 8 * 1.1)),
            ([5.0], False, (0.0, 5.25)),
            ([np.nan], False, (0.1, 1.0)),
        ):
            x = np.arange(len(y), dtype=float)
            root = drawn(charts.Line(x=x, y=y, width=8), y=charts.Axis(log=log))
            _, _, bottom, top = frame(root)
            (path,) = [p.get("d") for p in root.iter("path") if p.get("stroke-width") == "10"]
            values = np.array([value for value in y if value > 0 or not log])
            wanted = along(values[np.isfinite(values)], ends, (bottom, top), log)
            found = [b for _, b in vertices(path)][: len(wanted)]
            assert found == pytest.approx(wanted.tolist(), abs=0.06)

    def test_bands_and_intervals_count(self):
        band = charts.Band(x=[0.0, 1.0], low=[-1.0, -1.0], high=[3.0, 9.0])
        points = charts.Points(x=[0.5], y=[0.0], low=[-4.0], high=[2.0], y_low=[-2], y_high=[1])
        root = drawn(band, points, charts.Rule(x=1.0), charts.Span(low=0, high=6, color="green"))
        left, right, *_ = frame(root)
        across, _ = (vertices(d) for d in paths(root, "wide"))
        wanted = along([-4, 2], (-4.5, 6.5), (left, right))
        assert [x for x, _ in across] == pytest.approx(wanted, abs=0.06)
        assert root.find("svg") is None

    def test_a_square_chart_is_higher_and_rows_have_lines(self):
        line = charts.Line(x=[0.0, 1.0], y=[0.0, 1.0])
        heights = []
        for options in ({}, {"square": True}):
            _, _, bottom, top = frame(drawn(line, **options))
            heights.append(bottom - top)
        assert heights == pytest.approx([210, 270], abs=0.11)
        axis, row_places = row_axis([["one"], ["two", "lines"]])
        root = drawn(charts.Points(x=[0.0, 1.0], y=row_places), y=axis)
        _, _, bottom, top = frame(root)
        assert bottom - top == pytest.approx(5 * 14.5, abs=0.11)
        rows = [float(t.get("y")) for t in root.iter("text") if t.get("text-anchor") == "end"]
        middle = [top + 14.5, top + 3.5 * 14.5 - 7.25, top + 3.5 * 14.5 + 7.25]
        assert rows == pytest.approx([y + 4 for y in middle], abs=0.11)


class TestMarks:
    def test_curves_differ_in_color_dash_and_shape(self):
        lines = [charts.Line(x=[0, 1], y=[i, i], main=True, label=str(i)) for i in range(7)]
        root = drawn(*lines)
        looks = [
            (path.get("class"), path.get("stroke-dasharray"))
            for path in root.iter("path")
            if path.get("stroke-width") == "2" and "L" in path.get("d")
        ]
        assert [look[0] for look in looks] == [f"s-{style.color}" for style in STYLES]
        assert len(set(looks)) == 7
        assert len({d.split("m", 1)[-1] for d in paths(root, "f-orange")}) == 1

    def test_a_missing_number_leaves_a_gap(self):
        x = np.arange(5.0)
        y = np.array([1, 2, np.nan, 4, 5.0])
        chart = made(charts.Line(x=x, y=y, width=8, says="{x:g}: {y:g}", marker="square"))
        (d,) = [
            p.get("d") for p in parsed(chart.svg()).iter("path") if p.get("stroke-width") == "10"
        ]
        assert d.count("M") == d.count("L") == 2
        assert [text for *_, text in render(chart).points] == ["0: 1", "1: 2", "3: 4", "4: 5"]
        band = charts.Band(x=x, low=y - 1, high=y + 1)
        assert len(paths(drawn(band), "band")) == 2
        lonely = charts.Band(x=x, low=[0, np.nan, 1, 1, 1], high=np.full(5, 2.0))
        root = drawn(lonely)
        assert (len(paths(root, "band")), len(paths(root, "wide"))) == (1, 1)
        nothing = charts.Band(x=x, low=np.full(5, np.nan), high=x)
        assert paths(drawn(nothing, charts.Line(x=x, y=x)), "band") == []

    def test_steps_go_across_then_up(self):
        root = drawn(charts.Line(x=[0.0, 1.0, 2.0], y=[1.0, 2.0, 4.0], step=True, width=8))
        (d,) = [p.get("d") for p in root.iter("path") if p.get("stroke-width") == "10"]
        (x0, y0), (x1, y1), (x2, y2), _, (x3, y3) = vertices(d)
        assert (y1, x1) == (y0, x2)
        assert y0 > y2 > y3
        assert x0 < x2 < x3

    def test_open_intervals_end_in_arrows(self):
        axis = charts.Axis(ends=(0.5, 2.0), log=True)
        points = charts.Points(
            x=[1, 1, 1, np.nan], y=[0, 1, 2, 3], low=[0.0, 0.8, -np.inf, np.nan],
            high=[np.inf, 1.2, 1.1, np.nan], color="blue", marker="x",
        )  # fmt: skip
        root = drawn(points, x=axis)
        left, right, _, _ = frame(root)
        arrows = [vertices(d)[0][0] for d in paths(root, "f-blue")]
        assert arrows == [left, right, left]
        (whiskers,) = paths(root, "wide")
        assert len(vertices(whiskers)) == 6

    def test_intervals_that_are_all_missing_draw_nothing(self):
        nan = np.full(1, np.nan)
        points = charts.Points(x=[1.0], y=[1.0], low=nan, high=nan, y_low=nan, y_high=nan)
        assert [d for d in paths(drawn(points), "wide") if d] == []

    def test_every_shape(self):
        shapes = ["circle", "square", "triangle", "diamond", "down", "plus", "cross", "x", "bar"]
        marks = [charts.Points(x=[0.0], y=[0.0], marker=s, label=s, color="green") for s in shapes]
        root = drawn(*marks)
        forms = {d.partition(",")[2].lstrip("-0123456789.") for d in paths(root) if "M" in d}
        assert len(forms) >= 8  # a cross is an x

    def test_faint_keyed_and_valued_points(self):
        pale = drawn(charts.Points(x=[0, 1], y=[0, 1], faint=[True, False], marker="square"))
        assert len(paths(pale, "faint")) == 1
        chart = made(
            charts.Points(x=[0, 1], y=[0, 1], keys=[0.1234567, 2], color="blue", marker="square"),
            charts.Points(x=[0], y=[1], keys=[3], color="orange", marker="x"),
        )
        drawing = render(chart)
        root = parsed(drawing.svg)
        groups = [g for g in root.iter("g") if g.get("data-keyed") is not None]
        for i, (group, keyed) in enumerate(zip(groups, drawing.keyed, strict=True)):
            assert group.get("data-keyed") == str(i)
            d = "".join(f"M{x},{y}{keyed['shape']}" for x, y in keyed["places"])
            assert d == group.find("path").get("d")
        assert [keyed["keys"] for keyed in drawing.keyed] == [[0.123457, 2], [3]]
        assert [keyed["filled"] for keyed in drawing.keyed] == [True, False]
        values = [0.0, 1.0, 8.0, np.nan]
        shades = drawn(charts.Points(x=range(4), y=range(4), values=values, scale="a scale"))
        assert [len(vertices(d)) for level in range(8) for d in paths(shades, f"p{level}")] == [
            1, 1, 1,
        ]  # fmt: skip
        words = [text.text for text in shades.iter("text")]
        assert "a scale 0" in words
        assert "8" in words
        same = drawn(charts.Points(x=[0, 1], y=[0, 1], values=[5, 5]))
        assert len(paths(same, "p0")) == 1

    @pytest.mark.parametrize("log", [False, True])
    def test_heat_has_its_cells_shades_and_texts(self, log):
        values = np.array([[1.0, np.nan, 10.0], [100.0, 2.0, np.nan]])
        heat = charts.Heat(
            x=[0, 1, 2, 3], y=[0, 1, 2], values=values, scale="n", log=log, says="{value:g}"
        )
        drawing = render(made(heat))
        root = parsed(drawing.svg)
        cells = [paths(root, f"h{level}")[:-1] for level in range(8)]  # the last is the scale
        shades = {d: level for level, found in enumerate(cells) for path in found
                  for d in path.split("z")[:-1]}  # fmt: skip
        assert len(shades) == 4
        assert [text for *_, text in drawing.points] == ["1", "10", "100", "2"]
        by_corner = {vertices(d)[0]: level for d, level in shades.items()}
        left, right, bottom, top = frame(root)
        ends = (0.0, 3.15), (0.0, 2.1)
        for i, j in zip(*np.nonzero(np.isfinite(values)), strict=True):
            x, y = along(j, ends[0], (left, right)), along(i, ends[1], (bottom, top))
            (level,) = [
                level for (a, b), level in by_corner.items() if abs(a - x) + abs(b - y) < 0.3
            ]
            share = np.log(values[i, j]) / np.log(100) if log else (values[i, j] - 1) / 99
            assert level == min(int(share * 8), 7)
        assert paths(root, "grid") == []
        words = [text.text for text in root.iter("text")]
        assert "n 1" in words
        assert "100" in words

    def test_a_large_heat_has_no_texts(self):
        values = np.ones((21, 20))
        heat = charts.Heat(x=np.arange(21), y=np.arange(22), values=values, says="{value}")
        assert render(made(heat)).points == []

    @pytest.mark.parametrize("shape", [(2, 3), (2, 3, 3)])
    def test_an_image_is_a_picture_at_its_place(self, shape):
        from matplotlib.image import imread

        values = np.random.default_rng(0).random(shape)
        axes = {"x": charts.Axis(ends=(0, 4)), "y": charts.Axis(ends=(0, 4))}
        root = drawn(charts.Image(values=values, x=(1, 3), y=(0, 2)), **axes)
        (image,) = root.iter("image")
        left, right, bottom, top = frame(root)
        x, y, wide, high = (float(image.get(k)) for k in ("x", "y", "width", "height"))
        assert (x, x + wide) == pytest.approx(along([1, 3], (0, 4), (left, right)), abs=0.11)
        assert (y + high, y) == pytest.approx(along([0, 2], (0, 4), (bottom, top)), abs=0.11)
        code = image.get("href").removeprefix("data:image/png;base64,")
        pixels = imread(io.BytesIO(base64.b64decode(code)))
        assert pixels.shape[:2] == (2, 3)
        if len(shape) == 3:
            assert pixels[..., :3] == pytest.approx(values, abs=1 / 255)

    def test_spots_texts_spans_and_rules(self):
        axes = {"x": charts.Axis(ends=(0, 10)), "y": charts.Axis(ends=(0, 10))}
        chart = made(
            Spot(x=[1, 2, 3], y=[4, 5, 6], start=1),
            charts.Text(x=3, y=3, text="here"),
            charts.Span(low=-5, high=2, color="green", label="span"),
            charts.Rule(x=7.0, label="down"),
            charts.Rule(y=8.0, color="orange", dash="dash", label="across"),
            charts.Rule(end=10.0, label="diagonal"),
            **axes,
        )
        drawing = render(chart)
        root = parsed(drawing.svg)
        left, right, bottom, top = frame(root)
        x, y = (
            (lambda v: along(v, (0, 10), (left, right))),
            (lambda v: along(v, (0, 10), (bottom, top))),
        )
        assert np.array(drawing.spot) == pytest.approx(np.c_[x([1, 2, 3]), y([4, 5, 6])], abs=0.06)
        (spot,) = root.iter("circle")
        assert [float(spot.get("cx")), float(spot.get("cy"))] == list(drawing.spot[1])
        (text,) = [t for t in root.iter("text") if t.text == "here"]
        at = float(text.get("x")) - 4, float(text.get("y")) - 4
        assert at == pytest.approx((x(3), y(3)), abs=0.06)
        (span,) = paths(root, "band")
        sides = sorted({a for a, _ in vertices(span)})
        assert sides == pytest.approx([left, x(2)], abs=0.11)
        across = [vertices(d) for d in paths(root, "s-orange")]
        assert across[0][0][1] == pytest.approx(y(8), abs=0.06)
        down, diagonal = (vertices(d) for d in paths(root, "s-ink"))
        assert down[0][0] == pytest.approx(x(7), abs=0.06)
        assert diagonal == [pytest.approx((left, bottom)), pytest.approx((right, top))]
        assert [text for *_, text in legend(root)] == ["span", "down", "across", "diagonal"]

    def test_bars_reach_from_0_and_a_missing_one_is_left_out(self):
        axis, at = row_axis([["a"], ["b"], ["c"]])
        bars = charts.Bars(
            x=[2.0, np.nan, -1.0], y=at, low=[1, np.nan, -2], high=[3, np.nan, 0], text="abc",
            says="{text}: {x:g} ({low:g} to {high:g})", color="green",
        )  # fmt: skip
        drawing = render(made(bars, x=charts.Axis(ends=(-2.0, 4.0)), y=axis))
        root = parsed(drawing.svg)
        left, right, *_ = frame(root)
        found = [vertices(d) for d in paths(root, "f-green")]
        zero, long, back = along([0, 2, -1], (-2, 4), (left, right))
        assert [corners[0][0] for corners in found] == pytest.approx([zero, zero], abs=0.06)
        assert [corners[1][0] for corners in found] == pytest.approx([long, back], abs=0.06)
        assert [text for *_, text in drawing.points] == ["a: 2 (1 to 3)", "c: -1 (-2 to 0)"]

    def test_a_legend_may_be_left_out(self):
        line = charts.Line(x=[0, 1], y=[0, 1], label="a line")
        assert legend(drawn(line, legend=False)) == []
        long = [replace(line, label=f"{i} " + 30 * "long ") for i in range(3)]
        found = legend(drawn(*long))
        assert len({y for _, y, _ in found}) == 3
        assert all(len(text) == 50 for *_, text in found)

    def test_points_without_words_cannot_be_read_off(self):
        assert render(made(charts.Points(x=[0], y=[0]))).points == []


class TestReadOff:
    def test_groups_have_their_names_and_values(self):
        chart = EVERY["classes: groups"]
        names, values = chart.numbers["group"], chart.numbers["value"]
        found = [text for *_, text in render(chart).points]
        assert found == [f"{n}: {v:.4g}" for n, v in zip(names, values, strict=True)]

    def test_curves_have_both_numbers(self):
        chart = EVERY["classes: reliability confidence"]
        both = zip(chart.numbers["predicted"], chart.numbers["observed"], strict=True)
        expected = [f"predicted {x:.3g}, observed {y:.3g}" for x, y in both]
        assert [text for *_, text in render(chart).points] == expected

    def test_samples_have_their_names(self):
        chart = EVERY["numbers: split"]
        found = [text for *_, text in render(chart).points]
        assert found[3].startswith("sample 3: aleatoric ")
        assert len(found) == examples.N

    def test_names_with_braces_are_names(self):
        size, _ = charts.sweeps(disentangled("good", score_name="my {score}"))
        assert render(size).points[0][2].startswith("my {score} at 1 %: ")


def test_a_drawing_by_itself_has_its_title_and_a_width():
    chart = replace(EVERY["classes: reliability confidence"], title="word " * 20)
    root = parsed(chart.svg())
    lines = [text for text in root.iter("text") if text.get("class") == "title"]
    top = float(root.get("viewBox").split()[1])
    assert " ".join(line.text for line in lines) == chart.title.strip()
    assert all(top < float(line.get("y")) - 8 and float(line.get("y")) < 0 for line in lines)
    assert "max-width" in root.get("style")
    page = parsed(render(chart, standalone=False).svg)
    assert page.get("viewBox").startswith("0 0 ")
    assert page.get("style") is None
