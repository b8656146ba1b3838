"""One metric for each group or technique, straight from the table."""

import numpy as np
import pytest
from matplotlib import pyplot

import caveat
from caveat import charts
from caveat.exceptions import OptionError, UnknownNameError
from caveat.metrics import METRICS
from tests.charts import examples
from tests.charts.drawn import curves, labels, picture, ticks, whiskers


def grouped(metric, groups):
    """An evaluation of numbers or classes, whatever the metric is of."""
    if metric == "dispersion":
        mean, variance, y = examples.number_arrays(members=1)
        prediction = caveat.Gaussian(mean[0], variance[0])
    else:
        p, y = examples.class_arrays()
        prediction = caveat.Categorical(p)
    return examples.evaluate(prediction, y, groups=groups, metrics=[metric])


class TestGroups:
    def test_rows_are_those_of_the_table(self):
        result = examples.classes()
        chart = charts.groups(result, "ece")
        assert chart.title == "Expected calibration error by group"
        (whole,) = result.select(metric="ece", group="")
        assert chart.marks[-1].x == whole.value
        frame = chart.to_frame()
        # Among samples of one true class even perfect probabilities are off: there are no such rows.
        assert frame[["attribute", "group"]].values.tolist() == [["sex", "0"], ["sex", "1"]]
        for found in frame.itertuples():
            (row,) = result.select(metric="ece", group=f"sex={found.group}")
            expected = row.value, row.low, row.high, row.samples
            assert (found.value, found.low, found.high, found.samples) == expected
        recall = charts.groups(result, "accuracy")
        assert list(dict.fromkeys(recall.numbers["attribute"])) == ["class", "sex"]
        of_class = charts.groups(result, "accuracy", attribute="class")
        assert of_class.numbers["value"].tolist() == recall.numbers["value"][:3].tolist()

    def test_calibration_of_classes_is_against_the_rest(self):
        p, codes = examples.class_arrays()
        asked = ["positive_ece", "classwise_ece"]
        result = examples.sampled(caveat.Categorical(p), codes, metrics=asked)
        chart = charts.groups(result, "positive_ece")
        assert set(chart.numbers["attribute"]) == {charts.AGAINST_REST}
        assert chart.numbers["group"] == ["0", "1", "2"]
        assert chart.numbers["samples"].tolist() == [examples.N] * 3
        overall = chart.marks[-1].x
        assert chart.numbers["value"].mean() == pytest.approx(overall)  # the classwise error
        assert chart.title == "Calibration error of each class against the rest"
        assert "The dotted line is the mean over the classes." in chart.read
        alone = examples.sampled(caveat.Categorical(p), codes, metrics=asked[:1])
        assert charts.groups(alone, "positive_ece").marks[-1].x == pytest.approx(overall)

    def test_names_with_signs_are_told_whole(self):
        names = np.array(["x=y", "f: gap"])[np.arange(examples.N) % 2]
        numbers = charts.groups(grouped("ece", {"a=b": names}), "ece").numbers
        assert (numbers["attribute"], numbers["group"]) == (["a=b"] * 2, ["f: gap", "x=y"])

    def test_undefined_groups_are_left_out_and_intervals_may_be_missing(self):
        prediction = caveat.Categorical.from_binary([0.2, 0.6, 0.7, 0.9])
        groups = {"g": ["a", "a", "b", "b"], "h": ["c", "d", "c", "d"], "i": [1, 2, 3, 4]}
        result = caveat.evaluate(prediction, [0, 1, 1, 1], groups=groups, resamples=0)
        numbers = charts.groups(result, "auc").numbers
        assert (numbers["attribute"], numbers["group"]) == (["g", "h"], ["a", "c"])
        assert numbers["value"].tolist() == [1.0, 1.0]
        assert np.isnan(numbers["low"]).all()

    def test_an_infinite_value_of_all_has_no_line(self):
        prediction = caveat.Categorical.from_binary([0.0, 0.2, 0.6, 0.7])
        options = {"groups": {"g": list("aabb")}, "metrics": ["log_loss"], "resamples": 0}
        result = caveat.evaluate(prediction, [1, 0, 1, 1], **options)
        chart = charts.groups(result, attribute="g")
        assert chart.numbers["group"] == ["b"]
        assert len(chart.marks) == 1
        assert np.isfinite(chart.x.ends).all()

    def test_options_and_targets(self):
        result = examples.numbers()
        first = charts.groups(result, "interval_coverage")
        assert first.x.label == "Interval coverage (coverage=0.6827)"
        second = charts.groups(result, "interval_coverage", option="coverage=0.9545")
        (row,) = result.select(metric="interval_coverage", option="coverage=0.9545", group="sex=1")
        assert second.numbers["value"][1] == row.value
        assert second.title == "Interval coverage by group (coverage=0.9545)"

    def test_an_alias_of_two_metrics_means_the_first(self):
        chart = charts.groups(examples.numbers(), "mce")
        assert chart.x.label == METRICS["maximum_coverage_error"].label
        assert len(chart.numbers["group"]) == 2

    def test_the_largest_gap_of_an_attribute_is_said(self):
        result = examples.classes()
        (row,) = result.matching(metric="accuracy_score", group="sex: gap")
        chart = charts.groups(result, "accuracy", attribute="sex")
        assert chart.note.startswith(f"Largest gap: {row.value:.3g}"[:16])
        assert chart.note.endswith(f"{row.note}.")
        assert charts.groups(result, "accuracy").note == ""

    @pytest.mark.parametrize("metric", ["expected_calibration_error", "accuracy", "dispersion"])
    def test_of_many_groups_the_worst_are_shown(self, metric):
        result = grouped(metric, {"many": np.arange(examples.N) % 40})
        rows = result.select(metric=metric, attribute="many", statistic="value")
        value = np.array([row.value for row in rows])
        (whole,) = result.select(metric=metric, group="")
        badness = {
            "expected_calibration_error": value,
            "accuracy": -value,
            "dispersion": np.abs(value - whole.value),
        }[metric]
        worst = np.argsort(-badness, kind="stable")[:30]
        chart = charts.groups(result, metric, attribute="many")
        assert chart.numbers["value"].tolist() == value[np.sort(worst)].tolist()
        assert "The 30 worst are shown; 10 others are in the table of rows." in chart.note
        drawn = curves(chart.plot())[0].get_xdata()
        assert drawn.tolist() == chart.numbers["value"].tolist()

    def test_default_is_the_calibration_error(self):
        assert charts.groups(examples.classes()).x.label == "Expected calibration error (ECE)"
        assert charts.groups(examples.sets()).x.label == "Set coverage"

    def test_labels_have_the_sizes_and_only_several_attributes_are_named(self):
        result = examples.classes()
        several, one = charts.groups(result, "accuracy"), charts.groups(result, "ece")
        assert several.y.ticks[-1][1] == f"sex 1 ({examples.N // 2})"
        assert one.y.ticks[-1][1] == f"1 ({examples.N // 2})"

    def test_techniques_share_the_rows(self):
        ax = caveat.plot(examples.comparison(), "groups", metric="accuracy")
        one, two = curves(ax)
        assert (np.array(two.get_ydata()) > np.array(one.get_ydata())).all()
        assert labels(ax) == ["honest", "all samples", r" _sure \$x\$"]
        assert len(ax.get_yticks()) == len(one.get_ydata())

    def test_many_techniques_have_room_below_and_the_title_above_their_legend(self):
        chart, (_, ax) = charts.groups(examples.classes()), pyplot.subplots(layout="constrained")
        for name in ("one", "two", "three", "four", "five"):
            chart.plot(ax=ax, name=name)
        picture(ax)
        bottom, top = ax.get_ylim()
        assert all(top < y < bottom for points in curves(ax) for y in points.get_ydata())
        assert ax.get_legend().get_window_extent().y1 <= ax.title.get_window_extent().y0

    def test_names_are_text(self):
        long = "a name that goes on and on and on, well beyond what any reader would read " * 3
        names = np.array([long, "b\nc <script>"])[np.arange(examples.N) % 2]
        groups = {"$x_1$ costs $5": names, "other": names}
        ax = charts.groups(grouped("ece", groups)).plot()
        picture(ax)
        texts = [label.get_text() for label in ax.get_yticklabels()]
        assert texts[0].startswith("\\$x_1\\$ costs \\$5 a name")
        assert texts[0].count("\n") == 6
        assert texts[0].endswith("…\n(200)")
        assert "b c <script>" in texts[1].replace("\n", " ")
        assert all(len(line.replace("\\", "")) <= 24 for tick in texts for line in tick.split("\n"))

    @pytest.mark.parametrize(
        ("result", "arguments", "message"),
        [
            ("classes", ("ence",), "'ence' is not in the table of this evaluation"),
            (
                "numbers",
                ("interval_coverage", None, "coverage=0.5"),
                "unknown option 'coverage=0.5' of 'interval_coverage'; known are coverage=0.6827, "
                "coverage=0.9545",
            ),
            ("two targets", (), "this evaluation has no groups; pass groups= to evaluate"),
            (
                "two targets",
                ("ence", "dbp"),
                "'expected_normalized_calibration_error' is not defined in any group of this "
                "evaluation",
            ),
        ],
    )
    def test_refusals(self, result, arguments, message):
        with pytest.raises(OptionError) as error:
            charts.groups(examples.ALL[result](), *arguments)
        assert str(error.value) == message

    def test_unknown_metrics(self):
        with pytest.raises(UnknownNameError, match="unknown metric 'nonsense'"):
            charts.groups(examples.classes(), "nonsense")


