"""The Gaussian posterior of the last layer of a trained network, in closed form.

With features phi of a row, the last layer gives outputs W phi. The Hessian of the summed negative
log likelihood in W is the sum of phi phi' (x) L over the rows, where L is the Hessian of a row's
loss in its outputs: diag(p) - p p' for a softmax, 1 / sigma^2 for a Gaussian. It is exact, as
outputs are linear in W.
"""

import copy
from dataclasses import dataclass, fields
from math import exp, log
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .._validation import check_choice, check_integer, check_number
from ..exceptions import InvalidValueError, LabelError, OptionError, ShapeError
from ._inputs import as_inputs, place, precision, rows_of
from ._outputs import Prediction, to_prediction
from .lockstep._problem import as_target

__all__ = ["LastLayerPosterior", "laplace"]

HEADS = ("logits", "mean", "mean-std")

_FULL = 1024
"""Weights up to which their whole covariance is kept."""

_BLOCK = 2**18
"""Numbers in the largest array of a block of rows, which stay in the cache."""

_HALVINGS = 45
"""Of the interval of a prior: 24 orders of magnitude become a relative width of 1e-12."""

_ROUNDS = 100
"""Of noise and prior in turn, at most."""


@dataclass(frozen=True, eq=False)
class LastLayerPosterior:
    r"""A trained network whose last layer has a Gaussian posterior; `laplace` makes it.

    Parameters
    ----------
    module : torch.nn.Module
        The network.
    head : str
        What its outputs mean.
    layer : str
        Name of the last linear layer.
    prior_std : float
        Standard deviation of the prior of the layer's weights and biases.
    noise_std : Tensor of shape (targets,) or None
        Standard deviation of the noise with ``head="mean"``, and with ``head="mean-std"`` the
        factor by which it is larger than the network says.
    values, vectors : Tensors
        Eigenvalues and eigenvectors of the Hessian: of all weights, (P,) and (P, P); for targets
        (targets, F) and (targets, F, F), where F features include a 1 for the bias; of the
        features' factor, (F,) and (F, F), if ``factor`` is there.
    factor : tuple of Tensors, optional
        Eigenvalues and eigenvectors of the classes' factor, (C,) and (C, C), of a layer too large
        for its whole covariance.
    """

    module: nn.Module
    head: str
    layer: str
    prior_std: float
    noise_std: Tensor | None
    values: Tensor
    vectors: Tensor
    factor: tuple[Tensor, Tensor] | None = None

    def state(self) -> dict[str, Any]:
        """Return all that is learned, without the module."""
        return {each.name: getattr(self, each.name) for each in fields(self)[1:]}

    def predict(
        self,
        X: Any,
        *,
        passes: int = 50,
        classes: Any = None,
        targets: Any = None,
        random_state: int = 0,
    ) -> Prediction:
        """Return the prediction, whose members are draws of the outputs from their posterior.

        The mean of the outputs is what the network says. Of each row, mean and variance of the
        members' outputs are those of the posterior; covariances of logits too, if there are more
        members than classes.

        Parameters
        ----------
        X : array of shape (samples, ...)
        passes : int, default=50
            Members of the prediction, at least 2.
        classes, targets : sequences of labels, optional
            Names of the classes or of the targets.
        random_state : int, default=0
            Decides the draws of logits; those of numbers are always the same.

        Returns
        -------
        Categorical or Gaussian
        """
        values = self.outputs(X, passes, random_state)
        head = "logits" if self.head == "logits" else "mean-std"
        return to_prediction(values, head, classes=classes, targets=targets, levels=None)

    def outputs(self, X: Any, passes: int, random_state: int = 0) -> Tensor:
        """Return draws of the outputs: (passes, rows, classes), or (passes, rows, 2, targets).

        Parameters
        ----------
        X : array of shape (samples, ...)
        passes : int
            Number of draws, at least 2.
        random_state : int, default=0
            Decides the draws of logits.
        """
        passes = check_integer(passes, "passes", 2)
        parts = []
        for phi, output in _passed(self.module, self.layer, X, self._per_row()):
            if self.head == "logits":
                root = self._root(phi)
                z = _scores(passes, root.shape[-1], random_state).to(root)
                parts.append(output + torch.einsum("nck,mk->mnc", root, z))
            else:
                mean, std = _moments(output, self.head, self.noise_std)
                z = _quantiles(passes).to(mean)[:, None, None]
                drawn = mean + self.variance(phi).sqrt() * z
                parts.append(torch.stack([drawn, std.expand_as(drawn)], dim=2))
        return torch.cat(parts, dim=1).cpu()

    def variance(self, phi: Tensor) -> Tensor:
        """Return the posterior variance of the mean of each target, (rows, targets)."""
        turned = torch.einsum("nf,tfg->ntg", phi, self.vectors)
        return (turned.square() / (self.values + self.prior_std**-2)).sum(-1)

    def _root(self, phi: Tensor) -> Tensor:
        """Return a root of the covariance of the logits of each row, (rows, classes, classes)."""
        pull = self.prior_std**-2
        if self.factor is not None:
            values, vectors = self.factor
            scale = (phi @ self.vectors).square() @ (1 / (self.values[:, None] * values + pull))
            return vectors * scale.sqrt()[:, None]
        turned = self.vectors.view(-1, phi.shape[1], len(self.values))
        each = torch.einsum("nf,cfp->ncp", phi, turned) * (self.values + pull).rsqrt()
        covariance = each @ each.transpose(1, 2)
        # Rows without any feature have no variance; a root of it is found all the same.
        covariance.diagonal(dim1=1, dim2=2).add_(1e-12)
        return torch.linalg.cholesky(covariance)

    def _per_row(self) -> int:
        """How many numbers a row needs."""
        size = self.vectors.shape[-1]
        return size if self.head != "logits" or self.factor is not None else size * size // 10 + 1


