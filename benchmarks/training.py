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

LOOP_STEPS = 200


def wine() -> tuple[np.ndarray, np.ndarray]:
    """Return the features, standardised, and the classes of scikit-learn's wines."""
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    return ((X - X.mean(0)) / X.std(0)).astype(np.float32), y


def images(samples: int, channels: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return pictures of ten classes: a pattern each, moved and under noise."""
    rng = np.random.default_rng(0)
    patterns = rng.normal(size=(10, channels, size, size))
    y = rng.integers(10, size=samples)
    X = patterns[y] + 4.0 * rng.normal(size=(samples, channels, size, size))
    return X.astype(np.float32), y


def loop(make, X, y, rows, epochs, device, seed) -> tuple[float, float, nn.Module]:
    """Train one network as people do; return seconds, steps and the network."""
    torch.manual_seed(seed)
    net = make().to(device)
    inputs, labels = torch.tensor(X, device=device), torch.tensor(y, device=device)
    chosen = torch.tensor(rows, device=device)
    optimiser = torch.optim.Adam(net.parameters(), 1e-3)
    steps, begun = 0, None
    for _ in range(epochs):
        order = chosen[torch.randperm(len(chosen), device=device)]
        for batch in order.split(128):
            if steps == 10:  # warm
                begun = _now(device)
            optimiser.zero_grad()
            loss = nn.functional.cross_entropy(net(inputs[batch]), labels[batch])
            loss.backward()
            optimiser.step()
            steps += 1
    return _now(device) - begun, steps - 10, net.eval()


def _now(device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def measure(name, make, data, copies, epochs, device, wanted, few, precision="float32") -> None:
    """Print one row: the loop over some of the trainings, extrapolated to all, and ours."""
    X, y = data
    test = np.arange(len(X)) % 5 == 0
    rows = np.flatnonzero(~test)
    spent, steps, right = 0.0, 0, []
    for seed in range(few):
        seconds, counted, net = loop(make, X, y, rows, epochs, device, seed)
        spent, steps = spent + seconds, steps + counted
        with torch.no_grad():
            said = net(torch.tensor(X[test], device=device)).argmax(1).cpu().numpy()
        right.append((said == y[test]).mean())
    one = spent / steps
    training = Training(epochs=epochs, device=device, precision=precision)
    given = {"loss": losses.nll, "training": training}
    members = [Copy(rows=rows)] * copies
    begun = _now(device)
    trained = train(make, X, y, copies=members, random_state=0, **given)
    ours = (_now(device) - begun) / int(trained.steps.sum())
    said = trained.outputs(X[test], copies=range(min(copies, 20))).argmax(2)
    accuracy = (said == y[test]).mean()
    print(
        f"| {name} | {copies} | {device} {precision} | {one * 1e6:.1f} | {ours * 1e6:.2f} | "
        f"{one / ours:,.1f} | {wanted} | {np.mean(right):.3f} ± {np.std(right) / few**0.5:.3f} | "
        f"{accuracy:.3f} | {trained.engine} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    device = parser.parse_args().device
    print("## Training\n")
    print("Microseconds for one step of one network, set-up included in ours.\n")
    print(
        "| network | copies | device | loop | caveat | ratio | wanted | accuracy of the loop | ours | engine |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    mlp = partial(MLP, 13, 3, hidden=(32, 32, 16), stochastic="dropout")
    if device == "cpu":
        measure("Wine MLP", mlp, wine(), 180, 100, device, ">= 10", 3)
        small = partial(CNN, 1, 10, size=(28, 28), stochastic="dropout")
        measure("CNN 28 x 28", small, images(800, 1, 28), 20, 2, device, ">= 1", 3)
        return
    measure("Wine MLP", mlp, wine(), 900, 100, device, ">= 1000", 5)
    measure("Wine MLP", mlp, wine(), 5000, 100, device, "", 5)
    large = partial(CNN, 3, 10, size=(32, 32), stochastic="dropout")
    for precision in ("float32", "bfloat16"):
        measure("CIFAR CNN", large, images(6400, 3, 32), 90, 4, device, ">= 10", 3, precision)


if __name__ == "__main__":
    main()
