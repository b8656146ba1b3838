"""``caveat molecules``: a table of SMILES from the file to the page."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("cuik_molmaker")
pytest.importorskip("torch")

import caveat
from caveat.cli import main
from caveat.cli._molecules import _columns

TAILS = ("", "O", "N", "=O", "c1ccccc1", "C1CC1")
SMILES = ["C" * n + tail for n in range(1, 11) for tail in TAILS]
Y = np.array([float(len(text)) for text in SMILES])
QUICK = ("--hidden", "4", "--epochs", "1", "--members", "2", "--passes", "2", "--device", "cpu")


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"smiles": SMILES, "y": Y, "half": Y / 2, "code": np.arange(60) % 2})
    frame["kind"] = np.where(["1" in text for text in SMILES], "ring", "chain")
    frame.to_csv("table.csv", index=False)
    return frame


def run(capsys, *arguments, code=0):
    assert main(["molecules", *map(str, arguments)]) == code
    return capsys.readouterr()


def test_a_model_is_kept_and_predicts_what_evaluate_reads(file, capsys):
    said = run(capsys, "fit", "table.csv", "--target", "y", *QUICK, "-o", "m.safetensors")
    assert said.out == "60 molecules, ensemble: m.safetensors\n"
    assert "have no ring" in said.err
    run(capsys, "predict", "table.csv", "--model", "m.safetensors", "-o", "p.csv")
    made = pd.read_csv("p.csv")
    model = caveat.load("m.safetensors")
    prediction = model.predict_distribution(SMILES)
    mean, variance = prediction.moments()
    np.testing.assert_allclose(made["mean"], mean[:, 0], rtol=1e-6)
    np.testing.assert_allclose(made["std"] ** 2, variance[:, 0], rtol=1e-6)
    np.testing.assert_allclose(
        made["aleatoric_std"] ** 2 + made["epistemic_std"] ** 2, variance[:, 0], rtol=1e-6
    )
    assert main(["evaluate", "p.csv", "--target", "y", "--resamples", "0"]) == 0
    assert "one model" not in capsys.readouterr().out  # it is of an ensemble
    assert main(["evaluate", "p.csv", "--target", "y", "--resamples", "0", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    error = {row["metric"]: row["value"] for row in rows}["mean_absolute_error"]
    assert error == pytest.approx(np.abs(mean[:, 0] - Y).mean(), rel=1e-5)
    said = run(
        capsys, "evaluate", "table.csv", "--target", "y", "--model", "m.safetensors",
        "--resamples", 0, "--json",
    )  # fmt: skip
    rows = json.loads(said.out)["rows"]
    assert {row["metric"]: row["value"] for row in rows}["mean_absolute_error"] == pytest.approx(
        error, rel=1e-5
    )


def test_a_calibration_is_kept_with_the_model(file, capsys):
    said = run(
        capsys, "fit", "table.csv", "--target", "y", *QUICK, "--calibrate", 0.3, "-o",
        "m.safetensors",
    )  # fmt: skip
    assert said.out == (
        "60 molecules, ensemble: m.safetensors\n"
        "Leave it: 18 samples are too few to choose a repair; 50 are needed.\n"
    )
    model = caveat.load("m.safetensors")
    assert isinstance(model, caveat.Repaired)
    run(capsys, "predict", "table.csv", "--model", "m.safetensors", "-o", "p.csv")
    wanted = model.predict_distribution(SMILES).moments()[1][:, 0]
    np.testing.assert_allclose(pd.read_csv("p.csv")["std"] ** 2, wanted, rtol=1e-6)
    run(capsys, "fit", "table.csv", "--target", "y", "--target", "half", "--calibrate", 0.3, code=2)


@pytest.mark.parametrize(
    ("column", "more"), [("kind", ()), ("code", ("--classes",)), ("mixed", ("--classes",))]
)
def test_classes(file, capsys, column, more):
    file["mixed"] = np.where(file["code"] + np.arange(60) % 5 > 1, "2", "other")
    file.to_csv("table.csv", index=False)
    given = ("--target", column, *more, *QUICK, "--method", "mc-dropout")
    run(capsys, "fit", "table.csv", *given, "-o", "m.safetensors")
    run(capsys, "predict", "table.csv", "--model", "m.safetensors", "-o", "p.csv")
    labels = sorted(set(map(str, file[column])))
    made = pd.read_csv("p.csv")
    np.testing.assert_allclose(made[[f"p_{label}" for label in labels]].sum(axis=1), 1)
    assert "epistemic" in made
    said = run(
        capsys, "evaluate", "table.csv", *given, "--split", "random", "--resamples", 0, "-o",
        "rows.csv", "--report", "page.html", "--title", "Rings",
    )  # fmt: skip
    assert "48 to learn from, 12 to test on" in said.err
    assert "accuracy" in said.out
    assert 'id="molecules"' in Path("page.html").read_text(encoding="utf-8")
    assert len(pd.read_csv("rows.csv")) > 3


def test_several_targets_and_one_member(file, capsys):
    targets = ("--target", "y", "--target", "half")
    run(capsys, "fit", "table.csv", *targets, *QUICK, "--method", "map", "-o", "m.safetensors")
    run(capsys, "predict", "table.csv", "--model", "m.safetensors", "-o", "p.csv")
    made = pd.read_csv("p.csv").columns.tolist()
    assert made[-4:] == ["mean_y", "std_y", "mean_half", "std_half"]
    said = run(
        capsys, "evaluate", "table.csv", *targets, "--model", "m.safetensors", "--resamples", 0
    )
    assert "2 targets" in said.out


@pytest.mark.parametrize("dates", [True, False])
def test_the_newest_molecules_are_tested(file, capsys, monkeypatch, dates):
    days = np.random.default_rng(0).permutation(60)
    when = np.datetime64("2020-09-01") + days if dates else days / 2
    file.assign(when=when).to_csv("table.csv", index=False)
    tested, kept = [], caveat.evaluation.evaluate
    monkeypatch.setattr(
        "caveat.evaluation.evaluate", lambda *a, **k: tested.append(k["ids"]) or kept(*a, **k)
    )
    said = run(
        capsys, "evaluate", "table.csv", "--target", "y", *QUICK, "--split", "time", "--time",
        "when", "--test", 0.1, "--resamples", 0,
    )  # fmt: skip
    assert "split by time: 54 to learn from, 6 to test on" in said.err
    assert tested[0].tolist() == (np.flatnonzero(days >= 54) + 1).tolist()


def test_targets_are_compared_by_name(file, capsys):
    given = ("--target", "y", "--target", "half")
    run(capsys, "fit", "table.csv", *given, *QUICK, "-o", "m.safetensors")

    def errors(*targets):
        said = run(
            capsys, "evaluate", "table.csv", *targets, "--model", "m.safetensors", "--resamples",
            0, "--json",
        )  # fmt: skip
        rows = json.loads(said.out)["rows"]
        return {r["target"]: r["value"] for r in rows if r["metric"] == "mean_absolute_error"}

    made = caveat.load("m.safetensors").predict(SMILES)
    expected = np.abs(made - np.stack([Y, Y / 2], axis=1)).mean(axis=0)
    for order in (given, given[2:] + given[:2]):
        assert errors(*order) == pytest.approx(dict(zip(("y", "half"), expected, strict=True)))


@pytest.mark.parametrize(
    ("learned", "targets", "words"),
    [
        (["y", "half"], ["y"], "predicts 'y', 'half', but --target names 'y'; name each of its"),
        (["y", "half"], ["y", "code"], "predicts 'y', 'half', but --target names 'y', 'code'"),
        (["y"], ["y", "half"], "predicts one target, but --target names 'y', 'half'"),
        (["kind"], ["y", "half"], "predicts one target, but --target names 'y', 'half'"),
    ],
)
def test_other_targets_are_an_error(file, capsys, learned, targets, words):
    options = [part for name in learned for part in ("--target", name)]
    run(capsys, "fit", "table.csv", *options, *QUICK, "-o", "m.safetensors")
    options = [part for name in targets for part in ("--target", name)]
    said = run(capsys, "evaluate", "table.csv", *options, "--model", "m.safetensors", code=2)
    assert f"caveat: the model {words}" in said.err


def test_values_that_are_no_classes_of_the_model(file, capsys):
    file.assign(share=file["code"] + 0.5).to_csv("table.csv", index=False)
    run(capsys, "fit", "table.csv", "--target", "code", "--classes", *QUICK, "-o", "m.safetensors")
    given = ("--model", "m.safetensors", "--resamples", 0)
    run(capsys, "evaluate", "table.csv", "--target", "code", *given)
    for column, words in (("share", "y of sample 0 is 0.5"), ("kind", "y has labels of type <U5")):
        said = run(capsys, "evaluate", "table.csv", "--target", column, *given, code=2)
        assert f"caveat: {words}, but the classes are 0, 1" in said.err


@pytest.mark.parametrize("calibrated", [False, True])
def test_a_target_of_another_name(file, capsys, calibrated):
    """The name of one target is kept, and another column is not taken for it in silence."""
    more = ("--calibrate", 0.3) if calibrated else ()
    run(capsys, "fit", "table.csv", "--target", "half", *QUICK, *more, "-o", "m.safetensors")
    assert caveat.load("m.safetensors").predict_distribution(SMILES).targets.tolist() == ["half"]
    given = ("--model", "m.safetensors", "--resamples", 0)
    run(capsys, "evaluate", "table.csv", "--target", "half", *given)  # a warning is an error
    with pytest.warns(UserWarning, match="the model learned 'half', and --target names 'y'"):
        run(capsys, "evaluate", "table.csv", "--target", "y", *given)


def test_rows_that_are_no_molecules(file, capsys):
    file.loc[3, "smiles"], file.loc[5, "smiles"], file.loc[7, "y"] = "C(", None, None
    file.to_csv("table.csv", index=False)
    said = run(capsys, "fit", "table.csv", "--target", "y", *QUICK, code=2)
    assert said.err == (
        "caveat: table.csv: 2 cannot be read: rows 4 (not a valid SMILES), 6 (no atoms); mend "
        "them, or add --on-error drop\n"
    )
    given = ("--target", "y", *QUICK, "--on-error", "drop")
    said = run(capsys, "fit", "table.csv", *given)
    assert said.out.startswith("57 molecules")
    assert "1 have no value: row 8" in said.err
    said = run(capsys, "predict", "table.csv", "--model", "model.safetensors", "--on-error", "drop")
    assert said.out == "58 of 60 molecules: predictions.csv\n"
    assert np.flatnonzero(pd.read_csv("predictions.csv")["mean"].isna()).tolist() == [3, 5]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "table.csv", "--target", "z"], "no column 'z' for --target; it has 'smiles', 'y'"),
        (["fit", "table.csv", "--target", "y", "--smiles", "mol"], "no column 'mol' for --smiles"),
        (["fit", "none.csv", "--target", "y"], "does not exist"),
        (["fit", "table.csv", "--target", "y", "--method", "magic"], "method must be"),
        (["fit", "table.csv", "--target", "y", "-o", "m.pkl"], "the ending must be"),
        (["fit", "table.csv", "--target", "empty"], "no molecule has a value in 'empty'"),
        (["fit", "table.csv", "--target", "kind", "--target", "kind2"], "a classifier has one"),
        (["fit", "table.csv", "--target", "y", "--on-error", "guess"], "on_error must be"),
        (["fit", "table.csv", "--target", "y", "--target", "y"], "--target names 'y' twice"),
        (["fit", "table.csv", "--target", "about"], "'about' has numbers, and '>3' in row 2; mend"),
        (["fit", "table.csv", "--target", "far"], "'far' is infinite in row 3; mend or empty it"),
        (["evaluate", "text.parquet", "--target", "y"], "'y' has numbers written as text; mend or"),
        (["predict", "table.csv", "--model", "other.npz"], "holds a Gaussian, not a network"),
        (["predict", "p.csv", "--model", "m.safetensors"], "has a column 'mean' already"),
        (["evaluate", "table.csv", "--target", "y", "--split", "oldest"], "split must be"),
        (["evaluate", "table.csv", "--target", "y", "--split", "time"],
         "--time goes with --split time, and --split time needs it"),
        (["evaluate", "table.csv", "--target", "y", "--time", "y"], "--time goes with --split ti"),
        (["evaluate", "table.csv", "--target", "y", "--split", "time", "--time", "when"],
         "there is no column 'when' for --time"),
        (["evaluate", "table.csv", "--target", "y", "--split", "time", "--time", "kind"],
         "'kind' of row 1 is 'chain'; --time needs a number or a date such as 2020-09-01"),
        (["evaluate", "table.csv", "--target", "y", "--split", "time", "--time", "empty"],
         "'empty' of row 1 is ''; --time needs a number or a date"),
        (["evaluate", "few.csv", "--target", "y"], "the test part of the split is empty: its share "
         "of 40 molecules is 8, and no scaffold or cluster that is left is small enough; use more "
         "molecules, a larger share in --test, or --split random"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(file, capsys, arguments, words):
    about, far = [None, ">3", *map(str, Y[2:])], np.where(np.arange(60) == 2, np.inf, Y)
    file.assign(empty=np.nan, kind2=file["kind"], about=about, far=far).to_csv(
        "table.csv", index=False
    )
    file.assign(y=file["y"].astype(str)).to_parquet("text.parquet")
    file.assign(mean=0.0).to_csv("p.csv", index=False)
    file[file["kind"] == "chain"].to_csv("few.csv", index=False)
    caveat.Gaussian([1.0], [1.0]).save("other.npz")
    if "m.safetensors" in arguments:
        model = caveat.molecules.MoleculeRegressor(members=1, hidden=4, epochs=1, device="cpu")
        model.fit(SMILES, Y).save("m.safetensors")
    said = run(capsys, *arguments, code=2)
    assert words in said.err
    assert said.err.splitlines()[-1].startswith("caveat: ")


def test_the_published_settings_and_columns_of_one_member(file):
    from caveat.cli._molecules import Network

    made = Network(paper=True, members=3).make(Y[:, None])
    assert (made.hidden, made.depth, made.members, made.passes) == (1000, 6, 3, 150)
    assert list(_columns(caveat.Gaussian([1.0], [4.0]))) == ["mean", "std"]
    assert list(_columns(caveat.Categorical([[0.2, 0.8]]))) == ["p_0", "p_1"]
