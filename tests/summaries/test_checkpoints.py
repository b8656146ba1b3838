"""A run that is killed goes on where it was, and the result is that of one run."""

import os
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import caveat
from caveat.exceptions import InvalidValueError, OptionError
from caveat.summaries import _checkpoint, _inputs

from .test_sources import TABLE, assert_same, direct, written

SCRIPT = """
import sys, time
from caveat.summaries import _checkpoint, _inputs
import caveat
_checkpoint.EVERY = 0.0
_inputs.BATCH = 2000
save, writes = _checkpoint.Checkpoint.save, []

def slow(self, *given, **options):
    save(self, *given, **options)
    writes.append(1)
    if len(writes) == 5:
        print("five", flush=True)
        time.sleep(600)

_checkpoint.Checkpoint.save = slow
caveat.summarize(sys.argv[1], group="sex", checkpoint=sys.argv[2])
"""


@pytest.fixture
def files(tmp_path):
    return [written(TABLE.slice(8000 * i, 8000), tmp_path / f"{i}.parquet") for i in range(3)]


@pytest.mark.parametrize("end", ["parquet", "csv"])
def test_a_killed_process(tmp_path, monkeypatch, end):
    for i in range(3):
        table = TABLE.slice(8000 * i, 8000)
        if end == "parquet":
            pq.write_table(table, tmp_path / f"{i}.parquet", row_group_size=1500)
        else:
            written(table, tmp_path / f"{i}.csv")
    pattern, path = str(tmp_path / f"*.{end}"), tmp_path / "run.caveat"
    options = {"stdout": subprocess.PIPE, "text": True, "env": {**os.environ}}
    with subprocess.Popen([sys.executable, "-c", SCRIPT, pattern, str(path)], **options) as run:
        assert run.stdout.readline() == "five\n"
        run.send_signal(signal.SIGKILL)
    part = caveat.load(path)
    assert 0 < part.samples < len(TABLE)
    monkeypatch.setattr(_inputs, "BATCH", 2000)
    read, work = [], _inputs.Chunk.end.fget
    monkeypatch.setattr(
        _inputs.Chunk, "end", property(lambda chunk: read.append(chunk.rows) or work(chunk))
    )
    whole = caveat.summarize(pattern, group="sex", checkpoint=path)
    assert_same(whole, direct())
    assert sum(read) == len(TABLE) - part.samples  # nothing twice
    assert_same(caveat.load(path), direct())
    again = caveat.summarize(pattern, group="sex", checkpoint=path)
    assert_same(again, direct())
    assert sum(read) == len(TABLE) - part.samples


def test_rows_before_an_error_are_kept(files, tmp_path, monkeypatch):
    monkeypatch.setattr(_inputs, "BATCH", 2000)
    p = TABLE["p"].to_numpy()[8000:16_000].copy()
    p[5543] = np.nan
    bad = TABLE.slice(8000, 8000).set_column(1, "p", pa.array(p))
    pq.write_table(bad, files[1], row_group_size=1000)
    path = tmp_path / "run.caveat"
    message = (
        r"1\.parquet: .* data row 5544; .*; the 8,000 samples of the files before it are in "
        r".*run\.caveat"
    )
    for _ in range(2):
        with pytest.raises(InvalidValueError, match=message):
            caveat.summarize(files, checkpoint=path)
        part = caveat.load(path)
        assert_same(part, direct(TABLE.slice(0, 8000).select(["p", "y"])))
    # what was not read yet may be repaired
    pq.write_table(TABLE.slice(8000, 8000), files[1], row_group_size=1000)
    whole = direct(TABLE.select(["p", "y"]))
    assert_same(caveat.summarize(files, checkpoint=path), whole)
    pq.write_table(TABLE.slice(8000, 7000), files[1])
    with pytest.raises(OptionError, match=r"is of an earlier version of .*1\.parquet; remove it"):
        caveat.summarize(files, checkpoint=path)


