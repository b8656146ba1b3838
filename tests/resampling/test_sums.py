"""Every metric as a function of sums: the same as the metric itself with counts as weights."""

import inspect

import numpy as np
import pytest

from caveat.metrics import METRICS
from caveat.metrics.sums import UNBIASED, Part, Sums
from caveat.resampling import Prepared, make_plan, replicates
from caveat.resampling.replication import summed
from tests.contracts.metric_cases import make

EVERY = pytest.mark.parametrize("name", list(METRICS))
# A thousand resamples are smoothed on a coarser grid than one value is.
TOLERANCE = {"smooth_calibration_error": 5e-4}
SAMPLES, RESAMPLES = 150, 5
# Whose interval is that of gaps without a bias which the value has.
CORRECTED = {"debiased_calibration_error", "variation_calibration_error"}

CHOICES = {
    "f1_score": [{"average": "micro"}, {"average": "weighted"}],
    "roc_auc_score": [{"average": "weighted"}],
    "average_precision_score": [{"average": "weighted"}],
    "expected_calibration_error": [
        {"kind": kind, "norm": norm, "binning": binning, "bins": 7}
        for kind in ("top-label", "classwise")
        for norm in (1, 2, "max")
        for binning in ("equal-width", "equal-count")
    ],
    "positive_calibration_error": [{"norm": 2, "binning": "equal-count"}],
    "debiased_calibration_error": [
        {"kind": kind, "binning": binning}
        for kind in ("top-label", "classwise")
        for binning in ("equal-width", "equal-count")
    ],
    "thresholded_adaptive_calibration_error": [{"threshold": 0.3}, {"threshold": 0.97}],
    "variation_calibration_error": [{"variation": "gini"}, {"variation": "confidence"}],
    "smooth_calibration_error": [{"bandwidth": 0.1}],
    "confidence_oracle_area_error": [{"aggregate": "root_mean_square", "points": 20}],
    "dispersion": [{"ddof": 0}],
    "central_coverage_error": [{"levels": [0.9, 0.5, 0.5]}],
}


def assert_same(case, weight=None, rows=None, samples=SAMPLES):
    plan = make_plan(samples, resamples=RESAMPLES, random_state=3)
    found = replicates(
        case.metric,
        case.truth,
        case.inputs,
        plan,
        options=case.options,
        sample_weight=weight,
        rows=rows,
    )
    base = np.ones(samples) if weight is None else weight
    if rows is not None:
        base = base * np.isin(np.arange(samples), np.arange(samples)[rows])
    wanted = [case.value(sample_weight=base)]
    wanted += [case.value(sample_weight=base * plan.weights(i)) for i in range(RESAMPLES)]
    tolerance = TOLERANCE.get(case.metric.name, 1e-9)
    if case.metric.name == "error_drop_score":  # the last of a hundred points holds two samples
        assert np.isnan(found.values).all()
        wanted[1:] = found.values
    np.testing.assert_allclose(
        np.r_[found.center, found.values], wanted, rtol=tolerance, atol=1e-12
    )
    return found


def test_there_is_one_for_every_metric():
    assert [metric.name for metric in METRICS.values() if metric.sums is None] == []


@EVERY
@pytest.mark.parametrize("ties", [False, True], ids=["distinct", "ties"])
@pytest.mark.parametrize("weighted", [False, True], ids=["counts", "weights"])
def test_sums_give_the_metric(name, ties, weighted):
    case = make(name, SAMPLES, ties=ties)
    weight = np.random.default_rng(5).gamma(1.0, size=SAMPLES) if weighted else None
    found = assert_same(case, weight)
    if found.norm is not None and name not in CORRECTED:
        tolerance = TOLERANCE.get(name, 1e-9)
        assert found.norm(found.gaps) == pytest.approx(found.center, rel=tolerance)


@EVERY
def test_a_group_is_its_rows(name):
    assert_same(make(name, SAMPLES), rows=np.arange(SAMPLES) % 3 != 0)


@pytest.mark.parametrize(
    ("name", "options"), [(name, options) for name, many in CHOICES.items() for options in many]
)
def test_options_reach_the_sums(name, options):
    case = make(name, SAMPLES, ties=True)
    case.options = {**case.options, **options}
    if options.get("threshold") == 0.97:  # reached by a few of one class, and by none of another
        rows = np.flatnonzero(case.inputs["probabilities"][:, 0] >= 0.5)[:3]
        case.inputs["probabilities"][rows] = [0.98, 0.01, 0.01]
    assert_same(case)


def test_two_classes_in_one_column():
    case = make("f1_score", SAMPLES)
    case.truth = (case.truth > 0).astype(int)
    case.inputs = {"probabilities": 1 - case.inputs["probabilities"][:, 0]}
    case.options = {"average": "binary"}
    assert_same(case)
    for name in ("roc_auc_score", "uncertainty_calibration_error", "expected_calibration_error"):
        case.metric, case.options = METRICS[name], {}
        assert_same(case)


def test_a_callable_variation():
    case = make("variation_calibration_error", SAMPLES)
    case.options = {"variation": lambda ranked: 1 - ranked[:, 0]}
    assert_same(case)


