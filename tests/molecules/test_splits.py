"""Splits: whole scaffolds, chemprop's balanced split, clusters, time, and what leaks."""

import numpy as np
import pandas as pd
import pytest

chemprop = pytest.importorskip("chemprop")

from chemprop.data import make_split_indices  # noqa: E402
from rdkit import Chem  # noqa: E402

from caveat.exceptions import InvalidValueError, OptionError, ShapeError  # noqa: E402
from caveat.molecules import Split, leakage, scaffolds, split_molecules  # noqa: E402

RINGS = ["c1ccccc1", "C1CCCCC1", "c1ccncc1", "c1ccoc1", "C1CC1", "c1ccc2ccccc2c1", "C1CCNCC1"]


@pytest.fixture(scope="module")
def smiles():
    rng = np.random.default_rng(0)
    some = []
    for ring, count in zip(RINGS, (40, 20, 12, 8, 6, 4, 2), strict=True):
        some += ["C" * (1 + k) + ring for k in range(count)]
    some += ["C" * k + "O" for k in range(1, 9)]
    return [some[i] for i in rng.permutation(len(some))]


@pytest.mark.parametrize("kind", ["scaffold", "scaffold-balanced", "cluster", "random"])
def test_every_molecule_is_in_one_part(smiles, kind):
    parts = list(split_molecules(smiles, kind, random_state=0))
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(100))
    assert len(parts[0]) in range(70, 91)


@pytest.mark.parametrize("kind", ["scaffold", "scaffold-balanced"])
def test_no_scaffold_is_in_two_parts(smiles, kind):
    names = scaffolds(smiles)
    train, validation, test = (set(names[p]) for p in split_molecules(smiles, kind, random_state=1))
    assert not train & test
    assert not train & validation
    assert not validation & test


@pytest.mark.filterwarnings("ignore::astartes.utils.warnings.NoMatchingScaffold")
@pytest.mark.filterwarnings("ignore::astartes.utils.warnings.ImperfectSplittingWarning")
@pytest.mark.parametrize("sizes", [(0.8, 0.1, 0.1), (0.6, 0.3, 0.1), (0.75, 0.0, 0.25)])
@pytest.mark.parametrize("seed", [None, 3])
def test_scaffold_splits_are_those_of_chemprop(smiles, sizes, seed):
    molecules = [Chem.MolFromSmiles(text) for text in smiles]
    if seed is None:
        from astartes.molecules import train_test_split_molecules, train_val_test_split_molecules

        names = ("train_size", "val_size", "test_size")
        given = {name: size for name, size in zip(names, sizes, strict=True) if size}
        split = train_val_test_split_molecules if sizes[1] else train_test_split_molecules
        made = split(np.array(molecules), sampler="scaffold", return_indices=True,
                     random_state=None, **given)  # fmt: skip
        rows = made[-3:] if sizes[1] else [made[-2], [], made[-1]]
    else:
        theirs = make_split_indices(molecules, "scaffold_balanced", sizes=sizes, seed=seed)
        rows = [part[0] for part in theirs]
    kind = "scaffold" if seed is None else "scaffold-balanced"
    ours = split_molecules(smiles, kind, sizes=sizes, random_state=seed)
    for one, other in zip(ours, rows, strict=True):
        assert one.tolist() == sorted(int(row) for row in other)


def test_time_goes_forward():
    train, validation, test = split_molecules(["C"] * 10, "time", time=np.arange(10)[::-1])
    assert train.tolist() == [2, 3, 4, 5, 6, 7, 8, 9]
    assert validation.tolist() == [1]
    assert test.tolist() == [0]


@pytest.mark.parametrize(
    "time",
    [
        pd.to_datetime(["9/1/2020", "10/1/2020", "1/1/2021"]),
        pd.to_datetime(["9/1/2020", "10/1/2020", "1/1/2021"], utc=True),
        pd.Series(pd.to_datetime(["9/1/2020", "10/1/2020", "1/1/2021"])).astype(object),
        pd.Series([9, 10, 100.0], dtype=object),
        pd.Series([9, 10, 100], dtype="Int64"),
    ],
)
def test_times_are_numbers_or_dates(time):
    train, _, test = split_molecules(["C"] * 3, "time", sizes=(0.7, 0, 0.3), time=time)
    assert (train.tolist(), test.tolist()) == ([0, 1], [2])


