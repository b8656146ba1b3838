"""Distances between classes, from samples of each."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import to_numpy
from .._blocks import row_blocks
from .._validation import (
    FloatArray,
    LabelArray,
    as_floats,
    as_labels,
    check_choice,
    check_size,
    encode_labels,
    shorten,
)
from ..exceptions import InvalidValueError, LabelError, ShapeError

__all__ = ["class_distances"]

DistanceFunction = Callable[[FloatArray, FloatArray], Any]
Codes = NDArray[np.intp]

# Below this fraction of the two squared norms their difference has lost too many digits.
_CANCELED = 1e-4

_DISTANCES = ("energy", "wasserstein")


def class_distances(
    X: Any,
    y: Any,
    *,
    distance: str | DistanceFunction = "energy",
    combine: str = "mean+std",
    classes: Any = None,
) -> FloatArray:
    r"""Distance between the samples of each pair of classes.

    For each channel, with the empirical distribution functions :math:`F_i` and :math:`F_j` of two
    classes, the energy and the Wasserstein distance are

    .. math:: \sqrt{2 \int (F_i(t) - F_j(t))^2 dt} \quad\text{and}\quad \int |F_i(t) - F_j(t)| dt

    as in :func:`scipy.stats.energy_distance` and :func:`scipy.stats.wasserstein_distance`, here
    with one sort for all pairs. The channels are combined to their mean plus their (population)
    standard deviation or to their root mean square. Only the latter of energy distances is sure to
    make :func:`~caveat.uncertainty.homophily_uncertainty` a concave function.

    Parameters
    ----------
    X : array of shape (samples,), (samples, channels) or with more axes
        Features, finite; all axes but the first are channels. The distances are in their units, so
        channels of different scales should be standardized first.
    y : array of shape (samples,)
        The class of each sample.
    distance : {"energy", "wasserstein"} or callable, default="energy"
        A callable gets the samples of two classes in one channel, two arrays of one axis, and
        returns one number. It is called once for each pair and taken to be symmetric.
    combine : {"mean+std", "rms"}, default="mean+std"
        How the distances of the channels become one.
    classes : sequence of labels, optional
        The order of the rows and columns; by default the sorted labels of y. To use the result with
        a Categorical, pass its ``classes``.

    Returns
    -------
    ndarray of shape (classes, classes)
        Symmetric, not negative, 0 on the diagonal.

    References
    ----------
    .. [1] G. J. Székely, M. L. Rizzo. Energy Statistics: A Class of Statistics Based on Distances.
       Journal of Statistical Planning and Inference 143, 1249-1272, 2013.
    .. [2] S. Chlaily, D. Ratha, P. Lozou, A. Marinoni. On Measures of Uncertainty in
       Classification. IEEE Transactions on Signal Processing 71, 3710-3725, 2023. Section IV.

    Examples
    --------
    >>> from caveat import class_distances
    >>> X = [[0, 1], [2, 1], [4, 1], [6, 1]]
    >>> class_distances(X, ["a", "a", "b", "b"], distance="wasserstein")
    array([[0., 4.],
           [4., 0.]])
    >>> class_distances(X, ["a", "a", "b", "b"], combine="rms").round(3)
    array([[0.   , 1.732],
           [1.732, 0.   ]])
    """
    if not callable(distance):
        check_choice(distance, "distance", _DISTANCES, "a callable")
    check_choice(combine, "combine", ("mean+std", "rms"))
    channels = _as_channels(X)
    codes, labels = _encode(y, classes, len(channels))
    if callable(distance):
        matrices = _by_callable(channels, codes, labels, distance)
    else:
        matrices = _by_distribution(channels, codes, len(labels), distance)
    mean, deviation = _mean_and_deviation(matrices, len(labels))
    return mean + deviation if combine == "mean+std" else np.hypot(mean, deviation)


def _mean_and_deviation(
    matrices: Iterator[FloatArray], classes: int
) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation over matrices, of which only one is held at a time."""
    mean, squares = np.zeros((classes, classes)), np.zeros((classes, classes))
    count = 0
    for count, matrix in enumerate(matrices, start=1):
        change = matrix - mean
        mean += change / count
        squares += change * (matrix - mean)
    return mean, np.sqrt(squares / count)


def _by_distribution(
    X: FloatArray, codes: Codes, classes: int, distance: str
) -> Iterator[FloatArray]:
    """Yield the distances in each channel, by sums over the gaps between neighboring values."""
    kernel = _energy if distance == "energy" else _wasserstein
    sizes = np.bincount(codes, minlength=classes)
    for column in X.T:
        channel = column.copy()  # next to each other in memory
        order = np.argsort(channel)
        yield kernel(np.diff(channel[order]), codes[order], sizes)


