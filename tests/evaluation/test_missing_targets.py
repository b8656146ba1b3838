"""A true value that is missing (NaN) is left out of its own target, and of no other."""

import numpy as np
import pytest

import caveat
from caveat.exceptions import InvalidValueError
from caveat.files import read_predictions

N = 300
RNG = np.random.default_rng(0)
MEAN = RNG.normal(size=(N, 2))
COMPLETE = MEAN + RNG.normal(size=(N, 2)) * [1.0, 2.0]
TRUTH = COMPLETE.copy()
TRUTH[::3, 1] = np.nan
TRUTH[1::50, 0] = np.nan
GROUP = np.where(RNG.random(N) < 0.5, "a", "b")
WEIGHT = RNG.uniform(0.5, 2.0, size=N)
NAMES = ("t", "u")
OPTIONS = {"resamples": 60, "random_state": 0}


def gaussian(scale=1.0):
    # Spreads that vary, so that samples can be ordered by them.
    variance = np.stack([1.0 + 0.5 * np.abs(MEAN[:, 0]), 1.0 + 0.5 * np.abs(MEAN[:, 1])], axis=1)
    return caveat.Gaussian(MEAN, scale * variance, targets=NAMES)


def alone(prediction, column):
    """The samples whose truth is known, of one target."""
    rows = np.flatnonzero(~np.isnan(TRUTH[:, column]))
    part = prediction.take(rows)
    if isinstance(part, caveat.Gaussian):
        return rows, caveat.Gaussian(
            part.mean[..., [column]], part.variance[..., [column]], targets=[NAMES[column]]
        )
    if isinstance(part, caveat.Quantiles):
        return rows, caveat.Quantiles(
            part.levels, part.values[:, :, [column]], targets=[NAMES[column]]
        )
    ends = part.lower[:, [column]], part.upper[:, [column]]
    return rows, caveat.Interval(*ends, coverage=part.coverage, targets=[NAMES[column]])


