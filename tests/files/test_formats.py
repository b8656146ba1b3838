"""Every format gives the same prediction, and a broken file one line."""

import gzip
import pickle
import random
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import caveat
from caveat.exceptions import CaveatError, FileFormatError, OptionError
from caveat.files import column_names, read_predictions

from .tables import FORMATS, text, write

rng = np.random.default_rng(0)
P = rng.dirichlet(np.ones(3), 7)
Y = np.array([2, 0, 1, 1, 0, 2, 2])
SEX = np.array(["f", "m", "f", "f", "m", "ü", "x<y"])


def table() -> dict:
    return {
        **{f"p_{name}": P[:, i] for i, name in enumerate(["été", "b", "c"])},
        "y": np.array(["été", "b", "c"])[Y],
        "sex": SEX,
        "id": [f"00{i}" for i in range(7)],
    }


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_gives_the_same(tmp_path, ending):
    found = read_predictions(write(tmp_path, ending, table()), group=["sex"])
    assert found.prediction.classes.tolist() == ["été", "b", "c"]
    np.testing.assert_allclose(found.prediction.probabilities[0], P, rtol=0, atol=1e-14)
    assert found.y.tolist() == table()["y"].tolist()
    assert found.groups["sex"].tolist() == SEX.tolist()
    assert found.ids.tolist() == table()["id"]
    assert len(found) == 7
    assert found.recognized == (
        "'p_été', 'p_b', 'p_c': probabilities of the classes 'été', 'b', 'c'",
        "'y': target",
        "'sex': group",
        "'id': id",
    )


@pytest.mark.parametrize("ending", FORMATS)
def test_the_names_of_the_columns(tmp_path, ending):
    assert column_names(write(tmp_path, ending, table())) == list(table())


def test_float32_keeps_its_own_tolerance(tmp_path):
    p = P.astype(np.float32) * np.float32(1 + 3e-6)
    columns = {f"p_{i}": p[:, i] for i in range(3)}
    found = read_predictions(write(tmp_path, "parquet", {**columns, "y": Y}))
    np.testing.assert_allclose(found.prediction.probabilities[0], P, rtol=1e-6, atol=1e-9)
    double = {name: column.astype(np.float64) for name, column in columns.items()}
    with pytest.raises(CaveatError, match="sum to 1; normalize=True divides each row by its sum"):
        read_predictions(write(tmp_path, "parquet", {**double, "y": Y}))
    columns["p_2"] = columns["p_2"].astype(np.float64)
    with pytest.raises(CaveatError, match="sum to 1; normalize=True"):
        read_predictions(write(tmp_path, "parquet", {**columns, "y": Y}))


def test_only_the_columns_that_are_needed_are_read(tmp_path):
    path = write(tmp_path, "parquet", {**table(), "unused": np.arange(7.0)})
    content = bytearray(path.read_bytes())
    column = pa.parquet.ParquetFile(path).metadata.row_group(0).column(6)
    start = column.dictionary_page_offset or column.data_page_offset
    content[start : start + column.total_compressed_size] = b"\0" * column.total_compressed_size
    path.write_bytes(content)
    with pytest.raises(OSError, match=r"[Dd]eserialize"):
        pa.parquet.read_table(path)
    assert len(read_predictions(path)) == 7


def test_arrays_of_an_npz(tmp_path):
    members = np.stack([P, P[::-1]])
    path = tmp_path / "a.npz"
    np.savez(path, p=members, y=Y)
    found = read_predictions(path)
    np.testing.assert_array_equal(found.prediction.probabilities, members)
    assert found.recognized[0] == "'p': probabilities of the classes 0, 1, 2, 2 members"
    np.savez(path, p=P, y=np.array(["a", "b", "c"])[Y][:, None])
    found = read_predictions(path)
    assert found.y.tolist() == np.array(["a", "b", "c"])[Y].tolist()
    assert found.recognized[0] == "the classes are the labels of 'y', in sorted order"
    np.savez(path, mean=P, std=P, y=P)
    found = read_predictions(path)
    np.testing.assert_array_equal(found.prediction.mean[0], P)
    np.testing.assert_array_equal(found.prediction.variance[0], P**2)
    np.testing.assert_array_equal(found.y, P)
    np.savez(path, quantiles=np.sort(P), levels=[0.1, 0.5, 0.9], y=P[:, 0])
    found = read_predictions(path)
    assert found.prediction.levels.tolist() == [0.1, 0.5, 0.9]
    assert found.recognized[0] == "'quantiles': quantiles at 'levels'"
    np.savez(path, lower=P, upper=P + 1, y=P)
    assert read_predictions(path, coverage=0.8).prediction.upper.tolist() == (P + 1).tolist()


