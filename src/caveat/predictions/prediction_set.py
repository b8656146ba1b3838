"""Classification: sets of classes, as conformal prediction gives them."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._arrays import to_numpy
from .._validation import check_fraction, position
from ..exceptions import InvalidValueError, ShapeError
from ._container import named
from .categorical import WithClasses


class PredictionSet(WithClasses):
    """Sets of classes with one nominal coverage; a set may be empty.

    Parameters
    ----------
    membership : array of bool of shape (samples, classes)
        Whether a class is in the sample's set; 0 and 1 are taken too. Or a frame, whose columns
        name the classes.
    coverage : float
        The share of true classes meant to be in their sets, strictly between 0 and 1.

    Attributes
    ----------
    membership : ndarray of bool of shape (samples, classes)
    coverage : float
    classes : ndarray of shape (classes,)

    Examples
    --------
    >>> import caveat
    >>> caveat.PredictionSet([[True, False], [True, True]], coverage=0.9, classes=["no", "yes"])
    PredictionSet: 2 samples x 2 classes ('no', 'yes'), coverage 0.9
    """

    _arrays: ClassVar[dict[str, int]] = {"membership": 0}
    _shared: ClassVar[tuple[str, ...]] = ("coverage", "classes")
    membership: NDArray[np.bool_]
    coverage: float

    def __init__(self, membership: Any, *, coverage: float, classes: Any = None) -> None:
        array, columns, _ = to_numpy(membership, "membership")
        if array.ndim != 2 or array.size == 0 or array.shape[1] < 2:
            raise ShapeError(
                "membership must have shape (samples, classes) with two classes at least; got "
                f"{array.shape}"
            )
        if array.dtype.kind not in "biufO":
            raise InvalidValueError(f"membership must be true or false; got type {array.dtype}")
        if array.dtype != bool:
            bad = (array != 0) & (array != 1)
            if bad.any():
                index, where = position(bad, ("sample", "class"))
                raise InvalidValueError(
                    f"membership{where} is {array[index]}; it must be true or false"
                )
            array = array.astype(bool)
        self._store(
            membership=np.ascontiguousarray(array),
            coverage=check_fraction(coverage, "coverage"),
            classes=named(classes, columns, "classes", array.shape[1]),
        )
