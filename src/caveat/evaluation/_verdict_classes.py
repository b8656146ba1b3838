"""Statements on predictions of classes: are the probabilities right, and which way are they off.

Of two classes the probability of the second is judged. Of more, the probability of the class that
is named, and the probabilities of all classes: of each against the rest.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..metrics import reliability_curve
from ..results.judgments import GOOD, State
from ..results.rows import Row
from ..results.words import (
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
from ._verdict_direction import Event, class_event, top_event
from ._verdict_evidence import (
    LEVELS,
    SMALL,
    TOLERABLE,
    TOLERABLE_RATIO,
    Bounds,
    Evidence,
    Finding,
    normal_limit,
    size_state,
    unique_rows,
)

_NOT_MEASURED = "how sure that is was not measured"
PROBABILITIES = "Its probabilities"
CONFIDENCE = "Its confidence in the class that it names"
_MOST_CLASSES = 3
"""No sentence tells of more classes than this how far they are off."""


def class_findings(evidence: Evidence) -> list[Finding]:
    """Return what can be said of the probabilities and of how often they are right."""
    result = [*_calibration(evidence), _accuracy(evidence), _absent_classes(evidence)]
    return [finding for finding in result if finding is not None]


def _calibration(evidence: Evidence) -> list[Finding]:
    labels = evidence.evaluation.prediction.classes.tolist()
    if len(labels) == 2 and (row := evidence.one("positive_calibration_error")) is not None:
        event = class_event(evidence.evaluation, 1)
        return [_judged(evidence, Reading(row, event, PROBABILITIES, f"class={labels[1]}"))]
    result = []
    row = evidence.one("expected_calibration_error")
    if row is not None:
        result.append(_judged(evidence, Reading(row, top_event(evidence.evaluation), CONFIDENCE)))
    row = evidence.one("classwise_calibration_error")
    if row is not None and len(labels) > 2:
        result = _together(
            result, _all_classes(evidence, row, [f"class={label}" for label in labels])
        )
    return result


@dataclass(frozen=True)
class Reading:
    """What was predicted with a probability: the row that judges it, and words for it."""

    row: Row
    event: Event
    subject: str
    name: str = ""
    """The class whose probability it is; nothing for the class that is named."""

    @property
    def verb(self) -> str:
        """The verb of the subject."""
        return "are" if self.subject == PROBABILITIES else "is"

    @property
    def they(self) -> str:
        """The subject again."""
        return "they are" if self.subject == PROBABILITIES else "it is"

    @property
    def means(self) -> str:
        """The two means in short."""
        return f"{percent(self.event.says)} on average, observed {percent(self.event.was)}"

    @property
    def average(self) -> str:
        """What was predicted and observed on average."""
        says, was = percent(self.event.says), percent(self.event.was)
        if self.name:
            return f"on average it predicts {says} for {self.name}, and {was} were observed"
        return f"on average it says {says} and is right in {was} of cases"

    @cached_property
    def curve(self) -> Any:
        """Predicted and observed in bins, as the table's error has them."""
        return reliability_curve(
            self.event.happened.astype(np.int8), self.event.predicted, kind="positive",
            sample_weight=self.event.weight,
        )  # fmt: skip

    def example(self, sign: float) -> str:
        """Say the bin that adds most to the error: in one direction, or in either if that is 0."""
        curve = self.curve
        gap = (curve.predicted - curve.observed) * curve.weight
        place = int(np.argmax(sign * gap if sign else np.abs(gap)))
        pair = curve.predicted[place], curve.observed[place]
        says, was = (percent(p) if max(pair) < 0.1 else whole(p) for p in pair)
        if self.name:
            return f"when it said about {says} for {self.name}, {was} were"
        return f"when it said about {says}, it was right in {was}"


def group_direction(evidence: Evidence, row: Row, looked_at: int) -> str:
    """Say which way probabilities are off in one group, with numbers; nothing if it is unknown."""
    evaluation = evidence.evaluation
    (rows,) = [
        attribute.codes == code
        for attribute in evaluation.attributes
        for code, value in enumerate(attribute.values)
        if (attribute.name, value) == row.place
    ] or [None]
    if rows is None:
        return ""
    if row.metric == "positive_calibration_error":
        event, name = class_event(evaluation, 1), f"class={evaluation.prediction.classes[1]}"
    else:
        event, name = top_event(evaluation), ""
    reading = Reading(row, event.take(rows), "", name)
    level = reading.event.level(normal_limit(evidence.confidence, looked_at))
    if level and not name:
        return f" For {row.group}, {reading.average}."
    if level:
        word = "often" if level > 0 else "rarely"
        return f" For {row.group} it predicts {name} too {word}: {reading.means}."
    return f" For example, for {row.group}, {reading.example(0.0)}."


