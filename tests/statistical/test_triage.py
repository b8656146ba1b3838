"""The promise of a triage, over many calibration sets whose population is known."""

import numpy as np
import pytest
from scipy.stats import binom

import caveat
from caveat.triage import TriagePolicy
from caveat.triage._sequence import Calibration, high_probability, mean_promise

REPEATS = 2000
POPULATION = 100_000
# A policy that keeps its promise just so is found out falsely once in ten thousand times.
FALSE_ALARM = 1e-4


def most_failures(confidence, repeats=REPEATS):
    return binom.ppf(1 - FALSE_ALARM, repeats, 1 - confidence)


def least_failures(confidence, repeats=REPEATS):
    """More than what a valid policy fails, beyond doubt: for those that are meant to fail."""
    return binom.ppf(1 - FALSE_ALARM**2, repeats, 1 - confidence)


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
    """All or nothing: two exact binomial tests, with an error rate just above the risk."""
    rng = np.random.default_rng(2)
    prediction = binary(np.full(200, 0.8))
    accepting = 0
    for seed in range(REPEATS):
        y = (rng.random(200) < rate).astype(int)
        policy = TriagePolicy(0.1, confidence=0.9, random_state=seed).fit(prediction, y)
        accepting += policy.threshold_ > -np.inf
    # One test of all samples, with its share of the error budget, and one of all but a tenth: the
    # starts before have the same threshold, so that their shares add up.
    last = 0.5 / 3
    tested, others = (np.arange(n + 1) for n in (180, 20))
    few = binom.cdf(tested, 180, 0.1) <= 0.1 * (1 - last) + 1e-12
    fewer = binom.cdf(tested[:, None] + others, 200, 0.1) <= 0.1 * last + 1e-12
    chance = binom.pmf(tested, 180, rate)[:, None] * binom.pmf(others, 20, rate)
    expected = chance[few[:, None] | fewer].sum()
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
    repeats = 500
    policy = TriagePolicy(0.05, confidence=0.9)

    def draw(size):
        top = top_of(rng, size, 16)
        return top, 0.25 + (top - 0.5)

    population, weight = draw(POPULATION)
    truth, failures, accepting = None, 0, 0
    for seed in range(repeats):
        top, w = draw(600)
        y = (rng.random(600) < rising(top)).astype(int)
        policy.set_params(random_state=seed).fit(binary(top), y, sample_weight=w)
        truth = truth or Truth(policy, binary(population), rising(population), weight)
        failures += truth.error(policy.threshold_) > 0.05
        accepting += policy.threshold_ > -np.inf
    assert failures <= most_failures(0.9, repeats)
    assert accepting > repeats / 2


class TestClusters:
    """Some subjects are hard to predict, and then every sample of theirs is likely to be wrong."""

    REPEATS = 500

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
        for seed in range(cls.REPEATS):
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
        assert failures <= most_failures(0.9, self.REPEATS)
        assert accepting > self.REPEATS / 4

    def test_it_does_not_if_samples_are_taken_for_independent(self):
        failures, _ = self.failures((10, 10), clustered=False)
        assert failures > least_failures(0.9, self.REPEATS)


def flat(rate):
    return lambda u: np.full(np.shape(u), rate)


def steps(*pairs):
    """Error rates that hold up to a share of the samples, the surest first."""
    ends, rates = np.array(pairs).T
    return lambda u: rates[np.searchsorted(ends, u)]


class Population:
    """Scores are uniform, so that a threshold is the share of samples that it accepts."""

    def __init__(self, wrong, cells=100_000):
        self.wrong = wrong
        self.share = np.arange(1, cells + 1) / cells
        self.rate = np.cumsum(wrong(self.share - 0.5 / cells)) / np.arange(1, cells + 1)

    def oracle(self, risk):
        """Return the largest share that could be accepted."""
        return self.share[self.rate <= risk + 1e-9].max(initial=0)

    def error(self, threshold):
        last = np.maximum(np.searchsorted(self.share, threshold) - 1, 0)
        return np.where(threshold > 0, self.rate[last], 0.0)

    def thresholds(self, samples, risk, repeats, seed, fit=high_probability):
        """Return the accepted share of each fit; 0 if nothing is accepted."""
        found = np.zeros(repeats)
        for i in range(repeats):
            rng = np.random.default_rng([seed, samples, i])
            score = rng.random(samples)
            wrong = rng.random(samples) < self.wrong(score)
            curve = fit(Calibration(score, wrong), "all", risk, 0.05, rng)
            found[i] = curve.threshold[curve.reached - 1] if curve.reached else 0.0
        return found


