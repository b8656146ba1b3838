"""Quantile forecasts of skewed outcomes: perfect ones are not accused, wrong ones are found."""

import numpy as np
import pytest
from scipy.stats import binom, norm

import caveat
from caveat.metrics import METRICS
from caveat.resampling import confidence_interval, make_plan, replicates

SETS = 300
LEVELS = {
    "seven levels, 0.05 to 0.95": (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95),
    "levels 0.1 and 0.9": (0.1, 0.9),
    "levels 0.1, 0.5 and 0.8": (0.1, 0.5, 0.8),
}
ASKED = ["interval_coverage", "quantile_coverage", "mae", "error_uncertainty_correlation"]
"""All that the verdict on quantiles reads."""


def lognormal(rng, samples, levels, shift=0.0):
    """Quantiles of lognormal outcomes, shifted by so many standard deviations of the logarithm."""
    mu, sigma = rng.normal(2, 0.3, samples), rng.uniform(0.4, 1, samples)
    y = np.exp(mu + sigma * rng.normal(size=samples))
    logs = mu[:, None] + sigma[:, None] * (shift + norm.ppf(levels))
    return caveat.Quantiles(levels, np.exp(logs)), y


def verdicts(samples, levels, seed, shift=0.0, sets=SETS):
    for i in range(sets):
        prediction, y = lognormal(np.random.default_rng([seed, i]), samples, levels, shift)
        yield caveat.evaluate(prediction, y, metrics=ASKED, resamples=200, random_state=i).verdict()


def most(share, sets=SETS):
    """More than this many of the sets would have a chance of 1 in 1000 (3.1 standard errors)."""
    return binom.ppf(0.999, sets, share)


@pytest.mark.parametrize("samples", [60, 300])
@pytest.mark.parametrize("design", LEVELS)
def test_perfect_skewed_forecasts_are_not_accused(design, samples, promise):
    found = verdicts(samples, LEVELS[design], 150 + samples)
    accused = sum(any(s.level == "bad" for s in statements) for statements in found)
    promise(
        "Verdicts",
        "of perfect skewed quantile forecasts, any statement is bad",
        f"lognormal, {design}, n = {samples}",
        SETS,
        accused / SETS,
        "at most 0.05",
    )
    assert accused <= most(0.05)


@pytest.mark.parametrize(("shift", "way"), [(-0.5, "low"), (0.5, "high")])
def test_shifted_forecasts_are_found_in_the_right_direction(shift, way, promise):
    sets = 100
    found = [
        v.statements[0].text
        for v in verdicts(300, LEVELS["seven levels, 0.05 to 0.95"], 151, shift, sets)
    ]
    named = sum(text.startswith(f"Its quantiles are too {way}") for text in found)
    other = {"low": "high", "high": "low"}[way]
    promise(
        "Verdicts",
        f"quantiles that are too {way} are called so",
        "lognormal, shifted by half a standard deviation, seven levels, n = 300",
        sets,
        named / sets,
        "at least 0.9",
    )
    assert named >= binom.ppf(0.001, sets, 0.9)
    assert not any(f"too {other}" in text for text in found)


@pytest.mark.parametrize("shift", [0.0, 0.2])
def test_interval_of_the_coverage_error(shift, promise):
    levels = np.array(LEVELS["seven levels, 0.05 to 0.95"])
    truth = np.abs(norm.cdf(norm.ppf(levels) + shift) - levels).mean()
    metric, held = METRICS["quantile_coverage_error"], 0
    for i in range(SETS):
        prediction, y = lognormal(np.random.default_rng([152, i]), 300, levels, shift)
        inputs = {"levels": levels, "values": prediction.values[0, :, 0]}
        found = replicates(metric, y, inputs, make_plan(300, resamples=400, random_state=i))
        interval = confidence_interval(metric, found.center, found)
        held += interval.low <= truth <= interval.high
    promise(
        "Intervals",
        "quantile coverage error",
        f"lognormal, seven levels, {'perfect' if shift == 0 else 'shifted by 0.2'}, n = 300",
        SETS,
        held / SETS,
        "at least 0.95",
    )
    assert held >= binom.ppf(0.001, SETS, 0.95)
