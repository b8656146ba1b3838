"""Metrics of a validation loop give what `caveat.metrics` gives for all samples at once."""

import copy
import importlib
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch

import caveat
from caveat.exceptions import (
    InvalidValueError,
    LabelError,
    OptionError,
    ShapeError,
    UnknownNameError,
)
from caveat.metrics import METRICS
from caveat.nn import Metrics, information_split
from caveat.nn._metric_cells import CELLS, SPREADS, probability_cells, spread_cells

BY_CELLS = {
    "roc_auc_score", "average_precision_score", "specificity_at_sensitivity_score",
    "sensitivity_at_specificity_score", "adaptive_calibration_error", "smooth_calibration_error",
    "debiased_calibration_error", "expected_normalized_calibration_error",
    *(name for name, metric in METRICS.items() if metric.task == "ranking"),
}  # fmt: skip


def sample(classes, samples=3000, seed=0, scale=2.0):
    """Return logits of an overconfident model, and codes."""
    rng = np.random.default_rng(seed)
    logits = torch.tensor(scale * rng.normal(size=(samples, classes)))
    codes = torch.multinomial(
        (0.7 * logits).softmax(1), 1, generator=torch.Generator().manual_seed(seed)
    )
    return logits, codes[:, 0]


def fed(metrics, preds, target, step=700):
    for start in range(0, len(target), step):
        metrics.update(preds[start : start + step], target[start : start + step])
    return metrics


def values(metrics):
    return {name: value.item() for name, value in metrics.compute().items()}


def expected(name, p, codes):
    """Return the metric of all samples at once."""
    metric = METRICS[name]
    if metric.task == "ranking":
        wrong = (p.argmax(1) != codes).astype(float)
        return metric.function(wrong, caveat.decompose(caveat.Categorical(p)).total)
    return metric.function(codes, p)


@pytest.mark.parametrize("head", ["logits", "probabilities"])
@pytest.mark.parametrize("classes", [2, 3, 15, 16, 200])
def test_means_counts_and_equal_width_bins_are_exact(head, classes):
    logits, codes = sample(classes)
    p = logits.softmax(1)
    found = values(fed(Metrics(head, classes), logits if head == "logits" else p, codes))
    exact = set(found) - BY_CELLS
    assert len(exact) == (15 if classes == 2 else 14)
    for name in exact:
        assert found[name] == pytest.approx(expected(name, p.numpy(), codes.numpy()), abs=1e-10), (
            name
        )


def cell_orders(key, last):
    """Return the key moved within its cells so that the flagged samples come last, and first."""
    cells = probability_cells(torch.as_tensor(key)).numpy().astype(float)
    return cells + 0.5 * last, cells + 0.5 * ~last


@pytest.mark.parametrize("scale", [2.0, 12.0])
def test_ranks_are_those_of_the_samples_up_to_ties_within_cells(scale):
    logits, codes = sample(4, scale=scale)
    p = logits.softmax(1).numpy()
    found = values(fed(Metrics("logits", 4), logits, codes))
    wrong = p.argmax(1) != codes.numpy()
    entropy = np.clip(caveat.decompose(caveat.Categorical(p)).total / np.log(4), 0, 1)
    for name in (
        "confidence_oracle_area_error", "area_under_risk_coverage_error",
        "excess_area_under_risk_coverage_error", "error_uncertainty_correlation",
        "error_detection_auroc_score",
    ):  # fmt: skip
        ends = [METRICS[name].function(wrong.astype(float), k) for k in cell_orders(entropy, wrong)]
        assert min(ends) - 1e-9 <= found[name] <= max(ends) + 1e-9, name
    for name in ("roc_auc_score", "average_precision_score"):
        areas = []
        for k in range(4):
            hit = codes.numpy() == k
            areas.append(
                [METRICS[name].function(hit, s / CELLS) for s in cell_orders(p[:, k], hit)]
            )
        high, low = np.mean(areas, axis=0)
        assert low - 1e-9 <= found[name] <= high + 1e-9, name


