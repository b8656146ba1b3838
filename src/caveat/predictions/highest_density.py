"""How wide the regions of highest density are that hold a share of a mixture."""

import numpy as np
from scipy.special import ndtr

from .._validation import FloatArray
from ..exceptions import InvalidValueError

_REACH, _STEPS = 9.0, 257
"""Standard deviations of each member that are looked at, and the points in them."""

_FARTHEST = 1e10
"""Standard deviations between members that leave digits for the points around each."""

_CELLS = 2**21
"""Values of distribution functions that are held at a time."""


def mixture_widths(mean: FloatArray, std: FloatArray, coverage: float) -> FloatArray:
    """Return the total width of the regions for mixtures (members, rows) of Gaussians.

    The axis is cut at points around each member, close together where that is narrow. A piece has
    its mass from the distribution functions, exactly; pieces are taken from the densest on, and of
    the last one the part that is needed.
    """
    members, rows = mean.shape
    mean = mean - mean.mean(axis=0)  # which leaves the widths, and rounds less
    far = (np.abs(mean) > std.min(axis=0) * _FARTHEST).any(axis=0)
    if far.any():
        raise InvalidValueError(
            f"members are more than {_FARTHEST:g} standard deviations apart in row "
            f"{int(far.argmax())}; numbers have not the digits for it"
        )
    grid = np.linspace(-_REACH, _REACH, _STEPS)
    result = np.empty(rows)
    block = max(1, _CELLS // (members * members * _STEPS))
    for start in range(0, rows, block):
        part = slice(start, min(start + block, rows))
        m, s = mean[:, part], std[:, part]
        points = np.sort(
            (m[..., None] + s[..., None] * grid).transpose(1, 0, 2).reshape(m.shape[1], -1)
        )
        cdf = sum(ndtr((points - m[k, :, None]) / s[k, :, None]) for k in range(members)) / members
        mass, width = np.diff(cdf), np.diff(points)
        density = np.divide(mass, width, out=np.zeros_like(mass), where=width > 0)
        order = np.argsort(-density, axis=1)
        mass, width = (np.take_along_axis(value, order, axis=1) for value in (mass, width))
        # Mass beyond all points, and of points that fall together, is less than rounding.
        held = np.cumsum(mass, axis=1)
        last = (held < coverage).sum(axis=1, keepdims=True).clip(max=mass.shape[1] - 1)
        before = np.take_along_axis(held - mass, last, axis=1)
        whole = np.take_along_axis(np.cumsum(width, axis=1) - width, last, axis=1)
        share = (coverage - before) / np.take_along_axis(mass, last, axis=1)
        result[part] = (whole + share * np.take_along_axis(width, last, axis=1))[:, 0]
    return result
