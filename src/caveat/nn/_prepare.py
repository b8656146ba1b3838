"""Run a module on a few rows and decide how its passes are run."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, fx, nn

from . import noise
from ._copies import private_copy
from ._graph import (
    Parts,
    clones,
    has_hooks,
    last_module,
    on_clones,
    random_nodes,
    split,
    trace,
    whole,
)
from ._plan import NOTHING_RANDOM, PassPlan
from ._probe import (
    Noise,
    agree,
    first_line,
    first_run,
    measure,
    one_tensor,
    settle_rows,
    shares_batch,
    vectorizes,
)
from ._torch_noise import Observer, find_row_axes
from .layers._stochastic import number_layers, stochastic_layers

logger = logging.getLogger("caveat.nn")

Rows = tuple[Tensor, ...]

_UNTOLD = (
    "it is unknown which entries of a dropout's input belong to which row, each entry of a batch "
    "has a mask of its own, and a row may depend on its place in the batch"
)


def make_plan(module: nn.Module, two: Rows, three: Rows, dtype: torch.dtype) -> PassPlan:
    """Return how to run a module, from two and three rows of each input on its device."""
    plan = _Preparation(module, two, three).plan(dtype)
    logger.info("%s: %s, %s", type(module).__name__, plan.way, "; ".join(plan.reasons) or "at once")
    return plan


class _Preparation:
    """The steps from a module to a plan, on private copies of the module."""

    def __init__(self, module: nn.Module, two: Rows, three: Rows) -> None:
        self.two, self.three, self.device = two, three, two[0].device
        self.double = private_copy(module, self.device)
        # The hooks of the user see the rows of the user, not those of the probe.
        self.bare = private_copy(module, self.device, hooks=False)
        number_layers(self.double)
        number_layers(self.bare)
        passes = torch.arange(2, dtype=torch.int32)
        self.keys = noise.derive_key(noise.make_keys([0])[0], passes).to(self.device)
        places = sum(1 for _ in stochastic_layers(self.bare))
        (self.output, _), (seen, more) = first_run(self.bare, two, three, self.keys[0], places)
        axes = settle_rows(self.bare, two, three, find_row_axes(seen.shapes, more.shapes))
        self.noise = Noise(places, axes, bool(seen.foreign))
        self.random = bool(places or seen.draws)
        grown = (few != many for few, many in zip(seen.shapes, more.shapes, strict=False))
        self.untold = any(each and axes[call] is None for call, each in enumerate(grown))

    def plan(self, dtype: torch.dtype) -> PassPlan:
        graph, reasons = self.graph()
        way, parts, probed = "whole", whole(self.double), whole(self.bare)
        if not self.random:
            way, reasons = NOTHING_RANDOM, ()
        elif graph is not None:
            try:
                way, parts, probed, reasons = self.cut(graph)
            except Exception as error:
                graph, reasons = None, (f"its graph cannot be run: {first_line(error)}",)
        parts, probed = self.protected(parts, probed)
        few, more = (probed.once(*clones(rows)) for rows in (self.two, self.three))
        slow = self.why_not_at_once(parts, probed, few) if way != NOTHING_RANDOM else "-"
        if self.untold and way != NOTHING_RANDOM:
            reasons = (*reasons, _UNTOLD)
        run = self.seeded(probed)
        joinable = all(_grows(*pair) for pair in zip(few, more, strict=True))
        return PassPlan(
            way=way,
            at_once=not slow,
            few_at_once=slow in ("", CONVOLUTIONS)
            and self.device.type == "cpu"
            and joinable
            and shares_batch(self.noise, probed.repeated, few, self.keys),
            reasons=(*reasons, *([slow] if slow not in ("", "-") else [])),
            off=tuple(_off(self.bare)),
            module=self.double,
            parts=parts,
            probed=probed,
            noise=self.noise,
            once_memory=measure(self.bare, probed.once, clones(self.two), clones(self.three)),
            repeated_memory=measure(self.bare, run, few, more),
            joinable=joinable,
            row_shape=tuple(self.output.shape[1:]),
            last=last_module(self.double, graph),
            dtype=dtype,
            device=self.device,
            sample=self.two,
        )

    def graph(self) -> tuple[fx.Graph | None, tuple[str, ...]]:
        """Return the graph of the module, or why there is none."""
        try:
            graph = trace(self.double, len(self.two), self.device)
        except Exception as error:
            return None, (f"it cannot be traced: {first_line(error)}",)
        # Tensors that the trace met outside of parameters and buffers are attributes from now on.
        for name, value in vars(self.double).items():
            vars(self.bare).setdefault(name, value)
        return graph, ()

    def cut(self, graph: fx.Graph) -> tuple[str, Parts, Parts, tuple[str, ...]]:
        """Return the way that a graph allows, the parts of both doubles, and why not the graph."""
        nodes = self.random_nodes(graph)
        trial = split(self.bare, graph, nodes)
        uncut = whole(self.double), whole(self.bare)
        if not self.faithful(trial):
            return "whole", *uncut, ("its graph gives other numbers (does it work in place?)",)
        if not nodes:
            return NOTHING_RANDOM, *uncut, ()
        return "graph", split(self.double, graph, nodes), trial, ()

    def random_nodes(self, graph: fx.Graph) -> set[fx.Node]:
        observer = Observer(self.noise.first_place, self.noise.row_axes)
        with noise.keyed(self.keys[0], shared=True), observer:
            return random_nodes(self.bare, graph, clones(self.two), observer)

    def seeded(self, parts: Parts) -> Any:
        """Return the repeated part with the noise of the first pass."""
        return lambda *values: self.noise.apply(parts.repeated, self.keys[0], *values)

    def faithful(self, parts: Parts) -> bool:
        """Whether the two parts in sequence give what the module gives."""
        expected = one_tensor(self.noise.apply(self.bare, self.keys[0], *clones(self.two)))
        actual = one_tensor(self.seeded(parts)(*parts.once(*clones(self.two))))
        return agree(actual, expected)

    def protected(self, parts: Parts, probed: Parts) -> tuple[Parts, Parts]:
        """Let a part that changes its values in place work on copies of them."""
        inputs = clones(self.two)
        values = probed.once(*inputs)
        if _changed(inputs):
            parts, probed = (replace(each, once=on_clones(each.once)) for each in (parts, probed))
        values = clones(values)
        self.seeded(probed)(*values)
        if _changed(values):
            parts, probed = (
                replace(each, repeated=on_clones(each.repeated)) for each in (parts, probed)
            )
        return parts, probed

    def why_not_at_once(self, parts: Parts, probed: Parts, values: tuple[Any, ...]) -> str:
        """Return why the passes go one after another, or an empty text."""
        if self.noise.foreign:
            return "it draws from torch's own generator, which is seeded anew for every pass"
        if any(has_hooks(part) for module in parts.repeated_modules for part in module.modules()):
            return "hooks of what is repeated see one pass at a time"
        observer = Observer(self.noise.first_place, self.noise.row_axes)
        with noise.keyed(self.keys[0], shared=True), observer:
            probed.repeated(*values)
        if observer.convolutions and self.device.type == "cpu":
            return CONVOLUTIONS
        return vectorizes(self.noise, probed.repeated, values, self.keys)


CONVOLUTIONS = "convolutions on a CPU are faster one pass after another"
"""Why passes of many rows go one after another."""


def _changed(values: tuple[Any, ...]) -> bool:
    """Whether clones were changed in place since they were made."""
    return any(isinstance(each, Tensor) and each._version > 0 for each in values)


def _grows(few: Any, more: Any) -> bool:
    """Whether a value has one entry for each row along its first axis."""
    return (
        isinstance(few, Tensor)
        and few.shape[:1] == (2,)
        and more.shape[:1] == (3,)
        and few.shape[1:] == more.shape[1:]
    )


def _off(module: nn.Module) -> Iterator[str]:
    """Yield torch's layers whose dropout works in training mode only."""
    for name, part in module.named_modules():
        rate = getattr(part, "dropout", 0.0)
        recurrent = isinstance(part, nn.RNNBase) and part.num_layers > 1
        if (recurrent or isinstance(part, nn.MultiheadAttention)) and rate > 0:
            yield f"dropout={rate:g} inside of {name or 'the module'} ({type(part).__name__})"
