"""The containers that people hold their numbers in."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import caveat
from caveat._arrays import to_numpy
from caveat.exceptions import InvalidValueError, LabelError, ShapeError

torch = pytest.importorskip("torch")
P = np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]])
FRAME = pd.DataFrame(P, columns=["no", "yes"])


@pytest.mark.parametrize(
    "value",
    [
        P,
        P.tolist(),
        np.asfortranarray(P),
        FRAME,
        FRAME.convert_dtypes(),
        FRAME.astype("float32"),
        pl.from_pandas(FRAME),
        pa.Table.from_pandas(FRAME),
        pa.RecordBatch.from_pandas(FRAME),
        torch.tensor(P),
        torch.tensor(P, requires_grad=True),
        torch.tensor(P, dtype=torch.float32),
        torch.tensor(P, dtype=torch.bfloat16),
        P.astype(object),
    ],
    ids=lambda value: f"{type(value).__module__.split('.')[0]}-{getattr(value, 'dtype', '')}",
)
def test_every_container_gives_the_same_prediction(value):
    prediction = caveat.Categorical(value)
    np.testing.assert_array_equal(prediction.probabilities, P[None])
    assert prediction.probabilities.flags.c_contiguous
    named = hasattr(value, "columns") or hasattr(value, "schema")
    assert prediction.classes.tolist() == (["no", "yes"] if named else [0, 1])


@pytest.mark.parametrize(
    "value",
    [
        pd.Series([1.0, 2.0]),
        pd.Series([1.0, 2.0], dtype="Float64"),
        pd.Series([1, 2], dtype="Int64"),
        pl.Series([1.0, 2.0]),
        pa.array([1.0, 2.0]),
        pa.chunked_array([[1.0], [2.0]]),
        (1.0, 2.0),
        torch.tensor([1, 2]),
        pd.Index([1.0, 2.0]),
    ],
    ids=lambda value: f"{type(value).__module__.split('.')[0]}-{getattr(value, 'dtype', '')}",
)
def test_one_dimensional_containers(value):
    np.testing.assert_array_equal(caveat.Gaussian(value, 1.0).mean, [[[1.0], [2.0]]])


def test_arrow_lists_of_one_length_are_columns():
    column = pa.FixedSizeListArray.from_arrays(pa.array(P.ravel()), 2)
    np.testing.assert_array_equal(caveat.Categorical(column).mean, P)


@pytest.mark.parametrize(
    "value",
    [
        pd.Series([1.0, None], dtype="Float64"),
        pd.Series([1, None], dtype="Int64"),
        pl.Series([1.0, None]),
        pa.array([1.0, None]),
        pd.Series([1.0, None], dtype=object),
    ],
    ids=str,
)
def test_missing_values_are_not_a_number(value):
    with pytest.raises(InvalidValueError, match="mean of sample 1 is nan"):
        caveat.Gaussian(value, 1.0)


def test_low_precision_rows_are_allowed_its_rounding():
    logits = torch.randn(100, 10, generator=torch.Generator().manual_seed(0))
    rows = torch.softmax(logits, dim=1).to(torch.bfloat16)
    assert abs(rows.double().sum(dim=1) - 1).max() > 1e-4
    assert len(caveat.Categorical(rows)) == 100
    with pytest.raises(InvalidValueError, match="sum to"):
        caveat.Categorical(rows.double())


def test_frames_without_columns_or_rows():
    with pytest.raises(ShapeError, match="probabilities is a frame without columns"):
        caveat.Categorical(pd.DataFrame(index=[0, 1]))
    with pytest.raises(ShapeError, match="probabilities is empty"):
        caveat.Categorical(FRAME.iloc[:0])
    with pytest.raises(ShapeError, match="probabilities is empty"):
        caveat.Categorical(pl.from_pandas(FRAME.iloc[:0]))


def test_frames_of_other_things():
    with pytest.raises(InvalidValueError, match="must be real numbers"):
        caveat.Categorical(pd.DataFrame({"a": ["x"], "b": ["y"]}))
    with pytest.raises(InvalidValueError, match="must be real numbers"):
        caveat.Gaussian(pa.array(["x", "y"]), 1.0)


def test_columns_that_cannot_be_labels():
    frame = pd.DataFrame(P, columns=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]))
    with pytest.raises(LabelError, match="classes must"):
        caveat.Categorical(frame)
    assert caveat.Categorical(frame, classes=["a", "b"]).classes.tolist() == ["a", "b"]


def test_labels_come_from_any_container():
    prediction = caveat.Categorical(FRAME)
    for y in (
        ["yes", "no", "yes"],
        pd.Series(["yes", "no", "yes"]),
        pl.Series(["yes", "no", "yes"]),
    ):
        assert prediction.encode(y).tolist() == [1, 0, 1]
    categories = pd.Series(["yes", "no", "yes"], dtype="category")
    assert prediction.encode(categories).tolist() == [1, 0, 1]
    assert caveat.Categorical(P).encode(torch.tensor([1, 0, 1])).tolist() == [1, 0, 1]


def test_targets_are_named_by_the_frame():
    frame = pd.DataFrame({"systolic": [120.0], "diastolic": [80.0]})
    assert caveat.Gaussian(frame, frame / 10).targets.tolist() == ["systolic", "diastolic"]
    assert caveat.Interval(frame, frame + 1, coverage=0.9).targets.tolist() == [
        "systolic",
        "diastolic",
    ]


class Labeled:
    """An array with coordinates, which are columns of its Arrow table."""

    def __init__(self, values):
        self.values = np.asarray(values)
        self.ndim, self.dtype = self.values.ndim, self.values.dtype

    def __array__(self, dtype=None, copy=None):
        return self.values

    def __arrow_c_stream__(self, requested_schema=None):
        raise AssertionError("an array is no table")


def test_arrays_are_read_as_arrays_not_as_tables():
    values = np.array([1.0, 2.0, 4.0])
    np.testing.assert_array_equal(caveat.Gaussian(Labeled(values), 1.0).mean[0, :, 0], values)
    xarray = pytest.importorskip("xarray")
    array = xarray.DataArray(values, dims="x", coords={"x": [5, 6, 7], "b": ("x", [0, 0, 1])})
    assert caveat.Gaussian(array, 1.0).mean.shape == (1, 3, 1)


def test_masked_values_are_missing_ones():
    def read(values, mask):
        return to_numpy(np.ma.array(values, mask=mask), "y").array

    for values in ([1.5, 2.0], [1, 2], [True, False], np.float32([1, 2])):
        result = read(values, [False, True])
        assert result.dtype == (np.float32 if isinstance(values, np.ndarray) else np.float64)
        assert result[0] == values[0]
        assert np.isnan(result[1])
    assert read(["a", "b"], [True, False]).tolist() == [None, "b"]
    assert read([1, 2], False).dtype.kind == "i"
    with pytest.raises(InvalidValueError, match="sample 1, class 0 is nan"):
        caveat.Categorical(np.ma.array([[0.5, 0.5]] * 2, mask=[[False] * 2, [True, False]]))
    with pytest.raises(LabelError, match="y of sample 1 is missing"):
        caveat.evaluate([[0.5, 0.5]] * 2, np.ma.array([0, 1], mask=[0, 1]))
