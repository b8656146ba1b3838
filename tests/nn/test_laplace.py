"""The posterior of the last layer against closed forms, numeric Hessians and scipy."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.optimize import minimize, minimize_scalar
from torch import nn

from caveat.exceptions import InvalidValueError, LabelError, OptionError, ShapeError
from caveat.nn import MLP, _laplace, laplace, losses
from caveat.nn.layers import MeanVarianceHead

RNG = np.random.default_rng(0)
X = torch.tensor(RNG.normal(size=(40, 4)))
CODES = torch.tensor(RNG.integers(3, size=40))
VALUES = torch.tensor(RNG.normal(size=(40, 2))) + X[:, :2]
NEW = torch.tensor(3 * RNG.normal(size=(6, 4)))
WEIGHT = RNG.integers(1, 4, size=40)


def network(outputs, seed=0, bias=True, hidden=5):
    torch.manual_seed(seed)
    parts = [nn.Linear(4, hidden), nn.Tanh(), nn.Linear(hidden, outputs, bias=bias)]
    return nn.Sequential(*parts).double().eval()


def features(module, X):
    with torch.no_grad():
        phi = module[:-1](X).numpy()
    bias = getattr(module[-1], "bias", None) is not None or hasattr(module[-1], "linear")
    return np.column_stack([phi, np.ones(len(X))]) if bias else phi


def hessian(module, X, y, loss):
    """Return the Hessian of the summed loss in the last layer's weights, by torch: [W, b] rows."""
    phi = torch.tensor(features(module, X))
    start = torch.cat([p.detach().reshape(len(p), -1) for p in module[-1].parameters()], 1)

    def total(theta):
        return loss(phi @ theta.view_as(start).T, y).sum()

    return torch.autograd.functional.hessian(total, start.flatten()).numpy(), start.numpy()


@pytest.mark.parametrize("bias", [True, False])
def test_logits_have_the_covariance_of_the_numeric_hessian(bias):
    module = network(3, bias=bias)
    found = laplace(module, X, CODES, prior_std=0.7)
    H, _ = hessian(module, X, CODES, losses.nll)
    covariance = np.linalg.inv(H + np.eye(len(H)) / 0.7**2)
    phi = features(module, NEW)
    outputs = found.outputs(NEW, 50).numpy()
    np.testing.assert_allclose(outputs.mean(0), module(NEW).detach(), atol=1e-9)
    for i, row in enumerate(phi):
        J = np.kron(np.eye(3), row)
        seen = np.cov(outputs[:, i].T, ddof=0)
        np.testing.assert_allclose(seen, J @ covariance @ J.T, rtol=1e-6, atol=1e-9)


def test_few_draws_of_many_classes_are_drawn():
    outputs = laplace(network(3), X, CODES).outputs(NEW, 2)
    assert outputs.shape == (2, 6, 3)
    assert bool((outputs[0] != outputs[1]).any())


def test_a_single_logit_is_that_of_the_second_class():
    module = network(1)
    y = (CODES > 0).double()
    bernoulli = partial(nn.functional.binary_cross_entropy_with_logits, reduction="none")
    H, _ = hessian(module, X, y[:, None], bernoulli)
    found = laplace(module, X, y, prior_std=0.7)
    covariance = np.linalg.inv(H + np.eye(len(H)) / 0.7**2)
    phi = features(module, NEW)
    expected = np.einsum("nf,fg,ng->n", phi, covariance, phi)
    np.testing.assert_allclose(found.outputs(NEW, 9).numpy().var(0)[:, 0], expected, rtol=1e-6)
    assert found.predict(NEW, classes=["no", "yes"]).classes.tolist() == ["no", "yes"]


def test_the_prior_of_classes_has_the_greatest_evidence():
    module = network(3)
    H, theta = hessian(module, X, CODES, losses.nll)

    def minus_log_evidence(log_precision):
        d = np.exp(log_precision)
        return (
            d * (theta**2).sum() + np.linalg.slogdet(H + d * np.eye(len(H)))[1]
            - len(H) * log_precision
        )  # fmt: skip

    best = minimize_scalar(minus_log_evidence, bounds=(-15, 15), method="bounded")
    found = laplace(module, X, CODES)
    assert found.prior_std == pytest.approx(np.exp(-best.x / 2), rel=1e-3)


