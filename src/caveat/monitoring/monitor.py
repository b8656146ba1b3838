"""A test of new samples against a reference that may be looked at as often as one likes.

Each quantity that is watched is a bounded number of each sample whose mean, given the past, lies
between two limits as long as nothing changed by more than the threshold. A gambler who bets a share
of the capital on a mean above (or below) the limits cannot expect to gain; a capital of 20 is
reached with a probability of at most 1/20, whenever it is looked at (Ville's inequality).
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .._validation import FloatArray, check_fraction
from .._writing import write_json
from ..exceptions import CaveatError, FileFormatError, OptionError
from ..summaries import Summary
from ..summaries.parts import NumberKey
from ..summaries.summary import ALL
from .cells import PREDICTIONS, Numbers, numbers_in
from .inputs import as_summary, thresholds_of
from .residuals import LARGE, Bounded, errors_of, residuals_of, wrong_of
from .result import DriftQuestion, Thresholds

__all__ = ["DriftMonitor", "MonitorState", "WatchState"]

FORMAT = "caveat monitor 1"
_BINS = 100
_SHARE = 0.1
"""The share of alpha that is spent on not knowing the reference exactly."""

_STAKES = 0.5 ** np.arange(1, 9)
"""The shares of the largest bet that cannot lose all; the capital is divided among them."""


@dataclass(frozen=True)
class WatchState:
    """The state of one quantity that is watched.

    Attributes
    ----------
    question : DriftQuestion
    quantity, target : str
    e_value : float
        The capital now, from 1.
    largest : float
        The largest capital so far.
    p_value : float
        The anytime-valid p-value, which allows for all quantities.
    alarm : bool
    """

    question: DriftQuestion
    quantity: str
    target: str
    e_value: float
    largest: float
    p_value: float
    alarm: bool


@dataclass(frozen=True)
class MonitorState:
    """What a monitor knows after some updates.

    Attributes
    ----------
    updates, samples : int
        How often it was updated, and with how many samples.
    watches : tuple of WatchState
    alarm : bool
        Whether any quantity has given an alarm, now or before.
    p_value : float
        The smallest of the p-values.
    alpha : float
    """

    updates: int
    samples: int
    watches: tuple[WatchState, ...]
    alarm: bool
    p_value: float
    alpha: float

    @property
    def message(self) -> str:
        """The state in words."""
        if not self.alarm:
            return (
                f"No alarm after {self.updates} updates with {self.samples:,} samples: nothing is "
                "shown to have changed by more than the threshold."
            )
        from ..results.words import joined
        from .words import NAMES

        names = [
            " ".join(part for part in (NAMES.get(w.quantity, w.quantity), w.target) if part)
            for w in self.watches
            if w.alarm
        ]
        return (
            f"Alarm after {self.updates} updates with {self.samples:,} samples: "
            f"{joined(names)} changed by more than the threshold (anytime-valid p = "
            f"{self.p_value:.2g})."
        )


@dataclass
class _Watch:
    """Bets on the mean of some bounded functions of a number, and the capital they have made.

    A start at update k gets a share 1 / (k (k + 1)) of the capital, so that a late change is found
    as well; what is not yet used is kept.
    """

    question: DriftQuestion
    quantity: str
    target: str
    edges: list[float]
    """Ends of the bins of the number; empty if the number itself is bet on."""
    functions: list[list[float]]
    """The functions of the bins."""
    limits: list[tuple[float, float]]
    """Of the mean of each function, as long as nothing changed."""
    bounds: list[tuple[float, float]]
    capital: list[float] = field(default_factory=list)
    """The logarithm of the capital in each bet."""
    updates: int = 0
    largest: float = 0.0
    """The logarithm of the largest capital."""
    now: float = 0.0

    def update(self, values: FloatArray, counts: FloatArray) -> None:
        """Bet on some more samples: values, and how many samples have each."""
        if self.edges:
            bins = np.searchsorted(self.edges, values)
            counts = np.bincount(bins, counts, len(self.edges) + 1).astype(np.float64)
        factors = []
        for i, (low, high) in enumerate(self.limits):
            given = np.asarray(self.functions[i]) if self.functions else values
            bottom, top = self.bounds[i]
            bets = []
            if high < top:  # otherwise no sample can win
                bets.append((given - high, high - bottom))
            if low > bottom:
                bets.append((low - given, top - low))
            for apart, most in bets:
                steps = _STAKES[:, None] / most * apart
                factors.append(np.log1p(np.maximum(steps, -1 + 1e-12)) @ counts)
        self.updates += 1
        if not factors:
            return
        gained = np.concatenate(factors)
        start = -np.log(self.updates * (self.updates + 1.0))
        before = np.full(len(gained), -np.inf) if not self.capital else np.array(self.capital)
        capital = np.logaddexp(before, start) + gained
        self.capital = [float(value) for value in capital]
        kept = -np.log(self.updates + 1.0)  # what is left for later starts
        mean = np.logaddexp.reduce(capital) - np.log(len(capital))
        self.now = float(np.logaddexp(mean, kept))
        self.largest = max(self.largest, self.now)


class DriftMonitor:
    """Watch a stream of predictions against a reference, with any number of looks.

    Watched are the place and the spread of the predictions and of each uncertainty (by their ranks
    in the reference), and where truth is known the mean difference between truth and prediction
    (for numbers also the coverage of the central 90 %) and the error rate (for numbers the share of
    errors beyond the reference's 90 % quantile). An alarm means that one of them is beyond its
    threshold. While none is, the probability of any alarm, ever, is at most ``alpha``.

    Parameters
    ----------
    reference : Summary, path of a .caveat file, prediction, or pair (prediction, y)
    threshold : float or dict of str to float, optional
        As in `caveat.drift`: "distribution" (by default 0.1) for predictions and uncertainty,
        "share" (0.02) for the rest.
    alpha : float, default=0.05
        The largest probability of a false alarm over all time.

    Notes
    -----
    The capital of each bet is a product over samples, and a mixture over bets and over the update
    at which they start is a test supermartingale [1]_. A tenth of ``alpha`` is spent on the limits
    of the reference, which is not known exactly (by the inequality of Dvoretzky, Kiefer and
    Wolfowitz for ranks, and a normal interval for the mean difference from the truth). Samples are
    taken for independent given the past; weights and clusters are refused. Summaries other than of
    two classes keep up to 10,000 random samples, and only these are compared with the truth. For a
    test of exchangeability without a threshold see `caveat.exchangeability_test`.

    References
    ----------
    .. [1] I. Waudby-Smith, A. Ramdas. Estimating means of bounded random variables by betting.
       Journal of the Royal Statistical Society B, 2024.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> def day(shift):
    ...     p = rng.random(500)
    ...     y = (rng.random(500) < np.clip(p + shift, 0, 1)).astype(int)
    ...     return caveat.Categorical.from_binary(p), y
    >>> monitor = caveat.DriftMonitor(day(0))
    >>> [monitor.update(day(0)).alarm for _ in range(5)]
    [False, False, False, False, False]
    >>> [monitor.update(day(0.2)).alarm for _ in range(5)]
    [False, True, True, True, True]
    """

    def __init__(self, reference: Any, *, threshold: Any = None, alpha: float = 0.05) -> None:
        self.alpha = check_fraction(alpha, "alpha")
        self.thresholds = thresholds_of(threshold)
        summary = as_summary(reference, "reference")
        _check_plain(summary, "reference")
        self._question = {
            "kind": summary.about.kind,
            "shared": json.loads(json.dumps(summary.about.shared, default=str)),
        }
        self._large: dict[str, float] = {}
        self._watches: list[_Watch] = []
        self._samples = 0
        self._make(summary)

    @property
    def state(self) -> MonitorState:
        """What is known now."""
        number = len(self._watches)
        watches = []
        for watch in self._watches:
            largest = float(np.exp(min(watch.largest, 700.0)))
            p = min(1.0, number / largest + _SHARE * self.alpha)
            watches.append(
                WatchState(
                    watch.question, watch.quantity, watch.target,
                    float(np.exp(min(watch.now, 700.0))), largest, p, p <= self.alpha,
                )
            )  # fmt: skip
        return MonitorState(
            max((watch.updates for watch in self._watches), default=0),
            self._samples,
            tuple(watches),
            any(watch.alarm for watch in watches),
            min((watch.p_value for watch in watches), default=1.0),
            self.alpha,
        )

    def update(self, new: Any) -> MonitorState:
        """Take some more samples, and return what is known now.

        Parameters
        ----------
        new : Summary, path of a .caveat file, prediction, or pair (prediction, y)
            Each sample once, in the order of time.
        """
        summary = as_summary(new, "new")
        _check_plain(summary, "new")
        shared = json.loads(json.dumps(summary.about.shared, default=str))
        if {"kind": summary.about.kind, "shared": shared} != self._question:
            raise OptionError(
                "the reference and the new samples answer different questions: other types, "
                "classes, targets or levels"
            )
        given = self._given(summary)
        for watch in self._watches:
            key = watch.question, watch.quantity, watch.target
            if key in given:
                watch.update(*given[key])
        self._samples += summary.samples
        return self.state

    def _given(self, summary: Summary) -> dict[tuple[DriftQuestion, str, str], Any]:
        """Return what each watch bets on: values, and how many samples have each."""
        result: dict[tuple[DriftQuestion, str, str], Any] = {}
        for (name, target), numbers in numbers_in(summary, ALL).items():
            result[_question(name), name, target] = numbers.values, numbers.counts
        if summary.about.truth:
            for (name, target), one in residuals_of(summary, ALL).items():
                result[DriftQuestion.CALIBRATION, name, target] = one.values, one.counts
            for target, one in _wrong(summary, self._large).items():
                result[DriftQuestion.SKILL, "error", target] = one.values, one.counts
        return result

    def _make(self, summary: Summary) -> None:
        numbers = numbers_in(summary, ALL)
        if summary.about.truth and "classes" not in dict(summary.about.shared):
            self._large = {
                target: float(np.quantile(errors, LARGE))
                for target, errors in errors_of(summary).items()
            }
        errors = _wrong(summary, self._large) if summary.about.truth else {}
        residuals = residuals_of(summary, ALL)
        number = max(len(numbers) + len(errors) + len(residuals), 1)
        delta = _SHARE * self.alpha / number
        for key, one in numbers.items():
            self._watches.append(_number_watch(key, one, self.thresholds, delta))
        for key, bounded in residuals.items():
            self._watches.append(_residual_watch(key, bounded, self.thresholds, delta))
        for target, bounded in errors.items():
            self._watches.append(_error_watch(target, bounded, self.thresholds, delta))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the monitor to a JSON file; `DriftMonitor.load` reads it."""
        from .. import __version__

        content = {
            "format": FORMAT, "version": __version__, "alpha": self.alpha,
            "thresholds": asdict(self.thresholds), "question": self._question,
            "large": self._large, "samples": self._samples,
            "watches": [asdict(watch) for watch in self._watches],
        }  # fmt: skip
        write_json(path, content)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "DriftMonitor":
        """Read a monitor that `save` wrote; it goes on where it was.

        Returns
        -------
        DriftMonitor
        """
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            if content["format"] != FORMAT:
                raise FileFormatError(f"{path} has the format {content['format']!r}")
            made = object.__new__(cls)
            made.alpha = check_fraction(content["alpha"], "alpha")
            made.thresholds = thresholds_of(content["thresholds"])
            made._question = content["question"]
            made._large = {str(k): float(v) for k, v in content["large"].items()}
            made._samples = int(content["samples"])
            made._watches = [
                _Watch(**{**watch, "question": DriftQuestion(watch["question"])})
                for watch in content["watches"]
            ]
            return made
        except CaveatError as error:
            raise FileFormatError(f"{path} is no monitor: {error}") from error
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise FileFormatError(f"{path} is damaged, or no monitor: {error}") from error


def _check_plain(summary: Summary, name: str) -> None:
    for word in ("weighted", "clustered"):
        if getattr(summary.about, word):
            raise OptionError(
                f"{name}: the samples are {word}, and bets need samples that count alike and are "
                "independent; use caveat.drift, which allows for weights and clusters"
            )
    if not summary.samples:
        raise OptionError(f"{name}: there are no samples")


def _question(name: str) -> DriftQuestion:
    return DriftQuestion.PREDICTIONS if name in PREDICTIONS else DriftQuestion.UNCERTAINTY


def _number_watch(key: NumberKey, numbers: Numbers, thresholds: Thresholds, delta: float) -> _Watch:
    name, target = key
    shares = numbers.counts / numbers.counts.sum()
    if name == "class":
        edges = numbers.values[:-1] + 0.5
        margin = np.sqrt(np.log(2 * len(shares) / delta) / (2 * numbers.samples))
        margin += thresholds.distribution
        kinds = np.eye(len(shares))
        limits = [(float(p - margin), float(p + margin)) for p in shares]
        functions = [[float(x) for x in kind] for kind in kinds]
        bounds = [(0.0, 1.0)] * len(shares)
    else:
        edges, shares = _coarse(numbers.values, shares)
        margin = np.sqrt(np.log(2 / delta) / (2 * numbers.samples)) + thresholds.distribution
        rank = np.cumsum(shares) - shares / 2
        spread = np.abs(2 * rank - 1)
        middle, width = float(shares @ rank), float(shares @ spread)
        limits = [
            (middle - float(margin), middle + float(margin)),
            (width - 2 * float(margin), width + 2 * float(margin)),
        ]
        functions = [[float(x) for x in rank], [float(x) for x in spread]]
        bounds = [(0.0, 1.0), (0.0, 1.0)]
    ends = [float(edge) for edge in edges]
    if not ends:  # one value only: all others are above or below it
        value = float(numbers.values[0])
        ends = [float(np.nextafter(value, -np.inf)), value]
        functions = [[0.0, 0.5, 1.0], [1.0, 0.0, 1.0]]
        limits = [
            (0.5 - float(margin), 0.5 + float(margin)),
            (-2 * float(margin), 2 * float(margin)),
        ]
        bounds = [(0.0, 1.0), (0.0, 1.0)]
    return _Watch(_question(name), name, target, ends, functions, limits, bounds)


def _coarse(values: FloatArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the upper ends of some bins of about equal shares, but the last, and their shares."""
    middle = np.cumsum(shares) - shares / 2
    bins = np.unique((middle * _BINS).astype(np.intp), return_inverse=True)[1]
    last = np.flatnonzero(np.diff(bins))
    return values[last], np.bincount(bins, shares).astype(np.float64)


def _residual_watch(key: NumberKey, one: Bounded, thresholds: Thresholds, delta: float) -> _Watch:
    from scipy.special import ndtri

    half = -float(ndtri(delta / 2)) * one.error
    low = min(0.0, one.mean - half) - thresholds.share
    high = max(0.0, one.mean + half) + thresholds.share
    return _Watch(DriftQuestion.CALIBRATION, *key, [], [], [(low, high)], [one.bounds])


def _wrong(summary: Summary, large: Mapping[str, float]) -> dict[str, Bounded]:
    """Return whether each sample is wrong, or its error large, by target."""
    counted = wrong_of(summary)
    values = np.array([0.0, 1.0])
    if counted is not None:
        wrong, all_ = counted
        return {"": Bounded(values, np.array([all_ - wrong, wrong]), (0.0, 1.0))}
    result = {}
    for target, errors in errors_of(summary).items():
        wrong = float(np.count_nonzero(errors > large.get(target, 0.5)))
        result[target] = Bounded(values, np.array([len(errors) - wrong, wrong]), (0.0, 1.0))
    return result


def _error_watch(target: str, one: Bounded, thresholds: Thresholds, delta: float) -> _Watch:
    """Watch the share of errors: only more of them than in the reference give an alarm."""
    margin = float(np.sqrt(np.log(1 / delta) / (2 * one.samples)))
    high = one.mean + margin + thresholds.share
    return _Watch(DriftQuestion.SKILL, "error", target, [], [], [(0.0, high)], [(0.0, 1.0)])
