"""Metrics of a validation loop, and the split of members' uncertainty, on a device.

Run with ``make benchmark``; ``docs/performance.md`` keeps the result. On the CPU, and on a GPU if
there is one. Peers compute two metrics in an update, ours all that their table has.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", str(os.cpu_count()))
sys.path.insert(0, str(Path(__file__).parent))

import torch
from torchmetrics import MetricCollection
from torchmetrics.classification import MulticlassAccuracy, MulticlassCalibrationError

from caveat.nn import Metrics, information_split


def best(function: Callable[[], object], device: str, repeats: int) -> float:
    """Return the shortest run in milliseconds; on a GPU of ten in a row, which hides launches."""
    calls = 10 if device == "cuda" else 1
    times = []
    for _ in range(repeats + 2):
        start = time.perf_counter()
        for _ in range(calls):
            function()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / calls)
    return 1e3 * min(times[2:])


def update_row(device: str, samples: int, classes: int) -> None:
    logits = 3 * torch.randn(samples, classes, device=device)
    target = torch.randint(classes, (samples,), device=device)
    ours = Metrics("logits", classes).to(device)
    peers = MetricCollection(
        [
            MulticlassCalibrationError(classes, n_bins=15, validate_args=False),
            MulticlassAccuracy(classes, validate_args=False),
        ],
        compute_groups=False,
    ).to(device)
    repeats = 30 if device == "cuda" else 5
    took = best(lambda: ours.update(logits, target), device, repeats)
    theirs = best(lambda: peers.update(logits, target), device, repeats)
    number = len(ours._names) - len(ours.unavailable)
    wanted = "< 1" if (device, classes) == ("cuda", 1000) else ""
    print(f"| {samples:,} x {classes:,} | {number} | {took:.3f} | {wanted} | {theirs:.3f} |")


def split_row(device: str, shape: tuple[int, int, int], dtype: torch.dtype, wanted: str) -> None:
    p = torch.rand(shape, device=device)
    p = (p / p.sum(-1, keepdim=True)).to(dtype)
    repeats = 30 if device == "cuda" else 3
    ours = best(lambda: information_split(p), device, repeats)
    one = best(lambda: p.sum(), device, repeats)
    name = " x ".join(f"{size:,}" for size in shape) + f", {str(dtype)[6:]}"
    print(f"| {name} | {ours:.3f} | {one:.3f} | {ours / one:.2f} | {wanted} |", flush=True)


def table(device: str) -> None:
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    print(f"## Metrics of a validation loop, and splits: {name}\n")
    print("| update with a batch | metrics | caveat, ms | wanted | torchmetrics, two metrics, ms |")
    print("| --- | --- | --- | --- | --- |")
    for samples, classes in ((4096, 1000), (4096, 10), (4096, 2), (65536, 20)):
        update_row(device, samples, classes)
    print("\n| split of members x samples x classes | ms | one pass, ms | ratio | wanted |")
    print("| --- | --- | --- | --- | --- |")
    samples = 10**6 if device == "cuda" else 10**5
    for shape in ((20, samples, 10), (20, samples, 2), (5, samples // 10, 1000)):
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            first = shape[2] == 10 and dtype == torch.float32 and device == "cuda"
            split_row(device, shape, dtype, "<= 1.5" if first else "")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), help="by default all there are")
    chosen = parser.parse_args().device
    if chosen != "cuda":
        table("cpu")
    if chosen != "cpu" and torch.cuda.is_available():
        table("cuda")


if __name__ == "__main__":
    main()
