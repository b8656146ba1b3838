"""Estimators on networks that come with weights, and on samples that are no array."""

import re

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from sklearn.datasets import load_digits  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset  # noqa: E402

from caveat import load  # noqa: E402
from caveat.estimators import (  # noqa: E402
    BatchEnsembleClassifier,
    BootstrapClassifier,
    DeepEnsembleClassifier,
    DeepEnsembleRegressor,
    LaplaceClassifier,
    MAPClassifier,
    MAPRegressor,
    MCDropoutClassifier,
    Problem,
    SWAGClassifier,
    fit_many,
)
from caveat.exceptions import LabelError, OptionError, ShapeError  # noqa: E402

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5)).astype(np.float32)
CODES = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(np.int64)
LABELS = np.array(["no", "yes"])[CODES]
NUMBERS = X[:, 0] - X[:, 1] ** 2
QUICK = {"epochs": 3, "batch_size": 20, "random_state": 0, "device": "cpu"}
STILL = {**QUICK, "epochs": 1, "optimizer": "sgd", "learning_rate": 1e-30}


def plain(outputs=2):
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, outputs))


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU())
        self.classifier = nn.Linear(8, 2)

    def forward(self, x):
        return self.classifier(self.body(x))


@pytest.fixture(scope="module")
def trained_digits():
    """A network that was trained on digits, with its samples."""
    X, y = load_digits(return_X_y=True)
    X = (X[:600] / 16).astype(np.float32)
    y = y[:600]
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    optimizer = torch.optim.Adam(module.parameters(), 0.01)
    for _ in range(60):
        optimizer.zero_grad()
        nn.functional.cross_entropy(module(torch.tensor(X)), torch.tensor(y)).backward()
        optimizer.step()
    return module, X, y


def test_arrays_that_torch_does_not_take():
    fixed = X.copy()
    fixed.flags.writeable = False
    mirrored = np.ascontiguousarray(X[:, ::-1])[:, ::-1]
    module = plain()
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        expected = MAPClassifier(module=module, **QUICK).fit(X, CODES).predict_proba(X)
        for inputs in (fixed, mirrored):
            model = MAPClassifier(module=module, **QUICK).fit(inputs, CODES)
            np.testing.assert_allclose(model.predict_proba(inputs), expected, rtol=1e-6)
            few = model.predict_proba(inputs[:3])
            np.testing.assert_allclose(few, expected[:3], rtol=1e-5)
    finally:
        torch.set_warn_always(before)


def test_probabilities_in_place_of_logits():
    with pytest.warns(UserWarning, match="sum to 1, as probabilities do, .* takes logits; leave"):
        MAPClassifier(module=nn.Sequential(plain(), nn.Softmax(1)), **QUICK).fit(X, CODES)
    MAPClassifier(module=nn.Sequential(plain(), nn.LogSoftmax(1)), **QUICK).fit(X, CODES)


