"""Intervals of ratios and differences between groups hold the truth as often as they say."""

from collections import Counter

import numpy as np
import pytest

import caveat
from caveat.fairness import audit

SETS = 300
SELECTED, WRONG = {"f": 0.3, "m": 0.5}, {"f": 0.2, "m": 0.1}


def rates(group):
    """The rates of a population whose predictions are wrong independently of what they say."""
    s, e = SELECTED[group], WRONG[group]
    found = s * (1 - e) / (s * (1 - e) + (1 - s) * e)
    return {
        ("statistical_parity", ""): s,
        ("equal_accuracy", ""): 1 - e,
        ("equal_opportunity", ""): found,
        ("false_negative_rate", ""): 1 - found,
        ("equalised_odds", "y=0"): s * e / (s * e + (1 - s) * (1 - e)),
    }


@pytest.fixture(scope="module")
def coverage():
    held, seen = Counter(), Counter()
    sex = np.repeat(["f", "m"], [60, 150])
    f, m = rates("f"), rates("m")
    for seed in range(SETS):
        rng = np.random.default_rng(seed)
        selected = rng.random(210) < np.where(sex == "f", SELECTED["f"], SELECTED["m"])
        y = selected ^ (rng.random(210) < np.where(sex == "f", WRONG["f"], WRONG["m"]))
        prediction = caveat.Categorical.from_binary(np.where(selected, 0.8, 0.2))
        result = audit(
            prediction, y.astype(int), sex, privileged="m", resamples=400, random_state=seed
        )
        for measure, statistic in f:
            for kind in ("ratio", "difference"):
                (row,) = result.select(measure=measure, kind=kind, statistic=statistic)
                a, b = f[measure, statistic], m[measure, statistic]
                truth = a / b if kind == "ratio" else a - b
                if np.isfinite(row.value):
                    seen[measure, kind] += 1
                    held[measure, kind] += row.low <= truth <= row.high
    return {key: held[key] / seen[key] for key in seen}


@pytest.mark.parametrize("kind", ["ratio", "difference"])
@pytest.mark.parametrize("measure", [name for name, _ in rates("f")])
def test_intervals_hold_the_truth(coverage, measure, kind):
    # Four standard errors of a share of 0.95 in 300 sets are 0.05; wider than promised is no fault.
    assert coverage[measure, kind] > 0.90
