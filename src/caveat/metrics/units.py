"""Units that samples are dealt to at random, by a hash of their number, id or cluster."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._groups import value_names
from .._validation import as_column

__all__ = ["UNITS", "mixed", "row_keys", "unit_of"]

UNITS = 64
"""Number of random units that samples are assigned to, by a hash of their number, id or cluster."""


def row_keys(
    samples: int, ids: Any = None, name: str = "ids", start: int = 0
) -> NDArray[np.uint64]:
    """Return a random number of 64 bits for each sample: a hash of its number, or of its id.

    Parameters
    ----------
    samples : int
    ids : array of shape (samples,), optional
    name : str, default="ids"
        What ids are, for errors.
    start : int, default=0
        The number of the first sample.
    """
    if ids is None:
        return mixed(np.arange(start, start + samples, dtype=np.uint64))
    import hashlib

    names, codes = np.unique(value_names(as_column(ids, name, samples)), return_inverse=True)
    digest = (hashlib.blake2b(text.encode(), digest_size=8).digest() for text in names.tolist())
    return mixed(np.frombuffer(b"".join(digest), dtype="<u8"))[codes.reshape(-1)]


def mixed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return random bits for each key (the finalizer of SplitMix64)."""
    result = keys + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        result = (result ^ (result >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(result ^ (result >> np.uint64(31)))


def unit_of(keys: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Return the unit of each sample from its key."""
    return (keys % np.uint64(UNITS)).astype(np.int32)
