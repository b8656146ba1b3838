"""Stochastic layers: when they are random, and where their noise comes from."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..._docstrings import describe_parameters
from .. import noise

_DRAW = {
    "shape": "shape : sequence of int",
    "like": "like : Tensor\n    Gives the type and the device.",
    "draw": "draw : int\n    Number of the draw in this pass; another one gives other numbers.",
}


class Stochastic(nn.Module):
    """A layer with noise.

    It is random in training mode, and inside `caveat.nn.keyed` also in evaluation mode; otherwise
    it uses its mean. `place` tells the layers of a module apart; `number_layers` sets it. Calls of
    one layer in the same pass are told apart by their number.
    """

    place: int = 0

    def __init__(self) -> None:
        super().__init__()

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """Run the layer and count the call, which has noise of its own."""
        now = noise.current()
        if now is not None:
            now.count(self)
        return super().__call__(*inputs, **options)

    @property
    def random(self) -> bool:
        """Whether this pass is random."""
        return self.training or noise.current() is not None

    @property
    def shared(self) -> bool:
        """Whether all rows share one draw."""
        now = noise.current()
        return now is not None and now.shared

    def penalty(self) -> Tensor | None:
        """Return what the layer adds to the objective, after a pass; None for nothing.

        It is a Kullback-Leibler divergence or a regularizer, not divided by anything.
        """
        return None

    @describe_parameters(_DRAW)
    def uniform(self, shape: Sequence[int], like: Tensor, draw: int = 0) -> Tensor:
        """Return numbers from 0 to 1."""
        return noise.uniform(self._key(), noise.stream(self.place, draw), shape, like)

    @describe_parameters(_DRAW)
    def kept(self, shape: Sequence[int], like: Tensor, p: float, draw: int = 0) -> Tensor:
        """Return where the numbers from 0 to 1 are at least p.

        Parameters
        ----------
        p : float
            Probability of False.
        """
        return noise.kept(self._key(), noise.stream(self.place, draw), shape, like, p)

    @describe_parameters(_DRAW)
    def normal(self, shape: Sequence[int], like: Tensor, draw: int = 0) -> Tensor:
        """Return standard normal numbers."""
        return noise.normal(self._key(), noise.stream(self.place, draw), shape, like)

    @describe_parameters(_DRAW)
    def signs(self, shape: Sequence[int], like: Tensor, draw: int = 0) -> Tensor:
        """Return -1 and 1."""
        return noise.signs(self._key(), noise.stream(self.place, draw), shape, like)

    def _key(self) -> Tensor | None:
        now = noise.current()
        return None if now is None else now.key_of(self)


def stochastic_layers(module: nn.Module) -> Iterator[Stochastic]:
    """Yield the stochastic layers of a module, in order, each once."""
    for part in module.modules():
        if isinstance(part, Stochastic):
            yield part


def number_layers(module: nn.Module) -> None:
    """Give each stochastic layer its place, so that their noise differs."""
    for place, layer in enumerate(stochastic_layers(module)):
        layer.place = place


def total_penalty(module: nn.Module) -> Tensor:
    """Return the sum of what the layers add to the objective; 0 without such layers.

    Returns
    -------
    Tensor of shape ()
    """
    penalties = [layer.penalty() for layer in stochastic_layers(module)]
    given = [penalty for penalty in penalties if penalty is not None]
    return torch.stack(given).sum() if given else torch.zeros(())
