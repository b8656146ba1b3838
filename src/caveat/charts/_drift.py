"""The charts of monitoring: what changed, two distributions, and numbers over time."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._validation import check_choice
from ..exceptions import OptionError
from ..metrics import METRICS
from ..monitoring import Drift, DriftHistory
from ..monitoring.result import ChangeState
from ..monitoring.words import NAMES, name_of
from .chart import Chart
from .entry import Entry, chosen, expect
from .layout import columns_of, interval_points, label_lines, literal, padded, row_axis
from .marks import Axis, Band, Line, Mark, Rule

MOST = 40
"""More rows than this do not fit; those with the largest changes are drawn."""

_STYLES = {
    ChangeState.CHANGED: ("orange", "diamond"),
    ChangeState.UNCHANGED: ("blue", "circle"),
    ChangeState.TOO_FEW: ("gray", "square"),
}
_TICKS = 8


def drift(result: Drift, groups: bool = False) -> Chart:
    """Return how large each change is, in thresholds, with its interval.

    Parameters
    ----------
    groups : bool, default=False
        Whether the groups are shown instead of all samples.

    Returns
    -------
    1 is the threshold. Of more than 40 rows those with the largest changes are drawn.

    Examples
    --------
    >>> import caveat
    >>> some = caveat.Categorical.from_binary([0.1, 0.4, 0.8, 0.9] * 50)
    >>> drift(caveat.drift(some, some)).numbers["quantity"]
    ['probability of the second class', 'total uncertainty']
    """
    expect(result, Drift)
    check_choice(groups, "groups", (False, True))
    rows = [
        row
        for row in result.rows
        if row.overall is not groups and np.isfinite(row.effect) and row.threshold > 0
    ]
    if not rows:
        raise OptionError("result has no change with a size; see to_frame()")
    sizes = [row.effect / row.threshold for row in rows]
    largest = sorted(range(len(rows)), key=lambda i: -sizes[i])[:MOST]
    rows = [rows[i] for i in sorted(largest)]
    names = [" ".join(part for part in (name_of(row), row.group) if part) for row in rows]
    axis, places = row_axis([label_lines([name], 26) for name in names])
    *numbers, unit = columns_of(rows, "effect", "effect_low", "effect_high", "threshold")
    value, low, high = numbers / unit
    marks: list[Mark] = [Rule(x=1.0, label="threshold")]
    kinds = ((s.value, *style, [row.state is s for row in rows]) for s, style in _STYLES.items())
    says = "{text}: {x:.2g} thresholds"
    marks += interval_points(places, (value, low, high), names, kinds, says=says)
    top = float(np.nanmax([*value, *high[np.isfinite(high)], 1.0]))
    return Chart(
        title="What changed" + (", by group" if groups else ""),
        read="1 is the threshold beyond which a change matters. A change counts if it is beyond "
        "the threshold and more than chance; an interval that ends before 1 shows that there is "
        "none that matters.",
        x=Axis(label="size of the change, in thresholds", ends=(0.0, 1.05 * top)),
        y=axis,
        marks=tuple(marks),
        numbers={
            "quantity": names, "change in thresholds": value, "low": low, "high": high,
            "judgment": [row.state.value for row in rows],
        },
        confidence=result.confidence,
    )  # fmt: skip


def drift_distribution(result: Drift, quantity: str | None = None, target: str = "") -> Chart:
    """Return the distribution of one number in the reference and in the new samples.

    Parameters
    ----------
    quantity : str, optional
        Such as "probability" or "epistemic"; by default the first that was compared.
    target : str, default=""

    Examples
    --------
    >>> import caveat
    >>> some = caveat.Categorical.from_binary([0.1, 0.4, 0.8, 0.9] * 50)
    >>> drift_distribution(caveat.drift(some, some), "total").x.label
    'total uncertainty'
    """
    expect(result, Drift)
    known = [name for name, of in result.quantities if of == target and name != "class"]
    quantity = chosen(quantity, "quantity", known)
    pair = result.distributions(quantity, target)
    ends = [_curve(side.values, side.counts) for side in pair]
    marks: list[Mark] = []
    for (x, y), name, color, dash in zip(
        ends, result.names, ("gray", "blue"), ("dash", "solid"), strict=True
    ):
        says = f"{literal(name)}: {{y:.1%}} of the samples up to {{x:.3g}}"
        marks.append(
            Line(x=x, y=y, label=name, color=color, dash=dash, marker=None, main=True, says=says)
        )
    grid = np.unique(np.concatenate([x for x, _ in ends]))
    shares = {
        name: np.interp(grid, x, y, left=0.0)
        for name, (x, y) in zip(result.names, ends, strict=True)
    }
    label = " ".join(part for part in (NAMES[quantity], target) if part)
    return Chart(
        title=f"Distribution of the {label}",
        read="The share of samples up to each value. The largest vertical distance between the "
        "lines is the size of the change.",
        x=Axis(label=label),
        y=Axis(label="share of samples", ends=(0.0, 1.0), percent=True),
        marks=tuple(marks),
        numbers={label: grid, **shares},
    )


def _curve(values: Any, counts: Any) -> tuple[Any, Any]:
    """Return some 200 points of a distribution function."""
    share = np.cumsum(counts) / counts.sum()
    some = np.unique(np.searchsorted(share, np.linspace(0, 1, 200)).clip(max=len(share) - 1))
    return values[some], share[some]


def history(result: DriftHistory, quantity: str | Sequence[str] | None = None) -> Chart:
    """Return numbers of each period as lines over time, with their intervals.

    Parameters
    ----------
    quantity : str or list of str, optional
        Quantities of the rows, such as ["probability", "observed"]; by default the first view.

    Examples
    --------
    >>> import caveat
    >>> from caveat.monitoring import drift_history
    >>> some = caveat.Categorical.from_binary([0.1, 0.4, 0.8, 0.9] * 50)
    >>> result = drift_history({"May": some, "June": some, "July": some})
    >>> [text for _, text in history(result, "total").x.ticks]
    ['May', 'June', 'July']
    """
    expect(result, DriftHistory)
    if quantity is None:
        quantity = views(result)[0]["quantity"]
    names = [quantity] if isinstance(quantity, str) else list(quantity)
    periods = [result.reference, *result.periods]
    marks: list[Mark] = []
    numbers: dict[str, Any] = {"period": periods}
    targets = {row.target for row in result.rows if row.quantity in names}
    for name in names:
        check_choice(name, "quantity", list(dict.fromkeys(row.quantity for row in result.rows)))
        rows = [row for row in result.rows if row.quantity == name]
        for target in sorted(targets):
            own = {row.period: row for row in rows if row.target == target}
            value, low, high = (
                np.array([getattr(own[p], field) if p in own else np.nan for p in periods])
                for field in ("value", "low", "high")
            )
            words = " ".join(part for part in (_words(name), target) if part)
            places = np.arange(len(periods), dtype=np.float64)
            says = f"{literal(words)}: {{y:.4g}}"
            some = np.isfinite(value)
            marks.append(Line(x=places[some], y=value[some], label=words, main=True, says=says))
            some = np.isfinite(low) & np.isfinite(high)
            if some.any():
                marks.append(Band(x=places[some], low=low[some], high=high[some], main=True))
            numbers |= {words: value, f"{words}, low": low, f"{words}, high": high}
    marks += _rules(result, names)
    step = -(-len(periods) // _TICKS)
    ticks = tuple((float(i), periods[i]) for i in range(0, len(periods), step))
    log = names == ["e-value"]
    drawn = [values for key, values in numbers.items() if key != "period"]
    ends = None if log else padded(*drawn, [mark.y for mark in marks if isinstance(mark, Rule)])
    title, read = _said(names)
    return Chart(
        title=title,
        read=read,
        x=Axis(label="period", ticks=ticks, ends=(-0.3, len(periods) - 0.7)),
        y=Axis(label=_words(names[0]) if len(names) == 1 else "value", log=log, ends=ends),
        marks=tuple(marks),
        numbers=numbers,
        confidence=result.last.confidence,
    )


def _rules(result: DriftHistory, names: Sequence[str]) -> list[Mark]:
    if names == ["e-value"] and result.states:
        state = result.states[result.periods[-1]]
        # A tenth of alpha is spent on the reference.
        return [Rule(y=len(state.watches) / (0.9 * state.alpha), label="alarm")]
    if names[0].startswith("distance"):
        return [Rule(y=result.last.thresholds.distribution, label="threshold")]
    return []


def _words(name: str) -> str:
    first, _, option = name.partition(" ")
    if first in METRICS:
        title = METRICS[first].title
        return f"{title} ({option})" if option else title
    known = {"observed": "observed share", "probability": "mean predicted probability"}
    return known.get(name, f"mean {NAMES[name]}" if name in NAMES else name)


def _said(names: Sequence[str]) -> tuple[str, str]:
    """Return the title of a view, and how to read it."""
    if names == ["e-value"]:
        return "Evidence of the monitor", (
            "The capital of a gambler who bets that something changed, from 1. Without a change it "
            "reaches the line of alarm with a small probability only, however often it is looked "
            "at."
        )
    if names[0].startswith("distance"):
        read = "The distance of the distributions from the reference; 0 is none, 100 % is all."
        return "Distance from the reference", read
    title = _words(names[0])
    if names[0] in ("total", "aleatoric", "epistemic"):
        title = "Uncertainty"
    if names[0] == "probability" and "observed" in names:
        title = "Predicted and observed"
    return title, "The reference first, then one point for each period; bands are intervals."


def views(result: DriftHistory) -> list[dict[str, Any]]:
    """Return the options with which a page shows the history."""
    known = list(dict.fromkeys(row.quantity for row in result.rows))
    metrics = [name for name in known if name.partition(" ")[0] in METRICS]
    wanted: list[list[str]] = [
        ["probability", "observed"],
        *([name] for name in metrics),
        ["total", "aleatoric", "epistemic"],
        *([name] for name in ("confidence", "prediction", "width", "size")),
        ["distance of predictions", "distance of uncertainty"],
        ["e-value"],
    ]
    kept = [[name for name in some if name in known] for some in wanted]
    return [{"quantity": some} for some in kept if some]


DRIFT = Entry("drift", drift, of=Drift)
DISTRIBUTION = Entry(
    "drift_distribution", drift_distribution, of=Drift,
    applies=lambda result: any(name != "class" for name, _ in result.quantities),
)  # fmt: skip
HISTORY = Entry("history", history, of=DriftHistory, views=views)