class TestWeightsAreKept:
    def test_predictions_before_any_training_are_the_modules(self, trained_digits):
        module, X, y = trained_digits
        expected = module(torch.tensor(X)).softmax(1).detach().numpy()
        assert (expected.argmax(1) == y).mean() > 0.95
        one = MAPClassifier(module=module, prior_std=None, **STILL).fit(X, y)
        several = DeepEnsembleClassifier(module=module, members=3, fresh=(), **STILL).fit(X, y)
        np.testing.assert_allclose(one.predict_proba(X), expected, atol=1e-5)
        np.testing.assert_allclose(several.predict_proba(X), expected, atol=1e-5)

    def test_the_accuracy_does_not_fall(self, trained_digits):
        module, X, y = trained_digits
        weights = [value.clone() for value in module.state_dict().values()]
        before = (module(torch.tensor(X)).argmax(1).numpy() == y).mean()
        model = MAPClassifier(module=module, **{**QUICK, "epochs": 1}, learning_rate=1e-4)
        assert model.fit(X, y).score(X, y) >= before - 0.01
        fresh = MAPClassifier(module=module, fresh="all", **STILL).fit(X, y)
        assert fresh.score(X, y) < 0.3
        for value, kept in zip(module.state_dict().values(), weights, strict=True):
            assert torch.equal(value, kept)

    @pytest.mark.parametrize("head", ["mean", "mean-std"])
    def test_numbers_in_units_of_the_targets(self, head):
        outputs = nn.Sequential(plain(2), nn.Softplus(), nn.Unflatten(1, (2, 1)))
        module = plain(1) if head == "mean" else outputs
        y = 50 + 5 * NUMBERS
        options = {"module": module, "head": head, "prior_std": None, "validation_fraction": 0.2}
        with pytest.warns(RuntimeWarning, match="where a constant prediction has") as told:
            model = MAPRegressor(**options, scale_targets=False, **STILL).fit(X, y)
        said = module(torch.tensor(X)).detach().numpy().reshape(60, -1)[:, 0]
        np.testing.assert_allclose(model.predict(X), said, rtol=1e-5, atol=1e-6)
        constant = float(re.search("prediction has (.*);", str(told[0].message))[1])
        spread = np.log(2 * np.pi * y.var()) / 2 + 0.5 if head == "mean-std" else y.var()
        assert constant == pytest.approx(spread, rel=0.6)

    def test_members_that_begin_alike_are_named(self):
        model = DeepEnsembleClassifier(module=plain(), members=3, **QUICK)
        with pytest.warns(UserWarning, match="all 3 members begin with the weights of the module"):
            model.fit(X, LABELS)
        # None of these is warned of: warnings are errors.
        model.set_params(members=1).fit(X, LABELS)
        model.set_params(members=3, fresh="head").fit(X, LABELS)
        model.set_params(module=plain, fresh=None).fit(X, LABELS)
        BootstrapClassifier(module=plain(), members=2, **QUICK).fit(X, LABELS)

    def test_fresh_heads(self):
        module = Body()
        model = DeepEnsembleClassifier(module=module, fresh="head", members=2, **STILL)
        state = model.fit(X, LABELS).state_
        assert model.fresh_ == ["classifier"]
        assert torch.equal(state["0.body.0.weight"][1], module.body[0].weight.detach())
        assert not torch.equal(state["0.classifier.weight"][0], state["0.classifier.weight"][1])
        named = model.set_params(fresh=["classifier"]).fit(X, LABELS).state_
        assert torch.equal(named["0.classifier.weight"], state["0.classifier.weight"])
        for fresh in (5, "neck"):
            with pytest.raises(OptionError, match="fresh must be"):
                model.set_params(fresh=fresh).fit(X, LABELS)

    def test_a_head_that_is_declared_first(self, tmp_path):
        class First(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc, self.body = nn.Linear(8, 2), nn.Linear(5, 8)

            def forward(self, x):
                return self.fc(self.body(x))

        module = First()
        before = torch.get_rng_state()
        model = DeepEnsembleClassifier(module=module, fresh="head", members=2, **STILL)
        state = model.fit(X, LABELS).state_
        assert torch.equal(torch.get_rng_state(), before)
        assert torch.equal(state["0.body.weight"][1], module.body.weight.detach())
        assert not torch.equal(*state["0.fc.weight"])
        model.save(tmp_path / "model")
        again = load(tmp_path / "model", module=module)
        assert again.fresh_ == model.fresh_ == ["fc"]
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))

    def test_frozen_parts_stay_to_the_bit(self):
        module = Body()
        module.body.requires_grad_(False)
        for scaled in (None, True):
            model = DeepEnsembleClassifier(
                module=module, fresh="head", members=3, standardize=scaled, **QUICK
            ).fit(X, LABELS)
            place = 1 if scaled else 0
            for name, value in module.body.state_dict().items():
                kept = model.state_[f"{place}.body.{name}"]
                assert torch.equal(kept, value.expand_as(kept))
            again = model.set_params(cache_features=False).fit(X, LABELS)
            assert "computed once" not in again.engine_
            np.testing.assert_allclose(
                again.predict_proba(X), model.predict_proba(X), rtol=1e-4, atol=1e-5
            )

    def test_held_out_data_sets_behind_frozen_parts(self):
        module = nn.Sequential(nn.Linear(5, 8).requires_grad_(False), nn.Tanh(), nn.Linear(8, 2))
        X_, codes = torch.tensor(X), torch.tensor(CODES)
        data, held = TensorDataset(X_[:45], codes[:45]), TensorDataset(X_[45:], codes[45:])

        def losses(X, y=None, validation=None, **settings):
            model = MAPClassifier(module=module, patience=2, **settings, **QUICK)
            model.fit(X, y, validation=validation)
            return model.engine_, model.history_[0]["validation"]

        expected = losses(X[:45], CODES[:45], (X[45:], CODES[45:]))[1]
        for validation in (held, (X[45:], CODES[45:])):
            engine, found = losses(data, validation=validation)
            assert "computed once" in engine
            np.testing.assert_allclose(found, expected, rtol=1e-4)
        often = losses(data, validation=held, cache_features=False)[1]
        np.testing.assert_allclose(often, expected, rtol=1e-4)

    @pytest.mark.parametrize("noisy", [True, False])
    def test_random_passes_through_frozen_parts(self, noisy):
        """Dropout in them stays on, and what comes before it is computed once."""
        body = nn.Sequential(nn.Linear(5, 8), nn.Dropout(0.5)) if noisy else Body()
        layers = [nn.Linear(8, 2)] if noisy else [nn.Dropout(0.5), nn.Linear(2, 2)]
        module = nn.Sequential(body.requires_grad_(False), *layers)
        once, often = (
            MCDropoutClassifier(module=module, passes=4, cache_features=cached, **QUICK)
            .fit(X, LABELS)
            .predict_distribution(X)
            for cached in (True, False)
        )
        members = np.asarray(once.probabilities)
        assert np.ptp(members, axis=0).max() > 0.01
        np.testing.assert_allclose(members, often.probabilities, rtol=1e-4, atol=1e-5)


