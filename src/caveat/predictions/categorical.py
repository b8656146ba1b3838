"""Class probabilities."""

from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .._probabilities import CLASS_AXES, check_probabilities
from .._renamed import suggests_parameters
from .._validation import (
    LOOSEST_TOLERANCE,
    FloatArray,
    LabelArray,
    as_floats,
    as_labels,
    as_reals,
    check_finite,
    check_unit,
    encode_labels,
    in_double_precision,
)
from ..exceptions import ShapeError
from ._container import Container, Decomposable, named


class WithClasses(Container):
    """The base class of predictions over classes."""

    classes: LabelArray

    def encode(self, y: Any) -> np.ndarray:
        """Return the position in ``classes`` of each label of ``y``; an unknown one is an error."""
        return encode_labels(y, self.classes)

    def align(self, y: Any) -> np.ndarray:
        """Return the position of each sample's true class; there must be one for each sample."""
        codes = self.encode(y)
        if len(codes) != len(self):
            raise ShapeError(f"y has {len(codes)} samples, the prediction has {len(self)}")
        return codes


class Categorical(WithClasses, Decomposable):
    """Class probabilities, one set for each member; a plain classifier has one member.

    Parameters
    ----------
    probabilities : array of shape (samples, classes) or (members, samples, classes)
        Or a frame, whose columns name the classes. Rows sum to 1 to the precision they came in
        (float64 1e-8, float32 1e-5, float16 5e-3, bfloat16 2e-2); those that do not in float64 are
        divided by their sum.
    normalize : bool, default=False
        Divide each row by its sum instead of refusing rows that do not sum to 1.

    Attributes
    ----------
    probabilities : ndarray of shape (members, samples, classes)
    classes : ndarray of shape (classes,)

    Examples
    --------
    >>> import caveat
    >>> caveat.Categorical([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]], classes=["cat", "dog", "eel"])
    Categorical: 1 member x 2 samples x 3 classes ('cat', 'dog', 'eel')
    """

    _arrays: ClassVar[dict[str, int]] = {"probabilities": 1}
    _shared: ClassVar[tuple[str, ...]] = ("classes",)
    probabilities: FloatArray

    @suggests_parameters
    def __init__(self, probabilities: Any, *, classes: Any = None, normalize: bool = False) -> None:
        given, labels, tolerance = read_classes(probabilities, "probabilities", classes)
        array = in_double_precision(given)
        array = check_probabilities(array, "probabilities", tolerance, normalize)
        self._store(probabilities=array, classes=labels)

    @classmethod
    def _of_any_precision(cls, probabilities: Any, *, classes: Any) -> Self:
        """Build from rows that were checked before, in the precision they had then."""
        array = with_members(as_floats(probabilities, "probabilities")[0], "probabilities")
        labels = as_labels(classes, "classes", array.shape[-1], "class")
        array = check_probabilities(array, "probabilities", LOOSEST_TOLERANCE, normalize=False)
        return cls._trusted({"probabilities": array, "classes": labels})

    @classmethod
    def from_binary(cls, probabilities: Any, *, classes: Any = (0, 1)) -> Self:
        """Build from the probability of the second of two classes.

        Parameters
        ----------
        probabilities : array of shape (samples,) or (members, samples)
            The probability of ``classes[1]``.
        classes : pair of labels, default=(0, 1)
        """
        p, _, _ = as_floats(probabilities, "probabilities")
        if p.ndim not in (1, 2):
            raise ShapeError(
                "from_binary takes the probability of the second class, of shape (samples,) or "
                f"(members, samples); got {p.shape}. Pass (samples, classes) to Categorical"
            )
        p = np.atleast_2d(p)
        check_unit(
            p,
            "probabilities",
            CLASS_AXES[:2],
            "logits of the second class: from_binary(1 / (1 + exp(-z)))",
        )
        labels = as_labels(classes, "classes", 2, "class")
        return cls._trusted({"probabilities": np.stack([1 - p, p], axis=-1), "classes": labels})

    @classmethod
    def from_logits(cls, logits: Any, *, classes: Any = None) -> Self:
        """Build from logits, by the softmax over the classes.

        Parameters
        ----------
        logits : array of shape (samples, classes) or (members, samples, classes)
        classes : sequence of labels, optional
        """
        given, labels, _ = read_classes(logits, "logits", classes)
        z = in_double_precision(given)
        check_finite(z, "logits", CLASS_AXES)
        return cls._trusted({"probabilities": softmax(z), "classes": labels})

    @cached_property
    def mean(self) -> FloatArray:
        """The predictive distribution: the mean over members, of shape (samples, classes)."""
        mean = self.probabilities[0] if self.members == 1 else self.probabilities.mean(axis=0)
        mean.flags.writeable = False
        return mean

    @property
    def labels(self) -> LabelArray:
        """The most probable class of each sample (the first of equals)."""
        return self.classes[self.mean.argmax(axis=1)]


def order_classes(prediction: Any, classes: Any) -> Any:
    """Return a prediction with its classes in this order; as it is if it has others, or none."""
    own = getattr(prediction, "classes", np.array([])).tolist()
    wanted = [] if classes is None else list(classes)
    if own == wanted or len(own) != len(wanted) or {*own} != {*wanted}:
        return prediction
    places = [own.index(label) for label in wanted]
    arrays = {
        name: np.take(getattr(prediction, name), places, axis=-1) for name in prediction._arrays
    }
    fields = {**prediction._fields(), **arrays, "classes": prediction.classes[places]}
    return prediction._trusted(fields)


def softmax(logits: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Softmax over the last axis, safe for logits of any size; writes one array."""
    with np.errstate(over="ignore"):  # a difference too large for a float has the exponential 0
        p = np.subtract(logits, logits.max(axis=-1, keepdims=True), out=out)
    np.exp(p, out=p)
    p /= p.sum(axis=-1, keepdims=True)
    return p


def read_classes(
    value: Any, name: str, classes: Any = None
) -> tuple[NDArray[Any], LabelArray, float]:
    """Return (members, samples, classes) numbers as they are, labels and row-sum tolerance."""
    array, columns, tolerance = as_reals(value, name)
    array = with_members(array, name)
    return array, named(classes, columns, "classes", array.shape[-1]), tolerance


def with_members(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return (samples, classes) as one member; raise on fewer than two classes."""
    if array.ndim not in (2, 3):
        advice = (
            "; for the probability of the second of two classes use Categorical.from_binary"
            if array.ndim == 1
            else ""
        )
        raise ShapeError(
            f"{name} must have shape (samples, classes) or (members, samples, classes); got "
            f"{array.shape}{advice}"
        )
    if array.shape[-1] < 2:
        raise ShapeError(
            f"{name} must have at least two classes in the last axis; got shape {array.shape}. For "
            "the probability of the second of two classes use Categorical.from_binary"
        )
    return array.reshape(-1, *array.shape[-2:])