def test_an_area_is_off_by_half_the_pairs_in_one_cell_at_most():
    rng = np.random.default_rng(5)
    p = np.round(rng.beta(0.05, 0.05, size=4000), 9)  # most are close to 0 or 1
    y = (rng.uniform(size=4000) < p).astype(int)
    found = values(fed(Metrics("probabilities", 2), torch.tensor(p), torch.tensor(y)))
    cells = probability_cells(torch.tensor(p)).numpy()
    counts = [np.bincount(cells[y == k], minlength=CELLS) for k in (0, 1)]
    bound = 0.5 * (counts[0] * counts[1]).sum() / (counts[0].sum() * counts[1].sum())
    assert 0 < bound < 1e-3
    assert abs(found["roc_auc_score"] - expected("roc_auc_score", p, y)) <= bound + 1e-12


def test_bins_of_equal_count_and_smoothing_move_by_no_more_than_a_cell():
    logits, codes = sample(2, samples=5000)
    p = logits.softmax(1).numpy()
    found = values(fed(Metrics("logits", 2), logits, codes))
    top = p.max(1)
    heaviest = max(
        np.bincount(probability_cells(torch.tensor(k)).numpy()).max() / len(p)
        for k in (top, p[:, 1])
    )
    adaptive = "adaptive_calibration_error"
    # Each of the 14 ends of bins may split one cell in another way.
    assert abs(found[adaptive] - expected(adaptive, p, codes.numpy())) <= 2 * 14 * heaviest
    smooth = expected("smooth_calibration_error", p, codes.numpy())
    # A kernel of width s that moves by a cell changes by 2 phi(0) / s times its width.
    assert abs(found["smooth_calibration_error"] - smooth) <= 0.8 / smooth / 15360


@pytest.mark.parametrize("case", ["equal", "certain", "tiny", "one class", "one sample", "ties"])
@pytest.mark.parametrize("classes", [2, 3, 40])
def test_awkward_samples(case, classes):
    p, codes = sample(classes, samples=60, seed=1)
    p = p.softmax(1)
    if case == "equal":
        p = p[:1].expand(60, -1)
    elif case == "certain":
        p = torch.eye(classes, dtype=torch.float64)[p.argmax(1)]
    elif case == "tiny":
        p = torch.full((60, classes), 1e-12, dtype=torch.float64)
        p[:, 1] = 1 - (classes - 1) * 1e-12
    elif case == "one class":
        codes = torch.ones_like(codes)
    elif case == "one sample":
        p, codes = p[:1], codes[:1]
    else:
        p = torch.full((60, classes), 1 / classes, dtype=torch.float64)
    metrics = fed(Metrics("probabilities", classes), p, codes, step=7)
    found = values(metrics)
    for name, value in found.items():
        if name in metrics.unavailable:
            assert np.isnan(value)
        elif name not in BY_CELLS or case in ("equal", "certain", "ties", "one sample"):
            wanted = expected(name, p.numpy(), codes.numpy())
            assert value == pytest.approx(wanted, abs=1e-9, nan_ok=True), name


@pytest.mark.parametrize("classes", [2, 10, 100])
@pytest.mark.parametrize(
    ("dtype", "step"),
    [(torch.float32, 2.0**-24), (torch.bfloat16, 2.0**-9), (torch.float16, 2.0**-11)],
)
def test_short_types_lose_no_more_than_their_own_rounding(dtype, step, classes):
    logits, codes = sample(classes, scale=1.0)
    exact = logits.softmax(1)
    rounded = exact.to(dtype)
    found = values(fed(Metrics("probabilities", classes), rounded, codes))
    same = values(fed(Metrics("logits", classes), logits.to(dtype), codes))
    given = logits.to(dtype).double().softmax(1).numpy()
    for name in set(same) - BY_CELLS:
        # All arithmetic is in double: the same numbers give the same value.
        assert same[name] == pytest.approx(expected(name, given, codes.numpy()), abs=1e-9), name
    for name, factor in (("negative_log_likelihood_loss", 1.01), ("brier_loss", 4.0)):
        # A relative change of each probability by d changes the logarithm by d / (1 - d), and the
        # squared distance by 2 |p - y| p d + (p d)^2, of which the sum is at most 4 d.
        wanted = expected(name, exact.numpy(), codes.numpy())
        tiny = 2.0**-24 if dtype == torch.float16 else 0.0  # below it, numbers are not normal
        assert abs(found[name] - wanted) <= factor * step + tiny / exact.min().item(), name


