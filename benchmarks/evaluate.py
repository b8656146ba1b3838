"""One evaluation, and a thousand resamples of it, against a sort and against each other.

Run with ``make benchmark``; ``docs/performance.md`` keeps the result. All cores are used, as by default.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", str(os.cpu_count()))
sys.path.insert(0, str(Path(__file__).parent))
from harness import best, peak_memory

import numpy as np

import caveat

N = 1_000_000


def main() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(N, 10)) * 1.5
    p = np.exp(logits)
    p /= p.sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) < rng.random((N, 1))).sum(axis=1).clip(max=9)
    del logits
    prediction, few = caveat.Categorical(p), slice(0, 1000)
    caveat.evaluate(prediction.take(few), y[few], resamples=2)  # imports
    keys = rng.random(N)
    sort = best(lambda: np.sort(keys), 5)
    once = best(lambda: caveat.evaluate(prediction, y, resamples=0), 3)
    result = caveat.evaluate(prediction, y, resamples=1000, random_state=0)
    resampled = best(lambda: caveat.evaluate(prediction, y, resamples=1000, random_state=0), 2)
    size = p.nbytes / 2**20
    memory = [
        peak_memory(lambda: caveat.evaluate(prediction, y, resamples=0)) / size,
        peak_memory(lambda: caveat.evaluate(prediction, y, resamples=1000, random_state=0)) / size,
    ]
    print(f"## Evaluation, 10^6 x 10, {len(result)} rows\n")
    print("| work | seconds | ratio | wanted | peak memory beyond the input, in inputs |")
    print("| --- | --- | --- | --- | --- |")
    print(f"| np.sort of 10^6 | {sort:.4f} | | | |")
    print(
        f"| evaluate, no intervals | {once:.2f} | {once / sort:.1f} sorts | <= 30 | {memory[0]:.2f} |"
    )
    print(f"| evaluate, 1,000 resamples | {resampled:.1f} | {resampled / once:.1f} evaluations | <= 8 | "
          f"{memory[1]:.2f} |")  # fmt: skip
    print()


if __name__ == "__main__":
    main()
