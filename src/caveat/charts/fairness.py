"""The charts of an audit: ratios with the fair band, and the uncertainty of each group."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._validation import check_choice
from ..exceptions import OptionError
from ..fairness import FairnessAudit
from ..fairness.meanings import measure_words
from ..fairness.shown import MOST, farthest, ratio_rows
from ..results.judgments import Judgment, Pairing
from ..results.rows import FairnessRow
from ..results.words import SHORT
from .chart import Chart
from .entry import Entry, chosen, expect
from .layout import columns_of, interval_points, label_lines, ratio_axis, row_axis, sized_lines
from .marks import Axis, Mark, Points, Rule, Span, Text

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
PARTS = ("predictive", "aleatoric", "epistemic")
_WIDTH = 26
_JUDGMENTS = (
    (Judgment.WITHIN, "green", "diamond"),
    (Judgment.SMALL, "sky", "down"),
    (Judgment.GAP, "yellow", "triangle"),
    (Judgment.BEYOND, "orange", "cross"),
    (Judgment.UNCLEAR, "blue", "circle"),
    (Judgment.NOT_JUDGED, "gray", "square"),
)


def _attributes(result: FairnessAudit, attribute: str | None) -> tuple[str, ...]:
    expect(result, FairnessAudit)
    known = result.attributes
    return known if attribute is None else (check_choice(attribute, "attribute", known),)


def ratios(
    result: FairnessAudit, attribute: str | None = None, comparison: str | None = None
) -> Chart:
    """Return the ratios between groups with their intervals, and the band that counts as fair.

    Parameters
    ----------
    attribute : str, optional
        By default all of them.
    comparison : {"reference", "worst pair"}, optional
        By default that with the privileged group; without one, the worst pair of each attribute
        with more than two groups.

    Returns
    -------
    The axis is logarithmic, so that a ratio and its inverse are as far from 1. Intervals are those
    that decide, which hold for all comparisons of an attribute at once. An arrow stands for an
    interval without an end. Ratios that are undefined are named without a point; of more than 40
    ratios, those farthest from 1 are shown.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Categorical.from_binary([0.2, 0.9, 0.6, 0.7])
    >>> audit = caveat.audit(prediction, [0, 1, 1, 1], groups={"sex": ["f", "f", "m", "m"]})
    >>> ratios(audit).x.log
    True
    """
    known = [
        row
        for name in _attributes(result, attribute)
        for row in ratio_rows(result, name, comparison)
    ]  # fmt: skip
    if not known:
        raise OptionError(f"this audit has no comparison {comparison!r}; it has 'reference'")
    rows = farthest(result, known)
    several = len({row.attribute for row in rows}) > 1
    classes = list(dict.fromkeys(row.label for row in rows if row.one_class))
    axis, places = row_axis([_ratio_label(row, several, len(classes) > 1) for row in rows])
    value, low, high = columns_of(rows, "value", "verdict_low", "verdict_high")
    band = result.fair_band
    marks: list[Mark] = [
        Span(low=band[0], high=band[1], label="fair band", color="green"),
        Rule(x=1.0, label="equal", dash="dot"),
    ]
    kinds = (
        (SHORT[judgment], *style, [row.judgment is judgment for row in rows])
        for judgment, *style in _JUDGMENTS
    )
    pairs = [f"{measure_label(row)}, {row.group} / {row.reference}" for row in rows]
    says = "{text}: {x:.3g}"
    marks += interval_points(places, (value, low, high), pairs, kinds, size=6, says=says)
    marks += [
        Text(x=1.0, y=place, text="undefined")
        for place, row in zip(places, rows, strict=True)
        if np.isnan(row.value)
    ]
    left = len(known) - len(rows)
    worst = rows[0].comparison is Pairing.WORST
    by = " and ".join(dict.fromkeys(row.attribute for row in rows))
    of = f", class {classes[0]}" if len(classes) == 1 else ""
    return Chart(
        title=f"Ratios between {'the worst pair of groups' if worst else 'groups'} by {by}{of}",
        read=_ratios_read(rows),
        x=ratio_axis([*value, *low, *high], "ratio: first group / second", band),
        y=axis,
        marks=tuple(marks),
        numbers={
            "measure": [measure_label(row) for row in rows],
            "groups": [f"{row.group} / {row.reference}" for row in rows],
            "ratio": value,
            "low": low,
            "high": high,
            "verdict": [row.verdict for row in rows],
        },
        note=f"The {len(rows)} ratios farthest from 1 are shown; {left} others are in the table."
        if left
        else "",
        confidence=result.confidence,
    )


def _ratios_read(rows: Sequence[FairnessRow]) -> str:
    """Return how to read the chart; what it says of the bars must be true of each of them."""
    odds = any(row.measure == "equalized_odds" for row in rows)
    either = " Equalized odds have a gap if either of their two ratios has." if odds else ""
    return (
        "A ratio of 1 is equal treatment; the shaded band is within the threshold. Bars are "
        "intervals that hold for all comparisons at once: a bar that does not reach 1 shows a gap, "
        "and one that lies entirely outside the band shows a gap beyond the threshold."
        f"{either} An arrow stands for a bar that has no end."
    )


def measure_label(row: FairnessRow) -> str:
    """Return what a row is of: the measure, and the class or target."""
    label = f"{' of' if row.target else ', class'} {row.label}" if row.label else ""
    return f"{measure_words(row.measure)}{label}"


def _ratio_label(row: FairnessRow, several: bool, classes: bool) -> list[str]:
    """Return the lines of a label: the measure, the class or target, and the groups."""
    of = [f"of {row.target}"] if row.target else []
    if row.one_class and classes:
        of = [f"class {row.label}"]
    # A combination has the names of its attributes in it.
    attribute = f"{row.attribute} " if several and not row.combined else ""
    whole = f"{attribute}{row.group} / {row.reference}"
    pair = [whole] if len(whole) <= _WIDTH else [f"{attribute}{row.group}", f"/ {row.reference}"]
    return label_lines([measure_words(row.measure), *of, *pair], _WIDTH)


def distributions(
    result: FairnessAudit,
    part: str = "predictive",
    attribute: str | None = None,
    target: Any = None,
) -> Chart:
    """Return how uncertain the predictions for each group are: quantiles and the mean.

    Parameters
    ----------
    part : {"predictive", "aleatoric", "epistemic"}, default="predictive"
    attribute : str, optional
        By default all of them.

    Returns
    -------
    The thin line is from the 5 % to the 95 % quantile, the thick one from 25 to 75 %, the stroke
    the median, the point the mean. Numbers of samples are in parentheses; of more than 40 groups
    the most uncertain are shown.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Categorical.from_binary([0.2, 0.9, 0.6, 0.7])
    >>> audit = caveat.audit(prediction, [0, 1, 1, 1], groups={"sex": ["f", "f", "m", "m"]})
    >>> distributions(audit).numbers["group"]
    ['f', 'm']
    """
    names = _attributes(result, attribute)
    check_choice(part, "part", PARTS)
    measure = f"{part}_uncertainty"
    labels = list(dict.fromkeys(row.label for row in result.matching(measure=measure)))
    label = chosen(None if target is None else str(target), "target", labels)
    known = [
        (name, group, rows)
        for name in names
        for group, rows in _uncertain_groups(result, name, measure, label)
    ]
    if not known:
        raise OptionError(f"no group of this audit has a finite {part} uncertainty")
    most = sorted(range(len(known)), key=lambda i: -known[i][2][None].value)[:MOST]
    groups = [known[i] for i in sorted(most)]
    several = len(names) > 1
    axis, places = row_axis(
        [
            sized_lines(f"{name} {group}" if several else group, rows[None].samples)
            for name, group, rows in groups
        ]
    )
    at = {share: np.array([rows[share].value for *_, rows in groups]) for share in QUANTILES}
    mean = np.array([rows[None].value for *_, rows in groups])
    of = f" of {label}" if label else ""
    marks = (
        Points(
            x=at[0.5], y=places, low=at[0.05], high=at[0.95], marker=None, label="5 to 95 %",
            color="gray", width=1.2,
        ),
        Points(
            x=at[0.5], y=places, low=at[0.25], high=at[0.75], marker=None, label="25 to 75 %",
            color="sky", width=7,
        ),
        Points(x=at[0.5], y=places, marker="bar", label="median", color="ink", size=7),
        Points(
            x=mean, y=places, marker="diamond", label="mean", color="orange", main=True,
            text=[group for _, group, _ in groups], says="{text}: mean {x:.3g}",
        ),
    )  # fmt: skip
    left = len(known) - len(groups)
    columns = {f"{share:.0%}": at[share] for share in QUANTILES}
    end = 1.05 * float(np.nanmax([at[0.95].max(), mean.max()])) or 1.0
    return Chart(
        title=f"{part.capitalize()} uncertainty{of} by {' and '.join(names)}",
        read=_PART_READ[part],
        x=Axis(
            label=f"{part} uncertainty{of} ({result.decomposition.replace('_', ' ')})",
            ends=(0.0, end),
        ),
        y=axis,
        marks=marks,
        numbers={
            "group": [group for _, group, _ in groups],
            "mean": mean,
            "low": [rows[None].low for *_, rows in groups],
            "high": [rows[None].high for *_, rows in groups],
            **columns,
            "samples": [rows[None].samples for *_, rows in groups],
        },
        note=f"The {len(groups)} most uncertain groups are shown; {left} others are not."
        if left
        else "",
        confidence=result.confidence,
    )


_PART_READ = {
    "aleatoric": "How noisy the data of each group is, by the model's account. More of the same "
    "data will not reduce it.",
    "epistemic": "What the model has not learned of each group. More or better data would reduce "
    "it.",
    "predictive": "Both together: how uncertain the predictions are.",
}


def _uncertain_groups(
    audit: FairnessAudit, attribute: str, measure: str, label: str
) -> list[tuple[str, dict[float | None, FairnessRow]]]:
    """Return mean (None) and quantiles of an uncertainty in each group, where it is known."""
    result: dict[str, dict[float | None, FairnessRow]] = {}
    for row in audit.matching(attribute=attribute, kind="group", measure=measure):
        if row.label == label:
            result.setdefault(row.group, {})[row.quantile] = row
    return [(group, rows) for group, rows in result.items() if np.isfinite(rows[None].value)]


RATIOS = Entry("ratios", ratios, of=FairnessAudit)
DISTRIBUTIONS = Entry("distributions", distributions, of=FairnessAudit)
