"""Random bits of one layer, in arrays that are used again."""

from collections.abc import Callable, Sequence

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


class Draws:
    """All draws that a layer makes in a pass, numbered by `noise.stream`, as one array."""

    def __init__(self, *streams: int) -> None:
        self._streams = streams
        self._sizes: dict[tuple[int, ...], list[int]] = {}
        self._steps = self._derived = torch.empty(0)
        self.workspace = Workspace()

    def __call__(
        self, keys: Tensor, shape: tuple[int, ...], make: Callable[[], Sequence[Tensor]]
    ) -> Tensor:
        """Return the bits of all draws, of shape (copies, elements).

        ``make`` returns the numbers of the elements of each draw, as the layer counts them; they
        are kept for each ``shape``.
        """
        index = self.workspace.kept(
            "index", shape, lambda: self._numbers(shape, make(), keys.device)
        )
        bits = self.workspace("bits", (len(keys), len(index)), index)
        work = self.workspace("work", bits.shape, index)
        noise.fill_bits(self._key(keys), index, self._sizes[shape], bits, work)
        return bits

    def _key(self, keys: Tensor) -> Tensor:
        """Return the key of each draw; where the keys are those of one step among many, of all."""
        steps = keys._base
        if (
            steps is None
            or steps.shape[1:] != keys.shape
            or not (steps.is_contiguous() and keys.is_contiguous())
        ):
            return noise.derive_key(keys[:, None], self._places)
        if steps is not self._steps:
            self._steps, self._derived = steps, noise.derive_key(steps[:, :, None], self._places)
        return self._derived[keys.storage_offset() // keys.numel()]

    def _numbers(
        self, shape: tuple[int, ...], draws: Sequence[Tensor], device: torch.device
    ) -> Tensor:
        self._sizes[shape] = [len(draw) for draw in draws]
        self._places = torch.tensor(self._streams, dtype=torch.int32, device=device)
        return torch.cat(list(draws)).to(device, torch.int32)


def by_units(rows: int, units: int) -> Tensor:
    """Return the numbers of elements counted row by row, in the order (units, rows)."""
    return torch.arange(rows * units).view(rows, units).t().reshape(-1)
