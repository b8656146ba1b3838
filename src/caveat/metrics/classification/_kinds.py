"""Fields that declarations of classification metrics share."""

from functools import partial

import numpy as np

from ..entry import Metric

LOSS = partial(
    Metric, task="classification", inputs=(), direction="lower", range=(0.0, np.inf), optimum=0.0
)
CALIBRATION_ERROR = partial(
    LOSS, range=(0.0, 1.0), locality="local", unit="share", within_class=False
)
DECISION_SCORE = partial(LOSS, direction="higher", range=(0.0, 1.0), optimum=1.0)
