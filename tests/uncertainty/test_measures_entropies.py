"""Entropies, against their printed formulas in 60 digits."""

import math
import tracemalloc

import mpmath as mp
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from caveat import Categorical
from caveat._blocks import BLOCK_ELEMENTS
from caveat.exceptions import OptionError
from caveat.uncertainty.measures.entropies import (
    renyi_entropy,
    shannon_entropy,
    t_entropy,
    tsallis_entropy,
)
from caveat.uncertainty.measures.simple import gini_impurity

ACCURACY = 1e-12  # what the module promises, absolute and relative
NEAR_ONE = [1 - 1e-3, 1 - 1e-6, 1 - 1e-10, math.nextafter(1, 0)]
NEAR_ONE += [math.nextafter(1, 2), 1 + 1e-10, 1 + 1e-6, 1 + 1e-3]
ALPHAS = [0.0, 1e-9, 0.1, math.nextafter(0.5, 0), 0.5, 0.75, *NEAR_ONE, 1.0, 1.3]
# No more than 1e3 where the value itself moves by alpha times the rounding of the probabilities.
ALPHAS += [1.5, math.nextafter(1.5, 2), 1.9, 2.0, math.nextafter(2, 3), 3.0, 10.0, 1e3]
MEASURES = [shannon_entropy, renyi_entropy, tsallis_entropy, t_entropy]

EXTREME = [
    [1.0, 0.0, 0.0],
    [0.0, 0.5, 0.5],
    [1.0, 1e-300, 0.0],
    [1.0, 5e-324, 1e-310],
    [1 - 1e-10, 1e-10, 0.0],
    [0.5, 0.5 - 1e-17, 1e-17],
    [0.4, 0.6 - 1e-5, 1e-5],
    [1 / 3, 1 / 3, 1 / 3],
    [1 / 3 + 1e-9, 1 / 3, 1 / 3 - 1e-9],
]
GENERIC = np.random.default_rng(0).dirichlet([0.3, 0.3, 1.0], 6).tolist()


def exactly(row):
    """The row in 60 digits, made to sum to 1 in 60 digits, without its zeros."""
    numbers = [mp.mpf(p) for p in row if p > 0]
    return [p / mp.fsum(numbers) for p in numbers]


def shannon(p, alpha):
    return -mp.fsum(x * mp.log(x) for x in p)


def renyi(p, alpha):
    if alpha == 1:
        return shannon(p, alpha)
    if alpha == math.inf:
        return -mp.log(max(p))
    return mp.log(mp.fsum(x ** mp.mpf(alpha) for x in p)) / (1 - mp.mpf(alpha))


def tsallis(p, alpha):
    if alpha == 1:
        return shannon(p, alpha)
    return (1 - mp.fsum(x ** mp.mpf(alpha) for x in p)) / (mp.mpf(alpha) - 1)


def t(p, alpha):
    return mp.fsum(x * mp.atan(x ** -mp.mpf(alpha)) for x in p) - mp.pi / 4


def check_against(formula, measure, rows, alpha=None):
    """Both the raw and the scaled values."""
    options = {} if alpha is None else {"alpha": alpha}
    classes = len(rows[0])
    with mp.workdps(60):
        raw = [formula(exactly(row), alpha) for row in rows]
        maximum = formula([mp.mpf(1) / classes] * classes, alpha)
        scaled = [float(value / maximum) for value in raw]
        raw = [float(value) for value in raw]
    tolerance = {"rtol": ACCURACY, "atol": ACCURACY}
    np.testing.assert_allclose(measure(rows, scaled=False, **options), raw, **tolerance)
    np.testing.assert_allclose(measure(rows, **options), scaled, **tolerance)


@st.composite
def distributions(draw):
    weight = st.just(0.0) | st.floats(1e-300, 1.0)
    weights = np.array(draw(st.lists(weight, min_size=2, max_size=8).filter(any)))
    return weights / weights.max() / (weights / weights.max()).sum()


@pytest.mark.parametrize("rows", [EXTREME, GENERIC], ids=["extreme", "generic"])
class TestFormulas:
    def test_shannon(self, rows):
        check_against(shannon, shannon_entropy, rows)

    @pytest.mark.parametrize("alpha", [*ALPHAS, 1e8, 1e300, math.inf])
    def test_renyi(self, rows, alpha):
        check_against(renyi, renyi_entropy, rows, alpha)

    @pytest.mark.parametrize("alpha", ALPHAS)
    def test_tsallis(self, rows, alpha):
        check_against(tsallis, tsallis_entropy, rows, alpha)

    @pytest.mark.parametrize("alpha", [1e-9, 0.1, *NEAR_ONE, 1.0, 2.5, 30.0, 1e3])
    def test_t(self, rows, alpha):
        check_against(t, t_entropy, rows, alpha)


