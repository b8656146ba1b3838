"""Networks in torch: stochastic layers, losses, training of many copies at once, Monte Carlo.

Needs the extra ``torch``: ``pip install 'caveat[torch]'``.
"""

from . import layers, losses
from ._monte_carlo import PassPlan, explain, monte_carlo, pass_keys, predict
from .lockstep import Copy, Plateau, Trained, Training, train
from .networks import CNN, MLP
from .noise import keyed, make_keys

__all__ = [
    "CNN",
    "MLP",
    "Copy",
    "PassPlan",
    "Plateau",
    "Trained",
    "Training",
    "explain",
    "keyed",
    "layers",
    "losses",
    "make_keys",
    "monte_carlo",
    "pass_keys",
    "predict",
    "train",
]
