"""The torch.fx graph of a module in two parts: what depends on noise, and what does not."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import get_ident
from typing import Any

import torch
from torch import Tensor, fx, nn

from ._torch_noise import NoConstantNoise, Observer
from .generators import Generators
from .layers._stochastic import Stochastic, stochastic_layers

_CPU = torch.device("cpu")


@dataclass(frozen=True)
class Parts:
    """A module in two parts.

    Attributes
    ----------
    once : callable
        Maps the inputs to the values that the other part needs.
    repeated : callable
        Maps these values to the module's output.
    once_names, repeated_names : tuples of str
        Names of what is called in each, to print.
    repeated_modules : tuple of nn.Module
        Modules that the repeated part calls.
    """

    once: Callable[..., tuple[Any, ...]]
    repeated: Callable[..., Any]
    once_names: tuple[str, ...]
    repeated_names: tuple[str, ...]
    repeated_modules: tuple[nn.Module, ...]


class _Tracer(fx.Tracer):
    proxy_buffer_attributes = True
    """Whether what is computed from buffers is part of the graph: they may change."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.inputs = inputs
        self._thread = get_ident()

    def create_proxy(
        self, kind: str, target: Any, args: tuple[Any, ...], kwargs: Any, *more: Any, **named: Any
    ) -> Any:
        """Use the defaults of inputs that are not given, so that branches on them can be traced.

        Defaults of several values stay symbols: fx would flatten them.
        """
        if kind == "placeholder":
            self.inputs -= 1
            if self.inputs < 0 and args and not isinstance(args[0], tuple | list | dict):
                return args[0]
        return super().create_proxy(kind, target, args, kwargs, *more, **named)

    # While a trace runs, modules of other threads are called and asked by way of it, too.

    def call_module(
        self, m: nn.Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        """Call a module, or note that it is called."""
        if get_ident() != self._thread:
            return forward(*args, **kwargs)
        return super().call_module(m, forward, args, kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """Return an attribute of a module, or what stands for it."""
        if get_ident() != self._thread:
            return attr_val
        return super().getattr(attr, attr_val, parameter_proxy_cache)

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Keep layers of ours and of torch whole, and what has hooks, which know tensors only."""
        layers = f"{__package__}.layers"
        # A subclass that changes the first weights alone runs as the layer does.
        known = type(m).forward.__module__.startswith((layers, "torch.nn.modules"))
        return (
            type(m).__module__.startswith(layers)
            or (known and not any(m.children()))
            or isinstance(m, Stochastic)
            or has_hooks(m)
            or super().is_leaf_module(m, module_qualified_name)
        )


class _Watch(fx.Interpreter):
    """Runs a graph and notes the nodes that are random themselves."""

    def __init__(self, module: fx.GraphModule, observer: Observer, generators: Generators) -> None:
        super().__init__(module)
        self.observer = observer
        self.generators = generators
        self.random: set[fx.Node] = set()

    def run_node(self, n: fx.Node) -> Any:
        before, states = self.observer.draws, self.generators.states()
        result = super().run_node(n)
        layers = n.op == "call_module" and any(
            True for _ in stochastic_layers(self.fetch_attr(str(n.target)))
        )
        if layers or self.observer.draws > before or self.generators.moved(states):
            self.random.add(n)
        return result


def has_hooks(module: nn.Module) -> bool:
    """Whether something else runs when this module is called."""
    return bool(module._forward_hooks or module._forward_pre_hooks)


def trace(module: nn.Module, inputs: int = 1, device: torch.device = _CPU) -> fx.Graph:
    """Return the graph of a module that gets so many inputs.

    Any error means that it cannot be traced.
    """
    if has_hooks(module):
        raise RuntimeError("the module itself has hooks")
    generators = Generators(device)
    states = generators.states()
    with NoConstantNoise():
        graph = _Tracer(inputs).trace(module)
    if generators.moved(states):
        raise RuntimeError("its forward draws random numbers without an input")
    return graph


def random_nodes(
    module: nn.Module, graph: fx.Graph, inputs: tuple[Tensor, ...], observer: Observer
) -> set[fx.Node]:
    """Return the nodes that draw noise when the graph runs with an active observer."""
    watch = _Watch(fx.GraphModule(module, graph), observer, Generators(inputs[0].device))
    watch.run(*inputs)
    return watch.random


def split(module: nn.Module, graph: fx.Graph, random: set[fx.Node]) -> Parts:
    """Cut a graph into what does not depend on the random nodes, and the rest."""
    repeated = _descendants(graph, random)
    crossing = [
        node
        for node in graph.nodes
        if node not in repeated
        and node.op != "get_attr"
        and any(user in repeated or user.op == "output" for user in node.users)
    ]
    once_graph, repeated_graph = fx.Graph(), fx.Graph()
    values: dict[fx.Node, fx.Node] = {}
    for node in graph.nodes:
        if node not in repeated and node.op != "output":
            values[node] = once_graph.node_copy(node, values.__getitem__)
    once_graph.output(tuple(values[node] for node in crossing))
    values = {node: repeated_graph.placeholder(node.name) for node in crossing}
    for node in graph.nodes:
        if node in repeated or node.op in ("get_attr", "output"):
            values[node] = repeated_graph.node_copy(node, values.__getitem__)
    return Parts(
        fx.GraphModule(module, once_graph),
        fx.GraphModule(module, repeated_graph),
        tuple(_names(module, (n for n in graph.nodes if n not in repeated))),
        tuple(_names(module, (n for n in graph.nodes if n in repeated))),
        tuple(module.get_submodule(str(n.target)) for n in repeated if n.op == "call_module"),
    )


def whole(module: nn.Module) -> Parts:
    """Return all of a module as the repeated part."""
    return Parts(_as_they_are, module, (), (type(module).__name__,), (module,))


def on_clones(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that works on clones of its values, for one that changes them."""

    def call(*values: Any) -> Any:
        return function(*clones(values))

    return call


def clones(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values with tensors of their own."""
    return tuple(each.clone() if isinstance(each, Tensor) else each for each in values)


def last_module(module: nn.Module, graph: fx.Graph | None) -> nn.Module | None:
    """Return the submodule whose output is the module's; None if that is unknown."""
    if graph is not None:
        result = next(node for node in graph.nodes if node.op == "output").args[0]
        if not isinstance(result, fx.Node) or result.op != "call_module":
            return None
        module = module.get_submodule(str(result.target))
    while isinstance(module, nn.Sequential) and len(module):
        module = module[-1]
    return module


def _as_they_are(*values: Any) -> tuple[Any, ...]:
    return values


def _descendants(graph: fx.Graph, random: set[fx.Node]) -> set[fx.Node]:
    reached = set(random)
    for node in graph.nodes:
        if node.op != "output" and any(source in reached for source in node.all_input_nodes):
            reached.add(node)
    return reached


def _names(module: nn.Module, nodes: Iterator[fx.Node]) -> Iterator[str]:
    for node in nodes:
        if node.op == "call_module":
            kind = type(module.get_submodule(str(node.target))).__name__
            yield f"{node.target} ({kind})"
        elif node.op in ("call_function", "call_method"):
            yield getattr(node.target, "__name__", str(node.target))
