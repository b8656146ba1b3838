"""Schedules, shortened gradients, bounded inputs and spreads, embeddings: by hand and by torch."""

import numpy as np
import pytest
import torch
from torch import nn

from caveat.exceptions import OptionError
from caveat.nn import losses
from caveat.nn.layers import Embed, MeanVarianceHead, Standardize
from caveat.nn.lockstep import Copy, Training, train
from caveat.nn.lockstep._by_hand import by_hand
from caveat.nn.lockstep._schedules import SCHEDULES, Rates

RNG = np.random.default_rng(0)
X = np.column_stack(
    [RNG.standard_cauchy(size=(50, 3)), RNG.integers(0, 5, 50), RNG.integers(0, 7, 50)]
).astype(np.float32)
Y = RNG.normal(size=(50, 2)).astype(np.float32)
LIMITS = {"0.limit": torch.tensor([3.0, 3.0, 1.0, torch.inf, torch.inf])}


def network(middle=nn.ReLU):
    return nn.Sequential(
        Standardize(5, 3.0), Embed([5, 7], 4), nn.Linear(11, 8), middle(), Standardize(8, 1.5),
        MeanVarianceHead(8, 2, cap=1.5),
    )  # fmt: skip


class Unknown(nn.ReLU):
    """A layer without passes by hand."""


PAIR = [Copy(seed=1, state=LIMITS), Copy(seed=2, state=LIMITS)]


def fit(make=network, copies=PAIR, **settings):
    training = Training(**{"epochs": 4, "batch_size": 16, "learning_rate": 0.02, **settings})
    return train(make, X, Y, loss=losses.gaussian_nll, copies=copies, training=training)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"scheduler": "cosine"},
        {"gradient_clip": 0.1, "optimizer": "sgd"},
        {"gradient_clip": 0.1, "draws": 2},
        {"weight_decay": 0.1, "optimizer": "adamw", "scheduler": "linear"},
    ],
)
def test_passes_by_hand_are_those_of_torch(settings):
    stack = by_hand(network(), losses.gaussian_nll, _stacked(network()), {})
    assert stack is not None
    assert by_hand(network(Unknown), losses.gaussian_nll, _stacked(network(Unknown)), {}) is None
    found, expected = fit(**settings), fit(lambda: network(Unknown), **settings)
    for name, value in expected.state.items():
        torch.testing.assert_close(found.state[name], value, rtol=1e-4, atol=1e-5)


def _stacked(module):
    return {name: value[None] for name, value in module.state_dict().items()}


@pytest.mark.parametrize("learned", [True, False])
def test_codes_may_come_after_a_layer(learned):
    """The gradient goes on to what is before the codes alone; vectors may be frozen."""

    def make(last):
        scale = Standardize(4)
        scale.scale[3] = torch.inf  # so that all codes are 0
        layers = [nn.Linear(4, 4), nn.Tanh(), scale, Embed([3], 2), nn.Linear(5, 2), last()]
        layers[3].requires_grad_(learned)
        return nn.Sequential(*layers)

    found, expected = (
        train(
            lambda last=last: make(last), X[:, :4], Y, loss=losses.squared_error,
            copies=[Copy(seed=3), Copy(seed=4)],
            training=Training(epochs=3, batch_size=16, optimizer="sgd", learning_rate=0.001),
        )
        for last in (nn.Identity, Same)
    )  # fmt: skip
    for name, value in expected.state.items():
        torch.testing.assert_close(found.state[name], value, rtol=1e-4, atol=1e-5)


class Same(nn.Identity):
    """A layer without passes by hand that changes nothing."""


def test_the_limit_of_inputs():
    layer = Standardize(3, clip=2.0)
    layer.limit[2] = torch.inf
    found = layer(torch.tensor([[1e-4, 1.0, 1e4], [1e30, -1e30, -1e30]]))
    expected = torch.tensor([[1e-4, 1 / 1.25**0.5, 1e4], [2.0, -2.0, -1e30]])
    torch.testing.assert_close(found, expected)
    with pytest.raises(OptionError, match="clip must be a number above 0; got -1"):
        Standardize(3, clip=-1)


def test_embeddings_are_rows_of_a_matrix():
    layer = Embed([3, 4], width=2)
    assert layer.weight.shape == (7, 2)
    found = layer(torch.tensor([[0.5, 2.0, 1.0], [0.1, 0.0, 3.0]]))
    weight = layer.weight
    expected = torch.stack(
        [
            torch.cat([torch.tensor([0.5]), weight[2], weight[4]]),
            torch.cat([torch.tensor([0.1]), torch.zeros(2), weight[6]]),
        ]
    )
    torch.testing.assert_close(found, expected)
    assert "Embed([3, 4], width=2)" in repr(layer)
    with pytest.raises(OptionError, match="sizes must name the codes of one column at least"):
        Embed([])


def test_a_category_without_samples_keeps_its_vector():
    rows = X.copy()
    rows[:, 3] = 1 + rows[:, 3] % 4
    found = train(
        network, rows, Y, loss=losses.gaussian_nll, copies=[Copy(seed=1, state=LIMITS)],
        training=Training(epochs=3, batch_size=16),
    )  # fmt: skip
    assert (found.state["1.weight"][0, 0] == 0).all()
    assert (found.state["1.weight"][0, 1] != 0).all()


