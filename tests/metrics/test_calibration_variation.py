"""UCE and VCE against their equations written as loops."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.exceptions import InvalidValueError, OptionError, ShapeError
from caveat.metrics import (
    METRICS,
    expected_calibration_error,
    uncertainty_calibration_error,
    uncertainty_reliability_curve,
    variation_calibration_error,
    variation_reliability_curve,
)
from caveat.metrics.classification.variation import places
from caveat.uncertainty import gini_impurity, shannon_entropy


def draw(samples: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, classes, samples), rng.dirichlet(np.full(classes, 0.5), samples)


def entropy(p: Any) -> float:
    return -sum(x * math.log(x) for x in p if x > 0) / math.log(len(p))


def gini(p: Any) -> float:
    return (1 - sum(x * x for x in p)) * len(p) / (len(p) - 1)


def first(p: Any) -> float:
    return float(p[0])


def members(values: list[float], bins: int) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(bins)]
    for i, value in enumerate(values):
        found[min(int(value * bins), bins - 1)].append(i)
    return found


def literal_uce(y: Any, p: Any, w: Any, bins: int = 15) -> float:
    """Equations 10-12: the entropy is halved for two classes, after the bins are cut."""
    values = [entropy(row) for row in p]
    total = 0.0
    for rows in members(values, bins):
        weight = sum(w[i] for i in rows)
        if weight:
            error = sum(w[i] * (np.argmax(p[i]) != y[i]) for i in rows) / weight
            uncertain = sum(w[i] * values[i] for i in rows) / weight
            total += weight / sum(w) * abs(error - uncertain / (2 if len(p[0]) == 2 else 1))
    return total


def literal_vce(y: Any, p: Any, w: Any, measure: Callable[[Any], float], bins: int = 15) -> float:
    """C.1.4; the true class stands on every rank it can have among its equals."""
    values = [measure(sorted(row, reverse=True)) for row in p]
    total = 0.0
    for rows in members(values, bins):
        weight = sum(w[i] for i in rows)
        if not weight:
            continue
        ranks = [0.0] * len(p[0])
        for i in rows:
            better = sum(x > p[i][y[i]] for x in p[i])
            equal = sum(x == p[i][y[i]] for x in p[i])
            for rank in range(better, better + equal):
                ranks[rank] += w[i] / equal / weight
        predicted = sum(w[i] * values[i] for i in rows) / weight
        total += weight / sum(w) * abs(measure(ranks) - predicted)
    return total


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("weighted", [False, True])
def test_uncertainty_is_the_equation(classes: int, weighted: bool) -> None:
    y, p = draw(400, classes)
    w = np.random.default_rng(1).exponential(size=400) if weighted else None
    expected = literal_uce(y, p, np.ones(400) if w is None else w)
    found = uncertainty_calibration_error(y, p, sample_weight=w)
    assert found == pytest.approx(expected, rel=1e-11)


def test_uncertainty_is_halved_for_two_classes_only() -> None:
    """A uniform prediction is wrong in half of the cases of two, in 2/3 of those of three."""
    assert uncertainty_calibration_error([0, 1], [[0.5, 0.5]] * 2) == pytest.approx(0)
    third = [[1 / 3] * 3] * 3
    assert uncertainty_calibration_error([0, 1, 2], third) == pytest.approx(1 / 3)
    curve = uncertainty_reliability_curve([0, 1], [0.5, 0.5], bins=4)
    np.testing.assert_allclose([*curve.predicted, *curve.low, *curve.high], [0.5, 0.75, 1.0])


def test_zero_probabilities_have_no_entropy() -> None:
    assert uncertainty_calibration_error([0, 1], [[1, 0], [1, 0]]) == 0.5
    assert variation_calibration_error([0, 0], [[1, 0, 0], [1, 0, 0]]) == 0.0


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("name", "measure"), [("entropy", entropy), ("gini", gini), ("confidence", first)]
)
def test_variation_is_the_equation(
    classes: int, weighted: bool, name: str, measure: Callable[[Any], float]
) -> None:
    y, p = draw(300, classes)
    w = np.random.default_rng(1).exponential(size=300) if weighted else None
    expected = literal_vce(y, p, np.ones(300) if w is None else w, measure)
    found = variation_calibration_error(y, p, variation=name, sample_weight=w)
    assert found == pytest.approx(expected, rel=1e-10)

    def of_rows(ranked: np.ndarray) -> np.ndarray:
        return np.array([measure(row) for row in ranked])

    own = variation_calibration_error(y, p, variation=of_rows, sample_weight=w)
    assert own == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("bins", [1, 15])
def test_variation_of_confidence_is_the_expected_calibration_error(bins: int) -> None:
    y, p = draw(300, 5)
    found = variation_calibration_error(y, p, variation="confidence", bins=bins)
    assert found == pytest.approx(expected_calibration_error(y, p, bins=bins), rel=1e-11)


def test_two_classes_compare_entropies() -> None:
    """C.1.4: err is replaced by the entropy of the shares of right and wrong."""
    p = [[0.8, 0.2]] * 10
    y = [0] * 7 + [1] * 3
    expected = abs(entropy([0.7, 0.3]) - entropy([0.8, 0.2]))
    assert variation_calibration_error(y, p) == pytest.approx(expected, rel=1e-12)


def test_variation_is_neither_halved_nor_in_nats() -> None:
    """Certain outcomes under uniform predictions: 1, where nats would end at log 2."""
    p = np.array([0.5 - 1e-9] * 20)
    assert variation_calibration_error([0] * 20, p) == pytest.approx(1)


def test_ties_are_the_mean_over_orders() -> None:
    p = np.array([[0.4, 0.4, 0.2]] * 3)
    y = np.array([0, 1, 2])
    ranks = np.zeros(3)
    for first_one, second_one in itertools.product(range(2), range(2)):
        for rank in (first_one, second_one, 2):
            ranks[rank] += 1 / 4 / 3
    np.testing.assert_allclose(ranks, 1 / 3)
    expected = abs(1 - entropy(p[0]))
    assert variation_calibration_error(y, p) == pytest.approx(expected, rel=1e-12)
    weighted = variation_calibration_error(y, p, sample_weight=[1, 1, 1])
    assert weighted == pytest.approx(expected, rel=1e-12)


def test_measures_are_those_of_the_library() -> None:
    _, p = draw(50, 4)
    y = np.zeros(50, dtype=int)
    for name, function in (("entropy", shannon_entropy), ("gini", gini_impurity)):
        curve = variation_reliability_curve(y, p, variation=name, bins=1)
        assert curve.predicted[0] == pytest.approx(function(p).mean(), rel=1e-12)
        own = variation_calibration_error(y, p, variation=function)
        assert own == pytest.approx(variation_calibration_error(y, p, variation=name), rel=1e-10)


@pytest.mark.parametrize(
    "pair",
    [
        (uncertainty_calibration_error, uncertainty_reliability_curve),
        (variation_calibration_error, variation_reliability_curve),
    ],
)
def test_the_curve_has_the_number(pair: Any) -> None:
    number, make = pair
    y, p = draw(500, 3)
    curve = make(y, p)
    value = np.average(np.abs(curve.predicted - curve.observed), weights=curve.weight)
    assert number(y, p) == pytest.approx(value, rel=1e-12)
    assert curve.weight.sum() == 500
    assert (curve.low <= curve.predicted).all()
    assert (curve.predicted <= curve.high).all()


@pytest.mark.parametrize("function", [uncertainty_calibration_error, variation_calibration_error])
def test_degenerate_but_valid(function: Callable[..., float]) -> None:
    assert function([0], [[1.0, 0.0]]) == 0
    y, p = draw(20, 3)
    only = np.arange(20) == 4
    assert function(y, p, sample_weight=only) == pytest.approx(function(y[4:5], p[4:5]))
    assert 0 <= function(y, p, bins=1) <= 1


def test_what_variation_cannot_see() -> None:
    """Always wrong varies as little as always right; the confidence is another matter."""
    y, p = [1, 1], [[1.0, 0.0], [1.0, 0.0]]
    assert uncertainty_calibration_error(y, p) == 1
    assert variation_calibration_error(y, p) == 0
    assert variation_calibration_error(y, p, variation="confidence") == 1


def test_a_variation_of_ones_own_is_checked() -> None:
    y, p = draw(10, 3)
    with pytest.raises(OptionError, match="variation must be 'entropy', 'confidence', 'gini' or a"):
        variation_calibration_error(y, p, variation="variance")
    with pytest.raises(ShapeError, match=r"for 10 rows it returned shape \(10, 3\)"):
        variation_calibration_error(y, p, variation=lambda ranked: ranked)
    with pytest.raises(InvalidValueError, match=r"it returned 2 to 2\. Divide it"):
        variation_calibration_error(y, p, variation=lambda ranked: np.full(len(ranked), 2.0))
    with pytest.raises(InvalidValueError, match="it returned nan to nan"):
        variation_calibration_error(y, p, variation=lambda ranked: np.full(len(ranked), np.nan))


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(
        st.tuples(
            st.integers(0, 2), st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)
        ).filter(lambda row: any(row[1:])),
        min_size=1,
        max_size=10,
    ),
    weight=st.lists(st.integers(0, 3), min_size=10, max_size=10),
    bins=st.integers(1, 9),
    seed=st.integers(0, 99),
)
def test_weights_repeat_and_order_does_not_matter(
    counts: Any, weight: Any, bins: int, seed: int
) -> None:
    table = np.array(counts, dtype=float)
    y, p = table[:, 0].astype(int), table[:, 1:] / table[:, 1:].sum(axis=1, keepdims=True)
    w = np.array(weight[: len(y)])
    w[0] += 1
    rng = np.random.default_rng(seed)
    rows = rng.permutation(np.repeat(np.arange(len(y)), w))
    for function in (uncertainty_calibration_error, variation_calibration_error):
        weighted = function(y, p, sample_weight=w, bins=bins)
        repeated = function(y[rows], p[rows], bins=bins)
        assert 0 <= weighted <= 1 + 1e-12
        assert weighted == pytest.approx(repeated, rel=1e-12, abs=1e-14)
    # Ranks have no first of equals: the classes may come in any order, ties or not.
    order = rng.permutation(3)
    permuted = variation_calibration_error(
        np.argsort(order)[y], p[:, order], sample_weight=w, bins=bins, variation="confidence"
    )
    found = variation_calibration_error(y, p, sample_weight=w, bins=bins, variation="confidence")
    assert found == pytest.approx(permuted, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("variation", ["entropy", "gini", "confidence"])
def test_a_state_has_the_value_of_each_variation(variation):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), 300)
    y = rng.integers(0, 4, 300)
    state = METRICS["variation_calibration_error"].state(y, p, variation=variation)
    wanted = variation_calibration_error(y, p, variation=variation)
    assert METRICS["variation_calibration_error"].value(state) == pytest.approx(wanted)


def test_ranks_among_more_classes_than_a_byte_counts() -> None:
    rng = np.random.default_rng(0)
    p = rng.multinomial(400, np.full(300, 1 / 300), 50) / 400
    codes = rng.integers(0, 300, 50)
    better, equal = places(p, codes)
    true = [row[k] for row, k in zip(p, codes, strict=True)]
    assert better.tolist() == [sum(row > t) for row, t in zip(p, true, strict=True)]
    assert equal.tolist() == [sum(row == t) for row, t in zip(p, true, strict=True)]
