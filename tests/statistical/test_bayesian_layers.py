"""Each Bayesian layer on a linear-Gaussian problem, whose posterior is known.

y = X w + noise of known variance, w from N(0, 1): the posterior is Gaussian with the precision
A = X'X / variance + I. What the layers should learn has a closed form, too:

- Independent Gaussian weights (Bayes by backprop, Flipout): the posterior's mean, and the variances
  1 / A_ii. These are the posterior's own where A is diagonal, and too small where it is not.
- Dropout and DropConnect with a fixed p: ridge regression, and a variance that does not fall with
  more data.
- Concrete dropout: the same with a p that falls, and a variance in proportion to the squared weight.

Gradients are checked rather than trained parameters where that says the same: their mean over M
independent keys has a standard error, and a true gradient leaves 5 of them once in 1.7 million.
Trained parameters are compared with the standard error over 24 copies with independent noise.
"""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit, logit
from torch import nn
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.nn.functional import softplus

from caveat.nn.layers import (
    BayesLinear,
    ConcreteDropoutLinear,
    DropConnectLinear,
    Dropout,
    FlipoutLinear,
    GaussianPrior,
    MeanVarianceHead,
    ScaleMixturePrior,
    number_layers,
    total_penalty,
)
from caveat.nn.losses import gaussian_nll
from caveat.nn.noise import derive_key, keyed, make_keys

STANDARD_ERRORS = 5
WEIGHTS, VARIANCE = 4, 0.25
MEAN_FIELD = [BayesLinear, FlipoutLinear]


def design(samples, correlated, seed=0):
    """Return inputs with X'X = samples * I, or with two columns that are nearly the same."""
    rng = np.random.default_rng(seed)
    X = np.linalg.qr(rng.normal(size=(samples, WEIGHTS)))[0] * math.sqrt(samples)
    if correlated:
        X[:, 1] = 0.9 * X[:, 0] + math.sqrt(1 - 0.81) * X[:, 1]
    return torch.tensor(X)


def problem(samples, correlated=False, seed=0, variance=VARIANCE):
    X = design(samples, correlated, seed)
    rng = np.random.default_rng(seed + 1)
    weights = torch.tensor([1.0, -0.5, 0.1, 2.0], dtype=torch.float64)
    return X, X @ weights + math.sqrt(variance) * torch.tensor(rng.normal(size=samples))


def posterior(X, y):
    """Return mean and precision of the weights."""
    precision = X.T @ X / VARIANCE + torch.eye(WEIGHTS, dtype=torch.float64)
    return torch.linalg.solve(precision, X.T @ y / VARIANCE), precision


class Objective(nn.Module):
    """Minus the evidence's lower bound, at one draw."""

    def __init__(self, module, variance=VARIANCE):
        super().__init__()
        self.module, self.variance = module, variance

    def forward(self, X, y):
        residual = y - self.module(X)[:, 0]
        return residual.square().sum() / (2 * self.variance) + total_penalty(self.module)


def gradients(objective, X, y, draws=4000):
    """Return for each parameter the mean of its gradient over keys, and the standard error."""
    parameters = {name: value.detach() for name, value in objective.named_parameters()}

    def one(parameters, key):
        with keyed(key):
            return functional_call(objective, parameters, (X, y))

    sampled = vmap(grad(one), in_dims=(None, 0))(parameters, independent_keys(draws))
    return {
        name.removeprefix("module."): (value.mean(0), value.std(0) / math.sqrt(draws))
        for name, value in sampled.items()
    }


def independent_keys(count, seed=0):
    return derive_key(make_keys(range(count)), seed)


def agree(first, second, error):
    """Tell whether two numbers are within 5 standard errors, and the rounding of a sum."""
    return bool(((first - second).abs() <= STANDARD_ERRORS * error + 1e-9).all())


def set_gaussian(layer, mean, std):
    with torch.no_grad():
        layer.weight_mean.copy_(mean)
        layer.weight_rho.copy_(torch.special.expm1(std).log())


