"""What all plots share: colors, line styles, new axes, and text that is only text."""

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..exceptions import OptionError
from ..metrics import METRICS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Okabe and Ito's colors, which people with any kind of color vision can tell apart."""

GRAY = "#595959"
RIGHT, WRONG = PALETTE[0], PALETTE[1]
SEQUENTIAL = "cividis"
"""A color map that is as readable without red and green, and in gray."""

_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_MOST_INSIDE, _LEGEND_INCHES = 3, 2.6
_OURS, _WIDENED = "caveat-figure", "caveat-widened"
_CURVE, _DIAGONAL = "caveat-curve", "caveat-diagonal"


@dataclass(frozen=True)
class Look:
    """How one of several curves in the same axes looks: color, dashes and marker all differ."""

    number: int

    @property
    def color(self) -> str:
        """The color."""
        return PALETTE[self.number % len(PALETTE)]

    @property
    def dashes(self) -> Any:
        """The line style."""
        return _DASHES[self.number % len(_DASHES)]

    @property
    def marker(self) -> str:
        """The shape of points."""
        return _MARKERS[self.number % len(_MARKERS)]


def expect(value: Any, kind: str, name: str = "result") -> Any:
    """Return an argument if it is of the class of this name, or of one that is made from it."""
    if kind not in [base.__name__ for base in type(value).__mro__]:
        raise OptionError(f"{name} must be of type {kind}; got a {type(value).__name__}")
    return value


def new_axes(ax: "Axes | None", size: tuple[float, float] = (5.0, 4.0)) -> "Axes":
    """Return the axes given, or those of a new figure."""
    if ax is not None:
        return expect(ax, "Axes", "ax")
    from matplotlib import pyplot

    figure, made = pyplot.subplots(figsize=size, layout="constrained")
    figure.set_gid(_OURS)
    return made


def next_look(ax: "Axes") -> Look:
    """Return how the next curve in these axes looks."""
    return Look(sum(artist.get_gid() == _CURVE for artist in ax.get_children()))


def mark_curve(artist: Any) -> None:
    """Count an artist as one of the curves of its axes."""
    artist.set_gid(_CURVE)


def line_options(look: Look, label: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return what `Axes.plot` takes: how the curve looks, unless the caller says otherwise."""
    own = {"color": look.color, "linestyle": look.dashes, "linewidth": 1.6, "label": label}
    short = {"c": "color", "ls": "linestyle", "lw": "linewidth"}
    return own | {short.get(key, key): value for key, value in given.items()}


def band(ax: "Axes", x: Any, low: Any, high: Any, color: Any, **options: Any) -> None:
    """Shade between confidence limits; a single point gets a bar."""
    if len(x) == 1:
        ax.vlines(x, low, high, color=color, alpha=0.5, linewidth=4)
    else:
        ax.fill_between(x, low, high, color=color, alpha=0.18, linewidth=0, **options)


def legend(ax: "Axes", place: Any = "best") -> None:
    """Write the legend; a long one goes beside the axes if the figure is ours to widen."""
    figure: Any = ax.figure
    long = len(ax.get_legend_handles_labels()[1]) > _MOST_INSIDE
    if long and figure.get_gid() == _OURS:
        figure.set_figwidth(figure.get_figwidth() + _LEGEND_INCHES)
        figure.set_gid(_WIDENED)
    if long and figure.get_gid() == _WIDENED:
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.01), fontsize="small", frameon=False)
    else:
        ax.legend(loc=place, fontsize="small", framealpha=0.7, edgecolor="none")


def legend_above(ax: "Axes") -> None:
    """Write a short legend above axes that are full from top to bottom and have no title."""
    legend(ax)
    if len(ax.get_legend_handles_labels()[1]) <= _MOST_INSIDE:
        options: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 3}
        ax.legend(fontsize="small", frameon=False, **options)


def grid(ax: "Axes", axis: Literal["both", "x", "y"] = "x") -> None:
    """Draw thin lines behind everything else."""
    ax.grid(axis=axis, color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)


def plain_ticks(ax: "Axes", ends: tuple[float, float]) -> None:
    """Write 0.5, 1, 2 in place of powers of ten on a logarithmic axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    steps = (1.0, 2.0, 5.0) if ends[1] < 100 * ends[0] else (1.0,)
    ax.xaxis.set_major_locator(LogLocator(subs=steps))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def interval(
    ax: "Axes", place: float, of: tuple[float, float], ends: tuple[float, float], color: Any
) -> None:
    """Draw the interval of a ratio between the ends of the axis; an arrow where it goes on."""
    if np.isnan(of[0]):
        return
    low, high = max(of[0], ends[0]), min(of[1], ends[1])
    ax.hlines(place, low, high, color=color, linewidth=1.4)
    for beyond, end, marker in ((of[0] <= 0, low, "<"), (not np.isfinite(of[1]), high, ">")):
        if beyond:
            ax.plot([end], [place], marker=marker, color=color, markersize=4, clip_on=False)


def diagonal(ax: "Axes", end: float, label: str = "perfectly calibrated") -> None:
    """Draw where calibrated predictions lie, once."""
    if any(line.get_gid() == _DIAGONAL for line in ax.lines):
        return
    (line,) = ax.plot([0, end], [0, end], color=GRAY, linewidth=1.0, linestyle=(0, (2, 2)))
    line.set(label=label, gid=_DIAGONAL, zorder=1)


def lengthen_diagonal(ax: "Axes", end: float) -> None:
    """Draw the diagonal of an earlier curve as far as a later one needs it."""
    for line in ax.lines:
        if line.get_gid() == _DIAGONAL:
            line.set_data([0, end], [0, end])


def words(ax: "Axes", figure: Any) -> None:
    """Write title and labels, unless the axes have some."""
    for get, write, text in (
        (ax.get_title, ax.set_title, figure.title),
        (ax.get_xlabel, ax.set_xlabel, figure.x_label),
        (ax.get_ylabel, ax.set_ylabel, figure.y_label),
    ):
        if not get():
            write(plain(text))


def plain(text: Any) -> str:
    """Return text that matplotlib takes for text: no formula between dollars, one line."""
    return " ".join(str(text).split()).replace("$", r"\$")


def legend_label(name: Any, default: str) -> str:
    """Return the label of a curve; matplotlib would leave out one that begins with ``_``."""
    label = plain(default if name is None else name)
    return f" {label}" if label.startswith("_") else label


def wrapped(text: Any, width: int = 26, lines: int = 3) -> str:
    """Return a label of a few short lines."""
    cut = textwrap.wrap(" ".join(str(text).split()), width, max_lines=lines, placeholder=" …")
    return "\n".join(cut).replace("$", r"\$")


def with_value(label: str, figure: Any) -> str:
    """Return a label with the number that sums a curve up."""
    if np.isnan(figure.value):
        return label
    entry = METRICS[figure.metric]
    reading, _, alias = entry.aliases[0].rpartition("_") if entry.aliases else ("", "", "")
    name = f"{reading} {alias.upper()}".strip() or figure.metric.replace("_", " ")
    return f"{label} ({name} {figure.value:.3g})"
