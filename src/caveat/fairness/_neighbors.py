"""The nearest neighbors of rows, with equal rows and equal distances handled exactly."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from ..exceptions import InvalidValueError, OptionError

Distance = Any
"""The name of a metric of scikit-learn, or a function of two rows."""

_SQUARED = ("euclidean", "l2", "minkowski")
"""Compared by their squares, whose rounding error has the same size everywhere."""

_BY_PRODUCTS = (*_SQUARED, "sqeuclidean")
"""Computed from products of rows, which loses digits far from the origin."""

_OF_A_SIZE = ("precomputed", "haversine")
"""Neighbors change if all features are divided by one number."""

_RELATIVE = ("braycurtis", "dice", "sokalsneath")
"""0 / 0 between a row of zeros and itself."""

_ROUNDING = 64 * float(np.finfo(np.float64).eps)
_HELD = 2**23
"""The number of distances held at a time."""


@dataclass(frozen=True)
class Places:
    """The distinct rows of a table: equal rows are at one place."""

    points: FloatArray
    """(places, features); the matrix of precomputed distances."""
    place: NDArray[np.intp]
    """The place of each row."""
    counts: FloatArray
    """The number of rows at each place."""


def find_places(X: FloatArray, distance: Distance) -> Places:
    """Return the distinct rows of ``X``; rows of a matrix of distances are all distinct."""
    if isinstance(distance, str) and distance == "precomputed":
        return Places(X, np.arange(len(X)), np.ones(len(X)))
    if isinstance(distance, str) and distance not in _OF_A_SIZE:
        X = within_one(X, None)
    if isinstance(distance, str) and distance in _BY_PRODUCTS:
        X = X - X.mean(axis=0)
    X = np.ascontiguousarray(X) + 0.0  # -0.0 has other bytes than 0.0
    rows = X.view(np.dtype((np.void, X.dtype.itemsize * X.shape[1]))).reshape(-1)
    _, first, place, counts = np.unique(
        rows, return_index=True, return_inverse=True, return_counts=True
    )
    if len(first) == len(X):  # as they are, which spares a copy in another order
        return Places(X, np.arange(len(X)), np.ones(len(X)))
    return Places(X[first], place.reshape(-1), counts.astype(np.float64))


def within_one(X: FloatArray, axis: int | None) -> FloatArray:
    """Return the numbers, or each column, divided by a power of two so that none exceeds 1.

    This loses no digits, and the squares neither overflow nor vanish.
    """
    return np.asarray(np.ldexp(X, -np.frexp(np.abs(X).max(axis=axis))[1]))


def neighbor_means(
    values: FloatArray, places: Places, rows: NDArray[np.intp], neighbors: int, distance: Distance
) -> FloatArray:
    """Return the mean values of the nearest neighbors of some rows, (rows, columns).

    A row is not its own neighbor; rows equal to it are. Rows at the same distance share the last of
    the ``neighbors`` places in equal parts, so that the order of the table does not matter.
    """
    number = len(places.counts)
    sums = np.empty((number, values.shape[1]))
    for i, column in enumerate(values.T):
        sums[:, i] = np.bincount(places.place, column, minlength=number)
    asked, back = np.unique(places.place[rows], return_inverse=True)
    model = _model(places.points, distance)
    total = np.empty((len(asked), values.shape[1]))
    own = np.empty(len(asked))
    # Two more than are wanted: the row itself, and one that shows that there is no tie.
    waiting, width = np.arange(len(asked)), min(number, neighbors + 2)
    while len(waiting):
        undecided = []
        step = max(1, _HELD // width)
        for part in (waiting[i : i + step] for i in range(0, len(waiting), step)):
            some = asked[part]
            result, index = _search(model, places.points, some, width, distance)
            weight, done = _weights(result, index, some, places, neighbors, distance)
            total[part] = _weighted_sums(weight, index, sums)
            own[part] = (weight * (index == some[:, None])).sum(axis=1)
            undecided.append(part[~done])
        waiting, width = np.concatenate(undecided), min(number, 4 * width)
    back = back.reshape(-1)
    return (total[back] - own[back, None] * values[rows]) / neighbors


def distances(X: FloatArray, rows: NDArray[np.intp], distance: Distance) -> FloatArray:
    """Return the distances of some rows from all, (rows, samples)."""
    if isinstance(distance, str) and distance == "precomputed":
        return X[rows]
    from scipy.spatial.distance import cdist
    from sklearn.metrics import pairwise_distances

    try:
        if isinstance(distance, str) and distance in _BY_PRODUCTS:
            # By differences of rows, which keep the digits of small distances, and on a scale on
            # which squares neither overflow nor vanish.
            power = int(np.frexp(np.abs(X).max())[1])
            squared = distance == "sqeuclidean"
            near = np.ldexp(X, -power)
            result = cdist(near[rows], near, "sqeuclidean" if squared else "euclidean")
            with np.errstate(over="ignore", under="ignore"):
                result = np.ldexp(result, 2 * power if squared else power)
        else:
            result = np.asarray(pairwise_distances(X[rows], X, metric=distance))
    except (TypeError, ValueError) as error:
        raise _unusable(distance, error) from error
    result[np.arange(len(rows)), rows] = 0.0
    if not np.isfinite(result).all():
        raise InvalidValueError(
            f"distance {distance!r} between two rows is {result[~np.isfinite(result)][0]}; it must "
            "be a finite number: scale the features, or choose another distance"
        )
    return result


def _model(points: FloatArray, distance: Distance) -> Any:
    from sklearn.neighbors import NearestNeighbors

    # A tree would rely on the triangle inequality, which a function of the user need not obey.
    algorithm = "brute" if callable(distance) else "auto"
    try:
        return NearestNeighbors(metric=distance, algorithm=algorithm).fit(points)
    except (TypeError, ValueError) as error:
        raise _unusable(distance, error) from error


def _search(
    model: Any, points: FloatArray, own: NDArray[np.intp], width: int, distance: Distance
) -> tuple[FloatArray, NDArray[np.intp]]:
    asked = points[own]
    try:
        result, index = model.kneighbors(asked, n_neighbors=width)
    except (TypeError, ValueError) as error:
        raise _unusable(distance, error) from error
    if isinstance(distance, str) and distance in _RELATIVE:
        for row in np.flatnonzero(~asked.any(axis=1)):
            others = np.isfinite(result[row]) & (index[row] != own[row])
            index[row] = own[row], *index[row, others][: width - 1]
            result[row] = 0.0, *result[row, others][: width - 1]
    if not np.isfinite(result).all():
        cure = "" if isinstance(distance, str) else "scale the features, or "
        raise InvalidValueError(
            f"distance {distance!r} between two rows is {result[~np.isfinite(result)][0]}; it must "
            f"be a finite number: {cure}choose another distance"
        )
    return result, index


def _unusable(distance: Distance, error: Exception) -> OptionError:
    return OptionError(
        f"distance {distance!r} does not work with these rows: {error}; choose another, or pass "
        'the matrix of distances as X with distance="precomputed"'
    )


def _weights(
    result: FloatArray,
    index: NDArray[np.intp],
    own: NDArray[np.intp],
    places: Places,
    neighbors: int,
    distance: Distance,
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return the weight of each place for each row, and whether all its ties are included."""
    named = distance if isinstance(distance, str) else ""
    far = result**2 if named in _SQUARED else result
    counts = places.counts[index] - (index == own[:, None])
    last = np.argmax(np.cumsum(counts, axis=1) >= neighbors, axis=1)
    limit = far[np.arange(len(far)), last][:, None]
    slack = _ROUNDING * (np.abs(limit) + _size(places.points[own], named)[:, None])
    nearer = far < limit - slack
    tied = ~nearer & (far <= limit + slack)
    before = (counts * nearer).sum(axis=1)
    share = (neighbors - before) / (counts * tied).sum(axis=1)
    weight = np.where(counts > 0, nearer + tied * share[:, None], 0.0)
    done = (far[:, -1] > (limit + slack)[:, 0]) | (far.shape[1] == len(places.counts))
    return weight, done


def _size(points: FloatArray, named: str) -> FloatArray:
    """Return the size of the numbers whose rounding error is in the distances from points."""
    if named in ("", "precomputed"):
        return np.zeros(len(points))
    if named in ("cosine", "correlation"):
        return np.ones(len(points))
    squares = np.einsum("ij,ij->i", points, points)
    return squares if named in _BY_PRODUCTS else np.sqrt(squares)


def _weighted_sums(weight: FloatArray, index: NDArray[np.intp], sums: FloatArray) -> FloatArray:
    from scipy.sparse import csr_array

    ends = np.arange(len(index) + 1) * index.shape[1]
    matrix = csr_array((weight.ravel(), index.ravel(), ends), shape=(len(index), len(sums)))
    return np.asarray(matrix @ sums)
