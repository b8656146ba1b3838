"""Files that were cut off, damaged or edited: a prediction, or an error of ours, from every reader."""

import gzip
import json
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import caveat
from caveat.experiments import ClassDetection, Curve, DomainShift, ShiftCurves, domain_shift

from ..files.tables import FORMATS, write
from . import fuzzing

RNG = np.random.default_rng(0)
COLUMNS = {
    "id": np.arange(8),
    "p_0": np.linspace(0.1, 0.9, 8),
    "p_1": 1 - np.linspace(0.1, 0.9, 8),
    "y": np.arange(8) % 2,
    "group_sex": np.array(["f", "m"] * 4),
}
NUMBERS = {"mean": RNG.normal(size=8), "std": np.ones(8), "y": RNG.normal(size=8)}

TOKENS = (
    b"nan", b"inf", b"-inf", b"", b"NA", b"null", b"1e999", b"-1", b"1e300", b"1e-320", b"x", b"'",
    b'"', b'"\n"', b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"true", b"[]", b"{}", b"[[[[[", b",,,",
    b"\r", b"\n\n", b"99999999999999999999", b"0x1p3", b"\xc3\x28", b"1;2", b"1,5", b"#", b"-0.0",
    b"(" * 300, b"9" * 400,
)  # fmt: skip


def _damaged(content, pick):
    """Return the bytes after one to three mishaps."""
    content = bytearray(content)
    for _ in range(pick.of((1, 1, 2, 3))):
        size = len(content)
        if not size:
            break
        place = pick.of(range(size))
        length = pick.of((1, 2, 4, 16, 64))
        kind = pick.of(("cut", "flip", "drop", "twice", "token", "token", "swap", "zero"))
        if kind == "cut":
            del content[place:]
        elif kind == "flip":
            content[place] ^= 1 << pick.of(range(8))
        elif kind == "drop":
            del content[place : place + length]
        elif kind == "twice":
            content[place:place] = content[place : place + length]
        elif kind == "token":
            content[place : place + pick.of((0, 1, 3))] = pick.of(TOKENS)
        elif kind == "swap":
            other = pick.of(range(size))
            content[place], content[other] = content[other], content[place]
        else:
            content[place : place + length] = bytes(len(content[place : place + length]))
    return bytes(content)


def _predictions(folder):
    """Write one file of each type of prediction in each format."""
    paths = []
    world = fuzzing.World(_First())
    for name, make in {**fuzzing.PREDICTIONS, "Decomposition": fuzzing._decomposition}.items():
        for ending in ("npz", "parquet"):
            paths.append(folder / f"{name}.{ending}")
            make(world).save(paths[-1])
    return paths


class _First:
    """The simplest of all choices."""

    def of(self, options):
        return options[0]

    def rarely(self, one_in=2):
        return False


def _results():
    score = [[0.5, 0.7, 0.9]]
    size = Curve("size", "information", [0.1, 0.5, 1], score, [[1, 2, 1]], [[5, 3, 1]])
    noise = Curve("noise", "information", [0, 0.5, 1], score, [[5, 3, 1]], [[1, 2, 1]])
    gaussian = caveat.Gaussian([0.0, 1.0], [1.0, 2.0])
    return (
        caveat.Disentanglement((size, noise)),
        ClassDetection(("a", "b"), ("information",), [[[[0.6, 0.9, 0.8], [0.5, 0.8, 0.7]]]]),
        domain_shift(gaussian, [0, 1], gaussian, [0, 3], resamples=0),
        fuzzing._shift_curves(fuzzing.World(_First())),
    )


def _hostile(examples, sources, read, path_of, fuzz_calls):
    """Read every source whole, then many times damaged."""
    for source in sources:
        with fuzz_calls():
            _calls(source.read_bytes(), path_of(source), read, examples)()


def _calls(content, path, read, examples):
    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def calls(data):
        path.write_bytes(_damaged(content, fuzzing.Pick(data.draw)))
        fuzzing.attempt(read, [path], {})

    return calls


def _beside(source):
    return source.with_name(f"damaged-{source.name}")


def test_saved_predictions(tmp_path, fuzz_calls):
    _hostile(40, _predictions(tmp_path), caveat.load, _beside, fuzz_calls)


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize(
    ("columns", "read"),
    [
        (COLUMNS, caveat.read_predictions),
        (NUMBERS, caveat.read_predictions),
        (COLUMNS, caveat.files.read_features),
        (COLUMNS, caveat.files.column_names),
    ],
    ids=["classes", "numbers", "features", "names"],
)
def test_tables(tmp_path, ending, columns, read, fuzz_calls):
    _hostile(40, [write(tmp_path, ending, columns)], read, _beside, fuzz_calls)


def test_text_that_is_packed_again(tmp_path, fuzz_calls):
    """What is inside of the packing is damaged, and the packing is not."""
    source = write(tmp_path, "csv", COLUMNS)

    def read(path):
        packed = path.with_suffix(".csv.gz")
        packed.write_bytes(gzip.compress(path.read_bytes()))
        return caveat.read_predictions(packed)

    _hostile(60, [source], read, _beside, fuzz_calls)


@pytest.mark.parametrize("read", [caveat.load, caveat.read_predictions], ids=["load", "table"])
def test_arrays_that_are_packed_again(tmp_path, read, fuzz_calls):
    """What is inside of an NPZ file is damaged, and its checksums are right."""
    sources = [write(tmp_path, "npz", COLUMNS), *_predictions(tmp_path)]
    for source in [path for path in sources if path.suffix == ".npz"]:
        with zipfile.ZipFile(source) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        path = _beside(source)
        with fuzz_calls():
            _calls_of_members(members, path, read)()


def _calls_of_members(members, path, read):
    @settings(
        max_examples=30,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def calls(data):
        pick = fuzzing.Pick(data.draw)
        chosen = pick.of(tuple(members))
        whole = pick.of((None, None, None, b"", b"text", pickle.dumps({"a": 1}), b"\x93NUMPY"))
        content = _damaged(members[chosen], pick) if whole is None else whole
        with zipfile.ZipFile(path, "w") as archive:
            for name, kept in {**members, chosen: content}.items():
                archive.writestr(name, kept)
        fuzzing.attempt(read, [path], {})

    return calls


def test_results_as_json(tmp_path, fuzz_calls):
    for result in _results():
        source = tmp_path / f"{type(result).__name__}.json"
        source.write_text(result.to_json(), encoding="utf-8")
        assert type(result).from_json(source.read_text(encoding="utf-8")) is not None

        _hostile(60, [source], _read_again(type(result)), _beside, fuzz_calls)
    assert {DomainShift, ShiftCurves} <= {type(result) for result in _results()}


def _read_again(kind):
    def read(path):
        again = kind.from_json(path.read_bytes().decode("utf-8", errors="replace"))
        repr(again)
        json.loads(again.to_json())

    return read


def test_models(tmp_path, fuzz_calls):
    pytest.importorskip("torch")
    model = caveat.MAPRegressor(hidden=(3,), epochs=1, random_state=0)
    X = np.linspace(-1, 1, 12)[:, None]
    path = tmp_path / "model.safetensors"
    caveat.estimators.save(model.fit(X, X[:, 0]), path)
    _hostile(80, [path], caveat.load, _beside, fuzz_calls)
