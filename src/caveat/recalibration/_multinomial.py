"""Multinomial logistic regression on logits, pulled towards leaving them as they are."""

from collections import deque
from collections.abc import Callable

import numpy as np

from .._blocks import row_blocks
from .._validation import FloatArray
from ..predictions.categorical import softmax
from ._classes import Codes

_MOST_EXACT = 600
"""Up to so many parameters a matrix of second derivatives is computed."""
_FEW_ROWS = 3_000
_STEPS, _FLAT_STEPS, _MEMORY = 1000, 5, 20
_SHORT = 1e-8
_RANGE = 300.0


def likelihood(
    matrix: FloatArray, features: FloatArray, codes: Codes, weight: FloatArray
) -> tuple[float, FloatArray]:
    """Return the weighted negative log-likelihood and its gradient.

    Features are (columns, samples), in which products and sums are fastest. The last column of
    ``matrix`` has the intercepts, so the last of the features is ones.
    """
    value, gradient = 0.0, np.zeros_like(matrix)
    for rows in row_blocks(len(codes), len(features)):
        x = features[:, rows]
        logits = matrix @ x
        value += _residuals(logits, codes[rows], weight[rows])
        gradient += logits @ x.T
    return value, gradient


def diagonal_likelihood(
    matrix: FloatArray, features: FloatArray, codes: Codes, weight: FloatArray
) -> tuple[float, FloatArray]:
    """Return the same for a factor and an intercept of each class, of shape (classes, 2)."""
    value, gradient = 0.0, np.zeros_like(matrix)
    for rows in row_blocks(len(codes), len(features)):
        x = features[:, rows]
        logits = x * matrix[:, :1]
        logits += matrix[:, 1:]
        value += _residuals(logits, codes[rows], weight[rows])
        gradient[:, 0] += np.einsum("ki,ki->k", logits, x)
        gradient[:, 1] += logits.sum(axis=1)
    return value, gradient


def _residuals(logits: FloatArray, codes: Codes, weight: FloatArray) -> float:
    """Turn logits (classes, samples) into weighted residuals, in place; return their loss."""
    places = np.arange(len(weight))
    # Exponentials of such numbers are in range, and the largest of each sample is not needed.
    if max(logits.max(), -logits.min()) > _RANGE:
        logits -= logits.max(axis=0)
    true = logits[codes, places]
    np.exp(logits, out=logits)
    total = np.ones(len(logits)) @ logits
    logits *= weight / total
    logits[codes, places] -= weight
    return float((np.log(total) - true) @ weight)


def fit_scaling(
    features: FloatArray, codes: Codes, weight: FloatArray, penalty: FloatArray
) -> FloatArray:
    """Return the coefficients near the identity with the least mean log loss plus penalty.

    ``penalty`` is what the square of each coefficient's change costs. Its shape says what is
    fitted: (classes, classes + 1) a matrix with the intercepts last, for features that are logits
    and ones; (classes, 2) a factor and an intercept of each class, for logits alone. Features are
    (columns, samples).
    """
    classes, width = penalty.shape
    diagonal = width == 2
    start = np.tile([1.0, 0.0], (classes, 1)) if diagonal else np.eye(classes, classes + 1)
    function = diagonal_likelihood if diagonal else likelihood
    weight = weight / weight.sum()
    part = slice(None, None, max(1, len(codes) // _FEW_ROWS))
    some, counted = features[:, part].T, weight[part] / weight[part].sum()
    if penalty.size <= _MOST_EXACT:
        bend = _curvature(some, counted, diagonal) + np.diag(2 * penalty.ravel())
        factor = np.linalg.inv(np.linalg.cholesky(bend))
    else:
        bend = _diagonal_curvature(some, counted, diagonal) + 2 * penalty
        factor = 1 / np.sqrt(bend.ravel())

    def solve(gradient: FloatArray) -> FloatArray:
        return factor.T @ (factor @ gradient) if factor.ndim == 2 else factor**2 * gradient

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        moved = flat.reshape(penalty.shape)
        value, gradient = function(start + moved, features, codes, weight)
        pull = penalty * moved
        return value + float((pull * moved).sum()), (gradient + 2 * pull).ravel()

    return start + descend(loss, np.zeros(penalty.size), solve).reshape(penalty.shape)


def _curvature(features: FloatArray, weight: FloatArray, diagonal: bool) -> FloatArray:
    """Return the second derivatives where logits stay as they are."""
    if diagonal:
        logits, columns = features, np.stack([features, np.ones_like(features)], axis=2)
    else:
        logits = features[:, :-1]
        columns = np.broadcast_to(features[:, None], (*logits.shape, features.shape[1]))
    p = softmax(logits)
    mixed = (p[:, :, None] * columns).reshape(len(p), -1)
    result = -(mixed * weight[:, None]).T @ mixed
    width = columns.shape[2]
    for k in range(p.shape[1]):
        part = slice(k * width, (k + 1) * width)
        result[part, part] += (columns[:, k].T * (weight * p[:, k])) @ columns[:, k]
    return result


def _diagonal_curvature(features: FloatArray, weight: FloatArray, diagonal: bool) -> FloatArray:
    """Return the same for each coefficient alone."""
    p = softmax(features if diagonal else features[:, :-1])
    spread = weight[:, None] * p * (1 - p)
    if diagonal:
        return np.stack([(spread * features**2).sum(axis=0), spread.sum(axis=0)], axis=1)
    return spread.T @ features**2


def descend(
    function: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    solve: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """Minimize a strictly convex function by L-BFGS; ``solve`` divides by a first curvature.

    It ends when the step is shorter than `_SHORT`, measured by that curvature, or when the value
    has not fallen in some steps.
    """
    now, (value, gradient) = start, function(start)
    pairs: deque[tuple[FloatArray, FloatArray]] = deque(maxlen=_MEMORY)
    flat = steps = 0
    while gradient @ solve(gradient) > _SHORT**2 and flat < _FLAT_STEPS and steps < _STEPS:
        step = -_direction(gradient, pairs, solve)
        expected = float(gradient @ step)
        while True:
            new_value, new_gradient = function(now + step)
            # Differences below rounding error are treated as zero.
            if new_value <= value + 1e-4 * expected + 1e-14 * abs(value):
                break
            step, expected = step / 2, expected / 2
        pairs.append((step, new_gradient - gradient))
        flat, steps = flat + (new_value >= value), steps + 1
        now, value, gradient = now + step, new_value, new_gradient
    return now


def _direction(
    gradient: FloatArray,
    pairs: "deque[tuple[FloatArray, FloatArray]]",
    solve: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """Return the gradient over the curvature that the last steps saw (Nocedal's two loops)."""
    result, factors = gradient.copy(), []
    for step, change in reversed(pairs):
        factors.append((step @ result) / (step @ change))
        result -= factors[-1] * change
    result = solve(result)
    for step, change in pairs:
        result += (factors.pop() - (change @ result) / (step @ change)) * step
    return result
