"""Fields that declarations of classification metrics share."""

from functools import partial

from ..entry import Metric

CALIBRATION_ERROR = partial(
    Metric,
    task="classification",
    inputs=("probabilities",),
    direction="lower",
    range=(0.0, 1.0),
    optimum=0.0,
    locality="local",
    unit="share",
    within_class=False,
)
DECISION_SCORE = partial(
    Metric,
    task="classification",
    inputs=("probabilities",),
    direction="higher",
    range=(0.0, 1.0),
    optimum=1.0,
)
LOSS = partial(
    Metric,
    task="classification",
    inputs=("probabilities",),
    direction="lower",
    range=(0.0, float("inf")),
    optimum=0.0,
)
