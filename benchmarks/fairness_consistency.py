"""Exact consistency among neighbors beside scikit-learn's own neighbor search.

Both standardize 45,000 rows of 100 features and find five neighbors of each with the same number of
threads; caveat also looks for ties, averages four values, and puts intervals on them by group. Runs
alternate, since a busy machine would otherwise favor one of them.

Run with ``python benchmarks/fairness_consistency.py [threads]``; two by default.
"""

import os
import sys

_THREADS = sys.argv[1] if len(sys.argv) > 1 else "2"
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = _THREADS

import time

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from caveat.fairness import consistency

SAMPLES, FEATURES, NEIGHBORS, RUNS = 45_000, 100, 5, 5


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(SAMPLES, FEATURES))
    names = ("prediction", "aleatoric", "epistemic", "predictive")
    values = {name: rng.random(SAMPLES) for name in names}
    groups = {"race": rng.integers(0, 5, SAMPLES), "sex": rng.integers(0, 2, SAMPLES)}

    def ours() -> np.ndarray:
        found = consistency(values, X, neighbors=NEIGHBORS, groups=groups, random_state=0)
        return found.per_sample["prediction"]

    def theirs() -> np.ndarray:
        scaled = StandardScaler().fit_transform(X)
        model = NearestNeighbors(n_neighbors=NEIGHBORS).fit(scaled)
        index = model.kneighbors(return_distance=False)
        u = values["prediction"]
        return 1 - np.abs(u - u[index].mean(axis=1))

    np.testing.assert_allclose(ours(), theirs(), rtol=1e-9)
    seconds: dict[str, list[tuple[float, float]]] = {"caveat": [], "scikit-learn": []}
    for _ in range(RUNS):
        for name, call in (("caveat", ours), ("scikit-learn", theirs)):
            wall, processor = time.perf_counter(), time.process_time()
            call()
            seconds[name].append((time.perf_counter() - wall, time.process_time() - processor))
    best = {name: np.min(runs, axis=0) for name, runs in seconds.items()}
    print(f"{SAMPLES:,} x {FEATURES}, {NEIGHBORS} neighbors, {_THREADS} threads, best of {RUNS}\n")
    print("| who | seconds | seconds of processors |")
    print("| --- | --- | --- |")
    for name, (wall, processor) in best.items():
        print(f"| {name} | {wall:.2f} | {processor:.2f} |")
    wall, processor = best["caveat"] / best["scikit-learn"]
    print(f"| ratio (wanted: at most 1.2) | {wall:.2f} | {processor:.2f} |")


if __name__ == "__main__":
    main()
