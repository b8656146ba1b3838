import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import caveat
from caveat.exceptions import OptionError, ShapeError, UnsupportedPredictionError
from caveat.recalibration import conformal_sets
from caveat.recalibration.conformal_sets import ConformalSets

VARIANTS = [
    {"score": "lac"},
    {"score": "aps", "randomized": True},
    {"score": "aps", "randomized": False},
    {"score": "raps"},
    {"score": "raps", "randomized": False, "k_reg": 1, "penalty": 0.3},
    {"score": "lac", "class_conditional": True},
    {"score": "aps", "class_conditional": True},
]
variants = pytest.mark.parametrize("options", VARIANTS, ids=str)


def data(samples, classes=4, seed=0, decimals=16):
    """Rows of probabilities, and labels drawn from them."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(classes), samples).round(decimals)
    p /= p.sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) > rng.random((samples, 1))).argmax(axis=1)
    return p, y


def fixed_uniforms(monkeypatch, *draws):
    """Let the recalibrator use these draws: for calibration, for transform, for ties."""
    remaining = list(draws)
    monkeypatch.setattr(conformal_sets, "_row_uniforms", lambda rows, seed: remaining.pop(0))


def ranked_above(row):
    """The sum of the probabilities of the classes ranked above each class, by counting."""
    return np.array(
        [
            sum(row[j] for j in range(len(row)) if row[j] > row[c] or (row[j] == row[c] and j < c))
            for c in range(len(row))
        ]
    )


def kth_smallest(scores, coverage_in_percent):
    rank = -(-(len(scores) + 1) * coverage_in_percent // 100)
    return sorted(scores)[rank - 1]


class GivenProbabilities(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose inputs are its probabilities."""

    def fit(self, X, y=None):
        self.classes_ = np.arange(X.shape[1])
        self.n_features_in_ = X.shape[1]
        return self

    def predict_proba(self, X):
        return np.asarray(X)

    def predict(self, X):
        return np.asarray(X).argmax(axis=1)


def mapie_sets(p, y, new, coverage, score, last=None):
    classification = pytest.importorskip("mapie.classification")
    model = classification.SplitConformalClassifier(
        GivenProbabilities().fit(p),
        confidence_level=coverage,
        prefit=True,
        conformity_score=score,
        random_state=5,
    )
    model.conformalize(p, y)
    options = {} if last is None else {"conformity_score_params": {"include_last_label": last}}
    return model.predict_set(new, **options)[1][:, :, 0]


def fitted(p, y, coverage=0.9, weight=None, **options):
    return ConformalSets(coverage, **{"random_state": 0, **options}).fit(
        caveat.Categorical(p), y, sample_weight=weight
    )


def sets(p, y, new, coverage=0.9, weight=None, **options):
    recalibrator = fitted(p, y, coverage, weight, **options)
    return recalibrator.transform(caveat.Categorical(new)).membership


