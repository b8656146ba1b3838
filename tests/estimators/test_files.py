import json

import numpy as np
import pytest

import caveat
from caveat import estimators, load
from caveat.estimators import (
    EnsembleClassifier,
    EnsembleRegressor,
    MAPClassifier,
    MAPRegressor,
    MCDropoutRegressor,
    NetworkEstimator,
    save,
)
from caveat.exceptions import FileFormatError, OptionError
from caveat.recalibration import RECALIBRATORS

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")

from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.naive_bayes import GaussianNB  # noqa: E402

draw = np.random.default_rng(0)
X = draw.normal(size=(60, 3))
codes = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
SMALL = {"hidden": (4,), "epochs": 3, "random_state": 0}
NETWORKS = [
    name
    for name in estimators.__all__
    if name.endswith(("Classifier", "Regressor"))
    and issubclass(getattr(estimators, name), NetworkEstimator)
]


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_predicts_the_same_after_loading(name, tmp_path):
    kind = getattr(estimators, name)
    settings = {k: v for k, v in {"members": 2, "passes": 3}.items() if k in kind().get_params()}
    model = kind(**SMALL, **settings)
    model.fit(X, codes if name.endswith("Classifier") else X @ [1.0, 2.0, 0.5])
    before = set(vars(model))
    model.save(tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    assert type(again) is kind
    assert again.get_params() == model.get_params()
    assert again.predict_distribution(X) == model.predict_distribution(X)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert set(vars(again)) == before == set(vars(model))
    # Saved again it is the same file.
    save(again, tmp_path / "again.safetensors")
    files = [tmp_path / f"{stem}.safetensors" for stem in ("model", "again")]
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["α", "beta", "c"]),
        np.array(["a", "b", "c"], dtype="<U9"),
        np.array(["a", "b", "c"], dtype=object),
        np.array([-1, 0, 2**40]),
        np.array([1, 2, 3], dtype=np.uint8),
        np.array([0.5, 1.0, 2.0], dtype=np.float32),
        np.array([0.5, 1.0, 2.0], dtype=">f8"),
    ],
    ids=lambda labels: labels.dtype.str,
)
def test_labels_keep_their_type(labels, tmp_path):
    y = labels[codes]
    if y.dtype.kind == "f":
        y = y * 2  # whole numbers, as scikit-learn wants them of classes
    model = MAPClassifier(**SMALL).fit(X, y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.classes_.dtype == model.classes_.dtype.newbyteorder("=")
    assert again.classes_.tolist() == model.classes_.tolist()
    assert type(again.predict(X)[0]) is type(model.predict(X)[0])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_bool_labels_and_names_of_features(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["age", "größe", "c"])
    model = MAPClassifier(**SMALL).fit(frame, codes > 0)
    save(model, str(tmp_path / "model"))
    again = load(str(tmp_path / "model"))
    assert again.classes_.dtype == bool
    assert again.feature_names_in_.tolist() == ["age", "größe", "c"]
    assert again.feature_names_in_.dtype == object
    assert again.n_features_in_ == 3
    assert again.predict_distribution(frame) == model.predict_distribution(frame)


def test_a_file_can_be_written_over_by_what_was_in_it(tmp_path):
    model = MAPRegressor(**SMALL).fit(X, X[:, 0])
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    (tmp_path / "model").write_bytes(b"")
    assert again.predict_distribution(X) == model.predict_distribution(X)
    save(again, tmp_path / "model")
    assert load(tmp_path / "model").predict_distribution(X) == model.predict_distribution(X)
    with pytest.raises(FileNotFoundError):
        save(model, tmp_path / "no folder" / "model")


def test_a_loaded_model_can_be_fitted_and_cloned(tmp_path):
    from sklearn.base import clone

    model = MAPRegressor(**SMALL).fit(X, X[:, 0])
    save(model, tmp_path / "model")
    again = clone(load(tmp_path / "model")).fit(X, X[:, 0])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_settings_keep_their_types(tmp_path):
    model = MAPRegressor(hidden=[np.int64(4)], epochs=np.int32(2), learning_rate=np.float32(0.01))
    model.fit(X, X[:, 0])
    # Not what a user would do, but what a file must be able to hold.
    model.odd_ = {1: (np.inf, -np.inf), "b": [np.nan, None, True], ("t",): np.str_("x")}
    model.empty_ = np.array(["", ""], dtype="<U1"), np.empty((0, 2)), np.array("zero axes")
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.hidden == [4]
    assert type(again.hidden[0]) is np.int64
    assert type(again.epochs) is np.int32
    assert again.learning_rate == np.float32(0.01)
    assert again.odd_[1] == (np.inf, -np.inf)
    assert np.isnan(again.odd_["b"][0])
    assert again.odd_["b"][1:] == [None, True]
    assert type(again.odd_["t",]) is np.str_
    assert again.empty_[0].tolist() == ["", ""]
    assert again.empty_[1].shape == (0, 2)
    assert again.empty_[2].shape == ()
    assert again.empty_[2] == "zero axes"


def recalibrators():
    classes = caveat.Categorical.from_logits(draw.normal(size=(2, 60, 3)))
    gaussian = caveat.Gaussian(draw.normal(size=60), draw.uniform(0.5, 2, size=60))
    quantiles = gaussian.to_quantiles([0.05, 0.15865, 0.5, 0.84135, 0.95])
    for name, entry in RECALIBRATORS.items():
        for prediction, y in ((classes, codes), (gaussian, X[:, 0]), (quantiles, X[:, 0])):
            if isinstance(prediction, entry.takes):
                yield pytest.param(entry.recalibrator(), prediction, y, id=name)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize(("recalibrator", "prediction", "y"), list(recalibrators()))
def test_every_recalibrator(recalibrator, prediction, y, grouped, tmp_path):
    from sklearn.base import clone

    groups = {"groups": np.array(["u", "v"])[np.arange(60) % 2]} if grouped else {}
    recalibrator = clone(recalibrator).fit(prediction, y, **groups)
    model = MAPClassifier(**SMALL).fit(X, codes)
    model.save(tmp_path / "model", recalibrator=recalibrator)
    assert not hasattr(model, "recalibrator_")
    again = load(tmp_path / "model").recalibrator_
    assert type(again) is type(recalibrator)
    assert again.transform(prediction, **groups) == recalibrator.transform(prediction, **groups)


def test_a_recalibrator_stays_when_the_model_is_saved_again(tmp_path):
    model = MAPClassifier(**SMALL).fit(X, codes)
    prediction = model.predict_distribution(X)
    scaling = caveat.TemperatureScaling().fit(prediction, codes)
    save(model, tmp_path / "first", recalibrator=scaling)
    save(load(tmp_path / "first"), tmp_path / "second")
    again = load(tmp_path / "second")
    fixed = again.recalibrator_.transform(again.predict_distribution(X))
    assert fixed == scaling.transform(prediction)


def test_ensembles_of_networks(tmp_path):
    model = EnsembleClassifier(MAPClassifier(**SMALL), members=2, resample=True, random_state=0)
    model.fit(X, codes).save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.predict_distribution(X) == model.predict_distribution(X)
    assert again.estimator.hidden == (4,)


def test_models_of_others_are_refused(tmp_path):
    with pytest.raises(OptionError, match="a RandomForestClassifier cannot be saved: files hold "):
        save(RandomForestClassifier().fit(X, codes), tmp_path / "model")
    with pytest.raises(OptionError, match=r"use skops\.io or joblib"):
        save("model", tmp_path / "model")
    model = EnsembleClassifier(GaussianNB(), members=2, resample=True).fit(X, codes)
    with pytest.raises(OptionError, match=r"model\.estimator: a GaussianNB cannot be saved"):
        model.save(tmp_path / "model")
    network = MAPClassifier(**SMALL)
    with pytest.raises(NotFittedError):
        network.save(tmp_path / "model")
    network.fit(X, codes)
    with pytest.raises(OptionError, match="recalibrator must be one of caveat's, fitted; got a Ga"):
        network.save(tmp_path / "model", recalibrator=GaussianNB())
    with pytest.raises(NotFittedError):
        network.save(tmp_path / "model", recalibrator=caveat.TemperatureScaling())

    class MAPClassifier2(MAPClassifier):
        pass

    with pytest.raises(OptionError, match="a MAPClassifier2 cannot be saved"):
        save(MAPClassifier2(**SMALL).fit(X, codes), tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_what_a_file_cannot_hold_is_named(tmp_path):
    model = MAPClassifier(**{**SMALL, "random_state": np.random.default_rng(0)}).fit(X, codes)
    with pytest.raises(
        OptionError,
        match=r"model\.random_state holds a Generator, which a file cannot; set it to a number",
    ):
        save(model, tmp_path / "model")
    save(model.set_params(random_state=None), tmp_path / "model")
    for odd in ({1, 2}, np.array([1j]), [print], range(3)):
        model.odd_ = odd
        with pytest.raises(OptionError, match=r"model\.odd_(\[0\])? holds a "):
            save(model, tmp_path / "model")


def make_network():
    return torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3))


