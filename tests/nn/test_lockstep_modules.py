"""Modules of all sorts: shared weights and layers, noise of their own, other kinds of numbers."""

import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

from caveat.exceptions import InvalidValueError
from caveat.nn import losses
from caveat.nn.layers import BayesLinear, Dropout, ScaleMixturePrior
from caveat.nn.lockstep import Copy, Training, _stack, train
from caveat.nn.noise import keyed, make_keys

from .test_lockstep import CLASSES, SHORT, X, assert_same, cross_entropy, fit

TWO = [Copy(seed=1), Copy(seed=2)]


class TestCallsOfOneLayer:
    KEY = make_keys([5])[0]

    @pytest.mark.parametrize(
        ("layer", "x"),
        [(Dropout(0.5), torch.ones(40, 40)), (BayesLinear(40, 40, bias=False), torch.eye(40))],
    )
    def test_calls_in_a_pass_differ_and_the_first_is_that_of_a_single_call(self, layer, x):
        with torch.no_grad():
            mean = layer.eval()(x)
            with keyed(self.KEY):
                alone = layer(x)
            with keyed(self.KEY):
                calls = torch.stack([layer(x) for _ in range(3)])
            with keyed(self.KEY):
                assert torch.equal(calls, torch.stack([layer(x) for _ in range(3)]))
        assert torch.equal(calls[0], alone)
        related = np.corrcoef((calls - mean).flatten(1))[np.triu_indices(3, 1)]
        assert np.abs(related).max() < 4 / np.sqrt(x.numel())

    def test_the_penalty_is_that_of_the_last_call(self):
        """Inside of a pass without gradients, it draws the weights of that call again."""
        layer, x = BayesLinear(4, 3, prior=ScaleMixturePrior()), torch.eye(4)
        penalties = []
        for calls in (1, 2):
            with keyed(self.KEY):
                for _ in range(calls):
                    layer(x)
                kept = layer.penalty()
                layer._noise = None
                torch.testing.assert_close(layer.penalty(), kept)
            penalties.append(kept)
        assert penalties[0] != penalties[1]

    def test_calls_are_counted_in_a_pass_and_for_a_layer(self):
        layer, other, x = Dropout(0.5), Dropout(0.5), torch.ones(4, 40)
        with keyed(self.KEY):
            first = layer(x)
            with keyed(self.KEY):
                assert torch.equal(layer(x), first)
            assert torch.equal(other(x), first)
            assert not torch.equal(layer(x), first)

    def test_calls_under_vmap_are_the_calls_one_by_one(self):
        layer, x, keys = Dropout(0.5), torch.ones(4, 40), make_keys(range(3))

        def twice(key):
            with keyed(key):
                return torch.stack([layer(x), layer(x)])

        found = torch.vmap(twice)(keys)
        assert torch.equal(found, torch.stack([twice(key) for key in keys]))


def tied():
    first, second = nn.Linear(5, 5), nn.Linear(5, 5)
    second.weight = first.weight
    return nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), nn.Linear(5, 3))


def one_layer_twice():
    shared = nn.Linear(5, 5)
    return nn.Sequential(shared, nn.ReLU(), shared, nn.ReLU(), nn.Linear(5, 3))


class TiedInOwnModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(5, 5), nn.Linear(5, 5), nn.Linear(5, 3)
        self.second.weight = self.first.weight
        self.register_buffer("scale", torch.full((5,), 0.7))
        self.register_buffer("same_scale", self.scale)

    def forward(self, x):
        x = torch.relu(self.first(x * self.scale))
        return self.last(torch.relu(self.second(x * self.same_scale)))


