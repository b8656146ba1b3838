"""A metric in place of the validation loss decides which epoch is kept and when a copy stops."""

import dataclasses

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import nn

from caveat.exceptions import OptionError, TrainingError
from caveat.nn import Copy, Monitor, Plateau, Training

from .test_lockstep import RNG, X, cross_entropy, fit, plain, squares

LABELS = (X[:, 0] + RNG.normal(size=60) > 0).astype(int)
HELD = [np.arange(30, 60), np.arange(35, 60)]
COPIES = [Copy(seed=i, rows=np.arange(30), validation=held) for i, held in enumerate(HELD)]


def auc(outputs, y, weight):
    return roc_auc_score(y, outputs[:, 1] - outputs[:, 0], sample_weight=weight)


LONG = Training(epochs=25, batch_size=16, learning_rate=0.05, monitor=Monitor(auc, higher=True))


def two():
    return nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))


@pytest.mark.parametrize("engine", ["stacked", "sequential"])
def test_the_epoch_with_the_best_value_is_kept(engine):
    trained = fit(two, COPIES, dataclasses.replace(LONG, engine=engine), LABELS)
    outputs = trained.outputs(X)
    moved = 0
    for place, held in enumerate(HELD):
        history = trained.history[place]
        kept = auc(outputs[place, held], LABELS[held], None)
        assert kept == pytest.approx(history["monitor"].max(), abs=1e-12)
        moved += history["monitor"].argmax() != history["validation"].argmin()
    assert moved  # the least loss would have kept another epoch


def test_engines_agree():
    pair = [
        fit(two, COPIES, dataclasses.replace(LONG, engine=engine), LABELS)
        for engine in ("stacked", "sequential")
    ]
    for one, other in zip(pair[0].history, pair[1].history, strict=True):
        np.testing.assert_allclose(one["monitor"], other["monitor"], atol=0.02)
        np.testing.assert_allclose(one["validation"], other["validation"], rtol=1e-3)


def test_a_copy_stops_when_the_value_is_no_new_best():
    trained = fit(two, COPIES[:1], dataclasses.replace(LONG, epochs=200, patience=4), LABELS)
    values = trained.history[0]["monitor"]
    assert trained.status == ["stopped early"]
    assert len(values) == values.argmax() + 5


def test_a_plateau_follows_the_value():
    """A value that never changes lowers the rate to 0 after its patience, and nothing moves."""
    constant = Monitor(lambda outputs, y, weight: 1.0)
    training = dataclasses.replace(
        LONG, monitor=constant, plateau=Plateau(0.0, 3), restore_best=False, epochs=10
    )
    losses = fit(two, COPIES[:1], training, LABELS).history[0]["validation"]
    assert len(set(losses[:4])) == 4
    assert len(set(losses[3:])) == 1


def test_lower_may_be_better():
    def error(outputs, y, weight):
        return float(np.abs(outputs - y).mean())

    values = np.stack([X[:, 0], X[:, 1]], axis=1)
    training = dataclasses.replace(LONG, monitor=Monitor(error))
    trained = fit(lambda: nn.Linear(5, 2), COPIES, training, values, squares)
    for place, held in enumerate(HELD):
        kept = error(trained.outputs(X)[place, held], values[held], None)
        assert kept == pytest.approx(trained.history[place]["monitor"].min(), rel=1e-5)


def test_weights_are_passed_on():
    weight = np.where(np.arange(60) % 3, 1.0, 2.0)
    weight[40] = 0.0  # it does not count at all
    seen = []

    def note(outputs, y, weight):
        seen.append((len(outputs), weight))
        return auc(outputs, y, weight)

    copies = [dataclasses.replace(COPIES[0], weight=weight)]
    fit(two, copies, dataclasses.replace(LONG, epochs=1, monitor=Monitor(note, True)), LABELS)
    (count, given), expected = seen[0], np.delete(weight[30:], 10)
    assert count == 29
    np.testing.assert_allclose(given / given.sum(), expected / expected.sum(), rtol=1e-6)


def test_a_stopped_training_goes_on(tmp_path):
    first = fit(two, COPIES, LONG, LABELS, checkpoint=tmp_path)
    again = fit(two, COPIES, LONG, LABELS, checkpoint=tmp_path)
    np.testing.assert_array_equal(first.history[0]["monitor"], again.history[0]["monitor"])
    torch.testing.assert_close(first.state["0.weight"], again.state["0.weight"], rtol=0, atol=0)


def test_callers_are_told():
    told = []
    fit(two, COPIES[:1], dataclasses.replace(LONG, epochs=2, on_epoch=told.append), LABELS)
    assert [set(one) for one in told] == [
        {"copy", "epoch", "step", "loss", "validation", "monitor"}
    ] * 2


def test_a_value_that_is_undefined():
    nothing = Monitor(lambda outputs, y, weight: np.nan)
    with pytest.raises(TrainingError, match="monitor is nan for the 25 validation samples of copy"):
        fit(two, COPIES[1:], dataclasses.replace(LONG, monitor=nothing), LABELS)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"monitor": "auc"}, "monitor must be a Monitor with a function"),
        ({"monitor": Monitor("auc")}, "monitor must be a Monitor with a function"),
        ({"plateau": 0.5}, "plateau must be a Plateau"),
        ({"plateau": Plateau(factor=2.0)}, "factor of plateau must"),
        ({"plateau": Plateau(patience=0)}, "patience of plateau must"),
        ({"plateau": Plateau(minimum=-1.0)}, "minimum of plateau must"),
    ],
)
def test_bad_settings(settings, words):
    with pytest.raises(OptionError, match=words):
        Training(**settings).check()


def test_validation_is_needed():
    with pytest.raises(OptionError, match="monitor needs validation samples"):
        fit(plain, [Copy(seed=0)], LONG, loss=cross_entropy)
