"""What can be asked of a prediction: each metric with the arrays it takes, ready to be called."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._random import RandomState
from .._validation import FloatArray
from ..exceptions import OptionError, UnsupportedPredictionError
from ..metrics import METRICS, Metric
from ..metrics._entry import take_input
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
from ..uncertainty import decompose

COVERAGES = (0.6827, 0.9545)
"""One and two standard deviations of a Gaussian: where intervals are asked of distributions."""

BETWEEN_CLASSES = {
    "adaptive_calibration_error",
    "average_precision_score",
    "balanced_accuracy_score",
    "brier_calibration_error",
    "brier_refinement_loss",
    "classwise_calibration_error",
    "debiased_calibration_error",
    "f1_score",
    "matthews_correlation_score",
    "positive_calibration_error",
    "roc_auc_score",
    "sensitivity_at_specificity_score",
    "specificity_at_sensitivity_score",
    "thresholded_adaptive_calibration_error",
}
"""What compares classes, or says nothing new of samples that are all of one true class."""

_TWO_CLASSES = {
    "positive_calibration_error",
    "sensitivity_at_specificity_score",
    "specificity_at_sensitivity_score",
}


@dataclass(frozen=True)
class Question:
    """One metric asked of one target of a prediction."""

    metric: Metric
    truth: np.ndarray
    inputs: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)
    target: str = ""
    note: str = ""
    share: str = "prediction"
    """Questions of one target and one share have the same truth, and can share work."""

    option: str = ""
    """What tells questions of one metric apart, as the table shows it."""

    def answer(self, sample_weight: FloatArray | None = None) -> float:
        """Return the metric's value."""
        inputs = dict(self.inputs)
        if "probabilities" in inputs:  # checked when the prediction was made, and not again
            p = inputs["probabilities"]
            inputs["probabilities"] = Categorical._trusted(
                {"probabilities": p[None], "classes": np.arange(p.shape[1])}
            )
        return self.metric.function(
            self.truth, **inputs, **self.options, sample_weight=sample_weight
        )


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


@dataclass(frozen=True)
class Block:
    """What one target of a prediction offers: truth, arrays by name, errors and uncertainties."""

    truth: np.ndarray
    arrays: dict[str, Any]
    target: str
    notes: dict[str, str]
    """How arrays were made that the prediction did not have, by name."""
    error: FloatArray
    uncertainty: FloatArray | None
    coverages: dict[float, tuple[FloatArray, FloatArray]]
    wrong: np.ndarray | None = None
    decomposition: Decomposition | None = None
    """The split of the whole prediction, where it has one."""


def questions(
    prediction: Any, y: Any, metrics: Sequence[str] | None, random_state: RandomState
) -> tuple[list[Question], list[Block]]:
    """Return all that can be asked of a prediction, and the blocks behind, one for each target."""
    kind = type(prediction)
    if kind not in _BLOCKS:
        known = ", ".join(sorted(k.__name__ for k in _BLOCKS))
        raise UnsupportedPredictionError(f"expected one of {known}; got a {kind.__name__}")
    blocks = _BLOCKS[kind](prediction, y, random_state)
    wanted = _wanted(metrics)
    found = [
        question
        for block in blocks
        for name in wanted
        for question in _asked_of(METRICS[name], block)
    ]
    if not found:
        raise OptionError(
            f"none of the metrics {list(metrics or wanted)} can be asked of a {kind.__name__}"
        )
    return found, blocks


def _wanted(metrics: Sequence[str] | None) -> list[str]:
    if metrics is None:
        return list(METRICS)
    if isinstance(metrics, str) or not isinstance(metrics, Iterable):
        raise OptionError(f"metrics must be a list of names; got {metrics!r}")
    return [entry.name for name in metrics for entry in METRICS.find(name)]


def _asked_of(metric: Metric, block: Block) -> list[Question]:
    """The ways to ask a metric of a block: none if an input is missing, one for each coverage."""
    if metric.task == "detection" or metric.name == "mean_absolute_scaled_error":
        return []  # needs samples from elsewhere, or from the training set
    if metric.task == "ranking":
        return _asked_of_ranking(metric, block)
    if set(metric.inputs) == {"lower", "upper"}:
        return [
            Question(
                metric,
                block.truth,
                {"lower": lower, "upper": upper},
                {"coverage": coverage} if "coverage" in _keywords(metric.function) else {},
                block.target,
                share=f"interval of {coverage:g}",
                option=f"coverage={coverage:g}",
            )
            for coverage, (lower, upper) in block.coverages.items()
        ]
    if metric.name == "pinball_loss":
        return [
            Question(
                metric,
                block.truth,
                {"value": values},
                {"level": float(level)},
                block.target,
                share=f"quantile at {level:g}",
                option=f"level={level:g}",
            )
            for level, values in zip(
                block.arrays.get("levels", ()), np.transpose(block.arrays.get("values", ())),
                strict=True,
            )
        ]  # fmt: skip
    if not set(metric.inputs) <= set(block.arrays):
        return []
    if metric.name in _TWO_CLASSES and block.arrays["probabilities"].shape[1] > 2:
        return []
    inputs = {name: block.arrays[name] for name in metric.inputs}
    note = "; ".join(dict.fromkeys(block.notes[n] for n in metric.inputs if n in block.notes))
    return [Question(metric, block.truth, inputs, {}, block.target, note)]


