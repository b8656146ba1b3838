"""Samples that are no array, for copies that train one after another."""

import copy
import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, default_collate

from ..._defaults import BATCH_SIZE
from ...exceptions import LabelError, OptionError, ShapeError
from .._inputs import as_inputs, precision
from .._loaders import call, check_order, inputs_and_target, is_loader
from ..generators import Generators
from ._ragged import Ragged

__all__ = [
    "Items",
    "Joined",
    "Parts",
    "Source",
    "Stream",
    "as_source",
    "block_size",
    "blocks",
    "call",
    "few_samples",
    "is_source",
]

Targets = Callable[[Any], Any]

_NUMBERS = 2**22
"""Numbers in the samples of a block."""

_WORTH = 256.0
"""Rows of an array that a sample of unknown size counts as."""


class Source:
    """Samples of which copies that train one after another take batches of their own."""

    weight = _WORTH

    def __init__(self, module: nn.Module, device: Any = "cpu") -> None:
        self.module, self.device, self.dtype = module, device, precision(module)

    def to(self, device: Any) -> Any:
        """Return the same for batches on a device."""
        made = copy.copy(self)
        made.device = device
        return made

    def _moved(self, batch: Any) -> Any:
        return moved(batch, self.device, self.dtype)


class Parts(Source):
    """Several tensors with the same number of rows, as a tuple or by name, or a single one."""

    def __init__(self, value: Any, module: nn.Module, device: Any = "cpu") -> None:
        super().__init__(module, device)
        self._names = list(value) if isinstance(value, Mapping) else None
        self._single = not isinstance(value, Mapping | tuple)
        parts = (value,) if self._single else value.values() if self._names else value
        self._tensors = as_inputs(tuple(parts), module)

    def __len__(self) -> int:
        return len(self._tensors[0])

    def pick(self, rows: Tensor) -> Any:
        """Return some rows of all tensors, as the module takes them."""
        chosen = tuple(self._moved(each[rows.cpu()]) for each in self._tensors)
        if self._single:
            return chosen[0]
        batch = chosen if self._names is None else dict(zip(self._names, chosen, strict=True))
        return inputs_and_target((batch, None), self.module)[0]

    def digest(self) -> bytes:
        """Return what tells these samples from others."""
        return b"".join(each.cpu().numpy().tobytes() for each in self._tensors)


class Items(Source):
    """A data set of torch, whose samples are read when they are needed."""

    def __init__(self, dataset: Any, module: nn.Module, device: Any = "cpu") -> None:
        super().__init__(module, device)
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def pick(self, rows: Tensor) -> Any:
        """Return the inputs of some samples."""
        batch = default_collate([self.dataset[row] for row in rows.tolist()])
        return self._moved(inputs_and_target(batch, self.module)[0])

    def labels(self) -> np.ndarray:
        """Return the labels of all samples, which takes a pass over them."""
        loader = DataLoader(self.dataset, batch_size=BATCH_SIZE)
        return Stream(loader, self.module).labels()

    def digest(self) -> bytes:
        """Return what tells these samples from others: their number and the first few."""
        few = [_bytes(self.pick(torch.tensor([row]))) for row in range(min(len(self), 4))]
        return hashlib.sha256(b"".join([str(len(self)).encode(), *few])).digest()


class Joined(Source):
    """Samples to learn from, and behind them those that are held out: ``both``.

    No batch has samples of the two, which may come in different forms.
    """

    def __init__(self, first: Any, second: Any) -> None:
        super().__init__(first.module, first.device)
        self.both = first, second

    def __len__(self) -> int:
        return sum(map(len, self.both))

    def pick(self, rows: Tensor) -> Any:
        """Return some samples of one of the two."""
        first, second = self.both
        held = int(rows[0]) >= len(first)
        return second.pick(rows - len(first)) if held else first.pick(rows)

    def to(self, device: Any) -> "Joined":
        """Return the same for batches on a device."""
        return Joined(*(each.to(device) for each in self.both))

    def digest(self) -> bytes:
        """Return what tells these samples from others."""
        return b"".join(each.digest() for each in self.both)


