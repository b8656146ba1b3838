import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import caveat
from caveat import figures, plots
from caveat.exceptions import OptionError, UnknownNameError, UnsupportedPredictionError
from tests.figures import examples


@pytest.fixture(autouse=True)
def _closed():
    before = dict(matplotlib.rcParams)
    yield
    pyplot.close("all")
    assert dict(matplotlib.rcParams) == before


def labels(ax):
    return ax.get_legend_handles_labels()[1]


def curves(ax):
    return [artist for artist in ax.get_children() if artist.get_gid() == "caveat-curve"]


def picture(ax):
    """The pixels, drawn in full."""
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3]


def corners(ax):
    """All points of the shaded band."""
    (band,) = [
        c
        for c in ax.collections
        if type(c).__name__.endswith("FillBetweenPolyCollection")
        or type(c).__name__ == "PolyCollection"
    ]
    return band.get_paths()[0].vertices


def small():
    """Axes that are quick to draw."""
    return Figure(figsize=(3, 3), dpi=50).subplots()


class TestEveryKind:
    @pytest.mark.parametrize("name", examples.ALL)
    def test_applies_or_says_so(self, name):
        result = examples.ALL[name]()
        for kind, entry in plots.PLOTS.items():
            if entry.figure in figures.available(result):
                ax = plots.plot(result, kind, ax=small())
                assert ax.get_xlabel()
                assert curves(ax)
            else:
                with pytest.raises(
                    UnsupportedPredictionError, match=f"^kind='{kind}' does not apply"
                ):
                    plots.plot(result, kind)

    @pytest.mark.parametrize("name", ["classes", "numbers", "infinite interval"])
    def test_is_drawn_without_a_warning_and_is_not_empty(self, name):
        result = examples.ALL[name]()
        for entry in plots.PLOTS.values():
            if entry.figure in figures.available(result):
                ax = plots.plot(result, entry.name, ax=small())
                assert len(np.unique(picture(ax).reshape(-1, 3), axis=0)) > 10

    def test_new_figures_hold_all_that_is_drawn(self):
        ax = plots.plot_reliability(examples.classes())
        picture(ax)
        extent = ax.get_tightbbox().extents
        assert (extent >= 0).all()
        assert (extent[2:] <= ax.figure.bbox.extents[2:]).all()

    @pytest.mark.parametrize("kind", plots.PLOTS)
    def test_axes_that_are_given_are_used_and_no_figure_is_made(self, kind):
        result = (
            examples.numbers() if kind in ("coverage", "error_calibration") else examples.classes()
        )
        ax = small()
        assert plots.plot(result, kind, ax=ax) is ax
        assert pyplot.get_fignums() == []

    def test_one_sample(self):
        one = examples.evaluate(caveat.Categorical([[[0.9, 0.1]], [[0.7, 0.3]]]), [0], groups=["a"])
        number = examples.evaluate(caveat.Gaussian.from_members([[1.0], [2.0]], 1.0), [2.0])
        for result in (one, number):
            for kind, entry in plots.PLOTS.items():
                if entry.figure in figures.available(result):
                    picture(plots.plot(result, kind, ax=small()))


