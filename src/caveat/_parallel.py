"""Parallel maps: threads, and joblib in processes or on a cluster."""

import os
import pickle
import platform
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from threading import Lock
from typing import Any, TypeVar

from . import _environment
from ._validation import is_integer
from .exceptions import OptionError

Item = TypeVar("Item")
Result = TypeVar("Result")

_TRIES = 3
"""How often in a row workers may be lost without any finished task."""

_LOST = (CancelledError, BrokenExecutor, OSError)
"""What joblib's backends raise when a worker dies or cannot be reached any more.

Errors of the tasks themselves never look like this: they come back as `_TaskError`.
"""


def threads() -> int:
    """Return how many threads may compute at once: the cores, or fewer by OMP_NUM_THREADS.

    That variable is read when caveat is imported, see `_environment`.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limit = _environment.THREADS
    return max(1, min(cores or 1, int(limit) if limit.isdigit() and int(limit) else cores or 1))


def map_threads(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return ``[function(item) for item in items]``, by threads.

    For long calls of numpy, which lets other threads run meanwhile. The results do not depend on
    the number of threads.
    """
    items = list(items)
    workers = min(threads(), len(items))
    if workers < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(function, items))


class _OneThread:
    """Lets BLAS use one thread as long as any thread is inside."""

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._limits: Any = None

    def __enter__(self) -> None:
        from threadpoolctl import threadpool_limits

        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._limits = threadpool_limits(1, user_api="blas")

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limits.restore_original_limits()


one_thread_of_blas = _OneThread()
"""For many small products of matrices, in which threads wait longer for each other than they take.

The number of threads is that of the whole process; the last one out restores it.
"""


def check_jobs(n_jobs: Any, name: str = "n_jobs") -> None:
    """Raise unless this is a number of processes as joblib counts them: -1 for all cores."""
    if n_jobs is not None and not (is_integer(n_jobs) and n_jobs):
        raise OptionError(
            f"{name} must be a number of processes, or -1 for one on each core; got {n_jobs!r}"
        )


def run_tasks(
    function: Callable[..., Result],
    shared: Sequence[Any],
    tasks: Iterable[Sequence[Any]],
    n_jobs: int | None,
) -> Iterator[tuple[int, Result]]:
    """Yield the place of each task and ``function(*shared, *task)``, as they are done.

    By joblib: here, in processes, or on the cluster that its ``parallel_config`` names. What all
    tasks share is sent to a cluster once. A worker that dies takes its tasks with it, and may take
    what they share: what is left is then sent again. A task that fails ends it all with its error.
    """
    from joblib import Parallel, delayed

    check_jobs(n_jobs)
    left = dict(enumerate(tasks))
    total, tries = len(left), _TRIES
    while left:
        load, failed = _Load(shared), None
        calls = [delayed(_call)(function, load, place, task) for place, task in left.items()]
        try:
            for place, result in _runner(Parallel, n_jobs)(calls):
                del left[place]
                tries = _TRIES
                yield place, result
        except _TaskError as error:
            failed = error
        except _LOST as error:
            tries -= 1
            if not tries:
                raise
            reason = " ".join([f"{type(error).__name__}:", *str(error).splitlines()[:1]])
            warnings.warn(
                f"a worker was lost; {len(left)} of {total} tasks have no result yet and are sent "
                f"again ({reason})",
                RuntimeWarning,
                stacklevel=2,
            )
        if failed is not None:
            raise failed.original()


class _Load:
    """What tasks share, as one object, which Dask sends once if it is told how large it is."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values

    def __sizeof__(self) -> int:
        try:
            return len(_dumps(self.values))
        except Exception:  # sending it says why; in here, Dask would wait for ever
            return super().__sizeof__()


class _TaskError(Exception):
    """Carries the error of a task, and where it happened."""

    def original(self) -> BaseException:
        """Return the error as it was; from elsewhere, with what is known of its way as cause."""
        error: BaseException
        error, place = self.args
        cause = self.__cause__
        if place == _here():
            assert cause is not None
            return cause
        error.__cause__ = cause
        return error


def _here() -> tuple[str, int]:
    return platform.node(), os.getpid()


def _call(
    function: Callable[..., Result], load: _Load, place: int, task: Sequence[Any]
) -> tuple[int, Result]:
    try:
        with _on_this_worker():
            return place, function(*load.values, *task)
    except Exception as error:
        raise _TaskError(_portable(error), _here()) from error


def _portable(error: Exception) -> Exception:
    """Return an error that another process can unpickle; otherwise the worker would seem lost."""
    try:
        pickle.loads(_dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _dumps(value: Any) -> bytes:
    """Return an object as joblib sends it, functions without a name and all."""
    from joblib.externals.loky.backend.reduction import dumps

    return bytes(dumps(value))


def _on_this_worker() -> AbstractContextManager[Any]:
    """Run the parallel work of a model on its own worker of a cluster.

    Its own tasks would go to the other workers, with data of which one worker has the only copy:
    when that dies, they cannot be run again.
    """
    from joblib import parallel_config
    from joblib.parallel import (
        LokyBackend,
        MultiprocessingBackend,
        SequentialBackend,
        ThreadingBackend,
        get_active_backend,
    )

    local = LokyBackend, MultiprocessingBackend, SequentialBackend, ThreadingBackend
    backend, _ = get_active_backend()
    return nullcontext() if type(backend) in local else parallel_config("threading")


def _runner(kind: Any, n_jobs: int | None) -> Any:
    """Return joblib's runner that gives results as they come, where its backend can."""
    for way in ("generator_unordered", "generator"):
        try:
            return kind(n_jobs=n_jobs, return_as=way)
        except ValueError:
            continue
    return kind(n_jobs=n_jobs)
