"""Which way probabilities are off: too high or too low on average, too extreme or too timid."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._validation import FloatArray
from ._verdict_evidence import weighted_mean
from .result import Evaluation, class_probabilities


@dataclass(frozen=True, eq=False)
class Event:
    """An event with its predicted probability, and whether it happened, for each sample.

    Attributes
    ----------
    predicted, happened : ndarrays of shape (samples,)
    weight : ndarray of shape (samples,)
    cluster : ndarray of shape (samples,) or None
    """

    predicted: FloatArray
    happened: FloatArray
    weight: FloatArray
    cluster: np.ndarray | None

    def take(self, rows: Any) -> "Event":
        """Return the event for some of the samples."""
        cluster = None if self.cluster is None else self.cluster[rows]
        return replace(
            self, predicted=self.predicted[rows], happened=self.happened[rows],
            weight=self.weight[rows], cluster=cluster,
        )  # fmt: skip

    @cached_property
    def says(self) -> float:
        """The mean predicted probability."""
        return weighted_mean(self.predicted, self.weight)

    @cached_property
    def was(self) -> float:
        """The observed frequency."""
        return weighted_mean(self.happened, self.weight)

    @cached_property
    def error(self) -> float:
        """The standard error of the difference between the two."""
        return self._error(np.ones(len(self.predicted)))

    @cached_property
    def slope(self) -> float:
        """How many standard errors above 0 the covariance of probability and excess is.

        The excess is the probability less the outcome. Above 0, high probabilities are too high
        and low ones too low: they are too extreme.
        """
        lever = self.predicted - self.says
        excess = self.predicted - self.happened - (self.says - self.was)
        error = self._error(lever)
        return weighted_mean(lever * excess, self.weight) / error if error > 0 else 0.0

    def level(self, limit: float) -> int:
        """Return 1 if it is predicted too often on average, -1 if too rarely, 0 if neither is sure.

        Sure is what is more standard errors away than the limit.
        """
        return int(np.sign(self.says - self.was)) * (abs(self.says - self.was) > limit * self.error)

    def factor(self, limit: float) -> float:
        """Return by which factor prediction and frequency surely differ; 1 if they may be equal.

        The ratio for the event or its opposite, whichever is rarer: 3 % for 1 % are a factor of
        three, and so are 97 % for 99 %.
        """
        says, was = (self.says, self.was) if self.was <= 0.5 else (1 - self.says, 1 - self.was)
        room = limit * self.error
        if says > was + room:
            return says / (was + room)
        return (was - room) / max(says, 1e-12) if says < was - room else 1.0

    def _error(self, lever: FloatArray) -> float:
        """Return the standard error of the mean of the lever times the excess.

        The larger of what the samples, or clusters of them, show and what the probabilities imply:
        where all turned out alike, the samples show none.
        """
        scale = self.weight * lever / self.weight.sum()
        gap = self.predicted - self.happened
        scores = scale * (gap - (self.says - self.was))
        if self.cluster is not None:
            _, code = np.unique(self.cluster.astype(str), return_inverse=True)
            scores = np.bincount(code, scores)
        implied = np.sum(scale**2 * self.predicted * (1 - self.predicted))
        return float(np.sqrt(max(np.sum(scores**2), implied)))


def class_event(evaluation: Evaluation, code: int) -> Event:
    """Return the event that a class is the true one."""
    p = class_probabilities(evaluation)[:, code]
    return _event(evaluation, p, evaluation.truth[:, 0] == code)


def top_event(evaluation: Evaluation) -> Event:
    """Return the event that the most probable class is the true one."""
    p = class_probabilities(evaluation)
    label = p.argmax(axis=1)
    top = np.take_along_axis(p, label[:, None], axis=1)[:, 0]
    return _event(evaluation, top, label == evaluation.truth[:, 0])


def _event(evaluation: Evaluation, predicted: FloatArray, happened: np.ndarray) -> Event:
    weight = evaluation.sample_weight
    given = np.ones(len(predicted)) if weight is None else weight
    return Event(predicted, happened.astype(np.float64), given, evaluation.cluster)
