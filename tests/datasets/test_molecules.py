"""Molecules with a property: files of the user's folder, and enthalpies of formation."""

import lzma

import numpy as np
import pytest

from caveat.datasets import load_molecules
from caveat.exceptions import FileFormatError, OptionError

QM9 = """Index,SMILES,nH,nC,nN,nO,nF,H298_atomization_kcal_mol
1,C,4,1,0,0,0,-401.0149
2,N,3,0,1,0,0,-280.3995
3,NA,2,0,0,1,0,-223.0
4,CF,3,1,0,0,1,-400.0
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "molecules").mkdir()
    (tmp_path / "qm9").mkdir()
    monkeypatch.setenv("CAVEAT_DATA", str(tmp_path))
    return tmp_path


def test_enthalpies_of_formation(folder):
    path = folder / "qm9" / "qm9_scalars_smiles.csv.xz"
    path.write_bytes(lzma.compress(QM9.encode()))
    table = load_molecules("qm9")
    # Methane of four H and one C; fluorine is left out.
    assert table.smiles == ["C", "N", "NA"]
    assert table.y[0] == pytest.approx(-401.0149 + 171.29 + 4 * 52.103)
    assert table.y[1] == pytest.approx(-280.3995 + 112.97 + 3 * 52.103)
    raw = load_molecules("qm9", target="H298_atomization_kcal_mol")
    assert raw.y.tolist() == [-401.0149, -280.3995, -223.0, -400.0]
    assert raw.description == "QM9: H298_atomization_kcal_mol"
    assert (len(raw), raw.unit) == (4, "")


def test_a_table(folder):
    (folder / "molecules" / "freesolv.csv").write_text("smiles,expt\nCCO ,-1.5\nC,2\n")
    table = load_molecules("freesolv")
    assert table.smiles == ["CCO", "C"]
    np.testing.assert_array_equal(table.y, [-1.5, 2])
    assert repr(table) == (
        "MoleculeTable(2 molecules, FreeSolv: free energy of hydration, kcal/mol)"
    )


def test_what_is_missing(folder, monkeypatch):
    with pytest.raises(OptionError, match="name must be one of"):
        load_molecules("tox21")
    with pytest.raises(OptionError, match=r"has no molecules/qm8\.csv"):
        load_molecules("qm8")
    (folder / "molecules" / "qm8.csv").write_text("smiles,f1\nC,1\n")
    with pytest.raises(FileFormatError, match="lacks the column 'E1-CC2'"):
        load_molecules("qm8")
    (folder / "molecules" / "qm8.csv").write_text("")
    with pytest.raises(FileFormatError, match="cannot be read as a table"):
        load_molecules("qm8")
    monkeypatch.delenv("CAVEAT_DATA")
    with pytest.raises(OptionError, match="is not fetched"):
        load_molecules("esol")
