"""The promise of a triage, over many calibration sets whose population is known."""

import numpy as np
import pytest
from scipy.stats import binom

import caveat
from caveat.evaluation.triage import TriagePolicy

REPEATS = 2000
POPULATION = 100_000
# A policy that keeps its promise just so is found out falsely once in ten thousand times.
FALSE_ALARM = 1e-4


def most_failures(confidence):
    return binom.ppf(1 - FALSE_ALARM, REPEATS, 1 - confidence)


def least_failures(confidence):
    """More than what a valid policy fails, beyond doubt: for those that are meant to fail."""
    return binom.ppf(1 - FALSE_ALARM**2, REPEATS, 1 - confidence)


class Truth:
    """The error rate of accepted samples in the population, for any threshold."""

    def __init__(self, policy, prediction, probability, weight=None):
        scores = policy.decide(prediction).scores
        weight = np.ones(len(scores)) if weight is None else weight
        order = np.argsort(scores, kind="stable")
        self.scores = scores[order]
        self.mass = np.cumsum(weight[order])
        self.loss = np.cumsum((weight * probability)[order])

    def error(self, threshold):
        last = np.searchsorted(self.scores, threshold, side="right") - 1
        return self.loss[last] / self.mass[last] if last >= 0 else 0.0


def binary(top):
    """Predict the first of two classes with the probability ``top``, above one half."""
    return caveat.Categorical.from_binary(1 - top)


def rising(top):
    return 0.45 * (2 * (1 - top)) ** 2


def falling_back(top):
    """Most wrong when fairly sure: more uncertain samples bring the error rate down again."""
    unsure = 2 * (1 - top)
    return np.where((unsure > 0.2) & (unsure < 0.32), 0.3, 0.03)


def surest_wrong(top):
    """The score is worse than useless: the surest samples are wrong most often."""
    return 0.14 * top**4


def top_of(rng, size, decimals):
    return np.round(0.5 + 0.499 * rng.random(size), decimals)


CLASSIFICATION = [
    (rising, 16, 0.05, 400),
    (rising, 2, 0.05, 400),
    (rising, 1, 0.1, 300),
    (falling_back, 16, 0.05, 1000),
    (surest_wrong, 16, 0.1, 300),
]


@pytest.mark.parametrize(("wrong", "decimals", "risk", "samples"), CLASSIFICATION)
def test_classification(wrong, decimals, risk, samples):
    rng = np.random.default_rng(1)
    policy = TriagePolicy(risk, confidence=0.9, random_state=0)
    truth, failures, accepting = None, 0, 0
    population = top_of(rng, POPULATION, decimals)
    for seed in range(REPEATS):
        top = top_of(rng, samples, decimals)
        y = (rng.random(samples) < wrong(top)).astype(int)
        policy.set_params(random_state=seed).fit(binary(top), y)
        truth = truth or Truth(policy, binary(population), wrong(population))
        failures += truth.error(policy.threshold_) > risk
        accepting += policy.threshold_ > -np.inf
    assert failures <= most_failures(0.9)
    assert accepting > failures or wrong is surest_wrong


@pytest.mark.parametrize(("rate", "allowed"), [(0.1001, 0.1), (0.02, 1.0)])
def test_constant_scores(rate, allowed):
    """All or nothing: the exact binomial test, with an error rate just above the risk."""
    rng = np.random.default_rng(2)
    prediction = binary(np.full(200, 0.8))
    accepting = 0
    for seed in range(REPEATS):
        y = (rng.random(200) < rate).astype(int)
        policy = TriagePolicy(0.1, confidence=0.9, random_state=seed).fit(prediction, y)
        accepting += policy.threshold_ > -np.inf
    tested = 200 - 20
    errors = np.arange(tested + 1)
    passing = errors[binom.cdf(errors, tested, 0.1) <= 0.1 + 1e-12].max()
    expected = binom.cdf(passing, tested, rate)  # the level that the discrete test attains
    assert expected <= allowed
    low, high = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], REPEATS, expected)
    assert low <= accepting <= high


def test_given_thresholds_use_every_sample():
    rng = np.random.default_rng(3)
    policy = TriagePolicy(0.05, confidence=0.9, points=np.linspace(0.2, 0.69, 30))
    population = top_of(rng, POPULATION, 16)
    truth, failures = None, 0
    for _ in range(REPEATS):
        top = top_of(rng, 400, 16)
        policy.fit(binary(top), (rng.random(400) < rising(top)).astype(int))
        truth = truth or Truth(policy, binary(population), rising(population))
        failures += truth.error(policy.threshold_) > 0.05
    assert policy.curve_.accepted[-1] > 360
    assert failures <= most_failures(0.9)


