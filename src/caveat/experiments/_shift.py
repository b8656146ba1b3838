"""Shifts of the inputs and of the domain: what happens to errors and uncertainties?"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._random import RandomState, generator
from .._validation import LARGEST, check_flags, check_fraction, check_size
from ..evaluation.answers import plan_for
from ..exceptions import InvalidValueError, OptionError, ShapeError, UnsupportedPredictionError
from ._shift_domain import between, growths
from ._shift_quantities import Key, ask, predictor
from ._shift_result import DomainShift, ShiftCurves, ShiftRow

Corruption = Callable[[Any, float, np.random.Generator], Any]


def gaussian_noise(X: Any, strength: float, rng: np.random.Generator) -> Any:
    """Add normal noise to every feature, in units of its standard deviation.

    Parameters
    ----------
    X : array of shape (samples, ...) or frame of numbers
    strength : float
        Standard deviation of the noise, where 1 is that of the feature over these samples. A
        constant feature stays as it is.
    rng : Generator

    Returns
    -------
    array or frame
        The same type and shape as X.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 7.0], [2.0, 7.0]])
    >>> noisy = gaussian_noise(X, 0.1, np.random.default_rng(0))
    >>> noisy.round(3).tolist()
    [[0.013, 7.0], [2.064, 7.0]]
    """
    from .._arrays import to_numpy

    values = np.asarray(to_numpy(X, "X").array)
    if values.dtype.kind not in "fiub" or not values.ndim or not values.size:
        raise InvalidValueError("X must hold numbers alone to get noise; pass corruption=")
    check_size(values.astype(np.float64), "X", ("sample", *("feature" for _ in values.shape[1:])))
    if not isinstance(strength, int | float | np.number) or not 0 <= strength <= LARGEST:
        raise OptionError(f"strength must be a number of at least 0; got {strength!r}")
    precision = values.dtype if values.dtype.kind == "f" else np.float64
    scale = values.std(axis=0, dtype=np.float64)
    noisy = (values + strength * scale * rng.standard_normal(values.shape)).astype(precision)
    if hasattr(X, "columns") and hasattr(X, "index"):
        return type(X)(noisy, index=X.index, columns=X.columns)
    return noisy


def shift_curves(
    model: Any,
    X: Any,
    y: Any,
    *,
    corruption: Corruption | None = None,
    strengths: Sequence[float] = (0.0, 0.25, 0.5, 1.0, 2.0),
    metrics: Sequence[str] | None = None,
    decomposition: str = "auto",
    confidence: float = 0.95,
    resamples: int = 1000,
    random_state: RandomState = None,
) -> ShiftCurves:
    """Measure errors, calibration and uncertainty as the inputs are corrupted more and more.

    Nothing is trained. All strengths use the same draw of random numbers and the same resamples, so
    that differences between them are those of the strength.

    Parameters
    ----------
    model : fitted model, or function
        With ``predict_distribution``; of scikit-learn (trees and parts are members); or a function
        that takes samples and returns a prediction.
    X : array of shape (samples, ...)
        Samples to test on.
    y : array of shape (samples,) or (samples, targets)
    corruption : function (X, strength, rng) -> X, optional
        By default `gaussian_noise`; a strength of 1 is one standard deviation of each feature.
    strengths : sequence of float, default=(0.0, 0.25, 0.5, 1.0, 2.0)
        In increasing order; 0 is no shift.
    metrics : list of str, optional
        Names or aliases from ``caveat.metrics.METRICS``; by default accuracy or errors, scores,
        calibration and ranking, as far as the prediction supports them.
    decomposition : str, default="auto"
        How to split the uncertainty, see `caveat.decompose`.
    resamples : int, default=1000
        Bootstrap resamples of the samples; 0 leaves the intervals out.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=50, random_state=0).fit(X[::2], y[::2])
    >>> result = shift_curves(forest, X[1::2], y[1::2], resamples=100, random_state=0)
    >>> accuracy = result.select(quantity="accuracy_score")
    >>> [row.strength for row in accuracy], accuracy[0].value > accuracy[-1].value
    ([0.0, 0.25, 0.5, 1.0, 2.0], True)
    """
    confidence = check_fraction(confidence, "confidence")
    levels = _strengths(strengths)
    predict = predictor(model)
    if corruption is not None and not callable(corruption):
        raise OptionError(
            f"corruption must be a function of X, strength and rng; got {corruption!r}"
        )
    corrupt = gaussian_noise if corruption is None else corruption
    rng = generator(random_state)
    noise, draws, seed = (int(rng.integers(2**31)) for _ in range(3))
    curves: dict[Key, list[ShiftRow]] = {}
    plan, description = None, ""
    for strength in levels:
        prediction = predict(corrupt(X, strength, np.random.default_rng(noise)))
        made = plan_for(prediction, resamples, None, draws)
        if not curves:
            plan, description = made, repr(prediction)
        asked = ask(prediction, y, metrics, decomposition, plan, seed)
        for quantity in asked.quantities:
            ends = quantity.interval(confidence)
            curves.setdefault(quantity.key, []).append(
                ShiftRow(
                    quantity.name, quantity.kind, quantity.option, quantity.target, strength,
                    quantity.value, ends.low, ends.high, quantity.direction, quantity.note,
                )
            )  # fmt: skip
    rows = tuple(row for curve in curves.values() for row in curve)
    name = getattr(corrupt, "__name__", type(corrupt).__name__).replace("_", " ")
    return ShiftCurves(rows, description, name, confidence)


def domain_shift(
    prediction_in: Any,
    y_in: Any,
    prediction_out: Any,
    y_out: Any,
    *,
    metrics: Sequence[str] | None = None,
    component: str = "total",
    decomposition: str = "auto",
    one_model: bool = True,
    resamples: int = 1000,
    confidence: float = 0.95,
    random_state: RandomState = None,
) -> DomainShift:
    """Compare the predictions of a model in the domain it was trained for with those outside of it.

    Every metric and every mean uncertainty in domain, out of domain, and their ratio (out over in)
    and gap (out less in). Two questions are answered from the ratios: does the epistemic
    uncertainty grow more than the aleatoric one, as it should where a model knows less, and does
    the total uncertainty grow as much as the error?

    Parameters
    ----------
    prediction_in : prediction
        What a model predicts for samples in domain.
    y_in : array of shape (samples,) or (samples, targets)
    prediction_out : prediction
        The same out of domain.
    y_out : array of shape (samples,) or (samples, targets)
    metrics : list of str, optional
        Names or aliases from ``caveat.metrics.METRICS``; by default accuracy or errors, scores,
        calibration, dispersion and ranking, as far as both predictions support them.
    component : {"total", "aleatoric", "epistemic"}, default="total"
        The part of the uncertainty whose metrics are compared; see `caveat.evaluate`.
    decomposition : str, default="auto"
        How to split the uncertainty, see `caveat.decompose`.
    resamples : int, default=1000
        Bootstrap resamples, drawn independently in and out of domain; 0 leaves the intervals out.
    one_model : bool, default=True
        Whether one model made both predictions. Intervals are of the samples alone: another split
        or training gives other numbers, so that of two models the questions stay open.

    Returns
    -------
    DomainShift
        Metrics that can be negative have a gap alone.

    References
    ----------
    G. Scalia, C. A. Grambow, B. Pernici, Y.-P. Li & W. H. Green (2020). Evaluating scalable
    uncertainty estimation methods for deep learning-based molecular property prediction. JCIM.
    There ratios are in over out; here they are out over in, so that above 1 an error grew.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> inside = caveat.Gaussian(rng.normal(0, 0.1, size=(10, 300, 1)), 1.0)
    >>> outside = caveat.Gaussian(rng.normal(0, 1, size=(10, 300, 1)), 1.0)
    >>> y_in, y_out = rng.normal(0, 1, 300), rng.normal(0, 2, 300)
    >>> result = domain_shift(inside, y_in, outside, y_out, random_state=0)
    >>> [growth.answer for growth in result.growth]
    ['yes', 'less']
    """
    confidence = check_fraction(confidence, "confidence")
    check_flags(one_model=one_model)
    if type(prediction_in) is not type(prediction_out):
        raise UnsupportedPredictionError(
            f"prediction_in is a {type(prediction_in).__name__} and prediction_out a "
            f"{type(prediction_out).__name__}; both must be of one kind"
        )
    rng = generator(random_state)
    asked = []
    for prediction, y in ((prediction_in, y_in), (prediction_out, y_out)):
        draws, seed = (int(rng.integers(2**31)) for _ in range(2))
        plan = plan_for(prediction, resamples, None, draws)
        asked.append(ask(prediction, y, metrics, decomposition, plan, seed, component))
    inside, outside = asked
    if set(inside.errors) != set(outside.errors):
        raise ShapeError(
            f"prediction_in has the targets {', '.join(inside.errors)}, prediction_out "
            f"{', '.join(outside.errors)}; both must have the same"
        )
    return DomainShift(
        rows=tuple(between(inside, outside, confidence)),
        growth=tuple(
            growths(inside, outside, confidence, hasattr(prediction_in, "classes"), one_model)
        ),
        samples_in=len(prediction_in),
        samples_out=len(prediction_out),
        description=type(prediction_in).__name__
        + ("" if component == "total" else f", {component} uncertainty alone")
        + ("" if one_model else ", of these two models alone"),
        confidence=confidence,
    )


def _strengths(strengths: Any) -> list[float]:
    try:
        levels = np.asarray(strengths, dtype=np.float64)
    except (TypeError, ValueError):
        levels = np.array([])
    if levels.ndim != 1 or not len(levels) or not np.isfinite(levels).all():
        raise OptionError(f"strengths must be a sequence of numbers; got {strengths!r}")
    if (levels < 0).any() or (np.diff(levels) <= 0).any():
        raise OptionError(
            f"strengths must be at least 0, each larger than the one before; got {strengths!r}"
        )
    return [float(level) for level in levels]
