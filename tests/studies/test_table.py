"""Printed numbers beside ours: rounding, ranges, and what most runs support."""

import json

import numpy as np
import pytest
from scipy import stats

from caveat.studies import Conclusion, PaperRow
from caveat.studies._table import (
    PaperTable,
    cells,
    compared,
    counted,
    fits,
    most,
    printed_number,
    range_coverage,
    range_rank,
    spread_of,
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
    found = spread_of(np.append(values, np.nan), 0.9)
    expected = stats.t.interval(0.9, 49, loc=values.mean(), scale=stats.sem(values))
    assert (found.mean, found.runs) == (pytest.approx(values.mean()), 50)
    assert (found.mean_low, found.mean_high) == pytest.approx(expected)
    ordered = np.sort(values)  # 51 * 0.05 = 2.55: the second from either end
    assert (found.low, found.high) == (ordered[1], ordered[-2])


def test_few_runs():
    one = spread_of(np.array([2.0, np.nan]), 0.95)
    assert (one.mean, one.runs) == (2.0, 1)
    assert np.isnan([one.mean_low, one.low, one.high]).all()
    none = spread_of(np.array([np.nan]), 0.95)
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


def test_nothing_fits_without_a_print():
    assert fits(None, 0.0, 1.0) is None


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
    assert most(holds, runs, confidence) == verdict


def test_conclusions_leave_out_what_cannot_be_decided():
    found = Conclusion.of("table 9", "all is well", [True, None, *[False] * 9])
    assert (found.holds, found.runs, found.verdict) == (1, 10, "does not survive")
    assert str(found) == "table 9: all is well: does not survive (1 of 10 runs)"


def row(values, printed, note=""):
    return PaperRow("table 1", "x", **compared(np.asarray(values), printed, 0.95, note))


def test_rows():
    found = row([1.0, 2.0, np.nan], "1.5", "read")
    assert (found.paper, found.mean, found.low, found.high) == (1.5, 1.5, 1.0, 2.0)
    assert (found.within, found.runs) == (True, 2)
    assert found.note == "read; undefined in 1 of 3 runs"
    assert cells(found) == ["1.5", "1.5", "1 to 2", "yes"]
    assert cells(row([np.nan], "")) == ["", "undefined", "", ""]
    assert cells(row([1.0, 2.0], "3.0"))[-1] == "no"


def test_counts_are_exact():
    found = counted(9782, "9,872", "a slip")
    assert (found["within"], found["mean"], found["paper"]) == (False, 9782, 9872)
    assert counted(2817, "2,817")["within"] is True


def test_tables_are_filtered_and_written():
    table = PaperTable()
    table.rows = (row([1.0, 2.0], "1.5"), row([np.nan], ""))
    assert len(table) == 2
    assert list(table) == list(table.rows)
    assert table.select(printed="1.5") == [table.rows[0]]
    assert table.to_frame()["runs"].tolist() == [2, 0]
    first, second = json.loads(table.to_json())
    assert first["within"] is True
    assert second["mean"] is None
