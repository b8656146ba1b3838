"""The plan: how often each resample draws each unit, for every metric, group and model."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._random import RandomState, generator
from .._validation import FloatArray, as_column, check_integer
from ..exceptions import InvalidValueError
from ..metrics.batch import EXACT

__all__ = ["Plan", "make_plan"]

UNITS = 1000
"""Number of random blocks that are drawn where there are more than `EXACT` rows or clusters."""

_LEAST_PER_STRATUM = 50


@dataclass(frozen=True)
class Plan:
    r"""How often each unit of samples is drawn in each resample.

    A unit is a row, a cluster of rows, or a random block of either. Everything computed from one
    plan is paired: the k-th replicates of two groups, or of two predictions, saw the same draw.

    With G blocks of m rows each, the variance of a resampled mean is, on average over the random
    assignment of rows to blocks,

    .. math:: \frac{1}{G} \cdot \frac{S^2}{m} \Bigl(1 - \frac{m}{n}\Bigr)
        = \frac{S^2}{n} \cdot \frac{G - 1}{G},

    where S^2 is the sample variance: that of resampling rows, S^2/n (n - 1)/n, but for a factor
    within 1/G of 1, which the intervals correct (as they do at small n, where G = n).

    Attributes
    ----------
    unit : ndarray of shape (samples,)
        The unit of each row.
    counts : ndarray of shape (resamples, units)
    strata : int
        Within how many strata the units were drawn; each costs one degree of freedom.
    cluster : ndarray of shape (samples,), optional
        The cluster of each row, by number, where rows belong together.
    seed : int
        For what else is drawn of these samples, such as halves of them.
    extra : int
        How many of the units, the last ones, are in no sample but in resamples only.
    """

    unit: NDArray[np.int32]
    counts: NDArray[np.uint16]
    strata: int = 1
    cluster: NDArray[np.intp] | None = None
    seed: int = 0
    extra: int = 0

    @property
    def resamples(self) -> int:
        """The number of resamples."""
        return len(self.counts)

    @property
    def units(self) -> int:
        """The number of units."""
        return self.counts.shape[1]

    def __len__(self) -> int:
        return len(self.unit)

    def halves(self) -> NDArray[np.bool_]:
        """Draw half of the units without replacement, for each resample: (resamples, units)."""
        rng = np.random.default_rng(self.seed)
        chosen = np.zeros((self.resamples, self.units), dtype=bool)
        for row in chosen:
            row[rng.permutation(self.units)[: self.units // 2]] = True
        return chosen

    def weights(self, resample: int) -> FloatArray:
        """Return how often each row was drawn in one resample, (samples,)."""
        return self.counts[resample].astype(np.float64)[self.unit]


def make_plan(
    samples: int,
    *,
    resamples: int = 1000,
    cluster: Any = None,
    strata: Any = None,
    random_state: RandomState = None,
) -> Plan:
    """Draw which samples each bootstrap resample holds.

    Up to 4,096 rows are drawn one by one; of more, 1,000 random blocks of equal size (give or take
    one row) are drawn, which keeps the variance (see `Plan`).

    Parameters
    ----------
    samples : int
        The number of rows.
    cluster : array of shape (samples,), optional
        Rows that belong together, such as the repeated measurements of one patient: whole clusters
        are drawn, or random groups of them if there are more than 4,096.
    strata : array of shape (samples,), optional
        Draws are made within each value, whose number of units stays what it is.

    Examples
    --------
    >>> plan = make_plan(6, resamples=3, cluster=["a", "a", "b", "b", "c", "c"], random_state=0)
    >>> plan.counts.shape, plan.unit.tolist()
    ((3, 3), [0, 0, 1, 1, 2, 2])
    """
    samples = check_integer(samples, "samples", most=MOST)
    resamples = check_integer(resamples, "resamples", most=MOST)
    rng = generator(random_state)
    element = np.arange(samples) if cluster is None else _codes(cluster, "cluster", samples)
    stratum = np.zeros(int(element.max()) + 1, dtype=np.intp)
    if strata is not None:
        codes = _codes(strata, "strata", samples)
        stratum[element] = codes
        mixed = stratum[element] != codes
        if mixed.any():
            raise InvalidValueError(
                f"strata of sample {int(np.argmax(mixed))} differs from that of other samples of "
                "its cluster; a cluster is drawn as a whole and must lie in one stratum"
            )
    unit_of, sizes = _units(stratum, rng)
    counts = np.empty((resamples, sum(sizes)), dtype=np.uint16)
    start = 0
    for size in sizes:
        counts[:, start : start + size] = draws(size, resamples, rng)
        start += size
    clusters = None if cluster is None else element
    return Plan(unit_of[element], counts, len(sizes), clusters, int(rng.integers(2**63)))


MOST = 10**9


def _codes(labels: Any, name: str, samples: int) -> NDArray[np.intp]:
    """Number the distinct values of a column; a missing one is an error."""
    return np.unique(as_column(labels, name, samples), return_inverse=True)[1].reshape(-1)


def _units(
    stratum: NDArray[np.intp], rng: np.random.Generator
) -> tuple[NDArray[np.int32], list[int]]:
    """Return the unit of each element, and how many units each stratum has."""
    unit_of, sizes, start = np.empty(len(stratum), dtype=np.int32), [], 0
    for members in _by_value(stratum):
        number = len(members)
        if len(stratum) <= EXACT:
            unit_of[members] = start + np.arange(number)
        else:
            share = round(UNITS * number / len(stratum))
            number = min(number, max(_LEAST_PER_STRATUM, share))
            blocks = np.arange(len(members)) * number // len(members)
            unit_of[rng.permutation(members)] = start + blocks
        sizes.append(number)
        start += number
    return unit_of, sizes


def _by_value(codes: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def draws(units: int, resamples: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Multinomial counts with equal chances, (resamples, units)."""
    drawn = rng.integers(0, units, size=(resamples, units))
    drawn += np.arange(resamples)[:, None] * units
    return np.bincount(drawn.ravel(), minlength=resamples * units).reshape(resamples, units)
