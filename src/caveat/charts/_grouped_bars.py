"""Bars of several series in rows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .chart import Chart
from .layout import columns_of, label_lines, literal, row_axis
from .marks import Axis, Bars, Mark, Rule


def grouped_bars(
    labels: Sequence[str],
    series: dict[str, list[Any]],
    *,
    title: str,
    read: str,
    label: str,
    rule: Rule,
    least: float,
) -> Chart:
    """Return bars with intervals: a row for each label, a bar in it for each series."""
    lines = [label_lines([text], 26) for text in labels]
    room = max(1, len(series) - 1)
    axis, places = row_axis([[*text, *[""] * max(0, room - len(text))] for text in lines])
    axis = replace(
        axis, ticks=tuple((p, "\n".join(text)) for p, text in zip(places, lines, strict=True))
    )
    height = 1.7 / len(series) if len(series) < 3 else 0.9
    marks: list[Mark] = [rule]
    numbers: dict[str, Any] = {"": list(labels)}
    ends = [0.0, least]
    for position, (name, rows) in enumerate(series.items()):
        value, low, high = columns_of(rows, "value", "low", "high")
        shift = height * (position - (len(series) - 1) / 2)
        known = np.isfinite(low) & np.isfinite(high)
        marks.append(
            Bars(
                x=value, y=np.add(places, shift), height=0.92 * height, hatch=position, main=True,
                label=name if len(series) > 1 else "", text=list(labels),
                low=np.where(known, low, np.nan), high=np.where(known, high, np.nan),
                says=f"{{text}}, {literal(name)}: {{x:.3g}}",
            )
        )  # fmt: skip
        numbers |= {name: value, f"{name}, low": low, f"{name}, high": high}
        ends += [*value[np.isfinite(value)], *high[known]]
    return Chart(
        title=title,
        read=read,
        x=Axis(label=label, ends=(min(ends), 1.05 * max(ends) if max(ends) > least else least)),
        y=axis,
        marks=tuple(marks),
        numbers=numbers,
    )
