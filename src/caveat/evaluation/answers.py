"""Every metric that applies to a prediction, at three scales, with confidence intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from .._arrays import to_numpy
from .._groups import Attribute, attributes
from .._random import RandomState
from .._validation import FloatArray, as_weights, check_fraction, check_integer
from ..exceptions import InvalidValueError, OptionError, ShapeError, UnsupportedPredictionError
from ..metrics._core.sharing import sharing
from ..predictions import Container
from ..predictions.given import as_prediction
from ..resampling import (
    ConfidenceInterval,
    Plan,
    Prepared,
    Replicates,
    confidence_interval,
    make_plan,
    pair_interval,
    replicates,
)
from ..results.judgments import Contrast
from ..results.rows import GROUPED, Key, Row
from .questions import (
    Block,
    Question,
    by_known,
    by_share,
    component_of,
    questions,
    take,
    weight_scale,
)
from .result import TRUE_CLASS, Curves, Evaluation

_CONTRASTS: dict[Literal["gap", "ratio"], Contrast] = {
    "gap": Contrast.DIFFERENCE,
    "ratio": Contrast.RATIO,
}


@dataclass(frozen=True)
class Answer:
    """The value of a metric, its value in every resample if there are any, and words on it."""

    value: float
    replicates: Replicates | None
    note: str = ""
    samples: int | None = None
    """The number of samples, if some have no true value of the target."""


@dataclass
class EvaluationContext:
    """The weights, the resamples and the confidence that all rows of an evaluation share."""

    weight: FloatArray | None
    plan: Plan | None
    confidence: float
    cluster: Any = None
    answers: dict[Key, Answer] | None = None
    """The answers for a comparison to pair; None keeps none."""

    def ask(self, asked: list[Question], rows: np.ndarray | None) -> list[Answer]:
        """Answer all questions for all samples, or for some rows of them.

        Samples without a true value of a target are left out of the questions on it. Where none
        counts, the answer is not a number.
        """
        answers: list[Answer] = [Answer(np.nan, None)] * len(asked)
        for known, places in by_known(asked):
            chosen, weight, number = rows, self.weight, None
            if known is not None:
                chosen = known if rows is None else np.intersect1d(known, rows)
                number = len(chosen)
            nothing = chosen is not None and weight is not None and not weight[chosen].any()
            if nothing or number == 0:
                for i in places:
                    answers[i] = Answer(np.nan, None, samples=None if known is None else 0)
                continue
            if known is not None and weight is not None:
                weight = weight * weight_scale(weight[known])
            some = [asked[i] for i in places]
            for i, answer in zip(places, self._ask(some, chosen, weight), strict=True):
                answers[i] = replace(answer, samples=number)
        return answers

    def _ask(
        self, asked: list[Question], rows: np.ndarray | None, weights: FloatArray | None
    ) -> list[Answer]:
        weight = weights if weights is None or rows is None else weights[rows]
        part = asked if rows is None else take(asked, rows)
        with sharing():
            values = [question.answer(weight) for question in part]
        answers = [
            Answer(value, None, question.note_on(value, weight))
            for question, value in zip(part, values, strict=True)
        ]
        if self.plan is None:
            return answers
        for (truth, inputs), places in by_share(asked):
            given = Prepared(truth, inputs, self.plan, sample_weight=weights, rows=rows)
            for i in places:
                question, value = part[i], values[i]
                if not np.isnan(value):
                    result = replicates(question.metric, options=question.options, prepared=given)
                    answers[i] = replace(answers[i], replicates=result)
                    if given.exact:
                        _check_sums(question, value, result.center)
        return answers

    def row(self, question: Question, answer: Answer, count: int, **place: Any) -> Row:
        """Return the row of an answer with its interval, and keep the answer for a comparison."""
        notes = [note for note in (question.note, answer.note) if note]
        interval = None
        if np.isnan(answer.value):
            notes.append("undefined here")
        elif answer.replicates is not None:
            interval = confidence_interval(
                question.metric, answer.value, answer.replicates, self.confidence
            )
            if interval.method == "undefined":
                notes.append("too few samples for an interval")
            elif answer.replicates.biased:
                notes.append(_BIASED)
        count = count if answer.samples is None else answer.samples
        row = _row(question, answer.value, interval, count, "; ".join(notes), **place)
        if self.answers is not None:
            kept = answer.replicates
            # The function that draws would keep the samples of every group in memory.
            kept = None if kept is None else replace(kept, null=None)
            self.answers[row.key] = replace(answer, replicates=kept)
        return row


_BIASED = (
    "chance alone shifts the value, which the interval allows for; it is narrower if the metric "
    "declares its sums"
)


def _check_sums(question: Question, value: float, by_sums: float) -> None:
    """Raise if the declared sums of a metric disagree with its function."""
    metric = question.metric
    width = np.diff(metric.range).item()
    # Some sums are on a grid, and some values are rounding errors.
    least = 1e-3 * width if np.isfinite(width) else 1e-6 * float(np.abs(question.truth).max())
    if not (np.isclose(value, by_sums, rtol=0.1, atol=least) or np.isnan(by_sums)):
        raise InvalidValueError(
            f"the metric {metric.name!r} is {value:g} by its function, but {by_sums:g} by its "
            "sums; declare sums= that give the same, or None"
        )


def _row(
    question: Question,
    value: float,
    interval: ConfidenceInterval | None,
    count: int,
    note: str,
    **place: Any,
) -> Row:
    estimate = None if interval is None else interval.estimate
    return Row(
        metric=question.metric.name,
        target=question.target,
        one_class=question.one_class,
        coverage=question.coverage,
        quantile=question.quantile,
        conversion=question.note,
        value=value,
        low=np.nan if interval is None else interval.low,
        high=np.nan if interval is None else interval.high,
        estimate=np.nan if estimate is None else estimate,
        direction=question.metric.direction,
        samples=count,
        note=note,
        **place,
    )


def evaluate(
    prediction: Any,
    y: Any = None,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    ids: Any = None,
    cluster: Any = None,
    metrics: Sequence[str] | None = None,
    classes: Any = None,
    component: str = "total",
    y_train: Any = None,
    confidence: float = 0.95,
    resamples: int = 1000,
    random_state: RandomState = None,
) -> Evaluation:
    """Compute every metric that applies to the prediction, with confidence intervals.

    Parameters
    ----------
    prediction : any prediction type, or array of probabilities
        The predictions; an array has shape (samples,), for the second of two classes, (samples,
        classes) or (members, samples, classes). Quantiles are judged by their median and their
        levels, intervals by coverage and width; for the metrics of a Gaussian convert them with
        ``quantiles.to_gaussian(0.9545)`` or ``interval.to_gaussian()``. Or a `caveat.Summary`,
        which has its true values.
    ids : array of shape (samples,), optional
        Names of the samples, for reports; by default their places in the arrays, from 0 on.
    component : {"total", "aleatoric", "epistemic"}, default="total"
        The part of the uncertainty that is judged. For numbers, every metric then has the variance
        of that part; for classes, the metrics of ranking have its values, and the probabilities
        stay.
    y_train : array of shape (training samples,) or (training samples, targets), optional
        What the model learned from, for numbers: with it there is the mean absolute scaled error
        ("mase"), which compares the error with that of the training median.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(500)
    >>> y = (rng.random(500) < p).astype(int)
    >>> result = caveat.evaluate(p, y, metrics=["auc", "brier"], random_state=0)
    >>> [row.metric for row in result.select(group="")]
    ['roc_auc_score', 'brier_loss']
    """
    if y is None:
        from ..summaries import Summary

        given = {
            "groups": groups, "sample_weight": sample_weight, "ids": ids, "cluster": cluster,
            "classes": classes, "component": None if component == "total" else component,
            "y_train": y_train,
        }  # fmt: skip
        check_summaries([prediction], Summary, given)
        return prediction.evaluate(
            metrics=metrics, confidence=confidence, resamples=resamples, random_state=random_state
        )
    confidence = check_fraction(confidence, "confidence")
    prediction = as_prediction(prediction, y, classes)
    plan = plan_for(prediction, resamples, cluster, random_state)
    run = EvaluationContext(
        relative_weights(sample_weight, len(prediction)), plan, confidence, cluster
    )
    return run_evaluation(run, prediction, y, groups, ids, metrics, component, y_train)


def check_summaries(values: Sequence[Any], kind: type, given: Mapping[str, Any]) -> None:
    """Raise unless all values are summaries, which need no truth, and nothing else is given."""
    if not all(isinstance(value, kind) for value in values):
        raise OptionError("y is missing: say what is true of the samples, after the prediction")
    for name, value in given.items():
        if value is not None:
            raise OptionError(
                f"{name}= goes with predictions; what a summary has was settled when it was made"
            )


def relative_weights(sample_weight: Any, samples: int) -> FloatArray | None:
    """Return weights that sum to the effective number of samples, so that only ratios matter."""
    weight = as_weights(sample_weight, samples)
    if weight is None:
        return None
    weight = weight / weight.max()
    return np.asarray(weight * weight_scale(weight))


def run_evaluation(
    run: "EvaluationContext",
    prediction: Any,
    y: Any,
    groups: Any,
    ids: Any,
    metrics: Sequence[str] | None,
    component: str = "total",
    y_train: Any = None,
) -> Evaluation:
    """Evaluate one prediction; the run keeps the answers with their replicates."""
    asked, blocks = questions(prediction, y, metrics, component, y_train)
    samples = len(blocks[0].truth)
    rows = [
        run.row(question, answer, samples, scale=question.metric.locality)
        for question, answer in zip(asked, run.ask(asked, None), strict=True)
    ]
    known = named_groups(prediction, groups, samples)
    has_classes = hasattr(prediction, "classes")
    if has_classes:
        known = [class_attribute(prediction, blocks[0].truth), *known]
    for attribute in known:
        of_class = has_classes and attribute is known[0]
        rows += _by_group(run, within(asked, of_class), attribute)
    return Evaluation(
        rows=tuple(rows),
        curves=Curves(asked, run.weight, len(blocks) > 1),
        error=np.stack([block.error for block in blocks], axis=1),
        uncertainty=np.stack([_uncertainty(block) for block in blocks], axis=1),
        ids=_ids(ids, samples),
        decomposition=blocks[0].decomposition,
        confidence=run.confidence,
        description=repr(prediction)
        + ("" if component == "total" else f"; {component} uncertainty alone"),
        prediction=component_of(prediction, component),
        truth=np.stack([block.truth for block in blocks], axis=1),
        sample_weight=run.weight,
        cluster=None if run.cluster is None else to_numpy(run.cluster, "cluster").array,
        attributes=tuple(known),
        component=component,
    )


def plan_for(
    prediction: Any, resamples: int, cluster: Any, random_state: RandomState
) -> Plan | None:
    """Return the resamples of a prediction's samples; None if there are none."""
    if not isinstance(prediction, Container):
        raise UnsupportedPredictionError(
            f"expected a prediction, such as caveat.Categorical(array); got a "
            f"{type(prediction).__name__}"
        )
    samples = len(prediction)
    check_integer(resamples, "resamples", 0)
    if resamples == 0 or samples < 2:
        return None
    return make_plan(samples, resamples=int(resamples), cluster=cluster, random_state=random_state)


