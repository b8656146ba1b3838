import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.backends.backend_agg import FigureCanvasAgg

import caveat
from caveat.exceptions import OptionError
from caveat.experiments import ClassDetection, domain_shift, shift_curves
from caveat.plots import plot, plot_detection, plot_domain_shift, plot_shift


@pytest.fixture(autouse=True)
def _closed():
    before = dict(matplotlib.rcParams)
    yield
    pyplot.close("all")
    assert dict(matplotlib.rcParams) == before


def detection(classes=3, repeats=4, decompositions=("information", "bias_variance")):
    rng = np.random.default_rng(0)
    auc = 0.5 + rng.random((len(decompositions), repeats, classes, 3)) / 2
    return ClassDetection(tuple(f"$c_{i}$" for i in range(classes)), decompositions, auc)


def texts(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def bars(ax):
    """Values of bars from top to bottom."""
    found = {patch.get_y() + patch.get_height() / 2: patch.get_width() for patch in ax.patches}
    return [found[place] for place in sorted(found)]


def whiskers(ax):
    """The ends of all lines across, by their place from top to bottom."""
    found = [
        (segment[0, 1], *segment[:, 0])
        for collection in ax.collections
        if type(collection).__name__ == "LineCollection"
        for segment in collection.get_segments()
    ]
    return [ends for _, *ends in sorted(found)]


class TestDetection:
    def test_bars_are_the_means(self):
        result = detection()
        ax = plot_detection(result)
        rows = [row for row in result.rows if not row.left_out and "-" not in row.uncertainty]
        np.testing.assert_allclose(bars(ax), [row.value for row in rows])
        np.testing.assert_allclose(whiskers(ax), [(row.low, row.high) for row in rows])
        assert texts(ax) == ["information", "bias variance"]
        assert ax.get_legend_handles_labels()[1] == ["aleatoric", "epistemic", "total"]
        assert ax.lines[0].get_xdata()[0] == 0.5
        FigureCanvasAgg(ax.figure).draw()

    def test_one_decomposition_by_class(self):
        result = detection()
        ax = plot_detection(result, decomposition="bias_variance", by_class=True)
        assert texts(ax) == ["mean", r"\$c_0\$", r"\$c_1\$", r"\$c_2\$"]
        rows = [
            row
            for row in result.select(decomposition="bias_variance")
            if "-" not in row.uncertainty
        ]
        np.testing.assert_allclose(bars(ax), [row.value for row in rows])
        FigureCanvasAgg(ax.figure).draw()

    def test_in_given_axes_without_intervals(self):
        _, axes = pyplot.subplots()
        ax = plot_detection(
            detection(repeats=1), decomposition="information", ax=axes, color="green"
        )
        assert ax is axes
        assert texts(ax) == ["information"]
        assert whiskers(ax) == []
        assert {matplotlib.colors.to_hex(patch.get_facecolor()) for patch in ax.patches} == {
            "#008000"
        }

    def test_many_classes(self):
        result = detection(classes=45)
        shown = texts(plot_detection(result, by_class=True))
        assert len(shown) == 31
        epistemic = result.auc[0, :, :, 1].mean(axis=0)
        expected = [rf"\$c_{i}\$" for i in sorted(np.argsort(epistemic)[:30])]
        assert shown[1:] == expected

    def test_an_unknown_decomposition(self):
        with pytest.raises(OptionError, match="must be one of information, bias_variance; got 'x'"):
            plot_detection(detection(), decomposition="x")

    def test_by_the_result(self):
        assert detection().plot(by_class=True).get_xlabel().startswith("ROC AUC")


def shift(resamples=50, strengths=(0, 1, 2)):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 1))
    members = rng.normal(size=(4, 1))
    return shift_curves(
        lambda X: caveat.Gaussian.from_members(X[:, 0] * (1 + 0.1 * members), 1.0),
        x,
        x[:, 0] + rng.normal(size=60),
        strengths=strengths,
        resamples=resamples,
        random_state=0,
    )


class TestShift:
    def test_uncertainties(self):
        result = shift()
        ax = plot_shift(result)
        for line, name in zip(ax.lines, ("aleatoric", "epistemic", "total"), strict=True):
            np.testing.assert_array_equal(line.get_xdata(), result.strengths)
            np.testing.assert_array_equal(line.get_ydata(), result.curve(name)[0])
            assert line.get_label() == name
        assert len(ax.collections) == 3
        low, high = result.curve("epistemic")[1:]
        path = ax.collections[1].get_paths()[0].vertices
        assert path[:, 1].min() == low.min()
        assert path[:, 1].max() == high.max()
        assert ax.get_xlabel() == "strength of gaussian noise"
        assert ax.get_ylabel() == "mean uncertainty"
        FigureCanvasAgg(ax.figure).draw()

    def test_metrics_of_two_results_in_the_same_axes(self):
        ax = plot_shift(shift(resamples=0), "mean_absolute_error", name="_a")
        assert ax.get_ylabel() == "mean absolute error"
        plot_shift(shift(resamples=0), ["mean_absolute_error"], name="b", ax=ax, lw=4)
        labels = ax.get_legend_handles_labels()[1]
        assert labels == [" _a: mean absolute error", "b: mean absolute error"]
        first, second = ax.lines
        assert first.get_color() != second.get_color()
        assert second.get_linewidth() == 4
        assert len(ax.collections) == 0

    def test_several_metrics(self):
        ax = plot_shift(shift(), ["mean_absolute_error", "total"])
        assert ax.get_ylabel() == "value"

    def test_a_single_strength(self):
        ax = plot_shift(shift(strengths=[0.5]), "total")
        assert len(ax.collections) == 1
        FigureCanvasAgg(ax.figure).draw()

    def test_by_the_result(self):
        assert shift(0).plot("total").get_ylabel() == "total"
        with pytest.raises(OptionError, match="there is no curve of quantity 'nothing'"):
            shift(0).plot("nothing")


