"""Passes that torch compiles are one program with the same noise."""

import pytest
import torch
from torch.func import functional_call

from caveat.nn import CNN
from caveat.nn.layers import number_layers
from caveat.nn.noise import current, keyed, make_keys


@pytest.mark.parametrize("kind", ["dropout", "concrete", "dropconnect", "flipout", "bayes"])
def test_a_pass_with_noise_is_one_program(kind):
    torch.manual_seed(0)
    module = CNN(3, 4, size=(8, 8), filters=(4, 4), dense=5, stochastic=kind, where="all").train()
    number_layers(module)

    def one_pass(weights, key, x):
        with keyed(key):
            first = functional_call(module, weights, (x,))
            return first, functional_call(module, weights, (x,))

    torch._dynamo.reset()
    whole = torch.compile(
        one_pass, backend="eager", fullgraph=True
    )  # raises where a part is left out
    x, weights = torch.randn(6, 3, 8, 8), dict(module.named_parameters())
    for key in make_keys([0, 1]):
        with torch.no_grad():
            first, second = whole(weights, key, x)
            expected = one_pass(weights, key, x)
        assert not torch.equal(first, second)  # a layer that is called again draws again
        torch.testing.assert_close((first, second), expected, rtol=0, atol=0)
    assert current() is None


def test_without_noise_nothing_is_in_force():
    module = CNN(1, 3, size=(8,), filters=(4,), stochastic="dropout", where="all").eval()
    torch._dynamo.reset()
    x = torch.randn(2, 1, 8)
    with torch.no_grad():
        made = torch.compile(module, backend="eager", fullgraph=True)(x)
        torch.testing.assert_close(made, module(x), rtol=0, atol=0)
