"""Settings for all tests."""

import os

from hypothesis import settings

# A busy machine is no failure; and what CI runs today it should run tomorrow.
settings.register_profile("caveat", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("caveat")
