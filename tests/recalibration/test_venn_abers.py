import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.pipeline import make_pipeline

import caveat
from caveat.exceptions import LabelError, OptionError, ShapeError, UnsupportedPredictionError
from caveat.recalibration.venn_abers import VennAbers

RNG = np.random.default_rng(0)


def binary(samples, decimals, seed=0):
    """Scores, rounded to make ties, and labels that follow them loosely."""
    rng = np.random.default_rng(seed)
    score = rng.random(samples).round(decimals)
    return score, (rng.random(samples) < score**2).astype(int)


def brute_force(score, label, new, weight=None):
    """Two refits for each new score, as the definition says."""
    weight = np.ones(len(score)) if weight is None else weight
    found = np.empty((len(new), 2))
    for i, value in enumerate(new):
        for u in (0, 1):
            model = IsotonicRegression().fit(
                np.append(score, value), np.append(label, u), np.append(weight, 1.0)
            )
            found[i, u] = model.predict([value])[0]
    return found


def max_min(score, label, new, weight):
    """The isotonic fit by its closed form: the largest over a of the smallest mean from a to b."""
    found = np.empty((len(new), 2))
    for i, value in enumerate(new):
        for u in (0, 1):
            x, z = np.append(score, value), np.append(label, u)
            w = np.append(weight, 1.0)
            means = [
                [
                    np.average(z[(x >= a) & (x <= b)], weights=w[(x >= a) & (x <= b)])
                    for b in np.unique(x[x >= value])
                ]
                for a in np.unique(x[x <= value])
            ]
            found[i, u] = np.max(np.min(means, axis=1))
    return found


def intervals(score, label, new, weight=None, **options):
    recalibrator = VennAbers(**options)
    recalibrator.fit(caveat.Categorical.from_binary(score), label, sample_weight=weight)
    result = recalibrator.transform(caveat.Categorical.from_binary(new))
    return np.stack([result.lower[:, 1], result.upper[:, 1]], axis=1)


@pytest.fixture(scope="module")
def peer():
    with np.errstate():  # its import switches off numpy's warnings for everyone
        return pytest.importorskip("venn_abers")


def peer_intervals(peer, score, label, new):
    model = peer.VennAbers()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        model.fit(np.stack([1 - score, score], axis=1), label)
        merged, pairs = model.predict_proba(np.stack([1 - new, new], axis=1))
    return merged[:, 1], pairs


@pytest.mark.parametrize("decimals", [16, 2, 1, 0])
@pytest.mark.parametrize("samples", [1, 2, 5, 60])
def test_equals_two_refits_for_each_score(samples, decimals):
    score, label = binary(samples, decimals)
    new = np.concatenate([score, np.linspace(0, 1, 41).round(3), binary(20, decimals, seed=1)[0]])
    np.testing.assert_allclose(
        intervals(score, label, new), brute_force(score, label, new), atol=1e-12
    )


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.booleans(), st.floats(0.01, 20)), min_size=1, max_size=15
    ),
    st.booleans(),
)
def test_equals_the_closed_form_whatever_the_data(rows, weighted):
    score = np.array([2 * row[0] for row in rows]) / 10
    label = np.array([int(row[1]) for row in rows])
    weight = np.array([row[2] for row in rows]) if weighted else None
    new = np.arange(0, 11, 3) / 10
    np.testing.assert_allclose(
        intervals(score, label, new, weight),
        max_min(score, label, new, np.ones(len(rows)) if weight is None else weight),
        atol=1e-12,
    )


@pytest.mark.parametrize("decimals", [16, 3, 2, 1])
@pytest.mark.parametrize("samples", [3, 50, 3000])
def test_equals_the_venn_abers_package(peer, samples, decimals):
    score, label = binary(samples, decimals)
    new = np.concatenate([score, binary(1000, decimals, seed=1)[0], [0.0, 1.0]])
    merged, pairs = peer_intervals(peer, score, label, new)
    calibration = caveat.Categorical.from_binary(score)
    result = VennAbers().fit(calibration, label).transform(caveat.Categorical.from_binary(new))
    np.testing.assert_allclose(result.lower[:, 1], pairs[:, 0], atol=1e-12)
    np.testing.assert_allclose(result.upper[:, 1], pairs[:, 1], atol=1e-12)
    np.testing.assert_allclose(result.to_categorical().mean[:, 1], merged, atol=1e-12)


def test_one_against_rest_equals_the_venn_abers_package(peer):
    rng = np.random.default_rng(2)
    p, new = rng.dirichlet(np.ones(4), 300), rng.dirichlet(np.ones(4), 100)
    y = (p.cumsum(axis=1) > rng.random((300, 1))).argmax(axis=1)
    result = VennAbers().fit(caveat.Categorical(p), y).transform(caveat.Categorical(new))
    for k in range(4):
        _, pairs = peer_intervals(peer, p[:, k], (y == k).astype(int), new[:, k])
        np.testing.assert_allclose(result.lower[:, k], pairs[:, 0], atol=1e-12)
        np.testing.assert_allclose(result.upper[:, k], pairs[:, 1], atol=1e-12)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=12))
