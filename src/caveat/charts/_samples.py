"""The samples behind a chart: one target of an evaluation, and the probabilities of classes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray, shorten
from ..evaluation import Evaluation
from ..evaluation.questions import uncertainty_words
from ..exceptions import OptionError
from ..predictions import Categorical, Gaussian, GaussianLogits, ProbabilityInterval
from ..resampling.spread import Spread, spread_of, stacked
from .chart import Headline

DISTRIBUTIONS = (Categorical, GaussianLogits, ProbabilityInterval)
"""The predictions that give every class a probability."""

Codes = NDArray[np.intp]


@dataclass(frozen=True)
class Samples:
    """One target of an evaluation.

    Attributes
    ----------
    position : int
        Which of the targets.
    target : str
        Its name, as in the table; empty for classes.
    truth, error, uncertainty : ndarrays of shape (samples,)
    weight : ndarray of shape (samples,) or None
    labels : ndarray of shape (samples,) or None
        Which cluster each sample is in.
    classes : bool
        Whether classes were predicted, and the error is 0 or 1.
    uncertainty_label : str
        Words for the uncertainty.
    """

    position: int
    target: str
    truth: np.ndarray
    error: FloatArray
    uncertainty: FloatArray
    weight: FloatArray | None
    labels: np.ndarray | None
    classes: bool
    uncertainty_label: str

    def take(self, rows: Codes) -> "Samples":
        """Return some of the samples."""
        names = ("truth", "error", "uncertainty", "weight", "labels")
        columns: dict[str, Any] = {name: getattr(self, name) for name in names}
        taken: dict[str, Any] = {k: v if v is None else v[rows] for k, v in columns.items()}
        return replace(self, **taken)

    @cached_property
    def cluster(self) -> Codes | None:
        """The clusters as numbers 0, 1, ..."""
        if self.labels is None:
            return None
        import pandas as pd

        return pd.factorize(self.labels, use_na_sentinel=False)[0]

    @property
    def ranked(self) -> bool:
        """Whether all have an uncertainty and an error: an interval names no point that errs."""
        return not (np.isnan(self.uncertainty) | np.isnan(self.error)).any()

    @property
    def ranks(self) -> FloatArray:
        """Finite numbers in the order of the uncertainties: for infinity the largest there is."""
        return np.minimum(self.uncertainty, np.finfo(np.float64).max)

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Which samples have a weight above 0."""
        return np.ones(len(self.error), bool) if self.weight is None else self.weight > 0

    def spread(self, sets: Iterable[tuple[FloatArray, Any]]) -> Spread:
        """Return the spreads of values over sets of rows."""
        parts = []
        for values, rows in sets:
            weight = None if self.weight is None else self.weight[rows]
            cluster = None if self.cluster is None else self.cluster[rows]
            parts.append(spread_of(values, weight, cluster))
        return stacked(parts, clustered=self.cluster is not None)


def samples(evaluation: Evaluation, target: Any = None) -> Samples:
    """Return the samples of one target; None is the only one, or the first."""
    evaluation, (position, name) = known(evaluation, target), _target(evaluation, target)
    classes = hasattr(evaluation.prediction, "classes")
    measure = "entropy, nats" if classes else uncertainty_words(evaluation.prediction)
    return Samples(
        position=position,
        target=name,
        truth=evaluation.truth[:, position],
        error=evaluation.error[:, position],
        uncertainty=evaluation.uncertainty[:, position],
        weight=evaluation.sample_weight,
        labels=evaluation.cluster,
        classes=classes,
        uncertainty_label=f"uncertainty ({measure})",
    )


def known(evaluation: Evaluation, target: Any = None) -> Evaluation:
    """Return the evaluation with the samples only whose true value of one target is known."""
    position, name = _target(evaluation, target)
    if name not in evaluation.missing:
        return evaluation
    return evaluation.take(np.flatnonzero(~np.isnan(evaluation.truth[:, position])))


def _target(evaluation: Evaluation, target: Any) -> tuple[int, str]:
    if not isinstance(evaluation, Evaluation):
        raise OptionError(
            f"charts of predictions need an Evaluation; got a {type(evaluation).__name__}"
        )
    if not hasattr(evaluation.prediction, "targets"):
        if target is not None:
            raise OptionError(f"target is for regression; classes were predicted, got {target!r}")
        return 0, ""
    names = [str(name) for name in evaluation.prediction.targets.tolist()]
    if target is None:
        return 0, names[0]
    if str(target) not in names:
        known = shorten(evaluation.prediction.targets)
        raise OptionError(f"unknown target {target!r}; the targets are {known}")
    return names.index(str(target)), str(target)


def of_target(evaluation: Evaluation, result: Samples) -> str:
    """Words that name the target where there are several."""
    return f" of {result.target}" if evaluation.error.shape[1] > 1 else ""


def split_parts(evaluation: Evaluation, result: Samples) -> tuple[FloatArray, FloatArray] | None:
    """Return the aleatoric and the epistemic part; None if there are not both."""
    if evaluation.decomposition is None:
        return None
    aleatoric, epistemic = (
        part if part.ndim == 1 else part[:, result.position]
        for part in (evaluation.decomposition.aleatoric, evaluation.decomposition.epistemic)
    )
    return (aleatoric, epistemic) if aleatoric.any() and epistemic.any() else None


def has_spread(evaluation: Evaluation, result: Samples) -> bool:
    """Whether numbers with a standard deviation above 0 were predicted."""
    gaussian = isinstance(evaluation.prediction, Gaussian)
    return gaussian and bool(result.uncertainty[result.counted].any())


def headline(evaluation: Evaluation, metric: str, target: str = "", option: str = "") -> Headline:
    """Return the row of all samples for a metric; NaN where it was not asked."""
    for row in evaluation.matching(metric=metric, group="", target=target):
        if option in ("", row.option):
            return Headline(metric, row.value, (row.low, row.high), row.estimate)
    return Headline(metric, float("nan"))


def band_label(evaluation: Evaluation) -> str:
    """Return the name of the bands: their confidence level."""
    return f"{100 * evaluation.confidence:g} % band"
