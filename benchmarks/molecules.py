"""Networks over molecules: 15 members at once against chemprop's trainer, reading, and predicting.

``python benchmarks/molecules.py``; ``docs/performance.md`` keeps the result. chemprop trains one member
after another with lightning's trainer, its graphs cached, with everything switched off that logs, saves
or draws; it trains ``--theirs`` members, and the time of 15 is scaled from these, since one run does not
know of another. Both have the same width, depth, batches, epochs, loss and molecules. Each pair is timed
in turns on one thread, the best of ``--repeats`` counts, and importing is not counted. Seconds are those
of the processor, so that they hold on a shared machine.

``--paper`` times the published network instead, 15 members at once against one by one in the same loop,
by the clock: ``python benchmarks/molecules.py --paper --device cuda --graphs qm9.npz``, with graphs that
``MoleculeGraphs.save`` wrote where rdkit is.

The molecules are those of ESOL, if the environment variable ``CAVEAT_DATA`` names a folder with
``molecules/delaney-processed.csv``, or else chains and rings that are as many and about as large.
"""

import argparse
import logging
import os
import resource
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import torch

from caveat.molecules import MoleculeGraphs, MoleculeRegressor, featurize
from caveat.molecules.packed import PackedGraphs

MEMBERS, BATCH, RATE = 15, 50, 1e-3
_TARGET = "measured log solubility in mols per litre"


def esol():
    """Return SMILES and values, and where they are from."""
    path = Path(os.environ.get("CAVEAT_DATA", ""), "molecules", "delaney-processed.csv")
    if path.is_file():
        import pandas as pd

        frame = pd.read_csv(path)
        return frame["smiles"].str.strip().tolist(), frame[_TARGET].to_numpy(), "ESOL"
    tails = ("O", "N", "=O", "c1ccccc1", "c1ccc2ccccc2c1", "C(=O)OC", "Cl", "C1CCNCC1", "S", "F")
    smiles = [f"{'C' * n}C({a}){'C' * m}" for n in range(8) for m in range(1, 15) for a in tails]
    return smiles, np.array([float(len(text)) for text in smiles]), "generated molecules"


