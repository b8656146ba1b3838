"""evaluate, compare, triage, report and metrics on real files."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import caveat
from caveat.cli import main

from ..files.tables import write

rng = np.random.default_rng(3)
N = 400
Z = 2 * rng.normal(size=N)
Y = (rng.random(N) < 1 / (1 + np.exp(-Z))).astype(int)
SEX = np.where(rng.random(N) < 0.5, "f", "m")
HONEST, SURE = 1 / (1 + np.exp(-Z)), 1 / (1 + np.exp(-4 * Z))
MEAN = rng.normal(size=N)
TRUTH = MEAN + rng.normal(size=N)


def call(capsys, *arguments):
    assert main([str(argument) for argument in arguments]) == 0
    out, err = capsys.readouterr()
    return re.sub(" +", " ", out), err


def failure(capsys, *arguments):
    assert main([str(argument) for argument in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    return err.splitlines()[-1]


@pytest.fixture
def binary(tmp_path):
    names = np.array(["benign", "malignant"])
    columns = {"p": HONEST, "y": names[Y], "sex": SEX, "id": np.arange(N)}
    return write(tmp_path, "csv", columns, "honest")


@pytest.fixture
def regression(tmp_path):
    return write(tmp_path, "parquet", {"mean": MEAN, "std": np.ones(N), "y": TRUTH}, "numbers")


def test_evaluate_shows_verdict_numbers_and_groups(binary, capsys):
    out, err = call(capsys, "evaluate", binary, "--group", "sex", "--resamples", "100")
    assert out.startswith(
        "Categorical: 1 member x 400 samples x 2 classes ('benign', 'malignant')\n"
    )
    expected = np.mean((HONEST > 0.5) == Y)
    assert f"accuracy score {expected:.3g}" in out
    for words in (
        "Over all samples, with 95% intervals",
        "By true class",
        "By sex",
        "more with --all",
    ):
        assert words in out
    women = 100 * HONEST[SEX[0] == SEX].mean(), 100 * Y[SEX[0] == SEX].mean()
    assert f"note: on average predicts {100 * HONEST.mean():.3g} %, observed " in out
    assert f"{SEX[0]}: on average predicts {women[0]:.3g} %, observed {women[1]:.3g} %" in out
    assert "adaptive calibration error" not in out
    assert "honest.csv: 'malignant' is taken for the positive class" in err


def test_evaluate_of_one_part(tmp_path, regression, capsys):
    means = {f"mean_{k}": MEAN + 0.1 * k * np.cos(np.arange(N)) for k in range(3)}
    path = tmp_path / "members.npz"
    caveat.Gaussian.from_members(np.array([*means.values()]), 1.0).save(path)
    truth = write(tmp_path, "csv", {"y": TRUTH}, "truth")
    options = ("--target-file", truth, "--target", "y", "--resamples", "0", "--metric", "cv")
    parts = {
        part: call(capsys, "evaluate", path, *options, "--component", part)[0]
        for part in ("aleatoric", "epistemic")
    }
    assert "epistemic uncertainty alone" in parts["epistemic"]
    spread = np.std([*means.values()], axis=0)
    assert f"dispersion {spread.std(ddof=1) / spread.mean():.3g}" in parts["epistemic"]
    assert "dispersion 0" in parts["aleatoric"]
    assert "no epistemic uncertainty" in failure(
        capsys, "evaluate", regression, "--component", "epistemic"
    )


def test_evaluate_shows_all_that_is_asked_for(binary, capsys):
    out, _ = call(capsys, "evaluate", binary, "--resamples", "0", "--all")
    assert "adaptive calibration error" in out
    assert "--all" not in out
    out, _ = call(
        capsys, "evaluate", binary, "--resamples", "0", "--metric", "adaptive_calibration_error"
    )
    assert "adaptive calibration error" in out


def test_the_same_numbers_as_the_library(binary, capsys, tmp_path):
    from caveat.evaluation.verdict import verdict
    from caveat.files import read_predictions

    files = [tmp_path / f"out.{ending}" for ending in ("csv", "json", "parquet")]
    for file in files:
        out, err = call(
            capsys, "evaluate", binary, "--metric", "ece", "--metric", "brier", "--group", "sex",
            "--resamples", "50", "--random-state", "7", "--confidence", "0.9", "-o", file, "--json",
        )  # fmt: skip
    table = read_predictions(binary, group=["sex"])
    wanted = caveat.evaluate(
        table.prediction, table.y, ids=table.ids, groups=table.groups, metrics=["ece", "brier"],
        resamples=50, random_state=7, confidence=0.9,
    )  # fmt: skip
    found = json.loads(out)
    assert found["rows"] == json.loads(wanted.to_json())
    assert found["verdict"] == json.loads(verdict(wanted).to_json())
    assert (found["confidence"], found["samples"]) == (0.9, N)
    assert found["description"] == wanted.description
    assert found["recognized"] == list(table.recognized)
    frame = wanted.to_frame()
    pd.testing.assert_frame_equal(pd.read_parquet(files[2]), frame)
    np.testing.assert_allclose(pd.read_csv(files[0])["value"], frame["value"])
    assert json.loads(files[1].read_text()) == found["rows"]
    _, err = call(capsys, "evaluate", binary, "--metric", "ece", "--resamples", "0", "-o", files[0])
    assert f"rows: {files[0]}" in err


def test_evaluate_regression_with_several_targets_and_notes(tmp_path, regression, capsys):
    out, _ = call(capsys, "evaluate", regression, "--resamples", "0")
    assert "root mean squared error" in out
    assert " of 0" not in out
    columns = {"lower_a": MEAN - 1, "upper_a": MEAN + 1, "lower_b": MEAN - 2, "upper_b": MEAN + 2}
    path = write(tmp_path, "csv", {**columns, "a": TRUTH, "b": TRUTH})
    out, _ = call(capsys, "evaluate", path, "--coverage", "0.8", "--resamples", "0")
    covered = np.mean(np.abs(TRUTH - MEAN) <= 2)
    assert f"interval coverage (coverage=0.8) of b {covered:.3g}" in out
    assert "mean absolute error" not in out  # an interval names no point
    columns = {"q0.1": MEAN - 1, "q0.6": MEAN, "q0.9": MEAN + 1, "y": TRUTH}
    out, _ = call(capsys, "evaluate", write(tmp_path, "csv", columns), "--resamples", "0")
    assert "note: of the median, interpolated between the levels 0.1 and 0.6" in out
    assert "quantile coverage error" in out


def test_many_groups_are_cut_short(tmp_path, capsys):
    path = write(tmp_path, "csv", {"p": HONEST, "y": Y, "site": np.arange(N) % 15})
    out, _ = call(
        capsys, "evaluate", path, "--group", "site", "--resamples", "0", "--metric", "auc"
    )
    assert "3 more groups in the file that --output writes" in out
    path = write(tmp_path, "csv", {"p": [0.1, 0.9, 0.5], "y": [0, 1, 1], "s: t=e": ["a", "a", "b"]})
    out, _ = call(
        capsys, "evaluate", path, "--group", "s: t=e", "--resamples", "0", "--metric", "auc"
    )
    assert "By s: t=e" in out
    assert " b 1 -" in out
    assert "gap" not in out


def test_evaluate_needs_a_target(tmp_path, capsys):
    path = write(tmp_path, "csv", {"p": HONEST})
    assert failure(capsys, "evaluate", path) == (
        f"caveat: {path}: no column says what is true; name it with --target, or another file that "
        "does with --target-file"
    )
    other = write(tmp_path, "csv", {"y": Y}, "truth")
    out, _ = call(capsys, "evaluate", path, "--target-file", other, "--resamples", "0")
    assert "accuracy score" in out


def test_compare_files(tmp_path, binary, capsys):
    sure = write(tmp_path, "csv.gz", {"p": SURE}, "sure")
    out, err = call(capsys, "compare", binary, sure, "--resamples", "200", "--json")
    found = json.loads(out)
    assert found["techniques"] == ["honest", "sure"]
    assert found["recommendation"]["technique"] == "honest"
    assert "sure.csv.gz: 'p': probability of 'malignant', the other class is 'benign'\n" in err
    out, _ = call(
        capsys,
        "compare",
        binary,
        f"other={sure}",
        "--resamples",
        "0",
        "--scale",
        "global",
        "-o",
        tmp_path / "c.csv",
    )
    assert "metric honest other" in out
    assert "Use honest: its negative log likelihood loss is" in out
    assert set(pd.read_csv(tmp_path / "c.csv")["technique"]) == {"honest", "other"}
    out, _ = call(capsys, "compare", binary, sure, "--resamples", "0", "--metric", "auc")
    assert "No recommendation: its metric is not among those asked for." in out
    out, _ = call(capsys, "compare", binary, sure, "--resamples", "0", "--metric", "auc", "--json")
    assert json.loads(out)["recommendation"] is None


def test_compare_columns_of_one_file(tmp_path, capsys):
    columns = {"m1": MEAN, "s1": np.ones(N), "lo": MEAN - 1, "hi": MEAN + 1, "y": TRUTH}
    path = write(tmp_path, "csv", columns)
    gauss, band = ("--technique", "gauss=mean:m1,std:s1"), ("--technique", "band=lower:lo,upper:hi")
    out, _ = call(
        capsys, "compare", path, *gauss, "--technique", "low=mean:lo,std:s1", "--resamples", "50",
        "--metric", "cce", "--metric", "ence", "--metric", "gaussian_crps_loss", "--json",
    )  # fmt: skip
    found = json.loads(out)
    assert found["techniques"] == ["gauss", "low"]
    assert found["recommendation"]["primary"] == "expected_normalized_calibration_error"
    out, _ = call(
        capsys, "compare", path, *gauss, *band, "--coverage", "0.6827", "--resamples", "0",
        "--metric", "interval_coverage",
    )  # fmt: skip
    assert "interval coverage (coverage=0.6827)" in out
    assert "No recommendation" in out
    path = write(tmp_path, "csv", {"a_0": HONEST, "a_1": 1 - HONEST, "b": SURE, "y": Y})
    out, _ = call(
        capsys, "compare", path, "--technique", "a=a_*", "--technique", "b=b", "--resamples", "0",
        "--expression", "probability", "--report", tmp_path / "page.html",
    )  # fmt: skip
    assert f" · {path.name} · " in (tmp_path / "page.html").read_text(encoding="utf-8")
    quantiles = {f"{k}_q{level}": MEAN + level for k in "ab" for level in (0.1, 0.9)}
    path = write(tmp_path, "csv", {**quantiles, "y": TRUTH})
    out, _ = call(
        capsys,
        "compare",
        path,
        "--technique",
        "a=quantile:a_q*",
        "--technique",
        "b=quantile:b_q*",
        "--resamples",
        "0",
    )
    assert "by quantile coverage error" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{0}"], "compare needs at least two techniques: two files, or --technique NAME=PATTERN twice"),
        (["{0}", "{0}"], "two files have the same name; give them as NAME=FILE"),
        (["{0}", "={0}"], "FILE: expected NAME=..., got '={0}'"),
        (["{0}", "{1}", "--technique", "a=p"], "--technique compares columns of one file; give one file"),
        (["{0}", "--technique", "p"], "--technique: expected NAME=..., got 'p'"),
        (["{0}", "--technique", "a=p", "--technique", "a=p"], "--technique: each needs a name of its own"),
        (["{0}", "--technique", "a=x:p", "--technique", "b=p"], "--technique: 'x:p' is not understood; write PATTERN or KIND:PATTERN with one of probability, logit, mean, variance, std, quantile, lower, upper, half_width"),
        (["{0}", "{1}"], "'other' and 'honest' differ in the target of data row 3; they must hold the same samples in the same order"),
        (["{1}", "{1}", "--report", "x.txt"], "--report x.txt: the ending must be one of .html, .htm"),
        (["{0}", "x={0}", "--scale", "tiny"], "scale must be one of 'global', 'local', 'adaptive'; got 'tiny'"),
    ],
)  # fmt: skip
def test_what_compare_refuses(binary, tmp_path, capsys, arguments, message):
    y = np.array(["benign", "malignant"])[Y]
    y[2] = "benign" if y[2] == "malignant" else "malignant"
    other = write(tmp_path, "csv", {"p": HONEST, "y": y}, "other")
    given = [argument.format(binary, other) for argument in arguments]
    assert (
        failure(capsys, "compare", *given, "--resamples", "0")
        == f"caveat: {message.format(binary)}"
    )


def test_triage(tmp_path, capsys):
    columns = {"p": SURE, "truth": np.array(["no", "yes"])[Y], "id": [f"s{i}" for i in range(N)]}
    old = write(tmp_path, "csv", columns, "old")
    new = write(tmp_path, "csv", {"p": SURE[:50], "id": columns["id"][:50]}, "new")
    for ending, reader in (
        ("csv", pd.read_csv),
        ("parquet", pd.read_parquet),
        ("json", pd.read_json),
    ):
        output = tmp_path / f"actions.{ending}"
        out, err = call(
            capsys,
            "triage",
            new,
            "--calibration",
            old,
            "--risk",
            "0.2",
            "--target",
            "truth",
            "-o",
            output,
        )
        frame = reader(output)
        assert frame["id"].tolist() == columns["id"][:50]
        accepted = int((frame["action"] == "accept").sum())
        assert f"accept {accepted} " in out
        assert f"what to do with each sample: {output}" in err
    assert "With 95 % confidence, at most 20 % of the accepted predictions are wrong" in out
    assert "A single model does not tell what it does not know (epistemic) from" in out
    assert set(frame["action"]) <= {"accept", "defer"}
    assert "measure again" not in out
    assert frame[["aleatoric", "epistemic"]].isna().all(axis=None)
    out, _ = call(capsys, "triage", new, "--calibration", old, "--risk", "0.2", "--json")
    found = json.loads(out)
    policy = caveat.TriagePolicy(0.2, random_state=0).fit(
        caveat.Categorical.from_binary(SURE, classes=["no", "yes"]), columns["truth"]
    )
    assert found["threshold"] == policy.threshold_
    assert found["counts"]["accept"] == accepted
    assert found["checked"] is None
    assert found["actions"][0]["id"] == "s0"
    assert found["actions"][0]["epistemic"] is None
    assert (found["promise"], found["needed"]) == ("high-probability", None)
    out, _ = call(capsys, "triage", new, "--calibration", old, "--risk", "0.2", "--promise", "mean")
    assert "50 samples at risk 0.2, on average" in out
    assert "On average over calibration sets, at most 20 %" in out


def test_triage_of_one_file_keeps_clusters_whole(tmp_path, capsys):
    columns = {"p": SURE, "y": Y, "cluster": np.arange(N) // 2}
    path = write(tmp_path, "parquet", columns)
    out, _ = call(capsys, "triage", path, "--split", "0.5", "--risk", "0.3", "--json")
    found = json.loads(out)
    rows = np.array([action["id"] for action in found["actions"]]) - 1
    assert len(rows) == N // 2
    assert set(rows) == set(rows ^ 1)
    accepted = [
        row
        for row, action in zip(rows, found["actions"], strict=True)
        if action["action"] == "accept"
    ]
    wrong = int(((SURE[accepted] > 0.5) != Y[accepted]).sum())
    assert found["checked"] == {"accepted": len(accepted), "wrong": wrong}
    del columns["cluster"]
    path = write(tmp_path, "parquet", {**columns, "id": np.arange(N) + 1000})
    out, _ = call(capsys, "triage", path, "--split", "0.5", "--risk", "0.3")
    assert "accepted were wrong." in out
    again, _ = call(capsys, "triage", path, "--split", "0.5", "--risk", "0.3")
    assert out == again


def test_triage_of_each_group(tmp_path, capsys):
    ward = np.where(np.arange(N) % 4 == 0, "B", "A")
    path = write(tmp_path, "csv", {"p": HONEST, "y": Y, "ward": ward})
    given = ["--risk", "0.3", "--group", "ward", "--each-group"]
    old = tmp_path / "old.csv"  # the same samples in other words
    old.write_text(f"{path.read_text()}\n")
    for where in (["--split", "0.5"], ["--calibration", old]):
        out, _ = call(capsys, "triage", path, *where, *given)
        assert "What the promises for groups cost" in out
        assert "With 95 % confidence for each group by itself, at most 30 % of the" in out
        found = json.loads(call(capsys, "triage", path, *where, *given, "--json")[0])
        assert found["threshold"] is None
        assert [price["group"] for price in found["groups"]] == ["A", "B"]
        accepted = sum(price["accepted"] for price in found["groups"])
        assert accepted == found["counts"]["accept"] > 0
    policy = caveat.TriagePolicy(0.3, random_state=0).fit(
        caveat.Categorical.from_binary(HONEST), Y, groups={"ward": ward}
    )
    assert [p.accepted for p in policy.prices_] == [p["accepted"] for p in found["groups"]]
    plain = json.loads(call(capsys, "triage", path, "--split", "0.5", *given[:4], "--json")[0])
    assert plain["groups"] == []
    assert plain["threshold"] is not None


def test_triage_of_regression(tmp_path, regression, capsys):
    new = write(tmp_path, "csv", {"mean": MEAN[:5], "std": np.ones(5)}, "new")
    out, _ = call(
        capsys,
        "triage",
        new,
        "--calibration",
        regression,
        "--risk",
        "0.3",
        "--tolerance",
        "3",
        "--json",
    )
    assert [action["row"] for action in json.loads(out)["actions"]] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "triage needs samples with known truth: --calibration FILE, or --split 0.5 to take half of the file"),
        (["--split", "1.5"], "--split must be a share between 0 and 1; got 1.5"),
        (["--split", "0.5", "--promise", "sure"], "promise must be one of 'high-probability', 'mean'; got 'sure'"),
        (["--split", "0.5", "--each-group"], "--each-group needs groups: name a column with --group"),
        (["--calibration", "same"], "--calibration holds the same samples as {file}, but the promise is for new ones: give other samples, or --split 0.5"),
        (["--split", "0.0001"], "--split 0.0001 leaves nothing on one side of 400"),
    ],
)  # fmt: skip
def test_what_triage_refuses(binary, capsys, arguments, message):
    arguments = [binary if argument == "same" else argument for argument in arguments]
    message = message.replace("{file}", str(binary))
    assert failure(capsys, "triage", binary, "--risk", "0.1", *arguments) == f"caveat: {message}"


def test_report(binary, tmp_path, capsys):
    page = tmp_path / "page.html"
    out, _ = call(
        capsys, "report", binary, "-o", page, "--resamples", "20", "--title", "Is it <b>good?"
    )
    text = page.read_text(encoding="utf-8")
    assert "Is it &lt;b&gt;good?" in text
    assert f"report: {page}" in out.replace("\n", "")
    out, _ = call(
        capsys, "report", binary, "-o", page, "--resamples", "0", "--json", "--calibration", binary, "--risk", "0.2",
    )  # fmt: skip
    assert json.loads(out) == {"report": str(page)}
    assert "at most 20 % of the accepted" in page.read_text(encoding="utf-8")
    line = failure(capsys, "report", binary, "-o", page, "--risk", "0.2")
    assert line == "caveat: --calibration and --risk go together: samples to learn a threshold from"
    folder = tmp_path / "folder.html"
    folder.mkdir()
    line = failure(capsys, "report", binary, "-o", folder)
    assert line == f"caveat: --output {folder}: this is a folder; give a file"


def test_samples_of_a_file_are_numbered_from_1(tmp_path, capsys, monkeypatch):
    named, real = [], caveat.evaluation.evaluate

    def spy(*arguments, **options):
        result = real(*arguments, **options)
        named.append(result.ids.tolist())
        return result

    monkeypatch.setattr(caveat.evaluation, "evaluate", spy)
    page = tmp_path / "page.html"
    file = write(tmp_path, "csv", {"p": HONEST, "y": Y})
    call(capsys, "report", file, "-o", page, "--resamples", "0")
    assert named == [list(range(1, N + 1))]
    assert "have the number of their row, from 1 on" in page.read_text(encoding="utf-8")


def test_metrics(capsys):
    out, _ = call(capsys, "metrics", "--json")
    found = json.loads(out)
    assert [entry["name"] for entry in found] == list(caveat.metrics.METRICS)
    by_name = {entry["name"]: entry for entry in found}
    assert "ece" in by_name["expected_calibration_error"]["aliases"]
    assert by_name["negative_log_likelihood_loss"]["range"] == [0, "inf"]
    out, _ = call(capsys, "metrics", "--task", "regression")
    assert "Regression" in out
    assert "gaussian_crps_loss" in out
    assert "accuracy_score" not in out
    out, _ = call(capsys, "metrics")
    assert "Classification" in out
    assert "Detection" in out


def test_percentages_and_missing_names(capsys, tmp_path):
    labels = np.array(["AO", "NA"])[Y]
    shares = {"p": np.round(100 * HONEST, 6), "y": labels, "land": labels}
    path = write(tmp_path, "csv", shares, "shares")
    assert "'y' has no label in data row" in failure(capsys, "evaluate", path)
    told = failure(capsys, "evaluate", path, "--keep-na")
    assert told.endswith(" look like percentages: --percent divides them by 100")
    options = ["--percent", "--keep-na", "--metric", "brier", "--resamples", "0", "--json"]
    out, _ = call(capsys, "evaluate", path, "--group", "land", *options)
    rows = {row["group"]: row["value"] for row in json.loads(out)["rows"]}
    assert rows[""] == pytest.approx(2 * np.mean((HONEST - Y) ** 2), rel=1e-5)
    assert {"land=AO", "land=NA"} <= set(rows)
    whole = {"p": HONEST, "y": Y, "land": labels}
    out, _ = call(
        capsys, "evaluate", write(tmp_path, "csv", whole), "--group", "land", *options[2:]
    )
    assert {"land=AO", "land=(missing)"} <= {row["group"] for row in json.loads(out)["rows"]}


def test_no_processes(capsys, tmp_path):
    path = write(tmp_path, "csv", {"x": HONEST, "y": Y})
    told = failure(capsys, "disentangle", path, "--target", "y", "--jobs", "0")
    assert told == (
        "caveat: --jobs must be a number of processes, or -1 for one on each core; got 0"
    )


def test_a_report_is_no_pdf(capsys, binary, tmp_path):
    told = failure(capsys, "report", binary, "-o", tmp_path / "page.pdf")
    assert told.endswith("the ending must be one of .html, .htm")


@pytest.mark.parametrize("names", [["p_b", "p_a"], ["p_a"], ["p_b"]], ids="-".join)
def test_files_with_the_columns_in_another_order_or_of_the_other_class(tmp_path, capsys, names):
    columns = {"p_a": 1 - SURE, "p_b": SURE, "y": np.array(["a", "b"])[Y]}
    old = write(tmp_path, "csv", columns, "old")
    same, new = (
        write(
            tmp_path,
            "csv",
            {name: columns[name][:300] for name in [*given, "y"]},
            f"{len(given)}{given[0]}",
        )
        for given in (["p_a", "p_b"], names)
    )
    wanted, found = (
        json.loads(call(capsys, "triage", f, "--calibration", old, "--risk", "0.2", "--json")[0])
        for f in (same, new)
    )
    assert found["checked"] == wanted["checked"]
    new = write(tmp_path, "csv", {name: columns[name] for name in [*names, "y"]}, "new")
    out, _ = call(capsys, "compare", old, new, "--resamples", "0", "--json")
    rows = json.loads(out)["rows"]
    values = {
        r: [float(row["value"]) for row in rows if row["technique"] == r] for r in ("old", "new")
    }
    np.testing.assert_allclose(values["new"], values["old"], atol=1e-12)


def test_compare_takes_weights_of_any_file_and_refuses_others(tmp_path, capsys):
    weight = np.where(Y == 1, 3.0, 1.0)
    plain = write(tmp_path, "csv", {"p": HONEST, "y": Y}, "plain")
    weighted = write(tmp_path, "csv", {"p": SURE, "y": Y, "weight": weight}, "weighted")
    options = ["--metric", "brier", "--resamples", "0", "--json"]
    for files in ([plain, weighted], [weighted, plain]):
        rows = json.loads(call(capsys, "compare", *files, *options)[0])["rows"]
        found = {row["technique"]: row["value"] for row in rows if not row["group"]}
        for name, p in (("plain", HONEST), ("weighted", SURE)):
            expected = 2 * np.average((p - Y) ** 2, weights=weight)
            assert found[name] == pytest.approx(expected, rel=1e-9)
    other = write(tmp_path, "csv", {"p": SURE, "y": Y, "weight": 1 + weight}, "other")
    said = failure(capsys, "compare", plain, weighted, other)
    assert "'other' and 'weighted' differ in the weight of data row 1; they must hold" in said
