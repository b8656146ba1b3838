"""The metrics that apply to a prediction, each with its inputs, ready to be called."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._blocks import row_blocks
from .._validation import FloatArray, as_floats, check_choice, check_finite
from ..exceptions import OptionError, ShapeError, UnsupportedPredictionError
from ..metrics import METRICS, Metric
from ..metrics.entry import take_input
from ..metrics.shared_rows import share_rows, shared_top
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
from ..predictions.gaussian import COMPONENTS
from ..predictions.quantiles import central_coverages, levels_around_half
from ..results.rows import option_words
from ..uncertainty import decompose

COVERAGES = (0.6827, 0.9545)
"""One and two standard deviations of a Gaussian: the intervals that distributions are asked for."""

_SCALED = "mean_absolute_scaled_error"
_NEEDS_TRAINING = f"; {_SCALED} is of predictions with a mean, and needs y_train="

MOST_CLASSES = 20
"""With more classes, the table leaves out the calibration of each class against the rest."""


@dataclass(frozen=True)
class Question:
    """One metric of one target of a prediction, with its inputs."""

    metric: Metric
    truth: np.ndarray
    inputs: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)
    target: str = ""
    note: str = ""
    share: str = "prediction"
    """Questions with the same target and share have the same truth, and can share work."""

    one_class: str | None = None
    """The class whose calibration against the rest is measured."""
    coverage: float | None = None
    quantile: float | None = None

    @cached_property
    def known(self) -> np.ndarray | None:
        """The rows whose truth is known; None if all are."""
        unknown = np.isnan(self.truth) if self.target else np.zeros(1, bool)
        return np.flatnonzero(~unknown) if unknown.any() else None

    @property
    def option(self) -> str:
        """The option that distinguishes questions of one metric, in words."""
        return option_words(self.one_class, self.coverage, self.quantile)

    @property
    def against_rest(self) -> bool:
        """Whether it measures the calibration of one of several classes against the rest."""
        return self.one_class is not None

    def answer(self, sample_weight: FloatArray | None = None) -> float:
        """Return the metric's value."""
        inputs = dict(self.inputs)
        ours = self.metric.function.__module__.startswith("caveat.")
        if "probabilities" in inputs and not self.against_rest and ours:
            # Checked when the prediction was made, and not again.
            p = inputs["probabilities"]
            inputs["probabilities"] = Categorical._trusted(
                {"probabilities": p[None], "classes": np.arange(p.shape[1])}
            )
        return self.metric.function(
            self.truth, **inputs, **self.options, sample_weight=sample_weight
        )

    def note_on(self, value: float, sample_weight: FloatArray | None) -> str:
        """Return what the metric adds to its value, in words; empty if it has nothing to add."""
        if self.metric.note is None or np.isnan(value):
            return ""
        return self.metric.note(value, self.truth, **self.inputs, sample_weight=sample_weight)


def weight_scale(weight: FloatArray) -> float:
    """Return the factor by which weights sum to the effective number of samples."""
    return float(weight.sum() / np.square(weight).sum())


def take(asked: list[Question], rows: np.ndarray) -> list[Question]:
    """Return the questions for some of the samples; arrays they share are taken once."""
    taken: dict[int, Any] = {}

    def part(name: str, array: Any) -> Any:
        if id(array) not in taken:
            taken[id(array)] = take_input(name, array, rows)
        return taken[id(array)]

    return [
        replace(
            question,
            truth=part("truth", question.truth),
            inputs={name: part(name, array) for name, array in question.inputs.items()},
        )
        for question in asked
    ]


def by_known(asked: Sequence[Question]) -> list[tuple[np.ndarray | None, list[int]]]:
    """Return the rows whose truth is known, and the positions of the questions of each target."""
    result: dict[str, tuple[np.ndarray | None, list[int]]] = {}
    for i, question in enumerate(asked):
        result.setdefault(question.target, (question.known, []))[1].append(i)
    return list(result.values())


def by_share(
    asked: Sequence[Question],
) -> list[tuple[tuple[np.ndarray, dict[str, Any]], list[int]]]:
    """Return the truth, the inputs and the positions of questions that can share work."""
    result: dict[tuple[str, str], tuple[tuple[np.ndarray, dict[str, Any]], list[int]]] = {}
    for i, question in enumerate(asked):
        key = question.target, question.share
        (_, inputs), places = result.setdefault(key, ((question.truth, {}), []))
        inputs.update(question.inputs)
        places.append(i)
    return list(result.values())


