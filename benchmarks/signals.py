"""How fast are predictions with uncertainty for one segment, ensembles of signal networks, and a stream?

    python benchmarks/signals.py                 # on this CPU
    python benchmarks/signals.py --device cuda   # trainings on a GPU

Prints one row for each line of the table in docs/performance.md: what, the time, the baseline, the
ratio, and the bound that was set. Threads are those of the machine unless OMP_NUM_THREADS says
otherwise; the stream uses one.
"""

import argparse
import platform
from functools import partial
from time import perf_counter, process_time

import numpy as np
import torch

import caveat
from caveat.nn import AlexNet1d, XResNet1d, losses
from caveat.nn._products import WORTH, quick_products
from members import HEADER, side_by_side
from caveat.signals import BandPass, Standardize, make_af_ppg
from sklearn.pipeline import make_pipeline

LENGTH = 800


def timed(function, least=0.5, repeats=5):
    """Return the median of some calls, after one that is not counted."""
    function()
    times = []
    started = perf_counter()
    while len(times) < repeats or perf_counter() - started < least:
        before = perf_counter()
        function()
        times.append(perf_counter() - before)
    return float(np.median(times))


def processor_time(function, repeats=6):
    """Return the least processor time of some calls, which other programs change little."""
    function()
    times = []
    for _ in range(repeats):
        before = process_time()
        function()
        times.append(process_time() - before)
    return min(times)


def floors(name, network, rate):
    """Processor time on one thread: MAP, 50 passes, and the plain network on 50 segments."""
    torch.set_num_threads(1)
    x = make_af_ppg(2, 1, random_state=1).X[:1].astype(np.float32)
    base = partial(network, 1, 2, head="gaussian-logits")
    random = partial(base, stochastic="dropout", rate=rate)
    plain, batch = base().eval(), torch.from_numpy(np.repeat(x, 50, axis=0))

    def fifty():
        with torch.no_grad(), quick_products(torch.device("cpu"), WORTH):
            return plain(batch)

    models = [
        fitted(caveat.MAPClassifier, base),
        fitted(caveat.MCDropoutClassifier, random, passes=50),
    ]
    times = [
        processor_time(lambda model=model: model.predict_distribution(x).sample(100, 0).mean)
        for model in models
    ]
    for words, seconds in zip(
        ("MAP", "MCD, T = 50, dropout throughout", "the plain network on 50 segments"),
        (*times, processor_time(fifty)),
        strict=True,
    ):
        show(f"{name}, processor time on one thread, {words}", seconds, times[0], None)


def fitted(kind, module, **options):
    """Return an estimator that was trained for one step: what its weights are plays no part."""
    signals = make_af_ppg(4, 8, random_state=0)
    model = kind(
        module=module, head="gaussian-logits", epochs=1, random_state=0, device="cpu", **options
    )
    return model.fit(signals.X.astype(np.float32), signals.y)


def predictions(name, network, rate):
    """One segment: MAP, dropout throughout and in the last layer with T = 50, an ensemble of 5."""
    x = make_af_ppg(2, 1, random_state=1).X[:1].astype(np.float32)
    base = partial(network, 1, 2, head="gaussian-logits")
    random = partial(base, stochastic="dropout", rate=rate)
    models = {
        "MAP": fitted(caveat.MAPClassifier, base),
        "MCD, T = 50, dropout throughout": fitted(caveat.MCDropoutClassifier, random, passes=50),
        "MCD, T = 50, random head": fitted(
            caveat.MCDropoutClassifier, partial(random, where="last"), passes=50
        ),
        "DE of 5": fitted(caveat.DeepEnsembleClassifier, base, members=5),
    }
    bounds = {"MCD, T = 50, dropout throughout": 5, "MCD, T = 50, random head": 1.5, "DE of 5": 4}
    reference = None
    for words, model in models.items():
        # K = 100 draws of the logits of each pass, as in the paper; all of it is timed.
        seconds = timed(lambda model=model: model.predict_distribution(x).sample(100, 0).mean)
        reference = reference or seconds
        show(f"{name}, one segment, {words}", seconds, reference, bounds.get(words))


def trainings(name, network, device, samples, epochs, bound):
    """Five members together, one after another, and in a plain loop."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(samples, 1, LENGTH)).astype(np.float32)
    print(f"\n{name}, five members, batches of 64, {device}\n\n{HEADER}", flush=True)
    side_by_side(
        partial(network, 1, 2, head="gaussian-logits"), X, np.arange(samples) % 2,
        losses.sampled_softmax_nll, members=5, wanted=f">= {bound:g}", epochs=epochs, device=device,
        batch_size=64, learning_rate=1e-4, optimizer="adamw",
    )  # fmt: skip


def stream(network):
    """A stream of one channel at 32 Hz, windows of 25 s every second, on one core."""
    torch.set_num_threads(1)
    model = fitted(caveat.MAPClassifier, partial(network, 1, 2, head="gaussian-logits", dense=256))
    pipeline = make_pipeline(BandPass(low=0.5, high=8, sampling_rate=32), Standardize(), model)
    live = caveat.stream(pipeline, 32, 25, 1)
    signal = make_af_ppg(2, 4, random_state=0).X[:, 0].ravel()
    for chunk in np.split(signal[: 32 * (len(signal) // 32)], len(signal) // 32):
        live.push(chunk)
    latency = live.latency
    print(
        f"stream of windows of 25 s every second, one core | {1000 * latency['median']:.1f} ms a window"
        f" | {latency['real_time']:.0f} times real time | at least 100"
    )


def show(words, seconds, reference, bound):
    limit = "" if bound is None else f"at most {bound:g}"
    print(f"{words} | {1000 * seconds:.1f} ms | {seconds / reference:.2f} | {limit}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", choices=("predictions", "floors", "trainings", "stream"))
    given = parser.parse_args()
    print(
        f"{platform.processor() or platform.machine()}, torch {torch.__version__}, {torch.get_num_threads()} threads"
    )
    networks = {"AlexNet1d": (AlexNet1d, 0.2), "XResNet1d50": (XResNet1d, 0.05)}
    if given.only in (None, "predictions"):
        for name, (network, rate) in networks.items():
            predictions(name, network, rate)
    if given.only == "floors":
        for name, (network, rate) in networks.items():
            floors(name, network, rate)
    if given.only in (None, "trainings"):
        gpu = given.device != "cpu"
        for name, (network, _) in networks.items():
            bound = {"AlexNet1d": 3.0, "XResNet1d50": 2.0}[name] if gpu else 1.0
            trainings(name, network, given.device, 1280 if gpu else 128, 4 if gpu else 1, bound)
    if given.only in (None, "stream"):
        stream(AlexNet1d)


if __name__ == "__main__":
    main()
