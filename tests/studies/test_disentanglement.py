"""The disentanglement study: values and conclusions from made curves, and all of it on little data."""

import html
import json
import re

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from caveat.exceptions import OptionError, UnknownNameError
from caveat.experiments import ClassDetection, Curve, Disentanglement, Protocol
from caveat.studies import STUDIES, StudyResult, disentanglement, run_study
from caveat.studies._plane import Plane
from caveat.studies._samples import TrainTest
from caveat.studies.disentanglement import AS_PRINTED, ERROR, METHODS, SPLITS, values_of
from caveat.studies.study import Measured, Task, conclusions_of, rows_of, table_of

from .disentanglements import FLAT, RISING, SMALL, TINY, curves, images, perfect, trap

mpl.use("Agg")
STUDY = STUDIES["disentanglement"]
WINE = "wine"


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


# Values and conclusions of curves that are made up


def measured_of(sweeps=(), detections=(), by_rate=(), planes=(), same=True, dataset=WINE):
    values, summaries = values_of(
        dict(sweeps), dict(detections), dict(by_rate), planes, 0.95
    )  # fmt: skip
    found = Measured(
        dataset, "", "", 3, values, summaries, lambda source: same and source != "table 3"
    )
    return rows_of(STUDY, found, 0.95), table_of(STUDY, found)


def made(*arguments, **options):
    return measured_of(*arguments, **options)[0]


def one(found, source, **wanted):
    (row,) = [
        r for r in found if r.source == source and all(getattr(r, k) == v for k, v in wanted.items())
    ]  # fmt: skip
    return row


def test_table_2_has_the_error_and_whether_it_differs():
    found = made(
        {
            ("mc-dropout", "information"): trap("information"),
            ("flipout", "information"): perfect("information"),
        }
    )
    row = one(found, "table 2", method="mc-dropout")
    assert (row.printed, row.paper, row.paper_spread) == ("0.645", 0.645, 0.041)
    assert (row.mean, row.spread, row.runs) == (pytest.approx(0.5), pytest.approx(0), 3)
    assert row.differs  # 0.145 is more than 0.082
    assert row.within is None
    assert one(found, "table 2", method="flipout").mean == pytest.approx(0, abs=1e-12)


def test_nothing_is_judged_that_is_another_experiment():
    found = made({("mc-dropout", "information"): trap("information")}, same=False)
    assert {row.differs for row in found} == {None}
    unknown = made({("mc-dropout", "information"): trap("information")}, dataset="mine")
    assert {row.printed for row in unknown} == {""}


def random_result(name="information", repeats=4, seed=0):
    rng = np.random.default_rng(seed)
    parts = [
        Curve(kind, name, np.linspace(0.1, 1, 5), *rng.random((3, repeats, 5)))
        for kind in ("size", "noise")
    ]
    return Disentanglement(curves=tuple(parts))


def test_tables_5_and_6_are_correlations_of_mean_curves():
    result = random_result()
    found, table = measured_of({("flipout", "information"): result})
    printed = {
        (cell["source"], cell["measure"]): text
        for cell, text, _ in STUDY.paper.cells(WINE)
        if (cell["method"], cell["decomposition"]) == ("flipout", "information")
    }
    for name, uncertainty, kind in (
        ("aleatoric_consistency", "aleatoric", "noise"),
        ("epistemic_consistency", "epistemic", "size"),
        ("aleatoric_orthogonality", "aleatoric", "size"),
        ("epistemic_orthogonality", "epistemic", "noise"),
    ):
        curve = result.curve(kind)
        u, score = getattr(curve, uncertainty).mean(axis=0), curve.score.mean(axis=0)
        source = "table 5" if kind == "size" else "table 6"
        row = one(found, source, measure=name)
        assert row.mean == pytest.approx(np.corrcoef(u, -score)[0, 1])
        assert row.printed == printed[source, name]
        assert row.mean_low <= row.mean <= row.mean_high
        assert row.spread > 0
        each = [
            np.corrcoef(getattr(curve, uncertainty)[r], -curve.score[r])[0, 1] for r in range(4)
        ]
        np.testing.assert_allclose(table.rows(source=source, measure=name)["value"], each)


