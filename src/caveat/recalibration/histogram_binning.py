"""The observed share of each class in bins of its probability."""

from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray, check_choice, check_integer
from ._classes import ClassMap, Codes, class_shares, normalized, one_vs_rest


class HistogramBinning(ClassMap):
    r"""Replace each class's probability by how often the class was true in its bin.

    .. math::

        q_{ik} = \frac{g_k(p_{ik})}{\sum_j g_j(p_{ij})}, \qquad
        g_k(p) = \frac{\sum_{i: p_{ik} \in B} w_i [y_i = k]}{\sum_{i: p_{ik} \in B} w_i}
        \text{ for } p \in B

    one class against the rest; for two classes :math:`g` is fitted once, on the second, and the
    first gets the complement. A row in which every :math:`g_k` is 0 becomes the base rates of the
    calibration samples.

    Parameters
    ----------
    bins : int, default=15
        At most this many for each class.
    strategy : {"equal-count", "equal-width"}, default="equal-count"
        Bins of equal weight: bin j ends with the least score at which j shares of the weight are
        reached, halfway to the next score. Equal scores are never split, so ties make the bins
        unequal or fewer. Or bins :math:`[j/B, (j+1)/B)` of equal width, the last one closed, in
        which a bin without calibration samples keeps its midpoint.

    Attributes
    ----------
    edges_, values_ : lists of ndarrays
        The ends of the bins, from 0 to 1, and what each bin says; one pair for each class, for
        two classes one.
    base_rates_ : ndarray of shape (classes,)

    Notes
    -----
    **Requires** enough calibration samples for each bin: n of them leave a standard error of
    :math:`\sqrt{g(1-g)/n}`.

    **Promises** for two classes that on the calibration samples each bin's mean prediction equals
    its observed share, whatever the shape of the miscalibration, and that without ties each bin
    of "equal-count" has its share of the n samples, rounded up or down.

    **Cannot** tell samples of one bin apart, so it loses resolution; neighboring bins may come out
    in the wrong order; bins say 0 and 1 where their samples were all of one kind. For more than
    two classes the normalization may undo part of the repair and change which class is on top.

    References
    ----------
    Zadrozny and Elkan, Obtaining calibrated probability estimates from decision trees and naive
    Bayesian classifiers, ICML 2001.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Categorical.from_binary([0.1, 0.2, 0.8, 0.9])
    >>> binning = caveat.HistogramBinning(bins=2).fit(prediction, [0, 0, 0, 1])
    >>> binning.edges_, binning.values_
    ([array([0. , 0.5, 1. ])], [array([0. , 0.5])])
    """

    bins: int = field(default=15, kw_only=False)
    strategy: str = "equal-count"

    def _check_options(self) -> None:
        check_integer(self.bins, "bins")
        check_choice(self.strategy, "strategy", ("equal-count", "equal-width"))

    def _learn(self, p: FloatArray, codes: Codes, weight: FloatArray | None) -> None:
        classes = p.shape[1]
        self.base_rates_ = class_shares(codes, classes, weight)
        self.edges_, self.values_ = [], []
        for k in one_vs_rest(classes):
            score = np.ascontiguousarray(p[:, k])
            if self.strategy == "equal-width":
                edges = np.linspace(0.0, 1.0, self.bins + 1)
            else:
                edges = equal_count_edges(score, self.bins, weight)
            self.edges_.append(edges)
            self.values_.append(_shares(score, codes == k, weight, edges))

    def _map(self, p: FloatArray) -> FloatArray:
        bins = zip(one_vs_rest(p.shape[1]), self.edges_, self.values_, strict=True)
        scores = [values[bin_of(p[:, k], edges)] for k, edges, values in bins]
        return normalized(scores, self.base_rates_)


def equal_count_edges(score: FloatArray, bins: int, weight: FloatArray | None) -> FloatArray:
    """Return the ends of at most ``bins`` bins of [0, 1], none of them empty."""
    if weight is None:
        ordered, counted = np.sort(score), np.arange(1.0, len(score) + 1)
    else:
        order = np.argsort(score)
        ordered, counted = score[order], np.cumsum(weight[order])
    last = np.flatnonzero(np.r_[ordered[1:] != ordered[:-1], True])
    running = counted[last]
    # Tolerance for rounding: three thirds make one.
    wanted = np.arange(1, bins) / bins * running[-1] * (1 - 1e-10)
    ends = np.unique(np.searchsorted(running, wanted))
    ends = ends[ends < len(last) - 1]
    below, above = ordered[last[ends]], ordered[last[ends + 1]]
    middle = (below + above) / 2
    # Between neighboring doubles there is no middle.
    return np.r_[0.0, np.where(middle > below, middle, above), 1.0]


def bin_of(score: FloatArray, edges: FloatArray) -> NDArray[np.intp]:
    """Return the bin of each score."""
    return np.searchsorted(edges[1:-1], score, side="right")


def _shares(
    score: FloatArray, hit: NDArray[np.bool_], weight: FloatArray | None, edges: FloatArray
) -> FloatArray:
    place, number = bin_of(score, edges), len(edges) - 1
    mass = np.bincount(place, weights=weight, minlength=number).astype(np.float64)
    hits = np.bincount(place[hit], None if weight is None else weight[hit], minlength=number)
    middle = (edges[:-1] + edges[1:]) / 2
    return np.divide(hits, mass, out=middle, where=mass > 0)
