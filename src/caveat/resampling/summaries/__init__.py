"""Every metric of the registry as a function of sums, which resampling only has to reweight."""

from collections.abc import Callable

from . import areas, bins, coverage, decisions, equal_count, means, ranking, smooth
from ._parts import Part, Summary

__all__ = ["SUMMARIES", "Part", "Summary"]

_SHARES = ("accuracy_score", "set_coverage", "interval_coverage", "quantile_coverage")

_MEANS = (
    "negative_log_likelihood_loss",
    "brier_loss",
    "mean_set_size",
    "mean_absolute_error",
    "gaussian_negative_log_likelihood_loss",
    "mixture_negative_log_likelihood_loss",
    "pinball_loss",
    "gaussian_crps_loss",
    "mixture_crps_loss",
    "ensemble_crps_loss",
    "quantile_crps_loss",
    "mean_interval_width",
    "interval_loss",
)

_OTHERS: tuple[Callable[..., Summary], ...] = (
    means.coverage_ratio,
    means.dispersion,
    means.mean_absolute_scaled_error,
    means.root_mean_squared_error,
    means.sharpness,
    decisions.balanced_accuracy_score,
    decisions.f1_score,
    decisions.matthews_correlation_score,
    areas.average_precision_score,
    areas.detection_average_precision_score,
    areas.detection_roc_auc_score,
    areas.error_detection_auroc_score,
    areas.false_positive_rate_at_true_positive_rate_error,
    areas.roc_auc_score,
    areas.sensitivity_at_specificity_score,
    areas.specificity_at_sensitivity_score,
    bins.brier_calibration_error,
    bins.brier_refinement_loss,
    bins.uncertainty_calibration_error,
    bins.variation_calibration_error,
    equal_count.adaptive_calibration_error,
    equal_count.classwise_calibration_error,
    equal_count.debiased_calibration_error,
    equal_count.expected_calibration_error,
    equal_count.expected_normalised_calibration_error,
    equal_count.maximum_calibration_error,
    equal_count.positive_calibration_error,
    equal_count.thresholded_adaptive_calibration_error,
    coverage.central_coverage_error,
    coverage.coverage_calibration_error,
    coverage.maximum_coverage_error,
    coverage.quantile_coverage_error,
    ranking.area_under_risk_coverage_error,
    ranking.confidence_oracle_area_error,
    ranking.decrease_ratio_score,
    ranking.error_drop_score,
    ranking.error_uncertainty_correlation,
    ranking.excess_area_under_risk_coverage_error,
    smooth.smooth_calibration_error,
)

SUMMARIES: dict[str, Callable[..., Summary]] = {
    **{name: means.share_of(name) for name in _SHARES},
    **{name: means.mean_of(name) for name in _MEANS},
    **{summary.__name__: summary for summary in _OTHERS},
}
"""Metric name to ``summary(prepared, **options)``; a metric not in it is called once a resample."""
