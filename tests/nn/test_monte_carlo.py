"""Monte-Carlo passes against a loop over whole passes, torch's own dropout, and closed forms."""

import copy
import dataclasses
import logging
import types

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from torch.nn import functional

import caveat
from caveat.exceptions import InvalidValueError, OptionError, ShapeError, UnknownNameError
from caveat.nn import CNN, MLP, PassPlan, _run, explain, monte_carlo, pass_keys, predict
from caveat.nn._copies import private_copy
from caveat.nn._probe import Memory
from caveat.nn.layers import Dropout, Stochastic, number_layers
from caveat.nn.noise import keyed

METHODS = ["dropout", "concrete", "dropconnect", "flipout", "bayes"]
CPU = torch.device("cpu")


def seeded(build, *args, **options):
    torch.manual_seed(0)
    return build(*args, **options)


def rows(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def naive(module, x, passes, seed):
    """Whole passes one after another on a deep copy: the definition."""
    double = copy.deepcopy(module).eval()
    number_layers(double)
    outputs = []
    with torch.no_grad():
        for key in pass_keys(passes, seed):
            with keyed(key, shared=True):
                outputs.append(double(x))
    return torch.stack(outputs)


def torch_net(dropout=None):
    return nn.Sequential(
        nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.4) if dropout is None else dropout, nn.Linear(8, 3)
    )


class Functional(nn.Module):
    """Dropout as a function, in a forward that can be traced."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x):
        hidden = functional.dropout(self.first(x).relu(), p=0.4, training=self.training)
        return self.second(hidden)


class Branching(Functional):
    """Control flow on data: no trace, no vmap."""

    def forward(self, x):
        hidden = functional.dropout(self.first(x).relu(), 0.4, self.training)
        return self.second(hidden) if hidden.sum() > -1 else hidden


class Counting(Functional):
    """Control flow on the number of rows: no trace."""

    def forward(self, x):
        return super().forward(x) if len(x) > 0 else x


# --- equal to whole passes one after another -----------------------------------------------------


@pytest.mark.parametrize("where", ["last", "all"])
@pytest.mark.parametrize("method", METHODS)
def test_dense_network_equals_a_loop(method, where):
    module = seeded(MLP, 6, 3, stochastic=method, where=where, head="gaussian-logits")
    x = rows(9, 6)
    plan = explain(module, x)
    assert (plan.way, plan.at_once) == ("graph", True)
    found = monte_carlo(plan, x, 7, random_state=5)
    torch.testing.assert_close(found, naive(module, x, 7, 5), rtol=1e-6, atol=1e-6)
    assert found.std(dim=0).max() > 1e-4


@pytest.mark.parametrize("where", ["last", "all"])
@pytest.mark.parametrize(
    ("method", "size"), [("dropout", (8, 8)), ("bayes", (8, 8)), ("concrete", (12,))]
)
def test_convolutions_equal_a_loop(method, size, where):
    module = seeded(CNN, 2, 3, size=size, filters=(4, 4), dense=8, stochastic=method, where=where)
    x = rows(5, 2, *size)
    plan = explain(module, x)
    assert plan.at_once == (where == "last")  # a CPU does convolutions pass by pass
    assert any("Conv" in name for name in plan.repeated) == (where == "all")
    found = monte_carlo(plan, x, 4, random_state=5)
    torch.testing.assert_close(found, naive(module, x, 4, 5), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("build", [Branching, Counting])
def test_what_cannot_be_traced_gives_the_same_numbers(build):
    x = rows(9, 4)
    traced, other = seeded(Functional), seeded(build)
    assert explain(traced, x).way == "graph"
    plan = explain(other, x)
    assert plan.way == "whole"
    assert plan.at_once == (build is Counting)
    wanted = monte_carlo(traced, x, 6, random_state=0)
    torch.testing.assert_close(monte_carlo(plan, x, 6, random_state=0), wanted)


def test_functions_and_modules_of_torch_draw_the_same():
    x, function, module = rows(9, 4), seeded(Functional), seeded(torch_net)
    wanted = monte_carlo(function, x, 6, random_state=0)
    torch.testing.assert_close(monte_carlo(module, x, 6, random_state=0), wanted)


def test_first_passes_of_many_are_those_of_few():
    x, module = rows(9, 4), seeded(torch_net)
    few, many = (monte_carlo(module, x, passes, random_state=3) for passes in (4, 11))
    torch.testing.assert_close(few, many[:4])


# --- torch's dropout in distribution --------------------------------------------------------------


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.Dropout(0.3), (40,)),
        (nn.Dropout1d(0.3), (8, 5)),
        (nn.Dropout2d(0.3), (8, 5, 1)),
        (nn.Dropout3d(0.3), (8, 5, 1, 1)),
        (nn.AlphaDropout(0.3), (40,)),
        (nn.FeatureAlphaDropout(0.3), (8, 5)),
    ],
)
def test_dropout_has_the_moments_of_torch(layer, shape):
    """Mean, variance, and covariance of neighbors, each within five standard errors of torch's."""
    passes = 4000
    x = rows(1, *shape) + 1
    ours = monte_carlo(nn.Sequential(layer), x, passes, random_state=0)[:, 0]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        theirs = layer.train()(x.expand(passes, *shape))
    for values in (
        lambda z: z,
        lambda z: z**2,
        lambda z: z[:, :, 1:] * z[:, :, :-1] if z.dim() > 2 else z,
    ):
        a, b = values(ours), values(theirs)
        error = ((a.var(0) + b.var(0)) / passes).sqrt()
        assert ((a.mean(0) - b.mean(0)).abs() <= 5 * error + 1e-6).all()
    if len(shape) > 1:  # whole channels, of which each is as in the first pass or is not
        same = (ours == ours[:1]).flatten(2)
        assert torch.equal(same.any(2), same.all(2))
        assert same[1:].any()
        assert not same.all()


