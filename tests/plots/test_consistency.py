from itertools import pairwise

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from caveat.exceptions import OptionError
from caveat.fairness import consistency
from caveat.plots._consistency import plot_consistency


@pytest.fixture(autouse=True)
def _closed():
    before = dict(matplotlib.rcParams)
    yield
    pyplot.close("all")
    assert dict(matplotlib.rcParams) == before


def result(**options):
    rng = np.random.default_rng(0)
    X, u = rng.normal(size=(120, 3)), rng.random(120)
    values = {"prediction": (u > 0.6).astype(int), "epi_$x$": 1e-4 * u, "constant": np.ones(120)}
    groups = {"race": rng.choice(["a", "b"], 120), "sex": rng.choice(["f", "m"], 120)}
    given = {"groups": groups, "outcomes": u > 0.6, "random_state": 0}
    return consistency(values, X, **(given | options))


def bars(ax):
    """Values by position from top to bottom."""
    found = {patch.get_y() + patch.get_height() / 2: patch.get_width() for patch in ax.patches}
    return [found[place] for place in sorted(found)]


def texts(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_bars_are_the_rows():
    found = result()
    ax = plot_consistency(found, "epi_$x$")
    rows = [row for row in found.select(quantity="epi_$x$") if row.attribute]
    np.testing.assert_allclose(bars(ax), [row.scaled for row in rows])
    (whiskers,) = [c for c in ax.collections if type(c).__name__ == "LineCollection"]
    ends = np.array([segment[:, 0] for segment in whiskers.get_segments()])
    np.testing.assert_allclose(ends, [(row.scaled_low, row.scaled_high) for row in rows])
    assert ax.yaxis_inverted()
    assert ax.get_xlabel() == (r"consistency of epi_\$x\$, in units of the spread: more is better")
    legend = ax.get_legend_handles_labels()[1]
    assert set(legend) == {"all outcomes", "outcome False", "outcome True", "all samples"}
    FigureCanvasAgg(ax.figure).draw()


def test_raw_values_of_one_attribute():
    found = result()
    ax = plot_consistency(found, attribute="sex", scaled=False)
    rows = found.select(quantity="prediction", attribute="sex")
    np.testing.assert_allclose(bars(ax), [row.consistency for row in rows])
    whole = found.rows[0].consistency
    assert any(np.allclose(line.get_xdata(), whole) for line in ax.lines)
    first, second, *_ = texts(ax)
    assert first == f"sex=f ({rows[0].samples})"
    assert second == f"outcome False ({rows[1].samples})"


def test_in_axes_of_the_caller():
    ax = Figure().subplots()
    ax.invert_yaxis()
    assert plot_consistency(result(), ax=ax, color="red", height=0.2) is ax
    assert ax.yaxis_inverted()
    assert {patch.get_facecolor() for patch in ax.patches} == {(1, 0, 0, 1)}


def test_without_groups():
    assert texts(plot_consistency(result(groups=None)))[0].startswith("outcome False")
    ax = plot_consistency(result(groups=None, outcomes=None, resamples=0))
    assert texts(ax) == ["all samples (120)"]
    assert ax.get_legend_handles_labels()[1] == ["all samples"]


def test_many_groups_are_cut_to_the_least_consistent():
    found = result(groups=np.arange(120) % 40, outcomes=None, resamples=0)
    shown = bars(plot_consistency(found))
    every = sorted(row.scaled for row in found.select(quantity="prediction", attribute="group"))
    np.testing.assert_allclose(sorted(shown), every[:30])


def test_long_labels_stand_apart_and_end_with_their_size():
    words = np.array(["doctorate or professional school " * 2 + end for end in ("m $x$", "f")])
    groups = words[np.arange(120) % 2]
    ax = plot_consistency(result(groups={"education": groups}))
    FigureCanvasAgg(ax.figure).draw()
    labels = ax.get_yticklabels()
    boxes = [label.get_window_extent() for label in labels]
    for upper, lower in pairwise(boxes):
        assert upper.y0 >= lower.y1
    whole = [" ".join(label.get_text().split()) for label in labels]
    assert f"education={words[0]} (60)".replace("$", r"\$") in whole
    assert f"education={words[1]} (60)" in whole


def test_what_is_not_there():
    found = result()
    with pytest.raises(OptionError, match=r"unknown quantity 'x'; known are prediction, epi_\$x\$"):
        plot_consistency(found, "x")
    with pytest.raises(OptionError, match="unknown attribute 'age'; known are race, sex"):
        plot_consistency(found, attribute="age")
    with pytest.raises(OptionError, match="known are none"):
        plot_consistency(result(groups=None), attribute="age")
    with pytest.raises(OptionError, match="all samples have one value; pass scaled=False"):
        plot_consistency(found, "constant")
    assert set(bars(plot_consistency(found, "constant", scaled=False))) == {1.0}
