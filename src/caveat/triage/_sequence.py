"""The thresholds that a triage tries, the error budget of each, and which of them pass."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray, as_column, as_floats, check_no_nan, is_integer
from ..exceptions import OptionError, ShapeError
from ..risk_control.bounds import (
    at_most,
    betting_p,
    binomial_p,
    binomial_units,
    binomial_upper,
    minimum_units,
)
from ..risk_control.multiple_testing import walk
from .result import OperatingCurve

# The sequence has several starts, since the most certain samples may be few or err more often. The
# first start accepts _ENOUGH times the least number that can pass and gets the part _FIRST of the
# error budget; the others are at higher coverages in equal ratios and share the rest.
_ENOUGH, _STARTS, _FIRST = 1.5, 4, 0.5
ALL = "all"
"""Every score is a threshold."""
# Bets on weighted samples have more power if the mean weight is below this part of the largest.
_UNEQUAL = 0.25
# The largest number of thresholds in a curve.
_SHOWN = 1000
# Error rates, as multiples of the risk, at which the betting test is inverted for its upper limit.
_RATES = np.geomspace(4, 0.25, 17)


@dataclass(frozen=True)
class Calibration:
    """Scores, errors, relative weights (at most 1) and clusters of calibration samples.

    ``wrong`` is true or false, or a loss from 0 to 1. ``weight`` is None if all count the same,
    ``cluster`` if no cluster has two samples.
    """

    score: FloatArray
    wrong: NDArray[np.bool_] | FloatArray
    weight: FloatArray | None = None
    cluster: NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return len(self.score)

    def units(self) -> NDArray[np.intp]:
        """Return the number, from 0, of the independent unit of each sample."""
        return np.arange(len(self)) if self.cluster is None else self.cluster

    @property
    def graded(self) -> bool:
        """Whether a prediction may be wrong in part."""
        return self.wrong.dtype != bool

    @property
    def plain(self) -> bool:
        """Whether there are neither weights nor clusters nor losses between 0 and 1."""
        return self.weight is None and self.cluster is None and not self.graded

    def take(self, chosen: NDArray[np.bool_]) -> "Calibration":
        """Return some of the samples; units are numbered anew."""
        weight = None if self.weight is None else self.weight[chosen]
        cluster = None if self.cluster is None else self.cluster[chosen]
        if cluster is not None:
            _, cluster = np.unique(cluster, return_inverse=True)
        return Calibration(self.score[chosen], self.wrong[chosen], weight, cluster)


def calibration_samples(
    score: FloatArray,
    wrong: NDArray[np.bool_] | FloatArray,
    weight: FloatArray | None,
    cluster: NDArray[np.intp] | None,
) -> Calibration:
    """Drop samples of weight 0, equal weights, and clusters of which none has two samples."""
    if weight is not None:
        present = weight > 0
        score, wrong, weight = score[present], wrong[present], weight[present]
        cluster = None if cluster is None else cluster[present]
        weight = None if weight.min() == weight.max() else weight / weight.max()
    if cluster is not None:
        _, cluster = np.unique(cluster, return_inverse=True)
        cluster = None if int(cluster.max()) + 1 == len(score) else cluster
    return Calibration(score, wrong, weight, cluster)


def cluster_codes(cluster: Any, samples: int) -> NDArray[np.intp]:
    """Return a number for the cluster of each sample; a missing one is an error."""
    import pandas as pd

    codes: NDArray[np.intp] = pd.factorize(as_column(cluster, "cluster", samples))[0]
    return codes


class Evidence:
    """The tests of thresholds with some calibration samples.

    Plain samples are tested by the binomial distribution of their errors, given how many are
    accepted. With clusters and weights, one random sample of each cluster is tested, kept with a
    probability in proportion to its weight; a loss counts as an error with its own probability.
    With ``bet`` there is a second test, a bet on the excess of whole units, and twice the smaller
    p-value counts.
    """

    def __init__(
        self, calibration: Calibration, level: float, rng: np.random.Generator, bet: bool = True
    ) -> None:
        order = np.argsort(calibration.score, kind="stable")
        self.score = calibration.score[order]
        self.wrong = calibration.wrong[order]
        self.unit = calibration.units()[order]
        self.units = int(self.unit.max()) + 1
        self.bet = bet and not calibration.plain
        self.level = level
        # The contribution of each sample to the mean weighted share over units.
        self.share = 1 / np.bincount(self.unit)[self.unit]
        if calibration.weight is not None:
            self.share = self.share * calibration.weight[order]
        plain = calibration.plain
        drawn = np.ones(len(order), dtype=bool) if plain else self._draw(calibration, rng)
        self._drawn = _running(drawn[order])
        graded = calibration.graded
        wrong = rng.random(len(order)) < self.wrong if graded else self.wrong.astype(bool)
        self._drawn_errors = _running(drawn[order] & wrong)

    @staticmethod
    def _draw(calibration: Calibration, rng: np.random.Generator) -> NDArray[np.bool_]:
        rows = rng.permutation(len(calibration))
        _, first = np.unique(calibration.units()[rows], return_index=True)
        rows = rows[first]
        if calibration.weight is not None:
            rows = rows[rng.random(len(rows)) < calibration.weight[rows]]
        drawn = np.zeros(len(calibration), dtype=bool)
        drawn[rows] = True
        return drawn

    def accepted(self, threshold: FloatArray) -> NDArray[np.intp]:
        """Return how many samples each threshold accepts."""
        return np.searchsorted(self.score, threshold, side="right")

    def counts(self, threshold: FloatArray) -> dict[str, Any]:
        """Return coverage, samples, accepted ones, errors and error rate of each threshold."""
        place = self.accepted(threshold)
        mass, loss = (
            np.append(0.0, np.cumsum(part))[place] for part in (self.share, self.share * self.wrong)
        )
        return {
            "coverage": mass / self.share.sum(),
            "tested": np.full(len(place), len(self.score)),
            "accepted": place,
            "errors": _running(self.wrong)[place],
            "error": np.divide(loss, mass, out=np.full(len(place), np.nan), where=place > 0),
        }

    def p_values(self, threshold: FloatArray, risk: float) -> FloatArray:
        """Return a p-value of each threshold, for an error rate above the risk."""
        place = self.accepted(threshold)
        p = binomial_p(self._drawn_errors[place], self._drawn[place], risk)
        return p if not self.bet else np.minimum(2 * np.minimum(p, self._bets(risk)[place]), 1.0)

    def upper(self, threshold: FloatArray, level: FloatArray, risk: float) -> FloatArray:
        """Return the upper limit of the error rate of each threshold, at confidence 1 - level."""
        place = self.accepted(threshold)
        level = level / (2 if self.bet else 1)  # two tests share it
        limit = binomial_upper(self._drawn_errors[place], self._drawn[place], level)
        if not self.bet:
            return limit
        # From the highest rate down, as long as all above were excluded as well.
        excluded = np.ones(len(place), dtype=bool)
        for rate in risk * _RATES[risk * _RATES < 1]:
            excluded &= at_most(self._bets(rate)[place], level)
            limit = np.where(excluded, np.minimum(limit, rate), limit)
        return limit

    def one_more(self, threshold: FloatArray) -> FloatArray:
        """Return the error rate of each threshold with one more sample that is wrong."""
        place = self.accepted(threshold)
        return (self._drawn_errors[place] + 1) / (self._drawn[place] + 1)

    def _bets(self, risk: float) -> FloatArray:
        excess = self.share * (self.wrong - risk)
        return np.append(1.0, betting_p(excess, self.unit, risk, self.level, self.units))


def _running(flags: NDArray[Any]) -> NDArray[Any]:
    return np.append(0, np.cumsum(flags))


def high_probability(
    calibration: Calibration, points: Any, risk: float, level: float, rng: np.random.Generator
) -> OperatingCurve:
    """Return which thresholds are shown, all at once, to keep the error rate at the risk."""
    whole = Evidence(calibration, level, rng)
    thresholds = given_thresholds(points)
    if thresholds is not None:
        places = np.linspace(0, len(thresholds) - 1, min(_STARTS, len(thresholds)))
        starts = thresholds[places.astype(np.intp)]
        return _walked(whole, thresholds, starts, level * _budgets(len(starts)), risk)
    everything = whole.score[-1:]
    setting = _setting(calibration, rng)
    # The starts must not depend on tested samples, so the weights of the others determine how many
    # samples of the population the tested units are worth.
    tested_units = whole.units - len(np.unique(calibration.units()[setting]))
    weight = 1.0 if calibration.weight is None else float(calibration.weight[setting].mean())
    bet = calibration.cluster is not None or calibration.graded or weight < _UNEQUAL
    tests = 1 if calibration.plain or not bet else 2
    coverages = _starting_coverages(tested_units * weight, tests, risk, level)
    budgets = level * _budgets(len(coverages) + 1)
    if not len(coverages):
        return _walked(whole, np.unique(whole.score), everything, budgets, risk)
    tested = Evidence(calibration.take(~setting), level, rng, bet)
    scores = np.sort(calibration.score[setting])
    every = points == ALL
    tried = tested.score if every else _quantiles(scores, np.arange(1, points + 1) / points)
    starts = _quantiles(scores, coverages)
    thresholds = np.unique(np.concatenate([starts, tried, everything]))
    curve = _walked(tested, thresholds, starts, budgets[:-1], risk)
    if curve.passed[-1] or not at_most(whole.p_values(everything, risk), budgets[-1])[0]:
        return curve
    return _joined(curve, _walked(whole, everything, everything, budgets[-1:], risk))


def _starting_coverages(size: float, tests: int, risk: float, level: float) -> FloatArray:
    """Return the coverages of all starts but the last; none if there are too few samples."""
    least = minimum_units(risk, _FIRST * level / tests)
    first = _ENOUGH * least / max(size, 1.0)
    if first >= 1:
        return np.empty(0)
    starts = min(_STARTS, 2 + int(np.log2(1 / first)))
    return np.geomspace(first, 1.0, starts)[:-1]


def _budgets(starts: int) -> FloatArray:
    """Return the part of the error budget of each start."""
    if starts == 1:
        return np.ones(1)
    return np.append(_FIRST, np.full(starts - 1, (1 - _FIRST) / (starts - 1)))


def _setting(calibration: Calibration, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw the samples that determine the starts: a tenth of the units, or fewer of many."""
    unit = calibration.units()
    units = int(unit.max()) + 1
    chosen = np.zeros(units, dtype=bool)
    chosen[rng.permutation(units)[: min(-(-units // 10), round(2 * units**0.5))]] = True
    return chosen[unit]


def _quantiles(scores: FloatArray, coverages: FloatArray) -> FloatArray:
    return scores[np.ceil(coverages * len(scores) - 1e-9).astype(np.intp) - 1]


def _walked(
    evidence: Evidence, thresholds: FloatArray, starts: FloatArray, budgets: FloatArray, risk: float
) -> OperatingCurve:
    """Return the curve of increasing thresholds, tested from each start on."""
    budget = np.zeros(len(thresholds))
    np.add.at(budget, np.searchsorted(thresholds, starts), budgets)
    passed, level = walk(evidence.p_values(thresholds, risk), budget)
    rows = _shown(passed)
    shown, tried = thresholds[rows], level[rows]
    upper = evidence.upper(shown, np.where(tried > 0, tried, budgets[0]), risk)
    # The limit is at most the risk if the threshold passed.
    upper = np.where(passed[rows], np.minimum(upper, risk), upper)
    return OperatingCurve(
        threshold=shown, **evidence.counts(shown), upper=upper, level=tried, passed=passed[rows]
    )


def _shown(passed: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the thresholds to show: all, or many of them with the last one that passed."""
    rows = np.arange(len(passed))
    if len(rows) <= _SHOWN:
        return rows
    last = rows[passed][-1:]
    return np.union1d(np.linspace(0, len(rows) - 1, _SHOWN).astype(np.intp), last)


def _joined(curve: OperatingCurve, last: OperatingCurve) -> OperatingCurve:
    """Replace the last threshold of a curve."""
    columns = {
        name: np.append(getattr(curve, name)[:-1], getattr(last, name))
        for name in OperatingCurve.__dataclass_fields__
    }
    return OperatingCurve(**columns)


def mean_promise(
    calibration: Calibration, points: Any, risk: float, level: float, rng: np.random.Generator
) -> OperatingCurve:
    """Return which thresholds keep the error rate at the risk on average over calibration sets.

    Conformal risk control: a threshold passes if the errors plus one are at most ``risk`` of the
    accepted plus one. The mean over sets of the error rate R of the loosest one that passes is at
    most the risk: as the threshold falls, R / (1 - R) times (accepted and right) / (accepted and
    wrong + 1) is a supermartingale with a mean of at most 1 at its start.
    """
    evidence = Evidence(calibration, level, rng)
    thresholds = given_thresholds(points)
    thresholds = np.unique(evidence.score) if thresholds is None else thresholds
    passed = evidence.one_more(thresholds) <= risk * (1 + 1e-9)
    rows = _shown(passed)
    shown = thresholds[rows]
    upper = evidence.upper(shown, np.full(len(rows), level), risk)
    return OperatingCurve(
        threshold=shown,
        **evidence.counts(shown),
        upper=upper,
        level=np.zeros(len(rows)),
        passed=passed[rows],
    )


def given_thresholds(points: Any) -> FloatArray | None:
    """Return given thresholds in increasing order; None if they are to be chosen."""
    if np.ndim(points) > 0:
        given, _, _ = as_floats(points, "points")
        if given.ndim != 1:
            raise ShapeError(f"points must be thresholds along one axis; got shape {given.shape}")
        check_no_nan(given, "points", ("threshold",))
        return np.unique(given)
    number = is_integer(points) and points >= 1
    if not number and not (isinstance(points, str) and points == ALL):
        raise OptionError(
            f'points must be "{ALL}", how many thresholds to try, 1 or more, or an array of them; '
            f"got {points!r}"
        )
    return None


def units_needed(
    calibration: Calibration, curve: OperatingCurve, risk: float, level: float
) -> float:
    """Return about how many units are needed to show that some threshold keeps the risk.

    It uses the observed error rates, with half an error added if that leaves them below the risk,
    and the error budget of the first start; a level of 0 stands for the promise on average.
    Infinity if no threshold has a rate below the risk.
    """
    some = curve.accepted > 0
    accepted = curve.accepted[some]
    cautious = (curve.error[some] * accepted + 0.5) / (accepted + 1)
    rate = np.where(cautious < risk, cautious, curve.error[some])
    tests = 1 if calibration.plain else 2
    if level > 0:
        units = binomial_units(rate, risk, _FIRST * level / tests)
    else:
        units = np.where(rate < risk, (1 - risk) / np.maximum(risk - rate, 1e-12), np.inf)
    weight = 1.0 if calibration.weight is None else float(calibration.weight.mean())
    needed = float(np.min(units / (curve.coverage[some] * weight), initial=np.inf))
    return max(needed, int(calibration.units().max()) + 2.0)
