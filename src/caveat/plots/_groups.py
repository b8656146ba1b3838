"""One metric with its intervals, for groups or for techniques."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..evaluation import Comparison, Evaluation
from ..exceptions import OptionError
from ..figures import Groups, by_group
from ..metrics import METRICS
from .style import (
    GRAY,
    PALETTE,
    expect,
    grid,
    legend_above,
    legend_label,
    mark_curve,
    new_axes,
    next_look,
    plain,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 30


def plot_groups(
    result: Any,
    metric: str | None = None,
    *,
    target: Any = None,
    option: str | None = None,
    ax: "Axes | None" = None,
    name: str | None = None,
    **options: Any,
) -> "Axes":
    """Draw a metric for each class and each group, with its intervals.

    Parameters
    ----------
    result : Evaluation or Groups
    metric : str, optional
        A name or an alias from ``caveat.metrics.METRICS``; by default the calibration error.
    target : str, optional
        The target, where there are several; by default the first.
    option : str, optional
        Which rows, where a metric has several, such as ``"coverage=0.9545"``; by default the first.
    ax : Axes, optional
        Where to draw; by default in a new figure.
    name : str, optional
        What the points are called in the legend.
    **options
        For `Axes.plot`, of the points.

    Returns
    -------
    Axes
        Numbers of samples are in parentheses. Of an attribute with more than 30 values the 30
        worst are drawn.

    Examples
    --------
    >>> import caveat, matplotlib
    >>> from caveat.plots import plot_groups
    >>> matplotlib.use("Agg")
    >>> prediction = caveat.Categorical.from_binary([0.1, 0.2, 0.9, 0.9])
    >>> result = caveat.evaluate(prediction, [0, 0, 0, 1], groups=["a", "a", "b", "b"], resamples=0)
    >>> ax = plot_groups(result, "accuracy")
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['class 0 (3)', 'class 1 (1)', 'group a (2)', 'group b (2)']
    """
    figure = result
    if not isinstance(result, Groups):
        figure = by_group(
            result, _first_metric(result) if metric is None else metric, target, option
        )
    rows = [row for panel in figure.panels for row in _worst(panel, figure.direction)]
    if not rows:
        raise OptionError(f"{figure.metric!r} is not defined in any group of this evaluation")
    ax = new_axes(ax, (5.4, 1.4 + 0.32 * len(rows)))
    look = next_look(ax)
    place, labels, value, low, high = (list(column) for column in zip(*rows, strict=True))
    places = np.cumsum(place) + 0.2 * look.number
    if look.number == 0:
        ax.set_yticks(places, labels)
        ax.invert_yaxis()
    label = legend_label(name, "each group")
    whole = figure.panels[0].overall
    own = {"color": look.color, "marker": look.marker}
    _bars(ax, value, low, high, places, label, own | options)
    line = ax.axvline(whole, color=look.color if look.number else GRAY, linewidth=1, zorder=1)
    line.set_linestyle((0, (2, 2)))
    if look.number == 0:
        line.set_label("all samples")
    if not ax.get_xlabel():
        ax.set_xlabel(plain(figure.x_label))
    ax.margins(y=0.06)
    grid(ax)
    legend_above(ax)
    return ax


def plot_comparison(
    result: Comparison,
    metric: str,
    *,
    target: str | None = None,
    option: str | None = None,
    ax: "Axes | None" = None,
    **options: Any,
) -> "Axes":
    """Draw one metric of several techniques with its intervals; the best and its ties stand out.

    Parameters
    ----------
    result : Comparison
    metric : str
        A name or an alias from ``caveat.metrics.METRICS``.
    target : str, optional
        The target, where there are several; by default the first.
    option : str, optional
        Which rows, where a metric has several; by default the first.
    ax : Axes, optional
        Where to draw; by default in a new figure.
    **options
        For `Axes.plot`, of the points.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import caveat, matplotlib
    >>> from caveat.plots import plot_comparison
    >>> matplotlib.use("Agg")
    >>> both = {
    ...     "sure": caveat.Categorical.from_binary([0.0, 0.0, 1.0]),
    ...     "unsure": caveat.Categorical.from_binary([0.5, 0.4, 0.6]),
    ... }
    >>> ax = plot_comparison(caveat.compare(both, [0, 0, 1], resamples=0), "brier")
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['sure', 'unsure']
    """
    expect(result, "Comparison")
    rows = _compared(result, metric, target, option)
    ax = new_axes(ax, (5.4, 1.4 + 0.36 * len(rows)))
    ax.set_yticks(range(len(rows)), [wrapped(row.technique) for row in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    kinds = (
        ("best", PALETTE[2], "D", [row.best for row in rows]),
        ("tied with the best", PALETTE[0], "o", [row.tied and not row.best for row in rows]),
        ("worse", PALETTE[1], "X", [row.rank > 0 and not row.tied for row in rows]),
        ("not ranked", GRAY, "s", [row.rank == 0 for row in rows]),
    )
    for label, color, marker, chosen in kinds:
        some = [(i, row) for i, (row, yes) in enumerate(zip(rows, chosen, strict=True)) if yes]
        if some:
            value = [row.value for _, row in some]
            low = [row.value if np.isnan(row.low) else row.low for _, row in some]
            high = [row.value if np.isnan(row.high) else row.high for _, row in some]
            own = {"color": color, "marker": marker}
            _bars(ax, value, low, high, [i for i, _ in some], label, own | options)
    words_of = rows[0].metric.replace("_", " ") + (f" ({rows[0].option})" if rows[0].option else "")
    better = {"lower": "less is better", "higher": "more is better"}
    side = better.get(METRICS[rows[0].metric].direction, "near the target is better")
    ax.set_xlabel(plain(f"{words_of}: {side}"))
    grid(ax)
    legend_above(ax)
    return ax


def _first_metric(evaluation: Evaluation) -> str:
    expect(evaluation, "Evaluation")
    grouped = [row.metric for row in evaluation.rows if row.group]
    if not grouped:
        raise OptionError("this evaluation has no groups; pass groups= to evaluate")
    # Calibration first, of two classes by the second; then coverage.
    usual = [name for name in METRICS.shown("groups") if name in grouped]
    return min(usual, key=_by_use, default=grouped[0])


def _by_use(name: str) -> tuple[bool, ...]:
    metric = METRICS[name]
    return metric.locality != "local", metric.direction != "target", not metric.two_classes


def _worst(panel: Any, direction: str) -> list[tuple[float, str, float, float, float]]:
    """Return rows of one attribute: the step to it, its label, its value and the interval."""
    shown = np.arange(len(panel.labels))
    if len(shown) > MOST:
        badness = np.abs(panel.value - panel.overall) if direction == "target" else panel.value
        order = np.argsort(badness if direction == "higher" else -badness, kind="stable")
        shown = np.sort(order[:MOST])
    return [
        (
            1.0 if place else 1.6,
            wrapped(f"{panel.attribute} {panel.labels[i]} ({panel.samples[i]:,.0f})"),
            panel.value[i],
            panel.low[i],
            panel.high[i],
        )
        for place, i in enumerate(shown)
    ]


def _bars(
    ax: "Axes", value: Any, low: Any, high: Any, places: Any, label: str,
    options: dict[str, Any],
) -> None:  # fmt: skip
    """Draw points with intervals; a biased value may lie outside of its own."""
    own: dict[str, Any] = {"linestyle": "none", "markersize": 5, "label": label}
    (points,) = ax.plot(value, places, **{**own, **options})
    ax.hlines(places, low, high, color=points.get_color(), linewidth=1.4)
    mark_curve(points)


def _compared(result: Comparison, metric: str, target: str | None, option: str | None) -> list[Any]:
    names = {entry.name for entry in METRICS.find(metric)}
    rows = [row for row in result.matching(group="") if row.metric in names]
    if target is not None:
        rows = [row for row in rows if row.target == str(target)]
    if option is not None:
        rows = [row for row in rows if row.option == option]
    rows = [row for row in rows if np.isfinite(row.value)]
    if not rows:
        wanted = " ".join(str(part) for part in (metric, option, target) if part is not None)
        raise OptionError(f"{wanted!r} is not in the table of this comparison")
    first = rows[0]
    return [row for row in rows if (row.option, row.target) == (first.option, first.target)]
