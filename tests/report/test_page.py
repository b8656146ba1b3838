import base64
import hashlib
import re
from datetime import date

import numpy as np
import pytest

import caveat
from caveat import charts
from caveat.evaluation.verdict import verdict
from caveat.metrics import METRICS
from caveat.report import write_report
from caveat.report.content import Figure
from caveat.results.judgments import Contrast

from .pages import read
from .results import (
    classification,
    comparison,
    every_prediction,
    probabilities,
    regression,
)

TITLE = "How far can these predictions be trusted?"
WORDS = {"good": "Good", "bad": "Problem", "unsure": "Unsure", "info": "Note"}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return read(write_report(classification(), tmp_path_factory.mktemp("page") / "report.html"))


def written(folder, prediction, y, **options):
    result = caveat.evaluate(prediction, y, **{"resamples": 0, "random_state": 0} | options)
    return read(write_report(result, folder / "report.html"))


def test_verdict_comes_first_with_its_levels_in_words(page):
    summary, *others = verdict(classification()).statements
    places = [page.text.index(statement.text) for statement in (summary, *others)]
    assert places == sorted(places)
    assert places[0] < page.text.index("Next step") < places[1]
    assert places[-1] < page.text.index("The numbers")
    listed = [a["class"] for a in page.named("li") if a.get("class")]
    assert [name.split()[0] for name in listed] == [s.level for s in (summary, *others)]
    assert f"{WORDS[summary.level]} {summary.text}" in page.text
    for said in others:
        assert f"{WORDS[said.level]} {said.text}" in page.text or f"Detail {said.text}" in page.text


def test_one_cause_has_one_alarm_and_another_cause_its_own(tmp_path):
    # Too sure, and most of all for a half that is right less often; nor does it warn of errors.
    rng = np.random.default_rng(0)
    z = rng.normal(size=2000)
    y = (rng.random(2000) < 1 / (1 + np.exp(-z))).astype(int)
    half = np.arange(2000) % 2
    prediction = caveat.Categorical.from_binary(1 / (1 + np.exp(-3 * np.where(half, z, -z))))
    page = written(
        tmp_path, prediction, y, groups={"half": half}, resamples=100,
        metrics=["positive_ece", "ece", "accuracy", "auroc_error"],
    )  # fmt: skip
    assert (page.text.count("Problem "), page.text.count("Detail ")) == (2, 3)
    assert "Problem Its probabilities cannot be taken at face value: it is overcon" in page.text
    assert "Detail Its probabilities cannot be taken at face value for half=0" in page.text
    assert "Problem Its uncertainty does not warn of errors" in page.text


def test_single_classes_are_part_of_what_is_wrong(tmp_path):
    p, truth = probabilities(400)
    metrics = ["ece", "classwise_ece", "accuracy"]
    page = written(tmp_path, caveat.Categorical(p), truth, metrics=metrics, resamples=100)
    assert page.text.count("Problem ") == 1
    assert "Detail The probabilities of single classes cannot be taken at face" in page.text


def test_the_first_screen_has_three_numbers_and_the_next_step(page):
    result = classification()
    accuracy, error, detection = (
        result.select(metric=name, group="")[0]
        for name in ("accuracy_score", "expected_calibration_error", "error_detection_auroc_score")
    )
    for name, value, low, high in (
        ("Accuracy", f"{100 * accuracy.value:.1f} %", f"{100 * accuracy.low:.1f} %",
         f"{100 * accuracy.high:.1f} %"),
        ("Expected calibration error", f"{100 * error.estimate:.1f} %", f"{100 * error.low:.1f} %",
         f"{100 * error.high:.1f} %"),
        ("Error detection AUROC", f"{detection.value:.3g}", f"{detection.low:.3g}",
         f"{detection.high:.3g}"),
    ):  # fmt: skip
        assert f"{name} {value} {low} to {high}" in page.text
    assert f"Next step {verdict(result).next_step}" in page.text


