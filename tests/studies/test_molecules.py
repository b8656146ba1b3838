"""The study of molecules: what is printed, what is measured, files, and what is kept."""

import json
import sys

import numpy as np
import pytest

pytest.importorskip("chemprop")
pytest.importorskip("torch")

import caveat
from caveat.cli import main
from caveat.exceptions import FileFormatError, OptionError
from caveat.molecules import MoleculeData
from caveat.studies import STUDIES, _molecule_numbers, molecules, run_study
from caveat.studies._molecule_numbers import numbers_of, ratios, table_values

STUDY = STUDIES["molecules"]
SMILES = [f"C1{'C' * n}C1{tail}" for n in range(1, 22) for tail in ("C", "CC", "O")]
QUICK = {
    "epochs": 2, "members": 2, "passes": 3, "repeats": 2, "random_state": 0, "search": 2,
    "settings": {"hidden": 8, "depth": 2, "device": "cpu"},
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder of public data, and of a table of one's own."""
    folder = tmp_path_factory.mktemp("molecules")
    (folder / "molecules").mkdir()
    rng = np.random.default_rng(0)
    rows = [f"{text},{len(text) + rng.normal():.3f}" for text in SMILES]
    (folder / "molecules" / "freesolv.csv").write_text("smiles,expt\n" + "\n".join(rows) + "\n")
    censored = [f"{text},<3.1" for text in SMILES[:7]]
    lines = "\n".join([*rows[:60], "CCC,", "nothing,2", "CCO,inf", *censored])
    (folder / "own.csv").write_text(f"smiles,mass\n{lines}\n")
    return folder


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    monkeypatch.setattr(_molecule_numbers, "DRAWS", 20)


@pytest.fixture(scope="module")
def result(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAVEAT_DATA", str(folder))
        patch.setattr(_molecule_numbers, "DRAWS", 20)
        patch.setitem(molecules.SPACE, "quick", {"hidden": (4, 8), "depth": (2,), "dense": (1,)})
        return run_study("molecules", "freesolv", active=True, checkpoint=folder / "kept", **QUICK)


def members(seed=0, samples=60, count=4):
    rng = np.random.default_rng(seed)
    spread = rng.uniform(0.5, 2, samples)
    mean = spread * rng.normal(size=(count, samples))
    prediction = caveat.Gaussian.from_members(mean, 0.5 + rng.random((count, samples)))
    return prediction, spread * rng.normal(size=samples), spread


def test_the_printed_tables_are_whole():
    texts = STUDY.printed_texts("qm9")
    for table in ("table 2", "table 3"):
        for method in ("concrete-dropout", "ensemble", "bootstrap"):
            for component in _molecule_numbers.COMPONENTS:
                for measure in _molecule_numbers.MEASURES:
                    key = STUDY.key(
                        table, measure, method=method, component=component,
                        domain="in" if table == "table 2" else "out",
                    )  # fmt: skip
                    assert float(texts(key)[0]) > 0
                    # What has a unit does not stand beside the numbers of other data.
                    shown = STUDY.printed_texts("esol")(key)[0]
                    assert bool(shown) is (measure != "auco")
    key = STUDY.key("table 2", "ence", domain="in", method="bootstrap", component="total")
    assert texts(key)[0] == "24.8"
    ratio = STUDY.key("tables 1 to 3", "mae", method="ensemble")
    assert float(texts(ratio)[0]) == pytest.approx(1.21 / 0.74, rel=5e-3)


def test_numbers_are_those_of_evaluate():
    prediction, y, distance = members()
    made = numbers_of(prediction, y, distance, "in", 0)
    for component in _molecule_numbers.COMPONENTS:
        expected = caveat.evaluate(
            prediction, y, metrics=["auco", "ence"], component=component, resamples=0
        )
        values = {row.metric: row.value for row in expected.rows}
        assert made["table 2", component, "", "auco"] == pytest.approx(
            values["confidence_oracle_area_error"]
        )
        assert made["table 2", component, "", "ence"] == pytest.approx(
            100 * values["expected_normalized_calibration_error"]
        )
    error = np.abs(y - prediction.mean[..., 0].mean(axis=0))
    assert made["table 1", "", "", "mae"] == pytest.approx(error.mean())
    assert made["figure 5", "total", "0", "mae"] == pytest.approx(error.mean())
    last = [made["members", "total", count, "mae"] for count in ("1", "2", "3", "4")]
    assert last[0] == pytest.approx(np.abs(y - prediction.mean[0, :, 0]).mean())
    assert last[-1] == pytest.approx(error.mean())
    area = caveat.metrics.confidence_oracle_area_error(error, distance)
    assert made["baseline", "similarity", "", "auco"] == pytest.approx(area)
    variance = [made["figure 8", "epistemic", str(k), "variance"] for k in range(1, 16)]
    squared = [made["figure 8", "epistemic", str(k), "mse"] for k in range(1, 16)]
    assert variance == sorted(variance)
    assert made["figure 8, correlation", "epistemic", "", "correlation"] == pytest.approx(
        np.corrcoef(variance, squared)[0, 1]
    )
    assert made["reference", "total", "", "auco"] == pytest.approx(
        made["table 2", "total", "", "auco"]
    )
    assert ("reference", "if right", "", "spearman") in made


def test_a_point_has_errors_alone():
    _, y, distance = members()
    point = caveat.Gaussian(np.zeros(60), 0.0)
    assert {place[0] for place in numbers_of(point, y, distance, "in", 0)} == {"table 1"}
    assert np.isnan(table_values(point, y, "aleatoric")["auco"])


def test_one_member_has_no_epistemic_part():
    prediction, y, distance = members(count=1)
    made = numbers_of(prediction, y, distance, "out", 0)
    assert np.isnan(made["table 3", "epistemic", "", "auco"])
    assert ("figure 9", "epistemic", "0", "mae") not in made
    assert np.isfinite(made["table 3", "total", "", "auco"])


def test_equal_uncertainties_have_no_correlation():
    prediction = caveat.Gaussian(np.zeros(60), 1.0)
    made = numbers_of(prediction, np.arange(60.0), np.arange(60.0), "in", 0)
    assert not any("correlation" in place[3] for place in made)


def test_ratios_are_out_over_in():
    place = "table 1", "", "", "mae"
    made = ratios(
        {place: 2.0, ("table 2", "total", "", "auco"): 3.0, ("shift", "total", "", "std"): 0.0},
        {place: 5.0, ("table 3", "total", "", "auco"): 1.5, ("shift", "total", "", "std"): 1.0},
    )
    assert made == {("shift", "", "", "mae"): 2.5, ("shift", "total", "", "auco"): 0.5}


def test_a_small_study(result):
    assert result.dataset == "freesolv"
    sources = {row.source for row in result.rows}
    assert sources == {
        *(f"table {k}" for k in (1, 2, 3)), "tables 1 to 3", "baseline", "reference", "members",
        *(f"figure {k}" for k in range(5, 13)), "figure 8, correlation", "figure 12, correlation",
        "search", "active learning",
    }  # fmt: skip
    (row,) = result.select(source="table 1", domain="in", method="base", measure="mae")
    assert row.runs == 2
    (row,) = result.select(source="tables 1 to 3", method="ensemble", measure="mae")
    pair = [
        result.table.rows(source="table 1", measure="mae", method="ensemble", domain=domain)[
            "value"
        ].to_numpy()
        for domain in ("in", "out")
    ]
    assert row.mean == pytest.approx((pair[1] / pair[0]).mean())
    assert not result.judged
    texts = [one.text for one in result.conclusions]
    assert "total: ensembling has a lower AUCO than MC-Dropout, in domain" in texts
    assert all(one.runs for one in result.conclusions)
    assert {one.name for one in result.conclusions} > {"grown", "learned", "rmse_is_as_published"}
    titles = [title for title, _, _ in result.tables()]
    assert not any(title.startswith("figure 5") for title in titles)
    assert {"in domain", "out of domain", "shift, ensemble"} <= {*result.details}
    assert any("lowest AUCO" in note for note in result.notes)
    assert sum("grow as much as the error?" in note for note in result.notes) == 3
    json.loads(result.to_json())


def test_charts(result):
    charts = result.charts()
    assert {"ranking", "coverage", "error-calibration", "members", "active-learning"} < {*charts}
    marks = charts["error-calibration"][0].marks
    assert [mark.label for mark in marks][-1] == "calibrated"
    assert result.plot("error-calibration") is not None
    assert result.plot("coverage") is not None


def test_a_finished_study_trains_nothing(result, folder, monkeypatch):
    monkeypatch.setenv("CAVEAT_DATA", str(folder))
    space = {"hidden": (4, 8), "depth": (2,), "dense": (1,)}
    monkeypatch.setitem(molecules.SPACE, "quick", space)
    monkeypatch.setattr(molecules, "fitted", None)
    monkeypatch.setattr(molecules, "active_learning", None)
    again = run_study("molecules", "freesolv", active=True, checkpoint=folder / "kept", **QUICK)
    before = result.table.frame["value"]
    np.testing.assert_allclose(again.table.frame["value"], before, rtol=1e-6)


def test_a_prepared_file_needs_no_rdkit(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("CAVEAT_DATA", str(folder))
    molecules.prepare("freesolv").save(tmp_path / "freesolv.npz")
    for name in ("rdkit", "cuik_molmaker"):
        monkeypatch.setitem(sys.modules, name, None)
    small = QUICK | {"repeats": 1, "search": 0, "methods": ["ensemble"]}
    made = run_study("molecules", tmp_path / "freesolv.npz", **small)
    assert made.dataset == "freesolv"
    assert {row.method for row in made.rows} == {"base", "ensemble"}
    assert "60 of 63 molecules" in run_study(
        "molecules", tmp_path / "freesolv.npz", molecules=60, outside="scaffold", **small
    ).description  # fmt: skip


def test_a_table_of_ones_own(folder, monkeypatch, capsys):
    kept = MoleculeData.make
    monkeypatch.setattr(
        molecules.MoleculeData, "make", lambda *a, **k: seen.append(kept(*a, **k)) or seen[-1]
    )
    seen = []
    arguments = [
        "study", "molecules", "--dataset", str(folder / "own.csv"), "--set", "target=mass", "--set",
        "epochs=1", "--set", "members=2", "--set", "search=1", "--repeats", "1", "--set",
        "methods=ensemble",
    ]  # fmt: skip
    assert main(arguments) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "own.csv: mass" in said
    assert len(seen[0]) == 60
    assert (
        "Left out: 8 have a value that is no number: rows 63 (inf), 64 (<3.1), 65 (<3.1), "
        "66 (<3.1), 67 (<3.1) and 3 more."
    ) in said
    assert "Left out: 1 have no value: row 61." in said
    assert "Left out: 1 cannot be read: row 62 (not a valid SMILES)." in said


def test_too_few_molecules_for_a_validation_part(folder, tmp_path):
    lines = (folder / "own.csv").read_text().splitlines()[:10]
    (tmp_path / "few.csv").write_text("\n".join(lines))
    with pytest.raises(OptionError, match="the validation part of the split is empty: its share"):
        run_study("molecules", tmp_path / "few.csv", target="mass", **QUICK)


@pytest.mark.parametrize(
    ("dataset", "options", "error", "words"),
    [
        ("own.csv", {}, OptionError, "target must name the column of own.csv"),
        ("own.csv", {"target": "y"}, OptionError, "target: own.csv has no column 'y'; it has"),
        ("own.csv", {"target": "mass", "smiles": "s"}, OptionError, "smiles: own.csv has no"),
        ("none.csv", {"target": "y"}, FileFormatError, "cannot be read as a table"),
        ("own.csv", {"methods": ["best"]}, OptionError, "there is no method 'best'"),
        ("own.csv", {"outside": "time"}, OptionError, "outside must be one of"),
    ],
)
def test_bad_input(folder, dataset, options, error, words):
    with pytest.raises(error, match=words):
        run_study("molecules", folder / dataset, **options)


def test_the_settings_of_the_paper():
    assert molecules.SETTINGS["paper"]["depth"] == 6
    assert molecules.SETTINGS["paper"]["hidden"] == 1000
    assert molecules.SETTINGS["paper"]["members"] == 15
    assert molecules.SETTINGS["paper"]["passes"] == 150
