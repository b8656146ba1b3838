"""Select samples such that few of those selected are wrong, on average."""

import math
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from .._arrays import to_numpy
from .._constructors import Declared
from .._validation import FloatArray, check_choice, check_fraction
from ..exceptions import InvalidValueError, OptionError, ShapeError
from ..results.words import counted
from .inputs import (
    as_ratios,
    as_scores,
    check_groups,
    check_known,
    effective_samples,
    fit_groups,
    rows_of_groups,
)
from .multiple_testing import false_discovery
from .prices import GroupPrice, price_frame, price_words

EXCHANGEABLE, ANY = "exchangeable", "any"


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """Which samples were selected, and why.

    Attributes
    ----------
    selected : ndarray of bool of shape (samples,)
    p_values : ndarray of shape (samples,)
        The conformal p-value of "this sample is null".
    rate : float
        The false discovery rate that was asked for.
    guarantee : str
        The promise in plain words.
    prices : tuple of GroupPrice
        What the promise for each group costs; empty without groups. The threshold is that of the
        p-value.
    """

    selected: NDArray[np.bool_]
    p_values: FloatArray
    rate: float
    guarantee: str
    prices: tuple[GroupPrice, ...] = ()

    def __len__(self) -> int:
        return len(self.selected)

    def price_frame(self) -> Any:
        """Return a pandas frame with one row for each group; what its promise costs."""
        return price_frame(self.prices)

    def __repr__(self) -> str:
        return (
            f"Selection: {int(self.selected.sum()):,} of {counted(len(self), 'sample')}, false "
            f"discovery rate {self.rate:g}"
        )


