import re

import numpy as np
import pytest

from caveat.datasets import Dataset, make_sd1, make_sd2, make_sd3
from caveat.exceptions import OptionError

MAKERS = {"sd1": make_sd1, "sd2": make_sd2, "sd3": make_sd3}

# Mean and covariance of class 1 of each group; class 0 is its mirror image.
HALF = ([0.5, 0.5], [[1 / 8, 0], [0, 1 / 8]])
MOMENTS = {
    ("sd1", 0): HALF,
    ("sd1", 1): ([7, 7], [[15, 10], [10, 15]]),
    ("sd2", 0): ([10, 10], [[100, 30], [30, 100]]),
    ("sd2", 1): ([7, 7], [[5, 1], [1, 5]]),
    ("sd3", 0): ([2, 2], [[7, 3], [3, 7]]),
    ("sd3", 1): ([3, 3], [[5, 3], [3, 5]]),
}
SAMPLES = 40_000


@pytest.fixture(scope="module")
def large():
    return {name: make(random_state=1, samples=SAMPLES) for name, make in MAKERS.items()}


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize(("name", "group"), MOMENTS)
def test_moments(large, name, group, label):
    data = large[name]
    part = data.X[(data.groups["group"] == group) & (data.y == label)]
    mean, covariance = (np.array(moment, dtype=float) for moment in MOMENTS[name, group])
    assert len(part) == SAMPLES
    error = np.sqrt(np.diag(covariance) / SAMPLES)
    assert (np.abs(part.mean(axis=0) - (2 * label - 1) * mean) < 4.5 * error).all()
    # Var of a sample covariance of normals is (c_ij^2 + c_ii c_jj) / n; of these betas it is less.
    variance = np.diag(covariance)
    spread = np.sqrt((covariance**2 + np.outer(variance, variance)) / SAMPLES)
    assert (np.abs(np.cov(part.T) - covariance) < 4.5 * spread).all()


def test_betas_have_the_right_shape(large):
    data = large["sd1"]
    part = data.X[data.groups["group"] == 0] * (2 * data.y[data.groups["group"] == 0, None] - 1)
    assert part.min() >= 0
    assert part.max() <= 1
    # The arcsine law: P(x <= t) = 2 / pi asin(sqrt t).
    for t in (0.1, 0.5, 0.8):
        expected = 2 / np.pi * np.arcsin(np.sqrt(t))
        assert (part[:, 0] <= t).mean() == pytest.approx(expected, abs=4.5 * 0.5 / 80_000**0.5)


@pytest.mark.parametrize("make", MAKERS.values())
class TestShape:
    def test_counts_and_split(self, make):
        data = make(random_state=0)
        assert isinstance(data, Dataset)
        assert data.X.shape == (400, 2)
        for group in (0, 1):
            for label in (0, 1):
                assert ((data.groups["group"] == group) & (data.y == label)).sum() == 100
        train, test = data.split()
        assert (len(train), len(test)) == (320, 80)
        assert not train.test.any()
        assert test.test.all()
        assert len(np.unique(test.y)) == len(np.unique(test.groups["group"])) == 2
        together = np.concatenate([train.X, test.X])
        np.testing.assert_array_equal(np.sort(together[:, 0]), np.sort(data.X[:, 0]))

    def test_seeds(self, make):
        np.testing.assert_array_equal(make(3).X, make(3).X)
        assert not np.array_equal(make(3).X, make(4).X)

    @pytest.mark.parametrize("samples", [0, 1.5, True, "many"])
    def test_samples(self, make, samples):
        message = f"samples must be a whole number of at least 1; got {samples!r}"
        with pytest.raises(OptionError, match=re.escape(message)):
            make(0, samples=samples)

    def test_few(self, make):
        data = make(0, samples=1)
        assert len(data) == 4
        with pytest.raises(OptionError, match="this dataset has no given split"):
            data.split()
        assert repr(data) == "Dataset(4 samples, 2 features, groups by group, no given split)"
        assert len(data.take([0, 1])) == 2
