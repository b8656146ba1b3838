import numpy as np
import pytest
from scipy.special import softmax

import caveat
from caveat.exceptions import InvalidValueError, OptionError, ShapeError
from caveat.predictions.categorical import order_classes

RNG = np.random.default_rng(2)
MEAN, VARIANCE = RNG.normal(size=(3, 5, 4)), RNG.gamma(2.0, size=(3, 5, 4))


class TestGaussianLogits:
    def test_shapes_and_std(self):
        assert caveat.GaussianLogits(MEAN[0], VARIANCE[0]).mean.shape == (1, 5, 4)
        prediction = caveat.GaussianLogits.from_std(MEAN, np.sqrt(VARIANCE))
        assert prediction.members == 3
        np.testing.assert_allclose(prediction.variance, VARIANCE)

    def test_without_noise_sampling_is_the_softmax(self):
        prediction = caveat.GaussianLogits(MEAN, np.zeros_like(VARIANCE)).sample(draws=3)
        np.testing.assert_allclose(prediction.probabilities, softmax(MEAN, axis=-1), rtol=1e-12)

    def test_sampling_converges_to_the_integral(self):
        # Two classes: the difference of logits is one Gaussian, so the integral is one-dimensional.
        mean, variance = np.array([[[1.0, -0.5]]]), np.array([[[2.0, 0.7]]])
        nodes, weights = np.polynomial.hermite_e.hermegauss(80)
        difference = 1.5 + np.sqrt(2.7) * nodes
        exact = np.sum(weights / (1 + np.exp(-difference))) / np.sqrt(2 * np.pi)
        values = 1 / (1 + np.exp(-difference))
        spread = np.sqrt(np.sum(weights * values**2) / np.sqrt(2 * np.pi) - exact**2)
        draws = 20_000
        sampled = caveat.GaussianLogits(mean, variance).sample(draws=draws, random_state=3)
        assert abs(sampled.probabilities[0, 0, 0] - exact) < 4 * spread / np.sqrt(draws)

    def test_the_mean_over_the_noise(self):
        prediction = caveat.GaussianLogits(MEAN, VARIANCE)
        mean = prediction.to_categorical()
        sampled = prediction.sample(draws=20_000, random_state=0)
        assert mean.classes.tolist() == prediction.classes.tolist()
        # Each of the probabilities strays by at most 1 / (2 sqrt n); 4.5 deviations.
        np.testing.assert_allclose(
            mean.probabilities, sampled.probabilities, rtol=0, atol=4.5 / 2 / np.sqrt(20_000)
        )

    def test_sampling_is_seeded_and_a_row_does_not_depend_on_its_neighbors(self):
        prediction = caveat.GaussianLogits(MEAN, VARIANCE)
        whole = prediction.sample(random_state=5)
        assert whole == prediction.sample(random_state=5)
        assert whole != prediction.sample(random_state=6)
        assert whole.take([3, 1]) == prediction.take([3, 1]).sample(random_state=5)

    @pytest.mark.parametrize("draws", [0, -1, 2.5, True, "many"])
    def test_draws(self, draws):
        with pytest.raises(OptionError, match="draws must be a whole number of at least 1; got"):
            caveat.GaussianLogits(MEAN, VARIANCE).sample(draws=draws)

    @pytest.mark.parametrize(
        ("mean", "variance", "error", "text"),
        [
            (MEAN, VARIANCE[0], ShapeError, "same shape"),
            (
                MEAN,
                -VARIANCE,
                InvalidValueError,
                r"variance of sample 0, member 0, class 0 is .*from_std",
            ),
            (MEAN * np.nan, VARIANCE, InvalidValueError, "mean of sample 0"),
            (MEAN, VARIANCE * np.inf, InvalidValueError, "variance of sample 0"),
            (MEAN[0, 0], VARIANCE[0, 0], ShapeError, "mean must have shape"),
        ],
    )
    def test_errors(self, mean, variance, error, text):
        with pytest.raises(error, match=text):
            caveat.GaussianLogits(mean, variance)

    def test_negative_std(self):
        with pytest.raises(InvalidValueError, match="std of sample 0, class 1 is -1, below 0"):
            caveat.GaussianLogits.from_std([[1.0, 2.0]], [[1.0, -1.0]])

    def test_random_states(self):
        prediction = caveat.GaussianLogits(MEAN, VARIANCE)
        legacy = [prediction.sample(random_state=np.random.RandomState(0)) for _ in range(2)]
        assert legacy[0] == legacy[1]
        shared = np.random.default_rng(0)
        assert prediction.sample(random_state=shared) != prediction.sample(random_state=shared)
        for wrong in ("seed", -1, 1.5):
            with pytest.raises(
                OptionError, match="random_state must be None, a non-negative integer"
            ):
                prediction.sample(random_state=wrong)


class TestPredictionSet:
    def test_zero_and_one_are_truth_values(self):
        assert caveat.PredictionSet([[1, 0], [0.0, 1.0]], coverage=0.9) == caveat.PredictionSet(
            [[True, False], [False, True]], coverage=0.9
        )

    @pytest.mark.parametrize(
        ("membership", "coverage", "error", "text"),
        [
            ([True, False], 0.9, ShapeError, r"got \(2,\)"),
            ([[True]], 0.9, ShapeError, "two classes at least"),
            (np.zeros((0, 2), bool), 0.9, ShapeError, r"got \(0, 2\)"),
            (
                [[0.3, 1.0]],
                0.9,
                InvalidValueError,
                r"membership of sample 0, class 0 is 0\.3; it must",
            ),
            ([[True, False]], 1, OptionError, "coverage must be"),
        ],
    )
    def test_errors(self, membership, coverage, error, text):
        with pytest.raises(error, match=text):
            caveat.PredictionSet(membership, coverage=coverage)


