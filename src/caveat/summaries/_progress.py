"""A progress bar over rows."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def row_progress(shown: bool, total: int | None, done: int) -> Iterator[Callable[[int], None]]:
    """Show a bar with rows per second, and the time left if the number of rows is known.

    Yields a function that counts rows.
    """
    if not shown:
        yield lambda rows: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Speed(TextColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:,.0f} rows/s")

    bar = Progress(
        TextColumn("{task.completed:,.0f} rows"),
        BarColumn(),
        Speed(""),
        TimeElapsedColumn() if total is None else TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("", total=total, completed=done)
        yield lambda rows: bar.advance(task, rows)
