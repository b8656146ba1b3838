"""False alarms and power of the exchangeability tests over many simulated pairs of samples.

Under exchangeability a p-value is at most t with a probability of at most t; of R independent pairs
the number of alarms is binomial. A test allows four standard errors. Seeds are fixed.
"""

import math

import numpy as np
import pytest
from scipy.stats import f, norm, ttest_ind

from caveat import exchangeability_test

SETS = 1500
SECTION = "Exchangeability"
LEVELS = (0.01, 0.05, 0.1)
RESAMPLES = 199  # so that every level is a possible p-value, and the rate of alarms exact


def p_values(draw, seed, sets=SETS, **options):
    rng = np.random.default_rng(seed)
    return np.array(
        [exchangeability_test(*draw(rng), random_state=rng, **options).p_value for _ in range(sets)]
    )


def error(level, sets=SETS):
    return 4 * math.sqrt(level * (1 - level) / sets)


ALIKE = {
    "scores, 60 and 30": lambda rng: (rng.exponential(size=60), rng.exponential(size=30)),
    "scores with ties, 60 and 30": lambda rng: (
        rng.integers(4, size=60).astype(float), rng.integers(4, size=30).astype(float)
    ),
    "scores, 100 and 400": lambda rng: (rng.normal(size=100), rng.normal(size=400)),
    "three inputs, 40 and 40": lambda rng: (
        rng.standard_t(3, size=(40, 3)), rng.standard_t(3, size=(40, 3))
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ALIKE)
def test_false_alarms_of_permutations(name, promise):
    found = p_values(ALIKE[name], 0, resamples=RESAMPLES)
    for level in LEVELS:
        rate = np.mean(found <= level + 1e-12)
        # Ties of the statistic count as reaching it, so they can only lower the rate.
        exact = "ties" not in name
        promise(
            SECTION, f"permutation test alarms in {level:.0%} of cases without a shift", name, SETS,
            rate, f"{level:.3f}" if exact else f"at most {level:.3f}",
        )  # fmt: skip
        assert rate < level + error(level)
        assert rate > (level - error(level) if exact else 0.0)


@pytest.mark.parametrize("name", list(ALIKE)[:3])
def test_false_alarms_of_martingales(name, promise):
    found = p_values(ALIKE[name], 1, method="martingale")
    for level in LEVELS:
        rate = np.mean(found <= level)
        promise(
            SECTION, f"martingale alarms in {level:.0%} of cases without a shift, at any time", name,
            SETS, rate, f"at most {level:.3f}",
        )  # fmt: skip
        assert rate < level + error(level)


def test_false_alarms_without_a_martingale_of_its_own(promise):
    # Why the order may be watched: a permutation test that is repeated as samples come alarms more.
    rng = np.random.default_rng(2)
    sets, alarms = 300, 0
    for _ in range(sets):
        first, second = rng.normal(size=50), rng.normal(size=60)
        alarms += any(
            exchangeability_test(first, second[:n], resamples=99, random_state=rng).p_value <= 0.05
            for n in (10, 20, 30, 40, 50, 60)
        )
    promise(
        SECTION, "permutation test alarms in 5% of cases without a shift",
        "asked six times as samples come (not promised)", sets, alarms / sets, "above 0.050",
    )  # fmt: skip
    assert alarms / sets > 0.05 + error(0.05, sets)


SHIFTED = {
    "mean moved by 0.5 deviations, 100 and 100": lambda rng: (
        rng.normal(size=100), rng.normal(0.5, size=100)
    ),
    "deviation doubled, 100 and 100": lambda rng: (
        rng.normal(size=100), rng.normal(scale=2.0, size=100)
    ),
    "drift by 2 deviations along 200 samples, after 100": lambda rng: (
        rng.normal(size=100), rng.normal(size=200) + np.linspace(0, 2, 200)
    ),
}  # fmt: skip
# The best tests that know what kind of shift to look for, and how far below them ours may be.
BEST = {
    "mean moved by 0.5 deviations, 100 and 100": lambda x, y: ttest_ind(x, y).pvalue,
    "deviation doubled, 100 and 100": lambda x, y: (
        2 * f.sf(max(a := y.var() / x.var(), 1 / a), 99, 99)
    ),
    "drift by 2 deviations along 200 samples, after 100": lambda x, y: ttest_ind(x, y).pvalue,
}
LOSS = {"permutation": 0.1, "martingale": 0.5}


@pytest.mark.parametrize("name", SHIFTED)
def test_power(name, promise):
    sets = 300
    rng = np.random.default_rng(3)
    best = np.mean([BEST[name](*SHIFTED[name](rng)) <= 0.05 for _ in range(sets)])
    for method in ("permutation", "martingale"):
        options = {"resamples": RESAMPLES} if method == "permutation" else {}
        rate = np.mean(p_values(SHIFTED[name], 3, sets, method=method, **options) <= 0.05)
        promise(
            SECTION, f"{method}{' test' if method == 'permutation' else ''} at 5% finds a shift",
            name, sets, float(rate), f"not promised; a test for this shift: {best:.3f}",
        )  # fmt: skip
        assert rate > best - LOSS[method]


SEGMENTS = 30
PEOPLE = 400  # pairs of sets


def of_people(rng, people, coverage, alike=0.5):
    """Errors of new people, calibration and test; 90 % intervals cover so many of the test errors.

    Half of the variance is between people, so that segments of one person are alike.
    """
    wider = norm.ppf(0.95) / norm.ppf((1 + coverage) / 2)
    for scale in (1.0, wider):
        own = np.sqrt(alike) * rng.normal(size=(people, 1))
        noise = np.sqrt(1 - alike) * rng.normal(size=(people, SEGMENTS))
        yield np.abs(scale * (own + noise))


@pytest.fixture(scope="module")
def people():
    """What is covered, and whether the test fires at 0.05 by samples and by people."""
    found = {}
    for count in (5, 10, 20, 40):
        names = np.repeat(np.arange(count), SEGMENTS)
        for coverage in (0.9, 0.8, 0.7):
            rng = np.random.default_rng(100 * count + int(10 * coverage))
            rows = []
            for _ in range(PEOPLE if coverage == 0.9 else 200):
                first, second = of_people(rng, count, coverage)
                options = {"resamples": RESAMPLES, "random_state": rng}
                pair = first.ravel(), second.ravel()
                by_sample = exchangeability_test(*pair, **options).p_value
                by_person = exchangeability_test(
                    *pair, cluster=(names, names + count), **options
                ).p_value
                means = ttest_ind(first.mean(axis=1), second.mean(axis=1)).pvalue
                covered = np.mean(second <= np.quantile(first, 0.9))
                rows.append((covered, by_sample <= 0.05, by_person <= 0.05, means <= 0.05))
            found[count, coverage] = np.array(rows)
    return found


def design(count, coverage):
    words = "no shift" if coverage == 0.9 else f"90 % intervals cover {coverage:.0%} of new people"
    return f"{count} and {count} people of {SEGMENTS} segments, {words}"


@pytest.mark.parametrize("count", [5, 10, 20, 40])
def test_false_alarms_by_people(people, count, promise):
    rate = people[count, 0.9][:, 2].mean()
    promise(
        SECTION, "by people, the test alarms in 5% of cases without a shift", design(count, 0.9),
        PEOPLE, rate, "0.050",
    )  # fmt: skip
    assert abs(rate - 0.05) < error(0.05, PEOPLE)


@pytest.mark.parametrize("count", [5, 10, 20, 40])
def test_power_by_people_is_that_of_a_t_test_of_their_means(people, count, promise):
    for coverage in (0.8, 0.7):
        rows = people[count, coverage]
        power, reference = rows[:, 2].mean(), rows[:, 3].mean()
        promise(
            SECTION, "by people, the test finds a shift (at 0.05)", design(count, coverage),
            len(rows), power, "reported",
        )  # fmt: skip
        # Both see the same sets; 4 standard errors of the difference of two shares, at most.
        assert power > reference - 4 * math.sqrt(0.5 / len(rows))


@pytest.mark.parametrize("count", [5, 10, 20, 40])
def test_by_samples_it_fires_where_coverage_fails(people, count, promise):
    """Whatever the reason: a shift of all people, or the chance of who was drawn."""
    rows = np.concatenate([people[count, coverage] for coverage in (0.9, 0.8, 0.7)])
    # Both samples vary; among exchangeable ones one set in a thousand is off by so much.
    spread = math.sqrt(2 * 0.09 / (count * SEGMENTS))
    far = np.abs(rows[:, 0] - 0.9) > 3.3 * spread
    fired = rows[far, 1].mean()
    promise(
        SECTION, "by samples, the test finds failed coverage (at 0.05)",
        f"{count} and {count} people of {SEGMENTS} segments, with and without a shift",
        int(far.sum()), fired, "0.95 or more",
    )  # fmt: skip
    assert far.mean() > 0.2
    assert fired > 0.95
