"""The disentanglement study from start to end, on little data and few runs."""

import html
import json
import re
from dataclasses import replace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from caveat.exceptions import OptionError, UnknownNameError
from caveat.experiments import Protocol
from caveat.studies import DisentanglementStudy, run_disentanglement_study
from caveat.studies import _disentanglement_data as data
from caveat.studies import _disentanglement_pictures as pictures
from caveat.studies._disentanglement_plots import _curve, kinds_of

from .disentanglements import SMALL, TINY, images

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def run(dataset, **options):
    given = {"random_state": 0, "protocol": TINY, "settings": SMALL, **options}
    return run_disentanglement_study(dataset, **given)


@pytest.fixture(scope="module")
def wine(tmp_path_factory):
    return run("wine", methods=["deep-ensemble", "mc-dropout"], dropout_rates=(0.5, 0.2))


@pytest.fixture(scope="module")
def points():
    patch = pytest.MonkeyPatch()
    patch.setattr(pictures, "_SIDE", {"quick": 6})
    patch.setattr(pictures, "_SIZES", (0.1, 1.0))
    try:
        only = {"methods": "deep-ensemble", "decompositions": "information"}
        return {name: run(name, **only) for name in data.POINTS}
    finally:
        patch.undo()


def test_every_table_and_figure_of_wine_is_there(wine):
    assert isinstance(wine, DisentanglementStudy)
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
    assert wine.differences == []


def test_methods_learn_the_same_samples_and_splits_share_their_trainings(wine):
    ensemble = wine.sweep("deep-ensemble", "information")
    assert ensemble.decompositions == ("information", "bias_variance", "pairwise_kl")
    assert wine.sweep("mc-dropout", "information").decompositions == ("information",)
    assert ensemble.cost.trainings == 2 * TINY.conditions
    assert (ensemble.samples, ensemble.test_samples) == (142, 36)
    with pytest.raises(
        OptionError, match=r"no 'variance' of 'flipout'; it has .*mc-dropout, information"
    ):
        wine.sweep("flipout", "variance")


def test_text_and_files_of_the_study(wine, tmp_path):
    text = repr(wine)
    assert "table 2: the error (UDE) by method and split" in text
    assert "rho(u_a, U_e)" in text
    assert "C1 aleatoric consistency" in text
    assert re.search(r"note: Table 3 is of ImageNet-1k", text)
    assert "nan" not in text
    assert "pairwise KL as printed" in wine._repr_html_()
    found = json.loads(wine.to_json())
    assert (found["dataset"], found["repeats"]) == ("wine", 2)
    assert [sweep["method"] for sweep in found["sweeps"]] == ["deep-ensemble"] * 2 + [
        "mc-dropout"
    ] * 2
    assert len(found["rows"]) == len(wine)
    page = wine.report(tmp_path / "study.html", title="Wine <again>").read_text(encoding="utf-8")
    assert "Wine &lt;again&gt;" in page
    assert "Deep Ensembles by Gaussian logits" in page
    assert "Every measure on this page" not in page
    assert html.escape(wine.notes[0]) in page
    with pytest.raises(OptionError, match="title must be text; got 3"):
        wine.report(tmp_path / "study.html", title=3)


def test_figures_of_tables(wine):
    assert [kind for kind, _ in kinds_of(wine)] == [
        "errors",
        "size",
        "noise",
        "terms",
        "rates",
        "levels",
    ]
    ax = wine.plot()
    printed = next(line for line in ax.get_lines() if line.get_label().startswith("paper"))
    assert printed.get_xdata().tolist() == [0.524, 0.454, 0.778, 0.645]
    axes = wine.plot("size")
    assert axes.shape == (2, 2)
    assert [tick.get_text() for tick in axes[0, 0].get_xticklabels()] == ["100", "10"]
    curve = wine.sweep("mc-dropout", "information").curve("size")
    drawn = next(line for line in axes[1, 1].get_lines() if line.get_label() == "aleatoric")
    np.testing.assert_allclose(drawn.get_ydata(), curve.aleatoric.mean(axis=0))
    legend = axes[0, 0].figure.legends[0]
    assert [text.get_text() for text in legend.get_texts()] == [
        "aleatoric",
        "epistemic",
        "accuracy",
    ]
    axes[0, 0].figure.canvas.draw()
    place = legend.get_window_extent()
    assert not any(ax.get_window_extent().overlaps(place) for ax in axes[0, 0].figure.axes)
    assert wine.plot("noise")[1, 0].get_xlabel() == "labels permuted, %"
    assert len(wine.plot("terms").get_yticklabels()) == 8
    assert wine.plot("rates").get_xlabel() == "rate of dropout"
    assert wine.plot("levels").get_legend_handles_labels()[1] == [
        "pairwise KL as printed", "information", "bias and variance", "pairwise KL",
    ]  # fmt: skip
    with pytest.raises(OptionError, match=r"kind must be one of errors, size, .*; got 'bars'"):
        wine.plot("bars")
    with pytest.raises(OptionError, match="the study has no pictures"):
        wine.plot("plane")


