"""Series whose distribution changes: what is promised for each, and what is not.

The targets of one prediction are the repetitions, each with a state of its own.
"""

import numpy as np
import pytest

import caveat

REPEATS, COVERAGE = 500, 0.9
SIGMA = 3.7  # one false alarm in ten thousand


def noise(rng, length):
    return rng.normal(size=(length, REPEATS))


def autoregressive(rng, length):
    """An AR(1) series with correlation 0.9 and variance 1."""
    e = noise(rng, length)
    y = np.empty_like(e)
    y[0] = e[0]
    for t in range(1, length):
        y[t] = 0.9 * y[t - 1] + np.sqrt(1 - 0.81) * e[t]
    return y


def jump(rng, length):
    """The standard deviation triples in the middle."""
    return noise(rng, length) * np.where(np.arange(length) < length // 2, 1.0, 3.0)[:, None]


def drifting(rng, length):
    """The mean goes away, ever faster."""
    return noise(rng, length) + np.linspace(0, 3, length)[:, None] ** 3


SERIES = {
    "independent": noise,
    "AR(1), 0.9": autoregressive,
    "spread triples": jump,
    "mean drifts away": drifting,
}
METHODS = {
    "adaptive": lambda: caveat.AdaptiveConformal(COVERAGE, step=0.02, window=200),
    "aggregated": lambda: caveat.AggregatedConformal(COVERAGE, correction=0.02, window=200),
}


def zeros(length):
    return caveat.Gaussian(np.zeros((length, REPEATS)), np.ones((length, REPEATS)))


@pytest.mark.parametrize("length", [20, 100, 1000])
@pytest.mark.parametrize("name", METHODS)
def test_the_bound_holds_for_every_series_at_every_time(name, length, promise):
    """Optional stopping: the worst time of each series, not only its end."""
    step = 0.02
    worst, beyond = {}, 0.0
    for k, (words, draw) in enumerate(SERIES.items()):
        rng = np.random.default_rng([1, k, length])
        run = METHODS[name]().run(zeros(length), draw(rng, length), time="rows")
        times = np.arange(1, length + 1)[:, None]
        share = np.cumsum(run.covered, axis=0) / times
        reach = COVERAGE + step if name == "adaptive" else 1 + 0.128 + step
        bound = reach / (times * step)
        assert run.bound == pytest.approx(bound[-1, 0])
        ever = (np.abs(share - COVERAGE) > bound + 1e-12).any(axis=0)
        beyond = max(beyond, ever.mean())
        worst[words] = np.abs(share - COVERAGE)[-1].max()
    promise(
        "Series", f"{name}: share of covered beyond its bound, at any time",
        f"worst of 4 kinds of series; T = {length:,}", REPEATS, beyond, "0, with certainty",
    )  # fmt: skip
    assert beyond == 0
    if length == 1000:  # far within the bound, in the long run
        assert max(worst.values()) < 0.05


@pytest.mark.parametrize("name", METHODS)
def test_series_that_know_the_interval(name, promise):
    """Each truth is set just outside, or inside, whatever brings the share furthest away."""
    length, live = 400, METHODS[name]()
    zero = zeros(1)
    rng = np.random.default_rng(2)
    outside = rng.random((length, REPEATS)) < np.linspace(0, 1, REPEATS)
    ever = np.zeros(REPEATS, dtype=bool)
    for t in range(length):
        upper = live.interval(zero).upper
        beyond = np.where(np.isinf(upper), 10.0 * (t + 1), upper + 1)
        live.update(zero, np.where(outside[t], beyond, 0.0))
        ever |= np.abs(live.covered_ - COVERAGE) > live.bound_ + 1e-12
    assert not ever.any()
    promise(
        "Series", f"{name}: share of covered beyond its bound, at any time",
        f"truths that go outside on purpose; T = {length}", REPEATS, ever.mean(), "0, with certainty",
    )  # fmt: skip


@pytest.mark.parametrize("scores", [20, 100, 1000])
def test_a_block_of_exchangeable_residuals(scores, promise):
    """Split conformal in each block: at least the coverage, exactly k / (n + 1)."""
    rng = np.random.default_rng([3, scores])
    method = caveat.BlockConformal(COVERAGE, shortest=False, window=None)
    method.warm_up(zeros(scores), noise(rng, scores))
    run = method.run(zeros(50), noise(rng, 50), time="rows", block=50)
    exact = np.ceil((scores + 1) * COVERAGE - 1e-9) / (scores + 1)
    shares = run.coverage
    assert abs(shares.mean() - exact) <= SIGMA * shares.std() / np.sqrt(REPEATS)
    promise(
        "Series", "block-wise: coverage, symmetric", f"independent; {scores:,} residuals", REPEATS,
        shares.mean(), f"{exact:.3f}",
    )  # fmt: skip


@pytest.mark.parametrize("scores", [20, 100, 1000])
@pytest.mark.parametrize("words", ["independent", "AR(1), 0.9"])
def test_shortest_intervals_are_approximate(scores, words, promise):
    """The shortest of many intervals is chosen by the residuals: too short with few of them."""
    rng = np.random.default_rng([4, scores])
    y = SERIES[words](rng, scores + 100)
    method = caveat.BlockConformal(COVERAGE, window=None).warm_up(zeros(scores), y[:scores])
    run = method.run(zeros(100), y[scores:], time="rows", block=10)
    mean = run.coverage.mean()
    error = SIGMA * run.coverage.std() / np.sqrt(REPEATS)
    if scores == 1000:
        assert abs(mean - COVERAGE) <= 0.02 + error
    else:
        assert mean < COVERAGE + 0.03
    promise(
        "Series", "block-wise: coverage, shortest", f"{words}; {scores:,} residuals", REPEATS,
        mean, "about 0.9",
    )  # fmt: skip


def test_after_a_change(promise):
    """The spread triples: residuals of a window do not know it, levels that adapt do."""
    length, seen = 1200, {}
    y = jump(np.random.default_rng(5), length)
    after = slice(length // 2, length // 2 + 200)
    methods = {
        "block-wise": caveat.BlockConformal(COVERAGE, shortest=False, window=600),
        "adaptive, step 0.005": caveat.AdaptiveConformal(COVERAGE, window=600),
        "adaptive, step 0.05": caveat.AdaptiveConformal(COVERAGE, step=0.05, window=600),
        "aggregated": caveat.AggregatedConformal(COVERAGE, window=600),
    }
    for name, method in methods.items():
        seen[name] = method.run(zeros(length), y, time="rows").covered[after].mean()
        promise(
            "Series", "coverage of the 200 samples after a change", f"{name}, spread triples",
            REPEATS, seen[name], "no promise",
        )  # fmt: skip
    assert seen["block-wise"] < 0.75
    assert seen["adaptive, step 0.005"] > seen["block-wise"] + 0.05
    assert seen["adaptive, step 0.05"] > 0.85
    assert seen["aggregated"] > 0.85