@pytest.mark.parametrize("classes", [2, 3, 100])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_rows_of_short_types_are_those_of_a_prediction(dtype, classes):
    """Their sum is 1 in their own precision; a prediction divides by it."""
    logits, codes = sample(classes, scale=1.0)
    p = logits.softmax(1).to(dtype)
    single = p[:, 1] if classes == 2 else p
    pairs = [(p, caveat.Categorical(p))]
    if classes == 2:
        pairs.append((single, caveat.Categorical.from_binary(single)))
    for given, prediction in pairs:
        found = values(fed(Metrics("probabilities", classes), given, codes))
        for name in set(found) - BY_CELLS:
            wanted = expected(name, prediction.mean, codes.numpy())
            assert found[name] == pytest.approx(wanted, abs=1e-9), name


def test_a_single_column_is_the_second_of_two_classes():
    logits, codes = sample(2)
    whole = values(fed(Metrics("logits", 2), logits, codes))
    difference = logits[:, 1] - logits[:, 0]
    for head, column in (("logits", difference[:, None]), ("probabilities", difference.sigmoid())):
        found = values(fed(Metrics(head, 2), column, codes))
        assert found == pytest.approx(whole, abs=1e-4, nan_ok=True)  # ties fall into cells
        for name in set(found) - BY_CELLS:
            assert found[name] == pytest.approx(whole[name], abs=1e-10)


@pytest.mark.parametrize("head", ["mean-std", "mean-variance"])
def test_regression(head):
    rng = np.random.default_rng(2)
    mean, std = rng.normal(size=2000), np.exp(rng.normal(size=2000))
    y = mean + 1.3 * std * rng.normal(size=2000)
    y[:3] = mean[:3]  # exactly the median
    preds = torch.tensor(np.stack([mean, std if head == "mean-std" else std**2], axis=1))
    metrics = fed(Metrics(head), preds, torch.tensor(y))
    found = values(metrics)
    assert len(found) == 10
    given = {"mean": mean, "variance": std**2}
    for name, value in found.items():
        metric = METRICS[name]
        wanted = metric.function(y, *(given[part] for part in metric.inputs))
        # A bin of equal count may split the cells at its ends, of some two samples, otherwise.
        tolerance = 5e-3 if name in BY_CELLS else 1e-9
        assert value == pytest.approx(wanted, abs=tolerance), name
    other = fed(Metrics(head), preds[..., None], torch.tensor(y)[:, None])
    assert values(other) == pytest.approx(found)


def test_cells_are_in_order_and_as_narrow_as_said():
    p = torch.linspace(0, 1, 100_001, dtype=torch.float64)
    tails = torch.logspace(-60, -1, 5000, base=2, dtype=torch.float64)
    p = torch.cat([p, tails, 1 - tails, torch.arange(16, dtype=torch.float64) / 15]).sort().values
    cells = probability_cells(p)
    assert (cells.diff() >= 0).all()
    assert cells[0] == 0
    assert cells[-1] == CELLS - 1
    first = torch.cat([torch.tensor([True]), cells.diff() > 0]).nonzero()[:, 0]
    last = torch.cat([first[1:], torch.tensor([len(p)])]) - 1
    low, high = p[first], p[last]
    narrowest = torch.minimum(low, 1 - high)
    assert (high - low <= 1 / 15360).all()
    tail = (narrowest < 2.0**-6) & (narrowest >= 2.0**-53)
    assert (high - low <= narrowest / 128 * (1 + 1e-9))[tail].all()
    assert tail.sum() > 5000
    assert torch.equal((low * 15).long().clamp(max=14), (high * 15).long().clamp(max=14))
    variance = torch.logspace(-70, 70, 10_000, base=2, dtype=torch.float64)
    places = spread_cells(variance)
    assert (places.diff() >= 0).all()
    assert places[0] == 0
    assert places[-1] == SPREADS - 1


def test_sums_do_not_depend_on_the_batches_and_do_not_grow():
    logits, codes = sample(5)
    whole, parts = Metrics("logits", 5), Metrics("logits", 5)
    size = whole.sums.shape
    whole.update(logits, codes)
    order = torch.randperm(len(codes), generator=torch.Generator().manual_seed(3))
    fed(parts, logits[order], codes[order], step=37)
    torch.testing.assert_close(whole.sums, parts.sums, rtol=1e-12, atol=1e-9)
    assert parts.sums.shape == size