def laplace(
    module: nn.Module,
    X: Any,
    y: Any,
    *,
    head: str = "logits",
    weight: Any = None,
    prior_std: float | None = None,
    noise_std: float | None = None,
    device: Any = None,
) -> LastLayerPosterior:
    r"""Return a trained network with the Laplace approximation of its last layer's posterior.

    .. math:: \theta \sim N\big(\hat\theta, (H + I / s^2)^{-1}\big), \quad
        H = \sum_n \varphi_n \varphi_n^\top \otimes \Lambda_n

    with features :math:`\varphi` before the last layer and the Hessian :math:`\Lambda` of a row's
    loss in its outputs. For numbers this is Bayesian linear regression on the features, given the
    noise; for classes the curvature at the trained weights, exact as well. The network is not
    changed, and its own answer stays the mean. What earlier layers do not know is not seen: where
    they map new inputs to features of known ones, the posterior is as sure as there.

    Parameters
    ----------
    module : torch.nn.Module
        A trained network that ends with a ``torch.nn.Linear`` or a head of `caveat.nn.layers`.
    X : array of shape (samples, ...)
        The samples that it was trained on.
    y : array of shape (samples,) or (samples, targets)
        Class codes, or numbers as the network gives them.
    head : {"logits", "mean", "mean-std"}, default="logits"
        What the outputs mean.
    weight : array of shape (samples,), optional
        How much each sample counts; only ratios matter, and a weight of 0 leaves the sample out.
    prior_std : float, optional
        Standard deviation :math:`s` of the prior of the last layer's weights; by default the one of
        the greatest marginal likelihood, which is unique.
    noise_std : float, optional
        Standard deviation of the noise with ``head="mean"``, and with ``head="mean-std"`` a factor
        of what the network says: networks that follow their few samples say too little. By default
        the one of the greatest marginal likelihood, for each target; there the sum of squared
        residuals is divided by the number of samples less that of the weights they determine.
    device : torch device, optional
        Where to compute; by default where the module is.

    References
    ----------
    MacKay: Bayesian interpolation, 1992. Kristiadi, Hein, Hennig: Being Bayesian, even just a bit,
    fixes overconfidence in ReLU networks, 2020.

    Examples
    --------
    >>> import torch
    >>> X = torch.linspace(-1, 1, 50)[:, None]
    >>> network = torch.nn.Linear(1, 2)
    >>> posterior = laplace(network, X, (X[:, 0] > 0).long())
    >>> posterior.predict(torch.tensor([[0.5], [50.0]]))
    Categorical: 50 members x 2 samples x 2 classes (0, 1)
    """
    check_choice(head, "head", HEADS)
    for name, value in (("prior_std", prior_std), ("noise_std", noise_std)):
        if value is not None:
            check_number(value, name, closed="neither")
    if noise_std is not None and head == "logits":
        raise OptionError('noise_std is for head="mean" and "mean-std"; leave it out')
    # A posterior is around the weights as they are now.
    module = copy.deepcopy(module).to(place(module, device)).eval()
    layer = _last_linear(module, X, head)
    linear = module.get_submodule(layer)
    assert isinstance(linear, nn.Linear)
    made = _Sums(linear, head)
    inputs = as_inputs(X, module)
    labels = _labels(y, len(inputs[0]), head)
    counts = _counts(weight, len(labels))
    start = 0
    for phi, output in _passed(module, layer, X, made.per_row):
        rows = slice(start, start + len(phi))
        known = torch.isfinite(phi).all(1)
        if not bool(known.all()):
            sample = start + int((~known).nonzero()[0])
            raise InvalidValueError(f"sample {sample} of X gives the last layer NaN or infinity")
        made.add(phi, output, labels[rows].to(phi.device), counts[rows].to(phi))
        start += len(phi)
    return made.finish(module, layer, prior_std, noise_std, int((counts > 0).sum()))


