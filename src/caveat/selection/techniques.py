"""What can be done to the predictions of a base model, by its kind."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from .._validation import FloatArray, check_integer
from ..exceptions import OptionError
from ..predictions import (
    Categorical,
    Gaussian,
    GaussianLogits,
    Interval,
    ProbabilityInterval,
    Quantiles,
)
from ..predictions.quantiles import central_coverages
from ..recalibration import (
    ConformalQuantiles,
    IsotonicCalibration,
    IsotonicDistribution,
    Recalibrator,
    SplineCalibration,
    TemperatureScaling,
    VarianceScaling,
    VennAbers,
)

__all__ = ["ONE_SIGMA", "TWO_SIGMA", "Technique", "techniques_for"]

ONE_SIGMA, TWO_SIGMA = 0.6827, 0.9545
"""Coverages of the central intervals of one and two standard deviations of a Gaussian."""

_LEAST = 10
"""Calibration samples below which no recalibration is tried."""

_CLASSES = {
    "TS": TemperatureScaling(),
    "IR": IsotonicCalibration(),
    "Venn-ABERS": VennAbers(),
    "spline": SplineCalibration(),
}
"""Recalibrations of classes: those of the comparison that this follows, and the arena's first."""

_SIGMAS = {"1σ": ONE_SIGMA, "2σ": TWO_SIGMA}


@dataclass(frozen=True)
class Technique:
    """A base model with what is done to its predictions.

    Attributes
    ----------
    base : str
        Name of the base model.
    recalibrator : Recalibrator or None
        Fitted on the calibration samples; None leaves the prediction as it is.
    level : float or None
        Quantiles become the Gaussian of their central interval at this level, before the
        recalibration. Intervals and probability intervals become a Gaussian or probabilities after
        it, so that all techniques can be compared.
    members : int or None
        How many of the base model's members are used, the first ones; None takes all. So ensembles
        of several sizes come from one that was trained.

    Examples
    --------
    >>> import caveat
    >>> from caveat.selection import Technique
    >>> Technique("DE", caveat.VarianceScaling())
    Technique(base='DE', recalibrator=VarianceScaling(), level=None, members=None)
    """

    base: str
    recalibrator: Recalibrator | None = None
    level: float | None = None
    members: int | None = None

    def apply(self, calibration: Any, y: Any, test: Any) -> Any:
        """Return the prediction of the test samples.

        Parameters
        ----------
        calibration : prediction
            What the base model says about the calibration samples.
        y : array
            Their truth.
        test : prediction
            What it says about the test samples.
        """
        calibration, test = self.prepared(calibration, test)
        if self.recalibrator is not None:
            fitted = clone(self.recalibrator).fit(_enough(calibration), y)
            few = getattr(fitted, "too_few_", ())
            if few:
                raise OptionError(f"too few for finite intervals: {few[0]}")
            test = fitted.transform(test)
        if isinstance(test, Interval):
            return test.to_gaussian()
        if isinstance(test, GaussianLogits | ProbabilityInterval):
            return test.to_categorical()
        return test

    def prepared(self, calibration: Any, test: Any) -> tuple[Any, Any]:
        """Return what the recalibration starts from.

        Parameters
        ----------
        calibration, test : predictions
            What the base model says.
        """
        if self.members is not None:
            calibration, test = (_first(one, self.members) for one in (calibration, test))
        # Conformal prediction starts from the quantiles themselves.
        conformal = isinstance(self.recalibrator, ConformalQuantiles)
        if self.level is not None and isinstance(test, Quantiles) and not conformal:
            return calibration.to_gaussian(self.level), test.to_gaussian(self.level)
        return calibration, test


def _enough(calibration: Any) -> Any:
    """Return the calibration samples; raise if they are too few to learn anything from."""
    if len(calibration) < _LEAST:
        raise OptionError(
            f"a recalibration needs at least {_LEAST} calibration samples; got {len(calibration)}"
        )
    return calibration


