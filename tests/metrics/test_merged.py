"""Columns of states that are added up."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from caveat.metrics.states import merged

SORTED = st.sets(st.integers(0, 50)).map(lambda numbers: np.array(sorted(numbers), dtype=np.int64))


@given(SORTED, SORTED)
def test_the_union_of_two_sorted_arrays(one, other):
    np.testing.assert_array_equal(merged(one, other), np.union1d(one, other))
