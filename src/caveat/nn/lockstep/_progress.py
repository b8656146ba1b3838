"""A progress bar for trainings."""

from types import TracebackType
from typing import Any, Self

_EVERY = 0.1
"""Seconds between two updates: steps can be much shorter."""


class Progress:
    """Counts the steps of all copies together."""

    def __init__(self, shown: bool, total: int, copies: int) -> None:
        self._bar: Any = None
        self._pending, self._next = 0, 0.0
        if shown:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("training {task.fields[copies]} copies"),
                BarColumn(),
                TextColumn("{task.percentage:3.0f} %"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
            )
            self._task = self._bar.add_task("", total=total, copies=copies)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.advance(self._task, self._pending)
            self._bar.stop()

    def advance(self, steps: int) -> None:
        """Count steps."""
        if self._bar is None:
            return
        import time

        self._pending += steps
        if time.monotonic() >= self._next:
            self._bar.advance(self._task, self._pending)
            self._pending, self._next = 0, time.monotonic() + _EVERY
