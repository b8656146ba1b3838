"""Random generators from ``random_state``, without global state."""

import numpy as np

from .exceptions import OptionError

RandomState = int | np.random.SeedSequence | np.random.Generator | np.random.RandomState | None


def generator(random_state: RandomState) -> np.random.Generator:
    """Return a generator for whatever a user passes as ``random_state``.

    An integer or a seed sequence gives the same numbers at every call; a ``Generator`` is used as
    it is and advances; ``None`` draws fresh entropy.
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**32, size=4, dtype=np.uint64))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise OptionError(
            "random_state must be None, a non-negative integer, a numpy SeedSequence, Generator or "
            f"RandomState; got {random_state!r}"
        ) from None
