"""Molecules in one file, shifts between splits, and what to measure next."""

import sys

import numpy as np
import pytest

pytest.importorskip("chemprop")
pytest.importorskip("torch")

from caveat.exceptions import FileFormatError, InvalidValueError, OptionError, ShapeError
from caveat.experiments import domain_shift
from caveat.molecules import (
    LearningCurves,
    MoleculeData,
    MoleculeRegressor,
    acquire,
    active_learning,
    applicability,
    split_molecules,
    split_shift,
)  # fmt: skip
from caveat.molecules.experiments import fitted

SMILES = [f"C1{'C' * n}C1{tail}" for n in range(1, 13) for tail in ("", "O", "N", "CC", "Cl")]
QUICK = {"hidden": 8, "epochs": 2, "members": 2, "device": "cpu"}


@pytest.fixture(scope="module")
def data():
    y = [text.count("C") + 2.0 * ("O" in text) for text in SMILES]
    return MoleculeData.make(SMILES, y, name="rings", unit="C", description="rings of carbon")


def test_it_is_what_rdkit_says(data):
    made = applicability(SMILES[:40], SMILES[40:])
    ours = data.applicability(np.arange(40), np.arange(40, 60))
    np.testing.assert_allclose(ours.similarity, made.similarity)
    np.testing.assert_array_equal(ours.nearest, made.nearest)
    np.testing.assert_array_equal(ours.known_scaffold, made.known_scaffold)
    for kind in ("scaffold", "scaffold-balanced", "random"):
        own, theirs = data.split(kind, random_state=3), split_molecules(
            SMILES, kind, random_state=3
        )  # fmt: skip
        for one, other in zip(own, theirs, strict=True):
            np.testing.assert_array_equal(one, other)


def test_clusters():
    different = ["CCO", "c1ccccc1", "CC#N", "O=S(=O)(O)O", "C1CCCCC1", "ClC(Cl)Cl", "CSC", "c1ccoc1",
                 "NC(N)=O", "BrCCBr"]  # fmt: skip
    made = MoleculeData.make(different, np.arange(10.0)).split("cluster", random_state=1)
    expected = split_molecules(different, "cluster", random_state=1)
    np.testing.assert_array_equal(made.test, expected.test)
    assert len(made.test) == 1