@pytest.mark.parametrize("module", [make_network, make_network()], ids=["function", "module"])
def test_a_network_of_ones_own_is_given_again(module, tmp_path):
    model = MAPClassifier(module=module, epochs=2, random_state=0).fit(X, codes)
    model.save(tmp_path / "model")
    with pytest.raises(OptionError, match=r"given its own network \(a \w+\).*load\(path, module="):
        load(tmp_path / "model")
    again = load(tmp_path / "model", module=module)
    assert again.module is module
    assert again.predict_distribution(X) == model.predict_distribution(X)
    MAPClassifier(**SMALL).fit(X, codes).save(tmp_path / "plain")
    with pytest.raises(OptionError, match="builds its network itself"):
        load(tmp_path / "plain", module=module)


def test_an_ensemble_of_networks_of_ones_own(tmp_path):
    base = MAPRegressor(module=lambda: torch.nn.Linear(3, 1), head="mean", epochs=2)
    model = EnsembleRegressor(base, members=2, random_state=0).fit(X, X[:, 0])
    model.save(tmp_path / "model")
    again = load(tmp_path / "model", module=base.module)
    assert again.predict_distribution(X) == model.predict_distribution(X)


def test_monte_carlo_passes_are_the_same(tmp_path):
    model = MCDropoutRegressor(passes=7, rate=0.5, **SMALL).fit(X, X[:, 0])
    model.save(tmp_path / "model")
    prediction = load(tmp_path / "model").predict_distribution(X)
    assert prediction.members == 7
    assert prediction == model.predict_distribution(X)


