from functools import partial

import pytest
import torch
from torch import nn

from caveat.exceptions import OptionError, ShapeError, UnknownNameError
from caveat.nn import CNN, MLP, layers
from caveat.nn._graph import trace
from caveat.nn.layers import PooledConv2d, stochastic_layers
from caveat.nn.layers.lengthwise import LengthwiseConv1d
from caveat.nn.noise import keyed, make_keys

METHODS = ["dropout", "concrete", "dropconnect", "flipout", "bayes"]


def kinds(module):
    return [type(layer).__name__ for layer in stochastic_layers(module)]


WINE = partial(MLP, 13, 3, hidden=(32, 32, 16), rate=0.3)


def test_the_wine_network():
    module = WINE()
    shapes = [tuple(p.shape) for p in module.parameters() if p.dim() == 2]
    assert shapes == [(32, 13), (32, 32), (16, 32), (3, 16)]
    assert kinds(module) == []


def test_the_image_network():
    module = CNN(1, 10)
    assert [tuple(p.shape) for p in module.parameters() if p.dim() > 1] == [
        (64, 1, 3, 3),
        (64, 64, 3, 3),
        (64, 64, 3, 3),
        (64, 64 * 3 * 3),
        (10, 64),
    ]
    x = torch.randn(4, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    h = x
    for i in (0, 2, 4):  # as the literature writes it: convolution with bias, relu, pooling
        h = nn.functional.conv2d(h, module[i].weight, module[i].bias, padding=1)
        h = nn.functional.max_pool2d(h.relu(), 2)
    h = module[7](h.flatten(1)).relu()
    torch.testing.assert_close(module(x), module[9](h), rtol=1e-4, atol=1e-5)


def test_an_activation_that_does_not_rise_is_pooled_after():
    module = CNN(2, 3, size=(8,), filters=(4,), activation="gelu")
    assert [type(part) for part in module][:3] == [LengthwiseConv1d, nn.GELU, nn.MaxPool1d]


@pytest.mark.parametrize(
    ("method", "last", "everywhere"),
    [
        ("dropout", ["Dropout"], ["Dropout"] * 3),
        ("concrete", ["ConcreteDropoutLinear"], ["ConcreteDropoutLinear"] * 4),
        ("dropconnect", ["DropConnectLinear"], ["DropConnectLinear"] * 4),
        ("flipout", ["FlipoutLinear"], ["FlipoutLinear"] * 4),
        ("bayes", ["BayesLinear"], ["BayesLinear"] * 4),
    ],
)
def test_what_becomes_random(method, last, everywhere):
    module = WINE(stochastic=method, where="last")
    assert kinds(module) == last
    layer = next(stochastic_layers(module))
    if method == "dropout":
        assert layer.p == 0.3
        assert list(module).index(layer) == 6  # after the last hidden layer
    else:
        assert layer.weight_shape == (16, 32)  # the last hidden layer itself
    assert kinds(WINE(stochastic=method)) == everywhere
    places = [part.place for part in stochastic_layers(WINE(stochastic=method))]
    assert places == [*range(len(everywhere))]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("where", ["last", "all"])
def test_a_class_of_layers_stands_for_its_method(method, where):
    named = CNN(2, 3, size=(8, 8), filters=(4,), dense=6, stochastic=method, where=where)
    for layer in {type(layer) for layer in stochastic_layers(named)}:
        given = CNN(2, 3, size=(8, 8), filters=(4,), dense=6, stochastic=layer, where=where)
        assert repr(given) == repr(named)


class Noisy(layers.BayesLinear):
    """A layer of one's own."""


def test_a_class_of_ones_own_is_called_with_the_sizes():
    prior = layers.GaussianPrior(2.0)
    module = MLP(4, 2, hidden=(8,), stochastic=Noisy, prior=prior, head="mean-std")
    assert kinds(module) == ["Noisy", "Noisy"]
    assert next(stochastic_layers(module)).prior is prior
    assert kinds(CNN(1, 2, stochastic=Noisy, where="last")) == ["Noisy"]
    with pytest.raises(OptionError, match='stochastic=Noisy has no convolution; pass where="last"'):
        CNN(1, 2, stochastic=Noisy)
    dropped = CNN(1, 2, filters=(3,), stochastic=nn.Dropout, rate=0.2)
    assert [part.p for part in dropped if isinstance(part, nn.Dropout)] == [0.2, 0.2]
    with pytest.raises(
        OptionError, match="stochastic must be a name or a class of layers; got <cl"
    ):
        MLP(4, 2, stochastic=int)


@pytest.mark.parametrize(("size", "axes"), [((8, 8), "Conv2d"), ((12,), "Conv1d")])
@pytest.mark.parametrize("method", METHODS)
def test_convolutions_become_random_everywhere(method, size, axes):
    module = CNN(2, 3, size=size, filters=(4, 5), dense=6, stochastic=method, where="all", rate=0.2)
    found = kinds(module)
    if method == "dropout":
        assert found == ["SpatialDropout", "SpatialDropout", "Dropout"]
    else:
        assert sum(name.endswith(axes) for name in found) == 2
        assert sum(name.endswith("Linear") for name in found) == 2
    assert module(torch.randn(3, 2, *size)).shape == (3, 3)
    only = CNN(2, 3, size=size, filters=(4, 5), dense=6, stochastic=method, where="last")
    assert len(kinds(only)) == 1
    trace(module.eval())


@pytest.mark.parametrize(
    ("head", "levels", "kind", "shape"),
    [
        (None, None, nn.Linear, (5, 2)),
        ("gaussian-logits", None, layers.GaussianLogitsHead, (5, 2, 2)),
        ("mean-std", None, layers.MeanVarianceHead, (5, 2, 2)),
        ("quantiles", (0.1, 0.5, 0.9), layers.QuantileHead, (5, 2, 3)),
    ],
)
def test_heads(head, levels, kind, shape):
    module = MLP(4, 2, head=head, levels=levels)
    assert isinstance(module[-1], kind)
    assert module(torch.randn(5, 4)).shape == shape
    bayes = MLP(4, 2, head=head, levels=levels, stochastic="bayes", where="all")
    assert kinds(bayes) == ["BayesLinear"] * 3  # the head's own map too


def test_options_reach_the_layers():
    prior = layers.GaussianPrior(2.0)
    assert next(stochastic_layers(MLP(4, 2, stochastic="flipout", prior=prior))).prior is prior
    assert next(stochastic_layers(MLP(4, 2, stochastic="concrete", rate=0.2))).initial_p == 0.2
    assert next(stochastic_layers(MLP(4, 2, stochastic="dropconnect", rate=0.2))).p == 0.2
    assert isinstance(MLP(4, 2, activation="tanh")[1], nn.Tanh)
    assert MLP(4, 2, hidden=(), stochastic="bayes", where="all")(torch.zeros(1, 4)).shape == (1, 2)
    assert CNN(1, 2, size=(8, 8), filters=(3,), kernel_size=5)[0].padding == (2, 2)


def test_reset_draws_every_parameter_again():
    torch.manual_seed(0)
    module = MLP(4, 2, stochastic="bayes", head="gaussian-logits")
    before = {name: value.clone() for name, value in module.named_parameters()}
    torch.manual_seed(0)
    again = MLP(4, 2, stochastic="bayes", head="gaussian-logits")
    module.reset_parameters()
    means = [
        name for name in before if "std" not in name and "rho" not in name and "raw" not in name
    ]
    for name, value in module.named_parameters():
        assert torch.equal(before[name], dict(again.named_parameters())[name])
        if name in means:
            assert not torch.equal(value, before[name]), name


@pytest.mark.parametrize("method", METHODS)
def test_copies_can_be_stacked(method):
    module = MLP(4, 2, stochastic=method, where="all", head="mean-std").eval()
    x, keys = torch.randn(6, 4), make_keys(range(3))

    def one(key):
        with keyed(key, shared=True):
            return module(x)

    torch.testing.assert_close(torch.vmap(one)(keys), torch.stack([one(key) for key in keys]))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: MLP(0, 2), OptionError, "in_features must be a whole number of at least 1; got 0"),
        (lambda: MLP(4, 2.5), OptionError, "out_features must be a whole number of at least 1; got 2.5"),
        (lambda: MLP(4, 2, stochastic="dropuot"), UnknownNameError, "stochastic must be one of None, 'dropout', 'bayes', .* got 'dropuot'"),
        (lambda: MLP(4, 2, where="first"), UnknownNameError, "where must be one of 'last', 'all'; got 'first'"),
        (lambda: MLP(4, 2, activation="swish"), UnknownNameError, "activation must be one of 'elu', .* got 'swish'"),
        (lambda: MLP(4, 2, head="softmax"), UnknownNameError, "head must be one of None, 'gaussian-logits', .* got 'softmax'"),
        (lambda: MLP(4, 2, head="quantiles"), OptionError, "levels belong to head=\"quantiles\"; got head='quantiles', levels=None"),
        (lambda: MLP(4, 2, levels=[0.5]), OptionError, "levels belong to head=\"quantiles\"; got head=None"),
        (lambda: MLP(4, 2, prior=layers.GaussianPrior()), OptionError, "prior is for stochastic=\"bayes\" and \"flipout\"; got stochastic=None"),
        (lambda: MLP(4, 2, hidden=(), stochastic="bayes", where="last"), OptionError, "there is no last hidden layer; pass where=\"all\""),
        (lambda: CNN(1, 2, size=(4, 4)), ShapeError, r"size=\(4, 4\) is too small for 3 poolings"),
        (lambda: CNN(1, 2, size=28), OptionError, r"size must be \(height, width\) of an image or \(length,\) of a signal; got 28"),
        (lambda: CNN(1, 2, size=(4, 4, 4)), OptionError, "size must be"),
        (lambda: CNN(1, 2, kernel_size=4), OptionError, "kernel_size must be odd, so that sizes stay; got 4"),
    ],
)  # fmt: skip
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(
    ("size", "padding"), [((3, 3), (1, 1)), ((4, 3), (0, 2)), ((1, 8), (0, 0))]
)
def test_a_convolution_of_few_channels_is_a_product(size, padding, channels):
    torch.manual_seed(0)
    layer = PooledConv2d(channels, 6, size, padding=padding)
    x = torch.randn(3, channels, 9, 11)
    expected = torch.nn.functional.conv2d(x, layer.weight, padding=padding)
    found = layer.as_product(x)
    torch.testing.assert_close(found, expected)
    (gradient,) = torch.autograd.grad(found.square().sum(), layer.weight)
    (plain,) = torch.autograd.grad(expected.square().sum(), layer.weight)
    torch.testing.assert_close(gradient, plain, rtol=1e-4, atol=1e-4)


def test_only_plain_convolutions_of_few_channels_are_products():
    assert PooledConv2d(1, 6, 3, padding=1)._is_thin()
    assert PooledConv2d(3, 6, 3, padding=1)._is_thin()
    assert not PooledConv2d(4, 6, 3)._is_thin()
    assert not PooledConv2d(2, 6, 3, groups=2)._is_thin()
    assert not PooledConv2d(1, 6, 3, padding="same")._is_thin()
    assert not PooledConv2d(1, 6, 3, stride=2)._is_thin()
    assert not PooledConv2d(1, 6, 3, padding=1, padding_mode="circular")._is_thin()