def test_what_an_npz_may_not_hold(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, p=P, y=np.array([{}] * 7, dtype=object))
    with pytest.raises(
        FileFormatError, match=r"a\.npz: the array 'y' holds Python objects, and load"
    ):
        read_predictions(path)
    np.savez(path, p=P, y=3)
    with pytest.raises(FileFormatError, match="the array 'y' is a single value, not a column"):
        read_predictions(path)
    for stored in (b"", b"0, 1, 2", pickle.dumps(Y)):
        np.savez(path, p=P)
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("y.npy", stored)
        with pytest.raises(FileFormatError, match=r"a\.npz: the member 'y' is not an array of num"):
            read_predictions(path)
    np.savez(path, p=P.astype(str), y=Y)
    with pytest.raises(CaveatError, match="'p' must be numbers; got an array of <U"):
        read_predictions(path)
    np.savez(path, p=P, y=np.stack([Y, Y], axis=1))
    with pytest.raises(CaveatError, match=r"'y' must have one label a row; got shape \(7, 2\)"):
        read_predictions(path)
    np.savez(path, p=P, y=Y, sex=P)
    with pytest.raises(CaveatError, match=r"'sex' must have one value a row; got shape \(7, 3\)"):
        read_predictions(path, group=["sex"])
    p = np.stack([P, P])
    p[1, 4, 0] = np.nan
    np.savez(path, p=p, y=Y)
    with pytest.raises(
        CaveatError, match=r"'p' has no number in data row 5 \(1 of 7 rows have none\)"
    ):
        read_predictions(path)
    np.savez(path, p_a=P, p_b=P, y=Y)
    with pytest.raises(CaveatError, match="'p_a' is an array already and cannot be one of several"):
        read_predictions(path)
    np.savez(path, p=P, y=np.arange(7) + 100)
    with pytest.raises(
        CaveatError, match="'y' has 7 different labels, but there are 3 classes witho"
    ):
        read_predictions(path)
    np.savez(path, p=P, y=Y[:5])
    with pytest.raises(
        CaveatError, match="the target has 5 rows, the prediction has 7; each sample"
    ):
        read_predictions(path)


def test_columns_of_lists(tmp_path):
    path = tmp_path / "a.parquet"
    pa.parquet.write_table(pa.table({"p": P.tolist(), "y": Y}), path)
    np.testing.assert_array_equal(read_predictions(path).prediction.probabilities[0], P)
    lists = P.tolist()
    lists[3] = [1.0]
    pa.parquet.write_table(pa.table({"p": lists, "y": Y}), path)
    with pytest.raises(
        CaveatError, match="lists of one length; data row 4 has 1 entries, the first has 3"
    ):
        read_predictions(path)
    lists[3] = None
    pa.parquet.write_table(pa.table({"p": lists, "y": Y}), path)
    with pytest.raises(CaveatError, match="'p' has no list in data row 4"):
        read_predictions(path)
    pa.parquet.write_table(pa.table({"p": P.tolist(), "y": [[1]] * 7}), path)
    with pytest.raises(
        CaveatError, match="column 'y' must have one value a row, not lists or record"
    ):
        read_predictions(path)
    pa.parquet.write_table(pa.table({"p": P.tolist(), "y": Y, "sex": [b"\xff"] * 7}), path)
    with pytest.raises(CaveatError, match="column 'sex' is not UTF-8 text; store it as text"):
        read_predictions(path, group=["sex"])


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_a_saved_prediction_takes_its_target_from_another_file(tmp_path, ending):
    path = tmp_path / f"saved.{ending}"
    prediction = caveat.Categorical(P, classes=["été", "b", "c"])
    prediction.save(path)
    alone = read_predictions(path)
    assert alone.prediction == prediction
    assert alone.y is None
    other = write(tmp_path, "csv", table())
    found = read_predictions(path, target_file=other, group=["sex"])
    assert found.y.tolist() == table()["y"].tolist()
    assert found.ids.tolist() == table()["id"]
    assert found.recognized[0].startswith(
        "a prediction that caveat saved: Categorical: 1 member x 7"
    )
    with pytest.raises(
        OptionError, match="probability= names columns, but the file is a prediction"
    ):
        read_predictions(path, probability="p_*")
    caveat.Gaussian(P, P, targets=["a", "b", "c"]).save(path)
    numbers = write(tmp_path, "csv", {"c": P[:, 2], "y_a": P[:, 0], "b": P[:, 1]}, "numbers")
    np.testing.assert_array_equal(read_predictions(path, target_file=numbers).y, P)
    assert column_names(path) == []


def test_target_and_prediction_in_two_files(tmp_path):
    first = write(tmp_path, "csv", {f"p_{i}": P[:, i] for i in range(3)}, "first")
    second = write(tmp_path, "parquet", {"label": Y, "id": np.arange(7)}, "second")
    found = read_predictions(first, target_file=second)
    assert found.y.tolist() == Y.tolist()
    assert found.ids.tolist() == list(range(7))


