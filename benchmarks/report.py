"""One report of a large evaluation: its size, its time, and what that is in evaluations.

Run with ``make benchmark``; ``docs/performance.md`` keeps the result. All cores are used, as by default.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

# Before the harness, which would set one thread; OpenBLAS has a variable of its own.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, str(os.cpu_count()))
sys.path.insert(0, str(Path(__file__).parent))
from harness import best, peak_memory

import numpy as np

import caveat
from caveat.report import write_report

N, CLASSES, MEMBERS = 100_000, 10, 5


def main() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(N, CLASSES)) * 1.5
    p = np.exp(logits)
    p /= p.sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) < rng.random((N, 1))).sum(axis=1).clip(max=CLASSES - 1)
    members = np.exp(logits + 0.5 * rng.normal(size=(MEMBERS, N, CLASSES)))
    prediction = caveat.Categorical(members / members.sum(axis=-1, keepdims=True))
    groups = {"sex": rng.integers(2, size=N)}
    path = Path(tempfile.mkdtemp()) / "report.html"
    few = slice(0, 1000)
    write_report(caveat.evaluate(prediction.take(few), y[few], resamples=2), path)  # imports
    start = time.perf_counter()
    result = caveat.evaluate(prediction, y, groups=groups, random_state=0)
    once = time.perf_counter() - start
    seconds = best(lambda: write_report(result, path), 3)
    memory = peak_memory(lambda: write_report(result, path))
    size = path.stat().st_size / 1e6
    print(
        f"## Report, {N:,} samples x {CLASSES} classes x {MEMBERS} members, {len(result):,} rows\n"
    )
    print("| work | seconds | ratio | wanted | MB | wanted | peak MiB |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    print(f"| evaluate, 1,000 resamples | {once:.1f} | 1 evaluation | | | | |")
    print(f"| write_report | {seconds:.2f} | {seconds / once:.3f} evaluations | <= 10 s | {size:.2f} | <= 8 | "
          f"{memory:.0f} |")  # fmt: skip
    print()


if __name__ == "__main__":
    main()
