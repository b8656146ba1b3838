"""Results that the tests of charts share."""

from functools import cache

import numpy as np

import caveat

N = 400
CLASSES = ["ece", "uce", "vce", "accuracy_score", "auco", "error_detection_auroc_score"]
"""The metrics that charts of classes name."""


def evaluate(prediction, y, **options):
    return caveat.evaluate(prediction, y, **{"resamples": 0, "random_state": 0, **options})


def sampled(prediction, y, **options):
    return evaluate(prediction, y, **{"resamples": 20, **options})


def class_arrays(samples=N, classes=3, members=2, seed=0):
    """Probabilities of members, and codes drawn from their mean."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(classes, 0.6), size=(1, samples))
    p = 0.8 * p + 0.2 * rng.dirichlet(np.ones(classes), size=(members, samples))
    codes = (p.mean(axis=0).cumsum(axis=1) < rng.random((samples, 1))).sum(axis=1)
    return p, codes.clip(max=classes - 1)


def number_arrays(samples=N, members=2, seed=0):
    """Means and variances of members, (members, samples), and true values."""
    rng = np.random.default_rng(seed)
    std = np.exp(rng.normal(size=samples) / 2)
    mean = rng.normal(size=samples) + rng.normal(size=(members, samples)) * 0.4
    y = mean.mean(axis=0) + std * rng.normal(size=samples)
    return mean, np.tile(std**2, (members, 1)), y


def weights_and_clusters(samples=N, seed=1):
    rng = np.random.default_rng(seed)
    weight = rng.gamma(2.0, size=samples)
    weight[::17] = 0
    return weight, rng.integers(40, size=samples)


@cache
def classes(**options):
    p, codes = class_arrays()
    return sampled(
        caveat.Categorical(p), codes, groups={"sex": np.arange(N) % 2}, **options, metrics=CLASSES
    )


@cache
def weighted_classes():
    p, codes = class_arrays()
    weight, cluster = weights_and_clusters()
    return sampled(
        caveat.Categorical(p), codes, sample_weight=weight, cluster=cluster, metrics=CLASSES
    )


@cache
def numbers():
    mean, variance, y = number_arrays()
    prediction = caveat.Gaussian.from_members(mean, variance)
    return sampled(prediction, y, groups={"sex": np.arange(N) % 2})


@cache
def weighted_numbers():
    mean, variance, y = number_arrays()
    weight, cluster = weights_and_clusters()
    prediction = caveat.Gaussian.from_members(mean, variance)
    return sampled(prediction, y, sample_weight=weight, cluster=cluster)


def evaluate_wide():
    """Numbers with much larger errors than the others."""
    return evaluate(caveat.Gaussian(np.zeros(50), 1e4), np.arange(50.0) * 9)


@cache
def two_targets():
    first, second = number_arrays(seed=2), number_arrays(seed=3)
    mean, variance = (np.stack([a, b], axis=2) for a, b in zip(first[:2], second[:2], strict=True))
    y = np.stack([first[2], second[2]], axis=1)
    return sampled(caveat.Gaussian(mean, variance, targets=["sbp", "dbp"]), y)


@cache
def quantiles(levels=(0.05, 0.25, 0.5, 0.75, 0.95)):
    mean, variance, y = number_arrays(members=1)
    return sampled(caveat.Gaussian(mean[0], variance[0]).to_quantiles(levels), y)


@cache
def interval(infinite=False):
    mean, variance, y = number_arrays(members=1)
    half = 1.2 * np.sqrt(variance[0])
    upper = mean[0] + half
    if infinite:
        upper[3] = np.inf
    return sampled(caveat.Interval(mean[0] - half, upper, coverage=0.8), y)


@cache
def sets():
    p, codes = class_arrays()
    return sampled(caveat.PredictionSet(p.mean(axis=0) > 0.2, coverage=0.9), codes)


@cache
def logits():
    rng = np.random.default_rng(5)
    mean, variance = rng.normal(size=(2, N, 3)), rng.gamma(2.0, size=(2, N, 3))
    codes = rng.integers(3, size=N)
    return sampled(caveat.GaussianLogits(mean, variance), codes, metrics=CLASSES)


@cache
def probability_intervals():
    p, codes = class_arrays(classes=2, members=1)
    upper = np.minimum(p[0, :, 1] + 0.1, 1)
    return sampled(
        caveat.ProbabilityInterval.from_binary(p[0, :, 1], upper), codes, metrics=CLASSES
    )


@cache
def risks():
    """Probabilities of two classes, too extreme for one of two groups."""
    rng = np.random.default_rng(5)
    z, sex = 1.5 * rng.normal(size=N) - 1, np.where(np.arange(N) % 3, "f", "m")
    p = 1 / (1 + np.exp(-np.where(sex == "f", z, 2 * z + 1)))
    y = np.array(["well", "ill"])[(rng.random(N) < 1 / (1 + np.exp(-z))).astype(int)]
    weight, cluster = weights_and_clusters()
    return sampled(
        caveat.Categorical.from_binary(p, classes=["well", "ill"]), y, metrics=CLASSES,
        groups={"sex": sex, "ward": np.arange(N) % 9}, sample_weight=weight, cluster=cluster,
    )  # fmt: skip


@cache
def comparison():
    p, codes = class_arrays()
    sharp = p**3 / (p**3).sum(axis=2, keepdims=True)
    predictions = {"honest": caveat.Categorical(p), "_sure $x$": caveat.Categorical(sharp)}
    return caveat.compare(predictions, codes, resamples=50, random_state=0, metrics=CLASSES)


@cache
def trade_off():
    """Three techniques, one of which is worse in every way."""
    p, codes = class_arrays()
    flat = np.full_like(p, 1 / 3)
    predictions = {"a": p, "the second technique": 0.7 * p + 0.3 * flat, "$flat$": flat[:, ::-1]}
    predictions = {name: caveat.Categorical(values) for name, values in predictions.items()}
    return caveat.compare(predictions, codes, resamples=20, random_state=0)


@cache
def measures():
    p, codes = class_arrays()
    distances = [[0, 1, 3], [1, 0, 2], [3, 2, 0]]
    return caveat.compare_measures(
        caveat.Categorical(p), codes, distances=distances, resamples=20, random_state=0
    )


@cache
def explanation():
    p, _ = class_arrays()
    return caveat.explain_uncertainty(caveat.Categorical(p), [[0, 1, 3], [1, 0, 2], [3, 2, 0]])


@cache
def pixels():
    p, _ = class_arrays()
    return caveat.maps.PredictionMap(caveat.Categorical(p), (20, 20))


@cache
def embedded():
    rng = np.random.default_rng(0)
    X, p = rng.normal(size=(60, 4)), rng.dirichlet(np.ones(3), 60)
    return caveat.confusion.embed_samples(X, p, random_state=0)


ALL = {
    "classes": classes,
    "weighted classes": weighted_classes,
    "numbers": numbers,
    "weighted numbers": weighted_numbers,
    "two targets": two_targets,
    "quantiles": quantiles,
    "one-sided quantiles": lambda: quantiles((0.1, 0.2)),
    "interval": interval,
    "infinite interval": lambda: interval(True),
    "sets": sets,
    "logits": logits,
    "probability intervals": probability_intervals,
    "risks": risks,
}


@cache
def every_chart():
    """Return charts of every kind, by name, of plain results and of awkward ones."""
    from caveat import charts

    from . import (
        test_drift,
        test_experiments,
        test_fairness,
        test_flow_chart,
        test_repair_map,
        test_stream,
    )

    found = {}
    for name, make in ALL.items():
        for kind in charts.available(make()):
            for options in charts.CHARTS[kind].views(make()):
                words = " ".join(str(value) for value in options.values())
                found[f"{name}: {kind} {words}".strip()] = charts.chart(make(), kind, **options)
    few = dict(zip("ab", (classes(), weighted_classes()), strict=True))
    overlaid = {name: charts.reliability(result) for name, result in few.items()}
    others = {
        "actions": charts.split(classes(), actions=np.full(N, "accept")),
        "comparison": charts.comparison(comparison(), "ece"),
        "trade_off": charts.trade_off(trade_off()),
        "measure_ecdf": charts.measure_ecdf(measures(), "margin"),
        "confused": charts.confused(measures()),
        "near_misses": charts.near_misses(measures()),
        "kinds": charts.kinds(explanation()),
        "ratios": charts.ratios(test_fairness.RESULT),
        "ratios of targets": charts.ratios(test_fairness.NUMBERS),
        "distributions": charts.distributions(test_fairness.RESULT),
        "consistency": charts.consistency(test_fairness.alike()),
        "terms": charts.terms(test_experiments.two_decompositions()),
        "detection": charts.detection(test_experiments.detection(), by_class=True),
        "shift": charts.shift(test_experiments.shift()),
        "domain_shift": charts.domain_shift(test_experiments.domain(["ece", "accuracy"])),
        "operating_curve": charts.operating_curve(test_experiments.triage()),
        "overlay": charts.overlay(overlaid, "Read it."),
        "drift": charts.drift(test_drift.changed()),
        "drift of groups": charts.drift(test_drift.changed(), groups=True),
        "drift_distribution": charts.drift_distribution(test_drift.changed()),
        "history": charts.history(test_drift.weeks()),
        "history of the monitor": charts.history(test_drift.weeks(), "e-value"),
        "repair_map": charts.repair_map(test_repair_map.two_classes()),
        "flow_chart": charts.flow_chart(test_flow_chart.known()),
        "stream": charts.stream(test_stream.record()),
        "stream of a signal": charts.stream(test_stream.record(), signal=True),
    }
    size, noise = charts.sweeps(test_experiments.disentangled("good"))
    return found | others | {"sweep of size": size, "sweep of noise": noise}
