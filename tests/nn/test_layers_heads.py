"""Heads: their layouts, their ranges, and that long trainings leave them finite."""

import pytest
import torch
from torch import nn
from torch.func import functional_call, stack_module_state
from torch.nn import functional

import caveat
from caveat.exceptions import OptionError
from caveat.nn.layers import (
    FlipoutLinear,
    GaussianLogitsHead,
    MeanVarianceHead,
    QuantileHead,
    stochastic_layers,
)
from caveat.nn.losses import gaussian_nll

LEVELS = [0.0228, 0.1587, 0.5, 0.8413, 0.9772]
HEADS = [
    lambda **options: GaussianLogitsHead(6, 3, **options),
    lambda **options: MeanVarianceHead(6, 2, **options),
    lambda **options: QuantileHead(6, LEVELS, 2, **options),
]
every = pytest.mark.parametrize("make", HEADS, ids=["logits", "variance", "quantile"])


@pytest.mark.parametrize(
    ("head", "floor"), [(GaussianLogitsHead(6, 3), 1e-6), (MeanVarianceHead(6, 3), 1e-3)]
)
def test_mean_and_std_are_halves_of_a_linear_map(head, floor):
    x = torch.randn(5, 6)
    output = head(x)
    assert output.shape == (5, 2, 3)
    raw = functional.linear(x, head.linear.weight, head.linear.bias)
    torch.testing.assert_close(output[:, 0], raw[:, :3])
    torch.testing.assert_close(output[:, 1], (1 + raw[:, 3:].exp()).log() + floor)


def test_outputs_go_into_predictions():
    mean, std = GaussianLogitsHead(6, 3)(torch.randn(5, 6)).detach().unbind(1)
    assert caveat.GaussianLogits.from_std(mean, std).mean.shape == (1, 5, 3)
    mean, std = MeanVarianceHead(6, 2)(torch.randn(5, 6)).detach().unbind(1)
    assert caveat.Gaussian.from_std(mean, std).mean.shape == (1, 5, 2)
    values = QuantileHead(6, LEVELS, 2)(torch.randn(5, 6)).detach()
    assert caveat.Quantiles(LEVELS, values).values.shape == (1, 5, 2, 5)


@pytest.mark.parametrize("raw", [-1e4, -200.0, 0.0, 200.0, 1e30])
@pytest.mark.parametrize(
    "head", [GaussianLogitsHead(1, 1, bias=False), MeanVarianceHead(1, bias=False)]
)
def test_the_std_and_its_gradient_are_finite_everywhere(head, raw):
    with torch.no_grad():
        head.linear.weight.copy_(torch.tensor([[0.0], [raw]]))
    head.zero_grad()
    std = head(torch.ones(1, 1))[0, 1, 0]
    std.log().backward()
    assert torch.isfinite(std)
    assert std >= head.floor
    assert torch.isfinite(head.linear.weight.grad).all()


def test_the_root_of_a_softplus_variance_is_not():
    raw = torch.tensor(-200.0, requires_grad=True)
    functional.softplus(raw).sqrt().backward()
    assert torch.isnan(raw.grad)


def test_a_long_training_on_few_samples_stays_finite():
    torch.manual_seed(0)
    x, y = torch.randn(3, 4), torch.randn(3, 1)
    model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), MeanVarianceHead(32))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    smallest = 1.0
    for _ in range(600):
        output = model(x)
        smallest = min(smallest, output[:, 1].min().item())
        loss = gaussian_nll(output, y).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert torch.isfinite(loss)
    assert all(torch.isfinite(value).all() for value in model.parameters())
    assert 1e-3 <= smallest < 0.03  # learned by heart: the noise was all but explained away


@pytest.mark.parametrize("levels", [LEVELS, [0.5], [0.1, 0.2], [0.9, 0.95, 0.99]])
def test_quantiles_cannot_cross(levels):
    head = QuantileHead(4, levels, targets=3)
    with torch.no_grad():
        head.linear.weight.mul_(100)
    output = head(100 * torch.randn(200, 4))
    assert output.shape == (200, 3, len(levels))
    assert (output.diff(dim=-1) >= 0).all()


def test_quantiles_are_sums_of_steps_from_the_center():
    head = QuantileHead(4, LEVELS, targets=2).double()
    x = torch.randn(3, 4, dtype=torch.float64)
    raw = head.linear(x).reshape(3, 2, 5)
    up = functional.softplus
    q2 = raw[..., 2]
    q1, q3 = q2 - up(raw[..., 1]), q2 + up(raw[..., 3])
    expected = torch.stack([q1 - up(raw[..., 0]), q1, q2, q3, q3 + up(raw[..., 4])], dim=-1)
    torch.testing.assert_close(head(x), expected)
    assert head.center == 2
    assert QuantileHead(4, [0.05, 0.1]).center == 1


@every
def test_gradients_are_right(make):
    head = make(dtype=torch.float64)
    x = torch.randn(3, 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(head, (x,))


@every
def test_stacked_copies_are_the_copies_one_by_one(make):
    heads = [make() for _ in range(3)]
    parameters, buffers = stack_module_state(heads)
    x = torch.randn(5, 6)
    together = torch.vmap(lambda values: functional_call(heads[0], (values, buffers), (x,)))(
        parameters
    )
    for i, head in enumerate(heads):
        torch.testing.assert_close(together[i], head(x), rtol=1e-5, atol=1e-6)


@every
def test_a_head_can_be_stochastic(make):
    head = make(linear=FlipoutLinear)
    assert len(list(stochastic_layers(head))) == 1
    x = torch.randn(4, 6)
    assert not torch.equal(head(x), head(x))
    assert torch.equal(head.eval()(x), head(x))


@every
def test_arguments_are_torchs(make):
    head = make(bias=False, dtype=torch.float64, device="cpu")
    assert [value.dtype for value in head.parameters()] == [torch.float64]
    before = head.linear.weight.clone()
    head.reset_parameters()
    assert not torch.equal(before, head.linear.weight)


def test_heads_are_printed_with_what_they_were_given():
    assert repr(GaussianLogitsHead(6, 3)).startswith("GaussianLogitsHead(\n  6, 3, floor=1e-06")
    assert "6, levels=(0.1, 0.9), targets=2" in repr(QuantileHead(6, [0.1, 0.9], 2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: GaussianLogitsHead(0, 3),
            "in_features must be a whole number of at least 1; got 0",
        ),
        (lambda: GaussianLogitsHead(3, 0), "classes must be a whole number of at least 1; got 0"),
        (lambda: MeanVarianceHead(3, -1), "targets must be a whole number of at least 1; got -1"),
        (lambda: MeanVarianceHead(3, floor=0.0), "floor must be a number above 0; got 0.0"),
        (lambda: QuantileHead(3, []), "levels must lie between 0 and 1 and increase"),
        (
            lambda: QuantileHead(3, [0.5, 0.1]),
            r"and increase; got \(0.5, 0.1\); sort them, each once",
        ),
        (lambda: QuantileHead(3, [0.5, 0.5]), "levels must lie between 0 and 1 and increase"),
        (lambda: QuantileHead(3, [0.5, 1.0]), "levels must lie between 0 and 1 and increase"),
        (lambda: QuantileHead(3, [float("nan")]), "levels must lie between 0 and 1 and increase"),
    ],
)
def test_options_are_checked(make, message):
    with pytest.raises(OptionError, match=message):
        make()
