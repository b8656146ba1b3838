"""Is the number right? Arrays in, a float or a curve out; METRICS is the table of them all."""

from ._curves import ReliabilityCurve
from .batch import Batch
from .classification.adaptive import *  # noqa: F403
from .classification.areas import *  # noqa: F403
from .classification.brier_split import *  # noqa: F403
from .classification.calibration import *  # noqa: F403
from .classification.debiased import *  # noqa: F403
from .classification.discrimination import *  # noqa: F403
from .classification.operating_points import *  # noqa: F403
from .classification.readings import *  # noqa: F403
from .classification.scores import *  # noqa: F403
from .classification.sets import *  # noqa: F403
from .classification.smooth import *  # noqa: F403
from .classification.variation import *  # noqa: F403
from .entry import Metric
from .means import mean_of, share_of
from .ranking.confidence import *  # noqa: F403
from .ranking.confidence_scores import *  # noqa: F403
from .ranking.detection import *  # noqa: F403
from .ranking.selective import *  # noqa: F403
from .registry import METRICS, MODULES, MetricRegistry
from .regression.coverage import *  # noqa: F403
from .regression.crps import *  # noqa: F403
from .regression.crps_discrete import *  # noqa: F403
from .regression.intervals import *  # noqa: F403
from .regression.points import *  # noqa: F403
from .regression.quantile_levels import *  # noqa: F403
from .regression.scores import *  # noqa: F403
from .regression.spread import *  # noqa: F403
from .states import State, load_state
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
    "load_state",
    "mean_of",
    "share_of",
]
__all__ += [name for module in MODULES for name in module.__all__]