class ConformalSelection(Declared, BaseEstimator):
    r"""Select samples of a batch; few of those selected are null, on average.

    What is null is up to the user: a prediction that is wrong, a compound that is not active
    (:math:`y \le c`), an input like those of the training (then what is selected is new). With a
    score that is larger the less likely a sample is null, the p-value of a new sample is

    .. math:: p_j = \frac{1 + |\{i : i \text{ null}, s_i \ge s_j\}|}{n + 1},

    and the procedure of Benjamini and Hochberg selects.

    Parameters
    ----------
    rate : float, default=0.1
        The largest false discovery rate: the expected share of null samples among those selected
        (0 if none is).
    dependence : {"exchangeable", "any"}, default="exchangeable"
        Whether the new samples are exchangeable with the calibration samples all together, or each
        of them only by itself, as where new samples resemble each other (patients of one ward, the
        frames of a film). The latter needs the procedure of Benjamini and Yekutieli, which selects
        less.

    Attributes
    ----------
    samples_ : int
        The number of calibration samples.
    nulls_ : int
        How many of them are null.
    effective_samples_ : float
        :math:`(\sum w)^2 / \sum w^2` for likelihood ratios w, else the number of samples.
    groups_ : dict of str to ConformalSelection, or None

    Notes
    -----
    **Requires** calibration samples that were not used to train the model, nor to make the score.
    At least 1 / rate - 1 of them: the smallest p-value is 1 / (n + 1). To select k of m new
    samples takes m / (k rate) - 1.

    **Promises** that the expected share of null samples among those selected is at most ``rate``,
    over the draw of calibration and new samples. The p-values of a batch share their calibration
    samples, so they depend on each other, but positively; that is covered [1]_, [2]_. All
    calibration samples count in n, null or not [2]_; with ``null=None``, where calibration samples
    are all null, this is the test for outliers of [1]_. With groups the same in each group.

    **Under covariate shift** give ``shift``, to ``fit`` and to ``select``. Weighted
    p-values may depend in any way, so dependence="any" is needed.

    **Cannot** bound the share of null samples in the batch at hand, only its expectation: if few
    are selected, it varies much. `caveat.TriagePolicy` bounds the error rate of future accepted
    samples with a confidence, for one threshold. It promises nothing after a shift that no ratio
    describes.

    References
    ----------
    .. [1] Bates, Candès, Lei, Romano & Sesia, Testing for outliers with conformal p-values, Annals
       of Statistics 51, 2023, arXiv:2104.08279.
    .. [2] Jin & Candès, Selection by prediction with conformal p-values, JMLR 24, 2023,
       arXiv:2210.01408.

    Examples
    --------
    >>> import numpy as np
    >>> import caveat
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.5, 0.5, 2000)
    >>> active = rng.random(2000) < p
    >>> old, new = slice(0, 1000), slice(1000, 2000)
    >>> method = caveat.ConformalSelection(rate=0.1).fit(p[old], null=~active[old])
    >>> selection = method.select(p[new])
    >>> selection
    Selection: 365 of 1,000 samples, false discovery rate 0.1
    >>> round(float(np.mean(~active[new][selection.selected])), 2)
    0.08
    """

    rate: float = field(default=0.1, kw_only=False)
    dependence: str = EXCHANGEABLE

    def fit(self, score: Any, null: Any = None, *, groups: Any = None, shift: Any = None) -> Self:
        """Learn from calibration samples.

        Parameters
        ----------
        score : array of shape (samples,)
            Larger the less likely a sample is null.
        null : array of bool of shape (samples,), optional
            Whether each calibration sample is null; by default all are.
        groups : array, Series, dict of arrays or frame, optional
            Keep the rate in each group.
        shift : LikelihoodRatio or array of shape (samples,), optional
            The density of new inputs over that of calibration inputs.
        """
        rate = check_fraction(self.rate, "rate")
        check_choice(self.dependence, "dependence", (EXCHANGEABLE, ANY))
        known = as_scores(score)
        is_null = np.ones(len(known), dtype=bool) if null is None else _flags(null, len(known))
        ratio = as_ratios(shift, len(known))
        if ratio is not None and self.dependence != ANY:
            raise OptionError(
                "weighted p-values may depend on each other in any way: with shift use "
                'dependence="any"'
            )
        self._learn(known, is_null, ratio, rate)

        def learn(part: Self, rows: Any) -> None:
            own = None if ratio is None else as_ratios(ratio[rows], len(rows))
            part._learn(known[rows], is_null[rows], own, rate)

        self.groups_ = fit_groups(self, groups, len(known), learn)
        return self

    def select(self, score: Any, *, groups: Any = None, shift: Any = None) -> Selection:
        """Select from a batch of new samples.

        Parameters
        ----------
        score : array of shape (samples,)
        groups : array, Series, dict of arrays or frame, optional
            Needed if and only if ``fit`` was given groups, with values that ``fit`` saw.
        shift : LikelihoodRatio or array of shape (samples,), optional
            Needed if and only if ``fit`` was given ratios.
        """
        if not hasattr(self, "samples_"):
            raise NotFittedError(
                "this ConformalSelection is not fitted yet; call fit(score, null) first"
            )
        check_groups(groups, self.groups_, "select")
        new = as_scores(score)
        ratio = as_ratios(shift, len(new), new=True)
        if (ratio is None) != (self._weight is None):
            raise OptionError("give shift to both fit and select, or to neither")
        p = self._p_values(new, ratio)
        cut = self._cut(p)
        if self.groups_ is None:
            return Selection(p <= cut, p, float(self.rate), self._words())
        together, selected, prices = p <= cut, np.zeros(len(p), dtype=bool), []
        for name, rows in rows_of_groups(groups, len(new)).items():
            check_known(name, self.groups_)
            part = self.groups_[name]
            p[rows] = part._p_values(new[rows], None if ratio is None else ratio[rows])
            own = part._cut(p[rows])
            selected[rows] = p[rows] <= own
            prices.append(
                GroupPrice(name, len(rows), int(selected[rows].sum()),
                           int(together[rows].sum()), own)
            )  # fmt: skip
        words = f"In each group: {self._words()} {price_words(prices, 'selected')}"
        return Selection(selected, p, float(self.rate), words, tuple(prices))

    def _learn(
        self, score: FloatArray, null: NDArray[np.bool_], ratio: FloatArray | None, rate: float
    ) -> None:
        shown = (
            f"a false discovery rate of {rate:g}: at least {{least}} are needed, and more if only "
            "a part of the new samples shall be selected"
        )
        least = math.ceil(1 / rate - 1 - 1e-9)
        self.effective_samples_ = effective_samples(len(score), ratio, least, shown)
        order = np.argsort(score[null], kind="stable")
        self._known = score[null][order]
        weight = np.ones(len(score)) if ratio is None else ratio
        self._above = np.append(np.cumsum(weight[null][order][::-1])[::-1], 0.0)
        self._total, self._weight = float(weight.sum()), ratio
        self.samples_, self.nulls_ = len(score), int(null.sum())

    def _p_values(self, score: FloatArray, ratio: FloatArray | None) -> FloatArray:
        weight = 1.0 if ratio is None else ratio
        reached = self._above[np.searchsorted(self._known, score)]
        return np.asarray((reached + weight) / (self._total + weight))

    def _cut(self, p: FloatArray) -> float:
        return false_discovery(p, float(self.rate), any_dependence=self.dependence == ANY)

    def _words(self) -> str:
        drawn = {
            EXCHANGEABLE: "exchangeable with the calibration samples",
            ANY: "each drawn as the calibration samples were, however they depend on each other",
        }[self.dependence]
        shifted = "" if self._weight is None else ", weighted by their likelihood ratios"
        return (
            f"On average over calibration sets and batches, at most {100 * self.rate:.10g} % of "
            f"the selected samples are null, for new samples that are {drawn}{shifted}."
        )


def _flags(null: Any, samples: int) -> NDArray[np.bool_]:
    array = to_numpy(null, "null").array
    if array.shape != (samples,):
        raise ShapeError(
            f"null must be true or false for each of {samples} samples; got shape {array.shape}"
        )
    if not np.isin(array, (0, 1)).all():
        raise InvalidValueError("null must be true or false for each sample")
    return array.astype(bool)
