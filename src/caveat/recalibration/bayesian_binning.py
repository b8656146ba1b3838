"""An average over binnings of the probabilities, weighted by how well each explains the truth."""

from dataclasses import field

import numpy as np
from scipy.special import gammaln, logsumexp

from .._validation import FloatArray, check_number
from ._classes import ClassMap, Codes, class_shares, normalized, one_vs_rest
from .histogram_binning import bin_of, equal_count_edges

_LEAST = 1e-12
"""Middles of bins are at least so far from 0 and 1, at which a prior would allow one class only."""


class BayesianBinning(ClassMap):
    r"""Average histogram binnings of many sizes by their marginal likelihoods (BBQ).

    With n calibration samples, binnings :math:`M` into quantiles have from :math:`n^{1/3} / c` to
    :math:`c n^{1/3}` bins. The share of the class in bin b of B has the prior Beta(:math:`\alpha_b,
    \beta_b`) with mean at the middle :math:`m_b` of the bin and :math:`N' / B` samples' worth:

    .. math::

        q(p) = \frac{\sum_M P(D | M)\, \frac{h_b + \alpha_b}{n_b + \alpha_b + \beta_b}}
        {\sum_M P(D | M)}, \qquad
        P(D | M) = \prod_b \frac{B(h_b + \alpha_b, n_b - h_b + \beta_b)}{B(\alpha_b, \beta_b)}

    where b is the bin of :math:`M` that holds p, :math:`n_b` its samples, and :math:`h_b` those of
    the class; one class against the rest, for two classes once.

    Parameters
    ----------
    spread : float
        The :math:`c` above, at least 1: how far numbers of bins are from the cube root of n.
    prior_samples : float
        The :math:`N'` above: the weight of the prior in samples, over all bins.

    Attributes
    ----------
    edges_, values_, weights_ : lists of ndarrays
        Ends of the finest intervals on which all binnings are constant, what the average says
        there, and the weights of the binnings; one for each class, for two classes one.
    base_rates_ : ndarray of shape (classes,)

    Notes
    -----
    **Requires** some dozens of calibration samples; with fewer the prior at the middle of each bin
    decides, which is the probability as it was.

    **Promises** probabilities that are never 0 or 1, and no number of bins to choose.

    **Cannot** keep the order of samples: neighboring bins may come out in the wrong order. For more
    than two classes the normalization may undo part of the repair.

    References
    ----------
    Naeini, Cooper, Hauskrecht: Obtaining well calibrated probabilities using Bayesian binning, AAAI
    2015.

    Examples
    --------
    >>> import numpy as np
    >>> import caveat
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p**2
    >>> binning = caveat.BayesianBinning().fit(caveat.Categorical.from_binary(p), y)
    >>> fixed = binning.transform(caveat.Categorical.from_binary([0.3, 0.7]))
    >>> bool((np.abs(fixed.mean[:, 1] - [0.09, 0.49]) < 0.05).all())
    True
    """

    spread: float = field(default=10.0, kw_only=False)
    prior_samples: float = 2.0

    def _check_options(self) -> None:
        check_number(self.spread, "spread", 1)
        check_number(self.prior_samples, "prior_samples", closed="neither")

    def _learn(self, p: FloatArray, codes: Codes, weight: FloatArray | None) -> None:
        classes = p.shape[1]
        self.base_rates_ = class_shares(codes, classes, weight)
        self.edges_: list[FloatArray] = []
        self.values_: list[FloatArray] = []
        self.weights_: list[FloatArray] = []
        for k in one_vs_rest(classes):
            learned = self._average(np.ascontiguousarray(p[:, k]), codes == k, weight)
            for kept, part in zip((self.edges_, self.values_, self.weights_), learned, strict=True):
                kept.append(part)

    def _average(
        self, score: FloatArray, hit: FloatArray, weight: FloatArray | None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the joint intervals, what the average says in them, and the weights."""
        mass = np.ones(len(score)) if weight is None else weight
        edges = [equal_count_edges(score, bins, weight) for bins in self._sizes(mass.sum())]
        # Ties make several numbers of bins one binning, which counts once.
        edges = list({one.tobytes(): one for one in edges}.values())
        said, evidence = [], []
        for one in edges:
            bins = len(one) - 1
            place = bin_of(score, one)
            total = np.bincount(place, mass, bins)
            hits = np.bincount(place, mass * hit, bins)
            middle = ((one[:-1] + one[1:]) / 2).clip(_LEAST, 1 - _LEAST)
            prior = self.prior_samples / bins
            ones, zeros = prior * middle, prior * (1 - middle)
            evidence.append(
                (_log_beta(hits + ones, total - hits + zeros) - _log_beta(ones, zeros)).sum()
            )
            said.append((hits + ones) / (total + prior))
        weights = np.exp(evidence - logsumexp(evidence))
        joint = np.unique(np.concatenate(edges))
        # The bin of an interval is that of its lower end: each begins a bin or lies inside one.
        parts = [values[bin_of(joint[:-1], one)] for one, values in zip(edges, said, strict=True)]
        return joint, weights @ np.stack(parts), weights

    def _sizes(self, samples: float) -> range:
        root = samples ** (1 / 3)
        least = max(1, int(np.floor(root / self.spread)))
        most = max(least, int(np.ceil(root * self.spread)))
        return range(least, min(most, max(1, int(np.ceil(samples)))) + 1)

    def _map(self, p: FloatArray) -> FloatArray:
        bins = zip(one_vs_rest(p.shape[1]), self.edges_, self.values_, strict=True)
        scores = [values[bin_of(p[:, k], edges)] for k, edges, values in bins]
        return normalized(scores, self.base_rates_)


def _log_beta(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(gammaln(a) + gammaln(b) - gammaln(a + b))
