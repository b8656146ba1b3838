"""Batches of inputs from torch's data sets and loaders."""

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor, nn
from torch.utils.data import (
    DataLoader,
    Dataset,
    DistributedSampler,
    RandomSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

from .._defaults import BATCH_SIZE
from ..exceptions import OptionError, ShapeError
from .generators import Generators

_TARGETS = ("y", "target", "targets", "label", "labels")
"""Names of a batch's entries that are no inputs, unless the module requires them."""

_SHUFFLING = (RandomSampler, SubsetRandomSampler, WeightedRandomSampler)


def is_loader(X: Any) -> bool:
    """Whether inputs come in batches: a data set or loader of torch, or an iterator."""
    return isinstance(X, DataLoader | Dataset | Iterator)


def batches(X: Any, module: nn.Module, batch_size: int | None, progress: bool) -> Iterator[Any]:
    """Yield the inputs of each batch in the order of the rows, without the targets."""
    loader = DataLoader(X, batch_size=batch_size or BATCH_SIZE) if isinstance(X, Dataset) else X
    if isinstance(loader, DataLoader):
        check_order(loader)
    with Generators().kept():  # from which a loader draws a seed for its workers
        iterator = iter(loader)
    empty = True
    for batch in _shown(iterator, loader) if progress else iterator:
        empty = False
        yield inputs_of(batch, module)
    if empty:
        raise ShapeError(f"X must have at least one batch; the {type(X).__name__} gave none")


def inputs_of(batch: Any, module: nn.Module) -> Any:
    """Return the inputs in a batch: a tensor, or a tuple with one for each input of the module."""
    names, required = _parameters(module)
    if isinstance(batch, Mapping):
        return _by_name(batch, names, required)
    if not isinstance(batch, list | tuple):
        return batch
    if not batch:
        raise ShapeError("a batch of X is empty; expected inputs, or a pair of inputs and targets")
    if isinstance(batch[0], Mapping):
        return _by_name(batch[0], names, required)
    if isinstance(batch[0], list | tuple):
        return tuple(batch[0])
    wanted = max(1, len(required))
    optional = len(names) - len(required)
    if len(batch) < wanted or (len(batch) > wanted + 1 and optional):
        raise ShapeError(
            f"a batch of X has {len(batch)} parts, and the module's forward takes "
            f"({', '.join(names)}), {len(required)} of them required: it is unknown which parts "
            "are inputs. Let batches be dictionaries with these names, or pairs of a tuple of "
            "inputs and the targets"
        )
    return tuple(batch[:wanted]) if wanted > 1 else batch[0]


def inputs_and_target(batch: Any, module: nn.Module) -> tuple[Any, Any]:
    """Return the inputs in a batch, as `call` takes them, and its target; None if it has none.

    A batch is a pair of inputs and a target, a sequence of the inputs that the module requires and
    maybe a target, a dictionary, or anything else, whose attribute ``y`` is the target. Several
    inputs are the arguments of a module that takes several, and one value for any other.
    """
    names, required = _parameters(module)
    if isinstance(batch, Mapping):
        keys = [name for name in batch if not _is_input(name, required)]
        inputs = {name: value for name, value in batch.items() if name not in keys}
        if len(names) > 1 or len(inputs) == 1:
            inputs = _by_name(batch, names, required)
        return inputs, batch[keys[0]] if keys else None
    if not isinstance(batch, list | tuple):
        return batch, getattr(batch, "y", None) if not isinstance(batch, Tensor) else None
    wanted = max(1, len(required))
    if len(batch) == 2 and (wanted == 1 or isinstance(batch[0], Mapping | list | tuple)):
        first = batch[0]
        if isinstance(first, Mapping):
            first = inputs_and_target(first, module)[0]
        return tuple(first) if isinstance(first, list) else first, batch[1]
    if len(batch) == wanted + 1:
        return tuple(batch[:-1]), batch[-1]
    return inputs_of(batch, module), None


def call(module: nn.Module, inputs: Any) -> Any:
    """Return the output of a module for the inputs in a batch."""
    return module(*arguments(inputs, takes_several(module)))


def arguments(inputs: Any, several: bool) -> tuple[Any, ...]:
    """Return the arguments of a module: what is in a tuple, if it takes several, else one."""
    return inputs if several and isinstance(inputs, tuple) else (inputs,)


def takes_several(module: nn.Module) -> bool:
    """Whether a module can be called with several arguments."""
    return len(_parameters(module)[0]) > 1


def _by_name(batch: Mapping[Any, Any], names: list[str], required: list[str]) -> Any:
    """Return the entries that the module takes, in its order; the only one may have any name."""
    known = [name for name in names if name in batch and _is_input(name, required)]
    others = [name for name in batch if _is_input(name, required)]
    if len(others) == 1 and len(required) <= 1 and not known:
        return batch[others[0]]
    if not known or known != names[: len(known)] or set(required) - set(known):
        raise ShapeError(
            f"a batch of X has the keys {list(batch)}, and the module's forward takes "
            f"({', '.join(names)}); name the inputs as forward does, without gaps, and the target "
            f"one of {', '.join(_TARGETS)}"
        )
    return tuple(batch[name] for name in known) if len(known) > 1 else batch[known[0]]


def _is_input(name: Any, required: list[str]) -> bool:
    return name in required or str(name).lower() not in _TARGETS


def _parameters(module: nn.Module) -> tuple[list[str], list[str]]:
    """Return the names of the inputs of a module's forward, and of those without a default."""
    listed = [
        each
        for each in inspect.signature(module.forward).parameters.values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    return [each.name for each in listed], [e.name for e in listed if e.default is e.empty]


def check_order(loader: DataLoader[Any]) -> None:
    """Raise if the rows could not be matched to those of the data set."""
    sampler: Any = getattr(loader.batch_sampler, "sampler", loader.sampler)
    spread = isinstance(sampler, DistributedSampler)
    if isinstance(sampler, _SHUFFLING) or spread:
        raise OptionError(
            f"the rows of the DataLoader come {'in part' if spread else 'shuffled'} "
            f"({type(sampler).__name__}), so that predictions could not be matched to targets; "
            "pass a DataLoader with shuffle=False, or its dataset"
        )
    size = loader.batch_size
    if loader.drop_last and size and hasattr(sampler, "__len__") and len(sampler) % size:
        raise OptionError(
            f"the DataLoader has drop_last=True and would leave out {len(sampler) % size} of "
            f"{len(sampler)} rows; pass one with drop_last=False, or its dataset"
        )


def _shown(iterator: Iterator[Any], loader: Any) -> Iterator[Any]:
    from rich.progress import track

    try:
        total = len(loader)
    except TypeError:  # of an iterator or an IterableDataset
        total = None
    yield from track(iterator, description="Predicting", total=total)
