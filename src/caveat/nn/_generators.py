"""torch's own generators, from which modules draw their weights and maybe noise."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import RLock

import torch
from torch import Tensor

GENERATORS_LOCK = RLock()
"""Held by whoever seeds torch's generators and then draws: threads share them."""


class Generators:
    """The CPU's generator and that of a device, or those of all GPUs that are in use.

    ``torch.manual_seed`` would seed those of all devices, now or when they are first used.
    """

    def __init__(self, device: torch.device | None = None) -> None:
        self._all = [torch.default_generator]
        self._all += [torch.cuda.default_generators[gpu] for gpu in _gpus(device)]

    def seed(self, number: int) -> None:
        """Seed all of them."""
        for generator in self._all:
            generator.manual_seed(number)

    def states(self) -> list[Tensor]:
        """Return their states."""
        return [generator.get_state() for generator in self._all]

    def moved(self, states: list[Tensor]) -> bool:
        """Whether something was drawn since."""
        return not all(map(torch.equal, states, self.states()))

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Restore their states at the end."""
        states = self.states()
        try:
            yield
        finally:
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