class TestReliability:
    @pytest.mark.parametrize("kind", ["confidence", "entropy", "variation"])
    def test_draws_the_figure(self, kind):
        figure = figures.reliability(examples.classes(), kind)
        ax = plots.plot(examples.classes(), "reliability", kind=kind)
        (line,) = curves(ax)
        assert line.get_xdata().tolist() == figure.predicted.tolist()
        assert line.get_ydata().tolist() == figure.observed.tolist()
        points = corners(ax)
        for x, low, high in zip(figure.predicted, figure.low, figure.high, strict=True):
            assert [x, low] in points.tolist()
            assert [x, high] in points.tolist()
        (inset,) = ax.child_axes
        (stairs,) = inset.patches
        assert stairs.get_data().values.tolist() == figure.density.tolist()
        assert stairs.get_data().edges.tolist() == figure.edges.tolist()
        assert (ax.get_title(), ax.get_xlabel(), ax.get_ylabel()) == (
            figure.title, figure.x_label, figure.y_label,
        )  # fmt: skip
        assert ax.get_aspect() == 1

    def test_the_diagonal_is_there_once_and_is_what_it_says(self):
        ax = plots.plot_reliability(examples.classes(), name="one")
        ax = plots.plot_reliability(examples.weighted_classes(), ax=ax, name="two")
        assert [label.split(" (")[0] for label in labels(ax)] == [
            "perfectly calibrated",
            "one",
            "two",
        ]
        assert ax.lines[0].get_xdata().tolist() == ax.lines[0].get_ydata().tolist() == [0, 1]
        ax = plots.plot_reliability(examples.classes(), "entropy")
        assert labels(ax)[0] == "as often wrong as the entropy says"

    def test_curves_can_be_told_apart_without_colors(self):
        ax = plots.plot(examples.comparison(), "reliability")
        one, two = curves(ax)
        assert one.get_linestyle() != two.get_linestyle()
        assert one.get_marker() != two.get_marker()
        assert [to_hex(line.get_color()) for line in (one, two)] == ["#0072b2", "#d55e00"]
        (inset,) = ax.child_axes
        assert len(inset.patches) == 2

    def test_options_reach_the_line(self):
        ax = plots.plot_reliability(examples.classes(), density=False, color="k", ls=":", lw=3)
        (line,) = curves(ax)
        assert (line.get_color(), line.get_linestyle(), line.get_linewidth()) == ("k", ":", 3)
        assert ax.child_axes == []

    def test_a_figure_can_be_drawn(self):
        figure = figures.reliability(examples.classes())
        (line,) = curves(plots.plot_reliability(figure))
        assert line.get_ydata().tolist() == figure.observed.tolist()

    def test_value_is_left_out_where_it_is_not_known(self):
        p, codes = examples.class_arrays()
        result = examples.evaluate(caveat.Categorical(p), codes, metrics=["brier"])
        assert labels(plots.plot_reliability(result)) == ["perfectly calibrated", "observed"]

    def test_titles_of_the_caller_stay(self):
        ax = small()
        ax.set_title("mine")
        assert plots.plot_reliability(examples.classes(), ax=ax).get_title() == "mine"


class TestRegression:
    def test_coverage(self):
        figure = figures.coverage(examples.numbers())
        ax = plots.plot_coverage(examples.numbers())
        (line,) = curves(ax)
        assert line.get_xdata().tolist() == figure.nominal.tolist()
        assert line.get_ydata().tolist() == figure.observed.tolist()
        assert corners(ax)[:, 1].min() == figure.low.min()
        assert labels(ax)[1].startswith("observed (AUCE ")

    def test_one_point_has_a_bar(self):
        figure = figures.coverage(examples.interval())
        ax = plots.plot_coverage(figure)
        (bar,) = ax.collections
        assert bar.get_segments()[0].tolist() == [[0.8, figure.low[0]], [0.8, figure.high[0]]]

    def test_error_calibration(self):
        figure = figures.error_calibration(examples.numbers())
        ax = plots.plot_error_calibration(figure)
        (line,) = curves(ax)
        assert line.get_ydata().tolist() == figure.observed.tolist()
        end = ax.get_xlim()[1]
        assert end > max(figure.observed.max(), figure.predicted.max())
        wide = examples.evaluate(caveat.Gaussian(np.zeros(50), 1e4), np.arange(50.0) * 9)
        plots.plot_error_calibration(wide, ax=ax)
        assert ax.get_xlim()[1] > 100
        assert list(ax.lines[0].get_xdata()) == list(ax.get_xlim())

    def test_targets(self):
        ax = plots.plot(examples.two_targets(), "coverage", target="dbp")
        assert ax.get_title() == "Coverage of dbp"


