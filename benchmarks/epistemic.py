"""Three checks of the epistemic uncertainty of every estimator, as a table with intervals.

1. Regression: the epistemic variance at new samples from the region of the data, from 32 and from 1,024
   samples. The slope of its logarithm over that of the number of samples is -1 for the posterior of a model
   of fixed size, and 0 for a spread that does not follow the data.
2. Regression: how many times larger the epistemic variance is at five times the norm.
3. Classes: the uncertainty disentanglement error (UDE) on Wine by the protocol of the published
   experiments; it is 0 if both kinds of uncertainty follow what they should, and nothing else.

All networks have one hidden layer of 50 units for numbers and the published (32, 32, 16) for Wine, and
every training of a regression takes the same number of steps. Means over data sets; intervals are 95 %
by Student's t over seeds (1, 2) and as the experiment gives them over repeats (3). ``docs/estimators.md``
keeps the result. Run with ``python benchmarks/epistemic.py`` (some ten minutes of one core).
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
from scipy.stats import t as student
from sklearn.datasets import load_wine

import caveat
from caveat import estimators
from caveat.estimators import Problem, fit_many

SIZES = (32, 1024)
STEPS, BATCH = 640, 32

METHODS = {
    "DeepEnsemble": {"members": 10},
    "Bootstrap": {"members": 10},
    "AnchoredEnsemble": {"members": 10},
    "BatchEnsemble": {"members": 16},
    "MCDropout": {},
    "ConcreteDropout": {},
    "DropConnect": {},
    "BayesByBackprop": {},
    "Flipout": {},
    "Laplace": {},
    "SWAG": {},
}


def table(samples, seed):
    """Return a surface of four columns with noise of 0.2."""
    rng = np.random.default_rng([seed, samples])
    X = rng.uniform(-1, 1, size=(samples, 4))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=samples)


def variances(name, options, seeds):
    """Return logs of the epistemic variance, (sizes, seeds, 2): among the data, and far away."""
    estimator = getattr(estimators, f"{name}Regressor")(
        hidden=(50,), batch_size=BATCH, learning_rate=0.01, device="cpu", **options
    )
    problems = [
        Problem(*table(size, seed), random_state=seed, parameters={"epochs": STEPS * BATCH // size})
        for size in SIZES
        for seed in range(seeds)
    ]
    near = np.random.default_rng(7).uniform(-1, 1, size=(300, 4))
    far = 5 * near / np.linalg.norm(near, axis=1, keepdims=True)
    found = [
        [model.predict_distribution(X).decompose().epistemic.mean() for X in (near, far)]
        for model in fit_many(estimator, problems)
    ]
    return np.log(np.array(found)).reshape(len(SIZES), seeds, 2)


def interval(values):
    """Return mean and half-width of a 95 % interval."""
    error = values.std(ddof=1) / len(values) ** 0.5
    return values.mean(), error * student.ppf(0.975, len(values) - 1)


def checks(name, options, seeds):
    """Return the slopes, and logs of the ratio far over near from the most samples, by seed."""
    logs = variances(name, options, seeds)
    x = np.log(SIZES) - np.log(SIZES).mean()
    return x @ logs[:, :, 0] / (x @ x), logs[-1, :, 1] - logs[-1, :, 0]


def wine(name, options, repeats):
    """Return the error on Wine by the split into information, with an interval over repeats."""
    X, y = load_wine(return_X_y=True)
    model = getattr(estimators, f"{name}Classifier")(
        hidden=(32, 32, 16), batch_size=128, learning_rate=1e-3, device="cpu", **options
    )
    protocol = caveat.experiments.Protocol(repeats=repeats)
    result = caveat.disentanglement_error(
        model, X, y, decomposition="information", protocol=protocol, random_state=0
    )
    return result.error()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    chosen = parser.parse_args()
    print("| method | slope over samples | far over near | UDE on Wine |")
    print("| --- | --- | --- | --- |")
    for name in chosen.methods:
        slopes, ratios = checks(name, METHODS[name], chosen.seeds)
        slope, ratio = interval(slopes), interval(ratios)
        low, high = (np.exp(ratio[0] + sign * ratio[1]) for sign in (-1, 1))
        error = wine(name, METHODS[name], chosen.repeats)
        print(
            f"| `{name}` | {slope[0]:.2f} ± {slope[1]:.2f} | {np.exp(ratio[0]):.1f} "
            f"({low:.1f} to {high:.1f}) | {error.value:.2f} "
            f"({error.low:.2f} to {error.high:.2f}) |",
            flush=True,
        )


if __name__ == "__main__":
    main()
