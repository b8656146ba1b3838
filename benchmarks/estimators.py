"""Ten networks on tables of the size of UCI's: caveat's deep ensemble, and three other ways to one.

Run with ``make benchmark``; ``docs/performance.md`` keeps the result. All have the same hidden layers,
batches, epochs, Adam and standardized data, and none stops early. scikit-learn's networks are fitted
one after another, and two at a time by joblib; its regressor has no spread, and gets that of its
residuals on the training set. The torch loop is what people write. torch-uncertainty's ensemble goes
through its routine and trainer, the documented way, with everything switched off that logs or saves;
there all members see the same batches. It is left out where it is not installed.

A second table has what one network costs with an uncertainty: the members of a batch ensemble, and
the Laplace approximation of its last layer. It counts seconds of the processor on one thread, the best
of several runs, so that it holds on a shared machine (``--one`` prints it alone).

A third table has wider networks, whose time is that of the arithmetic: 32 members as wide as the one
network, and 32 networks of a quarter of the width, in the manner of packed
ensembles (``--packed`` prints it alone).

A fourth table has what five heads on one frozen backbone cost, beside one of them and beside passes
through the backbone at every step (``--heads`` prints it alone).
"""

import argparse
import logging
import os
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", str(os.cpu_count()))
import numpy as np
import torch
from joblib import Parallel, delayed
from scipy.stats import norm
from sklearn.neural_network import MLPClassifier, MLPRegressor
from torch import nn

from caveat import estimators
from caveat.estimators import DeepEnsembleClassifier, DeepEnsembleRegressor

MEMBERS, HIDDEN, BATCH, RATE = 10, 50, 32, 5e-3
TABLES = ((500, 13, 40), (1_500, 11, 40), (9_500, 4, 10))
"""Rows, columns, epochs."""


def table(task, rows, columns, seed):
    """Return (X, y) to learn from and as many new rows, standardized: a surface of four columns."""
    rng = np.random.default_rng([seed, rows])
    X = rng.normal(size=(2 * rows, columns)).astype(np.float32)
    surface = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3]
    y = surface + (0.2 + 0.3 / (1 + np.exp(-2 * X[:, 0]))) * rng.normal(size=len(X))
    if task == "classes":
        y = np.digitize(y, [-0.7, 0.7])
    else:
        y = ((y - y[:rows].mean()) / y[:rows].std()).astype(np.float32)
    return X[:rows], y[:rows], X[rows:], y[rows:]


def gaussian(means, deviations):
    """Return mean and standard deviation of members as one Gaussian."""
    mean = means.mean(0)
    return mean, np.sqrt((deviations**2).mean(0) + means.var(0))


def said_by(model, task, X_new):
    """Return probabilities, or mean and standard deviation."""
    prediction = model.predict_distribution(X_new)
    if task == "classes":
        return np.asarray(prediction.mean)
    mean, variance = prediction.moments()
    return mean[:, 0], np.sqrt(variance[:, 0])


def caveat(task, X, y, X_new, epochs, seed):
    kind = DeepEnsembleClassifier if task == "classes" else DeepEnsembleRegressor
    begun = time.perf_counter()
    model = kind(
        members=MEMBERS, hidden=(HIDDEN,), batch_size=BATCH, epochs=epochs, learning_rate=RATE,
        prior_std=None, validation_fraction=None, device="cpu", random_state=seed,
    ).fit(X, y)  # fmt: skip
    fitted = time.perf_counter()
    said = said_by(model, task, X_new)
    return fitted - begun, time.perf_counter() - fitted, said


def scikit(task, X, y, X_new, epochs, seed, jobs=1):
    kind = MLPClassifier if task == "classes" else MLPRegressor
    models = [
        kind(
            hidden_layer_sizes=(HIDDEN,), batch_size=BATCH, max_iter=epochs, learning_rate_init=RATE, alpha=0.0, tol=0.0,
            n_iter_no_change=epochs + 1, random_state=MEMBERS * seed + i,
        )
        for i in range(MEMBERS)
    ]  # fmt: skip
    begun = time.perf_counter()
    models = Parallel(n_jobs=jobs)(delayed(quietly)(model, X, y) for model in models)
    fitted = time.perf_counter()
    if task == "classes":
        said = np.mean([model.predict_proba(X_new) for model in models], axis=0)
    else:
        left = [np.full(len(X_new), np.std(y - model.predict(X))) for model in models]
        said = gaussian(np.array([model.predict(X_new) for model in models]), np.array(left))
    return fitted - begun, time.perf_counter() - fitted, said


