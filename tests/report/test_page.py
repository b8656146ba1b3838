import base64
import hashlib
import re

import numpy as np
import pytest
from plotly.offline import get_plotlyjs

import caveat
from caveat import figures
from caveat.evaluation.verdict import verdict
from caveat.report import write_report

from .pages import read
from .results import (
    classification,
    comparison,
    every_prediction,
    probabilities,
    regression,
)

TITLE = "How far can these predictions be trusted?"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return read(write_report(classification(), tmp_path_factory.mktemp("page") / "report.html"))


def charts(page):
    return {name: value for name, value in page.data.items() if name.startswith("chart")}


def test_verdict_comes_first_with_its_levels_in_words(page):
    statements = verdict(classification()).statements
    text = page.text
    places = [text.index(" ".join(statement.text.split())) for statement in statements]
    assert places == sorted(places)
    assert places[0] < text.index("The numbers")
    words = {"good": "Good", "bad": "Problem", "unsure": "Unsure", "info": "Note"}
    listed = [a["class"] for a in page.named("li") if a.get("class")]
    assert [name.split()[0] for name in listed] == [s.level for s in statements]
    assert all(f"{words[s.level]} {s.text}" in text for s in statements)


def test_headline_table_shows_the_rows_of_the_evaluation(page):
    (row,) = classification().select(metric="expected_calibration_error", group="")
    assert row.estimate != row.value
    said = f"{row.value:.3g} {row.estimate:.3g} {row.low:.3g} to {row.high:.3g} less is better"
    assert said in page.text
    assert f"; {row.estimate:.3g} without chance" in page.text
    assert "Expected calibration error ECE How far the probability of the predicted" in page.text
    buttons = [a for a in page.named("button") if a["type"] == "button"]
    assert len(buttons) > 10


def test_every_section_is_in_the_contents(page):
    sections = [a["id"] for a in page.named("section")]
    assert sections == [
        "verdict", "numbers", "calibration", "ranking", "why", "classes", "groups", "samples",
        "notes",
    ]  # fmt: skip
    links = [a["href"] for a in page.named("a")]
    assert links == ["#verdict", *(f"#{name}" for name in sections)]


def test_charts_draw_the_figures(page):
    found = {}
    for chart in charts(page).values():
        text = chart["layout"]["xaxis"]["title"]["text"].replace("<br>", " ")
        found.setdefault((text, chart["data"][0]["type"]), chart)
    figure = figures.reliability(classification())
    drawn = found["probability of the predicted class", "scatter"]["data"]
    observed = next(trace for trace in drawn if trace.get("name") == "observed")
    assert observed["x"] == pytest.approx(figure.predicted.tolist(), rel=1e-5)
    assert observed["y"] == pytest.approx(figure.observed.tolist(), rel=1e-5)
    assert drawn[0]["y"] == pytest.approx(figure.low.tolist(), rel=1e-5)
    assert drawn[1]["y"] == pytest.approx(figure.high.tolist(), rel=1e-5)
    bars = next(trace for trace in drawn if trace["type"] == "bar")
    assert sum(bars["y"]) == pytest.approx(1, rel=1e-4)
    (heat,) = found["uncertainty (entropy, nats)", "heatmap"]["data"]
    cells = figures.error_histogram(classification())
    assert np.array_equal(heat["customdata"], cells.counts)
    assert heat["z"][0][0] == pytest.approx(np.log10(cells.counts[0, 0]), rel=1e-5)
    assert (np.array(heat["z"], dtype=float) > -1).sum() == (cells.counts > 0).sum()


def test_every_chart_has_a_label_a_sentence_and_a_table(page):
    boxes = [a for a in page.named("div") if a.get("class") == "chart"]
    assert len(boxes) == len(charts(page)) == 13
    assert {box["data-chart"] for box in boxes} == set(charts(page))
    for box in boxes:
        assert box["role"] == "img"
        assert box["aria-label"].startswith("Chart: ")
        assert box["aria-label"].endswith("The numbers are in the table that follows.")
    behind = [a for a in page.named("details") if a.get("class") == "behind"]
    assert len(behind) == len(boxes)


