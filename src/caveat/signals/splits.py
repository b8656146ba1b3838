"""Splits by subject: every part has the same subjects, or no two parts share one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from .._arrays import missing_among
from .._random import RandomState, generator
from .._validation import are_few_whole, check_choice, check_number
from ..exceptions import InvalidValueError, LabelError, OptionError, ShapeError
from .container import Signals

__all__ = ["PARTS", "SubjectSplit", "split_subjects"]

PARTS = ("train", "validation", "calibration", "test")


@dataclass(frozen=True, eq=False)
class SubjectSplit:
    """Rows to learn from, to stop by, to calibrate with and to test on.

    Attributes
    ----------
    train, validation, calibration, test : ndarray of int
    kind : {"calib", "calibfree"}
    """

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    calibration: NDArray[np.int64]
    test: NDArray[np.int64]
    kind: str = "calibfree"

    def __post_init__(self) -> None:
        for name in PARTS:
            rows = np.asarray(getattr(self, name))
            if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
                raise ShapeError(
                    f"{name} must be row numbers; got type {rows.dtype} of shape {rows.shape}. "
                    "numpy.flatnonzero makes them of a mask"
                )
            object.__setattr__(self, name, rows.astype(np.int64))

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        return iter((self.train, self.validation, self.calibration, self.test))

    def check(self, signals: Signals) -> None:
        """Raise if a row is in two parts, a class is missing from one, or a subject leaks.

        Parameters
        ----------
        signals : Signals
        """
        parts = list(self)
        rows = np.concatenate(parts)
        if len(np.unique(rows)) != len(rows):
            values, counts = np.unique(rows, return_counts=True)
            raise InvalidValueError(f"row {values[counts > 1][0]} is in two parts of the split")
        if rows.size and (rows.min() < 0 or rows.max() >= len(signals)):
            raise ShapeError(f"rows must lie from 0 to {len(signals) - 1}")
        check_choice(self.kind, "kind", ("calib", "calibfree"))
        if self.kind == "calibfree":
            _refuse_leakage(_subjects(signals), parts)
        _refuse_missing(signals.y, parts)

    def parts(self, X: Any, y: Any) -> dict[str, tuple[Any, Any]]:
        """Return samples and labels of each part that is not empty, as `technique_grid` takes them.

        Parameters
        ----------
        X : Signals, array or frame of shape (samples, ...)
        y : array of shape (samples, ...)

        Returns
        -------
        dict of str to (X, y)
        """
        count, labels = _num_samples(X), _num_samples(y)
        if count != labels:
            raise ShapeError(f"X and y must have the same samples; got {count} and {labels}")
        return {
            name: (_taken(X, rows), _taken(y, rows))
            for name, rows in zip(PARTS, self, strict=True)
            if len(rows)
        }

    def table(self, signals: Signals) -> Any:
        """Return how many segments, subjects and segments of each class each part has.

        Parameters
        ----------
        signals : Signals

        Returns
        -------
        pandas.DataFrame
        """
        import pandas as pd

        lines = []
        for name, rows in zip(PARTS, self, strict=True):
            line: dict[str, Any] = {"part": name, "segments": len(rows)}
            if signals.subject is not None:
                line["subjects"] = len(np.unique(signals.subject[rows]))
            for label in classes_of(signals.y).tolist():
                line[f"{label}"] = int((signals.y[rows] == label).sum())
            lines.append(line)
        return pd.DataFrame(lines).set_index("part")


def split_subjects(
    signals: Signals,
    kind: str = "calibfree",
    *,
    sizes: Sequence[float] = (0.7, 0.1, 0.1, 0.1),
    random_state: RandomState = None,
) -> SubjectSplit:
    """Split segments into those to learn from, to stop by, to calibrate with and to test on.

    Parameters
    ----------
    signals : Signals
        With subjects.
    kind : {"calibfree", "calib"}, default="calibfree"
        "calibfree": no two parts share a subject, as for people that the model has never seen.
        "calib": the segments of each subject are divided, so that all parts have the same
        subjects, as for a device that was calibrated for its wearer.
    sizes : four floats, default=(0.7, 0.1, 0.1, 0.1)
        Shares of train, validation, calibration and test, which add up to 1; a share of 0 leaves a
        part empty.

    Returns
    -------
    SubjectSplit
        Classes have nearly the same shares in all parts: text, and whole numbers with at most 20
        distinct values. For "calibfree" whole subjects are dealt
        out, the largest first, to the part that lacks their classes most.

    Examples
    --------
    >>> from caveat.signals import make_af_ppg, split_subjects
    >>> signals = make_af_ppg(subjects=20, segments=10, random_state=0)
    >>> split = split_subjects(signals, sizes=(0.4, 0.2, 0.2, 0.2), random_state=0)
    >>> split.table(signals)["subjects"].tolist()
    [8, 4, 4, 4]
    """
    check_choice(kind, "kind", ("calibfree", "calib"))
    shares = np.array([check_number(size, "sizes", 0, 1) for size in sizes])
    if len(shares) != 4 or abs(shares.sum() - 1) > 1e-9:
        raise OptionError(f"sizes must be four shares that add up to 1; got {tuple(sizes)}")
    subject = _subjects(signals)
    draw = generator(random_state)
    codes = np.zeros(len(signals), dtype=np.int64)
    if len(classes_of(signals.y)):
        codes = np.unique(signals.y, return_inverse=True)[1]
    divide = _whole if kind == "calibfree" else _divided
    part = divide(np.unique(subject, return_inverse=True)[1], codes, shares, draw)
    train, validation, calibration, test = (np.flatnonzero(part == k) for k in range(4))
    made = SubjectSplit(train, validation, calibration, test, kind)
    made.check(signals)
    empty = [
        name
        for name, rows, share in zip(PARTS, made, shares, strict=True)
        if share and not len(rows)
    ]
    if empty:
        raise OptionError(
            f"there are too few subjects or segments for {empty[0]}: {len(np.unique(subject))} "
            f"subjects, {len(signals)} segments"
        )
    return made


def classes_of(y: Any) -> Any:
    """Return the distinct labels; none of several targets, fractions and many whole numbers."""
    if y is None or y.ndim > 1:
        return np.array([])
    known = np.unique(y[~missing_among(y)])
    return known if y.dtype.kind not in "iuf" or are_few_whole(known) else known[:0]


def _taken(values: Any, rows: NDArray[np.int64]) -> Any:
    """Return rows by their places, also of a frame or a Series whose index says otherwise."""
    return values.take(rows) if isinstance(values, Signals) else _safe_indexing(values, rows)


def _subjects(signals: Signals) -> Any:
    if signals.subject is None:
        raise OptionError("a split by subject needs them; pass Signals(..., subject=ids)")
    return signals.subject


def _whole(
    subject: NDArray[np.int64], codes: NDArray[np.int64], shares: NDArray[Any],
    draw: np.random.Generator,
) -> NDArray[np.int64]:  # fmt: skip
    """Deal whole subjects to parts, the largest first, to the part that lacks them most."""
    counts = np.zeros((subject.max() + 1, codes.max() + 1))
    np.add.at(counts, (subject, codes), 1)
    # All segments count as one more class, so that the sizes are kept too.
    counts = np.column_stack([counts, counts.sum(axis=1)])
    totals = counts.sum(axis=0)
    lacking = shares[:, None] * totals
    wanted = np.maximum(lacking, 1e-9)
    place = np.zeros(len(counts), dtype=np.int64)
    order = draw.permutation(len(counts))
    order = order[np.argsort(-(counts[order] / totals).sum(axis=1), kind="stable")]
    for one in order:
        # The share of what a part still lacks, of the classes that the subject has.
        need = (lacking / wanted) @ (counts[one] / totals)
        need[shares == 0] = -np.inf
        place[one] = int(need.argmax())
        lacking[place[one]] -= counts[one]
    return _swapped(counts, shares[:, None] * totals, place)[subject]


def _swapped(
    counts: NDArray[Any], goal: NDArray[Any], place: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Exchange pairs of subjects as long as the parts come nearer to their shares of classes."""
    have = np.stack([counts[place == k].sum(axis=0) for k in range(len(goal))])
    scale = np.maximum(counts.sum(axis=0), 1)
    while True:  # each exchange makes the sum of squares smaller, so it comes to an end
        gap = (have - goal) / scale
        # The change of the sum of squares if subjects i and j exchange their parts.
        step = (counts[None] - counts[:, None]) / scale  # what i's part gains: j - i
        mine, other = gap[place][:, None], gap[place][None]
        change = (2 * (mine - other) * step + 2 * step**2).sum(axis=2)
        change[place[:, None] == place[None]] = 0
        i, j = np.unravel_index(change.argmin(), change.shape)
        if change[i, j] > -1e-12:
            return place
        have[place[i]] += counts[j] - counts[i]
        have[place[j]] += counts[i] - counts[j]
        place[i], place[j] = place[j], place[i]


