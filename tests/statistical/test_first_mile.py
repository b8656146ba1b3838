"""First tries that train models."""

import pytest

from ..first_mile.test_first_mile import QUICK, SAID, run


@pytest.mark.parametrize("name", sorted(set(SAID) - set(QUICK)))
def test_a_first_try(name, tmp_path):
    run(name, tmp_path)
