"""The study of pulse waves: printed tables, what is measured, and where the data come from."""

import io
import lzma

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import caveat
from caveat.cli import main
from caveat.exceptions import FileFormatError, OptionError
from caveat.signals import Signals, make_af_ppg, make_pressure_ppg
from caveat.studies import STUDIES, _ppg_data, ppg, run_study
from caveat.studies._ppg_data import take_signals
from caveat.studies.study import Task

from ..signals.test_published import write_deepbeat

STUDY = STUDIES["ppg"]


class Stub(BaseEstimator):
    """A model without a network, so that a study takes a second."""

    def __init__(self, kind="classes", seed=0):
        self.kind = kind
        self.seed = seed

    def fit(self, X, y, *, validation=None):
        self.mean_ = np.mean(y, axis=0)
        self.std_ = np.std(y, axis=0)
        return self

    def predict_distribution(self, X):
        rng = np.random.default_rng(self.seed)
        noise = rng.normal(size=(3, len(X)))
        if self.kind == "classes":
            z = 3 * (np.abs(np.diff(X[:, 0], axis=1)).mean(axis=1) - 0.3) + noise
            return caveat.GaussianLogits.from_std(
                np.stack([-z, z], axis=2), np.full((3, len(X), 2), 0.3)
            )
        mean = self.mean_ + 3 * noise[..., None]
        if self.kind == "numbers":
            return caveat.Gaussian.from_std(mean, np.full(mean.shape, 0.5) * self.std_)
        from scipy.stats import norm

        levels = [0.0228, 0.1587, 0.5, 0.8413, 0.9772]
        return caveat.Quantiles(levels, mean[0][..., None] + self.std_[:, None] * norm.ppf(levels))


@pytest.fixture
def stubs(monkeypatch):
    def models(task, kind, network, seed):
        if kind == "af":
            names = ["MAP", "MCD", "DE", *(f"MCD {rate:g}" for rate in ppg.rates_of(task))]
            return {name: Stub(seed=i) for i, name in enumerate(names)}
        kinds = {"MAP": "numbers", "MCD": "numbers", "DE": "numbers", "QR": "quantiles"}
        return {name: Stub(kind, i) for i, (name, kind) in enumerate(kinds.items())}

    monkeypatch.setattr(ppg, "models_of", models)


def printed(dataset, source, measure, **factors):
    return STUDY.printed_texts(dataset)(STUDY.key(source, measure, **factors))[0]


def test_printed_numbers():
    assert printed("af", "table 8", "ece", network="alexnet", technique="MCD+IR") == "0.048"
    assert (
        printed("af", "table 10", "ace", network="alexnet", technique="MAP", part="AF") == "0.361"
    )
    assert (
        printed("af", "table 11", "ece", network="resnet", technique="DE", part="non-AF") == "0.013"
    )
    assert (
        printed("bp-calib", "table 13", "mae", network="resnet", technique="MCD", part="diastolic")
        == "5.32"
    )
    assert (
        printed(
            "bp-calibfree",
            "table 14",
            "picp_2",
            network="alexnet",
            technique="CQR 2σ",
            part="systolic",
        )
        == "0.996"
    )
    assert (
        printed(
            "bp-calib", "table 12", "picp_1", network="alexnet", technique="CQR 2σ", part="systolic"
        )
        == ""
    )
    assert printed("af", "table 20", "mcc_specificity", network="resnet", technique="DE") == "0.55"
    # The MASE is the MAE over that of the training median, which the captions print.
    for source, part, median in (("table 12", "systolic", 14.91), ("table 12", "diastolic", 9.52)):
        for technique in ("MAP", "QR 2σ", "CMAP 2σ"):
            where = {"network": "alexnet", "technique": technique, "part": part}
            mae = float(printed("bp-calib", source, "mae", **where))
            assert mae / median == pytest.approx(
                float(printed("bp-calib", source, "mase", **where)), abs=0.006
            )


