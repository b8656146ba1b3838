"""Tests whether new samples are exchangeable with the calibration samples."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._random import RandomState, generator
from .._validation import (
    FloatArray,
    as_floats,
    check_choice,
    check_finite,
    check_fraction,
    check_integer,
)
from ..exceptions import OptionError, ShapeError, UnsupportedPredictionError
from ..predictions import Container
from ._divisions import Codes, cluster_pair, divisions, shares_of, smallest_p_value

MOST_SCORES = 10_000
"""Samples used of either side where each is one number."""
MOST_INPUTS = 1_000
"""Samples used of either side where each is several numbers: distances grow with the square."""

_METHODS = {"permutation": "energy-distance permutation test", "martingale": "test martingale"}
_JUMP = 0.01
_STAKES = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])


class ShiftWarning(UserWarning):
    """The samples to repair differ from those that the repair was learned from."""


@dataclass(frozen=True)
class ExchangeabilityTest:
    """Result of :func:`exchangeability_test`.

    Attributes
    ----------
    statistic : float
        The energy distance, squared, of the standardized samples (``"permutation"``); or the
        natural logarithm of the largest capital that betting against exchangeability has reached
        from a capital of 1 (``"martingale"``).
    p_value : float
        If the samples are exchangeable, it is at most t with a probability of at most t.
    method : str
    message : str
        The result in words.
    """

    statistic: float
    p_value: float
    method: str
    message: str


def exchangeability_test(
    calibration: Any,
    test: Any,
    *,
    method: str = "permutation",
    cluster: Any = None,
    resamples: int = 999,
    random_state: RandomState = None,
) -> ExchangeabilityTest:
    r"""Test whether calibration and test samples could be drawn from one and the same source.

    ``"permutation"`` compares the energy distance, squared,

    .. math:: 2 E|X - Y| - E|X - X'| - E|Y - Y'|

    between the two samples, each column divided by its pooled standard deviation, with that of
    random divisions of all samples: any difference of the distributions is found with enough
    samples [1]_. The order within either side plays no part.

    ``"martingale"`` takes the test samples in their order, each with the p-value of its rank among
    the calibration samples and the test samples before it; under exchangeability these are
    independent and uniform. It bets on them by the simple jumper [2]_, on small or large values and
    on extreme or middle ones, and no capital from fair bets exceeds :math:`1 / p` with a
    probability above :math:`p` (Ville's inequality). It finds drifts along a sequence, may be
    stopped at any time, and for a plain difference is less powerful.

    Parameters
    ----------
    calibration, test : arrays of shape (samples,) or (samples, columns), or predictions
        Scores, or inputs of the model, or what it predicts: of a prediction all its numbers are
        compared, averaged over members.
    method : {"permutation", "martingale"}, default="permutation"
        ``"martingale"`` takes one number for each sample.
    cluster : pair of arrays, optional
        Which calibration and which test samples belong together, such as those of one person; for
        ``"permutation"``. Without it samples are compared: samples of new people differ from those
        of others as soon as people differ. With it people are compared: those on one side change
        it as a whole in the random divisions, and samples of one on both sides change it within
        that person.
    resamples : int, default=999
        Random divisions; the p-value is at least 1 / (resamples + 1).
    random_state : int, Generator or None, optional
        For the divisions, for the choice of at most 10,000 samples of either side (1,000 where a
        sample has several numbers), and for breaking ties.

    Notes
    -----
    Only what is passed is compared: inputs can stay the same while the labels that belong to them
    change. A large p-value does not prove exchangeability. The coverage of conformal intervals on
    the test samples at hand needs exchangeable samples; on average over new people it needs
    exchangeable people alone.

    References
    ----------
    .. [1] G. J. Székely, M. L. Rizzo. Energy statistics: A class of statistics based on distances.
       Journal of Statistical Planning and Inference, 2013.
    .. [2] V. Vovk, I. Petej, I. Nouretdinov, E. Ahlberg, L. Carlsson, A. Gammerman. Retrain or not
       retrain: conformal test martingales for change-point detection. COPA, 2021.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> calibration, test = rng.normal(size=200), rng.normal(loc=1, size=200)
    >>> result = caveat.exchangeability_test(calibration, test, random_state=0)
    >>> result.p_value
    0.001
    >>> print(result.message)
    the test samples differ from the calibration samples by more than chance (energy-distance
    permutation test, p = 0.001): what was learned from calibration need not hold for them:
    calibrate on samples like them
    """
    check_choice(method, "method", tuple(_METHODS))
    first, second = read_pair(calibration, test)
    rng = generator(random_state)
    codes = None if cluster is None else cluster_pair(cluster, (len(first), len(second)))
    few = ""
    if method == "permutation":
        resamples = check_integer(resamples, "resamples")
        statistic, p_value = _permutation(first, second, codes, resamples, rng)
        few = "" if codes is None else _too_few(codes, len(first))
    elif codes is not None:
        raise OptionError(
            "a martingale takes samples one after another and knows no clusters; leave cluster "
            "out, or pass method='permutation'"
        )
    elif first.shape[1] > 1:
        raise ShapeError(
            "a martingale bets on one number for each sample; got "
            f"{first.shape[1]} columns. Pass a score of each sample, or method='permutation'"
        )
    else:
        statistic, p_value = _martingale(first[:, 0], second[:, 0], rng)
    return ExchangeabilityTest(statistic, p_value, method, _message(method, p_value) + few)


def warn_if_shifted(
    calibration: Any,
    test: Any,
    *,
    level: float = 0.01,
    random_state: RandomState = 0,
    stacklevel: int = 2,
) -> ExchangeabilityTest:
    """Give a ``ShiftWarning`` if test samples differ from calibration samples.

    Parameters
    ----------
    calibration, test : arrays or predictions
        As in :func:`exchangeability_test`, whose permutation test is used.
    level : float, default=0.01
        Warn if the p-value is at most this; so often a warning is false.
    random_state : int, Generator or None, default=0
    stacklevel : int, default=2
        As in :func:`warnings.warn`: 2 names the line that calls this function.

    Examples
    --------
    >>> import caveat
    >>> calibration = caveat.Categorical.from_binary([0.2, 0.4, 0.6, 0.8])
    >>> caveat.warn_if_shifted(calibration, calibration).p_value
    1.0
    """
    level = check_fraction(level, "level")
    result = exchangeability_test(calibration, test, random_state=random_state)
    if result.p_value <= level:
        warnings.warn(result.message, ShiftWarning, stacklevel=stacklevel)
    return result


def _message(method: str, p_value: float) -> str:
    evidence = f"({_METHODS[method]}, p = {p_value:.2g})"
    if p_value > 0.1:
        return (
            f"no sign that the test samples differ from the calibration samples {evidence}; this "
            "does not prove that they are exchangeable"
        )
    if p_value > 0.01:
        return (
            f"the test samples may differ from the calibration samples {evidence}: test more of "
            "them before relying on what was learned from calibration"
        )
    return (
        f"the test samples differ from the calibration samples by more than chance {evidence}: "
        "what was learned from calibration need not hold for them: calibrate on samples like them"
    )


def _too_few(codes: Codes, first: int) -> str:
    """Return a warning where so few clusters can hardly differ by more than chance."""
    least = smallest_p_value(np.arange(len(codes)) < first, codes)
    if least <= 0.01:
        return ""
    counts = len(np.unique(codes[:first])), len(np.unique(codes[first:]))
    return (
        f"; {counts[0]} and {counts[1]} clusters cannot give a p-value much below {least:.2g}: "
        "more clusters are needed to find a difference between them"
    )


def read_pair(calibration: Any, test: Any) -> tuple[FloatArray, FloatArray]:
    """Return both sides as (samples, columns) of comparable sizes."""
    if isinstance(calibration, Container) or isinstance(test, Container):
        _check_alike(calibration, test)
        first, second = _numbers(calibration, "calibration"), _numbers(test, "test")
    else:
        first, second = _matrix(calibration, "calibration"), _matrix(test, "test")
    if first.shape[1] != second.shape[1]:
        raise ShapeError(
            "calibration and test must have the same columns; got "
            f"{first.shape[1]} and {second.shape[1]}"
        )
    return first, second


def _check_alike(calibration: Any, test: Any) -> None:
    if type(calibration) is not type(test):
        raise UnsupportedPredictionError(
            "calibration and test must be predictions of one type, or arrays; got "
            f"{type(calibration).__name__} and {type(test).__name__}"
        )
    for name in calibration._shared:
        if not np.array_equal(getattr(calibration, name), getattr(test, name)):
            raise ShapeError(
                f"calibration and test have different {name}; both predictions must come from the "
                "same model"
            )


def _numbers(prediction: Container, name: str) -> FloatArray:
    """Return all numbers of a prediction, averaged over members, as (samples, columns)."""
    columns = []
    for field, axis in prediction._arrays.items():
        array = np.asarray(getattr(prediction, field), dtype=np.float64)
        array = array.mean(axis=0) if axis == 1 else array
        columns.append(array.reshape(len(array), -1))
    numbers = np.concatenate(columns, axis=1)
    check_finite(numbers, name, ("sample", "number"))  # the ends of intervals may be infinite
    return numbers


def _matrix(value: Any, name: str) -> FloatArray:
    array, _, _ = as_floats(value, name)
    if array.ndim not in (1, 2):
        raise ShapeError(
            f"{name} must have shape (samples,) or (samples, columns); got {array.shape}"
        )
    array = array.reshape(len(array), -1)
    check_finite(array, name, ("sample", "column"))
    return array


def _permutation(
    first: FloatArray, second: FloatArray, codes: Codes | None, resamples: int,
    rng: np.random.Generator,
) -> tuple[float, float]:  # fmt: skip
    """Return the statistic and its p-value among random divisions of the pooled samples."""
    most = MOST_SCORES if first.shape[1] == 1 else MOST_INPUTS
    kept = _subsample(len(first), most, rng), len(first) + _subsample(len(second), most, rng)
    rows = np.concatenate(kept)
    pooled = _standardized(np.concatenate([first, second])[rows])
    sides = rows < len(first)
    codes = None if codes is None else codes[rows]
    if pooled.shape[1] == 1:
        order = np.argsort(pooled[:, 0])
        sides, kernel = sides[order], np.diff(pooled[order, 0])
        codes = None if codes is None else codes[order]
        statistics = _from_gaps
    else:
        from scipy.spatial.distance import cdist

        kernel = cdist(pooled, pooled)
        statistics = _from_distances
    observed = float(statistics(shares_of(sides)[None], kernel)[0])
    # Divisions with mathematically equal distances differ by rounding; they count as reaching it.
    reached = observed * (1 - 1e-9) - 1e-15
    hits = 1
    for shares in divisions(sides, codes, resamples, rng):
        hits += int(np.count_nonzero(statistics(shares, kernel) >= reached))
    return observed, hits / (resamples + 1)


def _subsample(samples: int, most: int, rng: np.random.Generator) -> Codes:
    """Return the rows of at most so many samples."""
    return np.arange(samples) if samples <= most else rng.choice(samples, most, replace=False)


def _standardized(samples: FloatArray) -> FloatArray:
    """Divide each column by its standard deviation; a constant column becomes 0."""
    size = np.abs(samples).max(axis=0)
    samples = samples / np.where(size > 0, size, 1.0)  # squares of large numbers would overflow
    samples -= samples.mean(axis=0)
    spread = np.sqrt(np.mean(samples**2, axis=0))
    constant = spread <= 1e-12
    samples /= np.where(constant, 1.0, spread)
    samples[:, constant] = 0.0
    return samples


def _from_gaps(shares: FloatArray, kernel: FloatArray) -> FloatArray:
    """Return the energy distances of sorted numbers: twice the integral of (F - G) squared.

    ``kernel`` holds the gaps between the numbers.
    """
    return 2 * (np.cumsum(shares, axis=1)[:, :-1] ** 2 @ kernel)


def _from_distances(shares: FloatArray, kernel: FloatArray) -> FloatArray:
    """Return the energy distances of samples whose distances from each other are ``kernel``."""
    return -np.einsum("ri,ri->r", shares @ kernel, shares)


def _martingale(
    calibration: FloatArray, test: FloatArray, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the logarithm of the largest capital, and Ville's bound on its probability."""
    above, equal = _earlier(calibration, test)
    seen = len(calibration) + np.arange(1, len(test) + 1)
    p = (above + rng.random(len(test)) * (equal + 1)) / seen
    rank = np.stack([p, np.abs(2 * p - 1)], axis=1) - 0.5
    factors = (1 + rank[:, :, None] * _STAKES).reshape(len(test), -1)
    capital = np.full(factors.shape[1], 1 / factors.shape[1])
    logarithm = largest = 0.0
    for factor in factors:
        capital = ((1 - _JUMP) * capital + _JUMP / len(capital)) * factor
        total = capital.sum()
        capital /= total  # kept at 1, so that a long sequence does not overflow
        logarithm += np.log(total)
        largest = max(largest, logarithm)
    return float(largest), float(np.exp(-largest))


def _earlier(calibration: FloatArray, test: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how many samples before each test sample are above it, and how many equal to it."""
    above, equal = np.empty(len(test)), np.empty(len(test))
    known = np.sort(calibration)
    for start in range(0, len(test), 1000):
        block = test[start : start + 1000]
        right = np.searchsorted(known, block, side="right")
        before = np.tri(len(block), k=-1, dtype=bool)
        higher = np.count_nonzero((block > block[:, None]) & before, axis=1)
        same = np.count_nonzero((block == block[:, None]) & before, axis=1)
        above[start : start + 1000] = len(known) - right + higher
        equal[start : start + 1000] = right - np.searchsorted(known, block) + same
        known = np.sort(np.concatenate([known, block]), kind="stable")
    return above, equal
