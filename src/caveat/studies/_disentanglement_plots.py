"""Figures of the disentanglement study."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import OptionError
from ..experiments import Curve
from ..experiments.error import TERMS
from ..plots.style import (
    GRAY,
    PALETTE,
    SEQUENTIAL,
    Look,
    band,
    legend_above,
    line_options,
    new_axes,
    plain,
)
from ._disentanglement_conclusions import words_of
from ._disentanglement_paper import METHODS
from ._disentanglement_result import DisentanglementStudy
from ._disentanglement_rows import ERROR, DisentanglementRunRow, distances, per_repeat

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLORS = {"aleatoric": PALETTE[1], "epistemic": PALETTE[0], "score": "#000000"}
_MARKERS = {"aleatoric": "s", "epistemic": "^", "score": "o"}
_LABELS = {"size": "training data used, %", "noise": "labels permuted, %"}
_BAND = 2
"""Standard deviations on either side, as in the paper."""


def draw(study: DisentanglementStudy, kind: str, **options: Any) -> Any:
    """Draw one kind of figure."""
    kinds: dict[str, Any] = {
        "errors": _errors, "size": _size, "noise": _noise, "terms": _terms, "rates": _rates,
        "levels": _levels, "plane": _plane,
    }  # fmt: skip
    if kind not in kinds:
        raise OptionError(f"kind must be one of {', '.join(kinds)}; got {kind!r}")
    return kinds[kind](study, **options)


def kinds_of(study: DisentanglementStudy) -> list[tuple[str, dict[str, Any]]]:
    """Return every figure that the study has: its kind, and the options that choose it."""
    found: list[tuple[str, dict[str, Any]]] = [
        (kind, {}) for kind in ("errors", "size", "noise", "terms")
    ]
    found += [("rates", {})] if study.rates else []
    found += [("levels", {})] if study.matching(source="figure 9") else []
    for figure in dict.fromkeys(space.figure for space in study.pictures):
        found.append(("plane", {"figure": figure}))
    return found


def _errors(study: DisentanglementStudy, *, ax: "Axes | None" = None) -> "Axes":
    """Draw table 2: our means with their intervals, and what is printed."""
    rows = study.matching(source="table 2")
    ax = new_axes(ax, (6.4, 1.4 + 0.36 * len(rows)))
    places = np.arange(len(rows))
    ax.set_yticks(places, [plain(_name(row)) for row in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    for place, row in zip(places, rows, strict=True):
        if not np.isnan(row.mean_low):
            ax.hlines(place, row.mean_low, row.mean_high, color=PALETTE[0], linewidth=1.4)
        if not np.isnan(row.paper_spread):
            low, high = row.paper - row.paper_spread, row.paper + row.paper_spread
            ax.hlines(place + 0.22, low, high, color=PALETTE[1], linewidth=1.4)
    ours: dict[str, Any] = {"color": PALETTE[0], "marker": "o", "linestyle": "none"}
    ax.plot([row.mean for row in rows], places, **ours, label="ours, interval of the mean")
    printed = [(row.paper, i + 0.22) for i, row in enumerate(rows) if row.printed]
    if printed:
        theirs: dict[str, Any] = {"color": PALETTE[1], "marker": "X", "linestyle": "none"}
        ax.plot(*zip(*printed, strict=True), **theirs, label="paper, one spread")
    ax.set_xlim(left=0)
    ax.set_xlabel("uncertainty disentanglement error; 0 is ideal")
    _grid(ax, "x")
    legend_above(ax)
    return ax


def _name(row: DisentanglementRunRow) -> str:
    return f"{METHODS[row.method]}, {words_of(row.decomposition)}"


def _size(study: DisentanglementStudy) -> Any:
    return _curves(study, "size")


def _noise(study: DisentanglementStudy) -> Any:
    return _curves(study, "noise")


def _curves(study: DisentanglementStudy, kind: str) -> Any:
    """Draw accuracy and both parts along a sweep: methods side by side, a row for each split."""
    from matplotlib import pyplot

    methods = list(dict.fromkeys(method for method, _ in study.sweeps))
    splits = list(dict.fromkeys(split for _, split in study.sweeps))
    shape = len(splits), len(methods)
    size = (1.2 + 3.0 * shape[1], 0.8 + 2.5 * shape[0])
    figure, axes = pyplot.subplots(*shape, figsize=size, layout="constrained", squeeze=False)
    for i, split in enumerate(splits):
        for j, method in enumerate(methods):
            right = _curve(axes[i, j], study.sweep(method, split).curve(kind, split))
            axes[i, j].set_title(plain(f"{METHODS[method]}, {words_of(split)}"), fontsize="small")
            axes[i, j].set_ylabel("uncertainty" if j == 0 else "")
            right.set_ylabel("accuracy" if j == shape[1] - 1 else "")
            axes[i, j].set_xlabel(_LABELS[kind] if i == shape[0] - 1 else "")
            if (i, j) == (0, 0):
                lines = [*axes[i, j].get_lines(), *right.get_lines()]
                names = [str(line.get_label()) for line in lines]
                where: dict[str, Any] = {"loc": "outside upper center", "ncols": len(lines)}
                figure.legend(lines, names, fontsize="small", frameon=False, **where)
    return axes


def _curve(ax: "Axes", curve: Curve) -> "Axes":
    """Draw both uncertainties on the left axis and the score on the right, which is returned."""
    x = 100 * curve.levels
    right = ax.twinx()
    for part, axis in (("aleatoric", ax), ("epistemic", ax), ("score", right)):
        values = getattr(curve, part)
        mean = values.mean(axis=0)
        own: dict[str, Any] = {"color": _COLORS[part], "marker": _MARKERS[part], "markersize": 3}
        axis.plot(x, mean, **own, label="accuracy" if part == "score" else part)
        if curve.repeats > 1:
            wide = _BAND * values.std(axis=0, ddof=1)
            # No uncertainty is below none, and no accuracy above all.
            high = np.minimum(mean + wide, 1.0) if part == "score" else mean + wide
            band(axis, x, np.maximum(mean - wide, 0.0), high, _COLORS[part])
    if curve.kind == "size":
        ax.set_xscale("log")
        # From the largest down, those whose labels do not touch.
        ticks: list[float] = []
        for value in x[::-1].tolist():
            if not ticks or ticks[-1] >= 1.5 * value:
                ticks.append(value)
        ax.set_xticks(ticks, [f"{value:g}" for value in ticks])
        ax.minorticks_off()
    ax.set_ylim(bottom=0)
    right.set_ylim(0, 1.05)
    _grid(ax, "both")
    return right


def _terms(study: DisentanglementStudy, *, ax: "Axes | None" = None) -> "Axes":
    """Draw figure 6: a tick for each run, by term and split."""
    splits = list(dict.fromkeys(split for _, split in study.sweeps))
    ax = new_axes(ax, (6.4, 1.4 + 0.42 * len(splits) * len(TERMS)))
    labels = []
    for place, name in enumerate(TERMS):
        for i, split in enumerate(splits):
            at = place * len(splits) + i
            labels.append(f"{TERMS[name].symbol} by {words_of(split)}")
            runs = [
                distances(per_repeat(result, split))[name]
                for (_, key), result in study.sweeps.items()
                if key == split
            ]
            values = np.concatenate(runs)
            look = Look(i)
            ax.vlines(values, at - 0.3, at + 0.3, color=look.color, linewidth=1, alpha=0.7)
            ax.plot([values.mean()], [at], marker="D", markersize=4, color="#000000")
    ax.set_yticks(np.arange(len(labels)), [plain(label) for label in labels])
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_xlim(left=0)
    ax.set_xlabel("error of the correlation; a tick is a run, a diamond the mean")
    _grid(ax, "x")
    return ax


def _rates(study: DisentanglementStudy, *, ax: "Axes | None" = None) -> "Axes":
    """Draw figure 8: error, terms and accuracy of MC-Dropout by its rate."""
    rows = study.matching(source="figure 8")
    if not rows:
        raise OptionError("the study has no rates of dropout; pass dropout_rates=")
    return _lines(rows, "measure", "rate of dropout", new_axes(ax, (6.4, 4.2)))


def _levels(study: DisentanglementStudy, *, ax: "Axes | None" = None) -> "Axes":
    """Draw figure 9: the error of the deep ensemble from fewer levels of both sweeps."""
    rows = study.matching(source="figure 9")
    if not rows:
        raise OptionError("the study has no deep ensemble by information, of which figure 9 is")
    return _lines(rows, "decomposition", "levels of both sweeps", new_axes(ax, (6.4, 4.2)))


def _lines(rows: list[DisentanglementRunRow], by: str, label: str, ax: "Axes") -> "Axes":
    for number, name in enumerate(dict.fromkeys(getattr(row, by) for row in rows)):
        some = [row for row in rows if getattr(row, by) == name]
        x = [float(row.setting) for row in some]
        look = Look(number)
        text = "error (UDE)" if name == ERROR else words_of(name)
        if name in TERMS:
            text = f"{TERMS[name].symbol} {text}"
        own = {"marker": look.marker, "markersize": 4}
        ax.plot(x, [row.mean for row in some], **line_options(look, plain(text), own))
        low, high = (np.array([row.mean + sign * row.spread for row in some]) for sign in (-1, 1))
        if np.isfinite(low).all():
            band(ax, x, low, high, look.color)
    ax.set_xlabel(label)
    ax.set_ylabel("error, one standard deviation")
    _grid(ax, "both")
    legend_above(ax)
    return ax


def _plane(study: DisentanglementStudy, *, figure: str | None = None) -> Any:
    """Draw both uncertainties all over the plane, a column for each level."""
    from matplotlib import pyplot

    known = list(dict.fromkeys(space.figure for space in study.pictures))
    if not known:
        raise OptionError("the study has no pictures; they are of two-moons and triangle")
    figure = known[0] if figure is None else figure
    if figure not in known:
        raise OptionError(f"figure must be one of {', '.join(known)}; got {figure!r}")
    spaces = [space for space in study.pictures if space.figure == figure]
    splits = list(dict.fromkeys(space.decomposition for space in spaces))
    levels = list(dict.fromkeys(space.level for space in spaces))
    rows = [(split, part) for split in splits for part in ("aleatoric", "epistemic")]
    size = (1.4 + 2.4 * len(levels), 0.6 + 2.1 * len(rows))
    _, axes = pyplot.subplots(
        len(rows), len(levels), figsize=size, layout="constrained", squeeze=False,
        sharex=True, sharey=True,
    )  # fmt: skip
    for i, (split, part) in enumerate(rows):
        own = [space for space in spaces if space.decomposition == split]
        # One scale for a row, or levels could not be compared.
        top = max(float(getattr(space, part)[0].max()) for space in own)
        for j, space in enumerate(own):
            ax = axes[i, j]
            shown = ax.pcolormesh(
                space.x1, space.x2, getattr(space, part)[0], vmin=0, vmax=top, cmap=SEQUENTIAL,
                rasterized=True,
            )  # fmt: skip
            for label, face in zip(np.unique(space.y), ("white", "black"), strict=False):
                points = space.X[space.y == label]
                ax.scatter(*points.T, s=5, color=face, edgecolors=GRAY, linewidths=0.3)
            if i == 0:
                what = "of the samples" if space.kind == "size" else "of the labels permuted"
                ax.set_title(f"{space.level:.0%} {what}", fontsize="small")
        axes[i, 0].set_ylabel(f"{part}\n{words_of(split)}", fontsize="small")
        axes[i, 0].figure.colorbar(shown, ax=axes[i, :].tolist())
    return axes


def _grid(ax: "Axes", axis: Any) -> None:
    ax.grid(axis=axis, color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
