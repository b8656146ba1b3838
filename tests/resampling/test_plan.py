"""Which samples are drawn together, and how often."""

import numpy as np
import pytest

from caveat.exceptions import InvalidValueError, OptionError, ShapeError
from caveat.resampling import make_plan


def test_rows_are_drawn_one_by_one():
    plan = make_plan(50, resamples=20, random_state=0)
    assert (plan.resamples, plan.units, len(plan)) == (20, 50, 50)
    np.testing.assert_array_equal(plan.unit, np.arange(50))
    np.testing.assert_array_equal(plan.counts.sum(axis=1), 50)
    np.testing.assert_array_equal(plan.weights(3), plan.counts[3][plan.unit])


def test_counts_are_multinomial():
    plan = make_plan(10, resamples=20_000, random_state=0)
    counts = plan.counts.astype(float)
    # Each count is binomial(10, 0.1); five standard errors of a mean and of a variance.
    assert np.abs(counts.mean(axis=0) - 1).max() < 5 * np.sqrt(0.9 / 20_000)
    assert counts.var(axis=0).mean() == pytest.approx(0.9, abs=5 * 0.9 * np.sqrt(3 / 20_000))


def test_many_rows_are_drawn_in_equal_random_blocks():
    plan = make_plan(10_001, resamples=3, random_state=0)
    sizes = np.bincount(plan.unit)
    assert plan.units == 1000
    assert set(sizes.tolist()) == {10, 11}
    assert np.abs(np.corrcoef(plan.unit, np.arange(10_001))[0, 1]) < 0.05
    np.testing.assert_array_equal(plan.counts.sum(axis=1), 1000)


def test_clusters_are_drawn_as_a_whole():
    cluster = np.array(["b", "a", "b", "c", "a", "c"])
    plan = make_plan(6, resamples=5, cluster=cluster, random_state=0)
    assert plan.unit.tolist() == [1, 0, 1, 2, 0, 2]
    assert plan.counts.shape == (5, 3)


def test_many_clusters_are_drawn_in_groups():
    cluster = np.repeat(np.arange(5000), 2)
    plan = make_plan(10_000, resamples=2, cluster=cluster, random_state=0)
    assert plan.units == 1000
    np.testing.assert_array_equal(plan.unit[::2], plan.unit[1::2])


def test_strata_keep_their_number_of_draws():
    strata = np.array(["x"] * 30 + ["y"] * 10, dtype=object)
    plan = make_plan(40, resamples=50, strata=strata, random_state=0)
    assert plan.strata == 2
    drawn = plan.counts[:, plan.unit[:30]].sum(axis=1)
    np.testing.assert_array_equal(drawn, 30)


def test_blocks_lie_within_strata():
    strata = np.r_[np.zeros(9000), np.ones(1000), np.full(20, 2.0)]
    plan = make_plan(10_020, resamples=2, strata=strata, random_state=0)
    units = [np.unique(plan.unit[strata == value]) for value in range(3)]
    assert [len(found) for found in units] == [898, 100, 20]
    assert len(np.unique(np.concatenate(units))) == plan.units


def test_same_seed_same_plan():
    first, again, other = (make_plan(5000, resamples=2, random_state=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.unit, again.unit)
    np.testing.assert_array_equal(first.counts, again.counts)
    assert (first.counts != other.counts).any()


@pytest.mark.parametrize("bad", [0, -1, 2.5, True, "3"])
def test_numbers_must_be_whole(bad):
    with pytest.raises(OptionError, match="samples must be a whole number of at least 1; got"):
        make_plan(bad)
    with pytest.raises(OptionError, match="resamples must be a whole number of at least 1; got"):
        make_plan(3, resamples=bad)


def test_columns_must_fit():
    with pytest.raises(ShapeError, match=r"cluster must be one value for each of 3 samples; got"):
        make_plan(3, cluster=[1, 2])
    with pytest.raises(InvalidValueError, match="cluster of sample 1 is missing; give it a value"):
        make_plan(3, cluster=[1.0, np.nan, 2.0])
    with pytest.raises(InvalidValueError, match="strata of sample 2 is missing"):
        make_plan(3, strata=np.array(["a", "b", None], dtype=object))
    with pytest.raises(InvalidValueError, match="strata of sample 0 differs from that of other"):
        make_plan(3, cluster=[1, 1, 2], strata=["a", "b", "b"])
