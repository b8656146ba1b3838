"""The numbers that charts draw: an evaluation in, arrays of bounded size out.

Plots and reports draw the same ones. Every figure with an observed curve has pointwise confidence
limits ``low`` and ``high`` that know of weights and clusters, and every figure gives its numbers as
a frame.
"""

from ._available import available
from ._confidence import Confidence, confidence_curve
from ._coverage import Coverage, coverage
from ._ecdf import Ecdf, ecdf
from ._error_calibration import ErrorCalibration, error_calibration
from ._error_histogram import ErrorHistogram, error_histogram
from ._extremes import Extremes, Sample, extremes
from ._figure import Figure
from ._groups import Groups, Panel, by_group
from ._reliability import Reliability, reliability
from ._split import Split, split

__all__ = [
    "Confidence",
    "Coverage",
    "Ecdf",
    "ErrorCalibration",
    "ErrorHistogram",
    "Extremes",
    "Figure",
    "Groups",
    "Panel",
    "Reliability",
    "Sample",
    "Split",
    "available",
    "by_group",
    "confidence_curve",
    "coverage",
    "ecdf",
    "error_calibration",
    "error_histogram",
    "extremes",
    "reliability",
    "split",
]
