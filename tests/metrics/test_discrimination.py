import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

import caveat
from caveat.exceptions import InvalidValueError, LabelError, OptionError, ShapeError
from caveat.metrics import (
    METRICS,
    OperatingPoint,
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    cohen_kappa_score,
    f1_score,
    matthews_correlation_score,
    operating_point,
    roc_auc_score,
    sensitivity_at_specificity_score,
    specificity_at_sensitivity_score,
)

ANY_CLASSES = [
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    matthews_correlation_score,
    cohen_kappa_score,
    roc_auc_score,
    average_precision_score,
]
TWO_CLASSES = [specificity_at_sensitivity_score, sensitivity_at_specificity_score]


def generic(samples=20_000, classes=4, seed=0, decimals=None):
    """More than one block of rows; ties where probabilities are rounded."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(classes, 0.7), size=samples)
    if decimals is not None:
        p = np.round(p, decimals)
        p[:, 0] += 1 - p.sum(axis=1)
        p = np.abs(p) / np.abs(p).sum(axis=1, keepdims=True)
    y = (rng.random(samples)[:, None] > p.cumsum(axis=1)).sum(axis=1).clip(max=classes - 1)
    return y, p, rng.gamma(1.0, size=samples)


@st.composite
def small(draw, classes=None):
    """A few samples with many ties: probabilities are ratios of small numbers."""
    samples = draw(st.integers(1, 12))
    classes = classes or draw(st.integers(2, 4))
    row = st.lists(st.integers(0, 3), min_size=classes, max_size=classes).filter(any)
    parts = np.array(draw(st.lists(row, min_size=samples, max_size=samples)))
    y = draw(st.lists(st.integers(0, classes - 1), min_size=samples, max_size=samples))
    times = draw(st.lists(st.integers(0, 3), min_size=samples, max_size=samples).filter(any))
    return np.array(y), parts / parts.sum(axis=1, keepdims=True), np.array(times)


weighted = pytest.mark.parametrize("weighted", [False, True])
sizes = pytest.mark.parametrize("classes", [2, 4, 30])


class TestMostProbable:
    @sizes
    @weighted
    def test_scikit_learn(self, classes, weighted):
        y, p, w = generic(classes=classes)
        w = w if weighted else None
        predicted = p.argmax(axis=1)
        for ours, theirs in [
            (accuracy_score, sklearn_metrics.accuracy_score),
            (balanced_accuracy_score, sklearn_metrics.balanced_accuracy_score),
            (matthews_correlation_score, sklearn_metrics.matthews_corrcoef),
            (cohen_kappa_score, sklearn_metrics.cohen_kappa_score),
        ]:
            expected = theirs(y, predicted, sample_weight=w)
            assert ours(y, p, sample_weight=w) == pytest.approx(expected, rel=1e-9), ours
        for average in ("macro", "micro", "weighted"):
            expected = sklearn_metrics.f1_score(y, predicted, average=average, sample_weight=w)
            assert f1_score(y, p, average=average, sample_weight=w) == pytest.approx(
                expected, rel=1e-12
            )

    @weighted
    def test_binary_f1(self, weighted):
        y, p, w = generic(classes=2)
        w = w if weighted else None
        expected = sklearn_metrics.f1_score(y, p.argmax(axis=1), sample_weight=w)
        assert f1_score(y, p, average="binary", sample_weight=w) == pytest.approx(
            expected, rel=1e-12
        )

    def test_the_first_of_equals_is_predicted(self):
        assert accuracy_score([0, 1, 1], [[0.4, 0.4, 0.2], [0.4, 0.4, 0.2], [0.1, 0.45, 0.45]]) == (
            pytest.approx(2 / 3)
        )
        # A probability of one half is not yet the second class.
        assert f1_score([1, 1], [0.5, 0.6], average="binary") == pytest.approx(2 / 3)

    def test_classes_that_do_not_occur(self):
        # Class 3 neither occurs nor is predicted, class 2 is only predicted.
        y = np.array([0, 0, 1, 1, 1])
        p = np.eye(4)[[0, 2, 1, 1, 0]]
        assert balanced_accuracy_score(y, p) == pytest.approx((1 / 2 + 2 / 3) / 2)
        each = [1 / 2, 4 / 5, 0]
        assert f1_score(y, p) == pytest.approx(sum(each) / 3)
        assert f1_score(y, p) == sklearn_metrics.f1_score(y, p.argmax(axis=1), average="macro")
        assert f1_score(y, p, average="weighted") == pytest.approx((2 * each[0] + 3 * each[1]) / 5)

    def test_a_class_of_weight_zero_does_not_occur(self):
        # scikit-learn keeps it in the mean over classes of F1.
        y, p = [0, 1, 2], np.eye(3)[[0, 1, 0]]
        assert balanced_accuracy_score(y, p, sample_weight=[1, 1, 0]) == 1
        assert f1_score(y, p, sample_weight=[1, 1, 0]) == 1

    def test_all_right_and_all_wrong(self):
        y, _, w = generic(samples=500)
        right, wrong = np.eye(4)[y], np.eye(4)[(y + 1) % 4]
        for metric in ANY_CLASSES[:5]:
            for weight in (None, w):
                assert metric(y, right, sample_weight=weight) == pytest.approx(1, abs=1e-15)
                assert metric(y, right, sample_weight=weight) <= 1
        assert [metric(y, wrong) for metric in ANY_CLASSES[:3]] == [0, 0, 0]
        assert matthews_correlation_score([0, 1, 1], [1, 0, 0]) == -1

    def test_only_one_class_is_predicted(self):
        y, p = [0, 0, 1, 2], np.tile([0.6, 0.3, 0.1], (4, 1))
        assert accuracy_score(y, p) == 0.5
        assert balanced_accuracy_score(y, p) == pytest.approx(1 / 3)
        assert f1_score(y, p) == pytest.approx(2 * 2 / 6 / 3)
        assert matthews_correlation_score(y, p) == 0

    def test_only_one_class_occurs(self):
        y, p = [0, 0], [[0.9, 0.1], [0.4, 0.6]]
        assert balanced_accuracy_score(y, p) == 0.5
        assert math.isnan(matthews_correlation_score(y, p))  # scikit-learn: 0
        assert cohen_kappa_score(y, p) == 0
        assert math.isnan(cohen_kappa_score(y, [[0.9, 0.1], [0.8, 0.2]]))
        assert math.isnan(f1_score([0], [0.1], average="binary"))  # scikit-learn: a warning and 0
        assert f1_score([0], [0.1]) == 1

    def test_rare_predictions_keep_their_digits(self):
        samples = 1_000_000
        y, p = np.zeros(samples, int), np.full(samples, 0.1)
        y[:3], p[1:3], p[7] = 1, 0.9, 0.9
        tp, fp, fn, tn = 2, 1, 1, samples - 4
        exact = (tp * tn - fp * fn) / math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
        assert matthews_correlation_score(y, p) == pytest.approx(exact, rel=1e-15)

    @pytest.mark.parametrize("scale", [1e-60, 1e60])
    def test_scale_of_weights(self, scale):
        y, p, w = generic(samples=100)
        for metric in ANY_CLASSES[:5]:
            assert metric(y, p, sample_weight=w * scale) == pytest.approx(
                metric(y, p, sample_weight=w), rel=1e-12
            )

    def test_per_sample(self):
        y, p, w = generic()
        each = accuracy_score(y, p, per_sample=True, sample_weight=w)
        np.testing.assert_array_equal(each, p.argmax(axis=1) == y)
        assert each.dtype == np.float64

    def test_many_classes_need_no_square_table(self):
        rng = np.random.default_rng(0)
        p = rng.dirichlet(np.ones(5000), size=20)
        y = p.argmax(axis=1)
        y[::2] = 0
        assert matthews_correlation_score(y, p) == pytest.approx(
            sklearn_metrics.matthews_corrcoef(y, p.argmax(axis=1)), rel=1e-12
        )


class TestAreas:
    @weighted
    @pytest.mark.parametrize("decimals", [None, 2])
    def test_two_classes_scikit_learn(self, weighted, decimals):
        y, p, w = generic(classes=2, decimals=decimals)
        w = w if weighted else None
        expected = sklearn_metrics.roc_auc_score(y, p[:, 1], sample_weight=w)
        assert roc_auc_score(y, p, sample_weight=w) == pytest.approx(expected, rel=1e-12)
        expected = sklearn_metrics.average_precision_score(y, p[:, 1], sample_weight=w)
        assert average_precision_score(y, p, sample_weight=w) == pytest.approx(expected, rel=1e-12)

    @weighted
    @pytest.mark.parametrize("average", ["macro", "weighted"])
    @pytest.mark.parametrize("decimals", [None, 1])
    def test_one_against_the_rest_scikit_learn(self, weighted, average, decimals):
        y, p, w = generic(samples=5000, decimals=decimals)
        w = w if weighted else None
        # scikit-learn's roc_auc_score checks rows but weighs classes in the same way.
        areas = [sklearn_metrics.roc_auc_score(y == k, p[:, k], sample_weight=w) for k in range(4)]
        share = np.bincount(y, w) if average == "weighted" else None
        value = roc_auc_score(y, p, average=average, sample_weight=w)
        assert value == pytest.approx(np.average(areas, weights=share), rel=1e-12)
        whole = sklearn_metrics.roc_auc_score(
            y, p, multi_class="ovr", average=average, sample_weight=w
        )
        assert value == pytest.approx(whole, rel=1e-9)
        whole = sklearn_metrics.average_precision_score(
            np.eye(4)[y], p, average=average, sample_weight=w
        )
        value = average_precision_score(y, p, average=average, sample_weight=w)
        assert value == pytest.approx(whole, rel=1e-9)

    @given(small(classes=2))
    def test_every_pair(self, data):
        y, p, times = data
        score = p[:, 1]
        pairs = [
            (times[i] * times[j], (score[i] > score[j]) + (score[i] == score[j]) / 2)
            for i in np.flatnonzero(y == 1)
            for j in np.flatnonzero(y == 0)
        ]
        number = sum(weight for weight, _ in pairs)
        value = roc_auc_score(y, p, sample_weight=times)
        if number == 0:
            assert math.isnan(value)
        else:
            assert value == pytest.approx(sum(a * b for a, b in pairs) / number, rel=1e-12)

    def test_only_classes_that_occur_are_averaged(self):
        y, p, _ = generic(samples=500)
        y[y == 2] = 0
        for ours, theirs in [
            (roc_auc_score, sklearn_metrics.roc_auc_score),
            (average_precision_score, sklearn_metrics.average_precision_score),
        ]:
            expected = np.mean([theirs(y == k, p[:, k]) for k in (0, 1, 3)])
            assert ours(y, p) == pytest.approx(expected, rel=1e-12)

    def test_only_one_class_occurs(self):
        for metric in (roc_auc_score, average_precision_score):
            assert math.isnan(metric([0, 0], [0.3, 0.4]))
            assert math.isnan(metric([2, 2], [[0.2, 0.2, 0.6], [0.1, 0.1, 0.8]]))
            weight = [1, 1, 0]
            rows = [[0.2, 0.2, 0.6], [0.1, 0.1, 0.8], [0.2, 0.6, 0.2]]
            assert math.isnan(metric([2, 2, 1], rows, sample_weight=weight))
        assert math.isnan(roc_auc_score([1, 1], [0.3, 0.4]))
        assert average_precision_score([1, 1], [0.3, 0.4]) == 1  # precision is 1 everywhere

    def test_constant_scores_are_chance(self):
        y, p = [0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5]
        assert roc_auc_score(y, p) == 0.5
        assert average_precision_score(y, p) == 0.75

    def test_perfect_order(self):
        y, p = [0, 0, 1], [0.1, 0.2, 0.3]
        assert roc_auc_score(y, p) == 1
        assert average_precision_score(y, p) == 1
        assert roc_auc_score([1, 1, 0], p) == 0

    def test_increasing_transformations_change_nothing(self):
        y, p, _ = generic(classes=2, samples=1000)
        for metric in (roc_auc_score, average_precision_score):
            assert metric(y, p[:, 1]) == pytest.approx(metric(y, p[:, 1] ** 3), rel=1e-12)

    @pytest.mark.parametrize("metric", [roc_auc_score, average_precision_score])
    def test_average(self, metric):
        with pytest.raises(OptionError, match="average must be one of 'macro', 'weighted'; got 'm"):
            metric([0, 1], [0.1, 0.2], average="micro")


def literal_point(y, score, weight, *, sensitivity=None, specificity=None):
    """Try every threshold, keep those that meet the rate, and take the best."""
    found = []
    for t in [*sorted(set(score)), np.inf]:
        hit = score >= t
        positives, negatives = weight[y == 1].sum(), weight[y == 0].sum()
        sens, spec = (
            weight[hit & (y == 1)].sum() / positives,
            weight[~hit & (y == 0)].sum() / negatives,
        )
        if sensitivity is not None and sens >= sensitivity:
            found.append((spec, sens, t))
        if specificity is not None and spec >= specificity:
            found.append((sens, spec, t))
    best = max(found)
    threshold = max(t for a, b, t in found if (a, b) == best[:2])
    rates = best[:2] if specificity is not None else best[1::-1]
    return OperatingPoint(
        threshold,
        rates[0],
        rates[1],
        sklearn_metrics.matthews_corrcoef(y, score >= threshold, sample_weight=weight),
    )


def assert_same_point(point, other):
    for name, value in vars(other).items():
        assert getattr(point, name) == pytest.approx(value, rel=1e-12, abs=1e-15), name


# Columns of tables 19 and 20 in the order MAP, MCD, DE of alexnet and of resnet: the specificity
# where the sensitivity is 0.8 and the MCC there, and the reverse. Rows after isotonic regression
# or Venn-ABERS have few distinct probabilities; their MCC (0.41 at a sensitivity of 0.43, say)
# needs a specificity well above 0.8, so the paper takes a threshold and does not interpolate.
AT_SENSITIVITY = [
    (0.66, 0.45),
    (0.68, 0.47),
    (0.70, 0.49),
    (0.74, 0.52),
    (0.75, 0.54),
    (0.75, 0.54),
]
AT_SPECIFICITY = [
    (0.63, 0.44),
    (0.64, 0.44),
    (0.69, 0.49),
    (0.73, 0.53),
    (0.75, 0.54),
    (0.75, 0.55),
]
ATRIAL_FIBRILLATION, WITHOUT = 5797, 9580  # table 7, test


def two_levels(sensitivity, specificity):
    """Two probabilities that give these rates, on as many samples as the paper tests on."""
    hits = math.ceil(sensitivity * ATRIAL_FIBRILLATION)
    rejected = math.ceil(specificity * WITHOUT)
    counts = [hits, ATRIAL_FIBRILLATION - hits, rejected, WITHOUT - rejected]
    return np.repeat([1, 1, 0, 0], counts), np.repeat([0.7, 0.2, 0.2, 0.7], counts)


class TestOperatingPoint:
    @given(small(classes=2), st.sampled_from([0, 0.25, 1 / 3, 0.5, 0.8, 1]))
    def test_literal(self, data, rate):
        y, p, times = data
        for kind in ("sensitivity", "specificity"):
            point = operating_point(y, p, sample_weight=times, **{kind: rate})
            if times[y == 0].sum() == 0 or times[y == 1].sum() == 0:
                assert all(math.isnan(value) for value in vars(point).values())
            else:
                counted = times > 0
                expected = literal_point(
                    y[counted], p[counted, 1], times[counted].astype(float), **{kind: rate}
                )
                assert_same_point(point, expected)

    @pytest.mark.parametrize("rate", [0.1, 0.8, 0.99])
    @pytest.mark.parametrize("kind", ["sensitivity", "specificity"])
    def test_scikit_learn(self, rate, kind):
        y, p, w = generic(classes=2)
        false, true, thresholds = sklearn_metrics.roc_curve(
            y, p[:, 1], sample_weight=w, drop_intermediate=False
        )
        if kind == "sensitivity":
            place = np.flatnonzero(true >= rate)[0]
            place = np.flatnonzero(false <= false[place])[-1]
        else:
            place = np.flatnonzero(1 - false >= rate)[-1]
            place = np.flatnonzero(true >= true[place])[0]
        mcc = sklearn_metrics.matthews_corrcoef(y, p[:, 1] >= thresholds[place], sample_weight=w)
        point = operating_point(y, p, sample_weight=w, **{kind: rate})
        assert point.threshold == thresholds[place]
        assert point.sensitivity == pytest.approx(true[place], rel=1e-12)
        assert point.specificity == pytest.approx(1 - false[place], rel=1e-12)
        assert point.mcc == pytest.approx(mcc, rel=1e-9)

    @pytest.mark.parametrize(("rate", "mcc"), AT_SENSITIVITY)
    def test_printed_at_a_sensitivity(self, rate, mcc):
        point = operating_point(*two_levels(0.8, rate), sensitivity=0.8)
        assert point.threshold == 0.7
        assert point.specificity == pytest.approx(rate, abs=1 / WITHOUT)
        # Both printed numbers are rounded to 0.01, and the MCC grows about as fast as the rate.
        assert point.mcc == pytest.approx(mcc, abs=0.01)

    @pytest.mark.parametrize(("rate", "mcc"), AT_SPECIFICITY)
    def test_printed_at_a_specificity(self, rate, mcc):
        point = operating_point(*two_levels(rate, 0.8), specificity=0.8)
        assert point.sensitivity == pytest.approx(rate, abs=1 / ATRIAL_FIBRILLATION)
        assert point.mcc == pytest.approx(mcc, abs=0.01)

    def test_the_rate_may_be_met_exactly(self):
        y = np.repeat([1, 0], [5, 5])
        p = np.array([0.9, 0.8, 0.7, 0.6, 0.1, 0.65, 0.5, 0.4, 0.3, 0.2])
        assert operating_point(y, p, sensitivity=0.8).threshold == 0.6
        assert operating_point(y, p, specificity=0.8).threshold == 0.6
        # Weights of 0.1 sum to 0.30000000000000004 and the like.
        for weight in (0.1, 0.7, 1e-60):
            point = operating_point(y, p, sensitivity=0.8, sample_weight=np.full(10, weight))
            assert point.threshold == 0.6
            point = operating_point(y, p, specificity=0.8, sample_weight=np.full(10, weight))
            assert point.threshold == 0.6

    def test_never_predicting_the_second_class(self):
        point = operating_point([0, 0, 1], [0.9, 0.8, 0.1], specificity=1)
        assert point == OperatingPoint(math.inf, 0.0, 1.0, 0.0)

    def test_the_scores_are_its_rates(self):
        y, p, w = generic(classes=2, samples=500)
        assert (
            specificity_at_sensitivity_score(y, p, sample_weight=w)
            == operating_point(y, p, sensitivity=0.8, sample_weight=w).specificity
        )
        assert (
            sensitivity_at_specificity_score(y, p, sample_weight=w)
            == operating_point(y, p, specificity=0.8, sample_weight=w).sensitivity
        )

    def test_one_rate_must_be_given(self):
        with pytest.raises(
            OptionError, match=r"give sensitivity= or specificity=, .*; got neither"
        ):
            operating_point([0, 1], [0.1, 0.2])
        with pytest.raises(OptionError, match=r"give sensitivity= or specificity=, .*; got both"):
            operating_point([0, 1], [0.1, 0.2], sensitivity=0.8, specificity=0.8)

    @pytest.mark.parametrize("rate", [-0.1, 1.1, math.nan, "high"])
    def test_rates(self, rate):
        with pytest.raises(OptionError, match="sensitivity must be a number from 0 to 1; got"):
            specificity_at_sensitivity_score([0, 1], [0.1, 0.2], sensitivity=rate)
        with pytest.raises(OptionError, match="specificity must be a number from 0 to 1; got"):
            sensitivity_at_specificity_score([0, 1], [0.1, 0.2], specificity=rate)


def test_two_classes_only():
    y, p = [0, 1, 2], np.eye(3)
    for metric in TWO_CLASSES:
        with pytest.raises(
            ShapeError, match="a threshold is for two classes, probabilities have 3"
        ):
            metric(y, p)
    with pytest.raises(ShapeError, match="for class k against the rest pass y_true == k and its"):
        f1_score(y, p, average="binary")


def test_f1_average():
    with pytest.raises(
        OptionError, match="average must be one of 'macro', 'micro', 'weighted', 'b"
    ):
        f1_score([0, 1], [0.1, 0.2], average="samples")


def same(first, second):
    return first == pytest.approx(second, rel=1e-12, abs=1e-14, nan_ok=True)


@pytest.mark.parametrize("metric", ANY_CLASSES + TWO_CLASSES)
class TestAll:
    @settings(max_examples=40)
    @given(data=st.data())
    def test_weight_is_repetition(self, metric, data):
        y, p, times = data.draw(small(classes=2 if metric in TWO_CLASSES else None))
        value = metric(y, p, sample_weight=times)
        assert same(metric(np.repeat(y, times), np.repeat(p, times, axis=0)), value)

    @settings(max_examples=40)
    @given(data=st.data(), seed=st.integers(0, 99))
    def test_the_order_of_rows_does_not_matter(self, metric, data, seed):
        y, p, times = data.draw(small(classes=2 if metric in TWO_CLASSES else None))
        rows = np.random.default_rng(seed).permutation(len(y))
        value = metric(y, p, sample_weight=times)
        assert same(metric(y[rows], p[rows], sample_weight=times[rows]), value)

    def test_forms_of_input(self, metric):
        y, p, _ = generic(samples=200, classes=2)
        names = np.array(["no", "yes"])
        expected = metric(y, p)
        assert metric(y, p[:, 1]) == expected
        assert metric(y == 1, p) == expected
        assert metric(names[y], p, classes=names) == expected
        assert metric(names[y], pd.DataFrame(p, columns=names)) == expected
        assert metric(names[y], caveat.Categorical(p, classes=names)) == expected
        members = caveat.Categorical(np.stack([p, p]))
        assert metric(y, members) == expected

    def test_one_sample(self, metric):
        value = metric([1], [[0.2, 0.8]])
        assert value == 1 or math.isnan(value)

    def test_a_bad_row_far_down_is_named(self, metric):
        y, p, _ = generic(classes=2)
        p[17_000] *= 0.9
        with pytest.raises(InvalidValueError, match=r"probabilities of sample 17000 sum to 0\.9"):
            metric(y, p)

    def test_other_bad_input(self, metric):
        with pytest.raises(LabelError, match="y_true of sample 1 is 2, but the classes are 0 to 1"):
            metric([0, 2], [0.1, 0.2])
        with pytest.raises(ShapeError, match="y_true has 3 samples, probabilities has 2"):
            metric([0, 1, 1], [0.1, 0.2])
        with pytest.raises(InvalidValueError, match="sample_weight of sample 0 is nan"):
            metric([0, 1], [0.1, 0.2], sample_weight=[np.nan, 1])


@pytest.mark.parametrize("metric", ANY_CLASSES)
@settings(max_examples=40)
@given(data=small())
def test_the_order_of_classes_does_not_matter(metric, data):
    # Of more than two, and without a tie for the most probable one: there the order decides.
    y, p, _ = data
    top = np.sort(p, axis=1)
    if p.shape[1] > 2 and (top[:, -1] > top[:, -2]).all():
        columns = np.roll(np.arange(p.shape[1]), 1)
        assert same(metric(np.argsort(columns)[y], p[:, columns]), metric(y, p))


@pytest.mark.parametrize("metric", [roc_auc_score, average_precision_score])
def test_bad_rows_of_several_classes(metric):
    y, p, _ = generic()
    p[17_000] *= 0.9
    with pytest.raises(InvalidValueError, match=r"probabilities of sample 17000 sum to 0\.9"):
        metric(y, p)


def test_entries():
    for metric in ANY_CLASSES + TWO_CLASSES:
        assert METRICS[metric.__name__].function is metric
