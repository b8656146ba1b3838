"""The numbers of the two charts of a disentanglement: what both plots and report draw."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ._result import Curve, Disentanglement

_WIDTH = 2.0
"""Half the width of a band, in standard deviations over repeats."""

_MOST = 1.3
"""How far above the highest mean a band is shown."""


@dataclass(frozen=True, eq=False)
class Line:
    """One quantity along a sweep: its mean over repeats and a band of two standard deviations.

    Attributes
    ----------
    name : {"score", "aleatoric", "epistemic"}
    label : str
    mean, low, high : ndarray of shape (levels,)
        In percent: the score as it is, an uncertainty of its largest mean in both sweeps.
    raw : ndarray of shape (levels,)
        The mean over repeats in its own unit.
    whole : float
        What 100 % is, in that unit.
    expected : {"rises", "falls", "stays"}
        What an ideal split does from left to right.
    """

    name: str
    label: str
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    raw: NDArray[np.float64]
    whole: float
    expected: str


@dataclass(frozen=True, eq=False)
class Panel:
    """One sweep of one decomposition.

    Attributes
    ----------
    kind : {"size", "noise"}
    what : str
        What is permuted in the sweep of the noise.
    title, x_label, y_label, ideal : str
        ``ideal`` says what should rise, fall and stay.
    x : ndarray of shape (levels,)
        In percent.
    logarithmic : bool
        Whether the levels lie too unevenly for a linear axis.
    lines : tuple of Line
    """

    kind: str
    what: str
    title: str
    x_label: str
    y_label: str
    ideal: str
    x: NDArray[np.float64]
    logarithmic: bool
    lines: tuple[Line, ...]

    @property
    def ticks(self) -> list[float]:
        """The levels, from the largest down, whose labels do not touch on a logarithmic axis."""
        kept: list[float] = []
        for level in sorted(self.x.tolist(), reverse=True):
            if not kept or kept[-1] >= 1.5 * level:
                kept.append(level)
        return kept[::-1]


_EXPECTED = {
    "size": {"score": "rises", "aleatoric": "stays", "epistemic": "falls"},
    "noise": {"score": "falls", "aleatoric": "rises", "epistemic": "stays"},
}
_IDEAL = {
    "size": "ideal: epistemic falls, aleatoric stays",
    "noise": "ideal: aleatoric rises, epistemic stays",
}


def panels(result: "Disentanglement", decomposition: str | None = None) -> tuple[Panel, Panel]:
    """Return the sweep of the training size and that of the noise, for one decomposition."""
    size, noise = (result.curve(kind, decomposition) for kind in ("size", "noise"))
    whole = {part: _largest(size, noise, part) for part in ("aleatoric", "epistemic")}
    return _panel(size, result, whole), _panel(noise, result, whole)


def y_range(both: tuple[Panel, Panel]) -> tuple[float, float]:
    """Return the ends of the axis of both panels; a band that is very wide is cut off."""
    lines = [line for panel in both for line in panel.lines]
    lowest = min(np.nanmin(line.low, initial=0.0) for line in lines)
    highest = max(np.nanmax(line.high, initial=1.0) for line in lines)
    middle = max(np.nanmax(line.mean, initial=1.0) for line in lines)
    return 1.04 * float(lowest), 1.04 * float(min(highest, _MOST * middle))


def noise_words(task: str) -> str:
    """Return what was permuted."""
    return "labels" if task == "classification" else "targets"


def _panel(curve: "Curve", result: "Disentanglement", whole: dict[str, float]) -> Panel:
    size = curve.kind == "size"
    x = 100 * np.asarray(curve.levels, dtype=np.float64)
    what = noise_words(result.task)
    return Panel(
        curve.kind,
        what,
        "Less or more training data" if size else f"Noise in the {what}",
        "training data used, %" if size else f"{what} permuted, %",
        f"{result.score_name} in %; uncertainty in % of its largest",
        _IDEAL[curve.kind],
        x,
        bool(size and x.max() >= 20 * x.min()),
        (
            _line("score", result.score_name, curve.score, 1.0, curve.kind),
            *(
                _line(part, part, getattr(curve, part), whole[part], curve.kind)
                for part in ("aleatoric", "epistemic")
            ),
        ),
    )


def _line(name: str, label: str, values: NDArray[np.float64], whole: float, kind: str) -> Line:
    raw, spread = _mean(values), _spread(values)
    scale = whole if whole > 0 else np.inf
    ends = (raw - _WIDTH * spread, raw + _WIDTH * spread)
    low, high = (100 * (end / scale) for end in ends)
    if name != "score":
        low = np.maximum(low, 0.0)  # no uncertainty is below none
    elif np.max(values) <= 1:
        high = np.minimum(high, 100.0)  # nor is more than all right
    return Line(name, label, 100 * (raw / scale), low, high, raw, whole, _EXPECTED[kind][name])


def _largest(size: "Curve", noise: "Curve", part: str) -> float:
    means = np.concatenate([_mean(getattr(curve, part)) for curve in (size, noise)])
    return float(np.max(means, initial=0.0, where=np.isfinite(means)))


def _mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return _drawable(values).mean(axis=0)


def _spread(values: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(values) < 2:
        return np.zeros(values.shape[1])
    return np.asarray(_drawable(values).std(axis=0, ddof=1))


def _drawable(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values without infinities, which some divergences have: a chart leaves a gap."""
    return np.where(np.isfinite(values), values, np.nan)
