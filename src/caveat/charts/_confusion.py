"""Charts of measures of uncertainty: right against wrong, few classes against many, near misses."""

from dataclasses import replace

import numpy as np

from .._validation import check_choice
from ..confusion import Confusion, MeasureComparison, UncertaintyExplanation
from ..confusion.measures import CONFUSED, ENERGY, HOMOPHILY
from ..uncertainty import MEASURES
from ._ecdf import grid_of, shares_up_to, step_lines
from .chart import Chart
from .entry import Entry, expect
from .layout import row_axis, sized_lines
from .marks import STYLES, Axis, Line, Mark, Points, Rule, Style, style_of

_MOST_POINTS = 1500


def measure_ecdf(result: MeasureComparison, measure: str | None = None) -> Chart:
    """Return the cumulative distributions of a measure over right and over wrong predictions.

    Parameters
    ----------
    result : MeasureComparison
        What `caveat.compare_measures` returned.
    measure : str, optional
        The measure; by default the one that detects errors best.

    Returns
    -------
    Its numbers are values of the measure, and the shares of the right and of the wrong predictions
    with at most that value.
    """
    expect(result, MeasureComparison)
    rows = {row.measure: row for row in result.rows if not row.one_class}
    if measure is None:
        measure = max(rows, key=lambda name: np.nan_to_num(rows[name].detection, nan=-1.0))
    elif measure in MEASURES:
        measure = MEASURES[measure].name
    check_choice(measure, "measure", list(result.values))
    values, row = result.values[measure], rows[measure]
    grid = grid_of(values)
    parts = {"right": ~result.wrong, "wrong": result.wrong}
    shares = {name: shares_up_to(grid, values[part]) for name, part in parts.items()}
    counts = [int(part.sum()) for part in parts.values()]
    title = f"{measure.replace('_', ' ').capitalize()} of right and wrong predictions"
    note = "" if np.isnan(row.detection) else f"Error detection: {row.detection:.3g}."
    return Chart(
        title=title,
        read="The further the dashed line lies to the right of the other, the better this measure "
        "finds wrong predictions.",
        x=Axis(label=measure.replace("_", " ")),
        y=Axis(label="share with at most this value", ends=(0.0, 1.02), percent=True),
        marks=step_lines(grid, list(shares.values()), counts, list(parts), "a value"),
        numbers={measure: grid, **shares},
        note=note,
    )


def confused(result: MeasureComparison) -> Chart:
    """Return the mean of each measure against the number of confused classes.

    Returns
    -------
    Its numbers are those of `MeasureComparison.by_confusion`.
    """
    expect(result, MeasureComparison)
    frame = result.by_confusion()
    styles = measure_styles(result)
    marks = [
        Line(
            x=frame["classes"].to_numpy(), y=frame[name].to_numpy(),
            label=name.replace("_", " "), color=style.color, dash=style.dash, marker=style.marker,
            main=True, says="{x:.0f} classes: {y:.3g}",
        )
        for name, style in styles.items()
    ]  # fmt: skip
    ticks = tuple((float(number), str(number)) for number in frame["classes"])
    return Chart(
        title="Uncertainty and the number of confused classes",
        read="A measure that falls from left to right takes a less decided prediction for a more "
        "certain one.",
        x=Axis(label="classes above a random guess", ticks=ticks),
        y=Axis(label="mean of the measure", ends=(0.0, 1.02)),
        marks=tuple(marks),
        numbers={name: frame[name].to_numpy() for name in ("classes", "samples", *styles)},
    )


