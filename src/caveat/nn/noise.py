"""Noise as a function of a key and a place, so that no order of work changes it.

A key stands for (seed of a copy, step or pass). Each stochastic layer has a place in its module,
and each of its draws a stream. From key, place and stream every number is computed by itself with
an integer hash: stacking copies, batching passes, leaving layers out or running on another device
gives the same noise. There is no generator whose state could be shared, saved or disturbed.

Outside of `keyed` the layers draw from torch's own generator, as any module does.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from math import ceil, prod

import numpy as np
import torch
from torch import Tensor
from torch.compiler import is_compiling

from .._docstrings import describe_parameters

__all__ = ["derive_key", "keyed", "make_keys", "normal", "permutations", "signs", "uniform"]

_STREAMS = 16
"""Draws that one layer may make of its own in a pass."""

_CALLS = 0x0CA11000
"""Added to the number of a later call of a layer in one pass, for its key."""

_BITS = 23
"""Bits of a uniform number: halfway between two steps it is exact in float32, never 0 or 1."""


_PART = 2**18
"""Numbers that are hashed at once on a CPU."""

_DRAW = {
    "key": "key : int32 Tensor of shape (..., 2), or None\n"
    "    Without a key the numbers come from torch's generator.",
    "place": "place : int\n    Number of the draw under the key; another one gives other numbers.",
    "shape": "shape : sequence of int\n    Shape of the numbers for one key.",
    "like": "like : Tensor\n    Gives the type and the device.",
}


class Masks:
    """What is kept in some passes, for the next time that they are run.

    Parameters
    ----------
    room : int
        How many bytes the masks may take.
    """

    def __init__(self, room: int = 2**26) -> None:
        self._room = room
        self._known: dict[Hashable, Tensor] = {}

    def get(self, name: Hashable, draw: Callable[[], Tensor]) -> Tensor:
        """Return the mask of a name, drawn at the first time and, if there is room, kept."""
        mask = self._known.get(name)
        if mask is None:
            mask = draw()
            if mask.nbytes <= self._room:
                self._room -= mask.nbytes
                self._known[name] = mask
        return mask


@dataclass(frozen=True)
class Noise:
    """The source of the layers' noise inside `keyed` and `in_passes`."""

    key: Tensor
    shared: bool
    masks: Masks | None = None
    calls: dict[int, int] = field(default_factory=dict)
    """How often each layer, by its ``id``, was called so far."""

    def count(self, layer: object) -> None:
        """Take note of a call of a layer: from here on `key_of` is that of this call."""
        self.calls[id(layer)] = self.calls.get(id(layer), 0) + 1

    def key_of(self, layer: object) -> Tensor:
        """Return the key of the last call of a layer."""
        return key_of_call(self.key, self.calls.get(id(layer), 1) - 1)


_CURRENT: ContextVar[Noise | None] = ContextVar("caveat_noise", default=None)
_TRACED: list[Noise] = []
"""What is in force while ``torch.compile`` traces, which cannot follow context variables."""


@contextmanager
def keyed(key: Tensor, *, shared: bool = False) -> Iterator[None]:
    """Let stochastic layers draw noise from a key, also in a module that is in evaluation mode.

    It stands for one pass: a layer that is called again before its end draws other noise than at
    its first call.

    Parameters
    ----------
    key : int32 Tensor of shape (2,)
        From `make_keys` and `derive_key`; under ``torch.vmap`` one for each copy or pass.
    shared : bool, default=False
        Whether all rows of a batch share one mask, as one pass over all samples should; in training
        each row has its own.
    """
    with _in_force(Noise(key, shared)):
        yield


@contextmanager
def in_passes(key: Tensor, masks: Masks | None = None) -> Iterator[None]:
    """Let layers draw the shared noise of one pass, or of several whose rows are in one batch.

    Parameters
    ----------
    key : int32 Tensor of shape (2,) or (passes, 2)
        With several keys, dropout takes a batch for as many of equal size, one after another.
    masks : Masks, optional
        Where masks of dropout are kept; on a CPU and outside of ``torch.vmap``.
    """
    with _in_force(Noise(key, True, masks)):
        yield


@contextmanager
def _in_force(source: Noise) -> Iterator[None]:
    if is_compiling():  # pragma: no cover - traced, not run
        _TRACED.append(source)
        try:
            yield
        finally:
            _TRACED.pop()
        return
    token = _CURRENT.set(source)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def times_mask(x: Tensor, mask: Tensor) -> Tensor:
    """Return x with the mask of one pass, or with those of several whose rows are in one batch."""
    if mask.dim() == x.dim():
        return x * mask
    return (x.unflatten(0, (len(mask), -1)) * mask).flatten(0, 1)


def current() -> Noise | None:
    """Return the noise that is in force, None outside of `keyed`."""
    if is_compiling():  # pragma: no cover - traced, not run
        return _TRACED[-1] if _TRACED else None
    return _CURRENT.get()


