"""Matrix products of a CPU, by the quicker of its libraries.

torch multiplies single precision by MKL, which does not use AVX-512 on processors of AMD. oneDNN
does, at twice the speed, and torch goes there when it may round to bfloat16. oneDNN rounds only
where that saves time; what it does here is tried out once.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from threading import Lock
from typing import Any

import torch

__all__ = ["WORTH", "products_as_before", "quick_products"]

WORTH = 2**22
"""Multiplications in all products of a pass from which the longer way there is made up for."""

_SINGLE = 1e-5
"""The largest error of single precision, relative to the length of the factors."""


class _Switch:
    """The setting of torch, which all threads of the process share."""

    def __init__(self) -> None:
        self._lock, self._users, self._before = Lock(), 0, "none"

    def on(self, settings: Any) -> None:
        with self._lock:
            if not self._users:
                self._before = settings.fp32_precision
                settings.fp32_precision = "bf16"
            self._users += 1

    def off(self, settings: Any) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                settings.fp32_precision = self._before

    @contextmanager
    def paused(self, settings: Any) -> Iterator[None]:
        with self._lock:
            before, users = settings.fp32_precision, self._users
            if users:
                settings.fp32_precision = self._before
        try:
            yield
        finally:
            with self._lock:
                if users and self._users:
                    settings.fp32_precision = before


_SWITCH = _Switch()


@contextmanager
def quick_products(device: torch.device, multiplications: float) -> Iterator[None]:
    """Multiply large matrices on a CPU by oneDNN, where that is still single precision.

    Parameters
    ----------
    device : torch.device
    multiplications : float
        How many numbers one pass multiplies.
    """
    settings = _settings()
    if device.type != "cpu" or multiplications < WORTH or not (settings and _is_single()):
        yield
        return
    _SWITCH.on(settings)
    try:
        yield
    finally:
        _SWITCH.off(settings)


@contextmanager
def products_as_before() -> Iterator[None]:
    """Put torch's setting back for a while: code of the user may ask for it."""
    settings = _settings()
    with nullcontext() if settings is None else _SWITCH.paused(settings):
        yield


def _settings() -> Any:
    """Return where torch keeps the precision of products on a CPU; older versions do not."""
    settings = getattr(torch.backends.mkldnn, "matmul", None)
    return settings if hasattr(settings, "fp32_precision") else None


@cache
def _is_single() -> bool:
    """Return whether products keep their precision: processors with AMX round the factors."""
    settings = _settings()
    draw = torch.Generator().manual_seed(0)
    _SWITCH.on(settings)
    try:
        return all(_error(shape, draw) < _SINGLE for shape in ((256, 256, 256), (4, 50, 512, 8)))
    finally:
        _SWITCH.off(settings)


def _error(shape: tuple[int, ...], draw: torch.Generator) -> float:
    """Return the largest error of a product, over the lengths of the vectors multiplied."""
    *rows, inner, columns = shape
    one = torch.randn(*rows, inner, generator=draw)
    other = torch.randn(*rows[:-1], inner, columns, generator=draw)
    exact = one.double() @ other.double()
    lengths = one.double().norm(dim=-1)[..., None] * other.double().norm(dim=-2)[..., None, :]
    return float(((one @ other - exact).abs() / lengths).max())
