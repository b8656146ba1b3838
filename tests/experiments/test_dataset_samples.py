"""Samples in a data set of torch give what arrays give, and are never in memory as a whole."""

import weakref
from functools import partial

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import caveat
from caveat.exceptions import LabelError, OptionError, ShapeError
from caveat.experiments import Protocol

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.utils.data import (  # noqa: E402
    DataLoader,
    Dataset,
    IterableDataset,
    TensorDataset,
)

from caveat.experiments import _dataset_samples, _scoring  # noqa: E402

RNG = np.random.default_rng(0)
Y = np.arange(120) % 3
X = (RNG.normal(size=(120, 4)) + np.eye(4)[Y]).astype(np.float32)
TRAIN, TEST = np.arange(80), np.arange(80, 120)
PROTOCOL = Protocol(sizes=(0.25, 1), noise=(0, 0.5, 1), repeats=1)
SETTINGS = {"epochs": 4, "batch_size": 32, "learning_rate": 0.02, "device": "cpu"}


def network(rate=0.2):
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(rate), nn.Linear(8, 3))


ENSEMBLE = caveat.DeepEnsembleClassifier(module=network, members=2, **SETTINGS)
DROPOUT = caveat.MCDropoutClassifier(module=network, passes=4, **SETTINGS)


class Items(Dataset):
    """Pairs that are made when they are asked for; counts how many are alive at a time."""

    def __init__(self, X, y=None):
        self.X, self.y = X, y
        self.alive = self.most = self.read = 0

    def __len__(self):
        return len(self.X)

    def __getitem__(self, row):
        if not 0 <= row < len(self.X):
            raise IndexError(row)
        made = torch.tensor(self.X[row])
        self.read += 1
        self.alive += 1
        self.most = max(self.most, self.alive)
        weakref.finalize(made, self._gone)
        return made if self.y is None else (made, self.y[row])

    def _gone(self):
        self.alive -= 1


def error(model, *data, protocol=PROTOCOL, **options):
    return caveat.disentanglement_error(model, *data, protocol=protocol, random_state=3, **options)


def assert_same(result, expected):
    for curve, other in zip(result.curves, expected.curves, strict=True):
        for name in ("score", "aleatoric", "epistemic", "part_correlation", "samples"):
            np.testing.assert_allclose(getattr(curve, name), getattr(other, name), atol=2e-4)
    # A correlation of few points has rounding errors of its own.
    assert result.error().value == pytest.approx(expected.error().value, abs=2e-3)


@pytest.mark.parametrize("model", [ENSEMBLE, DROPOUT])
@pytest.mark.parametrize("known", [True, False])
def test_a_data_set_gives_what_its_arrays_give(model, known):
    expected = error(model, X[TRAIN], Y[TRAIN], test=(X[TEST], Y[TEST]))
    if known:  # labels come with the samples
        result = error(model, Items(X[TRAIN], Y[TRAIN]), test=Items(X[TEST], Y[TEST]))
    else:
        result = error(model, Items(X[TRAIN]), Y[TRAIN], test=(Items(X[TEST]), Y[TEST]))
    assert_same(result, expected)
    # The samples to learn from are more than those to test on, and only some of them are scored.
    size, other = result.curve("size"), expected.curve("size")
    assert size.train_score[0, 0] == pytest.approx(other.train_score[0, 0])
    assert size.train_score[0, 1] == pytest.approx(other.train_score[0, 1], abs=0.25)


def test_held_out_and_validation_samples_are_rows():
    model = caveat.DeepEnsembleClassifier(
        module=network, members=2, validation_fraction=0.2, **SETTINGS
    )
    names = np.array(["a", "b", "c"])[Y]
    expected = error(model, X, names)
    result = error(model, TensorDataset(torch.tensor(X)), names)
    assert_same(result, expected)
    assert result.notes == expected.notes


def test_numbers():
    y = X[:, 0] + 0.1 * RNG.normal(size=120)

    def make():
        return caveat.nn.MLP(4, 1, hidden=(8,), head="mean-std")

    model = caveat.DeepEnsembleRegressor(module=make, members=2, **SETTINGS)
    assert_same(error(model, Items(X, y)), error(model, X, y))


