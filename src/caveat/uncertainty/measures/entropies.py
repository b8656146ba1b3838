"""Entropies of the predictive distribution: Shannon, Rényi, Tsallis and t."""

import math
from functools import partial
from typing import Any

import numpy as np

from ..._validation import FloatArray
from .._logarithm import logarithm
from ._common import (
    Kernel,
    check_alpha,
    is_moderate,
    largest,
    mean_probabilities,
    measure,
    sum_classes,
    sum_squares,
)

__all__ = ["renyi_entropy", "shannon_entropy", "t_entropy", "tsallis_entropy"]


def shannon_entropy(probabilities: Any, *, scaled: bool = True) -> FloatArray:
    r"""Shannon entropy.

    .. math:: H(p) = -\sum_c p_c \log p_c

    divided by its maximum :math:`\log C` if ``scaled``. It is the geometric uncertainty of order 1
    in the Kullback-Leibler divergence.

    References
    ----------
    .. [1] C. E. Shannon. A Mathematical Theory of Communication. Bell System Technical Journal 27,
       379-423, 1948.

    Examples
    --------
    >>> shannon_entropy([[1.0, 0, 0, 0], [0.5, 0.5, 0, 0], [0.25, 0.25, 0.25, 0.25]])
    array([0. , 0.5, 1. ])
    """
    p = mean_probabilities(probabilities)
    return measure(shannon_kernel, p, math.log(p.shape[1]), scaled)


def renyi_entropy(probabilities: Any, alpha: float = 2.0, *, scaled: bool = True) -> FloatArray:
    r"""Rényi entropy.

    .. math:: H_\alpha(p) = \frac{1}{1 - \alpha} \log \sum_c p_c^\alpha

    divided by its maximum :math:`\log C` if ``scaled``. :math:`\alpha = 0` is the logarithm of the
    number of possible classes, 1 the Shannon entropy, 2 the collision entropy and infinity the
    min-entropy :math:`-\log \max_c p_c`. It is the geometric uncertainty of order 1 in the Rényi
    divergence.

    Parameters
    ----------
    alpha : float, default=2
        From 0 to infinity; the larger, the more the most probable class counts.

    References
    ----------
    .. [1] A. Rényi. On Measures of Entropy and Information. Proceedings of the Fourth Berkeley
       Symposium on Mathematical Statistics and Probability 1, 547-561, 1961.

    Examples
    --------
    >>> renyi_entropy([[1.0, 0, 0, 0], [0.5, 0.5, 0, 0], [0.25, 0.25, 0.25, 0.25]])
    array([0. , 0.5, 1. ])
    >>> renyi_entropy([[0.5, 0.25, 0.25, 0]], alpha=float("inf"))
    array([0.5])
    """
    alpha = check_alpha(alpha, infinity=True)
    kernel = renyi_kernel(alpha)
    p = mean_probabilities(probabilities, double=not is_moderate(alpha))
    return measure(kernel, p, math.log(p.shape[1]), scaled)


def tsallis_entropy(probabilities: Any, alpha: float = 1.5, *, scaled: bool = True) -> FloatArray:
    r"""Tsallis entropy.

    .. math:: S_\alpha(p) = \frac{1 - \sum_c p_c^\alpha}{\alpha - 1}

    divided by its maximum :math:`(1 - C^{1 - \alpha}) / (\alpha - 1)` if ``scaled``.
    :math:`\alpha = 0` is the number of possible classes less one, 1 the Shannon entropy and 2 the
    Gini impurity.

    Parameters
    ----------
    alpha : float, default=1.5
        At least 0, finite; the larger, the less improbable classes count.

    References
    ----------
    .. [1] C. Tsallis. Possible Generalization of Boltzmann-Gibbs Statistics. Journal of Statistical
       Physics 52, 479-487, 1988.

    Examples
    --------
    >>> tsallis_entropy([[1.0, 0.0], [0.75, 0.25], [0.5, 0.5]], alpha=2)
    array([0.  , 0.75, 1.  ])
    """
    alpha = check_alpha(alpha)
    p = mean_probabilities(probabilities, double=not is_moderate(alpha))
    maximum = math.log(p.shape[1])
    kernel: Kernel = shannon_kernel
    if alpha != 1:
        maximum = math.expm1((1 - alpha) * maximum) / (1 - alpha)
        kernel = partial(_tsallis, alpha=alpha)
    return measure(kernel, p, maximum, scaled)


