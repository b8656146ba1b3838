"""A module that was looked at is not looked at again, until something about it changes."""

import copy
import gc
import sys
import threading
import types
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from caveat.nn import _kept_plans, _monte_carlo, explain, monte_carlo
from caveat.nn.layers import ConcreteDropoutLinear

from .layer_cases import CASES

X = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))


class Settings:
    def __init__(self):
        self.factor = 2.0


class Model(nn.Module):
    """What a pass may depend on, one of each kind."""

    def __init__(self):
        super().__init__()
        self.first, self.drop, self.last = nn.Linear(4, 5), nn.Dropout(0.4), nn.Linear(5, 3)
        self.norm, self.concrete = nn.BatchNorm1d(5), ConcreteDropoutLinear(5, 5)
        self.register_buffer("mean", torch.zeros(5))
        self.moved, self.array = torch.ones(5), np.ones(5, dtype=np.float32)
        self.factor, self.options, self.settings = 1.0, {"shift": [0.5]}, Settings()
        self.names, self.kinds = {"relu"}, (nn.ReLU, torch.relu, len)
        self.activation, self.bound, self.itself = torch.relu, self.shifted, [self]
        self.partial_sum = lambda x, by=[0.25], options=self.options: by[0] * options["shift"][0]

    def shifted(self, x):
        return x + self.options["shift"][0] * self.settings.factor

    def forward(self, x):
        x = self.norm(self.activation(self.bound(self.first(x)))) - self.mean
        x = x * self.moved * torch.from_numpy(self.array) * self.factor
        return self.last(self.drop(self.concrete(x)))


def step(model):
    with torch.no_grad():
        model.first.weight.add_(0.1)


def train(model):
    model.train()(X)  # batch norm takes its means in, which no counter of torch shows
    model.eval()


def statistics(model):
    model.norm.running_mean.data.fill_(0.3)


def replaced(name, value, model):
    setattr(model, name, value() if callable(value) and not isinstance(value, nn.Module) else value)


CHANGES = {
    "weights in place": step,
    "weights by data": lambda model: model.first.weight.data.mul_(2),
    "another parameter": lambda model: setattr(model.last, "bias", nn.Parameter(torch.ones(3))),
    "batch norm": train,
    "its statistics by data": statistics,
    "a buffer": lambda model: model.mean.add_(1),
    "a tensor": partial(replaced, "moved", lambda: torch.full((5,), 3.0)),
    "a tensor in place": lambda model: model.moved.mul_(3),
    "an array": lambda model: model.array.fill(3),
    "a number": partial(replaced, "factor", 2.0),
    "its type": partial(replaced, "factor", True),
    "a list inside": lambda model: model.options["shift"].append(1),
    "a number inside": lambda model: model.options["shift"].__setitem__(0, 0.1),
    "an object": lambda model: setattr(model.settings, "factor", 3.0),
    "a set": lambda model: model.names.add("tanh"),
    "a rate": lambda model: setattr(model.drop, "p", 0.1),
    "another layer": lambda model: setattr(model, "drop", nn.Dropout(0.9)),
    "one layer less": lambda model: setattr(model, "drop", nn.Identity()),
    "another function": lambda model: setattr(model, "activation", torch.tanh),
    "a hook": lambda model: model.last.register_forward_hook(lambda *given: given[2] + 1),
    "its forward": lambda model: setattr(
        model, "forward", lambda x: model.last(model.drop(x @ torch.ones(4, 5)))
    ),
}


@pytest.fixture
def looks(monkeypatch):
    """Return a list that grows with each look at a module."""
    seen = []

    def make_plan(*given):
        seen.append(given)
        return plain(*given)

    plain = _monte_carlo.make_plan
    monkeypatch.setattr(_monte_carlo, "make_plan", make_plan)
    return seen