class TestSettings:
    @pytest.mark.parametrize("scaled", [None, True])
    def test_rates_go_by_the_names_of_the_module(self, scaled):
        module = Body()
        rates = {"body": 0.0, "classifier": 0.01}
        model = MAPClassifier(
            module=module, prior_std=None, learning_rate=rates, standardize=scaled, **QUICK
        ).fit(X, LABELS)
        place = 1 if scaled else 0
        weight = model.state_[f"{place}.body.0.weight"][0]
        assert torch.equal(weight, module.body[0].weight.detach())
        assert not torch.equal(
            model.state_[f"{place}.classifier.weight"][0], module.classifier.weight.detach()
        )
        for rates, message in [
            ({"body": 0.1}, r"has no entry for 'classifier\.weight'; got \['body'\]; give one for"),
            (
                {"head": 0.1, "": 1e-5},
                "has an entry for 'head', which .* 'body', 'classifier', and",
            ),
        ]:
            with pytest.raises(OptionError, match=f"learning_rate {message}"):
                model.set_params(learning_rate=rates).fit(X, LABELS)

    def test_optimizers_schedulers_and_epochs(self, tmp_path):
        told = []
        model = DeepEnsembleRegressor(
            module=lambda: plain(1), head="mean", members=2, optimizer=torch.optim.AdamW,
            scheduler=lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.5),
            on_epoch=told.append, validation_fraction=0.2, **QUICK,
        ).fit(X, NUMBERS)  # fmt: skip
        assert model.engine_.startswith("one after another")
        assert len(told) == 6
        assert {"copy", "epoch", "step", "loss", "validation"} == told[0].keys()
        with pytest.raises(OptionError, match=r"on_epoch holds a .*, which a file cannot"):
            model.save(tmp_path / "model")

    @pytest.mark.parametrize("kind", [MAPClassifier, DeepEnsembleClassifier])
    def test_a_class_is_what_its_name_is(self, kind):
        named, given = (
            kind(module=plain, optimizer=optimizer, **QUICK).fit(X, LABELS).predict_proba(X)
            for optimizer in ("adam", torch.optim.Adam)
        )
        np.testing.assert_allclose(named, given, rtol=1e-3, atol=1e-4)


