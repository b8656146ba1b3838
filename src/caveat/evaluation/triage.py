"""Accept, ask an expert or measure again, with a bound on the errors among the accepted."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from .._arrays import to_numpy
from .._random import RandomState, generator
from .._validation import FloatArray, as_weights, check_fraction
from ..exceptions import ShapeError
from ..predictions._container import count
from ._risk_bounds import minimum_units
from ._triage_result import ACCEPT, EXPERT, MEASURE, OperatingCurve, Triage
from ._triage_scores import (
    Scored,
    check_signature,
    check_tolerance,
    check_type,
    errors,
    score,
    signature,
)
from ._triage_sequence import (
    Calibration,
    calibration_samples,
    cluster_codes,
    fixed_sequence,
    operating_curve,
)

__all__ = ["OperatingCurve", "Triage", "TriagePolicy"]

_ONE_MEMBER = (
    "A prediction with one member has no epistemic part: nothing says what the model does not "
    "know, and every deferred sample is to be measured again."
)


class TriagePolicy(BaseEstimator):
    r"""Accept what is certain enough; send the rest to an expert or back to the measurement.

    A sample is accepted if its total uncertainty s is at most a threshold :math:`\hat t`, which is
    learned such that

    .. math::

        P\big(\, P(\text{wrong} \mid s \le \hat t\,) \le \text{risk} \,\big) \ge \text{confidence},

    the outer probability over the draw of the calibration samples, the inner one over a new
    sample. Accepting nothing satisfies this too, and is what happens if no threshold can be shown
    to. A deferred sample goes to an expert if its epistemic part, what the model does not know, is
    the larger one, and is measured again if its aleatoric part, what the data cannot tell, is.

    Parameters
    ----------
    risk : float
        The largest error rate among accepted samples, between 0 and 1.
    confidence : float, default=0.95
        How sure to be that it holds.
    tolerance : float or array of shape (targets,), optional
        Regression, where it is required: a prediction is wrong if :math:`|y - \mu|` is above this
        for any target. Classification has none: a prediction is wrong if its most probable class
        (the first of equals) is not the true one.
    decomposition : str, default="auto"
        How :func:`caveat.decompose` splits the uncertainty.
    points : int or array of thresholds, default=50
        How many thresholds to try; or the thresholds themselves, if they were fixed without the
        calibration samples, which then all serve the test.
    draws : int, optional
        Average this many random softmaxes for each sample of a `GaussianLogits`, instead of
        integrating over its noise.
    random_state : int, Generator or None
        For the choice of the samples that set the thresholds and of those that test them, and for
        the draws.

    Attributes
    ----------
    threshold_ : float
        The largest total uncertainty that is accepted; minus infinity if none is.
    curve_ : OperatingCurve
        Coverage, error and its upper limit at each threshold.
    guarantee_ : str
        What is promised, in plain words.
    center_, spread_ : ndarrays of shape (2,)
        Mean and standard deviation of the aleatoric and of the epistemic part over the calibration
        samples, by which they are standardised before they are compared.

    Notes
    -----
    **Score.** The total of the decomposition. For regression each variance is divided by the
    squared tolerance of its target and summed over targets: by the inequality of Chebyshev, a
    bound on the probability of an error.

    **Test.** Learn then Test with a fixed sequence. The thresholds are tried from the strictest to
    the loosest up to the first that fails, and the last that passed is taken. One passes if the
    number of errors among its N accepted samples would have a probability of at most 1 -
    confidence, were their error rate ``risk``: binomial given N, so that the test is exact, ties
    and constant scores included. The first threshold of the sequence whose error rate is above
    ``risk`` passes with a probability of at most 1 - confidence, and no looser one is reached
    without it; trying many therefore costs nothing. This needs a sequence that does not depend on
    the samples it is tested on. Quantiles of the very scores that are tested would do if the error
    rate among accepted samples never fell as the threshold rises, but not in general: which
    threshold is the first bad one would then depend on how many samples fell below the ones
    before. So a random tenth of the calibration samples (at most 1000) only sets the thresholds,
    and their labels are not used. No threshold is above the largest of their scores: a sample that
    is more uncertain than all of these is never accepted.

    **How many samples.** At least :math:`\log(1 - \text{confidence}) / \log(1 - \text{risk})`
    tested ones (59 for 5 % at 95 %), even if none is wrong, and a ninth more in all.

    **Clusters.** Several samples of one subject are not independent, and the test above would be
    wrong for them, by as much as they are alike. With ``cluster``, subjects are taken to be
    independent, and the error rate is that of a random sample of a random subject: with the shares
    a of a subject's samples that are accepted and e that are accepted and wrong, it is
    :math:`\mathrm{E}[e] / \mathrm{E}[a]`. Each subject counts the same, however many samples it
    has; if all have equally many, it is the plain share of errors among accepted samples. The
    thresholds come from a tenth of the subjects, and from each of the others one sample is drawn
    at random, so that the test is exact again: it is subjects that are needed, not samples.

    **Weights** say how much of the population a sample stands for: the error rate is
    :math:`\mathrm{E}[w\,e] / \mathrm{E}[w\,a]`. A sample takes part in the test with a probability
    of w over the largest weight, which is taken for the largest there can be, so that those that do
    are a sample of that population. Weights do not count repetitions: only their ratios matter, and
    equal ones change nothing.

    **Requires** that new samples are drawn as the calibration samples were, and that these were
    used neither to train nor to recalibrate the model. It promises nothing for a group of samples,
    and nothing of the deferred.

    References
    ----------
    .. [1] Angelopoulos, Bates, Candès, Jordan & Lei, Learn then test: calibrating predictive
       algorithms to achieve risk control, arXiv:2110.01052, 2021.
    .. [2] Geifman & El-Yaniv, Selective classification for deep neural networks, NeurIPS 2017.
    .. [3] de Jong, Sburlea, Sabatelli & Valdenegro-Toro, Measuring orthogonality as the blind-spot
       of uncertainty disentanglement, 2026. Table 1.

    Examples
    --------
    >>> import numpy as np
    >>> import caveat
    >>> from caveat import TriagePolicy
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.3, 0.3, size=2000)
    >>> y = rng.random(2000) < p
    >>> prediction = caveat.Categorical.from_binary(p, classes=[False, True])
    >>> old, new = slice(0, 1000), slice(1000, 2000)
    >>> policy = TriagePolicy(risk=0.1, random_state=0).fit(prediction.take(old), y[old])
    >>> triage = policy.decide(prediction.take(new))
    >>> triage.counts
    {'accept': 810, 'ask an expert': 0, 'measure again': 190}
    >>> bool(np.mean(prediction.labels[new][triage.accepted] != y[new][triage.accepted]) <= 0.1)
    True
    """

    def __init__(
        self,
        risk: float,
        *,
        confidence: float = 0.95,
        tolerance: Any = None,
        decomposition: str = "auto",
        points: Any = 50,
        draws: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.risk = risk
        self.confidence = confidence
        self.tolerance = tolerance
        self.decomposition = decomposition
        self.points = points
        self.draws = draws
        self.random_state = random_state

    def fit(
        self, prediction: Any, y: Any, *, cluster: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn the threshold from samples that the model was not trained on.

        Parameters
        ----------
        prediction : Categorical, GaussianLogits or Gaussian
            What the model says of the calibration samples.
        y : array of shape (samples,) or (samples, targets)
            What is true of them.
        cluster : array of shape (samples,), optional
            The subject of each sample, if some have several.
        sample_weight : array of shape (samples,), optional
            How much of the population each sample stands for.

        Returns
        -------
        self
        """
        risk = check_fraction(self.risk, "risk")
        confidence = check_fraction(self.confidence, "confidence")
        check_type(prediction)
        self.tolerance_ = check_tolerance(self.tolerance, prediction)
        rng = generator(self.random_state)
        self.draw_seed_ = int(rng.integers(2**32))
        scored = self._score(prediction)
        weight = as_weights(sample_weight, len(prediction))
        calibration = calibration_samples(
            scored.total,
            errors(prediction, scored.answer, self.tolerance_, y),
            weight,
            None if cluster is None else cluster_codes(cluster, len(prediction)),
        )
        sequence = fixed_sequence(calibration, self.points, risk, confidence, rng)
        self.curve_ = operating_curve(sequence, risk, confidence)
        reached = self.curve_.reached
        self.threshold_ = float(self.curve_.threshold[reached - 1]) if reached else -np.inf
        self.center_, self.spread_ = _scale(scored, slice(None) if weight is None else weight > 0)
        self.guarantee_ = self._promise(calibration, len(sequence.score))
        self.signature_ = signature(prediction)
        return self

    def decide(self, prediction: Any, *, ids: Any = None) -> Triage:
        """Say what to do with each sample.

        Parameters
        ----------
        prediction : Categorical, GaussianLogits or Gaussian
            Of the type and with the members and classes or targets that ``fit`` saw.
        ids : array of shape (samples,), optional
            A name for each sample.

        Returns
        -------
        Triage
        """
        if not hasattr(self, "signature_"):
            raise NotFittedError(
                "this TriagePolicy is not fitted yet; call fit(prediction, y) with calibration "
                "samples first"
            )
        check_type(prediction)
        check_signature(self.signature_, signature(prediction))
        names = None if ids is None else to_numpy(ids, "ids").array
        if names is not None and names.shape != (len(prediction),):
            raise ShapeError(
                f"ids must be one name for each of {len(prediction)} samples; got shape "
                f"{names.shape}"
            )
        scored = self._score(prediction)
        aleatoric, epistemic = _standardised(scored, self.center_, self.spread_)
        alone = prediction.members == 1
        if alone:
            epistemic = np.full(len(prediction), np.nan)
        actions = np.where(epistemic > aleatoric, EXPERT, MEASURE)
        actions[scored.total <= self.threshold_] = ACCEPT
        return Triage(
            actions=actions,
            scores=scored.total,
            aleatoric=aleatoric,
            epistemic=epistemic,
            threshold=self.threshold_,
            risk=float(self.risk),
            confidence=float(self.confidence),
            curve=self.curve_,
            guarantee=self.guarantee_,
            remark=_ONE_MEMBER if alone else "",
            ids=names,
        )

    def _score(self, prediction: Any) -> Scored:
        return score(prediction, self.decomposition, self.tolerance_, self.draws, self.draw_seed_)

    def _promise(self, calibration: Calibration, tested: int) -> str:
        """Say what holds, of whom, and on what evidence."""
        risk, confidence = _percent(self.risk, 10), _percent(self.confidence, 10)
        clustered = calibration.cluster is not None
        unit = "cluster" if clustered else "sample"
        if self.curve_.reached:
            way = ", each cluster counting the same" if clustered else ""
            way += ", each weighted by what it stands for" if calibration.weight is not None else ""
            promise = (
                f"With {confidence} confidence, at most {risk} of the accepted predictions are "
                f"wrong{way}, for new {unit}s drawn as the calibration {unit}s were."
            )
        else:
            promise = (
                f"No threshold was shown to keep the error rate of accepted predictions at {risk} "
                f"with {confidence} confidence, so none is accepted."
            )
        return " ".join([promise, _WRONG[self.tolerance_ is None], self._evidence(tested, unit)])

    def _evidence(self, tested: int, unit: str) -> str:
        curve, place = self.curve_, max(self.curve_.reached - 1, 0)
        what = "threshold" if curve.reached else "strictest threshold"
        of = count(tested, "sample") + (" (one of each cluster)" if unit == "cluster" else "")
        accepted, least = curve.accepted[place], minimum_units(self.risk, self.confidence)
        words = (
            f"The {what} accepts {accepted} of the {of} it was tested on, {curve.errors[place]} of "
            f"them wrong: the upper limit of the error rate is {_percent(curve.upper[place])}."
        )
        if accepted < least:
            words += (
                f" Even without an error it takes at least {least} accepted {unit}s to show this, "
                "beside those that set the thresholds."
            )
        return words


