"""SWAG: moments of snapshots, and networks drawn from them."""

import numpy as np
import pytest
from scipy.stats import sem

import caveat
from caveat import load
from caveat.estimators import MAPRegressor, SWAGClassifier, SWAGRegressor, swag
from caveat.estimators._choice import first_not_worse as first_within
from caveat.estimators._choice import held_losses
from caveat.estimators.swag import RATES
from caveat.exceptions import OptionError, TrainingError

torch = pytest.importorskip("torch")

rng = np.random.default_rng(1)
X = rng.normal(size=(60, 3))
LABELS = np.digitize(X[:, 0] + 0.5 * rng.normal(size=60), [-0.5, 0.5])
NUMBERS = X @ [1.0, -2.0, 0.5] + 3 + rng.normal(size=60)


def first_not_worse(losses):
    return first_within(losses, 2.0)


QUICK = {"hidden": (6,), "epochs": 3, "batch_size": 16, "random_state": 0, "snapshots": 4}


def snapshots(kind, monkeypatch):
    """Note the weights after each epoch that follows the training."""
    seen = []
    visited = kind._visited

    def noted(self, prepared, copy, rate):
        states = visited(self, prepared, copy, rate)
        seen.extend(states)
        return states

    monkeypatch.setattr(kind, "_visited", noted)
    return seen


def test_moments_are_those_of_the_snapshots(monkeypatch):
    seen = snapshots(SWAGClassifier, monkeypatch)
    model = SWAGClassifier(rank=3, **QUICK).fit(X, LABELS)
    assert len(seen) == 4
    for name in model.state_:
        values = np.stack([state[name].numpy() for state in seen])
        np.testing.assert_allclose(model.state_[name][0], values.mean(0), rtol=1e-5, atol=1e-6)
        if name.startswith("0."):  # the scale of the inputs
            assert name not in model.variance_
            continue
        np.testing.assert_allclose(model.variance_[name][0], values.var(0), rtol=1e-3, atol=1e-8)
        expected = (values - values.mean(0))[-3:]
        np.testing.assert_allclose(model.deviations_[name], expected, rtol=1e-4, atol=1e-6)
        assert np.ptp(values, axis=0).max() > 0


def test_drawn_networks_have_the_covariance_of_the_paper():
    count = 20_000
    model = SWAGRegressor(**{**QUICK, "hidden": (), "passes": count}).fit(X, NUMBERS)
    drawn = model._trained().state["1.0.linear.weight"].flatten(1).numpy()
    D = model.deviations_["1.0.linear.weight"].flatten(1).numpy()
    variance = model.variance_["1.0.linear.weight"].flatten().numpy()
    expected = np.diag(variance) / 2 + D.T @ D / (2 * (len(D) - 1))
    mean = model.state_["1.0.linear.weight"].flatten().numpy()
    spread = np.sqrt(np.diag(expected))
    # Four standard errors of a mean, and of a covariance of 20,000 draws.
    assert (abs(drawn.mean(0) - mean) < 4 * spread / count**0.5).all()
    error = np.sqrt((expected**2 + np.outer(spread, spread) ** 2) / count)
    assert (abs(np.cov(drawn.T) - expected) < 4 * error).all()


def test_a_rate_of_almost_0_stays_at_the_trained_network():
    model = SWAGRegressor(snapshot_rate=1e-9, **QUICK).fit(X, NUMBERS)
    settings = {name: value for name, value in QUICK.items() if name != "snapshots"}
    plain = MAPRegressor(**settings).fit(X, NUMBERS)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), rtol=1e-4)
    assert model.predict_distribution(X).decompose().epistemic.max() < 1e-9
    wide = SWAGRegressor(snapshot_rate=0.05, **QUICK).fit(X, NUMBERS)
    assert wide.predict_distribution(X).decompose().epistemic.min() > 1e-6


def test_targets_without_noise_ask_for_a_small_rate():
    """Snapshots whose predictions differ by far more than the noise are of no use."""
    drawn = np.random.default_rng(3)
    X = drawn.normal(size=(900, 3))
    y = np.tanh(X @ [1.0, -2.0, 0.5])
    settings = {"hidden": (16,), "epochs": 40, "batch_size": 32, "snapshots": 5, "random_state": 0}
    chosen = SWAGRegressor(**settings).fit(X[:300], y[:300])
    fixed = SWAGRegressor(snapshot_rate=RATES[0], **settings).fit(X[:300], y[:300])
    assert chosen.snapshot_rate_ < fixed.snapshot_rate_
    chosen_loss, fixed_loss = (
        caveat.evaluate(
            model.predict_distribution(X[300:]), y[300:], resamples=0,
            metrics=["mixture_negative_log_likelihood_loss"],
        ).rows[0].value
        for model in (chosen, fixed)
    )  # fmt: skip
    assert chosen_loss < fixed_loss