def test_bands_end_where_accuracy_does(wine):
    curve = wine.sweep("mc-dropout", "information").curve("size")
    high = np.where(np.arange(2)[:, None] == 0, 1.0, 0.7) * np.ones_like(curve.score)
    near = replace(curve, score=high, aleatoric=10 * np.abs(high - 1), epistemic=high)
    _, ax = plt.subplots()
    right = _curve(ax, near)
    drawn = [
        band.get_paths()[0].vertices[:, 1] for axis in (ax, right) for band in axis.collections
    ]
    assert len(drawn) == 3
    assert all(values.min() >= 0 for values in drawn)
    assert drawn[2].max() == 1
    assert drawn[2].min() == pytest.approx(0.85 - 2 * np.std([1, 0.7], ddof=1))


def test_pictures_of_the_plane(points):
    moons, triangle = points["two-moons"], points["triangle"]
    assert [(s.figure, s.decomposition, s.level) for s in triangle.pictures] == [
        ("figure 10", "information", 1.0)
    ]
    assert [one.source for one in triangle.conclusions if one.source == "figure 10"]
    keys = {(s.figure, s.kind, s.schedule) for s in moons.pictures}
    assert keys == {
        ("figure 5a", "size", "inverse-epochs"), ("figure 5b", "noise", "inverse-epochs"),
        ("figure 11", "size", "constant-epochs"),
    }  # fmt: skip
    space = moons.pictures[0]
    assert space.aleatoric.shape == space.epistemic.shape == (2, 6, 6)
    assert len(space.X) == round(space.level * 200)
    assert space.x1[0] < space.X[:, 0].min() < space.X[:, 0].max() < space.x1[-1]
    assert [o for _, o in kinds_of(moons) if o] == [
        {"figure": f} for f in ("figure 5a", "figure 5b", "figure 11")
    ]
    axes = moons.plot("plane")
    assert axes.shape == (4, len({s.level for s in moons.pictures if s.figure == "figure 5a"}))
    assert axes[0, 0].get_title().endswith("% of the samples")
    assert moons.plot("plane", figure="figure 5b")[0, 0].get_title() == "0% of the labels permuted"
    with pytest.raises(OptionError, match="figure must be one of figure 10; got 'figure 5a'"):
        triangle.plot("plane", figure="figure 5a")
    with pytest.raises(OptionError, match="the study has no rates of dropout"):
        moons.plot("rates")
    assert {row.printed for row in moons.select(source="table 2")} == {""}
    assert moons.plot("errors").get_xlim()[0] == 0


def test_a_picture_is_of_the_networks_that_learned_its_samples(points):
    space = points["triangle"].pictures[0]
    assert space.aleatoric.min() >= 0
    assert space.aleatoric.max() <= np.log(2) + 1e-9
    beyond = space.x1 > space.X[:, 0].max()
    by_hand = [space.epistemic[r][:, beyond].mean() for r in range(2)]
    np.testing.assert_allclose(space.side("epistemic", "right"), by_hand)


def test_a_killed_study_goes_on_with_the_same_numbers(tmp_path):
    options = {"methods": "deep-ensemble", "decompositions": "information"}
    first = run("wine", checkpoint=tmp_path / "run", **options)
    again = run("wine", checkpoint=tmp_path / "run", **options)
    plain = run("wine", **options)
    assert first.rows == again.rows
    frames = [study.sweep("deep-ensemble", "information").to_frame() for study in (first, plain)]
    np.testing.assert_allclose(frames[0]["score"], frames[1]["score"])
    with pytest.raises(OptionError, match="checkpoint needs random_state to be an integer"):
        run("wine", checkpoint=tmp_path, random_state=None)
    (tmp_path / "file").touch()
    with pytest.raises(OptionError, match="is a file; name a folder"):
        run("wine", checkpoint=tmp_path / "file")


def test_a_table_of_ones_own(tmp_path):
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
    assert not study.detections
    assert study.sweep("deep-ensemble", "variance").decompositions[:2] == (
        "information",
        "variance",
    )
    with pytest.raises(OptionError, match=r"target must name the column of mine.csv"):
        run(path)
    with pytest.raises(
        OptionError, match=r"'x' of mine.csv holds numbers, and this study is of classes"
    ):
        run(path, target="x")
    path.write_text("x,kind\n1,a\n2,a\n3,b\n")
    with pytest.raises(OptionError, match="two classes at least, each with two samples"):
        run(path, target="kind")


