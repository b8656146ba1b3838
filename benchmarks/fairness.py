"""An audit with 200 resamples against one pass of fairlearn's MetricFrame without any.

Run with ``make benchmark``; ``docs/performance.md`` keeps the result.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness import best, peak_memory

import numpy as np

import caveat
from caveat.fairness import audit

N, MEMBERS, RESAMPLES = 1_000_000, 5, 200


def data() -> tuple:
    rng = np.random.default_rng(0)
    logit = 2 * rng.normal(size=N) + 0.5 * rng.normal(size=(MEMBERS, N))
    p = 1 / (1 + np.exp(-logit))
    y = (rng.random(N) < p.mean(axis=0)).astype(int)
    groups = {
        "sex": rng.choice(["f", "m"], size=N),
        "race": rng.choice(["a", "b", "c", "d"], size=N),
        "age": rng.choice(["young", "middle", "old"], size=N),
    }
    return caveat.Categorical.from_binary(p), y, groups


def main() -> None:
    import pandas as pd
    from fairlearn.metrics import (
        MetricFrame,
        count,
        false_negative_rate,
        false_positive_rate,
        selection_rate,
        true_positive_rate,
    )
    from sklearn.metrics import accuracy_score, precision_score

    prediction, y, groups = data()
    predicted = prediction.mean.argmax(axis=1)
    metrics = {
        "count": count,
        "accuracy": accuracy_score,
        "selection": selection_rate,
        "ppv": precision_score,
        "tpr": true_positive_rate,
        "fpr": false_positive_rate,
        "fnr": false_negative_rate,
    }
    features = pd.DataFrame(groups)

    def peer() -> None:
        MetricFrame(metrics=metrics, y_true=y, y_pred=predicted, sensitive_features=features)

    def ours(resamples: int = RESAMPLES) -> None:
        audit(prediction, y, groups, resamples=resamples, random_state=0)

    few = slice(0, 1000)
    audit(prediction.take(few), y[few], {k: v[few] for k, v in groups.items()}, resamples=40)
    other = best(peer, 1)
    start = time.perf_counter()
    ours()
    resampled = time.perf_counter() - start
    once = best(lambda: ours(0), 1)
    memory = peak_memory(ours) / (prediction.probabilities.nbytes / 2**20)
    print(f"## Fairness, 10^6 samples x {MEMBERS} members, {len(groups)} attributes\n")
    print(
        "| work | seconds | ratio to MetricFrame | wanted | peak memory beyond the input, in inputs |"
    )
    print("| --- | --- | --- | --- | --- |")
    print(
        f"| fairlearn MetricFrame, {len(metrics)} metrics, all attributes at once | {other:.2f} | 1 | | |"
    )
    print(f"| audit, no intervals | {once:.2f} | {once / other:.2f} | | |")
    print(
        f"| audit, {RESAMPLES} resamples | {resampled:.2f} | {resampled / other:.2f} | <= 20 | {memory:.2f} |"
    )
    print()


if __name__ == "__main__":
    main()
