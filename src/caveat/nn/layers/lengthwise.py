"""Convolutions and normalizations over one axis that a GPU computes as those of pictures.

The channels of each place lie side by side then, as the units of a GPU for products want them. As
convolutions over one axis they are laid out channel by channel; for kernels of width 5 a step of
xresnet1d50 spends four fifths of its time in Fourier transforms.
"""

from torch import Tensor, nn

__all__ = ["LengthwiseBatchNorm1d", "LengthwiseConv1d", "as_picture"]


def as_picture(values: Tensor) -> Tensor:
    """Return (rows, channels, 1, length) with the channels of a place side by side in memory.

    Written without torch's memory formats, which ``torch.vmap`` does not know.
    """
    return values[:, :, None].permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)


class LengthwiseConv1d(nn.Conv1d):
    """A convolution over one axis, on a GPU as one over pictures of height 1."""

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if input.is_cuda and input.ndim == 3 and self.is_plain():  # pragma: no cover - needs a GPU
            return self.of_pictures(input, weight, bias)
        return super()._conv_forward(input, weight, bias)

    def is_plain(self) -> bool:
        """Whether there are zeros around, as many as a number says."""
        return self.padding_mode == "zeros" and not isinstance(self.padding, str)

    def of_pictures(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Return the convolution, (rows, channels, length), of plain settings."""
        assert not isinstance(self.padding, str)
        if self.in_channels == 1 and self.dilation == (1,):
            # A GPU has no fast convolution of one channel, least of all for the kernels' gradient.
            wide = nn.functional.pad(input[:, 0], self.padding * 2)
            patches = wide.unfold(1, *self.kernel_size, *self.stride)
            return nn.functional.linear(patches, weight[:, 0], bias).transpose(1, 2)
        made = nn.functional.conv2d(
            as_picture(input), as_picture(weight), bias, (1, *self.stride), (0, *self.padding),
            (1, *self.dilation), self.groups,
        )  # fmt: skip
        return made[:, :, 0]


class LengthwiseBatchNorm1d(nn.BatchNorm1d):
    """A normalization over one axis that leaves the layout of a `LengthwiseConv1d` as it is."""

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim != 4:
            super()._check_input_dim(input)

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalized input, (rows, channels, length) or (rows, channels)."""
        if input.is_cuda and input.ndim == 3:  # pragma: no cover - needs a GPU
            return self.of_pictures(input)
        return super().forward(input)

    def of_pictures(self, input: Tensor) -> Tensor:
        """Return the same of (rows, channels, length)."""
        return super().forward(input[:, :, None])[:, :, 0]
