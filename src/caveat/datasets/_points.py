"""Small problems: Wine, and two of two features that can be drawn."""

from typing import Any

import numpy as np

from .._docstrings import describe_parameters, entries_of
from .._random import RandomState, generator
from .._validation import FloatArray, check_number
from ..exceptions import OptionError
from ._dataset import Dataset
from ._synthetic import HELD_OUT, check_samples

_DRAWN = entries_of("""\
random_state : int, Generator or None
    Seed of the random draws.
samples : int
    How many of each class.
""") | {"Returns": "Dataset\n    In random order, one row in five held out for testing."}


def load_wine() -> Dataset:
    """Load Wine: 178 wines of three growers, told apart by 13 chemical measurements.

    It comes with scikit-learn. Numbers are as they are, not scaled.

    Returns
    -------
    Dataset
        There is no given split.

    References
    ----------
    S. Aeberhard & M. Forina (1992). Wine. UCI Machine Learning Repository, doi:10.24432/C5PC7J.

    Examples
    --------
    >>> load_wine()
    Dataset(178 samples, 13 features, 3 classes, no given split)
    """
    from sklearn import datasets

    wine = datasets.load_wine()
    return Dataset(
        wine.data,
        wine.target.astype(np.int64),
        {},
        tuple(wine.feature_names),
        "Wine (UCI): three growers of one region of Italy",
        np.zeros(len(wine.target), dtype=bool),
        tuple(str(name) for name in wine.target_names),
    )


@describe_parameters(_DRAWN)
def make_two_moons(
    random_state: RandomState = None, *, samples: int = 500, noise: float = 0.1
) -> Dataset:
    """Draw two interleaving half circles, scikit-learn's ``make_moons``.

    Where they come close, labels are uncertain if there is noise; away from both, a model knows
    nothing.

    Parameters
    ----------
    noise : float, default=0.1
        The standard deviation of the distance from the half circles.

    Examples
    --------
    >>> make_two_moons(random_state=0)
    Dataset(1,000 samples, 2 features, 2 classes, 200 held out for testing)
    """
    from sklearn.datasets import make_moons

    count, spread = check_samples(samples), check_number(noise, "noise")
    seed = int(generator(random_state).integers(2**31))
    X, y = make_moons(2 * count, noise=spread, random_state=seed)
    return _points(X, y, "Two Moons: two half circles that reach into each other")


@describe_parameters(_DRAWN)
def make_triangle(
    random_state: RandomState = None, *, samples: int = 500, noise: float = 0.1
) -> Dataset:
    r"""Draw two classes along two sides of a triangle that meet on the right.

    .. math::
        x_1 \sim U(0, 1), \qquad
        x_2 | x_1, y \sim N\bigl(\pm (1 - x_1) / 2, \; \sigma^2\bigr),

    with minus for y = 0. The classes are apart on the left and the same on the right, so that the
    aleatoric uncertainty grows from left to right:

    .. math:: P(y = 1 | x) = 1 / (1 + \exp(-(1 - x_1) x_2 / \sigma^2)).

    On either side of the data a model knows nothing. Splits by entropies see that on the left, and
    not on the right, where the aleatoric part leaves no room.

    Parameters
    ----------
    noise : float, default=0.1
        The standard deviation :math:`\sigma`, above 0.

    Notes
    -----
    The paper describes a triangle-shaped distribution of two classes with little aleatoric
    uncertainty on the left and much on the right, and gives no formula; this one is ours.

    References
    ----------
    I. P. de Jong, A. I. Sburlea, M. Sabatelli & M. Valdenegro-Toro (2026). Measuring orthogonality
    as the blind-spot of uncertainty disentanglement. Appendix I.

    Examples
    --------
    >>> data = make_triangle(random_state=0)
    >>> left, right = data.X[:, 0] < 0.2, data.X[:, 0] > 0.8
    >>> side = data.X[:, 1] > 0
    >>> print(f"{(side == data.y)[left].mean():.2f} {(side == data.y)[right].mean():.2f}")
    1.00 0.69
    """
    count, spread = check_samples(samples), check_number(noise, "noise")
    if spread == 0:
        raise OptionError("noise must be above 0: without it the classes meet in one point alone")
    rng = generator(random_state)
    y = np.repeat([0, 1], count)
    across = rng.random(2 * count)
    upwards = (2 * y - 1) * (1 - across) / 2 + spread * rng.standard_normal(2 * count)
    order = rng.permutation(2 * count)
    return _points(
        np.column_stack([across, upwards])[order],
        y[order],
        "Triangle: two classes that are apart on the left and the same on the right",
    )


def _points(X: FloatArray, y: Any, description: str) -> Dataset:
    test = np.arange(len(X)) >= len(X) - len(X) // HELD_OUT
    labels = np.asarray(y, dtype=np.int64)
    return Dataset(X, labels, {}, ("x1", "x2"), description, test, ("0", "1"))
