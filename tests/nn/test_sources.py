"""Samples that are no array: several tensors, data sets, loaders; copies train one by one."""

import dataclasses

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from caveat.exceptions import LabelError, OptionError, ShapeError
from caveat.nn import Copy, Training, losses, train
from caveat.nn.lockstep import _features
from caveat.nn.lockstep._batches import Batches
from caveat.nn.lockstep.sources import (
    Items,
    Joined,
    Parts,
    Stream,
    as_source,
    blocks,
    few_samples,
    is_source,
)
from caveat.nn.noise import make_keys

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5)).astype(np.float32)
CODES = (X[:, 0] > 0).astype(np.int64)
SHORT = Training(epochs=3, batch_size=20, learning_rate=0.05)
COPIES = [Copy(seed=3), Copy(seed=4)]
PAIRS = TensorDataset(torch.tensor(X), torch.tensor(CODES))


def plain():
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 2))


class Two(nn.Module):
    """The same network, whose inputs come in two parts."""

    def __init__(self):
        super().__init__()
        self.layers = plain()

    def forward(self, left, right):
        return self.layers(torch.cat([left, right], 1))


class Graph(Two):
    """The same again, with all parts in one argument."""

    def forward(self, graph):
        parts = graph.values() if isinstance(graph, dict) else graph
        return self.layers(torch.cat(list(parts), 1))


def fit(make, X, y=CODES, copies=COPIES, training=SHORT, **options):
    return train(make, X, y, loss=losses.nll, copies=copies, training=training, **options)


def assert_alike(one, other):
    values = zip(one.state.values(), other.state.values(), strict=True)
    for value, expected in values:
        torch.testing.assert_close(value, expected, rtol=1e-4, atol=1e-5)


class Whole(Dataset):
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, row):
        return self.items[row]


class Flow(IterableDataset):
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return iter(self.items)


class TestSeveralTensors:
    @pytest.mark.parametrize(
        "given", [(X[:, :2], X[:, 2:]), {"a": X[:, :2], "b": torch.tensor(X[:, 2:]).double()}]
    )
    def test_they_are_the_arrays_joined(self, given):
        trained, expected = fit(Graph, given), fit(plain, X)
        assert trained.engine.startswith("one after another (samples are no array")
        assert_alike(trained, expected)
        np.testing.assert_allclose(trained.outputs(given), expected.outputs(X), atol=1e-5)

    def test_a_tuple_and_names_are_arguments(self):
        expected = fit(plain, X)
        assert_alike(fit(Two, (X[:, :2], X[:, 2:])), expected)
        trained = fit(Two, {"right": X[:, 2:], "left": X[:, :2]})
        assert_alike(trained, expected)

    def test_optional_arguments(self):
        class Masked(Two):
            def forward(self, left, right=None, mask=None):
                assert mask is None
                return super().forward(left, right)

        given = {"left": X[:, :2], "right": X[:, 2:]}
        trained = fit(Masked, given)
        assert_alike(trained, fit(plain, X))
        assert trained.outputs(given).shape == (2, 60, 2)

    def test_names_are_those_of_arguments(self):
        source = Parts({"right": X[:, 2:], "left": X[:, :2]}, Two())
        left, right = source.pick(torch.arange(3))
        assert (left.shape, right.shape) == ((3, 2), (3, 3))

    def test_rows_weights_and_validation(self):
        weight = np.where(np.arange(60) % 3, 1.0, 2.0)
        copies = [
            Copy(seed=i, rows=np.arange(i, 40), weight=weight, validation=np.arange(40, 60))
            for i in range(2)
        ]
        training = dataclasses.replace(SHORT, patience=2, epochs=8)
        trained = fit(Graph, (X[:, :2], X[:, 2:]), copies=copies, training=training)
        expected = fit(plain, X, copies=copies, training=training)
        assert_alike(trained, expected)
        np.testing.assert_allclose(
            trained.history[0]["validation"], expected.history[0]["validation"], rtol=1e-4
        )

    def test_bad_parts(self):
        with pytest.raises(ShapeError, match=r"same number of rows; got \[60, 59\]"):
            fit(Graph, (X, X[1:]))

    def test_a_finished_training_is_read_back(self, tmp_path):
        given = (X[:, :2], X[:, 2:])
        first = fit(Graph, given, checkpoint=tmp_path)
        assert_alike(first, fit(Graph, given, checkpoint=tmp_path))
        with pytest.raises(OptionError, match="belongs to another training"):
            fit(Graph, (X[:, :2], 2 * X[:, 2:]), checkpoint=tmp_path)