class TestAgainstPeers:
    @pytest.mark.parametrize("samples", [30, 99, 100, 500])
    @pytest.mark.parametrize("coverage", [0.5, 0.8, 0.95])
    def test_lac_equals_mapie(self, samples, coverage):
        (p, y), (new, _) = data(samples), data(200, seed=1)
        np.testing.assert_array_equal(
            sets(p, y, new, coverage), mapie_sets(p, y, new, coverage, "lac")
        )

    def test_nine_samples_suffice_for_nine_tenths(self):
        # MAPIE asks for ten: it wants coverage n to be at least n + 1 strictly.
        (p, y), (new, _) = data(9), data(50, seed=1)
        worst = max(1 - p[np.arange(9), y])
        np.testing.assert_array_equal(sets(p, y, new), 1 - new <= worst)
        pytest.importorskip("mapie")
        with pytest.raises(ValueError, match="samples"):
            mapie_sets(p, y, new, 0.9, "lac")

    @pytest.mark.parametrize("coverage", [0.5, 0.8, 0.95])
    def test_randomized_aps_equals_mapie(self, monkeypatch, coverage):
        # MAPIE draws by the row and subtracts: b + p - u p is our b + u' p with u' = 1 - u.
        (p, y), (new, _) = data(150), data(200, seed=1)
        draws = [1 - np.random.RandomState(5).uniform(size=n) for n in (150, 200)]
        fixed_uniforms(monkeypatch, *draws)
        np.testing.assert_array_equal(
            sets(p, y, new, coverage, score="aps"),
            mapie_sets(p, y, new, coverage, "aps", "randomized"),
        )

    def test_classes_of_probability_zero(self):
        # A model that is always sure and errs in a fifth of the cases: only all classes cover 95 %.
        # MAPIE never includes a class of probability 0 and falls short.
        rng = np.random.default_rng(0)
        guess, y = rng.integers(3, size=(2, 500))
        y = np.where(rng.random(500) < 0.8, guess, y)
        p = np.eye(3)[guess]
        for randomized in (True, False):
            found = sets(p, y, p, 0.95, score="aps", randomized=randomized)
            assert found[np.arange(500), y].mean() >= 0.95
        pytest.importorskip("mapie")
        peer = mapie_sets(p, y, p, 0.95, "aps", True)
        assert peer[np.arange(500), y].mean() < 0.9

    @pytest.mark.parametrize("decimals", [16, 1])
    def test_p_values_equal_crepes(self, decimals):
        crepes = pytest.importorskip("crepes")
        (p, y), (new, _) = data(120, decimals=decimals), data(80, seed=1, decimals=decimals)
        peer = crepes.ConformalClassifier().fit(1 - p[np.arange(120), y])
        np.testing.assert_allclose(
            fitted(p, y).p_values(caveat.Categorical(new)),
            peer.predict_p(1 - new, smoothing=False),
            atol=1e-12,
        )

    def test_class_conditional_p_values_equal_crepes(self):
        crepes = pytest.importorskip("crepes")
        (p, y), (new, _) = data(200), data(50, seed=1)
        found = fitted(p, y, class_conditional=True).p_values(caveat.Categorical(new))
        for k in range(4):
            peer = crepes.ConformalClassifier().fit(1 - p[y == k, k])
            expected = peer.predict_p(1 - new[:, [k]], smoothing=False)
            np.testing.assert_allclose(found[:, [k]], expected, atol=1e-12)

    def test_smoothed_p_values_equal_crepes(self, monkeypatch):
        crepes = pytest.importorskip("crepes")
        (p, y), (new, _) = data(120, decimals=1), data(80, seed=1, decimals=1)
        peer = crepes.ConformalClassifier().fit(1 - p[np.arange(120), y])
        # It draws for each class, we for each sample: one column at a time they are the same.
        np.random.seed(3)  # noqa: NPY002 - the state that crepes draws from
        ties = np.random.rand(80, 1)  # noqa: NPY002
        for k in range(4):
            recalibrator = fitted(p, y)
            fixed_uniforms(monkeypatch, ties[:, 0])
            found = recalibrator.p_values(caveat.Categorical(new), smoothed=True)
            expected = peer.predict_p(1 - new[:, [k]], seed=3)
            np.testing.assert_allclose(found[:, [k]], expected, atol=1e-12)


