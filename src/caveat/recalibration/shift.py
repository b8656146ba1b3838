"""Weights that make calibration samples stand for test samples after a shift."""

from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._random import RandomState, generator
from .._validation import (
    FloatArray,
    LabelArray,
    as_floats,
    check_flags,
    check_fraction,
    check_integer,
    check_size,
)
from ..exceptions import InvalidValueError, OptionError, ShapeError, UnsupportedPredictionError
from ..predictions import Categorical, GaussianLogits
from ..predictions.given import as_prediction, prediction_of
from ._classes import as_probabilities
from ._thresholds import effective_samples, worth_words
from .exchangeability import read_pair

_FEW_EFFECTIVE = 20
_LARGEST_CONDITION = 1e8


@dataclass(frozen=True)
class LikelihoodRatio:
    r"""Result of :func:`likelihood_ratio`; the argument ``shift`` of conformal recalibrators.

    Attributes
    ----------
    calibration : ndarray of shape (calibration samples,)
        How much likelier each calibration sample is among test samples, up to one factor.
    test : ndarray of shape (test samples,)
        The same for the test samples; infinite where nothing like it is among the calibration
        samples.
    effective_samples : float
        How many samples of equal weight the calibration samples are worth, :math:`(\sum w)^2 /
        \sum w^2`.
    area : float
        The area under the ROC curve of the classifier that tells test from calibration samples,
        out of fold: 0.5 if it cannot.
    message : str
        The result in words.
    """

    calibration: FloatArray = field(repr=False)
    test: FloatArray = field(repr=False)
    effective_samples: float
    area: float
    message: str


@dataclass(frozen=True)
class LabelShift:
    """Result of :func:`label_shift`; the argument ``shift`` of `ConformalSets`.

    Attributes
    ----------
    classes : ndarray of shape (classes,)
    weights : ndarray of shape (classes,)
        How much more frequent each class is among test samples than in calibration.
    standard_errors : ndarray of shape (classes,)
        From the sampling error of the confusion matrix and of the test predictions.
    lower, upper : ndarrays of shape (classes,)
        Bounds within which all weights are together, at ``confidence``.
    confidence : float
    shares : ndarray of shape (classes,)
        Estimated shares of the classes among the test samples.
    effective_samples : float
        How many samples of equal weight the calibration samples are worth.
    message : str
        The result in words.
    """

    classes: LabelArray
    weights: FloatArray
    standard_errors: FloatArray
    lower: FloatArray
    upper: FloatArray
    confidence: float
    shares: FloatArray
    effective_samples: float
    message: str


def likelihood_ratio(
    calibration: Any,
    test: Any,
    *,
    classifier: Any = None,
    folds: int = 5,
    random_state: RandomState = None,
) -> LikelihoodRatio:
    r"""Estimate how much likelier each sample is under the test than the calibration distribution.

    A classifier learns to tell test from calibration samples. With :math:`p` its probability of a
    test sample, the ratio is :math:`\frac{p}{1 - p} \cdot \frac{n}{m}` for :math:`n` calibration
    and :math:`m` test samples. Each sample is judged by a classifier that was fitted without
    it (cross-fitting), so that none can be recognized.

    Parameters
    ----------
    calibration, test : arrays of shape (samples,) or (samples, columns), or predictions
        Inputs of the model: all that the truth depends on and whose distribution has changed.
    classifier : scikit-learn classifier, optional
        With ``predict_proba``; by default a logistic regression of the standardized columns. Its
        probabilities must be calibrated.
    folds : int, default=5
    random_state : int, Generator or None, optional
        For the division into folds.

    Notes
    -----
    **Requires** that the truth given the inputs is distributed in test samples as in calibration
    samples (covariate shift). That cannot be checked without true values of test samples.

    **Promises** nothing by itself: with an estimated ratio :math:`\hat w` instead of the right one
    :math:`w`, both scaled to a mean of 1 in calibration, conformal coverage may fall short by at
    most half of :math:`E|\hat w - w|` [1]_.

    References
    ----------
    .. [1] L. Lei, E. J. Candès. Conformal Inference of Counterfactuals and Individual Treatment
       Effects. Journal of the Royal Statistical Society B, 2021.
    .. [2] R. J. Tibshirani, R. Foygel Barber, E. J. Candès, A. Ramdas. Conformal Prediction Under
       Covariate Shift. NeurIPS, 2019.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> shift = caveat.likelihood_ratio(
    ...     rng.normal(size=500), rng.normal(loc=1, size=500), random_state=0
    ... )
    >>> round(shift.area, 2), round(shift.effective_samples)
    (0.76, 174)
    """
    first, second = read_pair(calibration, test)
    check_integer(folds, "folds", 2)
    least = min(len(first), len(second))
    if least < folds:
        raise ShapeError(
            f"{folds} folds need at least {folds} calibration and {folds} test samples; got "
            f"{len(first)} and {len(second)}"
        )
    for side, name in ((first, "calibration"), (second, "test")):
        check_size(side, name, ("sample", "column"))
    inputs = np.concatenate([first, second])
    is_test = np.repeat([0, 1], [len(first), len(second)])
    p = _out_of_fold(inputs, is_test, classifier, folds, generator(random_state))
    with np.errstate(divide="ignore"):
        ratio = p / (1 - p) * (len(first) / len(second))
    weight, new = ratio[: len(first)], ratio[len(first) :]
    if np.isinf(weight).any():
        raise InvalidValueError(
            f"the classifier is certain that calibration sample {int(np.isinf(weight).argmax())} "
            "is a test sample, which no weight can express; pass a more regularized classifier"
        )
    if not weight.max() > 0:
        raise InvalidValueError(
            "the classifier tells all calibration samples from test samples with certainty: no "
            "weights make the first stand for the second. Calibrate on samples like the test "
            "samples"
        )
    worth = effective_samples(weight)
    return LikelihoodRatio(
        weight, new, worth, area := _area(p, is_test), _ratio_message(len(weight), worth, area)
    )


