"""From the outputs of stacked networks to losses, and their gradient in the outputs.

Outputs are (copies, units, rows), labels (copies, rows) or (copies, rows, targets), and counts
(copies, rows): how much each row counts.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from math import log, pi
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...exceptions import OptionError
from .. import layers, losses, noise
from .._loss_inputs import as_codes, as_targets
from ._draws import Draws, Reusing

Loss = Callable[[Tensor, Tensor], Tensor]
Pair = tuple[Tensor, Tensor]

_BLOCKS = {"cpu": 2**18, "cuda": 2**25}
"""Numbers that are processed at a time: those that stay in the cache, or that fill a GPU."""

BY_ROW = (losses.nll, losses.gaussian_nll, losses.beta_nll, losses.squared_error, losses.pinball)
"""Losses that draw no noise."""


class End(Reusing, ABC):
    """The loss after the last layer."""

    def losses(self, outputs: Tensor, y: Tensor, counts: Tensor, keys: Tensor) -> Tensor:
        """Return the weighted sum of the losses of each copy; rows share their noise."""
        return self.with_gradient(outputs, y, counts, keys)[0]

    @abstractmethod
    def with_gradient(self, outputs: Tensor, y: Tensor, counts: Tensor, keys: Tensor) -> Pair:
        """Return the same, and its gradient in the outputs."""


class AnyLoss(End):
    """Any loss after any head, whose linear map belongs to the network; with torch's gradient."""

    def __init__(self, head: nn.Module | None, loss: Loss) -> None:
        super().__init__()
        self.head = None if head is None else copy.copy(head)
        if self.head is not None:
            self.head._modules = {"linear": nn.Identity()}
        self.loss = loss
        self.together = bare(loss) in BY_ROW

    def with_gradient(self, outputs: Tensor, y: Tensor, counts: Tensor, keys: Tensor) -> Pair:
        """Return losses and gradient by torch."""
        with torch.enable_grad():
            given = outputs.detach().requires_grad_()
            total = self._losses(given, y, counts, keys, shared=False)
            return total.detach(), torch.autograd.grad(total.sum(), given)[0]

    def losses(self, outputs: Tensor, y: Tensor, counts: Tensor, keys: Tensor) -> Tensor:
        """Return losses alone."""
        return self._losses(outputs, y, counts, keys, shared=True)

    def _losses(
        self, outputs: Tensor, y: Tensor, counts: Tensor, keys: Tensor, *, shared: bool
    ) -> Tensor:
        values = outputs.transpose(1, 2)
        values = values if self.head is None else self.head(values)
        if self.together:
            each = self.loss(values.flatten(0, 1), y.flatten(0, 1)).view(y.shape[:2])
        else:
            one = partial(self._one, shared=shared)
            each = torch.vmap(one, randomness="different")(values, y, keys)
        check_losses(each, counts)
        return (each * counts).sum(1)

    def _one(self, values: Tensor, y: Tensor, key: Tensor, *, shared: bool) -> Tensor:
        with noise.keyed(key, shared=shared):
            return self.loss(values, y)


