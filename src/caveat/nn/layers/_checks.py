"""Checks of the layers' arguments."""

import math
from numbers import Real

from torch import Tensor

from ...exceptions import OptionError, ShapeError


def check_positive(value: float, name: str) -> float:
    """Return a positive finite number."""
    if not _is_number(value) or not value > 0:
        raise OptionError(f"{name} must be a positive number; got {value!r}")
    return float(value)


def check_drop(value: float, name: str, *, learned: bool = False) -> float:
    """Return a probability of dropping: below 1, and above 0 if its logit is learned."""
    if not _is_number(value) or not 0 <= value < 1 or (learned and value == 0):
        least = "above 0" if learned else "from 0"
        raise OptionError(f"{name} must be a probability {least} to below 1; got {value!r}")
    return float(value)


def check_axes(x: Tensor, least: int, meaning: str) -> None:
    """Raise if the first axis of an input cannot be the rows."""
    if x.dim() < least:
        raise ShapeError(
            f"the input must have shape {meaning}; got {tuple(x.shape)}; "
            "a single row goes in as a batch of one (x[None])"
        )


def _is_number(value: float) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
