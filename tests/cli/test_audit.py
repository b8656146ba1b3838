"""caveat audit on real files."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import caveat
from caveat.cli import _console, main

from ..files.tables import write

DOCS = Path(__file__).parents[2] / "docs"
rng = np.random.default_rng(3)
N = 600
X = rng.normal(size=(N, 2))
SEX = rng.choice(["f", "m"], size=N)
RACE = rng.choice(["black", "white"], size=N)
SITE = rng.choice(["n", "e", "s", "w", "in", "out", "far"], size=N)
MEMBERS = 1 / (1 + np.exp(-(X[:, 0] + rng.normal(size=(3, N)) * np.where(SEX == "f", 0.9, 0.2))))
Y = np.where(rng.random(N) < MEMBERS.mean(axis=0), "yes", "no")
COLUMNS = {
    **{f"p_yes_{i + 1}": MEMBERS[i] for i in range(3)},
    **{f"p_no_{i + 1}": 1 - MEMBERS[i] for i in range(3)},
    "y": Y,
    "sex": SEX,
    "race": RACE,
    "site": SITE,
    "age": X[:, 0],
    "income": X[:, 1],
    "degree": rng.choice(["F", "M"], size=N),
}
P = ("--probability", "p_{class}_{member}")


@pytest.fixture
def file(tmp_path):
    return write(tmp_path, "csv", COLUMNS, "predictions")


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setattr(_console, "_WIDTH", 80)


def call(capsys, *arguments):
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr()


def document(capsys, *arguments):
    return json.loads(call(capsys, *arguments, "--json").out)


def failure(capsys, *arguments):
    assert main([str(argument) for argument in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    return err.splitlines()[-1]


def test_the_same_numbers_as_the_library(file, tmp_path, capsys):
    files = [tmp_path / f"rows.{ending}" for ending in ("csv", "json", "parquet")]
    for output in files:
        found = document(
            capsys, "audit", file, *P, "--group", "sex", "--group", "race", "--privileged", "race=white",
            "--privileged", "sex=m", "--threshold", "0.1", "--confidence", "0.9", "--resamples", "50",
            "--seed", "7", "--feature", "age", "--feature", "inc*", "--neighbors", "3", "--queries",
            "200", "--positive", "no", "--intersections", "-o", output,
        )  # fmt: skip
    probabilities = np.stack([MEMBERS, 1 - MEMBERS], axis=-1)
    wanted = caveat.audit(
        caveat.Categorical(probabilities, classes=["yes", "no"]), Y, {"sex": SEX, "race": RACE},
        X=X, privileged={"race": "white", "sex": "m"}, positive="no", intersections=True, neighbors=3,
        queries=200, threshold=0.1, confidence=0.9, resamples=50, random_state=7,
    )  # fmt: skip
    assert found["rows"] == json.loads(wanted.to_json())
    assert found["verdict"] == json.loads(wanted.verdict().to_json())
    assert found["summary"] == wanted.verdict().summary
    assert (found["threshold"], found["confidence"], found["samples"]) == (0.1, 0.9, N)
    assert found["privileged"] == {
        "sex": "m", "race": "white", "sex x race": "sex=m, race=white"
    }  # fmt: skip
    assert found["decomposition"] == "variance"
    assert found["description"] == wanted.description
    assert found["report"] is None
    scaled = [row["scaled"] for row in found["consistency"]]
    assert scaled == pytest.approx([row.scaled for row in wanted.consistency.rows])
    frame = wanted.to_frame()
    pd.testing.assert_frame_equal(pd.read_parquet(files[2]), frame)
    np.testing.assert_allclose(pd.read_csv(files[0])["value"], frame["value"])
    assert json.loads(files[1].read_text()) == found["rows"]


def test_prints_within_80_columns(file, capsys, narrow):
    out, err = call(
        capsys, "audit", file, *P, "--group", "sex", "--group", "site", "--resamples", "60",
        "--feature", "age", "--feature", "degree",
    )  # fmt: skip
    assert max(map(len, out.splitlines())) <= 80
    text = re.sub(r"\s+", " ", out)
    assert text.startswith("Categorical: 3 members x 600 samples x 2 classes ('yes', 'no') ! There")
    assert "sex: The model knows less about sex=f: its epistemic uncertainty is" in text
    assert "Individuals: On average" in text
    sure = "95% intervals for all comparisons, threshold from 0.8 to 1.25"
    assert f"By sex, class no: {sure}" in text
    assert f"By site, class no: worst pairs, {sure}" in text
    assert "Groups of sex, class no" in text
    assert "Individuals and their 5 nearest neighbors" in text
    assert (
        "gap beyond: a gap beyond the threshold unclear: the data cannot show whether there is a gap "
        "beyond the threshold gap within: a gap, but within the threshold within: within the "
        "threshold"
    ) in text
    accuracy = np.mean((MEMBERS.mean(axis=0) > 0.5) == (Y == "yes"), where=SEX == "f")
    assert f"accuracy {accuracy:.3g} (" in text
    assert "1 more groups with --json, or in the file of --output" in text
    assert "epistemic uncertainty f / m" in text
    assert "predictions.csv: 'degree' is text: one column for each of 2 values" in err


def test_text_features_are_columns_of_zeros_and_ones(file, capsys):
    found = document(
        capsys, "audit", file, *P, "--group", "sex", "--resamples", "0", "--feature", "degree",
        "--feature", "age",
    )  # fmt: skip
    two = np.stack([COLUMNS["degree"] == "F", COLUMNS["degree"] == "M", X[:, 0]], axis=1)
    values = np.stack([MEMBERS, 1 - MEMBERS], axis=-1)
    wanted = caveat.audit(
        caveat.Categorical(values, classes=["yes", "no"]), Y, {"sex": SEX}, X=two.astype(float),
        resamples=0,
    )  # fmt: skip
    assert [row["scaled"] for row in found["consistency"]] == pytest.approx(
        [row.scaled for row in wanted.consistency.rows]
    )


def test_features_of_the_other_file(tmp_path, capsys):
    predictions = write(tmp_path, "csv", {"p": MEMBERS[0], "extra": X[:, 1]}, "predictions")
    truth = write(
        tmp_path, "parquet", {"y": Y, "sex": SEX, "age": X[:, 0], "adult": X[:, 0] > 0}, "truth"
    )
    options = ("--group", "sex", "--target-file", truth, "--resamples", "0")
    found = document(capsys, "audit", predictions, *options, "--feature", "age")
    wanted = caveat.fairness.consistency(
        np.where(MEMBERS[0] > 0.5, "yes", "no"), X[:, :1], resamples=0
    )
    assert found["consistency"][0]["consistency"] == pytest.approx(wanted.rows[0].consistency)
    own = document(capsys, "audit", predictions, *options, "--feature", "extra")
    other = caveat.fairness.consistency(
        np.where(MEMBERS[0] > 0.5, "yes", "no"), X[:, 1:], resamples=0
    )
    assert own["consistency"][0]["consistency"] == pytest.approx(other.rows[0].consistency)
    both = document(capsys, "audit", predictions, *options, "--feature", "adult")
    assert both["consistency"][0]["samples"] == N


def test_categories_and_arrays_are_features(tmp_path, capsys):
    frame = pd.DataFrame({"p": MEMBERS[0], "y": Y, "sex": SEX})
    frame["degree"] = pd.Categorical(COLUMNS["degree"])
    path = tmp_path / "table.parquet"
    frame.to_parquet(path)
    found = document(
        capsys, "audit", path, "--group", "sex", "--resamples", "0", "--feature", "degree"
    )
    assert found["consistency"][0]["samples"] == N
    arrays = tmp_path / "arrays.npz"
    np.savez(
        arrays, p=np.stack([1 - MEMBERS[0], MEMBERS[0]], axis=1), y=(Y == "yes") * 1, sex=SEX, x=X
    )
    found = document(
        capsys, "audit", arrays, "--group", "sex", "--resamples", "0", "--feature", "x"
    )
    wanted = caveat.fairness.consistency((MEMBERS[0] > 0.5) * 1.0, X, resamples=0)
    assert found["consistency"][0]["consistency"] == pytest.approx(wanted.rows[0].consistency)


def test_report(file, tmp_path, capsys):
    page = tmp_path / "audit.html"
    options = ("audit", file, *P, "--group", "sex", "--resamples", "40", "--report", page)
    out, _ = call(capsys, *options, "--title", "Is it <b>fair?")
    assert "Is it &lt;b&gt;fair?" in page.read_text(encoding="utf-8")
    assert f" · {file.name} · " in page.read_text(encoding="utf-8")
    assert f"report: {page}" in out.replace("\n", "")
    page.unlink()
    assert document(capsys, *options)["report"] == str(page)
    assert "Who does the model know less about?" in page.read_text(encoding="utf-8")


def test_output_is_said(file, tmp_path, capsys):
    rows = tmp_path / "rows.csv"
    _, err = call(capsys, "audit", file, *P, "--group", "sex", "--resamples", "0", "-o", rows)
    assert f"rows: {rows}" in err
    assert len(pd.read_csv(rows)) == int(re.search(r"all (\d+) rows", err)[1])


def test_groups_are_compared_with_the_privileged_one(file, capsys):
    options = ("--group", "site", "--privileged", "site=far", "--resamples", "60")
    out, _ = call(capsys, "audit", file, *P, *options)
    text = re.sub(r"\s+", " ", out)
    assert "By site, class no: 95% intervals for all comparisons, threshold from" in text
    assert "worst pairs" not in text
    table = text[text.index("By site") : text.index("Groups of site")]
    pairs = set(re.findall(r"(\w+) / (\w+)", table))
    assert len(pairs) > 1
    assert {reference for _, reference in pairs} == {"far"}
    found = document(capsys, "audit", file, *P, *options)
    (row,) = [
        row
        for row in found["rows"]
        if (row["measure"], row["kind"], row["comparison"], row["group"])
        == ("equal_accuracy", "ratio", "reference", "in")
    ]
    assert f"{row['verdict_low']:.3g} to {row['verdict_high']:.3g}" in table


def test_a_handful_of_resamples_is_refused(file, capsys):
    line = failure(capsys, "audit", file, *P, "--group", "sex", "--resamples", "5")
    assert "resamples must be at least 40 for intervals with --confidence 0.95" in line


def test_without_intervals_nothing_is_judged(file, capsys):
    out, _ = call(capsys, "audit", file, *P, "--group", "sex", "--resamples", "0")
    assert "not judged" in out
    assert "unclear" not in out


def test_several_classes_are_named(tmp_path, capsys):
    p = rng.dirichlet(np.ones(9), size=200)
    columns = {f"p_{i}": p[:, i] for i in range(9)}
    path = write(tmp_path, "csv", {**columns, "y": p.argmax(axis=1), "sex": SEX[:200]})
    out, _ = call(capsys, "audit", path, "--group", "sex", "--resamples", "0")
    text = re.sub(" +", " ", out)
    assert "By sex: 95% intervals" in text
    assert "statistical parity 3" in text
    assert "undefined (" in text
    assert " more ratios, closer to 1 or undefined, with --json" in text
    assert " more lines with --json" in text
    found = document(capsys, "audit", path, "--group", "sex", "--resamples", "0", "--positive", "3")
    assert {row["label"] for row in found["rows"]} == {"", "3"}


def test_numbers(tmp_path, capsys):
    columns = {"mean": X[:, 0], "std": np.ones(N), "y": X[:, 0] + rng.normal(size=N), "sex": SEX}
    path = write(tmp_path, "csv", {**columns, "age": X[:, 1]})
    out, _ = call(
        capsys, "audit", path, "--group", "sex", "--resamples", "40", "--feature", "age"
    )  # fmt: skip
    assert "mean absolute error" in out
    assert "standard deviations from the mean of the 5" in re.sub(r"\s+", " ", out)


def test_text_from_data_is_only_text(tmp_path, capsys):
    hostile = "[red]\x1b\u202e"
    columns = {"p": MEMBERS[0], "y": Y, "g": np.where(SEX == "f", hostile, "b"), "x": X[:, 0]}
    path = write(tmp_path, "parquet", columns)
    out, err = call(capsys, "audit", path, "--group", "g", "--resamples", "40", "--feature", "x")
    assert not set("\x1b\u202e") & set(out + err)
    assert "[red]" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "{0}: an audit compares groups; name their columns with --group"),
        (["--group", "sx"], "{0}: --group sx: there is no such column; did you mean 'sex'?"),
        (["--group", "sex", "--privileged", "m"], "--privileged: expected ATTRIBUTE=VALUE, got 'm'"),
        (["--group", "sex", "--privileged", "sex=f", "--privileged", "sex=m"], "--privileged names 'sex' twice; one group of each is privileged"),
        (["--group", "sex", "--privileged", "sex=x"], "privileged['sex'] is 'x'; the values are f, m"),
        (["--group", "sex", "--privileged", "age=x"], "privileged names the attribute 'age'; the attributes are sex"),
        (["--group", "age"], "groups['age'] has 600 different values for 600 samples; cut numbers into a few bins first, with pandas.qcut for example, or join rare values"),
        (["--group", "sex", "--threshold", "2"], "threshold must be"),
        (["--group", "sex", "--positive", "maybe"], "positive is 'maybe', but the classes are 'yes', 'no'"),
        (["--group", "sex", "--neighbors", "3"], "--neighbors and --queries need features: name their columns with --feature"),
        (["--group", "sex", "--queries", "3"], "--neighbors and --queries need features"),
        (["--group", "sex", "--feature", "agee"], "{0}: --feature agee: there is no such column; did you mean 'age'"),
        (["--group", "sex", "--feature", "name"], "{0}: column 'name' holds text with 600 distinct values, more than the 50 that a category may have; leave it out, or turn it into numbers first"),
        (["--group", "sex", "--feature", "age", "--neighbors", "0"], "neighbors must be a whole number of at least 1; got 0"),
        (["--group", "sex", "--report", "x.txt"], "--report x.txt: the ending must be one of .html, .htm"),
        (["--group", "sex", "-o", "x.txt"], "--output x.txt: the ending must be one of .csv, .json, .parquet"),
        (["--group", "sex", "--decomposition", "x"], "unknown"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path, capsys, arguments, message):
    columns = {**COLUMNS, "name": [f"n{i}" for i in range(N)]}
    path = write(tmp_path, "csv", columns, "predictions")
    line = failure(capsys, "audit", path, *P, "--resamples", "0", *arguments)
    assert line.startswith(f"caveat: {message.format(path)}")


def test_features_need_a_row_for_each_sample(tmp_path, capsys):
    path = tmp_path / "arrays.npz"
    np.savez(path, p=MEMBERS[0], y=(Y == "yes") * 1, sex=SEX, x=X[:5])
    line = failure(capsys, "audit", path, "--group", "sex", "--feature", "x", "--resamples", "0")
    assert line == f"caveat: {path}: --feature: each of the 600 samples needs one row"


def test_help(capsys):
    text = call(capsys, "audit", "--help").out
    for words in (
        "--group",
        "--privileged",
        "--feature",
        "--neighbors",
        "--threshold",
        "--report",
    ):
        assert words in text
    assert "caveat audit predictions.csv" in call(capsys).out


def commands():
    """The calls of this command that the documentation shows."""
    found = []
    for page in ("command-line.md", "fairness.md"):
        text = (DOCS / page).read_text(encoding="utf-8").replace("\\\n", " ")
        for block in re.findall(r"```\n(.*?)```", text, re.S):
            found += [line for line in block.splitlines() if line.startswith("caveat audit")]
    return sorted(set(found))


@pytest.mark.parametrize("command", commands())
def test_the_calls_in_the_documentation_run(command, file, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    _, *arguments = shlex.split(command, comments=True)
    assert main([*arguments, "--resamples", "40"]) == 0
    if "--report" in arguments:
        assert (tmp_path / arguments[arguments.index("--report") + 1]).exists()


def test_there_are_such_calls():
    assert len(commands()) >= 3
