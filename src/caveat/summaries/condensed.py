"""States of several classes that are made of counts, when they are read.

Making the sums of each metric takes longer than adding the counts of two batches up, so that a
summary holds the counts and makes the sums once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np

from ..evaluation.questions import Question
from ..metrics.condensed import sums_of_rows
from ..metrics.states import State, SumPairs, made_state
from .tallies import SCORED, ClassTally, LabelTally, ScoreTally, Tally, TopTally, UncertaintyTally

__all__ = ["QuestionKey", "Tallied", "TalliedStates", "answered_by", "key_of"]

QuestionKey = tuple[str, str, str | None, float | None, float | None]
"""Metric, target, class, coverage and quantile of a question."""

_KINDS = {"class": ClassTally, "top": TopTally, "label": LabelTally, "entropy": LabelTally}


def key_of(question: Question) -> QuestionKey:
    """Return what distinguishes a question from the others of a prediction."""
    q = question
    return q.metric.name, q.target, q.one_class, q.coverage, q.quantile


def answered_by(question: Question) -> type[Tally] | None:
    """Return the counts that answer a question about several classes; None if none do."""
    metric = question.metric
    if metric.sums is None or question.options:
        return None
    if metric.task == "ranking":
        return UncertaintyTally
    if metric.function in SCORED:
        return ScoreTally
    return ClassTally if question.against_rest else _KINDS.get(metric.cells)


@dataclass(frozen=True, eq=False)
class Tallied:
    """Questions and the counts that answer them.

    Attributes
    ----------
    asked : tuple of Question
        Asked about the first sample alone: the others are in the counts.
    tally : Tally
    samples : int
    plain : bool
        Whether none of the samples belong together.
    """

    asked: tuple[Question, ...]
    tally: Tally
    samples: int
    plain: bool

    @property
    def keys(self) -> list[QuestionKey]:
        """The keys of the questions."""
        return [key_of(question) for question in self.asked]

    def __add__(self, other: "Tallied") -> "Tallied":
        both, plain = self.samples + other.samples, self.plain and other.plain
        return replace(self, tally=self.tally + other.tally, samples=both, plain=plain)

    def states(self) -> dict[QuestionKey, State]:
        """Return the state of each question."""
        sums = {key_of(question): pairs for question, pairs in self._sums()}
        return {
            key: made_state(q.metric, q.options, _arrays(q), self.samples, self.plain, *sums[key])
            for key, q in zip(self.keys, self.asked, strict=True)
        }

    def _sums(self) -> Iterator[tuple[Question, list[SumPairs]]]:
        whole = [q for q in self.asked if not q.against_rest]
        if whole:
            yield from zip(whole, self.tally.sums(_metrics(whole)), strict=True)
        against = [q for q in self.asked if q.against_rest]
        if against:
            assert isinstance(self.tally, ClassTally)
            names = list(dict.fromkeys(q.one_class for q in against))
            for name, both in zip(names, self.tally.rows(), strict=True):
                own = [q for q in against if q.one_class == name]
                yield from zip(own, sums_of_rows(_metrics(own), "probabilities", both), strict=True)


class TalliedStates(Mapping[QuestionKey, State]):
    """States by question, some of which are made of counts when one is read.

    Parameters
    ----------
    made : dict of QuestionKey to State
    tallied : sequence of Tallied
    """

    def __init__(self, made: Mapping[QuestionKey, State], tallied: Sequence[Tallied]) -> None:
        self.made, self.tallied = dict(made), tuple(tallied)

    def __add__(self, other: "TalliedStates") -> "TalliedStates":
        made = {key: own + other.made[key] for key, own in self.made.items() if key in other.made}
        pairs = zip(self.tallied, other.tallied, strict=True)
        return TalliedStates(made, [one + two for one, two in pairs])

    def adds_to(self, other: Mapping[QuestionKey, State]) -> TypeGuard["TalliedStates"]:
        """Whether the counts of both are of the same questions."""
        return isinstance(other, TalliedStates) and (
            [one.keys for one in self.tallied] == [one.keys for one in other.tallied]
        )

    @property
    def nbytes(self) -> int:
        """The size of the counts, and of the sums that were made."""
        states = self.__dict__.get("_all", self.made)
        counts = sum(one.tally.nbytes for one in self.tallied)
        return counts + sum(state.nbytes for state in states.values())

    @cached_property
    def _all(self) -> dict[QuestionKey, State]:
        result = dict(self.made)
        for one in self.tallied:
            result |= one.states()
        return result

    def __getitem__(self, key: QuestionKey) -> State:
        return self._all[key]

    def __iter__(self) -> Iterator[QuestionKey]:
        yield from self.made
        for one in self.tallied:
            yield from one.keys

    def __len__(self) -> int:
        return len(self.made) + sum(len(one.asked) for one in self.tallied)

    def __contains__(self, key: object) -> bool:
        return any(key == own for own in self)

    def __getstate__(self) -> dict[str, Any]:
        return {"made": self.made, "tallied": self.tallied}


def tallied(
    asked: Sequence[Question], tallies: Sequence[Tally], samples: int, plain: bool
) -> list[Tallied]:
    """Return the questions with the counts that answer them.

    Parameters
    ----------
    asked : sequence of Question
        About any one sample.
    tallies : sequence of Tally
    samples : int
    plain : bool
        Whether none of the samples belong together.
    """
    result = []
    for tally in tallies:
        own = tuple(q for q in asked if answered_by(q) is type(tally))
        if own:
            result.append(Tallied(own, tally, samples, plain))
    return result


def _metrics(asked: Sequence[Question]) -> list[Any]:
    return [(question.metric, question.options) for question in asked]


def _arrays(question: Question) -> dict[str, np.ndarray]:
    return {name: np.asarray(value) for name, value in question.inputs.items()}
