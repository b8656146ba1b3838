"""Rows with labels, axes of ratios, and room beside what is drawn."""

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .._validation import FloatArray
from .marks import Axis, Mark, Points


def row_axis(labels: Sequence[Sequence[str]]) -> tuple[Axis, list[float]]:
    """Return an axis with one labeled row for each list of lines, and the places of the rows.

    A row is as high as its label plus one line; the first row is at the top.
    """
    ends = np.cumsum([0, *(len(lines) + 1 for lines in labels)])
    places = ((ends[:-1] + ends[1:]) / 2).tolist()
    ticks = tuple((place, "\n".join(lines)) for place, lines in zip(places, labels, strict=True))
    return Axis(ends=(float(ends[-1]), 0.0), ticks=ticks, rows=True), places


def literal(text: str) -> str:
    """Return text that stands for itself in what a mark says."""
    return text.replace("{", "{{").replace("}", "}}")


def label_lines(parts: Sequence[str], width: int = 24) -> list[str]:
    """Return the lines of a label: each part begins a new one and takes six at most."""
    return [
        line
        for part in parts
        for line in textwrap.wrap(
            part, width, max_lines=6, placeholder=" …", break_on_hyphens=False
        )
    ]


def sized_lines(name: str, samples: int, width: int = 24) -> list[str]:
    """Return the lines of a label that ends with the number of samples."""
    *lines, last = label_lines([name], width) or [""]
    size = f"({samples:,})"
    whole = f"{last} {size}".lstrip()
    return [*lines, *([whole] if len(whole) <= width else [last, size])]


def columns_of(rows: Iterable[Any], *fields: str) -> FloatArray:
    """Return the numbers in some fields of rows, (fields, rows)."""
    return np.array([[getattr(row, field) for field in fields] for row in rows], dtype=np.float64).T


def interval_points(
    places: Sequence[float], numbers: Any, names: Any, kinds: Iterable[Any], **options: Any
) -> list[Mark]:
    """Return points with intervals, (value, low, high), in rows: one mark for each kind of row.

    A kind has a label, a color, a marker and says which rows are of it.
    """
    value, low, high = numbers
    return [
        Points(
            x=value[some], y=np.take(places, some), low=low[some], high=high[some], label=label,
            color=color, marker=marker, main=True, width=2, text=[names[i] for i in some],
            **options,
        )
        for label, color, marker, chosen in kinds
        if len(some := np.flatnonzero(chosen))
    ]  # fmt: skip


def ratio_axis(numbers: Sequence[float], label: str, band: Sequence[float] = (1.0, 1.0)) -> Axis:
    """Return a logarithmic axis for ratios: what is finite of them, and a band, with some room."""
    finite = [number for number in numbers if np.isfinite(number) and number > 0]
    low, high = min(*band, *finite) / 1.15, max(*band, *finite) * 1.15
    if high < 4 * low:
        ticks = [0.5, 0.65, 0.8, 1.0, 1.25, 1.5, 2.0]
    elif high < 8 * low:
        ticks = [0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0]
    else:
        steps = (1, 2, 5) if high < 100 * low else (1,)
        powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
        ticks = [step * 10.0**power for power in powers for step in steps]
    shown = tuple((tick, f"{tick:g}") for tick in ticks if low <= tick <= high)
    return Axis(label=label, ends=(low, high), log=True, ticks=shown)


def padded(*arrays: Any) -> tuple[float, float]:
    """Return the ends of an axis with some room beside the finite numbers in the arrays."""
    finite = np.concatenate([np.ravel(np.asarray(array, dtype=np.float64)) for array in arrays])
    finite = finite[np.isfinite(finite)]
    low, high = float(finite.min()), float(finite.max())
    room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    return low - room, high + room
