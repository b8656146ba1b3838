"""Statements on groups: which are worse, which show no difference, which are too small."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..results.judgments import Contrast, FindingState
from ..results.rows import Row
from ..results.words import (
    MOST_NAMES,
    Statement,
    amount,
    amount_with_interval,
    center,
    counted,
    joined,
    listed,
    nominal,
    percent,
    points,
    points_with_interval,
    share_with_interval,
)
from ._verdict_classes import group_direction, group_predicted
from ._verdict_direction import CONFIDENCE, PROBABILITIES, estimated
from ._verdict_evidence import (
    SMALL,
    TOLERABLE,
    TOLERABLE_RATIO,
    WIDE,
    Bounds,
    Evidence,
    Finding,
    coverage_state,
    unique_rows,
)

_RARER = 0.8
"""A class is clearly rarer than another with fewer samples than this share of it."""


@dataclass(frozen=True)
class _Question:
    """A metric that is compared between groups, and the words for it."""

    topic: str
    row: Row
    """The row over all samples."""
    cost: Callable[[float], float]
    """A function of the value such that less is better."""
    bad: Callable[[Bounds, Bounds], bool]
    """Whether the bounds of a group, compared with those of the best one, are bad."""
    headline: tuple[str, str]
    """The words before and after the names of the groups."""
    say: Callable[..., str]
    plain: Callable[[float], str]
    share: bool
    """Whether values are shares, whose intervals can be too wide."""


def group_findings(evidence: Evidence) -> list[Finding]:
    """Return which groups are worse, which show no difference, and which are too small."""
    result = [(question, _rows(evidence, question)) for question in _questions(evidence)]
    fit = [
        (question, name, kept)
        for question, by_attribute in result
        for name, rows in by_attribute.items()
        if len(kept := [r for r in rows if evidence.enough(r) and not np.isnan(r.low)]) > 1
    ]
    named: list[Finding] = []
    level: list[tuple[_Question, str, list[Row]]] = []
    said: set[tuple[str, str]] = set()
    for question, name, rows in fit:
        sizes = [len(other) for asked, _, other in fit if asked.topic == question.topic]
        looked_at = sum(k * (k - 1) // 2 for k in sizes), sum(sizes)
        worse = _worse(evidence, question, rows, looked_at)
        if worse:
            named.append(_named(evidence, question, name, worse, looked_at[1]))
            said |= {row.place for row in worse}
        else:
            level.append((question, name, rows))
    groups = [row for _, by_name in result for rows in by_name.values() for row in rows]
    small = [row for row in groups if not evidence.enough(row)]
    for question, _, rows in level:
        if question.share:
            small += [r for r in rows if r.high - r.low > WIDE and r.place not in said]
    findings = named + _no_difference(evidence, level)
    if small and evidence.measured and len({row.place for row in groups}) > 1:
        once = list({row.place: row for row in small}.values())
        names = [f"{row.group} ({counted(row.samples, 'sample')})" for row in once]
        text = f"Too few samples to say how it does for {listed(names)}."
        statement = Statement("unsure", text, unique_rows(once))
        findings.append(Finding("small", FindingState.UNSURE, statement))
    return findings


def _questions(evidence: Evidence) -> list[_Question]:
    """Return what to compare: calibration and accuracy, or coverage and size of errors."""
    result = []
    # Probabilities are judged by those of the second class, if there are two.
    two = len(getattr(evidence.evaluation.prediction, "classes", ())) == 2
    positive = evidence.overall("positive_calibration_error") if two else []
    for row in positive or evidence.overall("expected_calibration_error"):
        of_class = row.metric == "positive_calibration_error"
        subject, they = (PROBABILITIES, "they are") if of_class else (CONFIDENCE, "it is")
        result.append(
            _Question(
                "calibration", row, float,
                lambda one, _: one.low > SMALL,
                (f"{subject} cannot be taken at face value for", f"{they} off by"),
                points_with_interval, points, share=True,
            )
        )  # fmt: skip
    for row in evidence.overall("accuracy_score"):
        result.append(
            _Question(
                "accuracy", row, lambda share: -share,
                lambda one, best: best.center - one.center >= TOLERABLE,
                ("It is right less often for", "in"),
                share_with_interval, percent, share=True,
            )
        )  # fmt: skip
    covered = sorted(evidence.overall("interval_coverage"), key=lambda row: row.promised)
    widest = {row.target: row for row in covered}.values()
    for row in (*widest, *evidence.overall("set_coverage")):
        result.append(_coverage_question(evidence, row))
    for row in evidence.overall("mean_absolute_error"):
        result.append(
            _Question(
                "errors", row, float,
                lambda one, best: one.center >= (1 + TOLERABLE_RATIO) * best.center,
                (f"Its errors{_of_target(evidence, row)} are larger for", "on average"),
                amount_with_interval, amount, share=False,
            )
        )  # fmt: skip
    return result


def _of_target(evidence: Evidence, row: Row) -> str:
    several = len(getattr(evidence.evaluation.prediction, "targets", [""])) > 1
    return f" in {row.target}" if several else ""


def _coverage_question(evidence: Evidence, row: Row) -> _Question:
    if row.metric == "set_coverage":
        promised = float(evidence.evaluation.prediction.coverage)
        what = f"{nominal(promised)} sets of classes"
    else:
        promised = row.promised
        what = f"{nominal(promised)} intervals{_of_target(evidence, row)}"
    return _Question(
        "coverage", row, lambda share: abs(share - promised),
        lambda one, _: coverage_state(one, promised) in (FindingState.NARROW, FindingState.WIDE),
        (f"Its {what} do not hold what they promise for", "they hold the truth in"),
        share_with_interval, percent, share=True,
    )  # fmt: skip


def _rows(evidence: Evidence, question: _Question) -> dict[str, list[Row]]:
    """Return the rows of the groups by attribute."""
    result: dict[str, list[Row]] = {}
    for row in evidence.of(question.row.metric):
        same = (row.option, row.target) == (question.row.option, question.row.target)
        if same and not row.overall and row.contrast is Contrast.NONE:
            result.setdefault(row.attribute, []).append(row)
    return result


def _worse(
    evidence: Evidence, question: _Question, rows: Sequence[Row], looked_at: tuple[int, int]
) -> dict[Row, Row]:
    """Return the groups that are shown to be bad, the worst first, each with a better one.

    The data chose the groups, so the interval of their difference must exclude 0 at a confidence
    that holds for all pairs at once, and the bounds of a group must hold for all groups at once.
    """
    pairs, groups = looked_at
    ordered = sorted(rows, key=lambda row: question.cost(center(row)))
    least = evidence.bounds(ordered[0])
    worse: dict[Row, Row] = {}
    for place, row in reversed(list(enumerate(ordered))):
        bounds = evidence.bounds(row, groups)
        if not question.bad(bounds, least):  # nor beside any other
            continue
        gaps = ((other, evidence.difference(row, other, pairs)) for other in ordered[:place])
        first = next((other for other, gap in gaps if not gap.low <= 0 <= gap.high), None)
        if first is not None and question.bad(bounds, evidence.bounds(first)):
            worse[row] = first
    reference = next(iter(worse.values()), None)
    if question.topic == "coverage" and reference is not None and reference not in worse:
        bounds = evidence.bounds(reference, groups)
        if question.bad(bounds, bounds):  # one too narrow, one too wide: neither is right
            worse[reference] = reference
    return worse


def _named(
    evidence: Evidence, question: _Question, name: str, worse: dict[Row, Row], looked_at: int
) -> Finding:
    best, overall = next(iter(worse.values())), question.row
    said = [question.say(row, evidence.confidence, short=i > 0) for i, row in enumerate(worse)]
    if len(worse) > 1:
        said = [f"{text} for {row.group}" for text, row in zip(said, worse, strict=True)]
    before, after = question.headline
    text = f"{before} {listed(row.group for row in worse)}: {after} {joined(said[:MOST_NAMES])}"
    beside = f"{question.plain(center(overall))} over all samples"
    if best not in worse:
        reference = question.say(best, evidence.confidence, short=True)
        beside = f"against {reference} for {best.group} and {beside}"
    text += f", {beside}."
    if best not in worse:
        text += _difference(evidence, question, next(iter(worse)), best)
    used = unique_rows([*worse, best, overall])
    names = tuple(row.group for row in worse)
    if question.topic == "accuracy" and name == evidence.evaluation.true_class:
        if all(row.samples < _RARER * other.samples for row, other in worse.items()):
            text += (
                " A rarer class is usually recognized less often, by perfect probabilities as well."
            )
        return Finding("class accuracy", FindingState.NONE, Statement("info", text, used), names)
    reason = f"{after} {said[0]}"
    if question.topic == "calibration":
        shown = group_predicted(evidence, next(iter(worse)), looked_at)
        if shown is not None:
            predicted, level = shown
            text += group_direction(predicted, level)
            if level and predicted.name:
                reason += f", and the risk is {estimated(level)} ({predicted.means})"
    elif question.topic == "accuracy":
        reason = f"{share_with_interval(next(iter(worse)), evidence.confidence)}"
    return Finding(
        f"group {question.topic}", FindingState.OFF, Statement("bad", text, used), names,
        reason=reason,
    )  # fmt: skip


def _difference(evidence: Evidence, question: _Question, row: Row, best: Row) -> str:
    """Return the difference between two groups, with its interval."""
    gap = evidence.difference(row, best)
    words, unit = (points, " percentage points") if question.share else (amount, "")
    said, low, high = (words(value) for value in (gap.center, gap.low, gap.high))
    sure = f"{nominal(evidence.confidence)} interval {low} to {high}"
    return f" The difference between {row.group} and {best.group} is {said}{unit} ({sure})."


def _no_difference(
    evidence: Evidence, level: Sequence[tuple[_Question, str, list[Row]]]
) -> list[Finding]:
    """Return one sentence on what may be the same for all groups."""
    if not level:
        return []
    what = "sets" if hasattr(evidence.evaluation.prediction, "membership") else "intervals"
    words = {
        "calibration": "how far its probabilities are off",
        "accuracy": "how often it is right",
        "coverage": f"how often its {what} hold the truth",
        "errors": "the size of its errors",
    }
    by_name: dict[str, dict[str, None]] = {}
    for question, name, _ in level:
        by_name.setdefault(name, {})[words[question.topic]] = None
    by_things: dict[tuple[str, ...], list[str]] = {}
    for name, things in by_name.items():
        by_things.setdefault(tuple(things), []).append(name)
    said = [
        f"between {_of_attributes(evidence, names)} in {joined(things, 'or')}"
        for things, names in by_things.items()
    ]
    text = f"No difference that matters can be shown {', nor '.join(said)}."
    used = unique_rows([row for *_, rows in level for row in rows])
    return [Finding("groups", FindingState.NONE, Statement("info", text, used))]


def _of_attributes(evidence: Evidence, names: Sequence[str]) -> str:
    """Return words for the true classes, and for the groups of the user."""
    others = [name for name in names if name != evidence.evaluation.true_class]
    parts = ["the true classes"] if len(others) < len(names) else []
    parts += [f"the groups of {listed(others)}"] if others else []
    return " or ".join(parts)