class TestDataSets:
    @pytest.mark.parametrize(
        ("dataset", "y"),
        [
            (PAIRS, None),
            (Whole(list(X)), CODES),
            (Whole([{"x": x, "label": y} for x, y in zip(X, CODES, strict=True)]), None),
        ],
    )
    def test_they_are_their_arrays(self, dataset, y, tmp_path):
        trained, expected = fit(plain, dataset, y, checkpoint=tmp_path), fit(plain, X)
        assert_alike(trained, expected)
        np.testing.assert_allclose(trained.outputs(dataset), expected.outputs(X), atol=1e-5)

    def test_samples_are_read_when_they_are_needed(self):
        reads = []

        class Counted(Whole):
            def __getitem__(self, row):
                reads.append(row)
                return super().__getitem__(row)

        fit(plain, Counted(list(X)), copies=[Copy(seed=0, steps=1)])
        assert len(reads) < 40

    @pytest.mark.parametrize("noisy", [False, True])
    def test_features_of_frozen_parts_unless_samples_are_random(self, noisy):
        class Augmented(Whole):
            def __getitem__(self, row):
                x = super().__getitem__(row)
                return x + noisy * np.random.default_rng().normal(size=5).astype(np.float32)

        module = plain()
        module[0].requires_grad_(False)
        trained = fit(module, Augmented(list(X)))
        assert (_features.NOTE in trained.engine) is not noisy
        assert trained.engine.startswith("one after" if noisy else "in lock-step")

    def test_features_of_several_tensors(self):
        class Body(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = Graph().requires_grad_(False)
                self.head = nn.Linear(2, 2)

            def forward(self, graph):
                return self.head(self.body(graph))

        module = Body()
        given = {"a": X[:, :2], "b": X[:, 2:]}
        once = fit(module, given)
        often = fit(module, given, training=dataclasses.replace(SHORT, cache_features=False))
        assert _features.NOTE in once.engine
        assert_alike(once, often)
        np.testing.assert_allclose(once.outputs(given), often.outputs(given), atol=1e-5)

    def test_labels_that_are_not_there(self):
        with pytest.raises(LabelError, match="batches of the DataLoader have inputs alone"):
            fit(plain, Whole(list(X)), None)

    def test_two_behind_each_other(self):
        source = Joined(Items(PAIRS, plain()), Parts((X,), Graph())).to("cpu")
        assert len(source) == 120
        torch.testing.assert_close(source.pick(torch.tensor([1])), torch.tensor(X[1:2]))
        torch.testing.assert_close(source.pick(torch.tensor([61]))[0], torch.tensor(X[1:2]))
        assert len(source.digest()) > 32
        few = [len(each) for each in blocks(source, torch.device("cpu"), 40)]
        assert few == [40, 20, 1, 1]  # those of the second are tuples
        assert len(few_samples(source, 100)) == 60


class Order:
    """The batches that a copy with this seed sees, epoch by epoch."""

    def __init__(self, seed):
        self.batches = Batches(np.array([60]), make_keys([seed]), 20, 9)
        self.step = -3  # once to read the labels

    def __len__(self):
        return 3

    def __iter__(self):
        for _ in range(3):
            yield self.batches.at(max(self.step, 0))[0][0].tolist()
            self.step += 1


class TestLoaders:
    def test_on_the_same_batches_they_are_their_arrays(self):
        trained = fit(plain, X, copies=[Copy(seed=7)])
        loader = DataLoader(PAIRS, batch_sampler=Order(7))
        assert_alike(fit(plain, loader, None, copies=[Copy(seed=7)]), trained)

    @pytest.mark.parametrize("kind", ["loader", "iterable", "batches of a graph"])
    def test_one_batch_for_all(self, kind):
        whole = dataclasses.replace(SHORT, batch_size=60)
        given, make = DataLoader(PAIRS, batch_size=60, shuffle=True), plain
        if kind == "iterable":
            given = Flow(list(zip(X, CODES, strict=True)))
        elif kind != "loader":
            make = Graph
            given = DataLoader(
                [((x[:2], x[2:]), int(y)) for x, y in zip(X, CODES, strict=True)], batch_size=60
            )
        trained = fit(make, given, None, training=whole)
        assert_alike(trained, fit(plain, X, training=whole))
        assert trained.steps.tolist() == [3, 3]
        assert trained.outputs(given).shape == (2, 60, 2)

    def test_outputs_of_frozen_parts_and_the_state_of_torch(self):
        module = plain()
        module[0].requires_grad_(False)
        loader = DataLoader(PAIRS, batch_size=20)
        trained = fit(module, X)
        state = torch.get_rng_state()
        np.testing.assert_allclose(trained.outputs(loader), trained.outputs(X), atol=1e-5)
        assert torch.equal(state, torch.get_rng_state())

    def test_the_same_seed_gives_the_same_network(self):
        loader = DataLoader(PAIRS, batch_size=20, shuffle=True)
        one, two = (fit(plain, loader, None) for _ in range(2))
        assert_alike(one, two)
        assert not torch.equal(one.state["0.weight"][0], one.state["0.weight"][1])

    def test_validation_on_another_loader(self):
        module = plain()
        loader = DataLoader(TensorDataset(*PAIRS[:40]), batch_size=40)
        held = Stream(DataLoader(TensorDataset(*PAIRS[40:]), batch_size=7), module)
        training = dataclasses.replace(SHORT, patience=2, batch_size=40, epochs=8)
        trained = fit(plain, Stream(loader, module, held=held), None, training=training)
        copies = [
            dataclasses.replace(copy, rows=range(40), validation=range(40, 60)) for copy in COPIES
        ]
        expected = fit(plain, X, copies=copies, training=training)
        assert_alike(trained, expected)
        np.testing.assert_allclose(
            trained.history[1]["validation"], expected.history[1]["validation"], rtol=1e-4
        )

    def test_copies_that_are_done_are_read_back(self, tmp_path):
        loader = DataLoader(PAIRS, batch_size=20)
        first = fit(plain, loader, None, checkpoint=tmp_path)
        assert_alike(first, fit(plain, loader, None, checkpoint=tmp_path))

    def test_dictionaries_and_objects(self, tmp_path):
        class Packed:
            def __init__(self, x, y):
                self.x, self.y = x, y

            def to(self, device):
                return self

        class Taken(Two):
            def forward(self, packed):
                return self.layers(packed.x)

        x, y = PAIRS[:]
        whole = dataclasses.replace(SHORT, batch_size=60)
        expected = fit(plain, X, training=whole)
        loader = DataLoader([Packed(x, y)], batch_size=None)
        for _ in range(2):
            found = fit(Taken, loader, None, training=whole, checkpoint=tmp_path / "objects")
            assert_alike(found, expected)
        named = DataLoader([{"a": x[:, :2], "b": x[:, 2:], "target": y}], batch_size=None)
        checked = fit(Graph, named, None, training=whole, checkpoint=tmp_path / "named")
        assert_alike(checked, expected)
        loader = DataLoader([{"left": x[:, :2], "right": x[:, 2:], "y": y}], batch_size=None)
        stream = Stream(loader, Two())
        assert_alike(fit(Two, stream, None, training=whole), expected)
        pairs = DataLoader([({"left": x[:, :2], "right": x[:, 2:]}, y)], batch_size=None)
        stream = Stream(pairs, Two())
        assert_alike(fit(Two, stream, None, training=whole), expected)
        triples = Stream(DataLoader([(x[:, :2], x[:, 2:], y)], batch_size=None), Two())
        assert_alike(fit(Two, triples, None, training=whole), expected)

    def test_what_needs_numbers_of_samples(self):
        loader = DataLoader(PAIRS, batch_size=20)
        with pytest.raises(OptionError, match="rows of a copy needs samples with numbers"):
            fit(plain, loader, None, copies=[Copy(rows=[1, 2])])

    def test_bad_ones(self):
        with pytest.raises(OptionError, match="can be read once"):
            fit(plain, iter([X]), CODES)
        with pytest.raises(OptionError, match="labels of a loader come with its batches"):
            fit(plain, DataLoader(PAIRS), CODES)
        with pytest.raises(ShapeError, match="the DataLoader gave no batch"):
            fit(plain, Flow([]), None)

    def test_what_is_a_source(self):
        assert is_source((X, X))
        assert not is_source(((1, 2), (3, 4)))
        assert not is_source(X)
        source = Items(PAIRS, plain())
        assert as_source(source, plain()) is source
