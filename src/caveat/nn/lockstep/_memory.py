"""How many copies fit into memory at a time."""

import os

import torch

from ._run import Run
from ._settings import Training

_SHARE = 0.6
"""Share of the free memory that copies may take."""

_MOST_ON_CPU = 4 * 2**30
_VECTORS = 6
"""Vectors of the size of the weights: weights, gradient and its parts, moments, a work space."""


def chunk_size(probe: Run, training: Training, device: torch.device, copies: int) -> int:
    """Return how many copies train at a time, from what a small run keeps for its gradients."""
    weights = probe.stack.flat.numel() * probe.stack.flat.element_size()
    held = 0

    def count(tensor: torch.Tensor) -> torch.Tensor:
        nonlocal held
        held += tensor.numel() * tensor.element_size()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(count, lambda tensor: tensor):
        probe.try_out()
    if probe.stack.by_hand is not None:
        held += probe.stack.by_hand.bytes
    each = (_VECTORS * weights + 2 * held) / len(probe.active)
    free = training.memory if training.memory is not None else _free(device)
    return max(1, min(copies, int(free // max(each, 1))))


def _free(device: torch.device) -> int:
    if device.type == "cuda":  # pragma: no cover - needs a GPU
        return int(_SHARE * torch.cuda.mem_get_info(device)[0])
    try:
        available = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # macOS and Windows do not say
        return _MOST_ON_CPU
    return int(min(_SHARE * available, _MOST_ON_CPU))


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error says that memory ran out, on a GPU or the CPU."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or (
        isinstance(error, RuntimeError) and "can't allocate memory" in str(error)
    )