@pytest.mark.parametrize("dataset", ["af", "bp-calib", "bp-calibfree"])
def test_every_printed_number_is_measured(stubs, dataset):
    for network in ("alexnet", "resnet"):
        result = run_study(
            "ppg", dataset, network=network, subjects=24, segments_each=10, random_state=0
        )
        measured = {(row.source, row.technique, row.part, row.measure) for row in result.rows}
        wanted = {
            (cell["source"], cell["technique"], cell.get("part", ""), cell["measure"])
            for cell, text, _ in STUDY.paper.cells(dataset)
            if text and cell["network"] == network
        }
        assert measured == wanted
    assert not result.judged
    assert result.notes[1 if dataset == "af" else 0]
    assert any("were generated" in note for note in result.notes)
    assert len(result.conclusions) == (3 if dataset == "af" else 4)


def test_runs_differ_and_seeds_repeat(stubs):
    options = {"subjects": 24, "segments_each": 10, "repeats": 2}
    first, second = (run_study("ppg", "af", random_state=1, **options) for _ in range(2))
    values = first.table.frame["value"].to_numpy()
    np.testing.assert_array_equal(values, second.table.frame["value"].to_numpy())
    by_run = [first.table.rows(source="table 8", run=run)["value"].to_numpy() for run in (0, 1)]
    assert (by_run[0] != by_run[1]).any()


def test_numbers_are_those_of_the_metrics():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.02, 0.98, 400)
    y = (rng.random(400) < p).astype(int)
    both = np.stack([1 - p, p], axis=1)
    values = ppg.class_values(both, y)
    assert values["ece"] == pytest.approx(caveat.metrics.expected_calibration_error(y, both))
    bits = -np.log2(both[np.arange(400), y]).mean()
    assert values["nll"] == pytest.approx(bits)
    made = ppg.performance_values(p, y)
    from sklearn.metrics import f1_score, matthews_corrcoef, roc_auc_score, roc_curve

    assert made["auc"] == pytest.approx(roc_auc_score(y, p))
    assert made["f1"] == pytest.approx(f1_score(y, p >= 0.5))
    false, true, cuts = roc_curve(y, p, drop_intermediate=False)
    assert made["specificity"] == pytest.approx(1 - false[true > 0.8].min())
    assert made["sensitivity"] == pytest.approx(true[1 - false > 0.8].max())
    cut = cuts[(true > 0.8) & (1 - false == made["specificity"])].min()
    assert made["mcc_sensitivity"] == pytest.approx(matthews_corrcoef(y, p >= cut), abs=0.02)
    constant = ppg.performance_values(np.full(400, 0.3), y)
    assert constant["mcc_sensitivity"] == 0.0


def test_intervals_at_one_level_have_no_other():
    assert ppg.printed_at("DE", "picp_1")
    assert ppg.printed_at("QR 1σ+TS", "picp_2")
    assert not ppg.printed_at("QR 1σ", "picp_2")
    assert not ppg.printed_at("CMAP 2σ", "picp_1")


@pytest.mark.parametrize(
    ("kind", "names"), [("af", ["MAP", "MCD", "DE"]), ("bp", ["MAP", "MCD", "DE", "QR"])]
)
@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_networks_have_the_published_settings(kind, names, scale):
    task = Task("af", scale, None, np.random.default_rng(0), options={"settings": {"epochs": 3}})
    models = ppg.models_of(task, kind, "resnet", 5)
    assert list(models) == names
    assert all(model.epochs == 3 and model.random_state == 5 for model in models.values())
    assert models["DE"].members == (3 if scale == "quick" else 5)
    quick = {"af": 1e-3, "bp": 3e-4}[kind]
    assert models["MAP"].learning_rate == (quick if scale == "quick" else 1e-4)


