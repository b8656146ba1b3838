"""What metrics of the same arrays share while they are asked one after another.

Inside ``with sharing():`` a kernel that says what it computed, and of which arrays, gets it back
when it is asked again; outside, nothing is kept.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np

Result = TypeVar("Result")

_kept: ContextVar[dict[Any, Any] | None] = ContextVar("kept", default=None)


@contextmanager
def sharing() -> Iterator[None]:
    """Keep what kernels share until the end of the block."""
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def is_sharing() -> bool:
    """Whether it pays to compute more than was asked for."""
    return _kept.get() is not None


def shared(what: Any, arrays: Sequence[np.ndarray | None], compute: Callable[[], Result]) -> Result:
    """Return ``compute()``, or what it returned before for the same arrays."""
    kept = _kept.get()
    if kept is None:
        return compute()
    key = (what, *(_place(array) for array in arrays))
    if key not in kept:
        kept[key] = (arrays, compute())  # the arrays are held, so that their place stays theirs
    return kept[key][1]


def _place(array: np.ndarray | None) -> Any:
    """Where an array lies in memory: two views of the same entries are the same array."""
    if array is None:
        return None
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str
