"""Every stochastic layer computes the same numbers as before, from the same seeds and keys."""

import pytest

torch = pytest.importorskip("torch")

from caveat.nn.noise import keyed, make_keys  # noqa: E402

from .layer_cases import WEIGHTED  # noqa: E402

# Mean size of the outputs with noise, with shared noise and without, and the penalty.
FROZEN = {
    "DropConnectLinear": (1.07176, 1.07176, 0.74506, 0.0),
    "DropConnectConv1d": (0.66344, 0.66344, 0.54275, 0.0),
    "DropConnectConv2d": (0.68389, 0.68389, 0.53186, 0.0),
    "ConcreteDropoutLinear": (0.93898, 0.72219, 0.74506, -4.0380),
    "ConcreteDropoutConv1d": (0.68563, 0.73192, 0.54275, -2.6918),
    "ConcreteDropoutConv2d": (0.51527, 0.73796, 0.53186, -2.6918),
    "BayesLinear": (0.74795, 0.74795, 0.74506, 11.6376),
    "BayesConv1d": (0.68498, 0.68498, 0.54275, 29.2087),
    "BayesConv2d": (0.72627, 0.72627, 0.53186, 29.2087),
    "FlipoutLinear": (0.95045, 0.74795, 0.74506, 11.6376),
    "FlipoutConv1d": (0.75831, 0.68498, 0.54275, 29.2087),
    "FlipoutConv2d": (0.78401, 0.72627, 0.53186, 29.2087),
}


@pytest.mark.parametrize("case", WEIGHTED, ids=lambda case: case.kind)
def test_numbers_are_frozen(case):
    layer, x = case.layer(seed=3), case.inputs(rows=5, seed=1)
    layer.place = 2
    key = make_keys([5])[0]
    sizes = []
    with torch.no_grad():
        for shared in (False, True):
            with keyed(key, shared=shared):
                sizes.append(layer(x).double().abs().mean().item())
                penalty = layer.penalty()
        sizes.append(layer.eval()(x).double().abs().mean().item())
    sizes.append(0.0 if penalty is None else penalty.item())
    assert sizes == pytest.approx(FROZEN[case.kind], rel=2e-5, abs=1e-4)
