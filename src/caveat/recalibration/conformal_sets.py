"""Conformal prediction sets of classes."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._blocks import row_blocks
from .._docstrings import describe_parameters
from .._random import RandomState, generator
from .._validation import (
    FloatArray,
    check_choice,
    check_flags,
    check_fraction,
    check_integer,
    check_number,
)
from ..exceptions import OptionError
from ..predictions import Categorical, GaussianLogits, PredictionSet
from ._base import AFTER, Recalibrator
from ._classes import as_probabilities, calibration_rows
from ._conformal import as_fraction, conformal_quantile, too_few
from ._conformal_base import ConformalRecalibrator
from ._thresholds import effective_samples, label_shift_quantiles
from .shift import LabelShift

Block = tuple[FloatArray, FloatArray]


class ConformalSets(ConformalRecalibrator):
    r"""Sets of classes that hold the true one with a given probability (split conformal).

    Each class :math:`c` of a sample gets a score :math:`s_c` that is large where the class is
    unlikely; the set is

    .. math:: \{c : s_c \le \hat q\}, \qquad
       \hat q = \text{the } \lceil (n+1) \cdot \text{coverage} \rceil \text{-th smallest of the }
       n \text{ scores of the true classes in the calibration samples.}

    With :math:`o_c` the rank of class :math:`c`, 1 for the most probable one (the first of equals
    is ranked above the others), and :math:`b_c` the sum of the probabilities of the classes ranked
    above it, the scores are

    - ``"lac"``: :math:`s_c = 1 - p_c`, which gives the smallest sets on average [1]_;
    - ``"aps"``: :math:`s_c = b_c + u p_c` with one :math:`u` uniform on [0, 1) for each sample,
      which gives larger sets to harder samples [2]_;
    - ``"raps"``: :math:`s_c = b_c + u p_c + \lambda (o_c - k)^+`, which keeps the many unlikely
      classes of a long tail out of the sets [3]_.

    Deterministic (``randomized=False``), :math:`u` is 1 in calibration, and the set holds the
    classes of :math:`s_c \le \hat q` and the next one, which crosses the threshold [4]_. (A class
    of probability 0 crosses nothing.)

    Parameters
    ----------
    coverage : float, default=0.9
        How often the set shall hold the true class, strictly between 0 and 1.
    score : {"lac", "aps", "raps"}, default="lac"
    randomized : bool, default=True
        For ``"aps"`` and ``"raps"``: draw :math:`u`, which reaches the coverage exactly, or do
        without, which never leaves a set empty and is conservative: it covers 0.91 to 1.00 where
        0.9 was asked, and the more accurate the model the larger its sets (25 of 100 classes where
        the randomized sets of ``"aps"`` have 1.4). ``"lac"`` draws nothing.
    k_reg : int, default=2
        For ``"raps"``: how many of the most probable classes are free of the penalty (:math:`k`).
        With as many classes or fewer it is ``"aps"``.
    penalty : float, default=0.1
        For ``"raps"``: what each rank beyond adds to the score (:math:`\lambda`), at least 0. Both
        are constants and not learned from the calibration samples, so that all of these serve the
        coverage. Whatever they are, the coverage holds; to tune them for small sets, use other
        samples.
    class_conditional : bool, default=False
        One threshold for each class, from its own samples: the coverage then holds for each class.
    empty : {"allow", "top"}, default="allow"
        What becomes of a set without classes: it stays empty, which says that no class is likely,
        or it gets the most probable class, which covers more often than asked: by the share of
        samples whose set was empty and whose most probable class is true.
    random_state : int, Generator or None, optional
        Seeds :math:`u` and the smoothing of the p-values; drawn from once, in ``fit``. The draw of
        a row depends on the seed, on its probabilities and on how many identical rows come before
        it: not on the other rows, so a sample has the same set alone and among others, and a fitted
        recalibrator gives the same sets again.

    Attributes
    ----------
    thresholds_ : ndarray of shape (classes,)
        The threshold of each class, all equal unless ``class_conditional``. Infinite where there
        are too few calibration samples: the class is then in every set. Not with ``overlapping`` or
        a ``shift`` by likelihood ratio, where it depends on the sample.
    too_few_ : tuple of str
        The groups and classes for which that is so: :math:`\text{coverage} / (1 - \text{coverage})`
        calibration samples are needed, 9 for 0.9.
    scores_ : list of ndarrays
        The scores of the true classes: one array, or one for each class.
    weights_ : list of ndarrays or None
        How often each of them counts; None where each counts once.
    seeds_ : ndarray of shape (3,)

    Notes
    -----
    **Requires** calibration samples that the model was not trained on, exchangeable with those to
    come; with fewer of them than ``too_few_`` says, of a group or with ``class_conditional`` of a
    class, only sets with all classes keep the promise. Members are averaged first. A weight says
    how often a calibration sample counts (a sample that counts twice has one :math:`u`).

    **Promises** that a new sample's set holds its true class with probability at least
    ``coverage``, and at most :math:`1/(n+1)` more where no two scores are equal, if randomized or
    ``"lac"``, and with ``empty="allow"``: the mean is :math:`\lceil (n+1) \cdot \text{coverage}
    \rceil / (n+1)`. For each class by itself with ``class_conditional``.
    This is an average over calibration sets: given one, the coverage is Beta distributed around it.
    The p-value of the true class is at most :math:`t` with probability at most :math:`t`, and with
    exactly that if smoothed.

    After a covariate shift whose likelihood ratio is given as ``shift``, the threshold is a
    weighted quantile, in which each calibration sample weighs its ratio and the new sample its
    own [5]_. With a `LabelShift`, the threshold of a class is the largest over all class weights
    within its bounds, at a coverage that is higher by the chance that the bounds are wrong; so the
    promise includes the error of the weights [6]_. With ``overlapping`` the threshold comes from
    the quantile regression of the scores on the groups [7]_.

    **Cannot** promise the coverage for each sample, nor for a group (give ``groups`` for that), nor
    after a shift that ``shift`` does not describe. A poor model gets valid and large sets.

    References
    ----------
    .. [1] M. Sadinle, J. Lei, L. Wasserman. Least Ambiguous Set-Valued Classifiers with Bounded
       Error Levels. Journal of the American Statistical Association, 2019.
    .. [2] Y. Romano, M. Sesia, E. J. Candès. Classification with Valid and Adaptive Coverage.
       NeurIPS, 2020.
    .. [3] A. N. Angelopoulos, S. Bates, J. Malik, M. I. Jordan. Uncertainty Sets for Image
       Classifiers using Conformal Prediction. ICLR, 2021.
    .. [4] A. N. Angelopoulos, S. Bates. A Gentle Introduction to Conformal Prediction and
       Distribution-Free Uncertainty Quantification. arXiv:2107.07511, 2021.
    .. [5] R. J. Tibshirani, R. Foygel Barber, E. J. Candès, A. Ramdas. Conformal Prediction Under
       Covariate Shift. NeurIPS, 2019.
    .. [6] W. Si, S. Park, I. Lee, E. Dobriban, O. Bastani. PAC Prediction Sets Under Label Shift.
       ICLR, 2024.
    .. [7] I. Gibbs, J. J. Cherian, E. J. Candès. Conformal Prediction With Conditional Guarantees.
       Journal of the Royal Statistical Society B, 2025.

    Examples
    --------
    >>> import caveat
    >>> calibration = caveat.Categorical.from_binary([0.1, 0.3, 0.6, 0.8])
    >>> recalibrator = caveat.ConformalSets(coverage=0.75).fit(calibration, [0, 1, 1, 1])
    >>> sets = recalibrator.transform(caveat.Categorical.from_binary([0.05, 0.5, 0.7]))
    >>> sets
    PredictionSet: 3 samples x 2 classes (0, 1), coverage 0.75
    >>> sets.membership
    array([[ True, False],
           [ True,  True],
           [ True,  True]])
    >>> recalibrator.p_values(caveat.Categorical.from_binary([0.05, 0.5])).round(2)
    array([[1. , 0.2],
           [0.4, 0.4]])
    """

    takes = (Categorical, GaussianLogits)

    score: str = "lac"
    randomized: bool = True
    k_reg: int = 2
    penalty: float = 0.1
    class_conditional: bool = False
    empty: str = "allow"
    random_state: RandomState = None

    @describe_parameters(AFTER)
    def p_values(
        self, prediction: Any, *, groups: Any = None, smoothed: bool = False, shift: Any = None
    ) -> FloatArray:
        r"""Return for each class the conformal p-value of its being the true one.

        .. math:: p_c = \frac{1 + |\{i : s_i \ge s_c\}|}{n + 1}, \qquad \text{smoothed } p_c =
           \frac{|\{i : s_i > s_c\}| + \tau (1 + |\{i : s_i = s_c\}|)}{n + 1}

        The set of ``transform`` is :math:`\{c : p_c > 1 - \text{coverage}\}`, not smoothed.

        Parameters
        ----------
        smoothed : bool, default=False
            Break ties by a :math:`\tau` uniform on [0, 1) for each sample: the p-value of the true
            class is then uniform, and without it at least as large.
        shift : LikelihoodRatio or array of shape (samples,), optional
            Needed if and only if ``fit`` was given one; the sums over calibration samples are then
            weighted, and the new sample counts as much as its ratio.

        Returns
        -------
        ndarray of shape (samples, classes)
        """
        check_flags(smoothed=smoothed)
        prediction = self._given(prediction)
        parts = self._parts(prediction, groups)
        condition = self.condition_
        if condition not in (None, "covariate shift"):
            raise OptionError(f"p-values are not defined after a fit with {condition}")
        if condition is None:
            self._check_no_shift(shift)
            own = np.ones(len(prediction))
        else:
            own = np.minimum(self._ratio_of(prediction, shift), 1e300)  # infinity over itself
        values = np.empty((len(prediction), len(prediction.classes)))
        for rows, part in parts:
            p = as_probabilities(prediction.take(rows)).mean
            values[rows] = part._p_values(p, smoothed, own[rows])
        return values

    def _fit(self, prediction: Any, y: NDArray[np.intp], weight: FloatArray | None) -> None:
        coverage = self._check_options()
        p, y, weight = calibration_rows(as_probabilities(prediction), y, weight, "mean")
        self.seeds_ = generator(self.random_state).integers(2**63, size=3)
        labeled = np.column_stack([p, y]) if self._draws else p
        scores = self._true_scores(p, y, self._uniforms(labeled, 0))
        self.samples_, self.scores_, self.weights_ = len(y), [], []
        few = []
        for rows, words in self._categories(y, prediction.classes):
            score, count = scores[rows], None if weight is None else weight[rows]
            missing = (
                self._worth(count)
                if count is not None and self.condition_ == "covariate shift"
                else too_few(len(score), coverage, count)
            )
            if missing is not None:
                few.append(words + missing)
            self.scores_.append(score)
            self.weights_.append(count)
        self._few = tuple(few)
        if weight is not None and self.condition_ == "covariate shift":
            self.effective_samples_ = effective_samples(weight)
        elif self.condition_ is None:
            pairs = zip(self.scores_, self.weights_, strict=True)
            thresholds = [conformal_quantile(s[:, None], coverage, count)[0] for s, count in pairs]
            self.thresholds_ = np.resize(thresholds, len(prediction.classes))
        elif self.condition_ == "label shift":
            level = as_fraction(coverage) + 1 - as_fraction(self.shift_confidence_)
            self.thresholds_ = label_shift_quantiles(
                scores, y, weight, float(level), self.class_bounds_
            )

    def _fit_label_shift(
        self, prediction: Any, y: Any, groups: Any, sample_weight: Any, shift: LabelShift
    ) -> Self:
        if groups is not None:
            raise OptionError(
                "a LabelShift is that of all samples; for groups, estimate one of each group and "
                "fit it by itself"
            )
        if self.class_conditional:
            raise OptionError(
                "class_conditional=True covers each class whatever its share, so that a shift of "
                "the shares needs no correction; leave out shift="
            )
        if shift.classes.tolist() != prediction.classes.tolist():
            raise OptionError(
                f"shift is about the classes {shift.classes.tolist()}, the prediction about "
                f"{prediction.classes.tolist()}"
            )
        coverage = self._check_options()
        if coverage >= shift.confidence:
            raise OptionError(
                f"a coverage of {coverage:g} needs bounds of the weights at a confidence above it; "
                f"got {shift.confidence:g}. Pass a larger confidence to label_shift"
            )
        self.condition_ = "label shift"
        self.class_bounds_ = np.stack([shift.lower, shift.upper])
        self.shift_confidence_ = float(shift.confidence)
        self.effective_samples_ = float(shift.effective_samples)
        return Recalibrator.fit(self, prediction, y, sample_weight=sample_weight)

    def _by_itself(self) -> str:
        return ", each class by itself" if self.class_conditional else super()._by_itself()

    def _columns(self) -> FloatArray:
        return self.scores_[0][:, None]

    def _thresholds(self, given: FloatArray | None) -> FloatArray:
        """Return the thresholds, (samples or 1, classes or 1)."""
        if given is None:
            return self.thresholds_[None]
        pairs = zip(self.scores_, self.weights_, strict=True)
        limits = [self._limits(score[:, None], weight, given) for score, weight in pairs]
        thresholds = np.concatenate(limits, axis=1)
        self._warn_of_infinite(thresholds)
        return thresholds

    def _transform(self, prediction: Any, given: FloatArray | None = None) -> PredictionSet:
        p = as_probabilities(prediction).mean
        draws = self._uniforms(p, 1)
        thresholds = np.broadcast_to(self._thresholds(given), p.shape)
        membership = np.empty(p.shape, dtype=bool)
        for rows in row_blocks(*p.shape):
            np.less_equal(
                self._class_scores(p[rows], draws[rows]), thresholds[rows], out=membership[rows]
            )
        if self.empty == "top":
            rows_without = np.flatnonzero(~membership.any(axis=1))
            membership[rows_without, p[rows_without].argmax(axis=1)] = True
        return PredictionSet(membership, coverage=self.coverage, classes=prediction.classes)

    def _p_values(self, p: FloatArray, smoothed: bool, own: FloatArray) -> FloatArray:
        draws = self._uniforms(p, 1)
        ties = _row_uniforms(p, self.seeds_[2]) if smoothed else None
        tails = [_tail_counts(*pair) for pair in zip(self.scores_, self.weights_, strict=True)]
        values = np.empty(p.shape)
        for rows in row_blocks(*p.shape):
            scores = self._class_scores(p[rows], draws[rows])
            tie = None if ties is None else ties[rows, None]
            for k, tail in enumerate(tails):
                of = slice(None) if len(tails) == 1 else slice(k, k + 1)
                values[rows, of] = _p_value(*tail, scores[:, of], tie, own[rows, None])
        return values

    def _check_options(self) -> float:
        coverage = check_fraction(self.coverage, "coverage")
        check_choice(self.score, "score", ("lac", "aps", "raps"))
        check_choice(self.empty, "empty", ("allow", "top"))
        check_flags(
            randomized=self.randomized,
            class_conditional=self.class_conditional,
            overlapping=self.overlapping,
        )
        if self.overlapping and self.class_conditional:
            raise OptionError("class_conditional=True cannot be combined with overlapping=True")
        check_number(self.penalty, "penalty")
        check_integer(self.k_reg, "k_reg", 0)
        return coverage

    @property
    def _draws(self) -> bool:
        return self.score != "lac" and bool(self.randomized)

    def _uniforms(self, rows: FloatArray, seed: int) -> FloatArray:
        """Return the u of each row, 1 where none is drawn."""
        return _row_uniforms(rows, self.seeds_[seed]) if self._draws else np.ones(len(rows))

    def _categories(self, y: NDArray[np.intp], classes: NDArray[Any]) -> list[tuple[Any, str]]:
        """Return the rows that share a threshold, with words for a note about them."""
        if not self.class_conditional:
            return [(slice(None), "")]
        return [(y == k, f"class {label!r}: ") for k, label in enumerate(classes.tolist())]

    def _true_scores(self, p: FloatArray, y: NDArray[np.intp], uniforms: FloatArray) -> FloatArray:
        true = p[np.arange(len(y)), y]
        if self.score == "lac":
            return 1 - true
        scores = np.empty(len(y))
        for rows in row_blocks(*p.shape):
            above, rank = _ranked_above(p[rows])
            block = above + self._penalty(rank)
            scores[rows] = block[np.arange(len(block)), y[rows]]
        return scores + uniforms * true

    def _penalty(self, rank: FloatArray) -> Any:
        """Return the penalty on the score of each class by its rank, 1 for the most probable."""
        return 0.0 if self.score == "aps" else self.penalty * np.maximum(rank - self.k_reg, 0.0)

    def _class_scores(self, p: FloatArray, uniforms: FloatArray) -> FloatArray:
        """Return the score of each class of each row, which is compared with the threshold."""
        if self.score == "lac":
            return 1 - p
        above, rank = _ranked_above(p)
        scores = above + self._penalty(rank) + uniforms[:, None] * p
        if self._draws:
            return scores
        # The score of the class ranked before it, and the next number up: then <= lets in what is
        # strictly below the threshold.
        before = above + self._penalty(rank - 1)
        return np.minimum(np.nextafter(before, np.inf), scores)


def _ranked_above(p: FloatArray) -> Block:
    """Return the sum of the probabilities of the classes ranked above each class, and its rank."""
    order = np.argsort(-p, axis=1, kind="stable")
    above = np.zeros(p.shape)
    np.cumsum(np.take_along_axis(p, order, axis=1)[:, :-1], axis=1, out=above[:, 1:])
    scattered, rank = np.empty(p.shape), np.empty(p.shape)
    np.put_along_axis(scattered, order, above, axis=1)
    np.put_along_axis(rank, order, np.arange(1.0, p.shape[1] + 1)[None], axis=1)
    return scattered, rank


def _tail_counts(scores: FloatArray, weight: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Return the distinct scores, and how many samples have at least each of them, and 0."""
    distinct, places = np.unique(scores, return_inverse=True)
    counts = np.bincount(places, weights=weight).astype(np.float64)
    return distinct, np.append(np.cumsum(counts[::-1])[::-1], 0.0)


