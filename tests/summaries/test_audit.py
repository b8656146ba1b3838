"""The audit of a summary against that of its samples."""

import numpy as np
import pytest

import caveat
from caveat.exceptions import OptionError


def samples(n, seed=0, members=1):
    rng = np.random.default_rng(seed)
    sex, site = rng.choice(["f", "m"], n, p=[0.2, 0.8]), rng.choice(["x", "y", "z"], n)
    z = rng.normal(size=n) + 0.4 * (sex == "m")
    noise = rng.normal(0, 0.5, (members, n)) if members > 1 else 0.0
    p = 1 / (1 + np.exp(-z - noise))
    y = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)
    return caveat.Categorical.from_binary(p), y, {"sex": sex, "site": site}


@pytest.mark.parametrize("n", [900, 30_000])
def test_rates_and_ratios_are_those_of_the_samples(n):
    prediction, y, groups = samples(n)
    result = caveat.summarize(prediction, y, groups=groups).audit(random_state=0)
    wanted = caveat.audit(prediction, y, groups, random_state=0)
    assert result.samples == n
    assert [r.attribute for r in result.rows] == [r.attribute for r in wanted.rows]
    for row, exact in zip(result.rows, wanted.rows, strict=True):
        assert (row.metric, row.category, row.contrast, row.samples) == (
            exact.metric, exact.category, exact.contrast, exact.samples,
        )  # fmt: skip
        assert row.value == pytest.approx(exact.value, rel=5e-3, abs=2e-3, nan_ok=True), row
        width = exact.high - exact.low
        if np.isfinite(width) and width > 1e-6 and row.contrast == "none":
            assert 0.6 < (row.high - row.low) / width < 1.6, row
    judged = {
        (r.metric, r.attribute, r.category): r.judgment
        for r in wanted.rows
        if r.contrast == "ratio"
    }
    ours = {
        (r.metric, r.attribute, r.category): r.judgment
        for r in result.rows
        if r.contrast == "ratio"
    }
    same = np.mean([ours[key] == value for key, value in judged.items()])
    assert same > 0.8
    assert str(result.verdict())[:60] == str(wanted.verdict())[:60]


def test_options_are_those_of_an_audit():
    prediction, y, groups = samples(12_000)
    summary = caveat.summarize(prediction, y, groups=groups)
    result = summary.audit(privileged={"sex": "m", "site": "x"}, threshold=0.1, resamples=0)
    assert result.privileged == {"sex": "m", "site": "x"}
    assert result.threshold == 0.1
    one = caveat.summarize(prediction, y, groups={"sex": groups["sex"]})
    assert one.audit(privileged="f", resamples=0).privileged == {"sex": "f"}
    with pytest.raises(TypeError, match="privileged"):
        one.audit(privilegd="f")


def test_members_are_audited_on_a_random_sample_of_many():
    prediction, y, groups = samples(12_000, members=4)
    summary = caveat.summarize(prediction, y, groups=groups)
    result = summary.audit(random_state=0)
    assert result.description.startswith("a random sample of 10,000 of 12,000 samples")
    row = result.select(measure="epistemic_uncertainty", kind="ratio")[0]
    assert np.isfinite(row.value)


def test_without_groups_there_is_no_audit():
    prediction, y, _ = samples(50)
    with pytest.raises(OptionError, match="made without groups"):
        caveat.summarize(prediction, y).audit()
