"""Time several implementations of one task in one run, and print them as ratios."""

import os

# One thread for everybody, set before numpy and torch are imported.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import platform
import re
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np


@dataclass
class Task:
    """One task: ours, its peers, and the physical reference that bounds it."""

    name: str
    ours: Callable[[], Any]
    peers: dict[str, Callable[[], Any]] = field(default_factory=dict)
    reference: tuple[str, Callable[[], Any]] | None = None
    targets: dict[str, str] = field(default_factory=dict)
    """What the ratio to a peer or to the reference should be, in words, by name."""
    repeats: int = 5


def best(function: Callable[[], Any], repeats: int) -> float:
    """Return the shortest of several runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def peak_memory(function: Callable[[], Any]) -> float:
    """Return how many MiB one call needs at its peak beyond what was there before.

    The larger of what numpy and Python ask for, and of the growth of the process (Linux), which also
    sees what torch takes but not what is taken from memory freed before.
    """
    mark, growth = Path("/proc/self/clear_refs"), 0.0
    if mark.exists():
        mark.write_text("5")  # resets the high-water mark
        before = _status("VmRSS")
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    if mark.exists():
        growth = (_status("VmHWM") - before) / 1024
    return max(peak, growth)


def _status(key: str) -> int:
    text = Path("/proc/self/status").read_text()
    return int(re.search(rf"{key}:\s+(\d+)", text).group(1))


def run(title: str, tasks: list[Task]) -> None:
    """Run the tasks and print a Markdown table."""
    print(f"## {title}\n")
    print(f"One thread, best of several runs; {platform.machine()}, Python "
          f"{platform.python_version()}, numpy {np.__version__}.\n")  # fmt: skip
    print("| task | who | seconds | ratio to caveat | wanted | peak MiB |")
    print("| --- | --- | --- | --- | --- | --- |")
    for task in tasks:
        seconds = best(task.ours, task.repeats)
        print(f"| {task.name} | caveat | {seconds:.4f} | 1 | | {peak_memory(task.ours):.0f} |")
        others = dict(task.peers)
        if task.reference:
            others[task.reference[0]] = task.reference[1]
        for name, call in others.items():
            other = best(call, max(1, min(task.repeats, 3)))
            wanted = task.targets.get(name, "")
            print(f"| | {name} | {other:.4f} | {other / seconds:.2f} | {wanted} | "
                  f"{peak_memory(call):.0f} |", flush=True)  # fmt: skip
    print()