def make_keys(seeds: Sequence[int]) -> Tensor:
    """Return the keys of some seeds.

    Parameters
    ----------
    seeds : sequence of int
        From 0 to 2**63 - 1.

    Returns
    -------
    int32 Tensor of shape (seeds, 2)
    """
    wide = torch.tensor(list(seeds), dtype=torch.int64)
    words = torch.stack([wide, wide >> 32], dim=-1).to(torch.int32)
    # Mixed once, or the key of seed 0 at step 1 would be that of seed 1 at step 0.
    return derive_key(words, 0x5EED)


def derive_key(key: Tensor, number: Tensor | int) -> Tensor:
    """Return the key of a step, a pass, a layer or a draw under another key.

    Parameters
    ----------
    key : int32 Tensor of shape (..., 2)
    number : int, or int32 Tensor that broadcasts against (...)

    Returns
    -------
    int32 Tensor of shape (..., 2)
    """
    first, second = key[..., 0], key[..., 1]
    mixed = _mix(_mix(first ^ number) ^ second)
    return torch.stack([mixed, _mix(second ^ _mix(mixed ^ 0x2545F491))], dim=-1)


def key_of_call(key: Tensor, number: int) -> Tensor:
    """Return the key of a call of a layer, numbered from 0, under that of the pass."""
    return derive_key(key, _CALLS + number) if number else key


@describe_parameters(_DRAW)
def uniform(key: Tensor | None, place: int, shape: Sequence[int], like: Tensor) -> Tensor:
    """Return numbers from 0 to 1, both excluded in single precision and wider.

    Returns
    -------
    Tensor whose last axes have ``shape``
    """
    if key is None:
        return torch.rand(tuple(shape), dtype=like.dtype, device=like.device)
    return (
        ((_bits(key, place, shape, like) >> (32 - _BITS)) & (2**_BITS - 1))
        .to(like.dtype)
        .add(0.5)
        .mul(2.0**-_BITS)
    )


@describe_parameters(_DRAW)
def kept(key: Tensor | None, place: int, shape: Sequence[int], like: Tensor, p: float) -> Tensor:
    """Return where ``uniform >= p``, without making the uniform numbers.

    Parameters
    ----------
    p : float
        Probability of False, from 0 to 1.

    Returns
    -------
    bool Tensor whose last axes have ``shape``
    """
    if key is None:
        return uniform(None, place, shape, like) >= p
    now = current()
    if now is None or now.masks is None:
        return at_least(_bits(key, place, shape, like), p, like.dtype)
    name = key.numpy().tobytes(), place, tuple(shape), p, like.dtype
    return now.masks.get(name, lambda: _kept_by_parts(key, place, shape, like, p))


@describe_parameters(_DRAW)
def normal(key: Tensor | None, place: int, shape: Sequence[int], like: Tensor) -> Tensor:
    """Return standard normal numbers, between -5.2 and 5.2."""
    if key is None:
        return torch.randn(tuple(shape), dtype=like.dtype, device=like.device)
    # In half precision the numbers next to 0 and 1 would round to them, and become infinite.
    wide = torch.empty(0, dtype=torch.promote_types(like.dtype, torch.float32), device=like.device)
    centered = uniform(key, place, shape, wide).mul(2.0).sub(1.0)
    return torch.erfinv(centered).mul(2.0**0.5).to(like.dtype)


@describe_parameters(_DRAW)
def signs(key: Tensor | None, place: int, shape: Sequence[int], like: Tensor) -> Tensor:
    """Return -1 and 1, equally often."""
    if key is None:
        return torch.randint(0, 2, tuple(shape), device=like.device).to(like.dtype).mul(2).sub(1)
    bits = (_bits(key, place, shape, like) >> 31) & 1
    return bits.to(like.dtype).mul(2).sub(1)


def permutations(keys: Tensor, length: int) -> Tensor:
    """Return one order of `length` things for each key.

    Parameters
    ----------
    keys : int32 Tensor of shape (..., 2)
    length : int

    Returns
    -------
    int64 Tensor of shape (..., length)
    """
    places = torch.arange(length, dtype=torch.int32, device=keys.device)
    hashed = _mix(_mix(places ^ keys[..., :1]) ^ keys[..., 1:])
    # The place in the low half decides between equal hashes, and is what is left after sorting.
    joined = (hashed.to(torch.int64) << 32) | places.to(torch.int64)
    if keys.device.type == "cpu":  # where numpy sorts several times faster
        return torch.from_numpy(np.sort(joined.numpy(), axis=-1)) & 0xFFFFFFFF
    return joined.sort(dim=-1).values & 0xFFFFFFFF  # pragma: no cover - needs a GPU


def stream(place: int, draw: int) -> int:
    """Return the number of one draw of the layer at a place."""
    return place * _STREAMS + draw