class TestProbabilityInterval:
    def test_binary_merges_to_the_least_regret(self):
        low, high = np.array([0.0, 0.3, 0.9]), np.array([0.2, 0.3, 1.0])
        merged = caveat.ProbabilityInterval.from_binary(low, high).to_categorical()
        np.testing.assert_allclose(merged.mean[:, 1], high / (1 - low + high), rtol=1e-14)
        np.testing.assert_allclose(merged.mean.sum(axis=1), 1, rtol=1e-14)

    def test_least_regret_is_what_a_search_finds(self):
        low, high = 0.35, 0.6
        grid = np.linspace(0.01, 0.99, 200_001)
        regret = np.maximum(np.log(high) - np.log(grid), np.log(1 - low) - np.log(1 - grid))
        merged = caveat.ProbabilityInterval.from_binary([low], [high]).to_categorical()
        assert merged.mean[0, 1] == pytest.approx(grid[regret.argmin()], abs=1e-5)

    def test_several_classes_are_divided_by_their_sum(self):
        low, high = np.array([[0.1, 0.2, 0.3]]), np.array([[0.2, 0.4, 0.3]])
        raw = high / (1 - low + high)
        merged = caveat.ProbabilityInterval(low, high).to_categorical()
        np.testing.assert_allclose(merged.mean, raw / raw.sum(), rtol=1e-14)

    def test_nothing_possible_is_everything_equally(self):
        zeros = np.zeros((1, 4))
        np.testing.assert_allclose(
            caveat.ProbabilityInterval(zeros, zeros).to_categorical().mean, np.full((1, 4), 0.25)
        )

    @pytest.mark.parametrize(
        ("lower", "upper", "error", "text"),
        [
            ([[0.5, 0.1]], [[0.4, 0.2]], InvalidValueError, r"class 0 is 0\.5, above upper 0\.4"),
            (
                [[-0.1, 0.1]],
                [[0.4, 0.2]],
                InvalidValueError,
                r"lower of sample 0, class 0 is -0\.1",
            ),
            ([[0.1, 0.1]], [[0.4, 1.2]], InvalidValueError, r"upper of sample 0, class 1 is 1\.2"),
            ([[np.nan, 0.1]], [[0.4, 0.2]], InvalidValueError, "is nan"),
            ([0.1], [0.2], ShapeError, "from_binary"),
            ([[0.1, 0.2]], [[0.3, 0.4], [0.3, 0.4]], ShapeError, "same shape"),
        ],
    )
    def test_errors(self, lower, upper, error, text):
        with pytest.raises(error, match=text):
            caveat.ProbabilityInterval(lower, upper)

    def test_from_binary_errors(self):
        with pytest.raises(ShapeError, match=r"of shape \(samples,\); got \(1, 1\) and \(1,\)"):
            caveat.ProbabilityInterval.from_binary([[0.1]], [0.2])
        with pytest.raises(ShapeError, match="same shape"):
            caveat.ProbabilityInterval.from_binary([0.1], [0.2, 0.3])


@pytest.mark.parametrize("kind", ["probabilities", "logits", "sets", "intervals"])
def test_classes_in_another_order_keep_all_else(kind):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), (2, 5))
    made = {
        "probabilities": lambda c: caveat.Categorical(p, classes=c),
        "logits": lambda c: caveat.GaussianLogits(p, p + 1, classes=c),
        "sets": lambda c: caveat.PredictionSet(p[0] > 0.3, coverage=0.9, classes=c),
        "intervals": lambda c: caveat.ProbabilityInterval(p[0] / 2, p[0], classes=c),
    }[kind](["c", "a", "b"])
    found = order_classes(made, ["a", "b", "c"])
    assert found.classes.tolist() == ["a", "b", "c"]
    assert getattr(found, "coverage", None) == getattr(made, "coverage", None)
    for name in made._arrays:
        np.testing.assert_array_equal(getattr(found, name), getattr(made, name)[..., [1, 2, 0]])
    assert order_classes(found, ["c", "a", "b"]) == made
    for others in (None, ["a", "b"], ["a", "b", "d"], made.classes):
        assert order_classes(made, others) is made


def test_sets_in_another_order_compare_as_the_same():
    rng = np.random.default_rng(0)
    sets = caveat.PredictionSet(rng.random((60, 3)) > 0.4, coverage=0.9, classes=["a", "b", "c"])
    other = caveat.PredictionSet(
        sets.membership[:, [2, 0, 1]], coverage=0.9, classes=["c", "a", "b"]
    )
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, 60)]
    rows = caveat.compare({"one": sets, "two": other}, y, resamples=0).to_frame()
    one, two = (
        rows[rows.technique == name].set_index(["metric", "option", "group"]).value
        for name in ("one", "two")
    )
    assert any("coverage" in metric for metric, _, _ in one.index)
    np.testing.assert_allclose(one, two.loc[one.index])
