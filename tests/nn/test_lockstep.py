"""Copies that train together come out as if each had trained alone, and as plain torch trains."""

import copy
import dataclasses
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from caveat.exceptions import TrainingError
from caveat.nn import MLP, losses
from caveat.nn.layers import (
    BayesLinear,
    ConcreteDropoutLinear,
    DropConnectLinear,
    Dropout,
    FlipoutLinear,
    GaussianLogitsHead,
    GaussianPrior,
    MeanVarianceHead,
    MemberLinear,
    MemberScale,
    Prior,
    QuantileHead,
    ScaleMixturePrior,
    Standardize,
    Stochastic,
)
from caveat.nn.lockstep import (
    Copy,
    Plateau,
    Training,
    _factories,
    _run,
    _stack,
    _steppers,
    _work,
    train,
)
from caveat.nn.lockstep._batches import Batches
from caveat.nn.lockstep._by_hand import by_hand
from caveat.nn.lockstep._optimizers import Adam
from caveat.nn.lockstep._workspace import Workspace
from caveat.nn.noise import derive_key, keyed, make_keys

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5)).astype(np.float32)
CLASSES = (X[:, 0] + 0.3 * RNG.normal(size=60) > 0).astype(int) + (X[:, 1] > 1)
VALUES = (X @ RNG.normal(size=(5, 2)) + RNG.normal(size=(60, 2))).astype(np.float32)
SHORT = Training(epochs=4, batch_size=16, learning_rate=0.01)


def cross_entropy(output, y):
    return nn.functional.cross_entropy(output, y, reduction="none")


def squares(output, y):
    return ((output - y) ** 2).sum(1)


def plain():
    return nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))


def dropping():
    return nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 3))


def normed():
    # Without a bias before the batch norm, whose gradient would be rounding errors alone.
    return nn.Sequential(
        nn.Linear(5, 8, bias=False), nn.BatchNorm1d(8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 3)
    )


def convolving():
    return nn.Sequential(
        nn.Unflatten(1, (1, 5)), nn.Conv1d(1, 4, 3), nn.ReLU(), nn.Dropout1d(0.2), nn.Flatten(),
        nn.Linear(12, 3),
    )  # fmt: skip


def linear(outputs=2):
    return lambda: nn.Linear(5, outputs)


COPIES = [
    Copy(seed=1),
    Copy(seed=2, rows=np.arange(0, 60, 2)),
    Copy(seed=3, rows=RNG.integers(60, size=60), y=RNG.permutation(CLASSES), epochs=2),
    Copy(seed=4, rows=np.arange(7), steps=11),
    Copy(seed=5, weight=np.arange(60.0)),
]


def fit(make, copies, training=SHORT, y=CLASSES, loss=cross_entropy, **options):
    return train(make, X, y, loss=loss, copies=copies, training=training, **options)


def assert_same(together, place, alone, rtol=1e-5, atol=1e-6):
    for name, value in together.state.items():
        torch.testing.assert_close(value[place], alone.state[name][0], rtol=rtol, atol=atol)


@pytest.mark.parametrize("make", [plain, dropping, normed])
@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd"])
def test_together_is_one_by_one(make, optimizer):
    training = dataclasses.replace(SHORT, optimizer=optimizer, weight_decay=0.01, momentum=0.9)
    together = fit(make, COPIES, training)
    assert together.engine.startswith("in lock-step")
    assert together.steps.tolist() == [16, 8, 8, 11, 16]
    for place, one in enumerate(COPIES):
        assert_same(together, place, fit(make, [one], training))


def test_validation_stopping_and_schedules_are_a_copys_own():
    training = dataclasses.replace(
        SHORT, epochs=40, patience=3, plateau=Plateau(0.3, 2), learning_rate=0.05
    )
    copies = [
        Copy(seed=i, rows=np.arange(i, 50), validation=np.arange(50 - i, 60)) for i in range(6)
    ]
    together = fit(dropping, copies, training)
    assert len(set(together.steps.tolist())) > 2
    assert set(together.status) == {"stopped early"}
    for place, one in enumerate(copies):
        alone = fit(dropping, [one], training)
        assert alone.steps[0] == together.steps[place]
        assert_same(together, place, alone)
        np.testing.assert_allclose(
            alone.history[0]["validation"], together.history[place]["validation"], rtol=1e-4
        )


