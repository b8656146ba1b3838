"""Geometric uncertainty, against its printed formulas in 60 digits and the Gaussian example."""

import math
import tracemalloc

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from caveat import Categorical
from caveat._blocks import BLOCK_ELEMENTS
from caveat.exceptions import InvalidValueError, OptionError, ShapeError, UnknownNameError
from caveat.uncertainty.measures.entropies import renyi_entropy, shannon_entropy
from caveat.uncertainty.measures.geometric import DISTANCES, geometric_uncertainty
from caveat.uncertainty.measures.simple import gini_impurity

ACCURACY = 1e-12  # what the module promises
NAMES = ["fisher-rao", "euclidean", "kullback-leibler", "renyi"]

EXTREME = [
    [1.0, 0.0, 0.0],
    [0.0, 0.5, 0.5],
    [1.0, 1e-300, 0.0],
    [1 - 1e-10, 1e-10, 0.0],
    [1 / 3, 1 / 3, 1 / 3],
    [1 / 3 + 1e-10, 1 / 3, 1 / 3 - 1e-10],
    [1 / 3 + 1e-13, 1 / 3, 1 / 3 - 1e-13],
]
GENERIC = np.random.default_rng(0).dirichlet([0.3, 0.3, 1.0], 10).tolist()


def fisher_rao(p, u):
    product = mp.fsum(mp.sqrt(x * y) for x, y in zip(p, u, strict=True))
    return 2 * mp.acos(min(product, mp.mpf(1)))


def euclidean(p, u):
    return mp.sqrt(mp.fsum((x - y) ** 2 for x, y in zip(p, u, strict=True)))


def kullback_leibler(p, u):
    return mp.fsum(x * mp.log(x / y) for x, y in zip(p, u, strict=True) if x > 0)


def renyi(p, u):
    return mp.log(mp.fsum(x**2 / y for x, y in zip(p, u, strict=True)))


LITERAL = dict(zip(NAMES, [fisher_rao, euclidean, kullback_leibler, renyi], strict=True))


def literal(name, row, order):
    """Definition 1 of one row in 60 digits."""
    with mp.workdps(60):
        numbers = [mp.mpf(x) for x in row]
        p = [x / mp.fsum(numbers) for x in numbers]
        u = [mp.mpf(1) / len(row)] * len(row)
        e = [mp.mpf(1)] + [mp.mpf(0)] * (len(row) - 1)
        return float(1 - (LITERAL[name](p, u) / LITERAL[name](e, u)) ** order)


@st.composite
def distributions(draw):
    weight = st.just(0.0) | st.floats(1e-300, 1.0)
    weights = np.array(draw(st.lists(weight, min_size=2, max_size=8).filter(any)))
    return weights / weights.max() / (weights / weights.max()).sum()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("order", [1, 2, 3, 7])
@pytest.mark.parametrize("rows", [EXTREME, GENERIC], ids=["extreme", "generic"])
def test_equals_the_definition(name, order, rows):
    expected = [literal(name, row, order) for row in rows]
    values = geometric_uncertainty(rows, name, order=order)
    np.testing.assert_allclose(values, expected, rtol=0, atol=ACCURACY)


@pytest.mark.parametrize("classes", [2, 5, 30])
def test_remarks_one_and_two(classes):
    p = np.random.default_rng(classes).dirichlet(np.full(classes, 0.5), 200)
    np.testing.assert_allclose(
        geometric_uncertainty(p, "euclidean", order=2), gini_impurity(p), rtol=0, atol=ACCURACY
    )
    np.testing.assert_allclose(
        geometric_uncertainty(p, "kullback-leibler", order=1),
        shannon_entropy(p),
        rtol=0,
        atol=ACCURACY,
    )


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, 1.5, 2.0, 10.0, math.inf])
def test_renyi_entropy_is_the_uncertainty_of_order_one(alpha):
    p = np.random.default_rng(0).dirichlet(np.full(5, 0.5), 200)
    values = geometric_uncertainty(p, "renyi", alpha=alpha)
    np.testing.assert_allclose(values, renyi_entropy(p, alpha), rtol=0, atol=ACCURACY)


@pytest.mark.parametrize(("name", "order"), list(zip(NAMES, [2, 2, 1, 1], strict=True)))
def test_order_by_default(name, order):
    np.testing.assert_array_equal(
        geometric_uncertainty(GENERIC, name), geometric_uncertainty(GENERIC, name, order=order)
    )
    assert DISTANCES[name].order == order


