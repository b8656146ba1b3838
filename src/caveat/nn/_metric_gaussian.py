"""Sums of regression metrics of Gaussian predictions on a device, and the values that follow."""

from collections.abc import Callable, Mapping
from math import pi, sqrt
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .._validation import FloatArray
from ..exceptions import InvalidValueError, ShapeError
from ..metrics import METRICS, State
from ._metric_cells import SPREADS, add_rows, spread_cells
from .losses import gaussian_nll

_LEVELS = 200
"""Cells of the predicted distribution function: all levels of the coverage errors are ends."""


class GaussianSums:
    """Sums over samples with a predicted mean and spread.

    Parameters
    ----------
    head : {"mean-std", "mean-variance"}
    """

    unavailable: Mapping[str, str] = {}

    def __init__(self, head: str) -> None:
        self.head = head
        self.shapes: dict[str, tuple[int, ...]] = {
            "bad": (1,),
            "scores": (7,),  # samples and six scores, see `_add`
            "levels": (_LEVELS, 1),  # samples by the distribution function at the true value
            "spread": (SPREADS, 3),  # samples, variance and squared error, by variance
        }
        self.names = [name for name in METRICS if name in {*_EXACT, *_OF_LEVELS, *_OF_SPREAD}]

    def add(self, sums: Mapping[str, Tensor], preds: Tensor, target: Tensor) -> None:
        """Add a batch to the sums, in place.

        Parameters
        ----------
        sums : mapping of str to Tensor
            By the names of ``shapes``.
        preds : Tensor of shape (samples, 2) or (samples, 2, 1)
            Means, and standard deviations or variances.
        target : Tensor of shape (samples,) or (samples, 1)
        """
        if preds.shape[1:] not in {(2,), (2, 1)}:
            raise ShapeError(
                f"preds must have shape (samples, 2), mean and {self.head.removeprefix('mean-')}; "
                f"got {tuple(preds.shape)}. With several targets, use one Metrics for each"
            )
        if target.shape not in {preds.shape[:1], (len(preds), 1)}:
            raise ShapeError(
                f"target must have shape ({len(preds)},), as preds has samples; got "
                f"{tuple(target.shape)}"
            )
        mean, spread = preds.double().reshape(-1, 2).unbind(1)
        y = target.double().reshape(-1)
        std = spread.sqrt() if self.head == "mean-variance" else spread
        usable = (y - mean).isfinite() & std.isfinite() & (std > 0)
        sums["bad"].add_((~usable).sum())
        # `values` raises if anything is invalid; until then it must fit into the tables.
        error, std = torch.where(usable, y - mean, 0.0), torch.where(usable, std, 1.0)
        z = error / std
        below = torch.special.ndtr(z)
        density = torch.exp(-z.square() / 2) / sqrt(2 * pi)
        one, square = torch.ones_like(std), error.square()
        variance = std.square()
        moments = torch.stack([torch.zeros_like(std), std], dim=1)[..., None]
        scores = [
            one,
            error.abs(),
            square,
            gaussian_nll(moments, error),
            std * (z * (2 * below - 1) + 2 * density - 1 / sqrt(pi)),
            std,
            variance,
        ]
        sums["scores"].add_(torch.stack(scores).sum(1))
        level = ((below * _LEVELS).ceil().long() - 1).clamp(0, _LEVELS - 1)  # the end belongs to it
        add_rows(sums["levels"], level, one)
        add_rows(sums["spread"], spread_cells(variance), one, variance, square)

    def values(self, sums: Mapping[str, FloatArray]) -> dict[str, float]:
        """Return the values of all metrics by name.

        Parameters
        ----------
        sums : mapping of str to ndarray
        """
        samples, bad = int(sums["scores"][0]), int(sums["bad"][0])
        if samples == 0:
            raise ShapeError("there are no samples yet; call update before compute")
        if bad:
            raise InvalidValueError(
                f"preds or target of {bad:,} of {samples:,} samples are NaN or infinite, or the "
                "spread is not above 0"
            )
        values = {name: _exact(name, sums["scores"]) for name in _EXACT}
        level = np.flatnonzero(sums["levels"][:, 0])
        z = torch.special.ndtri(torch.from_numpy((level + 0.5) / _LEVELS)).numpy()
        values |= {
            name: METRICS[name].function(
                z, np.zeros_like(z), np.ones_like(z), sample_weight=sums["levels"][level, 0]
            )
            for name in _OF_LEVELS
        }
        count, variance, square = sums["spread"][sums["spread"][:, 0] > 0].T
        values |= {
            name: METRICS[name].function(
                np.sqrt(square / count), np.zeros_like(count), variance / count, sample_weight=count
            )
            for name in _OF_SPREAD
        }
        return {name: values[name] for name in self.names}


_EXACT: dict[str, Callable[[FloatArray], list[float]]] = {
    "mean_absolute_error": lambda s: [s[1]],
    "root_mean_squared_error": lambda s: [s[2]],
    "gaussian_negative_log_likelihood_loss": lambda s: [s[3]],
    "gaussian_crps_loss": lambda s: [s[4]],
    "dispersion": lambda s: [s[5], s[6]],
    "sharpness": lambda s: [s[6]],
}
"""The scores whose sums the metric declares."""

_OF_LEVELS = ("coverage_calibration_error", "central_coverage_error", "maximum_coverage_error")
_OF_SPREAD = ("expected_normalized_calibration_error",)


def _exact(name: str, scores: FloatArray) -> float:
    chosen = _EXACT[name](scores)
    part: Any = np.array([[scores[0], *chosen, *[0.0] * len(chosen)]])  # the last count infinities
    state = State(name, {}, {}, int(scores[0]), True, ((np.arange(part.size), part),), ())
    return METRICS[name].value(state)
