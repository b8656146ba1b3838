"""Charts as matplotlib Axes. No settings of matplotlib are changed."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import OptionError
from ..metrics import METRICS
from . import marks
from .chart import Chart, Headline
from .marks import COLORS, Mark, Style, style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DASHES: dict[str, Any] = {
    "solid": "-",
    "dash": (0, (5, 2)),
    "dot": (0, (1, 1.2)),
    "dashdot": (0, (5, 1.5, 1, 1.5)),
}
_MARKERS = {
    "circle": "o",
    "square": "s",
    "triangle": "^",
    "diamond": "D",
    "down": "v",
    "plus": "P",
    "cross": "X",
    "x": "x",
    "bar": "|",
}
_HATCHES = ("", "//", "..", "xx", "\\\\", "++")
_SEQUENTIAL = "cividis_r"  # more is darker; readable without red and green, and in gray
_CURVE, _DIAGONAL, _OURS, _WIDENED = (
    f"caveat-{name}" for name in ("curve", "diagonal", "figure", "widened")
)
_MOST_INSIDE, _LEGEND_INCHES, _LINE_INCHES = 3, 2.6, 0.17


def draw(chart: Chart, ax: "Axes | None", name: str | None, options: dict[str, Any]) -> "Axes":
    """Draw one chart, beside those that the axes have already."""
    ax = _axes(chart, ax)
    _Drawing(chart, ax, name, options).draw()
    return ax


def draw_panels(charts: Sequence[Chart], axes: Any, options: dict[str, Any]) -> Any:
    """Draw charts side by side, with one legend and the same vertical range."""
    from matplotlib import pyplot

    if axes is None:
        size = (1.5 + 4.5 * len(charts), 4.0)
        axes = pyplot.subplots(1, len(charts), figsize=size, layout="constrained", sharey=True)[1]
    axes = np.asarray(axes, dtype=object).ravel()
    if len(axes) != len(charts):
        raise OptionError(f"ax must be {len(charts)} Axes; got {len(axes)}")
    for place, chart in zip(axes, charts, strict=True):
        draw(chart, place, None, dict(options))
    for place in axes[:-1]:
        place.get_legend().remove()
    for place in axes[1:]:
        place.set_ylabel("")
    axes[-1].legend(loc="upper left", bbox_to_anchor=(1.01, 1.01), fontsize="small", frameon=False)
    return axes


def plain(text: Any) -> str:
    """Return text that matplotlib takes for text: no formula between dollars, one line."""
    return " ".join(str(text).split()).replace("$", r"\$")


def _legend_label(text: Any) -> str:
    """Return a label; matplotlib would leave out one that begins with ``_``."""
    label = plain(text)
    return f" {label}" if label.startswith("_") else label


def _with_value(label: str, headline: Headline | None) -> str:
    """Return a label with the number that sums a curve up."""
    if headline is None or np.isnan(headline.value):
        return label
    entry = METRICS[headline.metric]
    reading, _, alias = entry.aliases[0].rpartition("_") if entry.aliases else ("", "", "")
    name = f"{reading} {alias.upper()}".strip() or headline.metric.replace("_", " ")
    return f"{label} ({name} {headline.value:.3g})"


def has_chart(ax: Any) -> bool:
    """Whether axes hold a chart already."""
    return any(artist.get_gid() == _CURVE for artist in getattr(ax, "get_children", list)())


def _axes(chart: Chart, ax: "Axes | None") -> "Axes":
    if ax is not None:
        if "Axes" not in [base.__name__ for base in type(ax).__mro__]:
            raise OptionError(f"ax must be of type Axes; got a {type(ax).__name__}")
        return ax
    from matplotlib import pyplot

    if chart.y.rows:
        parts = [part for _, tick in chart.y.ticks for part in tick.split("\n")]
        longest = max(map(len, parts), default=0)
        size = (4.6 + 0.085 * longest, 1.6 + _LINE_INCHES * _lines(chart))
    elif chart.square:
        size = (4.6, 4.6)
    else:
        size = (5.0, 4.0)
    figure, made = pyplot.subplots(figsize=size, layout="constrained")
    figure.set_gid(_OURS)
    return made


def _is_part(mark: Mark) -> bool:
    """Whether a mark only accompanies the curve."""
    return isinstance(mark, marks.Band | marks.Strip | marks.Rule)


def _lines(chart: Chart) -> float:
    low, high = chart.y.ends or (0.0, 1.0)
    return abs(high - low)


class _Drawing:
    """One chart in one Axes: `draw` goes through the marks, then axes, words and legend."""

    def __init__(self, chart: Chart, ax: "Axes", name: str | None, options: dict[str, Any]) -> None:
        self.chart, self.ax, self.name = chart, ax, name
        short = {"c": "color", "ls": "linestyle", "lw": "linewidth"}
        self.options = {short.get(key, key): value for key, value in options.items()}
        self.before = sum(artist.get_gid() == _CURVE for artist in ax.get_children())
        self.styled = 0
        self.shift = 0.4 * self.before if chart.y.rows else 0.0

    def draw(self) -> None:
        """Draw everything."""
        last = None
        for mark in self.chart.marks:
            drawer = getattr(self, f"_{type(mark).__name__.lower()}", None)
            if drawer is not None and (mark.main or not self.before):
                artist = drawer(mark)
                last = artist if mark.main and not _is_part(mark) else last
        if last is not None and not self.styled:
            last.set_gid(_CURVE)
        self._scales()
        self._words()
        if self.chart.legend:
            self._legend()

    def _style(self, mark: Mark) -> Style:
        """Return the style of a mark; a main mark without a color has the next one."""
        style = style_of(self.before + self.styled)
        return Style(mark.color, style.dash, style.marker) if mark.color else style

    def _own(self, mark: Mark) -> dict[str, Any]:
        """Return what the caller wants of the main marks, and their label."""
        if not mark.main:
            return {"label": _legend_label(mark.label)} if mark.label else {}
        label = mark.label
        alone = sum(m.main and bool(m.label) and not _is_part(m) for m in self.chart.marks) < 2
        if self.name is not None:
            label = str(self.name) if alone else f"{self.name}: {label}"
        if label:
            label = _legend_label(label)
            label = _with_value(label, self.chart.headline) if alone else label
        return ({"label": label} if label else {}) | self.options

    def _drawn(self, mark: Mark, artist: Any) -> Any:
        """Count a main mark that took a style of its own."""
        if mark.main and not mark.color:
            self.styled += 1
            artist.set_gid(_CURVE)
        return artist

    def _line(self, mark: marks.Line) -> Any:
        style = self._style(mark)
        own: dict[str, Any] = {
            "color": COLORS[style.color],
            "linestyle": _DASHES[mark.dash or (style.dash if mark.main else "solid")],
            "linewidth": mark.width,
        }
        if mark.marker is not None and (mark.main or mark.marker):
            own |= {"marker": _MARKERS[mark.marker or style.marker], "markersize": 4}
        if mark.step:
            own |= {"drawstyle": "steps-post", "marker": ""}
        if mark.opacity < 1:
            own["alpha"] = mark.opacity
        (line,) = self.ax.plot(mark.x, mark.y, **(own | self._own(mark)))
        self._last_color = line.get_color()
        return self._drawn(mark, line)

    def _band(self, mark: marks.Band) -> Any:
        color = COLORS[mark.color] if mark.color else getattr(self, "_last_color", COLORS["blue"])
        if len(mark.x) == 1:
            return self.ax.vlines(
                mark.x, mark.low, mark.high, color=color, alpha=0.5, linewidth=4
            )  # fmt: skip
        return self.ax.fill_between(
            mark.x, mark.low, mark.high, color=color, linewidth=0,
            alpha=0.18 if mark.opacity is None else mark.opacity,
        )  # fmt: skip

    def _points(self, mark: marks.Points) -> Any:
        style = self._style(mark)
        x, y = (np.asarray(part, dtype=np.float64) for part in (mark.x, mark.y))
        y = y + self.shift
        color = self.options.get("color", COLORS[style.color]) if mark.main else COLORS[style.color]
        artist = self._intervals(mark, x, y, color)
        if mark.marker is None:
            return artist
        own: dict[str, Any] = {"marker": _MARKERS[mark.marker or style.marker]}
        if mark.values is not None:
            order = np.argsort(mark.values)  # the largest on top
            own |= {"c": np.asarray(mark.values)[order], "cmap": _SEQUENTIAL, "s": 9}
            artist = self.ax.scatter(x[order], y[order], **(own | self._own(mark)))
            self.ax.figure.colorbar(artist, ax=self.ax).set_label(plain(mark.scale))
        elif len(x) > 200 or np.ndim(mark.faint):
            faint = np.where(mark.faint, 0.45, 1.0) if np.ndim(mark.faint) else 0.6
            own |= {"color": color, "s": mark.size**2, "alpha": faint, "linewidths": 0.9}
            artist = self.ax.scatter(x, y, **(own | self._own(mark)))
        else:
            own |= {"color": color, "linestyle": "none", "markersize": mark.size}
            (artist,) = self.ax.plot(x, y, **(own | self._own(mark)))
        return self._drawn(mark, artist)

    def _intervals(self, mark: marks.Points | marks.Bars, x: Any, y: Any, color: Any) -> Any:
        """Draw the intervals of points; an arrow stands for an end beyond the axis."""
        artist, width = None, getattr(mark, "width", 1.4)
        if mark.low is not None:
            low, high = (np.asarray(end, dtype=np.float64) for end in (mark.low, mark.high))
            ends = self.chart.x.ends or (-np.inf, np.inf)
            some = ~np.isnan(low)
            at = np.maximum(low[some], ends[0]), np.minimum(high[some], ends[1])
            label: dict[str, Any] = (
                {"label": _legend_label(mark.label)} if getattr(mark, "marker", "") is None else {}
            )
            artist = self.ax.hlines(y[some], *at, color=color, linewidth=width, **label)
            for beyond, place, marker in (
                (low < ends[0], ends[0], "<"),
                (high > ends[1], ends[1], ">"),
            ):
                if (beyond & some).any():
                    rows = y[beyond & some]
                    options: dict[str, Any] = {"color": color, "markersize": 4, "clip_on": False}
                    self.ax.plot(np.full(len(rows), place), rows, marker, **options)
        if isinstance(mark, marks.Points) and mark.y_low is not None:
            artist = self.ax.vlines(
                x, mark.y_low, mark.y_high, color=color, linewidth=width, alpha=0.5
            )  # fmt: skip
        return artist

    def _bars(self, mark: marks.Bars) -> Any:
        style = self._style(mark)
        own: dict[str, Any] = {
            "color": COLORS[style.color],
            "hatch": _HATCHES[mark.hatch % len(_HATCHES)],
            "edgecolor": "white",
            "height": mark.height,
        }
        y = np.asarray(mark.y, dtype=np.float64)
        bars = self.ax.barh(y, mark.x, **(own | self._own(mark)))
        self._intervals(mark, mark.x, y, "black")
        return self._drawn(mark, bars[0])

    def _heat(self, mark: marks.Heat) -> Any:
        from matplotlib.colors import LogNorm

        values = np.ma.masked_invalid(np.asarray(mark.values, dtype=np.float64))
        own: dict[str, Any] = {"cmap": _SEQUENTIAL}
        if mark.log and not {"vmin", "vmax"} & set(self.options):
            own["norm"] = LogNorm(values.min(), max(values.max(), values.min() * 10))
        mesh = self.ax.pcolormesh(mark.x, mark.y, values, **(own | self.options))
        self.ax.figure.colorbar(mesh, ax=self.ax).set_label(plain(mark.scale))
        return mesh

    def _image(self, mark: marks.Image) -> Any:
        return self.ax.imshow(
            mark.values, extent=(*mark.x, *mark.y), cmap="cividis", aspect="auto"
        )  # fmt: skip

    def _rule(self, mark: marks.Rule) -> Any:
        first = not self.before
        color = COLORS[mark.color or "gray"] if first else COLORS[self._style(mark).color]
        own: dict[str, Any] = {"color": color, "linewidth": 1, "linestyle": _DASHES[mark.dash]}
        own |= {"label": _legend_label(mark.label)} if mark.label and first else {}
        if mark.x is not None:
            return self.ax.axvline(mark.x, zorder=1, **own)
        if mark.y is not None:
            return self.ax.axhline(mark.y, zorder=1, **own)
        ends: Any = [0.0, mark.end]
        (line,) = self.ax.plot(ends, ends, zorder=1, **own)
        line.set_gid(_DIAGONAL)
        return line

    def _span(self, mark: marks.Span) -> Any:
        return self.ax.axvspan(
            mark.low, mark.high, color=COLORS[mark.color], alpha=0.12, linewidth=0,
            label=_legend_label(mark.label),
        )  # fmt: skip

    def _strip(self, mark: marks.Strip) -> Any:
        color = getattr(self, "_last_color", COLORS["gray"])
        heights = np.asarray(mark.heights) / max(np.max(mark.heights), 1e-300)
        return self.ax.stairs(
            mark.bottom + (mark.top - mark.bottom) * heights, mark.edges,
            baseline=mark.bottom, fill=not self.before, color=color, alpha=0.5,
        )  # fmt: skip

    def _text(self, mark: marks.Text) -> Any:
        color = COLORS[mark.color or "gray"]
        return self.ax.text(
            mark.x, mark.y, f" {plain(mark.text)}", va="center", fontsize="small", color=color
        )  # fmt: skip

    def _scales(self) -> None:
        chart, ax = self.chart, self.ax
        for axis, mark in ((chart.x, "x"), (chart.y, "y")):
            limits, ends = getattr(ax, f"get_{mark}lim"), axis.ends
            if axis.log:
                getattr(ax, f"set_{mark}scale")("log")
            if ends is not None:
                wide = (min(*ends, *limits()), max(*ends, *limits())) if self.before else ends
                if axis.rows:  # from the bottom, where shifted rows need room, to the top
                    wide = max(*wide, ends[0] + self.shift - 0.5), min(wide)
                getattr(ax, f"set_{mark}lim")(wide)
            if axis.ticks and not self.before:
                positions, labels = zip(*axis.ticks, strict=True)
                texts = ["\n".join(plain(line) for line in text.split("\n")) for text in labels]
                size = {"fontsize": self._row_size()} if axis.rows else {}
                getattr(ax, f"set_{mark}ticks")(positions, texts, **size)
            if axis.log and axis.ticks:
                from matplotlib.ticker import NullLocator

                getattr(ax, f"{mark}axis").set_minor_locator(NullLocator())
            if axis.percent:
                from matplotlib.ticker import PercentFormatter

                getattr(ax, f"{mark}axis").set_major_formatter(PercentFormatter(1, decimals=0))
        if any(isinstance(mark, marks.Strip) for mark in chart.marks):
            from matplotlib.ticker import MaxNLocator

            top = ax.get_ylim()[1]
            ax.set_yticks([t for t in MaxNLocator(6).tick_values(0, top) if 0 <= t <= top])
        if chart.square:
            ax.set_aspect("equal")
            end = ax.get_xlim()[1]
            for line in ax.lines:
                if line.get_gid() == _DIAGONAL:
                    line.set_data([0, end], [0, end])
        if not chart.frame:
            ax.set(xticks=[], yticks=[], frame_on=False)
        elif not any(isinstance(mark, marks.Heat | marks.Image) for mark in chart.marks):
            ax.grid(axis="x" if chart.y.rows else "both", color="#e2e2e2", linewidth=0.6)
            ax.set_axisbelow(True)

    def _row_size(self) -> float:
        """Return a size of text at which the labels of rows fit the height of the axes."""
        figure: Any = self.ax.figure
        points = 72 * figure.get_figheight() * self.ax.get_position().height
        return float(min(10.0, max(3.0, 0.8 * points / _lines(self.chart))))

    def _words(self) -> None:
        chart, ax = self.chart, self.ax
        note = "\n".join(textwrap.wrap(plain(chart.note), 60))
        below = plain(chart.x.label) + (f"\n{note}" if note else "")
        title = plain(chart.title)
        if self.name is not None and any(isinstance(mark, marks.Heat) for mark in chart.marks):
            title = f"{plain(self.name)}: {title[0].lower()}{title[1:]}"
        lines = -(-len(self._labels()) // 3) if chart.y.rows and not self._beside() else 0
        above: dict[str, Any] = {"pad": 8 + 15 * lines} if lines else {}
        for get, write, text in (
            (ax.get_title, lambda text: ax.set_title(text, fontsize="medium", **above), title),
            (ax.get_xlabel, ax.set_xlabel, below),
            (ax.get_ylabel, ax.set_ylabel, plain(chart.y.label)),
        ):
            if get() in ("", text):  # again, as a longer legend moves the title up
                write(text)

    def _labels(self) -> list[str]:
        return self.ax.get_legend_handles_labels()[1]

    def _beside(self) -> bool:
        """Whether the legend goes beside the axes."""
        long = len(self._labels()) > _MOST_INSIDE
        return long and self.ax.figure.get_gid() in (_OURS, _WIDENED)

    def _legend(self) -> None:
        """Write the legend; a long one goes beside the axes if the figure is ours to widen."""
        ax, figure = self.ax, self.ax.figure
        if not self._labels():
            return
        if self._beside():
            if figure.get_gid() == _OURS:
                width = figure.get_figwidth() + _LEGEND_INCHES  # type: ignore[union-attr]
                figure.set_figwidth(width)  # type: ignore[union-attr]
                figure.set_gid(_WIDENED)
            where: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.01)}
            ax.legend(fontsize="small", frameon=False, **where)
        elif self.chart.y.rows:
            where = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 3}
            ax.legend(fontsize="small", frameon=False, **where)
        else:
            ax.legend(fontsize="small", framealpha=0.7, edgecolor="none")
