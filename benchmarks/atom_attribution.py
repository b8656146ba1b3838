"""Does an attribution of epistemic uncertainty to atoms point at chemistry that was left out?

``CAVEAT_DATA=folder python benchmarks/atom_attribution.py``; ``docs/molecules.md`` keeps the result. One
part (bromine, ester, ...) after another is left out of ESOL: an ensemble learns from the molecules without
it, and the molecules with it are explained. An attribution is right where it gives the atoms of the part
more than the other atoms of the molecule: by the area under the ROC curve, and by whether the atom with the
most is one of them. What it has to beat needs no model: the number of radii, 0 to 2, at which the
neighborhood of an atom occurs in no molecule of the training (`caveat.molecules.unseen_atoms`).
"""

import argparse

import numpy as np
import pandas as pd
import torch
from rdkit import Chem, RDLogger
from scipy.stats import t as student_t

from caveat.datasets import load_molecules
from caveat.molecules import MoleculeGraphs, MoleculeRegressor, featurize, unseen_atoms
from caveat.molecules.graphs import ragged, starts

PARTS = {
    "bromine": "[Br]",
    "chlorine": "[Cl]",
    "fluorine": "[F]",
    "iodine": "[I]",
    "sulfur": "[#16]",
    "phosphorus": "[#15]",
    "nitro": "[N+](=O)[O-]",
    "hydroxyl": "[OX2H;!$(OC=O)]",
    "ester": "[CX3](=O)[OX2;!$([OX2H])]",
    "ether": "[OD2;!$(OC=O)]([#6])[#6]",
    "ketone": "[CX3](=O)([#6])[#6]",
    "amide": "[NX3][CX3]=O",
    "primary amine": "[NX3H2;!$(NC=O)]",
    "aromatic nitrogen": "[n]",
    "nitrile": "C#N",
    "alkene": "[C;!$(C~[#7,#8])]=[C;!$(C~[#7,#8])]",
    "alkyne": "C#C",
    "naphthalene": "c1ccc2ccccc2c1",
    "quaternary carbon": "[CX4;H0](C)(C)(C)C",
    "aldehyde": "[CX3H1]=O",
}
SETTINGS = {
    "members": 5, "hidden": 64, "depth": 3, "dense": 1, "epochs": 40, "learning_rate": 0.003,
    "batch_size": 50, "aggregation": "norm", "device": "cpu", "random_state": 1,
}  # fmt: skip
"""Those of the study at its quick scale."""
BASELINE = "unseen neighborhoods"


def epistemic(model, graphs):
    """Return the standard deviation of the means of members."""
    prediction = model.predict_distribution(graphs)
    return np.sqrt(prediction.decompose().epistemic.ravel())


def each_atom(graphs):
    """Return each molecule as often as it has atoms, its row, and the atom that each copy is for."""
    counts = graphs.atom_counts.astype(int)
    rows = np.repeat(np.arange(len(graphs)), counts)
    return graphs[rows], rows, ragged(np.zeros(len(graphs), dtype=int), counts)


def masked(graphs, fill):
    """Return copies in which one atom has other features."""
    copies, _, atom = each_atom(graphs)
    atoms = copies.atoms.copy()
    atoms[starts(copies.atom_counts) + atom] = fill
    return MoleculeGraphs(
        copies.smiles, atoms, copies.bonds, copies.ends, copies.atom_counts, copies.bond_counts,
        copies.rows,
    )  # fmt: skip


def deleted(graphs):
    """Return copies without one atom and its bonds."""
    copies, _, atom = each_atom(graphs)
    keep = np.ones(len(copies.atoms), dtype=bool)
    keep[starts(copies.atom_counts) + atom] = False
    gone = np.repeat(atom, copies.bond_counts)[:, None]
    stay = ~(copies.ends == gone).any(axis=1)
    ends = copies.ends[stay] - (copies.ends[stay] > gone[stay])
    owner = np.repeat(np.arange(len(copies)), copies.bond_counts)[stay]
    return MoleculeGraphs(
        copies.smiles, copies.atoms[keep], copies.bonds[stay], ends.astype(np.int32),
        (copies.atom_counts - 1).astype(np.int32),
        np.bincount(owner, minlength=len(copies)).astype(np.int32), copies.rows,
    )  # fmt: skip


class Gradients:
    """Gradients of what members say, by the features of atoms."""

    def __init__(self, model, graphs, center):
        self.networks = [model._trained().module(i).eval() for i in range(model.members)]
        self.batch, self.center = graphs.batch(), torch.from_numpy(center)
        first = np.repeat(starts(graphs.atom_counts), graphs.bond_counts)[:, None]
        self.source = torch.from_numpy((graphs.ends + first).reshape(-1).astype(np.int64))

    def at(self, share, *, members=False):
        """Return gradients at a share of the way from the mean features to those of the atoms."""
        given = self.batch.atoms
        atoms = (self.center + share * (given - self.center)).requires_grad_()
        edges = torch.cat([atoms[self.source], self.batch.edges[:, atoms.shape[1] :]], dim=1)
        batch = self.batch._replace(atoms=atoms, edges=edges)
        means = torch.stack([network(batch)[:, 0, 0] for network in self.networks])
        of = means if members else means.std(0, unbiased=False)[None]
        found = [torch.autograd.grad(one.sum(), atoms, retain_graph=True)[0] for one in of]
        return torch.stack(found)

    def times_input(self, gradients):
        return (gradients * (self.batch.atoms - self.center)).sum(-1).numpy()


