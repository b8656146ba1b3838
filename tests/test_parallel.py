import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from concurrent.futures import BrokenExecutor

import joblib
import numpy as np
import pytest
from joblib.parallel import ThreadingBackend
from threadpoolctl import threadpool_info, threadpool_limits

from caveat import _environment, _parallel
from caveat._parallel import run_tasks
from caveat.exceptions import OptionError


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("1", 1), ("2", 2), ("999", 4), ("", 4), ("0", 4), ("many", 4)],
)
def test_threads_are_the_cores_or_fewer(monkeypatch, limit, expected):
    monkeypatch.setattr(_parallel.os, "sched_getaffinity", lambda _: set(range(4)), raising=False)
    monkeypatch.setattr(_environment, "THREADS", limit)
    assert _parallel.threads() == expected


@pytest.mark.parametrize(("limit", "expected"), [(None, 4), ("2", 2)])
def test_the_number_of_threads_is_that_of_the_start(limit, expected):
    """As after the start of a Dask cluster, which changes the variable."""
    code = (
        "import os; import caveat; os.environ['OMP_NUM_THREADS'] = '1'; "
        "os.sched_getaffinity = lambda _: set(range(4)); "
        "from caveat._parallel import threads; print(threads())"
    )
    env = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    env |= {} if limit is None else {"OMP_NUM_THREADS": limit}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.stdout.strip() == str(expected)


def test_threads_without_affinity(monkeypatch):
    monkeypatch.delattr(_parallel.os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(_parallel.os, "cpu_count", lambda: None)
    monkeypatch.setattr(_environment, "THREADS", "")
    assert _parallel.threads() == 1


@pytest.mark.parametrize("workers", [1, 3])
def test_results_come_in_order(monkeypatch, workers):
    monkeypatch.setattr(_parallel, "threads", lambda: workers)
    seen = set()

    def slow(item):
        seen.add(threading.get_ident())
        time.sleep(0.02 * (3 - item))
        return item**2

    assert _parallel.map_threads(slow, range(3)) == [0, 1, 4]
    assert (len(seen) == 1) == (workers == 1)
    assert _parallel.map_threads(slow, []) == []
    with pytest.raises(ZeroDivisionError):
        _parallel.map_threads(lambda item: 1 / item, [1, 0])


def test_backends_that_give_results_only_at_the_end():
    class Runner:
        def __init__(self, n_jobs, return_as="list"):
            if return_as != "list":
                raise ValueError("Backend does not support generators")
            self.n_jobs = n_jobs

    assert _parallel._runner(Runner, 3).n_jobs == 3


def power(base, offset, exponent):
    return base**exponent + offset


def test_tasks_share_what_is_shared():
    found = dict(_parallel.run_tasks(power, (2, 1), [(i,) for i in range(5)], None))
    assert found == {i: 2**i + 1 for i in range(5)}
    assert list(_parallel.run_tasks(power, (2, 1), [], None)) == []


def reciprocal(value):
    return 1 / value


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_error_of_a_task_is_raised_as_it_is(n_jobs):
    with pytest.raises(ZeroDivisionError, match="division by zero") as caught:
        list(_parallel.run_tasks(reciprocal, (), [(1,), (0,)], n_jobs))
    assert "reciprocal" in "".join(traceback.format_exception(caught.value))


class NeedsTwoError(Exception):
    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


def fail_oddly():
    raise NeedsTwoError(1, 2)


def fail_with_cause():
    try:
        reciprocal(0)
    except ZeroDivisionError as error:
        raise NeedsTwoError(1, 2) from error


def test_an_error_that_cannot_be_sent_is_told_in_words():
    with pytest.raises(RuntimeError, match="NeedsTwoError: 1 and 2"):
        list(_parallel.run_tasks(fail_oddly, (), [(), ()], 2))


@pytest.mark.parametrize("n_jobs", [None, 1])
def test_an_error_here_is_itself_with_its_own_cause(n_jobs):
    with pytest.raises(NeedsTwoError, match="1 and 2") as caught:
        list(_parallel.run_tasks(fail_with_cause, (), [()], n_jobs))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.__cause__.__cause__ is None


def missing(path):
    return path.read_text()


def test_an_error_that_looks_like_a_lost_worker_is_not_run_again(tmp_path):
    with pytest.raises(FileNotFoundError):
        list(_parallel.run_tasks(missing, (), [(tmp_path / "nothing",)], 1))


def die_once(folder, number):
    """Kill the process of task 2, unless it was killed before."""
    (folder / f"{number}-{os.getpid()}").touch()
    if number == 2 and not (folder / "died").exists():
        (folder / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number**2


def test_a_killed_process_is_replaced(tmp_path):
    with pytest.warns(RuntimeWarning, match=r"a worker was lost; \d of 4 tasks .* \(Terminated"):
        found = dict(_parallel.run_tasks(die_once, (tmp_path,), [(i,) for i in range(4)], 2))
    assert found == {i: i**2 for i in range(4)}
    assert len(list(tmp_path.glob("2-*"))) == 2


def die(_):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_task_that_always_kills_its_process_ends_it():
    with (
        pytest.warns(RuntimeWarning, match="2 of 2 tasks") as told,
        pytest.raises(BrokenExecutor),
    ):
        list(_parallel.run_tasks(die, (), [(0,), (1,)], 2))
    assert sum("sent again" in str(one.message) for one in told) == _parallel._TRIES - 1


def nested(size):
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(os.getpid)() for _ in range(size))
    return set(found) == {os.getpid()}


class FarAway(ThreadingBackend):
    """Stands for a cluster: it is none of joblib's own backends."""


@pytest.mark.parametrize(("backend", "stayed"), [("loky", False), (FarAway(), True)])
def test_what_a_model_runs_itself_stays_on_its_worker_of_a_cluster(backend, stayed):
    with joblib.parallel_config(backend):
        assert list(_parallel.run_tasks(nested, (), [(4,)], 1)) == [(0, stayed)]


def test_what_tasks_share_is_as_large_as_it_is():
    assert sys.getsizeof(_parallel._Load((np.zeros(1000),))) > 8000
    assert sys.getsizeof(_parallel._Load((lambda: 0, np.zeros(1000)))) > 8000
    # What cannot be sent is told when it is sent, not when it is weighed.
    assert sys.getsizeof(_parallel._Load((threading.Lock(), np.zeros(1000)))) < 8000


@pytest.mark.parametrize("jobs", [0, 1.5, "two", True])
def test_numbers_of_processes_that_cannot_be(jobs):
    with pytest.raises(OptionError, match="n_jobs must be a number of processes, or -1 for one on"):
        list(run_tasks(max, (), [(1, 2)], jobs))
    assert list(run_tasks(max, (), [(1, 2)], np.int64(1))) == [(0, 2)]


def test_blas_has_one_thread_until_the_last_one_is_out():
    def numbers():
        return [own["num_threads"] for own in threadpool_info() if own["user_api"] == "blas"]

    with threadpool_limits(2, user_api="blas"):
        before = numbers()
        with _parallel.one_thread_of_blas:
            with _parallel.one_thread_of_blas:
                assert set(numbers()) <= {1}
            assert set(numbers()) <= {1}
        assert numbers() == before
        with pytest.raises(KeyError), _parallel.one_thread_of_blas:
            raise KeyError
        assert numbers() == before
