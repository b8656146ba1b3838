"""Networks in torch: stochastic layers, losses, training of many copies at once, Monte Carlo.

Needs the extra ``torch``: ``pip install 'caveat[torch]'``.
"""

from typing import TYPE_CHECKING, Any

from .._docstrings import describe_package
from . import layers, losses
from ._checkpoints import load_members
from ._laplace import LastLayerPosterior, laplace
from ._monte_carlo import PassPlan, explain, monte_carlo, pass_keys, predict
from ._split import information_split
from .lockstep import Copy, Monitor, Plateau, Trained, Training, train
from .networks import CNN, MLP
from .noise import keyed, make_keys
from .resnet import ResNet18
from .signal_networks import AlexNet1d, ShallowConvNet, VideoTransformer, XResNet1d

if TYPE_CHECKING:
    from .metrics import Metrics

__all__ = [
    "CNN",
    "MLP",
    "AlexNet1d",
    "Copy",
    "LastLayerPosterior",
    "Metrics",
    "Monitor",
    "PassPlan",
    "Plateau",
    "ResNet18",
    "ShallowConvNet",
    "Trained",
    "Training",
    "VideoTransformer",
    "XResNet1d",
    "explain",
    "information_split",
    "keyed",
    "laplace",
    "layers",
    "load_members",
    "losses",
    "make_keys",
    "monte_carlo",
    "pass_keys",
    "predict",
    "train",
]

describe_package(__name__)


def __getattr__(name: str) -> Any:
    """Import `Metrics` when it is asked for: torchmetrics, if installed, takes a second."""
    if name != "Metrics":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .metrics import Metrics

    return Metrics
