"""Intervals of calibration in the large, intercept and slope hold those of the population.

Log-odds of the truth are Gaussian, those of the prediction a line of them, so that the slope of the
population is known, and the two others follow by quadrature. With 200 data sets the share that
holds them is known to 0.015; 3.5 standard errors below 0.95 would be chance of one in four thousand.
"""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, roots_hermitenorm

from caveat.metrics import METRICS
from caveat.resampling import Prepared, confidence_interval, make_plan, replicates

SETS, RESAMPLES, SPREAD = 200, 300, 1.2
LEAST = 0.95 - 3.5 * np.sqrt(0.95 * 0.05 / SETS)
NAMES = ("calibration_in_the_large", "calibration_intercept", "calibration_slope")


def predicted(z, center, slope):
    """Log-odds whose calibration slope is ``slope``."""
    return center + (z - center) / slope


def population(center, slope):
    points, weight = roots_hermitenorm(80)
    weight = weight / weight.sum()
    z = center + SPREAD * points
    said, rate = predicted(z, center, slope), weight @ expit(z)
    intercept = brentq(lambda a: weight @ expit(a + said) - rate, -20, 20)
    return dict(zip(NAMES, (weight @ expit(said) - rate, intercept, slope), strict=True))


@pytest.mark.parametrize(
    ("samples", "center", "slope", "size"),
    [(100, -1.5, 1.0, 1), (300, -3.0, 1.0, 1), (300, -1.5, 0.6, 1), (600, 0.0, 1.5, 10)],
    ids=["few", "rare", "too extreme", "clusters"],
)
def test_intervals_hold_the_population(samples, center, slope, size, promise):
    truth, rng = population(center, slope), np.random.default_rng(samples + size)
    held = dict.fromkeys(NAMES, 0)
    for seed in range(SETS):
        z = np.repeat(center + SPREAD * rng.normal(size=samples // size), size)
        y = (rng.random(samples) < expit(z)).astype(int)
        p = expit(predicted(z, center, slope))
        cluster = np.arange(samples) // size if size > 1 else None
        plan = make_plan(samples, resamples=RESAMPLES, cluster=cluster, random_state=seed)
        given = Prepared(y, {"probabilities": p}, plan)
        for name in NAMES:
            metric = METRICS[name]
            value = metric.function(y, p)
            interval = confidence_interval(metric, value, replicates(metric, prepared=given))
            held[name] += interval.low <= truth[name] <= interval.high
    words = f"slope {slope:g}, log-odds around {center:g}, n = {samples}"
    words += f", clusters of {size}" if size > 1 else ""
    for name, count in held.items():
        promise(
            "Calibration of a risk (95 %)",
            name.replace("_", " "),
            words,
            SETS,
            count / SETS,
            "0.95",
        )
        assert count / SETS > LEAST, name
