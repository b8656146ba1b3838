"""Reference values: what metrics would be if the prediction were honest."""

import numpy as np
import pytest
from scipy.stats import spearmanr

import caveat
from caveat.evaluation import reference_values
from caveat.exceptions import UnsupportedPredictionError


def one(rows, name):
    (row,) = [row for row in rows if row.metric == name]
    return row


def test_the_design_of_the_test_moves_the_rank_correlation():
    rng = np.random.default_rng(0)
    values = []
    for spread in (0.05, 2.0):
        std = np.exp(spread * rng.standard_normal(600))
        prediction = caveat.Gaussian.from_std(np.zeros(600), std)
        row = one(
            reference_values(
                prediction, metrics=["error_uncertainty_correlation"], draws=100, random_state=0
            ),
            "error_uncertainty_correlation",
        )
        by_hand = [
            spearmanr(np.abs(std * rng.standard_normal(600)), std).statistic for _ in range(100)
        ]
        assert row.expected == pytest.approx(np.mean(by_hand), abs=0.02)
        values.append(row.expected)
    assert values[0] < 0.1
    assert values[1] > 0.6


def test_honest_predictions_lie_within_and_others_outside():
    rng = np.random.default_rng(1)
    std = rng.uniform(0.5, 2, 500)
    y = std * rng.standard_normal(500)
    honest = caveat.Gaussian.from_std(np.zeros(500), std)
    sure = caveat.Gaussian.from_std(np.zeros(500), std / 2)
    name = "gaussian_negative_log_likelihood_loss"
    right = one(reference_values(honest, y, metrics=[name], random_state=0), name)
    wrong = one(reference_values(sure, y, metrics=[name], random_state=0), name)
    assert right.low <= right.observed <= right.high
    assert str(right).endswith("within")
    assert wrong.observed > wrong.high
    assert str(wrong).endswith("outside")
    assert "observed" not in str(reference_values(honest, metrics=[name], random_state=0)[0])


def test_classes_are_drawn_as_often_as_they_are_probable():
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(3), 400)
    prediction = caveat.Categorical(p, classes=["a", "b", "c"])
    row = one(
        reference_values(prediction, metrics=["accuracy_score"], random_state=0), "accuracy_score"
    )
    assert row.expected == pytest.approx(p.max(axis=1).mean(), abs=0.01)
    binary = reference_values(p[:, 0], (rng.random(400) < p[:, 0]).astype(int), random_state=0)
    assert {"brier_loss", "accuracy_score"} <= {row.metric for row in binary}


def test_members_are_a_mixture_and_targets_are_apart():
    mean = np.stack([np.full((300, 2), -3.0), np.full((300, 2), 3.0)])
    prediction = caveat.Gaussian.from_members(mean, np.full((2, 300, 2), 0.01))
    rows = reference_values(prediction, metrics=["root_mean_squared_error"], random_state=0)
    assert [row.target for row in rows] == ["0", "1"]
    assert rows[0].expected == pytest.approx(3.0, abs=0.05)


def test_what_does_not_depend_on_the_truth_is_left_out():
    prediction = caveat.Gaussian.from_std(np.zeros(50), np.linspace(1, 2, 50))
    rows = reference_values(prediction, draws=20, random_state=0)
    assert not {"sharpness", "dispersion", "mean_interval_width"} & {row.metric for row in rows}


def test_predictions_that_say_too_little_are_refused():
    quantiles = caveat.Quantiles([0.1, 0.9], [[0.0, 1.0]])
    with pytest.raises(UnsupportedPredictionError, match="to_gaussian"):
        reference_values(quantiles)
    with pytest.raises(UnsupportedPredictionError, match="got a Interval"):
        reference_values(caveat.Interval([0.0], [1.0], coverage=0.9))