def t_entropy(probabilities: Any, alpha: float = 1.0, *, scaled: bool = True) -> FloatArray:
    r"""Arctangent entropy (t-entropy).

    .. math:: T_\alpha(p) = \sum_c p_c \arctan(p_c^{-\alpha}) - \frac{\pi}{4}

    divided by its maximum :math:`\arctan(C^\alpha) - \pi/4` if ``scaled``.

    Parameters
    ----------
    alpha : float, default=1
        Above 0, finite.

    Returns
    -------
    ndarray of shape (samples,)
        From 0 (certain) to 1 (uniform); without scaling to the maximum, below :math:`\pi/4`. What
        rounding puts outside is clipped.

    References
    ----------
    .. [1] S. Chakraborty, D. Paul, S. Das. t-Entropy: A New Measure of Uncertainty with Some
       Applications. IEEE International Symposium on Information Theory, 2021.

    Examples
    --------
    >>> t_entropy([[1.0, 0.0], [0.75, 0.25], [0.5, 0.5]]).round(3)
    array([0.   , 0.751, 1.   ])
    """
    alpha = check_alpha(alpha, zero=False)
    p = mean_probabilities(probabilities, double=not is_moderate(alpha))
    maximum = math.atan(math.tanh(alpha / 2 * math.log(p.shape[1])))
    return measure(partial(_t_entropy, alpha=alpha), p, maximum, scaled)


def shannon_kernel(block: FloatArray, scratch: FloatArray) -> FloatArray:
    """Shannon entropy in nats."""
    logarithm(block, scratch)
    scratch *= block
    return -sum_classes(scratch)


def renyi_kernel(alpha: float) -> Kernel:
    """Return the kernel of the Rényi entropy in nats that is accurate for this ``alpha``."""
    special: dict[float, Kernel] = {
        1.0: shannon_kernel,
        2.0: lambda *block: -np.log(sum_squares(*block)),
        math.inf: lambda *block: -np.log(largest(*block)),
    }
    if alpha in special:
        return special[alpha]
    # Beyond 3/2 the sum of powers may be too small a part of 1 for log1p, or 0.
    return partial(_renyi if alpha <= 1.5 else _renyi_relative, alpha=alpha)


def _renyi(block: FloatArray, scratch: FloatArray, alpha: float) -> FloatArray:
    return np.log1p(_excess(block, scratch, alpha)) / (1 - alpha)


def _renyi_relative(block: FloatArray, scratch: FloatArray, alpha: float) -> FloatArray:
    """Rényi entropy from powers relative to the largest, which alone count when alpha is large."""
    top = largest(block, scratch)
    np.divide(block, top[:, None], out=scratch)
    with np.errstate(divide="ignore", over="ignore"):
        np.log(scratch, out=scratch)
        scratch *= alpha
    np.exp(scratch, out=scratch)
    return -np.log(top) * (alpha / (alpha - 1)) - np.log(sum_classes(scratch)) / (alpha - 1)


def _tsallis(block: FloatArray, scratch: FloatArray, alpha: float) -> FloatArray:
    return _excess(block, scratch, alpha) / (1 - alpha)


def _excess(block: FloatArray, scratch: FloatArray, alpha: float) -> FloatArray:
    """Sum of p^alpha - p over the classes; as p sums to 1, the sum of powers less 1."""
    if alpha == 0:
        np.greater(block, 0, out=scratch)
        scratch -= block
    elif alpha < 0.5:  # where p^(alpha - 1) could overflow
        with np.errstate(divide="ignore"):
            np.log(block, out=scratch)
        scratch *= alpha
        np.exp(scratch, out=scratch)
        scratch -= block
    else:  # no cancellation near alpha = 1, where the caller divides by alpha - 1
        logarithm(block, scratch)
        with np.errstate(over="ignore"):
            scratch *= alpha - 1
            np.expm1(scratch, out=scratch)
        scratch *= block
    return sum_classes(scratch)


def _t_entropy(block: FloatArray, scratch: FloatArray, alpha: float) -> FloatArray:
    # arctan(1 / q) - pi/4 = arctan((1 - q) / (1 + q)) = arctan(tanh(-log(q) / 2)), which neither
    # overflows at q = 0 nor cancels at q = 1.
    logarithm(block, scratch)
    with np.errstate(over="ignore"):
        scratch *= -alpha / 2
    np.tanh(scratch, out=scratch)
    np.arctan(scratch, out=scratch)
    scratch *= block
    return sum_classes(scratch)