def test_slider_says_what_the_figure_says(page):
    figure = figures.split(classification())
    (steps,) = (value for name, value in page.data.items() if name.startswith("steps"))
    assert len(steps["sentences"]) == len(steps["threshold"]) == 100
    first, later = (f"{100 * figure.error_kept[i]:.1f} %" for i in (0, 20))
    assert steps["sentences"][0] == f"Defer nothing: the error is {first}."
    assert (
        steps["sentences"][20] == f"Defer 20 %: error among the rest falls from {first} to {later}."
    )
    assert steps["threshold"] == pytest.approx(figure.threshold[:-1].tolist(), rel=1e-5)
    shown = sum(len(values) for values in steps["uncertainty"])
    assert shown == len(figure.ids)
    assert "Descriptive: read off these same samples" in page.text
    (slider,) = page.named("input")
    assert (slider["type"], slider["min"], slider["max"]) == ("range", "0", "99")


def test_nothing_is_fetched_and_only_our_scripts_run(page):
    (policy,) = (
        a["content"] for a in page.named("meta") if a.get("http-equiv") == "Content-Security-Policy"
    )
    hashes = re.findall(r"'sha256-([^']+)'", policy)
    assert len(page.scripts) == 2
    assert page.scripts[0] == "plotly"
    for text, expected in zip([get_plotlyjs(), page.scripts[1]], hashes, strict=True):
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() == expected
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.endswith(
        "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert [a["href"] for a in page.named("link")] == ["data:,"]
    for tag, attributes in page.elements:
        assert tag not in {"img", "iframe", "object", "embed", "base", "form", "video", "audio"}
        assert "src" not in attributes
        assert not any(name.startswith("on") for name in attributes)


def test_title_and_definitions(page, tmp_path):
    assert TITLE in page.text
    assert "It cannot see: The probabilities of the other classes" in page.text
    assert read(write_report(classification(), tmp_path / "b.html", title="Mine")).text.startswith(
        "Mine"
    )


def test_the_same_result_gives_the_same_bytes(tmp_path):
    for result, name in ((classification(), "a"), (comparison(), "b")):
        first = write_report(result, tmp_path / f"{name}1.html").read_bytes()
        assert write_report(result, tmp_path / f"{name}2.html").read_bytes() == first


@pytest.mark.parametrize(
    ("kind", "resamples"),
    [*((kind, 5) for kind in every_prediction()), ("Categorical", 0), ("Gaussian", 0)],
)
def test_every_type_has_a_page(kind, resamples, tmp_path):
    prediction, y = every_prediction()[kind]
    result = caveat.evaluate(prediction, y, resamples=resamples, random_state=0)
    page = read(write_report(result, tmp_path / "report.html"))
    names = figures.available(result)
    assert ("calibration" in [a["id"] for a in page.named("section")]) == (
        bool({"reliability", "coverage"} & set(names))
    )
    assert ("No intervals" in page.text) == (resamples == 0)
    # A plain model has no split, and its slider moves along the confidence curve.
    sliders = [a for a in page.named("input") if a["type"] == "range"]
    assert len(sliders) == ("confidence_curve" in names)


def test_slider_of_a_plain_model_follows_the_confidence_curve(tmp_path):
    result = classification(members=1, resamples=0)
    page = read(write_report(result, tmp_path / "report.html"))
    figure = figures.confidence_curve(result)
    (steps,) = (value for name, value in page.data.items() if name.startswith("steps"))
    assert steps["y"] == pytest.approx(figure.error.tolist(), rel=1e-5)
    (chart,) = (c for c in charts(page).values() if c["data"][-1].get("name") == "chosen")
    assert len(chart["data"]) == steps["spot"] + 1
    assert "why" not in [a["id"] for a in page.named("section")]


def test_several_targets_have_a_chooser_and_one_has_none(tmp_path):
    page = read(write_report(regression(), tmp_path / "two.html"))
    choosers = page.named("select")
    assert {a["data-chooses"] for a in choosers} == {"target"}
    assert [a["value"] for a in page.named("option")] == ["1", "2"] * len(choosers)
    of = {a["data-target"] for _, a in page.elements if "data-target" in a}
    assert of == {"1", "2"}
    figure = figures.coverage(regression(), "target 1")
    nominal = [
        c for c in charts(page).values() if "nominal" in c["layout"]["xaxis"]["title"]["text"]
    ]
    assert nominal[1]["data"][-1]["y"] == pytest.approx(figure.observed.tolist(), rel=1e-5)
    assert "mean absolute error among the rest" in page.text
    one = read(write_report(regression(targets=1), tmp_path / "one.html"))
    assert not one.named("select")


def test_many_targets_draw_the_first_dozen(tmp_path):
    page = read(write_report(regression(14, 0, ("mae", "ence")), tmp_path / "many.html"))
    of = {a["data-target"] for _, a in page.elements if "data-target" in a}
    assert of == {str(i) for i in range(1, 13)}
    assert "target 13" in page.text


def test_many_groups_show_the_largest(tmp_path):
    p, truth = probabilities(500)
    groups = [f"group {i % 40 if i < 400 else i % 10}" for i in range(500)]
    result = caveat.evaluate(
        caveat.Categorical(p), truth, groups=groups, metrics=["accuracy"], resamples=0
    )
    page = read(write_report(result, tmp_path / "report.html"))
    (chart,) = (
        c for c in charts(page).values() if len(c["layout"]["yaxis"].get("tickvals", ())) > 3
    )
    shown = chart["layout"]["yaxis"]["ticktext"]
    assert len(shown) == 30
    assert {f"group {i}" for i in range(10)} <= set(shown)
    assert "The 30 largest are shown; 10 smaller ones are in the table of rows." in page.text


def test_one_sample(tmp_path):
    result = caveat.evaluate(caveat.Categorical([[0.9, 0.1]]), [0], random_state=0)
    page = read(write_report(result, tmp_path / "report.html"))
    assert "No intervals: nothing here says how sure a number is." in page.text


def test_measures_that_were_asked_for_are_shown(tmp_path):
    p, truth = probabilities(60)
    result = caveat.evaluate(
        caveat.Categorical(p), truth, metrics=["mce", "error_drop"], resamples=0, groups=truth
    )
    page = read(write_report(result, tmp_path / "report.html"))
    assert "Maximum calibration error by group" in page.text
    assert "Expected calibration error (ECE):" not in page.text


def test_weights_and_clusters_are_said(tmp_path):
    p, truth = probabilities(60)
    result = caveat.evaluate(
        caveat.Categorical(p), truth, sample_weight=range(1, 61), cluster=[i // 3 for i in range(60)],
        resamples=10, random_state=0,
    )  # fmt: skip
    page = read(write_report(result, tmp_path / "report.html"))
    assert "Samples are weighted, in the numbers and in the charts." in page.text
    assert "Samples of one cluster belong together" in page.text


def test_of_many_samples_some_are_shown(tmp_path):
    p, truth = probabilities(2100, 2)
    result = caveat.evaluate(caveat.Categorical(p), truth, metrics=["accuracy"], resamples=0)
    page = read(write_report(result, tmp_path / "report.html"))
    assert (
        "2,000 of 2,100 samples are shown, wrong ones more often than they occur so that they can "
        "be seen; the sentence above is of all samples."
    ) in page.text


def test_a_value_that_is_infinite_over_all_has_no_line(tmp_path):
    p, truth = probabilities(60)
    p[0, 0] = np.eye(3)[(truth[0] + 1) % 3]
    result = caveat.evaluate(caveat.Categorical(p), truth, metrics=["nll"], resamples=0)
    page = read(write_report(result, tmp_path / "report.html"))
    (chart,) = (c for c in charts(page).values() if "ticktext" in c["layout"]["yaxis"])
    assert len(chart["layout"]["yaxis"]["ticktext"]) == 2
    assert [trace["mode"] for trace in chart["data"]] == ["lines", "markers"]
