"""Intervals between groups hold the truth as often as they say, and equal groups show no gap."""

from collections import Counter
from functools import cache

import numpy as np
import pytest

import caveat
from caveat.fairness import _audit, audit
from caveat.results.judgments import Judgment

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
        ("equalized_odds", "y=0"): s * e / (s * e + (1 - s) * (1 - e)),
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


SECTION = "Fairness audits"
SHARES = {
    "2 groups": [0.5, 0.5],
    "4 groups": [0.25] * 4,
    "4 groups of 60/20/10/10 %": [0.6, 0.2, 0.1, 0.1],
    "6 groups": [1 / 6] * 6,
}
DESIGNS = [(name, size) for size in (500, 2000) for name in SHARES]
IDS = [f"{name}, {size}" for name, size in DESIGNS]
EQUAL_SETS = 300


def drawn(rng, name, size, gap=1.0, kind=""):
    """Groups that differ by chance alone, or of which the last has a higher rate or uncertainty.

    30 % are predicted positive and 20 % wrong; five members disagree by an epistemic uncertainty
    with a coefficient of variation of 1.
    """
    sizes = np.round(np.array(SHARES[name]) * size).astype(int)
    group = np.repeat(np.arange(len(sizes)), sizes)
    last = group == len(sizes) - 1
    chosen = rng.random(len(group)) < 0.3 * np.where(last & (kind == "point"), gap, 1)
    y = chosen ^ (rng.random(len(group)) < 0.2)
    wide = 0.05 * np.exp(0.25 * rng.normal(size=len(group)))
    wide *= np.sqrt(np.where(last & (kind == "epistemic"), gap, 1))
    p = np.where(chosen, 0.75, 0.25) + wide * rng.normal(size=(5, len(group)))
    return caveat.Categorical.from_binary(p.clip(0.01, 0.99)), y.astype(int), group


def audited(seed, name, size, **options):
    rng = np.random.default_rng([seed, size, len(name)])
    prediction, y, group = drawn(rng, name, size, **options)
    with pytest.MonkeyPatch.context() as patch:  # rows of single groups take most of the time
        patch.setattr(_audit, "group_rows", lambda *_: [])
        return audit(prediction, y, {"group": group}, resamples=300, random_state=seed)


@cache
def equal_groups(name, size):
    """Over many draws of equal groups: how often each interval holds 1 or 0, and what is claimed."""
    held, seen, claimed = Counter(), Counter(), Counter()
    for seed in range(EQUAL_SETS):
        result = audited(seed, name, size)
        known = [row for row in result if np.isfinite(row.low)]
        for row in known:
            key = row.kind, row.measure, row.statistic, row.comparison
            seen[key] += 1
            held[key] += row.low <= (row.kind == "ratio") <= row.high
        verdicts = {row.judgment for row in known}
        claimed["different"] += Judgment.DIFFERENT in verdicts
        claimed["gap"] += bool(
            verdicts & {Judgment.BEYOND, Judgment.GAP, Judgment.SMALL, Judgment.DIFFERENT}
        )
        claimed["beyond"] += Judgment.BEYOND in verdicts
    return {key: held[key] / seen[key] for key in seen}, claimed


@pytest.mark.parametrize(("name", "size"), DESIGNS, ids=IDS)
def test_single_intervals_allow_for_the_choice_of_the_pair(name, size, promise):
    coverage, _ = equal_groups(name, size)
    design = f"{name}, {size:,} samples, 95 % each"
    for kind in ("ratio", "difference"):
        found = [share for key, share in coverage.items() if key[0] == kind]
        seen = f"{min(found):.3f} to {max(found):.3f}"
        promise(SECTION, f"{kind} of one measure holds the truth", design, EQUAL_SETS, seen, "0.95")
        assert np.mean(found) > 0.94
        # Four standard errors of a share of 0.95 in 300 sets are 0.05; the lowest of some twenty.
        assert min(found) > 0.90


@pytest.mark.parametrize(("name", "size"), DESIGNS, ids=IDS)
def test_equal_groups_seldom_show_any_gap(name, size, promise):
    _, claimed = equal_groups(name, size)
    share = claimed["gap"] / EQUAL_SETS
    design = f"{name}, {size:,} samples, all measures"
    promise(SECTION, "some gap is claimed of equal groups", design, EQUAL_SETS, share, "<= 0.05")
    # Three standard errors of a share of 0.05 in 300 sets.
    assert share < 0.05 + 3 * np.sqrt(0.05 * 0.95 / EQUAL_SETS)
    assert claimed["beyond"] <= 0.02 * EQUAL_SETS


POWER_SETS = 100
MEASURES = {"point": "statistical_parity", "epistemic": "epistemic_uncertainty"}


@pytest.mark.parametrize("kind", MEASURES)
@pytest.mark.parametrize(
    ("name", "size", "least"),
    [("2 groups", 500, 0.6), ("2 groups", 2000, 0.95), ("4 groups", 2000, 0.8)],
)
def test_a_ratio_of_one_and_a_half_is_found(name, size, least, kind, promise):
    shown = beyond = 0
    for seed in range(POWER_SETS):
        result = audited(seed, name, size, gap=1.5, kind=kind)
        last = str(len(SHARES[name]) - 1)
        rows = result.select(measure=MEASURES[kind], kind="ratio", comparison="reference")
        verdicts = {row.judgment for row in rows if last in (row.group, row.reference)}
        shown += bool(verdicts & {Judgment.BEYOND, Judgment.GAP, Judgment.SMALL})
        beyond += Judgment.BEYOND in verdicts
    design = f"{name}, {size:,} samples, {MEASURES[kind].replace('_', ' ')}"
    shares = f"{shown / POWER_SETS:.2f} ({beyond / POWER_SETS:.2f} beyond the threshold)"
    promise(SECTION, "a ratio of 1.5 is shown to be a gap", design, POWER_SETS, shares, "high")
    assert shown >= least * POWER_SETS