class TestDefinition:
    @pytest.mark.parametrize("samples", [9, 10, 19, 20, 57])
    @pytest.mark.parametrize("decimals", [16, 1])
    def test_lac(self, samples, decimals):
        (p, y), (new, _) = data(samples, decimals=decimals), data(40, seed=1, decimals=decimals)
        threshold = kth_smallest(1 - p[np.arange(samples), y], 90)
        np.testing.assert_array_equal(sets(p, y, new), 1 - new <= threshold)

    @pytest.mark.parametrize("decimals", [16, 1])
    def test_randomized_aps(self, monkeypatch, decimals):
        (p, y), (new, _) = data(57, decimals=decimals), data(40, seed=1, decimals=decimals)
        u, v = np.random.default_rng(2).random(57), np.random.default_rng(3).random(40)
        fixed_uniforms(monkeypatch, u, v)
        scores = [ranked_above(p[i])[y[i]] + u[i] * p[i, y[i]] for i in range(57)]
        threshold = kth_smallest(scores, 80) + 1e-12
        expected = [ranked_above(new[i]) + v[i] * new[i] <= threshold for i in range(40)]
        np.testing.assert_array_equal(sets(p, y, new, 0.8, score="aps"), expected)

    def test_deterministic_aps_includes_the_class_that_crosses(self):
        (p, y), (new, _) = data(57), data(40, seed=1)
        scores = [ranked_above(p[i])[y[i]] + p[i, y[i]] for i in range(57)]
        threshold = kth_smallest(scores, 80)
        expected = [ranked_above(row) < threshold for row in new]
        found = sets(p, y, new, 0.8, score="aps", randomized=False)
        np.testing.assert_array_equal(found, expected)
        assert found.any(axis=1).all()

    @pytest.mark.parametrize(("k_reg", "penalty"), [(2, 0.1), (1, 0.02), (0, 1.0)])
    @pytest.mark.parametrize("decimals", [16, 1])
    def test_randomized_raps_is_the_algorithm_of_the_paper(
        self, monkeypatch, k_reg, penalty, decimals
    ):
        # Algorithms 2 and 3 of Angelopoulos et al. (2021), class by class in their order.
        (p, y), (new, _) = data(57, 6, decimals=decimals), data(40, 6, seed=1, decimals=decimals)
        u, v = np.random.default_rng(2).random(57), np.random.default_rng(3).random(40)
        fixed_uniforms(monkeypatch, u, v)

        def generalized_inverse(row, label, uniform):
            order = sorted(range(6), key=lambda c: (-row[c], c))
            place = order.index(label) + 1
            mass = sum(row[c] for c in order[: place - 1])
            return mass + uniform * row[label] + penalty * max(place - k_reg, 0)

        tau = kth_smallest([generalized_inverse(p[i], y[i], u[i]) for i in range(57)], 80)
        expected = np.zeros((40, 6), dtype=bool)
        for i, row in enumerate(new):
            for label in range(6):
                expected[i, label] = generalized_inverse(row, label, v[i]) <= tau + 1e-12
        options = {"score": "raps", "k_reg": k_reg, "penalty": penalty}
        np.testing.assert_array_equal(sets(p, y, new, 0.8, **options), expected)

    def test_deterministic_raps_includes_the_class_that_crosses(self):
        (p, y), (new, _) = data(57, 6), data(40, 6, seed=1)

        def all_scores(row):
            order = np.argsort(-row, kind="stable")
            found = np.cumsum(row[order]) + 0.2 * np.maximum(np.arange(1, 7) - 1, 0)
            return order, found

        scores = []
        for row, label in zip(p, y, strict=True):
            order, found = all_scores(row)
            scores.append(found[order.tolist().index(label)])
        threshold = kth_smallest(scores, 80)
        expected = np.zeros((40, 6), dtype=bool)
        for i, row in enumerate(new):
            order, found = all_scores(row)
            size = min(6, np.count_nonzero(found < threshold) + 1)  # and the one that crosses
            expected[i, order[:size]] = True
        options = {"score": "raps", "k_reg": 1, "penalty": 0.2, "randomized": False}
        np.testing.assert_array_equal(sets(p, y, new, 0.8, **options), expected)

    def test_raps_without_a_penalty_is_aps(self):
        (p, y), (new, _) = data(150, 6), data(100, 6, seed=1)
        for randomized in (True, False):
            plain = sets(p, y, new, score="aps", randomized=randomized)
            for options in ({"penalty": 0.0}, {"k_reg": 6}):
                found = sets(p, y, new, score="raps", randomized=randomized, **options)
                np.testing.assert_array_equal(found, plain)

    def test_a_large_penalty_orders_by_rank(self):
        # Then the threshold falls between two ranks, and a set is the most probable classes.
        (p, y), (new, _) = data(400, 6), data(100, 6, seed=1)
        sizes = sets(p, y, new, 0.9, score="raps", k_reg=0, penalty=100.0).sum(axis=1)
        assert sizes.max() - sizes.min() <= 1

    def test_deterministic_aps_by_hand(self):
        # Scores 0.5, 0.8, 1.0; the second of them is the threshold for a coverage of one half.
        p = np.array([[0.5, 0.3, 0.2]] * 3)
        new = np.array([[0.9, 0.1, 0.0], [0.4, 0.35, 0.25], [0.4, 0.4, 0.2], [0.5, 0.3, 0.2]])
        found = sets(p, [0, 1, 2], new, 0.5, score="aps", randomized=False)
        assert found.tolist() == [
            [True, False, False],
            [True, True, True],
            [True, True, False],
            [True, True, False],
        ]

    def test_class_conditional_is_one_fit_for_each_class(self):
        (p, y), (new, _) = data(200), data(50, seed=1)
        found = sets(p, y, new, class_conditional=True)
        for k in range(4):
            np.testing.assert_array_equal(found[:, k], sets(p[y == k], y[y == k], new)[:, k])

    @variants
    @pytest.mark.parametrize("weighted", [False, True])
    def test_sets_are_the_classes_of_large_p_value(self, options, weighted):
        (p, y), (new, _) = data(199, decimals=2), data(100, seed=1, decimals=2)
        weight = np.random.default_rng(4).integers(1, 4, size=199) if weighted else None
        recalibrator = fitted(p, y, weight=weight, **options)
        prediction = caveat.Categorical(new)
        values = recalibrator.p_values(prediction)
        expected = values > 0.1 + 1e-12
        np.testing.assert_array_equal(recalibrator.transform(prediction).membership, expected)
        smoothed = recalibrator.p_values(prediction, smoothed=True)
        assert (smoothed < values).all()
        assert (smoothed >= 0).all()

    def test_smoothed_p_value(self, monkeypatch):
        p = np.array([[0.2, 0.8], [0.5, 0.5], [0.5, 0.5], [0.6, 0.4]])
        recalibrator = fitted(p, [1, 1, 0, 1], 0.5)  # scores 0.2, 0.5, 0.5, 0.6
        fixed_uniforms(monkeypatch, np.array([0.25, 0.5]))
        found = recalibrator.p_values(caveat.Categorical([[0.5, 0.5], [0.1, 0.9]]), smoothed=True)
        np.testing.assert_allclose(found, [[1.75 / 5, 1.75 / 5], [0.5 / 5, 4.5 / 5]])


