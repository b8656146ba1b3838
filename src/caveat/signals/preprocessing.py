"""Steps of a scikit-learn pipeline: arrays (samples, channels, time) or `Signals` in, and out."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from .._constructors import declared
from .._validation import FloatArray, check_integer, check_number
from ..exceptions import InvalidValueError, LabelError, OptionError, ShapeError
from .container import Signals, same_rate
from .quality import Screening, quality_index, screen

__all__ = ["BandPass", "QualityIndex", "Reject", "Resample", "Standardize"]


class Step(TransformerMixin, BaseEstimator):
    """A step that learns nothing; it is not used by itself."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the options and the shape of the segments.

        Parameters
        ----------
        X : Signals, or array of shape (samples, channels, time)
        y : object, optional
            Ignored.

        Returns
        -------
        self
        """
        segments, rate = self._opened(X)
        self._check(segments, rate)
        self.shape_, self.rate_ = segments.shape[1:], rate
        self.channels_ = X.channels if isinstance(X, Signals) else None
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def transform(self, X: Any) -> Any:
        """Return the segments after this step, of the type they came in.

        Parameters
        ----------
        X : Signals, or array of shape (samples, channels, time)
        """
        made, rate_after = self.at(*self._entered(X))
        if isinstance(X, Signals):
            return replace(X, X=made, sampling_rate=rate_after)
        return made

    def at(self, X: FloatArray, rate: float) -> tuple[FloatArray, float]:
        """Return segments of some rate after this step, and their rate then.

        Parameters
        ----------
        X : array of shape (samples, channels, time)
        rate : float
            Their sampling rate, in Hz.
        """
        self._check(X, rate)
        if hasattr(self, "shape_") and X.shape[1] != self.shape_[0]:
            raise ShapeError(
                f"{type(self).__name__} was fitted on {self.shape_[0]} channels; got {X.shape[1]}"
            )
        return self._apply(X, rate)

    def rate_after(self, rate: float) -> float:
        """Return the sampling rate after this step; raise if it was made for another one.

        Parameters
        ----------
        rate : float
            The rate before it, in Hz.
        """
        self._check_rate(rate)
        known = getattr(self, "rate_", np.nan)
        if np.isfinite(known) and not same_rate(known, rate):
            raise OptionError(
                f"{type(self).__name__} was fitted at {known:g} Hz, but these signals have "
                f"{rate:g} Hz; put Resample before it"
            )
        return rate

    def _check_rate(self, rate: float) -> None:
        own = getattr(self, "sampling_rate", None)
        if own is not None and not same_rate(own, rate):
            raise OptionError(
                f"{type(self).__name__} has sampling_rate={own:g}, but these signals have "
                f"{rate:g} Hz"
            )

    def _entered(self, X: Any) -> tuple[FloatArray, float]:
        """Return segments and their rate, after a comparison of names and rate with the fit."""
        segments, rate = self._opened(X)
        if isinstance(X, Signals):
            self.rate_after(rate)
            self._check_channels(X.channels or ())
        return segments, rate

    def _check_channels(self, names: Sequence[str]) -> None:
        known = getattr(self, "channels_", None)
        if known is not None and tuple(names) != tuple(known):
            own = ", ".join(map(repr, known))
            raise LabelError(
                f"{type(self).__name__} was fitted on the channels {own}; got "
                f"{', '.join(map(repr, names))}. signals.select({own}) brings them into that order"
            )

    def _opened(self, X: Any) -> tuple[FloatArray, float]:
        own = getattr(self, "sampling_rate", None)
        if isinstance(X, Signals):
            self._check_rate(X.sampling_rate)
            return X.X, X.sampling_rate
        array = np.asarray(X)
        if array.ndim != 3 or 0 in array.shape or array.dtype.kind not in "iuf":
            raise ShapeError(
                f"X must be Signals, or numbers of shape (samples, channels, time); got "
                f"{array.dtype} of shape {array.shape}"
            )
        if array.dtype != np.float32:
            array = array.astype(np.float64, copy=False)
        if own is None and hasattr(self, "sampling_rate"):
            raise OptionError(
                f"{type(self).__name__} of an array needs sampling_rate=; Signals bring theirs"
            )
        return array, np.nan if own is None else check_number(
            own, "sampling_rate", closed="neither"
        )

    @abstractmethod
    def _check(self, X: FloatArray, rate: float) -> None:
        """Raise if the options do not fit."""

    @abstractmethod
    def _apply(self, X: FloatArray, rate: float) -> tuple[FloatArray, float]:
        """Return the segments after the step, and their sampling rate."""


def _refuse_gaps(X: FloatArray, name: str) -> None:
    bad = ~np.isfinite(X).all(axis=(1, 2))
    if bad.any():
        raise InvalidValueError(
            f"segment {int(bad.argmax())} has gaps (NaN), which {name} would spread; drop such "
            "segments with screen or Reject, or fill them in"
        )


@declared(kw_only=True)
class Resample(Step):
    """Change the sampling rate, with a filter against aliasing.

    Parameters
    ----------
    to : float
        The new rate, in Hz.
    sampling_rate : float or None
        The rate of arrays; `Signals` bring theirs.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.signals import Resample
    >>> Resample(to=32, sampling_rate=100).fit_transform(np.zeros((5, 1, 2500))).shape
    (5, 1, 800)
    """

    to: float
    sampling_rate: float | None = None

    def rate_after(self, rate: float) -> float:
        """Return the new rate; that of the fit does not matter.

        Parameters
        ----------
        rate : float
        """
        self._check_rate(rate)
        return float(self.to)

    def _check(self, X: FloatArray, rate: float) -> None:
        check_number(self.to, "to", closed="neither")
        _refuse_gaps(X, "resampling")

    def _apply(self, X: FloatArray, rate: float) -> tuple[FloatArray, float]:
        from scipy.signal import resample_poly

        ratio = Fraction(self.to / rate).limit_denominator(1000)
        if ratio == 0 or abs(float(ratio) * rate / self.to - 1) > 1e-3:
            raise OptionError(
                f"{rate:g} Hz cannot be resampled to {self.to:g} Hz by a ratio of whole numbers up "
                "to 1,000"
            )
        made = resample_poly(X, ratio.numerator, ratio.denominator, axis=2, padtype="line")
        return made.astype(X.dtype, copy=False), float(self.to)


@declared(kw_only=True)
class BandPass(Step):
    """Keep a band of frequencies, forward and backward, so that nothing is delayed.

    Parameters
    ----------
    low : float or None
        Lower end of the band, in Hz; None leaves it open.
    high : float or None
        Upper end of the band, in Hz; None leaves it open.
    order : int
        Order of the Butterworth filter, in each direction.
    sampling_rate : float or None
        The rate of arrays; `Signals` bring theirs.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.signals import BandPass
    >>> time = np.arange(1000) / 100
    >>> wave = np.sin(2 * np.pi * 2 * time) + 5
    >>> kept = BandPass(low=0.5, high=8, sampling_rate=100).fit_transform(wave[None, None])
    >>> abs(kept[0, 0, 300:700].mean()).round(3), kept[0, 0, 300:700].max().round(2)
    (np.float64(0.0), np.float64(1.0))
    """

    low: float | None = 0.5
    high: float | None = 8.0
    order: int = 4
    sampling_rate: float | None = None

    def _check(self, X: FloatArray, rate: float) -> None:
        check_integer(self.order, "order")
        ends = [self.low, self.high]
        for name, end in zip(("low", "high"), ends, strict=True):
            if end is not None:
                check_number(end, name, 0, rate / 2, "neither")
        if self.low is None and self.high is None:
            raise OptionError("low and high are both None, so there is nothing to filter")
        if None not in ends and not self.low < self.high:  # type: ignore[operator]
            raise OptionError(f"low must be below high; got {self.low!r} and {self.high!r}")
        _refuse_gaps(X, "a filter")

    def _apply(self, X: FloatArray, rate: float) -> tuple[FloatArray, float]:
        from scipy.signal import butter, sosfiltfilt

        kind = "highpass" if self.high is None else "lowpass" if self.low is None else "bandpass"
        ends = [end for end in (self.low, self.high) if end is not None]
        edges = ends if len(ends) == 2 else ends[0]
        sections = butter(self.order, edges, btype=kind, fs=rate, output="sos")
        # At the ends the signal is continued; a segment may be shorter than that by default.
        pad = min(3 * (2 * len(sections) + 1), X.shape[2] - 1)
        made = sosfiltfilt(sections, X, axis=2, padlen=pad)
        return made.astype(X.dtype, copy=False), rate


@declared(kw_only=True)
class Standardize(Step):
    """Scale each channel of each segment to mean 0 and variance 1; a flat one becomes 0.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.signals import Standardize
    >>> Standardize().fit_transform(np.array([[[1.0, 3.0]], [[5.0, 5.0]]])).tolist()
    [[[-1.0, 1.0]], [[0.0, 0.0]]]
    """

    def _check(self, X: FloatArray, rate: float) -> None:
        _refuse_gaps(X, "standardizing")

    def _apply(self, X: FloatArray, rate: float) -> tuple[FloatArray, float]:
        mean = X.mean(axis=2, keepdims=True)
        scale = X.std(axis=2, keepdims=True)
        size = np.abs(X).max(axis=2, keepdims=True)
        # Rounding errors of a constant are no signal.
        flat = scale <= 1e-6 * size if X.dtype == np.float32 else scale <= 1e-12 * size
        return np.where(flat, 0, (X - mean) / np.where(flat, 1, scale)).astype(X.dtype), rate


@declared(kw_only=True)
class QualityIndex(Step):
    """Turn segments into the quality of each channel: (samples, 2 channels).

    First the skewness of all channels, then the share of the power from 0.5 to 8 Hz; 0 for a flat
    channel. See `quality_index`.

    Parameters
    ----------
    sampling_rate : float or None
        The rate of arrays; `Signals` bring theirs.

    Examples
    --------
    >>> from caveat.signals import QualityIndex, make_af_ppg
    >>> QualityIndex().fit_transform(make_af_ppg(subjects=4, segments=5, random_state=0)).shape
    (20, 2)
    """

    sampling_rate: float | None = None

    def transform(self, X: Any) -> Any:
        """Return the quality of each channel, whatever type the segments came in."""
        return self.at(*self._entered(X))[0]

    def _check(self, X: FloatArray, rate: float) -> None:
        _refuse_gaps(X, "a quality index")

    def _apply(self, X: FloatArray, rate: float) -> tuple[FloatArray, float]:
        columns = [
            quality_index(X[:, channel], rate, kind)
            for kind in ("skewness", "band-power")
            for channel in range(X.shape[1])
        ]
        return np.nan_to_num(np.stack(columns, axis=1)), rate


@declared(kw_only=True)
class Reject(TransformerMixin, BaseEstimator):
    """Drop segments that cannot be used; labels and subjects go along, so it takes `Signals`.

    Parameters
    ----------
    flat : float
        See `screen`, like all options.
    clipped : float or None
    quality : dict of str to float, optional
    rates : pair of float, optional
    channel : str, optional
    targets : bool

    Attributes
    ----------
    screening_ : Screening
        What the last `transform` dropped, and why.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.signals import Reject, Signals
    >>> X = np.vstack([np.ones((1, 1, 50)), np.random.default_rng(0).normal(size=(3, 1, 50))])
    >>> step = Reject()
    >>> len(step.fit_transform(Signals(X, 10))), step.screening_.reasons
    (3, {'flat': 1})
    """

    flat: float = 0.25
    clipped: float | None = 0.1
    quality: Mapping[str, float] | None = None
    rates: tuple[float, float] | None = None
    channel: str | None = None
    targets: bool = True

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn nothing.

        Parameters
        ----------
        X : Signals
        y : object, optional
            Ignored, as X is.
        """
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def transform(self, X: Any) -> Signals:
        """Return the segments that can be used.

        Parameters
        ----------
        X : Signals
        """
        if not isinstance(X, Signals):
            raise OptionError(
                f"Reject drops segments with their labels, so it takes Signals; got a "
                f"{type(X).__name__}"
            )
        self.screening_: Screening = screen(X, **self.get_params())
        return self.screening_.signals