class TestRanking:
    def test_confidence_curve(self):
        figure = figures.confidence_curve(examples.classes())
        ax = plots.plot_confidence_curve(examples.classes())
        assert [line.get_ydata().tolist() for line in ax.lines] == [
            figure.random.tolist(), figure.oracle.tolist(), figure.error.tolist(),
        ]  # fmt: skip
        assert labels(ax)[:2] == ["random", "oracle"]
        plots.plot_confidence_curve(figure, ax=ax, name="again")
        assert len(ax.lines) == 4

    def test_ecdf(self):
        figure = figures.ecdf(examples.classes())
        ax = plots.plot_ecdf(examples.classes(), name="mine")
        assert [line.get_ydata().tolist() for line in ax.lines] == [
            figure.right.tolist(), figure.wrong.tolist(),
        ]  # fmt: skip
        assert labels(ax) == [
            f"mine: right ({figure.right_count})",
            f"mine: wrong ({figure.wrong_count})",
        ]
        assert ax.lines[0].get_drawstyle() == "steps-post"

    def test_ecdf_without_wrong_ones(self):
        result = examples.evaluate(caveat.Categorical.from_binary([0.1, 0.2]), [0, 0])
        assert labels(plots.plot_ecdf(figures.ecdf(result))) == ["right (2)"]


class TestSamples:
    def test_histogram(self):
        figure = figures.error_histogram(examples.numbers(), bins=12)
        ax = plots.plot_error_vs_uncertainty(examples.numbers(), bins=12, name="mine")
        (mesh,) = curves(ax)
        assert mesh.get_array().filled(0).reshape(12, 12).tolist() == figure.counts.tolist()
        assert ax.get_title() == "mine: error against uncertainty"
        assert labels(ax) == ["error = uncertainty"]

    def test_histogram_of_classes_and_colors_of_the_caller(self):
        ax = plots.plot_error_vs_uncertainty(examples.classes(), vmin=0, vmax=5)
        assert curves(ax)[0].norm.vmax == 5
        assert ax.get_title() == "Error against uncertainty"
        assert labels(ax) == []

    def test_histogram_says_what_lies_beyond(self):
        y = np.r_[np.linspace(0, 1, 300), 50]
        figure = figures.error_histogram(examples.evaluate(caveat.Gaussian(np.zeros(301), 1.0), y))
        ax = plots.plot_error_vs_uncertainty(figure)
        assert [text.get_text() for text in ax.texts] == [figure.note] != [""]

    def test_split_of_classes(self):
        figure = figures.split(examples.classes(), points=50)
        ax = plots.plot_split(examples.classes(), points=50, name="$5 & $6")
        right, wrong = curves(ax)
        offsets = np.c_[figure.aleatoric, figure.epistemic]
        assert right.get_offsets().tolist() == offsets[figure.error == 0].tolist()
        assert wrong.get_offsets().tolist() == offsets[figure.error == 1].tolist()
        assert labels(ax) == ["right", "wrong"]
        assert ax.get_title() == r"\$5 & \$6: aleatoric and epistemic uncertainty"

    def test_split_of_numbers(self):
        figure = figures.split(examples.numbers())
        (points,) = curves(plots.plot_split(figure))
        assert sorted(points.get_array().tolist()) == sorted(figure.error.tolist())

    def test_split_needs_two_parts(self):
        with pytest.raises(UnsupportedPredictionError) as error:
            plots.plot_split(examples.quantiles())
        assert str(error.value) == (
            "split needs an aleatoric and an epistemic part, which the uncertainty of this Quantiles "
            "does not have"
        )


