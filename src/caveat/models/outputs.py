"""Arrays, lists and dicts, and estimators that hold others."""

from collections.abc import Mapping
from numbers import Real
from typing import Any

from scipy.special import expit

from .._arrays import to_numpy
from ..estimators.sklearn_models import (
    check_model,
    innermost,
    join_predictions,
    member_predictions,
)
from ..exceptions import OptionError
from ..predictions import Categorical, Container, Gaussian, Quantiles
from .intervals import bar_quantiles, intervals
from .table import LEVELS, check_options, from_model, own_adapter, samples_are_missing

_SAYS = (
    'kind="probabilities" or kind="logits" for classes, kind="mean" for numbers without a spread, '
    'kind="mean-std" or kind="mean-variance" for a pair of arrays, levels=[0.05, 0.5, 0.95] for '
    "quantiles, coverage=0.9 for intervals"
)


def from_prediction(prediction: Container) -> Container:
    """Return a prediction, to which names may be given."""
    return prediction


def from_caveat(model: Any, X: Any) -> Any:
    """Read an estimator of caveat, with the members it has."""
    return model.predict_distribution(X)


def from_estimator(model: Any, X: Any, **options: Any) -> Any:
    """Read an estimator of scikit-learn; the end of a pipeline is read by its own adapter."""
    if own_adapter(innermost(model)[0]) is not None:
        check_model(model)
        return from_model(*innermost(model, X), **options)
    check_options(type(model).__name__, options, [])
    return member_predictions(model, X)


def from_array(
    values: Any, *, kind: str | None = None, levels: Any = None, coverage: Any = None
) -> Any:
    """Read an array, a tensor or a frame, as the options say."""
    if coverage is not None:
        return intervals(values, coverage)
    if levels is not None:
        return Quantiles(levels, values, sort=True)
    column = to_numpy(values, "model").array.ndim == 1
    if kind == "probabilities":
        return Categorical.from_binary(values) if column else Categorical(values)
    if kind == "logits":
        if column:
            return Categorical.from_binary(expit(to_numpy(values, "model").array))
        return Categorical.from_logits(values)
    if kind == "mean":
        return Gaussian(values, 0.0)
    raise OptionError(f"an array does not say what it holds; pass {_SAYS}; got kind={kind!r}")


def from_sequence(parts: Any, X: Any = None, **options: Any) -> Any:
    """Read the members of one prediction, or a pair of arrays, or an array in lists."""
    if not len(parts):
        raise OptionError(f"model is an empty {type(parts).__name__}; give one model at least")
    first = parts
    while isinstance(first, list | tuple) and len(first):
        first = first[0]
    if isinstance(first, Real):
        return from_model(to_numpy(parts, "model").array, X, **options)
    if options.get("kind") in ("mean-std", "mean-variance"):
        return _spread(parts, **options)
    if isinstance(parts, tuple) and "coverage" in options and hasattr(parts[-1], "shape"):
        return from_model(parts[-1], **options)
    return join_predictions([from_model(part, X, **options) for part in parts])


def _spread(parts: Any, kind: str) -> Gaussian:
    if len(parts) != 2:
        raise OptionError(f"kind={kind!r} takes a pair of arrays; got {len(parts)}")
    return Gaussian.from_std(*parts) if kind == "mean-std" else Gaussian(*parts)


def from_dict(parts: Mapping[Any, Any], X: Any = None, *, levels: Any = LEVELS) -> Any:
    """Read logits of bars, or one regressor for each quantile level."""
    if "logits" in parts:
        return bar_quantiles(parts, levels)
    if not all(isinstance(level, Real) for level in parts):
        raise OptionError(
            "a dict must hold regressors by their level, {0.05: low, 0.95: high}, or logits of "
            f"bars with their borders or criterion; got the keys {', '.join(map(str, parts))}"
        )
    if X is None:
        raise samples_are_missing(parts)
    return member_predictions(parts, X)
