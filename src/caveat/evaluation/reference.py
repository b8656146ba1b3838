"""What metrics would be if a prediction were honest: truths drawn from the prediction itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._random import RandomState, generator
from .._validation import check_fraction, check_integer
from ..exceptions import UnsupportedPredictionError
from ..predictions import Categorical, Container, Gaussian, Quantiles
from ..predictions.given import as_prediction
from ..results.tables import number
from .questions import Question, questions

__all__ = ["ReferenceRow", "reference_values"]


@dataclass(frozen=True)
class ReferenceRow:
    """A metric of a prediction that is as uncertain as it says.

    Attributes
    ----------
    metric, option, target : str
    expected : float
        The mean over draws.
    low, high : float
        Between which the share ``confidence`` of the draws lies.
    observed : float
        The metric of the truth; NaN without one.
    """

    metric: str
    option: str
    target: str
    expected: float
    low: float
    high: float
    observed: float = np.nan

    def __str__(self) -> str:
        name = " ".join(part for part in (self.target, self.metric, self.option) if part)
        text = f"{name}: {number(self.expected)} [{number(self.low)}, {number(self.high)}]"
        if np.isnan(self.observed):
            return f"{text} if the uncertainties are right"
        where = "within" if self.low <= self.observed <= self.high else "outside"
        return f"{text} if the uncertainties are right; observed {number(self.observed)}, {where}"


def reference_values(
    prediction: Any,
    y: Any = None,
    *,
    metrics: Sequence[str] | None = None,
    draws: int = 200,
    confidence: float = 0.95,
    random_state: RandomState = None,
) -> list[ReferenceRow]:
    """Return what metrics would be of these very samples if the prediction were honest.

    Some metrics depend on which samples are tested as much as on the uncertainty: where all are
    about as uncertain, even right uncertainties hardly rank the errors. So truths are drawn from
    the prediction, as often as ``draws`` says, and the metrics of these are what the observed ones
    should be compared with.

    Parameters
    ----------
    prediction : Gaussian or Categorical, or array of probabilities
    y : array of shape (samples,) or (samples, targets), optional
        The truth, whose metrics are put beside.
    metrics : list of str, optional
        By default all that apply and depend on the truth.
    draws : int, default=200
    random_state : int, Generator or None, optional

    Returns
    -------
    list of ReferenceRow

    References
    ----------
    Rasmussen, Duan, Kulik, Jensen: Uncertain of uncertainties? A comparison of uncertainty
    quantification metrics for chemical data sets, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> import caveat
    >>> from caveat.evaluation import reference_values
    >>> equal = caveat.Gaussian.from_std(np.zeros(300), np.linspace(1, 1.1, 300))
    >>> rows = reference_values(
    ...     equal, metrics=["error_uncertainty_correlation"], random_state=0
    ... )
    >>> rows[0].low < 0 < rows[0].high < 0.25
    True
    """
    if y is not None and not isinstance(prediction, Container):
        prediction = as_prediction(prediction, y)
    one = len(getattr(prediction, "targets", ())) < 2
    check_integer(draws, "draws", 20)
    check_fraction(confidence, "confidence")
    rng = generator(random_state)
    drawn: dict[tuple[str, str, str], list[float]] = {}
    for _ in range(draws):
        asked, _blocks = questions(prediction, _draw(prediction, rng), metrics)
        for question in asked:
            drawn.setdefault(_key(question), []).append(question.answer())
    observed: dict[tuple[str, str, str], float] = {}
    if y is not None:
        observed = {_key(q): q.answer() for q in questions(prediction, y, metrics)[0]}
    tail = (1 - confidence) / 2
    rows = []
    for key, values in drawn.items():
        finite = np.array(values)[np.isfinite(values)]
        # Widths and the like are the same whatever the truth is.
        if len(finite) and np.ptp(finite) > 1e-9 * np.abs(finite).max():
            low, high = np.quantile(finite, [tail, 1 - tail])
            target, mean = "" if one else key[2], float(finite.mean())
            ends = float(low), float(high)
            rows.append(ReferenceRow(*key[:2], target, mean, *ends, observed.get(key, np.nan)))
    return rows


def _key(question: Question) -> tuple[str, str, str]:
    return question.metric.name, question.option, question.target


def _draw(prediction: Any, rng: np.random.Generator) -> np.ndarray:
    if isinstance(prediction, Gaussian):
        # From the mixture of the members.
        members, samples = prediction.mean.shape[:2]
        chosen = rng.integers(members, size=samples), np.arange(samples)
        mean, variance = prediction.mean[chosen], prediction.variance[chosen]
        return np.asarray(mean + np.sqrt(variance) * rng.standard_normal(mean.shape))
    if isinstance(prediction, Categorical):
        below = prediction.mean.cumsum(axis=1)
        codes = (rng.random((len(below), 1)) * below[:, -1:] >= below).sum(axis=1)
        return np.asarray(prediction.classes)[codes]
    if isinstance(prediction, Quantiles):
        raise UnsupportedPredictionError(
            "a few quantiles do not say how the truth lies beyond them; draw from a distribution, "
            "such as quantiles.to_gaussian(0.6827)"
        )
    raise UnsupportedPredictionError(
        f"truths are drawn from a Gaussian or a Categorical; got a {type(prediction).__name__}"
    )
