"""Networks for signals: AlexNet and xresnet over one axis, a shallow one for EEG, a transformer."""

from collections.abc import Sequence
from dataclasses import KW_ONLY

import torch
from torch import Tensor, nn
from torch.nn import functional

from .._constructors import declared
from .._validation import check_integer
from ..exceptions import OptionError, ShapeError
from .layers.lengthwise import LengthwiseBatchNorm1d, LengthwiseConv1d
from .layers.pooled import MeansOfPairs
from .networks import Builder, Network

__all__ = ["AlexNet1d", "ShallowConvNet", "VideoTransformer", "XResNet1d"]

_SMALLEST = 1e-6
"""Powers below it are taken for it, so that a logarithm exists."""


@declared()
class AlexNet1d(Network):
    """AlexNet over the one axis of a signal.

    Five convolutions of 64, 192, 384, 256 and 256 filters, the first of width 11 and stride 4, with
    three poolings of 3 by 2; an average of each filter over 6 parts; two dense layers. Weights are
    drawn as torch does, uniformly after Kaiming He. With ``stochastic="dropout"`` and
    ``where="all"`` values are dropped after each convolution and each dense layer.

    Parameters
    ----------
    in_channels, out_features : int
        Channels of the signal; classes or targets of the output.
    dense : int
        Width of the two dense layers.

    References
    ----------
    Krizhevsky, Sutskever, Hinton: ImageNet classification with deep convolutional neural networks,
    2012; Krizhevsky: One weird trick for parallelizing convolutional neural networks, 2014 (the
    filters).

    Examples
    --------
    >>> import torch
    >>> from caveat.nn import AlexNet1d
    >>> network = AlexNet1d(1, 2, stochastic="dropout", rate=0.2, head="gaussian-logits", dense=64)
    >>> network(torch.zeros(5, 1, 800)).shape
    torch.Size([5, 2, 2])
    """

    in_channels: int
    out_features: int
    _: KW_ONLY
    dense: int = 4096

    def _hidden_layers(self, build: Builder) -> tuple[list[nn.Module], int, int]:
        random = build.everywhere
        parts: list[nn.Module] = []
        width = check_integer(self.in_channels, "in_channels")
        layers = ((64, 11, 4, 2, True), (192, 5, 1, 2, True), (384, 3, 1, 1, False),
                  (256, 3, 1, 1, False), (256, 3, 1, 1, True))  # fmt: skip
        for filters, kernel, stride, padding, pooled in layers:
            parts += [
                build.layer(1, random, width, filters, kernel, stride=stride, padding=padding),
                build.activation(),
            ]
            parts += [nn.MaxPool1d(3, 2)] if pooled else []
            # Single values are dropped, not whole channels.
            parts += build.dropout(0, random)
            width = filters
        dense = check_integer(self.dense, "dense")
        parts += [nn.AdaptiveAvgPool1d(6), nn.Flatten()]
        parts += build.dense(6 * width, dense, last=False)
        parts += build.dense(dense, dense, last=True)
        return parts, dense, self.out_features


class _Nested(Network):
    """A network whose layers have layers of their own."""

    def reset_parameters(self) -> None:
        """Draw the parameters of all layers again, from torch's generator."""
        for layer in list(self.modules())[1:]:
            reset = getattr(layer, "reset_parameters", None)
            if reset is not None:
                reset()


