import dataclasses
import warnings
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import binom, energy_distance, kstest

import caveat
from caveat.exceptions import (
    InvalidValueError,
    OptionError,
    ShapeError,
    UnsupportedPredictionError,
)
from caveat.recalibration import _divisions, exchangeability
from caveat.recalibration.exchangeability import (
    ExchangeabilityTest,
    ShiftWarning,
    exchangeability_test,
    warn_if_shifted,
)
from caveat.recalibration.venn_abers import VennAbers


def normal(*shape, seed=0, loc=0.0, scale=1.0):
    return np.random.default_rng(seed).normal(loc, scale, shape)


def energy(first, second):
    """Squared energy distance, term by term, of the standardized columns."""
    pooled = np.concatenate([first, second])
    first, second = first / pooled.std(axis=0), second / pooled.std(axis=0)
    return (
        2 * cdist(first, second).mean() - cdist(first, first).mean() - cdist(second, second).mean()
    )


class TestPermutation:
    def test_statistic_of_scores_equals_scipy(self):
        first, second = normal(50), normal(30, seed=1, loc=0.5).round(1)
        found = exchangeability_test(first, second, resamples=9, random_state=0)
        spread = np.concatenate([first, second]).std()
        expected = energy_distance(first / spread, second / spread) ** 2
        assert found.statistic == pytest.approx(expected, rel=1e-9)
        assert found.method == "permutation"

    def test_statistic_of_inputs(self):
        first, second = normal(50, 3), normal(30, 3, seed=1, scale=2.0)
        found = exchangeability_test(first, second, resamples=9)
        assert found.statistic == pytest.approx(energy(first, second), rel=1e-9)

    def test_scores_and_inputs_agree(self):
        # A constant column tells nothing, but takes the way of inputs.
        first, second = normal(40), normal(40, seed=1, loc=0.4)
        single = exchangeability_test(first, second, random_state=0)
        double = exchangeability_test(
            np.stack([first, np.full(40, 7.0)], axis=1),
            np.stack([second, np.full(40, 7.0)], axis=1),
            random_state=0,
        )
        assert double.statistic == pytest.approx(single.statistic, rel=1e-9)
        assert double.p_value == pytest.approx(single.p_value, abs=0.05)

    def test_p_value_is_that_of_all_divisions(self):
        # Two and two: of the six divisions, two are as far apart as {0, 1} and {4, 6}.
        found = exchangeability_test([0.0, 1.0], [4.0, 6.0], resamples=20_000, random_state=0)
        assert found.p_value == pytest.approx(1 / 3, abs=4 * np.sqrt(2 / 9 / 20_000))

    @pytest.mark.parametrize("columns", [1, 3])
    def test_size(self, columns):
        # Without ties the p-value is uniform on 1/100, ..., 1.
        rng = np.random.default_rng(0)
        p_values = np.array(
            [
                exchangeability_test(
                    rng.gamma(1.0, size=(15, columns)),
                    rng.gamma(1.0, size=(25, columns)),
                    resamples=99,
                    random_state=rng,
                ).p_value
                for _ in range(600)
            ]
        )
        for level in (0.05, 0.2, 0.5):
            rejected = np.count_nonzero(p_values <= level + 1e-9)
            low, high = binom(600, level).ppf([5e-5, 1 - 5e-5])
            assert low <= rejected <= high

    @pytest.mark.parametrize(
        "shifted",
        [{"loc": 0.5}, {"scale": 2.0}],
        ids=["location", "spread"],
    )
    @pytest.mark.parametrize("shape", [(200,), (200, 4)], ids=["scores", "inputs"])
    def test_power(self, shape, shifted):
        first, second = normal(*shape), normal(*shape, seed=1, **shifted)
        found = exchangeability_test(first, second, random_state=0)
        assert found.p_value <= 0.005
        assert "differ from the calibration samples by more than chance" in found.message

    def test_units_do_not_matter(self):
        first, second = normal(40, 2), normal(40, 2, seed=1, loc=0.3)
        units = np.array([1e-200, 1e200])
        there = exchangeability_test(first, second, random_state=0)
        again = exchangeability_test(first * units, second * units + units, random_state=0)
        moved = exchangeability_test(first, second + 1, random_state=0)
        assert again.statistic == pytest.approx(moved.statistic, rel=1e-6)
        assert again.p_value == moved.p_value
        assert there.p_value != moved.p_value

    @pytest.mark.parametrize("columns", [1, 2])
    def test_constant_samples(self, columns):
        found = exchangeability_test(np.full((9, columns), 0.1), np.full((5, columns), 0.1))
        assert found.statistic == 0
        assert found.p_value == 1

    @pytest.mark.parametrize(("columns", "most"), [(1, "MOST_SCORES"), (2, "MOST_INPUTS")])
    def test_large_samples_are_thinned(self, monkeypatch, columns, most):
        monkeypatch.setattr(exchangeability, most, 50)
        first, second = normal(500, columns), normal(30, columns, seed=1)
        found = exchangeability_test(first, second, random_state=0)
        assert found.statistic != pytest.approx(energy(first, second), rel=1e-3)
        again = exchangeability_test(first, second, random_state=0)
        assert found == again
        assert exchangeability_test(first, second + 2, random_state=0).p_value == 0.001

    def test_small_blocks_give_valid_p_values(self, monkeypatch):
        monkeypatch.setattr(_divisions, "_BLOCK", 100)
        found = exchangeability_test(
            normal(40), normal(40, seed=1, loc=2.0), resamples=50, random_state=0
        )
        assert found.p_value == pytest.approx(1 / 51)

    def test_resamples(self):
        for resamples in (0, 1.5, True, "many"):
            with pytest.raises(
                OptionError, match="resamples must be a whole number of at least 1; got"
            ):
                exchangeability_test([1.0], [2.0], resamples=resamples)


