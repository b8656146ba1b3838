"""The charts of a disentanglement: the two sweeps, and the errors of the four conditions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..experiments import UDE, Curve, Disentanglement
from ..experiments.error import TERMS
from ..experiments.evidence import TOLERANCE
from ..experiments.protocol import noise_words
from ._grouped_bars import grouped_bars
from .chart import Chart
from .entry import Entry, expect
from .layout import literal, padded
from .marks import Axis, Band, Line, Mark, Rule

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


def sweeps(result: Disentanglement, decomposition: str | None = None) -> tuple[Chart, Chart]:
    """Return score, aleatoric and epistemic uncertainty along both sweeps.

    Parameters
    ----------
    result : Disentanglement
        What `caveat.disentanglement_error` returned.

    Returns
    -------
    two Chart
        For the training size and for the noise. All in percent: the score as it is, each
        uncertainty of its largest mean in either sweep, which the legend gives. Bands are two
        standard deviations over repeats.
    """
    expect(result, Disentanglement)
    curves = [result.curve(kind, decomposition) for kind in ("size", "noise")]
    whole = {"score": 1.0, **{part: _largest(curves, part) for part in ("aleatoric", "epistemic")}}
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
            label=x_label, log=log, ends=(x.min() / 1.12, x.max() * 1.12) if log else padded(x),
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
    0 is ideal; up to the dashed line a condition counts as met.
    """
    expect(result, Disentanglement)
    names = result.decompositions if decomposition is None else (decomposition,)
    errors = [result.error(correlation, weights, decomposition=name) for name in names]
    labels = [f"{text} ({TERMS[name].symbol})" for name, text in _TERMS.items()]
    labels.append("UDE, the mean of the four" if len({*weights}) == 1 else "UDE, weighted")
    rows = [[*(error.terms[term] for term in _TERMS), error] for error in errors]
    return grouped_bars(
        labels,
        {name.replace("_", " "): of_it for name, of_it in zip(names, rows, strict=True)},
        title="Errors of the four conditions",
        read="An error of 0 is ideal; up to the dashed line a condition counts as met. The strokes "
        "are intervals by the spread over repeats.",
        label="error of the correlation; 0 is ideal",
        rule=Rule(x=TOLERANCE, label="counts as met", dash="dash"),
        least=1.0,
    )


SWEEPS = Entry("sweeps", sweeps, of=Disentanglement)
TERMS_ENTRY = Entry("terms", terms, of=Disentanglement)
