"""How an audit prints."""

import numpy as np

import caveat
from caveat.fairness._rows import MEASURES


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
    assert f"(the 40 of {len(every)} ratios farthest from 1)" in title
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
