"""The networks of the literature, with an option for what becomes random."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, InitVar
from inspect import signature
from math import prod
from typing import Any

from torch import nn
from torch.nn.modules.dropout import _DropoutNd

from .._constructors import declared
from .._defaults import ACTIVATION, HIDDEN, RATE, WHERE
from .._validation import check_integer
from ..exceptions import OptionError, ShapeError, UnknownNameError
from . import layers
from .layers._checks import check_drop
from .layers._stochastic import number_layers
from .layers.lengthwise import LengthwiseConv1d

__all__ = ["CNN", "MLP"]

_ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "elu": nn.ELU,
    "gelu": nn.GELU,
    "relu": nn.ReLU,
    "selu": nn.SELU,
    "silu": nn.SiLU,
    "tanh": nn.Tanh,
}

Family = tuple[type[nn.Module] | None, ...]
"""The dense form of a layer, and its convolutions over one and two axes."""

_FAMILIES: dict[str, Family] = {
    "dropout": (layers.Dropout, layers.SpatialDropout, layers.SpatialDropout),
    "bayes": (layers.BayesLinear, layers.BayesConv1d, layers.BayesConv2d),
    "concrete": (
        layers.ConcreteDropoutLinear,
        layers.ConcreteDropoutConv1d,
        layers.ConcreteDropoutConv2d,
    ),
    "dropconnect": (layers.DropConnectLinear, layers.DropConnectConv1d, layers.DropConnectConv2d),
    "flipout": (layers.FlipoutLinear, layers.FlipoutConv1d, layers.FlipoutConv2d),
}

_PLAIN = (nn.Linear, LengthwiseConv1d, nn.Conv2d)
_POOLS = (nn.MaxPool1d, nn.MaxPool2d)
_POOLED = (layers.PooledConv1d, layers.PooledConv2d)

_INCREASING = (nn.ReLU, nn.ELU, nn.SELU, nn.Tanh)
"""Activations that may follow a max pooling instead of preceding it."""


@declared()
class Network(nn.Sequential):
    """Layers one after another, some of them random.

    Parameters
    ----------
    activation : {"relu", "elu", "gelu", "selu", "silu", "tanh"}
        Activation function after each hidden layer.
    stochastic : {None, "dropout", "concrete", "dropconnect", "flipout", "bayes"} or class
        What becomes random: outputs of hidden layers ("dropout"), inputs ("concrete"), or weights.
        A class of `caveat.nn.layers`, such as ``FlipoutLinear``, stands for its method. Any other
        class is called with the sizes of a dense layer, or with ``rate`` if it is a dropout.
    where : {"all", "last"}
        "all": every hidden layer, and except for "dropout" the output layer too. "last": the last
        hidden layer only, as in much of the literature; Monte-Carlo passes are then cheap, since
        all layers before it run once.
    rate : float
        Probability of dropping; where it is learned, its start.
    prior : caveat.nn.layers.Prior
        Prior of the weights; for "flipout", "bayes" and classes that take one.
    head : {None, "gaussian-logits", "mean-std", "quantiles"}
        The last layer; None is a plain linear one (logits, or means).
    levels : sequence of float
        Levels of the quantiles, with ``head="quantiles"``.
    """

    _: KW_ONLY
    activation: str = ACTIVATION
    stochastic: str | type[nn.Module] | None = None
    where: str = WHERE
    rate: float = RATE
    prior: InitVar[layers.Prior | None] = None
    head: str | None = None
    levels: Sequence[float] | None = None

    def __post_init__(self, prior: layers.Prior | None) -> None:
        build = Builder(self.activation, self.stochastic, self.where, self.rate, prior)
        parts, width, outputs = self._hidden_layers(build)
        super().__init__(*parts, build.output(width, outputs, self.head, self.levels))
        number_layers(self)

    @abstractmethod
    def _hidden_layers(self, build: "Builder") -> tuple[list[nn.Module], int, int]:
        """Return the layers before the last one, its number of inputs and that of its outputs."""

    def reset_parameters(self) -> None:
        """Draw the parameters of all layers again, from torch's generator."""
        for layer in self:
            reset = getattr(layer, "reset_parameters", None)
            if reset is not None:
                reset()