def measure_styles(result: MeasureComparison) -> dict[str, Style]:
    """Return the style of the line of each measure from 0 to 1; no two are alike."""
    names = [name for name in result.values if name not in (CONFUSED, ENERGY)]
    return {
        name: replace(
            style_of(number), dash=STYLES[(number + number // len(STYLES)) % len(STYLES)].dash
        )
        for number, name in enumerate(names)
    }


def near_misses(result: MeasureComparison) -> Chart:
    """Return homophily beside the equidistant case, where the true class came second.

    Parameters
    ----------
    result : MeasureComparison
        With distances between the classes.

    Returns
    -------
    Its numbers are those of `MeasureComparison.near_misses`, the most frequent pairs first.
    """
    expect(result, MeasureComparison)
    frame = result.near_misses().sort_values("samples", ascending=False, kind="stable").head(12)
    names = [f"{a} as {b}" for a, b in zip(frame["true"], frame["predicted"], strict=True)]
    sizes = frame["samples"].tolist()
    axis, places = row_axis([sized_lines(*row, 26) for row in zip(names, sizes, strict=True)])
    labels = [f"{name} ({size:,})" for name, size in zip(names, sizes, strict=True)]
    marks: list[Mark] = []
    for name, color, marker, shift in (
        ("equidistant", "gray", "circle", -0.18), ("homophily", "orange", "square", 0.18),
    ):  # fmt: skip
        mean, spread = (frame[f"{name}_{part}"].to_numpy() for part in ("mean", "deviation"))
        marks.append(
            Points(
                x=mean, y=np.add(places, shift), low=np.maximum(mean - spread, 0.0),
                high=np.minimum(mean + spread, 1.0), marker=marker, color=color, main=True,
                label={"equidistant": "all classes equally far apart"}.get(name, name),
                text=labels, says="{text}: {x:.2f}",
            )
        )  # fmt: skip
    return Chart(
        title="Wrong predictions whose true class came second",
        read="Homophily is lower than the equidistant case for close classes, and higher for "
        "distant ones. Bars are one standard deviation.",
        x=Axis(label="uncertainty", ends=(0.0, 1.0)),
        y=axis,
        marks=tuple(marks),
        numbers={name: frame[name].to_numpy() for name in frame},
    )


_MARKERS = {
    Confusion.SURE: ("gray", "circle"),
    Confusion.NEAR: ("blue", "triangle"),
    Confusion.DISTANT: ("yellow", "square"),
    Confusion.CANDIDATE: ("orange", "cross"),
}


def kinds(result: UncertaintyExplanation) -> Chart:
    """Return each prediction by its geometric and its homophily-based uncertainty.

    Parameters
    ----------
    result : UncertaintyExplanation
        What `caveat.explain_uncertainty` returned.

    Returns
    -------
    Its numbers are of up to 1,500 samples, evenly spaced, and all candidates among them.
    """
    expect(result, UncertaintyExplanation)
    total = len(result.geometric)
    rows = np.unique(np.linspace(0, total - 1, min(total, _MOST_POINTS)).round().astype(np.intp))
    rows = np.union1d(rows, result.candidates()[:_MOST_POINTS])
    first, second = (result.classes[result.between[rows, k]] for k in (0, 1))
    marks: list[Mark] = [Rule(end=1.0, label="all classes equally far apart", color="gray")]
    counts = result.counts()
    for kind, (color, marker) in _MARKERS.items():
        own = result.kinds[rows] == kind.value
        if own.any():
            marks.append(
                Points(
                    x=result.geometric[rows][own], y=result.homophily[rows][own], color=color,
                    marker=marker, size=3.5, main=True, label=f"{kind.value} ({counts[kind]:,})",
                    text=[f"sample {row}: {a} or {b}" for row, a, b in
                          zip(rows[own], first[own], second[own], strict=True)],
                    says="{text}",
                )
            )  # fmt: skip
    return Chart(
        title="What kind of uncertainty",
        read="To the right: close to a random guess. Above the line the confused classes are "
        "farther apart than classes usually are.",
        x=Axis(label="geometric uncertainty", ends=(0.0, 1.02)),
        y=Axis(label="homophily-based uncertainty", ends=(0.0, 1.02)),
        marks=tuple(marks),
        numbers={
            "sample": rows, "geometric": result.geometric[rows],
            "homophily": result.homophily[rows], "kind": result.kinds[rows],
        },
    )  # fmt: skip


ECDF = Entry(
    "measure_ecdf", measure_ecdf, of=MeasureComparison, overlays=False,
    views=lambda result: [{"measure": name} for name in result.values],
    folded=lambda options: options["measure"] not in ("gini_impurity", HOMOPHILY),
)  # fmt: skip
CONFUSED_CLASSES = Entry("confused", confused, of=MeasureComparison, overlays=False)
NEAR_MISSES = Entry(
    "near_misses", near_misses, of=MeasureComparison, overlays=False,
    applies=lambda result: HOMOPHILY in result.values and len(result.near_misses()) > 0,
    needs="distances between the classes, and wrong predictions whose true class is second",
)  # fmt: skip
KINDS = Entry("kinds", kinds, of=UncertaintyExplanation, overlays=False)
