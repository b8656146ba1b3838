"""Predictions whose outputs stay where they are until somebody asks for them."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
import torch

import caveat
from caveat.exceptions import CaveatError
from caveat.nn import _outputs
from caveat.nn._outputs import HEADS, later

VALUES = torch.randn(3, 5, 2, generator=torch.Generator().manual_seed(0))
BOTH = torch.stack([VALUES, VALUES.abs() + 0.1], dim=2)
CASES = {
    "logits": (VALUES, {"classes": ["a", "b"]}),
    "gaussian-logits": (BOTH, {"classes": ["a", "b"]}),
    "mean-std": (BOTH, {"targets": ["low", "high"]}),
    "mean": (VALUES, {"targets": ["low", "high"]}),
}


@pytest.fixture(params=CASES)
def pair(request):
    """Return what makes the prediction now, and the one that is made later, with a count."""
    values, names = CASES[request.param]
    calls = []

    def convert(values):
        calls.append(len(values[0]))
        return HEADS[request.param].convert(values, **names)

    return convert(values), later(values, convert), calls


def test_arrays_are_made_once_when_they_are_asked_for(pair):
    now, deferred, calls = pair
    assert type(deferred) is type(now)
    assert calls == [5, 1]  # the names were tried with one row
    (shared,) = now._shared
    np.testing.assert_array_equal(getattr(deferred, shared), getattr(now, shared))
    assert calls == [5, 1]
    assert len(deferred) == 5
    assert calls == [5, 1, 5]
    assert deferred == now
    assert repr(deferred) == repr(now)
    assert calls == [5, 1, 5]
    with pytest.raises(ValueError, match="read-only"):
        next(iter(deferred._fields().values()))[:] = 0


@pytest.mark.parametrize("use", [
    lambda p: pickle.loads(pickle.dumps(p)), copy.copy, copy.deepcopy, lambda p: p.take(slice(None)),
])  # fmt: skip
def test_it_is_used_like_any_other(use, pair):
    now, deferred, _ = pair
    assert use(deferred) == now


def test_what_is_not_there_is_said():
    deferred = later(VALUES, partial(HEADS["logits"].convert, classes=None))
    with pytest.raises(AttributeError, match="'Categorical' object has no attribute 'std'"):
        _ = deferred.std
    with pytest.raises(AttributeError, match="frozen"):
        deferred.probabilities = VALUES
    assert caveat.decompose(deferred).total.shape == (5,)


def test_names_that_do_not_fit_are_refused_at_once():
    with pytest.raises(CaveatError, match="classes"):
        later(VALUES, partial(HEADS["logits"].convert, classes=["a"]))


@pytest.mark.parametrize(("head", "values", "expected"), [
    ("logits", VALUES, True),
    ("mean", VALUES, True),
    ("mean-std", BOTH, True),
    ("mean-std", -BOTH, False),
    ("mean-std", BOTH.double() * 1e-200, False),
    ("gaussian-logits", BOTH.double() * 1e200, False),
    ("gaussian-logits", BOTH, True),
    ("gaussian-logits", -BOTH, False),
    ("mean-variance", BOTH, False),
    ("probabilities", VALUES, False),
])  # fmt: skip
def test_what_may_be_refused_is_made_now(head, values, expected):
    assert bool(HEADS[head].sound(values)) is expected


def test_a_device_keeps_its_outputs(monkeypatch):
    made = _outputs.to_prediction(VALUES, "logits", classes=None)
    assert "probabilities" in vars(made)  # nothing is gained on a CPU
    elsewhere = VALUES.to("meta")
    monkeypatch.setattr(_outputs, "_check_finite", lambda values: None)
    monkeypatch.setattr(_outputs, "later", lambda values, convert: convert)
    assert callable(_outputs.to_prediction(elsewhere, "logits", classes=None))
