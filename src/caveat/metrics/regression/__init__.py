"""Metrics of predicted numbers: points, distributions, quantiles and intervals."""

from . import coverage as _coverage
from . import crps as _crps
from . import crps_discrete as _crps_discrete
from . import intervals as _intervals
from . import points as _points
from . import scores as _scores
from . import spread as _spread
from .coverage import (
    CoverageCurve,
    central_coverage_error,
    coverage_calibration_error,
    coverage_curve,
    maximum_coverage_error,
    quantile_coverage,
    quantile_coverage_curve,
    quantile_coverage_error,
)
from .crps import gaussian_crps_loss, mixture_crps_loss
from .crps_discrete import ensemble_crps_loss, quantile_crps_loss
from .intervals import (
    coverage_ratio,
    interval_coverage,
    interval_loss,
    mean_interval_width,
)
from .points import mean_absolute_error, mean_absolute_scaled_error, root_mean_squared_error
from .scores import (
    gaussian_negative_log_likelihood_loss,
    mixture_negative_log_likelihood_loss,
    pinball_loss,
)
from .spread import (
    dispersion,
    error_calibration_curve,
    expected_normalised_calibration_error,
    sharpness,
)

__all__ = [
    "CoverageCurve",
    "central_coverage_error",
    "coverage_calibration_error",
    "coverage_curve",
    "coverage_ratio",
    "dispersion",
    "ensemble_crps_loss",
    "error_calibration_curve",
    "expected_normalised_calibration_error",
    "gaussian_crps_loss",
    "gaussian_negative_log_likelihood_loss",
    "interval_coverage",
    "interval_loss",
    "maximum_coverage_error",
    "mean_absolute_error",
    "mean_absolute_scaled_error",
    "mean_interval_width",
    "mixture_crps_loss",
    "mixture_negative_log_likelihood_loss",
    "pinball_loss",
    "quantile_coverage",
    "quantile_coverage_curve",
    "quantile_coverage_error",
    "quantile_crps_loss",
    "root_mean_squared_error",
    "sharpness",
]

ENTRIES = [
    *_points.ENTRIES,
    *_scores.ENTRIES,
    *_crps.ENTRIES,
    *_crps_discrete.ENTRIES,
    *_intervals.ENTRIES,
    *_coverage.ENTRIES,
    *_spread.ENTRIES,
]
