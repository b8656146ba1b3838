"""What is kept of one trained model: a score and mean uncertainties, no arrays of samples."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..exceptions import LabelError, OptionError, ShapeError, UnsupportedPredictionError
from ..predictions import Categorical, Gaussian, GaussianLogits
from ..uncertainty import decompose
from ..uncertainty.decompositions import DECOMPOSITIONS
from ._engine import Training
from ._inputs import NUMBERS, TrainTestData, in_dataset
from ._models import distribution, effort_of
from .conditions import TEST, Draws
from .error import part_correlation

_MEMBERS = {
    Categorical: "Categorical(probabilities) of shape (members, samples, classes)",
    Gaussian: "Gaussian.from_members(means, variances)",
    GaussianLogits: "GaussianLogits(mean, variance) of shape (members, samples, classes)",
}


@dataclass(frozen=True)
class Outcome:
    """The numbers of one condition."""

    samples: int
    score: float
    train_score: float | None
    uncertainties: dict[str, tuple[float, float]]
    trainings: int = 1
    steps: int | None = None
    part_correlations: dict[str, float] = field(default_factory=dict)
    """Of aleatoric and epistemic uncertainty over test samples, where neither is constant."""

    @classmethod
    def restore(cls, content: dict[str, Any]) -> "Outcome":
        """Return the numbers from what a file holds."""
        split = {name: (float(a), float(e)) for name, (a, e) in content["uncertainties"].items()}
        return cls(**{**content, "uncertainties": split})


@dataclass(frozen=True, eq=False)
class Scorer:
    """Turns predictions into the numbers of a condition."""

    samples: TrainTestData
    methods: tuple[str, ...]
    draws: Draws
    score: Callable[[Any, Any], float] | None = None
    counted: bool = True
    """Whether the members of the model were counted before it was trained."""
    noise_in: str = "train and test"

    @property
    def name(self) -> str:
        """What the score is."""
        if self.score is not None:
            return str(getattr(self.score, "__name__", type(self.score).__name__))
        return "accuracy" if self.samples.task == "classification" else "1 - standardized MAE"

    def __call__(self, fitted: Any, training: Training) -> Outcome:
        """Return the numbers of a fitted model."""
        data, condition = self.samples, training.condition
        _, seed = self.draws.seeds(condition, 2)
        noisy = condition.kind == "noise"
        y_test = data.y_test
        if noisy and self.noise_in == "train and test":
            y_test = self.draws.noisy(y_test, condition, TEST)
        point, split = self._predicted(fitted, data.X_test, y_test, self.methods, seed)
        score = self._score(y_test, point)
        means, together = {}, {}
        for name, (aleatoric, epistemic) in split.items():
            means[name] = float(aleatoric.mean()), float(epistemic.mean())
            correlation = part_correlation(aleatoric, epistemic)
            if not np.isnan(correlation):
                together[name] = correlation
        X, y = training.samples()
        count, train_score = len(y), None
        if not noisy:
            if in_dataset(X) and count > len(y_test):
                some = np.linspace(0, count - 1, len(y_test)).astype(int)
                X, y = X.take(some), y[some]
            train_score = self._score(y, self._predicted(fitted, X, y)[0], learned=True)
        return Outcome(count, score, train_score, means, *effort_of(fitted), together)

    def _predicted(
        self, fitted: Any, X: Any, y: np.ndarray, methods: tuple[str, ...] = (), seed: int = 0
    ) -> tuple[np.ndarray, dict[str, list[np.ndarray]]]:
        """Return predicted labels or numbers, and both uncertainties by each decomposition.

        Samples of a data set are predicted block by block, so that no more of them are in memory.
        """
        points = []
        split: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {name: [] for name in methods}
        for inputs, count in X.batches(y) if in_dataset(X) else [(X, len(y))]:
            prediction = distribution(fitted, inputs)
            points.append(self._point(prediction, count))
            if methods and not self.counted:
                self._check_members(prediction)
            for name in methods:
                parts = decompose(prediction, name, random_state=seed)
                split[name].append((parts.aleatoric, parts.epistemic))
        joined = {name: list(map(np.concatenate, zip(*split[name], strict=True))) for name in split}
        return np.concatenate(points), joined

    def _check_members(self, prediction: Any) -> None:
        """Raise if the model has one member, which cannot disagree with itself."""
        need_members = [
            name for name in self.methods if DECOMPOSITIONS[name].takes is not GaussianLogits
        ]
        if prediction.members > 1 or not need_members:
            return
        wanted = next(words for kind, words in _MEMBERS.items() if isinstance(prediction, kind))
        raise UnsupportedPredictionError(
            "predict_distribution gave one member, so its epistemic uncertainty by "
            f"{', '.join(map(repr, need_members))} is zero by construction and there is nothing to "
            f"disentangle; give what each member says: {wanted}"
        )

    def _score(self, y: np.ndarray, point: np.ndarray, learned: bool = False) -> float:
        if self.score is not None:
            return self._own_score(y, point)
        if self.samples.task == "classification":
            return float((point == y).mean())
        # One yardstick for all sizes: how well the median of all training samples does.
        median = np.median(self.samples.y)
        known = self.samples.y if learned else self.samples.y_test
        return float(1 - np.abs(y - point).mean() / np.abs(known - median).mean())

    def _own_score(self, y: np.ndarray, point: np.ndarray) -> float:
        assert self.score is not None
        try:
            value = float(self.score(y, point))
        except TypeError as error:
            raise OptionError(f"score must be score(y_true, y_pred) -> float; {error}") from error
        if not np.isfinite(value):
            raise OptionError(f"score gave {value}; it must be a finite number, higher is better")
        return value

    def _point(self, prediction: Any, length: int) -> np.ndarray:
        """Return the predicted labels, or numbers."""
        wanted: Any = (Categorical, GaussianLogits)
        if self.samples.task == "regression":
            wanted = (Gaussian,)
        if not isinstance(prediction, wanted):
            names = " or a ".join(kind.__name__ for kind in wanted)
            numbers = isinstance(prediction, Gaussian) and self.samples.y.dtype.kind in "fiu"
            advice = f"; {NUMBERS}" if numbers else ""
            raise UnsupportedPredictionError(
                f"predict_distribution must give a {names} for {self.samples.task}; got a "
                f"{type(prediction).__name__}{advice}"
            )
        if len(prediction) != length:
            raise ShapeError(
                f"predict_distribution gave {len(prediction):,} samples; it was asked for "
                f"{length:,}"
            )
        if isinstance(prediction, Gaussian):
            mean = prediction.moments()[0]
            if mean.shape[1] != 1:
                raise ShapeError(
                    f"predict_distribution gave {mean.shape[1]} targets; there must be one"
                )
            return np.asarray(mean[:, 0])
        if isinstance(prediction, GaussianLogits):
            prediction = prediction.to_categorical()
        classes = np.asarray(prediction.classes)
        if not np.isin(self.samples.y, classes).all():
            raise LabelError(
                f"the classes of the prediction are {_few(classes)}, and y has "
                f"{_few(np.unique(self.samples.y))}; name them: Categorical(..., classes=...)"
            )
        return np.asarray(classes[np.asarray(prediction.mean).argmax(axis=1)])


def _few(labels: np.ndarray) -> str:
    return ", ".join(map(repr, labels[:5].tolist())) + (", ..." if len(labels) > 5 else "")