class Whole(Dataset):
    """Samples with labels, of which some are used."""

    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, row):
        return self.items[row]


class Flow(IterableDataset):
    def __iter__(self):
        return iter(zip(X, CODES, strict=True))


class Two(nn.Module):
    def __init__(self, outputs=2, rate=0.0):
        super().__init__()
        self.layers, self.drop = plain(outputs), nn.Dropout(rate)

    def forward(self, left, right):
        return self.layers(self.drop(torch.cat([left, right], 1)))


class Graph(Two):
    def forward(self, graph):
        return self.layers(torch.cat([graph["left"], graph["right"]], 1))


LEFT, RIGHT = X[:, :2], X[:, 2:]
PARTS = {"left": LEFT, "right": RIGHT}
PAIRS = TensorDataset(torch.tensor(X), torch.tensor(CODES))
SETTINGS = {"members": 2, **QUICK}


@pytest.fixture(scope="module")
def expected():
    return DeepEnsembleClassifier(module=plain, **SETTINGS).fit(X, CODES).predict_proba(X)


class TestSamplesThatAreNoArray:
    @pytest.mark.parametrize(
        ("module", "given", "y"),
        [
            (Two, (LEFT, RIGHT), CODES),
            (Two, PARTS, CODES),
            (Graph, PARTS, LABELS),
            (plain, PAIRS, None),
            (plain, Whole(list(X)), CODES),
        ],
    )
    def test_they_give_what_their_array_does(self, module, given, y, expected, tmp_path):
        model = DeepEnsembleClassifier(module=module, **SETTINGS).fit(given, y)
        assert model.engine_.startswith("one after another")
        assert model.shape_ is None
        np.testing.assert_allclose(model.predict_proba(given), expected, rtol=1e-4, atol=1e-5)
        model.save(tmp_path / "model")
        again = load(tmp_path / "model", module=module)
        np.testing.assert_array_equal(again.predict_proba(given), model.predict_proba(given))

    def test_members_on_several_devices(self, expected):
        settings = {**SETTINGS, "device": ["cpu", "cpu"]}
        model = DeepEnsembleClassifier(module=plain, **settings).fit(X, CODES)
        np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-4, atol=1e-5)

    def test_batches_of_arguments_without_labels(self, expected):
        model = DeepEnsembleClassifier(module=Two, **SETTINGS).fit((LEFT, RIGHT), CODES)
        parts = DataLoader(TensorDataset(torch.tensor(LEFT), torch.tensor(RIGHT)), batch_size=50)
        np.testing.assert_allclose(model.predict_proba(parts), expected, rtol=1e-4, atol=1e-5)

    def test_arrays_and_sets_may_be_mixed_in_prediction(self, expected):
        model = DeepEnsembleClassifier(module=plain, **SETTINGS)
        for fitted in (model.fit(PAIRS), model.fit(X, CODES)):
            for new in (X, PAIRS, DataLoader(PAIRS, batch_size=7), Flow()):
                np.testing.assert_allclose(
                    fitted.predict_proba(new), expected, rtol=1e-4, atol=1e-5
                )
        with pytest.raises(OptionError, match="come shuffled"):
            model.predict(DataLoader(PAIRS, shuffle=True))
        table = MAPClassifier(hidden=(4,), **QUICK).fit(X, CODES)
        with pytest.raises(ShapeError, match="was fitted to a table; it cannot predict a Tensor"):
            table.predict(PAIRS)

    def test_everything_else_goes_with_a_data_set(self):
        weight = np.where(CODES, 2.0, 1.0)
        held = Whole([(x, int(c)) for x, c in zip(X[40:], CODES[40:], strict=True)])
        first = Whole([(x, int(c)) for x, c in zip(X[:40], CODES[:40], strict=True)])
        model = BootstrapClassifier(module=plain, validation_fraction=0.3, **SETTINGS)
        pairs = [
            (model.fit(PAIRS, sample_weight=weight), model.fit(X, CODES, weight)),
            (
                DeepEnsembleClassifier(module=plain, **SETTINGS).fit(first, validation=held),
                DeepEnsembleClassifier(module=plain, **SETTINGS).fit(
                    X[:40], CODES[:40], validation=(X[40:], CODES[40:])
                ),
            ),
            (
                MAPRegressor(module=lambda: Two(1), head="mean", **QUICK).fit(
                    (LEFT[:40], RIGHT[:40]), NUMBERS[:40],
                    validation=((LEFT[40:], RIGHT[40:]), NUMBERS[40:]),
                ),
                MAPRegressor(module=lambda: plain(1), head="mean", **QUICK).fit(
                    X[:40], NUMBERS[:40], validation=(X[40:], NUMBERS[40:])
                ),
            ),
        ]  # fmt: skip
        for one, other in pairs:
            for mine, expected in zip(one.history_, other.history_, strict=True):
                np.testing.assert_allclose(mine["validation"], expected["validation"], rtol=1e-4)

    def test_many_problems_share_a_function(self):
        class Log:
            def __init__(self):
                self.epochs = []

            def add(self, told):
                self.epochs.append((told["copy"], told["epoch"]))

        log = Log()
        problems = [Problem(X, CODES, random_state=i) for i in range(2)]
        fit_many(MAPClassifier(module=plain, on_epoch=log.add, **QUICK), problems)
        assert sorted(log.epochs) == [(copy, epoch) for copy in (0, 1) for epoch in (1, 2, 3)]

    def test_many_problems_share_a_data_set(self):
        halves = [Problem(PAIRS, rows=np.arange(i, 60, 2), random_state=i) for i in range(2)]
        other = TensorDataset(*PAIRS[:50])
        models = fit_many(MAPClassifier(module=plain, **QUICK), [*halves, Problem(other)])
        alone = MAPClassifier(module=plain, **QUICK).set_params(random_state=1)
        expected = alone.fit(X[1::2], CODES[1::2]).predict_proba(X)
        np.testing.assert_allclose(models[1].predict_proba(X), expected, rtol=1e-4, atol=1e-5)

    @pytest.mark.parametrize("given", [(LEFT, RIGHT), PARTS])
    def test_random_passes(self, given):
        model = MCDropoutClassifier(module=lambda: Two(2, 0.4), passes=5, **QUICK)
        prediction = model.fit(given, CODES).predict_distribution(given)
        assert np.ptp(np.asarray(prediction.probabilities), axis=0).max() > 0.01
        part = tuple(each[3:5] for each in (LEFT, RIGHT))
        np.testing.assert_allclose(
            np.asarray(model.predict_distribution(part).probabilities),
            np.asarray(prediction.probabilities)[:, 3:5],
            rtol=1e-5,
        )
        with pytest.raises(OptionError, match="the passes of MCDropoutClassifier need a tensor"):
            MCDropoutClassifier(module=lambda: Graph(2, 0.4), **QUICK).fit(PARTS, CODES)

    def test_other_methods(self):
        swag = SWAGClassifier(module=plain, snapshots=2, passes=3, **QUICK).fit(PAIRS)
        assert swag.predict_distribution(PAIRS).probabilities.shape == (3, 60, 2)
        with pytest.raises(
            OptionError, match="LaplaceClassifier needs arrays; got a TensorDataset"
        ):
            LaplaceClassifier(module=plain, **QUICK).fit(PAIRS)
        make = lambda: nn.Sequential(plain(4), nn.Unflatten(1, (2, 2)))  # noqa: E731
        shared = BatchEnsembleClassifier(module=make, **SETTINGS).fit(PAIRS)
        assert shared.predict_distribution(PAIRS).probabilities.shape == (2, 60, 2)
        number = MAPRegressor(module=lambda: plain(1), head="mean", **QUICK)
        number.fit(Whole(list(X)), NUMBERS)
        with pytest.raises(ShapeError, match="samples are no array"):
            number.novelty(X)

    def test_what_is_refused(self):
        two = DeepEnsembleClassifier(module=Two, **SETTINGS)
        with pytest.raises(OptionError, match="a dict of samples needs module="):
            DeepEnsembleClassifier(**SETTINGS).fit(PARTS, CODES)
        with pytest.raises(OptionError, match="standardize=True is for arrays"):
            DeepEnsembleClassifier(module=Two, standardize=True, **SETTINGS).fit(PARTS, CODES)
        with pytest.raises(LabelError, match="requires y to be passed"):
            two.fit(PARTS)
        with pytest.raises(ShapeError, match="module cannot take samples: "):
            DeepEnsembleClassifier(module=plain, **SETTINGS).fit((LEFT, RIGHT), CODES)
        with pytest.raises(ShapeError, match=r"must return a tensor of shape \(samples, 2\)"):
            DeepEnsembleClassifier(module=lambda: Two(3), **SETTINGS).fit(PARTS, CODES)
        with pytest.raises(OptionError, match="validation is a DataLoader"):
            MAPClassifier(module=plain, **QUICK).fit(PAIRS, validation=DataLoader(PAIRS))


