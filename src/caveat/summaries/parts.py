"""What a summary knows of all samples, or of one group: sums that add up."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._blocks import row_blocks
from .._counting import count_by, sum_by
from .._validation import FloatArray
from ..evaluation.questions import Question, by_share
from ..metrics.shared_rows import shared_top
from ..metrics.states import COARSE, FINE, State, cell_of, grid_sums, group_sums, made_state, merged
from ..metrics.units import UNITS
from ..predictions import (
    Categorical,
    Decomposition,
    Gaussian,
    GaussianLogits,
    Interval,
    PredictionSet,
    ProbabilityInterval,
    Quantiles,
)
from ..predictions._container import Decomposable
from ..predictions.quantiles import levels_around_half
from ..uncertainty import decompose
from .condensed import QuestionKey, TalliedStates, key_of

__all__ = ["Distribution", "NumberKey", "Part", "Place"]

Place = tuple[str, str]
"""An attribute and one of its values; two empty texts for all samples."""

_ROWS = 2**16
"""Rows that are counted at once, in the cache."""

NumberKey = tuple[str, str]
"""The name of a number that each sample has, and the target."""


@dataclass(frozen=True, eq=False)
class Distribution:
    """The distribution of one number of each sample, over cells that do not depend on the samples.

    Attributes
    ----------
    columns : ndarray of shape (cells,)
        The cells that hold a sample, in increasing order of the number.
    counts : ndarray of shape (cells,)
        The weight in each.
    total, square : float
        The sums of the numbers and of their squares.
    """

    columns: NDArray[np.int64]
    counts: FloatArray
    total: float
    square: float

    @classmethod
    def of(
        cls,
        values: FloatArray,
        weight: FloatArray | None,
        codes: NDArray[np.integer] | None = None,
        groups: int = 1,
    ) -> list["Distribution"]:
        """Return the distribution of some numbers in each group.

        Parameters
        ----------
        values : ndarray of shape (samples,)
        weight : ndarray of shape (samples,) or None
        codes : ndarray of shape (samples,), optional
            The group of each sample.
        groups : int, default=1
        """
        number = cell_of(values[:1])[1]
        held, sums = np.zeros(number * groups), np.zeros((2, groups))
        for rows in row_blocks(len(values), 1, max(_ROWS, len(held))):
            own = values[rows]
            index = cell_of(own)[0].astype(np.int32)
            group = np.zeros(len(own), dtype=np.int32)
            if codes is not None:
                group = codes[rows].astype(np.int32)
                index += np.int32(number) * group
            each = own if weight is None else own * weight[rows]
            for total, one in zip(sums, (each, each * own), strict=True):
                total += sum_by(group, one, groups)
            if weight is None:
                held += count_by(index, len(held))
            else:
                held += sum_by(index, weight[rows], len(held))
        result = []
        for i, counts in enumerate(np.split(held, groups)):
            columns = np.flatnonzero(counts).astype(np.int64)
            result.append(cls(columns, counts[columns], *sums[:, i].tolist()))
        return result

    def __add__(self, other: "Distribution") -> "Distribution":
        columns = merged(self.columns, other.columns)
        counts = np.zeros(len(columns))
        for one in (self, other):
            counts[np.searchsorted(columns, one.columns)] += one.counts
        return Distribution(columns, counts, self.total + other.total, self.square + other.square)

    @property
    def mass(self) -> float:
        """The sum of the weights."""
        return float(self.counts.sum())

    @property
    def mean(self) -> float:
        """The mean of the numbers."""
        return self.total / self.mass

    @property
    def variance(self) -> float:
        """The variance of the numbers."""
        return max(self.square / self.mass - self.mean**2, 0.0)


@dataclass(frozen=True, eq=False)
class Part:
    """The sums of some samples.

    Attributes
    ----------
    samples : int
    mass, square : float
        The sums of the weights and of their squares; both the number of samples without weights.
    table : ndarray of shape (cells, 2) or None
        For two classes: the number of samples by the cell of their probability and the truth.
    states : dict of QuestionKey to State
        For anything else: the sums of each question.
    distributions : dict of (name, target) to Distribution
        What is predicted of each sample, in numbers; those of a table follow from it.
    """

    samples: int
    mass: float
    square: float
    table: NDArray[np.int64] | None = None
    states: Mapping[QuestionKey, State] = field(default_factory=dict)
    distributions: Mapping[NumberKey, Distribution] = field(default_factory=dict)

    def __add__(self, other: "Part") -> "Part":
        table = None
        if self.table is not None and other.table is not None:
            table = self.table + other.table
        return Part(
            self.samples + other.samples,
            self.mass + other.mass,
            self.square + other.square,
            table,
            _added(self.states, other.states),
            _added(self.distributions, other.distributions),
        )

    @classmethod
    def of_table(cls, table: NDArray[np.int64]) -> "Part":
        """Return the part of samples that are counted in a table.

        Parameters
        ----------
        table : ndarray of shape (cells, 2)
        """
        samples = int(table.sum())
        return cls(samples, float(samples), float(samples), table)

    def state(self, key: QuestionKey) -> State | None:
        """Return the state of a question, None if some samples could not answer it.

        Weights are made relative: they sum up to the effective number of samples.

        Parameters
        ----------
        key : tuple
            Metric, target, class, coverage and quantile.
        """
        state = self.states.get(key)
        if state is None or self.mass == self.square or not self.square > 0:
            return state
        scale = self.mass / self.square
        totals, units = (
            tuple((columns, scale * sums) for columns, sums in pairs)
            for pairs in (state.totals, state.units)
        )
        return replace(state, totals=totals, units=units)

    @property
    def nbytes(self) -> int:
        """The size of the sums in memory."""
        result = 0 if self.table is None else self.table.nbytes
        own = self.states
        if isinstance(own, TalliedStates):
            result += own.nbytes
        else:
            result += sum(state.nbytes for state in own.values())
        return result + sum(2 * one.counts.nbytes for one in self.distributions.values())


def _added(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Add what both have: a question that some samples cannot answer, all cannot."""
    if isinstance(one, TalliedStates) and one.adds_to(other):
        return one + other
    return {key: value + other[key] for key, value in one.items() if key in other}


