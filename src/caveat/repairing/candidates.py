"""Which recalibrators are tried on a kind of prediction, and by which scores."""

from collections.abc import Sequence
from typing import Any

from sklearn.base import clone

from ..exceptions import OptionError, UnsupportedPredictionError
from ..predictions import Categorical, Gaussian, GaussianLogits, Interval, Quantiles
from ..predictions.quantiles import central_coverages
from ..recalibration import (
    RECALIBRATORS,
    BetaCalibration,
    ConformalQuantiles,
    ConformalResiduals,
    ConformalSets,
    IsotonicDistribution,
    PlattScaling,
    Recalibrator,
    SplineCalibration,
    StructuredMatrixScaling,
    StructuredVectorScaling,
    TemperatureScaling,
    VarianceScaling,
    VennAbers,
)

_MOST_CLASSES = 100
"""With more classes, a matrix has too many parameters to be tried unasked."""

_USUAL_LEVEL = 0.6827


def check_supported(prediction: Any) -> None:
    """Raise if there is nothing that a repair could act on."""
    kinds = (Categorical, GaussianLogits, Gaussian, Quantiles, Interval)
    if not isinstance(prediction, kinds):
        raise UnsupportedPredictionError(
            f"repair takes probabilities, a Gaussian, quantiles or intervals; got a "
            f"{type(prediction).__name__}"
        )
    if isinstance(prediction, Gaussian) and not has_spread(prediction):
        raise UnsupportedPredictionError(
            "some predicted variances are 0, so that there is no spread to repair; make intervals "
            "from residuals: caveat.ConformalResiduals, or caveat.Repaired(model, conformal=0.9)"
        )


def has_spread(prediction: Any) -> bool:
    """Whether every sample of a prediction of numbers has a spread above 0."""
    return not isinstance(prediction, Gaussian) or bool((prediction.moments()[1] > 0).all())


def measures_of(prediction: Any) -> tuple[str, str]:
    """Return the proper score and the calibration error of a kind of prediction."""
    if isinstance(prediction, Gaussian):
        return "gaussian_crps_loss", "coverage_calibration_error"
    if isinstance(prediction, Quantiles):
        return "quantile_crps_loss", "quantile_coverage_error"
    if isinstance(prediction, Interval):
        return "interval_loss", ""
    two = len(prediction.classes) == 2
    error = "positive_calibration_error" if two else "expected_calibration_error"
    return "negative_log_likelihood_loss", error


def candidates_of(prediction: Any, given: Any, *, each: bool = False) -> list[Recalibrator]:
    """Return the recalibrators to try, from simple to complex.

    With ``each``, only those that can keep members apart, set to do so.
    """
    if each:
        usual = _usual(prediction) if given is None else candidates_of(prediction, given)
        able = [one for one in usual if "members" in one.get_params()]
        return [clone(one).set_params(members="each") for one in able]
    if given is None:
        return _usual(prediction)
    if isinstance(given, str | Recalibrator) or not isinstance(given, Sequence) or not given:
        raise OptionError(f"candidates must be a list of recalibrators or names; got {given!r}")
    return [as_recalibrator(one, prediction) for one in given]


def as_recalibrator(given: Any, prediction: Any) -> Recalibrator:
    """Return a recalibrator by its name, or as it is; raise if it does not fit the prediction."""
    if isinstance(given, str):
        entry = RECALIBRATORS[given]
        usual = {type(one): one for one in _usual(prediction)}
        made = usual.get(entry.recalibrator) or entry.recalibrator()
    elif isinstance(given, Recalibrator):
        made = clone(given)
    else:
        raise OptionError(f"expected a recalibrator or its name; got {given!r}")
    kind, name = type(prediction).__name__, type(made).__name__
    if not isinstance(prediction, made.takes):
        raise OptionError(f"{name} does not repair a {kind}")
    conformal = isinstance(made, ConformalQuantiles | ConformalResiduals | ConformalSets)
    if conformal and not isinstance(prediction, Interval):
        raise OptionError(
            f"{name} makes sets or intervals of a {kind}, which its score cannot be computed of; "
            "use it after the repair"
        )
    return made


def _usual(prediction: Any) -> list[Recalibrator]:
    if isinstance(prediction, Interval):
        return [ConformalQuantiles(float(prediction.coverage))]
    if isinstance(prediction, Gaussian):
        return [VarianceScaling(), IsotonicDistribution()]
    if isinstance(prediction, Quantiles):
        central = central_coverages(prediction.levels)
        if not central:
            raise UnsupportedPredictionError(
                "repair needs two quantiles at levels that are symmetric about 0.5, such as 0.05 "
                f"and 0.95; got {prediction.levels.tolist()}"
            )
        level = min(central, key=lambda coverage: abs(coverage - _USUAL_LEVEL))
        return [VarianceScaling(level=level), IsotonicDistribution(level=level, output="quantiles")]
    if len(prediction.classes) == 2:
        smooth = [TemperatureScaling(), PlattScaling(), BetaCalibration(), SplineCalibration()]
        return [*smooth, VennAbers()]
    matrix = [StructuredMatrixScaling()] if len(prediction.classes) <= _MOST_CLASSES else []
    smooth = [TemperatureScaling(), StructuredVectorScaling(), *matrix, SplineCalibration()]
    return [*smooth, VennAbers()]
