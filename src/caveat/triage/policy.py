"""Accept, ask an expert or measure again, with a bound on the error rate of accepted samples."""

import math
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

from .._arrays import to_numpy
from .._constructors import declared
from .._random import RandomState, generator
from .._validation import FloatArray, as_weights, check_choice, check_flags, check_fraction
from ..exceptions import InvalidValueError, ShapeError
from ..predictions.given import as_prediction, prediction_of
from ..resampling.planning import rounded_up
from ..results.words import counted
from ..risk_control.bounds import minimum_units
from ..risk_control.inputs import as_loss, check_groups, check_known, rows_of_groups
from ..risk_control.prices import GroupPrice, price_words
from ._scores import (
    Scored,
    check_signature,
    check_tolerance,
    check_type,
    errors,
    scale_of,
    score,
    signature,
    standardized,
    why_unknown,
)
from ._sequence import (
    ALL,
    Calibration,
    calibration_samples,
    cluster_codes,
    high_probability,
    mean_promise,
    units_needed,
)
from .result import (
    ACCEPT,
    DEFER,
    EXPERT,
    HIGH_PROBABILITY,
    MEAN,
    MEASURE,
    OperatingCurve,
    Triage,
)

__all__ = ["OperatingCurve", "Triage", "TriagePolicy"]

_SHARED = (
    "tolerance_", "draw_seed_", "given_loss_", "center_", "spread_", "remark_", "signature_",
)  # fmt: skip
"""What the policies of groups have in common with that of all samples."""

PROMISES = {HIGH_PROBABILITY: high_probability, MEAN: mean_promise}


