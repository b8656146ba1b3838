"""Reductions over the member axis that never hold a second array of the input's size."""

import numpy as np

from ._blocks import row_blocks
from ._validation import FloatArray


def mean_and_variance(array: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance over the first axis, the variance divided by its length.

    Two passes over each block of columns: the variance of equal members is 0 but for rounding.
    """
    members = array.shape[0]
    flat = array.reshape(members, -1)
    mean, variance = np.empty(flat.shape[1]), np.empty(flat.shape[1])
    for columns in row_blocks(flat.shape[1], members):
        block = flat[:, columns]
        mean[columns] = block.mean(axis=0)
        deviation = block - mean[columns]
        np.square(deviation, out=deviation)
        variance[columns] = deviation.mean(axis=0)
    return mean.reshape(array.shape[1:]), variance.reshape(array.shape[1:])
