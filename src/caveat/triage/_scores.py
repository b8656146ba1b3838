"""The uncertainties and the errors that a triage uses."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray, as_floats
from ..exceptions import OptionError, ShapeError, UnsupportedPredictionError
from ..predictions import Categorical, Gaussian, GaussianLogits
from ..results.words import counted
from ..uncertainty import decompose

_CONVERSIONS = {
    "Quantiles": "convert it with .to_gaussian(level)",
    "Interval": "convert it with .to_gaussian()",
    "ProbabilityInterval": "convert it with .to_categorical()",
    "PredictionSet": "pass the Categorical that the sets were made from",
}


@dataclass(frozen=True)
class Scored:
    """Predictions, (samples,) class positions or (samples, targets) means, and uncertainties."""

    answer: NDArray[Any]
    total: FloatArray
    aleatoric: FloatArray
    epistemic: FloatArray


def check_type(prediction: Any) -> None:
    """Raise if the type has no decomposition, and say how to convert it."""
    if not isinstance(prediction, Categorical | GaussianLogits | Gaussian):
        kind = type(prediction).__name__
        raise UnsupportedPredictionError(
            "triage takes a Categorical, a GaussianLogits or a Gaussian; got a "
            f"{kind}{'; ' + _CONVERSIONS[kind] if kind in _CONVERSIONS else ''}"
        )


def check_tolerance(tolerance: Any, prediction: Any) -> FloatArray | None:
    """Return one tolerance for each target; None for classes."""
    if not isinstance(prediction, Gaussian):
        if tolerance is not None:
            raise OptionError(
                f"tolerance is for regression, where an error is |y - mean| > tolerance; got "
                f"{tolerance!r} with classes, of which one is right: leave it out"
            )
        return None
    targets = len(prediction.targets)
    if tolerance is None:
        raise OptionError(
            "regression needs a tolerance: pass the largest |y - mean| that is no error yet, one "
            f"number or one for each of {counted(targets, 'target')}"
        )
    values, _, _ = as_floats(tolerance, "tolerance")
    if values.shape not in ((), (targets,)):
        raise ShapeError(
            f"tolerance must be one number or one for each of {counted(targets, 'target')}; got "
            f"shape {values.shape}"
        )
    if not (values > 0).all() or not np.isfinite(values).all():
        raise OptionError(f"tolerance must be above 0 and finite; got {tolerance!r}")
    return np.broadcast_to(values, targets).copy()


def score(
    prediction: Any, method: str, tolerance: FloatArray | None, draws: int | None, seed: int
) -> Scored:
    """Return the prediction and the uncertainties of each sample; the seed fixes all draws."""
    if isinstance(prediction, Gaussian):
        assert tolerance is not None
        split = decompose(prediction, method)
        with np.errstate(over="ignore"):
            # In squared tolerances: divided twice, since the square of a small one may be 0.
            parts = [
                (part / tolerance / tolerance).sum(axis=1)
                for part in (split.total, split.aleatoric, split.epistemic)
            ]
        return Scored(prediction.mean.mean(axis=0), *parts)
    if isinstance(prediction, GaussianLogits):
        split = decompose(prediction, method, draws=draws, random_state=seed)
        prediction = (
            prediction.to_categorical()
            if draws is None
            else prediction.sample(draws=draws, random_state=seed)
        )
    else:
        split = decompose(prediction, method)
    answer = prediction.mean.argmax(axis=1)
    return Scored(answer, split.total, split.aleatoric, split.epistemic)


def errors(
    prediction: Any, answer: NDArray[Any], tolerance: FloatArray | None, y: Any
) -> NDArray[np.bool_]:
    """Return the samples with a wrong prediction."""
    truth = prediction.align(y)
    if isinstance(prediction, Gaussian):
        return (np.abs(truth - answer) > tolerance).any(axis=1)
    return truth != answer


def signature(prediction: Any) -> dict[str, Any]:
    """Return what ``fit`` and ``decide`` must have in common for scores to be comparable."""
    names = prediction._shared
    shared = {name: np.asarray(getattr(prediction, name)).tolist() for name in names}
    return {"type": type(prediction).__name__, "members": prediction.members, **shared}


def check_signature(fitted: dict[str, Any], given: dict[str, Any]) -> None:
    """Raise if a prediction cannot come from the model that the policy was fitted on."""
    for name, value in fitted.items():
        if given.get(name) != value:
            raise ShapeError(
                f"fitted on {name} {value}, asked to decide on {name} {given.get(name)}; both "
                "predictions must come from the same model"
            )


_ONE_MEMBER = (
    "A single model does not tell what it does not know (epistemic) from what the data cannot tell "
    "(aleatoric): nothing says whether an expert or a new measurement would help. Several members, "
    "an ensemble for example, would."
)
_NO_SPLIT = (
    "The {} part of the uncertainty is {} for every calibration sample: nothing says whether an "
    "expert or a new measurement would help."
)


def why_unknown(members: int, scored: Scored, spread: FloatArray) -> str:
    """Return why the parts are not known; empty if they are."""
    if members == 1:
        return _ONE_MEMBER
    if not np.isfinite(scored.epistemic).all():
        return ""
    least = 1e-12 * scored.total.max()  # less is rounding
    if spread[1] == 0 or scored.epistemic.max() <= least:
        return _NO_SPLIT.format("epistemic", "the same")
    return _NO_SPLIT.format("aleatoric", "0") if scored.aleatoric.max() <= least else ""


def scale_of(scored: Scored, rows: Any) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of the two parts over the finite rows.

    The deviation of a constant part is 0, within rounding error.
    """
    center, spread = np.zeros(2), np.zeros(2)
    for i, part in enumerate((scored.aleatoric, scored.epistemic)):
        finite = part[rows][np.isfinite(part[rows])]
        if len(finite):
            largest = float(finite.max())
            unit = largest if largest > 0 else 1.0  # squares of small or large numbers are lost
            center[i] = unit * np.mean(finite / unit)
            deviation = np.std(finite / unit)
            spread[i] = unit * deviation if deviation > 1e-12 else 0.0
    return center, spread


def standardized(
    scored: Scored, center: FloatArray, spread: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return (part - center) / spread; 0 for a part that did not vary, unless it is infinite."""
    aleatoric, epistemic = (
        np.divide(part - c, s, out=np.where(np.isfinite(part), 0.0, np.inf), where=s > 0)
        for part, c, s in zip((scored.aleatoric, scored.epistemic), center, spread, strict=True)
    )
    return aleatoric, epistemic
