"""Cells are counted by blocks; neither these nor the types of the arrays change a count."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.exceptions import InvalidValueError, LabelError
from caveat.summaries import cells, counts

from .test_cells import BEGINS, ENDS


@pytest.fixture
def samples():
    rng = np.random.default_rng(1)
    p = np.concatenate([rng.random(900), rng.random(300) ** 12, 1 - rng.random(300) ** 12])
    p[:8] = [0, 1, 0.5, 1 / 64, 63 / 64, 1e-300, 1 - 2**-53, -0.0]
    return p, (rng.random(1500) < p).astype(np.int8), rng.integers(0, 3, 1500)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, bool])
def test_blocks_and_types(monkeypatch, samples, dtype):
    p, y, group = samples
    known = counts.count_cells(p, y, group, 3)
    assert known.sum() == 1500
    for code in range(3):
        own = group == code
        one_by_one = sum(
            counts.count_cells(p[own][i : i + 1], y[own][i : i + 1]) for i in range(own.sum())
        )
        np.testing.assert_array_equal(known[code], one_by_one[0])
    monkeypatch.setattr(counts, "_BLOCK", 128)
    monkeypatch.setattr(counts, "_ROWS", 256)
    np.testing.assert_array_equal(counts.count_cells(p, y.astype(dtype), group, 3), known)
    np.testing.assert_array_equal(counts.count_cells(p[:0], y[:0]), np.zeros((1, cells.CELLS, 2)))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -1e-9, 1.0000001, 1e300, 57])
def test_errors_beyond_the_first_block(monkeypatch, samples, bad):
    p, y, _ = samples
    monkeypatch.setattr(counts, "_BLOCK", 128)
    p[777] = bad
    with pytest.raises(InvalidValueError, match="the probability of sample 1777 is"):
        counts.count_cells(p, y, start=1000)
    with pytest.raises(LabelError, match="y of sample 1000 is 2"):
        counts.count_cells(p, y + np.int8(2) - y, start=1000)


def test_batches_add_up_and_a_broken_one_counts_nothing(monkeypatch, samples):
    p, y, group = samples
    monkeypatch.setattr(counts, "_BLOCK", 64)
    held = counts.CellCounts(3)
    held.add(p[:700], y[:700], group[:700])
    broken = p.copy()
    broken[1400] = np.nan  # beyond what is counted at once
    with pytest.raises(InvalidValueError, match="the probability of sample 1400 is nan"):
        held.add(broken, y, group)
    held.add(p[700:], y[700:], group[700:])
    np.testing.assert_array_equal(held.tables, counts.count_cells(p, y, group, 3))


def test_more_samples_than_small_numbers_hold(monkeypatch, samples):
    p, y, group = samples
    known = counts.count_cells(p, y, group, 3)
    monkeypatch.setattr(counts, "SMALL", 2000)
    held = counts.CellCounts(3)
    for _ in range(3):
        held.add(p, y, group)
    assert held.tables.dtype == np.int64
    np.testing.assert_array_equal(held.tables, 3 * known)
    assert held._counts.dtype == np.int64


@pytest.mark.parametrize("precision", [np.float64, np.float32])
@pytest.mark.parametrize("dtype", [np.int8, np.int64, bool])
def test_compiled_loops_count_the_same(samples, precision, dtype):
    pytest.importorskip("numba", exc_type=ImportError)
    p, y, group = samples[0].astype(precision), samples[1].astype(dtype), samples[2]
    held = counts.CellCounts(3, compiled=True)
    for rows in (slice(0), slice(1), slice(1, 700), slice(700, None)):
        held.add(p[rows], y[rows], group[rows])
    np.testing.assert_array_equal(held.tables, counts.count_cells(p, y, group, 3))


@given(st.lists(ENDS, max_size=40))
@settings(max_examples=200, deadline=None)
def test_compiled_cells_are_those_of_numpy(p):
    pytest.importorskip("numba", exc_type=ImportError)
    p = np.array(p, dtype=np.float64)
    held = counts.CellCounts(compiled=True)
    held.add(p, np.arange(len(p)) % 2)
    np.testing.assert_array_equal(held.tables, counts.count_cells(p, np.arange(len(p)) % 2))


def test_compiled_cells_where_bins_begin_are_those_of_numpy():
    pytest.importorskip("numba", exc_type=ImportError)
    held = counts.CellCounts(compiled=True)
    held.add(BEGINS, np.zeros(len(BEGINS), dtype=int))
    np.testing.assert_array_equal(held.tables, counts.count_cells(BEGINS, 0 * BEGINS.astype(int)))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -1e-9, 1.0000001, 1e300, 57])
def test_compiled_loops_raise_alike(samples, bad):
    pytest.importorskip("numba", exc_type=ImportError)
    p, y, _ = samples
    held = counts.CellCounts(compiled=True)
    p[777] = bad
    with pytest.raises(InvalidValueError, match="the probability of sample 1777 is"):
        held.add(p, y, start=1000)
    assert held.tables.sum() == 0
