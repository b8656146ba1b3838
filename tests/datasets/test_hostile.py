"""What hostile calls found."""

import numpy as np
import pytest

from caveat.datasets import make_triangle
from caveat.exceptions import ShapeError


def test_rows():
    data = make_triangle(0, samples=10)
    assert len(data.take([0, -1])) == 2
    assert len(data.take(np.arange(len(data)) < 3)) == 3
    for odd in (3, [0.5], ["a"], [20], [-21], [True, False], [[0], [1]], None):
        with pytest.raises(ShapeError, match=r"^rows must be positions, or true or false for each"):
            data.take(odd)
