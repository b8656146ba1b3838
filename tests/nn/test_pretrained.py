"""Networks that come with weights: kept, frozen, drawn anew in part, with rates of their own."""

import copy
import dataclasses
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from caveat.exceptions import OptionError, TrainingError
from caveat.nn import Copy, Training, losses, train
from caveat.nn.layers import BayesLinear, MeanVarianceHead
from caveat.nn.lockstep import _features, _frozen

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5)).astype(np.float32)
CODES = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(np.int64)
SHORT = Training(epochs=3, batch_size=16, learning_rate=0.05)
STILL = dataclasses.replace(SHORT, optimizer="sgd", learning_rate=1e-30)


def network(seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2)
        )


def fit(module, copies=3, training=SHORT, **options):
    return train(
        module, options.pop("X", X), options.pop("y", CODES), loss=losses.nll, copies=copies,
        training=training, random_state=0, **options,
    )  # fmt: skip


def assert_alike(one, other, rtol=1e-4, atol=1e-5):
    for name, value in one.state.items():
        torch.testing.assert_close(value, other.state[name], rtol=rtol, atol=atol)


class TestWeightsOfAModule:
    def test_all_copies_begin_with_them(self):
        module = network()
        trained = fit(module, training=STILL)
        expected = module(torch.tensor(X)).detach().numpy()
        for outputs in trained.outputs(X):
            np.testing.assert_allclose(outputs, expected, atol=1e-6)

    def test_a_function_makes_new_ones(self):
        trained = fit(lambda: nn.Linear(5, 2), training=STILL)
        assert not torch.equal(trained.state["weight"][0], trained.state["weight"][1])

    @pytest.mark.parametrize(
        ("fresh", "drawn"),
        [("head", {4}), ("2", {2}), (["0", "4"], {0, 4}), ("all", {0, 2, 4}), ((), set())],
    )
    def test_parts_are_drawn_anew(self, fresh, drawn):
        module = network()
        trained = fit(module, training=STILL, fresh=fresh)
        for layer in (0, 2, 4):
            values = trained.state[f"{layer}.weight"]
            assert torch.equal(values[0], module[layer].weight.detach()) is (layer not in drawn)
            assert torch.equal(values[0], values[1]) is (layer not in drawn)

    def test_a_part_that_is_called_head(self):
        module = nn.Sequential()
        module.head, module.tail = nn.Linear(5, 4), nn.Linear(4, 2)
        trained = fit(module, training=STILL, fresh="head")
        assert torch.equal(trained.state["tail.weight"][0], module.tail.weight.detach())
        assert not torch.equal(trained.state["head.weight"][0], module.head.weight.detach())

    @pytest.mark.parametrize("head", ["fc", "classifier"])
    def test_the_head_is_the_last_layer_that_is_called(self, head):
        module = Unordered(head)
        trained = fit(module, training=STILL, fresh="head")
        for name, value in module.named_parameters():
            drawn = not torch.allclose(trained.state[name][0], value)
            assert drawn is name.startswith(head), name
            assert torch.allclose(*trained.state[name][:2]) is not drawn, name

    def test_heads_of_ours_and_a_token_of_the_whole(self):
        module = nn.Sequential(nn.Linear(5, 8), MeanVarianceHead(8, 1))
        y = X[:, :1]
        trained = train(module, X, y, loss=losses.gaussian_nll, copies=2, training=STILL,
                        random_state=0, fresh="head")  # fmt: skip
        assert torch.equal(*trained.state["0.weight"])
        assert not torch.equal(*trained.state["1.linear.weight"])

        class Token(nn.Module):
            def __init__(self):
                super().__init__()
                self.out, self.token = nn.Linear(5, 2), nn.Parameter(torch.ones(5))

            def forward(self, x):
                return self.out(x + self.token)

        trained = fit(Token(), training=STILL, fresh="head")
        assert not torch.equal(*trained.state["out.weight"][:2])
        assert torch.equal(*trained.state["token"][:2])

    def test_the_seeds_of_copies_are_those_of_named_parts(self):
        head, named = (fit(network(), fresh=fresh) for fresh in ("head", "4"))
        assert_alike(head, named, rtol=0, atol=0)

    @pytest.mark.parametrize(
        ("module", "why"),
        [
            (nn.Sequential(nn.Linear(5, 2), nn.LayerNorm(2)),
             r"but '1' \(LayerNorm\) is called last, and its weights begin with the same numbers"),
            (lambda: Two(cat=True), r"but not all of the output comes from 'second' \(Linear\), which"),
            (lambda: Two(cat=False), r"but not all of the output comes from 'second' \(Linear\), which"),
            (lambda: Recurrent(), r"but not all of the output comes from 'body' \(GRU\), which"),
            (lambda: Uncalled(), "but the module calls no layer with weights"),
        ],
    )  # fmt: skip
    def test_a_last_layer_that_is_no_head(self, module, why):
        made = module if isinstance(module, nn.Module) else module()
        with pytest.raises(OptionError, match=f"fresh='head' draws .* {why}.* fresh=\\['fc'\\]"):
            fit(made, fresh="head")

    def test_what_makes_no_module(self):
        with pytest.raises(OptionError, match="module must be a torch module or a function that"):
            fit(lambda: 5, fresh="head")

    def test_a_part_that_is_not_there(self):
        with pytest.raises(
            OptionError, match=r"fresh must be 'head', .* such as '2', '3', '4'; got"
        ):
            fit(network(), fresh="classifier")


