"""A step of Adam in Triton: weights, gradient and both moments are read and written once."""
# mypy: ignore-errors
# Kernels are written in Triton's types, which mypy does not know.

from importlib.util import find_spec

import torch
from torch import Tensor

HAS_TRITON = find_spec("triton") is not None

_ENTRIES = 1024

if HAS_TRITON:  # pragma: no cover - needs a GPU
    import triton
    import triton.language as tl

    @triton.jit
    def _adam(
        weights, gradient, first, second, rates, scales, size, decay, one, two, epsilon,
        DECOUPLED: tl.constexpr, ENTRIES: tl.constexpr,
    ):  # fmt: skip
        at = tl.program_id(0).to(tl.int64) * ENTRIES + tl.arange(0, ENTRIES)
        held = at < size
        weight = tl.load(weights + at, mask=held)
        slope = tl.load(gradient + at, mask=held)
        rate = tl.load(rates + at, mask=held)
        if DECOUPLED:
            weight -= weight * (rate * decay)
        else:
            slope += weight * decay
        mean = tl.load(first + at, mask=held)
        mean += (slope - mean) * (1 - one)
        square = tl.load(second + at, mask=held) * two + slope * slope * (1 - two)
        spread = tl.sqrt(square) + epsilon * tl.load(scales)
        weight -= mean / spread * (rate * tl.load(scales + 1))
        tl.store(first + at, mean, mask=held)
        tl.store(second + at, square, mask=held)
        tl.store(weights + at, weight, mask=held)


def adam_on_gpu(  # pragma: no cover - needs a GPU
    weights: Tensor, gradient: Tensor, moments: tuple[Tensor, Tensor], rates: Tensor,
    step: float | Tensor, *, decay: float, decoupled: bool, betas: tuple[float, float],
    epsilon: float,
) -> None:  # fmt: skip
    """Move the weights in place; all are vectors in single precision, ``step`` counts from 1."""
    if not isinstance(step, Tensor):
        step = weights.new_full((), step)
    one, two = betas
    scale = (1 - two**step).sqrt()
    scales = torch.stack([scale, scale / (1 - one**step)])
    with torch.cuda.device(weights.device):
        _adam[(triton.cdiv(weights.numel(), _ENTRIES),)](
            weights, gradient.contiguous(), *moments, rates, scales, weights.numel(), decay, one,
            two, epsilon, DECOUPLED=decoupled, ENTRIES=_ENTRIES,
        )  # fmt: skip
