"""What runs give: ranges, intervals, and what most runs support."""

import numpy as np
import pytest
from scipy import stats

from caveat.studies.paper import fits, printed_number
from caveat.studies.summary import (
    Count,
    Summary,
    above,
    all_of,
    conclude,
    equal,
    majority,
    range_coverage,
    range_rank,
)


@pytest.mark.parametrize(
    ("text", "exact", "value", "low", "high"),
    [
        ("0.95", False, 0.95, 0.945, 0.96),
        ("151", False, 151, 150.5, 152),
        ("6e-7", False, 6e-7, 5.5e-7, 7e-7),
        ("1.5e-3", False, 0.0015, 0.00145, 0.0016),
        ("25,933", True, 25933, 25933, 25933),
    ],
)
def test_a_printed_number_and_what_it_was_before_rounding(text, exact, value, low, high):
    assert printed_number(text, exact) == pytest.approx((value, low, high), rel=1e-12)


@pytest.mark.parametrize(
    ("runs", "confidence", "rank"), [(1, 0.95, 1), (20, 0.95, 1), (39, 0.95, 1), (79, 0.95, 2), (200, 0.95, 5), (19, 0.9, 1)]
)  # fmt: skip
def test_the_rank_is_the_largest_that_holds_the_confidence(runs, confidence, rank):
    assert range_rank(runs, confidence) == rank
    if runs >= 39:
        assert range_coverage(runs, confidence) >= confidence - 1e-12
        assert 1 - 2 * (rank + 1) / (runs + 1) < confidence


@pytest.mark.parametrize("runs", [2, 10, 40, 100])
def test_the_range_holds_one_more_run_as_often_as_it_says(runs):
    draws = np.random.default_rng(runs).exponential(size=(20_000, runs + 1))
    rank = range_rank(runs, 0.95)
    ordered = np.sort(draws[:, :-1], axis=1)
    held = (ordered[:, rank - 1] <= draws[:, -1]) & (draws[:, -1] <= ordered[:, -rank])
    share = range_coverage(runs, 0.95)
    assert held.mean() == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 20_000))


def test_mean_and_range():
    values = np.random.default_rng(0).normal(3, 2, size=50)
    found = Summary.of(np.append(values, np.nan), 0.9)
    expected = stats.t.interval(0.9, 49, loc=values.mean(), scale=stats.sem(values))
    assert (found.mean, found.runs) == (pytest.approx(values.mean()), 50)
    assert (found.mean_low, found.mean_high) == pytest.approx(expected)
    assert found.spread == pytest.approx(values.std(ddof=1))
    assert Summary.of(values, 0.9, (3.0, 3.1)).mean_low == 3.0
    ordered = np.sort(values)  # 51 * 0.05 = 2.55: the second from either end
    assert (found.low, found.high) == (ordered[1], ordered[-2])


def test_few_runs():
    one = Summary.of(np.array([2.0, np.nan]), 0.95)
    assert (one.mean, one.runs) == (2.0, 1)
    assert np.isnan([one.mean_low, one.low, one.high]).all()
    none = Summary.of(np.array([np.nan]), 0.95)
    assert none.runs == 0
    assert np.isnan(none.mean)
    assert range_coverage(1, 0.95) == 0


@pytest.mark.parametrize(
    ("text", "low", "high", "expected"),
    [
        ("0.95", 0.8, 0.9, False),
        ("0.95", 0.8, 0.945, True),
        ("0.95", 0.96, 1.0, True),
        ("0.95", 0.961, 1.0, False),
        ("0.95", np.nan, np.nan, None),
    ],
)
def test_a_print_fits_if_it_could_be_rounded_from_the_range(text, low, high, expected):
    assert fits(printed_number(text), low, high) is expected


@pytest.mark.parametrize(
    ("holds", "runs"), [(0, 0), (1, 1), (5, 5), (6, 6), (0, 6), (15, 40), (13, 40), (27, 40)]
)
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_most_runs_by_the_exact_interval(holds, runs, confidence):
    verdict = "open"
    if runs:
        interval = stats.binomtest(holds, runs).proportion_ci(confidence, method="exact")
        if interval.low > 0.5:
            verdict = "survives"
        elif interval.high < 0.5:
            verdict = "does not survive"
    assert majority(holds, runs, confidence) == verdict


def test_conclusions_leave_out_what_cannot_be_decided():
    found = conclude("table 9", "all is well", [True, np.nan, *[False] * 9], name="well")
    assert (found.holds, found.runs, found.support) == (1, 10, "does not survive")
    assert str(found) == "table 9: all is well: does not survive (1 of 10 runs)"
    assert found.name == "well"


def test_counts_are_exact():
    found = Count.exactly(9782)
    assert (found.mean, found.low, found.high, found.runs) == (9782, 9782, 9782, 1)
    assert fits(printed_number("9,872", exact=True), found.low, found.high) is False
    assert fits(printed_number("9,782", exact=True), found.low, found.high) is True


def test_logic_with_what_cannot_be_decided():
    nan = np.nan
    first, second = [1, 1, nan, nan], [1, 0, 1, 0]
    np.testing.assert_array_equal(all_of([first, second]), [1, 0, nan, 0])
    np.testing.assert_array_equal(all_of([first]), first)
    np.testing.assert_array_equal(above([2.0, 1.0, nan], [1.0, 1.0, 1.0]), [1, 0, nan])
    np.testing.assert_array_equal(equal([1, 0, 1, nan], [1, 0, 0, 1]), [1, 1, 0, nan])
