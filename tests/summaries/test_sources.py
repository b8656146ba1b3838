"""The same rows, whatever they come from and however they are cut, give the same summary."""

import os
import re
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import caveat
from caveat.exceptions import (
    CaveatError,
    FileFormatError,
    InvalidValueError,
    LabelError,
    OptionError,
)
from caveat.summaries import _arrow, _inputs

ROWS = 24_000


def made(rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(rows)
    return pa.table(
        {
            "unused": rng.random(rows),
            "p": p,
            "y": (rng.random(rows) < p).astype(np.int8),
            "sex": rng.choice(["f", "m", "x"], rows),
        }
    )


TABLE = made()


def direct(table=TABLE, **options):
    """The summary of arrays in memory, without any of the sources."""
    prediction = caveat.Categorical.from_binary(table["p"].to_numpy())
    groups = {"sex": table["sex"].to_numpy()} if "sex" in table.column_names else None
    return caveat.summarize(prediction, table["y"].to_numpy(), groups=groups, **options)


def assert_same(one, other):
    assert one.about == other.about
    assert one.parts.keys() == other.parts.keys()
    for place, part in one.parts.items():
        mine = other.parts[place]
        assert part.samples == mine.samples
        assert (part.table is None) == (mine.table is None)
        if part.table is not None:
            np.testing.assert_array_equal(part.table, mine.table)
        assert part.states.keys() == mine.states.keys()
        for key, state in part.states.items():
            same = mine.states[key]
            for kind in ("totals", "units"):
                for one_pair, other_pair in zip(
                    getattr(state, kind), getattr(same, kind), strict=True
                ):
                    assert_same_sums(one_pair, other_pair)
        for key, known in part.distributions.items():
            same = mine.distributions[key]
            np.testing.assert_array_equal(known.columns, same.columns)
            np.testing.assert_allclose(known.counts, same.counts)
            np.testing.assert_allclose(known.total, same.total)


def assert_same_sums(one, other):
    """Sums that are 0 are left out, and rounding decides which are."""
    columns = np.union1d(one[0], other[0])
    dense = []
    for held, sums in (one, other):
        full = np.zeros((len(sums), len(columns)))
        full[:, np.searchsorted(columns, held)] = sums
        dense.append(full)
    np.testing.assert_allclose(*dense, rtol=1e-9, atol=1e-9)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("predictions")


def written(table, path):
    end = path.suffix
    if end == ".parquet":
        pq.write_table(table, path, row_group_size=5000)
    elif end == ".csv":
        pa.csv.write_csv(table, path)
    elif end in (".feather", ".arrow"):
        pa.feather.write_feather(table, path, compression="uncompressed", chunksize=700)
    elif end == ".ipc":
        with pa.ipc.new_stream(path, table.schema) as out:
            out.write_table(table)
    else:
        table.to_pandas().to_json(path, orient="records", lines=True, double_precision=15)
    return path


@pytest.mark.parametrize("end", ["parquet", "csv", "feather", "arrow", "ipc", "jsonl"])
def test_files(folder, end):
    parts = [0, 1000, 14_000, ROWS]
    for i, (a, b) in enumerate(pairwise(parts)):
        path = written(TABLE.slice(a, b - a), folder / f"part-{i}.{end}")
    known = direct()
    whole = caveat.summarize(str(folder / f"part-*.{end}"), group="sex")
    if end == "jsonl":  # 15 digits are not all
        assert whole.samples == known.samples
        moved = np.abs(whole.parts["", ""].table - known.parts["", ""].table).sum()
        assert moved <= 10
    else:
        assert_same(whole, known)
    one = caveat.summarize(path, group="sex")
    assert one.samples == ROWS - 14_000


@pytest.mark.filterwarnings("ignore:Feather V1:DeprecationWarning")
def test_the_first_version_of_feather(tmp_path):
    pa.feather.write_feather(TABLE, tmp_path / "a.feather", version=1)
    assert_same(caveat.summarize(tmp_path / "a.feather", group="sex"), direct())


SOURCES = {
    "table": lambda table: table,
    "reader": lambda table: table.to_reader(max_chunksize=999),
    "pandas": lambda table: table.to_pandas(),
    "polars": lambda table: pl.from_arrow(table),
    "lazy frame of polars": lambda table: pl.from_arrow(table).lazy(),
    "dataset": lambda table: ds.dataset(table),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_arrow_data(kind):
    assert_same(caveat.summarize(SOURCES[kind](TABLE), group="sex"), direct())


def test_a_relation_of_duckdb():
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    relation = duckdb.from_arrow(TABLE)
    assert_same(caveat.summarize(relation, group="sex"), direct())


def test_a_folder_with_partitions_has_them_as_columns(tmp_path):
    ds.write_dataset(
        TABLE, tmp_path, format="parquet", partitioning=["sex"], partitioning_flavor="hive"
    )
    whole = caveat.summarize(tmp_path, group="sex", progress=True)
    assert_same(whole, direct(TABLE.sort_by("sex")))


@pytest.mark.parametrize("end", ["csv", "feather", "jsonl", "of all kinds"])
def test_a_folder_of_other_files(tmp_path, end):
    ends = ["csv", "parquet", "feather"] if end == "of all kinds" else [end] * 3
    (tmp_path / "sub").mkdir()
    for i, own in enumerate(ends):
        written(TABLE.slice(8000 * i, 8000), tmp_path / ("sub" if i == 2 else ".") / f"{i}.{own}")
    (tmp_path / "_SUCCESS").touch()
    assert_same(caveat.summarize(tmp_path, group="sex"), direct())


def test_folders_that_cannot_be_read(tmp_path):
    with pytest.raises(FileFormatError, match=r"the folder .* has no files"):
        caveat.summarize(tmp_path)
    (tmp_path / "sex=f").mkdir()
    written(TABLE.slice(0, 10), tmp_path / "sex=f" / "0.csv")
    with pytest.raises(FileFormatError, match=r"0\.csv is no Parquet file; a folder such as sex=f"):
        caveat.summarize(tmp_path, group="sex")


def test_parquet_of_any_name(tmp_path):
    pq.write_table(TABLE, tmp_path / "000000_0")
    assert_same(caveat.summarize(tmp_path, group="sex"), direct())


def test_batches_of_predictions():
    def batches():
        for start in range(0, ROWS, 7000):
            table = TABLE.slice(start, 7000)
            prediction = caveat.Categorical.from_binary(table["p"].to_numpy())
            yield prediction, table["y"].to_numpy(), {"sex": table["sex"].to_numpy()}

    assert_same(caveat.summarize(batches()), direct())
    names = ("prediction", "y", "groups")
    dicts = [dict(zip(names, batch, strict=True)) for batch in batches()]
    assert_same(caveat.summarize(dicts), direct())
    alone = caveat.summarize([batch[0] for batch in batches()])
    assert not alone.about.truth
    assert alone.samples == ROWS


@settings(max_examples=15, deadline=None)
@given(
    cuts=st.lists(st.integers(0, ROWS), max_size=6),
    batch=st.sampled_from([512, 5000, 20_000, 2**20]),
    threads=st.integers(1, 4),
    group=st.sampled_from([1, 2000, 50_000]),
)
def test_any_partition(folder, cuts, batch, threads, group):
    ends = [0, *sorted(cuts), ROWS]
    paths = []
    for i, (a, b) in enumerate(pairwise(ends)):
        paths.append(folder / f"cut-{i}.parquet")
        pq.write_table(TABLE.slice(a, b - a), paths[-1], row_group_size=max(group, (b - a) // 20))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_inputs, "BATCH", batch)
        patch.setattr("caveat.summaries._run.threads", lambda: threads)
        assert_same(caveat.summarize(paths, group="sex"), direct())


OTHERS = {
    "classes": (
        lambda rng, n: dict(
            zip(["p_a", "p_b", "p_c"], rng.dirichlet(np.ones(3), n).T, strict=True),
            y=rng.choice(["a", "b", "c"], n),
        ),
        {},
    ),
    "weights": (
        lambda rng, n: {
            "p": rng.random(n), "y": rng.integers(0, 2, n), "weight": rng.random(n) + 0.1,
        },
        {},
    ),
    "clusters": (
        lambda rng, n: {
            "p": rng.random(n), "y": rng.integers(0, 2, n), "who": rng.integers(0, 900, n),
        },
        {"cluster": "who"},
    ),
    "numbers": (
        lambda rng, n: {"mean": rng.normal(size=n), "std": rng.random(n) + 0.5,
                        "y": rng.normal(size=n)},
        {},
    ),
    "quantiles": (
        lambda rng, n: {"q0.1": -rng.random(n), "q0.5": np.zeros(n), "q0.9": rng.random(n),
                        "y": rng.normal(size=n)},
        {},
    ),
    "ids": (
        lambda rng, n: {"mean": rng.normal(size=n), "std": np.ones(n), "y": rng.normal(size=n),
                        "id": np.arange(n) * 7},
        {"id": "id"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("end", ["parquet", "csv"])
def test_other_predictions(tmp_path, monkeypatch, kind, end):
    make, options = OTHERS[kind]
    table = pa.table(make(np.random.default_rng(1), 12_000))
    whole = written(table, tmp_path / f"whole.{end}")
    from caveat.files import read_predictions

    read = read_predictions(whole, **options)
    known = caveat.summarize(
        read.prediction, read.y, sample_weight=read.sample_weight, cluster=read.cluster,
        ids=read.ids,
    )  # fmt: skip
    paths = [written(table.slice(a, 5000), tmp_path / f"{a}.{end}") for a in (0, 5000, 10_000)]
    monkeypatch.setattr(_inputs, "BATCH", 3000)
    monkeypatch.setattr(_arrow, "KEPT", 10)
    assert_same(caveat.summarize(paths, **options), known)
    kept = caveat.summarize(whole, **options).kept
    np.testing.assert_array_equal(kept.keys, known.kept.keys)


def test_evaluations_are_those_in_memory(tmp_path):
    path = written(TABLE, tmp_path / "a.parquet")
    metrics = ["accuracy", "brier", "nll", "ece", "auroc"]
    options = {"metrics": metrics, "random_state": 0, "resamples": 50}
    mine = caveat.summarize(path, group="sex").evaluate(**options)
    for row, same in zip(mine.rows, direct().evaluate(**options).rows, strict=True):
        np.testing.assert_allclose(
            [row.value, row.low, row.high], [same.value, same.low, same.high]
        )
    known = caveat.evaluate(
        caveat.Categorical.from_binary(TABLE["p"].to_numpy()), TABLE["y"].to_numpy(),
        groups={"sex": TABLE["sex"].to_numpy()}, **options,
    )  # fmt: skip
    for group in ("", "sex=f", "sex=m", "sex=x"):
        one, other = mine.matching(group=group), known.matching(group=group)
        assert [row.metric for row in one] == [row.metric for row in other]
        assert len(one) >= 4
        values = [[row.value for row in rows] for rows in (one, other)]
        np.testing.assert_allclose(*values, atol=3e-4)  # samples of one cell may be others


def test_only_needed_columns_are_read(tmp_path, monkeypatch):
    path = written(TABLE, tmp_path / "a.parquet")
    seen = set()
    read = _arrow.two_classes

    def watched(plan, columns):
        seen.update(columns)
        return read(plan, columns)

    monkeypatch.setattr(_arrow, "two_classes", watched)
    caveat.summarize(path)
    assert seen == {"p", "y"}


def test_two_classes_are_counted_without_a_prediction(tmp_path, monkeypatch):
    path = written(TABLE, tmp_path / "a.parquet")
    known = direct()
    monkeypatch.setattr(_arrow, "summarize_batch", None)
    monkeypatch.setattr(_inputs, "BATCH", 12_000)
    pq.write_table(TABLE, path, row_group_size=12_000)
    assert_same(caveat.summarize(path, group="sex"), known)


def test_compiled_loops_count_two_classes_where_they_pay(tmp_path, monkeypatch):
    path = written(TABLE, tmp_path / "a.parquet")
    known, used = caveat.summarize(path), []
    monkeypatch.setattr(_arrow, "PAYS", TABLE.num_rows)
    make = _arrow.CellCounts
    monkeypatch.setattr(
        _arrow, "CellCounts", lambda compiled: used.append(compiled) or make(compiled=compiled)
    )
    assert_same(caveat.summarize(path), known)
    assert_same(caveat.summarize(TABLE.to_reader()), known)  # of rows that nobody counted
    assert used == [True, False]


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(
    ("labels", "options"),
    [
        ([0, 1], {}),
        ([False, True], {}),
        ([0.0, 1.0], {}),
        (["no", "yes"], {}),
        (["yes", "no"], {"positive": "no"}),
        ([1, 2], {}),
        (["1", "2"], {"classes": [1, 2]}),
    ],
)
@pytest.mark.parametrize(
    "groups", ["text", "dictionary", "int", "gaps", "wide", "float", "bool", "missing"]
)
def test_labels_and_groups_of_any_type(tmp_path, precision, labels, options, groups):
    rng = np.random.default_rng(2)
    n = 12_000
    p = rng.random(n).astype(precision)
    code = (rng.random(n) < p).astype(int)
    values = {
        "text": pa.array(rng.choice(["a", "b"], n)),
        "dictionary": pa.array(rng.choice(["a", "b"], n)).dictionary_encode(),
        "int": pa.array(rng.integers(8, 12, n).astype(np.int8)),
        "gaps": pa.array(rng.choice([-100, 8, 120], n).astype(np.int8)),
        "wide": pa.array(rng.choice([0, 2**63 + 5], n).astype(np.uint64)),
        "float": pa.array(rng.choice([0.5, 1.0, np.nan], n)),
        "bool": pa.array(rng.random(n) < 0.5),
        "missing": pa.array([None if i % 7 == 0 else "" if i % 7 == 1 else "z" for i in range(n)]),
    }[groups]
    table = pa.table({"p": p, "y": pa.array(np.array(labels)[code].tolist()), "g": values})
    path = tmp_path / "a.parquet"
    pq.write_table(table, path)
    from caveat.files import read_predictions

    read = read_predictions(path, group="g", **options)
    known = caveat.summarize(read.prediction, read.y, groups=read.groups)
    assert_same(caveat.summarize(path, group="g", **options), known)


def test_percent(tmp_path):
    table = TABLE.set_column(1, "p", pa.array(TABLE["p"].to_numpy() * 100))
    whole = caveat.summarize(table, percent=True, group="sex")
    moved = np.abs(whole.parts["", ""].table - direct().parts["", ""].table).sum()
    assert moved < 10  # of numbers at the end of a cell
    with pytest.raises(InvalidValueError, match="percent=True"):
        caveat.summarize(table)


@pytest.mark.parametrize("dictionary", [False, True])
def test_numbers_of_other_precision_and_decimals_are_the_same_groups(tmp_path, dictionary):
    n, numbers = 400, np.array([0.1, 0.2, 1.5, 2.0])
    rng = np.random.default_rng(0)
    p, y, own = rng.random(n), rng.integers(0, 2, n), np.arange(n) % 4
    exact = [Decimal(str(number)) for number in numbers[own]]
    columns = [
        pa.array(numbers[own]),
        pa.array(numbers[own].astype(np.float32), mask=np.arange(n) == 0),
        pa.array(exact, type=pa.decimal128(9, 2)),
        pa.array(exact, type=pa.decimal128(9, 4)),
    ]
    for i, column in enumerate(columns):
        column = column.dictionary_encode() if dictionary else column
        pq.write_table(pa.table({"p": p, "y": y, "g": column}), tmp_path / f"{i}.parquet")
    whole = caveat.summarize(tmp_path, group="g")
    sizes = {value: part.samples for value, part in whole.groups()["g"].items()}
    assert sizes == {"0.1": 399, "0.2": 400, "1.5": 400, "2": 400, "(missing)": 1}
    from caveat.files import read_predictions

    for i in range(4):
        read = read_predictions(tmp_path / f"{i}.parquet", group="g", missing="group")
        groups = caveat.summarize(read.prediction, read.y, groups=read.groups).groups()
        assert {*groups["g"]} - {"(missing)"} == {"0.1", "0.2", "1.5", "2"}


def test_decimals_are_labels_and_clusters_as_other_numbers_are(tmp_path):
    p, y, who = TABLE["p"].to_numpy()[:600], TABLE["y"].to_pylist()[:600], [*range(40)] * 15
    for i, (kind, made) in enumerate([(pa.decimal128(9, 2), Decimal), (pa.int8(), int)]):
        columns = {"y": pa.array(map(made, y), kind), "who": pa.array(map(made, who), kind)}
        pq.write_table(pa.table({"p": p, **columns}), tmp_path / f"{i}.parquet")
    whole = caveat.summarize(tmp_path, target="y", cluster="who")
    assert dict(whole.about.shared)["classes"] == (0, 1)
    assert len(set(whole.kept.cluster)) == 40


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pa.array([[1], [2]]), "'g' must have one value a row"),
        (pa.array([b"1", b"2"]), "'g' is not UTF-8 text"),
    ],
)
def test_what_cannot_be_a_group(column, words):
    with pytest.raises(CaveatError, match=words):
        caveat.summarize(pa.table({"p": [0.2, 0.7], "y": [0, 1], "g": column}), group="g")


@pytest.mark.parametrize("end", ["parquet", "csv", "folder"])
def test_names_do_not_depend_on_the_type_of_numbers(tmp_path, end):
    """The same numbers are whole in one file, and floats in the next, which misses some."""
    n = 300
    rng = np.random.default_rng(0)
    p = rng.random(n)
    common = {"p": p, "y": (rng.random(n) < p).astype(int)}
    ward, site = np.arange(n) % 5, np.arange(n) % 3
    for i, kind in enumerate([np.int64, np.float64]):
        table = pa.table({**common, "ward": ward.astype(kind), "site": site.astype(kind)})
        written(table, tmp_path / f"{i}.{'csv' if end == 'csv' else 'parquet'}")
    source = tmp_path if end == "folder" else str(tmp_path / f"*.{end}")
    whole = caveat.summarize(source, cluster="ward", group="site")
    assert set(whole.kept.cluster) == {"0", "1", "2", "3", "4"}
    assert list(whole.groups()["site"]) == ["0", "1", "2"]
    prediction = caveat.Categorical.from_binary(p)
    parts = [
        caveat.summarize(
            prediction, common["y"], cluster=ward.astype(kind), groups={"site": site.astype(kind)}
        )
        for kind in (np.int64, np.float64)
    ]
    np.testing.assert_array_equal(parts[0].kept.cluster, parts[1].kept.cluster)
    assert list((parts[0] + parts[1]).groups()["site"]) == ["0", "1", "2"]


def test_a_cluster_that_is_not_a_number_is_missing(tmp_path):
    table = pa.table({"p": [0.5, 0.2, 0.9], "y": [0, 1, 1], "who": [1.0, np.nan, 2.0]})
    path = written(table, tmp_path / "0.parquet")
    with pytest.raises(InvalidValueError, match=r"0\.parquet: .*'who' has no name in data row 2"):
        caveat.summarize(path, cluster="who")


def test_groups_of_a_csv_are_those_in_memory(tmp_path):
    n = 300
    table = pd.DataFrame(
        {
            "p": np.linspace(0, 1, n), "y": np.arange(n) % 2,
            "whole": np.arange(n) % 3, "decimal": (np.arange(n) % 4) / 2,
            "code": [f"0{i % 2}x" for i in range(n)],
        }
    )  # fmt: skip
    path = tmp_path / "a.csv"
    table.to_csv(path, index=False)
    names = ["whole", "decimal", "code"]
    mine = caveat.summarize(path, group=names).groups()
    assert list(mine["whole"]) == ["0", "1", "2"]
    assert list(mine["decimal"]) == ["0", "0.5", "1", "1.5"]
    assert list(mine["code"]) == ["00x", "01x"]


def test_numbers_of_a_text_file_need_not_begin_as_they_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr("caveat.files._text.BLOCK", 64)
    text = "p,y,g\n" + "1,1,1\n" * 40 + "0.5,0,a\n" * 40
    (tmp_path / "a.csv").write_text(text)
    assert caveat.summarize(tmp_path / "a.csv", group="g").samples == 80
    lines = '{"p": 1, "y": 1}\n' * 40 + '{"p": 0.5, "y": 0}\n' * 40
    (tmp_path / "a.jsonl").write_text(lines)
    assert caveat.summarize(tmp_path / "a.jsonl").samples == 80


def test_npz_files_are_read_at_once(tmp_path):
    for i in (0, 1):
        table = TABLE.slice(12_000 * i, 12_000)
        np.savez(tmp_path / f"{i}.npz", p=table["p"].to_numpy(), y=table["y"].to_numpy())
    whole = caveat.summarize(str(tmp_path / "*.npz"))
    assert_same(whole, direct(TABLE.select(["p", "y"])))


DECOY = TABLE.set_column(2, "y", pa.array(np.zeros(ROWS, dtype=np.int8))).append_column(
    "died_30d", TABLE["y"]
)
"""The truth under another name, beside a column that would be taken for it."""


class TestTarget:
    """The target is the column that is named, also where another has a common name of targets."""

    @pytest.mark.parametrize("end", ["parquet", "csv", "arrow", "ipc", "jsonl"])
    def test_of_files(self, tmp_path, end):
        few = DECOY.slice(0, 4000)
        for i in (0, 1):
            written(few.slice(2000 * i, 2000), tmp_path / f"{i}.{end}")
        known = direct(TABLE.slice(0, 4000).select(["p", "y"])).parts["", ""]
        for source in (str(tmp_path / f"*.{end}"), [tmp_path / f"0.{end}", tmp_path / f"1.{end}"]):
            whole = caveat.summarize(source, target="died_30d")
            np.testing.assert_array_equal(whole.parts["", ""].table, known.table)
        with pytest.raises(OptionError, match=r"target='dead': there is no such column"):
            caveat.summarize(str(tmp_path / f"*.{end}"), target="dead")

    @pytest.mark.parametrize("kind", SOURCES)
    def test_of_arrow_data(self, kind):
        source = SOURCES[kind]
        assert_same(caveat.summarize(source(DECOY), group="sex", target="died_30d"), direct())
        with pytest.raises(OptionError, match=r"target='dead': there is no such column"):
            caveat.summarize(source(DECOY), target="dead")

    def test_of_a_folder(self, tmp_path):
        ds.write_dataset(DECOY, tmp_path, format="parquet")
        whole = caveat.summarize(tmp_path, target="died_30d", group="sex")
        assert_same(whole, direct())

    def test_of_npz_files(self, tmp_path):
        few = DECOY.slice(0, 500)
        names = ("p", "y", "died_30d")
        np.savez(tmp_path / "0.npz", **{name: few[name].to_numpy() for name in names})
        whole = caveat.summarize(str(tmp_path / "*.npz"), target="died_30d")
        assert_same(whole, direct(TABLE.slice(0, 500).select(["p", "y"])))

    @pytest.mark.parametrize("target", ["obs_{target}", ["obs_a", "obs_b"]])
    def test_of_numbers(self, tmp_path, target):
        rng = np.random.default_rng(0)
        columns = {f"{role}_{name}": rng.random(200) for role in ("mean", "std", "obs", "y")
                   for name in "ab"}  # fmt: skip
        written(pa.table(columns), tmp_path / "0.parquet")
        whole = caveat.summarize(str(tmp_path / "*.parquet"), target=target)
        rows = whole.evaluate(metrics=["rmse"], resamples=0).select(group="")
        wanted = [
            np.sqrt(np.mean((columns[f"mean_{name}"] - columns[f"obs_{name}"]) ** 2))
            for name in "ab"
        ]
        np.testing.assert_allclose([row.value for row in rows], wanted)


class TestClasses:
    def test_a_first_batch_of_one_label(self, tmp_path, monkeypatch):
        monkeypatch.setattr(_inputs, "BATCH", 100)
        y = np.repeat(["no", "yes"], 300)
        table = pa.table({"p": np.linspace(0, 1, 600), "y": y})
        pq.write_table(table, tmp_path / "a.parquet", row_group_size=100)
        for source in (tmp_path / "a.parquet", table.to_reader(max_chunksize=100)):
            about = caveat.summarize(source).about
            assert dict(about.shared)["classes"] == ("no", "yes")

    def test_a_stream_whose_classes_come_late_needs_them(self, monkeypatch):
        monkeypatch.setattr(_inputs, "BATCH", 10)
        table = pa.table({"p": np.linspace(0, 1, 600), "y": np.repeat(["no", "yes"], 300)})
        with pytest.raises(LabelError, match="classes="):
            caveat.summarize(table.to_reader(max_chunksize=10))
        known = caveat.summarize(table.to_reader(max_chunksize=10), classes=["no", "yes"])
        assert known.samples == 600

    def test_one_label_in_all(self):
        table = pa.table({"p": [0.5, 0.6], "y": [1, 1]})
        assert dict(caveat.summarize(table).about.shared)["classes"] == (0, 1)

    def test_lists_of_probabilities(self):
        rows = [[0.2, 0.3, 0.5], [0.1, 0.8, 0.1], [0.6, 0.2, 0.2], [0.6, 0.2, 0.2]]
        table = pa.table({"p": rows, "y": ["a", "b", "c", "c"]})
        assert dict(caveat.summarize(table).about.shared)["classes"] == ("a", "b", "c")
        numbered = pa.table({"p": rows, "y": [0, 0, 2, 0]})
        assert dict(caveat.summarize(numbered).about.shared)["classes"] == (0, 1, 2)

    def test_a_later_label_that_is_unknown(self, tmp_path, monkeypatch):
        monkeypatch.setattr(_inputs, "BATCH", 100)
        y = np.tile(["no", "yes"], 300)
        y[432] = "maybe"[:3]
        pq.write_table(pa.table({"p": np.linspace(0, 1, 600), "y": y}), tmp_path / "a.parquet",
                       row_group_size=100)  # fmt: skip
        message = r"a\.parquet: 'y' is 'may' in data row 433, but the classes are 'no', 'yes'"
        with pytest.raises(LabelError, match=message):
            caveat.summarize(tmp_path / "a.parquet")
        monkeypatch.setattr(_arrow, "KEPT", 10)
        with pytest.raises(LabelError, match=message):
            caveat.summarize(tmp_path / "a.parquet")

    @pytest.mark.parametrize("first", ["sick", "well"])
    @pytest.mark.parametrize(
        ("name", "options", "classes"),
        [
            ("p_sick", {}, ("well", "sick")),
            ("p_well", {}, ("sick", "well")),
            ("p_sick", {"positive": "sick"}, ("well", "sick")),
            ("p_sick", {"classes": ["well", "sick"]}, ("well", "sick")),
            ("p_{class}_{member}", {"probability": "p_{class}_{member}"}, ("well", "sick")),
            ("logit_sick", {}, ("well", "sick")),
        ],
    )
    def test_one_column_that_names_its_class(self, tmp_path, first, name, options, classes):
        from caveat.files import read_predictions

        rng = np.random.default_rng(0)
        y = rng.choice(["well", "sick"], 300)
        y[:9] = first
        names = ["p_sick_0", "p_sick_1"] if "{" in name else [name]
        table = pa.table({**{own: rng.random(300) for own in names}, "y": y})
        path = written(table, tmp_path / "0.parquet")
        known = read_predictions(path, **options)
        assert tuple(known.prediction.classes) == classes
        for source in (str(tmp_path / "*.parquet"), table, written(table, tmp_path / "0.csv")):
            whole = caveat.summarize(source, **options)
            assert dict(whole.about.shared)["classes"] == classes
            assert_same(whole, caveat.summarize(known.prediction, known.y))

    def test_classes_that_columns_name(self):
        table = pa.table({"p_a": [0.5, 0.1], "p_b": [0.5, 0.9], "y": ["a", "b"]})
        with pytest.raises(OptionError, match="classes= goes with columns that do not name them"):
            caveat.summarize(table, classes=["a", "b"])
        with pytest.raises(LabelError, match="twice"):
            caveat.summarize(pa.table({"p": [0.5], "y": [1]}), classes=[1, 1])


class TestBadInput:
    @pytest.fixture
    def files(self, tmp_path):
        return [written(TABLE.slice(8000 * i, 8000), tmp_path / f"{i}.parquet") for i in range(3)]

    def test_a_value_that_is_not_a_number_is_located(self, files, monkeypatch):
        p = TABLE["p"].to_numpy()[8000:16_000].copy()
        p[6543] = np.nan
        table = TABLE.slice(8000, 8000).set_column(1, "p", pa.array(p))
        message = r"1\.parquet: column 'p' has no number in data row 6544; remove"
        for size in (12_000, 1000):
            pq.write_table(table, files[1], row_group_size=size)
            monkeypatch.setattr(_inputs, "BATCH", size)
            with pytest.raises(InvalidValueError, match=message):
                caveat.summarize(files)
        monkeypatch.setattr(_arrow, "KEPT", 10)
        with pytest.raises(InvalidValueError, match=message):
            caveat.summarize(files)
        with pytest.raises(InvalidValueError, match=r"^column 'p' has no number in data row 6544;"):
            caveat.summarize(table.to_reader(max_chunksize=1000))

    def test_a_probability_that_is_none(self, files):
        table = TABLE.slice(0, 8000)
        p = table["p"].to_numpy().copy()
        p[77] = -0.25
        written(table.set_column(1, "p", pa.array(p)), files[2])
        with pytest.raises(InvalidValueError, match=r"2\.parquet: .*data row 78 .*-0\.25"):
            caveat.summarize(files)

    def test_the_first_row(self, files, tmp_path, monkeypatch):
        table = TABLE.slice(0, 100)
        p = table["p"].to_numpy().copy()
        p[0] = np.nan
        written(table.set_column(1, "p", pa.array(p)), files[0])
        with pytest.raises(
            InvalidValueError, match=r"0\.parquet: column 'p' has no number in data row 1;"
        ):
            caveat.summarize(files)
        (tmp_path / "a.csv").write_text("p,y\n0.5,\n0.5,1\n0.5,0\n")
        message = r"a\.csv: column 'y' has no label in data row 1;"
        for kept in (10, 2):
            monkeypatch.setattr(_arrow, "KEPT", kept)
            with pytest.raises(InvalidValueError, match=message):
                caveat.summarize(tmp_path / "a.csv")
        (tmp_path / "a.csv").write_text("p,y\n0.5,\n0.5,\n")
        with pytest.raises(InvalidValueError, match="column 'y' has no label in any row"):
            caveat.summarize(tmp_path / "a.csv")

    def test_a_folder_of_something_else(self, tmp_path):
        (tmp_path / "a.txt").write_text("no table")
        with pytest.raises(FileFormatError, match="cannot be read"):
            caveat.summarize(tmp_path)

    def test_a_file_cut_short(self, files):
        data = files[1].read_bytes()
        files[1].write_bytes(data[: len(data) // 2])
        with pytest.raises(FileFormatError, match=r"1\.parquet cannot be read"):
            caveat.summarize(files, progress=True)

    def test_pages_that_are_damaged(self, files):
        data = bytearray(files[1].read_bytes())
        data[1000:60_000] = bytes(59_000)
        files[1].write_bytes(data)
        with pytest.raises(CaveatError, match=r"1\.parquet"):
            caveat.summarize(files)

    def test_a_line_cut_short(self, tmp_path):
        (tmp_path / "a.csv").write_text("p,y,z\n0.5,1,3\n0.2,0,3\n0.7")
        with pytest.raises(FileFormatError, match=r"a\.csv cannot be read: .*Expected 3 columns"):
            caveat.summarize(tmp_path / "a.csv")

    def test_an_empty_file(self, files):
        files[1].write_bytes(b"")
        with pytest.raises(FileFormatError, match=r"1\.parquet is empty"):
            caveat.summarize(files)
        pq.write_table(TABLE.slice(0, 0), files[1])
        assert caveat.summarize(files).samples == 16_000
        with pytest.raises(FileFormatError, match="no rows"):
            caveat.summarize(files[1])
        with pytest.raises(FileFormatError, match="no rows"):
            caveat.summarize(ds.dataset(TABLE.slice(0, 0)))
        for file in files:
            file.write_bytes(b"")
        with pytest.raises(FileFormatError, match="none of the 3 files can be read"):
            caveat.summarize(files, errors="skip")

    def test_other_columns(self, files):
        table = TABLE.slice(0, 8000)
        written(table.drop_columns(["y"]), files[1])
        with pytest.raises(
            FileFormatError, match=r"1\.parquet has no column 'y', other than .*0\."
        ):
            caveat.summarize(files)
        written(table.append_column("more", table["p"]).select(["more", "y", "p"]), files[1])
        assert caveat.summarize(files).samples == ROWS

    def test_other_classes(self, tmp_path):
        rows = [0.5, 0.25]
        a = pa.table({"p_a": rows, "p_b": [0.5, 0.75], "y": ["a", "b"]})
        b = a.append_column("p_c", pa.array([0.0, 0.0]))
        paths = [written(t, tmp_path / f"{n}.parquet") for n, t in (("1", a), ("2", b))]
        with pytest.raises(FileFormatError, match=r"2\.parquet has the column 'p_c' too"):
            caveat.summarize(paths)

    def test_batches_of_other_classes(self):
        two = caveat.Categorical([[0.5, 0.5]], classes=["a", "b"])
        other = caveat.Categorical([[0.5, 0.5]], classes=["a", "c"])
        with pytest.raises(OptionError, match=r"^batch 1: only summaries of the same classes"):
            caveat.summarize([(two, ["a"]), (other, ["c"])])
        with pytest.raises(CaveatError, match="batch 1: "):
            caveat.summarize([(two, ["a"]), (two, ["c"])])

    def test_batches_of_other_levels(self):
        one = caveat.Quantiles([0.1, 0.9], [[0.0, 1.0]])
        other = caveat.Quantiles([0.2, 0.9], [[0.0, 1.0]])
        with pytest.raises(OptionError, match="batch 1: only summaries of the same"):
            caveat.summarize([(one, [0.5]), (other, [0.5])])

    def test_skip(self, files):
        data = files[1].read_bytes()
        known = caveat.summarize([files[0], files[2]], group="sex")
        damaged = bytearray(data)
        damaged[1000:60_000] = bytes(59_000)
        p = TABLE["p"].to_numpy()[8000:16_000].copy()
        p[7543] = np.nan
        bad = TABLE.slice(8000, 8000).set_column(1, "p", pa.array(p))
        for content in (b"", data[: len(data) // 2], bytes(damaged), None):
            if content is None:
                pq.write_table(bad, files[1], row_group_size=1000)
            else:
                files[1].write_bytes(content)
            with pytest.warns(RuntimeWarning, match=r"left out: .*1\.parquet"):
                rest = caveat.summarize(files, group="sex", errors="skip")
            np.testing.assert_array_equal(rest.parts["", ""].table, known.parts["", ""].table)
        files[0].write_bytes(b"")
        with pytest.warns(RuntimeWarning, match="left out"):
            assert caveat.summarize(files, errors="skip").samples == 8000
        files[2].write_bytes(b"")
        with pytest.raises(FileFormatError, match="no rows"):
            caveat.summarize(files, errors="skip")

    @pytest.mark.parametrize("way", ["folder", "partitions", "dataset", "npz"])
    @pytest.mark.parametrize("fault", ["cut", "value"])
    def test_skip_in_folders_and_others(self, tmp_path, way, fault):
        files = []
        for i in range(3):
            end = "npz" if way == "npz" else "parquet"
            files.append(tmp_path / ("y=1" if way == "partitions" else "a") / f"{i}.{end}")
            files[-1].parent.mkdir(exist_ok=True)
            p = TABLE["p"].to_numpy()[8000 * i : 8000 * (i + 1)].copy()
            p[7000] = np.nan if fault == "value" and i == 2 else p[7000]
            table = TABLE.slice(8000 * i, 8000).set_column(1, "p", pa.array(p))
            if way == "npz":
                np.savez(files[-1], p=p, y=table["y"].to_numpy())
            else:
                pq.write_table(table.drop_columns("y" if way == "partitions" else "sex"), files[-1])
        (tmp_path / "_SUCCESS").touch()
        if fault == "cut":
            files[2].write_bytes(files[2].read_bytes()[:3000])

        def source():
            return {"dataset": lambda: ds.dataset([str(file) for file in files]),
                    "npz": lambda: files}.get(way, lambda: tmp_path)()  # fmt: skip

        options = {"group": "sex"} if way == "partitions" else {}
        with pytest.raises(CaveatError, match=r"2\.(parquet|npz)"):
            caveat.summarize(source(), progress=True, **options)
        with pytest.warns(RuntimeWarning, match=r"^file 3 is left out: .*2\.(parquet|npz)"):
            rest = caveat.summarize(source(), errors="skip", **options)
        known = TABLE.slice(0, 16_000)
        if way == "partitions":
            ones = pa.array(np.ones(ROWS, dtype=np.int64))
            known = TABLE.set_column(2, "y", ones).slice(0, 16_000)
            assert rest.samples == 16_000
            assert list(rest.groups()["sex"]) == ["f", "m", "x"]
        else:
            assert_same(rest, direct(known.select(["p", "y"])))

    def test_a_partition_whose_labels_cannot_be_read(self, tmp_path):
        for name in "ab":
            (tmp_path / f"site={name}").mkdir()
            written(TABLE.slice(0, 2000), tmp_path / f"site={name}" / "0.parquet")
        last = tmp_path / "site=b" / "0.parquet"
        pq.write_table(pa.table({"p": [0.5], "y": ["no label"]}), last)
        with pytest.raises(CaveatError, match=r"site=b/0\.parquet cannot be read"):
            caveat.summarize(tmp_path, group="site")
        with pytest.warns(RuntimeWarning, match=r"left out: .*site=b/0\.parquet"):
            assert caveat.summarize(tmp_path, group="site", errors="skip").samples == 2000

    def test_labels_of_a_partition_that_is_broken_at_the_start(self, tmp_path):
        for name in "ab":
            (tmp_path / f"site={name}").mkdir()
        first = tmp_path / "site=a" / "0.parquet"
        written(TABLE.slice(0, 2000).set_column(2, "y", pa.array([1] * 2000)), first)
        written(TABLE.slice(0, 2000), tmp_path / "site=b" / "0.parquet")
        data = ds.dataset(tmp_path, partitioning="hive")
        first.write_bytes(first.read_bytes()[:3000])
        with pytest.warns(RuntimeWarning, match=r"left out: .*site=a/0\.parquet"):
            assert caveat.summarize(data, errors="skip").samples == 2000

    def test_some_rows_of_a_dataset(self):
        known = caveat.summarize(TABLE.filter(ds.field("p") > 0.5), group="sex")
        some = caveat.summarize(ds.dataset(TABLE).filter(ds.field("p") > 0.5), group="sex")
        assert_same(some, known)

    def test_missing_labels_of_a_later_file_are_located(self, tmp_path):
        pq.write_table(pa.table({"p": [0.5, 0.2], "y": [0, 1]}), tmp_path / "0.parquet")
        pq.write_table(pa.table({"p": [0.5, 0.2], "y": [0.0, np.nan]}), tmp_path / "1.parquet")
        with pytest.raises(InvalidValueError, match=r"1\.parquet: .*'y' .* data row 2"):
            caveat.summarize(tmp_path)

    def test_skip_of_batches(self):
        rng = np.random.default_rng(0)

        def batches(wrong):
            for number in range(5):
                p = rng.random(20)
                one = caveat.Categorical.from_binary(p, classes=["no", "yes"])
                yield wrong if number == 3 else (one, rng.choice(["no", "yes"], 20))

        other = caveat.Categorical.from_binary([0.5], classes=["a", "b"])
        for wrong, words in (
            ((other, ["a"]), "batch 3: only summaries of the same classes"),
            ((other, ["c"]), "batch 3: y of sample 0 is"),
            ("nothing", "batch 3 must be"),
        ):
            with pytest.raises(CaveatError, match=words):
                caveat.summarize(batches(wrong))
            with pytest.warns(RuntimeWarning, match=rf"^{words}.*; this batch is left out$"):
                assert caveat.summarize(batches(wrong), errors="skip").samples == 80

    @pytest.mark.filterwarnings("ignore:file 2 is left out")
    def test_skip_of_a_text_file_that_breaks_off(self, tmp_path, monkeypatch):
        monkeypatch.setattr("caveat.files._text.BLOCK", 200)
        monkeypatch.setattr(_inputs, "BATCH", 4)
        for name in "abc":
            (tmp_path / f"{name}.csv").write_text("p,y\n" + "0.25,1\n0.5,0\n" * 100)
        with (tmp_path / "b.csv").open("a") as file:
            file.write("0.5")
        assert caveat.summarize(str(tmp_path / "*.csv"), errors="skip").samples == 400

    def test_too_many_groups(self, monkeypatch):
        monkeypatch.setattr("caveat.files.batches.MOST_VALUES", 10)
        monkeypatch.setattr("caveat.summaries._run.MOST_VALUES", 10)
        table = pa.table({"p": [0.5] * 12, "y": [0, 1] * 6, "g": list(range(12)), "h": [1] * 12})
        with pytest.raises(OptionError, match="group='g' has 12 different values"):
            caveat.summarize(table, group="g")
        monkeypatch.setattr(_inputs, "BATCH", 6)
        with pytest.raises(OptionError, match="group='g' has more than 10 different values"):
            caveat.summarize(table.to_reader(max_chunksize=6), group=["h", "g"])

    def test_options_that_do_not_go_together(self, tmp_path):
        prediction = caveat.Categorical.from_binary([0.5])
        with pytest.raises(OptionError, match="target= goes with files"):
            caveat.summarize(prediction, [1], target="y")
        with pytest.raises(OptionError, match="checkpoint= goes with files"):
            caveat.summarize(prediction, [1], checkpoint="a")
        with pytest.raises(OptionError, match="y= goes with a prediction"):
            caveat.summarize(TABLE, [1])
        with pytest.raises(
            TypeError, match="no parameter 'probabilty'; did you mean 'probability'"
        ):
            caveat.summarize(TABLE, probabilty="p")
        with pytest.raises(OptionError, match="target= names columns, and batches"):
            caveat.summarize([(prediction, [1])], target="y")
        with pytest.raises(OptionError, match="errors must be"):
            caveat.summarize(TABLE, errors="ignore")
        with pytest.raises(OptionError, match="a summary needs a prediction, files"):
            caveat.summarize(3)
        with pytest.raises(OptionError, match=r"batch 0 must be \(prediction, y\)"):
            caveat.summarize([([0.5], [1])])
        with pytest.raises(OptionError, match="batch 0 has 'truth'; a batch has prediction, y"):
            caveat.summarize([{"prediction": prediction, "truth": [1]}])
        with pytest.raises(FileNotFoundError, match="no file matches"):
            caveat.summarize(str(tmp_path / "*.parquet"))
        with pytest.raises(FileNotFoundError, match="does not exist"):
            caveat.summarize(tmp_path / "a.parquet")
        again = tmp_path / ".." / tmp_path.name / "a.parquet"
        for twice in (tmp_path / "a.parquet", again):
            message = r"a\.parquet is named twice \(.*a\.parquet\), and would count twice"
            with pytest.raises(OptionError, match=message):
                caveat.summarize([tmp_path / "a.parquet", twice])
        with pytest.raises(FileFormatError, match="no rows"):
            caveat.summarize([])


def test_progress(capsys, tmp_path):
    path = written(TABLE, tmp_path / "a.parquet")
    caveat.summarize(path, progress=True)
    caveat.summarize(written(TABLE, tmp_path / "a.csv"), progress=True)
    caveat.summarize(TABLE, progress=True)
    caveat.summarize([(caveat.Categorical.from_binary([0.5]), [1])], progress=True)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", capsys.readouterr().err)
    assert not os.environ.get("FORCE_COLOR") or "rows" in text
