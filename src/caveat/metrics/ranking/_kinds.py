"""Fields that declarations of ranking metrics share."""

from functools import partial

import numpy as np

from ..entry import Metric

SCORE = partial(
    Metric, task="ranking", inputs=(), direction="higher", range=(0.0, 1.0), optimum=1.0
)
DETECTION = partial(SCORE, task="detection")
ERROR = partial(SCORE, direction="lower", range=(0.0, np.inf), optimum=0.0, locality="local")
