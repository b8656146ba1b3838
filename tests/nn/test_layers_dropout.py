"""Dropout, DropConnect and Concrete dropout against their definitions."""

import math

import pytest
import torch
from scipy.integrate import quad
from scipy.special import expit, logit
from torch.nn import functional

from caveat.exceptions import OptionError
from caveat.nn.layers import (
    ConcreteDropoutConv1d,
    ConcreteDropoutConv2d,
    ConcreteDropoutLinear,
    DropConnectConv2d,
    DropConnectLinear,
    Dropout,
    SpatialDropout,
)
from caveat.nn.noise import keyed, make_keys

STANDARD_ERRORS = 5


def run(layer, x, seed=0, shared=False):
    with keyed(make_keys([seed])[0], shared=shared):
        return layer(x)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("kind", [Dropout, SpatialDropout])
def test_dropout_keeps_the_mean_and_drops_p(kind, p):
    count = 40_000
    sampled = run(kind(p), torch.ones(count // 40, 40))
    torch.testing.assert_close(sampled.unique(), torch.tensor([0.0, 1 / (1 - p)]))
    dropped = (sampled == 0).double().mean().item()
    assert abs(dropped - p) < STANDARD_ERRORS * math.sqrt(p * (1 - p) / count)


def test_nothing_is_dropped_with_probability_0():
    x = torch.randn(5, 4)
    assert torch.equal(run(Dropout(0.0), x), x)


def test_torchs_own_generator_is_used_outside_of_keyed():
    torch.manual_seed(3)
    first = Dropout(0.5)(torch.ones(5, 4))
    torch.manual_seed(3)
    assert torch.equal(first, Dropout(0.5)(torch.ones(5, 4)))


def test_spatial_dropout_drops_channels_of_each_row():
    x = torch.rand(6, 50, 4, 3) + 1
    sampled = run(SpatialDropout(0.5), x)
    kept = sampled[:, :, 0, 0] != 0
    expected = torch.where(kept[:, :, None, None], 2 * x, torch.zeros(()))
    torch.testing.assert_close(sampled, expected)
    assert not torch.equal(kept[0], kept[1])


def test_dropconnect_drops_weights_for_the_whole_batch():
    layer = DropConnectLinear(30, 20, p=0.25)
    sampled = run(layer, torch.eye(30)) - layer.bias
    weight = sampled.T
    kept = weight != 0
    torch.testing.assert_close(weight, torch.where(kept, layer.weight / 0.75, torch.zeros(())))
    assert abs(kept.double().mean().item() - 0.75) < STANDARD_ERRORS * math.sqrt(0.1875 / 600)
    # Rows and columns are not dropped as a whole.
    assert 0 < kept[0].sum() < 30
    assert 0 < kept[:, 0].sum() < 20
    torch.testing.assert_close(run(layer, torch.eye(30)), run(layer, torch.eye(30), shared=True))


@pytest.mark.parametrize(
    "layer", [DropConnectLinear(6, 4, p=0.3), DropConnectConv2d(6, 4, 1, p=0.3)]
)
def test_dropconnect_keeps_the_mean(layer):
    x = torch.randn(2, *((6,) if isinstance(layer, DropConnectLinear) else (6, 1, 1)))
    keys = make_keys(range(4000))

    def one(key):
        with keyed(key):
            return layer(x)

    passes = torch.vmap(one)(keys).detach()
    error = passes.std(0) / math.sqrt(len(keys))
    assert ((passes.mean(0) - layer.eval()(x)).abs() < STANDARD_ERRORS * error).all()


def test_concrete_dropout_drops_p_and_is_nearly_binary():
    p, count = 0.3, 100_000
    layer = ConcreteDropoutLinear(1, 1, bias=False, initial_p=p)
    with torch.no_grad():
        layer.weight.fill_(1.0)
    kept = run(layer, torch.ones(count, 1)).detach().double() * (1 - p)
    error = STANDARD_ERRORS * math.sqrt(p * (1 - p) / count)
    assert abs((kept < 0.5).double().mean().item() - p) < error
    assert ((kept < 0.05) | (kept > 0.95)).double().mean() > 0.85

    def relaxed(noise):
        return expit((logit(p) + noise) / 0.1) * expit(noise) * expit(-noise)

    mean = 1 - quad(relaxed, -50, 50, points=[-logit(p)], limit=200)[0]
    assert abs(kept.mean().item() - mean) < error


def test_concrete_masks_are_the_relaxation_of_the_layers_uniform_numbers():
    layer = ConcreteDropoutLinear(5, 3, initial_p=0.2, temperature=0.5)
    x = torch.randn(4, 5)
    with keyed(make_keys([0])[0]):
        u = layer.uniform((4, 5), x).double()
    z = torch.sigmoid((math.log(0.2 / 0.8) + u.log() - (1 - u).log()) / 0.5)
    expected = functional.linear(((1 - z) / 0.8 * x).float(), layer.weight, layer.bias)
    torch.testing.assert_close(run(layer, x), expected)


@pytest.mark.parametrize(
    ("layer", "channels"),
    [(ConcreteDropoutConv1d(7, 3, 2), 7), (ConcreteDropoutConv2d(6, 4, 3, groups=2), 6)],
)
def test_concrete_convolutions_drop_whole_channels(layer, channels):
    x = torch.rand(2, channels, *(5,) * (layer.weight.dim() - 2)) + 1
    for shared in (False, True):
        with keyed(make_keys([0])[0], shared=shared):
            kept = layer._kept(x)
        assert kept.shape == (1 if shared else 2, channels, *(1,) * (x.dim() - 2))
        torch.testing.assert_close(
            run(layer, x, shared=shared), layer.eval()(x * kept), rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize("p", [1e-4, 0.1, 0.5, 0.99])
@pytest.mark.parametrize(
    "make",
    [
        lambda p: ConcreteDropoutLinear(7, 3, initial_p=p, length_scale=0.4, dtype=torch.float64),
        lambda p: ConcreteDropoutConv2d(
            7, 3, 2, initial_p=p, length_scale=0.4, dtype=torch.float64
        ),
    ],
)
def test_the_regularizer_is_the_formula(make, p):
    layer = make(p)
    entropy = torch.distributions.Bernoulli(torch.tensor(p, dtype=torch.float64)).entropy()
    squares = 0.4**2 * layer.weight.square().sum() / (2 * (1 - p))
    torch.testing.assert_close(layer.penalty(), squares - 7 * entropy)


@pytest.mark.parametrize("value", [-300.0, 300.0])
def test_the_regularizer_is_finite_where_p_has_run_to_an_end(value):
    layer = ConcreteDropoutLinear(3, 2, dtype=torch.float64)
    with torch.no_grad():
        layer.logit_p.fill_(value)
    penalty = layer.penalty()
    penalty.backward()
    assert torch.isfinite(penalty)
    assert torch.isfinite(layer.logit_p.grad)


def test_the_learned_probability_has_a_gradient_from_the_data():
    layer = ConcreteDropoutLinear(5, 1)
    run(layer, torch.randn(20, 5)).square().mean().backward()
    assert layer.logit_p.grad.abs() > 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Dropout(1.0), "p must be a number of at least 0 and below 1; got 1.0"),
        (lambda: Dropout("a"), "p must be a number of at least 0 and below 1; got 'a'"),
        (
            lambda: DropConnectLinear(2, 2, p=-0.1),
            "p must be a number of at least 0 and below 1; got -0.1",
        ),
        (
            lambda: ConcreteDropoutLinear(2, 2, initial_p=0),
            "initial_p must be a number strictly between 0 and 1; got 0",
        ),
        (
            lambda: ConcreteDropoutLinear(2, 2, length_scale=math.inf),
            "length_scale must be a number above 0; got inf",
        ),
        (
            lambda: ConcreteDropoutLinear(2, 2, temperature=0),
            "temperature must be a number above 0; got 0",
        ),
    ],
)
def test_options_are_checked(make, message):
    with pytest.raises(OptionError, match=message):
        make()
