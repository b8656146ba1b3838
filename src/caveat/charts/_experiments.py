"""The charts of experiments: classes left out, shifts of inputs and domains."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..exceptions import OptionError
from ..experiments import ClassDetection, DomainShift, ShiftCurves
from ._grouped_bars import grouped_bars
from .chart import Chart
from .entry import Entry, chosen, expect
from .layout import columns_of, interval_points, label_lines, ratio_axis, row_axis
from .marks import Axis, Band, Line, Mark, Rule

MOST = 30
_PARTS = ("aleatoric", "epistemic", "total")


def detection(
    result: ClassDetection, decomposition: str | None = None, by_class: bool = False
) -> Chart:
    """Return how well each kind of uncertainty finds classes that were left out, as bars.

    Parameters
    ----------
    decomposition : str, optional
        By default all of them; with ``by_class`` the first.
    by_class : bool, default=False
        Whether each left-out class has its bars below the mean.

    Returns
    -------
    The dotted line is chance. Of more than 30 classes those are shown whose epistemic area is
    least.

    Examples
    --------
    >>> from caveat.experiments import ClassDetection
    >>> auc = [[[[0.6, 0.9, 0.8], [0.5, 0.8, 0.7]]]]
    >>> chart = detection(ClassDetection(("a", "b"), ("information",), auc), by_class=True)
    >>> [text for _, text in chart.y.ticks]
    ['mean', 'a', 'b']
    """
    expect(result, ClassDetection)
    known = result.decompositions
    name = chosen(decomposition, "decomposition", known)
    if by_class:
        bars = [("mean", name, ""), *((label, name, label) for label in _labels(result, name))]
    else:
        names = known if decomposition is None else (name,)
        bars = [(name.replace("_", " "), name, "") for name in names]
    rows = {(row.decomposition, row.left_out, row.uncertainty): row for row in result.rows}
    return grouped_bars(
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
    quantity : str or list of str, default="uncertainty"
        Names of metrics or of uncertainties; "uncertainty" is all three.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> from caveat.experiments import shift_curves
    >>> result = shift_curves(
    ...     lambda X: caveat.Gaussian(X[:, 0], 1.0), np.arange(6.0)[:, None], np.arange(6.0),
    ...     strengths=[0, 1], resamples=0, random_state=0,
    ... )
    >>> shift(result, "mean_absolute_error").y.label
    'mean absolute error'
    """
    expect(result, ShiftCurves)
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

    Returns
    -------
    The axis is logarithmic; an arrow stands for an interval without an end. Quantities without a
    ratio are left out.

    Examples
    --------
    >>> import caveat
    >>> from caveat.experiments import domain_shift as measured
    >>> inside, outside = caveat.Gaussian([0.0, 1.0], 1.0), caveat.Gaussian([0.0, 1.0], 2.0)
    >>> result = measured(inside, [0, 2], outside, [0, 5], metrics=["mae"], resamples=0)
    >>> domain_shift(result).numbers["quantity"]
    ['mean absolute error 0', 'aleatoric 0', 'total 0']
    """
    expect(result, DomainShift)
    rows = [row for row in result.rows if np.isfinite(row.ratio) and row.ratio > 0]
    if not rows:
        raise OptionError("result has no quantity with a ratio; its gaps are in to_frame()")
    names = [
        " ".join(part for part in (row.quantity.replace("_", " "), row.option, row.target) if part)
        for row in rows
    ]
    axis, places = row_axis([label_lines([name], 26) for name in names])
    value, low, high = columns_of(rows, "ratio", "ratio_low", "ratio_high")
    marks: list[Mark] = [Rule(x=1.0, label="equal")]
    styles = (("metric", "blue", "circle"), ("uncertainty", "orange", "diamond"))
    kinds = ((*style, [row.kind == style[0] for row in rows]) for style in styles)
    marks += interval_points(places, (value, low, high), names, kinds, says="{text}: {x:.3g}")
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


DETECTION = Entry("detection", detection, of=ClassDetection)
SHIFT = Entry("shift", shift, of=ShiftCurves)
DOMAIN_SHIFT = Entry("domain_shift", domain_shift, of=DomainShift)
