"""What holds for every stochastic layer."""

import copy
import io
import pickle

import pytest
import torch
from torch import nn
from torch.func import functional_call, stack_module_state

from caveat.exceptions import OptionError, ShapeError
from caveat.nn import layers
from caveat.nn.layers import number_layers, stochastic_layers, total_penalty
from caveat.nn.noise import derive_key, keyed, make_keys

from .layer_cases import CASES, PER_ROW, WEIGHTED

every = pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
weighted = pytest.mark.parametrize("case", WEIGHTED, ids=lambda case: case.kind)
KEY = make_keys([7])[0]


def run(layer, x, key=KEY, shared=False):
    with keyed(key, shared=shared):
        return layer(x)


@every
def test_evaluation_is_torchs_layer_with_mean_weights(case):
    layer = case.layer().eval()
    x = case.inputs()
    assert torch.equal(layer(x), case.plain(layer).eval()(x))


@weighted
def test_a_layer_without_bias_has_none(case):
    layer = case.layer(bias=False).eval()
    assert not any("bias" in name for name, _ in layer.named_parameters())
    plain = case.torch(*case.arguments, bias=False)
    with torch.no_grad():
        plain.weight.copy_(layer.weight if hasattr(layer, "weight") else layer.weight_mean)
    x = case.inputs()
    assert torch.equal(layer(x), plain(x))
    assert torch.isfinite(run(layer, x)).all()
    assert "bias=False" in repr(layer)


@every
def test_a_layer_is_random_in_training_and_inside_keyed(case):
    layer, x = case.layer(), case.inputs()
    assert not torch.equal(layer.train()(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))
    assert not torch.equal(run(layer, x), layer(x))


@every
@pytest.mark.parametrize("shared", [False, True])
def test_noise_is_a_function_of_key_and_place(case, shared):
    layer, x = case.layer(), case.inputs()
    first = run(layer, x, shared=shared)
    state = torch.get_rng_state()
    assert torch.equal(first, run(layer, x, shared=shared))
    assert torch.equal(first, run(layer.eval(), x, shared=shared))
    assert torch.equal(state, torch.get_rng_state())
    assert not torch.equal(first, run(layer, x, derive_key(KEY, 1), shared))
    layer.place = 1
    assert not torch.equal(first, run(layer, x, shared=shared))


@every
def test_rows_of_a_shared_pass_do_not_know_each_other(case):
    layer, x = case.layer(), case.inputs()
    together = run(layer, x, shared=True)
    for i in range(len(x)):
        torch.testing.assert_close(run(layer, x[i : i + 1], shared=True)[0], together[i])


@pytest.mark.parametrize("case", PER_ROW, ids=lambda case: case.kind)
def test_rows_of_a_training_pass_have_their_own_noise(case):
    layer = case.layer()
    x = case.inputs(1).expand(4, *case.shape)
    own = run(layer, x)
    assert all(not torch.allclose(own[0], own[i]) for i in range(1, 4))
    same = run(layer, x, shared=True)
    torch.testing.assert_close(same, same[:1].expand_as(same))