def test_blocks_of_a_batch_add_up(monkeypatch):
    from caveat.nn import _metric_classes

    logits, codes = sample(20)
    whole = fed(Metrics("logits", 20), logits, codes, step=3000)
    monkeypatch.setattr(_metric_classes, "_ENTRIES_CPU", 1000)
    parts = fed(Metrics("logits", 20), logits, codes, step=3000)
    torch.testing.assert_close(whole.sums, parts.sums, rtol=1e-12, atol=1e-9)


def test_many_classes_say_what_is_unavailable():
    logits, codes = sample(21, samples=50)
    metrics = fed(Metrics("logits", 21), logits, codes)
    found = values(metrics)
    missing = {"adaptive_calibration_error", "roc_auc_score", "average_precision_score"}
    assert set(metrics.unavailable) == missing
    assert metrics.unavailable["roc_auc_score"] == (
        "it needs cells of each class, which are kept for up to 20 classes; there are 21"
    )
    assert all(np.isnan(found[name]) for name in missing)
    assert Metrics("logits", 21, metrics=["nll"]).unavailable == {}
    assert Metrics("logits", 20).unavailable == {}
    with pytest.raises(OptionError, match="'auc' is unavailable: it needs cells of each class"):
        Metrics("logits", 21, metrics=["auc"])


def test_metrics_are_chosen_by_name():
    logits, codes = sample(3, samples=20)
    chosen = fed(Metrics("logits", 3, metrics=["ece", "nll"]), logits, codes).compute()
    assert list(chosen) == ["expected_calibration_error", "negative_log_likelihood_loss"]
    assert list(Metrics("mean-std", metrics=["nll"])._names) == [
        "gaussian_negative_log_likelihood_loss"
    ]
    assert repr(Metrics("logits", 3)) == "Metrics('logits', classes=3)"
    assert repr(Metrics("mean-std")) == "Metrics('mean-std')"


def test_wrong_options_are_refused():
    for call, error, words in (
        (
            lambda: Metrics("logits"),
            OptionError,
            'head="logits" needs classes=, the number of classes',
        ),
        (
            lambda: Metrics("mean-std", 3),
            OptionError,
            'head="mean-std" has no use for classes=; leave it out',
        ),
        (lambda: Metrics("softmax", 3), OptionError, "head must be"),
        (lambda: Metrics("logits", 1), OptionError, "classes must be"),
        (
            lambda: Metrics("logits", 3, metrics="ece"),
            OptionError,
            "metrics must be a list of names; got 'ece'",
        ),
        (lambda: Metrics("logits", 3, metrics=["eec"]), UnknownNameError, "ece"),
        (
            lambda: Metrics("logits", 3, metrics=["rmse"]),
            OptionError,
            r"'rmse' does not follow from the sums of Metrics\('logits', classes=3\); they give accuracy_score, ",
        ),
    ):
        with pytest.raises(error, match=words):
            call()


def test_wrong_shapes_and_types_are_refused_at_once():
    metrics, logits = Metrics("logits", 3), torch.zeros(4, 3)
    codes = torch.zeros(4, dtype=torch.long)
    metrics.update(logits, codes)
    for preds, target, error, words in (
        (
            torch.zeros(4, 5),
            codes,
            ShapeError,
            r"preds must have shape \(samples, 3\), since classes is 3; got \(4, 5\)",
        ),
        (logits[0], codes, ShapeError, r"got \(3,\)"),
        (logits, codes[:2], ShapeError, r"target must have shape \(4,\)"),
        (logits, codes.double(), LabelError, "target must hold class codes"),
        (logits.numpy(), codes, OptionError, "preds must be a Tensor; got a ndarray"),
        (logits, [0, 0, 0, 0], OptionError, "target must be a Tensor; got a list"),
    ):
        with pytest.raises(error, match=words):
            metrics.update(preds, target)
    with pytest.raises(ShapeError, match=r"\(samples, 2\), or \(samples,\) for the second class"):
        Metrics("logits", 2).update(logits, codes)
    with pytest.raises(ShapeError, match=r"mean and variance; got \(4, 3\)"):
        Metrics("mean-variance").update(logits, codes)
    with pytest.raises(
        ShapeError, match=r"target must have shape \(4,\), as preds has samples; got \(2,\)"
    ):
        Metrics("mean-std").update(torch.ones(4, 2), torch.ones(2))
    assert metrics._views(metrics.sums)["scores"][0] == 4  # a refused batch leaves no trace