def test_mean_over_passes_is_the_closed_form():
    """A linear map after dropout: mean Wx + b, variance W^2 x^2 p / (1 - p)."""
    module, x, passes = (
        seeded(lambda: nn.Sequential(nn.Dropout(0.25), nn.Linear(30, 2))),
        rows(3, 30),
        4000,
    )
    found = monte_carlo(module, x, passes, random_state=0)
    with torch.no_grad():
        mean = module[1](x)
        variance = (x**2) @ (module[1].weight ** 2).T * 0.25 / 0.75
    assert ((found.mean(0) - mean).abs() < 5 * (variance / passes).sqrt()).all()
    assert ((found.var(0) / variance - 1).abs() < 5 * (3 / passes) ** 0.5).all()


@pytest.mark.parametrize(("rate", "wanted"), [(0.0, 1.0), (1.0, 0.0)])
@pytest.mark.parametrize("function", [functional.dropout, functional.alpha_dropout])
def test_rates_at_the_ends(function, rate, wanted):
    class Ends(nn.Module):
        def forward(self, x):
            return function(x, rate, self.training) + functional.dropout(x, 0.5, self.training) * 0

    found = monte_carlo(Ends(), torch.ones(2, 3), 3, random_state=0)
    torch.testing.assert_close(found, torch.full((3, 2, 3), wanted))


# --- the rows do not know of each other -----------------------------------------------------------


@pytest.mark.parametrize(
    "build", [torch_net, Branching, lambda: MLP(4, 3, stochastic="flipout", where="all")]
)
def test_neither_batches_nor_neighbors_matter(build):
    module, x = seeded(build), rows(23, 4)
    wanted = monte_carlo(module, x, 5, random_state=0)
    for size in (1, 2, 7, 100):
        found = monte_carlo(module, x, 5, batch_size=size, random_state=0)
        torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-6)
    order = torch.randperm(23, generator=torch.Generator().manual_seed(0))
    found = monte_carlo(module, x[order], 5, random_state=0)
    torch.testing.assert_close(found, wanted[:, order], rtol=1e-6, atol=1e-6)
    assert torch.allclose(
        monte_carlo(module, x[4:5], 5, random_state=0)[:, 0], wanted[:, 4], atol=1e-6
    )


class Encoder(nn.Module):
    """Rows on the second axis, as torch's transformers have them by default."""

    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.2)
        self.last = nn.Linear(8, 2)

    def forward(self, x):
        return self.last(self.layer(x.transpose(0, 1)).mean(0))


def test_rows_on_another_axis_and_dropout_that_torch_hides():
    module, x = seeded(Encoder), rows(6, 5, 8)
    message = r"no way to draw dropout=0.2 inside of layer.self_attn \(MultiheadAttention\)"
    with pytest.warns(UserWarning, match=message):
        wanted = monte_carlo(module, x, 4, random_state=0)
    assert wanted.std(0).max() > 0.01
    plan = explain(module, x)
    assert "stays off: dropout=0.2 inside of layer.self_attn" in str(plan)
    with pytest.warns(UserWarning, match="stays off"):
        found = monte_carlo(plan, x.flip(0), 4, batch_size=2, random_state=0)
    torch.testing.assert_close(found.flip(1), wanted, rtol=1e-5, atol=1e-5)


def test_recurrent_dropout_stays_off():
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.cells, self.drop = nn.GRU(3, 4, 2, batch_first=True, dropout=0.5), nn.Dropout(0.5)

        def forward(self, x):
            return self.drop(self.cells(x)[0][:, -1])

    plan = explain(Recurrent(), rows(2, 5, 3))
    assert plan.off == ("dropout=0.5 inside of cells (GRU)",)
    assert plan.repeated == ("drop (Dropout)",)


# --- the module stays as it was -------------------------------------------------------------------


