"""The number of samples that a verdict asks for decides the question in most repetitions.

Each repetition draws a first set, reads from its verdict how many samples are needed in all, draws
a new set of that many, and looks whether the verdict still calls the question open. Planned is a
power of 0.8 with an allowance for the estimate; with 100 repetitions a share of 0.8 is known to
0.04, and 3.5 standard errors below it is 0.66.
"""

import numpy as np
import pytest

import caveat
from caveat.evaluation._verdict_classes import class_findings
from caveat.evaluation._verdict_evidence import MAIN, Evidence
from caveat.evaluation._verdict_numbers import number_findings
from caveat.evaluation._verdict_steps import samples_needed
from caveat.fairness import audit
from caveat.fairness._steps import samples_needed as samples_for_groups
from caveat.results.judgments import FindingState, Judgment

SETS, POWER = 100, 0.8


def two_classes(rng, n, stretch):
    z = 1.5 * rng.normal(size=n)
    y = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)
    p = 1 / (1 + np.exp(-stretch * z))
    return Evidence(caveat.evaluate(p, y, metrics=["positive_ece"], resamples=150, random_state=0))


def patients(rng, n, stretch):
    """Ten samples of a patient share their probability, and half of them their outcome."""
    size = 10
    z = np.repeat(1.5 * rng.normal(size=-(-n // size)), size)
    rate = 1 / (1 + np.exp(-z))
    common = np.repeat(rng.random(len(z) // size), size)
    y = (np.where(rng.random(len(z)) < 0.5, common, rng.random(len(z))) < rate).astype(int)
    cluster = np.arange(len(z)) // size
    result = caveat.evaluate(
        1 / (1 + np.exp(-stretch * z)), y, cluster=cluster, metrics=["positive_ece"],
        resamples=150, random_state=0,
    )  # fmt: skip
    return Evidence(result)


def intervals(rng, n, scale):
    prediction = caveat.Gaussian(np.zeros(n), np.full(n, scale**2))
    result = caveat.evaluate(
        prediction, rng.normal(size=n), metrics=["interval_coverage"], resamples=100, random_state=0
    )
    return Evidence(result)


@pytest.mark.parametrize(
    ("draw", "first", "option", "words"),
    [
        (two_classes, 200, 1.0, "right probabilities, n = 200 first"),
        (two_classes, 200, 1.25, "log-odds 1.25 times too large, n = 200 first"),
        (patients, 400, 1.0, "right probabilities, 40 clusters of 10 first"),
        (intervals, 100, 1.0, "right intervals, n = 100 first"),
        (intervals, 100, 0.9, "intervals 0.9 times as wide as they should be, n = 100 first"),
    ],
)
def test_as_many_samples_decide(draw, first, option, words, promise):
    rng = np.random.default_rng(19)
    findings = number_findings if draw is intervals else class_findings
    open_, decided = 0, 0
    for _ in range(SETS):
        evidence = draw(rng, first, option)
        main = [f for f in findings(evidence) if f.topic in MAIN]
        if main[0].state is not FindingState.UNSURE:
            continue
        open_ += 1
        needed = int(np.ceil(samples_needed(evidence, main)))
        again = [f for f in findings(draw(rng, needed, option)) if f.topic in MAIN]
        decided += again[0].state is not FindingState.UNSURE
    promise(
        "What to do next", "the number of samples decides", words, open_, decided / open_, "0.8 or more"
    )  # fmt: skip
    assert open_ > SETS / 4
    assert decided / open_ > POWER - 3.5 * np.sqrt(POWER * (1 - POWER) / open_)


def test_as_many_samples_show_that_groups_are_alike(promise):
    rng = np.random.default_rng(19)

    def drawn(n):
        p = rng.beta(2, 2, size=n)
        sex = np.where(np.arange(n) % 2 == 0, "f", "m")
        result = audit(
            p, (rng.random(n) < p).astype(int), {"sex": sex}, resamples=150, random_state=0
        )
        rows = result.select(measure="equal_accuracy", kind="ratio")
        return result, rows[0].judgment

    within, open_ = 0, 0
    for _ in range(SETS):
        result, judgment = drawn(200)
        if judgment is not Judgment.UNCLEAR:
            continue
        needed = samples_for_groups(result, ["sex"])
        open_ += 1
        within += drawn(int(np.ceil(needed)))[1] in (Judgment.WITHIN, Judgment.SMALL)
    promise(
        "What to do next", "the number of samples shows groups to be alike",
        "equal accuracy of two groups, n = 200 first", open_, within / open_, "0.8 or more",
    )  # fmt: skip
    assert open_ > SETS / 4
    assert within / open_ > POWER - 3.5 * np.sqrt(POWER * (1 - POWER) / open_)
