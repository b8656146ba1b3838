import math
from fractions import Fraction

import mpmath
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, log_loss

import caveat
from caveat.exceptions import InvalidValueError, LabelError, OptionError, ShapeError
from caveat.metrics import METRICS
from caveat.metrics.classification.brier_split import (
    BrierDecomposition,
    brier_calibration_error,
    brier_decomposition,
    brier_refinement_loss,
)
from caveat.metrics.classification.scores import (
    brier_loss,
    negative_log_likelihood_loss,
)

SCALARS = [
    negative_log_likelihood_loss,
    brier_loss,
    brier_calibration_error,
    brier_refinement_loss,
]


def generic(samples=20_000, classes=4, seed=0):
    """More than one block of rows; labels that follow the probabilities only in part."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(classes, 0.7), size=samples)
    follow = (rng.random(samples)[:, None] > p.cumsum(axis=1)).sum(axis=1).clip(max=classes - 1)
    y = np.where(rng.random(samples) < 0.7, follow, rng.integers(0, classes, samples))
    return y, p, rng.gamma(1.0, size=samples)


@st.composite
def small(draw, most=12):
    """A few samples with many ties: probabilities are multiples of a tenth."""
    samples = draw(st.integers(1, most))
    classes = draw(st.integers(2, 4))
    parts = draw(
        st.lists(
            st.lists(st.integers(0, 10), min_size=classes, max_size=classes).filter(any),
            min_size=samples,
            max_size=samples,
        )
    )
    p = np.array(parts) / np.sum(parts, axis=1, keepdims=True)
    codes = st.lists(st.integers(0, classes - 1), min_size=samples, max_size=samples)
    times = st.lists(st.integers(0, 3), min_size=samples, max_size=samples).filter(any)
    return np.array(draw(codes)), p, np.array(draw(times))


class TestNegativeLogLikelihood:
    @pytest.mark.parametrize("classes", [2, 4, 30])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_scikit_learn(self, classes, weighted):
        y, p, w = generic(classes=classes)
        w = w if weighted else None
        expected = log_loss(y, p, labels=np.arange(classes), sample_weight=w)
        assert negative_log_likelihood_loss(y, p, sample_weight=w) == pytest.approx(
            expected, rel=1e-12
        )

    def test_many_digits(self):
        y, p, _ = generic(samples=40)
        with mpmath.workdps(40):
            exact = -mpmath.fsum(mpmath.log(mpmath.mpf(p[i, k])) for i, k in enumerate(y)) / 40
        assert negative_log_likelihood_loss(y, p) == pytest.approx(float(exact), rel=1e-14)

    def test_uniform_is_the_logarithm_of_the_number_of_classes(self):
        assert negative_log_likelihood_loss([0, 3], np.full((2, 5), 0.2)) == pytest.approx(
            math.log(5), rel=1e-15
        )

    def test_certain_and_right_is_zero_with_its_sign(self):
        value = negative_log_likelihood_loss([0, 1], [[1, 0], [0, 1]])
        assert value == 0
        assert math.copysign(1, value) == 1

    def test_what_was_impossible_happened(self):
        y, p = [0, 1, 1], [[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]
        assert negative_log_likelihood_loss(y, p) == math.inf
        each = negative_log_likelihood_loss(y, p, per_sample=True)
        np.testing.assert_allclose(each, [math.log(2), math.inf, 0], rtol=1e-15)

    def test_an_infinite_sample_of_weight_zero_does_not_count(self):
        y, p = [0, 1], [[0.5, 0.5], [1.0, 0.0]]
        value = negative_log_likelihood_loss(y, p, sample_weight=[2, 0])
        assert value == pytest.approx(math.log(2), rel=1e-15)

    def test_eps_of_scikit_learn(self):
        y, p = [0, 1, 1], np.array([[0.5, 0.5], [1.0, 0.0], [0.25, 0.75]])
        eps = np.finfo(float).eps
        assert negative_log_likelihood_loss(y, p, eps=eps) == pytest.approx(
            log_loss(y, p), rel=1e-12
        )

    def test_eps_bounds_each_sample_and_touches_no_other(self):
        y, p, _ = generic()
        plain = negative_log_likelihood_loss(y, p, per_sample=True)
        clipped = negative_log_likelihood_loss(y, p, eps=0.01, per_sample=True)
        np.testing.assert_allclose(clipped, np.minimum(plain, -math.log(0.01)), rtol=1e-15)
        assert clipped.max() == -math.log(0.01)

    @pytest.mark.parametrize("eps", [-0.1, 1, 1.5, math.nan, "small", None])
    def test_eps_outside(self, eps):
        with pytest.raises(OptionError, match="eps must be a number of at least 0 and below 1"):
            negative_log_likelihood_loss([0], [[0.5, 0.5]], eps=eps)

    def test_the_input_is_not_written_to(self):
        y, p, _ = generic(samples=100)
        before = p.copy()
        negative_log_likelihood_loss(y, p, eps=0.5)
        brier_loss(y, p)
        brier_decomposition(y, p)
        np.testing.assert_array_equal(p, before)


class TestBrier:
    @pytest.mark.parametrize("classes", [2, 4, 30])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_scikit_learn(self, classes, weighted):
        y, p, w = generic(classes=classes)
        w = w if weighted else None
        expected = brier_score_loss(
            y, p, labels=np.arange(classes), sample_weight=w, scale_by_half=False
        )
        assert brier_loss(y, p, sample_weight=w) == pytest.approx(expected, rel=1e-12)

    def test_scikit_learn_halves_it_for_two_classes_only(self):
        y, p, _ = generic(classes=2)
        assert brier_loss(y, p) == pytest.approx(2 * brier_score_loss(y, p[:, 1]), rel=1e-12)
        y, p, _ = generic(classes=3)
        assert brier_loss(y, p) == pytest.approx(brier_score_loss(y, p), rel=1e-12)

    def test_no_digits_are_lost_where_the_forecast_is_nearly_right(self):
        p = np.array([[1 - 1e-10, 1e-10, 0.0], [1e-12, 1 - 1e-12, 0.0]])
        y = [0, 1]
        exact = sum(
            (Fraction(p[i, k]) - (k == y[i])) ** 2 for i in range(2) for k in range(3)
        ) / Fraction(2)
        # sum p^2 - 2 p_y + 1, the short formula, has an error of 1e-16 beside this 1e-20.
        assert brier_loss(y, p) == pytest.approx(float(exact), rel=1e-14)

    def test_ends_of_the_range(self):
        assert brier_loss([0, 1], [[1, 0, 0], [0, 1, 0]]) == 0
        assert brier_loss([0, 1], [[0, 1, 0], [0, 0, 1]]) == 2

    def test_per_sample(self):
        y, p, w = generic()
        each = brier_loss(y, p, sample_weight=w, per_sample=True)
        np.testing.assert_allclose(each, ((p - np.eye(4)[y]) ** 2).sum(axis=1), rtol=1e-12)
        assert brier_loss(y, p) == pytest.approx(each.mean(), rel=1e-12)
        assert brier_loss(y, p, sample_weight=w) == pytest.approx(
            np.average(each, weights=w), rel=1e-12
        )


def literal_decomposition(y, p, bins, weight=None) -> BrierDecomposition:
    """Stephenson, Coelho and Jolliffe's five terms (their equation 7), class by class in loops."""
    samples, classes = p.shape
    weight = np.ones(samples) if weight is None else weight
    total = weight.sum()
    reliability = resolution = uncertainty = variance = covariance = 0.0
    for k in range(classes):
        o = (y == k).astype(float)
        base = np.average(o, weights=weight)
        uncertainty += base * (1 - base)
        for b in range(bins):
            rows = [
                i for i in range(samples) if min(int(p[i, k] * bins), bins - 1) == b and weight[i]
            ]
            if not rows:
                continue
            w, f, x = weight[rows], p[rows, k], o[rows]
            f_mean, o_mean = np.average(f, weights=w), np.average(x, weights=w)
            share = w.sum() / total
            reliability += share * (f_mean - o_mean) ** 2
            resolution += share * (o_mean - base) ** 2
            variance += share * np.average((f - f_mean) ** 2, weights=w)
            covariance += 2 * share * np.average((f - f_mean) * (x - o_mean), weights=w)
    return BrierDecomposition(
        calibration=reliability,
        refinement=uncertainty - resolution + variance - covariance,
        uncertainty=uncertainty,
        resolution=resolution,
        within_bins=variance - covariance,
    )


