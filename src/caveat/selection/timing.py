"""How long one sample takes: the prediction of a base model, and each step after it."""

import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone

__all__ = ["Timing", "machine", "timed"]

_LEAST = 1e-3
"""Seconds of one measurement at least: shorter calls are repeated, since clocks have a step."""


@dataclass(frozen=True)
class Timing:
    """Seconds for one sample, measured several times.

    Attributes
    ----------
    seconds : float
        The mean.
    error : float
        Its standard error; NaN for one measurement.
    repeats : int
        How many measurements.
    """

    seconds: float
    error: float
    repeats: int


def machine() -> str:
    """Return the machine in words: processor, cores that may be used, version of Python.

    Examples
    --------
    >>> from caveat.selection.timing import machine
    >>> "cores" in machine()
    True
    """
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    name = platform.processor() or platform.machine()
    return f"{name}, {count} cores, Python {platform.python_version()}"


def timed(call: Callable[[], Any], repeats: int, samples: int = 1) -> Timing:
    """Return the seconds of a call for one sample, after a first one that does not count.

    Parameters
    ----------
    call : callable
    repeats : int
        How many measurements.
    samples : int, default=1
        How many samples one call is for.

    Examples
    --------
    >>> from caveat.selection.timing import timed
    >>> timed(lambda: sum(range(100)), 3).repeats
    3
    """
    started = perf_counter()
    call()
    once = max(perf_counter() - started, 1e-9)
    calls = max(1, int(np.ceil(_LEAST / once)))
    values = []
    for _ in range(repeats):
        started = perf_counter()
        for _ in range(calls):
            call()
        values.append((perf_counter() - started) / calls / samples)
    error = float(np.std(values, ddof=1) / np.sqrt(repeats)) if repeats > 1 else float("nan")
    return Timing(float(np.mean(values)), error, repeats)


def time_recalibration(technique: Any, calibration: Any, y: Any, test: Any, repeats: int) -> Timing:
    """Return how long the step after the prediction takes for one sample; its fit is not timed."""
    calibration, test = technique.prepared(calibration, test)
    fitted = clone(technique.recalibrator).fit(calibration, y)
    return timed(lambda: fitted.transform(test), repeats, len(test))
