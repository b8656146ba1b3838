"""Predictions of pixels averaged with those of their neighbors."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from .._validation import FloatArray, check_fraction, check_integer
from ..exceptions import UnsupportedPredictionError
from ..predictions import Categorical
from .prediction_map import PredictionMap


def average_neighbors(
    pixels: PredictionMap, *, share: float = 0.5, rounds: int = 1
) -> PredictionMap:
    r"""Return the map whose probabilities are averaged with those of the neighboring pixels.

    .. math:: p'_i = (1 - \lambda) p_i + \frac{\lambda}{|N_i|} \sum_{j \in N_i} p_j

    over the eight pixels around (26 of a volume), less those that the map does not have; a pixel
    without neighbors stays as it is. Where neighbors mostly share a class, predictions of single
    pixels get better, and sets of :class:`~caveat.ConformalSets` smaller. No label is used, so
    their coverage holds as before: calibrate on a random part of the pixels, averaged alike. With
    ``score="lac"`` these are the spatially aware sets of [1]_, which averages the scores: one less
    the probabilities.

    Parameters
    ----------
    pixels : PredictionMap
        A map of class probabilities; members are averaged with their neighbors one by one.
    share : float, default=0.5
        The weight of the neighbors (:math:`\lambda`), strictly between 0 and 1.
    rounds : int, default=1
        How often to average; each round reaches one pixel further.

    References
    ----------
    .. [1] K. Liu, T. Sun, H. Zeng, Y. Zhang, C.-M. Pun, C.-M. Vong. Spatial-Aware Conformal
       Prediction for Trustworthy Hyperspectral Image Classification. arXiv:2409.01236, 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.maps import PredictionMap, average_neighbors
    >>> p = np.array([[0.9, 0.9, 0.1]])                   # the last pixel disagrees
    >>> pixels = PredictionMap.from_array(np.stack([p, 1 - p]))
    >>> average_neighbors(pixels).prediction.mean[:, 0].round(2)
    array([0.9, 0.7, 0.5])
    """
    if not isinstance(pixels, PredictionMap) or not isinstance(pixels.prediction, Categorical):
        kind = type(getattr(pixels, "prediction", pixels)).__name__
        raise UnsupportedPredictionError(
            f"neighbors are averaged in a PredictionMap of class probabilities; got {kind}"
        )
    share = check_fraction(share, "share")
    rounds = check_integer(rounds, "rounds")
    given = pixels.prediction
    axes = range(len(pixels.shape))
    present = pixels.layer(np.ones((len(given), 1)), fill=0.0)
    number = _around(present, axes)
    weight = np.where(number > 0, share, 0.0)
    averaged = np.empty_like(given.probabilities)
    for member, probabilities in enumerate(given.probabilities):
        grid = pixels.layer(probabilities, fill=0.0)
        for _ in range(rounds):
            near = _around(grid, axes) / np.maximum(number, 1.0)
            grid = ((1 - weight) * grid + weight * near) * present
        flat = grid.reshape(-1, grid.shape[-1])
        averaged[member] = flat if pixels.valid is None else flat[pixels.valid]
    averaged /= averaged.sum(axis=-1, keepdims=True)  # single precision sums to 1 only nearly
    return replace(pixels, prediction=Categorical(averaged, classes=given.classes))


def _around(grid: FloatArray, axes: Iterable[int]) -> FloatArray:
    """Return the sums over the pixels around each pixel, without itself."""
    total = grid
    for axis in axes:
        padded = np.pad(total, [(int(axis == i),) * 2 for i in range(grid.ndim)])
        first, last = np.moveaxis(padded, axis, 0)[:-2], np.moveaxis(padded, axis, 0)[2:]
        total = total + np.moveaxis(first + last, 0, axis)
    return total - grid
