"""Curves that should lie on the diagonal."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..figures import (
    Coverage,
    ErrorCalibration,
    Reliability,
    coverage,
    error_calibration,
    reliability,
)
from .style import (
    Look,
    band,
    diagonal,
    legend,
    legend_label,
    lengthen_diagonal,
    line_options,
    mark_curve,
    new_axes,
    next_look,
    with_value,
    words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DENSITY = "caveat-density"
_SIZE = (4.6, 5.0)


def plot_reliability(
    result: Any,
    kind: str | None = None,
    *,
    label: Any = None,
    ax: "Axes | None" = None,
    name: str | None = None,
    density: bool = True,
    **options: Any,
) -> "Axes":
    """Draw a reliability diagram, with confidence limits and the density of predictions below.

    Parameters
    ----------
    result : Evaluation or Reliability
        Of class probabilities.
    kind : {"class", "confidence", "entropy", "variation"}, optional
        See `caveat.figures.reliability`; by default "class" if there are two, and "confidence" if
        more.
    label : class label, optional
        Which class, for "class"; by default the second of two.
    ax : Axes, optional
        Where to draw; by default in a new figure. Several calls with the same axes overlay curves.
    name : str, optional
        What the curve is called in the legend.
    density : bool, default=True
        Whether to draw below how many predictions there are along the axis.
    **options
        For `Axes.plot`: ``color``, ``linestyle``, ...

    Returns
    -------
    Axes

    Examples
    --------
    >>> import caveat, matplotlib
    >>> from caveat.plots import plot_reliability
    >>> matplotlib.use("Agg")
    >>> prediction = caveat.Categorical.from_binary([0.1, 0.4, 0.8, 0.9])
    >>> ax = plot_reliability(caveat.evaluate(prediction, [0, 1, 1, 1], resamples=0), name="mine")
    >>> ax.get_legend_handles_labels()[1]
    ['perfectly calibrated', 'mine (binary ECE 0.25)']
    """
    figure = result if isinstance(result, Reliability) else reliability(result, kind, label=label)
    ax = new_axes(ax, _SIZE if density else (4.6, 4.4))
    end = float(figure.edges[-1])
    top = 1.0 if end == 1 else max(end, float(figure.high.max()))
    look = _curve(ax, figure, figure.predicted, top, name, options)
    ax.set(xlim=(0, end), ylim=(0, top), aspect="equal")
    words(ax, figure)
    legend(
        ax, "lower right" if end == 1 and figure.kind in ("class", "confidence") else "upper left"
    )
    if density:
        _draw_density(ax, figure, options.get("color", look.color), look)
    return ax


def plot_coverage(
    result: Any,
    *,
    target: Any = None,
    ax: "Axes | None" = None,
    name: str | None = None,
    **options: Any,
) -> "Axes":
    """Draw observed against nominal coverage.

    Parameters
    ----------
    result : Evaluation or Coverage
        Of numbers, or of sets of classes.
    target : str, optional
        The target, where there are several; by default the first.
    ax : Axes, optional
        Where to draw; by default in a new figure.
    name : str, optional
        What the curve is called in the legend.
    **options
        For `Axes.plot`.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import caveat, matplotlib
    >>> from caveat.plots import plot_coverage
    >>> matplotlib.use("Agg")
    >>> prediction = caveat.Gaussian([0.0, 0.0, 0.0], [1.0, 1.0, 1.0])
    >>> ax = plot_coverage(caveat.evaluate(prediction, [0.3, -1.0, 2.0], resamples=0))
    >>> ax.get_xlabel()
    'nominal coverage of the interval'
    """
    figure = result if isinstance(result, Coverage) else coverage(result, target)
    ax = new_axes(ax, (4.6, 4.4))
    if len(figure.nominal) > 20:
        options = {"marker": "", **options}
    _curve(ax, figure, figure.nominal, 1.0, name, options)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    words(ax, figure)
    legend(ax, "upper left")
    return ax


def plot_error_calibration(
    result: Any,
    *,
    target: Any = None,
    ax: "Axes | None" = None,
    name: str | None = None,
    **options: Any,
) -> "Axes":
    """Draw the observed error against the predicted spread.

    Parameters
    ----------
    result : Evaluation or ErrorCalibration
        Of numbers with a spread.
    target : str, optional
        The target, where there are several; by default the first.
    ax : Axes, optional
        Where to draw; by default in a new figure.
    name : str, optional
        What the curve is called in the legend.
    **options
        For `Axes.plot`.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import caveat, matplotlib
    >>> from caveat.plots import plot_error_calibration
    >>> matplotlib.use("Agg")
    >>> prediction = caveat.Gaussian([0.0, 0.0, 0.0], [1.0, 2.0, 3.0])
    >>> ax = plot_error_calibration(caveat.evaluate(prediction, [0.3, -1.0, 2.0], resamples=0))
    >>> ax.get_ylabel()
    'observed: root mean squared error'
    """
    figure = result if isinstance(result, ErrorCalibration) else error_calibration(result, target)
    ax = new_axes(ax, (4.6, 4.4))
    largest = max(np.max(figure.predicted, initial=0), np.max(figure.observed, initial=0))
    end = max(float(largest) * 1.08, *(_end(line) for line in ax.lines), 1e-12)
    lengthen_diagonal(ax, end)
    _curve(ax, figure, figure.predicted, end, name, options)
    ax.set(xlim=(0, end), ylim=(0, end), aspect="equal")
    words(ax, figure)
    legend(ax, "upper left")
    return ax


def _end(line: Any) -> float:
    return float(np.max(line.get_xdata(), initial=0))


def _curve(
    ax: "Axes", figure: Any, x: Any, end: float, name: str | None, options: dict[str, Any]
) -> Look:
    look = next_look(ax)
    if getattr(figure, "kind", "") == "entropy":  # not what calibrated predictions reach
        diagonal(ax, end, "as often wrong as the entropy says")
    else:
        diagonal(ax, end)
    own = {"marker": look.marker, "markersize": 4}
    label = with_value(legend_label(name, "observed"), figure)
    (line,) = ax.plot(x, figure.observed, **line_options(look, label, own | options))
    mark_curve(line)
    band(ax, x, figure.low, figure.high, line.get_color())
    return look


def _draw_density(ax: "Axes", figure: Reliability, color: Any, look: Look) -> None:
    found = [child for child in ax.child_axes if child.get_gid() == _DENSITY]
    inset: Any = found[0] if found else ax.inset_axes((0, -0.2, 1, 0.15))
    if not found:
        inset.set_gid(_DENSITY)
        inset.set(xlim=ax.get_xlim(), yticks=[])
        inset.set_ylabel("samples", fontsize="small", rotation=0, ha="right", va="center")
        for side in ("top", "right", "left"):
            inset.spines[side].set_visible(False)
        ax.tick_params(labelbottom=False)
        ax.xaxis.set_label_coords(0.5, -0.3)
    filled = look.number == 0
    inset.stairs(
        figure.density,
        figure.edges,
        fill=filled,
        color=color,
        alpha=0.5 if filled else 1,
        linestyle="-" if filled else look.dashes,
    )
    inset.set_ylim(0, max(inset.get_ylim()[1] if look.number else 0, figure.density.max() * 1.05))
