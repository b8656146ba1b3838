"""Colors of maps: of classes, of numbers, and of three channels of an image."""

import re
from collections.abc import Sequence

import numpy as np

from .._validation import FloatArray
from ..exceptions import OptionError
from .marks import COLORS

_SHADES = (0.45, 0.75, 0.15)
"""How much of the color of a class is left beside white, once all colors are taken."""
KINDS = ("#e3e6ea", "#8cc6ea", "#f0b429", "#d55e00")
"""The colors of the kinds of uncertainty, in their order: the darker, the more of a warning."""


def label_colors(count: int, codes: Sequence[str] | None = None) -> FloatArray:
    """Return a color for each class, from 0 to 1, on which black text can be read.

    By default they are pale colors by Okabe and Ito, in three shades.
    """
    if codes is None:
        base = _decoded([code for name, code in COLORS.items() if name != "ink"])
        return np.resize(np.vstack([1 - share * (1 - base) for share in _SHADES]), (count, 3))
    if len(codes) != count or not all(re.fullmatch("#[0-9a-fA-F]{6}", str(c)) for c in codes):
        raise OptionError(
            f"colors must be {count} codes such as '#d55e00', one for each class; got "
            f"{list(codes)!r}"
        )
    return _decoded(codes)


def _decoded(codes: Sequence[str]) -> FloatArray:
    return np.array([[int(code[k : k + 2], 16) / 255 for k in (1, 3, 5)] for code in codes])


def shaded(shares: FloatArray) -> FloatArray:
    """Return the colors of numbers from 0 to 1, from blue to yellow; NaN is white."""
    from matplotlib import colormaps

    colors = colormaps["cividis"](np.nan_to_num(np.clip(shares, 0, 1)))[..., :3]
    return np.where(np.isnan(shares)[..., None], 1.0, colors)


def stretched(image: FloatArray) -> FloatArray:
    """Return channels from 0 to 1, each stretched from its 2nd to its 98th percentile.

    NaN becomes 0.
    """
    low, high = ends_of_channels(image)
    shares = (image - low) / np.where(high > low, high - low, 1.0)
    return np.nan_to_num(np.clip(shares, 0, 1))


def ends_of_channels(image: FloatArray) -> FloatArray:
    """Return the 2nd and the 98th percentile of the finite numbers of each channel, or NaN."""
    ends = np.full((2, image.shape[2]), np.nan)
    for channel in range(image.shape[2]):
        values = image[..., channel]
        known = values[np.isfinite(values)]
        if known.size:
            ends[:, channel] = np.percentile(known, [2, 98])
    return ends


def ends_of_layer(layer: FloatArray) -> tuple[float, float]:
    """Return where the colors of a layer begin and end: 0 and 1 if all numbers are between."""
    known = layer[np.isfinite(layer)]
    low, high = float(known.min()), float(known.max())
    return (0.0, 1.0) if low >= 0 and high <= 1 else (low, high)
