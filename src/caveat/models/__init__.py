"""Anybody's model or output to a prediction: one adapter for each library.

This is the only place that knows the classes of other libraries. An adapter is a function of a few
lines; the table below says of which package it reads the objects.
"""

from collections.abc import Callable
from typing import Any

from .boosting import from_catboost, from_lightgbm, from_xgboost
from .chemprop import from_checkpoint, from_chemprop
from .distributions import (
    from_gpytorch,
    from_ngboost,
    from_ngboost_distribution,
    from_scipy,
    from_skpro,
    from_skpro_distribution,
    from_torch,
)
from .intervals import from_mapie, from_quantile_forest, from_tabpfn
from .networks import from_huggingface, from_module
from .outputs import (
    from_array,
    from_caveat,
    from_dict,
    from_estimator,
    from_prediction,
    from_sequence,
)
from .table import from_model, register, unregister

__all__ = ["from_model", "register", "unregister"]

_TABLE: dict[str, Callable[..., Any]] = {
    "caveat.estimators": from_caveat,
    "caveat.predictions": from_prediction,
    "sklearn": from_estimator,
    "xgboost": from_xgboost,
    "lightgbm": from_lightgbm,
    "catboost": from_catboost,
    "ngboost": from_ngboost,
    "ngboost.distns": from_ngboost_distribution,
    "skpro": from_skpro,
    "skpro.distributions": from_skpro_distribution,
    "tabpfn": from_tabpfn,
    "quantile_forest": from_quantile_forest,
    "mapie": from_mapie,
    "gpytorch.distributions": from_gpytorch,
    "torch.distributions": from_torch,
    "scipy.stats": from_scipy,
    "chemprop": from_chemprop,
    "transformers": from_huggingface,
    "torch.nn": from_module,
    "torch.Tensor": from_array,
    "numpy.ndarray": from_array,
    "pandas": from_array,
    "polars": from_array,
    "pyarrow": from_array,
    "builtins.str": from_checkpoint,
    "pathlib": from_checkpoint,
    "builtins.list": from_sequence,
    "builtins.tuple": from_sequence,
    "builtins.dict": from_dict,
}
for _package, _adapt in _TABLE.items():
    register(_package, _adapt)
