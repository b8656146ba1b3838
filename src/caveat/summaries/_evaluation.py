"""The evaluation of a summary, with its answers for a comparison."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._groups import attributes
from .._parallel import one_thread_of_blas
from .._random import RandomState, generator
from .._validation import NONE_COUNTS, FloatArray, check_fraction, check_integer
from ..evaluation import Comparison, Evaluation
from ..evaluation.answers import (
    Answer,
    EvaluationContext,
    class_attribute,
    group_rows,
    plan_for,
    relative_weights,
    run_evaluation,
    within,
)
from ..evaluation.comparison import compared
from ..evaluation.questions import Question, by_share, questions, wanted_metrics
from ..evaluation.result import TRUE_CLASS, Curves
from ..exceptions import InvalidValueError, OptionError
from ..metrics import METRICS
from ..metrics.states import grid_sums, made_state, value_of
from ..metrics.units import UNITS
from ..predictions import Categorical
from ..resampling.from_states import state_replicates, unit_draws
from ..results.rows import Key
from ._totals import totals_of
from .condensed import QuestionKey, key_of
from .parts import Part
from .summary import ALL, Summary
from .tables import BITS, coarse_rows, table_rows

_ROWS = 20_000
"""About how many rows stand for all samples of a table in the arrays of an evaluation."""


@dataclass(frozen=True)
class Evaluated:
    """An evaluation, and the answers that a comparison needs."""

    evaluation: Evaluation
    answers: dict[Key, Answer]


def evaluate_summary(
    summary: Summary,
    metrics: Sequence[str] | None,
    confidence: float,
    resamples: int,
    random_state: RandomState,
) -> Evaluated:
    """Evaluate the samples of a summary."""
    if not summary.about.truth:
        raise OptionError(
            "this summary was made without true values, so that nothing can be evaluated; "
            "caveat.drift says whether the predictions changed"
        )
    if not summary.parts[ALL].mass:
        raise InvalidValueError(NONE_COUNTS)
    confidence = check_fraction(confidence, "confidence")
    check_integer(resamples, "resamples", 0)
    seed = int(generator(random_state).integers(2**63))
    chosen = _chosen(summary, metrics)
    with one_thread_of_blas:
        return _evaluated(summary, chosen, confidence, resamples, seed)


def _evaluated(
    summary: Summary, chosen: list[str] | None, confidence: float, resamples: int, seed: int
) -> Evaluated:
    kept = summary.kept
    if kept is not None and len(kept) == summary.samples:
        plan = plan_for(kept.prediction, resamples, kept.cluster, seed)
        weight = relative_weights(kept.weight, len(kept))
        run = EvaluationContext(weight, plan, confidence, kept.cluster, answers={})
        groups = dict(kept.groups) or None
        made = run_evaluation(run, kept.prediction, kept.y, groups, None, chosen)
        return Evaluated(made, run.answers or {})
    run = EvaluationContext(None, None, confidence, answers={})
    counts = unit_draws(UNITS, resamples, seed) if resamples else None
    known = (_FromTables if summary.about.counted else _FromStates)(summary, chosen, counts, seed)
    return Evaluated(known.evaluation(run), run.answers or {})


def _chosen(summary: Summary, metrics: Sequence[str] | None) -> list[str] | None:
    """Return the metrics to evaluate, all of which the summary has."""
    had = summary.about.metrics
    if metrics is None:
        return None if had is None else list(had)
    names = wanted_metrics(metrics)
    if had is not None:
        own = {entry.name for name in had for entry in METRICS.find(name)}
        missing = [name for name in names if name not in own]
        if missing:
            raise OptionError(
                f"the summary was made without {missing[0]}; it has {', '.join(sorted(own))}"
            )
    return names


class _FromStates:
    """The answers of a summary whose parts have a state for each question."""

    def __init__(
        self,
        summary: Summary,
        metrics: list[str] | None,
        counts: NDArray[np.uint16] | None,
        seed: int,
    ) -> None:
        self.summary, self.counts, self.seed = summary, counts, seed
        self.prediction, self.y, self.weight = self._rows()
        asked, self.blocks = questions(self.prediction, self.y, metrics)
        self.asked = [question for question in asked if self._has(question)]
        self.parts = self._parts()

    def _rows(self) -> tuple[Any, Any, FloatArray | None]:
        """Return rows that stand for all samples, with their weights."""
        kept = self.summary.kept
        assert kept is not None
        if kept.weight is not None and not kept.weight.any():
            raise InvalidValueError(
                f"none of the {len(kept):,} random samples that the summary keeps has a weight "
                "above 0; leave samples of weight 0 out of the source"
            )
        return kept.prediction, kept.y, relative_weights(kept.weight, len(kept))

    def _has(self, question: Question) -> bool:
        return key_of(question) in self.summary.parts[ALL].states

    def _parts(self) -> dict[str, dict[str, Part]]:
        """Return the parts by attribute and value: of the true class first, if there are any."""
        result: dict[str, dict[str, Part]] = {}
        if hasattr(self.prediction, "classes"):
            values = map(str, self.prediction.classes.tolist())
            parts = self.summary.parts
            places = [(value, parts.get((TRUE_CLASS, value))) for value in values]
            result[TRUE_CLASS] = {value: part for value, part in places if part is not None}
        return result | self.summary.groups()

    def ask(self, asked: list[Question], part: Part) -> list[Answer]:
        """Answer questions for the samples of a part; where none counts, there is no answer."""
        if not part.mass:
            return [Answer(float("nan"), None)] * len(asked)
        return [self._answer(question, part.state(key_of(question))) for question in asked]

    def _answer(self, question: Question, state: Any) -> Answer:
        if state is None:  # samples of a group that others of it cannot be added to
            return Answer(float("nan"), None)
        value = value_of(question.metric, state)
        if self.counts is None or np.isnan(value):
            return Answer(value, None)
        return Answer(value, state_replicates(question.metric, state, self.counts))

    def evaluation(self, run: EvaluationContext) -> Evaluation:
        """Return the evaluation: overall, by true class and by group."""
        summary, blocks = self.summary, self.blocks
        answers = self.ask(self.asked, summary.parts[ALL])
        rows = [
            run.row(question, answer, summary.samples, scale=question.metric.locality)
            for question, answer in zip(self.asked, answers, strict=True)
        ]
        for name, parts in self.parts.items():
            some = within(self.asked, name == TRUE_CLASS)
            given = {
                value: (self.ask(some, part), part.samples)
                for value, part in parts.items()
                if part.samples
            }
            rows += group_rows(run, some, name, given)
        several = [np.full(len(b.truth), np.nan) for b in blocks]
        known = []
        if hasattr(self.prediction, "classes"):
            known = [class_attribute(self.prediction, blocks[0].truth)]
        if summary.kept is not None and summary.kept.groups:
            known += attributes(dict(summary.kept.groups), len(blocks[0].truth))
        return Evaluation(
            rows=tuple(rows),
            curves=Curves(self.asked, self.weight, len(blocks) > 1),
            error=np.stack([block.error for block in blocks], axis=1),
            uncertainty=np.stack(
                [
                    empty if block.uncertainty is None else block.uncertainty
                    for block, empty in zip(blocks, several, strict=True)
                ],
                axis=1,
            ),
            ids=np.arange(len(blocks[0].truth)),
            decomposition=blocks[0].decomposition,
            confidence=run.confidence,
            description=f"{summary.samples:,} samples of a {summary.description}",
            prediction=self.prediction,
            truth=np.stack([block.truth for block in blocks], axis=1),
            sample_weight=self.weight,
            cluster=None if summary.kept is None else summary.kept.cluster,
            attributes=tuple(known),
            stands_for=summary.samples,
            totals=totals_of(summary),
            group_samples=self._group_samples(),
        )

    def _group_samples(self) -> dict[tuple[str, str], tuple[NDArray[Any], ...]]:
        """Return the samples of groups that are not among the rows: the attributes have all."""
        return {}


class _FromTables(_FromStates):
    """The answers of a summary whose parts are tables of two classes."""

    def __init__(self, summary: Summary, *given: Any) -> None:
        self._classes = dict(summary.about.shared)["classes"]
        super().__init__(summary, *given)
        self._rng = np.random.default_rng(self.seed)

    def _has(self, question: Question) -> bool:
        return question.metric.sums is not None

    def _rows(self) -> tuple[Any, Any, FloatArray | None]:
        kept = self.summary.kept
        if kept is not None:  # of several members
            return kept.prediction, kept.y, None
        p, truth, weight = self._few(self.summary.parts[ALL])
        return *self._prediction(p, truth), weight

    def _few(self, part: Part) -> tuple[FloatArray, NDArray[np.intp], FloatArray]:
        """Return some rows that stand for the samples of a part, with their weights."""
        assert part.table is not None
        p, truth, weight = table_rows(part.table)
        # No row stands for many more samples than others: errors of means are those of as many.
        times = np.ceil(weight * (_ROWS / weight.sum())).astype(np.intp)
        return np.repeat(p, times), np.repeat(truth, times), np.repeat(weight / times, times)

    def _group_samples(self) -> dict[tuple[str, str], tuple[NDArray[Any], ...]]:
        if self.summary.kept is not None:
            return {}
        return {
            (name, value): self._few(part)
            for name, parts in self.summary.groups().items()
            for value, part in parts.items()
            if part.samples
        }

    def _prediction(self, p: FloatArray, truth: NDArray[np.intp]) -> tuple[Any, Any]:
        return Categorical.from_binary(p, classes=self._classes), np.array(self._classes)[truth]

    def _parts(self) -> dict[str, dict[str, Part]]:
        table = self.summary.parts[ALL].table
        assert table is not None
        classes = {}
        for code, label in enumerate(self._classes):
            own = np.zeros_like(table)
            own[:, code] = table[:, code]
            classes[str(label)] = Part.of_table(own)
        return {TRUE_CLASS: classes} | self.summary.groups()

    def ask(self, asked: list[Question], part: Part) -> list[Answer]:
        assert part.table is not None
        if not asked:
            return []
        p, truth, weight = table_rows(part.table)
        names = [question.metric.name for question in asked]
        mine, _ = questions(*self._prediction(p, truth), names)
        values = {key_of(question): question.answer(weight) for question in mine}
        states = {} if self.counts is None else self._states(part, names)
        result = []
        for question in asked:
            key = key_of(question)
            value, drawn = values[key], None
            if key in states and self.counts is not None and not np.isnan(value):
                drawn = state_replicates(question.metric, states[key], self.counts, BITS)
            result.append(Answer(value, drawn))
        return result

    def _states(self, part: Part, names: list[str]) -> dict[QuestionKey, Any]:
        """Return states whose units are drawn: samples that are alike are dealt to any of them."""
        assert part.table is not None
        p, truth, weight = coarse_rows(part.table)
        dealt = self._rng.multinomial(weight, np.full(UNITS, 1 / UNITS))
        rows, unit = np.nonzero(dealt)
        mine, _ = questions(*self._prediction(p[rows], truth[rows]), names)
        result: dict[QuestionKey, Any] = {}
        for (target, inputs), places in by_share(mine):
            some = [mine[i] for i in places]
            metrics = [(question.metric, question.options) for question in some]
            arrays = {name: np.asarray(value) for name, value in inputs.items()}
            number = dealt[rows, unit].astype(np.float64)
            grids = ((unit.astype(np.int32), UNITS, BITS),)
            for question, (sums,) in zip(
                some, grid_sums(metrics, target, arrays, number, grids), strict=True
            ):
                result[key_of(question)] = made_state(
                    question.metric, question.options, arrays, part.samples, True, (), sums
                )
        return result


def compare_summaries(
    summaries: Mapping[str, Summary],
    *,
    metrics: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = 1000,
    models: bool = False,
    random_state: RandomState = None,
) -> Comparison:
    """Compare summaries of different samples: weeks, sites or models.

    Each is resampled on its own, so that differences are not paired, and numbers of samples may
    differ.

    Parameters
    ----------
    summaries : dict of str to Summary
    metrics : list of str, optional
    models : bool, default=False
        Whether they are different models on samples of the same kind; only then ``recommend``
        chooses one of them.
    random_state : int or Generator, optional
    """
    rng = generator(random_state)
    first = next(iter(summaries.values()))
    for name, summary in summaries.items():
        if {*summary.about.differs(first.about)} - {"members"}:
            raise OptionError(
                f"{name!r} has other classes, targets, groups or metrics than "
                f"{next(iter(summaries))!r}: they cannot be compared"
            )
    made = {
        name: evaluate_summary(summary, metrics, confidence, resamples, rng)
        for name, summary in summaries.items()
    }
    return compared(
        {name: one.evaluation for name, one in made.items()},
        {name: one.answers for name, one in made.items()},
        confidence,
        different_samples=not models,
    )