def _p_value(
    known: FloatArray,
    at_least: FloatArray,
    scores: FloatArray,
    tie: FloatArray | None,
    own: FloatArray,
) -> FloatArray:
    """Return the p-value of each score among the known ones; ``tie`` smoothes it.

    ``own`` is how much the new sample counts.
    """
    first = np.searchsorted(known, scores.ravel()).reshape(scores.shape)
    reached = at_least[first]
    if tie is None:
        return (own + reached) / (own + at_least[0])
    beyond = at_least[first + (np.append(known, np.nan)[first] == scores)]
    return (beyond + tie * (own + reached - beyond)) / (own + at_least[0])


def _row_uniforms(rows: FloatArray, seed: np.integer[Any]) -> FloatArray:
    """Return a number in [0, 1) for each row, from the seed, the row and its earlier copies.

    Drawing in the order of the rows would give a sample another number in another batch; one
    number for all identical rows would not be random where a model knows only a few.
    """
    state = np.full(len(rows), seed, dtype=np.uint64)
    for column in (rows + 0.0).view(np.uint64).T:  # a negative zero equals zero but has other bits
        state = _mixed(state ^ column)
    order = np.argsort(state, kind="stable")
    first = np.append(True, np.diff(state[order]) != 0)
    place = np.arange(len(rows))
    copies = np.empty(len(rows), dtype=np.uint64)
    copies[order] = place - np.maximum.accumulate(np.where(first, place, 0))
    bits = _mixed(state ^ _mixed(copies)) >> np.uint64(11)
    return bits.astype(np.float64) * 2.0**-53


def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the next output of SplitMix64 (Steele, Lea, Flood 2014) for each state."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))
