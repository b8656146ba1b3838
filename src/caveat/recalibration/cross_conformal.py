"""Conformal intervals and sets from the folds of a cross-validation, for small samples."""

import math
from dataclasses import field
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from .._arrays import to_numpy
from .._blocks import row_blocks
from .._constructors import Declared
from .._validation import check_choice, check_flags, check_fraction
from ..exceptions import OptionError, ShapeError, UnsupportedPredictionError
from ..predictions import Categorical, Gaussian, Interval, PredictionSet
from ..predictions.given import as_prediction, prediction_of
from ._base import check_signature, signature_of
from ._conformal import as_fraction, too_few
from ._conformal_base import each_target
from ._residuals import standardized


class CrossConformal(Declared, BaseEstimator):
    r"""Intervals or sets from out-of-fold predictions, so that no samples are set aside.

    A model is fitted K times, each time without one fold of the training samples. ``fit`` takes
    what these models say of the folds that they did not see, ``transform`` what each of them says
    of new samples: a prediction with one member for each fold. With :math:`R_i` the absolute
    out-of-fold residual of sample i, whose fold is k(i), the interval of a new sample x is from
    the :math:`\lfloor (n + 1)(1 - c) \rfloor`-th smallest of :math:`\mu_{k(i)}(x) - R_i` to the
    :math:`\lceil (n + 1) c \rceil`-th smallest of :math:`\mu_{k(i)}(x) + R_i` (CV+; jackknife+ if
    each sample is a fold [1]_). A class is in the set if fewer than :math:`(n + 1) c` samples have
    a score :math:`s_i = 1 - p_{k(i)}(y_i)` below that of the class by the model of their fold [2]_.

    Parameters
    ----------
    coverage : float
        Share of true values to cover, strictly between 0 and 1.
    method : {"plus", "minmax"}, default="plus"
        Compare each residual with the model of its own fold; or with the smallest and largest
        prediction over all models, which is wider and promises more.
    normalize : bool, default=False
        Divide residuals by the standard deviation that the model of the fold predicts; for a
        `Gaussian`.

    Attributes
    ----------
    scores_ : ndarray of shape (samples, targets), or (samples,) for classes
    folds_ : ndarray of shape (samples,)
        The place of the model of each sample among the members.
    promised_ : float
        The coverage that is promised whatever the model; often it is close to ``coverage``.
    too_few_ : tuple of str
        Says if there are too few samples, so that all intervals are infinite.

    Notes
    -----
    **Requires** exchangeable samples, a model that treats its training samples alike whatever their
    order, and predictions of each sample by the model of its own fold.

    **Promises** a coverage of at least 2c - 1 for folds of one sample (``"plus"``), and of that
    less :math:`\min(2 (1 - 1/K) / (n/K + 1), (1 - K/n) / (K + 1))` for K folds; of c for
    ``"minmax"`` with folds of one sample. In practice ``"plus"`` covers about c unless the model
    is unstable.

    **Cannot** promise coverage for single samples, nor after a shift. For K folds of several
    samples, ``"minmax"`` has no proof here; simulations show at least c.

    References
    ----------
    .. [1] R. Foygel Barber, E. J. Candès, A. Ramdas, R. J. Tibshirani. Predictive inference with
       the jackknife+. Annals of Statistics, 2021.
    .. [2] Y. Romano, M. Sesia, E. J. Candès. Classification with Valid and Adaptive Coverage.
       NeurIPS, 2020.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=30)
    >>> folds = np.arange(30) % 5
    >>> means = np.array([y[folds != k].mean() for k in range(5)])  # the models of the folds
    >>> out_of_fold = caveat.Gaussian(means[folds], 0.0)
    >>> conformal = caveat.CrossConformal(0.9).fit(out_of_fold, y, folds=folds)
    >>> new = np.repeat(means[:, None, None], 2, axis=1)  # (folds, samples, targets)
    >>> conformal.transform(caveat.Gaussian(new, np.zeros_like(new)))
    Interval: 2 samples x 1 target (0), coverage 0.9
    >>> print(conformal.summary())
    Promised: at least 66.1 % of new samples are covered; 90 % were asked for.
    From: 30 samples in 5 folds.
    Not promised: coverage for each sample, or after a shift between these samples and use.
    """

    coverage: float = field(default=0.9, kw_only=False)
    method: str = "plus"
    normalize: bool = False

    def fit(self, prediction: Any, y: Any, *, folds: Any = None, classes: Any = None) -> Self:
        """Learn from out-of-fold predictions.

        Parameters
        ----------
        prediction : Gaussian, Categorical or array of probabilities
            What is said of each training sample by the model that was fitted without its fold; one
            member.
        y : array of shape (samples,) or (samples, targets)
            What is true of them.
        folds : array of int of shape (samples,), optional
            The fold of each sample, 0 to K - 1: the place of the model that did not see it among
            the members in ``transform``. By default each sample is a fold of its own.
        classes : sequence of labels, optional
            The classes of an array.
        """
        level = as_fraction(check_fraction(self.coverage, "coverage"))
        check_choice(self.method, "method", ("plus", "minmax"))
        check_flags(normalize=self.normalize)
        prediction = _checked(as_prediction(prediction, y, classes))
        if prediction.members != 1:
            raise ShapeError(
                "fit takes one prediction of each sample, that of the model of its own fold; got "
                f"{prediction.members} members"
            )
        truth = prediction.align(y)
        if isinstance(prediction, Gaussian):
            residual = truth - prediction.mean[0]
            if self.normalize:
                residual = standardized(residual, prediction.variance[0])
            self.scores_ = np.abs(residual)
        else:
            self.scores_ = 1 - prediction.mean[np.arange(len(truth)), truth]
        self.folds_ = _folds(folds, len(prediction))
        self.signature_ = signature_of(prediction)
        words = too_few(len(truth), level)
        self.too_few_ = () if words is None else (words,)
        self.promised_ = self._promised(len(truth), int(self.folds_.max()) + 1)
        return self

    def transform(self, prediction: Any) -> Any:
        """Return intervals or sets for new samples.

        Parameters
        ----------
        prediction : Gaussian, Categorical or array of probabilities
            One member for each fold, in the order of the fold numbers: what the model that was
            fitted without this fold says of the new samples.

        Returns
        -------
        Interval or PredictionSet
        """
        if not hasattr(self, "signature_"):
            raise NotFittedError(
                "this CrossConformal is not fitted yet; call fit(prediction, y, folds=folds) first"
            )
        prediction = _checked(prediction_of(prediction, self.signature_.get("classes")))
        check_signature(self.signature_, signature_of(prediction))
        count = int(self.folds_.max()) + 1
        if prediction.members != count:
            raise ShapeError(
                f"fit saw {count} folds, so that transform needs the predictions of {count} models "
                f"as members; got {prediction.members}"
            )
        if isinstance(prediction, Gaussian):
            return self._intervals(prediction)
        return self._sets(prediction)

    def summary(self) -> str:
        """Return in words what is promised, from how many samples, and what is not promised."""
        if not hasattr(self, "signature_"):
            raise NotFittedError("this CrossConformal is not fitted yet; call fit first")
        lines = [
            f"Promised: at least {100 * self.promised_:.3g} % of new samples are covered"
            f"{each_target(self.signature_)}; "
            f"{100 * float(self.coverage):g} % were asked for.",
            f"From: {len(self.folds_)} samples in {int(self.folds_.max()) + 1} folds.",
            *(f"Too few: {words}; all samples are covered." for words in self.too_few_),
            "Not promised: coverage for each sample, or after a shift between these samples and "
            "use.",
        ]
        return "\n".join(lines)

    def _promised(self, samples: int, folds: int) -> float:
        coverage = float(self.coverage)
        if self.too_few_:
            return 1.0
        if self.method == "minmax" and folds == samples:
            return coverage
        size = samples / folds
        loss = min(2 * (1 - 1 / folds) / (size + 1), (1 - folds / samples) / (folds + 1))
        return max(2 * coverage - 1 - loss, 0.0)

    def _intervals(self, prediction: Gaussian) -> Interval:
        level = as_fraction(float(self.coverage))
        samples, targets = len(prediction), len(prediction.targets)
        ends = np.full((2, samples, targets), np.inf)
        ends[0] = -np.inf
        rank = math.ceil((len(self.scores_) + 1) * level)
        scale = np.sqrt(prediction.variance) if self.normalize else None
        for t in range(targets if not self.too_few_ else 0):
            reach = self.scores_[:, t]
            for rows in row_blocks(samples, len(reach)):
                mean = prediction.mean[:, rows, t].T
                width = reach if scale is None else scale[:, rows, t].T[:, self.folds_] * reach
                low, high = (
                    (mean[:, self.folds_], mean[:, self.folds_])
                    if self.method == "plus"
                    else (mean.min(axis=1, keepdims=True), mean.max(axis=1, keepdims=True))
                )
                ends[1, rows, t] = np.partition(high + width, rank - 1, axis=1)[:, rank - 1]
                ends[0, rows, t] = -np.partition(width - low, rank - 1, axis=1)[:, rank - 1]
        # With unstable models and few samples the ends may cross.
        lower, upper = np.minimum(ends[0], ends[1]), np.maximum(ends[0], ends[1])
        return Interval(lower, upper, coverage=float(self.coverage), targets=prediction.targets)

    def _sets(self, prediction: Categorical) -> PredictionSet:
        level = as_fraction(float(self.coverage))
        scores = 1 - prediction.probabilities
        if self.method == "minmax":
            scores = np.broadcast_to(scores.min(axis=0), scores.shape)
        below = np.zeros(scores.shape[1:])
        for fold in range(len(scores)):
            known = np.sort(self.scores_[self.folds_ == fold])
            below += np.searchsorted(known, scores[fold])  # strictly below
        # Scores are counted in whole numbers: fewer than (n + 1) c of them, exactly.
        most = math.ceil((len(self.scores_) + 1) * level) - 1
        return PredictionSet(
            below <= most, coverage=float(self.coverage), classes=prediction.classes
        )


def _checked(prediction: Any) -> Any:
    if not isinstance(prediction, Gaussian | Categorical):
        raise UnsupportedPredictionError(
            f"CrossConformal takes a Gaussian or a Categorical; got a {type(prediction).__name__}"
        )
    return prediction


def _folds(folds: Any, samples: int) -> np.ndarray:
    """Return the fold of each sample; each is one by itself if none are given."""
    if folds is None:
        return np.arange(samples)
    array = to_numpy(folds, "folds").array
    if array.shape != (samples,):
        raise ShapeError(
            f"folds must be one number for each of {samples} samples; got shape {array.shape}"
        )
    whole = array.dtype.kind in "iu" and array.min() >= 0
    if not whole:
        raise OptionError("folds must be whole numbers from 0, the places of the folds' models")
    count = int(array.max()) + 1
    if count > samples or len(np.unique(array)) < count:
        missing = next(k for k in range(count) if not (array == k).any())
        raise OptionError(f"fold {missing} has no sample; number folds from 0 without gaps")
    if count < 2:
        raise OptionError("there must be at least 2 folds; got 1")
    return array.astype(np.intp)
