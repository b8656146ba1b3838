"""Scores of several predictions of the same samples, in the same resamples."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from ..evaluation.answers import Answer, EvaluationContext, plan_for, relative_weights
from ..evaluation.questions import questions
from ..resampling import Replicates

CONFIDENCE, RESAMPLES = 0.95, 1000


class Scorer:
    """Measures predictions of the same samples, so that their scores can be paired.

    Parameters
    ----------
    prediction : prediction
        One of those that are measured.
    y : array of shape (samples,) or (samples, targets)
    weight : array of shape (samples,) or None
    cluster : array of shape (samples,) or None
    seed : int
    """

    def __init__(
        self,
        prediction: Any,
        y: NDArray[Any],
        weight: FloatArray | None,
        cluster: NDArray[Any] | None,
        seed: int,
    ) -> None:
        self.y = y
        plan = plan_for(prediction, RESAMPLES, cluster, seed)
        relative = relative_weights(weight, len(prediction))
        self.context = EvaluationContext(relative, plan, CONFIDENCE, cluster)

    def measured(self, prediction: Any, names: Sequence[str]) -> dict[str, list[Answer]]:
        """Return the answers by metric, one for each target."""
        asked, _ = questions(prediction, self.y, list(names))
        result: dict[str, list[Answer]] = {name: [] for name in names}
        for question, answer in zip(asked, self.context.ask(asked, None), strict=True):
            result[question.metric.name].append(answer)
        return result


def units_of(base: list[Answer]) -> list[float]:
    """Return what each target is measured in: its score in ``base``, if there are several."""
    return [1.0] if len(base) == 1 else [answer.value or 1.0 for answer in base]


def mean_score(answers: list[Answer], base: list[Answer]) -> float:
    """Return the mean over targets of a score; with several, relative to that of ``base``."""
    units = units_of(base)
    return float(np.mean([a.value / unit for a, unit in zip(answers, units, strict=True)]))


def gain_of(before: list[Answer], after: list[Answer], base: list[Answer]) -> Replicates:
    """Return by how much a score falls, in all resamples: the mean over targets."""
    units = units_of(base) if base else [1.0] * len(before)
    olds, news = ([a.replicates for a in answers] for answers in (before, after))
    values: Any = 0.0
    center, count, strata = 0.0, 0, 1
    for old, new, unit in zip(olds, news, units, strict=True):
        assert old is not None
        assert new is not None
        difference = old - new
        values = values + difference.values / unit / len(units)
        center += difference.center / unit / len(units)
        count, strata = difference.units, difference.strata
    return Replicates(np.asarray(values), center, count, strata)


def finite(answers: list[Answer]) -> bool:
    """Whether the score of every target is finite."""
    return all(np.isfinite(answer.value) for answer in answers)