def test_folders_of_deepbeat(tmp_path):
    write_deepbeat(tmp_path / "train.npz", 8)
    signals = take_signals("af", str(tmp_path), np.random.default_rng(0), (1, 1), True).signals
    assert signals.X.shape == (8, 1, 800)
    np.testing.assert_allclose(signals.X.std(axis=2), 1, rtol=1e-4)
    with pytest.raises(OptionError, match="data must be one of synthetic, arrhythmia, or a folder"):
        take_signals("af", "nowhere", np.random.default_rng(0), (1, 1), True)


def packed(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return lzma.compress(stream.getvalue())


def test_extracts_of_public_data(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.delenv("CAVEAT_DATA", raising=False)
    with pytest.raises(OptionError, match="read from the folder ppg_arrhythmia"):
        _ppg_data.arrhythmia()
    monkeypatch.setenv("CAVEAT_DATA", str(tmp_path))
    (tmp_path / "ppg_arrhythmia").mkdir()
    (tmp_path / "mimic_ppg_bp").mkdir()
    X = make_af_ppg(3, 2, seconds=10, sampling_rate=100, random_state=0).X[:, 0]
    X = np.round(1000 * X).astype(int)
    second = np.diff(np.diff(X, axis=1, prepend=0), axis=1, prepend=0).astype(np.int16)
    (tmp_path / "ppg_arrhythmia" / "ppgseg_delta2_int16.npy.xz").write_bytes(packed(second))
    np.savez(
        tmp_path / "ppg_arrhythmia" / "meta.npz",
        label=[0, 5, 5, 1, 0, 5],
        subject=[1, 1, 2, 2, 3, 3],
    )
    signals = _ppg_data.arrhythmia()
    np.testing.assert_allclose(signals.X[:, 0], X / 4095, rtol=1e-5)
    assert signals.y.tolist() == [0, 1, 1, 0, 0, 1]
    made = take_signals("af", "arrhythmia", rng, (1, 1), False).signals
    assert made.X.shape == (6, 1, 800)
    stream = io.BytesIO()
    ppg_values = make_pressure_ppg(2, 2, sampling_rate=62.5, random_state=0).X[:, 0]
    ppg_values = np.round(100 * ppg_values).astype(int)
    np.savez(
        stream, ppg_d=np.diff(ppg_values, axis=1, prepend=0).astype(np.int16), ppg_scale=100,
        fs=62.5, record=["a", "a", "b", "b"], sbp=[120.0, np.nan, 110.0, 130.0],
        dbp=[80.0, 70.0, 75.0, 90.0],
    )  # fmt: skip
    place = tmp_path / "mimic_ppg_bp" / "mimic4_ppg_abp_delta1.npz.xz"
    place.write_bytes(lzma.compress(stream.getvalue()))
    np.testing.assert_allclose(_ppg_data.mimic().X[:, 0], ppg_values / 100, rtol=1e-5)
    made = take_signals("bp", "mimic", rng, (1, 1), False)
    assert made.signals.X.shape == (3, 1, 1250)
    assert made.dropped == ((1, "without a target"),)
    (place.parent / "mimic3_ppg_abp_delta1.npz.xz").write_bytes(place.read_bytes())
    assert len(take_signals("bp", "mimic3", rng, (1, 1), False).signals) == 3
    place.write_bytes(b"nothing")
    with pytest.raises(FileFormatError, match="cannot be read"):
        _ppg_data.mimic()


def test_at_most_so_many_segments(stubs):
    result = run_study("ppg", "af", subjects=30, segments_each=10, segments=200, random_state=0)
    assert len(result.details["run 0"].y) < 0.25 * 200
    with pytest.raises(OptionError, match="segments must be a whole number of at least 50"):
        run_study("ppg", "af", subjects=30, segments_each=10, segments=5, random_state=0)


def test_techniques_that_fail_are_noted(stubs, monkeypatch):
    broken = {"MAP": caveat.selection.Technique("MAP"), "DE": caveat.selection.Technique("DE"),
              "no": caveat.selection.Technique("MAP", caveat.VarianceScaling())}  # fmt: skip
    monkeypatch.setattr(ppg, "techniques_of", lambda kind: broken)
    task = Task(
        "af",
        "quick",
        None,
        np.random.default_rng(0),
        options={o.name: o.default for o in STUDY.options} | {"subjects": 24, "segments_each": 10},
    )
    measured = ppg.measure(task)
    assert any(note.startswith("no failed: ") for note in measured.notes)


@pytest.mark.parametrize(
    ("dataset", "subjects", "each", "failed"),
    [("bp-calibfree", 4, 15, 2), ("bp-calib", 8, 12, 2), ("af", 20, 3, 5)],
)
def test_techniques_with_too_few_calibration_samples_are_noted(
    stubs, dataset, subjects, each, failed
):
    result = run_study(
        "ppg", dataset, subjects=subjects, segments_each=each, random_state=0, times=1, repeats=2
    )
    notes = [note for note in result.notes if " failed: " in note]
    assert len(notes) >= failed
    assert all("calibration samples" in note for note in notes)
    lacking = {note.partition(" failed")[0] for note in notes}
    assert not lacking & set(result.details["run 0"].predictions)
    undecided = [one for one in result.conclusions if one.runs < 2]
    assert undecided
    assert result.charts()
    assert str(result)


def test_segments_that_were_not_used_are_noted(stubs, monkeypatch):
    def spoiled(*args, **options):
        signals = make_pressure_ppg(*args, **options)
        X, y = signals.X.copy(), signals.y.copy()
        X[:3] = 1.0
        y[5] = np.nan
        return Signals(X, 125, y=y, subject=signals.subject, targets=signals.targets)

    monkeypatch.setattr(_ppg_data, "make_pressure_ppg", spoiled)
    result = run_study("ppg", "bp-calib", subjects=24, segments_each=10, random_state=0)
    assert (
        "Segments that cannot be used: 236 of 240 segments kept; dropped: 3 flat, 1 without a "
        "target."
    ) in result.notes


def test_the_command_line(stubs, capsys):
    code = main(
        [
            "study",
            "ppg",
            "--dataset",
            "bp-calib",
            "--set",
            "subjects=24",
            "--set",
            "segments_each=10",
        ]
    )
    assert code in (0, None)
    assert "blood pressure" in capsys.readouterr().out


FIGURES = {
    "af": {"figure 2, ECE": 6, "figure 2, VCE": 6, "figure 2, UCE": 6, "figure 3": 10,
           "figure 4": 10, "figure 9": 1},
    "bp-calib": {"figure 5": 8, "figure 6": 4, "figure 9": 1},
    "bp-calibfree": {"figure 7": 8, "figure 8": 4, "figure 9": 1},
}  # fmt: skip


@pytest.mark.parametrize("dataset", FIGURES)
def test_figures(stubs, dataset):
    result = run_study("ppg", dataset, subjects=24, segments_each=10, random_state=0)
    made = result.charts()
    assert {name: len(charts) for name, charts in made.items()} == FIGURES[dataset]
    parts = ["non-AF", "AF"] if dataset == "af" else ["systolic", "diastolic"]
    assert list(dict.fromkeys(made["figure 9"][0].numbers["where"])) == ["all parts alike", *parts]
    if dataset != "af":
        assert made[next(iter(made))][1].title.endswith("DE, diastolic")
        return
    grid = result.details["run 0"]
    rows = grid.y == 1
    chart = made["figure 4"][1]
    assert chart.title == "Figure 4, confidence by true class: DE, AF"
    p = grid.predictions["DE"].mean[rows]
    shares = np.asarray(chart.numbers["observed"], dtype=float)
    assert sum(chart.numbers["samples"]) == rows.sum()
    right = (p.argmax(axis=1) == 1).mean()
    assert np.average(shares, weights=chart.numbers["samples"]) == pytest.approx(right)


def test_a_search_over_parametrizations_with_times(stubs):
    result = run_study(
        "ppg", "af", subjects=24, segments_each=10, random_state=0, rates=[0.1, 0.4], sizes=2,
        times=2,
    )  # fmt: skip
    grid = result.details["run 0"]
    assert {"MCD 0.1", "MCD 0.4", "DE of 2"} < set(grid.predictions)
    assert {"MCD 0.1", "DE of 2"} < set(grid.scenarios().rows[0].values)
    rows = {(row.technique, row.measure): row.mean for row in result if "times" in row.source}
    assert rows["MAP", "seconds"] > 0
    assert ("Venn-ABERS", "standard error") in rows
    assert ("DE of 2", "seconds") not in rows  # no step after the prediction
    extra = [row for row in result if row.technique == "DE of 2" and row.measure == "ece"]
    assert all(row.note == "not printed" for row in extra)
    assert extra


def test_dropout_rates_of_the_networks():
    options = {"settings": None, "rates": (0.1, 0.3)}
    task = Task("af", "quick", None, np.random.default_rng(0), options=options)
    models = ppg.models_of(task, "af", "alexnet", 0)
    assert [models[f"MCD {rate}"].module.keywords["rate"] for rate in (0.1, 0.3)] == [0.1, 0.3]
    assert models["MCD"].module.keywords["rate"] == 0.2
    with pytest.raises(OptionError, match="rates must"):
        ppg.rates_of(Task("af", "quick", None, np.random.default_rng(0), options={"rates": 2}))


def test_a_shift_between_calibration_and_test_is_noted(stubs, monkeypatch):
    monkeypatch.setattr(ppg, "_UNLIKELY", 2.0)
    result = run_study("ppg", "bp-calib", subjects=24, segments_each=10, random_state=0)
    (note,) = [note for note in result.notes if "Errors of MAP" in note]
    assert "are not of one source" in note
    grid = result.details["run 0"]
    assert f"; {grid.exchangeability('MAP', random_state=0).p_value:.3g} by segment)" in note
    assert " by subject; " in note
    monkeypatch.setattr(ppg, "_UNLIKELY", 0.0)
    result = run_study("ppg", "bp-calib", subjects=24, segments_each=10, random_state=0)
    assert not any("are not of one source" in note for note in result.notes)


@pytest.mark.parametrize(("p", "by_subject", "noted"), [(0.001, 0.279, 0), (0.279, 0.001, 3)])
def test_the_p_value_by_subject_decides(stubs, monkeypatch, p, by_subject, noted):
    from types import SimpleNamespace

    from caveat.selection import TechniqueGrid

    def told(self, base, *, cluster, random_state):
        return SimpleNamespace(p_value=p if cluster is None else by_subject)

    monkeypatch.setattr(TechniqueGrid, "exchangeability", told)
    result = run_study("ppg", "bp-calib", subjects=24, segments_each=10, random_state=0)
    notes = [note for note in result.notes if "are not of one source" in note]
    assert len(notes) == noted
    assert all("(p = 0.001 by subject; 0.279 by segment)" in note for note in notes)


def test_a_technique_that_failed_has_no_diagram():
    from types import SimpleNamespace

    from caveat.selection import TechniqueGrid
    from caveat.studies._technique_charts import technique_charts

    said = {"MAP": caveat.Categorical.from_binary([0.2, 0.9, 0.4, 0.6])}
    grid = TechniqueGrid(said, said, np.array([0, 1, 1, 0]), {}, {}, {})
    spec = {"chart": "reliability", "techniques": ["MAP", "DE"], "title": "Figure 2"}
    result = SimpleNamespace(details={"run 0": grid}, dataset="af")
    assert [chart.title for chart in technique_charts(result, spec)] == ["Figure 2: MAP"]
    assert not [*technique_charts(SimpleNamespace(details={}, dataset="af"), spec)]