class OverMembers(End):
    """`losses.over_members`: the rows of all members, one member after another, as rows of one."""

    def __init__(self, one: End) -> None:
        super().__init__()
        self.one = one

    @property
    def bytes(self) -> int:
        """The memory of the arrays that are used again."""
        return self.one.bytes

    def with_gradient(self, outputs: Tensor, y: Tensor, counts: Tensor, keys: Tensor) -> Pair:
        """Return losses and gradient of one network with as many rows."""
        total, gradient = self.one.with_gradient(*self._repeated(outputs, y, counts), keys)
        return total, gradient.flatten(2)

    def losses(self, outputs: Tensor, y: Tensor, counts: Tensor, keys: Tensor) -> Tensor:
        """Return losses alone."""
        return self.one.losses(*self._repeated(outputs, y, counts), keys)

    def _repeated(
        self, outputs: Tensor, y: Tensor, counts: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return labels and counts once for each member, as views where that is possible."""
        members = outputs.shape[2] // counts.shape[1]
        y = y[:, None].expand(-1, members, *y.shape[1:])
        counts = (counts / members)[:, None].expand(-1, members, -1)
        if isinstance(self.one, ClassLikelihood | GaussianLikelihood):
            return outputs.unflatten(2, (members, -1)), y, counts
        return outputs, y.flatten(1, 2), counts.flatten(1, 2)


class ClassLikelihood(End):
    """`losses.nll` of logits; rows may have several axes."""

    def with_gradient(self, outputs: Tensor, y: Tensor, counts: Tensor, keys: Tensor) -> Pair:
        """Return losses, and probabilities less 1 at the true class."""
        codes = as_codes(y, counts.shape)[:, None]
        target = self.workspace("logarithms", outputs.shape, outputs)
        logarithms = torch.log_softmax(outputs, 1, out=target)
        share = counts[:, None]
        total = (logarithms.gather(1, codes) * share).flatten(1).sum(1).neg_()
        ones = self.workspace.kept(
            "ones", codes.shape, partial(outputs.new_full, codes.shape, -1.0)
        )
        gradient = logarithms.exp_().scatter_add_(1, codes, ones)
        return total, gradient.mul_(share)


class GaussianLikelihood(End):
    """`losses.gaussian_nll` or `losses.beta_nll` after a `MeanVarianceHead`; rows as above."""

    def __init__(self, head: layers.MeanVarianceHead, beta: float) -> None:
        super().__init__()
        self.floor, self.cap, self.beta = head.floor, head.cap, beta

    def with_gradient(self, outputs: Tensor, y: Tensor, counts: Tensor, keys: Tensor) -> Pair:
        """Return losses, and the gradient in means and raw deviations."""
        targets = outputs.shape[1] // 2
        mean, raw = outputs.narrow(1, 0, targets), outputs.narrow(1, targets, targets)
        y = as_targets(y, mean.movedim(1, -1).shape).movedim(-1, 1)
        deviation = functional.softplus(raw)
        slope = torch.sigmoid(raw)
        if self.cap is not None:
            damping = torch.add(1.0, deviation, alpha=1 / self.cap)
            deviation.div_(damping)
            slope.div_(damping.square_())
        deviation.add_(self.floor)
        score = torch.sub(mean, y).div_(deviation)
        terms = torch.addcmul(deviation.log(), score, score, value=0.5).add_(log(2 * pi) / 2)
        share = counts[:, None]
        if self.beta:
            share = deviation.pow(2 * self.beta).mul_(share)
        total = terms.mul_(share).flatten(1).sum(1)
        gradient = self.workspace("gradient", outputs.shape, outputs)
        of_mean, of_raw = gradient.narrow(1, 0, targets), gradient.narrow(1, targets, targets)
        share = torch.div(share, deviation)
        torch.mul(score, share, out=of_mean)
        one = self.workspace.kept("one", (), partial(outputs.new_ones, ()))
        torch.addcmul(one, score, score, value=-1.0, out=of_raw).mul_(share).mul_(slope)
        return total, gradient


class SampledLikelihood(End):
    """`losses.sampled_softmax_nll` after a `GaussianLogitsHead`; some copies at a time.

    With logits z = mean + deviation * noise and p their softmax, the loss of a row is minus the
    logarithm of the mean of p at its class over the draws; its slope in z is w (p - 1 at the
    class), where the w of all draws are in proportion to p at the class and sum to 1.
    """

    def __init__(self, head: layers.GaussianLogitsHead, draws: int, place: int) -> None:
        super().__init__()
        self.floor, self.count = head.floor, draws
        self.draws = Draws(noise.stream(place, 0))

    def with_gradient(self, outputs: Tensor, y: Tensor, counts: Tensor, keys: Tensor) -> Pair:
        """Return losses, and the gradient in means and raw deviations."""
        return self._by_blocks(outputs, y, counts, keys, shared=False)

    def losses(self, outputs: Tensor, y: Tensor, counts: Tensor, keys: Tensor) -> Tensor:
        """Return losses, with the same noise for all rows."""
        return self._by_blocks(outputs, y, counts, keys, shared=True)[0]

    def _by_blocks(
        self, outputs: Tensor, y: Tensor, counts: Tensor, keys: Tensor, *, shared: bool
    ) -> tuple[Tensor, Tensor]:
        copies, units, rows = outputs.shape
        codes = as_codes(y, counts.shape)
        total = self.workspace("total", (copies,), outputs)
        gradient = self.workspace("gradient", outputs.shape, outputs)
        most = _BLOCKS.get(outputs.device.type, 2**18)
        size = max(1, most // (self.count * rows * units // 2))
        for start in range(0, copies, size):
            part = slice(start, min(start + size, copies))
            drawn = self._noise(keys[part], units // 2, 1 if shared else rows, outputs)
            self._block(
                outputs[part], codes[part], counts[part], drawn, total[part], gradient[part]
            )
        return total, gradient

    def _block(
        self, outputs: Tensor, codes: Tensor, counts: Tensor, drawn: Tensor, total: Tensor,
        gradient: Tensor,
    ) -> None:  # fmt: skip
        copies, units, rows = outputs.shape
        classes = units // 2
        mean, raw = outputs.split(classes, 1)
        deviation = functional.softplus(raw).add_(self.floor)
        drawn = drawn.expand(copies, self.count, classes, rows)
        logits = torch.mul(
            drawn, deviation[:, None], out=self.workspace("logits", drawn.shape, outputs)
        )
        logits.add_(mean[:, None])
        logarithms = torch.log_softmax(logits, 2, out=logits)
        at = codes[:, None, None].expand(copies, self.count, 1, rows)
        likelihoods = logarithms.gather(2, at)
        each = likelihoods.logsumexp(1, keepdim=True)
        torch.sum((log(self.count) - each[:, 0, 0]).mul_(counts), 1, out=total)
        weights = likelihoods.sub_(each).exp_()
        noise_at = drawn.gather(2, at).mul_(weights).sum(1)
        slopes = logarithms.exp_().mul_(weights)
        of_mean, of_raw = gradient.split(classes, 1)
        torch.sum(slopes, 1, out=of_mean)
        torch.sum(slopes.mul_(drawn), 1, out=of_raw)
        of_mean.scatter_add_(1, at[:, 0], torch.full_like(noise_at, -1.0))
        of_raw.scatter_add_(1, at[:, 0], noise_at.neg_())
        gradient.mul_(counts[:, None])
        of_raw.mul_(torch.sigmoid(raw))

    def _noise(self, keys: Tensor, classes: int, rows: int, like: Tensor) -> Tensor:
        """Return what the loss draws, as (copies, draws, classes, rows), numbered row by row."""
        shape = len(keys), self.count, classes, rows

        def count_elements() -> list[Tensor]:
            numbers = torch.arange(rows * self.count * classes)
            return [numbers.view(rows, self.count, classes).permute(1, 2, 0).reshape(-1)]

        bits = self.draws(keys, shape[1:], count_elements)
        target = self.workspace("noise", bits.shape, like)
        return noise.normal_from_bits(bits, target).view(shape)


def check_losses(each: Tensor, counts: Tensor) -> None:
    """Raise if a loss is not one number for each sample."""
    if each.shape != counts.shape:
        raise OptionError(
            f"loss must return one number for each sample, {tuple(counts.shape)}; got "
            f"{tuple(each.shape)}"
        )


def bare(loss: Any) -> Any:
    """Return the function of a loss whose options may be set."""
    return loss.func if isinstance(loss, partial) else loss


def make_end(head: nn.Module | None, loss: Loss) -> End:
    """Return the loss after a head, or of the outputs of the last layer."""
    function = bare(loss)
    given: dict[str, Any] = dict(loss.keywords) if isinstance(loss, partial) else {}
    if function is losses.over_members:
        return OverMembers(make_end(head, given["loss"]))
    if head is None and function is losses.nll:
        return ClassLikelihood()
    if isinstance(head, layers.MeanVarianceHead):
        if function is losses.gaussian_nll:
            return GaussianLikelihood(head, 0.0)
        if function is losses.beta_nll:
            return GaussianLikelihood(head, given.get("beta", losses.BETA))
    if isinstance(head, layers.GaussianLogitsHead) and function is losses.sampled_softmax_nll:
        return SampledLikelihood(
            head, given.get("draws", losses.DRAWS), given.get("place", losses.LOSS_PLACE)
        )
    return AnyLoss(head, loss)
