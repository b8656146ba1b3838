"""What is measured of a prediction under a shift: metrics and mean uncertainties, resampled."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from .._validation import FloatArray
from ..evaluation.answers import Answer, EvaluationContext
from ..evaluation.questions import Question, questions
from ..exceptions import OptionError
from ..metrics import METRICS, Metric
from ..predictions import Categorical, Gaussian, GaussianLogits
from ..predictions.gaussian import COMPONENTS
from ..resampling import ConfidenceInterval, Plan, Replicates, confidence_interval, interval_of
from ..uncertainty import decompose
from ._models import distribution

Key = tuple[str, str, str]
"""The name, options and target of a quantity."""


@dataclass(frozen=True)
class Quantity:
    """One number of a prediction, and what resampling makes of it."""

    name: str
    kind: Literal["metric", "uncertainty"]
    option: str
    target: str
    direction: str
    value: float
    replicates: Replicates | None
    metric: Metric | None = None
    note: str = ""

    @property
    def key(self) -> Key:
        """By which it is found again in another prediction."""
        return self.name, self.option, self.target

    def interval(self, confidence: float) -> ConfidenceInterval:
        """Return the confidence interval; NaN without resamples."""
        if self.replicates is None:
            return ConfidenceInterval(np.nan, np.nan, "undefined")
        if self.metric is not None:
            return confidence_interval(self.metric, self.value, self.replicates, confidence)
        return interval_of(self.value, self.replicates, confidence, range=(0.0, np.inf))


@dataclass(frozen=True)
class Asked:
    """All numbers of one prediction, and the errors behind them by target."""

    quantities: list[Quantity]
    errors: dict[str, Quantity]
    """The mean error of each target: squared, or the share of wrong classes."""


def ask(
    prediction: Any,
    y: Any,
    metrics: Sequence[str] | None,
    decomposition: str,
    plan: Plan | None,
    seed: int,
    component: str = "total",
) -> Asked:
    """Return every quantity of a prediction with its replicates under a plan."""
    chosen = METRICS.shown("shift") if metrics is None else metrics
    asked, blocks = questions(prediction, y, chosen, component)
    answers = EvaluationContext(None, plan, 0.95).ask(asked, None)
    result = [_answered(*pair) for pair in zip(asked, answers, strict=True)]
    targets = [block.target for block in blocks]
    numbers = not hasattr(prediction, "classes")
    errors = {
        block.target: _mean("error", block.target, block.error ** (2 if numbers else 1), plan)
        for block in blocks
    }
    return Asked(result + _uncertainties(prediction, targets, decomposition, plan, seed), errors)


def _answered(question: Question, answer: Answer) -> Quantity:
    """Return a metric; one that is infinite has no ratio and no interval, and is undefined."""
    finite = bool(np.isfinite(answer.value))
    why = "" if finite else "undefined here" if np.isnan(answer.value) else "infinite here"
    return Quantity(
        question.metric.name,
        "metric",
        question.option,
        question.target,
        question.metric.direction,
        answer.value if finite else np.nan,
        answer.replicates if finite else None,
        question.metric,
        "; ".join(filter(None, (question.note, why))),
    )


def _uncertainties(
    prediction: Any, targets: list[str], decomposition: str, plan: Plan | None, seed: int
) -> list[Quantity]:
    """Return the mean of each part, for each target; none where nothing can be split."""
    splits = isinstance(prediction, Categorical | GaussianLogits | Gaussian)
    if decomposition == "auto" and not splits:
        return []
    split = decompose(prediction, decomposition, random_state=seed)
    return [
        _mean(part, target, np.reshape(getattr(split, part), (len(split), -1))[:, place], plan)
        for place, target in enumerate(targets)
        for part in COMPONENTS
    ]


def _mean(name: str, target: str, values: FloatArray, plan: Plan | None) -> Quantity:
    """Return a mean over samples; one that is infinite is undefined."""
    if not np.isfinite(values).all():
        note = f"undefined: infinite for {int((~np.isfinite(values)).sum())} samples"
        return Quantity(name, "uncertainty", "", target, "target", np.nan, None, note=note)
    result = None if plan is None else mean_replicates(values, plan)
    return Quantity(name, "uncertainty", "", target, "target", float(values.mean()), result)


def mean_replicates(values: FloatArray, plan: Plan) -> Replicates:
    """Return the mean in every resample: sums of units, reweighted all at once."""
    sums = np.bincount(plan.unit, values, plan.units)
    sizes = np.bincount(plan.unit, minlength=plan.units)
    counts = plan.counts.astype(np.float64)
    drawn = (counts @ sums) / (counts @ sizes)
    return Replicates(drawn, float(values.mean()), plan.units, plan.strata)


def predictor(model: Any) -> Callable[[Any], Any]:
    """Return what makes a prediction of samples: a method, members, or a function itself."""
    if isinstance(model, type):
        raise OptionError(f"model must be a fitted model, not a class; got {model!r}")
    if hasattr(model, "predict_distribution") or hasattr(model, "fit"):
        return partial(distribution, model)
    if callable(model):
        return lambda X: model(X)
    raise OptionError(
        "model must be fitted and have predict_distribution, be a model of scikit-learn, or be a "
        f"function of X that returns a prediction; got {model!r}"
    )
