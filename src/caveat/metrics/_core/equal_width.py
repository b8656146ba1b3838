"""Equal-width bins on [0, 1]."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..._validation import FloatArray


def bin_of(position: FloatArray, bins: int) -> NDArray[np.int64]:
    """Return the bin of each position in [0, 1]: floor(bins x), and the last bin is closed."""
    index = np.empty(np.shape(position), dtype=np.int64)
    np.multiply(position, bins, out=index, dtype=np.float64, casting="unsafe")
    return np.minimum(index, bins - 1, out=index)


def add_sums(
    sums: FloatArray,
    position: FloatArray,
    values: Sequence[FloatArray | None],
    weight: FloatArray | None = None,
) -> None:
    """Add the sums of one block of samples to ``sums``, of shape (values, bins); None counts."""
    bins = sums.shape[1]
    index = bin_of(position, bins)
    for row, value in zip(sums, values, strict=True):
        if value is None:
            row += np.bincount(index, weights=weight, minlength=bins)
        else:
            weighted = value if weight is None else value * weight
            row += np.bincount(index, weights=weighted, minlength=bins)