def _ratio_message(samples: int, worth: float, area: float) -> str:
    words = (
        f"a classifier tells test from calibration samples with an area under the ROC curve of "
        f"{area:.2f}; the {samples} calibration samples are worth {worth_words(worth)} after "
        "weighting"
    )
    if worth >= _FEW_EFFECTIVE:
        return words
    return words + (
        ": too few of them are like the test samples, so that intervals and sets will be wide or "
        "infinite, and errors of the ratio weigh heavily. Calibrate on samples like the test "
        "samples"
    )


def _out_of_fold(
    inputs: FloatArray,
    is_test: NDArray[np.intp],
    classifier: Any,
    folds: int,
    rng: np.random.Generator,
) -> FloatArray:
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if classifier is None:
        classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    if not hasattr(classifier, "predict_proba") or not hasattr(classifier, "fit"):
        raise OptionError(
            "classifier must be a scikit-learn classifier with predict_proba; got a "
            f"{type(classifier).__name__}"
        )
    p = np.empty(len(inputs))
    parts = StratifiedKFold(folds, shuffle=True, random_state=int(rng.integers(2**31)))
    for fit_rows, rows in parts.split(inputs, is_test):
        fitted = clone(classifier).fit(inputs[fit_rows], is_test[fit_rows])
        p[rows] = fitted.predict_proba(inputs[rows])[:, 1]
    return p


def _area(p: FloatArray, is_test: NDArray[np.intp]) -> float:
    from ..metrics import detection_roc_auc_score

    return detection_roc_auc_score(is_test, p)


def label_shift(
    prediction: Any,
    y: Any,
    test: Any,
    *,
    classes: Any = None,
    soft: bool = True,
    confidence: float = 0.99,
) -> LabelShift:
    r"""Estimate how the shares of the classes have changed, from the confusion matrix.

    With :math:`C_{ij}` how often a calibration sample is predicted as class :math:`i` and is of
    class :math:`j`, and :math:`q_i` how often a test sample is predicted as class :math:`i`, the
    weights :math:`w` of the classes solve :math:`C w = q` (black-box shift estimation [1]_). Their
    covariance is :math:`C^{-1} (V_q / m + V_C / n) C^{-T}`, with :math:`V_q` the covariance of the
    predictions of the :math:`m` test samples and :math:`V_C` that of the predictions of the
    :math:`n` calibration samples, each times the weight of its class.

    Parameters
    ----------
    prediction : Categorical, GaussianLogits or array of probabilities
        What the model says of the calibration samples.
    y : array of shape (samples,)
        Their true classes.
    test : Categorical, GaussianLogits or array of probabilities
        What the same model says of the test samples.
    classes : sequence of labels, optional
        The classes of arrays.
    soft : bool, default=True
        Let a sample count for each class with its probability, which has less noise; or count it
        for the most probable class.
    confidence : float, default=0.99
        That of the bounds, for all classes together (Bonferroni, normal approximation).

    Notes
    -----
    **Requires** that samples of one class are alike in calibration and test; only the shares of the
    classes may change. If the samples of a class change, the weights are wrong, without a sign.

    References
    ----------
    .. [1] Z. C. Lipton, Y.-X. Wang, A. J. Smola. Detecting and Correcting for Label Shift with
       Black Box Predictors. ICML, 2018.
    .. [2] A. Podkopaev, A. Ramdas. Distribution-free uncertainty quantification for classification
       under label shift. UAI, 2021.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> def draw(samples, share):
    ...     y = (rng.random(samples) < share).astype(int)
    ...     return 1 / (1 + np.exp(-2 * rng.normal(2 * y - 1))), y
    >>> p, y = draw(1000, 0.5)
    >>> shift = caveat.label_shift(p, y, draw(1000, 0.2)[0])
    >>> shift.shares.round(2)
    array([0.77, 0.23])
    """
    check_flags(soft=soft)
    confidence = check_fraction(confidence, "confidence")
    first, second = _read_classes(prediction, test, y, classes)
    codes = first.align(y)
    known = first.classes
    counts = np.bincount(codes, minlength=len(known))
    if not counts.all():
        missing = known.tolist()[int(np.argmin(counts))]
        raise InvalidValueError(
            f"class {missing!r} has no calibration sample, so that its share among the test "
            "samples cannot be estimated; add samples of it, or leave the class out of the "
            "predictions"
        )
    says, new = (_votes(as_probabilities(part).mean, bool(soft)) for part in (first, second))
    if len(says) < 2 or len(new) < 2:
        raise ShapeError("label_shift needs at least 2 calibration and 2 test samples")
    samples, size = len(codes), len(known)
    confusion = np.stack([says[codes == k].sum(axis=0) for k in range(size)], axis=1) / samples
    if np.linalg.cond(confusion / (counts / samples)) > _LARGEST_CONDITION:
        raise InvalidValueError(
            "the confusion matrix has no inverse: the predictions of some classes are alike, or a "
            "class is never predicted; pass soft=True, or merge such classes"
        )
    shares = new.mean(axis=0)
    weights = np.linalg.solve(confusion, shares)
    noise = np.cov(new.T) / len(new) + np.cov((says * weights[codes][:, None]).T) / samples
    inverse = np.linalg.inv(confusion)
    errors = np.sqrt(np.clip(np.diag(inverse @ noise @ inverse.T), 0.0, None))
    reach = NormalDist().inv_cdf(1 - (1 - confidence) / (2 * size)) * errors
    lower = np.clip(weights - reach, 0.0, None)
    upper = np.maximum(weights + reach, 0.0)
    weights = np.clip(weights, 0.0, None)
    worth = effective_samples(weights[codes])
    return LabelShift(
        known, weights, errors, lower, upper, confidence, weights * counts / samples, worth,
        _label_message(known, weights, lower, upper, samples, worth, confidence),
    )  # fmt: skip


