"""The same question gets the same interval, whoever asks: evaluation, audit, chart, band."""

import numpy as np
import pytest

import caveat
from caveat.charts import reliability
from caveat.resampling.spread import share_limits, spread_of, stacked

RNG = np.random.default_rng(0)
SEX = np.repeat(["f", "m"], [60, 140])
WEIGHT, CLUSTER = RNG.gamma(2.0, size=200), RNG.integers(0, 70, 200)
GIVEN = [{}, {"sample_weight": WEIGHT}, {"cluster": CLUSTER}]
GIVEN.append({"sample_weight": WEIGHT, "cluster": CLUSTER})
EVERY = pytest.mark.parametrize("given", GIVEN, ids=["plain", "weights", "clusters", "both"])


def classes():
    """All of one group are right, 110 of the other."""
    p = np.where(RNG.random(200) < 0.5, 0.97, 0.03)
    right = np.r_[np.ones(60, bool), np.arange(140) < 110]
    return caveat.Categorical.from_binary(p), np.where(right, p > 0.5, p <= 0.5).astype(int), right


def ends(rows):
    (row,) = rows
    return row.low, row.high


@EVERY
def test_the_accuracy_of_a_group(given):
    prediction, y, right = classes()
    result = caveat.evaluate(
        prediction, y, groups={"sex": SEX}, metrics=["accuracy"], resamples=40, **given
    )
    audit = caveat.audit(prediction, y, groups={"sex": SEX}, resamples=40, **given)
    for name, all_right in (("f", True), ("m", False)):
        rows = name == SEX
        weight, cluster = (
            None if part is None else part[rows]
            for part in (given.get("sample_weight"), given.get("cluster"))
        )
        spread = stacked([spread_of(right[rows] * 1.0, weight, cluster)], cluster is not None)
        band = tuple(float(end[0]) for end in share_limits(spread, 0.95))
        found = ends(result.select(metric="accuracy", group=f"sex={name}"))
        assert found == pytest.approx(band, abs=1e-12)
        assert ends(audit.select(kind="group", measure="accuracy", group=name)) == pytest.approx(
            found, abs=1e-12
        )
        assert found[0] < 1
        assert (found[1] == 1) == all_right
        one = caveat.evaluate(
            prediction.take(rows), y[rows], sample_weight=weight, cluster=cluster, resamples=0
        )
        chart = reliability(one, "confidence").numbers  # all are as sure, so there is one bin
        assert (chart["low"][0], chart["high"][0]) == pytest.approx(found, abs=1e-12)


@EVERY
@pytest.mark.parametrize("kind", ["gap", "ratio"])
def test_the_accuracy_of_one_group_beside_another(given, kind):
    prediction, y, _ = classes()
    result = caveat.evaluate(
        prediction, y, groups={"sex": SEX}, metrics=["accuracy"], random_state=0, **given
    )
    privileged = {"sex": "f"}
    audit = caveat.audit(
        prediction, y, groups={"sex": SEX}, privileged=privileged, random_state=0, **given
    )
    (ours,) = result.select(metric="accuracy", group=f"sex: {kind}")
    name = "difference" if kind == "gap" else "ratio"
    (theirs,) = audit.select(measure="equal_accuracy", kind=name)
    low, high = theirs.low, theirs.high
    if kind == "gap":  # the worst less the best, or the other way round
        low, high = (low, high) if np.sign(ours.value) == np.sign(theirs.value) else (-high, -low)
    elif (ours.value > 1) != (theirs.value > 1):
        low, high = 1 / high, 1 / low
    # The correlation of groups that share clusters is resampled.
    tolerance = 0.02 if "cluster" in given else 1e-12
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=tolerance)


@EVERY
def test_the_mean_error_of_a_group(given):
    rng = np.random.default_rng(3)
    y, mean = rng.normal(size=200), np.zeros(200)
    prediction = caveat.Gaussian(mean, np.ones(200))
    result = caveat.evaluate(
        prediction, y, groups={"sex": SEX}, metrics=["mae"], random_state=0, **given
    )
    audit = caveat.audit(prediction, y, groups={"sex": SEX}, random_state=1, **given)
    found = ends(result.select(metric="mae", group="sex=f"))
    same = ends(audit.select(kind="group", measure="mean_absolute_error", group="f"))
    assert same == pytest.approx(found, abs=0.1 * (found[1] - found[0]))  # other resamples