@pytest.fixture
def written(tmp_path):
    MAPClassifier(**SMALL).fit(X, np.array(["a", "b", "c"])[codes]).save(tmp_path / "model")
    return tmp_path / "model"


def rewrite(path, change):
    """Change the header of a file; `change` may return another one."""
    with safetensors.safe_open(path, framework="pt") as file:
        header = json.loads(file.metadata()["caveat"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    header = change(header) or header
    safetensors.save_file(tensors, path, metadata={"caveat": json.dumps(header)})


def test_missing_and_foreign_files(tmp_path, written):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        load(tmp_path / "nothing")
    other = tmp_path / "other"
    other.write_bytes(b"not a file of ours at all, but long enough to look at")
    with pytest.raises(FileFormatError, match="other is damaged, or no file that caveat wrote"):
        load(other)
    other.write_bytes(b"")
    with pytest.raises(FileFormatError, match="other is damaged, or no file that caveat wrote"):
        load(other)
    safetensors.save_file({"a": torch.zeros(2)}, other)
    with pytest.raises(FileFormatError, match="without the header that caveat writes"):
        load(other)
    safetensors.save_file({"a": torch.zeros(2)}, other, metadata={"caveat": "{"})
    with pytest.raises(FileFormatError, match="other cannot be read"):
        load(other)


def test_truncated_files(written):
    content = written.read_bytes()
    for length in (1, 8, 100, len(content) // 2, len(content) - 1):
        written.write_bytes(content[:length])
        with pytest.raises(FileFormatError, match="damaged"):
            load(written)


def test_a_newer_version(written):
    rewrite(written, lambda header: header.update(version=3))
    with pytest.raises(
        FileFormatError,
        match="model: written in version 3 of the format, and this caveat reads up to 2; install a",
    ):
        load(written)


def setting(name, value):
    return lambda header: header["model"]["settings"].update({name: value})


def learned(name, value):
    return lambda header: header["model"]["learned"].update({name: value})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: [1], "does not name a version"),
        (lambda header: {"version": "1"}, "does not name a version"),
        (lambda header: {"version": 1}, "cannot be read: 'model'"),
        (lambda header: header.update(model=3), "holds no model"),
        (lambda header: header["model"].update(object="Popen"), "'Popen', which is no class of ca"),
        (lambda header: header["model"].update(object=["a"]), "cannot be read"),
        (lambda header: header["model"].pop("learned") and None, "cannot be read: 'learned'"),
        (setting("nonsense", 1), "cannot be read: MAPClassifier has no parameter .nonsense"),
        (learned("predict", 1), "'predict' is no name of something learned"),
        (learned("__class__", 1), "'__class__' is no name of something learned"),
        (learned("x y_", 1), "'x y_' is no name of something learned"),
        (learned("odd_", {"pickle": "x"}), "a value of the unknown kind 'pickle'"),
        (learned("odd_", {}), "a value of the unknown kind ''"),
        (learned("odd_", [1]), "a list without a type"),
        (learned("odd_", {"array": "99"}), "cannot be read: '99'"),
        (learned("odd_", {"dict": [[{"list": []}, 1]]}), "cannot be read: unhashable"),
        (learned("odd_", {"objects": [1], "shape": [10**9, 10**9]}), "cannot be read"),
        (learned("odd_", {"float": "high"}), "cannot be read"),
    ],
)
def test_headers_that_are_not_ours(change, message, written):
    rewrite(written, change)
    with pytest.raises(FileFormatError, match=message):
        load(written)