def passes(model, x=X):
    return monte_carlo(model, x, 4, random_state=0)


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_seen(name, looks):
    torch.manual_seed(0)
    model = Model().eval()
    before = passes(model)
    torch.testing.assert_close(passes(model), before, rtol=0, atol=0)
    model.train().eval()
    assert len(looks) == 1
    CHANGES[name](model)
    fresh = copy.deepcopy(model)
    if "forward" in vars(model):
        fresh = model
        _kept_plans._PLANS.clear()
    expected = passes(fresh)
    found = passes(model)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)
    moved = not torch.allclose(found, before, rtol=1e-6, atol=1e-6)
    assert moved or name in ("a list inside", "a set", "its type")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
def test_every_layer_is_looked_at_once(case, looks):
    model = nn.Sequential(case.layer())
    first = passes(model, case.inputs())
    torch.testing.assert_close(passes(model, case.inputs()), first, rtol=0, atol=0)
    assert len(looks) == 1


def test_other_rows_and_mixed_precision_are_looked_at_again(looks):
    model = nn.Sequential(nn.Flatten(), nn.LazyLinear(3), nn.Dropout(0.5))
    model(X)
    explain(model, X)
    explain(model, X.double())
    explain(model, X[:, :, None])
    explain(model, X[:, :, None])
    assert len(looks) == 3
    with torch.autocast("cpu", dtype=torch.bfloat16):
        explain(model, X[:, :, None])
    assert len(looks) == 4


class Counting(nn.Linear):
    """Changes with each call."""

    calls = 0

    def forward(self, x):
        self.calls += 1
        return super().forward(x) * self.calls


class Drawing(nn.Linear):
    """Has a generator of its own, whose state nobody can compare."""

    def __init__(self, *given):
        super().__init__(*given)
        self.generator = torch.Generator()


class Remembering(nn.Linear):
    """Keeps its last input."""

    last = None

    def forward(self, x):
        self.last = x.clone()
        return super().forward(x)


@pytest.mark.parametrize("kind", [Counting, Drawing, Remembering])
def test_a_module_that_never_is_as_it_was_gives_what_a_fresh_one_gives(kind, looks):
    torch.manual_seed(0)
    model = nn.Sequential(kind(4, 3), nn.Dropout(0.5))
    model(X)
    fresh = copy.deepcopy(model) if kind is not Drawing else model
    first = passes(model)
    torch.testing.assert_close(passes(model), first, rtol=0, atol=0)
    torch.testing.assert_close(passes(fresh), first, rtol=0, atol=0)


def attributes():
    slots = type("Slots", (), {"__slots__": ("a",)})()
    with torch.inference_mode():
        inferred = torch.ones(2)
    return {
        "slots": slots,
        "slots beside others": type("Beside", (type(slots),), {})(),
        "inference": inferred,
        "objects": np.array([None, 1], dtype=object),
        "a set of others": {(1, 2)},
        "many": list(range(30_000)),
    }


@pytest.mark.parametrize("name", attributes())
def test_what_cannot_be_compared_is_looked_at_again(name, looks):
    model = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5))
    model.more = attributes()[name]
    explain(model, X)
    explain(model, X)
    assert len(looks) == 2


def test_the_plan_of_a_module_that_changes_as_it_runs_is_not_kept():
    model = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5))
    plan = explain(model, X)

    def make():
        model.calls = getattr(model, "calls", 0) + 1
        return plan

    assert _kept_plans.plan_for(model, "here", make) is plan
    assert model not in _kept_plans._PLANS
    assert _kept_plans.plan_for(model, "here", lambda: plan) is plan
    assert model in _kept_plans._PLANS


def test_weights_on_another_device_are_taken_over(looks):
    model = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5))
    plan = explain(model, X)
    apart = copy.deepcopy(plan.module)
    model[0].weight.data.fill_(1.0)
    _kept_plans._refresh(apart, model)
    torch.testing.assert_close(apart[0].weight, model[0].weight)


def test_a_plan_lives_as_long_as_its_module():
    model = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5))
    explain(model, X)
    assert model in _kept_plans._PLANS
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