class Unordered(nn.Module):
    """Layers that are declared in another order than they are called in."""

    def __init__(self, head):
        super().__init__()
        self.add_module(head, nn.Linear(8, 2))
        self.body, self.norm, self.name = nn.Linear(5, 8), nn.LayerNorm(8), head

    def forward(self, x):
        return self.get_submodule(self.name)(self.norm(self.body(x)))


class Two(nn.Module):
    """Outputs that come from two layers, side by side or one beyond the other."""

    def __init__(self, cat):
        super().__init__()
        self.first, self.second, self.cat = nn.Linear(5, 1 + (not cat)), nn.Linear(5, 2), cat

    def forward(self, x):
        first, second = self.first(x), self.second(x)[:, : 2 - self.cat]
        return torch.cat([first, second], 1) if self.cat else first + second


class Recurrent(nn.Module):
    """A layer that returns several tensors."""

    def __init__(self):
        super().__init__()
        self.body = nn.GRU(5, 2)

    def forward(self, x):
        return self.body(x)[0]


class Uncalled(nn.Module):
    """Weights of a layer that is not called."""

    def __init__(self):
        super().__init__()
        self.line = nn.Linear(5, 2)

    def forward(self, x):
        return x @ self.line.weight.T


def frozen_network(seed=0):
    module = network(seed)
    module[:3].requires_grad_(False)
    return module


class Backbone(nn.Module):
    """Features with batch norm and dropout, and a head of another name."""

    def __init__(self, rate=0.0):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(0.5))
        self.head = nn.Sequential(nn.Dropout(rate), nn.Linear(8, 2))
        self.body.requires_grad_(False)
        self.body[1].running_mean.fill_(0.3)

    def forward(self, x):
        return self.head(self.body(x))


