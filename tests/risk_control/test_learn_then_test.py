import numpy as np
import pytest
from scipy.stats import binom
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import caveat
from caveat.exceptions import InvalidValueError, OptionError, ShapeError
from caveat.risk_control.bounds import hoeffding_bentkus_p, stakes


def losses(samples=400, thresholds=30, seed=0):
    """Losses that rise with the threshold, from 0 to a mean of one half."""
    rng = np.random.default_rng(seed)
    return rng.random((samples, 1)) * np.linspace(0, 1, thresholds)


class TestPValues:
    def test_hoeffding_bentkus(self):
        test = caveat.LearnThenTest(0.1, p_value="hoeffding-bentkus").fit(losses())
        mean = losses().mean(axis=0)
        np.testing.assert_allclose(test.p_values_, hoeffding_bentkus_p(mean, 400, 0.1))
        np.testing.assert_allclose(test.mean_losses_["loss"], mean)

    def test_binomial(self):
        wrong = (losses() > 0.3).astype(float)
        test = caveat.LearnThenTest(0.1, p_value="binomial").fit(wrong)
        np.testing.assert_allclose(test.p_values_, binom.cdf(wrong.sum(axis=0), 400, 0.1))
        with pytest.raises(InvalidValueError, match='"binomial" is for losses of 0 and the bound'):
            caveat.LearnThenTest(0.1, p_value="binomial").fit(losses())

    def test_bets_by_brute_force(self):
        array = losses(50, 4)
        test = caveat.LearnThenTest(0.1, confidence=0.9).fit(array)
        bets = stakes(0.1, 1 - 0.9, 100_000)
        for k in range(4):
            paths = np.cumprod(1 - bets[:, None] * (array[:, k] - 0.1), axis=1).mean(axis=0)
            assert test.p_values_[k] == pytest.approx(1 / max(paths.max(), 1))

    def test_several_losses_have_the_largest(self):
        both = {"a": losses(), "b": losses(seed=1) ** 2}
        risk = {"a": 0.2, "b": 0.1}
        together = caveat.LearnThenTest(risk).fit(both)
        single = [caveat.LearnThenTest(risk[name]).fit(both[name]).p_values_ for name in "ab"]
        np.testing.assert_allclose(together.p_values_, np.maximum(*single))
        assert "at most 0.2 (a) and at most 0.1 (b) at each of the" in together.guarantee_

    def test_bound_is_a_unit(self):
        large = caveat.LearnThenTest(1.0, bound=10.0).fit(10 * losses())
        small = caveat.LearnThenTest(0.1).fit(losses())
        np.testing.assert_allclose(large.p_values_, small.p_values_)
        np.testing.assert_allclose(large.mean_losses_["loss"], 10 * small.mean_losses_["loss"])

    def test_clusters_are_their_means(self):
        rng = np.random.default_rng(0)
        cluster = rng.integers(40, size=400)
        test = caveat.LearnThenTest(0.1).fit(losses(), cluster=cluster)
        means = np.stack([losses()[cluster == c].mean(axis=0) for c in range(40)])
        np.testing.assert_allclose(
            test.p_values_, caveat.LearnThenTest(0.1).fit(means).p_values_, rtol=1e-6
        )
        assert test.samples_ == 40

    def test_clusters_in_words(self):
        test = caveat.LearnThenTest(0.5).fit(losses(), cluster=np.arange(400) // 2)
        assert test.guarantee_.endswith(
            "that passed, each cluster counting the same, with 200 calibration clusters, for new "
            "clusters drawn as these."
        )
        few = caveat.LearnThenTest(0.1).fit(losses(), cluster=np.arange(400) // 50)
        assert "with 8 calibration clusters. Even without any loss" in few.guarantee_


class TestMethods:
    def test_they_are_nested(self):
        valid = {
            method: caveat.LearnThenTest(0.1, method=method).fit(losses()).valid_
            for method in ("bonferroni", "holm", "fixed-sequence", "graphical")
        }
        assert valid["bonferroni"].sum() <= valid["holm"].sum() <= valid["fixed-sequence"].sum()
        np.testing.assert_array_equal(valid["graphical"], valid["fixed-sequence"])
        p = caveat.LearnThenTest(0.1).fit(losses()).p_values_
        np.testing.assert_array_equal(valid["bonferroni"], p <= 0.05 / 30)
        np.testing.assert_array_equal(valid["fixed-sequence"], np.cumprod(p <= 0.05).astype(bool))

    def test_order(self):
        array = losses()[:, ::-1]
        first = caveat.LearnThenTest(0.1).fit(array)
        assert not first.valid_.any()  # the worst comes first
        given = caveat.LearnThenTest(0.1).fit(array, order=np.arange(30)[::-1])
        forward = caveat.LearnThenTest(0.1).fit(losses())
        np.testing.assert_array_equal(given.valid_[::-1], forward.valid_)
        some = caveat.LearnThenTest(0.1).fit(array, order=[29, 27])
        assert np.flatnonzero(some.valid_).tolist() == [27, 29]

    def test_starts(self):
        """A first threshold that fails ends a sequence with one start only."""
        array = losses()
        array[:, 0] = 1
        assert not caveat.LearnThenTest(0.1).fit(array).valid_.any()
        more = caveat.LearnThenTest(0.1, starts=6).fit(array)
        p = more.p_values_
        expected = [k for k in range(5, 30) if (p[5 : k + 1] <= 0.05 / 6).all()]
        assert set(expected) <= set(np.flatnonzero(more.valid_))
        assert not more.valid_[:5].any()

    def test_grid_of_two_parameters(self):
        first, second = losses(800, 8), losses(800, 6, seed=1)
        both = np.maximum(first[:, :, None], second[:, None])
        test = caveat.LearnThenTest(0.2, method="graphical").fit(both)
        assert test.valid_.shape == (8, 6)
        assert test.valid_[0, 0]
        assert 1 < test.valid_.sum() < 48
        assert (test.p_values_[test.valid_] <= 0.05).all()
        cost = -np.add.outer(np.arange(8), np.arange(6))
        i, j = test.choose(cost)
        assert test.valid_[i, j]
        assert cost[i, j] == cost[test.valid_].min()
        with pytest.raises(OptionError, match="on a grid of several parameters needs order"):
            caveat.LearnThenTest(0.2).fit(both)
        given = caveat.LearnThenTest(0.2).fit(both, order=[0, 1, 6])
        assert given.valid_.sum() <= 3

    def test_a_large_graph_is_refused(self):
        with pytest.raises(OptionError, match="is for at most 2,000 points; the grid has 2,001"):
            caveat.LearnThenTest(0.1, method="graphical").fit(np.zeros((2, 2001)))


class TestLooks:
    def test_more_samples_are_as_all_at_once(self):
        array = losses()
        live = caveat.LearnThenTest(0.1)
        for part in np.split(array, [10, 11, 200]):
            live.partial_fit(part, order=None)
        whole = caveat.LearnThenTest(0.1).fit(array)
        np.testing.assert_allclose(live.p_values_, whole.p_values_)
        np.testing.assert_array_equal(live.valid_, whole.valid_)
        assert live.samples_ == 400
        assert "With 95 % confidence after any number of looks, the mean loss" in live.guarantee_

    def test_valid_thresholds_stay(self):
        live, before = caveat.LearnThenTest(0.1), np.zeros(30, dtype=bool)
        for part in np.split(losses(), 40):
            live.partial_fit(part)
            assert (live.valid_ >= before).all()
            before = live.valid_
        assert before.any()

    def test_refused(self):
        with pytest.raises(OptionError, match="only p_value=\"betting\" allows; got 'binomial'"):
            caveat.LearnThenTest(0.1, p_value="binomial").partial_fit(losses())
        live = caveat.LearnThenTest(0.1).partial_fit(losses())
        with pytest.raises(OptionError, match="goes on with the order of fit, and without groups"):
            live.partial_fit(losses(), order=[1])
        with pytest.raises(ShapeError, match="all losses must have one shape"):
            live.partial_fit(losses(thresholds=7))
        with pytest.raises(OptionError, match="fit had the losses loss; got other"):
            live.partial_fit({"other": losses()})


class TestOutOfReach:
    @pytest.mark.parametrize("p_value", ["betting", "hoeffding-bentkus", "binomial"])
    @pytest.mark.parametrize("method", ["fixed-sequence", "holm"])
    def test_how_many_are_needed(self, p_value, method):
        options = {"p_value": p_value, "method": method}
        test = caveat.LearnThenTest(0.1, **options).fit(np.zeros((5, 3)))
        assert not test.valid_.any()
        least = test.needed_
        assert f"Even without any loss it takes at least {least}." in test.guarantee_
        fewer = caveat.LearnThenTest(0.1, **options).fit(np.zeros((least - 1, 3)))
        assert not fewer.valid_.any()
        enough = caveat.LearnThenTest(0.1, **options).fit(np.zeros((least, 3)))
        assert enough.valid_.all()
        assert enough.needed_ is None

    def test_nothing_to_choose(self):
        test = caveat.LearnThenTest(0.1).fit(np.zeros((5, 3)))
        with pytest.raises(
            InvalidValueError, match="there is no threshold to choose: No threshold"
        ):
            test.choose([1, 2, 3])
        with pytest.raises(ShapeError, match=r"cost must have the shape \(3,\)"):
            test.choose([1, 2])
        with pytest.raises(NotFittedError, match=r"call fit\(losses\) first"):
            caveat.LearnThenTest(0.1).choose([1])
        assert caveat.LearnThenTest(0.1).fit(losses()).choose(np.arange(30)) == 0


class TestGroups:
    def test_each_by_itself(self):
        group, cluster = np.where(np.arange(400) < 150, "a", "b"), np.arange(400) // 2
        test = caveat.LearnThenTest(0.1).fit(losses(), groups=group, cluster=cluster)
        alone = caveat.LearnThenTest(0.1).fit(losses()[:150], cluster=cluster[:150])
        np.testing.assert_allclose(test.groups_["a"].p_values_, alone.p_values_)
        assert test.guarantee_.startswith("For each group by itself: a: With 95 % confidence")
        with pytest.raises(OptionError, match="and without groups"):
            test.partial_fit(losses())
        plain = caveat.LearnThenTest(0.1).fit(losses(), groups=group)
        np.testing.assert_allclose(
            plain.groups_["b"].p_values_, caveat.LearnThenTest(0.1).fit(losses()[150:]).p_values_
        )


def test_refused():
    with pytest.raises(ShapeError, match="losses is empty: it names no loss"):
        caveat.LearnThenTest(0.1).fit({})
    with pytest.raises(ShapeError, match="all losses must have one shape"):
        caveat.LearnThenTest(0.1).fit({"a": losses(), "b": losses(300)})
    with pytest.raises(OptionError, match="risk must be one number, or one for each of 'a', 'b'"):
        caveat.LearnThenTest({"a": 0.1}).fit({"a": losses(), "b": losses()})
    with pytest.raises(OptionError, match="risk must be below the bound 1 of the loss; got 2"):
        caveat.LearnThenTest(2).fit(losses())
    with pytest.raises(OptionError, match="risk must be a number above 0"):
        caveat.LearnThenTest(0).fit(losses())
    with pytest.raises(OptionError, match="method must be one of 'fixed-sequence'"):
        caveat.LearnThenTest(0.1, method="sgt").fit(losses())
    with pytest.raises(OptionError, match="p_value must be one of"):
        caveat.LearnThenTest(0.1, p_value="t").fit(losses())
    with pytest.raises(OptionError, match='starts are for method="fixed-sequence"'):
        caveat.LearnThenTest(0.1, method="holm", starts=2).fit(losses())
    for order in ([30], [-1], [0.5], [], [[0]]):
        with pytest.raises(OptionError, match="order must be positions of thresholds from 0 to 29"):
            caveat.LearnThenTest(0.1).fit(losses(), order=order)
    with pytest.raises(OptionError, match="order names a threshold more than once"):
        caveat.LearnThenTest(0.1).fit(losses(), order=[1, 1])
    with pytest.raises(InvalidValueError, match=r"losses\['a'\] of sample 0, threshold 0 is nan"):
        caveat.LearnThenTest(0.1).fit({"a": np.full((3, 2), np.nan)})
    with pytest.raises(InvalidValueError, match="losses of sample 0, index 1 0, index 2 0 is nan"):
        caveat.LearnThenTest(0.1, method="holm").fit(np.full((3, 2, 2), np.nan))
    test = caveat.LearnThenTest(0.1, method="holm")
    assert clone(test).get_params() == test.get_params()
