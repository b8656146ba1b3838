"""What is trained: the data that all copies share, and what each copy has of its own."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..._arrays import to_numpy
from ..._defaults import BATCH_SIZE
from ..._validation import check_integer
from ...exceptions import InvalidValueError, LabelError, OptionError, ShapeError
from .. import losses
from .._loaders import call
from ..generators import Generators
from ._ends import bare
from ._ragged import Ragged
from ._settings import Training
from .sources import Items, Source, Stream, as_source, few_samples, is_source

_OF_CODES = (losses.nll, losses.sampled_softmax_nll)
"""Losses whose labels are class codes."""


@dataclass(frozen=True, eq=False)
class Copy:
    """Data and settings of one copy of the network; None takes what all copies share.

    Parameters
    ----------
    seed : int, optional
        Decides its initial weights, the order of its samples and its noise, whatever else trains
        beside it; from 0 to 2**63 - 1, by default drawn from ``random_state``.
    rows : array of int, optional
        The samples it learns from, repeated ones as often as they occur; by default all.
    y : array with one entry for each sample of X, optional
        Its own labels.
    weight : array of shape (samples of X,), optional
        How much each sample counts, in validation too; only ratios matter.
    validation : array of int, optional
        The samples on which it is checked after each of its epochs.
    epochs : int, optional
        How often it sees its samples.
    steps : int, optional
        How many batches it sees, instead of epochs.
    state : dict of str to Tensor or array, optional
        Weights or buffers to begin with, by name, in place of drawn ones.
    """

    seed: int | None = None
    rows: Any = None
    y: Any = None
    weight: Any = None
    validation: Any = None
    epochs: int | None = None
    steps: int | None = None
    state: Any = None


class Tables:
    """Arrays that copies may share, each kept once, and which of them each copy uses."""

    def __init__(self, arrays: Sequence[Any], convert: Any) -> None:
        known: dict[int, int] = {}
        self.which = np.zeros(len(arrays), dtype=np.int64)
        self.kept: list[Tensor] = []
        for i, array in enumerate(arrays):
            if id(array) not in known:
                known[id(array)] = len(self.kept)
                self.kept.append(convert(array))
            self.which[i] = known[id(array)]

    def lengths(self) -> np.ndarray:
        """Return how long the array of each copy is."""
        return np.array([len(array) for array in self.kept])[self.which]

    def stacked(self) -> Tensor:
        """Return all arrays as one, short ones filled up with zeros."""
        return torch.nn.utils.rnn.pad_sequence(self.kept, batch_first=True)


class Problem:
    """The checked data and the copies, on the CPU."""

    def __init__(
        self,
        X: Any,
        y: Any,
        copies: Sequence[Copy],
        seeds: Sequence[int],
        module: nn.Module,
        batch_size: int = BATCH_SIZE,
    ) -> None:
        self.X = as_input(X, module, batch_size)
        if isinstance(self.X, Stream) and not self.X.rows and y is not None:
            raise OptionError("labels of a loader come with its batches; pass y=None")
        if y is None and isinstance(self.X, Items | Stream):
            y = self.X.labels()
        self.y = as_target(y, len(self.X), "y")
        self.copies = list(copies)
        self.seeds = seeds_of(copies, seeds)
        everything = torch.arange(len(self.X))
        samples = len(self.X)

        def rows(array: Any) -> Tensor:
            return everything if array is None else _as_rows(array, samples, "rows")

        def labels(array: Any) -> Tensor:
            return (
                self.y if array is None else _like(as_target(array, samples, "y of a copy"), self.y)
            )

        self.rows = Tables([c.rows for c in copies], rows)
        self.labels = Tables([c.y for c in copies], labels)
        self.lengths = self.rows.lengths()
        self.weights = None
        if any(c.weight is not None for c in copies):
            keys = [(c.weight, c.rows) for c in copies]
            pairs = {(id(w), id(r)): (w, r) for w, r in keys}
            shared = [pairs[id(w), id(r)] for w, r in keys]
            self.weights = Tables(shared, lambda pair: _as_weight(pair[0], rows(pair[1]), samples))
        self.validation = None
        checked = [c.validation is not None for c in copies]
        if any(checked):
            if not all(checked):
                raise OptionError("give validation rows to all copies, or to none")
            self.validation = Tables(
                [c.validation for c in copies], lambda a: _as_rows(a, samples, "validation")
            )
            if self.weights is not None:
                _check_held_weights(self.weights, self.validation)
        if isinstance(self.X, Stream):
            _check_stream(copies)
        elif isinstance(self.X, Ragged) and not isinstance(self.X, Source):
            tables = [self.rows, *([] if self.validation is None else [self.validation])]
            if any(len(table.kept) > 1 for table in tables):
                raise OptionError(
                    "copies on ragged samples share their batches: give all of them the same rows "
                    "and validation, as one object, and bootstrap by weight"
                )

    def __len__(self) -> int:
        return len(self.copies)

    @property
    def checked(self) -> bool:
        """Whether copies are checked on validation samples."""
        return self.validation is not None or getattr(self.X, "held", None) is not None

    def per_epoch(self, training: Training) -> np.ndarray:
        """Return the steps in an epoch of each copy."""
        if isinstance(self.X, Stream):
            return np.full(len(self), self.X.batches)
        return training.batches(self.lengths)

    def steps(self, training: Training) -> np.ndarray:
        """Return how many steps each copy takes, unless it stops before."""
        steps = self.per_epoch(training)
        for i, copy in enumerate(self.copies):
            steps[i] *= training.epochs if copy.epochs is None else copy.epochs
            steps[i] = steps[i] if copy.steps is None else copy.steps
        return steps


def _check_stream(copies: Sequence[Copy]) -> None:
    for name in ("rows", "y", "weight", "validation"):
        if any(getattr(copy, name) is not None for copy in copies):
            raise OptionError(
                f"{name} of a copy needs samples with numbers, which batches of a loader have not; "
                "pass a Dataset, or arrays"
            )


def _check_held_weights(weights: Tables, validation: Tables) -> None:
    """Raise if weights allow no mean over validation samples."""
    pairs = {*zip(weights.which.tolist(), validation.which.tolist(), strict=True)}
    for weight, rows in sorted(pairs):
        total = weights.kept[weight][validation.kept[rows]].sum()
        if not 0 < total < torch.inf:
            raise InvalidValueError(
                "weight of a copy must not be all 0 on its validation samples, and neither far "
                "smaller nor far larger than on its rows"
            )


def seeds_of(copies: Sequence[Copy], drawn: Sequence[int]) -> list[int]:
    """Return the seeds of copies, those drawn where they have none."""
    return [int(s if c.seed is None else c.seed) for c, s in zip(copies, drawn, strict=True)]


def check_copies(copies: Sequence[Copy]) -> None:
    """Raise if there are no copies, or if a number of one is out of range."""
    if not copies:
        raise OptionError("copies must be at least one")
    limits = {"epochs": (1, None), "steps": (1, None), "seed": (0, 2**63 - 1)}
    for i, copy in enumerate(copies):
        for name, (least, most) in limits.items():
            if getattr(copy, name) is not None:
                check_integer(getattr(copy, name), f"{name} of copy {i}", least, most)


def as_input(X: Any, module: nn.Module, batch_size: int = BATCH_SIZE) -> Any:
    """Return samples as a tensor of numbers on the CPU: arrays of any rank, frames, tensors.

    `Ragged` samples stay as they are; several tensors, data sets and loaders become a `Source`.
    """
    if isinstance(X, Ragged):
        return X
    if is_source(X):
        return as_source(X, module, batch_size)
    tensor = _numbers(X, "X", "")
    if tensor.ndim < 1 or len(tensor) < 1:
        raise ShapeError(f"X must have at least one sample; got shape {tuple(tensor.shape)}")
    _check_finite(tensor, "holds NaN or infinity")
    return tensor


def suited(X: Any, module: nn.Module) -> Any:
    """Return samples in the precision of a module.

    Whole numbers stay so for a module that begins with an embedding; `Ragged` samples stay.
    """
    if isinstance(X, Ragged | Source):
        return X
    first = next(part for part in module.modules() if not any(part.children()))
    if isinstance(first, nn.Embedding | nn.EmbeddingBag) and not X.is_floating_point():
        whole = X.to(torch.int64)
        if _output(module, whole) is not None:
            return whole
    kinds = [value.dtype for value in module.parameters() if value.is_floating_point()]
    converted = X.to(kinds[0] if kinds else torch.float32)
    if converted.dtype != X.dtype:
        _check_finite(
            converted, f"holds a number too large for {converted.dtype}, as the module has it"
        )
    return converted


def check_codes(problem: Problem, module: nn.Module, loss: Any) -> None:
    """Raise if a class code has no output; on a GPU it would end the program."""
    if bare(loss) not in _OF_CODES or problem.y.is_floating_point():
        return
    output = _output(module, problem.X)
    if output is None:  # the first step will raise the error
        return
    classes = output.shape[-1]
    for codes in _used_codes(problem, classes):
        least, most = int(codes.min()), int(codes.max())
        if least < 0 or most >= classes:
            raise LabelError(
                f"y must hold class codes from 0 to {classes - 1}, as the module has {classes} "
                f"outputs; got {least} to {most}"
            )


def _output(module: nn.Module, X: Any) -> Any:
    """Return the output of a module for the first sample; None if it fails."""
    with torch.no_grad(), Generators().kept():
        try:
            return call(module.eval(), few_samples(X, 1))
        except Exception:
            return None


def _used_codes(problem: Problem, classes: int) -> Iterator[Tensor]:
    """Yield the labels that copies see, of arrays in which something is out of range."""
    labels, tables = problem.labels, [problem.rows, problem.validation]
    doubtful = [bool(((codes < 0) | (codes >= classes)).any()) for codes in labels.kept]
    for table in (each for each in tables if each is not None):
        for mine, rows in sorted({*zip(labels.which.tolist(), table.which.tolist(), strict=True)}):
            if doubtful[mine]:
                yield labels.kept[mine][table.kept[rows]]


def _check_finite(tensor: Tensor, fault: str) -> None:
    if not torch.isfinite(tensor).all():
        bad = int(torch.nonzero(~torch.isfinite(tensor.reshape(len(tensor), -1)).all(1))[0])
        raise InvalidValueError(f"X of sample {bad} {fault}")


def _numbers(value: Any, name: str, advice: str) -> Tensor:
    if isinstance(value, Tensor):
        return value.detach().cpu()
    array = to_numpy(value, name).array
    if array.dtype.kind not in "biuf":
        raise InvalidValueError(f"{name} must hold numbers; got {array.dtype}{advice}")
    # torch takes the order of bytes of this machine only, and warns of what cannot be written to.
    return torch.from_numpy(np.require(array, array.dtype.newbyteorder("="), ["C", "W"]))


def as_target(y: Any, samples: int, name: str) -> Tensor:
    """Return labels: whole numbers as class codes, others as floats."""
    tensor = _numbers(y, name, "; pass classes as whole numbers 0, 1, 2, ...")
    if tensor.ndim < 1 or len(tensor) != samples:
        raise ShapeError(
            f"{name} must have one entry for each of {samples} samples; got shape "
            f"{tuple(tensor.shape)}"
        )
    if not tensor.is_floating_point():
        return tensor.to(torch.int64)
    if not torch.isfinite(tensor).all():
        raise InvalidValueError(f"{name} holds NaN or infinity")
    return tensor


def _like(tensor: Tensor, other: Tensor) -> Tensor:
    if tensor.shape != other.shape or tensor.dtype != other.dtype:
        raise ShapeError(
            f"y of a copy must look like y, {tuple(other.shape)} of {other.dtype}; got "
            f"{tuple(tensor.shape)} of {tensor.dtype}"
        )
    return tensor


def _as_rows(array: Any, samples: int, name: str) -> Tensor:
    rows = np.asarray(array)
    if rows.ndim != 1 or not len(rows) or not np.issubdtype(rows.dtype, np.integer):
        raise ShapeError(
            f"{name} of a copy must be numbers of samples, at least one; got shape {rows.shape} "
            f"of {rows.dtype}"
        )
    if rows.min() < 0 or rows.max() >= samples:
        raise InvalidValueError(
            f"{name} of a copy must lie from 0 to {samples - 1}; got {rows.min()} to {rows.max()}"
        )
    return torch.from_numpy(rows.astype(np.int64))


def _as_weight(weight: Any, rows: Tensor, samples: int) -> Tensor:
    """Return weights with a mean of 1 over the rows of a copy."""
    if weight is None:
        return torch.ones(samples)
    array = np.asarray(weight, dtype=np.float64)
    if array.shape != (samples,):
        raise ShapeError(f"weight of a copy must have shape ({samples},); got {array.shape}")
    mean = array[rows.numpy()].mean()
    if not (np.isfinite(array).all() and array.min() >= 0 and mean > 0):
        raise InvalidValueError(
            "weight of a copy must be finite, not negative, and not all 0 on its rows"
        )
    return torch.from_numpy((array / mean).astype(np.float32))
