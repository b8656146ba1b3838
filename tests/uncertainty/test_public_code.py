"""Values of the paper's public code (github.com/pioui/uncertainty), where it is right and where not.

They were computed with its functions GU, HU, variance and calculate_H_matrix, for the predictions
and samples below. It adds 1e-10 to probabilities before it takes logarithms.
"""

import numpy as np
import pytest

import caveat
from caveat.uncertainty import geometric_uncertainty, homophily_maximum, homophily_uncertainty

P = np.array([
    [0.5, 0.3, 0.1, 0.05, 0.03, 0.02], [0.02, 0.4, 0.02, 0.06, 0.1, 0.4],
    [0.9, 0.02, 0.02, 0.02, 0.02, 0.02], [0.1, 0.1, 0.2, 0.2, 0.2, 0.2],
    [0.01, 0.01, 0.48, 0.48, 0.01, 0.01],
])  # fmt: skip
TRENTO = np.array([
    [0, 0.89, 0.58, 0.35, 0.36, 0.88], [0.89, 0, 0.56, 0.85, 1, 0.33],
    [0.58, 0.56, 0, 0.6, 0.73, 0.65], [0.35, 0.85, 0.6, 0, 0.51, 0.91],
    [0.36, 1, 0.73, 0.51, 0, 0.95], [0.88, 0.33, 0.65, 0.91, 0.95, 0],
])  # fmt: skip
GU = {
    ("euclidean", 1): [0.5261223786672344, 0.5513576034300814, 0.12, 0.8735088935932648,
                       0.4054917998883447],
    ("euclidean", 2): [0.77544, 0.79872, 0.2256, 0.984, 0.64656],
    ("fisher-rao", 1): [0.5363323954525582, 0.5360812678964733, 0.2797193654760388,
                        0.868002158821103, 0.34453306907601733],
    ("fisher-rao", 2): [0.7850123524932371, 0.7847794100034562, 0.4811958075297599,
                        0.9825765699241107, 0.5703631024650949],
    ("fisher-rao", 3): [0.9003171924732495, 0.9001551367662304, 0.626315387053844,
                        0.9977001448440511, 0.7183872213610942],
    ("kullback-leibler", 1): [0.709496879018621, 0.7191683258572767, 0.2712567022937207,
                              0.9756149628322862, 0.4960583332165962],
    ("kullback-leibler", 3): [0.9754838422253147, 0.9778518086535987, 0.6129886332732475,
                              0.9999854999244303, 0.8720203835662598],
}  # fmt: skip
HU = [0.7369077135867771, 0.6108314454743803, 0.16382758421157026, 0.841013886942149,
      0.4010674918611571]  # fmt: skip
VARIANCE = [1.0, 0.96, 0.36, 0.64, 0.9984]


@pytest.mark.parametrize(("distance", "order"), GU)
def test_geometric_uncertainty(distance, order):
    ours = geometric_uncertainty(P, distance, order=order)
    np.testing.assert_allclose(ours, GU[distance, order], atol=2e-8)


def test_binary_variance():
    np.testing.assert_allclose(caveat.measure(P, "binary_variance"), VARIANCE, atol=1e-12)


def test_homophily_where_the_function_is_concave():
    """One local search then finds the maximum, to the precision at which it stops."""
    assert homophily_maximum(TRENTO).certificate == "concave"
    np.testing.assert_allclose(homophily_uncertainty(P, TRENTO), HU, rtol=1e-6)


def test_class_distances():
    i = np.arange(60.0)
    X = np.stack([np.sin(i), 2 * np.cos(3 * i) + i / 30, i % 7], axis=1)
    H = caveat.class_distances(X, (i % 3).astype(int))
    theirs = [0.1589510916000807, 0.14727183184716186, 0.15905573732122397]
    np.testing.assert_allclose(H[np.triu_indices(3, 1)], theirs, rtol=1e-10)


def test_homophily_where_a_local_search_stops_too_early():
    """Two distant pairs: the search stays at the uniform point, and the value exceeds 1."""
    H = np.array([[0, 9.0, 1, 1], [9, 0, 1, 1], [1, 1, 0, 9], [1, 1, 9, 0]])
    theirs = 1.9518072289
    ours = homophily_uncertainty([[0.5, 0.5, 0, 0]], H)[0]
    assert ours == pytest.approx(1)
    p = np.full(4, 0.25)
    assert theirs == pytest.approx(ours * homophily_maximum(H).value / (p @ H**2 @ p))


def test_every_sample_of_many_has_its_value():
    """In 2,500 rows theirs leaves rows 999 and 1,999 at 0."""
    many = homophily_uncertainty(np.tile(P, (500, 1)), TRENTO)
    np.testing.assert_allclose(many[[999, 1999]], [HU[4], HU[4]], rtol=1e-6)
    assert (many > 0).all()
