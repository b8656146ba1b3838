"""Whether it is as good for every class and every group."""

from typing import Any

import numpy as np

from .. import figures
from ..evaluation import Evaluation
from ..metrics import METRICS
from ..results.judgments import Contrast
from ..results.tables import bracket, number
from . import _charts as draw
from ._escape import for_chart
from .content import Chart, Names, Section, Target, numbers_table

MOST_VALUES = 30
"""A chart of more groups cannot be read; the largest are shown, the others counted."""

_AGAINST_REST = (
    "How far the probability of each class is from its frequency, over all samples: each class "
    "against the rest. The dotted line is the mean over the classes."
)


def group_sections(evaluation: Evaluation, names: Names, targets: list[Target]) -> list[Section]:
    """Return one section for the true classes, and one for the groups that were given."""
    panels = [
        (panel, metric, option, target)
        for target in targets
        for metric in _metrics(evaluation)
        for option in _option(evaluation, metric, target)
        for panel in figures.by_group(evaluation, metric, target.name, option).panels
    ]
    attributes = dict.fromkeys((panel.attribute, panel.of_class) for panel, *_ in panels)
    blocks: dict[bool, list[Any]] = {True: [], False: []}
    for attribute, of_class in attributes:
        for panel, metric, option, target in panels:
            shown = of_class or metric != "negative_log_likelihood_loss"
            if (panel.attribute, panel.of_class) == (attribute, of_class) and shown:
                chart = _chart(evaluation, metric, option, panel, target, names)
                blocks[of_class].append(chart)
    lead = "with its interval; the dotted line is the value over all samples."
    return [
        Section(
            "classes",
            "Is it as good for every class?",
            "Classes",
            f"One dot for each class, {lead} A rarer class is usually recognized less often, by "
            "perfect probabilities as well.",
            blocks[True],
        ),
        Section(
            "groups",
            "Is it as good for everybody?",
            "Groups",
            f"One dot for each group, {lead}",
            blocks[False],
        ),
    ]


def _metrics(evaluation: Evaluation) -> list[str]:
    """The metrics to show: the usual ones, or the first two if none of these was asked for."""
    have = dict.fromkeys(
        row.metric for row in evaluation.rows if not row.overall or row.one_class is not None
    )
    if evaluation.matching(metric="positive_calibration_error", option="", group=""):
        have.pop("expected_calibration_error", None)  # two classes: one reading says it all
    return [name for name in METRICS.shown("groups") if name in have] or list(have)[:2]


def _option(evaluation: Evaluation, metric: str, target: Target) -> list[str]:
    """The option to show of a metric that has several: the last, which is the widest interval."""
    rows = [row for row in evaluation.matching(metric=metric, group="") if target.has(row)]
    return [row.option for row in rows[-1:]]


def _chart(
    evaluation: Evaluation, metric: str, option: str, panel: Any, target: Target, names: Names
) -> Chart:
    shown = np.sort(np.argsort(-panel.samples, kind="stable")[:MOST_VALUES])
    labels = [panel.labels[i] for i in shown]
    value, low, high = panel.value[shown], panel.low[shown], panel.high[shown]
    edges = [-0.6, len(labels) - 0.4]
    data = draw.intervals(labels, value, low, high, "@blue", "%{text}: %{x:.4~g}")
    shared = [panel.overall] * 2 if np.isfinite(panel.overall) else value
    if np.isfinite(panel.overall):
        data.insert(0, draw.line(shared, edges, "all samples", "@ink", dash="dot"))
    of = f" of {target.name}" if target.name is not None else ""
    title = f"{METRICS[metric].title}{of} by {panel.attribute}" + (f" ({option})" if option else "")
    says = METRICS[metric].says
    if panel.against_rest:
        title, says = "Calibration error of each class against the rest", _AGAINST_REST
    return Chart(
        names("chart"),
        title,
        f"{says} {_better(metric)}",
        data,
        draw.layout(
            METRICS[metric].label,
            "",
            height=110 + 26 * len(labels),
            showlegend=False,
            xaxis={"range": draw.padded(value, low, high, shared)},
            yaxis={
                "tickvals": list(range(len(labels))),
                "ticktext": [for_chart(text, 22) for text in labels],
                "range": edges[::-1],
                "showgrid": False,
            },
        ),
        numbers_table(
            title,
            (panel.attribute, labels),
            ("value", value),
            ("low", low),
            ("high", high),
            ("samples", panel.samples[shown]),
        ),
        note=_note(evaluation, metric, option, panel, target, len(labels)),
        target=target.key,
    )


def _better(metric: str) -> str:
    entry = METRICS[metric]
    if entry.direction != "target":
        return {"lower": "Less is better.", "higher": "More is better."}[entry.direction]
    return "" if entry.optimum is None else f"{entry.optimum:g} is best."


def _note(
    evaluation: Evaluation, metric: str, option: str, panel: Any, target: Target, shown: int
) -> str:
    notes = []
    gaps = evaluation.matching(metric=metric, option=option, contrast=Contrast.DIFFERENCE)
    for row in gaps:
        if target.has(row) and row.attribute == panel.attribute and not panel.against_rest:
            between = f" ({bracket(row)})" if bracket(row) else ""
            notes.append(f"Largest gap: {number(row.value)}{between}, {row.note}.")
    left = len(panel.labels) - shown
    if left:
        notes.append(
            f"The {shown} largest are shown; {left} smaller ones are in the table of rows."
        )
    return " ".join(notes)