def test_invalid_values_are_counted_and_raised_at_the_end():
    logits, codes = sample(3, samples=10)
    p = logits.softmax(1)
    nan, infinite, negative, unscaled = logits.clone(), logits.clone(), p.clone(), 1.1 * p
    nan[2, 1], infinite[3:5, 0] = float("nan"), float("inf")
    negative[7, :2] += torch.tensor([-2.0, 2.0])
    low, high = codes.clone(), codes.clone()
    low[1], high[:2] = -100, 3
    for head, preds, target, error, words in (
        ("logits", nan, codes, InvalidValueError, "preds of 1 of 20 samples has logits that are NaN or infinite"),
        ("logits", infinite, codes, InvalidValueError, "preds of 2 of 20 samples"),
        ("probabilities", nan, codes, InvalidValueError, "preds of 10 of 20 samples is not a distribution"),
        ("probabilities", negative, codes, InvalidValueError, "preds of 1 of 20 samples is not a distribution: NaN, negative or of another sum than 1; for logits pass head=\"logits\""),
        ("probabilities", unscaled, codes, InvalidValueError, "preds of 10 of 20"),
        ("logits", logits, low, LabelError, "target of 1 of 20 samples is not one of the classes 0 to 2"),
        ("logits", logits, high, LabelError, "target of 2 of 20 samples"),
    ):  # fmt: skip
        metrics = Metrics(head, 3)
        metrics.update(preds, target)
        metrics.update(logits if head == "logits" else p, codes)
        with pytest.raises(error, match=words):
            metrics.compute()
        metrics.reset()
        metrics.update(logits if head == "logits" else p, codes)
        assert metrics.compute()["accuracy_score"] <= 1
    masked = logits.clone()
    masked[:, 2] = -float("inf")  # a class that cannot be
    metrics = Metrics("logits", 3)
    metrics.update(masked, torch.full_like(codes, 2))
    assert metrics.compute()["negative_log_likelihood_loss"] == float("inf")
    for preds, y in (
        (torch.tensor([[0.0, -1.0]]), 0.0),
        (torch.tensor([[0.0, 1.0]]), float("nan")),
    ):
        metrics = Metrics("mean-std")
        metrics.update(preds, torch.tensor([y]))
        with pytest.raises(InvalidValueError, match="preds or target of 1 of 1 samples are NaN"):
            metrics.compute()


@pytest.mark.filterwarnings("ignore:The ``compute`` method of metric Metrics")
@pytest.mark.parametrize("given", [("logits", 3), ("mean-std",)])
def test_nothing_to_compute(given):
    metrics = Metrics(*given)
    with pytest.raises(ShapeError, match="there are no samples yet; call update before compute"):
        metrics.compute()
    columns = 3 if len(given) == 2 else 2
    metrics.update(torch.zeros(0, columns), torch.zeros(0, dtype=torch.long))
    with pytest.raises(ShapeError, match="there are no samples yet"):
        metrics.compute()


def test_inference_mode_and_gradients():
    logits, codes = sample(3)
    metrics = Metrics("logits", 3)
    with torch.inference_mode():
        metrics.update(logits.clone(), codes)
        metrics.reset()
        metrics.update(logits.clone(), codes)
    metrics.update(logits.clone().requires_grad_(), codes)
    assert not metrics.sums.requires_grad
    assert metrics.compute()["accuracy_score"].item() == pytest.approx(
        expected("accuracy_score", logits.softmax(1).numpy(), codes.numpy())
    )