def _judged(evidence: Evidence, reading: Reading) -> Finding:
    """Judge one reading by the interval of its error."""
    row, subject = reading.row, reading.subject
    accuracy = evidence.one("accuracy_score")
    rows = unique_rows([row, accuracy])
    topic = "calibration"
    if np.isnan(row.low):
        text = (
            f"In these samples, {subject[0].lower()}{subject[1:]} {reading.verb} off by "
            f"{points(row.value)} percentage points on average; {_NOT_MEASURED}. "
            f"{reading.average[0].upper()}{reading.average[1:]}."
        )
        return Finding(topic, State.UNMEASURED, Statement("info", text, rows))
    off = f"by {points_with_interval(row, evidence.confidence, ' on average')}"
    bounds = evidence.bounds(row)
    enough = evidence.enough(row)
    state = size_state(bounds, SMALL, TOLERABLE) if enough else State.UNSURE
    also = f" {reading.average[0].upper()}{reading.average[1:]}."
    rare = enough and state is not State.OFF and _much_for_a_rare_class(evidence, reading)
    direction = _direction(evidence, reading, rare)
    if state is State.OFF or rare:
        state = direction.state
        much = ", which is much where one class is so rare" if rare else ""
        text = f"{direction.claim} {subject} {reading.verb} off {off}{much}."
    elif state in GOOD:
        how = (
            "can be taken at face value" if state is State.RIGHT else f"{reading.verb} nearly right"
        )
        what = (
            f"predicted and observed frequencies of {reading.name} differ"
            if reading.name
            else "what it says and how often it is right differ"
        )
        text = f"{subject} {how}: {what} {off}.{also}{direction.lean}"
    elif enough and bounds.low > 0:
        state = State.SOMEWHAT
        text = (
            f"{subject} {reading.verb} not quite right, but may be nearly so: {reading.they} off "
            f"{off}.{also}{direction.lean}"
        )
    else:
        text = _unsure(evidence, reading, accuracy, off)
        text += f"{also}{direction.lean}" if enough else ""
    summary = _SUMMARIES[state].format(
        subject=subject, small=f"{subject[0].lower()}{subject[1:]}", name=reading.name,
        verb=reading.verb,
    )  # fmt: skip
    level = LEVELS.get(state, "bad")
    return Finding(topic, state, Statement(level, text, rows), (), summary, subject == CONFIDENCE)


_SUMMARIES = {
    State.RIGHT: "{subject} can be taken at face value",
    State.NEARLY: "{subject} can nearly be taken at face value",
    State.OFTEN: "{subject} cannot be taken at face value: it predicts {name} too often",
    State.RARELY: "{subject} cannot be taken at face value: it predicts {name} too rarely",
    State.OVER: "{subject} cannot be taken at face value: it is overconfident",
    State.UNDER: "{subject} cannot be taken at face value: it is underconfident",
    State.EXTREME: "{subject} cannot be taken at face value: high ones are too high, "
    "low ones too low",
    State.TIMID: "{subject} cannot be taken at face value: high ones are too low, "
    "low ones too high",
    State.BOTH: "{subject} cannot be taken at face value: too high in places, too low in others",
    State.OFF: "{subject} cannot be taken at face value",
    State.SOMEWHAT: "{subject} {verb} not quite right, but may be nearly so",
    State.UNSURE: "There are too few samples to say whether {small} can be taken at face value",
}


def _much_for_a_rare_class(evidence: Evidence, reading: Reading) -> bool:
    """Whether a class is surely predicted much too often or too rarely, relative to how rare."""
    limit = normal_limit(evidence.confidence)
    return bool(reading.name) and reading.event.factor(limit) > 1 + TOLERABLE_RATIO


