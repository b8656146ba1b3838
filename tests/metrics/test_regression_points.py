import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from caveat.exceptions import InvalidValueError, OptionError, ShapeError
from caveat.metrics import (
    mean_absolute_error,
    mean_absolute_scaled_error,
    root_mean_squared_error,
)

numbers = st.integers(-(10**9), 10**9).map(lambda i: i / 1000)  # whose squares are no extremes


def generic(samples=70_001, seed=0):
    """More than two blocks of samples, the last of them not full."""
    rng = np.random.default_rng(seed)
    y = rng.gamma(2.0, 3.0, samples)
    return y, y + rng.standard_t(4, samples), rng.gamma(1.0, size=samples)


@pytest.mark.parametrize("weighted", [False, True])
def test_scikit_learn(weighted):
    y, mean, w = generic()
    w = w if weighted else None
    absolute = sklearn_metrics.mean_absolute_error(y, mean, sample_weight=w)
    root = sklearn_metrics.root_mean_squared_error(y, mean, sample_weight=w)
    assert mean_absolute_error(y, mean, sample_weight=w) == pytest.approx(absolute, rel=1e-12)
    assert root_mean_squared_error(y, mean, sample_weight=w) == pytest.approx(root, rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_scaled_error_is_a_ratio_of_two_errors(weighted):
    y, mean, w = generic()
    w = w if weighted else None
    train = np.random.default_rng(1).normal(4, 1, 501)
    reference = sklearn_metrics.mean_absolute_error(
        y, np.full_like(y, np.median(train)), sample_weight=w
    )
    expected = sklearn_metrics.mean_absolute_error(y, mean, sample_weight=w) / reference
    for given_median in ({"y_train": train}, {"reference_median": np.median(train)}):
        assert mean_absolute_scaled_error(
            y, mean, sample_weight=w, **given_median
        ) == pytest.approx(expected, rel=1e-12)


def test_scaled_error_uses_the_training_median_and_no_other():
    # The median of the test set itself would be the harder reference.
    y, mean = np.array([10.0, 11.0, 12.0]), np.array([10.5, 11.0, 12.5])
    assert mean_absolute_scaled_error(y, mean, y_train=[1.0, 2.0, 60.0]) == (1 / 27)


def test_no_better_than_the_training_median():
    y = [3.0, 5.0, 9.0]
    assert mean_absolute_scaled_error(y, [4.0] * 3, y_train=[4.0]) == 1.0


def test_without_error_in_the_reference_there_is_no_scale():
    assert np.isnan(mean_absolute_scaled_error([3.0, 3.0], [3.0, 4.0], reference_median=3.0))


@pytest.mark.parametrize("both", [{}, {"y_train": [1.0], "reference_median": 1.0}])
def test_scaled_error_needs_one_reference(both):
    with pytest.raises(OptionError, match=r"pass y_train= or reference_median=, one of the two"):
        mean_absolute_scaled_error([1.0], [1.0], **both)


@pytest.mark.parametrize("median", [np.nan, np.inf, [1.0, 2.0]])
def test_reference_median_is_one_number(median):
    with pytest.raises(OptionError, match="reference_median must be one finite number; got"):
        mean_absolute_scaled_error([1.0], [1.0], reference_median=median)


def test_training_targets_are_checked():
    with pytest.raises(InvalidValueError, match="y_train of sample 1 is nan"):
        mean_absolute_scaled_error([1.0], [1.0], y_train=[1.0, np.nan])


def test_per_sample():
    y, mean, w = generic(samples=40_000)
    each = mean_absolute_error(y, mean, per_sample=True, sample_weight=w)
    np.testing.assert_array_equal(each, np.abs(y - mean))


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=20))
def test_root_mean_square_is_never_below_the_mean(pairs):
    y, mean = np.array(pairs).T
    absolute, root = mean_absolute_error(y, mean), root_mean_squared_error(y, mean)
    assert 0 <= absolute <= root * (1 + 1e-12)
    assert root <= np.abs(y - mean).max() * (1 + 1e-12)


def test_what_overflows_when_it_is_squared_is_refused():
    for metric in (root_mean_squared_error, mean_absolute_error):
        assert metric([1e75], [-1e75]) == pytest.approx(2e75)
        with pytest.raises(
            InvalidValueError,
            match=r"^y_true of sample 1 is 1e\+200; squares of numbers beyond 1e\+75 cannot be "
            r"summed. Give them in another unit$",
        ):
            metric([0.0, 1e200], [0.0, -1e200])


def test_one_target_for_each_call():
    with pytest.raises(ShapeError, match="With several targets, call the metric for each"):
        mean_absolute_error([[1.0, 2.0]], [[1.0, 2.0]])
