"""The study of public tables: what is printed, what is compared with it, and what is kept."""

import json

import numpy as np
import pytest

import caveat
from caveat.cli import main
from caveat.exceptions import OptionError
from caveat.studies import STUDIES, _table_runs, run_study, tables
from caveat.studies.paper import printed_number
from caveat.studies.study import Measured, rows_of, table_of, worse
from caveat.studies.summary import Summary

from ..datasets.tables import uci_files, write_archive, write_california

STUDY = STUDIES["tables"]
SMALL = {"epochs": 2, "hidden": (4,), "members": 2, "passes": 3}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write_archive(tmp_path, {"yacht": uci_files(), "energy": uci_files(seed=1)})
    write_california(tmp_path)
    monkeypatch.setenv("CAVEAT_DATA", str(tmp_path))
    return tmp_path


def test_the_best_printed_number_of_a_kind():
    best = tables.BEST["dropout", "energy", "rmse"]
    assert (best.text, best.error) == ("0.47", 0.01)
    assert best.reference == "Gal & Ghahramani 2016, two layers"
    # The plus-minus of deep ensembles is a standard deviation over 20 splits (5 of protein).
    assert tables.BEST["ensembles", "yacht", "nll"].error == pytest.approx(0.21 / 20**0.5)
    assert tables.BEST["ensembles", "protein", "rmse"].error == pytest.approx(0.06 / 5**0.5)
    assert ("ensembles", "yacht", "mixture_nll") not in tables.BEST
    text = STUDY.printed_texts("")
    assert (
        text(STUDY.key(tables.PUBLISHED, "nll", table="yacht", estimator="bootstrap"))[0] == "1.18"
    )
    assert text(STUDY.key(tables.PUBLISHED, "nll", table="yacht", estimator="map")) == ("", "")


def test_every_printed_table_has_all_nine():
    for table in tables.PRINTED.tables:
        assert [line[0] for line in table["cells"]] == list(caveat.datasets._tables.UCI)
    names = set(tables.PAPER.datasets) - {"uci", "mixed"}
    assert names == {*caveat.datasets._tables.UCI, *caveat.datasets._tables.MIXED}


def test_every_network_has_a_name():
    names = tables.network_names()
    assert {"map", "mc-dropout", "dropconnect", "bayes-by-backprop", "quantile-network"} <= {*names}
    for name, stem in names.items():
        assert hasattr(caveat.estimators, f"{stem}Regressor"), name
    known = tables.known_estimators()
    assert {*tables.OTHERS, "auto"} < {*known}
    assert {*tables.KINDS} - {"batch-ensemble"} < {*names}
    assert tables.estimators_of(None) == (*names, *tables.OTHERS)
    assert tables.estimators_of("map") == ("map",)


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        # printed 1.00, rounded from at most 1.005, with an error of 0.03; ours has 0.04: 0.05 both
        (1.104, False),
        (1.106, True),
        (0.5, False),
    ],
)
def test_worse_is_more_than_two_standard_errors(ours, expected):
    summary = Summary(ours, spread=0.04 * 20**0.5, runs=20)
    assert worse(printed_number("1.00"), 0.03, summary) is expected


def test_a_single_run_is_not_compared():
    assert worse(printed_number("1.00"), 0.03, Summary(9.0)) is None


def measured(values):
    rng = np.random.default_rng(0)
    noise = rng.normal(size=20)
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    return Measured(
        "yacht", "", "", 20,
        {
            STUDY.key(tables.PUBLISHED, what, table=name, estimator=estimator): mean + 0.1 * noise
            for (name, estimator, what), mean in values.items()
        },
    )  # fmt: skip


def test_rows_and_conclusions_say_who_is_worse():
    given = measured({
        ("yacht", "deep-ensemble", "nll"): 1.0, ("energy", "deep-ensemble", "nll"): 1.6,
        ("yacht", "map", "nll"): 1.1, ("energy", "map", "nll"): 1.3,
        ("yacht", "mc-dropout", "mixture_nll"): 1.5,
    })  # fmt: skip
    rows = {(row.table, row.estimator): row for row in rows_of(STUDY, given, 0.95)}
    first, second = rows["yacht", "deep-ensemble"], rows["energy", "deep-ensemble"]
    assert (first.differs, second.differs) == (False, True)
    error = np.hypot(0.22 / 20**0.5, 0.1 / 20**0.5)
    assert second.behind == pytest.approx((1.6 - 1.38) / error)
    assert second.reference == "Lakshminarayanan et al. 2017, table 1"
    assert (rows["yacht", "map"].differs, rows["yacht", "map"].kind) == (None, "")
    assert rows["yacht", "mc-dropout"].differs  # 1.37 ± 0.02 is printed for two layers
    table = table_of(STUDY, given)
    said = {text.partition(":")[0]: result for _, text, result in tables.no_default_is_worse(table)}
    assert said == {"deep-ensemble": [1.0, 0.0], "mc-dropout": [0.0]}
    said = {
        text.partition(":")[0]: result for _, text, result in tables.ahead_of_deep_ensembles(table)
    }
    assert said == {"deep-ensemble": [1.0, 0.0], "map": [1.0, 1.0]}