RATE = 0.5
SETTINGS = types.ModuleType("settings_of_a_test")
SETTINGS.rate = 0.5


class Options(dict):
    """A mapping with attributes, as frameworks have them."""


class Helper:
    rate = 0.5

    def drop(self, x):
        return functional.dropout(x, self.rate, training=True)


def by_global(self, x):
    return functional.dropout(x, RATE, training=True)


def by_helper_function(self, x):
    return dropped(x)


def dropped(x):
    return functional.dropout(x, SETTINGS.rate, training=True)


def by_text(self, x):
    return functional.dropout(x, getattr(SETTINGS, "rate"), training=True)  # noqa: B009


def within_another(self, x):
    def rate():
        return vars(SETTINGS)["rate"]

    return functional.dropout(x, rate(), training=True)


def by_import(self, x):
    import settings_of_a_test

    return functional.dropout(x, settings_of_a_test.rate, training=True)


def set_global(name, value):
    return lambda monkeypatch, model: monkeypatch.setitem(globals(), name, value)


def set_on(owner, name, value):
    return lambda monkeypatch, model: monkeypatch.setattr(owner, name, value, raising=False)


def at_class(name, value):
    return lambda monkeypatch, model: setattr(type(model), name, value)


def on_model(name, value):
    return lambda monkeypatch, model: setattr(model, name, value)


def by_rate(self, x):
    return functional.dropout(x, self.rate, training=True)


AROUND = {
    "a class attribute": ({"forward": by_rate, "rate": 0.5}, {}, at_class("rate", 0.05)),
    "its forward": (
        {"forward": by_rate, "rate": 0.5},
        {},
        at_class("forward", lambda self, x: x * self.rate),
    ),
    "a property": (
        {"forward": by_rate, "rate": property(lambda self: 0.5)},
        {},
        at_class("rate", property(lambda self: 0.05)),
    ),
    "a static method": (
        {"forward": lambda self, x: self.act(x), "act": staticmethod(dropped)},
        {},
        at_class("act", staticmethod(torch.tanh)),
    ),
    "a global number": ({"forward": by_global}, {}, set_global("RATE", 0.05)),
    "what a function reads": (
        {"forward": by_helper_function},
        {},
        set_on(SETTINGS, "rate", 0.05),
    ),
    "a name that is a text": ({"forward": by_text}, {}, set_on(SETTINGS, "rate", 0.05)),
    "a text in a function within": (
        {"forward": within_another},
        {},
        set_on(SETTINGS, "rate", 0.05),
    ),
    "a module that is imported there": (
        {"forward": by_import},
        {},
        set_on(SETTINGS, "rate", 0.05),
    ),
    "a class beside it": (
        {"forward": lambda self, x: self.helper.drop(x)},
        {"helper": Helper()},
        set_on(Helper, "rate", 0.05),
    ),
    "a partial": (
        {"forward": lambda self, x: self.act(x)},
        {"act": partial(functional.dropout, p=0.5, training=True)},
        on_model("act", partial(functional.dropout, p=0.05, training=True)),
    ),
    "a mapping of its own kind": (
        {"forward": lambda self, x: functional.dropout(x, self.options["p"], training=True)},
        {"options": Options(p=0.5)},
        lambda monkeypatch, model: model.options.update(p=0.05),
    ),
    "a tensor whose memory others write": (
        {"forward": lambda self, x: functional.dropout(x * self.t, 0.5, training=True)},
        {"t": torch.from_numpy(np.ones(4, dtype=np.float32))},
        lambda monkeypatch, model: model.t.numpy().fill(5),
    ),
    "a tensor in a list by data": (
        {"forward": lambda self, x: functional.dropout(x * self.t[0], 0.5, training=True)},
        {"t": [torch.ones(4)]},
        lambda monkeypatch, model: model.t[0].data.fill_(5),
    ),
    "what comes of a buffer": (
        {"forward": lambda self, x: functional.dropout(x * (self.buffer * 2), 0.5, training=True)},
        {"buffer": torch.ones(20)},
        lambda monkeypatch, model: model.buffer.data.fill_(5),
    ),
    "a rate in a buffer": (
        {"forward": lambda self, x: functional.dropout(x, self.buffer.item(), training=True)},
        {"buffer": torch.tensor(0.5)},
        lambda monkeypatch, model: model.buffer.data.fill_(0.05),
    ),
}