class TestFrozenParts:
    @pytest.mark.parametrize("make", [frozen_network, Backbone, partial(Backbone, 0.5)])
    @pytest.mark.parametrize("engine", ["auto", "sequential"])
    @pytest.mark.parametrize("cached", [True, False])
    def test_they_stay_to_the_bit(self, make, engine, cached):
        module = make()
        before = copy.deepcopy(module.state_dict())
        training = dataclasses.replace(SHORT, engine=engine, cache_features=cached)
        trained = fit(module, training=training, fresh="head")
        learned = {n for n, p in module.named_parameters() if p.requires_grad}
        for name, value in trained.state.items():
            same = torch.equal(value, before[name].expand_as(value))
            assert same is (name not in learned), name

    @pytest.mark.parametrize("make", [frozen_network, Backbone, partial(Backbone, 0.5)])
    def test_features_that_are_computed_once_change_nothing(self, make):
        module = make()
        once, often = (
            fit(module, training=dataclasses.replace(SHORT, cache_features=c), fresh="head")
            for c in (True, False)
        )
        assert _features.NOTE in once.engine
        assert _features.NOTE not in often.engine
        assert_alike(once, often)
        np.testing.assert_allclose(once.outputs(X), often.outputs(X), rtol=1e-4, atol=1e-5)
        for i in range(3):
            expected = once.module(i)(torch.tensor(X)).detach()
            np.testing.assert_allclose(once.outputs(X)[i], expected, rtol=1e-4, atol=1e-5)

    def test_the_frozen_part_runs_once_for_each_sample(self):
        class Counted(nn.Linear):
            rows = 0

            def forward(self, x):
                Counted.rows += len(x)
                return super().forward(x)

        module = nn.Sequential(Counted(5, 8).requires_grad_(False), nn.Tanh(), nn.Linear(8, 2))
        fit(module, copies=5, training=dataclasses.replace(SHORT, epochs=20))
        assert Counted.rows < 2 * len(X)

    def test_dropout_in_them_is_off_unless_asked_for(self):
        module = nn.Sequential(
            nn.Sequential(nn.Linear(5, 8), nn.Dropout(0.5)).requires_grad_(False), nn.Linear(8, 2)
        )
        bare = nn.Sequential(nn.Sequential(module[0][0], nn.Identity()), module[1])
        off, noisy = (
            fit(module, training=dataclasses.replace(SHORT, frozen_noise=noise))
            for noise in (False, True)
        )
        assert_alike(off, fit(bare))
        assert (off.state["1.weight"] - noisy.state["1.weight"]).abs().max() > 1e-3
        normed = fit(Backbone(), training=dataclasses.replace(SHORT, frozen_noise=True))
        assert torch.equal(normed.state["body.1.running_mean"][0], torch.full((8,), 0.3))

    def test_validation_and_resumption(self, tmp_path):
        copies = [Copy(rows=range(40), validation=range(40, 60)) for _ in range(2)]
        training = dataclasses.replace(SHORT, patience=1, epochs=9)
        often = dataclasses.replace(training, cache_features=False)
        first = fit(frozen_network(), copies, training, checkpoint=tmp_path)
        again = fit(frozen_network(), copies, training, checkpoint=tmp_path)
        assert_alike(first, again, 0, 0)
        assert_alike(first, fit(frozen_network(), copies, often))

    @pytest.mark.parametrize(
        "kind", ["noise", "mean", "batch", "twice", "inside", "differs", "tied", "large"]
    )
    def test_what_is_not_fixed_is_not_cached(self, kind, monkeypatch):
        class Odd(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = nn.Linear(5, 5).requires_grad_(False), nn.Linear(5, 2)

            def forward(self, x):
                z = self.body(x)
                if kind == "noise":
                    z = nn.functional.dropout(z, 0.5, self.training)
                if kind == "batch" or (kind == "mean" and self.training):
                    z = z - z.mean(0)
                if kind == "twice":
                    return (self.head(z) + self.head(x)) / 2
                return torch.relu(self.head(z)) if kind == "inside" else self.head(z)

        module = Odd()
        copies = 3
        if kind == "differs":
            copies = [Copy(state={"body.bias": np.full(5, i, np.float32)}) for i in range(2)]
        if kind == "tied":
            module.head = nn.Sequential(nn.Linear(5, 5), nn.Linear(5, 2))
            module.body.requires_grad_(True)
            module.other = nn.Linear(5, 5).requires_grad_(False)
            module.head[0].weight = module.body.weight
        if kind == "large":
            monkeypatch.setattr(_frozen, "_MOST", 100)
        assert _features.NOTE not in fit(module, copies).engine

    def test_a_tied_weight_is_not_taken_for_a_fixed_one(self):
        module = nn.Sequential(nn.Linear(5, 5), nn.Tanh(), nn.Linear(5, 5), nn.Linear(5, 2))
        module[0].weight.requires_grad_(False)
        module[0].bias = module[2].bias
        assert _features.NOTE not in fit(module).engine

    def test_shared_weights_are_kept_once(self):
        module = frozen_network()
        trained = fit(module, 4)
        assert trained.state["0.weight"].untyped_storage().nbytes() == 5 * 8 * 4
        assert trained.state["4.weight"].untyped_storage().nbytes() == 4 * 2 * 8 * 4
        begun = [Copy(), Copy(state={"0.bias": np.ones(8, np.float32)})]
        other = fit(module, begun).state["0.bias"]
        assert torch.equal(other[0], module[0].bias)
        assert torch.equal(other[1], torch.ones(8))

    def test_noise_in_training_is_no_matter_to_outputs(self):
        module = nn.Sequential(network()[0].requires_grad_(False), nn.Dropout(0.5), nn.Linear(8, 2))
        trained = fit(module)
        expected = [trained.module(i)(torch.tensor(X)).detach() for i in range(3)]
        np.testing.assert_allclose(trained.outputs(X), torch.stack(expected), atol=1e-5)

    def test_what_has_no_weights_is_not_worth_a_cut(self):
        layers = nn.Linear(5, 2), nn.Linear(2, 2).requires_grad_(False)
        assert _features.NOTE not in fit(nn.Sequential(nn.Tanh(), *layers)).engine

    def test_sequences_in_sequences(self):
        body = nn.Sequential(nn.Linear(5, 8), nn.ReLU())
        module = nn.Sequential(
            body.requires_grad_(False), nn.Sequential(nn.Dropout(0.2), nn.Linear(8, 2))
        )
        assert _features.NOTE in fit(module).engine

    @pytest.mark.parametrize(("share", "since"), [(0.1, 0), (0.5, 45)])
    def test_data_sets_that_change_some_samples_are_read_each_time(self, share, since):
        class Flipped(Dataset):
            def __len__(self):
                return len(X)

            def __getitem__(self, row):
                flip = row >= since and torch.rand(()) < share
                return torch.tensor(X[row] * (-1 if flip else 1)), int(CODES[row])

        for seed in range(20):
            torch.manual_seed(seed)
            assert _features.NOTE not in fit(frozen_network(), 1, X=Flipped(), y=None).engine
        pairs = TensorDataset(torch.tensor(X), torch.tensor(CODES))
        assert _features.NOTE in fit(frozen_network(), 1, X=pairs, y=None).engine

    def test_random_weights_stay_random(self):
        module = nn.Sequential(BayesLinear(5, 8).requires_grad_(False), nn.ReLU(), nn.Linear(8, 2))
        assert _features.NOTE not in fit(module).engine

    def test_half_precision(self):
        training = dataclasses.replace(SHORT, precision="bfloat16")
        rough, exact = fit(frozen_network(), training=training), fit(frozen_network())
        assert rough.state["4.weight"].dtype == torch.float32
        assert 0 < np.abs(rough.outputs(X) - exact.outputs(X)).max() < 0.2


class TestRatesOfParts:
    @pytest.mark.parametrize("optimizer", ["sgd", torch.optim.SGD])
    def test_they_scale_the_steps(self, optimizer):
        """With one step of gradient descent a tenth of the rate is a tenth of the way."""
        one = Training(epochs=1, batch_size=60, optimizer=optimizer, learning_rate=0.1)
        slow = dataclasses.replace(one, learning_rate={"0": 0.01, "": 0.1})
        module = network()
        start = module.state_dict()
        plain, parts = fit(module, 2, one), fit(module, 2, slow)
        for name, value in start.items():
            factor = 0.1 if name.startswith("0.") else 1.0
            moved = factor * (plain.state[name] - value)
            torch.testing.assert_close(parts.state[name] - value, moved, atol=1e-6, rtol=1e-3)

    def test_a_rate_of_0_keeps_a_part(self):
        rates = {"4": 0.1, "0": 0.0, "2": 0.0}
        module = network()
        trained = fit(module, training=dataclasses.replace(SHORT, learning_rate=rates))
        assert torch.equal(trained.state["2.weight"][1], module[2].weight)
        assert not torch.equal(trained.state["4.weight"][1], module[4].weight)

    @pytest.mark.parametrize("optimizer", ["adam", torch.optim.Adam])
    def test_a_part_without_a_rate(self, optimizer):
        training = dataclasses.replace(SHORT, learning_rate={"4": 0.1}, optimizer=optimizer)
        with pytest.raises(OptionError, match=r"learning_rate has no entry for '0\.weight'; got"):
            fit(network(), training=training)

    @pytest.mark.parametrize("name", ["head", "1", "4.weights"])
    def test_a_rate_of_what_is_no_part(self, name):
        training = dataclasses.replace(SHORT, learning_rate={name: 0.1, "": 1e-5})
        message = (
            f"learning_rate has an entry for '{name}', which is no part of the module with "
            "weights; its parts are '0', '2', '4', and '' is all others"
        )
        with pytest.raises(OptionError, match=message):
            fit(network(), training=training)
        known = {"4.weight": 0.1, "": 1e-5}
        assert len(fit(network(), training=dataclasses.replace(SHORT, learning_rate=known))) == 3

    @pytest.mark.parametrize("rate", [{}, {"0": 0.0}, {"0": -1.0}])
    def test_bad_rates(self, rate):
        with pytest.raises(OptionError, match="learning_rate"):
            Training(learning_rate=rate).check()


class TestOptimizersOfTorch:
    def test_those_that_need_a_closure_are_refused(self):
        training = dataclasses.replace(SHORT, optimizer=torch.optim.LBFGS)
        with pytest.raises(OptionError, match="optimizer LBFGS computes the loss several times in"):
            fit(network(), training=training)

        class Plain(torch.optim.SGD):
            def step(self):
                return super().step()

        plain = dataclasses.replace(SHORT, optimizer=partial(Plain, lr=0.1))
        assert fit(network(), training=plain).status == ["finished"] * 3

    @pytest.mark.parametrize(
        ("name", "own", "options"),
        [
            ("adam", torch.optim.Adam, {}),
            ("adamw", torch.optim.AdamW, {"weight_decay": 0.1}),
            ("adamw", torch.optim.AdamW, {"scheduler": "cosine"}),
            ("sgd", torch.optim.SGD, {"gradient_clip": 0.1}),
            ("sgd", partial(torch.optim.SGD, momentum=0.9), {"momentum": 0.9}),
            ("sgd", lambda weights: torch.optim.SGD(weights, lr=0.05), {}),
            ("sgd", partial(torch.optim.SGD, lr=0.05), {"learning_rate": 0.05}),
            ("adam", torch.optim.Adam, {"anchor": "initial", "anchor_strength": 1.0}),
        ],
    )
    def test_they_are_what_their_names_are(self, name, own, options):
        named = fit(network(), training=dataclasses.replace(SHORT, optimizer=name, **options))
        given = fit(network(), training=dataclasses.replace(SHORT, optimizer=own, **options))
        assert named.engine.startswith("in lock-step")
        assert given.engine.startswith("one after another (optimizers of torch take one copy")
        assert_alike(named, given, rtol=1e-3, atol=1e-4)

    def test_a_rate_that_a_function_has_fixed(self):
        training = dataclasses.replace(SHORT, optimizer=partial(torch.optim.SGD, lr=1e-30))
        trained = fit(network(), training=training)
        torch.testing.assert_close(trained.state["0.weight"][0], network()[0].weight.detach())

    @pytest.mark.parametrize("optimizer", ["sgd", torch.optim.SGD])
    def test_a_scheduler_steps_after_each_epoch(self, optimizer):
        make = partial(torch.optim.lr_scheduler.StepLR, step_size=1, gamma=1e-9)
        scheduled = dataclasses.replace(SHORT, scheduler=make, optimizer=optimizer)
        once = dataclasses.replace(SHORT, epochs=1, optimizer=optimizer)
        assert_alike(fit(network(), training=scheduled), fit(network(), training=once))

    def test_a_scheduler_that_needs_the_loss(self):
        def make(optimizer):
            return torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.0, patience=0)

        copies = [Copy(rows=range(40), validation=range(40, 60))]
        training = dataclasses.replace(SHORT, scheduler=make, epochs=30, restore_best=False)
        history = fit(network(), copies, training).history[0]
        best = int(np.argmin(history["validation"]))
        worse = int(np.flatnonzero(np.diff(history["validation"]) >= 0)[0])
        assert best <= worse
        assert len(set(history["validation"][worse + 2 :])) == 1

    def test_a_plateau_lowers_their_rates(self):
        from caveat.nn import Plateau

        copies = [Copy(rows=range(40), validation=range(40, 60))]
        results = [
            fit(
                network(), copies,
                dataclasses.replace(
                    SHORT, optimizer=optimizer, epochs=20, plateau=Plateau(0.1, patience=1)
                ),
            )
            for optimizer in ("sgd", torch.optim.SGD)
        ]  # fmt: skip
        assert_alike(*results)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"optimizer": lambda weights: 5}, "optimizer must make a torch.optim.Optimizer; .* int"),
            ({"optimizer": lambda: 5}, r"optimizer could not be made: .*functools\.partial\(<lambda>"),
            ({"scheduler": torch.optim.lr_scheduler.StepLR}, r"scheduler could not be made: .*step_size"),
            ({"optimizer": torch.optim.Adam, "engine": "stacked"}, "one copy at a time"),
            ({"scheduler": 5}, "scheduler must be one of .* or a class or function"),
            ({"on_epoch": 5}, "on_epoch must be a function; got 5"),
        ],
    )  # fmt: skip
    def test_bad_ones(self, options, message):
        with pytest.raises(OptionError, match=message):
            fit(network(), training=dataclasses.replace(SHORT, **options))

    def test_a_plateau_beside_a_scheduler(self):
        from caveat.nn import Plateau

        with pytest.raises(OptionError, match="plateau and a scheduler of torch"):
            Training(plateau=Plateau(), scheduler=torch.optim.lr_scheduler.StepLR).check()

    def test_copies_that_are_done_are_read_back(self, tmp_path):
        calls = []

        def make(weights):
            calls.append(1)
            return torch.optim.SGD(weights, lr=0.1)

        training = dataclasses.replace(SHORT, optimizer=make)
        first = fit(network(), 2, training, checkpoint=tmp_path)
        for file in sorted(tmp_path.glob("copies-*.safetensors"))[1:]:
            file.unlink()
        again = fit(network(), 2, training, checkpoint=tmp_path)
        assert_alike(first, again, 0, 0)


