"""``caveat study fairness`` on few runs."""

import json
import re

import pandas as pd
import pytest

from caveat.cli import _study, main
from caveat.studies import _fairness_runs

from ..studies.cases import write_tables


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(_fairness_runs, "LARGE", 100)


def call(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, re.sub(" +", " ", out), err


def test_tables_conclusions_and_notes(capsys, tmp_path):
    rows = tmp_path / "rows.csv"
    code, out, err = call(
        capsys, "study", "fairness", "--dataset", "sd1", "--seeds", 3, "--output", rows,
        "--plots", tmp_path / "figures",
    )  # fmt: skip
    assert code == 0
    assert out.startswith("SD1: group 0 lies close to the boundary between the classes; Bayes by")
    assert re.search(r"aleatoric uncertainty 4.68 ", out)
    assert "What the paper concludes" in out
    assert re.search(r"\(\d of 3 runs\)", " ".join(out.split()))
    assert "- The rate of Adam is not given; here it is 0.01." in out
    assert "3 runs in " in err
    assert f"written: {rows}" in err
    assert pd.read_csv(rows)["source"].unique().tolist() == ["table 1", "table 1, in expectation"]
    assert (tmp_path / "figures" / "sd1-ratios.png").read_bytes().startswith(b"\x89PNG")


def test_json_is_all_there_is(capsys):
    code, out, _ = call(
        capsys, "study", "fairness", "--dataset", "sd2", "--seeds", 2, "--json",
        "--learning-rate", 0.02, "--no-standardize",
    )  # fmt: skip
    found = json.loads(out)
    assert code == 0
    assert (found["dataset"], found["runs"]) == ("sd2", 2)
    assert found["model"].endswith("features as they are")
    assert found["notes"][0].endswith("here it is 0.02.")
    assert {row["source"] for row in found["rows"]} == {"table 1", "table 1, in expectation"}


def test_every_figure_of_compas_is_written(tmp_path, monkeypatch):
    write_tables(tmp_path)
    monkeypatch.setenv("CAVEAT_DATA", str(tmp_path))
    from caveat.studies import run_fairness_study

    study = run_fairness_study(
        "compas", seeds=2, widths=[3, 4], random_state=0, settings={"epochs": 1, "passes": 2}
    )
    paths = _study.save_plots(study, tmp_path / "new" / "figures")
    assert [path.name for path in paths] == [
        "compas-ratios.png",
        "compas-consistency-prediction.png",
        "compas-consistency-aleatoric-uncertainty.png",
        "compas-consistency-epistemic-uncertainty.png",
        "compas-capacity-accuracy.png",
        "compas-capacity-epistemic-uncertainty.png",
        "compas-capacity-aleatoric-uncertainty.png",
    ]
    assert all(path.stat().st_size > 5000 for path in paths)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dataset", "sd9"], "dataset must be one of sd1, sd2, sd3, compas, adult; got 'sd9'"),
        (["--dataset", "sd1", "--scale", "huge"], "scale must be one of quick, paper; got 'huge'"),
        (["--dataset", "sd1", "--output", "rows.txt"], "--output rows.txt: the ending must be"),
        (["--dataset", "sd1", "--plots", "{file}"], "this is a file; give a folder"),
        ([], "Missing option '--dataset'"),
    ],
)
def test_one_line_says_what_is_wrong(capsys, tmp_path, options, message):
    file = tmp_path / "file"
    file.touch()
    code, out, err = call(
        capsys, "study", "fairness", *(option.format(file=file) for option in options)
    )
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_help_names_the_studies(capsys):
    code, out, _ = call(capsys, "study", "--help")
    assert code == 0
    assert "fairness" in out
