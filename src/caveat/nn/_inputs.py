"""Inputs of any type as tensors."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .._arrays import to_numpy
from ..exceptions import InvalidValueError, OptionError, ShapeError


def as_inputs(X: Any, module: nn.Module) -> tuple[Tensor, ...]:
    """Return one tensor for each input of a module, without moving or casting floats.

    Whole numbers in arrays and frames become floats, unless the module has an embedding for them;
    tensors keep their type.
    """
    parts = X if isinstance(X, tuple) else (X,)
    names = [f"X[{i}]" for i in range(len(parts))] if isinstance(X, tuple) else ["X"]
    tensors = tuple(_as_tensor(part, name, module) for part, name in zip(parts, names, strict=True))
    lengths = [len(tensor) for tensor in tensors]
    if len(set(lengths)) != 1:
        raise ShapeError(f"the inputs in X must have the same number of rows; got {lengths}")
    return tensors


def rows_of(
    inputs: tuple[Tensor, ...], rows: slice, dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, ...]:
    """Return some rows on a device, floats in the precision of the module."""
    return tuple(
        part[rows].to(device, dtype if part.is_floating_point() else part.dtype) for part in inputs
    )


def first_rows(
    inputs: tuple[Tensor, ...], count: int, dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, ...]:
    """Return ``count`` rows, the first ones repeated if there are fewer."""
    few = rows_of(inputs, slice(0, count), dtype, device)
    return tuple(torch.cat([part] * count)[:count] for part in few)


def precision(module: nn.Module) -> torch.dtype:
    """Return the type of the module's floats."""
    for tensor in (*module.parameters(), *module.buffers()):
        if tensor.is_floating_point():
            return tensor.dtype
    return torch.get_default_dtype()


def place(module: nn.Module, device: Any) -> torch.device:
    """Return the device to run on: the one asked for, else the module's own."""
    if device is None:
        first = next((tensor for tensor in (*module.parameters(), *module.buffers())), None)
        return torch.device("cpu") if first is None else first.device
    try:
        # An empty tensor turns "cuda" into the device with its number, and fails if there is none.
        return torch.empty(0, device=device).device
    except (RuntimeError, TypeError, AssertionError) as error:
        raise OptionError(f"device={device!r} cannot be used: {error}") from None


def _as_tensor(value: Any, name: str, module: nn.Module) -> Tensor:
    if isinstance(value, Tensor):
        tensor = value.detach()
    else:
        array = to_numpy(value, name).array
        if array.dtype.kind not in "fiub":
            raise InvalidValueError(
                f"{name} must be real numbers; got an array of type {array.dtype}"
            )
        # torch warns of read-only arrays, and does not take reversed ones.
        array = np.require(array, requirements=["C", "W"])
        tensor = torch.from_numpy(array)
        if array.dtype.kind != "f" and not _embeds(module):
            tensor = tensor.to(torch.get_default_dtype())
    if tensor.dim() == 0 or len(tensor) == 0:
        raise ShapeError(
            f"{name} must have at least one row along its first axis; got shape "
            f"{tuple(tensor.shape)}"
        )
    return tensor


def _embeds(module: nn.Module) -> bool:
    return any(isinstance(part, nn.Embedding | nn.EmbeddingBag) for part in module.modules())
