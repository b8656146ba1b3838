"""Networks in torch: stochastic layers, losses, training of many copies at once, Monte Carlo.

Needs the extra ``torch``: ``pip install 'caveat[torch]'``.
"""

from . import layers, losses
from .lockstep import Copy, Plateau, Trained, Training, train
from .monte_carlo import predict
from .networks import CNN, MLP
from .noise import keyed, make_keys

__all__ = [
    "CNN",
    "MLP",
    "Copy",
    "Plateau",
    "Trained",
    "Training",
    "keyed",
    "layers",
    "losses",
    "make_keys",
    "predict",
    "train",
]
