"""Directed message passing over molecules, for one network or for many at once."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from .._validation import check_choice, check_integer
from ..nn.layers import ConcreteDropoutLinear, Dropout, MeanVarianceHead, number_layers
from .graphs import GraphBatch, Sums

__all__ = ["MessagePassing"]


class _Sum(torch.autograd.Function):
    """Sums of rows by lists; its gradient is a sum by the lists of the way back."""

    @staticmethod
    def forward(values: Tensor, *lists: Tensor) -> Tensor:
        index, offsets = lists[:2]
        if not len(index):
            return values.new_zeros(len(offsets) - 1, values.shape[1])
        return functional.embedding_bag(
            index, values, offsets, mode="sum", include_last_offset=True
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        there, offsets, back, offsets_back = ctx.saved_tensors
        made = _Sum.apply(gradients[0].contiguous(), back, offsets_back, there, offsets)
        return made, None, None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, values: Tensor, *lists: Tensor) -> tuple[Tensor, int]:
        copies, values = info.batch_size, values.movedim(in_dims[0], 0)
        rows, groups = values.shape[1], len(lists[1]) - 1
        flat = values.reshape(copies * rows, values.shape[2])
        made = _Sum.apply(flat, *repeated(Sums(*lists), rows, groups, copies))
        return made.view(copies, groups, values.shape[2]), 0


def repeated(lists: Sums, rows: int, groups: int, copies: int) -> Sums:
    """Return the lists of several copies whose rows lie one copy behind the other."""

    def many(index: Tensor, offsets: Tensor, size: int) -> tuple[Tensor, Tensor]:
        copy = torch.arange(copies, device=index.device)[:, None]
        begun = (offsets[:-1] + copy * len(index)).reshape(-1)
        end = offsets.new_full((1,), copies * len(index))
        return (index + copy * size).reshape(-1), torch.cat([begun, end])

    there = many(lists.values, lists.offsets, rows)
    return Sums(*there, *many(lists.values_back, lists.offsets_back, groups))


class MessagePassing(nn.Module):
    r"""Directed message passing over the bonds of molecules, then a dense network.

    With :math:`x_v` of an atom and :math:`e_{vw}` of a bond,

    .. math::
        h^0_{vw} &= \tau(W_i [x_v, e_{vw}]), \qquad
        h^t_{vw} = \tau\Big(W_i [x_v, e_{vw}]
            + W_h \sum_{u \in N(v) \setminus w} h^{t-1}_{uv}\Big), \\
        h_v &= \tau\Big(W_o \Big[x_v, \sum_{u \in N(v)} h^{T-1}_{uv}\Big]\Big),

    and the sum or mean of :math:`h_v` over the atoms of a molecule goes through the dense layers.

    Parameters
    ----------
    atom_features, bond_features : int
        Columns of the graphs.
    out_features : int
        Classes or targets.
    hidden : int, default=300
        Width of messages and of the dense layers.
    depth : int, default=3
        How often messages are passed, counting the first.
    dense : int, default=1
        Hidden dense layers.
    aggregation : {"mean", "sum", "norm"}, default="mean"
        How atoms make a molecule; "norm" is the sum over 100.
    stochastic : {None, "dropout", "concrete"}, default=None
        What becomes random: outputs of layers that are dropped, or inputs of all layers with rates
        that are learned.
    rate : float, default=0.1
        Probability of dropping; where it is learned, its start.
    head : {None, "mean-std"}, default=None
        The last layer; None is a plain linear one (logits, or means).

    References
    ----------
    Yang et al.: Analyzing learned molecular representations for property prediction, 2019.
    """

    def __init__(
        self,
        atom_features: int,
        bond_features: int,
        out_features: int,
        *,
        hidden: int = 300,
        depth: int = 3,
        dense: int = 1,
        aggregation: str = "mean",
        stochastic: str | None = None,
        rate: float = 0.1,
        head: str | None = None,
    ) -> None:
        super().__init__()
        for name, value in (("hidden", hidden), ("depth", depth), ("dense", dense)):
            check_integer(value, name)
        self.depth = depth
        self.aggregation = check_choice(aggregation, "aggregation", ("mean", "sum", "norm"))
        check_choice(stochastic, "stochastic", (None, "dropout", "concrete"))
        check_choice(head, "head", (None, "mean-std"))
        # Dropout draws for each bond after the first step, Concrete dropout before it.
        self.alike = {None: depth + 1, "dropout": 1, "concrete": 0}[stochastic]

        def linear(inputs: int, outputs: int, **options: Any) -> nn.Module:
            if stochastic == "concrete":
                return ConcreteDropoutLinear(inputs, outputs, initial_p=rate, **options)
            return nn.Linear(inputs, outputs, **options)

        def drop() -> nn.Module:
            return Dropout(rate) if stochastic == "dropout" else nn.Identity()

        self.edge_input = linear(atom_features + bond_features, hidden, bias=False)
        self.edge_update = linear(hidden, hidden, bias=False)
        self.atom_output = linear(atom_features + hidden, hidden)
        self.edge_drop, self.atom_drop = drop(), drop()
        self.dense = nn.ModuleList(linear(hidden, hidden) for _ in range(dense))
        self.dense_drop = nn.ModuleList(drop() for _ in range(dense))
        self.last = (
            MeanVarianceHead(hidden, out_features, linear=linear)
            if head == "mean-std"
            else linear(hidden, out_features)
        )
        number_layers(self)

    def forward(self, batch: GraphBatch) -> Tensor:
        """Return the outputs of each molecule, (molecules, ...)."""
        hidden = self.fingerprint(batch)
        for layer, drop in zip(self.dense, self.dense_drop, strict=True):
            hidden = drop(torch.relu(layer(hidden)))
        return self.last(hidden)

    def fingerprint(self, batch: GraphBatch) -> Tensor:
        """Return the learned features of each molecule, (molecules, hidden)."""
        rows = batch.distinct(self.depth, self.alike)
        begun = self.edge_input(rows.edges)
        edges = torch.relu(begun)
        for step in rows.steps:
            heard = self.edge_update(_Sum.apply(edges, *step.heard))
            if step.joined is None:
                joined = begun + heard
            else:
                joined = _Sum.apply(torch.cat([begun, heard]), *step.joined)
            edges = self.edge_drop(torch.relu(joined))
        arrived = _Sum.apply(edges, *rows.arriving)
        atoms = self.atom_output(torch.cat([rows.atoms, arrived], 1))
        atoms = self.atom_drop(torch.relu(atoms))
        pooled = _Sum.apply(atoms, *rows.pooled)
        if self.aggregation == "mean":
            return pooled / batch.sizes[:, None]
        return pooled / 100 if self.aggregation == "norm" else pooled