def quietly(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it stops after as many epochs as it was told
        return model.fit(X, y)


class Network(nn.Module):
    """The network as people write it: logits, or a mean and a standard deviation."""

    def __init__(self, task, columns):
        super().__init__()
        outputs = 3 if task == "classes" else 2
        self.task = task
        self.layers = nn.Sequential(
            nn.Linear(columns, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, outputs)
        )

    def forward(self, x):
        z = self.layers(x)
        if self.task == "classes":
            return z
        return {"loc": z[:, :1], "scale": nn.functional.softplus(z[:, 1:]) + 1e-3}


def loss_of(task, output, y):
    if task == "classes":
        return nn.functional.cross_entropy(output, y)
    return (
        -torch.distributions.Normal(output["loc"][:, 0], output["scale"][:, 0]).log_prob(y).mean()
    )


def outputs(task, nets, X_new):
    with torch.no_grad():
        said = [net(torch.tensor(X_new)) for net in nets]
    if task == "classes":
        return torch.stack(said).softmax(-1).mean(0).numpy()
    return gaussian(*(torch.stack([s[k][:, 0] for s in said]).numpy() for k in ("loc", "scale")))


def loop(task, X, y, X_new, epochs, seed):
    torch.manual_seed(seed)
    inputs, labels = torch.tensor(X), torch.tensor(y)
    nets = []
    begun = time.perf_counter()
    for _ in range(MEMBERS):
        net = Network(task, X.shape[1])
        optimizer = torch.optim.Adam(net.parameters(), RATE)
        for _ in range(epochs):
            for batch in torch.randperm(len(inputs)).split(BATCH):
                optimizer.zero_grad()
                loss_of(task, net(inputs[batch]), labels[batch]).backward()
                optimizer.step()
        nets.append(net.eval())
    fitted = time.perf_counter()
    said = outputs(task, nets, X_new)
    return fitted - begun, time.perf_counter() - fitted, said


def torch_uncertainty(task, X, y, X_new, epochs, seed):
    import peers  # noqa: F401
    from torch.utils.data import DataLoader, TensorDataset
    from torch_uncertainty import TUTrainer
    from torch_uncertainty.losses import DistributionNLLLoss
    from torch_uncertainty.methods import deep_ensembles
    from torch_uncertainty.routines import ClassificationRoutine, RegressionRoutine
    from torch_uncertainty.transforms import RepeatTarget

    torch.manual_seed(seed)
    classes = task == "classes"
    net = Network(task, X.shape[1])
    ensemble = deep_ensembles(
        net, num_estimators=MEMBERS, task="classification" if classes else "regression",
        probabilistic=None if classes else True, reset_model_parameters=True,
    )  # fmt: skip
    shared = {
        "is_ensemble": True,
        "optim_recipe": torch.optim.Adam(ensemble.parameters(), RATE),
        "format_batch_fn": RepeatTarget(MEMBERS),
    }
    if classes:
        routine = ClassificationRoutine(ensemble, 3, nn.CrossEntropyLoss(), **shared)
    else:
        routine = RegressionRoutine(
            ensemble, 1, DistributionNLLLoss(), dist_family="normal", **shared
        )
    data = TensorDataset(torch.tensor(X), torch.tensor(y))  # the routine adds the axis of targets
    loader = DataLoader(data, batch_size=BATCH, shuffle=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = TUTrainer(
            accelerator="cpu", max_epochs=epochs, logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False,
        )  # fmt: skip
        begun = time.perf_counter()
        trainer.fit(routine, loader)
    fitted = time.perf_counter()
    said = outputs(task, list(ensemble.eval().core_models), X_new)
    return fitted - begun, time.perf_counter() - fitted, said


def scores(task, said, y):
    """Return accuracy, or root mean squared error, and negative log likelihood."""
    if task == "classes":
        return (said.argmax(1) == y).mean(), -np.log(said[np.arange(len(y)), y]).mean()
    return np.sqrt(np.mean((said[0] - y) ** 2)), -norm.logpdf(y, *said).mean()


def measure(task, rows, columns, epochs, seeds, ways):
    """Print a row for each way to an ensemble; the seconds are the best of all seeds."""
    first = None
    for name, way, wanted in ways:
        fit, predict, found = [], [], []
        for seed in range(seeds):
            X, y, X_new, y_new = table(task, rows, columns, seed)
            if seed == 0:
                way(task, X, y, X_new, 1, seed)  # warm
            seconds = way(task, X, y, X_new, epochs, seed)
            fit.append(seconds[0])
            predict.append(seconds[1])
            found.append(scores(task, seconds[2], y_new))
        mean, error = np.mean(found, 0), np.std(found, 0, ddof=1) / seeds**0.5
        spent = min(fit) + min(predict)
        first = first or spent
        print(
            f"| {task} | {rows:,} x {columns} | {name} | {min(fit):.2f} | {min(predict) * 1e3:.1f} | "
            f"{spent / first:.2f} | {wanted} | {mean[0]:.3f} ± {error[0]:.3f} | "
            f"{mean[1]:.3f} ± {error[1]:.3f} |",
            flush=True,
        )


def processor_seconds(function, repeats=5):
    """Return the least processor time of several runs."""
    spent = []
    for _ in range(repeats + 1):
        begun = time.process_time()
        function()
        spent.append(time.process_time() - begun)
    return min(spent[1:])


def one_network(task, rows, columns, epochs):
    """Print a row: batch ensembles over one network, and Laplace over one of its epochs."""
    ending = "Classifier" if task == "classes" else "Regressor"
    X, y, _, _ = table(task, rows, columns, 0)
    settings = {
        "hidden": (HIDDEN,), "batch_size": BATCH, "learning_rate": RATE, "device": "cpu",
        "random_state": 0, "prior_std": None, "validation_fraction": None,
    }  # fmt: skip

    def fit(name, epochs=epochs, **options):
        kind = getattr(estimators, name + ending)
        return kind(epochs=epochs, **settings, **options).fit(X, y)

    one = processor_seconds(lambda: fit("MAP"))
    shared = [
        processor_seconds(lambda a=adapters: fit("BatchEnsemble", members=32, adapters=a))
        for adapters in ("first", "all")
    ]
    several = processor_seconds(lambda: fit("DeepEnsemble", members=32))
    epoch = (
        processor_seconds(lambda: fit("MAP", 12)) - processor_seconds(lambda: fit("MAP", 2))
    ) / 10
    trained, kind = fit("MAP", 2), getattr(estimators, "Laplace" + ending)
    laplace = processor_seconds(lambda: kind.from_fitted(trained, X, y))
    print(
        f"| {task} | {rows:,} x {columns} | {one:.2f} | {shared[0] / one:.1f} | {shared[1] / one:.1f} | "
        f"{several / one:.1f} | {epoch * 1e3:.1f} | {laplace * 1e3:.1f} | {laplace / epoch:.2f} |",
        flush=True,
    )


def one_networks(largest):
    """Print what members of one network and a posterior cost."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    print(
        "\n| task | table | one network, s | 32 members, ratio (wanted <= 3) | with all adapters | "
        "32 networks, ratio | one epoch, ms | Laplace, ms | ratio (wanted <= 1) |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for task in ("classes", "numbers"):
        for rows, columns, epochs in TABLES:
            if rows <= largest:
                one_network(task, rows, columns, epochs)
    torch.set_num_threads(threads)


WIDE, PACKED_BATCH, PACKED_MEMBERS = 100, 128, 32
NARROW = WIDE // 4
"""Units of a hidden layer: the arithmetic of two layers grows with the square of their width, so that 32
such networks have twice that of the wide one."""


def packed(largest):
    """Print what many members cost where the arithmetic counts, over one network."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    print(
        f"\n| task | table | one network, s | {PACKED_MEMBERS} members, ratio | {PACKED_MEMBERS} "
        f"networks of {NARROW} units, ratio (wanted <= 3) | NLL: one | members | narrow networks |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    ways = {
        "MAP": {"hidden": (WIDE, WIDE)},
        "BatchEnsemble": {"hidden": (WIDE, WIDE), "members": PACKED_MEMBERS},
        "DeepEnsemble": {"hidden": (NARROW, NARROW), "members": PACKED_MEMBERS},
    }
    for task in ("classes", "numbers"):
        ending = "Classifier" if task == "classes" else "Regressor"
        for rows, columns, epochs in TABLES[1:]:
            if rows > largest:
                continue
            X, y, X_new, y_new = table(task, rows, columns, 0)
            seconds, losses = [], []
            for name, options in ways.items():
                model = getattr(estimators, name + ending)(
                    batch_size=PACKED_BATCH, epochs=epochs, learning_rate=RATE, device="cpu",
                    random_state=0, prior_std=None, validation_fraction=None, **options,
                )  # fmt: skip
                seconds.append(processor_seconds(lambda m=model: m.fit(X, y), 2))  # noqa: B023
                losses.append(scores(task, said_by(model, task, X_new), y_new)[1])
            print(
                f"| {task} | {rows:,} x {columns} | {seconds[0]:.2f} | "
                f"{seconds[1] / seconds[0]:.1f} | {seconds[2] / seconds[0]:.1f} | "
                + " | ".join(f"{loss:.3f}" for loss in losses) + " |",
                flush=True,
            )  # fmt: skip
    torch.set_num_threads(threads)


class Convolutions(nn.Module):
    """A backbone for images, and a linear head of another name."""

    def __init__(self, features=128):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 64, 3, stride=2), nn.BatchNorm2d(64), nn.ReLU(),
            nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(256, features), nn.ReLU(),
        )  # fmt: skip
        self.backbone.requires_grad_(False)
        self.head = nn.Linear(features, 3)

    def forward(self, x):
        return self.head(self.backbone(x))


