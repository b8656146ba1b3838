"""Intervals of maps from spatial blocks cover; those that take pixels for independent do not."""

import numpy as np
import pytest
from scipy.special import ndtri

import caveat
from caveat.maps import PredictionMap

SETS, SIDE, PAD = 200, 240, 60


def fields(kind, length, rng):
    """Yield Gaussian fields of a known correlation, cut out of a torus."""
    size = SIDE + PAD
    steps = np.minimum(np.arange(size), size - np.arange(size))
    away = np.hypot(steps[:, None], steps)
    shape = np.exp(-away / length) if kind == "exponential" else np.exp(-((away / length) ** 2))
    spectrum = np.sqrt(np.maximum(np.fft.fft2(shape).real, 0))
    for _ in range(SETS):
        noise = np.fft.fft2(rng.normal(size=(size, size)))
        yield np.fft.ifft2(spectrum * noise).real[:SIDE, :SIDE]


@pytest.mark.parametrize(
    ("kind", "length", "wrong"), [("exponential", 2.0, 0.2), ("squared exponential", 4.0, 0.1)]
)
def test_block_intervals_cover(kind, length, wrong, promise):
    rng = np.random.default_rng(0)
    p = np.tile([0.8, 0.2], (SIDE * SIDE, 1))
    pixels = PredictionMap(caveat.Categorical(p), (SIDE, SIDE))
    options = {"metrics": ["accuracy"], "resamples": 40, "random_state": 0}
    covered, alone, sides = 0, 0, []
    for number, field in enumerate(fields(kind, length, rng)):
        y = (field < ndtri(wrong)).astype(int)
        result = pixels.evaluate(y, **options)
        (row,) = result.evaluation.select(metric="accuracy", scale="global")
        covered += row.low <= 1 - wrong <= row.high
        sides.append(result.block.side[0])
        if number < 60:
            plain = caveat.evaluate(pixels.prediction, y.ravel(), **options)
            (row,) = plain.select(metric="accuracy", scale="global")
            alone += row.low <= 1 - wrong <= row.high
    promise(
        "Maps", "the accuracy of a map, from spatial blocks",
        f"{kind} correlation over {length:g} pixels, {SIDE} x {SIDE}, blocks of "
        f"{np.mean(sides):.0f}", SETS, covered / SETS, "0.95",
    )  # fmt: skip
    # Three standard errors of the simulation; neighbors of two blocks still share a little.
    assert covered / SETS > 0.95 - 3 * np.sqrt(0.95 * 0.05 / SETS)
    assert alone / 60 < 0.6
