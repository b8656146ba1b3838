"""Fields that declarations of ranking metrics share."""

from functools import partial

from ..entry import Metric

AREA = partial(
    Metric,
    inputs=("score",),
    task="detection",
    direction="higher",
    range=(0.0, 1.0),
    optimum=1.0,
)
RANKING = partial(
    Metric,
    task="ranking",
    inputs=("uncertainty",),
)
