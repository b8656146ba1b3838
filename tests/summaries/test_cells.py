"""The table of two classes against the probabilities themselves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import caveat
from caveat.exceptions import InvalidValueError, LabelError
from caveat.summaries.cells import CELLS, cells_of, representatives
from caveat.summaries.counts import count_cells
from caveat.summaries.kept import KEPT
from caveat.summaries.tables import coarse_rows


def around(numbers, kind):
    """Numbers of a type with the five next to each on both sides, as doubles."""
    result = [np.asarray(numbers, dtype=np.float64).astype(kind)]
    for end in (0, 1):
        own = result[0]
        for _ in range(5):
            own = np.nextafter(own, kind(end))
            result.append(own)
    return np.unique(np.concatenate(result).astype(np.float64))


MULTIPLES = np.unique(np.concatenate([np.arange(1, n) / n for n in (15, 30, 240)]))
BEGINS = np.unique(
    np.concatenate(
        [around(own, kind) for own in (MULTIPLES, 1 - MULTIPLES) for kind in (np.float32, float)]
    )
)
"""Where cells and bins begin, those of p and those of 1 - p, and what is next to it."""

ENDS = (
    st.floats(0, 1)
    | st.sampled_from([0.0, 1.0, 0.5, 0.50001, 0.2, 0.35, 1 / 64, 63 / 64, 5e-324, 1 - 2**-53])
    | st.sampled_from(BEGINS.tolist())
)


def bins(p):
    """The bin of a probability, and that of the other class."""
    return [np.minimum((15 * np.asarray(q)).astype(int), 14) for q in (p, 1 - p)]


def cell_of_one(p):
    return int(np.flatnonzero(count_cells(np.array([p]), np.array([0]))[0][:, 0])[0])


@settings(max_examples=300, deadline=None)
@given(ENDS)
def test_a_representative_is_within_the_stated_bounds(p):
    q = representatives()[cell_of_one(p)]
    distance = min(p, 1 - p)
    rounded = 240 * p == round(240 * p) and p == round(240 * p) / 240
    if p in (0.0, 1.0) or (distance > 1 / 64 and rounded):
        assert q == pytest.approx(p, abs=1e-15)
    elif distance < 1 / 64:
        assert abs(q - p) <= max(distance / 256, 2**-53) * (1 + 1e-9)
    else:
        above = 240 * p % 1 < 1 / 64 and not 0.5 < p < 0.5 + 1 / 15360
        assert abs(q - p) <= (2 if above else 1) / 30720 * (1 + 1e-9)
    # the predicted class, and the bins of the calibration errors, are those of the probability
    assert (q > 0.5) == (p > 0.5)
    np.testing.assert_array_equal(bins(q), bins(p))


def test_bins_are_those_of_the_probability_wherever_one_begins():
    cell = cells_of(BEGINS)
    shown = representatives()[cell]
    np.testing.assert_array_equal(bins(shown), bins(BEGINS))
    np.testing.assert_array_equal(shown > 0.5, BEGINS > 0.5)
    assert (np.diff(shown) >= 0).all()
    single = BEGINS.astype(np.float32)
    np.testing.assert_array_equal(cells_of(single), cells_of(single.astype(np.float64)))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_fewer_rows_for_intervals_have_the_same_bins(kind):
    p = np.repeat(around(MULTIPLES, kind), 3)
    y = np.arange(len(p)) % 2
    mean, truth, count = coarse_rows(count_cells(p, y)[0])
    for rows, own in zip(bins(mean), bins(p), strict=True):
        known = np.bincount(2 * own + y, minlength=30)
        np.testing.assert_array_equal(np.bincount(2 * rows + truth, count, 30), known)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(ENDS, min_size=2, max_size=20, unique=True),
    st.sampled_from([np.float32, np.float64]),
    st.integers(0, 2**32 - 1),
)
def test_calibration_errors_are_those_of_the_samples(values, kind, seed):
    rng = np.random.default_rng(seed)
    p = rng.choice(np.array(values).astype(kind), KEPT + 1)
    y = rng.integers(0, 2, len(p))
    prediction = caveat.Categorical.from_binary(p)
    asked = {"metrics": ["ece", "mce", "positive_ece", "classwise_ece"], "resamples": 0}
    known = caveat.evaluate(prediction, y, **asked).select(group="")
    mine = caveat.summarize(prediction, y).evaluate(**asked).select(group="")
    assert [row.metric for row in mine] == [row.metric for row in known]
    # every probability is known to 1/15360, and every sample is in its bin
    for row, same in zip(mine, known, strict=True):
        assert row.value == pytest.approx(same.value, abs=1 / 15360)


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
    monkeypatch.setattr("caveat.summaries.counts._ROWS", 1000)
    monkeypatch.setattr("caveat.summaries.cells._BLOCK", 64)
    monkeypatch.setattr("caveat.summaries.counts._BLOCK", 64)
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