@pytest.mark.parametrize("ending", ["csv.gz", "parquet", "npz", "arrow", "stream.arrow", "jsonl"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_a_truncated_file_is_one_line(tmp_path, ending, share):
    path = write(tmp_path, ending, table())
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(FileFormatError) as caught:
        read_predictions(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("ending", ["parquet", "npz", "arrow", "feather", "jsonl"])
def test_a_file_of_another_kind_is_one_line(tmp_path, ending):
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_predictions(text(tmp_path, "p_0,p_1,y\n1,0,0\n", f"table.{ending}"))


def test_what_is_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.csv does not exist"):
        read_predictions(tmp_path / "none.csv")
    with pytest.raises(FileFormatError, match="is a folder; give one file"):
        read_predictions(tmp_path)
    with pytest.raises(FileFormatError, match=r"is not known; caveat reads CSV .* and JSON lines"):
        read_predictions(text(tmp_path, "a", "table.xlsx"))
    for ending in ("csv", "npz", "parquet"):
        with pytest.raises(FileFormatError, match=f"table.{ending} is empty"):
            read_predictions(text(tmp_path, "", f"table.{ending}"))


def test_bombs_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("caveat.predictions.files._MOST_BYTES", 2**16)
    monkeypatch.setattr("caveat.predictions.files._MOST_RATIO", 20)
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"p,y\n" + b"0.5,1\n" * 10**6))
    with pytest.raises(FileFormatError, match="refused as a decompression bomb"):
        read_predictions(path)
    path = tmp_path / "bomb.npz"
    np.savez(path, p=P, y=Y)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("z.npy", bytes(2**17))
    assert len(read_predictions(path)) == 7
    with pytest.raises(FileFormatError, match="refused as a decompression bomb"):
        read_predictions(path, weight="z")
    path = tmp_path / "bomb.parquet"
    pa.parquet.write_table(pa.table({"p": np.zeros(10**5), "y": np.zeros(10**5)}), path)
    with pytest.raises(FileFormatError, match="refused as a decompression bomb"):
        read_predictions(path)


@pytest.mark.parametrize("ending", FORMATS)
def test_a_damaged_file_never_crashes(tmp_path, ending):
    chance = random.Random(0)
    path = write(tmp_path, ending, table())
    content = path.read_bytes()
    outcomes = set()
    for _ in range(60):
        damaged = bytearray(content)
        for _ in range(chance.choice([1, 2, 5, 30])):
            place = chance.randrange(len(damaged))
            damaged[place : place + chance.choice([0, 1, 1, 5])] = chance.randbytes(1)
        path.write_bytes(damaged)
        try:
            found = read_predictions(path, group=["sex"])
        except CaveatError as error:
            outcomes.add(str(error).startswith(str(path)))
        else:
            assert np.isfinite(found.prediction.probabilities).all()
    assert outcomes == {True}


@pytest.mark.parametrize("kind", [">f8", ">f4", "longdouble", "f2"])
def test_numbers_of_any_precision_and_byte_order(tmp_path, kind):
    path = tmp_path / "a.npz"
    p = np.array([0.25, 0.5, 0.75])
    np.savez(path, p=p.astype(kind), y=np.array([0, 1, 1], dtype=">i4"))
    found = read_predictions(path)
    np.testing.assert_array_equal(found.prediction.mean[:, 1], p)
    assert found.y.tolist() == [0, 1, 1]


def test_arrays_that_are_no_numbers(tmp_path):
    path = tmp_path / "a.npz"
    for array in (np.array([1j, 2]), np.zeros(2, dtype=[("a", int), ("b", float)])):
        np.savez(path, p=array, y=[0, 1])
        with pytest.raises(
            FileFormatError, match=r"the array 'p' holds .*; store numbers or text i"
        ):
            read_predictions(path)


@pytest.mark.parametrize("gone", [None, float("nan")])
def test_a_list_with_a_missing_number(tmp_path, gone):
    path = tmp_path / "a.parquet"
    pa.parquet.write_table(
        pa.table({"p": [[0.1, 0.9], [0.2, 0.8], [0.3, gone]], "y": [0, 1, 1]}), path
    )
    with pytest.raises(CaveatError, match=r"'p' has no number in data row 3 \(1 of 3 rows have n"):
        read_predictions(path)


def test_lists_without_entries(tmp_path):
    path = tmp_path / "a.parquet"
    lists = pa.array([[], []], type=pa.list_(pa.float64()))
    pa.parquet.write_table(pa.table({"p": lists, "y": [0, 1]}), path)
    with pytest.raises(CaveatError, match=r"there are 0 classes|shape"):
        read_predictions(path)


def test_values_nested_too_deeply(tmp_path):
    depth = 1500
    path = text(tmp_path, '{"p":' + "[" * depth + "]" * depth + ',"y":1}\n', "a.jsonl")
    with pytest.raises(FileFormatError, match=r"nested too deeply|cannot be read"):
        read_predictions(path)
