"""Binnings averaged by their evidence, against integrals and literal loops."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta

import caveat
from caveat.exceptions import OptionError

from .class_data import calibration_set


def by_hand(p, y, new, spread, prior_samples):
    """The paper's sums, each bin's evidence by an integral over the share in it."""
    n = len(p)
    order = np.sort(p)
    scores, said = [], []
    least, most = int(np.floor(n ** (1 / 3) / spread)), int(np.ceil(n ** (1 / 3) * spread))
    for bins in range(max(1, least), min(most, n) + 1):
        # Bin j ends with the sample at which j shares of n are reached.
        ends = [int(np.ceil(j * n / bins - 1e-9)) for j in range(1, bins)]
        edges = [0.0, *((order[e - 1] + order[e]) / 2 for e in ends), 1.0]
        evidence, values = 1.0, []
        for low, high in pairwise(edges):
            inside = (p >= low) & (p < high) if high < 1 else p >= low
            hits, misses = int(y[inside].sum()), int((~y[inside]).sum())
            middle, prior = (low + high) / 2, prior_samples / bins
            a, b = prior * middle, prior * (1 - middle)
            # With t = share ** a near 0 and likewise near 1 the integrand is bounded.
            left = quad(
                lambda t, a=a, b=b, h=hits, m=misses: (
                    (t ** (1 / a)) ** h * (1 - t ** (1 / a)) ** (m + b - 1) / a
                ),
                0, 0.5**a,
            )[0]  # fmt: skip
            right = quad(
                lambda t, a=a, b=b, h=hits, m=misses: (
                    (t ** (1 / b)) ** m * (1 - t ** (1 / b)) ** (h + a - 1) / b
                ),
                0, 0.5**b,
            )[0]  # fmt: skip
            evidence *= (left + right) * beta.pdf(0.5, a, b) / (0.5 ** (a - 1) * 0.5 ** (b - 1))
            values.append((hits + a) / (hits + misses + prior))
        scores.append(evidence)
        place = np.clip(np.searchsorted(edges, new, side="right") - 1, 0, bins - 1)
        said.append(np.array(values)[place])
    weights = np.array(scores) / np.sum(scores)
    return weights, weights @ np.array(said)


@pytest.mark.parametrize(("spread", "prior_samples"), [(2.0, 8.0), (1.0, 20.0)])
def test_evidence_is_an_integral(spread, prior_samples):
    rng = np.random.default_rng(0)
    p = rng.random(27)
    y = rng.random(27) < p**2
    new = rng.random(50)
    fitted = caveat.BayesianBinning(spread, prior_samples=prior_samples)
    fitted.fit(caveat.Categorical.from_binary(p), y)
    weights, expected = by_hand(p, y, new, spread, prior_samples)
    np.testing.assert_allclose(fitted.weights_[0], weights, rtol=1e-6)
    made = fitted.transform(caveat.Categorical.from_binary(new)).mean[:, 1]
    np.testing.assert_allclose(made, expected, rtol=1e-6)


def test_one_bin_is_the_posterior_mean_of_the_share():
    """All scores alike: one binning of one bin, whose prior has its mean at one half."""
    prediction = caveat.Categorical.from_binary(np.full(10, 0.3))
    y = np.array([1] * 7 + [0] * 3)
    fitted = caveat.BayesianBinning(prior_samples=4.0).fit(prediction, y)
    assert fitted.weights_[0].tolist() == [1.0]
    assert fitted.transform(prediction).mean[0, 1] == pytest.approx((7 + 2) / (10 + 4))


def test_it_finds_a_step():
    """Shares of 0.1 below and 0.8 above one half, whatever the probability says."""
    rng = np.random.default_rng(1)
    p = rng.random(20_000)
    share = np.where(p < 0.5, 0.1, 0.8)
    prediction = caveat.Categorical.from_binary(p)
    fitted = caveat.BayesianBinning().fit(prediction, rng.random(20_000) < share)
    made = fitted.transform(caveat.Categorical.from_binary([0.2, 0.4, 0.6, 0.9])).mean[:, 1]
    # Some hundred samples in a bin: a standard error of sqrt(0.8 x 0.2 / 700) is 0.015.
    np.testing.assert_allclose(made, [0.1, 0.1, 0.8, 0.8], atol=0.05)


def test_nothing_is_certain():
    prediction = caveat.Categorical.from_binary(np.linspace(0, 1, 40))
    made = caveat.BayesianBinning().fit_transform(prediction, np.linspace(0, 1, 40) > 0.5).mean
    assert made.min() > 0
    assert made.max() < 1


def test_names():
    assert caveat.recalibration.RECALIBRATORS["bbq"].recalibrator is caveat.BayesianBinning


@pytest.mark.parametrize(
    ("options", "words"), [({"spread": 0.5}, "spread"), ({"prior_samples": 0}, "prior_samples")]
)
def test_bad_options(options, words):
    with pytest.raises(OptionError, match=f"{words} must"):
        caveat.BayesianBinning(**options).fit(*calibration_set(n=10))
