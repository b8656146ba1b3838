"""A file is read only if what it holds can predict."""

import json
from functools import partial

import numpy as np
import pytest

from caveat import load
from caveat.estimators import (
    BayesByBackpropClassifier,
    DeepEnsembleClassifier,
    EnsembleClassifier,
    FlipoutRegressor,
    MAPClassifier,
    save,
)
from caveat.exceptions import FileFormatError, OptionError

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")
from caveat.nn.layers import GaussianPrior, Prior, ScaleMixturePrior  # noqa: E402

X = np.random.default_rng(0).normal(size=(60, 3))
LABELS = np.array(["a", "b", "c"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)]
SMALL = {"hidden": (4,), "epochs": 2, "random_state": 0}


def net(width=5, outputs=3, layers=(torch.nn.Linear, torch.nn.Tanh)):
    line, bend = layers
    return torch.nn.Sequential(line(3, width), bend(), line(width, outputs))


class Renamed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.only = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.only(x)


def rewrite(path, change):
    """Change header and tensors of a file in place."""
    with safetensors.safe_open(path, framework="pt") as file:
        header = json.loads(file.metadata()["caveat"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    change(header, tensors)
    safetensors.save_file(tensors, path, metadata={"caveat": json.dumps(header)})


@pytest.fixture
def written(tmp_path):
    MAPClassifier(**SMALL).fit(X, LABELS).save(tmp_path / "model")
    return tmp_path / "model"


def key_of(header, name):
    """Return under which key a file keeps a weight."""
    pairs = header["model"]["learned"]["state_"]["dict"]
    return next(value["tensor"] for key, value in pairs if key == name)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (partial(net, 6), r"0\.0\.weight has shape \(5, 3\) in the file and \(6, 3\) in the net"),
        (partial(net, 5, 4), r"0\.2\.weight has shape \(3, 5\) in the file and \(4, 5\) in the"),
        (Renamed, r"0\.0\.bias is in the file alone"),
        (
            lambda: torch.nn.Sequential(net(), torch.nn.Linear(3, 3)),
            r"0\.0\.0\.bias is in the network",
        ),
    ],
)
def test_another_module_than_the_one_that_was_saved(module, message, tmp_path):
    MAPClassifier(module=net, epochs=2, random_state=0).fit(X, LABELS).save(tmp_path / "model")
    text = rf"module is not the network whose weights are in .*model: .*{message}"
    with pytest.raises(OptionError, match=text):
        load(tmp_path / "model", module=module)
    with pytest.raises(OptionError, match=r"module must be a torch\.nn\.Module"):
        load(tmp_path / "model", module=7)
    # Weights alone are compared: what has none may be another.
    other = partial(net, layers=(torch.nn.Linear, torch.nn.ReLU))
    assert load(tmp_path / "model", module=other).predict(X).shape == (60,)


def test_another_module_for_an_ensemble(tmp_path):
    base = MAPClassifier(module=net, epochs=2)
    model = EnsembleClassifier(base, members=2, random_state=0).fit(X, LABELS)
    model.save(tmp_path / "model")
    assert load(tmp_path / "model", module=net).predict(X).tolist() == model.predict(X).tolist()
    with pytest.raises(OptionError, match="module is not the network"):
        load(tmp_path / "model", module=Renamed)


def test_a_weight_of_another_shape(written):
    def widen(header, tensors):
        key = key_of(header, "1.0.weight")
        tensors[key] = torch.cat([tensors[key], tensors[key]], dim=1)

    rewrite(written, widen)
    text = r"weights of another network: 1\.0\.weight has shape \(8, 3\) in the file and \(4, 3\)"
    with pytest.raises(FileFormatError, match=text):
        load(written)


def test_a_weight_that_is_missing(written):
    rewrite(written, lambda header, _: header["model"]["learned"]["state_"]["dict"].pop())
    with pytest.raises(FileFormatError, match=r"another network: .* is in the network alone"):
        load(written)


