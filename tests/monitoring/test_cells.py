"""Cells that two summaries share."""

import numpy as np
import pytest

import caveat
from caveat.metrics.states import COARSE, FINE, cell_of, cell_values
from caveat.monitoring.cells import (
    Kept,
    design_of,
    kept_in,
    numbers_in,
    of_table,
    pairs_of,
    snapped,
)

from .samples import binary, gaussian

ALL = ("", "")


@pytest.mark.parametrize("bits", [FINE, COARSE])
def test_the_middle_of_a_cell_is_in_it(bits):
    x = np.concatenate([[0.0], np.geomspace(1e-9, 1e9, 400), -np.geomspace(1e-9, 1e9, 400)])
    cells, _ = cell_of(x, bits)
    middle = cell_values(cells, bits)
    assert np.array_equal(cell_of(middle, bits)[0], cells)
    assert middle == pytest.approx(x, rel=2.0**-bits)


@pytest.mark.parametrize("value", [0.0, 1 / 64, 0.0625, 0.07, 0.1, 0.3, 0.5, 0.7, 0.999, 1.0])
def test_ties_of_a_table_and_of_a_distribution_share_a_cell(value):
    """A model that always says the same is the same with and without truth."""
    prediction = caveat.Categorical.from_binary(np.full(50, value))
    known, unknown = caveat.summarize(prediction, [0, 1] * 25), caveat.summarize(prediction)
    for pair in pairs_of(known, unknown, ALL).values():
        assert np.array_equal(pair[0].values, pair[1].values)
        assert np.array_equal(pair[0].counts, pair[1].counts)


def test_any_probability_is_in_the_same_cell_with_and_without_truth():
    p = np.concatenate([np.arange(4097) / 4096, np.random.default_rng(0).random(20_000)])
    prediction = caveat.Categorical.from_binary(p)
    known, unknown = (
        caveat.summarize(prediction, np.arange(len(p)) % 2),
        caveat.summarize(prediction),
    )
    one, other = pairs_of(known, unknown, ALL)["probability", ""]
    assert np.array_equal(one.values, other.values)
    assert np.array_equal(one.counts, other.counts)
    assert one.mean == pytest.approx(p.mean(), abs=1 / 30_720)


def test_the_total_of_a_table_is_the_entropy():
    summary = binary(2000)
    prediction = summary.kept.prediction
    total = caveat.decompose(prediction).total
    numbers = numbers_in(summary, ALL)["total", ""]
    assert numbers.mean == pytest.approx(total.mean(), abs=1e-4)
    assert numbers.variance == pytest.approx(total.var(), rel=1e-2)


def test_one_member_has_a_total_only():
    assert [name for name, _ in pairs_of(gaussian(50, members=1), gaussian(50), ALL)] == [
        "prediction", "total", "aleatoric", "epistemic",
    ]  # fmt: skip
    one = gaussian(50, members=1)
    assert [name for name, _ in pairs_of(one, one, ALL)] == ["prediction", "total"]
    few = binary(60, members=3)
    assert [name for name, _ in pairs_of(few, few, ALL)] == [
        "probability", "total", "aleatoric", "epistemic",
    ]  # fmt: skip


def test_snapping_keeps_moments_and_counts():
    numbers = of_table(binary(3000).parts[ALL])
    shared = snapped(numbers)
    assert (shared.mean, shared.variance) == (numbers.mean, numbers.variance)
    assert shared.counts.sum() == pytest.approx(numbers.counts.sum())


def sample(weight=None, cluster=None, share=1.0, n=40):
    rng = np.random.default_rng(0)
    weight = np.ones(n) if weight is None else weight
    return Kept(np.arange(n), weight, cluster, share), rng.normal(size=(n, 2))


def test_designs_of_equal_and_of_weighted_samples():
    kept, columns = sample()
    assert design_of(kept, columns).covariance == pytest.approx(
        np.cov(columns.T, bias=True) / 40, rel=1e-12
    )
    weight = np.random.default_rng(1).gamma(1, size=40)
    kept, _ = sample(weight)
    mean = weight @ columns / weight.sum()
    wanted = (weight[:, None] ** 2 * (columns - mean) ** 2).sum(axis=0) / weight.sum() ** 2
    found = design_of(kept, columns)
    assert np.diag(found.covariance) == pytest.approx(wanted)
    assert found.freedom == np.inf


def test_samples_that_are_repeated_count_once():
    """Ten clusters of four equal samples are worth ten samples."""
    kept, columns = sample(n=10)
    repeated = Kept(np.arange(40), np.ones(40), np.repeat(np.arange(10), 4), 1.0)
    found = design_of(repeated, np.repeat(columns, 4, axis=0))
    assert found.covariance == pytest.approx(design_of(kept, columns).covariance * 10 / 9)
    assert found.freedom == 9


def test_a_part_of_the_samples_tells_of_all():
    """Kept at random with share f, samples give the covariance of all on average."""
    rng = np.random.default_rng(2)
    cluster = np.repeat(np.arange(200), 10)
    x = rng.normal(size=200)[cluster] + rng.normal(size=2000)
    whole = design_of(Kept(np.arange(2000), np.ones(2000), cluster, 1.0), x[:, None])
    found = []
    for _ in range(40):
        rows = rng.choice(2000, 500, replace=False)
        own = np.unique(cluster[rows], return_inverse=True)[1]
        kept = Kept(rows, np.ones(500), own, 0.25)
        found.append(design_of(kept, x[rows, None]).covariance[0, 0])
    # 40 draws whose spread is about a fifth of the mean: 3.5 standard errors are 11 %.
    assert np.mean(found) == pytest.approx(whole.covariance[0, 0], rel=0.12)


def test_nothing_is_kept_of_a_place_without_samples():
    summary = gaussian(30, groups={"g": ["a"] * 30})
    assert len(kept_in(summary, ("g", "a")).rows) == 30
    assert kept_in(summary, ("g", "b")) is None
    big = binary(12_000)
    assert kept_in(big, ALL) is None
