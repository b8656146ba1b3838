"""Run a module on two and on three rows before all of them."""

import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ..exceptions import ShapeError
from . import noise
from ._copies import private_copy
from ._torch_noise import KeyedDropout, Observer, Recorder, RowAxis
from .generators import Generators


@dataclass(frozen=True)
class Noise:
    """How a pass gets its noise.

    Attributes
    ----------
    first_place : int
        The place of torch's first dropout, after our own layers.
    row_axes : mapping
        Row axes of the inputs of torch's dropouts; empty if there are none.
    foreign : bool
        Whether other functions draw from torch's generator.
    """

    first_place: int
    row_axes: Mapping[int, RowAxis | None]
    foreign: bool

    def apply(
        self,
        function: Callable[..., Any],
        key: Tensor,
        *values: Any,
        masks: noise.Masks | None = None,
    ) -> Any:
        """Return what the function gives in the pass of a key, or in those of several."""
        with ExitStack() as stack:
            stack.enter_context(noise.in_passes(key, masks))
            if self.row_axes:
                stack.enter_context(KeyedDropout(self.first_place, self.row_axes))
            if self.foreign:
                generators = Generators(key.device)
                stack.enter_context(generators.kept())
                generators.seed(int(key[0]) & 0xFFFFFFFF)
            return function(*values)