def test_regression():
    """Two targets, with variances that are too small, and a tolerance for each."""
    from scipy.special import erf

    rng = np.random.default_rng(4)
    tolerance = np.array([1.0, 3.0])

    def variance(size):
        return np.exp(rng.normal(-2.2, 0.9, (size, 2))) * tolerance**2

    def wrong(values):
        inside = erf(tolerance / np.sqrt(2 * 1.5 * values))
        return 1 - inside.prod(axis=1)

    policy = TriagePolicy(0.05, tolerance=tolerance)
    population = variance(POPULATION)
    truth, failures, accepting = None, 0, 0
    for seed in range(REPEATS):
        values = variance(400)
        y = rng.normal(size=(400, 2)) * np.sqrt(1.5 * values)
        policy.set_params(random_state=seed).fit(caveat.Gaussian(np.zeros((400, 2)), values), y)
        if truth is None:
            everyone = caveat.Gaussian(np.zeros((POPULATION, 2)), population)
            truth = Truth(policy, everyone, wrong(population))
        failures += truth.error(policy.threshold_) > 0.05
        accepting += policy.threshold_ > -np.inf
    assert failures <= most_failures(0.95)
    assert accepting > REPEATS / 2


def test_weights():
    """The calibration samples over-represent the uncertain ones; the weights say by how much."""
    rng = np.random.default_rng(5)
    policy = TriagePolicy(0.05, confidence=0.9)

    def draw(size):
        top = top_of(rng, size, 16)
        return top, 0.25 + (top - 0.5)

    population, weight = draw(POPULATION)
    truth, failures, accepting = None, 0, 0
    for seed in range(REPEATS):
        top, w = draw(600)
        y = (rng.random(600) < rising(top)).astype(int)
        policy.set_params(random_state=seed).fit(binary(top), y, sample_weight=w)
        truth = truth or Truth(policy, binary(population), rising(population), weight)
        failures += truth.error(policy.threshold_) > 0.05
        accepting += policy.threshold_ > -np.inf
    assert failures <= most_failures(0.9)
    assert accepting > REPEATS / 2


class TestClusters:
    """Some subjects are hard to predict, and then every sample of theirs is likely to be wrong."""

    @staticmethod
    def subjects(rng, number, sizes):
        size = rng.integers(*sizes, number, endpoint=True)
        hard = rng.random(number) < 0.25
        # Who is hard has more samples, on average, if sizes differ.
        size = np.where(hard & (sizes[0] < sizes[1]), sizes[1], size)
        subject = np.repeat(np.arange(number), size)
        # The scores of a subject resemble each other too.
        top = 0.5 + 0.499 * (0.8 * rng.random(number)[subject] + 0.2 * rng.random(len(subject)))
        wrong = np.where(hard[subject], 1.8, 0.05) * rising(top)
        return subject, top, wrong, 1 / size[subject]

    @classmethod
    def failures(cls, sizes, clustered):
        rng = np.random.default_rng(6)
        policy = TriagePolicy(0.05, confidence=0.9)
        _, population, probability, share = cls.subjects(rng, POPULATION // 10, sizes)
        truth, failures, accepting = None, 0, 0
        for seed in range(REPEATS):
            subject, top, wrong, _ = cls.subjects(rng, 400, sizes)
            y = (rng.random(len(top)) < wrong).astype(int)
            policy.set_params(random_state=seed)
            policy.fit(binary(top), y, cluster=subject if clustered else None)
            truth = truth or Truth(policy, binary(population), probability, share)
            failures += truth.error(policy.threshold_) > 0.05
            accepting += policy.threshold_ > -np.inf
        return failures, accepting

    @pytest.mark.parametrize("sizes", [(10, 10), (1, 20)])
    def test_promise_holds_for_subjects(self, sizes):
        failures, accepting = self.failures(sizes, clustered=True)
        assert failures <= most_failures(0.9)
        assert accepting > REPEATS / 4

    def test_it_does_not_if_samples_are_taken_for_independent(self):
        failures, _ = self.failures((10, 10), clustered=False)
        assert failures > least_failures(0.9)
