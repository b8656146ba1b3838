"""What hostile calls found."""

import numpy as np
import pytest

import caveat
from caveat.exceptions import InvalidValueError, OptionError, ShapeError


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: caveat.Gaussian([0.0, 1e200], 1.0), r"mean of sample 1 is 1e\+200; squares of"),
        (lambda: caveat.Gaussian([0.0, 1.0], [1.0, 1e200]), r"variance of sample 1 is 1e\+200"),
        (lambda: caveat.Gaussian.from_std([0.0], [1e200]), r"std of sample 0 is 1e\+200"),
        (lambda: caveat.Gaussian.from_std([0.0], [1e-200]), "1e-200, whose square is 0 in double"),
        (lambda: caveat.Gaussian.from_std([0.0], 1e-200), "std is 1e-200, whose square is 0"),
        (lambda: caveat.Gaussian.from_std([0.0], [-1.0]), "std of sample 0 is -1, below 0"),
        (lambda: caveat.GaussianLogits([[0.0, 1e200]], [[1, 1]]), "mean of sample 0, class 1 is"),
        (lambda: caveat.GaussianLogits.from_std([[0, 1]], [[1, 1e-200]]), "whose square is 0"),
        (lambda: caveat.Quantiles([0.1, 0.9], [[0.0, 1e200]]), "values of sample 0, level 1 is"),
        (lambda: caveat.Interval([0.0], [1e200], coverage=0.9), r"upper of sample 0 is 1e\+200"),
        (lambda: caveat.Gaussian([0.0], 1.0).align([1e200]), r"y of sample 0 is 1e\+200"),
        (
            lambda: caveat.PredictionSet(np.zeros((2, 2), dtype=[("x", float)]), coverage=0.9),
            "membership must be true or false; got type",
        ),
    ],
)
def test_values_that_cannot_be_squared(build, message):
    with pytest.raises(InvalidValueError, match=message):
        build()


@pytest.mark.parametrize("ending", ["npz", "parquet"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_rows_of_every_precision_are_read_back(tmp_path, dtype, ending):
    p = np.random.default_rng(0).dirichlet(np.ones(3), size=200).astype(dtype)
    prediction = caveat.Categorical(p, classes=["a", "b", "c"])
    prediction.save(tmp_path / f"file.{ending}")
    assert caveat.load(tmp_path / f"file.{ending}") == prediction


def test_shapes_of_standard_deviations():
    assert len(caveat.Gaussian.from_std([0.0, 1.0], 2.0)) == 2
    with pytest.raises(ShapeError, match="std must have shape"):
        caveat.Gaussian.from_std([0.0], np.full((1, 1, 1, 1), -1.0))


def test_logits_as_far_apart_as_floats_can_be():
    found = caveat.Categorical.from_logits([[1.7e308, -1.7e308], [0.0, -1.7e308]])
    np.testing.assert_array_equal(found.mean, [[1, 0], [1, 0]])


def test_a_central_interval_of_next_to_nothing():
    quantiles = caveat.Quantiles([0.1, 0.5, 0.9], [[0.0, 1.0, 2.0]])
    with pytest.raises(OptionError, match=r"9.99989e-321 is empty: both of its ends are the"):
        quantiles.to_gaussian(1e-320)


@pytest.mark.parametrize("odd", [3, np.array(0.5), None, dict, [3], ["a"], [None]])
def test_what_is_not_a_list_of_predictions(odd):
    with pytest.raises(ShapeError, match=r"^concat (takes a list of|joins) predictions"):
        caveat.concat(odd)


def test_more_draws_than_there_is_memory():
    logits = caveat.GaussianLogits([[0.0, 1.0]], [[1.0, 1.0]])
    with pytest.raises(OptionError, match="draws must be at most 10,000,000; got 1000000000000"):
        logits.sample(draws=10**12)