def _first(prediction: Any, count: int) -> Any:
    """Return the prediction of the first members alone."""
    check_integer(count, "members", 1)
    if prediction.members < count:
        raise OptionError(
            f"members is {count}, and the base model has {prediction.members} of them"
        )
    if isinstance(prediction, Categorical):
        return Categorical(prediction.probabilities[:count], classes=prediction.classes)
    if isinstance(prediction, GaussianLogits):
        parts = prediction.mean[:count], prediction.variance[:count]
        return GaussianLogits(*parts, classes=prediction.classes)
    if isinstance(prediction, Gaussian):
        parts = prediction.mean[:count], prediction.variance[:count]
        return Gaussian(*parts, targets=prediction.targets)
    return Quantiles(prediction.levels, prediction.values[:count], targets=prediction.targets)


def techniques_for(predictions: Mapping[str, Any]) -> dict[str, Technique]:
    """Return every combination of base models and recalibrations that fits them.

    Classes: as they are, with a temperature (TS), isotonic (IR), Venn-ABERS and splines. Gaussians:
    as they are, with a scaled variance (TS), isotonic (IR), and conformal at one and two standard
    deviations (C, as in CMAP). Quantiles: as Gaussians of their central intervals at one and two
    standard deviations, the same recalibrations of these, and conformal (CQR).

    Parameters
    ----------
    predictions : dict of str to prediction
        What each base model says, about any samples.

    Returns
    -------
    dict of str to Technique

    Examples
    --------
    >>> import caveat
    >>> list(techniques_for({"MAP": caveat.Gaussian([0.0], [1.0])}))
    ['MAP', 'MAP+TS', 'MAP+IR', 'CMAP 1σ', 'CMAP 2σ']
    """
    result: dict[str, Technique] = {}
    for name, prediction in predictions.items():
        if isinstance(prediction, Categorical | GaussianLogits):
            result[name] = Technique(name)
            result |= {f"{name}+{short}": Technique(name, one) for short, one in _CLASSES.items()}
        elif isinstance(prediction, Gaussian):
            result[name] = Technique(name)
            result[f"{name}+TS"] = Technique(name, VarianceScaling())
            result[f"{name}+IR"] = Technique(name, IsotonicDistribution())
            for sigma, level in _SIGMAS.items():
                result[f"C{name} {sigma}"] = Technique(name, ConformalQuantiles(level))
        elif isinstance(prediction, Quantiles):
            result |= dict(_of_quantiles(name, prediction))
        else:
            raise OptionError(
                f"base model {name!r} gives a {type(prediction).__name__}; a grid takes models of "
                "classes, Gaussians or quantiles"
            )
    return result


def errors_of(prediction: Any, y: Any) -> FloatArray:
    """Return how far the truth is from what a base model says, for each sample."""
    if isinstance(prediction, GaussianLogits):
        prediction = prediction.to_categorical()
    if isinstance(prediction, Categorical):
        codes = prediction.align(y)
        return np.asarray(1 - prediction.mean[np.arange(len(codes)), codes])
    if not isinstance(prediction, Gaussian):
        raise OptionError(
            f"errors are those of classes or Gaussians; got a {type(prediction).__name__}"
        )
    mean, variance = prediction.moments()
    return np.asarray(np.abs(prediction.align(y) - mean) / np.sqrt(variance))


def _of_quantiles(name: str, prediction: Quantiles) -> Iterator[tuple[str, Technique]]:
    known = central_coverages(prediction.levels)
    near = {
        sigma: next((own for own in known if abs(own - level) < 1e-3), None)
        for sigma, level in _SIGMAS.items()
    }
    words = {sigma: level for sigma, level in near.items() if level is not None}
    # Other levels are called by their coverage.
    words = words or {f"{level:g}": level for level in known}
    if not words:
        raise OptionError(
            f"base model {name!r} gives quantiles without a central interval; it needs levels that "
            "lie symmetrically, such as 0.05 and 0.95"
        )
    for word, level in words.items():
        base = f"{name} {word}"
        yield base, Technique(name, None, level)
        yield f"{base}+TS", Technique(name, VarianceScaling(), level)
        yield f"{base}+IR", Technique(name, IsotonicDistribution(), level)
        yield f"C{base}", Technique(name, ConformalQuantiles(level), level)
