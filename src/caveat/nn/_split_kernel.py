"""The split of uncertainty in Triton: the probabilities are read once.

Each entry of a block is one sample and class, summed over the members: contiguous memory whatever
the number of classes. A second, small kernel sums over the classes.
"""
# mypy: ignore-errors
# Kernels are written in Triton's types, which mypy does not know.

from importlib.util import find_spec
from math import log

import torch
from torch import Tensor

HAS_TRITON = find_spec("triton") is not None

_ENTRIES, _TILE, _WIDEST = 512, 2048, 4096
_SCRATCH = 2**24
"""Sums over members, one for each sample and class, that are kept at once."""

if HAS_TRITON:  # pragma: no cover - needs a GPU
    import triton
    import triton.language as tl

    @triton.jit
    def _times_log2(p):
        # Within 2^-22 of p log2 p. The bound, 2^-120, is that the logarithm of 0 is finite.
        bounded = tl.maximum(p, 7.52316384526264e-37)
        return p * tl.inline_asm_elementwise(
            "lg2.approx.f32 $0, $1;", "=f,f", [bounded], dtype=tl.float32, is_pure=True, pack=1
        )

    @triton.jit
    def _over_members(
        p, of_mean, of_members, members, step, size, WHOLE: tl.constexpr, ENTRIES: tl.constexpr
    ):
        at = tl.program_id(0).to(tl.int64) * ENTRIES + tl.arange(0, ENTRIES)
        held = at < size
        mean = tl.zeros((ENTRIES,), of_mean.dtype.element_ty)
        sums = tl.zeros((ENTRIES,), of_mean.dtype.element_ty)
        place = p + at
        for _ in tl.range(0, members, loop_unroll_factor=4):
            value = tl.load(place, mask=held, other=0.0).to(of_mean.dtype.element_ty)
            mean += value
            if WHOLE:
                sums += tl.where(value == 0, 0.0, value * tl.log(value))
            else:
                sums += _times_log2(value)
            place += step
        mean = mean / members
        if WHOLE:
            tl.store(of_mean + at, tl.where(mean == 0, 0.0, mean * tl.log(mean)), mask=held)
        else:
            tl.store(of_mean + at, _times_log2(mean), mask=held)
        tl.store(of_members + at, sums / members, mask=held)

    @triton.jit
    def _over_classes(
        of_mean, of_members, total, aleatoric, samples, classes, unit,
        ROWS: tl.constexpr, WIDTH: tl.constexpr,
    ):  # fmt: skip
        rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
        columns = tl.arange(0, WIDTH)
        held = (rows[:, None] < samples) & (columns[None, :] < classes)
        at = rows[:, None] * classes + columns[None, :]
        first = tl.sum(tl.load(of_mean + at, mask=held, other=0.0), 1) * unit
        second = tl.sum(tl.load(of_members + at, mask=held, other=0.0), 1) * unit
        tl.store(total + rows, first, mask=rows < samples)
        tl.store(aleatoric + rows, second, mask=rows < samples)


def split_on_gpu(  # pragma: no cover - needs a GPU
    values: Tensor, total: Tensor, aleatoric: Tensor
) -> None:
    """Write the entropy of the mean, and the mean entropy, of (members, samples, classes).

    Parameters
    ----------
    values : Tensor of shape (members, samples, classes)
        Samples and classes are contiguous.
    total, aleatoric : Tensors of shape (samples,)
    """
    members, samples, classes = values.shape
    whole = total.dtype == torch.float64
    unit = -1.0 if whole else -log(2)
    rows = min(samples, max(1, _SCRATCH // classes))
    scratch = torch.empty(2, rows * classes, dtype=total.dtype, device=values.device)
    width = triton.next_power_of_2(classes)
    tile = max(1, _TILE // width)
    with torch.cuda.device(values.device):
        for start in range(0, samples, rows):
            block = values[:, start : start + rows]
            count, size = block.shape[1], block.shape[1] * classes
            outputs = total[start : start + rows], aleatoric[start : start + rows]
            _over_members[(triton.cdiv(size, _ENTRIES),)](
                block, *scratch, members, block.stride(0), size,
                WHOLE=whole, ENTRIES=_ENTRIES, num_warps=8,
            )  # fmt: skip
            if width <= _WIDEST:
                _over_classes[(triton.cdiv(count, tile),)](
                    *scratch, *outputs, count, classes, unit, ROWS=tile, WIDTH=width
                )
                continue
            for output, sums in zip(outputs, scratch, strict=True):
                torch.sum(sums[:size].view(count, classes), 1, out=output)
                output.mul_(unit)