KINDS = {
    "gaussian": gaussian(),
    "quantiles": gaussian().to_quantiles([0.05, 0.5, 0.95]),
    "interval": gaussian().interval(0.9),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_each_target_is_as_if_alone(kind, weight):
    result = caveat.evaluate(
        KINDS[kind], TRUTH, groups={"g": GROUP}, sample_weight=weight, **OPTIONS
    )
    assert result.missing == {"t": 6, "u": 100}
    for column, name in enumerate(NAMES):
        rows, own = alone(KINDS[kind], column)
        expected = caveat.evaluate(
            own, TRUTH[rows, column], groups={"g": GROUP[rows]},
            sample_weight=None if weight is None else weight[rows], **OPTIONS,
        )  # fmt: skip
        for row in expected.rows:
            (found,) = result.select(
                metric=row.metric, option=row.option, group=row.group, target=name
            )
            assert found.samples == row.samples
            assert found.value == pytest.approx(row.value, nan_ok=True, rel=1e-9)
        for key, curve in expected.curves.items():
            same = result.curves[key, name]
            for array in vars(curve):
                expected_array = pytest.approx(getattr(curve, array), nan_ok=True, rel=1e-9)
                assert getattr(same, array) == expected_array


def test_complete_truths_are_as_before():
    result = caveat.evaluate(gaussian(), COMPLETE, **OPTIONS)
    assert result.missing == {}
    assert not any("missing" in statement.text for statement in result.verdict())
    assert {row.samples for row in result.select(group="")} == {N}


def test_the_verdict_and_the_page_say_how_many(tmp_path):
    result = caveat.evaluate(gaussian(), TRUTH, groups={"g": GROUP}, **OPTIONS)
    said = (
        "Of 300 true values of each target, 6 of t and 100 of u are missing: a target is judged by "
        "the samples whose true value is known."
    )
    assert said in str(result.verdict())
    result.report(tmp_path / "page.html")
    assert said in (tmp_path / "page.html").read_text()


def test_charts_show_the_samples_that_are_known():
    members = caveat.Gaussian.from_members(
        np.stack([MEAN, MEAN + 0.5]), np.stack([1.0 + np.abs(MEAN)] * 2), targets=NAMES
    )
    result = caveat.evaluate(
        members, TRUTH, cluster=np.arange(N) // 2, sample_weight=WEIGHT, **OPTIONS
    )
    actions = np.where(np.arange(N) % 2 == 0, "accept", "defer")
    for column, name in enumerate(NAMES):
        known = np.flatnonzero(~np.isnan(TRUTH[:, column]))
        for kind in caveat.charts.table.available(result, name):
            result.plot(kind, target=name)
        split = caveat.charts.split(result, target=name, actions=actions)
        assert split.numbers["id"].tolist() == known.astype(str).tolist()
        assert split.numbers["action"].tolist() == actions[known].tolist()
        assert np.isfinite(split.numbers["error"]).all()


def test_comparisons_pair_what_is_known():
    wide = gaussian(4.0)
    result = caveat.compare({"one": gaussian(), "wide": wide}, TRUTH, **OPTIONS)
    rows, own = alone(gaussian(), 1)
    _, other = alone(wide, 1)
    expected = caveat.compare({"one": own, "wide": other}, TRUTH[rows, 1], **OPTIONS)
    for row in expected.rows:
        (found,) = result.select(
            metric=row.metric, option=row.option, target="u", technique=row.technique
        )
        assert (found.best, found.samples) == (row.best, row.samples)


def test_audits_leave_them_out():
    result = caveat.audit(gaussian(), TRUTH, GROUP, sample_weight=WEIGHT, **OPTIONS)
    rows, own = alone(gaussian(), 1)
    expected = caveat.audit(own, TRUTH[rows, 1], GROUP[rows], sample_weight=WEIGHT[rows], **OPTIONS)
    for name in ("mean_absolute_error", "expected_normalized_calibration_error"):
        found = result.select(measure=name, kind="group", label="u")
        same = expected.select(measure=name, kind="group")
        assert [row.value for row in found] == pytest.approx([row.value for row in same])
        assert [row.samples for row in found] == [row.samples for row in same]
    (ratio,) = result.select(measure="mean_absolute_error", kind="ratio", label="u")
    (same,) = expected.select(measure="mean_absolute_error", kind="ratio")
    assert ratio.value == pytest.approx(same.value)


def test_a_target_whose_known_samples_do_not_count():
    weight = np.isnan(TRUTH[:, 1]).astype(float)
    result = caveat.evaluate(gaussian(), TRUTH, sample_weight=weight, metrics=["mae"], **OPTIONS)
    first, second = result.select(group="")
    assert np.isfinite(first.value)
    assert np.isnan(second.value)


def test_a_group_without_a_true_value():
    truth = np.where((GROUP == "a")[:, None] & np.array([False, True]), np.nan, COMPLETE)
    result = caveat.evaluate(gaussian(), truth, groups={"g": GROUP}, metrics=["mae"], **OPTIONS)
    (row,) = result.select(group="g=a", target="u")
    assert np.isnan(row.value)
    assert (row.samples, row.note) == (0, "undefined here")
    audit = caveat.audit(gaussian(), truth, {"g": GROUP}, **OPTIONS)
    (row,) = audit.select(measure="mean_absolute_error", kind="group", label="u", group="a")
    assert row.note == "undefined: no true value is known"
    with pytest.raises(InvalidValueError, match="group 'a': no true value of target 'u' is known"):
        caveat.VarianceScaling().fit(gaussian(), truth, groups=GROUP)


@pytest.mark.parametrize(
    ("technique", "fitted"),
    [
        (caveat.VarianceScaling(), "scale_"),
        (caveat.IsotonicDistribution(), "scale_"),
        (caveat.ConformalResiduals(), "margins_"),
        (caveat.ConformalResiduals(bins=2), "margins_"),
        (caveat.ConformalQuantiles(symmetric=False), "margins_"),
    ],
)
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_recalibrators_fit_each_target_by_what_is_known(technique, fitted, weight):
    from sklearn.base import clone

    both = getattr(clone(technique).fit(gaussian(), TRUTH, sample_weight=weight), fitted)
    for column in range(2):
        rows, own = alone(gaussian(), column)
        counts = None if weight is None else weight[rows]
        one = clone(technique).fit(own, TRUTH[rows, column], sample_weight=counts)
        found = both[:, column] if np.ndim(both) == 3 else both[column : column + 1]
        assert found.ravel() == pytest.approx(getattr(one, fitted).ravel())


def test_a_joint_promise_needs_all_of_a_sample():
    complete = np.flatnonzero(~np.isnan(TRUTH).any(axis=1))
    joint = caveat.ConformalResiduals(joint=True)
    found = joint.fit(gaussian(), TRUTH).margins_
    expected = joint.fit(gaussian().take(complete), TRUTH[complete]).margins_
    assert found == pytest.approx(expected)


def test_a_repair_is_chosen():
    found = caveat.repair(gaussian(0.1), TRUTH, random_state=0)
    assert found.chosen is not None


def test_what_cannot_be_left_out():
    rows, own = alone(gaussian(), 0)
    y = TRUTH[rows, 0]
    y[3] = np.nan
    with pytest.raises(InvalidValueError, match="y of sample 3 is nan; remove or impute such samp"):
        caveat.evaluate(own, y)
    with pytest.raises(InvalidValueError, match="no true value of target 'u' is known; leave it"):
        caveat.evaluate(gaussian(), TRUTH * [1.0, np.nan])
    with pytest.raises(InvalidValueError, match="y of sample 0, target 1 is nan"):
        caveat.summarize(gaussian(), TRUTH)
    with pytest.raises(InvalidValueError, match="y of sample 2, target 0 is inf"):
        caveat.evaluate(gaussian(), np.where(np.arange(N)[:, None] == 2, np.inf, TRUTH))


COLUMNS = {"mean": "mean_*", "std": "std_*", "target": ["a", "b"]}


class TestFiles:
    @pytest.fixture
    def file(self, tmp_path):
        import pandas as pd

        frame = pd.DataFrame({"mean_a": [0.0] * 6, "mean_b": [1.0] * 6, "std_a": 1.0, "std_b": 1.0})
        frame["a"] = [0.1, np.nan, 0.3, 0.4, 0.5, 0.6]
        frame["b"] = [1, np.nan, np.nan, 2, 3, 4]
        frame.to_csv(tmp_path / "two.csv", index=False)
        frame.drop(columns=["a", "b"]).to_csv(tmp_path / "only.csv", index=False)
        frame.to_parquet(tmp_path / "two.parquet")
        return tmp_path / "two.csv"

    def test_a_row_stays_and_is_counted(self, file):
        table = read_predictions(file, **COLUMNS)
        assert np.isnan(table.y).sum(axis=0).tolist() == [1, 2]
        assert "of 6 rows 1 without 'a', 2 without 'b': each is left out of that target only" in (
            table.recognized
        )

    def test_rows_without_any_are_dropped(self, file):
        table = read_predictions(file, missing="drop", **COLUMNS)
        assert table.ids.tolist() == [1, 3, 4, 5, 6]
        assert np.isnan(table.y).sum(axis=0).tolist() == [0, 1]
        assert "1 of 6 rows are left out: 1 without 'any target'" in table.recognized

    def test_errors(self, file):
        with pytest.raises(InvalidValueError, match="column 'a' has no number in data row 2"):
            read_predictions(file, missing="error", **COLUMNS)

    def test_a_target_that_is_nowhere_known(self, tmp_path):
        (tmp_path / "none.csv").write_text(
            "mean_a,mean_b,std_a,std_b,a,b\n0,0,1,1,1,\n0,0,1,1,2,\n"
        )
        table = read_predictions(tmp_path / "none.csv", **COLUMNS)
        assert np.isnan(table.y[:, 1]).all()

    def test_a_summary_needs_all(self, file):
        with pytest.raises(
            InvalidValueError,
            match=r"'a' has no number in data row 2; rem\w+ or fi\w+ such rows first$",
        ):
            caveat.summarize(file.with_suffix(".parquet"), **COLUMNS)
