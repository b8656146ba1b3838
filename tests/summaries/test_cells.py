"""The table of two classes against the probabilities themselves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.exceptions import InvalidValueError, LabelError
from caveat.summaries.cells import CELLS, cells_of, count_cells, representatives

ENDS = st.floats(0, 1) | st.sampled_from(
    [0.0, 1.0, 0.5, 0.50001, np.nextafter(0.5, 1), 0.2, 0.35, 1 / 64, 63 / 64, 5e-324, 1 - 2**-53]
)


def cell_of_one(p):
    return int(np.flatnonzero(count_cells(np.array([p]), np.array([0]))[0][:, 0])[0])


@settings(max_examples=300, deadline=None)
@given(ENDS)
def test_a_representative_is_within_the_stated_bounds(p):
    q = representatives()[cell_of_one(p)]
    distance = min(p, 1 - p)
    if p in (0.0, 1.0) or (distance > 1 / 64 and 240 * p == round(240 * p)):
        assert q == pytest.approx(p, abs=1e-15)
    elif distance < 1 / 64:
        assert abs(q - p) <= max(distance / 256, 2**-53) * (1 + 1e-9)
    else:
        above = 240 * p % 1 < 1 / 64 and not 0.5 < p < 0.5 + 1 / 15360
        assert abs(q - p) <= (2 if above else 1) / 30720 * (1 + 1e-9)
    # the predicted class, and the bin of the calibration errors, are those of the probability
    assert (q > 0.5) == (p > 0.5)
    assert min(int(15 * q), 14) == min(int(15 * p), 14)


@settings(max_examples=60, deadline=None)
@given(st.lists(ENDS, min_size=2, max_size=20))
def test_cells_are_in_the_order_of_the_probabilities(values):
    values = np.sort(np.array(values))
    shown = np.array([representatives()[cell_of_one(p)] for p in values])
    assert (np.diff(shown) >= 0).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_counts_by_group_and_truth_are_those_of_a_loop(dtype):
    rng = np.random.default_rng(0)
    p = rng.beta(0.3, 0.3, 3000).astype(dtype)
    truth, codes = rng.integers(0, 2, 3000), rng.integers(0, 3, 3000)
    wanted = np.zeros((3, CELLS, 2), dtype=np.int64)
    for one, y, group in zip(p.astype(np.float64).tolist(), truth, codes, strict=True):
        wanted[group, cell_of_one(one), y] += 1
    assert np.array_equal(count_cells(p, truth, codes, 3), wanted)
    assert np.array_equal(count_cells(p, truth)[0], wanted.sum(axis=0))


def test_more_rows_than_are_counted_at_once(monkeypatch):
    monkeypatch.setattr("caveat.summaries.cells._ROWS", 1000)
    monkeypatch.setattr("caveat.summaries.cells._BLOCK", 64)
    rng = np.random.default_rng(1)
    p, truth = rng.random(2345), rng.integers(0, 2, 2345)
    parts = [count_cells(p[i : i + 5], truth[i : i + 5]) for i in range(0, 2345, 5)]
    assert np.array_equal(count_cells(p, truth), sum(parts))


@pytest.mark.parametrize("bad", [np.nan, -1e-9, 1 + 1e-9, np.inf, -np.inf])
def test_what_is_no_probability_is_named_by_its_sample(bad):
    p = np.full(40_000, 0.3)
    p[39_000] = bad
    with pytest.raises(InvalidValueError, match="sample 1039000 is"):
        count_cells(p, np.zeros(40_000, dtype=int), start=1_000_000)


@pytest.mark.parametrize("bad", [-1, 2])
def test_what_is_no_label_is_named_by_its_sample(bad):
    with pytest.raises(LabelError, match=f"sample 12 is {bad}; expected 0 or 1"):
        count_cells(np.full(3, 0.2), np.array([0, 1, bad]), start=10)


def test_no_samples_give_an_empty_table():
    assert count_cells(np.empty(0), np.empty(0, dtype=int)).sum() == 0


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("end", [0, 1])
def test_cells_near_an_end_do_not_depend_on_how_many_there_are(end, kind):
    """Where few are near an end they are picked, and where many are the whole block is placed."""
    rng = np.random.default_rng(0)
    edges = [0.0, -0.0, 5e-324, 2.0**-54, 2.0**-53, np.nextafter(2.0**-6, 0), 2.0**-6]
    near = np.concatenate([10.0 ** -rng.uniform(1.7, 20, 500), edges])
    near = (1 - near if end else near).astype(kind)
    others = rng.uniform(0.1, 0.9, 60 * len(near)).astype(kind)
    rest = np.array([1e-5, 0.0, 0.5, 0.99, 1.0], dtype=kind)
    few = cells_of(np.concatenate([others, near, rest]))[len(others) :]
    np.testing.assert_array_equal(cells_of(np.concatenate([near, rest])), few)
    both = np.concatenate([near, 1 - near])
    few = cells_of(np.concatenate([others, 1 - near]))[len(others) :]
    np.testing.assert_array_equal(cells_of(both)[len(near) :], few)


@pytest.mark.parametrize("bad", [np.nan, -1e-9, 1.5, np.inf])
def test_no_probability_among_many_near_zero(bad):
    p = np.full(100, 1e-6)
    p[17] = bad
    with pytest.raises(InvalidValueError, match="sample 22 is"):
        cells_of(p, start=5)