@pytest.mark.parametrize("correlated", [False, True])
@pytest.mark.parametrize("kind", MEAN_FIELD)
def test_gradients_of_gaussian_weights_lead_to_the_mean_field_posterior(kind, correlated):
    X, y = problem(40, correlated)
    mean, precision = posterior(X, y)
    layer = kind(WEIGHTS, 1, bias=False, prior=GaussianPrior(1.0), dtype=torch.float64)
    diagonal = precision.diagonal()
    optimum = diagonal.rsqrt()
    for shift, scale in [(0.0, 1.0), (0.1, 1.0), (0.0, 1.7), (-0.05, 0.6)]:
        std = optimum * scale
        set_gaussian(layer, mean + shift, std)
        found = gradients(Objective(layer), X, y)
        # With L = E[NLL] + KL: dL/dmean = A (mean - posterior mean), dL/dstd = A_ii std - 1 / std.
        towards = precision @ torch.full((WEIGHTS,), shift, dtype=torch.float64)
        slope = torch.sigmoid(layer.weight_rho.detach()) * (diagonal * std - 1 / std)
        assert agree(found["weight_mean"][0], towards, found["weight_mean"][1])
        assert agree(found["weight_rho"][0], slope, found["weight_rho"][1])
    # At the posterior's own standard deviations the layer is not at rest, if weights correlate.
    set_gaussian(layer, mean, torch.linalg.inv(precision).diagonal().sqrt())
    at_truth, error = gradients(Objective(layer), X, y)["weight_rho"]
    if correlated:
        assert (at_truth[0, :2] > STANDARD_ERRORS * error[0, :2]).all()
    else:
        assert agree(at_truth, torch.zeros(()), error)


def train(copies, X, y, steps, rate, seed, variance=VARIANCE):
    """Train copies at once, each on its own data, with a rate that falls to 0.

    Returns the parameters averaged over the last tenth of the steps.
    """
    objective = Objective(copies[0], variance)
    parameters, _ = stack_module_state([Objective(copy, variance) for copy in copies])
    keys = independent_keys(len(copies), seed)

    def one(parameters, key, X, y):
        with keyed(key):
            return functional_call(objective, parameters, (X, y))

    optimizer = torch.optim.Adam(parameters.values(), lr=rate)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, steps)
    sums = {name: torch.zeros_like(value) for name, value in parameters.items()}
    last = steps // 10
    for step in range(steps):
        optimizer.zero_grad()
        vmap(one)(parameters, derive_key(keys, step), X, y).sum().backward()
        optimizer.step()
        schedule.step()
        if step >= steps - last:
            for name, value in parameters.items():
                sums[name] += value.detach() / last
    return {name.removeprefix("module."): value for name, value in sums.items()}


@pytest.mark.parametrize("kind", MEAN_FIELD)
def test_trained_gaussian_weights_are_the_mean_field_posterior(kind):
    replicates = 24
    problems = [problem(40, correlated) for correlated in (False, True)]
    X, y = (
        torch.stack(parts).repeat_interleave(replicates, 0) for parts in zip(*problems, strict=True)
    )
    torch.manual_seed(0)
    copies = [
        kind(WEIGHTS, 1, bias=False, prior=GaussianPrior(1.0), dtype=torch.float64)
        for _ in range(2 * replicates)
    ]
    trained = train(copies, X, y, steps=1500, rate=0.03, seed=1000)
    means = trained["weight_mean"][:, 0].reshape(2, replicates, WEIGHTS)
    stds = softplus(trained["weight_rho"][:, 0]).reshape(2, replicates, WEIGHTS)
    for i, (X, y) in enumerate(problems):
        mean, precision = posterior(X, y)
        for values, known in ((means[i], mean), (stds[i], precision.diagonal().rsqrt())):
            error = values.std(0) / math.sqrt(replicates)
            assert agree(values.mean(0), known, error)
    exact = torch.linalg.inv(posterior(*problems[1])[1]).diagonal().sqrt()
    # The known failure: nearly collinear inputs have sqrt(1 - 0.9**2) = 0.44 of the true spread.
    assert (stds[1].mean(0)[:2] < 0.5 * exact[:2]).all()


