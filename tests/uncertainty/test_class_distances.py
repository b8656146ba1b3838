"""Distances between classes, against scipy's functions for two samples."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import energy_distance, wasserstein_distance

from caveat.exceptions import InvalidValueError, LabelError, OptionError, ShapeError
from caveat.uncertainty.distances import class_distances
from caveat.uncertainty.measures.homophily import homophily_maximum

SCIPY = {"energy": energy_distance, "wasserstein": wasserstein_distance}


def by_pairs(X, y, distance, combine, classes):
    function = SCIPY[distance]
    channels = np.zeros((X.shape[1], len(classes), len(classes)))
    for channel, matrix in enumerate(channels):
        for i, first in enumerate(classes):
            for j, second in enumerate(classes):
                matrix[i, j] = function(X[y == first, channel], X[y == second, channel])
    if combine == "rms":
        return np.sqrt((channels**2).mean(axis=0))
    return channels.mean(axis=0) + channels.std(axis=0)


def sample(sizes, channels, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    shift, scale = rng.normal(size=(len(sizes), channels)), rng.uniform(0.5, 2, size=channels)
    return rng.normal(size=(len(y), channels)) * scale + shift[y], y


@pytest.mark.parametrize("distance", list(SCIPY))
@pytest.mark.parametrize("combine", ["mean+std", "rms"])
def test_against_scipy(distance, combine):
    X, y = sample([1, 7, 30, 200], 5)
    result = class_distances(X, y, distance=distance, combine=combine)
    np.testing.assert_allclose(result, by_pairs(X, y, distance, combine, range(4)), rtol=1e-11)
    np.testing.assert_array_equal(result, result.T)
    np.testing.assert_array_equal(np.diag(result), 0)


@pytest.mark.parametrize("distance", list(SCIPY))
def test_against_scipy_with_ties(distance):
    X, y = sample([40, 60, 80], 3)
    X = X.round(0)
    result = class_distances(X, y, distance=distance)
    np.testing.assert_allclose(result, by_pairs(X, y, distance, "mean+std", range(3)), rtol=1e-11)


@pytest.mark.parametrize("distance", list(SCIPY))
def test_against_scipy_over_several_blocks(distance):
    X, y = sample([6000, 5000, 4000, 3000, 2000, 1000], 1)
    result = class_distances(X, y, distance=distance)
    np.testing.assert_allclose(result, by_pairs(X, y, distance, "rms", range(6)), rtol=1e-11)


def test_two_points():
    # F differs by 1 over a gap of 3: the energy distance is the root of 2 * 3.
    assert class_distances([0.0, 3.0], [0, 1])[0, 1] == pytest.approx(np.sqrt(6), rel=1e-15)
    assert class_distances([0.0, 3.0], [0, 1], distance="wasserstein")[0, 1] == 3


@pytest.mark.parametrize("distance", list(SCIPY))
def test_identical_classes_are_at_distance_zero(distance):
    rng = np.random.default_rng(1)
    x = rng.normal(size=500) + 1e6
    X = np.concatenate([x, rng.permutation(x), np.repeat(x, 2), x + 50])
    y = np.repeat([0, 1, 2, 3], [500, 500, 1000, 500])
    result = class_distances(X, y, distance=distance)
    np.testing.assert_array_equal(result[:3, :3], 0)
    assert (result[3, :3] > 1).all()


def test_close_classes_keep_their_digits():
    # Two classes 1e-9 apart, and a third far away: the squared distance is 1e-9 of the products.
    x = np.arange(64) / 64
    X = np.concatenate([x, x + 2.0**-30, x + 1000])
    result = class_distances(X, np.repeat([0, 1, 2], 64))
    # F differs by 1/64 over 64 gaps of 2**-30.
    assert result[0, 1] == pytest.approx(np.sqrt(2 * 64 * 2.0**-30 / 64**2), rel=1e-12)


@pytest.mark.parametrize("distance", list(SCIPY))
def test_a_constant_channel_adds_nothing(distance):
    result = class_distances(np.ones((6, 2)), [0, 0, 1, 1, 2, 2], distance=distance)
    np.testing.assert_array_equal(result, np.zeros((3, 3)))


@given(seed=st.integers(0, 10_000), distance=st.sampled_from(list(SCIPY)))
@settings(max_examples=25, deadline=None)
def test_invariances(seed, distance):
    X, y = sample([5, 9, 13], 2, seed)
    result = class_distances(X, y, distance=distance)
    order = np.random.default_rng(seed).permutation(len(y))
    np.testing.assert_allclose(
        class_distances(X[order], y[order], distance=distance), result, rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(
        class_distances(X + 3, y, distance=distance), result, rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(
        class_distances(-X, y, distance=distance), result, rtol=1e-9, atol=1e-12
    )
    # Twice the length: twice the mean difference, and the root of it.
    factor = np.sqrt(2) if distance == "energy" else 2
    np.testing.assert_allclose(class_distances(2 * X, y, distance=distance), factor * result)
    # A channel twice changes neither mean nor spread.
    np.testing.assert_allclose(
        class_distances(np.hstack([X, X]), y, distance=distance), result, rtol=1e-12
    )


def test_root_mean_square_of_energy_distances_makes_a_concave_uncertainty():
    X, y = sample([20] * 30, 8)
    assert homophily_maximum(class_distances(X, y, combine="rms")).certificate == "concave"


def test_axes_become_channels():
    X, y = sample([20, 30], 12)
    expected = class_distances(X, y)
    np.testing.assert_array_equal(class_distances(X.reshape(50, 3, 4), y), expected)
    np.testing.assert_array_equal(
        class_distances(X[:, 0], y), class_distances(X[:, :1], y, combine="rms")
    )


@pytest.mark.parametrize("combine", ["mean+std", "rms"])
def test_a_function_of_two_samples(combine):
    X, y = sample([20, 30, 10], 4)
    np.testing.assert_allclose(
        class_distances(X, y, distance=energy_distance, combine=combine),
        class_distances(X, y, combine=combine),
        rtol=1e-11,
    )


def test_the_order_of_the_classes():
    X, y = sample([20, 30, 10], 4)
    names = np.array(["pear", "apple", "fig"])
    by_code = class_distances(X, y)
    alphabetical = [1, 2, 0]
    for labels in (names[y], names[y].astype(object), pd.Series(names[y]), names[y][:, None]):
        result = class_distances(X, labels)
        np.testing.assert_allclose(result, by_code[np.ix_(alphabetical, alphabetical)], rtol=1e-12)
        result = class_distances(X, labels, classes=["pear", "apple", "fig"])
        np.testing.assert_allclose(result, by_code, rtol=1e-12)


def test_frames_and_lists():
    X, y = sample([20, 30], 3)
    expected = class_distances(X, y)
    np.testing.assert_array_equal(class_distances(pd.DataFrame(X), y.tolist()), expected)
    np.testing.assert_array_equal(class_distances(X.tolist(), y == 1), expected)


def test_memory_does_not_grow_with_classes_times_samples():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50_000, 2)), np.arange(50_000) % 50
    tracemalloc.start()
    try:
        class_distances(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # The distribution functions of one channel alone would be 20 MB.
    assert peak < 5e6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"distance": "euclidean"},
            "distance must be one of 'energy', 'wasserstein', 'bhattacharyya', or a callable; "
            "got 'euclidean'",
        ),
        (
            {"combine": "median"},
            "combine must be one of 'mean\\+std', 'rms', 'joint'; got 'median'",
        ),
        ({"embedding": 3}, "embedding must be a callable that maps X to features; got int"),
        (
            {"distance": "wasserstein", "combine": "joint"},
            "combine='joint' takes distance='energy', 'bhattacharyya' or a callable",
        ),
    ],
)
def test_unknown_options(options, message):
    with pytest.raises(OptionError, match=message):
        class_distances([0.0, 1.0], [0, 1], **options)


@pytest.mark.parametrize("value", [np.nan, -1.0, np.inf, [1.0, 2.0], "far"])
def test_a_function_must_return_a_distance(value):
    with pytest.raises(
        InvalidValueError, match=r"one finite number .* for the classes 'a', 'b' in channel 0"
    ):
        class_distances([0.0, 1.0], ["a", "b"], distance=lambda u, v: value)


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        ([0.0, 1.0], [0, 1, 1], ShapeError, r"one label for each of the 2 samples of X; got shape"),
        ([0.0, 1.0], 3, ShapeError, r"each of the 2 samples of X; got shape \(\)"),
        ([0.0, 1.0], [[0, 1], [1, 0]], ShapeError, r"y must be one label for each sample"),
        (1.0, [0], ShapeError, r"X must have shape \(samples, channels\) or \(samples,\); got"),
        ([], [], ShapeError, "X is empty"),
        ([[0, 1], [0, np.nan]], [0, 1], InvalidValueError, "X of sample 1, channel 1 is nan"),
        ([0.0, 1.0], ["a", "a"], LabelError, "distances need two classes at least; got 'a'"),
        ([0.0, 1.0], np.array([1, "a"], dtype=object), LabelError, "of one type; got int, str"),
        ([0.0, 1.0], [0.5, np.nan], LabelError, "labels of y must be finite"),
    ],
)
def test_data_that_does_not_fit(X, y, error, message):
    with pytest.raises(error, match=message):
        class_distances(X, y)


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ([0, 1, 2], "y has no sample of class 2; leave it out of classes"),
        ([0, 2], "y of sample 1 is .*1.*, but the classes are 0, 2"),
        ([0], "distances need two classes at least; got 0"),
        ([], "distances need two classes at least; got no class"),
        ([0, 0, 1], "classes must be distinct"),
    ],
)
def test_classes_that_do_not_fit(classes, message):
    with pytest.raises(LabelError, match=message):
        class_distances([0.0, 1.0], [0, 1], classes=classes)


@pytest.mark.parametrize("classes", [2, 100, 130])
def test_values_of_any_size_and_sign(classes):
    """The sort that carries the classes keeps the order of negative, tiny and huge values."""
    rng = np.random.default_rng(0)
    y = np.arange(3 * classes) % classes
    size = 10.0 ** rng.uniform(-30, 30, len(y))
    X = np.where(rng.random(len(y)) < 0.5, -size, size)
    X[:6] = [0.0, -0.0, 5e-324, -5e-324, 1e70, -1e70]
    result = class_distances(X, y)
    for i, j in [(0, 1), (0, classes - 1), (classes - 2, 1)]:
        assert result[i, j] == pytest.approx(energy_distance(X[y == i], X[y == j]), rel=1e-12)
