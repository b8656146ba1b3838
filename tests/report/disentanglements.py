"""Disentanglements made by hand: curves whose correlations are known."""

import numpy as np

from caveat.experiments import Check, Cost, Curve, Disentanglement, Protocol

SIZES = np.array([0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0])
NOISE = np.linspace(0, 1, 11)
LOST_BY_SIZE = np.array([0.5, 0.34, 0.25, 0.17, 0.1, 0.06, 0.04])
LOST_BY_NOISE = 0.04 + 0.6 * NOISE
REPEATS = 5
CHECKS = (
    Check("the score moves with the training size", True, "the score is 0.96 and 0.50"),
    Check("small training sets are fitted", False, "at 1 % the model underfits; train longer"),
)


def curve(kind, aleatoric, epistemic, *, decomposition="information", seed=0, repeats=REPEATS):
    """One sweep; parts are functions of what the score lost, a little noise is added."""
    rng = np.random.default_rng(seed)
    lost = LOST_BY_SIZE if kind == "size" else LOST_BY_NOISE
    wobble = rng.normal(0, 0.004, (3, repeats, len(lost)))
    score = 1 - lost + wobble[0]
    parts = [np.maximum(f(lost) + s * w, 0) for f, s, w in zip(
        (aleatoric, epistemic), (1.0, 0.4), wobble[1:], strict=True
    )]  # fmt: skip
    levels = SIZES if kind == "size" else NOISE
    return Curve(kind, decomposition, levels, score, *parts)


def follows(lost):
    return 0.1 + lost


def other_way(lost):
    return 0.9 - lost


def level(lost):
    """Nearly the same everywhere, up and down in a way that no score goes."""
    return 0.4 + 0.02 * np.cos(np.pi * np.arange(len(lost)))


def exactly_level(lost):
    return np.full(len(lost), 0.4)


PATTERNS = {
    # aleatoric and epistemic along the size, then along the noise
    "good": (level, follows, follows, level),
    "trap": (follows, follows, follows, follows),
    "leak": (other_way, follows, follows, level),
    "both leak": (other_way, follows, follows, other_way),
    "swapped": (follows, level, level, follows),
    "backwards": (level, other_way, follows, level),
}


def result(pattern, *, repeats=REPEATS, **options):
    ways = PATTERNS[pattern]
    size = curve("size", *ways[:2], seed=1, repeats=repeats)
    noise = curve("noise", *ways[2:], seed=2, repeats=repeats)
    return made((size, noise), repeats, **options)


def made(curves, repeats=REPEATS, **options):
    given = {
        "protocol": Protocol(sizes=SIZES, noise=NOISE, repeats=repeats),
        "model": "DeepEnsembleClassifier",
        "samples": 400,
        "test_samples": 100,
        "cost": Cost(trainings=900, steps=806_000, seconds=75.0),
    }
    return Disentanglement(curves=curves, **{**given, **options})


def two_decompositions():
    """Good by one split, the trap by the other; with checks and a note."""
    curves = []
    for name, pattern in (("information", "good"), ("pairwise_kl", "trap")):
        ways = PATTERNS[pattern]
        curves.append(curve("size", *ways[:2], decomposition=name, seed=1))
        curves.append(curve("noise", *ways[2:], decomposition=name, seed=2))
    return made(tuple(curves), checks=CHECKS, notes=("a note of the run",))


def constant(*parts):
    """A split of which some parts never change."""
    size, noise = (
        Curve(
            c.kind,
            c.decomposition,
            c.levels,
            c.score,
            *(
                np.full_like(getattr(c, part), 0.3) if part in parts else getattr(c, part)
                for part in ("aleatoric", "epistemic")
            ),
        )
        for c in result("good").curves
    )
    return made((size, noise))


def results():
    found = {name: result(name) for name in PATTERNS}
    found["one repeat"] = result("trap", repeats=1)
    found["constant"] = constant("epistemic")
    found["both constant"] = constant("aleatoric", "epistemic")
    found["two"] = two_decompositions()
    found["regression"] = result("leak", task="regression", score_name="1 - standardized MAE")
    return found
