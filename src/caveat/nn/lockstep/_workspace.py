"""Arrays that are used again at every step."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

_SHAPES = 2
"""Shapes kept of each name: those of training and of validation, or of a smaller last block."""


class Workspace:
    """Named arrays; one is allocated only for a shape that was not used lately."""

    def __init__(self) -> None:
        self._arrays: dict[str, dict[tuple[int, ...], Tensor]] = {}

    def __call__(
        self,
        name: str,
        shape: Sequence[int],
        like: Tensor,
        dtype: torch.dtype | None = None,
        layout: Tensor | None = None,
    ) -> Tensor:
        """Return an array that may hold anything; `layout` has the order in memory."""

        def make() -> Tensor:
            if layout is not None:
                return torch.empty_like(layout, dtype=dtype)
            return torch.empty(tuple(shape), dtype=dtype or like.dtype, device=like.device)

        return self.kept(name, tuple(shape), make)

    def kept(self, name: str, shape: tuple[int, ...], make: Callable[[], Tensor]) -> Tensor:
        """Return an array that stays the same as long as the shape does."""
        known = self._arrays.setdefault(name, {})
        array = known.get(shape)
        if array is None:
            if len(known) == _SHAPES:
                del known[next(iter(known))]
            array = known[shape] = make()
        return array

    @property
    def bytes(self) -> int:
        """The memory of all arrays."""
        arrays = [array for known in self._arrays.values() for array in known.values()]
        return sum(array.numel() * array.element_size() for array in arrays)