def test_it_is_a_metric_of_torchmetrics():
    torchmetrics = pytest.importorskip("torchmetrics")
    logits, codes = sample(3)
    ours = Metrics("logits", 3, metrics=["accuracy", "ece"])
    assert isinstance(ours, torchmetrics.Metric)
    collection = torchmetrics.MetricCollection(
        {
            "caveat": ours,
            "accuracy": torchmetrics.classification.MulticlassAccuracy(3, average="micro"),
            "error": torchmetrics.classification.MulticlassCalibrationError(3, n_bins=15),
        }
    )
    fed(collection, logits, codes)
    found = collection.compute()
    assert found["accuracy_score"].item() == pytest.approx(found["accuracy"].item(), abs=1e-6)
    assert found["expected_calibration_error"].item() == pytest.approx(
        found["error"].item(), abs=1e-6
    )
    collection.reset()
    collection.update(preds=logits[:100], target=codes[:100])
    assert collection.compute()["accuracy_score"] <= 1
    single = Metrics("logits", 3)
    first = single(logits[:500], codes[:500])
    second = single(logits[500:], codes[500:])
    both = single.compute()["accuracy_score"].item()
    assert both == pytest.approx(
        (500 * first["accuracy_score"] + 2500 * second["accuracy_score"]).item() / 3000
    )
    for other in (copy.deepcopy(single), pickle.loads(pickle.dumps(single)), single.clone()):
        assert values(other) == pytest.approx(values(single), nan_ok=True)
        other.update(logits, codes)
    half = torch.nn.ModuleList([single]).half()[0]
    assert half.sums.dtype == torch.float64


@pytest.fixture
def bare(monkeypatch):
    """The class as it is where torchmetrics is not installed."""
    monkeypatch.setitem(sys.modules, "torchmetrics", None)
    for name in ("caveat.nn.metrics", "caveat.nn._metric_base"):
        monkeypatch.delitem(sys.modules, name)
    return importlib.import_module("caveat.nn.metrics").Metrics


def test_it_works_without_torchmetrics(bare, tmp_path):
    logits, codes = sample(3)
    metrics = bare("logits", 3)
    assert type(metrics).__mro__[1].__name__ == "StandIn"
    assert values(fed(metrics, logits, codes)) == values(fed(Metrics("logits", 3), logits, codes))
    assert values(copy.deepcopy(metrics)) == values(metrics)
    metrics.reset()
    assert not metrics.sums.any()
    assert metrics.to("cpu") is metrics
    fed(metrics, logits, codes)
    before = values(metrics)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path}/group", rank=0, world_size=1
    )
    try:
        assert values(metrics) == before
    finally:
        torch.distributed.destroy_process_group()


PROCESS = """
import importlib
import sys
import torch
import caveat.nn
assert "torchmetrics" not in sys.modules  # it takes a second to import
rank = int(sys.argv[2])
torch.distributed.init_process_group(
    "gloo", init_method="file://" + sys.argv[1] + "/group", rank=rank, world_size=2
)
torch.manual_seed(0)
X, codes = torch.randn(300, 4), torch.randint(3, (300,))
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 3))
rows = slice(0, 210) if rank == 0 else slice(210, 300)
results = []
for kind in ("torchmetrics", "bare"):
    if kind == "bare":
        sys.modules["torchmetrics"] = None
        del sys.modules["caveat.nn.metrics"], sys.modules["caveat.nn._metric_base"]
    Metrics = importlib.import_module("caveat.nn.metrics").Metrics
    assert (Metrics.__mro__[1].__name__ == "StandIn") == (kind == "bare")
    metrics, idle = Metrics("logits", 3), Metrics("mean-std")
    with torch.no_grad():
        for part in torch.arange(300)[rows].split(70):
            metrics.update(model(X[part]), codes[part])
    if rank == 0:  # the other process has no batch at all
        idle.update(torch.tensor([[0.0, 1.0]]), torch.tensor([3.0]))
    results.append((metrics, metrics.compute()))
    assert idle.compute()["mean_absolute_error"] == 3
torch.distributed.barrier()
torch.distributed.destroy_process_group()
alone = Metrics("logits", 3)
with torch.no_grad():
    alone.update(model.module(X), codes)
for metrics, found in results:
    for name, value in alone.compute().items():
        torch.testing.assert_close(found[name], value, rtol=1e-9, atol=1e-9, equal_nan=True)
    # What a process has seen is its own again, and not doubled.
    assert metrics._views(metrics.sums)["scores"][0] == rows.stop - rows.start
print("done")
"""