def class_attribute(prediction: Any, codes: np.ndarray) -> Attribute:
    """Return the true class as an attribute."""
    return Attribute(TRUE_CLASS, tuple(map(str, prediction.classes.tolist())), codes)


def named_groups(prediction: Any, groups: Any, samples: int) -> list[Attribute]:
    """Return the groups of the user, none of which is called as the true class is."""
    given = [] if groups is None else attributes(groups, samples)
    if not hasattr(prediction, "classes"):
        return given
    taken, name = {TRUE_CLASS, *(attribute.name for attribute in given)}, TRUE_CLASS
    while name in taken:
        name += " (group)"
    return [replace(one, name=name) if one.name == TRUE_CLASS else one for one in given]


def _by_group(run: EvaluationContext, asked: list[Question], attribute: Attribute) -> list[Row]:
    """Return rows for each value of an attribute, and gap and ratio of the worst and the best."""
    answers: dict[str, tuple[list[Answer], int]] = {}
    for code, value in enumerate(attribute.values):
        members = np.flatnonzero(attribute.codes == code)
        if len(members):
            answers[value] = run.ask(asked, members), len(members)
    return group_rows(run, asked, attribute.name, answers)


def group_rows(
    run: EvaluationContext,
    asked: list[Question],
    name: str,
    answers: Mapping[str, tuple[list[Answer], int]],
) -> list[Row]:
    """Return rows for each value of an attribute, and gap and ratio of the worst and the best.

    ``answers`` has the answers to the questions and the number of samples for each value.
    """
    rows: list[list[Row]] = [[] for _ in asked]
    defined: list[dict[str, Answer]] = [{} for _ in asked]
    for value, (given, samples) in answers.items():
        for i, answer in enumerate(given):
            place = {"scale": GROUPED, "attribute": name, "category": value}
            rows[i].append(run.row(asked[i], answer, samples, **place))
            if np.isfinite(answer.value):
                defined[i][value] = answer
    for i, question in enumerate(asked):
        if len(defined[i]) > 1 and question.metric.direction != "target":
            samples = sum(row.samples for row in rows[i])
            rows[i] += _between(run, question, name, defined[i], samples)
    return [row for result in rows for row in result]


