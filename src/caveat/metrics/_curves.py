"""Curves behind binned metrics."""

from dataclasses import dataclass

from .._validation import FloatArray


@dataclass(frozen=True)
class ReliabilityCurve:
    """Predicted and observed means of each bin; bins without samples are left out.

    Attributes
    ----------
    predicted, observed : ndarrays of shape (bins,)
        Means over the bin of the predicted quantity, and of what it should equal.
    weight : ndarray of shape (bins,)
        Samples in the bin, or the sum of their weights.
    low, high : ndarrays of shape (bins,)
        The edges of the bins, on the axis they were cut on.
    """

    predicted: FloatArray
    observed: FloatArray
    weight: FloatArray
    low: FloatArray
    high: FloatArray
