"""Sets of classes from probabilities averaged with neighbors keep their coverage."""

import numpy as np
from scipy.ndimage import gaussian_filter

import caveat
from caveat.maps import PredictionMap, average_neighbors

MAPS, SIDE, CALIBRATION, TEST = 400, 40, 199, 400


def test_coverage_and_size(promise):
    """Fields of three classes, predicted pixel by pixel with errors of their own.

    A random part of the pixels calibrates. The coverage is then ceil((n + 1) c) / (n + 1) = 0.9 on
    average over maps, whatever the fields are.
    """
    rng = np.random.default_rng(0)
    covered, sizes = np.empty((MAPS, 2)), np.empty((MAPS, 2))
    for number in range(MAPS):
        smooth = np.stack([gaussian_filter(rng.normal(size=(SIDE, SIDE)), 4) for _ in range(3)])
        y = smooth.argmax(axis=0).ravel()
        logits = 1.5 * np.eye(3)[y] + rng.normal(size=(SIDE * SIDE, 3))
        plain = PredictionMap(caveat.Categorical.from_logits(logits), (SIDE, SIDE))
        rows = rng.permutation(SIDE * SIDE)
        calibration, test = rows[:CALIBRATION], rows[CALIBRATION : CALIBRATION + TEST]
        for way, pixels in enumerate((plain, average_neighbors(plain))):
            sets = caveat.ConformalSets(0.9).fit(
                pixels.prediction.take(calibration), y[calibration]
            )
            members = sets.transform(pixels.prediction.take(test)).membership
            covered[number, way] = members[np.arange(TEST), y[test]].mean()
            sizes[number, way] = members.sum(axis=1).mean()
    error = covered.std(axis=0, ddof=1) / np.sqrt(MAPS)
    promise(
        "Maps", "sets of classes from probabilities averaged with neighbors",
        f"fields of three classes, {SIDE} x {SIDE}, {CALIBRATION} random pixels calibrate; mean "
        f"size {sizes[:, 1].mean():.2f}, without neighbors {sizes[:, 0].mean():.2f}",
        MAPS, covered[:, 1].mean(), "0.9",
    )  # fmt: skip
    assert np.all(np.abs(covered.mean(axis=0) - 0.9) < 3.5 * error)
    assert sizes[:, 1].mean() < 0.85 * sizes[:, 0].mean()
