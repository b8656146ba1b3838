"""Checks of the losses' inputs: shapes and types only, never values.

So the checks cost no synchronization and work under ``torch.vmap``.
"""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from ..exceptions import LabelError, OptionError, ShapeError


def halves(output: Tensor, units: str) -> tuple[Tensor, Tensor]:
    """Return mean and standard deviation of (..., 2, units)."""
    if output.dim() < 2 or output.shape[-2] != 2:
        raise ShapeError(
            f"output must have shape (samples, 2, {units}), mean and standard deviation; "
            f"got {tuple(output.shape)}"
        )
    return output[..., 0, :], output[..., 1, :]


def as_targets(target: Tensor, shape: torch.Size) -> Tensor:
    """Return the target in the outputs' shape, so that nothing broadcasts by mistake."""
    if target.shape == shape:
        return target
    if shape[-1] == 1 and target.shape == shape[:-1]:
        return target.unsqueeze(-1)
    raise ShapeError(
        f"target must have shape {tuple(shape)}, as the output has; got {tuple(target.shape)}"
    )


def as_codes(target: Tensor, shape: torch.Size) -> Tensor:
    """Return class codes as torch's gather wants them."""
    if target.shape != shape:
        raise ShapeError(
            f"target must have shape {tuple(shape)}, one class code for each row of the output; "
            f"got {tuple(target.shape)}"
        )
    if target.is_floating_point() or target.is_complex() or target.dtype == torch.bool:
        raise LabelError(
            f"target must hold class codes 0, 1, 2, ... as integers; got {target.dtype}; "
            "pass target.long()"
        )
    return target.long()


def pairs(
    parameters: Mapping[str, Tensor] | Iterable[Tensor],
    anchors: Mapping[str, Tensor] | Iterable[Tensor],
) -> list[tuple[Tensor, Tensor]]:
    """Return each parameter with its anchor."""
    if isinstance(parameters, Mapping) and isinstance(anchors, Mapping):
        if parameters.keys() != anchors.keys():
            names = sorted(parameters.keys() ^ anchors.keys())
            raise OptionError(f"anchors must have the parameters' names; only one has {names}")
        pairs = [(parameters[name], anchors[name]) for name in parameters]
    else:
        values, fixed = (
            list(given.values() if isinstance(given, Mapping) else given)
            for given in (parameters, anchors)
        )
        if len(values) != len(fixed):
            raise OptionError(
                f"anchors must be as many as the parameters, {len(values)}; got {len(fixed)}"
            )
        pairs = list(zip(values, fixed, strict=True))
    if not pairs:
        raise OptionError("parameters must not be empty; pass list(module.parameters())")
    for i, (value, anchor) in enumerate(pairs):
        if value.shape != anchor.shape:
            raise ShapeError(
                f"anchor {i} must have its parameter's shape {tuple(value.shape)}; "
                f"got {tuple(anchor.shape)}"
            )
    return pairs