class Stream(Source):
    """Batches of a loader, in its order: they need not fit into memory, nor have numbers.

    ``targets`` turns the labels of a batch into what the loss takes; ``held`` is another stream, on
    which copies are checked after each epoch.
    """

    def __init__(
        self,
        loader: Any,
        module: nn.Module,
        device: Any = "cpu",
        targets: Targets | None = None,
        held: "Stream | None" = None,
    ) -> None:
        super().__init__(module, device)
        self.loader, self.targets, self.held = loader, targets, held
        self.rows = self.batches = 0

    def __len__(self) -> int:
        return self.rows

    def inputs(self) -> Iterator[Any]:
        """Yield the inputs of each batch; torch's generator stays as it is."""
        with Generators().kept():
            iterator = self._read()
        for batch in iterator:
            yield self._moved(inputs_and_target(batch, self.module)[0])

    def __iter__(self) -> Iterator[tuple[Any, Tensor]]:
        for batch in self._read():
            x, y = inputs_and_target(batch, self.module)
            y = y if self.targets is None else self.targets(_array(y))
            yield self._moved(x), torch.as_tensor(y).to(self.device)

    def labels(self) -> np.ndarray:
        """Return the labels of one pass over the batches, which are counted in it."""
        with Generators().kept():
            return self._labels()

    def _labels(self) -> np.ndarray:
        labels: list[np.ndarray] = []
        for batch in self._read():
            _, y = inputs_and_target(batch, self.module)
            if y is None:
                raise LabelError(
                    f"batches of the {type(self.loader).__name__} have inputs alone; let them be "
                    "pairs (inputs, labels), or dictionaries with the labels as 'y', 'target' or "
                    "'label'"
                )
            labels.append(_array(y))
        if not labels:
            raise ShapeError(f"the {type(self.loader).__name__} gave no batch")
        self.batches, self.rows = len(labels), sum(map(len, labels))
        return np.concatenate(labels)

    def _read(self) -> Iterator[Any]:
        return iter(self.loader)

    def to(self, device: Any) -> "Stream":
        """Return the same for batches on a device."""
        made: Stream = super().to(device)
        made.held = None if self.held is None else self.held.to(device)
        return made

    def digest(self) -> bytes:
        """Return what tells these samples from others: their number and the first batch."""
        with Generators().kept():
            first = next(iter(self._read()))
        return hashlib.sha256(f"{self.rows}".encode() + _bytes(first)).digest()


def is_source(X: Any) -> bool:
    """Whether samples are no single array: several tensors, a data set or a loader."""
    if isinstance(X, Source) or is_loader(X):
        return True
    if isinstance(X, Mapping):
        return not hasattr(X, "shape")  # as sparse matrices have, which may be dictionaries, too
    return isinstance(X, tuple) and any(hasattr(x, "shape") for x in X)


def as_source(
    X: Any, module: nn.Module, batch_size: int = BATCH_SIZE, *, ordered: bool = False
) -> Source:
    """Return samples in the form in which copies take batches of them.

    With ``ordered`` a loader that shuffles them is refused.
    """
    if isinstance(X, Source):
        return X
    if isinstance(X, Iterator):
        raise OptionError(
            f"a {type(X).__name__} can be read once, and training reads samples several times; "
            "pass a DataLoader or a Dataset of torch"
        )
    if isinstance(X, IterableDataset):
        return Stream(DataLoader(X, batch_size=batch_size), module)
    if isinstance(X, DataLoader):
        if ordered:
            check_order(X)
        return Stream(X, module)
    return Items(X, module) if isinstance(X, Dataset) else Parts(X, module)


def few_samples(X: Any, count: int) -> Any:
    """Return a batch of the first samples."""
    if isinstance(X, Stream):
        return next(X.inputs())
    X = X.both[0] if isinstance(X, Joined) else X
    rows = torch.arange(min(count, len(X)))
    return X.pick(rows) if isinstance(X, Ragged) else X[rows]


def tensors_of(value: Any) -> list[Tensor]:
    """Return the tensors in a batch or an output."""
    if isinstance(value, Tensor):
        return [value]
    each = value.values() if isinstance(value, dict) else value
    return [tensor for part in each for tensor in tensors_of(part)]


def block_size(X: Any, most: int) -> int:
    """Return how many samples are passed at a time, at most so many."""
    if isinstance(X, Tensor):
        return max(1, min(most, _NUMBERS // max(1, X[0].numel())))
    return max(1, int(most / X.weight))


def blocks(X: Any, device: torch.device, size: int) -> Iterator[Any]:
    """Yield the samples as a module takes them, on a device, so many at a time."""
    X = X if isinstance(X, Tensor) else X.to(device)
    if isinstance(X, Stream):
        yield from X.inputs()
        return
    if isinstance(X, Joined):
        for each in X.both:
            yield from blocks(each, device, size)
        return
    for start in range(0, len(X), size):
        rows = range(start, min(start + size, len(X)))
        if isinstance(X, Ragged):
            yield X.pick(torch.tensor(rows, device=device))
        else:
            yield X[rows.start : rows.stop].to(device)


def moved(batch: Any, device: Any, dtype: torch.dtype) -> Any:
    """Return a batch on a device, its floats in a precision."""
    if isinstance(batch, Tensor):
        return batch.to(device, dtype if batch.is_floating_point() else batch.dtype)
    if isinstance(batch, Mapping):
        return {name: moved(each, device, dtype) for name, each in batch.items()}
    if isinstance(batch, list | tuple):
        return tuple(moved(each, device, dtype) for each in batch)
    return batch.to(device) if hasattr(batch, "to") else batch


def _array(y: Any) -> np.ndarray:
    return y.detach().cpu().numpy() if isinstance(y, Tensor) else np.asarray(y)


def _bytes(batch: Any) -> bytes:
    if isinstance(batch, Tensor):
        return batch.detach().cpu().numpy().tobytes()
    if isinstance(batch, Mapping):
        return b"".join(_bytes(each) for each in batch.values())
    if isinstance(batch, list | tuple):
        return b"".join(map(_bytes, batch))
    return repr(type(batch)).encode()