@declared()
class XResNet1d(_Nested):
    """A residual network over the one axis of a signal, in the variant that is called xresnet.

    A stem of three convolutions (32, 32 and 64 filters), a pooling, and four groups of blocks; a
    block narrows to ``width`` filters, convolves, and widens to four times as many. From the second
    group on the first block of each halves the length; its shortcut averages pairs. The last batch
    normalization of a block starts at 0, so that blocks start as what they are given. At the end
    means and maxima of all filters. Weights are drawn normally after Kaiming He.

    Parameters
    ----------
    in_channels, out_features : int
        Channels of the signal; classes or targets of the output.
    blocks : sequence of int
        Blocks of each group; (3, 4, 6, 3) are the 50 layers of xresnet1d50.
    width : int
        Filters of a block's middle convolution.
    kernel_size : int
        Width of the convolutions, odd.

    Notes
    -----
    ``stochastic="dropout"`` drops values after each block and before the output (``where="last"``:
    there alone). Of other methods the output layer is random, with ``where="all"``.

    References
    ----------
    He and others: Bag of tricks for image classification with convolutional neural networks, 2019.
    Strodthoff, Wagner, Schaeffter, Samek: Deep learning for ECG analysis, benchmarks and insights
    from PTB-XL, 2021 (one axis, 64 filters in all groups).

    Examples
    --------
    >>> import torch
    >>> from caveat.nn import XResNet1d
    >>> XResNet1d(1, 2, head="mean-std")(torch.zeros(5, 1, 1250)).shape
    torch.Size([5, 2, 2])
    """

    in_channels: int
    out_features: int
    _: KW_ONLY
    blocks: Sequence[int] = (3, 4, 6, 3)
    width: int = 64
    kernel_size: int = 5

    def _hidden_layers(self, build: Builder) -> tuple[list[nn.Module], int, int]:
        if not build.everywhere and not build.drops and build.family[0] is not None:
            raise OptionError(
                'of XResNet1d only the output layer can be random in this way; pass where="all"'
            )
        kernel = check_integer(self.kernel_size, "kernel_size")
        if kernel % 2 == 0:
            raise OptionError(f"kernel_size must be odd, so that lengths stay; got {kernel}")
        width = check_integer(self.width, "width")
        sizes = [check_integer(self.in_channels, "in_channels"), 32, 32, 64]
        parts: list[nn.Module] = []
        for i in range(3):
            parts += [*_normed(sizes[i], sizes[i + 1], kernel, 2 if i == 0 else 1)]
            parts.append(build.activation())
        parts.append(nn.MaxPool1d(3, 2, padding=1))
        inputs = 64
        for group, count in enumerate(self.blocks):
            for block in range(check_integer(count, "blocks")):
                stride = 2 if block == 0 and group > 0 else 1
                parts.append(_Block(inputs, width, kernel, stride, build))
                parts += build.dropout(0, build.everywhere)
                inputs = 4 * width
        parts.append(_MeanAndMaximum())
        parts += build.dropout(0, not build.everywhere)
        return parts, 2 * inputs, self.out_features


class _Convolution(LengthwiseConv1d):
    """A convolution whose weights are drawn normally."""

    def reset_parameters(self) -> None:
        nn.init.kaiming_normal_(self.weight)


class _FromZero(LengthwiseBatchNorm1d):
    """A normalization that starts by passing nothing on."""

    def reset_parameters(self) -> None:
        super().reset_parameters()
        nn.init.zeros_(self.weight)


class _Block(nn.Module):
    """A residual block: narrow, convolve, widen; the shortcut is averaged and widened as needed."""

    def __init__(self, inputs: int, width: int, kernel: int, stride: int, build: Builder) -> None:
        super().__init__()
        outputs = 4 * width
        self.path = nn.Sequential(
            *_normed(inputs, width, 1), build.activation(),
            *_normed(width, width, kernel, stride), build.activation(),
            _Convolution(width, outputs, 1, bias=False), _FromZero(outputs),
        )  # fmt: skip
        shortcut: list[nn.Module] = []
        if stride > 1:
            shortcut.append(MeansOfPairs())
        if inputs != outputs:
            shortcut += _normed(inputs, outputs, 1)
        self.shortcut = nn.Sequential(*shortcut)
        self.activation = build.activation()

    def forward(self, x: Tensor) -> Tensor:
        return self.activation(self.path(x) + self.shortcut(x))


