import datetime
import decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import caveat
from caveat.exceptions import FileFormatError, InvalidValueError, OptionError, ShapeError
from caveat.files import read_features

from .tables import FORMATS, text, write


@pytest.mark.parametrize("ending", FORMATS)
def test_numbers_and_text_of_every_format(tmp_path, ending):
    columns = {
        "a": [0.5, 1.5, 2.5, 3.5],
        "b": [1, 2, 3, 4],
        "color": ["red", "blue", "red", "green"],
        "y": ["no", "yes", "no", "yes"],
    }
    table = read_features(write(tmp_path, ending, columns), "y")
    assert table.names == ("a", "b", "color=blue", "color=green", "color=red")
    expected = [[0.5, 1, 0, 0, 1], [1.5, 2, 1, 0, 0], [2.5, 3, 0, 0, 1], [3.5, 4, 0, 1, 0]]
    assert table.X.tolist() == expected
    assert table.X.dtype == np.float64
    assert table.y.tolist() == columns["y"]
    assert table.task == "classification"
    assert len(table) == 4
    assert table.recognized == (
        "'color' is text: one column for each of 3 values",
        "'y': target with 2 classes",
    )


@pytest.mark.parametrize(
    ("values", "task", "found"),
    [
        (range(20), "auto", "classification"),
        (range(21), "auto", "regression"),
        ([0.5, 1.0], "auto", "regression"),
        ([0.0, 1.0], "auto", "classification"),
        ([0.0, 1.0], "regression", "regression"),
        (range(30), "classification", "classification"),
        (["a", "b"], "auto", "classification"),
    ],
)
def test_classes_or_numbers(tmp_path, values, task, found):
    values = list(values)
    path = write(tmp_path, "parquet", {"x": np.arange(len(values)) / 3, "y": values})
    table = read_features(path, "y", task=task)
    assert table.task == found
    assert table.y.tolist() == values
    assert table.y.dtype.kind == ("f" if found == "regression" else table.y.dtype.kind)


def test_features_by_pattern_and_columns_left_out(tmp_path):
    columns = {"x_1": [1.0, 2], "x_2": [3.0, 4], "id": ["p", "q"], "y": [0, 1], "z": [5.0, 6]}
    path = write(tmp_path, "csv", columns)
    assert read_features(path, "y", feature=["x_*", "x_1"]).names == ("x_1", "x_2")
    assert read_features(path, "y", drop=["id", "x_*"]).names == ("z",)
    for options, message in (
        ({"feature": ["w"]}, "feature='w': there is no such column"),
        ({"drop": ["w*"]}, "drop='w*' matches no column"),
        ({"feature": ["y"]}, "feature='y' is the target"),
    ):
        with pytest.raises(OptionError) as caught:
            read_features(path, "y", **options)
        assert str(caught.value).startswith(f"{path}: {message}")
    with pytest.raises(FileFormatError, match="no column is left to learn from beside 'y'"):
        read_features(path, "y", drop=["x_*", "z", "id"])


def test_features_alone(tmp_path):
    path = write(tmp_path, "csv", {"a": [1.0, 2], "b": ["p", "q"], "y": [0, 1]})
    table = read_features(path, feature=["a", "b"])
    assert (table.y, table.task, len(table)) == (None, "", 2)
    assert table.X.tolist() == [[1, 1, 0], [2, 0, 1]]
    assert table.recognized == ("'b' is text: one column for each of 2 values",)
    assert read_features(path).names == ("a", "b=p", "b=q", "y")
    with pytest.raises(FileFormatError) as caught:
        read_features(path, drop=["a", "b", "y"])
    assert str(caught.value) == f"{path}: no column is left to learn from"


def test_lists_are_a_column_for_each_entry(tmp_path):
    path = tmp_path / "t.parquet"
    wide = pa.array([[1.0, 2], [3, 4]])
    fixed = pa.array([[5.0], [6]], type=pa.list_(pa.float64(), 1))
    pa.parquet.write_table(pa.table({"x": wide, "z": fixed, "y": [0, 1]}), path)
    table = read_features(path, "y")
    assert table.names == ("x_0", "x_1", "z_0")
    assert table.X.tolist() == [[1, 2, 5], [3, 4, 6]]
    with pytest.raises(ShapeError, match="must have one value a row"):
        read_features(path, "x")


def test_the_numbers_of_rows_are_no_feature(tmp_path):
    path = text(tmp_path, ",a,y\n0,1,0\n1,5,1\n")
    table = read_features(path, "y")
    assert table.names == ("a",)
    assert table.recognized[0] == "'': left out, for it numbers the rows"


