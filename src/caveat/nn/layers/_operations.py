"""The maps whose weights become random: dense and convolutional, as plain values.

A stochastic layer holds one of them and decides about the weights; so the methods and the kinds of
layer add up instead of multiplying.
"""

from dataclasses import dataclass
from math import prod

from torch import Tensor
from torch.nn import functional

from ...exceptions import OptionError
from ._checks import check_axes, check_size

Size = int | tuple[int, ...]
"""One number for all axes of a convolution, or one for each."""


@dataclass(frozen=True)
class Dense:
    """x W' + b for inputs of shape (rows, ..., in_features)."""

    in_features: int
    out_features: int

    def __post_init__(self) -> None:
        check_size(self.in_features, "in_features")
        check_size(self.out_features, "out_features")

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """(out_features, in_features)."""
        return (self.out_features, self.in_features)

    @property
    def inputs(self) -> int:
        """How many inputs can be dropped."""
        return self.in_features

    @property
    def outputs(self) -> int:
        """The length of a bias."""
        return self.out_features

    @property
    def fan_in(self) -> int:
        """How many products an output sums."""
        return self.in_features

    def check(self, x: Tensor) -> None:
        """Refuse an input without an axis of rows."""
        check_axes(x, 2, f"(rows, ..., {self.in_features})")

    def unit_shape(self, rows: int, units: int, x: Tensor) -> tuple[int, ...]:
        """Return the shape of one number for each row and unit, the same for all axes between."""
        return (rows, *(1,) * (x.dim() - 2), units)

    def __call__(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Return the outputs."""
        return functional.linear(x, weight, bias)

    def __str__(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}"


@dataclass(frozen=True)
class Convolution:
    """Cross-correlation over one or two axes, for inputs of shape (rows, in_channels, ...)."""

    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...] | str
    dilation: tuple[int, ...]
    groups: int

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """(out_channels, in_channels / groups, *kernel_size)."""
        return (self.out_channels, self.in_channels // self.groups, *self.kernel_size)

    @property
    def inputs(self) -> int:
        """How many inputs can be dropped: whole channels."""
        return self.in_channels

    @property
    def outputs(self) -> int:
        """The length of a bias."""
        return self.out_channels

    @property
    def fan_in(self) -> int:
        """How many products an output sums."""
        return prod(self.weight_shape[1:])

    def check(self, x: Tensor) -> None:
        """Refuse an input without an axis of rows."""
        axes = ("length",) if len(self.kernel_size) == 1 else ("height", "width")
        check_axes(x, 2 + len(axes), f"(rows, {self.in_channels}, {', '.join(axes)})")

    def unit_shape(self, rows: int, units: int, x: Tensor) -> tuple[int, ...]:
        """Return the shape of one number for each row and channel."""
        return (rows, units, *(1,) * len(self.kernel_size))

    def __call__(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Return the outputs."""
        convolve = functional.conv1d if len(self.kernel_size) == 1 else functional.conv2d
        return convolve(x, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def __str__(self) -> str:
        return (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, padding={self.padding!r}, dilation={self.dilation}, "
            f"groups={self.groups}"
        )


Operation = Dense | Convolution


def convolution(
    axes: int,
    in_channels: int,
    out_channels: int,
    kernel_size: Size,
    stride: Size,
    padding: Size | str,
    dilation: Size,
    groups: int,
) -> Convolution:
    """Return the convolution over so many axes that torch's arguments describe."""
    for value, name in ((in_channels, "in_channels"), (out_channels, "out_channels")):
        check_size(value, name)
        if value % check_size(groups, "groups"):
            raise OptionError(f"{name} must be a multiple of groups={groups}; got {value}")
    return Convolution(
        in_channels,
        out_channels,
        _for_each(kernel_size, axes, "kernel_size"),
        _for_each(stride, axes, "stride"),
        padding if isinstance(padding, str) else _for_each(padding, axes, "padding"),
        _for_each(dilation, axes, "dilation"),
        groups,
    )


def _for_each(value: Size, axes: int, name: str) -> tuple[int, ...]:
    """Return one number for each axis; only a padding may be 0."""
    sizes = value if isinstance(value, tuple) else (value,) * axes
    if len(sizes) != axes:
        raise OptionError(f"{name} must be one number or {axes} of them; got {value!r}")
    return tuple(0 if name == "padding" and size == 0 else check_size(size, name) for size in sizes)
