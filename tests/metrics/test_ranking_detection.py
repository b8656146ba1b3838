"""Finding wrong predictions, and samples from elsewhere."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn import metrics as sk

from caveat import metrics
from caveat.exceptions import InvalidValueError, OptionError, ShapeError
from caveat.metrics import (
    detection_average_precision_score,
    detection_roc_auc_score,
    error_detection_auroc_score,
    false_positive_rate_at_true_positive_rate_error,
)

METRICS = [
    error_detection_auroc_score,
    detection_roc_auc_score,
    detection_average_precision_score,
    false_positive_rate_at_true_positive_rate_error,
]


def sample(size=800, seed=0, decimals=None):
    rng = np.random.default_rng(seed)
    is_out = rng.random(size) < 0.3
    score = rng.normal(size=size) + is_out
    return is_out, score if decimals is None else np.round(score, decimals)


def peer_rate(is_out, score, rate, weight=None):
    """Read the rate off scikit-learn's curve: the first point that reaches it."""
    false, true, _ = sk.roc_curve(is_out, score, sample_weight=weight, drop_intermediate=False)
    return false[np.flatnonzero(true >= rate)[0]]


@pytest.mark.parametrize("decimals", [None, 1])
@pytest.mark.parametrize("weighted", [False, True])
def test_scikit_learn_agrees(decimals, weighted):
    is_out, score = sample(decimals=decimals)
    weight = np.random.default_rng(1).random(len(score)) if weighted else None
    area = sk.roc_auc_score(is_out, score, sample_weight=weight)
    for metric in (detection_roc_auc_score, error_detection_auroc_score):
        assert_allclose(metric(is_out, score, sample_weight=weight), area, rtol=1e-9)
    assert_allclose(
        detection_average_precision_score(is_out, score, sample_weight=weight),
        sk.average_precision_score(is_out, score, sample_weight=weight),
        rtol=1e-9,
    )
    for rate in (0.5, 0.8, 0.95, 0.99):
        value = false_positive_rate_at_true_positive_rate_error(
            is_out, score, true_positive_rate=rate, sample_weight=weight
        )
        assert_allclose(value, peer_rate(is_out, score, rate, weight), rtol=1e-9)


def test_example_of_a_peer():
    # Printed in the documentation of torch-uncertainty's FPRx.
    score, is_out = [0.9, 0.8, 0.7, 0.6, 0.4, 0.2, 0.1], [1, 0, 1, 0, 0, 1, 0]
    assert false_positive_rate_at_true_positive_rate_error(is_out, score) == 0.75


def test_rate_that_is_reached_exactly_counts():
    # 19 of 20 are 95 %; the twentieth scores below everything.
    score = np.concatenate([np.arange(100, 119), [-1.0], np.arange(50), [200.0]])
    is_out = np.arange(71) < 20
    rate = false_positive_rate_at_true_positive_rate_error
    assert rate(is_out, score) == 1 / 51
    # Sums of 0.1 round, and must not miss it by that.
    assert rate(is_out, score, sample_weight=np.full(71, 0.1)) == pytest.approx(1 / 51)
    assert rate(is_out, score, true_positive_rate=1) == 1


@given(st.integers(0, 60), st.integers(0, 10**6))
def test_threshold_is_the_highest_that_reaches_the_rate(percent, seed):
    rng = np.random.default_rng(seed)
    is_out, score = np.arange(30) < 12, rng.integers(0, 8, 30)
    rate = (percent + 40) / 100
    reaching = [t for t in set(score) if np.mean(score[is_out] >= t) >= rate - 1e-12]
    expected = np.mean(score[~is_out] >= max(reaching))
    value = false_positive_rate_at_true_positive_rate_error(is_out, score, true_positive_rate=rate)
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("decimals", [None, 1])
@pytest.mark.parametrize("metric", METRICS)
def test_weight_is_repetition_and_only_the_order_counts(metric, decimals):
    is_out, score = sample(decimals=decimals)
    weight = np.random.default_rng(2).integers(0, 4, len(score))
    assert_allclose(
        metric(is_out, score, sample_weight=weight),
        metric(np.repeat(is_out, weight), np.repeat(score, weight)),
        rtol=1e-12,
    )
    rows = np.random.default_rng(3).permutation(len(score))
    assert_allclose(metric(is_out[rows], score[rows]), metric(is_out, score), rtol=1e-12)
    assert_allclose(metric(is_out, np.exp(score)), metric(is_out, score), rtol=1e-12)


def test_perfect_and_constant_scores():
    is_out = np.array([True, False, True, False, False])
    assert [metric(is_out, is_out) for metric in METRICS] == [1, 1, 1, 0]
    assert [metric(is_out, np.ones(5)) for metric in METRICS] == [0.5, 0.5, 0.4, 1]


@pytest.mark.parametrize("metric", METRICS)
def test_nothing_to_find(metric):
    assert math.isnan(metric([0, 0], [0.1, 0.2]))
    assert math.isnan(metric([0], [0.1]))


def test_nothing_but_what_is_to_be_found():
    everything = [(True, True), (0.1, 0.2)]
    assert [metric(*everything) for metric in METRICS if metric is not METRICS[2]] == [
        pytest.approx(math.nan, nan_ok=True)
    ] * 3
    assert detection_average_precision_score(*everything) == 1


@pytest.mark.parametrize(
    ("metric", "flag", "score"),
    [
        (METRICS[0], "wrong", "uncertainty"),
        *((metric, "is_out", "score") for metric in METRICS[1:]),
    ],
)
def test_bad_input_is_refused_in_words(metric, flag, score):
    with pytest.raises(InvalidValueError, match=f"{flag} of sample 2 is 2; pass booleans, or 0"):
        metric([0, 1, 2], [1, 2, 3])
    with pytest.raises(InvalidValueError, match=f"{flag} of sample 0 is nan; pass booleans"):
        metric([np.nan, 1], [1, 2])
    with pytest.raises(InvalidValueError, match=f"{flag} must be real numbers"):
        metric(["in", "out"], [1, 2])
    with pytest.raises(InvalidValueError, match=f"{score} of sample 1 is inf"):
        metric([0, 1], [1, np.inf])
    with pytest.raises(ShapeError, match=f"{score} has 3 samples, {flag} has 2"):
        metric([0, 1], [1, 2, 3])
    with pytest.raises(ShapeError, match=f"sample_weight has 1 samples, {flag} has 2"):
        metric([0, 1], [1, 2], sample_weight=[1])


@pytest.mark.parametrize("rate", [0, 1.5, math.nan, "most", None])
def test_rate_has_to_be_one(rate):
    with pytest.raises(OptionError, match="true_positive_rate must be a number above 0"):
        false_positive_rate_at_true_positive_rate_error([0, 1], [1, 2], true_positive_rate=rate)


def test_entries_name_their_functions():
    entries = [
        entry for entry in metrics.METRICS.values() if entry.task in ("ranking", "detection")
    ]
    for entry in entries:
        assert getattr(metrics, entry.name) is entry.function
        assert entry.inputs == (entry.function.__code__.co_varnames[1],)
        assert (entry.task == "detection") == (entry.inputs == ("score",))
    aliases = {alias for entry in entries for alias in entry.aliases}
    assert aliases == {
        *("auco", "error_drop", "decrease_ratio", "aurc", "e_aurc", "spearman"),
        *("auroc_error", "ood_auc", "ood_ap", "fpr95"),
    }
