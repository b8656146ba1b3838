"""Samples that are no array, orders that copies share, and pulls of single layers."""

import numpy as np
import pytest
import torch
from torch import nn

from caveat.exceptions import OptionError
from caveat.nn import Copy, Training, losses, train
from caveat.nn.lockstep._ragged import Ragged


class Sets:
    """Sets of numbers of different sizes, packed as values with the set of each."""

    def __init__(self, values, device="cpu"):
        self.values = [torch.as_tensor(value, dtype=torch.float32) for value in values]
        self.device = device

    weight = 3.0

    def __len__(self):
        return len(self.values)

    def pick(self, rows):
        some = [self.values[row] for row in rows.tolist()]
        owner = torch.repeat_interleave(
            torch.arange(len(some)), torch.tensor([len(each) for each in some])
        )
        return torch.cat(some).to(self.device), owner.to(self.device), len(some)

    def to(self, device):
        return Sets(self.values, device)

    def digest(self):
        return b"".join(value.numpy().tobytes() for value in self.values)


class SumOfSets(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(1, 8), nn.Linear(8, 1)

    def forward(self, batch):
        values, owner, count = batch
        hidden = torch.tanh(self.inner(values[:, None]))
        return self.outer(hidden.new_zeros(count, 8).index_add(0, owner, hidden))


@pytest.fixture
def sets():
    rng = np.random.default_rng(0)
    values = [rng.normal(size=rng.integers(1, 6)) for _ in range(40)]
    return Sets(values), np.array([value.sum() for value in values], dtype=np.float32)


def fit(sets, engine="auto", **options):
    X, y = sets
    training = Training(**{"epochs": 3, "batch_size": 8, "engine": engine} | options)
    held, rows = np.arange(30, 40), np.arange(30)
    copies = [Copy(seed=seed, rows=rows, validation=held) for seed in range(3)]
    return train(SumOfSets, X, y, loss=losses.squared_error, copies=copies, training=training)


def test_a_protocol_tells_them_from_arrays(sets):
    assert isinstance(sets[0], Ragged)
    assert not isinstance(torch.zeros(3), Ragged)
    assert not isinstance(np.zeros(3), Ragged)


def test_together_and_one_by_one(sets):
    stacked, alone = fit(sets, "stacked"), fit(sets, "sequential")
    assert stacked.engine.startswith("in lock-step")
    for name in stacked.state:
        torch.testing.assert_close(stacked.state[name], alone.state[name], atol=1e-5, rtol=1e-4)
    np.testing.assert_allclose(stacked.outputs(sets[0]), alone.outputs(sets[0]), atol=1e-5)
    np.testing.assert_allclose(
        stacked.history[1]["validation"], alone.history[1]["validation"], rtol=1e-4
    )
    one = stacked.module(2)
    made = one(sets[0].pick(torch.arange(40))).detach().numpy()
    np.testing.assert_allclose(stacked.outputs(sets[0])[2], made, atol=1e-5)


def test_copies_share_their_rows(sets):
    X, y = sets
    copies = [Copy(rows=range(20)), Copy(rows=range(30))]
    with pytest.raises(OptionError, match="copies on ragged samples share their batches"):
        train(SumOfSets, X, y, loss=losses.squared_error, copies=copies)


def test_classes_of_sets(sets):
    X, y = sets
    codes = (y > 0).astype(int)
    make = lambda: nn.Sequential(SumOfSets(), nn.Linear(1, 2))  # noqa: E731
    trained = train(make, X, codes, loss=losses.nll, copies=2, training=Training(epochs=2))
    assert trained.outputs(X).shape == (2, 40, 2)
    with pytest.raises(ValueError, match="class codes from 0 to 1"):
        train(make, X, codes + 1, loss=losses.nll, training=Training(epochs=1))


def test_one_order_for_all_copies():
    """With one order, copies that begin alike end alike; with their own orders they do not."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)).astype(np.float32), rng.normal(size=50).astype(np.float32)
    state = {"weight": np.ones((1, 2), np.float32), "bias": np.zeros(1, np.float32)}
    copies = [Copy(seed=seed, state=state) for seed in (1, 2)]
    for order_seed, alike in ((None, False), (5, True)):
        training = Training(epochs=2, batch_size=8, order_seed=order_seed)
        trained = train(
            lambda: nn.Linear(2, 1), X, y, loss=losses.squared_error, copies=copies,
            training=training,
        )  # fmt: skip
        one, other = trained.state["weight"]
        assert torch.allclose(one, other, atol=1e-7) is alike


def test_layers_are_pulled_by_their_own_strength():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(64, 3)).astype(np.float32)
    y = X.sum(axis=1)

    def made(strength):
        training = Training(epochs=40, learning_rate=0.02, anchor="zero", anchor_strength=strength)
        return train(
            lambda: nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)), X, y,
            loss=losses.squared_error, training=training, random_state=0,
        ).state  # fmt: skip

    free = made({"0": 0.0, "2": 0.0})
    some = made({"0.weight": 6400.0, "0.bias": 0.0, "2": 0.0})
    assert some["0.weight"].abs().max() < 0.05 < free["0.weight"].abs().max()
    for name, value in made(0.0).items():
        torch.testing.assert_close(value, free[name])
    with pytest.raises(OptionError, match=r"no entry for '2\.weight'"):
        made({"0": 1.0})
    with pytest.raises(OptionError, match="anchor_strength of 0"):
        made({"0": -1.0})


@pytest.mark.parametrize("value", [-1, 1.5])
def test_bad_orders(value):
    with pytest.raises(OptionError, match="order_seed"):
        Training(order_seed=value).check()
