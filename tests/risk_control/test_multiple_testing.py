"""Procedures against brute force and MAPIE."""

import numpy as np
import pytest

from caveat.risk_control.bounds import hoeffding_bentkus_p
from caveat.risk_control.multiple_testing import (
    false_discovery,
    graphical,
    grid_graph,
    holm,
    walk,
)


def test_hoeffding_bentkus_is_that_of_mapie():
    from mapie.risk_control.methods import compute_hoeffding_bentkus_p_value

    mean = np.array([0.0, 0.001, 0.03, 0.05, 0.0999, 0.1, 0.3, 0.97])
    for n in (20, 100, 1000):
        theirs = compute_hoeffding_bentkus_p_value(mean, n, np.array([0.1]))[:, 0]
        np.testing.assert_allclose(
            hoeffding_bentkus_p(mean, n, 0.1), np.minimum(theirs, 1), rtol=1e-9
        )
    assert hoeffding_bentkus_p(np.array([1.0]), 10, 0.1)[0] == 1


def test_rounding_of_a_mean_adds_no_error():
    """Three losses of 30 have a mean whose product with 30 may be a little above 3."""
    exact = hoeffding_bentkus_p(np.array([3 / 30]), 30, 0.3)
    above = hoeffding_bentkus_p(np.array([np.nextafter(3 / 30, 1)]), 30, 0.3)
    np.testing.assert_allclose(exact, above)


def test_holm_is_that_of_mapie():
    from mapie.risk_control.fwer_control import FWERBonferroniHolm

    rng = np.random.default_rng(0)
    for _ in range(100):
        p = rng.random(20) ** 4
        theirs = FWERBonferroniHolm().run(p, 0.1)
        np.testing.assert_array_equal(np.flatnonzero(holm(p, 0.1)), theirs)
    assert holm(np.zeros(3), 0.05).all()


class TestGraph:
    def test_a_chain_is_a_fixed_sequence(self):
        rng = np.random.default_rng(0)
        for _ in range(100):
            p = rng.random(8) ** 5
            budget = np.eye(8)[0] * 0.05
            expected, _ = walk(p, budget)
            np.testing.assert_array_equal(graphical(p, budget, grid_graph([8])), expected)

    def test_a_complete_graph_is_holm(self):
        """Equal budgets that go to all others in equal parts: Holm's procedure."""
        rng = np.random.default_rng(1)
        graph = (np.ones((6, 6)) - np.eye(6)) / 5
        for _ in range(200):
            p = rng.random(6) ** 4
            found = graphical(p, np.full(6, 0.05 / 6), graph)
            np.testing.assert_array_equal(found, holm(p, 0.05))

    def test_the_order_of_rejections_does_not_matter(self):
        rng = np.random.default_rng(2)
        graph = rng.dirichlet(np.ones(5), size=5)
        np.fill_diagonal(graph, 0)
        for _ in range(100):
            p, budget = rng.random(5) ** 4, 0.1 * rng.dirichlet(np.ones(5))
            rows = rng.permutation(5)
            mixed = graphical(p[rows], budget[rows], graph[np.ix_(rows, rows)])
            np.testing.assert_array_equal(mixed, graphical(p, budget, graph)[rows])

    def test_grid(self):
        graph = grid_graph([2, 3])
        np.testing.assert_allclose(graph.sum(axis=1), [1, 1, 1, 1, 1, 0])
        np.testing.assert_allclose(graph[0], [0, 0.5, 0, 0.5, 0, 0])
        np.testing.assert_allclose(graph[2], [0, 0, 0, 0, 0, 1])


class TestFalseDiscovery:
    @pytest.mark.parametrize("any_dependence", [False, True])
    def test_by_scipy(self, any_dependence):
        from scipy.stats import false_discovery_control

        rng = np.random.default_rng(0)
        for _ in range(100):
            p = rng.random(30) ** 3
            adjusted = false_discovery_control(p, method="by" if any_dependence else "bh")
            cut = false_discovery(p, 0.1, any_dependence=any_dependence)
            np.testing.assert_array_equal(p <= cut, adjusted <= 0.1)

    def test_none(self):
        assert false_discovery(np.ones(4), 0.1) == 0
