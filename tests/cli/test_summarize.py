"""``caveat summarize`` and ``merge``, and other commands that read summaries or make them."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import caveat
from caveat.cli import _summarize, main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("weeks")
    rng = np.random.default_rng(0)
    for i in range(3):
        p = rng.random(6000)
        table = pa.table(
            {
                "p": p,
                "y": (rng.random(6000) < p).astype(np.int8),
                "sex": rng.choice(["f", "m"], 6000),
            }
        )
        pq.write_table(table, folder / f"day-{i}.parquet")
    pq.write_table(pq.read_table(folder, schema=table.schema), folder / "all.parquet")
    arguments = [str(folder / "day-?.parquet"), "-o", str(folder / "week.caveat"), "--group", "sex"]
    assert main(["summarize", *arguments]) == 0
    assert main(["summarise", *arguments[:2], str(folder / "plain.caveat")]) == 0
    return folder


def run(capsys, *arguments):
    capsys.readouterr()
    code = main([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def values(text):
    return {(r["metric"], r["group"], r["option"]): r["value"] for r in json.loads(text)["rows"]}


FAST = ("--resamples", "0")


def test_summarize(folder, capsys):
    summary = caveat.load(folder / "week.caveat")
    assert summary.samples == 18_000
    assert list(summary.groups()["sex"]) == ["f", "m"]
    code, out, err = run(
        capsys, "summarize", folder / "day-0.parquet", folder / "day-1.parquet", "-o",
        folder / "two.caveat",
    )  # fmt: skip
    assert code == 0
    assert out.startswith("Summary: 12,000 samples of a Categorical of 2 classes (0, 1)")
    assert "'p': probability of 1, the other class is 0" in err
    assert f"summary: {folder / 'two.caveat'}" in err


def test_as_json(folder, capsys, tmp_path):
    out = tmp_path / "a.caveat"
    code, text, _ = run(
        capsys, "summarize", folder / "day-0.parquet", "-o", out, "--json", "--group", "sex"
    )
    told = json.loads(text)
    assert code == 0
    assert told["samples"] == 6000
    assert told["groups"] == {"sex": ["f", "m"]}
    assert told["summary"] == str(out)


@pytest.mark.parametrize("command", ["evaluate", "summarize"])
def test_the_target_is_the_column_that_is_named(folder, capsys, tmp_path, command):
    for i in range(2):
        day = pq.read_table(folder / f"day-{i}.parquet")
        day = day.append_column("died_30d", day["y"]).set_column(1, "y", pa.array([0] * 6000))
        pq.write_table(day, tmp_path / f"{i}.parquet")
    given = [tmp_path / "?.parquet", *(("-o", tmp_path / "a.caveat") if command[0] == "s" else ())]
    code, _, err = run(capsys, command, *given, "--target", "died_30d")
    assert code == 0
    assert "'died_30d': target" in err
    assert "'y'" not in err
    code, _, err = run(capsys, command, *given, "--target", "dead")
    assert code == 2
    assert "dead" in err
    assert "there is no such column" in err


def test_merge(folder, capsys, tmp_path):
    parts = []
    for i in range(3):
        parts.append(tmp_path / f"{i}.caveat")
        arguments = [folder / f"day-{i}.parquet", "-o", parts[-1], "--group", "sex"]
        assert run(capsys, "summarize", *arguments)[0] == 0
    code, out, _ = run(capsys, "merge", *parts, "-o", tmp_path / "week.caveat")
    assert code == 0
    assert "18,000 samples" in out
    merged, known = caveat.load(tmp_path / "week.caveat"), caveat.load(folder / "week.caveat")
    np.testing.assert_array_equal(merged.parts["", ""].table, known.parts["", ""].table)
    code, _, err = run(
        capsys, "merge", parts[0], folder / "plain.caveat", "-o", tmp_path / "no.caveat"
    )
    assert code == 2
    assert "only summaries of the same groups add up; got sex and no groups" in err
    assert not (tmp_path / "no.caveat").exists()


@pytest.mark.parametrize("way", ["summary", "glob", "files", "folder", "large", "parts"])
def test_evaluate_gives_the_same_table(folder, capsys, monkeypatch, way, tmp_path):
    code, text, _ = run(
        capsys, "evaluate", folder / "all.parquet", "--group", "sex", "--json", *FAST
    )
    assert code == 0
    known = values(text)
    options = ["--group", "sex"]
    files = [folder / "day-?.parquet"]
    if way == "summary":
        files, options = [folder / "week.caveat"], []
    if way == "files":
        files = [folder / f"day-{i}.parquet" for i in range(3)]
    if way == "folder":
        files = [tmp_path]
        for i in range(3):
            pq.write_table(pq.read_table(folder / f"day-{i}.parquet"), tmp_path / f"{i}.parquet")
    if way == "parts":
        options = []
        files = [tmp_path / f"{i}.caveat" for i in range(3)]
        for i, file in enumerate(files):
            run(capsys, "summarize", folder / f"day-{i}.parquet", "-o", file, "--group", "sex")
    if way == "large":
        monkeypatch.setattr(_summarize, "ROWS", 100)
        files = [folder / "all.parquet"]
    code, text, err = run(capsys, "evaluate", *files, *options, "--json", *FAST)
    assert code == 0
    mine = values(text)
    assert mine.keys() <= known.keys()
    assert len(mine) > 100
    rates = [key for key in mine if key[0] in ("accuracy_score", "brier_loss", "roc_auc_score")]
    assert len(rates) > 10
    for key in rates:
        np.testing.assert_allclose(mine[key], known[key], atol=5e-4)
    told = json.loads(text)
    assert told["samples"] == 18_000
    assert told["source"] == ", ".join(map(str, files))
    assert ("summed up, not loaded" in err) == (way not in ("summary", "parts"))


def test_sums_have_no_parts(folder, capsys):
    code, _, err = run(capsys, "evaluate", folder / "week.caveat", "--component", "epistemic")
    assert code == 2
    assert "--component needs the predictions of one file" in err


def test_a_large_text_file(folder, capsys, monkeypatch, tmp_path):
    path = tmp_path / "a.csv"
    pa.csv.write_csv(pq.read_table(folder / "day-0.parquet"), path)
    assert "summed up" not in run(capsys, "evaluate", path, *FAST)[2]
    monkeypatch.setattr(_summarize, "BYTES", 1000)
    code, out, err = run(capsys, "evaluate", path, *FAST)
    assert code == 0
    assert "MiB: summed up, not loaded" in err
    assert "6000 samples" in out


def test_gates_and_tables(folder, capsys, tmp_path):
    week = folder / "week.caveat"
    code, _, err = run(
        capsys, "evaluate", week, *FAST, "--fail-if", "accuracy in sex=f < 0.99",
        "-o", tmp_path / "rows.csv",
    )  # fmt: skip
    assert code == 3
    assert "the check fails if accuracy in sex=f < 0.99" in err
    assert "accuracy_score" in (tmp_path / "rows.csv").read_text()
    assert run(capsys, "evaluate", week, *FAST, "--fail-if", "accuracy < 0.1")[0] == 0
    code, text, _ = run(capsys, "evaluate", week, "--metric", "brier", "--json", *FAST)
    assert code == 0
    assert {row["metric"] for row in json.loads(text)["rows"]} == {"brier_loss"}


def test_report(folder, capsys, tmp_path):
    page = tmp_path / "a.html"
    code, out, _ = run(capsys, "report", folder / "week.caveat", "-o", page, *FAST)
    assert code == 0
    assert f"report: {page}" in out
    assert "18,000 samples" in page.read_text()
    code, _, _ = run(capsys, "report", folder / "day-?.parquet", "-o", page, *FAST)
    assert code == 0


def test_report_with_a_policy_needs_samples(folder, capsys, tmp_path):
    code, _, err = run(
        capsys, "report", folder / "week.caveat", "-o", tmp_path / "a.html", "--calibration",
        folder / "day-0.parquet", "--risk", "0.3", *FAST,
    )  # fmt: skip
    assert code == 2
    assert "--calibration needs single samples; a summary has none" in err


def test_compare(folder, capsys, tmp_path):
    for i in (0, 1):
        out = tmp_path / f"week-{i}.caveat"
        run(capsys, "summarize", folder / f"day-{i}.parquet", "-o", out)
    code, text, _ = run(
        capsys, "compare", tmp_path / "week-0.caveat", tmp_path / "week-1.caveat", "--json",
        "--resamples", "50",
    )  # fmt: skip
    assert code == 0
    content = json.loads(text)
    assert content["techniques"] == ["week-0", "week-1"]
    assert content["different_samples"]
    assert content["recommendation"] is None
    code, text, _ = run(
        capsys, "compare", f"old={tmp_path / 'week-0.caveat'}", f"new={tmp_path / 'week-1.caveat'}",
        "--resamples", "50",
    )  # fmt: skip
    assert code == 0
    assert "old" in text
    assert "new" in text
    assert "These are different samples, so none is recommended" in " ".join(text.split())
    code, text, _ = run(
        capsys, "compare", tmp_path / "week-0.caveat", tmp_path / "week-1.caveat", "--models",
        "--resamples", "50", "--report", tmp_path / "page.html",
    )  # fmt: skip
    assert code == 0
    assert "These are different samples" not in text
    assert "clear" in text


class TestBadArguments:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["summarize", "{f}/day-0.parquet", "-o", "{t}/a.txt"], "the ending must be one of .caveat"),
            (["summarize", "{f}/no-*.parquet", "-o", "{t}/a.caveat"], "no file matches"),
            (["evaluate", "{f}/no-*.parquet"], "no file matches"),
            (["evaluate", "{f}/no.parquet"], "does not exist"),
            (["evaluate", "{f}/week.caveat", "--group", "sex"], "--group goes with predictions"),
            (["audit", "{f}/week.caveat", "--cluster", "who"], "--cluster goes with predictions"),
            (["evaluate", "{f}/week.caveat", "{f}/day-0.parquet"], "day-0.parquet is not"),
            (["evaluate", "{f}/day-?.parquet", "--target-file", "{f}/day-0.parquet"],
             "--target-file goes with one file that is loaded"),
            (["compare", "{f}/week.caveat", "{f}/day-0.parquet"], "at least two summaries"),
            (["compare", "{f}/week.caveat"], "at least two summaries"),
            (["compare", "{f}/week.caveat", "{f}/week.caveat"], "two files have the same name"),
            (["compare", "{f}/week.caveat", "{f}/plain.caveat"], "cannot be compared"),
            (["compare", "{f}/week.caveat", "{f}/plain.caveat", "--group", "sex"],
             "--group goes with predictions, not with summaries"),
            (["compare", "{f}/week.caveat", "{f}/plain.caveat", "--technique", "a=p"],
             "--technique goes with predictions, not with summaries"),
            (["compare", "{f}/day-0.parquet", "{f}/day-1.parquet", "--models"],
             "--models goes with summaries"),
            (["summarize", "{f}/day-0.parquet", "-o", "{t}/a.caveat", "--missing", "drop"],
             "--missing goes with one file that is loaded"),
            (["merge", "{t}/state.npz", "-o", "{t}/a.caveat"], "holds a Categorical, not a summary"),
            (["evaluate", "{t}/broken.parquet"], "broken.parquet"),
            (["audit", "{f}/week.caveat", "--feature", "x"], "--feature needs single samples"),
            (["audit", "{f}/week.caveat", "--intersections"], "--intersections needs single samples"),
        ],
    )  # fmt: skip
    def test_one_line(self, folder, capsys, tmp_path, arguments, message):
        (tmp_path / "broken.parquet").write_bytes(b"PAR1")
        caveat.Categorical.from_binary([0.5]).save(tmp_path / "state.npz")
        code, _, err = run(capsys, *(a.format(f=folder, t=tmp_path) for a in arguments))
        assert code == 2
        assert message in " ".join(err.split())

    def test_broken_files(self, folder, capsys, tmp_path):
        (tmp_path / "bad.parquet").write_bytes(b"PAR1")
        files = [tmp_path / "bad.parquet", folder / "day-0.parquet"]
        out = tmp_path / "a.caveat"
        assert run(capsys, "summarize", *files, "-o", out)[0] == 2
        with pytest.warns(RuntimeWarning, match=r"bad\.parquet"):
            assert run(capsys, "summarize", *files, "-o", out, "--skip-broken")[0] == 0
        assert caveat.load(out).samples == 6000

    def test_checkpoint(self, folder, capsys, tmp_path):
        run_, out = tmp_path / "run.caveat", tmp_path / "a.caveat"
        arguments = [folder / "day-0.parquet", "-o", out, "--checkpoint", run_]
        assert run(capsys, "summarize", *arguments)[0] == 0
        assert caveat.load(run_).samples == 6000
        arguments[0] = folder / "day-1.parquet"
        code, _, err = run(capsys, "summarize", *arguments)
        assert code == 2
        assert "is of other files" in err


def test_audit(folder, capsys, tmp_path):
    pytest.importorskip("caveat.fairness.of_summary")
    options = ["--resamples", "100", "--json", "--privileged", "sex=m"]
    code, text, _ = run(capsys, "audit", folder / "week.caveat", *options)
    assert code == 0
    told = json.loads(text)
    assert told["samples"] == 18_000
    assert told["privileged"] == {"sex": "m"}
    code, text, err = run(capsys, "audit", folder / "day-?.parquet", "--group", "sex", *options)
    assert code == 0
    assert "summed up" in err
    code, _, err = run(capsys, "audit", folder / "plain.caveat")
    assert code == 2
    assert "without groups" in err


def test_the_same_summary_is_not_merged_twice(tmp_path, capsys):
    rng = np.random.default_rng(0)
    p = rng.random(200)
    one = caveat.summarize(p, (rng.random(200) < p).astype(int))
    for name in ("a", "copy"):
        one.save(tmp_path / f"{name}.caveat")
    for other in ("a", "copy"):
        code = main(
            ["merge", str(tmp_path / "a.caveat"), str(tmp_path / f"{other}.caveat"), "-o",
             str(tmp_path / "both.caveat")]
        )  # fmt: skip
        assert code == 2
        assert "its samples would count twice" in capsys.readouterr().err
        assert not (tmp_path / "both.caveat").exists()