@dataclass(frozen=True)
class Block:
    """What one target of a prediction has: truth, arrays by name, errors and uncertainties."""

    truth: np.ndarray
    arrays: dict[str, Any]
    error: FloatArray
    """NaN if the prediction has no point estimate."""
    target: str = ""
    uncertainty: FloatArray | None = None
    notes: dict[str, str] = field(default_factory=dict)
    """How arrays were derived that the prediction does not have, by name."""
    coverages: dict[float, tuple[FloatArray, FloatArray]] = field(default_factory=dict)
    wrong: np.ndarray | None = None
    decomposition: Decomposition | None = None
    """The split of the whole prediction, if it has one."""
    unclaimed: frozenset[str] = frozenset()
    """Metrics that would misread its arrays."""
    labels: tuple[str, ...] = ()
    """The names of the classes."""
    reference: float | None = None
    """The median of the training targets, if they are known."""


def component_of(prediction: Any, component: str) -> Any:
    """Return the prediction whose variance is that of one component; others stay as they are."""
    if component == "total" or not isinstance(prediction, Gaussian):
        return prediction
    return prediction.component(component)


def questions(
    prediction: Any,
    y: Any,
    metrics: Sequence[str] | None,
    component: str = "total",
    y_train: Any = None,
) -> tuple[list[Question], list[Block]]:
    """Return the questions that apply to a prediction, and a block for each target."""
    kind = type(prediction)
    if kind not in _BLOCKS:
        known = ", ".join(sorted(k.__name__ for k in _BLOCKS))
        raise UnsupportedPredictionError(f"expected one of {known}; got a {kind.__name__}")
    check_choice(component, "component", COMPONENTS)
    blocks = _BLOCKS[kind](component_of(prediction, component), y)
    if component != "total":
        blocks = [_ranked_by(block, prediction, component) for block in blocks]
    if y_train is not None:
        medians = _training_medians(prediction, y_train)
        blocks = [replace(b, reference=m) for b, m in zip(blocks, medians, strict=True)]
    wanted = wanted_metrics(metrics)
    result = [
        question
        for block in blocks
        for name in wanted
        for question in _asked_of(METRICS[name], block)
    ]
    if not result:
        raise OptionError(
            f"none of the metrics {list(metrics or wanted)} can be asked of a {kind.__name__}"
            + (_OF_A_GAUSSIAN.get(kind, "") if wanted != [_SCALED] else _NEEDS_TRAINING)
        )
    return result, blocks


def _training_medians(prediction: Any, y_train: Any) -> list[float]:
    """Return the median of each target in the training set."""
    if not hasattr(prediction, "targets"):
        raise OptionError(
            f"y_train= is for predictions of numbers; got a {type(prediction).__name__}"
        )
    values = as_floats(y_train, "y_train")[0]
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or values.shape[1] != len(prediction.targets):
        raise ShapeError(
            f"y_train must have shape (training samples, {len(prediction.targets)}), a column for "
            f"each target; got {np.shape(y_train)}"
        )
    check_finite(values, "y_train", ("sample", "target"))
    return [float(median) for median in np.median(values, axis=0)]


def _ranked_by(block: Block, prediction: Any, component: str) -> Block:
    """Return a block that has one component alone as its uncertainty."""
    notes = block.notes | {"uncertainty": f"{component} uncertainty alone"}
    if isinstance(prediction, Gaussian):
        return replace(block, decomposition=decompose(prediction), notes=notes)
    if block.decomposition is None:
        raise OptionError(
            f"component={component!r} needs a prediction that can be split, such as a Categorical "
            f"or a Gaussian with members; got a {type(prediction).__name__}"
        )
    part = getattr(block.decomposition, component)
    if not part.any():
        raise OptionError(
            f"the prediction has no {component} uncertainty: it has one member, or all agree"
        )
    return replace(block, uncertainty=part, notes=notes)


def wanted_metrics(metrics: Sequence[str] | None) -> list[str]:
    """Return the full names of the metrics that are asked for; all by default."""
    if metrics is None:
        return list(METRICS)
    if isinstance(metrics, str) or not isinstance(metrics, Iterable):
        raise OptionError(f"metrics must be a list of names; got {metrics!r}")
    return [entry.name for name in metrics for entry in METRICS.find(name)]


