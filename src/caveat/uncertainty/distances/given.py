"""Distances between classes that are given: a matrix, a taxonomy, the costs of mistakes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._arrays import to_numpy
from ..._validation import FloatArray, LabelArray, as_floats, as_labels, shorten
from ...exceptions import InvalidValueError, LabelError, OptionError, ShapeError

_SMALLEST, _LARGEST = 1e-150, 1e150


def check_distances(H: Any, classes: int | LabelArray | None = None, name: str = "H") -> FloatArray:
    """Return distances between classes as an array that is exactly symmetric.

    A data frame is put in the order of the classes by its names of rows and columns.
    """
    if hasattr(H, "loc") and classes is not None and not isinstance(classes, int):
        H = _in_order(H, classes)
    count = classes if classes is None or isinstance(classes, int) else len(classes)
    H, _, tolerance = as_floats(H, name)
    if H.ndim != 2 or H.shape[0] != H.shape[1]:
        raise ShapeError(f"{name} must have shape (classes, classes); got {H.shape}")
    if count is not None and len(H) != count:
        raise ShapeError(
            f"{name} is for {len(H)} classes, but the probabilities are for {count}; pass a "
            "distance for each pair of their classes, in their order"
        )
    _refuse(~np.isfinite(H), H, "distances must be finite", name)
    _refuse(H < 0, H, "distances must not be negative", name)
    largest = float(H.max())
    if largest != 0 and not _SMALLEST <= largest <= _LARGEST:
        raise InvalidValueError(
            f"the largest entry of {name} is {largest:g}, whose square is out of range; divide "
            f"{name} by it, the uncertainty does not depend on the scale"
        )
    close = tolerance * largest
    _refuse(np.diag(np.diag(H) > close), H, "a class is at distance 0 from itself", name)
    asymmetric = np.abs(H - H.T) > close
    if asymmetric.any():
        i, j = np.argwhere(asymmetric)[0]
        raise InvalidValueError(
            f"{name} is not symmetric: {name}[{i}, {j}] is {H[i, j]:g}, but {name}[{j}, {i}] is "
            f"{H[j, i]:g}; symmetrize with ({name} + {name}.T) / 2 if both mean the same distance"
        )
    H = (H + H.T) / 2
    np.fill_diagonal(H, 0.0)
    return H


def _in_order(H: Any, classes: LabelArray) -> Any:
    """Return the rows and columns of a data frame in the order of the classes, by name."""
    wanted = classes.tolist()
    for axis, names in (("row", list(H.index)), ("column", list(H.columns))):
        missing = [label for label in wanted if label not in names]
        if missing:
            raise LabelError(
                f"the distances have no {axis} for class {missing[0]!r}; their {axis}s are "
                f"{shorten(np.array(names, dtype=object))}"
            )
        if len(set(names)) < len(names):
            raise LabelError(f"the distances have two {axis}s of one name; name each class once")
    return H.loc[wanted, wanted]


def _refuse(bad: NDArray[np.bool_], H: FloatArray, reason: str, name: str = "H") -> None:
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise InvalidValueError(f"{name}[{i}, {j}] is {H[i, j]:g}; {reason}")


def cost_distances(costs: Any) -> FloatArray:
    r"""Distances between classes from the costs of mistaking one for the other.

    .. math:: H_{ij} = \sqrt{(C_{ij} + C_{ji}) / 2}

    With these, :math:`p^T (H \odot H) p = p^T C p` is the expected cost of a label that is drawn
    from the prediction, and :func:`homophily_uncertainty` is that cost relative to the largest
    possible. The costs need not be symmetric: the part that is not cancels in this sum.

    Parameters
    ----------
    costs : array of shape (classes, classes), or data frame
        The cost of predicting the class of the column where that of the row is true; finite, not
        negative, 0 on the diagonal. A data frame keeps its names.

    Returns
    -------
    ndarray of shape (classes, classes), or data frame

    Examples
    --------
    Missing a tumor is worse than a false alarm:

    >>> from caveat.uncertainty import cost_distances, homophily_uncertainty
    >>> H = cost_distances([[0, 1, 9], [1, 0, 9], [90, 90, 0]])
    >>> homophily_uncertainty([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]], H).round(3)
    array([0.02 , 0.995])
    """
    values, _, _ = as_floats(costs, "costs")
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise ShapeError(f"costs must have shape (classes, classes); got {values.shape}")
    _refuse(~np.isfinite(values), values, "costs must be finite", "costs")
    _refuse(values < 0, values, "costs must not be negative", "costs")
    own = np.diag(np.diag(values) != 0)
    _refuse(own, values, "a right prediction costs nothing; subtract it from its row", "costs")
    H = np.sqrt(values / 2 + values.T / 2)
    if hasattr(costs, "loc"):
        if list(costs.index) != list(costs.columns):
            raise LabelError(
                "costs must have the same names, in the same order, for rows and columns"
            )
        return type(costs)(H, index=costs.index, columns=costs.columns)
    return H


def taxonomy_distances(
    taxonomy: Mapping[Any, str | Sequence[str]], *, classes: Any = None
) -> FloatArray:
    """Distances between classes along the branches of a tree.

    The distance between two classes is the number of steps from one up to their first common
    group, and down to the other. Classes with no group in common meet at the root.

    Parameters
    ----------
    taxonomy : mapping of label to str or sequence of str
        The groups of each class, from the most general one on, without the class itself; a text is
        one group. A group of the same name under another group is another group.
    classes : sequence of labels, optional
        The order of the rows and columns; by default the order of the mapping. To use the result
        with a Categorical, pass its ``classes``.

    Returns
    -------
    ndarray of shape (classes, classes)

    Examples
    --------
    >>> from caveat.uncertainty import taxonomy_distances
    >>> taxonomy = {
    ...     "oak": ["plants", "trees"], "beech": ["plants", "trees"], "vine": ["plants"],
    ...     "road": ["built"],
    ... }
    >>> taxonomy_distances(taxonomy)
    array([[0., 2., 3., 5.],
           [2., 0., 3., 5.],
           [3., 3., 0., 4.],
           [5., 5., 4., 0.]])
    """
    if not isinstance(taxonomy, Mapping):
        raise OptionError(
            f"taxonomy must be a mapping of each class to its groups; got {type(taxonomy).__name__}"
        )
    wanted = list(taxonomy) if classes is None else classes
    count = to_numpy(wanted, "classes").array.size
    labels = as_labels(wanted, "classes", count, "class").tolist()
    if len(labels) < 2:
        raise LabelError("distances need two classes at least")
    absent = [label for label in labels if label not in taxonomy]
    if absent:
        raise LabelError(f"taxonomy has no class {absent[0]!r}; add it with its groups")
    paths = [_path(taxonomy[label], label) for label in labels]
    depths = np.array([len(path) + 1.0 for path in paths])
    shared = np.zeros((len(paths), len(paths)))
    together = np.ones_like(shared, dtype=bool)
    for depth in range(max(len(path) for path in paths)):
        # Two classes share a group if all groups above it are the same as well.
        names: dict[Any, int] = {}
        codes = np.array(
            [
                names.setdefault(path[: depth + 1], len(names)) if depth < len(path) else -1 - place
                for place, path in enumerate(paths)
            ]
        )
        together &= codes[:, None] == codes
        shared += together
    H = depths[:, None] + depths - 2 * shared
    np.fill_diagonal(H, 0.0)
    return H


def _path(groups: Any, label: Any) -> tuple[str, ...]:
    """Return the groups of a class."""
    names = (groups,) if isinstance(groups, str) else groups
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise OptionError(
            f"the groups of class {label!r} must be text or a list of texts; got {groups!r}"
        )
    return tuple(names)