def assert_same_parts(split, other):
    for name, value in vars(other).items():
        assert getattr(split, name) == pytest.approx(value, rel=1e-9, abs=1e-13), name


class TestBrierDecomposition:
    @pytest.mark.parametrize("bins", [1, 2, 15, 40])
    @pytest.mark.parametrize("classes", [2, 4])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_literal(self, bins, classes, weighted):
        y, p, w = generic(samples=500, classes=classes)
        w = w if weighted else None
        split = brier_decomposition(y, p, bins=bins, sample_weight=w)
        assert_same_parts(split, literal_decomposition(y, p, bins, w))

    def test_over_several_blocks(self):
        y, p, w = generic(samples=20_000)
        split = brier_decomposition(y, p, sample_weight=w)
        total = split.calibration + split.refinement
        assert total == pytest.approx(brier_loss(y, p, sample_weight=w), rel=1e-12)

    @given(small(), st.integers(1, 20))
    def test_the_parts_add_up_for_any_bins(self, data, bins):
        y, p, times = data
        split = brier_decomposition(y, p, bins=bins, sample_weight=times)
        loss = brier_loss(y, p, sample_weight=times)
        assert split.calibration + split.refinement == pytest.approx(loss, rel=1e-12, abs=1e-13)
        assert min(split.calibration, split.refinement) >= 0
        parts = split.uncertainty - split.resolution + split.within_bins
        assert parts == pytest.approx(split.refinement, rel=1e-12, abs=1e-13)

    @given(small(), st.integers(1, 8))
    def test_smaller_bins_move_loss_to_calibration(self, data, bins):
        # Powers of two, so that no edge of the coarse bins is moved by rounding.
        y, p, _ = data
        coarse = brier_decomposition(y, p, bins=2**bins)
        fine = brier_decomposition(y, p, bins=2 ** (bins + 1))
        assert fine.calibration >= coarse.calibration - 1e-13

    def test_equal_forecasts_in_a_bin_give_degroot_and_fienberg(self):
        # Forecasts of 0.2, 0.5 and 0.9, of which 1 of 4, 2 of 5 and 2 of 3 happen.
        p = np.repeat([0.2, 0.5, 0.9], [4, 5, 3])
        y = np.array([1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0])
        split = brier_decomposition(y, p)
        calibration = (4 * 0.05**2 + 5 * 0.1**2 + 3 * (0.9 - 2 / 3) ** 2) / 12
        refinement = (4 * 3 / 16 + 5 * 6 / 25 + 3 * 2 / 9) / 12
        assert split.calibration == pytest.approx(2 * calibration, rel=1e-12)
        assert split.refinement == pytest.approx(2 * refinement, rel=1e-12)
        assert split.within_bins == pytest.approx(0, abs=1e-15)

    def test_base_rate_for_everyone(self):
        y = np.array([0, 0, 1, 2, 2, 2])
        p = np.tile([2 / 6, 1 / 6, 3 / 6], (6, 1))
        split = brier_decomposition(y, p)
        assert split.calibration == pytest.approx(0, abs=1e-30)
        assert split.resolution == pytest.approx(0, abs=1e-30)
        assert split.refinement == pytest.approx(1 - (4 + 1 + 9) / 36, rel=1e-12)
        assert split.uncertainty == pytest.approx(1 - (4 + 1 + 9) / 36, rel=1e-12)

    def test_perfect_forecast(self):
        y = np.array([0, 1, 2, 2])
        split = brier_decomposition(y, np.eye(3)[y])
        assert (split.calibration, split.refinement) == (0, 0)
        assert split.resolution == pytest.approx(split.uncertainty, rel=1e-12)

    def test_one_sample_is_all_calibration(self):
        split = brier_decomposition([0], [[0.7, 0.3]])
        assert split.calibration == pytest.approx(0.18, rel=1e-12)
        assert split.refinement == 0

    def test_scalars(self):
        y, p, w = generic(samples=300)
        split = brier_decomposition(y, p, bins=7, sample_weight=w)
        options = {"bins": 7, "sample_weight": w}
        assert brier_calibration_error(y, p, **options) == split.calibration
        assert brier_refinement_loss(y, p, **options) == split.refinement

    @pytest.mark.parametrize("bins", [0, 2.5, True])
    def test_bins(self, bins):
        with pytest.raises(OptionError, match="bins must be a whole number of at least 1; got"):
            brier_decomposition([0], [[0.5, 0.5]], bins=bins)