class _Sums:
    """The Hessian, added up row by row."""

    def __init__(self, linear: nn.Linear, head: str) -> None:
        self.head = head
        self.features = linear.in_features + (linear.bias is not None)
        self.outputs = linear.out_features // (2 if head == "mean-std" else 1)
        self.whole = self.features * self.outputs <= _FULL
        parts = [linear.weight[: self.outputs].detach()]
        if linear.bias is not None:
            parts.append(linear.bias[: self.outputs, None].detach())
        self.norm = torch.cat(parts, 1).double().square().sum().item()
        self.per_row = self.features * self.outputs
        # One number more for all logits changes no loss: their curvature in that direction is 0.
        moves = max(1, self.outputs - 1)
        ones = linear.weight.new_ones(self.outputs, self.outputs, dtype=torch.float64)
        turned = torch.linalg.eigh(ones)[1].contiguous()
        self.basis, self.constant = turned[:, :moves], turned[:, moves:].contiguous()
        self.products: Any = 0.0
        self.curvature: Any = 0.0
        self.squares: Any = 0.0

    def add(self, phi: Tensor, output: Tensor, y: Tensor, count: Tensor) -> None:
        """Add rows, each as often as its count says."""
        weighted = phi * count[:, None]
        if self.head == "logits":
            return self._add_classes(phi, weighted, output, count)
        mean, std = _moments(output, self.head, None)
        if y.shape != mean.shape:
            raise ShapeError(
                f"y must have shape {tuple(mean.shape)}, as the outputs have; got {tuple(y.shape)}"
            )
        share = (std**-2).T
        self.products = self.products + torch.einsum("tn,nf,ng->tfg", share, weighted, phi)
        self.squares = self.squares + (((y - mean) / std).square() * count[:, None]).sum(0)
        return None

    def _add_classes(self, phi: Tensor, weighted: Tensor, logits: Tensor, count: Tensor) -> None:
        curve = _curvature(logits)
        if not self.whole:
            self.products = self.products + weighted.T @ phi
            self.curvature = self.curvature + torch.einsum("n,nij->ij", count, curve)
            return
        curve, moves = self.basis.T @ curve @ self.basis, self.basis.shape[1]
        if not isinstance(self.products, Tensor):
            self.products = phi.new_zeros(2 * [moves * self.features])
        # Blocks below the diagonal; those above are the same, and `eigh` does not read them.
        for c in range(moves):
            row = weighted.T @ (curve[:, c, : c + 1, None] * phi[:, None]).flatten(1)
            place = slice(c * self.features, (c + 1) * self.features)
            self.products[place, : row.shape[1]] += row

    def finish(
        self, module: nn.Module, layer: str, prior_std: Any, noise_std: Any, samples: int
    ) -> LastLayerPosterior:
        values, vectors = torch.linalg.eigh(self.products)
        values, factor, noise = values.clamp_min(0), None, None
        every = values
        if self.head == "logits" and not self.whole:
            classes, turned = torch.linalg.eigh(self.curvature / samples)
            factor = classes.clamp_min(0), turned.contiguous()
            every = values[:, None] * factor[0]
        elif self.head == "logits":
            still = torch.kron(self.constant, torch.eye(self.features).to(vectors))
            vectors = (self.basis @ vectors.reshape(len(self.basis.T), -1)).view(self.per_row, -1)
            vectors = torch.cat([still, vectors], 1)
            values = every = torch.cat([values.new_zeros(still.shape[1]), values])
        if self.head != "logits":
            noise, prior_std = self._noise(values, prior_std, noise_std, samples)
            values = every = values * (noise**-2)[:, None]
            vectors = vectors.expand(self.outputs, -1, -1)
        if prior_std is None:
            prior_std = _evidence_std(every.flatten(), self.norm)
        return LastLayerPosterior(
            module, self.head, layer, float(prior_std), noise, values, vectors.contiguous(), factor
        )

    def _noise(
        self, values: Tensor, prior_std: Any, noise_std: Any, samples: int
    ) -> tuple[Tensor, float]:
        """Return noise and prior of the greatest marginal likelihood, or those that are given."""
        if noise_std is not None:
            noise = torch.full_like(self.squares, noise_std)
            every = values.expand(self.outputs, -1) * noise_std**-2
            return noise, prior_std or _evidence_std(every.flatten(), self.norm)
        variance = (self.squares / samples).clamp_min(1e-12)
        std = 1.0
        for _ in range(_ROUNDS):  # pragma: no branch - it converges
            every = values / variance[:, None]
            std = prior_std or _evidence_std(every.flatten(), self.norm)
            known = (every / (every + std**-2)).sum(1)
            before, variance = variance, self.squares / (samples - known).clamp_min(1.0)
            variance = variance.clamp_min(1e-12)
            if torch.allclose(variance, before, rtol=1e-10, atol=0):
                break
        return variance.sqrt(), float(std)


