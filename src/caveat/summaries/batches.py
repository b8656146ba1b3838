"""The summary of one batch of samples in memory."""

import operator
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import to_numpy
from .._groups import Attribute, value_names
from .._validation import FloatArray, as_column, as_weights
from ..evaluation.answers import class_attribute, named_groups, within
from ..evaluation.questions import MOST_CLASSES, Question, questions, take, wanted_metrics
from ..evaluation.result import TRUE_CLASS
from ..exceptions import ShapeError
from ..metrics._core.sharing import sharing
from ..metrics.units import row_keys, unit_of
from ..predictions import (
    Categorical,
    Container,
    Gaussian,
    GaussianLogits,
    Interval,
    ProbabilityInterval,
    Quantiles,
)
from .classes import COMPILED, ClassCounts
from .condensed import TalliedStates, answered_by, key_of
from .counts import count_cells
from .kept import KEPT, Kept, candidates
from .parts import NumberKey, Part, Place, distributions_of, numbers_of, parts_of, states_of
from .summary import ALL, About, Summary

__all__ = ["summarize_batch", "summarize_counts"]


def about_of(
    prediction: Container,
    *,
    truth: bool,
    weighted: bool,
    clustered: bool,
    groups: Sequence[str],
    metrics: Sequence[str] | None,
) -> About:
    """Return what the samples of a prediction have in common."""
    wanted_metrics(metrics)  # raises on an unknown name
    shared = []
    for name in prediction._shared:
        value = getattr(prediction, name)
        shared.append((name, tuple(value.tolist()) if isinstance(value, np.ndarray) else value))
    return About(
        type(prediction).__name__,
        int(getattr(prediction, "members", 1)),
        tuple(shared),
        truth,
        weighted,
        clustered,
        tuple(groups),
        None if metrics is None else tuple(metrics),
    )


def summarize_batch(
    prediction: Container,
    y: Any = None,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    cluster: Any = None,
    ids: Any = None,
    metrics: Sequence[str] | None = None,
    start: int = 0,
) -> Summary:
    """Return the summary of one prediction.

    Parameters
    ----------
    prediction : any prediction type
    y : array of shape (samples,) or (samples, targets), optional
        Without it, only the predictions and their uncertainty are summed up.
    groups : array, Series, dict of arrays or frame, optional
    sample_weight, cluster : arrays of shape (samples,), optional
    ids : array of shape (samples,), optional
        By which samples are dealt to units and kept; by default their number.
    metrics : list of str, optional
    start : int, default=0
        The number of the first sample among all.
    """
    samples = len(prediction)
    given = named_groups(prediction, groups, samples)
    truth = None if y is None else to_numpy(y, "y").array
    if truth is not None and len(truth) != samples:
        raise ShapeError(f"y has {len(truth)} samples, the prediction has {samples}")
    if y is not None and isinstance(prediction, Gaussian | Quantiles | Interval):
        prediction.align(y)  # every true value must be known
    if truth is not None and truth.dtype == object:
        truth = _without_objects(prediction, truth)
    weight = as_weights(sample_weight, samples, zero=True)
    about = about_of(
        prediction, truth=y is not None, weighted=weight is not None,
        clustered=cluster is not None, groups=[one.name for one in given], metrics=metrics,
    )  # fmt: skip
    keys = None
    if about.sampled or samples <= KEPT:
        keys = row_keys(samples, ids, start=start)
    kept = None
    if keys is not None:
        kept = _kept(keys, prediction, truth, weight, cluster, given)
    if about.counted and isinstance(prediction, Categorical):
        codes = prediction.align(y).astype(np.int8)
        p = np.minimum(prediction.mean[:, 1], 1.0)  # it may exceed 1 by rounding
        parts = count_parts(p, codes, given, start)
        if about.members > 1:
            numbers = numbers_of(prediction)
            for (place, part), rows in zip(parts.items(), _rows(given), strict=True):
                (own,) = distributions_of(numbers if rows is None else _taken(numbers, rows), None)
                parts[place] = replace(part, distributions=own)
        return Summary(about, parts, kept)
    assert keys is not None
    unit = unit_of(keys if cluster is None else row_keys(samples, cluster, "cluster"))
    with sharing():
        plain = not (about.weighted or about.clustered)
        if truth is not None and weight is None and _several(prediction):
            return Summary(about, _counted(prediction, truth, given, unit, plain, about), kept)
        return Summary(about, _summed(prediction, y, given, weight, unit, plain, about), kept)


def _without_objects(prediction: Any, truth: NDArray[Any]) -> NDArray[Any]:
    """Return true values of Python as files hold them: as the classes spell them, or as numbers."""
    own = prediction.align(truth)
    return prediction.classes[own] if hasattr(prediction, "classes") else own.reshape(truth.shape)