def test_the_title_line_says_what_where_and_when(page, tmp_path, monkeypatch):
    class Fixed(date):
        @classmethod
        def today(cls):
            return cls(2026, 3, 1)

    monkeypatch.setattr("caveat.report._evaluation.date", Fixed)
    for result, about in (
        (classification(), "400 samples, 3 classes (setosa, versicolor, virginica), 3 members · "
         "table.csv · 1 March 2026 · 95 % intervals and bands"),
        (regression(), "300 samples, 2 targets, 3 members · table.csv · 1 March 2026 · 95 % "),
        (regression(targets=1), "300 samples, 3 members · table.csv · 1 March 2026 · 95 % "),
        (comparison(), "400 samples, 3 classes (0, 1, 2), 2 techniques: raw, soft · table.csv · 1 "
         "March 2026 · 95 % intervals, paired differences"),
    ):  # fmt: skip
        path = write_report(result, tmp_path / "about.html", source="table.csv")
        assert f"{about}" in read(path).text
        # Nothing else depends on the day: the same result gives the same bytes.
        again = write_report(result, tmp_path / "again.html", source="table.csv")
        assert again.read_bytes() == path.read_bytes()
    head = page.text.partition("Verdict")[0]
    assert "Categorical" not in head
    assert "members x" not in head


def test_headline_table_shows_the_rows_of_the_evaluation(page):
    (row,) = classification().select(metric="expected_calibration_error", group="")
    assert row.estimate != row.value
    said = f"{row.value:.3g} {row.estimate:.3g} {row.low:.3g} to {row.high:.3g} less is better"
    assert said in page.text
    assert f"; {row.estimate:.3g} without chance" in page.text
    assert "Expected calibration error ECE How far the probability of the predicted" in page.text


def test_every_section_is_in_the_contents_and_all_but_the_verdict_are_folded(page):
    assert page.sections == [
        "verdict", "numbers", "calibration", "ranking", "why", "classes", "groups", "samples",
        "notes",
    ]  # fmt: skip
    links = [a["href"] for a in page.named("a")]
    assert links == ["#verdict", *(f"#{name}" for name in page.sections)]
    assert len(page.named("details", "part")) == len(page.sections) - 1
    assert not any("open" in a for a in page.named("details"))
    assert "More charts (2)" in page.text


def test_charts_are_those_of_the_evaluation_with_words_and_tables(page):
    result = classification()
    for chart in (
        charts.reliability(result),
        charts.reliability(result, "entropy"),
        charts.confidence_curve(result),
        charts.error_histogram(result),
        charts.ecdf(result),
        charts.groups(result, "accuracy", attribute="sex"),
    ):
        assert page.shows(chart), chart
    boxes = page.named("div", "chart")
    assert len(boxes) == len(page.named("details", "behind")) == 13
    for box in boxes:
        assert box["tabindex"] == "0"
        assert box["aria-label"].endswith(
            "The arrow keys read values off; the numbers are in the table that follows."
        )
        assert box["data-points"] in page.data


def test_what_is_read_off_and_the_table_are_the_numbers(page):
    chart = charts.reliability(classification())
    (texts,) = (
        [text for _, _, text in points]
        for name, points in page.data.items()
        if name.startswith("chart") and points and points[0][2].startswith("predicted ")
        and len(points) == len(chart.numbers["predicted"])
        and points[0][2].endswith(f"observed {chart.numbers['observed'][0]:.3g}")
    )  # fmt: skip
    both = zip(chart.numbers["predicted"], chart.numbers["observed"], strict=True)
    assert texts == [f"predicted {x:.3g}, observed {y:.3g}" for x, y in both]
    rows = chart.to_frame()
    for row in rows.itertuples(index=False):
        assert " ".join(f"{value:.3g}" for value in row) in page.text


def test_what_is_not_finite_is_not_drawn_and_said_in_words():
    values = [1.0, np.inf, np.nan, 2.0, -np.inf]
    chart = charts.Chart(
        title="", read="", x=charts.Axis(), y=charts.Axis(), numbers={"y": values},
        marks=(charts.Line(x=range(5), y=values, says="{y}", marker=None),),
    )  # fmt: skip
    figure = Figure("chart", chart)
    assert [text for *_, text in figure.drawing.points] == ["1.0", "2.0"]
    cells = [row[0].text for row in figure.table.rows]
    assert cells == ["1", "infinite", "undefined", "2", "minus infinite"]
    assert figure.value == ""