def states_of(
    asked: Sequence[Question],
    weight: FloatArray | None,
    unit: NDArray[np.int32],
    plain: bool,
    codes: NDArray[np.integer] | None = None,
    groups: int = 1,
) -> list[dict[QuestionKey, State]]:
    """Return the state of each question whose metric declares its sums, for each group.

    Parameters
    ----------
    asked : sequence of Question
    weight : ndarray of shape (samples,) or None
    unit : ndarray of shape (samples,)
    plain : bool
        Whether all samples count alike and none belong together.
    codes : ndarray of shape (samples,), optional
        The group of each sample.
    groups : int, default=1
    """
    left = [question for question in asked if question.metric.sums is not None]
    group = np.zeros(len(unit), dtype=np.int32) if codes is None else codes.astype(np.int32)
    cuts = (group, groups, FINE), (group * UNITS + unit, groups * UNITS, COARSE)
    samples = np.bincount(group, minlength=groups).tolist()
    made: list[dict[QuestionKey, State]] = [{} for _ in range(groups)]
    for (truth, inputs), places in by_share(left):
        some = [left[i] for i in places]
        metrics = [(question.metric, question.options) for question in some]
        arrays = {name: np.asarray(value) for name, value in inputs.items()}
        for q, both in zip(some, grid_sums(metrics, truth, arrays, weight, cuts), strict=True):
            own = {name: np.asarray(value) for name, value in q.inputs.items()}
            for i, states in enumerate(made):
                pairs = (group_sums(sums, i, groups) for sums in both)
                states[key_of(q)] = made_state(q.metric, q.options, own, samples[i], plain, *pairs)
    return made


