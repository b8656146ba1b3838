"""The charts of an audit: ratios with the fair band, and the uncertainty of each group."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..fairness import FairnessAudit, FairnessRow
from ..fairness.panels import (
    MOST,
    QUANTILES,
    farthest,
    label_lines,
    pair_parts,
    ratio_range,
    ratio_rows,
    row_places,
    sized_lines,
    uncertain_groups,
)
from ..results.judgments import Judgment, Pairing
from ..results.tables import interval_words, number
from ..results.words import SHORT
from . import _charts as draw
from ._escape import for_chart
from ._fairness_words import measure_words
from .content import Cell, Chart, Names, Table, Target, numbers_table

MOST_ROWS = 300
LONGEST = 24
"""How many characters a line of a label has; on a phone there is no room for more."""

PIXELS = 17
"""The height of such a line."""

_VERDICTS = (
    (Judgment.WITHIN, "@green", "diamond"),
    (Judgment.SMALL, "@sky", "diamond-tall"),
    (Judgment.GAP, "@yellow", "triangle-up"),
    (Judgment.BEYOND, "@orange", "x"),
    (Judgment.UNCLEAR, "@blue", "circle"),
    (Judgment.NOT_JUDGED, "@gray", "square"),
)


def ratios(audit: FairnessAudit, attribute: str, names: Names) -> Chart:
    """Return the ratios between groups with their intervals, over the band that counts as fair."""
    known = ratio_rows(audit, attribute)
    rows = farthest(audit, known)
    left = len(known) - len(rows)
    band = audit.fair_band
    drawn = [end for row in rows for end in (row.value, row.verdict_low, row.verdict_high)]
    ends = ratio_range(drawn, band)
    classes = _classes(rows)
    labels = [_label(row, len(classes) > 1) for row in rows]
    places, edges = row_places([len(lines) for lines in labels])
    placed = list(zip(places, rows, strict=True))
    data = [_fair_band(band, edges), draw.line([1, 1], edges, "equal", "@ink", dash="dot")]
    for verdict, color, symbol in _VERDICTS:
        some = [(place, row) for place, row in placed if row.judgment is verdict]
        if some:
            data += _points(some, SHORT[verdict], color, symbol, ends)
    data += _undefined(placed)
    pairs = "the worst pair of groups" if rows[0].comparison is Pairing.WORST else "groups"
    note = f"The {len(rows)} ratios farthest from 1 are shown; {left} others are in the table."
    of = f", class {classes[0]}" if len(classes) == 1 else ""
    title = f"Ratios between {pairs} by {attribute}{of}"
    return Chart(
        names("audit-chart"),
        title,
        _reads(rows),
        data,
        draw.layout(
            "first group / second",
            "",
            height=150 + int(PIXELS * edges[1]),
            xaxis=_log_axis(ends),
            yaxis=rows_axis([label_text(lines) for lines in labels], places, edges),
        ),
        ratio_table(rows, title),
        note=note if left else "",
        wide=True,
    )


def _reads(rows: Sequence[FairnessRow]) -> str:
    """Return how to read the chart; what it says of the bars must be true of each of them."""
    odds = any(row.measure == "equalized_odds" for row in rows)
    either = " Equalized odds have a gap if either of their two ratios has." if odds else ""
    return (
        "A ratio of 1 is equal treatment; the shaded band is within the threshold. Bars are "
        "intervals, wide enough to hold for all comparisons at once: a bar that does not reach 1 "
        "shows a gap, and one that lies outside of the band with all of its length a gap beyond "
        f"the threshold.{either} An arrow stands for a bar that has no end."
    )


def _fair_band(band: tuple[float, float], edges: list[float]) -> dict[str, Any]:
    low, high = band
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [low, high, high, low, low],
        "y": [edges[0], edges[0], edges[1], edges[1], edges[0]],
        "fill": "toself",
        "fillcolor": "@green/0.15",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "name": "fair band",
    }


def _points(
    some: Sequence[tuple[float, FairnessRow]],
    name: str,
    color: str,
    symbol: str,
    ends: tuple[float, float],
) -> list[dict[str, Any]]:
    """Return the ratios with one verdict, their intervals, and arrows where these go on."""
    known = [(place, row) for place, row in some if not np.isnan(row.verdict_low)]
    low = [max(row.verdict_low, ends[0]) for _, row in known]
    high = [min(row.verdict_high, ends[1]) for _, row in known]
    spans = draw.line(
        [x for pair in zip(low, high, strict=True) for x in (*pair, None)],
        [y for place, _ in known for y in (place, place, None)],
        name,
        f"{color}/0.5",
    )
    spans |= {"showlegend": False, "line": {"color": f"{color}/0.5", "width": 6}}
    text = [f"{measure_label(row)}, {row.group} / {row.reference}" for _, row in some]
    dots = draw.points(
        [row.value for _, row in some],
        [place for place, _ in some],
        name,
        color,
        symbol,
        text,
        "%{text}: %{x:.3~g}",
    )
    dots["marker"] |= {"size": 10, "opacity": 1}
    arrows = [
        draw.points([end], [place], name, color, f"triangle-{way}", [""], "")
        | {"showlegend": False, "hoverinfo": "skip", "hovertemplate": None}
        for place, row in known
        for beyond, end, way in (
            (row.verdict_low <= 0, ends[0], "left"),
            (not np.isfinite(row.verdict_high), ends[1], "right"),
        )
        if beyond
    ]
    return [spans, *arrows, dots]


def _undefined(placed: Sequence[tuple[float, FairnessRow]]) -> list[dict[str, Any]]:
    places = [place for place, row in placed if np.isnan(row.value)]
    if not places:
        return []
    return [
        {
            "type": "scatter",
            "mode": "text",
            "x": [1.0] * len(places),
            "y": places,
            "text": ["undefined"] * len(places),
            "textposition": "middle right",
            "textfont": {"color": "@gray"},
            "hoverinfo": "skip",
            "showlegend": False,
        }
    ]


def _log_axis(ends: tuple[float, float]) -> dict[str, Any]:
    """Return a logarithmic axis with plain numbers at its ticks, few enough for a phone."""
    if ends[1] < 4 * ends[0]:
        ticks = [0.5, 0.65, 0.8, 1.0, 1.25, 1.5, 2.0]
    elif ends[1] < 8 * ends[0]:
        ticks = [0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0]
    else:
        steps = (1, 2, 5) if ends[1] < 100 * ends[0] else (1,)
        powers = range(int(np.floor(np.log10(ends[0]))), int(np.ceil(np.log10(ends[1]))) + 1)
        ticks = [step * 10.0**power for power in powers for step in steps]
    shown = [tick for tick in ticks if ends[0] <= tick <= ends[1]]
    return {
        "type": "log",
        "range": [float(np.log10(end)) for end in ends],
        "tickvals": shown,
        "ticktext": [f"{tick:g}" for tick in shown],
    }


def rows_axis(labels: list[str], places: list[float], edges: list[float]) -> dict[str, Any]:
    """Return an axis with one label a row, from top to bottom."""
    return {
        "tickvals": places,
        "ticktext": labels,
        "range": edges[::-1],
        "showgrid": False,
    }


def _classes(rows: Sequence[FairnessRow]) -> list[str]:
    """The classes that some ratios are of."""
    return list(dict.fromkeys(row.label for row in rows if row.one_class))


def measure_label(row: FairnessRow) -> str:
    """Return what a ratio is of: the measure, and the class or target."""
    label = f"{' of' if row.target else ', class'} {row.label}" if row.label else ""
    return f"{measure_words(row.measure)}{label}"


def _label(row: FairnessRow, several: bool) -> list[str]:
    """Return the lines of a label: measure, class if there are several or target, and groups."""
    of = []
    if row.label and (several or row.target):
        of = [f"of {row.target}" if row.target else f"class {row.one_class}"]
    parts = [measure_words(row.measure), *of, *pair_parts(row, LONGEST)]
    return label_lines(parts, LONGEST)


def label_text(lines: Sequence[str]) -> str:
    """Return the lines of a label as a chart takes them."""
    return "<br>".join(for_chart(line, LONGEST) for line in lines)


def ratio_table(rows: Sequence[FairnessRow], caption: str, **options: str) -> Table:
    """Return ratios and differences as a table, each with what its interval lets one say."""
    body = []
    several = any(_differs(row) for row in rows)
    for row in rows[:MOST_ROWS]:
        measure = measure_label(row) + (f", {row.statistic}" if row.statistic else "")
        flags = "" if row.flag is None else _flags(row)
        body.append(
            [
                Cell(measure),
                Cell(f"{row.group} / {row.reference}"),
                Cell(row.kind),
                Cell(number(row.value) or "undefined", row.value),
                Cell(interval_words(row.low, row.high) or "none", row.low),
                *([_deciding(row)] if several else []),
                Cell(flags),
                Cell(row.verdict + (f" ({row.note})" if row.note else "")),
            ]
        )
    decides = ["interval for all comparisons"] if several else []
    header = ["measure", "groups", "kind", "value", "interval", *decides]
    header += ["beyond the threshold", "verdict"]
    more = f"The first {MOST_ROWS} of {len(rows)} rows." if len(rows) > MOST_ROWS else ""
    return Table(caption, header, body, more=more, sortable=True, heads=True, **options)  # type: ignore[arg-type]


def _differs(row: FairnessRow) -> bool:
    """Whether the verdict rests on a wider interval than that of the one number."""
    known = not np.isnan(row.verdict_low)
    return known and (row.low, row.high) != (row.verdict_low, row.verdict_high)


def _deciding(row: FairnessRow) -> Cell:
    words = interval_words(row.verdict_low, row.verdict_high)
    return Cell(words or "none", row.verdict_low)


def _flags(row: FairnessRow) -> str:
    """Say which of the two flags of a ratio are up, which look at its value only."""
    if row.flag == row.symmetric_flag:
        return "yes" if row.flag else "no"
    return "by its distance from 1 only" if row.flag else "on the log scale only"


def distribution(
    audit: FairnessAudit, attribute: str, part: str, names: Names, target: Target
) -> Chart | None:
    """Return how uncertain predictions for each group are; None if there is nothing to show."""
    groups = uncertain_groups(audit, attribute, part, target.name)
    if not groups:
        return None
    most = sorted(range(len(groups)), key=lambda i: -groups[i][1][None].value)[:MOST]
    left = len(groups) - len(most)
    groups = [groups[i] for i in sorted(most)]
    low, first, middle, third, high = (
        [rows[share].value for _, rows in groups] for share in QUANTILES
    )
    means = [rows[None] for _, rows in groups]
    text = [f"{group} ({row.samples:,})" for (group, _), row in zip(groups, means, strict=True)]
    labels = [
        sized_lines(group, row.samples, LONGEST)
        for (group, _), row in zip(groups, means, strict=True)
    ]  # fmt: skip
    places, edges = row_places([len(lines) for lines in labels])
    data = [
        _spans(low, high, places, "5 to 95 %", "@gray", 2),
        _spans(first, third, places, "25 to 75 %", "@sky/0.6", 11),
        _strokes(middle, places),
        draw.points(
            [row.value for row in means],
            places,
            "mean",
            "@orange",
            "diamond",
            text,
            "%{text}: mean %{x:.3~g}",
        ),
    ]
    data[-1]["marker"] |= {"size": 9, "opacity": 1}
    of = f" of {target.name}" if target.name is not None else ""
    title = f"{part.capitalize()} uncertainty{of} by {attribute}"
    return Chart(
        names("audit-chart"),
        title,
        _READ[part],
        data,
        draw.layout(
            f"{part} uncertainty ({audit.decomposition.replace('_', ' ')})",
            "",
            height=140 + int(PIXELS * edges[1]),
            xaxis={"range": [0, 1.05 * max(*high, *(row.value for row in means)) or 1]},
            yaxis=rows_axis([label_text(lines) for lines in labels], places, edges),
        ),
        numbers_table(
            title,
            (attribute, [group for group, _ in groups]),
            ("mean", [row.value for row in means]),
            ("low", [row.low for row in means]),
            ("high", [row.high for row in means]),
            *((f"{share:.0%}", [rows[share].value for _, rows in groups]) for share in QUANTILES),
            ("samples", [row.samples for row in means]),
        ),
        note=f"The {len(groups)} most uncertain groups are shown; {left} others are not."
        if left
        else "",
        target=target.key,
        wide=part == "predictive",
    )


def _spans(
    low: Any, high: Any, places: list[float], name: str, color: str, width: int
) -> dict[str, Any]:
    ends = [x for pair in zip(low, high, strict=True) for x in (*pair, None)]
    heights = [y for place in places for y in (place, place, None)]
    return draw.line(ends, heights, name, color) | {"line": {"color": color, "width": width}}


def _strokes(middle: Any, places: list[float]) -> dict[str, Any]:
    """Return a short upright stroke at each median."""
    trace = draw.points(middle, places, "median", "@ink", "line-ns", [""] * len(places), "")
    line = {"color": "@ink", "width": 2.5}
    trace["marker"] |= {"size": 14, "opacity": 1, "line": line}
    return trace | {"hoverinfo": "skip", "hovertemplate": None}


_READ = {
    "aleatoric": "How noisy the data of each group is, by the model's account. More of the same "
    "data will not reduce it.",
    "epistemic": "What the model has not learned of each group. More or better data would reduce "
    "it.",
    "predictive": "Both together: how uncertain the predictions are.",
}
