"""The same copies come out of a GPU, up to rounding; skipped where there is none."""

import dataclasses

import numpy as np
import pytest
import torch

from caveat.nn import noise
from caveat.nn.layers import PooledConv2d

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


def test_a_convolution_of_one_channel_is_the_same():
    torch.manual_seed(0)
    layer, x = PooledConv2d(1, 8, 3, padding=1), torch.randn(4, 1, 12, 10)
    here, there = layer(x), layer.cuda()(x.cuda()).cpu()
    torch.testing.assert_close(here, there, rtol=1e-3, atol=1e-3)
