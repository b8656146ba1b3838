"""How many threads a step uses."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ._run import Run

_WORTH = 2**24
"""Products of numbers in a step above which its operations are split between threads."""


@contextmanager
def fitting_threads(run: Run) -> Iterator[None]:
    """Run small steps on one thread: waking another costs more than it saves."""
    before = torch.get_num_threads()
    work = run.stack.flat.numel() * run.batches.size * 3
    if run.device.type != "cpu" or work >= _WORTH or before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
