"""caveat drift: files and folders in, words, JSON, pages and exit codes out."""

import json

import numpy as np
import pandas as pd
import pytest

import caveat
from caveat.cli import main

from ..monitoring.samples import binary, gaussian

QUICK = ["--resamples", "60"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Weeks 8 to 11, of which the last is off; and a table without truth."""
    path = tmp_path_factory.mktemp("weeks")
    for week in range(8, 12):
        off = 0.2 * (week == 11)
        one = binary(1500, week, truth=lambda p, off=off: np.clip(p + off, 0, 1), groups=["a", "b"])
        one.save(path / f"week-{week}.caveat")
    (path / ".hidden").write_text("")
    return path


@pytest.fixture
def run(capsys):
    def run(*arguments):
        code = main(["drift", *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_two_summaries(run, folder):
    code, out, _ = run(folder / "week-8.caveat", folder / "week-9.caveat", *QUICK)
    assert code == 0
    assert "week-9 against week-8" in out
    assert "Next: " in out


def test_a_folder_is_a_history_in_natural_order(run, folder, tmp_path):
    page = tmp_path / "history.html"
    code, out, err = run(folder, "-o", page, "--title", "Weeks", "--fail-on-change", *QUICK)
    assert code == 3
    assert out.index("week-9 ") < out.index("week-10")
    assert "week-11: The true classes and the calibration changed." in out
    assert "caveat: week-11: The true classes and the calibration changed." in err
    text = page.read_text(encoding="utf-8")
    assert "Weeks" in text
    assert "4 files of " in text


def test_json_of_a_history(run, folder):
    code, out, _ = run(folder, "--json", *QUICK)
    content = json.loads(out)
    assert code == 0
    assert content["format"] == "caveat drift 1"
    assert [path.rpartition("/")[2] for path in content["source"]] == [
        f"week-{i}.caveat" for i in (8, 9, 10, 11)
    ]
    assert content["reference"] == "week-8"
    assert [one["period"] for one in content["periods"]] == ["week-9", "week-10", "week-11"]
    assert content["periods"][-1]["states"]["calibration"] == "changed"
    assert content["periods"][-1]["monitor"]["updates"] == 3
    assert content["changed"] is True
    assert {"version", "date", "random_state", "thresholds", "verdict", "next_step"} <= {*content}


def test_json_of_two_and_gates(run, folder, tmp_path):
    table = tmp_path / "rows.csv"
    files = folder / "week-8.caveat", folder / "week-11.caveat"
    code, out, _ = run(*files, "--json", "--fail-if", "bias.change > 0.1", "-o", table, *QUICK)
    content = json.loads(out)
    assert code == 3
    assert len(content["failing"]) == 1
    assert content["samples"] == [1500, 1500]
    assert len(pd.read_csv(table)) == len(content["rows"])
    code, _, _ = run(*files, "--fail-if", "bias.change > 0.5", *QUICK)
    assert code == 0
    code, out, err = run(*files, "--fail-on-change", "-o", tmp_path / "rows.json", *QUICK)
    assert code == 3
    assert f"written: {tmp_path / 'rows.json'}" in err


def test_predictions_in_tables(run, folder, tmp_path):
    rng = np.random.default_rng(0)
    p = rng.beta(2, 2, 400)
    pd.DataFrame({"p": p}).to_csv(tmp_path / "new.csv", index=False)
    known = pd.DataFrame({"p": p, "y": (rng.random(400) < p).astype(int)})
    known.to_csv(tmp_path / "old.csv", index=False)
    code, out, _ = run(tmp_path / "old.csv", tmp_path / "new.csv", *QUICK)
    assert code == 0
    assert "Calibration and skill were left out, as the new samples have no true values." in out
    code, out, _ = run(tmp_path / "new.csv", "--reference", folder / "week-8.caveat", *QUICK)
    assert code == 0
    assert "new against week-8" in out
    code, out, _ = run(tmp_path, "--probability", "p", *QUICK)
    assert code == 0
    assert "old against new" in out


def test_a_reference_of_its_own(run, folder):
    code, out, _ = run(folder, "--reference", folder / "week-10.caveat", "--json", *QUICK)
    assert code == 0
    content = json.loads(out)
    assert content["reference"] == "week-10"
    assert [one["period"] for one in content["periods"]] == ["week-8", "week-9", "week-11"]


def test_files_of_a_shell_are_sorted_by_the_numbers_in_their_names(run, folder):
    shell = sorted(map(str, folder.glob("*.caveat")))
    assert shell[0].endswith("week-10.caveat")
    _, out, _ = run(*shell, "--json", "--resamples", "0")
    assert json.loads(out)["reference"] == "week-8"
    _, out, _ = run(folder / "week-9.caveat", folder / "week-8.caveat", "--resamples", "0")
    assert "week-8 against week-9" in out  # two files are taken as they are given


def test_thresholds(run, folder):
    files = folder / "week-8.caveat", folder / "week-11.caveat"
    code, out, _ = run(*files, "--threshold", "0.2", "--threshold", "share=0.3", "--json", *QUICK)
    assert json.loads(out)["thresholds"] == {"distribution": 0.2, "share": 0.3, "relative": 0.1}
    code, _, err = run(*files, "--threshold", "much")
    assert code == 2
    assert "--threshold: expected a number, share=NUMBER or relative=NUMBER; got 'much'" in err


def test_files_of_the_same_name(run, folder, tmp_path):
    (tmp_path / "week-8.caveat").write_bytes((folder / "week-9.caveat").read_bytes())
    code, out, _ = run(folder / "week-8.caveat", tmp_path / "week-8.caveat", *QUICK)
    assert code == 0
    assert str(tmp_path) in " ".join(out.split())


def test_errors(run, folder, tmp_path):
    code, _, err = run(folder / "week-8.caveat")
    assert code == 2
    assert "there is nothing to compare it with; give a second file" in err
    code, _, err = run(tmp_path)
    assert code == 2
    assert "holds no .caveat file and no file of predictions" in err
    gaussian(50).save(tmp_path / "numbers.caveat")
    code, _, err = run(folder / "week-8.caveat", tmp_path / "numbers.caveat")
    assert code == 2
    assert "different questions: a Categorical and a Gaussian" in err
    only = tmp_path / "one"
    only.mkdir()
    (only / "a.caveat").write_bytes((folder / "week-9.caveat").read_bytes())
    assert run(only)[0] == 2
    state = caveat.metrics.METRICS["accuracy"].state([0, 1], [0.2, 0.7])
    state.save(tmp_path / "state.caveat")
    code, _, err = run(folder / "week-8.caveat", tmp_path / "state.caveat")
    assert code == 2
    assert "holds a State, not a summary" in err
    code, _, err = run(folder, "--fail-if", "nonsense")
    assert code == 2
    assert "a condition reads like" in err
    code, _, err = run(folder, "-o", tmp_path / "x.txt")
    assert code == 2


def test_an_error_of_a_summary_names_the_file(run, folder, tmp_path):
    rows = {"p": [0.2, 0.4, 0.7], "w": [-1.0, 1.0, 1.0]}
    pd.DataFrame(rows).to_csv(tmp_path / "bad.csv", index=False)
    code, _, err = run(folder / "week-8.caveat", tmp_path / "bad.csv", "--weight", "w")
    assert code == 2
    assert "bad.csv" in err


@pytest.mark.parametrize("names", [["p_yes", "p_no"], ["p_no"]], ids="-".join)
def test_columns_in_another_order_or_of_the_other_class(run, tmp_path, names):
    p = np.linspace(0.01, 0.8, 200)
    y = np.where(np.arange(200) % 3 < 1, "yes", "no")
    frame = pd.DataFrame({"p_no": 1 - p, "p_yes": p, "y": y})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame[[*names, "y"]].to_csv(tmp_path / "b.csv", index=False)
    code, out, _ = run(tmp_path / "a.csv", tmp_path / "b.csv", "--json", *QUICK)
    effects = [row["effect"] for row in json.loads(out)["rows"] if row["effect"] is not None]
    assert code == 0
    np.testing.assert_allclose(effects, 0, atol=1e-12)
