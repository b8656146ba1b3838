"""Summaries of many predictions, against reading their columns.

    python benchmarks/scale.py [rows in millions, 100 by default]

Writes Parquet files to a temporary folder, and measures in one run: what pyarrow needs to read the
columns, the summary of them, the summary with all default metrics and intervals, ten groups, ten
classes, two Dask workers against one, and streaming against `caveat.evaluate` in memory at 10^7.
"""

import resource
import sys
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


def write_classes(folder: Path, rows: int, classes: int = 10) -> Path:
    """Write a file with the probabilities of ten classes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.full(classes, 0.3), rows)
    y = (p.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
    columns = {f"p_{k}": p[:, k] for k in range(classes)}
    path = folder / "classes.parquet"
    pq.write_table(pa.table({**columns, "y": y.astype(np.int8)}), path)
    return path


def read(paths: list[Path], columns: list[str]) -> int:
    """Read columns as pyarrow does, batch by batch."""
    import pyarrow.dataset as ds

    return sum(batch.num_rows for batch in ds.dataset(paths).to_batches(columns=columns))


def timed(function: Callable[[], Any], repeats: int = 3) -> float:
    """Return the shortest of several times, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def row(name: str, seconds: float, reference: float, rows: int) -> None:
    """Print one line: seconds, nanoseconds a row, and the ratio to the reference."""
    print(f"{name:58}{seconds:9.2f} s{seconds / rows * 1e9:9.1f} ns/row{seconds / reference:8.2f}x")


def main(millions: int) -> None:
    """Run all and print a table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = write_binary(folder, millions)
        rows = millions * 1_000_000
        given = {"probability": "p", "target": "y"}
        bare = timed(lambda: read(paths, ["p", "y"]))
        row("pyarrow reads probability and truth", bare, bare, rows)
        row("summarize", timed(lambda: caveat.summarize(paths, **given)), bare, rows)
        row(
            "summarize and evaluate all metrics with intervals",
            timed(lambda: caveat.summarize(paths, **given).evaluate(random_state=0)), bare, rows,
        )  # fmt: skip
        with_site = timed(lambda: read(paths, ["p", "y", "site"]))
        row("pyarrow reads the site as well", with_site, with_site, rows)
        row(
            "summarize ten sites",
            timed(lambda: caveat.summarize(paths, **given, group="site")), with_site, rows,
        )  # fmt: skip
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"{'peak memory of all of this':58}{peak:9.2f} GiB")
        for path in paths[10_000_000 // PER_FILE :]:
            path.unlink()
        ten = paths[: 10_000_000 // PER_FILE]
        rows = min(rows, 10_000_000)
        streamed = timed(lambda: caveat.summarize(ten, **given).evaluate(random_state=0), 1)
        table = np.concatenate([np.stack([c.to_numpy() for c in _columns(p)]) for p in ten], axis=1)
        prediction, y = caveat.Categorical.from_binary(table[0]), table[1].astype(int)
        memory = timed(lambda: caveat.evaluate(prediction, y, random_state=0), 1)
        row("evaluate in memory, 10^7", memory, memory, rows)
        row("summarize and evaluate from files, 10^7", streamed, memory, rows)
        _clusters(ten, rows)
        number = 1_000_000
        path = write_classes(folder, number)
        columns = [*(f"p_{k}" for k in range(10)), "y"]
        bare = timed(lambda: read([path], columns))
        row("pyarrow reads ten classes, 10^6", bare, bare, number)
        row("summarize ten classes, 10^6", timed(lambda: caveat.summarize(path), 1), bare, number)


def _columns(path: Path) -> list[Any]:
    import pyarrow.parquet as pq

    return list(pq.read_table(path, columns=["p", "y"]).columns)


def _clusters(paths: list[Path], rows: int) -> None:
    """Compare two Dask workers with one."""
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
            frame = dd.read_parquet([str(path) for path in paths], split_row_groups=True)
            caveat.summarize(frame.head(1000, compute=True), probability="p", target="y")
            seconds[workers] = timed(
                lambda frame=frame: caveat.summarize(frame, probability="p", target="y"), 2
            )
    row("Dask, one worker, 10^7", seconds[1], seconds[1], rows)
    row("Dask, two workers, 10^7", seconds[2], seconds[1], rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