class TestDevices:
    @pytest.mark.parametrize("make", [network, lambda: nn.Sequential(network(), nn.Dropout(0.3))])
    @pytest.mark.parametrize("engine", ["auto", "sequential"])
    def test_copies_are_distributed_over_a_list(self, make, engine, tmp_path):
        one = fit(make(), 5, dataclasses.replace(SHORT, engine=engine))
        several = dataclasses.replace(SHORT, engine=engine, device=["cpu", "cpu"])
        trained = fit(make(), 5, several, checkpoint=tmp_path)
        assert_alike(one, trained)
        assert trained.status == ["finished"] * 5
        assert len(list(tmp_path.glob("copies-*.safetensors"))) == (2 if engine == "auto" else 5)
        assert_alike(one, fit(make(), 5, several, checkpoint=tmp_path))

    def test_an_error_and_an_interruption_come_through(self):
        several = dataclasses.replace(SHORT, device=["cpu", "cpu"])

        def failing(output, y):
            raise ValueError("no loss")

        def stopped(told):
            if told["copy"] == 0:
                raise KeyboardInterrupt

        with pytest.raises(ValueError, match="no loss"):
            train(network(), X, CODES, loss=failing, copies=3, training=several)
        # The second copy would take hours.
        copies = [Copy(rows=range(20)), Copy(epochs=10**7)]
        training = dataclasses.replace(several, on_epoch=stopped, engine="sequential")
        with pytest.warns(RuntimeWarning, match=r"stopped by Ctrl-C: 2 of 2 copies"):
            trained = fit(network(), copies, training)
        assert np.isfinite(trained.outputs(X)).all()

    def test_no_device(self):
        with pytest.raises(OptionError, match="device must name at least one"):
            Training(device=[]).check()


