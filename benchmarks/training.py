"""Many trainings as one program, against a plain torch loop over the same trainings.

Run with ``make benchmark``; ``docs/performance.md`` keeps the result. On a machine with a GPU the same
is measured there, with more copies. The loop is what people write: one network after another, Adam,
batches by a shuffled index, data on the device.
"""

import argparse
import os
import time
from functools import partial

os.environ.setdefault("OMP_NUM_THREADS", str(os.cpu_count()))
import numpy as np
import torch
from torch import nn

from caveat.nn import CNN, MLP, Copy, Training, losses, train

DROPOUT = {"stochastic": "dropout", "where": "last", "rate": 0.3}


def wine() -> tuple[np.ndarray, np.ndarray]:
    """Return the features, standardized, and the classes of scikit-learn's wines."""
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    return ((X - X.mean(0)) / X.std(0)).astype(np.float32), y


def images(samples: int, channels: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return pictures of ten classes: a pattern each, moved and under noise."""
    rng = np.random.default_rng(0)
    patterns = rng.normal(size=(10, channels, size, size))
    y = rng.integers(10, size=samples)
    X = patterns[y] + 4.0 * channels**0.5 / 3**0.5 * rng.normal(
        size=(samples, channels, size, size)
    )
    return X.astype(np.float32), y


def plain_mlp() -> nn.Module:
    """The network as people write it."""
    return nn.Sequential(
        nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(),
        nn.Dropout(0.3), nn.Linear(16, 3),
    )  # fmt: skip


def plain_cnn(channels: int, side: int) -> nn.Module:
    """The same of pictures."""
    parts: list[nn.Module] = []
    for count in (channels, 64, 64):
        parts += [nn.Conv2d(count, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    wide = 64 * (side // 8) ** 2
    dense = [nn.Flatten(), nn.Linear(wide, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 10)]
    return nn.Sequential(*parts, *dense)


def loop(make, X, y, rows, epochs, device, seed) -> tuple[float, float, nn.Module]:
    """Train one network as people do; return seconds, steps and the network."""
    torch.manual_seed(seed)
    net = make().to(device)
    inputs, labels = torch.tensor(X, device=device), torch.tensor(y, device=device)
    chosen = torch.tensor(rows, device=device)
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    steps, begun = 0, None
    for _ in range(epochs):
        order = chosen[torch.randperm(len(chosen), device=device)]
        for batch in order.split(128):
            if steps == 10:  # warm
                begun = _now(device)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(inputs[batch]), labels[batch])
            loss.backward()
            optimizer.step()
            steps += 1
    return _now(device) - begun, steps - 10, net.eval()


def _now(device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


class Loop:
    """Some trainings by the loop: seconds of a step, and the accuracy of each network."""

    def __init__(self, make, data, epochs, device, networks) -> None:
        self.data = data
        X, y = data
        self.test = np.arange(len(X)) % 5 == 0
        self.rows = np.flatnonzero(~self.test)
        spent, steps, self.right = 0.0, 0, []
        for seed in range(networks):
            seconds, counted, net = loop(make, X, y, self.rows, epochs, device, seed)
            spent, steps = spent + seconds, steps + counted
            with torch.no_grad():
                said = net(torch.tensor(X[self.test], device=device)).argmax(1).cpu().numpy()
            self.right.append((said == y[self.test]).mean())
        self.step = spent / steps


def measure(name, plain: Loop, make, copies, epochs, device, wanted, **options) -> None:
    """Print one row: the step of the loop, ours from a short and a long training, and accuracies.

    Two lengths tell the set-up (weights, recording, compilation) from the steps. The networks of the
    loop and the first copies begin with the same weights.
    """
    X, y = plain.data
    members = [Copy(rows=plain.rows, seed=seed) for seed in range(copies)]
    seconds, steps = [], []
    short = max(1, epochs // 10)
    for length in (short, short, epochs):  # the first pays for what the process keeps: compilation
        training = Training(
            epochs=length, batch_size=128, learning_rate=1e-3, device=device, **options
        )
        begun = _now(device)
        trained = train(make, X, y, loss=losses.nll, copies=members, training=training)
        seconds.append(_now(device) - begun)
        steps.append(int(trained.steps.sum()))
    ours = (seconds[2] - seconds[1]) / (steps[2] - steps[1])
    said = trained.outputs(X[plain.test], copies=range(min(copies, 20))).argmax(2)
    right = (said == y[plain.test]).mean(1)
    few = len(plain.right)
    print(
        f"| {name} | {copies} | {device} {' '.join(map(str, options.values()))} | "
        f"{plain.step * 1e6:.1f} | {ours * 1e6:.2f} | {plain.step / ours:,.1f} | {wanted} | "
        f"{seconds[0] - ours * steps[0]:.1f} | {np.mean(plain.right):.3f} ± "
        f"{np.std(plain.right) / few**0.5:.3f} | {right.mean():.3f} ± "
        f"{np.std(right) / len(right) ** 0.5:.3f} | {trained.engine} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--network", choices=["mlp", "cnn"], help="by default both")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    chosen = parser.parse_args()
    device = chosen.device
    print("## Training\n")
    print(
        "Microseconds for one step of one network; ours once set up, which takes the seconds said.\n"
    )
    print(
        "| network | copies | device | loop | caveat | ratio | wanted | set-up, s | "
        "accuracy of the loop | ours | engine |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    mlp = partial(MLP, 13, 3, hidden=(32, 32, 16), **DROPOUT)
    sizes = [(180, ">= 10")] if device == "cpu" else [(90, ""), (900, ">= 1000"), (5000, "")]
    if chosen.network != "cnn":
        epochs = 100 if device == "cpu" else 1000
        plain = Loop(plain_mlp, wine(), epochs, device, 10 if device == "cpu" else 5)
        for copies, wanted in sizes:
            measure("Wine MLP", plain, mlp, copies, epochs, device, wanted)
    if chosen.network == "mlp":
        return
    if device == "cpu":
        small = partial(CNN, 1, 10, size=(28, 28), **DROPOUT)
        plain = Loop(partial(plain_cnn, 1, 28), images(800, 1, 28), 10, device, 5)
        measure("CNN 28 x 28", plain, small, 20, 10, device, ">= 1")
        return
    large = partial(CNN, 3, 10, size=(32, 32), **DROPOUT)
    plain = Loop(partial(plain_cnn, 3, 32), images(6400, 3, 32), 25, device, 20)
    for options in ({}, {"precision": "bfloat16"}, {"precision": "bfloat16", "compile": True}):
        wanted = ">= 10" if "compile" in options else ""
        measure("CIFAR CNN", plain, large, 90, 25, device, wanted, **options)


if __name__ == "__main__":
    main()
