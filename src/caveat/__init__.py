"""How far can each prediction of a model be trusted, and why not further?

Names are imported when they are first used, so that ``import caveat`` costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import exceptions as exceptions
    from . import metrics as metrics
    from . import predictions as predictions
    from . import uncertainty as uncertainty
    from .predictions import Categorical as Categorical
    from .predictions import Decomposition as Decomposition
    from .predictions import Gaussian as Gaussian
    from .predictions import GaussianLogits as GaussianLogits
    from .predictions import Interval as Interval
    from .predictions import PredictionSet as PredictionSet
    from .predictions import ProbabilityInterval as ProbabilityInterval
    from .predictions import Quantiles as Quantiles
    from .predictions import concat as concat
    from .predictions import load as load
    from .uncertainty import class_distances as class_distances
    from .uncertainty import decompose as decompose
    from .uncertainty import measure as measure

__version__ = "0.1.0.dev0"

# Where each public name lives. The block above says the same to editors and type checkers, and a
# test holds the two together.
_HOMES = {
    "Categorical": "predictions",
    "Decomposition": "predictions",
    "Gaussian": "predictions",
    "GaussianLogits": "predictions",
    "Interval": "predictions",
    "PredictionSet": "predictions",
    "ProbabilityInterval": "predictions",
    "Quantiles": "predictions",
    "class_distances": "uncertainty",
    "concat": "predictions",
    "decompose": "uncertainty",
    "load": "predictions",
    "measure": "uncertainty",
}
_MODULES = ("exceptions", "metrics", "predictions", "uncertainty")

__all__ = [
    "Categorical",
    "Decomposition",
    "Gaussian",
    "GaussianLogits",
    "Interval",
    "PredictionSet",
    "ProbabilityInterval",
    "Quantiles",
    "class_distances",
    "concat",
    "decompose",
    "exceptions",
    "load",
    "measure",
    "metrics",
    "predictions",
    "uncertainty",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _HOMES:
        value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
