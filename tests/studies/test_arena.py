"""The arena: win rates by hand, places, predictions that are kept, files of one's own."""

import json

import numpy as np
import pandas as pd
import pytest

import caveat
from caveat.cli import main
from caveat.exceptions import CaveatError, LabelError, OptionError
from caveat.studies import ArenaResult, run_arena
from caveat.studies import _arena_cases as cases
from caveat.studies.arena import (
    AS_IT_IS,
    SCORES,
    _entrants,
    _result,
    places_of,
    published,
    win_rates,
)

FEW = {"samples": 150, "calibrators": ["ts", "platt"]}


@pytest.fixture(scope="module")
def small():
    return run_arena(data=["blobs", "three", "wine"], models=["naive_bayes", "svm"], samples=150)


def test_win_rates_by_hand():
    losses = np.array([[0.1, 0.3], [0.2, 0.3], [0.4, np.inf]])
    expected = [[1.0, 0.75], [0.5, 0.75], [0.0, 0.0]]
    np.testing.assert_allclose(win_rates(losses), expected)
    np.testing.assert_allclose(win_rates(np.array([[np.inf], [np.inf]])), 0.5)
    rng = np.random.default_rng(0)
    np.testing.assert_allclose(win_rates(rng.random((5, 9))).mean(), 0.5)  # one wins, one loses


def test_places_share_what_cannot_be_told_apart():
    rng = np.random.default_rng(0)
    noise = 0.01 * rng.normal(size=(4, 30))
    rates = np.array([0.9, 0.9, 0.5, 0.1])[:, None] + noise
    assert places_of(rates, 0.95) == [1, 1, 2, 3]
    assert places_of(np.array([[0.9], [0.1]]), 0.95) == [1, 1]  # one data set tells nothing


def test_few_data_sets_show_no_order():
    """A sign test of five data sets that all agree has a p-value of 1/16, of six 1/32."""
    rates = np.repeat([[0.9], [0.5], [0.1]], 6, axis=1) + 0.01 * np.arange(6)
    assert places_of(rates[:, :5], 0.95) == [1, 1, 1]
    assert places_of(rates, 0.95) == [1, 2, 3]
    assert places_of(rates, 0.99) == [1, 1, 1]
    outcomes = [
        (("two classes", str(i), "m"), {AS_IT_IS: dict.fromkeys(SCORES, 2.0 + (i == 1)),
         "a": dict.fromkeys(SCORES, 1.0), "b": dict.fromkeys(SCORES, 3.0 - (i == 1))}, [])
        for i in range(6)
    ]  # fmt: skip
    few, enough = (_result(outcomes[:n], ["a", "b"], 0.95) for n in (5, 6))
    assert all(np.isnan([row.low, row.high]).all() for row in few)
    assert {row.place for row in few} == {1}
    assert "Fewer than 6 data sets cannot show an order" in few.explanation()
    first, *others = enough.select(score="log loss")
    assert np.isnan(first.low)  # it wins everywhere: no spread to make an interval of
    assert all(row.low < row.win_rate < row.high for row in others)


def test_calibrators_of_equal_quality_share_the_first_place():
    """Ten data sets, five equal calibrators: the first place is lost in few of 200 draws."""
    lost = 0
    for seed in range(200):
        rates = np.random.default_rng(seed).random((5, 10))
        order = np.argsort(-rates.mean(axis=1))
        lost += places_of(rates[order], 0.99)[-1] > 1
    # Best against worst of five at 99 %: ten comparisons, so below 0.1; four standard errors.
    assert lost / 200 < 0.1 + 4 * np.sqrt(0.1 * 0.9 / 200)


def test_every_calibrator_and_no_repair_take_part(small):
    names = {row.calibrator for row in small}
    assert {AS_IT_IS, "Calibrator", "StructuredMatrixScaling", "VennAbers"} <= names
    assert "ConformalSets" not in names
    assert len(names) == len(_entrants(None)) + 1
    for kind, pairs in (("two classes", 2), ("more classes", 4)):
        for score in ("log loss", "Brier score"):
            rows = small.select(kind=kind, score=score)
            assert {row.pairs for row in rows} == {pairs}
            assert np.mean([row.win_rate for row in rows]) == pytest.approx(0.5)
            assert [row.win_rate for row in rows] == sorted([r.win_rate for r in rows])[::-1]
            assert [row.place for row in rows] == sorted(row.place for row in rows)
            (none,) = [row for row in rows if row.calibrator == AS_IT_IS]
            assert (none.harm, none.gain) == (0.0, 0.0)
    assert small.failures == ()


