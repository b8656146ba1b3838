"""``caveat repair``: the columns of a file come back repaired, the others as they were."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import caveat
from caveat.cli import main

RNG = np.random.default_rng(0)
Z = RNG.normal(size=400)
ILL = RNG.random(400) < expit(Z)
P = expit(3 * Z)
Y = np.where(ILL, "ill", "well")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(columns, truth=Y, name="y"):
    """Write the first samples with their truth, and all without."""
    frame = pd.DataFrame({**columns, "remark": "NA"})
    old = frame.assign(**{name: truth})
    if hasattr(truth, "ndim") and len(frame) == 400:
        old[:300].to_csv("old.csv", index=False)
    frame.to_csv("new.csv", index=False)
    return frame


def run(*options):
    arguments = ["repair", "old.csv", "--apply", "new.csv", "-o", "fixed.csv", *options]
    assert main(arguments) == 0
    return pd.read_csv("fixed.csv", keep_default_na=False)


def test_probabilities_come_back_under_their_names(folder, capsys):
    write({"number": np.arange(400), "p_well": 1 - P, "p_ill": P})
    fixed = run("--save", "kept.caveat")
    said = capsys.readouterr()
    assert said.out.startswith("Temperature scaling lowers the log loss by 0.")
    assert "repaired predictions: fixed.csv" in said.err
    assert "the repair: kept.caveat" in said.err
    assert list(fixed) == ["number", "p_well", "p_ill", "remark"]
    assert (fixed["remark"] == "NA").all()
    assert (fixed["number"] == np.arange(400)).all()
    expected = caveat.repair(
        caveat.Categorical(np.c_[1 - P, P][:300], classes=["well", "ill"]), Y[:300], random_state=0
    ).transform(caveat.Categorical(np.c_[1 - P, P], classes=["well", "ill"]))
    np.testing.assert_allclose(fixed[["p_well", "p_ill"]], expected.mean)
    assert main(["repair", "--load", "kept.caveat", "--apply", "new.csv", "-o", "2.csv"]) == 0
    assert (folder / "2.csv").read_text() == (folder / "fixed.csv").read_text()


@pytest.mark.parametrize("kind", ["binary", "percent", "logit", "logits"])
def test_other_ways_to_write_classes(kind, folder, capsys):
    write({"p_well": 1 - P, "p_ill": P})
    p = run()["p_ill"].to_numpy()
    if kind == "binary":
        write({"p": P})
        fixed = run("--positive", "ill", "--probability", "p")["p"]
    elif kind == "percent":
        write({"p": 100 * P})
        fixed = run("--positive", "ill", "--probability", "p", "--percent")["p"] / 100
    elif kind == "logit":
        write({"score": 3 * Z})
        fixed = expit(run("--positive", "ill", "--logit", "score")["score"])
    else:
        write({"s_well": -3 * Z, "s_ill": 0 * Z})
        made = run("--logit", "s_*")
        fixed = expit(made["s_ill"] - made["s_well"])
    np.testing.assert_allclose(fixed, p, atol=1e-6)


def test_members_keep_their_columns(folder):
    q = expit(3.2 * Z)
    write({"p_well_0": 1 - P, "p_ill_0": P, "p_well_1": 1 - q, "p_ill_1": q})
    fixed = run("--probability", "p_{class}_{member}")
    temperature = (
        Z[:, None]
        * [3, 3.2]
        / np.log(fixed[["p_ill_0", "p_ill_1"]] / fixed[["p_well_0", "p_well_1"]].to_numpy())
    )
    np.testing.assert_allclose(temperature, temperature.iloc[0, 0], rtol=1e-6)


@pytest.mark.parametrize("spread", ["std", "variance"])
def test_gaussians(spread, folder):
    y = Z + 2 * RNG.normal(size=400)
    write({"mean": Z, spread: np.ones(400)}, y)
    fixed = run()
    scale = 2 if spread == "std" else 4
    np.testing.assert_allclose(fixed["mean"], Z)
    np.testing.assert_allclose(fixed[spread], scale, rtol=0.2)


def test_quantiles_and_intervals(folder):
    y = Z + 2 * RNG.normal(size=400)
    write({"q0.05": Z - 1.645, "q0.5": Z, "q0.95": Z + 1.645}, y)
    fixed = run()
    np.testing.assert_allclose((fixed["q0.95"] - fixed["q0.05"]) / 3.29, 2, rtol=0.2)
    write({"lower": Z - 1.645, "upper": Z + 1.645}, y)
    fixed = run("--coverage", "0.9")
    np.testing.assert_allclose((fixed["upper"] - fixed["lower"]) / 3.29, 2, rtol=0.2)


def test_half_widths(folder):
    write({"m": Z, "h": np.full(400, 0.1)}, Z + RNG.normal(size=400))
    given = ("--mean", "m", "--half-width", "h", "--coverage", "0.8", "--target", "y")
    fixed = run(*given)
    np.testing.assert_allclose(fixed["m"], Z)
    assert fixed["h"].min() > 0.8


def test_groups(folder, capsys):
    sex = np.array(["f", "m"])[np.arange(400) % 2]
    off = expit(np.where(sex == "f", 5 * Z, Z / 5))
    write({"p_well": 1 - off, "p_ill": off, "sex": sex})
    fixed = run("--group", "sex", "--save", "kept.caveat", "--candidate", "ts")
    assert "by group" in capsys.readouterr().out
    assert np.abs(fixed["p_ill"] - expit(Z)).max() < 0.15
    assert main(["repair", "--load", "kept.caveat", "--apply", "new.csv", "-o", "2.csv", "--group",
                 "sex"]) == 0  # fmt: skip
    new = pd.read_csv("new.csv").rename(columns={"sex": "which"})
    new.to_csv("new.csv", index=False)
    assert main(["repair", "--load", "kept.caveat", "--apply", "new.csv", "-o", "2.csv"]) == 2
    assert "the repair is by group: name the columns of the groups" in capsys.readouterr().err


def test_what_is_left_is_copied_and_said(folder, capsys):
    q = expit(Z)
    write({"p_well": 1 - q, "p_ill": q})
    np.testing.assert_allclose(run("--target", "y")["p_ill"], q)
    said = capsys.readouterr()
    assert said.out.startswith("Leave it: no repair lowers the log loss by more than chance")
    assert "\npredictions: fixed.csv" in said.err


def test_json(folder, capsys):
    write({"p_well": 1 - P, "p_ill": P})
    assert main(["repair", "old.csv", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["chosen"] == "TemperatureScaling"
    assert [row["candidate"] for row in result["rows"]][:2] == ["as it is", "TemperatureScaling"]


def test_what_is_refused(folder, capsys):
    write({"p_well": 1 - P, "p_ill": P})
    caveat.Categorical.from_binary(P).save("saved.npz")
    pd.read_csv("old.csv").to_parquet("old.parquet")
    fine = ["repair", "old.csv", "--apply"]
    for arguments, said in [
        (["repair"], "give a file with known truth, or a repair with --load, not both"),
        (["repair", "old.csv", "--load", "x"], "not both"),
        (["repair", "old.csv", "--apply", "new.csv"], "--output FIXED go together"),
        (["repair", "new.csv"], "no column says what is true"),
        (["repair", "old.csv", "--save", "no/where"], "there is no folder no"),
        (["repair", "--load", "saved.npz"], "this holds a Categorical, not a repair"),
        ([*fine, "saved.npz", "-o", "fixed.csv"], "give a table with columns, such as a CSV file"),
        (["repair", "old.csv", "--candidate", "x"], "unknown recalibrator 'x'"),
    ]:
        assert main(arguments) == 2
        assert said in capsys.readouterr().err
    assert main([*fine, "old.parquet", "-o", "fixed.parquet"]) == 0
    assert list(pd.read_parquet("fixed.parquet")) == ["p_well", "p_ill", "remark", "y"]


def test_members_that_were_averaged_are_refused(folder, capsys):
    write({"p_well": 1 - P, "p_ill": P})
    assert main(["repair", "old.csv", "--save", "kept.caveat"]) == 0
    write({"p_well_0": 1 - P, "p_ill_0": P, "p_well_1": 1 - P, "p_ill_1": P})
    members = ["--probability", "p_{class}_{member}"]
    arguments = ["repair", "--load", "kept.caveat", "--apply", "new.csv", "-o", "x.csv", *members]
    assert main(arguments) == 2
    assert "the columns hold 2 members and the repair is of their mean" in capsys.readouterr().err


@pytest.mark.parametrize("names", [("p_ill", "p_well"), ("p_ill",), ("p_well",)], ids="-".join)
def test_columns_in_another_order_or_of_the_other_class(folder, names):
    columns = {"p_well": 1 - P, "p_ill": P}
    write(columns)
    expected = run()
    pd.DataFrame({name: columns[name] for name in names}).to_csv("new.csv", index=False)
    fixed = run()
    assert list(fixed) == [*names]
    np.testing.assert_allclose(fixed, expected[[*names]], atol=1e-12)


def test_decimal_commas_stay(folder):
    y = Z + 2 * RNG.normal(size=400)
    number = [f"{i:03d}" for i in range(400)]
    frame = pd.DataFrame({"id": number, "mean": Z, "std": 1.0, "y": y, "age": 50.5})
    for name in ("old.csv", "new.csv"):
        frame.to_csv(name, index=False, sep=";", decimal=",")
    assert main(["repair", "old.csv", "--apply", "new.csv", "-o", "fixed.csv"]) == 0
    fixed = pd.read_csv("fixed.csv", sep=";", decimal=",", dtype={"id": str})
    np.testing.assert_allclose(fixed["std"], 2, rtol=0.2)
    pd.testing.assert_frame_equal(fixed.drop(columns="std"), frame.drop(columns="std"))
    assert main(["evaluate", "fixed.csv", "--resamples", "0"]) == 0


def test_numbers_of_a_csv_are_numbers_in_parquet(folder):
    y = Z + 2 * RNG.normal(size=400)
    number = [f"{i:03d}" for i in range(400)]
    frame = pd.DataFrame({"id": number, "mean": Z, "std": 1.0, "y": y, "weight": 1.5, "zip": "01"})
    for name in ("old.csv", "new.csv"):
        frame.to_csv(name, index=False)
    assert main(["repair", "old.csv", "--apply", "new.csv", "-o", "fixed.parquet"]) == 0
    fixed = pd.read_parquet("fixed.parquet")
    pd.testing.assert_frame_equal(fixed.drop(columns="std"), frame.drop(columns="std"))
    assert main(["evaluate", "fixed.parquet", "--resamples", "0"]) == 0


@pytest.mark.parametrize("truth", [["", "ill"], [""]], ids=["some", "none"])
@pytest.mark.parametrize("output", ["fixed.csv", "fixed.parquet"])
def test_the_truth_of_new_samples_may_be_missing(folder, capsys, truth, output):
    write({"p_well": 1 - P, "p_ill": P})
    expected = run()
    new = pd.read_csv("new.csv", keep_default_na=False).assign(y=np.resize(truth, 400))
    new.to_csv("new.csv", index=False)
    assert main(["repair", "old.csv", "--apply", "new.csv", "-o", output]) == 0
    assert "'y': not used as target, for " in capsys.readouterr().err
    read = pd.read_parquet if output.endswith("parquet") else pd.read_csv
    np.testing.assert_allclose(read(output)["p_ill"], expected["p_ill"])
    assert main(["triage", "new.csv", "--calibration", "old.csv", "--risk", "0.2", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert len(result["actions"]) == 400
    assert result["checked"] is None
