import threading
import time

import pytest

from caveat import _parallel


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("1", 1), ("2", 2), ("999", 4), ("", 4), ("0", 4), ("many", 4), (None, 4)],
)
def test_threads_are_the_cores_or_fewer(monkeypatch, limit, expected):
    monkeypatch.setattr(_parallel.os, "sched_getaffinity", lambda _: set(range(4)), raising=False)
    if limit is None:
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    else:
        monkeypatch.setenv("OMP_NUM_THREADS", limit)
    assert _parallel.threads() == expected


def test_threads_without_affinity(monkeypatch):
    monkeypatch.delattr(_parallel.os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(_parallel.os, "cpu_count", lambda: None)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
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