def test_the_mean_of_the_mixtures_estimate_is_its_divergence():
    mean, std, prior = 0.3, 0.2, ScaleMixturePrior(0.5, 1.0, math.exp(-2))

    def density(w, mean, std):
        return math.exp(-(((w - mean) / std) ** 2) / 2) / (std * math.sqrt(2 * math.pi))

    def integrand(w):
        q = density(w, mean, std)
        p = 0.5 * density(w, 0, 1.0) + 0.5 * density(w, 0, math.exp(-2))
        return q * math.log(q / p)

    expected = quad(integrand, mean - 10 * std, mean + 10 * std, limit=200)[0]
    layer = BayesLinear(1, 1, bias=False, prior=prior, dtype=torch.float64)
    set_gaussian(layer, torch.tensor(mean), torch.tensor(std, dtype=torch.float64))

    def one(key):
        with keyed(key):
            return layer.penalty()

    estimates = vmap(one)(independent_keys(50_000)).detach()
    assert agree(estimates.mean(), expected, estimates.std() / math.sqrt(len(estimates)))


class Linear(nn.Sequential):
    """Dropout before a plain dense layer."""

    def __init__(self, p):
        super().__init__(Dropout(p), nn.Linear(WEIGHTS, 1, bias=False, dtype=torch.float64))

    @property
    def weight(self):
        return self[1].weight


DROPPED = [Linear, lambda p: DropConnectLinear(WEIGHTS, 1, bias=False, p=p, dtype=torch.float64)]


@pytest.mark.parametrize("make", DROPPED, ids=["dropout", "dropconnect"])
def test_dropped_weights_are_a_ridge_regression_whose_variance_stays(make):
    p, x = 0.3, torch.tensor([[1.0, -1.0, 0.5, 2.0]], dtype=torch.float64)
    odds = p / (1 - p)
    variances, exact = [], []
    for samples in (50, 5000):
        X, y = problem(samples, correlated=True)
        gram = X.T @ X
        ridge = torch.linalg.solve(gram + odds * torch.diag(gram.diagonal()), X.T @ y)
        module = make(p)
        for shift in (0.0, 0.2):
            with torch.no_grad():
                module.weight.copy_(ridge + shift)
            (mean, error), *_ = gradients(Objective(module), X, y, draws=1000).values()
            step = torch.full((WEIGHTS,), shift, dtype=torch.float64)
            towards = (gram @ step + odds * gram.diagonal() * step) / VARIANCE
            assert agree(mean, towards, error)
        with torch.no_grad():
            module.weight.copy_(ridge)
        deviations = shared_passes(module, x, 20_000) - x @ ridge
        squares = deviations.square()
        known = odds * (x.square() @ ridge.square())
        assert agree(squares.mean(), known, squares.std() / math.sqrt(len(squares)))
        variances.append(known.item())
        exact.append((x @ torch.linalg.inv(posterior(X, y)[1]) @ x.T).item())
    # With a hundred times the data the posterior is a hundred times narrower, and the layer is not.
    assert exact[0] / exact[1] == pytest.approx(100, rel=0.05)
    assert variances[0] / variances[1] == pytest.approx(1, rel=0.2)


def shared_passes(module, x, count):
    def one(key):
        with keyed(key, shared=True):
            return module(x)[0, 0]

    return vmap(one)(independent_keys(count)).detach()


def relaxed_moments(p, temperature=0.1):
    """Return mean and variance of a relaxed mask, divided by 1 - p."""

    def moment(power):
        def integrand(v):
            return expit(-(logit(p) + v) / temperature) ** power * expit(v) * expit(-v)

        return quad(integrand, -60, 60, points=[-logit(p)], limit=500, epsabs=1e-12)[0]

    first = moment(1)
    return first / (1 - p), (moment(2) - first**2) / (1 - p) ** 2


NOISY, LENGTH_SCALE = 10.0, 0.5