def test_a_file_needs_no_rdkit(data, tmp_path, monkeypatch):
    data.save(tmp_path / "rings.npz")
    for name in ("rdkit", "cuik_molmaker"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it fails
    back = MoleculeData.load(tmp_path / "rings.npz")
    assert (back.name, back.unit, back.description) == ("rings", "C", "rings of carbon")
    np.testing.assert_array_equal(back.fingerprints, data.fingerprints)
    split = back.split("scaffold-balanced", random_state=0)
    assert not set(back.scaffolds[split.test]) & set(back.scaffolds[split.train])
    made = fitted(MoleculeRegressor(**QUICK), back, split, 0)
    made.predict_distribution(back.graphs[split.test])
    assert back.applicability(split.train, split.test).similarity.max() <= 1
    active_learning(
        MoleculeRegressor(**QUICK), back, start=20, batch=5, rounds=1, repeats=1, random_state=0
    )
    with pytest.raises(ImportError, match="caveat\\[molecules\\]"):
        MoleculeData.make(["C"], [1.0])


def test_some_molecules(data):
    some = data[[5, 2]]
    assert some.graphs.smiles.tolist() == [SMILES[5], SMILES[2]]
    assert some.y.tolist() == [data.y[5], data.y[2]]
    assert len(some) == 2 and some.name == "rings"  # noqa: PT018


def test_rows_that_cannot_be_read_are_left_out():
    made = MoleculeData.make(["CC", "nothing", "CO"], [1.0, 2.0, 3.0], on_error="drop")
    assert made.y.tolist() == [1.0, 3.0]


def test_bad_data(data, tmp_path):
    with pytest.raises(InvalidValueError, match="molecule 1 is inf"):
        MoleculeData.make(["C", "CC"], [1.0, np.inf])
    with pytest.raises(ShapeError, match="y has 2 entries for 60"):
        MoleculeData(data.graphs, data.y[:2], data.scaffolds, data.fingerprints)
    data.graphs.save(tmp_path / "graphs.npz")
    with pytest.raises(FileFormatError, match="graphs alone"):
        MoleculeData.load(tmp_path / "graphs.npz")
    with pytest.raises(OptionError, match="the validation part of the split is empty"):
        MoleculeData.make(["CCC", "CCCC", "C"], [1, 2, 3]).split("scaffold")
    with pytest.raises(OptionError, match=r"one to test on; got \(0.9, 0.1, 0\)"):
        data.split("random", sizes=(0.9, 0.1, 0))
    with pytest.raises(OptionError, match="groups= goes with scaffolds"):
        split_molecules(["C", "CC"], "random", groups=[0, 1])


def test_blocks_do_not_matter(data, monkeypatch):
    from caveat.molecules import data as module
    from caveat.molecules import domain

    known, rows = np.arange(30), np.arange(30, 60)
    whole = data.applicability(known, rows)
    monkeypatch.setattr(domain, "_BLOCK", 7)
    monkeypatch.setattr(module, "_BLOCK", 7)
    parts = data.applicability(known, rows)
    np.testing.assert_allclose(parts.similarity, whole.similarity)
    np.testing.assert_array_equal(parts.nearest, whole.nearest)
    again = MoleculeData.make(SMILES, data.y)
    np.testing.assert_array_equal(again.fingerprints, data.fingerprints)
    np.testing.assert_array_equal(again.scaffolds, data.scaffolds)


def test_a_shift_is_that_of_two_trainings(data):
    model = MoleculeRegressor(**QUICK)
    result = split_shift(model, data, component="epistemic", resamples=0, random_state=5)
    rng = np.random.default_rng(5)
    pairs = []
    for kind in ("random", "scaffold-balanced"):
        split = data.split(kind, random_state=int(rng.integers(2**31)))
        made = fitted(model, data, split, int(rng.integers(2**31)))
        pairs += [made.predict_distribution(data.graphs[split.test]), data.y[split.test]]
    expected = domain_shift(*pairs, component="epistemic", resamples=0)
    assert {row.quantity for row in result.rows} > {"maximum_coverage_error", "epistemic"}
    assert "of these two models alone" in repr(result)
    for row in expected.rows:
        (same,) = result.select(quantity=row.quantity, option=row.option)
        np.testing.assert_allclose([same.inside, same.outside], [row.inside, row.outside])


def test_two_trainings_answer_nothing(data):
    result = split_shift(MoleculeRegressor(**QUICK), data, resamples=50, random_state=0)
    assert [growth.answer for growth in result.growth] == ["open", "open"]
    assert all("another split or training gives another factor" in g.text for g in result.growth)


def test_what_is_measured_next(data):
    strategies = ("epistemic", "uncertain", "random")
    curves = active_learning(
        MoleculeRegressor(**QUICK), data, start=20, batch=5, rounds=2, repeats=2,
        strategies=strategies, random_state=0,
    )  # fmt: skip
    assert curves.sizes == (20, 25, 30)
    # All begin with the same molecules and weights.
    np.testing.assert_allclose(curves.error[:, :, 0], curves.error[:1, :, 0].repeat(3, axis=0))
    assert np.ptp(curves.error[:, :, 1], axis=0).min() > 0
    frame = curves.to_frame()
    assert len(frame) == 3 * 2 * 3
    same = frame.query("strategy == 'random' and repeat == 1 and molecules == 30")["error"]
    assert same.item() == curves.error[2, 1, 2]
    assert str(curves).count("random") == 4


def test_the_gain_is_paired():
    error = np.array([[[9, 1.0, 2.0], [9, 2, 3], [9, 4, 5]], [[9, 2, 3.2], [9, 3, 4], [9, 5, 6.1]]])
    curves = LearningCurves(("epistemic", "random"), (1, 2, 3), error, 0.95)
    value, low, high = curves.gain("epistemic")
    gains = np.array([-1.1, -1.0, -1.05])
    half = 4.302652729911275 * gains.std(ddof=1) / np.sqrt(3)
    assert (value, low, high) == pytest.approx((-1.05, -1.05 - half, -1.05 + half))
    assert "better than random" in str(curves)
    turned = LearningCurves(("epistemic", "random"), (1, 2, 3), error[::-1], 0.95)
    assert "worse than random" in str(turned)
    alone = LearningCurves(("epistemic", "random"), (1, 2, 3), error[:, :1], 0.95)
    assert np.isnan(alone.gain("epistemic")[1])
    assert str(alone) == "epistemic: error -1.1 from random's"
    mixed = np.stack([error[0], error[0, [1, 0, 2]]])
    same = LearningCurves(("epistemic", "random"), (1, 2, 3), mixed, 0.95)
    assert "not distinguished" in str(same)
    for name in ("uncertain", "random"):
        one = LearningCurves((name,), (1, 2, 3), error[:1], 0.95)
        assert str(one) == f"{name}: error 2.83"


def test_too_many_molecules_asked_for(data):
    with pytest.raises(OptionError, match="need 130 molecules; 48 are left beside 12"):
        active_learning(MoleculeRegressor(**QUICK), data, start=100, batch=10, rounds=3)
    with pytest.raises(OptionError, match="strategies must be one of"):
        active_learning(MoleculeRegressor(**QUICK), data, strategies=["best"])


@pytest.mark.parametrize("options", [{"method": "map"}, {"members": 1}])
def test_a_model_without_an_epistemic_part(data, options):
    common = {"start": 20, "batch": 5, "rounds": 1, "repeats": 1, "random_state": 0}
    model = MoleculeRegressor(**QUICK | options)
    words = (
        "the strategy 'epistemic' cannot choose molecules: the prediction has no epistemic "
        "uncertainty: it has one member, or all agree; give the model one of the methods "
        "ensemble, bootstrap, anchored, mc-dropout, concrete-dropout, with several members or "
    )
    with pytest.raises(OptionError, match=words):
        active_learning(model, data, **common)
    curves = active_learning(model, data, strategies=["uncertain", "random"], **common)
    assert curves.strategies == ("uncertain", "random")


def test_choices_are_those_of_fingerprints(data):
    from caveat.molecules.domain import chosen_by

    values = np.random.default_rng(0).random(60)
    bits = np.unpackbits(data.fingerprints, axis=1)
    assert chosen_by(bits, values, 9, 0.7).tolist() == acquire(
        SMILES, values, 9, diversity=0.7
    ).tolist()  # fmt: skip