def _asked_of(metric: Metric, block: Block) -> list[Question]:
    """Return the questions of a metric: none if an input is missing, one for each coverage."""
    if metric.task == "detection" or (metric.name == _SCALED and block.reference is None):
        return []  # these need other samples, or the training set
    if metric.task == "ranking":
        return _asked_of_ranking(metric, block)
    if set(metric.inputs) == {"lower", "upper"}:
        return [
            Question(
                metric, block.truth, {"lower": lower, "upper": upper},
                _option(metric, "coverage", coverage), block.target, _infinite_note(lower, upper),
                share=f"interval of {coverage:g}", coverage=float(coverage),
            )
            for coverage, (lower, upper) in block.coverages.items()
        ]  # fmt: skip
    if set(metric.inputs) == {"value"}:
        levels, values = (block.arrays.get(name, ()) for name in ("levels", "values"))
        return [
            Question(
                metric, block.truth, {"value": value}, _option(metric, "level", level),
                block.target, share=f"quantile at {level:g}", quantile=float(level),
            )
            for level, value in zip(levels, np.transpose(values), strict=True)
        ]  # fmt: skip
    if not set(metric.inputs) <= set(block.arrays) or metric.name in block.unclaimed:
        return []
    if metric.two_classes and block.arrays["probabilities"].shape[1] > 2:
        return _against_rest(metric, block) if metric.locality == "local" else []
    inputs = {name: block.arrays[name] for name in metric.inputs}
    note = "; ".join(dict.fromkeys(block.notes[n] for n in metric.inputs if n in block.notes))
    options = {"reference_median": block.reference} if metric.name == _SCALED else {}
    return [Question(metric, block.truth, inputs, options, block.target, note)]


def _against_rest(metric: Metric, block: Block) -> list[Question]:
    """Return a question for each class against the rest, as the second of two classes."""
    p = block.arrays["probabilities"]
    if len(block.labels) > MOST_CLASSES:
        return []
    return [
        Question(
            metric,
            (block.truth == k).astype(np.int8),
            {"probabilities": p[:, k]},
            note=block.notes.get("probabilities", ""),
            share=f"class {k} against the rest",
            one_class=label,
        )
        for k, label in enumerate(block.labels)
    ]


def _infinite_note(lower: FloatArray, upper: FloatArray) -> str:
    infinite = int(np.count_nonzero(np.isinf(lower) | np.isinf(upper)))
    return f"{infinite:,} of {len(lower):,} intervals are infinite" if infinite else ""


def _asked_of_ranking(metric: Metric, block: Block) -> list[Question]:
    if block.uncertainty is None or np.isnan(block.error).all():
        return []
    truth = block.error
    if metric.name == "error_detection_auroc_score":
        if block.wrong is None:
            return []
        truth = block.wrong
    share = "errors" if truth is block.error else "wrong predictions"
    inputs = {"uncertainty": block.uncertainty}
    note = block.notes.get("uncertainty", "")
    return [Question(metric, truth, inputs, target=block.target, note=note, share=share)]


def _option(metric: Metric, name: str, value: float) -> dict[str, float]:
    """Return an option by name, if the function of the metric takes it."""
    import inspect

    return {name: float(value)} if name in inspect.signature(metric.function).parameters else {}


def _categorical(prediction: Categorical, y: Any, note: str = "") -> list[Block]:
    codes = prediction.align(y)
    wrong = shared_top(prediction.mean)[0] != codes
    split = decompose(prediction)
    exact = _exact(prediction.mean)
    if exact is prediction.mean:
        share_rows(exact, split.total)
    return [
        Block(
            truth=codes,
            arrays={"probabilities": exact},
            notes={"probabilities": note} if note else {},
            error=wrong.astype(np.float64),
            uncertainty=split.total,
            wrong=wrong,
            decomposition=split,
            labels=tuple(str(label) for label in prediction.classes.tolist()),
        )
    ]


def _exact(probabilities: FloatArray) -> FloatArray:
    """Return rows that sum to 1 in double precision, which those of a network need not."""
    total, ones = np.empty(len(probabilities)), np.ones(probabilities.shape[1])
    for rows in row_blocks(*probabilities.shape):
        np.matmul(probabilities[rows], ones, out=total[rows])
    if total.min() > 1 - 1e-9 and total.max() < 1 + 1e-9:
        return probabilities
    return np.asarray(probabilities / total[:, None])


def _converted(prediction: GaussianLogits | ProbabilityInterval, y: Any) -> list[Block]:
    note = "intervals merged to probabilities"
    if isinstance(prediction, GaussianLogits):
        note = "softmax averaged over the noise of the logits"
    return _categorical(prediction.to_categorical(), y, note)


def _prediction_set(prediction: PredictionSet, y: Any) -> list[Block]:
    codes = prediction.align(y)
    missed = ~prediction.membership[np.arange(len(codes)), codes]
    arrays = {"membership": prediction.membership}
    return [Block(codes, arrays, missed.astype(np.float64), wrong=missed)]