def to_predict(smiles, count):
    """Return molecules to predict, none twice where those of QM9 are at hand, and where they are from."""
    path = Path(os.environ.get("CAVEAT_DATA", ""), "qm9", "qm9_scalars_smiles.csv.xz")
    if path.is_file():
        import pandas as pd

        return pd.read_csv(path)["SMILES"].sample(count, random_state=0).tolist(), "QM9"
    return (smiles * (1 + count // len(smiles)))[:count], "some of them several times"


def caveat_trains(graphs, y, hidden, epochs):
    MoleculeRegressor(
        members=MEMBERS, hidden=hidden, depth=3, dense=1, epochs=epochs, batch_size=BATCH,
        learning_rate=RATE, validation_fraction=None, device="cpu", random_state=0,
    ).fit(graphs, y)  # fmt: skip


def chemprop_data(smiles, y):
    """Return a data set of chemprop with all graphs made."""
    from chemprop import data

    points = [data.MoleculeDatapoint.from_smi(s, [v]) for s, v in zip(smiles, y, strict=True)]
    dataset = data.MoleculeDataset(points)
    dataset.cache = True
    return dataset


def chemprop_trains(dataset, hidden, epochs, seed):
    """Train one member as chemprop's documentation has it."""
    from chemprop import data, models, nn
    from lightning import pytorch as lightning

    torch.manual_seed(seed)
    loader = data.build_dataloader(dataset, BATCH, num_workers=0, shuffle=True)
    model = models.MPNN(
        nn.BondMessagePassing(d_h=hidden, depth=3),
        nn.MeanAggregation(),
        nn.MveFFN(input_dim=hidden, hidden_dim=hidden, n_layers=1),
        init_lr=RATE, max_lr=RATE, final_lr=RATE, warmup_epochs=1,
    )  # fmt: skip
    lightning.Trainer(
        max_epochs=epochs, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    ).fit(model, loader)  # fmt: skip


def in_turns(functions, repeats, clock=time.process_time):
    """Return the shortest time of each, measured in turns."""
    times = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            begun = clock()
            function()
            times[name].append(clock() - begun)
    return {name: min(some) for name, some in times.items()}


def training(smiles, y, hidden, epochs, theirs, repeats):
    """Print the time of 15 members, ours and theirs."""
    graphs = featurize(smiles)
    dataset = chemprop_data(smiles, y)

    def several():
        for seed in range(theirs):
            chemprop_trains(dataset, hidden, epochs, seed)

    seconds = in_turns(
        {"caveat": lambda: caveat_trains(graphs, y, hidden, epochs), "chemprop": several}, repeats
    )
    scaled = seconds["chemprop"] * MEMBERS / theirs
    name = f"{MEMBERS} members, width {hidden}, {epochs} epochs of {len(smiles)}"
    print(f"| {name} | caveat, at once | {seconds['caveat']:.2f} | 1 | |")
    print(f"| | chemprop's trainer, one by one (from {theirs}) | {scaled:.2f} | "
          f"{scaled / seconds['caveat']:.2f} | >= 3 |")  # fmt: skip


def reading(smiles, repeats):
    """Print the time to make graphs."""
    from chemprop.featurizers import (
        CuikmolmakerMolGraphFeaturizer,
        SimpleMoleculeMolGraphFeaturizer,
    )
    from rdkit import Chem, rdBase

    slow, quick = SimpleMoleculeMolGraphFeaturizer(), CuikmolmakerMolGraphFeaturizer()

    def parse():
        return [Chem.MolFromSmiles(text) for text in smiles]

    with rdBase.BlockLogs():
        seconds = in_turns(
            {
                "caveat": lambda: featurize(smiles),
                "rdkit and chemprop's engine (cuik-molmaker)": lambda: (parse(), quick(smiles)),
                "rdkit and chemprop's default featurizer": lambda: [slow(m) for m in parse()],
            },
            repeats,
        )
    own = seconds.pop("caveat")
    print(f"| graphs of {len(smiles)} molecules | caveat | {own:.3f} | 1 | |")
    for name, time_of in seconds.items():
        print(f"| | {name} | {time_of:.3f} | {time_of / own:.2f} | >= {1 / 1.1:.2f} |")


def predicting(smiles, y, hidden, count, repeats):
    """Print the time to predict, from SMILES, with 15 members."""
    many, source = to_predict(smiles, count)
    model = MoleculeRegressor(
        members=MEMBERS, hidden=hidden, epochs=1, device="cpu", random_state=0
    ).fit(smiles[:200], y[:200])
    networks = [model._trained().module(i).eval() for i in range(MEMBERS)]

    def passes():
        packed = PackedGraphs(featurize(many))
        with torch.no_grad():
            for start in range(0, count, 256):
                batch = packed.pick(torch.arange(start, min(start + 256, count)))
                for network in networks:
                    network(batch)

    seconds = in_turns(
        {"caveat": lambda: model.predict_distribution(many), "passes": passes}, repeats
    )
    own, other = seconds["caveat"], seconds["passes"]
    name = f"{MEMBERS} members of width {hidden} predict {count} molecules ({source})"
    print(f"| {name} | caveat | {own:.2f} | 1 | |")
    print(f"| | featurization and 15 forward passes | {other:.2f} | {other / own:.2f} | "
          f">= {1 / 1.3:.2f} |")  # fmt: skip


def published(graphs, device, epochs, theirs, repeats):
    """Print the time of the published network, 15 members at once and one by one."""
    from caveat.estimators import preset

    y = graphs.atom_counts.astype(float)  # the speed does not depend on it
    options = preset("qm9") | {"epochs": epochs, "device": device, "random_state": 0}

    def fit(members):
        MoleculeRegressor(**options | {"members": members}).fit(graphs, y)

    def alone():
        for _ in range(theirs):
            fit(1)

    fit(1)  # kernels are compiled and chosen at the first call
    seconds = in_turns(
        {"at once": lambda: fit(MEMBERS), "alone": alone}, repeats, time.perf_counter
    )
    scaled = seconds["alone"] * MEMBERS / theirs
    print(f"| published network, {epochs} epochs of {len(graphs)} on {device} | 15 members at once | "
          f"{seconds['at once']:.2f} | 1 | |")  # fmt: skip
    print(
        f"| | one by one (from {theirs}) | {scaled:.2f} | {scaled / seconds['at once']:.2f} | >= 8 |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--widths", type=int, nargs="+", default=[100, 300])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--theirs", type=int, default=3, help="members that chemprop trains")
    parser.add_argument("--molecules", type=int, default=5_000, help="molecules to predict")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=("training", "reading", "predicting"))
    parser.add_argument("--paper", action="store_true", help="the published network alone")
    parser.add_argument("--device", default="cpu", help="with --paper")
    parser.add_argument("--graphs", type=Path, help="with --paper: a file of graphs")
    given = parser.parse_args()
    if given.paper:
        graphs = MoleculeGraphs.load(given.graphs) if given.graphs else featurize(esol()[0])
        print("| task | who | seconds | ratio to caveat | wanted |")
        print("| --- | --- | --- | --- | --- |")
        published(graphs, given.device, given.epochs, given.theirs, given.repeats)
        return
    import lightning.pytorch  # noqa: F401  # before its loggers are silenced

    for name in ("lightning", "lightning.pytorch", "lightning.fabric", "chemprop"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore")
    smiles, y, source = esol()
    print(f"## Molecules ({source}, seconds of the processor on one thread)\n")
    print("| task | who | seconds | ratio to caveat | wanted |")
    print("| --- | --- | --- | --- | --- |")
    parts = (given.only,) if given.only else ("training", "reading", "predicting")
    if "training" in parts:
        for hidden in given.widths:
            training(smiles, y, hidden, given.epochs, given.theirs, given.repeats)
    if "reading" in parts:
        reading(smiles, given.repeats)
    if "predicting" in parts:
        for hidden in given.widths:
            predicting(smiles, y, hidden, given.molecules, given.repeats)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(f"\nThe process had {most / 2**20:.2f} GiB at most.")


if __name__ == "__main__":
    main()