def exact(first, second, clusters):
    """The p-value among all divisions that clusters allow, one by one."""
    pooled, codes = np.concatenate([first, second]), np.concatenate(clusters)
    side = np.arange(len(pooled)) < len(first)
    shared = [c for c in np.unique(codes) if len(set(side[codes == c])) == 2]
    whole = [c for c in np.unique(codes) if c not in shared]
    count = sum(side[codes == c][0] for c in whole)
    choices = [[np.isin(codes, chosen) for chosen in combinations(whole, count)]]
    for c in shared:
        rows = np.flatnonzero(codes == c)
        chosen = combinations(rows, side[rows].sum())
        choices.append([np.isin(np.arange(len(codes)), some) for some in chosen])
    sides = [np.any(parts, axis=0) for parts in product(*choices)]
    found = np.array([energy(pooled[one], pooled[~one]) for one in sides])
    return np.mean(found >= energy(first, second) - 1e-9)


DESIGNS = {
    "apart": ([1, 1, 1, 2, 3, 3], [4, 5, 5, 5, 6, 6, 7]),
    "shared": ([1, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 4, 4]),
    "both": ([1, 1, 2, 3, 3, 8], [4, 5, 5, 1, 6, 6, 8]),
}


class TestClusters:
    @pytest.mark.parametrize("columns", [1, 2])
    @pytest.mark.parametrize("design", DESIGNS)
    def test_p_value_is_that_of_all_divisions(self, design, columns):
        clusters = DESIGNS[design]
        first, second = normal(6, columns), normal(7, columns, seed=1, loc=0.4)
        found = exchangeability_test(
            first, second, cluster=clusters, resamples=20_000, random_state=0
        )
        share = exact(first, second, clusters)
        assert found.statistic == pytest.approx(energy(first, second), rel=1e-9)
        assert 0.02 < share < 0.98
        assert found.p_value == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 2e4))

    def test_clusters_of_one_sample_are_samples(self):
        first, second = normal(30), normal(30, seed=1, loc=0.4)
        alone = (np.arange(30), np.arange(30, 60))
        options = {"resamples": 4000, "random_state": 0}
        plain = exchangeability_test(first, second, **options).p_value
        single = exchangeability_test(first, second, cluster=alone, **options).p_value
        assert single == pytest.approx(plain, abs=5 * np.sqrt(2 * plain / 4000))

    def test_people_who_differ_are_not_a_shift(self):
        rng = np.random.default_rng(0)
        clusters = (np.repeat(["a", "b", "c", "d", "e", "f"], 20),
                    np.repeat(["g", "h", "i", "j", "k", "l"], 20))  # fmt: skip
        fired = np.zeros(2)
        for _ in range(200):
            sides = np.repeat(rng.normal(size=(2, 6)), 20, axis=1) + 0.3 * rng.normal(size=(2, 120))
            for i, cluster in enumerate((None, clusters)):
                test = exchangeability_test(*sides, cluster=cluster, resamples=99, random_state=rng)
                fired[i] += test.p_value <= 0.05
        low, high = binom(200, 0.05).ppf([5e-5, 1 - 5e-5])
        assert low <= fired[1] <= high
        assert fired[0] > 100

    def test_a_shift_within_people_is_found_although_they_differ(self):
        people = np.random.default_rng(0).normal(size=20) * 10
        first, second = people + normal(20), people + normal(20, seed=1, loc=3.0)
        cluster = (np.arange(20), np.arange(20))
        assert exchangeability_test(first, second, random_state=0).p_value > 0.1
        within = exchangeability_test(first, second, cluster=cluster, random_state=0)
        assert within.p_value <= 0.005

    def test_large_samples_are_thinned_with_their_clusters(self, monkeypatch):
        monkeypatch.setattr(exchangeability, "MOST_SCORES", 60)
        people = np.repeat(np.arange(24), 20)
        values = people % 12 + normal(480)
        values[people >= 12] += 20.0
        halves = (values[people < 12], values[people >= 12])
        cluster = (people[people < 12], people[people >= 12])
        found = exchangeability_test(*halves, cluster=cluster, resamples=199, random_state=0)
        assert found.p_value == 1 / 200

    def test_few_clusters_say_so(self):
        few = exchangeability_test([0.0, 0.1, 0.2], [9.0, 9.1], cluster=([1, 1, 2], [3, 4]))
        assert few.p_value == pytest.approx(1 / 3, abs=4 * np.sqrt(2 / 9 / 999))
        assert "2 and 2 clusters cannot give a p-value much below 0.33" in few.message
        more = exchangeability_test(
            normal(9), normal(9, seed=1), cluster=(np.arange(9), np.arange(9, 18))
        )
        assert "clusters" not in more.message
        odd = exchangeability_test([0.0, 0.1], [9.0], cluster=([1, 2], [3]))
        assert "2 and 1 clusters cannot give a p-value much below 0.33" in odd.message
        shared = exchangeability_test([0.0, 0.1], [9.0], cluster=([1, 2], [2]))
        assert "clusters" not in shared.message

    def test_errors(self):
        with pytest.raises(
            ShapeError, match=r"cluster must be a pair of arrays, .*; got a ndarray"
        ):
            exchangeability_test([1.0], [2.0], cluster=np.array([1, 2]))
        with pytest.raises(ShapeError, match="cluster of test must be one value for each of 1"):
            exchangeability_test([1.0], [2.0], cluster=([1], [1, 2]))
        with pytest.raises(InvalidValueError, match="cluster of calibration of sample 1 is miss"):
            exchangeability_test([1.0, 1.0], [2.0], cluster=(["a", None], ["b"]))
        with pytest.raises(OptionError, match="one after another and knows no clusters"):
            exchangeability_test([1.0], [2.0], method="martingale", cluster=([1], [2]))


