"""The result of a training."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ...exceptions import OptionError
from .._products import quick_products
from ..generators import Generators
from ._factories import Factory
from ._frozen import frozen_parts, split
from ._problem import as_input, suited
from ._ragged import Ragged, Shared
from ._settings import as_device
from ._stack import Stack, State, prepared, without_vmap_warnings
from .sources import block_size, blocks, few_samples

_ROWS = 2**16
"""Rows of all copies that are passed at a time."""


@dataclass(frozen=True, repr=False, eq=False)
class Trained:
    """K trained copies.

    Attributes
    ----------
    state : dict of str to Tensor
        Weights and buffers of all copies, stacked along the first axis, on the CPU.
    status : list of str
        For each copy "finished", "stopped early", "diverged" or "interrupted".
    steps : ndarray of shape (copies,)
        Steps each copy took.
    history : list of dict
        For each copy "step", "loss" (mean of the objective since the entry before) and, with
        validation samples, "validation" and what the monitor says, "monitor".
    engine : str
        How the copies were trained, and why so.
    seconds : float
        Duration of the training.
    """

    state: State
    status: list[str]
    steps: np.ndarray
    history: list[dict[str, np.ndarray]]
    engine: str
    seconds: float
    _make: Factory = field(repr=False)
    _module: nn.Module | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.status)

    @property
    def usable(self) -> np.ndarray:
        """Which copies have finite weights."""
        return np.array([status != "diverged" for status in self.status])

    def module(self, copy: int) -> nn.Module:
        """Return one copy as a module of its own, in evaluation mode."""
        if not 0 <= copy < len(self):
            raise OptionError(f"copy must lie from 0 to {len(self) - 1}; got {copy}")
        made = self._new()
        made.load_state_dict({name: value[copy] for name, value in self.state.items()})
        return made.eval()

    def _new(self) -> nn.Module:
        """Return a network with any weights."""
        with Generators().kept():
            return self._make()

    def outputs(self, X: Any, *, copies: Any = None, device: str = "auto") -> np.ndarray:
        """Return the outputs of copies for samples, in evaluation mode and without noise.

        Parameters
        ----------
        X : array of shape (samples, ...)
            Samples.
        copies : array of int, optional
            Which copies; by default all.
        device : str, default="auto"
            Where to compute; "auto" is a GPU if there is one.

        Returns
        -------
        ndarray of shape (copies, samples, ...)
        """
        module = self._new() if self._module is None else self._module
        samples = suited(as_input(X, module), module)
        where = as_device(device)
        state = self.state
        if copies is not None:
            chosen = torch.as_tensor(np.asarray(copies))
            state = {name: value[chosen] for name, value in state.items()}
        numbers = sum(value.numel() for value in state.values())
        products = quick_products(where, numbers * min(len(samples) or _ROWS, _ROWS))
        with torch.no_grad(), without_vmap_warnings(), products:
            return self._passes(module, state, samples, where)

    def _passes(self, module: nn.Module, state: State, X: Any, device: torch.device) -> np.ndarray:
        """Return the outputs of copies; what is frozen in all of them runs once."""
        module, features = prepared(module), None
        halves = None
        if frozen_parts(module):
            halves = split(module, state, few_samples(X, 1), training=False)
        if halves is not None:
            module, features = halves.rest, halves.on(device)
            state = {name: state[name] for name in module.state_dict()}
        count = len(next(iter(state.values())))
        alone = self.engine.startswith("one after another") or "cannot be stacked" in self.engine
        parts = [slice(i, i + 1) for i in range(count)] if alone else [slice(None)]
        # On a CPU a batch of graphs stays in the cache for one copy after another.
        stacked = not alone and count > 1 and not (device.type == "cpu" and isinstance(X, Ragged))
        stacks = []
        for part in parts:
            mine = {name: value[part] for name, value in state.items()}
            stacks.append(Stack(module, mine, None, device, stacked=stacked))
        outputs = []
        for x in blocks(X, device, block_size(X, max(1, _ROWS // count) if stacked else _ROWS)):
            x = x if features is None else features(x)
            given = x if isinstance(x, Tensor) else Shared(x)
            outputs.append(torch.cat([stack.outputs(given).float().cpu() for stack in stacks]))
        return torch.cat(outputs, dim=1).numpy()

    def __repr__(self) -> str:
        counts = ", ".join(f"{number} {status}" for status, number in Counter(self.status).items())
        return (
            f"Trained: {len(self)} copies ({counts}), {int(self.steps.sum()):,} steps in "
            f"{self.seconds:.1f} s; {self.engine}"
        )
