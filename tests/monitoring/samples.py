"""Samples that the tests of monitoring share."""

import numpy as np

import caveat


def binary(n, seed=0, *, change=lambda p: p, truth=lambda p: p, groups=None, members=1, y=True):
    """A summary of two classes: what is predicted and what is true follow from the same p."""
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 2, n)
    true = (rng.random(n) < truth(p)).astype(int)
    said = change(p)
    if members > 1:
        logit = np.log(said / (1 - said)) + 0.3 * rng.normal(size=(members, n))
        said = 1 / (1 + np.exp(-logit))
    given = None if groups is None else {"site": rng.choice(groups, n)}
    return caveat.summarize(caveat.Categorical.from_binary(said), true if y else None, groups=given)


def gaussian(n, seed=0, *, shift=0.0, apart=0.3, noise=1.0, members=3, targets=None, **given):
    """A summary of numbers, with members that are apart."""
    rng = np.random.default_rng(seed)
    many = 1 if targets is None else len(targets)
    mean = rng.normal(size=(n, many)) + shift
    said = mean + apart * rng.normal(size=(members, n, many)) * (members > 1)
    prediction = caveat.Gaussian.from_members(said, np.ones_like(said), targets=targets)
    return caveat.summarize(prediction, mean + noise * rng.normal(size=(n, many)), **given)