def _gaussian(prediction: Gaussian, y: Any) -> list[Block]:
    truth = prediction.align(y, missing=True)
    mean, variance = prediction.moments()
    split = decompose(prediction)
    blocks = []
    for i, target in enumerate(prediction.targets.tolist()):
        arrays = {"mean": mean[:, i]}
        if (variance[:, i] > 0).all():
            arrays["variance"] = variance[:, i]
        if prediction.members > 1:
            members, spreads = prediction.mean[..., i], prediction.variance[..., i]
            arrays |= (
                {"means": members, "variances": spreads}
                if (spreads > 0).all()
                else {"members": members}
            )
        intervals = {c: prediction.interval(c) for c in COVERAGES} if "variance" in arrays else {}
        blocks.append(
            Block(
                truth=truth[:, i],
                arrays=arrays,
                target=str(target),
                error=np.abs(truth[:, i] - mean[:, i]),
                uncertainty=np.sqrt(variance[:, i]),
                coverages={c: (v.lower[:, i], v.upper[:, i]) for c, v in intervals.items()},
                decomposition=split,
            )
        )
    return blocks


def _quantiles(prediction: Quantiles, y: Any) -> list[Block]:
    """Return blocks with the median, the levels, and the intervals between them."""
    truth, values = prediction.align(y, missing=True), prediction.values.mean(axis=0)
    levels = prediction.levels
    around, outer = levels_around_half(levels), uncertainty_levels(levels)
    notes = {"uncertainty": f"by the {uncertainty_words(prediction)}"} if outer else {}
    median = None
    if around is not None:
        median = prediction.median()
        notes["mean"] = "of the median"
        if around[0] != around[1]:
            between = " and ".join(f"{levels[i]:g}" for i in around)
            notes["mean"] += f", interpolated between the levels {between}"
    intervals = {c: prediction.interval(c) for c in central_coverages(levels)}
    blocks = []
    for i, target in enumerate(prediction.targets.tolist()):
        arrays = {"levels": levels, "values": values[:, i]}
        error, width = np.full(len(truth), np.nan), None
        if median is not None:
            arrays["mean"] = median[:, i]
            error = np.abs(truth[:, i] - median[:, i])
        if outer is not None:
            width = _width(values[:, i, outer[0]], values[:, i, outer[1]])
        blocks.append(
            Block(
                truth=truth[:, i],
                arrays=arrays,
                target=str(target),
                notes=notes,
                error=error,
                uncertainty=width,
                coverages={c: (v.lower[:, i], v.upper[:, i]) for c, v in intervals.items()},
                unclaimed=_OF_MEANS,
            )
        )
    return blocks


_OF_MEANS = frozenset({"root_mean_squared_error"})
"""Squared errors are smallest for the mean, so a median is not judged by them."""


def uncertainty_levels(levels: FloatArray) -> tuple[int, int] | None:
    """Return the positions of the two levels whose distance is the uncertainty of quantiles.

    They are the widest pair symmetric around 0.5, or else the lowest and the highest level; None if
    these are on one side of 0.5.
    """
    if not levels[0] < 0.5 < levels[-1]:
        return None
    pairs = central_coverages(levels)
    if not pairs:
        return 0, len(levels) - 1
    ends = (1 - pairs[-1]) / 2, (1 + pairs[-1]) / 2
    low, high = (int(np.argmin(np.abs(levels - end))) for end in ends)
    return low, high


def uncertainty_words(prediction: Any) -> str:
    """Return the name of the uncertainty of a predicted number."""
    if isinstance(prediction, Gaussian):
        return "standard deviation"
    levels = getattr(prediction, "levels", np.empty(0))
    pairs = [prediction.coverage] if isinstance(prediction, Interval) else central_coverages(levels)
    if pairs:
        return f"width of the {100 * pairs[-1]:.6g} % interval"
    return f"distance between the quantiles at {levels[0]:g} and {levels[-1]:g}"


def _width(lower: FloatArray, upper: FloatArray) -> FloatArray:
    with np.errstate(over="ignore", invalid="ignore"):  # ends may be infinite, or too far apart
        return np.asarray(upper - lower)


def _interval(prediction: Interval, y: Any) -> list[Block]:
    """Return blocks with the ends of the intervals, which have no point estimate."""
    truth = prediction.align(y, missing=True)
    return [
        Block(
            truth=truth[:, i],
            arrays={},
            target=str(target),
            error=np.full(len(truth), np.nan),
            uncertainty=_width(prediction.lower[:, i], prediction.upper[:, i]),
            coverages={prediction.coverage: (prediction.lower[:, i], prediction.upper[:, i])},
        )
        for i, target in enumerate(prediction.targets.tolist())
    ]


_OF_A_GAUSSIAN: dict[type, str] = {
    Quantiles: "; for those of a Gaussian, convert it: quantiles.to_gaussian(coverage)",
    Interval: ", which names no point and no distribution; for those of a Gaussian around its "
    "midpoint, convert it: interval.to_gaussian()",
}

_BLOCKS: dict[type, Callable[..., list[Block]]] = {
    Categorical: _categorical,
    GaussianLogits: _converted,
    ProbabilityInterval: _converted,
    PredictionSet: _prediction_set,
    Gaussian: _gaussian,
    Quantiles: _quantiles,
    Interval: _interval,
}
