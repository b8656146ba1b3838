"""Random bits of one layer, in arrays that are used again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .. import noise
from ._workspace import Workspace


class Reusing:
    """What has arrays that are used again, for values and for draws."""

    def __init__(self) -> None:
        self.workspace, self.draws = Workspace(), Draws()

    @property
    def bytes(self) -> int:
        """The memory of these arrays."""
        return self.workspace.bytes + self.draws.workspace.bytes


_TOGETHER = 2**16
"""Elements of small layers that are drawn at once, for many steps; 256 KiB."""


@dataclass
class _Block:
    """The bits of some steps in a row, each of which is used once: whoever uses it, changes it."""

    bits: Tensor
    first: int
    next: int = 0


class Draws:
    """All draws that a layer makes in a pass, numbered by `noise.stream`, as one array."""

    def __init__(self, *streams: int) -> None:
        self._streams = streams
        self._sizes: dict[tuple[int, ...], list[int]] = {}
        self._steps = self._derived = torch.empty(0)
        self._blocks: dict[tuple[int, ...], _Block] = {}
        self.workspace = Workspace()

    def __call__(
        self, keys: Tensor, shape: tuple[int, ...], make: Callable[[], Sequence[Tensor]]
    ) -> Tensor:
        """Return the bits of all draws, of shape (copies, elements).

        ``make`` returns the numbers of the elements of each draw, as the layer counts them; they
        are kept for each ``shape``. Where the keys are those of one step among many, the bits of
        the next ones are made as well while that is a small array: launches are what it costs.
        """
        index = self.workspace.kept(
            "index", shape, lambda: self._numbers(shape, make(), keys.device)
        )
        steps = _among(keys)
        if steps is None:
            return self._bits(noise.derive_key(keys[:, None], self._places), index, shape)
        if steps is not self._steps:
            self._steps, self._derived = steps, noise.derive_key(steps[:, :, None], self._places)
            self._blocks.clear()
        step = keys.storage_offset() // keys.numel()
        together = _TOGETHER // (len(keys) * max(1, len(index)))
        if together < 2:
            return self._bits(self._derived[step], index, shape)
        block = self._blocks.get(shape)
        if block is None or not block.next <= step < block.first + len(block.bits):
            some = self._derived[step : step + together]
            bits = self._bits(some.flatten(0, 1), index, shape, together * len(keys))
            block = _Block(bits.view(-1, len(keys), len(index)), step)
            self._blocks[shape] = block
        block.next = step + 1
        return block.bits[step - block.first]

    def _bits(
        self, key: Tensor, index: Tensor, shape: tuple[int, ...], most: int | None = None
    ) -> Tensor:
        """Return the bits of some keys, in an array with room for ``most``."""
        size = most or len(key), len(index)
        bits = self.workspace.kept("bits", (*shape, *size), lambda: index.new_empty(size))
        work = self.workspace("work", size, index)
        bits, work = bits[: len(key)], work[: len(key)]
        noise.fill_bits(key, index, self._sizes[shape], bits, work)
        return bits

    def _numbers(
        self, shape: tuple[int, ...], draws: Sequence[Tensor], device: torch.device
    ) -> Tensor:
        self._sizes[shape] = [len(draw) for draw in draws]
        self._places = torch.tensor(self._streams, dtype=torch.int32, device=device)
        return torch.cat(list(draws)).to(device, torch.int32)


def _among(keys: Tensor) -> Tensor | None:
    """Return the keys of many steps, (steps, copies, 2), of which these are one; None if not."""
    steps = keys._base
    among = (
        steps is not None
        and steps.shape[1:] == keys.shape
        and steps.is_contiguous()
        and keys.is_contiguous()
    )
    return steps if among else None


def by_units(rows: int, units: int) -> Tensor:
    """Return the numbers of elements counted row by row, in the order (units, rows)."""
    return torch.arange(rows * units).view(rows, units).t().reshape(-1)
