"""Tables 6 and 7 of the fairness study, on generated files of the published form."""

import numpy as np
import pandas as pd
import pytest

import caveat
from caveat.cli import main
from caveat.exceptions import FileFormatError, OptionError
from caveat.signals import load_d_vlog
from caveat.studies import STUDIES, run_study
from caveat.studies._d_vlog import MODALITIES, PAIRS, scaled, write_videos
from caveat.studies._fairness_flags import side
from caveat.studies._fairness_rates import ODDS, audited
from caveat.studies.fairness import POINT, UNCERTAINTIES

STUDY = STUDIES["fairness"]
TINY = {"epochs": 1, "members": 2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("d-vlog")
    write_videos(place, 60, np.random.default_rng(0), 12)
    return place


@pytest.fixture(scope="module")
def result(folder):
    options = {"data": str(folder), "seconds": 12, "settings": TINY}
    return run_study("fairness", "d-vlog", **options, random_state=0)


def printed(source, measure, **factors):
    key = STUDY.key(source, measure, attribute="gender", **factors)
    return STUDY.printed_texts("d-vlog")(key)[0]


def test_printed_numbers():
    assert printed("table 6", "samples of class 0", kind="count", group="f") == "266"
    assert printed("table 6", "truncation of class 1", kind="seconds", group="f") == "71"
    audio = {"kind": "ratio", "group": "f", "reference": "m"}
    assert printed("table 7 (audio only)", "aleatoric_uncertainty", **audio) == "1.32"
    assert printed("table 7 (visual only)", "accuracy", kind="group", group="m") == "0.66"
    # Predictive uncertainty is the sum of its parts, and ratios are those of the printed rates.
    for source, _ in MODALITIES.values():
        for group in PAIRS["gender"]:
            one = {"kind": "group", "group": group}
            parts = [
                float(printed(source, f"{name}_uncertainty", **one))
                for name in ("epistemic", "aleatoric", "predictive")
            ]
            assert parts[2] == pytest.approx(parts[0] + parts[1], abs=0.011)
        rates = [
            1 - float(printed(source, "false_negative_rate", kind="group", group=group))
            for group in PAIRS["gender"]
        ]
        ratio = float(printed(source, "equal_opportunity", **audio))
        assert rates[0] / rates[1] == pytest.approx(ratio, abs=0.02)


BOLD = {
    "table 7 (multimodal)": {ODDS},
    "table 7 (audio only)": {*POINT, ODDS, *UNCERTAINTIES} - {"equal_accuracy"},
    "table 7 (visual only)": set(),
}


@pytest.mark.parametrize("source", BOLD)
def test_what_is_bold_is_what_the_threshold_flags(source):
    pair = {"kind": "ratio", "group": "f", "reference": "m"}
    measures = (*POINT, ODDS, *UNCERTAINTIES)
    assert {m for m in measures if side(float(printed(source, m, **pair)))} == BOLD[source]


def test_videos_have_the_published_form(folder):
    frame = pd.read_csv(folder / "labels.csv")
    assert list(frame.columns) == ["index", "label", "duration", "gender", "fold"]
    signals, about = load_d_vlog(folder, seconds=12)
    assert signals.X.shape == (60, 161, 12)
    assert set(signals.part) == {"train", "validation", "test"}
    np.testing.assert_array_equal(about["duration"], frame["duration"])
    mean = about["duration"].groupby(about["gender"]).mean()
    assert mean["f"] > mean["m"]  # as in table 6


def test_every_printed_number_is_measured(result):
    measured = {(row.source, row.kind, row.group, row.reference, row.measure) for row in result}
    wanted = {
        (cell["source"], cell["kind"], cell["group"], cell.get("reference", ""), cell["measure"])
        for cell, _, _ in STUDY.paper.cells("d-vlog")
    }
    assert measured == wanted
    assert not any(row.within is not None for row in result)  # scale quick is not the experiment


def test_table_6_counts_what_is_there(result, folder):
    frame = pd.read_csv(folder / "labels.csv")
    rows = {(row.group, row.measure): row.mean for row in result if row.source == "table 6"}
    chosen = frame[(frame["gender"] == "f") & (frame["label"] == "depression")]
    assert rows["f", "samples of class 1"] == len(chosen)
    assert rows["f", "duration of class 1"] == pytest.approx(chosen["duration"].mean())
    assert rows["f", "truncation of class 1"] == pytest.approx(chosen["duration"].mean() - 12)


def test_ratios_are_those_of_the_audit():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([2, 2], size=(3, 300))
    y = rng.integers(0, 2, 300)
    gender = rng.choice(["f", "m"], 300)
    rates, both = audited(caveat.Categorical(p), y, {"gender": gender}, PAIRS)
    said = p.mean(axis=0)[:, 1] > 0.5
    right = {g: (said == y)[gender == g].mean() for g in "fm"}
    assert rates["gender", "f", "", "accuracy"] == pytest.approx(right["f"])
    assert both["gender", "f", "m", "equal_accuracy"] == pytest.approx(right["f"] / right["m"])
    aleatoric = (p * (1 - p)).sum(axis=2).mean(axis=0)
    expected = aleatoric[gender == "f"].mean() / aleatoric[gender == "m"].mean()
    assert both["gender", "f", "m", "aleatoric_uncertainty"] == pytest.approx(expected)


def test_seconds_after_the_end_stay_zero():
    rng = np.random.default_rng(0)
    X = rng.normal(3, 2, (6, 4, 9)).astype(np.float32)
    X[2, :, 5:] = 0
    X[:, 3] = 1.0  # a constant feature
    X[2, 3, 5:] = 0
    train = np.array([True, True, True, False, False, False])
    made = scaled(X, train)
    assert (made[2, :, 5:] == 0).all()
    seen = np.concatenate([made[0], made[1], made[2, :, :5]], axis=1)
    np.testing.assert_allclose(seen.mean(axis=1), 0, atol=1e-6)
    np.testing.assert_allclose(seen[:3].std(axis=1), 1, rtol=1e-5)
    assert not scaled(X, train)[:, 3].any()


def test_an_empty_group_has_no_mean(folder, tmp_path):
    from caveat.studies._d_vlog import statistics

    signals, about = load_d_vlog(folder, seconds=12)
    about["gender"] = "f"
    values = statistics(STUDY, signals, about)
    key = STUDY.key("table 6", "duration of class 0", kind="seconds", attribute="gender", group="m")
    assert np.isnan(values[key]).all()


def test_generated_videos_are_said_to_be(capsys, monkeypatch):
    monkeypatch.setitem(__import__("caveat.studies._d_vlog", fromlist=["_"])._QUICK, "epochs", 1)
    code = main(
        ["study", "fairness", "--dataset", "d-vlog", "--set", "videos=40", "--set", "seconds=12"]
    )
    assert code in (0, None)
    out = capsys.readouterr().out
    assert "were generated" in " ".join(out.split())
    assert "table 7 (audio only)" in out


def test_bad_folders(tmp_path):
    with pytest.raises(FileFormatError, match=r"has no labels\.csv"):
        run_study("fairness", "d-vlog", data=str(tmp_path))
    with pytest.raises(OptionError, match="videos must be a whole number of at least 40"):
        run_study("fairness", "d-vlog", videos=3)