def within(asked: list[Question], of_class: bool) -> list[Question]:
    """Return the questions that can be asked of groups, or of the samples of one true class."""
    return [q for q in asked if not (q.against_rest or (of_class and not q.metric.within_class))]


def _between(
    run: EvaluationContext, question: Question, name: str, answers: dict[str, Answer], samples: int
) -> list[Row]:
    """Return the gap and the ratio between the groups with the worst and the best value."""
    ordered = sorted(answers, key=lambda value: answers[value].value)
    if question.metric.direction == "higher":
        ordered.reverse()
    best, worst = answers[ordered[0]], answers[ordered[-1]]
    pair = f"{name}={ordered[-1]} against {ordered[0]}"
    pairs = len(ordered) * (len(ordered) - 1) // 2
    rows = []
    for kind in _CONTRASTS:
        defined = kind == "gap" or best.value != 0
        value = np.nan
        if defined:
            value = worst.value - best.value if kind == "gap" else worst.value / best.value
        interval = None
        if defined and worst.replicates is not None and best.replicates is not None:
            interval = pair_interval(
                question.metric,
                (worst.value, best.value),
                (worst.replicates, best.replicates),
                run.confidence,
                kind=kind,
                among=pairs,
            )
        note = pair if defined else f"{pair}; undefined, as the best is 0"
        rows.append(
            _row(
                question, value, interval, samples, note, scale=GROUPED, attribute=name,
                category=ordered[-1], reference=ordered[0], contrast=_CONTRASTS[kind],
            )
        )  # fmt: skip
    return rows


def _uncertainty(block: Block) -> FloatArray:
    return np.full(len(block.truth), np.nan) if block.uncertainty is None else block.uncertainty


def _ids(ids: Any, samples: int) -> np.ndarray:
    if ids is None:
        return np.arange(samples)
    names = to_numpy(ids, "ids").array
    if names.shape != (samples,):
        raise ShapeError(f"ids must be one name for each of {samples} samples; got {names.shape}")
    if len(np.unique(names.astype(str))) < samples:
        raise InvalidValueError("ids must be distinct, so that a sample can be found by its name")
    return names
