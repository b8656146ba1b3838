"""The networks of the literature, with a word for what becomes random."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from torch import nn

from ..exceptions import OptionError, ShapeError, UnknownNameError
from . import layers
from .layers._checks import check_drop, check_size
from .layers._stochastic import number_layers

__all__ = ["CNN", "MLP"]

_ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "elu": nn.ELU,
    "gelu": nn.GELU,
    "relu": nn.ReLU,
    "selu": nn.SELU,
    "silu": nn.SiLU,
    "tanh": nn.Tanh,
}

_WEIGHTS = {
    "bayes": (layers.BayesLinear, layers.BayesConv1d, layers.BayesConv2d),
    "concrete": (
        layers.ConcreteDropoutLinear,
        layers.ConcreteDropoutConv1d,
        layers.ConcreteDropoutConv2d,
    ),
    "dropconnect": (layers.DropConnectLinear, layers.DropConnectConv1d, layers.DropConnectConv2d),
    "flipout": (layers.FlipoutLinear, layers.FlipoutConv1d, layers.FlipoutConv2d),
}
"""Methods that replace a layer: its dense form, and its convolutions over one and two axes."""

_PLAIN = (nn.Linear, nn.Conv1d, nn.Conv2d)
_POOLS = (nn.MaxPool1d, nn.MaxPool2d)


_POOLED = (layers.PooledConv1d, layers.PooledConv2d)
_RISING = (nn.ReLU, nn.ELU, nn.SELU, nn.Tanh)


class Network(nn.Sequential):
    """Layers one after another; `reset_parameters` draws all of them again."""

    def reset_parameters(self) -> None:
        """Draw the parameters of all layers again, from torch's generator."""
        for layer in self:
            reset = getattr(layer, "reset_parameters", None)
            if reset is not None:
                reset()


class MLP(Network):
    r"""A dense network: hidden layers with an activation each, then outputs.

    Parameters
    ----------
    features, outputs : int
        Columns of the input; classes or targets of the output.
    hidden : sequence of int, default=(32, 32, 16)
        The width of each hidden layer.
    activation : {"relu", "elu", "gelu", "selu", "silu", "tanh"}, default="relu"
    stochastic : {None, "dropout", "concrete", "dropconnect", "flipout", "bayes"}
        What becomes random: outputs of hidden layers ("dropout"), inputs ("concrete"), or weights.
    where : {"last", "all"}, default="last"
        "last": the last hidden layer alone, which is what the literature does and what makes
        Monte-Carlo passes cheap, since all before it runs once. "all": every hidden layer, and but
        for "dropout" the output layer too.
    rate : float, default=0.3
        The probability of dropping; where it is learned, its start.
    prior : caveat.nn.layers.Prior, optional
        Of the weights, with "flipout" and "bayes".
    head : {None, "gaussian-logits", "mean-std", "quantiles"}
        The last layer; None is a plain linear one (logits, or means).
    levels : sequence of float, optional
        Of the quantiles.

    Examples
    --------
    >>> from caveat.nn.networks import MLP
    >>> MLP(13, 3, stochastic="dropout")
    MLP(
      (0): Linear(in_features=13, out_features=32, bias=True)
      (1): ReLU()
      (2): Linear(in_features=32, out_features=32, bias=True)
      (3): ReLU()
      (4): Linear(in_features=32, out_features=16, bias=True)
      (5): ReLU()
      (6): Dropout(p=0.3)
      (7): Linear(in_features=16, out_features=3, bias=True)
    )
    """

    def __init__(
        self,
        features: int,
        outputs: int,
        *,
        hidden: Sequence[int] = (32, 32, 16),
        activation: str = "relu",
        stochastic: str | None = None,
        where: str = "last",
        rate: float = 0.3,
        prior: layers.Prior | None = None,
        head: str | None = None,
        levels: Sequence[float] | None = None,
    ) -> None:
        build = _Builder(activation, stochastic, where, rate, prior)
        width = check_size(features, "features")
        if not hidden and where == "last" and stochastic is not None:
            raise OptionError('hidden is empty, so there is no last hidden layer; pass where="all"')
        parts: list[nn.Module] = []
        for i, size in enumerate(hidden):
            parts += build.dense(width, check_size(size, "hidden"), last=i == len(hidden) - 1)
            width = size
        super().__init__(*parts, build.output(width, outputs, head, levels))
        number_layers(self)


