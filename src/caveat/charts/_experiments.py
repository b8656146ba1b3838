"""The charts of experiments: disentanglement, classes left out, shifts of inputs and domains."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..exceptions import OptionError
from ..experiments import UDE, ClassDetection, Curve, Disentanglement, DomainShift, ShiftCurves
from ..experiments.error import TERMS
from ..experiments.evidence import TOLERANCE
from ..experiments.protocol import noise_words
from .chart import (
    Axis,
    Band,
    Bars,
    Chart,
    Line,
    Mark,
    Points,
    Rule,
    label_lines,
    literal,
    padded,
    ratio_axis,
    row_axis,
)
from .entry import Entry

MOST = 30
_PARTS = ("aleatoric", "epistemic", "total")
_TERMS = {
    "aleatoric_consistency": "aleatoric follows noise",
    "epistemic_consistency": "epistemic follows missing data",
    "aleatoric_orthogonality": "aleatoric unmoved by the amount of data",
    "epistemic_orthogonality": "epistemic unmoved by noise",
}
_STYLES = {
    "score": ("ink", "solid", "circle"),
    "aleatoric": ("orange", "dash", "square"),
    "epistemic": ("blue", "dot", "triangle"),
}
_SWEEP_TITLE = {
    "size": "Less or more training data; ideal: epistemic falls, aleatoric stays",
    "noise": "Noise in the {what}; ideal: aleatoric rises, epistemic stays",
}
_MOST_WIDE = 1.3
"""How far above the highest mean a band is shown."""
_SWEEP_READ = {
    "size": "From left to right the model gets more data: its {score} should rise, epistemic "
    "uncertainty should fall with it, and aleatoric uncertainty should stay where it is.",
    "noise": "From left to right more {what} are wrong: the {score} should fall, aleatoric "
    "uncertainty should rise with it, and epistemic uncertainty should stay where it is.",
}


def _expect(result: Any, kind: type) -> None:
    if not isinstance(result, kind):
        raise OptionError(f"result must be a {kind.__name__}; got a {type(result).__name__}")


def sweeps(result: Disentanglement, decomposition: str | None = None) -> tuple[Chart, Chart]:
    """Return score, aleatoric and epistemic uncertainty along both sweeps.

    Parameters
    ----------
    result : Disentanglement
        What `caveat.disentanglement_error` returned.
    decomposition : str, optional
        By default the first.

    Returns
    -------
    two Chart
        For the training size and for the noise. All in percent: the score as it is, each
        uncertainty of its largest mean in either sweep, which the legend gives. Bands are two
        standard deviations over repeats.
    """
    _expect(result, Disentanglement)
    curves = [result.curve(kind, decomposition) for kind in ("size", "noise")]
    whole = {"score": 1.0, **{part: _largest(curves, part) for part in _PARTS[:2]}}
    lines = [{part: _line(curve, part, whole[part]) for part in whole} for curve in curves]
    ends = _range([line for panel in lines for line in panel.values()])
    error = result.error(decomposition=decomposition)
    size, noise = (
        _sweep(curve, result, panel, whole, ends, error)
        for curve, panel in zip(curves, lines, strict=True)
    )
    return size, noise


def _line(curve: Curve, part: str, whole: float) -> Any:
    """Return mean, low and high in percent of the whole: two standard deviations over repeats.

    Infinities, which some divergences have, leave a gap.
    """
    values = getattr(curve, part)
    known = np.where(np.isfinite(values), values, np.nan)
    mean = known.mean(axis=0)
    spread = known.std(axis=0, ddof=1) if len(known) > 1 else np.zeros(len(mean))
    scale = whole if whole > 0 else np.inf
    result = 100 * (np.array([mean, mean - 2 * spread, mean + 2 * spread]) / scale)
    if part != "score":
        result[1] = np.maximum(result[1], 0.0)  # no uncertainty is negative
    elif np.max(values) <= 1:
        result[2] = np.minimum(result[2], 100.0)  # nor is an accuracy above 1
    return result


def _largest(curves: Sequence[Curve], part: str) -> float:
    means = np.concatenate([getattr(curve, part).mean(axis=0) for curve in curves])
    return float(np.max(means, initial=0.0, where=np.isfinite(means)))


def _range(lines: Sequence[Any]) -> tuple[float, float]:
    """Return the ends of the axis of both charts; a band that is very wide is cut off."""
    mean, low, high = (np.concatenate([line[i] for line in lines]) for i in range(3))
    highest = min(np.nanmax(high, initial=1.0), _MOST_WIDE * np.nanmax(mean, initial=1.0))
    return 1.04 * float(np.nanmin(low, initial=0.0)), 1.04 * float(highest)


def _sweep(
    curve: Curve, result: Disentanglement, lines: dict[str, Any], whole: dict[str, float],
    ends: tuple[float, float], error: UDE,
) -> Chart:  # fmt: skip
    size, what, score = curve.kind == "size", noise_words(result.task), result.score_name
    x = 100 * np.asarray(curve.levels, dtype=np.float64)
    marks: list[Mark] = []
    numbers = {"training data used, %" if size else f"{what} permuted, %": x}
    (x_label,) = numbers
    for part, (mean, low, high) in lines.items():
        color, dash, marker = _STYLES[part]
        name = score if part == "score" else part
        unit = "" if part == "score" else f" (100 % = {whole[part]:.3g})"
        marks.append(
            Line(
                x=x, y=mean, label=f"{name}{unit}", color=color, dash=dash, marker=marker,
                main=True, says=f"{literal(name)} at {{x:.3g}} %: {{y:.1f}} %",
            )
        )  # fmt: skip
        if not np.array_equal(low, high, equal_nan=True):
            marks.append(Band(x=x, low=low, high=high, color=color, main=True))
        values = getattr(curve, part)
        numbers[name] = np.where(np.isfinite(values), values, np.nan).mean(axis=0)
    log = bool(size and x.max() >= 20 * x.min())
    terms = [(kind, error.terms[name]) for name, kind in TERMS.items() if kind.sweep == curve.kind]
    said = [
        f"{kind.uncertainty} {term.correlation:z.2f} ({kind.ideal:g} is ideal)"
        for kind, term in terms
    ]
    return Chart(
        title=_SWEEP_TITLE[curve.kind].format(what=what),
        read=_SWEEP_READ[curve.kind].format(score=score, what=what),
        x=Axis(
            label=x_label, log=log, ends=_wide(x) if log else padded(x),
            ticks=tuple((level, f"{level:g}") for level in _apart(x)) if log else (),
        ),
        y=Axis(label=f"{score} in %; uncertainty in % of its largest", ends=ends),
        marks=tuple(marks),
        numbers=numbers,
        note=f"Correlation with the loss of {score}: {', '.join(said)}.",
    )  # fmt: skip


def _apart(levels: Any) -> list[float]:
    """Return the levels, from the largest down, whose labels do not touch on a logarithmic axis."""
    kept: list[float] = []
    for level in sorted(levels.tolist(), reverse=True):
        if not kept or kept[-1] >= 1.5 * level:
            kept.append(level)
    return kept[::-1]


def _wide(x: Any) -> tuple[float, float]:
    return float(np.min(x)) / 1.12, float(np.max(x)) * 1.12


def terms(
    result: Disentanglement,
    decomposition: str | None = None,
    correlation: str = "pearson",
    weights: tuple[float, float, float, float] = (1, 1, 1, 1),
) -> Chart:
    """Return the four errors and their mean, the UDE, as bars with intervals.

    Parameters
    ----------
    result : Disentanglement
        What `caveat.disentanglement_error` returned.
    decomposition : str, optional
        By default all of them, side by side.
    correlation : {"pearson", "spearman"}, default="pearson"
    weights : four numbers, default=(1, 1, 1, 1)
        The weights of the terms in the UDE.

    Returns
    -------
    Chart
        0 is ideal; up to the dashed line a condition counts as met.
    """
    _expect(result, Disentanglement)
    names = result.decompositions if decomposition is None else (decomposition,)
    errors = [result.error(correlation, weights, decomposition=name) for name in names]
    labels = [f"{text} ({TERMS[name].symbol})" for name, text in _TERMS.items()]
    labels.append("UDE, the mean of the four" if len({*weights}) == 1 else "UDE, weighted")
    rows = [[*(error.terms[term] for term in _TERMS), error] for error in errors]
    return _grouped_bars(
        labels,
        {name.replace("_", " "): of_it for name, of_it in zip(names, rows, strict=True)},
        title="Errors of the four conditions",
        read="An error of 0 is ideal; up to the dashed line a condition counts as met. The strokes "
        "are intervals by the spread over repeats.",
        label="error of the correlation; 0 is ideal",
        rule=Rule(x=TOLERANCE, label="counts as met", dash="dash"),
        least=1.0,
    )


def _grouped_bars(
    labels: Sequence[str],
    series: dict[str, list[Any]],
    *,
    title: str,
    read: str,
    label: str,
    rule: Rule,
    least: float,
) -> Chart:
    """Return bars with intervals: a row for each label, a bar in it for each series."""
    lines = [label_lines([text], 26) for text in labels]
    room = max(1, len(series) - 1)
    axis, places = row_axis([[*text, *[""] * max(0, room - len(text))] for text in lines])
    axis = replace(
        axis,
        ticks=tuple((p, "\n".join(text)) for p, text in zip(places, lines, strict=True)),
    )
    height = 1.7 / len(series) if len(series) < 3 else 0.9
    marks: list[Mark] = [rule]
    numbers: dict[str, Any] = {"": list(labels)}
    ends = [0.0, least]
    for position, (name, rows) in enumerate(series.items()):
        value, low, high = (
            np.array([getattr(row, end) for row in rows], dtype=np.float64)
            for end in ("value", "low", "high")
        )
        shift = height * (position - (len(series) - 1) / 2)
        known = np.isfinite(low) & np.isfinite(high)
        marks.append(
            Bars(
                x=value, y=np.add(places, shift), height=0.92 * height, hatch=position, main=True,
                label=name if len(series) > 1 else "", text=list(labels),
                low=np.where(known, low, np.nan), high=np.where(known, high, np.nan),
                says=f"{{text}}, {literal(name)}: {{x:.3g}}",
            )
        )  # fmt: skip
        numbers |= {name: value, f"{name}, low": low, f"{name}, high": high}
        ends += [*value[np.isfinite(value)], *high[known]]
    return Chart(
        title=title,
        read=read,
        x=Axis(label=label, ends=(min(ends), 1.05 * max(ends) if max(ends) > least else least)),
        y=axis,
        marks=tuple(marks),
        numbers=numbers,
    )


def detection(
    result: ClassDetection, decomposition: str | None = None, by_class: bool = False
) -> Chart:
    """Return how well each kind of uncertainty finds classes that were left out, as bars.

    Parameters
    ----------
    result : ClassDetection
    decomposition : str, optional
        By default all of them; with ``by_class`` the first.
    by_class : bool, default=False
        Whether each left-out class has its bars below the mean.

    Returns
    -------
    Chart
        The dotted line is chance. Of more than 30 classes those are shown whose epistemic area is
        least.

    Examples
    --------
    >>> from caveat.charts import detection
    >>> from caveat.experiments import ClassDetection
    >>> auc = [[[[0.6, 0.9, 0.8], [0.5, 0.8, 0.7]]]]
    >>> chart = detection(ClassDetection(("a", "b"), ("information",), auc), by_class=True)
    >>> [text for _, text in chart.y.ticks]
    ['mean', 'a', 'b']
    """
    _expect(result, ClassDetection)
    known = result.decompositions
    if decomposition is not None and decomposition not in known:
        raise OptionError(f"decomposition must be one of {', '.join(known)}; got {decomposition!r}")
    if by_class:
        name = known[0] if decomposition is None else decomposition
        bars = [("mean", name, ""), *((label, name, label) for label in _labels(result, name))]
    else:
        names = known if decomposition is None else (decomposition,)
        bars = [(name.replace("_", " "), name, "") for name in names]
    rows = {(row.decomposition, row.left_out, row.uncertainty): row for row in result.rows}
    return _grouped_bars(
        [words for words, _, _ in bars],
        {part: [rows[name, label, part] for _, name, label in bars] for part in _PARTS},
        title="Finding classes that were left out",
        read="1 finds every sample of a class that was left out; the dotted line is chance.",
        label="ROC AUC for finding the class that was left out",
        rule=Rule(x=0.5),
        least=1.0,
    )


def _labels(result: ClassDetection, decomposition: str) -> list[str]:
    """Return the classes to draw, in their order."""
    rows = [
        row
        for row in result.matching(decomposition=decomposition, uncertainty="epistemic")
        if row.left_out
    ]
    least = sorted(range(len(rows)), key=lambda i: rows[i].value)[:MOST]
    return [rows[i].left_out for i in sorted(least)]


def shift(
    result: ShiftCurves, quantity: str | Sequence[str] = "uncertainty", target: str | None = None
) -> Chart:
    """Return quantities as curves over the strength of a shift, with their intervals as bands.

    Parameters
    ----------
    result : ShiftCurves
    quantity : str or list of str, default="uncertainty"
        Names of metrics or of uncertainties; "uncertainty" is all three.
    target : str, optional
        The target, where there are several; by default the first.

    Returns
    -------
    Chart

    Examples
    --------
    >>> import caveat, numpy as np
    >>> from caveat.charts import shift
    >>> from caveat.experiments import shift_curves
    >>> result = shift_curves(
    ...     lambda X: caveat.Gaussian(X[:, 0], 1.0), np.arange(6.0)[:, None], np.arange(6.0),
    ...     strengths=[0, 1], resamples=0, random_state=0,
    ... )
    >>> shift(result, "mean_absolute_error").y.label
    'mean absolute error'
    """
    _expect(result, ShiftCurves)
    names = [quantity] if isinstance(quantity, str) else quantity
    if not isinstance(names, Sequence):
        raise OptionError(f"quantity must be a name or a list of names; got {quantity!r}")
    if quantity == "uncertainty":
        names = list(_PARTS)
    strengths = np.asarray(result.strengths, dtype=np.float64)
    marks: list[Mark] = []
    numbers: dict[str, Any] = {"strength": strengths}
    for name in names:
        value, low, high = result.curve(name, target=target)
        words = name.replace("_", " ")
        says = f"{words} at {{x:.3g}}: {{y:.4g}}"
        marks.append(Line(x=strengths, y=value, label=words, main=True, says=says))
        if np.isfinite(low).any():
            marks.append(Band(x=strengths, low=low, high=high, main=True))
        numbers |= {name: value, f"{name}, low": low, f"{name}, high": high}
    several = "mean uncertainty" if set(names) <= set(_PARTS) else "value"
    return Chart(
        title="What a shift of the inputs does",
        read="From left to right the shift is stronger. An uncertainty that knows of it rises.",
        x=Axis(label=f"strength of {result.corruption}"),
        y=Axis(label=several if len(names) > 1 else names[0].replace("_", " ")),
        marks=tuple(marks),
        numbers=numbers,
        confidence=result.confidence,
    )


def domain_shift(result: DomainShift) -> Chart:
    """Return the ratio out of domain over in domain of every metric and uncertainty.

    Parameters
    ----------
    result : DomainShift

    Returns
    -------
    Chart
        The axis is logarithmic; an arrow stands for an interval without an end. Quantities without
        a ratio are left out.

    Examples
    --------
    >>> import caveat
    >>> from caveat.charts import domain_shift
    >>> from caveat.experiments import domain_shift as measured
    >>> inside, outside = caveat.Gaussian([0.0, 1.0], 1.0), caveat.Gaussian([0.0, 1.0], 2.0)
    >>> result = measured(inside, [0, 2], outside, [0, 5], metrics=["mae"], resamples=0)
    >>> domain_shift(result).numbers["quantity"]
    ['mean absolute error 0', 'aleatoric 0', 'total 0']
    """
    _expect(result, DomainShift)
    rows = [row for row in result.rows if np.isfinite(row.ratio) and row.ratio > 0]
    if not rows:
        raise OptionError("result has no quantity with a ratio; its gaps are in to_frame()")
    names = [
        " ".join(part for part in (row.quantity.replace("_", " "), row.option, row.target) if part)
        for row in rows
    ]
    axis, places = row_axis([label_lines([name], 26) for name in names])
    value, low, high = np.array(
        [[row.ratio, row.ratio_low, row.ratio_high] for row in rows], dtype=np.float64
    ).T
    marks: list[Mark] = [Rule(x=1.0, label="equal")]
    for kind, color, marker in (("metric", "blue", "circle"), ("uncertainty", "orange", "diamond")):
        some = np.flatnonzero([row.kind == kind for row in rows])
        if len(some):
            marks.append(
                Points(
                    x=value[some], y=np.take(places, some), low=low[some], high=high[some],
                    label=kind, color=color, marker=marker, main=True, width=2,
                    text=[names[i] for i in some], says="{text}: {x:.3g}",
                )
            )  # fmt: skip
    return Chart(
        title="Out of domain over in domain",
        read="A ratio of 1 is no change. A model that knows of the shift is more uncertain where "
        "it errs more.",
        x=ratio_axis([*value, *low, *high], "out of domain over in domain"),
        y=axis,
        marks=tuple(marks),
        numbers={"quantity": names, "ratio": value, "low": low, "high": high},
        confidence=result.confidence,
    )


ENTRIES = (
    Entry("sweeps", sweeps, of=Disentanglement),
    Entry("terms", terms, of=Disentanglement),
    Entry("detection", detection, of=ClassDetection),
    Entry("shift", shift, of=ShiftCurves),
    Entry("domain_shift", domain_shift, of=DomainShift),
)
