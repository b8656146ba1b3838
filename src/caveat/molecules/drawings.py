"""Molecules as drawings, and the molecules behind an evaluation."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import to_numpy
from .._validation import check_integer
from ..exceptions import OptionError, ShapeError
from .domain import Applicability, applicability
from .environments import RADIUS, environments, unseen_in
from .features import as_smiles, read_molecules

__all__ = ["Structures", "draw_molecule"]

MOST_DRAWN = 150
"""Atoms of the largest molecule that is drawn; more are a tangle, and take long."""

MARK = (1.0, 0.8, 0.5)
"""Red, green and blue of marked atoms, from 0 to 1: light, so that lines stay visible."""

CLIFF = 0.6
"""The least Tanimoto similarity of two molecules that ought to have similar values."""

_PLAIN = (
    (re.compile(r"<\?xml.*?\?>\s*|<!--.*?-->\s*| class='[^']*'"), ""),
    (re.compile(r";stroke-(?:width:2\.0px|linecap:butt|linejoin:miter|opacity:1)"), ""),
    (re.compile(r"fill-rule:evenodd;"), ""),
    (re.compile(r"<svg\b"), "<svg stroke-width='2'"),
)
"""What a drawing of rdkit says again and again, and can do without."""


def draw_molecule(smiles: str, *, width: int = 220, height: int = 150, marked: Any = None) -> str:
    """Draw a molecule as SVG.

    Parameters
    ----------
    smiles : str
    width : int, default=220
        In pixels.
    height : int, default=150
    marked : array of bool of shape (atoms,), optional
        Atoms with a colored disk behind them, such as those of `unseen_atoms`.

    Returns
    -------
    str
        An SVG document, with no text of the SMILES in it; empty for a molecule of more than 150
        atoms, which nobody could read.

    Examples
    --------
    >>> draw_molecule("CCO").startswith("<svg")
    True
    """
    from rdkit.Chem.Draw.rdMolDraw2D import MolDraw2DSVG, PrepareAndDrawMolecule

    check_integer(width, "width")
    check_integer(height, "height")
    molecule = read_molecules([smiles])[0]
    if molecule.GetNumAtoms() > MOST_DRAWN:
        return ""
    for atom in molecule.GetAtoms():  # labels of extended SMILES are anybody's text
        for name in ("atomLabel", "atomNote", "_displayLabel", "_displayLabelW"):
            atom.ClearProp(name)
    drawing: Any = MolDraw2DSVG(width, height)
    drawing.drawOptions().clearBackground = False
    disks = dict.fromkeys(_atoms(marked, molecule.GetNumAtoms()), MARK)
    PrepareAndDrawMolecule(drawing, molecule, highlightAtoms=[*disks], highlightAtomColors=disks)
    drawing.FinishDrawing()
    text = drawing.GetDrawingText()
    for pattern, plain in _PLAIN:
        text = pattern.sub(plain, text)
    return str(text.strip())


def _atoms(marked: Any, atoms: int) -> list[int]:
    """Return the numbers of marked atoms."""
    if marked is None:
        return []
    marks = np.asarray(marked)
    if marks.shape != (atoms,) or marks.dtype != bool:
        raise ShapeError(
            f"marked must have True or False for each of the {atoms} atoms; got {marks.dtype} "
            f"of shape {marks.shape}"
        )
    return [int(atom) for atom in np.flatnonzero(marks)]


@dataclass(frozen=True, eq=False)
class Structures:
    """The molecules of an evaluation, and those that the model learned from.

    `caveat.report.write_report(evaluation, path, molecules=...)` draws the most uncertain ones, the
    most confidently wrong ones and the worst activity cliffs, each beside the most similar molecule
    that the model learned from.

    Parameters
    ----------
    smiles : list of str, Series, array, or frame with ``column``
        One for each sample of the evaluation.
    known : the same, optional
        The molecules that the model learned from.
    known_values : array of shape (molecules,) or (molecules, targets), optional
        Their values or classes.
    column : str, optional
        The column of frames that holds the SMILES.

    Examples
    --------
    >>> from caveat.molecules import Structures
    >>> behind = Structures(["CCO", "CCCCN"], known=["CCCO", "CCCN"], known_values=[1.0, 2.0])
    >>> behind.near.nearest.tolist()
    [0, 1]
    >>> behind.cliffs([1.1, 9.0], least_similarity=0.3).tolist()
    [1, 0]
    """

    smiles: Any
    known: Any = None
    known_values: Any = None
    column: str | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "smiles", as_smiles(self.smiles, self.column))
        if self.known is None:
            if self.known_values is not None:
                raise OptionError("known_values are of known molecules: pass known=, too")
            return
        put(self, "known", as_smiles(self.known, self.column))
        if self.known_values is not None:
            values = np.asarray(to_numpy(self.known_values, "known_values").array)
            if values.shape[:1] != (len(self.known),) or values.ndim > 2:
                raise ShapeError(
                    f"known_values must have shape ({len(self.known)},) or ({len(self.known)}, "
                    f"targets); got {values.shape}"
                )
            put(self, "known_values", values.reshape(len(values), -1))

    def __len__(self) -> int:
        return len(self.smiles)

    @cached_property
    def near(self) -> Applicability | None:
        """Where the molecules lie relative to the known ones; None without these."""
        return None if self.known is None else applicability(self.known, self.smiles)

    @cached_property
    def _seen(self) -> frozenset[int]:
        return environments(self.known, RADIUS)

    def unseen(self, row: int) -> NDArray[np.bool_] | None:
        """Return the atoms whose neighborhood occurs in no known molecule; see `unseen_atoms`.

        Parameters
        ----------
        row : int
            The molecule.

        Returns
        -------
        ndarray of bool of shape (atoms,), or None
            None without known molecules.
        """
        if self.known is None:
            return None
        return unseen_in(self._seen, [self.smiles[row]], RADIUS)[0]

    def nearest_values(self, target: int = 0) -> NDArray[Any] | None:
        """Return the value of the most similar known molecule; None without values.

        Parameters
        ----------
        target : int, default=0
        """
        if self.near is None or self.known_values is None:
            return None
        return np.asarray(self.known_values[self.near.nearest, target])

    def cliffs(
        self,
        values: Any,
        rows: Any = None,
        *,
        target: int = 0,
        least_similarity: float = CLIFF,
    ) -> NDArray[np.int64]:
        """Return the rows of activity cliffs, the worst first.

        A cliff is a molecule that is similar to a known one and has another value: of numbers those
        with the largest difference come first, of classes the most similar ones of another class.

        Parameters
        ----------
        values : array of shape (rows,)
            The true values or classes.
        rows : array of int, optional
            The molecules that they are of; by default all.
        target : int, default=0
            Which of the ``known_values``.
        least_similarity : float, default=0.6
            Tanimoto similarity from which two molecules ought to have similar values.

        Returns
        -------
        ndarray of int
        """
        theirs, own = self.nearest_values(target), np.asarray(values)
        if theirs is None or self.near is None:
            return np.zeros(0, dtype=np.int64)
        asked = np.arange(len(self)) if rows is None else np.asarray(rows)
        near, theirs = self.near.similarity[asked], theirs[asked]
        if own.dtype.kind in "fiu" and theirs.dtype.kind in "fiu":
            height = np.abs(own - theirs).astype(np.float64)
        else:
            height = np.where(own.astype(str) != theirs.astype(str), near, 0.0)
        places = np.flatnonzero((near >= least_similarity) & (height > 0))
        return np.asarray(asked[places[np.argsort(-height[places], kind="stable")]])
