"""Distances between classes, from samples of each."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..._arrays import to_numpy
from ..._validation import (
    FloatArray,
    LabelArray,
    as_floats,
    as_labels,
    as_weights,
    check_choice,
    check_size,
    encode_labels,
    shorten,
)
from ...exceptions import InvalidValueError, LabelError, OptionError, ShapeError
from .channels import Codes, bhattacharyya_by_channel, energy_by_channel, wasserstein_by_channel
from .given import check_distances, cost_distances, taxonomy_distances
from .joint import joint_bhattacharyya, joint_energy

__all__ = ["check_distances", "class_distances", "cost_distances", "taxonomy_distances"]

DistanceFunction = Callable[[FloatArray, FloatArray], Any]

_DISTANCES = ("energy", "wasserstein", "bhattacharyya")


def class_distances(
    X: Any,
    y: Any,
    *,
    distance: str | DistanceFunction = "energy",
    combine: str = "mean+std",
    classes: Any = None,
    sample_weight: Any = None,
    embedding: Callable[[Any], Any] | None = None,
    scaled: bool = False,
) -> FloatArray:
    r"""Distance between the samples of each pair of classes.

    For each channel, with the empirical distribution functions :math:`F_i` and :math:`F_j` of two
    classes, the energy and the Wasserstein distance are

    .. math:: \sqrt{2 \int (F_i(t) - F_j(t))^2 dt} \quad\text{and}\quad \int |F_i(t) - F_j(t)| dt

    as in :func:`scipy.stats.energy_distance` and :func:`scipy.stats.wasserstein_distance`, here
    with one sort for all pairs, for which values may be rounded to 46 of their 53 bits. The
    Bhattacharyya distance is that of two normal distributions with the means and variances of the
    classes,

    .. math:: \frac{(\mu_i - \mu_j)^2}{4 (\sigma_i^2 + \sigma_j^2)}
              + \frac{1}{2} \log \frac{\sigma_i^2 + \sigma_j^2}{2 \sigma_i \sigma_j}.

    The channels are combined to their mean plus their (population) standard deviation or to their
    root mean square. Only the latter of energy distances is sure to make
    :func:`~caveat.uncertainty.homophily_uncertainty` a concave function. With ``combine="joint"``
    the distance is one of all channels together, which also sees classes that differ in how their
    channels depend on each other.

    Parameters
    ----------
    X : array of shape (samples,), (samples, channels) or with more axes
        Features, finite; all axes but the first are channels. The distances are in their units, so
        channels of different scales should be standardized first.
    y : array of shape (samples,)
        The class of each sample.
    distance : {"energy", "wasserstein", "bhattacharyya"} or callable, default="energy"
        A callable gets the samples of two classes in one channel, two arrays of one axis, and
        returns one number. With ``combine="joint"`` it gets all channels, two arrays of shape
        (samples, channels). It is called once for each pair and taken to be symmetric.
    combine : {"mean+std", "rms", "joint"}, default="mean+std"
        How the distances of the channels become one. "joint" takes the energy distance of vectors,
        from the Euclidean distances between all pairs of samples, so that its time grows with the
        square of their number (some seconds for 10,000), or the Bhattacharyya distance of
        multivariate normal distributions.
    classes : sequence of labels, optional
        The order of the rows and columns; by default the sorted labels of y. To use the result with
        a Categorical, pass its ``classes``.
    sample_weight : array of shape (samples,), optional
        How much each sample counts; not with a callable.
    embedding : callable, optional
        What maps X to the features in which the distances are taken, such as a network up to its
        last hidden layer. It is called once, with X as it was given.
    scaled : bool, default=False
        Divide by the largest distance. The homophily-based uncertainty does not depend on it.

    Returns
    -------
    ndarray of shape (classes, classes)
        Symmetric, not negative, 0 on the diagonal.

    See Also
    --------
    caveat.uncertainty.taxonomy_distances : Distances from a tree of classes.
    caveat.uncertainty.cost_distances : Distances from the costs of mistakes.

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

    In features of your own:

    >>> class_distances(X, ["a", "a", "b", "b"], embedding=lambda X: [2 * x[0] for x in X])
    array([[0.        , 3.46410162],
           [3.46410162, 0.        ]])
    """
    if not callable(distance):
        check_choice(distance, "distance", _DISTANCES, "a callable")
    check_choice(combine, "combine", ("mean+std", "rms", "joint"))
    if embedding is not None and not callable(embedding):
        raise OptionError(
            f"embedding must be a callable that maps X to features; got {type(embedding).__name__}"
        )
    channels = _as_channels(X if embedding is None else embedding(X), embedding is not None)
    codes, labels = _encode(y, classes, len(channels))
    weights = as_weights(sample_weight, len(channels))
    if weights is not None:
        _check_weights(weights, codes, labels, distance)
    if combine == "joint":
        H = _joint(channels, codes, labels, weights, distance)
    else:
        matrices = _by_channel(channels, codes, labels, weights, distance)
        mean, deviation = _mean_and_deviation(matrices, len(labels))
        H = mean + deviation if combine == "mean+std" else np.hypot(mean, deviation)
    largest = float(H.max())
    return H / largest if scaled and largest > 0 else H


def _by_channel(
    X: FloatArray,
    codes: Codes,
    labels: LabelArray,
    weights: FloatArray | None,
    distance: str | DistanceFunction,
) -> Iterator[FloatArray]:
    if callable(distance):
        return (
            _by_callable(X[:, channel], codes, labels, distance, f" in channel {channel}")
            for channel in range(X.shape[1])
        )
    if distance == "bhattacharyya":
        return bhattacharyya_by_channel(X, codes, labels, weights)
    kernel = energy_by_channel if distance == "energy" else wasserstein_by_channel
    return kernel(X, codes, len(labels), weights)


def _joint(
    X: FloatArray,
    codes: Codes,
    labels: LabelArray,
    weights: FloatArray | None,
    distance: str | DistanceFunction,
) -> FloatArray:
    if callable(distance):
        return _by_callable(X, codes, labels, distance)
    if distance == "energy":
        return joint_energy(X, codes, len(labels), weights)
    if distance == "bhattacharyya":
        return joint_bhattacharyya(X, codes, labels, weights)
    raise OptionError(
        "combine='joint' takes distance='energy', 'bhattacharyya' or a callable; the Wasserstein "
        "distance of vectors is a transport problem for each pair of classes"
    )


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


def _by_callable(
    X: FloatArray,
    codes: Codes,
    labels: LabelArray,
    distance: DistanceFunction,
    where: str = "",
) -> FloatArray:
    """Distances by a function of two samples."""
    groups = [X[codes == code] for code in range(len(labels))]
    distances = np.zeros((len(labels), len(labels)))
    for i, j in np.argwhere(np.tri(len(labels), k=-1).T):
        value = np.asarray(distance(groups[i], groups[j]))
        number = value.size == 1 and value.dtype.kind in "fiub"
        if not number or not 0 <= value.item() < np.inf:
            raise InvalidValueError(
                "distance must return one finite number that is not negative; got "
                f"{value.tolist()!r} for the classes {shorten(labels[[i, j]])}{where}"
            )
        distances[i, j] = distances[j, i] = value.item()
    return distances


def _check_weights(
    weights: FloatArray, codes: Codes, labels: LabelArray, distance: str | DistanceFunction
) -> None:
    if callable(distance):
        raise OptionError(
            "sample_weight cannot be given to a distance of your own, which gets samples alone; "
            "leave one of the two out"
        )
    totals = np.bincount(codes, weights, minlength=len(labels))
    if not totals.all():
        raise InvalidValueError(
            f"all samples of class {shorten(labels[totals == 0][:1])} have weight 0; leave it out "
            "of the data"
        )


def _as_channels(X: Any, embedded: bool) -> FloatArray:
    """Return samples as a finite array of shape (samples, channels)."""
    name = "embedding(X)" if embedded else "X"
    array, _, _ = as_floats(X, name)
    if array.ndim == 0:
        raise ShapeError(
            f"{name} must have shape (samples, channels) or (samples,); got {array.shape}"
        )
    array = array.reshape(len(array), -1)
    check_size(array, name, ("sample", "channel"))
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