def _normed(inputs: int, outputs: int, kernel: int, stride: int = 1) -> list[nn.Module]:
    convolution = _Convolution(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)
    return [convolution, LengthwiseBatchNorm1d(outputs)]


class _MeanAndMaximum(nn.Module):
    """The maximum and the mean of each filter, beside each other."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x.amax(dim=2), x.mean(dim=2)], dim=1)


@declared()
class ShallowConvNet(Network):
    """A shallow network for electroencephalograms, after the power in a band of frequencies.

    A convolution over time, one over all channels, each with the activation, batch normalization,
    squares, means over time, logarithms, and a dense layer, which is the one that is random.

    Parameters
    ----------
    in_channels, out_features : int
        Electrodes; classes of the output.
    size : int
        Length of a segment.
    filters : int
        Filters of both convolutions.
    kernel_size : int
        Width of the convolution over time.
    pool : int
        Length of the means over time.
    stride : int
        Step from one mean over time to the next.
    dense : int
        Width of the dense layer.

    References
    ----------
    Schirrmeister and others: Deep learning with convolutional neural networks for EEG decoding and
    visualization, 2017. Manivannan, de Jong, Valdenegro-Toro, Sburlea: Uncertainty quantification
    for cross-subject motor imagery classification, 2024 (the sizes).

    Examples
    --------
    >>> import torch
    >>> from caveat.nn import ShallowConvNet
    >>> network = ShallowConvNet(22, 4, stochastic="flipout", where="last")
    >>> network(torch.zeros(5, 22, 768)).shape
    torch.Size([5, 4])
    """

    in_channels: int
    out_features: int
    _: KW_ONLY
    size: int = 768
    filters: int = 40
    kernel_size: int = 13
    pool: int = 35
    stride: int = 7
    dense: int = 32

    def _hidden_layers(self, build: Builder) -> tuple[list[nn.Module], int, int]:
        channels, filters = (check_integer(getattr(self, n), n) for n in ("in_channels", "filters"))
        kernel, pool, stride, dense = (
            check_integer(getattr(self, n), n) for n in ("kernel_size", "pool", "stride", "dense")
        )
        left = (check_integer(self.size, "size") - kernel + 1 - pool) // stride + 1
        if left < 1:
            raise ShapeError(
                f"size={self.size} is too small for a convolution of {kernel} and means of {pool}"
            )
        parts = [
            nn.Unflatten(1, (1, channels)),
            nn.Conv2d(1, filters, (1, kernel)),
            build.activation(),
            nn.Conv2d(filters, filters, (channels, 1)),
            build.activation(),
            nn.BatchNorm2d(filters),
            _Square(),
            nn.AvgPool2d((1, pool), (1, stride)),
            _Logarithm(),
            nn.Flatten(),
            *build.dense(filters * left, dense, last=True),
        ]
        return parts, dense, self.out_features


class _Square(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.square()


class _Logarithm(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.clamp(min=_SMALLEST).log()


@declared()
class VideoTransformer(_Nested):
    """A transformer over features of several kinds by second, such as faces and voices in a video.

    Each kind of features goes through its own encoder; with two kinds, each then attends to the
    other. Means over time are joined and go to the output. Seconds in which all features are 0, as
    at the end of a short video, are left out.

    Parameters
    ----------
    features : sequence of int
        Features of each kind, one kind after another among the channels: one or two numbers.
    out_features : int
        Classes of the output.
    width : int
        Width of the encoders.
    heads : int
        Heads of their attention.
    depth : int
        Layers of each encoder.

    Notes
    -----
    Width, heads and depth of the published network are not printed where caveat takes it from; the
    defaults are ours.

    References
    ----------
    Yoon, Kang, Kim, Han: D-vlog: multimodal vlog dataset for depression detection, 2022.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn import VideoTransformer
    >>> VideoTransformer((136, 25), 2)(torch.randn(3, 161, 40)).shape
    torch.Size([3, 2])
    """

    features: Sequence[int]
    out_features: int
    _: KW_ONLY
    width: int = 64
    heads: int = 4
    depth: int = 1

    def _hidden_layers(self, build: Builder) -> tuple[list[nn.Module], int, int]:
        sizes = [check_integer(size, "features") for size in self.features]
        if len(sizes) not in (1, 2):
            raise OptionError(f"features must be one or two numbers; got {tuple(self.features)}")
        width, heads, depth = (
            check_integer(getattr(self, name), name) for name in ("width", "heads", "depth")
        )
        if width % heads or width % 2:
            raise OptionError(f"width must be even, and a multiple of heads; got {width}, {heads}")
        encoder = _Encoders(sizes, width, heads, depth, build)
        return [encoder, *build.dropout(0, True)], width * len(sizes), self.out_features


class _Encoders(nn.Module):
    """An encoder for each kind of features, attention to the other kind, and means over time."""

    def __init__(
        self, sizes: Sequence[int], width: int, heads: int, depth: int, build: Builder
    ) -> None:
        super().__init__()
        self.sizes, self.width = list(sizes), width
        self.project = nn.ModuleList(nn.Linear(size, width) for size in sizes)
        random = build.everywhere
        self.own = nn.ModuleList(
            nn.ModuleList(_Layer(width, heads, build.dropout(0, random)) for _ in range(depth))
            for _ in sizes
        )
        several = len(sizes) > 1
        self.other = nn.ModuleList(
            _Layer(width, heads, build.dropout(0, random)) for _ in sizes if several
        )

    def forward(self, x: Tensor) -> Tensor:
        known = (x != 0).any(dim=1)
        # A row without any second would have no mean; it counts as one of zeros.
        known = known | ~known.any(dim=1, keepdim=True)
        places = _positions(x.shape[2], self.width, x)
        streams = []
        kinds = x.transpose(1, 2).split(self.sizes, dim=2)
        for part, project, layers in zip(kinds, self.project, self.own, strict=True):
            stream = project(part) + places
            for layer in layers:  # type: ignore[attr-defined]
                stream = layer(stream, stream, known)
            streams.append(stream)
        if len(self.other):
            pairs = zip(self.other, streams, streams[::-1], strict=True)
            streams = [layer(stream, other, known) for layer, stream, other in pairs]
        weight = (known / known.sum(dim=1, keepdim=True))[:, :, None]
        return torch.cat([(weight * stream).sum(dim=1) for stream in streams], dim=1)


class _Layer(nn.Module):
    """A layer of a transformer: attention and two dense layers, each added to what came in."""

    def __init__(self, width: int, heads: int, dropout: list[nn.Module]) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.join = nn.Linear(width, width)
        self.dense = nn.Sequential(
            nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width)
        )
        self.dropout = nn.Sequential(*dropout)

    def forward(self, x: Tensor, other: Tensor, known: Tensor) -> Tensor:
        rows, length, width = x.shape
        given, source = self.before(x), self.before(other)
        query, key, value = (
            part.view(rows, length, self.heads, width // self.heads).transpose(1, 2)
            for part in (self.query(given), self.key(source), self.value(source))
        )
        score = query @ key.transpose(2, 3) / (width // self.heads) ** 0.5
        score = score.masked_fill(~known[:, None, None], float("-inf"))
        mixed = functional.softmax(score, dim=3) @ value
        x = x + self.join(mixed.transpose(1, 2).reshape(rows, length, width))
        return self.dropout(x + self.dense(self.between(x)))


def _positions(length: int, width: int, like: Tensor) -> Tensor:
    """Return sines and cosines of falling frequencies, (length, width)."""
    place = torch.arange(length, device=like.device, dtype=like.dtype)[:, None]
    rate = torch.arange(0, width, 2, device=like.device, dtype=like.dtype)
    angle = place * torch.exp(rate * (-torch.log(torch.tensor(1e4)).item() / width))
    return torch.cat([angle.sin(), angle.cos()], dim=1)