def test_the_module_stays_as_it_was():
    module = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Flatten(),
        Dropout(0.5), nn.Linear(4 * 16, 8), nn.Dropout(0.2), nn.Linear(8, 2),
    )  # fmt: skip
    module.train()
    module[1].eval()
    module[5].weight.requires_grad_(False)
    module(rows(3, 1, 6, 6)).sum().backward()  # leaves gradients, and tensors in attributes
    hook = module[0].register_forward_hook(lambda *_: None)
    before = copy.deepcopy(module.state_dict())
    modes = [part.training for part in module.modules()]
    fields = [dict(vars(part)) for part in module.modules()]
    gradients = [p.grad.clone() for p in module.parameters() if p.grad is not None]
    state = torch.get_rng_state()
    for target in (module, explain(module, rows(3, 1, 6, 6))):
        monte_carlo(target, rows(3, 1, 6, 6), 5)
    assert torch.equal(torch.get_rng_state(), state)
    assert [part.training for part in module.modules()] == modes
    assert [p.requires_grad for p in module.parameters()].count(False) == 1
    for name, value in module.state_dict().items():
        assert torch.equal(value, before[name])
    for part, old in zip(module.modules(), fields, strict=True):
        assert vars(part).keys() == old.keys()
        assert all(vars(part)[name] is old[name] for name in old)
    after = [p.grad for p in module.parameters() if p.grad is not None]
    assert all(torch.equal(a, b) for a, b in zip(after, gradients, strict=True))
    assert list(module[0]._forward_hooks) == [hook.id]


def test_inputs_stay_as_they_were():
    module = seeded(lambda: nn.Sequential(nn.ReLU(inplace=True), nn.Dropout(0.5), nn.Linear(4, 2)))
    x = rows(6, 4)
    before = x.clone()
    assert explain(module, x).way == "graph"
    torch.testing.assert_close(
        monte_carlo(module, x, 3, random_state=0),
        monte_carlo(module[1:], x.relu(), 3, random_state=0),
    )
    assert torch.equal(x, before)


def test_working_in_place_on_what_is_shared():
    class InPlace(Functional):
        def forward(self, x):
            hidden = self.first(x)
            return self.second(hidden.add_(functional.dropout(hidden, 0.5, self.training)))

    class Late(Functional):
        def forward(self, x):
            hidden = self.first(x)
            dropped = functional.dropout(hidden, 0.5, self.training)
            hidden.mul_(2)
            return self.second(dropped + hidden)

    class Outside(Functional):
        def forward(self, x):
            hidden = self.first(x)
            return self.second(hidden + functional.dropout(hidden, 0.5, self.training))

    x = rows(5, 4)
    wanted = monte_carlo(seeded(Outside), x, 4, random_state=0)
    torch.testing.assert_close(monte_carlo(seeded(InPlace), x, 4, random_state=0), wanted)
    plan = explain(seeded(Late), x)
    assert plan.way == "graph" or "in place" in str(plan)
    with torch.no_grad():
        module = seeded(Late)
        hidden = module.first(x)
    passes = monte_carlo(seeded(Late), x, 400, random_state=0)
    torch.testing.assert_close(
        passes.mean(0), module.second(3 * hidden).detach(), rtol=0.3, atol=0.3
    )


def test_hooks_see_the_rows_once_or_in_every_pass():
    module, seen, again = seeded(torch_net), [], []
    module[0].register_forward_hook(
        lambda _module, _inputs, output: seen.append(tuple(output.shape))
    )
    x = rows(6, 4)
    wanted = naive(module, x, 3, 0).shape
    seen.clear()
    assert explain(module, x).share < 1
    assert seen == []  # not for looking at the module
    assert monte_carlo(module, x, 3, random_state=0).shape == wanted
    assert seen == [(6, 8)]
    module[3].register_forward_hook(
        lambda _module, _inputs, output: again.append(output.sum().item())
    )
    plan = explain(module, x)
    assert not plan.at_once
    assert "hooks of what is repeated see one pass at a time" in str(plan)
    monte_carlo(plan, x, 3, random_state=0)
    assert len(again) == 3
    assert len(set(again)) == 3


def test_hooks_of_containers_and_of_the_whole():
    inner = seeded(lambda: nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
    module = seeded(lambda: nn.Sequential(inner, nn.Dropout(0.5), nn.Linear(4, 2)))
    x = rows(6, 4)
    wanted = monte_carlo(module, x, 4, random_state=0)
    seen = []
    inner.register_forward_pre_hook(lambda _module, inputs: seen.append(inputs[0].shape))
    plan = explain(module, x)
    assert plan.once == ("0 (Sequential)",)
    torch.testing.assert_close(monte_carlo(plan, x, 4, random_state=0), wanted)
    assert seen == [(6, 4)]
    module.register_forward_hook(lambda _module, _inputs, output: output + 1)
    plan = explain(module, x)
    assert "the module itself has hooks" in str(plan)
    torch.testing.assert_close(monte_carlo(plan, x, 4, random_state=0), wanted + 1)


def test_a_double_shares_weights_and_nothing_else():
    module = seeded(lambda: nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Sequential()))
    module.twice = module[0]
    module.held = [module[1], {"one": (module[0],)}]
    module.nothing = None
    module.register_buffer("shared", module[1].running_mean)
    module.register_buffer("empty", None)
    module.forward = types.MethodType(lambda self, x: self.held[0](self[0](x)), module)
    double = private_copy(module, CPU)
    assert double[0].weight is module[0].weight
    assert double[1].running_mean is not module[1].running_mean
    assert double.shared is double[1].running_mean
    assert double.twice is double[0]
    assert double.held[0] is double[1]
    assert double.held[1]["one"][0] is double[0]
    assert double[2] is not module[2]
    assert double.forward.__self__ is double
    assert not any(part.training for part in double.modules())
    module.train()
    double(rows(4, 2))
    assert torch.equal(module[1].running_mean, torch.zeros(2))
    moved = private_copy(module, torch.device("meta"))
    assert moved[0].weight.device.type == "meta"
    assert moved.twice.weight is moved[0].weight
    assert module[0].weight.device == CPU