def test_the_cap_of_a_spread():
    head = MeanVarianceHead(1, bias=False, cap=2.0)
    nn.init.constant_(head.linear.weight, 1.0)
    raw = torch.tensor([[-30.0], [0.0], [1e6]])
    std = head(raw)[:, 1, 0]
    softplus = float(np.log(2.0))
    expected = torch.tensor([1e-3, softplus / (1 + softplus / 2) + 1e-3, 2.001])
    torch.testing.assert_close(std, expected, rtol=1e-4, atol=1e-6)
    assert "cap=2.0" in repr(head)
    assert "cap" not in repr(MeanVarianceHead(1))
    with pytest.raises(OptionError, match="cap must be a number above 0"):
        MeanVarianceHead(1, cap=0.0)


# Schedules.


def test_schedules_begin_low_reach_the_whole_rate_and_end_low():
    done = np.linspace(0, 1, 2001)
    np.testing.assert_array_equal(SCHEDULES["constant"](done), 1.0)
    for name in ("cosine", "linear"):
        factors = SCHEDULES[name](done)
        assert factors.max() == pytest.approx(1.0)
        assert factors.argmax() == pytest.approx(100, abs=1)
        assert factors[[0, -1]] == pytest.approx([0, 0], abs=1e-12)
        assert (np.diff(factors[:100]) > 0).all()
        assert (np.diff(factors[101:]) < 0).all()
    # Half of the way down: where the cosine is 0.
    assert SCHEDULES["cosine"](np.array([0.525])) == pytest.approx(0.5)


@pytest.mark.parametrize("name", ["constant", "cosine", "linear"])
def test_a_step_has_the_rate_of_its_schedule(name):
    """A weight whose gradient is 1 moves by the sum of the rates."""
    steps, rate = 1000, 0.01
    trained = train(
        lambda: nn.Linear(1, 1, bias=False), np.ones((4, 1)), np.zeros(4),
        loss=lambda output, y: output[:, 0],
        copies=[Copy(seed=0, steps=steps, state={"weight": [[0.0]]})],
        training=Training(optimizer="sgd", learning_rate=rate, scheduler=name, batch_size=4),
    )  # fmt: skip
    middle = (np.arange(steps) + 0.5) / steps
    expected = rate * SCHEDULES[name](middle).sum()
    # Rates stay the same for ten steps at a time, each that of their middle.
    np.testing.assert_allclose(-float(trained.state["weight"]), expected, rtol=2e-3)


def test_copies_have_the_schedule_of_their_own_steps():
    copies = [Copy(seed=1, epochs=7), Copy(seed=2, rows=np.arange(20)), Copy(seed=3, epochs=3)]
    settings = {"scheduler": "cosine", "gradient_clip": 1.0}
    together = fit(copies=copies, **settings)
    for i, copy in enumerate(copies):
        alone = fit(copies=[copy], **settings)
        for name, value in alone.state.items():
            torch.testing.assert_close(together.state[name][i], value[0], rtol=1e-4, atol=1e-5)
    factors, later = Rates("cosine", np.array([4000, 8])).at(45)
    np.testing.assert_allclose(factors, [SCHEDULES["cosine"](np.array(60 / 4000)), 0.0], atol=1e-12)
    assert later == 46  # the next step of the short one, though it is done


def test_a_stopped_training_goes_on_with_its_schedule(tmp_path, monkeypatch):
    from caveat.nn.lockstep import _checkpoint, _run

    whole = fit(scheduler="cosine", epochs=8)
    advance, calls = _run.Run.advance, []

    def interrupted(run, *args):
        calls.append(1)
        if len(calls) == 17:
            raise ZeroDivisionError
        advance(run, *args)

    monkeypatch.setattr(_run.Run, "advance", interrupted)
    monkeypatch.setattr(_checkpoint.Checkpoint, "due", lambda self: True)
    settings = {"scheduler": "cosine", "epochs": 8, "batch_size": 16, "learning_rate": 0.02}
    given = {"loss": losses.gaussian_nll, "copies": PAIR, "checkpoint": tmp_path}
    with pytest.raises(ZeroDivisionError):
        train(network, X, Y, training=Training(**settings), **given)
    resumed = train(network, X, Y, training=Training(**settings), **given)
    for name, value in whole.state.items():
        torch.testing.assert_close(resumed.state[name], value)


# Gradients.


def test_gradients_are_shortened_as_by_torch():
    training = {"optimizer": "sgd", "learning_rate": 1.0, "epochs": 1, "batch_size": 50}
    start = fit(copies=[Copy(seed=1)], **training | {"learning_rate": 1e-12})
    module = start.module(0).train()
    loss = losses.gaussian_nll(module(torch.from_numpy(X)), torch.from_numpy(Y)).mean()
    loss.backward()
    norm = float(nn.utils.clip_grad_norm_(module.parameters(), 0.25))
    assert norm > 0.25
    found = fit(copies=[Copy(seed=1), Copy(seed=2)], **training, gradient_clip=0.25)
    for name, parameter in module.named_parameters():
        expected = parameter.detach() - parameter.grad
        torch.testing.assert_close(found.state[name][0], expected, rtol=1e-4, atol=1e-5)
    # A gradient that is shorter stays as it is.
    free, loose = (fit(**training, gradient_clip=most) for most in (None, 1e6))
    for name, value in free.state.items():
        torch.testing.assert_close(loose.state[name], value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scheduler": "steps"}, "scheduler must be one of 'constant', 'cosine', 'linear'"),
        ({"gradient_clip": -1.0}, "gradient_clip must be a number above 0; got -1.0"),
    ],
)
def test_settings_that_are_refused(settings, message):
    with pytest.raises(OptionError, match=message):
        fit(**settings)
