"""One part of the uncertainty judged alone: against hand calculation."""

import numpy as np
import pytest

import caveat
from caveat import metrics
from caveat.exceptions import OptionError
from caveat.experiments import domain_shift

METRICS = (
    "auco", "error_drop", "decrease_ratio", "auce", "maximum_coverage_error", "ence", "cv",
)  # fmt: skip


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    noise = rng.uniform(0.2, 2, 300)
    doubt = rng.uniform(0.1, 3, 300)
    center = rng.normal(size=300)
    means = center + doubt * rng.normal(size=(7, 300))
    variances = noise**2 * rng.uniform(0.5, 1.5, size=(7, 300))
    return means, variances, center + rng.normal(size=300) * np.hypot(noise, doubt)


def parts(means, variances):
    aleatoric = variances.mean(axis=0)
    epistemic = ((means - means.mean(axis=0)) ** 2).mean(axis=0)
    return {"aleatoric": aleatoric, "epistemic": epistemic, "total": aleatoric + epistemic}


def by_hand(mean, variance, y):
    """Return the seven numbers of a table of the paper from the definitions."""
    error, std = np.abs(y - mean), np.sqrt(variance)
    removed = range(100)
    curve, oracle = (
        np.array([error[np.argsort(key)][: len(y) - len(y) * k // 100].mean() for k in removed])
        for key in (std, error)
    )
    z = np.sort(np.abs(y - mean) / std)
    from scipy.stats import norm

    levels = np.arange(1, 100) / 100
    covered = np.searchsorted(z, norm.ppf((1 + levels) / 2), side="right") / len(y)
    bins = np.array_split(np.argsort(std), 15)
    root = [np.sqrt(variance[b].mean()) for b in bins]
    off = [abs(r - np.sqrt((error[b] ** 2).mean())) / r for r, b in zip(root, bins, strict=True)]
    return {
        "confidence_oracle_area_error": (curve - oracle).sum(),
        "error_drop_score": curve[0] / curve[-1],
        "decrease_ratio_score": (curve[1:] <= curve[:-1]).mean(),
        "central_coverage_error": 100 * np.abs(covered - levels).sum() / 100,
        "maximum_coverage_error": np.abs(covered - levels).max(),
        "expected_normalized_calibration_error": np.mean(off),
        "dispersion": std.std(ddof=1) / std.mean(),
    }


@pytest.mark.parametrize("component", ["aleatoric", "epistemic", "total"])
def test_every_number_is_that_of_the_component(data, component):
    means, variances, y = data
    prediction = caveat.Gaussian.from_members(means, variances)
    expected = by_hand(means.mean(axis=0), parts(means, variances)[component], y)
    result = caveat.evaluate(prediction, y, metrics=METRICS, component=component, resamples=0)
    assert {row.metric for row in result.rows} == {*expected}
    for row in result.rows:
        # 300 samples lie evenly in 100 steps and 15 bins, so definitions agree exactly.
        assert row.value == pytest.approx(expected[row.metric], rel=1e-6), row.metric
    np.testing.assert_allclose(
        result.uncertainty[:, 0], np.sqrt(parts(means, variances)[component])
    )
    assert result.component == component
    # The split of the members stays.
    np.testing.assert_allclose(
        result.decomposition.epistemic[:, 0], parts(means, variances)["epistemic"]
    )
    shown = caveat.evaluate(prediction, y, component=component, resamples=50, random_state=0)
    assert (f"{component} uncertainty alone" in shown.description) is (component != "total")
    said = " ".join(map(str, shown.verdict().statements))
    assert ("part of the uncertainty was judged" in said) is (component != "total")
    assert "not those of several members" not in said
    assert shown.plot("coverage") is not None


def test_the_parts_side_by_side(data):
    means, variances, y = data
    prediction = caveat.Gaussian.from_members(means, variances, targets=["y"])
    sides = {name: prediction.component(name) for name in ("aleatoric", "epistemic", "total")}
    result = caveat.compare(sides, y, metrics=["auco"], resamples=200, random_state=0)
    for name in sides:
        (row,) = result.select(technique=name)
        alone = caveat.evaluate(prediction, y, metrics=["auco"], component=name, resamples=0)
        assert row.value == pytest.approx(alone.rows[0].value)
        assert sides[name].targets.tolist() == ["y"]
    both = {"one": prediction, "other": prediction}
    compared = caveat.compare(both, y, metrics=["auco"], component="epistemic", resamples=0)
    (row,) = result.select(technique="epistemic")
    assert compared.rows[0].value == pytest.approx(row.value)


def test_domain_shift_of_a_component(data):
    means, variances, y = data
    prediction = caveat.Gaussian.from_members(means, variances)
    pair = prediction.take(np.arange(150)), y[:150], prediction.take(np.arange(150, 300)), y[150:]
    result = domain_shift(*pair, component="epistemic", resamples=0)
    assert "epistemic uncertainty alone" in result.description
    for quantity in ("maximum_coverage_error", "confidence_oracle_area_error", "dispersion"):
        (row,) = result.select(quantity=quantity)
        ends = [
            caveat.evaluate(
                p, truth, metrics=[quantity], component="epistemic", resamples=0
            ).rows[0].value
            for p, truth in (pair[:2], pair[2:])
        ]  # fmt: skip
        assert (row.inside, row.outside) == pytest.approx(tuple(ends))
        assert row.ratio == pytest.approx(ends[1] / ends[0])
    (epistemic,) = result.select(quantity="epistemic")
    assert epistemic.inside == pytest.approx(parts(means, variances)["epistemic"][:150].mean())


def test_classes_are_ranked_by_the_component():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), size=(4, 90))
    y = rng.integers(3, size=90)
    prediction = caveat.Categorical(p)
    split = caveat.decompose(prediction)
    wrong = p.mean(axis=0).argmax(axis=1) != y
    for part in ("aleatoric", "epistemic"):
        result = caveat.evaluate(
            prediction, y, metrics=["auco", "ece"], component=part, resamples=0
        )
        auco, ece = (
            next(row for row in result.rows if row.metric == name and row.scale != "group")
            for name in ("confidence_oracle_area_error", "expected_calibration_error")
        )
        expected = metrics.confidence_oracle_area_error(wrong, getattr(split, part))
        assert auco.value == pytest.approx(expected)
        assert auco.note == f"{part} uncertainty alone"
        assert ece.value == pytest.approx(metrics.expected_calibration_error(y, p.mean(axis=0)))


@pytest.mark.parametrize(
    ("prediction", "component", "words"),
    [
        (caveat.Gaussian([0.0, 1.0], 1.0), "epistemic", "no epistemic .* one member"),
        (caveat.Gaussian.from_members([[0.0], [1.0]]), "aleatoric", "members are points"),
        (caveat.Gaussian([0.0, 1.0], 1.0), "model", "component must be one of"),
        (caveat.Categorical([[0.5, 0.5], [0.2, 0.8]]), "epistemic", "one member"),
        (caveat.Interval([0.0, 1.0], [1.0, 2.0], coverage=0.9), "epistemic", "got a Interval"),
    ],
)
def test_what_has_no_such_part(prediction, component, words):
    with pytest.raises(OptionError, match=words):
        caveat.evaluate(prediction, [0, 1], component=component)


def test_a_point_has_no_component():
    with pytest.raises(OptionError, match="one point"):
        caveat.Gaussian([0.0, 1.0], 0.0).component("total")
