"""How sure a mean over a few repeats is."""

import numpy as np

from .._validation import FloatArray

NAN = float("nan")


def student(
    values: FloatArray, confidence: float, bounds: tuple[float, float] = (-np.inf, np.inf)
) -> tuple[float, float, float]:
    """Return standard deviation and Student's interval of a mean; NaN with one value.

    Examples
    --------
    >>> import numpy as np
    >>> [round(number, 3) for number in student(np.array([1.0, 2.0, 3.0]), 0.95)]
    [1.0, -0.484, 4.484]
    """
    from scipy.special import stdtrit

    repeats = len(values)
    if repeats < 2:
        return NAN, NAN, NAN
    std = float(values.std(ddof=1))
    half = float(stdtrit(repeats - 1, (1 + confidence) / 2)) * std / np.sqrt(repeats)
    low, high = np.clip([values.mean() - half, values.mean() + half], *bounds)
    return std, float(low), float(high)
