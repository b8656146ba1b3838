"""Samples that are no array: several tensors, data sets and loaders of torch."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import OptionError, ShapeError
from ._modules import core
from ._problem import Problem

if TYPE_CHECKING:
    from ._network import NetworkEstimator

_ROWS = 256
"""Held-out samples that are read at a time."""


def is_source(X: Any) -> bool:
    """Whether samples are no array; without torch there are none."""
    if isinstance(X, np.ndarray) or hasattr(X, "columns"):
        return False
    from ..nn.lockstep import sources

    return sources.is_source(X)


def is_stream(X: Any) -> bool:
    """Whether samples come in batches of their own, without numbers."""
    if isinstance(X, np.ndarray):
        return False
    from ..nn.lockstep.sources import Stream

    return isinstance(X, Stream)


def read(model: "NetworkEstimator", problem: Problem) -> tuple[Any, int, Any, Any]:
    """Return samples, how many are to learn from, their labels and those of held-out ones."""
    from ..nn.lockstep.sources import Items, Joined, Stream, as_source

    if model.module is None:
        raise OptionError(
            f"a {type(problem.X).__name__} of samples needs module=; without it a network is built "
            "for a table"
        )
    if model._scaling_kind() is not None:
        raise OptionError(
            f"standardize={model.standardize!r} is for arrays; let the "
            f"{type(problem.X).__name__} give inputs as the module takes them"
        )
    network = core(model)
    source: Any = as_source(problem.X, network, model.batch_size)
    if isinstance(source, Stream):
        return _read_stream(model, problem, source)
    y = problem.y
    if y is None and isinstance(source, Items):
        y = source.labels()
    if problem.validation is None:
        return source, len(source), y, None
    X_held, y_held = _held(problem.validation)
    held: Any = as_source(X_held, network)
    if isinstance(held, Stream):
        raise OptionError(
            f"validation is a {type(X_held).__name__}, whose samples have no numbers; pass a "
            "Dataset, or let X be a DataLoader, too"
        )
    y_held = held.labels() if y_held is None and isinstance(held, Items) else y_held
    return Joined(source, held), len(source), y, y_held


def _read_stream(
    model: "NetworkEstimator", problem: Problem, source: Any
) -> tuple[Any, int, Any, Any]:
    for name in ("y", "rows", "sample_weight"):
        if getattr(problem, name) is not None:
            why = "come with its batches" if name == "y" else "need samples with numbers"
            raise OptionError(
                f"{name} was given, but those of a {type(problem.X).__name__} {why}; leave {name} "
                "out, or pass a Dataset"
            )
    encode = partial(model._codes, known=True)
    y = source.labels()
    source.targets = encode
    if problem.validation is not None:
        source.held = _held_stream(problem.validation, source)
        source.held.targets = encode
    return source, len(source), y, None


def _held(validation: Any) -> tuple[Any, Any]:
    """Return samples and labels; those of a data set come with it."""
    if is_source(validation) and not isinstance(validation, tuple | list):
        return validation, None
    from ._data import as_pair

    return as_pair(validation)


def _held_stream(validation: Any, source: Any) -> Any:
    """Return held-out samples as batches, whatever they come as."""
    from torch.utils.data import DataLoader

    from ..nn.lockstep.sources import Items, Stream, as_source

    X, y = _held(validation)
    held: Any = as_source(X, source.module)
    if isinstance(held, Items) and y is None:
        held = Stream(DataLoader(held.dataset, batch_size=_ROWS), source.module)
    return held if isinstance(held, Stream) else Stream(_Pairs(held, y), source.module)


class _Pairs:
    """Batches of samples with their labels."""

    def __init__(self, source: Any, y: Any) -> None:
        self.source, self.y = source, np.asarray(y)
        if len(source) != len(self.y):
            raise ShapeError(
                f"validation has {len(source)} samples and {len(self.y)} labels; expected as many"
            )

    def __iter__(self) -> Iterator[tuple[Any, np.ndarray]]:
        import torch

        for start in range(0, len(self.y), _ROWS):
            rows = torch.arange(start, min(start + _ROWS, len(self.y)))
            yield self.source.pick(rows), self.y[rows.numpy()]


def new_samples(model: "NetworkEstimator", X: Any) -> Any:
    """Return samples to predict that are no array, or for a model that learned from such ones."""
    from ..nn.lockstep.sources import as_source

    if model.module is None or model.offset_ is not None:
        raise ShapeError(
            f"{type(model).__name__} was fitted to a table; it cannot predict a "
            f"{type(X).__name__} of samples"
        )
    return as_source(X, core(model), model.batch_size, ordered=True)
