"""What is odd about molecules, and what native code makes of it."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("cuik_molmaker")

from caveat.exceptions import OptionError, ShapeError
from caveat.molecules import (
    MoleculeRegressor,
    featurize,
    molecule_report,
    scaffolds,
    split_molecules,
)
from caveat.molecules.checks import _KNOWN_ATOMS

ODD = ["CCO", "OCC", "C(C", "", None, "[Na+].[Cl-]", "[U]", "C", "c1ccccc1", "CC*", "C" * 20_000]


def test_every_kind_is_listed_with_its_rows():
    y = [1.0, 3.0, 0, 0, 0, 1.0, 2.0, np.nan, 4.0, 5.0, 6.0]
    report = molecule_report(ODD, y)
    assert [row for row, _ in report.invalid] == [2, 3, 4, 10]
    assert dict(report.invalid)[10] == "20000 atoms; most_atoms=1000"
    assert report.mixtures == (5,)
    assert report.unknown_atoms == ((6, "U"), (9, "*"))
    assert report.single_atoms == (6, 7)
    assert report.without_scaffold == (0, 1, 5, 6, 7, 9)
    assert report.missing == (7,)
    assert report.duplicates == report.conflicts == ((0, 1),)
    assert report.largest_conflict == 2
    text = str(report)
    assert "4 cannot be read: rows 2 (not a valid SMILES), 3 (no atoms)" in text
    assert "rows 0, 1, 5, 6, 7 and 1 more" in text
    assert "by up to 2: rows 0 and 1" in text


def test_labels_targets_and_nothing():
    report = molecule_report(["c1ccccc1", "c1ccccc1", "c1ccncc1"], ["a", "b", None])
    assert report.conflicts == ((0, 1),)
    assert report.missing == (2,)
    assert np.isnan(report.largest_conflict)
    same = molecule_report(["c1ccccc1", "c1ccccc1"], ["a", "a"])
    assert (same.duplicates, same.conflicts) == (((0, 1),), ())
    frame = pd.DataFrame({"s": ["c1ccccc1", "c1ccccc1"], "a": [1.0, 1.0], "b": [np.nan, 2.0]})
    two = molecule_report(frame, frame[["a", "b"]], column="s")
    assert (two.conflicts, two.missing) == ((), ())
    assert str(molecule_report(["c1ccccc1"])) == "1 molecules, nothing odd"
    with pytest.raises(ShapeError, match="y must have shape"):
        molecule_report(["C"], [1, 2])
    with pytest.raises(OptionError, match="no column"):
        molecule_report(frame, column="x")


def test_known_atoms_are_those_with_a_feature_of_their_own():
    from rdkit.Chem import GetPeriodicTable

    symbol = GetPeriodicTable().GetElementSymbol
    atoms = featurize([f"[{symbol(z)}]" for z in range(1, 119)]).atoms
    others = {z for z in range(1, 119) if atoms[z - 1, 37]}
    assert others == set(range(1, 119)) - _KNOWN_ATOMS


def test_odd_molecules_are_learned_from_and_split_all_the_same():
    fine = [text for i, text in enumerate(ODD) if i not in (2, 3, 4, 10)] * 2
    y = np.arange(float(len(fine)))
    model = MoleculeRegressor(members=1, hidden=4, epochs=1, random_state=0).fit(fine, y)
    assert np.isfinite(model.predict(fine)).all()
    assert set(scaffolds(fine)) == {"", "c1ccccc1"}
    parts = list(split_molecules(fine, "scaffold", sizes=(0.5, 0, 0.5)))
    assert sum(map(len, parts)) == len(fine)
    kept = featurize(ODD, on_error="drop")
    assert kept.rows.tolist() == [0, 1, 5, 6, 7, 8, 9]