def test_slider_says_what_the_charts_say(page):
    left, chart = charts.deferral(classification()), charts.split(classification(), points=1000)
    steps = page.steps
    first, later = (f"{100 * left.error[i]:.1f} %" for i in (0, 20))
    assert len(steps["sentences"]) == len(steps["threshold"]) == 100
    assert steps["sentences"][0] == f"Defer nothing: the error is {first}."
    assert (
        steps["sentences"][20] == f"Defer 20 %: error among the rest falls from {first} to {later}."
    )
    assert steps["threshold"] == pytest.approx(left.threshold.tolist(), rel=1e-5)
    keys = [key for group in steps["keyed"] for key in group["keys"]]
    assert sorted(keys) == pytest.approx(sorted(chart.numbers["uncertainty"]), rel=1e-5)
    assert [group["color"] for group in steps["keyed"]] == ["blue", "orange"]
    assert "Descriptive: read off these same samples" in page.text
    (slider,) = page.named("input")
    assert (slider["type"], slider["min"], slider["max"]) == ("range", "0", "99")


def test_nothing_is_fetched_and_only_our_script_runs(page):
    (policy,) = (
        a["content"] for a in page.named("meta") if a.get("http-equiv") == "Content-Security-Policy"
    )
    (script,) = page.scripts
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert [a["href"] for a in page.named("link")] == ["data:,"]
    for tag, attributes in page.elements:
        assert tag not in {"img", "iframe", "object", "embed", "base", "form", "video", "audio"}
        assert "src" not in attributes
        assert not any(name.startswith("on") for name in attributes)
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", page.source)


def test_title_and_definitions(page, tmp_path):
    assert page.text.startswith(f"{TITLE} Skip to the verdict")
    assert "It cannot see: The probabilities of the other classes" in page.text
    for name in {row.metric for row in classification().rows}:
        assert METRICS[name].says in page.text
    assert read(write_report(classification(), tmp_path / "b.html", title="Mine")).text.startswith(
        "Mine"
    )


@pytest.mark.parametrize(
    ("kind", "resamples"),
    [*((kind, 5) for kind in every_prediction()), ("Categorical", 0), ("Gaussian", 0)],
)
def test_every_type_has_a_page(kind, resamples, tmp_path):
    prediction, y = every_prediction()[kind]
    result = caveat.evaluate(prediction, y, resamples=resamples, random_state=0)
    page = read(write_report(result, tmp_path / "report.html"))
    names = charts.available(result)
    assert ("calibration" in page.sections) == bool({"reliability", "coverage"} & set(names))
    assert ("no intervals" in page.text) == (resamples == 0)
    # A plain model has no split, and its slider moves along the confidence curve.
    assert len(page.named("input")) == ("confidence_curve" in names)


def test_slider_of_a_plain_model_follows_the_confidence_curve(tmp_path):
    result = classification(members=1, resamples=0)
    page = read(write_report(result, tmp_path / "report.html"))
    left = charts.deferral(result)
    chart = charts.confidence_curve(result)
    assert left.error == pytest.approx(chart.numbers["error"])
    spot = np.array(page.steps["spot"])
    # Places are linear in the numbers, up to a tenth of a pixel.
    for places, numbers in zip(spot.T, (left.deferred, left.error), strict=True):
        assert np.polyval(np.polyfit(numbers, places, 1), numbers) == pytest.approx(places, abs=0.1)
    assert spot[-1, 0] > spot[0, 0]
    assert page.steps["keyed"] == []
    (dot,) = (a for a in page.named("circle") if "data-spot" in a)
    assert [float(dot["cx"]), float(dot["cy"])] == page.steps["spot"][20]
    assert "why" not in page.sections


def test_several_targets_have_a_chooser_and_one_has_none(tmp_path):
    page = read(write_report(regression(), tmp_path / "two.html"))
    choosers = page.named("select")
    assert {a["data-chooses"] for a in choosers} == {"target"}
    assert [a["value"] for a in page.named("option")] == ["1", "2"] * len(choosers)
    assert {a["data-target"] for _, a in page.elements if "data-target" in a} == {"1", "2"}
    assert page.shows(charts.coverage(regression(), "target 1"))
    assert "mean absolute error among the rest" in page.text
    one = read(write_report(regression(targets=1), tmp_path / "one.html"))
    assert not one.named("select")


def test_many_targets_draw_the_first_dozen(tmp_path):
    page = read(write_report(regression(14, 0, ("mae", "ence")), tmp_path / "many.html"))
    of = {a["data-target"] for _, a in page.elements if "data-target" in a}
    assert of == {str(i) for i in range(1, 13)}
    assert "target 13" in page.text