# --- nothing random, foreign noise ----------------------------------------------------------------


def test_one_pass_is_without_noise():
    module, x = seeded(torch_net), rows(5, 4)
    with torch.no_grad():
        wanted = copy.deepcopy(module).eval()(x)[None]
    for size in (None, 2):
        torch.testing.assert_close(monte_carlo(module, x, 1, batch_size=size), wanted)


def test_nothing_random_is_one_member():
    x = rows(5, 4)
    for module in (nn.Linear(4, 3), torch_net(nn.Dropout(0.0)), nn.Identity()):
        plan = explain(module, x)
        assert plan.way == "nothing random"
        assert plan.share == 0
        assert str(plan) == "Plan: nothing is random; one pass, one member"
        assert monte_carlo(plan, x, 9).shape[0] == 1


def test_a_random_layer_that_is_not_called_is_not_random():
    class Spare(Functional):
        def forward(self, x):
            return self.first(x)

    module = Spare()
    module.spare = Dropout(0.5)
    assert explain(module, rows(5, 4)).way == "nothing random"


def test_a_forward_that_was_set_on_the_module():
    module, x = seeded(Functional), rows(5, 4)
    module.forward = types.MethodType(lambda self, x: Functional.forward(self, x) + 1, module)
    plan = explain(module, x)
    assert plan.way == "whole"
    wanted = monte_carlo(seeded(Functional), x, 3, random_state=0) + 1
    torch.testing.assert_close(monte_carlo(plan, x, 3, random_state=0), wanted)


def test_noise_of_the_user_is_seeded_for_every_pass():
    class Noisy(Functional):
        def forward(self, x):
            return self.first(x) + torch.randn_like(x[0, :1])

    class Constant(Functional):
        def forward(self, x):
            return self.first(x) + torch.randn(1)

    for build in (Noisy, Constant):
        module, x = seeded(build), rows(5, 4)
        plan = explain(module, x)
        assert "draws from torch's own generator" in str(plan)
        assert plan.way == ("graph" if build is Noisy else "whole")
        state = torch.get_rng_state()
        found = monte_carlo(plan, x, 100, random_state=0)
        torch.testing.assert_close(found, monte_carlo(plan, x, 100, batch_size=3, random_state=0))
        assert torch.equal(torch.get_rng_state(), state)
        assert abs(found.std(0)[0, 0].item() - 1) < 5 / 200**0.5


def test_a_trace_that_lies_is_found_out():
    class Lying(Functional):
        def forward(self, x):
            scale = 2.0 if torch.jit.is_tracing() or isinstance(x, torch.fx.Proxy) else 1.0
            return functional.dropout(self.first(x), 0.5, self.training) * scale

    plan = explain(seeded(Lying), rows(5, 4))
    assert plan.way == "whole"
    assert "its graph gives other numbers" in str(plan)


def test_a_layer_whose_vmap_lies_is_found_out():
    class Lying(Stochastic):
        def forward(self, x):
            scale = 1.0 if torch._C._functorch.maybe_current_level() is None else 2.0
            return x * self.uniform((1, 4), x) * scale

    plan = explain(nn.Sequential(Lying()), rows(5, 4))
    assert not plan.at_once
    assert "torch.vmap gives other numbers" in str(plan)


def test_tensors_made_in_forward_are_constants_of_the_graph():
    class Made(Functional):
        def forward(self, x):
            return functional.dropout(self.first(x), 0.5, self.training) + torch.arange(8.0)

    module, x = seeded(Made), rows(5, 4)
    plan = explain(module, x)
    assert plan.way == "graph"
    assert "_tensor_constant0" not in vars(module)
    assert monte_carlo(plan, x, 3).shape == (3, 5, 8)


# --- memory ---------------------------------------------------------------------------------------


def test_memory_is_a_line_in_the_rows():
    plan = explain(nn.Sequential(nn.Dropout(0.5), nn.Linear(100, 10, bias=False)), rows(2, 100))
    # For each row the product with the mask: input and output; for all the mixing of the mask.
    assert plan.repeated_memory == Memory(fixed=1200, per_row=800)
    assert plan.repeated_memory.rows(1200 + 8000) == 10
    assert plan.repeated_memory.rows(0) == 1


