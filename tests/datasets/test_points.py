import re

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import kstest

from caveat.datasets import load_wine, make_triangle, make_two_moons
from caveat.exceptions import OptionError


def test_wine():
    data = load_wine()
    assert data.X.shape == (178, 13)
    assert np.bincount(data.y).tolist() == [59, 71, 48]
    assert data.feature_names[0] == "alcohol"
    assert data.classes == ("class_0", "class_1", "class_2")
    # The table's first line, and its published mean of alcohol.
    assert data.X[0, :3].tolist() == [14.23, 1.71, 2.43]
    assert data.X[:, 0].mean() == pytest.approx(13.0006, abs=5e-5)
    assert data.take(data.y == 2).classes == data.classes
    with pytest.raises(OptionError, match="this dataset has no given split"):
        data.split()


def test_two_moons_without_noise_are_half_circles():
    data = make_two_moons(0, samples=200, noise=0)
    x, y = data.X.T
    upper = data.y == 0
    np.testing.assert_allclose((x**2 + y**2)[upper], 1)
    assert (y[upper] >= -1e-12).all()
    np.testing.assert_allclose(((x - 1) ** 2 + (y - 0.5) ** 2)[~upper], 1)
    assert (y[~upper] <= 0.5 + 1e-12).all()
    assert not (np.diff(data.y) == 0).all(), "the order is random"


def test_the_noise_of_two_moons():
    X = make_two_moons(0, samples=20_000, noise=0.3).X
    still = make_two_moons(0, samples=20_000, noise=0).X
    # The same seed puts the same points in the same order, and adds the noise.
    assert kstest((X - still).ravel() / 0.3, "norm").pvalue > 1e-4


def test_the_triangle():
    n = 40_000
    data = make_triangle(1, samples=n, noise=0.2)
    across, upwards = data.X.T
    assert kstest(across, "uniform").pvalue > 1e-4
    side = (2 * data.y - 1) * (1 - across) / 2
    assert kstest((upwards - side) / 0.2, "norm").pvalue > 1e-4
    # The formula of the docstring is calibrated: frequencies of labels are its mean.
    p = expit((1 - across) * upwards / 0.2**2)
    for low in np.arange(0, 1, 0.1):
        some = (p >= low) & (p < low + 0.1)
        spread = np.sqrt((p * (1 - p))[some].sum()) / some.sum()
        assert abs(data.y[some].mean() - p[some].mean()) < 4.5 * spread
    # Least uncertain on the left, most on the right.
    entropy = -(p * np.log(p) + (1 - p) * np.log1p(-p))[(p > 0) & (p < 1)]
    cut = np.digitize(across[(p > 0) & (p < 1)], [0.25, 0.5, 0.75])
    means = [entropy[cut == part].mean() for part in range(4)]
    assert means == sorted(means)


@pytest.mark.parametrize("make", [make_two_moons, make_triangle])
class TestBoth:
    def test_counts_and_split(self, make):
        data = make(0, samples=50)
        assert np.bincount(data.y).tolist() == [50, 50]
        train, test = data.split()
        assert (len(train), len(test)) == (80, 20)
        assert len(np.unique(test.y)) == 2
        expected = "Dataset(100 samples, 2 features, 2 classes, 20 held out for testing)"
        assert repr(data) == expected

    def test_seeds(self, make):
        np.testing.assert_array_equal(make(3).X, make(3).X)
        assert not np.array_equal(make(3).X, make(4).X)

    @pytest.mark.parametrize("samples", [0, 1.5, True, "many"])
    def test_samples(self, make, samples):
        message = f"samples must be a whole number of at least 1; got {samples!r}"
        with pytest.raises(OptionError, match=re.escape(message)):
            make(0, samples=samples)

    @pytest.mark.parametrize("noise", [-0.1, np.nan, np.inf, "much", True])
    def test_noise(self, make, noise):
        message = f"noise must be a number of at least 0; got {noise!r}"
        with pytest.raises(OptionError, match=re.escape(message)):
            make(0, noise=noise)


def test_a_triangle_without_noise():
    with pytest.raises(OptionError, match="noise must be above 0"):
        make_triangle(0, noise=0)