def _unsure(evidence: Evidence, reading: Reading, accuracy: Row | None, off: str) -> str:
    row, subject = reading.row, f"{reading.subject[0].lower()}{reading.subject[1:]}"
    what = f"to say whether {subject} can be taken at face value"
    if accuracy is not None and evidence.all_or_none(accuracy):
        kind = "right" if accuracy.value else "wrong"
        return (
            f"Too few samples {what}: all of {row.samples} predictions were {kind}, and how often "
            f"it is {'wrong' if accuracy.value else 'right'} cannot be seen from them."
        )
    if not evidence.enough(row):
        few = counted(row.samples, "sample")
        return f"{few} are too few {what}; in these, {reading.they} off {off}."
    return f"Too few samples {what}: {reading.they} off {off}, which may be nothing or much."


@dataclass(frozen=True)
class _Direction:
    state: State
    claim: str
    lean: str = ""


def _direction(evidence: Evidence, reading: Reading, rare: bool) -> _Direction:
    """Say which way it is off, as far as the samples can tell."""
    event, limit = reading.event, normal_limit(evidence.confidence)
    both = _both_ways(evidence, reading.curve)
    half = evidence.bounds(reading.row).center / 2
    level = event.level(limit)
    # Half of what it is off by must go one way; else the two ways cancel, and neither is "it".
    if level and (rare or abs(event.says - event.was) >= half):
        return _one_way(reading, level)
    high, low = reading.example(1.0), reading.example(-1.0)
    top = top_event(evidence.evaluation)
    if reading.name and top.level(limit) and abs(top.says - top.was) >= half:
        state = State.OVER if top.says > top.was else State.UNDER
        claim = (
            f"It is {state}confident: on average it says {percent(top.says)} of the class that it "
            f"names and is right in {percent(top.was)} of cases. For example, {high}, and {low}."
        )
        return _Direction(state, claim, f" It leans to {state}confidence.")
    if level and not both:
        return _one_way(reading, level)
    if reading.name and abs(event.slope) > limit:
        state, how = (State.EXTREME, "much") if event.slope > 0 else (State.TIMID, "little")
        claim = f"Its probabilities vary too {how}: {high}, and {low}."
        return _Direction(state, claim, f" They vary a little too {how}.")
    if both:
        claim = (
            f"{reading.subject} {reading.verb} wrong in both directions: {high} (too high), and "
            f"{low} (too low)."
        )
        return _Direction(State.BOTH, claim)
    return _Direction(
        State.OFF,
        f"{reading.subject} cannot be taken at face value; in which direction {reading.they} off "
        f"cannot be determined: {reading.average}.",
    )


def _one_way(reading: Reading, level: int) -> _Direction:
    example = reading.example(float(level))
    if not reading.name:
        state = State.OVER if level > 0 else State.UNDER
        claim = f"It is {state}confident: {reading.average}. For example, {example}."
        return _Direction(state, claim, f" It leans to {state}confidence.")
    state = State.OFTEN if level > 0 else State.RARELY
    claim = f"It predicts {reading.name} too {state}: {reading.means}. For example, {example}."
    return _Direction(state, claim, f" It predicts {reading.name} a little too {state}.")


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


def _all_classes(evidence: Evidence, row: Row, names: list[str]) -> Finding:
    """Judge the probabilities of all classes, of each against the rest.

    The classwise error is a mean over the classes, tiny by construction where these are many. Half
    the sum over the classes is on the scale of two classes: the share of the probability that is
    given to wrong classes, at least. The same limits hold for it.
    """
    half = len(names) / 2
    rows = unique_rows([row])
    value = (
        f"classwise calibration error {row.value:.3g} times {half:g}, half the number of classes"
    )
    if np.isnan(row.low):
        text = (
            f"In these samples, {percent(min(half * row.value, 1.0))} of the probability is with "
            f"the wrong class on average ({value}); {_NOT_MEASURED}."
        )
        return Finding("classes", State.UNMEASURED, Statement("info", text, rows))
    result = evidence.bounds(row)
    bounds = Bounds(half * result.center, half * result.low, half * result.high)
    enough = evidence.enough(row)
    state = size_state(bounds, SMALL, TOLERABLE) if enough else State.UNSURE
    wrong = _wrong_classes(evidence, names) if enough else []
    share = (
        f"{percent(min(half * result.center, 1.0))} of the probability is with the wrong class on "
        f"average ({nominal(evidence.confidence)} interval {points(min(half * row.low, 1.0))} to "
        f"{percent(min(half * row.high, 1.0))}; {value})"
    )
    if state is State.OFF or wrong:
        state = State.OFF
        text = f"The probabilities of single classes cannot be taken at face value: {share}."
        if wrong:
            text += f" On average it predicts {'; '.join(wrong[:_MOST_CLASSES])}"
            others = len(wrong) - _MOST_CLASSES
            text += f"; and so on for {counted(others, 'other')}." if others > 0 else "."
        summary = "the probabilities of single classes cannot be taken at face value"
        summary += f": it predicts {wrong[0]}" if wrong else ""
    elif state in GOOD:
        how = "can be taken at face value" if state is State.RIGHT else "are nearly right"
        text = f"The probabilities of all classes {how}: {share}."
        summary = ""
    else:
        text = (
            f"Too few samples to say whether the probabilities of all classes are right: {share}."
        )
        summary = "there are too few samples to say so of the probabilities of all classes"
    return Finding(
        "classes", state, Statement(LEVELS.get(state, "bad"), text, rows), summary=summary
    )


