"""What each threshold of a policy would do."""

import numpy as np

from ..triage import Triage
from ..triage.result import MEAN
from .chart import Chart
from .entry import Entry, expect
from .marks import Axis, Line, Mark, Points, Rule

_ROWS = 50
_TAKEN = {
    True: "The policy takes the last threshold at which the observed error, with one error more, "
    "is at most the allowed one.",
    False: "The policy takes the last threshold that could be reached, from one of several starts "
    "that share the error probability, with the upper limit never above the allowed error.",
}
_GROUPS = "These are all samples together; each group has a threshold of its own."


def operating_curve(triage: Triage) -> Chart:
    """Return the error among the accepted samples for each threshold of a fitted policy.

    Parameters
    ----------
    triage : Triage
        What `TriagePolicy.decide` returned.
    """
    expect(triage, Triage, "triage")
    curve = triage.curve
    some = curve.accepted > 0
    coverage, error, upper = curve.coverage[some], curve.error[some], curve.upper[some]
    marks: list[Mark] = [
        Line(
            x=coverage, y=upper, label="upper limit", color="orange", dash="dash", marker=None,
            says="{x:.1%} accepted, error at most {y:.1%}",
        ),
        Line(
            x=coverage, y=error, label="observed", color="blue", marker=None, main=True,
            says="{x:.1%} accepted, {y:.1%} wrong",
        ),
        Rule(y=triage.risk, label="allowed"),
    ]  # fmt: skip
    if curve.reached and not triage.prices:
        last = [curve.reached - 1]
        marks.append(
            Points(
                x=curve.coverage[last], y=curve.error[last], label="taken", color="blue",
                marker="diamond", size=8, says="{x:.1%} accepted, {y:.1%} wrong",
            )
        )  # fmt: skip
    # Some rows stand for all, the one that is taken among them.
    rows = np.flatnonzero(some)
    rows = rows[np.linspace(0, len(rows) - 1, min(_ROWS, len(rows))).astype(np.intp)]
    rows = np.union1d(rows, np.arange(curve.reached)[-1:])
    top = 1.05 * max(float(np.max(upper, initial=0.0)), triage.risk)
    taken = _GROUPS if triage.prices else _TAKEN[triage.promise == MEAN]
    return Chart(
        title="What each threshold would do",
        read=f"Further right more is accepted. {taken} Read off the calibration samples.",
        x=Axis(label="share accepted", ends=(0.0, 1.0), percent=True),
        y=Axis(label="share wrong among the accepted", ends=(0.0, top), percent=True),
        marks=tuple(marks),
        numbers={
            "threshold": curve.threshold[rows],
            "accepted": curve.coverage[rows],
            "wrong": curve.error[rows],
            "upper limit": curve.upper[rows],
        },
    )


ENTRY = Entry("operating_curve", operating_curve, of=Triage)
