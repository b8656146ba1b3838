"""What deferring some samples does: a slider, or what a fitted policy decides."""

from dataclasses import replace
from typing import Any

from .. import charts
from ..charts.marks import Points, Spot
from ..evaluation import Evaluation
from ..results.tables import number
from ..triage import Triage, TriagePolicy
from ..triage.result import MEAN
from ._words import share
from .content import Cell, Figure, Names, Promise, Slider, Table, Target

_START = 20
_TAG = "Descriptive: read off these same samples, no promise for new ones"


def split_slider(evaluation: Evaluation, names: Names, target: Target) -> Slider:
    """Return the scatter of the two parts with a slider for the share deferred."""
    chart = charts.split(evaluation, target.name, points=1000)
    chart = replace(chart, read=f"{chart.read} Deferred samples turn gray.")
    # The slider colors by what is deferred, which shades of the error would hide.
    marks = tuple(replace(m, values=None) for m in chart.marks if isinstance(m, Points))
    classes = hasattr(evaluation.prediction, "classes")
    chart = chart if classes else replace(chart, marks=marks)
    figure = Figure(names("chart"), chart, target.key)
    left = charts.deferral(evaluation, target.name)
    said = _sentences(left, classes)
    return Slider(names("steps"), figure, _TAG, said, left.threshold, _START, target.key)


def curve_slider(evaluation: Evaluation, names: Names, target: Target) -> Slider:
    """Return the confidence curve with a slider: for predictions that have no split."""
    chart = charts.confidence_curve(evaluation, target.name)
    left = charts.deferral(evaluation, target.name)
    spot = Spot(x=left.deferred, y=left.error, start=_START)
    figure = Figure(names("chart"), replace(chart, marks=(*chart.marks, spot)), target.key)
    said = _sentences(left, hasattr(evaluation.prediction, "classes"))
    return Slider(names("steps"), figure, _TAG, said, (), _START, target.key)


def _sentences(left: charts.Deferral, classes: bool) -> list[str]:
    words, what = (share, "error") if classes else (number, "mean absolute error")
    kept = left.error.tolist()
    first = words(kept[0])
    said = [f"Defer nothing: the {what} is {first}."]
    for part, error in zip(left.deferred.tolist()[1:], kept[1:], strict=True):
        start = f"Defer {100 * part:.0f} %: {what} among the rest"
        if words(error) == first:
            said.append(f"{start} stays at {first}.")
        else:
            way = "falls" if error < kept[0] else "rises"
            said.append(f"{start} {way} from {first} to {words(error)}.")
    return said


def policy_blocks(
    evaluation: Evaluation, policy: TriagePolicy, split: bool, names: Names
) -> list[Any]:
    """Return what a fitted policy decides, what it guarantees, and where its samples lie."""
    triage = policy.decide(evaluation.prediction, ids=evaluation.ids)
    blocks: list[Any] = [_promise(triage)]
    if split:
        chart = charts.split(evaluation, points=1000, actions=triage.actions)
        blocks.append(Figure(names("chart"), chart))
    return [*blocks, Figure(names("chart"), charts.operating_curve(triage))]


def _promise(triage: Triage) -> Promise:
    rows = [
        [
            Cell(action),
            Cell(f"{triage.counts[action]:,}", float(triage.counts[action])),
            Cell(share(triage.shares[action]), triage.shares[action]),
            Cell(reason),
        ]
        for action, reason in triage.reasons.items()
    ]
    header = ["action", "samples", "share", "reason"]
    table = Table("What the policy decides of these samples", header, rows, heads=True)
    title = f"The policy: at most {100 * triage.risk:.3g} % errors among what is accepted"
    title += ", on average" if triage.promise == MEAN else ""
    return Promise(title, triage.guarantee, triage.remark, table)
