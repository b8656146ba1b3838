"""torch's own dropout, drawn from keys, and its other functions that draw random numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from . import noise

_SELU_FLOOR = -1.7580993408473766  # what alpha dropout sets units to: minus scale times alpha


def _dropped(x: Tensor, kept: Tensor, rate: float) -> Tensor:
    return noise.times_mask(x, kept / (1 - rate) if rate < 1 else kept)


def _alpha_dropped(x: Tensor, kept: Tensor, rate: float) -> Tensor:
    """Keep mean and variance of inputs that have mean 0 and variance 1."""
    if rate == 1:
        return x * 0
    scale = ((1 - rate) * (1 + rate * _SELU_FLOOR**2)) ** -0.5
    floor = noise.times_mask(torch.full_like(x, _SELU_FLOOR), 1 - kept)
    return (noise.times_mask(x, kept) + floor) * scale - scale * _SELU_FLOOR * rate


_DROPOUTS: dict[Any, tuple[Callable[[Tensor, Tensor, float], Tensor], bool]] = {
    functional.dropout: (_dropped, False),
    functional.dropout1d: (_dropped, True),
    functional.dropout2d: (_dropped, True),
    functional.dropout3d: (_dropped, True),
    functional.alpha_dropout: (_alpha_dropped, False),
    functional.feature_alpha_dropout: (_alpha_dropped, True),
    torch.dropout: (_dropped, False),
    torch.feature_dropout: (_dropped, True),
    torch.alpha_dropout: (_alpha_dropped, False),
    torch.feature_alpha_dropout: (_alpha_dropped, True),
}
"""The formula, and whether whole channels are dropped."""

_METHODS = {
    "bernoulli",
    "bernoulli_",
    "cauchy_",
    "exponential_",
    "geometric_",
    "log_normal_",
    "multinomial",
    "normal_",
    "random_",
    "uniform_",
}
_FUNCTIONS = {
    "_sample_dirichlet",
    "_standard_gamma",
    "bernoulli",
    "binomial",
    "multinomial",
    "normal",
    "poisson",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
}
_FOREIGN: set[Any] = {getattr(Tensor, name) for name in _METHODS}
_FOREIGN |= {getattr(torch, name) for name in _FUNCTIONS}
_CONVOLUTIONS: set[Any] = {getattr(torch, f"conv{axes}d") for axes in (1, 2, 3)}
_CONVOLUTIONS |= {getattr(torch, f"conv_transpose{axes}d") for axes in (1, 2, 3)}


@dataclass(frozen=True)
class RowAxis:
    """Where the rows are in an array.

    Attributes
    ----------
    axis : int
        Its size is before * rows * after.
    before, after : int
        The axes that were made one with that of the rows: their sizes before and after it.
    """

    axis: int
    before: int = 1
    after: int = 1

    @property
    def entries(self) -> int:
        """How many entries a row has along the axis."""
        return self.before * self.after

    def split(self, x: Tensor) -> Tensor:
        """Return the array with the axis taken apart: before, rows, after."""
        return x.unflatten(self.axis, (self.before, -1, self.after))

    def join(self, x: Tensor) -> Tensor:
        """Return the array with the three axes made one again."""
        return x.flatten(self.axis, self.axis + 2)


class KeyedDropout(TorchFunctionMode):
    """Lets torch's dropout functions, and so its dropout modules, draw from the key in force.

    They are random in evaluation mode too. A pass has one mask for all rows, which has as many
    entries as a row. Calls are numbered in their order, from ``first_place`` on. ``row_axes`` has
    the axis of the rows in the input of each call, None where there is none or it is unknown; the
    first axis is that of a call that is not listed.
    """

    def __init__(self, first_place: int, row_axes: Mapping[int, RowAxis | None]) -> None:
        super().__init__()
        self._first_place = first_place
        self._row_axes = row_axes
        self.calls = 0

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func not in _DROPOUTS:
            return func(*args, **kwargs)
        named = dict(zip(("input", "p"), args, strict=False), **kwargs)
        return self._drop(func, named["input"], named.get("p", 0.5))

    def _drop(self, func: Any, x: Tensor, rate: float) -> Tensor:
        if rate == 0:
            return x
        formula, channels = _DROPOUTS[func]
        shape = list(x.shape)
        if channels:
            shape[2:] = [1] * len(shape[2:])
        rows = self._row_axes.get(self.calls, RowAxis(0))
        if rows is None or not shape or shape[rows.axis] % rows.entries:
            return formula(x, self._kept(x, shape, rate), rate)
        if rows.entries == 1:
            shape[rows.axis] = 1
            return formula(x, self._kept(x, shape, rate), rate)
        shape[rows.axis : rows.axis + 1] = [rows.before, 1, rows.after]
        return rows.join(formula(rows.split(x), self._kept(x, shape, rate), rate))

    def _kept(self, x: Tensor, shape: Sequence[int], rate: float) -> Tensor:
        """Return 0 with the probability of the rate, otherwise 1."""
        place = noise.stream(self._first_place + self.calls, 0)
        self.calls += 1
        now = noise.current()
        # As precise as float32 at least: bfloat16 would round a uniform number up to 1.
        like = torch.empty((), dtype=torch.promote_types(x.dtype, torch.float32), device=x.device)
        return noise.kept(now.key if now else None, place, shape, like, rate).to(x.dtype)


class Observer(KeyedDropout):
    """Also records what a pass calls."""

    def __init__(self, first_place: int, row_axes: Mapping[int, RowAxis | None]) -> None:
        super().__init__(first_place, row_axes)
        self.shapes: list[tuple[int, ...]] = []
        """Shapes of the inputs of dropout, call by call."""
        self.foreign = 0
        """How often other functions drew random numbers."""
        self.convolutions = 0

    @property
    def draws(self) -> int:
        """How often something random was called."""
        return self.calls + self.foreign

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func in _FOREIGN:
            self.foreign += 1
        elif func in _CONVOLUTIONS:
            self.convolutions += 1
        return super().__torch_function__(func, types, args, kwargs)

    def _drop(self, func: Any, x: Tensor, rate: float) -> Tensor:
        if rate > 0:
            self.shapes.append(tuple(x.shape))
        return super()._drop(func, x, rate)


class Recorder(KeyedDropout):
    """Skips dropout, and keeps the inputs of some of its calls by their number."""

    def __init__(self, wanted: set[int]) -> None:
        super().__init__(0, {})
        self._wanted = wanted
        self.inputs: dict[int, Tensor] = {}

    def _drop(self, func: Any, x: Tensor, rate: float) -> Tensor:
        if rate > 0:
            if self.calls in self._wanted:
                self.inputs[self.calls] = x.clone()
            self.calls += 1
        return x


class NoConstantNoise(TorchFunctionMode):
    """Refuses random numbers that a trace would turn into constants."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _FOREIGN and not any(
            isinstance(value, fx.Proxy) for value in (*args, *kwargs.values())
        ):
            raise RuntimeError(f"its forward draws torch.{func.__name__} without an input")
        return func(*args, **kwargs)


def find_row_axes(
    two: Sequence[tuple[int, ...]], three: Sequence[tuple[int, ...]]
) -> dict[int, RowAxis | None]:
    """Return the axis of the rows for each call of dropout, as far as shapes show it.

    The shapes are those of the inputs of dropout when the module sees two and three rows: the axis
    that grows contains the rows. If it grows by several entries for each row, `after` is their
    number, and may have to be divided between before and after.
    """
    axes: dict[int, RowAxis | None] = {}
    for call, (few, more) in enumerate(zip(two, three, strict=False)):
        grown = [
            (axis, *sizes)
            for axis, sizes in enumerate(zip(few, more, strict=False))
            if len(set(sizes)) > 1
        ]
        axes[call] = _row_axis(*grown[0]) if grown else None
    return axes


def _row_axis(axis: int, few: int, more: int) -> RowAxis | None:
    entries = more - few
    if entries <= 1:
        return RowAxis(axis)
    return RowAxis(axis, 1, entries) if few == 2 * entries else None
