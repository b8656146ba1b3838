"""Run a plan over all rows and passes in bounded memory."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ..exceptions import ShapeError
from ._inputs import rows_of
from ._plan import PassPlan
from ._probe import Memory, at_once, in_one_batch, one_tensor
from ._products import quick_products

MEBIBYTE = 2**20

_CPU_BUDGET = 16 * MEBIBYTE
"""Arrays that stay in the caches of a CPU are faster."""

_CPU_LIMIT = 256 * MEBIBYTE
_DEVICE_LIMIT = 4096 * MEBIBYTE

_FEW = 4
"""Rows up to which convolutions on a CPU are faster with many passes in one batch."""

_TOGETHER = 8
"""Passes in one launch that keep a GPU busy."""

_DRAWING = 64
"""Weights are drawn for each batch of rows; batches of this many times their size amortize it."""


def budget(device: torch.device, memory: Memory) -> int:
    """Return how many bytes one operation of a part may use."""
    if device.type == "cuda":
        return min(_DEVICE_LIMIT, torch.cuda.mem_get_info(device)[0] // 4)
    return min(_CPU_LIMIT, max(_CPU_BUDGET, _DRAWING * memory.fixed))


def chunks(
    plan: PassPlan, rows: int, passes: int, batch_size: int | None = None
) -> tuple[int, int]:
    """Return how many rows, and how many passes of them, go through the repeated part at once.

    As many rows as the budget allows (on a GPU for a few passes), since weights are drawn for each
    batch of rows anew; then as many passes as fit.
    """
    most = budget(plan.device, plan.repeated_memory)
    least = min(passes, _TOGETHER) if plan.at_once and plan.device.type == "cuda" else 1
    rows = min(rows, batch_size or rows, plan.repeated_memory.rows(most // least))
    if not plan.joinable or passes == 1:
        rows = min(rows, plan.once_memory.rows(budget(plan.device, plan.once_memory)))
    if not (plan.at_once or plan.in_batch):
        return rows, 1
    return rows, max(1, min(passes, most // max(1, plan.repeated_memory.of(rows))))


def run(
    plan: PassPlan,
    inputs: tuple[Tensor, ...],
    keys: Tensor | None,
    batch_size: int | None = None,
    progress: bool = False,
) -> Tensor:
    """Return the outputs of all passes, (passes, rows, ...); without keys one, without noise."""
    total = len(inputs[0])
    passes = 1 if keys is None else len(keys)
    products = quick_products(plan.device, plan.weights * total * passes)
    masks = None if keys is None else plan.masks_of(keys)
    plan = replace(plan, in_batch=plan.few_at_once and total <= _FEW, masks=masks)
    with torch.no_grad(), products:
        rows, together = chunks(plan, total, passes, batch_size)
        if plan.in_batch:
            # Equal parts, so that large weights are not read once more for the last few passes.
            together = math.ceil(passes / max(1, round(passes / together)))
        blocks = [slice(low, min(low + rows, total)) for low in range(0, total, rows)]
        result: Tensor | None = None
        for block in _shown(blocks, progress):
            outputs = _block(plan, inputs, block, keys, together, batch_size)
            if result is None:
                result = outputs.new_empty((passes, total, *outputs.shape[2:]))
            result[:, block] = outputs
    assert result is not None
    return result


def _shown(blocks: list[slice], progress: bool) -> Iterator[slice]:
    if not progress:
        yield from blocks
        return
    from rich.progress import track

    yield from track(blocks, description="Monte Carlo")


def _block(
    plan: PassPlan,
    inputs: tuple[Tensor, ...],
    block: slice,
    keys: Tensor | None,
    together: int,
    batch_size: int | None,
) -> Tensor:
    """Return (passes, rows of the block, ...); out of memory, try with half of it."""
    rows = block.stop - block.start
    try:
        if keys is None:
            output = one_tensor(plan.module(*rows_of(inputs, block, plan.dtype, plan.device)))
            return _fitted(output, (1, rows, *plan.row_shape))
        values = _once(plan, inputs, block, batch_size)
        parts = [_repeat(plan, values, few) for few in keys.split(together)]
        return torch.cat([_fitted(part, (len(part), rows, *plan.row_shape)) for part in parts])
    except torch.OutOfMemoryError:
        if together > 1:
            return _block(plan, inputs, block, keys, (together + 1) // 2, batch_size)
        if rows == 1:
            raise
    middle = block.start + rows // 2
    halves = (slice(block.start, middle), slice(middle, block.stop))
    return torch.cat([_block(plan, inputs, each, keys, 1, batch_size) for each in halves], dim=1)


def _fitted(output: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return outputs with an axis for the rows; a module may have lost that of a single row."""
    if output.numel() != math.prod(shape):
        raise ShapeError(
            f"the module returned {output.numel():,} numbers for {shape[1]} rows of X; expected "
            f"{shape[1:]}, as for the first rows. Pad or crop rows to one size"
        )
    return output.reshape(shape)


def _once(
    plan: PassPlan, inputs: tuple[Tensor, ...], block: slice, batch_size: int | None
) -> tuple[Any, ...]:
    """Return what the repeated part needs for some rows, made in as many batches as fit."""
    if not plan.joinable:
        return plan.parts.once(*rows_of(inputs, block, plan.dtype, plan.device))
    step = plan.once_memory.rows(budget(plan.device, plan.once_memory))
    step = min(step, batch_size or step)
    values = []
    for low in range(block.start, block.stop, step):
        rows = slice(low, min(low + step, block.stop))
        values.append(plan.parts.once(*rows_of(inputs, rows, plan.dtype, plan.device)))
    return tuple(
        torch.cat(each) if len(each) > 1 else each[0] for each in zip(*values, strict=True)
    )


def _repeat(plan: PassPlan, values: tuple[Any, ...], keys: Tensor) -> Tensor:
    if plan.in_batch:
        return in_one_batch(plan.noise, plan.parts.repeated, values, keys, plan.masks)
    masks = None if plan.at_once else plan.masks

    def one(key: Tensor) -> Tensor:
        return one_tensor(plan.noise.apply(plan.parts.repeated, key, *values, masks=masks))

    return at_once(one, keys) if plan.at_once else torch.stack([one(key) for key in keys])