class TestGroups:
    def test_points_and_intervals(self):
        figure = figures.by_group(examples.classes(), "accuracy")
        ax = plots.plot_groups(figure)
        (points,) = curves(ax)
        values = np.concatenate([panel.value for panel in figure.panels])
        assert points.get_xdata() == pytest.approx(values)
        lows = np.concatenate([panel.low for panel in figure.panels])
        assert [segment[0][0] for segment in ax.collections[0].get_segments()] == pytest.approx(
            lows
        )
        assert labels(ax) == ["each group", "all samples"]
        assert ax.lines[1].get_xdata()[0] == figure.panels[0].overall
        ticks = [label.get_text() for label in ax.get_yticklabels()]
        assert ticks[-1] == f"sex 1 ({examples.N // 2})"

    def test_default_is_the_calibration_error(self):
        assert plots.plot_groups(examples.classes()).get_xlabel() == "expected calibration error"
        assert plots.plot_groups(examples.sets()).get_xlabel() == "set coverage"

    def test_techniques_share_the_rows(self):
        ax = plots.plot(examples.comparison(), "groups", metric="accuracy")
        one, two = curves(ax)
        assert (np.array(two.get_ydata()) > np.array(one.get_ydata())).all()
        assert labels(ax) == ["honest", "all samples", r" _sure \$x\$"]

    @pytest.mark.parametrize("metric", ["expected_calibration_error", "accuracy", "dispersion"])
    def test_of_many_groups_the_worst_are_shown(self, metric):
        groups = np.arange(examples.N) % 40
        if metric == "dispersion":
            mean, variance, y = examples.number_arrays(members=1)
            result = examples.evaluate(
                caveat.Gaussian(mean[0], variance[0]), y, groups=groups, metrics=[metric]
            )
        else:
            p, codes = examples.class_arrays()
            result = examples.evaluate(
                caveat.Categorical(p), codes, groups=groups, metrics=[metric]
            )
        panel = figures.by_group(result, metric).panels[-1]
        points = curves(plots.plot_groups(result, metric))[0].get_xdata()[-30:]
        badness = {
            "expected_calibration_error": panel.value,
            "accuracy": -panel.value,
            "dispersion": np.abs(panel.value - panel.overall),
        }[metric]
        expected = panel.value[np.argsort(-badness, kind="stable")[:30]]
        assert sorted(points) == pytest.approx(sorted(expected))

    def test_names_are_text(self):
        p, codes = examples.class_arrays()
        long = (
            "a name that goes on and on and on, well beyond what any reader would want to read on"
        )
        groups = {"$x_1$ costs $5": np.array([long, "b\nc <script>"])[np.arange(examples.N) % 2]}
        result = examples.evaluate(caveat.Categorical(p), codes, groups=groups, metrics=["ece"])
        ax = plots.plot_groups(result)
        picture(ax)
        ticks = [label.get_text() for label in ax.get_yticklabels()]
        assert ticks[0].startswith("\\$x_1\\$ costs \\$5 a name")
        assert ticks[0].count("\n") == 2
        assert ticks[0].endswith("…")
        assert "b c <script>" in ticks[1].replace("\n", " ")
        assert all(len(line.replace("\\", "")) <= 26 for tick in ticks for line in tick.split("\n"))

    def test_refusals(self):
        with pytest.raises(OptionError) as error:
            plots.plot_groups(examples.two_targets())
        assert str(error.value) == "this evaluation has no groups; pass groups= to evaluate"
        with pytest.raises(OptionError) as error:
            plots.plot_groups(examples.two_targets(), "ence")
        assert str(error.value) == (
            "'expected_normalized_calibration_error' is not defined in any group of this evaluation"
        )