@pytest.mark.parametrize(
    ("count", "message"),
    [(1, r"the numbers of members are \[1, 2\], and must be one"), (0, r"\[0, 2\]")],
)
def test_members_that_are_not_alike(count, message, tmp_path):
    DeepEnsembleClassifier(members=2, **SMALL).fit(X, LABELS).save(tmp_path / "model")

    def lose(header, tensors):
        key = key_of(header, "1.0.weight")
        tensors[key] = tensors[key][:count].clone()

    rewrite(tmp_path / "model", lose)
    with pytest.raises(FileFormatError, match=message):
        load(tmp_path / "model")


def test_models_that_were_not_fitted(written, tmp_path):
    rewrite(written, lambda header, _: header["model"].update(learned={}))
    with pytest.raises(FileFormatError, match="model holds a model that was not fitted"):
        load(written)
    ensemble = EnsembleClassifier(MAPClassifier(**SMALL), members=2).fit(X, LABELS)
    for parts in ({"list": []}, {"list": [1, 2]}, 5, {"tuple": []}):
        ensemble.save(written)
        rewrite(written, lambda h, _, p=parts: h["model"]["learned"].update(estimators_=p))
        with pytest.raises(FileFormatError, match="model holds a model that was not fitted"):
            load(written)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: header["model"]["learned"].pop("classes_"), "cannot be read: .*classes_"),
        (lambda header: header["model"]["learned"].update(state_=3), "cannot be read: .*items"),
        (lambda header: header["model"]["settings"].update(hidden="x"), "cannot be read: hidden"),
        (lambda header: header["model"].update(settings=[1]), "settings and what was learned must"),
        (lambda header: header["model"].update(learned=[1]), "settings and what was learned must"),
        (lambda header: header.update(version=0), "model: there is no version 0 of the format"),
        (lambda header: header.update(version=-1), "there is no version -1 of the format"),
    ],
)
def test_contents_that_no_model_has(change, message, written):
    rewrite(written, lambda header, _: change(header))
    with pytest.raises(FileFormatError, match=message):
        load(written)


@pytest.mark.parametrize(
    "prior",
    [
        GaussianPrior(2.0),
        GaussianPrior(np.float32(0.1)),
        ScaleMixturePrior(0.25, 3.0, 0.5),
        0.7,
        (0.5, 5.0, 2.0),
        np.float32(0.7),
        np.array([0.5, 5.0, 2.0]),
    ],
)
def test_priors_are_saved(prior, tmp_path):
    model = BayesByBackpropClassifier(prior=prior, passes=3, **SMALL).fit(X, LABELS)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert type(again.prior) is type(prior)
    assert np.array_equal(again.prior, prior)
    assert again.predict_distribution(X) == model.predict_distribution(X)


def test_priors_that_no_file_holds(tmp_path):
    class Own(Prior):
        def log_density(self, weight):
            return -weight.abs()

    model = BayesByBackpropClassifier(prior=Own(), passes=3, **SMALL).fit(X, LABELS)
    with pytest.raises(OptionError, match=r"model\.prior holds a Own, which a file cannot"):
        save(model, tmp_path / "model")
    model = FlipoutRegressor(prior=GaussianPrior(2.0), passes=3, **SMALL).fit(X, X[:, 0])
    for prior, message in (
        ({"prior": "GaussianPrior", "numbers": {"std": -1.0}}, "std must be a number above 0"),
        ({"prior": "Popen", "numbers": {}}, "cannot be read: 'Popen'"),
        ({"prior": "GaussianPrior", "numbers": [1]}, "cannot be read"),
        ({"prior": "GaussianPrior", "numbers": {"no": 1}}, "cannot be read: .*unexpected keyword"),
    ):
        model.save(tmp_path / "model")
        rewrite(tmp_path / "model", lambda h, _, p=prior: h["model"]["settings"].update(prior=p))
        with pytest.raises(FileFormatError, match=message):
            load(tmp_path / "model")


def test_reading_leaves_the_generator_of_torch_as_it_was(written):
    before = torch.random.get_rng_state()
    load(written)
    assert torch.equal(before, torch.random.get_rng_state())
