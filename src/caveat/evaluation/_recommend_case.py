"""Choose among techniques by a proper score and a calibration error, with sentences."""

from dataclasses import dataclass

import numpy as np

from ..metrics import METRICS
from ..results.tables import number
from .answers import Answer
from .comparison import Comparison, cost, indistinguishable, pareto_front

Answers = dict[str, list[Answer]]
"""By technique."""


@dataclass(frozen=True)
class Choice:
    technique: str | None
    tied: tuple[str, ...]
    text: str


class Case:
    """Techniques with their reliability and skill."""

    def __init__(
        self,
        comparison: Comparison,
        primary: str,
        one_class: str | None,
        skill: str,
        reliable: Answers,
        skilled: Answers,
    ) -> None:
        self.comparison = comparison
        self.primary, self.skill = primary, skill
        self.reliable = reliable
        self.values, self.skills = _means(primary, reliable), _means(skill, skilled)
        # Two tests share the error probability.
        alone = primary == skill
        self.confidence = comparison.confidence if alone else (1 + comparison.confidence) / 2
        good, *others = self._not_worse(skill, skilled, list(skilled))
        self.good = [good, *others]
        than = f"clearly worse than {_number(self.skills[good])} of {good}"
        self.worse = {
            name: f"{_words(skill)} {_number(value)}, {than}"
            for name, value in self.skills.items()
            if name not in self.good
        }
        costs = {name: (value, self.skills[name]) for name, value in self.values.items()}
        self.front = tuple(pareto_front(costs))
        of = "" if one_class is None else f" of {one_class} against the rest"
        self.what = f"{_words(primary)}{of}"
        if METRICS[primary].direction == "target":
            self.what = f"distance of the {_words(primary)} from {METRICS[primary].optimum:g}"

    def chosen(self) -> Choice:
        """Return the technique that stands out, or those that are tied."""
        tied = tuple(self.good)
        if self.primary != self.skill:
            tied = tuple(self._not_worse(self.primary, self.reliable, self.good))
        best = tied[0]
        if len(tied) > 1:
            return Choice(None, tied, self._tie(tied))
        text = f"No clear winner: {best} is the best of {len(self.values)} by {self.what} ("
        text += f"{_number(self.values[best])}), "
        blind = _knows_nothing(self.comparison, best)
        if blind:
            tied = (best, *(name for name in self.good if name != best))
            return Choice(None, tied, f"{text}but {blind}.")
        other = self._better_classwise(best)
        if other:
            text += "the class that is named; by classwise calibration error, all classes, "
            return Choice(None, (best, other), f"{text}{other} is clearly better.")
        return Choice(best, tied, self._winner(best))

    def trade_off(self, chosen: Choice) -> list[str]:
        """Return who was excluded for lack of skill, and what a more reliable one would cost."""
        result = []
        if self.worse and len(self.good) > 1:
            names = ", ".join(f"{name} {_number(self.skills[name])}" for name in self.worse)
            result.append(f"Clearly worse by {_words(self.skill)}: {names}.")
        best, most = chosen.tied[0], min(self.values, key=self.values.__getitem__)
        dear = self.primary != self.skill and most in self.worse and chosen.technique
        if dear and best not in self._not_worse(self.primary, self.reliable, list(self.values)):
            cost = self.skills[most] - self.skills[best]
            result.append(
                f"{most} has a lower {self.what} ({_number(self.values[most])}), which would cost "
                f"{_number(cost)} in {_words(self.skill)}; recalibrating {best} may give both."
            )
        return [*result, *self._ranks_better(best)]

    def _ranks_better(self, best: str) -> list[str]:
        """Return a hint where one that was excluded distinguishes the classes clearly better."""
        rows = {
            row.technique: row
            for row in self.comparison.matching(metric="roc_auc_score", group="")
            if row.one_class is None
        }
        first = next((name for name, row in rows.items() if row.best), "")
        if first not in self.worse or rows[best].tied:
            return []
        return [
            f"{first} distinguishes the classes better (ROC AUC {_number(rows[first].value)} "
            f"against {_number(rows[best].value)}): recalibrating it may win."
        ]

    def _not_worse(self, metric: str, answers: Answers, names: list[str]) -> list[str]:
        """Return the best by a metric, then those that cannot be distinguished from it."""
        values = _means(metric, {name: answers[name] for name in names})
        best, *others = sorted(names, key=values.__getitem__)
        return [best] + [
            name
            for name in others
            if np.isclose(values[name], values[best], rtol=1e-12, atol=1e-12)
            or indistinguishable(metric, answers[best], answers[name], len(names), self.confidence)
        ]

    def _better_classwise(self, best: str) -> str:
        """Return a technique that is clearly better classwise than the best by top class."""
        metric = "classwise_calibration_error"
        if self.primary != "expected_calibration_error":
            return ""
        have = [
            n for n in self.good if any(k.metric == metric for k in self.comparison._answers[n])
        ]
        if best not in have:
            return ""
        answers = {name: list(self.comparison._entries(name, metric).values()) for name in have}
        tied = self._not_worse(metric, answers, have)
        return "" if best in tied else tied[0]

    def _winner(self, best: str) -> str:
        others = [n for n in self.values if n != best]
        if self.primary == self.skill or len(self.good) == 1:
            text = f"Use {best}: its {_words(self.skill)} is {_number(self.skills[best])}"
            text += _lowest(self.skills, others)
            if self.primary == self.skill:
                return f"{text}."
            return f"{text}; its {self.what} is {_number(self.values[best])}."
        rivals = [name for name in self.good if name != best]
        return (
            f"Use {best}: its {self.what} is {_number(self.values[best])}"
            f"{_lowest(self.values, rivals)}; its {_words(self.skill)} is "
            f"{_number(self.skills[best])}, and none of these is clearly better by it."
        )

    def _tie(self, tied: tuple[str, ...]) -> str:
        shown = ", ".join(f"{name} {_number(self.values[name])}" for name in tied)
        text = (
            f"No clear winner: by {self.what}, {', '.join(tied[1:])} cannot be distinguished from "
            f"{tied[0]} ({shown})"
        )
        if self.primary != self.skill:
            skills = ", ".join(f"{name} {_number(self.skills[name])}" for name in tied)
            text += f", and none is clearly worse by {_words(self.skill)} ({skills})"
        return f"{text}. Let cost, simplicity or the supporting metrics decide."


