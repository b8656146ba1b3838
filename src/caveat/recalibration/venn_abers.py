"""Venn-ABERS: for each class two probabilities, one of which is calibrated."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray, check_integer
from ..exceptions import ShapeError
from ..predictions import Categorical, GaussianLogits, ProbabilityInterval
from ._base import Recalibrator
from ._classes import as_probabilities, calibration_rows, one_vs_rest


class VennAbers(Recalibrator):
    r"""Venn-ABERS probabilities: two isotonic fits that include the sample itself.

    With calibration scores :math:`s_i` of a class and :math:`z_i = [y_i \text{ is the class}]`, a
    sample of score :math:`s` gets

    .. math:: p_0 = f_0(s), \quad p_1 = f_1(s), \qquad
       f_u = \text{isotonic fit to } (s_1, z_1), \dots, (s_n, z_n), (s, u)

    as ``lower`` and ``upper``. No fit is repeated for a sample: with :math:`P_a = (W_a, S_a)` the
    cumulative counts of all samples and of the class below the :math:`a`-th distinct score,

    .. math:: p_1 = \max_{a \le j} \min_{b > a} \frac{S_b - S_a + 1}{W_b - W_a + 1}

    where :math:`j` distinct scores are below :math:`s`, and :math:`b` need only run over the
    corners of the greatest convex minorant of the :math:`P_a`. So all values of :math:`p_1` come
    from one isotonic fit and one bisection for each score, in :math:`O(n \log n)`; :math:`p_0` is
    1 minus the same for the other classes, with the order of the scores reversed.

    Parameters
    ----------
    folds : int, optional
        Deal the calibration samples into this many parts (by label, then score, so that the parts
        are alike and the order of the rows plays no part), fit each, and merge the parts' values by
        geometric means as cross Venn-ABERS does [1]_:
        :math:`\mathrm{GM}(p_1) / (\mathrm{GM}(1 - p_0) + \mathrm{GM}(p_1))` is what
        ``to_categorical()`` of the result gives for two classes. In the paper each part also has a
        model of its own, trained on the other parts; here all have the one model that made the
        predictions.

    Attributes
    ----------
    steps_ : list of lists of dicts
        For each part and each class (with two classes the second alone): the ``scores`` where a
        value changes, and the values ``lower`` and ``upper`` between them, one more than scores. At
        such a score itself ``lower`` has changed and ``upper`` not yet.

    Notes
    -----
    **Requires** calibration samples that the model was not trained on, exchangeable with those to
    come. Members are averaged first; the softmax of logits with noise is averaged over it. A
    weight says how often a calibration sample counts; the sample itself counts once.

    **Promises** that of the two values the one that belongs to the truth (``upper`` if the sample
    is of the class, ``lower`` if not) is calibrated at any size of the calibration set: among all
    samples given the value :math:`p`, a share :math:`p` is of the class. For more than two classes
    this holds for each class by itself. The values never decrease with the score.

    **Cannot** promise it for a single probability: the merged one of ``to_categorical()`` is only
    near when the interval is narrow, the same holds with ``folds``, whose interval closes to the
    merged value where the parts differ by more than their widths. It cannot tell samples of one
    score apart, nor make up for a shift between calibration and use.

    References
    ----------
    .. [1] V. Vovk, I. Petej, V. Fedorova. Large-scale probabilistic predictors with and without
       guarantees of validity. NeurIPS, 2015.
    .. [2] V. Vovk, I. Petej. Venn-Abers predictors. UAI, 2014.

    Examples
    --------
    >>> import caveat
    >>> calibration = caveat.Categorical.from_binary([0.1, 0.3, 0.6, 0.7, 0.8])
    >>> recalibrator = caveat.VennAbers().fit(calibration, [0, 0, 1, 0, 1])
    >>> interval = recalibrator.transform(caveat.Categorical.from_binary([0.2, 0.65]))
    >>> interval.lower[:, 1].round(3), interval.upper[:, 1].round(3)
    (array([0.   , 0.333]), array([0.5  , 0.667]))
    >>> interval.to_categorical().mean[:, 1].round(3)
    array([0.333, 0.5  ])
    """

    takes = (Categorical, GaussianLogits)

    folds: int | None = None

    def _fit(self, prediction: Any, y: NDArray[np.intp], weight: FloatArray | None) -> None:
        score, y, weight = calibration_rows(as_probabilities(prediction), y, weight, "mean")
        folds = self._check_folds(len(y))
        by_class = [
            _fold_steps(np.ascontiguousarray(score[:, k]), y == k, weight, folds)
            for k in one_vs_rest(score.shape[1])
        ]
        self.steps_ = [list(parts) for parts in zip(*by_class, strict=True)]

    def _transform(self, prediction: Any) -> ProbabilityInterval:
        score = as_probabilities(prediction).mean
        lower, upper = np.empty(score.shape), np.empty(score.shape)
        for i, k in enumerate(one_vs_rest(score.shape[1])):
            parts = [part[i] for part in self.steps_]
            lower[:, k], upper[:, k] = _merged(parts, np.ascontiguousarray(score[:, k]))
        if score.shape[1] == 2:
            lower[:, 0], upper[:, 0] = 1 - upper[:, 1], 1 - lower[:, 1]
        return ProbabilityInterval._trusted(
            {"lower": lower, "upper": upper, "classes": prediction.classes}
        )

    def _check_folds(self, samples: int) -> int:
        if self.folds is None:
            return 1
        folds = check_integer(self.folds, "folds", 2)
        if folds > samples:
            raise ShapeError(
                f"{folds} folds need at least {folds} calibration samples; got {samples}"
            )
        return folds


def _fold_steps(
    score: FloatArray, positive: NDArray[np.bool_], weight: FloatArray | None, folds: int
) -> list[dict[str, FloatArray]]:
    """Return the step functions of each part of the calibration samples."""
    if folds == 1:
        return [_steps(score, positive, weight)]
    keys = (score, positive) if weight is None else (weight, score, positive)
    order = np.lexsort(keys)
    parts = [order[i::folds] for i in range(folds)]
    return [_steps(score[i], positive[i], None if weight is None else weight[i]) for i in parts]


def _steps(
    score: FloatArray, positive: NDArray[np.bool_], weight: FloatArray | None
) -> dict[str, FloatArray]:
    """Return lower and upper as functions of the score, kept only where they change."""
    from scipy.optimize import isotonic_regression

    distinct, width, hits = _by_score(score, positive, weight)
    fit = isotonic_regression(hits / width, weights=width)
    slopes = fit.x[fit.blocks[:-1]]
    starts, run, rise = _lines(width, hits, fit.blocks, slopes)
    upper = np.zeros(len(width) + 1)
    upper[starts], upper[-1] = (rise + 1) / (run + 1), 1.0
    # Rounded sums of weights may leave [0, 1] by the last digit.
    upper = np.minimum(np.maximum.accumulate(upper), 1.0)
    # The other classes in reversed order: their upper value is what the lower one leaves of 1. As
    # one ratio, so that a lower and an upper value of 1/5 are the same number.
    corners = len(width) - fit.blocks[::-1]
    starts, run, rise = _lines(width[::-1], (width - hits)[::-1], corners, 1 - slopes[::-1])
    lower = np.ones(len(width) + 1)
    lower[starts], lower[-1] = (run - rise) / (run + 1), 0.0
    lower = np.maximum(np.minimum.accumulate(lower), 0.0)[::-1]
    changes = np.flatnonzero((lower[1:] != lower[:-1]) | (upper[1:] != upper[:-1]))
    kept = np.append(0, changes + 1)
    return {"scores": distinct[changes], "lower": lower[kept], "upper": upper[kept]}


def _by_score(
    score: FloatArray, positive: NDArray[np.bool_], weight: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the distinct scores, and how many samples and how many positives have each."""
    order = np.argsort(score) if weight is None else np.lexsort((weight, positive, score))
    score, positive = score[order], positive[order]
    first = np.append(0, np.flatnonzero(score[1:] != score[:-1]) + 1)
    if weight is None:
        width = np.diff(first, append=len(score)).astype(np.float64)
        return score[first], width, np.add.reduceat(positive.astype(np.float64), first)
    weight = weight[order]
    return score[first], np.add.reduceat(weight, first), np.add.reduceat(weight * positive, first)


