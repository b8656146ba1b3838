"""How the operations of a step are computed: by how many threads, and by which library."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from .._products import quick_products
from ._run import Run

_WORTH = 2**24
"""Products of numbers in a step above which its operations are split between threads."""


@contextmanager
def fitting_threads(run: Run) -> Iterator[None]:
    """Run small steps on one thread: waking another costs more than it saves."""
    before = torch.get_num_threads()
    forward = run.stack.flat.numel() * run.batches.size
    if run.device.type != "cpu" or forward * 3 >= _WORTH or before == 1:
        with quick_products(run.device, forward):
            yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