def _evidence_std(eigenvalues: Tensor, norm: float) -> float:
    r"""Return the prior's standard deviation of the greatest marginal likelihood.

    With the precision d, eigenvalues v and the squared norm w of the weights, minus twice the log
    evidence is, up to a constant, d w + sum log(v + d) - P log d. Its slope is 0 where
    d w = sum v / (v + d): the left side rises with d and the right one falls, so there is one such
    place.
    """
    low, high = log(1e-12), log(1e12)
    values = eigenvalues.cpu().numpy()  # whose operations on few numbers take a third of the time
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        precision = exp(middle)
        if precision * norm < float((values / (values + precision)).sum()):
            low = middle
        else:
            high = middle
    return exp(-low / 2)


def _curvature(logits: Tensor) -> Tensor:
    """Return the Hessian of minus the log probability in the logits, (rows, classes, classes)."""
    if logits.shape[1] == 1:
        p = logits.sigmoid()
        return (p * (1 - p))[..., None]
    p = logits.softmax(1)
    return torch.diag_embed(p) - p[:, :, None] * p[:, None]


def _moments(output: Tensor, head: str, noise: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return means and standard deviations of a Gaussian head, (rows, targets)."""
    factor = 1.0 if noise is None else noise.to(output)
    if head == "mean-std":
        return output[:, 0], output[:, 1] * factor
    return output, torch.ones_like(output[:1]) * factor


def _quantiles(count: int) -> Tensor:
    """Return as many quantiles of a standard normal, with variance 1."""
    levels = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    z = torch.special.ndtri(levels)
    return z / z.square().mean().sqrt()


def _scores(count: int, size: int, seed: int) -> Tensor:
    """Return draws from a standard normal with mean 0 and, if they are enough, covariance 1."""
    drawn = np.random.default_rng(seed).standard_normal((count, size))
    z = torch.from_numpy(drawn - drawn.mean(0))
    if count <= size:
        return z
    root = torch.linalg.cholesky(z.T @ z / count)
    return torch.linalg.solve_triangular(root, z.T, upper=False).T


def _last_linear(module: nn.Module, X: Any, head: str) -> str:
    """Return the name of the linear layer whose outputs are those of the module."""
    names: dict[nn.Module, str] = {
        part: name for name, part in module.named_modules() if type(part) is nn.Linear
    }
    called: list[tuple[nn.Module, Tensor]] = []
    hooks = [
        part.register_forward_hook(lambda part, given, out: called.append((part, out)))
        for part in names
    ]
    inputs = rows_of(as_inputs(X, module), slice(0, 2), precision(module), place(module, None))
    try:
        with torch.no_grad():
            output = module(*inputs)
    finally:
        for hook in hooks:
            hook.remove()
    if not called:
        raise OptionError("module has no torch.nn.Linear, whose weights the posterior would be of")
    part, last = called[-1]
    rank = {"logits": 2, "mean": 2, "mean-std": 3}[head]
    if not isinstance(output, Tensor) or output.dim() != rank:
        raise ShapeError(
            f'head="{head}" needs a module that returns {_SHAPES[head]}; it returns '
            + (str(tuple(output.shape)) if isinstance(output, Tensor) else type(output).__name__)
        )
    shown = output[:, 0] if head == "mean-std" else output
    width = shown.shape[1]
    if last.dim() != 2 or last.shape[1] < width or not torch.equal(shown, last[:, :width]):
        raise OptionError(
            f"outputs of the module must be those of its last torch.nn.Linear, {names[part]!r}, "
            "but something changes them; let it return logits or means"
        )
    return names[part]


_SHAPES = {
    "logits": "(rows, classes)",
    "mean": "(rows, targets)",
    "mean-std": "(rows, 2, targets)",
}


def _passed(module: nn.Module, layer: str, X: Any, per_row: int) -> Any:
    """Yield features and outputs of blocks of rows, in double precision."""
    inputs = as_inputs(X, module)
    linear: Any = module.get_submodule(layer)
    kept: list[Tensor] = []
    hook = linear.register_forward_pre_hook(lambda part, given: kept.append(given[0]))
    size = max(1, _BLOCK // max(1, per_row))
    kind, device = precision(module), place(module, None)
    try:
        for start in range(0, len(inputs[0]), size):
            kept.clear()
            with torch.no_grad():
                rows = rows_of(inputs, slice(start, start + size), kind, device)
                output = module(*rows).double()
            phi = kept[-1].double()
            if linear.bias is not None:
                phi = torch.cat([phi, phi.new_ones(len(phi), 1)], 1)
            yield phi, output
    finally:
        hook.remove()


def _labels(y: Any, rows: int, head: str) -> Tensor:
    if head == "logits":  # the curvature of a softmax does not depend on the labels
        if len(y) != rows:
            raise LabelError(f"y must have one entry for each of {rows} samples; got {len(y)}")
        return torch.zeros(rows)
    values = as_target(y, rows, "y").double()
    return values[:, None] if values.dim() == 1 else values


def _counts(weight: Any, rows: int) -> Tensor:
    if weight is None:
        return torch.ones(rows, dtype=torch.float64)
    counts = torch.tensor(np.asarray(weight), dtype=torch.float64)
    if counts.shape != (rows,) or not bool((counts >= 0).all()) or not bool(counts.sum() > 0):
        raise ShapeError(f"weight must be {rows} numbers that are not negative, and not all 0")
    return counts * ((counts > 0).sum() / counts.sum())
