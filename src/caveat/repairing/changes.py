"""What a repair does to the samples: accuracy, confidence, widths of intervals."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from ..predictions import Gaussian, Interval, Quantiles
from ..predictions.quantiles import central_coverages
from ..recalibration import RECALIBRATORS, Recalibrator
from ..results.words import Statement

__all__ = ["Change"]

_COVERAGE = 0.9
_MOST_GROUPS = 5


@dataclass(frozen=True)
class Change:
    """What a repair does to one quantity, on samples that it was not fitted on.

    Attributes
    ----------
    quantity : str
        "accuracy"; "confidence", the mean probability of the predicted class; "changed", the share
        of samples whose predicted class changes; or "width", the mean width of intervals.
    before, after : float
    target : str
        The target of a width, where there are several.
    """

    quantity: str
    before: float
    after: float
    target: str = ""


def changes_of(
    before: Any, after: Any, y: NDArray[Any], weight: FloatArray | None
) -> tuple[Change, ...]:
    """Return what changes between two predictions of the same samples."""
    if isinstance(before, Gaussian | Quantiles | Interval):
        pair = [np.average(_widths(one), axis=0, weights=weight) for one in (before, after)]
        names = before.targets if len(before.targets) > 1 else ("",)
        return tuple(
            Change("width", float(old), float(new), str(name))
            for old, new, name in zip(*pair, names, strict=True)
        )
    truth = before.align(y)
    p, q = (
        (one.to_categorical() if hasattr(one, "to_categorical") else one).mean
        for one in (before, after)
    )
    old, new = p.argmax(axis=1), q.argmax(axis=1)

    def share(values: Any) -> float:
        return float(np.average(values, weights=weight))

    return (
        Change("accuracy", share(old == truth), share(new == truth)),
        Change("confidence", share(p.max(axis=1)), share(q.max(axis=1))),
        Change("changed", 0.0, share(old != new)),
    )


def _widths(prediction: Any) -> FloatArray:
    """Return the widths of central intervals: (samples, targets)."""
    if isinstance(prediction, Gaussian):
        prediction = prediction.interval(_COVERAGE)
    if isinstance(prediction, Quantiles):
        prediction = prediction.interval(max(central_coverages(prediction.levels)))
    return np.asarray(prediction.upper - prediction.lower)


def change_statements(changes: tuple[Change, ...]) -> list[Statement]:
    """Return what changed, in words."""
    by_name = {change.quantity: change for change in changes}
    result = []
    if "accuracy" in by_name:
        accuracy, moved = by_name["accuracy"], by_name["changed"].after
        if moved == 0:
            text = f"Accuracy stays at {accuracy.after:.1%}: no predicted class changes."
        else:
            text = (
                f"Accuracy goes from {accuracy.before:.1%} to {accuracy.after:.1%}; "
                f"{moved:.1%} of the predicted classes change."
            )
        result.append(Statement("bad" if accuracy.after < accuracy.before else "info", text))
        confidence = by_name["confidence"]
        how = "less" if confidence.after < confidence.before else "more"
        result.append(
            Statement(
                "info",
                f"Predictions become {how} sharp: the mean confidence goes from "
                f"{confidence.before:.1%} to {confidence.after:.1%}.",
            )
        )
    for change in changes:
        if change.quantity == "width":
            name = f" of {change.target}" if change.target else ""
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.divide(change.after, change.before)
            result.append(
                Statement(
                    "info",
                    f"Intervals{name} become {ratio:.2g} times as wide: their mean width goes from "
                    f"{change.before:.3g} to {change.after:.3g}.",
                )
            )
    return [Statement(one.level, one.text.replace("%", " %")) for one in result]


def learned_words(recalibrator: Recalibrator) -> str:
    """Return the single numbers that a recalibrator has learned, by group if there are groups."""
    if recalibrator.groups_ is not None:
        parts = [
            f"{value}: {words}"
            for value, part in list(recalibrator.groups_.items())[:_MOST_GROUPS]
            if (words := learned_words(part))
        ]
        return "; ".join(parts)
    numbers = {
        name: np.asarray(value)
        for name, value in vars(recalibrator).items()
        if name.endswith("_") and isinstance(value, float | np.ndarray)
    }
    return ", ".join(
        f"{name[:-1].replace('_', ' ')} {value.item():.3g}"
        for name, value in numbers.items()
        if value.size == 1 and value.dtype.kind == "f"
    )


def repair_statements(
    recalibrator: Recalibrator, samples: int, changes: tuple[Change, ...]
) -> list[Statement]:
    """Return what a repair does, what it costs, and what it cannot promise."""
    entry = RECALIBRATORS.get(type(recalibrator).__name__)
    learned = learned_words(recalibrator)
    does = [entry.promises] if entry else []
    if learned:
        does.append(f"Learned: {learned}.")
    result = [Statement("info", f"What it does: {' '.join(does)}")] if does else []
    result += change_statements(changes)
    result.append(
        Statement(
            "info",
            f"It cost {samples:,} samples: they have served the repair, so judge it on others.",
        )
    )
    cannot = f"It cannot repair this: {entry.cannot[0].lower()}{entry.cannot[1:]} " if entry else ""
    result.append(
        Statement(
            "unsure",
            f"{cannot}It holds for samples like these; after a shift nothing is promised "
            "(caveat.warn_if_shifted compares samples).",
        )
    )
    return result
