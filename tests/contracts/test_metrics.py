"""What every metric of the registry must hold to."""

import inspect
import math

import numpy as np
import pytest

from caveat.exceptions import CaveatError, UnknownNameError
from caveat.metrics import METRICS

from .metric_cases import NEEDS_PAIRS, SHARED, TWO_CLASSES, WITH_MEMBERS, make

EVERY = pytest.mark.parametrize("name", list(METRICS))
TIES = pytest.mark.parametrize("ties", [False, True], ids=["distinct", "ties"])


@EVERY
def test_entry_tells_what_it_is(name):
    metric = METRICS[name]
    assert metric.name == metric.function.__name__ == name
    assert metric.says.endswith(".")
    assert metric.cannot_see.endswith(".")
    assert metric.range[0] < metric.range[1]
    if metric.optimum is not None:
        assert metric.range[0] <= metric.optimum <= metric.range[1]
    if name.endswith(("_error", "_loss")):
        assert metric.direction == "lower"
    if name.endswith("_score"):
        assert metric.direction == "higher"
    if metric.direction == "lower" and metric.optimum is not None:
        assert metric.optimum == metric.range[0]
    parameters = list(inspect.signature(metric.function).parameters)
    assert tuple(parameters[1 : 1 + len(metric.inputs)]) == metric.inputs
    assert "sample_weight" in parameters
    assert ">>>" in (metric.function.__doc__ or "")


@EVERY
@TIES
def test_in_range_and_a_plain_float(name, ties):
    for samples in (60, 20_000) if name in NEEDS_PAIRS else (12, 60, 20_000):
        value = make(name, samples, ties=ties).value()
        assert type(value) is float
        low, high = METRICS[name].range
        assert low - 1e-12 <= value <= high + 1e-12


@EVERY
@TIES
@pytest.mark.parametrize("samples", [60, 20_000])
def test_order_of_samples_does_not_matter(name, ties, samples):
    case = make(name, samples, ties=ties)
    rows = np.random.default_rng(1).permutation(samples)
    assert case.take(rows).value() == pytest.approx(case.value(), rel=1e-9, abs=1e-12)
    assert case.take(np.arange(samples)[::-1]).value() == pytest.approx(
        case.value(), rel=1e-9, abs=1e-12
    )


@EVERY
@TIES
@pytest.mark.parametrize("samples", [40, 12_000])
def test_a_weight_is_a_repetition(name, ties, samples):
    case = make(name, samples, ties=ties)
    weight = np.random.default_rng(2).integers(0, 4, size=samples)
    weight[:3] = 1
    repeated = case.take(np.repeat(np.arange(samples), weight)).value()
    weighted = case.value(sample_weight=weight.astype(float))
    assert weighted == pytest.approx(repeated, rel=1e-9, abs=1e-12)
    assert case.value(sample_weight=np.ones(samples)) == pytest.approx(
        case.value(), rel=1e-9, abs=1e-12
    )


@pytest.mark.parametrize("name", [n for n in METRICS if set(METRICS[n].inputs) & WITH_MEMBERS])
def test_order_of_members_does_not_matter(name):
    case = make(name)
    members = [2, 0, 3, 1]
    shuffled = {k: v[members] if k in WITH_MEMBERS else v for k, v in case.inputs.items()}
    assert case.replace(**shuffled).value() == pytest.approx(case.value(), rel=1e-12)


@pytest.mark.parametrize(
    "name", [n for n in METRICS if METRICS[n].task == "classification" and n not in TWO_CLASSES]
)
def test_order_of_classes_does_not_matter(name):
    case = make(name)
    classes = np.array([2, 0, 1])
    shuffled = {key: value[:, classes] for key, value in case.inputs.items()}
    other = case.replace(truth=np.argsort(classes)[case.truth], **shuffled)
    assert other.value() == pytest.approx(case.value(), rel=1e-9, abs=1e-12)


@EVERY
def test_labels_and_frames_do_as_well(name):
    case = make(name)
    lists = {key: value.tolist() for key, value in case.inputs.items()}
    assert case.replace(truth=case.truth.tolist(), **lists).value() == case.value()


@EVERY
def test_one_sample_and_constant_input_do_not_warn(name):
    case = make(name)
    if METRICS[name].task == "classification":
        case.truth[:] = 0
    values = [case.take(np.array([5])).value(), case.take(np.full(30, 5)).value()]
    constant = {
        key: value if key in SHARED else np.broadcast_to(
            value[:, :1] if key in WITH_MEMBERS else value[:1], value.shape
        )
        for key, value in case.inputs.items()
    }  # fmt: skip
    values.append(case.replace(**constant).value())
    low, high = METRICS[name].range
    for value in values:
        assert math.isnan(value) or low - 1e-12 <= value <= high + 1e-12


