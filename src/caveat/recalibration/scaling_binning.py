"""The scaling-binning calibrator: means of a fitted sigmoid in bins."""

from dataclasses import field

import numpy as np

from .._validation import FloatArray, check_integer, check_number
from ._classes import ClassMap, Codes, class_shares, normalized, one_vs_rest
from ._logistic import log_sides
from .histogram_binning import bin_of, equal_count_edges
from .platt_scaling import fit_sigmoid


class ScalingBinning(ClassMap):
    r"""Fit a sigmoid to each class, then replace it by its mean in bins of equal count.

    .. math::

        q_{ik} = \frac{h_k(p_{ik})}{\sum_j h_j(p_{ij})}, \qquad
        h_k(p) = \frac{\sum_{i: g_k(p_{ik}) \in B} w_i g_k(p_{ik})}{\sum_{i: g_k(p_{ik}) \in B} w_i}
        \text{ for } g_k(p) \in B

    where :math:`g_k` is the sigmoid of `PlattScaling` for one class against the rest; for two
    classes once, for the second, and the first gets the complement. A bin says the mean of the
    sigmoid and not the share of the class, so it has the variance of two numbers, not of one bin;
    and there are few values, so that the calibration error of the result can be measured.

    Parameters
    ----------
    bins : int, default=10
        At most this many for each class, of equal weight; equal scores are never split.
    eps : float, default=1e-12
        The least :math:`p` and the least :math:`1 - p` of which a logarithm is taken; smaller ones
        count as this one.

    Attributes
    ----------
    slope_, intercept_ : ndarrays of shape (classes,), for two classes (1,)
        Those of the sigmoids.
    edges_, values_ : lists of ndarrays
        The ends of the bins of the sigmoid's values, from 0 to 1, and what each bin says.
    base_rates_ : ndarray of shape (classes,)

    Notes
    -----
    **Requires** a miscalibration that is nearly a straight line in logits, and some tens of
    calibration samples for each bin.

    **Promises** values whose calibration error can be estimated from samples: an error of
    :math:`\epsilon^2` beyond that of the best sigmoid takes about :math:`1 / \epsilon^2 + B`
    samples, where histogram binning takes :math:`B / \epsilon^2` (Kumar et al., theorem 4.1). There
    the sigmoid, the bins and their means have samples of their own; here, as in the authors' code,
    all use all of them.

    **Cannot** tell samples of one bin apart, so it loses resolution, and its log loss is larger
    than that of the sigmoid. For more than two classes the normalization makes many values again
    and may change which class is on top.

    References
    ----------
    Kumar, Liang and Ma, Verified uncertainty calibration, NeurIPS 2019.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Categorical.from_binary([0.1, 0.2, 0.8, 0.9])
    >>> binning = caveat.ScalingBinning(bins=2).fit(prediction, [0, 1, 0, 1])
    >>> binning.transform(prediction).mean[:, 1].round(2)
    array([0.45, 0.45, 0.55, 0.55])
    """

    bins: int = field(default=10, kw_only=False)
    eps: float = 1e-12

    def _check_options(self) -> None:
        check_integer(self.bins, "bins")
        check_number(self.eps, "eps", 0, 0.1, "right")

    def _learn(self, p: FloatArray, codes: Codes, weight: FloatArray | None) -> None:
        classes = p.shape[1]
        mass = np.ones(len(p)) if weight is None else weight
        self.base_rates_ = class_shares(codes, classes, weight)
        self.edges_, self.values_, lines = [], [], []
        for k in one_vs_rest(classes):
            log_p, log_rest = log_sides(p, k, self.eps)
            line = fit_sigmoid(log_p - log_rest, codes == k, mass)
            score = _sigmoid(line, log_p - log_rest)
            edges = equal_count_edges(score, self.bins, weight)
            place = bin_of(score, edges)
            self.edges_.append(edges)
            self.values_.append(np.bincount(place, score * mass) / np.bincount(place, mass))
            lines.append(line)
        self.slope_, self.intercept_ = np.array(lines).T.copy()

    def _map(self, p: FloatArray) -> FloatArray:
        scores = []
        for number, k in enumerate(one_vs_rest(p.shape[1])):
            log_p, log_rest = log_sides(p, k, self.eps)
            line = np.array([self.slope_[number], self.intercept_[number]])
            score = _sigmoid(line, log_p - log_rest)
            scores.append(self.values_[number][bin_of(score, self.edges_[number])])
        return normalized(scores, self.base_rates_)


def _sigmoid(line: FloatArray, logit: FloatArray) -> FloatArray:
    return np.exp(-np.logaddexp(0, -line[0] * logit - line[1]))
