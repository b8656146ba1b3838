"""A reference and the periods after it."""

import numpy as np
import pytest

import caveat
from caveat.exceptions import OptionError
from caveat.monitoring import drift_history
from caveat.monitoring.gates import DriftGate

from .samples import binary, gaussian

QUICK = {"resamples": 100, "random_state": 0}


def weeks(shifts, n=2500):
    return {
        f"week-{i}": binary(
            n, i, truth=lambda p, s=s: np.clip(p + s, 0, 1), groups=["a", "b"], members=2
        )
        for i, s in enumerate(shifts)
    }


def test_a_change_in_the_middle():
    history = drift_history(weeks([0, 0, 0, 0.15, 0.15]), **QUICK)
    assert history.reference == "week-0"
    assert history.periods == ["week-1", "week-2", "week-3", "week-4"]
    assert [d.state("calibration") == "changed" for d in history.drifts.values()] == [
        False, False, True, True,
    ]  # fmt: skip
    assert history.changed
    assert history.alarm
    texts = [s.text for s in history.verdict()]
    assert texts[0].startswith("week-4: The ")
    assert "Something changed against week-0 in 2 of 4 periods: week-3 and week-4." in texts
    assert any(text.startswith("Since week-3: alarm after") for text in texts)
    (row,) = [r for r in history.series("observed") if r.period == "week-4"]
    assert row.low < 0.65 < row.high
    assert history.series("e-value")[-1].value > 20
    assert "week-3" in repr(history)
    assert {"probability", "epistemic", "distance of predictions"} <= {r.quantity for r in history}


def test_back_to_normal_after_an_alarm():
    history = drift_history(weeks([0, 0.2, 0.2, 0], n=6000), **QUICK)
    assert history.alarm
    assert not history.last.changed
    assert "start a new monitor once the cause is known" in history.verdict().next_step


def test_no_change():
    history = drift_history(weeks([0, 0, 0]), resamples=0)
    assert not history.changed
    texts = [s.text for s in history.verdict()]
    assert "Nothing is shown to have changed in any of 2 periods." in texts
    assert any(text.startswith("No alarm after 2 updates") for text in texts)


def test_a_reference_of_its_own():
    given = weeks([0, 0.2, 0])
    assert drift_history(given, reference="week-2", resamples=0).periods == ["week-0", "week-1"]
    other = drift_history(given, reference=binary(900, 9), resamples=0)
    assert other.reference == "the reference"
    assert len(other.periods) == 3


def test_weights_leave_the_monitor_out():
    given = {
        name: gaussian(300, i, sample_weight=np.ones(300)) for i, name in enumerate(("a", "b"))
    }
    history = drift_history(given, resamples=0)
    assert history.states == {}
    assert any("The monitor was left out" in s.text for s in history.verdict())
    assert history.table()[1][0][-1] == ""


def test_targets():
    given = {str(i): gaussian(300, i, targets=["x", "y"]) for i in range(3)}
    history = drift_history(given, **QUICK)
    assert {row.target for row in history if row.quantity == "prediction"} == {"x", "y"}


def test_classes_and_intervals():
    rng = np.random.default_rng(0)
    some = {str(i): caveat.Categorical(rng.dirichlet(np.ones(3), 200)) for i in range(3)}
    history = drift_history(some)
    assert "class" not in {row.quantity for row in history}
    wide = {str(i): caveat.Interval(np.zeros(50), np.ones(50), coverage=0.9) for i in range(3)}
    history = drift_history(wide)
    assert {row.quantity for row in history} == {"width", "distance of uncertainty", "e-value"}


def test_nothing_to_watch():
    """Intervals without an end have no width."""
    endless = caveat.Interval(np.zeros(5), np.full(5, np.inf), coverage=0.9)
    history = drift_history({"a": endless, "b": endless})
    assert [row.value for row in history] == [1.0]
    assert not history.alarm


def test_errors():
    with pytest.raises(OptionError, match="needs a dict of summaries by name"):
        drift_history([binary(20)])
    with pytest.raises(OptionError, match="nothing to compare with week-0"):
        drift_history(weeks([0]))
    with pytest.raises(OptionError, match=r"^b: the reference and the new samples answer"):
        drift_history({"a": binary(20), "b": gaussian(20)})


def test_gates():
    rows = caveat.drift(*weeks([0, 0.15]).values(), **QUICK).rows
    (sentence,) = DriftGate.parse("bias.change > 0.05").failing(rows)
    assert sentence.startswith("bias.change is 0.1")
    assert sentence.endswith("; the check fails if bias.change > 0.05")
    assert DriftGate.parse("bias.change > 0.5").failing(rows) == []
    assert DriftGate.parse("ece.change < -0.5").failing(rows) == []
    assert len(DriftGate.parse("bias.change in site > 0.01").failing(rows)) == 2
    (sentence,) = DriftGate.parse("bias.change in site=a > 0.01").failing(rows)
    assert "bias.change (site=a) is" in sentence
    (sentence,) = DriftGate.parse("class.standardized in site=b <= 0").failing(rows)
    assert "is not known" in sentence
    with pytest.raises(OptionError, match="no row is meant by 'mae > 1'; there are probability"):
        DriftGate.parse("mae > 1").failing(rows)
    with pytest.raises(OptionError, match="a change has change, change_low"):
        DriftGate.parse("ece.size > 1")
    for wrong in ("ece", "ece > x", None, "ece > 1e"):
        with pytest.raises(OptionError, match=r"a condition reads like 'ece.change > 0.02'"):
            DriftGate.parse(wrong)