def test_losses_are_those_of_the_metrics():
    result = run_arena(data=["blobs"], models=["logistic"], calibrators=["platt"], samples=150)
    case = cases.make_case("blobs", "logistic", 0, 150, None)
    fixed = caveat.PlattScaling().fit(case.calibration, case.calibration_y).transform(case.test)
    expected = caveat.metrics.negative_log_likelihood_loss(case.test_y, fixed)
    assert result.losses["log loss"]["PlattScaling"][0] == pytest.approx(expected)
    expected = caveat.metrics.brier_loss(case.test_y, fixed.mean)
    assert result.losses["Brier score"]["PlattScaling"][0] == pytest.approx(expected)


def test_naive_bayes_is_repaired(small):
    """Overconfident by construction: any smooth repair must gain."""
    place = [pair[2] for pair in small.pairs].index("naive_bayes")
    losses = small.losses["log loss"]
    assert losses["BetaCalibration"][place] < losses[AS_IT_IS][place]


def test_words_tables_and_frames(small):
    text = repr(small)
    assert "two classes, by log loss: 2 pairs, 1 data set" in text
    assert "CalArena" in text
    assert "95 % of that" in text
    assert "<table" in small._repr_html_()
    assert list(small.to_frame()["kind"].unique()) == ["two classes", "more classes"]
    few = run_arena(data=["wine"], models=["naive_bayes"], calibrators=["spline"], samples=150)
    assert [len(header) for _, header, _ in few.tables()] == [6, 6]
    assert set(published()["printed"]) == {"two classes", "more classes"}


def test_same_seed_same_numbers_and_processes_change_nothing():
    options = {"data": ["blobs", "three"], "models": ["naive_bayes"], **FEW}
    first, second = run_arena(**options), run_arena(**options, n_jobs=2)
    assert first.to_json() == second.to_json()
    assert run_arena(**options, random_state=1).to_json() != first.to_json()


def test_predictions_are_kept_by_their_content(tmp_path, monkeypatch):
    options = {"data": ["blobs"], "models": ["naive_bayes"], "cache": tmp_path, **FEW}
    first = run_arena(**options)
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("blobs-naive_bayes-")
    made = []
    whole = cases._predicted
    monkeypatch.setattr(cases, "_predicted", lambda *a: made.append(1) or whole(*a))
    assert run_arena(**options).to_json() == first.to_json()
    assert made == []
    run_arena(**{**options, "samples": 160})
    assert made == [1]
    path.write_bytes(path.read_bytes()[:100])  # as a run leaves it whose disk was full
    assert run_arena(**options).to_json() == first.to_json()
    assert made == [1, 1]


@pytest.mark.parametrize("shift", ["shifted_inputs", "shifted_labels"])
def test_shifts_are_shifts(shift):
    sample = cases.GENERATED[shift](0, 2000)
    if shift == "shifted_labels":
        assert sample.new_y.mean() > sample.y.mean() + 0.1
    else:
        wide = np.argmax(sample.new.std(axis=0))
        gap = np.abs(sample.new.mean(axis=0) - sample.X.mean(axis=0)) / sample.X.std(axis=0)
        assert gap.max() > 0.3 or wide is None


@pytest.mark.parametrize("name", list(cases.GENERATED))
def test_every_data_set_has_classes_on_both_sides(name):
    sample = cases.GENERATED[name](0, 200)
    assert set(sample.y) == set(range(sample.y.max() + 1))
    assert set(sample.new_y) <= set(sample.y)


def test_every_model_gives_probabilities():
    sample = cases.GENERATED["three"](0, 60)
    for model in cases._models(0).values():
        for p in cases._predicted(model, sample, 0):
            assert p.shape[1] == 3
            np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-9)
    assert tuple(cases._models(0)) == cases.MODELS


def test_public_data_are_there_if_their_folder_is(monkeypatch):
    monkeypatch.delenv("CAVEAT_DATA", raising=False)
    assert "adult" not in cases.known_data()
    monkeypatch.setenv("CAVEAT_DATA", "somewhere")
    assert "adult" in cases.known_data()
    data = caveat.datasets.make_two_moons(0, samples=400)
    sample = cases._public(lambda: data)(0, 50)
    assert len(sample.y) + len(sample.new_y) == 200


def predictions_folder(path, samples=200):
    rng = np.random.default_rng(0)
    z = rng.normal(size=samples)
    y = (rng.random(samples) < 1 / (1 + np.exp(-z))).astype(int)
    frame = pd.DataFrame({"p_0": 1 / (1 + np.exp(3 * z)), "p_1": 1 / (1 + np.exp(-3 * z)), "y": y})
    path.mkdir()
    frame.to_csv(path / "sure.csv", index=False)
    (path / "notes.txt").write_text("no predictions")
    return frame