def attributions(model, graphs, center):
    """Return scores of all atoms, by the name of the attribution."""
    rows = each_atom(graphs)[1]
    whole = epistemic(model, graphs)[rows]
    made = Gradients(model, graphs, center)
    here = made.at(1.0)
    path = torch.stack([made.at((step + 0.5) / 16)[0] for step in range(16)]).mean(0)
    return {
        "masked by zeros": whole - epistemic(model, masked(graphs, 0.0)),
        "masked by means": whole - epistemic(model, masked(graphs, center)),
        "deleted": whole - epistemic(model, deleted(graphs)),
        "gradient times input": made.times_input(here)[0],
        "integrated gradients": made.times_input(path),
        "norm of the gradient": here[0].norm(dim=1).numpy(),
        "spread of members' gradients": made.times_input(made.at(1.0, members=True)).std(0),
    }


def area(score, inside):
    """Return the area under the ROC curve; ties count half."""
    return (np.sign(score[inside][:, None] - score[~inside]).mean() + 1) / 2


def top(score, inside):
    """Return whether the highest score is inside; a share of ties."""
    return inside[score >= score.max() - 1e-12].mean()


def left_out(part, molecules):
    """Return atoms of the part in each molecule, the molecules without it, and those to explain."""
    query = Chem.MolFromSmarts(PARTS[part])
    atoms = [{a for match in m.GetSubstructMatches(query) for a in match} for m in molecules]
    some = [0 < len(own) < m.GetNumAtoms() for own, m in zip(atoms, molecules, strict=True)]
    return atoms, np.flatnonzero([not own for own in atoms]), np.flatnonzero(some)


def unseen(smiles, train, test, radius):
    """Return for each atom of the test whether its neighborhood is unseen."""
    known, new = [smiles[i] for i in train], [smiles[i] for i in test]
    return np.concatenate(unseen_atoms(known, new, radius=radius))


def marks(smiles, molecules, parts):
    """Print which atoms each radius marks, with a part left out and with a tenth left out."""
    rows = []
    for part in parts:
        atoms, train, test = left_out(part, molecules)
        sizes = [molecules[i].GetNumAtoms() for i in test]
        inside = np.concatenate(
            [np.isin(np.arange(n), list(atoms[i])) for i, n in zip(test, sizes, strict=True)]
        )
        for radius in range(3):
            marked = unseen(smiles, train, test, radius)
            rows.append((radius, marked[inside].mean(), marked[~inside].mean()))
    table = pd.DataFrame(rows, columns=["radius", "atoms of the part", "other atoms"])
    table = table.groupby("radius").mean()
    order = np.random.default_rng(0).permutation(len(smiles))
    tenth = round(0.1 * len(smiles))
    table["left out at random"] = [
        unseen(smiles, order[tenth:], order[:tenth], radius).mean() for radius in range(3)
    ]
    print(f"share of marked atoms, {len(parts)} parts\n{table.round(3).to_string()}")


def measure(part, smiles, molecules, y, graphs):
    """Return a row for each molecule with the part and each attribution."""
    atoms, train, test = left_out(part, molecules)
    sizes = [m.GetNumAtoms() for m in molecules]
    model = MoleculeRegressor(**SETTINGS).fit(graphs[train], y[train])
    scores = attributions(model, graphs[test], graphs[train].atoms.mean(axis=0))
    by_radius = [unseen(smiles, train, test, radius) for radius in range(3)]
    scores[BASELINE] = np.sum(by_radius, axis=0).astype(float)
    owner = np.repeat(np.arange(len(test)), [sizes[i] for i in test])
    rows = []
    for place, row in enumerate(test):
        inside = np.isin(np.arange(sizes[row]), list(atoms[row]))
        for name, score in scores.items():
            own = score[owner == place]
            rows.append((part, name, len(test), area(own, inside), top(own, inside), inside.mean()))
    return pd.DataFrame(
        rows, columns=["part", "attribution", "molecules", "area", "top", "by chance"]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--marks", action="store_true", help="shares of marked atoms alone")
    given = parser.parse_args()
    RDLogger.DisableLog("rdApp.*")
    table = load_molecules("esol")
    molecules = [Chem.MolFromSmiles(text) for text in table.smiles]
    if given.marks:
        marks(table.smiles, molecules, given.parts)
        return
    graphs = featurize(table.smiles)
    frames = []
    for part in given.parts:
        frames.append(measure(part, table.smiles, molecules, table.y, graphs))
        means = frames[-1].groupby("attribution", sort=False).mean(numeric_only=True)
        print(f"\n{part}\n{means.round(3).to_string()}", flush=True)
    # A part counts once, however many molecules have it.
    every = pd.concat(frames).groupby(["attribution", "part"], sort=False).mean(numeric_only=True)
    area_of = every["area"].unstack("attribution")
    every = every.groupby("attribution", sort=False).mean()
    less = area_of.sub(area_of[BASELINE], axis=0)
    half = student_t.ppf(0.975, len(less) - 1) * less.sem()
    every["less the baseline"], every["low"] = less.mean(), less.mean() - half
    every["high"], every["parts above"] = less.mean() + half, (less > 0).sum()
    print(f"\nmean of {len(frames)} parts\n{every.round(3).to_string()}")


if __name__ == "__main__":
    main()
