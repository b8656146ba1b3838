"""Monte-Carlo passes of modules as people write them: options, state, noise of any kind."""

import collections
import warnings
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from caveat.nn import explain, monte_carlo, predict
from caveat.nn._copies import _Copier, private_copy
from caveat.nn.generators import Generators
from caveat.nn.layers import BayesLinear, Dropout, MeanVarianceHead

CPU = torch.device("cpu")


def rows(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def of_one_seed(build):
    torch.manual_seed(0)
    return build()


class Net(nn.Module):
    """Two layers with dropout in between."""

    def __init__(self):
        super().__init__()
        self.first, self.drop, self.last = nn.Linear(4, 8), nn.Dropout(0.4), nn.Linear(8, 3)

    def forward(self, x):
        return self.last(self.drop(self.first(x).relu()))


# --- inputs that were not given -------------------------------------------------------------------


class Masked(Net):
    def forward(self, x, mask=None):
        hidden = self.first(x).relu()
        if mask is not None:
            hidden = hidden * mask
        return self.last(self.drop(hidden))


class Flagged(Net):
    def forward(self, x, features=False, *, scale=1.0):
        hidden = self.drop(self.first(x).relu())
        return hidden if features else self.last(hidden) * scale


class Reversed(Net):
    """The branch of a trace that knows no defaults has nothing random."""

    def forward(self, x, plain=None):
        hidden = self.first(x).relu()
        return self.last(self.drop(hidden) if plain is None else hidden)


class Several(Net):
    def forward(self, x, factors=(1.0, 2.0), *others, **named):
        return super().forward(x) * factors[0]


@pytest.mark.parametrize("build", [Masked, Flagged, Reversed, Several])
def test_inputs_that_were_not_given_have_their_defaults(build):
    x = rows(6, 4)
    plan = explain(of_one_seed(build), x)
    assert plan.way == "graph"
    assert plan.once[:2] == ("first (Linear)", "relu")
    wanted = monte_carlo(of_one_seed(Net), x, 5, random_state=0)
    torch.testing.assert_close(monte_carlo(plan, x, 5, random_state=0), wanted)


def test_an_optional_input_that_was_given():
    x, mask = rows(6, 4), (rows(6, 8) > 0).float()
    module = of_one_seed(Masked)
    found = monte_carlo(module, (x, mask), 2000, random_state=0).mean(0)
    with torch.no_grad():
        wanted = module.last(module.first(x).relu() * mask)
    assert (found - wanted).abs().max() < 0.1
    assert (found - monte_carlo(module, x, 2000, random_state=0).mean(0)).abs().max() > 0.1


class Unrunnable(Net):
    """A trace that takes another way than the module, which fails when it is run."""

    def forward(self, x):
        hidden = self.drop(self.first(x).relu())
        if isinstance(x, torch.fx.Proxy):
            hidden = hidden @ hidden
        return self.last(hidden)


class Hidden(Net):
    """A trace that sees nothing random."""

    def forward(self, x):
        hidden = self.first(x).relu()
        return self.last(hidden if isinstance(x, torch.fx.Proxy) else self.drop(hidden))


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (Unrunnable, "its graph cannot be run: "),
        (Hidden, "its graph gives other numbers"),
    ],
)
def test_a_graph_that_is_not_the_module_is_not_used(build, reason):
    x = rows(6, 4)
    plan = explain(of_one_seed(build), x)
    assert plan.way == "whole"
    assert f"because {reason}" in str(plan)
    wanted = monte_carlo(of_one_seed(Net), x, 5, random_state=0)
    torch.testing.assert_close(monte_carlo(plan, x, 5, random_state=0), wanted)


# --- the module stays as it was -------------------------------------------------------------------


