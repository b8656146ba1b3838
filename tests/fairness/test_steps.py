"""What an audit says to do next, each with a case in which it would be wrong to say it."""

import re
from dataclasses import replace

import numpy as np
import pytest

import caveat
from caveat.fairness import audit
from caveat.fairness._steps import next_step, samples_needed

from .test_verdict import made

OPTIONS = {"resamples": 200, "random_state": 0}


def step(*arguments, **options):
    return audit(*arguments, **{**OPTIONS, **options}).verdict().next_step


def test_gaps_beyond_the_threshold():
    assert step(*made(3000, spread=(0.12, 0.05))).startswith(
        "Collect training data of the groups of sex that the model knows less about."
    )
    assert step(*made(3000, p=(0.8, 0.6))).startswith(
        "Look at how labels and features of the noisier"
    )
    point = step(*made(3000, positive=(0.3, 0.6)))
    assert point.startswith("Do not decide by its predictions alone between groups of sex: eval")
    assert "Collect training" not in point


def test_the_parts_may_not_be_known():
    rng = np.random.default_rng(0)
    sex = np.repeat(["f", "m"], 1500)
    p = np.where(sex == "f", 0.6, 0.9) + rng.uniform(-0.01, 0.01, size=3000)
    assert "Hand over the uncertain predictions rather than all" not in step(
        *made(3000), threshold=0.2
    )
    text = step(p, (rng.random(3000) < p).astype(int), {"sex": sex})
    assert "groups of sex" in text


def test_nothing_has_to_be_done():
    assert step(*made(9000)) == (
        "Nothing has to be done for these groups; audit again when the model or the samples change."
    )


def test_a_number_of_samples():
    prediction, y, groups = made(150)
    result = audit(prediction, y, groups, **OPTIONS)
    text = result.verdict().next_step
    found = re.search(
        r"Label about [\d,]+ more samples like these \(([\d,]+) in all\): enough to show of sex that "
        r"there is no gap beyond the threshold, if there is none\. Close to the limits themselves, "
        r"0\.800 and 1\.25, no number of samples decides\.",
        text,
    )
    total = int(found[1].replace(",", ""))
    assert total == pytest.approx(samples_needed(result, ["sex"]), rel=0.06)
    # As many samples, whose groups are alike, are within the threshold.
    again = audit(*made(total // 2, seed=2), **OPTIONS).verdict()
    assert again.level == "good"


def test_no_number_without_a_finite_interval():
    result = audit(*made(150), **OPTIONS)
    rows = [replace(row, verdict_low=0.0) for row in result.rows]  # no width that could fall
    endless = replace(result, rows=tuple(rows))
    assert samples_needed(endless, ["sex"]) is None
    assert next_step(endless, result.verdict().paragraphs) == (
        "Label more samples of the groups of sex, and audit again."
    )


def test_too_few_and_not_judged():
    prediction, y, groups = made(4)
    assert step(prediction, y, groups).startswith("Label more samples of the groups of sex: each")
    assert step(*made(50), resamples=0).startswith("Audit again with intervals (resamples=1000)")


def test_individuals():
    rng = np.random.default_rng(0)
    n = 600
    x = rng.normal(size=(n, 2))
    noisy = np.arange(n) % 2 == 0
    p = 0.5 + 0.4 * np.tanh(x[:, 0])
    p = np.where(noisy, rng.permutation(p), p)
    y = (rng.random(n) < p).astype(int)
    prediction = caveat.Categorical.from_binary(np.stack([p * 0.95, np.minimum(p * 1.05, 1.0)]))
    result = audit(prediction, y, {"kind": np.where(noisy, "a", "b")}, X=x, **OPTIONS)
    patterns = [pattern for part in result.verdict() for pattern in part.patterns]
    assert "individual gap" in patterns
    assert "Look at the samples that differ most from their neighbors" in result.verdict().next_step


def test_shown_everywhere(tmp_path):
    result = audit(*made(150), **OPTIONS)
    verdict = result.verdict()
    assert str(verdict).endswith(f"\n\nNext: {verdict.next_step}")
    assert f"<p>Next: {verdict.next_step}</p>" in verdict._repr_html_()
    caveat.write_report(result, tmp_path / "page.html")
    assert f"<bdi>{verdict.next_step}</bdi>" in (tmp_path / "page.html").read_text()


def test_a_shown_gap_asks_for_no_samples_to_exclude_one():
    """A risk that is too high for one group, as accuracies and rates hardly show."""
    rng = np.random.default_rng(0)
    z, f = 1.2 * rng.normal(size=3000), rng.random(3000) < 0.5
    p, y = 1 / (1 + np.exp(-z)), (rng.random(3000) < 1 / (1 + np.exp(0.8 * f - z))).astype(int)
    result = audit(p, y, {"sex": np.where(f, "f", "m")}, **OPTIONS)
    (row,) = result.select(measure="equal_calibration", kind="ratio")
    assert (row.group, row.reference) == ("f", "m")
    assert row.value == pytest.approx(y[f].mean() / p[f].mean() / (y[~f].mean() / p[~f].mean()))
    verdict = result.verdict()
    assert verdict.level == "bad"
    assert "Observed over predicted, class 1 is 0.6" in str(verdict)
    assert "Label" not in verdict.next_step
    fair = (rng.random(3000) < p).astype(int)
    alike = audit(p, fair, {"sex": np.where(f, "f", "m")}, **OPTIONS)
    assert alike.select(measure="equal_calibration", kind="ratio")[0].judgment == "within"


def test_no_class_observed_and_none_predicted():
    """Of a group without the class, and of one whose probability is 0."""
    sex = np.repeat(["f", "m", "x"], 60)
    y = np.r_[np.zeros(60), np.tile([0, 1], 60)].astype(int)
    p = np.where(sex == "x", 0.0, 0.5)
    result = audit(p, y, {"sex": sex}, **OPTIONS)
    rows = result.select(measure="equal_calibration", kind="ratio")
    assert {row.judgment for row in rows} == {"undefined"}
