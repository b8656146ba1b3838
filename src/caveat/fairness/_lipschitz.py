"""Individual fairness as a Lipschitz condition: how fast may treatment change with features?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._groups import Attribute, attributes
from .._random import RandomState, generator
from .._renamed import suggests_parameters
from .._validation import FloatArray, check_fraction
from ..exceptions import ShapeError
from ..results.rows import called
from ..results.tables import RowTable, ShownTable, Tabulated, interval_words, number
from ._consistency import columns_of_values, spread_of
from ._features import as_features, check_distance, scaled_features
from ._neighbors import Distance, distances

_HEADER = ("of", "group", "constant", "interval", "scaled", "interval", "largest", "asked", "note")
_HELD = 2**22
"""The number of distances held at a time."""
_ROUNDING = 1e-12
"""Differences below this share of the largest value count as zero."""


@dataclass(frozen=True)
class LipschitzRow:
    """How fast one quantity changes from sample to sample, within a group.

    Attributes
    ----------
    quantity : str
        The name in ``values``.
    attribute, group : str
        Empty for all samples.
    constant, low, high : float
        The constant that is enough for ``share`` of the samples of this group, and its confidence
        interval; infinite where samples without a distance have different values, and ``high``
        also where there are too few samples to bound it.
    scaled, scaled_low, scaled_high : float
        The same in standard deviations of the quantity.
    largest : float
        The largest change between a sample of the group and any other: no smaller constant is
        enough for all.
    sample, other : int
        The two samples with the largest change; -1 if nothing changes.
    samples, asked : int
        The number of samples in the group, and of those that the constant was estimated from.
    note : str
        Why a number is undefined.
    combined : bool
        Whether the attribute combines others, whose names are in its values.
    """

    columns: ClassVar[tuple[str, ...]] = (
        "quantity", "attribute", "group", "constant", "low", "high", "scaled", "scaled_low",
        "scaled_high", "largest", "sample", "other", "samples", "asked", "note",
    )  # fmt: skip

    quantity: str
    attribute: str
    group: str
    constant: float
    low: float
    high: float
    scaled: float
    scaled_low: float
    scaled_high: float
    largest: float
    sample: int
    other: int
    samples: int
    asked: int
    note: str
    combined: bool = False

    @property
    def label(self) -> str:
        """Which samples: ``race=a``."""
        named = called(self.attribute, self.group, self.combined)
        return named if self.attribute else "all samples"


@dataclass(frozen=True, repr=False, eq=False)
class Lipschitz(Tabulated, RowTable[LipschitzRow]):
    """What `lipschitz` returns.

    Attributes
    ----------
    rows : tuple of LipschitzRow
        `to_frame` and `to_json` give them as a table.
    slopes : mapping of str to ndarray of shape (samples,)
        The largest change between each sample and any other, over their distance, by quantity.
    spread : mapping of str to float
        The standard deviation of each quantity over all samples; 0 if it is constant.
    share : float
        The share of the samples for which the constant is enough.
    distance : str
    confidence : float
        The confidence of the intervals.

    Examples
    --------
    >>> from caveat.fairness import lipschitz
    >>> result = lipschitz([0.0, 0.0, 1.0, 3.0], [[0.0], [1.0], [2.0], [3.0]], scale=None)
    >>> result.slopes["prediction"]
    array([1. , 1.5, 2. , 2. ])
    """

    row_type: ClassVar[Any] = LipschitzRow
    rows: tuple[LipschitzRow, ...]
    slopes: Mapping[str, FloatArray]
    spread: Mapping[str, float]
    share: float
    distance: str
    confidence: float

    @property
    def description(self) -> str:
        """The data and the method in one line."""
        samples = len(next(iter(self.slopes.values())))
        return (
            f"Lipschitz constants that are enough for {self.share:.3g} of {samples:,} samples "
            f"({self.distance}), {self.confidence:.0%} intervals"
        )

    def _tables(self) -> list[ShownTable]:
        body = [
            [
                row.quantity,
                row.label,
                number(row.constant),
                interval_words(row.low, row.high),
                number(row.scaled),
                interval_words(row.scaled_low, row.scaled_high),
                number(row.largest),
                f"{row.asked:,}",
                row.note,
            ]
            for row in self.rows
        ]
        return [(self.description, _HEADER, body)]


@suggests_parameters
def lipschitz(
    values: Any,
    X: Any,
    *,
    share: float = 0.95,
    distance: Distance = "euclidean",
    scale: Any = "standard",
    groups: Any = None,
    confidence: float = 0.95,
    random_state: RandomState = None,
) -> Lipschitz:
    r"""Estimate how fast predictions and uncertainties change between individuals.

    Individual fairness asks for similar treatment of similar individuals,

    .. math:: |u(x_1) - u(x_2)| \le L \, d(x_1, x_2) \quad \text{for all } x_1, x_2,

    where u is a predicted class or number, or an uncertainty. The smallest such L is the Lipschitz
    constant. From a sample it is known from below only: the largest slope between two samples
    (``largest``, with the two that have it). No sample bounds it from above, since u may be steeper
    where nobody was drawn. What a sample does bound is the constant that is enough for a ``share``
    of all individuals: a random half of the samples is held against the other half, each sample
    with its largest slope to any of those. These slopes are independent draws, so their
    quantile has an exact interval by its order statistics, whatever their distribution.

    Parameters
    ----------
    values : array of shape (samples,), or dict or frame of such
        The quantities to compare; an array is named "prediction". Text stands for classes, of which
        two differ by 1.
    share : float, default=0.95
        Share of the individuals for which the constant is enough.
    distance : str or callable, default="euclidean"
        A metric of scikit-learn, a function of two rows, or "precomputed": ``X`` is then the matrix
        of distances, row i from sample i, and is not scaled.
    scale : {"standard"}, array of shape (features,) or None, default="standard"
        The divisor of each feature: its standard deviation, the number given, or none.
    groups : array, Series, dict of arrays or frame, optional
        One value for each sample and attribute. A group's constant is for its own samples against
        those of all groups.
    random_state : int or Generator, optional
        Decides which half of the samples is held against the other.

    Notes
    -----
    The interval holds for independent samples, given the half that they are held against: a new
    individual from the same population satisfies the condition against each of these with a
    probability of ``share`` if L is the true quantile. It says nothing of all pairs of a
    population. The upper end is infinite if too few samples are held against the others: at a share
    and a confidence of 0.95, fewer than 72. A predicted class jumps, so that its largest slope is
    one over the distance between the closest samples of different classes, and grows with the
    samples.

    References
    ----------
    C. Dwork, M. Hardt, T. Pitassi, O. Reingold & R. Zemel (2012). Fairness through awareness. ITCS.
    S. Kuzucu, J. Cheong, H. Gunes & S. Kalkan (2024). Uncertainty as a fairness measure. JAIR.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(400, 1))
    >>> uncertainty = X[:, 0] ** 2  # its slope at x is 2 |x|, and unbounded
    >>> result = lipschitz(uncertainty, X, share=0.9, scale=None, random_state=0)
    >>> row = result.rows[0]
    >>> f"{row.constant:.2f} ({row.low:.2f} to {row.high:.2f}), at least {row.largest:.2f} for all"
    '4.99 (4.80 to 5.17), at least 6.88 for all'
    """
    check_distance(distance)
    features = as_features(X, distance)
    samples = len(features)
    if samples < 2:
        raise ShapeError(f"a slope needs two samples at least; got {samples}")
    columns = columns_of_values(values, samples)
    share, level = check_fraction(share, "share"), check_fraction(confidence, "confidence")
    of_groups = [] if groups is None else attributes(groups, samples)
    asked = np.zeros(samples, dtype=bool)
    asked[generator(random_state).permutation(samples)[samples // 2 :]] = True
    table = {name: column.table for name, column in columns.items()}
    slopes, others, held = _slopes(
        table, scaled_features(features, scale, distance), asked, distance
    )
    spread = {name: spread_of(column) for name, column in columns.items()}
    everyone = Attribute("", ("",), np.zeros(samples, dtype=np.intp))
    rows = []
    for name in columns:
        for attribute in (everyone, *of_groups):
            for i, value in enumerate(attribute.values):
                member = np.flatnonzero(attribute.codes == i)
                steepest = member[slopes[name][member].argmax()]
                place = name, attribute.name, value
                numbers = quantile_interval(held[name][member[asked[member]]], share, level)
                worst = float(slopes[name][steepest]), int(steepest), int(others[name][steepest])
                count = len(member), int(asked[member].sum())
                rows.append(_row(place, numbers, worst, count, spread[name], bool(attribute.parts)))
    return Lipschitz(
        rows=tuple(rows),
        slopes=slopes,
        spread=spread,
        share=share,
        distance=distance if isinstance(distance, str) else getattr(distance, "__name__", "given"),
        confidence=level,
    )


def _slopes(
    table: Mapping[str, FloatArray], X: FloatArray, asked: NDArray[np.bool_], distance: Distance
) -> tuple[dict[str, FloatArray], dict[str, NDArray[np.intp]], dict[str, FloatArray]]:
    """Return each sample's largest slope to any other, that other, and that to the held half."""
    samples = len(X)
    slopes = {name: np.zeros(samples) for name in table}
    others = {name: np.full(samples, -1, dtype=np.intp) for name in table}
    held = {name: np.zeros(samples) for name in table}
    step = max(1, _HELD // samples)
    for start in range(0, samples, step):
        part = np.arange(start, min(start + step, samples))
        far = distances(X, part, distance)
        for name, columns in table.items():
            # Classes have a column each: two classes differ in two of them.
            change = np.abs(columns[part, None, :] - columns[None, :, :]).max(axis=2)
            change[change <= _ROUNDING * np.abs(columns).max()] = 0.0
            steepest = np.where(change > 0, np.inf, 0.0)
            with np.errstate(over="ignore"):  # a distance of next to nothing
                slope = np.divide(change, far, out=steepest, where=far > 0)
            best = slope.argmax(axis=1)
            slopes[name][part] = slope[np.arange(len(part)), best]
            others[name][part] = np.where(slopes[name][part] > 0, best, -1)
            held[name][part] = slope[:, ~asked].max(axis=1)
    return slopes, others, held


def quantile_interval(
    values: FloatArray, share: float, confidence: float
) -> tuple[float, float, float]:
    """Return a quantile of independent draws, and its exact interval by order statistics.

    Whatever the distribution, the number of draws at or below its quantile is at least binomial.
    The lower end is 0 and the upper end infinite where there are too few draws to bound it.

    Examples
    --------
    >>> import numpy as np
    >>> quantile_interval(np.arange(1.0, 101.0), 0.5, 0.95)
    (50.0, 40.0, 61.0)
    """
    from scipy.stats import binom

    count = len(values)
    if not count:
        return (float("nan"),) * 3
    ordered = np.sort(values)
    tail = (1 - confidence) / 2
    first = int(binom.ppf(tail, count, share))
    last = int(binom.isf(tail, count, share)) + 1
    low = float(ordered[first - 1]) if first else 0.0
    high = float(ordered[last - 1]) if last <= count else float("inf")
    middle = int(np.ceil(share * count * (1 - _ROUNDING))) - 1
    return float(ordered[middle]), low, high


def _row(
    place: tuple[str, str, str],
    numbers: tuple[float, float, float],
    worst: tuple[float, int, int],
    counts: tuple[int, int],
    spread: float,
    combined: bool,
) -> LipschitzRow:
    notes = []
    if not counts[1]:
        notes.append("no sample of this group was held against the others")
    if np.isinf(worst[0]):
        notes.append(
            f"samples {worst[1]} and {worst[2]} have the same features, or nearly so, and "
            "different values"
        )
    if not spread:
        notes.append("all samples have one value, by whose spread nothing can be scaled")
    by = spread or np.nan
    value, low, high = numbers
    return LipschitzRow(
        *place, value, low, high, value / by, low / by, high / by, *worst, *counts,
        "; ".join(notes), combined,
    )  # fmt: skip
