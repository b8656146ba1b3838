"""Both renderers draw the same declaration."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import LineCollection, QuadMesh

from caveat import charts
from tests.charts import examples
from tests.charts.vectors import along, frame, parsed, places, ticks

EVERY = examples.every_chart()


def declared(mark):
    """The places in numbers that a mark must reach: pairs of x and y."""
    if isinstance(mark, charts.Line | charts.Points) and getattr(mark, "marker", "") is not None:
        return list(zip(mark.x, mark.y, strict=True))
    if isinstance(mark, charts.Line):
        return list(zip(mark.x, mark.y, strict=True))
    if isinstance(mark, charts.Band):
        return [(x, y) for end in (mark.low, mark.high) for x, y in zip(mark.x, end, strict=True)]
    if isinstance(mark, charts.Bars):
        half = mark.height / 2
        return [(x, y + s) for x, y in zip(mark.x, mark.y, strict=True) for s in (-half, half)]
    if isinstance(mark, charts.Heat):
        rows, columns = np.nonzero(np.isfinite(mark.values))
        return [(mark.x[j + 1], mark.y[i + 1]) for i, j in zip(rows, columns, strict=True)]
    if isinstance(mark, charts.Strip):
        tops = mark.bottom + (mark.top - mark.bottom) * mark.heights / mark.heights.max()
        return list(zip(mark.edges[1:], tops, strict=True))
    return []


def intervals(mark, ends):
    """The ends of the intervals of a mark, cut off where the axis ends."""
    if not isinstance(mark, charts.Points | charts.Bars) or mark.low is None:
        return []
    low, high = (np.clip(np.clip(end, -1e9, 1e9), *ends) for end in (mark.low, mark.high))
    return [*zip(low, mark.y, strict=True), *zip(high, mark.y, strict=True)]


def drawn(ax):
    """All places of all artists, in numbers."""
    found = [np.c_[line.get_xdata(), line.get_ydata()] for line in ax.lines]
    for artist in ax.collections:
        if isinstance(artist, LineCollection):
            found += artist.get_segments()
        elif isinstance(artist, QuadMesh):
            found.append(artist.get_coordinates().reshape(-1, 2))
        else:
            found += [np.asarray(artist.get_offsets()), *(p.vertices for p in artist.get_paths())]
    for patch in ax.patches:
        found.append(patch.get_transform().transform_path(patch.get_path()).vertices)
        found[-1] = ax.transData.inverted().transform(found[-1])
    return np.concatenate(found)


@pytest.mark.parametrize("name", EVERY)
def test_matplotlib_draws_the_numbers(name):
    chart = EVERY[name]
    found = drawn(chart.plot())
    found = found[np.isfinite(found).all(axis=1)]  # lines may have gaps
    wanted = [place for mark in chart.marks for place in declared(mark)]
    wanted += [place for mark in chart.marks for place in intervals(mark, chart.x.ends)]
    wanted = np.array([place for place in wanted if np.isfinite(place).all()], dtype=float)
    size = np.ptp(wanted, axis=0) + np.abs(wanted).max(axis=0)
    off = [(np.abs(found - place) / size).max(axis=1).min() for place in wanted]
    assert max(off) < 1e-9


@pytest.mark.parametrize("name", EVERY)
def test_the_drawing_has_them_where_the_axes_put_them(name):
    """Marks and the ends of intervals, by the frame and the ends that were declared."""
    chart = replace(EVERY[name], frame=True)
    root = parsed(chart.svg())
    left, right, bottom, top = frame(root)
    found = places(root)
    wanted = [place for mark in chart.marks for place in declared(mark)]
    wanted += [place for mark in chart.marks for place in intervals(mark, chart.x.ends)]
    if chart.x.ends is None:  # by the ticks, as a reader does
        (a, first), *_, (b, last) = ticks(root)
        x = along([p for p, _ in wanted], [float(first), float(last)], (a, b), chart.x.log)
    else:
        x = along([p for p, _ in wanted], chart.x.ends, (left, right), chart.x.log)
    if chart.y.ends is None:
        by_text = [t for t in root.iter("text") if t.get("text-anchor") == "end"]
        (a, first), (b, last) = [
            (float(t.get("y")) - 4, float(t.text)) for t in (by_text[0], by_text[-1])
        ]
        y = along([q for _, q in wanted], [first, last], (a, b), chart.y.log)
    else:
        y = along([q for _, q in wanted], chart.y.ends, (bottom, top), chart.y.log)
    known = np.isfinite(x) & np.isfinite(y)
    assert known.any()
    off = [np.abs(found - place).max(axis=1).min() for place in np.c_[x, y][known]]
    assert max(off) <= (0.11 if chart.x.ends and chart.y.ends else 0.4)
