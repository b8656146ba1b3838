"""Figures of the fairness study: ratios beside the paper's, consistencies, capacities."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import OptionError
from ..plots.style import (
    GRAY,
    PALETTE,
    Look,
    band,
    legend,
    legend_above,
    line_options,
    new_axes,
    plain,
    wrapped,
)
from ._fairness_paper import THRESHOLD
from ._fairness_result import FairnessRunRow, FairnessStudy, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(study: FairnessStudy, kind: str, **options: Any) -> "Axes":
    """Draw one kind of figure."""
    kinds: dict[str, Any] = {"ratios": _ratios, "consistency": _consistency, "capacity": _capacity}
    if kind not in kinds:
        raise OptionError(f"kind must be one of {', '.join(kinds)}; got {kind!r}")
    return kinds[kind](study, **options)


def _ratios(
    study: FairnessStudy, *, source: str | None = None, ax: "Axes | None" = None
) -> "Axes":  # fmt: skip
    """Draw each ratio: our mean, the range of one more run, and what is printed."""
    rows = [row for row in study.matching(kind="ratio") if row.runs]
    sources = list(dict.fromkeys(row.source for row in rows))
    if source is None:
        rows = [row for row in rows if "expectation" not in row.source]
    elif source in sources:
        rows = [row for row in rows if row.source == source]
    else:
        raise OptionError(f"source must be one of {'; '.join(sources)}; got {source!r}")
    ax = new_axes(ax, (6.4, 1.4 + 0.34 * len(rows)))
    places = np.arange(len(rows))
    names = words([row.measure for row in rows])
    several = len({row.attribute for row in rows}) > 1
    labels = [f"{r.attribute}: {n}" if several else n for r, n in zip(rows, names, strict=True)]
    ax.set_yticks(places, [wrapped(label, 40) for label in labels])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xscale("log")
    ends = (1 - THRESHOLD, 1 + THRESHOLD)
    ax.axvspan(*ends, color=PALETTE[2], alpha=0.12, linewidth=0, label="fair in the paper's sense")
    ax.axvline(1, color=GRAY, linewidth=1, linestyle=(0, (2, 2)), zorder=1)
    low, high = (np.array([getattr(row, end) for row in rows]) for end in ("low", "high"))
    known = np.isfinite(low)
    ax.hlines(places[known], low[known], high[known], color=PALETTE[0], linewidth=1.4)
    ours: dict[str, Any] = {"color": PALETTE[0], "marker": "o", "linestyle": "none"}
    ax.plot([row.mean for row in rows], places, **ours, label=f"mean of {study.runs} runs")
    printed = [(row.paper, i) for i, row in enumerate(rows) if np.isfinite(row.paper)]
    theirs: dict[str, Any] = {"color": PALETTE[1], "marker": "X", "linestyle": "none"}
    ax.plot(*zip(*printed, strict=True), **theirs, label="paper")
    _plain_ticks(ax)
    pair = "minority / majority" if several else f"{rows[0].group} / {rows[0].reference}"
    ax.set_xlabel(plain(f"ratio: {pair}"))
    _grid(ax, "x")
    legend_above(ax)
    return ax


def _consistency(
    study: FairnessStudy,
    *,
    measure: str = "prediction",
    scaled: bool = True,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the consistency of each group and outcome as bars, with the range of one more run."""
    kind = "scaled consistency" if scaled else "consistency"
    rows = [row for row in _some(study, kind, measure) if row.runs]
    ax = new_axes(ax, (5.4, 1.4 + 0.34 * len(rows)))
    places = np.arange(len(rows))
    ax.set_yticks(places, [plain(f"{row.group}, predicted {row.outcome}") for row in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    for outcome, hatch, color in (("0", "", PALETTE[0]), ("1", "//", PALETTE[1])):
        some = [i for i, row in enumerate(rows) if row.outcome == outcome]
        means = [rows[i].mean for i in some]
        look: dict[str, Any] = {"color": color, "hatch": hatch, "edgecolor": "white"}
        ax.barh(places[some], means, **look, label=f"predicted {outcome}")
    low, high = (np.array([getattr(row, end) for row in rows]) for end in ("low", "high"))
    known = np.isfinite(low)
    ax.hlines(places[known], low[known], high[known], color="black", linewidth=1.4)
    ax.axvline(0, color=GRAY, linewidth=0.6)
    unit = ", in units of its spread" if scaled else ""
    (name,) = words([measure])
    ax.set_xlabel(plain(f"consistency of {name}{unit}: more is better"))
    _grid(ax, "x")
    legend_above(ax)
    return ax


def _capacity(
    study: FairnessStudy, *, measure: str = "accuracy", ax: "Axes | None" = None
) -> "Axes":  # fmt: skip
    """Draw a measure of each group against the width of the hidden layer."""
    rows = _some(study, "capacity", measure)
    ax = new_axes(ax)
    for number, group in enumerate(dict.fromkeys((row.attribute, row.group) for row in rows)):
        some = sorted(
            (row for row in rows if (row.attribute, row.group) == group), key=lambda row: row.hidden
        )
        look = Look(number)
        x = [row.hidden for row in some]
        own = {"marker": look.marker, "markersize": 4}
        ax.plot(x, [row.mean for row in some], **line_options(look, plain(group[1]), own))
        low, high = (
            np.array([getattr(row, end) for row in some]) for end in ("mean_low", "mean_high")
        )
        if np.isfinite(low).all():
            band(ax, x, low, high, look.color)
    ax.set_xscale("log")
    widths = sorted({row.hidden for row in rows})
    ax.set_xticks(widths, [str(width) for width in widths])
    ax.minorticks_off()
    ax.set_xlabel("hidden units")
    (name,) = words([measure])
    ax.set_ylabel(name)
    _grid(ax, "both")
    legend(ax)
    return ax


def _some(study: FairnessStudy, kind: str, measure: str) -> list[FairnessRunRow]:
    rows = study.matching(kind=kind)
    if not rows:
        where = "COMPAS, or with widths=" if kind == "capacity" else "COMPAS and Adult"
        raise OptionError(f"the study of {study.dataset} has no {kind}; that is of {where}")
    known = list(dict.fromkeys(row.measure for row in rows))
    if measure not in known:
        raise OptionError(f"measure must be one of {', '.join(known)}; got {measure!r}")
    return [row for row in rows if row.measure == measure]


def _grid(ax: "Axes", axis: Any) -> None:
    ax.grid(axis=axis, color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)


def _plain_ticks(ax: "Axes") -> None:
    """Write 0.5, 1, 2 in place of powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = ax.get_xlim()
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 100 * low else (1.0,)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