def two_targets_compared(**options):
    mean, variance, y = examples.number_arrays(members=1)
    both = {
        name: caveat.Gaussian(
            np.stack([m, m], axis=1), np.stack([v, v], axis=1), targets=["a", "b"]
        )
        for name, m, v in (
            ("x", mean[0], variance[0]),
            ("y", mean[0] + 1e-3, variance[0] * 1.001),
        )
    }
    return caveat.compare(both, np.stack([y, y], axis=1), random_state=0, **options)


class TestComparison:
    def test_points_intervals_and_who_is_best(self):
        result = examples.comparison()
        rows = result.select(metric="expected_calibration_error", group="")
        best = next(row for row in rows if row.best)
        chart = charts.comparison(result, "ece")
        for column in ("technique", "value", "low", "high"):
            assert list(chart.numbers[column]) == [getattr(row, column) for row in rows]
        assert chart.x.label == "Expected calibration error (ECE)"
        assert chart.read.endswith("Less is better.")
        ax = caveat.plot(result, metric="ece")
        assert labels(ax) == ["best", "worse"]
        assert ax.lines[0].get_xdata().tolist() == [best.value]
        assert (best.low, best.high) in whiskers(ax)
        assert ticks(ax) == ["honest", r"_sure \$x\$"]
        picture(ax)

    def test_ties_targets_options_and_no_rank(self):
        result = two_targets_compared(resamples=50)
        tied = charts.comparison(result, "mae", target="b")
        assert [mark.label for mark in tied.marks] == ["best", "tied with the best"]
        near = charts.comparison(result, "interval_coverage", option="coverage=0.9545")
        assert near.x.label == "Interval coverage (coverage=0.9545)"
        unranked = charts.comparison(result, "dispersion")
        assert [mark.label for mark in unranked.marks] == ["not ranked"]
        assert "better" not in unranked.read
        for wanted, options in (("mae c", {"target": "c"}), ("mae x", {"option": "x"})):
            with pytest.raises(OptionError) as error:
                charts.comparison(result, "mae", **options)
            assert str(error.value) == f"'{wanted}' is not in the table of this comparison"

    def test_without_intervals(self):
        p, codes = examples.class_arrays()
        pair = {"a": caveat.Categorical(p), "b": caveat.Categorical(p[:1])}
        ax = charts.comparison(caveat.compare(pair, codes, resamples=0), "brier").plot()
        assert whiskers(ax) == []
        picture(ax)


