"""Three Gaussian classes, one of which moves: the example of figure 3, exactly."""

from collections.abc import Sequence

import numpy as np

from .._validation import FloatArray
from ..uncertainty import geometric_uncertainty, homophily_uncertainty, measure


def gaussian_posterior(x: Sequence[float], alpha: FloatArray) -> FloatArray:
    """Posterior of three Gaussian classes with means (0, 0), (2, 0) and alpha (1, 1)."""
    means = np.zeros((len(alpha), 3, 2))
    means[:, 1, 0] = 2.0
    means[:, 2] = np.asarray(alpha)[:, None]
    squares = ((np.asarray(x) - means) ** 2).sum(axis=2) / 2
    p = np.exp(squares.min(axis=1, keepdims=True) - squares)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def gaussian_distances(alpha: float) -> FloatArray:
    """Distances between the means in the maximum norm."""
    a = abs(alpha)
    b = max(abs(2 - alpha), abs(alpha))
    return np.array([[0.0, 2.0, a], [2.0, 0.0, b], [a, b, 0.0]])


def gaussian_measure(name: str, x: Sequence[float], alpha: FloatArray) -> FloatArray:
    """Return one of the curves of figure 3."""
    p = gaussian_posterior(x, alpha)
    if name == "homophily_uncertainty":
        pairs = zip(p, alpha, strict=True)
        return np.array(
            [homophily_uncertainty(row[None], gaussian_distances(a))[0] for row, a in pairs]
        )
    if name == "geometric_uncertainty":
        return geometric_uncertainty(p, "fisher-rao", order=2)
    return measure(p, name)


def peak(name: str, x: Sequence[float], low: float, high: float) -> tuple[float, float]:
    """Return where a curve of figure 3 is largest between two ends, and how large."""
    from scipy.optimize import minimize_scalar

    best = minimize_scalar(
        lambda a: -float(gaussian_measure(name, x, np.array([a]))[0]), bounds=(low, high),
        method="bounded", options={"xatol": 1e-9},
    )  # fmt: skip
    return float(best.x), -float(best.fun)
