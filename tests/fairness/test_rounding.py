"""What is nothing but rounding is no gap; what is small but real is kept."""

import numpy as np
import pytest

import caveat
from caveat.fairness import audit

N = 400
G = np.repeat(["a", "b"], N)


def run(prediction, y):
    return audit(prediction, y, {"g": G}, resamples=100, random_state=0)


def means(result, measure="epistemic_uncertainty", statistic="mean"):
    rows = result.select(kind="group", measure=measure, statistic=statistic)
    return [row.value for row in rows]


def assert_agreed(result):
    assert means(result) == [0, 0]
    (paragraph,) = result.verdict()
    assert "epistemic gap" not in paragraph.patterns
    assert "Whether the model knows less about one group cannot be seen from it." in paragraph.text


@pytest.mark.parametrize("method", ["variance", "information", "pairwise_kl", "bias_variance"])
@pytest.mark.parametrize("members", [3, 10])
@pytest.mark.parametrize("which", ["certain", "saturated", "uncertain"])
def test_members_that_agree_about_classes(method, members, which):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, size=2 * N)
    of_a = {
        "certain": rng.integers(2, size=N) * 1.0,
        "saturated": rng.uniform(1e-15, 1e-13, size=N),
        "uncertain": rng.uniform(0.02, 0.1, size=N),
    }
    p[:N] = of_a[which]
    prediction = caveat.Categorical.from_binary(np.stack([p] * members))
    y = (rng.random(2 * N) < 0.5).astype(int)
    assert_agreed(audit(prediction, y, G, decomposition=method, resamples=100, random_state=0))


@pytest.mark.parametrize("size", [1.0, 1e9, 1e74])
@pytest.mark.parametrize("noise", [1.0, 0.0])
def test_members_that_agree_about_numbers(noise, size):
    rng = np.random.default_rng(0)
    mean = size * np.where(G == "a", rng.integers(5, size=2 * N), rng.normal(size=2 * N))
    variance = noise * rng.uniform(0.9, 1.1, size=(3, 2 * N))
    prediction = caveat.Gaussian.from_members(np.stack([mean] * 3), variance)
    result = run(prediction, mean + rng.normal(size=2 * N))
    assert means(result) == [0, 0]
    assert "epistemic gap" not in result.verdict().paragraphs[0].patterns
    if not noise:
        assert means(result, "predictive_uncertainty") == [0, 0]


def test_numbers_whose_squares_are_large():
    mean = 1e74 * (1 + np.arange(2 * N) % 7)
    result = run(caveat.Gaussian(mean, np.ones(2 * N)), mean)
    assert means(result) == [0, 0]


def test_errors():
    rng = np.random.default_rng(0)
    mean = np.where(G == "a", rng.integers(5, size=2 * N), rng.normal(size=2 * N))
    y = mean.copy()
    y[N:] *= 1 + 1e-16 * np.arange(N)
    y[-1], mean[-1] = 0.0, 1e-16  # which is not small beside itself
    variance = rng.uniform(0.9, 1.1, size=(3, 2 * N))
    result = run(caveat.Gaussian.from_members(np.stack([mean] * 3), variance), y)
    assert means(result, "mean_absolute_error", "") == [0, 0]
    assert "point gap" not in result.verdict().paragraphs[0].patterns


def test_one_number_beyond_all_others_hides_none():
    rng = np.random.default_rng(0)
    mean = rng.normal(size=(4, 2 * N))
    variance = rng.uniform(0.9, 1.1, size=mean.shape)
    y = rng.normal(size=2 * N)
    y[0], variance[:, 0] = 1e20, 1e30
    result = run(caveat.Gaussian.from_members(mean, variance), y)
    epistemic, error = mean.var(axis=0), np.abs(y - mean.mean(axis=0))
    assert means(result)[1] == pytest.approx(epistemic[N:].mean())
    assert means(result, "mean_absolute_error", "")[1] == pytest.approx(error[N:].mean())
    assert means(result)[0] == pytest.approx(epistemic[1:N].sum() / N)


def test_a_small_difference_between_members_is_kept():
    rng = np.random.default_rng(0)
    p = np.array([[0.3 - 1e-5], [0.3 + 1e-5]]) + rng.uniform(-0.1, 0.1, size=2 * N)
    result = run(caveat.Categorical.from_binary(p), (rng.random(2 * N) < 0.3).astype(int))
    assert means(result) == pytest.approx([2e-10, 2e-10], rel=1e-6)
