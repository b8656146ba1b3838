"""``caveat study disentanglement`` on little data."""

import json
import re

import matplotlib as mpl
import pandas as pd
import pytest

import caveat.studies
from caveat.cli import _study_disentanglement, main

from ..studies.disentanglements import SMALL, TINY

mpl.use("Agg")
QUICK = ("--method", "deep-ensemble", "--decomposition", "information", "--no-detection")


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    whole = caveat.studies.run_disentanglement_study

    def short(dataset, **options):
        return whole(dataset, **{**options, "protocol": TINY, "settings": SMALL})

    monkeypatch.setattr(caveat.studies, "run_disentanglement_study", short)


def call(capsys, *arguments):
    code = main(["study", "disentanglement", *(str(argument) for argument in arguments)])
    out, err = capsys.readouterr()
    return code, re.sub(" +", " ", out), err


def test_tables_differences_conclusions_and_notes(capsys, tmp_path):
    rows, page, figures = (tmp_path / name for name in ("rows.csv", "page.html", "figures"))
    code, out, err = call(
        capsys, "--dataset", "wine", *QUICK, "--output", rows, "--report", page, "--plots", figures
    )
    assert code == 0
    assert out.startswith("Wine (UCI): three growers of one region of Italy; 142 samples")
    assert re.search(r"Deep Ensembles information error \(UDE\) 0.454 ± 0.021 ", out)
    assert "nothing was judged: the runs are not those that the paper describes" in out
    assert "What the paper concludes" in out
    assert "- One per cent of 142 samples is one; three are taken" in out
    assert "2 repeats in " in err
    assert "table 3" in set(pd.read_csv(rows)["source"])
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    names = sorted(path.name for path in figures.iterdir())
    assert names == [f"wine-{kind}.png" for kind in ("errors", "levels", "noise", "size", "terms")]
    assert f"written: {page}" in err


def test_what_differs_is_listed(capsys):
    study = caveat.studies.run_disentanglement_study(
        "wine", methods="deep-ensemble", decompositions="information", random_state=0,
        detection=False,
    )  # fmt: skip
    from dataclasses import replace

    changed = [replace(row, differs=i == 0) for i, row in enumerate(study.rows)]
    lines = _study_disentanglement._differences(replace(study, rows=tuple(changed)))
    assert lines[1] == f"1 of {len(study)} numbers"
    assert re.fullmatch(
        r"- table 2, Deep Ensembles, information, error \(UDE\): 0.454 there, [\d.]+ here", lines[2]
    )
    assert len(lines) == 3


def test_json_is_all_there_is(capsys):
    code, out, _ = call(
        capsys,
        "--dataset",
        "wine",
        *QUICK[:-1],
        "--detection",
        "--json",
        "--dropout-rates",
        "0.2,0.4",
    )
    found = json.loads(out)
    assert code == 0
    assert (found["dataset"], found["scale"]) == ("wine", "quick")
    sources = {row["source"] for row in found["rows"]}
    assert {"table 2", "figure 8", "table 4, scaled by all"} <= sources


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dataset", "iris"], "dataset must be one of wine, two-moons, triangle"),
        (["--dataset", "wine", "--method", "forest"], "methods must be some of mc-dropout"),
        (["--dataset", "wine", "--output", "rows.txt"], "--output rows.txt: the ending must be"),
        (
            ["--dataset", "wine", "--report", "page.txt"],
            "--report page.txt: the ending must be one of .html, .htm",
        ),
        (
            ["--dataset", "wine", "--report", "no/page.html"],
            "--report no/page.html: there is no folder no",
        ),
        (["--dataset", "wine", "--plots", "{file}"], "this is a file; give a folder"),
        (
            ["--dataset", "wine", "--dropout-rates", "much"],
            "--dropout-rates must be numbers with commas",
        ),
        ([], "Missing option '--dataset'"),
    ],
)
def test_one_line_says_what_is_wrong(capsys, tmp_path, options, message):
    file = tmp_path / "file"
    file.touch()
    code, out, err = call(capsys, *(option.format(file=file) for option in options))
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_help_names_the_study(capsys):
    assert main(["study", "--help"]) == 0
    assert "disentanglement" in capsys.readouterr().out
