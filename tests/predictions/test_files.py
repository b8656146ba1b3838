import io
import json
import pickle
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import caveat
from caveat.exceptions import FileFormatError
from caveat.files import read_predictions
from caveat.predictions import files as _files

from .examples import every_type

EVERY = pytest.mark.parametrize("prediction", every_type(), ids=lambda p: type(p).__name__)
BOTH = pytest.mark.parametrize("ending", ["npz", "parquet"])


@EVERY
@BOTH
def test_round_trip(prediction, ending, tmp_path):
    path = tmp_path / f"prediction.{ending}"
    prediction.save(path)
    back = caveat.load(path)
    assert back == prediction
    for name in back._shared:
        mine, theirs = getattr(back, name), getattr(prediction, name)
        assert type(mine) is type(theirs)
        assert getattr(mine, "dtype", None) == getattr(theirs, "dtype", None)


@EVERY
def test_parquet_has_a_row_for_each_sample(prediction, tmp_path):
    path = tmp_path / "prediction.parquet"
    prediction.save(str(path))
    assert pq.read_table(path).num_rows == len(prediction)


def header(**change):
    good = {
        "type": "Gaussian",
        "version": 1,
        "shared": {"targets": [0]},
        "shapes": {"mean": [1, 2, 1], "variance": [1, 2, 1]},
    }
    return json.dumps({**good, **change})


def npy_with_header(text):
    """The bytes of an .npy file whose header is this text."""
    line = text.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(line).to_bytes(2, "little") + line + bytes(16)


def write_npz(path, text, **arrays):
    two = np.ones((1, 2, 1))
    np.savez(path, caveat=text, **{"mean": two, "variance": two, **arrays})


def write_parquet(path, text, **columns):
    two = pa.FixedSizeListArray.from_arrays(pa.array([1.0, 1.0]), 1)
    table = pa.table({"mean": two, "variance": two, **columns})
    pq.write_table(table.replace_schema_metadata({"caveat": text}), path)


WRITERS = pytest.mark.parametrize("write", [write_npz, write_parquet], ids=["npz", "parquet"])


@WRITERS
def test_the_writers_below_write_what_is_read(write, tmp_path):
    path = tmp_path / f"file.{write.__name__.removeprefix('write_')}"
    write(path, header())
    assert caveat.load(path) == caveat.Gaussian([1.0, 1.0], 1.0)


@WRITERS
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (header(type="os.system"), "does not name a type that caveat knows"),
        (header(type=["Gaussian"]), "cannot be read"),
        ("[]", "does not name a type that caveat knows"),
        ("{", "the header is not JSON that caveat wrote"),
        ("[" * 100_000, "the header is not JSON that caveat wrote"),
        (header(version=99), "written in version 99 of the format, and this caveat reads up to 1"),
        (header(version="1"), "install a newer one"),
        (header(shared={}), r"a Gaussian needs \['targets'\] in its header"),
        (header(shared=None), r"a Gaussian needs \['targets'\] in its header"),
        (header(shapes={}), "needs the shapes of"),
        (header(shapes=3), "needs the shapes of"),
        (header(shapes={"mean": [2, 1, 1], "variance": [1, 2, 1]}), "mean should have shape"),
        (header(shapes={"mean": [], "variance": [1, 2, 1]}), "file"),
        (header(shapes={"mean": ["x", 2, 1], "variance": [1, 2, 1]}), "file"),
        (header(shapes={"mean": [1, 7, 1], "variance": [1, 2, 1]}), "mean should have shape"),
        (
            header(shared={"targets": ["a", "b"]}),
            "does not hold a valid prediction: targets must be",
        ),
    ],
)
def test_hostile_headers(write, text, message, tmp_path):
    path = tmp_path / f"file.{write.__name__.removeprefix('write_')}"
    write(path, text)
    with pytest.raises(FileFormatError, match=message):
        caveat.load(path)


def test_hostile_arrays_in_npz(tmp_path):
    path = tmp_path / "file.npz"
    write_npz(path, header(), mean=np.full((1, 2, 1), np.nan))
    with pytest.raises(FileFormatError, match="valid prediction: mean of sample 0 is nan"):
        caveat.load(path)
    np.savez(path, mean=np.ones(2))
    with pytest.raises(FileFormatError, match="without the header that caveat writes"):
        caveat.load(path)
    np.savez(path, caveat=header(), mean=np.ones((1, 2, 1)))
    with pytest.raises(FileFormatError, match=r"needs the arrays \['variance'\]"):
        caveat.load(path)


NO_ARRAYS = [
    pytest.param(b"", "the member 'mean' is not an array of numpy; write", id="empty"),
    pytest.param(b"1.0, 2.0", "the member 'mean' is not an array of numpy; write", id="text"),
    pytest.param(
        pickle.dumps([1.0]), "the member 'mean' is not an array of numpy; write", id="pickle"
    ),
    pytest.param(
        npy_with_header("(" * 5000), "the array 'mean' cannot be read: ", id="nested header"
    ),
    pytest.param(
        npy_with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}"),
        "the array 'mean' cannot be read: ",
        id="negative shape",
    ),
    pytest.param(
        npy_with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (2**62, 2**62)}"),
        "the array 'mean' cannot be read: ",
        id="huge shape",
    ),
    pytest.param(
        npy_with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999999,)}"),
        "the array 'mean' cannot be read: ",
        id="more than there is",
    ),
]