class TestSize:
    @pytest.mark.parametrize(
        ("coverage", "least"), [(0.9, 9), (0.95, 19), (0.99, 99), (0.5, 1), (0.8, 4), (2 / 3, 2)]
    )
    def test_the_smallest_calibration_set(self, coverage, least):
        p, y = data(least)
        assert len(fitted(p, y, coverage).scores_[0]) == least
        assert fitted(p, y, coverage).too_few_ == ()
        if least > 1:
            few = fitted(p[1:], y[1:], coverage)
            needs = f"{least - 1} calibration samples, at least {least} are needed"
            assert few.too_few_ == (needs,)
            assert few.transform(caveat.Categorical(p)).membership.all()

    def test_of_a_class(self):
        rng = np.random.default_rng(0)
        p = np.sort(rng.dirichlet([1, 1], size=20), axis=1)[:, ::-1]  # "no" is on top
        y = np.array(["no"] * 12 + ["yes"] * 8)
        prediction = caveat.Categorical(p, classes=["no", "yes"])
        for labels, count in ((y, 8), (["no"] * 20, 0)):
            conformal = ConformalSets(class_conditional=True).fit(prediction, labels)
            needs = f"class 'yes': {count} calibration samples, at least 9 are needed"
            assert conformal.too_few_ == (needs,)
            assert conformal.thresholds_[1] == np.inf
            assert np.isfinite(conformal.thresholds_[0])
            certain = caveat.Categorical([[1.0, 0.0], [0.0, 1.0]], classes=["no", "yes"])
            assert conformal.transform(certain).membership.tolist() == [[True, True], [False, True]]
            values = conformal.p_values(certain)
            assert (values[:, 1] > 0.1).all()
            smoothed = conformal.p_values(certain, smoothed=True)
            assert (smoothed[:, 1] > 0).all()
            assert (smoothed <= values).all()

    def test_of_a_class_in_a_group(self):
        prediction = caveat.Categorical(np.full((40, 2), 0.5))
        y, groups = np.arange(40) % 2, np.repeat(["a", "b"], [28, 12])
        conformal = ConformalSets(class_conditional=True).fit(prediction, y, groups=groups)
        assert conformal.too_few_ == (
            "group 'b': class 0: 6 calibration samples, at least 9 are needed",
            "group 'b': class 1: 6 calibration samples, at least 9 are needed",
        )