@declared()
class MLP(Network):
    r"""A dense network: hidden layers with an activation each, then outputs.

    Parameters
    ----------
    in_features, out_features : int
        Columns of the input; classes or targets of the output.
    hidden : sequence of int
        Width of each hidden layer.
    members : int
        As many members share the weights of the hidden layers; each has numbers of its own that
        scale inputs and outputs of the layers, and its own last layer. Outputs are then (rows,
        members, ...). Without it there is one network.
    adapters : {"all", "first"}
        What a member has of its own beside its last layer: numbers that scale inputs and outputs of
        each hidden layer, or those of the first inputs alone; only used with ``members``.

    References
    ----------
    Gorishniy, Kotelnikov, Babenko: TabM: advancing tabular deep learning with parameter-efficient
    ensembling, 2024 (``members``).

    Examples
    --------
    >>> from caveat.nn import MLP
    >>> MLP(13, 3, hidden=(32, 16), stochastic="dropout", where="last")
    MLP(
      (0): Linear(in_features=13, out_features=32, bias=True)
      (1): ReLU()
      (2): Linear(in_features=32, out_features=16, bias=True)
      (3): ReLU()
      (4): Dropout(p=0.1)
      (5): Linear(in_features=16, out_features=3, bias=True)
    )
    """

    in_features: int
    out_features: int
    _: KW_ONLY
    hidden: Sequence[int] = HIDDEN
    members: int | None = None
    adapters: str = "all"

    def _hidden_layers(self, build: "Builder") -> tuple[list[nn.Module], int, int]:
        width = check_integer(self.in_features, "in_features")
        if self.members is not None:
            build.share(check_integer(self.members, "members"), self.adapters)
        if not self.hidden and self.where == "last" and self.stochastic is not None:
            raise OptionError('hidden is empty, so there is no last hidden layer; pass where="all"')
        parts = build.repeat(width)
        for i, size in enumerate(self.hidden):
            last = i == len(self.hidden) - 1
            parts += build.dense(width, check_integer(size, "hidden"), last=last)
            width = size
        return parts, width, self.out_features


