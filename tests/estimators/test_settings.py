"""Settings and data at the edge of what is accepted, and what is said beyond it."""

from functools import partial

import numpy as np
import pytest

from caveat.estimators import (
    AnchoredEnsembleRegressor,
    BayesByBackpropClassifier,
    ConcreteDropoutClassifier,
    DropConnectClassifier,
    MAPClassifier,
    MAPRegressor,
    MCDropoutClassifier,
    MCDropoutRegressor,
)
from caveat.exceptions import CaveatError, InvalidValueError, TrainingError

torch = pytest.importorskip("torch")
from caveat.nn.layers import GaussianPrior, ScaleMixturePrior, stochastic_layers  # noqa: E402

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
LABELS = np.where(X[:, 0] > 0, "yes", "no")
NUMBERS = X[:, 0] - X[:, 1]
QUICK = {"hidden": (4,), "epochs": 2, "random_state": 0}


def classifier(**settings):
    return MAPClassifier(**{**QUICK, **settings})


def regressor(**settings):
    return MAPRegressor(**{**QUICK, **settings})


@pytest.mark.parametrize("hidden", [8, np.int64(8), [8], np.array([8])])
def test_a_number_is_one_hidden_layer(hidden):
    model = classifier(hidden=hidden).fit(X, LABELS)
    plain = classifier(hidden=(8,)).fit(X, LABELS)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (classifier(hidden=None), LABELS, r"hidden must be the widths of the hidden layers, such as \(50, 50\); got None"),
        (classifier(hidden="50"), LABELS, r"hidden must be the widths of the hidden layers, .* got '50'"),
        (classifier(hidden=8.0), LABELS, r"hidden must be the widths of the hidden layers, .* got 8\.0"),
        (classifier(hidden=True), LABELS, r"hidden must be a whole number of at least 1; got True"),
        (classifier(hidden=0), LABELS, r"hidden must be a whole number of at least 1; got 0"),
        (classifier(hidden=(4, "a")), LABELS, r"hidden must be a whole number of at least 1; got 'a'"),
        (classifier(learning_rate="a"), LABELS, r"learning_rate must be a number above 0; got 'a'"),
        (classifier(learning_rate=None), LABELS, r"learning_rate must be a number above 0; got None"),
        (classifier(learning_rate=np.nan), LABELS, r"learning_rate must be a number above 0; got nan"),
        (classifier(learning_rate=True), LABELS, r"learning_rate must be a number above 0; got True"),
        (classifier(weight_decay=-1), LABELS, r"weight_decay must be a number of at least 0; got -1"),
        (classifier(weight_decay="a"), LABELS, r"weight_decay must be a number of at least 0; got 'a'"),
        (classifier(prior_std="a"), LABELS, r"prior_std must be a number above 0; got 'a'"),
        (AnchoredEnsembleRegressor(noise_std="a"), NUMBERS, r"noise_std must be a number above 0; got 'a'"),
        (ConcreteDropoutClassifier(length_scale="a"), LABELS, r"length_scale must be a number above 0; got 'a'"),
        (BayesByBackpropClassifier(initial_std="a"), LABELS, r"initial_std must be a number above 0; got 'a'"),
        (BayesByBackpropClassifier(likelihood_weight=[1]), LABELS, r"likelihood_weight must be a number above 0; got \[1\]"),
        (BayesByBackpropClassifier(divergence_weight=-1), LABELS, r"divergence_weight \(if not 'per-sample'\) must be a number of at least 0; got -1"),
        (BayesByBackpropClassifier(prior=(1, 2)), LABELS, r"prior must be a standard deviation, three numbers"),
        (BayesByBackpropClassifier(prior=("a", 1, 2)), LABELS, r"prior must be a standard deviation, three numbers"),
        (BayesByBackpropClassifier(prior=True), LABELS, r"prior must be a standard deviation, three numbers"),
        (BayesByBackpropClassifier(prior=np.array([[0.5, 1, 2]])), LABELS, r"prior must be a standard deviation, three numbers"),
        (MCDropoutClassifier(hidden=()), LABELS, r"hidden=\(\) leaves MCDropoutClassifier nothing random"),
        (MCDropoutRegressor(hidden=[]), NUMBERS, r"hidden=\[\] leaves MCDropoutRegressor nothing random"),
        (classifier(), np.full(40, 2), r"y has one class, 2; a classifier"),
        (classifier(validation_fraction=0.5), np.arange(40) // 39, r"class 1 has one sample .*, so it cannot be in both"),
        (regressor(), NUMBERS * 1e300, r"y goes up to \d\.?\d*e\+300, whose squares are too large"),
    ],
)  # fmt: skip
def test_messages(model, y, message):
    with pytest.raises(CaveatError, match=message):
        model.fit(X, y)


def test_weights_without_a_hidden_layer_are_random_themselves():
    model = DropConnectClassifier(hidden=(), epochs=2, passes=4, rate=0.5, random_state=0)
    found = model.fit(X, LABELS).predict_distribution(X)
    assert np.ptp(found.probabilities, axis=0).max() > 0.01
    still = MCDropoutClassifier(**QUICK, rate=0.0, passes=4).fit(X, LABELS)
    assert still.predict_proba(X).shape == (40, 2)