SHAPES = {
    "no error": flat(0.0),
    "0.8 % wrong everywhere": flat(0.008),
    "the surest tenth 10 % wrong, others 5 %": steps((0.1, 0.1), (1, 0.05)),
    "error rate rises to 45 %": lambda u: 0.45 * u**2,
    "fairly sure ones 30 % wrong, others 3 %": steps((0.1, 0.03), (0.16, 0.3), (1, 0.03)),
    "the surest wrong most often": lambda u: 0.14 * (1 - u) ** 4,
}


@pytest.mark.parametrize("samples", [100, 300, 2000])
def test_all_shapes_keep_the_promise(samples, promise):
    """Of 18 designs the worst one."""
    repeats = 300
    worst = 0
    for k, (_, wrong) in enumerate(SHAPES.items()):
        population = Population(wrong)
        for risk in (0.05, 0.1, 0.2):
            found = population.thresholds(samples, risk, repeats, seed=10 + k)
            worst = max(worst, int((population.error(found) > risk + 1e-9).sum()))
    # Each design keeps 5 %, and would be found out falsely once in ten thousand times.
    assert worst <= binom.ppf(1 - FALSE_ALARM, repeats, 0.05)
    promise(
        "Triage",
        "error rate of accepted above the risk",
        f"worst of 6 shapes x risk 0.05, 0.1, 0.2; n = {samples:,}",
        repeats,
        worst / repeats,
        "at most 0.05",
    )


# Error rates that are above the risk of 0.1 by little, or now and then: each threshold that passes
# is a mistake, and the first of them is not always the strictest.
HOSTILE = {
    "10.01 % wrong everywhere": flat(0.1001),
    "every second twentieth of the scores 20.02 % wrong": lambda u: np.where(
        (u * 20).astype(int) % 2 == 0, 0.2002, 0.0
    ),
    "above, below and above the risk among the surest": steps(
        (0.01, 0.12), (0.03, 0.08), (0.06, 0.13), (1, 0.105)
    ),
    "a fifth right, then 20 % wrong": steps((0.2, 0.0), (1, 0.2)),
}


@pytest.mark.parametrize("samples", [100, 300, 2000])
@pytest.mark.parametrize("shape", HOSTILE)
def test_hostile_shapes_keep_the_promise(shape, samples, promise):
    repeats = 1000
    population = Population(HOSTILE[shape])
    found = population.thresholds(samples, 0.1, repeats, seed=20)
    failures = int((population.error(found) > 0.1 + 1e-9).sum())
    assert failures <= binom.ppf(1 - FALSE_ALARM, repeats, 0.05)
    promise(
        "Triage",
        "error rate of accepted above the risk",
        f"{shape}; risk 0.1, n = {samples:,}",
        repeats,
        failures / repeats,
        "at most 0.05",
    )


POWER = [
    ("no error", 0.2, 0.99),
    ("0.8 % wrong everywhere", 0.05, 0.99),
    ("the surest tenth 10 % wrong, others 5 %", 0.2, 0.99),
    ("error rate rises to 45 %", 0.1, None),
    ("fairly sure ones 30 % wrong, others 3 %", 0.1, 0.99),
    ("the surest wrong most often", 0.05, 0.99),
]


@pytest.mark.parametrize("samples", [100, 300, 2000])
@pytest.mark.parametrize(("shape", "risk", "least"), POWER)
def test_accepted_share(shape, risk, least, samples, promise):
    """With 2,000 samples nearly all is accepted where all may be."""
    repeats = 400
    population = Population(SHAPES[shape])
    found = population.thresholds(samples, risk, repeats, seed=30)
    if samples == 2000 and least is not None:
        assert found.mean() >= least
    if shape == "no error":
        assert found.min() > 0
    promise(
        "Triage",
        "accepted share",
        f"{shape}; risk {risk}, n = {samples:,}",
        repeats,
        float(found.mean()),
        f"oracle {population.oracle(risk):.2f}",
    )


@pytest.mark.parametrize("samples", [100, 300, 2000])
@pytest.mark.parametrize(
    ("shape", "risk"),
    [("error rate rises to 45 %", 0.05), ("error rate rises to 45 %", 0.1), (None, 0.1)],
)
def test_mean_promise(shape, risk, samples, promise):
    """Conformal risk control keeps its own promise and breaks the other one."""
    repeats = 1000
    name = shape or "10.01 % wrong everywhere"
    population = Population((SHAPES | HOSTILE)[name])
    found = population.thresholds(samples, risk, repeats, seed=40, fit=mean_promise)
    error = population.error(found)
    # Four standard errors above: once in 30,000 times by chance.
    assert error.mean() <= risk + 4 * error.std() / np.sqrt(repeats)
    failures = int((error > risk + 1e-9).sum())
    assert failures > binom.ppf(1 - FALSE_ALARM, repeats, 0.05)
    design = f"{name}; risk {risk}, n = {samples:,}"
    promise(
        "Triage, mean promise",
        "mean error rate of accepted",
        design,
        repeats,
        float(error.mean()),
        f"at most {risk}",
    )
    promise(
        "Triage, mean promise",
        "error rate of accepted above the risk",
        design,
        repeats,
        failures / repeats,
        "not promised",
    )


