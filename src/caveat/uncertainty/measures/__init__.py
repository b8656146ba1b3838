"""Measures of the uncertainty of categorical predictions."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..._docstrings import describe_parameters
from ..._registry import Registry
from ..._validation import FloatArray
from ...exceptions import OptionError
from ._common import PARAMETERS
from .entropies import renyi_entropy, shannon_entropy, t_entropy, tsallis_entropy
from .geometric import geometric_uncertainty
from .homophily import HomophilyMaximum, homophily_maximum, homophily_uncertainty
from .simple import binary_variance, confused_classes, gini_impurity, least_confidence, margin

__all__ = [
    "MEASURES",
    "HomophilyMaximum",
    "Measure",
    "binary_variance",
    "confused_classes",
    "geometric_uncertainty",
    "gini_impurity",
    "homophily_maximum",
    "homophily_uncertainty",
    "least_confidence",
    "margin",
    "measure",
    "renyi_entropy",
    "shannon_entropy",
    "t_entropy",
    "tsallis_entropy",
]


@dataclass(frozen=True)
class Measure:
    """An entry of the table of measures.

    Attributes
    ----------
    name : str
    function : callable
        ``function(probabilities, **options)`` returns one number for each sample.
    summary : str
        The measure in one phrase.
    aliases : tuple of str
    """

    name: str
    function: Callable[..., Any]
    summary: str
    aliases: tuple[str, ...] = ()


def _named(function: Callable[..., Any], summary: str, *aliases: str) -> Measure:
    return Measure(function.__name__, function, summary, aliases)


MEASURES = Registry(
    "measure",
    [
        _named(least_confidence, "how far the top class is from certain"),
        _named(margin, "how close the second class comes to the first"),
        _named(shannon_entropy, "the information that the label would add", "shannon", "entropy"),
        _named(
            renyi_entropy, "entropy with more weight on probable classes as alpha grows", "renyi"
        ),
        _named(tsallis_entropy, "non-additive entropy: Gini at alpha 2, Shannon at 1", "tsallis"),
        _named(t_entropy, "entropy with the arc tangent for the logarithm"),
        _named(gini_impurity, "the probability that two draws from the prediction differ", "gini"),
        _named(
            binary_variance, "variance of the top class against the rest; blind to the rest's shape"
        ),
        _named(
            geometric_uncertainty,
            "how near the prediction is to a random guess, by a distance on the simplex",
            "geometric",
            "gu",
        ),
        _named(
            homophily_uncertainty,
            "how far apart the classes are that the prediction confuses",
            "homophily",
            "hu",
        ),
        _named(confused_classes, "how many classes are above an equal share"),
    ],
)

for _measure in MEASURES.values():
    describe_parameters(PARAMETERS, package="caveat.uncertainty")(_measure.function)


def measure(prediction: Any, name: str, **options: Any) -> FloatArray:
    """Return one number for each sample that says how uncertain the prediction is.

    Parameters
    ----------
    prediction : Categorical, or an array of probabilities that it accepts
        Members are averaged first.
    name : str
        A name in ``caveat.uncertainty.MEASURES``.
    **options
        Options of the measure, such as ``alpha``, ``distance``, ``order`` or ``H``; see its
        function.

    Returns
    -------
    ndarray of shape (samples,)

    Examples
    --------
    >>> import caveat
    >>> caveat.measure([[0.5, 0.5], [0.9, 0.1]], "shannon").round(3)
    array([1.   , 0.469])
    """
    entry = MEASURES[name]
    parameters = list(inspect.signature(entry.function).parameters.values())[1:]
    unknown = sorted(set(options) - {parameter.name for parameter in parameters})
    missing = [p.name for p in parameters if p.default is p.empty and p.name not in options]
    if unknown or missing:
        takes = ", ".join(parameter.name for parameter in parameters) or "none"
        wrong = f"has no option {', '.join(unknown)}" if unknown else f"needs {', '.join(missing)}"
        raise OptionError(f"{entry.name} {wrong}; its options: {takes}")
    return entry.function(prediction, **options)
