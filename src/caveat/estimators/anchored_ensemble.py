"""Anchored ensembles: several networks, each pulled to its own draw from the prior."""

from collections.abc import Callable
from typing import Any

from .._constructors import declared
from .._defaults import ANCHORED_SCHEDULER, ANCHORED_STEPS, EPOCHS
from .._validation import check_number
from ..exceptions import OptionError
from ._choice import AUTO, LeavesOpen, Settings, short_or_long
from ._tasks import NetworkClassifier, NetworkRegressor
from .deep_ensemble import DeepEnsemble


@declared(kw_only=True)
class AnchoredEnsemble(DeepEnsemble, LeavesOpen):
    """Several networks, each with an anchor.

    Parameters
    ----------
    prior_std : float
        Standard deviation :math:`s` of the prior of all weights and biases. Initial weights and
        anchors are two draws from it. With ``module`` both are draws of the module's own initial
        weights, and ``prior_std`` only decides how strong the pull is; the weights of a pretrained
        module are their own anchor, but for ``fresh`` parts.
    epochs : int or "auto"
        How often the samples are seen. "auto": 100 times, or as often as it takes for 1,000 steps
        if held-out samples speak for it; see ``chosen_``.
    """

    prior_std: float | None = 0.25
    epochs: int | str = EPOCHS

    _early_stopping = False  # the posterior is more than its likelihood

    def _own_training(self) -> dict[str, Any]:
        if self.prior_std is None:
            raise OptionError(
                "prior_std must be a number above 0; got None, but anchors need a prior"
            )
        strength = self._strength(self.prior_std, self._noise())
        return {"anchor": "drawn", "anchor_strength": strength}

    def _lengths(self, per_epoch: int) -> list[Settings]:
        return short_or_long(per_epoch, ANCHORED_STEPS)

    def _noise(self) -> float:
        return 1.0

    def _adjust(self, network: Any) -> None:
        import torch

        assert self.prior_std is not None
        for parameter in network.parameters():
            torch.nn.init.normal_(parameter, 0.0, self.prior_std)


@declared(kw_only=True)
class AnchoredEnsembleClassifier(AnchoredEnsemble, NetworkClassifier):
    r"""Several networks for classes, each pulled to its own draw from the prior.

    .. math:: \frac{1}{N} \sum_n -\log p(y_n \mid x_n, \theta)
        + \frac{1}{2 N s^2} \lVert \theta - \theta_0 \rVert^2, \quad \theta_0 \sim N(0, s^2)

    with another :math:`\theta_0` for each member. Where the data say nothing a member stays at its
    draw, so that the members differ there as the prior does; for a linear model with Gaussian noise
    they are nearly draws from the posterior, and exactly so if the targets had noise of their own.

    References
    ----------
    Pearce, Leibfried, Brintrup: Uncertainty in neural networks: approximately Bayesian ensembling,
    2020.
    """


@declared(kw_only=True)
class AnchoredEnsembleRegressor(AnchoredEnsemble, NetworkRegressor):
    r"""Several networks for numbers, each pulled to its own draw from the prior.

    With ``head="mean-std"`` the objective is that of `AnchoredEnsembleClassifier`, with a learned
    noise; with ``head="mean"`` it is

    .. math:: \frac{1}{N} \sum_n \lVert y_n - \mu_n \rVert^2
        + \frac{\lambda}{N} \lVert \theta - \theta_0 \rVert^2, \quad
        \lambda = \frac{\sigma^2}{s^2}

    the noise's variance over the prior's, both without halves; the targets have variance 1.

    Parameters
    ----------
    noise_std : float
        Standard deviation :math:`\sigma` of the noise, in units of the targets' standard deviation;
        only used with ``head="mean"``.
    """

    noise_std: float = 0.3
    scheduler: str | Callable[..., Any] = ANCHORED_SCHEDULER
    epochs: int | str = AUTO

    def _noise(self) -> float:
        return check_number(self.noise_std, "noise_std", closed="neither")