_WRONG = {
    True: "A prediction is wrong if its most probable class is not the true one.",
    False: "A prediction is wrong if it is off by more than the tolerance for any target.",
}


def _percent(share: float, digits: int = 3) -> str:
    return f"{100 * share:.{digits}g} %"


def _scale(scored: Scored, rows: Any) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of the two parts over those of the rows that are finite.

    A part that is the same for all samples, but for rounding, has a deviation of 0.
    """
    center, spread = np.zeros(2), np.zeros(2)
    for i, part in enumerate((scored.aleatoric, scored.epistemic)):
        finite = part[rows][np.isfinite(part[rows])]
        if len(finite):
            largest = float(finite.max())
            unit = largest if largest > 0 else 1.0  # squares of small or large numbers are lost
            center[i] = unit * np.mean(finite / unit)
            deviation = np.std(finite / unit)
            spread[i] = unit * deviation if deviation > 1e-12 else 0.0
    return center, spread


def _standardised(
    scored: Scored, center: FloatArray, spread: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return (part - center) / spread; 0 for a part that did not vary, unless it is infinite."""
    aleatoric, epistemic = (
        np.divide(part - c, s, out=np.where(np.isfinite(part), 0.0, np.inf), where=s > 0)
        for part, c, s in zip((scored.aleatoric, scored.epistemic), center, spread, strict=True)
    )
    return aleatoric, epistemic
