"""Measures without parameters, against loops that spell out their definitions."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat import Categorical, Gaussian
from caveat._blocks import BLOCK_ELEMENTS
from caveat.exceptions import InvalidValueError, ShapeError, UnsupportedPredictionError
from caveat.uncertainty.measures.simple import (
    binary_variance,
    confused_classes,
    gini_impurity,
    least_confidence,
    margin,
)

MEASURES = [least_confidence, margin, gini_impurity, binary_variance, confused_classes]
SCALABLE = {least_confidence, gini_impurity, binary_variance}
ROUNDING = 1e-14  # a sum of some ten terms of at most 1 in double precision


def literal(measure, row, scaled):
    """One row, one loop for each definition."""
    classes = len(row)
    ordered = sorted(row, reverse=True)
    if measure is least_confidence:
        return (1 - ordered[0]) / (1 - 1 / classes if scaled else 1)
    if measure is margin:
        return 1 - (ordered[0] - ordered[1])
    if measure is gini_impurity:
        both = 0.0
        for i in range(classes):
            for j in range(classes):
                both += row[i] * row[j] if i != j else 0
        return both * (classes / (classes - 1) if scaled else 1)
    if measure is binary_variance:
        return ordered[0] * (1 - ordered[0]) * (4 if scaled else 1)
    return sum(1 for p in row if p > 1 / classes)


@st.composite
def distributions(draw):
    weight = st.just(0.0) | st.floats(1e-300, 1.0)
    weights = np.array(draw(st.lists(weight, min_size=2, max_size=8).filter(any)))
    return weights / weights.max() / (weights / weights.max()).sum()


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("classes", [2, 3, 6, 11])
def test_equals_its_definition(measure, classes):
    p = np.random.default_rng(classes).dirichlet(np.full(classes, 0.5), 50)
    expected = [literal(measure, row, scaled=True) for row in p.tolist()]
    np.testing.assert_allclose(measure(p), expected, rtol=0, atol=ROUNDING)
    if measure in SCALABLE:
        expected = [literal(measure, row, scaled=False) for row in p.tolist()]
        np.testing.assert_allclose(measure(p, scaled=False), expected, rtol=0, atol=ROUNDING)


@given(measure=st.sampled_from(MEASURES), p=distributions(), data=st.data())
def test_order_of_classes_does_not_matter(measure, p, data):
    permuted = p[data.draw(st.permutations(range(len(p))))]
    np.testing.assert_allclose(measure([p]), measure([permuted]), rtol=0, atol=ROUNDING)


@given(p=distributions())
def test_lies_between_zero_and_one(p):
    for measure in (least_confidence, margin, gini_impurity, binary_variance):
        assert 0 <= measure([p])[0] <= 1


@given(p=distributions())
def test_confused_classes_number_at_least_one_unless_uniform(p):
    number = confused_classes([p])[0]
    assert 0 <= number < len(p)
    assert number > 0 or np.allclose(p, 1 / len(p), rtol=1e-8)


@pytest.mark.parametrize("classes", [2, 3, 6, 10, 49])
def test_vertices_and_the_uniform_distribution(classes):
    vertices, uniform = np.eye(classes), np.full((1, classes), 1 / classes)
    for measure in (least_confidence, margin, gini_impurity):
        assert (measure(vertices) == 0).all()
        assert measure(uniform)[0] == pytest.approx(1, abs=ROUNDING)
    assert (binary_variance(vertices) == 0).all()
    assert (confused_classes(vertices) == 1).all()
    assert confused_classes(uniform)[0] == 0


def test_margin_is_largest_wherever_two_classes_tie():
    np.testing.assert_array_equal(margin([[0.5, 0.5, 0.0], [0.4, 0.2, 0.4]]), [1, 1])


def test_binary_variance_sees_the_largest_probability_alone():
    first, second = binary_variance([[0.51, 0.49, 0, 0], [0.51, 0.19, 0.15, 0.15]])
    assert first == second
    first, second = binary_variance([[0.35, 0.25, 0.25, 0.15], [0.65, 0.35, 0, 0]])
    assert first == pytest.approx(second, abs=ROUNDING)
    half, uniform = binary_variance([[0.5, 0.5, 0, 0], [0.25, 0.25, 0.25, 0.25]])
    assert half == 1 > uniform == 0.75


@pytest.mark.parametrize("precision", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("classes", [3, 6, 7, 10, 49])
def test_no_class_is_confused_by_rounding(precision, classes):
    for members in (1, 3, 7, 10, 15):
        uniform = np.full((members, 1, classes), 1 / classes, dtype=precision)
        assert confused_classes(uniform)[0] == 0


def test_confused_classes_are_integers():
    numbers = confused_classes([[0.35, 0.3, 0.3, 0.05]])
    assert numbers.dtype == np.intp
    assert numbers.tolist() == [3]


@pytest.mark.parametrize("measure", MEASURES)
def test_members_are_averaged_first(measure):
    members = np.random.default_rng(0).dirichlet(np.ones(4), (5, 30))
    np.testing.assert_array_equal(measure(members), measure(members.mean(axis=0)))
    np.testing.assert_array_equal(measure(Categorical(members)), measure(members))


@pytest.mark.parametrize("measure", MEASURES)
def test_accepts_frames_and_single_precision(measure):
    p = np.random.default_rng(0).dirichlet(np.ones(4), 30)
    frame = pd.DataFrame(p, columns=list("abcd"))
    np.testing.assert_array_equal(measure(frame), measure(p))
    # Rounding moves each of 4 probabilities by 2^-25 at most; no measure has a slope above 4.
    np.testing.assert_allclose(measure(p.astype(np.float32)), measure(p), rtol=0, atol=16 * 2**-25)


@pytest.mark.parametrize("measure", MEASURES)
def test_single_precision_stays_in_range(measure):
    rows = np.array([[1.000005, 0.0], [0.5000025, 0.5000025], [0.4999975, 0.4999975]], np.float32)
    values = measure(rows)
    assert values.min() >= 0
    assert values.max() <= 1
    assert not np.signbit(values).any()


@pytest.mark.parametrize("measure", MEASURES)
def test_blocks_do_not_show(measure):
    classes = 6
    rows = 2 * (BLOCK_ELEMENTS // classes) + 3
    p = np.random.default_rng(0).dirichlet(np.ones(classes), rows)
    values = measure(p)
    assert values.shape == (rows,)
    part = slice(BLOCK_ELEMENTS // classes - 2, None)
    np.testing.assert_allclose(values[part], measure(p[part]), rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("measure", MEASURES)
def test_scratch_space_is_a_few_blocks(measure):
    p = Categorical(np.random.default_rng(0).dirichlet(np.ones(6), 200_000))
    measure(p)
    tracemalloc.start()
    measure(p)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    results = 2 * 8 * len(p)  # confused_classes holds its numbers as floats first
    assert peak < results + 3 * 8 * BLOCK_ELEMENTS < p.probabilities.nbytes


def test_a_row_longer_than_a_block():
    p = np.full((2, BLOCK_ELEMENTS + 1), 1 / (BLOCK_ELEMENTS + 1))
    np.testing.assert_allclose(gini_impurity(p), [1, 1], rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("measure", MEASURES)
def test_says_what_is_wrong(measure):
    with pytest.raises(InvalidValueError, match=r"of sample 1 sum to 0\.9; pass normalize=True"):
        measure([[0.5, 0.5], [0.5, 0.4]])
    with pytest.raises(ShapeError, match="at least two classes"):
        measure([[1.0], [1.0]])
    with pytest.raises(
        UnsupportedPredictionError,
        match="defined for class probabilities; expected a Categorical or an array, got a Gaussian",
    ):
        measure(Gaussian([0.0], [1.0]))
