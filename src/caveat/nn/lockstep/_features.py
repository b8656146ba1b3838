"""Samples as the frozen part of a network passes them on, computed once for all copies."""

from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from ..generators import Generators
from ._frozen import Split, split
from ._problem import Problem
from ._ragged import Ragged
from ._settings import Training
from ._stack import State
from .sources import Source, Stream, block_size, blocks, few_samples, tensors_of

_PROBED = 3
"""Samples on which a network is tried."""

_REREAD = 32
"""Samples that are read twice: a change with a probability of 10 % is missed once in 500 times."""

NOTE = "outputs of frozen parts are computed once"


def on_features(
    problem: Problem, module: nn.Module, state: State, training: Training, device: torch.device
) -> tuple[nn.Module, list[str]]:
    """Replace samples by their features where the network begins with frozen parts.

    Returns the module that is left to train, and a note if it is another one.
    """
    X: Any = problem.X
    packed = isinstance(X, Ragged) and not isinstance(X, Source)
    if not training.cache_features or packed or isinstance(X, Stream):
        return module, []
    with Generators(device).kept():
        few = few_samples(X, _PROBED)
        halves = split(module, state, few, noise=training.frozen_noise)
        if halves is None or not _is_constant(X) or not _is_by_row(halves, X):
            return module, []
        cast: Any = nullcontext()
        if training.precision == "bfloat16":
            cast = torch.autocast(device.type, dtype=torch.bfloat16)
        with cast:
            features = halves.compute(blocks(X, device, block_size(X, 2**16)), len(X), device)
    if features is None:
        return module, []
    problem.X = features
    return halves.rest, [NOTE]


def _is_constant(X: Any) -> bool:
    """Whether samples, spread over all, are the same when they are read again."""
    if isinstance(X, Tensor):
        return True
    rows = torch.linspace(0, len(X) - 1, min(_REREAD, len(X))).long()
    pairs = ((X.pick(row[None]), X.pick(row[None])) for row in rows)
    return all(
        torch.equal(one, other)
        for first, second in pairs
        for one, other in zip(tensors_of(first), tensors_of(second), strict=True)
    )


def _is_by_row(halves: Split, X: Any) -> bool:
    """Whether the features of a sample do not depend on others in its batch."""
    with torch.no_grad():
        alone, among = (halves.features(few_samples(X, count)) for count in (1, _PROBED))
    rows = len(among) == min(_PROBED, len(X)) and len(alone) == 1
    return rows and torch.allclose(
        alone, among[:1], rtol=1e-3, atol=1e-4 * float(among.abs().max())
    )