class TestEmptySets:
    def test_stay_empty_or_get_the_top_class(self):
        # A model that is sure in calibration and unsure later.
        p, new = np.eye(3)[np.arange(20) % 3], np.array([[0.2, 0.5, 0.3], [0.0, 0.0, 1.0]])
        y = np.arange(20) % 3
        assert sets(p, y, new).tolist() == [[False] * 3, [False, False, True]]
        top = sets(p, y, new, empty="top")
        assert top.tolist() == [[False, True, False], [False, False, True]]

    @variants
    def test_top_only_adds_to_empty_sets(self, options):
        (p, y), (new, _) = data(200, classes=3), data(300, classes=3, seed=1)
        allowed = sets(p, y, new, 0.3, **options)
        topped = sets(p, y, new, 0.3, empty="top", **options)
        filled = allowed.any(axis=1)
        np.testing.assert_array_equal(topped[filled], allowed[filled])
        np.testing.assert_array_equal(topped[~filled], np.eye(3)[new[~filled].argmax(axis=1)])


class TestCalibrationRows:
    @variants
    @pytest.mark.parametrize("decimals", [16, 1])
    def test_order_plays_no_part(self, options, decimals):
        (p, y), (new, _) = data(200, decimals=decimals), data(50, seed=1, decimals=decimals)
        order = np.random.default_rng(2).permutation(200)
        there, again = fitted(p, y, **options), fitted(p[order], y[order], **options)
        np.testing.assert_array_equal(there.thresholds_, again.thresholds_)
        prediction = caveat.Categorical(new)
        assert there.transform(prediction) == again.transform(prediction)
        for smoothed in (False, True):
            np.testing.assert_array_equal(
                there.p_values(prediction, smoothed=smoothed),
                again.p_values(prediction, smoothed=smoothed),
            )

    @pytest.mark.parametrize("options", [VARIANTS[i] for i in (0, 2, 4, 5)], ids=str)
    def test_weights_mean_repetition(self, options):
        (p, y), (new, _) = data(120), data(50, seed=1)
        options = {**options, "randomized": False}
        times = np.random.default_rng(2).integers(0, 4, size=120)
        weighted = fitted(p, y, weight=times, **options)
        repeated = fitted(np.repeat(p, times, axis=0), np.repeat(y, times), **options)
        np.testing.assert_array_equal(weighted.thresholds_, repeated.thresholds_)
        prediction = caveat.Categorical(new)
        assert weighted.transform(prediction) == repeated.transform(prediction)
        for smoothed in (False, True):
            np.testing.assert_allclose(
                weighted.p_values(prediction, smoothed=smoothed),
                repeated.p_values(prediction, smoothed=smoothed),
                atol=1e-12,
            )

    @variants
    def test_constant_predictions(self, options):
        p, y = np.full((100, 4), 0.25), np.arange(100) % 4
        found = sets(p, y, p, 0.8, **options)
        if options["score"] == "lac":
            assert found.all()
        else:  # the draws of 100 calibration and 100 new samples: 3.5 standard deviations below 0.8
            assert found[np.arange(100), y].mean() >= 0.6

    def test_members_are_averaged(self):
        members = np.random.default_rng(0).dirichlet(np.ones(3), (4, 50))
        y = np.arange(50) % 3
        several, single = caveat.Categorical(members), caveat.Categorical(members.mean(axis=0))
        assert ConformalSets().fit(several, y).transform(several) == ConformalSets().fit(
            single, y
        ).transform(single)


