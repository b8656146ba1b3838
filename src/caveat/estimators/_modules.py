"""The network of an estimator: built for the data, or made by the user's module, and tried out."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import InvalidValueError, OptionError, ShapeError
from ._table import embedded_sizes

if TYPE_CHECKING:
    from ._network import NetworkEstimator

CLIP = 5.0
"""Bound of the inputs, in distances between the quartiles of their column."""

WIDTH = 8
"""Length of the vector of a category, in columns with many of them."""

SPREAD = (
    "the second of its outputs must be standard deviations, above 0: put softplus on it, or end "
    "with a head of caveat.nn.layers"
)


def make(model: "NetworkEstimator") -> Any:
    """Return a fresh network with its scaling, drawn from torch's generator."""
    import torch

    from .. import nn

    core = _built(model) if model.module is None else _made(model.module)
    parts: list[Any] = []
    kind = model._scaling_kind()
    if kind is not None:
        parts.append(nn.layers.Standardize(model.shape_, CLIP if kind == "robust" else None))
    sizes = embedded_sizes(getattr(model, "columns_", None))
    if sizes:
        parts.append(nn.layers.Embed(sizes, WIDTH))
    return torch.nn.Sequential(*parts, core)


def _built(model: "NetworkEstimator") -> Any:
    from .. import nn

    if len(model.shape_) != 1:
        raise ShapeError(
            f"samples have shape {model.shape_}; without module= they must be rows of a "
            "table. For images pass module=partial(caveat.nn.CNN, channels, outputs, "
            "size=(height, width))"
        )
    _, options, row = model._head()
    sizes = embedded_sizes(getattr(model, "columns_", None))
    inputs = model.shape_[0] + len(sizes) * (WIDTH - 1)
    outputs = row[0] if options.get("head") == "quantiles" else row[-1]
    network = nn.MLP(
        inputs, outputs, hidden=_widths(model.hidden), activation=model.activation,
        **options, **model._random_layers(),
    )  # fmt: skip
    model._adjust(network)
    model._bound(network[-1])
    return network


def _widths(hidden: Any) -> tuple[Any, ...]:
    """Return the widths of the hidden layers; a single number is one layer."""
    if isinstance(hidden, int | np.integer):
        return (hidden,)
    if isinstance(hidden, str) or not isinstance(hidden, Iterable):
        raise OptionError(
            f"hidden must be the widths of the hidden layers, such as (50, 50); got {hidden!r}"
        )
    return tuple(hidden)


def _made(module: Any) -> Any:
    from torch.nn import Module

    from ..nn.lockstep import as_factory

    if not callable(module):
        raise OptionError(
            "module must be a torch.nn.Module, or a class or function that makes one without "
            f"arguments; got a {type(module).__name__}"
        )
    try:
        made = as_factory(module)()
    except TypeError as error:
        raise OptionError(
            f"module could not be made: {error}; fix its arguments with "
            "functools.partial(Network, ...)"
        ) from error
    if not isinstance(made, Module):
        raise OptionError(f"module must make a torch.nn.Module; it made a {type(made).__name__}")
    return made


def try_out(model: "NetworkEstimator", X: np.ndarray) -> None:
    """Raise if a network does not fit data and task, before it is trained for hours."""
    import torch

    with torch.random.fork_rng(devices=[]), torch.no_grad():
        network = make(model).eval()
        if model.module is None:
            _check_layers(model, network)
            return
        try:
            output = network(torch.from_numpy(X))
        except Exception as error:
            raise ShapeError(
                f"module cannot take samples of shape {model.shape_}: {error}"
            ) from error
    name, _, row = model._head()
    if not isinstance(output, torch.Tensor) or tuple(output.shape) != (len(X), *row):
        got = f"a {type(output).__name__}"
        if isinstance(output, torch.Tensor):
            got = f"({', '.join(['samples', *map(str, output.shape[1:])])})"
        raise ShapeError(
            f"module must return a tensor of shape ({', '.join(['samples', *map(str, row)])}) for "
            f'head "{name}"; it returns {got}'
        )
    if model._pass_count() is not None:
        _check_random(model, network, X)
    check_spread(model, output)


def check_spread(model: "NetworkEstimator", values: Any) -> None:
    """Raise if a user's module returned negative standard deviations, (..., 2, targets)."""
    if has_spread(model) and (values[..., 1, :] < 0).any():
        raise InvalidValueError(f"module returned a negative standard deviation; {SPREAD}")


def has_spread(model: "NetworkEstimator") -> bool:
    """Return whether a user's module has to give standard deviations."""
    return model.module is not None and model._head()[0] in ("mean-std", "gaussian-logits")


def _check_layers(model: "NetworkEstimator", network: Any) -> None:
    from ..nn.layers import stochastic_layers

    if model._pass_count() is not None and next(stochastic_layers(network), None) is None:
        raise OptionError(
            f"hidden={model.hidden!r} leaves {type(model).__name__} nothing random, so its passes "
            "would all be the same; give it a hidden layer at least"
        )


def _check_random(model: "NetworkEstimator", network: Any, X: np.ndarray) -> None:
    from ..nn import explain

    if not explain(network, X).random:
        raise OptionError(
            f"module has nothing random, so the passes of {type(model).__name__} would all be "
            "the same; give it stochastic layers, such as caveat.nn.layers.Dropout"
        )
