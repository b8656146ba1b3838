"""The page of a disentanglement study: what survives, paper beside ours, and the curves."""

from pathlib import Path
from typing import Any

from ..exceptions import OptionError
from ..experiments.panels import panels, y_range
from ..report.content import Cell, Names, Page, Said, Section, Sentences, Table, Text
from ..report.disentanglement import sweep_chart
from ..report.page import render
from ..report.write import checked_place, replace_file
from ..results.judgments import Support
from ._disentanglement_conclusions import words_of
from ._disentanglement_paper import METHODS
from ._disentanglement_result import DisentanglementStudy

_TITLE = "Uncertainty disentanglement, run again"
_LEVELS = {Support.SURVIVES: "good", Support.FAILS: "bad"}


def write_page(study: DisentanglementStudy, path: Any, title: str | None) -> Path:
    """Write the page, and return where it is."""
    if title is not None and not isinstance(title, str):
        raise OptionError(f"title must be text; got {title!r}")
    return replace_file(checked_place(path), render(study_page(study, title)))


def study_page(study: DisentanglementStudy, title: str | None) -> Page:
    """Return the page of a study."""
    sections = [_conclusions(study), _tables(study), *_curves(study), _notes(study)]
    kept = [section for section in sections if section.blocks]
    return Page("Study", title or _TITLE, f"{study.description}.", kept)


def _conclusions(study: DisentanglementStudy) -> Section:
    said = [
        Said(_LEVELS.get(one.verdict, "unsure"), str(one), called=one.verdict.capitalize())
        for one in study.conclusions
    ]
    lead = "Each statement of the paper, and in how many of our runs it holds."
    return Section(
        "conclusions", "What the paper concludes", "Conclusions", lead,
        [Sentences("conclusions", said)],
    )  # fmt: skip


def _tables(study: DisentanglementStudy) -> Section:
    blocks: list[Any] = [
        Table(
            title,
            header,
            [[Cell(text) for text in line] for line in body],
            title=title,
            heads=True,
            folded="" if source == "table 2" else title,
        )
        for source, (title, header, body) in zip(study.sources, study.tables(), strict=True)
    ]
    return Section("tables", "Paper beside ours", "Tables", study.explanation(), blocks)


def _curves(study: DisentanglementStudy) -> list[Section]:
    names = Names()
    found = []
    for i, ((method, split), result) in enumerate(study.sweeps.items(), start=1):
        both = panels(result, split)
        error = result.error(decomposition=split)
        title = f"{METHODS[method]} by {words_of(split)}"
        blocks: list[Any] = [sweep_chart(panel, error, y_range(both), names, "") for panel in both]
        found.append(Section(f"sweep-{i}", title, title, "", blocks))
    return found


def _notes(study: DisentanglementStudy) -> Section:
    blocks = [Text(note) for note in study.notes]
    return Section("notes", "What was read how", "Notes", "", blocks)