def expected_concrete(parameters, X, y):
    """Return the expected objective of Concrete dropout on a linear model, without sampling."""
    w, p = np.asarray(parameters[:-1]), expit(parameters[-1])
    scale, spread = relaxed_moments(p)
    residual = y.numpy() - scale * X.numpy() @ w
    fit = (residual @ residual + spread * (w**2 @ (X.T @ X).diagonal().numpy())) / (2 * NOISY)
    entropy = -p * math.log(p) - (1 - p) * math.log(1 - p)
    return fit + LENGTH_SCALE**2 * (w @ w) / (2 * (1 - p)) - WEIGHTS * entropy


def concrete():
    return ConcreteDropoutLinear(
        WEIGHTS, 1, bias=False, length_scale=LENGTH_SCALE, dtype=torch.float64
    )


def best_concrete(samples):
    """Return the problem and the best weights and logit, found without sampling."""
    X, y = problem(samples, variance=NOISY)
    start = np.append(np.linalg.lstsq(X.numpy(), y.numpy(), rcond=None)[0], -2.0)
    found = minimize(expected_concrete, start, args=(X, y), method="BFGS")
    return X, y, found.x


def test_gradients_of_concrete_dropout_lead_to_the_best_p():
    layer, best = concrete(), []
    for samples in (20, 40, 80):
        X, y, optimum = best_concrete(samples)
        best.append(expit(optimum[-1]))
        for shift in (0.0, 0.3):
            point = optimum + shift
            with torch.no_grad():
                layer.weight.copy_(torch.tensor(point[:-1]))
                layer.logit_p.fill_(point[-1])
            found = gradients(Objective(layer, NOISY), X, y, draws=20_000)
            steps = 1e-4 * np.eye(len(point))
            slope = torch.tensor(
                [
                    (expected_concrete(point + h, X, y) - expected_concrete(point - h, X, y)) / 2e-4
                    for h in steps
                ]
            )
            assert agree(found["weight"][0], slope[:-1], found["weight"][1])
            assert agree(found["logit_p"][0], slope[-1], found["logit_p"][1])
    assert best[0] > 2 * best[1] > 4 * best[2]


def test_trained_concrete_dropout_finds_the_best_p_and_spreads_by_the_weight():
    replicates = 24
    X, y, optimum = best_concrete(20)
    torch.manual_seed(0)
    trained = train(
        [concrete() for _ in range(replicates)],
        X.expand(replicates, -1, -1),
        y.expand(replicates, -1),
        steps=1500,
        rate=0.03,
        seed=3,
        variance=NOISY,
    )
    values = torch.cat([trained["weight"][:, 0], trained["logit_p"][:, None]], dim=1)
    assert agree(values.mean(0), torch.tensor(optimum), values.std(0) / math.sqrt(replicates))
    # The posterior of this design is equally wide for all weights; the layer's is not.
    layer = concrete()
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(optimum[:-1]))
        layer.logit_p.fill_(optimum[-1])
    scale, spread = relaxed_moments(expit(optimum[-1]))
    for weight, row in zip(optimum[:-1], torch.eye(WEIGHTS, dtype=torch.float64), strict=True):
        squares = (shared_passes(layer, row[None], 20_000) - scale * weight).square()
        assert agree(squares.mean(), spread * weight**2, squares.std() / math.sqrt(len(squares)))


def test_concrete_dropout_of_a_network_falls_with_more_samples():
    found = []
    for samples in (20, 2000):
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Linear(1, 24),
            nn.ReLU(),
            ConcreteDropoutLinear(24, 24),
            nn.ReLU(),
            MeanVarianceHead(24, linear=ConcreteDropoutLinear),
        )
        number_layers(model)
        x = torch.linspace(-2, 2, samples)[:, None]
        y = torch.sin(2 * x) + 0.3 * torch.randn(x.shape)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        key = make_keys([1])[0]
        for step in range(900):
            with keyed(derive_key(key, step)):
                loss = gaussian_nll(model(x), y).mean() + total_penalty(model) / samples
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        found.append([layer.p.item() for layer in (model[2], model[4].linear)])
    few, many = found
    assert all(b < a / 2 for a, b in zip(few, many, strict=True))
    assert few[0] > 0.1  # where it started