def test_fewer_splits_conclude_nothing():
    given = measured({("yacht", "deep-ensemble", "nll"): 1.0})
    some = {key: numbers[:7] for key, numbers in given.values.items()}
    table = table_of(STUDY, Measured("yacht", "", "", 7, some))
    assert list(tables.no_default_is_worse(table)) == []
    assert list(tables.ahead_of_deep_ensembles(table)) == []


def test_published_splits(folder):
    result = run_study(
        "tables", "yacht, energy", repeats=2, random_state=0, settings=SMALL,
        estimators=["deep-ensemble", "quantile-network", "linear"],
    )  # fmt: skip
    assert (result.dataset, result.repeats) == ("yacht, energy", 2)
    assert result.judged == []
    assert {row.source for row in result} == {"published splits"}
    assert {row.table for row in result} == {"yacht", "energy"}
    measures = {
        name: {row.measure for row in result if row.estimator == name}
        for name in ("deep-ensemble", "quantile-network", "linear")
    }
    gaussian = {"rmse", "nll", "mixture_nll", "crps", "levels_crps", "aurc"}
    assert measures["deep-ensemble"] == gaussian
    assert measures["quantile-network"] == {"crps", "aurc"}  # its levels are others
    (row,) = result.select(table="yacht", estimator="linear", measure="rmse")
    # By hand: the linear model of scikit-learn on the published splits.
    from sklearn.linear_model import BayesianRidge

    data, errors = caveat.datasets.load_uci("yacht"), []
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    for train, test in data.splits[:2]:
        fitted = BayesianRidge().fit(X[train], data.y[train])
        errors.append(np.sqrt(np.mean((fitted.predict(X[test]) - data.y[test]) ** 2)))
    assert row.mean == pytest.approx(np.mean(errors), rel=1e-3)
    assert "yacht, published splits: RMSE" in {title for title, *_ in result.tables()}
    assert set(result.details) == {"yacht", "energy"}
    assert "with its standard error" in result.explanation()
    assert "nll" in result.charts()
    page = result.report(folder / "page.html").read_text(encoding="utf-8")
    assert "yacht, published splits: NLL" in page
    assert json.loads(result.to_json())["details"]["yacht"]
    assert any(
        note.startswith("yacht, first split: by gaussian_crps_loss") for note in result.notes
    )


def test_gaussians_and_quantiles_are_compared_at_the_same_levels(folder):
    result = run_study(
        "tables", "california", random_state=0, rows=60, repeats=1, estimators=["linear", "forest", "boosting"]
    )  # fmt: skip
    both = result.details["california, ten quantiles"]
    scores = {row.technique: row for row in both.matching(metric="quantile_crps_loss")}
    assert set(scores) == {"linear", "forest", "boosting"}
    for name, row in scores.items():
        (ours,) = result.select(estimator=name, measure="levels_crps")
        assert ours.mean == pytest.approx(row.value)
        assert row.low < row.value < row.high
    # With many levels the score is that of the Gaussian; with ten it is near.
    (exact,) = result.select(estimator="linear", measure="crps")
    assert scores["linear"].value == pytest.approx(exact.mean, rel=0.1)
    (note,) = [note for note in result.notes if note.startswith("california, first split")]
    assert "by quantile_crps_loss" in note
    assert "gaussian_crps_loss" not in note
    # Classes have none; of more levels, ten are taken.
    assert _table_runs.at_levels(caveat.Categorical([[0.5, 0.5]])) is None
    levels = np.arange(1, 20) / 20
    ten = _table_runs.at_levels(caveat.Quantiles(levels, levels[None] + 1))
    np.testing.assert_allclose(ten.values[0, 0, 0], np.arange(1, 20, 2) / 20 + 1)


