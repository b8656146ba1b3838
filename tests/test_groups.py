from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from caveat._groups import MISSING, attributes, combined
from caveat.exceptions import OptionError, ShapeError


@pytest.mark.parametrize(
    ("groups", "name"),
    [
        (["b", "a", "b"], "group"),
        (np.array(["b", "a", "b"]), "group"),
        (pd.Series(["b", "a", "b"], name="sex"), "sex"),
        (pd.Series(["b", "a", "b"], name="sex", dtype="category"), "sex"),
        (pl.Series("sex", ["b", "a", "b"]), "sex"),
        ({"sex": ["b", "a", "b"]}, "sex"),
        (pd.DataFrame({"sex": ["b", "a", "b"]}), "sex"),
        (pl.DataFrame({"sex": ["b", "a", "b"]}), "sex"),
    ],
)
def test_one_attribute(groups, name):
    (attribute,) = attributes(groups, 3)
    assert attribute.name == name
    assert attribute.values == ("a", "b")
    assert attribute.codes.tolist() == [1, 0, 1]


def test_numbers_keep_their_order():
    (attribute,) = attributes([10, 9, 10], 3)
    assert attribute.values == ("9", "10")
    (truth,) = attributes([True, False, True], 3)
    assert truth.values == ("False", "True")


@pytest.mark.parametrize(
    "column",
    [
        np.array([0.1, 2.0, 1.5]),
        np.array([0.1, 2.0, 1.5], dtype=np.float32),
        [Decimal("0.10"), Decimal("2.00"), Decimal("1.5000")],
        pa.array([0.1, 2.0, 1.5], type=pa.float32()),
        pd.Series([0.1, 2.0, 1.5, None], dtype="float32"),
        pd.Series([0.1, 2.0, 1.5, None], dtype="Float32"),
    ],
    ids=["double", "single", "decimal", "arrow", "pandas", "nullable"],
)
def test_names_of_numbers_do_not_depend_on_their_precision(column):
    (attribute,) = attributes({"g": column}, len(column))
    assert [name for name in attribute.values if name != MISSING] == ["0.1", "1.5", "2"]


@pytest.mark.parametrize(
    "column",
    [
        [1.0, np.nan, 2.0],
        np.array(["x", None, "y"], dtype=object),
        np.array(["x", np.nan, "y"], dtype=object),
        pd.Series(["x", pd.NA, "y"]),
        pd.Series([1, pd.NA, 2], dtype="Int64"),
        pl.Series(["x", None, "y"]),
    ],
    ids=str,
)
def test_missing_values_are_a_group_of_their_own(column):
    (attribute,) = attributes(column, 3)
    assert attribute.values[-1] == MISSING
    assert attribute.codes.tolist() == [0, 2, 1]


def test_combinations_that_occur():
    both = combined({"sex": ["f", "m", "f", "f"], "age": [1, 1, 2, 1]}, 4)
    assert both.name == "sex x age"
    assert both.values == ("sex=f, age=1", "sex=f, age=2", "sex=m, age=1")
    assert both.codes.tolist() == [0, 2, 1, 0]
    assert combined(["a", "b"], 2).values == ("a", "b")


@pytest.mark.parametrize(
    ("groups", "error", "text"),
    [
        (["a"], ShapeError, r"groups\['group'\] must be one value for each of 2 samples"),
        ({}, ShapeError, "names no attribute"),
        ([["a", "b"], ["c", "d"]], ShapeError, "a dict of such arrays or a frame; got shape"),
        ({"x": [["a"], ["b"]]}, ShapeError, r"groups\['x'\] must be one value"),
    ],
)
def test_errors(groups, error, text):
    with pytest.raises(error, match=text):
        attributes(groups, 2)


def test_thousands_of_values_are_not_groups():
    with pytest.raises(
        OptionError, match=r"has 2000 different values; cut it into a few bins first"
    ):
        attributes(np.arange(2000.0), 2000)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_a_frame_keep_their_types(frame):
    ward, age = attributes(frame({"ward": [1, 2, 1], "age": [0.5, 1.5, 0.5]}), 3)
    assert (ward.values, age.values) == (("1", "2"), ("0.5", "1.5"))