class CNN(Network):
    r"""A convolutional network for images or signals.

    For each of ``filters`` a convolution with padding, the activation and a max pooling of 2; then
    a dense hidden layer and the outputs.

    Parameters
    ----------
    channels, outputs : int
        Channels of the input; classes or targets of the output.
    size : sequence of int, default=(28, 28)
        Height and width of an image, or the length of a signal alone: ``(1000,)``.
    filters : sequence of int, default=(64, 64, 64)
        The channels of each convolution.
    dense : int, default=64
        The width of the hidden dense layer.
    kernel : int, default=3
        The width of the convolutions, odd.
    activation, stochastic, where, rate, prior, head, levels
        As in `MLP`; the dense layer is the last hidden one. With "all" and "dropout", whole
        channels are dropped after each pooling.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.networks import CNN
    >>> CNN(1, 10, stochastic="flipout")(torch.zeros(5, 1, 28, 28)).shape
    torch.Size([5, 10])
    >>> CNN(12, 5, size=(1000,), filters=(16, 16))(torch.zeros(5, 12, 1000)).shape
    torch.Size([5, 5])
    """

    def __init__(
        self,
        channels: int,
        outputs: int,
        *,
        size: Sequence[int] = (28, 28),
        filters: Sequence[int] = (64, 64, 64),
        dense: int = 64,
        kernel: int = 3,
        activation: str = "relu",
        stochastic: str | None = None,
        where: str = "last",
        rate: float = 0.3,
        prior: layers.Prior | None = None,
        head: str | None = None,
        levels: Sequence[float] | None = None,
    ) -> None:
        build = _Builder(activation, stochastic, where, rate, prior)
        left = _check_axes(size)
        if check_size(kernel, "kernel") % 2 == 0:
            raise OptionError(f"kernel must be odd, so that sizes stay; got {kernel}")
        width = check_size(channels, "channels")
        parts: list[nn.Module] = []
        for count in filters:
            parts += build.convolution(width, check_size(count, "filters"), kernel, len(left))
            left, width = [length // 2 for length in left], count
        if min(left) < 1:
            raise ShapeError(
                f"size={tuple(size)} is too small for {len(filters)} poolings, each of which "
                "halves it; pass fewer filters"
            )
        parts.append(nn.Flatten())
        parts += build.dense(width * prod(left), check_size(dense, "dense"), last=True)
        super().__init__(*parts, build.output(dense, outputs, head, levels))
        number_layers(self)


class _Builder:
    """Makes layers, plain or stochastic."""

    def __init__(
        self,
        activation: str,
        stochastic: str | None,
        where: str,
        rate: float,
        prior: layers.Prior | None,
    ) -> None:
        self.activation = _choose(activation, "activation", _ACTIVATIONS)
        _choose(stochastic, "stochastic", {None: 0, "dropout": 0, **_WEIGHTS})
        _choose(where, "where", {"last": 0, "all": 0})
        if prior is not None and stochastic not in ("bayes", "flipout"):
            raise OptionError(
                f'prior is for stochastic="bayes" and "flipout"; got stochastic={stochastic!r}'
            )
        self.stochastic = stochastic
        self.everywhere = where == "all"
        self.rate = check_drop(rate, "rate")
        self.prior = prior

    def layer(self, axes: int, random: bool, *args: Any, **options: Any) -> nn.Module:
        """Return a dense layer (no axes) or a convolution, random if asked and if there is one."""
        if not random or self.stochastic not in _WEIGHTS:
            return _PLAIN[axes](*args, **options)
        if self.prior is not None:
            options["prior"] = self.prior
        if self.stochastic in ("concrete", "dropconnect"):
            options["initial_p" if self.stochastic == "concrete" else "p"] = self.rate
        return _WEIGHTS[self.stochastic][axes](*args, **options)

    def dense(self, inputs: int, outputs: int, *, last: bool) -> list[nn.Module]:
        random = last or self.everywhere
        parts = [self.layer(0, random, inputs, outputs), self.activation()]
        if random and self.stochastic == "dropout":
            parts.append(layers.Dropout(self.rate))
        return parts

    def convolution(self, inputs: int, outputs: int, kernel: int, axes: int) -> list[nn.Module]:
        same, random = kernel // 2, self.everywhere and self.stochastic in _WEIGHTS
        if random or self.activation not in _RISING:
            layer = self.layer(axes, random, inputs, outputs, kernel, padding=same)
            parts = [layer, self.activation(), _POOLS[axes - 1](2)]
        else:
            parts = [_POOLED[axes - 1](inputs, outputs, kernel, padding=same), self.activation()]
        if self.everywhere and self.stochastic == "dropout":
            parts.append(layers.SpatialDropout(self.rate))
        return parts

    def output(
        self, inputs: int, outputs: int, head: str | None, levels: Sequence[float] | None
    ) -> nn.Module:
        check_size(outputs, "outputs")
        _choose(head, "head", dict.fromkeys((None, "gaussian-logits", "mean-std", "quantiles")))
        if (levels is None) == (head == "quantiles"):
            raise OptionError(f'levels belong to head="quantiles"; got head={head!r}, {levels=}')

        def linear(*args: Any, **options: Any) -> nn.Module:
            return self.layer(0, self.everywhere, *args, **options)

        if head == "gaussian-logits":
            return layers.GaussianLogitsHead(inputs, outputs, linear=linear)
        if head == "mean-std":
            return layers.MeanVarianceHead(inputs, outputs, linear=linear)
        if levels is not None:
            return layers.QuantileHead(inputs, levels, outputs, linear=linear)
        return linear(inputs, outputs)


def _check_axes(size: Sequence[int]) -> list[int]:
    if isinstance(size, int) or len(size) not in (1, 2):
        raise OptionError(
            f"size must be (height, width) of an image or (length,) of a signal; got {size!r}"
        )
    return [check_size(length, "size") for length in size]


def _choose(value: Any, name: str, known: dict[Any, Any]) -> Any:
    if value not in known:
        words = ", ".join(repr(each) for each in known)
        raise UnknownNameError(f"{name} must be one of {words}; got {value!r}")
    return known[value]