def test_terms_of_each_run():
    result = random_result(repeats=3)
    found = made({("flipout", "information"): result})
    row = one(found, "figure 6", measure="epistemic_consistency")
    curve = result.curve("size")
    each = [abs(np.corrcoef(curve.epistemic[r], -curve.score[r])[0, 1] - 1) for r in range(3)]
    assert row.mean == pytest.approx(np.mean(each))
    assert row.spread == pytest.approx(np.std(each, ddof=1))
    assert 0 <= row.mean_low <= row.mean <= row.mean_high <= 2


def three(repeats=3):
    """A deep ensemble that is perfect by information; by the others one part follows all."""
    parts = [
        *curves("information", repeats),
        *curves("bias_variance", repeats, a_size=RISING),
        *curves("pairwise_kl", repeats, e_noise=RISING),
    ]
    return Disentanglement(curves=tuple(parts))


def test_table_3_mixes_the_parts_as_the_paper_did():
    found = made({("deep-ensemble", "information"): three()})
    mixed = {r.measure: r for r in found if r.source == "table 3" and r.decomposition == AS_PRINTED}
    assert mixed["aleatoric_orthogonality"].mean == pytest.approx(1)  # from bias and variance
    assert mixed["epistemic_orthogonality"].mean == pytest.approx(1)  # from pairwise KL
    assert mixed[ERROR].mean == pytest.approx(0.5)
    assert mixed[ERROR].printed == "0.419"
    plain = [r for r in found if r.source == "table 3" and r.decomposition == "pairwise_kl"]
    assert {r.printed for r in plain} == {""}
    assert {r.differs for r in found if r.source == "table 3"} == {None}


def test_figure_9_uses_fewer_levels_of_the_same_runs():
    found = made({("deep-ensemble", "information"): three()})
    some = [r for r in found if r.source == "figure 9" and r.decomposition == "bias_variance"]
    assert [r.setting for r in some] == ["2", "3"]
    assert (
        some[-1].mean == one(found, "table 3", decomposition="bias_variance", measure="error").mean
    )


def test_a_deep_ensemble_without_the_three_splits_has_no_table_3():
    found = made({("deep-ensemble", "gaussian_logits"): perfect("gaussian_logits")})
    assert {r.source for r in found} == {"table 2", "table 5", "table 6", "figure 6"}


def detection(aleatoric, epistemic, name="information"):
    auc = np.array([[[[a, e, 0.5]] for a, e in zip(aleatoric, epistemic, strict=True)]])
    return ClassDetection(("a",), (name,), auc)


def test_table_4_averages_over_classes():
    auc = np.array([[[[0.9, 0.5, 0.5], [0.7, 0.7, 0.5]], [[0.8, 0.6, 0.5], [0.8, 0.4, 0.5]]]])
    result = ClassDetection((0, 1), ("information",), auc)
    found = made(detections={("flipout", "information", "scaled by all"): result})
    row = one(found, "table 4, scaled by all", measure="epistemic")
    assert (row.mean, row.spread) == (
        pytest.approx(0.55),
        pytest.approx(np.std([0.6, 0.5], ddof=1)),
    )
    assert row.printed == "0.974"
    assert row.differs
    single = made(detections={("flipout", "information", ""): detection([0.9], [0.5])})
    assert one(single, "table 4", measure="aleatoric").differs is None


def test_figure_8_has_error_terms_and_accuracy_by_rate():
    found = made(by_rate={0.1: perfect("information"), 0.5: trap("information")})
    assert one(found, "figure 8", setting="0.5", measure="error").mean == pytest.approx(0.5)
    assert one(found, "figure 8", setting="0.1", measure="accuracy").mean == pytest.approx(0.9)


def said(dataset, *arguments, **options):
    _, table = measured_of(*arguments, **options, dataset=dataset)
    found = conclusions_of(STUDY, table, 0.95)
    return {f"{one.source}: {one.text}": (one.holds, one.runs) for one in found}


