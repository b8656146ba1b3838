"""The kernels behind ranking: the receiver operating characteristic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import metrics as sk

from caveat.metrics._core.roc import area_of, precision_of, roc_points


def area_under_roc(positive, score, weight):
    return float(area_of(*roc_points(positive, score, weight)[1:]))


def average_precision(positive, score, weight):
    return float(precision_of(*roc_points(positive, score, weight)[1:]))


RNG = np.random.default_rng(20)
MANY = 20_480

KEYS = {
    "uniform": RNG.random(MANY),
    "both signs": RNG.normal(size=MANY),
    "negative only": -RNG.exponential(size=MANY),
    "ties": RNG.integers(-40, 40, MANY) / 8,
    "zeros of both signs": RNG.choice([0.0, -0.0, 1.0, -1.0], MANY),
    "constant": np.full(MANY, 0.3),
    "right and wrong": RNG.choice([0.0, 1.0], MANY),
    "two zeros": RNG.choice([0.0, -0.0], MANY),
    "in order": np.arange(MANY) / MANY,
    "in a few bits": np.arange(MANY)[::-1] * 5e-324,
    # One value far away makes the others share their high bits.
    "low bits decide": np.append(1e-300, 1 + RNG.random(MANY - 1) * 2.0**-20),
    "crowded": np.concatenate([[1e300, -1e300], 1 + RNG.random(MANY - 2) * 1e-9]),
    "small": RNG.normal(size=100),
    "infinite": np.append(RNG.normal(size=MANY), [np.inf, -np.inf]),
}


def cases():
    for name, key in KEYS.items():
        if name != "infinite":
            yield name, key, RNG.random(len(key)) < 0.3, RNG.integers(0, 4, len(key)) / 3


@pytest.mark.parametrize(("name", "score", "positive", "weight"), list(cases()))
def test_areas_are_those_of_scikit_learn(name, score, positive, weight):
    for w in (None, weight):
        area = sk.roc_auc_score(positive, score, sample_weight=w)
        assert_allclose(area_under_roc(positive, score, w), area, rtol=1e-12)
        precision = sk.average_precision_score(positive, score, sample_weight=w)
        assert_allclose(average_precision(positive, score, w), precision, rtol=1e-12)


def test_points_are_those_of_scikit_learn():
    score, positive = KEYS["ties"], RNG.random(MANY) < 0.5
    threshold, false, true = roc_points(positive, score, None)
    rates = sk.roc_curve(positive, score, drop_intermediate=False)
    assert_allclose(false / false[-1], rates[0][1:], rtol=1e-12)
    assert_allclose(true / true[-1], rates[1][1:], rtol=1e-12)
    assert_array_equal(threshold, rates[2][1:])


def pairs_won(positive, score, weight):
    """Count, pair by pair."""
    won = total = 0.0
    for i in np.flatnonzero(positive):
        for j in np.flatnonzero(~positive):
            pair = weight[i] * weight[j]
            total += pair
            won += pair * ((score[i] > score[j]) + (score[i] == score[j]) / 2)
    return won / total if total else np.nan


@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(-3, 3), st.integers(0, 3)), min_size=1, max_size=12
    ).filter(lambda rows: sum(row[2] for row in rows) > 0)
)
def test_area_counts_pairs_and_weight_is_repetition(rows):
    positive, score, weight = (np.array(column) for column in zip(*rows, strict=True))
    score, weight = score / 2, weight.astype(float)
    area = area_under_roc(positive, score, weight)
    assert_allclose(area, pairs_won(positive, score, weight), rtol=1e-12)
    repeats = weight.astype(int)
    repeated = (np.repeat(positive, repeats), np.repeat(score, repeats))
    assert_allclose(area_under_roc(*repeated, None), area, rtol=1e-12)
    assert_allclose(
        average_precision(*repeated, None), average_precision(positive, score, weight), rtol=1e-12
    )


def test_one_kind_only_has_no_area():
    score, all_of_them = np.array([0.1, 0.2]), np.array([True, True])
    assert np.isnan(area_under_roc(all_of_them, score, None))
    assert np.isnan(area_under_roc(~all_of_them, score, None))
    assert np.isnan(area_under_roc(np.array([True, False]), score, np.array([1.0, 0.0])))
    assert average_precision(all_of_them, score, None) == 1
    assert np.isnan(average_precision(~all_of_them, score, None))


def test_a_count_is_exact():
    # The k-th of 1000 positives beats k negatives; one more beats five and ties with one.
    score = np.concatenate([np.arange(1000), np.arange(1000) + 0.5, [5.0]])
    positive = np.arange(2001) >= 1000
    won = sum(range(1, 1001)) + 5.5
    assert area_under_roc(positive, score, None) == won / (1000 * 1001)