def test_a_loader_gives_the_batches():
    # With a single batch an epoch and no noise, its order changes nothing.
    settings = {**SETTINGS, "batch_size": 200, "module": partial(network, rate=0.0)}
    model = caveat.DeepEnsembleClassifier(members=2, validation_fraction=0.2, **settings)
    asked = []

    def loader(dataset, shuffle):
        asked.append((len(dataset), shuffle))
        return DataLoader(dataset, batch_size=200 if shuffle else 30, shuffle=shuffle)

    expected = error(model, X[TRAIN], Y[TRAIN], test=(X[TEST], Y[TEST]))
    result = error(model, Items(X[TRAIN], Y[TRAIN]), test=Items(X[TEST], Y[TEST]), loader=loader)
    assert_same(result, expected)
    assert (16, True) in asked
    assert (64, True) in asked
    assert (40, False) in asked
    # A second run shuffles alike.
    model.set_params(batch_size=16)
    both = [
        error(model, Items(X, Y), loader=lambda d, s: DataLoader(d, 16, shuffle=s))
        for _ in range(2)
    ]
    assert_same(*both)


def test_no_more_samples_are_in_memory_than_a_batch(monkeypatch):
    monkeypatch.setattr(_dataset_samples, "BLOCK", 20)
    learn, held = Items(X[TRAIN], Y[TRAIN]), Items(X[TEST], Y[TEST])
    error(DROPOUT, learn, test=held)
    # One more is made while the last of the batch is still there.
    assert learn.most <= SETTINGS["batch_size"] + 1
    assert held.most <= 20 + 1
    assert learn.alive <= 1
    assert held.alive <= 1
    # Labels are read once, then every sample of a condition once an epoch, but for the fill of the
    # last batch (16 of 80 in batches of 32), the tries before the training and the check behind it.
    steps = 4 * 4 * (80 + 16) + 16 * (20 + 12)
    assert learn.read <= 80 + steps + 20 + 40 + 5 * 8


def test_a_stopped_run_goes_on(tmp_path, monkeypatch):
    data = Items(X, Y)
    expected = error(ENSEMBLE, data)
    place, calls = tmp_path / "run", []
    whole = _scoring.Scorer.__call__

    def broken(self, *given):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return whole(self, *given)

    monkeypatch.setattr(_scoring.Scorer, "__call__", broken)
    with pytest.raises(KeyboardInterrupt):
        error(ENSEMBLE, data, checkpoint=place)
    assert len(list((place / "conditions").iterdir())) == 2
    assert_same(error(ENSEMBLE, data, checkpoint=place), expected)
    assert len(calls) == 3 + 3
    with pytest.raises(OptionError, match="belongs to another experiment"):
        error(ENSEMBLE, Items(2 * X, Y), checkpoint=place)


class Shaken(Items):
    """Samples that differ a little each time they are read."""

    def __getitem__(self, row):
        made, label = super().__getitem__(row)
        return made + 1e-4 * torch.randn(4), label


def batches(size, **options):
    return lambda dataset, shuffle: DataLoader(dataset, size, shuffle=shuffle, **options)


def packed(pairs):
    return torch.stack([x for x, _ in pairs]), torch.tensor([label for _, label in pairs])


def test_a_checkpoint_belongs_to_its_data_and_batches(tmp_path):
    short = Protocol(sizes=(0.5, 1), noise=(0, 1), repeats=1)
    data = TensorDataset(torch.tensor(X), torch.tensor(Y))
    later = X.copy()
    later[100:] += 1
    first = error(ENSEMBLE, data, protocol=short, loader=batches(16), checkpoint=tmp_path)
    again = error(
        ENSEMBLE,
        TensorDataset(torch.tensor(X.copy()), torch.tensor(Y)),
        protocol=short,
        loader=batches(16, pin_memory=False, num_workers=0),
        checkpoint=tmp_path,
    )
    assert_same(first, again)
    others = [
        (TensorDataset(torch.tensor(later), torch.tensor(Y)), batches(16)),
        (data, batches(64)),
        (data, batches(16, drop_last=True)),
        (data, batches(16, collate_fn=packed)),
        (data, None),
    ]
    for other, loader in others:
        with pytest.raises(OptionError, match="belongs to another experiment"):
            error(ENSEMBLE, other, protocol=short, loader=loader, checkpoint=tmp_path)


