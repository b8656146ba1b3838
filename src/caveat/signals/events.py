"""What is said about the windows of a live signal, and the record of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._validation import FloatArray, check_number
from ..exceptions import OptionError
from ..predictions import Interval, concat

__all__ = ["StreamEvent", "StreamRecord"]


@dataclass(frozen=True, eq=False)
class StreamEvent:
    """What is said about one window.

    Attributes
    ----------
    number : int
        The number of the window, from 0: how many hops after the start of the stream it begins.
    start, end : float
        Seconds since the start of the stream.
    prediction : prediction or None
        One sample; None if the window cannot be used.
    interval : Interval or None
        For numbers: the interval of the sequential conformal method, infinite as long as too few
        truths are known.
    aleatoric, epistemic : ndarray of shape (1,) or (1, targets), or None
        Parts of the uncertainty; None where the prediction has no such parts.
    action : str
        "accept", what the policy says, or "no signal".
    reason : str
        Why the window cannot be used; otherwise empty.
    latency : float
        Seconds from the arrival of the chunk that completed the window to this event.
    alarm : bool
        Whether the intervals have stopped to cover as often as they should.
    """

    number: int
    start: float
    end: float
    prediction: Any
    interval: Interval | None
    aleatoric: FloatArray | None
    epistemic: FloatArray | None
    action: str
    reason: str
    latency: float
    alarm: bool


class StreamRecord:
    """Events of a stream that were kept, to be drawn: ``caveat.plot(record)``.

    Parameters
    ----------
    events : sequence of StreamEvent
        At least one.
    signal : array of shape (time,) or (channels, time), optional
        What was pushed, from the start of the stream on.
    fs : float, optional
        Its sampling rate; needed with ``signal``.
    truth : dict of int to float or array, or Series, optional
        Truths by the number of their window.

    Examples
    --------
    >>> import numpy as np
    >>> import caveat
    >>> from caveat.signals import StreamRecord
    >>> class Level:
    ...     def predict_distribution(self, X):
    ...         return caveat.Gaussian(X.mean(axis=(1, 2)), np.ones(len(X)))
    >>> signal = np.sin(np.arange(500))
    >>> StreamRecord(caveat.stream(Level(), fs=50, window=2).push(signal), signal, 50)
    StreamRecord: 5 windows from 0 to 10 s, 5 accepted
    """

    def __init__(
        self, events: Any, signal: Any = None, fs: float | None = None, *, truth: Any = None
    ) -> None:
        self.events = tuple(events)
        if not self.events or not all(isinstance(event, StreamEvent) for event in self.events):
            raise OptionError("events must be events of a stream, at least one")
        if (signal is None) != (fs is None):
            raise OptionError("signal and fs belong together; pass both or none")
        self.signal = None if signal is None else np.atleast_2d(to_numpy(signal, "signal").array)
        self.fs = None if fs is None else check_number(fs, "fs", closed="neither")
        if truth is not None and not hasattr(truth, "keys"):
            raise OptionError(
                f"truth must be a dict, from numbers of windows; got a {type(truth).__name__}"
            )
        self.truth = {} if truth is None else dict(truth)

    def samples(self) -> tuple[Any, Any]:
        """Return the predictions whose truth is known and these truths, as `evaluate` takes them.

        Returns
        -------
        tuple of prediction and ndarray
        """
        known = [e for e in self.events if e.prediction is not None and e.number in self.truth]
        if not known:
            raise OptionError("no window has a prediction and a truth; pass truth= to StreamRecord")
        y = np.array([self.truth[event.number] for event in known])
        return concat([event.prediction for event in known]), y

    def summary(self) -> str:
        """Return how many windows there are, and how many of them led to which action."""
        first, last = self.events[0].start, self.events[-1].end
        actions: dict[str, int] = {}
        for event in self.events:
            words = f"{event.action} ({event.reason})" if event.reason else event.action
            actions[words] = actions.get(words, 0) + 1
        counts = ", ".join(f"{count:,} {words}" for words, count in actions.items())
        return f"{len(self.events):,} windows from {first:g} to {last:g} s: {counts}"

    def __repr__(self) -> str:
        first, last = self.events[0].start, self.events[-1].end
        accepted = sum(event.action == "accept" for event in self.events)
        return (
            f"StreamRecord: {len(self.events)} windows from {first:g} to {last:g} s, {accepted} "
            "accepted"
        )