class TestComparison:
    def test_points_intervals_and_who_is_best(self):
        comparison = examples.comparison()
        ax = plots.plot(comparison, metric="ece")
        rows = comparison.select(metric="expected_calibration_error", group="")
        best = next(row for row in rows if row.best)
        assert labels(ax) == ["best", "worse"]
        assert curves(ax)[0].get_xdata().tolist() == [best.value]
        assert ax.collections[0].get_segments()[0][:, 0].tolist() == [best.low, best.high]
        assert ax.get_xlabel() == "expected calibration error: less is better"
        assert [t.get_text() for t in ax.get_yticklabels()] == ["honest", r"_sure \$x\$"]
        picture(ax)

    def test_ties_targets_options_and_no_rank(self):
        mean, variance, y = examples.number_arrays(members=1)
        y2 = np.stack([y, y], axis=1)
        two = [caveat.Gaussian(np.stack([m, m], axis=1), np.stack([v, v], axis=1), targets=["a", "b"])
               for m, v in ((mean[0], variance[0]), (mean[0] + 1e-3, variance[0] * 1.001))]  # fmt: skip
        comparison = caveat.compare(
            dict(zip("xy", two, strict=True)), y2, resamples=50, random_state=0
        )
        assert labels(plots.plot_comparison(comparison, "mae", target="b")) == [
            "best", "tied with the best",
        ]  # fmt: skip
        ax = plots.plot_comparison(comparison, "interval_coverage", option="coverage=0.9545")
        assert ax.get_xlabel() == "interval coverage (coverage=0.9545): near the target is better"
        assert labels(plots.plot_comparison(comparison, "dispersion")) == ["not ranked"]
        with pytest.raises(OptionError) as error:
            plots.plot_comparison(comparison, "mae", target="c")
        assert str(error.value) == "'mae c' is not in the table of this comparison"

    def test_without_intervals(self):
        p, codes = examples.class_arrays()
        pair = {"a": caveat.Categorical(p), "b": caveat.Categorical(p[:1])}
        comparison = caveat.compare(pair, codes, resamples=0)
        ax = plots.plot_comparison(comparison, "brier")
        segment = ax.collections[0].get_segments()[0]
        assert segment[0][0] == segment[1][0]

    def test_legend_goes_beside_where_it_is_long(self):
        p, codes = examples.class_arrays()
        three = {name: caveat.Categorical(p) for name in "abc"}
        comparison = caveat.compare(three, codes, resamples=0, metrics=["ece", "accuracy"])
        ax = plots.plot(comparison, "reliability")
        assert ax.figure.get_figwidth() == pytest.approx(4.6 + 2.6)
        _, own = pyplot.subplots(figsize=(5, 5))
        plots.plot(comparison, "reliability", ax=own)
        assert own.figure.get_figwidth() == 5
        ax = plots.plot(comparison, "groups")
        assert ax.figure.get_figwidth() == pytest.approx(5.4 + 2.6)


class TestDispatch:
    def test_default_kind_is_the_first_that_applies(self):
        assert plots.plot(examples.classes()).get_title() == "Reliability of the confidence"
        assert plots.plot(examples.numbers()).get_title() == "Coverage"

    def test_unknown_kinds_get_an_answer(self):
        with pytest.raises(UnknownNameError) as error:
            plots.plot(examples.classes(), "relability")
        assert str(error.value).startswith(
            "unknown kind of plot 'relability'; did you mean 'reliability'? known are reliability, "
        )

    def test_kinds_that_do_not_apply_say_which_do(self):
        with pytest.raises(UnsupportedPredictionError) as error:
            plots.plot(examples.sets(), "ecdf")
        assert str(error.value) == (
            "kind='ecdf' does not apply to this PredictionSet; kinds that do are coverage, groups"
        )

    def test_one_technique_at_a_time(self):
        with pytest.raises(OptionError) as error:
            plots.plot(examples.comparison(), "split")
        assert str(error.value) == (
            "kind='split' shows one technique at a time; plot one of the evaluations, as in "
            "comparison.evaluations['honest']"
        )

    def test_only_results_can_be_drawn(self):
        with pytest.raises(OptionError) as error:
            plots.plot([1, 2], "ecdf")
        assert str(error.value) == (
            "plot takes what evaluate, compare, audit, disentanglement_error, class_detection, "
            "shift_curves or domain_shift returned; got a list"
        )

    def test_palette_is_okabe_and_itos(self):
        assert len(set(plots.PALETTE)) == len(plots.PALETTE) == 7
        assert plots.PALETTE[0] == "#0072B2"
