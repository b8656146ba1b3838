"""Arrays that are used again at every step."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor


class Rooms:
    """Named arrays; one is made anew only when another shape is asked for."""

    def __init__(self) -> None:
        self._rooms: dict[str, Tensor] = {}
        self._kept: dict[str, tuple[tuple[int, ...], Tensor]] = {}

    def __call__(
        self,
        name: str,
        shape: Sequence[int],
        like: Tensor,
        dtype: torch.dtype | None = None,
        layout: Tensor | None = None,
    ) -> Tensor:
        """Return an array that may hold anything; `layout` has the order in memory."""
        room = self._rooms.get(name)
        if room is None or room.shape != tuple(shape):
            wanted = dtype or like.dtype
            if layout is not None:
                room = torch.empty_like(layout, dtype=wanted)
            else:
                room = torch.empty(tuple(shape), dtype=wanted, device=like.device)
            self._rooms[name] = room
        return room

    @property
    def bytes(self) -> int:
        """The memory of all arrays."""
        arrays = [*self._rooms.values(), *(array for _, array in self._kept.values())]
        return sum(array.numel() * array.element_size() for array in arrays)

    def kept(self, name: str, shape: tuple[int, ...], make: Callable[[], Tensor]) -> Tensor:
        """Return an array that stays the same as long as the shape does."""
        found = self._kept.get(name)
        if found is None or found[0] != shape:
            found = self._kept[name] = shape, make()
        return found[1]
