"""Individual fairness: are samples with similar features treated similarly?"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import to_numpy
from .._groups import Attribute, attributes
from .._random import RandomState, generator
from .._renamed import suggests_parameters
from .._validation import (
    FloatArray,
    as_column,
    as_floats,
    check_fraction,
    check_integer,
    check_size,
)
from ..exceptions import InvalidValueError, OptionError, ShapeError
from ..predictions import Container
from ..resampling import Plan, Replicates, interval_of, make_plan
from ._consistency_result import Consistency, ConsistencyRow
from ._features import as_features, check_distance, scaled_features
from ._neighbors import Distance, find_places, neighbor_means


@suggests_parameters
def consistency(
    values: Any,
    X: Any,
    *,
    neighbors: int = 5,
    distance: Distance = "euclidean",
    scale: Any = "standard",
    queries: int | None = None,
    groups: Any = None,
    outcomes: Any = None,
    cluster: Any = None,
    confidence: float = 0.95,
    resamples: int = 1000,
    random_state: RandomState = None,
) -> Consistency:
    r"""Measure whether samples that are alike have like predictions and like uncertainties.

    The consistency of sample i is how close its value is to the mean of its k nearest neighbors,

    .. math:: C_i = 1 - \Bigl| u_i - \frac{1}{k} \sum_{j \in \mathrm{kNN}(i)} u_j \Bigr|,

    where u is the predicted class (0 or 1), a predicted number or an uncertainty; 1 is perfect. If
    values differ by little in absolute terms, such as epistemic uncertainties of 1e-4, it is always
    close to 1; the scaled consistency therefore divides the difference by the standard deviation of
    u over all samples. The consistency of a group is the mean over its samples, whose neighbors may
    belong to any group.

    Neighbors are exact. A sample is not its own neighbor; other samples with the same features
    are. Samples at the same distance share the last of the k places in equal parts, so that neither
    the order of the samples nor chance decides.

    Parameters
    ----------
    values : array of shape (samples,), or dict or frame of such
        The quantities to compare; an array is named "prediction". Text stands for classes without
        an order: their consistency is the share of the neighbors with the same class, which for two
        classes is the formula above. Pass more than two classes as text, not as numbers.
    neighbors : int, default=5
        The number k of nearest neighbors.
    distance : str or callable, default="euclidean"
        A metric of scikit-learn, a function of two rows, or "precomputed": ``X`` is then the matrix
        of distances, row i from sample i, and is not scaled. A function is called for every pair,
        which is slow.
    scale : {"standard"}, array of shape (features,) or None, default="standard"
        The divisor of each feature: its standard deviation (the mean is subtracted first), the
        number given, or none.
    queries : int, optional
        The number of samples to look up, drawn at random; by default all.
    groups : array, Series, dict of arrays or frame, optional
        One value for each sample and attribute.
    outcomes : array of shape (samples,), optional
        The predicted or the true class, by which groups are also split.
    resamples : int, default=1000
        The number of bootstrap resamples of the queries; 0 gives no intervals.
    random_state : int or Generator, optional
        Seed of the draw of queries and of the resamples.

    Notes
    -----
    The bootstrap intervals are for the mean over the population from which the queries were drawn.
    For the mean over this table they are too wide, by a factor of :math:`1 / \sqrt{1 - q / n}` for
    q queries of n samples. Samples share neighbors, which resampling ignores: with all samples as
    queries, 95 % intervals covered the mean in 90 % to 96 % of simulations with five neighbors, and
    in 84 % to 90 % with one or two; coverage is lower where a few samples make up most of the
    difference from 1. The intervals hold for this model and this number of samples: with more
    samples, neighbors are nearer. There is no interval for fewer than 6 samples (at 95 %), nor
    where all samples are equally consistent.

    References
    ----------
    R. Zemel, Y. Wu, K. Swersky, T. Pitassi & C. Dwork (2013). Learning fair representations. ICML.
    S. Kuzucu, J. Cheong, H. Gunes & S. Kalkan (2024). Uncertainty as a fairness measure. JAIR.

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> result = consistency([1, 1, 0, 0, 0, 0], X, neighbors=2, resamples=0)
    >>> result.per_sample["prediction"]
    array([0.5, 0.5, 0. , 1. , 1. , 1. ])
    >>> round(result.rows[0].consistency, 3)
    0.667
    """
    check_distance(distance)
    features = as_features(X, distance)
    samples = len(features)
    columns = columns_of_values(values, samples)
    neighbors = check_integer(neighbors, "neighbors", 1)
    if neighbors >= samples:
        raise OptionError(
            f"neighbors must be at most {samples - 1}, the number of other samples; got {neighbors}"
        )
    level = check_fraction(confidence, "confidence")
    resamples = check_integer(resamples, "resamples", 0)
    of_groups = [] if groups is None else attributes(groups, samples)
    of_outcomes = None if outcomes is None else attributes({"outcomes": outcomes}, samples)[0]
    rng = generator(random_state)
    rows = _query_rows(queries, samples, rng)
    together = None if cluster is None else as_column(cluster, "cluster", samples)[rows]

    scaled = scaled_features(features, scale, distance)
    places = find_places(scaled, distance)
    table = np.concatenate([column.table for column in columns.values()], axis=1)
    means = neighbor_means(table, places, rows, neighbors, distance)

    differences, spread, start = {}, {}, 0
    for name, column in columns.items():
        end = start + column.table.shape[1]
        differences[name] = _differences(column, means[:, start:end], rows)
        spread[name] = spread_of(column)
        start = end
    plan = None
    if resamples:
        plan = make_plan(len(rows), resamples=resamples, cluster=together, random_state=rng)
    return Consistency(
        rows=tuple(_table(differences, spread, rows, samples, of_groups, of_outcomes, plan, level)),
        differences=differences,
        spread=spread,
        queries=rows,
        samples=samples,
        neighbors=neighbors,
        distance=distance if isinstance(distance, str) else getattr(distance, "__name__", "given"),
        confidence=level,
    )


class _Column(NamedTuple):
    """One of the values: numbers in one column, or classes with a column for each."""

    table: FloatArray
    classes: bool


def columns_of_values(values: Any, samples: int) -> dict[str, _Column]:
    """Return checked quantities by name."""
    framed = isinstance(values, Mapping) or hasattr(values, "columns")
    names = list(values if isinstance(values, Mapping) else values.columns) if framed else []
    given = {str(name): values[name] for name in names} if framed else {"prediction": values}
    if not given:
        raise ShapeError("values is empty: it names nothing to be consistent")
    return {
        name: _column(value, f"values[{name!r}]" if framed else "values", samples)
        for name, value in given.items()
    }


def _column(value: Any, name: str, samples: int) -> _Column:
    if isinstance(value, Container):
        raise OptionError(
            f"{name} must be one value for each sample; got a {type(value).__name__}; pass what is "
            "to be consistent, such as caveat.decompose(prediction).aleatoric"
        )
    array = to_numpy(value, name).array
    if array.shape != (samples,):
        raise ShapeError(
            f"{name} must be one value for each of {samples} rows of X; got shape {array.shape}"
        )
    if array.dtype.kind == "U" or (
        array.dtype == object and any(isinstance(entry, str) for entry in array)
    ):
        absent = [i for i, entry in enumerate(array) if not isinstance(entry, str)]
        if absent:
            raise InvalidValueError(
                f"{name} of sample {absent[0]} is {array[absent[0]]!r}, but others are text; give "
                "every sample a class"
            )
        known, codes = np.unique(array.astype(str), return_inverse=True)
        return _Column((codes.reshape(-1, 1) == np.arange(len(known))).astype(np.float64), True)
    numbers, _, _ = as_floats(array, name)
    check_size(numbers, name, ("sample",))
    return _Column(numbers[:, None], False)


def _differences(column: _Column, means: FloatArray, rows: NDArray[np.intp]) -> FloatArray:
    """Return the difference of each query from its neighbors; the consistency is 1 minus it."""
    own = column.table[rows]
    if column.classes:
        return np.maximum(1 - (own * means).sum(axis=1), 0.0)
    return np.abs(own - means)[:, 0]


def spread_of(column: _Column) -> float:
    """Return the standard deviation, 0 within rounding error.

    For classes it generalizes the standard deviation of two classes 0 and 1.
    """
    if column.classes:
        return float(np.sqrt((1 - (column.table.mean(axis=0) ** 2).sum()) / 2))
    values = column.table[:, 0]
    spread = float(values.std())
    return spread if spread > 1e-12 * float(np.abs(values).max()) else 0.0


def _query_rows(queries: int | None, samples: int, rng: np.random.Generator) -> NDArray[np.intp]:
    if queries is None or check_integer(queries, "queries", 1) >= samples:
        return np.arange(samples)
    return np.sort(rng.choice(samples, size=queries, replace=False))


def _table(
    differences: dict[str, FloatArray],
    spread: dict[str, float],
    rows: NDArray[np.intp],
    samples: int,
    of_groups: list[Attribute],
    of_outcomes: Attribute | None,
    plan: Plan | None,
    level: float,
) -> list[ConsistencyRow]:
    """Return the means over all samples, each group, and each group with each outcome."""
    result: dict[str, list[ConsistencyRow]] = {name: [] for name in differences}
    counts = None if plan is None else plan.counts.astype(np.float64)
    everyone = Attribute("", ("",), np.zeros(samples, dtype=np.intp))
    labels = () if of_outcomes is None else of_outcomes.values
    for attribute in (everyone, *of_groups):
        for i, value in enumerate(attribute.values):
            for j, label in enumerate(("", *labels)):
                mask = attribute.codes == i
                if label and of_outcomes is not None:
                    mask &= of_outcomes.codes == j - 1
                if not mask.any():
                    continue
                asked = mask[rows]
                units = int(asked.sum() if plan is None else len(np.unique(plan.unit[asked])))
                means = _means(differences, spread, asked, plan, counts, level)
                for name, numbers in zip(differences, means, strict=True):
                    place = name, attribute.name, value, label, int(asked.sum()), units
                    row = _row(place, numbers, spread[name], bool(attribute.parts))
                    result[name].append(row)
    return [row for of_one in result.values() for row in of_one]


def _means(
    differences: dict[str, FloatArray],
    spread: dict[str, float],
    mask: NDArray[np.bool_],
    plan: Plan | None,
    counts: FloatArray | None,
    level: float,
) -> list[tuple[float, float, float, str]]:
    """Return the mean difference of the masked samples, its interval and a note, by quantity."""
    if not mask.any():
        return [(np.nan, np.nan, np.nan, "no sample of this group was looked up")] * len(
            differences
        )
    values = np.column_stack([value[mask] for value in differences.values()])
    centers = values.mean(axis=0)
    if plan is None or counts is None:
        return [(float(center), np.nan, np.nan, "") for center in centers]
    unit = plan.unit[mask]
    number = np.bincount(unit, minlength=plan.units).astype(np.float64)
    units = int((number > 0).sum())
    drawn = counts @ number
    means = []
    for center, value, scale in zip(centers, values.T, spread.values(), strict=True):
        low = high = np.nan
        if units < _fewest(level):
            note = "too few samples for an interval"
        elif value.max() - value.min() <= 1e-9 * scale:  # nothing but rounding
            note = "the same for every sample, whose spread does not show"
        else:
            total = counts @ np.bincount(unit, value, minlength=plan.units)
            with np.errstate(invalid="ignore"):  # a resample may hold none of the group
                replicates = Replicates(total / drawn, float(center), units)
            interval = interval_of(float(center), replicates, level, range=(0.0, np.inf))
            low, high, note = interval.low, interval.high, ""
        means.append((float(center), low, high, note))
    return means


def _fewest(level: float) -> float:
    """Return how many samples an interval needs.

    Resampled means lie between the smallest and the largest of n values. Both are on one side of
    the center of a symmetric population with probability 2^(1 - n).
    """
    return 1 - float(np.log2(1 - level))


def _row(
    place: tuple[str, str, str, str, int, int],
    numbers: tuple[float, float, float, str],
    spread: float,
    combined: bool,
) -> ConsistencyRow:
    quantity, attribute, group, outcome, samples, units = place
    value, low, high, note = numbers
    if not spread:
        note = f"{note}; " if note else ""
        note += "all samples have one value, by whose spread nothing can be scaled"
    by = spread or np.nan
    raw = 1 - value, 1 - high, 1 - low
    scaled = 1 - value / by, 1 - high / by, 1 - low / by
    return ConsistencyRow(
        quantity, attribute, group, outcome, *raw, *scaled, samples, units, note, combined
    )
