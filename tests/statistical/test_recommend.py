"""A recommendation may be wrong only as often as it says: many sets whose better one is known."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

import caveat

SECTION = "Recommendations"
METRICS = ["nll", "positive_ece", "auc"]


def compared(techniques, y, seed):
    predictions = {name: caveat.Categorical.from_binary(p) for name, p in techniques.items()}
    return caveat.compare(predictions, y, metrics=METRICS, resamples=200, random_state=seed)


def most(share, sets):
    """More than this many of the sets would have a chance of 1 in 1000 (about 3 sigma)."""
    return binom.ppf(0.999, sets, share)


def test_exaggerated_odds_of_a_rare_class_are_never_the_winner(promise):
    sets = 100
    asked = {"local": {}, "adaptive": {"scale": "adaptive"}, "prioritize=1": {"prioritize": 1}}
    chosen = {name: [] for name in asked}
    for seed in range(sets):
        g = np.random.default_rng([21, seed])
        z = 1.5 * g.normal(size=1500) - 2.5
        y = (g.random(1500) < expit(z)).astype(int)
        result = compared({"right": expit(z), "wrong": expit(z + 2)}, y, seed)
        for name, options in asked.items():
            chosen[name].append(result.recommend(**options).technique)
    for name, found in chosen.items():
        promise(
            SECTION,
            "the worse one is never a clear winner",
            f"calibrated against odds times 7.4, prevalence 0.13, n = 1,500; {name}",
            sets,
            found.count("wrong") / sets,
            "0",
        )
        assert "wrong" not in found
        assert found.count("right") == sets  # NLL 0.3 against 0.5: no close call


def test_one_number_for_everyone_is_never_the_winner(promise):
    sets, chosen = 100, []
    for seed in range(sets):
        g = np.random.default_rng([22, seed])
        z = 2 * g.normal(size=1000)
        y = (g.random(1000) < expit(z)).astype(int)
        good = expit(1.3 * z)  # AUC 0.86, slightly over-confident
        result = compared({"good": good, "constant": np.full(1000, y.mean())}, y, seed)
        chosen.append(result.recommend().technique)
    wrong = chosen.count("constant") / sets
    promise(
        SECTION,
        "what knows nothing is never a clear winner",
        "AUC 0.86, slightly over-confident, against the base rate for everyone; n = 1,000",
        sets,
        wrong,
        "0",
    )
    assert wrong == 0
    assert chosen.count("good") == sets


@pytest.mark.parametrize("noise", [0.3, 1.0], ids=["alike", "different"])
def test_of_two_that_are_equally_good_none_is_a_clear_winner(promise, noise):
    """Two views of the same truth with independent noise of one size; neither is better."""
    sets, named = 300, 0
    for seed in range(sets):
        g = np.random.default_rng([23, seed])
        z = 1.5 * g.normal(size=800)
        y = (g.random(800) < expit(z)).astype(int)
        first, second = (expit(z + noise * g.normal(size=800)) for _ in range(2))
        answer = compared({"first": first, "second": second}, y, seed).recommend()
        named += answer.technique is not None
    promise(
        SECTION,
        "of two equally good ones, one is named a clear winner",
        f"two views of one truth, logits with noise {noise:g}, n = 800",
        sets,
        named / sets,
        "at most 0.05",
    )
    assert named <= most(0.05, sets)
