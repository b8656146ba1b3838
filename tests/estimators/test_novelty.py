"""Regressors say how far samples lie from those that they learned from."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from caveat import load
from caveat.estimators import BootstrapRegressor, LaplaceRegressor, MAPRegressor, Problem, fit_many
from caveat.exceptions import ShapeError

torch = pytest.importorskip("torch")
from caveat import nn  # noqa: E402

rng = np.random.default_rng(3)
MIX = np.array([[1.0, 0.9, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 1e6]])
X = rng.normal(size=(400, 3)) @ MIX + [0.0, 50.0, 1e7]
Y = X[:, 0] + rng.normal(size=400)
QUICK = {"hidden": (4,), "epochs": 1, "random_state": 0}


def test_novelty_is_the_mahalanobis_distance_over_its_quantile():
    model = MAPRegressor(**QUICK).fit(X, Y)
    new = rng.normal(size=(20, 3)) @ MIX * 3 + [0.0, 50.0, 1e7]
    inverse = np.linalg.inv(np.cov(X.T, ddof=0))
    center = X.mean(0, keepdims=True)
    own, others = (cdist(part, center, "mahalanobis", VI=inverse)[:, 0] for part in (X, new))
    # The small variance added to each direction changes the narrowest by about one percent.
    np.testing.assert_allclose(model.novelty(new), others / np.quantile(own, 0.95), rtol=0.02)
    assert np.mean(model.novelty(X) > 1) == pytest.approx(0.05, abs=0.001)


def test_about_5_percent_of_samples_like_these_are_above_1():
    model = MAPRegressor(**QUICK).fit(X, Y)
    count = 20_000
    share = np.mean(model.novelty(rng.normal(size=(count, 3)) @ MIX + [0.0, 50.0, 1e7]) > 1)
    # Four standard errors of a quantile of 400 samples, sqrt(0.05 * 0.95 / 400) = 0.011.
    assert abs(share - 0.05) < 4 * 0.011


def test_novelty_sees_what_no_column_shows():
    model = MAPRegressor(**QUICK).fit(X, Y)
    along, against = model.novelty(np.add(X.mean(0), [[1.0, 0.9, 0.0], [1.0, -0.9, 0.0]]))
    assert along < 1 < 2 < against
    far = model.novelty(X.mean(0) + np.outer([1, 10, 100], [0, 0, 1e6]))
    np.testing.assert_allclose(far[1:] / far[:-1], 10, rtol=0.01)


def test_columns_without_spread_and_the_rows_that_count(tmp_path):
    narrow = X.copy()
    narrow[:, 2] = 7.0
    rows = np.arange(200)
    shifted = narrow.copy()
    shifted[200:, 0] += 100.0
    (model,) = fit_many(BootstrapRegressor(members=3, **QUICK), [Problem(shifted, Y, rows=rows)])
    assert model.novelty(shifted[200:]).min() > 5 * model.novelty(shifted[:200]).max()
    changed = np.add(narrow[:1], [0.0, 0.0, 3.0])
    assert model.novelty(changed)[0] > 10
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").novelty(X), model.novelty(X))
    same = MAPRegressor(**QUICK).fit(np.ones((9, 2)), np.arange(9))
    assert same.novelty([[1.0, 1.0]])[0] == 0


def test_the_posterior_of_a_network_keeps_its_reach():
    plain = MAPRegressor(**QUICK).fit(X, Y)
    model = LaplaceRegressor.from_fitted(plain, X, Y)
    np.testing.assert_allclose(model.novelty(X), plain.novelty(X))


def test_images_have_none():
    def make():
        return nn.CNN(1, 1, size=(4, 4), filters=(2,), dense=4, head="mean-std")

    images = rng.normal(size=(30, 1, 4, 4))
    model = MAPRegressor(module=make, epochs=1, random_state=0).fit(images, Y[:30])
    with pytest.raises(ShapeError, match=r"novelty is for tables.* shape \(1, 4, 4\)"):
        model.novelty(images)
