"""torch's own generators, from which modules draw their weights and maybe noise.

Threads share them. Whoever seeds or restores them, or draws, does so within `Generators.kept`,
`Generators.restored` or `Generators.on_from`, so that one waits for another.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Any

import torch
from torch import Tensor

GENERATORS_LOCK: Any = RLock()
"""Held by whoever seeds torch's generators and then draws: threads share them.

Reading a state takes it, too: torch holds a lock of its own while it makes the tensor, and a second
thread that asks for it then keeps the interpreter's, so that both wait without end.
"""

if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows has no forks
    # While another thread holds it, which is not in the new process.
    os.register_at_fork(after_in_child=GENERATORS_LOCK._at_fork_reinit)


class Generators:
    """The CPU's generator and that of a device, or those of all GPUs that are in use.

    ``torch.manual_seed`` would seed those of all devices, now or when they are first used.
    """

    def __init__(self, device: torch.device | None = None) -> None:
        self._all = [torch.default_generator]
        self._all += [torch.cuda.default_generators[gpu] for gpu in _gpus(device)]

    def seed(self, number: int) -> None:
        """Seed all of them."""
        with GENERATORS_LOCK:
            for generator in self._all:
                generator.manual_seed(number)

    def states(self) -> list[Tensor]:
        """Return their states."""
        with GENERATORS_LOCK:
            return [generator.get_state() for generator in self._all]

    def moved(self, states: list[Tensor]) -> bool:
        """Whether something was drawn since."""
        return not all(map(torch.equal, states, self.states()))

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Restore their states at the end; until then no other thread seeds, restores or draws."""
        with GENERATORS_LOCK, self.restored():
            yield

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Restore their states at the end; other threads may use them until then."""
        states = self.states()
        try:
            yield
        finally:
            self._set(states)

    @contextmanager
    def on_from(self, states: list[Tensor]) -> Iterator[None]:
        """Draw on from these states, and put those at the end in their place."""
        with self.kept():
            self._set(states)
            yield
            states[:] = self.states()

    def _set(self, states: list[Tensor]) -> None:
        with GENERATORS_LOCK:
            for generator, state in zip(self._all, states, strict=True):
                generator.set_state(state)


def _gpus(device: torch.device | None) -> Sequence[int]:
    if device is None:
        return range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    if device.type != "cuda":
        return ()
    torch.cuda.init()  # pragma: no cover - needs a GPU
    index = device.index  # pragma: no cover - needs a GPU
    return [torch.cuda.current_device() if index is None else index]  # pragma: no cover
