"""The metric under the null hypothesis: truths drawn from the prediction itself."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .._validation import FloatArray
from ..metrics.sums import UNBIASED, Sums, dense
from .prepared import Prepared

__all__ = ["as_noisy", "null_draws"]

DRAWS = 199
_ENTRIES = 2**22
"""Numbers copied at a time."""


def null_draws(
    sums: Callable[..., Sums], prepared: Prepared, options: dict[str, Any]
) -> tuple[FloatArray, FloatArray]:
    """Return values, (draws,), and gaps, (draws, gaps), with truths drawn from the prediction.

    All predictions stay as they are; each is right as often as it says. No draws are made of more
    samples than are resampled one by one, whose bins hold enough of them for resamples to show
    what chance does, nor of predictions that nothing can be drawn from.
    """
    draw = _drawing(prepared, options.get("classes")) if prepared.exact else None
    if draw is None:
        return np.empty(0), np.empty((0, 0))
    rng = np.random.default_rng(prepared.plan.seed)
    samples, values, gaps = len(prepared), [], []
    width = max(np.asarray(value).size // samples for value in prepared.inputs.values())
    step = max(1, _ENTRIES // (samples * width))
    for start in range(0, DRAWS, step):
        number = min(step, DRAWS - start)
        unit = np.repeat(np.arange(number, dtype=np.int32), samples)
        plan = replace(prepared.plan, unit=unit, counts=np.eye(number, dtype=np.uint16))
        weight = None if prepared.weight is None else np.tile(prepared.weight, number)
        rows = np.tile(np.arange(samples), number)
        drawn = prepared.extended(draw(rng, number).ravel(), rows, plan, weight)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            made = sums(drawn, **options)
            assert made.norm != UNBIASED
            read = [part.reduce(dense(part.matrix())) for part in made.parts]
            gaps.append(made.finish(*read))
            values.append(made.norm(gaps[-1]) if made.value is None else made.value(*read))
    return np.concatenate(values), np.concatenate(gaps)


def as_noisy(deviations: FloatArray, gaps: FloatArray) -> FloatArray:
    """Return deviations of resamples, each gap of which varies at least as in the draws.

    Resamples of a bin that holds one sample, or only hits, show less noise than there is.
    """
    noise, least = _noise(deviations), _noise(gaps)
    wider = np.divide(least, noise, out=np.ones(len(noise)), where=(noise > 0) & (least > noise))
    noiseless = (noise == 0) & (least > 0)
    result = deviations * wider
    result[:, noiseless] = np.resize(gaps[:, noiseless], (len(result), np.count_nonzero(noiseless)))
    return result


def _noise(values: FloatArray) -> FloatArray:
    """Return the standard deviation of each column; 0 where a number is not finite."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(values.std(axis=0), posinf=0.0)


def _drawing(
    prepared: Prepared, classes: Any
) -> Callable[[np.random.Generator, int], np.ndarray] | None:
    """Return a function that draws truths, (number, samples); None without a distribution."""
    names = set(prepared.inputs)
    if names == {"probabilities"}:
        data = prepared.labeled(classes)
        running = np.cumsum(data.probabilities, axis=1)
        labels = np.asarray(data.classes)

        def of_classes(rng: np.random.Generator, number: int) -> np.ndarray:
            place = rng.random((number, len(data), 1)) * running[:, -1:]
            # A tiny probability is lost in rounding.
            return np.asarray(labels[np.minimum((running <= place).sum(axis=2), len(labels) - 1)])

        return of_classes
    if names == {"mean", "variance"}:
        mean, spread = (np.asarray(prepared.inputs[name], dtype=float) for name in sorted(names))
        deviation = np.sqrt(spread)
        return lambda rng, number: rng.normal(mean, deviation, (number, len(mean)))
    if names == {"levels", "values"}:
        levels, values = (np.asarray(prepared.inputs[name], dtype=float) for name in sorted(names))
        # Each true value is the lowest quantile that holds it, or one above all of them.
        above = np.nextafter(values[:, -1:], np.inf)
        places = np.concatenate([values, above], axis=1)

        def of_quantiles(rng: np.random.Generator, number: int) -> np.ndarray:
            held = np.searchsorted(levels, rng.random((number, len(values))))
            return np.asarray(places[np.arange(len(values)), held])

        return of_quantiles
    return None
