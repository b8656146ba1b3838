"""Metrics of predictions: arrays in, a float or a curve out; METRICS lists all of them."""

from typing import TYPE_CHECKING

from .._renamed import old_names
from ._curves import ReliabilityCurve
from .batch import Batch
from .classification.adaptive import *
from .classification.areas import *
from .classification.brier_split import *
from .classification.calibration import *
from .classification.debiased import *
from .classification.discrimination import *
from .classification.entropy import *
from .classification.net_benefit import *
from .classification.operating_points import *
from .classification.risk import *
from .classification.scores import *
from .classification.sets import *
from .classification.smooth import *
from .classification.variation import *
from .entry import Metric
from .means import mean_of, share_of
from .ranking.confidence import *
from .ranking.confidence_scores import *
from .ranking.detection import *
from .ranking.selective import *
from .registry import METRICS, MODULES, MetricRegistry
from .regression.coverage import *
from .regression.crps import *
from .regression.intervals import *
from .regression.points import *
from .regression.quantile_levels import *
from .regression.scores import *
from .regression.spread import *
from .states import State
from .sums import UNBIASED, Part, Sums

__all__ = [
    "METRICS",
    "UNBIASED",
    "Batch",
    "Metric",
    "MetricRegistry",
    "Part",
    "ReliabilityCurve",
    "State",
    "Sums",
    "mean_of",
    "share_of",
]
__all__ += [name for module in MODULES for name in module.__all__]

if not TYPE_CHECKING:  # pragma: no branch
    __getattr__ = old_names(__name__)