@pytest.mark.parametrize(("count", "passes"), [(10, 5), (5_000, 50), (200_000, 50)])
def test_chunks_stay_within_the_budget(count, passes):
    plan = explain(nn.Sequential(nn.Dropout(0.5), nn.Linear(100, 10)), rows(2, 100))
    at_once, together = _run.chunks(plan, count, passes)
    assert plan.repeated_memory.of(at_once) * together <= 16 * 2**20
    assert at_once == count or plan.repeated_memory.of(at_once + 1) > 16 * 2**20
    assert together == passes or plan.repeated_memory.of(at_once) * (together + 1) > 16 * 2**20
    assert _run.chunks(plan, count, passes, batch_size=3)[0] == 3


def test_no_call_sees_more_rows_than_planned(monkeypatch):
    monkeypatch.setattr(_run, "_CPU_BUDGET", 2000)
    monkeypatch.setattr(_run, "_DRAWING", 1)
    seen = {"once": [], "repeated": []}
    module = seeded(torch_net)
    module[0].register_forward_hook(lambda _m, _i, output: seen["once"].append(len(output)))
    x = rows(50, 4)
    plan = explain(module, x)
    wanted = naive(module, x, 6, 0).shape
    seen["once"].clear()
    original = torch.vmap

    def counted(function, **options):
        mapped = original(function, **options)
        return lambda keys: seen["repeated"].append(len(keys)) or mapped(keys)

    monkeypatch.setattr(torch, "vmap", counted)
    found = monte_carlo(plan, x, 6, random_state=0)
    assert found.shape == wanted
    assert max(seen["once"]) <= plan.once_memory.rows(2000) < 50
    assert sum(seen["once"]) == 50
    seen["once"].clear()
    assert monte_carlo(plan, x, 1).shape == (1, 50, 3)
    assert max(seen["once"]) <= plan.once_memory.rows(2000)
    at_once, together = _run.chunks(plan, 50, 6)
    assert max(seen["repeated"]) <= together
    assert at_once < 50


def test_values_that_cannot_be_joined_keep_their_batches(monkeypatch):
    class Sizes(Functional):
        def forward(self, x):
            hidden = functional.dropout(self.first(x), 0.5, self.training)
            return hidden.reshape(x.shape[0], 2, 4).sum(2)

    module, x = seeded(Sizes), rows(50, 4)
    plan = explain(module, x)
    assert not plan.joinable
    wanted = monte_carlo(plan, x, 4, random_state=0)
    monkeypatch.setattr(_run, "_CPU_BUDGET", 1000)
    monkeypatch.setattr(_run, "_DRAWING", 1)
    assert _run.chunks(plan, 50, 4)[0] < 50
    torch.testing.assert_close(monte_carlo(plan, x, 4, random_state=0), wanted)


def test_out_of_memory_tries_with_half(monkeypatch):
    module, x = seeded(torch_net), rows(10, 4)
    plan = explain(module, x)
    wanted = monte_carlo(plan, x, 8, random_state=0)
    original = _run._repeat

    def small(plan, values, keys):
        if len(keys) * len(values[0]) > 3:
            raise torch.OutOfMemoryError("no")
        return original(plan, values, keys)

    monkeypatch.setattr(_run, "_repeat", small)
    torch.testing.assert_close(monte_carlo(plan, x, 8, random_state=0), wanted)

    def never(plan, values, keys):
        raise torch.OutOfMemoryError("no")

    monkeypatch.setattr(_run, "_repeat", never)
    with pytest.raises(torch.OutOfMemoryError):
        monte_carlo(plan, x, 8, random_state=0)


def test_other_devices_have_more_room(monkeypatch):
    small, weights, large = Memory(0, 8), Memory(2**20, 8), Memory(2**30, 8)
    assert [_run.budget(CPU, memory) >> 20 for memory in (small, weights, large)] == [16, 64, 256]
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (8 * 2**30, 9 * 2**30))
    assert _run.budget(torch.device("cuda"), large) == 2 * 2**30
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (80 * 2**30, 90 * 2**30))
    assert _run.budget(torch.device("cuda"), large) == 4 * 2**30
    plan = explain(seeded(torch_net), rows(3, 4))
    plan = dataclasses.replace(plan, device=torch.device("cuda"), repeated_memory=Memory(0, 2**20))
    assert _run.chunks(plan, 10**6, 50) == (512, 8)


def test_weights_larger_than_activations_do_not_hide_them():
    module = MLP(100, 100, hidden=(100,), stochastic="bayes", where="all")
    plan = explain(module, rows(2, 100))
    assert plan.repeated_memory.fixed >= 2 * 100 * 100 * 4  # draws of the weights
    assert plan.repeated_memory.per_row >= 2 * 100 * 4  # a row and its outputs
    assert _run.chunks(plan, 10**7, 50)[0] < 10**6


# --- what goes in ---------------------------------------------------------------------------------