class TestRandomness:
    P, Y = data(300)
    NEW = data(200, seed=1)[0]

    def test_the_same_again(self):
        recalibrator = ConformalSets(score="aps").fit(caveat.Categorical(self.P), self.Y)
        prediction = caveat.Categorical(self.NEW)
        assert recalibrator.transform(prediction) == recalibrator.transform(prediction)
        first = recalibrator.p_values(prediction, smoothed=True)
        np.testing.assert_array_equal(first, recalibrator.p_values(prediction, smoothed=True))

    def test_seeds(self):
        def found(seed):
            return sets(self.P, self.Y, self.NEW, score="aps", random_state=seed).tolist()

        assert found(0) == found(0)
        assert found(0) != found(1)
        assert found(None) != found(None)
        generator = np.random.default_rng(0)
        assert found(generator) != found(generator)
        with pytest.raises(OptionError, match="random_state must be None"):
            found("seed")

    def test_a_row_has_the_same_set_alone_and_among_others(self):
        recalibrator = fitted(self.P, self.Y, score="aps")
        prediction = caveat.Categorical(self.NEW)
        together = recalibrator.transform(prediction)
        smoothed = recalibrator.p_values(prediction, smoothed=True)
        order = np.random.default_rng(2).permutation(200)
        assert recalibrator.transform(prediction.take(order)) == together.take(order)
        for row in ([0], [17], [199]):
            alone = prediction.take(np.array(row))
            assert recalibrator.transform(alone) == together.take(np.array(row))
            np.testing.assert_array_equal(
                recalibrator.p_values(alone, smoothed=True), smoothed[row]
            )

    def test_identical_rows_draw_for_themselves(self):
        # One draw for all of them would cover all or too few; 1000 draws cover what was asked.
        p = np.tile([0.6, 0.4], (1000, 1))
        y = (np.arange(1000) % 5 >= 3).astype(int)
        found = sets(p, y, p, 0.9, score="aps")
        assert 0.86 < found[np.arange(1000), y].mean() < 0.94

    @pytest.mark.parametrize("rows", ["random", "integers", "identical", "permuted"])
    def test_draws_are_uniform(self, rows):
        rng = np.random.default_rng(0)
        matrix = {
            "random": rng.random((5000, 3)),
            "integers": np.stack([np.arange(5000.0), np.ones(5000)], axis=1),
            "identical": np.full((5000, 4), 0.25),
            "permuted": np.array([rng.permutation([0.1, 0.2, 0.3, 0.4]) for _ in range(5000)]),
        }[rows]
        for seed in (0, 1, 2**62):
            draws = conformal_sets._row_uniforms(matrix, np.int64(seed))
            assert draws.min() >= 0
            assert draws.max() < 1
            assert kstest(draws, "uniform").pvalue > 1e-4
            assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 4 / math.sqrt(5000)

    def test_draws_ignore_the_sign_of_zero(self):
        seed = np.int64(7)
        np.testing.assert_array_equal(
            conformal_sets._row_uniforms(np.array([[0.0, 1.0]]), seed),
            conformal_sets._row_uniforms(np.array([[-0.0, 1.0]]), seed),
        )

    @settings(deadline=None)
    @given(st.permutations(range(12)))
    def test_copies_draw_from_the_same_numbers_in_any_order(self, order):
        rows = np.repeat(np.eye(3), [2, 4, 6], axis=0)
        draws = conformal_sets._row_uniforms(rows, np.int64(3))
        again = conformal_sets._row_uniforms(rows[order], np.int64(3))
        for k in range(3):
            same = rows[order][:, k] == 1
            np.testing.assert_array_equal(np.sort(draws[rows[:, k] == 1]), np.sort(again[same]))


