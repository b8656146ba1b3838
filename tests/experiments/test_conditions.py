"""Subsets and noise: nested, stratified, and functions of the seed alone."""

import numpy as np
import pytest

from caveat.experiments import Protocol
from caveat.experiments.conditions import (
    TEST,
    TRAIN,
    Condition,
    Draws,
    conditions_of,
    rows_of,
    strata_of,
    subset_size,
)

Y = np.repeat([0, 1, 2], [90, 45, 15])
SIZES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1)


def rows(size, y=Y, repeat=0, root=3, task="classification"):
    found = rows_of(Condition("size", size, 0, repeat), y, task, Draws(root))
    return np.arange(len(y)) if found is None else found


@pytest.mark.parametrize("repeat", range(5))
def test_subsets_are_nested_stratified_and_have_every_class(repeat):
    before = np.array([], dtype=int)
    for size in SIZES:
        now = rows(size, repeat=repeat)
        assert len(now) == max(3, int(size * 150 + 0.5)) == len(set(now))
        assert set(before) <= set(now)
        counts = np.bincount(Y[now], minlength=3)
        assert counts.min() >= 1
        quota = len(now) * np.array([0.6, 0.3, 0.1])
        if quota.min() >= 1:
            assert (np.abs(counts - quota) <= 1).all()
        before = now
    assert rows_of(Condition("noise", 0.3, 0, repeat), Y, "classification", Draws(3)) is None


def test_each_sample_is_as_likely_as_another_of_its_class():
    hits = np.zeros(150)
    for root in range(400):
        hits[rows(0.2, root=root)] += 1
    # 30 of 150: binomial with 400 draws and a share of 0.2, of which 5 deviations are allowed.
    assert np.abs(hits - 80).max() < 5 * np.sqrt(400 * 0.2 * 0.8)


def test_numbers_are_stratified_by_quantiles():
    y = np.random.default_rng(0).lognormal(size=200)
    strata = strata_of(y, "regression")
    assert np.bincount(strata).tolist() == [20] * 10
    assert all(y[strata == i].max() <= y[strata == i + 1].min() for i in range(9))
    before = set()
    for size in (0.001, 0.05, 0.1, 0.5, 1):
        now = rows(size, y, task="regression")
        assert len(now) == max(2, round(size * 200))
        assert before <= set(now)
        counts = np.bincount(strata[now], minlength=10)
        assert np.ptp(counts) <= 1
        before = set(now)
    assert np.bincount(strata_of(y[:7], "regression")).tolist() == [7]
    assert np.bincount(strata_of(y[:25], "regression")).tolist() == [13, 12]


def test_half_a_sample_counts_as_one():
    assert [subset_size(share, 10) for share in (0.0, 0.04, 0.05, 0.35, 1.0)] == [0, 0, 1, 4, 10]


def noisy(level, repeat=0, part=TRAIN, y=np.arange(1000), root=3):  # noqa: B008
    return Draws(root).noisy(y, Condition("noise", level, 0, repeat), part)


def test_noise_permutes_labels_among_themselves():
    y = np.arange(1000)
    before = set()
    for level in np.arange(11) / 10:
        found = noisy(level)
        np.testing.assert_array_equal(np.sort(found), y)
        changed = set(np.flatnonzero(found != y))
        # A random permutation has one fixed point on average, and more than 8 once in 10^5.
        assert 1000 * level - 8 <= len(changed) <= 1000 * level + 1e-9
        if level < 1:
            assert len(before - changed) <= 8, "what is touched is touched at higher levels"
        before = changed
    np.testing.assert_array_equal(noisy(0.0), y)
    np.testing.assert_array_equal(y, np.arange(1000))


def test_noise_is_drawn_by_repeat_and_part_and_seed():
    kinds = [noisy(0.5), noisy(0.5, repeat=1), noisy(0.5, part=TEST), noisy(0.5, root=4)]
    for i, one in enumerate(kinds):
        np.testing.assert_array_equal(
            one, [noisy(0.5), noisy(0.5, 1), noisy(0.5, 0, True), noisy(0.5, root=4)][i]
        )
        for other in kinds[:i]:
            assert (one != other).mean() > 0.4


def test_conditions_do_not_depend_on_other_levels():
    long = conditions_of(Protocol())
    short = conditions_of(Protocol(sizes=(0.05, 1), noise=(0.2, 1), repeats=3))
    assert len(long) == 90
    assert len(short) == 12
    draws = Draws(7)
    seeds = {(c.kind, c.level, c.repeat): draws.seeds(c, 2) for c in long}
    assert len({tuple(seed) for seed in seeds.values()}) == 90
    for condition in short:
        assert draws.seeds(condition, 2) == seeds[condition.kind, condition.level, condition.repeat]
    assert len({c.name for c in long}) == 90


def test_random_states():
    assert Draws.of(0).root == Draws.of(0).root != Draws.of(1).root
    assert Draws.of(np.random.default_rng(0)).root == Draws.of(0).root
    assert Draws.of(None).root != Draws.of(None).root
