"""Losses against torch's own, against torch.distributions, and against their definitions."""

import math

import pytest
import torch
from torch.distributions import Normal
from torch.nn import functional

from caveat.exceptions import LabelError, OptionError, ShapeError
from caveat.nn import noise
from caveat.nn.layers import Dropout
from caveat.nn.losses import (
    LOSS_PLACE,
    anchored_penalty,
    beta_nll,
    elbo,
    gaussian_nll,
    nll,
    pinball,
    sampled_softmax_nll,
    squared_error,
)
from caveat.nn.noise import derive_key, keyed, make_keys

KEY = make_keys([5])[0]
LEVELS = [0.0228, 0.1587, 0.5, 0.8413, 0.9772]


@pytest.fixture
def rng():
    return torch.Generator().manual_seed(0)


def randn(rng, *shape):
    return torch.randn(*shape, generator=rng, dtype=torch.float64)


def gaussian(rng, *shape):
    return torch.stack([randn(rng, *shape), randn(rng, *shape).exp()], dim=-2)


def codes(rng, samples, classes):
    return torch.randint(0, classes, (samples,), generator=rng)


def test_nll_is_torchs_cross_entropy(rng):
    logits, target = 5 * randn(rng, 20, 4), codes(rng, 20, 4)
    expected = functional.cross_entropy(logits, target, reduction="none")
    torch.testing.assert_close(nll(logits, target), expected)
    torch.testing.assert_close(nll(logits, target.to(torch.int32)), expected)
    assert nll(torch.tensor([[1e4, -1e4]]), torch.tensor([1])) == 2e4


@pytest.mark.parametrize("targets", [1, 3])
def test_gaussian_nll_is_torchs(rng, targets):
    output, target = gaussian(rng, 20, targets), randn(rng, 20, targets)
    mean, std = output.unbind(1)
    torch.testing.assert_close(
        gaussian_nll(output, target), -Normal(mean, std).log_prob(target).sum(1)
    )
    torch.testing.assert_close(
        gaussian_nll(output, target),
        functional.gaussian_nll_loss(mean, target, std**2, full=True, reduction="none").sum(1),
    )


def test_gaussian_nll_does_not_lose_small_deviations():
    output = torch.tensor([[[0.0], [1e-25]]])
    torch.testing.assert_close(
        gaussian_nll(output, torch.tensor([1e-25])),
        torch.tensor([math.log(1e-25) + 0.5 + math.log(2 * math.pi) / 2]),
    )


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_beta_nll_weights_the_gradients(rng, beta):
    output, target = gaussian(rng, 20, 2).requires_grad_(), randn(rng, 20, 2)
    mean, std = output.detach().unbind(1)
    loss = beta_nll(output, target, beta=beta)
    density = Normal(mean, std).log_prob(target)
    torch.testing.assert_close(loss.detach(), -(std ** (2 * beta) * density).sum(1))
    (gradient,) = torch.autograd.grad(loss.sum(), output)
    residual = mean - target
    torch.testing.assert_close(gradient[:, 0], std ** (2 * beta - 2) * residual)
    torch.testing.assert_close(gradient[:, 1], std ** (2 * beta) * (1 / std - residual**2 / std**3))


def test_beta_1_is_the_gradient_of_half_a_squared_error(rng):
    output, target = gaussian(rng, 20, 2).requires_grad_(), randn(rng, 20, 2)
    (gradient,) = torch.autograd.grad(beta_nll(output, target, beta=1.0).sum(), output)
    (plain,) = torch.autograd.grad(squared_error(output[:, 0], target).sum() / 2, output)
    torch.testing.assert_close(gradient[:, 0], plain[:, 0])


def test_sampled_softmax_is_the_algorithm(rng):
    output, target = gaussian(rng, 6, 3), codes(rng, 6, 3)
    with keyed(KEY):
        loss = sampled_softmax_nll(output, target, draws=50)
    epsilon = noise.normal(KEY, noise.stream(LOSS_PLACE, 0), (6, 50, 3), output)
    for i in range(6):
        averaged = sum(
            torch.softmax(output[i, 0] + output[i, 1] * epsilon[i, k], 0) for k in range(50)
        )
        torch.testing.assert_close(loss[i], -(averaged / 50)[target[i]].log())


