"""What holds for every metric of regression, one test for each property."""

import inspect
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from caveat.exceptions import InvalidValueError, ShapeError
from caveat.metrics import METRICS
from caveat.metrics.regression import MODULES

SAMPLES = 200
LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])

# What a metric needs beside its arrays.
OPTIONS = {
    "mean_absolute_scaled_error": {"reference_median": 1.0},
    "pinball_loss": {"level": 0.3},
    "interval_loss": {"coverage": 0.9},
    "coverage_ratio": {"coverage": 0.9},
}
ENTRIES = {entry.name: entry for entry in METRICS.values() if entry.task == "regression"}
NAMES = sorted(ENTRIES)


def arrays(seed=0, samples=SAMPLES):
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=samples)
    variance = rng.integers(1, 6, samples) / 4  # with ties
    y = mean + rng.normal(size=samples)
    half = 1.6 * np.sqrt(variance)
    return {
        "y_true": y,
        "mean": mean,
        "variance": variance,
        "means": rng.normal(size=(4, samples)),
        "variances": rng.lognormal(size=(4, samples)),
        "members": rng.normal(size=(6, samples)),
        "value": mean - 0.5,
        "lower": mean - half,
        "upper": mean + half,
        "levels": LEVELS,
        "values": np.sort(rng.normal(size=(samples, len(LEVELS))), axis=1),
    }


def samples_axis(name):
    return {"means": 1, "variances": 1, "members": 1, "levels": None}.get(name, 0)


def take(data, rows):
    """Rows of every array that has one for each sample."""
    return {
        name: array if samples_axis(name) is None else np.take(array, rows, samples_axis(name))
        for name, array in data.items()
    }


def takes(name, parameter):
    return parameter in inspect.signature(ENTRIES[name].function).parameters


def call(name, data, **more):
    entry = ENTRIES[name]
    inputs = [data[key] for key in entry.inputs]
    return entry.function(data["y_true"], *inputs, **OPTIONS.get(name, {}), **more)


def test_everything_public_is_exported():
    exported = {name for module in MODULES for name in module.__all__}
    curves = {"coverage_curve", "error_calibration_curve", "quantile_coverage_curve"}
    assert exported == {*NAMES, *curves, "CoverageCurve"}
    for module in MODULES:
        assert sorted(module.__all__) == module.__all__


@pytest.mark.parametrize("name", NAMES)
def test_entry(name):
    entry = ENTRIES[name]
    assert entry.function.__name__ == name
    parameters = list(inspect.signature(entry.function).parameters)
    assert parameters[: 1 + len(entry.inputs)] == ["y_true", *entry.inputs]
    assert "sample_weight" in parameters
    if name.endswith(("_loss", "_error")):
        assert entry.direction == "lower"
    value = call(name, arrays())
    assert isinstance(value, float)
    assert entry.range[0] <= value <= entry.range[1]
    assert entry.optimum is None or entry.range[0] <= entry.optimum <= entry.range[1]
    if entry.curve:
        data = arrays()
        curve = entry.curve(data["y_true"], *[data[key] for key in entry.inputs])
        assert len(curve.predicted) == len(curve.observed) > 1


def test_aliases():
    aliases = {alias: entry.name for entry in ENTRIES.values() for alias in entry.aliases}
    wanted = {
        *("mae", "rmse", "mase", "nll", "crps", "pinball", "winkler", "picp", "mpiw"),
        *("cce", "auce", "mce", "ence", "cv"),
    }
    assert wanted <= set(aliases)
    assert aliases["crps"] == "gaussian_crps_loss"
    assert len(aliases) == sum(len(entry.aliases) for entry in ENTRIES.values())
    assert not set(aliases) & set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_rows_does_not_matter(name):
    data = arrays()
    rows = np.random.default_rng(1).permutation(SAMPLES)
    assert call(name, take(data, rows)) == pytest.approx(call(name, data), rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_members_does_not_matter(name):
    data = arrays()
    turned = dict(data)
    for key in ("means", "variances", "members"):
        turned[key] = data[key][::-1]
    assert call(name, turned) == pytest.approx(call(name, data), rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("samples", [SAMPLES, 9_000])
def test_a_weight_is_a_repetition(name, samples):
    data = arrays(samples=samples)
    times = np.random.default_rng(2).integers(0, 4, samples)
    repeated = take(data, np.repeat(np.arange(samples), times))
    assert call(name, data, sample_weight=times) == pytest.approx(
        call(name, repeated), rel=1e-12, abs=1e-14
    )


@pytest.mark.parametrize("name", NAMES)
def test_weights_of_one_are_no_weights(name):
    data = arrays()
    assert call(name, data, sample_weight=np.ones(SAMPLES)) == pytest.approx(
        call(name, data), rel=1e-12
    )


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"dispersion"}))
def test_only_the_ratios_of_weights_count(name):
    # Of dispersion they do not, with N - 1 in its denominator.
    data, w = arrays(), np.random.default_rng(3).random(SAMPLES)
    assert call(name, data, sample_weight=w) == pytest.approx(
        call(name, data, sample_weight=1e-3 * w), rel=1e-12
    )


