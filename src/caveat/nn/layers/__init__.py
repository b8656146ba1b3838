"""Layers with noise that is a function of a key, heads that say a distribution, and priors."""

from typing import TYPE_CHECKING

from ..._docstrings import describe_package, entries_of
from ..._renamed import old_names
from ._stochastic import Stochastic, number_layers, stochastic_layers, total_penalty
from .bayesian import BayesConv1d, BayesConv2d, BayesLinear
from .concrete import ConcreteDropoutConv1d, ConcreteDropoutConv2d, ConcreteDropoutLinear
from .dropconnect import DropConnectConv1d, DropConnectConv2d, DropConnectLinear
from .dropout import Dropout, SpatialDropout
from .embed import Embed
from .flipout import FlipoutConv1d, FlipoutConv2d, FlipoutLinear
from .heads import GaussianLogitsHead, MeanVarianceHead, QuantileHead
from .members import MemberLinear, MemberScale
from .pooled import PooledConv1d, PooledConv2d
from .priors import GaussianPrior, Prior, ScaleMixturePrior
from .standardize import Standardize

__all__ = [
    "BayesConv1d",
    "BayesConv2d",
    "BayesLinear",
    "ConcreteDropoutConv1d",
    "ConcreteDropoutConv2d",
    "ConcreteDropoutLinear",
    "DropConnectConv1d",
    "DropConnectConv2d",
    "DropConnectLinear",
    "Dropout",
    "Embed",
    "FlipoutConv1d",
    "FlipoutConv2d",
    "FlipoutLinear",
    "GaussianLogitsHead",
    "GaussianPrior",
    "MeanVarianceHead",
    "MemberLinear",
    "MemberScale",
    "PooledConv1d",
    "PooledConv2d",
    "Prior",
    "QuantileHead",
    "ScaleMixturePrior",
    "SpatialDropout",
    "Standardize",
    "Stochastic",
    "number_layers",
    "stochastic_layers",
    "total_penalty",
]

PARAMETERS = entries_of("""\
module : torch.nn.Module
""")
describe_package(__name__, PARAMETERS)

if not TYPE_CHECKING:  # pragma: no branch
    __getattr__ = old_names(__name__)
