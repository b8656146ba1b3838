"""Metrics of predicted numbers: points, distributions, quantiles and intervals."""

from . import coverage, crps, intervals, points, quantile_levels, scores, spread

MODULES = (points, scores, crps, intervals, coverage, quantile_levels, spread)
"""In the order of the table."""