def evidence_of_numbers(phi, theta, y, log_precision, log_variance):
    """Return minus twice the log marginal likelihood by Laplace, of any number of targets."""
    d, total = np.exp(log_precision), 0.0
    for t, log_v in enumerate(log_variance):
        H = phi.T @ phi / np.exp(log_v) + d * np.eye(phi.shape[1])
        squares = ((y[:, t] - phi @ theta[t]) ** 2).sum()
        total += len(y) * log_v + squares / np.exp(log_v) + d * (theta[t] ** 2).sum()
        total += np.linalg.slogdet(H)[1] - phi.shape[1] * log_precision
    return total


def test_noise_and_prior_of_numbers_have_the_greatest_evidence():
    module = network(2)
    phi, y = features(module, X), VALUES.numpy()
    theta = np.column_stack([module[-1].weight.detach(), module[-1].bias.detach()])
    best = minimize(
        lambda at: evidence_of_numbers(phi, theta, y, at[0], at[1:]), np.zeros(3), tol=1e-10
    )
    found = laplace(module, X, VALUES, head="mean")
    assert found.prior_std == pytest.approx(np.exp(-best.x[0] / 2), rel=1e-3)
    np.testing.assert_allclose(found.noise_std, np.exp(best.x[1:] / 2), rtol=1e-3)
    # With the noise given, the prior is the best for it.
    fixed = laplace(module, X, VALUES, head="mean", noise_std=0.5)
    given = np.full(2, np.log(0.25))
    best = minimize_scalar(
        lambda at: evidence_of_numbers(phi, theta, y, at, given), bounds=(-15, 15), method="bounded"
    )
    assert fixed.prior_std == pytest.approx(np.exp(-best.x / 2), rel=1e-3)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_numbers_are_bayesian_linear_regression_on_the_features(weight):
    module = network(2)
    options = {"head": "mean", "prior_std": 0.7, "noise_std": 0.4}
    found = laplace(module, X, VALUES, weight=weight, **options)
    phi, new = features(module, X), features(module, NEW)
    counts = np.ones(40) if weight is None else weight * 40 / weight.sum()
    covariance = np.linalg.inv((phi.T * counts) @ phi / 0.4**2 + np.eye(6) / 0.7**2)
    prediction = found.predict(NEW, passes=7, targets=["a", "b"])
    split = prediction.decompose()
    expected = np.einsum("nf,fg,ng->n", new, covariance, new)
    np.testing.assert_allclose(split.epistemic, np.column_stack([expected] * 2), rtol=1e-9)
    np.testing.assert_allclose(split.aleatoric, 0.4**2, rtol=1e-9)
    np.testing.assert_allclose(prediction.moments()[0], module(NEW).detach(), rtol=1e-9)
    assert prediction.targets.tolist() == ["a", "b"]


def test_a_learned_noise_weights_the_samples():
    torch.manual_seed(1)
    module = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), MeanVarianceHead(5, 2)).double()
    found = laplace(module, X, VALUES, head="mean-std", prior_std=0.7, noise_std=1.0)
    phi, new = features(module, X), features(module, NEW)
    with torch.no_grad():
        noise, mean = module(X)[:, 1].numpy(), module(NEW)[:, 0].numpy()
    split = found.predict(NEW).decompose()
    for target in range(2):
        precision = (phi.T / noise[:, target] ** 2) @ phi + np.eye(6) / 0.7**2
        expected = np.einsum("nf,fg,ng->n", new, np.linalg.inv(precision), new)
        np.testing.assert_allclose(split.epistemic[:, target], expected, rtol=1e-9)
    np.testing.assert_allclose(found.predict(NEW).moments()[0], mean, rtol=1e-9)
    # The prior of the greatest evidence, by scipy; only the weights of the means count.
    linear = module[-1].linear
    theta = np.column_stack([linear.weight[:2].detach(), linear.bias[:2].detach()])
    hessians = [(phi.T / noise[:, t] ** 2) @ phi for t in range(2)]

    def minus_log_evidence(log_precision):
        d = np.exp(log_precision)
        determinants = [np.linalg.slogdet(H + d * np.eye(6))[1] for H in hessians]
        return d * (theta**2).sum() + sum(determinants) - 12 * log_precision

    best = minimize_scalar(minus_log_evidence, bounds=(-15, 15), method="bounded")
    chosen = laplace(module, X, VALUES, head="mean-std", noise_std=1.0).prior_std
    assert chosen == pytest.approx(np.exp(-best.x / 2), rel=1e-3)