def test_conclusions_on_errors():
    sweeps = {
        (method, split): trap(split) if split == "gaussian_logits" else perfect(split)
        for method in METHODS
        for split in SPLITS
    }
    sweeps["flipout", "information"] = three()
    found = said(WINE, sweeps)
    assert found["table 2: the error by information is below that by Gaussian logits"] == (12, 12)
    # All by information are perfect: another one comes first in the alphabet.
    assert found["table 2: the smallest error is that of Flipout by information"] == (0, 3)
    assert found[
        "section 4.2, figure 4: Gaussian logits: epistemic uncertainty rises with noise, with a correlation above 0.7"
    ] == (12, 12)
    assert found["figure 6: information: epistemic uncertainty is consistent (C2 up to 0.3)"] == (
        12,
        12,
    )
    assert found[
        "figure 6: Gaussian logits: epistemic uncertainty is not consistent (C2 above 0.3)"
    ] == (0, 12)
    orthogonal = "the parts are not both orthogonal (O1 or O2 above 0.3)"
    assert found[f"figure 6: information: {orthogonal}"] == (0, 12)
    assert found[f"figure 6: Gaussian logits: {orthogonal}"] == (12, 12)
    assert not any(key.startswith("table 3") for key in found)
    assert not any("smallest error" in key for key in said("mine", sweeps))
    del sweeps["flipout", "information"]
    assert not any("smallest error" in key for key in said(WINE, sweeps))


def test_conclusions_on_other_splits_and_rising_curves():
    rising = Disentanglement(curves=curves("variance", a_size=RISING, a_noise=FLAT))
    found = said(WINE, {("mc-dropout", "variance"): rising})
    assert found[
        "section 4.1, figure 3: variance: aleatoric uncertainty rises with the amount of data"
    ] == (3, 3)
    assert found["figure 6: variance: aleatoric uncertainty is consistent (C1 up to 0.3)"] == (0, 3)
    assert not any("C2" in key or key.startswith("table 2") for key in found)


def test_conclusions_on_three_splits():
    found = said(WINE, {("deep-ensemble", "information"): three()})
    assert found["table 3: the error by information is below that by bias and variance"] == (3, 3)
    assert found["table 3: the error by information is below that by pairwise KL as printed"] == (
        3,
        3,
    )


def test_conclusions_on_detections():
    given = {
        ("flipout", "information", "scaled within"): detection([0.9, 0.7, 0.5], [0.8, 0.8, 0.4]),
        ("flipout", "gaussian_logits", ""): detection([0.9], [0.95], "gaussian_logits"),
    }
    found = said(WINE, detections=given)
    text = "aleatoric uncertainty detects a class that was left out (ROC AUC above 0.6)"
    assert found[f"table 4, scaled within: {text}"] == (2, 3)
    assert found[
        "table 4, scaled within: information: epistemic uncertainty detects it worse than the aleatoric"
    ] == (2, 3)
    assert found[f"table 4: {text}"] == (1, 1)
    assert len(found) == 3


def plane(figure, level, schedule, aleatoric, epistemic):
    grid = np.linspace(-1, 1, 5)
    return Plane(
        figure, "information", "size", level, schedule, grid, grid, aleatoric, epistemic,
        np.array([[-0.6, 0.0], [0.6, 0.0]]), np.array([0, 1]),
    )  # fmt: skip


def test_conclusions_on_planes():
    low, high = np.zeros((2, 5, 5)), np.ones((2, 5, 5))
    left = low.copy()
    left[:, :, 0] = 1
    left[1, :, -1] = 2
    found = said("triangle", planes=[plane("figure 10", 1.0, "inverse-epochs", low, left)])
    assert list(found.values()) == [(1, 2)]
    planes = [
        plane("figure 5a", 0.02, "inverse-epochs", low, low),
        plane("figure 5a", 1.0, "inverse-epochs", low, low),
        plane("figure 11", 0.02, "constant-epochs", high, low),
        plane("figure 11", 1.0, "constant-epochs", low, low),
    ]
    found = said("two-moons", planes=planes)
    assert list(found.values()) == [(2, 2)]
    assert "with 2% of the samples" in next(iter(found))


# All of it


def run(dataset, **options):
    given = {"random_state": 0, "protocol": TINY, "settings": SMALL, **options}
    return run_study("disentanglement", dataset, **given)


@pytest.fixture(scope="module")
def wine():
    return run("wine", methods=["deep-ensemble", "mc-dropout"], dropout_rates=(0.5, 0.2))


@pytest.fixture(scope="module")
def points():
    patch = pytest.MonkeyPatch()
    patch.setattr(disentanglement, "SIDE", {"quick": 6})
    try:
        only = {"methods": "deep-ensemble", "decompositions": "information"}
        return {name: run(name, **only) for name in ("two-moons", "triangle")}
    finally:
        patch.undo()


def planes_of(study):
    return [detail for detail in study.details.values() if isinstance(detail, Plane)]


