"""Linear layers with random weights, forward and back by hand."""

from math import log, pi

import torch
from torch import Tensor
from torch.nn import functional

from .. import layers, noise
from ._draws import Draws, by_units
from ._parts import Linear, NetworkPart

State = dict[str, Tensor]

PRIORS = (layers.GaussianPrior, layers.ScaleMixturePrior)
"""Those whose slopes are known."""


class DropConnect(Linear):
    """`layers.DropConnectLinear`: one mask of the weights for all rows."""

    def __init__(
        self,
        layer: layers.DropConnectLinear,
        weight: Tensor,
        bias: Tensor | None,
        gradients: tuple[Tensor | None, Tensor | None],
    ) -> None:
        super().__init__(weight, bias, gradients)
        self.whole, self.p = self.weight, layer.p
        self.draws = Draws(noise.stream(layer.place, 0))

    def forward(self, x: Tensor, keys: Tensor | None) -> Tensor:
        """Return the outputs of the weights that are kept."""
        self.weight = self.whole
        if keys is not None:
            shape = self.whole.shape
            count = shape[1:].numel()
            bits = self.draws(keys, (count,), lambda: [torch.arange(count)])
            kept = noise.at_least(bits, self.p, x.dtype).view(shape)
            self.mask = self.workspace("mask", shape, x).copy_(kept).div_(1 - self.p)
            self.weight = torch.mul(self.whole, self.mask, out=self.workspace("weight", shape, x))
        return super().forward(x, keys)

    def backward(self, gradient: Tensor, strength: Tensor | None) -> Tensor:
        """The same for the gradient of the weights."""
        passed = super().backward(gradient, strength)
        weight = self.gradients[0]
        if weight is not None:
            weight.mul_(self.mask)
        return passed


class Concrete(Linear):
    """`layers.ConcreteDropoutLinear`: inputs are dropped with a probability that is learned."""

    learns = True

    def __init__(self, layer: layers.ConcreteDropoutLinear, state: State, gradients: State) -> None:
        super().__init__(
            state["weight"], state.get("bias"), (gradients["weight"], gradients.get("bias"))
        )
        self.logit, self.of_logit = state["logit_p"].detach(), gradients["logit_p"]
        self.temperature, self.square = layer.temperature, layer.length_scale**2
        self.draws = Draws(noise.stream(layer.place, 0))

    def forward(self, x: Tensor, keys: Tensor | None) -> Tensor:
        """Return the outputs of the inputs that are kept."""
        if keys is None:
            return super().forward(x, keys)
        units, rows = x.shape[1:]
        bits = self.draws(keys, (rows,), lambda: [by_units(rows, units)])
        target = self.workspace("chance", bits.shape, x)
        chance = noise.uniform_from_bits(bits, target).view(x.shape)
        dropped = torch.logit(chance, out=chance).add_(self.logit[:, None, None])
        self.whole, self.enlarged = x, 1 + self.logit.exp()[:, None, None]
        self.share = dropped.div_(-self.temperature).sigmoid_()
        kept = torch.mul(self.share, self.enlarged, out=self.workspace("factor", x.shape, x))
        self.factor = kept
        return super().forward(torch.mul(x, kept, out=self.workspace("kept", x.shape, x)), keys)

    def backward(self, gradient: Tensor, strength: Tensor | None) -> Tensor:
        """Write the gradients of the weights and of the probability, pass on through what is kept.

        With k the share that is kept and l the logit, the factor k (1 + exp l) has the slope
        factor - k - factor (1 - k) / t in l.
        """
        passes_on, self.passes_on = self.passes_on, True
        passed = super().backward(gradient, strength)
        self.passes_on = passes_on
        slope = torch.sub(
            self.factor, self.share, out=self.workspace("slope", passed.shape, passed)
        )
        turned = self.share.sub_(1).mul_(self.factor).div_(self.temperature)
        slope.add_(turned).mul_(self.whole).mul_(passed)
        torch.sum(slope, (1, 2), out=self.of_logit)
        if strength is not None:
            self._penalize(strength)
        return passed.mul_(self.factor)

    def _penalize(self, strength: Tensor) -> None:
        """Set the penalty and add its gradients."""
        logit, enlarged, p = self.logit, self.enlarged[:, 0, 0], torch.sigmoid(self.logit)
        squares = self.square * self.weight.square().sum((1, 2)) / 2
        entropy = p * functional.softplus(-logit) + (1 - p) * functional.softplus(logit)
        units = self.weight.shape[2]
        self.penalty = squares * enlarged - units * entropy
        slope = squares * logit.exp() + units * logit * p * (1 - p)
        self.of_logit.addcmul_(slope, strength)
        weight = self.gradients[0]
        assert weight is not None
        weight.addcmul_(self.weight, (self.square * strength * enlarged)[:, None, None])


