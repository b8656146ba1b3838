"""Intervals from merged summaries hold the value of the population as often as they say."""

import numpy as np

import caveat
from caveat.summaries import summarize_counts

SETS, N = 120, 12_000
TABLE = ["accuracy", "brier", "nll", "auc", "ece", "ace", "aurc", "average_precision_score",
         "sensitivity_at_specificity_score", "error_detection_auroc_score"]  # fmt: skip


def drawn(rng, n):
    z = rng.normal(size=n)
    return 1 / (1 + np.exp(-2 * z - 1)), (rng.random(n) < 1 / (1 + np.exp(-1.5 * z - 1))).astype(
        int
    )


def coverages(evaluations, truth):
    held = {metric: [] for metric in truth}
    for evaluation in evaluations:
        for row in evaluation.rows:
            if row.overall and row.metric in truth:
                held[row.metric].append(row.low <= truth[row.metric] <= row.high)
    return {metric: np.mean(shares) for metric, shares in held.items()}


def test_intervals_of_a_table_of_two_classes(promise):
    rng = np.random.default_rng(17)
    whole = caveat.merge(summarize_counts(*drawn(rng, 1_000_000)) for _ in range(20))
    exact = whole.evaluate(metrics=TABLE, resamples=0)
    truth = {row.metric: row.value for row in exact.rows if row.overall}

    def weeks():
        for seed in range(SETS):
            parts = [caveat.summarize(caveat.Categorical.from_binary(p), y)
                     for p, y in (drawn(rng, N // 2) for _ in range(2))]  # fmt: skip
            yield (parts[0] + parts[1]).evaluate(metrics=TABLE, random_state=seed)

    held = coverages(weeks(), truth)
    for metric, share in held.items():
        promise(
            "Summaries", f"95 % interval of {metric} from a merged table",
            f"two classes, {N:,} samples", SETS, share, "0.95",
        )  # fmt: skip
        # 4 standard errors of a share of 120, and 2 points for 64 units and their cells
        assert share > 0.95 - 4 * np.sqrt(0.95 * 0.05 / SETS) - 0.02, (metric, share)


def test_intervals_of_states_with_clusters_and_weights(promise):
    rng = np.random.default_rng(23)
    names = [
        "accuracy",
        "brier",
        "nll",
        "ece",
        "classwise_ece",
        "aurc",
        "error_detection_auroc_score",
    ]
    sets, clusters, each = 60, 600, 20

    def samples(number):
        center = np.repeat(rng.normal(0, 0.7, (number, 3)), each, axis=0)
        logits = center + rng.normal(size=(number * each, 3))
        p = np.exp(1.3 * logits)
        p /= p.sum(axis=1, keepdims=True)
        q = np.exp(logits)
        q /= q.sum(axis=1, keepdims=True)
        y = (q.cumsum(axis=1) > rng.random((len(q), 1))).argmax(axis=1)
        weight = np.exp(0.5 * rng.normal(size=len(q)))
        return caveat.Categorical(p), y, np.repeat(np.arange(number), each), weight

    prediction, y, _, _ = samples(40_000)
    exact = caveat.evaluate(prediction, y, metrics=names, resamples=0)
    truth = {row.metric: row.value for row in exact.rows if row.overall}

    def weeks():
        for seed in range(sets):
            prediction, y, cluster, weight = samples(clusters)
            halves = [
                caveat.summarize(
                    prediction.take(part), y[part], cluster=cluster[part],
                    sample_weight=weight[part], metrics=names,
                )
                for part in (slice(0, 5_000), slice(5_000, None))
            ]  # fmt: skip
            yield (halves[0] + halves[1]).evaluate(random_state=seed)

    held = coverages(weeks(), truth)
    for metric, share in held.items():
        promise(
            "Summaries", f"95 % interval of {metric} from merged states",
            f"three classes, {clusters} clusters of {each}, weights", sets, share, "0.95",
        )  # fmt: skip
        assert share > 0.95 - 4 * np.sqrt(0.95 * 0.05 / sets) - 0.02, (metric, share)