def parts_of(
    asked: Sequence[Question],
    weight: FloatArray | None,
    unit: NDArray[np.int32],
    plain: bool,
    numbers: Iterable[tuple[NumberKey, FloatArray]],
    codes: NDArray[np.integer] | None = None,
    groups: int = 1,
) -> list[Part]:
    """Return the sums of each group.

    Parameters
    ----------
    asked, weight, unit, plain, codes, groups
        As in `states_of`.
    numbers : pairs of key and ndarray of shape (samples,)
        What is predicted of each sample.
    """
    group = np.zeros(len(unit), dtype=np.intp) if codes is None else codes
    samples = np.bincount(group, minlength=groups).tolist()
    mass, square = samples, samples
    if weight is not None:
        mass, square = (np.bincount(group, w, groups).tolist() for w in (weight, weight**2))
    states = states_of(asked, weight, unit, plain, codes, groups)
    distributions = distributions_of(numbers, weight, codes, groups)
    return [
        Part(samples[i], float(mass[i]), float(square[i]), None, states[i], distributions[i])
        for i in range(groups)
    ]


def numbers_of(
    prediction: Any, split: Decomposition | None = None
) -> list[tuple[NumberKey, FloatArray]]:
    """Return what a prediction says of each sample in numbers, by name and target.

    Of classes: the probability of the second of two, or the highest and the class that has it; of
    numbers: the mean or the median; and the uncertainty with its parts, where it can be split.
    """
    targets = [str(target) for target in getattr(prediction, "targets", np.array([""])).tolist()]
    result: list[tuple[NumberKey, FloatArray]] = []
    if isinstance(prediction, GaussianLogits | ProbabilityInterval):
        return numbers_of(prediction.to_categorical(), split)
    if isinstance(prediction, Categorical):
        mean = prediction.mean
        if mean.shape[1] == 2:
            result.append((("probability", ""), mean[:, 1]))
        else:
            label, top = shared_top(mean)
            result += [(("confidence", ""), top), (("class", ""), label.astype(np.float64))]
    elif isinstance(prediction, Gaussian | Quantiles):
        point = prediction.moments()[0] if isinstance(prediction, Gaussian) else _median(prediction)
        if point is not None:
            result += [(("prediction", name), point[:, i]) for i, name in enumerate(targets)]
    if isinstance(prediction, Interval):
        width = prediction.upper - prediction.lower
        result += [(("width", name), width[:, i]) for i, name in enumerate(targets)]
    if isinstance(prediction, PredictionSet):
        result.append((("size", ""), prediction.membership.sum(axis=1).astype(np.float64)))
    if isinstance(prediction, Decomposable):
        split = decompose(prediction) if split is None else split
        for part in ("total", "aleatoric", "epistemic"):
            values = getattr(split, part)
            columns = values[:, None] if values.ndim == 1 else values
            result += [((part, name), columns[:, i]) for i, name in enumerate(targets)]
    return result


def _median(prediction: Quantiles) -> FloatArray | None:
    around = levels_around_half(prediction.levels)
    return None if around is None else prediction.median()


def distributions_of(
    named: Iterable[tuple[NumberKey, FloatArray]],
    weight: FloatArray | None,
    codes: NDArray[np.integer] | None = None,
    groups: int = 1,
) -> list[dict[NumberKey, Distribution]]:
    """Return the distributions of numbers in each group.

    Those that are not all finite are left out.
    """
    result: list[dict[NumberKey, Distribution]] = [{} for _ in range(groups)]
    before: FloatArray | None = None
    each: list[Distribution] = []
    for key, values in named:
        if np.isfinite(values).all():
            # With one member, the aleatoric uncertainty is the total one.
            if before is None or not np.array_equal(before, values):
                each = Distribution.of(values, weight, codes, groups)
            before = values
            for own, distribution in zip(result, each, strict=True):
                own[key] = distribution
    return result
