"""The chart of an audit of individuals: consistency by group and outcome."""

from collections.abc import Sequence

import numpy as np

from ..fairness import Consistency, ConsistencyRow
from ..fairness.panels import consistency_rows, row_places, sized_lines
from ..results.tables import interval_words, number
from . import _charts as draw
from ._escape import for_chart
from ._fairness_charts import LONGEST, MOST_ROWS, PIXELS, label_text, rows_axis
from .content import Cell, Chart, Names, Table

MOST_BARS = 60
"""More bars than this cannot be read: then there are none for the single outcomes."""

_PATTERNS = ("", "/", ".", "x", "\\", "+")


def consistency_chart(
    alike: Consistency, quantity: str, attribute: str, names: Names
) -> Chart | None:
    """Return the consistency of each group and outcome as bars; None if it cannot be scaled."""
    if not alike.spread[quantity]:
        return None
    whole, rows = consistency_rows(alike, quantity, attribute, True)
    if len(rows) > MOST_BARS:
        rows = [row for row in rows if not row.outcome]
    labels = [sized_lines(_bar(row), row.samples, LONGEST) for row in rows]
    places, edges = row_places([len(lines) for lines in labels])
    data = []
    outcomes = list(dict.fromkeys(row.outcome for row in rows))
    for look, outcome in enumerate(outcomes):
        some = [i for i, row in enumerate(rows) if row.outcome == outcome]
        data.append(
            {
                "type": "bar",
                "orientation": "h",
                "x": [rows[i].scaled for i in some],
                "y": [places[i] for i in some],
                "width": 1.4,
                "name": for_chart(f"outcome {outcome}" if outcome else "all outcomes", 30),
                "showlegend": len(outcomes) > 1,
                "marker": {
                    "color": draw.style(look)[0],
                    "opacity": 0.75,
                    "pattern": {
                        "shape": _PATTERNS[look % len(_PATTERNS)],
                        "fillmode": "overlay",
                        "solidity": 0.2,
                    },
                },
                "text": [for_chart(rows[i].label, 60) for i in some],
                "textposition": "none",
                "hovertemplate": "%{text}: %{x:.3~g}<extra></extra>",
            }
        )
    known = [i for i, row in enumerate(rows) if not np.isnan(row.low)]
    ends = [x for i in known for x in (rows[i].scaled_low, rows[i].scaled_high, None)]
    heights = [y for i in known for y in (places[i], places[i], None)]
    data.append(draw.line(ends, heights, "interval", "@ink") | {"showlegend": False})
    data.append(draw.line([whole.scaled] * 2, edges, "all samples", "@ink", dash="dot"))
    title = f"Consistency of {quantity} by {attribute}"
    return Chart(
        names("audit-chart"),
        title,
        "1 is the same as the neighbors; 0 is one standard deviation from them. The dotted line "
        "is the mean of all samples, the strokes are intervals. More is better.",
        data,
        draw.layout(
            "consistency (scaled)",
            "",
            height=140 + int(PIXELS * edges[1]),
            bargap=0.2,
            xaxis={"range": _from_zero(rows, whole)},
            yaxis=rows_axis([label_text(lines) for lines in labels], places, edges),
        ),
        consistency_table([whole, *rows], title),
    )


def _bar(row: ConsistencyRow) -> str:
    """Return the label of a bar; the outcomes of a group stand below its own."""
    return f"outcome {row.outcome}" if row.outcome else row.label


def _from_zero(rows: Sequence[ConsistencyRow], whole: ConsistencyRow) -> list[float]:
    numbers = [row.scaled for row in (*rows, whole)]
    numbers += [end for row in rows for end in (row.scaled_low, row.scaled_high)]
    finite = [value for value in numbers if np.isfinite(value)]
    low, high = min(0.0, *finite), max(0.0, *finite)
    return [low * 1.06, high * 1.06]


def consistency_table(rows: Sequence[ConsistencyRow], caption: str, **options: str) -> Table:
    """Return consistencies as a table, raw and in units of the spread."""
    body = [
        [
            Cell(row.quantity),
            Cell(row.label),
            Cell(number(row.consistency) or "none", row.consistency),
            Cell(interval_words(row.low, row.high) or "none", row.low),
            Cell(number(row.scaled) or "none", row.scaled),
            Cell(interval_words(row.scaled_low, row.scaled_high) or "none", row.scaled_low),
            Cell(f"{row.samples:,}", row.samples),
            Cell(row.note),
        ]
        for row in rows[:MOST_ROWS]
    ]
    header = ["of", "samples of", "raw", "interval", "scaled", "interval", "samples", "note"]
    more = f"The first {MOST_ROWS} of {len(rows)} rows." if len(rows) > MOST_ROWS else ""
    return Table(caption, header, body, more=more, sortable=True, heads=True, **options)  # type: ignore[arg-type]