class TestMartingale:
    def test_ranks_among_earlier_samples(self):
        rng = np.random.default_rng(0)
        calibration, test = rng.integers(5, size=30) / 4, rng.integers(5, size=2300) / 4
        above, equal = exchangeability._earlier(calibration, test)
        for i in (0, 1, 999, 1000, 1001, 2299):
            before = np.concatenate([calibration, test[:i]])
            assert above[i] == np.count_nonzero(before > test[i])
            assert equal[i] == np.count_nonzero(before == test[i])

    def test_capital_of_a_certain_sequence(self):
        # A new maximum each time without ties: p = tau / i. All bets, step by step.
        test = np.arange(1.0, 6.0)
        found = exchangeability_test([0.0], test, method="martingale", random_state=3)
        tau = np.random.default_rng(3).random(5)
        capital = np.full((2, 5), 0.1)
        total = largest = 1.0
        for i, value in enumerate(tau):
            p = value / (i + 2)
            capital = 0.99 * capital + 0.01 * capital.sum() / 10
            for j, rank in enumerate((p, abs(2 * p - 1))):
                capital[j] *= 1 + np.array([-1, -0.5, 0, 0.5, 1]) * (rank - 0.5)
            total = capital.sum()
            largest = max(largest, total)
        assert found.statistic == pytest.approx(np.log(largest), rel=1e-9)
        assert found.p_value == pytest.approx(1 / largest, rel=1e-9)
        assert found.method == "martingale"

    def test_a_capital_that_never_grows_has_p_value_one(self):
        results = [
            exchangeability_test([0.0], [0.0], method="martingale", random_state=seed)
            for seed in range(20)
        ]
        assert all(result.p_value <= 1 and result.statistic >= 0 for result in results)
        assert any(result.p_value == 1 for result in results)

    @pytest.mark.parametrize("ties", [False, True])
    def test_ville(self, ties):
        # The capital exceeds 1 / t in at most a share t of all sequences.
        rng = np.random.default_rng(0)

        def draw(size):
            return rng.integers(3, size=size) if ties else rng.random(size)

        p_values = np.array(
            [
                exchangeability_test(
                    draw(20), draw(60), method="martingale", random_state=rng
                ).p_value
                for _ in range(1000)
            ]
        )
        for level in (0.05, 0.2, 0.5):
            rejected = np.count_nonzero(p_values <= level)
            assert rejected <= binom(1000, level).ppf(1 - 5e-5)

    @pytest.mark.parametrize(
        ("loc", "scale"), [(1.0, 1.0), (-1.0, 1.0), (0.0, 3.0), (0.0, 0.3)], ids=str
    )
    def test_power(self, loc, scale):
        found = exchangeability_test(
            normal(200),
            normal(200, seed=1, loc=loc, scale=scale),
            method="martingale",
            random_state=0,
        )
        assert found.p_value < 1e-4

    def test_finds_a_change_late_in_the_sequence(self):
        test = np.concatenate([normal(500, seed=1), normal(200, seed=2, loc=1.5)])
        found = exchangeability_test(normal(200), test, method="martingale", random_state=0)
        assert found.p_value < 1e-3

    def test_long_sequences_do_not_overflow(self):
        found = exchangeability_test(
            normal(100), normal(8000, seed=1, loc=20.0) + np.arange(8000), method="martingale"
        )
        assert np.isfinite(found.statistic)
        assert found.statistic > 1000
        assert found.p_value == 0.0

    def test_needs_one_number_for_each_sample(self):
        with pytest.raises(ShapeError, match="one number for each sample; got 2 columns"):
            exchangeability_test(normal(9, 2), normal(9, 2), method="martingale")


