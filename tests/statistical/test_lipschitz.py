"""The interval of the Lipschitz constant covers the constant of new individuals."""

import numpy as np
import pytest

from caveat.fairness import lipschitz


def uncertainty(X):
    """A quantity that is steep in a few places only."""
    return np.tanh(4 * X[:, 0]) + 0.3 * np.abs(X[:, 1]) + np.exp(X[:, 0] - 1)


@pytest.mark.parametrize(("samples", "share"), [(200, 0.5), (300, 0.9)])
def test_the_interval_covers_the_constant_of_new_individuals(promise, samples, share):
    rng = np.random.default_rng(25)
    new = rng.normal(size=(4000, 2))
    u_new, sets, covered = uncertainty(new), 300, 0
    for seed in range(sets):
        X = rng.normal(size=(samples, 2))
        u = uncertainty(X)
        row = lipschitz(u, X, share=share, scale=None, random_state=seed).rows[0]
        half = np.random.default_rng(seed).permutation(samples)[: samples // 2]
        far = np.linalg.norm(new[:, None] - X[half], axis=2)
        slopes = (np.abs(u_new[:, None] - u[half]) / far).max(axis=1)
        # The true quantile given the half, but for the error of 4,000 draws.
        covered += row.low <= np.quantile(slopes, share) <= row.high
    seen = covered / sets
    promise(
        "Fairness", f"interval of the Lipschitz constant for {share:.0%} of individuals",
        f"{samples} samples, 2 features, steep in few places", sets, seen, ">= 0.95",
    )  # fmt: skip
    # Three standard errors of 300 sets, and a hundredth for the truth's own error: its draws are
    # 26 times as many, which widens the difference by a factor of at most sqrt(1 + 1 / 26).
    assert seen >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / sets) - 0.01
