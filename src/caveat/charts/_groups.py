"""One metric for each class, each value of the groups, or each technique."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..evaluation import Comparison, Evaluation
from ..exceptions import OptionError
from ..metrics import METRICS
from ..results.judgments import Contrast
from ..results.rows import Row
from ..results.tables import bracket, number
from ._samples import of_target, samples
from .chart import Chart
from .entry import Entry, expect
from .layout import columns_of, interval_points, label_lines, padded, row_axis, sized_lines
from .marks import Axis, Mark, Points, Rule

MOST = 30
"""More values of an attribute than this cannot be read; the worst are shown."""

AGAINST_REST = "class against the rest"


def groups(
    evaluation: Evaluation,
    metric: str | None = None,
    target: Any = None,
    option: str | None = None,
    attribute: str | None = None,
) -> Chart:
    """Return a metric for each class and each group with its intervals, straight from the table.

    Parameters
    ----------
    metric : str, optional
        A name or an alias from ``caveat.metrics.METRICS``; by default the calibration error.
    option : str, optional
        Which rows, where a metric has several, such as ``"coverage=0.9545"``; by default the first.
    attribute : str, optional
        The groups of this attribute only; by default those of all.

    Returns
    -------
    Numbers of samples are in parentheses. Groups in which the metric is not defined are left out.
    Of more than 30 values of an attribute the 30 worst are shown. Of more than two classes,
    "positive_calibration_error" is that of each class against the rest.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Categorical.from_binary([0.1, 0.2, 0.9, 0.9])
    >>> result = caveat.evaluate(prediction, [0, 0, 0, 1], groups=["a", "a", "b", "b"], resamples=0)
    >>> groups(result, "accuracy", attribute="group").numbers["value"].tolist()
    [1.0, 0.5]
    """
    result = samples(evaluation, target)
    names = {entry.name for entry in METRICS.find(_usual(evaluation) if metric is None else metric)}
    rows = [row for row in evaluation.rows if row.metric in names and row.target == result.target]
    everyone = [row for row in rows if row.overall]
    if not everyone:
        raise OptionError(f"{metric!r} is not in the table of this evaluation")
    against_rest = all(row.one_class is not None for row in everyone)
    if against_rest:
        whole, overall = everyone[0], _classwise(evaluation, everyone)
        labeled = [(AGAINST_REST, str(row.one_class), row) for row in everyone]
        words = "calibration error of the class against the rest"
        title = "Calibration error of each class against the rest"
    else:
        whole = _chosen(everyone, metric, option)
        overall = whole.value
        labeled = [
            (row.attribute, row.category, row)
            for row in rows
            if (row.metric, row.option) == (whole.metric, whole.option)
            and not row.overall
            and row.contrast is Contrast.NONE
        ]
        words = METRICS[whole.metric].label + (f" ({whole.option})" if whole.option else "")
        by = attribute or "group"
        title = f"{METRICS[whole.metric].title}{of_target(evaluation, result)} by {by}"
        title += f" ({whole.option})" if whole.option else ""
    kept = _worst([part for part in labeled if attribute in (None, part[0])], overall)
    if not kept:
        raise OptionError(f"{whole.metric!r} is not defined in any group of this evaluation")
    left = sum(attribute in (None, part[0]) and np.isfinite(part[2].value) for part in labeled)
    several = len({name for name, _, _ in kept}) > 1
    axis, places = row_axis(
        [
            sized_lines(f"{name} {label}" if several else label, row.samples)
            for name, label, row in kept
        ]
    )
    value, low, high, size = columns_of(
        (row for *_, row in kept), "value", "low", "high", "samples"
    )
    marks: list[Mark] = [
        Points(
            x=value, y=places, low=low, high=high, label="each group", main=True, size=6,
            width=3, text=[label for _, label, _ in kept], says="{text}: {x:.4g}",
        )
    ]  # fmt: skip
    if np.isfinite(overall):
        marks.append(Rule(x=overall, label="all samples", main=True))
    entry = METRICS[whole.metric]
    says = entry.says
    if against_rest:
        says = (
            "How far the probability of each class is from its frequency, over all samples: each "
            "class against the rest. The dotted line is the mean over the classes."
        )
    return Chart(
        title=title,
        read=f"{says} {better(whole.metric)}".strip(),
        x=Axis(label=words, ends=padded(value, low, high, [overall])),
        y=axis,
        marks=tuple(marks),
        numbers={
            "attribute": [name for name, _, _ in kept],
            "group": [label for _, label, _ in kept],
            "value": value,
            "low": low,
            "high": high,
            "samples": size,
        },
        note=_note(evaluation, whole, attribute, len(kept), left, against_rest),
        confidence=evaluation.confidence,
    )


def better(metric: str) -> str:
    """Return which values of a metric are better, as a sentence."""
    entry = METRICS[metric]
    if entry.direction != "target":
        return {"lower": "Less is better.", "higher": "More is better."}[entry.direction]
    return "" if entry.optimum is None else f"{entry.optimum:g} is best."


def _usual(evaluation: Evaluation) -> str:
    grouped = [row.metric for row in evaluation.rows if row.group]
    if not grouped:
        raise OptionError("this evaluation has no groups; pass groups= to evaluate")
    # Calibration first, of two classes by the second; then coverage.
    usual = (METRICS[name] for name in METRICS.shown("groups") if name in grouped)
    order = {
        m.name: (m.locality != "local", m.direction != "target", not m.two_classes) for m in usual
    }
    return min(order, key=order.__getitem__, default=grouped[0])


def _chosen(rows: Sequence[Row], metric: str | None, option: str | None) -> Row:
    known = [row.option for row in rows]
    if option is not None and option not in known:
        raise OptionError(f"unknown option {option!r} of {metric!r}; known are {', '.join(known)}")
    return next(row for row in rows if option in (None, row.option))


def _classwise(evaluation: Evaluation, rows: Sequence[Row]) -> float:
    classwise = evaluation.matching(metric="classwise_calibration_error", group="")
    return classwise[0].value if classwise else float(np.mean([row.value for row in rows]))


def _worst(
    rows: Sequence[tuple[str, str, Row]], overall: float
) -> list[tuple[str, str, Row]]:  # fmt: skip
    """Return the groups to show, in their order: of many values of an attribute the worst."""
    rows = [part for part in rows if np.isfinite(part[2].value)]
    kept = []
    for attribute in dict.fromkeys(name for name, _, _ in rows):
        of_it = [part for part in rows if part[0] == attribute]
        value = np.array([row.value for _, _, row in of_it])
        direction = of_it[0][2].direction
        badness = np.abs(value - overall) if direction == "target" else value
        order = np.argsort(badness if direction == "higher" else -badness, kind="stable")
        kept += [of_it[i] for i in sorted(order[:MOST])]
    return kept


def _note(
    evaluation: Evaluation, whole: Row, attribute: str | None, shown: int, known: int, rest: bool
) -> str:
    notes = []
    if attribute is not None and not rest:
        for row in evaluation.matching(
            metric=whole.metric, option=whole.option, contrast=Contrast.DIFFERENCE
        ):
            if (row.target, row.attribute) == (whole.target, attribute):
                between = f" ({bracket(row)})" if bracket(row) else ""
                notes.append(f"Largest gap: {number(row.value)}{between}, {row.note}.")
    if known > shown:
        notes.append(
            f"The {shown} worst are shown; {known - shown} others are in the table of rows."
        )
    return " ".join(notes)


def comparison(
    result: Comparison, metric: str, target: str | None = None, option: str | None = None
) -> Chart:
    """Return one metric of several techniques with its intervals; the best and its ties stand out.

    Parameters
    ----------
    metric : str
        A name or an alias from ``caveat.metrics.METRICS``.
    option : str, optional
        Which rows, where a metric has several; by default the first.

    Examples
    --------
    >>> import caveat
    >>> predictions = {
    ...     "sure": caveat.Categorical.from_binary([0.0, 0.0, 1.0]),
    ...     "unsure": caveat.Categorical.from_binary([0.5, 0.4, 0.6]),
    ... }
    >>> result = caveat.compare(predictions, [0, 0, 1], resamples=0)
    >>> comparison(result, "brier").numbers["technique"]
    ['sure', 'unsure']
    """
    expect(result, Comparison)
    rows = _compared(result, metric, target, option)
    axis, places = row_axis([label_lines([row.technique]) for row in rows])
    kinds = (
        ("best", "green", "diamond", [row.best for row in rows]),
        ("tied with the best", "blue", "circle", [row.tied and not row.best for row in rows]),
        ("worse", "orange", "cross", [row.rank > 0 and not row.tied for row in rows]),
        ("not ranked", "gray", "square", [row.rank == 0 for row in rows]),
    )
    value, low, high = numbers = columns_of(rows, "value", "low", "high")
    names = [row.technique for row in rows]
    marks = interval_points(places, numbers, names, kinds, size=6, says="{text}: {x:.4g}")
    words = METRICS[rows[0].metric].label + (f" ({rows[0].option})" if rows[0].option else "")
    return Chart(
        title=f"{METRICS[rows[0].metric].title} of each technique",
        read=f"{METRICS[rows[0].metric].says} {better(rows[0].metric)}".strip(),
        x=Axis(label=words, ends=padded(value, low, high)),
        y=axis,
        marks=tuple(marks),
        numbers={"technique": names, "value": value, "low": low, "high": high},
        confidence=result.confidence,
    )


def _compared(result: Comparison, metric: str, target: str | None, option: str | None) -> list[Any]:
    names = {entry.name for entry in METRICS.find(metric)}
    rows = [row for row in result.matching(group="") if row.metric in names]
    if target is not None:
        rows = [row for row in rows if row.target == str(target)]
    if option is not None:
        rows = [row for row in rows if row.option == option]
    rows = [row for row in rows if np.isfinite(row.value)]
    if not rows:
        wanted = " ".join(str(part) for part in (metric, option, target) if part is not None)
        raise OptionError(f"{wanted!r} is not in the table of this comparison")
    first = rows[0]
    return [row for row in rows if (row.option, row.target) == (first.option, first.target)]


def trade_off(
    result: Comparison, target: str | None = None, expression: str | None = None
) -> Chart:
    """Return reliability against the proper score for each technique.

    Parameters
    ----------
    expression : str, optional
        What of the uncertainty counts, as in `Comparison.recommend`; by default what the
        predictions express.

    Returns
    -------
    Pale marks are beaten in both by another technique.

    Examples
    --------
    >>> import caveat
    >>> predictions = {
    ...     "sure": caveat.Categorical.from_binary([0.01, 0.02, 0.9]),
    ...     "unsure": caveat.Categorical.from_binary([0.5, 0.4, 0.6]),
    ... }
    >>> result = caveat.compare(predictions, [0, 0, 1], resamples=20, random_state=0)
    >>> trade_off(result).numbers["beaten in both"]
    ['no', 'yes']
    """
    expect(result, Comparison)
    answer = result.recommend(expression)
    if not answer.skill or answer.skill == answer.primary:
        raise OptionError("a trade-off needs a proper score and another measure of reliability")
    metrics = answer.primary, answer.skill
    pairs = {}
    for technique in result.techniques:
        matches = [_compared_one(result, technique, metric, target) for metric in metrics]
        if None in matches:
            raise OptionError(f"{technique!r} does not have both {metrics[0]} and {metrics[1]}")
        pairs[technique] = matches
    front = [name for name in pairs if name in answer.pareto]
    x, y = (columns_of(rows, "value", "low", "high") for rows in zip(*pairs.values(), strict=True))
    titles = [METRICS[metric].title for metric in metrics]
    marks = tuple(
        Points(
            x=x[0, [i]], y=y[0, [i]], low=x[1, [i]], high=x[2, [i]], y_low=y[1, [i]],
            y_high=y[2, [i]], label=name, main=True, size=8, width=1.2, text=[name],
            faint=np.array([name not in front]),
            says=f"{{text}}: {titles[0]} {{x:.4g}}, {titles[1]} {{y:.4g}}",
        )
        for i, name in enumerate(pairs)
    )  # fmt: skip
    second = titles[1] if titles[1][:2].isupper() else titles[1][0].lower() + titles[1][1:]
    return Chart(
        title=f"{titles[0]} against {second}",
        read=f"{_reliable(metrics[0])}, further down is better. Pale marks are beaten in both by "
        "another technique; thin lines are intervals.",
        x=Axis(label=titles[0], ends=padded(x)),
        y=Axis(label=titles[1], ends=padded(y)),
        marks=marks,
        numbers={
            "technique": list(pairs),
            titles[0]: x[0],
            titles[1]: y[0],
            "beaten in both": ["no" if name in front else "yes" for name in pairs],
        },
        note=f"Not beaten in both by any other: {', '.join(front)}.",
        confidence=result.confidence,
    )


def _reliable(metric: str) -> str:
    """Return which side of an axis is the more reliable."""
    if METRICS[metric].direction == "target":
        return f"Closer to {METRICS[metric].optimum:g} is more reliable"
    return "Further left is more reliable"


def _compared_one(result: Comparison, technique: str, metric: str, target: str | None) -> Any:
    rows = result.matching(technique=technique, metric=metric, group="")
    return next((row for row in rows if target in (None, row.target)), None)


ENTRY = Entry(
    "groups",
    groups,
    applies=lambda evaluation, _: any(row.group for row in evaluation.rows),
    aliases=("by_group",),
)
COMPARISON = Entry("comparison", comparison, of=Comparison)
TRADE_OFF = Entry("trade_off", trade_off, of=Comparison)