def fill_bits(key: Tensor, index: Tensor, sizes: Sequence[int], bits: Tensor, work: Tensor) -> None:
    """Write 32 mixed bits for the elements of some draws, without making an array of that size.

    Parameters
    ----------
    key : int32 Tensor of shape (copies, draws, 2)
        Derived for each draw, see `derive_key` and `stream`.
    index : int32 Tensor of shape (elements,)
        The numbers of the elements, draw after draw.
    sizes : sequence of int
        How many elements each draw has.
    bits, work : int32 Tensors of shape (copies, elements)
        Where to write, and a work space.
    """
    ends = [*accumulate(sizes, initial=0)]
    parts = [slice(*pair) for pair in pairwise(ends)]
    for draw, part in enumerate(parts):
        torch.bitwise_xor(index[part], key[:, draw, :1], out=bits[:, part])
    _mix_in_place(bits, work)
    for draw, part in enumerate(parts):
        bits[:, part].bitwise_xor_(key[:, draw, 1:])
    _mix_in_place(bits, work)


def at_least(bits: Tensor, p: float, dtype: torch.dtype) -> Tensor:
    """Return ``uniform >= p``, of the numbers that `uniform` makes of bits; overwrites them."""
    if dtype != torch.float64:
        p = float(np.float32(p))  # as which torch compares it
    # The uniform number is (high bits + 0.5) / 2**23; as a signed number the order is the same once
    # the first bit is turned.
    least = ceil(p * 2**_BITS - 0.5)
    if not 0 < least < 2**_BITS:  # beyond all numbers, or below the range of signed ones
        return torch.full_like(bits, least <= 0, dtype=torch.bool)
    return bits.bitwise_xor_(-(2**31)) >= (least << (32 - _BITS)) - 2**31


def signs_from_bits(bits: Tensor, out: Tensor) -> Tensor:
    """Write the signs that `signs` makes of bits, which are overwritten."""
    return out.copy_(bits.bitwise_right_shift_(31)).mul_(-2.0).sub_(1.0)


def uniform_from_bits(bits: Tensor, out: Tensor) -> Tensor:
    """Write the numbers that `uniform` makes of bits, which are overwritten."""
    bits.bitwise_right_shift_(32 - _BITS).bitwise_and_(2**_BITS - 1)
    return out.copy_(bits).add_(0.5).mul_(2.0**-_BITS)


def normal_from_bits(bits: Tensor, out: Tensor) -> Tensor:
    """Write the numbers that `normal` makes of bits, which are overwritten."""
    uniform_from_bits(bits, out).mul_(2.0).sub_(1.0)
    return torch.erfinv(out, out=out).mul_(2.0**0.5)


def _kept_by_parts(key: Tensor, place: int, shape: Sequence[int], like: Tensor, p: float) -> Tensor:
    """Return what `kept` does, some keys at a time, in arrays that stay in the cache."""
    keys, count = key.reshape(-1, 2), prod(shape)
    index = torch.arange(count, dtype=torch.int32)
    derived = derive_key(keys, place)[:, None]
    parts = derived.split(max(1, _PART // max(1, count)))
    bits, work = torch.empty(2, len(parts[0]), count, dtype=torch.int32)
    result = torch.empty(len(keys), count, dtype=torch.bool)
    for part, rows in zip(parts, result.split(len(parts[0])), strict=True):
        few = bits[: len(part)]
        fill_bits(part, index, [count], few, work[: len(part)])
        rows.copy_(at_least(few, p, like.dtype))
    return result.reshape(*key.shape[:-1], *shape)


def _bits(key: Tensor, place: int, shape: Sequence[int], like: Tensor) -> Tensor:
    """Return 32 mixed bits for every element; keys (..., 2) give (..., *shape)."""
    count = prod(shape)
    key = derive_key(key, place)
    index = torch.arange(count, dtype=torch.int32, device=like.device)
    bits = _mix(_mix(index ^ key[..., :1]) ^ key[..., 1:])
    return bits.reshape(*key.shape[:-1], *shape)


def _mix(bits: Tensor) -> Tensor:
    """Return the bits mixed: an invertible hash of 32 bits whose products wrap around."""
    bits = bits ^ ((bits >> 16) & 0xFFFF)
    bits = bits * 0x21F0AAAD
    bits = bits ^ ((bits >> 15) & 0x1FFFF)
    bits = bits * 0x735A2D97
    return bits ^ ((bits >> 15) & 0x1FFFF)


def _mix_in_place(bits: Tensor, work: Tensor) -> None:
    """Mix the bits as `_mix` does, in arrays that are there."""
    for shift, factor in ((16, 0x21F0AAAD), (15, 0x735A2D97), (15, 1)):
        torch.bitwise_right_shift(bits, shift, out=work)
        bits.bitwise_xor_(work.bitwise_and_(2 ** (32 - shift) - 1))
        if factor > 1:
            bits.mul_(factor)
