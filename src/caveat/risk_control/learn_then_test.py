"""Learn then Test: which thresholds keep several risks at once, with a stated confidence."""

import math
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

from .._constructors import Declared
from .._validation import (
    FloatArray,
    as_column,
    as_floats,
    check_choice,
    check_fraction,
    check_integer,
)
from ..exceptions import InvalidValueError, OptionError, ShapeError
from ..results.words import counted
from .bounds import at_most, binomial_p, hoeffding_bentkus_p, minimum_units, stakes
from .inputs import ONE, as_losses, each, guarantee_of_groups, rows_of_groups
from .multiple_testing import graphical, grid_graph, holm, walk

HOEFFDING_BENTKUS, BETTING, BINOMIAL = "hoeffding-bentkus", "betting", "binomial"
FIXED, BONFERRONI, HOLM, GRAPHICAL = "fixed-sequence", "bonferroni", "holm", "graphical"
_MOST = 2000
"""The largest number of points of a graph, which has their square of edges."""
_ROWS = 32
"""So many factors, of 1e-6 at least, are multiplied without an underflow."""
_HORIZON = 100_000
"""Bets are sized for up to about this many samples."""


class LearnThenTest(Declared, BaseEstimator):
    r"""The thresholds, of any number, at which every one of several risks is kept.

    For each threshold, or each combination of several, the hypothesis "some mean loss is above its
    risk" is tested on calibration samples. Of all thresholds that pass, whichever is used,

    .. math:: P\big(\mathrm{E}\, L_k(\hat\lambda) \le \text{risk}_k \text{ for all } k\big) \ge
       \text{confidence}.

    Losses need not be monotone.

    Parameters
    ----------
    risk : float, or dict of str to float
        The largest mean loss; one for each loss if they differ.
    confidence : float, default=0.95
        The probability with which all risks are kept.
    p_value : {"betting", "hoeffding-bentkus", "binomial"}, default="betting"
        The test of a mean loss. "betting" needs the fewest samples unless losses are 0 or 1, and
        allows for more samples, and looks, at any time (`partial_fit`); "binomial" is exact for
        losses of 0 and 1 only.
    method : {"fixed-sequence", "bonferroni", "holm", "graphical"}, default="fixed-sequence"
        How the tests share the error budget, see Notes.
    starts : int, default=1
        For "fixed-sequence": from how many places of the order to start.
    bound : float, or dict of str to float, default=1.0
        The largest loss that can occur.

    Attributes
    ----------
    valid_ : ndarray of bool of the shape of the grid
        The thresholds at which all risks are kept.
    p_values_ : ndarray of the shape of the grid
        The largest p-value over the losses.
    mean_losses_ : dict of str to ndarray
    samples_ : int
        The number of independent calibration samples or clusters.
    guarantee_ : str
        The promise in plain words.
    needed_ : int or None
        If no threshold passes: the number of samples, without any loss, that the first test needs.
    groups_ : dict of str to LearnThenTest, or None
        The tests of each group.

    Notes
    -----
    **Tests.** A threshold passes if each of its losses does, so its p-value is the largest one:
    several losses cost no budget. "hoeffding-bentkus" is the p-value of [1]_. "betting" is the
    largest capital so far of bets on small losses [2]_, a test for any number of looks, which
    depends on the order of the samples. For losses of mean 0.06 that are spread (a beta
    distribution with variance 0.009) and 300 samples, a risk of 0.1 is shown in 1.00 of cases by
    bets and in 0.74 by "hoeffding-bentkus"; for losses of 0 and 1 in 0.45 and 0.67.

    **Budget.** "fixed-sequence" tests in an order that does not depend on the samples, strictest
    first, each at the full level until one fails; with more ``starts``, equally spaced in the
    order, each has its part of the level, and a test that passes hands its level on to the next.
    "graphical" is for a grid of several parameters: the corner at the start of all axes has the
    full level, and each point that passes hands it on in equal parts along each axis [3]_.
    "bonferroni" needs no order; "holm" rejects the same and more.

    **Requires** independent calibration samples, or clusters that are (``cluster``: the mean loss
    of each counts), drawn as the new ones are and not used to train the model, and an order that
    was fixed without them.

    **Promises** that with probability ``confidence`` over the calibration samples every threshold
    in ``valid_`` keeps every risk, so that any rule may choose among them, also one that looks at
    the samples. With p_value="betting" this holds for the ``valid_`` of all looks at once, however
    many `partial_fit` there are and whatever decides to stop: p-values only fall, so ``valid_``
    only grows, and its end is valid too.

    **Cannot** promise anything for new samples that are drawn differently, for dependent samples
    without ``cluster``, or for a group of samples without ``groups``. A loss among accepted samples
    only, E[e] / E[a] with e the loss and a whether a sample is accepted, is kept at r if the mean
    of e + r (1 - a) is.

    References
    ----------
    .. [1] Angelopoulos, Bates, Candès, Jordan & Lei, Learn then test: calibrating predictive
       algorithms to achieve risk control, arXiv:2110.01052, 2021.
    .. [2] Waudby-Smith & Ramdas, Estimating means of bounded random variables by betting, Journal
       of the Royal Statistical Society B 86, 2024.
    .. [3] Bretz, Maurer, Brannath & Posch, A graphical approach to sequentially rejective multiple
       test procedures, Statistics in Medicine 28, 2009.

    Examples
    --------
    Sets that miss at most 20 % of the true labels and are wrong in at most half of their own:

    >>> import numpy as np
    >>> import caveat
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.3, 0.5, (2000, 8))
    >>> y = rng.random((2000, 8)) < p
    >>> thresholds = np.linspace(0, 1, 51)
    >>> losses = {
    ...     name: caveat.risk_control.set_losses(p, y, thresholds, loss=name)
    ...     for name in ("false negatives", "false discoveries")
    ... }
    >>> risk = {"false negatives": 0.2, "false discoveries": 0.5}
    >>> test = caveat.LearnThenTest(risk, method="holm").fit(losses)
    >>> thresholds[test.valid_].round(2)[[0, -1]]
    array([0.06, 0.42])
    >>> size = caveat.risk_control.set_losses(p, y, thresholds, loss="size").mean(axis=0)
    >>> thresholds[test.choose(size)].round(2)               # the smallest sets
    np.float64(0.42)
    """

    risk: Any = field(kw_only=False)
    confidence: float = 0.95
    p_value: str = BETTING
    method: str = FIXED
    starts: int = 1
    bound: Any = 1.0

    def fit(
        self, losses: Any, *, order: Any = None, cluster: Any = None, groups: Any = None
    ) -> Self:
        """Test all thresholds.

        Parameters
        ----------
        losses : array of shape (samples, thresholds) or (samples, ...), or dict of them
            The loss of each calibration sample at each threshold, or at each point of a grid of
            several; a dict names several losses.
        order : array of int, optional
            For "fixed-sequence": positions of thresholds in the order of the tests, for a grid in
            the flattened one; others are not tested. By default all, first to last.
        cluster : array of shape (samples,), optional
            The subject of each sample, if some subjects have several.
        groups : array, Series, dict of arrays or frame, optional
            Test each group for itself, each with the confidence.
        """
        self.guarantee_: str
        self._start()
        self._order = order
        arrays = self._losses(losses)
        samples = len(next(iter(arrays.values())))
        if cluster is not None:
            units, self._unit = as_column(cluster, "cluster", samples), "cluster"
        self.groups_: dict[str, Self] | None = None
        if groups is not None:
            self.groups_ = {}
            for name, rows in rows_of_groups(groups, samples).items():
                part = clone(self)
                own = {key: array[rows] for key, array in self._given(losses).items()}
                self.groups_[name] = part.fit(
                    own, order=order, cluster=None if cluster is None else units[rows]
                )
        if cluster is not None:
            arrays = {name: _means(array, units) for name, array in arrays.items()}
        self._add(arrays)
        if self.groups_ is not None:
            self.guarantee_ = guarantee_of_groups(self.groups_)
        return self

    def partial_fit(self, losses: Any, *, order: Any = None) -> Self:
        """Add calibration samples, and test again; only for p_value="betting".

        Parameters
        ----------
        losses : array of shape (samples, ...), or dict of them
            As in `fit`, of new samples only.
        order : array of int, optional
            As in `fit`; given with the first samples.
        """
        if self.p_value != BETTING:
            raise OptionError(
                'partial_fit looks again and again, which only p_value="betting" allows; got '
                f"{self.p_value!r}"
            )
        if not hasattr(self, "_capital"):
            return self.fit(losses, order=order)
        if order is not None or self.groups_ is not None:
            raise OptionError("partial_fit goes on with the order of fit, and without groups")
        self._add(self._losses(losses))
        return self

    def choose(self, cost: Any) -> Any:
        """Return the position of the valid threshold with the lowest cost.

        Parameters
        ----------
        cost : array of the shape of the grid
            What to minimize, such as the mean size of sets; it may come from the same samples.

        Returns
        -------
        int, or tuple of int for a grid of several parameters
        """
        if not hasattr(self, "valid_"):
            raise NotFittedError("this LearnThenTest is not fitted yet; call fit(losses) first")
        values, _, _ = as_floats(cost, "cost")
        if values.shape != self.valid_.shape:
            raise ShapeError(
                f"cost must have the shape {self.valid_.shape} of the thresholds; got "
                f"{values.shape}"
            )
        if not self.valid_.any():
            raise InvalidValueError(f"there is no threshold to choose: {self.guarantee_}")
        place = int(np.argmin(np.where(self.valid_, values, np.inf)))
        index = tuple(int(i) for i in np.unravel_index(place, self.valid_.shape))
        return index[0] if len(index) == 1 else index

    def _start(self) -> None:
        self._level = 1 - check_fraction(self.confidence, "confidence")
        check_choice(self.p_value, "p_value", (HOEFFDING_BENTKUS, BETTING, BINOMIAL))
        check_choice(self.method, "method", (FIXED, BONFERRONI, HOLM, GRAPHICAL))
        check_integer(self.starts, "starts")
        if self.starts > 1 and self.method != FIXED:
            raise OptionError(f'starts are for method="{FIXED}"; got method={self.method!r}')
        self.samples_, self._unit = 0, "sample"
        self._sums: dict[str, FloatArray] = {}
        self._capital: dict[str, FloatArray] = {}
        self._largest: dict[str, FloatArray] = {}

    def _given(self, losses: Any) -> dict[str, Any]:
        named = losses if isinstance(losses, Mapping) else {ONE: losses}
        if not named:
            raise ShapeError("losses is empty: it names no loss")
        return {str(name): np.asarray(value) for name, value in named.items()}

    def _losses(self, losses: Any) -> dict[str, FloatArray]:
        """Return losses between 0 and 1 by name, all of one shape."""
        given = self._given(losses)
        names = list(given)
        bounds = each(self.bound, names, "bound", 0.0, math.inf)
        risks = each(self.risk, names, "risk", 0.0, math.inf)
        for name in names:
            if risks[name] >= bounds[name]:
                raise OptionError(
                    f"risk must be below the bound {bounds[name]:g} of the loss; got "
                    f"{risks[name]:g}"
                )
        self._risks = {name: risks[name] / bounds[name] for name in names}
        arrays = {
            name: as_losses(value, bounds[name], "losses" if name == ONE else f"losses[{name!r}]")
            for name, value in given.items()
        }
        shapes = {array.shape for array in arrays.values()}
        known = {sums.shape for sums in self._sums.values()}
        if len(shapes) > 1 or (known and {shape[1:] for shape in shapes} != known):
            raise ShapeError(f"all losses must have one shape; got {sorted(shapes | known)}")
        if self._sums and set(self._sums) != set(names):
            raise OptionError(f"fit had the losses {', '.join(self._sums)}; got {', '.join(names)}")
        if self.p_value == BINOMIAL and any(((a != 0) & (a != 1)).any() for a in arrays.values()):
            raise InvalidValueError(
                'p_value="binomial" is for losses of 0 and the bound only; use '
                f'"{HOEFFDING_BENTKUS}" or "{BETTING}"'
            )
        return arrays

    def _add(self, arrays: dict[str, FloatArray]) -> None:
        """Add samples, and test."""
        first = next(iter(arrays.values()))
        grid = first.shape[1:]
        self._check_size(int(np.prod(grid)), grid)
        self.samples_ += len(first)
        for name, array in arrays.items():
            self._sums[name] = self._sums.get(name, np.zeros(grid)) + array.sum(axis=0)
            if self.p_value == BETTING:
                self._bet(name, array.reshape(len(array), -1))
        bounds = each(self.bound, list(arrays), "bound", 0.0, math.inf)
        self.mean_losses_ = {
            name: bounds[name] * sums / self.samples_ for name, sums in self._sums.items()
        }
        p = np.max([self._p_value(name) for name in arrays], axis=0)
        self.p_values_ = p.reshape(grid)
        self.valid_ = self._valid(p, grid).reshape(grid)
        self.needed_ = None if self.valid_.any() else self._least(len(p))
        self.guarantee_ = self._words()

    def _check_size(self, number: int, grid: tuple[int, ...]) -> None:
        if self.method == GRAPHICAL and number > _MOST:
            raise OptionError(
                f'method="{GRAPHICAL}" is for at most {_MOST:,} points; the grid has {number:,}'
            )
        if self.method == FIXED and self._order is None and len(grid) > 1:
            raise OptionError(
                f'method="{FIXED}" on a grid of several parameters needs order, the positions in '
                f'the order of the tests; or use method="{GRAPHICAL}"'
            )

    def _bet(self, name: str, losses: FloatArray) -> None:
        """Bet on small losses, sample by sample, and keep the largest capital."""
        risk = self._risks[name]
        bets = stakes(risk, self._level, _HORIZON)
        number = losses.shape[1]
        capital = self._capital.get(name, np.zeros((len(bets), number)))
        largest = self._largest.get(name, np.zeros(number))
        for start in range(0, len(losses), _ROWS):
            part = losses[start : start + _ROWS]
            path = np.cumprod(1 - bets[:, None, None] * (part - risk), axis=1)
            top = capital.max(axis=0)
            mixture = np.einsum("bt,brt->rt", np.exp(capital - top), path).max(axis=0)
            largest = np.maximum(largest, np.log(mixture / len(bets)) + top)
            capital = capital + np.log(path[:, -1])
        self._capital[name], self._largest[name] = capital, largest

    def _p_value(self, name: str) -> FloatArray:
        """Return the p-value of each threshold, for one loss."""
        n, risk, sums = self.samples_, self._risks[name], self._sums[name].ravel()
        if self.p_value == BETTING:
            return np.asarray(np.exp(-self._largest[name]))
        if self.p_value == BINOMIAL:
            return binomial_p(np.rint(sums).astype(np.intp), np.full(len(sums), n), risk)
        return hoeffding_bentkus_p(sums / n, n, risk)

    def _valid(self, p: FloatArray, grid: tuple[int, ...]) -> NDArray[np.bool_]:
        """Return which hypotheses are rejected."""
        if self.method == BONFERRONI:
            return at_most(p, self._level / len(p))
        if self.method == HOLM:
            return holm(p, self._level)
        if self.method == GRAPHICAL:
            budget = np.zeros(len(p))
            budget[0] = self._level
            return graphical(p, budget, grid_graph(grid))
        order = np.arange(len(p)) if self._order is None else _positions(self._order, len(p))
        budget = np.zeros(len(order))
        starts = np.unique(np.linspace(0, len(order), self.starts, endpoint=False).astype(np.intp))
        budget[starts] = self._level / len(starts)
        valid = np.zeros(len(p), dtype=bool)
        valid[order] = walk(p[order], budget)[0]
        return valid

    def _least(self, tests: int) -> int:
        """Return how many samples without any loss the first test needs."""
        share = {FIXED: self.starts, GRAPHICAL: 1}.get(self.method, tests)
        risk, level = min(self._risks.values()), self._level / share
        least = minimum_units(risk, level)
        if self.p_value != BETTING:
            return least
        bets = stakes(risk, self._level, _HORIZON)
        gains = np.log1p(bets * risk)
        while np.logaddexp.reduce(least * gains) - np.log(len(bets)) < -math.log(level):
            least += 1
        return least

    def _words(self) -> str:
        confidence = f"{100 * self.confidence:.10g} %"
        risks = each(self.risk, list(self._risks), "risk", 0.0, math.inf)
        limits = [
            f"at most {risk:g}" + ("" if name == ONE else f" ({name})")
            for name, risk in risks.items()
        ]
        unit = self._unit
        seen = counted(self.samples_, f"calibration {unit}")
        way = ", each cluster counting the same" if unit == "cluster" else ""
        if self.valid_.any():
            looks = " after any number of looks" if self.p_value == BETTING else ""
            return (
                f"With {confidence} confidence{looks}, the mean loss of new samples is "
                f"{' and '.join(limits)} at each of the {int(self.valid_.sum()):,} thresholds of "
                f"{self.valid_.size:,} that passed{way}, with {seen}, for new {unit}s drawn "
                "as these."
            )
        return (
            f"No threshold was shown to have a mean loss of {' and '.join(limits)} with "
            f"{confidence} confidence, with {seen}. Even without any loss it takes at least "
            f"{self.needed_:,}."
        )


def _means(array: FloatArray, units: Any) -> FloatArray:
    """Return the mean over the samples of each unit."""
    _, codes, counts = np.unique(units, return_inverse=True, return_counts=True)
    order = np.argsort(codes, kind="stable")
    starts = np.append(0, np.cumsum(counts)[:-1])
    shape = (-1, *[1] * (array.ndim - 1))
    return np.add.reduceat(array[order], starts, axis=0) / counts.reshape(shape)


def _positions(order: Any, number: int) -> NDArray[np.intp]:
    given = np.asarray(order)
    whole = given.ndim == 1 and given.size > 0 and given.dtype.kind in "iu"
    if not whole or given.min() < 0 or given.max() >= number:
        raise OptionError(f"order must be positions of thresholds from 0 to {number - 1}")
    if len(np.unique(given)) < len(given):
        raise OptionError("order names a threshold more than once")
    return given.astype(np.intp)
