"""Samples in a data set of torch: read in batches, divided by row numbers, never copied."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch.utils.data import DataLoader, Dataset

from ..exceptions import LabelError, OptionError, ShapeError
from ._identity import identity

BLOCK = 512
"""Samples that are predicted at a time."""

_READ = 64
"""Samples by which a checkpoint recognizes a data set."""

Loader = Callable[[Any, bool], Any]
"""From a data set of pairs, and whether it is to be shuffled, to a loader of batches."""


class LabeledRows(Dataset[tuple[Any, Any]]):
    """Some samples of a data set, with labels of their own."""

    def __init__(self, dataset: Any, rows: np.ndarray, labels: np.ndarray) -> None:
        self.dataset, self.rows, self.labels = dataset, rows, labels

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> tuple[Any, Any]:
        return _inputs(self.dataset[int(self.rows[place])]), self.labels[place]


@dataclass(frozen=True, eq=False)
class DatasetSamples:
    """Rows of a data set whose items are inputs, or pairs of inputs and a label."""

    dataset: Any
    rows: np.ndarray
    loader: Loader | None = None

    @classmethod
    def of(cls, dataset: Any, loader: Any) -> "DatasetSamples":
        """Return all samples of a data set."""
        if isinstance(dataset, DataLoader):
            raise OptionError(
                "a DataLoader has no numbers of samples, by which subsets are chosen; pass its "
                "dataset, and loader=... for what makes batches of a part of it"
            )
        try:
            count = len(dataset)
        except TypeError:
            raise OptionError(
                f"a {type(dataset).__name__} has no number of samples, and subsets are chosen by "
                "number; pass a Dataset with __len__ and __getitem__"
            ) from None
        return cls(dataset, np.arange(count), loader)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: np.ndarray) -> "DatasetSamples":
        """Return some of the samples; what is copied are their numbers."""
        return DatasetSamples(self.dataset, self.rows[rows], self.loader)

    def labels(self, name: str) -> np.ndarray:
        """Return the labels that come with the samples, one sample at a time."""
        result = []
        for row in self.rows:
            item = self.dataset[int(row)]
            if not _is_pair(item):
                raise LabelError(
                    f"sample {row} of the {type(self.dataset).__name__} is no pair of inputs and a "
                    f"label, and {name} is None; pass the labels of all samples as {name}"
                )
            result.append(np.asarray(item[1]))
        return np.array(result)

    def to_train(self, rows: Any, y: np.ndarray, shuffle: bool = True) -> tuple[Any, Any]:
        """Return what a network is fitted to, and its labels unless they come with batches."""
        some = slice(None) if rows is None else rows
        pairs = LabeledRows(self.dataset, self.rows[some], y[some])
        if self.loader is None:
            return pairs, pairs.labels
        return self._loaded(pairs, shuffle), None

    def batches(self, y: np.ndarray) -> Iterator[tuple[Any, int]]:
        """Yield the inputs of all samples in their order, a batch at a time, and their number."""
        pairs = LabeledRows(self.dataset, self.rows, y)
        loader = DataLoader(pairs, batch_size=BLOCK)
        if self.loader is not None:
            loader = self._loaded(pairs, False)
        done = 0
        for inputs, labels in loader:
            got = np.asarray(labels)
            if not np.array_equal(got, y[done : done + len(got)]):
                raise OptionError(
                    f"loader gave other labels than those of samples {done} to "
                    f"{done + len(got) - 1}; with shuffle=False it must keep the order"
                )
            done += len(got)
            yield tuple(inputs) if isinstance(inputs, list) else inputs, len(got)
        if done != len(y):
            raise ShapeError(
                f"loader gave {done:,} of {len(y):,} samples; with shuffle=False it must give all"
            )

    def _loaded(self, pairs: LabeledRows, shuffle: bool) -> Any:
        assert self.loader is not None
        made = self.loader(pairs, shuffle)
        if not isinstance(made, DataLoader):
            raise OptionError(
                "loader must be loader(dataset, shuffle) -> DataLoader; it returned a "
                f"{type(made).__name__}"
            )
        return made

    def digest(self) -> str:
        """Return what tells these samples from others: numbers, some inputs, and batches.

        The inputs are those of a few rows, drawn from all. Of a data set that changes its samples
        at random there are none.
        """
        count = len(self)
        rows = np.random.default_rng(count).choice(count, min(_READ, count), replace=False)
        reads = [(self._read(row), self._read(row)) for row in self.rows[np.sort(rows)]]
        fixed = all(first == second for first, second in reads)
        inputs = [first for first, _ in reads] if fixed else []
        kind = type(self.dataset).__qualname__, len(self.dataset)
        return identity((*kind, self.rows, inputs, self._batching()))

    def _read(self, row: Any) -> str:
        return identity(_inputs(self.dataset[int(row)]))

    def _batching(self) -> list[Any]:
        """Return how the loader makes batches; who reads the samples decides no result."""
        if self.loader is None:
            return []
        pairs = LabeledRows(self.dataset, self.rows, np.zeros(len(self)))
        return [
            (
                type(made),
                type(made.sampler),
                type(made.batch_sampler),
                made.batch_size,
                made.drop_last,
                made.collate_fn,
            )
            for made in (self._loaded(pairs, shuffle) for shuffle in (True, False))
        ]


def _is_pair(item: Any) -> bool:
    return isinstance(item, tuple | list) and len(item) == 2


def _inputs(item: Any) -> Any:
    """Return the inputs of a sample; what is no pair has no label."""
    if _is_pair(item):
        return item[0]
    return item[0] if isinstance(item, tuple | list) and len(item) == 1 else item