@pytest.mark.parametrize("member", ["mean", "caveat"])
@pytest.mark.parametrize(("content", "message"), NO_ARRAYS)
def test_members_that_are_no_arrays(tmp_path, member, content, message):
    path = tmp_path / "file.npz"
    write_npz(path, header())
    with zipfile.ZipFile(path) as archive:
        good = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, stored in {**good, f"{member}.npy": content}.items():
            archive.writestr(name, stored)
    with pytest.raises(FileFormatError, match=message.replace("mean", member)) as caught:
        caveat.load(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(FileFormatError, match=message.replace("mean", member)):
        read_predictions(path)


def test_a_member_that_is_encrypted(tmp_path):
    path = tmp_path / "file.npz"
    write_npz(path, header())
    content = bytearray(path.read_bytes())
    place = content.rindex(b"PK\x01\x02")  # of the last member, variance
    content[place + 8] |= 1
    start = int.from_bytes(content[place + 42 : place + 46], "little")
    content[start + 6] |= 1
    path.write_bytes(content)
    with pytest.raises(
        FileFormatError, match=r"the array 'variance' cannot be read: File .* encry"
    ):
        caveat.load(path)


class Boom:
    def __reduce__(self):
        return (exec, ("raise SystemExit('code was run')",))


def test_pickles_are_refused(tmp_path):
    path = tmp_path / "file.npz"
    hostile = np.empty((1, 2, 1), dtype=object)
    hostile[:] = [[[Boom()], [Boom()]]]
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, hostile, allow_pickle=True)
    write_npz(path, header())
    with zipfile.ZipFile(path) as archive:
        good = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**good, "mean.npy": buffer.getvalue()}.items():
            archive.writestr(name, content)
    with pytest.raises(FileFormatError, match="'mean' holds Python objects, and loading a file ne"):
        caveat.load(path)
    path.write_bytes(pickle.dumps(Boom()))
    with pytest.raises(FileFormatError, match="cannot be read"):
        caveat.load(path)


def test_hostile_columns_in_parquet(tmp_path):
    path = tmp_path / "file.parquet"
    write_parquet(path, header(), mean=pa.array([1.0, 2.0]))
    with pytest.raises(FileFormatError, match="mean must be a column of lists of one length"):
        caveat.load(path)
    nulls = pa.FixedSizeListArray.from_arrays(pa.array([1.0, None]), 1)
    write_parquet(path, header(), mean=nulls)
    with pytest.raises(FileFormatError, match="without nulls"):
        caveat.load(path)
    pq.write_table(pa.table({"mean": [1.0]}), path)
    with pytest.raises(FileFormatError, match="without the header that caveat writes"):
        caveat.load(path)
    two = pa.FixedSizeListArray.from_arrays(pa.array([1.0, 1.0]), 1)
    pq.write_table(pa.table({"mean": two}).replace_schema_metadata({"caveat": header()}), path)
    with pytest.raises(FileFormatError, match=r"needs the columns \['variance'\]"):
        caveat.load(path)


@BOTH
@pytest.mark.parametrize("content", [b"", b"not a prediction", b"PK\x03\x04", b"PAR1"])
def test_files_of_other_things(ending, content, tmp_path):
    path = tmp_path / f"file.{ending}"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"cannot be read"):
        caveat.load(path)


@BOTH
def test_truncated(ending, tmp_path):
    path = tmp_path / f"file.{ending}"
    every_type()[0].save(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileFormatError, match="cannot be read"):
        caveat.load(path)


@BOTH
def test_bombs_are_refused_before_they_unfold(ending, tmp_path, monkeypatch):
    path = tmp_path / f"file.{ending}"
    samples = 200_000
    prediction = caveat.Gaussian(np.zeros(samples), 1.0)
    monkeypatch.setattr(_files, "_MOST_BYTES", 10_000)
    monkeypatch.setattr(_files, "_MOST_RATIO", 10)
    if ending == "npz":
        prediction.save(path)
        with zipfile.ZipFile(path) as archive:
            content = {name: archive.read(name) for name in archive.namelist()}
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in content.items():
                archive.writestr(name, data)
    else:
        prediction.save(path)  # runs of equal values are a few bytes in Parquet
    with pytest.raises(FileFormatError, match="refused as a decompression bomb"):
        caveat.load(path)


def test_endings_and_missing_files(tmp_path):
    path = tmp_path / "prediction.csv"
    with pytest.raises(FileFormatError, match=r"prediction\.csv must end in \.npz or \.parquet"):
        every_type()[0].save(path)
    path.write_text("a,b")
    with pytest.raises(
        FileFormatError, match=r"prediction\.csv is damaged, or no file that caveat"
    ):
        caveat.load(path)
    with pytest.raises(FileFormatError, match="is a folder; name a file"):
        caveat.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        caveat.load(tmp_path / "absent.npz")


class TestOneDoor:
    def test_states_are_told_by_their_content(self, tmp_path):
        state = caveat.metrics.METRICS["accuracy"].state([0, 1], [0.2, 0.7])
        state.save(tmp_path / "monday.npz")
        assert caveat.load(tmp_path / "monday.npz").samples == 2

    def test_a_network_is_for_models(self, tmp_path):
        path = tmp_path / "p.npz"
        caveat.Gaussian([1.0], 1.0).save(path)
        with pytest.raises(caveat.exceptions.OptionError, match="module is for a saved model"):
            caveat.load(path, module=object())

    def test_a_damaged_archive_is_no_state(self, tmp_path):
        path = tmp_path / "p.npz"
        path.write_bytes(b"PK\x03\x04" + bytes(60))
        with pytest.raises(FileFormatError):
            caveat.load(path)


def test_files_of_single_precision_are_distributions_in_double(tmp_path):
    p = np.random.default_rng(0).dirichlet(np.ones(5), (1, 200)).astype(np.float32)
    path = tmp_path / "p.npz"
    caveat.Categorical(p).save(path)
    with np.load(path) as file:
        parts = dict(file)
    np.savez(path, **parts | {"probabilities": p.astype(np.float64)})  # as files were before
    caveat.Categorical(caveat.load(path).mean)
