"""How the error falls as the most uncertain samples are removed."""

from typing import Any

import numpy as np

from ..evaluation import Evaluation
from ..metrics import confidence_curve as metric_curve
from ..resampling.spread import mean_limits, share_limits
from ._nested import kept_means
from ._ordered import Ordered
from ._samples import band_label, headline, of_target
from .chart import Chart
from .entry import ranked
from .marks import Axis, Band, Line


def confidence_curve(evaluation: Evaluation, target: Any = None) -> Chart:
    """Return the error of what remains when the most uncertain samples are removed.

    Returns
    -------
    With Wilson's limits for shares and Gaussian limits for means, for the samples that are kept as
    if they had been fixed before.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Categorical.from_binary([0.5, 0.6, 0.9, 1.0])
    >>> chart = confidence_curve(caveat.evaluate(prediction, [1, 0, 1, 1], resamples=0))
    >>> chart.to_frame().loc[[0, 25, 50], ["removed", "error"]].round(3).values.tolist()
    [[0.0, 0.5], [0.25, 0.333], [0.5, 0.0]]
    """
    result = ENTRY.samples(evaluation, target)
    key = result.ranks
    curve = metric_curve(result.error, key, sample_weight=result.weight)
    ordered = Ordered(key, result.weight)
    spread = kept_means(
        ordered, result.error, (1 - curve.removed[::-1]) * ordered.total, result.cluster
    )
    limits = (share_limits if result.classes else mean_limits)(spread, evaluation.confidence)
    removed, error = curve.removed, curve.error
    low, high = np.minimum(limits[0][::-1], error), np.maximum(limits[1][::-1], error)
    top = max(float(error.max()), float(curve.random[0])) * 1.25 or 1e-12
    label = "share that is wrong" if result.classes else "mean absolute error"
    return Chart(
        title=f"Error without the most uncertain{of_target(evaluation, result)}",
        read="The uncertainty is useful if the line falls quickly: the closer to the dotted line "
        "(nobody can do better), and the further below the dashed one (chance), the better.",
        x=Axis(
            label="share of samples removed, the most uncertain first", ends=(0.0, 1.0),
            percent=True,
        ),
        y=Axis(label=label, ends=(0.0, top)),
        marks=(
            Line(x=removed, y=curve.random, label="random", color="gray", dash="dash", width=1.2),
            Line(x=removed, y=curve.oracle, label="oracle", color="gray", dash="dot", width=1.2),
            Line(
                x=removed, y=error, label="by uncertainty", main=True, marker=None,
                says="{x:.0%} removed, error {y:.4g}",
            ),
            Band(x=removed, low=low, high=high, label=band_label(evaluation), main=True),
        ),
        numbers={
            "removed": removed, "error": error, "low": low, "high": high,
            "oracle": curve.oracle, "random": curve.random,
        },
        headline=headline(evaluation, "confidence_oracle_area_error", result.target),
        confidence=evaluation.confidence,
    )  # fmt: skip


ENTRY = ranked("confidence_curve", confidence_curve, aliases=("confidence",))
