"""Graphs of molecules: chemprop's features, and arrays that can be cut and joined."""

import numpy as np
import pandas as pd
import pytest

chemprop = pytest.importorskip("chemprop")

from chemprop.data.collate import BatchMolGraph  # noqa: E402
from chemprop.featurizers import SimpleMoleculeMolGraphFeaturizer  # noqa: E402
from rdkit import Chem  # noqa: E402

from caveat.exceptions import FileFormatError, InvalidValueError, OptionError, ShapeError  # noqa: E402
from caveat.molecules import MoleculeGraphs, applicability, featurize, molecule_report, scaffolds  # noqa: E402

SMILES = ["CCO", "c1ccccc1C(=O)O", "C", "[Na+].[Cl-]", "C[C@H](N)C(=O)O", "F/C=C/F", "[U]", "CC*"]


@pytest.fixture(scope="module")
def graphs():
    return featurize(SMILES)


def test_features_are_those_of_chemprop(graphs):
    make = SimpleMoleculeMolGraphFeaturizer()
    oracle = BatchMolGraph([make(Chem.MolFromSmiles(text)) for text in SMILES])
    np.testing.assert_allclose(graphs.atoms, oracle.V.numpy(), atol=1e-6)
    np.testing.assert_allclose(np.repeat(graphs.bonds, 2, axis=0), oracle.E.numpy(), atol=1e-6)
    shift = np.repeat(np.cumsum(graphs.atom_counts) - graphs.atom_counts, graphs.bond_counts)
    ends = graphs.ends + shift[:, None]
    np.testing.assert_array_equal(ends.reshape(-1), oracle.edge_index[0].numpy())
    np.testing.assert_array_equal(ends[:, ::-1].reshape(-1), oracle.edge_index[1].numpy())


@pytest.mark.parametrize(
    "text", ["N->[Fe]", "[NH3][Fe]", "[Re]$[Re]", "[Fe]~C", "c1ccccc1~c1ccccc1",
             "c1ccc2c(c1)~c1ccccc1~2", "C1=CC=[N]2C(=C1)C1=CC=CC=[N]1->[Fe]<-2", "C=C~C=C",
             "C1=CC(=O)O->[Fe]1", "C=C->[Fe]", "C1=C~C=C1", "C#C~c1ccccc1C=O"],
)  # fmt: skip
def test_unusual_bonds_have_no_type_as_in_chemprop(text):
    oracle = SimpleMoleculeMolGraphFeaturizer()(Chem.MolFromSmiles(text))
    bonds = featurize([text]).bonds
    np.testing.assert_allclose(np.repeat(bonds, 2, axis=0), oracle.E, atol=1e-6)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_molecules(missing):
    given = pd.Series(["CC", missing, "CO"], dtype=object if missing is None else "string")
    with pytest.raises(InvalidValueError, match=r"smiles of row 1 is .*; expected text"):
        featurize(given)
    assert featurize(given, on_error="drop").rows.tolist() == [0, 2]
    report = molecule_report(given, pd.Series(["a", pd.NA, "b"], dtype="string"))
    assert report.invalid == ((1, "no atoms"),)
    assert report.missing == (1,)


def test_some_molecules_are_those_molecules(graphs):
    rows = [4, 0, 2, 4]
    some = graphs[rows]
    again = featurize([SMILES[row] for row in rows])
    for name in ("atoms", "bonds", "ends", "atom_counts", "bond_counts"):
        np.testing.assert_array_equal(getattr(some, name), getattr(again, name))
    assert some.rows.tolist() == rows
    assert len(graphs[np.array([True] + [False] * 7)]) == 1
    with pytest.raises(ShapeError, match="slice, a mask"):
        graphs[0]


def test_joined_and_saved(graphs, tmp_path):
    joined = MoleculeGraphs.concat([graphs[:3], graphs[3:]])
    joined.save(tmp_path / "graphs.npz")
    read = MoleculeGraphs.load(tmp_path / "graphs.npz")
    assert repr(read) == f"MoleculeGraphs: 8 molecules, {len(graphs.atoms)} atoms"
    for name in ("smiles", "atoms", "bonds", "ends", "atom_counts", "bond_counts", "rows"):
        np.testing.assert_array_equal(getattr(read, name), getattr(graphs, name))
    (tmp_path / "other.npz").write_bytes(b"no file of arrays")
    with pytest.raises(FileFormatError, match="not a file of molecular graphs"):
        MoleculeGraphs.load(tmp_path / "other.npz")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*none\.npz"):
        MoleculeGraphs.load(tmp_path / "none.npz")


def test_arrays_that_do_not_fit_are_refused(graphs):
    parts = vars(graphs)
    with pytest.raises(ShapeError, match=r"atoms has .* entries; expected"):
        MoleculeGraphs(**{**parts, "atoms": graphs.atoms[1:]})
    ends = graphs.ends.copy()
    ends[0, 0] = 3
    with pytest.raises(ShapeError, match="atoms that are not in their molecule"):
        MoleculeGraphs(**{**parts, "ends": ends})


def test_what_is_no_molecule_is_listed():
    texts = ["CCO", "C(C", "", "C" * 2001, "[" * 60_000]
    with pytest.raises(InvalidValueError) as error:
        featurize(texts)
    message = str(error.value)
    assert "4 of 5 molecules cannot be read: row 1 ('C(C'): not a valid SMILES" in message
    assert "row 2 (''): no atoms" in message
    assert "row 3" in message
    assert "2001 atoms; most_atoms=1000" in message
    assert "60000 characters" in message
    kept = featurize(texts, on_error="drop")
    assert kept.rows.tolist() == [0]
    assert kept.smiles.tolist() == ["CCO"]
    with pytest.raises(InvalidValueError, match="is this the column"):
        featurize(["hello", "world"], on_error="drop")
    many = ["x"] * 9 + ["C"]
    with pytest.raises(InvalidValueError, match="and 4 more; mend them"):
        featurize(many)


