"""``caveat study`` on little data."""

import json
import re

import matplotlib as mpl
import pandas as pd
import pytest

import caveat.studies
from caveat.cli import main
from caveat.studies import fairness

from ..studies.disentanglements import SMALL, TINY

mpl.use("Agg")
QUICK = ("--set", "methods=deep-ensemble", "--set", "decompositions=information")


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    whole = caveat.studies.run_study

    def short(study, dataset, **options):
        if study == "disentanglement":
            options |= {"protocol": TINY, "settings": SMALL}
        return whole(study, dataset, **options)

    monkeypatch.setattr(caveat.studies, "run_study", short)
    monkeypatch.setattr(fairness, "LARGE", 100)


def call(capsys, *arguments):
    code = main(["study", *(str(argument) for argument in arguments)])
    out, err = capsys.readouterr()
    return code, re.sub(" +", " ", out), err


def test_tables_conclusions_differences_and_notes(capsys, tmp_path):
    rows, page, figures = (tmp_path / name for name in ("rows.csv", "page.html", "figures"))
    code, out, err = call(
        capsys, "disentanglement", "--dataset", "wine", *QUICK, "--set", "detection=no",
        "--output", rows, "--report", page, "--plots", figures,
    )  # fmt: skip
    assert code == 0
    assert out.startswith("Wine (UCI): three growers of one region of Italy; 142 samples")
    assert re.search(r"Deep Ensembles information error \(UDE\) 0.454 ± 0.021 ", out)
    assert "none were compared: the runs are not those that the paper describes" in out
    assert "What the paper concludes" in out
    assert "- One percent of 142 samples is one; three are taken" in out
    assert "2 runs in " in err
    assert "table 3" in set(pd.read_csv(rows)["source"])
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    names = sorted(path.name for path in figures.iterdir())
    assert names == [
        f"wine-{kind}.png" for kind in ("errors", "levels", "sweeps-1", "sweeps-2", "terms")
    ]
    assert f"written: {page}" in err


def test_numbers_that_do_not_agree_are_listed(capsys):
    code, out, err = call(capsys, "fairness", "--dataset", "sd1", "--repeats", 3)
    assert code == 0
    assert out.startswith("SD1: group 0 lies close to the boundary between the classes; Bayes by")
    assert re.search(r"aleatoric uncertainty 4.68 ", out)
    assert re.search(r"\(\d of 3 runs\)", " ".join(out.split()))
    assert re.search(r"- table 1, .*: [\d.]+ printed, [\d.e-]+ here", out)
    assert "3 runs in " in err


def test_json_is_all_there_is(capsys):
    code, out, _ = call(
        capsys, "fairness", "--dataset", "sd2", "--repeats", 2, "--json",
        "--set", "learning-rate=0.02", "--set", "standardize=no", "--set", "widths=3,4",
    )  # fmt: skip
    found = json.loads(out)
    assert code == 0
    assert (found["dataset"], found["repeats"], found["scale"]) == ("sd2", 2, "quick")
    assert found["model"].endswith("features as they are")
    assert any(note.endswith("here it is 0.02.") for note in found["notes"])
    assert {row["source"] for row in found["rows"]} == {
        "table 1", "table 1, in expectation", "figure 6"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["disentanglement", "--dataset", "iris"], "dataset must be one of wine, two-moons"),
        (
            ["disentanglement", "--dataset", "wine", "--set", "methods=forest"],
            "methods must be some of mc-dropout",
        ),
        (["fairness", "--dataset", "sd9"], "dataset must be one of sd1, sd2, sd3, compas, adult"),
        (
            ["fairness", "--dataset", "sd1", "--scale", "huge"],
            "scale must be one of 'quick', 'paper'; got 'huge'",
        ),
        (
            ["fairness", "--dataset", "sd1", "--output", "rows.txt"],
            "--output rows.txt: the ending must be",
        ),
        (
            ["fairness", "--dataset", "sd1", "--report", "page.txt"],
            "--report page.txt: the ending must be one of .html, .htm",
        ),
        (["fairness", "--dataset", "sd1", "--plots", "{file}"], "this is a file; give a folder"),
        (
            ["fairness", "--dataset", "sd1", "--set", "widths=wide"],
            "widths must be a whole number of at least 1; got 'wide'",
        ),
        (
            ["fairness", "--dataset", "sd1", "--set", "standardise=no"],
            "--set: study 'fairness' has no option 'standardise'; did you mean 'standardize'?",
        ),
        (
            ["fairness", "--dataset", "sd1", "--set", "repeats=3"],
            "--set: study 'fairness' has no option 'repeats'; known are learning_rate, standardize",
        ),
        (
            ["fairness", "--dataset", "sd1", "--set", "widths"],
            "--set must be OPTION=VALUE with one of learning_rate, standardize, widths, layers, queries",
        ),
        (["coins", "--dataset", "sd1"], "unknown study 'coins'; known are disentanglement"),
        (["fairness"], "Missing option '--dataset'"),
        ([], "Missing argument 'NAME'"),
    ],
)
def test_one_line_says_what_is_wrong(capsys, tmp_path, options, message):
    file = tmp_path / "file"
    file.touch()
    code, out, err = call(capsys, *(option.format(file=file) for option in options))
    assert (code, out) == (2, "")
    assert message.lower() in err.lower()
    assert len(err.splitlines()) == 1


def test_help_names_the_studies(capsys):
    code, out, _ = call(capsys, "--help")
    assert code == 0
    assert "fairness: S. Kuzucu" in out
    assert "--dataset wine, two-moons" in out