def test_processes_add_up(tmp_path):
    script = tmp_path / "process.py"
    script.write_text(PROCESS)
    environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", str(script), str(tmp_path), str(rank)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        )
        for rank in (0, 1)
    ]  # fmt: skip
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert out == "done\n"


@pytest.mark.filterwarnings(
    "ignore:.isinstance.treespec, LeafSpec.:FutureWarning"
)  # Lightning's own
def test_in_lightning(tmp_path):
    lightning = pytest.importorskip("lightning", reason="Lightning is not installed")
    logits, codes = sample(3, samples=100)

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 3)
            self.metrics = Metrics("logits", 3, metrics=["accuracy", "nll", "ece"])

        def training_step(self, batch, _):
            return torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

        def validation_step(self, batch, _):
            self.metrics.update(self.layer(batch[0]), batch[1])

        def on_validation_epoch_end(self):
            self.log_dict(self.metrics.compute())
            self.metrics.reset()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    data = torch.utils.data.TensorDataset(logits.float(), codes)
    loader = torch.utils.data.DataLoader(data, batch_size=32)
    trainer = lightning.Trainer(
        max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, default_root_dir=tmp_path,
    )  # fmt: skip
    model = Model()
    trainer.fit(model, loader, loader)
    with torch.no_grad():
        p = model.layer(logits.float()).double().softmax(1).numpy()
    logged = trainer.callback_metrics
    for name in ("accuracy_score", "negative_log_likelihood_loss", "expected_calibration_error"):
        assert logged[name].item() == pytest.approx(expected(name, p, codes.numpy()), abs=1e-5)


def members(dtype=torch.float64, shape=(7, 500, 5), seed=0):
    logits = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    p = (3 * logits).softmax(-1)
    p[:, 0] = 0.0
    p[:, 0, 1] = 1.0
    return p.to(dtype)


@pytest.mark.parametrize("shape", [(7, 500, 5), (1, 30, 2), (3, 1, 1000), (20, 3000, 10)])
def test_the_split_is_that_of_decompose(shape):
    p = members(shape=shape)
    wanted = caveat.decompose(caveat.Categorical(p.numpy()))
    found = information_split(p)
    for name in ("total", "aleatoric", "epistemic"):
        part = getattr(found, name)
        assert part.shape == shape[1:2]
        np.testing.assert_allclose(part.numpy(), getattr(wanted, name), rtol=0, atol=1e-12)
    assert (found.epistemic >= 0).all()
    turned = p.permute(2, 1, 0).contiguous().permute(2, 1, 0)
    torch.testing.assert_close(information_split(turned), found)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_split_of_short_types_is_within_its_bound(dtype):
    p = members(dtype, (20, 2000, 10))
    exact, found = information_split(p.double()), information_split(p)
    bound = (20 + 10 + 8) * 2.0**-23 * np.log(10)
    for wanted, part in zip(exact, found, strict=True):
        assert part.dtype == torch.float32
        assert (part - wanted).abs().max() <= bound


def test_the_split_says_what_it_needs():
    for shape in ((5, 3), (2, 0, 3), (2, 5, 1)):
        with pytest.raises(ShapeError, match=r"must have shape \(members, samples, classes\)"):
            information_split(torch.zeros(shape))
    with pytest.raises(
        InvalidValueError, match=r"must be floating point numbers; got torch\.int64"
    ):
        information_split(torch.zeros(2, 3, 4, dtype=torch.long))
    message = r"probabilities must be a Tensor; got a ndarray: for arrays use caveat\.decompose"
    with pytest.raises(OptionError, match=message):
        information_split(np.full((2, 3, 4), 0.25))
    p = members()
    p[2, 7, 1] = float("nan")
    found = information_split(p)
    assert found.total.isnan().nonzero().flatten().tolist() == [7]
    assert found.epistemic.isnan().nonzero().flatten().tolist() == [7]


def test_the_kernel_can_be_imported_without_triton():
    from caveat.nn import _split_kernel

    assert callable(_split_kernel.split_on_gpu)


def test_unknown_names_of_the_package():
    with pytest.raises(AttributeError, match=r"module 'caveat\.nn' has no attribute 'Metric'"):
        caveat.nn.Metric  # noqa: B018
