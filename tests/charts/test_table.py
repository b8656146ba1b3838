"""The table of charts, and the one door to them."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import caveat
from caveat import charts
from caveat.charts import CHARTS, Axis, Chart, Entry, Line
from caveat.evaluation import Evaluation
from caveat.exceptions import OptionError, UnknownNameError, UnsupportedPredictionError
from tests.charts import examples, test_drift, test_experiments, test_fairness, test_repair_map
from tests.charts.drawn import curves, labels, small
from tests.charts.vectors import parsed

OTHERS = {
    "comparison": (examples.comparison, {"metric": "ece"}),
    "trade_off": (examples.trade_off, {}),
    "ratios": (lambda: test_fairness.RESULT, {}),
    "distributions": (lambda: test_fairness.RESULT, {}),
    "sweeps": (test_experiments.two_decompositions, {}),
    "terms": (test_experiments.two_decompositions, {}),
    "detection": (test_experiments.detection, {}),
    "shift": (test_experiments.shift, {}),
    "domain_shift": (lambda: test_experiments.domain(["ece"]), {}),
    "operating_curve": (test_experiments.triage, {}),
    "drift": (test_drift.changed, {}),
    "drift_distribution": (test_drift.changed, {}),
    "history": (test_drift.weeks, {}),
    "repair_map": (test_repair_map.two_classes, {}),
    "measure_ecdf": (examples.measures, {}),
    "class_ecdf": (examples.measures, {}),
    "confused": (examples.measures, {}),
    "near_misses": (examples.measures, {}),
    "kinds": (examples.explanation, {}),
    "class_map": (examples.pixels, {}),
    "layer_map": (examples.pixels, {}),
    "kind_map": (examples.pixels, {"distances": 1 - np.eye(3)}),
    "embedding": (examples.embedded, {}),
}


class TestPlot:
    @pytest.mark.parametrize("name", examples.ALL)
    def test_every_kind_applies_or_says_so(self, name):
        result = examples.ALL[name]()
        for entry in CHARTS.of(result):
            if entry.name in charts.available(result):
                ax = caveat.plot(result, entry.name, ax=small())
                assert ax.get_xlabel()
                assert curves(ax)
            else:
                with pytest.raises(
                    UnsupportedPredictionError, match=f"^kind='{entry.name}' does not apply"
                ):
                    caveat.plot(result, entry.name)

    @pytest.mark.parametrize("kind", OTHERS)
    def test_every_result_has_its_charts(self, kind):
        make, options = OTHERS[kind]
        result = make()
        assert kind in charts.available(result)
        made = charts.chart(result, kind, **options)
        first = made if isinstance(made, Chart) else made[0]
        ax = np.ravel(caveat.plot(result, kind, **options))[0]
        assert ax.get_xlabel().startswith(first.x.label)

    def test_default_kind_is_the_first_that_applies(self):
        assert caveat.plot(examples.classes()).get_title() == "Reliability of the confidence"
        assert caveat.plot(examples.numbers()).get_title() == "Coverage"
        assert charts.chart(test_fairness.RESULT).x.log
        assert len(caveat.plot(test_experiments.two_decompositions())) == 2

    def test_options_of_the_chart_and_of_matplotlib(self):
        ax = caveat.plot(
            examples.two_targets(), "coverage", target="dbp", name="mine", color="red", lw=5
        )
        assert ax.get_title() == "Coverage of dbp"
        assert labels(ax)[-1].startswith("mine")
        (line,) = curves(ax)
        assert (line.get_color(), line.get_linewidth()) == ("red", 5)

    def test_results_plot_themselves(self):
        result, own = examples.classes(), small()
        assert result.plot("ecdf", ax=own) is own
        assert test_experiments.shift().plot(quantity="total").get_ylabel() == "total"

    def test_the_kind_has_a_name(self):
        ax = caveat.plot(examples.classes(), kind="ecdf")
        assert ax.get_title() == "Uncertainty of right and wrong predictions"
        assert charts.chart(examples.classes(), kind="split").title.startswith("Aleatoric")

    def test_aliases(self):
        for alias, name in (
            ("confidence", "confidence_curve"),
            ("error_vs_uncertainty", "error_histogram"),
            ("by_group", "groups"),
        ):
            assert CHARTS[alias].name == name

    def test_unknown_kinds_get_an_answer(self):
        for wrong, meant in (("relability", "reliability"), ("term", "terms")):
            with pytest.raises(UnknownNameError) as error:
                caveat.plot(examples.classes(), wrong)
            assert str(error.value).startswith(
                f"unknown kind of chart '{wrong}'; did you mean '{meant}'? known are reliability, "
            )

    @pytest.mark.parametrize(
        ("result", "kind", "message"),
        [
            (
                examples.sets,
                "ecdf",
                "kind='ecdf' does not apply to this PredictionSet; kinds that do are coverage, "
                "groups",
            ),
            (
                test_experiments.shift,
                "detection",
                "kind='detection' does not apply to this ShiftCurves; kinds that do are shift",
            ),
            (
                examples.comparison,
                "split",
                "kind='split' shows one technique at a time; plot one of the evaluations, as in "
                "comparison.evaluations['honest']",
            ),
            (
                examples.comparison,
                "ratios",
                "kind='ratios' shows one technique at a time; plot one of the evaluations, as in "
                "comparison.evaluations['honest']",
            ),
            (
                lambda: [1, 2],
                "ecdf",
                "a chart is made of one of Evaluation, Comparison, FairnessAudit, Disentanglement, "
                "ClassDetection, ShiftCurves, DomainShift, Triage, Drift, DriftHistory, Repair, "
                "MeasureComparison, UncertaintyExplanation, SampleEmbedding, PredictionMap, "
                "StreamRecord, Scenarios; got a list",
            ),
        ],
    )
    def test_kinds_that_do_not_apply(self, result, kind, message):
        with pytest.raises((UnsupportedPredictionError, OptionError)) as error:
            caveat.plot(result(), kind)
        assert str(error.value) == message

    def test_nothing_applies(self):
        mean, variance, y = examples.number_arrays(members=1)
        result = examples.evaluate(caveat.Interval(mean[0], mean[0] + variance[0], coverage=0.8), y)
        entries = [CHARTS[name] for name in charts.available(result)]
        for entry in entries:
            CHARTS.unregister(entry.name)
        try:
            with pytest.raises(UnsupportedPredictionError, match=r"^kind='reliability' does not"):
                caveat.plot(result)
            with pytest.raises(UnsupportedPredictionError, match=r"it has no chart at all$"):
                charts.confidence_curve(result)
        finally:
            CHARTS._replace(BEFORE)


BEFORE = list(CHARTS.values())


def survivors(evaluation: Evaluation, top: float = 1.0) -> Chart:
    """A chart of somebody else."""
    x = np.linspace(0, 1, 5)
    return Chart(
        title="The chart of <somebody> else",
        read="Read it from left to right.",
        x=Axis(label="a share"),
        y=Axis(label="another"),
        marks=(Line(x=x, y=top * x, main=True, label="a line", says="{x:.2f} gives {y:.2f}"),),
        numbers={"share": x, "other": top * x},
    )


@pytest.fixture
def registered(request):
    CHARTS.register(request.param)
    yield request.param
    CHARTS.unregister(request.param.name)
    assert list(CHARTS.values()) == BEFORE


SECTIONS = [
    Entry(
        "survivors", survivors, section=section, applies=lambda e, _: hasattr(e.prediction, "classes"),
        needs="classes", aliases=("living",), views=lambda _: ({}, {"top": 2.0}),
    )
    for section in ("calibration", "ranking")
]  # fmt: skip


class TestANewChart:
    """One declaration and one line in the table: everything that draws has it."""

    @pytest.mark.parametrize("registered", SECTIONS, indirect=True, ids=lambda e: e.section)
    def test_is_in_plot_and_on_the_page(self, registered, tmp_path):
        result = examples.classes()
        assert "survivors" in charts.available(result)
        assert caveat.plot(result, "living", top=2).get_ylim()[1] > 1.9
        assert result.plot("survivors", color="red").lines[0].get_color() == "red"
        assert charts.chart(result, "survivors").to_frame().shape == (5, 2)
        assert "survivors" in str(CHARTS)
        both = caveat.plot(examples.comparison(), "survivors")
        assert labels(both) == ["honest", r" _sure \$x\$"]
        with pytest.raises(UnsupportedPredictionError, match=r"^kind='survivors' does not apply"):
            caveat.plot(examples.numbers(), "survivors")
        path = tmp_path / "page.html"
        result.report(path)
        page = path.read_text(encoding="utf-8")
        section = re.search(rf'<section[^>]*id="{registered.section}".*?</section>', page, re.S)
        assert section is not None
        drawn = [
            part for part in re.findall(r"<svg.*?</svg>", section[0], re.S) if "somebody" in part
        ]
        assert len(drawn) == 2  # one for each view
        root = parsed(drawn[0])
        assert root.get("aria-label") == "The chart of <somebody> else"
        assert "0.50 gives 0.50" in section[0]
        assert "0.50 gives 1.00" in section[0]
        assert "Read it from left to right." in section[0]

    def test_every_kind_is_on_the_page_of_the_documentation(self):
        page = (Path(__file__).parents[2] / "docs" / "charts.md").read_text(encoding="utf-8")
        missing = [name for name in CHARTS if f'"{name}"' not in page]
        assert missing == ["comparison"]  # the default of a comparison, with metric=

    def test_is_gone_afterwards(self):
        assert "survivors" not in CHARTS
        with pytest.raises(UnknownNameError, match=r"^unknown kind of chart 'survivors'"):
            caveat.plot(examples.classes(), "survivors")

    def test_names_are_taken_once(self):
        with pytest.raises(UnknownNameError, match="stands for two"):
            CHARTS.register(Entry("reliability", survivors))
        assert list(CHARTS.values()) == BEFORE

    def test_only_entries(self):
        with pytest.raises(OptionError) as error:
            CHARTS.register(survivors)
        assert str(error.value) == "entry must be a caveat.charts.Entry; got a function"
        with pytest.raises(UnknownNameError, match=r"^unknown kind of chart 'nothing'"):
            CHARTS.unregister("nothing")

    def test_every_entry_says_what_it_needs_and_has_a_public_function(self):
        for entry in CHARTS.values():
            assert getattr(charts, entry.name) is entry.function
            if entry.of is Evaluation and entry.name != "groups":
                assert entry.needs


class TestOptions:
    def test_an_unknown_one_is_named_with_those_that_are_known(self):
        message = (
            "unknown option 'bins'; 'reliability' has the options ax, name, view, label, group "
            "and those of matplotlib (Line2D.set() got an unexpected keyword argument "
            "'bins')"
        )
        with pytest.raises(OptionError) as error:
            caveat.plot(examples.classes(), "reliability", bins=5)
        assert str(error.value) == message

    def test_another_error_stays_what_it_is(self):
        def broken(evaluation):
            return replace(charts.reliability(evaluation), x="probability")

        CHARTS.register(Entry("broken", broken))
        try:
            with pytest.raises(AttributeError, match="'str' object has no attribute"):
                caveat.plot(examples.classes(), "broken")
        finally:
            CHARTS.unregister("broken")

    @pytest.mark.parametrize("kind", ["error_histogram", "ecdf", "split"])
    def test_what_shows_one_technique_is_not_drawn_over_another(self, kind):
        ax = caveat.plot(examples.classes(), kind)
        with pytest.raises(
            OptionError, match=rf"^kind='{kind}' shows one technique at a time, and"
        ):
            caveat.plot(examples.classes(), kind, ax=ax)

    @pytest.mark.parametrize("draw", [caveat.plot, charts.chart])
    def test_a_function_returns_a_chart(self, draw):
        CHARTS.register(Entry("three", lambda evaluation: 3))
        try:
            with pytest.raises(
                OptionError, match=r"^the function of 'three' must return a .* int$"
            ):
                draw(examples.classes(), "three")
        finally:
            CHARTS.unregister("three")
