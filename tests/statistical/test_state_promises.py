"""What 95 % intervals from merged states promise: 64 units, whatever the number of samples.

Each design has 400 data sets of 3,000 samples in three parts. Floors hold unless chance of one in
ten thousand (3.7 standard errors) says otherwise.
"""

import numpy as np
import pytest
from scipy.stats import binom

from caveat.metrics import METRICS

SETS, SAMPLES, MANY = 400, 3000, 1_000_000
SECTION = "Intervals from merged states (95 %)"


def classes(rng, samples, cluster=None):
    """Probabilities that are a little too sure; of clusters, some are sicker than they look."""
    z = 1.5 * rng.normal(size=samples)
    shift = 0.0 if cluster is None else 0.7 * rng.normal(size=cluster.max() + 1)[cluster]
    y = rng.random(samples) < 1 / (1 + np.exp(-z - shift))
    return y.astype(int), {"probabilities": 1 / (1 + np.exp(-1.3 * z))}


def numbers(rng, samples, cluster=None):
    spread = np.sqrt(rng.gamma(3.0, size=samples) / 3)
    shift = 0.0 if cluster is None else 0.5 * rng.normal(size=cluster.max() + 1)[cluster]
    y = spread * rng.normal(size=samples) + shift
    return y, {"mean": np.zeros(samples), "variance": 0.8 * spread**2}


CASES = [
    ("accuracy_score", classes),
    ("brier_loss", classes),
    ("roc_auc_score", classes),
    ("expected_calibration_error", classes),
    ("classwise_calibration_error", classes),
    ("root_mean_squared_error", numbers),
    ("gaussian_crps_loss", numbers),
    ("coverage_calibration_error", numbers),
]


@pytest.mark.parametrize("clustered", [False, True], ids=["rows", "clusters"])
@pytest.mark.parametrize(("name", "draw"), CASES, ids=[name for name, _ in CASES])
def test_states_hold_the_truth(name, draw, clustered, promise):
    metric = METRICS[name]
    seed = 700 + sum(map(ord, name)) + clustered
    rng = np.random.default_rng(seed)
    many = np.arange(MANY) // 10 if clustered else None
    y, inputs = draw(rng, MANY, many)
    truth = metric.function(y, *(inputs[key] for key in metric.inputs))
    cluster = np.arange(SAMPLES) // 10 if clustered else None
    held = 0
    for _ in range(SETS):
        y, inputs = draw(rng, SAMPLES, cluster)
        state = sum(
            metric.state(
                y[rows],
                *(inputs[key][rows] for key in metric.inputs),
                cluster=None if cluster is None else cluster[rows],
            )
            for rows in np.array_split(np.arange(SAMPLES), 3)
        )
        interval = metric.interval(state, resamples=300, random_state=rng)
        held += interval.low <= truth <= interval.high
    design = "clusters of 10" if clustered else "independent"
    promise(SECTION, name, design, SETS, held / SETS, ">= 0.93")
    assert held >= binom.ppf(1e-4, SETS, 0.93)