@pytest.mark.parametrize(
    ("prior", "expected"),
    [
        (np.float32(2), GaussianPrior(2.0)),
        (np.int64(2), GaussianPrior(2.0)),
        (np.array([0.5, 1, 2]), ScaleMixturePrior(0.5, 1.0, 2.0)),
        ([0.5, np.float32(1), 2], ScaleMixturePrior(0.5, 1.0, 2.0)),
    ],
)
def test_priors_of_numpy(prior, expected):
    model = BayesByBackpropClassifier(prior=prior, passes=2, **QUICK).fit(X, LABELS)
    layers = list(stochastic_layers(model._network()))
    assert [layer.prior for layer in layers] == [expected, expected]


@pytest.mark.parametrize("standardize", [True, False])
def test_numbers_that_single_precision_cannot_hold(standardize):
    settings = {"module": partial(torch.nn.Linear, 3, 2), "standardize": standardize}
    model = classifier(**settings)
    message = r"X of sample 5 goes up to 1e\+300, too large for float32"
    large = X.copy()
    large[5, 1] = 1e300
    with pytest.raises(InvalidValueError, match=message):
        model.fit(large, LABELS)
    model.fit(X, LABELS)
    with pytest.raises(InvalidValueError, match=message):
        model.predict(large)
    with pytest.raises(InvalidValueError, match="too large for float32"):
        model.fit(np.where(X > 0, 1.7e308, X), LABELS)
    assert model.fit(X * 1e30, LABELS).predict(X * 1e30).shape == (40,)


# Modules whose second output is no standard deviation.


def pairs(last):
    return torch.nn.Sequential(torch.nn.Linear(3, 2), *last, torch.nn.Unflatten(1, (2, 1)))


class Below(torch.nn.Module):
    """Standard deviations, but for samples beyond a place, where they are negative."""

    def __init__(self, place, targets=1):
        super().__init__()
        self.line = torch.nn.Linear(3, targets)
        self.place = place

    def forward(self, x):
        mean = self.line(x)
        spread = torch.where(x[:, :1] < self.place, 1.0, -1.0).expand_as(mean)
        return torch.stack([mean, spread], dim=1)


ADVICE = "must be standard deviations, above 0: put softplus on it, or end with a head of caveat"


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (regressor(module=partial(Below, -100.0)), NUMBERS),
        (classifier(module=partial(Below, -100.0, 2), head="gaussian-logits"), LABELS),
    ],
)
def test_negative_deviations_are_found_before_the_training(model, y):
    with pytest.raises(InvalidValueError, match=f"negative standard deviation; .* {ADVICE}"):
        model.fit(X, y)


def test_negative_deviations_are_named_when_a_training_diverges():
    first = X[np.argsort(X[:, 0])]
    model = regressor(module=partial(Below, first[3, 0]))
    with pytest.raises(TrainingError, match=f"diverged.*lower the learning rate.* {ADVICE}"):
        model.fit(first, NUMBERS)
    with pytest.raises(TrainingError, match=r"scale the inputs$"):
        classifier(module=partial(torch.nn.Linear, 3, 2), learning_rate=1e38, epochs=20).fit(
            X * 1e10, LABELS
        )


def test_negative_deviations_are_named_in_a_prediction():
    model = regressor(module=partial(Below, 100.0)).fit(X, NUMBERS)
    assert model.predict_distribution(X).variance.min() > 0
    with pytest.raises(InvalidValueError, match=f"negative standard deviation; .* {ADVICE}"):
        model.predict(X + 1000)


def test_softplus_makes_standard_deviations():
    model = regressor(module=lambda: pairs([torch.nn.Softplus()])).fit(X, NUMBERS)
    assert model.predict_distribution(X).variance.min() > 0
    with pytest.raises(CaveatError, match=ADVICE):
        regressor(module=lambda: pairs([]), epochs=50).fit(X, NUMBERS)


def test_other_training_errors_are_passed_on(monkeypatch):
    from caveat import nn

    def full(*args, **options):
        raise TrainingError("not even one copy fits into memory")

    monkeypatch.setattr(nn, "train", full)
    with pytest.raises(TrainingError, match=r"^not even one copy fits into memory$"):
        regressor().fit(X, NUMBERS)


class Functional(torch.nn.Module):
    """Dropout that is no layer."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(3, 16)
        self.second = torch.nn.Linear(16, 2)

    def forward(self, x):
        hidden = torch.nn.functional.dropout(torch.relu(self.first(x)), 0.5, self.training)
        return self.second(hidden)


def test_a_seed_decides_the_noise_of_functions_of_torch():
    model = MCDropoutClassifier(module=Functional, epochs=3, passes=4, random_state=0)
    with torch.random.fork_rng(devices=[]):
        found = []
        for seed in (1, 2):
            torch.manual_seed(seed)
            before = torch.random.get_rng_state()
            found.append(model.fit(X, LABELS).predict_distribution(X))
            assert torch.equal(before, torch.random.get_rng_state())
    assert found[0] == found[1]
    assert np.ptp(found[0].probabilities, axis=0).max() > 0.01
    assert found[0] != model.set_params(random_state=1).fit(X, LABELS).predict_distribution(X)
