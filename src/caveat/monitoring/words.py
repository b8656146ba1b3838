"""The verdict on a drift in plain words."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..evaluation import Verdict
from ..metrics import METRICS
from ..results.tables import number
from ..results.words import Level, Statement, capitalized, joined, listed, percent
from .result import ChangeState, Drift, DriftQuestion, DriftRow

CHANGED, UNCHANGED, TOO_FEW = ChangeState.CHANGED, ChangeState.UNCHANGED, ChangeState.TOO_FEW
ASKED = (
    DriftQuestion.PREDICTIONS,
    DriftQuestion.UNCERTAINTY,
    DriftQuestion.CALIBRATION,
    DriftQuestion.SKILL,
)
_LEVELS: dict[ChangeState, Level] = {CHANGED: "bad", UNCHANGED: "good", TOO_FEW: "unsure"}
_HARMLESS = (
    DriftQuestion.PREDICTIONS, DriftQuestion.UNCERTAINTY, DriftQuestion.TRUTH, DriftQuestion.GROUPS
)  # fmt: skip
"""A change of these is a fact about the samples, and no fault of the model."""

NAMES = {
    "probability": "probability of the second class",
    "confidence": "probability of the most probable class",
    "class": "class",
    "prediction": "prediction",
    "total": "total uncertainty",
    "aleatoric": "aleatoric uncertainty",
    "epistemic": "epistemic uncertainty",
    "width": "width of the intervals",
    "size": "size of the sets",
    "bias": "mean difference between truth and prediction",
    "spread": "coverage above nominal",
}


def name_of(row: DriftRow) -> str:
    """Return what a row is of, in words."""
    first, _, option = row.quantity.partition(" ")
    if first in NAMES:
        name = NAMES[first]
        name = {
            DriftQuestion.PREDICTIONS: "predicted class", DriftQuestion.TRUTH: "true class",
            DriftQuestion.GROUPS: f"mix of {row.quantity}",
        }.get(row.question, name) if first == "class" else name  # fmt: skip
    elif row.question is DriftQuestion.GROUPS:
        name = f"mix of {row.quantity}"
    else:
        title = METRICS[first].title
        name = title if title[:2].isupper() else title[0].lower() + title[1:]
    return " ".join(part for part in (name, option and f"({option})", row.target) if part)


def effect_words(row: DriftRow) -> str:
    """Return how large a change is, with its interval and the two values."""
    if np.isnan(row.effect):
        return f"{name_of(row)}: not known"
    low, high = row.effect_low, row.effect_high
    if row.effect_kind in ("Kolmogorov distance", "total variation"):
        size = f"distance {percent(row.effect)} (interval {100 * low:.1f} to {100 * high:.1f} %)"
    elif row.effect_kind == "difference":
        size = f"{100 * row.change:+z.1f} percentage points"
        if not np.isnan(row.change_low):
            size += f" (interval {100 * row.change_low:z.1f} to {100 * row.change_high:z.1f})"
    else:
        size = f"{'+' if row.change > 0 else '-'}{percent(row.effect)} of its value"
    values = ""
    if not np.isnan(row.reference):
        values = f", from {_shown(row, row.reference)} to {_shown(row, row.new)}"
    return f"{name_of(row)}: {size}{values}"


def _shown(row: DriftRow, value: float) -> str:
    if row.effect_kind == "difference" or row.quantity in ("probability", "confidence", "class"):
        return percent(value)
    return number(value)


def verdict(drift: Drift) -> Verdict:
    """Return what changed in plain words, and what to do next."""
    states = {q: drift.state(q) for q in DriftQuestion}
    asked = {
        q: state
        for q, state in states.items()
        if state is not None and (q in ASKED or state is CHANGED)
    }
    statements = [_summary(drift, asked)]
    for question in DriftQuestion:
        rows = _rows_of(drift, question)
        if rows:
            statements.append(_statement(question, rows, states[question] or TOO_FEW))
    statements += _groups(drift)
    statements += [Statement("info", sentence) for sentence in drift.left_out]
    return Verdict(tuple(statements), next_step=_next_step(drift, states))


def _summary(drift: Drift, asked: dict[DriftQuestion, ChangeState]) -> Statement:
    by_state = {
        state: [f"the {q.value}" for q, has in asked.items() if has is state]
        for state in (CHANGED, UNCHANGED, TOO_FEW)
    }
    groups = changed_groups(drift)
    if by_state[CHANGED]:
        text = f"{capitalized(joined(by_state[CHANGED]))} changed."
        faults = [
            q for q, state in asked.items()
            if state is CHANGED and q not in _HARMLESS and _worse(_rows_of(drift, q))
        ]  # fmt: skip
        known = DriftQuestion.CALIBRATION in asked
        if not faults and known and asked[DriftQuestion.CALIBRATION] is UNCHANGED:
            text = f"{text[:-1]}, and the calibration did not: the model followed the change."
            return Statement("info", text, _decisive(drift))
        return Statement("bad", text, _decisive(drift))
    if groups:
        text = f"Overall nothing is shown to have changed, but {listed(groups)} did."
        return Statement("bad", text, _decisive(drift))
    if by_state[TOO_FEW]:
        text = f"There are too few samples to say whether {joined(by_state[TOO_FEW])} changed."
        if by_state[UNCHANGED]:
            text += f" {capitalized(joined(by_state[UNCHANGED]))} did not change by more than "
            text += "the threshold."
        return Statement("unsure", text)
    if not by_state[UNCHANGED]:
        return Statement("unsure", "There is nothing that could be compared.")
    return Statement("good", f"There is no change that matters in {joined(by_state[UNCHANGED])}.")


def _rows_of(drift: Drift, question: DriftQuestion) -> tuple[DriftRow, ...]:
    return tuple(row for row in drift.rows if row.overall and row.question is question)


def changed_groups(drift: Drift) -> list[str]:
    """Return the groups in which something changed, in their order."""
    return list(
        dict.fromkeys(row.group for row in drift.rows if not row.overall and row.state is CHANGED)
    )


def _decisive(drift: Drift) -> Any:
    return tuple(row for row in drift.rows if row.state is CHANGED)


def _statement(question: DriftQuestion, rows: Any, state: ChangeState) -> Statement:
    what = capitalized(f"the {question.value}")
    level = _LEVELS[state]
    if state is CHANGED:
        level = "info" if question in _HARMLESS or not _worse(rows) else "bad"
        some = sorted((r for r in rows if r.state is CHANGED), key=_exceeds, reverse=True)
        text = f"{what} changed: {'; '.join(effect_words(row) for row in some[:3])}."
    elif state is UNCHANGED:
        text = f"{what} did not change by more than the threshold: {effect_words(_largest(rows))}."
    else:
        open_ = [row for row in rows if row.state is TOO_FEW]
        seen = _largest(open_)
        text = (
            f"{what}: too few samples to say whether a change is beyond the threshold of "
            f"{_threshold(seen)}; {effect_words(seen)}."
        )
    return Statement(level, text, rows)


def _worse(rows: Iterable[DriftRow]) -> bool:
    """Return whether a change is no gain: errors of calibration count as losses."""
    changed = [row for row in rows if row.state is CHANGED]
    return any(
        row.question is not DriftQuestion.SKILL
        or (row.change < 0) is (METRICS[row.quantity.partition(" ")[0]].direction == "higher")
        for row in changed
    )


def _threshold(row: DriftRow) -> str:
    if row.effect_kind == "difference":
        return f"{100 * row.threshold:.3g} percentage points"
    return f"{100 * row.threshold:.3g} %"


def _exceeds(row: DriftRow) -> float:
    """Return the size of a change in thresholds."""
    return -1.0 if np.isnan(row.effect) else row.effect / max(row.threshold, 1e-12)


def _largest(rows: Sequence[DriftRow]) -> DriftRow:
    return max(rows, key=_exceeds)


def _groups(drift: Drift) -> list[Statement]:
    rows = [row for row in drift.rows if not row.overall]
    if not rows:
        return []
    changed: Any = [row for row in rows if row.state is CHANGED]
    names = list(dict.fromkeys(row.group for row in rows))
    if changed:
        parts = []
        for name in changed_groups(drift):
            some = [row for row in changed if row.group == name]
            asked = joined(list(dict.fromkeys(f"the {row.question.value}" for row in some)))
            parts.append(f"{name} ({asked}; {effect_words(_largest(some))})")
        text = f"Of {len(names)} groups, {len(parts)} changed: {listed(parts)}."
        return [Statement("bad", text, tuple(changed))]
    open_ = list(dict.fromkeys(row.group for row in rows if row.state is TOO_FEW))
    if open_:
        text = f"No group is shown to have changed; too few samples to say for {listed(open_)}."
        return [Statement("unsure", text)]
    return [Statement("good", f"None of {len(names)} groups changed by more than the thresholds.")]


def _next_step(drift: Drift, states: dict[DriftQuestion, ChangeState | None]) -> str:
    calibration, skill = states[DriftQuestion.CALIBRATION], states[DriftQuestion.SKILL]
    moved = CHANGED in (states[DriftQuestion.PREDICTIONS], states[DriftQuestion.UNCERTAINTY])
    groups = {row.group for row in drift.rows if not row.overall and row.state is CHANGED
              and row.question not in _HARMLESS}  # fmt: skip
    if calibration is CHANGED:
        return (
            "Do not rely on the uncertainty as before: evaluate the new samples, recalibrate on "
            "some of them, and find out what changed in the data."
        )
    if groups:
        return f"Evaluate the new samples of {listed(sorted(groups))} by themselves."
    if skill is CHANGED and _worse(_rows_of(drift, DriftQuestion.SKILL)):
        if calibration is UNCHANGED:
            return (
                "The model is as honest as before, but not as good: find out which samples are "
                "new, and train again."
            )
        return (
            "The model is not as good as before, and it is not known whether it is as honest: find "
            "out which samples are new, and get more true values."
        )
    if moved and calibration is None:
        return (
            "Get true values for some of the new samples: only they show whether the predictions "
            "are still right."
        )
    if moved and calibration is TOO_FEW:
        return (
            "Get more true values for the new samples, enough to see whether the calibration "
            "holds, and find out what changed in the inputs."
        )
    if moved:
        return "Check that the change is expected. Nothing has to be repaired."
    if TOO_FEW in states.values():
        return "Wait for more samples, or merge several summaries, and compare again."
    return "Nothing has to be done."
