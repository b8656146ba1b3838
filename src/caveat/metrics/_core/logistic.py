"""Logistic recalibration of one score, for many resamples at once, by Newton's method.

All arrays are (resamples, cells): the score of each cell, and the weight of its misses and hits.
"""

import numpy as np

from ..._validation import FloatArray

_MOST = 500
"""Steps at most; a slope that is not found by then is too steep for rounding: infinite."""

_STILL = 1e-2
"""A slope that is still changing log-odds by this has none; less is rounding of a steep one."""

_CLOSE = 1e-9
"""A last step that changes no log-odds by more than this: its square is below rounding."""

_FLAT = 1e-10
"""With less information per weight than this, rounding decides where the mean is right."""


def intercepts(score: FloatArray, misses: FloatArray, hits: FloatArray) -> FloatArray:
    """Return the a with which the mean of 1 / (1 + exp(-a - score)) is the share of hits.

    Infinite where all are hits, or none; NaN without weight, and where all scores are so certain
    and right that a wide range of a would do.
    """
    from scipy.special import expit

    mass, wanted = misses + hits, hits.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.log(wanted / misses.sum(axis=1))
    result = np.where(np.isfinite(odds), 0.0, odds)
    active = np.flatnonzero(np.isfinite(odds))
    score, mass, wanted = score[active], mass[active], wanted[active]
    steps = 0
    while len(active) and steps < _MOST:
        steps += 1
        mean = expit(result[active, None] + score)
        gap = wanted - np.einsum("rc,rc->r", mass, mean)
        information = np.einsum("rc,rc,rc->r", mass, mean, 1 - mean)
        step = gap / information
        result[active] += np.sign(step) * np.log1p(np.abs(step))
        more = np.abs(step) > _CLOSE
        flat = ~more & (information < _FLAT * mass.sum(axis=1))
        result[active[flat]] = np.nan
        active, score, mass, wanted = active[more], score[more], mass[more], wanted[more]
    return result


def slopes(score: FloatArray, misses: FloatArray, hits: FloatArray) -> FloatArray:
    """Return the b of the most likely 1 / (1 + exp(-a - b score)).

    Infinite where the scores of hits and misses do not overlap; NaN where they are all alike, or
    without hits or misses.
    """
    from scipy.special import expit

    result, regular = _without_overlap(score, misses, hits)
    active = np.flatnonzero(regular)
    misses, hits = misses[active], hits[active]
    mass = misses + hits
    center = (mass * score[active]).sum(axis=1) / mass.sum(axis=1)
    score = score[active] - center[:, None]
    ends = np.stack([_least(score, mass), _largest(score, mass)])
    wanted = np.stack([hits.sum(axis=1), (hits * score).sum(axis=1)])
    line = np.stack([np.log(wanted[0] / misses.sum(axis=1)), np.zeros(len(active))])
    steps, still = 0, np.zeros(0, dtype=bool)
    while len(active) and steps < _MOST:
        steps += 1
        mean = expit(line[0][:, None] + line[1][:, None] * score)
        held = mass * mean
        gap = wanted - np.stack([held.sum(axis=1), np.einsum("rc,rc->r", held, score)])
        held *= 1 - mean
        flat, mixed = held.sum(axis=1), np.einsum("rc,rc->r", held, score)
        steep = np.einsum("rc,rc,rc->r", held, score, score)
        step = np.stack([steep * gap[0] - mixed * gap[1], flat * gap[1] - mixed * gap[0]])
        with np.errstate(divide="ignore", invalid="ignore"):
            step /= flat * steep - mixed**2
        known = np.isfinite(step).all(axis=0)
        step = np.where(known, step, 0.0)
        # Shorter steps where log-odds change much: the likelihood then rises with each of them,
        # because its third derivative is bounded by the second (Bach, 2010).
        change = np.abs(step[0] + step[1] * ends).max(axis=0)
        line = line + step * np.log1p(change) / np.maximum(change, _CLOSE**2)
        result[active] = line[1]
        more = (change > _CLOSE) | ~known
        still = (change > _STILL) | ~known
        active, score, mass = active[more], score[more], mass[more]
        line, ends, wanted = line[:, more], ends[:, more], wanted[:, more]
        still = still[more]
    result[active[still]] = np.copysign(np.inf, line[1, still])
    return result


def _without_overlap(
    score: FloatArray, misses: FloatArray, hits: FloatArray
) -> tuple[FloatArray, np.ndarray]:
    """Return the slopes that no likelihood has a maximum for, and where there is one."""
    low_miss, high_miss = _least(score, misses), _largest(score, misses)
    low_hit, high_hit = _least(score, hits), _largest(score, hits)
    defined = np.isfinite(low_miss) & np.isfinite(low_hit)
    defined &= np.minimum(low_miss, low_hit) < np.maximum(high_miss, high_hit)
    above, below = low_hit >= high_miss, high_hit <= low_miss
    result = np.where(above, np.inf, np.where(below, -np.inf, 0.0))
    return np.where(defined, result, np.nan), defined & ~above & ~below


def _least(score: FloatArray, mass: FloatArray) -> FloatArray:
    """Return the least score with weight; infinite without any."""
    return np.asarray(np.where(mass > 0, score, np.inf).min(axis=1))


def _largest(score: FloatArray, mass: FloatArray) -> FloatArray:
    """Return the largest score with weight; minus infinity without any."""
    return -_least(-score, mass)
