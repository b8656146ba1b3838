"""How an audit prints."""

import numpy as np
import pytest

import caveat
from caveat.fairness.measures import MEASURES


def test_a_long_table_of_ratios_has_those_farthest_from_1():
    rng = np.random.default_rng(0)
    group = rng.integers(12, size=3000)
    spread = np.where(group == 7, 2.0, 0.1)
    logits = rng.normal(size=3000) + spread * rng.normal(size=(6, 3000))
    prediction = caveat.Categorical.from_binary(1 / (1 + np.exp(-logits)))
    y = rng.integers(2, size=3000)
    audit = caveat.audit(prediction, y, {"g": group}, privileged=0, resamples=0)
    title, _, body = audit._tables()[1]
    every = audit.select(kind="ratio", comparison="reference")
    wanted = (
        f"(the 40 of {len(every)} ratios farthest from 1; the others are closer to 1 or undefined)"
    )
    assert wanted in title
    assert len(body) == 40
    assert any(line[0] == "F_Epis" and line[1] == "7 / 0" for line in body)
    shown = {(line[0].split()[0], line[1]) for line in body}
    distances = {
        (MEASURES[row.measure].symbol, f"{row.group} / {row.reference}"): abs(np.log(row.value))
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
    _, _, body = audit._tables()[1]
    assert len(body) == 40
    shown = {(line[0], line[1]) for line in body}
    measures = ("F_SP", "F_EOpp", "F_EOdd y=1", "F_EOdd y=0", "F_EOdd farther from 1")
    assert {(f"{measure} 0", "a / b") for measure in measures} <= shown
    assert not any(line[0] == "F_SP 11" for line in body)


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
    _, _, body = audit._tables()[1]
    assert [line[4] for line in body if line[0] == "F_SP 41"] == ["a gap beyond the threshold"]
