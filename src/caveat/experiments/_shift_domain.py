"""In domain against out of domain: ratios, gaps, and what grows more."""

from collections.abc import Iterator
from typing import Literal

import numpy as np

from ..resampling import ConfidenceInterval, Replicates, interval_of, pair_interval
from ..results.tables import number
from ._shift_quantities import Asked, Quantity
from ._shift_result import DomainRow, Growth

OPEN = "open"
_NONE = ConfidenceInterval(np.nan, np.nan, "undefined")


def between(inside: Asked, outside: Asked, confidence: float) -> Iterator[DomainRow]:
    """Yield a row for each quantity that both have."""
    result = {quantity.key: quantity for quantity in outside.quantities}
    for one in inside.quantities:
        other = result.get(one.key)
        if other is not None:
            yield _row(one, other, confidence)


def _row(one: Quantity, other: Quantity, confidence: float) -> DomainRow:
    ends_in, ends_out = (quantity.interval(confidence) for quantity in (one, other))
    bottom = 0.0 if one.metric is None else one.metric.range[0]
    notes = [note for note in dict.fromkeys((one.note, other.note)) if note]
    ratio = ratio_low = ratio_high = np.nan
    if bottom < 0:
        notes.append("no ratio: it can be negative")
    elif one.value == 0:
        notes.append("no ratio: it is 0 in domain")
    else:
        ratio = other.value / one.value
        ends = _pair(one, other, confidence, "ratio")
        ratio_low, ratio_high = ends.low, ends.high
    gap = _pair(one, other, confidence, "gap")
    return DomainRow(
        one.name, one.kind, one.option, one.target,
        one.value, ends_in.low, ends_in.high,
        other.value, ends_out.low, ends_out.high,
        ratio, ratio_low, ratio_high,
        other.value - one.value, gap.low, gap.high,
        one.direction, "; ".join(notes),
    )  # fmt: skip


def _pair(
    one: Quantity, other: Quantity, confidence: float, kind: Literal["gap", "ratio"]
) -> ConfidenceInterval:
    """Return the interval of out less, or over, in; the two are resampled independently."""
    if one.replicates is None or other.replicates is None:
        return _NONE
    pair = other.replicates, one.replicates
    if one.metric is not None:
        return pair_interval(one.metric, (other.value, one.value), pair, confidence, kind=kind)
    if kind == "gap":
        return interval_of(other.value - one.value, pair[0] - pair[1], confidence)
    return interval_of(other.value / one.value, pair[0] / pair[1], confidence, range=(0, np.inf))


def growths(
    inside: Asked, outside: Asked, confidence: float, classes: bool, one_model: bool
) -> Iterator[Growth]:
    """Yield what grows more: epistemic or aleatoric, total or error, for each target."""
    error = "share of wrong predictions" if classes else "squared error"
    parts = [{q.key: q for q in asked.quantities} for asked in (inside, outside)]
    for target in inside.errors:
        keys = [(name, "", target) for name in ("epistemic", "aleatoric", "total")]
        if not all(key in parts[0] for key in keys):
            continue
        epistemic, aleatoric, total = ([part[key] for part in parts] for key in keys)
        errors = [inside.errors[target], outside.errors[target]]
        yield _grown(
            "does epistemic uncertainty grow more than aleatoric?", target,
            ("epistemic uncertainty", epistemic), ("aleatoric uncertainty", aleatoric),
            ("yes", "no") if one_model else (OPEN, OPEN), confidence,
        )  # fmt: skip
        yield _grown(
            "does total uncertainty grow as much as the error?", target,
            ("total uncertainty", total), (f"the {error}", errors),
            ("more", "less") if one_model else (OPEN, OPEN), confidence,
        )  # fmt: skip


def _grown(
    question: str,
    target: str,
    first: tuple[str, list[Quantity]],
    second: tuple[str, list[Quantity]],
    answers: tuple[str, str],
    confidence: float,
) -> Growth:
    """Compare two ratios of out over in: the first over the second."""
    for name, (one, other) in (first, second):
        if not (np.isfinite(other.value) and one.value > 0):
            why = "is 0 in domain" if one.value == 0 else "is infinite for some samples"
            text = f"cannot be said: {name} {why}"
            return Growth(question, target, np.nan, np.nan, np.nan, "undefined", text)
    if second[1][1].value == 0:
        text = f"cannot be said: {second[0]} is 0 out of domain"
        return Growth(question, target, np.nan, np.nan, np.nan, "undefined", text)
    grown = [other.value / one.value for _, (one, other) in (first, second)]
    value = grown[0] / grown[1]
    ends = _interval(value, first[1], second[1], confidence)
    words = f"{first[0]} is {number(grown[0])} times, {second[0]} {number(grown[1])} times"
    words += f" what it is in domain: a factor of {number(value)} between them"
    if np.isnan(ends.low):
        return Growth(question, target, value, np.nan, np.nan, "no interval", words)
    words += f" ({confidence:.0%} interval {number(ends.low)} to {number(ends.high)})"
    if OPEN in answers:
        words += "; of these two models alone: another split or training gives another factor"
        return Growth(question, target, value, ends.low, ends.high, OPEN, words)
    answer = "cannot tell"
    if ends.low > 1:
        answer = answers[0]
    elif ends.high < 1:
        answer = answers[1]
    return Growth(question, target, value, ends.low, ends.high, answer, words)


def _interval(
    value: float, first: list[Quantity], second: list[Quantity], confidence: float
) -> ConfidenceInterval:
    ratios: list[Replicates] = []
    for one, other in (first, second):
        if one.replicates is None or other.replicates is None:
            return _NONE
        ratios.append(other.replicates / one.replicates)
    return interval_of(value, ratios[0] / ratios[1], confidence, range=(0, np.inf))