class TestOnEpoch:
    @pytest.mark.parametrize("engine", ["stacked", "sequential"])
    def test_it_is_told_of_every_epoch_of_every_copy(self, engine):
        told = []
        copies = [Copy(epochs=2), Copy(rows=range(20))]
        training = dataclasses.replace(SHORT, on_epoch=told.append, engine=engine)
        trained = fit(network(), copies, training)
        epochs = [(each["copy"], each["epoch"]) for each in told]
        assert sorted(epochs) == [(0, 1), (0, 2), (1, 1), (1, 2), (1, 3)]
        for place in (0, 1):
            mine = [each["loss"] for each in told if each["copy"] == place]
            np.testing.assert_allclose(mine, trained.history[place]["loss"])
        assert "validation" not in told[0]

    @pytest.mark.parametrize("kind", [bool, np.bool_])
    def test_it_may_stop_a_copy(self, kind):
        def stop(told):
            return kind(told["copy"] == 1 and told["validation"] < 10)

        copies = [Copy(rows=range(40), validation=range(40, 60)) for _ in range(2)]
        trained = fit(network(), copies, dataclasses.replace(SHORT, on_epoch=stop))
        assert trained.status == ["finished", "stopped early"]
        assert trained.steps.tolist() == [9, 3]

    @pytest.mark.parametrize("answer", [1, "stop", [True]])
    def test_only_true_stops(self, answer):
        training = dataclasses.replace(SHORT, on_epoch=lambda told: answer)
        assert fit(network(), 1, training).status == ["finished"]


class TestSingleSamples:
    """Batch norm has no variance of one sample."""

    @pytest.mark.parametrize("copies", [1, 3])
    def test_the_cause_is_named(self, copies):
        module = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
        training = dataclasses.replace(SHORT, batch_size=1)
        cause = r"a batch of one sample \(Expected more than 1 value .*\); choose a batch_size that"
        with pytest.raises(TrainingError, match=f"the module cannot learn from {cause}"):
            fit(module, copies, training)
        pairs = TensorDataset(torch.tensor(X[:41]), torch.tensor(CODES[:41]))
        with pytest.raises(TrainingError, match=r"leaves no sample alone, or drop_last=True"):
            fit(module, copies, X=DataLoader(pairs, 8), y=None)
        loader = DataLoader(pairs, 8, drop_last=True)
        assert len(fit(module, copies, X=loader, y=None)) == copies
