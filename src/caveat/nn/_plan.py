"""How Monte-Carlo passes of one module are run."""

from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from ._graph import Parts, clones
from ._probe import Memory, Noise
from .generators import Generators
from .noise import Masks

NOTHING_RANDOM = "nothing random"


@dataclass(frozen=True, repr=False, eq=False)
class PassPlan:
    """What runs once, what is repeated, and how; to be printed.

    `caveat.nn.predict` and `caveat.nn.monte_carlo` take a plan in place of its module and then save
    the preparation. A plan sees later values of the module's parameters; make a new one after a
    change of anything else: layers, hooks, buffers such as those of batch norm, other attributes,
    or the device.

    Attributes
    ----------
    way : {"nothing random", "graph", "whole"}
        Whether nothing is repeated, only what depends on noise, or the whole module.
    at_once : bool
        Whether the passes run in batches by ``torch.vmap`` or one after another.
    once, repeated : tuples of str
        What is called once and what in every pass.
    reasons : tuple of str
        Why the whole module, why not at once, and why a row may depend on its batch.
    off : tuple of str
        Dropout inside of torch's attention and recurrent layers, which stays off.
    share : float
        Share of the arithmetic of one whole pass that is repeated.
    module, parts, probed, noise, once_memory, repeated_memory, joinable, row_shape, last
        What the passes need.
    dtype, device, sample
        Precision and place of the passes, and the rows that were used for the preparation.
    few_at_once : bool
        Whether passes of few rows run in one batch, though those of many do not.
    in_batch, masks, last_masks
        Whether the passes of a call run so; what they drop, kept for the next call of the same.
    """

    way: str
    at_once: bool
    reasons: tuple[str, ...]
    off: tuple[str, ...]
    module: nn.Module
    parts: Parts
    probed: Parts
    noise: Noise
    once_memory: Memory
    repeated_memory: Memory
    joinable: bool
    row_shape: tuple[int, ...]
    last: nn.Module | None
    dtype: torch.dtype
    device: torch.device
    sample: tuple[Tensor, ...]
    few_at_once: bool = False
    in_batch: bool = False
    masks: Masks | None = None
    last_masks: dict[bytes, Masks] = field(default_factory=dict)

    def masks_of(self, keys: Tensor) -> Masks | None:
        """Return what is known of the masks of some passes, and forget those of others."""
        if self.device.type != "cpu":  # pragma: no cover - where they are drawn quickly
            return None
        name = keys.numpy().tobytes()
        if (known := self.last_masks.get(name)) is None:
            self.last_masks.clear()
            known = self.last_masks[name] = Masks()
        return known

    @cached_property
    def weights(self) -> int:
        """The number of weights of the module."""
        return sum(weight.numel() for weight in self.module.parameters())

    @property
    def random(self) -> bool:
        """Whether anything is random, so that passes differ."""
        return self.way != NOTHING_RANDOM

    @property
    def once(self) -> tuple[str, ...]:
        """What is called once."""
        return self.parts.once_names

    @property
    def repeated(self) -> tuple[str, ...]:
        """What is called in every pass."""
        return self.parts.repeated_names

    @cached_property
    def share(self) -> float:
        """The part of the arithmetic (matrix products and convolutions) that is repeated."""
        if not self.random:
            return 0.0
        counts = []
        with torch.no_grad(), Generators(self.device).kept():
            values = clones(self.sample)
            for part in (self.probed.once, self.probed.repeated):
                with FlopCounterMode(display=False) as counter:
                    values = part(*values)
                counts.append(counter.get_total_flops())
        return counts[1] / sum(counts) if sum(counts) else 1.0

    def __repr__(self) -> str:
        if not self.random:
            lines = ["Plan: nothing is random; one pass, one member"]
        else:
            how = "many passes at once" if self.at_once else "one pass after another"
            lines = [
                f"Plan: {self.share:.1%} of the arithmetic is repeated, {how}",
                f"  once: {', '.join(self.once) or 'nothing'}",
                f"  repeated: {', '.join(self.repeated)}",
            ]
        lines += [f"  because {reason}" for reason in self.reasons]
        lines += [f"  stays off: {name}" for name in self.off]
        return "\n".join(lines)
