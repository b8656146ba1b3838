import os
import stat

import pytest

import caveat
from caveat import charts
from caveat.exceptions import OptionError
from caveat.report import write_report

from .pages import read
from .results import classification, comparison, probabilities


def test_returns_the_path_and_replaces_an_older_file(tmp_path):
    place = tmp_path / "report.html"
    place.write_text("old")
    assert write_report(classification(), str(place)) == place
    assert place.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert os.listdir(tmp_path) == ["report.html"]


def test_has_the_permissions_of_a_new_file(tmp_path):
    other = tmp_path / "other"
    other.write_text("")
    mode = stat.S_IMODE(other.stat().st_mode)
    assert stat.S_IMODE(write_report(classification(), tmp_path / "a.html").stat().st_mode) == mode


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("nowhere/report.html", "the folder {0}/nowhere does not exist; make it first"),
        ("", "path is a folder: {0}; name a file in it, such as report.html"),
    ],
)
def test_a_folder_that_is_not_there_or_in_place_of_a_file(place, message, tmp_path):
    with pytest.raises(OptionError) as caught:
        write_report(classification(), tmp_path / place)
    assert str(caught.value) == message.format(tmp_path)


def test_what_cannot_be_written(tmp_path, monkeypatch):
    def refuse(self, target):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.replace", refuse)
    with pytest.raises(OptionError) as caught:
        write_report(classification(), tmp_path / "report.html")
    assert str(caught.value) == f"cannot write {tmp_path / 'report.html'}: Permission denied"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"title": 3}, "title must be text; got 3"),
        ({"source": None}, "source must be text; got None"),
        ({"policy": "strict"}, "policy must be a fitted TriagePolicy; got a str"),
    ],
)
def test_wrong_options(options, message, tmp_path):
    with pytest.raises(OptionError) as caught:
        write_report(classification(), tmp_path / "report.html", **options)
    assert str(caught.value) == message


def test_what_is_no_result(tmp_path):
    with pytest.raises(OptionError) as caught:
        write_report([1, 2], tmp_path / "report.html")
    assert str(caught.value) == (
        "a report is made of what caveat.evaluate, caveat.compare, caveat.audit, "
        "caveat.disentanglement_error, caveat.drift, caveat.monitoring.drift_history, "
        "caveat.compare_measures or caveat.explain_uncertainty returned, or of a "
        "PredictionMap; got a list"
    )


def policy_and_result(members, risk, **options):
    p, truth = probabilities(600, members)
    old, new = slice(0, 400), slice(400, 600)
    prediction = caveat.Categorical(p)
    policy = caveat.TriagePolicy(risk=risk, random_state=0, **options)
    policy.fit(prediction.take(old), truth[old])
    result = caveat.evaluate(prediction.take(new), truth[new], resamples=0)
    return policy, result


@pytest.mark.parametrize("members", [1, 3])
def test_policy_takes_the_place_of_the_slider(members, tmp_path):
    policy, result = policy_and_result(members, 0.4)
    page = read(write_report(result, tmp_path / "report.html", policy=policy))
    triage = policy.decide(result.prediction)
    assert triage.guarantee in page.text
    assert triage.remark in page.text
    assert (triage.remark != "") == (members == 1)
    assert "The policy: at most 40 % errors among what is accepted" in page.text
    counts = triage.counts
    assert all(f"{action} {number} " in page.text for action, number in counts.items())
    curve = charts.operating_curve(triage)
    assert page.shows(curve)
    upper, observed, _, taken = curve.marks
    some = triage.curve.accepted > 0
    assert upper.y == pytest.approx(triage.curve.upper[some])
    assert observed.y == pytest.approx(triage.curve.error[some])
    assert taken.x == pytest.approx([triage.curve.coverage[triage.curve.reached - 1]])
    if members == 3:
        split = charts.split(result, points=1000, actions=triage.actions)
        assert page.shows(split)
        marks = {mark.label: len(mark.x) for mark in split.marks}
        assert marks == {**dict.fromkeys(marks, 0), **counts}
    if members == 1:
        assert "measure again" not in page.text
        assert "ask an expert" not in page.text
    assert not page.named("input")


def test_policy_that_keeps_the_risk_on_average(tmp_path):
    policy, result = policy_and_result(3, 0.4, promise="mean")
    page = read(write_report(result, tmp_path / "report.html", policy=policy))
    assert "at most 40 % errors among what is accepted, on average" in page.text
    assert "at which the observed error, with one error more, is at most the allowed" in page.text


def test_policy_that_accepts_nothing(tmp_path):
    policy, result = policy_and_result(3, 0.001)
    page = read(write_report(result, tmp_path / "report.html", policy=policy))
    assert "so none is accepted" in page.text
    curve = charts.operating_curve(policy.decide(result.prediction))
    assert page.shows(curve)
    assert "taken" not in [mark.label for mark in curve.marks]


def test_policy_of_a_comparison(tmp_path):
    policy, _ = policy_and_result(2, 0.4)
    with pytest.raises(OptionError) as caught:
        write_report(comparison(), tmp_path / "report.html", policy=policy)
    assert str(caught.value) == (
        "policy belongs to one technique: pass it with that technique's evaluation, "
        "comparison.evaluations[name]"
    )


@pytest.mark.parametrize("name", ["page.pdf", "page.PDF", "page.docx", "page.tar.gz"])
def test_a_page_under_the_name_of_another_format_is_refused(tmp_path, name):
    with pytest.raises(
        OptionError, match=r"a report is an HTML page, and page\..* ends in \.\w+; na"
    ):
        write_report(classification(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["page.html", "page.HTM", "page"])
def test_names_of_a_page(tmp_path, name):
    assert (
        write_report(classification(), tmp_path / name).read_text("utf-8").startswith("<!DOCTYPE")
    )
