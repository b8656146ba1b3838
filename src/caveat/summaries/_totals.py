"""What the sums of a summary say of all samples, for a verdict whose rows stand for them."""

import numpy as np

from .._validation import FloatArray
from ..evaluation.result import TRUE_CLASS, Means, Totals
from ..metrics import METRICS
from ..metrics.states import gaps_of, value_of
from .condensed import QuestionKey
from .parts import Part, Place
from .summary import ALL, Summary
from .tables import table_rows

__all__ = ["totals_of"]


def totals_of(summary: Summary) -> dict[Place, Totals]:
    """Return what is known of all samples, ``("", "")``, and of each group."""
    classes = tuple(map(str, dict(summary.about.shared).get("classes", ())))
    shares = _shares(summary, classes)
    places = {place: part for place, part in summary.parts.items() if place[0] != TRUE_CLASS}
    return {
        place: _totals(part, len(classes), shares if place == ALL else (), summary.about.weighted)
        for place, part in places.items()
        if part.mass
    }


def _shares(summary: Summary, classes: tuple[str, ...]) -> tuple[float, ...]:
    """Return the share of each true class."""
    whole = summary.parts[ALL]
    if whole.table is not None:
        return tuple((whole.table.sum(axis=0) / whole.samples).tolist())
    parts = [summary.parts.get((TRUE_CLASS, value)) for value in classes]
    return tuple(0.0 if part is None else part.mass / whole.mass for part in parts)


def _totals(part: Part, classes: int, shares: tuple[float, ...], weighted: bool) -> Totals:
    units = part.mass**2 / part.square if part.square > 0 else 0.0
    accuracy, means = _of_table(part) if part.table is not None else _of_states(part, shares)
    wrong = None
    if accuracy is not None and not weighted:
        wrong = round(part.samples * (1 - accuracy))
    return Totals(part.samples, units, shares, wrong, means if classes else {})


def _of_table(part: Part) -> tuple[float, Means]:
    """Return the accuracy, and the mean and the frequency of what is predicted of two classes."""
    assert part.table is not None
    p, truth, weight = table_rows(part.table)
    right = (p > 0.5) == truth

    def mean(values: np.ndarray) -> float:
        return float(np.average(values, weights=weight))

    accuracy = mean(right)
    return accuracy, {None: (mean(np.maximum(p, 1 - p)), accuracy), 1: (mean(p), mean(truth))}


def _of_states(part: Part, shares: tuple[float, ...]) -> tuple[float | None, Means]:
    """Return the same of any classes, as far as the sums have it."""
    state = part.state(_key("accuracy_score"))
    accuracy = None if state is None else value_of(METRICS["accuracy_score"], state)
    means: Means = {}
    top = _gaps(part, "expected_calibration_error")
    if accuracy is not None and top is not None:
        means[None] = accuracy + float(top.sum()), accuracy
    second = part.distributions.get(("probability", ""))
    off = _gaps(part, "positive_calibration_error")
    if second is not None and off is not None:
        means[1] = second.mean, shares[1] if shares else second.mean - float(off.sum())
    each = _gaps(part, "classwise_calibration_error")
    if len(shares) > 2 and each is not None:
        for k, gaps in enumerate(np.split(each * len(shares), len(shares))):
            means[k] = shares[k] + float(gaps.sum()), shares[k]
    return accuracy, means


def _gaps(part: Part, metric: str) -> FloatArray | None:
    """Return the mean differences of probability and frequency in bins, as shares of the whole."""
    state = part.state(_key(metric))
    return None if state is None else gaps_of(METRICS[metric], state)


def _key(metric: str) -> QuestionKey:
    return metric, "", None, None, None
