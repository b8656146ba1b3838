"""What is missing: an error that names column and row, rows left out, or a group of its own."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import caveat
from caveat._groups import MISSING, attributes
from caveat.exceptions import CaveatError, InvalidValueError, OptionError, ShapeError
from caveat.files import read_predictions

from .tables import FORMATS, text, write

NAN = float("nan")
CONTENT = (
    "p,y,sex,w,patient\n"
    "0.1,no,f,1,a\n"
    "NA,yes,m,2,b\n"
    "0.3,.,f,3,c\n"
    "0.4,yes,,4,d\n"
    "0.5,no,m,NaN,e\n"
    "0.6,yes,f,6,\n"
    "0.7,no,null,7,g\n"
)


@pytest.mark.parametrize(
    ("options", "rows", "words"),
    [
        ({}, [0, 3, 4, 5, 6], "2 of 7 rows are left out: 1 without 'p', 1 without 'y'"),
        (
            {"weight": "w"},
            [0, 3, 5, 6],
            "3 of 7 rows are left out: 1 without 'p', 1 without 'y', 1 without 'w'",
        ),
        (
            {"weight": "w", "cluster": "patient"},
            [0, 3, 6],
            "4 of 7 rows are left out: 1 without 'p', 1 without 'y', 1 without 'w', 1 without "
            "'patient'",
        ),
        (
            {"id": "patient"},
            [0, 3, 4, 6],
            "3 of 7 rows are left out: 1 without 'p', 1 without 'y', 1 without 'patient'",
        ),
    ],
)
def test_rows_are_left_out_with_all_that_belongs_to_them(tmp_path, options, rows, words):
    path = text(tmp_path, CONTENT)
    found = read_predictions(path, group=["sex"], missing="drop", **options)
    frame = pd.read_csv(path, na_values=["."]).iloc[rows]
    assert found.prediction.mean[:, 1].tolist() == frame["p"].tolist()
    assert found.y.tolist() == frame["y"].tolist()
    assert found.rows.tolist() == rows
    ids = frame["patient"].tolist() if "id" in options else [row + 1 for row in rows]
    assert found.ids.tolist() == ids
    assert words in found.recognized
    (sex,) = attributes(found.groups, len(rows))
    assert MISSING in sex.values
    if "weight" in options:
        assert found.sample_weight.tolist() == frame["w"].tolist()
    if "cluster" in options:
        assert found.cluster.tolist() == frame["patient"].tolist()


def test_the_evaluation_is_that_of_the_rows_that_are_left(tmp_path):
    rng = np.random.default_rng(0)
    p, y = rng.random(200), rng.integers(0, 2, 200).astype(float)
    gone = rng.random(200) < 0.2
    p[gone & (np.arange(200) % 2 == 0)] = NAN
    y[gone & (np.arange(200) % 2 == 1)] = NAN
    path = tmp_path / "table.csv"
    pd.DataFrame({"p": p, "y": y}).to_csv(path, index=False, na_rep="NA")
    found = read_predictions(path, missing="drop")
    result = caveat.evaluate(found.prediction, found.y, metrics=["nll"], resamples=0)
    (row,) = result.select(group="")
    p, y = p[~gone], y[~gone]
    assert row.value == pytest.approx(-np.mean(np.where(y == 1, np.log(p), np.log1p(-p))))


def test_nothing_is_left_out_of_a_whole_file(tmp_path):
    path = text(tmp_path, "p,y\n0.5,1\n0.25,0\n")
    found = read_predictions(path, missing="drop")
    assert (found.rows, found.ids, len(found)) == (None, None, 2)
    assert found.recognized == read_predictions(path).recognized


@pytest.mark.parametrize("missing", ["group", "error"])
@pytest.mark.parametrize(
    ("row", "options", "message"),
    [
        ("NA,yes,m,2,b", {}, "column 'p' has no number in data row 2"),
        ("0.3,.,f,3,c", {}, "column 'y' has no label in data row 2"),
        ("0.5,no,m,NaN,e", {"weight": "w"}, "column 'w' has no number in data row 2"),
        ("0.6,yes,f,6,", {"cluster": "patient"}, "column 'patient' has no name in data row 2"),
        ("0.6,yes,f,6,", {"id": "patient"}, "column 'patient' has no name in data row 2"),
    ],
)
def test_what_must_be_known(tmp_path, missing, row, options, message):
    path = text(tmp_path, f"p,y,sex,w,patient\n0.1,no,f,1,a\n{row}\n0.2,yes,f,1,z\n")
    with pytest.raises(InvalidValueError, match=rf"{message}.*; missing='drop' leaves them out$"):
        read_predictions(path, missing=missing, **options)


def test_a_group(tmp_path):
    path = text(tmp_path, "p,y,sex,ward\n0.1,no,f,1\n0.2,yes,NA,\n")
    for missing in ("group", "drop"):
        found = read_predictions(path, group=["sex", "ward"], missing=missing)
        by_value = attributes(found.groups, 2)
        assert [part.values for part in by_value] == [("f", MISSING), ("1", MISSING)]
    for name in ("sex", "ward"):
        with pytest.raises(
            InvalidValueError, match=rf"'{name}' has no group in data row 2 .*missing='group' makes"
        ):
            read_predictions(path, group=[name], missing="error")
    assert read_predictions(path, missing="error").groups is None
    path = text(tmp_path, "p,y,sex,ward\n0.1,no,f,1\n0.2,yes,m,2\n")
    assert len(read_predictions(path, group=["sex", "ward"], missing="error").groups) == 2


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format(tmp_path, ending):
    path = write(tmp_path, ending, {"p": [0.5, NAN, 0.2], "y": [1.0, 1.0, 0.0]})
    found = read_predictions(path, missing="drop")
    assert found.prediction.mean[:, 1].tolist() == [0.5, 0.2]
    assert found.ids.tolist() == [1, 3]


def test_arrays_of_an_npz(tmp_path):
    path = tmp_path / "a.npz"
    p = np.random.default_rng(0).dirichlet(np.ones(3), (2, 4))
    p[1, 2, 0] = NAN
    np.savez(path, p=p, y=np.arange(4) % 3)
    found = read_predictions(path, missing="drop")
    np.testing.assert_array_equal(found.prediction.probabilities, p[:, [0, 1, 3]])
    values = np.array([[1.0, 2], [NAN, 3], [4, 5]])
    np.savez(path, quantiles=values, levels=[0.1, 0.9], y=[1.0, 2.0, 3.0])
    found = read_predictions(path, missing="drop")
    np.testing.assert_array_equal(found.prediction.values[0, :, 0], values[[0, 2]])
    assert found.prediction.levels.tolist() == [0.1, 0.9]
    np.savez(path, p=np.array([[[0, 1], [1, 0]]]), y=[0, 1])
    assert read_predictions(path, missing="drop").rows is None


@pytest.mark.parametrize("kind", [pa.list_(pa.float64()), pa.list_(pa.float64(), 2)])
def test_columns_of_lists(tmp_path, kind):
    path = tmp_path / "a.parquet"
    lists = pa.array([[0.1, 0.9], None, [0.2, None], [0.3, NAN], [0.4, 0.6]], kind)
    table = pa.table({"p": lists, "y": [0, 1, 1, 1, 1]})
    pa.parquet.write_table(table, path, row_group_size=2)
    found = read_predictions(path, missing="drop")
    assert found.prediction.probabilities[0].tolist() == [[0.1, 0.9], [0.4, 0.6]]


def test_a_regression_of_several_targets(tmp_path):
    path = text(
        tmp_path, "mean_a,mean_b,std_a,std_b,y_a,y_b\n1,2,1,1,1,2\n3,4,1,1,3,\n5,6,1,,5,6\n"
    )
    found = read_predictions(path, missing="drop")
    np.testing.assert_array_equal(found.y, [[1, 2], [3, np.nan]])
    assert "1 of 3 rows are left out: 1 without 'std_b'" in found.recognized
    words = "of 2 rows 1 without 'y_b': each is left out of that target only"
    assert words in found.recognized


def test_two_files(tmp_path):
    first = text(tmp_path, "p\n0.5\n\n0.25\nNA\n".replace("\n\n", '\n""\n'), "first.csv")
    second = text(tmp_path, "y;sex\nno;f\nyes;m\n;m\nno;f\n", "second.csv")
    with pytest.raises(CaveatError, match="missing='drop' leaves no row"):
        read_predictions(text(tmp_path, "p\nNA\nNA\n"), missing="drop")
    options = {"target_file": second, "group": ["sex"], "missing": "drop"}
    found = read_predictions(first, positive="yes", **options)
    assert (found.rows.tolist(), found.y.tolist()) == ([0], ["no"])
    assert found.recognized[0] == "the file is read with delimiter=';'"
    first = text(tmp_path, "a,b,a_unc,b_unc\n,2,1,1\n3,4,1,1\n5,6,1,1\n", "first.csv")
    second = text(tmp_path, "a,b\n1,2\n3,\n5,6\n", "second.csv")
    found = read_predictions(first, target_file=second, missing="drop")
    assert found.rows.tolist() == [1, 2]
    np.testing.assert_array_equal(found.y, [[3, np.nan], [5, 6]])
    assert "1 of 3 rows are left out: 1 without 'a'" in found.recognized
    first = text(tmp_path, "p\n0.5\n0.25\n0.1\n0.2\n", "first.csv")
    short = text(tmp_path, "y\nno\nyes\n", "short.csv")
    with pytest.raises(ShapeError, match="'y' has 2 rows, the prediction has 4; each sample needs"):
        read_predictions(first, target_file=short, missing="drop")


def test_a_saved_prediction(tmp_path):
    path = tmp_path / "saved.npz"
    p = np.array([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]])
    caveat.Categorical(p, classes=["a", "b"]).save(path)
    other = text(tmp_path, "y;sex\na;f\n;m\nb;f\n")
    found = read_predictions(path, target_file=other, group=["sex"], missing="drop")
    np.testing.assert_array_equal(found.prediction.mean, p[[0, 2]])
    assert (found.y.tolist(), found.groups["sex"].tolist()) == (["a", "b"], ["f", "f"])
    assert found.recognized[1] == "the file is read with delimiter=';'"
    assert "1 of 3 rows are left out: 1 without 'y'" in found.recognized
    with pytest.raises(
        CaveatError, match=r"'y' has no label in data row 2 .*missing='drop' leaves"
    ):
        read_predictions(path, target_file=other)
    with pytest.raises(ShapeError, match="'y' has 1 row, the prediction has 3"):
        read_predictions(path, target_file=text(tmp_path, "y\na\n"), missing="drop")


def test_an_error_in_a_row_that_is_left(tmp_path):
    path = text(tmp_path, "p_a,p_b,y\n0.5,0.5,a\n0.5,0.5,\n0.5,0.5,c\n")
    message = r"'y' is 'c' in data row 2, .* \(rows are counted without those left out\)$"
    with pytest.raises(CaveatError, match=message):
        read_predictions(path, missing="drop")
    with pytest.raises(CaveatError, match=r"'y' is 'c' in data row 1, but the classes .*'b'$"):
        read_predictions(text(tmp_path, "p_a,p_b,y\n0.5,0.5,c\n"), missing="drop")


def test_everything_is_missing(tmp_path):
    path = text(tmp_path, "p,y\n0.5,\n,1\n")
    with pytest.raises(
        InvalidValueError, match="missing='drop' leaves no row of 2: 1 without 'p', 1 without 'y'"
    ):
        read_predictions(path, missing="drop")


def test_a_word_that_is_no_choice(tmp_path):
    with pytest.raises(OptionError, match="missing must be one of 'group', 'error', 'drop'; got"):
        read_predictions(tmp_path / "none.csv", missing="ignore")


def test_namibia_is_kept_while_rows_are_left_out(tmp_path):
    path = text(tmp_path, "p,y,land\n0.5,NA,NA\n0.25,AO,\n,AO,AO\n0.75,,AO\n")
    found = read_predictions(path, group=["land"], missing="drop", keep_na=True)
    assert found.y.tolist() == ["NA", "AO"]
    assert found.groups["land"].tolist() == ["NA", None]


@pytest.mark.parametrize("missing", ["group", "drop"])
def test_a_truth_that_is_not_needed(tmp_path, missing):
    path = text(tmp_path, "p_a,p_b,y\n0.1,0.9,a\n0.3,0.7,\n0.5,0.5,b\n")
    found = read_predictions(path, need_truth=False, missing=missing)
    assert len(found) == 3
    assert found.y is None
    assert "'y': not used as target, for 1 of 3 rows have no value" in found.recognized
    path = text(tmp_path, "p_a,p_b,y\n0.1,0.9,a\n0.3,0.7,b\n", "full.csv")
    assert read_predictions(path, need_truth=False).y.tolist() == ["a", "b"]
    saved = tmp_path / "saved.npz"
    caveat.Categorical([[0.1, 0.9], [0.3, 0.7]], classes=["a", "b"]).save(saved)
    other = text(tmp_path, "y,sex\n,f\n,m\n", "other.csv")
    found = read_predictions(saved, target_file=other, need_truth=False, missing=missing)
    assert (len(found), found.y) == (2, None)