def _lowest(values: dict[str, float], others: list[str]) -> str:
    if not others:
        return ""
    shown = ", ".join(_number(values[name]) for name in others)
    return f", the lowest of {len(others) + 1} (others {shown})"


def _means(metric: str, answers: Answers) -> dict[str, float]:
    """Return the mean cost of each technique's answers."""
    return {
        name: float(np.mean([cost(metric, answer.value) for answer in result]))
        for name, result in answers.items()
    }


def _knows_nothing(comparison: Comparison, name: str) -> str:
    """Return why a technique does not distinguish samples, or nothing if it does."""
    evaluation = comparison.evaluations[name]
    prediction = evaluation.prediction
    if len(prediction) > 1 and prediction.take(np.zeros(len(prediction), dtype=int)) == prediction:
        return "it says the same of every sample"
    for row in evaluation.matching(metric="roc_auc_score", group=""):
        if (row.value if np.isnan(row.low) else row.low) <= 0.5:
            between = "" if np.isnan(row.low) else f" ({_number(row.low)} to {_number(row.high)})"
            return (
                f"it cannot be distinguished from guessing: ROC AUC {_number(row.value)}{between}, "
                "and 0.5 is chance"
            )
    return ""


def _number(value: float) -> str:
    """Return a value for a reader, 0 within rounding error."""
    return number(round(value, 12))


def _words(metric: str) -> str:
    return metric.replace("_", " ")