def test_sampled_softmax_has_one_noise_for_a_key(rng):
    output, target = gaussian(rng, 6, 3), codes(rng, 6, 3)

    def loss(key=KEY, rows=slice(None), shared=False, **options):
        with keyed(key, shared=shared):
            return sampled_softmax_nll(output[rows], target[rows], **options)

    torch.testing.assert_close(loss(), loss(), rtol=0, atol=0)
    assert not torch.equal(loss(), loss(derive_key(KEY, 1)))
    assert not torch.equal(loss(), loss(place=-2))
    shared = loss(shared=True)
    for i in range(6):
        torch.testing.assert_close(shared[i : i + 1], loss(rows=slice(i, i + 1), shared=True))
    torch.manual_seed(0)
    free = sampled_softmax_nll(output, target)
    assert not torch.equal(free, sampled_softmax_nll(output, target))


def test_the_losses_noise_is_no_layers():
    own = noise.normal(KEY, noise.stream(LOSS_PLACE, 0), (100,), torch.ones(1))
    layer = Dropout()
    for place in range(50):
        layer.place = place
        with keyed(KEY):
            assert not torch.equal(layer.normal((100,), torch.ones(1)), own)


def test_sampled_softmax_converges_to_the_expected_probability():
    # Two classes with noise on the first only: E sigmoid(m + s e) by quadrature.
    mean, std, draws = 0.7, 1.5, 200_000
    output = torch.tensor([[[mean, 0.0], [std, 1e-12]]], dtype=torch.float64)
    with keyed(KEY):
        loss = sampled_softmax_nll(output, torch.tensor([0]), draws=draws)
    grid = torch.linspace(-10, 10, 20001, dtype=torch.float64)
    values = torch.sigmoid(mean + std * grid)
    density = Normal(0.0, 1.0).log_prob(grid).exp()
    expected = torch.trapezoid(values * density, grid)
    spread = torch.trapezoid((values - expected) ** 2 * density, grid).sqrt()
    assert abs((-loss).exp() - expected) < 5 * spread / math.sqrt(draws)


def test_sampled_softmax_is_finite_where_all_probabilities_underflow():
    output = torch.tensor([[[0.0, 1e4], [1.0, 1.0]]], requires_grad=True)
    loss = sampled_softmax_nll(output, torch.tensor([0]))
    loss.sum().backward()
    assert 9e3 < loss < 1.1e4
    assert torch.isfinite(output.grad).all()


def test_pinball_is_equation_21(rng):
    output, target = randn(rng, 20, 2, 5), randn(rng, 20, 2)
    loss = pinball(output, target, LEVELS)
    for n in range(20):
        total = 0.0
        for t in range(2):
            for i, level in enumerate(LEVELS):
                residual = (target[n, t] - output[n, t, i]).item()
                total += max(level * residual, (level - 1) * residual)
        assert loss[n].item() == pytest.approx(total / 10)


def test_pinball_is_least_at_the_quantile():
    target = torch.arange(1.0, 101.0)
    candidates = torch.arange(0.5, 101.0, 1.0)
    losses = torch.stack(
        [pinball(value.expand(100, 1, 1), target, [0.9]).mean() for value in candidates]
    )
    assert candidates[losses.argmin()] == 90.5


def test_squared_error_is_torchs_summed_over_targets(rng):
    output, target = randn(rng, 20, 3), randn(rng, 20, 3)
    expected = functional.mse_loss(output, target, reduction="none")
    torch.testing.assert_close(squared_error(output, target), expected.sum(1))
    torch.testing.assert_close(squared_error(output[:, 0], target[:, 0]), expected[:, 0])
    torch.testing.assert_close(squared_error(output[:, :1], target[:, 0]), expected[:, 0])


def test_elbo_weights_both_parts():
    losses, divergence = torch.tensor([1.0, 2.0, 6.0]), torch.tensor(10.0)
    assert elbo(losses, divergence) == 13
    assert elbo(losses, divergence, likelihood_weight=2000.0) == 6010
    assert elbo(losses, divergence, kl_weight=0.5) == 8


def test_anchored_penalty_is_equation_5(rng):
    module = torch.nn.Linear(3, 2).double()
    anchors = {name: randn(rng, *value.shape) for name, value in module.named_parameters()}
    names = dict(module.named_parameters())
    squares = sum((names[name] - anchors[name]).pow(2).sum() for name in names)
    expected = 0.3 / 50 * squares
    for half, factor in ((False, 1), (True, 2)):
        options = {"strength": 0.3, "samples": 50, "half": half}
        for given, fixed in [
            (names, anchors),
            (names, dict(reversed(anchors.items()))),
            (module.parameters(), anchors.values()),
            (module.parameters(), anchors),
        ]:
            torch.testing.assert_close(anchored_penalty(given, fixed, **options), expected / factor)
    gradient = torch.autograd.grad(
        anchored_penalty(names, anchors, strength=0.3, samples=50), names["bias"]
    )[0]
    torch.testing.assert_close(gradient, 2 * 0.3 / 50 * (names["bias"] - anchors["bias"]))


