"""Uncertainty over the plane of two features."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from .._validation import FloatArray
from ..experiments.conditions import Condition, Draws, rows_of
from ..uncertainty import decompose
from ._samples import TrainTest


@dataclass(frozen=True, eq=False)
class Plane:
    """Uncertainty over the plane of two features, for networks trained under one condition.

    ``kind`` and ``level`` say what was changed, the share of samples or of permuted labels;
    ``schedule`` how long the networks trained. ``aleatoric`` and ``epistemic`` have the shape
    (repeats, side, side), by ``x2`` and ``x1``; ``X`` and ``y`` are the training samples of the
    first repeat.
    """

    figure: str
    decomposition: str
    kind: str
    level: float
    schedule: str = "inverse-epochs"
    x1: Any = None
    x2: Any = None
    aleatoric: Any = None
    epistemic: Any = None
    X: Any = None
    y: Any = None

    def mean(self, part: str, where: str = "everywhere") -> FloatArray:
        """Return the mean of each repeat, everywhere, or "left" or "right" of the samples."""
        columns = {
            "everywhere": np.full(len(self.x1), True),
            "left": self.x1 < self.X[:, 0].min(),
            "right": self.x1 > self.X[:, 0].max(),
        }[where]
        return np.asarray(getattr(self, part)[:, :, columns].mean(axis=(1, 2)))


def measure_planes(
    wanted: Sequence[Plane], model: Any, samples: TrainTest, *, repeats: int, seed: int, side: int,
    margin: float, progress: bool,
) -> list[Plane]:  # fmt: skip
    """Return planes with their uncertainties; their networks train in lock-step.

    The grid has ``side`` points along each feature, and extends beyond the samples by ``margin``
    times their range.
    """
    from ..estimators import Problem, fit_many

    draws = Draws(seed)
    taken, problems = [], []
    for plane, repeat in product(wanted, range(repeats)):
        condition = Condition(plane.kind, plane.level, 0, repeat)
        noisy = plane.kind == "noise"
        y = draws.noisy(samples.y, condition) if noisy else samples.y
        rows = rows_of(condition, y, "classification", draws)  # None for all
        taken.append((slice(None) if rows is None else rows, y))
        fixed = noisy or plane.schedule == "constant-epochs"
        epochs = {"epochs": model.epochs if fixed else round(model.epochs / plane.level)}
        own = draws.seeds(condition, 1)[0]
        problems.append(Problem(samples.X, y, rows=rows, random_state=own, parameters=epochs))
    models = fit_many(model, problems, progress=progress)
    known = samples.X * samples.scale + samples.center
    low, high = known.min(axis=0), known.max(axis=0)
    beyond = margin * (high - low)
    x1, x2 = (np.linspace(low[i] - beyond[i], high[i] + beyond[i], side) for i in range(2))
    grid = samples.scaled(np.stack(np.meshgrid(x1, x2), axis=-1).reshape(-1, 2))
    result = []
    for i, plane in enumerate(wanted):
        place = i * repeats
        splits = [
            decompose(fitted.predict_distribution(grid), plane.decomposition, random_state=seed)
            for fitted in models[place : place + repeats]
        ]
        rows, y = taken[place]
        parts: dict[str, Any] = {
            part: np.stack([getattr(split, part) for split in splits]).reshape(-1, side, side)
            for part in ("aleatoric", "epistemic")
        }
        result.append(replace(plane, x1=x1, x2=x2, X=known[rows], y=y[rows], **parts))
    return result
