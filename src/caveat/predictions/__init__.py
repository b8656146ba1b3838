"""Types of predictions: frozen containers with the member axis first."""

from typing import TYPE_CHECKING

from .._renamed import old_names
from ._container import Container, concat
from .categorical import Categorical
from .decomposition import Decomposition
from .ellipsoid import Ellipsoid
from .gaussian import Gaussian
from .gaussian_logits import GaussianLogits
from .interval import Interval
from .prediction_set import PredictionSet
from .probability_interval import ProbabilityInterval
from .quantiles import Quantiles

__all__ = [
    "Categorical",
    "Container",
    "Decomposition",
    "Ellipsoid",
    "Gaussian",
    "GaussianLogits",
    "Interval",
    "PredictionSet",
    "ProbabilityInterval",
    "Quantiles",
    "concat",
]

if not TYPE_CHECKING:  # pragma: no branch
    __getattr__ = old_names(__name__)
