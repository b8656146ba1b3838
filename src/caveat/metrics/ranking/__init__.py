"""Does the uncertainty know where the errors are, and which samples come from elsewhere?"""

from .confidence import (
    ConfidenceCurve,
    RemovalCurve,
    confidence_curve,
    confidence_oracle_curve,
    oracle_curve,
)
from .confidence_scores import ENTRIES as _CONFIDENCE
from .confidence_scores import (
    confidence_oracle_area_error,
    decrease_ratio_score,
    error_drop_score,
)
from .detection import ENTRIES as _DETECTION
from .detection import (
    detection_average_precision_score,
    detection_roc_auc_score,
    error_detection_auroc_score,
    false_positive_rate_at_true_positive_rate_error,
)
from .selective import ENTRIES as _SELECTIVE
from .selective import (
    RiskCoverageCurve,
    area_under_risk_coverage_error,
    error_uncertainty_correlation,
    excess_area_under_risk_coverage_error,
    risk_coverage_curve,
)

__all__ = [
    "ConfidenceCurve",
    "RemovalCurve",
    "RiskCoverageCurve",
    "area_under_risk_coverage_error",
    "confidence_curve",
    "confidence_oracle_area_error",
    "confidence_oracle_curve",
    "decrease_ratio_score",
    "detection_average_precision_score",
    "detection_roc_auc_score",
    "error_detection_auroc_score",
    "error_drop_score",
    "error_uncertainty_correlation",
    "excess_area_under_risk_coverage_error",
    "false_positive_rate_at_true_positive_rate_error",
    "oracle_curve",
    "risk_coverage_curve",
]

ENTRIES = [*_CONFIDENCE, *_SELECTIVE, *_DETECTION]