@pytest.mark.parametrize("name", [name for name in NAMES if takes(name, "per_sample")])
def test_per_sample_scores_have_the_mean(name):
    data = arrays()
    each = call(name, data, per_sample=True)
    assert each.shape == (SAMPLES,)
    assert each.dtype == np.float64
    assert call(name, data) == pytest.approx(each.mean(), rel=1e-12)
    one = [call(name, take(data, [i])) for i in range(5)]
    np.testing.assert_allclose(each[:5], one, rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_one_sample(name):
    value = call(name, take(arrays(), [3]))
    assert isinstance(value, float)
    assert np.isnan(value) == (name == "dispersion")


@pytest.mark.parametrize("name", NAMES)
def test_other_types_of_array(name):
    data = arrays()
    expected = call(name, data)
    frames = {
        key: pd.Series(array, index=np.arange(SAMPLES)[::-1])
        if array.shape == (SAMPLES,)
        else array.tolist()
        for key, array in data.items()
    }
    assert call(name, frames) == expected
    columns = {
        key: array[:, None] if array.shape == (SAMPLES,) else array for key, array in data.items()
    }
    assert call(name, columns) == expected


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_true_values_are_finite(name, value):
    data = arrays()
    data["y_true"][7] = value
    with pytest.raises(InvalidValueError, match=f"y_true of sample 7 is {value}; remove or impute"):
        call(name, data)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_nan(name):
    for key in ENTRIES[name].inputs:
        if key == "levels":
            continue
        data = arrays()
        index = [0] * data[key].ndim
        index[samples_axis(key)] = 7
        data[key][tuple(index)] = np.nan
        with pytest.raises(InvalidValueError, match=f"{key} of sample 7.* is nan; remove or"):
            call(name, data)


@pytest.mark.parametrize("name", NAMES)
def test_lengths(name):
    data = arrays()
    data["y_true"] = data["y_true"][1:]
    with pytest.raises(ShapeError, match=r"199|samples"):
        call(name, data)
    with pytest.raises(ShapeError, match="y_true is empty"):
        call(name, {**data, "y_true": []})


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_checked(name):
    data = arrays()
    with pytest.raises(InvalidValueError, match="sample_weight is 0 for every sample"):
        call(name, data, sample_weight=np.zeros(SAMPLES))
    with pytest.raises(InvalidValueError, match="sample_weight of sample 0 is -1, below 0"):
        call(name, data, sample_weight=-np.ones(SAMPLES))
    with pytest.raises(ShapeError, match="sample_weight must be one number for each of 200"):
        call(name, data, sample_weight=np.ones(3))


@pytest.mark.parametrize("name", [n for n in NAMES if takes(n, "means") or takes(n, "members")])
def test_memory_does_not_grow_with_the_square_of_members(name):
    rng = np.random.default_rng(0)
    data = {key: rng.lognormal(size=(40, 20_000)) for key in ("means", "variances", "members")}
    data["y_true"] = rng.normal(size=20_000)
    call(name, take(data, np.arange(10)))  # imports
    tracemalloc.start()
    call(name, data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6 * 2**20  # a few blocks of 256 KiB, where the input has 6 MiB for each array
