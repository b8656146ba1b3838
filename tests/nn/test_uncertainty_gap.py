"""The differentiable gap of uncertainties against an audit and numerical gradients."""

import numpy as np
import pytest
import torch

import caveat
from caveat.exceptions import LabelError, OptionError, ShapeError
from caveat.nn.losses import uncertainty_gap


def drawn(samples=40, classes=2, seed=0):
    rng = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn((4, samples, classes), generator=rng, dtype=torch.float64)
    return logits, torch.arange(samples) % 2


@pytest.mark.parametrize("part", ["aleatoric", "epistemic", "predictive"])
def test_it_is_the_squared_logarithm_of_the_ratio_of_an_audit(part):
    logits, group = drawn(60)
    prediction = caveat.Categorical(torch.softmax(logits, -1).numpy())
    y = np.arange(60) // 2 % 2
    result = caveat.audit(prediction, y, {"g": group.numpy().astype(str)}, resamples=0)
    rows = [
        row.value
        for row in result.matching(kind="ratio", measure=f"{part}_uncertainty")
    ]  # fmt: skip
    assert rows
    expected = np.log(rows[0]) ** 2
    assert float(uncertainty_gap(logits, group, part=part)) == pytest.approx(expected)


def test_three_groups_are_the_mean_over_pairs():
    logits, _ = drawn(60, classes=3)
    group = torch.arange(60) % 3
    p = torch.softmax(logits, -1).numpy()
    u = (1 - (p**2).sum(axis=-1)).mean(axis=0)
    logs = [np.log(u[group.numpy() == g].mean()) for g in range(3)]
    expected = np.mean([(logs[i] - logs[j]) ** 2 for i, j in ((0, 1), (0, 2), (1, 2))])
    assert float(uncertainty_gap(logits, group)) == pytest.approx(expected)


@pytest.mark.parametrize("part", ["aleatoric", "epistemic", "predictive"])
def test_gradients_are_numerical_ones(part):
    logits, group = drawn(8)
    logits.requires_grad_()
    assert torch.autograd.gradcheck(lambda z: uncertainty_gap(z, group, part=part), (logits,))


def test_descent_makes_groups_equally_uncertain():
    logits, group = drawn(40)
    logits = (logits * torch.where(group == 0, 0.2, 2.0)[:, None]).requires_grad_()
    before = float(uncertainty_gap(logits.detach(), group))
    optimizer = torch.optim.Adam([logits], lr=0.1)
    for _ in range(60):
        optimizer.zero_grad()
        uncertainty_gap(logits, group).backward()
        optimizer.step()
    assert before > 0.3
    assert float(uncertainty_gap(logits.detach(), group)) < 0.01


def test_a_single_member_has_no_epistemic_gap_that_is_not_finite():
    logits, group = drawn(8)
    assert float(uncertainty_gap(logits[:1], group, part="epistemic")) == 0


@pytest.mark.parametrize(
    "kind", [np.asarray, torch.Tensor.tolist, lambda g: g.numpy() > 0, torch.Tensor.float]
)
def test_codes_of_any_kind(kind):
    logits, group = drawn(12)
    codes = kind(group)
    assert uncertainty_gap(logits, codes) == uncertainty_gap(logits, group)


def test_messages():
    logits, group = drawn(8)
    for codes, got in [
        (group - 1, r"\[-1, 0\]"),
        ((group - 1).numpy(), r"\[-1, 0\]"),
        (group + 0.5, r"\[0\.5, 1\.5\]"),
        (["a", "b"] * 4, "<U1"),
    ]:
        with pytest.raises(LabelError, match=rf"group must hold codes 0, 1, 2, \.\.\.; got {got}"):
            uncertainty_gap(logits, codes)
    with pytest.raises(OptionError, match="part must be one of"):
        uncertainty_gap(logits, group, part="total")
    with pytest.raises(ShapeError, match=r"got \(8, 2\) and \(8,\)"):
        uncertainty_gap(logits[0], group)
    with pytest.raises(OptionError, match=r"got counts \[8\]"):
        uncertainty_gap(logits, torch.zeros(8, dtype=torch.long))
    with pytest.raises(OptionError, match=r"got counts \[4, 0, 4\]"):
        uncertainty_gap(logits, group * 2)