def test_distance_by_default_and_aliases():
    values = geometric_uncertainty(GENERIC)
    np.testing.assert_array_equal(values, geometric_uncertainty(GENERIC, "fisher-rao"))
    np.testing.assert_array_equal(values, geometric_uncertainty(GENERIC, "fr"))
    np.testing.assert_array_equal(
        geometric_uncertainty(GENERIC, "kl"), geometric_uncertainty(GENERIC, "kullback-leibler")
    )


class TestGaussianExample:
    """Three Gaussian classes in the plane, the third moving along the diagonal (section III.C)."""

    @staticmethod
    def posterior(x, position):
        """Equal priors, unit covariance."""
        means = np.array([[0, 0], [2, 0], [position, position]])
        return Categorical.from_logits([-((x - means) ** 2).sum(axis=1) / 2])

    @pytest.mark.parametrize("position", [0, 2])
    @pytest.mark.parametrize("name", NAMES)
    def test_a_point_as_far_from_all_classes(self, name, position):
        x = np.array([1, 1])
        peak = geometric_uncertainty(self.posterior(x, position), name)[0]
        assert peak == pytest.approx(1, abs=ACCURACY)
        for beside in (position - 0.01, position + 0.01):
            assert geometric_uncertainty(self.posterior(x, beside), name)[0] < peak

    def test_where_the_second_and_third_class_tie(self):
        for sign in (-1, 1):
            p = self.posterior(np.array([2.5, 2.5]), (5 + sign * math.sqrt(13)) / 2).mean[0]
            assert p[1] == pytest.approx(p[2], abs=ACCURACY)
            np.testing.assert_allclose(p, [0.024, 0.488, 0.488], rtol=0, atol=5e-4)

    @pytest.mark.parametrize(
        ("name", "peaks"),
        [
            ("kullback-leibler", (0.6582, 4.3418)),
            ("euclidean", (0.6845, 4.3155)),
            ("fisher-rao", (0.6144, 4.3856)),
        ],
    )
    def test_peaks_of_a_point_that_is_never_as_far_from_all(self, name, peaks):
        x = np.array([2.5, 2.5])

        def certainty(position):
            return -geometric_uncertainty(self.posterior(x, position), name)[0]

        for peak, bounds in zip(peaks, [(0, 2.5), (2.5, 5)], strict=True):
            found = minimize_scalar(certainty, bounds=bounds, method="bounded").x
            assert found == pytest.approx(peak, abs=1e-4)  # one unit of the last digit


@given(name=st.sampled_from(NAMES), p=distributions(), order=st.integers(1, 9), data=st.data())
def test_properties(name, p, order, data):
    value = geometric_uncertainty([p], name, order=order)[0]
    assert 0 <= value <= 1
    assert geometric_uncertainty([p], name, order=order + 1)[0] >= value - ACCURACY
    permuted = p[data.draw(st.permutations(range(len(p))))]
    again = geometric_uncertainty([permuted], name, order=order)[0]
    assert again == pytest.approx(value, abs=ACCURACY)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("classes", [2, 3, 6, 10, 49])
def test_vertices_and_the_uniform_distribution(name, classes):
    for order in (1, 2, 5):
        vertices = geometric_uncertainty(np.eye(classes), name, order=order)
        np.testing.assert_allclose(vertices, 0, rtol=0, atol=ACCURACY)
        assert not np.signbit(vertices).any()
        uniform = geometric_uncertainty(np.full((1, classes), 1 / classes), name, order=order)
        assert uniform[0] == pytest.approx(1, abs=ACCURACY)