def test_large_alpha_neither_overflows_nor_warns():
    rows = [[0.5, 0.5, 0.0], [0.7, 0.3, 0.0], [1.0, 0.0, 0.0], [1 + 1e-9, 0.0, 0.0]]
    top = [-math.log(0.5), -math.log(0.7), 0, 0]
    np.testing.assert_allclose(renyi_entropy(rows, 1e308, scaled=False), top, rtol=ACCURACY)
    np.testing.assert_array_equal(tsallis_entropy(rows, 1e308), [1, 1, 0, 0])
    np.testing.assert_allclose(t_entropy(rows, 1e308), [1, 1, 0, 0], rtol=ACCURACY)


def test_tsallis_at_a_large_alpha_of_a_row_that_rounding_put_above_one():
    np.testing.assert_array_equal(tsallis_entropy([[1 + 1e-9, 0.0]], 1e13), [0])


@pytest.mark.parametrize("alpha", [1.5, math.nextafter(1.5, 2), 1.9])
def test_many_classes(alpha):
    classes = 100_000
    p = np.full((1, classes), 1 / classes)
    value = renyi_entropy(p, alpha, scaled=False)[0]
    # What a sum of so many terms may lose, in whatever order it is taken.
    rounding = classes * np.finfo(float).eps
    assert value == pytest.approx(math.log(classes), rel=rounding)


def test_defaults_are_those_of_the_published_comparison():
    np.testing.assert_array_equal(renyi_entropy(GENERIC), renyi_entropy(GENERIC, alpha=2))
    np.testing.assert_array_equal(tsallis_entropy(GENERIC), tsallis_entropy(GENERIC, alpha=1.5))
    np.testing.assert_array_equal(t_entropy(GENERIC), t_entropy(GENERIC, alpha=1))


def test_shannon_equals_scipy():
    p = np.random.default_rng(0).dirichlet(np.ones(7), 100)
    expected = scipy.stats.entropy(p, axis=1)
    np.testing.assert_allclose(shannon_entropy(p, scaled=False), expected, rtol=ACCURACY)
    np.testing.assert_allclose(shannon_entropy(p), expected / math.log(7), rtol=ACCURACY)


def test_known_members_of_the_families():
    p = np.array([[0.5, 0.3, 0.2, 0.0], [0.25, 0.25, 0.25, 0.25]])
    np.testing.assert_allclose(renyi_entropy(p, 0, scaled=False), np.log([3, 4]))
    np.testing.assert_allclose(renyi_entropy(p, math.inf, scaled=False), -np.log([0.5, 0.25]))
    np.testing.assert_array_equal(renyi_entropy(p, 1), shannon_entropy(p))
    np.testing.assert_array_equal(tsallis_entropy(p, 1), shannon_entropy(p))
    np.testing.assert_allclose(tsallis_entropy(p, 0, scaled=False), [2, 3])
    np.testing.assert_allclose(tsallis_entropy(p, 2), gini_impurity(p))


@given(
    measure=st.sampled_from([renyi_entropy, tsallis_entropy]),
    p=distributions(),
    alpha=st.sampled_from([0.5, 1.0, 1.5, 2.0]) | st.floats(0, 20),
)
def test_alpha_is_continuous_at_the_seams(measure, p, alpha):
    # Between neighboring alphas the values differ by rounding, whichever form computes them; at 0
    # the limit counts the classes, and a probability of 1e-300 is then one more class.
    before, after = measure([p], alpha), measure([p], math.nextafter(alpha, 21) if alpha else alpha)
    np.testing.assert_allclose(before, after, rtol=0, atol=ACCURACY)


FAMILIES = st.one_of(
    st.just((shannon_entropy, {})),
    st.tuples(st.just(renyi_entropy), st.builds(dict, alpha=st.floats(0, math.inf))),
    st.tuples(st.just(tsallis_entropy), st.builds(dict, alpha=st.floats(0, 1e6))),
    st.tuples(st.just(t_entropy), st.builds(dict, alpha=st.floats(1e-6, 1e6))),
)


