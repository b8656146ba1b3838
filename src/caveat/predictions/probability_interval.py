"""Classification: an interval for each probability, as Venn-ABERS gives them."""

from typing import Any, ClassVar, Self

import numpy as np

from .._validation import (
    FloatArray,
    as_floats,
    check_ordered,
    check_same_shape,
    check_unit,
)
from ..exceptions import ShapeError
from ._container import named
from .categorical import Categorical, WithClasses

_AXES = ("sample", "class")


class ProbabilityInterval(WithClasses):
    """A lower and an upper probability for each class.

    Parameters
    ----------
    lower, upper : arrays of shape (samples, classes)
        In [0, 1], lower at most upper. Or frames, whose columns name the classes.

    Attributes
    ----------
    lower, upper : ndarrays of shape (samples, classes)
    classes : ndarray of shape (classes,)

    Examples
    --------
    >>> import caveat
    >>> interval = caveat.ProbabilityInterval.from_binary([0.6], [0.8])
    >>> interval
    ProbabilityInterval: 1 sample x 2 classes (0, 1)
    >>> interval.to_categorical().mean.round(3)
    array([[0.333, 0.667]])
    """

    _arrays: ClassVar[dict[str, int]] = {"lower": 0, "upper": 0}
    _shared: ClassVar[tuple[str, ...]] = ("classes",)
    lower: FloatArray
    upper: FloatArray

    def __init__(self, lower: Any, upper: Any, *, classes: Any = None) -> None:
        low, columns, _ = as_floats(lower, "lower")
        high, _, _ = as_floats(upper, "upper")
        check_same_shape(low, high, ("lower", "upper"))
        if low.ndim != 2 or low.shape[1] < 2:
            raise ShapeError(
                "lower must have shape (samples, classes) with two classes at least; got "
                f"{low.shape}. For the second of two classes use ProbabilityInterval.from_binary"
            )
        check_unit(low, "lower", _AXES, "these are probabilities")
        check_unit(high, "upper", _AXES, "these are probabilities")
        check_ordered(low, high, ("lower", "upper"), _AXES, "swap the two where they are mixed up")
        labels = named(classes, columns, "classes", low.shape[1])
        self._store(lower=low, upper=high, classes=labels)

    @classmethod
    def from_binary(cls, lower: Any, upper: Any, *, classes: Any = (0, 1)) -> Self:
        """Build from the interval for the second of two classes.

        Parameters
        ----------
        lower, upper : arrays of shape (samples,)
        classes : pair of labels, default=(0, 1)
        """
        low, _, _ = as_floats(lower, "lower")
        high, _, _ = as_floats(upper, "upper")
        if low.ndim != 1 or high.ndim != 1:
            raise ShapeError(
                "from_binary takes the interval of the second class, of shape (samples,); got "
                f"{low.shape} and {high.shape}"
            )
        check_same_shape(low, high, ("lower", "upper"))
        return cls(
            np.stack([1 - high, low], axis=1), np.stack([1 - low, high], axis=1), classes=classes
        )

    def to_categorical(self) -> Categorical:
        r"""Return the probabilities with the least regret under the log loss.

        For an interval :math:`[p_0, p_1]` this is :math:`p_1 / (1 - p_0 + p_1)`; with two classes
        the two values add up to 1, with more they come from one-against-rest intervals and are
        divided by their sum.
        """
        merged = self.upper / (1 - self.lower + self.upper)
        sums = merged.sum(axis=1, keepdims=True)
        # All intervals [0, 0] would leave nothing to divide: no class is preferred then.
        merged = np.where(sums > 0, merged, 1.0) / np.where(sums > 0, sums, merged.shape[1])
        return Categorical._trusted({"probabilities": merged[None], "classes": self.classes})