def test_every_table_and_figure_of_wine_is_there(wine):
    assert isinstance(wine, StudyResult)
    assert list(dict.fromkeys(row.source for row in wine)) == [
        "table 2", "table 3", "table 4, scaled within", "table 4, scaled by all", "table 5", "table 6",
        "figure 6", "figure 8", "figure 9",
    ]  # fmt: skip
    assert [(r.method, r.decomposition, r.printed) for r in wine.select(source="table 2")] == [
        ("deep-ensemble", "gaussian_logits", "0.524"),
        ("deep-ensemble", "information", "0.454"),
        ("mc-dropout", "gaussian_logits", "0.778"),
        ("mc-dropout", "information", "0.645"),
    ]
    assert [r.setting for r in wine.select(source="figure 8", measure="error")] == ["0.2", "0.5"]
    assert wine.to_frame().shape[0] == len(wine)
    assert wine.description.startswith(
        "Wine (UCI): three growers of one region of Italy; 142 samples"
    )
    assert wine.differences == wine.judged == []
    assert "printed number" not in wine.verdict().statements[0].text


def test_methods_learn_the_same_samples_and_splits_share_their_trainings(wine):
    ensemble = wine.details["deep-ensemble, information"]
    assert ensemble.decompositions == ("information", "bias_variance", "pairwise_kl")
    assert wine.details["mc-dropout, information"].decompositions == ("information",)
    assert ensemble.cost.trainings == 2 * TINY.conditions
    assert (ensemble.samples, ensemble.test_samples) == (142, 36)


def test_text_and_files_of_the_study(wine, tmp_path):
    text = repr(wine)
    assert "table 2: the error (UDE) by method and decomposition" in text
    assert "rho(u_a, U_e)" in text
    assert "C1 aleatoric consistency" in text
    assert re.search(r"note: Table 3 shows ImageNet-1k", text)
    assert "nan" not in text
    assert "pairwise KL as printed" in wine._repr_html_()
    found = json.loads(wine.to_json())
    assert (found["study"], found["dataset"], found["repeats"]) == ("disentanglement", "wine", 2)
    assert set(found["details"]) >= {
        "deep-ensemble, information", "rate 0.2", "detection, mc-dropout, information, scaled within"
    }  # fmt: skip
    assert len(found["rows"]) == len(wine)
    assert len(found["runs"]) == 2 * len(wine)
    page = wine.report(tmp_path / "study.html", title="Wine <again>").read_text(encoding="utf-8")
    assert "Wine &lt;again&gt;" in page
    assert "Deep Ensembles, Gaussian logits: less or more training data" in page
    assert html.escape(wine.notes[0]) in page


def test_charts_of_tables(wine):
    charts = wine.charts()
    assert {name: len(found) for name, found in charts.items()} == {
        "errors": 1, "sweeps": 8, "terms": 1, "rates": 1, "levels": 1,
    }  # fmt: skip
    (errors,) = charts["errors"]
    assert errors.numbers["paper"].tolist() == [0.524, 0.454, 0.778, 0.645]
    assert errors.numbers[""][1] == "Deep Ensembles, information"
    (terms,) = charts["terms"]
    rows = wine.select(source="figure 6")
    runs = wine.table.rows(source="figure 6")["value"]
    assert sorted(terms.numbers["run"]) == pytest.approx(sorted(runs))
    assert len(set(terms.numbers[""])) == 8
    assert len(rows) == 16  # two methods share a line of the chart
    (levels,) = charts["levels"]
    assert list(dict.fromkeys(levels.numbers[""])) == [
        "pairwise KL as printed", "information", "bias and variance", "pairwise KL",
    ]  # fmt: skip
    assert wine.plot("rates").get_xlabel() == "dropout rate"
    for found in charts.values():
        for chart in found:
            chart.plot()
            assert len({len(column) for column in chart.numbers.values()}) == 1
            plt.close("all")
    with pytest.raises(
        OptionError, match=r"kind must be one of 'errors', 'sweeps', .*; got 'bars'"
    ):
        wine.plot("bars")