@pytest.mark.parametrize(
    "text", ["C" * 10_000, "C" * 200_000, "C(" * 10_000 + "C" + ")" * 10_000, "C1CCCCC1" * 1500,
             "[H][H]." * 600 + "[H][H]", "[H]" * 6000, "C." * 2000 + "C"],
)  # fmt: skip
def test_what_is_too_large_is_said_before_anything_native_sees_it(text):
    for ask in (featurize, scaffolds, lambda texts: applicability(["CC"], texts)):
        with pytest.raises(InvalidValueError, match="most_atoms=1000"):
            ask(["CCO", text])
    assert featurize(["CCO", text], on_error="drop").rows.tolist() == [0]


def test_hydrogens_that_are_written_do_not_count():
    text = "[H]" + "C([H])([H])" * 30 + "[H]"
    assert featurize([text], most_atoms=31).atom_counts.tolist() == [30]


def test_blocks_and_processes_change_nothing(graphs, monkeypatch, capsys):
    monkeypatch.setattr("caveat.molecules.features._BLOCK", 3)
    texts = [*SMILES[:3], "nothing", "nor", "this", *SMILES[3:]]
    some = featurize(texts, on_error="drop", n_jobs=2, progress=True)
    assert some.rows.tolist() == [0, 1, 2, 6, 7, 8, 9, 10]
    np.testing.assert_array_equal(some.atoms, graphs.atoms)
    assert "reading molecules" in capsys.readouterr().err


def test_the_cache_is_by_content(tmp_path, monkeypatch):
    first = featurize(["CCO", "CC"], cache=tmp_path)
    monkeypatch.setattr("caveat.molecules.features._graphs", None)
    again = featurize(["CCO", "CC"], cache=tmp_path)
    np.testing.assert_array_equal(first.atoms, again.atoms)
    with pytest.raises(TypeError):  # other molecules are read anew
        featurize(["CCO", "CCC"], cache=tmp_path)


@pytest.mark.parametrize("damage", ["nothing", "text", "half", "zeros", "other", "one"])
def test_a_damaged_file_in_the_cache_is_made_anew(tmp_path, damage):
    first = featurize(["CCO", "CC"], cache=tmp_path)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    half = len(whole) // 2
    if damage == "other":
        np.savez(path, smiles=["C"])
    elif damage == "one":
        with path.open("wb") as file:
            np.save(file, np.zeros(3))
    else:
        parts = {"nothing": b"", "text": b"oops", "half": whole[:half]}
        path.write_bytes(parts.get(damage, whole[: half // 2] + bytes(half) + whole[-half:]))
    again = featurize(["CCO", "CC"], cache=tmp_path)
    np.testing.assert_array_equal(first.atoms, again.atoms)
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "text", ["CC\u00d6", "\u00d6CC", "CC\nO", "CC\u00a0O", "C\u200bC", "C\x00C"]
)
def test_letters_that_no_smiles_has(text):
    for ask in (featurize, scaffolds, lambda texts: applicability(["CC"], texts)):
        with pytest.raises(InvalidValueError, match=r"row 1 .* not a valid SMILES: it has '"):
            ask(["CCO", text])
    assert molecule_report(["CCO", text]).invalid[0][0] == 1
    around = featurize(["CCO\n", " CCO", "CCO\u00a0", "CCO\tethanol"])
    assert around.atom_counts.tolist() == [3] * 4


def test_a_generator_is_read_once():
    assert featurize(text for text in ["CCO", "CC"]).smiles.tolist() == ["CCO", "CC"]
    assert scaffolds(iter(["C1CC1", "CC"])).tolist() == ["C1CC1", ""]


@pytest.mark.parametrize(
    ("smiles", "options", "error", "words"),
    [
        ({"CCO", "CC"}, {}, InvalidValueError, "texts in an order, as a list, .*; got a set$"),
        ({"CCO": 1.0}, {}, InvalidValueError, "as a list, a Series or .*; got a dict$"),
        (np.array([["CCO"]]), {}, InvalidValueError, "an array of one axis; got a ndarray$"),
        ("CCO", {}, InvalidValueError, "a list of SMILES"),
        ([], {}, InvalidValueError, "empty"),
        (["C", None, 3.0], {}, InvalidValueError, r"row 1 is None.*1 more"),
        (["C", None], {}, InvalidValueError, r"row 1 is None; expected text$"),
        (["C"], {"column": "x"}, OptionError, "needs a frame"),
        (["C"], {"on_error": "skip"}, OptionError, "on_error"),
    ],
)
def test_bad_input(smiles, options, error, words):
    with pytest.raises(error, match=words):
        featurize(smiles, **options)


def test_frames():
    import pandas as pd

    frame = pd.DataFrame({"mol": ["CCO"], "y": [1.0]})
    assert len(featurize(frame, column="mol")) == 1
    assert len(featurize(frame["mol"])) == 1
    with pytest.raises(OptionError, match="a frame needs column="):
        featurize(frame)
    with pytest.raises(OptionError, match="no column 'smiles'; the frame has 'mol', 'y'"):
        featurize(frame, column="smiles")


def test_without_rdkit_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "rdkit", None)
    with pytest.raises(ImportError, match=r"caveat\[molecules\]"):
        featurize(["CCO"])
