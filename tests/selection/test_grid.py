"""The grid: each technique is what it is called, and base models are trained once."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

import caveat
from caveat.exceptions import InvalidValueError, LabelError, OptionError, ShapeError
from caveat.selection import Technique, technique_grid, techniques_for
from caveat.signals import QualityIndex, Signals, make_af_ppg, split_subjects

LEVELS = [0.0228, 0.1587, 0.5, 0.8413, 0.9772]
SIGMA = {"1σ": 0.6827, "2σ": 0.9545}


class Told(BaseEstimator):
    """A model that knows a formula; it counts how often it is fitted."""

    fits = 0

    def __init__(self, kind="gaussian", scale=1.0):
        self.kind = kind
        self.scale = scale

    def fit(self, X, y, *, validation=None):
        Told.fits += 1
        self.validation_ = validation
        return self

    def predict_distribution(self, X):
        mean = X[:, 0]
        if self.kind == "gaussian":
            return caveat.Gaussian(mean, np.full(len(X), 0.25 * self.scale))
        if self.kind == "point":
            return caveat.Interval(mean, mean, coverage=0.5)
        levels = [0.2, 0.5] if self.kind == "lopsided" else LEVELS
        if self.kind == "ninety":
            levels = [0.05, 0.95]
        from scipy.stats import norm

        return caveat.Quantiles(levels, mean[:, None] + 0.5 * norm.ppf(levels) + 0.1)


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 2))
    y = X[:, 0] + rng.normal(size=900)
    rows = {
        "train": slice(0, 300),
        "validation": slice(0, 50),
        "calibration": slice(300, 600),
        "test": slice(600, 900),
    }
    return {name: (X[part], y[part]) for name, part in rows.items()}


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(450, 3))
    y = (X[:, 0] + rng.normal(size=450) > 0).astype(int)
    rows = {"train": slice(0, 150), "calibration": slice(150, 300), "test": slice(300, 450)}
    return {name: (X[part], y[part]) for name, part in rows.items()}


def test_gaussians_and_quantiles_become_the_techniques_of_their_names(numbers):
    models = {"MAP": Told(), "QR": Told("quantiles")}
    grid = technique_grid(models, numbers, random_state=0)
    assert list(grid.predictions) == [
        "MAP", "MAP+TS", "MAP+IR", "CMAP 1σ", "CMAP 2σ",
        "QR 1σ", "QR 1σ+TS", "QR 1σ+IR", "CQR 1σ", "QR 2σ", "QR 2σ+TS", "QR 2σ+IR", "CQR 2σ",
    ]  # fmt: skip
    X, y = numbers["calibration"]
    tested = numbers["test"][0]
    gaussian, quantiles = Told(), Told("quantiles")
    said, at = gaussian.predict_distribution(X), gaussian.predict_distribution(tested)
    expected = {
        "MAP": at,
        "MAP+TS": caveat.VarianceScaling().fit(said, y).transform(at),
        "MAP+IR": caveat.IsotonicDistribution().fit(said, y).transform(at),
    }
    q, q_at = quantiles.predict_distribution(X), quantiles.predict_distribution(tested)
    for sigma, level in SIGMA.items():
        expected[f"CMAP {sigma}"] = (
            caveat.ConformalQuantiles(level).fit(said, y).transform(at).to_gaussian()
        )
        level = round(level - 1e-4, 4)  # of the quantiles, rounded to four digits
        own, own_at = q.to_gaussian(level), q_at.to_gaussian(level)
        expected[f"QR {sigma}"] = own_at
        expected[f"QR {sigma}+TS"] = caveat.VarianceScaling().fit(own, y).transform(own_at)
        expected[f"QR {sigma}+IR"] = caveat.IsotonicDistribution().fit(own, y).transform(own_at)
        expected[f"CQR {sigma}"] = (
            caveat.ConformalQuantiles(level).fit(q, y).transform(q_at).to_gaussian()
        )
    for name, prediction in expected.items():
        for got, wanted in zip(grid.predictions[name].moments(), prediction.moments(), strict=True):
            np.testing.assert_allclose(got, wanted, err_msg=name)
    # The model is half as wide as the truth: every repair of the variance widens it by about 2.
    widths = {name: float(np.sqrt(p.moments()[1]).mean()) for name, p in grid.predictions.items()}
    assert widths["MAP"] == pytest.approx(0.5)
    for name in ("MAP+TS", "MAP+IR", "CMAP 1σ", "CMAP 2σ", "QR 1σ+TS", "CQR 2σ"):
        assert widths[name] == pytest.approx(1.0, abs=0.15), name
    assert grid.recommend("global").technique not in ("MAP", "QR 1σ", "QR 2σ")
    assert isinstance(grid.bases["QR"], caveat.Quantiles)
    assert len(grid.to_frame()) == len(grid.comparison.rows)


def test_classes_become_the_techniques_of_their_names(classes):
    models = {"LR": LogisticRegression(), "NB": GaussianNB()}
    grid = technique_grid(models, classes, resamples=100, random_state=0)
    X, y = classes["calibration"]
    tested = classes["test"][0]
    model = LogisticRegression().fit(*classes["train"])
    said, at = caveat.from_model(model, X), caveat.from_model(model, tested)
    expected = {
        "LR": at,
        "LR+TS": caveat.TemperatureScaling().fit(said, y).transform(at),
        "LR+IR": caveat.IsotonicCalibration().fit(said, y).transform(at),
        "LR+Venn-ABERS": caveat.VennAbers().fit(said, y).transform(at).to_categorical(),
        "LR+spline": caveat.SplineCalibration().fit(said, y).transform(at),
    }
    assert [name for name in grid.predictions if name.startswith("LR")] == list(expected)
    for name, prediction in expected.items():
        np.testing.assert_allclose(grid.predictions[name].mean, prediction.mean, err_msg=name)
    assert set(grid.recommendations()) == {"global", "local", "adaptive"}
    assert repr(grid) == "TechniqueGrid: 10 techniques of 2 models, 150 test samples"
    assert {"fit LR", "fit NB", "LR+TS"} <= set(grid.seconds)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"cluster": [1, 2]}, ShapeError, "cluster must be one value for each of 300 samples"),
        ({"groups": [1, 2]}, ShapeError, "must be one value for each of 300 samples"),
    ],
)
def test_what_the_comparison_needs_is_checked_before_training(numbers, options, error, message):
    Told.fits = 0
    with pytest.raises(error, match=message):
        technique_grid({"MAP": Told(), "QR": Told("quantiles")}, numbers, **options)
    assert Told.fits == 0


@pytest.mark.parametrize("part", ["calibration", "test"])
def test_missing_truths_are_named_with_their_part_before_training(numbers, part):
    Told.fits = 0
    X, y = numbers[part]
    spoiled = np.stack([y, np.where(np.arange(300) == 9, np.nan, y)], axis=1)
    with pytest.raises(InvalidValueError, match=f"^{part} y of sample 9 is missing; leave such"):
        technique_grid({"MAP": Told()}, {**numbers, part: (X, spoiled)})
    with pytest.raises(ShapeError, match=f"data.'{part}'. has 300 samples and 299 labels"):
        technique_grid({"MAP": Told()}, {**numbers, part: (X, y[1:])})
    assert Told.fits == 0


@pytest.mark.parametrize("part", ["calibration", "test"])
@pytest.mark.parametrize("names", [np.array([0, 1, 2]), np.array(["a", "b", "c"], dtype=object)])
def test_unknown_labels_are_named_with_their_part_before_training(classes, part, names):
    class Unused(LogisticRegression):
        def fit(self, X, y):
            raise AssertionError

    data = {name: (X, names[y]) for name, (X, y) in classes.items()}
    data[part][1][7] = names[2]
    with pytest.raises(
        LabelError, match=f"^{part} y of sample 7 is {names.tolist()[2]!r}, but the classes"
    ):
        technique_grid({"LR": Unused()}, data)


def test_labels_as_objects_are_those_of_their_type(classes):
    objects = {name: (X, y.astype(object)) for name, (X, y) in classes.items()}
    made, expected = (
        technique_grid({"LR": LogisticRegression()}, data, random_state=0)
        for data in (objects, classes)
    )
    for name, one in made.predictions.items():
        assert one.classes.tolist() == [0, 1]
        np.testing.assert_allclose(one.mean, expected.predictions[name].mean)


def test_a_class_that_calibration_lacks_is_an_error_before_training(classes):
    class Unused(LogisticRegression):
        def fit(self, X, y):
            raise AssertionError

    X, y = classes["calibration"]
    data = {**classes, "calibration": (X[y == 0], y[y == 0])}
    with pytest.raises(LabelError, match="class 1 is in train y and missing from calibration y"):
        technique_grid({"LR": Unused()}, data)


def test_techniques_that_need_more_calibration_samples_say_so(classes, numbers):
    def fewer(data, count):
        X, y = data["calibration"]
        rows = np.argsort(np.abs(X[:, 0]))[:count]
        return {**data, "calibration": (X[rows], y[rows])}

    two = {"LR": LogisticRegression(), "NB": GaussianNB()}
    grid = technique_grid(two, fewer(classes, 9), resamples=100, random_state=0)
    assert list(grid.predictions) == ["LR", "NB"]
    words = "a recalibration needs at least 10 calibration samples; got 9"
    assert set(grid.failed.values()) == {words}
    with pytest.raises(OptionError, match=r"at least two techniques; got 1\. LR\+TS: a recal"):
        technique_grid({"LR": LogisticRegression()}, fewer(classes, 9))
    grid = technique_grid({"MAP": Told()}, fewer(numbers, 12), resamples=100, random_state=0)
    assert list(grid.failed) == ["CMAP 2σ"]
    assert grid.failed["CMAP 2σ"] == (
        "too few for finite intervals: 12 calibration samples, at least 21 are needed"
    )


def test_noise_in_logits_is_averaged_out():
    logits = caveat.GaussianLogits([[2.0, 0.0]], [[1.0, 1.0]])
    made = Technique("x").apply(logits, [0], logits)
    np.testing.assert_allclose(made.mean, logits.to_categorical().mean)
    assert list(techniques_for({"x": logits})) == ["x", "x+TS", "x+IR", "x+Venn-ABERS", "x+spline"]


def test_models_are_trained_once_and_kept_by_content(numbers, tmp_path):
    models = {"MAP": Told(), "QR": Told("quantiles")}
    Told.fits = 0
    first = technique_grid(models, numbers, cache=tmp_path / "grid", progress=True)
    assert Told.fits == 2
    again = technique_grid(models, numbers, cache=tmp_path / "grid")
    assert Told.fits == 2
    for name, prediction in first.predictions.items():
        np.testing.assert_array_equal(again.predictions[name].moments()[1], prediction.moments()[1])
    assert again.seconds["fit MAP"] == 0.0
    # Another setting, another name or other data are another model; the one that is known is not trained.
    technique_grid({"MAP": Told(scale=2.0), "QR": models["QR"]}, numbers, cache=tmp_path / "grid")
    assert Told.fits == 3
    other = {**numbers, "train": (numbers["train"][0] + 1, numbers["train"][1])}
    technique_grid(models, other, cache=tmp_path / "grid")
    assert Told.fits == 5
    # A run that was stopped in between goes on with what is missing.
    next((tmp_path / "grid").glob("*/test.npz")).unlink()
    technique_grid(models, numbers, cache=tmp_path / "grid")
    technique_grid(models, other, cache=tmp_path / "grid")
    technique_grid({"MAP": Told(scale=2.0), "QR": models["QR"]}, numbers, cache=tmp_path / "grid")
    assert Told.fits == 6


def test_signals_go_through_it_and_their_rate_is_part_of_the_content(tmp_path):
    signals = make_af_ppg(subjects=20, segments=6, random_state=0)
    split = split_subjects(signals, sizes=(0.4, 0.1, 0.25, 0.25), random_state=0)
    models = {"LR": make_pipeline(QualityIndex(), LogisticRegression())}
    for rate in (32, 100):
        own = Signals(signals.X, rate, y=signals.y)
        options = {"cache": tmp_path, "metrics": ["nll"], "resamples": 0, "time_repeats": 1}
        grid = technique_grid(models, split.parts(own, own.y), **options)
        fitted = models["LR"].fit(own.take(split.train), own.y[split.train])
        np.testing.assert_allclose(
            grid.bases["LR"].mean, fitted.predict_proba(own.take(split.test))
        )


def test_validation_samples_reach_models_that_take_them(numbers):
    seen = []

    class Watching(Told):
        def fit(self, X, y, *, validation=None):
            seen.append(validation)
            return super().fit(X, y)

    technique_grid({"MAP": Watching()}, numbers)
    assert len(seen[0][0]) == 50


def test_a_technique_that_fails_is_named(classes):
    class Certain(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            return self

        def predict_distribution(self, X):
            return caveat.Categorical(np.tile([0.3, 0.7], (len(X), 1)), classes=[0, 1])

    own = {
        "as it is": Technique("C"),
        "again": Technique("C", caveat.TemperatureScaling()),
        "numbers": Technique("C", caveat.VarianceScaling()),
    }
    grid = technique_grid({"C": Certain()}, classes, techniques=own)
    assert list(grid.predictions) == ["as it is", "again"]
    assert "VarianceScaling" in grid.failed["numbers"]
    assert ", 1 failed, " in repr(grid)
    with pytest.raises(OptionError, match="at least two techniques; got 1"):
        technique_grid(
            {"C": Certain()}, classes, techniques={"a": own["as it is"], "b": own["numbers"]}
        )


def test_other_levels_are_called_by_their_coverage(numbers):
    assert list(techniques_for({"QR": Told("ninety").predict_distribution(numbers["test"][0])})) == [
        "QR 0.9", "QR 0.9+TS", "QR 0.9+IR", "CQR 0.9",
    ]  # fmt: skip
    with pytest.raises(OptionError, match="without a central interval"):
        techniques_for({"QR": Told("lopsided").predict_distribution(numbers["test"][0])})
    with pytest.raises(OptionError, match="gives a Interval; a grid takes"):
        techniques_for({"P": Told("point").predict_distribution(numbers["test"][0])})


@pytest.mark.parametrize(
    ("models", "change", "message"),
    [
        ({}, {}, "models must be a dict"),
        ({"a": Told()}, None, "data must be a dict"),
        ({"a": Told()}, {"trian": (1, 2)}, "data has a part 'trian'"),
        ({"a": Told()}, {"test": 3}, r"data\['test'\] must be a pair"),
    ],
)
def test_what_is_no_grid(numbers, models, change, message):
    data = change if change is None else {**numbers, **change}
    with pytest.raises(OptionError, match=message):
        technique_grid(models, data)


def test_more_that_is_no_grid(numbers, tmp_path):
    with pytest.raises(OptionError, match="data lacks 'calibration'"):
        technique_grid({"a": Told()}, {"train": numbers["train"], "test": numbers["test"]})
    with pytest.raises(OptionError, match="is of the base model 'b'; there are"):
        technique_grid({"a": Told()}, numbers, techniques={"x": Technique("b")})
    (tmp_path / "file").touch()
    with pytest.raises(OptionError, match="is a file; name a folder"):
        technique_grid({"a": Told()}, numbers, cache=tmp_path / "file")
    with pytest.raises(OptionError, match="cannot be told from others by its settings"):
        technique_grid({"a": Told(kind=lambda: 0)}, numbers, cache=tmp_path / "grid")


def test_networks_go_through_it(classes):
    small = {"hidden": 8, "epochs": 3, "random_state": 0}
    models = {"MAP": caveat.MAPClassifier(head="gaussian-logits", **small)}
    grid = technique_grid(models, classes, metrics=["nll"], resamples=100, random_state=0)
    assert len(grid.predictions) == 5
