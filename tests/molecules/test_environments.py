"""Atoms whose neighborhood occurs in no known molecule, and how they are drawn."""

import base64
import re

import numpy as np
import pytest

pytest.importorskip("cuik_molmaker")

import caveat
from caveat.exceptions import InvalidValueError, OptionError, ShapeError
from caveat.molecules import Structures, draw_molecule, unseen_atoms

KNOWN = [
    "CCO", "CC(=O)OC", "c1ccccc1", "c1ccccc1O", "C1CCCCC1", "CC(C)N", "CC#N", "[Na+].[Cl-]",
    "C=CC=O", "c1ccncc1", "CS(=O)(=O)C", "O",
]  # fmt: skip
NEW = [
    "CCCO", "CC(=O)OCC", "c1ccccc1Br", "c1ccc2ccccc2c1", "C1CCCC1", "CC(C)(C)N", "C[NH3+]", "C",
    "[K+].[Cl-]", "[13CH3]CO", "OC(=O)c1ccncc1", "FC(F)(F)c1ccccc1", "CC#CC", "O", "[2H]O[2H]",
]  # fmt: skip


def neighborhoods(text, radius):
    """What is within some bonds of each atom, as nested tuples, without rdkit's fingerprints."""
    from rdkit import Chem

    molecule = Chem.MolFromSmiles(text)
    table = Chem.GetPeriodicTable()
    atoms = list(molecule.GetAtoms())
    known = [
        (
            atom.GetAtomicNum(), atom.GetTotalDegree(), atom.GetTotalNumHs(),
            atom.GetFormalCharge(), atom.IsInRing(),
            int(atom.GetMass() - table.GetAtomicWeight(atom.GetAtomicNum())),
        )
        for atom in atoms
    ]  # fmt: skip
    for _ in range(radius):
        known = [
            (
                known[i],
                tuple(sorted(
                    (str(bond.GetBondType()), known[bond.GetOtherAtomIdx(i)])
                    for bond in atom.GetBonds()
                )),
            )
            for i, atom in enumerate(atoms)
        ]  # fmt: skip
    return known


@pytest.mark.parametrize("radius", [0, 1, 2])
def test_atoms_are_those_whose_neighborhood_is_nowhere(radius):
    theirs = {one for text in KNOWN for one in neighborhoods(text, radius)}
    expected = [[one not in theirs for one in neighborhoods(text, radius)] for text in NEW]
    marked = unseen_atoms(KNOWN, NEW, radius=radius)
    assert [marks.tolist() for marks in marked] == expected
    everything = np.concatenate(marked)
    assert 0 < everything.sum() < len(everything)
    assert not np.concatenate(unseen_atoms(NEW, NEW, radius=radius)).any()


def test_a_new_bond_marks_both_of_its_atoms():
    (marks,) = unseen_atoms(["CCCCC", "CCCO"], ["CCCCCl"])
    assert marks.tolist() == [False, False, False, True, True]
    with pytest.raises(OptionError, match="radius"):
        unseen_atoms(["C"], ["C"], radius=-1)
    with pytest.raises(InvalidValueError, match="not a valid SMILES"):
        unseen_atoms(["C"], ["C("])


def disks(drawn):
    return len(re.findall("<ellipse", drawn))


def test_marked_atoms_have_a_disk():
    assert disks(draw_molecule("CCCCCl")) == 0
    marks = np.array([False, False, False, True, True])
    drawn = draw_molecule("CCCCCl", marked=marks)
    assert disks(drawn) == 2
    assert draw_molecule("CCCCCl", marked=~marks | marks).count("<ellipse") == 5
    assert draw_molecule("CCCCCl", marked=marks & ~marks) == draw_molecule("CCCCCl")
    for wrong in (marks[:4], [3, 4], np.arange(5)):
        with pytest.raises(ShapeError, match="True or False for each of the 5 atoms"):
            draw_molecule("CCCCCl", marked=wrong)


def test_the_page_marks_what_the_model_has_not_seen(tmp_path):
    smiles = ["C" * n + tail for n in range(2, 8) for tail in ("O", "N", "Cl")]
    known = [text for text in smiles if "Cl" not in text]
    rng = np.random.default_rng(0)
    mean = rng.normal(size=len(smiles))
    std = np.where([text in known for text in smiles], 0.1, 1.0)
    result = caveat.evaluate(caveat.Gaussian(mean, std), mean + std, resamples=0, random_state=0)
    page = result.report(tmp_path / "page.html", molecules=Structures(smiles, known=known))
    text = page.read_text(encoding="utf-8")
    text = text[text.index('<section id="molecules"') :]
    shown = text[text.index("Most uncertain") : text.index("Most confidently wrong")]
    pictures = [
        base64.b64decode(one).decode()
        for one in re.findall(r'<img src="data:image/svg\+xml;base64,([^"]+)"', shown)
    ]
    # Chlorine and the carbon that bears it; the molecules of the training have nothing new.
    assert [disks(one) for one in pictures] == [2, 0] * 6
    assert shown.count("2 of 8 atoms in a new neighborhood") == 1
    assert Structures(smiles).unseen(0) is None
    assert Structures(smiles, known=known).unseen(0).tolist() == [False] * 3