def test_samples_that_change_at_random_are_known_by_their_labels(tmp_path):
    short = Protocol(sizes=(0.5, 1), noise=(0, 1), repeats=1)
    results = [
        error(ENSEMBLE, Shaken(X, Y), protocol=short, checkpoint=tmp_path).to_json()
        for _ in range(2)
    ]
    assert results[0].partition("cost")[0] == results[1].partition("cost")[0]
    with pytest.raises(OptionError, match="belongs to another experiment"):
        error(ENSEMBLE, Shaken(X, Y[::-1]), protocol=short, checkpoint=tmp_path)


def test_jobs_change_nothing():
    short = Protocol(sizes=(0.5, 1), noise=(0, 1), repeats=1)
    data = TensorDataset(torch.tensor(X), torch.tensor(Y))
    expected = error(ENSEMBLE, data, protocol=short, progress=True)
    # Processes: threads would share torch's generator, from which networks draw their weights.
    assert_same(error(ENSEMBLE, data, protocol=short, n_jobs=2), expected)


def test_detection_takes_arrays():
    for data in (Items(X, Y), DataLoader(Items(X, Y))):
        message = f"X must be an array, a frame or a tensor; got a {type(data).__name__}"
        with pytest.raises(OptionError, match=message):
            caveat.experiments.class_detection(ENSEMBLE, data, Y)


class Flow(IterableDataset):
    def __iter__(self):
        return iter(zip(X, Y, strict=True))


def halved(dataset, shuffle):
    return DataLoader(dataset, batch_size=20, drop_last=True) if len(dataset) != 24 else (
        DataLoader(dataset, batch_size=20, drop_last=not shuffle)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("model", "data", "options", "kind", "words"),
    [
        (ENSEMBLE, (Flow(), Y), {}, OptionError, "a Flow has no number of samples"),
        (ENSEMBLE, (DataLoader(Flow()), Y), {}, OptionError, "a DataLoader has no number"),
        (ENSEMBLE, (DataLoader(Items(X, Y)),), {}, OptionError, "pass its dataset, and loader="),
        (ENSEMBLE, (DataLoader(Items(X, Y)), Y), {}, OptionError, "a DataLoader has no numbers of"),
        (ENSEMBLE, (Items(X),), {}, LabelError, "sample 0 of the Items is no pair"),
        (ENSEMBLE, (X, Y), {"test": Items(X, Y)}, OptionError, "both be arrays, or both"),
        (ENSEMBLE, (X, Y), {"test": (Items(X, Y), Y)}, OptionError, "both be arrays, or both"),
        (ENSEMBLE, (Items(X, Y),), {"test": (X, Y)}, OptionError, "both be arrays, or both"),
        (ENSEMBLE, (X, Y), {"loader": DataLoader}, OptionError, "loader is for a Dataset"),
        (ENSEMBLE, (Items(X, Y),), {"loader": 3}, OptionError, "loader must be loader"),
        (
            ENSEMBLE, (Items(X, Y),), {"loader": lambda d, s: d}, OptionError,
            "it returned a LabeledRows",
        ),
        (ENSEMBLE, (Items(X, Y),), {"loader": halved}, ShapeError, "loader gave 20 of 24 samples"),
        (
            ENSEMBLE, (Items(X, Y),), {"loader": lambda d, s: DataLoader(d, 50, shuffle=True)},
            OptionError, "with shuffle=False it must keep the order",
        ),
        (RandomForestClassifier(), (Items(X, Y),), {}, OptionError, "a network of caveat with mod"),
        (
            caveat.DeepEnsembleClassifier(), (Items(X, Y),), {}, OptionError,
            "a network of caveat with module=",
        ),
        (
            make_pipeline(StandardScaler(), ENSEMBLE), (Items(X, Y),), {}, OptionError,
            "a network of caveat with module=",
        ),
    ],
)  # fmt: skip
def test_errors(model, data, options, kind, words):
    with pytest.raises(kind, match=words):
        error(model, *data, **options)
