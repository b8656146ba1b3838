"""The uncertainty disentanglement error: four correlations, and how far each is from its ideal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import LARGEST, FloatArray
from ..exceptions import OptionError
from ..resampling.student import student_interval
from ..results.tables import ShownTable, Tabulated, number

RESAMPLES = 1000
"""Bootstrap resamples of the repeats."""

ROUNDING = 1e-12
"""Differences below this share of the largest part count as zero."""


@dataclass(frozen=True)
class TermKind:
    """One of the four terms: which uncertainty, which sweep, and the ideal correlation."""

    name: str
    symbol: str
    uncertainty: str
    sweep: str
    ideal: float


TERMS = {
    name: TermKind(name, symbol, name.partition("_")[0], sweep, ideal)
    for name, symbol, sweep, ideal in (
        ("aleatoric_consistency", "C1", "noise", 1.0),
        ("epistemic_consistency", "C2", "size", 1.0),
        ("aleatoric_orthogonality", "O1", "size", 0.0),
        ("epistemic_orthogonality", "O2", "noise", 0.0),
    )
}


@dataclass(frozen=True)
class Term:
    """One of the four parts of the error.

    Attributes
    ----------
    value : float
        How far the correlation is from its ideal, averaged over repeats: 0 to 2 for consistency,
        0 to 1 for orthogonality.
    std : float
        Standard deviation over repeats; NaN with one repeat.
    low, high : float
        Student's interval of the mean over repeats; NaN with one repeat.
    correlation : float
        The correlation, averaged over repeats.
    of_mean_curves : float
        The correlation of the curves that are averaged over repeats first.
    per_repeat : tuple of float
        The correlation in each repeat.
    """

    value: float
    std: float
    low: float
    high: float
    correlation: float
    of_mean_curves: float
    per_repeat: tuple[float, ...] = ()


@dataclass(frozen=True, repr=False)
class UDE(Tabulated):
    r"""The uncertainty disentanglement error of one decomposition.

    .. math::

        \tfrac14 \bigl(|\rho(u_a, U_a) - 1| + |\rho(u_e, U_e) - 1| + |\rho(u_a, U_e)|
        + |\rho(u_e, U_a)|\bigr),

    where :math:`u_a` and :math:`u_e` are the mean uncertainties of a model, :math:`U_a` is minus
    its score as labels get noisier and :math:`U_e` minus its score as samples get fewer. 0 is
    best; 1.5 is the worst, since a correlation is at most 2 from 1 and at most 1 from 0. With
    other weights of the terms the worst is between 1 (orthogonality alone) and 2 (consistency
    alone).

    Attributes
    ----------
    decomposition : str
    correlation : {"pearson", "spearman"}
    value : float
        The error of each repeat, averaged.
    std : float
        Standard deviation over repeats; NaN with one repeat.
    low, high : float
        Student's interval of the mean over repeats; NaN with one repeat.
    of_mean_curves : float
        The error of the curves that are averaged over repeats first.
    terms : mapping of str to Term
        "aleatoric_consistency" (C1), "epistemic_consistency" (C2), "aleatoric_orthogonality" (O1)
        and "epistemic_orthogonality" (O2).
    weights : tuple of float
        Weights of the terms, in that order.
    per_repeat : tuple of float
        The error of each repeat.
    confidence : float
        Confidence of the intervals.
    notes : tuple of str
        Where a correlation is undefined and counts as 0.

    References
    ----------
    De Jong et al., Measuring orthogonality as the blind-spot of uncertainty disentanglement, 2026.

    Examples
    --------
    >>> from caveat.experiments import Curve, Disentanglement
    >>> score = [[0.5, 0.7, 0.9]]
    >>> size = Curve("size", "information", [0.1, 0.5, 1], score, [[1, 1, 1]], [[5, 3, 1]])
    >>> noise = Curve("noise", "information", [0, 0.5, 1], score, [[5, 3, 1]], [[1, 1, 1]])
    >>> Disentanglement(curves=(size, noise)).error().value
    0.0
    """

    decomposition: str
    correlation: str
    value: float
    std: float
    low: float
    high: float
    of_mean_curves: float
    terms: Mapping[str, Term]
    weights: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
    per_repeat: tuple[float, ...] = ()
    confidence: float = 0.95
    notes: tuple[str, ...] = ()

    def __float__(self) -> float:
        return self.value

    def _tables(self) -> list[ShownTable]:
        return [self.table()]

    def _lines(self) -> tuple[str, ...]:
        return self.notes

    def table(self) -> ShownTable:
        """Return title, header and lines for a reader."""
        several = len(self.per_repeat) > 1
        title = f"Uncertainty disentanglement error by {self.decomposition}, {self.correlation}" + (
            f", {self.confidence:.0%} intervals over {len(self.per_repeat)} repeats"
            if several
            else ""
        )
        header = ["", "correlation", "ideal", "error", "spread", "interval", "of mean curves"]
        body = [
            [
                f"{TERMS[name].symbol} {name.replace('_', ' ')}",
                f"{term.correlation:+.3f}",
                f"{TERMS[name].ideal:g}",
                f"{term.value:.3f}",
                number(term.std),
                interval_words(term),
                f"{term.of_mean_curves:+.3f}",
            ]
            for name, term in self.terms.items()
        ]
        total = ["error", "", "0", f"{self.value:.3f}", number(self.std), interval_words(self)]
        return title, header, [*body, [*total, f"{self.of_mean_curves:.3f}"]]


def interval_words(part: Term | UDE) -> str:
    """Return an interval for a reader, or nothing."""
    return "" if np.isnan(part.low) else f"{part.low:.3f} to {part.high:.3f}"


def correlate(a: FloatArray, b: FloatArray, correlation: str) -> float:
    """Return a correlation of two curves, neither of which is constant."""
    if correlation == "spearman":
        from scipy.stats import rankdata

        a, b = rankdata(a), rankdata(b)
    # Scaled first: squares of very small or large uncertainties would leave the range of floats.
    a, b = (value - value.mean() for value in (a / np.abs(a).max(), b / np.abs(b).max()))
    squares = (float(a @ a), float(b @ b))
    result = float(a @ b / np.sqrt(squares[0] * squares[1]))
    return float(np.copysign(1, result)) if 1 - abs(result) <= _off(len(a), *squares) else result


def part_correlation(aleatoric: FloatArray, epistemic: FloatArray) -> float:
    """Return the correlation of both parts over samples; NaN where one is constant or infinite."""
    aleatoric, epistemic = np.ravel(aleatoric), np.ravel(epistemic)
    scale = float(max(np.abs(aleatoric).max(), np.abs(epistemic).max()))
    if not np.isfinite(scale) or is_constant(aleatoric, scale) or is_constant(epistemic, scale):
        return float("nan")
    return correlate(aleatoric, epistemic, "pearson")


def _off(number: int, *squares: float) -> float:
    """Return how far rounding may take the correlation of two straight lines from 1.

    Each of three dot products of n terms is off by up to n eps of itself. An entry, which is at
    most 1, is rounded, scaled and centered by a mean of n, and off by up to (n / 2 + 2) eps; that
    turns a curve by sqrt(n) times this over its length, and the cosine sees the angle squared.
    """
    eps = float(np.finfo(np.float64).eps)
    turned = number * ((number / 2 + 2) * eps) ** 2
    return 3 * number * eps + turned * sum(1 / square for square in squares)


def disentanglement(
    size: Any,
    noise: Any,
    *,
    correlation: str = "pearson",
    weights: Sequence[float] = (1, 1, 1, 1),
    confidence: float = 0.95,
) -> UDE:
    """Return the error from the curves of both sweeps."""
    if not isinstance(correlation, str) or correlation not in ("pearson", "spearman"):
        raise OptionError(f"correlation must be 'pearson' or 'spearman'; got {correlation!r}")
    weighted = _check_weights(weights)
    curves = {"size": size, "noise": noise}
    repeats = len(size.score)
    rho = np.zeros((len(TERMS), repeats))
    of_mean = np.zeros(len(TERMS))
    notes: dict[str, None] = {}
    for place, kind in enumerate(TERMS.values()):
        curve = curves[kind.sweep]
        u, score = getattr(curve, kind.uncertainty), curve.score
        scale = scale_of(curve)
        why = [_undefined(u[r], score[r], kind, correlation, scale) for r in range(repeats)]
        for r in range(repeats):
            if not why[r]:
                rho[place, r] = correlate(u[r], -score[r], correlation)
        for words in dict.fromkeys(filter(None, why)):
            where = "" if all(why) else f" in {sum(map(bool, why))} of {repeats} repeats"
            notes[f"{kind.symbol}: {words}{where}, so the correlation counts as 0"] = None
        mean_u, mean_score = u.mean(axis=0), score.mean(axis=0)
        if not _undefined(mean_u, mean_score, kind, correlation, scale):
            of_mean[place] = correlate(mean_u, -mean_score, correlation)
    ideal = np.array([kind.ideal for kind in TERMS.values()])
    distance = np.abs(rho - ideal[:, None])
    per_repeat = weighted @ distance
    terms = {}
    for place, name in enumerate(TERMS):
        std, low, high = student_interval(distance[place], confidence, (0.0, 1 + ideal[place]))
        terms[name] = Term(
            float(distance[place].mean()), std, low, high, float(rho[place].mean()),
            float(of_mean[place]), tuple(rho[place].tolist()),
        )  # fmt: skip
    worst = float(weighted @ (1 + ideal))
    std, low, high = student_interval(per_repeat, confidence, (0.0, worst))
    return UDE(
        decomposition=size.decomposition,
        correlation=correlation,
        value=float(per_repeat.mean()),
        std=std,
        low=low,
        high=high,
        of_mean_curves=float(weighted @ np.abs(of_mean - ideal)),
        terms=terms,
        weights=tuple(float(weight) for weight in weights),
        per_repeat=tuple(per_repeat.tolist()),
        confidence=confidence,
        notes=tuple(notes),
    )


def mean_curve_interval(
    curve: Any, kind: TermKind, value: float, confidence: float
) -> tuple[float, float, float]:
    """Return the standard error of the correlation of mean curves, and Student's interval.

    The standard error comes from a bootstrap of the repeats. Percentiles of the bootstrap itself
    cover the true correlation too rarely: with five repeats in 4 of 5 cases, and near 1 almost
    never, since the noise of a resample moves all of them away from 1.
    """
    from scipy.special import stdtrit

    repeats = len(curve.score)
    if repeats < 2:
        return (float("nan"),) * 3
    draw = np.random.default_rng(0).integers(repeats, size=(RESAMPLES, repeats))
    u = getattr(curve, kind.uncertainty)[draw].mean(axis=1)
    score = curve.score[draw].mean(axis=1)
    scale = scale_of(curve)
    result = [
        correlate(a, -b, "pearson")
        for a, b in zip(u, score, strict=True)
        if not _undefined(a, b, kind, "pearson", scale)
    ]
    if not result:
        return (float("nan"),) * 3
    # The plain bootstrap of a few repeats is too narrow by this factor.
    error = float(np.std(result) * np.sqrt(repeats / (repeats - 1)))
    half = float(stdtrit(repeats - 1, (1 + confidence) / 2)) * error
    low, high = np.clip([value - half, value + half], -1, 1)
    return error, float(low), float(high)


def _check_weights(weights: Any) -> FloatArray:
    """Return the weights of the terms with a sum of 1."""
    try:
        result = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        result = np.array(np.nan)
    if result.shape != (len(TERMS),) or not ((result >= 0) & (result <= LARGEST)).all():
        raise OptionError(
            f"weights must be four numbers of at least 0, for {', '.join(TERMS)}; got {weights!r}"
        )
    if not result.any():
        raise OptionError("weights are all 0; one term at least must count")
    return np.asarray(result / result.sum())


def _undefined(
    u: FloatArray, score: FloatArray, kind: TermKind, correlation: str, scale: float
) -> str:
    """Say why two curves have no correlation; nothing if they have one."""
    along = "training size" if kind.sweep == "size" else "noise level"
    if correlation == "pearson" and not np.isfinite(u).all():
        return f"{kind.uncertainty} uncertainty is infinite at some {along}"
    if is_constant(u, scale):
        return f"{kind.uncertainty} uncertainty is constant along {along}"
    if is_constant(score, float(np.abs(score).max())):
        return f"the score is constant along {along}"
    return ""


def scale_of(curve: Any) -> float:
    """Return the largest of both parts; differences below its rounding error count as zero."""
    both = np.abs([curve.aleatoric, curve.epistemic])
    return float(np.max(both, initial=0.0, where=np.isfinite(both)))


def is_constant(values: FloatArray, scale: float) -> bool:
    """Whether values do not differ, but for rounding beside this scale."""
    first, last = values.min(), values.max()
    return bool(first == last or last - first <= ROUNDING * scale)