def _asked_of_ranking(metric: Metric, block: Block) -> list[Question]:
    if block.uncertainty is None:
        return []
    truth = block.error
    if metric.name == "error_detection_auroc_score":
        if block.wrong is None:
            return []
        truth = block.wrong
    share = "errors" if truth is block.error else "wrong predictions"
    inputs = {"uncertainty": block.uncertainty}
    return [Question(metric, truth, inputs, target=block.target, share=share)]


def _keywords(function: Callable[..., Any]) -> set[str]:
    import inspect

    return set(inspect.signature(function).parameters)


def _categorical(prediction: Categorical, y: Any, _: RandomState, note: str = "") -> list[Block]:
    codes = prediction.align(y)
    wrong = prediction.mean.argmax(axis=1) != codes
    split = decompose(prediction)
    return [
        Block(
            truth=codes,
            arrays={"probabilities": prediction.mean},
            target="",
            notes={"probabilities": note} if note else {},
            error=wrong.astype(np.float64),
            uncertainty=split.total,
            coverages={},
            wrong=wrong,
            decomposition=split,
        )
    ]


def _gaussian_logits(prediction: GaussianLogits, y: Any, random_state: RandomState) -> list[Block]:
    return _categorical(
        prediction.sample(random_state=random_state), y, None, "softmax averaged over 100 draws"
    )


def _probability_interval(prediction: ProbabilityInterval, y: Any, _: RandomState) -> list[Block]:
    return _categorical(prediction.to_categorical(), y, None, "intervals merged to probabilities")


def _prediction_set(prediction: PredictionSet, y: Any, _: RandomState) -> list[Block]:
    codes = prediction.align(y)
    missed = ~prediction.membership[np.arange(len(codes)), codes]
    arrays = {"membership": prediction.membership}
    return [Block(codes, arrays, "", {}, missed.astype(np.float64), None, {}, missed)]


def _gaussian(prediction: Gaussian, y: Any, _: RandomState, note: str = "") -> list[Block]:
    truth = prediction.align(y)
    mean, variance = prediction.moments()
    split = None if note else decompose(prediction)  # a converted one has nothing to split
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
                notes=dict.fromkeys(arrays, note) if note else {},
                error=np.abs(truth[:, i] - mean[:, i]),
                uncertainty=np.sqrt(variance[:, i]),
                coverages={c: (v.lower[:, i], v.upper[:, i]) for c, v in intervals.items()},
                decomposition=split,
            )
        )
    return blocks


def _quantiles(prediction: Quantiles, y: Any, _: RandomState) -> list[Block]:
    pairs = _central_coverages(prediction.levels)
    gaussian: list[Block | None] = [None] * len(prediction.targets)
    if pairs:
        note = f"a Gaussian with the interval of {pairs[-1]:g}"
        gaussian = list(_gaussian(prediction.to_gaussian(pairs[-1]), y, None, note))
    truth, values = prediction.align(y), prediction.values.mean(axis=0)
    intervals = {coverage: prediction.interval(coverage) for coverage in pairs}
    blocks = []
    for i, target in enumerate(prediction.targets.tolist()):
        given = gaussian[i]
        arrays = {"levels": prediction.levels, "values": values[:, i]}
        middle = values[:, i, len(prediction.levels) // 2]
        blocks.append(
            Block(
                truth=truth[:, i],
                arrays=arrays | (given.arrays if given else {}),
                target=str(target),
                notes=given.notes if given else {},
                error=given.error if given else np.abs(truth[:, i] - middle),
                uncertainty=given.uncertainty if given else None,
                coverages={c: (v.lower[:, i], v.upper[:, i]) for c, v in intervals.items()},
            )
        )
    return blocks


def _central_coverages(levels: FloatArray) -> list[float]:
    """The coverages of the pairs of levels that lie symmetrically, from narrow to wide."""
    found = [
        round(float(high - low), 10)
        for low in levels[levels < 0.5]
        for high in levels
        if abs(low + high - 1) <= 1e-4
    ]
    return sorted(found)


def _interval(prediction: Interval, y: Any, _: RandomState) -> list[Block]:
    truth = prediction.align(y)
    finite = np.isfinite(prediction.lower).all() and np.isfinite(prediction.upper).all()
    note = f"a Gaussian with the interval of {prediction.coverage:g}"
    gaussian = _gaussian(prediction.to_gaussian(), y, None, note) if finite else None
    blocks = []
    for i, target in enumerate(prediction.targets.tolist()):
        ends = (prediction.lower[:, i], prediction.upper[:, i])
        coverages = {prediction.coverage: ends}
        if gaussian:
            blocks.append(replace(gaussian[i], coverages=coverages))
        else:
            missed = (truth[:, i] < ends[0]) | (truth[:, i] > ends[1])
            error = missed.astype(np.float64)
            blocks.append(Block(truth[:, i], {}, str(target), {}, error, None, coverages))
    return blocks


_BLOCKS: dict[type, Callable[..., list[Block]]] = {
    Categorical: _categorical,
    GaussianLogits: _gaussian_logits,
    ProbabilityInterval: _probability_interval,
    PredictionSet: _prediction_set,
    Gaussian: _gaussian,
    Quantiles: _quantiles,
    Interval: _interval,
}
