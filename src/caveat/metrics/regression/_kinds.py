"""Fields that declarations of regression metrics share."""

from functools import partial

import numpy as np

from ..entry import Metric

LOSS = partial(
    Metric, task="regression", inputs=(), direction="lower", range=(0.0, np.inf), optimum=0.0
)
COVERAGE = partial(LOSS, direction="target", range=(0.0, 1.0), optimum=None, unit="share")
DISTANCE = partial(LOSS, unit="target")
