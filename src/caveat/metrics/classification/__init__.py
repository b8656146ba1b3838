"""Metrics of class probabilities and of sets of classes."""

from .._entry import Metric
from . import (
    adaptive,
    calibration,
    debiased,
    discrimination,
    readings,
    scores,
    sets,
    smooth,
    variation,
)
from .adaptive import (
    adaptive_calibration_error,
    adaptive_reliability_curve,
    thresholded_adaptive_calibration_error,
)
from .calibration import expected_calibration_error, maximum_calibration_error, reliability_curve
from .debiased import debiased_calibration_error
from .discrimination import (
    OperatingPoint,
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    matthews_correlation_score,
    operating_point,
    roc_auc_score,
    sensitivity_at_specificity_score,
    specificity_at_sensitivity_score,
)
from .readings import classwise_calibration_error, positive_calibration_error
from .scores import (
    BrierDecomposition,
    brier_calibration_error,
    brier_decomposition,
    brier_loss,
    brier_refinement_loss,
    negative_log_likelihood_loss,
)
from .sets import mean_set_size, set_coverage
from .smooth import smooth_calibration_error, smooth_reliability_curve
from .variation import (
    uncertainty_calibration_error,
    uncertainty_reliability_curve,
    variation_calibration_error,
    variation_reliability_curve,
)

__all__ = [
    "ENTRIES",
    "BrierDecomposition",
    "OperatingPoint",
    "accuracy_score",
    "adaptive_calibration_error",
    "adaptive_reliability_curve",
    "average_precision_score",
    "balanced_accuracy_score",
    "brier_calibration_error",
    "brier_decomposition",
    "brier_loss",
    "brier_refinement_loss",
    "classwise_calibration_error",
    "debiased_calibration_error",
    "expected_calibration_error",
    "f1_score",
    "matthews_correlation_score",
    "maximum_calibration_error",
    "mean_set_size",
    "negative_log_likelihood_loss",
    "operating_point",
    "positive_calibration_error",
    "reliability_curve",
    "roc_auc_score",
    "sensitivity_at_specificity_score",
    "set_coverage",
    "smooth_calibration_error",
    "smooth_reliability_curve",
    "specificity_at_sensitivity_score",
    "thresholded_adaptive_calibration_error",
    "uncertainty_calibration_error",
    "uncertainty_reliability_curve",
    "variation_calibration_error",
    "variation_reliability_curve",
]

ENTRIES: list[Metric] = [
    *discrimination.ENTRIES,
    *scores.ENTRIES,
    *calibration.ENTRIES,
    *readings.ENTRIES,
    *adaptive.ENTRIES,
    *smooth.ENTRIES,
    *variation.ENTRIES,
    *debiased.ENTRIES,
    *sets.ENTRIES,
]
