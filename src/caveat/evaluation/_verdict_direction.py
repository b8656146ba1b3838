"""The direction of miscalibration: too high or too low on average, too extreme or too timid."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._blocks import highest
from .._validation import FloatArray
from ..metrics import reliability_curve
from ..results.judgments import FindingState
from ..results.rows import Row
from ..results.words import percent, whole
from ._verdict_evidence import RARE, Bounds, Evidence, normal_limit, weighted_mean
from .result import Evaluation, class_probabilities

PROBABILITIES = "Its probabilities"
CONFIDENCE = "Its confidence in the class that it names"


@dataclass(frozen=True, eq=False)
class Event:
    """The predicted probability of an event, and whether it happened, for each sample."""

    predicted: FloatArray
    happened: FloatArray
    weight: FloatArray
    cluster: np.ndarray | None
    means: tuple[float, float] | None = None
    """The means of both, where the samples are some rows that stand for all."""

    def take(self, rows: Any, means: tuple[float, float] | None = None) -> "Event":
        """Return the event for some of the samples, of whom the means may be known."""
        cluster = None if self.cluster is None else self.cluster[rows]
        return replace(
            self, predicted=self.predicted[rows], happened=self.happened[rows],
            weight=self.weight[rows], cluster=cluster, means=means,
        )  # fmt: skip

    @cached_property
    def says(self) -> float:
        """The mean predicted probability."""
        return weighted_mean(self.predicted, self.weight) if self.means is None else self.means[0]

    @cached_property
    def was(self) -> float:
        """The observed frequency."""
        return weighted_mean(self.happened, self.weight) if self.means is None else self.means[1]

    @cached_property
    def error(self) -> float:
        """The standard error of the difference between the two."""
        return self._error(np.ones(len(self.predicted)))

    @cached_property
    def slope(self) -> float:
        """The covariance of probability and excess, in standard errors.

        The excess is the probability minus the outcome. A positive covariance means that high
        probabilities are too high and low ones too low.
        """
        lever = self.predicted - self.says
        excess = self.predicted - self.happened - (self.says - self.was)
        error = self._error(lever)
        return weighted_mean(lever * excess, self.weight) / error if error > 0 else 0.0

    def level(self, limit: float) -> int:
        """Return 1 if it is predicted too often on average, -1 if too rarely, 0 if not significant.

        ``limit`` is a number of standard errors.
        """
        return int(np.sign(self.says - self.was)) * (abs(self.says - self.was) > limit * self.error)

    def ratio(self, limit: float) -> Bounds:
        """Return the observed frequency as a multiple of the predicted one, with its bounds.

        It is that of the event or its opposite, whichever is rarer: a third for 3 % instead of
        1 %, and for 97 % instead of 99 %.
        """
        says, was = (self.says, self.was) if self.was <= 0.5 else (1 - self.says, 1 - self.was)
        room = limit * self.error
        ends = (each / max(says, 1e-12) for each in (was, max(was - room, 0.0), was + room))
        return Bounds(*ends)

    @property
    def is_rare(self) -> bool:
        """Whether a small error in points may be a large one of the event, or of its opposite."""
        return min(self.was, 1 - self.was) < RARE

    def factor(self, limit: float) -> float:
        """Return the least factor between prediction and frequency; 1 if not significant."""
        ratio = self.ratio(limit)
        return max(1.0, ratio.low, 1 / max(ratio.high, 1e-12))

    def _error(self, lever: FloatArray) -> float:
        """Return the standard error of the mean of the lever times the excess.

        It is the larger of the empirical one and the one that the probabilities imply: if all
        samples have the same outcome, the empirical one is 0.
        """
        scale = self.weight * lever / self.weight.sum()
        gap = self.predicted - self.happened
        observed = _square_of_sum(scale * (gap - (self.says - self.was)), self.cluster)
        implied = np.sum(scale**2 * self.predicted * (1 - self.predicted))
        return float(np.sqrt(max(observed, implied)))


def mean_and_error(
    values: FloatArray, weight: FloatArray, cluster: np.ndarray | None
) -> tuple[float, float]:
    """Return a mean and its standard error."""
    mean = weighted_mean(values, weight)
    return mean, _square_of_sum(weight / weight.sum() * (values - mean), cluster) ** 0.5


def _square_of_sum(scores: FloatArray, cluster: np.ndarray | None) -> float:
    """Return the expected square of the sum of scores, of which clusters are independent."""
    if cluster is not None:
        _, code = np.unique(cluster.astype(str), return_inverse=True)
        scores = np.bincount(code, scores).astype(np.float64)
    return float(np.sum(scores**2))


def class_event(evaluation: Evaluation, code: int) -> Event:
    """Return the event that a class is the true one."""
    p = class_probabilities(evaluation)[:, code]
    return _event(evaluation, p, evaluation.truth[:, 0] == code, code)


def top_event(evaluation: Evaluation) -> Event:
    """Return the event that the most probable class is the true one."""
    label, top = highest(class_probabilities(evaluation))
    return _event(evaluation, top, label == evaluation.truth[:, 0], None)


def binary_event(p: FloatArray, truth: np.ndarray, weight: FloatArray, *, top: bool) -> Event:
    """Return the event that the second of two classes is true, or the more probable one."""
    if not top:
        return Event(p, truth.astype(np.float64), weight, None)
    return Event(np.maximum(p, 1 - p), ((p > 0.5) == truth).astype(np.float64), weight, None)


def known_means(
    evaluation: Evaluation, place: tuple[str, str], code: int | None
) -> tuple[float, float] | None:
    """Return the means of an event among all samples or in a group, if a summary knows them."""
    totals = evaluation.totals.get(place)
    return None if totals is None else totals.means.get(code)


def _event(
    evaluation: Evaluation, predicted: FloatArray, happened: np.ndarray, code: int | None
) -> Event:
    weight = evaluation.sample_weight
    given = np.ones(len(predicted)) if weight is None else weight
    means = known_means(evaluation, ("", ""), code)
    return Event(predicted, happened.astype(np.float64), given, evaluation.cluster, means)


@dataclass(frozen=True)
class Predicted:
    """A predicted probability: the row that judges it, and words for it."""

    row: Row
    event: Event
    subject: str
    name: str = ""
    """The class of the probability; empty for the most probable class."""

    @property
    def verb(self) -> str:
        """The verb of the subject."""
        return "are" if self.subject == PROBABILITIES else "is"

    @property
    def they(self) -> str:
        """The pronoun of the subject, with its verb."""
        return "they are" if self.subject == PROBABILITIES else "it is"

    @property
    def means(self) -> str:
        """Predicted and observed frequency, in short."""
        return f"{percent(self.event.says)} on average, observed {percent(self.event.was)}"

    @property
    def average(self) -> str:
        """Predicted and observed frequency, in a clause."""
        says, was = percent(self.event.says), percent(self.event.was)
        if self.name:
            return f"on average {self.averages}"
        return f"on average it says {says} and is right in {was} of cases"

    @property
    def averages(self) -> str:
        """The mean probability of the class and its observed frequency, in a clause."""
        says, was = percent(self.event.says), percent(self.event.was)
        return f"it predicts {says} for {self.name}, and {was} were observed"

    @cached_property
    def curve(self) -> Any:
        """The reliability curve, with the bins of the calibration error in the table."""
        return reliability_curve(
            self.event.happened.astype(np.int8), self.event.predicted, kind="positive",
            sample_weight=self.event.weight,
        )  # fmt: skip

    def example(self, sign: float) -> str:
        """Return the bin that adds most to the error, in one direction or (for 0) in any."""
        curve = self.curve
        gap = (curve.predicted - curve.observed) * curve.weight
        place = int(np.argmax(sign * gap if sign else np.abs(gap)))
        pair = curve.predicted[place], curve.observed[place]
        says, was = (percent(p) if max(pair) < 0.1 else whole(p) for p in pair)
        if self.name:
            return f"when it said about {says} for {self.name}, {was} were"
        return f"when it said about {says}, it was right in {was}"


@dataclass(frozen=True)
class Direction:
    """The direction of miscalibration, and sentences on it."""

    state: FindingState
    claim: str
    lean: str = ""
    summary: str = ""
    """What the summary adds to the state, of two classes."""


def direction_of(evidence: Evidence, predicted: Predicted, rare: bool) -> Direction:
    """Return the direction of miscalibration, as far as the samples show it."""
    event, limit = predicted.event, normal_limit(evidence.confidence)
    # Some bin is significantly too high, and another one too low.
    both = {-1.0, 1.0} <= {*bins_off(evidence, predicted.curve).tolist()}
    half = evidence.bounds(predicted.row).center / 2
    level = event.level(limit)
    # At least half of the error must go in one direction, otherwise the two directions cancel.
    if level and (rare or abs(event.says - event.was) >= half):
        return _one_way(predicted, level)
    high, low = predicted.example(1.0), predicted.example(-1.0)
    top = top_event(evidence.evaluation)
    off, on_average = abs(top.says - top.was), abs(event.says - event.was)
    # What is off above one half and below it has the same sign where the first is larger.
    if predicted.name and top.level(limit) and off >= half and off > on_average:
        says = (
            f"on average it says {percent(top.says)} of the class that it names and is right in "
            f"{percent(top.was)} of cases"
        )
        over = top.says > top.was
        made = _confidence(over, says, f"{high}, and {low}")
        both_ends = f"high risks are {{}}too {_HIGH[over]}, low ones too {_HIGH[not over]}"
        return replace(
            made,
            claim=made.claim + _risk(predicted, level),
            lean=f" It leans to {made.state}confidence: {both_ends.format('a little ')}.",
            summary=f" ({both_ends.format('')})"
            + (f", and on average the risk is {estimated(level)}" if level else ""),
        )
    if level and not both:
        return _one_way(predicted, level)
    if predicted.name and abs(event.slope) > limit:
        state, how = (
            (FindingState.EXTREME, "much") if event.slope > 0 else (FindingState.TIMID, "little")
        )
        claim = f"Its probabilities vary too {how}: {high}, and {low}.{_risk(predicted, level)}"
        return Direction(state, claim, f" They vary a little too {how}.")
    if both:
        claim = (
            f"{predicted.verb} wrong in both directions: {high} (too high), and {low} (too low)."
            f"{_risk(predicted, level)}"
        )
        return Direction(FindingState.BOTH, f"{predicted.subject} {claim}")
    claim = (
        f"cannot be taken at face value; in which direction {predicted.they} off cannot be "
        f"determined: {predicted.average}."
    )
    return Direction(FindingState.OFF, f"{predicted.subject} {claim}")


def _one_way(predicted: Predicted, level: int) -> Direction:
    example = predicted.example(float(level))
    if not predicted.name:
        return _confidence(level > 0, predicted.average, example)
    state = FindingState.OFTEN if level > 0 else FindingState.RARELY
    claim = (
        f"It predicts {predicted.name} too {state}, and so the risk is {estimated(level)}: "
        f"{predicted.means}. For example, {example}."
    )
    return Direction(state, claim, f" It predicts {predicted.name} a little too {state}.")


_HIGH = {True: "high", False: "low"}


def estimated(level: int) -> str:
    """Return the direction of a risk that is too high or too low."""
    return "overestimated" if level > 0 else "underestimated"


def _risk(predicted: Predicted, level: int) -> str:
    """Return whether the probability of the second of two classes is right on average."""
    if not predicted.name:
        return ""
    if level:
        return f" On average the risk is {estimated(level)}: {predicted.averages}."
    return f" No over- or underestimate of the risk on average can be shown: {predicted.averages}."


def _confidence(over: bool, says: str, example: str) -> Direction:
    state = FindingState.OVER if over else FindingState.UNDER
    claim = f"It is {state}confident: {says}. For example, {example}."
    return Direction(state, claim, f" It leans to {state}confidence.")


def bins_off(evidence: Evidence, curve: Any, by: float = 0.0) -> np.ndarray:
    """Return the direction of the bins that are off by more than so much (Bonferroni), else 0."""
    weight = curve.weight / curve.weight.sum() * evidence.samples
    # Clusters and weights inflate the noise in a bin as much as over all samples.
    inflation = max(1.0, evidence.samples / evidence.units)
    spread = [np.clip(p * (1 - p), 0.0, None) for p in (curve.predicted, curve.observed)]
    noise = np.sqrt(inflation * np.maximum(*spread) / weight)
    limit = normal_limit(evidence.confidence, len(weight))
    gap = curve.predicted - curve.observed
    enough = weight / inflation >= 10  # the normal limit needs some samples in a bin
    return np.sign(gap) * ((np.abs(gap) - by > limit * noise) & enough)