@given(p=distributions(), family=FAMILIES, data=st.data())
def test_properties(p, family, data):
    measure, options = family
    value = measure([p], **options)[0]
    assert 0 <= value <= 1
    assert measure([p], scaled=False, **options)[0] >= 0
    permuted = p[data.draw(st.permutations(range(len(p))))]
    assert measure([permuted], **options)[0] == pytest.approx(value, rel=ACCURACY, abs=ACCURACY)
    vertices, uniform = np.eye(len(p)), np.full((1, len(p)), 1 / len(p))
    assert measure(vertices, **options).tolist() == [0] * len(p)
    assert not np.signbit(measure(vertices, **options)).any()
    assert measure(uniform, **options)[0] == pytest.approx(1, abs=ACCURACY)


@given(p=distributions(), alpha=st.floats(0, 50), step=st.floats(0, 50))
def test_renyi_does_not_increase_with_alpha(p, alpha, step):
    first, second = renyi_entropy([p], alpha)[0], renyi_entropy([p], alpha + step)[0]
    assert second <= first + ACCURACY


@pytest.mark.parametrize("measure", MEASURES)
def test_members_are_averaged_first(measure):
    members = np.random.default_rng(0).dirichlet(np.ones(4), (5, 30))
    np.testing.assert_array_equal(measure(members), measure(members.mean(axis=0)))
    np.testing.assert_array_equal(measure(Categorical(members)), measure(members))


@pytest.mark.parametrize("measure", MEASURES)
def test_single_precision(measure):
    p = np.random.default_rng(0).dirichlet(np.full(4, 5.0), 30)
    # Rounding moves each of 4 probabilities by 2^-25 at most; above 1e-4, where these all are, the
    # slope of each scaled entropy is below 16.
    assert p.min() > 1e-4
    np.testing.assert_allclose(measure(p.astype(np.float32)), measure(p), rtol=0, atol=64 * 2**-25)
    beyond = np.array([[1.000005, 0.0], [0.5000025, 0.5000025], [0.4999975, 0.4999975]], np.float32)
    values = measure(beyond)
    assert values.min() >= 0
    assert values.max() <= 1


@pytest.mark.parametrize("alpha", [0.3, 1.2, 2.0, 4.0, math.inf])
def test_blocks_do_not_show(alpha):
    step = BLOCK_ELEMENTS // 6
    p = np.random.default_rng(0).dirichlet(np.ones(6), 2 * step + 3)
    values, part = renyi_entropy(p, alpha), slice(step - 2, None)
    np.testing.assert_allclose(values[part], renyi_entropy(p[part], alpha), rtol=0, atol=ACCURACY)


@pytest.mark.parametrize("measure", MEASURES)
def test_scratch_space_is_a_few_blocks(measure):
    p = Categorical(np.random.default_rng(0).dirichlet(np.ones(6), 200_000))
    measure(p)
    tracemalloc.start()
    measure(p)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * len(p) + 3 * 8 * BLOCK_ELEMENTS < p.probabilities.nbytes


@pytest.mark.parametrize(
    ("measure", "alpha", "message"),
    [
        (renyi_entropy, -0.5, "alpha must be a number of at least 0; got -0.5"),
        (renyi_entropy, math.nan, "alpha must be a number of at least 0; got nan"),
        (renyi_entropy, "2", "alpha must be a number of at least 0; got '2'"),
        (tsallis_entropy, -1, "alpha must be a finite number of at least 0; got -1"),
        (tsallis_entropy, math.inf, "alpha must be a finite number of at least 0; got inf"),
        (tsallis_entropy, None, "alpha must be a finite number of at least 0; got None"),
        (t_entropy, 0, "alpha must be a finite number above 0; got 0"),
        (t_entropy, math.inf, "alpha must be a finite number above 0; got inf"),
    ],
)
def test_alpha_out_of_range(measure, alpha, message):
    with pytest.raises(OptionError, match=f"^{message}$"):
        measure([[0.5, 0.5]], alpha=alpha)


def test_alpha_of_numpy_is_a_number():
    expected = renyi_entropy(GENERIC, 3.0)
    np.testing.assert_array_equal(renyi_entropy(GENERIC, np.float32(3)), expected)
    np.testing.assert_array_equal(renyi_entropy(GENERIC, np.int64(3)), expected)