def test_a_learned_noise_gets_the_factor_of_the_greatest_evidence():
    torch.manual_seed(1)
    module = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), MeanVarianceHead(5, 2)).double()
    found = laplace(module, X, VALUES, head="mean-std")
    with torch.no_grad():
        mean, noise = (part.numpy() for part in module(X).unbind(1))
    linear, phi = module[-1].linear, features(module, X)
    theta = np.column_stack([linear.weight[:2].detach(), linear.bias[:2].detach()])

    def minus_log_evidence(at):
        d, total = np.exp(at[0]), 0.0
        for t, log_factor in enumerate(at[1:]):
            share = np.exp(-log_factor) / noise[:, t] ** 2
            total += 40 * log_factor + (share * (VALUES.numpy() - mean)[:, t] ** 2).sum()
            total += d * (theta[t] ** 2).sum() - 6 * at[0]
            total += np.linalg.slogdet((phi.T * share) @ phi + d * np.eye(6))[1]
        return total

    best = minimize(minus_log_evidence, np.zeros(3), tol=1e-10)
    assert found.prior_std == pytest.approx(np.exp(-best.x[0] / 2), rel=1e-3)
    np.testing.assert_allclose(found.noise_std, np.exp(best.x[1:] / 2), rtol=1e-3)
    said = found.predict(NEW).decompose().aleatoric
    with torch.no_grad():
        expected = (module(NEW)[:, 1] * found.noise_std) ** 2
    np.testing.assert_allclose(said, expected, rtol=1e-9)


def test_factors_are_exact_where_all_rows_have_the_same_probabilities(monkeypatch):
    module = network(3)
    with torch.no_grad():
        module[-1].weight.zero_()
    whole = laplace(module, X, CODES, prior_std=0.7).outputs(NEW, 50).numpy()
    monkeypatch.setattr(_laplace, "_FULL", 0)
    found = laplace(module, X, CODES, prior_std=0.7)
    assert found.factor is not None
    parts = found.outputs(NEW, 50).numpy()
    for i in range(len(NEW)):
        np.testing.assert_allclose(
            np.cov(parts[:, i].T, ddof=0), np.cov(whole[:, i].T, ddof=0), rtol=1e-6, atol=1e-9
        )
    # Elsewhere they are an approximation of the same size.
    other = network(3, seed=2)
    monkeypatch.undo()
    exact = laplace(other, X, CODES).outputs(NEW, 50).var(0, correction=0)
    monkeypatch.setattr(_laplace, "_FULL", 0)
    near = laplace(other, X, CODES).outputs(NEW, 50).var(0, correction=0)
    assert float((near / exact).log().abs().max()) < 0.3


def test_blocks_of_rows_change_nothing(monkeypatch):
    module = network(3)
    whole = laplace(module, X, CODES)
    outputs = whole.outputs(NEW, 5)
    monkeypatch.setattr(_laplace, "_BLOCK", 40)
    found = laplace(module, X, CODES)
    assert found.prior_std == pytest.approx(whole.prior_std, rel=1e-9)
    torch.testing.assert_close(found.outputs(NEW, 5), outputs, rtol=1e-6, atol=1e-9)


def test_uncertainty_grows_away_from_the_data_and_falls_with_their_number():
    module = network(3)
    few = laplace(module, X, CODES, prior_std=1.0)
    many = laplace(module, X.repeat(50, 1), CODES.repeat(50), prior_std=1.0)
    assert (
        many.predict(X).decompose().epistemic.mean() < few.predict(X).decompose().epistemic.mean()
    )
    line = MLP(4, 3, hidden=(16,)).double()
    found = laplace(line, X, CODES).outputs(torch.cat([NEW, 100 * NEW]), 50).var(0)
    assert bool((found[6:] > 100 * found[:6]).all())