def domain(metrics=None, resamples=100):
    rng = np.random.default_rng(0)
    p = rng.random((3, 300))
    y = (rng.random(300) < p.mean(axis=0)).astype(int)
    one, two = (caveat.Categorical.from_binary(q) for q in (p, p**2))
    return domain_shift(one, y, two, y, metrics=metrics, resamples=resamples, random_state=0)


class TestDomain:
    def test_points_and_intervals(self):
        result = domain(["accuracy", "brier", "spearman"])
        ax = plot_domain_shift(result)
        rows = [row for row in result if np.isfinite(row.ratio)]
        assert len(rows) == 5  # a correlation has no ratio
        assert texts(ax) == ["accuracy score", "brier loss", "aleatoric", "epistemic", "total"]
        points = {
            y: x
            for line in ax.lines
            if line.get_marker() in "oD"
            for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
        }
        np.testing.assert_allclose([points[i] for i in range(5)], [row.ratio for row in rows])
        np.testing.assert_allclose(whiskers(ax), [(row.ratio_low, row.ratio_high) for row in rows])
        assert ax.get_xscale() == "log"
        assert ax.get_legend_handles_labels()[1] == ["metric", "uncertainty"]
        FigureCanvasAgg(ax.figure).draw()

    def test_an_interval_without_ends(self):
        rng = np.random.default_rng(0)
        p = rng.random(300)
        y = (rng.random(300) < p).astype(int)
        one = caveat.Categorical.from_binary(p)
        result = domain_shift(one, y, one, y, metrics=["ece"], resamples=100, random_state=0)
        ax = plot_domain_shift(result)
        assert {line.get_marker() for line in ax.lines} >= {"<", ">"}
        (ends,) = [line.get_xdata() for line in ax.lines if line.get_marker() == ">"]
        assert ends[0] == pytest.approx(ax.get_xlim()[1])
        FigureCanvasAgg(ax.figure).draw()

    def test_metrics_alone_without_intervals(self):
        y = np.arange(30.0)
        one = caveat.Interval(y - 1, y + 1, coverage=0.9)
        two = caveat.Interval(y - 2, y + 2, coverage=0.9)
        metrics = ["mean_interval_width"]
        result = domain_shift(one, y, two, y, metrics=metrics, resamples=0)
        ax = plot_domain_shift(result, color="red")
        assert ax.get_legend_handles_labels()[1] == ["metric"]
        assert whiskers(ax) == []
        (points,) = [line for line in ax.lines if line.get_marker() == "o"]
        assert points.get_xdata() == [2]
        assert points.get_color() == "red"
        FigureCanvasAgg(ax.figure).draw()

    def test_nothing_to_draw(self):
        y = np.arange(30.0)
        one = caveat.Interval(y - 1, y + 1, coverage=0.9)
        result = domain_shift(one, y + 9, one, y, metrics=["interval_coverage"], resamples=0)
        with pytest.raises(OptionError, match="no quantity with a ratio; its gaps are in to_frame"):
            result.plot()


class TestOneEntry:
    def test_every_result_has_its_plot(self):
        y = np.arange(30.0)
        one, two = caveat.Gaussian(y, 1.0), caveat.Gaussian(y, 2.0)
        results = {
            "detection": ClassDetection(("a", "b"), ("information",), np.full((1, 1, 2, 3), 0.7)),
            "shift": shift_curves(
                lambda X: caveat.Gaussian(X[:, 0], 1.0), y[:, None], y, strengths=[0, 1],
                resamples=0, random_state=0,
            ),
            "domain_shift": domain_shift(one, y + 1, two, y + 1, metrics=["mae"], resamples=0),
        }  # fmt: skip
        for kind, result in results.items():
            words = {plot(result).get_xlabel(), plot(result, kind).get_xlabel()}
            assert words == {result.plot().get_xlabel()}
            with pytest.raises(OptionError, match=f"unknown kind of plot of .* known are {kind}"):
                plot(result, "bars")
        ax = plot(results["shift"], quantity="mean_absolute_error")
        assert ax.get_ylabel() == "mean absolute error"
