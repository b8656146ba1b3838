"""An alarm when intervals no longer cover as often as they should."""

import numpy as np

from .._validation import check_fraction, check_number

__all__ = ["CoverageAlarm"]

_STAKES = 0.5 ** np.arange(1, 7)


class CoverageAlarm:
    r"""An alarm that is given when intervals no longer cover as often as they should.

    With :math:`l = 1 - \text{coverage} + \text{tolerance}`, the share of misses that is tolerated,
    and several stakes :math:`\lambda`, each truth changes

    .. math:: M_t = (M_{t-1} + 1) \, (1 + \lambda (\text{missed}_t - l)), \qquad M_0 = 0,

    which adds up the capitals of gamblers who enter at every truth and bet on misses. As long as
    each truth is missed with a probability of at most l, given the past, the mean of M over stakes
    cannot be expected to grow faster than t. The alarm is given when it reaches ``run_length``, so
    false ones are at least that many truths apart, on average [1]_. A change that comes late is
    seen as fast as one that comes early.

    Parameters
    ----------
    coverage : float
        The share of truths that should be covered.
    tolerance : float, default=0.05
        How many more misses are tolerated.
    run_length : float, default=10000.0
        How many truths there are until a false alarm, on average, at least.

    Attributes
    ----------
    evidence : float
        The mean of M over stakes.
    samples, missed : int
    alarm_at : int or None
        The number of truths after which the alarm was first given.

    References
    ----------
    .. [1] Shin, Ramdas, Rinaldo, E-detectors: a nonparametric framework for sequential change
       detection, 2023.

    Examples
    --------
    >>> from caveat.signals import CoverageAlarm
    >>> alarm = CoverageAlarm(0.9)
    >>> any(alarm.update(covered) for covered in [True] * 50)
    False
    >>> any(alarm.update(covered) for covered in [False] * 20)
    True
    """

    def __init__(
        self, coverage: float, *, tolerance: float = 0.05, run_length: float = 10_000.0
    ) -> None:
        self.coverage = check_fraction(coverage, "coverage")
        self.tolerance = check_number(tolerance, "tolerance", 0, self.coverage, "left")
        self.run_length = check_number(run_length, "run_length", 1)
        self._limit = 1 - self.coverage + self.tolerance
        # The largest stake loses half at a truth that is covered.
        self._stakes = _STAKES / self._limit
        self._sums = np.zeros(len(_STAKES))
        self.samples = self.missed = 0
        self.alarm_at: int | None = None

    @property
    def evidence(self) -> float:
        """The mean over stakes of what speaks for too many misses."""
        return float(self._sums.mean())

    def update(self, covered: bool) -> bool:
        """Learn whether a truth was covered, and return whether the alarm was given by now.

        Parameters
        ----------
        covered : bool
        """
        self.samples += 1
        self.missed += not covered
        if self.alarm_at is None:
            self._sums = (self._sums + 1) * (1 + self._stakes * ((not covered) - self._limit))
            if self.evidence >= self.run_length:
                self.alarm_at = self.samples
        return self.alarm_at is not None
