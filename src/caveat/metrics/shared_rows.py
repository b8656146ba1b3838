"""What is known of the rows of probabilities before metrics that share their work read them."""

from .._validation import FloatArray
from ._core.sharing import is_sharing, shared_top
from ._inputs import share_checked
from .classification.entropy import share_entropies

__all__ = ["share_rows", "shared_top"]


def share_rows(probabilities: FloatArray, entropies: FloatArray) -> None:
    """Let metrics that share their work know that rows are valid, and their entropies.

    Parameters
    ----------
    probabilities : ndarray of shape (samples, classes)
    entropies : ndarray of shape (samples,)
        In nats.
    """
    if is_sharing():
        share_checked(probabilities)
        share_entropies(probabilities, entropies)
