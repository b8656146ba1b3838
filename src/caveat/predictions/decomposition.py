"""Uncertainty split into its parts, one set of numbers for each sample."""

from typing import Any, ClassVar

from .._validation import FloatArray, as_floats, check_no_nan, check_not_negative, check_same_shape
from ..exceptions import OptionError, ShapeError
from ._container import Container, count

_NEGATIVE = "an uncertainty is at least 0"


class Decomposition(Container):
    """Total, aleatoric and epistemic uncertainty of each sample.

    Parameters
    ----------
    total, aleatoric, epistemic : arrays of shape (samples,) or (samples, targets)
        Total uncertainty; part due to noise in the data; part due to the model's lack of knowledge,
        as far as members show it: a single member has 0 there, which means unknown.
    additive : bool
        Whether the total is the sum of the two parts by definition.
    method : str
        The name of the decomposition.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Categorical([[[0.9, 0.1]], [[0.1, 0.9]]])
    >>> caveat.decompose(prediction, "variance")
    Decomposition by variance of 1 sample (means): total 0.5 = aleatoric 0.18 + epistemic 0.32
    >>> caveat.decompose(caveat.Categorical([[0.9, 0.1]]), "variance")
    Decomposition by variance of 1 sample (mean): total 0.18; the epistemic part is unknown, since \
there is one member or all members agree
    """

    _arrays: ClassVar[dict[str, int]] = {"total": 0, "aleatoric": 0, "epistemic": 0}
    _shared: ClassVar[tuple[str, ...]] = ("additive", "method")
    total: FloatArray
    aleatoric: FloatArray
    epistemic: FloatArray
    additive: bool
    method: str

    def __init__(
        self, total: Any, aleatoric: Any, epistemic: Any, *, additive: bool, method: str
    ) -> None:
        parts = {}
        for name, value in (("total", total), ("aleatoric", aleatoric), ("epistemic", epistemic)):
            array, _, _ = as_floats(value, name)
            if array.ndim not in (1, 2):
                raise ShapeError(
                    f"{name} must have shape (samples,) or (samples, targets); got {array.shape}"
                )
            axes = ("sample", "target")[: array.ndim]
            check_no_nan(array, name, axes)
            check_not_negative(array, name, axes, _NEGATIVE)
            parts[name] = array
            check_same_shape(parts["total"], array, ("total", name))
        if not isinstance(method, str):
            raise OptionError(f"method must be the name of the decomposition; got {method!r}")
        self._store(**parts, additive=bool(additive), method=method)

    def __repr__(self) -> str:
        if not self.epistemic.any():
            return (
                f"Decomposition by {self.method} of {count(len(self), 'sample')} (mean): total "
                f"{self.total.mean():.3g}; the epistemic part is unknown, since there is one "
                "member or all members agree"
            )
        # A pairwise divergence may be infinite: then so is its mean, without a warning.
        total, aleatoric, epistemic = (
            f"{part.mean():.3g}" for part in (self.total, self.aleatoric, self.epistemic)
        )
        parts = (
            f"total {total} = aleatoric {aleatoric} + epistemic {epistemic}"
            if self.additive
            else f"total {total}, aleatoric {aleatoric}, epistemic {epistemic}"
        )
        return f"Decomposition by {self.method} of {count(len(self), 'sample')} (means): {parts}"