@EVERY
def test_bins_of_any_number(name):
    case = make(name)
    if "bins" in inspect.signature(METRICS[name].function).parameters:
        for bins in (1, 7) if name in NEEDS_PAIRS else (1, 7, 500):
            assert math.isfinite(case.value(bins=bins))
        for wrong in (0, 2.5):
            with pytest.raises(CaveatError, match="bins"):
                case.value(bins=wrong)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        (name, bad)
        for name in METRICS
        for bad in (np.nan, np.inf)
        if not (np.isinf(bad) and set(METRICS[name].inputs) & {"lower", "upper", "membership"})
    ],
)
def test_not_a_number_is_refused_by_name(name, bad):
    case = make(name, 50)
    for key in case.inputs:
        if case.inputs[key].dtype == bool:
            continue
        array = np.array(case.inputs[key], dtype=float)
        array[(..., -1) if array.ndim == 1 else (-1, -1)] = bad
        with pytest.raises(CaveatError, match=key):
            case.replace(**{key: array}).value()


@EVERY
def test_lengths_must_agree(name):
    case = make(name)
    with pytest.raises(CaveatError):
        case.replace(truth=case.truth[:-1]).value()
    with pytest.raises(CaveatError, match="sample_weight"):
        case.value(sample_weight=[1.0])
    with pytest.raises(CaveatError, match="sample_weight"):
        case.value(sample_weight=np.full(60, -1.0))


PERFECT = {
    "probabilities": lambda case: np.eye(case.inputs["probabilities"].shape[1])[case.truth],
    "membership": lambda case: np.eye(3, dtype=bool)[case.truth],
    "mean": lambda case: case.truth,
    "value": lambda case: case.truth,
    "members": lambda case: np.tile(case.truth, (4, 1)),
    "values": lambda case: np.tile(case.truth[:, None], (1, 3)),
    "lower": lambda case: case.truth,
    "upper": lambda case: case.truth,
    "uncertainty": lambda case: case.truth.astype(float),
    "score": lambda case: case.truth.astype(float),
}


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, metric in METRICS.items()
        if metric.optimum is not None and metric.direction != "target"
        and not {"variance", "variances"} & set(metric.inputs)
        and name != "quantile_coverage_error"  # all truth is at or below a point that meets it
    ],
)  # fmt: skip
def test_a_perfect_forecast_has_the_best_value(name):
    case = make(name, 600)
    perfect = {key: PERFECT[key](case) for key in case.inputs if key not in SHARED}
    value = case.replace(**perfect).value()
    if name == "area_under_risk_coverage_error":  # even the best order leaves the errors there
        assert value < case.value()
    else:
        assert value == pytest.approx(METRICS[name].optimum, abs=1e-12)


@pytest.mark.parametrize(
    "name",
    [n for n in METRICS if "per_sample" in inspect.signature(METRICS[n].function).parameters],
)
def test_scores_of_samples_average_to_the_metric(name):
    case = make(name)
    scores = case.value(per_sample=True)
    assert scores.shape == (60,)
    assert scores.mean() == pytest.approx(case.value(), rel=1e-12)
    weight = np.random.default_rng(0).random(60)
    assert np.average(scores, weights=weight) == pytest.approx(
        case.value(sample_weight=weight), rel=1e-12
    )


def test_aliases():
    for alias in ("ece", "ace", "smece", "uce", "vce", "brier", "auc", "crps", "picp", "cce", "ence",
                  "auce", "cv", "auco", "error_drop", "decrease_ratio", "mase"):  # fmt: skip
        assert METRICS[alias].name in METRICS
    assert METRICS.get("nll", task="regression").name == "gaussian_negative_log_likelihood_loss"
    assert METRICS.get("nll", task="classification").name == "negative_log_likelihood_loss"
    assert METRICS.get("mce", task="regression").name == "maximum_coverage_error"
    assert METRICS.get("ece").name == "expected_calibration_error"
    assert METRICS.get("ece", task="regression") is None
    assert METRICS.get("nothing", "default") == "default"
    for ask in (lambda: METRICS["nll"], lambda: METRICS.get("nll")):
        with pytest.raises(UnknownNameError, match=r"say which: METRICS.get\('nll', task='"):
            ask()
    with pytest.raises(UnknownNameError, match="did you mean 'expected_calibration_error'"):
        METRICS["expected_calibration_eror"]