def dense(columns=64, width=512):
    """A wide frozen network for tables with a linear head."""
    layers = [nn.Linear(columns, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(nn.Sequential(*layers).requires_grad_(False), nn.Linear(width, 3))


def heads():
    """Print what several heads on a frozen backbone cost, over one head."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    print(
        "\n| backbone | samples | one head, s | 5 heads, ratio (wanted <= 1.3) | "
        "one head without features kept, ratio |"
    )
    print("| --- | --- | --- | --- | --- |")
    cases = [
        ("convolutions", Convolutions(), rng.normal(size=(2_000, 3, 32, 32)).astype(np.float32)),
        ("dense, 512 units", dense(), rng.normal(size=(4_000, 64)).astype(np.float32)),
    ]
    for name, module, X in cases:
        y = rng.integers(3, size=len(X))

        def fit(members, epochs=20, module=module, X=X, y=y, **options):
            DeepEnsembleClassifier(
                module=module, fresh="head", members=members, epochs=epochs, batch_size=BATCH,
                device="cpu", random_state=0, validation_fraction=None, **options,
            ).fit(X, y)  # fmt: skip

        one = processor_seconds(lambda f=fit: f(1))
        five = processor_seconds(lambda f=fit: f(5))
        anew = processor_seconds(lambda f=fit: f(1, cache_features=False), 1)
        print(
            f"| {name} | {len(X):,} | {one:.2f} | {five / one:.2f} | {anew / one:.1f} |", flush=True
        )
    torch.set_num_threads(threads)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--largest", type=int, default=TABLES[-1][0], help="rows")
    parser.add_argument("--one", action="store_true", help="the second table alone")
    parser.add_argument("--packed", action="store_true", help="the third table alone")
    parser.add_argument("--heads", action="store_true", help="the fourth table alone")
    chosen = parser.parse_args()
    if chosen.one:
        return one_networks(chosen.largest)
    if chosen.packed:
        return packed(chosen.largest)
    if chosen.heads:
        return heads()
    ways = [
        ("caveat", caveat, ""),
        ("scikit-learn", scikit, ">= 5"),
        ("scikit-learn, two processes", lambda *given: scikit(*given, jobs=2), ""),
        ("torch loop", loop, ">= 5"),
    ]
    try:
        import peers  # noqa: F401
        import torch_uncertainty as found
    except ImportError:
        found = None
    if found is not None:
        logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
        ways.append(("torch-uncertainty", torch_uncertainty, ">= 5"))
    print("## Estimators\n")
    print(
        f"Deep ensembles of {MEMBERS} networks with {HIDDEN} hidden units, batches of {BATCH}, "
        f"{torch.get_num_threads()} threads; accuracy of classes, root mean squared error of "
        f"numbers; means and standard errors over {chosen.seeds} data sets.\n"
    )
    print(
        "| task | table | who | fit, s | predict, ms | ratio to caveat | wanted | "
        "accuracy or RMSE | NLL |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for task in ("classes", "numbers"):
        for rows, columns, epochs in TABLES:
            if rows <= chosen.largest:
                measure(task, rows, columns, epochs, chosen.seeds, ways)
    one_networks(chosen.largest)
    packed(chosen.largest)
    return heads()


if __name__ == "__main__":
    main()