def _lines(
    width: FloatArray, hits: FloatArray, corners: NDArray[np.intp], slopes: FloatArray
) -> tuple[NDArray[np.intp], FloatArray, FloatArray]:
    """Return the scores that may attain the maximum, with the counts of their minimum.

    ``corners`` are those of the greatest convex minorant, ``slopes`` the slopes between them. A
    score preceded by positives alone cannot attain the maximum and is left out.
    """
    starts = np.append(0, np.flatnonzero(hits[:-1] < width[:-1]) + 1)
    total, hits = np.append(0.0, np.cumsum(width)), np.append(0.0, np.cumsum(hits))
    x, y = total[starts], hits[starts]
    corner = np.searchsorted(corners, starts, side="right")
    step = 2 ** (len(corners) - 1).bit_length() // 2
    # From the last corner on the slope is one that no line reaches, which ends every search there.
    slopes = np.pad(slopes, (0, 2 * step + 1), constant_values=2.0)
    corner_x = np.pad(total[corners], (0, 2 * step), mode="edge")
    corner_y = np.pad(hits[corners], (0, 2 * step), mode="edge")
    while step:
        # Go on while the minorant is less steep than the line from the score to this corner.
        i = corner + (step - 1)
        further = slopes[i] * (corner_x[i] - x + 1) < corner_y[i] - y + 1
        corner += further * step
        step //= 2
    return starts, corner_x[corner] - x, corner_y[corner] - y


def _merged(parts: list[dict[str, Any]], score: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper of each score, merged over the parts."""
    lowers, uppers = zip(*(_look_up(steps, score) for steps in parts), strict=True)
    if len(parts) == 1:
        return np.minimum(lowers[0], uppers[0]), uppers[0]
    with np.errstate(divide="ignore"):  # a lower of 1 means a geometric mean of 0
        against = np.exp(np.mean(np.log1p(-np.array(lowers)), axis=0))
    upper = np.exp(np.mean(np.log(uppers), axis=0))
    # Parts that disagree can leave a sum below 1; merging keeps their ratio.
    excess = np.minimum(upper + against, 1.0)
    upper = upper / excess
    return np.clip(1 - against / excess, 0.0, upper), upper


def _look_up(steps: dict[str, Any], score: FloatArray) -> tuple[FloatArray, FloatArray]:
    below = np.searchsorted(steps["scores"], score)
    known = np.append(steps["scores"], np.nan)[below] == score
    return steps["lower"][below + known], steps["upper"][below]
