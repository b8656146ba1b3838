"""Fifty Monte-Carlo passes against one pass, and against fifty passes in a loop.

Run with ``make benchmark``; ``docs/performance.md`` keeps the result. On the CPU, and on a GPU if there
is one. The network is the literature's: three convolutions of 64 channels and a dense layer of 64.
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
from torch import Tensor, nn

from caveat.nn.layers import number_layers
from caveat.nn import explain, monte_carlo, pass_keys, predict
from caveat.nn import CNN
from caveat.nn.noise import keyed

PASSES = 50
METHODS = ("dropout", "concrete", "dropconnect", "flipout", "bayes")


def best(function: Callable[[], object], device: str, repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return min(times)


def interleaved(functions: list[Callable[[], object]], device: str, repeats: int) -> list[float]:
    """Return the shortest run of each, taken in turns so that a busy moment meets all of them."""
    found = [best(function, device, 1) for function in functions]
    for _ in range(repeats - 1):
        found = [min(old, best(f, device, 1)) for old, f in zip(found, functions, strict=True)]
    return found


def one_pass(module: nn.Module, x: Tensor) -> Tensor:
    with torch.no_grad():
        return module(x)


def loop(module: nn.Module, x: Tensor, keys: Tensor) -> Tensor:
    """Whole passes, one after another: what everybody writes."""
    with torch.no_grad():
        outputs = []
        for key in keys:
            with keyed(key, shared=True):
                outputs.append(module(x))
        return torch.stack(outputs)


def compare(module: nn.Module, x: Tensor, device: str, repeats: int) -> tuple[float, ...]:
    """Return seconds: one pass, ours with a plan, with looking at the module, a prediction, its numbers, a loop.

    A module is looked at once: where that is counted, it was changed.

    One pass is the faster of the module called on all rows and of the same in batches.
    """
    module = module.to(device).eval()
    number_layers(module)
    x = x.to(device)
    keys = pass_keys(PASSES, 0).to(device)
    plan = explain(module, x)
    naive, ours = loop(module, x, keys[:3]), monte_carlo(plan, x, PASSES, random_state=0)[:3]
    torch.testing.assert_close(ours, naive, rtol=1e-3, atol=1e-4)

    def changed():
        module.marks = time.perf_counter()
        return monte_carlo(module, x, PASSES, random_state=0)

    plain, batched, *others = interleaved(
        [
            lambda: one_pass(module, x),
            lambda: monte_carlo(plan, x, 1),
            lambda: monte_carlo(plan, x, PASSES, random_state=0),
            changed,
            lambda: predict(module, x, passes=PASSES, head="logits", random_state=0),
            lambda: predict(module, x, passes=PASSES, head="logits", random_state=0).probabilities,
            lambda: loop(module, x, keys[:2]),
        ],
        device,
        repeats,
    )
    *ours, two = others
    return min(plain, batched), *ours, two * PASSES / 2


def table(device: str, rows: int, repeats: int) -> None:
    name = (
        torch.cuda.get_device_name()
        if device == "cuda"
        else f"CPU, {torch.get_num_threads()} threads"
    )
    print(f"## {PASSES} passes of the CNN, {rows} images of 28 x 28, {name}\n")
    print(
        "Times in units of one pass, the faster of the module called on all rows and in batches.\n"
    )
    print("| stochastic | repeated arithmetic | one pass, s | monte_carlo(plan) | wanted | a module looked at | "
          "predict(module) | wanted | and its numbers | a loop | over monte_carlo(plan) | wanted |")  # fmt: skip
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for where in ("last", "all"):
        for method in METHODS if where == "last" else ("dropout", "bayes"):
            torch.manual_seed(0)
            module = CNN(1, 10, stochastic=method, where=where)
            x = torch.randn(rows if where == "last" else max(1, rows // 8), 1, 28, 28)
            share = explain(module, x).share
            one, planned, whole, predicted, numbers, looped = compare(module, x, device, repeats)
            least = 1 - share + PASSES * share
            wanted = (
                ("<= 1.5", ">= 15") if where == "last" else (f"{least:.1f}, the arithmetic", "")
            )
            print(f"| {method}, {where} | {share:.2%} | {one:.4f} | {planned / one:.2f} | {wanted[0]} | "
                  f"{whole / one:.2f} | {predicted / one:.2f} | {'<= 2' if where == 'last' else ''} | "
                  f"{numbers / one:.2f} | {looped / one:.1f} | "
                  f"{looped / planned:.1f} | {wanted[1]} |", flush=True)  # fmt: skip
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), help="by default all there are")
    chosen = parser.parse_args().device
    if chosen != "cuda":
        table("cpu", 512, 3)
    if chosen != "cpu" and torch.cuda.is_available():
        table("cuda", 16384, 5)


if __name__ == "__main__":
    main()
