"""Samples that are no array: graphs, sets, sentences, which are picked and packed by rows."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

__all__ = ["Ragged", "Shared"]


@runtime_checkable
class Ragged(Protocol):
    """Samples of different sizes, of which a batch is packed for all copies at once.

    A module gets what `pick` returns: a tensor, or tuples of tensors.
    """

    def __len__(self) -> int:
        """Return the number of samples."""

    def pick(self, rows: Tensor) -> Any:
        """Return the batch of some samples, packed, on the device of the samples."""

    def to(self, device: Any) -> "Ragged":
        """Return the samples on a device."""

    def digest(self) -> bytes:
        """Return what tells these samples from others."""

    @property
    def weight(self) -> float:
        """Return how many rows of an array a sample is about worth in memory."""


@dataclass(frozen=True)
class Shared:
    """A batch that all copies share."""

    value: Any
