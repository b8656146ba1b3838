"""Splits, measures and class distances against probly, torch-uncertainty and scipy.

Run with ``make benchmark``; ``docs/performance.md`` keeps the result.
"""

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import itertools

import numpy as np
import torch
from scipy.stats import energy_distance

import caveat
from harness import Task, run
import peers  # noqa: F401  (before what imports torchvision)

warnings.simplefilter("ignore")

import probly.quantification.classification as probly
from torch_uncertainty.metrics import Entropy, MutualInformation

torch.set_num_threads(1)


def splits(rng: np.random.Generator) -> Task:
    p = rng.dirichlet(np.ones(10), size=(50, 100_000))
    rows_first = np.ascontiguousarray(p.transpose(1, 0, 2))
    tensor, scratch = torch.from_numpy(rows_first), np.empty_like(p)

    def ours() -> list[np.ndarray]:
        split = caveat.decompose(caveat.Categorical(p), "information")
        return [split.total, split.aleatoric, split.epistemic]

    def by_probly() -> list[np.ndarray]:
        return [
            probly.total_entropy(rows_first, base=np.e),
            probly.conditional_entropy(rows_first, base=np.e),
            probly.mutual_information(rows_first, base=np.e),
        ]

    def by_torch_uncertainty() -> list[np.ndarray]:
        values = []
        mean = tensor.mean(dim=1)
        for metric, given in (
            (Entropy(reduction="none"), mean),
            (Entropy(reduction="none"), tensor),
            (MutualInformation(reduction="none"), tensor),
        ):
            metric.update(given)
            values.append(metric.compute().numpy())
        return values

    for other in (by_probly(), by_torch_uncertainty()):
        for mine, theirs in zip(ours(), other, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)
    return Task(
        "information split, 50 x 10^5 x 10, input checked",
        ours,
        {"probly": by_probly, "torch-uncertainty": by_torch_uncertainty},
        ("np.log of the array into another", lambda: np.log(p, out=scratch)),
        {"probly": ">= 5", "torch-uncertainty": ">= 1.5"},
    )


def distances(rng: np.random.Generator) -> Task:
    classes, channels, samples = 6, 64, 5_000
    X = rng.normal(size=(classes * samples, channels))
    y = np.repeat(np.arange(classes), samples)
    X += 0.2 * y[:, None] * rng.normal(size=channels)

    def by_scipy() -> np.ndarray:
        matrix = np.zeros((classes, classes))
        for i, j in itertools.combinations(range(classes), 2):
            each = [energy_distance(X[y == i, k], X[y == j, k]) for k in range(channels)]
            matrix[i, j] = matrix[j, i] = np.mean(each) + np.std(each)
        return matrix

    np.testing.assert_allclose(caveat.class_distances(X, y), by_scipy(), rtol=1e-9)
    return Task(
        "energy distances, 6 classes x 64 channels x 5,000",
        lambda: caveat.class_distances(X, y),
        {"scipy, pair by pair": by_scipy},
        ("a sort of every channel", lambda: np.sort(X, axis=0)),
        {"scipy, pair by pair": ">= 3"},
        repeats=3,
    )


def geometric(rng: np.random.Generator) -> Task:
    p = rng.dirichlet(np.ones(6), size=1_000_000)
    names = ("fisher-rao", "euclidean", "kullback-leibler", "renyi")

    def ours() -> list[np.ndarray]:
        prediction = caveat.Categorical(p)
        return [caveat.measure(prediction, "geometric", distance=name) for name in names]

    return Task(
        "all four geometric measures, 10^6 x 6, input checked",
        ours,
        reference=("np.log of the array", lambda: np.log(p)),
        targets={"np.log of the array": ">= 0.1"},
    )


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    run("Uncertainty", [splits(rng), distances(rng), geometric(rng)])