class TestUnits:
    """Clusters and weights, near the boundary: an error rate just above the risk."""

    RISK = 0.1

    @classmethod
    def accepting(cls, draw, repeats, seed):
        count = 0
        for i in range(repeats):
            rng = np.random.default_rng([seed, i])
            curve = high_probability(draw(rng), "all", cls.RISK, 0.05, rng)
            count += curve.reached > 0
        return count

    @staticmethod
    def alike(rng, clusters=150):
        """All samples of a cluster are right, or all are wrong; their scores are alike too."""
        unit = np.repeat(np.arange(clusters), 6)
        score = 0.9 * rng.random(clusters)[unit] + 0.1 * rng.random(len(unit))
        return Calibration(score, (rng.random(clusters) < 0.1001)[unit], None, unit)

    @staticmethod
    def independent(rng, clusters=150):
        unit = np.repeat(np.arange(clusters), 6)
        return Calibration(rng.random(len(unit)), rng.random(len(unit)) < 0.1001, None, unit)

    @staticmethod
    def unequal(rng, clusters=200):
        """Large clusters are right, small ones are not: samples alone would look good."""
        size = rng.choice([1, 20], clusters)
        wrong = rng.random(clusters) < np.where(size == 1, 0.2002, 0.0)
        unit = np.repeat(np.arange(clusters), size)
        return Calibration(rng.random(len(unit)), wrong[unit], None, unit)

    @staticmethod
    def weighted(rng, samples=400):
        """Wrong samples stand for more than right ones: E[w e] / E[w] is 0.1001."""
        weight_right = 0.1
        rate = 0.1001 * weight_right / (1 - 0.1001 * (1 - weight_right))
        wrong = rng.random(samples) < rate
        return Calibration(rng.random(samples), wrong, np.where(wrong, 1.0, weight_right))

    @pytest.mark.parametrize("design", ["alike", "independent", "unequal", "weighted"])
    def test_promise(self, design, promise):
        repeats = 600
        failures = self.accepting(getattr(self, design), repeats, 50)
        assert failures <= binom.ppf(1 - FALSE_ALARM, repeats, 0.05)
        words = {
            "alike": "150 clusters of 6, all right or all wrong",
            "independent": "150 clusters of 6 that have nothing in common",
            "unequal": "200 clusters of 1 or 20, the small ones wrong more often",
            "weighted": "400 samples, the wrong ones with ten times the weight",
        }
        promise(
            "Triage",
            "error rate of accepted above the risk",
            f"{words[design]}; 10.01 % wrong, risk 0.1",
            repeats,
            failures / repeats,
            "at most 0.05",
        )

    @pytest.mark.parametrize(("clusters", "highest"), [(100, 0.1), (300, 0.15)])
    def test_betting_accepts_more_than_one_sample_of_each_cluster(self, clusters, highest, promise):
        repeats = 200
        population = Population(lambda u: highest * u)
        found = np.zeros((2, repeats))
        for i in range(repeats):
            rng = np.random.default_rng([60, clusters, i])
            unit = np.repeat(np.arange(clusters), 10)
            score = rng.random(len(unit))
            wrong = rng.random(len(unit)) < population.wrong(score)
            designs = (
                Calibration(score, wrong, None, unit),
                Calibration(score[::10], wrong[::10]),
            )
            for k, calibration in enumerate(designs):
                curve = high_probability(calibration, "all", 0.1, 0.05, rng)
                found[k, i] = curve.threshold[curve.reached - 1] if curve.reached else 0.0
        bets, one = found.mean(axis=1)
        # Paired over the same sets.
        assert (found[0] - found[1]).mean() > 3 * (found[0] - found[1]).std() / np.sqrt(repeats)
        promise(
            "Triage",
            "accepted share",
            f"{clusters} clusters of 10, errors rise to {100 * highest:.0f} %; risk 0.1 (one of each: "
            f"{one:.2f})",
            repeats,
            float(bets),
            f"oracle {population.oracle(0.1):.2f}",
        )