def test_the_rate_is_chosen_by_losses_on_held_out_samples(monkeypatch):
    asked = []

    def noted(self, prepared, rows):
        # By hand: the log of the mean probability of the true class over the drawn networks.
        asked.append(held_losses(self, prepared, rows))
        p = self._values(prepared.X[rows]).double().softmax(-1).mean(0).numpy()
        exact = -np.log(p[np.arange(len(rows)), prepared.y[rows]])
        np.testing.assert_allclose(asked[-1], exact, rtol=1e-5)
        return asked[-1]

    monkeypatch.setattr(swag, "held_losses", noted)
    drawn = np.random.default_rng(0)
    X = drawn.normal(size=(120, 3))
    labels = (X[:, 0] + drawn.normal(size=120) > 0).astype(int)
    model = SWAGClassifier(**QUICK).fit(X, labels)
    assert len(asked) == len(RATES)
    assert model.snapshot_rate_ == RATES[first_not_worse(asked)]
    assert model.held_out_share(99) is None
    assert model.held_out_share(100) == 0.1
    given = SWAGClassifier(snapshot_rate=0.002, **QUICK).fit(X, labels)
    assert given.snapshot_rate_ == 0.002
    assert given.held_out_share(500) is None
    assert len(asked) == len(RATES)


def test_a_smaller_rate_has_to_be_better_by_two_standard_errors_of_the_difference():
    # What all share does not count. The difference d + (1, -1, 1, -1, ...) of 101 samples, less
    # its own mean, has a standard error of about 0.1; exact by scipy.
    shared = 10 * np.random.default_rng(0).normal(size=101)
    noise = np.resize([1.0, -1.0], 101)
    noise -= noise.mean()
    error = sem(noise)
    for excess, place in ((1.99 * error, 0), (2.01 * error, 1)):
        assert first_not_worse([shared + noise + excess, shared]) == place
        # The same in between; the last one is the best by far less.
        worse = shared + 5.0
        assert first_not_worse([worse, shared + noise + excess, shared]) == place + 1
        bad = np.where(noise > 0, np.nan, shared)
        assert first_not_worse([bad, shared + noise + excess, shared, bad]) == place + 1
    assert first_not_worse([shared, shared, shared]) == 0
    assert first_not_worse([np.array([2.0]), np.array([1.0])]) == 1  # one sample has no error
    assert first_not_worse([np.array([np.inf, 0.0]), np.array([np.nan, 0.0])]) == 0


def test_rates_that_diverge_are_not_taken(monkeypatch):
    visited = SWAGRegressor._visited

    def diverging(self, prepared, copy, rate):
        if rate > 0.002:
            raise TrainingError("diverged")
        return visited(self, prepared, copy, rate)

    monkeypatch.setattr(SWAGRegressor, "_visited", diverging)
    assert (
        SWAGRegressor(**QUICK).fit(np.tile(X, (2, 1)), np.tile(NUMBERS, 2)).snapshot_rate_ < 0.002
    )


def test_predictions_are_always_the_same(tmp_path):
    model = SWAGClassifier(passes=7, **QUICK).fit(X, LABELS)
    prediction = model.predict_distribution(X)
    assert prediction.members == 7
    assert prediction == model.predict_distribution(X)
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").predict_distribution(X) == prediction


class Normed(torch.nn.Sequential):
    def __init__(self):
        super().__init__(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 3))


def test_buffers_are_averaged(monkeypatch):
    seen = snapshots(SWAGClassifier, monkeypatch)
    settings = {name: value for name, value in QUICK.items() if name != "hidden"}
    model = SWAGClassifier(module=Normed, **settings).fit(X, LABELS)
    means = torch.stack([state["0.1.running_mean"] for state in seen]).mean(0)
    torch.testing.assert_close(model.state_["0.1.running_mean"][0], means)
    assert "0.1.running_mean" not in model.variance_
    last = model.state_["0.1.num_batches_tracked"]
    assert torch.equal(last[0], seen[-1]["0.1.num_batches_tracked"])
    assert model.predict_distribution(X).members == 50


def test_messages():
    for name, value in (("passes", 0), ("snapshots", 1), ("rank", 1), ("snapshot_rate", 0.0)):
        with pytest.raises(OptionError, match=name):
            SWAGClassifier(**{**QUICK, name: value}).fit(X, LABELS)
    model = SWAGRegressor(**{**QUICK, "optimizer": "sgd", "snapshot_rate": 1e30})
    with pytest.raises(TrainingError, match=r"after the training diverged.*snapshot_rate=1e\+30"):
        model.fit(X, NUMBERS)
    assert not hasattr(model, "state_")
