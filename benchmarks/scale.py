"""Summaries of many predictions, against reading their columns.

    python benchmarks/scale.py [rows in millions, 100 by default] [--only two ten dask memory]

Writes Parquet files to a temporary folder, and measures in one run: what pyarrow needs to read the
columns, the summary of them, the summary with all default metrics and intervals, ten groups ("two");
the same of ten classes ("ten"); two Dask workers against one ("dask"); and streaming against
`caveat.evaluate` in memory at 10^7 ("memory"). Seconds are those of the clock; the CPU time of a row
depends less on what else the machine does.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
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


def timed(function: Callable[[], Any], repeats: int = 3) -> tuple[float, float]:
    """Return the shortest of several times, in seconds by the clock and of the CPU."""
    times, used = [], []
    for _ in range(repeats):
        start, cpu = time.perf_counter(), time.process_time()
        function()
        times.append(time.perf_counter() - start)
        used.append(time.process_time() - cpu)
    return min(times), min(used)


def row(name: str, measured: tuple[float, float], reference: float, rows: int) -> None:
    """Print one line: seconds, nanoseconds of CPU a row, and the ratio to the reference."""
    seconds, cpu = measured
    each = cpu / rows * 1e9
    print(f"{name:52}{seconds:9.2f} s{each:9.1f} ns CPU/row{seconds / reference:8.2f}x", flush=True)


def main(millions: int, only: set[str]) -> None:
    """Run all and print a table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = write_binary(folder, millions) if only - {"ten"} else []
        if "two" in only:
            _two_classes(paths, millions * 1_000_000)
        if "dask" in only:
            _clusters(paths, millions * 1_000_000)
        for path in paths[10_000_000 // PER_FILE :]:
            path.unlink()
        if "memory" in only:
            _in_memory(paths[: 10_000_000 // PER_FILE], min(millions, 10) * 1_000_000)
        if "ten" in only:
            _ten_classes(write_classes(folder, 4), 4_000_000)


GIVEN: dict[str, Any] = {"probability": "p", "target": "y"}


def _two_classes(paths: list[Path], rows: int) -> None:
    bare = timed(lambda: read(paths, ["p", "y"]))
    row("pyarrow reads probability and truth", bare, bare[0], rows)
    row("summarize", timed(lambda: caveat.summarize(paths, **GIVEN)), bare[0], rows)
    row(
        "summarize and evaluate all metrics with intervals",
        timed(lambda: caveat.summarize(paths, **GIVEN).evaluate(random_state=0)), bare[0], rows,
    )  # fmt: skip
    with_site = timed(lambda: read(paths, ["p", "y", "site"]))
    row("pyarrow reads the site as well", with_site, with_site[0], rows)
    row(
        "summarize ten sites",
        timed(lambda: caveat.summarize(paths, **GIVEN, group="site")), with_site[0], rows,
    )  # fmt: skip
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{'peak memory of all of this':52}{peak:9.2f} GiB")


def _in_memory(paths: list[Path], rows: int) -> None:
    streamed = timed(lambda: caveat.summarize(paths, **GIVEN).evaluate(random_state=0), 1)
    table = np.concatenate([np.stack([c.to_numpy() for c in _columns(p)]) for p in paths], axis=1)
    prediction, y = caveat.Categorical.from_binary(table[0]), table[1].astype(int)
    memory = timed(lambda: caveat.evaluate(prediction, y, random_state=0), 1)
    row("evaluate in memory, 10^7", memory, memory[0], rows)
    row("summarize and evaluate from files, 10^7", streamed, memory[0], rows)


def _ten_classes(paths: list[Path], rows: int) -> None:
    bare = timed(lambda: read(paths, [*(f"p_{k}" for k in range(10)), "y"]))
    row("pyarrow reads ten classes", bare, bare[0], rows)
    row("summarize ten classes", timed(lambda: caveat.summarize(paths)), bare[0], rows)
    row(
        "summarize and evaluate all metrics with intervals",
        timed(lambda: caveat.summarize(paths).evaluate(random_state=0)), bare[0], rows,
    )  # fmt: skip


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
    seconds = {}
    for workers in (1, 2):
        with (
            LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
            ) as cluster,
            Client(cluster),
        ):
            # A partition has a million rows. The first run imports what the workers need.
            frame = dd.read_parquet([str(path) for path in paths], split_row_groups=True)
            seconds[workers] = timed(lambda frame=frame: caveat.summarize(frame, **GIVEN))
    row("Dask, one worker", seconds[1], seconds[1][0], rows)
    row("Dask, two workers", seconds[2], seconds[1][0], rows)


if __name__ == "__main__":
    parts = ("two", "ten", "dask", "memory")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("millions", nargs="?", type=int, default=100)
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    given = parser.parse_args()
    main(given.millions, set(given.only))
