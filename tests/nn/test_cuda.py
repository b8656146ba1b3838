"""The same copies come out of a GPU, up to rounding; skipped where there is none."""

import copy
import dataclasses

import numpy as np
import pytest
import torch

from caveat.nn import AlexNet1d, XResNet1d, explain, noise, predict
from caveat.nn.layers import PooledConv2d
from caveat.nn.lockstep._optimizers import Adam

from .test_lockstep import COPIES, SHORT, X, convolving, dropping, fit, normed, plain

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def test_noise_is_the_same_to_the_bit():
    keys = noise.make_keys([1, 2**40 + 3])
    like = torch.zeros(1)
    for key in keys:
        for draw in (noise.uniform, noise.signs):
            here, there = draw(key, 5, (1000,), like), draw(key.cuda(), 5, (1000,), like.cuda())
            assert torch.equal(here, there.cpu())
    assert torch.equal(noise.permutations(keys, 50), noise.permutations(keys.cuda(), 50).cpu())


@pytest.mark.parametrize("make", [plain, dropping, normed, convolving])
@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_a_gpu_gives_the_same_members(make, optimizer):
    training = dataclasses.replace(SHORT, optimizer=optimizer)
    here = fit(make, COPIES, dataclasses.replace(training, device="cpu"))
    there = fit(make, COPIES, dataclasses.replace(training, device="cuda"))
    assert "CUDA graph" in there.engine
    worst = np.abs(here.outputs(X, device="cpu") - there.outputs(X, device="cuda")).max()
    print(make.__name__, optimizer, there.engine, "worst difference", worst)
    assert worst < 2e-3


@pytest.mark.parametrize("channels", [1, 3])
def test_a_convolution_of_few_channels_is_the_same(channels):
    torch.manual_seed(0)
    layer, x = PooledConv2d(channels, 8, 3, padding=1), torch.randn(4, channels, 12, 10)
    here, there = layer(x), layer.cuda()(x.cuda()).cpu()
    torch.testing.assert_close(here, there, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("decoupled", [False, True])
def test_adam_in_one_kernel_is_that_of_torch(decoupled):
    torch.manual_seed(0)
    weights = torch.randn(5000, device="cuda")
    theirs = torch.nn.Parameter(weights.clone())
    kind = torch.optim.AdamW if decoupled else torch.optim.Adam
    optimizer = kind([theirs], lr=0.01, weight_decay=0.1)
    ours = Adam(torch.zeros_like(weights), torch.zeros_like(weights), 0.1, decoupled)
    rates = torch.full_like(weights, 0.01)
    for step in range(1, 6):
        gradient = torch.randn_like(weights)
        theirs.grad = gradient.clone()
        optimizer.step()
        ours.update(weights, gradient, rates, step if step % 2 else torch.tensor(step).cuda())
    torch.testing.assert_close(weights, theirs.detach(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("network", [AlexNet1d, XResNet1d])
def test_networks_for_signals_are_the_same(network, monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    torch.manual_seed(0)
    module, x = network(1, 2), torch.randn(4, 1, 400)
    outputs, gradients = [], []
    for place in ("cpu", "cuda"):
        own = copy.deepcopy(module).to(place)
        outputs.append(own.eval()(x.to(place)).detach().cpu())
        own.train()(x.to(place)).square().sum().backward()
        gradients.append([p.grad.cpu() for p in own.parameters()])
    torch.testing.assert_close(*outputs, rtol=1e-3, atol=1e-4)
    for here, there in zip(*gradients, strict=True):
        assert (here - there).norm() <= 1e-2 * here.norm() + 1e-4


def test_outputs_of_passes_stay_on_the_device_until_they_are_asked_for():
    torch.manual_seed(0)
    module, x = dropping().eval(), torch.randn(40, *X.shape[1:])
    here = predict(module, x, passes=6, head="logits", random_state=0)
    there = predict(module.cuda(), x, passes=6, head="logits", random_state=0)
    assert "probabilities" not in vars(there)
    np.testing.assert_allclose(there.probabilities, here.probabilities, atol=1e-3)
    assert explain(module, x).at_once
