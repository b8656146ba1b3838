"""Metrics of class probabilities and of sets of classes."""

from . import (
    adaptive,
    areas,
    brier_split,
    calibration,
    class_calibration,
    debiased,
    discrimination,
    entropy,
    net_benefit,
    operating_points,
    risk,
    scores,
    sets,
    smooth,
    variation,
)

MODULES = (
    discrimination,
    areas,
    operating_points,
    net_benefit,
    scores,
    brier_split,
    calibration,
    class_calibration,
    risk,
    adaptive,
    smooth,
    entropy,
    variation,
    debiased,
    sets,
)
"""In the order of the table."""
