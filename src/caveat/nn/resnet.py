"""A residual network for images, with dropout after every convolution if asked."""

import os
from dataclasses import KW_ONLY
from pathlib import Path
from typing import Any, Self
from zipfile import BadZipFile

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from .._constructors import declared
from .._validation import check_integer
from ..exceptions import FileFormatError
from ._checkpoints import fill, state_of
from .layers import Dropout
from .layers._checks import check_drop
from .layers._stochastic import number_layers
from .networks import output_layer

STAGES = 4
_LARGE = 64
"""From this side on images are halved twice before the first block."""


class Block(nn.Module):
    """Two convolutions and a shortcut; names are those of published weights."""

    def __init__(self, inputs: int, outputs: int, stride: int, rate: float) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.drop1, self.drop2 = dropped(rate), dropped(rate)
        self.downsample: nn.Sequential | None = None
        if stride > 1 or inputs != outputs:
            shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.downsample = nn.Sequential(shortcut, nn.BatchNorm2d(outputs))
            self.drop3 = dropped(rate)

    def forward(self, x: Tensor) -> Tensor:
        """Return the features after the block."""
        inside = functional.relu(self.bn1(self.drop1(self.conv1(x))))
        inside = self.bn2(self.drop2(self.conv2(inside)))
        if self.downsample is not None:
            convolution, norm = self.downsample
            x = norm(self.drop3(convolution(x)))
        return functional.relu(inside + x)


def dropped(rate: float) -> nn.Module:
    """Return a dropout, or nothing to do."""
    return Dropout(rate) if rate else nn.Identity()


@declared()
class ResNet18(nn.Module):
    """A residual network of 18 layers for images.

    Four stages of two blocks with 64, 128, 256 and 512 channels, the mean over the image, and a
    dense layer. Images of 64 pixels and more begin with a convolution of 7 x 7 and a max pooling,
    each of which halves them (the published network, 11.69 million parameters with 1000 classes);
    smaller ones with a convolution of 3 x 3 (11.17 million with 10 classes). Any size of one kind
    works, since the last features are averaged.

    Parameters
    ----------
    in_channels : int
        Channels of the input.
    out_features : int
        Classes or targets of the output.
    size : int
        Side of the images, which decides how the network begins.
    rate : float
        Probability of dropping a unit after every convolution; 0 for no dropout.
    head : {None, "gaussian-logits", "mean-std"}
        The last layer; None is a plain linear one (logits, or means).
    width : int
        Channels of the first stage, doubled in each further one; fewer make a small network of the
        same depth.

    References
    ----------
    He, Zhang, Ren, Sun: Deep residual learning for image recognition, 2016.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn import ResNet18
    >>> network = ResNet18(3, 10, size=32, rate=0.2)
    >>> network.eval()(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    >>> sum(weight.numel() for weight in ResNet18(size=224).parameters())
    11689512
    """

    in_channels: int = 3
    out_features: int = 1000
    _: KW_ONLY
    size: int = 224
    rate: float = 0.0
    head: str | None = None
    width: int = 64

    def __post_init__(self) -> None:
        super().__init__()
        channels = check_integer(self.in_channels, "in_channels")
        rate = check_drop(self.rate, "rate")
        self.large = check_integer(self.size, "size") >= _LARGE
        side, stride, padding = (7, 2, 3) if self.large else (3, 1, 1)
        width = check_integer(self.width, "width")
        self.conv1 = nn.Conv2d(channels, width, side, stride, padding, bias=False)
        self.drop1 = dropped(rate)
        self.bn1 = nn.BatchNorm2d(width)
        for i in range(STAGES):
            count = self.width * 2**i
            first = Block(width, count, 1 if i == 0 else 2, rate)
            setattr(self, f"layer{i + 1}", nn.Sequential(first, Block(count, count, 1, rate)))
            width = count
        self.fc = output_layer(width, self.out_features, self.head)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
        number_layers(self)

    def features(self, x: Tensor) -> Tensor:
        """Return the numbers of each image before the last layer, 512 with a width of 64.

        Parameters
        ----------
        x : Tensor of shape (samples, channels, height, width)

        Returns
        -------
        Tensor of shape (samples, 8 width)
        """
        x = functional.relu(self.bn1(self.drop1(self.conv1(x))))
        if self.large:
            x = functional.max_pool2d(x, 3, 2, 1)
        for i in range(STAGES):
            x = getattr(self, f"layer{i + 1}")(x)
        return x.mean(dim=(2, 3))

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs for images (samples, channels, height, width)."""
        return self.fc(self.features(x))

    def save_weights(self, path: str | os.PathLike[str]) -> Path:
        """Write all weights by name into a file of numpy arrays.

        Parameters
        ----------
        path : path
            Its name should end in .npz.

        Returns
        -------
        Path
        """
        arrays = {name: value.detach().cpu().numpy() for name, value in self.state_dict().items()}
        with Path(path).open("wb") as file:
            np.savez(file, **arrays)
        return Path(path)

    def load_weights(self, path: str | os.PathLike[str], *, head: bool = True) -> Self:
        """Take weights from a file by name; nothing in the file is executed.

        Parameters
        ----------
        path : path
            What `save_weights` wrote, safetensors, or a state dict of torch; published weights of
            this network have the same names.
        head : bool, default=True
            Whether the last layer is taken, too; False keeps its own, for other classes.

        Returns
        -------
        self
        """
        state = _arrays(Path(path)) if Path(path).suffix == ".npz" else state_of(Path(path))
        own = self.state_dict()
        if not head:
            state = {key: value for key, value in state.items() if not key.startswith("fc.")}
            state |= {key: value for key, value in own.items() if key.startswith("fc.")}
        # How many batches were seen; of no use to others, and absent in older files.
        counts = {key: value for key, value in own.items() if key.endswith("num_batches_tracked")}
        fill(self, counts | state, Path(path))
        return self


def _arrays(path: Path) -> dict[str, Any]:
    """Return the arrays of a file by name; objects are not loaded."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: torch.from_numpy(np.array(file[name])) for name in file.files}
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, TypeError, BadZipFile, AttributeError) as error:
        raise FileFormatError(f"{path} is damaged, or no file of arrays: {error}") from None
