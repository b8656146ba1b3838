"""Conformal sets of pixels, alone and averaged with their neighbors, on Indian Pines.

Run with ``CAVEAT_DATA=folder python benchmarks/spatial_sets.py``; ``docs/maps.md`` keeps the result.
A forest is trained on some labeled pixels; of the others one half calibrates, the other is tested.
Spatially aware conformal prediction (arXiv:2409.01236) averages the scores of a class over the
labeled pixels around; with the score 1 - p that is a set of averaged probabilities.
"""

import argparse

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import caveat
from caveat.datasets import load_indian_pines
from caveat.maps import PredictionMap, average_neighbors


def aps_scores(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the sum of the probabilities above a class and a random part of its own."""
    order = np.argsort(-p, axis=1, kind="stable")
    ranked = np.take_along_axis(p, order, axis=1)
    scores = np.empty_like(p)
    before = np.cumsum(ranked, axis=1) - ranked
    np.put_along_axis(scores, order, before + rng.random((len(p), 1)) * ranked, axis=1)
    return scores


def averaged_scores(scores: np.ndarray, labeled: np.ndarray) -> np.ndarray:
    """Average scores of labeled pixels with those of the labeled pixels around, half and half."""
    height, width = labeled.shape
    grid = np.zeros((height + 2, width + 2, scores.shape[1]))
    grid[1:-1, 1:-1][labeled] = scores
    there = np.pad(labeled, 1).astype(float)
    total, number = np.zeros_like(grid[1:-1, 1:-1]), np.zeros(labeled.shape)
    for i in range(3):
        for j in range(3):
            if (i, j) != (1, 1):
                total += grid[i : i + height, j : j + width]
                number += there[i : i + height, j : j + width]
    mean = total[labeled] / np.maximum(number[labeled], 1)[:, None]
    return np.where(number[labeled][:, None] > 0, (scores + mean) / 2, scores)


def split_sets(scores, y, calibration, test, coverage):
    """Return membership by a threshold of the scores of the true classes."""
    own = np.sort(scores[calibration, y[calibration]])
    threshold = own[int(np.ceil((len(own) + 1) * coverage)) - 1]
    return scores[test] <= threshold


def one_run(scene, seed: int, each: int, coverage: float) -> dict[str, tuple[float, float, float]]:
    rng = np.random.default_rng(seed)
    X, y, places = scene.pixels()
    train = np.concatenate([
        rng.permutation(np.flatnonzero(y == k))[: min(each, (y == k).sum() // 2)]
        for k in range(len(scene.classes))
    ])  # fmt: skip
    rest = rng.permutation(np.setdiff1d(np.arange(len(y)), train))
    calibration, test = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    forest = RandomForestClassifier(200, random_state=seed).fit(X[train], y[train])
    height, width = scene.image.shape[:2]
    everywhere = PredictionMap(
        caveat.Categorical(forest.predict_proba(scene.image.reshape(height * width, -1))),
        (height, width),
    )
    own = everywhere.prediction.take(places)
    labeled = np.zeros(height * width, bool)
    labeled[places] = True
    alone = PredictionMap(own, (height, width), labeled)
    predictions = {
        "pixels alone": own,
        "averaged, all neighbors": average_neighbors(everywhere).prediction.take(places),
        "averaged twice, all neighbors": average_neighbors(everywhere, rounds=2).prediction.take(
            places
        ),
        "averaged, labeled neighbors": average_neighbors(alone).prediction,
    }
    found = {}
    for words, prediction in predictions.items():
        for score in ("lac", "aps"):
            sets = caveat.ConformalSets(coverage, score=score, random_state=seed)
            sets.fit(prediction.take(calibration), y[calibration])
            found[f"{score}, {words}"] = sets.transform(prediction.take(test)).membership
    scores = aps_scores(everywhere.prediction.mean, rng)
    for words, mask in (("labeled", labeled), ("all", np.ones_like(labeled))):
        fused = np.empty_like(scores)
        fused[mask] = averaged_scores(scores[mask], mask.reshape(height, width))
        found[f"aps, scores averaged, {words} neighbors (SACP)"] = split_sets(
            fused[places], y, calibration, test, coverage
        )
    truth = y[test]
    return {
        words: (members[np.arange(len(test)), truth].mean(), members.sum(axis=1).mean(),
                float((members.sum(axis=1) == 1).mean()))
        for words, members in found.items()
    }  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--each", type=int, default=50)
    parser.add_argument("--coverage", type=float, default=0.95)
    asked = parser.parse_args()
    scene = load_indian_pines()
    runs = [one_run(scene, seed, asked.each, asked.coverage) for seed in range(asked.repeats)]
    print("| sets | coverage | mean size | standard error | single classes |")
    print("| --- | --- | --- | --- | --- |")
    for words in runs[0]:
        values = np.array([run[words] for run in runs])
        error = values[:, 1].std(ddof=1) / np.sqrt(len(runs))
        covered, size, single = values.mean(axis=0)
        print(f"| {words} | {covered:.3f} | {size:.2f} | {error:.2f} | {single:.2f} |")
