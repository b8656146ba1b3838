"""Disentanglement: the two sweeps through caveat, and through the authors' package with a torch loop.

Run with ``make benchmark``; ``docs/performance.md`` keeps the result. Wine, a deep ensemble of 10, 7
sizes, 11 shares of noise, 5 repeats: 900 trainings of the same network on the same split, with the same
number of steps. The package (disentanglement-error) asks for a model with ``fit``: it gets ten networks
that train one after another, Adam, batches by a shuffled index, data on the device, and as its ``fit`` is
not told the share of samples, the model counts the calls to know how long to train. Where the package is
not installed, the same trainings are run by a loop of our own. ``--column``, ``--images`` and ``--residual``
are others.
"""

import argparse
import os
import time
from functools import partial

os.environ.setdefault("OMP_NUM_THREADS", str(os.cpu_count()))
import numpy as np
import torch
from sklearn.datasets import load_wine
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

import caveat
from caveat.estimators import (
    DeepEnsembleClassifier,
    DropConnectClassifier,
    FlipoutClassifier,
    MCDropoutClassifier,
    preset,
)
from caveat.experiments import Curve, Disentanglement, Protocol
from caveat.nn import CNN, Copy, ResNet18, Training, losses, train
from members import HEADER, side_by_side
from training import images, plain_cnn

try:
    from disentanglement_error.error_metric import calculate_disentanglement_error
except ImportError:
    calculate_disentanglement_error = None

MEMBERS, BATCH, RATE = 10, 128, 1e-3
PAPER = Protocol()
SIZES, NOISE = PAPER.sizes[::-1], PAPER.noise
"""The long trainings on few samples come last, so that a part of the trainings is soon there; their steps
take less time than others on a CPU, where all trainings cut short in the same way are a better part."""

COLUMN = (
    ("MC-Dropout", MCDropoutClassifier, "mc-dropout", ("0.645 ± 0.041", "0.778 ± 0.031")),
    ("DropConnect", DropConnectClassifier, "dropconnect", ("0.373 ± 0.070", "0.737 ± 0.080")),
    ("Flipout", FlipoutClassifier, "flipout", ("0.337 ± 0.045", "0.490 ± 0.094")),
    ("deep ensemble", DeepEnsembleClassifier, "deep-ensemble", ("0.454 ± 0.021", "0.524 ± 0.054")),
)
"""Words, class, name of the preset, and the errors printed in table 2 by information and by Gaussian
logits, with their spreads."""

SPLITS = {"softmax": "information", "gaussian-logits": "gaussian_logits"}
"""How the outputs of a head are split, in the order of the printed errors."""

PAPER_STEPS = 469 * 100
"""60,000 pictures in batches of 128, a hundred times; smaller sets are seen more often."""
LIMIT = 989e12
"""Operations in a second of an H200 in bfloat16, dense."""


