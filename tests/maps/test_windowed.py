"""Images by windows: the same numbers, little memory, clear errors."""

import time
import tracemalloc

import numpy as np
import pytest

import caveat
from caveat.exceptions import InvalidValueError, OptionError, ShapeError
from caveat.maps import PredictionMap, measure_windows, windowed, windows

P = np.random.default_rng(0).dirichlet(np.ones(4), (30, 20)).astype(np.float32)
FIRST = np.moveaxis(P, -1, 0)
H = np.array([[0, 1.0, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]])


def test_windows_cover_the_image_once():
    seen = np.zeros((11, 7), int)
    for rows, columns in windows(11, 7, 20):
        seen[rows, columns] += 1
    assert (seen == 1).all()
    assert len(list(windows(11, 7, 1))) == 11


@pytest.mark.parametrize(("name", "options"), [("gini", {}), ("homophily", {"H": H})])
@pytest.mark.parametrize("pixels", [20, 70, 10_000])
def test_windows_give_the_same(name, options, pixels):
    expected = caveat.measure(P.reshape(-1, 4), name, **options).reshape(30, 20)
    for source, axes in ((FIRST, "class y x"), (P, "y x class")):
        result = measure_windows(source, name, axes=axes, pixels=pixels, **options)
        np.testing.assert_allclose(result, expected, atol=1e-6)
    result = measure_windows(np.log(FIRST), name, logits=True, **options)
    np.testing.assert_allclose(result, expected, atol=1e-6)
    best = caveat.uncertainty.homophily_maximum(H)
    more = {"maximum": best} if options else {}
    np.testing.assert_allclose(measure_windows(FIRST, name, **options, **more), expected, atol=1e-6)


def test_from_a_file_into_a_file(tmp_path):
    source = np.memmap(tmp_path / "p.dat", np.float32, "w+", shape=(4, 400, 500))
    source[:] = 0.25
    out = np.memmap(tmp_path / "u.dat", np.float32, "w+", shape=(400, 500))
    tracemalloc.start()
    try:
        result = measure_windows(source, "entropy", out=out, pixels=5000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result is out
    np.testing.assert_allclose(out, 1, atol=1e-6)
    assert peak < 1.5e6  # the probabilities are 3.2 MB in single precision


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8"])
@pytest.mark.parametrize("name", list(caveat.uncertainty.MEASURES))
def test_a_mapped_file_in_any_order_and_type(tmp_path, name, dtype):
    """Windows of unequal sizes in the same memory; ``out`` says how precise the numbers are."""
    options = {"H": H} if name == "homophily_uncertainty" else {}
    p = np.random.default_rng(1).dirichlet(np.ones(4), (30, 20)).astype(dtype)
    expected = caveat.measure(p.reshape(-1, 4), name, **options).reshape(30, 20)
    for axes, array in (("class y x", np.moveaxis(p, -1, 0)), ("y x class", p)):
        source = np.memmap(tmp_path / "p.dat", dtype, "w+", shape=array.shape)
        source[:] = array
        for out, atol in ((np.empty((30, 20)), 1e-13), (np.empty((30, 20), np.float32), 1e-5)):
            measure_windows(source, name, out=out, axes=axes, pixels=140, **options)
            np.testing.assert_allclose(out, expected, atol=atol, rtol=0)


class Counted:
    """A source that is not safe to read from two threads at once."""

    def __init__(self, array):
        self.array, self.shape, self.readers, self.most = array, array.shape, 0, 0

    def __getitem__(self, index):
        self.readers += 1
        self.most = max(self.most, self.readers)
        time.sleep(0.001)
        part = self.array[index].copy()
        self.readers -= 1
        return part


def test_threads_read_one_at_a_time(monkeypatch):
    monkeypatch.setattr("caveat._parallel.threads", lambda: 4)
    source = Counted(FIRST)
    result = measure_windows(source, "gini", pixels=20)
    assert source.most == 1
    np.testing.assert_allclose(
        result, caveat.measure(P.reshape(-1, 4), "gini").reshape(30, 20), atol=1e-6
    )


def test_a_bad_pixel_is_found():
    bad = FIRST.copy()
    bad[2, 17, 3] = np.nan
    with pytest.raises(
        InvalidValueError, match=r"lines 16 to 19, each of 20 samples: .* sample 23"
    ):
        measure_windows(bad, "gini", pixels=80)


def test_an_image_larger_than_memory(monkeypatch):
    monkeypatch.setattr(windowed, "available", lambda: 1000)
    with pytest.raises(
        OptionError, match=r"more than fits into memory .* use caveat.maps.measure_w"
    ):
        PredictionMap.from_array(FIRST)
    measure_windows(FIRST, "gini")


@pytest.mark.parametrize(
    ("source", "options", "error", "message"),
    [
        (FIRST, {"axes": "x y class"}, OptionError, "axes must be 'class y x' or 'y x class'"),
        (FIRST[0], {}, ShapeError, "source must have three axes"),
        (3, {}, ShapeError, "source must have three axes"),
        (FIRST, {"out": np.zeros((2, 2))}, ShapeError, r"size of the image, \(30, 20\); got"),
        (FIRST, {"pixels": 0}, OptionError, "pixels must be"),
    ],
)
def test_what_does_not_fit(source, options, error, message):
    with pytest.raises(error, match=message):
        measure_windows(source, "gini", **options)


@pytest.mark.parametrize(
    ("out", "error", "message"),
    [
        (np.zeros((30, 20), int), OptionError, "floating point numbers, .*; got int64"),
        ([[0.0] * 20] * 30, OptionError, "floating point numbers, .*; got list"),
        (np.broadcast_to(0.0, (30, 20)), OptionError, "out is read-only"),
        (np.zeros((20, 30)), ShapeError, "out must have the size of the image"),
    ],
)
def test_where_it_cannot_write(out, error, message):
    with pytest.raises(error, match=message):
        measure_windows(FIRST, "gini", out=out)


def test_masked_windows_are_not_measured():
    masked = np.ma.array(FIRST, mask=np.arange(30)[:, None] + np.zeros_like(FIRST) == 7)
    with pytest.raises(InvalidValueError, match="is nan"):
        measure_windows(masked, "gini")