def test_the_module_stays_as_it_was():
    module = network(3).train()
    found = laplace(module, X.numpy(), CODES.numpy())
    assert module.training
    assert not found.module.training
    assert not module[-1]._forward_hooks
    assert not module[-1]._forward_pre_hooks
    assert found.state().keys() == {
        "head", "layer", "prior_std", "noise_std", "values", "vectors", "factor",
    }  # fmt: skip


def test_later_changes_of_the_module_are_none_of_the_posterior():
    module = network(3).eval()
    module[0].train()
    found = laplace(module, X.numpy(), CODES.numpy())
    before = found.outputs(X, 5)
    assert module[0].training
    module.train()
    with torch.no_grad():
        module[0].weight.mul_(2)
    torch.testing.assert_close(found.outputs(X, 5), before, rtol=0, atol=0)
    assert module.training


class Pair(nn.Module):
    def forward(self, x):
        return x, x


@pytest.mark.parametrize("head", ["logits", "mean"])
def test_a_weight_of_zero_leaves_a_sample_out(head):
    module, y = network(3), CODES if head == "logits" else RNG.normal(size=(40, 3))
    some = laplace(module, X, y, head=head, weight=np.r_[np.full(25, 2.0), np.zeros(15)])
    only = laplace(module, X[:25], y[:25], head=head)
    np.testing.assert_allclose(some.values, only.values, rtol=1e-6, atol=1e-9)
    assert some.prior_std == pytest.approx(only.prior_std, rel=1e-6)


def test_labels_and_weights_of_any_kind(set_warn_always):
    module, expected = network(3), laplace(network(3), X, CODES, weight=WEIGHT)
    for y in (np.array(["a", "b", "c"])[CODES], read_only(CODES), pd.Series(CODES.numpy())):
        found = laplace(module, X, y, weight=read_only(WEIGHT))
        np.testing.assert_allclose(found.values, expected.values)


def read_only(values):
    values = np.asarray(values).copy()
    values.flags.writeable = False
    return values


@pytest.fixture
def set_warn_always():
    """Let torch warn of read-only arrays each time, not once."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(before)


def test_messages():
    module = network(3)
    with pytest.raises(OptionError, match=r"has no torch\.nn\.Linear"):
        laplace(nn.Conv1d(4, 3, 1), X[:, :, None].float(), CODES)
    softmax = nn.Sequential(module, nn.Softmax(1))
    with pytest.raises(OptionError, match=r"those of its last torch.nn.Linear, '0\.2', but"):
        laplace(softmax, X, CODES)
    with pytest.raises(ShapeError, match=r'"mean-std" needs .* \(rows, 2, targets\).*\(2, 3\)'):
        laplace(module, X, VALUES, head="mean-std")
    with pytest.raises(ShapeError, match="it returns tuple"):
        laplace(nn.Sequential(module, Pair()), X, CODES)
    with pytest.raises(ShapeError, match=r"y must have shape \(40, 3\), .* got \(40, 2\)"):
        laplace(module, X, VALUES, head="mean")
    with pytest.raises(LabelError, match="each of 40 samples; got 39"):
        laplace(module, X, CODES[1:])
    with pytest.raises(InvalidValueError, match="y holds NaN"):
        laplace(module, X, np.full((40, 3), np.nan), head="mean")
    gap = X.clone()
    gap[7, 2] = np.nan
    with pytest.raises(InvalidValueError, match="sample 7 of X gives the last layer NaN"):
        laplace(module, gap, CODES)
    with pytest.raises(ShapeError, match="weight must be 40 numbers"):
        laplace(module, X, CODES, weight=-np.ones(40))
    with pytest.raises(OptionError, match='noise_std is for head="mean" and "mean-std"'):
        laplace(module, X, CODES, noise_std=0.1)
    with pytest.raises(OptionError, match="prior_std"):
        laplace(module, X, CODES, prior_std=0.0)
    with pytest.raises(OptionError, match="head"):
        laplace(module, X, CODES, head="quantiles")
    with pytest.raises(OptionError, match="passes"):
        laplace(module, X, CODES).predict(X, passes=1)
