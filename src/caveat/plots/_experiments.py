"""Experiments: classes that were left out, shifts of the inputs, shifts of the domain."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import OptionError
from ..experiments import ClassDetection, DomainRow, DomainShift, ShiftCurves
from ..fairness.panels import ratio_range
from .style import (
    GRAY,
    PALETTE,
    band,
    expect,
    grid,
    interval,
    legend,
    legend_above,
    legend_label,
    line_options,
    mark_curve,
    new_axes,
    next_look,
    plain,
    plain_ticks,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 30
_PARTS = ("aleatoric", "epistemic", "total")
_HATCHES = ("", "//", "..")
_UNCERTAINTY = "uncertainty"


def plot_detection(
    result: ClassDetection,
    *,
    decomposition: str | None = None,
    by_class: bool = False,
    ax: "Axes | None" = None,
    **options: Any,
) -> "Axes":
    """Draw how well each kind of uncertainty finds classes that were left out, as bars.

    Parameters
    ----------
    result : ClassDetection
    decomposition : str, optional
        By default all of them; with ``by_class`` the first.
    by_class : bool, default=False
        Whether each left-out class has its bars below the mean.
    ax : Axes, optional
        Where to draw; by default in a new figure.
    **options
        For `Axes.barh`.

    Returns
    -------
    Axes
        The dashed line is chance. Of more than 30 classes those are drawn whose epistemic area is
        least.

    Examples
    --------
    >>> import matplotlib
    >>> from caveat.experiments import ClassDetection
    >>> from caveat.plots import plot_detection
    >>> matplotlib.use("Agg")
    >>> auc = [[[[0.6, 0.9, 0.8], [0.5, 0.8, 0.7]]]]
    >>> ax = plot_detection(ClassDetection(("a", "b"), ("information",), auc), by_class=True)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['mean', 'a', 'b']
    """
    expect(result, "ClassDetection")
    known = result.decompositions
    if decomposition is not None and decomposition not in known:
        raise OptionError(f"decomposition must be one of {', '.join(known)}; got {decomposition!r}")
    if by_class:
        name = known[0] if decomposition is None else decomposition
        bars = [("mean", name, ""), *((label, name, label) for label in _labels(result, name))]
    else:
        names = known if decomposition is None else (decomposition,)
        bars = [(name.replace("_", " "), name, "") for name in names]
    rows = {(row.decomposition, row.left_out, row.uncertainty): row for row in result.rows}
    ax = new_axes(ax, (5.4, 1.5 + 0.75 * len(bars)))
    for i, part in enumerate(_PARTS):
        found = [rows[name, label, part] for _, name, label in bars]
        places = np.arange(len(bars)) + (i - 1) * 0.27
        own: dict[str, Any] = {
            "color": PALETTE[i],
            "hatch": _HATCHES[i],
            "edgecolor": "white",
            "height": 0.25,
            "label": part,
        }
        ax.barh(places, [row.value for row in found], **{**own, **options})
        low, high = (np.array([getattr(row, end) for row in found]) for end in ("low", "high"))
        there = np.isfinite(low)
        ax.hlines(places[there], low[there], high[there], color="black", linewidth=1.4)
    ax.axvline(0.5, color=GRAY, linewidth=1, linestyle=(0, (2, 2)), zorder=3)
    ax.set_yticks(range(len(bars)), [wrapped(words) for words, _, _ in bars])
    ax.set_ylim(len(bars) - 0.5, -0.5)
    ax.set_xlim(0, 1)
    ax.set_xlabel("ROC AUC for finding the class that was left out")
    grid(ax)
    legend_above(ax)
    return ax


def _labels(result: ClassDetection, decomposition: str) -> list[str]:
    """Return the classes to draw, in their order."""
    rows = [
        row
        for row in result.matching(decomposition=decomposition, uncertainty="epistemic")
        if row.left_out
    ]
    least = sorted(range(len(rows)), key=lambda i: rows[i].value)[:MOST]
    return [rows[i].left_out for i in sorted(least)]


def plot_shift(
    result: ShiftCurves,
    quantity: str | Sequence[str] = _UNCERTAINTY,
    *,
    target: str | None = None,
    name: str | None = None,
    ax: "Axes | None" = None,
    **options: Any,
) -> "Axes":
    """Draw quantities as curves over the strength of a shift, with their intervals as bands.

    Parameters
    ----------
    result : ShiftCurves
    quantity : str or list of str, default="uncertainty"
        Names of metrics or of uncertainties; "uncertainty" is all three.
    target : str, optional
        The target, where there are several; by default the first.
    name : str, optional
        Put before the label of each curve, for several results in the same axes.
    ax : Axes, optional
        Where to draw; by default in a new figure.
    **options
        For `Axes.plot`.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import caveat, matplotlib, numpy as np
    >>> from caveat.experiments import shift_curves
    >>> from caveat.plots import plot_shift
    >>> matplotlib.use("Agg")
    >>> result = shift_curves(
    ...     lambda X: caveat.Gaussian(X[:, 0], 1.0), np.arange(6.0)[:, None], np.arange(6.0),
    ...     strengths=[0, 1], resamples=0, random_state=0,
    ... )
    >>> plot_shift(result, "mean_absolute_error").get_ylabel()
    'mean absolute error'
    """
    expect(result, "ShiftCurves")
    names = [quantity] if isinstance(quantity, str) else quantity
    if not isinstance(names, Sequence):
        raise OptionError(f"quantity must be a name or a list of names; got {quantity!r}")
    if quantity == _UNCERTAINTY:
        names = list(_PARTS)
    ax = new_axes(ax)
    for one in names:
        value, low, high = result.curve(one, target=target)
        words = one.replace("_", " ")
        label = legend_label(words if name is None else f"{name}: {words}", "")
        look = next_look(ax)
        own = line_options(look, label, options)
        (line,) = ax.plot(result.strengths, value, **{"marker": look.marker, **own})
        mark_curve(line)
        if np.isfinite(low).any():
            band(ax, result.strengths, low, high, line.get_color())
    if not ax.get_xlabel():
        ax.set_xlabel(plain(f"strength of {result.corruption}"))
    if not ax.get_ylabel():
        several = "mean uncertainty" if set(names) <= set(_PARTS) else "value"
        ax.set_ylabel(several if len(names) > 1 else plain(names[0].replace("_", " ")))
    grid(ax, "both")
    legend(ax)
    return ax


def plot_domain_shift(
    result: DomainShift, *, ax: "Axes | None" = None, **options: Any
) -> "Axes":  # fmt: skip
    """Draw the ratio out of domain over in domain of every metric and uncertainty.

    Parameters
    ----------
    result : DomainShift
    ax : Axes, optional
        Where to draw; by default in a new figure.
    **options
        For `Axes.plot`, of the points.

    Returns
    -------
    Axes
        The axis is logarithmic; an arrow stands for an interval without an end. Quantities without
        a ratio are left out.

    Examples
    --------
    >>> import caveat, matplotlib
    >>> from caveat.experiments import domain_shift
    >>> from caveat.plots import plot_domain_shift
    >>> matplotlib.use("Agg")
    >>> inside, outside = caveat.Gaussian([0.0, 1.0], 1.0), caveat.Gaussian([0.0, 1.0], 2.0)
    >>> result = domain_shift(inside, [0, 2], outside, [0, 5], metrics=["mae"], resamples=0)
    >>> ax = plot_domain_shift(result)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['mean absolute error 0', 'aleatoric 0', 'total 0']
    """
    expect(result, "DomainShift")
    rows = [row for row in result.rows if np.isfinite(row.ratio) and row.ratio > 0]
    if not rows:
        raise OptionError("result has no quantity with a ratio; its gaps are in to_frame()")
    ax = new_axes(ax, (6.4, 1.4 + 0.34 * len(rows)))
    ax.set_yticks(range(len(rows)), [_words(row) for row in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xscale("log")
    ax.axvline(1, color=GRAY, linewidth=1, linestyle=(0, (2, 2)), zorder=1)
    ends = ratio_range([end for row in rows for end in (row.ratio, row.ratio_low, row.ratio_high)])
    for kind, color, marker in (("metric", PALETTE[0], "o"), ("uncertainty", PALETTE[1], "D")):
        some = [(i, row) for i, row in enumerate(rows) if row.kind == kind]
        if not some:
            continue
        own: dict[str, Any] = {"color": color, "marker": marker, "label": kind}
        own |= {"linestyle": "none", "markersize": 5}
        (points,) = ax.plot(
            [row.ratio for _, row in some], [i for i, _ in some], **{**own, **options}
        )
        mark_curve(points)
        for i, row in some:
            interval(ax, i, (row.ratio_low, row.ratio_high), ends, points.get_color())
    ax.set_xlim(ends)
    plain_ticks(ax, ends)
    ax.set_xlabel("out of domain over in domain")
    grid(ax)
    legend_above(ax)
    return ax


def _words(row: DomainRow) -> str:
    parts = (row.quantity.replace("_", " "), row.option, row.target)
    return wrapped(" ".join(part for part in parts if part), width=40)
