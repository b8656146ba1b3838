"""Sum up the chunks of a source by threads, in order."""

import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from .._groups import MOST_VALUES
from .._parallel import threads
from ..exceptions import CaveatError, FileFormatError, OptionError
from ._checkpoint import Checkpoint
from ._chunks import Chunk, Input, Position, located
from ._progress import row_progress
from .summary import Summary

Work = Callable[[Chunk], Summary | None]


class Run:
    """Sums up the chunks of a source.

    The result does not depend on the number of threads: chunks are numbered by their place and
    added up in order. Few of them are in memory at a time.

    Attributes
    ----------
    total : Summary or None
        The summary of all rows up to ``done``.
    done : Position
    """

    def __init__(self, source: Input, work: Work, checkpoint: Checkpoint | None = None) -> None:
        self._source, self._work, self._checkpoint = source, work, checkpoint
        self.total: Summary | None = None
        self.done = Position()
        self._now: Summary | None = None  # with the rows so far of a file that may be broken
        self._end = self.done
        # Without any row of the last file.
        self._before: tuple[Summary | None, Position] = self.total, self.done

    def __call__(self, progress: bool = False) -> Summary:
        """Return the summary of all rows."""
        if self._checkpoint is not None:
            self.total, self.done = self._checkpoint.load(self._source)
        self._now, self._end = self.total, self.done
        number = self._source.rows() if progress else None
        try:
            with row_progress(progress, number, self.done.total) as advance:
                for chunk, result in self._results():
                    self._add(chunk, result)
                    advance(chunk.rows)
                self._finish_file()
        except CaveatError as error:
            if self._source.stopped == self._end.file:  # it may be repaired, and then read anew
                self.total, self.done = self._before
            if self._checkpoint is None or self.total is None:
                raise
            raise type(error)(
                f"{error}; the {self.total.samples:,} samples of the files before it are in "
                f"{self._checkpoint.path}"
            ) from error
        finally:
            self._save()
        if self.total is None:
            words = next((f": {broken}" for broken in self._source.broken.values()), "")
            raise FileFormatError(f"there are no rows to sum up{words}")
        for file in sorted(self._source.broken):
            warnings.warn(self._source.left_out(file), RuntimeWarning, stacklevel=4)
        return self.total

    def _results(self) -> Iterator[tuple[Chunk, "Future[Summary | None]"]]:
        """Yield chunks in order with what becomes of them, a few of them at work meanwhile."""
        workers, failed = threads(), None
        pending: deque[tuple[Chunk, Future[Summary | None]]] = deque()
        chunks = self._source.chunks(self.done)
        with ThreadPoolExecutor(workers) as pool:
            try:
                while True:
                    try:
                        chunk = next(chunks, None)
                    except CaveatError as error:  # raised after the rows before it are added
                        chunk, failed = None, error
                    if chunk is None:
                        break
                    pending.append((chunk, pool.submit(self._work, chunk)))
                    if len(pending) > workers:
                        yield pending.popleft()
                yield from pending
            finally:
                pool.shutdown(cancel_futures=True)
        if failed is not None:
            raise failed

    def _add(self, chunk: Chunk, result: "Future[Summary | None]") -> None:
        if chunk.file != self._end.file:
            self._finish_file()
            self._before = self.total, self.done
        if chunk.file in self._source.broken:  # pragma: no cover - if more of it was being read
            return
        try:
            part = result.result()
            with located(chunk):
                self._now = _sum(self._now, part)
            self._end = chunk.end
        except CaveatError as error:
            self._source.failed(chunk.file, error)
        if not self._source.skip:
            self._finish_file()

    def _finish_file(self) -> None:
        """Take over the rows of a file, unless it is broken."""
        if self._end.file in self._source.broken:
            self._now, self._end = self.total, self.done
        self.total, self.done = self._now, self._end
        self._save(due=True)

    def _save(self, due: bool = False) -> None:
        if self._checkpoint is not None:
            self._checkpoint.save(self.total, self.done, self._source, due)


def _sum(total: Summary | None, part: Summary | None) -> Summary | None:
    if total is None or part is None:
        return total or part
    result = total + part
    for name, values in result.groups().items() if len(result.parts) > MOST_VALUES else ():
        if len(values) > MOST_VALUES:
            raise OptionError(
                f"group={name!r} has more than {MOST_VALUES} different values; cut it into a few "
                "bins first"
            )
    return result
