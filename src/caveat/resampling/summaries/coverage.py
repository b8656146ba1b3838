"""Coverage at several levels: of Gaussians from counts between the levels, of quantiles at each."""

from functools import partial
from math import sqrt
from typing import Any

import numpy as np

from ..._validation import FloatArray
from ...metrics.regression._checked import gaussians, quantile_arrays
from ...metrics.regression.coverage import HUNDREDTHS, TWENTIETHS, _levels, _standard_scores
from ..prepared import Prepared
from ._parts import Norm, Part, Summary, absolute_mean, absolute_sum, as_is, largest, square_sum


def coverage_calibration_error(prepared: Prepared, *, levels: Any = None) -> Summary:
    """Squared gaps of one-sided coverage."""
    from scipy.special import ndtri

    steps = _levels(levels, TWENTIETHS)
    return _gaps(prepared, steps, ndtri(steps), np.ones(len(steps)), square_sum, central=False)


def central_coverage_error(prepared: Prepared, *, levels: Any = None) -> Summary:
    """Area between nominal and observed central coverage, in percent."""
    steps = _levels(levels, HUNDREDTHS)
    order = np.argsort(steps)
    ends = np.r_[0.0, steps[order], 1.0]
    share = np.empty(len(steps))
    share[order] = 50 * (ends[2:] - ends[:-2])  # the trapezoidal rule as weights of the gaps
    return _gaps(prepared, steps, _central_cuts(steps), share, absolute_sum, central=True)


def maximum_coverage_error(prepared: Prepared, *, levels: Any = None) -> Summary:
    """Largest gap of central coverage."""
    steps = _levels(levels, HUNDREDTHS)
    return _gaps(prepared, steps, _central_cuts(steps), np.ones(len(steps)), largest, central=True)


def quantile_coverage_error(prepared: Prepared) -> Summary:
    """Gaps of the share at or below each quantile; one level at a time, as there may be many."""
    inputs = prepared.inputs
    y, levels, values, _ = quantile_arrays(prepared.truth, inputs["levels"], inputs["values"], None)
    index = np.zeros(len(y), dtype=np.intp)

    def below(level: int) -> Any:
        return prepared.matrix(index, 1, [y <= values[:, level]])

    parts = [Part(lambda: prepared.matrix(index, 1, [None]), as_is)]
    parts += [Part(partial(below, level), as_is) for level in range(len(levels))]

    def finish(total: FloatArray, *shares: FloatArray) -> FloatArray:
        return levels - np.concatenate(shares, axis=1) / total

    return Summary(parts, finish, norm=absolute_mean)


def _central_cuts(levels: FloatArray) -> FloatArray:
    from scipy.special import erfinv

    return np.asarray(sqrt(2) * erfinv(levels))


def _gaps(
    prepared: Prepared,
    levels: FloatArray,
    cuts: FloatArray,
    share: FloatArray,
    norm: Norm,
    *,
    central: bool,
) -> Summary:
    given = gaussians(prepared.truth, prepared.inputs["mean"], prepared.inputs["variance"], None)
    score = _standard_scores(given, slice(None))
    ordered, place = np.unique(cuts, return_inverse=True)
    index = np.searchsorted(ordered, np.abs(score) if central else score)

    def finish(counts: FloatArray) -> FloatArray:
        below = np.cumsum(counts, axis=1)
        observed = below[:, place] / below[:, -1:]
        return (levels - observed) * share

    part = Part(lambda: prepared.matrix(index, len(ordered) + 1, [None]), as_is)
    return Summary([part], finish, norm=norm)