def test_bits_decimals_and_arrays(tmp_path):
    kind = pa.decimal128(4, 2)
    amounts = pa.array([decimal.Decimal("1.25"), decimal.Decimal("2.50")], type=kind)
    pa.parquet.write_table(
        pa.table({"a": amounts, "on": [True, False], "y": [0.5, 1.5]}), tmp_path / "t.parquet"
    )
    table = read_features(tmp_path / "t.parquet", "y")
    assert table.names == ("a", "on=False", "on=True")
    assert table.X.tolist() == [[1.25, 0, 1], [2.5, 1, 0]]
    np.savez(tmp_path / "t.npz", X=np.arange(6.0).reshape(3, 2), y=np.array([0, 1, 0]))
    table = read_features(tmp_path / "t.npz", "y")
    assert table.names == ("X_0", "X_1")
    assert table.X.tolist() == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.ones((4, 2)), "y": np.arange(3)}, "'X' must have a row for each of 3 samples"),
        ({"X": np.ones((3, 2, 2)), "y": np.arange(3)}, "'X' must have a row for each of 3 samples"),
        ({"X": np.array(["a"] * 4), "y": np.arange(3)}, "'X' must have a row for each of 3 samples"),
        ({"X": np.ones(3), "y": np.ones((3, 2)) / 2}, "target 'y' must have one value a row; got (3, 2)"),
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit(tmp_path, arrays, message):
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(ShapeError) as caught:
        read_features(tmp_path / "t.npz", "y")
    assert str(caught.value) == f"{tmp_path / 't.npz'}: {message}"


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ("a,y\n1,0\n,1\n", InvalidValueError, "column 'a' has no number in data row 2"),
        ("a,y\nx,0\n,1\n", InvalidValueError, "column 'a' has no label in data row 2"),
        ("a,y\n1,no\n2,\n", InvalidValueError, "column 'y' has no label in data row 2"),
        ("a,y\n1,0.5\n2,\n", InvalidValueError, "column 'y' has no number in data row 2"),
        ("a,y\n1,0\ninf,1\n", InvalidValueError, "column 'a' is infinite in data row 2"),
        ("a,y\n1,0.5\n2,inf\n", InvalidValueError, "column 'y' is infinite in data row 2"),
        ("a,y\n", FileFormatError, "there are columns, but no rows below their names"),
        ("y\n1\n", FileFormatError, "no column is left to learn from beside 'y'"),
        ("a,z\n1,2\n", OptionError, "target='y': there is no such column"),
    ],
)
def test_what_cannot_be_learned_from(tmp_path, content, error, message):
    path = text(tmp_path, content)
    with pytest.raises(error) as caught:
        read_features(path, "y")
    assert str(caught.value).startswith(f"{path}: {message}")


def test_names_and_dates_are_no_categories(tmp_path):
    names = [f"person {i}" for i in range(51)]
    path = write(tmp_path, "csv", {"name": names, "x": range(51), "y": range(51)})
    with pytest.raises(InvalidValueError) as caught:
        read_features(path, "y")
    assert str(caught.value) == (
        f"{path}: column 'name' holds text with 51 distinct values, more than the 50 that a "
        "category may have; leave it out, or turn it into numbers first"
    )
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(i) for i in range(60)]
    pa.parquet.write_table(pa.table({"day": days, "y": range(60)}), tmp_path / "d.parquet")
    with pytest.raises(InvalidValueError, match="'day' holds text with 60 distinct values"):
        read_features(tmp_path / "d.parquet", "y")


def test_files_of_another_kind(tmp_path):
    caveat.Categorical([[0.5, 0.5]]).save(tmp_path / "p.npz")
    with pytest.raises(FileFormatError, match="a prediction that caveat saved, not features"):
        read_features(tmp_path / "p.npz", "y")
    with pytest.raises(
        OptionError, match="task must be one of 'auto', 'classification', 'regression'"
    ):
        read_features(tmp_path / "p.npz", "y", task="ranking")
    path = text(tmp_path, "a;y\n1,5;0\n2,5;1\n")
    table = read_features(path, "y")
    assert table.X.tolist() == [[1.5], [2.5]]
    assert table.recognized[0] == "the file is read with delimiter=';' and decimal=','"
    path = text(tmp_path, "a;b;y\n1,5;0.5;0\n2,5;1.5;1\n")
    with pytest.raises(InvalidValueError, match="'a' holds the text '1,5'; for decimal commas add"):
        read_features(path, "y")
    with pytest.raises(
        InvalidValueError, match=r"'b' holds the text '0.5'; for decimal points add"
    ):
        read_features(path, "y", decimal=",")
    assert read_features(path, "y", drop=["b"], decimal=",").X.tolist() == [[1.5], [2.5]]
