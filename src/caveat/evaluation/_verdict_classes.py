"""Statements on predictions of classes: are the probabilities right, and which way are they off."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._table import Row
from ._verdict_evidence import (
    LEVELS,
    SMALL,
    TOLERABLE,
    Evidence,
    Finding,
    normal_limit,
    size_state,
    unique_rows,
    weighted_mean,
)
from ._verdict_words import (
    Statement,
    counted,
    listed,
    nominal,
    percent,
    points,
    points_with_interval,
    share_with_interval,
    whole,
)

_NOT_MEASURED = "how sure that is was not measured"


def class_findings(evidence: Evidence) -> list[Finding]:
    """Return what can be said of the probabilities and of how often they are right."""
    found = [_calibration(evidence), _accuracy(evidence), _absent_classes(evidence)]
    return [finding for finding in found if finding is not None]


def _calibration(evidence: Evidence) -> Finding | None:
    row = evidence.one("expected_calibration_error")
    if row is None:
        return None
    accuracy = evidence.one("accuracy_score")
    rows = unique_rows([row, accuracy])
    off = f"by {points_with_interval(row, evidence.confidence, ' on average')}"
    if np.isnan(row.low):
        text = (
            "In these samples, its probabilities are off from how often it is right by "
            f"{points(row.value)} percentage points on average; {_NOT_MEASURED}."
        )
        return Finding("calibration", "unmeasured", Statement("info", text, rows))
    bounds = evidence.bounds(row)
    state = size_state(bounds, SMALL, TOLERABLE) if evidence.enough(row) else "unsure"
    direction = _direction(evidence, row, accuracy)
    if state in ("right", "nearly"):
        how = "can be taken at face value" if state == "right" else "are nearly right"
        text = (
            f"Its probabilities {how}: what it says and how often it is right differ {off}."
            f"{direction.lean}"
        )
    elif state == "off":
        state = direction.state
        text = f"{direction.claim} Its probabilities are off {off}."
    elif state == "unsure" and evidence.enough(row) and bounds.low > 0:
        state = "somewhat"
        text = f"Its probabilities are not quite right, but may be nearly so: they are off {off}."
        text += direction.lean
    else:
        text = _unsure(evidence, row, accuracy, off)
        text += direction.lean if evidence.enough(row) else ""
    level = LEVELS.get(state, "bad")
    return Finding("calibration", state, Statement(level, text, rows))


def _unsure(evidence: Evidence, row: Row, accuracy: Row | None, off: str) -> str:
    what = "to say whether its probabilities can be taken at face value"
    if accuracy is not None and evidence.all_or_none(accuracy):
        kind = "right" if accuracy.value else "wrong"
        return (
            f"Too few samples {what}: all of {row.samples} predictions were {kind}, and how often "
            f"it is {'wrong' if accuracy.value else 'right'} cannot be seen from them."
        )
    if not evidence.enough(row):
        return f"{counted(row.samples, 'sample')} are too few {what}; in these, they are off {off}."
    return f"Too few samples {what}: they are off {off}, which may be nothing or much."


@dataclass(frozen=True)
class _Direction:
    state: str
    claim: str
    lean: str = ""


def _direction(evidence: Evidence, row: Row, accuracy: Row | None) -> _Direction:
    """Say whether it is too sure or not sure enough, as far as the interval of accuracy allows."""
    unknown = _Direction(
        "off",
        "Its probabilities cannot be taken at face value; whether it is too sure or not sure "
        "enough cannot be told.",
    )
    curve = evidence.curve("expected_calibration_error")
    if curve is None or accuracy is None or np.isnan(accuracy.low):
        return unknown
    says = weighted_mean(curve.predicted, curve.weight)
    bounds, right = (
        evidence.bounds(accuracy),
        share_with_interval(accuracy, evidence.confidence, " of cases"),
    )
    both = _both_ways(evidence, curve)
    net = abs(says - accuracy.value)
    # Half of what it is off by must go one way; else the two ways cancel, and neither is "it".
    if not bounds.low <= says <= bounds.high and (
        not both or net >= evidence.bounds(row).centre / 2
    ):
        over = says > bounds.high
        state = "over" if over else "under"
        example = _example(curve, 1.0 if over else -1.0)
        average = f"on average it says {percent(says)} and is right in {right}."
        return _Direction(
            state,
            f"It is {state}-confident: {average} For example, {example}.",
            f" It leans to {state}-confidence: {average}",
        )
    if both:
        too_sure, not_enough = _example(curve, 1.0), _example(curve, -1.0)
        claim = (
            f"Its probabilities are wrong in both directions: {too_sure} (too sure), and "
            f"{not_enough} (not sure enough)."
        )
        return _Direction("both", claim)
    return unknown


def _both_ways(evidence: Evidence, curve: Any) -> bool:
    """Whether some bin is surely too high and some surely too low, allowing for their number."""
    weight = curve.weight / curve.weight.sum() * evidence.samples
    # Clusters and weights make the noise larger: by as much in a bin as over all samples.
    inflation = max(1.0, evidence.samples / evidence.units)
    spread = [np.clip(p * (1 - p), 0.0, None) for p in (curve.predicted, curve.observed)]
    noise = np.sqrt(inflation * np.maximum(*spread) / weight)
    limit = normal_limit(evidence.confidence, len(weight))
    gap = curve.predicted - curve.observed
    enough = weight / inflation >= 10  # the normal limit needs some samples in a bin
    return bool(((gap > limit * noise) & enough).any() and ((gap < -limit * noise) & enough).any())


def _example(curve: Any, sign: float) -> str:
    """Say the bin that adds most to the error in one direction."""
    place = int(np.argmax(sign * (curve.predicted - curve.observed) * curve.weight))
    says, was = whole(curve.predicted[place]), whole(curve.observed[place])
    return f"when it said about {says}, it was right in {was}"


def _accuracy(evidence: Evidence) -> Finding | None:
    row = evidence.one("accuracy_score")
    if row is None:
        return None
    weight = evidence.evaluation.sample_weight
    common = np.bincount(evidence.evaluation.truth[:, 0].astype(np.intp), weights=weight)
    naive = percent(float(common.max() / common.sum()))
    if evidence.measured and evidence.all_or_none(row):
        kind, other = ("right", "wrong") if row.value else ("wrong", "right")
        text = (
            f"It is {kind} in all of {counted(row.samples, 'sample')}; still, it may be {other} in "
            f"up to {percent(evidence.unseen(row))} of others like them ("
            f"{nominal(evidence.confidence)} confidence)."
        )
    else:
        sure = f"; {_NOT_MEASURED}" if np.isnan(row.low) else ""
        text = (
            f"It is right in {share_with_interval(row, evidence.confidence, ' of cases')}{sure}. "
            f"Always naming the most frequent class would be right in {naive}."
        )
    return Finding("accuracy", "", Statement("info", text, (row,)))


def _absent_classes(evidence: Evidence) -> Finding | None:
    """Name the classes of which there was no sample."""
    labels = [str(label) for label in evidence.evaluation.prediction.classes.tolist()]
    seen = set(evidence.evaluation.truth[:, 0].astype(np.intp).tolist())
    absent = [f"class={label}" for code, label in enumerate(labels) if code not in seen]
    if not absent:
        return None
    text = f"No sample is truly {listed(absent, 'or')}: nothing here says how it does for them."
    return Finding("absent", "", Statement("unsure", text))
