"""Techniques with the same binned error are told apart no more often than stated."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

import caveat
from caveat.metrics import METRICS, expected_calibration_error
from caveat.resampling import equal_errors, interval_of, make_plan, replicates

SETS, SAMPLES, RESAMPLES = 300, 1000, 300


def draw(rng, samples=SAMPLES):
    p = expit(rng.normal(0, 1.5, samples))
    return p, (rng.random(samples) < p).astype(int)


def too_sure(p):
    """Probabilities pushed to the ends."""
    return np.where(p > 0.5, p + (1 - p) / 4, 0.75 * p)


def blunt(error):
    """The base rate, missed by an error."""
    return lambda p: np.full(len(p), 0.5 + error)


def pairs(first, second):
    for seed in range(SETS):
        p, y = draw(np.random.default_rng([7, seed]))
        plan = make_plan(SAMPLES, resamples=RESAMPLES, random_state=seed)
        yield [
            replicates(METRICS["ece"], y, {"probabilities": make(p)}, plan)
            for make in (first, second)
        ]


def wins(first, second, told_apart):
    """How often each is said to have the smaller error."""
    found = [0, 0]
    for a, b in pairs(first, second):
        if told_apart(a, b):
            found[int(a.center > b.center)] += 1
    return found


def differ(a, b):
    return not equal_errors([a], [b])


def plain(a, b):
    interval = interval_of(a.center - b.center, a - b)
    return not interval.low <= 0 <= interval.high


# More than this many of the sets, for one side, have a chance of one in a thousand.
MOST = binom.isf(1e-3, SETS, 0.025)


def test_a_sharp_and_a_blunt_technique_that_are_both_calibrated():
    assert max(wins(lambda p: p, blunt(0.001), differ)) <= MOST


def test_plain_differences_prefer_the_blunt_one():
    assert wins(lambda p: p, blunt(0.001), plain)[1] > MOST


def test_techniques_that_are_wrong_by_the_same_amount():
    p, y = draw(np.random.default_rng(0), 4_000_000)
    error = expected_calibration_error(y, too_sure(p))
    assert error > 0.05
    assert max(wins(too_sure, blunt(error), differ)) <= MOST


@pytest.mark.parametrize("metric", ["ece", "ace"])
def test_a_real_difference_is_found(metric):
    found = 0
    for seed in range(40):
        p, y = draw(np.random.default_rng([8, seed]))
        sure = expit(2 * np.log(p / (1 - p)))
        made = {"as it is": p, "too sure": sure}
        result = caveat.compare(
            {name: caveat.Categorical.from_binary(q) for name, q in made.items()},
            y,
            metrics=[metric],
            resamples=RESAMPLES,
            random_state=seed,
        )
        (row,) = result.select(technique="too sure", group="")
        found += not row.tied
    assert found >= binom.ppf(1e-3, 40, 0.9)
