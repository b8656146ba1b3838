"""Metrics of the order of uncertainties: error ranking, selective prediction and detection."""

from . import confidence, confidence_scores, detection, selective

MODULES = (confidence, confidence_scores, selective, detection)
"""In the order of the table."""
