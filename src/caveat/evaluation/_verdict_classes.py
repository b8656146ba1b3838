"""Statements on predictions of classes: calibration, accuracy, and coverage of sets.

With two classes the probability of the second is judged. With more, the confidence in the most
probable class, and the probability of each class against the rest.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from ..results.judgments import GOOD, FindingState
from ..results.rows import Row
from ..results.words import (
    Statement,
    amount_with_interval,
    capitalized,
    counted,
    listed,
    lowered,
    nominal,
    percent,
    points,
    points_with_interval,
    share_with_interval,
    whole,
)
from ._verdict_direction import (
    CONFIDENCE,
    PROBABILITIES,
    Predicted,
    binary_event,
    bins_off,
    class_event,
    direction_of,
    estimated,
    known_means,
    top_event,
)
from ._verdict_evidence import (
    LEVELS,
    NOT_MEASURED,
    SMALL,
    TOLERABLE,
    TOLERABLE_RATIO,
    Bounds,
    Evidence,
    Finding,
    coverage_state,
    factor_state,
    normal_limit,
    size_state,
    unique_rows,
    weighted_mean,
)

_MOST_CLASSES = 3
"""The most classes that one sentence describes."""


def class_findings(evidence: Evidence) -> list[Finding]:
    """Return findings on calibration, accuracy and absent classes."""
    result = [
        _wrong_way(evidence), *_calibration(evidence), _accuracy(evidence),
        _absent_classes(evidence),
    ]  # fmt: skip
    return [finding for finding in result if finding is not None]


def _wrong_way(evidence: Evidence) -> Finding | None:
    """Return a finding on probabilities of two classes that rank the samples in reverse."""
    labels = evidence.evaluation.prediction.classes.tolist()
    row = evidence.one("roc_auc_score")
    if len(labels) != 2 or row is None or np.isnan(row.low) or not evidence.enough(row):
        return None
    if not row.high < 0.5:
        return None
    pairs = share_with_interval(
        replace(row, value=1 - row.value, low=1 - row.high, high=1 - row.low),
        evidence.confidence, " of such pairs",
    )  # fmt: skip
    text = (
        f"Its probabilities point the wrong way: of a sample of class={labels[0]} and one of "
        f"class={labels[1]}, the first has the higher probability of class={labels[1]} in {pairs}."
    )
    return Finding(
        "ranking", FindingState.OFF, Statement("bad", text, (row,)),
        names=tuple(f"class={label}" for label in labels),
    )  # fmt: skip


def _calibration(evidence: Evidence) -> list[Finding]:
    labels = evidence.evaluation.prediction.classes.tolist()
    if len(labels) == 2 and (row := evidence.one("positive_calibration_error")) is not None:
        event = class_event(evidence.evaluation, 1)
        return [_judged(evidence, Predicted(row, event, PROBABILITIES, f"class={labels[1]}"))]
    result = []
    row = evidence.one("expected_calibration_error")
    if row is not None:
        result.append(_judged(evidence, Predicted(row, top_event(evidence.evaluation), CONFIDENCE)))
    row = evidence.one("classwise_calibration_error")
    if row is not None and len(labels) > 2:
        result = _together(
            result, _all_classes(evidence, row, [f"class={label}" for label in labels])
        )
    return result


def group_predicted(evidence: Evidence, row: Row, looked_at: int) -> tuple[Predicted, int] | None:
    """Return what was predicted for one group, and whether that is too often or too rarely.

    None if the samples of the group are unknown.
    """
    evaluation = evidence.evaluation
    (rows,) = [
        attribute.codes == code
        for attribute in evaluation.attributes
        for code, value in enumerate(attribute.values)
        if (attribute.name, value) == row.place
    ] or [None]
    of_class = row.metric == "positive_calibration_error"
    if rows is not None:
        event = class_event(evaluation, 1) if of_class else top_event(evaluation)
        event = event.take(rows, known_means(evaluation, row.place, 1 if of_class else None))
    elif row.place in evaluation.group_samples:
        p, truth, weight = evaluation.group_samples[row.place]
        event = binary_event(p, truth, weight, top=not of_class)
    else:
        return None
    name = f"class={evaluation.prediction.classes[1]}" if of_class else ""
    predicted = Predicted(row, event, "", name)
    return predicted, predicted.event.level(normal_limit(evidence.confidence, looked_at))


def group_direction(predicted: Predicted, level: int) -> str:
    """Return the direction of miscalibration in one group."""
    group, name = predicted.row.group, predicted.name
    if level and not name:
        return f" For {group}, {predicted.average}."
    if level:
        word = "often" if level > 0 else "rarely"
        return (
            f" For {group} it predicts {name} too {word}, and so the risk is {estimated(level)}: "
            f"{predicted.means}."
        )
    return f" For example, for {group}, {predicted.example(0.0)}."


def _judged(evidence: Evidence, predicted: Predicted) -> Finding:
    """Judge one predicted probability by the interval of its error."""
    row, subject = predicted.row, predicted.subject
    accuracy = evidence.one("accuracy_score")
    rows = unique_rows([row, accuracy])
    topic = "calibration"
    if np.isnan(row.low):
        text = (
            f"In these samples, {lowered(subject)} {predicted.verb} off by "
            f"{points(row.value)} percentage points on average; {NOT_MEASURED}. "
            f"{capitalized(predicted.average)}."
        )
        return Finding(topic, FindingState.UNMEASURED, Statement("info", text, rows))
    off = f"by {points_with_interval(row, evidence.confidence, ' on average')}"
    bounds = evidence.bounds(row)
    enough = evidence.enough(row)
    state = size_state(bounds, SMALL, TOLERABLE) if enough else FindingState.UNSURE
    also = f" {capitalized(predicted.average)}."
    open_rate = state in GOOD and _is_rate_open(evidence, predicted)
    state = FindingState.UNSURE if open_rate else state
    rare = enough and state is not FindingState.OFF and _much_for_a_rare_class(evidence, predicted)
    direction = direction_of(evidence, predicted, rare)
    if state is FindingState.OFF or rare:
        state = direction.state
        much = ", which is much where one class is so rare" if rare else ""
        text = f"{direction.claim} {subject} {predicted.verb} off {off}{much}."
    elif state in GOOD:
        how = (
            "can be taken at face value"
            if state is FindingState.RIGHT
            else f"{predicted.verb} nearly right"
        )
        what = (
            f"predicted and observed frequencies of {predicted.name} differ"
            if predicted.name
            else "what it says and how often it is right differ"
        )
        text = f"{subject} {how}: {what} {off}.{also}{direction.lean}"
    elif open_rate:
        text = _rate_unsure(evidence, predicted, off)
    elif enough and bounds.low > 0:
        state = FindingState.SOMEWHAT
        text = (
            f"{subject} {predicted.verb} not quite right, but may be nearly so: {predicted.they} "
            f"off {off}.{also}{direction.lean}"
        )
    else:
        text = _unsure(evidence, predicted, accuracy, off)
        text += f"{also}{direction.lean}" if enough else ""
    summary = _SUMMARIES[state].format(
        subject=subject, small=lowered(subject), name=predicted.name, verb=predicted.verb
    )
    summary += direction.summary if state is direction.state else ""
    level = LEVELS.get(state, "bad")
    return Finding(
        topic, state, Statement(level, text, rows), (), summary, subject == CONFIDENCE,
        _range(evidence, predicted) if level == "bad" else "",
    )  # fmt: skip


def _range(evidence: Evidence, predicted: Predicted) -> str:
    """Return the one range in which probabilities are off.

    Empty unless it holds most of the error and the others hold most of the samples.
    """
    curve = predicted.curve
    off = bins_off(evidence, curve, SMALL)
    (places,) = np.nonzero(off)
    run = slice(places[0], places[-1] + 1) if len(places) else slice(0)
    if not len(places) or 0 in off[run] or len({*off[places].tolist()}) > 1:
        return ""
    weight = curve.weight[run]
    error = np.abs(curve.predicted - curve.observed) * curve.weight
    if weight.sum() > curve.weight.sum() / 2 or error[run].sum() < error.sum() / 2:
        return ""
    what = "probabilities" if predicted.name else "confidences"
    ends = f"{100 * curve.low[run][0]:.0f} to {whole(float(curve.high[run][-1]))}"
    says, was = (
        percent(weighted_mean(part[run], weight)) for part in (curve.predicted, curve.observed)
    )
    seen = f"{was} were {predicted.name}" if predicted.name else f"it was right in {was}"
    return f"{what} of {ends}: there it said {says} on average, and {seen}"


_SUMMARIES = {
    FindingState.RIGHT: "{subject} can be taken at face value",
    FindingState.NEARLY: "{subject} can nearly be taken at face value",
    FindingState.OFTEN: "{subject} cannot be taken at face value: it predicts {name} too often",
    FindingState.RARELY: "{subject} cannot be taken at face value: it predicts {name} too rarely",
    FindingState.OVER: "{subject} cannot be taken at face value: it is overconfident",
    FindingState.UNDER: "{subject} cannot be taken at face value: it is underconfident",
    FindingState.EXTREME: "{subject} cannot be taken at face value: high ones are too high, "
    "low ones too low",
    FindingState.TIMID: "{subject} cannot be taken at face value: high ones are too low, "
    "low ones too high",
    FindingState.BOTH: "{subject} cannot be taken at face value: too high in places, too "
    "low in others",
    FindingState.OFF: "{subject} cannot be taken at face value",
    FindingState.SOMEWHAT: "{subject} {verb} not quite right, but may be nearly so",
    FindingState.UNSURE: "There are too few samples to say whether {small} can be taken at "
    "face value",
}


def _much_for_a_rare_class(evidence: Evidence, predicted: Predicted) -> bool:
    """Return whether a class is predicted too often or too rarely by a relevant factor."""
    limit = normal_limit(evidence.confidence)
    return bool(predicted.name) and predicted.event.factor(limit) > 1 + TOLERABLE_RATIO


def _is_rate_open(evidence: Evidence, predicted: Predicted) -> bool:
    """Return whether the frequency of a rare class may be off by more than a tolerable factor."""
    if not predicted.name or not predicted.event.is_rare:
        return False
    return factor_state(predicted.event.ratio(normal_limit(evidence.confidence))) not in GOOD


def _rate_unsure(evidence: Evidence, predicted: Predicted, off: str) -> str:
    """Return that a small error in points may be a large one of a rare class."""
    ratio = predicted.event.ratio(normal_limit(evidence.confidence))
    event = predicted.event
    which = predicted.name if event.was <= 0.5 else f"what is not {predicted.name}"
    return (
        f"Too few samples to say whether {lowered(predicted.subject)} can be taken at face value: "
        f"{predicted.they} off {off}, but {which} is rare. It may be {ratio.low:.1f} to "
        f"{ratio.high:.1f} times as frequent as predicted: {predicted.averages}."
    )


def _unsure(evidence: Evidence, predicted: Predicted, accuracy: Row | None, off: str) -> str:
    row = predicted.row
    what = f"to say whether {lowered(predicted.subject)} can be taken at face value"
    if accuracy is not None and accuracy.value in (0.0, 1.0):
        kind = "right" if accuracy.value else "wrong"
        return (
            f"Too few samples {what}: all of {row.samples} predictions were {kind}, and how often "
            f"it is {'wrong' if accuracy.value else 'right'} cannot be seen from them."
        )
    if not evidence.enough(row):
        few = counted(row.samples, "sample")
        return f"{few} are too few {what}; in these, {predicted.they} off {off}."
    return f"Too few samples {what}: {predicted.they} off {off}, which may be nothing or much."


def _all_classes(evidence: Evidence, row: Row, names: list[str]) -> Finding:
    """Judge the probability of each class against the rest.

    The classwise error is a mean over classes, which is small if there are many. Half its sum over
    the classes is on the scale of two classes: the least share of the probability that is given to
    wrong classes. The same limits hold for it.
    """
    half = len(names) / 2
    rows = unique_rows([row])
    value = (
        f"classwise calibration error {row.value:.3g} times {half:g}, half the number of classes"
    )
    if np.isnan(row.low):
        text = (
            f"In these samples, {percent(min(half * row.value, 1.0))} of the probability is with "
            f"the wrong class on average ({value}); {NOT_MEASURED}."
        )
        return Finding("classes", FindingState.UNMEASURED, Statement("info", text, rows))
    result = evidence.bounds(row)
    bounds = Bounds(half * result.center, half * result.low, half * result.high)
    enough = evidence.enough(row)
    state = size_state(bounds, SMALL, TOLERABLE) if enough else FindingState.UNSURE
    named = _wrong_classes(evidence, names) if enough else []
    wrong = [f"{name} {how}" for name, how in named]
    share = (
        f"{percent(min(half * result.center, 1.0))} of the probability is with the wrong class on "
        f"average ({nominal(evidence.confidence)} interval {points(min(half * row.low, 1.0))} to "
        f"{percent(min(half * row.high, 1.0))}; {value})"
    )
    if state is FindingState.OFF or wrong:
        state = FindingState.OFF
        text = f"The probabilities of single classes cannot be taken at face value: {share}."
        if wrong:
            text += f" On average it predicts {'; '.join(wrong[:_MOST_CLASSES])}"
            others = len(wrong) - _MOST_CLASSES
            text += f"; and so on for {counted(others, 'other')}." if others > 0 else "."
        summary = "the probabilities of single classes cannot be taken at face value"
        summary += f": it predicts {wrong[0]}" if wrong else ""
    elif state in GOOD:
        how = "can be taken at face value" if state is FindingState.RIGHT else "are nearly right"
        text = f"The probabilities of all classes {how}: {share}."
        summary = ""
    else:
        text = (
            f"Too few samples to say whether the probabilities of all classes are right: {share}."
        )
        summary = "there are too few samples to say so of the probabilities of all classes"
    # Where every class is wrong there is none to use until then.
    reason = ""
    if 0 < len(named) < len(names):
        parts = [f"{name}, predicted {how}" for name, how in named[:_MOST_CLASSES]]
        reason = f"the probability of {'; nor of '.join(parts)}"
    return Finding(
        "classes", state, Statement(LEVELS.get(state, "bad"), text, rows), summary=summary,
        reason=reason,
    )  # fmt: skip


def _wrong_classes(evidence: Evidence, names: list[str]) -> list[tuple[str, str]]:
    """Return the classes that are predicted too often or too rarely, and how: the worst first.

    The gap must exceed 2 points or a factor of 1.2, at a level for all classes (Bonferroni).
    """
    limit = normal_limit(evidence.confidence, len(names))
    result = []
    for code, name in enumerate(names):
        event = class_event(evidence.evaluation, code)
        gap, level = abs(event.says - event.was), event.level(limit)
        far = gap - limit * event.error > SMALL or event.factor(limit) > 1 + TOLERABLE_RATIO
        if level and far:
            word = "often" if level > 0 else "rarely"
            how = f"too {word} ({percent(event.says)}, observed {percent(event.was)})"
            result.append((gap, (name, how)))
    return [text for _, text in sorted(result, key=lambda pair: -pair[0])]


def _together(top: list[Finding], classes: Finding) -> list[Finding]:
    """Let the summary say only once what holds for the top class and for all classes.

    If the top class was not measured, it describes all classes.
    """
    if not top:
        subject = "The probabilities of all classes"
        text = classes.summary or _SUMMARIES.get(classes.state, "").format(subject=subject)
        if classes.state is FindingState.UNSURE:
            text = f"There are too few samples to say whether {subject.lower()} are right"
        return [replace(classes, summary=capitalized(text))]
    (first,) = top
    both_good = first.state in GOOD and classes.state in GOOD
    if both_good or LEVELS.get(first.state, "bad") == "bad":
        state = (
            FindingState.NEARLY
            if both_good and classes.state is FindingState.NEARLY
            else first.state
        )
        text = _SUMMARIES[state].format(subject=PROBABILITIES)
        first = replace(first, state=state, summary=text, singular=False)
    elif classes.state not in (*GOOD, first.state):
        return [first, classes]
    return [first, replace(classes, topic="also", summary="")]


def _accuracy(evidence: Evidence) -> Finding | None:
    row = evidence.one("accuracy_score")
    if row is None:
        return None
    naive = percent(max(evidence.class_shares))
    if evidence.measured and row.value in (0.0, 1.0):
        kind, other = ("right", "wrong") if row.value else ("wrong", "right")
        text = (
            f"It is {kind} in all of {counted(row.samples, 'sample')}; still, it may be {other} in "
            f"up to {percent(1 - row.low if row.value else row.high)} of others like them ("
            f"{nominal(evidence.confidence)} confidence)."
        )
    else:
        sure = f"; {NOT_MEASURED}" if np.isnan(row.low) else ""
        text = (
            f"It is right in {share_with_interval(row, evidence.confidence, ' of cases')}{sure}. "
            f"Always naming the most frequent class would be right in {naive}."
        )
    return Finding("accuracy", FindingState.NONE, Statement("info", text, (row,)))


def _absent_classes(evidence: Evidence) -> Finding | None:
    """Return a finding on classes without a sample."""
    labels = [str(label) for label in evidence.evaluation.prediction.classes.tolist()]
    shares = zip(labels, evidence.class_shares, strict=True)
    absent = [f"class={label}" for label, share in shares if not share]
    if not absent:
        return None
    text = f"No sample is truly {listed(absent, 'or')}: nothing here says how it does for them."
    return Finding("absent", FindingState.NONE, Statement("unsure", text))


_SETS = {
    FindingState.NEARLY: "nearly as often as promised",
    FindingState.NARROW: "less often than promised",
    FindingState.WIDE: "more often than promised",
}


def set_findings(evidence: Evidence) -> list[Finding]:
    """Return findings on prediction sets."""
    row, size = evidence.one("set_coverage"), evidence.one("mean_set_size")
    result = []
    if row is not None:
        promised = float(evidence.evaluation.prediction.coverage)
        state = evidence.state(row, partial(coverage_state, promised=promised), share=True)
        often = _SETS.get(state, "as often as promised")
        end = f"{often} ({nominal(promised)})"
        summary = f"Its sets of classes hold the true one {often}"
        if state is FindingState.WIDE:
            end += ", so they are larger than they need to be"
        elif state is FindingState.UNSURE:
            few = "too few samples to say whether"
            end = f"{few} that is {end}"
            summary = f"There are {few} its sets of classes hold what they promise"
        elif state is FindingState.UNMEASURED:
            summary, end = "", f"{nominal(promised)} were promised, and {NOT_MEASURED}"
        hold = share_with_interval(row, evidence.confidence, " of cases")
        text = f"Its sets of classes hold the true one in {hold}: {end}."
        # A set promises "at least": too large a set is wasteful, but keeps the promise.
        level = "good" if state is FindingState.WIDE else LEVELS[state]
        result.append(Finding("sets", state, Statement(level, text, (row,)), summary=summary))
    if size is not None:
        mean = amount_with_interval(size, evidence.confidence, " on average")
        classes = len(evidence.evaluation.prediction.classes)
        text = f"Of {classes} classes, a set leaves open {mean}."
        result.append(Finding("size", FindingState.NONE, Statement("info", text, (size,))))
    return result
