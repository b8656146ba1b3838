"""The order of many doubles, two to three times faster than a plain sort."""

import numpy as np
from numpy.typing import NDArray

from ..._validation import FloatArray
from .sharing import shared

SMALL = 4096
"""Up to this many keys a plain sort is as fast."""

_SIGN = np.int64(-(2**63))


def increasing_order(key: FloatArray) -> NDArray[np.intp]:
    """Return the rows in increasing order of their keys, which hold no NaN; ties in any order.

    Two passes of counting sort, 16 bits each, order the samples by the high bits of their keys;
    the few that are still in the wrong order share these bits and are sorted among themselves.
    """
    if len(key) <= SMALL:
        return np.argsort(key)
    lowest = key == key.min()
    if (lowest | (key == key.max())).all():  # such as right and wrong
        return np.concatenate([np.flatnonzero(lowest), np.flatnonzero(~lowest)])
    bits = _whole_numbers(key)
    bits -= bits.min()
    shift = np.uint64(max(0, int(bits.max()).bit_length() - 32))
    high = bits >> shift
    upper = (high >> np.uint64(16)).astype(np.uint16)
    if _has_many_ties(upper):
        return np.argsort(key)
    order = np.argsort(high.astype(np.uint16), kind="stable")  # the cast keeps the lower half
    order = order[np.argsort(upper[order], kind="stable")]
    _sort_remaining(order, bits, shift)
    return order


def shared_order(key: FloatArray) -> NDArray[np.intp]:
    """Return the same, kept for other metrics of the same key."""
    return shared("order", (key,), lambda: increasing_order(key))


def _whole_numbers(key: FloatArray) -> NDArray[np.uint64]:
    """Return whole numbers in the order of the keys, equal where the keys are."""
    bits = (key + 0.0).view(np.int64)  # a negative zero equals zero but has other bits
    if bits.min() < 0:
        # The larger a negative key's magnitude, the smaller: turn all its bits, else only the sign.
        bits ^= (bits >> 63) | _SIGN
    return bits.view(np.uint64)


def _has_many_ties(upper: NDArray[np.uint16]) -> bool:
    """Whether 16 bits more would leave many pairs of samples (one in eight) with equal bits."""
    crowd = np.bincount(upper).astype(np.float64)
    return bool(np.dot(crowd, crowd) / 2**17 > len(upper) / 8)


def _sort_remaining(order: NDArray[np.intp], bits: NDArray[np.uint64], shift: np.uint64) -> None:
    """Sort, in place, the runs of equal high bits that are not in order yet."""
    ordered = bits[order]
    wrong = np.flatnonzero(ordered[1:] < ordered[:-1])
    if not len(wrong):
        return
    ordered >>= shift
    runs = np.unique(ordered[wrong])
    starts = np.searchsorted(ordered, runs)
    lengths = np.searchsorted(ordered, runs, side="right") - starts
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    places = np.repeat(starts, lengths) + within
    rows = order[places]
    order[places] = rows[np.argsort(bits[rows])]
