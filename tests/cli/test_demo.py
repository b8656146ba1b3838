"""The demonstration: the whole way on data that comes along."""

import re

import pytest

from caveat.cli import _demo, main


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(_demo, "RESAMPLES", 20)


def test_the_demo_tells_the_story_and_leaves_two_pages(tmp_path, capsys):
    assert main(["demo", "--output", str(tmp_path / "new" / "folder")]) == 0
    text = capsys.readouterr().out
    assert "100 members x 540 samples x 10 classes" in text
    assert "underconfident" in text
    errors = [float(value) for value in re.findall(r"^  \d +108 +([\d.]+)%", text, re.MULTILINE)]
    assert len(errors) == 5
    assert errors[0] == 0
    assert errors[-1] > 10
    assert "Use forest + temperature" in text
    assert "at most 5 % of the accepted predictions are wrong" in text
    tie = "coverage ratio from 1, boosting cannot be distinguished from boosting"
    assert tie in " ".join(text.split())
    for name in ("report.html", "report-regression.html"):
        page = tmp_path / "new" / "folder" / name
        assert str(page) in text.replace("\n", "")
        assert "<html" in page.read_text(encoding="utf-8")


def test_where_the_pages_go(tmp_path, capsys):
    assert _demo._page(tmp_path / "a.html") == tmp_path / "a.html"
    (tmp_path / "report.html").mkdir()
    assert main(["demo", "-o", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"caveat: --output {tmp_path / 'report.html'}: this is a folder; give a file or another folder\n"
    )