def test_many_groups_show_the_worst(tmp_path):
    p, truth = probabilities(500)
    groups = [f"group {i % 40 if i < 400 else i % 10}" for i in range(500)]
    found = caveat.evaluate(
        caveat.Categorical(p), truth, groups=groups, metrics=["accuracy"], resamples=0
    )
    page = read(write_report(found, tmp_path / "report.html"))
    chart = charts.groups(found, "accuracy", attribute="group")
    assert page.shows(chart)
    assert len(chart.numbers["group"]) == 30
    rows = found.matching(attribute="group", contrast=Contrast.NONE)
    values = sorted(row.value for row in rows)
    assert len(values) == 40
    assert sorted(chart.numbers["value"]) == pytest.approx(values[:30])
    assert "The 30 worst are shown; 10 others are in the table of rows." in page.text


def test_one_sample(tmp_path):
    page = written(tmp_path, caveat.Categorical([[0.9, 0.1]]), [0])
    assert "no intervals: nothing here says how sure a number is" in page.text


def test_measures_that_were_asked_for_are_shown(tmp_path):
    p, truth = probabilities(60)
    page = written(
        tmp_path, caveat.Categorical(p), truth, metrics=["mce", "error_drop"], groups=truth
    )
    assert "Maximum calibration error by group" in page.text
    assert "Expected calibration error (ECE):" not in page.text


def test_without_headline_numbers_the_others_are_not_folded(tmp_path):
    p, truth = probabilities(60)
    page = written(tmp_path, caveat.Categorical(p), truth, metrics=["mce"])
    assert "All other numbers" not in page.text
    assert "Maximum calibration error" in page.text
    assert not page.named("ul", "tiles")


def test_weights_and_clusters_are_said(tmp_path):
    p, truth = probabilities(60)
    page = written(
        tmp_path, caveat.Categorical(p), truth, sample_weight=range(1, 61),
        cluster=[i // 3 for i in range(60)], resamples=10,
    )  # fmt: skip
    assert "Samples are weighted, in the numbers and in the charts." in page.text
    assert "Samples of one cluster belong together" in page.text


def test_of_many_samples_some_are_shown(tmp_path):
    p, truth = probabilities(1100, 2)
    page = written(tmp_path, caveat.Categorical(p), truth, metrics=["accuracy"])
    assert "1,000 of 1,100 samples are shown, wrong ones more often than they occur." in page.text
    # Of a long table of samples the first are shown, of a curve every so many.
    assert "The first 60 of 1000 rows." in page.text


def test_a_value_that_is_infinite_over_all_has_no_line(tmp_path):
    p, truth = probabilities(60)
    p[0, 0] = np.eye(3)[(truth[0] + 1) % 3]
    found = caveat.evaluate(caveat.Categorical(p), truth, metrics=["nll"], resamples=0)
    chart = charts.groups(found, "nll", attribute=found.true_class)
    assert len(chart.numbers["group"]) == 2
    assert [type(mark).__name__ for mark in chart.marks] == ["Points"]
    assert read(write_report(found, tmp_path / "report.html")).shows(chart)


def test_the_slider_says_whether_the_error_rises_or_stays(tmp_path):
    # The least uncertain are the wrong ones: the error rises as the others are deferred.
    p = np.tile([[0.99, 0.01], [0.6, 0.4]], (50, 1))
    y = np.tile([1, 0], 50)
    page = written(tmp_path, caveat.Categorical(p), y, metrics=["accuracy"])
    assert (
        "Defer 20 %: error among the rest rises from 50.0 % to 62.5 %." in page.steps["sentences"]
    )
    page = written(tmp_path, caveat.Categorical(p), np.zeros(100, int), metrics=["accuracy"])
    assert "Defer 20 %: error among the rest stays at 0.0 %." in page.steps["sentences"]


@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("triage", [True, False])
def test_the_page_of_one_model_does_not_say_what_only_members_show(members, triage, tmp_path):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), (members, 300))
    y = (p.mean(axis=0).cumsum(axis=1) < rng.random((300, 1))).sum(axis=1)
    result = caveat.evaluate(caveat.Categorical(p), y, resamples=0)
    policy = caveat.TriagePolicy(0.3, random_state=0).fit(p, y) if triage else None
    page = read(write_report(result, tmp_path / "page.html", policy=policy))
    assert ("an ensemble, the same model trained several times" in page.text) == (members == 1)
    assert ("measure again" in page.text) == (members == 3 and triage)
    assert not re.search(r"epistemic:? 0\b", page.text)
