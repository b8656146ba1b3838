"""Net benefit against its definition, threshold by threshold."""

import numpy as np
import pandas as pd
import pytest

import caveat
from caveat.exceptions import InvalidValueError, ShapeError
from caveat.metrics import net_benefit_curve


def by_hand(y, p, t, weight):
    """Vickers and Elkin (2006), one sample after the other."""
    total = sum(weight)
    true = sum(w for a, q, w in zip(y, p, weight, strict=True) if q >= t and a == 1)
    false = sum(w for a, q, w in zip(y, p, weight, strict=True) if q >= t and a == 0)
    return true / total - false / total * t / (1 - t)


@pytest.mark.parametrize("digits", [1, 16])
@pytest.mark.parametrize("weighted", [False, True])
def test_is_its_definition(digits, weighted):
    rng = np.random.default_rng(digits)
    p = np.round(rng.random(150), digits)
    y = (rng.random(150) < p).astype(int)
    weight = np.round(rng.gamma(1.0, size=150), 1) if weighted else None
    given = np.ones(150) if weight is None else weight
    curve = net_benefit_curve(y, p, sample_weight=weight)
    np.testing.assert_array_equal(curve.threshold, np.arange(1, 100) / 100)
    for t, model, everyone, nobody in zip(
        curve.threshold, curve.model, curve.treat_all, curve.treat_none, strict=True
    ):
        assert model == pytest.approx(by_hand(y, p, t, given), abs=1e-12)
        assert everyone == pytest.approx(by_hand(y, np.ones(150), t, given), abs=1e-12)
        assert nobody == 0


def test_the_numbers_of_a_small_example():
    """Ten people, three cases: at 0.25, TP = 2, FP = 2 and odds of 1/3 give 2/10 - 2/10 / 3."""
    y = [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    p = [0.9, 0.25, 0.1, 0.6, 0.3, 0.2, 0.1, 0.1, 0.05, 0.0]
    curve = net_benefit_curve(y, p, thresholds=[0.25, 0.0, 0.95])
    np.testing.assert_allclose(curve.model, [0.2 - 0.2 / 3, 0.3, 0.0])
    np.testing.assert_allclose(curve.treat_all, [0.3 - 0.7 / 3, 0.3, 0.3 - 0.7 * 19])


def test_bounds():
    rng = np.random.default_rng(0)
    p = rng.random(4000)
    y = (rng.random(4000) < p).astype(int)
    right = net_benefit_curve(y, y.astype(float))
    np.testing.assert_allclose(right.model, y.mean())
    known = net_benefit_curve(y, p)
    assert (known.model <= right.model + 1e-12).all()
    # Right probabilities are worth at least as much as treating all or none, up to chance.
    assert (known.model > np.maximum(known.treat_all, 0) - 0.02).all()
    inverted = net_benefit_curve(y, 1 - p, thresholds=[0.5])
    assert inverted.model[0] < 0


def test_forms_of_input():
    y, p = np.array([0, 1, 1, 0]), np.array([0.1, 0.8, 0.4, 0.5])
    names = np.array(["well", "ill"])
    plain = net_benefit_curve(y, p).model
    table = np.stack([1 - p, p], axis=1)
    for labels, given, options in (
        (y, table, {}),
        (names[y], table, {"classes": names}),
        (names[y], pd.DataFrame(table, columns=names), {}),
        (names[y], caveat.Categorical(table, classes=names), {}),
    ):
        np.testing.assert_allclose(net_benefit_curve(labels, given, **options).model, plain)


@pytest.mark.parametrize(
    ("thresholds", "error", "message"),
    [
        ([0.1, 1.0], InvalidValueError, "at least 0 and below 1; threshold 1 is 1"),
        ([-0.1], InvalidValueError, "at least 0 and below 1; threshold 0 is -0.1"),
        ([np.nan], InvalidValueError, "at least 0 and below 1; threshold 0 is nan"),
        ([], ShapeError, "thresholds is empty"),
        (0.1, ShapeError, r"must be a list of numbers; got shape \(\)"),
    ],
)
def test_thresholds(thresholds, error, message):
    with pytest.raises(error, match=message):
        net_benefit_curve([0, 1], [0.2, 0.7], thresholds=thresholds)


def test_two_classes():
    with pytest.raises(ShapeError, match="net_benefit_curve is for two classes"):
        net_benefit_curve([0, 1, 2], np.full((3, 3), 1 / 3))
