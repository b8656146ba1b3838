"""Counts and shares in the verdict on a summary are those of all samples."""

import numpy as np
import pytest

import caveat
from caveat.evaluation._verdict_direction import class_event, known_means, top_event
from caveat.evaluation._verdict_evidence import Evidence
from caveat.summaries.kept import KEPT

N = 30_000


def classes_of(p, rng):
    return (rng.random((len(p), 1)) > p.cumsum(axis=1)).sum(axis=1).clip(0, p.shape[1] - 1)


def several(rng, classes=3):
    p = rng.dirichlet(np.arange(classes, 0, -1), N)
    y = classes_of(p, rng)
    sharp = p**1.3
    return caveat.Categorical(sharp / sharp.sum(axis=1, keepdims=True)), y


def binary(rng):
    p = rng.random(N)
    y = (rng.random(N) < p**1.5).astype(int)
    return caveat.Categorical.from_binary(p), y


def of_members(rng):
    p = np.clip(rng.random(N) + rng.normal(0, 0.1, (3, N)), 0.01, 0.99)
    y = (rng.random(N) < p.mean(axis=0) ** 1.5).astype(int)
    return caveat.Categorical.from_binary(p), y


MADE = {
    "binary": binary,
    "members": of_members,
    "several": several,
    "many": lambda rng: several(rng, 23),
}


@pytest.mark.parametrize("extra", [None, "sample_weight", "cluster"])
@pytest.mark.parametrize("kind", MADE)
def test_what_is_known_of_all_samples(kind, extra):
    rng = np.random.default_rng(0)
    prediction, y = MADE[kind](rng)
    own = {
        None: {},
        "sample_weight": {"sample_weight": rng.random(N)},
        "cluster": {"cluster": np.arange(N) // 3},
    }[extra]
    groups = {"sex": rng.choice(["f", "m"], N, p=[0.3, 0.7])}
    given = {"groups": groups, **own}
    known = caveat.evaluate(prediction, y, resamples=0, **given)
    mine = caveat.summarize(prediction, y, **given).evaluate(resamples=0)
    assert len(mine.truth) != N
    one, other = Evidence(known), Evidence(mine)

    def near(value):
        """A probability of a table is known to 1/15360."""
        return pytest.approx(value, abs=1e-4 if kind in ("binary", "members") else 1e-9)

    assert other.class_shares == pytest.approx(one.class_shares)
    assert mine.whole.samples == N
    if extra == "sample_weight":
        assert mine.whole.wrong is None
        assert other.wrong == pytest.approx(one.wrong, rel=0.1)
        assert other.units == pytest.approx(one.units)
    else:
        assert other.wrong == one.wrong
    for event in (
        top_event, *(lambda e, k=k: class_event(e, k) for k in range(1, len(one.class_shares)))
    ):  # fmt: skip
        assert event(mine).says == near(event(known).says)
        assert event(mine).was == near(event(known).was)
    for value in ("f", "m"):
        rows = groups["sex"] == value
        codes = [None] if kind in ("several", "many") else [None, 1]
        for code in codes:
            event = (top_event if code is None else lambda e: class_event(e, 1))(known).take(rows)
            assert known_means(mine, ("sex", value), code) == near((event.says, event.was))


def test_numbers_and_chosen_metrics_know_less():
    rng = np.random.default_rng(0)
    mean = rng.normal(size=KEPT + 1)
    summary = caveat.summarize(caveat.Gaussian(mean, np.ones(KEPT + 1)), mean)
    whole = summary.evaluate(resamples=0, metrics=["rmse"]).whole
    assert (whole.shares, whole.wrong, whole.means) == ((), None, {})
    prediction, y = several(rng)
    whole = caveat.summarize(prediction, y, metrics=["nll"]).evaluate(resamples=0).whole
    assert (whole.wrong, whole.means) == (None, {})
    assert whole.shares == pytest.approx((np.bincount(y) / N).tolist())


def texts(evaluation):
    return [statement.text for statement in evaluation.verdict().statements]


def sentence(evaluation, words):
    (text,) = [text for text in texts(evaluation) if words in text]
    return text


def test_errors_are_counted_among_all_samples():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, N)
    p = np.full((N, 3), 0.0005)
    p[np.arange(N), y] = 0.999
    for wrong, words in ((3, "as only 3 of 30,000 predictions were wrong"), (40, "warns well of")):
        q, truth = p.copy(), y.copy()
        rows = rng.choice(N, wrong, replace=False)
        q[rows], truth[rows] = [0.4, 0.35, 0.25], 2
        summary = caveat.summarize(caveat.Categorical(q), truth)
        result = summary.evaluate(random_state=0, resamples=100)
        assert words in sentence(result, "of errors")
        two = np.where(truth == 2, 0.999, 0.001)
        label = (truth == 2).astype(int)
        two[rows], label[rows] = 0.6, 0
        summary = caveat.summarize(caveat.Categorical.from_binary(two), label)
        assert words in sentence(summary.evaluate(random_state=0, resamples=100), "of errors")


def test_shares_in_two_sentences_are_the_same():
    rng = np.random.default_rng(1)
    prediction, y = several(rng)
    result = caveat.summarize(prediction, y).evaluate(random_state=0, resamples=100)
    (row,) = result.select(metric="accuracy", group="")
    right = f"{100 * row.value:.1f} % of cases"
    assert f"is right in {right}" in sentence(result, "n average it says")
    assert f"It is right in {right}" in sentence(result, "Always naming")
    assert f"would be right in {100 * np.mean(y == 0):.1f} %" in sentence(result, "Always naming")


def test_a_class_that_the_rows_do_not_have_is_not_absent():
    rng = np.random.default_rng(0)
    prediction, y = several(rng)
    y = np.where(y == 2, 1, y)
    y[:2] = 2
    result = caveat.summarize(prediction, y).evaluate(random_state=0, resamples=20)
    assert 2 not in result.truth
    assert not any("No sample is truly" in text for text in texts(result))
    y[:2] = 0
    result = caveat.summarize(prediction, y).evaluate(random_state=0, resamples=20)
    assert sentence(result, "No sample is truly class=2: ")


def test_a_few_weights_that_dominate_decide_nothing():
    rng = np.random.default_rng(0)
    p = rng.random(N)
    y = (rng.random(N) < p).astype(int)
    weight = np.ones(N)
    weight[:3] = 1e7
    prediction = caveat.Categorical.from_binary(p)
    options = {"resamples": 100, "random_state": 0}
    for result in (
        caveat.evaluate(prediction, y, sample_weight=weight, **options),
        caveat.summarize(prediction, y, sample_weight=weight).evaluate(**options),
    ):
        text = sentence(result, "warns of errors")
        assert "cannot be determined from so few independent samples: " in text
        assert sentence(result, "are too few to say").startswith("30,000 samples")
