"""States add up: of any parts, in any order; they give the value, and the interval."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat import Categorical
from caveat import load as load_state
from caveat.exceptions import (
    CaveatError,
    FileFormatError,
    InvalidValueError,
    OptionError,
    ShapeError,
)
from caveat.metrics import METRICS
from caveat.metrics.states import COARSE, FINE, State, cell_of, sum_functions, widened
from caveat.metrics.units import UNITS
from caveat.resampling import confidence_interval, make_plan, replicates, state_interval
from tests.contracts.metric_cases import make

EVERY = pytest.mark.parametrize("name", list(METRICS))
# What rests on the order of a key; all others are exact.
KEYED = {
    "roc_auc_score": 2e-3,
    "average_precision_score": 5e-3,
    "specificity_at_sensitivity_score": 0.02,
    "sensitivity_at_specificity_score": 0.02,
    "calibration_intercept": 1e-4,
    "calibration_slope": 1e-4,
    "adaptive_calibration_error": 2e-3,
    "thresholded_adaptive_calibration_error": 2e-3,
    "debiased_calibration_error": 5e-3,
    "smooth_calibration_error": 1e-3,
    "expected_normalized_calibration_error": 0.02,
    "confidence_oracle_area_error": 0.2,
    "error_drop_score": 0.2,
    "decrease_ratio_score": 0.05,
    "area_under_risk_coverage_error": 2e-3,
    "excess_area_under_risk_coverage_error": 2e-3,
    "error_uncertainty_correlation": 3e-3,
    "error_detection_auroc_score": 2e-3,
    "detection_roc_auc_score": 2e-3,
    "detection_average_precision_score": 5e-3,
    "false_positive_rate_at_true_positive_rate_error": 0.02,
}


def state(case, rows=slice(None), **given):
    part = case.take(rows)
    return case.metric.state(part.truth, *part.inputs.values(), **part.options, **given)


def assert_alike(one, other):
    assert one.samples == other.samples
    for kind in ("totals", "units"):
        for (columns, sums), (same, found) in zip(
            getattr(one, kind), getattr(other, kind), strict=True
        ):
            np.testing.assert_array_equal(columns, same)
            np.testing.assert_allclose(sums, found, rtol=1e-9, atol=1e-9)


@EVERY
def test_the_value_of_all_samples(name):
    case = make(name, 3000, seed=2)
    weight = np.random.default_rng(1).gamma(1.0, size=3000)
    for given_weight in (None, weight):
        found = case.metric.value(state(case, sample_weight=given_weight))
        exact = case.value(sample_weight=given_weight)
        if name in KEYED:
            assert found == pytest.approx(exact, abs=KEYED[name])
        else:
            assert found == pytest.approx(exact, rel=1e-9, abs=1e-12)


@EVERY
@settings(max_examples=8)
@given(data=st.data())
def test_parts_add_up_in_any_order(name, data):
    case = make(name, 60, seed=data.draw(st.integers(0, 5)), ties=True)
    owner = np.array(data.draw(st.lists(st.integers(0, 3), min_size=60, max_size=60)))
    ids = np.arange(60)
    parts = [
        state(case, np.flatnonzero(owner == k), ids=ids[owner == k])
        for k in data.draw(st.permutations(range(4)))
        if (owner == k).any()
    ]
    whole = state(case, ids=ids)
    assert_alike(sum(parts), whole)
    if len(parts) > 2:
        assert_alike(parts[0] + (parts[1] + parts[2]), (parts[0] + parts[1]) + parts[2])
        assert_alike(parts[0] + parts[1], parts[1] + parts[0])
    value = case.metric.value(whole)
    assert case.metric.value(sum(parts)) == pytest.approx(value, rel=1e-6, abs=1e-9, nan_ok=True)


def rounded(key, bounded=False):
    """Keys that are the same wherever their cell is."""
    return cell_of(np.asarray(key, dtype=float), FINE, bounded=bounded)[0].astype(float)


@EVERY
def test_empty_cells_that_are_left_out_change_nothing(name):
    case = make(name, 400, seed=4)
    one = state(case)
    for bits, sums in ((FINE, one.totals), (COARSE, one.units)):
        made, again = (sum_functions(case.metric, one, bits) for _ in range(2))
        for part, same, (columns, values) in zip(made.parts, again.parts, sums, strict=True):
            if not part.ordered:
                continue
            narrow = widened(part, columns, values)
            wide = np.zeros((len(values), part.matrix().shape[1]))
            wide[:, columns] = values
            assert narrow.shape[1] < wide.shape[1]
            with np.errstate(all="ignore"):
                found, wanted = part.reduce(narrow), same.reduce(wide)
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
            none = widened(part, np.zeros(0, dtype=np.int64), np.zeros((1, 0)))
            assert none.shape == (1, part.ordered)


def test_ranks_are_exactly_those_of_rounded_keys():
    rng = np.random.default_rng(0)
    y, score, error = rng.random(4000) < 0.3, rng.normal(size=4000), rng.gamma(1.0, size=4000)
    spread = error * np.exp(0.5 * rng.normal(size=4000))
    for name, truth, key in (
        ("ood_auc", y, score),
        ("ood_ap", y, score),
        ("fpr95", y, score),
        ("auroc_error", y, spread),
        ("aurc", error, spread),
        ("error_drop", error, spread),
        ("decrease_ratio", error, spread),
    ):
        metric = METRICS[name]
        found = metric.value(metric.state(truth, key))
        assert found == pytest.approx(metric.function(truth, rounded(key)), rel=1e-9)
        assert found == pytest.approx(metric.function(truth, key), rel=0.1)


@settings(max_examples=60)
@given(st.lists(st.floats(-1e12, 1e12), min_size=2, max_size=20), st.booleans())
def test_cells_keep_the_order_and_are_as_narrow_as_stated(values, bounded):
    key = np.sort(np.asarray(values))
    if bounded:
        key = np.sort(1 / (1 + np.exp(-np.clip(key, -20, 20))))
    cell, number = cell_of(key, FINE, bounded=bounded)
    assert (np.diff(cell) >= 0).all()
    assert cell.min() >= 0
    assert cell.max() < number
    size = np.minimum(key, 1 - key) if bounded else np.abs(key)
    same = (np.diff(cell) == 0) & (size[1:] > 2.0**-32) & (size[:-1] > 2.0**-32)
    same &= size[1:] < 2.0**32
    largest = np.maximum(size[1:], size[:-1])
    assert (np.diff(key)[same] <= State.key_error * largest[same] * (1 + 1e-9)).all()


@pytest.mark.parametrize("name", ["accuracy", "brier", "auc", "ece", "rmse", "cce", "aurc", "ace"])
@pytest.mark.parametrize("clustered", [False, True])
def test_the_interval_is_that_of_the_samples(name, clustered):
    """From 64 units, not 20,000 rows: the width is known to 2 / sqrt(2 * 63) = 18 % each time."""
    samples = 20_000
    case = make(METRICS.find(name)[0].name, samples, seed=3)
    cluster = np.arange(samples) // 10 if clustered else None
    plan = make_plan(samples, cluster=cluster, random_state=0)
    found = replicates(case.metric, case.truth, case.inputs, plan, options=case.options)
    wanted = confidence_interval(case.metric, case.value(), found)
    parts = [
        state(case, rows, cluster=None if cluster is None else cluster[rows])
        for rows in np.array_split(np.arange(samples), 7)
    ]
    interval = case.metric.interval(sum(parts), random_state=0)
    width = wanted.high - wanted.low
    if wanted.method != "bias-corrected percentile":  # that of means of more than 1,000 units
        assert interval.method == wanted.method
    assert interval.high - interval.low == pytest.approx(width, rel=0.5)
    assert interval.low == pytest.approx(wanted.low, abs=0.4 * width)


def test_all_right_is_not_certain():
    metric = METRICS["accuracy"]
    plain = metric.interval(metric.state(np.ones(60), np.full(60, 0.9)), random_state=0)
    assert plain.low == pytest.approx(0.9398, abs=1e-4)  # Wilson
    cluster = np.arange(60) // 10
    wider = metric.interval(metric.state(np.ones(60), np.full(60, 0.9), cluster=cluster))
    assert wider.low < 0.7


def test_an_error_drop_needs_samples_at_its_end():
    metric, rng = METRICS["error_drop"], np.random.default_rng(0)
    few, many = (
        metric.interval(metric.state(rng.random(n), rng.random(n)), random_state=0)
        for n in (100, 2000)
    )
    assert few.method == "undefined"
    assert many.low < many.high


def test_a_cluster_is_in_one_unit_in_every_state():
    p = np.full(8, 0.7)
    metric = METRICS["accuracy"]
    one = metric.state(np.ones(8), p, cluster=list("aabbccdd"))
    other = metric.state(np.ones(8), p, cluster=list("ddccbbaa"))
    np.testing.assert_array_equal(one.units[0][1], other.units[0][1])
    held = np.any((one + other).units[0][1] > 0, axis=1)
    assert np.count_nonzero(held) == np.count_nonzero(np.any(one.units[0][1] > 0, axis=1)) <= 4


def test_constant_size():
    metric = METRICS["auc"]
    rng = np.random.default_rng(0)
    sizes = [
        metric.state(rng.random(n) < 0.5, rng.random(n)).nbytes for n in (1000, 10_000, 100_000)
    ]
    assert sizes[2] < 3 * sizes[0]
    assert sizes[2] < 2**19


@EVERY
def test_files(name, tmp_path):
    case = make(name, 50, seed=1)
    one = state(case)
    one.save(tmp_path / "one.state")
    again = load_state(tmp_path / "one.state")
    assert_alike(one, again)
    assert (again.metric, again.plain, dict(again.shape)) == (name, True, dict(one.shape))
    assert_alike(one + again, one + one)


def test_text_classes_and_repr(tmp_path):
    metric = METRICS["classwise_ece"]
    p = np.array([[0.2, 0.8], [0.6, 0.4]])
    one = metric.state(["b", "a"], p, classes=["a", "b"])
    one.save(tmp_path / "a")
    both = one + load_state(tmp_path / "a")
    exact = metric.function(["b", "a"] * 2, np.tile(p, (2, 1)), classes=["a", "b"])
    assert metric.value(both) == pytest.approx(exact)
    assert repr(both).startswith("State(classwise_calibration_error, 4 samples, ")


def test_what_does_not_add_up():
    auc, ece = METRICS["auc"], METRICS["ece"]
    one = auc.state([0, 1], [0.2, 0.7])
    with pytest.raises(
        OptionError, match="only states of the same metric add up; got roc_auc_score and"
    ):
        one + ece.state([0, 1], [0.2, 0.7])
    with pytest.raises(OptionError, match="only states of the same options add up"):
        ece.state([0, 1], [0.2, 0.7]) + ece.state([0, 1], [0.2, 0.7], bins=3)
    with pytest.raises(OptionError, match="only states of the same shape add up"):
        auc.state([0, 2], np.eye(3)[[0, 2]]) + auc.state([0, 1], np.eye(2))
    with pytest.raises(TypeError):
        one + 1
    with pytest.raises(OptionError, match="a state of roc_auc_score, not of expected"):
        ece.value(one)
    with pytest.raises(ShapeError, match="takes y_true, mean, variance; got 1 other arrays"):
        METRICS["cce"].state([1.0], [1.0])
    with pytest.raises(ShapeError, match="ids must be one value for each of 2 samples"):
        auc.state([0, 1], [0.2, 0.7], ids=[1])
    from tests.contracts.cumulative import CUMULATIVE

    with pytest.raises(OptionError, match="declares no sums"):
        type(CUMULATIVE)(**{**vars(CUMULATIVE), "sums": None}).state([0, 1], [0.2, 0.7])


def test_an_interval_needs_a_metric():
    with pytest.raises(OptionError, match="takes a Metric and a State of it; got 'auc'"):
        state_interval("auc", None)
    with pytest.raises(OptionError, match="expected a State of roc_auc_score; got None"):
        METRICS["auc"].interval(None)
    one = METRICS["auc"].state([0, 1], [0.2, 0.7])
    with pytest.raises(OptionError, match="resamples must be a whole number of at least 1; got 0"):
        METRICS["auc"].interval(one, resamples=0)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("ece", {"bin": 3}, "expected_calibration_error has no option 'bin'; it has bins, kind, "),
        ("ece", {"bins": 0}, "bins must be a whole number of at least 1; got 0"),
        ("ece", {"kind": "top"}, "kind must be one of"),
        ("ece", {"norm": 7}, "norm must be one of 1, 2, 'max'; got 7"),
        ("accuracy", {"per_sample": True}, "has no option 'per_sample'; it has classes"),
        ("rmse", {"bins": 3}, "root_mean_squared_error has no option 'bins'; it has none"),
        ("pinball", {}, "pinball_loss needs level="),
    ],
)
def test_options_are_those_of_the_function(name, options, message):
    with pytest.raises(OptionError, match=re.escape(message)):
        METRICS[name].state([0, 1], [0.2, 0.7], **options)


def test_inputs_as_the_function_takes_them():
    metric, p = METRICS["classwise_ece"], np.array([[0.2, 0.8], [0.6, 0.4]])
    plain = metric.state([1, 0], p)
    named = metric.state(["ill", "well"], pd.DataFrame(p, columns=["well", "ill"]))
    again = metric.state(["ill", "well"], Categorical(p, classes=["well", "ill"]))
    assert_alike(plain, named)
    assert named.options == again.options == {"classes": ["well", "ill"]}
    assert_alike(named + again, plain + plain)
    for same in (
        metric.state([1, 0], Categorical(p)),
        metric.state([1, 0], pd.DataFrame(p)),
        metric.state([1, 0], probabilities=p),
        metric.state([1, 0], p, classes=None),
    ):
        assert_alike(plain + plain, same + plain)
    cce, given = METRICS["cce"], (np.zeros(3), np.zeros(3), np.ones(3))
    one = cce.state(*given, levels=np.array([0.2, 0.5]))
    assert (one + cce.state(*given, levels=(0.2, 0.5))).samples == 6
    with pytest.raises(ShapeError, match="takes y_true, mean, variance; got 3 other arrays"):
        cce.state(*given, np.ones(3))


def test_a_cluster_that_is_missing():
    with pytest.raises(InvalidValueError, match="cluster of sample 1 is missing"):
        METRICS["auc"].state([0, 1], [0.2, 0.7], cluster=[1.0, np.nan])


def test_a_function_cannot_be_saved(tmp_path):
    one = METRICS["vce"].state([0, 1], np.eye(2), variation=lambda ranked: 1 - ranked[:, 0])
    with pytest.raises(OptionError, match="variation is a function, which a file cannot hold"):
        one.save(tmp_path / "x")


def tampered(tmp_path, **changed):
    METRICS["brier"].state([0, 1], [0.2, 0.7]).save(tmp_path / "good")
    with np.load(tmp_path / "good") as file:
        arrays = {**{name: file[name] for name in file.files}, **changed}
    with (tmp_path / "bad").open("wb") as file:
        np.savez(file, **{name: value for name, value in arrays.items() if value is not None})
    return tmp_path / "bad"


def header(**changed):
    known = {
        "version": 1, "metric": "brier_loss", "options": {}, "shape": {}, "samples": 2,
        "plain": True, "parts": 1,
    }  # fmt: skip
    return np.frombuffer(json.dumps({**known, **changed}).encode(), dtype=np.uint8)


@pytest.mark.parametrize(
    "changed",
    [
        {"state": None},
        {"state": np.frombuffer(b"{", dtype=np.uint8)},
        {"state": header(version=2)},
        {"state": header(metric="nothing")},
        {"state": header(parts=2)},
        {"state": header(options={"bins": 3})},
        {"units_0_sums": np.ones((3, 2))},
        {"units_0_columns": np.array([1, 0])},
        {"totals_0_columns": np.array([0, 1, 9])},
        {"totals_0_columns": np.array([0.0, 1.0])},
        {"totals_0_columns": np.array([-1, 1])},
        {"totals_0_columns": np.array([0, 10**12]), "totals_0_sums": np.ones((1, 2))},
        {"totals_0_sums": np.array([[{}, {}]], dtype=object)},
    ],
)
def test_other_files_are_refused(tmp_path, changed):
    with pytest.raises(FileFormatError):
        load_state(tampered(tmp_path, **changed))


def test_no_file_of_numpy(tmp_path):
    (tmp_path / "text").write_text("hello")
    with pytest.raises(FileFormatError, match="no file that caveat wrote"):
        load_state(tmp_path / "text")
    with pytest.raises(FileNotFoundError):
        load_state(tmp_path / "none")
    with pytest.raises(CaveatError):
        METRICS["auc"].state([0, 2], [0.2, 0.7])


def test_a_small_file_does_not_unfold(tmp_path, monkeypatch):
    from caveat.metrics import state_files

    METRICS["brier"].state([0, 1], [0.2, 0.7]).save(tmp_path / "good")
    monkeypatch.setattr(state_files, "_MOST_BYTES", 10)
    with pytest.raises(FileFormatError, match="more than any state"):
        load_state(tmp_path / "good")


def test_there_are_units():
    one = METRICS["brier"].state(np.zeros(1000, int), np.full(1000, 0.3))
    assert one.units[0][1].shape[0] == UNITS
    assert (one.units[0][1][:, 0] > 0).all()