class TestInputs:
    def test_frames_and_lists(self):
        frame = pd.DataFrame({"a": normal(30), "b": normal(30, seed=1)})
        found = exchangeability_test(frame, frame.to_numpy().tolist(), random_state=0)
        assert found.statistic == pytest.approx(0, abs=1e-12)
        assert found.p_value == 1

    def test_predictions(self):
        first = caveat.Categorical(np.random.default_rng(0).dirichlet(np.ones(3), (4, 60)))
        second = caveat.Categorical(np.random.default_rng(1).dirichlet([4, 1, 1], 60))
        found = exchangeability_test(first, second, random_state=0)
        assert found == exchangeability_test(first.mean, second.mean, random_state=0)
        assert found.p_value == 0.001

    @pytest.mark.parametrize(
        ("make", "columns"),
        [
            (lambda x: caveat.Gaussian(x, np.exp(x)), lambda x: [x, np.exp(x)]),
            (lambda x: caveat.Interval(x, x + 1, coverage=0.9), lambda x: [x, x + 1]),
            (
                lambda x: caveat.Quantiles([0.1, 0.9], np.stack([x, x + 1], axis=-1)),
                lambda x: [np.stack([x, x + 1], axis=-1).reshape(len(x), -1)],
            ),
            (
                lambda x: caveat.PredictionSet(x > 0, coverage=0.9),
                lambda x: [(x > 0).astype(float)],
            ),
        ],
        ids=["Gaussian", "Interval", "Quantiles", "PredictionSet"],
    )
    def test_all_numbers_of_a_prediction(self, make, columns):
        first, second = normal(40, 2), normal(50, 2, seed=1, loc=0.2)
        found = exchangeability_test(make(first), make(second), random_state=0)
        expected = [np.concatenate(columns(x), axis=1) for x in (first, second)]
        assert found == exchangeability_test(*expected, random_state=0)

    def test_predictions_of_different_models(self):
        first = caveat.Categorical([[0.5, 0.5]])
        with pytest.raises(
            UnsupportedPredictionError,
            match="predictions of one type, or arrays; got Categorical and Gaussian",
        ):
            exchangeability_test(first, caveat.Gaussian([0.0], [1.0]))
        with pytest.raises(UnsupportedPredictionError, match="got ndarray and Categorical"):
            exchangeability_test(np.zeros((1, 2)), first)
        with pytest.raises(ShapeError, match="calibration and test have different classes"):
            exchangeability_test(first, caveat.Categorical([[0.5, 0.5]], classes=["a", "b"]))

    def test_bad_arrays(self):
        with pytest.raises(ShapeError, match="must have the same columns; got 1 and 2"):
            exchangeability_test([1.0, 2.0], [[1.0, 2.0]])
        with pytest.raises(
            ShapeError,
            match=r"test must have shape \(samples,\) or \(samples, columns\); got \(1, 1, 1\)",
        ):
            exchangeability_test([1.0], [[[1.0]]])
        with pytest.raises(InvalidValueError, match="calibration of sample 1 is nan"):
            exchangeability_test([1.0, np.nan], [1.0])
        with pytest.raises(InvalidValueError, match="test of sample 0, column 1 is inf"):
            exchangeability_test([[1.0, 1.0]], [[1.0, np.inf]])
        with pytest.raises(
            OptionError, match="method must be one of 'permutation', 'martingale'; got 'ks'"
        ):
            exchangeability_test([1.0], [1.0], method="ks")

    def test_result_is_frozen_and_speaks(self):
        words = {}
        for p_value in (0.5, 0.05, 0.001):
            words[p_value] = exchangeability._message("permutation", p_value)
            assert f"(energy-distance permutation test, p = {p_value:g})" in words[p_value]
        assert words[0.5].startswith("no sign that the test samples differ")
        assert words[0.05].startswith("the test samples may differ")
        assert words[0.001].endswith("calibrate on samples like them")
        result = ExchangeabilityTest(0.0, 1.0, "permutation", "")
        with pytest.raises(dataclasses.FrozenInstanceError):
            result.p_value = 0.0


