"""Checks of the layers' arguments."""

from torch import Tensor

from ..._validation import check_number
from ...exceptions import ShapeError


def check_drop(value: float, name: str, *, learned: bool = False) -> float:
    """Return a probability of dropping: below 1, and above 0 if its logit is learned."""
    return check_number(value, name, 0, 1, "neither" if learned else "left")


def check_axes(x: Tensor, least: int, meaning: str) -> None:
    """Raise if the first axis of an input cannot be the rows."""
    if x.dim() < least:
        raise ShapeError(
            f"the input must have shape {meaning}; got {tuple(x.shape)}; "
            "a single row goes in as a batch of one (x[None])"
        )
