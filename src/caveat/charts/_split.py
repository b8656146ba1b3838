"""What the data cannot tell against what the model does not know."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from ..evaluation import Evaluation
from ..exceptions import OptionError
from ..metrics._inputs import count
from ._nested import kept_means
from ._ordered import Ordered
from ._samples import Samples, known, of_target, split_parts
from .chart import Chart
from .entry import Entry
from .marks import Axis, Points

_READ = (
    "Each mark is a sample. To the right, the data cannot tell (aleatoric: a better measurement "
    "may help); to the top, the model does not know (epistemic: more data of this kind, or an "
    "expert, may help)."
)


class Deferral(NamedTuple):
    """The error that is left as the most uncertain samples are deferred.

    Attributes
    ----------
    deferred : ndarray of shape (100,)
        Shares of all samples: 0, 0.01, ..., 0.99.
    error : ndarray of shape (100,)
        The error of the others.
    threshold : ndarray of shape (100,)
        The largest uncertainty that is kept.
    """

    deferred: FloatArray
    error: FloatArray
    threshold: FloatArray


def deferral(evaluation: Evaluation, target: Any = None) -> Deferral:
    """Return the error of the samples that are kept, for each share that is deferred.

    Parameters
    ----------
    evaluation : Evaluation
        The evaluation of a prediction with an uncertainty.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Categorical.from_binary([0.5, 0.6, 0.9, 1.0])
    >>> result = caveat.evaluate(prediction, [1, 0, 1, 1], resamples=0)
    >>> caveat.charts.deferral(result).error[[0, 25, 50]].round(3)
    array([0.5  , 0.333, 0.   ])
    """
    from ._confidence import ENTRY as RANKED

    result = RANKED.samples(evaluation, target, "deferral")
    ordered = Ordered(result.ranks, result.weight)
    kept = np.arange(1, 101) / 100 * ordered.total
    errors = kept_means(ordered, result.error, kept, None).mean[::-1]
    thresholds = np.array([ordered.at(amount) for amount in kept[::-1]])
    return Deferral(np.arange(100) / 100, errors, thresholds)


def split(
    evaluation: Evaluation, target: Any = None, points: int = 2000, actions: Any = None
) -> Chart:
    """Return the two parts of the uncertainty against each other, a point for each sample.

    Parameters
    ----------
    points : int, default=2000
        The largest number of samples shown. Wrong ones (of numbers: the tenth with the largest
        errors) are up to half of them, so that they can be seen.
    actions : array-like of str, optional
        What a policy does with each sample; its name then decides color and marker.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Gaussian.from_members([[0.0, 1.0], [0.0, 3.0]], variance=1.0)
    >>> chart = split(caveat.evaluate(prediction, [0.0, 4.0], resamples=0))
    >>> chart.numbers["aleatoric"], chart.numbers["epistemic"]
    (array([1., 1.]), array([0., 1.]))
    """
    points = count(points, "points")
    whole, evaluation = evaluation, known(evaluation, target)
    if actions is not None:
        taken = _known_actions(actions, len(whole.ids))[np.isin(whole.ids, evaluation.ids)]
    result = ENTRY.samples(evaluation, target)
    parts = split_parts(evaluation, result)
    assert parts is not None
    rows = _shown(result, parts, points)
    unit = "entropy, nats" if result.classes else "variance"
    numbers = {
        "id": evaluation.ids[rows].astype(str),
        "aleatoric": parts[0][rows],
        "epistemic": parts[1][rows],
        "uncertainty": result.ranks[rows],
        "error": result.error[rows],
    }
    if actions is not None:
        numbers["action"] = taken[rows]
    read, marks = _marks(numbers, result.classes)
    return Chart(
        title=f"Aleatoric and epistemic uncertainty{of_target(evaluation, result)}",
        read=f"{_READ} {read}",
        x=Axis(label=f"aleatoric uncertainty ({unit})", ends=_from_zero(numbers["aleatoric"])),
        y=Axis(label=f"epistemic uncertainty ({unit})", ends=_from_zero(numbers["epistemic"])),
        marks=marks,
        numbers=numbers,
        note=_subset(len(rows), len(evaluation.ids), result.classes),
        confidence=evaluation.confidence,
    )


_ACTIONS = {
    "accept": ("blue", "circle"),
    "ask an expert": ("purple", "diamond"),
    "measure again": ("yellow", "square"),
    "defer": ("gray", "square"),
}


def _known_actions(actions: Any, samples: int) -> np.ndarray:
    known = np.asarray(actions)
    if known.shape != (samples,) or not set(known.tolist()) <= set(_ACTIONS):
        raise OptionError(
            f"actions must be {samples} of {', '.join(map(repr, _ACTIONS))}; got {actions!r}"
        )
    return known


def _marks(numbers: dict[str, Any], classes: bool) -> tuple[str, tuple[Points, ...]]:
    """Return how to read the marks, and the marks."""

    def some(rows: Any, **options: Any) -> Points:
        return Points(
            x=numbers["aleatoric"][rows],
            y=numbers["epistemic"][rows],
            text=numbers["id"][rows].tolist(),
            keys=None if "action" in numbers else numbers["uncertainty"][rows],
            main=True,
            says="sample {text}: aleatoric {x:.3g}, epistemic {y:.3g}",
            **options,
        )

    if "action" in numbers:
        return "Color and marker say what the policy does with it.", tuple(
            some(numbers["action"] == name, label=name, color=color, marker=marker, size=4)
            for name, (color, marker) in _ACTIONS.items()
        )
    if not classes:
        shades = {"values": numbers["error"], "scale": "absolute error"}
        every = some(slice(None), color="blue", marker="circle", size=4, **shades)
        return "The stronger the color, the larger the error.", (every,)
    wrong = numbers["error"] > 0
    return "Wrong predictions are crosses.", (
        some(~wrong, label="right", color="blue", marker="circle", size=4),
        some(wrong, label="wrong", color="orange", marker="x", size=4),
    )


def _from_zero(values: FloatArray) -> tuple[float, float]:
    return 0.0, 1.04 * float(np.max(values, initial=0.0)) or 1.0


def _subset(shown: int, samples: int, classes: bool) -> str:
    if shown == samples:
        return ""
    which = "wrong ones" if classes else "large errors"
    return f"{shown:,} of {samples:,} samples are shown, {which} more often than they occur."


def _shown(result: Samples, parts: tuple[FloatArray, FloatArray], points: int) -> NDArray[np.intp]:
    """Return the rows to show, in their order: all, or a random half of wrong ones and others."""
    finite = np.isfinite(parts[0]) & np.isfinite(parts[1]) & result.counted
    rows = np.flatnonzero(finite)
    if len(rows) <= points:
        return rows
    error = result.error[rows]
    limit = 0.0 if result.classes else float(np.quantile(error, 0.9))
    wrong, others = rows[error > limit], rows[error <= limit]
    rng = np.random.default_rng(0)
    few = min(len(wrong), max(points // 2, points - len(others)))
    chosen = [rng.permutation(wrong)[:few], rng.permutation(others)[: points - few]]
    return np.sort(np.concatenate(chosen))


ENTRY = Entry(
    "split",
    split,
    applies=lambda evaluation, samples: (
        samples.ranked and split_parts(evaluation, samples) is not None
    ),
    needs="an aleatoric and an epistemic part of the uncertainty",
    overlays=False,
)