def test_the_value_of_the_true_label_is_calibrated_in_every_bag(rows):
    # Exact, not on average over draws: whichever sample of a bag is the new one, its value for the
    # true label is the isotonic fit to the whole bag, and that averages the labels of its samples.
    score = np.array([row[0] for row in rows]) / 5
    label = np.array([int(row[1]) for row in rows])
    values = np.empty(len(rows))
    for i in range(len(rows)):
        others = np.arange(len(rows)) != i
        values[i] = intervals(score[others], label[others], score[[i]])[0, label[i]]
    for value in np.unique(values):
        np.testing.assert_allclose(label[values == value].mean(), value, atol=1e-15)


def test_of_two_classes_the_first_is_the_complement():
    score, label = binary(50, 1)
    prediction = caveat.Categorical.from_binary(score, classes=["no", "yes"])
    result = VennAbers().fit(prediction, np.array(["no", "yes"])[label]).transform(prediction)
    assert isinstance(result, caveat.ProbabilityInterval)
    assert result.classes.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(result.lower[:, 0], 1 - result.upper[:, 1])
    np.testing.assert_array_equal(result.upper[:, 0], 1 - result.lower[:, 1])


@pytest.mark.parametrize("label", [0, 1])
def test_one_label_alone(label):
    found = intervals(np.full(4, 0.3), np.full(4, label), np.array([0.1, 0.3, 0.9]))
    if label == 1:
        np.testing.assert_allclose(found, [[0.0, 1.0], [0.8, 1.0], [0.8, 1.0]])
    else:
        np.testing.assert_allclose(found, [[0.0, 0.2], [0.0, 0.2], [0.0, 1.0]])


def test_constant_scores_give_the_two_shares():
    found = intervals(np.full(9, 0.5), [0, 0, 0, 1, 1, 1, 1, 1, 1], np.array([0.5]))
    np.testing.assert_allclose(found, [[6 / 10, 7 / 10]])


def test_never_decreases_with_the_score():
    score, label = binary(200, 2)
    found = intervals(score, label, np.linspace(0, 1, 500))
    assert (np.diff(found, axis=0) >= 0).all()
    assert (found[:, 0] < found[:, 1]).all()


@pytest.mark.parametrize("folds", [None, 3])
@pytest.mark.parametrize("classes", [2, 3])
def test_order_of_rows_plays_no_part(folds, classes):
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(classes), 60).round(1)
    p /= p.sum(axis=1, keepdims=True)
    y, weight = rng.integers(classes, size=60), rng.integers(0, 4, size=60) / 3
    order = rng.permutation(60)
    for w in (None, weight):
        there = VennAbers(folds=folds).fit(caveat.Categorical(p), y, sample_weight=w)
        again = VennAbers(folds=folds).fit(
            caveat.Categorical(p[order]), y[order], sample_weight=None if w is None else w[order]
        )
        assert there.transform(caveat.Categorical(p)) == again.transform(caveat.Categorical(p))


def test_weights_mean_repetition():
    score, label = binary(40, 1)
    times = RNG.integers(0, 4, size=40)
    new = np.linspace(0, 1, 21)
    np.testing.assert_allclose(
        intervals(score, label, new, times),
        intervals(np.repeat(score, times), np.repeat(label, times), new),
        atol=1e-12,
    )


@pytest.mark.parametrize("size", [1e-69, 1e-9, 1e9, 1e17, 1e69])
@pytest.mark.parametrize("folds", [None, 2])
def test_weights_of_any_size(size, folds):
    score, label = binary(40, 1)
    weight = size * RNG.random(40)
    new = np.linspace(0, 1, 21)
    found = intervals(score, label, new, weight, folds=folds)
    if size < 1e-60:  # nothing is known but the sample itself
        np.testing.assert_allclose(found, np.broadcast_to([0.0, 1.0], (21, 2)), atol=1e-12)
    if size > 1e10 and folds is None:  # one sample more plays no part
        fit = IsotonicRegression().fit(score, label, weight).predict(score)
        np.testing.assert_allclose(
            intervals(score, label, score, weight), fit[:, None] * [1, 1], atol=1e-12
        )


def test_members_are_averaged():
    members = RNG.dirichlet(np.ones(3), (5, 30))
    y = RNG.integers(3, size=30)
    several = caveat.Categorical(members)
    single = caveat.Categorical(members.mean(axis=0))
    assert VennAbers().fit(several, y).transform(several) == VennAbers().fit(single, y).transform(
        single
    )


def test_step_functions_are_kept_where_they_change():
    score, label = binary(20_000, 16)
    steps = VennAbers().fit(caveat.Categorical.from_binary(score), label).steps_[0][0]
    assert len(steps["upper"]) == len(steps["lower"]) == len(steps["scores"]) + 1 < 4000
    assert ((np.diff(steps["upper"]) > 0) | (np.diff(steps["lower"]) > 0)).all()