class TestWarning:
    CALIBRATION = caveat.Categorical.from_binary(np.random.default_rng(0).beta(1, 3, 100))
    SAME = caveat.Categorical.from_binary(np.random.default_rng(1).beta(1, 3, 100))
    SHIFTED = caveat.Categorical.from_binary(np.random.default_rng(2).beta(3, 1, 100))
    Y = (np.random.default_rng(3).random(100) < CALIBRATION.mean[:, 1]).astype(int)

    def test_helper(self):
        with pytest.warns(ShiftWarning, match="by more than chance") as caught:
            result = warn_if_shifted(self.CALIBRATION, self.SHIFTED)
        assert caught[0].filename == __file__
        assert result.p_value == 0.001
        assert warn_if_shifted(self.CALIBRATION, self.SAME).p_value > 0.01
        with pytest.warns(ShiftWarning):
            warn_if_shifted(self.CALIBRATION, self.SAME, level=0.999)
        with pytest.raises(OptionError, match="level must be a number strictly between 0 and 1"):
            warn_if_shifted(self.CALIBRATION, self.SAME, level=0)

    def test_false_alarms_are_as_rare_as_the_level_says(self):
        rng = np.random.default_rng(4)
        p_values = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ShiftWarning)
            for _ in range(100):
                # Seeded by default, and still uniform: the data are drawn anew.
                p_values.append(warn_if_shifted(rng.random(20), rng.random(20)).p_value)
        assert kstest(p_values, "uniform").pvalue > 1e-4

    def test_transform_warns_when_asked(self):
        recalibrator = VennAbers().fit(self.CALIBRATION, self.Y)
        plain = recalibrator.transform(self.SHIFTED)
        with pytest.warns(ShiftWarning, match="what was learned from calibration") as caught:
            asked = recalibrator.transform(self.SHIFTED, calibration=self.CALIBRATION)
        assert caught[0].filename == __file__
        assert asked == plain
        assert recalibrator.transform(self.SAME, calibration=self.CALIBRATION) is not None

    def test_transform_warns_with_groups(self):
        groups = np.arange(100) % 2
        recalibrator = VennAbers().fit(self.CALIBRATION, self.Y, groups=groups)
        with pytest.warns(ShiftWarning):
            recalibrator.transform(self.SHIFTED, groups=groups, calibration=self.CALIBRATION)

    def test_transform_checks_what_it_compares_with(self):
        recalibrator = VennAbers().fit(self.CALIBRATION, self.Y)
        with pytest.raises(UnsupportedPredictionError, match="predictions of one type"):
            recalibrator.transform(self.SAME, calibration=caveat.Gaussian([0.0], [1.0]))


def test_infinite_intervals_are_refused():
    finite = caveat.Interval(np.zeros(5), np.ones(5), coverage=0.9)
    infinite = caveat.Interval(np.zeros(5), [1.0, 1.0, np.inf, 1.0, 1.0], coverage=0.9)
    with pytest.raises(InvalidValueError, match="test of sample 2, number 1 is inf; remove"):
        exchangeability_test(finite, infinite)
