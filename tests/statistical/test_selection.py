"""How often a dearer model is chosen that is not better, and a better one is missed."""

import numpy as np
from scipy.stats import norm
from sklearn.base import BaseEstimator, RegressorMixin

from caveat import AutoRegressor

SETS, SAMPLES = 200, 200


class Line(RegressorMixin, BaseEstimator):
    """A line that is known, with its spread."""

    def __init__(self, slope=1.0):
        self.slope = slope

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X, return_std=False):
        mean = self.slope * X[:, 0]
        return (mean, np.ones(len(mean))) if return_std else mean


def chosen(slopes, seed):
    """Return how often the second, dearer one is chosen."""
    count = 0
    for draw in np.random.default_rng(seed).spawn(SETS):
        X = draw.normal(size=(SAMPLES, 1))
        y = X[:, 0] + draw.normal(size=SAMPLES)
        given = {"cheap": Line(slopes[0]), "dear": Line(slopes[1])}
        model = AutoRegressor(given, folds=2, random_state=int(draw.integers(2**31))).fit(X, y)
        count += model.chosen_ == "dear"
    return count / SETS


def test_of_two_that_are_equally_good_the_cheaper_is_chosen_unless_by_one_standard_error(promise):
    # Both slopes are as far from the truth, so the difference has mean 0, and exceeds its standard
    # error on one side with the probability of a Gaussian: 0.159.
    seen, wanted = chosen((0.9, 1.1), seed=1), norm.sf(1)
    promise(
        "Choices", "the dearer of two equally good models is chosen", "two lines, 200 samples",
        SETS, seen, "0.159 (one standard error)",
    )  # fmt: skip
    # Four standard errors of a share, 0.026 each.
    assert abs(seen - wanted) < 4 * np.sqrt(wanted * (1 - wanted) / SETS)


def test_one_that_is_clearly_better_is_worth_its_cost(promise):
    # The slope 0.5 adds 0.068 to a CRPS of 0.564, 3.3 standard errors of 200 samples. It is missed
    # where less than one is seen, with a probability of 0.011: ten of 200 in one of 20,000 cases.
    seen = chosen((0.5, 1.0), seed=2)
    promise(
        "Choices", "the better of two models is chosen, though dearer", "slope 0.5 in place of 1",
        SETS, seen, "above 0.95",
    )  # fmt: skip
    assert seen > 0.95
