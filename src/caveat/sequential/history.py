"""The scores of the past in order, with one more at every step."""

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable

_ROUNDING = 1e-9


class History:
    """The latest scores, sorted; the oldest one leaves when there are more than ``window``."""

    def __init__(self, window: int | None, scores: Iterable[float] = ()) -> None:
        self.recent: deque[float] = deque(scores)
        self.sorted = sorted(self.recent)
        self.window = math.inf if window is None else window

    def add(self, score: float) -> None:
        """Add a score."""
        if len(self.recent) >= self.window:
            del self.sorted[bisect_left(self.sorted, self.recent.popleft())]
        self.recent.append(score)
        insort(self.sorted, score)

    def quantile(self, level: float) -> float:
        """Return the k-th smallest score, k = ceil((n + 1) (1 - level)).

        Infinity if k is above n; minus infinity, which covers nothing, if it is below 1.
        """
        number = len(self.sorted)
        k = math.ceil((number + 1) * (1 - level) - _ROUNDING)
        if k > number:
            return math.inf
        return self.sorted[k - 1] if k > 0 else -math.inf

    def largest_level(self, score: float) -> float:
        """Return the level below which the score would have been covered."""
        return 1 - bisect_left(self.sorted, score) / (len(self.sorted) + 1)