class TestLoaders:
    LOADER = DataLoader(PAIRS, batch_size=60)

    def test_they_give_what_their_array_does(self):
        settings = {**SETTINGS, "batch_size": 60}
        expected = DeepEnsembleClassifier(module=plain, **settings).fit(X, CODES)
        for given in (self.LOADER, Flow()):
            model = DeepEnsembleClassifier(module=plain, **settings).fit(given)
            assert model.classes_.tolist() == [0, 1]
            np.testing.assert_allclose(
                model.predict_proba(X), expected.predict_proba(X), rtol=1e-4, atol=1e-5
            )

    def test_numbers(self):
        rows = [(x, np.float32(n)) for x, n in zip(X, NUMBERS, strict=True)]
        settings = {**QUICK, "batch_size": 60}
        model = MAPRegressor(module=lambda: plain(1), head="mean", **settings)
        streamed = model.fit(DataLoader(rows, batch_size=60)).predict(X)
        np.testing.assert_allclose(
            streamed, model.fit(X, NUMBERS.astype(np.float32)).predict(X), rtol=1e-3, atol=1e-4
        )

    @pytest.mark.parametrize(
        "held",
        [
            (X[40:], CODES[40:]),
            TensorDataset(*PAIRS[40:]),
            DataLoader(TensorDataset(*PAIRS[40:]), batch_size=8),
            (Whole(list(X[40:])), CODES[40:]),
        ],
    )
    def test_held_out_samples(self, held):
        settings = {**QUICK, "batch_size": 40, "patience": 2}
        model = MAPClassifier(module=plain, **settings)
        streamed = model.fit(DataLoader(TensorDataset(*PAIRS[:40]), batch_size=40), validation=held)
        measured = streamed.history_[0]["validation"]
        expected = model.fit(X[:40], CODES[:40], validation=(X[40:], CODES[40:]))
        np.testing.assert_allclose(measured, expected.history_[0]["validation"], rtol=1e-4)

    def test_random_passes(self):
        make = lambda: nn.Sequential(nn.Dropout(0.3), plain())  # noqa: E731
        model = MCDropoutClassifier(module=make, passes=5, **QUICK).fit(self.LOADER)
        several = model.predict_proba(DataLoader(PAIRS, batch_size=7))
        np.testing.assert_allclose(several, model.predict_proba(X), rtol=1e-5)

    @pytest.mark.parametrize(
        ("model", "options", "message"),
        [
            (MAPClassifier(module=plain), {"y": CODES}, "y was given, but those of a DataLoader come with"),
            (MAPClassifier(module=plain), {"sample_weight": np.ones(60)}, "sample_weight was given, .* need samples with numbers"),
            (MAPClassifier(module=plain, validation_fraction=0.1), {}, "samples of a DataLoader cannot be divided"),
            (MAPClassifier(module=plain, patience=1), {}, "samples of a DataLoader cannot be divided"),
            (BootstrapClassifier(module=plain), {}, "BootstrapClassifier draws samples"),
            (MAPClassifier(module=plain), {"validation": (X, CODES[1:])}, "validation has 60 samples and 59 labels"),
        ],
    )  # fmt: skip
    def test_what_is_refused(self, model, options, message):
        with pytest.raises((OptionError, ShapeError), match=message):
            model.fit(self.LOADER, **options)