@pytest.mark.parametrize("metric", SCALARS)
class TestAll:
    @settings(max_examples=40)
    @given(data=small())
    def test_weight_is_repetition(self, metric, data):
        y, p, times = data
        weighted = metric(y, p, sample_weight=times)
        repeated = metric(np.repeat(y, times), np.repeat(p, times, axis=0))
        assert weighted == pytest.approx(repeated, rel=1e-12, abs=1e-14)

    @settings(max_examples=40)
    @given(data=small(), seed=st.integers(0, 99))
    def test_neither_rows_nor_columns_have_an_order(self, metric, data, seed):
        y, p, times = data
        rng = np.random.default_rng(seed)
        rows, columns = rng.permutation(len(y)), rng.permutation(p.shape[1])
        value = metric(y, p, sample_weight=times)
        again = metric(np.argsort(columns)[y[rows]], p[rows][:, columns], sample_weight=times[rows])
        assert again == pytest.approx(value, rel=1e-12, abs=1e-14)

    def test_forms_of_input(self, metric):
        y, p, _ = generic(samples=200, classes=2)
        names = np.array(["no", "yes"])
        expected = metric(y, p)
        assert metric(y, p[:, 1]) == pytest.approx(expected, rel=1e-12)
        assert metric(y == 1, p) == expected
        assert metric(names[y], p, classes=names) == expected
        assert metric(names[y], pd.DataFrame(p, columns=names)) == expected
        assert metric(names[y], caveat.Categorical(p, classes=names)) == expected
        assert metric(y, p.tolist()) == expected

    def test_members_are_averaged(self, metric):
        y, p, _ = generic(samples=200)
        _, q, _ = generic(samples=200, seed=1)
        members = caveat.Categorical(np.stack([p, q]))
        assert metric(y, members) == pytest.approx(metric(y, (p + q) / 2), rel=1e-12)

    def test_rows_that_are_not_next_to_each_other(self, metric):
        y, p, _ = generic(samples=400)
        some = caveat.Categorical(p).take(slice(None, None, 2))
        assert metric(y[::2], some) == pytest.approx(metric(y[::2], p[::2].copy()), rel=1e-12)

    def test_a_bad_row_far_down_is_named(self, metric):
        y, p, _ = generic()
        p[17_000] *= 0.9
        with pytest.raises(InvalidValueError, match=r"probabilities of sample 17000 sum to 0\.9"):
            metric(y, p)
        p[17_000] = [np.nan, 0.5, 0.5, 0]
        with pytest.raises(
            InvalidValueError, match="probabilities of sample 17000, class 0 is nan"
        ):
            metric(y, p)

    def test_other_bad_input(self, metric):
        p = [[0.5, 0.5], [0.2, 0.8]]
        with pytest.raises(LabelError, match="y_true of sample 1 is 2, but the classes are 0 to 1"):
            metric([0, 2], p)
        with pytest.raises(ShapeError, match="y_true has 3 samples, probabilities has 2"):
            metric([0, 1, 1], p)
        with pytest.raises(InvalidValueError, match="sample_weight of sample 1 is -1, below 0"):
            metric([0, 1], p, sample_weight=[1, -1])


def test_single_precision_is_summed_in_double():
    y, p, _ = generic()
    single = p.astype(np.float32)
    double = single.astype(np.float64)
    sums = double.sum(axis=1, keepdims=True)
    double /= np.where(np.abs(sums - 1) > 1e-8, sums, 1)  # as a Categorical has them
    loss = negative_log_likelihood_loss(y, single)
    assert loss == pytest.approx(-np.log(double[np.arange(len(y)), y]).mean(), rel=1e-13)
    square = ((double - np.eye(4)[y]) ** 2).sum(axis=1).mean()
    assert brier_loss(y, single) == pytest.approx(square, rel=1e-13)


def test_entries():
    entries = [METRICS[metric.__name__] for metric in SCALARS]
    assert [entry.function for entry in entries] == SCALARS
    assert [entry.proper for entry in entries] == [True, True, False, False]
