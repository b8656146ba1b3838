"""The page of a study: what the paper concludes, its numbers beside ours, charts and notes."""

from pathlib import Path
from typing import Any

from ..exceptions import OptionError
from ..report.content import Cell, Figure, Names, Page, Said, Section, Sentences, Table, Text
from ..report.page import render
from ..report.write import checked_place, replace_file
from .result import LEVELS, StudyResult


def write_page(result: StudyResult, path: Any, title: str | None) -> Path:
    """Write the page, and return where it is."""
    if title is not None and not isinstance(title, str):
        raise OptionError(f"title must be text; got {title!r}")
    return replace_file(checked_place(path), render(study_page(result, title)))


def study_page(result: StudyResult, title: str | None = None) -> Page:
    """Return the page of a study."""
    summary = result.verdict().statements[0]
    said = [Said("info", summary.text, called="Summary")]
    said += [
        Said(LEVELS[one.support], str(one), called=one.support.capitalize())
        for one in result.conclusions
    ]
    tables = [
        Table(name, header, [[Cell(text) for text in line] for line in body], title=name,
              heads=True, folded=name if number else "")
        for number, (name, header, body) in enumerate(result.tables())
    ]  # fmt: skip
    names = Names()
    figures = [
        Figure(names("chart"), chart) for charts in result.charts().values() for chart in charts
    ]
    sections = [
        Section("conclusions", "What the paper concludes", "Conclusions",
                "Each statement of the paper, and in how many of our runs it holds.",
                [Sentences("conclusions", said)], folded=False),
        Section("tables", "Paper beside ours", "Tables", result.explanation(), [*tables]),
        Section("charts", "Charts", "Charts", "", [*figures]),
        Section("notes", "How the paper was read", "Notes", result.study.paper.reference,
                [Text(note) for note in result.notes]),
    ]  # fmt: skip
    kept = [section for section in sections if section.blocks]
    heading = title or f"{result.study.paper.title}, run again"
    return Page("Study", heading, f"{result.description}.", kept)
