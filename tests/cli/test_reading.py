"""Files as they come, at the command line: what was detected and left out is said on stderr."""

import json

import numpy as np
import pandas as pd
import pytest

from caveat.cli import main

from ..files.tables import text, write

rng = np.random.default_rng(5)
N = 120
P = np.round(rng.random(N), 4)
Y = (rng.random(N) < P).astype(int)
WARD = np.array(["Süd", "Nord"])[rng.integers(0, 2, N)]
PLAIN = ["--resamples", "0", "--metric", "brier", "--json"]


def frame() -> pd.DataFrame:
    return pd.DataFrame({"risk": P, "died": np.array(["no", "yes"])[Y], "ward": WARD})


def call(capsys, *arguments, code=0):
    assert main([str(argument) for argument in arguments]) == code
    return capsys.readouterr()


def values(out):
    return {row["group"]: row["value"] for row in json.loads(out)["rows"]}


def test_an_export_of_r_gives_the_numbers_of_the_plain_file(tmp_path, capsys):
    plain = write(tmp_path, "csv", frame(), "plain")
    export = tmp_path / "export.csv"
    frame().to_csv(
        export, sep=";", decimal=",", encoding="cp1252", quoting=2, na_rep="NA", index_label=""
    )
    options = ["--target", "died", "--group", "ward", *PLAIN]
    wanted, err = call(capsys, "evaluate", plain, *options)
    assert "the file is read with" not in err
    out, err = call(capsys, "evaluate", export, *options)
    first = (
        "export.csv: the file is read with --delimiter ';' and --decimal , and --encoding cp1252"
    )
    assert err.splitlines()[0] == first
    assert values(out) == pytest.approx(values(wanted))
    assert set(values(out)) >= {"ward=Süd", "ward=Nord"}
    named = ["--delimiter", ";", "--decimal", ",", "--encoding", "cp1252"]
    out, err = call(capsys, "evaluate", export, *options, *named)
    assert "the file is read with" not in err
    assert values(out) == pytest.approx(values(wanted))


def test_rows_that_are_left_out_are_counted(tmp_path, capsys):
    columns = frame()
    columns.loc[3, "risk"] = np.nan
    columns.loc[[5, 7], "died"] = None
    columns.loc[9, "ward"] = None
    path = tmp_path / "table.csv"
    columns.to_csv(path, index=False, na_rep=".")
    options = ["--target", "died", "--group", "ward", *PLAIN]
    out, _ = call(capsys, "evaluate", path, *options, code=2)
    assert json.loads(out)["error"].endswith("; --missing drop leaves them out")
    out, err = call(capsys, "evaluate", path, *options, "--missing", "drop")
    sentence = "3 of 120 rows are left out: 1 without 'risk', 2 without 'died'"
    assert f"table.csv: {sentence}" in err.splitlines()
    assert sentence in json.loads(out)["recognized"]
    assert json.loads(out)["samples"] == N - 3
    keep = ~np.isin(np.arange(N), [3, 5, 7])
    assert values(out)[""] == pytest.approx(2 * np.mean((P - Y)[keep] ** 2))
    assert "ward=(missing)" in values(out)
    columns.drop(index=[3, 5, 7]).to_csv(path, index=False, na_rep=".")
    call(capsys, "evaluate", path, *options)
    out, _ = call(capsys, "evaluate", path, *options, "--missing", "error", code=2)
    assert json.loads(out)["error"].endswith("; --missing group makes them a group")


def test_a_word_that_is_no_choice(tmp_path, capsys):
    path = write(tmp_path, "csv", frame())
    _, err = call(capsys, "evaluate", path, "--missing", "ignore", code=2)
    assert err == "caveat: missing must be one of 'group', 'error', 'drop'; got 'ignore'\n"


def test_triage_names_the_rows_of_the_file(tmp_path, capsys):
    columns = frame()
    columns.loc[[0, 4], "risk"] = np.nan
    path = tmp_path / "table.csv"
    columns.to_csv(path, index=False)
    out = tmp_path / "actions.csv"
    options = ["--target", "died", "--risk", "0.4", "--missing", "drop", "--output", out]
    known = tmp_path / "known.csv"
    columns.iloc[1:].to_csv(known, index=False)
    call(capsys, "triage", path, "--calibration", known, *options)
    names = pd.read_csv(out)["id"].tolist()
    assert names == [row for row in range(1, N + 1) if row not in (1, 5)]
    call(capsys, "triage", path, "--split", "0.5", *options)
    assert set(pd.read_csv(out)["id"]) <= set(names)


def test_an_audit_takes_the_features_of_the_rows_that_are_left(tmp_path, capsys):
    columns = frame().assign(age=np.arange(N) / 2)
    columns.loc[[2, 3], "risk"] = np.nan
    path, whole = tmp_path / "table.csv", tmp_path / "whole.csv"
    columns.to_csv(path, index=False, sep=";", decimal=",", encoding="cp1252")
    columns.drop(index=[2, 3]).to_csv(whole, index=False)
    options = ["--target", "died", "--group", "ward", "--feature", "age", "--json"]
    options += ["--resamples", "50"]
    out, _ = call(capsys, "audit", path, *options, "--missing", "drop")
    wanted, _ = call(capsys, "audit", whole, *options)
    assert json.loads(out)["consistency"] == json.loads(wanted)["consistency"]
    assert json.loads(out)["consistency"] is not None


def test_techniques_without_the_same_rows_are_not_compared(tmp_path, capsys):
    paths = []
    for row in (3, 4):
        columns = frame()
        columns.loc[row, "risk"] = np.nan
        paths.append(tmp_path / f"without_{row}.csv")
        columns.to_csv(paths[-1], index=False)
    options = ["--target", "died", "--missing", "drop", "--resamples", "0"]
    _, err = call(capsys, "compare", *paths, *options, code=2)
    assert "differ in the" in err
    assert "they must hold the same samples in the same order" in err


def test_a_table_of_features(tmp_path, capsys):
    path = text(tmp_path, "a;Größe;kind\n0,5;1;x\n0,25;NA;y\n".encode("cp1252"))
    options = ["--target", "kind", "--method", "random-forest"]
    _, err = call(capsys, "disentangle", path, *options, code=2)
    assert "column 'Größe' has no number in data row 2" in err
    assert "missing" not in err.replace("--missing", "")
    _, err = call(capsys, "disentangle", path, *options, "--encoding", "latin-17", code=2)
    assert "--encoding latin-17 is not known; use a name such as 'utf-8'" in err
    _, err = call(capsys, "disentangle", path, *options, "--decimal", ".", "--drop", "Gr*", code=2)
    assert "column 'a' holds the text '0,5'; for decimal commas add --decimal ," in err


def test_percentages_are_not_sent_to_logits(tmp_path, capsys):
    path = write(tmp_path, "csv", {"score": np.append(98.2 * P / P.max(), 0), "y": np.append(Y, 0)})
    _, err = call(capsys, "evaluate", path, code=2)
    assert "values up to 98.2 look like percentages: --percent divides them by 100" in err
    assert "logit" not in err


def test_help_has_the_options(capsys):
    out, _ = call(capsys, "evaluate", "--help")
    for words in ("--encoding", "--missing", "--decimal", "detected by default"):
        assert words in out