class MeanField(NetworkPart):
    """`layers.BayesLinear` and `layers.FlipoutLinear`: Gaussian weights.

    Weight and bias are worked on as one array, (copies, outputs * inputs + outputs).
    """

    learns = True

    def __init__(
        self, layer: layers.BayesLinear | layers.FlipoutLinear, state: State, gradients: State
    ) -> None:
        super().__init__()
        self.flips, self.prior = isinstance(layer, layers.FlipoutLinear), layer.prior
        self.parts = [name for name in ("weight", "bias") if f"{name}_mean" in state]
        self.state = {name: value.detach() for name, value in state.items()}
        self.gradients = gradients
        self.outputs, self.inputs = self.state["weight_mean"].shape[1:]
        streams = [0, 1][: len(self.parts)] + ([2, 3] if self.flips else [])
        self.draws = Draws(*(noise.stream(layer.place, draw) for draw in streams))

    def _joined(self, kind: str) -> Tensor:
        return torch.cat([self.state[f"{part}_{kind}"].flatten(1) for part in self.parts], dim=1)

    def _split(self, values: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return weight and bias, (copies, outputs, inputs) and (copies, outputs, 1)."""
        size = self.outputs * self.inputs
        weight = values[:, :size].unflatten(1, (self.outputs, self.inputs))
        return weight, values[:, size:, None] if len(self.parts) > 1 else None

    def forward(self, x: Tensor, keys: Tensor | None) -> Tensor:
        """Return outputs with noise, or those of the mean weights."""
        self.x, self.mean = x, self._joined("mean")
        if keys is None:
            return _product(*self._split(self.mean), x)
        self._draw(keys, x)
        self.rho = self._joined("rho")
        self.std = functional.softplus(self.rho)
        self.shift = self.std * self.noise
        if not self.flips:
            self.weights = self._split(self.mean + self.shift)
            return _product(*self.weights, x)
        self.turned = x * self.inward
        turned = _product(*self._split(self.shift), self.turned).mul_(self.outward)
        return turned.add_(_product(*self._split(self.mean), x))

    def _draw(self, keys: Tensor, x: Tensor) -> None:
        """Set the noise of the weights and, for Flipout, the signs of each row."""
        rows, count = x.shape[2], self.mean.shape[1]
        sizes = [self.outputs * self.inputs, self.outputs][: len(self.parts)]

        def count_elements() -> list[Tensor]:
            signs = [by_units(rows, self.inputs), by_units(rows, self.outputs)]
            return [torch.arange(size) for size in sizes] + (signs if self.flips else [])

        bits = self.draws(keys, (rows,), count_elements)
        target = self.workspace("noise", self.mean.shape, x)
        if self.flips:
            signs = self.workspace("signs", (len(x), bits.shape[1] - count), x)
            noise.signs_from_bits(bits[:, count:], signs)
            cut = rows * self.inputs
            self.inward = signs[:, :cut].unflatten(1, (self.inputs, rows))
            self.outward = signs[:, cut:].unflatten(1, (self.outputs, rows))
        self.noise = noise.normal_from_bits(bits[:, :count], target)

    def backward(self, gradient: Tensor, strength: Tensor | None) -> Tensor:
        """Write the gradients of means and deviations, pass on that of the inputs."""
        of_mean = self._weight_gradient(gradient, self.x)
        if self.flips:
            turned = gradient * self.outward
            of_shift = self._weight_gradient(turned, self.turned)
        else:
            of_shift = of_mean
        of_std = of_shift * self.noise
        if strength is not None:
            value, mean_slope, std_slope = slopes(self.prior, self.mean, self.std, self.noise)
            self.penalty = value.sum(1)
            of_mean = torch.addcmul(of_mean, mean_slope, strength[:, None])
            of_std.addcmul_(std_slope, strength[:, None])
        self._write("mean", of_mean)
        self._write("rho", of_std.mul_(torch.sigmoid(self.rho)))
        if not self.passes_on:
            return gradient
        if not self.flips:
            return torch.bmm(self.weights[0].transpose(1, 2), gradient)
        passed = torch.bmm(self._split(self.shift)[0].transpose(1, 2), turned).mul_(self.inward)
        return passed.add_(torch.bmm(self._split(self.mean)[0].transpose(1, 2), gradient))

    def _weight_gradient(self, gradient: Tensor, x: Tensor) -> Tensor:
        parts = [torch.bmm(gradient, x.transpose(1, 2)).flatten(1)]
        return torch.cat([*parts, gradient.sum(2)], dim=1) if len(self.parts) > 1 else parts[0]

    def _write(self, kind: str, values: Tensor) -> None:
        weight, bias = self._split(values)
        self.gradients[f"weight_{kind}"].copy_(weight)
        if bias is not None:
            self.gradients[f"bias_{kind}"].copy_(bias[..., 0])


def _product(weight: Tensor, bias: Tensor | None, x: Tensor) -> Tensor:
    return torch.bmm(weight, x) if bias is None else torch.baddbmm(bias, weight, x)


def slopes(
    prior: layers.Prior, mean: Tensor, std: Tensor, drawn: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the divergence of each weight from a known prior, and its slopes in mean and std."""
    if isinstance(prior, layers.GaussianPrior):
        precision = 1 / prior.std**2
        value = (mean.square() + std.square()).mul_(precision / 2)
        value = value.sub_(std.log()).add_(log(prior.std) - 0.5)
        return value, mean * precision, (std * precision).sub_(1 / std)
    assert isinstance(prior, layers.ScaleMixturePrior)
    weight = torch.addcmul(mean, std, drawn)
    square = weight.square()
    one, two = prior.std1**-2, prior.std2**-2
    # How much likelier the first part is, as a logarithm; then the share that it has.
    offset = log(prior.weight / (1 - prior.weight)) - log(prior.std1 / prior.std2)
    ratio = square * ((two - one) / 2) + offset
    second = log((1 - prior.weight) / prior.std2) - log(2 * pi) / 2
    density = functional.softplus(ratio).sub_(square, alpha=two / 2).add_(second)
    pull = torch.sigmoid(ratio).mul_(one - two).add_(two).mul_(weight)
    value = torch.addcmul(density, drawn, drawn, value=0.5).add_(std.log()).neg_()
    value = value.sub_(log(2 * pi) / 2)
    return value, pull, (pull * drawn).sub_(1 / std)
