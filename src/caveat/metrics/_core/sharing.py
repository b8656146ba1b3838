"""Results that metrics of the same arrays share.

Inside ``with sharing():`` the result of a kernel is kept with its name and arrays and returned
when it is needed again; outside, nothing is kept.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..._blocks import highest
from ..._validation import FloatArray

Result = TypeVar("Result")

_kept: ContextVar[dict[Any, Any] | None] = ContextVar("kept", default=None)


@contextmanager
def sharing() -> Iterator[None]:
    """Keep the results of kernels until the end of the block, or of the one around it."""
    if is_sharing():
        yield
        return
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def is_sharing() -> bool:
    """Whether results are kept, so that it pays to compute more than was asked for."""
    return _kept.get() is not None


def shared(what: Any, arrays: Sequence[np.ndarray | None], compute: Callable[[], Result]) -> Result:
    """Return ``compute()``, or what it returned before for the same arrays."""
    kept = _kept.get()
    if kept is None:
        return compute()
    key = (what, *(_place(array) for array in arrays))
    if key not in kept:
        kept[key] = (
            arrays,
            compute(),
        )  # the arrays are held, so that their memory is not used again
    return kept[key][1]


def shared_top(probabilities: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
    """Return the most probable class of each row, the first of equals, and its probability."""
    return shared("top", (probabilities,), lambda: highest(probabilities))


def shared_order(key: FloatArray) -> NDArray[np.intp]:
    """Return the rows in increasing order of their keys, ties in any order."""
    return shared("order", (key,), lambda: np.argsort(key))


def _place(array: np.ndarray | None) -> Any:
    """Where an array lies in memory: two views of the same entries are the same array."""
    if array is None:
        return None
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str
