"""What `disentanglement_error` returns."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._validation import LARGEST_SQUARE, FloatArray, as_floats, check_fraction, check_size
from ..exceptions import InvalidValueError, OptionError, ShapeError
from ..results.tables import Drawable, ShownTable
from ..uncertainty.decompositions import DECOMPOSITIONS
from ._cost import Cost
from ._saved import Saved
from .error import UDE, disentanglement
from .protocol import Protocol

if TYPE_CHECKING:
    from .verdict import DisentanglementVerdict

_KINDS = ("size", "noise")
_OF_CURVES = Protocol()
"""Stands for a protocol that was not given; recognized by identity."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Score and mean uncertainties along one sweep, by one decomposition.

    Attributes
    ----------
    kind : {"size", "noise"}
    decomposition : str
    levels : ndarray of shape (levels,)
        Shares of the training set, or of the labels that are permuted.
    score : ndarray of shape (repeats, levels)
        Score on the test samples; higher is better.
    aleatoric, epistemic : ndarrays of shape (repeats, levels)
        Mean uncertainties of the test samples.
    train_score : ndarray of shape (repeats, levels), optional
        Score on the training samples; only for the sweep of sizes.
    samples : ndarray of shape (levels,), optional
        Number of training samples at each level.
    part_correlation : ndarray of shape (repeats, levels), optional
        Correlation of aleatoric and epistemic uncertainty over the test samples; NaN where one of
        them is constant.

    Examples
    --------
    >>> from caveat.experiments import Curve
    >>> Curve("noise", "information", [0, 1], [[0.9, 0.5]], [[0.1, 0.7]], [[0.01, 0.02]]).repeats
    1
    """

    kind: str
    decomposition: str
    levels: FloatArray
    score: FloatArray
    aleatoric: FloatArray
    epistemic: FloatArray
    train_score: FloatArray | None = None
    samples: np.ndarray | None = None
    part_correlation: FloatArray | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in _KINDS:
            raise OptionError(f"kind of a curve must be 'size' or 'noise'; got {self.kind!r}")
        levels, _, _ = as_floats(self.levels, "levels of a curve")
        # The fields are frozen for users alone.
        object.__setattr__(self, "levels", levels)
        for name in ("score", "aleatoric", "epistemic", "train_score"):
            value = getattr(self, name)
            if value is None:
                continue
            array, _, _ = as_floats(value, f"{name} of a curve")
            if array.ndim != 2 or array.shape[1:] != levels.shape or not len(array):
                raise ShapeError(
                    f"{name} of a curve must have shape (repeats, {levels.size}); got {array.shape}"
                )
            # A divergence may be infinite; a score may not.
            refused = ~np.isfinite(array) if "score" in name else np.isnan(array)
            if refused.any():
                raise InvalidValueError(
                    f"{name} of a curve is {array[refused][0]} somewhere; it must be a number"
                )
            check_size(
                array, f"{name} of a curve", ("repeat", "level"), LARGEST_SQUARE, infinite=True
            )
            object.__setattr__(self, name, array)
        if self.part_correlation is not None:  # NaN where a part is constant
            array = np.asarray(self.part_correlation, dtype=np.float64)
            if array.shape != self.score.shape or (np.abs(array) > 1).any():
                raise InvalidValueError(
                    "part_correlation of a curve must be correlations from -1 to 1, as many as "
                    "there are scores"
                )
            object.__setattr__(self, "part_correlation", array)
        if self.samples is not None:
            counts, _, _ = as_floats(self.samples, "samples of a curve")
            check_size(counts, "samples of a curve", ("level",) * counts.ndim, 2.0**62)
            object.__setattr__(self, "samples", counts.astype(np.int64))

    @property
    def repeats(self) -> int:
        """How often the sweep was run."""
        return len(self.score)

    def _take(self, places: Any) -> "Curve":
        """Return the curve with only the levels at these places."""
        parts: dict[str, Any] = {
            name: None if value is None else value[..., places]
            for name, value in vars(self).items()
            if name not in ("kind", "decomposition")
        }
        return Curve(self.kind, self.decomposition, **parts)


@dataclass(frozen=True)
class Check:
    """One check of whether the experiment can answer the question.

    Attributes
    ----------
    name : str
    passed : bool
    text : str
        What was found, and what to do about it.

    Examples
    --------
    >>> from caveat.experiments import Check
    >>> Check("score moves with size", True, "the score rises from 0.61 to 0.97").passed
    True
    """

    name: str
    passed: bool
    text: str


@dataclass(frozen=True, repr=False, eq=False)
class Disentanglement(Saved, Drawable):
    """What `caveat.disentanglement_error` returns: the curves of both sweeps, and their error.

    Attributes
    ----------
    curves : tuple of Curve
        One for each sweep and decomposition.
    protocol : Protocol
        By default made from the curves.
    model : str
        What was trained.
    task : {"classification", "regression"}
    score_name : str
        What the score is.
    samples, test_samples : int
    checks : tuple of Check
        Whether the sweeps did what they should.
    notes : tuple of str
        What was decided on the way.
    cost : Cost
    confidence : float
        Confidence of the intervals.

    Examples
    --------
    >>> from caveat.experiments import Curve, Disentanglement
    >>> score = [[0.5, 0.7, 0.9]]
    >>> trap = [[5, 3, 1]]
    >>> size = Curve("size", "information", [0.1, 0.5, 1], score, trap, trap)
    >>> noise = Curve("noise", "information", [0, 0.5, 1], score, trap, trap)
    >>> error = Disentanglement(curves=(size, noise)).error()
    >>> round(error.value, 3), round(error.terms["aleatoric_orthogonality"].value, 3)
    (0.5, 1.0)
    """

    format_name: ClassVar[str] = "caveat disentanglement"
    curves: tuple[Curve, ...]
    protocol: Protocol = field(default_factory=lambda: _OF_CURVES)
    model: str = ""
    task: str = "classification"
    score_name: str = "accuracy"
    samples: int = 0
    test_samples: int = 0
    checks: tuple[Check, ...] = ()
    notes: tuple[str, ...] = ()
    cost: Cost = field(default_factory=Cost)
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if not isinstance(self.curves, Iterable):
            raise OptionError(f"curves must be a sequence of Curve; got {self.curves!r}")
        object.__setattr__(self, "curves", tuple(self.curves))
        if not all(isinstance(curve, Curve) for curve in self.curves):
            raise OptionError(f"curves must be a sequence of Curve; got {self.curves!r}")
        check_fraction(self.confidence, "confidence")
        result = [(curve.decomposition, curve.kind) for curve in self.curves]
        wanted = [(name, kind) for name in self.decompositions for kind in _KINDS]
        if not result or sorted(result) != sorted(wanted):
            raise OptionError(
                "curves must be one of kind 'size' and one of kind 'noise' for each decomposition; "
                f"got {', '.join(f'{kind} of {name}' for name, kind in result) or 'none'}"
            )
        if len({curve.repeats for curve in self.curves}) > 1:
            raise ShapeError("all curves must have the same number of repeats")
        if self.protocol is _OF_CURVES:
            levels = {curve.kind: tuple(curve.levels.tolist()) for curve in self.curves}
            made = Protocol(levels["size"], levels["noise"], self.repeats)
            object.__setattr__(self, "protocol", made)

    @property
    def decompositions(self) -> tuple[str, ...]:
        """How the uncertainty was split, in the order that was asked for."""
        return tuple(dict.fromkeys(curve.decomposition for curve in self.curves))

    @property
    def repeats(self) -> int:
        """How often both sweeps were run."""
        return self.curves[0].repeats

    def curve(self, kind: str, decomposition: str | None = None) -> Curve:
        """Return the curve of a sweep.

        Parameters
        ----------
        kind : {"size", "noise"}
        """
        if not isinstance(kind, str) or kind not in _KINDS:
            raise OptionError(f"kind of a curve must be 'size' or 'noise'; got {kind!r}")
        name = self._decomposition(decomposition)
        return next(c for c in self.curves if (c.kind, c.decomposition) == (kind, name))

    def _decomposition(self, name: str | None) -> str:
        if name is None:
            return self.decompositions[0]
        if isinstance(name, str) and name in self.decompositions:
            return name
        full = DECOMPOSITIONS[name].name
        if full not in self.decompositions:
            raise OptionError(
                f"decomposition {name!r} was not asked for; there are "
                f"{', '.join(self.decompositions)}"
            )
        return full

    def error(
        self,
        correlation: str = "pearson",
        weights: Sequence[float] = (1, 1, 1, 1),
        decomposition: str | None = None,
    ) -> UDE:
        """Return the uncertainty disentanglement error; nothing is trained again.

        Parameters
        ----------
        weights : four numbers, default=(1, 1, 1, 1)
            Weights of C1, C2, O1 and O2.
        """
        name = self._decomposition(decomposition)
        return disentanglement(
            self.curve("size", name),
            self.curve("noise", name),
            correlation=correlation,
            weights=weights,
            confidence=self.confidence,
        )

    def part_correlation(self, decomposition: str | None = None) -> float:
        """Return the correlation of aleatoric and epistemic uncertainty over the test samples.

        That of the models which learned from all samples with their own labels, averaged over
        repeats; NaN if one of the parts is constant, or if it was not measured. It is no measure of
        disentanglement: samples that are rare and ambiguous at once give a valid pair of estimators
        a high correlation, and two estimators that both follow the wrong cause may have none.

        Returns
        -------
        float
        """
        values = self.curve("size", decomposition).part_correlation
        return float("nan") if values is None else float(values[:, -1].mean())

    def verdict(
        self, decomposition: str | None = None, correlation: str = "pearson"
    ) -> "DisentanglementVerdict":
        """Say in plain words whether the split is real.

        Returns
        -------
        DisentanglementVerdict
        """
        from .verdict import verdict

        return verdict(self, self._decomposition(decomposition), correlation)

    def to_frame(self) -> Any:
        """Return the curves as a pandas DataFrame, a row for each level and repeat."""
        import pandas as pd

        rows = [
            {
                "decomposition": curve.decomposition,
                "kind": curve.kind,
                "level": level,
                "repeat": repeat,
                "samples": None if curve.samples is None else int(curve.samples[i]),
                "score": curve.score[repeat, i],
                "train_score": np.nan
                if curve.train_score is None
                else curve.train_score[repeat, i],
                "aleatoric": curve.aleatoric[repeat, i],
                "epistemic": curve.epistemic[repeat, i],
                "part_correlation": np.nan
                if curve.part_correlation is None
                else curve.part_correlation[repeat, i],
            }
            for curve in self.curves
            for repeat in range(curve.repeats)
            for i, level in enumerate(curve.levels.tolist())
        ]
        return pd.DataFrame(rows)

    @classmethod
    def _restored(cls, given: dict[str, Any]) -> dict[str, Any]:
        return super()._restored(given) | {
            "curves": tuple(Curve(**_arrays(curve)) for curve in given["curves"]),
            "checks": tuple(Check(**check) for check in given["checks"]),
            "cost": Cost(**given["cost"]),
            "protocol": Protocol(**given["protocol"]),
        }

    @property
    def description(self) -> str:
        """What was measured, in one line."""
        what = f"Disentanglement of {self.model}" if self.model else "Disentanglement"
        sizes = f", {self.samples:,} samples, {self.test_samples:,} for testing"
        repeats = f"{self.repeats} repeat{'s' if self.repeats > 1 else ''}"
        return f"{what}{sizes if self.samples else ''}, {repeats}"

    def _heading(self) -> str:
        return self.description

    def _tables(self) -> list[ShownTable]:
        return [error.table() for error in self._errors()]

    def _errors(self) -> list[UDE]:
        return [self.error(decomposition=name) for name in self.decompositions]

    def _lines(self) -> Iterable[str]:
        for check in self.checks:
            yield f"{'passed' if check.passed else 'FAILED'}: {check.name}: {check.text}"
        yield from self.notes
        for error in self._errors():
            yield from (f"{error.decomposition}, {note}" for note in error.notes)


def _arrays(curve: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a curve; numpy reads NaN from null and infinities from text."""
    names = ("score", "aleatoric", "epistemic", "train_score", "part_correlation")
    return {
        name: np.array(value, dtype=np.float64) if name in names and value is not None else value
        for name, value in curve.items()
    }
