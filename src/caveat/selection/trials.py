"""One candidate after another: fitted across folds, kept in a folder, or the reason why not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter as clock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from .._validation import FloatArray
from ..estimators import Wrapped
from ..evaluation.answers import Answer
from ..exceptions import FileFormatError, OptionError
from ..experiments.checkpoint import Folder
from ..predictions import Categorical, Gaussian, GaussianLogits, Quantiles
from ..predictions.files import load_prediction
from ..repairing.folds import cross_predictions, in_order
from .encoding import Encoded, fits_table


@dataclass(frozen=True)
class _Saved:
    """What a folder keeps of a finished candidate, beside its prediction."""

    seconds: float
    reason: str = ""


@dataclass
class Trial:
    """A candidate with its cross-validated prediction, or the reason why there is none."""

    name: str
    seconds: float = np.nan
    prediction: Any = None
    reason: str = ""
    compared: Any = None
    """What of the prediction all candidates have."""
    answers: dict[str, list[Answer]] | None = None


@dataclass(frozen=True, eq=False)
class Trials:
    """What all candidates share."""

    X: Any
    y: NDArray[Any]
    fold: NDArray[np.intp]
    weight: FloatArray | None
    n_jobs: int | None
    folder: Folder | None

    def prepared(self, make: Any, seed: int) -> Any:
        """Return a candidate that is not fitted, with its seed, and an encoder if it needs one."""
        return fits_table(seeded(make(), seed), self.X)

    def tried(self, name: str, make: Any, seed: int) -> Trial:
        """Return a candidate with its prediction of every sample, or the reason why not."""
        known = self._finished(name)
        if known is not None:
            return known
        started = clock()
        try:
            model = self.prepared(make, seed)
            if self.weight is not None and not _takes_weights(model):
                raise OptionError("its fit does not take sample_weight")
            options: dict[str, Any] = {"n_jobs": self.n_jobs}
            if self.folder is not None:
                options["checkpoint"] = self.folder.networks / name
            parts = cross_predictions(
                model, self.X, self.y, self.fold, weight=self.weight, **options
            )
            trial = Trial(name, prediction=as_one_member(in_order(parts)))
        except Exception as error:  # whatever it is, the other candidates are still there
            reason = str(error).strip().split("\n")[0] or type(error).__name__
            trial = Trial(name, reason=f"left out: {reason}")
        trial.seconds = clock() - started
        if self.folder is not None:
            if trial.prediction is not None:
                trial.prediction.save(self._file(name))
            self.folder.save(name, _Saved(trial.seconds, trial.reason))
        return trial

    def _file(self, name: str) -> Path:
        assert self.folder is not None
        return self.folder.path / f"{name}.npz"

    def _finished(self, name: str) -> Trial | None:
        if self.folder is None:
            return None
        saved = self.folder.load([name], lambda content: _Saved(**content)).get(name)
        if saved is None or saved.reason:  # what failed may not fail again
            return None
        try:
            prediction = load_prediction(self._file(name))
        except (FileFormatError, OSError):
            return None
        return Trial(name, saved.seconds, prediction)


def seeded(estimator: Any, seed: int) -> Any:
    """Return a copy whose seeds are set, where the estimator has none of its own."""
    if isinstance(estimator, Wrapped) and isinstance(estimator.model, Mapping):
        return Wrapped({level: seeded(part, seed) for level, part in estimator.model.items()})
    made = clone(estimator)
    known = made.get_params(deep=True)
    names = [name for name in known if name.rpartition("__")[2] == "random_state"]
    return made.set_params(**{name: seed for name in names if known[name] is None})


def words_of(make: Any) -> str:
    """Return what tells candidates apart in a checkpoint."""
    try:
        return repr(make())
    except OptionError as error:
        return str(error)


def _takes_weights(model: Any) -> bool:
    if isinstance(model, Wrapped):
        parts = model.model.values() if isinstance(model.model, Mapping) else [model.model]
        return all(_takes_weights(part) for part in parts)
    if isinstance(model, Encoded):
        return _takes_weights(model.steps[-1][1])
    return bool(has_fit_parameter(model, "sample_weight"))


def as_one_member(prediction: Any) -> Any:
    """Return the mean over members, which is what scores are of."""
    if isinstance(prediction, GaussianLogits):
        prediction = prediction.to_categorical()
    if isinstance(prediction, Categorical):
        return Categorical(prediction.mean, classes=prediction.classes)
    if isinstance(prediction, Gaussian):
        mean, variance = prediction.moments()
        # The CRPS of a point, the absolute error, is the limit of that of a narrow Gaussian.
        narrow = np.finfo(np.float64).tiny
        return Gaussian(mean, np.maximum(variance, narrow), targets=prediction.targets)
    values = prediction.values.mean(axis=0)
    return Quantiles(prediction.levels, values, targets=prediction.targets)


def compare_alike(trials: Sequence[Trial]) -> None:
    """Give all candidates what they are compared by: their predictions, at the levels of all.

    Where some predict quantiles, it is the levels that all of these have. Those with none of the
    levels of the ones before are left out.
    """
    levels: FloatArray | None = None
    first = ""
    for trial in trials:
        if isinstance(trial.prediction, Quantiles):
            own = trial.prediction.levels
            shared = own if levels is None else levels[shared_levels(levels, own)]
            if not len(shared):
                trial.reason = (
                    f"its quantiles have no level in common with those of {first}, at which all "
                    "are compared"
                )
                continue
            levels, first = shared, first or trial.name
    for trial in trials:
        if not trial.reason:
            same = levels is None
            trial.compared = trial.prediction if same else quantiles_at(trial.prediction, levels)


def shared_levels(levels: Any, others: Any) -> NDArray[np.bool_]:
    """Return which levels are among the others, up to rounding."""
    return np.isclose(np.asarray(levels)[:, None], np.asarray(others)).any(axis=1)


def quantiles_at(prediction: Gaussian | Quantiles, levels: Any) -> Quantiles:
    """Return the quantiles of numbers at some levels, which quantiles must have."""
    if isinstance(prediction, Gaussian):
        return prediction.to_quantiles(levels)
    places = np.flatnonzero(shared_levels(prediction.levels, levels))
    return Quantiles(levels, prediction.values[..., places], targets=prediction.targets)