def test_an_error_in_the_first_file_leaves_no_checkpoint(files, tmp_path, monkeypatch):
    monkeypatch.setattr(_inputs, "BATCH", 2000)
    pq.write_table(with_a_gap(0), files[0], row_group_size=1000)
    path = tmp_path / "run.caveat"
    with pytest.raises(InvalidValueError, match=r"data row 5544; remove or fill such rows first$"):
        caveat.summarize(files, checkpoint=path)
    assert not path.exists()


def with_a_gap(file):
    """The rows of a file, of which one has no probability."""
    p = TABLE["p"].to_numpy()[8000 * file : 8000 * (file + 1)].copy()
    p[5543] = np.nan
    return TABLE.slice(8000 * file, 8000).set_column(1, "p", pa.array(p))


@pytest.mark.filterwarnings("error")
def test_files_that_were_left_out_are_remembered(files, tmp_path):
    pq.write_table(with_a_gap(1), files[1])
    path = tmp_path / "run.caveat"
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match=r"^file 2 is left out: .*1\.parquet: column 'p'"):
            rest = caveat.summarize(files, errors="skip", checkpoint=path)
        assert rest.samples == 16_000
    message = r"leaves a file out \(.*1\.parquet: .*\); go on with errors='skip', or remove it"
    with pytest.raises(OptionError, match=message):
        caveat.summarize(files, checkpoint=path)
    pq.write_table(TABLE.slice(8000, 8000), files[1])
    with pytest.raises(OptionError, match=r"is of an earlier version of .*1\.parquet; remove it"):
        caveat.summarize(files, errors="skip", checkpoint=path)


def test_the_last_file_is_tried_again(files, tmp_path):
    pq.write_table(with_a_gap(2), files[2])
    path = tmp_path / "run.caveat"
    with pytest.warns(RuntimeWarning, match="file 3 is left out"):
        assert caveat.summarize(files, errors="skip", checkpoint=path).samples == 16_000
    pq.write_table(TABLE.slice(16_000, 8000), files[2])
    for errors in ("raise", "skip"):
        assert caveat.summarize(files, errors=errors, checkpoint=path).samples == 24_000


def test_a_run_that_raises_goes_on_and_skips(files, tmp_path, monkeypatch):
    monkeypatch.setattr(_inputs, "BATCH", 2000)
    pq.write_table(with_a_gap(1), files[1], row_group_size=1000)
    path = tmp_path / "run.caveat"
    with pytest.raises(InvalidValueError, match="data row 5544"):
        caveat.summarize(files, checkpoint=path)
    with pytest.warns(RuntimeWarning, match="file 2 is left out"):
        assert caveat.summarize(files, errors="skip", checkpoint=path).samples == 16_000