@pytest.mark.parametrize("name", AROUND)
def test_a_change_around_a_module_is_seen(name, monkeypatch):
    monkeypatch.setitem(sys.modules, SETTINGS.__name__, SETTINGS)
    of_class, of_model, change = AROUND[name]
    kind = type("Own", (nn.Module,), dict(of_class))
    model = kind()
    for key, value in of_model.items():
        if key == "buffer":
            model.register_buffer(key, value.clone())
        else:
            setattr(model, key, value)
    x = torch.ones(6, 20 if name == "what comes of a buffer" else 4)
    before = passes(model, x)
    torch.testing.assert_close(passes(model, x), before, rtol=0, atol=0)
    change(monkeypatch, model)
    found = passes(model, x)
    _kept_plans._PLANS.clear()
    torch.testing.assert_close(found, passes(model, x), rtol=1e-6, atol=1e-6)
    assert not torch.allclose(found, before)


def test_a_module_of_ones_own_is_looked_at_once(looks):
    model = type("Own", (nn.Module,), {"forward": by_helper_function})()
    for _ in range(3):
        passes(model)
    assert len(looks) == 1


def chain(length):
    first = Settings()
    last = first
    for _ in range(length):
        last.next = last = Settings()
    return first


def never_given():
    def function():
        return late

    if RATE < 0:
        late = 1
    return function


@pytest.mark.parametrize("value", [chain(2000), never_given()])
def test_odd_attributes_stop_nothing(value):
    model = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5))
    model.odd = value
    assert passes(model).shape == (4, 6, 3)


def test_a_module_that_its_copy_refers_to_is_freed():
    model = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5))
    model[1].register_forward_hook(lambda part, given, out, model=model: out * len(model))
    passes(model)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_a_first_look_in_inference_mode():
    model = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5))
    with torch.inference_mode():
        found = passes(model, X.clone())
    torch.testing.assert_close(found, passes(copy.deepcopy(model)))


def test_modules_of_other_threads_run_while_one_is_traced():
    other, answers = nn.Sequential(nn.Linear(4, 3), nn.Tanh()), []
    expected = other(X)

    def forward(self, x):
        thread = threading.Thread(target=lambda: answers.append(other(X)))
        thread.start()
        thread.join()
        return functional.dropout(x, 0.5, training=True)

    passes(type("Waits", (nn.Module,), {"forward": forward})())
    assert len(answers) > 2
    for answer in answers:
        torch.testing.assert_close(answer, expected)


def test_what_another_thread_draws_is_not_the_noise_of_the_module():
    def forward(self, x):
        thread = threading.Thread(target=torch.rand, args=(5,))
        thread.start()
        thread.join()
        return x * 2

    model = type("Beside", (nn.Module,), {"forward": forward})()
    assert not explain(model, X).random


def test_threads_that_look_at_once_get_their_own_numbers():
    models = [nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5)) for _ in range(8)]
    expected = [passes(copy.deepcopy(model)) for model in models]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(passes, models))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


def test_hooks_of_all_modules_are_seen():
    model = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5))
    before = passes(model)
    hook = nn.modules.module.register_module_forward_hook(lambda part, given, out: out * 2)
    try:
        found = passes(model)
    finally:
        hook.remove()
    assert not torch.allclose(found, before)
    torch.testing.assert_close(passes(model), before)


def test_weights_of_inference_mode_are_looked_at_again(looks):
    with torch.inference_mode():
        model = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5))
    first = passes(model)
    torch.testing.assert_close(passes(model), first)
    assert len(looks) == 2