def test_an_arrow_table():
    first, second = attributes(pa.table({"a": ["x", "y"], "b": ["u", "u"]}), 2)
    assert (first.name, first.values, second.values) == ("a", ("x", "y"), ("u",))


def test_an_arrow_stream():
    first, second = attributes(pa.table({"a": ["x", "y"], "b": ["u", "u"]}).to_reader(), 2)
    assert (first.name, first.values, second.values) == ("a", ("x", "y"), ("u",))


@pytest.mark.parametrize("made", [pa.table, pa.RecordBatch.from_pydict])
def test_columns_of_an_arrow_table_keep_their_types(made):
    columns = {"ward": pa.array([9, None, 10]), "old": [True, None, False], "age": [0.5, 1.5, 0.5]}
    ward, old, age = attributes(made(columns), 3)
    assert ward.values == ("9", "10", MISSING)
    assert ward.codes.tolist() == [0, 2, 1]
    assert old.values == ("False", "True", MISSING)
    assert age.values == ("0.5", "1.5")


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([9, pd.NA, 10], dtype="Int64"),
        pd.Series([9, pd.NA, 10], dtype="UInt8"),
        pl.Series([9, None, 10]),
        pa.array([9, None, 10]),
        [9, None, 10],
    ],
    ids=["pandas", "unsigned", "polars", "arrow", "list"],
)
def test_whole_numbers_stay_so_beside_missing_ones(column):
    for groups in (column, {"ward": column}):
        (attribute,) = attributes(groups, 3)
        assert attribute.values == ("9", "10", MISSING)
        assert attribute.codes.tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    "column",
    [pd.Series([True, pd.NA, False], dtype="boolean"), pl.Series([True, None, False])],
    ids=["pandas", "polars"],
)
def test_truth_values_stay_so_beside_missing_ones(column):
    (attribute,) = attributes({"old": column}, 3)
    assert attribute.values == ("False", "True", MISSING)
    assert attribute.codes.tolist() == [1, 2, 0]


def test_numbers_with_a_point_and_names_of_intervals_are_what_they_were():
    (attribute,) = attributes(pd.Series([1.0, np.nan, 2.5]), 3)
    assert attribute.values == ("1", "2.5", MISSING)
    bins = pd.Series(pd.arrays.IntervalArray.from_tuples([(0, 1), (1, 2), (0, 1)]))
    (attribute,) = attributes(bins, 3)
    assert attribute.values == ("(0, 1]", "(1, 2]")
    (attribute,) = attributes([10**30, None, 7], 3)
    assert attribute.values == ("7", str(10**30), MISSING)


@pytest.mark.parametrize("series", [pd.Series, pl.Series])
def test_whole_numbers_beyond_those_with_a_sign(series):
    dtype = {"dtype": "UInt64" if series is pd.Series else pl.UInt64}
    (attribute,) = attributes(series([2**63 + 2**40, None, 7], **dtype), 3)
    assert attribute.values == ("7", str(2**63 + 2**40), MISSING)


def test_what_is_called_missing_is_missing():
    column = np.array(["(missing)", None, "a", np.nan, "(missing)"], dtype=object)
    (attribute,) = attributes(column, 5)
    assert attribute.values == ("a", MISSING)
    assert attribute.codes.tolist() == [1, 1, 0, 1, 1]
    (only,) = attributes(["(missing)", "a", "b"], 3)
    assert only.values == (MISSING, "a", "b")


@pytest.mark.parametrize(
    "groups",
    [
        pd.DataFrame(np.zeros((3, 2)), columns=["a", "a"]),
        pd.DataFrame({1: [0, 0, 1], "1": [1, 0, 0]}),
        {1: [0, 0, 1], "1": [1, 0, 0]},
        pa.table([pa.array([1, 2, 3])] * 2, names=["a", "a"]),
    ],
    ids=["frame", "frame of numbers and text", "dict", "arrow"],
)
def test_a_name_that_stands_for_two_attributes(groups):
    with pytest.raises(ShapeError, match=r"groups has more than one column '[a1]'; give each its"):
        attributes(groups, 3)