def _distribution_blocks(
    gaps: FloatArray, codes: Codes, sizes: Codes
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield gaps between sorted values and the distribution functions there, (classes, gaps)."""
    below = np.zeros(len(sizes), dtype=np.int64)
    for part in row_blocks(len(gaps), len(sizes)):
        # Integers: a running sum of doubles takes several times as long.
        counts = np.zeros((len(sizes), part.stop - part.start), dtype=np.int64)
        counts[codes[part], np.arange(counts.shape[1])] = 1
        counts[:, 0] += below
        np.cumsum(counts, axis=1, out=counts)
        below = counts[:, -1]
        yield gaps[part], counts / sizes[:, None]


def _energy(gaps: FloatArray, codes: Codes, sizes: Codes) -> FloatArray:
    """Energy distances: the distribution functions as points of a Hilbert space."""
    products = np.zeros((len(sizes), len(sizes)))
    for widths, functions in _distribution_blocks(gaps, codes, sizes):
        # Less the function of all samples, which most of them are close to.
        functions -= (sizes / sizes.sum()) @ functions
        products += (functions * widths) @ functions.T
    norms = np.diag(products)
    sums = norms[:, None] + norms
    squares = sums - products - products.T
    close = np.triu(squares < _CANCELED * sums, 1)
    if close.any():
        _recompute(squares, np.argwhere(close), gaps, codes, sizes)
    np.fill_diagonal(squares, 0.0)
    return np.sqrt(2 * squares)


def _recompute(
    squares: FloatArray, pairs: Codes, gaps: FloatArray, codes: Codes, sizes: Codes
) -> None:
    """Write what cancellation spoilt, from the differences themselves."""
    i, j = pairs.T
    squares[i, j] = 0.0
    for widths, functions in _distribution_blocks(gaps, codes, sizes):
        for first, second in pairs:
            difference = functions[first] - functions[second]
            squares[first, second] += np.square(difference, out=difference) @ widths
    squares[j, i] = squares[i, j]


def _wasserstein(gaps: FloatArray, codes: Codes, sizes: Codes) -> FloatArray:
    distances = np.zeros((len(sizes), len(sizes)))
    for widths, functions in _distribution_blocks(gaps, codes, sizes):
        for i in range(len(sizes) - 1):
            difference = functions[i + 1 :] - functions[i]
            distances[i, i + 1 :] += np.abs(difference, out=difference) @ widths
    return distances + distances.T


def _by_callable(
    X: FloatArray, codes: Codes, labels: LabelArray, distance: DistanceFunction
) -> Iterator[FloatArray]:
    """Yield the distances in each channel, by a function of two samples."""
    groups = [X[codes == code] for code in range(len(labels))]
    for channel in range(X.shape[1]):
        distances = np.zeros((len(labels), len(labels)))
        for i, j in np.argwhere(np.tri(len(labels), k=-1).T):
            value = np.asarray(distance(groups[i][:, channel], groups[j][:, channel]))
            number = value.size == 1 and value.dtype.kind in "fiub"
            if not number or not 0 <= value.item() < np.inf:
                raise InvalidValueError(
                    "distance must return one finite number that is not negative; got "
                    f"{value.tolist()!r} for the classes {shorten(labels[[i, j]])} in channel "
                    f"{channel}"
                )
            distances[i, j] = distances[j, i] = value.item()
        yield distances


def _as_channels(X: Any) -> FloatArray:
    """Return samples as a finite array of shape (samples, channels)."""
    array, _, _ = as_floats(X, "X")
    if array.ndim == 0:
        raise ShapeError(f"X must have shape (samples, channels) or (samples,); got {array.shape}")
    array = array.reshape(len(array), -1)
    check_size(array, "X", ("sample", "channel"))
    return array


def _encode(y: Any, classes: Any, samples: int) -> tuple[Codes, LabelArray]:
    """Return the position of each label in the classes, and the classes."""
    values = to_numpy(y, "y").array
    if values.shape[:1] != (samples,):
        raise ShapeError(
            f"y must be one label for each of the {samples} samples of X; got shape {values.shape}"
        )
    if classes is None:
        mixed = values.dtype == object  # which need not have an order
        known = list(dict.fromkeys(values.ravel().tolist())) if mixed else np.unique(values)
        labels = np.sort(as_labels(known, "labels of y", len(known), "class"))
    else:
        number = to_numpy(classes, "classes").array.size
        labels = as_labels(classes, "classes", number, "class")
    if len(labels) < 2:
        raise LabelError(
            f"distances need two classes at least; got {shorten(labels) or 'no class'}"
        )
    codes = encode_labels(y, labels)
    absent = np.bincount(codes, minlength=len(labels)) == 0
    if absent.any():
        raise LabelError(
            f"y has no sample of class {shorten(labels[absent][:1])}; leave it out of classes"
        )
    return codes, labels