def test_arrays_frames_and_tensors_are_the_same():
    module, x = seeded(torch_net), rows(6, 4)
    wanted = monte_carlo(module, x, 3, random_state=0)
    array = x.numpy().astype(np.float64)
    frozen = x.numpy().copy()
    frozen.flags.writeable = False
    for X in (array, array[::-1][::-1], frozen, x.tolist(), pd.DataFrame(array), x.double()):
        torch.testing.assert_close(monte_carlo(module, X, 3, random_state=0), wanted)
    whole = np.arange(24).reshape(6, 4)
    torch.testing.assert_close(
        monte_carlo(module, whole, 3, random_state=0),
        monte_carlo(module, whole.astype(float), 3, random_state=0),
    )
    assert monte_carlo(module.double(), x.numpy(), 3).dtype == torch.float64


def test_several_inputs_and_whole_numbers():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.drop, self.last = nn.Embedding(5, 3), nn.Dropout(0.5), nn.Linear(5, 2)

        def forward(self, codes, x):
            return self.last(self.drop(torch.cat([self.table(codes), x], dim=1)))

    module = seeded(Two)
    codes, x = np.array([0, 4, 2]), rows(3, 2)
    found = monte_carlo(module, (codes, x), 4, random_state=0)
    torch.testing.assert_close(
        found, monte_carlo(module, (torch.tensor(codes), x), 4, random_state=0)
    )
    assert found.shape == (4, 3, 2)
    with pytest.raises(ShapeError, match=r"must have the same number of rows; got \[3, 2\]"):
        monte_carlo(module, (codes, x[:2]), 4)


def test_squeezed_outputs_of_one_row():
    class Squeezed(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop, self.last = nn.Dropout(0.5), nn.Linear(4, 1)

        def forward(self, x):
            return self.last(self.drop(x)).squeeze()

    module = seeded(Squeezed)
    assert monte_carlo(module, rows(1, 4), 3).shape == (3, 1)
    assert monte_carlo(module, rows(1, 4), 1).shape == (1, 1)
    assert monte_carlo(module, rows(5, 4), 3, batch_size=1).shape == (3, 5)


def test_seeds():
    module, x = seeded(torch_net), rows(3, 4)
    assert torch.equal(pass_keys(5, 3), pass_keys(5, np.int64(3)))
    assert not torch.equal(pass_keys(5, 3), pass_keys(5, 4))
    assert not torch.equal(pass_keys(5), pass_keys(5))
    generator = np.random.default_rng(0)
    assert not torch.equal(pass_keys(5, generator), pass_keys(5, generator))
    first, second = (monte_carlo(module, x, 3, random_state=0) for _ in range(2))
    assert torch.equal(first, second)
    assert not torch.equal(first, monte_carlo(module, x, 3, random_state=1))


def test_wrapped_modules():
    module, x = seeded(torch_net), rows(3, 4)
    wanted = monte_carlo(module, x, 3, random_state=0)
    assert torch.equal(monte_carlo(nn.DataParallel(module), x, 3, random_state=0), wanted)


def test_progress_bar(capsys):
    monte_carlo(seeded(torch_net), rows(4, 4), 3, batch_size=2, progress=True)
    assert "Monte Carlo" in capsys.readouterr().out


def test_the_log_says_which_way(caplog):
    with caplog.at_level(logging.INFO, logger="caveat.nn"):
        explain(torch_net(), rows(3, 4))
        explain(Branching(), rows(3, 4))
    assert caplog.messages[0] == "Sequential: graph, at once"
    assert caplog.messages[1].startswith("Branching: whole, it cannot be traced: ")


# --- predictions ----------------------------------------------------------------------------------


class Returns(nn.Module):
    """Dropout, then whatever a function makes of it."""

    def __init__(self, function):
        super().__init__()
        self.drop, self.function = nn.Dropout(0.2), function

    def forward(self, x):
        return self.function(self.drop(x))


def test_logits_and_probabilities():
    x = rows(6, 3)
    raw = monte_carlo(Returns(lambda x: x), x, 4, random_state=0)
    by_logits = predict(
        Returns(lambda x: x), x, passes=4, head="logits", classes=list("abc"), random_state=0
    )
    assert list(by_logits.classes) == ["a", "b", "c"]
    np.testing.assert_allclose(by_logits.probabilities, raw.double().softmax(-1).numpy(), rtol=1e-6)
    by_p = predict(
        Returns(lambda x: x.softmax(-1)), x, passes=4, head="probabilities", random_state=0
    )
    np.testing.assert_allclose(by_p.probabilities, by_logits.probabilities, atol=1e-6)


@pytest.mark.parametrize("select", [lambda x: x[:, 0], lambda x: x[:, :1]])
def test_one_column_is_the_second_of_two_classes(select):
    x = rows(6, 3)
    raw = monte_carlo(Returns(lambda x: x), x, 4, random_state=0)[..., 0]
    options = {"passes": 4, "classes": ["no", "yes"], "random_state": 0}
    by_logits = predict(Returns(select), x, head="logits", **options)
    by_p = predict(Returns(lambda x: select(x).sigmoid()), x, head="probabilities", **options)
    for found in (by_logits, by_p):
        assert found.members == 4
        np.testing.assert_allclose(found.probabilities[..., 1], raw.sigmoid().numpy(), atol=1e-6)
    assert list(by_logits.classes) == ["no", "yes"]
    assert list(predict(Returns(select), x, head="logits").classes) == [0, 1]


@pytest.mark.parametrize(("head", "power"), [("mean-std", 2), ("mean-variance", 1)])
def test_means_with_spreads(head, power):
    x = rows(6, 3)
    raw = monte_carlo(Returns(lambda x: x), x, 4, random_state=0).double().numpy()
    as_tuple = predict(
        Returns(lambda x: (x, x.abs())), x, passes=4, head=head, targets=list("abc"), random_state=0
    )
    stacked = predict(
        Returns(lambda x: torch.stack([x, x.abs()], 1)),
        x,
        passes=4,
        head=head,
        targets=list("abc"),
        random_state=0,
    )
    assert as_tuple == stacked
    assert isinstance(as_tuple, caveat.Gaussian)
    np.testing.assert_allclose(as_tuple.mean, raw)
    np.testing.assert_allclose(as_tuple.variance, np.abs(raw) ** power)
    single = predict(Returns(lambda x: x[:, :2].abs()), x, passes=4, head=head, random_state=0)
    np.testing.assert_allclose(single.mean[..., 0], np.abs(raw[..., 0]))
    np.testing.assert_allclose(single.variance[..., 0], np.abs(raw[..., 1]) ** power)


def test_points_and_quantiles():
    x = rows(6, 3)
    raw = monte_carlo(Returns(lambda x: x), x, 4, random_state=0).double().numpy()
    points = predict(Returns(lambda x: x), x, passes=4, head="mean", random_state=0)
    np.testing.assert_allclose(points.mean, raw)
    assert not points.variance.any()
    assert predict(Returns(lambda x: x[:, 0]), x, passes=4, head="mean").mean.shape == (4, 6, 1)
    levels = [0.1, 0.5, 0.9]
    quantiles = predict(
        Returns(lambda x: x.sort(1).values),
        x,
        passes=4,
        head="quantiles",
        levels=levels,
        random_state=0,
    )
    np.testing.assert_allclose(quantiles.values[:, :, 0], np.sort(raw, axis=2))
    two = Returns(lambda x: torch.stack([x, x + 1], 1).sort(2).values)
    assert predict(two, x, head="quantiles", levels=levels, targets=["a", "b"]).values.shape == (
        50,
        6,
        2,
        3,
    )


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        ("gaussian-logits", caveat.GaussianLogits),
        ("mean-std", caveat.Gaussian),
        ("quantiles", caveat.Quantiles),
    ],
)
def test_heads_of_ours_are_recognized(head, kind):
    levels = [0.1, 0.9] if head == "quantiles" else None
    module, x = seeded(MLP, 4, 2, stochastic="dropout", head=head, levels=levels), rows(5, 4)
    found = predict(module, x, passes=3, random_state=0)
    assert isinstance(found, kind)
    assert found.members == 3
    assert found == predict(module, x, passes=3, head=head, levels=levels, random_state=0)
    module.register_forward_hook(lambda *_: None)  # no graph any more
    assert isinstance(predict(nn.Sequential(module), x, passes=3), kind)
    if levels is None:
        values = monte_carlo(module, x, 3, random_state=0).double().numpy()
        np.testing.assert_allclose(found.mean, values[:, :, 0], rtol=1e-5)
        np.testing.assert_allclose(found.variance, values[:, :, 1] ** 2, rtol=1e-5)
    else:
        assert found.levels.tolist() == levels


