"""Every technique behind one scikit-learn API: fit, predict, predict_distribution."""

from typing import TYPE_CHECKING

from .._docstrings import describe_package
from .._renamed import old_names
from ._fitting import fit_many
from ._network import NetworkEstimator
from ._problem import Problem
from .anchored_ensemble import AnchoredEnsembleClassifier, AnchoredEnsembleRegressor
from .batch_ensemble import BatchEnsembleClassifier, BatchEnsembleRegressor
from .bayes_by_backprop import BayesByBackpropClassifier, BayesByBackpropRegressor
from .bootstrap import BootstrapClassifier, BootstrapRegressor
from .concrete_dropout import ConcreteDropoutClassifier, ConcreteDropoutRegressor
from .deep_ensemble import DeepEnsembleClassifier, DeepEnsembleRegressor
from .dropconnect import DropConnectClassifier, DropConnectRegressor
from .ensemble import EnsembleClassifier, EnsembleRegressor
from .files import save
from .flipout import FlipoutClassifier, FlipoutRegressor
from .laplace import LaplaceClassifier, LaplaceRegressor
from .map import MAPClassifier, MAPRegressor
from .mc_dropout import MCDropoutClassifier, MCDropoutRegressor
from .presets import preset
from .quantile_network import QuantileNetworkRegressor
from .sklearn_models import Wrapped, from_sklearn, member_predictions
from .swag import SWAGClassifier, SWAGRegressor

__all__ = [
    "AnchoredEnsembleClassifier",
    "AnchoredEnsembleRegressor",
    "BatchEnsembleClassifier",
    "BatchEnsembleRegressor",
    "BayesByBackpropClassifier",
    "BayesByBackpropRegressor",
    "BootstrapClassifier",
    "BootstrapRegressor",
    "ConcreteDropoutClassifier",
    "ConcreteDropoutRegressor",
    "DeepEnsembleClassifier",
    "DeepEnsembleRegressor",
    "DropConnectClassifier",
    "DropConnectRegressor",
    "EnsembleClassifier",
    "EnsembleRegressor",
    "FlipoutClassifier",
    "FlipoutRegressor",
    "LaplaceClassifier",
    "LaplaceRegressor",
    "MAPClassifier",
    "MAPRegressor",
    "MCDropoutClassifier",
    "MCDropoutRegressor",
    "NetworkEstimator",
    "Problem",
    "QuantileNetworkRegressor",
    "SWAGClassifier",
    "SWAGRegressor",
    "Wrapped",
    "fit_many",
    "from_sklearn",
    "member_predictions",
    "preset",
    "save",
]

describe_package(__name__)

if not TYPE_CHECKING:  # pragma: no branch
    __getattr__ = old_names(__name__)
