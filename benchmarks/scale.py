"""Summaries of many predictions, against reading their columns.

    python benchmarks/scale.py [rows in millions, 100 by default] [--only two growth ten dask memory]

Writes Parquet files to a temporary folder, and measures in one run: what pyarrow needs to read the
columns, the summary of them, the summary with all default metrics and intervals, ten groups ("two");
the same from 10^5 rows on ("growth"); 10^7 rows of ten classes, about as many bytes ("ten"); two Dask workers against one
("dask"); and streaming against `caveat.evaluate` in memory at 10^7 ("memory"). Seconds are those of
the clock; the CPU time of a row depends less on what else the machine does. Both have their ratio to
the first line of the same measurement.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import caveat

PER_FILE = 5_000_000


def write_binary(folder: Path, millions: int) -> list[Path]:
    """Write files with a probability, the truth and a site."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, paths = np.random.default_rng(0), []
    for i in range(max(1, millions * 1_000_000 // PER_FILE)):
        rows = min(PER_FILE, millions * 1_000_000)
        z = rng.normal(size=rows)
        y = (rng.random(rows) < 1 / (1 + np.exp(-1.5 * z))).astype(np.int8)
        site = rng.integers(0, 10, rows).astype(np.int8)
        paths.append(folder / f"part-{i:03}.parquet")
        pq.write_table(pa.table({"p": 1 / (1 + np.exp(-2 * z)), "y": y, "site": site}), paths[-1])
    return paths


def write_classes(folder: Path, millions: int, classes: int = 10) -> list[Path]:
    """Write files with the probabilities of ten classes, of a million rows each."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, paths = np.random.default_rng(1), []
    for i in range(millions):
        p = rng.dirichlet(np.full(classes, 0.3), 1_000_000)
        y = (p.cumsum(axis=1) > rng.random((len(p), 1))).argmax(axis=1)
        columns = {f"p_{k}": p[:, k] for k in range(classes)}
        paths.append(folder / f"classes-{i}.parquet")
        pq.write_table(pa.table({**columns, "y": y.astype(np.int8)}), paths[-1])
    return paths


def read(paths: list[Path], columns: list[str]) -> int:
    """Read columns as pyarrow does, batch by batch."""
    import pyarrow.dataset as ds

    return sum(batch.num_rows for batch in ds.dataset(paths).to_batches(columns=columns))


def timed(tasks: dict[str, Callable[[], Any]], repeats: int = 3) -> dict[str, tuple[float, float]]:
    """Return the shortest times of each task, in seconds by the clock and of the CPU.

    The tasks take turns, so that other work on the machine meets all of them alike.
    """
    times = {name: (float("inf"), float("inf")) for name in tasks}
    for _ in range(repeats):
        for name, function in tasks.items():
            start, cpu = time.perf_counter(), time.process_time()
            function()
            seconds, used = time.perf_counter() - start, time.process_time() - cpu
            times[name] = min(times[name][0], seconds), min(times[name][1], used)
    return times


def table(tasks: dict[str, Callable[[], Any]], rows: int, repeats: int = 3) -> None:
    """Print a line for each task: seconds, and ratios to the first task by the clock and of CPU."""
    measured = timed(tasks, repeats)
    first = next(iter(measured.values()))
    for name, (seconds, cpu) in measured.items():
        each = cpu / rows * 1e9
        print(
            f"{name:50}{seconds:9.2f} s{seconds / first[0]:8.2f}x{each:9.1f} ns CPU/row"
            f"{cpu / first[1]:8.2f}x",
            flush=True,
        )


def main(millions: int, only: set[str]) -> None:
    """Run all and print a table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = write_binary(folder, millions) if only - {"ten"} else []
        if "two" in only:
            _two_classes(paths, millions * 1_000_000)
        if "growth" in only:
            _growth(folder, paths, millions)
        if "dask" in only:
            _clusters(paths, millions * 1_000_000)
        for path in paths[10_000_000 // PER_FILE :]:
            path.unlink()
        if "memory" in only:
            _in_memory(paths[: 10_000_000 // PER_FILE], min(millions, 10) * 1_000_000)
        if "ten" in only:
            _ten_classes(write_classes(folder, 10), 10_000_000)


GIVEN: dict[str, Any] = {"probability": "p", "target": "y"}
EVALUATED = "summarize and evaluate all metrics with intervals"


def _two_classes(paths: list[Path], rows: int) -> None:
    table(
        {
            "pyarrow reads probability and truth": lambda: read(paths, ["p", "y"]),
            "summarize": lambda: caveat.summarize(paths, **GIVEN),
            EVALUATED: lambda: caveat.summarize(paths, **GIVEN).evaluate(random_state=0),
        },
        rows,
    )
    table(
        {
            "pyarrow reads the site as well": lambda: read(paths, ["p", "y", "site"]),
            "summarize ten sites": lambda: caveat.summarize(paths, **GIVEN, group="site"),
        },
        rows,
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{'peak memory of all of this':50}{peak:9.2f} GiB")


def _growth(folder: Path, paths: list[Path], millions: int) -> None:
    """Print the time of a summary with 10^5, 10^6, ... rows; the first million is cut for it."""
    import pyarrow.parquet as pq

    few = folder / "few.parquet"
    for rows in (100_000, 1_000_000):
        pq.write_table(pq.read_table(paths[0]).slice(0, rows), few)
        _sized([few], rows)
    for number in (10, 100):
        if number <= millions:
            _sized(paths[: number * 1_000_000 // PER_FILE], number * 1_000_000)


def _sized(paths: list[Path], rows: int) -> None:
    print(f"{rows:,} rows")
    tasks: dict[str, Callable[[], Any]] = {
        "pyarrow reads probability and truth": lambda: read(paths, ["p", "y"]),
        "summarize": lambda: caveat.summarize(paths, **GIVEN),
        EVALUATED: lambda: caveat.summarize(paths, **GIVEN).evaluate(random_state=0),
    }
    table(tasks, rows)


def _in_memory(paths: list[Path], rows: int) -> None:
    both = np.concatenate([np.stack([c.to_numpy() for c in _columns(p)]) for p in paths], axis=1)
    prediction, y = caveat.Categorical.from_binary(both[0]), both[1].astype(int)
    table(
        {
            "evaluate in memory, 10^7": lambda: caveat.evaluate(prediction, y, random_state=0),
            "summarize and evaluate from files, 10^7": lambda: caveat.summarize(
                paths, **GIVEN
            ).evaluate(random_state=0),
        },
        rows,
        repeats=1,
    )


def _ten_classes(paths: list[Path], rows: int) -> None:
    names = [*(f"p_{k}" for k in range(10)), "y"]
    table(
        {
            "pyarrow reads ten classes": lambda: read(paths, names),
            "summarize ten classes": lambda: caveat.summarize(paths),
            EVALUATED: lambda: caveat.summarize(paths).evaluate(random_state=0),
        },
        rows,
    )


def _columns(path: Path) -> list[Any]:
    import pyarrow.parquet as pq

    return list(pq.read_table(path, columns=["p", "y"]).columns)


def _clusters(paths: list[Path], rows: int) -> None:
    """Compare two Dask workers with one; each is a process with one thread."""
    try:
        import dask.dataframe as dd
        from distributed import Client, LocalCluster
    except ImportError:
        print("Dask is not installed")
        return
    clusters = [
        LocalCluster(
            n_workers=n, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        )
        for n in (1, 2)
    ]
    # A partition has a million rows. The first run imports what the workers need.
    frame = dd.read_parquet([str(path) for path in paths], split_row_groups=True)

    def run(client: Any) -> None:
        with client.as_current():
            caveat.summarize(frame, **GIVEN)

    names = ("Dask, one worker", "Dask, two workers")
    clients = [Client(cluster) for cluster in clusters]
    # The CPU time is that of this process alone, which schedules the tasks.
    table({name: partial(run, one) for name, one in zip(names, clients, strict=True)}, rows)
    # What two processes gain where nothing is scheduled: they share the memory of the machine.
    pools = [ProcessPoolExecutor(n) for n in (1, 2)]
    groups = [(path, group) for path in paths for group in range(_groups_of(path))]
    names = ("one process, the same row groups", "two processes, the same row groups")
    tasks = {
        name: partial(_by_processes, pool, groups) for name, pool in zip(names, pools, strict=True)
    }
    table(tasks, rows)
    for pool in pools:
        pool.shutdown()
    for opened in (*clients, *clusters):
        opened.close()


def _groups_of(path: Path) -> int:
    import pyarrow.parquet as pq

    return int(pq.read_metadata(path).num_row_groups)


def _by_processes(pool: ProcessPoolExecutor, groups: list[tuple[Path, int]]) -> None:
    caveat.merge(list(pool.map(_one_group, groups)))


def _one_group(of: tuple[Path, int]) -> Any:
    """Sum up a row group as a partition of Dask is: as a frame of pandas."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path, group = of
    frame = pq.ParquetFile(path).read_row_group(group, columns=["p", "y"]).to_pandas()
    return caveat.summarize(pa.Table.from_pandas(frame, preserve_index=False), **GIVEN)


if __name__ == "__main__":
    parts = ("two", "growth", "ten", "dask", "memory")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("millions", nargs="?", type=int, default=100)
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    given = parser.parse_args()
    main(given.millions, set(given.only))
