"""What uncertainty the estimators learn, on simulations whose truth is known.

Seeds are fixed. Ratios are compared over `SEEDS` data sets, each with a training of its own, and a
claim holds if it is three standard errors away from its opposite.
"""

import numpy as np
import pytest
from scipy.stats import binom

from caveat.estimators import (
    BatchEnsembleRegressor,
    BayesByBackpropRegressor,
    BootstrapRegressor,
    ConcreteDropoutRegressor,
    DeepEnsembleClassifier,
    DeepEnsembleRegressor,
    DropConnectRegressor,
    LaplaceRegressor,
    MAPClassifier,
    MAPRegressor,
    MCDropoutRegressor,
    Problem,
    QuantileNetworkRegressor,
    SWAGRegressor,
    fit_many,
)

SEEDS = 4
FEW, MANY = 32, 1024
STEPS = 640


def surface(X):
    return np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]


def table(samples, seed):
    rng = np.random.default_rng([seed, samples])
    X = rng.uniform(-1, 1, size=(samples, 4))
    return X, surface(X) + 0.2 * rng.normal(size=samples)


def epistemic_of(estimator):
    """Return logs of the epistemic variance, (sizes, places, seeds): among the data, and far away.

    Every training has the same number of steps, so that few data are not seen less often.
    """
    settings = {"hidden": (32,), "batch_size": FEW, "learning_rate": 0.01}
    problems = [
        Problem(*table(size, seed), random_state=seed, parameters={"epochs": STEPS * FEW // size})
        for size in (FEW, MANY)
        for seed in range(SEEDS)
    ]
    models = fit_many(estimator.set_params(**settings), problems)
    near = np.random.default_rng(7).uniform(-1, 1, size=(300, 4))
    far = 5 * near / np.linalg.norm(near, axis=1, keepdims=True)
    found = [
        [model.predict_distribution(X).decompose().epistemic.mean() for X in (near, far)]
        for model in models
    ]
    return np.log(np.array(found)).reshape(2, SEEDS, 2).transpose(0, 2, 1)


def surely_above(values, bound):
    return values.mean() - bound > 3 * values.std(ddof=1) / len(values) ** 0.5


ALL = {
    # A prior would pull all members to the same zero: from few data they then agree the more.
    "deep ensemble": DeepEnsembleRegressor(members=5, prior_std=None),
    "bootstrap": BootstrapRegressor(members=5, prior_std=None),
    "Bayes by backprop": BayesByBackpropRegressor(passes=30),
    "MC dropout": MCDropoutRegressor(rate=0.1, prior_std=None),
    "DropConnect": DropConnectRegressor(rate=0.1, prior_std=None),
    "batch ensemble": BatchEnsembleRegressor(members=16),
    "Laplace": LaplaceRegressor(),
    "SWAG": SWAGRegressor(),
}

HALF_WAY = np.log(MANY / FEW) / 2
"""The posterior variance of a model of fixed size falls like 1 / n, by the factor 32 from few to
many samples; a spread that does not follow the data stays. Half-way between lies the factor 5.7."""


@pytest.mark.parametrize("name", ALL)
def test_epistemic_uncertainty_grows_away_from_the_data_and_falls_with_their_number(name):
    few, many = epistemic_of(ALL[name])
    for near, far in (few, many):
        assert surely_above(far - near, 0.0)
    fallen = few[0] - many[0]
    if name in ("bootstrap", "Bayes by backprop"):
        assert surely_above(fallen, HALF_WAY)
    elif name in ("deep ensemble", "batch ensemble", "Laplace"):
        # Members see the same noise in the targets, and so agree on more than they know: what they
        # disagree about falls, but no law says how fast. The posterior of a last layer falls with
        # more samples, and rises as their features get larger.
        assert surely_above(fallen, 0.0)
    else:
        # A fixed rate is a fixed relative spread of the weights, however many data there are.
        assert surely_above(-fallen, -HALF_WAY)


def test_concrete_dropout_learns_a_lower_rate_from_more_data():
    problems = [
        Problem(*table(size, 0), random_state=0, parameters={"epochs": STEPS * FEW // size})
        for size in (FEW, MANY)
    ]
    estimator = ConcreteDropoutRegressor(hidden=(32,), batch_size=FEW, learning_rate=0.01)
    few, many = (
        model.predict_distribution(table(300, 1)[0]).decompose().epistemic.mean()
        for model in fit_many(estimator, problems)
    )
    assert many < few


def test_one_network_knows_of_no_epistemic_uncertainty():
    X, y = table(FEW, 0)
    model = MAPRegressor(epochs=5, random_state=0).fit(X, y)
    assert (model.predict_distribution(10 * X).decompose().epistemic == 0).all()


def spread(x):
    return 0.1 + 0.4 / (1 + np.exp(-4 * x))


def noisy(samples, seed):
    rng = np.random.default_rng([3, seed])
    x = rng.uniform(-2, 2, size=samples)
    return x[:, None], np.sin(2 * x) + spread(x) * rng.normal(size=samples)


@pytest.mark.parametrize(
    "estimator",
    [
        MAPRegressor(),
        DeepEnsembleRegressor(members=5),
        BootstrapRegressor(members=5),
        MCDropoutRegressor(rate=0.02),
        BayesByBackpropRegressor(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_noise_that_changes_with_the_input_is_recovered(estimator):
    # From m samples a standard deviation is known to 1 / sqrt(2 m). Of 2,000 samples some 100 tell
    # the noise at one place of a curve with twenty bends: 7 %. Twice that is accepted on average,
    # and twice that again of methods with random weights: the noise has to explain what they miss.
    X, y = noisy(2000, 0)
    settings = {"hidden": (32, 32), "epochs": 60, "batch_size": 64, "random_state": 0}
    model = estimator.set_params(**settings).fit(X, y)
    slack = 2 if isinstance(model, MCDropoutRegressor | BayesByBackpropRegressor) else 1
    places = np.linspace(-1.9, 1.9, 77)
    found = np.sqrt(model.predict_distribution(places[:, None]).decompose().aleatoric[:, 0])
    assert np.abs(found / spread(places) - 1).mean() < 0.14 * slack
    assert np.corrcoef(np.log(found), np.log(spread(places)))[0, 1] > 1 - 0.05 * slack
    # An interval of both parts covers what it says: 4,000 new samples, and 2 % for the fit, or 4.
    X, y = noisy(4000, 1)
    interval = model.predict_interval(X, 0.9)
    inside = ((interval.lower[:, 0] <= y) & (y <= interval.upper[:, 0])).mean()
    low, high = binom.ppf([0.001, 0.999], 4000, 0.9) / 4000
    assert low - 0.02 * slack < inside < high + 0.02 * slack


def test_quantiles_cover():
    # Each level covers its share of 4,000 new samples, up to binomial chance (1 in 1,000 at each
    # side) and 0.03 for the fit: the share below a quantile of 2,000 samples, fitted in some 20
    # places, is off by sqrt(0.25 / 100) = 0.05 at one place and by a fraction of that on average.
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    X, y = noisy(2000, 0)
    model = QuantileNetworkRegressor(
        levels=levels, prior_std=None, hidden=(32, 32), epochs=60, batch_size=64, random_state=0
    ).fit(X, y)
    X, y = noisy(4000, 1)
    values = model.predict_distribution(X).values[0, :, 0]
    for level, below in zip(levels, (y[:, None] <= values).mean(axis=0), strict=True):
        low, high = binom.ppf([0.001, 0.999], len(y), level) / len(y)
        assert low - 0.03 < below < high + 0.03
    # Noise that is wider to the right has wider intervals there, at the true places.
    true = np.sin(2 * X) + spread(X) * np.array([-1.6449, -0.6745, 0, 0.6745, 1.6449])
    assert np.abs(values - true).mean() < 0.25 * spread(X).mean()


@pytest.mark.parametrize("estimator", [MAPClassifier(), DeepEnsembleClassifier(members=3)])
def test_gaussian_logits_see_label_noise(estimator):
    # Three labels of ten are wrong where the second feature is positive, none elsewhere.
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, size=(1000, 2))
    wrong = (X[:, 1] > 0) & (rng.random(len(X)) < 0.3)
    y = (X[:, 0] > 0) ^ wrong
    settings = {"head": "gaussian-logits", "hidden": (32, 32), "epochs": 50, "random_state": 0}
    model = estimator.set_params(**settings).fit(X, y)
    places = np.stack(np.meshgrid([-0.8, -0.6, -0.4, 0.4, 0.6, 0.8], [-0.7, -0.5, 0.5, 0.7]), -1)
    places = places.reshape(-1, 2)
    noise = places[:, 1] > 0
    prediction = model.predict_distribution(places)
    split = prediction.decompose("information", random_state=0)
    entropy = -(0.3 * np.log(0.3) + 0.7 * np.log(0.7))
    # A probability of 0.7 known from 50 samples is off by 0.065, its entropy by 0.055.
    assert abs(split.aleatoric[noise].mean() - entropy) < 0.055
    assert split.aleatoric[~noise].mean() < 0.1
    logits = prediction.decompose("gaussian_logits", random_state=0)
    assert logits.aleatoric[noise].min() > logits.aleatoric[~noise].max()
