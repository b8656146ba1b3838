"""Why the samples are uncertain, and what deferring some of them does."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..evaluation import Evaluation, TriagePolicy
from ..evaluation.triage_result import ACCEPT, DEFER, EXPERT, MEAN, MEASURE, Triage
from ..results.tables import number
from . import _charts as draw
from ._words import share
from .content import Cell, Chart, Deferral, Names, Promise, Table, Target, numbers_table

_START = 20
_ROWS = 50
_ACTION_STYLES = {
    ACCEPT: ("@blue", "circle"),
    EXPERT: ("@purple", "diamond"),
    MEASURE: ("@yellow", "square"),
    DEFER: ("@gray", "square"),
}
_HOVER = "%{text}<br>aleatoric %{x:.3~g}<br>epistemic %{y:.3~g}"
_READ = (
    "Each mark is a sample. To the right, the data cannot tell (aleatoric: a better measurement "
    "may help); to the top, the model does not know (epistemic: more data of this kind, or an "
    "expert, may help)."
)


_TAG = "Descriptive: read off these same samples, no promise for new ones"


def split_deferral(figure: Any, evaluation: Evaluation, names: Names, target: Target) -> Deferral:
    """Return the scatter of the two parts with a slider for the share deferred."""
    classes = hasattr(evaluation.prediction, "classes")
    wrong = figure.error > 0 if classes else np.zeros(len(figure.error), dtype=bool)
    kinds = [("right", ~wrong), ("wrong", wrong)] if classes else [("samples", ~wrong)]
    traces, uncertainty = [], []
    for (name, chosen), symbol in zip(kinds, ("circle", "x"), strict=False):
        traces.append(
            draw.points(
                figure.aleatoric[chosen], figure.epistemic[chosen], name, "@blue", symbol,
                figure.ids[chosen].tolist(), f"sample {_HOVER}",
            )
        )  # fmt: skip
        traces[-1]["showlegend"] = False
        uncertainty.append(figure.uncertainty[chosen])
    traces.append(draw.legend(f"{kinds[0][0]}, kept", "@blue", "circle"))
    if classes:
        traces.append(draw.legend("wrong, kept", "@orange", "x"))
    traces.append(draw.legend("deferred", "@gray", "circle"))
    chart = Chart(
        names("chart"),
        figure.title,
        _READ + " Deferred samples turn gray" + ("; wrong ones are crosses." if classes else "."),
        traces,
        draw.layout(figure.x_label, figure.y_label, height=460),
        numbers_table(
            "Error among the samples that are kept, by the share deferred",
            ("deferred", figure.deferred[:-1:5]),
            (figure.error_label, figure.error_kept[:-1:5]),
        ),
        note=_subset(len(figure.ids), len(evaluation.ids), classes),
    )
    # With everything deferred nothing is left that could be wrong.
    deferred, kept = figure.deferred[:-1], figure.error_kept[:-1]
    steps = {"threshold": figure.threshold[:-1], "uncertainty": uncertainty}
    said = _sentences(deferred, kept, classes)
    return Deferral(names("steps"), chart, _TAG, said, steps, _START, target.key)


def _subset(shown: int, samples: int, classes: bool) -> str:
    if shown == samples:
        return ""
    which = "wrong ones" if classes else "large errors"
    return (
        f"{shown:,} of {samples:,} samples are shown, {which} more often than they occur so that "
        "they can be seen; the sentence above is of all samples."
    )


def curve_deferral(figure: Any, chart: Chart, evaluation: Evaluation, names: Names) -> Deferral:
    """Return the confidence curve with a slider: for predictions that have no split."""
    classes = hasattr(evaluation.prediction, "classes")
    spot = draw.points(
        [figure.removed[_START]], [figure.error[_START]], "chosen", "@orange", "diamond", [""],
        "%{x:.0%} deferred",
    )  # fmt: skip
    spot["marker"] |= {"size": 13, "opacity": 1}
    steps = {"x": figure.removed, "y": figure.error, "spot": len(chart.data)}
    said = _sentences(figure.removed, figure.error, classes)
    marked = replace(chart, data=[*chart.data, spot])
    return Deferral(names("steps"), marked, _TAG, said, steps, _START, chart.target)


def _sentences(deferred: Any, kept: Any, classes: bool) -> list[str]:
    words, what = (share, "error") if classes else (number, "mean absolute error")
    first = words(float(kept[0]))
    said = [f"Defer nothing: the {what} is {first}."]
    for part, left in zip(deferred.tolist()[1:], kept.tolist()[1:], strict=True):
        start = f"Defer {100 * part:.0f} %: {what} among the rest"
        if words(left) == first:
            said.append(f"{start} stays at {first}.")
        else:
            way = "falls" if left < kept[0] else "rises"
            said.append(f"{start} {way} from {first} to {words(left)}.")
    return said


def policy_blocks(
    figure: Any, evaluation: Evaluation, policy: TriagePolicy, names: Names
) -> list[Any]:
    """Return what a fitted policy decides, what it guarantees, and where its samples lie."""
    triage = policy.decide(evaluation.prediction, ids=evaluation.ids)
    blocks: list[Any] = [_promise(triage)]
    if figure is not None:
        blocks.append(_regions(figure, evaluation, triage, names))
    return [*blocks, _operating_curve(triage, names)]


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


def _regions(figure: Any, evaluation: Evaluation, triage: Triage, names: Names) -> Chart:
    place = {name: i for i, name in enumerate(evaluation.ids.astype(str).tolist())}
    action = [str(triage.actions[place[name]]) for name in figure.ids.tolist()]
    traces = []
    for name in triage.reasons:
        chosen = [i for i, taken in enumerate(action) if taken == name]
        color, symbol = _ACTION_STYLES[name]
        traces.append(
            draw.points(
                figure.aleatoric[chosen], figure.epistemic[chosen], name, color, symbol,
                figure.ids[chosen].tolist(), f"sample {_HOVER}",
            )
        )  # fmt: skip
    counts = [float(len(trace["x"])) for trace in traces]
    return Chart(
        names("chart"),
        figure.title,
        _READ + " The color and the mark say what the policy does with it.",
        traces,
        draw.layout(figure.x_label, figure.y_label, height=460),
        numbers_table("Marks in this chart", ("action", list(triage.reasons)), ("marks", counts)),
        wide=True,
    )


_TAKEN = {
    True: "The policy takes the last threshold at which the solid line, with one error more, is at "
    "most at the dotted one.",
    False: "The policy takes the last threshold that could be reached, from one of several starts "
    "that share the allowed doubt, with the dashed line never above the dotted one.",
}


def _operating_curve(triage: Triage, names: Names) -> Chart:
    curve = triage.curve
    some = curve.accepted > 0
    coverage, error, upper = curve.coverage[some], curve.error[some], curve.upper[some]
    axis = {"tickformat": ".0%", "rangemode": "tozero"}
    data = [
        draw.line(
            coverage, upper, "upper limit", "@orange", dash="dash",
            hover="%{x:.1%} accepted<br>error at most %{y:.1%}",
        ),
        draw.line(
            coverage, error, "seen", "@blue", hover="%{x:.1%} accepted<br>%{y:.1%} wrong"
        ),
        draw.line([0, 1], [triage.risk] * 2, "allowed", "@ink", dash="dot"),
    ]  # fmt: skip
    if curve.reached:
        last = curve.reached - 1
        data.append(
            draw.points(
                curve.coverage[[last]], curve.error[[last]], "taken", "@blue", "diamond", [""],
                "%{x:.1%} accepted<br>%{y:.1%} wrong",
            )
        )  # fmt: skip
    # Some rows stand for all, the one that is taken among them.
    rows = np.flatnonzero(some)
    rows = rows[np.linspace(0, len(rows) - 1, min(_ROWS, len(rows))).astype(np.intp)]
    rows = np.union1d(rows, np.arange(curve.reached)[-1:])
    return Chart(
        names("chart"),
        "What each threshold would do",
        f"Further right more is accepted. {_TAKEN[triage.promise == MEAN]} Read off the "
        "calibration samples.",
        data,
        draw.layout("share accepted", "share wrong among the accepted", xaxis=axis, yaxis=axis),
        numbers_table(
            "Thresholds of the policy",
            ("threshold", curve.threshold[rows]),
            ("accepted", curve.coverage[rows]),
            ("wrong", curve.error[rows]),
            ("upper limit", curve.upper[rows]),
        ),
        wide=True,
    )
