"""Gaussian weights: their divergence from the prior, and the noise of their outputs."""

import copy
import math

import pytest
import torch
from torch.distributions import Categorical, MixtureSameFamily, Normal, kl_divergence

from caveat.exceptions import OptionError
from caveat.nn.layers import (
    BayesConv1d,
    BayesConv2d,
    BayesLinear,
    FlipoutConv1d,
    FlipoutConv2d,
    FlipoutLinear,
    GaussianPrior,
    Prior,
    ScaleMixturePrior,
)
from caveat.nn.layers._mean_field import inverse_softplus
from caveat.nn.noise import keyed, make_keys

KINDS = [BayesLinear, FlipoutLinear]
STANDARD_ERRORS = 5
KEY = make_keys([11])[0]


def spread(layer, seed=0):
    """Give the weights means and standard deviations of their own."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, value in layer.named_parameters():
            value.copy_(torch.randn_like(value) - (1 if "rho" in name else 0))
    return layer


def posterior(layer):
    return [
        Normal(layer.weight_mean, layer.weight_std),
        *([] if layer.bias_mean is None else [Normal(layer.bias_mean, layer.bias_std)]),
    ]


def mixture(weight, std1, std2):
    return MixtureSameFamily(
        Categorical(torch.tensor([weight, 1 - weight], dtype=torch.float64)),
        Normal(
            torch.zeros(2, dtype=torch.float64), torch.tensor([std1, std2], dtype=torch.float64)
        ),
    )


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_divergence_from_a_gaussian_prior_is_torchs(kind, bias):
    layer = spread(kind(5, 3, bias, prior=GaussianPrior(0.7), dtype=torch.float64))
    prior = Normal(torch.zeros((), dtype=torch.float64), 0.7)
    expected = sum(kl_divergence(q, prior).sum() for q in posterior(layer))
    torch.testing.assert_close(layer.penalty(), expected)
    layer(torch.ones(2, 5, dtype=torch.float64))
    torch.testing.assert_close(layer.penalty(), expected)


@pytest.mark.parametrize("weight", [0.5, 0.9])
@pytest.mark.parametrize(("std1", "std2"), [(1.0, math.exp(-6)), (5.0, 2.0)])
def test_mixture_density_is_torchs(weight, std1, std2):
    values = torch.tensor([0.0, 1e-3, -0.02, 0.5, -3.0, 40.0], dtype=torch.float64)
    torch.testing.assert_close(
        ScaleMixturePrior(weight, std1, std2).log_density(values),
        mixture(weight, std1, std2).log_prob(values),
    )
    assert torch.isfinite(ScaleMixturePrior(weight, std1, std2).log_density(torch.tensor(1e4)))


def test_gaussian_density_is_torchs():
    values = torch.linspace(-5, 5, 11, dtype=torch.float64)
    expected = Normal(torch.zeros((), dtype=torch.float64), 1.5).log_prob(values)
    torch.testing.assert_close(GaussianPrior(1.5).log_density(values), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_divergence_at_the_drawn_weights(kind):
    prior = ScaleMixturePrior(0.3, 2.0, 0.1)
    layer = spread(kind(5, 3, prior=prior, dtype=torch.float64))
    x = torch.cat([torch.eye(5), torch.zeros(1, 5)]).double()
    with keyed(KEY, shared=True):
        output = layer(x)
        estimate = layer.penalty()
    bias, weight = output[5], (output[:5] - output[5]).T
    density = mixture(0.3, 2.0, 0.1)
    expected = sum(
        (q.log_prob(value) - density.log_prob(value)).sum()
        for q, value in zip(posterior(layer), (weight, bias), strict=True)
    )
    torch.testing.assert_close(estimate, expected)
    with keyed(KEY):  # a pass with signs takes the weights without them
        layer(x)
        torch.testing.assert_close(layer.penalty(), estimate)


def test_the_estimate_has_the_closed_form_as_its_mean():
    class Sampled(Prior):
        def log_density(self, weight):
            return GaussianPrior(0.7).log_density(weight)

    layer = spread(BayesLinear(4, 2, prior=Sampled(), dtype=torch.float64))
    exact = copy.deepcopy(layer)
    exact.prior = GaussianPrior(0.7)

    def one(key):
        with keyed(key):
            layer(torch.ones(1, 4, dtype=torch.float64))
            return layer.penalty()

    estimates = torch.vmap(one)(make_keys(range(5000)))
    error = estimates.std() / math.sqrt(len(estimates))
    assert (estimates.mean() - exact.penalty()).abs() < STANDARD_ERRORS * error


def test_without_a_drawn_weight_the_estimate_draws_its_own():
    layer = spread(BayesLinear(4, 2, prior=ScaleMixturePrior()))
    x = torch.ones(1, 4)
    with keyed(KEY):
        layer(x)
        drawn = layer.penalty()
    assert torch.equal(layer.penalty(), drawn)  # still of that pass
    layer.eval()(x)
    assert layer.penalty() != layer.penalty()
    with keyed(KEY):
        assert torch.equal(layer.penalty(), drawn)
        with torch.no_grad():
            layer(x)
        assert layer._noise is None
        assert torch.equal(layer.penalty(), drawn)


def test_flipout_in_a_shared_pass_is_bayes_by_backprop():
    for flipout, bayes, shape in [
        (FlipoutLinear(4, 3), BayesLinear(4, 3), (6, 4)),
        (FlipoutConv1d(4, 3, 2), BayesConv1d(4, 3, 2), (6, 4, 5)),
        (FlipoutConv2d(4, 3, 2), BayesConv2d(4, 3, 2), (6, 4, 5, 5)),
    ]:
        bayes.load_state_dict(spread(flipout).state_dict())
        x = torch.randn(shape)
        with keyed(KEY, shared=True):
            assert torch.equal(flipout(x), bayes(x))
        with keyed(KEY):
            assert not torch.allclose(flipout(x), bayes(x))


def passes(layer, x, count, shared=False):
    def one(key):
        with keyed(key, shared=shared):
            return layer(x)

    return torch.vmap(one)(make_keys(range(count))).detach()


def agree(first, second, error):
    return bool(((first - second).abs() < STANDARD_ERRORS * error).all())


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_outputs_have_the_variance_of_the_weights(kind, shared):
    count = 20_000
    layer = spread(kind(4, 3, dtype=torch.float64))
    x = torch.randn(2, 4, dtype=torch.float64)
    sampled = passes(layer, x, count, shared)
    variance = (x.square() @ layer.weight_std.square().T + layer.bias_std.square()).detach()
    assert agree(sampled.mean(0), layer.eval()(x).detach(), (variance / count).sqrt())
    # Each output is Gaussian, so its sample variance has the standard error variance sqrt(2 / n).
    assert agree(sampled.var(0), variance, variance * math.sqrt(2 / count))


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (FlipoutLinear(4, 3, dtype=torch.float64), (3, 4)),
        (FlipoutConv1d(2, 3, 2, dtype=torch.float64), (3, 2, 2)),
        (FlipoutConv2d(2, 3, 2, bias=False, dtype=torch.float64), (3, 2, 2, 2)),
    ],
)
def test_flipout_rows_are_uncorrelated_and_each_is_bayes(layer, shape):
    count = 20_000
    x = torch.randn(1, *shape[1:], dtype=torch.float64).expand(shape)
    sampled = passes(spread(layer), x, count).flatten(2)
    centered = sampled - sampled.mean(0)
    variance = sampled.var(0)
    rows, outputs = variance.shape
    for i in range(rows):
        for j in range(i):
            # Var(ab) = Var(a) Var(b) (1 + 2 E[(w'w)^2] terms); taken from the products themselves.
            products = centered[:, i] * centered[:, j]
            assert agree(products.mean(0), torch.zeros(outputs), products.std(0) / count**0.5)
    shared = passes(layer, x, count, shared=True).flatten(2)
    torch.testing.assert_close(shared[:, 0], shared[:, 1])
    assert agree(variance[0], shared.var(0)[0], 2 * variance[0] / count**0.5)


def test_rows_of_bayes_by_backprop_share_their_weights():
    layer = spread(BayesLinear(4, 3))
    x = torch.randn(1, 4).expand(5, 4)
    with keyed(KEY):
        output = layer(x)
    torch.testing.assert_close(output, output[:1].expand_as(output))


@pytest.mark.parametrize("kind", KINDS)
def test_first_means_and_standard_deviations(kind):
    layer = kind(100, 50, initial_mean=1.0, initial_std=0.2)
    values = torch.cat([layer.weight_mean.flatten(), layer.bias_mean])
    assert abs(values.mean()) < STANDARD_ERRORS / math.sqrt(len(values))
    assert abs(values.var() - 1) < STANDARD_ERRORS * math.sqrt(2 / len(values))
    torch.testing.assert_close(layer.weight_std, torch.full((50, 100), 0.2))
    torch.testing.assert_close(layer.bias_std, torch.full((50,), 0.2))
    torch.testing.assert_close(kind(100, 1).weight_std, torch.full((1, 100), 0.01))
    assert kind(3, 2, bias=False).bias_std is None


@pytest.mark.parametrize("value", [1e-6, 0.5, 3.0, 800.0])
def test_inverse_softplus(value):
    raw = torch.tensor(inverse_softplus(value), dtype=torch.float64)
    torch.testing.assert_close(torch.nn.functional.softplus(raw).item(), value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GaussianPrior(0), "std must be a number above 0; got 0"),
        (lambda: ScaleMixturePrior(0.5, -1.0), "std1 must be a number above 0; got -1.0"),
        (lambda: ScaleMixturePrior(0.5, 1.0, math.nan), "std2 must be a number above 0; got nan"),
        (
            lambda: ScaleMixturePrior(1.0),
            "weight must lie between 0 and 1; got 1.0; a prior of one",
        ),
        (
            lambda: ScaleMixturePrior().divergence(torch.zeros(1), torch.ones(1)),
            "ScaleMixturePrior has no closed form of its divergence; pass the standard normal noise",
        ),
        (
            lambda: BayesLinear(2, 2, prior=0.5),
            r"prior must be a Prior such as GaussianPrior\(1.0\); got float",
        ),
        (
            lambda: BayesLinear(2, 2, initial_std=0.0),
            "initial_std must be a number above 0; got 0",
        ),
        (
            lambda: FlipoutLinear(2, 2, initial_mean=-1.0),
            "initial_mean must be a number above 0; got -1.0",
        ),
    ],
)
def test_options_are_checked(make, message):
    with pytest.raises(OptionError, match=message):
        make()