def test_categories_missing_values_and_what_is_not_installed(folder, monkeypatch):
    monkeypatch.setattr("caveat.selection.candidates.find_spec", lambda name: None)
    result = run_study(
        "tables", "california", random_state=0, settings=SMALL, rows=40, repeats=2,
        estimators=["map", "forest", "catboost"],
    )  # fmt: skip
    assert {row.estimator for row in result} == {"map", "forest"}
    assert {row.source for row in result} == {"random splits"}
    assert {(row.printed, row.reference) for row in result} == {("", "")}
    (row,) = result.select(estimator="map", measure="crps")
    assert 0 < row.mean < 5
    assert len(result.details["california"].evaluations["map"].rows) > 0
    said = "california: catboost was not measured: the package catboost is not installed"
    assert said in result.notes
    assert any("random splits" in note for note in result.notes)


def test_classes(folder, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    data = caveat.datasets.RawTable(X, (X[:, 0] > 0).astype(int), "classification", (), "")
    monkeypatch.setattr(_table_runs, "load_mixed", lambda name: data)
    result = run_study(
        "tables", "compas", random_state=0, repeats=2, settings=SMALL,
        estimators=["map", "quantile-network", "auto"],
    )  # fmt: skip
    assert {row.measure for row in result} >= {"nll", "brier", "ece", "aurc"}
    assert {row.estimator for row in result} == {"map", "auto"}
    assert any("quantile-network is for numbers alone" in note for note in result.notes)


@pytest.fixture(autouse=True)
def _cheap_auto(monkeypatch):
    """Let the automatic choice be between two cheap models."""
    for kind in (caveat.AutoClassifier, caveat.AutoRegressor):
        made = lambda kind=kind: kind({"linear": None}, folds=2)  # noqa: E731
        monkeypatch.setattr(caveat.selection, kind.__name__, made)


def test_a_stopped_study_continues(folder, tmp_path, monkeypatch):
    options = {
        "random_state": 0, "repeats": 2, "settings": SMALL, "checkpoint": tmp_path / "study",
        "estimators": ["map", "auto"],
    }  # fmt: skip
    first = run_study("tables", "yacht", **options)

    def fail(*_, **__):
        raise AssertionError("it is trained again")

    monkeypatch.setattr(_table_runs.Runner, "_predictions", fail)
    second = run_study("tables", "yacht", **options)
    assert [row.mean for row in second] == [row.mean for row in first]
    (tmp_path / "study" / "yacht-map" / "first.npz").unlink()
    third = run_study("tables", "yacht", **options)
    assert any("yacht: map was not measured: AssertionError: it is" in n for n in third.notes)
    with pytest.raises(OptionError, match="belongs to another experiment"):
        run_study("tables", "yacht", **{**options, "settings": {**SMALL, "epochs": 1}})


def test_groups_of_tables():
    assert len(tables.tables_of(("uci",))) == 8
    assert tables.tables_of(("mixed", "yacht", "adult")) == (
        "adult", "compas", "california", "wine-quality", "yacht"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dataset": "yachts"}, "there is no data set 'yachts'; did you mean 'yacht'"),
        ({"dataset": ["yacht", 3]}, "there is no data set 3"),
        ({"estimators": "ensemble"}, "there is no estimator 'ensemble'; did you mean"),
        ({"rows": 3}, "rows must be a whole number of at least 20; got 3"),
    ],
)
def test_errors_say_what_was_expected(options, message):
    with pytest.raises(OptionError, match=message):
        run_study("tables", **{"dataset": "yacht", **options})


def test_the_command_line(folder, capsys):
    code = main([
        "study", "tables", "--dataset", "yacht", "--repeats", "2", "--set", "estimators=linear,forest"
    ])  # fmt: skip
    out = capsys.readouterr().out
    assert code == 0
    assert "yacht, published splits: RMSE" in out
    assert "none were compared" in out


def test_the_whole_experiment_is_compared(folder, monkeypatch, capsys):
    monkeypatch.setitem(tables.KINDS, "linear", "ensembles")
    paper = tables._bounds()
    monkeypatch.setattr(tables, "PAPER", paper)
    study = caveat.studies.Study(**{**vars(STUDY), "paper": paper})
    result = run_study(study, "yacht", scale="paper", random_state=0, estimators=["linear"])
    assert {row.measure for row in result.judged} == {"rmse", "nll"}
    assert all(row.runs == 3 for row in result)
    from caveat.cli._study import show_study

    (row, *_) = result.judged
    object.__setattr__(row, "differs", True)
    show_study(result)
    assert "- yacht, published splits: RMSE, linear: 1.58 printed, " in capsys.readouterr().out