def test_predictions_of_ones_own(tmp_path):
    frame = predictions_folder(tmp_path / "mine")
    logits = pd.DataFrame({f"logit_{k}": np.log(frame[f"p_{k}"]) for k in (0, 1)})
    logits.assign(y=frame["y"]).to_csv(tmp_path / "mine" / "logits.csv", index=False)
    result = run_arena(predictions=tmp_path / "mine", calibrators=["ts", "auto"])
    assert [pair[1:] for pair in result.pairs] == [("logits", "file"), ("logits", "sure")]
    losses = result.losses["log loss"]
    assert (losses["TemperatureScaling"] < losses[AS_IT_IS]).all()
    (case, _) = cases.cases_of_folder(tmp_path / "mine", 0)
    assert len(case.calibration_y) == len(case.test_y) == 100
    assert abs(case.calibration_y.sum() - case.test_y.sum()) <= 1


def test_files_with_noise_in_their_logits(tmp_path, monkeypatch):
    z = np.random.default_rng(0).normal(size=(100, 3))
    logits = caveat.GaussianLogits(z, np.ones_like(z))

    class Table:
        prediction, y = logits, z.argmax(axis=1)

    monkeypatch.setattr(cases, "read_predictions", lambda path: Table)
    case = cases._case_of_file(tmp_path / "a.csv", 0)
    assert case.kind == "more classes"


def test_a_calibrator_that_cannot_be_fitted_loses_and_is_named():
    class Broken(caveat.PlattScaling):
        def _learn(self, p, codes, weight):
            raise OptionError("too much asked")

    result = run_arena(data=["blobs"], models=["naive_bayes"], samples=150,
                       calibrators=[Broken(), "ts"])  # fmt: skip
    (row,) = result.select(calibrator="Broken", score="log loss")
    assert (row.win_rate, row.harm) == (0.0, 1.0)
    assert result.failures == ("Broken could not be fitted on blobs, naive_bayes: too much asked",)
    assert "too much asked" in repr(result)


def test_two_settings_of_one_calibrator():
    result = run_arena(
        data=["blobs"], models=["naive_bayes"], samples=150, progress=True,
        calibrators=[caveat.SplineCalibration(), caveat.SplineCalibration(knots=3), "beta",
                     caveat.Calibrator("ts")],
    )  # fmt: skip
    assert {row.calibrator for row in result} == {
        "SplineCalibration()", "SplineCalibration(knots=3)", "BetaCalibration", "Calibrator",
        AS_IT_IS,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data": ["nothing"]}, r"data must be one of 'breast_cancer', .*; got 'nothing'"),
        ({"models": ["tree"]}, r"models must be one of 'logistic', .*; got 'tree'"),
        ({"calibrators": []}, "calibrators must be a list of recalibrators or names; got"),
        ({"calibrators": "ts"}, "calibrators must be a list of recalibrators or names; got 'ts'"),
        ({"calibrators": ["lac"]}, "makes sets or intervals"),
        ({"samples": 10}, "samples must be a whole number of at least 50; got 10"),
        ({"random_state": None}, "random_state must be an integer; got None"),
        ({"predictions": "no-such-folder"}, "predictions 'no-such-folder' is no folder"),
        ({"predictions": ".", "data": ["blobs"]}, "instead of data and models; give one"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(OptionError, match=message):
        run_arena(**options)


def test_bad_folders(tmp_path):
    with pytest.raises(OptionError, match="holds no file of predictions, such as"):
        run_arena(predictions=tmp_path)
    (tmp_path / "a.csv").write_text("mean,std,y\n" + "0.1,1.0,0.2\n" * 30)
    with pytest.raises(OptionError, match="must hold probabilities of classes, and what was true"):
        run_arena(predictions=tmp_path)
    (tmp_path / "a.csv").write_text("p_0,p_1,y\n" + "0.1,0.9,1\n" * 30)
    with pytest.raises(LabelError, match="has 30 samples of 1 classes; the arena needs 20"):
        run_arena(predictions=tmp_path)


def test_command(capsys, tmp_path, monkeypatch):
    rows = tmp_path / "rows.csv"
    given = ["arena", "--data", "blobs", "--model", "naive_bayes", "--samples", "150",
             "--calibrator", "beta", "--jobs", "1"]  # fmt: skip
    assert main([*given, "-o", str(rows)]) == 0
    out, err = capsys.readouterr()
    assert "BetaCalibration" in out
    assert "arXiv:2605.30188" in " ".join(out.split())
    assert "1 pairs in" in err
    assert len(pd.read_csv(rows)) == 4
    assert main([*given, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 4
    predictions_folder(tmp_path / "mine")
    own = ["arena", "--predictions", str(tmp_path / "mine"), "--jobs", "1", "--calibrator"]
    assert main([*own, "spline"]) == 0
    assert "CalArena" not in capsys.readouterr().out

    def failing(self, *arguments):
        raise CaveatError("not today")

    monkeypatch.setattr(caveat.SplineCalibration, "_learn", failing)
    assert main([*own, "spline"]) == 0
    assert "could not be fitted on sure, file: not today" in capsys.readouterr().err
    assert main(["arena", "--data", "nothing"]) == 2


def test_result_is_public():
    assert isinstance(run_arena(data=["blobs"], models=["naive_bayes"], **FEW), ArenaResult)
