"""Comparisons and gaps between groups that were chosen by the data declare too much in 5 % at most."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

import caveat

SETS, RESAMPLES = 150, 300
METRICS = [
    "brier_loss",
    "negative_log_likelihood_loss",
    "roc_auc_score",
    "expected_calibration_error",
    "uncertainty_calibration_error",
]


def most(sets, share):
    """More than this many have a chance of one in ten thousand."""
    return binom.isf(1e-4, sets, share)


def equal_techniques(rng, number, samples, clusters):
    """Predictions that are off by noise of the same size, of rows or also of clusters."""
    cluster = None if clusters is None else np.repeat(np.arange(clusters), samples // clusters)
    size = samples if cluster is None else len(cluster)
    shared = 0.0 if cluster is None else rng.normal(size=clusters)[cluster]
    z = 1.5 * rng.normal(size=size) + shared
    y = (rng.random(size) < expit(z)).astype(int)
    made = {}
    for i in range(number):
        off = 0.5 * rng.normal(size=size)
        if cluster is not None:
            off = off + 0.5 * rng.normal(size=clusters)[cluster]
        made[f"technique {i}"] = caveat.Categorical.from_binary(expit(z + off))
    return made, y, cluster


@pytest.mark.parametrize(
    ("number", "samples", "clusters", "allowed"),
    # A bootstrap of five or eight clusters knows little of their tails.
    [(2, 300, None, 0.05), (5, 300, None, 0.05), (10, 300, None, 0.07), (2, 200, 5, 0.1), (2, 320, 8, 0.08), (2, 480, 12, 0.08)],
)  # fmt: skip
def test_equal_techniques_are_not_told_apart(promise, number, samples, clusters, allowed):
    told = dict.fromkeys(METRICS, 0)
    for seed in range(SETS):
        rng = np.random.default_rng([41, number, seed])
        made, y, cluster = equal_techniques(rng, number, samples, clusters)
        result = caveat.compare(
            made, y, cluster=cluster, metrics=METRICS, resamples=RESAMPLES, random_state=seed
        )
        for name in METRICS:
            told[name] += any(not row.tied for row in result.select(metric=name, group=""))
    rows = f"n = {samples}" if clusters is None else f"{clusters} clusters of 40"
    for name, count in told.items():
        design = f"{number} equal techniques, {rows}, by {name.replace('_', ' ')}"
        promise(
            "Comparisons", "no difference is declared", design, SETS, count / SETS, "at most 0.05"
        )
    assert max(told.values()) <= most(SETS, allowed)


@pytest.mark.parametrize("sharper", [1.0, 1.5])
def test_equal_techniques_by_the_calibration_of_entropy(promise, sharper):
    """At most 5 % and 3 standard errors; two calibrated or two over-confident techniques."""
    sets, told = 500, 0
    for seed in range(sets):
        rng = np.random.default_rng([47, seed])
        z = 1.5 * rng.normal(size=300)
        y = (rng.random(300) < expit(z)).astype(int)
        made = {
            name: caveat.Categorical.from_binary(expit(sharper * (z + 0.5 * rng.normal(size=300))))
            for name in ("one", "other")
        }
        result = caveat.compare(made, y, metrics=["uce"], resamples=RESAMPLES, random_state=seed)
        told += any(not row.tied for row in result.select(group=""))
    kind = "noisy" if sharper == 1 else "over-confident"
    promise(
        "Comparisons",
        "no difference is declared",
        f"2 equal {kind} techniques, n = 300, by uncertainty calibration error",
        sets,
        told / sets,
        "at most 0.05",
    )
    assert told / sets <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / sets)


@pytest.mark.parametrize("groups", [2, 6])
def test_equal_groups_have_no_gap(promise, groups):
    excluded = {}
    for seed in range(SETS):
        rng = np.random.default_rng([43, groups, seed])
        z = 1.5 * rng.normal(size=600)
        y = (rng.random(600) < expit(z)).astype(int)
        result = caveat.evaluate(
            caveat.Categorical.from_binary(expit(z)),
            y,
            groups={"site": rng.integers(0, groups, 600)},
            metrics=METRICS,
            resamples=RESAMPLES,
            random_state=seed,
        )
        for kind, equal in (("gap", 0), ("ratio", 1)):
            for row in result.select(group=f"site: {kind}"):
                key = row.metric, kind
                outside = not (np.isnan(row.low) or row.low <= equal <= row.high)
                excluded[key] = excluded.get(key, 0) + outside
    for (name, kind), count in excluded.items():
        design = f"{groups} equal groups of {600 // groups}, {name.replace('_', ' ')}"
        promise(
            "Gaps between groups",
            f"the {kind} holds no difference",
            design,
            SETS,
            count / SETS,
            "at most 0.05",
        )
    assert max(excluded.values()) <= most(SETS, 0.06)
