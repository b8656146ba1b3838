"""Feature space: where two features have much aleatoric and much epistemic uncertainty."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import FloatArray
from ..experiments.conditions import Condition, Draws, rows_of
from ..uncertainty import decompose
from ._disentanglement_data import LOGITS, SOFTMAX, Material, model_of

_MARGIN = {"two-moons": 0.6, "triangle": 0.5}
"""How far the pictures reach beyond the samples, as a part of their range."""
_SIZES = (0.02, 0.1, 0.25, 1.0)
_NOISE = (0.0, 0.25, 0.5, 1.0)
_SIDE = {"quick": 40, "paper": 100}
HEADS = {"gaussian_logits": LOGITS, "information": SOFTMAX}


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """Uncertainty all over the plane of two features, of networks that learned some samples.

    Attributes
    ----------
    figure : str
        Which figure of the paper it belongs to.
    decomposition : str
    kind : {"size", "noise"}
        What was changed.
    level : float
        To which share.
    schedule : str
        How long the networks trained.
    x1, x2 : ndarrays of shape (side,)
        Where the plane was looked at.
    aleatoric, epistemic : ndarrays of shape (repeats, side, side)
        By ``x2`` and ``x1``.
    X : ndarray of shape (samples, 2)
        What the network of the first repeat learned from.
    y : ndarray of shape (samples,)

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.studies import FeatureSpace
    >>> plane = np.zeros((1, 2, 3))
    >>> space = FeatureSpace(
    ...     "figure 10", "information", "size", 1.0, "inverse-epochs", np.arange(3.0),
    ...     np.arange(2.0), plane, plane, np.zeros((4, 2)), np.array([0, 1, 0, 1]),
    ... )
    >>> space.aleatoric.shape
    (1, 2, 3)
    """

    figure: str
    decomposition: str
    kind: str
    level: float
    schedule: str
    x1: FloatArray
    x2: FloatArray
    aleatoric: FloatArray
    epistemic: FloatArray
    X: FloatArray
    y: np.ndarray

    def side(self, part: str, end: str) -> FloatArray:
        """Return the mean uncertainty left or right of all samples, for each repeat."""
        values = getattr(self, part)
        beyond = self.x1 < self.X[:, 0].min() if end == "left" else self.x1 > self.X[:, 0].max()
        return np.asarray(values[:, :, beyond].mean(axis=(1, 2)))

    def over_all(self, part: str) -> FloatArray:
        """Return the mean uncertainty of the whole plane, for each repeat."""
        return np.asarray(getattr(self, part).mean(axis=(1, 2)))


@dataclass(frozen=True)
class _Wanted:
    figure: str
    decomposition: str
    kind: str
    levels: tuple[float, ...]
    schedule: str = "inverse-epochs"


_FIGURES = {
    "two-moons": (
        *(_Wanted("figure 5a", name, "size", _SIZES) for name in HEADS),
        *(_Wanted("figure 5b", name, "noise", _NOISE) for name in HEADS),
        *(_Wanted("figure 11", name, "size", _SIZES, "constant-epochs") for name in HEADS),
    ),
    "triangle": (_Wanted("figure 10", "information", "size", (1.0,)),),
}


def draw_pictures(
    material: Material,
    scale: str,
    repeats: int,
    seed: int,
    settings: dict[str, Any],
    progress: bool,
) -> list[FeatureSpace]:
    """Return all pictures of a data set of two features: MC-Dropout, as in the paper."""
    wanted = _FIGURES.get(material.name, ())
    found: dict[tuple[str, str, float], FeatureSpace] = {}
    for name, head in HEADS.items():
        some = [one for one in wanted if one.decomposition == name]
        if some:
            model = model_of(material, "mc-dropout", head, scale, settings)
            for space in _trained(model, material, some, repeats, seed, _SIDE[scale], progress):
                found[space.figure, name, space.level] = space
    order = [(one.figure, one.decomposition, level) for one in wanted for level in one.levels]
    return [found[key] for key in order]


def _trained(
    model: Any,
    material: Material,
    wanted: list[_Wanted],
    repeats: int,
    seed: int,
    side: int,
    progress: bool,
) -> list[FeatureSpace]:
    """Train the networks of all pictures of one head as one program, and look at the plane."""
    from ..estimators import Problem, fit_many

    draws = Draws(seed)
    every = [
        (one, Condition(one.kind, level, place, repeat))
        for one in wanted
        for place, level in enumerate(one.levels)
        for repeat in range(repeats)
    ]
    taken = [_samples(material, condition, draws) for _, condition in every]
    problems = [
        Problem(
            material.X,
            y,
            rows=rows,
            random_state=draws.seeds(condition, 1)[0],
            parameters={"epochs": _epochs(model.epochs, one, condition)},
        )
        for (one, condition), (rows, y) in zip(every, taken, strict=True)
    ]
    models = fit_many(model, problems, progress=progress)
    x1, x2, plane = _plane(material, side)
    found = []
    for start in range(0, len(every), repeats):
        one, condition = every[start]
        rows, y = taken[start]
        splits = [
            decompose(fitted.predict_distribution(plane), one.decomposition, random_state=seed)
            for fitted in models[start : start + repeats]
        ]
        parts = {
            part: np.stack([getattr(split, part) for split in splits]).reshape(-1, side, side)
            for part in ("aleatoric", "epistemic")
        }
        shown = material.X * material.scale + material.center
        some = slice(None) if rows is None else rows
        found.append(
            FeatureSpace(
                one.figure, one.decomposition, one.kind, condition.level, one.schedule, x1, x2,
                **parts, X=shown[some], y=y[some],
            )
        )  # fmt: skip
    return found


def _samples(material: Material, condition: Condition, draws: Draws) -> tuple[Any, np.ndarray]:
    if condition.kind == "noise":
        return None, draws.noisy(material.y, condition)
    return rows_of(condition, material.y, "classification", draws), material.y


def _epochs(epochs: int, wanted: _Wanted, condition: Condition) -> int:
    if wanted.kind == "noise" or wanted.schedule == "constant-epochs":
        return epochs
    return round(epochs / condition.level)


def _plane(material: Material, side: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the places to look at, and the same on the scale that the networks learned."""
    known = material.X * material.scale + material.center
    low, high = known.min(axis=0), known.max(axis=0)
    wide = _MARGIN[material.name] * (high - low)
    x1, x2 = (np.linspace(low[i] - wide[i], high[i] + wide[i], side) for i in range(2))
    grid = np.stack(np.meshgrid(x1, x2), axis=-1).reshape(-1, 2)
    return x1, x2, material.scaled(grid)
