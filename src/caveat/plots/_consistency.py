"""Bars of individual fairness: consistency by group and outcome."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import OptionError
from ..fairness import Consistency, ConsistencyRow
from ._style import GREY, PALETTE, legend_above, legend_label, new_axes, plain, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 30
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
        have their own colour and hatching. Of an attribute with more than 30 values the 30 least
        consistent are drawn.

    Examples
    --------
    >>> import matplotlib
    >>> from caveat.fairness import consistency
    >>> from caveat.plots import plot_consistency
    >>> matplotlib.use("Agg")
    >>> X, group = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]], ["a", "a", "a", "b", "b", "b"]
    >>> result = consistency([1, 1, 0, 0, 0, 0], X, neighbours=2, groups=group, resamples=0)
    >>> ax = plot_consistency(result)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['group=a (3)', 'group=b (3)']
    """
    name = _quantity(result, quantity)
    whole, rows = _chosen(result, name, attribute, scaled)
    ax = new_axes(ax, (5.4, 1.4 + 0.34 * len(rows)))
    places = np.cumsum([1.0 if row.outcome else 1.4 for row in rows])
    ax.set_yticks(places, [_label(row) for row in rows])
    if not ax.yaxis_inverted():
        ax.invert_yaxis()
    outcomes = list(dict.fromkeys(row.outcome for row in rows))
    for look, outcome in enumerate(outcomes):
        some = [i for i, row in enumerate(rows) if row.outcome == outcome]
        label = legend_label(f"outcome {outcome}" if outcome else "all outcomes", "")
        own: dict[str, Any] = {
            "color": PALETTE[look % len(PALETTE)],
            "hatch": _HATCHES[look % len(_HATCHES)],
            "edgecolor": "white",
            "height": 0.8,
            "label": label if len(outcomes) > 1 else "_groups",
        }
        ax.barh(places[some], [_numbers(rows[i], scaled)[0] for i in some], **{**own, **options})
    _, low, high = np.array([_numbers(row, scaled) for row in rows]).T
    known = np.isfinite(low)
    ax.hlines(places[known], low[known], high[known], color="black", linewidth=1.4)
    line = ax.axvline(_numbers(whole, scaled)[0], color=GREY, linewidth=1, label="all samples")
    line.set_linestyle((0, (2, 2)))
    ax.axvline(0, color=GREY, linewidth=0.6)
    unit = ", in units of the spread" if scaled else ""
    ax.set_xlabel(plain(f"consistency of {name}{unit}: more is better"))
    ax.grid(axis="x", color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    legend_above(ax)
    return ax


def _quantity(result: Consistency, quantity: str | None) -> str:
    known = list(result.differences)
    if quantity is None:
        return known[0]
    if quantity not in known:
        raise OptionError(f"unknown quantity {quantity!r}; known are {', '.join(known)}")
    return quantity


def _chosen(
    result: Consistency, quantity: str, attribute: str | None, scaled: bool
) -> tuple[ConsistencyRow, list[ConsistencyRow]]:
    """Return the row of all samples, and those to draw: of groups, or else of outcomes."""
    whole, *rows = result.select(quantity=quantity)
    if attribute is not None:
        known = sorted({row.attribute for row in rows if row.attribute})
        if attribute not in known:
            raise OptionError(
                f"unknown attribute {attribute!r}; known are {', '.join(known) or 'none'}"
            )
        rows = [row for row in rows if row.attribute == attribute]
    rows = [row for row in rows if row.attribute] or rows or [whole]
    rows = [row for row in rows if np.isfinite(_numbers(row, scaled)[0])]
    if not rows:
        raise OptionError(
            f"the consistency of {quantity!r} has no scaled value: all samples have one value; "
            "pass scaled=False"
        )
    return whole, _least(rows, scaled)


def _least(rows: list[ConsistencyRow], scaled: bool) -> list[ConsistencyRow]:
    """Leave out the most consistent groups of an attribute with many."""
    kept: set[tuple[str, str]] = set()
    for attribute in {row.attribute for row in rows}:
        of_it = [row for row in rows if row.attribute == attribute and not row.outcome]
        worst = sorted(of_it, key=lambda row: _numbers(row, scaled)[0])[:MOST]
        kept |= {(attribute, row.group) for row in worst}
    return [row for row in rows if not row.attribute or (row.attribute, row.group) in kept]


def _label(row: ConsistencyRow) -> str:
    """Return a label; the outcomes of a group stand below its own bar."""
    text = f"outcome {row.outcome}" if row.outcome else row.label
    return wrapped(f"{text} ({row.samples:,})", lines=2)


def _numbers(row: ConsistencyRow, scaled: bool) -> tuple[float, float, float]:
    if scaled:
        return row.scaled, row.scaled_low, row.scaled_high
    return row.consistency, row.low, row.high
