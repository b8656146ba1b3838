"""Bars of individual fairness: consistency by group and outcome."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import OptionError
from ..fairness import Consistency, ConsistencyRow
from ..fairness.panels import consistency_numbers, consistency_rows, row_places, sized_lines
from ._fairness import WIDTH, size_of, text_of
from .style import GRAY, PALETTE, expect, grid, legend_above, legend_label, new_axes, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HATCHES = ("", "//", "..", "xx", "\\\\", "++")


def plot_consistency(
    result: Consistency,
    quantity: str | None = None,
    *,
    attribute: str | None = None,
    scaled: bool = True,
    ax: "Axes | None" = None,
    **options: Any,
) -> "Axes":
    """Draw the consistency of each group, and of each outcome in it, as bars with intervals.

    Parameters
    ----------
    result : Consistency
        What `caveat.fairness.consistency` returns.
    quantity : str, optional
        Which of the values; by default the first.
    attribute : str, optional
        The groups of this attribute only; by default of all.
    scaled : bool, default=True
        Whether differences are divided by the spread of the quantity. Without, small uncertainties
        are all close to 1.
    ax : Axes, optional
        Where to draw; by default in a new figure.
    **options
        For `Axes.barh`.

    Returns
    -------
    Axes
        Numbers of samples are in parentheses; the dashed line is the mean of all samples. Outcomes
        have their own color and hatching. Of an attribute with more than 30 values the 30 least
        consistent are drawn.

    Examples
    --------
    >>> import matplotlib
    >>> from caveat.fairness import consistency
    >>> from caveat.plots import plot_consistency
    >>> matplotlib.use("Agg")
    >>> X, group = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]], ["a", "a", "a", "b", "b", "b"]
    >>> result = consistency([1, 1, 0, 0, 0, 0], X, neighbors=2, groups=group, resamples=0)
    >>> ax = plot_consistency(result)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['group=a (3)', 'group=b (3)']
    """
    expect(result, "Consistency")
    name = _quantity(result, quantity)
    whole, rows = consistency_rows(result, name, attribute, scaled)
    labels = [_label(row) for row in rows]
    heights, edges = row_places([len(lines) for lines in labels])
    ax = new_axes(ax, size_of(labels, 4.2, edges))
    places = np.asarray(heights)
    ax.set_yticks(heights, [text_of(lines) for lines in labels])
    ax.set_ylim(edges[1], edges[0])
    outcomes = list(dict.fromkeys(row.outcome for row in rows))
    for look, outcome in enumerate(outcomes):
        some = [i for i, row in enumerate(rows) if row.outcome == outcome]
        label = legend_label(f"outcome {outcome}" if outcome else "all outcomes", "")
        own: dict[str, Any] = {
            "color": PALETTE[look % len(PALETTE)],
            "hatch": _HATCHES[look % len(_HATCHES)],
            "edgecolor": "white",
            "height": 1.4,
            "label": label if len(outcomes) > 1 else "_groups",
        }
        ax.barh(
            places[some],
            [consistency_numbers(rows[i], scaled)[0] for i in some],
            **{**own, **options},
        )
    _, low, high = np.array([consistency_numbers(row, scaled) for row in rows]).T
    known = np.isfinite(low)
    ax.hlines(places[known], low[known], high[known], color="black", linewidth=1.4)
    line = ax.axvline(
        consistency_numbers(whole, scaled)[0], color=GRAY, linewidth=1, label="all samples"
    )
    line.set_linestyle((0, (2, 2)))
    ax.axvline(0, color=GRAY, linewidth=0.6)
    unit = ", in units of the spread" if scaled else ""
    ax.set_xlabel(plain(f"consistency of {name}{unit}: more is better"))
    grid(ax)
    legend_above(ax)
    return ax


def _quantity(result: Consistency, quantity: str | None) -> str:
    known = list(result.differences)
    if quantity is None:
        return known[0]
    if quantity not in known:
        raise OptionError(f"unknown quantity {quantity!r}; known are {', '.join(known)}")
    return quantity


def _label(row: ConsistencyRow) -> list[str]:
    """Return the lines of a label; the outcomes of a group stand below its own bar."""
    text = f"outcome {row.outcome}" if row.outcome else row.label
    return sized_lines(text, row.samples, WIDTH)