class Stateful(nn.Module):
    """Changes all it has in place."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.drop = nn.Dropout(0.4)
        self.tensor, self.array, self.number = torch.zeros(1), np.zeros(1), 0
        self.queue, self.ordered = collections.deque(maxlen=9), collections.OrderedDict()
        self.set, self.list, self.inner = set(), [], [{"tensor": torch.zeros(1)}]
        self.counts = collections.Counter()
        self.generator = torch.Generator().manual_seed(0)

    def forward(self, x):
        self.tensor.add_(1)
        self.array += 1
        self.number += 1
        self.queue.append(1)
        self.ordered["key"] = 1
        self.set.add(1)
        self.list.append(1)
        self.inner[0]["tensor"].add_(1)
        self.counts["calls"] += 1
        torch.rand(1, generator=self.generator)
        return self.drop(self.layer(x))


def test_what_a_forward_changes_in_place_is_its_own():
    module, fresh = Stateful(), Stateful()
    monte_carlo(module, rows(5, 4), 3, random_state=0)
    for name in ("tensor", "array", "number", "inner"):
        assert getattr(module, name) == getattr(fresh, name), name
    for name in ("queue", "ordered", "set", "list", "counts"):
        assert not getattr(module, name), name
    assert torch.equal(module.generator.get_state(), fresh.generator.get_state())


def test_what_was_one_thing_stays_one_thing():
    module = nn.Sequential(nn.BatchNorm1d(3), nn.GRU(3, 2))
    module.weights = [module[1].weight_ih_l0, module[0].running_mean]
    module.one = module.other = collections.deque([module[0]], maxlen=3)
    module.counts = collections.Counter(a=2)
    module.round = [torch.ones(2)]
    module.round.append(module.round)
    for device in (CPU, torch.device("meta")):
        double = private_copy(module, device)
        assert double.weights[0] is double[1].weight_ih_l0
        assert double.weights[1] is double[0].running_mean
        assert double[1]._flat_weights[0] is double[1].weight_ih_l0
        assert double[1].weight_ih_l0.device == device
        assert double.one is double.other
        assert double.one.maxlen == 3
        assert double.one[0] is double[0]
        assert double.counts == {"a": 2}
        assert double.counts is not module.counts
        assert double.round[1] is double.round
        assert double.round[0].device == CPU  # as torch's own moves leave it


def test_only_what_was_copied_is_kept_in_mind():
    numbers = [1000, 2.5, 1j, "word", b"bytes", True, None]
    for value in (numbers, collections.deque(numbers), dict(enumerate(numbers, 1000)), Net):
        copier = _Copier(CPU, hooks=True)
        double = copier.plain(value)
        assert double == value
        assert copier.known == ({} if value is Net else {id(value): double})


def test_a_deque_is_filled_in_order_and_may_hold_itself():
    inner = collections.deque([[1], torch.ones(1), (2, [3])], maxlen=3)
    queue = collections.deque([inner, inner], maxlen=3)
    queue.append(queue)
    module = nn.Identity()
    module.queue = queue
    double = private_copy(module, CPU).queue
    assert double is not queue
    assert (len(double), double.maxlen) == (3, 3)
    assert double[2] is double
    assert double[0] is double[1] is not inner
    assert (double[0][0], double[0][2], double[0].maxlen) == ([1], (2, [3]), 3)
    for mine, theirs in zip(double[0], inner, strict=True):
        assert mine is not theirs
    double[0][1].add_(1)
    assert inner[1] == 1


def test_tensors_that_a_mapped_pass_has_left_behind():
    class Leaving(Net):
        def forward(self, x):
            self.left = self.first(x)
            return self.last(self.drop(self.left))

    module = of_one_seed(Leaving).eval()
    torch.vmap(module)(rows(3, 5, 4))
    left = module.left
    assert monte_carlo(module, rows(5, 4), 3).shape == (3, 5, 3)
    assert module.left is left


def test_an_early_alias_of_a_later_buffer():
    first, second = nn.Identity(), nn.BatchNorm1d(2)
    first.mean = [second.running_mean]
    moved = private_copy(nn.Sequential(first, second), torch.device("meta"))
    assert moved[0].mean[0] is moved[1].running_mean
    assert moved[1].running_mean.device.type == "meta"


# --- noise of torch -------------------------------------------------------------------------------


class Gumbel(Net):
    def forward(self, x):
        return functional.gumbel_softmax(self.first(x))


class LeakyAtRandom(Net):
    def forward(self, x):
        return functional.rrelu(self.first(x), training=True)


class Attending(Net):
    def forward(self, x):
        x = x[:, :, None]
        return functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5)[..., 0]


class Constant(Net):
    """Random, but not by the inputs: a trace must not make a constant of it."""

    def forward(self, x):
        return self.first(x) + functional.gumbel_softmax(torch.zeros(8), dim=0)


@pytest.mark.parametrize("build", [Gumbel, LeakyAtRandom, Attending, Constant])
def test_all_that_draws_from_the_generator_is_random(build):
    module, x = of_one_seed(build), rows(6, 4)
    plan = explain(module, x)
    assert plan.way == ("whole" if build is Constant else "graph")
    assert "draws from torch's own generator" in str(plan)
    assert ("draws random numbers without an input" in str(plan)) == (build is Constant)
    state = torch.get_rng_state()
    found = monte_carlo(plan, x, 20, random_state=0)
    torch.rand(7)
    assert torch.equal(found, monte_carlo(plan, x, 20, random_state=0))
    torch.set_rng_state(state)
    assert len(found) == 20
    assert all((one != other).any() for one, other in pairwise(found))


def test_the_distribution_of_noise_that_torch_hides():
    """The mean of the slopes of rrelu is the middle of its range, their variance width² / 12."""

    class Slopes(nn.Module):
        def forward(self, x):
            return functional.rrelu(x, 0.1, 0.4, training=True)

    passes = 4000
    found = monte_carlo(Slopes(), torch.full((1, 1), -1.0), passes, random_state=0)
    assert abs(found.mean() + 0.25) < 5 * (0.3**2 / 12 / passes) ** 0.5
    assert abs(found.var() / (0.3**2 / 12) - 1) < 5 * (0.8 / passes) ** 0.5


def queued_seeds():
    return list(torch.cuda._lazy_seed_tracker.get_calls())


@pytest.mark.parametrize("build", [Net, Gumbel])
def test_no_seed_is_left_for_other_devices(build):
    module, x = of_one_seed(build), rows(6, 4)
    before, state = queued_seeds(), torch.get_rng_state()
    torch.rand(1)
    torch.set_rng_state(state)
    str(explain(module, x))
    monte_carlo(module, x, 3)
    assert queued_seeds() == before
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_generators_of_a_gpu():
    module, x = of_one_seed(Gumbel), rows(6, 4)
    before = torch.get_rng_state(), torch.cuda.get_rng_state()
    monte_carlo(module, x, 3, random_state=0)
    monte_carlo(Net(), x, 3, random_state=0)
    first, second = (monte_carlo(module, x, 3, device="cuda", random_state=0) for _ in range(2))
    assert torch.equal(first, second)
    assert (first[0] != first[1]).any()
    torch.set_rng_state(before[0])  # moved by the weights of Net
    assert torch.equal(torch.cuda.get_rng_state(), before[1])


def test_generators_are_kept_and_seen_to_move():
    generators = Generators(CPU)
    state = torch.get_rng_state()
    with generators.kept():
        states = generators.states()
        assert not generators.moved(states)
        torch.rand(1)
        assert generators.moved(states)
        generators.seed(5)
        found = torch.rand(3)
    assert torch.equal(found, torch.rand(3, generator=torch.Generator().manual_seed(5)))
    assert torch.equal(torch.get_rng_state(), state)


# --- one layer, several calls ---------------------------------------------------------------------


class Twice(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return torch.stack([self.layer(x), self.layer(x)], dim=1)


@pytest.mark.parametrize(
    "build", [lambda: nn.Dropout(0.5), lambda: Dropout(0.5), lambda: BayesLinear(4, 4)]
)
def test_a_layer_that_is_called_twice_draws_twice(build):
    x = torch.ones(2, 4)
    plan = explain(Twice(of_one_seed(build)), x)
    assert plan.at_once
    found = monte_carlo(plan, x, 2000, random_state=0)
    first, second = found[:, 0, 0], found[:, 0, 1]
    correlation = np.corrcoef(first.numpy().T, second.numpy().T)[:4, 4:]
    assert np.abs(correlation).max() < 5 / 2000**0.5
    alone = monte_carlo(nn.Sequential(of_one_seed(build)), x, 2000, random_state=0)
    torch.testing.assert_close(found[:, :, 0], alone)


# --- warnings -------------------------------------------------------------------------------------


class Encoding(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.3, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.last = MeanVarianceHead(8, 1)

    def forward(self, x):
        return self.last(self.encoder(x).mean(1))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop, self.layer = Dropout(0.3), nn.MultiheadAttention(8, 2, batch_first=True)
        self.last = MeanVarianceHead(8, 1)

    def forward(self, x):
        x = self.drop(x)
        return self.last(self.layer(x, x, x, need_weights=False)[0].mean(1))


@pytest.mark.parametrize(
    ("build", "wanted"), [(Encoding, ["torch offers no way to draw dr"]), (Attention, [])]
)
def test_only_our_own_warnings_reach_people(build, wanted):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plan = explain(build(), rows(4, 6, 8))
        predict(plan, rows(4, 6, 8), passes=5)
    assert plan.at_once
    assert [str(each.message)[:30] for each in caught] == wanted


def test_warnings_of_the_module_do_reach_people():
    class Warns(Net):
        def forward(self, x):
            warnings.warn("mind the step", stacklevel=1)
            return super().forward(x) if len(x) else x  # cannot be traced

    with pytest.warns(UserWarning, match="mind the step"):
        plan = explain(Warns(), rows(4, 4))
    with pytest.warns(UserWarning, match="mind the step"):
        monte_carlo(plan, rows(4, 4), 3)


def test_a_layer_that_draws_other_first_weights_is_a_layer_of_torch():
    """Only what comes after the first noise is repeated, also around layers of one's own."""

    class FromZero(nn.BatchNorm1d):
        def reset_parameters(self):
            super().reset_parameters()
            nn.init.zeros_(self.weight)

    module = nn.Sequential(
        nn.Conv1d(1, 4, 3), FromZero(4), nn.Dropout(0.3), nn.Flatten(), nn.Linear(4 * 8, 2)
    )
    plan = explain(module, torch.zeros(2, 1, 10))
    assert plan.way == "graph"
    assert plan.once == ("0 (Conv1d)", "1 (FromZero)")