def test_named_classes():
    for name in ("roc_auc_score", "expected_calibration_error", "accuracy_score"):
        case = make(name, SAMPLES)
        case.truth = np.array(["a", "b", "c"])[case.truth]
        case.options = {"classes": ["a", "b", "c"]}
        assert_same(case)


def test_an_infinite_loss_counts_where_it_is_drawn():
    p = np.array([[0.0, 1.0], [0.5, 0.5], [0.25, 0.75]] * 4)
    y = np.array([0, 1, 1] + [1, 0, 1] * 3)
    plan = make_plan(12, resamples=40, random_state=0)
    found = replicates(METRICS.get("nll", task="classification"), y, {"probabilities": p}, plan)
    drawn = plan.counts[:, 0] > 0
    assert np.isinf(found.center)
    np.testing.assert_array_equal(np.isinf(found.values), drawn)
    assert 0 < drawn.sum() < 40


def test_equal_spreads_have_no_dispersion():
    plan = make_plan(50, resamples=5, random_state=0)
    inputs = {"variance": np.full(50, 0.1)}
    found = replicates(METRICS["cv"], np.zeros(50), inputs, plan)
    assert found.center == 0
    assert (found.values == 0).all()


def test_predicted_spread_of_zero_beside_errors_is_infinite():
    y, variance = np.ones(40), np.r_[np.zeros(20), np.ones(20)]
    plan = make_plan(40, resamples=5, random_state=0)
    found = replicates(METRICS["ence"], y, {"mean": np.zeros(40), "variance": variance}, plan)
    assert np.isinf(found.center)


@EVERY
def test_a_group_that_is_not_drawn_is_undefined(name):
    case = make(name, SAMPLES)
    plan = make_plan(SAMPLES, resamples=30, random_state=0)
    rows = [0]
    found = replicates(case.metric, case.truth, case.inputs, plan, options=case.options, rows=rows)
    absent = plan.counts[:, plan.unit[0]] == 0
    assert absent.any()
    assert np.isnan(found.values[absent]).all()


@EVERY
def test_many_samples_in_cells_come_close(name):
    case = make(name, 5000, seed=1)
    plan = make_plan(5000, resamples=3, random_state=0)
    found = replicates(case.metric, case.truth, case.inputs, plan, options=case.options)
    exact = [case.value(), *(case.value(sample_weight=plan.weights(i)) for i in range(3))]
    np.testing.assert_allclose(np.r_[found.center, found.values], exact, rtol=0.1, atol=2e-3)


def test_many_ties_leave_few_cells():
    score = np.repeat([0.0, 1.0, 2.0], 2000)
    out = np.tile([0, 1, 1], 2000)
    plan = make_plan(6000, resamples=2, random_state=0)
    metric = METRICS["ood_auc"]
    found = replicates(metric, out, {"score": score}, plan)
    exact = [metric.function(out, score, sample_weight=plan.weights(i)) for i in range(2)]
    np.testing.assert_allclose(found.values, exact, rtol=1e-12)
    none = replicates(metric, np.zeros(6000), {"score": score}, plan)
    assert np.isnan(none.values).all()


def test_prepared_shares_work():
    case = make("roc_auc_score", SAMPLES)
    plan = make_plan(SAMPLES, resamples=4, random_state=0)
    more = {**case.inputs, "membership": case.inputs["probabilities"] > 0.3}
    prepared = Prepared(case.truth, more, plan)
    for name in ("roc_auc_score", "average_precision_score", "ace", "tace", "set_coverage"):
        metric = METRICS[name]
        inputs = {key: more[key] for key in metric.inputs}
        alone = replicates(metric, case.truth, inputs, plan)
        shared = replicates(metric, prepared=prepared)
        np.testing.assert_array_equal(shared.values, alone.values)
    calls = []
    assert prepared.kept("x", lambda: calls.append(1) or 7) == 7
    assert prepared.kept("x", lambda: calls.append(1) or 8) == 7
    assert calls == [1]


@EVERY
def test_sums_take_the_options_of_the_metric(name):
    parameters = inspect.signature(METRICS[name].sums).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    own = set(inspect.signature(METRICS[name].function).parameters)
    own -= {"y_true", "error", "wrong", "is_out", "sample_weight", *METRICS[name].inputs}
    assert own <= set(parameters)


def test_calibrated_to_the_last_digit():
    plan = make_plan(40, resamples=5, random_state=0)
    inputs = {"probabilities": np.tile([0.0, 1.0], 20)}
    found = replicates(METRICS["smece"], np.tile([0, 1], 20), inputs, plan)
    assert found.center == 0
    assert (found.values == 0).all()


@pytest.mark.parametrize("largest", [3, 2**24 + 1], ids=["in single precision", "in double"])
def test_counts_of_any_size_are_summed_exactly(largest):
    plan = make_plan(50, resamples=20, random_state=0)
    counts = np.random.default_rng(0).integers(0, 3, size=(50, 4)).astype(float)
    counts[0] = largest
    sums = Sums([Part(lambda: counts)], lambda read: read[:, 0], UNBIASED)
    found = summed(sums, [counts], plan, 50)
    wanted = plan.counts.astype(np.int64) @ counts[:, 0].astype(np.int64)
    np.testing.assert_array_equal(found.values, wanted)
