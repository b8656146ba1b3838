"""Probabilities averaged with those of the neighbors: a loop over pixels, and sets of classes."""

import itertools

import numpy as np
import pytest

import caveat
from caveat.exceptions import OptionError, UnsupportedPredictionError
from caveat.maps import PredictionMap, average_neighbors


def by_loop(p, valid, share, rounds):
    """The definition, pixel by pixel; p is (height, width, classes)."""
    shape = valid.shape
    for _ in range(rounds):
        new = p.copy()
        for place in np.argwhere(valid):
            near = []
            for step in itertools.product((-1, 0, 1), repeat=len(shape)):
                other = tuple(place + step)
                inside = all(0 <= i < length for i, length in zip(other, shape, strict=True))
                if any(step) and inside and valid[other]:
                    near.append(p[other])
            if near:
                new[tuple(place)] = (1 - share) * p[tuple(place)] + share * np.mean(near, axis=0)
        p = new
    return p


@pytest.mark.parametrize("shape", [(5, 7), (3, 4, 5)])
@pytest.mark.parametrize(("share", "rounds"), [(0.5, 1), (0.3, 3)])
def test_against_a_loop(shape, share, rounds):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), shape)
    valid = rng.random(shape) < 0.6
    valid[:2], valid[0, 0] = False, True  # a pixel without neighbors
    axes = "y x class" if len(shape) == 2 else "z y x class"
    for mask in (np.ones(shape, bool), valid):
        pixels = PredictionMap.from_array(p, axes=axes, valid=mask)
        result = average_neighbors(pixels, share=share, rounds=rounds)
        expected = by_loop(p, mask, share, rounds)[mask]
        np.testing.assert_allclose(result.prediction.mean, expected, rtol=1e-12)
        assert result.shape == shape


def test_members_and_single_precision():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(4), (2, 6, 6)).astype(np.float32)
    pixels = PredictionMap.from_array(p, axes="member y x class", classes=list("abcd"))
    result = average_neighbors(pixels)
    every = np.ones((6, 6), bool)
    for member in range(2):
        expected = by_loop(p[member].astype(float), every, 0.5, 1).reshape(-1, 4)
        np.testing.assert_allclose(result.prediction.probabilities[member], expected, rtol=1e-5)
    assert result.prediction.classes.tolist() == list("abcd")


def test_sets_of_averages_are_those_of_averaged_scores():
    """With the score 1 - p: averaging scores, as spatially aware conformal prediction has it."""
    rng = np.random.default_rng(2)
    labels = np.repeat(np.arange(3), 300).reshape(30, 30)
    p = np.array([rng.dirichlet(1 + 2 * np.eye(3)[k]) for k in labels.ravel()])
    pixels = PredictionMap(caveat.Categorical(p), (30, 30))
    every = np.ones((30, 30), bool)
    scores = by_loop(1 - p.reshape(30, 30, 3), every, 0.5, 1).reshape(-1, 3)
    rows, y = rng.permutation(900), labels.ravel()
    calibration, test = rows[:400], rows[400:]
    threshold = np.sort(scores[calibration, y[calibration]])[int(np.ceil(401 * 0.9)) - 1]
    averaged = average_neighbors(pixels).prediction
    sets = caveat.ConformalSets(0.9).fit(averaged.take(calibration), y[calibration])
    membership = sets.transform(averaged.take(test)).membership
    differ = membership != (scores[test] <= threshold)
    assert (np.abs(scores[test] - threshold)[differ] < 1e-12).all()
    plain = caveat.ConformalSets(0.9).fit(pixels.prediction.take(calibration), y[calibration])
    assert membership.sum() < plain.transform(pixels.prediction.take(test)).membership.sum()


def test_what_does_not_fit():
    numbers = PredictionMap(caveat.Gaussian(np.zeros(4), np.ones(4)), (2, 2))
    with pytest.raises(UnsupportedPredictionError, match="class probabilities; got Gaussian"):
        average_neighbors(numbers)
    with pytest.raises(UnsupportedPredictionError, match="got list"):
        average_neighbors([0.1])
    pixels = PredictionMap.from_array(np.full((2, 2, 2), 0.5))
    with pytest.raises(OptionError, match="share must be"):
        average_neighbors(pixels, share=1)
    with pytest.raises(OptionError, match="rounds must be"):
        average_neighbors(pixels, rounds=0)
