"""Decompositions of uncertainty into an aleatoric and an epistemic part."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..._random import RandomState
from ..._registry import Registry
from ...exceptions import OptionError, UnsupportedPredictionError
from ...predictions import Categorical, Container, Decomposition, Gaussian, GaussianLogits
from .bias_variance import bias_variance
from .gaussian_logits import gaussian_logits
from .information import information
from .pairwise_kl import pairwise_kl
from .total_variance import total_variance
from .variance import variance


@dataclass(frozen=True)
class DecompositionMethod:
    """An entry of the table of decompositions.

    Attributes
    ----------
    name : str
    function : callable
        ``function(prediction)`` returns a `Decomposition`.
    takes : type
        The type of prediction.
    additive : bool
        Whether the parts add up to the total.
    summary : str
        The decomposition in one phrase.
    aliases : tuple of str
    """

    name: str
    function: Callable[..., Decomposition]
    takes: type[Container]
    additive: bool
    summary: str
    aliases: tuple[str, ...] = ()


DECOMPOSITIONS = Registry(
    "decomposition",
    [
        DecompositionMethod(
            "information",
            information,
            Categorical,
            True,
            "entropy of the mean = mean entropy + mutual information",
            ("it",),
        ),
        DecompositionMethod(
            "pairwise_kl",
            pairwise_kl,
            Categorical,
            True,
            "mean entropy + mean divergence between two members",
            ("kl",),
        ),
        DecompositionMethod(
            "bias_variance",
            bias_variance,
            Categorical,
            False,
            "Gini impurity of the mean, and variance over members averaged over classes",
            ("bv",),
        ),
        DecompositionMethod(
            "variance",
            variance,
            Categorical,
            True,
            "variance of the one-hot label = mean over members + variance over members",
            ("kwon",),
        ),
        DecompositionMethod(
            "gaussian_logits",
            gaussian_logits,
            GaussianLogits,
            False,
            "entropy under the logits' own noise, and under the members' spread",
            ("gl",),
        ),
        DecompositionMethod(
            "total_variance",
            total_variance,
            Gaussian,
            True,
            "variance of the mixture = mean variance + variance of the means",
        ),
    ],
)

_AUTO: dict[type, str] = {
    Categorical: "information",
    GaussianLogits: "information",
    Gaussian: "total_variance",
}


def decompose(
    prediction: Any,
    method: str = "auto",
    *,
    random_state: RandomState = None,
    **options: Any,
) -> Decomposition:
    """Split the uncertainty of each sample into an aleatoric and an epistemic part.

    Parameters
    ----------
    prediction : Categorical, GaussianLogits or Gaussian
    method : str, default="auto"
        A name in ``caveat.uncertainty.DECOMPOSITIONS``; "auto" is ``information`` for classes and
        ``total_variance`` for regression. The methods for classes take `GaussianLogits` too, by
        averaging each member's softmax over its noise first.
    random_state : int, Generator or None, optional
        Seed of the random draws; only used with ``draws``.
    **options
        For `GaussianLogits` ``draws``: average this many random softmaxes, as the literature does,
        instead of integrating.

    Returns
    -------
    Decomposition
        ``total``, ``aleatoric`` and ``epistemic``, of shape (samples,), or (samples, targets) for
        regression.

    Examples
    --------
    >>> import caveat
    >>> members = [[[0.9, 0.1], [0.5, 0.5]], [[0.3, 0.7], [0.5, 0.5]]]
    >>> split = caveat.decompose(caveat.Categorical(members))
    >>> split.epistemic.round(3)
    array([0.205, 0.   ])
    """
    if isinstance(method, str) and method == "auto":
        if type(prediction) not in _AUTO:
            raise UnsupportedPredictionError(_advice(prediction))
        method = _AUTO[type(prediction)]
    entry = DECOMPOSITIONS[method]
    sampled = isinstance(prediction, GaussianLogits)
    if set(options) - ({"draws"} if sampled else set()):
        raise OptionError(
            f"{entry.name} of a {type(prediction).__name__} has no option "
            f"{', '.join(sorted(options))}; "
            + ("it takes draws and random_state" if sampled else "it takes none")
        )
    if sampled and entry.takes is Categorical:
        draws = options.get("draws")
        prediction = (
            prediction.to_categorical()
            if draws is None
            else prediction.sample(draws, random_state=random_state)
        )
    elif sampled and entry.takes is GaussianLogits:
        return entry.function(prediction, random_state=random_state, **options)
    if not isinstance(prediction, entry.takes):
        raise UnsupportedPredictionError(
            f"{entry.name} splits a {entry.takes.__name__}; got {_advice(prediction)}"
        )
    return entry.function(prediction)


def _advice(prediction: Any) -> str:
    """Return the type that came, and how to convert it into one that can be decomposed."""
    conversions = {
        "Quantiles": "convert it with .to_gaussian(level)",
        "Interval": "convert it with .to_gaussian()",
        "ProbabilityInterval": "convert it with .to_categorical()",
    }
    kind = type(prediction).__name__
    known = "pass a Categorical, a GaussianLogits or a Gaussian"
    return f"a {kind}; {conversions.get(kind, known)}"