class TestTradeOff:
    def test_points_are_the_two_measures(self):
        result = examples.trade_off()
        chart = charts.trade_off(result)
        answer = result.recommend()
        first, second = (METRICS[name].title for name in (answer.primary, answer.skill))
        for title, metric in ((first, answer.primary), (second, answer.skill)):
            rows = result.select(metric=metric, group="")
            assert list(chart.numbers[title]) == [row.value for row in rows]
        beaten = ["no" if name in answer.pareto else "yes" for name in result.techniques]
        assert chart.numbers["beaten in both"] == beaten
        assert [bool(mark.faint[0]) for mark in chart.marks] == [word == "yes" for word in beaten]
        assert chart.note == f"Not beaten in both by any other: {', '.join(answer.pareto)}."
        assert [mark.label for mark in chart.marks] == list(result.techniques)

    def test_says_which_side_is_reliable(self):
        lower = charts.trade_off(examples.trade_off())
        assert lower.read.startswith("Further left is more reliable, further down is better.")
        rng = np.random.default_rng(0)
        y = rng.normal(size=200)
        wide, narrow = np.full(200, 2.0), np.full(200, 0.5)
        pair = {
            "wide": caveat.Interval(-wide, wide, coverage=0.9),
            "narrow": caveat.Interval(-narrow, narrow, coverage=0.9),
        }
        chart = charts.trade_off(caveat.compare(pair, y, resamples=40, random_state=0))
        assert chart.x.label == "Coverage ratio"
        assert chart.read.startswith("Closer to 1 is more reliable, further down is better.")
        assert chart.numbers["beaten in both"] == ["no", "yes"]  # although narrow is further left

    def test_of_a_target(self):
        result = two_targets_compared(resamples=20)
        (title,) = {METRICS[result.recommend().skill].title}
        rows = result.select(metric=result.recommend().skill, group="", target="b")
        assert list(charts.trade_off(result, "b").numbers[title]) == [row.value for row in rows]

    def test_refusals(self):
        mean, variance, y = examples.number_arrays(members=1)
        both = caveat.Gaussian(mean[0], variance[0])
        levels = {"few": [0.05, 0.5, 0.95], "many": [0.05, 0.25, 0.5, 0.75, 0.95]}
        pair = {name: both.to_quantiles(some) for name, some in levels.items()}
        unlike = caveat.compare(pair, y, resamples=0)  # no measure of reliability that both share
        with pytest.raises(OptionError, match=r"^a trade-off needs a proper score and another"):
            charts.trade_off(unlike)
        result = two_targets_compared(resamples=20)
        with pytest.raises(OptionError, match=r"^'x' does not have both "):
            charts.trade_off(result, "c")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (charts.groups, "charts of predictions need an Evaluation; got a float"),
        (charts.split, "charts of predictions need an Evaluation; got a float"),
        (lambda x: charts.comparison(x, "ece"), "result must be a Comparison; got a float"),
        (charts.trade_off, "result must be a Comparison; got a float"),
    ],
)
def test_results_of_another_kind(function, message):
    with pytest.raises(OptionError) as error:
        function(3.0)
    assert str(error.value) == message


def test_metrics_that_are_no_names():
    with pytest.raises(UnknownNameError, match="name of a metric is a str"):
        charts.groups(examples.classes(), np.array([[0.5, 0.5]]))
