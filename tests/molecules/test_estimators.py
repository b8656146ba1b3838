"""Networks over molecules: every method, missing targets, bootstrap, anchors, resumed and alone."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("chemprop")
torch = pytest.importorskip("torch")

from sklearn.base import clone  # noqa: E402

from caveat.exceptions import InvalidValueError, LabelError, OptionError, ShapeError  # noqa: E402
from caveat.molecules import MoleculeClassifier, MoleculeRegressor, featurize  # noqa: E402
from caveat.molecules.estimators import METHODS, masked_nll, masked_squared_error  # noqa: E402
from caveat.nn import losses  # noqa: E402

SMILES = ["C" * n + tail for n in range(1, 13) for tail in ("", "O", "N", "=O", "c1ccccc1")]
QUICK = {"hidden": 12, "epochs": 2, "members": 2, "passes": 3, "random_state": 0, "device": "cpu"}


@pytest.fixture(scope="module")
def graphs():
    return featurize(SMILES)


@pytest.fixture(scope="module")
def y(graphs):
    return graphs.atom_counts.astype(float)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("head", ["mean-std", "mean"])
def test_methods(graphs, y, method, head):
    model = MoleculeRegressor(method=method, head=head, **QUICK).fit(graphs, y)
    prediction = model.predict_distribution(graphs)
    members = 2 if METHODS[method].several else 3 if METHODS[method].stochastic else 1
    assert prediction.mean.shape == (members, len(SMILES), 1)
    if members > 1:
        assert np.ptp(prediction.mean, axis=0).min() > 0
    assert model.predict(SMILES[:4]).shape == (4,)
    again = clone(model).fit(graphs, y)
    np.testing.assert_allclose(again.predict(graphs), model.predict(graphs), rtol=1e-5)
    assert len(model.predict_interval(graphs[:5], 0.9)) == 5 or head == "mean"


@pytest.mark.parametrize("method", METHODS)
def test_molecules_without_bonds(graphs, y, method):
    """A batch without a bond, to learn from, to check with or to predict."""
    model = MoleculeRegressor(method=method, **QUICK).fit(SMILES, y, validation=[0])
    both = model.predict_distribution(["[Na+].[Cl-]", "C", "CCO"])
    alone = model.predict_distribution(["[Na+].[Cl-]", "C"])
    np.testing.assert_allclose(alone.mean, both.mean[:, :2], rtol=1e-4, atol=1e-4)
    atoms = MoleculeRegressor(method=method, **QUICK).fit(["C", "N", "O", "S"] * 5, np.arange(20.0))
    assert np.isfinite(atoms.predict(["C", "P"])).all()


def test_it_learns(graphs, y):
    model = MoleculeRegressor(
        method="ensemble", members=3, hidden=24, epochs=150, learning_rate=0.005,
        aggregation="sum", random_state=0, device="cpu",
    ).fit(graphs, y)  # fmt: skip
    error = np.sqrt(np.mean((model.predict(graphs) - y) ** 2))
    assert error < 0.3 * y.std()


def test_members_together_are_those_alone(graphs, y):
    options = QUICK | {"members": 3, "validation_fraction": None}
    together = MoleculeRegressor(**options).fit(graphs, y)
    assert "in lock-step" in together.engine_
    from caveat.nn.lockstep import _work

    assert _work.STACKED == "in lock-step"
    alone = MoleculeRegressor(**options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_work, "_engine", lambda *_: (_work.SEQUENTIAL, "asked"))
        alone.fit(graphs, y)
    np.testing.assert_allclose(
        together.predict_distribution(graphs).mean, alone.predict_distribution(graphs).mean,
        rtol=1e-3, atol=1e-3,
    )  # fmt: skip


def test_members_may_be_distributed_over_devices(graphs, y):
    one = MoleculeRegressor(**QUICK | {"members": 3}).fit(graphs, y)
    several = MoleculeRegressor(**QUICK | {"members": 3, "device": ["cpu", "cpu"]}).fit(graphs, y)
    given, other = (m.predict_distribution(graphs).mean for m in (one, several))
    np.testing.assert_allclose(other, given, rtol=1e-3, atol=1e-4 * y.std())


def test_classes(graphs):
    labels = np.array(["ring" if "1" in text else "chain" for text in SMILES])
    model = MoleculeClassifier(
        members=2, hidden=16, epochs=60, learning_rate=0.01, random_state=0, device="cpu"
    ).fit(graphs, labels)
    assert model.classes_.tolist() == ["chain", "ring"]
    assert (model.predict(graphs) == labels).mean() > 0.95
    assert model.predict_proba(graphs).shape == (60, 2)


def test_missing_targets_weigh_nothing(graphs, y):
    frame = pd.DataFrame({"size": y, "oxygen": [float("O" in text) for text in SMILES]})
    frame.loc[::3, "oxygen"] = np.nan
    model = MoleculeRegressor(**QUICK).fit(graphs, frame)
    assert model.targets_.tolist() == ["size", "oxygen"]
    assert model.predict(graphs).shape == (60, 2)
    assert model.y_mean_[1] == pytest.approx(np.nanmean(frame["oxygen"]))
    codes = model._encode(frame, 60)
    assert (codes[::3, 1, 1] == 0).all()
    assert codes[:, 1, 1].mean() == pytest.approx(1)


@pytest.mark.parametrize("seed", range(10))
def test_molecules_with_a_value_are_held_out(graphs, y, seed):
    some = np.full(60, np.nan)
    chosen = np.random.default_rng(seed).permutation(60)[:20]
    some[chosen] = y[chosen]
    model = MoleculeRegressor(**QUICK)
    rows, held = model._hold_out(model._encode(some, 60), None, np.random.default_rng(seed))
    assert len(held) == 2
    assert set(held) <= set(chosen)
    assert sorted([*rows, *held]) == list(range(60))
    # The same draws as ever where every molecule has one.
    drawn = np.random.default_rng(seed).permutation(60)[:6]
    held = model._hold_out(model._encode(y, 60), None, np.random.default_rng(seed))[1]
    assert held.tolist() == sorted(drawn)


def test_masked_losses_are_those_of_the_library_where_nothing_is_missing():
    torch.manual_seed(0)
    output, value = torch.rand(5, 2, 3) + 0.1, torch.randn(5, 3)
    target = torch.stack([value, torch.ones(5, 3)], dim=1)
    torch.testing.assert_close(masked_nll(output, target), losses.gaussian_nll(output, value))
    torch.testing.assert_close(
        masked_squared_error(output[:, 0], target), losses.squared_error(output[:, 0], value)
    )
    target[:, 1, 2] = 0
    torch.testing.assert_close(
        masked_nll(output, target), losses.gaussian_nll(output[..., :2], value[:, :2])
    )


@pytest.mark.parametrize(("size", "expected"), [(None, 40), (10, 10), (0.5, 20), (2.0, 80)])
def test_a_bootstrap_sample_is_weights(size, expected):
    model = MoleculeRegressor(method="bootstrap", bootstrap_size=size)
    rows = np.arange(10, 50)
    weight = model._weights(60, rows, None, np.random.default_rng(0))
    times = weight[rows] * expected / 40
    np.testing.assert_allclose(times, np.rint(times), atol=1e-9)
    assert times.sum() == pytest.approx(expected)
    assert (weight[:10] == 1).all()
    twice = model._weights(60, rows, np.full(60, 2.0), np.random.default_rng(0))
    np.testing.assert_allclose(twice, 2 * weight)


def test_anchors_have_a_spread_for_each_layer(graphs, y):
    stds = {"edge_input": 0.5, "edge_update": 0.1, "atom_output": 0.2, "dense": 0.3, "last": 0.05}
    model = MoleculeRegressor(
        method="anchored", prior_std=stds, anchor_strength=10.0, **QUICK | {"hidden": 60}
    ).fit(graphs, y)
    torch.manual_seed(0)
    network = model._network()
    assert float(network.edge_input.weight.detach().std()) == pytest.approx(0.5, rel=0.1)
    assert float(network.edge_update.weight.detach().std()) == pytest.approx(0.1, rel=0.1)
    network = MoleculeRegressor(method="anchored", prior_std=0.2, **QUICK).fit(graphs, y)._network()
    assert float(network.atom_output.weight.detach().std()) == pytest.approx(0.2, rel=0.2)
    with pytest.raises(OptionError, match="no entry for"):
        MoleculeRegressor(method="anchored", anchor_strength={"last": 1.0}, **QUICK).fit(graphs, y)
    with pytest.raises(OptionError, match="prior_std must be a number or have"):
        MoleculeRegressor(method="anchored", prior_std={"dense": 1.0}, **QUICK).fit(graphs, y)


def test_a_stopped_training_goes_on(graphs, y, tmp_path):
    whole = MoleculeRegressor(**QUICK).fit(graphs, y)
    first = MoleculeRegressor(**QUICK).fit(graphs, y, checkpoint=tmp_path / "run")
    again = MoleculeRegressor(**QUICK).fit(graphs, y, checkpoint=tmp_path / "run")
    for model in (first, again):
        np.testing.assert_allclose(model.predict(graphs), whole.predict(graphs), rtol=1e-5)
    with pytest.raises(OptionError, match="another training"):
        MoleculeRegressor(**QUICK).fit(graphs[::-1], y, checkpoint=tmp_path / "run")


def test_molecules_can_be_held_out_by_name(graphs, y):
    model = MoleculeRegressor(**QUICK).fit(graphs, y, validation=np.arange(50, 60))
    assert len(model.history_[0]["validation"]) == 2
    without = MoleculeRegressor(validation_fraction=None, **QUICK).fit(graphs, y, np.arange(60.0))
    assert "validation" not in without.history_[0]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"method": "other"}, OptionError, "method"),
        ({"head": "other"}, OptionError, "head"),
        ({"patience": 3, "validation_fraction": None}, OptionError, "patience needs"),
        ({"members": 0}, OptionError, "members"),
    ],
)
def test_bad_options(graphs, y, options, error, words):
    with pytest.raises(error, match=words):
        MoleculeRegressor(**QUICK | options).fit(graphs, y)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda y: y[:5], ShapeError, "must have shape"),
        (lambda y: np.where(y == y[3], np.inf, y), InvalidValueError, "infinite"),
        (lambda y: np.full(60, np.nan), InvalidValueError, "has 0 values"),
        (lambda y: np.ones(60), InvalidValueError, "the same value"),
        (lambda y: ["a"] * 60, LabelError, "y of molecule 0 is 'a', and no number; give numbers"),
        (lambda y: [*y[:59], "a"], LabelError, "y of molecule 59 is 'a', and no number"),
        (lambda y: [[1.0, "b"]] * 60, LabelError, "y of molecule 0 is 'b', and no number"),
    ],
)
def test_bad_targets(graphs, y, change, error, words):
    with pytest.raises(error, match=words):
        MoleculeRegressor(**QUICK).fit(graphs, change(y))


def test_targets_in_objects(graphs, y):
    given = pd.Series([None, pd.NA, *y[2:]], dtype=object)
    codes = MoleculeRegressor(**QUICK)._encode(given, 60)
    assert (codes[:, 1, 0] > 0).tolist() == [False] * 2 + [True] * 58


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
@pytest.mark.parametrize("make", [list, lambda y: pd.Series(y, dtype=object)])
def test_missing_classes(graphs, missing, make):
    with pytest.raises(LabelError, match="y of molecule 2 is missing; leave the molecule out"):
        MoleculeClassifier(**QUICK).fit(graphs, make(["a", "b", missing] * 20))


def test_bad_classes_and_rows(graphs, y):
    with pytest.raises(LabelError, match="one class"):
        MoleculeClassifier(**QUICK).fit(graphs, ["a"] * 60)
    with pytest.raises(ShapeError, match="must have shape"):
        MoleculeClassifier(**QUICK).fit(graphs, ["a", "b"])
    with pytest.raises(ShapeError, match="held out"):
        MoleculeRegressor(**QUICK).fit(graphs, y, validation=np.arange(60))


@pytest.mark.parametrize(
    ("rows", "error", "words"),
    [
        (np.arange(10), ShapeError, "all molecules with a value are held out; leave some"),
        (np.arange(10, 60), InvalidValueError, "no molecule of validation has a value in y; hold"),
        ([], OptionError, r"validation must name rows of X by numbers from 0 to 59, .*got \[\]"),
        (np.zeros(60, dtype=bool), OptionError, "or by a mask; got"),
        ([3, 99], OptionError, r"from 0 to 59, or by a mask; got \[3, 99\]"),
    ],
)
def test_bad_validation(graphs, y, rows, error, words):
    with pytest.raises(error, match=words):
        MoleculeRegressor(**QUICK).fit(graphs, np.where(np.arange(60) < 10, y, np.nan),
                                       validation=rows)  # fmt: skip


def test_ragged_samples_share_their_rows(graphs, y):
    from caveat.molecules.packed import PackedGraphs
    from caveat.nn import Copy, train

    network = MoleculeRegressor(**QUICK)
    network.fit(graphs, y)
    copies = [Copy(rows=np.arange(10)), Copy(rows=np.arange(10, 20))]
    with pytest.raises(OptionError, match="share their batches"):
        train(network._network, PackedGraphs(graphs), y, loss=masked_nll, copies=copies)


@pytest.mark.parametrize("method", [None, *METHODS])
def test_the_published_settings_suit_every_method(method):
    from caveat.estimators import preset

    settings = preset("qm9", method)
    model = MoleculeRegressor(**settings, device="cpu", random_state=0)
    assert model.method == (method or "ensemble")
    assert (model.hidden, model.depth, model.members, model.passes) == (1000, 6, 15, 150)
    model.features_, model.y_mean_ = (72, 14), np.zeros(1)
    network = model._network()
    # Two dense layers: one to hidden units, one to outputs.
    assert len(network.dense) == 1
    assert network.edge_update.in_features == network.dense[0].out_features == 1000


def test_training_stops_when_nothing_improves(graphs, y):
    model = MoleculeRegressor(**QUICK | {"epochs": 40, "learning_rate": 1.0}, patience=2)
    model.fit(graphs, y)
    assert all(len(one["validation"]) < 40 for one in model.history_)
