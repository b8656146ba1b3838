"""Fields that declarations of regression metrics share."""

from functools import partial

import numpy as np

from ..entry import Metric

LOSS = partial(
    Metric,
    task="regression",
    direction="lower",
    range=(0.0, np.inf),
    optimum=0.0,
)
