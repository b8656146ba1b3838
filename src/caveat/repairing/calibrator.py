"""A recalibrator that chooses among all others, or leaves the prediction as it is."""

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from sklearn.base import clone

from .._random import RandomState
from .._validation import FloatArray
from ..predictions import Categorical, Gaussian, GaussianLogits, Interval, Quantiles
from ..recalibration import Recalibrator
from .candidates import as_recalibrator
from .choice import repair
from .result import Repair, repaired

__all__ = ["Calibrator"]


class Calibrator(Recalibrator):
    """Choose a recalibrator by its cross-validated score, or leave the prediction as it is.

    The choice is that of `caveat.repair`, with the interface of a recalibrator: `fit` on held-out
    samples, then `transform`. Every candidate is fitted on all folds but one and repairs the
    remaining one, in turn. If no candidate lowers the log loss (for numbers the CRPS) by more than
    chance, nothing is repaired; otherwise the simplest candidate is chosen that is within one
    standard error of the best.

    Parameters
    ----------
    method : {"auto"}, str or Recalibrator, default="auto"
        "auto" chooses; a recalibrator, or its name in `caveat.recalibration.RECALIBRATORS`, is
        always applied.
    candidates : list of str or recalibrators, optional
        Only used by "auto": what to try, from simple to complex; by default as in `caveat.repair`.
    folds : int, default=5
        Only used by "auto".
    random_state : int or Generator, default=0
        Seed of the folds and the resamples.

    Attributes
    ----------
    recalibrator_ : Recalibrator or None
        The chosen one, fitted on all samples; None if the prediction is left as it is.
    repair_ : Repair or None
        The choice with its table, its reason and its `summary`; None unless "auto".

    Notes
    -----
    **Requires** samples that the model was not trained on. Below 50 samples "auto" repairs nothing.

    **Promises** that "auto" leaves a calibrated prediction as it is in at least 95 % of all data
    sets. With groups the promise is for each of them, and each has a choice of its own.

    **Cannot** improve how well samples are told apart, nor hold after the data have shifted.
    Samples that belong together need ``caveat.repair(..., cluster=)``. Probabilities that "auto"
    returns are those of the mean over members.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=1000)
    >>> y = (rng.random(1000) < 1 / (1 + np.exp(-z))).astype(int)
    >>> auto = caveat.Calibrator("auto").fit(1 / (1 + np.exp(-3 * z)), y)
    >>> auto.recalibrator_
    TemperatureScaling()
    >>> calibrated = caveat.Calibrator("auto").fit(1 / (1 + np.exp(-z)), y)
    >>> calibrated.recalibrator_ is None
    True
    """

    takes = (Categorical, GaussianLogits, Gaussian, Quantiles, Interval)

    method: Any = field(default="auto", kw_only=False)
    candidates: Sequence[str | Recalibrator] | None = None
    folds: int = 5
    random_state: RandomState = 0

    def _fit(self, prediction: Any, y: Any, weight: FloatArray | None) -> None:
        truth = prediction.classes[y] if hasattr(prediction, "classes") else y
        self.repair_: Repair | None = None
        if isinstance(self.method, str) and self.method == "auto":
            self.repair_ = repair(
                prediction,
                truth,
                sample_weight=weight,
                candidates=self.candidates,
                folds=self.folds,
                random_state=self.random_state,
            )
            self.recalibrator_ = self.repair_.recalibrator
            return
        chosen: Recalibrator = clone(as_recalibrator(self.method, prediction))
        self.recalibrator_ = chosen.fit(prediction, truth, sample_weight=weight)

    def _transform(self, prediction: Any) -> Any:
        if self.recalibrator_ is not None:
            prediction = repaired(self.recalibrator_, prediction)
        if self.repair_ is None:
            return prediction
        # Groups may have chosen differently, and their parts are joined.
        if isinstance(prediction, GaussianLogits):
            prediction = prediction.to_categorical()
        if isinstance(prediction, Categorical) and prediction.members > 1:
            return Categorical(prediction.mean, classes=prediction.classes)
        return prediction
