import numpy as np
import pytest
from scipy.stats import binomtest, norm, t

from caveat.charts._nested import kept_means, shares_inside
from caveat.charts._ordered import Ordered
from caveat.resampling.spread import (
    effective_size,
    mean_limits,
    root_limits,
    share_limits,
    spread_of,
    stacked,
)

RNG = np.random.default_rng(0)
N = 60
X = (RNG.random(N) < 0.3).astype(float)
W = RNG.gamma(2.0, size=N)
W[5] = 0
CLUSTER = RNG.integers(9, size=N)


def brute(x, w, cluster):
    """The sandwich variance, one cluster after another."""
    mean = sum(w * x) / sum(w)
    total = 0.0
    for c in set(cluster.tolist()):
        total += sum(w[i] * (x[i] - mean) for i in range(len(x)) if cluster[i] == c) ** 2
    return mean, total / sum(w) ** 2


class TestSpread:
    @pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
    @pytest.mark.parametrize("cluster", [None, CLUSTER], ids=["alone", "clustered"])
    def test_is_the_sandwich(self, weight, cluster):
        found = spread_of(X, weight, cluster)
        w = np.ones(N) if weight is None else weight
        expected = brute(X, w, np.arange(N) if cluster is None else cluster)
        assert found[:2] == pytest.approx(expected, rel=1e-12)
        assert found[2] == pytest.approx(w.sum())
        held = np.unique((np.arange(N) if cluster is None else cluster)[w > 0])
        assert found[3] == len(held)
        assert found[4] == pytest.approx(w.sum() ** 2 / (w**2).sum())

    def test_kish_of_clusters_is_their_number_where_they_are_of_one_size(self):
        assert spread_of(np.ones(12), None, np.arange(12) // 4)[5] == pytest.approx(3)


class TestShares:
    @pytest.mark.parametrize("hits", [0, 1, 7, 19, 20])
    @pytest.mark.parametrize("confidence", [0.8, 0.95])
    def test_are_wilsons_without_weights(self, hits, confidence):
        x = np.arange(20) < hits
        low, high = share_limits(
            stacked([spread_of(x.astype(float), None, None)], False), confidence
        )
        expected = binomtest(hits, 20).proportion_ci(confidence, method="wilson")
        assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), abs=1e-12)

    def test_weights_count_by_the_sandwich_or_by_kish_if_that_is_less(self):
        spread = stacked([spread_of(X, W, None)], False)
        p, variance = brute(X, W, np.arange(N))
        kish = W.sum() ** 2 / (W**2).sum()
        expected = min(p * (1 - p) / variance, kish)
        assert effective_size(np.array([p * (1 - p)]), spread, 0.95)[0] == pytest.approx(expected)
        # Rare events of little weight: the sandwich alone would promise too much.
        w = np.r_[np.full(4, 0.01), np.ones(16)]
        spread = stacked([spread_of((np.arange(20) < 4) + 0.0, w, None)], False)
        size = effective_size(spread.mean * (1 - spread.mean), spread, 0.95)
        assert size[0] == pytest.approx(w.sum() ** 2 / (w**2).sum())

    def test_clusters_widen(self):
        cluster = np.arange(N) // 6
        x = (cluster % 3 == 0).astype(float)  # all of a cluster agree
        spread = stacked([spread_of(x, None, cluster)], True)
        p, variance = brute(x, np.ones(N), cluster)
        few = 10
        factor = (few - 1) / few * (norm.ppf(0.975) / t.ppf(0.975, few - 1)) ** 2
        expected = p * (1 - p) / variance * factor
        assert effective_size(p * (1 - p) * np.ones(1), spread, 0.95)[0] == pytest.approx(expected)
        assert expected < few

    def test_one_cluster_is_one_sample(self):
        spread = stacked([spread_of(X, None, np.zeros(N, dtype=int))], True)
        low, high = share_limits(spread, 0.95)
        p = X.mean()
        z = norm.ppf(0.975)
        half = z / (1 + z**2) * np.sqrt(p * (1 - p) + z**2 / 4)
        assert high[0] - low[0] == pytest.approx(2 * half)

    def test_clusters_that_agree_by_chance_are_not_worth_more_than_their_samples(self):
        x = np.tile([0.0, 1.0], 500)
        spread = stacked([spread_of(np.r_[x, 1.0], None, np.r_[np.arange(1000) // 2, 500])], True)
        assert effective_size(spread.mean * (1 - spread.mean), spread, 0.95)[0] <= 1001


class TestMeans:
    def test_gaussian_limits(self):
        x = RNG.gamma(2.0, size=30)
        low, high = mean_limits(stacked([spread_of(x, None, None)], False), 0.9)
        half = t.ppf(0.95, 29) * x.std(ddof=1) / np.sqrt(30)
        assert (low[0], high[0]) == pytest.approx((x.mean() - half, x.mean() + half))

    def test_never_below_zero_and_one_sample_is_not_certain(self):
        low, high = mean_limits(stacked([spread_of(np.array([2.0]), None, None)], False), 0.95)
        assert low[0] == 0
        assert high[0] == pytest.approx(2 + 2 * t.ppf(0.975, 3))

    def test_roots_by_the_delta_method(self):
        x = RNG.normal(size=40) ** 2
        low, high = root_limits(stacked([spread_of(x, None, None)], False), 0.95)
        # The logarithm of the root, differentiated numerically.
        m, step = x.mean(), 1e-6
        slope = (np.log(np.sqrt(m + step)) - np.log(np.sqrt(m - step))) / (2 * step)
        half = t.ppf(0.975, 39) * slope * x.std(ddof=1) / np.sqrt(40)
        assert np.log([low[0], high[0]]) == pytest.approx(
            [np.log(m) / 2 - half, np.log(m) / 2 + half]
        )

    def test_root_of_one_sample_is_that_of_a_gaussian_and_of_zeros_is_zero(self):
        parts = [spread_of(np.array(v), None, None) for v in ([4.0], [0.0], [0.0, 0.0])]
        low, high = root_limits(stacked(parts, False), 0.95)
        factor = np.exp(t.ppf(0.975, 3) * np.sqrt(2) / 2)
        assert low.tolist() == pytest.approx([2 / factor, 0, 0])
        assert high.tolist() == pytest.approx([2 * factor, 0, 0])


class TestOrdered:
    def stretches(self, key, weight, cuts):
        ordered = Ordered(key, weight)
        found = np.zeros((len(cuts) - 1, len(key)))
        for i in range(len(cuts) - 1):
            rows, part = ordered.stretch(cuts[i] * ordered.total, cuts[i + 1] * ordered.total)
            found[i, rows] = part
        return found

    @pytest.mark.parametrize("levels", [3, 1000], ids=["ties", "distinct"])
    def test_stretches_are_means_over_all_orders(self, levels):
        key = np.round(RNG.random(N) * levels)
        found = self.stretches(key, W, np.linspace(0, 1, 8))
        assert found.sum(axis=0) == pytest.approx(W)
        assert found.sum(axis=1) == pytest.approx(np.full(7, W.sum() / 7))
        for k in set(key.tolist()):  # samples that tie are shared alike
            shares = found[:, (key == k) & (W > 0)] / W[(key == k) & (W > 0)]
            assert shares == pytest.approx(np.tile(shares[:, :1], shares.shape[1]))
        first = found.argmax(axis=0)
        assert (np.diff(first[W > 0][np.argsort(key[W > 0], kind="stable")]) >= 0).all()

    def test_quantiles(self):
        ordered = Ordered(np.array([3.0, 1.0, 2.0, 9.0]), np.array([1.0, 1.0, 2.0, 0.0]))
        assert [ordered.at(x) for x in (0.5, 1, 1.5, 3, 3.5, 4)] == [1, 1, 2, 2, 3, 3]


class TestNested:
    @pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
    @pytest.mark.parametrize("cluster", [None, CLUSTER], ids=["alone", "clustered"])
    def test_kept_means_are_spreads_of_the_kept(self, weight, cluster):
        key, x = RNG.random(N), RNG.gamma(2.0, size=N)
        w = np.ones(N) if weight is None else weight
        order = np.argsort(key)
        ends = np.cumsum(w[order])
        places = [10, 25, N - 1]
        found = kept_means(Ordered(key, weight), x, ends[places], cluster)
        for i, place in enumerate(places):
            rows = order[: place + 1]
            expected = spread_of(x[rows], w[rows], None if cluster is None else cluster[rows])
            got = [
                getattr(found, name)[i]
                for name in ("mean", "variance", "mass", "units", "kish", "kish_units")
            ]
            assert got == pytest.approx(expected)

    @pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
    @pytest.mark.parametrize("cluster", [None, CLUSTER], ids=["alone", "clustered"])
    def test_shares_inside_are_spreads_of_indicators(self, weight, cluster):
        step = RNG.integers(6, size=N)
        found = shares_inside(step, 5, weight, cluster)
        for level in range(5):
            expected = spread_of((step <= level).astype(float), weight, cluster)
            got = [
                getattr(found, name)[level]
                for name in ("mean", "variance", "mass", "units", "kish", "kish_units")
            ]
            assert got == pytest.approx(expected)
