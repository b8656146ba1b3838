"""The charts of monitoring."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import caveat
from caveat import charts
from caveat.charts import Band, Line, Points, Rule
from caveat.exceptions import OptionError
from caveat.monitoring import drift_history

from ..monitoring.samples import binary, gaussian


@cache
def changed():
    """Predictions that changed, with groups."""
    one = binary(1500, groups=["a", "b"])
    other = binary(1500, 1, change=lambda p: p**2, groups=["a", "b"])
    return caveat.drift(one, other, resamples=100, random_state=0, names=("May", "June"))


@cache
def weeks():
    given = {f"week {i}": binary(600, i, members=2) for i in range(4)}
    return drift_history(given, resamples=60, random_state=0)


def test_sizes_are_in_thresholds():
    chart = charts.drift(changed())
    rows = [row for row in changed().rows if row.overall]
    found = chart.numbers["change in thresholds"]
    assert found == pytest.approx([row.effect / row.threshold for row in rows])
    labels = {mark.label for mark in chart.marks if isinstance(mark, Points)}
    assert labels == {row.state.value for row in rows}
    assert any(isinstance(mark, Rule) and mark.x == 1.0 for mark in chart.marks)
    groups = charts.drift(changed(), groups=True)
    assert any("site=a" in name for name in groups.numbers["quantity"])


def test_many_rows_are_the_largest():
    row = changed().rows[0]
    many = tuple(replace(row, quantity="total", effect=i / 1000) for i in range(90))
    chart = charts.drift(replace(changed(), rows=many))
    assert len(chart.numbers["quantity"]) == 40
    assert min(chart.numbers["change in thresholds"]) == pytest.approx(0.5)


def test_nothing_with_a_size():
    with pytest.raises(OptionError, match="no change with a size"):
        charts.drift(replace(changed(), rows=()))


def test_distributions_are_the_shares_of_samples():
    chart = charts.drift_distribution(changed(), "probability")
    one, other = changed().distributions("probability")
    lines = [mark for mark in chart.marks if isinstance(mark, Line)]
    for line, numbers in zip(lines, (one, other), strict=True):
        wanted = [numbers.counts[numbers.values <= x].sum() / 1500 for x in line.x]
        assert line.y == pytest.approx(wanted)
    assert list(chart.numbers) == ["probability of the second class", "May", "June"]
    with pytest.raises(
        OptionError, match="quantity must be one of 'probability', 'total'; got 'x'"
    ):
        charts.drift_distribution(changed(), "x")
    empty = replace(changed(), _numbers={})
    with pytest.raises(OptionError, match="one of none; got None"):
        charts.drift_distribution(empty)
    assert charts.available(empty) == ["drift"]


def test_history_has_every_period():
    chart = charts.history(weeks())
    assert chart.title == "Predicted and observed"
    assert chart.numbers["period"] == ["week 0", "week 1", "week 2", "week 3"]
    assert chart.numbers["observed share"] == pytest.approx(
        [row.value for row in weeks().series("observed")]
    )
    assert sum(isinstance(mark, Band) for mark in chart.marks) == 2
    titles = [charts.history(weeks(), **o).title for o in charts.CHARTS["history"].views(weeks())]
    assert titles[0] == "Predicted and observed"
    assert titles[-3:] == ["Uncertainty", "Distance from the reference", "Evidence of the monitor"]
    assert {"Accuracy", "Positive calibration error"} <= {*titles}
    alarm = charts.history(weeks(), "e-value")
    (rule,) = [mark for mark in alarm.marks if isinstance(mark, Rule)]
    watches = weeks().states["week 3"].watches
    assert rule.y == pytest.approx(len(watches) / (0.9 * 0.05))
    assert alarm.y.log
    assert np.isnan(alarm.numbers["e-value"][0])  # the reference has none
    with pytest.raises(OptionError, match="quantity must be one of 'probability', 'total'"):
        charts.history(weeks(), "mae")


def test_history_of_targets_and_of_metrics_with_options():
    given = {str(i): gaussian(200, i, targets=["x", "y"]) for i in range(3)}
    history = drift_history(given, resamples=60, random_state=0)
    lines = [mark for mark in charts.history(history, "prediction").marks if isinstance(mark, Line)]
    assert [line.label for line in lines] == ["mean prediction x", "mean prediction y"]
    for options in charts.CHARTS["history"].views(history):
        charts.history(history, **options)
    weighted = {str(i): gaussian(200, i, sample_weight=np.ones(200)) for i in range(2)}
    plain = drift_history(weighted, resamples=0)
    assert charts.CHARTS["history"].views(plain)[-1]["quantity"][0].startswith("distance")
