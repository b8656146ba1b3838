"""Convolutions over one axis as those of pictures: the same numbers, in another layout."""

import pytest
import torch
from torch import nn

from caveat.nn.layers.lengthwise import LengthwiseBatchNorm1d, LengthwiseConv1d, as_picture

SETTINGS = [
    {"in_channels": 6, "kernel_size": 5, "padding": 2},
    {"in_channels": 6, "kernel_size": 1, "bias": False},
    {"in_channels": 6, "kernel_size": 3, "stride": 2, "padding": 1, "dilation": 2},
    {"in_channels": 6, "kernel_size": 4, "groups": 2, "stride": 3},
    {"in_channels": 1, "kernel_size": 11, "stride": 4, "padding": 2},
    {"in_channels": 1, "kernel_size": 5, "dilation": 2, "bias": False},
]


def with_gradients(function, layer, x):
    x = x.clone().requires_grad_()
    layer.zero_grad()
    made = function(x)
    made.square().sum().backward()
    return [made.detach(), x.grad, *(p.grad for p in layer.parameters())]


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_convolution_of_pictures_is_that_of_torch(settings):
    torch.manual_seed(0)
    layer = LengthwiseConv1d(out_channels=8, **settings).double()
    x = torch.randn(4, settings["in_channels"], 40, dtype=torch.float64)
    assert layer.is_plain()
    expected = with_gradients(lambda x: nn.functional.conv1d(
        x, layer.weight, layer.bias, layer.stride, layer.padding, layer.dilation, layer.groups
    ), layer, x)  # fmt: skip
    made = with_gradients(lambda x: layer.of_pictures(x, layer.weight, layer.bias), layer, x)
    torch.testing.assert_close(made, expected)
    torch.testing.assert_close(layer(x), expected[0])


@pytest.mark.parametrize("settings", [{"padding": "same"}, {"padding_mode": "circular"}])
def test_other_paddings_are_left_to_torch(settings):
    assert not LengthwiseConv1d(2, 3, 3, **settings).is_plain()


def test_channels_lie_side_by_side_from_layer_to_layer():
    layer, norm = LengthwiseConv1d(6, 8, 3), LengthwiseBatchNorm1d(8)
    made = norm.of_pictures(layer.of_pictures(torch.randn(4, 6, 20), layer.weight, layer.bias))
    assert made.stride(1) == 1
    pictures = as_picture(made)
    assert pictures.data_ptr() == made.data_ptr()  # and are not copied again
    assert pictures.is_contiguous(memory_format=torch.channels_last)


def test_a_normalization_of_pictures_is_that_of_torch():
    torch.manual_seed(0)
    plain, other = nn.BatchNorm1d(6).double(), LengthwiseBatchNorm1d(6).double()
    x = torch.randn(4, 6, 20, dtype=torch.float64)
    made = with_gradients(other.of_pictures, other, x)
    torch.testing.assert_close(made, with_gradients(plain, plain, x))
    torch.testing.assert_close(dict(other.named_buffers()), dict(plain.named_buffers()))
    torch.testing.assert_close(other.eval()(x), plain.eval()(x))
    torch.testing.assert_close(other(x[:, :, 0]), plain(x[:, :, 0]))
    with pytest.raises(ValueError, match="expected 2D or 3D"):
        other(x[0, 0, 0])


def test_passes_of_many_networks_at_once():
    torch.manual_seed(0)
    layer = LengthwiseConv1d(6, 8, 3)
    x = torch.randn(3, 4, 6, 20)
    made = torch.vmap(lambda each: layer.of_pictures(each, layer.weight, layer.bias))(x)
    torch.testing.assert_close(made, torch.stack([layer(each) for each in x]))
