"""Reductions of rows, block by block, against numpy's."""

from threading import Thread

import numpy as np
import pytest

from caveat._blocks import BLOCK_ELEMENTS, Scratch, highest


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


def test_scratch_arrays_are_used_again_by_their_thread_alone():
    scratch = Scratch()
    first = scratch.array("index", 5, np.int32)
    assert np.shares_memory(scratch.array("index", 3, np.int32), first)
    assert len(scratch.array("index", 3, np.int32)) == 3
    for other in (
        scratch.array("other", 5, np.int32),
        scratch.array("index", 6, np.int32),  # longer
        scratch.array("index", 5, np.float64),
    ):
        assert not np.shares_memory(other, first)
    assert scratch.array("index", 5, np.float64).dtype == np.float64
    mine, theirs = scratch.array("index", 5, np.int32), []
    thread = Thread(target=lambda: theirs.append(scratch.array("index", 5, np.int32)))
    thread.start()
    thread.join()
    assert not np.shares_memory(mine, theirs[0])