def summarize_counts(
    p: NDArray[np.floating],
    truth: NDArray[np.integer],
    *,
    classes: Sequence[Any] = (0, 1),
    groups: Sequence[Attribute] = (),
    metrics: Sequence[str] | None = None,
    start: int = 0,
) -> Summary:
    """Return the summary of one model's probabilities of two classes; the fastest way.

    Parameters
    ----------
    p : ndarray of shape (samples,)
        The probability of the second class, of any precision.
    truth : ndarray of shape (samples,)
        0 or 1: positions in ``classes``.
    classes : pair of labels, default=(0, 1)
    groups : sequence of Attribute, default=()
    metrics : list of str, optional
    start : int, default=0
        The number of the first sample among all.
    """
    if len(p) <= KEPT:
        prediction = Categorical.from_binary(np.asarray(p, dtype=np.float64), classes=classes)
        y = np.array(classes)[truth]
        return summarize_batch(
            prediction, y, groups=list(groups) or None, metrics=metrics, start=start
        )
    return summary_of_tables(count_parts(p, truth, groups, start), classes, groups, metrics)


def summary_of_tables(
    parts: dict[Place, Part],
    classes: Sequence[Any],
    groups: Sequence[Attribute] = (),
    metrics: Sequence[str] | None = None,
) -> Summary:
    """Return the summary of one model's samples of two classes that are counted in tables."""
    empty = Categorical.from_binary([0.5], classes=classes)
    about = about_of(
        empty, truth=True, weighted=False, clustered=False,
        groups=[one.name for one in groups], metrics=metrics,
    )  # fmt: skip
    return Summary(about, parts)


def all_counted(classes: NDArray[Any], metrics: Sequence[str] | None) -> bool:
    """Whether counts answer everything that is asked about predictions of these classes."""
    return 2 < len(classes) <= MOST_CLASSES and all(map(answered_by, _asked(classes, metrics)))


def _asked(classes: NDArray[Any], metrics: Sequence[str] | None) -> list[Question]:
    """Return what is asked about predictions of some classes, about one sample."""
    one = Categorical(np.full((1, len(classes)), 1 / len(classes)), classes=classes)
    return questions(one, classes[:1], metrics)[0]


def summary_of_classes(
    counts: ClassCounts, kept: Kept, metrics: Sequence[str] | None = None
) -> Summary:
    """Return the summary of one model's samples of several classes that are counted."""
    about = about_of(
        kept.prediction, truth=True, weighted=False, clustered=False, groups=(), metrics=metrics
    )
    classes = np.asarray(dict(about.shared)["classes"])
    asked, own = _asked(classes, metrics), class_attribute(kept.prediction, np.zeros(1))
    parts = {ALL: counts.part(asked, True)}
    for k, value in enumerate(own.values):
        if counts.samples[k]:
            parts[own.name, value] = counts.part(within(asked, True), True, k)
    return Summary(about, parts, kept)


def _rows(groups: Sequence[Attribute]) -> Iterator[NDArray[np.intp] | None]:
    """Yield the rows of all samples (None), then of each value of each attribute."""
    yield None
    for attribute in groups:
        for code in range(len(attribute.values)):
            yield np.flatnonzero(attribute.codes == code)


def _kept(
    keys: NDArray[np.uint64],
    prediction: Container,
    y: NDArray[Any] | None,
    weight: FloatArray | None,
    cluster: Any,
    groups: Sequence[Attribute],
) -> Kept:
    rows, random = candidates(keys)
    names = None
    if cluster is not None:
        names = value_names(as_column(cluster, "cluster", len(keys))[rows])
    return Kept(
        random,
        prediction.take(rows),
        None if y is None else y[rows],
        None if weight is None else weight[rows],
        names,
        {one.name: np.array(one.values)[one.codes[rows]] for one in groups},
    ).smallest()


