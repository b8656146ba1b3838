"""Which technique for which use, drawn: every use leads to the techniques that its numbers rank."""

import re

import numpy as np
import pytest

import caveat
from caveat import charts
from caveat.charts.marks import Line, Points, Text
from caveat.exceptions import OptionError
from caveat.selection import Scenario, Scenarios, scenarios

from .drawn import small
from .vectors import parsed


def known():
    """Two expressions, values that are easy to rank, and a technique without a value."""
    values = {"A": 0.3, "B": 0.1, "C": np.nan, "D": 0.2}
    skill = {"A": 1.0, "B": 4.0, "C": 3.0, "D": 2.0}
    return Scenarios(
        (
            Scenario("variance", "", "expected_normalized_calibration_error", values, skill),
            Scenario("variance", "up", "expected_normalized_calibration_error", values, skill),
            Scenario("interval", "", "coverage_calibration_error", {"C": np.nan}, {"C": 3.0}),
        )
    )


def of(chart, kind):
    return [mark for mark in chart.marks if isinstance(mark, kind)]


def texts(chart):
    """The text at each node, by its place."""
    return {(round(mark.x), mark.y): mark.text for mark in of(chart, Text)}


def paths(chart):
    """Follow the drawn branches: from each place to that of its parent."""
    (line,) = of(chart, Line)
    x, y = np.reshape(line.x, (-1, 4)), np.reshape(line.y, (-1, 4))
    assert np.isnan(x[:, 3]).all()
    assert np.isnan(y[:, 3]).all()
    return {(a[2], b[2]): (a[0], b[0]) for a, b in zip(x, y, strict=True)}


def leaves(chart):
    """The whole text from the root to each end of the drawing."""
    said, up = texts(chart), paths(chart)
    ends = [place for place in said if place not in up.values()]
    whole = []
    for place in ends:
        steps = [said[place]]
        while place in up:
            place = up[place]
            steps.insert(0, said[place])
        whole.append(" > ".join(steps[1:]))
    return whole


def test_branches_lead_to_the_lowest_values():
    assert leaves(charts.flow_chart(known())) == [
        "variance: where must it hold? > all parts alike (mean ENCE) > B: 0.1",
        "variance: where must it hold? > all parts alike (mean ENCE) > D: 0.2",
        "variance: where must it hold? > up (ENCE) > B: 0.1",
        "variance: where must it hold? > up (ENCE) > D: 0.2",
        "interval: where must it hold? > all parts alike (mean CCE) > no technique has a value",
    ]


def test_numbers_and_what_is_said():
    chart = caveat.charts.chart(known(), best=3)
    frame = chart.to_frame()
    assert frame["technique"].tolist() == ["B", "D", "A"] * 2
    assert frame["value"].tolist() == [0.1, 0.2, 0.3] * 2
    assert frame["skill"].tolist() == [4.0, 2.0, 1.0] * 2
    lowest, others = (
        next(mark for mark in of(chart, Points) if mark.label == label)
        for label in ("lowest error", "next")
    )
    assert lowest.text == [
        "B: mean ENCE 0.1, mean absolute error 4",
        "B: ENCE 0.1, mean absolute error 4",
    ]
    assert len(others.x) == 5  # two more techniques of two uses, and the use without a value
    y = [0, 0, 1, 1]
    p = caveat.Categorical.from_binary([0.1, 0.2, 0.8, 0.9])
    said = charts.flow_chart(scenarios({"p": p}, y)).marks[2].text
    assert said[0] == f"p: mean ECE 0.15, log loss {-np.log([0.9, 0.8, 0.8, 0.9]).mean():.3g}"


def test_techniques_that_share_the_lowest_error():
    values = {"A": 0.3, "B": 0.1, "C": 0.1}
    row = Scenario("interval", "up", "coverage_calibration_error", values, values)
    chart = charts.flow_chart(Scenarios((row,)), best=3)
    counts = {mark.label: len(mark.x) for mark in of(chart, Points)}
    assert (counts["lowest error"], counts["next"]) == (2, 1)


def test_many_parts_and_long_names():
    values = {"n" * 99: 0.125}
    metric = "expected_calibration_error"
    rows = tuple(
        Scenario("probability", part, metric, values, values)
        for part in ("", *(f"class {'x' * 50} {i}" for i in range(30)))
    )
    chart = charts.flow_chart(Scenarios(rows), parts=4)
    assert "26 more, in the table" in texts(chart).values()
    assert len(chart.to_frame()) == 31
    assert max(map(len, texts(chart).values())) == 40
    assert f"{'n' * 32}…: 0.125" in texts(chart).values()  # the number stays


def test_no_axes_and_nothing_above_another():
    chart = charts.flow_chart(known())
    rows = sorted(place for _, place in texts(chart))
    assert np.diff(rows).min() >= 1  # a line of text each
    svg = chart.svg()
    root = parsed(svg)
    assert not re.search('class="(axis|grid)"', svg)
    width = float(root.attrib["viewBox"].split()[2])
    for text in root.iter("{http://www.w3.org/2000/svg}text"):
        assert float(text.attrib["x"]) + 6.4 * len(text.text) < width
    ax = caveat.plot(known())
    assert ax.get_title() == "Which technique for which use"
    assert (len(ax.get_xticks()), len(ax.get_yticks()), ax.get_frame_on()) == (0, 0, False)
    assert "B: 0.1" in [text.get_text().strip() for text in ax.texts]
    assert "less is better" in ax.get_xlabel()
    caveat.plot(known(), ax=small())


def test_errors():
    with pytest.raises(OptionError, match="result must be a Scenarios; got a dict"):
        charts.flow_chart({})
    with pytest.raises(OptionError, match="best must be a whole number"):
        charts.flow_chart(known(), best=0)
    with pytest.raises(OptionError, match="parts must be a whole number"):
        charts.flow_chart(known(), parts=1.5)
