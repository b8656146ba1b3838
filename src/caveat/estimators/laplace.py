"""Laplace: one network, whose last layer has the Gaussian posterior of its weights."""

from typing import Any, Self

import numpy as np

from .._arrays import as_array
from .._constructors import declared
from .._defaults import PASSES
from .._validation import check_integer, check_number
from ..exceptions import OptionError
from . import _data
from ._after_training import AfterTraining
from ._network import Prepared
from ._problem import Problem
from ._tasks import NetworkClassifier, NetworkRegressor, WithPrior


@declared(kw_only=True)
class Laplace(AfterTraining, WithPrior):
    """A network with a posterior of its last layer.

    Parameters
    ----------
    last_prior_std : float or None
        Standard deviation of the prior of the last layer in the posterior; None is the one of the
        greatest marginal likelihood.
    passes : int
        Draws of the outputs in a prediction, one member each; at least 2. Their mean and variance
        are those of the posterior, whatever their number.

    Attributes
    ----------
    posterior_ : list of dict
        For each network the prior, the noise, and the Hessian of its last layer by eigenvalues and
        eigenvectors; see `caveat.nn.LastLayerPosterior`.
    """

    last_prior_std: float | None = None
    passes: int = PASSES

    def _go_on(self, prepared: Prepared, copies: list[Any]) -> None:
        weights = [copy.weight for copy in copies]
        rows = [slice(None) if copy.rows is None else copy.rows for copy in copies]
        self._find_posterior(prepared.X, prepared.y, rows, weights)

    def _prepare(self, problem: Problem, cache: _data.SampleCache | None = None) -> Prepared:
        prepared = super()._prepare(problem, cache)
        if not isinstance(prepared.X, np.ndarray):
            raise OptionError(
                f"{type(self).__name__} needs arrays; got a {type(problem.X).__name__}"
            )
        return prepared

    def _find_posterior(self, X: np.ndarray, y: np.ndarray, rows: Any, weights: Any) -> None:
        from ..nn import laplace

        self._check_settings()
        trained = self._trained()
        self.posterior_ = []
        for i, (own, weight) in enumerate(zip(rows, weights, strict=True)):
            posterior = laplace(
                trained.module(i), X[own], y[own], head=self._head()[0],
                weight=None if weight is None else weight[own],
                prior_std=self.last_prior_std, **self._given_noise(),
            )  # fmt: skip
            self.posterior_.append(posterior.state())

    def _check_settings(self) -> None:
        check_integer(self.passes, "passes", 2)
        if self.last_prior_std is not None:
            check_number(self.last_prior_std, "last_prior_std", closed="neither")

    def _own_training(self) -> dict[str, Any]:
        self._check_settings()
        return super()._own_training()

    def _given_noise(self) -> dict[str, Any]:
        return {}

    @classmethod
    def from_fitted(cls, model: Any, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return a fitted model, with a posterior around the weights of one that is fitted.

        Parameters
        ----------
        model : fitted estimator
            A network of caveat without random layers: `MAPClassifier`, `DeepEnsembleRegressor`,
            ... Each of its members gets a posterior.
        X, y, sample_weight : arrays
            What it was fitted to.
        """
        task = NetworkClassifier if issubclass(cls, NetworkClassifier) else NetworkRegressor
        if not isinstance(model, task) or model._random_layers() or not hasattr(model, "state_"):
            raise OptionError(
                f"{cls.__name__}.from_fitted needs a fitted {task.__name__[7:].lower()} of caveat "
                f"without random layers, such as MAP{task.__name__[7:]}; got a "
                f"{type(model).__name__}"
            )
        made = cls()
        known, own = made.get_params(deep=False), model.get_params(deep=False)
        made.set_params(**{name: own[name] for name in known.keys() & own.keys()})
        settings = own.keys()
        learned = {k: v for k, v in vars(model).items() if k.endswith("_") and k not in settings}
        for name, value in learned.items():
            setattr(made, name, value)
        inputs = _data.new_inputs(made, X)
        codes = made._codes(_data.labels(made, y, inputs), known=True)
        weight = None if sample_weight is None else np.asarray(as_array(sample_weight))
        count = len(next(iter(made.state_.values())))
        made._find_posterior(inputs, codes, [slice(None)] * count, [weight] * count)
        return made

    def _values(self, X: np.ndarray) -> Any:
        import torch

        from ..nn import LastLayerPosterior

        passes, trained = check_integer(self.passes, "passes", 2), self._trained()
        parts = [
            LastLayerPosterior(trained.module(i), **state).outputs(X, passes, self.seed_)
            for i, state in enumerate(self.posterior_)
        ]
        return torch.cat(parts)


@declared(kw_only=True)
class LaplaceClassifier(Laplace, NetworkClassifier):
    r"""One network for classes, whose last layer has a Gaussian posterior in closed form.

    .. math:: \theta \sim N\big(\hat\theta, (H + I / s^2)^{-1}\big)

    with the Hessian :math:`H` of the negative log likelihood in the weights of the last layer,
    and the prior's :math:`s` of the greatest marginal likelihood. It is computed once after the
    training, in less than the time of an epoch or two, and `from_fitted` does so for a network that
    is trained already. Features that the network has learned are taken as known.

    References
    ----------
    MacKay: Bayesian interpolation, 1992. Kristiadi, Hein, Hennig: Being Bayesian, even just a bit,
    fixes overconfidence in ReLU networks, 2020.
    """

    def _head(self) -> tuple[str, dict[str, Any], tuple[int, ...]]:
        if self.head != "softmax":
            raise OptionError(
                f"head must be 'softmax', whose curvature is known; got {self.head!r}"
            )
        return super()._head()


@declared(kw_only=True)
class LaplaceRegressor(Laplace, NetworkRegressor):
    """One network for numbers, whose last layer has a Gaussian posterior; see `LaplaceClassifier`.

    Given the learned features and the noise, this is Bayesian linear regression: exact, not an
    approximation. With ``head="mean-std"`` the noise is what the network says of each sample, times
    a factor: networks that follow their few samples say too little. With ``head="mean"`` it has one
    standard deviation. In both cases it is part of the prediction.

    Parameters
    ----------
    noise_std : float or None
        The factor, or with ``head="mean"`` the standard deviation of the noise in units of the
        targets' standard deviation; None is the one of the greatest marginal likelihood.
    """

    noise_std: float | None = None

    def _given_noise(self) -> dict[str, Any]:
        return {"noise_std": self.noise_std}

    def _finish(self, values: Any) -> Any:
        import torch

        spread = values[:, :, 1].double() * torch.from_numpy(self.y_scale_)
        return self._named(torch.stack([self._in_units(values[:, :, 0], 2), spread], 2), "mean-std")
