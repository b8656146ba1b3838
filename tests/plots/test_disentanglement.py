import matplotlib
import numpy as np
import pytest

from caveat.exceptions import OptionError, UnknownNameError
from caveat.experiments import Curve, Disentanglement
from caveat.experiments.panels import panels
from caveat.plots import plot, plot_disentanglement, plot_disentanglement_terms

from ..report.disentanglements import NOISE, SIZES, constant, result, two_decompositions

matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def lines(ax):
    return {line.get_label().split(" (")[0]: line for line in ax.lines}


def test_two_panels_in_percent():
    given = result("good")
    axes = given.plot()
    assert len(axes) == 2
    left, right = axes
    assert left.get_xlabel() == "training data used, %"
    assert right.get_xlabel() == "labels permuted, %"
    assert left.get_ylabel() == "accuracy in %\nuncertainty in % of its largest"
    assert left.get_title() == "Less or more training data\nideal: epistemic falls, aleatoric stays"
    assert right.get_title() == "Noise in the labels\nideal: aleatoric rises, epistemic stays"
    size, noise = given.curves
    for ax, curve in ((left, size), (right, noise)):
        drawn = lines(ax)
        assert list(drawn) == ["accuracy", "aleatoric", "epistemic"]
        assert drawn["accuracy"].get_xdata() == pytest.approx(100 * curve.levels)
        assert drawn["accuracy"].get_ydata() == pytest.approx(100 * curve.score.mean(axis=0))
        for part in ("aleatoric", "epistemic"):
            largest = max(getattr(c, part).mean(axis=0).max() for c in (size, noise))
            expected = 100 * getattr(curve, part).mean(axis=0) / largest
            assert drawn[part].get_ydata() == pytest.approx(expected)
            assert f"(100 % = {largest:.3g})" in drawn[part].get_label()
    assert len({line.get_color() for line in left.lines}) == 3
    assert len({line.get_marker() for line in left.lines}) == 3


def test_sizes_far_apart_have_a_logarithmic_axis_with_plain_numbers():
    left, right = result("good").plot()
    assert (left.get_xscale(), right.get_xscale()) == ("log", "linear")
    assert [label.get_text() for label in left.get_xticklabels()] == [
        "1", "5", "10", "25", "50", "100",
    ]  # fmt: skip
    assert left.get_xticks() == pytest.approx([1, 5, 10, 25, 50, 100])
    near = [
        Curve(c.kind, c.decomposition, np.linspace(0.25, 1, len(c.levels)), c.score, c.aleatoric,
              c.epistemic)
        for c in result("good").curves
    ]  # fmt: skip
    assert Disentanglement(curves=tuple(near)).plot()[0].get_xscale() == "linear"


def test_bands_are_two_standard_deviations_over_repeats():
    given = result("good")
    size, _ = given.curves
    (panel, _) = panels(given)
    score = panel.lines[0]
    spread = np.sqrt(((size.score - size.score.mean(axis=0)) ** 2).sum(axis=0) / 4)
    assert score.high - score.mean == pytest.approx(200 * spread)
    assert score.mean - score.low == pytest.approx(200 * spread)
    left, _ = given.plot()
    assert len(left.collections) == 3
    corners = left.collections[0].get_paths()[0].vertices[:, 1]
    assert corners.max() == pytest.approx(score.high.max())
    one = panels(result("good", repeats=1))[0].lines[0]
    assert np.array_equal(one.low, one.high)


def test_an_uncertainty_is_never_drawn_below_none():
    wild = np.array([[0.0, 1, 2], [1, 0, 1], [3, 0, 0]])
    curves = [
        Curve(kind, "information", [0.1, 0.5, 1.0], np.full((3, 3), 0.5), wild, wild)
        for kind in ("size", "noise")
    ]
    panel, _ = panels(Disentanglement(curves=tuple(curves)))
    assert (panel.lines[1].low == 0).all()
    assert not panel.logarithmic


def test_a_band_that_is_very_wide_is_cut_off():
    size, noise = result("good").curves
    wild = size.epistemic * np.array([[0.1], [0.1], [0.1], [0.1], [4.6]])
    curves = (Curve("size", "information", size.levels, size.score, size.aleatoric, wild), noise)
    given = Disentanglement(curves=curves)
    left, _ = given.plot()
    highest = panels(given)[0].lines[2].high.max()
    assert highest > 200
    assert left.get_ylim() == pytest.approx((0, 1.04 * 1.3 * 100))
    assert result("good").plot()[0].get_ylim()[1] < 1.04 * 130


def test_no_accuracy_is_drawn_above_all_right():
    size, noise = result("good").curves
    score = np.array([[1.0], [0.9], [1.0], [0.9], [1.0]]) * np.ones_like(size.score)
    curves = (
        Curve("size", "information", size.levels, score, size.aleatoric, size.epistemic),
        noise,
    )
    (panel, _) = panels(Disentanglement(curves=curves))
    assert (panel.lines[0].high == 100).all()
    more = Curve("size", "information", size.levels, score + 1, size.aleatoric, size.epistemic)
    (panel, _) = panels(Disentanglement(curves=(more, noise)))
    assert (panel.lines[0].high > 200).all()