LOSSES = {
    "nll": (lambda out, y: nll(out[:, 0], y[:, 0].abs().long() % 3), 3),
    "gaussian_nll": (gaussian_nll, 3),
    "beta_nll": (lambda out, y: beta_nll(out, y, beta=0.0), 3),
    "sampled": (lambda out, y: sampled_softmax_nll(out, y[:, 0].abs().long() % 3, draws=7), 3),
    "pinball": (lambda out, y: pinball(out, y[:, :2], [0.1, 0.5, 0.9]), 3),
    "squared_error": (lambda out, y: squared_error(out[:, 0], y), 3),
}
every = pytest.mark.parametrize(("loss", "units"), LOSSES.values(), ids=LOSSES.keys())


@every
def test_gradients_are_right(rng, loss, units):
    output, target = gaussian(rng, 4, units).requires_grad_(), randn(rng, 4, units)

    def keyed_loss(output):
        with keyed(KEY):
            return loss(output, target)

    assert torch.autograd.gradcheck(keyed_loss, (output,))


@every
def test_stacked_losses_are_the_losses_one_by_one(rng, loss, units):
    outputs, targets = gaussian(rng, 3, 4, units), randn(rng, 3, 4, units)
    keys = make_keys([1, 2, 3])

    def one(output, target, key):
        with keyed(key):
            return loss(output, target)

    together = torch.vmap(one)(outputs, targets, keys)
    assert together.shape == (3, 4)
    for i in range(3):
        torch.testing.assert_close(together[i], one(outputs[i], targets[i], keys[i]))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: nll(torch.zeros(3, 2), torch.zeros(3)),
            LabelError,
            r"target must hold class codes 0, 1, 2, ... as integers; got torch.float32; pass target",
        ),
        (
            lambda: nll(torch.zeros(3, 2), torch.zeros(3, 1).long()),
            ShapeError,
            r"target must have shape \(3,\), one class code for each row of the output; got \(3, 1\)",
        ),
        (
            lambda: gaussian_nll(torch.ones(3, 2, 2), torch.zeros(3)),
            ShapeError,
            r"target must have shape \(3, 2\), as the output has; got \(3,\)",
        ),
        (
            lambda: gaussian_nll(torch.ones(3, 4), torch.zeros(3)),
            ShapeError,
            r"output must have shape \(samples, 2, targets\), mean and standard deviation; got \(3, 4",
        ),
        (
            lambda: sampled_softmax_nll(torch.ones(3), torch.zeros(3).long()),
            ShapeError,
            r"output must have shape \(samples, 2, classes\), mean and standard deviation; got \(3,\)",
        ),
        (
            lambda: sampled_softmax_nll(torch.ones(3, 2, 2), torch.zeros(3).long(), draws=0),
            OptionError,
            "draws must be a whole number of at least 1; got 0",
        ),
        (
            lambda: beta_nll(torch.ones(3, 2, 1), torch.zeros(3), beta=2),
            OptionError,
            "beta must be from 0 to 1; got 2",
        ),
        (
            lambda: pinball(torch.ones(3, 1, 2), torch.zeros(3), [0.1, 0.5, 0.9]),
            ShapeError,
            r"output must have shape \(samples, targets, 3\), one value for each level; got \(3, 1, 2",
        ),
        (
            lambda: pinball(torch.ones(3, 1, 1), torch.zeros(3), [1.5]),
            OptionError,
            "levels must lie between 0 and 1 and increase",
        ),
        (
            lambda: squared_error(torch.ones(3), torch.zeros(3, 3)),
            ShapeError,
            r"target must have shape \(3, 1\), as the output has; got \(3, 3\)",
        ),
        (
            lambda: anchored_penalty(
                {"a": torch.ones(1)}, {"b": torch.ones(1)}, strength=1, samples=1
            ),
            OptionError,
            r"anchors must have the parameters' names; only one has \['a', 'b'\]",
        ),
        (
            lambda: anchored_penalty([torch.ones(1)], [], strength=1, samples=1),
            OptionError,
            "anchors must be as many as the parameters, 1; got 0",
        ),
        (
            lambda: anchored_penalty([], [], strength=1, samples=1),
            OptionError,
            r"parameters must not be empty; pass list\(module.parameters\(\)\)",
        ),
        (
            lambda: anchored_penalty([torch.ones(2)], [torch.ones(1)], strength=1, samples=1),
            ShapeError,
            r"anchor 0 must have its parameter's shape \(2,\); got \(1,\)",
        ),
    ],
)
def test_inputs_are_checked(call, error, message):
    with pytest.raises(error, match=message):
        call()
