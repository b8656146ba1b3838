"""Training lengths of the paper's protocol on Wine, by hand; nothing is trained."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

import caveat
from caveat.exceptions import OptionError

X, Y = load_wine(return_X_y=True)
ROWS = (3, 7, 14, 36, 71, 107, 142)
"""1, 5, 10, 25, 50, 75 and 100 % of 142 samples, and one of each of three classes at least."""


class StopError(Exception):
    pass


def problems_of(monkeypatch, schedule, **settings):
    """Return what would be trained."""
    found = []

    def fit_many(estimator, problems, **options):
        found.extend(problems)
        raise StopError

    monkeypatch.setattr(caveat.estimators, "fit_many", fit_many)
    model = caveat.DeepEnsembleClassifier(members=10, epochs=100, batch_size=128, **settings)
    protocol = caveat.experiments.Protocol(schedule=schedule)
    with pytest.raises(StopError):
        caveat.disentanglement_error(model, X, Y, protocol=protocol, random_state=0)
    assert len(found) == 90
    return found


def rows(problem):
    return 142 if problem.rows is None else len(problem.rows)


@pytest.mark.parametrize(
    ("schedule", "epochs", "steps"),
    [
        # Up to 128 samples are one batch, 142 are two.
        ("inverse-epochs", (10_000, 2000, 1000, 400, 200, 133, 100), 10_000 + 2000 + 1000 + 400 + 200 + 133 + 200),
        ("constant-steps", (200, 200, 200, 200, 200, 200, 100), 7 * 200),
        ("constant-epochs", (100,) * 7, 6 * 100 + 200),
    ],
)  # fmt: skip
def test_wine(monkeypatch, schedule, epochs, steps):
    problems = problems_of(monkeypatch, schedule)
    for repeat in range(5):
        sizes = problems[7 * repeat : 7 * repeat + 7]
        assert tuple(map(rows, sizes)) == ROWS
        assert tuple(p.parameters.get("epochs", 100) for p in sizes) == epochs
    noise = problems[35:]
    assert {rows(p) for p in noise} == {142}
    assert {p.parameters.get("epochs", 100) for p in noise} == {100}
    batches = [-(-rows(p) // 128) for p in problems]
    found = sum(b * p.parameters.get("epochs", 100) for b, p in zip(batches, problems, strict=True))
    assert found == 5 * (steps + 11 * 200)
    if schedule == "inverse-epochs":
        assert 10 * found == 806_650  # steps of ten members


def test_samples_that_are_held_back_are_not_learned_from(monkeypatch):
    problems = problems_of(monkeypatch, "constant-steps", validation_fraction=0.2)
    # 142 less 28 are 114, one batch: nothing is longer than 100 epochs.
    assert {p.parameters.get("epochs", 100) for p in problems} == {100}


CHOOSE = (
    caveat.MCDropoutRegressor, caveat.DropConnectRegressor, caveat.ConcreteDropoutRegressor,
    caveat.AnchoredEnsembleRegressor, caveat.BayesByBackpropRegressor, caveat.FlipoutRegressor,
)  # fmt: skip
"""Estimators that choose their epochs themselves."""


def lengths(monkeypatch, model, schedule):
    """Return the epochs of sizes of 25, 50 and 100 % and of two shares of noise."""
    found = []

    def fit_many(estimator, problems, **options):
        found.extend(problem.parameters for problem in problems)
        raise StopError

    monkeypatch.setattr(caveat.estimators, "fit_many", fit_many)
    protocol = caveat.experiments.Protocol((0.25, 0.5, 1), (0, 1), repeats=1, schedule=schedule)
    with pytest.raises(StopError):
        caveat.disentanglement_error(model, X, Y + 0.5, protocol=protocol, random_state=0)
    return found


@pytest.mark.parametrize("make", CHOOSE)
@pytest.mark.parametrize(
    ("schedule", "sizes"),
    [
        ("inverse-epochs", [400, 200, 100]),
        ("constant-steps", [300, 150, 100]),  # 142 samples are three batches, 71 are two
        ("constant-epochs", [100, 100, 100]),
    ],
)
def test_epochs_that_the_estimator_would_choose(monkeypatch, make, schedule, sizes):
    found = lengths(monkeypatch, make(), schedule)
    assert found == [{"epochs": epochs} for epochs in [*sizes, 100, 100]]


def test_own_epochs_are_kept(monkeypatch):
    found = lengths(monkeypatch, caveat.MCDropoutRegressor(epochs=8), "inverse-epochs")
    assert found == [{"epochs": 32}, {"epochs": 16}, {"epochs": 8}, {}, {}]


def test_epochs_of_the_schedule_are_trained_and_noted():
    protocol = caveat.experiments.Protocol((0.5, 1), (0, 1), repeats=1)
    model = caveat.ConcreteDropoutRegressor(hidden=(4,), passes=2)
    result = caveat.disentanglement_error(
        model, X[::4, :3], np.log(X[::4, 12]), protocol=protocol, random_state=0
    )
    assert result.cost.steps == 200 + 3 * 100
    assert result.notes[1] == (
        "ConcreteDropoutRegressor has epochs='auto', but here the schedule sets how long it "
        "trains: 100 epochs on all samples; give epochs a number for another length"
    )


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (caveat.MAPRegressor(epochs="auto"), "epochs must be a whole number of at least 1; got 'auto'"),
        (caveat.MCDropoutRegressor(epochs="long"), "epochs must be 'auto' or a number; got 'long'"),
    ],
)  # fmt: skip
def test_epochs_that_are_no_number(model, message):
    wrapped = caveat.EnsembleRegressor(model, members=2)
    with pytest.raises(OptionError, match=message):
        caveat.disentanglement_error(wrapped, X, Y + 0.5, random_state=0)
