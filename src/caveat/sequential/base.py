"""What sequential methods share: the order of time, the history of scores, files."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from .._constructors import Declared
from .._validation import (
    FloatArray,
    as_floats,
    as_times,
    check_finite,
    check_flags,
    check_fraction,
    check_integer,
    check_no_nan,
)
from .._writing import write_json
from ..exceptions import (
    CaveatError,
    FileFormatError,
    InvalidValueError,
    OptionError,
    ShapeError,
    UnsupportedPredictionError,
)
from ..predictions import Gaussian, Interval, Quantiles
from .history import History

FORMAT = "caveat sequential 1"
ROWS = "rows"
"""The rows are in the order of time."""


@dataclass(frozen=True, eq=False, repr=False)
class SequentialRun:
    """The intervals of a series, each made before its truth was known.

    Attributes
    ----------
    interval : Interval
    covered : ndarray of bool of shape (samples, targets)
        Whether the truth was inside; an interval that a level of 1 or more left empty, and that is
        shown as a point, covers nothing.
    level : ndarray of shape (samples, targets)
        One minus the coverage that was aimed at; 0 or less makes an infinite interval.
    guarantee : str
        The promise in plain words.
    bound : float or None
        The largest distance from the coverage that the share of covered samples can have, over all
        samples since the start, whatever the series; None if there is no such promise.
    """

    interval: Interval
    covered: NDArray[np.bool_]
    level: FloatArray
    guarantee: str
    bound: float | None

    def __len__(self) -> int:
        return len(self.covered)

    @property
    def coverage(self) -> FloatArray:
        """The share of covered samples of each target."""
        return np.asarray(self.covered.mean(axis=0))

    def local_coverage(self, samples: int) -> FloatArray:
        """Return the share covered in each stretch of this many samples, (stretches, targets)."""
        length = check_integer(samples, "samples", most=len(self))
        total = np.cumsum(np.vstack([np.zeros_like(self.covered[:1]), self.covered]), axis=0)
        return np.asarray((total[length:] - total[:-length]) / length)

    def to_frame(self) -> Any:
        """Return a pandas frame with one row for each sample and target."""
        import pandas as pd

        samples, targets = self.covered.shape
        return pd.DataFrame(
            {
                "sample": np.repeat(np.arange(samples), targets),
                "target": np.tile(self.interval.targets, samples),
                "lower": self.interval.lower.ravel(),
                "upper": self.interval.upper.ravel(),
                "covered": self.covered.ravel(),
                "level": self.level.ravel(),
            }
        )

    def __repr__(self) -> str:
        shares = ", ".join(f"{share:.3f}" for share in self.coverage[:8])
        more = ", ..." if len(self.coverage) > 8 else ""
        return f"SequentialRun: {len(self)} samples, coverage {shares}{more}"


class SequentialConformal(Declared, BaseEstimator):
    """Intervals for one sample after another: ``interval``, then ``update`` with the truth.

    A subclass names its arguments as fields and has ``_begin(targets)``, which makes its state as
    arrays named in ``_arrays``, ``_levels()``, the miscoverage to aim at now, and
    ``_learn(missed, scores)``, given which samples of a block were missed and their scores.

    Parameters
    ----------
    coverage : float
        The share of true values to cover in the long run, strictly between 0 and 1.
    window : int or None
        How many of the latest scores make the interval; None for all.
    normalize : bool
        For a `Gaussian`: divide residuals by the predicted standard deviation, so that samples that
        are predicted with more uncertainty get wider intervals.
    """

    takes: ClassVar[tuple[type[Any], ...]] = (Gaussian, Quantiles, Interval)
    _arrays: ClassVar[tuple[str, ...]] = ()
    coverage: float = field(default=0.9, kw_only=False)
    window: int | None = 500
    normalize: bool = False
    _last: Any = field(init=False)

    @property
    def samples_(self) -> int:
        """The number of samples since the start."""
        return self._samples if self._started else 0

    @property
    def covered_(self) -> FloatArray:
        """The share of samples since the start that was covered, of each target."""
        self._check_started()
        return np.asarray(1 - self._missed / max(self._samples, 1))

    @property
    def level_(self) -> FloatArray:
        """The miscoverage that the next interval aims at, of each target."""
        self._check_started()
        return self._levels().copy()

    @property
    def margins_(self) -> FloatArray:
        """How far the next interval goes beyond either end of a prediction, (targets, 2)."""
        self._check_started()
        return self._margins()

    @property
    def bound_(self) -> float | None:
        """The largest distance of ``covered_`` from the coverage, whatever the series."""
        return self._bound() if self.samples_ else None

    @property
    def guarantee_(self) -> str:
        """The promise in plain words."""
        return self._words()

    def interval(self, prediction: Any) -> Interval:
        """Return the intervals of samples whose truth is not known yet.

        Parameters
        ----------
        prediction : Gaussian, Quantiles or Interval
            One sample, or a block of samples that come before the next truth does.

        Returns
        -------
        Interval
            Infinite as long as there are too few scores.
        """
        self._see(prediction)
        return self._widened(*self._ends(prediction), self._margins(), prediction.targets)

    def update(
        self, prediction: Any, y: Any, *, time: Any = None, margins: Any = None,
        delay: int | None = None,
    ) -> NDArray[np.bool_]:  # fmt: skip
        """Learn the truth of the samples that ``interval`` was last asked for.

        Where other intervals were given in between, pass ``margins`` and ``delay``: the samples are
        judged by the interval that they had, and the bound counts how long the truth took.

        Parameters
        ----------
        prediction : Gaussian, Quantiles or Interval
            The prediction that was given to ``interval``. Several samples are one block: their
            intervals were all made before the first of their truths was known.
        y : array of shape (samples,) or (samples, targets)
            What is true.
        time : array of shape (samples,), optional
            Numbers or dates, to check the order; by default the order of the calls.
        margins : array of shape (targets, 2), optional
            ``margins_`` at the time of the interval; by default those of now.
        delay : int, optional
            How many intervals were given from this one on until its truth was known, this one
            included; by default the number of samples.

        Returns
        -------
        ndarray of bool of shape (samples, targets)
            Whether each was covered.
        """
        self._see(prediction)
        truth = prediction.align(y)
        longest = len(prediction) if delay is None else check_integer(delay, "delay")
        used = self._margins() if margins is None else self._checked_margins(margins)
        last = self._checked_time(time, len(prediction))
        missed = self._step(self._scores(prediction, truth), used, longest)
        self._last = last
        return ~missed

    def warm_up(self, prediction: Any, y: Any, *, time: Any = None) -> Self:
        """Add the scores of past samples, so that the first intervals are finite.

        They count neither as covered nor as missed. Use samples that the model was not trained on,
        or out-of-fold predictions.

        Parameters
        ----------
        time : array of shape (samples,), optional
            Numbers or dates, to check the order.
        """
        self._see(prediction)
        truth = prediction.align(y)
        last = self._checked_time(time, len(prediction))
        self._remember(self._scores(prediction, truth))
        self._last = last
        return self

    def run(self, prediction: Any, y: Any, *, time: Any = None, block: int = 1) -> SequentialRun:
        """Go through a whole series: the intervals of each block, then its truth.

        It goes on from the state that there is, as ``interval`` and ``update`` in a loop would.

        Parameters
        ----------
        time : array of shape (samples,) or "rows", optional
            Numbers or dates, strictly increasing; "rows" says that the rows are in the order of
            time. Without it an error is raised: in any other order nothing is promised.
        block : int, default=1
            How many samples come before the next truth does.
        """
        if time is None:
            raise OptionError(
                "sequential methods need the order of time: pass time=, an increasing number or "
                'date for each sample, or time="rows" if the rows are in the order of time'
            )
        size = check_integer(block, "block")
        self._see(prediction)
        truth = prediction.align(y)
        rows = isinstance(time, str) and time == ROWS
        last = self._checked_time(None if rows else time, len(prediction))
        lower, upper, unit = self._ends(prediction)
        scores = self._scores_of(lower, upper, unit, truth)
        level, margins, missed = self._series(scores, size)
        self._last = last
        made = self._widened(lower, upper, unit, margins, prediction.targets)
        return SequentialRun(made, ~missed, level, self._words(), self._bound())

    def reset(self) -> Self:
        """Forget all samples; the next one starts anew."""
        for name in [name for name in vars(self) if name.startswith("_")]:
            delattr(self, name)
        return self

    def save(self, path: str | PathLike[str]) -> None:
        """Write the state to a JSON file; ``load`` reads it."""
        self._check_started()
        from .. import __version__

        content = {
            "format": FORMAT,
            "version": __version__,
            "method": type(self).__name__,
            "parameters": {k: np.asarray(v).tolist() for k, v in self.get_params().items()},
            "signature": self._signature,
            "samples": self._samples,
            "missed": self._missed.tolist(),
            "longest": self._longest,
            "last": self._last,
            "histories": [list(history.recent) for history in self._histories],
            "arrays": {name: getattr(self, name).tolist() for name in self._arrays},
        }
        write_json(path, content)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a state that ``save`` wrote; it goes on where it was.

        Returns
        -------
        SequentialConformal
        """
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            if content["format"] != FORMAT or content["method"] != cls.__name__:
                raise FileFormatError(
                    f"{path} holds {content['format']!r} of a {content['method']}, and no "
                    f"{cls.__name__}"
                )
            given: dict[str, Any] = {
                k: tuple(v) if isinstance(v, list) else v for k, v in content["parameters"].items()
            }
            made = cls(**given)
            made._start(content["signature"])
            made._samples = int(content["samples"])
            made._missed = np.array(content["missed"], dtype=np.float64)
            made._longest = int(content["longest"])
            made._last = content["last"]
            made._histories = [History(made.window, map(float, h)) for h in content["histories"]]
            for name in made._arrays:
                value = np.array(content["arrays"][name], dtype=np.float64)
                if value.shape != getattr(made, name).shape:
                    raise FileFormatError(f"{name} has the shape {value.shape}")
                setattr(made, name, value)
            if len(made._histories) != len(made._missed):
                raise FileFormatError("histories and targets differ in number")
            return made
        except FileNotFoundError:
            raise FileNotFoundError(f"there is no file {path}") from None
        except FileFormatError as error:
            raise FileFormatError(f"{path} is no state of a sequential method: {error}") from error
        except (CaveatError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise FileFormatError(f"{path} is damaged, or no state: {error}") from error

    # What subclasses say.

    def _begin(self, targets: int) -> None:
        raise NotImplementedError

    def _levels(self) -> FloatArray:
        raise NotImplementedError

    def _learn(self, missed: NDArray[np.bool_], scores: FloatArray) -> None:
        raise NotImplementedError

    def _bound(self) -> float | None:
        raise NotImplementedError

    def _words(self) -> str:
        raise NotImplementedError

    # What they share.

    @property
    def _started(self) -> bool:
        return hasattr(self, "_signature")

    def _check_started(self) -> None:
        if not self._started:
            raise OptionError(
                f"this {type(self).__name__} has seen no sample yet; call update(prediction, y)"
            )

    def _see(self, prediction: Any) -> None:
        """Check a prediction; the first one says which targets there are."""
        if not isinstance(prediction, self.takes):
            names = ", ".join(kind.__name__ for kind in self.takes)
            raise UnsupportedPredictionError(
                f"{type(self).__name__} takes one of {names}; got a {type(prediction).__name__}"
            )
        given = [type(prediction).__name__, prediction.targets.tolist()]
        if not self._started:
            self._start(given)
        elif given != self._signature:
            raise ShapeError(
                f"started with a {self._signature[0]} of targets {self._signature[1]}; got a "
                f"{given[0]} of targets {given[1]}: use one object for each model"
            )

    def _start(self, signature: Sequence[Any]) -> None:
        coverage = check_fraction(self.coverage, "coverage")
        check_flags(normalize=self.normalize)
        if self.window is not None:
            least = math.ceil(coverage / (1 - coverage) - 1e-9)
            window = check_integer(self.window, "window")
            if window < least:
                raise OptionError(
                    f"window={window} scores cannot give a coverage of {coverage:g}: at least "
                    f"{least} are needed"
                )
        targets = len(signature[1])
        self._begin(targets)
        self._samples, self._missed, self._longest = 0, np.zeros(targets), 1
        self._histories = [History(self.window) for _ in range(targets)]
        self._last = None
        self._signature = list(signature)

    def _checked_time(self, time: Any, samples: int) -> Any:
        """Return the last time, after a check that times increase; None if there is none."""
        if time is None:
            return self._last
        array = as_times(time, samples)
        kind = "dates" if array.dtype.kind == "M" else "numbers"
        if kind == "dates":
            array = array.astype(np.int64)
        if self._last is not None and self._last[0] != kind:
            raise InvalidValueError(f"time was {self._last[0]} before, now it is {kind}")
        before = array[:-1] if self._last is None else np.append(self._last[1], array[:-1])
        late = array[len(array) - len(before) :] <= before
        if late.any():
            place = int(np.argmax(late)) + len(array) - len(before)
            raise InvalidValueError(
                f"time of sample {place} is not after the one before; sort the samples by time, "
                "each time once"
            )
        return [kind, array[-1].item()]

    def _checked_margins(self, margins: Any) -> FloatArray:
        given = as_floats(margins, "margins")[0]
        if given.shape != (len(self._missed), 2):
            raise ShapeError(
                f"margins must have shape ({len(self._missed)}, 2), as margins_ has; got "
                f"{given.shape}"
            )
        check_no_nan(given, "margins", ("target", "end"))
        return given

    def _ends(self, prediction: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the interval to widen, and the unit of its margins, (samples, targets)."""
        if isinstance(prediction, Gaussian):
            mean, variance = prediction.moments()
            if not self.normalize:
                return mean, mean, np.ones_like(mean)
            if not variance.min() > 0:
                raise InvalidValueError(
                    "normalize=True needs variances above 0; add a floor, or use normalize=False"
                )
            return mean, mean, np.sqrt(variance)
        if isinstance(prediction, Quantiles):
            prediction = prediction.interval(self.coverage)
        for name in ("lower", "upper"):
            check_finite(getattr(prediction, name), name, ("sample", "target"))
        return prediction.lower, prediction.upper, np.ones_like(prediction.lower)

    def _scores(self, prediction: Any, y: FloatArray) -> FloatArray:
        return self._scores_of(*self._ends(prediction), y)

    def _scores_of(
        self, lower: FloatArray, upper: FloatArray, unit: FloatArray, y: FloatArray
    ) -> FloatArray:
        return np.asarray(np.maximum(lower - y, y - upper) / unit)

    def _margins(self) -> FloatArray:
        """Return what to add to either end now, (targets, 2)."""
        levels = self._levels()
        pairs = zip(self._histories, levels.tolist(), strict=True)
        return np.repeat([[history.quantile(level)] for history, level in pairs], 2, axis=1)

    def _widened(
        self, lower: FloatArray, upper: FloatArray, unit: FloatArray, margins: FloatArray,
        targets: Any,
    ) -> Interval:  # fmt: skip
        low, high = lower - margins[..., 0] * unit, upper + margins[..., 1] * unit
        middle = (lower + upper) / 2
        empty = low > high
        return Interval(
            np.where(empty, middle, low),
            np.where(empty, middle, high),
            coverage=float(self.coverage),
            targets=targets,
        )

    def _series(
        self, scores: FloatArray, size: int
    ) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
        """Go through blocks; return the level and margins of each sample, and which were missed."""
        level, missed = np.empty(scores.shape), np.empty(scores.shape, dtype=bool)
        margins = np.empty((*scores.shape, 2))
        for start in range(0, len(scores), size):
            part = slice(start, start + size)
            now = self._margins()
            level[part], margins[part] = self._levels(), now
            missed[part] = self._step(scores[part], now, len(scores[part]))
        return level, margins, missed

    def _step(self, scores: FloatArray, margins: FloatArray, longest: int) -> NDArray[np.bool_]:
        """Judge the scores of one block by the margins they had, then learn from them."""
        missed = self._misses(scores, margins)
        self._learn(missed, scores)
        self._remember(scores)
        self._count(missed, longest)
        return missed

    def _count(self, missed: NDArray[np.bool_], longest: int) -> None:
        self._samples += len(missed)
        self._missed = self._missed + missed.sum(axis=0)
        self._longest = max(self._longest, longest)

    def _misses(self, scores: FloatArray, margins: FloatArray) -> NDArray[np.bool_]:
        """Return which scores the margins do not cover."""
        limit = margins[:, 0]
        return np.asarray((scores > limit) | (limit == -math.inf))

    def _largest(self, scores: FloatArray) -> FloatArray:
        """Return the largest level that would have covered each score."""
        columns = zip(self._histories, scores.T.tolist(), strict=True)
        return np.array([[h.largest_level(score) for score in column] for h, column in columns]).T

    def _remember(self, scores: FloatArray) -> None:
        for history, column in zip(self._histories, scores.T.tolist(), strict=True):
            for score in column:
                history.add(score)