@every
@pytest.mark.parametrize("shared", [False, True])
def test_stacked_copies_are_the_copies_one_by_one(case, shared):
    copies = [case.layer(seed) for seed in range(3)]
    parameters, buffers = stack_module_state(copies)
    keys = make_keys([3, 4, 5])
    x = torch.stack([case.inputs(seed=seed) for seed in range(3)])

    def one(parameters, key, x):
        with keyed(key, shared=shared):
            output = functional_call(copies[0], (parameters, buffers), (x,))
            return output, functional_call(_Penalty(copies[0]), _prefixed(parameters), ())

    outputs, penalties = torch.vmap(one, in_dims=(0 if parameters else None, 0, 0))(
        parameters, keys, x
    )
    if parameters:
        (outputs.sum() + penalties.sum()).backward()
    for i, layer in enumerate(copies):
        with keyed(keys[i], shared=shared):
            output, penalty = layer(x[i]), total_penalty(layer)
        torch.testing.assert_close(outputs[i], output, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(penalties[i], penalty, rtol=1e-5, atol=1e-5)
        if not parameters:
            continue
        (output.sum() + penalty).backward()
        for name, value in layer.named_parameters():
            torch.testing.assert_close(
                parameters[name].grad[i], value.grad, rtol=1e-4, atol=1e-5, msg=name
            )


class _Penalty(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self):
        return total_penalty(self.layer)


def _prefixed(parameters):
    return {f"layer.{name}": value for name, value in parameters.items()}


@every
def test_passes_over_keys_are_the_passes_one_by_one(case):
    layer, x, keys = case.layer().eval(), case.inputs(), make_keys(range(5))
    together = torch.vmap(lambda key: run(layer, x, key, shared=True))(keys)
    for i, key in enumerate(keys):
        torch.testing.assert_close(
            together[i], run(layer, x, key, shared=True), rtol=1e-5, atol=1e-6
        )


@weighted
def test_gradients_are_right(case):
    layer = case.layer(dtype=torch.float64)
    x = case.inputs(2, dtype=torch.float64).requires_grad_()
    names = [name for name, _ in layer.named_parameters()]

    def objective(x, *values):
        parameters = dict(zip(names, values, strict=True))
        output = run_functional(layer, parameters, x)
        with keyed(KEY):
            return output, functional_call(_Penalty(layer), _prefixed(parameters), ())

    values = [value.detach().requires_grad_() for _, value in layer.named_parameters()]
    assert torch.autograd.gradcheck(objective, (x, *values), fast_mode=True)


def run_functional(layer, parameters, x):
    with keyed(KEY):
        return functional_call(layer, parameters, (x,))


@every
def test_a_layer_that_has_run_can_be_copied_and_pickled(case):
    layer, x = case.layer(), case.inputs()
    layer(x)
    torch.vmap(lambda key: run(layer, x, key))(make_keys(range(2)))
    twin = copy.deepcopy(layer)
    assert torch.equal(run(twin, x), run(layer, x))
    assert torch.equal(run(pickle.loads(pickle.dumps(twin)), x), run(layer, x))
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    other = case.layer(seed=1)
    other.load_state_dict(torch.load(file))
    assert torch.equal(run(other, x), run(layer, x))


@weighted
def test_precision_and_device_are_torchs_arguments(case):
    layer = case.layer(dtype=torch.float64, device="cpu")
    assert {value.dtype for value in layer.parameters()} == {torch.float64}
    assert run(layer, case.inputs(dtype=torch.float64)).dtype == torch.float64
    meta = case.layer(device="meta")
    assert {value.device.type for value in meta.parameters()} == {"meta"}


@every
def test_masks_and_outputs_survive_mixed_precision(case):
    layer, x = case.layer(), case.inputs()
    exact = run(layer, x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = run(layer, x.bfloat16())
    torch.testing.assert_close(rough.float(), exact, rtol=0.05, atol=0.1)


@pytest.mark.parametrize("kind", [layers.Dropout, layers.SpatialDropout])
def test_the_mask_does_not_depend_on_the_precision(kind):
    layer = kind(0.3)
    kept = [
        run(layer, torch.ones(50, 40, dtype=dtype)) > 0
        for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64)
    ]
    assert all(torch.equal(kept[0], mask) for mask in kept)


@weighted
def test_reset_parameters_starts_again_as_torch_does(case):
    layer = case.layer()
    started = copy.deepcopy(layer.state_dict())
    with torch.no_grad():
        for value in layer.parameters():
            value.fill_(0.123)
    torch.manual_seed(0)
    layer.reset_parameters()
    for name, value in layer.state_dict().items():
        assert torch.equal(value, started[name]), name
    mean = layer.weight if hasattr(layer, "weight") else layer.weight_mean
    bound = layer.fan_in**-0.5
    torch.manual_seed(1)
    plain = case.torch(*case.arguments)
    assert plain.weight.abs().max() <= bound
    assert mean.abs().max() <= bound
    assert mean.abs().max() > 0.5 * bound


@every
def test_a_single_row_is_asked_for_as_a_batch(case):
    row = torch.ones(3) if case.kind.endswith("Dropout") else torch.ones(case.shape)
    with pytest.raises(ShapeError, match=r"the input must have shape \(rows, .*x\[None\]"):
        case.layer()(row)


@pytest.mark.parametrize("method", ["DropConnect", "ConcreteDropout", "Bayes", "Flipout"])
def test_sizes_are_checked(method):
    dense, series = getattr(layers, f"{method}Linear"), getattr(layers, f"{method}Conv1d")
    for arguments, name in [((0, 2), "in_features"), ((2, 1.5), "out_features")]:
        with pytest.raises(OptionError, match=f"{name} must be a whole number of at least 1"):
            dense(*arguments)
    with pytest.raises(OptionError, match="out_channels must be a multiple of groups=2; got 3"):
        series(4, 3, 1, groups=2)
    with pytest.raises(OptionError, match=r"kernel_size must be one number or 1 of them; got \(3"):
        series(4, 4, (3, 3))
    with pytest.raises(OptionError, match="stride must be a whole number of at least 1; got 0"):
        series(4, 4, 3, 0)
    with pytest.raises(OptionError, match="groups must be a whole number of at least 1; got True"):
        series(4, 4, 3, groups=True)


def test_layers_are_printed_with_what_they_were_given():
    assert repr(layers.Dropout(0.2)) == "Dropout(p=0.2)"
    assert repr(layers.ConcreteDropoutConv1d(2, 3, 4)) == (
        "ConcreteDropoutConv1d(2, 3, kernel_size=(4,), stride=(1,), padding=(0,), dilation=(1,), "
        "groups=1, bias=True, initial_p=0.1, length_scale=1.0, temperature=0.1)"
    )


def test_layers_of_a_module_are_numbered_and_their_penalties_summed():
    module = nn.Sequential(
        layers.BayesLinear(4, 4), nn.ReLU(), layers.Dropout(0.5), layers.ConcreteDropoutLinear(4, 2)
    )
    number_layers(module)
    assert [layer.place for layer in stochastic_layers(module)] == [0, 1, 2]
    x = torch.ones(3, 4)
    run(module, x)
    torch.testing.assert_close(total_penalty(module), module[0].penalty() + module[3].penalty())
    assert total_penalty(nn.Linear(2, 2)) == 0


@pytest.mark.parametrize("method", ["Bayes", "Flipout", "ConcreteDropout"])
def test_axes_between_rows_and_features_share_a_rows_noise(method):
    layer = getattr(layers, f"{method}Linear")(6, 3)
    x = torch.randn(2, 1, 6).expand(2, 5, 6)
    for shared in (False, True):
        output = run(layer, x, shared=shared)
        torch.testing.assert_close(output, output[:, :1].expand_as(output))