@pytest.mark.parametrize(
    ("name", "torch_optimizer"),
    [
        ("adam", lambda p: torch.optim.Adam(p, 0.01, weight_decay=0.1)),
        ("adamw", lambda p: torch.optim.AdamW(p, 0.01, weight_decay=0.1)),
        ("sgd", lambda p: torch.optim.SGD(p, 0.01, momentum=0.9, weight_decay=0.1)),
    ],
)
def test_a_plain_torch_loop(name, torch_optimizer):
    training = Training(
        epochs=20, batch_size=25, learning_rate=0.01, optimizer=name, weight_decay=0.1, momentum=0.9
    )
    weight = 1.0 + (np.arange(60) % 3)
    found = fit(plain, [Copy(seed=9), Copy(seed=8, weight=weight)], training)
    torch.manual_seed(8)
    net = plain()
    optimizer = torch_optimizer(net.parameters())
    batches = Batches(np.array([60]), make_keys([8]), 25, 60)
    inputs, labels = torch.tensor(X), torch.tensor(CLASSES)
    scaled = torch.tensor(weight / weight.mean(), dtype=torch.float32)
    for step in range(60):
        places, counts = batches.at(step)
        rows = places[0, counts[0] > 0]
        assert len(rows) == (25, 25, 10)[step % 3]
        optimizer.zero_grad()
        (cross_entropy(net(inputs[rows]), labels[rows]) * scaled[rows]).mean().backward()
        optimizer.step()
    for key, value in net.state_dict().items():
        torch.testing.assert_close(found.state[key][1], value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rates", [float, torch.full_like], ids=["one rate", "rates"])
@pytest.mark.parametrize("decoupled", [False, True])
def test_adam_is_that_of_torch(decoupled, rates, dtype):
    torch.manual_seed(0)
    weights = torch.randn(1003, dtype=dtype)
    theirs = torch.nn.Parameter(weights.clone())
    kind = torch.optim.AdamW if decoupled else torch.optim.Adam
    optimizer = kind([theirs], lr=0.01, weight_decay=0.1, foreach=False, fused=False)
    ours = Adam(torch.zeros_like(weights), torch.zeros_like(weights), 0.1, decoupled)
    rate = 0.01 if rates is float else rates(weights, 0.01)
    for step in range(1, 6):
        theirs.grad = torch.randn_like(weights)
        ours.update(weights, theirs.grad.clone(), rate, float(step))
        optimizer.step()
    torch.testing.assert_close(weights, theirs.detach(), rtol=1e-5, atol=1e-6)


def test_the_best_epoch_is_kept():
    training = dataclasses.replace(SHORT, epochs=60, learning_rate=0.1)
    one = Copy(seed=0, rows=np.arange(20), validation=np.arange(20, 60))
    found = fit(plain, [one, dataclasses.replace(one, seed=1)], training)
    for place in range(2):
        curve = found.history[place]["validation"]
        assert curve.argmin() < len(curve) - 5, "the case must over-fit"
        net = found.module(place)
        kept = cross_entropy(net(torch.tensor(X[20:])), torch.tensor(CLASSES[20:])).mean()
        assert float(kept.detach()) == pytest.approx(curve.min(), rel=1e-4)
    last = fit(plain, [one], dataclasses.replace(training, restore_best=False)).module(0)
    now = cross_entropy(last(torch.tensor(X[20:])), torch.tensor(CLASSES[20:])).mean()
    assert float(now.detach()) == pytest.approx(found.history[0]["validation"][-1], rel=1e-4)


def test_a_plateau_lowers_the_rate():
    """With a rate that falls to 0 the weights stand still."""
    training = Training(epochs=30, learning_rate=0.1, plateau=Plateau(0.0, 1), restore_best=False)
    worse = Copy(seed=0, rows=np.arange(30), y=1 - (CLASSES > 0), validation=np.arange(30, 60))
    curve = fit(linear(2), [worse], training).history[0]["validation"]
    first = int(np.argmax(np.diff(curve) >= 0)) + 1
    assert (curve[first:] == curve[first]).all()
    training = dataclasses.replace(training, plateau=Plateau(0.0, 1, minimum=0.1))
    assert len(set(fit(linear(2), [worse], training).history[0]["validation"])) > first + 2


class Pulled(Stochastic):
    """A layer whose penalty is the squared length of its weights."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(5, 2, bias=False)

    def forward(self, x):
        return self.linear(x)

    def penalty(self):
        return self.linear.weight.square().sum()


def ridge(rows, strength, goal, weight=1.0):
    """What minimizes weight * mean squared error + strength * squared distance to the goal."""
    inputs, values = X[rows].astype(float), VALUES[rows].astype(float)
    left = weight * inputs.T @ inputs / len(rows) + strength * np.eye(5)
    return np.linalg.solve(left, weight * inputs.T @ values / len(rows) + strength * goal.T).T


LONG = Training(epochs=400, batch_size=64, optimizer="sgd", learning_rate=0.15)


@pytest.mark.parametrize(
    ("penalty", "strengths"), [(0.2, (0.2, 0.2)), ("per-sample", (1 / 60, 1 / 20))]
)
def test_penalties_of_layers(penalty, strengths):
    copies = [Copy(seed=0), Copy(seed=1, rows=np.arange(20))]
    training = dataclasses.replace(LONG, penalty_weight=penalty, likelihood_weight=3.0)
    found = fit(Pulled, copies, training, VALUES, squares).state["linear.weight"]
    for place, rows in enumerate((np.arange(60), np.arange(20))):
        expected = ridge(rows, strengths[place], np.zeros((2, 5)), 3.0)
        np.testing.assert_allclose(found[place], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("anchor", ["zero", "initial", "drawn"])
def test_anchors(anchor):
    copies = [Copy(seed=0), Copy(seed=1, rows=np.arange(20))]
    training = dataclasses.replace(LONG, anchor=anchor, anchor_strength=4.0)
    make = lambda: nn.Linear(5, 2, bias=False)  # noqa: E731
    found = fit(make, copies, training, VALUES, squares).state["weight"]
    for place, rows in enumerate((np.arange(60), np.arange(20))):
        torch.manual_seed(place + (0x5EED if anchor == "drawn" else 0))
        goal = np.zeros((2, 5)) if anchor == "zero" else make().weight.detach().double().numpy()
        expected = ridge(rows, 4.0 / len(rows), goal)
        np.testing.assert_allclose(found[place], expected, rtol=1e-4, atol=1e-5)


def test_a_copy_that_diverges_is_named_and_the_others_go_on():
    broken = VALUES.copy()
    broken[3] = 1e38
    copies = [Copy(seed=0), Copy(seed=1, y=broken), Copy(seed=2)]
    with pytest.warns(RuntimeWarning, match=r"training of 1 of 3 copies diverged \(copies 1\)"):
        found = fit(linear(), copies, SHORT, VALUES, squares)
    assert found.status == ["finished", "diverged", "finished"]
    assert found.usable.tolist() == [True, False, True]
    assert_same(found, 2, fit(linear(), [copies[2]], SHORT, VALUES, squares))


def test_convolutions_go_one_after_another_on_a_cpu():
    found = fit(convolving, COPIES[:2])
    assert found.engine.startswith("one after another (stacked convolutions are slower on a CPU")
    stacked = fit(convolving, COPIES[:2], dataclasses.replace(SHORT, engine="stacked"))
    assert stacked.engine.startswith("in lock-step (as asked")
    for name, value in found.state.items():
        torch.testing.assert_close(value, stacked.state[name], rtol=1e-4, atol=1e-5)
    on_cpu = found.outputs(X, device="cpu")
    np.testing.assert_allclose(on_cpu, stacked.outputs(X), rtol=1e-3, atol=1e-4)


class Choosing(nn.Module):
    """A module whose path depends on its data."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(5, 3)

    def forward(self, x):
        out = self.linear(x)
        return out if bool(out.sum() > 0) else 2 * out


def test_what_cannot_be_stacked_goes_one_after_another_and_says_why():
    found = fit(Choosing, COPIES[:2])
    assert found.engine.startswith("one after another (the module cannot be stacked (vmap")
    assert_same(found, 1, fit(Choosing, [COPIES[1]]))


def test_less_memory_gives_the_same_copies():
    whole = fit(dropping, COPIES)
    parts = fit(dropping, COPIES, dataclasses.replace(SHORT, memory=60_000))
    for name, value in whole.state.items():
        torch.testing.assert_close(value, parts.state[name], rtol=1e-5, atol=1e-6)


def test_bfloat16_is_close():
    exact = fit(plain, 2, random_state=0)
    rough = fit(plain, 2, dataclasses.replace(SHORT, precision="bfloat16"), random_state=0)
    difference = np.abs(exact.outputs(X) - rough.outputs(X))
    assert 0 < difference.max() < 0.2


def test_a_module_is_left_alone():
    module = dropping().train()
    before = copy.deepcopy(module.state_dict())
    state = torch.get_rng_state()
    found = fit(module, 3, random_state=0)
    assert torch.equal(torch.get_rng_state(), state)
    for name, value in module.state_dict().items():
        assert torch.equal(value, before[name])
    assert module.training
    weights = found.state["0.weight"]
    assert not torch.equal(weights[0], weights[1])
    assert isinstance(found.module(0)[2], nn.Dropout)


def test_outputs_are_those_of_the_modules():
    found = fit(dropping, 3, random_state=1)
    outputs = found.outputs(X)
    for place in range(3):
        expected = found.module(place)(torch.tensor(X)).detach()
        np.testing.assert_allclose(outputs[place], expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(found.outputs(X, copies=[2]).shape, (1, 60, 3))
    np.testing.assert_allclose(found.outputs(X, copies=[2])[0], outputs[2], rtol=1e-4, atol=1e-5)
    assert repr(found).startswith("Trained: 3 copies (3 finished), 48 steps in ")


def test_frozen_parameters_stay():
    def make():
        net = plain()
        net[0].requires_grad_(False)
        return net

    found = fit(make, [Copy(seed=0), Copy(seed=1)])
    torch.manual_seed(1)
    torch.testing.assert_close(found.state["0.weight"][1], make()[0].weight)


def test_a_parameter_that_is_not_used_stays():
    class Idle(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.idle = nn.Linear(5, 3), nn.Linear(5, 3)

        def forward(self, x):
            return self.used(x)

    found = fit(Idle, [Copy(seed=0), Copy(seed=1)])
    torch.manual_seed(1)
    torch.testing.assert_close(found.state["idle.weight"][1], Idle().idle.weight)


def test_a_copy_may_begin_with_a_state_of_its_own():
    """Inputs that one copy scales by itself give what scaled inputs give."""

    def make():
        return nn.Sequential(Standardize(5), nn.Linear(5, 3))

    mean, scale = torch.tensor(X.mean(0)), torch.tensor(X.std(0))
    own = Copy(seed=4, state={"0.mean": mean, "0.scale": scale})
    found = fit(make, [Copy(seed=4), own])
    scaled = train(
        make, (X - X.mean(0)) / X.std(0), CLASSES, loss=cross_entropy, copies=[Copy(seed=4)],
        training=SHORT,
    )  # fmt: skip
    torch.testing.assert_close(found.state["1.weight"][1], scaled.state["1.weight"][0])
    assert not torch.allclose(found.state["1.weight"][0], found.state["1.weight"][1])


def headed():
    return nn.Sequential(
        Standardize(5), nn.Linear(5, 8, bias=False), nn.Tanh(), Dropout(0.2), MeanVarianceHead(8, 2)
    )


def noisy_head():
    return nn.Sequential(nn.Linear(5, 8), nn.ReLU(), GaussianLogitsHead(8, 3))


def one_rectifier_twice():
    shared = nn.ReLU()
    return nn.Sequential(nn.Linear(5, 8), shared, nn.Linear(8, 8), shared, nn.Linear(8, 3))


def smooth():
    return nn.Sequential(
        nn.Linear(5, 8), nn.GELU(), nn.Linear(8, 8), nn.Identity(), nn.SiLU(), nn.Linear(8, 3)
    )


def quantiles():
    return nn.Sequential(nn.Linear(5, 8), nn.ReLU(), QuantileHead(8, [0.1, 0.5, 0.9], 2))


def frozen():
    module = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))
    module[0].requires_grad_(False)
    module[2].weight.requires_grad_(False)
    module[4].bias.requires_grad_(False)
    return module


def twice_standardized():
    module = nn.Sequential(nn.Linear(5, 8), Standardize(8), nn.ReLU(), nn.Linear(8, 2))
    module[1].mean += 0.3
    module[1].scale *= 1.7
    return module


def without_weights_at_first():
    return nn.Sequential(nn.Tanh(), Dropout(0.2), nn.Linear(5, 3))


def random_layers():
    return nn.Sequential(
        ConcreteDropoutLinear(5, 8), nn.ReLU(), DropConnectLinear(8, 8), nn.ReLU(),
        BayesLinear(8, 8), nn.ReLU(), GaussianLogitsHead(8, 3, linear=FlipoutLinear),
    )  # fmt: skip


def learned_rates():
    return nn.Sequential(
        ConcreteDropoutLinear(5, 8, initial_p=0.3, length_scale=0.7), nn.ReLU(),
        ConcreteDropoutLinear(8, 8, bias=False, temperature=0.3), nn.Tanh(),
        ConcreteDropoutLinear(8, 3, length_scale=2.0),
    )  # fmt: skip


def learned_rates_left_to_torch():
    module = learned_rates()
    module[2].logit_p.requires_grad_(False)
    return module


def gaussian_weights():
    prior = ScaleMixturePrior(0.3, 2.0, 0.5)
    return nn.Sequential(
        BayesLinear(5, 8, prior=GaussianPrior(0.7)), nn.Tanh(), FlipoutLinear(8, 8, prior=prior),
        nn.ReLU(), BayesLinear(8, 8, bias=False, prior=prior), nn.ReLU(),
        FlipoutLinear(8, 3, bias=False, prior=GaussianPrior(2.0)),
    )  # fmt: skip


def flipped_first():
    return nn.Sequential(FlipoutLinear(5, 8), nn.ReLU(), DropConnectLinear(8, 3, bias=False))


class Laplace(Prior):
    def log_density(self, weight):
        return -weight.abs() - np.log(2)


def random_weights_left_to_torch():
    module = nn.Sequential(
        FlipoutLinear(5, 8), nn.ReLU(), BayesLinear(8, 8, prior=Laplace()), nn.ReLU(),
        DropConnectLinear(8, 8), nn.ReLU(), FlipoutLinear(8, 3),
    )  # fmt: skip
    module[0].weight_mean.requires_grad_(False)
    module[4].weight.requires_grad_(False)
    return module


def wrapped(loss):
    """The same loss, which the engine does not know."""
    return lambda output, y: loss(output, y)


def each(loss):
    return partial(losses.over_members, loss=loss)


def members(adapters="all", head=None, outputs=3, hidden=(8, 6)):
    network = MLP(5, outputs, hidden=hidden, members=4, adapters=adapters, head=head)
    return nn.Sequential(Standardize(5), network)


def members_after_a_layer():
    return nn.Sequential(
        nn.Linear(5, 8), MemberScale(4, 8, repeat=True), nn.Tanh(),
        MemberLinear(8, 3, members=4, bias=False),
    )  # fmt: skip


def frozen_members():
    module = members()
    for name in ("0.weight", "2.bias", "4.weight", "8.weight", "8.bias"):
        module[1].get_parameter(name).requires_grad_(False)
    return module


def members_that_learn_their_last_layer_alone():
    module = members("first")
    for part in list(module[1])[:-1]:
        part.requires_grad_(False)
    return module


KNOWN = [
    (plain, losses.nll, CLASSES),
    (dropping, losses.nll, CLASSES),
    (dropping, wrapped(losses.nll), CLASSES),
    (headed, losses.gaussian_nll, VALUES),
    (headed, partial(losses.beta_nll, beta=1.0), VALUES),
    (headed, wrapped(losses.gaussian_nll), VALUES),
    (noisy_head, losses.sampled_softmax_nll, CLASSES),
    (noisy_head, partial(losses.sampled_softmax_nll, draws=7, place=-2), CLASSES),
    (one_rectifier_twice, losses.nll, CLASSES),
    (smooth, losses.nll, CLASSES),
    (quantiles, partial(losses.pinball, levels=[0.1, 0.5, 0.9]), VALUES),
    (frozen, losses.nll, CLASSES),
    (twice_standardized, losses.squared_error, VALUES),
    (without_weights_at_first, losses.nll, CLASSES),
    (random_layers, losses.sampled_softmax_nll, CLASSES),
    (learned_rates, losses.nll, CLASSES),
    (learned_rates_left_to_torch, losses.nll, CLASSES),
    (gaussian_weights, losses.nll, CLASSES),
    (flipped_first, losses.nll, CLASSES),
    (random_weights_left_to_torch, losses.nll, CLASSES),
    (members, each(losses.nll), CLASSES),
    (partial(members, "first", "mean-std", 2), each(losses.gaussian_nll), VALUES),
    (partial(members, head="gaussian-logits"), each(losses.sampled_softmax_nll), CLASSES),
    (partial(members, hidden=()), each(losses.nll), CLASSES),
    (members_after_a_layer, each(losses.nll), CLASSES),
    (frozen_members, each(losses.nll), CLASSES),
    (members_that_learn_their_last_layer_alone, each(losses.nll), CLASSES),
]


@pytest.mark.parametrize(("make", "loss", "y"), KNOWN)
def test_passes_by_hand_are_what_torch_makes_of_them(make, loss, y, monkeypatch):
    compare_with_torch(make, loss, y, dataclasses.replace(SHORT, penalty_weight=0.01), monkeypatch)


@pytest.mark.parametrize("make", [gaussian_weights, learned_rates, random_weights_left_to_torch])
def test_so_they_are_without_a_penalty(make, monkeypatch):
    compare_with_torch(make, losses.nll, CLASSES, SHORT, monkeypatch)


def compare_with_torch(make, loss, y, training, monkeypatch):
    copies = [dataclasses.replace(one, y=None, validation=np.arange(9)) for one in COPIES]
    quick = fit(make, copies, training, y, loss)
    used = []
    monkeypatch.setattr(_stack, "by_hand", lambda *given: used.append(given))
    slow = fit(make, copies, training, y, loss)
    assert used
    for one, other in zip(quick.history, slow.history, strict=True):
        np.testing.assert_allclose(one["loss"], other["loss"], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(one["validation"], other["validation"], rtol=1e-4, atol=1e-6)
    for name, value in quick.state.items():
        torch.testing.assert_close(value, slow.state[name], rtol=1e-4, atol=1e-5)


def test_so_they_are_with_several_draws(monkeypatch):
    training = dataclasses.replace(SHORT, penalty_weight=0.01, draws=3)
    compare_with_torch(gaussian_weights, losses.nll, CLASSES, training, monkeypatch)


@pytest.mark.parametrize("draws", [1, 4])
def test_a_step_is_the_mean_over_its_draws(draws):
    training = Training(
        epochs=1,
        batch_size=60,
        optimizer="sgd",
        learning_rate=0.1,
        penalty_weight=0.01,
        draws=draws,
    )

    def make():
        return BayesLinear(5, 2, prior=ScaleMixturePrior(0.3, 2.0, 0.5))

    found = fit(make, [Copy(seed=3), Copy(seed=4)], training, VALUES, squares)
    first = derive_key(make_keys([4])[0], 0)
    keys = [first, *(derive_key(first, _run._OTHER_PASS + i) for i in range(1, draws))]
    with torch.random.fork_rng():
        torch.manual_seed(4)
        layer = make()
    inputs, labels = torch.tensor(X), torch.tensor(VALUES)
    objective = 0
    for key in keys:
        with keyed(key):
            objective += squares(layer(inputs), labels).mean() + 0.01 * layer.penalty()
    (objective / draws).backward()
    for name, value in layer.named_parameters():
        torch.testing.assert_close(found.state[name][1], value.detach() - 0.1 * value.grad)
    assert found.history[1]["loss"][0] == pytest.approx(float(objective.detach()) / draws, rel=1e-5)


@pytest.mark.parametrize("loss", [losses.sampled_softmax_nll, wrapped(losses.sampled_softmax_nll)])
def test_a_loss_that_samples_does_not_see_the_other_copies(loss):
    """Copies with batches and validation sets of other sizes change neither."""
    training = dataclasses.replace(SHORT, batch_size=64, epochs=6)
    copies = [
        Copy(seed=i, rows=np.arange(size), validation=np.arange(60 - checked, 60))
        for i, (size, checked) in enumerate([(10, 10), (40, 20), (25, 3)])
    ]
    together = fit(noisy_head, copies, training, loss=loss)
    for place, one in enumerate(copies):
        alone = fit(noisy_head, [one], training, loss=loss)
        assert_same(together, place, alone, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(
            together.history[place]["validation"], alone.history[0]["validation"], rtol=1e-4
        )


def test_weights_that_overflow_in_the_last_step_are_told():
    training = Training(epochs=1, batch_size=64, optimizer="sgd", learning_rate=1e37)
    with pytest.raises(TrainingError, match="diverged"):
        train(linear(3), 1e3 * X, CLASSES, loss=losses.nll, copies=2, training=training)


def test_float64_networks_go_by_hand_too():
    def make():
        return plain().double()

    found = train(make, X.astype(float), CLASSES, loss=losses.nll, copies=[Copy(seed=0)] * 2,
                  training=SHORT)  # fmt: skip
    assert "in lock-step" in found.engine
    single = fit(plain, [Copy(seed=0)], loss=losses.nll)
    for name, value in found.state.items():
        assert value.dtype == torch.float64
        torch.testing.assert_close(value[0].float(), single.state[name][0], rtol=1e-3, atol=1e-4)
    train(make, X.astype(float), CLASSES, loss=losses.nll, training=SHORT)


def test_rates_fall_without_a_new_stepper(monkeypatch):
    made = []

    def stepper(run, notes):
        made.append(run)
        return _steppers.make_stepper(run, notes)

    monkeypatch.setattr(_work, "make_stepper", stepper)
    training = Training(epochs=30, learning_rate=0.1, plateau=Plateau(0.5, 1), batch_size=16)
    copies = [
        Copy(seed=i, rows=np.arange(30), y=1 - (CLASSES > 0), validation=np.arange(30, 60))
        for i in range(3)
    ]
    together = fit(linear(2), copies, training)
    assert len(made) == 1
    for place, one in enumerate(copies):
        assert_same(together, place, fit(linear(2), [one], training))


def test_weights_count_in_validation():
    weight = RNG.exponential(size=60)
    checked = np.array([7, 3, 40, 41, 59])
    copies = [Copy(seed=i, rows=np.arange(40), weight=weight, validation=checked) for i in range(2)]
    found = fit(plain, copies, dataclasses.replace(SHORT, restore_best=False))
    for place in range(2):
        each = cross_entropy(found.module(place)(torch.tensor(X)), torch.tensor(CLASSES))
        expected = np.average(each.detach().numpy()[checked], weights=weight[checked])
        assert found.history[place]["validation"][-1] == pytest.approx(expected, rel=1e-5)


class OnlyOn(TorchDispatchMode):
    """Refuses whatever makes a tensor on another device."""

    def __init__(self, device):
        super().__init__()
        self.device = device

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        for one in made if isinstance(made, tuple | list) else [made]:
            if isinstance(one, torch.Tensor) and one.ndim:  # single numbers are given to kernels
                assert one.device.type == self.device, function
        return made


@pytest.mark.parametrize(("make", "loss", "y"), KNOWN)
def test_steps_stay_on_their_device(make, loss, y, monkeypatch):
    """As a recording on a GPU needs it: after the first, no tensor is made or read elsewhere.

    Tensors on the device "meta" have no values, so that nothing can be read back.
    """
    meta = torch.device("meta")
    module, state = _factories.initial_states(make, [1, 2])
    state = {name: value.to(meta) for name, value in state.items()}
    stack = _stack.Stack(_stack.prepared(module), state, loss, meta, stacked=True)
    given = {
        "x": torch.zeros(2, 60, 5),
        "y": torch.as_tensor(y).expand(2, *y.shape),
        "counts": torch.zeros(2, 60),
        "penalty": torch.zeros(2),
        "keys": torch.zeros(2, 2, dtype=torch.int32),
    }
    given = {name: value.to(meta) for name, value in given.items()}
    stack.by_hand.step(**given)
    # These copy from the host, which the device "meta" does not show.
    for name in ("tensor", "as_tensor", "from_numpy"):
        monkeypatch.setattr(torch, name, None)
    with OnlyOn("meta"):
        assert stack.by_hand.step(**given).is_meta
    monkeypatch.undo()
    del given["penalty"]
    stack.by_hand_to_check.losses(**given)
    with OnlyOn("meta"):
        assert stack.by_hand_to_check.losses(**given).is_meta


def test_other_layers_and_hooks_are_left_to_vmap():
    state = {"0.weight": torch.zeros(2, 3, 5), "0.bias": torch.zeros(2, 3)}

    def known(*parts):
        return by_hand(nn.Sequential(*parts), losses.nll, state, {}) is not None

    assert known(nn.Linear(5, 3))
    assert not known(nn.Linear(5, 3), nn.LayerNorm(3))
    assert not known(MeanVarianceHead(5, 3), nn.ReLU())
    twice = nn.Linear(5, 5)
    assert not known(twice, nn.ReLU(), twice)
    watched = nn.Linear(5, 3)
    watched.register_forward_hook(lambda *given: None)
    assert not known(watched)
    watched = nn.Sequential(nn.Linear(5, 3))
    watched.register_forward_hook(lambda *given: None)
    assert not known(watched)


def test_members_go_by_hand_with_their_own_loss_only():
    state = {f"{i}.weight": torch.zeros(2, 4, 3, 5) for i in range(2)}

    def known(*parts, loss=None):
        return by_hand(nn.Sequential(*parts), loss or each(losses.nll), state, {}) is not None

    first, last = MemberScale(4, 5, repeat=True), MemberLinear(5, 3, members=4, bias=False)
    assert known(first, last)
    assert not known(first, last, loss=losses.nll)
    assert not known(last)
    assert not known(last, loss=losses.nll)
    assert not known(nn.Linear(5, 3))
    assert not known(first, MemberLinear(5, 3, members=2))
    assert not known(first, MemberScale(4, 5, repeat=True), last)


def test_small_steps_run_on_one_thread_and_leave_torch_as_it_was():
    before, seen = torch.get_num_threads(), []

    def loss(output, y):
        seen.append(torch.get_num_threads())
        return cross_entropy(output, y)

    try:
        torch.set_num_threads(2)
        fit(plain, COPIES, loss=loss)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen[-1] == 1


def test_rows_of_more_than_one_axis_are_left_to_torch():
    signals = X.reshape(60, 5, 1).repeat(3, 2)

    def last_of(output, y):
        return cross_entropy(output[:, -1], y)

    def make():
        return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 3))

    quick, slow = (
        train(make, signals, CLASSES, loss=last_of, copies=copies, training=SHORT)
        for copies in ([Copy(seed=1), Copy(seed=2)], [Copy(seed=1)])
    )
    torch.testing.assert_close(quick.state["0.weight"][0], slow.state["0.weight"][0])


def test_rooms_are_kept_for_the_last_shapes():
    workspace, like = Workspace(), torch.zeros(1)
    first, second = workspace("a", (2, 3), like), workspace("a", (4, 3), like)
    assert workspace("a", (2, 3), like) is first
    assert workspace("a", (4, 3), like) is second
    assert workspace("b", (2, 3), like, torch.int32).dtype == torch.int32
    assert workspace.bytes == 4 * (6 + 12 + 6)
    workspace("a", (5,), like)
    assert workspace("a", (4, 3), like) is second
    assert workspace("a", (2, 3), like) is not first


class TestBatches:
    KEYS = make_keys([3, 4, 5])

    def test_an_epoch_holds_each_sample_once_and_the_next_another_order(self):
        batches = Batches(np.array([10, 10, 7]), self.KEYS, 4, 12)
        for length, place in ((10, 0), (7, 2)):
            per_epoch = -(-length // 4)
            orders = []
            for epoch in range(5):
                seen = []
                for step in range(epoch * per_epoch, (epoch + 1) * per_epoch):
                    places, counts = batches.at(step)
                    assert float(counts[place].sum()) == pytest.approx(1)
                    seen += places[place][counts[place] > 0].tolist()
                assert sorted(seen) == list(range(length))
                orders.append(seen)
            assert len({tuple(order) for order in orders}) == 5

    def test_what_is_beside_does_not_matter(self):
        together = Batches(np.array([10, 10, 7]), self.KEYS, 4, 12)
        alone = Batches(np.array([7]), self.KEYS[2:], 4, 2)
        for step in (0, 5, 3, 100):
            for found, expected in zip(together.at(step), alone.at(step), strict=True):
                torch.testing.assert_close(found[2], expected[0])


@pytest.mark.parametrize("engine", ["auto", "sequential"])
def test_a_module_may_keep_its_inputs(engine):
    kept = []

    class Keeps(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x):
            kept.append(x.detach())
            return self.layer(x)

    X = np.arange(40.0, dtype=np.float32).reshape(20, 2)
    training = Training(epochs=1, batch_size=4, engine=engine, device="cpu")
    train(Keeps, X, np.arange(20) % 2, loss=cross_entropy, copies=1, training=training)
    rows = torch.cat([each.reshape(-1, 2) for each in kept[-5:]])[:, 0].numpy()
    assert sorted(rows) == X[:, 0].tolist()