@declared()
class CNN(Network):
    r"""A convolutional network for images or signals.

    For each of ``filters`` a convolution with padding, the activation and a max pooling of 2; then
    a dense hidden layer and the outputs. The dense layer is the last hidden one. With "all" and
    "dropout", whole channels are dropped after each pooling.

    Parameters
    ----------
    in_channels, out_features : int
        Channels of the input; classes or targets of the output.
    size : sequence of int
        Height and width of an image, or the length of a signal alone: ``(1000,)``.
    filters : sequence of int
        Channels of each convolution.
    dense : int
        Width of the hidden dense layer.
    kernel_size : int
        Width of the convolutions, odd.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn import CNN
    >>> CNN(1, 10, stochastic="flipout")(torch.zeros(5, 1, 28, 28)).shape
    torch.Size([5, 10])
    >>> CNN(12, 5, size=(1000,), filters=(16, 16))(torch.zeros(5, 12, 1000)).shape
    torch.Size([5, 5])
    """

    in_channels: int
    out_features: int
    _: KW_ONLY
    size: Sequence[int] = (28, 28)
    filters: Sequence[int] = (64, 64, 64)
    dense: int = 64
    kernel_size: int = 3

    def _hidden_layers(self, build: "Builder") -> tuple[list[nn.Module], int, int]:
        left = _check_axes(self.size)
        if check_integer(self.kernel_size, "kernel_size") % 2 == 0:
            raise OptionError(
                f"kernel_size must be odd, so that sizes stay; got {self.kernel_size}"
            )
        width = check_integer(self.in_channels, "in_channels")
        parts: list[nn.Module] = []
        for count in self.filters:
            check_integer(count, "filters")
            parts += build.convolution(width, count, self.kernel_size, len(left))
            left, width = [length // 2 for length in left], count
        if min(left) < 1:
            raise ShapeError(
                f"size={tuple(self.size)} is too small for {len(self.filters)} poolings, each of "
                "which halves it; pass fewer filters"
            )
        dense = check_integer(self.dense, "dense")
        parts += [nn.Flatten(), *build.dense(width * prod(left), dense, last=True)]
        return parts, dense, self.out_features


class Builder:
    """Makes layers, plain or stochastic."""

    def __init__(
        self,
        activation: str,
        stochastic: str | type[nn.Module] | None,
        where: str,
        rate: float,
        prior: layers.Prior | None,
    ) -> None:
        self.activation = _choose(activation, "activation", _ACTIVATIONS)
        self.family = _family(stochastic)
        self.drops = _drops(self.family[0])
        self.everywhere = _choose(where, "where", {"last": False, "all": True})
        self.rate = check_drop(rate, "rate")
        self.members: int | None = None
        self.adapts = False
        self.options = {"p": self.rate, "initial_p": self.rate, "prior": prior}
        if prior is None:
            del self.options["prior"]
        elif self.family[0] is None or "prior" not in signature(self.family[0]).parameters:
            raise OptionError(
                f'prior is for stochastic="bayes" and "flipout"; got stochastic={stochastic!r}'
            )

    def layer(self, axes: int, random: bool, *args: Any, **options: Any) -> nn.Module:
        """Return a dense layer (no axes) or a convolution, random if asked and if there is one."""
        if not random or self.drops or self.family[0] is None:
            return _PLAIN[axes](*args, **options)
        kind = self.family[axes]
        if kind is None:
            raise OptionError(
                f'stochastic={self.family[0].__name__} has no convolution; pass where="last", or '
                "the name of a method"
            )
        known = signature(kind).parameters
        own = {name: value for name, value in self.options.items() if name in known}
        return kind(*args, **options, **own)

    def dropout(self, axes: int, random: bool) -> list[nn.Module]:
        """Return a dropout where units are dropped, otherwise nothing."""
        kind = self.family[axes]
        return [kind(self.rate)] if random and self.drops and kind is not None else []

    def share(self, members: int, adapters: str) -> None:
        """Let several members share the hidden layers that are made from here on."""
        if self.family[0] is not None:
            raise OptionError("members share weights that are not random; leave stochastic out")
        self.members = members
        self.adapts = _choose(adapters, "adapters", {"all": True, "first": False})

    def repeat(self, features: int) -> list[nn.Module]:
        """Return what gives each member its own view of the inputs, if there are members."""
        if self.members is None:
            return []
        return [layers.MemberScale(self.members, features, repeat=True)]

    def dense(self, inputs: int, outputs: int, *, last: bool) -> list[nn.Module]:
        random = last or self.everywhere
        layer = self.layer(0, random, inputs, outputs)
        parts = [layer, self.activation(), *self.dropout(0, random)]
        if self.members is None or not self.adapts:
            return parts
        parts.insert(1, layers.MemberScale(self.members, outputs, shift=True))
        # After the last hidden layer each member has all weights of its own.
        return parts if last else [*parts, layers.MemberScale(self.members, outputs)]

    def convolution(self, inputs: int, outputs: int, kernel: int, axes: int) -> list[nn.Module]:
        same, random = kernel // 2, self.everywhere and self.family[0] is not None
        if (random and not self.drops) or self.activation not in _INCREASING:
            layer = self.layer(axes, random, inputs, outputs, kernel, padding=same)
            parts = [layer, self.activation(), _POOLS[axes - 1](2)]
        else:
            parts = [_POOLED[axes - 1](inputs, outputs, kernel, padding=same), self.activation()]
        return [*parts, *self.dropout(axes, random)]

    def output(
        self, inputs: int, outputs: int, head: str | None, levels: Sequence[float] | None
    ) -> nn.Module:
        check_integer(outputs, "out_features")
        _choose(head, "head", dict.fromkeys((None, "gaussian-logits", "mean-std", "quantiles")))
        if (levels is None) == (head == "quantiles"):
            raise OptionError(f'levels belong to head="quantiles"; got head={head!r}, {levels=}')

        def linear(*args: Any, **options: Any) -> nn.Module:
            if self.members is not None:
                return layers.MemberLinear(*args, members=self.members, **options)
            return self.layer(0, self.everywhere, *args, **options)

        if head == "gaussian-logits":
            return layers.GaussianLogitsHead(inputs, outputs, linear=linear)
        if head == "mean-std":
            return layers.MeanVarianceHead(inputs, outputs, linear=linear)
        if levels is not None:
            return layers.QuantileHead(inputs, levels, outputs, linear=linear)
        return linear(inputs, outputs)


def output_layer(inputs: int, outputs: int, head: str | None) -> nn.Module:
    """Return a last layer in which nothing is random."""
    return Builder(ACTIVATION, None, "all", RATE, None).output(inputs, outputs, head, None)


def _family(stochastic: str | type[nn.Module] | None) -> Family:
    """Return the layers of a method, given by its name or by a layer's class."""
    if not isinstance(stochastic, type):
        return _choose(stochastic, "stochastic", {None: (None,) * 3, **_FAMILIES})
    if not issubclass(stochastic, nn.Module):
        raise OptionError(f"stochastic must be a name or a class of layers; got {stochastic!r}")
    known = [family for family in _FAMILIES.values() if stochastic in family]
    other = stochastic if _drops(stochastic) else None
    return known[0] if known else (stochastic, other, other)


def _drops(kind: type[nn.Module] | None) -> bool:
    """Whether a layer drops units, and has no weights of its own."""
    return kind is not None and issubclass(kind, layers.Dropout | _DropoutNd)


def _check_axes(size: Sequence[int]) -> list[int]:
    if isinstance(size, int) or len(size) not in (1, 2):
        raise OptionError(
            f"size must be (height, width) of an image or (length,) of a signal; got {size!r}"
        )
    return [check_integer(length, "size") for length in size]


def _choose(value: Any, name: str, known: dict[Any, Any]) -> Any:
    if value not in known:
        words = ", ".join(repr(each) for each in known)
        raise UnknownNameError(f"{name} must be one of {words}; got {value!r}")
    return known[value]
