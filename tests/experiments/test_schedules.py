"""Training lengths of the paper's protocol on Wine, by hand; nothing is trained."""

import pytest
from sklearn.datasets import load_wine

import caveat

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
