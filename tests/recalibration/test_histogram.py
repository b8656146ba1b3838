"""Histogram binning against netcal and plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import caveat
from caveat.exceptions import OptionError
from caveat.recalibration.histogram_binning import HistogramBinning, equal_count_edges

from .class_data import calibration_set, draw, softmax


def off_the_edges(prediction, bins):
    """Whether no probability is within rounding of an end of an equal-width bin."""
    place = prediction.mean * bins
    return np.abs(place - np.round(place)).min() > 1e-9


@pytest.mark.parametrize("k", [2, 3])
def test_equal_width_equals_netcal(k):
    binning = pytest.importorskip("netcal.binning")
    prediction, y = calibration_set(k=k, n=200)
    new, _ = calibration_set(seed=9, k=k, n=200)
    # netcal bins [lo, hi) when it fits and (lo, hi] when it transforms.
    assert off_the_edges(prediction, 10)
    assert off_the_edges(new, 10)
    oracle = binning.HistogramBinning(10)
    ours = HistogramBinning(10, strategy="equal-width").fit(prediction, y).transform(new).mean
    if k == 2:
        theirs = oracle.fit(prediction.mean[:, 1], y).transform(new.mean[:, 1])
        np.testing.assert_allclose(ours[:, 1], theirs, atol=1e-12)
    else:
        theirs = oracle.fit(np.array(prediction.mean), y).transform(np.array(new.mean))
        # Where all classes' bins say 0, netcal divides 0 by 0; ours are the base rates.
        known = np.isfinite(theirs).all(axis=1)
        assert known.sum() > 150
        np.testing.assert_allclose(ours[known], theirs[known], atol=1e-12)


def test_equal_width_by_a_loop():
    prediction, y = calibration_set(k=3, n=400)
    weight = np.random.default_rng(1).exponential(size=len(y))
    binning = HistogramBinning(15, strategy="equal-width").fit(prediction, y, sample_weight=weight)
    edges = np.linspace(0, 1, 16)
    expected = np.empty((400, 3))
    for k in range(3):
        score = prediction.mean[:, k]
        np.testing.assert_array_equal(binning.edges_[k], edges)
        for b in range(15):
            inside = (score >= edges[b]) & ((score < edges[b + 1]) | (b == 14))
            value = (edges[b] + edges[b + 1]) / 2
            if inside.any():
                value = np.average(y[inside] == k, weights=weight[inside])
            assert binning.values_[k][b] == pytest.approx(value)
            expected[inside, k] = value
    empty = expected.sum(axis=1) == 0
    expected[empty] = binning.base_rates_
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(binning.transform(prediction).mean, expected, atol=1e-12)


def test_empty_bins_keep_their_midpoint_and_the_last_one_is_closed():
    prediction = caveat.Categorical.from_binary([0.1, 0.1, 1.0])
    binning = HistogramBinning(4, strategy="equal-width").fit(prediction, [0, 1, 1])
    np.testing.assert_allclose(binning.values_[0], [0.5, 0.375, 0.625, 1.0])
    new = caveat.Categorical.from_binary([0.0, 0.25, 0.5, 0.7, 0.75])
    np.testing.assert_allclose(binning.transform(new).mean[:, 1], [0.5, 0.375, 0.625, 0.625, 1.0])


def test_equal_count_without_ties():
    prediction, y = calibration_set(k=2, n=100)
    binning = HistogramBinning(bins=15).fit(prediction, y)
    score = prediction.mean[:, 1]
    counts = np.histogram(score, binning.edges_[0])[0]
    assert sorted(set(counts)) == [6, 7]
    ordered = np.sort(score)
    middles = ((ordered[1:] + ordered[:-1]) / 2)[np.cumsum(counts)[:-1] - 1]
    np.testing.assert_allclose(binning.edges_[0], np.r_[0, middles, 1])
    fixed = binning.transform(prediction).mean[:, 1]
    for value in binning.values_[0]:
        assert y[fixed == value].mean() == pytest.approx(value)


@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(1, 4)), min_size=1, max_size=15),
    st.integers(1, 6),
)
@settings(max_examples=150, deadline=None)
def test_equal_count_by_repetition(samples, bins):
    score = np.array([s / 10 for s, _ in samples])
    weight = np.array([w for _, w in samples])
    edges = equal_count_edges(score, bins, weight.astype(float))
    repeated = np.sort(np.repeat(score, weight))
    np.testing.assert_array_equal(edges, equal_count_edges(repeated, bins, None))
    np.testing.assert_array_equal(edges, equal_count_edges(score, bins, weight / 3))
    # Each bin ends with the quantile that is an observation, and ties are not split.
    n = len(repeated)
    ends = {repeated[-(-j * n // bins) - 1] for j in range(1, bins)} - {repeated[-1]}
    levels = np.unique(score)
    expected = [(end + levels[levels > end][0]) / 2 for end in sorted(ends)]
    np.testing.assert_allclose(edges, np.r_[0, expected, 1])
    assert np.histogram(repeated, edges)[0].min() > 0


def test_neighboring_doubles_are_told_apart():
    score = np.array([0.5, np.nextafter(0.5, 1)])
    binning = HistogramBinning(2).fit(caveat.Categorical.from_binary(score), [0, 1])
    assert binning.values_[0].tolist() == [0.0, 1.0]
    below = np.array([np.nextafter(0.5, 0), 0.5])
    binning = HistogramBinning(2).fit(caveat.Categorical.from_binary(below), [0, 1])
    assert binning.values_[0].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("strategy", ["equal-count", "equal-width"])
def test_constant_scores(strategy):
    prediction = caveat.Categorical.from_binary([0.7] * 4)
    fixed = HistogramBinning(strategy=strategy).fit_transform(prediction, [0, 1, 0, 0]).mean
    np.testing.assert_allclose(fixed[:, 1], 0.25)


def test_a_row_of_zeros_becomes_the_base_rates():
    p = np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6], [0.6, 0.2, 0.2]])
    binning = HistogramBinning(2, strategy="equal-width").fit(caveat.Categorical(p), [0, 1, 2, 0])
    fixed = binning.transform(caveat.Categorical([[0.4, 0.3, 0.3]])).mean
    np.testing.assert_allclose(fixed, [[0.5, 0.25, 0.25]])


def test_on_calibrated_data_it_is_near_identity():
    rng = np.random.default_rng(3)
    p = softmax(rng.normal(size=(20_000, 2)) * 1.5)
    y = draw(p, rng)
    binning = HistogramBinning(15).fit(caveat.Categorical(p), y)
    fixed = binning.transform(caveat.Categorical(p)).mean[:, 1]
    for value in binning.values_[0]:
        inside = p[fixed == value, 1]
        # A sum of independent coins around its mean: five standard errors.
        error = np.sqrt((inside * (1 - inside)).sum()) / len(inside)
        assert abs(value - inside.mean()) < 5 * error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bins": 0}, "bins must be a whole number of at least 1; got 0"),
        ({"bins": 2.5}, "bins must be a whole number of at least 1; got 2.5"),
        ({"bins": True}, "bins must be a whole number of at least 1; got True"),
        (
            {"strategy": "kmeans"},
            "strategy must be one of 'equal-count', 'equal-width'; got 'kmeans'",
        ),
        ({"members": 1}, "members must be one of 'mean', 'each'; got 1"),
    ],
)
def test_options(options, message):
    with pytest.raises(OptionError, match=message):
        HistogramBinning(**options).fit(*calibration_set(n=10))