@dataclass(frozen=True)
class Memory:
    """A bound for the bytes that one operation of a part has in hand, as a line in the rows."""

    fixed: int
    per_row: int

    def of(self, rows: int) -> int:
        """Return the bytes for so many rows."""
        return self.fixed + rows * self.per_row

    def rows(self, budget: int) -> int:
        """Return how many rows fit, at least one."""
        return max(1, (budget - self.fixed) // max(1, self.per_row))


class WorkingSet(TorchDispatchMode):
    """Measures the inputs and outputs of each operation; parameters and buffers are free."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self._weights = {tensor.data_ptr() for tensor in (*module.parameters(), *module.buffers())}
        self.sizes: list[int] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        held = {
            (tensor.data_ptr(), tensor.shape): tensor.numel() * tensor.element_size()
            for tensor in tree_leaves((args, kwargs, result))
            if isinstance(tensor, Tensor) and tensor.data_ptr() not in self._weights
        }
        self.sizes.append(sum(held.values()))
        return result


class Seeded(TorchDispatchMode):
    """Counts the operations of this thread that may draw from torch's generators."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        self.calls += torch.Tag.nondeterministic_seeded in func.tags
        return func(*args, **(kwargs or {}))


def measure(
    module: nn.Module, function: Callable[..., Any], two: tuple[Any, ...], three: tuple[Any, ...]
) -> Memory:
    """Return the memory of a function of the module from its values for two and three rows.

    Every operation is a line in the rows; the result is above all of them, also where weights are
    more than the activations of a few rows.
    """
    sizes = []
    for values in (two, three):
        with WorkingSet(module) as working:
            function(*values)
        sizes.append(working.sizes)
    slopes = [more - few for few, more in zip(*sizes, strict=False)]
    fixed = [few - 2 * slope for few, slope in zip(sizes[0], slopes, strict=False)]
    return Memory(max([0, *fixed]), max([0, *slopes]))


def one_tensor(output: Any) -> Tensor:
    """Return the output of a module; a tuple of tensors of one shape is stacked after the rows."""
    if isinstance(output, Tensor):
        return output
    if (
        isinstance(output, tuple | list)
        and output
        and all(isinstance(part, Tensor) for part in output)
        and len({part.shape for part in output}) == 1
    ):
        return torch.stack(tuple(output), dim=1)
    raise ShapeError(
        "the module must return a tensor, or a tuple of tensors of one shape; got "
        f"{_kind(output)}. Wrap it in a module that returns one of its outputs"
    )


def first_run(
    module: nn.Module, two: tuple[Tensor, ...], three: tuple[Tensor, ...], key: Tensor, place: int
) -> tuple[list[Tensor], list[Observer]]:
    """Run a module on two and three rows; return the outputs and what was observed."""
    outputs, observers = [], []
    generators = Generators(two[0].device)
    for inputs in (two, three):
        copies = tuple(each.clone() for each in inputs)
        generators.seed(0)
        states = generators.states()
        try:
            with noise.keyed(key, shared=True), Observer(place, {}) as observer:
                result = module(*copies)
        except Exception as error:
            shapes = " and ".join(str(tuple(each.shape[1:])) for each in inputs)
            raise ShapeError(
                f"the module fails on rows of X of shape {shapes}: {type(error).__name__}: {error}"
            ) from error
        output = one_tensor(result)
        rows = len(inputs[0])
        if output.dim() == 0 or len(output) != rows:
            raise ShapeError(
                f"the module returned shape {tuple(output.shape)} for {rows} rows of X; its output "
                "must have one row for each"
            )
        # An observer does not see functions inside of functions of torch. Another thread may have
        # drawn, too: that it was the module shows in what it asks torch to do.
        if generators.moved(states) and not observer.foreign:
            with noise.keyed(key, shared=True), Observer(place, {}), Seeded() as seeded:
                module(*(each.clone() for each in inputs))
            observer.foreign += seeded.calls
        outputs.append(output)
        observers.append(observer)
    return outputs, observers


def settle_rows(
    module: nn.Module,
    two: tuple[Tensor, ...],
    three: tuple[Tensor, ...],
    axes: Mapping[int, RowAxis | None],
) -> dict[int, RowAxis | None]:
    """Return the axes with the rows located where a row has several entries along one of them.

    Equal rows do not show it; then random numbers replace them.
    """
    unsettled = {call: axis for call, axis in axes.items() if axis and axis.entries > 1}
    if not unsettled:
        return dict(axes)
    settled = _compare_rows(module, two, three, unsettled)
    if None in settled.values():
        # The module may refuse random numbers. On a GPU an index out of range could not be caught.
        with warnings.catch_warnings(), suppress(Exception):
            warnings.simplefilter("ignore")
            generator = torch.Generator().manual_seed(0)
            three = tuple(_random_like(each.cpu(), generator) for each in three)
            two = tuple(each[:2] for each in three)
            double = private_copy(module, torch.device("cpu"))
            compared = _compare_rows(double, two, three, unsettled)
            settled = {call: axis or compared[call] for call, axis in settled.items()}
    return {**axes, **settled}


def _compare_rows(
    module: nn.Module,
    two: tuple[Tensor, ...],
    three: tuple[Tensor, ...],
    unsettled: Mapping[int, RowAxis],
) -> dict[int, RowAxis | None]:
    """Return the axes with the rows located in the inputs of dropout for two and three rows."""
    few, more = Recorder(set(unsettled)), Recorder(set(unsettled))
    for inputs, recorder in ((two, few), (three, more)):
        Generators(two[0].device).seed(0)
        with recorder:  # without any noise, which could depend on the place in the batch
            module(*(each.clone() for each in inputs))
    return {
        call: find_rows(axis, few.inputs.get(call), more.inputs.get(call))
        for call, axis in unsettled.items()
    }


def _random_like(rows: Tensor, generator: torch.Generator) -> Tensor:
    """Return random numbers, 1 or as large as those given; anything but floats as it is."""
    if not rows.is_floating_point() or not rows.numel():
        return rows
    size = rows.double().nan_to_num(0, 0, 0).abs().max().clamp(min=1)
    return (size * torch.randn(rows.shape, generator=generator, dtype=torch.float64)).to(rows)


def find_rows(axis: RowAxis, few: Tensor | None, more: Tensor | None) -> RowAxis | None:
    """Return the one way of splitting an axis by which three rows begin with the two."""
    if few is None or more is None:
        return None
    if [each.shape[axis.axis] for each in (few, more)] != [2 * axis.entries, 3 * axis.entries]:
        return None
    ways = (
        RowAxis(axis.axis, before, axis.entries // before)
        for before in range(1, axis.entries + 1)
        if axis.entries % before == 0
    )
    fitting = [
        way for way in ways if agree(way.split(more).narrow(axis.axis + 1, 0, 2), way.split(few))
    ]
    return fitting[0] if len(fitting) == 1 else None


def agree(actual: Tensor, expected: Tensor) -> bool:
    """Whether two outputs are the same up to rounding, of a GPU's fast products too."""
    tolerance = 0.01 if torch.finfo(_float(expected)).eps < 1e-6 else 0.1
    scale = expected.double().nan_to_num(0, 0, 0).abs().max().item()
    return actual.shape == expected.shape and torch.allclose(
        actual.double(), expected.double(), rtol=0, atol=tolerance * scale, equal_nan=True
    )


def vectorizes(
    noise_of: Noise, function: Callable[..., Any], values: tuple[Any, ...], keys: Tensor
) -> str:
    """Return why a function cannot run for several keys at once; an empty text if it can."""
    expected = torch.stack([one_tensor(noise_of.apply(function, key, *values)) for key in keys])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            actual = at_once(lambda key: one_tensor(noise_of.apply(function, key, *values)), keys)
    except Exception as error:
        return f"torch.vmap cannot run it ({first_line(error)})"
    return "" if agree(actual, expected) else "torch.vmap gives other numbers"


def shares_batch(
    noise_of: Noise, function: Callable[..., Any], values: tuple[Any, ...], keys: Tensor
) -> bool:
    """Whether rows of several passes can be in one batch, each as if it were alone."""
    expected = torch.stack([one_tensor(noise_of.apply(function, key, *values)) for key in keys])
    with suppress(Exception):
        return all(
            # What is no number in the other passes shows wherever rows are mixed.
            agree(
                _in_batch(noise_of, function, _alone(values, own, keys), keys)[own], expected[own]
            )
            for own in range(len(keys))
        )
    return False


def _alone(values: tuple[Tensor, ...], own: int, keys: Tensor) -> list[Tensor]:
    """Return values for each key, of which those of one key alone are numbers."""
    others = torch.arange(len(keys)) != own
    parts = [torch.stack([each] * len(keys)) for each in values]
    for each in parts:
        each[others] = float("nan") if each.is_floating_point() else 0
    return parts


def in_one_batch(
    noise_of: Noise,
    function: Callable[..., Any],
    values: tuple[Any, ...],
    keys: Tensor,
    masks: noise.Masks | None = None,
) -> Tensor:
    """Return what a function gives for each key, the rows of all passes one after another."""
    parts = [each.expand(len(keys), *each.shape) for each in values]
    return _in_batch(noise_of, function, parts, keys, masks)


def _in_batch(
    noise_of: Noise,
    function: Callable[..., Any],
    parts: list[Tensor],
    keys: Tensor,
    masks: noise.Masks | None = None,
) -> Tensor:
    rows = (each.flatten(0, 1) for each in parts)
    output = one_tensor(noise_of.apply(function, keys, *rows, masks=masks))
    return output.unflatten(0, (len(keys), -1))


def at_once(function: Callable[[Tensor], Tensor], keys: Tensor) -> Tensor:
    """Return what a function gives for each key, all in one call."""
    with warnings.catch_warnings():
        # Where torch has no batched kernel it loops over the keys, as we would.
        warnings.filterwarnings("ignore", "There is a performance drop")
        return torch.vmap(function)(keys)


def _float(tensor: Tensor) -> torch.dtype:
    return tensor.dtype if tensor.is_floating_point() else torch.float64


def _kind(output: Any) -> str:
    if isinstance(output, tuple | list):
        shapes = [tuple(each.shape) if isinstance(each, Tensor) else _kind(each) for each in output]
        return f"{type(output).__name__} of {shapes}"
    return type(output).__name__


def first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
