"""Reductions of rows, block by block, against numpy's."""

import numpy as np
import pytest

from caveat._blocks import BLOCK_ELEMENTS, highest


@pytest.mark.parametrize("width", [1, 2, 7, 64, 65, 300])
def test_the_highest_of_each_row_is_the_first_of_equals(width):
    rng = np.random.default_rng(width)
    rows = BLOCK_ELEMENTS // width + 20  # more than one block
    values = rng.integers(0, 4, (rows, width)) / 4  # many ties
    place, top = highest(values)
    np.testing.assert_array_equal(place, values.argmax(axis=1))
    np.testing.assert_array_equal(top, values.max(axis=1))
    for order in (np.asfortranarray(values), values[:0]):
        np.testing.assert_array_equal(highest(order)[0], order.argmax(axis=1))