def trained_by_torch(make, seed, steps, rate=0.3):
    """Plain gradient descent on all samples."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        module = make()
    optimizer = torch.optim.SGD(module.parameters(), rate)
    for _ in range(steps):
        optimizer.zero_grad()
        losses.nll(module(torch.tensor(X)), torch.tensor(CLASSES)).mean().backward()
        optimizer.step()
    return module


WHOLE = Training(epochs=20, batch_size=60, learning_rate=0.3, optimizer="sgd")


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("make", [tied, one_layer_twice, TiedInOwnModule])
def test_weights_with_two_names_train_as_one(make, copies, tmp_path, monkeypatch):
    found = fit(make, TWO[:copies], WHOLE, loss=losses.nll, checkpoint=tmp_path)
    outputs = found.outputs(X)
    read_back = fit(make, TWO[:copies], WHOLE, loss=losses.nll, checkpoint=tmp_path)
    for place in range(copies):
        expected = trained_by_torch(make, TWO[place].seed, 20)
        answer = expected(torch.tensor(X)).detach().numpy()
        np.testing.assert_allclose(outputs[place], answer, rtol=1e-4, atol=1e-5)
        for result in (found, read_back):
            own = result.module(place)
            np.testing.assert_allclose(own(torch.tensor(X)).detach(), answer, rtol=1e-4, atol=1e-5)
            for name, value in expected.state_dict().items():
                torch.testing.assert_close(result.state[name][place], value, rtol=1e-4, atol=1e-5)


def test_weights_with_two_names_survive_a_copy_that_leaves():
    copies = [Copy(seed=1), Copy(seed=2, epochs=3), Copy(seed=3, epochs=3)]
    found = fit(tied, copies, WHOLE, loss=losses.nll)
    for place, steps in enumerate((20, 3, 3)):
        expected = trained_by_torch(tied, copies[place].seed, steps)
        for name, value in expected.state_dict().items():
            torch.testing.assert_close(found.state[name][place], value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["0.weight", "2.weight"])
def test_a_state_may_name_any_of_the_names(name):
    weight = torch.eye(5)
    found = fit(
        tied,
        [Copy(seed=1, state={name: weight}), Copy(seed=2)],
        Training(epochs=1, learning_rate=1e-9),
    )
    for each in ("0.weight", "2.weight"):
        torch.testing.assert_close(found.state[each][0], weight)
        assert not torch.allclose(found.state[each][1], weight)


def one_dropout_twice():
    drop = nn.Dropout(0.5)
    return nn.Sequential(
        nn.Linear(5, 16), nn.ReLU(), drop, nn.Linear(16, 16), nn.ReLU(), drop, nn.Linear(16, 3)
    )


class OneDropoutTwice(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(5, 16), nn.Linear(16, 16), nn.Linear(16, 3)])
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        for layer in self.layers[:2]:
            x = self.drop(torch.relu(layer(x)))
        return self.layers[2](x)


def test_one_dropout_at_two_places_is_one_that_draws_twice(monkeypatch):
    quick = fit(one_dropout_twice, TWO, loss=losses.nll)
    assert quick.engine == "in lock-step (on the cpu; eager)"
    alone = fit(one_dropout_twice, TWO[1:], loss=losses.nll)
    assert_same(quick, 1, alone)
    other = fit(OneDropoutTwice, TWO, loss=losses.nll)
    for one, two in zip(quick.state.values(), other.state.values(), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-5)
    used = []
    monkeypatch.setattr(_stack, "by_hand", lambda *given: used.append(given))
    slow = fit(one_dropout_twice, TWO, loss=losses.nll)
    assert used
    for one, two in zip(quick.state.values(), slow.state.values(), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-5)


def test_masks_of_one_dropout_differ_in_training():
    seen = []

    class Watching(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop, self.last = nn.Dropout(0.5), nn.Linear(5, 3)

        def forward(self, x):
            ones = torch.ones(len(x), 50)
            seen.append((self.drop(ones), self.drop(ones)))
            return self.last(x)

    fit(Watching, TWO[:1], Training(epochs=1))
    first, second = seen[-1]
    assert set(first.unique().tolist()) == {0.0, 2.0}
    assert not torch.equal(first, second)


def test_a_dropout_that_is_not_torchs_is_left_as_it_is():
    class Sharper(nn.Dropout):
        def forward(self, x):
            return 3 * x

    def hooked():
        drop = nn.Dropout(0.5)
        drop.register_forward_hook(lambda module, given, out: 3 * given[0])
        return drop

    def patched():
        drop = nn.Dropout(0.5)
        drop.forward = lambda x: 3 * x
        return drop

    for drop in (lambda: Sharper(0.5), hooked, patched):

        def make(drop=drop):
            return nn.Sequential(nn.Linear(5, 4), drop(), nn.Linear(4, 3))

        found = fit(make, TWO, WHOLE, loss=losses.nll)
        expected = trained_by_torch(make, 2, 20)
        np.testing.assert_allclose(
            found.outputs(X)[1], expected(torch.tensor(X)).detach(), rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("make", [nn.ELU, nn.SELU, nn.SiLU])
def test_activations_in_place(make, copies):
    def network(inplace):
        return lambda: nn.Sequential(nn.Linear(5, 4), make(inplace=inplace), nn.Linear(4, 3))

    found, expected = (
        fit(network(inplace), TWO[:copies], loss=losses.nll) for inplace in (True, False)
    )
    assert "cannot be stacked" not in found.engine
    for one, two in zip(found.state.values(), expected.state.values(), strict=True):
        assert torch.equal(one, two)


@pytest.mark.parametrize("copies", [1, 2])
def test_a_forward_of_an_objects_own_is_used(copies):
    def make():
        module = nn.Sequential(nn.Linear(5, 5), nn.ReLU(), nn.Linear(5, 3))
        module[1].forward = torch.tanh
        return module

    found = fit(make, TWO[:copies], WHOLE, loss=losses.nll)
    expected = trained_by_torch(make, TWO[copies - 1].seed, 20)
    for name, value in expected.state_dict().items():
        torch.testing.assert_close(found.state[name][copies - 1], value, rtol=1e-4, atol=1e-5)


class NoiseOfItsOwn(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(5, 16), nn.Linear(16, 3)

    def forward(self, x):
        return self.last(nn.functional.dropout(torch.relu(self.first(x)), 0.5, self.training))


class TestTorchsGenerator:
    @pytest.mark.parametrize("copies", [1, 3])
    def test_noise_of_a_module_is_the_same_again_and_the_generator_is_left_alone(self, copies):
        torch.manual_seed(0)
        first = fit(NoiseOfItsOwn, copies, random_state=0)
        state = torch.get_rng_state()
        torch.manual_seed(1)
        before = torch.get_rng_state()
        second = fit(NoiseOfItsOwn, copies, random_state=0)
        assert torch.equal(torch.get_rng_state(), before)
        torch.manual_seed(0)
        assert torch.equal(torch.get_rng_state(), state)
        for name, value in first.state.items():
            assert torch.equal(value, second.state[name])
        other = fit(NoiseOfItsOwn, copies, random_state=1)
        assert not torch.equal(first.state["last.weight"], other.state["last.weight"])

    def test_copies_of_their_own_chunks_differ_and_are_what_they_are_alone(self):
        together = fit(NoiseOfItsOwn, TWO, dataclasses.replace(SHORT, engine="sequential"))
        assert_same(together, 1, fit(NoiseOfItsOwn, TWO[1:]))
        masks = []

        class Watching(nn.Module):
            def __init__(self):
                super().__init__()
                self.last = nn.Linear(5, 3)

            def forward(self, x):
                masks.append(torch.rand(len(x)))
                return self.last(x)

        fit(Watching, TWO, Training(epochs=1, batch_size=60, engine="sequential"))
        assert len(masks) == 2
        assert not torch.equal(*masks)

    def test_the_engine_says_so_once_and_only_then(self):
        said = "noise from torch's own generator, which depends on what trains beside a copy"
        for engine in ("auto", "sequential"):
            found = fit(NoiseOfItsOwn, TWO, dataclasses.replace(SHORT, engine=engine))
            assert found.engine.count(said) == 1
        for make in (one_dropout_twice, lambda: nn.Sequential(BayesLinear(5, 3))):
            assert said not in fit(make, TWO).engine

    def test_the_generators_of_gpus_that_are_not_in_use_are_not_seeded(self):
        asked = list(torch.cuda._lazy_seed_tracker.get_calls())
        fit(NoiseOfItsOwn, 2).module(0)
        assert torch.cuda._lazy_seed_tracker.get_calls() == asked

    def test_initial_weights_are_those_of_the_seed(self):
        found = fit(tied, TWO, Training(epochs=1, learning_rate=1e-30))
        with torch.random.fork_rng():
            torch.manual_seed(2)
            expected = tied().state_dict()
        for name, value in expected.items():
            assert torch.equal(found.state[name][1], value)


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, ">f8", np.int32, bool])
def test_inputs_come_in_the_precision_of_the_module(kind, dtype, copies):
    def make():
        return nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3)).to(dtype)

    given = X.astype(kind)
    found, expected = (
        train(make, each, CLASSES, loss=cross_entropy, copies=TWO[:copies], training=SHORT)
        for each in (given, torch.from_numpy(given.astype(np.float64)).to(dtype))
    )
    assert found.state["0.weight"].dtype == dtype
    np.testing.assert_array_equal(found.outputs(given), expected.outputs(given))
    own = found.module(0)(torch.tensor(given.astype(float)).to(dtype)).detach()
    np.testing.assert_allclose(found.outputs(given)[0], own, rtol=1e-4, atol=1e-5)


def test_numbers_that_the_module_cannot_hold():
    large = X.astype(np.float64)
    large[7, 2] = 1e300
    message = "X of sample 7 holds a number too large for torch.float32, as the module has it"
    with pytest.raises(InvalidValueError, match=message):
        train(tied, large, CLASSES, loss=cross_entropy)


def test_whole_numbers_for_an_embedding():
    codes = np.random.default_rng(0).integers(0, 9, (60, 2))

    def make():
        return nn.Sequential(nn.Embedding(9, 4), nn.Flatten(), nn.Linear(8, 3))

    found = train(make, codes, CLASSES, loss=cross_entropy, copies=TWO, training=SHORT)
    expected = found.module(1)(torch.tensor(codes)).detach()
    np.testing.assert_allclose(found.outputs(codes)[1], expected, rtol=1e-4, atol=1e-5)
    with torch.random.fork_rng():
        torch.manual_seed(2)
        assert not torch.equal(found.state["0.weight"][1], make()[0].weight)


class OnlyInEvaluation(nn.Module):
    """Cannot be stacked there, as its way depends on values."""

    def __init__(self):
        super().__init__()
        self.last = nn.Linear(5, 3)

    def forward(self, x):
        out = self.last(x)
        return 2 * out if not self.training and out.sum() > -1e9 else out


@pytest.mark.parametrize("validation", [None, range(5)])
def test_a_module_that_can_be_stacked_in_training_only(validation):
    copies = [Copy(seed=seed, validation=validation) for seed in (1, 2)]
    found = fit(OnlyInEvaluation, copies)
    assert found.engine.startswith("one after another (the module cannot be stacked (vmap")
    outputs = found.outputs(X)
    for place in range(2):
        expected = found.module(place)(torch.tensor(X)).detach()
        np.testing.assert_allclose(outputs[place], expected, rtol=1e-5, atol=1e-6)
        assert_same(found, place, fit(OnlyInEvaluation, [copies[place]]))


@pytest.mark.parametrize(
    "engine", ["in lock-step", "side by side (the module cannot be stacked (vmap)"]
)
def test_outputs_of_what_cannot_be_stacked(engine):
    found = dataclasses.replace(fit(OnlyInEvaluation, TWO), engine=engine)
    if engine == "in lock-step":
        with pytest.raises(RuntimeError, match="vmap"):
            found.outputs(X)
    else:
        assert found.outputs(X).shape == (2, 60, 3)


def test_outputs_leave_the_users_samples_alone():
    class InPlace(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = nn.Linear(5, 3)

        def forward(self, x):
            return self.last(x.add_(1))

    given = torch.tensor(X)
    found = train(InPlace, given, CLASSES, loss=cross_entropy, copies=2, training=SHORT)
    outputs = found.outputs(given)
    np.testing.assert_array_equal(given, X)
    expected = found.module(1)(torch.tensor(X)).detach()
    np.testing.assert_allclose(outputs[1], expected, rtol=1e-5, atol=1e-6)


def test_no_warnings_of_read_only_arrays_and_slow_operations():
    import pandas as pd

    class Attending(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(5, 4), nn.Linear(4, 3)
            self.middle = nn.MultiheadAttention(4, 2, batch_first=True)

        def forward(self, x):
            x = self.first(x)[:, None].expand(-1, 3, -1)
            return self.last(self.middle(x, x, x)[0].mean(1))

    samples, labels = X.copy(), CLASSES.copy()
    for array in (samples, labels):
        array.setflags(write=False)
    found = [
        train(Attending, each, y, loss=cross_entropy, copies=TWO, training=SHORT).outputs(each)
        for each, y in ((samples, labels), (pd.DataFrame(X), pd.Series(CLASSES)))
    ]
    np.testing.assert_array_equal(*found)


def test_whole_numbers_become_fractions_for_modules_that_take_no_others():
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.linear = nn.Embedding(5, 3), nn.Linear(2, 3)

        def forward(self, x):
            return self.linear(x[:, 1:]) + self.embedding(x[:, 0].long())

    rows = np.random.default_rng(0).integers(5, size=(60, 3))
    found = train(Mixed, rows, CLASSES, loss=losses.nll, copies=2, training=SHORT)
    assert found.outputs(rows).shape == (2, 60, 3)
