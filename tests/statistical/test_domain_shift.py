"""Intervals of ratios and gaps between domains hold the truth as often as they say.

Both samples are drawn anew each time, of different sizes, from distributions whose means are known.
"""

import numpy as np
import pytest
from scipy import stats

import caveat
from caveat.experiments import domain_shift

DRAWS, CONFIDENCE = 400, 0.9
FEWEST = int(stats.binom.ppf(1e-4, DRAWS, CONFIDENCE))
MOST = int(stats.binom.ppf(1 - 1e-4, DRAWS, CONFIDENCE))


def numbers(rng, size, spread, noise):
    """Five members of spread ``spread``, a truth whose error is normal with variance ``noise``."""
    members = spread * rng.normal(size=(5, size, 1))
    y = members.mean(axis=0)[:, 0] + np.sqrt(noise) * rng.normal(size=size)
    return caveat.Gaussian(members, np.full_like(members, noise)), y


def classes(rng, size, right):
    """Class 1 is always predicted, and right that often."""
    p = np.clip(0.75 + 0.2 * rng.normal(size=(3, size)), 0.55, 0.95)
    return caveat.Categorical.from_binary(p), (rng.random(size) < right).astype(int)


def covered(draw, truth):
    """Return in how many draws the interval of each quantity holds its truth."""
    rng = np.random.default_rng(7)
    hits = dict.fromkeys(truth, 0)
    for seed in range(DRAWS):
        (inside, y_in), (outside, y_out) = draw(rng)
        result = domain_shift(
            inside, y_in, outside, y_out, metrics=["mae", "accuracy"], resamples=300,
            confidence=CONFIDENCE, random_state=seed,
        )  # fmt: skip
        ends = {}
        for row in result:
            ends["ratio", row.quantity] = row.ratio_low, row.ratio_high
            ends["gap", row.quantity] = row.gap_low, row.gap_high
        for growth in result.growth:
            ends["growth", growth.question] = growth.low, growth.high
        for key, value in truth.items():
            hits[key] += ends[key][0] <= value <= ends[key][1]
    return hits


def check(hits):
    for key, count in hits.items():
        assert FEWEST <= count <= MOST, (key, count)


@pytest.mark.parametrize("sizes", [(120, 300), (300, 60)])
def test_numbers(sizes):
    spread, noise = (1.0, 1.5), (1.0, 4.0)
    half_normal = np.sqrt(2 / np.pi)
    truth = {
        ("ratio", "mean_absolute_error"): 2.0,
        ("gap", "mean_absolute_error"): half_normal * (2.0 - 1.0),
        # The variance of five members is 4/5 of that they are drawn with.
        ("ratio", "epistemic"): 2.25,
        ("gap", "epistemic"): 0.8 * (2.25 - 1),
        ("growth", "does epistemic uncertainty grow more than aleatoric?"): 2.25 / 4,
        ("growth", "does total uncertainty grow as much as the error?"):
            ((0.8 * 2.25 + 4) / (0.8 + 1)) / 4,
    }  # fmt: skip
    check(
        covered(
            lambda rng: [
                numbers(rng, size, s, n) for size, s, n in zip(sizes, spread, noise, strict=True)
            ],
            truth,
        )
    )


def test_classes():
    truth = {("ratio", "accuracy_score"): 0.6 / 0.8, ("gap", "accuracy_score"): 0.6 - 0.8}
    check(covered(lambda rng: [classes(rng, 150, 0.8), classes(rng, 250, 0.6)], truth))
