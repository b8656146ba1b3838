"""Synthetic groups on which models are unfair, in three ways."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._docstrings import describe_parameters, entries_of
from .._random import RandomState, generator
from .._validation import FloatArray, check_integer
from ._dataset import Dataset

_DRAWN = entries_of("""\
random_state : int, Generator or None
    Seed of the random draws.
samples : int
    How many of each group and class: 100 make 400 rows.
""") | {
    "Returns": """\
Dataset
    In random order, one row in five held out for testing. ``groups["group"]`` is 0 or 1.""",
    "References": """\
S. Kuzucu, J. Cheong, H. Gunes & S. Kalkan (2024). Uncertainty as a fairness measure. JAIR.""",
}

Draw = Callable[[np.random.Generator, int], FloatArray]

HELD_OUT = 5
"""One row in this many is for testing."""


@describe_parameters(_DRAWN)
def make_sd1(random_state: RandomState = None, *, samples: int = 100) -> Dataset:
    r"""Draw two groups that are classified alike, one of them with far more aleatoric uncertainty.

    .. math::
        X | G = 0, Y = 0 &\sim -\mathrm{Beta}(1/2, 1/2)^2, &\quad
        X | G = 0, Y = 1 &\sim \mathrm{Beta}(1/2, 1/2)^2, \\
        X | G = 1, Y = 0 &\sim N((-7, -7), S), &\quad
        X | G = 1, Y = 1 &\sim N((7, 7), S), \quad S = [15, 10; 10, 15].

    Group 0 lies within the unit square and its mirror image, close to the boundary of any rule that
    separates group 1. As printed, its labels are mirrored against those of group 1, so that no
    linear rule could serve both groups; here both have class 1 on the same side. The line
    :math:`x_1 + x_2 = 0` then makes no error in group 0 and errs in 2.4 % of group 1.

    Examples
    --------
    >>> data = make_sd1(random_state=0)
    >>> bool(abs(data.X[data.groups["group"] == 0]).max() <= 1)
    True
    """
    covariance = [[15.0, 10.0], [10.0, 15.0]]
    return _drawn(
        {
            (0, 0): lambda rng, number: -rng.beta(0.5, 0.5, size=(number, 2)),
            (0, 1): lambda rng, number: rng.beta(0.5, 0.5, size=(number, 2)),
            (1, 0): _normal(-7.0, covariance),
            (1, 1): _normal(7.0, covariance),
        },
        "SD1: group 0 lies close to the boundary between the classes, group 1 far from it",
        random_state,
        samples,
    )


@describe_parameters(_DRAWN)
def make_sd2(random_state: RandomState = None, *, samples: int = 100) -> Dataset:
    r"""Draw two groups, one of them spread so widely that a model knows little about it.

    .. math::
        X | G = 0, Y = y &\sim N(\pm (10, 10), [100, 30; 30, 100]), \\
        X | G = 1, Y = y &\sim N(\pm (7, 7), [5, 1; 1, 5]),

    with minus for y = 0. The best linear rule errs in 10.7 % of group 0 and 0.003 % of group 1.

    The paper prints the covariance of group 1 as [5, 1; 5, 1], which is none.

    Examples
    --------
    >>> make_sd2(random_state=0, samples=1000).X.shape
    (4000, 2)
    """
    wide, narrow = [[100.0, 30.0], [30.0, 100.0]], [[5.0, 1.0], [1.0, 5.0]]
    return _drawn(
        _mirrored((10.0, wide), (7.0, narrow)),
        "SD2: group 0 is spread widely, group 1 lies in two dense clouds",
        random_state,
        samples,
    )


@describe_parameters(_DRAWN)
def make_sd3(random_state: RandomState = None, *, samples: int = 100) -> Dataset:
    r"""Draw two groups, one of them harder to classify than the other.

    .. math::
        X | G = 0, Y = y &\sim N(\pm (2, 2), [7, 3; 3, 7]), \\
        X | G = 1, Y = y &\sim N(\pm (3, 3), [5, 3; 3, 5]),

    with minus for y = 0. The best linear rule errs in 18.6 % of group 0 and 6.7 % of group 1.

    The paper prints the covariance of group 1, class 0 as [5, 3; 5, 3], which is none.

    Examples
    --------
    >>> sorted(set(make_sd3(random_state=0).groups["group"].tolist()))
    [0, 1]
    """
    hard, easy = [[7.0, 3.0], [3.0, 7.0]], [[5.0, 3.0], [3.0, 5.0]]
    return _drawn(
        _mirrored((2.0, hard), (3.0, easy)),
        "SD3: the classes of group 0 overlap more than those of group 1",
        random_state,
        samples,
    )


_MOST = 10_000_000


def check_samples(samples: Any) -> int:
    """Return how many samples to draw of each kind."""
    return check_integer(samples, "samples", most=_MOST)


def _normal(center: float, covariance: list[list[float]]) -> Draw:
    mean = np.full(2, center)
    return lambda rng, number: rng.multivariate_normal(mean, covariance, size=number)


def _mirrored(*groups: tuple[float, list[list[float]]]) -> dict[tuple[int, int], Draw]:
    """Return normal classes on either side of the origin, for each group."""
    return {
        (group, label): _normal(side * center, covariance)
        for group, (center, covariance) in enumerate(groups)
        for label, side in enumerate((-1, 1))
    }


def _drawn(
    parts: dict[tuple[int, int], Draw], description: str, random_state: RandomState, samples: int
) -> Dataset:
    """Draw as many rows of each group and class, and put them in random order."""
    check_samples(samples)
    rng = generator(random_state)
    X = np.concatenate([draw(rng, samples) for draw in parts.values()])
    group, label = np.repeat(np.array(list(parts)), samples, axis=0).T
    order = rng.permutation(len(X))
    return Dataset(
        X[order],
        label[order].astype(np.int64),
        {"group": group[order]},
        ("x1", "x2"),
        description,
        np.arange(len(X)) >= len(X) - len(X) // HELD_OUT,
    )
