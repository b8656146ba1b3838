"""The network of an estimator: built for the data, or made by the user's module, and tried out."""

import warnings
from collections.abc import Iterable, Mapping
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

    if model.shape_ is None:
        return core(model)
    parts = _before(model)
    network = _built(model) if model.module is None else core(model)
    return torch.nn.Sequential(*parts, network)


def part_names(model: "NetworkEstimator", values: Any) -> Any:
    """Return values by names of parts of a module, by their names in the network."""
    if not isinstance(values, Mapping) or model.shape_ is None:
        return values
    place = len(_before(model))
    return {f"{place}.{name}" if name else "": value for name, value in values.items()}


def _before(model: "NetworkEstimator") -> list[Any]:
    """Return what stands before the module in a network for arrays."""
    from .. import nn

    parts: list[Any] = []
    kind = model._scaling_kind()
    if kind is not None:
        parts.append(nn.layers.Standardize(model.shape_, CLIP if kind == "robust" else None))
    sizes = embedded_sizes(getattr(model, "columns_", None))
    if sizes:
        parts.append(nn.layers.Embed(sizes, WIDTH))
    return parts


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


def core(model: "NetworkEstimator") -> Any:
    """Return the user's module: a copy with its weights, or a new one of a class or function."""
    from torch.nn import Module

    from ..nn.lockstep import as_factory

    module = model.module

    if not callable(module):
        raise OptionError(
            "module must be a torch.nn.Module, or a class or function that makes one without "
            f"arguments; got a {type(module).__name__}"
        )
    try:
        made = as_factory(module, getattr(model, "fresh_", ()))()
    except TypeError as error:
        raise OptionError(
            f"module could not be made: {error}; fix its arguments with "
            "functools.partial(Network, ...)"
        ) from error
    if not isinstance(made, Module):
        raise OptionError(f"module must make a torch.nn.Module; it made a {type(made).__name__}")
    return made


def drawn_anew(model: "NetworkEstimator", X: Any) -> list[str]:
    """Return the names of the parts of a user's module that each member draws anew."""
    from ..nn.generators import Generators
    from ..nn.lockstep import fresh_parts

    if not isinstance(model.fresh, str | list | tuple | None):
        raise OptionError(f"fresh must be names of parts of the module; got {model.fresh!r}")
    if model.module is None or model.fresh is None:
        return []
    with Generators().kept():
        return fresh_parts(core(model), model.fresh, _few(X)[1])


def try_out(model: "NetworkEstimator", X: Any) -> None:
    """Raise if a network does not fit data and task, before it is trained for hours."""
    import torch

    from ..nn.generators import Generators
    from ..nn.lockstep import check_parts
    from ..nn.lockstep.sources import call

    with Generators().kept(), torch.no_grad():
        network = make(model).eval()
        # Without what stands before it, so that names are those that the user knows.
        own = network if model.shape_ is None else network[-1]
        check_parts(own, model.learning_rate, "learning_rate")
        if model.module is None:
            _check_layers(model, network)
            return
        count, samples = _few(X)
        shape = "" if model.shape_ is None else f" of shape {model.shape_}"
        try:
            output = call(network, samples)
        except Exception as error:
            raise ShapeError(f"module cannot take samples{shape}: {error}") from error
    name, _, row = model._head()
    count = len(output) if count is None and isinstance(output, torch.Tensor) else count
    if not isinstance(output, torch.Tensor) or tuple(output.shape) != (count, *row):
        got = f"a {type(output).__name__}"
        if isinstance(output, torch.Tensor):
            got = f"({', '.join(['samples', *map(str, output.shape[1:])])})"
        raise ShapeError(
            f"module must return a tensor of shape ({', '.join(['samples', *map(str, row)])}) for "
            f'head "{name}"; it returns {got}'
        )
    if model._pass_count() is not None:
        _check_random(model, network, samples)
    check_spread(model, output)
    if name == "logits" and (output >= 0).all() and ((output.sum(-1) - 1).abs() < 1e-5).all():
        warnings.warn(
            "module returns numbers that sum to 1, as probabilities do, and the head takes logits; "
            "leave out the softmax at its end",
            stacklevel=4,
        )


def _few(X: Any) -> tuple[int | None, Any]:
    """Return how many samples are tried, if that is known, and these."""
    import torch

    from ..nn.lockstep.sources import Stream, few_samples

    if isinstance(X, np.ndarray):
        X = torch.from_numpy(X[:2].copy())  # torch warns of read-only arrays
    return None if isinstance(X, Stream) else min(2, len(X)), few_samples(X, 2)


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


def _check_random(model: "NetworkEstimator", network: Any, X: Any) -> None:
    from ..nn import explain

    if isinstance(X, Mapping):
        raise OptionError(
            f"the passes of {type(model).__name__} need a tensor, or several as arguments of the "
            "module; this one takes a dictionary"
        )
    if not explain(network, X).random:
        raise OptionError(
            f"module has nothing random, so the passes of {type(model).__name__} would all be "
            "the same; give it stochastic layers, such as caveat.nn.layers.Dropout"
        )
