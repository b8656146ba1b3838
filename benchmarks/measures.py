"""Measures on maps: distances against scipy, all measures of a map, homophily, windows.

Run with ``python benchmarks/measures.py``; ``docs/performance.md`` keeps the result. The image of
windows has 10^7 pixels; ``--pixels 100000000`` makes it larger. ``--pairs 9`` reads and measures it
in turns instead of all else, and prints each pair: the time to read varies more than the rest.
"""

import argparse
import itertools
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness import Task, run

import numpy as np
from scipy.stats import energy_distance

import caveat
from caveat.maps import measure_windows, windows
from caveat.uncertainty import MEASURES, homophily_maximum, homophily_uncertainty


PAUSE = 5.0
"""Seconds after a file was dropped from memory."""


def distances(rng: np.random.Generator) -> Task:
    y = np.repeat(np.arange(6), 5000)
    X = rng.normal(size=(30_000, 64)) + rng.normal(size=(6, 64))[y]
    groups = [X[y == k] for k in range(6)]

    def pair_by_pair() -> np.ndarray:
        H = np.zeros((6, 6))
        for i, j in itertools.combinations(range(6), 2):
            each = [energy_distance(groups[i][:, c], groups[j][:, c]) for c in range(64)]
            H[i, j] = H[j, i] = np.mean(each) + np.std(each)
        return H

    np.testing.assert_allclose(caveat.class_distances(X, y), pair_by_pair(), rtol=1e-9)
    return Task(
        "energy distances, 6 classes x 64 channels x 5,000", lambda: caveat.class_distances(X, y),
        {"scipy, pair by pair": pair_by_pair}, targets={"scipy, pair by pair": "9 or more"},
    )  # fmt: skip


def all_measures(rng: np.random.Generator) -> Task:
    p = caveat.Categorical(rng.dirichlet(np.full(6, 0.3), 600 * 166))
    H = rng.uniform(0.3, 1, (6, 6))
    H = np.triu(H, 1) + np.triu(H, 1).T
    best = homophily_maximum(H)

    def ours() -> None:
        for name in MEASURES:
            options = {"H": H, "maximum": best} if name == "homophily_uncertainty" else {}
            caveat.measure(p, name, **options)

    return Task("all measures of a map of 600 x 166 pixels, 6 classes", ours)


def homophily(rng: np.random.Generator) -> Task:
    p = rng.random((1_000_000, 100))
    p /= p.sum(axis=1, keepdims=True)
    prediction = caveat.Categorical(p)
    H = np.linalg.norm((points := rng.normal(size=(100, 5)))[:, None] - points, axis=2)
    best, product = homophily_maximum(H), np.empty_like(p)
    return Task(
        "homophily of 10^6 x 100", lambda: homophily_uncertainty(prediction, H, maximum=best),
        reference=("one matrix product", lambda: np.matmul(p, H, out=product)),
        targets={"one matrix product": "1/3 or more"}, repeats=3,
    )  # fmt: skip


def by_windows(
    folder: str, pixels: int, rng: np.random.Generator
) -> tuple[Task, Callable[[], None]]:
    """From a file that the system has to read again, by threads: a core each for ours."""
    side, path = int(pixels**0.5), Path(folder) / "p.dat"
    shape = (6, side, side)
    source = np.memmap(path, np.float32, "w+", shape=shape)
    for rows, columns in windows(side, side):
        part = rng.random((6, rows.stop - rows.start, side), dtype=np.float32)
        source[:, rows, columns] = part / part.sum(axis=0)
    source.flush()
    del source
    out = np.memmap(Path(folder) / "u.dat", np.float32, "w+", shape=(side, side))

    def drop() -> None:
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def forgotten() -> np.ndarray:
        drop()
        return np.memmap(path, np.float32, "r", shape=shape)

    def read() -> None:
        source = forgotten()
        for rows, columns in windows(side, side):
            np.array(source[:, rows, columns])

    def ours() -> None:
        os.environ["OMP_NUM_THREADS"] = str(os.cpu_count())
        measure_windows(forgotten(), "gini", out=out)
        os.environ["OMP_NUM_THREADS"] = "1"

    task = Task(
        f"Gini impurity of {side:,} x {side:,} pixels, 6 classes, by windows from a file", ours,
        reference=("reading alone", read), targets={"reading alone": "1/2 or more"}, repeats=3,
    )  # fmt: skip
    return task, drop


def in_pairs(task: Task, drop: Callable[[], None], pairs: int) -> None:
    """Print seconds by the clock and of CPU time for reading and for measuring, pair by pair.

    Either comes first in every second pair. Before each run the file is dropped from memory, and the
    system gets some seconds to take that memory back, as virtual machines do: otherwise some runs
    find memory that is ready for use, and others do not.
    """
    calls = {"reading": task.reference[1], "measuring": task.ours}
    times = {name: [] for name in calls}
    for pair in range(pairs):
        for name in sorted(calls, reverse=pair % 2 == 0):
            drop()
            time.sleep(PAUSE)
            times[name].append(seconds(calls[name]))
        print(", ".join(f"{name} {times[name][-1][0]:.2f} s (CPU {times[name][-1][1]:.2f})"
                        for name in calls), flush=True)  # fmt: skip
    for word, summary in (("best", min), ("median", statistics.median), ("longest", max)):
        read, ours = (summary([clock for clock, _ in times[name]]) for name in calls)
        print(f"{task.name}: {word} of each {ours:.2f} and {read:.2f} s, ratio {ours / read:.2f}")
    ratios = [ours / read for (read, _), (ours, _) in zip(*times.values(), strict=True)]
    print(f"ratios of pairs: median {statistics.median(ratios):.2f}, {min(ratios):.2f} to "
          f"{max(ratios):.2f}")  # fmt: skip


def seconds(function: Callable[[], None]) -> tuple[float, float]:
    clock, cpu = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - clock, time.process_time() - cpu


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--pixels", type=int, default=10**7)
    parser.add_argument("--pairs", type=int, default=0)
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        if asked.pairs:
            in_pairs(*by_windows(folder, asked.pixels, rng), asked.pairs)
            sys.exit()
        tasks = [distances(rng), all_measures(rng), homophily(rng)]
        run("Measures", [*tasks, by_windows(folder, asked.pixels, rng)[0]])
