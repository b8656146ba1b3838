"""SWAG: a Gaussian around the weights that the optimizer visits."""

from dataclasses import replace
from typing import Any

import numpy as np

from .._constructors import declared
from .._defaults import HELD_SHARE, PASSES
from .._validation import check_integer, check_number
from ..exceptions import TrainingError
from ._after_training import AfterTraining
from ._choice import LEAST, first_not_worse, held_losses
from ._network import Prepared
from ._tasks import NetworkClassifier, NetworkRegressor, WithPrior

Moments = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]
"""By name of the weights: means, variances, and deviations from the mean."""

RATES = (0.01, 0.003, 0.001, 0.0003)
"""Rates to choose among; the first one where nothing is held out."""

_SURE = 2.0
"""Standard errors by which a smaller rate has to be better."""


@declared(kw_only=True)
class SWAG(AfterTraining, WithPrior):
    """A network with a Gaussian of the weights that the optimizer visits after the training.

    Parameters
    ----------
    snapshots : int
        Epochs after the training, each of which gives a snapshot of the weights; at least 2.
    snapshot_rate : float or None
        Constant learning rate of the optimizer in these epochs. It decides how far the snapshots
        differ. None: from 100 samples on a tenth is held out as ``validation_fraction`` says, and
        0.01, 0.003, 0.001 and 0.0003 are tried. Chosen is the largest rate whose networks, as a
        mixture, have a loss on it within two standard errors of the least one, so that a smaller
        rate is chosen by evidence and not by chance; 0.01 if nothing is held out.
    rank : int
        Last snapshots whose differences from the mean are kept for covariances; at least 2.
    passes : int
        Networks drawn for a prediction, one member each.

    Attributes
    ----------
    variance_ : dict of str to Tensor
        Variance of each weight over the snapshots, whose mean is in ``state_``.
    deviations_ : dict of str to Tensor
        Differences of the last snapshots from the mean, stacked along the first axis.
    snapshot_rate_ : float
        The rate of the snapshots.
    """

    snapshots: int = 20
    snapshot_rate: float | None = None
    rank: int = 20
    passes: int = PASSES

    def _own_training(self) -> dict[str, Any]:
        check_integer(self.passes, "passes")
        check_integer(self.snapshots, "snapshots", 2)
        check_integer(self.rank, "rank", 2)
        if self.snapshot_rate is not None:
            check_number(self.snapshot_rate, "snapshot_rate", closed="neither")
        return super()._own_training()

    def held_out_share(self, samples: int) -> float | None:
        """Return the share of so many samples that ``fit`` holds out, or None.

        Parameters
        ----------
        samples : int
            How many there are to learn from.
        """
        if self.validation_fraction == "auto" and self.snapshot_rate is None:
            return HELD_SHARE if samples >= LEAST else None
        return super().held_out_share(samples)

    def _go_on(self, prepared: Prepared, copies: list[Any]) -> None:
        (copy,) = copies
        checked = copy.validation if isinstance(prepared.X, np.ndarray) else None
        rates = RATES if self.snapshot_rate is None else (float(self.snapshot_rate),)
        begun, failed = self.state_, []
        results: list[tuple[float, Moments]] = []
        losses = []
        for rate in rates if checked is not None else rates[:1]:
            self.state_ = begun
            try:
                moments = self._moments(self._visited(prepared, copy, rate))
            except TrainingError as error:
                failed.append(error)
                continue
            self.state_, self.variance_, self.deviations_ = moments
            results.append((rate, moments))
            losses.append(np.zeros(1) if checked is None else held_losses(self, prepared, checked))
        if not results:
            del self.state_
            raise failed[-1]
        chosen = first_not_worse(losses, _SURE)
        self.snapshot_rate_, (self.state_, self.variance_, self.deviations_) = results[chosen]

    def _moments(self, states: list[dict[str, Any]]) -> Moments:
        """Return mean, variance and last deviations of the weights."""
        import torch

        from ..nn.generators import Generators

        named = {name: torch.stack([state[name] for state in states]) for name in states[0]}
        with Generators().kept():
            weights = {name for name, _ in self._network().named_parameters()}
        means, variances, deviations = {}, {}, {}
        for name, values in named.items():
            if not values.is_floating_point():
                means[name] = values[-1:]
                continue
            mean = values.mean(0, keepdim=True)
            means[name] = mean
            if name in weights:
                variances[name] = (values - mean).square().mean(0, keepdim=True)
                deviations[name] = (values - mean)[-self.rank :].clone()
        return means, variances, deviations

    def _visited(self, prepared: Prepared, copy: Any, rate: float) -> list[dict[str, Any]]:
        """Return the weights after each of the epochs that follow the training."""
        from ..nn import train

        training = replace(
            prepared.training, epochs=1, learning_rate=rate, patience=None,
            monitor=None, plateau=None, scheduler="constant",
        )  # fmt: skip
        draw = np.random.default_rng(self.seed_)
        states = [{name: value[0] for name, value in self.state_.items()}]
        for _ in range(self.snapshots):
            seed = int(draw.integers(2**62))
            begun = replace(copy, seed=seed, state=states[-1], validation=None, epochs=1)
            try:
                trained = train(
                    prepared.make, prepared.X, prepared.y, loss=prepared.loss, copies=[begun],
                    training=training,
                )  # fmt: skip
            except TrainingError as error:
                raise TrainingError(
                    f"the epochs after the training diverged ({str(error).partition(':')[0]}); "
                    f"lower snapshot_rate={rate!r}"
                ) from error
            states.append({name: value[0] for name, value in trained.state.items()})
        return states[1:]

    def _trained(self) -> Any:
        """Return networks drawn from the Gaussian, always the same."""
        import torch

        generator = torch.Generator().manual_seed(self.seed_ % 2**63)
        count = check_integer(self.passes, "passes")
        rank = len(next(iter(self.deviations_.values())))
        shared = torch.randn(count, rank, generator=generator) / (2 * (rank - 1)) ** 0.5
        drawn = {name: value.expand(count, *value.shape[1:]) for name, value in self.state_.items()}
        for name, variance in self.variance_.items():
            mean = self.state_[name]
            own = torch.randn(count, *mean.shape[1:], generator=generator).to(mean)
            along = torch.tensordot(shared.to(mean), self.deviations_[name], 1)
            drawn[name] = mean + (variance / 2).sqrt() * own + along
        trained = super()._trained()
        return replace(trained, state=drawn, status=["finished"] * count, steps=np.zeros(count))


@declared(kw_only=True)
class SWAGClassifier(SWAG, NetworkClassifier):
    r"""One network for classes, with a Gaussian of the weights that its optimizer visits.

    After the training, the optimizer goes on with a constant rate, begun anew in each epoch, and
    leaves a snapshot of the weights after it. A member of the prediction has the weights

    .. math:: \theta = \bar\theta + \frac{1}{\sqrt{2}} \sigma \odot z_1
        + \frac{1}{\sqrt{2 (K - 1)}} D z_2, \quad z \sim N(0, I)

    with mean and standard deviation of the snapshots and the differences :math:`D` of the last
    :math:`K` from the mean. The paper has ``optimizer="sgd"``; with the default, Adam, a rate suits
    losses of any scale. How far the snapshots spread depends on the rate and the size of the
    batches, not on the number of samples: it is no posterior. Buffers, such as those of batch
    normalization, are averaged.

    References
    ----------
    Maddox et al.: A simple baseline for Bayesian uncertainty in deep learning, 2019.
    """


@declared(kw_only=True)
class SWAGRegressor(SWAG, NetworkRegressor):
    """One network for numbers with a Gaussian of its weights; see `SWAGClassifier`."""
