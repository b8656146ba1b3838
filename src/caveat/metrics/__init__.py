"""Is the number right? Arrays in, a float or a curve out; METRICS is the table of them all."""

from ._curves import ReliabilityCurve
from ._entry import Metric
from .classification import *  # noqa: F403
from .classification import __all__ as _classification
from .ranking import *  # noqa: F403
from .ranking import __all__ as _ranking
from .registry import METRICS, MetricRegistry
from .regression import *  # noqa: F403
from .regression import __all__ as _regression

__all__ = [
    "METRICS",
    "Metric",
    "MetricRegistry",
    "ReliabilityCurve",
    *_classification,
    *_ranking,
    *_regression,
]
