"""Settings for the tests, the examples in the source and those on the pages."""

import sys

import pytest


@pytest.fixture(autouse=True)
def _figures_are_closed():
    """Close what an example has drawn: matplotlib warns of more than 20 open figures."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
