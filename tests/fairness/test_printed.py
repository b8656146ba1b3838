"""How an audit prints."""

import numpy as np
import pytest

import caveat
from caveat.fairness.shown import ratio_table


def test_a_long_table_of_ratios_has_those_farthest_from_1():
    rng = np.random.default_rng(0)
    group = rng.integers(12, size=3000)
    spread = np.where(group == 7, 2.0, 0.1)
    logits = rng.normal(size=3000) + spread * rng.normal(size=(6, 3000))
    prediction = caveat.Categorical.from_binary(1 / (1 + np.exp(-logits)))
    y = rng.integers(2, size=3000)
    audit = caveat.audit(prediction, y, {"g": group}, privileged=0, resamples=0)
    (_, _, body), left = ratio_table(audit, "g")
    every = audit.select(kind="ratio", comparison="reference")
    without_twins = [row for row in every if row.statistic != "y=1"]
    assert left == [f"{len(without_twins) - 40} more ratios, closer to 1 or undefined,"]
    assert len(body) == 40
    assert any(line[0] == "epistemic uncertainty" and line[1] == "7 / 0" for line in body)
    shown = {(line[0], line[1]) for line in body}
    distances = {
        (row.measure.replace("_", " "), f"{row.group} / {row.reference}"): abs(np.log(row.value))
        for row in every
        if row.measure in ("epistemic_uncertainty", "aleatoric_uncertainty")
    }
    inside = [distance for key, distance in distances.items() if key in shown]
    outside = [distance for key, distance in distances.items() if key not in shown]
    assert min(inside) >= max(outside)


@pytest.mark.parametrize("resamples", [0, 40])
def test_a_long_table_has_what_is_never_predicted_for_one_group(resamples):
    rng = np.random.default_rng(0)
    n, classes = 3600, 12
    group = np.array(list("abc"))[np.arange(n) % 3]
    y = rng.integers(classes, size=n)
    chosen = np.where(rng.random(n) < 0.8, y, rng.integers(classes, size=n))
    chosen[(group == "a") & (chosen == 0)] = 1
    chosen[chosen == 11] = 10  # for no group
    p = np.full((n, classes), 0.3 / classes)
    p[np.arange(n), chosen] += 0.7
    audit = caveat.audit(
        caveat.Categorical(p), y, {"g": group}, privileged="b", resamples=resamples, random_state=0
    )
    (_, _, body), _ = ratio_table(audit, "g")
    assert len(body) == 40
    shown = {(line[0], line[1]) for line in body}
    names = ("statistical parity 0", "equal opportunity 0", "equalized odds 0 (y=0)")
    assert {(name, "a / b") for name in (*names, "equalized odds 0")} <= shown
    assert not any(line[0] == "statistical parity 11" for line in body)


def test_rare_classes_do_not_push_gaps_out_of_a_long_table():
    # Of 40 classes with one sample each, one of the two groups always has none.
    n = 2040
    group = np.array(["a", "b"])[np.arange(n) % 2]
    chosen = np.where(np.arange(n) < 2000, 0, np.arange(n) - 1999)
    chosen[(np.arange(n) < 1000) & (group == "a")] = 41
    chosen[(np.arange(n) < 100) & (group == "b")] = 41
    p = np.full((n, 42), 0.2 / 42)
    p[np.arange(n), chosen] += 0.8
    audit = caveat.audit(
        caveat.Categorical(p), chosen, {"g": group}, privileged="b", resamples=40, random_state=0
    )
    (_, _, body), _ = ratio_table(audit, "g")
    said = [line[4] for line in body if line[0] == "statistical parity 41"]
    assert said == ["gap beyond threshold"]