def test_texts_that_are_none(written):
    with safetensors.safe_open(written, framework="pt") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    key = json.loads(metadata["caveat"])["model"]["learned"]["classes_"]["text"]
    for codes_, message in (
        (torch.tensor([[2**30]] * 3, dtype=torch.int32), "something that is no character"),
        (torch.tensor([[-5]] * 3, dtype=torch.int32), "something that is no character"),
        (torch.ones(3, 1), "not stored as characters"),
        (torch.ones((3, 0), dtype=torch.int32), "not stored as characters"),
    ):
        safetensors.save_file({**tensors, key: codes_}, written, metadata=metadata)
        with pytest.raises(FileFormatError, match=message):
            load(written)


def test_deep_nesting_is_no_crash(written):
    with safetensors.safe_open(written, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    deep = '{"version": 1, "model": ' + '{"list": [' * 20_000 + "]}" * 20_000 + "}"
    safetensors.save_file(tensors, written, metadata={"caveat": deep})
    with pytest.raises(FileFormatError, match="cannot be read"):
        load(written)


@pytest.mark.parametrize(
    ("settings", "scaled"),
    [({}, True), ({"module": object()}, False), ({"standardize": False}, False)],
)
def test_settings_of_the_first_version_mean_what_they_meant(settings, scaled):
    from caveat.estimators import MAPRegressor
    from caveat.estimators.files import _as_before

    made = _as_before(MAPRegressor, settings)
    assert made["standardize"] is scaled
    assert made["validation_fraction"] is None