class TestInterface:
    P, Y = data(120)

    @variants
    def test_groups(self, options):
        options = {**options, "coverage": 0.7, "random_state": 0}
        groups = np.array(["a", "b"])[np.arange(120) % 2]
        prediction = caveat.Categorical(self.P)
        recalibrator = ConformalSets(**options).fit(prediction, self.Y, groups=groups)
        found = recalibrator.transform(prediction, groups=groups)
        values = recalibrator.p_values(prediction, groups=groups, smoothed=True)
        for name in "ab":
            rows = groups == name
            part = prediction.take(rows)
            alone = ConformalSets(**options).fit(part, self.Y[rows])
            assert alone.transform(part) == found.take(rows)
            np.testing.assert_array_equal(alone.p_values(part, smoothed=True), values[rows])
        with pytest.raises(OptionError, match="fit was given groups"):
            recalibrator.p_values(prediction)

    def test_result(self):
        prediction = caveat.Categorical(self.P, classes=list("abcd"))
        found = ConformalSets(0.8).fit_transform(prediction, np.array(list("abcd"))[self.Y])
        assert isinstance(found, caveat.PredictionSet)
        assert found.coverage == 0.8
        assert found.classes.tolist() == list("abcd")

    def test_is_an_estimator(self):
        prediction = caveat.Categorical(self.P)
        recalibrator = clone(ConformalSets(0.8, score="aps", random_state=0))
        assert recalibrator.get_params() == {
            "coverage": 0.8,
            "score": "aps",
            "randomized": True,
            "k_reg": 2,
            "penalty": 0.1,
            "class_conditional": False,
            "empty": "allow",
            "overlapping": False,
            "random_state": 0,
        }
        recalibrator.set_params(empty="top").fit(prediction, self.Y)
        found = recalibrator.transform(prediction)
        assert pickle.loads(pickle.dumps(recalibrator)).transform(prediction) == found
        pipeline = make_pipeline(clone(recalibrator)).fit(prediction, self.Y)
        assert pipeline.transform(prediction) == found
        np.testing.assert_array_equal(prediction.mean, self.P)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"coverage": 1.0}, "coverage must be a number strictly between 0 and 1; got 1.0"),
            ({"score": "topk"}, "score must be one of 'lac', 'aps', 'raps'; got 'topk'"),
            ({"k_reg": -1}, "k_reg must be a whole number of at least 0; got -1"),
            ({"k_reg": True}, "k_reg must be a whole number of at least 0; got True"),
            ({"k_reg": 2.5}, "k_reg must be a whole number of at least 0; got 2.5"),
            ({"penalty": -0.1}, "penalty must be a number of at least 0; got -0.1"),
            ({"randomized": "no"}, "randomized must be True or False; got 'no'"),
            ({"class_conditional": 1}, "class_conditional must be True or False; got 1"),
            ({"empty": "all"}, "empty must be one of 'allow', 'top'; got 'all'"),
        ],
    )
    def test_options(self, options, message):
        with pytest.raises(OptionError, match=message):
            ConformalSets(**options).fit(caveat.Categorical(self.P), self.Y)

    def test_p_values_checks_its_input(self):
        prediction = caveat.Categorical(self.P)
        with pytest.raises(NotFittedError, match="this ConformalSets is not fitted yet"):
            ConformalSets().p_values(prediction)
        recalibrator = ConformalSets().fit(prediction, self.Y)
        with pytest.raises(ShapeError, match=r"fitted on classes \[0, 1, 2, 3\]"):
            recalibrator.p_values(caveat.Categorical(self.P[:, [0, 1, 2, 3]], classes=list("abcd")))
        with pytest.raises(
            UnsupportedPredictionError,
            match="repairs a Categorical or a GaussianLogits; got a Gaussian",
        ):
            recalibrator.p_values(caveat.Gaussian([0.0], 1.0))
        with pytest.raises(OptionError, match="smoothed must be True or False; got 'yes'"):
            recalibrator.p_values(prediction, smoothed="yes")
