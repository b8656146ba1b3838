import numpy as np
import pytest

from caveat.sequential.history import History


@pytest.mark.parametrize("window", [None, 1, 7])
def test_by_brute_force(window):
    rng = np.random.default_rng(0)
    scores = rng.integers(20, size=60).astype(float)  # with ties
    history = History(window)
    for t, score in enumerate(scores):
        past = np.sort(scores[max(0, t - (window or t)) : t])
        n = len(past)
        assert history.sorted == past.tolist()
        for level in (-0.1, 0.0, 0.1, 0.33, 0.5, 0.99, 1.0, 1.2):
            k = int(np.ceil((n + 1) * (1 - level) - 1e-9))
            expected = np.inf if k > n else -np.inf if k < 1 else past[k - 1]
            assert history.quantile(level) == expected
            # A score is covered if and only if the level is below the largest one.
            if abs(level - history.largest_level(score)) > 1e-9:
                assert (score <= expected) == (level < history.largest_level(score))
        history.add(score)


def test_restored():
    history = History(3, [3.0, 1.0, 2.0])
    history.add(0.0)
    assert list(history.recent) == [1.0, 2.0, 0.0]
    assert history.sorted == [0.0, 1.0, 2.0]
