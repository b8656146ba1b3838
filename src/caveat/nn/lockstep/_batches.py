"""Which samples each copy sees at each step: a function of its seed and the step only."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..noise import derive_key, permutations
from .sources import Stream

ORDER = 0x0BDE
"""The number of the key from which orders are drawn; steps have keys of their own."""

_AHEAD = {"cpu": 2**18, "cuda": 2**23}
"""Places in orders that are drawn ahead: what stays in the cache, or what fills a GPU."""


class Batches:
    """Batches of every copy; epochs of copies with different numbers of samples need not agree.

    In each of its epochs a copy sees each of its samples once, in a new order. Its last batch is
    filled up with samples from the start of that order, which do not count in the loss (but are
    seen by batch norm). Orders are drawn ahead, for at most ``steps``. With ``full`` batches are
    filled up even if no copy has that many samples, so that batch norm does not depend on the other
    copies.
    """

    def __init__(
        self, lengths: np.ndarray, keys: Tensor, batch_size: int, steps: int, full: bool = False
    ) -> None:
        self.size = batch_size if full else int(min(batch_size, lengths.max()))
        places = np.argsort(lengths, kind="stable")
        cuts = np.flatnonzero(np.diff(lengths[places])) + 1
        self._groups = [
            _Group(int(lengths[part[0]]), derive_key(keys[part], ORDER), self.size, steps)
            for part in np.split(places, cuts)
        ]
        # Groups are joined one after another; this puts the copies back into their own order.
        self._back = None
        if len(self._groups) > 1:
            self._back = torch.from_numpy(np.argsort(places, kind="stable")).to(keys.device)

    def at(self, step: int) -> tuple[Tensor, Tensor]:
        """Return places in the rows of each copy, and which count, both (copies, batch)."""
        pairs = [group.at(step) for group in self._groups]
        if self._back is None:
            return pairs[0]
        places = torch.cat([places for places, _ in pairs])[self._back]
        counts = torch.cat([counts for _, counts in pairs])[self._back]
        return places, counts


@dataclass(frozen=True, eq=False)
class Loaded:
    """A batch that a loader gave, in place of places in the rows of a copy."""

    x: Any
    y: Tensor


class StreamBatches:
    """The batches of a loader, which begins anew when it is at its end."""

    size = 1

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._left: Iterator[Any] = iter(())

    def at(self, step: int) -> tuple[Loaded, Tensor]:
        """Return the next batch, and the share of each of its samples in the loss."""
        batch = next(self._left, None)
        if batch is None:
            self._left = iter(self._stream)
            batch = next(self._left)
        x, y = batch
        return Loaded(x, y), torch.full((1, len(y)), 1 / len(y), device=y.device)


class _Group:
    """The copies that have the same number of samples."""

    def __init__(self, length: int, keys: Tensor, size: int, steps: int) -> None:
        self._length, self._keys, self._size = length, keys, size
        self._per_epoch = -(-length // size)
        most = max(1, _AHEAD.get(keys.device.type, 2**18) // (length * len(keys)))
        # The first epoch is drawn by itself: a run that is only tried out needs no more.
        epochs = max(1, -(-steps // self._per_epoch) - 1)
        self._ahead = -(-epochs // -(-epochs // most))
        self._drawn = range(0)
        self._orders = torch.empty(0)
        place = torch.arange(self._per_epoch * size, device=keys.device)
        self._fill = place % length
        counted = (place < length).reshape(self._per_epoch, 1, size).to(torch.float32)
        counted = counted / counted.sum(dim=2, keepdim=True)
        self._counts = counted.expand(-1, len(keys), -1)

    def at(self, step: int) -> tuple[Tensor, Tensor]:
        epoch, batch = divmod(step, self._per_epoch)
        if epoch not in self._drawn:
            self._draw(range(epoch, epoch + (self._ahead if epoch else 1)))
        places = self._orders[(epoch - self._drawn.start) * self._per_epoch + batch]
        return places, self._counts[batch]

    def _draw(self, epochs: range) -> None:
        numbers = torch.arange(
            epochs.start, epochs.stop, dtype=torch.int32, device=self._keys.device
        )
        keys = derive_key(self._keys[:, None], numbers)
        filled = permutations(keys, self._length)[..., self._fill]
        orders = filled.reshape(len(keys), -1, self._size).transpose(0, 1)
        self._orders, self._drawn = orders.contiguous(), epochs
