"""Distances between classes from all channels together."""

import numpy as np

from ..._validation import FloatArray, LabelArray, shorten
from ...exceptions import InvalidValueError
from .channels import Codes

_BLOCK = 1 << 20
"""Distances between two samples that are held at a time (8 MiB)."""


def joint_energy(
    X: FloatArray, codes: Codes, classes: int, weights: FloatArray | None
) -> FloatArray:
    """Energy distances in the Euclidean norm over all channels; all pairs of samples are used."""
    from scipy.spatial.distance import cdist

    samples = len(X)
    shares = np.zeros((samples, classes))
    totals = np.bincount(codes, weights, minlength=classes)
    shares[np.arange(samples), codes] = (1.0 if weights is None else weights) / totals[codes]
    means = np.zeros((classes, classes))
    step = max(1, _BLOCK // samples)
    for start in range(0, samples, step):
        stop = min(start + step, samples)
        # Each pair once: those of the block, and those of the block with what comes after it.
        inside = shares[start:stop].T @ (cdist(X[start:stop], X[start:stop]) @ shares[start:stop])
        after = shares[start:stop].T @ (cdist(X[start:stop], X[stop:]) @ shares[stop:])
        means += inside + after + after.T
    own = np.diag(means)
    squares = 2 * means - own[:, None] - own
    # Below the rounding of the means a difference of them says nothing.
    squares[squares < 1e-12 * (own[:, None] + own)] = 0.0
    np.fill_diagonal(squares, 0.0)
    return np.sqrt((squares + squares.T) / 2)


def joint_bhattacharyya(
    X: FloatArray, codes: Codes, labels: LabelArray, weights: FloatArray | None
) -> FloatArray:
    """Bhattacharyya distances of the normal distributions with the classes' moments."""
    classes, channels = len(labels), X.shape[1]
    means, covariances = np.empty((classes, channels)), np.empty((classes, channels, channels))
    logs = np.empty(classes)
    for code in range(classes):
        own, weight = X[codes == code], None if weights is None else weights[codes == code]
        means[code] = np.average(own, axis=0, weights=weight)
        covariances[code] = np.cov(own.T, aweights=weight, ddof=0)
        spreads = np.sqrt(np.diag(covariances[code]))
        with np.errstate(invalid="ignore", divide="ignore"):
            correlations = covariances[code] / spreads / spreads[:, None]
        regular = bool((spreads > 0).all()) and np.linalg.eigvalsh(correlations)[0] > 1e-10
        if not regular:
            raise InvalidValueError(
                f"the channels of class {shorten(labels[[code]])} have a singular covariance "
                f"({len(own)} samples, {channels} channels; one may be constant or a sum of "
                "others); leave channels out, or use combine='mean+std'"
            )
        logs[code] = np.linalg.slogdet(covariances[code])[1]
    result = np.zeros((classes, classes))
    for i in range(classes - 1):
        middle = (covariances[i] + covariances[i + 1 :]) / 2
        apart = means[i] - means[i + 1 :]
        mahalanobis = (apart * np.linalg.solve(middle, apart[:, :, None])[:, :, 0]).sum(axis=1)
        shapes = np.linalg.slogdet(middle)[1] - (logs[i] + logs[i + 1 :]) / 2
        result[i, i + 1 :] = np.maximum(mahalanobis / 8 + shapes / 2, 0.0)
    return result + result.T
