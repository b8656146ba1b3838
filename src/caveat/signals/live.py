"""A signal as it comes: windows, predictions with intervals, and actions."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from .._arrays import missing_among, to_numpy
from .._validation import FloatArray, as_floats, check_integer, check_number
from ..exceptions import OptionError, ShapeError
from ..predictions import Gaussian, Interval, Quantiles
from ..sequential import AdaptiveConformal, SequentialConformal
from .alarm import CoverageAlarm
from .container import Signals, same_rate
from .events import StreamEvent, StreamRecord
from .preprocessing import Step
from .quality import reasons_of
from .recordings import steps

__all__ = ["SignalStream", "stream"]

NO_SIGNAL = "no signal"
"""The action for a window that cannot be used."""

_KEPT = 1000
"""Latencies that are kept for their quantiles."""


@dataclass(frozen=True, eq=False)
class _Given:
    """An interval that waits for its truth."""

    prediction: Any
    margins: FloatArray
    place: int
    """How many intervals were given before it."""


class SignalStream:
    """A signal that comes in chunks of any length; `stream` makes it.

    Parameters
    ----------
    pipeline : estimator, or Pipeline of scikit-learn
    fs : float
    window : int
        Values of a window.
    hop : int
        Values from one window to the next.
    channels : int
    conformal : SequentialConformal
    policy : TriagePolicy or None
    tolerance : float
    run_length : float
    pending : int

    Attributes
    ----------
    alarms : tuple of CoverageAlarm
        One for each target; empty for classes.
    conformal : SequentialConformal
        The method of the intervals, with its state.
    dropped : int
        Windows whose truth did not come while they were remembered.
    late : int
        Truths that came after the interval of a later window was given.
    """

    def __init__(
        self, pipeline: Any, fs: float, window: int, hop: int, *, channels: int, conformal: Any,
        policy: Any, tolerance: float, run_length: float, pending: int,
    ) -> None:  # fmt: skip
        self._steps, self._model = _taken_apart(pipeline)
        rate = fs
        for step in self._steps:
            rate = step.rate_after(rate) if isinstance(step, Step) else rate
        self._fs, self._window, self._hop = fs, window, hop
        self._policy, self.conformal = policy, conformal
        self._options = {"tolerance": tolerance, "run_length": run_length}
        self.alarms: tuple[CoverageAlarm, ...] = ()
        # Never more than a window, and what is left of a chunk.
        self._buffer = np.empty((channels, 0))
        self._position = 0
        self._waiting: dict[int, _Given] = {}
        self._given = 0
        self._pending = pending
        self._latencies: deque[float] = deque(maxlen=_KEPT)
        self._count, self._total, self._longest = 0, 0.0, 0.0
        self.dropped = self.late = 0

    def push(self, chunk: Any) -> list[StreamEvent]:
        """Take the next values, and return what is said about the windows they complete.

        Parameters
        ----------
        chunk : array of shape (time,) or (channels, time)
            Any number of values; NaN is a gap. Times count values, so values that were lost must be
            pushed as NaN.

        Returns
        -------
        list of StreamEvent
        """
        arrived = perf_counter()
        given = to_numpy(chunk, "chunk").array
        values = np.atleast_2d(
            as_floats(given, "chunk")[0] if given.size else np.empty(given.shape)
        )
        if values.ndim != 2 or len(values) != len(self._buffer):
            raise ShapeError(
                f"chunk must have shape ({len(self._buffer)}, time); got {given.shape}"
            )
        values = np.concatenate([self._buffer, values], axis=1)
        windows, starts = [], []
        at = 0
        while at + self._window <= values.shape[1]:
            windows.append(values[:, at : at + self._window])
            starts.append(self._position + at)
            at += self._hop
        self._buffer = values[:, at:].copy()
        self._position += at
        return self._events(np.stack(windows), starts, arrived) if windows else []

    def _events(self, X: FloatArray, starts: list[int], arrived: float) -> list[StreamEvent]:
        reasons = reasons_of(Signals(X, self._fs))
        usable = [i for i, reason in enumerate(reasons) if not reason]
        said: dict[int, tuple[Any, ...]] = {}
        if usable:
            prediction = self._model.predict_distribution(self._prepared(X[usable]))
            parts = _parts(prediction)
            actions = ["accept"] * len(usable)
            if self._policy is not None:
                actions = [str(each) for each in self._policy.decide(prediction).actions]
            for k, i in enumerate(usable):
                one = prediction.take([k])
                own = [None if part is None else part[[k]] for part in parts]
                said[i] = (one, self._interval(one), *own, actions[k])
        latency = perf_counter() - arrived
        events = []
        for i, start in enumerate(starts):
            one, interval, aleatoric, epistemic, action = said.get(
                i, (None, None, None, None, NO_SIGNAL)
            )
            number = start // self._hop
            if interval is not None:
                self._remember(number, one)
            end = (start + self._window) / self._fs
            event = StreamEvent(
                number, start / self._fs, end, one, interval, aleatoric, epistemic, action,
                reasons[i], latency, self.alarm,
            )  # fmt: skip
            events.append(event)
        self._latencies.append(latency)
        self._count += len(events)
        self._total += latency
        self._longest = max(self._longest, latency)
        return events

    def _prepared(self, X: FloatArray) -> Any:
        """Return segments after the steps of the pipeline, each at the rate it has."""
        segments: Any = X
        rate = self._fs
        for step in self._steps:
            if isinstance(step, Step):
                segments, rate = step.at(segments, rate)
            else:
                segments = step.transform(segments)
        return segments

    def _interval(self, prediction: Any) -> Interval | None:
        if not isinstance(prediction, Gaussian | Quantiles | Interval):
            return None
        if not self.alarms:
            self.alarms = tuple(
                CoverageAlarm(self.conformal.coverage, **self._options) for _ in prediction.targets
            )
        return self.conformal.interval(prediction)

    def _remember(self, number: int, prediction: Any) -> None:
        self._waiting[number] = _Given(prediction, self.conformal.margins_, self._given)
        self._given += 1
        if len(self._waiting) > self._pending:
            del self._waiting[next(iter(self._waiting))]
            self.dropped += 1

    def run(self, chunks: Iterable[Any]) -> Iterator[StreamEvent]:
        """Yield what is said about all windows of some chunks.

        Parameters
        ----------
        chunks : iterable of arrays
        """
        for chunk in chunks:
            yield from self.push(chunk)

    def replay(self, signals: Signals) -> StreamRecord:
        """Go through the segments of one subject in their order, and keep what is said.

        Each segment is a window. Its truth, if known, is learned before the next one.

        Parameters
        ----------
        signals : Signals
            Segments of one subject, in the order of time.

        Returns
        -------
        StreamRecord
        """
        if self._position or self._buffer.size:
            raise OptionError("replay starts a recording, and this stream has begun; make another")
        length = signals.X.shape[2]
        fits = same_rate(signals.sampling_rate, self._fs)
        if not fits or (length, length) != (self._window, self._hop):
            raise OptionError(
                f"segments of {signals.seconds:g} s at {signals.sampling_rate:g} Hz need a stream "
                f"of that rate with window={signals.seconds:g} and no hop"
            )
        people = [] if signals.subject is None else np.unique(signals.subject).tolist()
        if len(people) > 1:
            raise OptionError(
                f"replay is of one subject; got {len(people)}. Take one: "
                f"signals.take(signals.subject == {people[0]!r})"
            )
        events, truth = [], {}
        for event in self.run(signals.X):
            events.append(event)
            y = None if signals.y is None else signals.y[event.number]
            if y is None or missing_among(np.atleast_1d(y)).any():
                continue
            truth[event.number] = y
            if event.interval is not None:
                self.learn(event.number, y)
        recording = np.concatenate(list(signals.X), axis=1)
        return StreamRecord(events, recording, self._fs, truth=truth)

    def learn(self, number: int, y: Any) -> bool:
        """Learn the truth of a window, and return whether the alarm is given.

        Whether it was covered is judged by the interval that was given, here and by the conformal
        method. Its promise needs the truth of each window before the next one; `promise` counts the
        truths that came later, or not at all.

        Parameters
        ----------
        number : int
            The number of the window.
        y : float, or array of shape (targets,)
        """
        if number not in self._waiting:
            raise OptionError(
                f"window {number} is not waiting for its truth: it has none, is known already, or "
                f"more than {self._pending} came after it"
            )
        given = self._waiting[number]
        truth = given.prediction.align(np.atleast_1d(to_numpy(y, "y").array)[None])
        delay = self._given - given.place
        covered = self.conformal.update(given.prediction, truth, margins=given.margins, delay=delay)
        del self._waiting[number]
        self.late += delay > 1
        for alarm, inside in zip(self.alarms, covered[0], strict=True):
            alarm.update(bool(inside))
        return self.alarm

    @property
    def alarm(self) -> bool:
        """Whether the intervals of any target have stopped to cover as often as they should."""
        return any(alarm.alarm_at is not None for alarm in self.alarms)

    @property
    def latency(self) -> dict[str, float]:
        """Seconds: ``mean`` a window; ``median``, ``q95`` and ``largest`` of calls with windows.

        Quantiles are of the last 1,000 calls. ``real_time`` is how many times faster than the
        signal the windows were processed.
        """
        if not self._count:
            raise OptionError("no window is complete yet; push more of the signal")
        recent = np.quantile(self._latencies, [0.5, 0.95])
        seconds = self._count * self._hop / self._fs
        return {
            "mean": self._total / self._count, "median": float(recent[0]),
            "q95": float(recent[1]), "largest": self._longest, "real_time": seconds / self._total,
        }  # fmt: skip

    @property
    def promise(self) -> str:
        """What the intervals promise, and whether it still holds, in plain words."""
        if not self.alarms:
            return "No interval is promised: there are no numbers yet, or classes are predicted."
        words = self._long_run()
        target = next((a for a in self.alarms if a.alarm_at is not None), None)
        if target is None:
            return words
        share = 1 - target.missed / target.samples
        return (
            f"{words} Alarm since truth {target.alarm_at}: {share:.3g} of {target.samples} truths "
            f"were covered, {target.coverage:g} were asked for."
        )

    def _long_run(self) -> str:
        """Return the promise of the method, or why it does not hold."""
        overdue = sum(self._given - given.place > 1 for given in self._waiting.values())
        unknown = self.dropped + overdue
        if not self.late and not unknown:
            return str(self.conformal.guarantee_)
        words = (
            f"No share is promised: the truth of each window must be known before the next one, "
            f"but {self.late:,} truths came later and {unknown:,} are not known."
        )
        known = self.alarms[0].samples
        if not known:
            return words
        share = 1 - max(alarm.missed for alarm in self.alarms) / known
        return (
            f"{words} Of {known:,} intervals whose truth is known {share:.3g} covered it, as they "
            f"were given; {self.conformal.coverage:g} were asked for."
        )


def stream(
    pipeline: Any,
    fs: float,
    window: float,
    hop: float | None = None,
    *,
    channels: int = 1,
    conformal: Any = None,
    policy: Any = None,
    tolerance: float = 0.05,
    run_length: float = 10_000.0,
    pending: int = 1000,
) -> SignalStream:
    """Return a stream: chunks of a signal in; predictions, intervals and actions out.

    Parameters
    ----------
    pipeline : estimator, or Pipeline of scikit-learn
        Fitted; its last step has ``predict_distribution``, and takes segments of shape (samples,
        channels, time).
    fs : float
        Sampling rate, in Hz.
    window : float
        Seconds of a window.
    hop : float, optional
        Seconds from one window to the next, at most ``window``; by default ``window``. Both are
        rounded to whole numbers of values; events have the times that this gives.
    channels : int, default=1
        Channels of the signal.
    conformal : SequentialConformal, optional
        Makes the intervals of numbers; by default `AdaptiveConformal` at 0.9. Warm it up with
        calibration samples, so that the first intervals are finite.
    policy : TriagePolicy, optional
        Fitted; decides the action of each window. Without it all that can be used are accepted.
    tolerance : float, default=0.05
        By how much fewer truths may be covered before there is an alarm; see `CoverageAlarm`.
    run_length : float, default=10000.0
        How many truths there are until a false alarm, on average, at least.
    pending : int, default=1000
        Windows that are remembered until their truth comes.

    Examples
    --------
    >>> import numpy as np
    >>> import caveat
    >>> class Level:
    ...     def predict_distribution(self, X):
    ...         return caveat.Gaussian(X.mean(axis=(1, 2)), np.ones(len(X)))
    >>> live = caveat.stream(Level(), fs=50, window=2, hop=1)
    >>> events = live.push(np.sin(np.arange(230)))
    >>> [(event.start, event.end, event.action) for event in events]
    [(0.0, 2.0, 'accept'), (1.0, 3.0, 'accept'), (2.0, 4.0, 'accept')]
    >>> live.learn(0, 0.1)
    False
    """
    rate = check_number(fs, "fs", closed="neither")
    length = steps(window, rate, "window")
    step = length if hop is None else steps(hop, rate, "hop")
    if step > length:
        raise OptionError(f"hop must be at most window; got {hop:g} and {window:g} s")
    method = AdaptiveConformal(0.9) if conformal is None else conformal
    if not isinstance(method, SequentialConformal):
        raise OptionError(
            f"conformal must be a sequential method, such as AdaptiveConformal(0.9); got a "
            f"{type(method).__name__}"
        )
    CoverageAlarm(method.coverage, tolerance=tolerance, run_length=run_length)
    return SignalStream(
        pipeline, rate, length, step, channels=check_integer(channels, "channels"),
        conformal=method, policy=policy, tolerance=tolerance, run_length=run_length,
        pending=check_integer(pending, "pending"),
    )  # fmt: skip


def _taken_apart(pipeline: Any) -> tuple[list[Any], Any]:
    """Return the steps before the model, and the model."""
    used = list(_steps_of(pipeline))
    if not used or not hasattr(used[-1], "predict_distribution"):
        raise OptionError(
            "the last step of pipeline must have predict_distribution, as estimators of caveat "
            f"have; got {pipeline!r}"
        )
    return used[:-1], used[-1]


def _steps_of(pipeline: Any) -> Iterator[Any]:
    """Yield the steps, those of pipelines inside a pipeline in their place."""
    steps = getattr(pipeline, "steps", None)
    if isinstance(steps, list):
        for _, step in steps:
            yield from _steps_of(step)
    elif pipeline is not None and not isinstance(pipeline, str):
        yield pipeline


def _parts(prediction: Any) -> tuple[FloatArray | None, FloatArray | None]:
    if not hasattr(prediction, "decompose"):
        return None, None
    split = prediction.decompose()
    return split.aleatoric, split.epistemic
