"""Ratios between groups with the fair band, and the uncertainty of each group."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import OptionError
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
from ..results.judgments import Judgment
from ..results.words import SHORT
from .style import (
    GRAY,
    PALETTE,
    expect,
    grid,
    interval,
    legend_above,
    mark_curve,
    new_axes,
    plain,
    plain_ticks,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KINDS = (
    (Judgment.WITHIN, PALETTE[2], "D"),
    (Judgment.SMALL, PALETTE[4], "d"),
    (Judgment.GAP, PALETTE[5], "^"),
    (Judgment.BEYOND, PALETTE[1], "X"),
    (Judgment.UNCLEAR, PALETTE[0], "o"),
    (Judgment.NOT_JUDGED, GRAY, "s"),
)
_INCHES = 0.17
"""The height of a line of text in a label."""

WIDTH = 34
"""How many characters it has at most."""

_PARTS = ("aleatoric", "epistemic", "predictive")
_NAMES = {
    "statistical_parity": "statistical parity",
    "equal_opportunity": "equal opportunity",
    "false_negative_rate": "false negative rate",
    "equalized_odds": "equalized odds",
    "equal_accuracy": "accuracy",
    "mean_absolute_error": "mean absolute error",
    "aleatoric_uncertainty": "aleatoric",
    "epistemic_uncertainty": "epistemic",
    "predictive_uncertainty": "predictive",
}


def plot_ratios(
    result: FairnessAudit,
    *,
    attribute: str | None = None,
    comparison: str | None = None,
    ax: "Axes | None" = None,
    **options: Any,
) -> "Axes":
    """Draw the ratios between groups with their intervals, and the band that counts as fair.

    Parameters
    ----------
    result : FairnessAudit
    attribute : str, optional
        By default all of them.
    comparison : {"reference", "worst pair"}, optional
        By default that with the privileged group; without one, the worst pair of each attribute
        with more than two groups.
    ax : Axes, optional
        Where to draw; by default in a new figure.
    **options
        For `Axes.plot`, of the points.

    Returns
    -------
    Axes
        The axis is logarithmic, so that a ratio and its inverse are as far from 1. Intervals are
        those that decide, which hold for all comparisons of an attribute at once. An arrow stands
        for an interval without an end. Ratios that are undefined are named without a point; of
        more than 40 ratios, those farthest from 1 are drawn.

    Examples
    --------
    >>> import caveat, matplotlib
    >>> from caveat.fairness import audit
    >>> from caveat.plots import plot_ratios
    >>> matplotlib.use("Agg")
    >>> prediction = caveat.Categorical.from_binary([0.9, 0.8, 0.3, 0.6])
    >>> result = audit(prediction, [1, 1, 0, 1], ["f", "f", "m", "m"], resamples=0)
    >>> ax = plot_ratios(result)
    >>> ax.get_xscale(), ax.get_yticklabels()[0].get_text()
    ('log', 'accuracy: m / f')
    """
    expect(result, "FairnessAudit")
    rows = [
        row
        for name in _attributes(result, attribute)
        for row in ratio_rows(result, name, comparison)
    ]  # fmt: skip
    if not rows:
        raise OptionError(f"this audit has no comparison {comparison!r}; it has 'reference'")
    rows = farthest(result, rows)
    several = len({row.attribute for row in rows}) > 1
    labels = [_label(row, several) for row in rows]
    places, edges = row_places([len(lines) for lines in labels])
    ax = new_axes(ax, size_of(labels, 5.2, edges))
    ax.set_yticks(places, [text_of(lines) for lines in labels])
    ax.set_ylim(edges[1], edges[0])
    ax.set_xscale("log")
    band = result.fair_band
    ax.axvspan(*band, color=PALETTE[2], alpha=0.12, linewidth=0, label="fair band")
    ax.axvline(1, color=GRAY, linewidth=1, linestyle=(0, (2, 2)), zorder=1)
    drawn = [end for row in rows for end in (row.value, row.verdict_low, row.verdict_high)]
    ends = ratio_range(drawn, band)
    for kind, color, marker in _KINDS:
        some = [
            (place, row) for place, row in zip(places, rows, strict=True) if row.judgment is kind
        ]
        if some:
            own: dict[str, Any] = {"color": color, "marker": marker, "label": SHORT[kind]}
            own |= {"linestyle": "none", "markersize": 5}
            heights = [place for place, _ in some]
            (points,) = ax.plot([row.value for _, row in some], heights, **{**own, **options})
            mark_curve(points)
            for place, row in some:
                decides = (row.verdict_low, row.verdict_high)
                interval(ax, place, decides, ends, points.get_color())
    for place, row in zip(places, rows, strict=True):
        if np.isnan(row.value):
            ax.text(1, place, " undefined", va="center", fontsize="small", color=GRAY)
    ax.set_xlim(ends)
    plain_ticks(ax, ends)
    ax.set_xlabel("ratio of the group to the other")
    grid(ax)
    legend_above(ax)
    return ax


def plot_distributions(
    result: FairnessAudit,
    part: str = "predictive",
    *,
    attribute: str | None = None,
    target: Any = None,
    ax: "Axes | None" = None,
    **options: Any,
) -> "Axes":
    """Draw how uncertain the predictions for each group are: quantiles and the mean.

    Parameters
    ----------
    result : FairnessAudit
    part : {"predictive", "aleatoric", "epistemic"}, default="predictive"
    attribute : str, optional
        By default all of them.
    target : str, optional
        The target, where there are several; by default the first.
    ax : Axes, optional
        Where to draw; by default in a new figure.
    **options
        For `Axes.plot`, of the means.

    Returns
    -------
    Axes
        The thin line is from the 5 % to the 95 % quantile, the thick one from 25 to 75 %, the
        stroke the median, the point the mean. Numbers of samples are in parentheses; of more than
        40 groups the most uncertain are drawn.

    Examples
    --------
    >>> import caveat, matplotlib
    >>> from caveat.fairness import audit
    >>> from caveat.plots import plot_distributions
    >>> matplotlib.use("Agg")
    >>> prediction = caveat.Categorical.from_binary([0.9, 0.8, 0.3, 0.6])
    >>> result = audit(prediction, [1, 1, 0, 1], {"sex": ["f", "f", "m", "m"]}, resamples=0)
    >>> ax = plot_distributions(result)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['sex f (2)', 'sex m (2)']
    """
    expect(result, "FairnessAudit")
    if part not in _PARTS:
        raise OptionError(f"part must be one of {', '.join(_PARTS)}; got {part!r}")
    measure = f"{part}_uncertainty"
    labels = list(dict.fromkeys(row.label for row in result.matching(measure=measure)))
    label = labels[0] if target is None else str(target)
    if label not in labels:
        raise OptionError(f"target must be one of {', '.join(labels)}; got {target!r}")
    groups = []
    for name in _attributes(result, attribute):
        for group, rows in uncertain_groups(result, name, part, label):
            values = {share: row.value for share, row in rows.items()}
            label_of = sized_lines(f"{name} {group}", rows[None].samples, WIDTH)
            groups.append((label_of, values))
    most = sorted(range(len(groups)), key=lambda i: -groups[i][1][None])[:MOST]
    groups = [groups[i] for i in sorted(most)]
    names = [lines for lines, _ in groups]
    heights, edges = row_places([len(lines) for lines in names])
    ax = new_axes(ax, size_of(names, 4.2, edges))
    places = np.asarray(heights)
    ax.set_yticks(heights, [text_of(lines) for lines in names])
    ax.set_ylim(edges[1], edges[0])
    low, first, middle, third, high = (
        [values[share] for _, values in groups] for share in QUANTILES
    )
    ax.hlines(places, low, high, color=GRAY, linewidth=1.2, label="5 to 95 %")
    ax.hlines(places, first, third, color=PALETTE[4], linewidth=7, label="25 to 75 %")
    ax.vlines(middle, places - 0.45, places + 0.45, color="#000000", linewidth=1.6, label="median")
    own: dict[str, Any] = {"color": PALETTE[1], "marker": "D", "linestyle": "none", "label": "mean"}
    own |= {"markersize": 5}
    (points,) = ax.plot([values[None] for _, values in groups], places, **{**own, **options})
    mark_curve(points)
    of = f" of {label}" if label else ""
    ax.set_xlabel(plain(f"{part} uncertainty{of} ({result.decomposition.replace('_', ' ')})"))
    grid(ax)
    legend_above(ax)
    return ax


def _attributes(result: FairnessAudit, attribute: str | None) -> tuple[str, ...]:
    if attribute is not None and attribute not in result.attributes:
        known = ", ".join(result.attributes)
        raise OptionError(f"attribute must be one of {known}; got {attribute!r}")
    return result.attributes if attribute is None else (attribute,)


def _label(row: FairnessRow, several: bool) -> list[str]:
    """Return the lines of a label: the measure with its class, then the groups."""
    label = f"{' of' if row.target else ', class'} {row.label}" if row.label else ""
    # A combination has the names of its attributes in it.
    attribute = f"{row.attribute} " if several and not row.combined else ""
    head, pair = f"{_NAMES[row.measure]}{label}:", pair_parts(row, WIDTH - len(attribute))
    whole = f"{head} {attribute}{pair[0]}"
    if len(pair) == 1 and len(whole) <= WIDTH:
        return [whole]
    return label_lines([head, f"{attribute}{pair[0]}", *pair[1:]], WIDTH)


def size_of(labels: list[list[str]], width: float, edges: list[float]) -> tuple[float, float]:
    """Return the size of a figure: so wide without the labels, as high as all their lines."""
    longest = max(len(line) for lines in labels for line in lines)
    return width + 0.085 * longest, 1.4 + _INCHES * edges[1]


def text_of(lines: list[str]) -> str:
    """Return the lines of a label as text, in which no sign has a meaning."""
    return "\n".join(plain(line) for line in lines)