def test_planes(points):
    moons, triangle = points["two-moons"], points["triangle"]
    assert [(p.figure, p.decomposition, p.level) for p in planes_of(triangle)] == [
        ("figure 10", "information", 1.0)
    ]
    assert [one.source for one in triangle.conclusions if one.source == "figure 10"]
    keys = {(p.figure, p.kind, p.schedule) for p in planes_of(moons)}
    assert keys == {
        ("figure 5a", "size", "inverse-epochs"), ("figure 5b", "noise", "inverse-epochs"),
        ("figure 11", "size", "constant-epochs"),
    }  # fmt: skip
    first = planes_of(moons)[1]
    assert first.aleatoric.shape == first.epistemic.shape == (2, 6, 6)
    assert len(first.X) == round(first.level * 200)
    assert first.x1[0] < first.X[:, 0].min() < first.X[:, 0].max() < first.x1[-1]
    charts = moons.charts()["planes"]
    assert len(charts) == 12
    assert charts[0].title.startswith("figure 5a: aleatoric by Gaussian logits")
    assert [text for _, text in charts[0].x.ticks] == ["2%", "10%", "25%", "100%"]
    assert charts[0].numbers["mean"] == [
        pytest.approx(p.mean("aleatoric").mean()) for p in planes_of(moons)[:4]
    ]
    assert "<image" in charts[0].svg()
    charts[0].plot()
    assert {row.printed for row in moons.select(source="table 2")} == {""}
    assert "paper" not in [mark.label for mark in moons.charts()["errors"][0].marks]


def test_a_plane_is_of_the_networks_that_learned_its_samples(points):
    (found,) = planes_of(points["triangle"])
    assert found.aleatoric.min() >= 0
    assert found.aleatoric.max() <= np.log(2) + 1e-9
    beyond = found.x1 > found.X[:, 0].max()
    by_hand = [found.epistemic[r][:, beyond].mean() for r in range(2)]
    np.testing.assert_allclose(found.mean("epistemic", "right"), by_hand)
    np.testing.assert_allclose(found.mean("epistemic"), found.epistemic.mean(axis=(1, 2)))


def test_a_killed_study_goes_on_with_the_same_numbers(tmp_path):
    options = {"methods": "deep-ensemble", "decompositions": "information"}
    first = run("wine", checkpoint=tmp_path / "run", **options)
    again = run("wine", checkpoint=tmp_path / "run", **options)
    plain = run("wine", **options)
    assert first.rows == again.rows
    frames = [study.details["deep-ensemble, information"].to_frame() for study in (first, plain)]
    np.testing.assert_allclose(frames[0]["score"], frames[1]["score"])
    for seed in (None, True):
        with pytest.raises(OptionError, match="checkpoint needs random_state to be an integer"):
            run("wine", checkpoint=tmp_path, random_state=seed)
    (tmp_path / "file").touch()
    with pytest.raises(OptionError, match="is a file; name a folder"):
        run("wine", checkpoint=tmp_path / "file")


def test_a_table_file(tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 30)
    lines = [
        f"{value},1,{label}"
        for value, label in zip(rng.normal(size=60) + (y == "b"), y, strict=True)
    ]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(["x,constant,kind", *lines]))
    study = run(
        path, target="kind", methods="deep-ensemble", decompositions=["information", "variance"]
    )
    assert (study.dataset, study.title) == ("mine", "mine.csv: kind")
    assert not any(name.startswith("detection") for name in study.details)
    assert study.details["deep-ensemble, variance"].decompositions[:2] == (
        "information",
        "variance",
    )
    with pytest.raises(OptionError, match=r"target must name the column of mine.csv"):
        run(path)
    with pytest.raises(
        OptionError, match=r"'x' of mine.csv holds numbers, but this study needs classes"
    ):
        run(path, target="x")
    path.write_text("x,kind\n1,a\n2,a\n3,b\n")
    with pytest.raises(OptionError, match="at least two classes, each with at least two samples"):
        run(path, target="kind")