def test_what_each_line_should_do():
    found = {
        (panel.kind, line.name): line.expected
        for panel in panels(result("good"))
        for line in panel.lines
    }
    assert found == {
        ("size", "score"): "rises",
        ("size", "aleatoric"): "stays",
        ("size", "epistemic"): "falls",
        ("noise", "score"): "falls",
        ("noise", "aleatoric"): "rises",
        ("noise", "epistemic"): "stays",
    }


def test_regression_and_a_score_below_zero():
    given = result("good", task="regression", score_name="1 - standardized MAE")
    size, noise = given.curves
    worse = Curve("noise", "information", noise.levels, noise.score - 0.8, noise.aleatoric,
                  noise.epistemic)  # fmt: skip
    left, right = Disentanglement(
        curves=(size, worse), task="regression", score_name="1 - standardized MAE"
    ).plot()
    assert right.get_xlabel() == "targets permuted, %"
    assert right.get_ylim()[0] < -40
    assert left.get_ylim() == right.get_ylim()


def test_a_part_that_is_zero_or_infinite_leaves_no_trace():
    size, noise = result("good").curves
    nothing = np.zeros_like(size.epistemic)
    endless = noise.aleatoric.copy()
    endless[0, 2] = np.inf
    curves = (
        Curve("size", "information", size.levels, size.score, size.aleatoric, nothing),
        Curve("noise", "information", noise.levels, noise.score, endless, np.zeros_like(endless)),
    )
    left, right = Disentanglement(curves=curves).plot()
    assert (lines(left)["epistemic"].get_ydata() == 0).all()
    drawn = lines(right)["aleatoric"].get_ydata()
    assert np.flatnonzero(np.isnan(drawn)).tolist() == [2]
    assert np.isfinite(right.get_ylim()).all()
    left.figure.canvas.draw()


def test_axes_and_options_of_the_caller():
    figure, mine = plt.subplots(2, 1)
    axes = plot_disentanglement(result("trap"), ax=mine, linewidth=4)
    assert list(axes) == list(mine)
    assert {line.get_linewidth() for line in axes[0].lines} == {4}
    with pytest.raises(OptionError) as caught:
        plot_disentanglement(result("trap"), ax=mine[0])
    assert str(caught.value) == "ax must be two Axes, for size and noise; got 1"
    assert figure is axes[0].figure


def test_one_of_several_decompositions():
    given = two_decompositions()
    first, _ = given.plot()
    second, _ = given.plot(decomposition="pairwise_kl")
    assert first.lines[1].get_ydata() != pytest.approx(second.lines[1].get_ydata())
    with pytest.raises(OptionError, match="was not asked for"):
        given.plot(decomposition="variance")


def test_terms_are_the_errors_with_their_intervals():
    given = result("leak")
    ax = given.plot("terms")
    error = given.error()
    values = [*(term.value for term in error.terms.values()), error.value]
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(values)
    spans = [segment[:, 0] for c in ax.collections for segment in c.get_segments()]
    expected = [(part.low, part.high) for part in (*error.terms.values(), error)]
    assert np.array(spans) == pytest.approx(np.array(expected))
    labels = [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()]
    assert labels == [
        "aleatoric follows noise (C1)",
        "epistemic follows missing data (C2)",
        "aleatoric unmoved by the amount of data (O1)",
        "epistemic unmoved by noise (O2)",
        "UDE, the mean of the four",
    ]
    assert ax.get_xlabel() == "error of the correlation; 0 is ideal"
    assert ax.get_xlim() == pytest.approx((0, 1.05 * max(high for _, high in expected)))
    assert ax.yaxis_inverted()


def test_terms_of_several_decompositions_stand_side_by_side():
    given = two_decompositions()
    ax = given.plot("terms")
    assert len(ax.patches) == 10
    assert len({bar.get_facecolor() for bar in ax.patches}) == 2
    assert len({bar.get_hatch() for bar in ax.patches}) == 2
    places = sorted(bar.get_y() for bar in ax.patches)
    assert np.diff(places) == pytest.approx([0.4, 0.6] * 4 + [0.4])
    assert set(ax.get_legend_handles_labels()[1]) == {"information", "pairwise kl", "counts as met"}
    one = plot_disentanglement_terms(given, decomposition="pairwise_kl")
    assert len(one.patches) == 5


def test_terms_of_one_repeat_have_no_intervals():
    ax = result("trap", repeats=1).plot("terms")
    assert len(ax.collections) == 0
    assert ax.get_xlim() == (0, 1)


def test_options_of_the_terms():
    given = result("backwards")
    figure, mine = plt.subplots()
    ax = plot_disentanglement_terms(
        given, correlation="spearman", weights=(0, 1, 0, 0), ax=mine, color="red"
    )
    assert ax is mine
    error = given.error("spearman", (0, 1, 0, 0))
    assert ax.patches[-1].get_width() == pytest.approx(error.value) == pytest.approx(2.0)
    assert ax.get_yticklabels()[-1].get_text() == "UDE, weighted"
    assert ax.get_xlim()[1] > 2
    assert ax.patches[0].get_facecolor() == (1, 0, 0, 1)
    assert figure is ax.figure


def test_kinds_by_name():
    assert len(plot(constant("epistemic"), "sweeps")) == 2
    with pytest.raises(UnknownNameError, match="did you mean 'terms'"):
        plot(result("good"), "term")
    assert (SIZES[0], NOISE[-1]) == (0.01, 1.0)
