"""What hostile calls found."""

import numpy as np
import pytest

from caveat.datasets import make_triangle
from caveat.exceptions import OptionError, ShapeError


def test_more_samples_than_there_is_memory():
    with pytest.raises(OptionError, match="samples must be at most 10,000,000; got 1000000000000"):
        make_triangle(0, samples=10**12)


def test_rows():
    data = make_triangle(0, samples=10)
    assert len(data.take([0, -1])) == 2
    assert len(data.take(np.arange(len(data)) < 3)) == 3
    for odd in (3, [0.5], ["a"], [20], [-21], [True, False], [[0], [1]], None):
        with pytest.raises(ShapeError, match=r"^rows must be positions, or true or false for each"):
            data.take(odd)