class TestFolds:
    def test_geometric_means_of_parts(self, peer):
        score, label = binary(101, 2)
        new = np.linspace(0, 1, 51)
        order = np.lexsort((score, label))
        parts = [
            peer_intervals(peer, score[order[i::4]], label[order[i::4]], new)[1] for i in range(4)
        ]
        against = peer.venn_abers.geo_mean(np.stack([1 - part[:, 0] for part in parts], axis=1))
        towards = peer.venn_abers.geo_mean(np.stack([part[:, 1] for part in parts], axis=1))
        calibration = caveat.Categorical.from_binary(score)
        result = VennAbers(folds=4).fit(calibration, label)
        result = result.transform(caveat.Categorical.from_binary(new))
        merged = towards / (against + towards)
        np.testing.assert_allclose(result.to_categorical().mean[:, 1], merged, atol=1e-12)
        agree = against + towards >= 1
        np.testing.assert_allclose(result.upper[agree, 1], towards[agree], atol=1e-12)
        np.testing.assert_allclose(result.lower[agree, 1], 1 - against[agree], atol=1e-12)

    def test_interval_closes_where_parts_disagree(self):
        # Dealing by score makes parts alike; parts that contradict each other have to be built.
        recalibrator = VennAbers(folds=2)
        recalibrator.fit(caveat.Categorical.from_binary([0.1, 0.4, 0.6, 0.9]), [0, 0, 1, 1])
        recalibrator.steps_ = [
            [{"scores": np.empty(0), "lower": np.array([low]), "upper": np.array([high])}]
            for low, high in ((0.1, 0.12), (0.9, 0.92))
        ]
        result = recalibrator.transform(caveat.Categorical.from_binary([0.5]))
        towards, against = np.sqrt(0.12 * 0.92), np.sqrt(0.9 * 0.1)
        assert against + towards < 1
        expected = towards / (against + towards)
        np.testing.assert_allclose(result.upper[0, 1], expected)
        np.testing.assert_allclose(result.lower[0, 1], expected)
        np.testing.assert_allclose(result.to_categorical().mean[0, 1], expected)

    def test_several_classes(self):
        p = RNG.dirichlet(np.ones(3), 90)
        y = RNG.integers(3, size=90)
        recalibrator = VennAbers(folds=3).fit(caveat.Categorical(p), y)
        assert len(recalibrator.steps_) == 3
        assert [len(part) for part in recalibrator.steps_] == [3, 3, 3]
        result = recalibrator.transform(caveat.Categorical(p))
        second = VennAbers(folds=3).fit(
            caveat.Categorical.from_binary(p[:, 1]), (y == 1).astype(int)
        )
        second = second.transform(caveat.Categorical.from_binary(p[:, 1]))
        np.testing.assert_allclose(result.lower[:, 1], second.lower[:, 1])
        np.testing.assert_allclose(result.upper[:, 1], second.upper[:, 1])

    @pytest.mark.parametrize("folds", [1, 0, -2, 2.5, True, "3"])
    def test_refused(self, folds):
        with pytest.raises(OptionError, match=r"folds must be a whole number of at least 2; got "):
            VennAbers(folds=folds).fit(caveat.Categorical.from_binary([0.5, 0.6]), [0, 1])

    def test_more_than_samples(self):
        with pytest.raises(ShapeError, match="5 folds need at least 5 calibration samples; got 4"):
            VennAbers(folds=np.int64(5)).fit(
                caveat.Categorical.from_binary(np.full(5, 0.5)),
                [0, 1, 1, 0, 1],
                sample_weight=[1, 1, 1, 1, 0],
            )


def test_groups_are_fitted_apart():
    score, label = binary(80, 2)
    groups = np.array(["a", "b"])[np.arange(80) % 2]
    prediction = caveat.Categorical.from_binary(score)
    result = VennAbers().fit(prediction, label, groups=groups).transform(prediction, groups=groups)
    for name in "ab":
        rows = groups == name
        alone = VennAbers().fit_transform(prediction.take(rows), label[rows])
        assert result.take(rows) == alone


def test_is_an_estimator():
    score, label = binary(30, 2)
    prediction = caveat.Categorical.from_binary(score)
    recalibrator = VennAbers(folds=2)
    assert recalibrator.get_params() == {"folds": 2}
    fitted = clone(recalibrator).set_params(folds=3).fit(prediction, label)
    result = fitted.transform(prediction)
    assert pickle.loads(pickle.dumps(fitted)).transform(prediction) == result
    assert make_pipeline(VennAbers(folds=3)).fit(prediction, label).transform(prediction) == result
    assert score.flags.writeable
    np.testing.assert_array_equal(prediction.probabilities[0, :, 1], score)


def test_other_predictions_and_labels_are_refused():
    with pytest.raises(
        UnsupportedPredictionError,
        match="VennAbers repairs a Categorical or a GaussianLogits; got a Gaussian",
    ):
        VennAbers().fit(caveat.Gaussian([0.0], [1.0]), [0])
    with pytest.raises(LabelError, match="y of sample 1 is 2, but the classes are 0, 1"):
        VennAbers().fit(caveat.Categorical.from_binary([0.1, 0.5]), [0, 2])
