"""States of several classes that are made of counts, when they are read.

Making the sums of each metric takes longer than adding the counts of two batches up, so that a
summary holds the counts and makes the sums once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from ..evaluation.questions import MOST_CLASSES, Question, take
from ..metrics.condensed import sums_by_class, sums_of_rows
from ..metrics.states import State, SumPairs, made_state
from .tallies import ClassTally, Tally, UncertaintyTally

__all__ = ["QuestionKey", "Tallied", "TalliedStates", "is_condensed", "key_of", "tallied"]

QuestionKey = tuple[str, str, str | None, float | None, float | None]
"""Metric, target, class, coverage and quantile of a question."""


def key_of(question: Question) -> QuestionKey:
    """Return what distinguishes a question from the others of a prediction."""
    q = question
    return q.metric.name, q.target, q.one_class, q.coverage, q.quantile


def is_condensed(question: Question, classes: int) -> bool:
    """Return whether cells can stand for the samples of a question, which have no weights.

    Parameters
    ----------
    question : Question
    classes : int
        The number of classes that are predicted; 0 for numbers.
    """
    by_class = question.metric.by_class or question.against_rest
    return 2 < classes <= MOST_CLASSES and (by_class or question.metric.task == "ranking")


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
        if isinstance(self.tally, UncertaintyTally):
            rows = self.tally.rows()
            sums = sums_of_rows(_metrics(self.asked), "uncertainty", rows)
            yield from zip(self.asked, sums, strict=True)
            return
        assert isinstance(self.tally, ClassTally)
        by_class = [q for q in self.asked if not q.against_rest]
        against = [q for q in self.asked if q.against_rest]
        names = list(dict.fromkeys(q.one_class for q in against))
        each = list(self.tally.rows())
        for name, both in zip(names, each, strict=bool(names)):
            own = [q for q in against if q.one_class == name]
            yield from zip(own, sums_of_rows(_metrics(own), "probabilities", both), strict=True)
        sums = sums_by_class(_metrics(by_class), list(zip(*each, strict=True)))
        yield from zip(by_class, sums, strict=True)


class TalliedStates(Mapping[QuestionKey, State]):
    """States by question, some of which are made of counts when one is read.

    Parameters
    ----------
    made : dict of QuestionKey to State
    tallied : sequence of Tallied
    """

    def __init__(self, made: Mapping[QuestionKey, State], tallied: Sequence[Tallied]) -> None:
        self.made, self.tallied = dict(made), tuple(tallied)

    def with_more(self, other: Mapping[QuestionKey, State]) -> "TalliedStates":
        """Return these states and those of other questions about the same samples."""
        assert isinstance(other, TalliedStates)
        return TalliedStates({**self.made, **other.made}, (*self.tallied, *other.tallied))

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
    asked: Sequence[Question],
    unit: NDArray[np.int32],
    plain: bool,
    codes: NDArray[np.int32],
    groups: int,
) -> list[list[Tallied]]:
    """Count samples for questions that are condensed; return the counts of each group.

    Parameters
    ----------
    asked : sequence of Question
    unit, codes : ndarrays of shape (samples,)
        The unit and the group of each sample.
    plain : bool
        Whether none of the samples belong together.
    groups : int
    """
    result: list[list[Tallied]] = [[] for _ in range(groups)]
    ranking = [q for q in asked if q.metric.task == "ranking"]
    by_class = [q for q in asked if q.metric.task != "ranking"]
    samples = np.bincount(codes, minlength=groups).tolist()

    def add(own: list[Question], tallies: Sequence[Tally]) -> None:
        first = tuple(take(own, np.arange(1)))
        for i, tally in enumerate(tallies):
            result[i].append(Tallied(first, tally, samples[i], plain))

    if ranking:
        wrong, uncertainty = ranking[0].truth != 0, ranking[0].inputs["uncertainty"]
        add(ranking, UncertaintyTally.of(uncertainty, wrong, unit, codes, groups))
    if by_class:
        p, truth = _columns(by_class)
        each = (np.flatnonzero(codes == i) if groups > 1 else slice(None) for i in range(groups))
        add(by_class, [ClassTally.of(p[rows], truth[rows], unit[rows]) for rows in each])
    return result


def _columns(asked: Sequence[Question]) -> tuple[FloatArray, NDArray[np.integer]]:
    """Return the probabilities of all classes and the position of the true one."""
    first = next((q for q in asked if not q.against_rest), None)
    if first is not None:
        return first.inputs["probabilities"], first.truth
    each = list({q.one_class: q for q in asked}.values())
    columns = np.stack([q.inputs["probabilities"] for q in each])
    return columns.T, np.stack([q.truth for q in each]).argmax(axis=0)


def _metrics(asked: Sequence[Question]) -> list[Any]:
    return [(question.metric, question.options) for question in asked]


def _arrays(question: Question) -> dict[str, np.ndarray]:
    return {name: np.asarray(value) for name, value in question.inputs.items()}
