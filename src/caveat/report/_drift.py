"""The pages of monitoring: what changed since a reference, and the history of many periods."""

from typing import Any

import numpy as np

from .. import charts
from ..charts import CHARTS
from ..evaluation import Verdict
from ..monitoring import Drift, DriftHistory, DriftRow
from ..monitoring.words import name_of
from ..results.tables import interval_words, number
from ._evaluation import title_line
from .content import (
    Cell,
    Definitions,
    Figure,
    Names,
    Page,
    Said,
    Section,
    Sentences,
    Step,
    Table,
    Technique,
    Tiles,
    page_sections,
)

_NOTES = (
    "A change is reported if it is both more than chance (the p-value, adjusted by Holm's method, "
    "is at most {alpha:g}) and beyond the threshold; there is no change that matters if the whole "
    "interval of its size is within the threshold. Otherwise there are too few samples to say.",
    "Thresholds: {distribution:g} for the distance of two distributions, {share:g} for calibration "
    "errors, accuracies and coverages, {relative:g} of the reference's value for other metrics; "
    "rates of a class rarer than 10 % also matter if they change by a factor of 1.5.",
    "The distance of two distributions is the largest difference of their distribution functions "
    "(Kolmogorov); of classes and groups it is the share that would have to be of another kind "
    "(total variation). The test is chi-squared, over at most 10 cells.",
    "P-values are adjusted over all rows of all samples, and over all rows of groups. They hold "
    "for one look; over many periods some rows change by chance.",
)
_MONITOR = (
    "The monitor bets that a quantity is beyond its threshold. While none is, its capital reaches "
    "the line of alarm with a probability of at most {alpha:g}, however often it is looked at "
    "(Ville's inequality)."
)


def drift_page(drift: Drift, title: str | None, source: str) -> Page:
    """Return the page of a comparison with a reference."""
    names = Names()
    what = f"{drift.samples[1]:,} samples against {drift.samples[0]:,}, {drift.description}"
    about = title_line(what, source, f"{100 * drift.confidence:g} % intervals")
    blocks = {
        "verdict": _verdict(drift.verdict(), _tiles(drift)),
        **_blocks(drift, names),
        "notes": _notes(drift),
    }
    heading = title or "What changed since the reference?"
    return Page("Drift", heading, about, page_sections(_WORDS, blocks))


_WORDS = """
verdict | Verdict | open
numbers | What changed | open
    Over all samples: the mean or the value in the reference and in the new samples.
groups | Which groups changed | Groups
    The same for each group, with p-values that allow for all of them.
periods | Each period | Periods | open
    Each period against the reference, by itself; the last column is the p-value of the monitor,
    which may be looked at after every period.
time | Over time | open
    The reference is the first point.
details | Each period by itself | Details
    Open one to see all of its numbers.
notes | How this was measured | Method
"""


def history_page(history: DriftHistory, title: str | None, source: str) -> Page:
    """Return the page of a reference and the periods that followed."""
    names = Names()
    last = history.last
    what = f"{len(history.periods)} periods against {history.reference}, {last.description}"
    about = title_line(what, source, f"{100 * last.confidence:g} % intervals")
    header, lines = history.table()
    body = [[Cell(text) for text in line] for line in lines]
    blocks = {
        "verdict": _verdict(history.verdict(), _tiles(last)),
        "periods": [Table(f"Each period against {history.reference}", header, body, heads=True)],
        "time": [
            Figure(names("chart"), charts.history(history, **options))
            for options in CHARTS["history"].views(history)
        ],
        "details": [
            Technique(name, drift.verdict().statements[0].text, drift_sections(drift, names, i))
            for i, (name, drift) in enumerate(history.drifts.items())
        ],
        "notes": _notes(last, monitored=bool(history.states)),
    }
    heading = title or "What changed over time?"
    return Page("Drift", heading, about, page_sections(_WORDS, blocks))


def _verdict(verdict: Verdict, tiles: list[tuple[str, str, str]]) -> list[Any]:
    first, *others = verdict.statements
    called = {"good": "No change", "bad": "Change", "info": "Change"}.get(first.level, "")
    return [
        Sentences("Verdict", [Said(first.level, first.text, called=called)]),
        *([Tiles(tiles)] if tiles else []),
        Step(verdict.next_step),
        Sentences("What was compared", [Said(s.level, s.text) for s in others], details=True),
    ]


def _tiles(drift: Drift) -> list[tuple[str, str, str]]:
    """Return the largest change of each question, in thresholds."""
    result = []
    for question in ("predictions", "uncertainty", "calibration"):
        rows = [
            row
            for row in drift.rows
            if row.overall and row.question == question and np.isfinite(row.effect)
        ]
        if rows:
            row = max(rows, key=lambda row: row.effect / max(row.threshold, 1e-12))
            result.append(
                (
                    f"change of the {question}",
                    f"{100 * row.effect:.1f} %",
                    f"threshold {100 * row.threshold:g} %: {row.state.value}",
                )
            )
    return result


def drift_sections(drift: Drift, names: Names, number: int) -> list[Section]:
    """Return the sections of one of several comparisons on a page."""
    return page_sections(_WORDS, _blocks(drift, names), f"p{number}-")


def _blocks(drift: Drift, names: Names) -> dict[str, list[Any]]:
    """Return what changed over all samples, and in which groups."""
    overall = [row for row in drift.rows if row.overall]
    groups = [row for row in drift.rows if not row.overall]
    figures: list[Any] = [Figure(names("chart"), charts.drift(drift))] if _drawn(overall) else []
    figures += [
        Figure(names("chart"), charts.drift_distribution(drift, name, target))
        for name, target in drift.quantities
        if name != "class"
    ]
    by_group: list[Any] = [_table(groups, "Each group")] if groups else []
    if _drawn(groups):
        by_group.append(Figure(names("chart"), charts.drift(drift, groups=True)))
    return {"numbers": [_table(overall, "All samples"), *figures], "groups": by_group}


def _drawn(rows: list[DriftRow]) -> bool:
    return any(np.isfinite(row.effect) and row.threshold > 0 for row in rows)


def _table(rows: list[DriftRow], caption: str) -> Table:
    grouped = any(row.group for row in rows)
    header = [
        "question", "quantity", *(["group"] if grouped else []), "reference", "new",
        "size of the change", "threshold", "p", "judgment",
    ]  # fmt: skip
    body = [
        [
            Cell(row.question.value),
            Cell(name_of(row)),
            *([Cell(row.group)] if grouped else []),
            Cell(number(row.reference), row.reference),
            Cell(number(row.new), row.new),
            Cell(
                number(row.effect) or "undefined", row.effect,
                range=interval_words(row.effect_low, row.effect_high),
            ),
            Cell(number(row.threshold), row.threshold),
            Cell("" if np.isnan(row.adjusted) else f"{row.adjusted:.2g}", row.adjusted),
            Cell(row.state.value),
        ]
        for row in rows
    ]  # fmt: skip
    return Table(caption, header, body, sortable=True, heads=True)


def _notes(drift: Drift, monitored: bool = False) -> list[Any]:
    limits = drift.thresholds
    given = {
        "alpha": drift.alpha, "distribution": limits.distribution, "share": limits.share,
        "relative": limits.relative,
    }  # fmt: skip
    notes = [text.format(**given) for text in (*_NOTES, *([_MONITOR] if monitored else []))]
    return [Definitions(notes, [])]
