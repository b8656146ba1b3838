import numpy as np
import pandas as pd
import pytest

import caveat
from caveat._validation import as_weights
from caveat.exceptions import InvalidValueError, LabelError, OptionError, ShapeError
from caveat.metrics import _inputs

RNG = np.random.default_rng(0)
P = RNG.dirichlet(np.ones(3), size=50_000)  # more than one block


def test_blocks_cover_all_rows_in_order():
    data = _inputs.labeled(np.zeros(len(P), int), P)
    blocks = list(data.blocks())
    assert len(blocks) > 1
    np.testing.assert_array_equal(np.concatenate([block for _, block in blocks]), P)
    assert [rows.start for rows, _ in blocks[1:]] == [rows.stop for rows, _ in blocks[:-1]]
    assert len(data) == len(P)


@pytest.mark.parametrize("row", [3, 40_000])
@pytest.mark.parametrize(
    ("change", "text"),
    [
        ((0, np.nan), "of sample {row}, class 0 is nan"),
        ((1, -0.5), r"of sample {row}, class 1 is -0\.5, below 0"),
        ((2, 5.0), "of sample {row} sum to"),
    ],
)
def test_a_bad_row_is_named_by_its_number(row, change, text):
    p = P.copy()
    p[row, change[0]] = change[1]
    data = _inputs.labeled(np.zeros(len(P), int), p)
    with pytest.raises(InvalidValueError, match=text.format(row=row)):
        list(data.blocks())


def test_a_vector_is_the_second_class():
    data = _inputs.labeled([0, 1], [0.25, 0.5])
    np.testing.assert_array_equal(data.probabilities, [[0.75, 0.25], [0.5, 0.5]])
    assert data.tolerance is None


def test_a_categorical_brings_its_classes_and_its_mean():
    prediction = caveat.Categorical([[[0.2, 0.8]], [[0.4, 0.6]]], classes=["no", "yes"])
    data = _inputs.labeled(["yes"], prediction)
    assert data.codes.tolist() == [1]
    np.testing.assert_allclose(data.probabilities, [[0.3, 0.7]])
    assert [rows for rows, _ in data.blocks()] == [slice(0, 1)]


def test_classes_come_from_columns_or_by_name():
    frame = pd.DataFrame({"no": [0.2], "yes": [0.8]})
    assert _inputs.labeled(["yes"], frame).codes.tolist() == [1]
    assert _inputs.labeled(["b"], [[0.2, 0.8]], classes=["a", "b"]).codes.tolist() == [1]
    assert _inputs.labeled([True, False], [0.2, 0.8]).codes.tolist() == [1, 0]
    assert _inputs.labeled(np.array([1.0, 0.0]), [0.2, 0.8]).codes.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("y", "p", "error", "text"),
    [
        ([0, 3], [[0.5, 0.5], [0.5, 0.5]], LabelError,
         r"y_true of sample 1 is 3, but the classes are 0 to 1; pass classes="),
        ([0, -1], [[0.5, 0.5], [0.5, 0.5]], LabelError, "y_true of sample 1 is -1"),
        (["a", "b"], [[0.5, 0.5], [0.5, 0.5]], LabelError, "y_true has labels of type"),
        ([0], [[0.5, 0.5], [0.5, 0.5]], ShapeError, "y_true has 1 samples, probabilities has 2"),
        ([], [[0.5, 0.5]], ShapeError, "y_true is empty"),
        ([0], [[1.0]], ShapeError, "two classes at least"),
        ([0], [[[0.5, 0.5]]], ShapeError, r"got \(1, 1, 2\)"),
    ],
)  # fmt: skip
def test_labeled_errors(y, p, error, text):
    with pytest.raises(error, match=text):
        _inputs.labeled(y, p)


def test_weights():
    assert _inputs.weights(None, 3) is None
    np.testing.assert_array_equal(_inputs.weights([1, 0, 2], 3), [1.0, 0.0, 2.0])
    data = _inputs.labeled([0, 1, 1], [0.1, 0.2, 0.3], sample_weight=[1, 0, 2])
    np.testing.assert_array_equal(data.weights(slice(1, 3)), [0.0, 2.0])
    assert _inputs.labeled([0], [0.1]).weights(slice(0, 1)) is None
    with pytest.raises(InvalidValueError, match="sample_weight of sample 1 is -1, below 0"):
        _inputs.weights([1, -1], 2)
    with pytest.raises(InvalidValueError, match="sample_weight is 0 for every sample"):
        _inputs.weights([0, 0], 2)
    with pytest.raises(
        ShapeError,
        match=r"sample_weight must be one number for each of 2 samples; got shape \(1,\)",
    ):
        _inputs.weights([1], 2)


def test_vectors():
    np.testing.assert_array_equal(_inputs.vector([[1.0], [2.0]], "mean"), [1.0, 2.0])
    assert np.isinf(_inputs.vector([np.inf], "lower", infinite=True)).all()
    with pytest.raises(ShapeError, match="call the metric for each of them"):
        _inputs.vector([[1.0, 2.0]], "mean")
    with pytest.raises(InvalidValueError, match="mean of sample 1 is inf"):
        _inputs.vector([1.0, np.inf], "mean")
    with pytest.raises(
        InvalidValueError, match="variance of sample 1 is 0: a point has no density"
    ):
        _inputs.scale([1.0, 0.0], "variance", 2)
    with pytest.raises(InvalidValueError, match="variance of sample 1 is -1, below 0"):
        _inputs.scale([0.0, -1.0], "variance", 2)
    np.testing.assert_array_equal(_inputs.scale([1.0, 2.0], "variance", 2), [1.0, 2.0])


def test_options():
    assert _inputs.count(np.int64(3), "bins") == 3
    for wrong in (0, 2.5, True, "x"):
        with pytest.raises(OptionError, match="bins must be a whole number of at least 1; got"):
            _inputs.count(wrong, "bins")


def test_average_ignores_infinite_scores_that_do_not_count():
    scores = np.array([1.0, np.inf, 3.0])
    assert _inputs.average(scores, np.array([1.0, 0.0, 1.0])) == 2.0
    assert _inputs.average(scores, None) == np.inf


@pytest.mark.parametrize("scale", [1e308, 1e71, 1e-71, 5e-324])
def test_weights_whose_sums_overflow_or_vanish(scale):
    with pytest.raises(
        InvalidValueError, match=r"sample_weight goes up to .*; scale all weights by"
    ):
        as_weights(np.array([scale, 0.0, scale]), 3)
    assert as_weights(np.array([1e-300, 1.0, 1e60]), 3) is not None