class TestCallable:
    def test_named_distance_written_out(self):
        def by_numpy(p, u):
            return np.sqrt(((p - u) ** 2).sum(axis=1))

        np.testing.assert_allclose(
            geometric_uncertainty(GENERIC, by_numpy, order=2),
            geometric_uncertainty(GENERIC, "euclidean"),
            rtol=0,
            atol=ACCURACY,
        )

    def test_order_by_default_is_one(self):
        values = geometric_uncertainty([[0.75, 0.25]], lambda p, u: abs(p - u).sum(axis=1))
        np.testing.assert_array_equal(values, [0.5])

    def test_gets_blocks_and_the_uniform_distribution(self):
        seen = []

        def total_variation(p, u):
            seen.append(p.shape)
            assert u.tolist() == [0.25] * 4
            return abs(p - u).sum(axis=1) / 2

        p = np.random.default_rng(0).dirichlet(np.ones(4), BLOCK_ELEMENTS // 4 + 5)
        values = geometric_uncertainty(p, total_variation)
        assert seen == [(1, 4), (BLOCK_ELEMENTS // 4, 4), (5, 4)]
        expected = 1 - abs(p - 0.25).sum(axis=1) / 2 / 0.75
        np.testing.assert_allclose(values, expected, rtol=0, atol=ACCURACY)

    def test_of_the_wrong_shape(self):
        with pytest.raises(
            ShapeError,
            match=r"one number for each of the 1 rows it was given; got shape \(1, 2\)",
        ):
            geometric_uncertainty([[0.5, 0.5]], lambda p, u: abs(p - u))

    @pytest.mark.parametrize(("value", "words"), [(0.0, "0"), (math.inf, "inf"), (-1.0, "-1")])
    def test_of_no_use_at_the_vertices(self, value, words):
        with pytest.raises(InvalidValueError, match=f"must be positive and finite; got {words}$"):
            geometric_uncertainty([[0.5, 0.5]], lambda p, u: np.full(len(p), value))

    def test_larger_inside_than_at_the_vertices(self):
        with pytest.raises(
            InvalidValueError,
            match="of sample 1 from the uniform distribution is 2, outside 0 to 1, that of a ver",
        ):
            geometric_uncertainty([[1.0, 0.0], [0.5, 0.5]], lambda p, u: 1 / p.max(axis=1))

    def test_not_a_number(self):
        with pytest.raises(InvalidValueError, match=r"distance of sample 0 .* is nan"):
            geometric_uncertainty([[0.5, 0.5]], lambda p, u: np.where(p[:, 0] == 1, 1.0, np.nan))


@pytest.mark.parametrize("name", NAMES)
def test_members_are_averaged_first(name):
    members = np.random.default_rng(0).dirichlet(np.ones(4), (5, 30))
    mean = geometric_uncertainty(members.mean(axis=0), name)
    np.testing.assert_array_equal(geometric_uncertainty(members, name), mean)
    np.testing.assert_array_equal(geometric_uncertainty(Categorical(members), name), mean)


@pytest.mark.parametrize("name", NAMES)
def test_single_precision(name):
    p = np.random.default_rng(0).dirichlet(np.full(4, 5.0), 30)
    # Rounding moves each of 4 probabilities by 2^-25 at most; above 1e-4, where these all are, the
    # slope of each measure is below 64, half the root of 1e4.
    assert p.min() > 1e-4
    values = geometric_uncertainty(p.astype(np.float32), name)
    np.testing.assert_allclose(values, geometric_uncertainty(p, name), rtol=0, atol=4 * 64 * 2**-25)
    beyond = np.array([[1.000005, 0.0], [0.5000025, 0.5000025], [0.4999975, 0.4999975]], np.float32)
    values = geometric_uncertainty(beyond, name)
    assert values.min() >= 0
    assert values.max() <= 1


@pytest.mark.parametrize("name", NAMES)
def test_scratch_space_is_a_few_blocks(name):
    p = Categorical(np.random.default_rng(0).dirichlet(np.ones(6), 200_000))
    geometric_uncertainty(p, name)
    tracemalloc.start()
    geometric_uncertainty(p, name)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * len(p) + 3 * 8 * BLOCK_ELEMENTS < p.probabilities.nbytes


@pytest.mark.parametrize(
    ("order", "words"), [(0, "0"), (-1, "-1"), (1.5, "1.5"), (True, "True"), ("2", "'2'")]
)
def test_order_that_is_no_positive_integer(order, words):
    with pytest.raises(
        OptionError, match=f"^order must be a whole number of at least 1; got {words}$"
    ):
        geometric_uncertainty([[0.5, 0.5]], order=order)


def test_order_of_numpy_is_an_integer():
    np.testing.assert_array_equal(
        geometric_uncertainty(GENERIC, order=np.int64(3)), geometric_uncertainty(GENERIC, order=3)
    )


def test_unknown_distance():
    with pytest.raises(
        UnknownNameError, match="unknown distance 'fischer-rao'; did you mean 'fisher"
    ):
        geometric_uncertainty([[0.5, 0.5]], "fischer-rao")
    with pytest.raises(
        OptionError,
        match="must be a callable or one of fisher-rao, euclidean, kullback-leibler, renyi; got 2",
    ):
        geometric_uncertainty([[0.5, 0.5]], 2)


def test_alpha_out_of_range():
    with pytest.raises(OptionError, match=r"^alpha must be a number of at least 0; got -1$"):
        geometric_uncertainty([[0.5, 0.5]], "renyi", alpha=-1)