def test_images_in_little_time_and_in_full(monkeypatch):
    monkeypatch.setattr("caveat.datasets.load_fashion_mnist", images)
    monkeypatch.setattr("caveat.datasets.load_cifar10", lambda: images(3, 32, each=4, held=2))
    monkeypatch.setattr(data, "_IMAGES", {"quick": (40, 30), "paper": (None, None)})
    tiny = Protocol(sizes=(0.3, 1), noise=(0, 1), repeats=1)
    short = {"epochs": 1, "passes": 2, "members": 2, "batch_size": 64}
    study = run_disentanglement_study(
        "fashion-mnist", methods="mc-dropout", decompositions="information", protocol=tiny,
        random_state=0, settings=short, dropout_rates=[0.5],
    )  # fmt: skip
    result = study.sweep("mc-dropout", "information")
    assert (result.samples, result.test_samples, study.repeats) == (40, 30, 1)
    assert any(note.startswith("quick: few images") for note in study.notes)
    assert not study.detections
    assert study.plot("size").shape == (1, 1)
    assert study.plot("errors").get_legend_handles_labels()[1][1] == "paper, one spread"
    assert study.plot("rates").get_ylabel() == "error, one standard deviation"
    assert np.isnan(study.select(source="table 2")[0].spread)
    assert study.rates[0.5].curve("size").score.shape == (1, 2)
    study = run_disentanglement_study(
        "cifar10", methods="deep-ensemble", decompositions="information", protocol=tiny,
        random_state=0, settings=short, scale="paper", dropout_rates=[],
    )  # fmt: skip
    assert study.sweep("deep-ensemble", "information").samples == 40
    assert {row.source for row in study} >= {"table 4"}
    assert study.detections["deep-ensemble", "information", ""].test_samples == 20


def test_models_are_the_published_ones():
    rng = np.random.default_rng(0)
    wine = data.take_material("wine", None, "quick", rng)
    model = data.model_of(wine, "flipout", data.LOGITS, "quick", {})
    assert (model.epochs, model.hidden, model.batch_size, model.head) == (
        500,
        (32, 32, 16),
        128,
        "gaussian-logits",
    )
    assert model.standardize is False
    np.testing.assert_allclose(wine.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(wine.X.std(axis=0), 1)
    assert data.protocol_of(wine, "quick", None) == Protocol()
    assert data.protocol_of(wine, "quick", 2).repeats == 2
    few = data.Material("few", "", np.zeros((20, 1)), np.arange(20) % 2, None, None, "wine")
    assert data.protocol_of(few, "quick", None).sizes == (0.1, 0.25, 0.5, 0.75, 1)


def test_images_are_published_networks_for_less_time(monkeypatch):
    monkeypatch.setattr("caveat.datasets.load_fashion_mnist", images)
    pictures = data.take_material("fashion-mnist", None, "quick", np.random.default_rng(0))
    assert data.protocol_of(pictures, "quick", None) == data._QUICK_IMAGES
    # One and five per cent of 120 images are both one of each class.
    assert data.protocol_of(pictures, "paper", None).sizes == (0.05, 0.1, 0.25, 0.5, 0.75, 1)
    quick = data.model_of(pictures, "deep-ensemble", data.SOFTMAX, "quick", {})
    full = data.model_of(pictures, "deep-ensemble", data.SOFTMAX, "paper", {})
    assert (quick.members, quick.epochs, full.members, full.epochs) == (3, 5, 10, 100)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"dataset": "iris"},
            r"dataset must be one of wine, two-moons, .*, or a table file; got 'iris'",
        ),
        ({"scale": "huge"}, "scale must be one of quick, paper; got 'huge'"),
        ({"methods": "map"}, "methods must be some of mc-dropout, .*; got 'map'"),
        ({"methods": []}, "methods is empty"),
        ({"decompositions": []}, "decompositions is empty"),
        (
            {"decompositions": "total_variance"},
            "'total_variance' splits numbers, and y has classes",
        ),
        ({"target": "kind"}, "target is for a file of one's own; wine has its own classes"),
        ({"dropout_rates": [1.5]}, "dropout_rates"),
        (
            {"settings": {"passes": 3, "epoch": 2}},
            "settings: no method has 'epoch'; did you mean 'epochs'[?] known are .*, epochs, .*",
        ),
        ({"settings": {"xyz": 2}}, "settings: no method has 'xyz'; known are "),
        (
            {"dataset": "two-moons", "detection": True},
            "detection leaves classes out, and two-moons has 2; three are needed",
        ),
        ({"confidence": 2}, "confidence"),
    ],
)
def test_errors_come_before_any_training(options, message, monkeypatch):
    monkeypatch.setattr("caveat.studies.disentanglement.sweep", None)
    with pytest.raises(OptionError, match=message):
        run(**{"dataset": "wine", **options})


def test_an_unknown_split_is_named():
    with pytest.raises(UnknownNameError, match="entropy"):
        run("wine", decompositions="entropy")


def test_one_figure_needs_the_ensemble():
    study = run("wine", methods="dropconnect", decompositions="information", detection=False)
    with pytest.raises(OptionError, match="no deep ensemble by information"):
        study.plot("levels")