def _label_message(
    classes: LabelArray,
    weights: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    samples: int,
    worth: float,
    confidence: float,
) -> str:
    most = int(np.argmax(np.abs(np.log(np.maximum(weights, 1e-3)))))
    words = (
        f"class {classes.tolist()[most]!r} is {weights[most]:.2f} times as frequent among the test "
        f"samples as in calibration ({confidence:g} bounds: {lower[most]:.2f} to "
        f"{upper[most]:.2f}); the {samples} calibration samples are worth {worth_words(worth)} "
        "after weighting"
    )
    if ((lower <= 1) & (upper >= 1)).all():
        words += "; the shares of the classes may also be unchanged"
    return words


def _votes(p: FloatArray, soft: bool) -> FloatArray:
    return p if soft else np.eye(p.shape[1])[p.argmax(axis=1)]


def _read_classes(prediction: Any, test: Any, y: Any, classes: Any) -> tuple[Any, Any]:
    first = as_prediction(prediction, y, classes)
    if not isinstance(first, Categorical | GaussianLogits):
        raise UnsupportedPredictionError(
            f"label_shift takes probabilities of classes; got a {type(first).__name__}"
        )
    second = prediction_of(test, first.classes)
    if not isinstance(second, Categorical | GaussianLogits):
        raise UnsupportedPredictionError(
            f"label_shift takes probabilities of classes; test is a {type(second).__name__}"
        )
    if second.classes.tolist() != first.classes.tolist():
        raise ShapeError(
            f"test has the classes {second.classes.tolist()}, the calibration samples "
            f"{first.classes.tolist()}; both predictions must come from the same model"
        )
    return first, second


def as_ratio(shift: Any, samples: int, side: str, *, finite: bool = False) -> FloatArray:
    """Return the likelihood ratio of each sample, ``side`` being "calibration" or "test".

    Calibration samples may have a ratio of 0, which leaves them out; test samples, which came, may
    not, but an infinite one, which nothing in calibration stands for, unless all must be finite.
    """
    value = getattr(shift, side) if isinstance(shift, LikelihoodRatio) else shift
    ratio, _, _ = as_floats(value, "shift")
    if ratio.shape != (samples,):
        raise ShapeError(
            f"shift must be one likelihood ratio for each of {samples} samples; got shape "
            f"{ratio.shape}"
        )
    known = side == "calibration"
    bounded = known or finite
    bad = ~((ratio >= 0 if known else ratio > 0) & (ratio < np.inf if bounded else True))
    if bad.any():
        first = int(bad.argmax())
        raise InvalidValueError(
            f"the likelihood ratio of {side} sample {first} is {ratio[first]:g}; it must be "
            f"{'0 or more' if known else 'above 0'}{' and finite' * bounded}"
        )
    if bounded and not 1e-70 <= ratio.max() <= 1e70:
        raise InvalidValueError(
            "the likelihood ratio of every calibration sample is 0: none of them could be a test "
            "sample, so that nothing can be learned from them"
            if not ratio.any()
            else f"the likelihood ratios go up to {ratio.max():g}, and sums of such ratios are not "
            "exact; scale those of calibration and test samples by one number, so that the largest "
            "is close to 1"
        )
    return ratio
