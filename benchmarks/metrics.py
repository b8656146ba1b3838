"""Metrics against scikit-learn, torchmetrics, netcal, relplot, scoringrules, uncertainty-toolbox.

Run with ``make benchmark``; ``docs/performance.md`` keeps the result. Every peer's value is compared
with ours first, where the definitions agree.
"""

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from harness import Task, best, run
import peers  # noqa: F401  (before what imports torchvision)

import numpy as np
import scoringrules
import sklearn.metrics
import torch
from netcal.metrics import ECE as NetcalECE
from netcal.metrics import ENCE as NetcalENCE
from relplot import smECE as relplot_smece
from torchmetrics.classification import BinaryCalibrationError

from caveat import metrics

warnings.simplefilter("ignore")

import uncertainty_toolbox
from torch_uncertainty.metrics import AUSE

torch.set_num_threads(1)
N = 1_000_000


def agree(ours: Callable[[], Any], theirs: Callable[[], Any], tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(ours(), theirs(), rtol=tolerance, atol=tolerance)


def binary(rng: np.random.Generator, n: int = N) -> tuple[np.ndarray, np.ndarray]:
    p = rng.random(n)
    return (rng.random(n) < p**1.2).astype(np.int64), p


def several(rng: np.random.Generator, n: int = N) -> tuple[np.ndarray, np.ndarray]:
    p = rng.dirichlet(np.ones(10), size=n)
    return (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=9), p


def numbers(rng: np.random.Generator, n: int = N) -> tuple[np.ndarray, ...]:
    mean, std = rng.normal(size=n), rng.gamma(3.0, size=n) + 0.1
    return mean + 1.1 * std * rng.normal(size=n), mean, std, std**2


def calibration(rng: np.random.Generator) -> list[Task]:
    y, p = binary(rng)
    y_tensor, p_tensor = torch.from_numpy(y), torch.from_numpy(p)

    def ours() -> float:
        return metrics.expected_calibration_error(y, p, kind="positive")

    def by_torchmetrics() -> float:
        metric = BinaryCalibrationError(n_bins=15)
        metric.update(p_tensor, y_tensor)
        return float(metric.compute())

    def by_netcal() -> float:
        return float(NetcalECE(15).measure(p, y))

    agree(ours, by_torchmetrics, 1e-3)  # it adds up in single precision
    agree(ours, by_netcal, 1e-9)

    def smooth() -> float:
        return metrics.smooth_calibration_error(y, p, kind="positive")

    agree(
        smooth, lambda: float(relplot_smece(p, y)), 1e-3
    )  # both approximate, each within its bound
    return [
        Task(
            "ECE, two classes, 15 bins",
            ours,
            {"torchmetrics": by_torchmetrics, "netcal": by_netcal},
            ("one pass", p.sum),
            {"torchmetrics": ">= 8", "netcal": ">= 20"},
        ),
        Task(
            "smECE",
            smooth,
            {"relplot": lambda: relplot_smece(p, y)},
            ("one pass", p.sum),
            {"relplot": ">= 30"},
        ),
        Task(
            "ROC AUC",
            lambda: metrics.roc_auc_score(y, p),
            {"scikit-learn": lambda: sklearn.metrics.roc_auc_score(y, p)},
            ("one sort", lambda: np.sort(p)),
            {"scikit-learn": ">= 3"},
        ),
    ]


def scores(rng: np.random.Generator) -> list[Task]:
    y, p = several(rng)
    nll = (
        lambda: metrics.negative_log_likelihood_loss(y, p),
        lambda: sklearn.metrics.log_loss(y, p),
    )
    brier = (lambda: metrics.brier_loss(y, p), lambda: sklearn.metrics.brier_score_loss(y, p))
    agree(*nll)
    agree(*brier)
    reference = ("one pass", p.sum)
    return [
        Task("NLL, 10 classes", nll[0], {"scikit-learn": nll[1]}, reference, {"scikit-learn": ">= 12"}),
        Task("Brier, 10 classes", brier[0], {"scikit-learn": brier[1]}, reference, {"scikit-learn": ">= 8"}),
        Task("ACE, 10 classes, equal-count bins", lambda: metrics.adaptive_calibration_error(y, p)),
    ]  # fmt: skip


def regression(rng: np.random.Generator) -> list[Task]:
    y, mean, std, variance = numbers(rng)
    levels = np.linspace(0.01, 0.99, 99)
    crps = (
        lambda: metrics.gaussian_crps_loss(y, mean, variance),
        lambda: float(np.mean(scoringrules.crps_normal(y, mean, std, backend="numpy"))),
    )
    agree(*crps)
    few = slice(0, 100_000)
    members = rng.normal(size=(50, 100_000)) * std[few] + mean[few]
    rows_first = np.ascontiguousarray(members.T)
    ensemble = (
        lambda: metrics.ensemble_crps_loss(y[few], members),
        lambda: float(
            np.mean(scoringrules.crps_ensemble(y[few], rows_first, estimator="qd", backend="numpy"))
        ),
    )
    agree(*ensemble)
    small = (mean[few], std[few], y[few])
    return [
        Task(
            "coverage calibration, 99 levels",
            lambda: metrics.central_coverage_error(y, mean, variance, levels=levels),
            {
                "uncertainty-toolbox, vectorized": lambda: uncertainty_toolbox.mean_absolute_calibration_error(
                    mean, std, y, num_bins=100, vectorized=True
                )
            },
            ("one pass", y.sum),
            {"uncertainty-toolbox, vectorized": ">= 8"},
            repeats=3,
        ),
        Task(
            "ENCE, equal-count bins",
            lambda: metrics.expected_normalized_calibration_error(y, mean, variance),
            {"netcal, equal-width bins": lambda: NetcalENCE(bins=15).measure((mean, std), y)},
            ("one sort", lambda: np.sort(y)),
            {"netcal, equal-width bins": ">= 4"},
        ),
        Task("Gaussian CRPS", crps[0], {"scoringrules": crps[1]}, ("one pass", y.sum), {"scoringrules": ">= 0.91"}),
        Task("ensemble CRPS, 10^5 x 50", ensemble[0], {"scoringrules": ensemble[1]},
             ("a sort of the members", lambda: np.sort(rows_first, axis=1)), {"scoringrules": ">= 0.91"}),
        Task(
            "AUCO",
            lambda: metrics.confidence_oracle_area_error(np.abs(y - mean), std),
            {"torch-uncertainty AUSE": lambda: ause(np.abs(y - mean), std)},
            ("one sort", lambda: np.sort(y)),
            {"torch-uncertainty AUSE": ">= 1.5"},
            repeats=3,
        ),
        Task(
            "all of a regression evaluation, 10^5",
            lambda: everything(y[few], mean[few], variance[few]),
            {
                "uncertainty-toolbox, get_all_metrics": lambda: uncertainty_toolbox.get_all_metrics(
                    *small, verbose=False
                )
            },
            ("one sort", lambda: np.sort(y[few])),
            {"uncertainty-toolbox, get_all_metrics": ">= 200"},
            repeats=1,
        ),
    ]  # fmt: skip


def ause(error: np.ndarray, uncertainty: np.ndarray) -> float:
    metric = AUSE()
    metric.update(torch.from_numpy(uncertainty), torch.from_numpy(error))
    return float(metric.compute())


def everything(y: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> list[float]:
    """Everything that the registry has for means and variances, intervals and rankings."""
    half = 1.6448536269514722 * np.sqrt(variance)
    given = {
        "mean": mean,
        "variance": variance,
        "lower": mean - half,
        "upper": mean + half,
        "value": mean,
    }
    options = {
        "coverage_ratio": {"coverage": 0.9},
        "interval_loss": {"coverage": 0.9},
        "pinball_loss": {"level": 0.5},
        "mean_absolute_scaled_error": {"reference_median": 0.0},
    }
    values = []
    for metric in metrics.METRICS.values():
        if metric.task == "regression" and set(metric.inputs) <= set(given):
            inputs = [given[name] for name in metric.inputs]
            values.append(metric.function(y, *inputs, **options.get(metric.name, {})))
        elif metric.task == "ranking" and metric.name != "error_detection_auroc_score":
            values.append(metric.function(np.abs(y - mean), variance))
    return values


def growth(rng: np.random.Generator) -> None:
    """Print the time for each sample as the number of samples grows."""
    sizes = (10**4, 10**5, 10**6, 10**7)
    print("## Growth\n\nNanoseconds for each sample; a constant row is linear growth.\n")
    print("| metric | " + " | ".join(f"10^{len(str(n)) - 1}" for n in sizes) + " |")
    print("| --- |" + " --- |" * len(sizes))
    calls: dict[str, Callable[[int], Callable[[], Any]]] = {}
    y, p = binary(rng, sizes[-1])
    target, mean, _, variance = numbers(rng, sizes[-1])
    calls["ECE"] = lambda n: (
        lambda: metrics.expected_calibration_error(y[:n], p[:n], kind="positive")
    )
    calls["smECE"] = lambda n: (
        lambda: metrics.smooth_calibration_error(y[:n], p[:n], kind="positive")
    )
    calls["ROC AUC"] = lambda n: lambda: metrics.roc_auc_score(y[:n], p[:n])
    calls["NLL"] = lambda n: lambda: metrics.negative_log_likelihood_loss(y[:n], p[:n])
    calls["ENCE"] = lambda n: (
        lambda: metrics.expected_normalized_calibration_error(target[:n], mean[:n], variance[:n])
    )
    calls["AUCE"] = lambda n: (
        lambda: metrics.central_coverage_error(target[:n], mean[:n], variance[:n])
    )
    calls["CRPS"] = lambda n: lambda: metrics.gaussian_crps_loss(target[:n], mean[:n], variance[:n])
    calls["AUCO"] = lambda n: (
        lambda: metrics.confidence_oracle_area_error(np.abs(target[:n] - mean[:n]), variance[:n])
    )
    calls["np.sort"] = lambda n: lambda: np.sort(p[:n])
    for name, call in calls.items():
        cells = [f"{best(call(n), 3) / n * 1e9:.1f}" for n in sizes]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print()


if __name__ == "__main__":
    generator = np.random.default_rng(0)
    run(
        "Metrics, 10^6 samples",
        [*calibration(generator), *scores(generator), *regression(generator)],
    )
    growth(generator)
