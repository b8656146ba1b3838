"""Spatial blocks: neighboring pixels are no independent samples, blocks of them nearly are."""

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import to_numpy
from .._validation import FloatArray, as_floats, check_integer, check_size
from ..exceptions import ShapeError

LENGTHS = 20
"""Correlation lengths on the side of a block: what pixels of two blocks share is little then."""
LEAST_BLOCKS = 5
"""The fewest blocks along an axis."""


@dataclass(frozen=True)
class BlockSize:
    """How large the blocks are, and why.

    Attributes
    ----------
    side : tuple of int
        Pixels along each axis.
    blocks : int
        How many blocks have at least one pixel that counts.
    length : float
        The correlation length of the errors in pixels; NaN if the size was given.
    enough : bool
        Whether a side has twenty correlation lengths; otherwise intervals are too narrow.
    """

    side: tuple[int, ...]
    blocks: int
    length: float = float("nan")
    enough: bool = True

    def __str__(self) -> str:
        sides = " x ".join(map(str, self.side))
        text = f"{self.blocks:,} blocks of {sides} pixels"
        if self.length == self.length:
            text += f", errors correlated over {self.length:.1f} pixels"
        if not self.enough:
            text += (
                "; the image is too small for blocks of twenty times that, intervals are too narrow"
            )
        return text


def block_codes(shape: tuple[int, ...], side: Any) -> NDArray[np.intp]:
    """Return the number of the block of each pixel, for all pixels in order.

    Parameters
    ----------
    shape : tuple of int
        Height and width, or depth, height and width.
    side : int or sequence of int
        Pixels along each axis.

    Returns
    -------
    ndarray of int of shape (pixels,)

    Examples
    --------
    >>> block_codes((2, 4), 2).reshape(2, 4)
    array([[0, 0, 1, 1],
           [0, 0, 1, 1]])
    """
    lengths = to_numpy(shape, "shape").array
    if lengths.ndim != 1 or not len(lengths):
        raise ShapeError(f"shape must be the number of pixels along each axis; got {shape!r}")
    shape = tuple(check_integer(length, "shape") for length in lengths.tolist())
    sides = _sides(side, len(shape))
    codes = np.zeros(shape, dtype=np.intp)
    for axis, (length, pixels) in enumerate(zip(shape, sides, strict=True)):
        place = np.arange(length) // pixels
        view = [1] * len(shape)
        view[axis] = length
        codes = codes * (ceil(length / pixels)) + place.reshape(view)
    return codes.ravel()


def _sides(side: Any, axes: int) -> tuple[int, ...]:
    array = to_numpy(side, "block").array
    given = [array.item()] * axes if array.ndim == 0 else array.tolist()
    if len(given) != axes:
        raise ShapeError(f"block must be one number of pixels, or one for each of {axes} axes")
    return tuple(check_integer(one, "block") for one in given)


def correlation_length(values: Any, valid: Any = None) -> float:
    """Return over how many pixels the values of a grid are correlated.

    It is the distance at which the correlation along the axes falls below 1/e, the largest of the
    axes; 0 for values without variation.

    Parameters
    ----------
    values : array of shape (height, width) or with more axes
    valid : array of bool of the same shape, optional
        Which pixels count.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> stripes = np.repeat(np.random.default_rng(0).normal(size=(40, 20)), 10, axis=1)
    >>> 5 < correlation_length(stripes) < 8
    True
    """
    field, _, _ = as_floats(values, "values")
    check_size(field, "values", tuple(f"axis {k}" for k in range(field.ndim)))
    mask = np.ones(field.shape, dtype=bool)
    if valid is not None:
        mask = to_numpy(valid, "valid").array.astype(bool)
    if field.ndim == 0 or mask.shape != field.shape:
        raise ShapeError(
            f"valid must have the shape of the values, {field.shape}; got {mask.shape}"
        )
    if not mask.any():
        raise ShapeError("valid has no pixel that counts")
    centered = np.where(mask, field - field[mask].mean(), 0.0)
    variance = float((centered[mask] ** 2).mean())
    if variance <= (1e-12 * float(np.abs(field[mask]).max())) ** 2:  # rounding of one value
        return 0.0
    return max(_along(centered, mask, axis, variance) for axis in range(field.ndim))


def _along(field: FloatArray, mask: NDArray[np.bool_], axis: int, variance: float) -> float:
    field, mask = np.moveaxis(field, axis, -1), np.moveaxis(mask, axis, -1)
    limit, before = np.exp(-1.0), 1.0
    for lag in range(1, max(2, field.shape[-1] // 2)):
        pairs = mask[..., lag:] & mask[..., :-lag]
        if not pairs.any():
            break
        correlation = float((field[..., lag:] * field[..., :-lag])[pairs].mean()) / variance
        if correlation < limit:
            return float(lag - 1 + (before - limit) / (before - correlation))
        before = correlation
    return field.shape[-1] / 2


def choose_block(errors: Any, valid: Any = None) -> BlockSize:
    """Choose the size of blocks from how far errors are correlated.

    A side is twenty correlation lengths, but at least five blocks go along each axis.

    Parameters
    ----------
    errors : array of shape (height, width) or with more axes
        The error of each pixel, such as 1 where the prediction is wrong.
    valid : array of bool of the same shape, optional
        Which pixels count.
    """
    length = correlation_length(errors, valid)
    shape = to_numpy(errors, "errors").array.shape
    wanted = max(1, ceil(LENGTHS * length))
    side = tuple(max(1, min(wanted, axis // LEAST_BLOCKS)) for axis in shape)
    codes = block_codes(shape, side)
    used = codes if valid is None else codes[to_numpy(valid, "valid").array.ravel().astype(bool)]
    enough = all(one >= min(wanted, axis) for one, axis in zip(side, shape, strict=True))
    return BlockSize(side, len(np.unique(used)), length, enough)
