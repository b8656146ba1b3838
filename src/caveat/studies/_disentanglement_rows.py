"""Rows of the disentanglement study: what is printed, beside what the runs gave."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from .._validation import FloatArray
from ..experiments import ClassDetection, Curve, Disentanglement
from ..experiments.error import TERMS, UDE, correlate, disentanglement, is_constant, scale_of
from ._disentanglement_paper import (
    AS_PRINTED,
    CORRELATION_TABLES,
    CORRELATIONS,
    DETECTION,
    ERRORS,
    IMAGENET,
    SPREADS,
)
from ._table import NAN, PaperRow, Spread, compared

ERROR = "error"
SCALINGS = {"within": "scaled within", "all": "scaled by all", "": ""}
_RESAMPLES = 1000
_MOST = {ERROR: 1.5, "aleatoric_consistency": 2.0, "epistemic_consistency": 2.0}
"""The largest value of a measure where it is not 1; all are 0 at least."""
_LIMIT = 2.0
"""Of spreads: two numbers that are farther apart differ."""

Sweeps = Mapping[tuple[str, str], Disentanglement]
Detections = Mapping[tuple[str, str, str], ClassDetection]


@dataclass(frozen=True)
class DisentanglementRunRow(PaperRow):
    """One number of the disentanglement study.

    Attributes
    ----------
    source, measure, printed, paper, mean, mean_low, mean_high, low, high, runs, within, note
        As in `PaperRow`. ``within`` is not judged: what is printed is a mean, not a run.
    method : str
        "mc-dropout", "dropconnect", "flipout" or "deep-ensemble".
    decomposition : str
    setting : str
        Of figure 8 the rate of dropout, of figure 9 the number of levels, otherwise empty.
    spread : float
        Our standard deviation over repeats; of a correlation of mean curves that of its bootstrap,
        from which its interval is by Student's t.
    paper_spread : float
        What stands behind the plus-minus; NaN without.
    differs : bool or None
        Whether the two are apart by more than two spreads, the larger of both; None where they are
        not of the same experiment, or there is no spread.
    """

    method: str
    decomposition: str
    setting: str
    spread: float
    paper_spread: float
    differs: bool | None


def make_rows(
    dataset: str,
    sweeps: Sweeps,
    detections: Detections,
    rates: Mapping[float, Disentanglement],
    same: bool,
    confidence: float,
) -> list[DisentanglementRunRow]:
    """Return all rows; ``same`` says whether our runs are those that the paper describes."""
    rows = [*_errors(dataset, sweeps, same, confidence)]
    rows += _three_splits(sweeps, confidence)
    rows += _detections(dataset, detections, same, confidence)
    rows += _correlations(dataset, sweeps, same, confidence)
    rows += _terms(sweeps, confidence)
    rows += _rates(rates, confidence)
    rows += _levels(sweeps, confidence)
    return rows


def per_repeat(result: Disentanglement, decomposition: str) -> dict[str, FloatArray]:
    """Return the error and the correlations of each repeat, by name."""
    size, noise = (result.curve(kind, decomposition) for kind in ("size", "noise"))
    return of_curves(size, noise)


def of_curves(size: Curve, noise: Curve) -> dict[str, FloatArray]:
    """Return the error and the correlations of each repeat, from two curves."""
    found: list[UDE] = [
        disentanglement(_repeat(size, r), _repeat(noise, r)) for r in range(size.repeats)
    ]
    values = {ERROR: np.array([one.value for one in found])}
    for name in TERMS:
        values[name] = np.array([one.terms[name].correlation for one in found])
    return values


def distances(values: dict[str, FloatArray]) -> dict[str, FloatArray]:
    """Return the error and its terms, from the correlations."""
    terms = {name: np.abs(values[name] - kind.ideal) for name, kind in TERMS.items()}
    return {ERROR: values[ERROR], **terms}


def _repeat(curve: Curve, repeat: int) -> Curve:
    return _part(curve, slice(repeat, repeat + 1), slice(None))


def _part(curve: Curve, repeats: Any, levels: Any) -> Curve:
    arrays = {
        name: getattr(curve, name)[repeats][:, levels]
        for name in ("score", "aleatoric", "epistemic")
    }
    return Curve(curve.kind, curve.decomposition, curve.levels[levels], **arrays)


def _row(
    source: str,
    measure: str,
    values: FloatArray,
    confidence: float,
    *,
    method: str,
    decomposition: str,
    printed: str = "",
    paper_spread: str = "",
    setting: str = "",
    same: bool = False,
    note: str = "",
) -> DisentanglementRunRow:
    fields = {**compared(values, printed, confidence, note), "within": None}
    for end in ("mean_low", "mean_high"):
        # Student's interval of a few repeats can reach beyond what there is.
        fields[end] = float(np.clip(fields[end], 0.0, _MOST.get(measure, 1.0)))
    spread = float(values.std(ddof=1)) if len(values) > 1 else NAN
    theirs = float(paper_spread) if paper_spread else NAN
    return DisentanglementRunRow(
        source,
        measure,
        **fields,
        method=method,
        decomposition=decomposition,
        setting=setting,
        spread=spread,
        paper_spread=theirs,
        differs=_apart(fields["paper"], fields["mean"], spread, theirs) if same else None,
    )


def _apart(paper: float, ours: float, spread: float, theirs: float) -> bool | None:
    if np.isnan(paper) or np.isnan(spread):
        return None
    return bool(abs(paper - ours) > _LIMIT * np.nanmax([spread, theirs]))


def _errors(
    dataset: str, sweeps: Sweeps, same: bool, confidence: float
) -> Iterator[DisentanglementRunRow]:
    for (method, split), result in sweeps.items():
        key = dataset, split, method
        yield _row(
            "table 2",
            ERROR,
            per_repeat(result, split)[ERROR],
            confidence,
            method=method,
            decomposition=split,
            printed=ERRORS.get(key, ""),
            paper_spread=SPREADS.get(key, ""),
            same=same,
        )


def three_splits(sweeps: Sweeps) -> dict[str, tuple[Curve, Curve]]:
    """Return the curves of table 3 by the name of the split, all from the same trainings."""
    result = next((r for (m, _), r in sweeps.items() if m == "deep-ensemble" and _whole(r)), None)
    if result is None:
        return {}
    found = {}
    for name in ("information", "bias_variance", "pairwise_kl"):
        found[name] = result.curve("size", name), result.curve("noise", name)
    mixed = [
        replace(kl, decomposition=AS_PRINTED, aleatoric=bv.aleatoric)
        for kl, bv in zip(found["pairwise_kl"], found["bias_variance"], strict=True)
    ]
    return {AS_PRINTED: (mixed[0], mixed[1]), **found}


def _whole(result: Disentanglement) -> bool:
    return {"information", "bias_variance", "pairwise_kl"} <= set(result.decompositions)


def _three_splits(sweeps: Sweeps, confidence: float) -> Iterator[DisentanglementRunRow]:
    for split, curves in three_splits(sweeps).items():
        for measure, values in distances(of_curves(*curves)).items():
            yield _row(
                "table 3",
                measure,
                values,
                confidence,
                method="deep-ensemble",
                decomposition=split,
                printed=IMAGENET.get(split, {}).get(measure, ""),
                note="the paper's is of ImageNet-1k",
            )


def table_4(scaling: str) -> str:
    """Return the source of detections with features scaled so."""
    return f"table 4, {SCALINGS[scaling]}" if SCALINGS[scaling] else "table 4"


def _detections(
    dataset: str, detections: Detections, same: bool, confidence: float
) -> Iterator[DisentanglementRunRow]:
    for (method, split, scaling), result in detections.items():
        place = result.decompositions.index(split)
        means = result.auc[place].mean(axis=1)
        for i, part in enumerate(DETECTION):
            yield _row(
                table_4(scaling),
                part,
                means[:, i],
                confidence,
                method=method,
                decomposition=split,
                printed=DETECTION[part].get((dataset, split, method), ""),
                same=same,
            )


def _correlations(
    dataset: str, sweeps: Sweeps, same: bool, confidence: float
) -> Iterator[DisentanglementRunRow]:
    for name, printed in CORRELATIONS.items():
        for (method, split), result in sweeps.items():
            text = printed.get((dataset, split, method), "")
            curve = result.curve(TERMS[name].sweep, split)
            value = result.error(decomposition=split).terms[name].of_mean_curves
            spread, low, high = _mean_curves(curve, TERMS[name].uncertainty, value, confidence)
            paper = float(text) if text else NAN
            yield DisentanglementRunRow(
                CORRELATION_TABLES[name],
                name,
                text,
                paper,
                **asdict(Spread(value, low, high, NAN, NAN, curve.repeats)),
                within=None,
                note="",
                method=method,
                decomposition=split,
                setting="",
                spread=spread,
                paper_spread=NAN,
                differs=_apart(paper, value, spread, NAN) if same else None,
            )


def _mean_curves(
    curve: Curve, part: str, value: float, confidence: float
) -> tuple[float, float, float]:
    """Return the spread of the correlation of mean curves by bootstrap, and Student's interval.

    The ends of the bootstrap itself hold the true correlation too seldom: of five repeats 4 times
    in 5, and near 1 hardly ever, since the noise of a resample moves all of them away from there.
    """
    from scipy.special import stdtrit

    if curve.repeats < 2:
        return NAN, NAN, NAN
    draw = np.random.default_rng(0).integers(curve.repeats, size=(_RESAMPLES, curve.repeats))
    u = getattr(curve, part)[draw].mean(axis=1)
    score = curve.score[draw].mean(axis=1)
    scale = scale_of(curve)
    found = [
        correlate(a, -b, "pearson")
        for a, b in zip(u, score, strict=True)
        if np.isfinite(a).all()
        and not is_constant(a, scale)
        and not is_constant(b, float(np.abs(b).max()))
    ]
    if not found:
        return NAN, NAN, NAN
    # The plain bootstrap of a handful is too narrow by this much.
    spread = float(np.std(found) * np.sqrt(curve.repeats / (curve.repeats - 1)))
    half = float(stdtrit(curve.repeats - 1, (1 + confidence) / 2)) * spread
    low, high = np.clip([value - half, value + half], -1, 1)
    return spread, float(low), float(high)


def _terms(sweeps: Sweeps, confidence: float) -> Iterator[DisentanglementRunRow]:
    for (method, split), result in sweeps.items():
        for name, values in distances(per_repeat(result, split)).items():
            if name != ERROR:
                yield _row("figure 6", name, values, confidence, method=method, decomposition=split)


def _rates(
    rates: Mapping[float, Disentanglement], confidence: float
) -> Iterator[DisentanglementRunRow]:
    for rate, result in rates.items():
        measured = distances(per_repeat(result, "information"))
        measured["accuracy"] = result.curve("size").score[:, -1]
        for name, values in measured.items():
            yield _row(
                "figure 8", name, values, confidence, method="mc-dropout",
                decomposition="information", setting=f"{rate:g}",
            )  # fmt: skip


def _levels(sweeps: Sweeps, confidence: float) -> Iterator[DisentanglementRunRow]:
    for split, (size, noise) in three_splits(sweeps).items():
        for count in range(2, min(len(size.levels), len(noise.levels)) + 1):
            some = [_part(curve, slice(None), _even(curve, count)) for curve in (size, noise)]
            yield _row(
                "figure 9", ERROR, of_curves(some[0], some[1])[ERROR], confidence,
                method="deep-ensemble", decomposition=split, setting=f"{count}",
            )  # fmt: skip


def _even(curve: Curve, count: int) -> np.ndarray:
    """Return the places of so many levels, spread evenly over all, the first and last included."""
    return np.round(np.linspace(0, len(curve.levels) - 1, count)).astype(int)