def test_images_in_little_time_and_in_full(monkeypatch):
    monkeypatch.setattr("caveat.datasets.load_fashion_mnist", images)
    monkeypatch.setattr("caveat.datasets.load_cifar10", lambda: images(3, 32, each=4, held=2))
    monkeypatch.setattr(disentanglement, "IMAGES", {"quick": (40, 30), "paper": (None, None)})
    tiny = Protocol(sizes=(0.3, 1), noise=(0, 1), repeats=1)
    short = {"epochs": 1, "passes": 2, "members": 2, "batch_size": 64}
    study = run(
        "fashion-mnist", methods="mc-dropout", decompositions="information", protocol=tiny,
        settings=short, dropout_rates=0.5,
    )  # fmt: skip
    result = study.details["mc-dropout, information"]
    assert (result.samples, result.test_samples, study.repeats) == (40, 30, 1)
    assert any(note.startswith("quick: few images") for note in study.notes)
    assert list(study.charts()) == ["errors", "sweeps", "terms", "rates"]
    assert np.isnan(study.select(source="table 2")[0].spread)
    assert study.details["rate 0.5"].curve("size").score.shape == (1, 2)
    study = run(
        "cifar10", methods="deep-ensemble", decompositions="information", protocol=tiny,
        settings=short, scale="paper", dropout_rates=[],
    )  # fmt: skip
    assert study.details["deep-ensemble, information"].samples == 40
    assert {row.source for row in study} >= {"table 4"}
    assert study.details["detection, deep-ensemble, information, "].test_samples == 20


def task(dataset, scale="quick", repeats=None):
    options = {option.name: option.default for option in STUDY.options}
    return Task(dataset, scale, repeats, np.random.default_rng(0), options=options)


def test_models_are_the_published_ones():
    samples = disentanglement.take_samples(task("wine"))
    model = disentanglement.model_of(samples, "flipout", "gaussian-logits", task("wine"))
    assert (model.epochs, model.hidden, model.batch_size, model.head) == (
        500,
        (32, 32, 16),
        128,
        "gaussian-logits",
    )
    assert model.standardize is False
    np.testing.assert_allclose(samples.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(samples.X.std(axis=0), 1)
    assert disentanglement.protocol_of(samples, task("wine")) == Protocol()
    assert disentanglement.protocol_of(samples, task("wine", repeats=2)).repeats == 2
    few = TrainTest("few", "", np.zeros((20, 1)), np.arange(20) % 2, (None, None))
    assert disentanglement.protocol_of(few, task("few")).sizes == (0.1, 0.25, 0.5, 0.75, 1)


def test_images_are_published_networks_for_less_time(monkeypatch):
    monkeypatch.setattr("caveat.datasets.load_fashion_mnist", images)
    quick, full = task("fashion-mnist"), task("fashion-mnist", "paper")
    samples = disentanglement.take_samples(quick)
    assert disentanglement.protocol_of(samples, quick) == disentanglement._QUICK_IMAGES
    # One and five percent of 120 images are both one of each class.
    assert disentanglement.protocol_of(samples, full).sizes == (0.05, 0.1, 0.25, 0.5, 0.75, 1)
    short, long = (
        disentanglement.model_of(samples, "deep-ensemble", "softmax", asked)
        for asked in (quick, full)
    )
    assert (short.members, short.epochs, long.members, long.epochs) == (3, 5, 10, 100)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"dataset": "iris"},
            r"dataset must be one of wine, two-moons, .*, or a table file; got 'iris'",
        ),
        ({"dataset": 3}, r"dataset must be one of .*; got '3'"),
        ({"scale": "huge"}, "scale must be one of 'quick', 'paper'; got 'huge'"),
        ({"methods": "map"}, "methods must be some of mc-dropout, .*; got 'map'"),
        ({"methods": []}, "methods must be some of mc-dropout, .*; got none"),
        ({"decompositions": []}, "decompositions is empty"),
        (
            {"decompositions": "total_variance"},
            "'total_variance' is for numbers, but y has classes",
        ),
        ({"target": "kind"}, "target is for a table file; wine has its own classes"),
        ({"dropout_rates": [1.5]}, "dropout_rates"),
        (
            {"settings": {"passes": 3, "epoch": 2}},
            "no method has the setting 'epoch'; did you mean 'epochs'[?] known are .*, epochs, .*",
        ),
        ({"settings": {"xyz": 2}}, "no method has the setting 'xyz'; known are "),
        (
            {"dataset": "two-moons", "detection": True},
            "detection leaves classes out and needs three; two-moons has 2",
        ),
        ({"confidence": 2}, "confidence"),
    ],
)
def test_errors_come_before_any_training(options, message, monkeypatch):
    monkeypatch.setattr("caveat.studies.disentanglement.disentanglement_error", None)
    with pytest.raises(OptionError, match=message):
        run(**{"dataset": "wine", **options})


def test_an_unknown_split_is_named():
    with pytest.raises(UnknownNameError, match="entropy"):
        run("wine", decompositions="entropy")
