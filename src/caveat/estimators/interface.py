"""What estimators offer beside ``predict_distribution``, from which all of it follows.

`target_names` says what their targets are called.
"""

from abc import abstractmethod
from typing import Any

import numpy as np

from .._validation import as_labels
from ..exceptions import LabelError, UnsupportedPredictionError
from ._join import as_probabilities

__all__ = ["PredictsClasses", "PredictsIntervals", "Savable", "target_names"]


def target_names(y: Any, count: int) -> np.ndarray | None:
    """Return the names of a frame's columns, or of a series; None where they cannot be labels."""
    names = getattr(y, "columns", None)
    if names is None:
        name = getattr(y, "name", None)
        names = None if name is None or (isinstance(name, str) and not name) else [name]
    try:
        return None if names is None else as_labels(list(names), "targets", count, "target")
    except LabelError:
        return None


def with_target_names(prediction: Any, model: Any) -> Any:
    """Return a prediction of numbers with the names that a model has for its targets, if any."""
    names = getattr(model, "targets_", prediction.targets)
    return prediction._trusted({**prediction._fields(), "targets": names})


class PredictsClasses:
    """Probabilities and the most probable class."""

    classes_: np.ndarray

    @abstractmethod
    def predict_distribution(self, X: Any) -> Any:
        """Return a prediction of classes."""

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities of the classes, averaged over members: (samples, classes)."""
        return np.array(as_probabilities(self.predict_distribution(X)).mean)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each sample."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])


class PredictsIntervals:
    """Prediction intervals of numbers."""

    @abstractmethod
    def predict_distribution(self, X: Any) -> Any:
        """Return a prediction of numbers."""

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Any:
        """Return central prediction intervals; without a spread, how far the members differ.

        Parameters
        ----------
        X : array of shape (samples, ...)
        coverage : float, default=0.9
            Share of the samples that the intervals should cover.

        Returns
        -------
        Interval
        """
        prediction = self.predict_distribution(X)
        if not hasattr(prediction, "interval"):
            raise UnsupportedPredictionError(
                f"predict_interval is for models of numbers; this one gives a "
                f"{type(prediction).__name__}"
            )
        return prediction.interval(coverage)


class Savable:
    """A model that can be written to one file."""

    def save(self, path: Any, *, recalibrator: Any = None) -> None:
        """Write the fitted model to one file; see `caveat.estimators.save`."""
        from .files import save

        save(self, path, recalibrator=recalibrator)