def wine():
    """Return training and test samples: a fifth is held out, z-scores by what is left."""
    X, y = load_wine(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
    mean, std = X.mean(0), X.std(0)
    X, X_test = (((part - mean) / std).astype(np.float32) for part in (X, X_test))
    return X, y, X_test, y_test


class EnoughError(Exception):
    """As many networks are trained as were asked for."""


class Loop:
    """Ten networks as people write them, with what the package asks of a model."""

    def __init__(self, device, epochs, limit=None):
        self.device, self.limit = device, limit
        once = [max(1, round(epochs / size)) for size in SIZES] + [epochs] * len(NOISE)
        self.lengths, self.calls = once, 0
        self.trainings = self.steps = 0

    def fit(self, X, y):
        epochs = self.lengths[self.calls % len(self.lengths)]
        self.calls += 1
        inputs = torch.tensor(X, device=self.device)
        labels = torch.tensor(y, device=self.device)
        self.nets = []
        for _ in range(MEMBERS):
            if self.trainings == self.limit:
                raise EnoughError
            net = nn.Sequential(
                nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(),
                nn.Linear(16, 3),
            ).to(self.device)  # fmt: skip
            optimizer = torch.optim.Adam(net.parameters(), RATE)
            for _ in range(epochs):
                for batch in torch.randperm(len(inputs), device=self.device).split(BATCH):
                    optimizer.zero_grad()
                    nn.functional.cross_entropy(net(inputs[batch]), labels[batch]).backward()
                    optimizer.step()
                    self.steps += 1
            self.nets.append(net.eval())
            self.trainings += 1

    def predict_disentangling(self, X):
        inputs = torch.tensor(X, device=self.device)
        with torch.no_grad():
            logits = torch.stack([net(inputs) for net in self.nets]).double()
        p = logits.softmax(-1).cpu().numpy()
        total, aleatoric = entropy(p.mean(0)), entropy(p).mean(0)
        return p.mean(0).argmax(1), aleatoric, total - aleatoric

    def score(self, y, said):
        return accuracy_score(y, said)


def entropy(p):
    return -(p * np.log(np.maximum(p, 1e-300))).sum(-1)


def sweeps(X, y, X_test, y_test, model, repeats, seed):
    """Return what the package does, as curves; for machines without it."""
    rng = np.random.default_rng(seed)
    found = {"size": [], "noise": []}

    def permuted(labels, share):
        rows = rng.permutation(len(labels))[: int(len(labels) * share)]
        noisy = labels.copy()
        noisy[rows] = labels[rng.permutation(rows)]
        return noisy

    def point(kind, X, y, y_test):
        model.fit(X, y)
        said, aleatoric, epistemic = model.predict_disentangling(X_test)
        found[kind].append((model.score(y_test, said), aleatoric.mean(), epistemic.mean()))

    for _ in range(repeats):
        order = rng.permutation(len(y))
        for size in SIZES:
            parts = [order[y[order] == label] for label in np.unique(y)]
            rows = np.concatenate([part[: max(1, int(len(part) * size))] for part in parts])
            point("size", X[rows], y[rows], y_test)
        for share in NOISE:
            point("noise", X, permuted(y, share), permuted(y_test, share))
    shapes = {"size": (repeats, len(SIZES), 3), "noise": (repeats, len(NOISE), 3)}
    return {kind: np.reshape(found[kind], shape).transpose(2, 0, 1) for kind, shape in shapes.items()}  # fmt: skip


def peer(data, repeats, epochs, device, limit, seed):
    """Return the model, the seconds, the error the package says, and its curves as ours."""
    Loop(device, 2).fit(*data[:2])  # warm
    model = Loop(device, epochs, limit)
    np.random.seed(seed)  # noqa: NPY002  The package draws from numpy's global state.
    torch.manual_seed(seed)
    said, curves = None, None
    begun = now(device)
    try:
        if calculate_disentanglement_error is None:
            found = sweeps(*data, model, repeats, seed)
        else:
            found, said = through_package(data, model, repeats)
        curves = [
            Curve(kind, "information", levels, *found[kind])
            for kind, levels in (("size", SIZES), ("noise", NOISE))
        ]
    except EnoughError:
        pass
    seconds = now(device) - begun
    return model, seconds, said, None if curves is None else Disentanglement(curves=tuple(curves))


def through_package(data, model, repeats):
    """Return the curves of the package as arrays (three, repeats, levels), and what it calls UDE."""
    import json

    X, y, X_test, y_test = data
    settings = {"dataset_sizes": list(SIZES), "label_noises": list(NOISE), "n_runs": repeats}
    said, _, results, _ = calculate_disentanglement_error(
        X, y, model, X_test, y_test, kw_config=settings
    )
    results = json.loads(results)
    found = {
        kind: np.array([
            [run[name] for run in results[key]] for name in ("scores", "aleatorics", "epistemics")
        ])
        for kind, key in (("size", "decreasing_dataset_results"), ("noise", "label_noise_results"))
    }  # fmt: skip
    return found, said


def ours(data, kind, name, repeats, device, jobs, epochs, head="softmax"):
    """Return the result of one estimator with the paper's settings."""
    X, y, X_test, y_test = data
    settings = {**preset("wine", name), "epochs": epochs, "head": head}
    model = kind(**settings, standardize=False, device=device)
    return caveat.disentanglement_error(
        model, X, y, test=(X_test, y_test), protocol=Protocol(repeats=repeats), n_jobs=jobs,
        decomposition=SPLITS[head], random_state=0,
    )  # fmt: skip


def now(device):
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def twice_first(error):
    """Return the error as the package has it: C1 counts twice, C2 never."""
    terms = error.terms
    return (
        2 * terms["aleatoric_consistency"].value
        + terms["aleatoric_orthogonality"].value
        + terms["epistemic_orthogonality"].value
    ) / 4


def spread(error):
    return f"{error.value:.3f}" + ("" if np.isnan(error.std) else f" ± {error.std:.3f}")


def compare(chosen):
    """Print the table of the first comparison."""
    device, data = chosen.device, wine()
    name = "disentanglement-error" if calculate_disentanglement_error else "torch loop"
    print("## Disentanglement\n")
    print(
        f"Wine, deep ensemble of {MEMBERS}, {len(SIZES)} sizes, {len(NOISE)} shares of noise, "
        f"{chosen.epochs} epochs divided by the size; {device}, {torch.get_num_threads()} threads. "
        "The ratio is of the time for one step. UDE as the package has it counts the consistency of "
        "the aleatoric part twice and that of the epistemic part never.\n"
    )
    if calculate_disentanglement_error is None:
        print("disentanglement-error is not installed: a plain loop over the same trainings.\n")
    print(
        "| who | repeats | trainings | steps | seconds | seconds a repeat | microseconds a step | "
        "ratio | wanted | UDE | UDE as the package has it |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    ensemble = partial(ours, data, DeepEnsembleClassifier, "deep-ensemble")
    ensemble(1, device, chosen.jobs, 1)  # warm
    begun = now(device)
    result = ensemble(chosen.our_repeats, device, chosen.jobs, chosen.epochs)
    seconds = now(device) - begun
    cost, error = result.cost, result.error()
    step, each = seconds / cost.steps, cost.steps / chosen.our_repeats
    print(
        f"| caveat | {chosen.our_repeats} | {cost.trainings:,} | {cost.steps:,} | {seconds:.1f} | "
        f"{seconds / chosen.our_repeats:.1f} | {step * 1e6:.2f} | 1 | | {spread(error)} | "
        f"{twice_first(error):.3f} |",
        flush=True,
    )
    model, seconds, said, found = peer(
        data, chosen.repeats, chosen.peer_epochs, device, chosen.peer_trainings, seed=0
    )
    theirs = seconds / model.steps
    repeats, errors = "a part of one", " | "
    if found is not None:
        error = found.error()
        if said is not None and abs(said - twice_first(error)) > 1e-6:
            raise SystemExit(f"the package says {said}, its curves {twice_first(error)}")
        if chosen.peer_epochs != chosen.epochs:
            repeats = f"{chosen.repeats}, {chosen.peer_epochs / chosen.epochs:.0%} of the steps"
        elif model.steps != each * chosen.repeats:
            raise SystemExit(f"{model.steps} steps, but ours are {each} in a repeat")
        else:
            repeats, errors = chosen.repeats, f"{spread(error)} | {twice_first(error):.3f}"
    wanted = ">= 8" if device == "cpu" else ">= 200"
    print(
        f"| {name} | {repeats} | {model.trainings:,} | {model.steps:,} | {seconds:.1f} | "
        f"{theirs * each:.1f} | {theirs * 1e6:.1f} | {theirs / step:,.1f} | {wanted} | {errors} |\n"
    )


def column(chosen):
    """Print the whole of table 2's column: four methods, two heads."""
    data = wine()
    print("## Disentanglement: the Wine column of table 2\n")
    print(
        f"{chosen.our_repeats} repeats; {chosen.device}, {torch.get_num_threads()} threads. Flipout "
        "trains five times as long.\n"
    )
    print("| method | split | trainings | steps | seconds | wanted | UDE | printed |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    total = 0.0
    for place, head in enumerate(SPLITS):
        for words, kind, name, printed in COLUMN:
            epochs = chosen.epochs * (5 if name == "flipout" else 1)
            result = ours(
                data, kind, name, chosen.our_repeats, chosen.device, chosen.jobs, epochs, head
            )
            cost = result.cost
            total += cost.seconds
            print(
                f"| {words} | {result.decompositions[0]} | {cost.trainings:,} | {cost.steps:,} | "
                f"{cost.seconds:.1f} | | {spread(result.error())} | {printed[place]} |",
                flush=True,
            )
    print(f"| all | | | | {total:.1f} | < 600 | | |\n")


def pictures(chosen):
    """Print how fast the network for pictures trains in lock-step, and how long the paper's takes.

    Two lengths tell the set-up (weights, recording, compilation) from the steps.
    """
    device = chosen.device
    X, y = images(chosen.pictures, 1, 28)
    net = plain_cnn(1, 28)
    with FlopCounterMode(display=False) as counter:
        net(torch.zeros(BATCH, 1, 28, 28)).sum().backward()
    operations = counter.get_total_flops()
    options = {"precision": "bfloat16", "compile": True} if device == "cuda" else {}
    print("## Disentanglement: Fashion-MNIST's network\n")
    print(
        f"Simulated pictures of 28 x 28, batches of {BATCH}, {device} "
        f"{' '.join(map(str, options.values()))}; {operations / 1e9:.1f} GFLOP a step, of "
        f"{LIMIT / 1e12:.0f} TFLOP/s. Minutes are of {PAPER_STEPS:,} steps of each copy.\n"
    )
    print(
        "| method | copies | measured steps | set-up, s | microseconds a step | steps a second | "
        "minutes | wanted | TFLOP/s | of the limit | engine |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    few, many = chosen.copies
    for words, make, copies, wanted in (
        (
            "MC-Dropout",
            partial(CNN, 1, 10, stochastic="dropout", where="last", rate=0.3),
            few,
            "< 10",
        ),
        ("deep ensemble", partial(CNN, 1, 10), many, "< 90"),
    ):
        rng = np.random.default_rng(0)
        own = min(chosen.pictures, 50 * BATCH)
        members = [
            Copy(rows=rng.choice(chosen.pictures, own, replace=False), seed=seed)
            for seed in range(copies)
        ]
        seconds, steps = [], []
        for epochs in (1, 1, 1 + chosen.picture_epochs):  # the first pays for the compilation
            training = Training(
                epochs=epochs, batch_size=128, learning_rate=1e-3, device=device, **options
            )
            begun = now(device)
            trained = train(make, X, y, loss=losses.nll, copies=members, training=training)
            seconds.append(now(device) - begun)
            steps.append(int(trained.steps.sum()))
        step = (seconds[2] - seconds[1]) / (steps[2] - steps[1])
        print(
            f"| {words} | {copies} | {steps[2] - steps[1]:,} | {seconds[0] - step * steps[0]:.1f} | "
            f"{step * 1e6:.1f} | {1 / step:,.0f} | {step * copies * PAPER_STEPS / 60:.1f} | {wanted} "
            f"| {operations / step / 1e12:.1f} | {operations / step / LIMIT:.1%} | {trained.engine} |",
            flush=True,
        )
    print()


def residual(chosen):
    """Print how fast three ResNet18 train on pictures of 32 x 32."""
    device, members = chosen.device, 3
    X, y = images(chosen.residual_steps * BATCH, 3, 32)
    options = {"precision": "bfloat16", "compile": True} if device == "cuda" else {}
    print(f"## ResNet18, pictures of 32 x 32, {members} members, {device} {options}\n\n{HEADER}")
    side_by_side(
        partial(ResNet18, 3, 10, size=32), X, y, losses.nll, members=members, wanted=">= 2",
        epochs=chosen.residual_epochs, device=device, **options,
    )  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--column", action="store_true", help="table 2's column of Wine alone")
    parser.add_argument("--images", action="store_true", help="the network for pictures alone")
    parser.add_argument("--residual", action="store_true", help="three ResNet18 alone")
    parser.add_argument("--residual-steps", type=int, default=50, help="of an epoch")
    parser.add_argument("--residual-epochs", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=1, help="of the peer")
    parser.add_argument("--our-repeats", type=int, default=PAPER.repeats)
    parser.add_argument("--epochs", type=int, default=100, help="on all samples")
    parser.add_argument("--jobs", type=int, default=1, help="lock-step batches of ours")
    parser.add_argument(
        "--peer-epochs", type=int, help="the peer trains all networks for less; 10 on a GPU"
    )
    parser.add_argument(
        "--peer-trainings",
        type=int,
        help="stop the peer after so many networks, those of the largest batches",
    )
    parser.add_argument("--pictures", type=int, default=60_000)
    parser.add_argument("--picture-epochs", type=int, default=4, help="of 50 steps")
    parser.add_argument("--copies", type=int, nargs=2, default=(90, 900), metavar=("FEW", "MANY"))
    chosen = parser.parse_args()
    if chosen.peer_epochs is None:
        chosen.peer_epochs = chosen.epochs if chosen.device == "cpu" else min(10, chosen.epochs)
    if chosen.column:
        column(chosen)
    if chosen.images:
        pictures(chosen)
    if chosen.residual:
        residual(chosen)
    if not (chosen.column or chosen.images or chosen.residual):
        compare(chosen)


if __name__ == "__main__":
    main()
