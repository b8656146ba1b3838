"""What the regression types share: named targets, and where the target axis is."""

from .._validation import FloatArray, LabelArray, shorten
from ..exceptions import ShapeError
from ._container import Container, count


class WithTargets(Container):
    """A prediction of one or more numbers, each with a name."""

    targets: LabelArray

    def _targets_words(self) -> str:
        return f"{count(len(self.targets), 'target')} ({shorten(self.targets)})"


def with_axes(array: FloatArray, name: str) -> FloatArray:
    """(samples,), (samples, targets) or (members, samples, targets) as the last of these."""
    if array.ndim == 1:
        return array[None, :, None]
    if array.ndim == 2:
        return array[None]
    if array.ndim == 3:
        return array
    raise ShapeError(
        f"{name} must have shape (samples,), (samples, targets) or (members, samples, targets); "
        f"got {array.shape}"
    )
