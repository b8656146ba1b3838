"""Temperature scaling, then a linear map of the logits that is pulled towards the identity."""

from abc import abstractmethod

import numpy as np

from .._blocks import row_blocks
from .._validation import FloatArray, check_number
from ._classes import ClassMap, Codes
from ._multinomial import fit_scaling
from .temperature_scaling import Powers, best_power

_LOWEST = -600.0
"""Exponentials of lower numbers may all be 0 in a row."""


class StructuredScaling(ClassMap):
    r"""Temperature scaling, followed by a linear map of the logits near the identity.

    Parameters
    ----------
    regularization : float
        :math:`\lambda`, above 0; the paper's is 1.
    eps : float
        The least probability of which a logarithm is taken; smaller ones count as this one.

    Attributes
    ----------
    temperature_ : float
    mixture_ : float
        :math:`1 / (n + 1)`.
    """

    regularization: float = 1.0
    eps: float = 1e-12

    def _check_options(self) -> None:
        check_number(self.regularization, "regularization", 0, closed="neither")
        check_number(self.eps, "eps", 0, 0.1, "right")

    def _learn(self, p: FloatArray, codes: Codes, weight: FloatArray | None) -> None:
        weight = np.ones(len(p)) if weight is None else weight
        samples, classes = float(weight.sum()), p.shape[1]
        penalty = self._penalty(classes) * self.regularization / samples
        logits = np.maximum(p, self.eps)
        np.log(logits, out=logits)
        self.temperature_ = 1 / best_power(Powers(logits, codes, weight, logs=True))
        self.mixture_ = 1 / (samples + 1)
        # One column of ones for the intercepts of a matrix.
        features = np.ones((classes + (penalty.shape[1] > 2), len(p)))
        for rows in row_blocks(*p.shape):
            features[:classes, rows] = self._smoothed(logits[rows]).T
        self._keep(fit_scaling(features, codes, weight, penalty))

    @abstractmethod
    def _penalty(self, classes: int) -> FloatArray:
        """Return what the square of each coefficient's change costs, for one sample."""
        ...

    @abstractmethod
    def _keep(self, coefficients: FloatArray) -> None:
        """Keep what was learned."""
        ...

    def _logits(self, p: FloatArray) -> FloatArray:
        """Return logarithms of probabilities at the temperature, mixed with a uniform one."""
        return self._smoothed(np.log(np.maximum(p, self.eps)))

    def _smoothed(self, logits: FloatArray) -> FloatArray:
        classes = logits.shape[1]
        q = logits / self.temperature_
        if q.min() < _LOWEST:
            q -= q.max(axis=1, keepdims=True)
        np.exp(q, out=q)
        q *= ((1 - self.mixture_) / (q @ np.ones(classes)))[:, None]
        q += self.mixture_ / classes
        return np.log(q, out=q)