# --- errors ---------------------------------------------------------------------------------------


def broken(x):
    return torch.where(x.sum(1, keepdim=True) > 1e6, torch.nan, x)


NAN_ROW = torch.ones(6, 3)
NAN_ROW[4] = 1e7


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: predict(torch_net(), rows(3, 4)), OptionError, "its last layer is no head of caveat.nn.layers; pass head=, one of \"logits\", \"probabilities\""),
        (lambda: predict(Returns(lambda x: x * 2), rows(3, 4)), OptionError, "the meaning of the module's output is unknown"),
        (lambda: predict(torch_net(), rows(3, 4), head="logit"), UnknownNameError, "head must be \"auto\" or one of \"logits\", .* got 'logit'"),
        (lambda: predict(torch_net(), rows(3, 5), head="logits"), ShapeError, r"the module fails on rows of X of shape \(5,\): RuntimeError: .*shapes cannot be multiplied"),
        (lambda: predict(torch_net(), 3.0, head="logits"), ShapeError, r"X must have at least one row along its first axis; got shape \(\)"),
        (lambda: predict(torch_net(), np.empty((0, 4)), head="logits"), ShapeError, r"got shape \(0, 4\)"),
        (lambda: predict(torch_net(), [["a"] * 4], head="logits"), InvalidValueError, "X must be real numbers; got an array of type"),
        (lambda: predict(torch_net(), rows(3, 4), head="logits", classes=["a", "b"]), caveat.exceptions.CaveatError, "classes"),
        (lambda: predict(torch_net(), rows(3, 4), head="gaussian-logits"), ShapeError, r"head=\"gaussian-logits\" needs a module that returns \(rows, 2, classes\): means and standard deviations of the logits; it returns \(rows, 3\)"),
        (lambda: predict(torch_net(), rows(3, 4), head="mean-std"), ShapeError, r"\(rows, 2, targets\), or \(rows, 2\) for one target"),
        (lambda: predict(Returns(lambda x: x[:, None]), rows(3, 4), head="logits"), ShapeError, r"needs a module that returns \(rows, classes\).* it returns \(rows, 1, 4\)"),
        (lambda: predict(torch_net(), rows(3, 4), head="quantiles"), OptionError, "head=\"quantiles\" needs levels="),
        (lambda: predict(torch_net(), rows(3, 4), head="quantiles", levels=[0.5]), ShapeError, "values must have shape"),
        (lambda: predict(torch_net(), rows(3, 4), head="logits", targets=["a"]), OptionError, "head=\"logits\" has no use for targets=; leave it out"),
        (lambda: predict(Returns(broken), NAN_ROW, head="logits", random_state=0), InvalidValueError, "the module's output for row 4 is nan in member 0; check that row of X"),
        (lambda: predict(torch_net(), rows(3, 4), head="logits", passes=0), OptionError, "passes must be a whole number of at least 1; got 0"),
        (lambda: predict(torch_net(), rows(3, 4), head="logits", batch_size=2.5), OptionError, "batch_size must be a whole number of at least 1; got 2.5"),
        (lambda: predict(torch_net(), rows(3, 4), head="logits", random_state=-1), OptionError, "random_state must be"),
        (lambda: predict(torch_net(), rows(3, 4), head="logits", device="nowhere"), OptionError, "device='nowhere' cannot be used"),
        (lambda: predict(explain(torch_net(), rows(3, 4)), rows(3, 4), head="logits", device="meta"), OptionError, "the plan is for device cpu; got device='meta'"),
        (lambda: predict(lambda x: x, rows(3, 4)), OptionError, "module must be a torch.nn.Module; got function"),
        (lambda: predict(nn.Sequential(nn.LazyLinear(3)), rows(3, 4)), OptionError, "parameter 0.weight of the module has no shape yet; call the module once"),
        (lambda: predict(Returns(lambda x: {"a": x}), rows(3, 4)), ShapeError, "must return a tensor, or a tuple of tensors of one shape; got dict"),
        (lambda: predict(Returns(lambda x: (x, (x[:, 0], 1))), rows(3, 4)), ShapeError, r"got tuple of \[\(2, 4\), \"tuple of \[\(2,\), 'int'\]\"\]"),
        (lambda: predict(Returns(lambda x: x.sum(0)), rows(3, 4)), ShapeError, r"returned shape \(4,\) for 2 rows of X; its output must have one row for each"),
        (lambda: predict(Returns(lambda x: x.sum()), rows(3, 4)), ShapeError, r"returned shape \(\) for 2 rows"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_plan_is_used_as_it_is():
    module, x = seeded(torch_net), rows(5, 4)
    plan = explain(module, x)
    assert isinstance(plan, PassPlan)
    assert predict(plan, x, passes=3, head="logits", device="cpu", random_state=0) == predict(
        module, x, passes=3, head="logits", random_state=0
    )
    with torch.no_grad():
        module[3].bias += 1
    torch.testing.assert_close(
        monte_carlo(plan, x, 3, random_state=0), monte_carlo(module, x, 3, random_state=0)
    )


def test_a_module_without_products_is_all_repeated():
    assert explain(nn.Sequential(nn.Dropout(0.5)), rows(3, 4)).share == 1

    class Bare(nn.Module):
        def forward(self, x):
            return torch.dropout(x, 0.5, False)

    assert explain(Bare(), rows(3, 4)).repeated == ("dropout",)


def test_dropout_of_weights_has_no_rows_to_share():
    class Dropped(Functional):
        def forward(self, x):
            return functional.linear(x, functional.dropout(self.first.weight, 0.5, self.training))

    module, x = seeded(Dropped), rows(5, 4)
    plan = explain(module, x)
    assert plan.noise.row_axes == {0: None}
    one_hot = monte_carlo(plan, torch.eye(4), 3, random_state=0)  # reads the weights
    ratio = one_hot / module.first.weight.detach().T
    assert set(ratio.unique().tolist()) <= {0.0, 2.0}
    assert not (ratio == ratio[:, :1]).all()
    torch.testing.assert_close(monte_carlo(plan, x, 3, random_state=0), x @ one_hot)


def test_tied_weights_stay_tied_and_whole_numbers_have_no_precision():
    module = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    module[1].weight = module[0].weight
    moved = private_copy(module, torch.device("meta"))
    assert moved[1].weight is moved[0].weight

    class Shift(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("by", torch.tensor([1]))

        def forward(self, x):
            return functional.dropout(x, 0.5, self.training) + self.by

    assert monte_carlo(Shift(), np.ones((2, 3)), 3).dtype == torch.float32
