"""Curves that tell whether the uncertainty knows where the errors are."""

from typing import TYPE_CHECKING, Any

from ..figures import Confidence, Ecdf, confidence_curve, ecdf
from .style import (
    GRAY,
    RIGHT,
    WRONG,
    band,
    legend,
    legend_label,
    line_options,
    mark_curve,
    new_axes,
    next_look,
    plain,
    with_value,
    words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_confidence_curve(
    result: Any,
    *,
    target: Any = None,
    ax: "Axes | None" = None,
    name: str | None = None,
    **options: Any,
) -> "Axes":
    """Draw the error of what remains as the most uncertain samples are removed.

    The first curve in the axes comes with its oracle (the largest errors are removed) and with
    removal at random.

    Parameters
    ----------
    result : Evaluation or Confidence
        Of a prediction with an uncertainty.
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
    >>> from caveat.plots import plot_confidence_curve
    >>> matplotlib.use("Agg")
    >>> prediction = caveat.Gaussian([0.0, 0.0, 0.0], [1.0, 2.0, 3.0])
    >>> ax = plot_confidence_curve(caveat.evaluate(prediction, [0.3, -1.0, 2.0], resamples=0))
    >>> ax.get_ylabel()
    'mean absolute error'
    """
    figure = result if isinstance(result, Confidence) else confidence_curve(result, target)
    ax = new_axes(ax)
    look = next_look(ax)
    if look.number == 0:
        for values, label, dashes in (
            (figure.random, "random", (5, 3)),
            (figure.oracle, "oracle", (1, 1)),
        ):
            (line,) = ax.plot(figure.removed, values, color=GRAY, linewidth=1.2, label=label)
            line.set_linestyle((0, dashes))
    label = with_value(legend_label(name, "by uncertainty"), figure)
    (line,) = ax.plot(figure.removed, figure.error, **line_options(look, label, options))
    mark_curve(line)
    band(ax, figure.removed, figure.low, figure.high, line.get_color())
    top = max(figure.error.max(), figure.random[0]) * 1.25
    ax.set(xlim=(0, 1), ylim=(0, max(top, ax.get_ylim()[1] if look.number else 0, 1e-12)))
    words(ax, figure)
    legend(ax)
    return ax


def plot_ecdf(
    result: Any,
    *,
    target: Any = None,
    ax: "Axes | None" = None,
    name: str | None = None,
    **options: Any,
) -> "Axes":
    """Draw the cumulative distributions of uncertainty of right and of wrong predictions.

    Parameters
    ----------
    result : Evaluation or Ecdf
        Of a prediction with an uncertainty.
    target : str, optional
        The target, where there are several; by default the first.
    ax : Axes, optional
        Where to draw; by default in a new figure.
    name : str, optional
        Put before the two labels in the legend.
    **options
        For `Axes.step`, of both curves.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import caveat, matplotlib
    >>> from caveat.plots import plot_ecdf
    >>> matplotlib.use("Agg")
    >>> prediction = caveat.Categorical.from_binary([0.1, 0.4, 0.8, 0.9])
    >>> ax = plot_ecdf(caveat.evaluate(prediction, [0, 1, 1, 1], resamples=0))
    >>> ax.get_legend_handles_labels()[1]
    ['right (3)', 'wrong (1)']
    """
    figure = result if isinstance(result, Ecdf) else ecdf(result, target)
    ax = new_axes(ax)
    look = next_look(ax)
    before = "" if name is None else f"{legend_label(name, '')}: "
    for values, number, label, color, width in (
        (figure.right, figure.right_count, figure.right_label, RIGHT, 1.6),
        (figure.wrong, figure.wrong_count, figure.wrong_label, WRONG, 2.6),
    ):
        if not number:
            continue
        own = {"color": color, "linewidth": width, "where": "post"}
        text = f"{before}{plain(label)} ({number:,})"
        (line,) = ax.step(figure.uncertainty, values, **line_options(look, text, own | options))
    mark_curve(line)
    ax.set_ylim(0, 1.02)
    words(ax, figure)
    legend(ax, "lower right")
    return ax
