"""The pages of monitoring: the verdict first, every chart, and text from data as text."""

from dataclasses import replace

import pytest

import caveat
from caveat import charts
from caveat.exceptions import OptionError
from caveat.monitoring import drift_history
from caveat.report import write_report

from ..charts.test_drift import changed, weeks
from ..monitoring.samples import binary
from .pages import read


def test_page_of_a_drift(tmp_path):
    result = changed()
    page = read(write_report(result, tmp_path / "drift.html", source="two files"))
    assert page.sections == ["verdict", "numbers", "groups", "notes"]
    for statement in result.verdict():
        assert statement.text in page.text
    assert result.verdict().next_step in page.text
    assert page.shows(charts.drift(result))
    assert page.shows(charts.drift(result, groups=True))
    assert page.shows(charts.drift_distribution(result, "total"))
    assert "two files" in page.text
    assert "0.1 for the distance of two distributions" in page.text


def test_page_of_a_history(tmp_path):
    history = weeks()
    page = read(history.report(tmp_path / "history.html", title="The year"))
    assert page.sections[:3] == ["verdict", "periods", "time"]
    assert "The year" in page.text
    assert history.verdict().statements[0].text in page.text
    for options in charts.CHARTS["history"].views(history):
        assert page.shows(charts.history(history, **options))
    assert "however often it is looked at" in page.text
    for name in history.periods:
        assert name in page.text


def test_small_pages(tmp_path):
    """Without groups, and with thresholds of 0 in whose units nothing can be drawn."""
    result = caveat.drift(binary(50), binary(50, 1), threshold=0, resamples=0)
    page = read(write_report(result, tmp_path / "a.html"))
    assert "groups" not in page.sections
    zero = {"distribution": 0, "share": 0}
    grouped = caveat.drift(
        binary(60, groups=["a"], y=False), binary(60, 1, groups=["a"], y=False), threshold=zero
    )
    page = read(write_report(grouped, tmp_path / "b.html"))
    assert "What changed" not in page.titles
    nothing = replace(result, rows=(), _numbers={})
    assert read(write_report(nothing, tmp_path / "c.html")).titles == []


def test_hostile_names(tmp_path):
    bad = "<script>alert(1)</script>"
    history = drift_history({bad: binary(80, groups=[bad]), "b": binary(80, 1, groups=[bad])})
    page = read(write_report(history, tmp_path / "page.html"))
    assert bad not in page.source.replace("&lt;", "")
    assert bad in page.text


def test_policies_do_not_belong_here(tmp_path):
    policy = caveat.TriagePolicy(risk=0.1)
    with pytest.raises(OptionError, match="policy decides on predictions"):
        write_report(changed(), tmp_path / "x.html", policy=policy)
