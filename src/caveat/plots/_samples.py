"""Samples in the plane: error against uncertainty, epistemic against aleatoric."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import UnsupportedPredictionError
from ..figures import ErrorHistogram, Split, error_histogram, split
from .style import GRAY, RIGHT, SEQUENTIAL, WRONG, legend, mark_curve, new_axes, plain, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_error_vs_uncertainty(
    result: Any,
    *,
    target: Any = None,
    bins: int = 40,
    ax: "Axes | None" = None,
    name: str | None = None,
    **options: Any,
) -> "Axes":
    """Draw how often each pair of uncertainty and error occurs.

    Parameters
    ----------
    result : Evaluation or ErrorHistogram
        Of a prediction with an uncertainty.
    target : str, optional
        The target, where there are several; by default the first.
    bins : int, default=40
        Cells on each axis.
    ax : Axes, optional
        Where to draw; by default in a new figure.
    name : str, optional
        Put before the title.
    **options
        For `Axes.pcolormesh`.

    Returns
    -------
    Axes
        With a bar for the colors, which are logarithmic.

    Examples
    --------
    >>> import caveat, matplotlib
    >>> from caveat.plots import plot_error_vs_uncertainty
    >>> matplotlib.use("Agg")
    >>> prediction = caveat.Gaussian([0.0, 0.0, 0.0], [1.0, 2.0, 3.0])
    >>> ax = plot_error_vs_uncertainty(caveat.evaluate(prediction, [0.3, -1, 2], resamples=0))
    >>> ax.get_ylabel()
    'absolute error'
    """
    from matplotlib.colors import LogNorm

    figure = result if isinstance(result, ErrorHistogram) else error_histogram(result, target, bins)
    ax = new_axes(ax)
    held = figure.counts[figure.counts > 0]
    own = {"cmap": SEQUENTIAL, "norm": LogNorm(held.min(), max(held.max(), held.min() * 10))}
    if "vmin" in options or "vmax" in options:
        own["norm"] = None  # the caller scales the colors
    mesh = ax.pcolormesh(
        figure.uncertainty_edges,
        figure.error_edges,
        np.ma.masked_equal(figure.counts, 0),
        **{**own, **options},
    )
    mark_curve(mesh)
    if figure.y_label == "absolute error":
        end = min(figure.uncertainty_edges[-1], figure.error_edges[-1])
        dashes = (0, (4, 2))
        ax.plot([0, end], [0, end], color=GRAY, linestyle=dashes, label="error = uncertainty")
        legend(ax, "upper left")
    if name is not None and not ax.get_title():
        ax.set_title(f"{plain(name)}: {figure.title[0].lower()}{figure.title[1:]}")
    words(ax, figure)
    if figure.note:
        ax.annotate(
            figure.note,
            (1, -0.2),
            xycoords="axes fraction",
            ha="right",
            va="top",
            fontsize="x-small",
        )
    bar = ax.figure.colorbar(mesh, ax=ax)
    bar.set_label("samples")
    return ax


def plot_split(
    result: Any,
    *,
    target: Any = None,
    points: int = 2000,
    ax: "Axes | None" = None,
    name: str | None = None,
    **options: Any,
) -> "Axes":
    """Draw what the model does not know against what the data cannot tell, a point a sample.

    Parameters
    ----------
    result : Evaluation or Split
        Of a prediction with an aleatoric and an epistemic part.
    target : str, optional
        The target, where there are several; by default the first.
    points : int, default=2000
        The most samples that are drawn; wrong ones are up to half of them.
    ax : Axes, optional
        Where to draw; by default in a new figure.
    name : str, optional
        Put before the title.
    **options
        For `Axes.scatter`.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import caveat, matplotlib
    >>> from caveat.plots import plot_split
    >>> matplotlib.use("Agg")
    >>> prediction = caveat.Categorical([[[0.9, 0.1], [0.6, 0.4]], [[0.5, 0.5], [0.7, 0.3]]])
    >>> ax = plot_split(caveat.evaluate(prediction, [0, 1], resamples=0))
    >>> ax.get_xlabel()
    'aleatoric uncertainty (entropy, nats)'
    """
    figure = result if isinstance(result, Split) else split(result, target, points)
    if figure is None:
        raise UnsupportedPredictionError(
            "split needs an aleatoric and an epistemic part, which the uncertainty of this "
            f"{type(result.prediction).__name__} does not have"
        )
    ax = new_axes(ax)
    if figure.error_label == "mean absolute error":
        _by_size(ax, figure, options)
    else:
        _right_and_wrong(ax, figure, options)
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    if name is not None and not ax.get_title():
        ax.set_title(f"{plain(name)}: aleatoric and epistemic uncertainty")
    words(ax, figure)
    return ax


def _right_and_wrong(ax: "Axes", figure: Split, options: dict[str, Any]) -> None:
    wrong = figure.error > 0
    for part, label, color, marker, size in (
        (~wrong, "right", RIGHT, "o", 9),
        (wrong, "wrong", WRONG, "x", 16),
    ):
        own = {"color": color, "marker": marker, "s": size, "alpha": 0.6, "linewidths": 0.9}
        x, y = figure.aleatoric[part], figure.epistemic[part]
        mark_curve(ax.scatter(x, y, **{"label": label, **own, **options}))
    legend(ax)


def _by_size(ax: "Axes", figure: Split, options: dict[str, Any]) -> None:
    order = np.argsort(figure.error)  # the largest errors on top
    own = {"c": figure.error[order], "cmap": SEQUENTIAL, "s": 9, "alpha": 0.8, "linewidths": 0}
    points = ax.scatter(figure.aleatoric[order], figure.epistemic[order], **{**own, **options})
    mark_curve(points)
    bar = ax.figure.colorbar(points, ax=ax)
    bar.set_label("absolute error")