def _summed(
    prediction: Container,
    y: Any,
    groups: Sequence[Attribute],
    weight: FloatArray | None,
    unit: NDArray[np.int32],
    plain: bool,
    about: About,
) -> dict[Place, Part]:
    """Return the sums of every question, of all samples and of each group."""
    asked: list[Question] = []
    split = None
    attributes, by_class = list(groups), None
    if y is not None:
        asked, blocks = questions(prediction, y, about.metrics)
        split = blocks[0].decomposition
        if hasattr(prediction, "classes"):
            by_class = class_attribute(prediction, blocks[0].truth)
    numbers = numbers_of(prediction, split)
    result = {}
    if by_class is not None and len(by_class.values) <= MOST_CLASSES:
        codes, number = by_class.codes, len(by_class.values)
        some, others = within(asked, True), [q for q in asked if not q.metric.within_class]
        parts = parts_of(some, weight, unit, plain, numbers, codes, number)
        (rest,) = states_of(others, weight, unit, plain)
        whole = reduce(operator.add, parts)
        result[ALL] = replace(whole, states={**rest, **whole.states})
        places = [(by_class.name, value) for value in by_class.values]
        result |= {place: part for place, part in zip(places, parts, strict=True) if part.samples}
    else:
        (result[ALL],) = parts_of(asked, weight, unit, plain, numbers)
        attributes += [] if by_class is None else [by_class]
    for attribute in attributes:
        some = within(asked, attribute.name == TRUE_CLASS)
        for code, value in enumerate(attribute.values):
            rows = np.flatnonzero(attribute.codes == code)
            if len(rows):
                (result[attribute.name, value],) = parts_of(
                    take(some, rows), None if weight is None else weight[rows], unit[rows], plain,
                    _taken(numbers, rows),
                )  # fmt: skip
    return result


def _several(prediction: Container) -> bool:
    """Whether cells stand for the samples of a prediction: it is of a few classes."""
    kinds = Categorical | GaussianLogits | ProbabilityInterval
    return isinstance(prediction, kinds) and 2 < len(prediction.classes) <= MOST_CLASSES


def _counted(
    prediction: Any,
    y: NDArray[Any],
    groups: Sequence[Attribute],
    unit: NDArray[np.int32],
    plain: bool,
    about: About,
) -> dict[Place, Part]:
    """Return the sums of every question about several classes, most of them from counts."""
    asked, _ = questions(prediction.take(np.arange(1)), y[:1], about.metrics)
    left = []
    if not all(answered_by(question) for question in asked):
        every, _ = questions(prediction, y, about.metrics)
        left = [question for question in every if not answered_by(question)]
    source = prediction if isinstance(prediction, Categorical) else prediction.to_categorical()
    numbers = numbers_of(source) if source.members > 1 else None
    by_class = class_attribute(source, source.align(y))
    classes = len(by_class.values)

    def part(
        some: list[Question], rows: NDArray[np.intp], counts: ClassCounts, k: int | None = None
    ) -> Part:
        made = counts.part(some, plain, k)
        if left:
            keys = {key_of(question) for question in some}
            own = take([question for question in left if key_of(question) in keys], rows)
            (states,) = states_of(own, None, unit[rows], plain)
            assert isinstance(made.states, TalliedStates)
            made = replace(made, states=TalliedStates(states, made.states.tallied))
        if numbers is not None:
            (distributions,) = distributions_of(_taken(numbers, rows), None)
            made = replace(made, distributions=distributions)
        return made

    def counted(rows: Any) -> ClassCounts:
        counts = ClassCounts(classes, len(y) >= COMPILED)
        counts.add(source.mean[rows].T, by_class.codes[rows], unit[rows])
        return counts

    every_row = np.arange(len(y))
    counts = counted(slice(None))
    result = {ALL: part(asked, every_row, counts)}
    for k, value in enumerate(by_class.values):
        if counts.samples[k]:
            rows = np.flatnonzero(by_class.codes == k)
            result[by_class.name, value] = part(within(asked, True), rows, counts, k)
    for attribute in groups:
        for code, value in enumerate(attribute.values):
            rows = np.flatnonzero(attribute.codes == code)
            if len(rows):
                result[attribute.name, value] = part(within(asked, False), rows, counted(rows))
    return result


def _taken(numbers: list[tuple[NumberKey, FloatArray]], rows: NDArray[np.intp]) -> Any:
    return [(key, values[rows]) for key, values in numbers]


def count_parts(
    p: NDArray[np.floating],
    truth: NDArray[np.integer],
    groups: Sequence[Attribute],
    start: int = 0,
) -> dict[Place, Part]:
    """Return the tables of all samples and of each group, for two classes.

    Parameters
    ----------
    p : ndarray of shape (samples,)
        The probability of the second class.
    truth : ndarray of shape (samples,)
        0 or 1.
    groups : sequence of Attribute
    start : int, default=0
        The number of the first sample, for errors.
    """
    parts: dict[Place, Part] = {}
    whole: NDArray[np.int64] | None = None
    for attribute in groups:
        tables = count_cells(p, truth, attribute.codes, len(attribute.values), start)
        whole = tables.sum(axis=0) if whole is None else whole
        for value, table in zip(attribute.values, tables, strict=True):
            parts[attribute.name, value] = Part.of_table(table.copy())
    whole = count_cells(p, truth, start=start)[0] if whole is None else whole
    return {ALL: Part.of_table(whole), **parts}