@declared()
class TriagePolicy(BaseEstimator):
    r"""Accept predictions that are certain enough; send the others to an expert or remeasure them.

    A sample is accepted if its total uncertainty s is at most a threshold :math:`\hat t`, which is
    learned such that

    .. math::

        P\big(\, P(\text{wrong} \mid s \le \hat t\,) \le \text{risk} \,\big) \ge \text{confidence},

    the outer probability over the draw of the calibration samples, the inner one over a new
    sample. If no threshold can be shown to satisfy this, nothing is accepted, and ``guarantee_``
    says how many samples are needed. A deferred sample goes to an expert if its epistemic part is
    the larger one, and is measured again if its aleatoric part is. A single model does not separate
    the two parts: its samples are accepted or deferred.

    Parameters
    ----------
    risk : float
        The maximum error rate among accepted samples, between 0 and 1.
    confidence : float, default=0.95
        The probability with which the error rate is kept.
    tolerance : float or array of shape (targets,), optional
        For regression, where it is required: a prediction is wrong if :math:`|y - \mu|` exceeds it
        for any target. For classification a prediction is wrong if its most probable class (the
        first of equals) is not the true one.
    decomposition : str, default="auto"
        The method by which :func:`caveat.decompose` splits the uncertainty.
    points : "all", int or array of thresholds, default="all"
        The thresholds to try: every score, this many quantiles of the scores, or thresholds that
        were fixed without the calibration samples, which are then all tested.
    promise : {"high-probability", "mean"}, default="high-probability"
        "mean" keeps the error rate only on average over calibration sets, see Notes.
    draws : int, optional
        The number of random softmaxes to average for each sample of a `GaussianLogits`; by default
        the noise is integrated numerically.
    simultaneous : bool, default=False
        With groups: whether the confidence is that of all promises at once, each group having its
        part of 1 - confidence, or that of each group by itself.
    random_state : int or Generator, optional
        Seed of the choice of starts, of the draws from clusters and by weights, and of the softmax.

    Attributes
    ----------
    threshold_ : float
        The largest total uncertainty that is accepted; minus infinity if none is.
    curve_ : OperatingCurve
        Coverage, error and its upper limit at each threshold.
    guarantee_ : str
        The promise in plain words.
    needed_ : float or None
        If nothing is accepted, about how many calibration samples (clusters) are needed at the
        observed error rates; infinity if none of these is below the risk. Otherwise None. Of few
        samples it is too low, as the lowest of many observed rates is.
    center_, spread_ : ndarrays of shape (2,)
        Mean and standard deviation of the aleatoric and of the epistemic part over the calibration
        samples, by which they are standardized before they are compared.
    groups_ : dict of str to TriagePolicy, or None
        The policy of each group; the attributes above are those of all samples together.
    prices_ : tuple of GroupPrice
        For each group: how many calibration samples are accepted under its own promise, and how
        many one promise for all would accept.

    Notes
    -----
    **Score.** The total of the decomposition. For regression each variance is divided by the
    squared tolerance of its target and summed over targets: by Chebyshev's inequality, a bound on
    the probability of an error.

    **Test.** Learn then Test [1]_. The number of errors among N accepted samples is binomial given
    N, so the test of "error rate above ``risk``" is exact. Thresholds are tested in increasing
    order from a start until one fails. The first threshold whose error rate is above ``risk`` is
    fixed and passes with at most its level, and no looser one is reached without it; so many
    thresholds cost nothing, if the start does not depend on the tested samples.

    **Starts.** A sequence from one start ends early if the most certain samples are few or err more
    often than others. So up to four starts share the error budget, 1 - confidence: one where just
    enough samples are accepted to pass with a margin (half of the budget), further ones at higher
    coverages, and one that accepts all. A threshold that passes hands its budget on to the next; at
    each start its own budget is added (the fallback procedure [2]_). A tenth of the samples (at
    most :math:`2\sqrt n`), which are not tested, determines the starts. The last start uses all
    samples: if the error rate is above the risk at the largest score M, and :math:`t_b` is the
    supremum of such thresholds, then M :math:`\le t_b`, so M and the fixed threshold :math:`t_b`
    accept the same samples. No threshold exceeds M: a sample that is more uncertain than all
    calibration samples is never accepted.

    **Sample size.** At least :math:`\log(1 - \text{confidence}) / \log(1 - \text{risk})` samples
    are needed (59 for 5 % at 95 %), even if none is wrong.

    **Clusters.** Samples of one subject are not independent. With ``cluster``, subjects are assumed
    to be independent, and the error rate is that of a random sample of a random subject,
    :math:`\mathrm{E}[e] / \mathrm{E}[a]`, with the shares a of a subject's samples that are
    accepted and e that are accepted and wrong. There are two tests, each at half the level. One
    bets on subjects [3]_: were the rate above ``risk``, :math:`Z = e - \text{risk} \cdot a` would
    be above 0 on average, and the capital :math:`\prod (1 - \lambda Z)`, averaged over some
    :math:`\lambda`, would reach 1 / level with a probability of at most the level. The other is the
    binomial test of one random sample of each subject, which is sharper if the samples of a subject
    are all right or all wrong.

    **Weights** say how much of the population a sample stands for: the error rate is
    :math:`\mathrm{E}[w\,e] / \mathrm{E}[w\,a]`. The binomial test keeps samples with probability w
    over the largest weight, which is assumed to be the largest possible; the bets, on w Z, are
    added where few would be kept. Only ratios of weights matter.

    **On average.** ``promise="mean"`` is conformal risk control [4]_: the largest threshold at
    which the errors plus one are at most ``risk`` of the accepted samples plus one. Its error rate,
    averaged over calibration sets (0 if nothing is accepted), is at most the risk for every
    distribution. It accepts more and promises less: in about every second calibration set the error
    rate is above the risk. One sample of each cluster counts, and weights thin the samples.

    **Losses.** With ``loss``, a number from 0 to 1 for each calibration sample, the mean loss of
    accepted samples takes the place of the error rate. Two tests share the level: the bets, and the
    binomial test in which a sample is wrong with a probability of its loss.

    **Groups.** One promise for all may hide a group whose accepted samples are wrong far more
    often. With ``groups`` each has a threshold of its own, learned from its own samples, and the
    promise holds in each. A group with few or hard samples then accepts fewer; ``prices_`` says how
    many.

    **Requires** that new samples are drawn like the calibration samples, which were used neither to
    train nor to recalibrate the model. It promises nothing for a group of samples unless groups
    are given, and nothing for deferred samples.

    References
    ----------
    .. [1] Angelopoulos, Bates, Candès, Jordan & Lei, Learn then test: calibrating predictive
       algorithms to achieve risk control, arXiv:2110.01052, 2021.
    .. [2] Wiens, A fixed sequence Bonferroni procedure for testing multiple endpoints,
       Pharmaceutical Statistics 2, 2003.
    .. [3] Waudby-Smith & Ramdas, Estimating means of bounded random variables by betting, Journal
       of the Royal Statistical Society B 86, 2024.
    .. [4] Angelopoulos, Bates, Fisch, Lei & Schuster, Conformal risk control, ICLR 2024.
    .. [5] Geifman & El-Yaniv, Selective classification for deep neural networks, NeurIPS 2017.
    .. [6] de Jong, Sburlea, Sabatelli & Valdenegro-Toro, Measuring orthogonality as the blind-spot
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
    {'accept': 819, 'defer': 181}
    >>> bool(np.mean(prediction.labels[new][triage.accepted] != y[new][triage.accepted]) <= 0.1)
    True
    """

    risk: float
    _: KW_ONLY
    confidence: float = 0.95
    tolerance: Any = None
    decomposition: str = "auto"
    points: Any = ALL
    promise: str = HIGH_PROBABILITY
    draws: int | None = None
    simultaneous: bool = False
    random_state: RandomState = None

    def fit(
        self,
        prediction: Any,
        y: Any,
        *,
        cluster: Any = None,
        sample_weight: Any = None,
        classes: Any = None,
        groups: Any = None,
        loss: Any = None,
    ) -> Self:
        """Learn the threshold from samples that the model was not trained on.

        Parameters
        ----------
        prediction : Categorical, GaussianLogits, Gaussian or array
            Predictions of the calibration samples; an array of probabilities as in
            `caveat.evaluate`.
        y : array of shape (samples,) or (samples, targets)
            True labels or values.
        cluster : array of shape (samples,), optional
            The subject of each sample, if some subjects have several.
        sample_weight : array of shape (samples,), optional
            How much of the population each sample stands for.
        classes : sequence of labels, optional
            The classes of an array.
        groups : array, Series, dict of arrays or frame, optional
            Keep the risk in each group; several attributes mean each combination of them.
        loss : array of shape (samples,), optional
            The loss, from 0 to 1, of accepting each calibration sample, instead of whether its
            prediction is wrong; true and false stand for 1 and 0.
        """
        check_fraction(self.risk, "risk")
        confidence = check_fraction(self.confidence, "confidence")
        check_flags(simultaneous=self.simultaneous)
        check_choice(self.promise, "promise", tuple(PROMISES))
        prediction = as_prediction(prediction, y, classes)
        check_type(prediction)
        self.tolerance_ = check_tolerance(self.tolerance, prediction)
        rng = generator(self.random_state)
        self.draw_seed_ = int(rng.integers(2**32))
        scored = self._score(prediction)
        weight = as_weights(sample_weight, len(prediction))
        wrong = (
            errors(prediction, scored.answer, self.tolerance_, y)
            if loss is None
            else as_loss(loss, len(prediction))
        )
        codes = None if cluster is None else cluster_codes(cluster, len(prediction))
        self.given_loss_ = loss is not None
        calibration = calibration_samples(scored.total, wrong, weight, codes)
        self._learn(calibration, rng)
        self.center_, self.spread_ = scale_of(scored, slice(None) if weight is None else weight > 0)
        self.remark_ = why_unknown(prediction.members, scored, self.spread_)
        self.signature_ = signature(prediction)
        self.groups_: dict[str, Self] | None = None
        self.prices_: tuple[GroupPrice, ...] = ()
        if groups is None:
            return self
        rows_of = rows_of_groups(groups, len(prediction))
        parts, prices = {}, []
        for name, rows in rows_of.items():
            part = clone(self)
            if self.simultaneous:
                part.confidence = 1 - (1 - confidence) / len(rows_of)
            vars(part).update({key: getattr(self, key) for key in _SHARED})
            part.groups_, part.prices_ = None, ()
            try:
                counts = None if weight is None else as_weights(weight[rows], len(rows))
            except InvalidValueError as error:
                raise InvalidValueError(f"group {name!r}: {error}") from error
            own = None if codes is None else codes[rows]
            part._learn(calibration_samples(scored.total[rows], wrong[rows], counts, own), rng)
            parts[name] = part
            prices.append(_price(name, scored.total[rows], part.threshold_, self.threshold_))
        self.groups_, self.prices_ = parts, tuple(prices)
        self.guarantee_ = self._group_promise(calibration)
        return self

    def _learn(self, calibration: Calibration, rng: np.random.Generator) -> None:
        """Learn one threshold, and what it promises."""
        risk, level = float(self.risk), 1 - float(self.confidence)
        curve = PROMISES[self.promise](calibration, self.points, risk, level, rng)
        self.curve_ = curve
        self.threshold_ = float(curve.threshold[curve.reached - 1]) if curve.reached else -np.inf
        level = 0.0 if self.promise == MEAN else level
        self.needed_ = None if curve.reached else units_needed(calibration, curve, risk, level)
        self.guarantee_ = self._promise(calibration)

    def decide(self, prediction: Any, *, ids: Any = None, groups: Any = None) -> Triage:
        """Return what to do with each sample.

        Parameters
        ----------
        prediction : Categorical, GaussianLogits, Gaussian or array
            Predictions with the type, members and classes or targets of those in ``fit``.
        ids : array of shape (samples,), optional
            The name of each sample.
        groups : array, Series, dict of arrays or frame, optional
            Needed if and only if ``fit`` was given groups, with values that ``fit`` saw.
        """
        if not hasattr(self, "signature_"):
            raise NotFittedError(
                "this TriagePolicy is not fitted yet; call fit(prediction, y) with calibration "
                "samples first"
            )
        prediction = prediction_of(prediction, self.signature_.get("classes"))
        check_type(prediction)
        check_signature(self.signature_, signature(prediction))
        names = None if ids is None else to_numpy(ids, "ids").array
        if names is not None and names.shape != (len(prediction),):
            raise ShapeError(
                f"ids must be one name for each of {len(prediction)} samples; got shape "
                f"{names.shape}"
            )
        check_groups(groups, self.groups_, "decide")
        scored = self._score(prediction)
        limit, prices = self._limits(scored.total, groups)
        if self.remark_:
            aleatoric, epistemic = np.full((2, len(prediction)), np.nan)
            actions = np.full(len(prediction), DEFER, dtype=f"U{len(ACCEPT)}")
        else:
            aleatoric, epistemic = standardized(scored, self.center_, self.spread_)
            actions = np.where(epistemic > aleatoric, EXPERT, MEASURE)
        actions[scored.total <= limit] = ACCEPT
        return Triage(
            actions=actions,
            scores=scored.total,
            aleatoric=aleatoric,
            epistemic=epistemic,
            threshold=np.nan if prices else self.threshold_,
            risk=float(self.risk),
            confidence=float(self.confidence),
            curve=self.curve_,
            guarantee=self.guarantee_,
            remark=self.remark_,
            promise=self.promise,
            needed=self.needed_,
            ids=names,
            prices=prices,
        )

    def _limits(
        self, total: FloatArray, groups: Any
    ) -> tuple[float | FloatArray, tuple[GroupPrice, ...]]:
        """Return the threshold of each sample, and what promises for groups cost."""
        if self.groups_ is None:
            return self.threshold_, ()
        limit, prices = np.empty(len(total)), []
        for name, rows in rows_of_groups(groups, len(total)).items():
            check_known(name, self.groups_)
            limit[rows] = self.groups_[name].threshold_
            own = self.groups_[name].threshold_
            prices.append(_price(name, total[rows], own, self.threshold_))
        return limit, tuple(prices)

    def _score(self, prediction: Any) -> Scored:
        return score(prediction, self.decomposition, self.tolerance_, self.draws, self.draw_seed_)

    def _promise(self, calibration: Calibration) -> str:
        """Return the promise, and the evidence for it."""
        risk, confidence = _percent(self.risk, 10), _percent(self.confidence, 10)
        mean = self.promise == MEAN
        sure = "On average over calibration sets" if mean else f"With {confidence} confidence"
        if self.curve_.reached:
            promise = f"{sure}, {self._limit(risk)}{_drawn(calibration)}."
            promise += f" The {self._what} of {_ON_AVERAGE}" if mean else ""
        else:
            sure = "on average" if mean else f"with {confidence} confidence"
            promise = (
                f"No threshold was shown to keep the {self._what} of accepted predictions at "
                f"{risk} {sure}, so none is accepted."
            )
        evidence = self._evidence() if self.curve_.reached else self._lack(calibration)
        wrong = _LOSS if self.given_loss_ else _WRONG[self.tolerance_ is None]
        return " ".join([promise, wrong, evidence])

    @property
    def _what(self) -> str:
        return "mean loss" if self.given_loss_ else "error rate"

    def _limit(self, risk: str, whose: str = "") -> str:
        """Return what is promised of accepted predictions."""
        if self.given_loss_:
            return f"the mean loss of the accepted predictions{whose} is at most {risk}"
        return f"at most {risk} of the accepted predictions{whose} are wrong"

    def _group_promise(self, calibration: Calibration) -> str:
        """Return the promise for groups, where it accepts nothing, and its price."""
        assert self.groups_ is not None
        if self.promise == MEAN:
            sure = "On average over calibration sets, in each group"
        else:
            which = "all groups at once" if self.simultaneous else "each group by itself"
            sure = f"With {_percent(self.confidence, 10)} confidence for {which}"
        limit = self._limit(_percent(self.risk, 10), " of the group")
        words = [f"{sure}, {limit}{_drawn(calibration)}."]
        words += [
            f"{name}: {part.guarantee_}"
            for name, part in self.groups_.items()
            if part.needed_ is not None
        ]
        return " ".join([*words, price_words(self.prices_)])

    def _evidence(self) -> str:
        curve, place = self.curve_, self.curve_.reached - 1
        tested = counted(int(curve.tested[place]), "sample")
        words = (
            f"The threshold accepts {curve.accepted[place]:,} of the {tested} it was tested on, "
            + (
                f"with a mean loss of {_percent(curve.error[place])}"
                if self.given_loss_
                else f"{curve.errors[place]} of them wrong"
            )
        )
        limit = f": the upper limit of the {self._what} is {_percent(curve.upper[place])}"
        return words + ("" if self.promise == MEAN else limit) + "."

    def _lack(self, calibration: Calibration) -> str:
        """Return how many units are needed."""
        if not self.curve_.accepted.any():
            return "All calibration samples are more uncertain than the thresholds to try."
        unit = _unit(calibration)
        level = (1 - self.confidence) / (1 if calibration.plain else 2)
        least = minimum_units(self.risk, level)
        if self.promise == MEAN:
            least = math.ceil((1 - self.risk) / self.risk - 1e-9)
        none = "any loss" if self.given_loss_ else "an error"
        words = f"Even without {none} it takes at least {least:,} accepted {unit}s to show this"
        seen = (
            "at the mean losses seen here" if self.given_loss_ else "at the error rates seen here"
        )
        if self.needed_ is not None and np.isfinite(self.needed_):
            many = f"{seen} it would take about {rounded_up(self.needed_):,} in all"
            return (
                f"{words}; {many}, but the best threshold looks better than it is where samples "
                "are few: expect to need more, perhaps several times as many."
            )
        return f"{words}; {seen}, none below the risk, no number of {unit}s would do."


_ON_AVERAGE = (
    "the threshold that one calibration set gives may well be higher: in simulations it is in "
    "about every second set. The promise of high probability bounds how often."
)
_LOSS = "The loss of a sample is the one that was given, from 0 to 1."
_WRONG = {
    True: "A prediction is wrong if its most probable class is not the true one.",
    False: "A prediction is wrong if it is off by more than the tolerance for any target.",
}


def _unit(calibration: Calibration) -> str:
    return "sample" if calibration.cluster is None else "cluster"


def _drawn(calibration: Calibration) -> str:
    """Return what counts how much in a promise, and for which samples it holds."""
    unit = _unit(calibration)
    way = ", each cluster counting the same" if unit == "cluster" else ""
    way += ", each weighted by what it stands for" if calibration.weight is not None else ""
    return f"{way}, for new {unit}s drawn as the calibration {unit}s were"


def _price(name: str, total: FloatArray, own: float, together: float) -> GroupPrice:
    accepted, all_ = (int(np.count_nonzero(total <= limit)) for limit in (own, together))
    return GroupPrice(name, len(total), accepted, all_, own)


def _percent(share: float, digits: int = 3) -> str:
    return f"{100 * share:.{digits}g} %"
