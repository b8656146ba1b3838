"""What the two parts of the uncertainty do when data are taken away, and when noise is added."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import OptionError
from ..experiments import Disentanglement
from ..experiments.error import TERMS
from ..experiments.evidence import TOLERANCE
from ..experiments.panels import Panel, panels, y_range
from .style import (
    GRAY,
    PALETTE,
    band,
    expect,
    grid,
    legend_label,
    line_options,
    mark_curve,
    new_axes,
    next_look,
    plain,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLORS = {"score": "#000000", "aleatoric": PALETTE[1], "epistemic": PALETTE[0]}
_MARKERS = {"score": "o", "aleatoric": "s", "epistemic": "^"}
_HATCHES = ("", "//", "..", "xx", "\\\\", "++")
_TERMS = {
    "aleatoric_consistency": "aleatoric follows noise",
    "epistemic_consistency": "epistemic follows missing data",
    "aleatoric_orthogonality": "aleatoric unmoved by the amount of data",
    "epistemic_orthogonality": "epistemic unmoved by noise",
}


def plot_disentanglement(
    result: Disentanglement,
    *,
    decomposition: str | None = None,
    ax: Any = None,
    **options: Any,
) -> Any:
    """Draw score, aleatoric and epistemic uncertainty along both sweeps, side by side.

    Parameters
    ----------
    result : Disentanglement
        What `caveat.disentanglement_error` returned.
    decomposition : str, optional
        By default the first.
    ax : two Axes, optional
        For the training size and for the noise; by default those of a new figure.
    **options
        For `Axes.plot`, of all lines.

    Returns
    -------
    ndarray of two Axes
        All in percent: the score as it is, each uncertainty of its largest mean in either sweep,
        which the legend gives. Bands are two standard deviations over repeats. The title says what
        an ideal split would do.

    Examples
    --------
    >>> import matplotlib
    >>> from caveat.experiments import Curve, Disentanglement
    >>> from caveat.plots import plot_disentanglement
    >>> matplotlib.use("Agg")
    >>> score = [[0.5, 0.7, 0.9]]
    >>> size = Curve("size", "information", [0.1, 0.5, 1], score, [[1, 1, 1]], [[5, 3, 1]])
    >>> noise = Curve("noise", "information", [0, 0.5, 1], score, [[5, 3, 1]], [[1, 1, 1]])
    >>> result = Disentanglement(curves=(size, noise))
    >>> left, right = plot_disentanglement(result)
    >>> left.get_xlabel(), right.get_xlabel()
    ('training data used, %', 'labels permuted, %')
    """
    expect(result, "Disentanglement")
    both = panels(result, decomposition)
    axes = _pair(ax)
    for place, panel in zip(axes, both, strict=True):
        _draw(place, panel, options)
    axes[0].set_ylabel(plain(both[0].y_label).replace("; ", "\n"))
    for place in axes:
        place.set_ylim(y_range(both))
    # One legend is enough: both panels have the same three lines.
    axes[1].legend(
        loc="upper left",
        bbox_to_anchor=(1.01, 1.01),
        fontsize="small",
        frameon=False,
    )
    return axes


def plot_disentanglement_terms(
    result: Disentanglement,
    *,
    decomposition: str | None = None,
    correlation: str = "pearson",
    weights: tuple[float, float, float, float] = (1, 1, 1, 1),
    ax: "Axes | None" = None,
    **options: Any,
) -> "Axes":
    """Draw the four errors and their mean, the UDE, as bars with intervals.

    Parameters
    ----------
    result : Disentanglement
        What `caveat.disentanglement_error` returned.
    decomposition : str, optional
        By default all of them, side by side.
    correlation : {"pearson", "spearman"}, default="pearson"
    weights : four numbers, default=(1, 1, 1, 1)
        Of the terms in the UDE.
    ax : Axes, optional
        Where to draw; by default in a new figure.
    **options
        For `Axes.barh`.

    Returns
    -------
    Axes
        0 is ideal; up to the dashed line a condition counts as met.

    Examples
    --------
    >>> import matplotlib
    >>> from caveat.experiments import Curve, Disentanglement
    >>> from caveat.plots import plot_disentanglement_terms
    >>> matplotlib.use("Agg")
    >>> score = [[0.5, 0.7, 0.9]]
    >>> size = Curve("size", "information", [0.1, 0.5, 1], score, [[1, 1, 1]], [[5, 3, 1]])
    >>> noise = Curve("noise", "information", [0, 0.5, 1], score, [[5, 3, 1]], [[1, 1, 1]])
    >>> result = Disentanglement(curves=(size, noise))
    >>> ax = plot_disentanglement_terms(result)
    >>> ax.get_yticklabels()[-1].get_text()
    'UDE, the mean of the four'
    """
    expect(result, "Disentanglement")
    names = result.decompositions if decomposition is None else (decomposition,)
    errors = [result.error(correlation, weights, decomposition=name) for name in names]
    labels = [f"{text} ({TERMS[name].symbol})" for name, text in _TERMS.items()]
    labels.append("UDE, the mean of the four" if len({*weights}) == 1 else "UDE, weighted")
    ax = new_axes(ax, (6.6, 1.5 + 0.9 * len(labels) * (0.4 + 0.2 * len(names))))
    places, height = np.arange(len(labels), dtype=np.float64), 0.8 / len(names)
    ax.set_yticks(places, [wrapped(label, width=30) for label in labels])
    ax.set_ylim(len(labels) - 0.5, -0.5)
    for number, (name, error) in enumerate(zip(names, errors, strict=True)):
        rows: list[Any] = [*(error.terms[term] for term in _TERMS), error]
        look = next_look(ax)
        own: dict[str, Any] = {
            "color": look.color,
            "hatch": _HATCHES[look.number % len(_HATCHES)],
            "edgecolor": "white",
            "height": height,
            "label": legend_label(name.replace("_", " "), ""),
        }
        at = places + height * (number - (len(names) - 1) / 2)
        bars = ax.barh(at, [row.value for row in rows], **{**own, **options})
        mark_curve(bars[0])
        for place, row in zip(at, rows, strict=True):
            if np.isfinite([row.low, row.high]).all():
                ax.hlines(place, row.low, row.high, color="#000000", linewidth=1.4)
    ax.axvline(TOLERANCE, color=GRAY, linewidth=1, linestyle=(0, (3, 2)), label="counts as met")
    ends = [getattr(t, "high", 0) for e in errors for t in (*e.terms.values(), e)]
    ax.set_xlim(0, max(1.0, 1.05 * float(np.nanmax([*ends, 0]))))
    ax.set_xlabel("error of the correlation; 0 is ideal")
    grid(ax)
    ax.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=3, fontsize="small", frameon=False
    )  # fmt: skip
    return ax


def _pair(ax: Any) -> Any:
    if ax is None:
        from matplotlib import pyplot

        size = (10.5, 4.0)
        return pyplot.subplots(1, 2, figsize=size, layout="constrained", sharey=True)[1]
    pair = np.asarray(ax, dtype=object).ravel()
    if len(pair) != 2:
        raise OptionError(f"ax must be two Axes, for size and noise; got {len(pair)}")
    return pair


def _draw(ax: "Axes", panel: Panel, options: dict[str, Any]) -> None:
    for line in panel.lines:
        look = next_look(ax)
        own = {"color": _COLORS[line.name], "marker": _MARKERS[line.name], "markersize": 4}
        whole = "" if line.name == "score" else f" (100 % = {line.whole:.3g})"
        label = legend_label(f"{line.label}{whole}", "")
        (drawn,) = ax.plot(panel.x, line.mean, **line_options(look, label, {**own, **options}))
        mark_curve(drawn)
        band(ax, panel.x, line.low, line.high, drawn.get_color())
    if panel.logarithmic:
        from matplotlib.ticker import NullFormatter, NullLocator

        ax.set_xscale("log")
        ticks = panel.ticks
        ax.set_xticks(ticks, [f"{value:g}" for value in ticks])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel(plain(panel.x_label))
    ax.set_title(f"{plain(panel.title)}\n{plain(panel.ideal)}", fontsize="medium")
    ax.grid(color="#e6e6e6", linewidth=0.6)
    ax.set_axisbelow(True)
