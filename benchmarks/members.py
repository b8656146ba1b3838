"""How fast members of an ensemble train side by side, one after another, and in a plain loop.

The loop is what people write: one network after another, torch's optimizer, batches by a shuffled index,
data on the device, the same precision.
"""

import time

import torch

from caveat.nn import Copy, Training, train

BATCH = 128


def now(device):
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def step_of(run, steps, epochs, device):
    """Return the seconds of a step, and what a run says; two lengths tell set-up from steps."""
    spent, said = [], ""
    for length in (1, 1, 1 + epochs):  # the first pays for what is kept: compilation, kernels
        begun = now(device)
        said = run(length)
        spent.append(now(device) - begun)
    return (spent[2] - spent[1]) / epochs / steps, said


def side_by_side(make, X, y, loss, *, members, wanted, epochs, device, **options):
    """Print three rows: members together, one after another, and in a plain loop.

    Options are those of `Training`; batches have 128 samples unless they say otherwise.
    """
    settings = {"batch_size": BATCH, "learning_rate": 1e-3, "optimizer": "adam"} | options
    batch, rate = settings["batch_size"], settings["learning_rate"]
    steps = -(-len(X) // batch)
    inputs, labels = torch.tensor(X, device=device), torch.tensor(y, device=device)
    half = settings.get("precision") == "bfloat16"

    def ours(seeds):
        def run(length):
            training = Training(epochs=length, device=device, **settings)
            copies = [Copy(seed=seed) for seed in seeds]
            return train(make, X, y, loss=loss, copies=copies, training=training).engine

        return run

    def loop(length):
        for seed in range(members):
            torch.manual_seed(seed)
            net = make().to(device)
            kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[settings["optimizer"]]
            optimizer = kind(net.parameters(), rate)
            for _ in range(length):
                for rows in torch.randperm(len(X), device=device).split(batch):
                    optimizer.zero_grad()
                    with torch.autocast(device, torch.bfloat16, enabled=half):
                        value = loss(net(inputs[rows]), labels[rows]).mean()
                    value.backward()
                    optimizer.step()
        return "a plain loop"

    own, engine = step_of(ours(range(members)), steps, epochs, device)
    print(f"| side by side | {1e3 * own:.2f} | 1 | | {engine} |", flush=True)
    one, engine = step_of(ours([0]), steps, epochs, device)
    print(f"| one after another | {1e3 * one * members:.2f} | {one * members / own:.2f} | | "
          f"{engine} |", flush=True)  # fmt: skip
    looped, engine = step_of(loop, steps, epochs, device)
    print(f"| a plain loop, one after another | {1e3 * looped:.2f} | {looped / own:.2f} | {wanted} | |\n",
          flush=True)  # fmt: skip


HEADER = "| how | ms for a step of all | ratio | wanted | engine |\n| --- | --- | --- | --- | --- |"