def test_a_file_of_which_rows_are_in_the_checkpoint_is_not_left_out(files, tmp_path, monkeypatch):
    monkeypatch.setattr(_checkpoint, "EVERY", 0.0)
    monkeypatch.setattr(_inputs, "BATCH", 2000)
    pq.write_table(with_a_gap(1), files[1], row_group_size=1000)
    path, save = tmp_path / "run.caveat", _checkpoint.Checkpoint.save

    def killed(self, summary, *given, **options):
        save(self, summary, *given, **options)
        if summary.samples == 10_000:  # some rows of the second file
            monkeypatch.setattr(_checkpoint.Checkpoint, "save", lambda *_, **__: None)
            raise KeyboardInterrupt

    monkeypatch.setattr(_checkpoint.Checkpoint, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        caveat.summarize(files, checkpoint=path)
    monkeypatch.setattr(_checkpoint.Checkpoint, "save", save)
    message = (
        "data row 5544; .*; rows of this file are in the checkpoint already, so that it cannot"
    )
    for _ in range(2):
        with pytest.raises(InvalidValueError, match=message):
            caveat.summarize(files, errors="skip", checkpoint=path)
    assert caveat.load(path).samples == 10_000


def test_a_place_where_no_checkpoint_can_be_written(files, tmp_path):
    for path, words in ((tmp_path / "no" / "a.caveat", "there is no folder .*no$"),
                        (tmp_path, "this is a folder; name a file")):  # fmt: skip
        with pytest.raises(OptionError, match=f"checkpoint=.*: {words}"):
            caveat.summarize(tmp_path / "nothing.parquet", checkpoint=path)


def test_a_file_that_cannot_be_opened_comes_after_those_before_it(files, tmp_path):
    files[2].write_bytes(b"PAR1 and no more")
    path = tmp_path / "run.caveat"
    with pytest.raises(
        caveat.exceptions.FileFormatError, match="the 16,000 samples of the files before"
    ):
        caveat.summarize(files, checkpoint=path)
    with pytest.warns(RuntimeWarning, match="left out"):
        rest = caveat.summarize(files, errors="skip", checkpoint=tmp_path / "other.caveat")
    assert rest.samples == 16_000


def test_another_source(files, tmp_path):
    path = tmp_path / "run.caveat"
    caveat.summarize(files[:2], checkpoint=path)
    with pytest.raises(OptionError, match="is of other files"):
        caveat.summarize(files, checkpoint=path)
    with pytest.raises(OptionError, match="is of other options"):
        caveat.summarize(files[:2], group="sex", checkpoint=path)
    with pytest.raises(OptionError, match="is of other metrics"):
        caveat.summarize(files[:2], metrics=["ece"], checkpoint=path)
    classes = {"classes": np.array([0, 1])}
    for _ in range(2):
        caveat.summarize(files[:2], checkpoint=tmp_path / "array.caveat", **classes)
    direct().save(path)
    with pytest.raises(OptionError, match="is a summary of its own"):
        caveat.summarize(files, checkpoint=path)


def test_sources_that_cannot_be_read_again(tmp_path):
    for source in (TABLE, ds.dataset(TABLE), [(caveat.Categorical.from_binary([0.5]), [1])]):
        with pytest.raises(OptionError, match="checkpoint= needs a source that can be read again"):
            caveat.summarize(source, checkpoint=tmp_path / "a.caveat")


def test_datasets_and_npz_go_on(files, tmp_path, monkeypatch):
    monkeypatch.setattr(_checkpoint, "EVERY", 0.0)
    monkeypatch.setattr(_inputs, "BATCH", 3000)
    save, writes = _checkpoint.Checkpoint.save, []

    def interrupted(self, *given, **options):
        save(self, *given, **options)
        writes.append(1)
        if len(writes) == 2:
            raise KeyboardInterrupt

    npz = [tmp_path / f"{i}.npz" for i in range(3)]
    for i, path in enumerate(npz):
        table = TABLE.slice(8000 * i, 8000)
        np.savez(
            path,
            p=table["p"].to_numpy(),
            y=table["y"].to_numpy(),
            sex=table["sex"].to_numpy().astype(str),
        )
    for name, source in (("dataset", ds.dataset([str(f) for f in files])), ("npz", npz)):
        path = tmp_path / f"{name}.caveat"
        writes.clear()
        with monkeypatch.context() as patch:
            patch.setattr(_checkpoint.Checkpoint, "save", interrupted)
            with pytest.raises(KeyboardInterrupt):
                caveat.summarize(source, group="sex", checkpoint=path)
        assert 0 < caveat.load(path).samples < len(TABLE)
        assert_same(caveat.summarize(source, group="sex", checkpoint=path), direct())


def test_it_is_written_now_and_then(files, tmp_path, monkeypatch):
    monkeypatch.setattr(_inputs, "BATCH", 2000)
    times = iter(range(0, 10_000, 10))
    monkeypatch.setattr(_checkpoint, "monotonic", lambda: next(times))
    written_at = []
    save = _checkpoint.save_summary
    monkeypatch.setattr(
        _checkpoint, "save_summary", lambda s, path: written_at.append(s.samples) or save(s, path)
    )
    caveat.summarize(files, checkpoint=tmp_path / "a.caveat")
    assert 1 < len(written_at) < 8
    assert written_at[-1] == len(TABLE)
