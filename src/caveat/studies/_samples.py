"""Samples of a data set or a table file, split and scaled for training."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import OptionError

_HELD_OUT = 0.2


@dataclass(frozen=True, eq=False)
class TrainTest:
    """Samples to learn from and to test on.

    Tables are scaled by the mean and the spread of the training samples, ``center`` and ``scale``;
    ``every`` has all rows before scaling.
    """

    name: str
    title: str
    X: Any
    y: np.ndarray
    test: tuple[Any, np.ndarray]
    every: tuple[Any, np.ndarray] | None = None
    center: Any = 0.0
    scale: Any = 1.0

    @property
    def classes(self) -> int:
        """How many there are."""
        return len(np.unique(self.y))

    @property
    def images(self) -> bool:
        """Whether samples are images."""
        return np.ndim(self.X) > 2

    def scaled(self, X: Any) -> Any:
        """Return points on the scale of the training samples."""
        return (X - self.center) / self.scale


def from_dataset(
    name: str, data: Any, rng: np.random.Generator, most: tuple[int | None, int | None]
) -> TrainTest:
    """Return a data set with its own split, or a random one; at most so many images."""
    if not data.test.any():
        return _split(name, data.description, data.X, data.y, rng)
    train, test = data.split()
    if np.ndim(data.X) == 2:
        return _scaled(name, data.description, (train.X, train.y), (test.X, test.y), None)
    train, test = (
        part if count is None else part.take(balanced(part.y, count, rng))
        for part, count in zip((train, test), most, strict=True)
    )
    return TrainTest(name, data.description, train.X, train.y, (test.X, test.y))


def from_file(path: Any, target: str | None, rng: np.random.Generator) -> TrainTest:
    """Return the samples of a table file whose target is a class."""
    from ..files import read_features

    path = Path(path)
    if target is None:
        raise OptionError(f"target must name the column of {path.name} that is to be predicted")
    table = read_features(path, target)
    if table.task != "classification":
        raise OptionError(
            f"{target!r} of {path.name} holds numbers, but this study needs classes; "
            "caveat.disentanglement_error takes both"
        )
    return _split(path.stem, f"{path.name}: {target}", table.X, table.y, rng)


def _split(name: str, title: str, X: Any, y: Any, rng: np.random.Generator) -> TrainTest:
    from sklearn.model_selection import train_test_split

    classes, counts = np.unique(y, return_counts=True)
    if len(classes) < 2 or counts.min() < 2:
        raise OptionError(f"{title} needs at least two classes, each with at least two samples")
    held = max(int(np.ceil(_HELD_OUT * len(y))), len(classes))
    seed = int(rng.integers(2**31))
    rows = train_test_split(np.arange(len(y)), test_size=held, stratify=y, random_state=seed)
    train, test = (np.sort(part) for part in rows)
    return _scaled(name, title, (X[train], y[train]), (X[test], y[test]), (X, y))


def _scaled(name: str, title: str, train: Any, test: Any, every: Any) -> TrainTest:
    center, scale = train[0].mean(axis=0), train[0].std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    X, X_test = ((part - center) / scale for part in (train[0], test[0]))
    return TrainTest(name, title, X, train[1], (X_test, test[1]), every, center, scale)


def balanced(y: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows with equally many of each class."""
    classes = np.unique(y)
    each = max(2, most // len(classes))
    rows = [rng.permutation(np.flatnonzero(y == label))[:each] for label in classes]
    return np.sort(np.concatenate(rows))
