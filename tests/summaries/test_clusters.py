"""Dask with a real cluster of processes whose workers die, and Ray where it is installed."""

import os
import signal
import time

import numpy as np
import pandas as pd
import pytest

import caveat
from caveat.exceptions import InvalidValueError, OptionError
from caveat.summaries import clusters

from .test_sources import TABLE, assert_same, direct

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")

FRAME = TABLE.to_pandas()


def test_on_this_machine():
    frame = dd.from_pandas(FRAME, npartitions=11)
    with dask.config.set(scheduler="synchronous"):
        whole = caveat.summarize(frame, group="sex")
        with pytest.raises(OptionError, match="checkpoint= needs files"):
            caveat.summarize(frame, checkpoint="a.caveat")
    assert_same(whole, direct())


def test_the_target_is_the_column_that_is_named():
    frame = dd.from_pandas(FRAME.assign(died=FRAME["y"], y=0), npartitions=3)
    with dask.config.set(scheduler="synchronous"):
        assert_same(caveat.summarize(frame, group="sex", target="died"), direct())
        with pytest.raises(OptionError, match="target='dead': there is no such column"):
            caveat.summarize(frame, target="dead")


def test_partitions_without_rows_and_labels_that_come_late():
    late = pd.DataFrame({"p": np.linspace(0, 1, 40), "y": ["no"] * 20 + ["yes"] * 20})
    frame = dd.from_pandas(late, npartitions=4)
    with dask.config.set(scheduler="synchronous"):
        whole = caveat.summarize(frame[frame.p > 0.3])
        assert dict(whole.about.shared)["classes"] == ("no", "yes")
        assert whole.samples == 28
        with pytest.raises(ValueError, match="no rows"):
            caveat.summarize(frame[frame.p > 3])


def test_numbers_have_no_labels():
    rng = np.random.default_rng(0)
    mean = rng.normal(size=300)
    table = pd.DataFrame({"mean": mean, "std": 0.5, "y": mean + rng.normal(0, 0.5, 300)})
    with dask.config.set(scheduler="synchronous"):
        whole = caveat.summarize(dd.from_pandas(table, npartitions=3))
    (row,) = whole.evaluate(metrics=["rmse"], resamples=0).rows
    assert row.value == pytest.approx(np.sqrt(np.mean((table["mean"] - table["y"]) ** 2)))


def test_errors_name_the_partition():
    bad = FRAME.copy()
    bad.loc[20_100, "p"] = np.nan
    frame = dd.from_pandas(bad, npartitions=3)
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(
            InvalidValueError, match="partition 2: column 'p' has no number in data row 41"
        ),
    ):
        caveat.summarize(frame)


def test_killed_workers_change_nothing(tmp_path):
    distributed = pytest.importorskip("distributed")
    settings = {
        "distributed.worker.daemon": False,
        "distributed.comm.timeouts.connect": "5s",
        "distributed.admin.log-format": "%(message)s",
    }
    mark = tmp_path / "begun"

    def slowly(part, partition_info=None):
        """Let the first task that gets here wait until its worker is killed."""
        if part.index[0] < 12_000:
            return part
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return part
        mark.write_text(str(os.getpid()))
        time.sleep(600)

    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1",
            dashboard_address="127.0.0.1:0", silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        frame = dd.from_pandas(FRAME, npartitions=24)
        slow = frame.map_partitions(slowly, meta=FRAME.iloc[:0])
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as pool:
            result = pool.submit(caveat.summarize, slow, group="sex", classes=[0, 1])
            while not (mark.exists() and mark.read_text()):
                time.sleep(0.05)
            first = int(mark.read_text())
            os.kill(first, signal.SIGKILL)
            whole = result.result(timeout=300)
        assert first not in client.run(os.getpid).values()
    assert_same(whole, direct())


def test_tasks_of_ray_without_ray():
    """The function that Ray runs, and the loop over its results."""
    tables = clusters.TableSummarizer(plan_of(TABLE))
    blocks = [TABLE.slice(a, 1000) for a in range(0, len(TABLE), 1000)] + [TABLE.slice(0, 0)]

    class Blocks:
        def select_columns(self, names):
            assert set(names) in ({"p", "y", "sex"}, {"y"})
            return self

        def map_batches(self, function, *, batch_format, batch_size, fn_args):
            assert (batch_format, batch_size) == ("pyarrow", None)
            self.rows = [row for t in blocks for row in function(t, *fn_args).to_pylist()]
            return self

        def iter_rows(self):
            return iter(self.rows)

        def schema(self):
            return TABLE.schema

        def iter_batches(self, *, batch_format, batch_size):
            return iter(blocks)

    assert_same(caveat.merge(clusters._ray_parts(Blocks(), tables)), direct())
    Blocks.__module__ = "ray.data.dataset"
    assert_same(caveat.summarize(Blocks(), group="sex"), direct())


def plan_of(table):
    from caveat.files.batches import plan_batches
    from caveat.summaries._inputs import columns_of

    plan = plan_batches(table.column_names, group="sex")
    return plan.resolved(columns_of(table.slice(0, 2)))


@pytest.mark.filterwarnings("default")  # Ray warns of what it will change
def test_ray():
    ray = pytest.importorskip("ray", reason="ray is not installed; caveat[ray] brings it")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        blocks = [FRAME.iloc[a : a + 5000] for a in range(0, len(FRAME), 5000)]
        whole = caveat.summarize(ray.data.from_pandas(blocks), group="sex")
    finally:
        ray.shutdown()
    assert_same(whole, direct())