def _divided(
    subject: NDArray[np.int64], codes: NDArray[np.int64], shares: NDArray[Any],
    draw: np.random.Generator,
) -> NDArray[np.int64]:  # fmt: skip
    """Divide the segments of each subject and class among the parts."""
    cell = subject * (codes.max() + 1) + codes
    order = np.lexsort((draw.random(len(cell)), cell))
    part = np.zeros(len(cell), dtype=np.int64)
    ends = np.cumsum(shares)
    rank = np.arange(len(cell)) - np.searchsorted(cell[order], cell[order])
    size = np.bincount(cell)[cell[order]]
    # A random start for each cell, so that small cells do not all fall into the largest part.
    start = draw.random(cell.max() + 1)[cell[order]]
    position = (rank + start) / size
    part[order] = np.minimum(np.searchsorted(ends, position - 1e-12, side="right"), 3)
    return part


def _refuse_leakage(subject: Any, parts: list[NDArray[np.int64]]) -> None:
    for first in range(4):
        for second in range(first + 1, 4):
            both = np.intersect1d(subject[parts[first]], subject[parts[second]])
            if len(both):
                raise InvalidValueError(
                    f"subject {both[0]!s} is in {PARTS[first]} and in {PARTS[second]}, of a split "
                    f'that is called "calibfree" ({len(both)} such subjects); keep all segments '
                    'of a subject in one part, or call it "calib"'
                )


def _refuse_missing(y: Any, parts: list[NDArray[np.int64]]) -> None:
    known = classes_of(y)
    if not len(known):
        return
    for name, rows in zip(PARTS, parts, strict=True):
        lacking = np.setdiff1d(known, y[rows])
        if len(rows) and len(lacking):
            raise LabelError(
                f"class {lacking[0]!s} is missing from {name}: too few subjects have it; use "
                "fewer parts, or another random_state"
            )
