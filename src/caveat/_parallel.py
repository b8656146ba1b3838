"""Work side by side, in order."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def threads() -> int:
    """Return how many threads may compute at once: the cores, or fewer by OMP_NUM_THREADS."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores or 1, int(limit) if limit.isdigit() and int(limit) else cores or 1))


def map_threads(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return ``[function(item) for item in items]``, by threads.

    For long calls of numpy, which lets other threads run meanwhile. The results do not depend on
    the number of threads.
    """
    items = list(items)
    workers = min(threads(), len(items))
    if workers < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(function, items))
