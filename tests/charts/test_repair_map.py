"""The map of a repair: known curves."""

from functools import cache

import numpy as np
import pytest
from scipy.special import expit, logit, ndtr, ndtri

import caveat
from caveat import charts
from caveat.exceptions import OptionError, UnsupportedPredictionError

RNG = np.random.default_rng(0)
Z = RNG.normal(size=600)
Y = (RNG.random(600) < expit(Z)).astype(int)


@cache
def two_classes():
    return caveat.repair(expit(3 * Z), Y, candidates=["ts"], random_state=0)


def fitted(recalibrator, classes=None, measure="negative_log_likelihood_loss", by_group=False):
    return caveat.Repair((), "As asked.", recalibrator, by_group, measure, "", classes=classes)


def test_the_map_of_a_temperature():
    made = charts.repair_map(two_classes())
    temperature = two_classes().recalibrator.temperature_
    before, after = made.numbers["before"], made.numbers["after"]
    np.testing.assert_allclose(after, expit(logit(before) / temperature), atol=1e-9)
    assert made.title == "What TemperatureScaling makes of the probability of class=1"
    assert two_classes().plot().get_title() == made.title
    assert two_classes().plot("map").get_xlabel().startswith("probability of class=1, before")


def test_nothing_chosen_is_the_diagonal():
    left = caveat.repair(expit(Z), Y, candidates=["ts"], random_state=0)
    made = charts.repair_map(left)
    np.testing.assert_allclose(made.numbers["before"], made.numbers["after"])
    assert "no repair" in made.title
    numbers = caveat.Repair((), "Leave it.", None, False, "gaussian_crps_loss", "")
    made = charts.repair_map(numbers)
    np.testing.assert_allclose(made.numbers["before"], made.numbers["after"], atol=1e-9)


def test_more_classes_and_logits():
    p = RNG.dirichlet(np.ones(9), size=300)
    y = RNG.integers(0, 9, size=300)
    scaling = caveat.TemperatureScaling().fit(p, y)
    made = charts.repair_map(fitted(scaling, tuple(range(9))))
    assert sorted(set(made.numbers["curve"])) == [f"class={k}" for k in range(7)]
    assert made.read.endswith("The other classes share the rest evenly.")
    one = charts.repair_map(fitted(scaling, tuple(range(9))), label=8)
    assert set(one.numbers["curve"]) == {"class=8"}
    with pytest.raises(OptionError, match=r"label must be one of 0, 1, .*; got 'x'"):
        charts.repair_map(fitted(scaling, tuple(range(9))), label="x")
    logits = caveat.GaussianLogits(np.log(p), np.full(p.shape, 0.1))
    for recalibrator in (caveat.TemperatureScaling(), caveat.PlattScaling()):
        made = charts.repair_map(fitted(recalibrator.fit(logits, y), tuple(range(9))), label=0)
        assert len(made.numbers["after"]) == 101
        assert (np.diff(made.numbers["after"]) >= -1e-9).all()


def test_groups_have_a_curve_each():
    sex = np.array(["f", "m"])[np.arange(600) % 2]
    scaling = caveat.TemperatureScaling().fit(expit(3 * Z), Y, groups=sex)
    made = charts.repair_map(fitted(scaling, (0, 1), by_group=True))
    assert sorted(set(made.numbers["curve"])) == ["class=1, f", "class=1, m"]
    p = RNG.dirichlet(np.ones(3), size=600)
    three = caveat.TemperatureScaling().fit(p, np.arange(600) % 3, groups=sex)
    made = charts.repair_map(fitted(three, (0, 1, 2), by_group=True))
    assert sorted(set(made.numbers["curve"])) == ["class=0, f", "class=0, m"]


@pytest.mark.parametrize("quantiles", [False, True])
def test_levels_of_numbers(quantiles):
    """A spread that becomes twice as wide: the level of x was that of 2 x."""
    y = 2 * RNG.normal(size=5000)
    prediction = caveat.Gaussian(np.zeros((5000, 2)), 1.0, targets=["a", "b"])
    truth = np.column_stack([y, y / 2])
    if quantiles:
        prediction = prediction.to_quantiles([0.05, 0.15865, 0.5, 0.84135, 0.95])
    options = {"level": 0.6827} if quantiles else {}
    scaling = caveat.VarianceScaling(**options).fit(prediction, truth)
    made = charts.repair_map(fitted(scaling, measure="gaussian_crps_loss")).to_frame()
    for name, factor in (("a", 2.0), ("b", 1.0)):
        part = made[made["curve"] == name]
        inside = part["before"].between(0.01, 0.99)
        expected = ndtr(ndtri(part["before"][inside]) / factor)
        np.testing.assert_allclose(part["after"][inside], expected, atol=0.02)


def test_the_map_of_an_isotonic_distribution_and_of_intervals():
    y = RNG.exponential(size=3000) - 1
    prediction = caveat.Gaussian(np.zeros(3000), 1.0)
    isotonic = caveat.IsotonicDistribution().fit(prediction, y)
    made = charts.repair_map(fitted(isotonic, measure="gaussian_crps_loss")).to_frame()
    inside = made["before"].between(0.05, 0.95)
    x = ndtri(made["before"][inside])
    if not isinstance(isotonic.transform(prediction), caveat.Gaussian):
        np.testing.assert_allclose(
            made["after"][inside], 1 - np.exp(-np.maximum(x + 1, 0)), atol=0.05
        )
    intervals = fitted(None, measure="interval_loss")
    assert charts.available(intervals) == []
    with pytest.raises(UnsupportedPredictionError, match="kinds that do are none"):
        intervals.plot("repair_map")
