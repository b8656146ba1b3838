"""The linear maps whose weights become random: dense, and convolutions over one or two axes.

A stochastic layer is one of these maps together with one of the methods, which say what the weights
are: `BayesLinear` is `Dense` and `Bayes`. So maps and methods add up instead of multiplying.
"""

from abc import abstractmethod
from dataclasses import KW_ONLY, InitVar, field
from math import prod, sqrt
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..._constructors import declared
from ..._validation import check_integer
from ...exceptions import OptionError
from ._checks import check_axes
from ._stochastic import Stochastic

Size = int | tuple[int, ...]
"""One number for all axes of a convolution, or one for each."""

Device = torch.device | str | None


@declared()
class Operation(Stochastic):
    """A linear map with weights, of which neither the kind nor the method is known yet."""

    weight_shape: tuple[int, ...] = field(init=False)
    in_units: int = field(init=False)
    """How many inputs can be dropped: features, or whole channels."""
    out_units: int = field(init=False)
    """The length of a bias."""

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Return a module that is ready to take attributes, which are set first."""
        made = super().__new__(cls)
        nn.Module.__init__(made)
        return made

    def __post_init__(
        self, bias: bool = True, device: Device = None, dtype: torch.dtype | None = None
    ) -> None:
        self._set_shapes()
        self._create(bias, device, dtype)
        self.reset_parameters()

    @property
    def fan_in(self) -> int:
        """How many products an output sums."""
        return prod(self.weight_shape[1:])

    def extra_repr(self) -> str:
        """Return what the layer's line in a printed module says."""
        return f"{self._sizes_text()}, {self._options_text()}"

    def draw_uniform(self, parameters: tuple[Tensor | None, ...]) -> None:
        """Draw parameters as torch does, between plus and minus 1 / sqrt(fan in)."""
        bound = 1 / sqrt(self.fan_in)
        for parameter in parameters:
            if parameter is not None:
                nn.init.uniform_(parameter, -bound, bound)

    # What a kind of map says.

    @abstractmethod
    def _set_shapes(self) -> None:
        """Check the sizes and set the shape of the weight and the numbers of units."""

    @abstractmethod
    def _sizes_text(self) -> str:
        """Return the sizes as printed."""

    @abstractmethod
    def check_input(self, x: Tensor) -> None:
        """Raise if an input has no axis of rows."""

    @abstractmethod
    def unit_shape(self, rows: int, units: int, x: Tensor) -> tuple[int, ...]:
        """Return the shape of one number for each row and unit, the same for all other axes."""

    @abstractmethod
    def product(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Return the outputs of a weight and a bias."""

    # What a method says.

    @abstractmethod
    def _create(self, bias: bool, device: Device, dtype: torch.dtype | None) -> None:
        """Check the options of the method and create the parameters."""

    @abstractmethod
    def _options_text(self) -> str:
        """Return the options as printed."""

    @abstractmethod
    def reset_parameters(self) -> None:
        """Set the parameters to their initial values."""


@declared()
class Dense(Operation):
    """x W' + b for inputs of shape (rows, ..., in_features).

    Parameters
    ----------
    in_features, out_features : int
        Numbers of inputs and of outputs.
    bias : bool
        Whether a bias is added.
    device, dtype : as in torch
        Where the parameters are kept, and their type.
    """

    in_features: int
    out_features: int
    bias: InitVar[bool] = True
    _: KW_ONLY
    device: InitVar[Device] = None
    dtype: InitVar[torch.dtype | None] = None

    def _set_shapes(self) -> None:
        self.in_units = check_integer(self.in_features, "in_features")
        self.out_units = check_integer(self.out_features, "out_features")
        self.weight_shape = (self.out_units, self.in_units)

    def check_input(self, x: Tensor) -> None:
        """Raise if an input has no axis of rows."""
        check_axes(x, 2, f"(rows, ..., {self.in_features})")

    def unit_shape(self, rows: int, units: int, x: Tensor) -> tuple[int, ...]:
        """Return (rows, 1, ..., units)."""
        return (rows, *(1,) * (x.dim() - 2), units)

    def product(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Return x W' + b."""
        return functional.linear(x, weight, bias)

    def _sizes_text(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}"


@declared()
class Convolution(Operation):
    """Cross-correlation over one or two axes, for inputs of shape (rows, in_channels, ...).

    Parameters
    ----------
    in_channels, out_channels : int
        Channels of the inputs and of the outputs.
    kernel_size : int or tuple of int
        Size of the kernel: one number for all axes, or one for each.
    stride : int or tuple of int
        Step between two positions of the kernel.
    padding : int, tuple of int or {"same", "valid"}
        Zeros added on both sides of each axis.
    dilation : int or tuple of int
        Distance between two neighbors in the kernel.
    groups : int
        Number of groups of channels that are convolved separately.
    bias : bool
        Whether a bias is added.
    device, dtype : as in torch
        Where the parameters are kept, and their type.
    """

    in_channels: int
    out_channels: int
    kernel_size: Size
    stride: Size = 1
    padding: Size | str = 0
    dilation: Size = 1
    groups: int = 1
    bias: InitVar[bool] = True
    _: KW_ONLY
    device: InitVar[Device] = None
    dtype: InitVar[torch.dtype | None] = None

    axes: ClassVar[tuple[str, ...]]
    _convolve: ClassVar[Any]

    def _set_shapes(self) -> None:
        for name in ("in_channels", "out_channels"):
            channels = check_integer(getattr(self, name), name)
            if channels % check_integer(self.groups, "groups"):
                raise OptionError(
                    f"{name} must be a multiple of groups={self.groups}; got {channels}"
                )
        kernel = self.kernel_size = self._sizes(self.kernel_size, "kernel_size")
        self.stride = self._sizes(self.stride, "stride")
        if not isinstance(self.padding, str):
            self.padding = self._sizes(self.padding, "padding", least=0)
        self.dilation = self._sizes(self.dilation, "dilation")
        self.in_units, self.out_units = self.in_channels, self.out_channels
        self.weight_shape = (self.out_channels, self.in_channels // self.groups, *kernel)

    def _sizes(self, value: Size, name: str, least: int = 1) -> tuple[int, ...]:
        """Return one number for each axis."""
        axes = len(self.axes)
        sizes = value if isinstance(value, tuple) else (value,) * axes
        if len(sizes) != axes:
            raise OptionError(f"{name} must be one number or {axes} of them; got {value!r}")
        return tuple(check_integer(size, name, least) for size in sizes)

    def check_input(self, x: Tensor) -> None:
        """Raise if an input has no axis of rows."""
        check_axes(x, 2 + len(self.axes), f"(rows, {self.in_channels}, {', '.join(self.axes)})")

    def unit_shape(self, rows: int, units: int, x: Tensor) -> tuple[int, ...]:
        """Return (rows, units, 1, ...)."""
        return (rows, units, *(1,) * len(self.axes))

    def product(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Return the convolution."""
        options = self.stride, self.padding, self.dilation, self.groups
        return type(self)._convolve(x, weight, bias, *options)

    def _sizes_text(self) -> str:
        names = ("kernel_size", "stride", "padding", "dilation", "groups")
        sizes = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.in_channels}, {self.out_channels}, {sizes}"


@declared()
class Conv1d(Convolution):
    """A convolution of signals.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import {name}
    >>> {name}(3, 8, kernel_size=5, padding=2)(torch.ones(2, 3, 20)).shape
    torch.Size([2, 8, 20])
    """

    axes = ("length",)
    _convolve = staticmethod(functional.conv1d)


@declared()
class Conv2d(Convolution):
    """A convolution of images.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import {name}
    >>> {name}(3, 8, kernel_size=3)(torch.ones(2, 3, 10, 10)).shape
    torch.Size([2, 8, 8, 8])
    """

    axes = ("height", "width")
    _convolve = staticmethod(functional.conv2d)