def _wrong_classes(evidence: Evidence, names: list[str]) -> list[str]:
    """Say the classes that are surely predicted too often or too rarely, the furthest off first.

    Off by more than two points, or by a factor that matters, allowing for the number of classes.
    """
    limit = normal_limit(evidence.confidence, len(names))
    result = []
    for code, name in enumerate(names):
        event = class_event(evidence.evaluation, code)
        gap, level = abs(event.says - event.was), event.level(limit)
        far = gap - limit * event.error > SMALL or event.factor(limit) > 1 + TOLERABLE_RATIO
        if level and far:
            word = "often" if level > 0 else "rarely"
            text = f"{name} too {word} ({percent(event.says)}, observed {percent(event.was)})"
            result.append((gap, text))
    return [text for _, text in sorted(result, key=lambda pair: -pair[0])]


def _together(top: list[Finding], classes: Finding) -> list[Finding]:
    """Let the summary say once what holds of the class that is named and of all classes."""
    if not top:
        return [_alone(classes)]
    (first,) = top
    if first.state in GOOD and classes.state in GOOD:
        state = State.NEARLY if State.NEARLY in (first.state, classes.state) else State.RIGHT
        text = _SUMMARIES[state].format(subject=PROBABILITIES)
        first = Finding(first.topic, state, first.statement, summary=text)
        return [first, Finding("also", classes.state, classes.statement)]
    if LEVELS.get(first.state, "bad") == "bad":
        text = _SUMMARIES[first.state].format(subject=PROBABILITIES)
        first = Finding(first.topic, first.state, first.statement, summary=text)
        return [first, Finding("also", classes.state, classes.statement)]
    if classes.state == first.state or classes.state in GOOD:
        return [first, Finding("also", classes.state, classes.statement)]
    return [first, classes]


def _alone(classes: Finding) -> Finding:
    """Let the summary speak of the classes where nothing was measured of the one that is named."""
    subject = "The probabilities of all classes"
    text = classes.summary or _SUMMARIES.get(classes.state, "").format(subject=subject)
    if classes.state is State.UNSURE:
        text = f"There are too few samples to say whether {subject.lower()} are right"
    return Finding("classes", classes.state, classes.statement, summary=text[:1].upper() + text[1:])


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
            f"up to {percent(1 - row.low if row.value else row.high)} of others like them ("
            f"{nominal(evidence.confidence)} confidence)."
        )
    else:
        sure = f"; {_NOT_MEASURED}" if np.isnan(row.low) else ""
        text = (
            f"It is right in {share_with_interval(row, evidence.confidence, ' of cases')}{sure}. "
            f"Always naming the most frequent class would be right in {naive}."
        )
    return Finding("accuracy", State.NONE, Statement("info", text, (row,)))


def _absent_classes(evidence: Evidence) -> Finding | None:
    """Name the classes of which there was no sample."""
    labels = [str(label) for label in evidence.evaluation.prediction.classes.tolist()]
    seen = set(evidence.evaluation.truth[:, 0].astype(np.intp).tolist())
    absent = [f"class={label}" for code, label in enumerate(labels) if code not in seen]
    if not absent:
        return None
    text = f"No sample is truly {listed(absent, 'or')}: nothing here says how it does for them."
    return Finding("absent", State.NONE, Statement("unsure", text))