def test_times_that_are_none():
    with pytest.raises(
        InvalidValueError, match=r"got type <U9. Convert texts with pandas.to_datet"
    ):
        split_molecules(["C"] * 3, "time", time=["9/1/2020", "10/1/2020", "1/1/2021"])
    with pytest.raises(InvalidValueError, match="time of sample 1 is missing"):
        split_molecules(["C"] * 3, "time", time=pd.Series([1, pd.NA, 2], dtype=object))
    with pytest.raises(ShapeError, match="one number or date for each of 3 samples"):
        split_molecules(["C"] * 3, "time", time=[1, 2])


def test_two_parts(smiles):
    train, validation, test = split_molecules(smiles, "random", sizes=(0.9, 0.1, 0), random_state=0)
    assert [len(train), len(validation), len(test)] == [90, 10, 0]


def test_leaks_are_found():
    texts = [
        "CCO",
        "OCC",
        "C[C@H](N)C(=O)O",
        "C[C@@H](N)C(=O)O",
        "Oc1ccccn1",
        "O=c1cccc[nH]1",
        "CCC",
    ]
    report = leakage(texts, Split(np.array([0, 2, 4]), np.array([], int), np.array([1, 3, 5, 6])))
    assert report.duplicates == ((1, 0),)
    assert report.stereo == ((3, 2),)
    assert report.tautomers == ((5, 4),)
    assert str(report) == (
        "of 4 tested molecules among those to learn from: 1 the same, 1 the same but for "
        "stereochemistry, 1 tautomers"
    )
    clean = leakage(["CCO", "CCC"], split_molecules(["CCO", "CCC"], "random", sizes=(0.5, 0, 0.5)))
    assert str(clean) == "none of 1 tested molecules is among those to learn from"


def test_leaks_of_the_part_to_check_with():
    texts = ["CCO", "OCC", "CCN", "C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O"]
    report = leakage(texts, Split([2], [0], [1]))
    assert report.duplicates == ((1, 0),)
    assert str(report) == (
        "of 1 tested molecules among those to learn from or to check with: 1 the same"
    )
    report = leakage(texts, ([0, 4], [1, 3], np.arange(5) == 2))
    assert report.validation == ((1, 0), (3, 4))
    assert str(report) == (
        "none of 1 tested molecules is among those to learn from or to check with; 2 of 2 to check "
        "with are among those to learn from"
    )


@pytest.mark.parametrize("split", [([0], [1]), 3, ([0], [], [3]), ([0.5], [], [1]), [["a"]] * 3])
def test_splits_that_are_none(split):
    with pytest.raises(OptionError, match="three lists of rows among 3 molecules: train, validat"):
        leakage(["C", "CC", "CCC"], split)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "other"}, "kind"),
        ({"sizes": (0.5, 0.5)}, "three shares"),
        ({"sizes": (0.5, 0.4, 0.2)}, "add up to 1"),
        ({"kind": "time"}, "needs it"),
        ({"time": [1, 2]}, "goes with"),
    ],
)
def test_bad_options(options, words):
    with pytest.raises(OptionError, match=words):
        split_molecules(["C", "CC"], **options)


@pytest.mark.parametrize(
    ("kind", "sizes", "words"),
    [
        ("scaffold", (0.8, 0.1, 0.1), "the validation part of the split is empty: its share of 10 "
         "molecules is 1, and no scaffold or cluster that is left is small enough; use more "
         "molecules, a larger share in sizes=, or kind='random'"),
        ("scaffold-balanced", (0.8, 0, 0.2), "the test part .* molecules is 2, and no scaffold"),
        ("cluster", (0.8, 0.2, 0), "the validation part .* molecules is 2, and no scaffold or cl"),
        ("random", (0.05, 0.45, 0.5), "the train part of the split is empty: its share of 10 "
         "molecules is 0.5; use more molecules, a larger share in sizes=$"),
        ("time", (0.9, 0.05, 0.05), "the validation part .* is 0.5; use more molecules, a larger"),
    ],
)  # fmt: skip
def test_parts_that_come_out_empty(kind, sizes, words):
    time = {"time": np.arange(10)} if kind == "time" else {}
    with pytest.raises(OptionError, match=words):
        split_molecules(["CCO"] * 10, kind, sizes=sizes, **time)


def test_bad_molecules_and_too_many(monkeypatch):
    with pytest.raises(InvalidValueError, match=r"row 1 \('C\('\): not a valid SMILES; leave"):
        split_molecules(["C", "C("])
    monkeypatch.setattr("caveat.molecules.splits._MOST", 1)
    with pytest.raises(OptionError, match="compares all pairs"):
        split_molecules(["C", "CC"], "cluster")
